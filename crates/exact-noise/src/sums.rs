//! Sums of noise, split into their parts: what trees are made of.

use crate::bits::Bits;
use crate::error::{Error, Result};
use crate::law::Law;
use crate::mixture::{Mixture, Weights};
use crate::row::Row;
use std::collections::HashMap;

/// Entries on each side of 0 in a row.
const MOST_REACH: u64 = 1 << 16;

/// Entries of all tables that are kept.
const MOST_KEPT: usize = 1 << 25;

/// The noise of a part of a tree, by what it is made of. Parts of the same shape have the same law, and share its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Shape {
    /// A count without parts: the weights of a law.
    Leaf(Law),
    /// The sum of two shapes.
    Sum(usize, usize),
    /// A sum that is measured itself: the weights of a leaf times those of the sum.
    Weighed(usize, usize),
}

/// Shapes, their rows, and tables of how sums are split.
#[derive(Debug, Clone)]
pub(crate) struct Sums {
    bits: u32,
    /// Made of shapes before them alone.
    shapes: Vec<Shape>,
    /// How many counts a shape is the sum of.
    parts: Vec<usize>,
    places: HashMap<Shape, usize>,
    rows: Vec<Option<Row>>,
    tables: HashMap<(usize, Option<i64>), Mixture>,
    kept: usize,
}

impl Sums {
    /// `bits`: of the rows, 2 to 62.
    pub(crate) fn new(bits: u32) -> Self {
        let (shapes, parts, rows) = (Vec::new(), Vec::new(), Vec::new());
        Self { bits, shapes, parts, places: HashMap::new(), rows, tables: HashMap::new(), kept: 0 }
    }

    /// The shape of a count without parts.
    pub(crate) fn leaf(&mut self, law: Law) -> Result<usize> {
        self.place(Shape::Leaf(law))
    }

    /// The shape of a count that is the sum of others.
    pub(crate) fn weighed(&mut self, law: Law, sum: usize) -> Result<usize> {
        let own = self.leaf(law)?;
        self.place(Shape::Weighed(own, sum))
    }

    /// The shape of a sum of counts, whose shapes are in order: halves of equal ones, else parts between different ones.
    pub(crate) fn sum_of(&mut self, shapes: &[usize]) -> Result<usize> {
        let (Some(first), Some(last)) = (shapes.first(), shapes.last()) else {
            return Err(Error::Bug("a sum of nothing"));
        };
        if shapes.len() == 1 {
            return Ok(*first);
        }
        let half = shapes.len() / 2;
        let mut at = half;
        if first != last {
            let middle = shapes.get(half).unwrap_or(last);
            at = shapes.partition_point(|shape| shape < middle);
            if at == 0 {
                at = shapes.partition_point(|shape| shape <= middle);
            }
        }
        let Some((left, right)) = shapes.split_at_checked(at) else {
            return Err(Error::Bug("a split beyond a sum"));
        };
        let sum = Shape::Sum(self.sum_of(left)?, self.sum_of(right)?);
        self.place(sum)
    }

    fn place(&mut self, shape: Shape) -> Result<usize> {
        if let Some(place) = self.places.get(&shape) {
            return Ok(*place);
        }
        let parts = match shape {
            Shape::Leaf(_) | Shape::Weighed(..) => 1usize,
            Shape::Sum(a, b) => self.count(a)?.saturating_add(self.count(b)?),
        };
        let place = self.shapes.len();
        self.shapes.push(shape);
        self.parts.push(parts);
        self.places.insert(shape, place);
        Ok(place)
    }

    fn count(&self, shape: usize) -> Result<usize> {
        self.parts.get(shape).copied().ok_or(Error::Bug("an unknown shape"))
    }

    /// Computes the rows that draws need: of all parts, and of the shapes that are drawn whole.
    pub(crate) fn fill(&mut self, whole: &[usize]) -> Result<()> {
        let mut wanted = whole.to_vec();
        for shape in &self.shapes {
            wanted.extend(operands(shape).into_iter().flatten());
        }
        self.rows = self.rows(&wanted, self.bits as usize, MOST_REACH)?;
        Ok(())
    }

    /// Rows of some shapes, and of all that these are made of.
    fn rows(&self, wanted: &[usize], bits: usize, limit: u64) -> Result<Vec<Option<Row>>> {
        let mut is_wanted = vec![false; self.shapes.len()];
        let mut mark = |shape: usize| is_wanted.get_mut(shape).map(|wanted| std::mem::replace(wanted, true));
        let mut open = wanted.to_vec();
        while let Some(shape) = open.pop() {
            if mark(shape) == Some(false) {
                open.extend(self.shapes.get(shape).into_iter().flat_map(operands).flatten());
            }
        }
        let mut rows: Vec<Option<Row>> = Vec::with_capacity(self.shapes.len());
        for (shape, wanted) in self.shapes.iter().zip(is_wanted) {
            let row = |place: usize| row_of(&rows, place);
            let row = match (wanted, *shape) {
                (false, _) => None,
                (true, Shape::Leaf(law)) => Some(Row::of_law(law, bits, limit)?),
                (true, Shape::Sum(a, b)) => Some(Row::of_sum(row(a)?, row(b)?, bits, limit)?),
                (true, Shape::Weighed(a, b)) => Some(Row::of_product(row(a)?, row(b)?, bits, limit)?),
            };
            rows.push(row);
        }
        Ok(rows)
    }

    /// Draws the noise of a shape that nothing holds.
    pub(crate) fn whole<B: Bits + ?Sized>(&mut self, shape: usize, source: &mut B) -> Result<i64> {
        self.pick(shape, None, source)
    }

    /// Draws the counts of a sum, given its noise, into their places.
    pub(crate) fn split<B: Bits + ?Sized>(
        &mut self,
        shape: usize,
        total: i64,
        places: &[usize],
        noise: &mut [i64],
        source: &mut B,
    ) -> Result<()> {
        if let [place] = places {
            let noise = noise.get_mut(*place).ok_or(Error::Bug("a place beyond the noise"))?;
            *noise = total;
            return Ok(());
        }
        let Some(&Shape::Sum(a, b)) = self.shapes.get(shape) else {
            return Err(Error::Bug("a split of one count"));
        };
        // All weights are even: the law at -t is that at t, mirrored.
        let size = i64::try_from(total.unsigned_abs()).map_err(|_| Error::Beyond)?;
        let first = self.pick(shape, Some(size), source)?;
        let first = if total < 0 { first.checked_neg().ok_or(Error::Beyond)? } else { first };
        let second = total.checked_sub(first).ok_or(Error::Beyond)?;
        let Some((left, right)) = places.split_at_checked(self.count(a)?) else {
            return Err(Error::Bug("fewer places than counts"));
        };
        self.split(a, first, left, noise, source)?;
        self.split(b, second, right, noise, source)
    }

    /// Draws the first part of a sum given its noise, or the noise itself. Tables are kept while there is room.
    fn pick<B: Bits + ?Sized>(&mut self, shape: usize, total: Option<i64>, source: &mut B) -> Result<i64> {
        let key = (shape, total);
        let mut made = None;
        if !self.tables.contains_key(&key) {
            let weights = self.weights(&self.rows, shape, total)?;
            let table = Mixture::new(&weights, self.bits, total.unwrap_or(0) / 2)?;
            let size = table.len().saturating_add(8);
            if self.kept.saturating_add(size) <= MOST_KEPT {
                self.kept = self.kept.saturating_add(size);
                self.tables.insert(key, table);
            } else {
                made = Some(table);
            }
        }
        let table = made.as_ref().or_else(|| self.tables.get(&key)).ok_or(Error::Bug("no table"))?;
        table.draw(source, |bits| {
            let wanted: Vec<usize> = match total {
                None => vec![shape],
                Some(_) => self.shapes.get(shape).into_iter().flat_map(operands).flatten().collect(),
            };
            self.weights(&self.rows(&wanted, bits, u64::MAX)?, shape, total)
        })
    }

    fn weights(&self, rows: &[Option<Row>], shape: usize, total: Option<i64>) -> Result<Weights> {
        match (self.shapes.get(shape), total) {
            (_, None) => Ok(row_of(rows, shape)?.weights()),
            (Some(&Shape::Sum(a, b)), Some(total)) => Ok(row_of(rows, a)?.split(row_of(rows, b)?, total)),
            _ => Err(Error::Bug("a split of one count")),
        }
    }
}

fn operands(shape: &Shape) -> [Option<usize>; 2] {
    match *shape {
        Shape::Leaf(_) => [None, None],
        Shape::Sum(a, b) | Shape::Weighed(a, b) => [Some(a), Some(b)],
    }
}

fn row_of(rows: &[Option<Row>], place: usize) -> Result<&Row> {
    rows.get(place).and_then(Option::as_ref).ok_or(Error::Bug("a row that was not computed"))
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::arithmetic_side_effects)]
mod tests {
    use super::*;
    use crate::base::Base;

    /// What tables leave to the rows behind them, of 2^62: of 1,000 counts of scale 5, at likely totals of every split.
    #[test]
    fn tables_leave_little() {
        let law = Law::DoubleGeometric(Base::from_loss(&"0.2".parse().unwrap()).unwrap());
        let mut sums = Sums::new(62);
        let leaf = sums.leaf(law).unwrap();
        let mut shape = sums.sum_of(&[leaf; 1000]).unwrap();
        sums.fill(&[]).unwrap();
        let mut worst = 0;
        while let Shape::Sum(half, _) = sums.shapes[shape] {
            // 7 is the standard deviation of one, 221 that of all.
            for total in [0, 7, 20, 221, 400] {
                let weights = sums.weights(&sums.rows, shape, Some(total)).unwrap();
                let left = Mixture::new(&weights, 62, 0).unwrap().left();
                let likely = total * total <= 9 * 50 * sums.parts[shape] as i64;
                println!("{} counts, total {total}: 2^{} left", sums.parts[shape], left.ilog2() as i64 - 62);
                worst = worst.max(if likely { left } else { 0 });
            }
            shape = half;
        }
        assert!(worst < 1 << (62 - 38), "{worst}");
    }
}
