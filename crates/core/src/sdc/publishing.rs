//! What a count says that an office perturbed or rounded.

use super::{PerturbationTable, check_base};
use crate::error::{Error, Result};
use crate::inference::{CountLaw, Prior, SumPrior};

/// How counts are published without a formal loss, and what a published count says of the true one, by itself alone.
///
/// # Examples
///
/// ```
/// use congenial_core::inference::{Prior, SumPrior};
/// use congenial_core::sdc::{PerturbationTable, Publishing};
///
/// let office = Publishing::CellKeys(PerturbationTable::new(2, 1.08, 1, 0.0)?);
/// // A published 2 was a count from 1 to 4. No 1 is published.
/// assert_eq!((office.possible(2), office.possible(1)), (Some((1, 4)), None));
/// let prior = SumPrior::of(Prior::Poisson(1.5))?;
/// assert!(office.is_true(2, &prior).is_some_and(|p| (p - 0.395).abs() < 0.001));
/// # Ok::<(), congenial_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Publishing {
    /// Every count, of leaves or of sums, is changed by a table of laws.
    CellKeys(PerturbationTable),
    /// Leaves with a count from 1 to base - 1 become 0 or base, and sums are those of leaves
    /// ([`super::round_small_counts`]). Which become what depends on other counts.
    Rounding {
        /// The base, 2 to 1000.
        base: u64,
    },
}

impl Publishing {
    /// Rounding to a base. Refused: a base that is not 2 to 1000.
    pub fn rounding(base: u64) -> Result<Self> {
        check_base(base)?;
        Ok(Self::Rounding { base })
    }

    /// The first count that may be published so, and, for it and those above, with what probability it is: under rounding no more than
    /// 1 of counts that others move, and 1 of those that stay. `None`: no count may be.
    fn likelihood(&self, published: i64) -> Option<(i64, Vec<f64>)> {
        let (from, mut all): (i64, Vec<f64>) = match self {
            Self::CellKeys(table) => {
                let d = table.largest();
                let from = published.saturating_sub(d).max(0);
                (from, (from..=published.saturating_add(d)).map(|x| table.p(x as u64, published)).collect())
            }
            Self::Rounding { base } => {
                let base = *base as i64;
                match published {
                    0 => (0, vec![1.0; base as usize]),
                    _ if published == base => (1, vec![1.0; base as usize]),
                    _ if published > base => (published, vec![1.0]),
                    _ => return None,
                }
            }
        };
        let first = all.iter().position(|p| *p > 0.0)?;
        all.truncate(all.iter().rposition(|p| *p > 0.0)? + 1);
        Some((from + first as i64, all.split_off(first)))
    }

    /// The largest value, from 1, up to which no leaf is published; 0 without any.
    pub fn unpublished(&self) -> i64 {
        match self {
            Self::CellKeys(table) => table.unpublished(),
            Self::Rounding { base } => *base as i64 - 1,
        }
    }

    /// The least and the largest count that may be published so. `None`: no count may be.
    pub fn possible(&self, published: i64) -> Option<(i64, i64)> {
        let (from, all) = self.likelihood(published)?;
        Some((from, from + all.len() as i64 - 1))
    }

    /// An interval that holds the true count with the probability `level` at least, whatever it is: of cell keys between the least and the
    /// largest count of which neither so small nor so large a published value has `(1 - level)/2` or less; of rounding
    /// [`Self::possible`], for sure. `None`: no count may be published so.
    pub fn interval(&self, published: i64, level: f64) -> Option<(i64, i64)> {
        let (least, most) = self.possible(published)?;
        let Self::CellKeys(table) = self else { return Some((least, most)) };
        // The smaller of the probabilities of what is published, or less, and of it, or more.
        let tail = |x: i64| {
            let side = |below: bool| -> f64 {
                let is_there =
                    |change: i64| if below { x + change <= published } else { x + change >= published };
                table.law(x as u64).filter(|(change, _)| is_there(*change)).map(|(_, p)| p).sum()
            };
            f64::min(side(true), side(false))
        };
        let tails: Vec<f64> = (least..=most).map(tail).collect();
        let best = tails.iter().copied().fold(0.0, f64::max);
        // Where the level is so low that no count is left, the one that goes best with what is published.
        let limit = (0.5 * (1.0 - level)).min(best * (1.0 - 1e-12));
        let is_in = |tail: &f64| *tail > limit;
        let (low, high) = (tails.iter().position(is_in)?, tails.iter().rposition(is_in)?);
        Some((least + low as i64, least + high as i64))
    }

    /// The posterior of a count that cell keys published so, with a prior of it; of what other counts tell nothing is used. `None`: under
    /// rounding, where it depends on other counts; no count that is believed may be published so.
    pub fn posterior(&self, published: i64, prior: &SumPrior) -> Option<CountLaw> {
        match self {
            Self::CellKeys(_) => self.given(published, prior),
            Self::Rounding { .. } => None,
        }
    }

    /// The probability that a published count is the true one, by itself and a prior alone. Of a leaf that is rounded it is a lower bound:
    /// a true 0, and a true base, stay for sure, and no other count becomes one with more than that. (Given all that is published it may be
    /// more or less: counts that are rounded together depend on each other.) `None`: no count that is believed may be published so.
    pub fn is_true(&self, published: i64, prior: &SumPrior) -> Option<f64> {
        self.given(published, prior).map(|law| law.p(published))
    }

    fn given(&self, published: i64, prior: &SumPrior) -> Option<CountLaw> {
        let (from, likelihood) = self.likelihood(published)?;
        prior.given(from, &likelihood)
    }

    /// The logarithm of the probability that cell keys publish a count so, with a prior of it; minus infinity of 0. Refused: rounding,
    /// where it depends on other counts; a prior that cannot be summed.
    pub fn log_evidence(&self, published: i64, prior: Prior) -> Result<f64> {
        if matches!(self, Self::Rounding { .. }) {
            let want = "its parameters, as in poisson:MEAN: how likely rounded counts are depends on all of them together";
            return Err(Error::parameter("prior", "a law alone", want));
        }
        let Some((from, likelihood)) = self.likelihood(published) else { return Ok(f64::NEG_INFINITY) };
        let logs: Vec<f64> =
            (from..).zip(&likelihood).map(|(x, own)| prior.log(x) + libm::log(*own)).collect();
        let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if most == f64::NEG_INFINITY {
            return Ok(most);
        }
        let sum: f64 = logs.iter().map(|log| libm::exp(log - most)).sum();
        Ok(most + libm::log(sum) - prior.log_mass()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invariant::Hierarchy;
    use crate::rng::{Rng, below, open01};
    use crate::sdc::round_small_counts;
    use crate::testing::test_stream;

    fn tables() -> Vec<PerturbationTable> {
        let table = |(d, v, js, stay): (u64, f64, u64, f64)| PerturbationTable::new(d, v, js, stay).unwrap();
        [(2, 1.08, 1, 0.0), (5, 3.0, 2, 0.5), (3, 2.0, 0, 0.0), (9, 6.0, 3, 0.2)].map(table).to_vec()
    }

    /// Intervals of cell keys hold every count from 0 to 40 with the probability that is said, summed over all keys; they never rule out
    /// the count that goes best with what is published, and no published value of a possible count is called impossible.
    #[test]
    fn intervals_hold_whatever_the_count_is() {
        for table in tables() {
            let office = Publishing::CellKeys(table.clone());
            for level in [0.05, 0.5, 0.9, 0.95, 0.999] {
                for count in 0..40i64 {
                    let holds = |(change, p): (i64, f64)| {
                        let (low, high) = office.interval(count + change, level).unwrap();
                        let (least, most) = office.possible(count + change).unwrap();
                        assert!(
                            least <= low && low <= high && high <= most && least <= count && count <= most
                        );
                        if (low..=high).contains(&count) { p } else { 0.0 }
                    };
                    let held: f64 = table.law(count as u64).map(holds).sum();
                    assert!(held >= level - 1e-12, "{count} {level}: {held}");
                }
            }
        }
    }

    /// Posteriors of cell keys, and of what is published true, against 400,000 counts of a prior that were published by random keys: within
    /// 5 standard errors. The evidence is the share of what is published so.
    #[test]
    fn posteriors_are_shares_of_what_is_published() {
        const DRAWS: usize = 400_000;
        let mut rng = test_stream(832);
        for table in tables() {
            let office = Publishing::CellKeys(table.clone());
            let prior = Prior::NegativeBinomial { mean: 3.0, size: 0.6 };
            let law = SumPrior::of(prior).unwrap().given(0, &[1.0; 200]).unwrap();
            let mut seen = std::collections::BTreeMap::<i64, Vec<i64>>::new();
            for _ in 0..DRAWS {
                let count = law.quantile(open01(&mut rng));
                seen.entry(table.publish(count as u64, rng.next_u64())).or_default().push(count);
            }
            for (published, counts) in seen.iter().filter(|(_, counts)| counts.len() > 2000) {
                let n = counts.len() as f64;
                let posterior = office.posterior(*published, &SumPrior::of(prior).unwrap()).unwrap();
                let close = |share: f64, p: f64, n: f64| {
                    (share - p).abs() <= 5.0 * libm::sqrt(p * (1.0 - p) / n) + 1e-9
                };
                for x in 0..60 {
                    let share = counts.iter().filter(|count| **count == x).count() as f64 / n;
                    assert!(close(share, posterior.p(x), n), "{published} {x}: {share} {}", posterior.p(x));
                }
                let evidence = libm::exp(office.log_evidence(*published, prior).unwrap());
                assert!(close(n / DRAWS as f64, evidence, DRAWS as f64), "{published}: {evidence}");
            }
        }
    }

    /// Counts of a prior, rounded together 20,000 times on a tree: a published 0, or base, is true at least as often as is said, but for 5
    /// standard errors; all counts lie where they may; values that are never published are called impossible.
    #[test]
    fn rounded_counts_are_true_at_least_as_often() {
        let mut rng = test_stream(833);
        let tree = Hierarchy::from_parents(&[0, 0, 0, 1, 1, 1, 2, 2, 2]).unwrap();
        for base in [2, 3, 5] {
            let office = Publishing::rounding(base).unwrap();
            let prior = SumPrior::of(Prior::NegativeBinomial { mean: 1.5, size: 0.8 }).unwrap();
            let law = prior.given(0, &[1.0; 100]).unwrap();
            let mut seen = std::collections::BTreeMap::<i64, (f64, f64)>::new();
            for _ in 0..20_000 {
                let mut counts = vec![0i64; tree.nodes()];
                tree.leaves().iter().for_each(|&leaf| counts[leaf as usize] = law.quantile(open01(&mut rng)));
                tree.sum_up(&mut counts);
                let released = round_small_counts(&tree, &counts, base, &mut rng).unwrap();
                for &leaf in tree.leaves() {
                    let (count, published) = (counts[leaf as usize], released[leaf as usize]);
                    let (least, most) = office.possible(published).unwrap();
                    assert!((least..=most).contains(&count));
                    let (all, right) = seen.entry(published).or_default();
                    *all += 1.0;
                    *right += f64::from(u8::from(count == published));
                }
            }
            for (published, (all, right)) in seen.into_iter().filter(|(_, (all, _))| *all > 500.0) {
                let least = office.is_true(published, &prior).unwrap();
                let share = right / all;
                assert!(share >= least - 5.0 * libm::sqrt(0.25 / all), "{base} {published}: {share} {least}");
            }
            assert!((1..base as i64).all(|x| office.possible(x).is_none()));
        }
    }

    /// The largest counts that a file may have, and values that no count has.
    #[test]
    fn ends_are_ends() {
        let office = Publishing::CellKeys(PerturbationTable::new(2, 1.08, 1, 0.0).unwrap());
        let most = 1i64 << 53;
        assert_eq!(office.possible(most), Some((most - 2, most + 2)));
        assert_eq!((office.possible(-1), office.possible(1), office.possible(0)), (None, None, Some((0, 2))));
        assert!(Publishing::rounding(1).is_err() && Publishing::rounding(3).unwrap().possible(-3).is_none());
        let prior = SumPrior::of(Prior::Poisson(2.0).within(9, 12)).unwrap();
        assert!(office.posterior(2, &prior).is_none() && office.is_true(2, &prior).is_none());
        let rounded = Publishing::rounding(3).unwrap();
        assert!(
            rounded.posterior(0, &prior).is_none() && rounded.log_evidence(0, Prior::Poisson(2.0)).is_err()
        );
        let flat = SumPrior::of(Prior::NONNEGATIVE).unwrap();
        let third = rounded.is_true(0, &flat).unwrap();
        assert!((third - 1.0 / 3.0).abs() < 1e-15 && rounded.is_true(7, &flat) == Some(1.0));
    }

    /// With random tables the interval is the whole of what is possible where nothing may be missed.
    #[test]
    fn high_levels_leave_all_that_is_possible() {
        let mut rng = test_stream(834);
        for table in tables() {
            let office = Publishing::CellKeys(table);
            for _ in 0..50 {
                let published = below(&mut rng, 60) as i64;
                assert_eq!(office.interval(published, 1.0 - 1e-9), office.possible(published));
            }
        }
    }
}
