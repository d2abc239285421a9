//! What is measured of the tables on each level.

use super::domain::Domain;
use super::query::Marginal;
use crate::error::{Error, Result};

/// The queries that are measured on each level of a tree, with the variances of their answers' noise.
#[derive(Debug, Clone)]
pub struct Measurements {
    pub(super) domain: Domain,
    pub(super) queries: Vec<Marginal>,
    /// By level, by query; `None`: not measured, 0: known.
    pub(super) variances: Vec<Vec<Option<f64>>>,
}

impl Measurements {
    /// - `variances`: by level, by query, of the noise of an answer, in counts squared; `None` where it is not measured, 0 where it is
    ///   known.
    ///
    /// Refused: levels with another number of variances than there are queries; variances that are not 0 or from 2^-300 to 2^300.
    pub fn new(domain: &Domain, queries: Vec<Marginal>, variances: Vec<Vec<Option<f64>>>) -> Result<Self> {
        Self::check(&variances, queries.len())?;
        Ok(Self { domain: domain.clone(), queries, variances })
    }

    /// Refuses variances of so many queries as [`Measurements::new`] does.
    pub(super) fn check(variances: &[Vec<Option<f64>>], queries: usize) -> Result<()> {
        if let Some(wrong) = variances.iter().find(|own| own.len() != queries) {
            return Err(Error::parameter("variances of a level", wrong.len(), "one for each query"));
        }
        let good = |variance: &f64| *variance == 0.0 || Self::has_range(*variance);
        if let Some(wrong) = variances.iter().flatten().flatten().find(|variance| !good(variance)) {
            return Err(Error::parameter(
                "variance",
                format!("{wrong:e}"),
                "0, or a number from 2^-300 to 2^300",
            ));
        }
        Ok(())
    }

    /// By level, by query, the variance of the noise of an answer; `None` where it is not measured, 0 where it is known.
    pub fn variances(&self) -> &[Vec<Option<f64>>] {
        &self.variances
    }

    /// Whether a variance is from 2^-300 to 2^300: so small or large a one is none to floating point.
    pub fn has_range(variance: f64) -> bool {
        (libm::scalbn(1.0, -300)..=libm::scalbn(1.0, 300)).contains(&variance)
    }

    /// The cells of a table.
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// The queries.
    pub fn queries(&self) -> &[Marginal] {
        &self.queries
    }

    /// The number of levels.
    pub fn levels(&self) -> usize {
        self.variances.len()
    }

    /// Whether a query is measured or known on a level.
    pub fn is_measured(&self, level: usize, query: usize) -> bool {
        self.variances[level][query].is_some()
    }

    /// Whether a query is known on a level.
    pub fn is_known(&self, level: usize, query: usize) -> bool {
        self.variances[level][query] == Some(0.0)
    }

    /// The queries that are measured or known on a level, with the variances of their noise.
    pub fn of_level(&self, level: usize) -> impl Iterator<Item = (usize, f64)> {
        self.variances[level].iter().enumerate().filter_map(|(query, variance)| Some((query, (*variance)?)))
    }

    /// What is measured on one level, alone.
    pub(super) fn on(&self, level: usize) -> Self {
        Self {
            domain: self.domain.clone(),
            queries: self.queries.clone(),
            variances: vec![self.variances[level].clone()],
        }
    }

    /// What the measurements of a level say of each kind of coefficients.
    pub(super) fn kinds(&self, level: usize) -> Vec<Said> {
        let kinds = 1u32 << self.domain.free().len();
        (0..kinds).map(|kind| self.said(level, kind)).collect()
    }

    /// How many numbers the weights of what is measured on a level are, in all kinds.
    pub(super) fn numbers(&self, level: usize) -> usize {
        let rows: usize = self.of_level(level).map(|(query, _)| self.queries[query].rows.len()).sum();
        rows.saturating_mul(self.domain.joint()) << self.domain.free().len()
    }

    fn said(&self, level: usize, kind: u32) -> Said {
        let joint = self.domain.joint();
        let (mut rows, mut precision, mut at) = (Vec::new(), 0.0, 0);
        for (query, variance) in self.of_level(level) {
            let marginal = &self.queries[query];
            if marginal.reaches(kind) {
                let of = |(own, h): (usize, Vec<f64>)| Row { h, variance, at: at + own };
                rows.extend(marginal.weights(joint).into_iter().enumerate().map(of));
                // All of its answers may be of categories that cannot be.
                if variance > 0.0 && !marginal.rows.is_empty() {
                    precision += marginal.factor * marginal.factor / variance;
                }
            }
            at += marginal.rows.len();
        }
        // Of equals in the order of the queries.
        rows.sort_by(|a: &Row, b: &Row| b.variance.total_cmp(&a.variance));
        Said { rows, precision }
    }
}

/// What the measurements of a level say of a kind of coefficients: of a vector over the combinations of joined attributes.
#[derive(Debug, Clone)]
pub(super) struct Said {
    /// What is measured of it, the noisiest first and what is known last.
    pub(super) rows: Vec<Row>,
    /// Where no attribute is joined, `Σ h² / variance` over what has noise.
    pub(super) precision: f64,
}

/// A measurement of a vector.
#[derive(Debug, Clone)]
pub(super) struct Row {
    /// `hᵀ c` is measured.
    pub(super) h: Vec<f64>,
    /// The variance of its noise; 0: it is known.
    pub(super) variance: f64,
    /// Its place among the rows of all queries of the level.
    pub(super) at: usize,
}

impl Said {
    /// What is known of it, `hᵀ c`.
    pub(super) fn known(&self) -> impl Iterator<Item = &[f64]> + Clone {
        self.rows.iter().filter(|row| row.variance == 0.0).map(|row| &*row.h)
    }
}
