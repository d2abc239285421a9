//! Variances of the answers of a tree of tables, with their derivatives.

use super::answers::{Answers, Variance, checked};
use crate::cube::Gls;
use crate::error::{Error, Result};

/// Derivatives are taken over so small a part of a variance at least, or over so large a one where they are faint.
const STEPS: (f64, f64) = (1e-6, 0.5);
/// Rounding of a variance, as a part of it: ten times what `tests/all/cube_ratios.rs` holds.
const ROUNDING: f64 = 1e-12;
/// The largest noise is so many times the least at most. That rounding is held up to ten times as much.
const WIDEST: f64 = 1e15;
/// A variance that is no larger a part of the least noise than this is that of an answer that is known, but for rounding.
const NOTHING: f64 = 1e-9;

/// Answers of queries in all areas of some levels; the measurements are the queries of levels that have noise, query by query, and level
/// by level in each.
#[derive(Debug, Clone)]
pub struct TableAnswers {
    gls: Gls,
    /// By measurement its level and query.
    measured: Vec<(usize, usize)>,
    /// By query that is asked its level and query.
    asked: Vec<(usize, usize)>,
}

impl TableAnswers {
    /// - `gls`: the estimate, of which everything but the variances of the noise counts.
    /// - `asked`: level and query of each query whose answers are wanted, measured or not.
    ///
    /// Refused: a level or a query that is none.
    pub fn new(gls: Gls, asked: Vec<(usize, usize)>) -> Result<Self> {
        let variances = gls.measurements().variances();
        let (levels, queries) = (variances.len(), gls.measurements().queries().len());
        if let Some(&(level, query)) =
            asked.iter().find(|(level, query)| *level >= levels || *query >= queries)
        {
            let want = "a level and a query that there are";
            return Err(Error::parameter("asked", format!("level {level}, query {query}"), want));
        }
        let places = (0..queries).flat_map(|query| (0..levels).map(move |level| (level, query)));
        let has_noise =
            |&(level, query): &(usize, usize)| variances[level][query].is_some_and(|own| own > 0.0);
        let measured = places.filter(has_noise).collect();
        Ok(Self { gls, measured, asked })
    }

    /// The level and the query of each measurement.
    pub fn places(&self) -> &[(usize, usize)] {
        &self.measured
    }
}

/// Variances of answers that are alike, in an order that does not depend on the noise: the query, their number, the variance.
fn of_answers(gls: &Gls, asked: &[(usize, usize)]) -> Vec<(usize, u64, f64)> {
    let queries = gls.measurements().queries();
    let mut all = Vec::new();
    gls.each_variances(|areas, variances| {
        let level = gls.tree().level(areas[0]);
        for (place, (_, query)) in asked.iter().enumerate().filter(|(_, own)| own.0 == level) {
            for (answer, number) in queries[*query].alike() {
                let number = (number * areas.len()) as u64;
                all.push((place, number, variances.answer(&queries[*query], answer)));
            }
        }
    });
    all
}

impl Answers for TableAnswers {
    fn measured(&self) -> usize {
        self.measured.len()
    }

    fn queries(&self) -> usize {
        self.asked.len()
    }

    fn work(&self) -> usize {
        // Products of matrices as large as the joined attributes have combinations.
        self.gls.numbers() * self.gls.measurements().domain().joint() * (1 + self.measured.len())
    }

    /// One estimate more for each measurement, or two. A derivative is a difference to a variance that is less: since v is concave in the
    /// variances of the noise it is not too small, rounding is added, and what follows from it as a bound holds.
    ///
    /// Errors: noise of which the largest variance is more than 1e15 times the least, too ([`Error::NotConverged`]).
    fn each(&self, variances: &[f64], take: &mut dyn FnMut(usize, u64, &Variance)) -> Result<()> {
        checked(variances, self.measured.len())?;
        let least = variances.iter().copied().fold(f64::INFINITY, f64::min);
        let most = variances.iter().copied().fold(0.0, f64::max);
        if most > WIDEST * least {
            let residuals = format!(
                "variances from {least:.1e} to {most:.1e}; want them within a factor of {WIDEST:e}, as under a smaller epsilon or more \
                 even shares"
            );
            return Err(Error::NotConverged {
                what: "least squares under noise of such different sizes",
                residuals,
            });
        }
        let nothing = NOTHING * least;
        let mut gls = self.gls.clone();
        let mut of = |noise: &mut dyn FnMut(usize) -> f64| -> Result<Vec<(usize, u64, f64)>> {
            let mut all = self.gls.measurements().variances().to_vec();
            self.measured
                .iter()
                .enumerate()
                .for_each(|(k, &(level, query))| all[level][query] = Some(noise(k)));
            gls.reweigh(all)?;
            let mut told = of_answers(&gls, &self.asked);
            told.iter_mut().filter(|(.., value)| *value <= nothing).for_each(|(.., value)| *value = 0.0);
            Ok(told)
        };
        let zero = Variance::zero(variances.len());
        let own = |(query, number, value)| (query, number, Variance { value, ..zero.clone() });
        let mut answers: Vec<(usize, u64, Variance)> =
            of(&mut |k| variances[k])?.into_iter().map(own).collect();
        let fine = STEPS.0;
        let part = |value: f64, less: f64, step: f64| ((value - less).max(0.0) / value + ROUNDING) / step;
        let is_faint = |part: f64| part <= 3.0 * ROUNDING / fine;
        for (k, r) in variances.iter().enumerate() {
            let mut less = |step: f64| of(&mut |j| if j == k { r * (1.0 - step) } else { variances[j] });
            let mut parts: Vec<f64> = Vec::with_capacity(answers.len());
            for ((.., own), (.., less)) in answers.iter().zip(less(fine)?) {
                parts.push(if own.value > 0.0 { part(own.value, less, fine) } else { f64::INFINITY });
            }
            if parts.iter().any(|&part| is_faint(part)) {
                for ((all, (.., own)), (.., less)) in parts.iter_mut().zip(&answers).zip(less(STEPS.1)?) {
                    if is_faint(*all) {
                        *all = part(own.value, less, STEPS.1);
                    }
                }
            }
            for ((.., own), part) in answers.iter_mut().zip(parts).filter(|((.., own), _)| own.value > 0.0) {
                own.falls[k] = own.value * r * part;
            }
        }
        answers.iter().for_each(|(query, number, own)| take(*query, *number, own));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Goal, best, of_queries};
    use super::*;
    use crate::cube::{Domain, Marginal, Measurements, Query};
    use crate::invariant::Hierarchy;
    use crate::rng::{Stream, below, open01};
    use crate::testing::test_stream;

    /// Answers of queries that all have noise, or of which some have on each level (as a mask of queries), asked everywhere.
    fn answers(parents: &[usize], sizes: &[u32], queries: &[Query], measured: &[u32]) -> TableAnswers {
        let tree = Hierarchy::from_parents(parents).unwrap();
        let domain = Domain::new(sizes, &[], queries).unwrap();
        let marginals = queries.iter().map(|query| Marginal::new(&domain, query)).collect();
        let one =
            |mask: &u32| (0..queries.len()).map(|query| (mask >> query & 1 == 1).then_some(1.0)).collect();
        let variances = measured.iter().map(one).collect();
        let measurements = Measurements::new(&domain, marginals, variances).unwrap();
        let gls = Gls::new(&tree, measurements).unwrap();
        let asked = (0..tree.levels()).flat_map(|level| (0..queries.len()).map(move |query| (level, query)));
        TableAnswers::new(gls, asked.collect()).unwrap()
    }

    /// A query of each subset of so many attributes.
    fn subsets(attributes: usize) -> Vec<Query> {
        let of = |set: usize| Query::of(&(0..attributes).filter(|i| set >> i & 1 == 1).collect::<Vec<_>>());
        (0..1 << attributes).map(of).collect()
    }

    /// Variances whose logarithms lie within so much.
    fn random(rng: &mut Stream, number: usize, width: f64) -> Vec<f64> {
        (0..number).map(|_| libm::exp(width * (open01(rng) - 0.5))).collect()
    }

    /// A variance is what it falls by, times the precisions, added up, as it is homogeneous; and what is linear bounds the inverse variance
    /// at all other precisions. With attributes that are joined, too.
    #[test]
    fn derivatives_bound_other_splits() {
        let mut rng = test_stream(813);
        let joined = [
            Query::of(&[0, 1]),
            Query::of(&[0]).grouping(0, vec![vec![0, 1], vec![2]]),
            Query::of(&[0]).grouping(0, vec![vec![0], vec![1, 2]]),
        ];
        let parents = [0, 0, 0, 1, 1, 1, 2];
        for round in 0..40 {
            let answers = match round % 2 {
                0 => answers(&parents, &[2, 3], &subsets(2), &[0b0110, 0b1011, 0b1001]),
                _ => answers(&parents, &[3, 2], &joined, &[0b011, 0b110, 0b101]),
            };
            let m = answers.measured();
            // Noise of tiny shares may be 10^13 times that of large ones.
            let width = [6.0, 30.0][round / 2 % 2];
            let [one, other] = [random(&mut rng, m, width), random(&mut rng, m, width)];
            let precisions: Vec<f64> = other.iter().map(|r| 1.0 / r).collect();
            let [here, there] = [&one, &other].map(|own| of_queries(&answers, own).unwrap());
            for (here, there) in here.iter().zip(&there) {
                for here in [&here.mean, &here.largest] {
                    let sum: f64 = here.falls.iter().zip(&one).map(|(fall, r)| fall / r).sum();
                    assert!(
                        sum / here.value > 1.0 && sum / here.value < 1.0 + 1e-4,
                        "{sum}, not {}",
                        here.value
                    );
                }
                let (here, there) = (&here.mean, &there.mean);
                let bound: f64 = here.falls.iter().zip(&precisions).map(|(fall, p)| fall * p).sum();
                let bound = bound / (here.value * here.value);
                assert!(1.0 / there.value < bound * (1.0 + 1e-12), "{} above {bound}", 1.0 / there.value);
            }
        }
    }

    /// Noise of a ratio of 1e15 is served, and more is refused with what would help; where shares lead to more the search goes on
    /// without them.
    #[test]
    fn noise_of_too_different_sizes_is_refused() {
        let answers = answers(&[0, 0, 0], &[2], &subsets(1), &[0b11, 0b11]);
        assert!(of_queries(&answers, &[1.0, 1e15, 1.0, 1.0]).is_ok());
        let refused = of_queries(&answers, &[1.0, 1.1e15, 1.0, 1.0]).unwrap_err().to_string();
        assert!(refused.contains("factor of 1e15") && refused.contains("epsilon"), "{refused}");
        // The least share buys 1e30 times less than the largest; even shares are even.
        let found = best(&answers, Goal::Mean, &[], |share| Ok(libm::pow(share, 10.0))).unwrap();
        let even = of_queries(&answers, &[libm::pow(4.0, 10.0); 4]).unwrap();
        assert!(found.variance <= Goal::Mean.of(&even) && found.at_least <= found.variance, "{found:?}");
    }

    /// Marginals of one table under Gaussian noise: no linear mechanism of the same loss has less than `(Σ_S sqrt(c_S a_S))²` for the sum
    /// over queries of the mean variance (ResidualPlanner: Xiao, He, Zhang, Kifer 2023), with `c_S = Π_(i in S) (1 - 1/n_i) Π_(i not in
    /// S) 1/n_i` what a unit of precision of the residuals of S costs, and `a_S` what their variance adds. Where its optimum is a sum of
    /// marginals with shares of the least share and more, it is what is found.
    #[test]
    fn residuals_bound_marginals() {
        let mut rng = test_stream(814);
        let mut met = 0;
        for _ in 0..60 {
            let attributes = 1 + below(&mut rng, 3) as usize;
            let sizes: Vec<u32> = (0..attributes).map(|_| 2 + below(&mut rng, 5) as u32).collect();
            let n = |i: usize| f64::from(sizes[i]);
            let sets = 1usize << attributes;
            let mut answers = answers(&[0], &sizes, &subsets(attributes), &[(1 << sets) - 1]);
            answers.asked.retain(|_| below(&mut rng, 3) > 0);
            if answers.asked.is_empty() {
                continue;
            }
            let over = |set: usize, of: &dyn Fn(usize) -> f64| -> f64 {
                (0..attributes).filter(|i| set >> i & 1 == 1).map(of).product()
            };
            let all = sets - 1;
            let cost = |s: usize| over(s, &|i| 1.0 - 1.0 / n(i)) * over(all & !s, &|i| 1.0 / n(i));
            let adds = |s: usize| -> f64 {
                let within = answers.asked.iter().filter(|(_, b)| s & !b == 0);
                let one = |&(_, b): &(usize, usize)| {
                    over(all & !b, &n) * over(s, &|i| 1.0 - 1.0 / n(i)) * over(b & !s, &|i| 1.0 / n(i))
                };
                within.map(one).sum::<f64>() / answers.asked.len() as f64
            };
            let root: f64 = (0..sets).map(|s| libm::sqrt(cost(s) * adds(s))).sum();
            let optimum = root * root;
            let found = best(&answers, Goal::Mean, &[], Ok).unwrap();
            let words = format!("{sizes:?}, {:?}: {found:?}, not {optimum}", answers.asked);
            assert!(found.variance > optimum * (1.0 - 1e-9), "{words}");
            assert!(found.variance / found.at_least < 1.0 + 1.1e-4, "{words}");
            // The precision of S is the sum of those of the marginals above, each times the cells that it sums over.
            let precision = |s: usize| libm::sqrt(adds(s) / cost(s)) / root;
            let share = |a: usize| -> f64 {
                let above = (0..sets).filter(|s| a & !s == 0);
                let sign = |s: usize| if (s ^ a).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 };
                above.map(|s| sign(s) * precision(s)).sum::<f64>() / over(all & !a, &n)
            };
            if (0..sets).all(|a| share(a) >= 0.002) {
                met += 1;
                assert!(found.variance < optimum * (1.0 + 2e-4), "{words}");
                (0..sets).for_each(|a| {
                    assert!((found.shares[a] - share(a)).abs() < 0.03, "{words}: {}", share(a))
                });
            }
        }
        assert!(met >= 5, "{met}");
    }
}
