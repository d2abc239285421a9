//! Integer noise given equations and inequalities, by equal columns and few free dimensions.

use super::parts::{Builder, FreeTerms, PartId, Parts, PartsScratch};
use super::points::{MAX_VISITED, Points, too_many};
use super::table::TRUNCATION;
use super::tilt::tilts;
use crate::error::{Error, Result};
use crate::invariant::{Bounded, Region, Row};
use crate::lattice::inner;
use crate::law::IntegerLaw;
use crate::rng::{Rng, open01};

/// Points of the groups' sums that are listed (8 bytes for each group and 8 more).
const MAX_POINTS: usize = 1 << 21;
/// Total variation distance beyond which a sampler is refused.
const MAX_TV_ERROR: f64 = 1e-9;
/// Tails of tables that are not cut any deeper.
const LEAST_TAILS: f64 = 1e-200;
/// What a law holds beyond its table and beyond bounds that were taken for none, in units of the tails' mass.
const BEYOND: f64 = 1.1;
/// Standard deviations by which an equation's mean may miss 0 before weights are tilted.
const MISS: f64 = 4.0;

/// Exact sampler of independent integer noise given `A z = 0`, bounds by entry and explicit rows `B z >= b`.
///
/// Bounds truncate the weight of each entry. Entries with equal columns of `A` and `B` enter both by their sums alone:
/// the law of each group's sum is a table, by partial convolutions of its entries' tables. The sums lie on the lattice
/// of the distinct columns; where that has few free dimensions (the sex × age tables of "Congenial differential
/// privacy": four groups under three equations) all its points are listed with their probabilities. One is drawn, and
/// every sum is split over its entries by a binary tree.
///
/// Where bounds push the free sums far from what the equations ask for, all weights are tilted towards it; that changes
/// neither the law nor the probability of the event.
///
/// Tables are cut where both tails together hold 1e-18 of the mass, and deeper where the event is so unlikely that this would
/// matter: what is lost is at most what all tables lack, over the probability of the event ([`Truncated::tv_error`]).
///
/// Besides the draw this gives the probability of the whole event, [`Truncated::log_mass`]: what conditioning
/// divides by.
///
/// # Examples
///
/// ```
/// use congenial_core::exact::Truncated;
/// use congenial_core::invariant::{Linear, Region};
/// use congenial_core::law::DoubleGeometric;
///
/// // Two entries with one total: P(z_1 + z_2 = 0) = (1 - a)(1 + a²)/(1 + a)³.
/// let law = DoubleGeometric::new(1.7)?;
/// let part = Region::everything().whole(&Linear::total(2)?);
/// let a = law.ratio();
/// let want = (1.0 - a) * (1.0 + a * a) / (1.0 + a).powi(3);
/// assert!((Truncated::new(&part, &law)?.log_mass().exp() - want).abs() < 1e-14);
/// # Ok::<(), congenial_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Truncated {
    parts: Parts,
    /// By group, its part and its entries, in the order of the part.
    groups: Vec<(PartId, Vec<u32>)>,
    /// Point by point: the sums of the groups.
    sums: Vec<i64>,
    cumulative: Vec<f64>,
    log_mass: f64,
    tv_error: f64,
}

impl Truncated {
    /// Prepares the sampler of one component.
    ///
    /// Errors: [`Error::TooLarge`] for more than 2^21 points, or a table beyond its limit; no point at all within the
    /// tables (bounds that leave 0 alone have one); no bound on the total variation distance below 1e-9.
    pub fn new<L: IntegerLaw>(bounded: &Bounded, law: &L) -> Result<Self> {
        let region = &bounded.tightened();
        let columns = bounded.equal_columns();
        let (a, _) = bounded.matrices(columns.iter().map(|(column, _)| column));
        let entries: Vec<Vec<u32>> = columns.iter().map(|(_, entries)| entries.clone()).collect();
        let tilts = tilts(&a, &entries, region, law, MISS)?;
        let mut tails = TRUNCATION;
        loop {
            let sampler = Self::tilted(bounded, region, columns.clone(), &tilts, law, tails)?;
            if sampler.tv_error <= MAX_TV_ERROR {
                return Ok(sampler);
            }
            if tails < LEAST_TAILS {
                return Err(Error::Unsupported {
                    method: "exact",
                    what: format!("these equations: its tables may lack {:.1e} of the law", sampler.tv_error),
                    reason: "at most 1e-9 is accepted; line-gibbs serves them",
                });
            }
            tails *= 1e-3 * MAX_TV_ERROR / sampler.tv_error;
        }
    }

    /// `tilts`: by group of equal columns, in the order of [`Bounded::equal_columns`]; any that multiply to 1 on the
    /// equations give the same law.
    fn tilted<L: IntegerLaw>(
        bounded: &Bounded,
        region: &Region,
        columns: Vec<(Row, Vec<u32>)>,
        tilts: &[f64],
        law: &L,
        tails: f64,
    ) -> Result<Self> {
        let component = &bounded.component;
        let laws = [*law];
        let mut build = Builder::with_tails(&laws, tails);
        let mut unit = vec![0; component.entries.len()];
        let mut groups = Vec::new();
        for ((column, mut entries), &tilt) in columns.into_iter().zip(tilts) {
            for &entry in &entries {
                let (floor, ceiling) = (region.lower[entry as usize], region.upper[entry as usize]);
                unit[entry as usize] = build.leaf(0, floor, ceiling, tilt)?;
            }
            let terms = FreeTerms { level: 0, reach: None, tilt: 0.0, depths: None };
            let part = build.sum(terms, &mut entries, &unit)?;
            groups.push((column, part, entries));
        }
        // Narrow tables first: the points are found by their leading coordinates.
        groups.sort_by_key(|(_, part, _)| {
            let support = build.table(*part).support();
            support.end() - support.start()
        });
        let parts = build.finish();
        let (a, b) = bounded.matrices(groups.iter().map(|(column, ..)| column));
        let least: Vec<i64> = region.rows.iter().map(|&(_, least)| least).collect();
        let tables: Vec<_> = groups.iter().map(|&(_, part, _)| parts.table(part)).collect();
        let (mut sums, mut cumulative) = (Vec::new(), Vec::new());
        Points::new(&a)?.each(&tables, f64::NEG_INFINITY, MAX_VISITED, &mut |point| {
            if (0..least.len()).any(|i| inner(b.row(i), point) < i128::from(least[i])) {
                return Ok(());
            }
            if cumulative.len() == MAX_POINTS {
                return Err(too_many(MAX_POINTS as u64 + 1, MAX_POINTS as u64));
            }
            // As logarithms: with many equations the probabilities of the points leave the range of numbers.
            cumulative.push(tables.iter().zip(point).map(|(table, &sum)| libm::log(table.at(sum))).sum());
            sums.extend_from_slice(point);
            Ok(())
        })?;
        let top = cumulative.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if top == f64::NEG_INFINITY {
            return Err(Error::Unsupported {
                method: "exact",
                what: "these equations and inequalities".into(),
                reason: "what satisfies them lies beyond the tables (probability below 1e-18 an entry)",
            });
        }
        let mut total = 0.0;
        for weight in &mut cumulative {
            total += libm::exp(*weight - top);
            *weight = total;
        }
        let log_mass = top + libm::log(total) + tables.iter().map(|table| table.log_mass()).sum::<f64>();
        // What the tables lack of the independent entries' law, over the probability of the event under that law.
        let lost: f64 = tables.iter().map(|table| table.lost()).sum();
        let lost = lost + component.entries.len() as f64 * tails * BEYOND;
        let tv_error = libm::exp(libm::log(lost) - top - libm::log(total)) + 1e-16 * cumulative.len() as f64;
        let tv_error = tv_error.min(1.0);
        let place =
            |entries: Vec<u32>| entries.into_iter().map(|entry| component.entries[entry as usize]).collect();
        let groups = groups.into_iter().map(|(_, part, entries)| (part, place(entries))).collect();
        Ok(Self { parts, groups, sums, cumulative, log_mass, tv_error })
    }

    /// Adds alias tables, for many draws: one word then splits a sum. `aliases`: columns that they may take (8 bytes
    /// each).
    pub fn for_draws(mut self, aliases: usize) -> Self {
        self.parts = std::mem::take(&mut self.parts).with_aliases(aliases);
        self
    }

    /// `ln P(A z = 0 and z within its bounds)` under the unconditioned law.
    pub fn log_mass(&self) -> f64 {
        self.log_mass
    }

    /// Upper bound on the total variation distance to the law that truncated tables cause, and on what rounding adds.
    pub fn tv_error(&self) -> f64 {
        self.tv_error
    }

    /// Draws once, into the component's entries of `noise`.
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R, scratch: &mut PartsScratch, noise: &mut [i64]) {
        let last = self.cumulative.len() - 1;
        let point = if last == 0 {
            0
        } else {
            let target = open01(rng) * self.cumulative[last];
            self.cumulative.partition_point(|&sum| sum <= target).min(last)
        };
        let sums = &self.sums[point * self.groups.len()..];
        for ((part, entries), &sum) in self.groups.iter().zip(sums) {
            self.parts.fill(*part, sum, entries, rng, scratch, noise);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invariant::{Inequalities, Linear};
    use crate::law::{DiscreteGaussian, DoubleGeometric};
    use crate::testing::{assert_same_distribution, test_stream};

    /// Any tilt along the equations gives the same probability of the event and the same law.
    #[test]
    fn tilts_change_nothing() {
        let invariant = Linear::subsets(6, &[vec![0, 1, 2, 3, 4, 5], vec![0, 1, 2], vec![2, 3]]).unwrap();
        let region = Inequalities::nonnegative(6).around(&[1, 0, 4, 2, 0, 1]).unwrap();
        let bounded = &region.components(&invariant)[0];
        let law = DoubleGeometric::new(1.5).unwrap();
        let columns = bounded.equal_columns();
        let tilted = |tau: [f64; 3]| {
            let of = |column: &Row| column.iter().map(|&(row, a)| a as f64 * tau[row as usize]).sum();
            let tilts: Vec<f64> = columns.iter().map(|(column, _)| of(column)).collect();
            Truncated::tilted(bounded, &region, columns.clone(), &tilts, &law, TRUNCATION)
                .unwrap()
                .for_draws(1 << 20)
        };
        let draws = |sampler: &Truncated, seed| -> Vec<f64> {
            let (mut rng, mut scratch, mut z) = (test_stream(seed), PartsScratch::default(), vec![0; 6]);
            (0..20_000)
                .map(|_| {
                    sampler.draw(&mut rng, &mut scratch, &mut z);
                    z.iter().zip(1..).map(|(&z, k)| (z * k) as f64).sum()
                })
                .collect()
        };
        let plain = tilted([0.0; 3]);
        for tau in [[0.2, 0.0, 0.0], [-0.3, 0.1, 0.2], [0.1, -0.4, 0.15]] {
            let other = tilted(tau);
            assert!((other.log_mass() - plain.log_mass()).abs() < 1e-12);
            assert_same_distribution(draws(&plain, 61), draws(&other, 62));
        }
        let whole = Truncated::new(bounded, &law).unwrap();
        assert!((whole.log_mass() - plain.log_mass()).abs() < 1e-12);
    }

    /// Many empty entries: the free sum lies far above 0. With n entries at 0 and one that holds them back, c is the
    /// coefficient of a power series: sums over what the others take.
    #[test]
    fn many_empty_cells() {
        let (n, total) = (400usize, 200i64);
        let invariant = Linear::total(n + 1).unwrap();
        let mut counts = vec![0i64; n];
        counts.push(total);
        let region = Inequalities::nonnegative(n + 1).around(&counts).unwrap();
        let bounded = &region.components(&invariant)[0];
        let law = DoubleGeometric::new(2.0).unwrap();
        let sampler = Truncated::new(bounded, &law).unwrap();
        // The n entries take s = 0 … total with weight C(s + n - 1, s) a^s each, the last one a^s: a^(2s) together.
        let a = libm::exp(-0.5);
        let (mut term, mut sum) = (1.0, 1.0);
        for s in 1..=total {
            term *= a * a * (s as f64 + n as f64 - 1.0) / s as f64;
            sum += term;
        }
        let want = libm::log(sum) + (n as f64 + 1.0) * libm::log((1.0 - a) / (1.0 + a));
        assert!((sampler.log_mass() - want).abs() < 1e-9, "{} {want}", sampler.log_mass());
        assert!(sampler.tv_error() < 1e-9);
        let (mut rng, mut scratch, mut z) = (test_stream(63), PartsScratch::default(), vec![0; n + 1]);
        for _ in 0..20 {
            sampler.draw(&mut rng, &mut scratch, &mut z);
            assert!(region.contains(&z) && invariant.check(&z).is_ok());
        }
        let gaussian = Truncated::new(bounded, &DiscreteGaussian::new(3.0).unwrap()).unwrap();
        gaussian.draw(&mut rng, &mut scratch, &mut z);
        assert!(region.contains(&z) && invariant.check(&z).is_ok());
    }
}
