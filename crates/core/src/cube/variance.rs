//! How far an estimate may be off: variances of sums over areas.

use super::gls::{Gls, Joined, Spread, children};
use super::query::Marginal;
use super::small::add;
use super::squares::{Stack, gathered, times, variance};
use std::collections::BTreeMap;

/// The covariance of the estimate of `Σ_v a_v x_v`, a sum of tables of areas with weights, by kind of coefficients.
#[derive(Debug, Clone)]
pub struct Variances {
    kinds: Kinds,
    joint: usize,
    /// The size of the numbers that parts were made of.
    most: f64,
    /// By free attribute its number of categories.
    sizes: Vec<usize>,
}

/// Covariances by kind of coefficients.
#[derive(Debug, Clone)]
enum Kinds {
    /// Variances, where no attribute is joined.
    One(Vec<f64>),
    /// The parts of each.
    Joined(Vec<Vec<f64>>),
}

/// What a subtree has of a sum of numbers, given that of its root: a multiple of that, and the variance of what is left.
#[derive(Default)]
struct Multiple {
    times: f64,
    rest: f64,
}

/// What a subtree has of a sum of vectors, given that of its root: a matrix times that, and the parts of the covariance of what is left.
#[derive(Default)]
struct Image {
    times: Vec<f64>,
    rest: Vec<f64>,
}

impl Gls {
    /// The covariance of the estimate of a sum of tables of areas: `(area, weight)`, areas of any levels.
    ///
    /// Given the table of a parent, the estimates of its children are off by independent errors that sum to a known one: up the tree the
    /// sum is a multiple of the parent's table and of what does not depend on it. The cost is that of the areas and all above them.
    pub fn variances(&self, areas: &[(usize, f64)]) -> Variances {
        let kinds = 0..1 << self.measurements.domain.free().len();
        let of = match self.measurements.domain.joint() {
            1 => Kinds::One(kinds.map(|kind| self.one_of(kind, areas)).collect()),
            _ => Kinds::Joined(kinds.map(|kind| self.joined_of(kind, areas)).collect()),
        };
        self.with_kinds(of, areas.iter().map(|(_, weight)| weight.abs()).sum())
    }

    /// Gathers what areas have up the tree: what those of a family have goes to their parent.
    fn risen<G: Default>(
        &self,
        areas: &[(usize, f64)],
        weigh: impl Fn(&mut G, f64),
        gather: impl Fn(usize, Vec<(usize, G)>, &mut G),
    ) -> G {
        let mut open: BTreeMap<usize, G> = BTreeMap::new();
        for &(v, weight) in areas {
            weigh(open.entry(v).or_default(), weight);
        }
        while let Some((v, given)) = open.pop_last() {
            if v == 0 {
                return given;
            }
            let parent = self.tree.parent(v);
            // All children of a parent stand side by side.
            let mut family = vec![(v, given)];
            while let Some(last) =
                open.last_entry().filter(|last| self.tree.parent(*last.key()) == parent && *last.key() > 0)
            {
                family.push(last.remove_entry());
            }
            gather(parent, family, open.entry(parent).or_default());
        }
        G::default()
    }

    /// By shape of the children of an area, how many of them are not in a family.
    fn others(&self, parent: usize, family: impl Iterator<Item = usize>) -> BTreeMap<u32, u32> {
        let shape = &self.shapes.all[self.shapes.of_node[parent] as usize];
        let mut others: BTreeMap<u32, u32> = children(shape).iter().copied().collect();
        for child in family {
            *others.entry(self.shapes.of_node[child]).or_default() -= 1;
        }
        others
    }

    /// With V of each child, B the sum of them, a multiple t of each and `m = Σ t V / B` the variance of `Σ t x`, given `Σ x`, is `Σ V (t -
    /// m)²`: what is taken from t is small where it is near m.
    fn one_of(&self, kind: usize, areas: &[(usize, f64)]) -> f64 {
        let of = |v: usize| self.tables(v)[kind].variance();
        let gather = |parent: usize, family: Vec<(usize, Multiple)>, above: &mut Multiple| {
            above.rest += family.iter().map(|(_, own)| own.rest).sum::<f64>();
            let others = self.others(parent, family.iter().map(|(child, _)| *child));
            let one = |(&shape, &number): (&u32, &u32)| {
                f64::from(number) * self.tables[shape as usize][kind].variance()
            };
            let others: f64 = others.iter().map(one).sum();
            let all = others + family.iter().map(|(child, _)| of(*child)).sum::<f64>();
            if all > 0.0 {
                let mean = family.iter().map(|(child, own)| own.times * of(*child)).sum::<f64>() / all;
                above.times += mean;
                let off =
                    |(child, own): &(usize, Multiple)| of(*child) * (own.times - mean) * (own.times - mean);
                above.rest += others * mean * mean + family.iter().map(off).sum::<f64>();
            }
        };
        let sum = self.risen(areas, |own: &mut Multiple, weight| own.times += weight, gather);
        sum.rest + sum.times * sum.times * of(0)
    }

    /// The parts of the covariance of `Σ t x` of vectors: the sum of all children and that of the named ones have joint parts, which are
    /// made a triangle.
    fn joined_of(&self, kind: usize, areas: &[(usize, f64)]) -> Vec<f64> {
        let n = self.measurements.domain.joint();
        let of = |v: usize| self.tables(v)[kind].parts();
        let weigh = |own: &mut Image, weight: f64| {
            own.times.resize(n * n, 0.0);
            (0..n).for_each(|i| own.times[i * n + i] += weight);
        };
        let gather = |parent: usize, family: Vec<(usize, Image)>, above: &mut Image| {
            let mut stack = Stack::new(2 * n, n);
            for (shape, number) in self.others(parent, family.iter().map(|(child, _)| *child)) {
                let weight = libm::sqrt(f64::from(number));
                if number > 0 {
                    for part in self.tables[shape as usize][kind].parts().chunks_exact(n) {
                        stack.add(part.iter().map(|x| weight * x).chain(std::iter::repeat_n(0.0, n)));
                    }
                }
            }
            for (child, own) in &family {
                for part in of(*child).chunks_exact(n) {
                    stack.add(part.iter().copied().chain(multiplied(&own.times, part)));
                }
            }
            let triangle = stack.triangle();
            above.times.resize(n * n, 0.0);
            add(&mut above.times, &triangle.moves(n));
            let rest = triangle.left(n).chain(family.into_iter().flat_map(|(_, own)| own.rest));
            above.rest = gathered(std::mem::take(&mut above.rest).into_iter().chain(rest), n);
        };
        let sum = self.risen(areas, weigh, gather);
        let root = of(0).chunks_exact(n).flat_map(|part| multiplied(&sum.times, part));
        gathered(sum.rest.into_iter().chain(root), n)
    }

    /// The covariances of the estimates of all areas, parents first; areas of one shape below areas that are alike have the same, and are
    /// handed on together. A child's estimate is off by what is left where the sum of all children is known, and by its part of what that
    /// sum is off by.
    pub fn each_variances(&self, mut see: impl FnMut(&[usize], &Variances)) {
        let joint = self.measurements.domain.joint();
        let root = match joint {
            1 => Kinds::One(self.tables(0).iter().map(|own| own.variance()).collect()),
            _ => Kinds::Joined(self.tables(0).iter().map(|own| own.parts().to_vec()).collect()),
        };
        let mut open = vec![(vec![0], self.with_kinds(root, 1.0))];
        while let Some((areas, variances)) = open.pop() {
            see(&areas, &variances);
            let mut by_shape: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
            for child in areas.iter().flat_map(|&v| self.tree.children(v)) {
                by_shape.entry(self.shapes.of_node[child]).or_default().push(child);
            }
            let below = self.below(self.shapes.of_node[areas[0]], &variances.kinds);
            for ((_, children), kinds) in by_shape.into_iter().zip(below).rev() {
                open.push((children, self.with_kinds(kinds, 1.0)));
            }
        }
    }

    /// By shape of children the covariances of their estimates, by those of their parent's.
    fn below(&self, parent: u32, above: &Kinds) -> Vec<Kinds> {
        let family = children(&self.shapes.all[parent as usize]);
        match above {
            Kinds::One(above) => {
                let mut all = vec![Vec::with_capacity(above.len()); family.len()];
                for (kind, above) in above.iter().enumerate() {
                    let of = |&(shape, number): &(u32, u32)| {
                        (self.tables[shape as usize][kind].variance(), f64::from(number))
                    };
                    let own = one_below(&family.iter().map(of).collect::<Vec<_>>(), *above);
                    all.iter_mut().zip(own).for_each(|(all, own)| all.push(own));
                }
                all.into_iter().map(Kinds::One).collect()
            }
            Kinds::Joined(above) => {
                let joint = self.measurements.domain.joint();
                let mut all = vec![Vec::with_capacity(above.len()); family.len()];
                for (kind, above) in above.iter().enumerate() {
                    let parent = self.tables[parent as usize][kind].joined();
                    let of = |&(shape, number): &(u32, u32)| {
                        (self.tables[shape as usize][kind].parts(), f64::from(number))
                    };
                    let own = joined_below(&family.iter().map(of).collect::<Vec<_>>(), parent, above, joint);
                    all.iter_mut().zip(own).for_each(|(all, own)| all.push(own));
                }
                all.into_iter().map(Kinds::Joined).collect()
            }
        }
    }

    fn with_kinds(&self, kinds: Kinds, weight: f64) -> Variances {
        let domain = &self.measurements.domain;
        Variances { kinds, joint: domain.joint(), most: weight * self.most, sizes: domain.free_sizes() }
    }
}

/// The variances of children of one parent, of those of their estimates from their subtrees, each with how many have it. With V that of a
/// child, W the sum of those of the others and C that of the parent it is `V W / (V + W) + (V / (V + W))² C`. No difference is taken.
fn one_below(family: &[(f64, f64)], above: f64) -> Vec<f64> {
    let mut after = vec![0.0; family.len() + 1];
    for (at, (variance, number)) in family.iter().enumerate().rev() {
        after[at] = after[at + 1] + number * variance;
    }
    let mut before = 0.0;
    let own = |(&(variance, number), after): (&(f64, f64), &f64)| {
        let others = before + (number - 1.0) * variance + after;
        before += number * variance;
        let part = if variance > 0.0 { variance / (variance + others) } else { 0.0 };
        part * others + part * part * above
    };
    family.iter().zip(&after[1..]).map(own).collect()
}

/// The parts of the covariances of children of one parent, by those of their estimates from their subtrees: what is left where the sum of
/// all children is known, and what moves with it.
fn joined_below(family: &[(&[f64], f64)], above: &Joined, parts: &[f64], n: usize) -> Vec<Vec<f64>> {
    let own = |(place, &(own, number)): (usize, &(&[f64], f64))| match &above.spread {
        Spread::Evenly(part) => {
            let off = if number > 1.0 { times(own, libm::sqrt((number - 1.0) * part)) } else { Vec::new() };
            gathered(off.into_iter().chain(times(parts, *part)), n)
        }
        Spread::By(given) => {
            let moved = parts.chunks_exact(n).flat_map(|part| multiplied(&given[place].moves, part));
            gathered(given[place].parts.iter().copied().chain(moved), n)
        }
    };
    family.iter().enumerate().map(own).collect()
}

/// A matrix times a part.
fn multiplied<'a>(matrix: &'a [f64], part: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
    matrix.chunks_exact(part.len()).map(move |row| row.iter().zip(part).map(|(x, y)| x * y).sum())
}

impl Variances {
    /// The variance of the estimate of an answer of a query, of the sum over the areas, in counts squared. It is the same for all answers
    /// of one row of the query: `Σ_S h' C_S h Π_(i in S) (1 - 1/n_i) Π_(named, not in S) 1/n_i`, over the kinds S that the query reaches.
    pub fn answer(&self, query: &Marginal, answer: usize) -> f64 {
        let row = &query.rows[answer / query.places.len()];
        let of = |kind: usize| {
            let along = match &self.kinds {
                Kinds::One(all) => all[kind],
                Kinds::Joined(all) => variance(&all[kind], self.most, self.joint, row),
            };
            let part = |(bit, &n): (usize, &usize)| match (query.named >> bit & 1, kind >> bit & 1) {
                (1, 1) => 1.0 - 1.0 / n as f64,
                (1, 0) => 1.0 / n as f64,
                _ => 1.0,
            };
            query.factor * query.factor * along * self.sizes.iter().enumerate().map(part).product::<f64>()
        };
        (0..1 << self.sizes.len()).filter(|kind| query.reaches(*kind as u32)).map(of).sum()
    }
}
