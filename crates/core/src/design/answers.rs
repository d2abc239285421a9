//! Answers whose variances depend on measurements that share a budget.

use crate::error::{Error, Result};

/// Answers by least squares, in queries, whose variances depend on the noise of some measurements: of the levels of a tree
/// ([`super::TreeAnswers`]), or of queries of a tree of tables ([`super::TableAnswers`]).
pub trait Answers {
    /// How many measurements there are.
    fn measured(&self) -> usize;

    /// How many queries there are.
    fn queries(&self) -> usize;

    /// About how many numbers [`Answers::each`] computes.
    fn work(&self) -> usize;

    /// Takes the variance of every answer, where the noise of the measurements has these variances: its query, and how many answers of it
    /// have this variance, which is > 0 times.
    ///
    /// Errors: not one variance for each measurement, one that is not finite and > 0.
    fn each(&self, variances: &[f64], take: &mut dyn FnMut(usize, u64, &Variance)) -> Result<()>;
}

/// The variance of an estimate, with what it falls by as precisions grow.
#[derive(Debug, Clone, PartialEq)]
pub struct Variance {
    /// The variance, in counts squared.
    pub value: f64,
    /// By measurement `-∂value / ∂p` for the precision p of its noise.
    pub falls: Vec<f64>,
}

impl Variance {
    pub(super) fn zero(measured: usize) -> Self {
        Self { value: 0.0, falls: vec![0.0; measured] }
    }

    pub(super) fn add(&mut self, weight: f64, other: &Self) {
        self.value += weight * other.value;
        self.falls.iter_mut().zip(&other.falls).for_each(|(all, own)| *all += weight * own);
    }
}

/// Variances of the answers of a query.
#[derive(Debug, Clone, PartialEq)]
pub struct OfQuery {
    /// Their mean.
    pub mean: Variance,
    /// The largest.
    pub largest: Variance,
}

/// The variances of each query. Errors: as of [`Answers::each`].
pub fn of_queries(answers: &dyn Answers, variances: &[f64]) -> Result<Vec<OfQuery>> {
    let zero = || Variance::zero(answers.measured());
    let mut all = vec![OfQuery { mean: zero(), largest: zero() }; answers.queries()];
    let mut numbers = vec![0u64; all.len()];
    answers.each(variances, &mut |query, number, one| {
        let OfQuery { mean, largest } = &mut all[query];
        mean.add(number as f64, one);
        numbers[query] += number;
        if one.value > largest.value {
            largest.clone_from(one);
        }
    })?;
    for (own, number) in all.iter_mut().zip(numbers).filter(|(_, number)| *number > 0) {
        let mut mean = zero();
        mean.add(1.0 / number as f64, &own.mean);
        own.mean = mean;
    }
    Ok(all)
}

/// Refuses variances of noise that are none.
pub(super) fn checked(variances: &[f64], measured: usize) -> Result<()> {
    if variances.len() != measured {
        return Err(Error::parameter("variances", variances.len(), "one for each measurement"));
    }
    match variances.iter().find(|r| !(r.is_finite() && **r > 0.0)) {
        None => Ok(()),
        Some(bad) => Err(Error::parameter("variance", bad, "a finite number > 0")),
    }
}
