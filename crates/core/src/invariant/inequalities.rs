//! Inequalities `B y >= b` beside the equations.

use super::linear::{Component, Linear, connected, oversized};
use super::side::{Lower, NO_LOWER, NO_UPPER, Side, Upper};
use crate::error::{Error, Result};
use crate::lattice::{IntMatrix, Row, real_value, value};
use crate::law::{Errors, Value};
use std::iter::repeat_n;

/// What every release `y` must satisfy beside its equations: `lower <= y <= upper` entry by entry and rows `b·y >= c`
/// (Gong, Meng, "Congenial differential privacy under mandated disclosure", section 2.3).
///
/// # Examples
///
/// ```
/// use congenial_core::invariant::Inequalities;
///
/// // No count is released below 0, and the first two sum to at least 4.
/// let two = Inequalities::rows(vec![(vec![(0, 1), (1, 1)], 4)])?;
/// let region = Inequalities::nonnegative(3).and(two).around(&[5, 1, 0])?;
/// assert!(region.contains(&[-3, 1, 0])); // 2, 2, 0
/// assert!(!region.contains(&[-3, 0, 0])); // 2, 1, 0
/// assert!(!region.contains(&[0, 0, -1]));
/// # Ok::<(), congenial_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Inequalities {
    lower: Lower,
    upper: Upper,
    /// The explicit rows: coefficients and least values.
    rows: Vec<(Row, i64)>,
}

impl Inequalities {
    /// The inequalities `y >= 0` on `entries` entries.
    pub fn nonnegative(entries: usize) -> Self {
        Self { lower: repeat_n(0, entries).collect(), ..Self::default() }
    }

    /// Bounds of single entries. Errors: lists of different lengths, a lower bound above its upper bound, a bound
    /// beyond 2^53.
    pub fn bounds(lower: Vec<i64>, upper: Vec<i64>) -> Result<Self> {
        if lower.len() != upper.len() {
            let message = format!("{} lower and {} upper bounds", lower.len(), upper.len());
            return Err(Error::Invariant(message));
        }
        let beyond = |&bound: &i64| bound.unsigned_abs() > 1 << 53 && bound != NO_LOWER && bound != NO_UPPER;
        if let Some(bound) = lower.iter().chain(&upper).copied().find(beyond) {
            return Err(Error::Invariant(format!("got the bound {bound}, want at most 2^53 in size")));
        }
        match lower.iter().zip(&upper).position(|(lower, upper)| lower > upper) {
            Some(i) => {
                let (lower, upper) = (lower[i], upper[i]);
                Err(Error::Invariant(format!("infeasible: entry {}: {lower} <= y <= {upper}", i + 1)))
            }
            None => Ok(Self {
                lower: lower.into_iter().collect(),
                upper: upper.into_iter().collect(),
                rows: Vec::new(),
            }),
        }
    }

    /// Explicit rows `b·y >= c`. Rows of zeros that hold are dropped, as those of equations are.
    ///
    /// Errors: a row of zeros that cannot hold, or two coefficients for one entry; a coefficient beyond 2^31; no row that ties
    /// any entry.
    pub fn rows(mut rows: Vec<(Row, i64)>) -> Result<Self> {
        for (i, (row, least)) in rows.iter_mut().enumerate() {
            if let Some(b) = oversized(row) {
                let message =
                    format!("inequality {}: got the coefficient {b}, want at most 2^31 in size", i + 1);
                return Err(Error::Invariant(message));
            }
            row.retain(|&(_, b)| b != 0);
            row.sort_unstable();
            if row.windows(2).any(|pair| pair[0].0 == pair[1].0) {
                let message = format!("inequality {}: an entry has two coefficients", i + 1);
                return Err(Error::Invariant(message));
            }
            if row.is_empty() && *least > 0 {
                let message =
                    format!("infeasible: inequality {}: 0 >= {least}, all coefficients are 0", i + 1);
                return Err(Error::Invariant(message));
            }
        }
        rows.retain(|(row, _)| !row.is_empty());
        if rows.is_empty() {
            return Err(Error::Invariant("the system is empty: no inequality ties any entry".into()));
        }
        Ok(Self { rows, ..Self::default() })
    }

    /// Joins two sets of inequalities: a release must satisfy both.
    pub fn and(mut self, other: Self) -> Self {
        fn join<const NONE: i64>(mine: &mut Side<NONE>, theirs: &Side<NONE>, tighter: fn(i64, i64) -> i64) {
            for (entry, &bound) in theirs.bounds().iter().enumerate() {
                mine.set(entry, tighter(mine[entry], bound));
            }
        }
        join(&mut self.lower, &other.lower, i64::max);
        join(&mut self.upper, &other.upper, i64::min);
        self.rows.extend(other.rows);
        self
    }

    /// Whether there are no inequalities.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.lower.is_open() && self.upper.is_open()
    }

    /// Whether every one of `entries` entries has a lower bound >= 0.
    pub fn implies_nonnegative(&self, entries: usize) -> bool {
        (0..entries).all(|entry| self.lower[entry] >= 0)
    }

    /// The bounds of one entry.
    pub fn bounds_of(&self, entry: usize) -> (i64, i64) {
        (self.lower[entry], self.upper[entry])
    }

    /// The explicit rows: coefficients and least values.
    pub fn explicit(&self) -> &[(Row, i64)] {
        &self.rows
    }

    /// An equation `a·y = a·x` that no `y` within the bounds can satisfy: its place, what it asks for, and the least
    /// and largest value within the bounds (as far as they exist). The equation and the bounds of its entries are then
    /// a set of constraints in conflict.
    pub fn conflict(
        &self,
        equations: &Linear,
        counts: &[i64],
    ) -> Option<(usize, i128, Option<i128>, Option<i128>)> {
        equations.rows().iter().enumerate().find_map(|(i, row)| {
            let wanted = value(row, counts);
            let extreme = |largest: bool| -> Option<i128> {
                row.iter()
                    .map(|&(entry, a)| {
                        let (lower, upper) = self.bounds_of(entry as usize);
                        let bound = if (a > 0) == largest { upper } else { lower };
                        (bound != NO_LOWER && bound != NO_UPPER).then(|| i128::from(a) * i128::from(bound))
                    })
                    .sum()
            };
            let (least, largest) = (extreme(false), extreme(true));
            let misses = least.is_some_and(|x| x > wanted) || largest.is_some_and(|x| x < wanted);
            misses.then_some((i, wanted, least, largest))
        })
    }

    /// The inequalities on the noise `z = y - x` around the counts x.
    ///
    /// Errors: counts that do not satisfy them; the first that fails is named (entries and inequalities from 1).
    pub fn around(&self, counts: &[i64]) -> Result<Region> {
        let d = counts.len();
        let (mut lower, mut upper) = (Lower::default(), Upper::default());
        for (i, &x) in counts.iter().enumerate() {
            let (least, most) = self.bounds_of(i);
            if x < least || x > most {
                let wanted = match (least, most) {
                    (_, most) if x > most => format!("<= {most}"),
                    (least, _) => format!(">= {least}"),
                };
                let message = format!("the count of entry {} is {x}, want {wanted}", i + 1);
                return Err(Error::Invariant(message));
            }
            if least != NO_LOWER {
                lower.set(i, least.saturating_sub(x));
            }
            if most != NO_UPPER {
                upper.set(i, most.saturating_sub(x));
            }
        }
        let mut rows = Vec::new();
        for (i, (row, least)) in self.rows.iter().enumerate() {
            if let Some((entry, _)) = row.iter().find(|(entry, _)| *entry as usize >= d) {
                let entry = u64::from(*entry) + 1;
                return Err(Error::Invariant(format!(
                    "inequality {}: entry {entry} of a table of {d}",
                    i + 1
                )));
            }
            let got = value(row, counts);
            let slack = i128::from(*least) - got;
            if slack > 0 {
                let message = format!("inequality {} gives {got} on the counts, want >= {least}", i + 1);
                return Err(Error::Invariant(message));
            }
            let slack = i64::try_from(slack)
                .map_err(|_| Error::Invariant(format!("inequality {}: slack beyond 64 bits", i + 1)))?;
            rows.push((row.clone(), slack));
        }
        Ok(Region { lower, upper, rows })
    }
}

/// The noise that keeps a release within its [`Inequalities`]; it contains 0.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Region {
    /// Lower bounds of the noise by entry, at most 0.
    pub lower: Lower,
    /// Upper bounds of the noise by entry, at least 0.
    pub upper: Upper,
    /// Explicit rows: coefficients and the least value, which is at most 0.
    pub rows: Vec<(Row, i64)>,
}

/// Entries that neither an equation nor an inequality ties to others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounded {
    /// The entries and their equations.
    pub component: Component,
    /// What bounds the noise of the entries, on their new numbers.
    pub region: Region,
}

impl Region {
    /// The region that is not bounded at all.
    pub fn everything() -> Self {
        Self::default()
    }

    /// Whether nothing bounds the noise.
    pub fn is_everything(&self) -> bool {
        self.rows.is_empty() && self.lower.is_open() && self.upper.is_open()
    }

    /// Whether the region holds no noise of so many entries but 0.
    pub fn is_point(&self, entries: usize) -> bool {
        (0..entries).all(|entry| self.lower[entry] == 0 && self.upper[entry] == 0)
    }

    /// Checks integer noise in exact arithmetic.
    ///
    /// Errors: [`Error::InvariantViolated`] with the first inequality that fails.
    pub fn check(&self, noise: &[i64]) -> Result<()> {
        for (i, &z) in noise.iter().enumerate() {
            let (lower, upper) = (self.lower[i], self.upper[i]);
            if z < lower || z > upper {
                let (side, bound) = if z < lower { ("lower", lower) } else { ("upper", upper) };
                let residual = i128::from(z) - i128::from(bound);
                return Err(Error::violated(format!("the {side} bound of entry {}", i + 1), residual));
            }
        }
        for (i, (row, least)) in self.rows.iter().enumerate() {
            let rest = value(row, noise) - i128::from(*least);
            if rest < 0 {
                return Err(Error::violated(format!("inequality {}", i + 1), rest));
            }
        }
        Ok(())
    }

    /// Checks bounds of real noise, exactly; explicit rows are not looked at.
    ///
    /// Errors: as [`Region::check`].
    pub fn check_bounds(&self, noise: &[f64]) -> Result<()> {
        for (i, &z) in noise.iter().enumerate() {
            let (lower, upper) = (self.lower[i], self.upper[i]);
            let outside = |bound: i64, side: &str| {
                Err(Error::violated(format!("the {side} bound of entry {}", i + 1), z - bound as f64))
            };
            if lower != NO_LOWER && z < lower as f64 {
                return outside(lower, "lower");
            }
            if upper != NO_UPPER && z > upper as f64 {
                return outside(upper, "upper");
            }
        }
        Ok(())
    }

    /// Checks real noise: bounds exactly, and rows to `1e-9 ‖b‖₁ (1 + ‖z‖∞)`.
    ///
    /// Errors: as [`Region::check`].
    pub fn check_reals(&self, noise: &[f64]) -> Result<()> {
        self.check_bounds(noise)?;
        let size = 1.0 + noise.iter().fold(0.0f64, |size, z| size.max(z.abs()));
        for (i, (row, least)) in self.rows.iter().enumerate() {
            let rest = real_value(row, noise) - *least as f64;
            let weight: f64 = row.iter().map(|&(_, b)| (b as f64).abs()).sum();
            if rest.is_nan() || rest < -1e-9 * weight * size {
                return Err(Error::violated(format!("inequality {}", i + 1), rest));
            }
        }
        Ok(())
    }

    /// Checks noise: integers as [`Region::check`], reals as [`Region::check_reals`].
    ///
    /// Errors: as [`Region::check`].
    pub fn check_noise<V: Value>(&self, noise: &[V]) -> Result<()> {
        match V::errors(noise) {
            _ if self.is_everything() => Ok(()),
            Errors::Integers(noise) => self.check(noise),
            Errors::Reals(noise) => self.check_reals(noise),
        }
    }

    /// Whether noise is inside, as [`Region::check_noise`] judges.
    pub(crate) fn holds<V: Value>(&self, noise: &[V]) -> bool {
        match V::errors(noise) {
            Errors::Integers(noise) => self.contains(noise),
            Errors::Reals(noise) => self.check_reals(noise).is_ok(),
        }
    }

    /// The region with tighter lower bounds, `-counts` by entry for some entries.
    pub(crate) fn above(mut self, counts: &[i64], entries: impl IntoIterator<Item = usize>) -> Self {
        for entry in entries {
            self.lower.set(entry, self.lower[entry].max(-counts[entry]));
        }
        self
    }

    /// Whether `noise` is inside.
    #[inline]
    pub fn contains(&self, noise: &[i64]) -> bool {
        noise.iter().zip(self.lower.bounds()).all(|(z, lower)| lower <= z)
            && noise.iter().zip(self.upper.bounds()).all(|(z, upper)| z <= upper)
            && self.rows.iter().all(|(row, least)| value(row, noise) >= i128::from(*least))
    }

    /// The steps `t` for which `z + t b` stays inside, for `z` inside and `b` given by its non-zero coefficients: first
    /// and last, [`NO_LOWER`] and [`NO_UPPER`] where nothing stops it. The range contains 0.
    #[inline]
    pub fn interval(&self, b: &[(u32, i32)], z: &[i64]) -> (i64, i64) {
        let (mut first, mut last) = (NO_LOWER, NO_UPPER);
        let mut stop = |room_down: Option<i64>, room_up: Option<i64>, c: i64| {
            // Room below and above the present value, in units of |c|.
            let (down, up) = if c > 0 { (room_down, room_up) } else { (room_up, room_down) };
            let size = c.abs();
            if let Some(room) = down {
                first = first.max(-(room / size));
            }
            if let Some(room) = up {
                last = last.min(room / size);
            }
        };
        for &(entry, c) in b {
            let (at, lower, upper) =
                (z[entry as usize], self.lower[entry as usize], self.upper[entry as usize]);
            let down = (lower != NO_LOWER).then(|| at.saturating_sub(lower));
            let up = (upper != NO_UPPER).then(|| upper.saturating_sub(at));
            stop(down, up, i64::from(c));
        }
        for (row, least) in &self.rows {
            let along = slope(row, b);
            if along != 0 {
                let room = value(row, z) - i128::from(*least);
                stop(Some(i64::try_from(room).unwrap_or(i64::MAX)), None, along);
            }
        }
        (first, last)
    }

    /// The sum over all bounds and rows of how far `noise` is outside.
    pub fn violation(&self, noise: &[i64]) -> i128 {
        let each = |(i, &z): (usize, &i64)| outside(i128::from(z), self.lower[i], self.upper[i]);
        let entries: i128 = noise.iter().enumerate().map(each).sum();
        let short = |(row, least): &(Row, i64)| (i128::from(*least) - value(row, noise)).max(0);
        entries + self.rows.iter().map(short).sum::<i128>()
    }

    /// [`Region::violation`] of `z + t b`, up to a constant, as a function of `t`.
    pub(crate) fn violation_along<'a>(
        &'a self,
        b: &'a [(u32, i32)],
        z: &[i64],
    ) -> impl Fn(i64) -> i128 + use<'a> {
        let at: Vec<i64> = b.iter().map(|&(entry, _)| z[entry as usize]).collect();
        let rows: Vec<(i128, i64)> = self
            .rows
            .iter()
            .filter_map(|(row, least)| match slope(row, b) {
                0 => None,
                along => Some((value(row, z) - i128::from(*least), along)),
            })
            .collect();
        move |t| {
            let entries: i128 = b
                .iter()
                .zip(&at)
                .map(|(&(entry, c), &z)| {
                    let y = i128::from(z) + i128::from(t) * i128::from(c);
                    outside(y, self.lower[entry as usize], self.upper[entry as usize])
                })
                .sum();
            let short = |&(rest, along): &(i128, i64)| (-(rest + i128::from(t) * i128::from(along))).max(0);
            entries + rows.iter().map(short).sum::<i128>()
        }
    }

    /// The noise that keeps a release within the same bounds around the table moved by `v`.
    pub fn around_moved(&self, v: &[i64]) -> Self {
        let shift = |(&bound, &v): (&i64, &i64)| match bound {
            i64::MIN | i64::MAX => bound,
            bound => bound - v,
        };
        let row = |(row, least): &(Row, i64)| {
            let along: i64 = row.iter().map(|&(entry, b)| b * v[entry as usize]).sum();
            (row.clone(), least - along)
        };
        Self {
            lower: self.lower.bounds().iter().zip(v).map(shift).collect(),
            upper: self.upper.bounds().iter().zip(v).map(shift).collect(),
            rows: self.rows.iter().map(row).collect(),
        }
    }

    /// The components of the equations together with what bounds them; explicit rows tie entries as equations do.
    pub fn components(&self, equations: &Linear) -> Vec<Bounded> {
        if self.rows.is_empty() {
            return equations.components().into_iter().map(|component| self.restricted(component)).collect();
        }
        let rows: Vec<&Row> = equations.rows().iter().chain(self.rows.iter().map(|(row, _)| row)).collect();
        let split = equations.rows().len();
        connected(equations.entries(), &rows)
            .into_iter()
            .map(|(mut component, members)| {
                let first = members.partition_point(|&i| i < split);
                let explicit = component.rows.split_off(first).into_iter().zip(&members[first..]);
                let rows = explicit.map(|(row, &i)| (row, self.rows[i - split].1)).collect();
                let Bounded { component, region } = self.restricted(component);
                Bounded { component, region: Region { rows, ..region } }
            })
            .collect()
    }

    /// The regions of components as one, on the entries of the table; entries in none of them are not bounded.
    pub(crate) fn joined(components: &[Bounded]) -> Self {
        let mut all = Self::default();
        for Bounded { component, region } in components {
            for (i, &entry) in component.entries.iter().enumerate() {
                all.lower.set(entry as usize, region.lower[i]);
                all.upper.set(entry as usize, region.upper[i]);
            }
            all.rows.extend(region.rows.iter().map(|(row, least)| {
                (row.iter().map(|&(i, b)| (component.entries[i as usize], b)).collect(), *least)
            }));
        }
        all
    }

    /// Equations and inequalities as one component: for laws that do not factorise.
    pub fn whole(&self, equations: &Linear) -> Bounded {
        Bounded { component: equations.whole(), region: self.clone() }
    }

    fn restricted(&self, component: Component) -> Bounded {
        fn of<const NONE: i64>(side: &Side<NONE>, entries: &[u32]) -> Side<NONE> {
            entries.iter().map(|&entry| side[entry as usize]).collect()
        }
        let (lower, upper) = (of(&self.lower, &component.entries), of(&self.upper, &component.entries));
        Bounded { region: Self { lower, upper, rows: Vec::new() }, component }
    }
}

impl Bounded {
    /// Entries grouped by equal column of `A` and of the explicit rows together, each group with its column in both:
    /// only the sums of the groups meet either.
    pub fn equal_columns(&self) -> Vec<(Row, Vec<u32>)> {
        let rows =
            self.component.rows.iter().chain(self.region.rows.iter().map(|(row, _)| row)).cloned().collect();
        Component { rows, ..self.component.clone() }.equal_columns()
    }

    /// The equations and the explicit rows as dense matrices with the given columns.
    pub(crate) fn matrices<'a>(
        &self,
        columns: impl ExactSizeIterator<Item = &'a Row> + Clone,
    ) -> (IntMatrix, IntMatrix) {
        let (equations, explicit) = (self.component.rows.len(), self.region.rows.len());
        (
            IntMatrix::from_columns(0..equations, columns.clone()),
            IntMatrix::from_columns(equations..equations + explicit, columns),
        )
    }
}

/// How far a value is outside its bounds.
fn outside(z: i128, lower: i64, upper: i64) -> i128 {
    if lower != NO_LOWER && z < i128::from(lower) {
        i128::from(lower) - z
    } else if upper != NO_UPPER && z > i128::from(upper) {
        z - i128::from(upper)
    } else {
        0
    }
}

/// The row's value on a vector.
#[inline]
pub(super) fn slope(row: &Row, vector: &[(u32, i32)]) -> i64 {
    vector
        .iter()
        .map(|&(entry, c)| match row.binary_search_by_key(&entry, |&(entry, _)| entry) {
            Ok(at) => row[at].1 * i64::from(c),
            Err(_) => 0,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The interval of a line is what stepping along it finds.
    #[test]
    fn intervals_are_those_of_single_steps() {
        let inequalities = Inequalities::bounds(vec![0, NO_LOWER, -2, 0], vec![9, 4, NO_UPPER, NO_UPPER])
            .unwrap()
            .and(Inequalities::rows(vec![(vec![(0, 2), (2, -1)], -6), (vec![(1, 1), (3, 3)], 0)]).unwrap());
        let counts = [3, 1, 4, 2];
        let region = inequalities.around(&counts).unwrap();
        for b in [vec![(0, 1), (1, -1)], vec![(0, 2), (3, -3)], vec![(1, -1), (2, 2), (3, 1)], vec![(2, -5)]]
        {
            for start in [[0, 0, 0, 0], [2, -1, 1, 0], [-3, 0, 0, 3]] {
                assert!(region.contains(&start));
                let at = |t: i64| {
                    let mut z = start;
                    b.iter().for_each(|&(entry, c): &(u32, i32)| z[entry as usize] += t * i64::from(c));
                    z
                };
                let (first, last) = region.interval(&b, &start);
                for t in -40..=40 {
                    let inside = region.contains(&at(t));
                    assert_eq!(inside, first <= t && t <= last, "{b:?} from {start:?} by {t}");
                    assert_eq!(inside, region.violation(&at(t)) == 0);
                    assert_eq!(inside, region.check(&at(t)).is_ok());
                }
            }
        }
    }

    #[test]
    fn counts_outside_are_named() {
        let wrong =
            |inequalities: Inequalities, counts: &[i64]| inequalities.around(counts).unwrap_err().to_string();
        assert!(wrong(Inequalities::nonnegative(2), &[1, -1]).contains("entry 2 is -1, want >= 0"));
        let capped = Inequalities::bounds(vec![NO_LOWER; 2], vec![3, 3]).unwrap();
        assert!(wrong(capped.clone(), &[4, 0]).contains("entry 1 is 4, want <= 3"));
        let rows = Inequalities::rows(vec![(vec![(0, 1), (1, 1)], 5)]).unwrap();
        assert!(wrong(rows, &[1, 2]).contains("inequality 1 gives 3 on the counts, want >= 5"));
        assert!(Inequalities::bounds(vec![2], vec![1]).unwrap_err().to_string().contains("2 <= y <= 1"));
        // Two entries of at most 3 cannot sum to 8, whatever the counts are.
        let total = Linear::total(2).unwrap();
        assert_eq!(capped.conflict(&total, &[4, 4]), Some((0, 8, None, Some(6))));
        assert_eq!(capped.conflict(&total, &[4, 1]), None);
    }

    /// Explicit rows tie components together, and every component keeps its own.
    #[test]
    fn rows_join_components() {
        let equations = Linear::partition(&[0, 0, 1, 1, 2, 2]).unwrap();
        let region = Inequalities::nonnegative(6)
            .and(Inequalities::rows(vec![(vec![(1, 1), (4, -1)], -9)]).unwrap())
            .around(&[1, 2, 3, 4, 5, 6])
            .unwrap();
        let components = region.components(&equations);
        let entries: Vec<_> = components.iter().map(|bounded| bounded.component.entries.clone()).collect();
        assert_eq!(entries, [vec![0, 1, 4, 5], vec![2, 3]]);
        assert_eq!(components[0].region.rows, [(vec![(1, 1), (2, -1)], -6)]);
        assert_eq!(components[0].region.lower.bounds(), [-1, -2, -5, -6]);
        assert_eq!((components[0].component.rows.len(), components[1].component.rows.len()), (2, 1));
        assert!(components[1].region.rows.is_empty());
    }
}
