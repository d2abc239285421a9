//! Rejection on a hierarchy: draws that keep the sums, kept if they keep the inequalities.

use super::TreeSampler;
use super::rejection::{KEPT, TRIALS};
use crate::error::{Error, Result};
use crate::invariant::{Hierarchy, Region};
use crate::law::Value;
use crate::rng::{Rng, Role, TaskKey, stream};

/// Exact sampler of the noise of all nodes of a hierarchy given its sums and inequalities between its nodes: draws of an exact sampler
/// of the sums, until one lies inside the region. Of the law `p` of that sampler it draws `p(z) 1(z in region) / p(region)`.
///
/// Its acceptance `p(region)` is measured before it is used, and refused where fewer than 10 proposals out of 100,000 are kept.
///
/// # Examples
///
/// ```
/// use congenial_core::exact::{IntegerTree, TreeRejection};
/// use congenial_core::invariant::{Hierarchy, Inequalities};
/// use congenial_core::law::DoubleGeometric;
/// use congenial_core::rng::{Role, TaskKey, stream};
///
/// // A state of two counties; the second is released with at least as many as the first.
/// let tree = Hierarchy::from_parents(&[0, 0, 0])?;
/// let region = Inequalities::rows(vec![(vec![(2, 1), (1, -1)], 0)])?.around(&[9, 4, 5])?;
/// let sums = IntegerTree::new(&tree, &[DoubleGeometric::new(2.0)?; 2], None)?;
/// let sampler = TreeRejection::new(&tree, sums, &region)?;
/// let mut rng = stream(TaskKey { seed: 1, cell: 0, replicate: 0, role: Role::Noise });
/// let mut noise = [0; 3];
/// let proposals = sampler.draw(&mut rng, &mut Default::default(), &mut noise);
/// assert!(proposals >= 1 && noise[0] == noise[1] + noise[2] && 5 + noise[2] >= 4 + noise[1]);
/// # Ok::<(), congenial_core::Error>(())
/// ```
#[derive(Debug)]
pub struct TreeRejection<S> {
    sums: S,
    region: Region,
    /// The acceptance as estimated from the trials.
    acceptance: f64,
}

impl<S: TreeSampler<Value: Value>> TreeRejection<S> {
    /// Prepares the sampler, and measures its acceptance.
    ///
    /// - `sums`: the exact sampler of the noise given the sums of `hierarchy`.
    /// - `region`: what bounds the noise, with the nodes as its entries.
    ///
    /// Errors: an acceptance too small to be measured.
    pub fn new(hierarchy: &Hierarchy, sums: S, region: &Region) -> Result<Self> {
        let mut sampler = Self { sums, region: region.clone(), acceptance: 1.0 };
        if region.is_everything() {
            return Ok(sampler);
        }
        let mut rng = stream(TaskKey { seed: 0, cell: 0, replicate: 0, role: Role::Noise });
        let (mut scratch, mut noise) = (S::Scratch::default(), vec![S::Value::default(); hierarchy.nodes()]);
        let mut tries = 0;
        for _ in 0..KEPT {
            match sampler.attempt(TRIALS - tries, &mut rng, &mut scratch, &mut noise) {
                Some(n) => tries += n,
                None => {
                    return Err(Error::Unsupported {
                        method: "rejection",
                        what: "these inequalities between nodes".into(),
                        reason: "fewer than 10 of 100,000 proposals were kept: the acceptance cannot be measured",
                    });
                }
            }
        }
        sampler.acceptance = KEPT as f64 / tries as f64;
        Ok(sampler)
    }

    /// Draws the noise of all nodes once, into `noise`; returns the proposals that it took.
    pub fn draw<R: Rng + ?Sized>(
        &self,
        rng: &mut R,
        scratch: &mut S::Scratch,
        noise: &mut [S::Value],
    ) -> u64 {
        self.attempt(u64::MAX, rng, scratch, noise).unwrap_or(u64::MAX)
    }

    /// An estimate of the total variation distance of a draw to the law: that of the proposals, over the acceptance.
    pub fn tv_error(&self) -> f64 {
        (self.sums.tv_error() / self.acceptance).min(1.0)
    }

    /// Proposes until one is kept: how many it took, or `None` after `limit`.
    fn attempt<R: Rng + ?Sized>(
        &self,
        limit: u64,
        rng: &mut R,
        scratch: &mut S::Scratch,
        noise: &mut [S::Value],
    ) -> Option<u64> {
        (1..=limit).find(|_| {
            self.sums.draw(rng, scratch, noise);
            self.region.holds(noise)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::{IntegerTree, LaplaceTree};
    use crate::invariant::{Inequalities, NO_LOWER, NO_UPPER};
    use crate::law::{DoubleGeometric, Laplace, Law};
    use crate::testing::test_stream;
    use std::collections::BTreeMap;

    /// The law of five nodes under bounds and a row, point by point: the chi-square statistic of 40,000 draws against weights that are
    /// listed.
    #[test]
    fn draws_have_the_law_within_the_inequalities() {
        let tree = Hierarchy::from_parents(&[0, 0, 0, 1, 1]).unwrap();
        let laws = [0.9, 1.1, 0.7].map(|scale| DoubleGeometric::new(scale).unwrap());
        let lower = vec![NO_LOWER, -1, NO_LOWER, NO_LOWER, NO_LOWER];
        let upper = vec![NO_UPPER, NO_UPPER, NO_UPPER, 1, NO_UPPER];
        let row = Inequalities::rows(vec![(vec![(2, 1), (4, -1)], -1)]).unwrap();
        let region = Inequalities::bounds(lower, upper).unwrap().and(row).around(&[0; 5]).unwrap();
        let mut weights: BTreeMap<[i64; 5], f64> = BTreeMap::new();
        let reach = 14;
        for a in -reach..=reach {
            for b in -reach..=reach {
                for c in -reach..=reach {
                    let z = [a + b + c, b + c, a, b, c];
                    if z[1] >= -1 && b <= 1 && a - c >= -1 {
                        let log: f64 = (0..5).map(|v| laws[tree.level(v)].log_weight(z[v])).sum();
                        weights.insert(z, libm::exp(log));
                    }
                }
            }
        }
        let total: f64 = weights.values().sum();
        let sums = IntegerTree::new(&tree, &laws, None).unwrap();
        let sampler = TreeRejection::new(&tree, sums, &region).unwrap();
        let (mut rng, mut scratch) = (test_stream(77), Default::default());
        let (n, mut seen) = (40_000, BTreeMap::<[i64; 5], u64>::new());
        let mut proposals = 0;
        for _ in 0..n {
            let mut z = [0; 5];
            proposals += sampler.draw(&mut rng, &mut scratch, &mut z);
            *seen.entry(z).or_default() += 1;
        }
        assert!(seen.keys().all(|z| weights.contains_key(z)));
        // Points that are expected 10 times or more; the others together.
        let (mut statistic, mut cells, mut rest) = (0.0, 0.0, (0.0, n as f64));
        for (z, weight) in &weights {
            let expected = n as f64 * weight / total;
            if expected >= 10.0 {
                let got = seen.get(z).copied().unwrap_or(0) as f64;
                statistic += (got - expected) * (got - expected) / expected;
                cells += 1.0;
                rest.1 -= got;
            } else {
                rest.0 += expected;
            }
        }
        statistic += (rest.1 - rest.0) * (rest.1 - rest.0) / rest.0;
        // Wilson and Hilferty: the upper 1e-6 point of chi-square with as many degrees of freedom as cells.
        let spread = 2.0 / (9.0 * cells);
        let most = cells * libm::pow(1.0 - spread + 4.75 * libm::sqrt(spread), 3.0);
        assert!(cells > 30.0 && statistic < most, "{statistic} of {cells}, at most {most}");
        assert!(proposals > n, "nothing was rejected");
    }

    /// What no proposal keeps is refused, and real draws lie inside.
    #[test]
    fn far_regions_are_refused() {
        let tree = Hierarchy::from_parents(&[0, 0, 0]).unwrap();
        let laws = [Laplace::new(1.0).unwrap(); 2];
        let sampler = |rows: Vec<(Vec<(u32, i64)>, i64)>| {
            let region = Region { rows, ..Region::everything() };
            TreeRejection::new(&tree, LaplaceTree::new(&tree, &laws).unwrap(), &region)
        };
        let error = sampler(vec![(vec![(1, 1)], 40)]).unwrap_err().to_string();
        assert!(error.contains("fewer than 10 of 100,000"), "{error}");
        let inside = sampler(vec![(vec![(1, 1), (2, -1)], 0)]).unwrap();
        let (mut rng, mut scratch, mut z) = (test_stream(78), Default::default(), [0.0; 3]);
        for _ in 0..200 {
            inside.draw(&mut rng, &mut scratch, &mut z);
            assert!(z[1] >= z[2] - 1e-9);
        }
    }
}
