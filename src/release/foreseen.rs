//! What is known of a release before its data are opened, so that whatever can be refused is refused before anything is paid.

use super::config::{Config, Table};
use super::noise::Noise;
use super::noisy;
use super::public;
use super::statement::Statement;
use crate::failure::Result;
use crate::infer::{Nodes, Repeated};
use crate::input::LeafList;

/// The seed of draws of errors, where no law is computed.
const SEED: u64 = 1;

/// A release before its data.
#[derive(Debug)]
pub(super) struct Foreseen {
    /// Its tree.
    pub(super) domain: LeafList,
    /// What it pays.
    pub(super) statement: Statement,
    /// What draws its noise.
    pub(super) noise: Noise,
    /// By node, half of its interval by the noise, before it meets what is known, in counts; `None` where no intervals are wanted.
    pub(super) halves: Option<Vec<f64>>,
}

impl Foreseen {
    /// Reads the list of leaves, and does all that does not depend on counts: the law of the noise and its tables, the public functions
    /// of counts of 0, the widths of intervals.
    ///
    /// Refused: a list, a loss, noise and intervals that do not go together.
    pub(super) fn new(config: &Config) -> Result<Self> {
        let domain = LeafList::read(&config.data.domain, &config.data.levels, config.data.known)?;
        let statement = Statement::new(&config.privacy, &domain.tree)?;
        let noise = Noise::new(config.privacy.conditioned, &statement, &domain.tree)?;
        let halves = halves(config, &domain, &statement)?;
        Ok(Self { domain, statement, noise, halves })
    }
}

/// Does with counts of 0 what is done with the noisy ones; the halves of intervals. Refused: variances and widths that do not fit.
fn halves(config: &Config, domain: &LeafList, statement: &Statement) -> Result<Option<Vec<f64>>> {
    let names = (0..domain.tree.nodes()).map(|v| domain.name(v).to_owned()).collect();
    let blank = noisy::blank(config, Nodes { tree: domain.tree.clone(), names }, statement)?;
    if matches!(config.publish.table, Table::L2 | Table::BlueDown) {
        public::projected(&blank, config.publish.table, SEED)?;
    }
    let Some(level) = config.publish.intervals else { return Ok(None) };
    Ok(Some(Repeated::new(blank, &[], (level, SEED))?.halves().collect()))
}
