//! The likelihood of a noisy file, for models of one's own.

use super::{Noisy, posterior};
use crate::failure::Result;
use crate::inference::{Release, Score, Weight};
use crate::invariant::Hierarchy;
use std::path::Path;

/// The likelihood of a release at means of the leaves' counts.
#[derive(Debug, Clone)]
pub struct Likelihood {
    noisy: Noisy,
    tree: Hierarchy,
    weights: Vec<Weight>,
}

impl Likelihood {
    /// Reads a noisy file. Errors: those of [`Noisy::read`]; a release without a likelihood.
    pub fn read(path: &Path, levels: &[String]) -> Result<Self> {
        let noisy = Noisy::read(path, levels, None)?;
        let tree = posterior::tree(&noisy, "no likelihood", false)?.clone();
        let weights = posterior::weights(&noisy);
        Ok(Self { noisy, tree, weights })
    }

    /// The columns of keys, the highest level first.
    pub fn levels(&self) -> &[String] {
        &self.noisy.columns
    }

    /// The keys of every leaf, in the order of means.
    pub fn leaves(&self) -> Vec<Vec<&str>> {
        self.tree.leaves().iter().map(|&leaf| self.noisy.keys(leaf as usize)).collect()
    }

    /// The log likelihood and its gradient ([`Release::score`]). Errors: means and a size that are no numbers > 0; means with which the
    /// release cannot be.
    pub fn at(&self, means: &[f64], size: Option<f64>) -> Result<Score> {
        let Self { noisy, tree, weights } = self;
        let release = Release { tree, weights, values: &noisy.values };
        release.score(means, size).map_err(|error| noisy.refused(error))
    }
}
