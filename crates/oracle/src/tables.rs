//! Conditioned noise on a table: every entry and the norm, by listing all points.

use super::{Distribution, Formula};
use congenial_core::invariant::{Linear, NO_LOWER, NO_UPPER, Region};
use std::collections::BTreeMap;

/// What the noise of a table is.
#[derive(Debug, Clone, PartialEq)]
pub struct TableLaw {
    /// By entry, the law of its noise.
    pub entries: Vec<Distribution>,
    /// The law of the norm `Σ |z|` over all entries.
    pub norm: Distribution,
}

/// Entries that are listed.
const MOST_ENTRIES: usize = 16;
/// Points that are looked at.
pub const MOST_POINTS: u64 = 6_000_000;

/// The law with the given weights on the points that satisfy the equations and lie in the region (real laws: on a grid of a
/// twelfth of the scale, without inequalities).
///
/// Errors: why there is none, in words.
pub fn conditioned(invariant: &Linear, region: &Region, law: Formula, most: u64) -> Result<TableLaw, String> {
    let real = law.is_real();
    if real && !region.is_everything() {
        return Err("it has more free dimensions than are integrated over, and real laws are listed without inequalities only".into());
    }
    let step = if real { 1.0 / libm::ceil(12.0 / law.scale()) } else { 1.0 };
    if invariant.entries() > MOST_ENTRIES {
        return Err("it has too many entries to be listed".into());
    }
    // A vector of several entries is as likely as far as they all reach together.
    let reach = law.reach() * if matches!(law, Formula::Euclidean(_)) { 1.5 } else { 1.0 };
    let reach = libm::ceil(reach / step);
    if reach > most as f64 {
        return Err("its law is too wide to be listed".into());
    }
    let d = invariant.entries();
    let mut last = vec![Vec::new(); d];
    for row in invariant.rows() {
        let (entry, a) = *row.last().expect("rows are not empty");
        last[entry as usize].push((row, a));
    }
    let mut listing = Listing {
        region,
        law,
        step,
        reach: reach as i64,
        last,
        z: vec![0; d],
        left: most,
        total: 0.0,
        entries: vec![BTreeMap::new(); d],
        norm: BTreeMap::new(),
    };
    listing.list(0).ok_or("it has too many points to be listed")?;
    let distribution = |weights: &BTreeMap<i64, f64>| {
        let points: Vec<(f64, f64)> =
            weights.iter().map(|(&k, w)| (k as f64 * step, w / listing.total)).collect();
        let grain = if real { points.iter().map(|(_, p)| *p).fold(0.0, f64::max) } else { 0.0 };
        Distribution { points, grain }
    };
    Ok(TableLaw {
        entries: listing.entries.iter().map(distribution).collect(),
        norm: distribution(&listing.norm),
    })
}

struct Listing<'a> {
    region: &'a Region,
    law: Formula,
    step: f64,
    reach: i64,
    /// By entry: the equations that it completes, with its coefficients.
    last: Vec<Vec<(&'a congenial_core::invariant::Row, i64)>>,
    z: Vec<i64>,
    left: u64,
    total: f64,
    entries: Vec<BTreeMap<i64, f64>>,
    norm: BTreeMap<i64, f64>,
}

impl Listing<'_> {
    /// All values of the entries from `i` on; `None` beyond the limit.
    fn list(&mut self, i: usize) -> Option<()> {
        if i == self.z.len() {
            self.add();
            return Some(());
        }
        let bounds = (self.region.lower[i], self.region.upper[i]);
        let low = if bounds.0 == NO_LOWER { -self.reach } else { bounds.0.max(-self.reach) };
        let high = if bounds.1 == NO_UPPER { self.reach } else { bounds.1.min(self.reach) };
        let mut fixed = None;
        for (row, a) in &self.last[i] {
            let sum: i64 =
                row.iter().filter(|(c, _)| (*c as usize) < i).map(|&(c, a)| a * self.z[c as usize]).sum();
            if sum % a != 0 || fixed.is_some_and(|z| z != -sum / a) {
                return Some(());
            }
            fixed = Some(-sum / a);
        }
        let (first, end) = fixed.map_or((low, high), |z| (z.max(low), z.min(high)));
        for z in first..=end {
            self.left = self.left.checked_sub(1)?;
            self.z[i] = z;
            self.list(i + 1)?;
        }
        Some(())
    }

    fn add(&mut self) {
        let value = |row: &congenial_core::invariant::Row| {
            row.iter().map(|&(c, b)| b * self.z[c as usize]).sum::<i64>()
        };
        if self.region.rows.iter().any(|(row, least)| value(row) < *least) {
            return;
        }
        let real = |z: &i64| *z as f64 * self.step;
        let log = match self.law {
            Formula::Euclidean(scale) => -libm::sqrt(self.z.iter().map(|z| real(z) * real(z)).sum()) / scale,
            law => self.z.iter().map(|z| law.log_weight(real(z))).sum(),
        };
        let weight = libm::exp(log);
        self.total += weight;
        for (weights, &z) in self.entries.iter_mut().zip(&self.z) {
            *weights.entry(z).or_default() += weight;
        }
        *self.norm.entry(self.z.iter().map(|z| z.abs()).sum()).or_default() += weight;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use congenial_core::invariant::Inequalities;

    /// Two entries with one sum: `z, -z` with the weight `a^(2|z|)`; within bounds the same, cut.
    #[test]
    fn two_entries() {
        let invariant = Linear::total(2).unwrap();
        let a = libm::exp(-1.0 / 1.5);
        let free = Region::everything();
        let law = conditioned(&invariant, &free, Formula::Geometric(1.5), MOST_POINTS).unwrap();
        let at = |law: &TableLaw, i: usize, z: f64| {
            law.entries[i].points.iter().find(|(value, _)| *value == z).map_or(0.0, |(_, p)| *p)
        };
        for z in 0..6 {
            let want = (1.0 - a * a) / (1.0 + a * a) * libm::pow(a, 2.0 * f64::from(z));
            assert!(
                (at(&law, 0, f64::from(z)) - want).abs() < 1e-12
                    && (at(&law, 1, f64::from(-z)) - want).abs() < 1e-12
            );
        }
        let region = Inequalities::nonnegative(2).around(&[1, 0]).unwrap();
        let law = conditioned(&invariant, &region, Formula::Geometric(1.5), MOST_POINTS).unwrap();
        assert!((at(&law, 0, -1.0) - a * a / (1.0 + a * a)).abs() < 1e-12 && at(&law, 0, 1.0) == 0.0);
        let many = Linear::total(1000).unwrap();
        assert!(conditioned(&many, &Region::everything(), Formula::Geometric(1.0), MOST_POINTS).is_err());
    }
}
