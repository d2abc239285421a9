//! What groups of chains with importance weights bound.

use super::divergence::Divergence;
use super::harmonize::Group;
use super::meeting::RESAMPLES;
use crate::diagnostics::{Estimate, Moments};
use crate::rng::{Rng, below};

/// Independent groups of one kernel: bounds on `D_f(π‖μ_t)`, see [`super::harmonize()`].
///
/// The constant c of the weights is estimated by their mean over all chains, which makes every bound with a finite
/// `E f(w_0/c)` consistent in the number of chains, not unbiased. Where few chains carry all the weight ([`Weights::effective`]) it is
/// too low. Where `E f(w_0/c)` is infinite, as that of χ² for starts whose tails are less than half as long as those of the target, it
/// is finite all the same and says nothing: no sample tells.
///
/// # Examples
///
/// ```
/// use congenial_core::coupling::{Divergence, Harmonized, harmonize};
/// use congenial_core::invariant::Linear;
/// use congenial_core::kernel::{LatticeGibbs, Start};
/// use congenial_core::law::DoubleGeometric;
/// use congenial_core::rng::{Role, TaskKey, stream};
///
/// let kernel = LatticeGibbs::new(&Linear::margins(2, 3)?, None, DoubleGeometric::new(1.0)?)?;
/// let group = |replicate| {
///     let mut rng = stream(TaskKey { seed: 1, cell: 0, replicate, role: Role::Group });
///     harmonize(&kernel, Start::OverDispersed, 64, 10_000, &mut rng)
/// };
/// let all = Harmonized::new((0..20).map(group).collect::<Result<_, _>>()?);
/// let bound = |t| all.at(t).bound(Divergence::TotalVariation);
/// // With every step the chains are closer to their law, down to what is left when all have met.
/// assert!(bound(0) > bound(20) && bound(20) > bound(200));
/// # Ok::<(), congenial_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Harmonized {
    groups: Vec<Group>,
    /// By group and chain: the weights at the start over the largest.
    starts: Vec<Vec<f64>>,
}

/// The weights of all groups at one time.
#[derive(Debug, Clone)]
pub struct Weights {
    /// By group: chains that share a weight, as the sum of their weights and their number.
    groups: Vec<Vec<(f64, f64)>>,
}

/// A bound on a divergence with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    /// The bound with its standard error.
    pub estimate: Estimate,
    /// The 95 % interval of the bound.
    pub interval: (f64, f64),
}

impl Harmonized {
    /// Puts groups of one kernel together. Weights are scaled by the largest of all, so that none overflows.
    pub fn new(groups: Vec<Group>) -> Self {
        let logs = || groups.iter().map(|group| &group.log_weights);
        let largest = logs().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
        let scaled = |logs: &Vec<f64>| logs.iter().map(|log| libm::exp(log - largest)).collect();
        Self { starts: logs().map(scaled).collect(), groups }
    }

    /// Steps up to which the weights of all groups are known; `u64::MAX` if all chains have met.
    pub fn until(&self) -> u64 {
        self.groups.iter().map(|group| group.until).min().unwrap_or(0)
    }

    /// The time of the last meeting; 0 if there was none.
    pub fn last(&self) -> u64 {
        self.groups.iter().filter_map(|group| group.merges.last()).map(|merge| merge.t).max().unwrap_or(0)
    }

    /// The number of groups in which all chains have met.
    pub fn met(&self) -> u64 {
        self.groups.iter().filter(|group| group.until == u64::MAX).count() as u64
    }

    /// The number of kernel steps of all groups together.
    pub fn steps(&self) -> u64 {
        self.groups.iter().map(|group| group.steps).sum()
    }

    /// The weights after `t` steps, at most [`Harmonized::until`].
    pub fn at(&self, t: u64) -> Weights {
        let group = |(group, starts): (&Group, &Vec<f64>)| {
            let mut shared: Vec<(f64, f64)> = starts.iter().map(|&weight| (weight, 1.0)).collect();
            for merge in group.merges.iter().take_while(|merge| merge.t <= t) {
                let (sum, chains) = std::mem::take(&mut shared[merge.from as usize]);
                shared[merge.into as usize].0 += sum;
                shared[merge.into as usize].1 += chains;
            }
            shared.retain(|&(_, chains)| chains > 0.0);
            shared
        };
        Weights { groups: self.groups.iter().zip(&self.starts).map(group).collect() }
    }

    /// The first t at which the bound is at most `level`; `None` if it is above as far as the weights are known.
    pub fn first_below(&self, divergence: Divergence, level: f64) -> Option<u64> {
        let mut times: Vec<u64> = self.groups.iter().flat_map(|g| &g.merges).map(|merge| merge.t).collect();
        times.push(0);
        times.sort_unstable();
        times.dedup();
        times.retain(|&t| t <= self.until());
        // The bound falls with t, at meetings alone.
        let first = times.partition_point(|&t| self.at(t).bound(divergence) > level);
        times.get(first).copied()
    }

    /// Resamples of the groups for the bootstrap: how often each is drawn.
    pub fn resamples<R: Rng + ?Sized>(&self, rng: &mut R) -> Vec<Vec<f64>> {
        let n = self.groups.len();
        let resample = |_| {
            let mut counts = vec![0.0; n];
            (0..n).for_each(|_| counts[below(rng, n as u64) as usize] += 1.0);
            counts
        };
        (0..RESAMPLES).map(resample).collect()
    }
}

impl Weights {
    /// `(1/N) Σ f(w/c)` over all chains, with c the mean of the weights: the estimate of the bound on the divergence.
    pub fn bound(&self, divergence: Divergence) -> f64 {
        let all = || self.groups.iter().flatten();
        let chains: f64 = all().map(|(_, chains)| chains).sum();
        let c = all().map(|(sum, _)| sum).sum::<f64>() / chains;
        all().map(|&(sum, n)| n * divergence.f(sum / n / c)).sum::<f64>() / chains
    }

    /// The bound with standard error and interval by the bootstrap over groups (Efron 1979): standard deviation, 2.5 % and 97.5 %
    /// quantiles over the resamples, in each of which c is estimated anew. One without any weight is left out.
    pub fn bootstrap(&self, divergence: Divergence, resamples: &[Vec<f64>]) -> Bound {
        let sums: Vec<Sums> = self.groups.iter().map(|group| Sums::of(divergence, group)).collect();
        let values = resamples.iter().map(|counts| Sums::bound(divergence, &sums, counts));
        let mut values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        let standard_error = values.iter().copied().collect::<Moments>().deviation();
        values.sort_by(f64::total_cmp);
        let at = |p: f64| values.get((p * values.len() as f64) as usize).copied().unwrap_or(f64::NAN);
        Bound {
            estimate: Estimate { mean: self.bound(divergence), standard_error },
            interval: (at(0.025), at(0.975)),
        }
    }

    /// `(Σ w)²/Σ w²` over all chains: as many equal weights say as much.
    pub fn effective(&self) -> f64 {
        let all = || self.groups.iter().flatten();
        let squares: f64 = all().map(|(sum, chains)| sum * sum / chains).sum();
        let sum: f64 = all().map(|(sum, _)| sum).sum();
        sum * sum / squares
    }

    /// The number of chains, where those that move as one are counted once: the number of groups where all have met.
    pub fn apart(&self) -> u64 {
        self.groups.iter().map(|group| group.len() as u64).sum()
    }
}

/// What a resample takes from a group: with it the mean of f(w/c) is known for every c.
struct Sums<'a> {
    weights: f64,
    chains: f64,
    /// `Σ g(w)` over the chains: of w² for χ², of w ln w for Kullback-Leibler, of √w for Hellinger.
    moment: f64,
    /// The group itself, of which total variation needs every weight.
    group: &'a [(f64, f64)],
}

impl<'a> Sums<'a> {
    fn of(divergence: Divergence, group: &'a [(f64, f64)]) -> Self {
        let moment = |&(sum, n): &(f64, f64)| {
            let w = sum / n;
            n * match divergence {
                Divergence::TotalVariation => 0.0,
                Divergence::ChiSquared => w * w,
                Divergence::KullbackLeibler => divergence.f(w),
                Divergence::HellingerSquared => libm::sqrt(w),
            }
        };
        Self {
            weights: group.iter().map(|(sum, _)| sum).sum(),
            chains: group.iter().map(|(_, chains)| chains).sum(),
            moment: group.iter().map(moment).sum(),
            group,
        }
    }

    /// The bound with each group as often as it is drawn.
    fn bound(divergence: Divergence, groups: &[Self], counts: &[f64]) -> f64 {
        let drawn = || groups.iter().zip(counts).filter(|(_, count)| **count > 0.0);
        let total = |of: &dyn Fn(&Self) -> f64| drawn().map(|(group, count)| count * of(group)).sum::<f64>();
        let chains = total(&|group| group.chains);
        let (c, moment) = (total(&|group| group.weights) / chains, total(&|group| group.moment) / chains);
        match divergence {
            // Half of the mean of |w - c| is the mean of what lies above c.
            Divergence::TotalVariation => {
                let above = |group: &Self| group.group.iter().map(|(sum, n)| (sum - n * c).max(0.0)).sum();
                total(&above) / chains / c
            }
            Divergence::ChiSquared => moment / (c * c) - 1.0,
            Divergence::KullbackLeibler => moment / c - libm::log(c),
            Divergence::HellingerSquared => 1.0 - moment / libm::sqrt(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coupling::Merge;
    use crate::testing::test_stream;

    /// Two groups of two chains: weights 1, 3 and 2, 2, with c = 2; the first meets after 5 steps.
    #[test]
    fn bounds_by_hand() {
        let group = |weights: [f64; 2], t| Group {
            // Larger than any number: what is common to all says nothing.
            log_weights: weights.map(|weight| libm::log(weight) + 900.0).into(),
            merges: vec![Merge { t, into: 0, from: 1 }],
            until: u64::MAX,
            steps: 2 * t,
        };
        let all = Harmonized::new(vec![group([1.0, 3.0], 5), group([2.0, 2.0], 9)]);
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
        let tv = Divergence::TotalVariation;
        close(all.at(0).bound(tv), 0.125);
        close(all.at(4).bound(Divergence::ChiSquared), 0.125);
        close(all.at(5).bound(Divergence::ChiSquared), 0.0);
        close(all.at(4).effective(), 64.0 / 18.0);
        assert_eq!([4, 5, 9].map(|t| all.at(t).apart()), [4, 3, 2]);
        assert_eq!((all.first_below(tv, 0.2), all.first_below(tv, 0.1), all.last()), (Some(0), Some(5), 9));
        // Resamples are the bound of the groups that are drawn.
        let uneven = || [group([1.0, 3.0], 5), group([5.0, 2.0], 9)];
        let other = Harmonized::new(uneven().into());
        for counts in [[2.0, 0.0], [1.0, 1.0], [0.0, 2.0]] {
            let drawn = uneven().into_iter().zip(counts).flat_map(|(group, n)| vec![group; n as usize]);
            let drawn = Harmonized::new(drawn.collect()).at(0);
            for divergence in Divergence::ALL {
                let weights = other.at(0);
                let sums: Vec<Sums> =
                    weights.groups.iter().map(|group| Sums::of(divergence, group)).collect();
                close(Sums::bound(divergence, &sums, &counts), drawn.bound(divergence));
            }
        }
        let bound = all.at(0).bootstrap(tv, &all.resamples(&mut test_stream(1)));
        close(bound.interval.0, 0.0);
        close(bound.interval.1, 0.25);
        // 0, 1/8, 1/8, 1/4 with equal odds.
        assert!((bound.estimate.standard_error - 0.125 * 0.5f64.sqrt()).abs() < 0.01);
        let cut = Harmonized::new(vec![Group { until: 5, ..group([1.0, 3.0], 6) }]);
        assert_eq!((cut.first_below(tv, 0.1), cut.until(), cut.met()), (None, 5, 0));
    }
}
