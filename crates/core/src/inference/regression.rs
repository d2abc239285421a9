//! Regressions of the counts of leaves on what is known of the leaves, from a release.

use super::likelihood::{Release, Score, score_of_counts};
use super::maximum::{Found, LogLikelihood, Maximum, maximum};
use crate::error::{Error, Result};

/// The law of a leaf's count given its mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counts {
    /// Poisson.
    Poisson,
    /// Negative binomial, with one size k for all leaves: the variance is `mean + mean²/k`.
    NegativeBinomial,
}

/// A model of the counts of leaves: independent, with `ln mean_i = ln offset_i + b_0 + Σ_k b_k c_ik`, of which a release tells.
///
/// The likelihood of the coefficients is that of the release itself, with the counts summed out ([`Release::score`]): exact, noise
/// and known counts included.
///
/// # Examples
///
/// ```
/// use congenial_core::inference::{Counts, Regression, Release, Weight};
/// use congenial_core::invariant::Hierarchy;
///
/// // Six areas, three of them exposed; their total is known.
/// let tree = Hierarchy::from_parents(&[0; 7])?.with_known(vec![true, false, false, false, false, false, false])?;
/// let values = [210.0, 25.0, 18.0, 22.0, 52.0, 45.0, 48.0];
/// let release = Release { tree: &tree, weights: &[Weight::Exponential(4.0); 2], values: &values };
/// let exposed = ("exposed".to_owned(), vec![0.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
/// let model = Regression::new(release, Counts::Poisson, &[exposed], None)?;
/// let fit = model.fit(0.9)?;
/// assert!(fit.coefficients[1].low < 0.8 && fit.coefficients[1].high > 0.8);
/// # Ok::<(), congenial_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Regression<'a> {
    reading: Reading<'a>,
    counts: Counts,
    names: Vec<String>,
    /// By coefficient, its column by leaf.
    columns: Vec<Vec<f64>>,
    log_offset: Vec<f64>,
    /// About the sum of all counts.
    total: f64,
}

/// What the likelihood is of.
#[derive(Debug, Clone)]
enum Reading<'a> {
    Release(Release<'a>),
    /// Numbers, as if they were the counts.
    Counts(Vec<f64>),
}

/// What is said of a coefficient.
#[derive(Debug, Clone, PartialEq)]
pub struct Coefficient {
    /// `intercept`, the name of a column, or `size`.
    pub name: String,
    /// Where the likelihood is largest.
    pub estimate: f64,
    /// From the observed information; of the size by the delta method.
    pub standard_error: f64,
    /// The profile-likelihood interval begins there.
    pub low: f64,
    /// And ends there; infinite where the likelihood never falls so far.
    pub high: f64,
}

/// A model at its maximum.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// The intercept, the columns in their order, and the size of negative binomial counts.
    pub coefficients: Vec<Coefficient>,
    /// The log likelihood there, of a release but for the constant of its noise.
    pub log_likelihood: f64,
}

/// What is left of a column beside the others, in parts of it, below which it is one of them.
const COLLINEAR: f64 = 1e-9;

impl<'a> Regression<'a> {
    /// A model of what a release tells.
    ///
    /// - `covariates`: names and columns, one number per leaf in the order of
    ///   [`Hierarchy::leaves`](crate::invariant::Hierarchy::leaves); the intercept is none of them.
    /// - `offset`: per leaf, by what means are multiplied: persons, years; 1 where it is left out.
    ///
    /// Errors: columns of another length or with numbers that are not finite; offsets that are no finite numbers > 0; a column that
    /// is a combination of those before it (the intercept is the first).
    pub fn new(
        release: Release<'a>,
        counts: Counts,
        covariates: &[(String, Vec<f64>)],
        offset: Option<&[f64]>,
    ) -> Result<Self> {
        let leaves = release.tree.leaves().len();
        if let Some(offset) = offset {
            if offset.len() != leaves {
                return Err(Error::parameter("offset", offset.len(), "one per leaf"));
            }
            if let Some(x) = offset.iter().find(|x| !(x.is_finite() && **x > 0.0)) {
                return Err(Error::parameter("offset", x, "finite numbers > 0"));
            }
        }
        for (name, column) in covariates {
            let why = match column.iter().find(|x| !x.is_finite()) {
                _ if column.len() != leaves => format!("has {} numbers, want one per leaf", column.len()),
                Some(x) => format!("has {x}, want finite numbers"),
                None => continue,
            };
            return Err(Error::Model(format!("column `{name}` {why}")));
        }
        let mut names = vec!["intercept".to_owned()];
        names.extend(covariates.iter().map(|(name, _)| name.clone()));
        let mut columns = vec![vec![1.0; leaves]];
        columns.extend(covariates.iter().map(|(_, column)| column.clone()));
        check_rank(&names, &columns)?;
        if counts == Counts::NegativeBinomial {
            names.push("size".to_owned());
        }
        let log_offset = offset.map_or(vec![0.0; leaves], |all| all.iter().map(|&x| libm::log(x)).collect());
        let total = release.values[0].max(1.0);
        Ok(Self { reading: Reading::Release(release), counts, names, columns, log_offset, total })
    }

    /// This model of the released counts of the leaves, read as if they were the counts, those below 0 as 0: what is done where
    /// nobody thinks of the noise. Its estimates are pulled to 0, and its intervals are too short.
    pub fn naive(&self) -> Self {
        let counts = match &self.reading {
            Reading::Release(release) => {
                release.tree.leaves().iter().map(|&leaf| release.values[leaf as usize].max(0.0)).collect()
            }
            Reading::Counts(counts) => counts.clone(),
        };
        let total = counts.iter().sum::<f64>().max(1.0);
        Self { reading: Reading::Counts(counts), total, ..self.clone() }
    }

    /// The names of the coefficients.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The model at its maximum, with profile-likelihood intervals that hold `level`.
    ///
    /// Errors: those of [`Regression::maximum`] and [`Maximum::interval`].
    pub fn fit(&self, level: f64) -> Result<Fit> {
        let maximum = self.maximum()?;
        let coefficient = |place| self.coefficient(&maximum, place, level);
        let coefficients = (0..self.names.len()).map(coefficient).collect::<Result<_>>()?;
        Ok(Fit { coefficients, log_likelihood: maximum.log_likelihood })
    }

    /// Where the likelihood is largest; the last parameter of negative binomial counts is the logarithm of the size.
    ///
    /// Errors: no maximum, since a coefficient runs off to infinity ([`Error::Model`] names it); a release that the model cannot have
    /// made ([`Error::AtNode`]); tables that are too large.
    pub fn maximum(&self) -> Result<Maximum> {
        let found = match &self.reading {
            Reading::Counts(_) => maximum(self, &self.level_start())?,
            Reading::Release(_) => {
                let starts =
                    [self.naive().maximum().map(|naive| self.moved(naive.place)), Ok(self.level_start())];
                let mut starts = starts.into_iter().flatten();
                let first = starts.find(|start| self.at(start).is_ok());
                maximum(self, &first.unwrap_or_else(|| self.level_start()))?
            }
        };
        match found {
            Found::At(maximum) => Ok(maximum),
            Found::Beyond(place, up) => Err(self.beyond(place, up)),
        }
    }

    /// The coefficient at a maximum, with its interval. Errors: those of [`Maximum::interval`].
    pub fn coefficient(&self, maximum: &Maximum, place: usize, level: f64) -> Result<Coefficient> {
        let (low, high) = maximum.interval(self, place, level)?;
        let (name, estimate, error) =
            (self.names[place].clone(), maximum.place[place], maximum.standard_error(place));
        Ok(match place < self.columns.len() {
            true => Coefficient { name, estimate, standard_error: error, low, high },
            false => {
                let size = libm::exp(estimate);
                let (low, high) = (libm::exp(low), libm::exp(high));
                Coefficient { name, estimate: size, standard_error: size * error, low, high }
            }
        })
    }

    /// One rate for all leaves, and a size of 1.
    fn level_start(&self) -> Vec<f64> {
        let mut start = vec![0.0; self.names.len()];
        start[0] = libm::log(self.total / self.log_offset.iter().map(|&log| libm::exp(log)).sum::<f64>());
        start
    }

    /// A start whose means add up to the total.
    fn moved(&self, mut start: Vec<f64>) -> Vec<f64> {
        start[0] += libm::log(self.total / self.means(&start).iter().sum::<f64>());
        start
    }

    fn beyond(&self, place: usize, up: bool) -> Error {
        let name = &self.names[place];
        Error::Model(match (place < self.columns.len(), up) {
            (true, _) => format!(
                "no maximum: the likelihood still rises where the coefficient of `{name}` runs off to {}infinity; leave it out, or join \
                 the leaves that it tells apart",
                if up { "" } else { "minus " }
            ),
            (false, true) => "no maximum: the size runs off to infinity, since the release tells of no more variance than Poisson counts \
                              have; take those"
                .to_owned(),
            (false, false) => "no maximum: the size runs off to 0".to_owned(),
        })
    }

    /// By leaf, its mean.
    fn means(&self, place: &[f64]) -> Vec<f64> {
        let log = |leaf: usize| -> f64 {
            self.log_offset[leaf]
                + self.columns.iter().zip(place).map(|(column, b)| b * column[leaf]).sum::<f64>()
        };
        (0..self.log_offset.len()).map(|leaf| libm::exp(log(leaf))).collect()
    }

    fn size(&self, place: &[f64]) -> Option<f64> {
        (self.counts == Counts::NegativeBinomial).then(|| libm::exp(place[self.columns.len()]))
    }
}

impl LogLikelihood for Regression<'_> {
    fn at(&self, place: &[f64]) -> Result<(f64, Vec<f64>)> {
        let (means, size) = (self.means(place), self.size(place));
        let Score { log_likelihood, by_log_mean, by_log_size } = match &self.reading {
            Reading::Release(release) => release.score(&means, size)?,
            Reading::Counts(counts) => score_of_counts(counts, &means, size),
        };
        let along = |column: &Vec<f64>| column.iter().zip(&by_log_mean).map(|(c, d)| c * d).sum();
        let mut gradient: Vec<f64> = self.columns.iter().map(along).collect();
        gradient.extend(size.map(|_| by_log_size));
        match log_likelihood.is_finite() && gradient.iter().all(|d| d.is_finite()) {
            true => Ok((log_likelihood, gradient)),
            false => Err(Error::Model(format!("no likelihood at the coefficients {place:?}"))),
        }
    }

    /// The information of the counts themselves; of the size about that.
    fn metric(&self, place: &[f64]) -> Vec<Vec<f64>> {
        let (means, size) = (self.means(place), self.size(place));
        let weights: Vec<f64> =
            means.iter().map(|mean| mean * size.map_or(1.0, |size| size / (size + mean))).collect();
        let product = |a: &Vec<f64>, b: &Vec<f64>| -> f64 {
            a.iter().zip(b).zip(&weights).map(|((a, b), weight)| a * b * weight).sum()
        };
        let mut metric: Vec<Vec<f64>> =
            self.columns.iter().map(|a| self.columns.iter().map(|b| product(a, b)).collect()).collect();
        if let Some(size) = size {
            metric.iter_mut().for_each(|row| row.push(0.0));
            let share = |mean: &f64| 0.5 * (mean / (size + mean)) * (mean / (size + mean));
            let mut last = vec![0.0; self.columns.len()];
            last.push(means.iter().map(share).sum::<f64>().max(1e-3));
            metric.push(last);
        }
        metric
    }

    fn reach(&self, step: &[f64]) -> f64 {
        let log = |leaf: usize| {
            self.columns.iter().zip(step).map(|(column, b)| b * column[leaf]).sum::<f64>().abs()
        };
        let logs = (0..self.log_offset.len()).map(log);
        logs.chain(step[self.columns.len()..].iter().map(|x| x.abs())).fold(0.0, f64::max)
    }
}

/// Refuses a column that is a combination of those before it.
fn check_rank(names: &[String], columns: &[Vec<f64>]) -> Result<()> {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let mut basis: Vec<Vec<f64>> = Vec::new();
    for (place, column) in columns.iter().enumerate() {
        let whole = dot(column, column);
        let mut rest = column.clone();
        // Twice is enough.
        for _ in 0..2 {
            for own in &basis {
                let part = dot(own, &rest);
                rest.iter_mut().zip(own).for_each(|(rest, own)| *rest -= part * own);
            }
        }
        let left = libm::sqrt(dot(&rest, &rest));
        if left <= COLLINEAR * libm::sqrt(whole) {
            let why = match column.iter().all(|x| *x == column[0]) {
                true => "is the same at every leaf, as the intercept is".to_owned(),
                false => format!("is a linear combination of {}", names[..place].join(", ")),
            };
            return Err(Error::Model(format!("column `{}` {why}: leave it out", names[place])));
        }
        rest.iter_mut().for_each(|x| *x /= left);
        basis.push(rest);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::{IntegerTree, PartsScratch};
    use crate::inference::Weight;
    use crate::invariant::Hierarchy;
    use crate::law::DoubleGeometric;
    use crate::rng::{Rng, gamma, open01};
    use crate::testing::test_stream;

    fn poisson<R: Rng>(rng: &mut R, mean: f64) -> i64 {
        let (mut left, mut p, mut x) = (open01(rng), libm::exp(-mean), 0);
        while left >= p && x < 100_000 {
            left -= p;
            x += 1;
            p *= mean / x as f64;
        }
        x
    }

    /// Where a function with one peak is largest: by golden sections.
    fn peak((mut low, mut high): (f64, f64), of: &dyn Fn(f64) -> f64) -> f64 {
        let golden = 0.5 * (5f64.sqrt() - 1.0);
        for _ in 0..60 {
            let (a, b) = (high - golden * (high - low), low + golden * (high - low));
            if of(a) > of(b) { high = b } else { low = a }
        }
        of(0.5 * (low + high))
    }

    /// The maximum is that of a search without gradients, and so are the profiles where intervals end; for trees whose likelihood is
    /// compared with all counts in `likelihood.rs`.
    #[test]
    fn fits_are_those_of_a_search_without_gradients() {
        let free = Hierarchy::from_parents(&[0, 0, 0, 1, 1, 2, 2]).unwrap();
        let known = free.clone().with_known((0..7).map(|v| v == 0).collect()).unwrap();
        let values = [24.0, 7.0, 17.0, 3.0, 5.0, 8.0, 8.0];
        let covariate = vec![0.0, 0.4, 1.0, 1.7];
        let offset = [1.0, 2.0, 1.5, 1.0];
        for (tree, weights) in [
            (&free, [Weight::Exponential(2.0), Weight::Exponential(1.0), Weight::Gaussian(1.5)]),
            (&known, [Weight::Exponential(1.0); 3]),
        ] {
            let release = Release { tree, weights: &weights, values: &values };
            let columns = [("x".to_owned(), covariate.clone())];
            let model = Regression::new(release, Counts::Poisson, &columns, Some(&offset)).unwrap();
            let at = |a: f64, b: f64| {
                let mean = |i: usize| offset[i] * libm::exp(a + b * covariate[i]);
                let means: Vec<f64> = (0..4).map(mean).collect();
                release.score(&means, None).map_or(f64::NEG_INFINITY, |score| score.log_likelihood)
            };
            let fit = model.fit(0.9).unwrap();
            let (range_a, range_b) = ((-2.0, 4.0), (-3.0, 4.0));
            let best = peak(range_b, &|b| peak(range_a, &|a| at(a, b)));
            assert!((fit.log_likelihood - best).abs() < 1e-9, "{} {best}", fit.log_likelihood);
            let own = at(fit.coefficients[0].estimate, fit.coefficients[1].estimate);
            assert!((own - best).abs() < 1e-9, "{own} {best}");
            // Half of the 0.9 quantile of chi-square with 1 degree of freedom.
            let drop = 0.5 * 2.705_543_454_095_404;
            for end in [fit.coefficients[1].low, fit.coefficients[1].high] {
                let fallen = best - peak(range_a, &|a| at(a, end));
                assert!((fallen - drop).abs() < 1e-5, "{fallen}");
            }
            for end in [fit.coefficients[0].low, fit.coefficients[0].high] {
                let fallen = best - peak(range_b, &|b| at(end, b));
                assert!((fallen - drop).abs() < 1e-5, "{fallen}");
            }
            // The curvature of the profile: a small step in standard errors falls by half its square.
            for (place, of) in [(0, true), (1, false)] {
                let Coefficient { estimate, standard_error, .. } = fit.coefficients[place];
                let step = 0.02;
                let profile = |by: f64| match of {
                    true => peak(range_b, &|b| at(estimate + by * standard_error, b)),
                    false => peak(range_a, &|a| at(a, estimate + by * standard_error)),
                };
                let fallen = best - 0.5 * (profile(step) + profile(-step));
                assert!((fallen / (0.5 * step * step) - 1.0).abs() < 1e-3, "{place} {fallen}");
            }
        }
    }

    /// Sixty areas whose total is known, half of them exposed, with log rate ratio 0.5, and double geometric noise given the total.
    struct Areas {
        tree: Hierarchy,
        exposed: (String, Vec<f64>),
        persons: Vec<f64>,
        noise: IntegerTree,
        weights: [Weight; 2],
    }

    const AREAS: usize = 60;
    const RATIO: f64 = 0.5;

    impl Areas {
        fn new(epsilon: f64) -> Self {
            let marks = (0..=AREAS).map(|v| v == 0).collect();
            let tree = Hierarchy::from_parents(&[0; AREAS + 1]).unwrap().with_known(marks).unwrap();
            let noise =
                IntegerTree::new(&tree, &[DoubleGeometric::new(1.0 / epsilon).unwrap(); 2], None).unwrap();
            let exposed = (0..AREAS).map(|i| (i % 2) as f64).collect();
            let persons = (0..AREAS).map(|i| 1.0 + (i / 2 % 5) as f64).collect();
            Self {
                tree,
                exposed: ("exposed".into(), exposed),
                persons,
                noise,
                weights: [Weight::Exponential(1.0 / epsilon); 2],
            }
        }

        fn release<R: Rng>(&self, rng: &mut R, size: Option<f64>) -> Vec<f64> {
            let mut counts = vec![0i64; self.tree.nodes()];
            for i in 0..AREAS {
                let mean = self.persons[i] * libm::exp(RATIO * self.exposed.1[i]);
                let mean = size.map_or(mean, |size| mean * gamma(rng, size) / size);
                counts[self.tree.leaves()[i] as usize] = poisson(rng, mean);
            }
            self.tree.sum_up(&mut counts);
            let mut noise = vec![0i64; counts.len()];
            self.noise.draw(rng, &mut PartsScratch::default(), &mut noise);
            counts.iter().zip(noise).map(|(x, z)| (x + z) as f64).collect()
        }
    }

    /// Over many releases the exact likelihood covers the ratio as often as it says, within four and a half binomial errors, and its
    /// estimates are around the ratio; counts that are read as if they were true cover far less, around less.
    #[test]
    fn exact_likelihoods_cover_and_naive_readings_do_not() {
        const REPLICATES: usize = 60;
        let mut rng = test_stream(161);
        let areas = Areas::new(0.25);
        let (mut held, mut naive_held) = (0, 0);
        let (mut sum, mut squares, mut naive_sum) = (0.0, 0.0, 0.0);
        for _ in 0..REPLICATES {
            let values = areas.release(&mut rng, None);
            let release = Release { tree: &areas.tree, weights: &areas.weights, values: &values };
            let columns = std::slice::from_ref(&areas.exposed);
            let model = Regression::new(release, Counts::Poisson, columns, Some(&areas.persons)).unwrap();
            let ratio = |model: &Regression| {
                let maximum = model.maximum().unwrap();
                model.coefficient(&maximum, 1, 0.9).unwrap()
            };
            let (exact, naive) = (ratio(&model), ratio(&model.naive()));
            held += usize::from(exact.low <= RATIO && RATIO <= exact.high);
            naive_held += usize::from(naive.low <= RATIO && RATIO <= naive.high);
            sum += exact.estimate;
            squares += (exact.estimate - RATIO) * (exact.estimate - RATIO);
            naive_sum += naive.estimate;
        }
        let n = REPLICATES as f64;
        println!("exact {held}, naive {naive_held} of {n}; means {} and {}", sum / n, naive_sum / n);
        let share = held as f64 / n;
        assert!((share - 0.9).abs() < 4.5 * (0.09 / n).sqrt(), "{share}");
        assert!((sum / n - RATIO).abs() < 4.5 * libm::sqrt(squares / n / n), "{}", sum / n);
        assert!((naive_held as f64) / n < 0.75, "{naive_held}");
        assert!(naive_sum < 0.8 * sum, "{naive_sum} {sum}");
    }

    /// The size of negative binomial counts is found, too, and its intervals hold it.
    #[test]
    fn sizes_are_covered() {
        let mut rng = test_stream(162);
        let areas = Areas::new(1.0);
        let (mut held, mut all) = (0, 0);
        for _ in 0..12 {
            let values = areas.release(&mut rng, Some(2.0));
            let release = Release { tree: &areas.tree, weights: &areas.weights, values: &values };
            let columns = std::slice::from_ref(&areas.exposed);
            let model =
                Regression::new(release, Counts::NegativeBinomial, columns, Some(&areas.persons)).unwrap();
            assert_eq!(model.names(), ["intercept", "exposed", "size"]);
            let maximum = model.maximum().unwrap();
            for (place, truth) in [(1, RATIO), (2, 2.0)] {
                let Coefficient { estimate, standard_error, low, high, .. } =
                    model.coefficient(&maximum, place, 0.9).unwrap();
                assert!(low < estimate && estimate < high && standard_error > 0.0);
                held += usize::from(low <= truth && truth <= high);
                all += 1;
            }
        }
        println!("{held} of {all}");
        // 24 at 0.9: 14 or fewer have a chance of 3e-5 if independent.
        assert!(held >= 14, "{held} of {all}");
    }

    /// With noise that is nothing the fit is that of the counts: for the intercept alone the mean, with the standard error 1/√total.
    #[test]
    fn without_noise_fits_are_those_of_counts() {
        let tree = Hierarchy::from_parents(&[0, 0, 0, 0]).unwrap();
        let values = [21.0, 4.0, 7.0, 10.0];
        let release = Release { tree: &tree, weights: &[Weight::Gaussian(0.05); 2], values: &values };
        let model = Regression::new(release, Counts::Poisson, &[], None).unwrap();
        for fit in [model.fit(0.95).unwrap(), model.naive().fit(0.95).unwrap()] {
            let Coefficient { estimate, standard_error, .. } = &fit.coefficients[0];
            assert!((estimate - libm::log(7.0)).abs() < 1e-7, "{fit:?}");
            assert!((standard_error * 21f64.sqrt() - 1.0).abs() < 1e-5, "{fit:?}");
        }
        let (exact, naive) = (model.fit(0.95).unwrap(), model.naive().fit(0.95).unwrap());
        assert!((exact.log_likelihood - naive.log_likelihood).abs() < 1e-9);
    }

    #[test]
    fn what_is_refused() {
        let mut rng = test_stream(163);
        let areas = Areas::new(1.0);
        let values = areas.release(&mut rng, None);
        let release = Release { tree: &areas.tree, weights: &areas.weights, values: &values };
        let with = |counts, columns: &[(&str, &dyn Fn(usize) -> f64)], offset: Option<&[f64]>| {
            let column = |(name, of): &(&str, &dyn Fn(usize) -> f64)| {
                (name.to_string(), (0..AREAS).map(of).collect::<Vec<f64>>())
            };
            let columns: Vec<(String, Vec<f64>)> = columns.iter().map(column).collect();
            Regression::new(release, counts, &columns, offset)
        };
        let refused = |columns: &[(&str, &dyn Fn(usize) -> f64)], offset: Option<&[f64]>| {
            with(Counts::Poisson, columns, offset).unwrap_err().to_string()
        };
        let i = |i: usize| i as f64;
        let message = refused(&[("a", &i), ("b", &|i| 3.0 - 2.0 * i as f64)], None);
        assert!(
            message.contains("column `b` is a linear combination of intercept, a: leave it out"),
            "{message}"
        );
        let message = refused(&[("one", &|_| 4.0)], None);
        assert!(message.contains("column `one` is the same at every leaf"), "{message}");
        assert!(refused(&[("a", &|_| f64::NAN)], None).contains("column `a` has NaN"));
        assert!(refused(&[], Some(&[1.0])).contains("offset: got 1, want one per leaf"));
        assert!(refused(&[], Some(&[0.0; AREAS])).contains("offset: got 0, want finite numbers > 0"));
        // An area by itself whose released count is far below 0.
        let mut values = values.clone();
        let leaf = areas.tree.leaves()[7] as usize;
        (values[0], values[leaf]) = (values[0] - values[leaf] - 40.0, -40.0);
        let release = Release { values: &values, ..release };
        let alone = ("alone".to_owned(), (0..AREAS).map(|i| f64::from(u8::from(i == 7))).collect());
        let model = Regression::new(release, Counts::Poisson, &[alone], None).unwrap();
        let message = model.maximum().unwrap_err().to_string();
        assert!(message.contains("the coefficient of `alone` runs off to minus infinity"), "{message}");
        // Counts that are all the same vary less than Poisson ones.
        let tree = Hierarchy::from_parents(&[0, 0, 0, 0]).unwrap();
        let even =
            Release { tree: &tree, weights: &[Weight::Gaussian(0.2); 2], values: &[30.0, 10.0, 10.0, 10.0] };
        let model = Regression::new(even, Counts::NegativeBinomial, &[], None).unwrap();
        let message = model.maximum().unwrap_err().to_string();
        assert!(message.contains("the size runs off to infinity"), "{message}");
    }
}
