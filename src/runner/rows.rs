//! What replicates leave behind.

use crate::coupling::Meeting;
use crate::diagnostics::rank_normalised_split_rhat;
use crate::error::Result;
use crate::law::Value;
use crate::privacy::WorstPair;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Errors of one replicate on one level.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LevelRow {
    /// The replicate, from 0.
    pub replicate: u64,
    /// 1 = root.
    pub level: u32,
    /// `Σ |y_v - x_v|` over the level.
    pub l1: f64,
    /// `sqrt(Σ (y_v - x_v)²)` over the level.
    pub l2: f64,
    /// Mean of `y_v - x_v` over the level.
    pub bias: f64,
    /// Whether the whole release satisfies the hierarchy (and is >= 0 where the method promises it).
    pub invariant_ok: bool,
}

impl LevelRow {
    /// Sums up the errors of one level, from 1; `kept`: whether the whole release satisfies the invariant.
    pub(super) fn of<V: Value>(replicate: u64, level: u32, errors: &[V], kept: bool) -> Self {
        let (mut l1, mut squares, mut sum) = (0.0, 0.0, 0.0);
        for z in errors {
            let z = z.to_f64();
            l1 += z.abs();
            squares += z * z;
            sum += z;
        }
        let bias = sum / errors.len() as f64;
        Self { replicate, level, l1, l2: libm::sqrt(squares), bias, invariant_ok: kept }
    }
}

/// Diagnostics of one chain on one level's L1 error.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ChainRow {
    /// The replicate, from 0.
    pub replicate: u64,
    /// 1 = root.
    pub level: u32,
    /// Kernel steps.
    pub steps: u64,
    /// Steps that changed the state.
    pub moves: u64,
    /// Effective sample size of the recorded second half.
    pub ess: Option<f64>,
    /// Records in that half.
    pub records: u64,
}

/// Rows of a range of replicates.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Rows {
    /// One per replicate and level.
    pub errors: Vec<LevelRow>,
    /// One per chain and level.
    pub chains: Vec<ChainRow>,
    /// Traces by chain and level, of the first replicates only.
    pub(super) traces: Vec<Vec<Vec<f64>>>,
    /// Errors of single cells of a table, draw by draw.
    pub draws: Vec<Draw>,
    /// One per coupled pair.
    pub meetings: Vec<MeetingRow>,
    /// What conditioning pays, part by part of the table; computed anew, never kept.
    #[serde(skip)]
    pub privacy: Vec<PrivacyRow>,
}

/// The errors of all cells in one release, or in one record of a chain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Draw {
    /// The replicate, from 0.
    pub replicate: u64,
    /// Iteration of its chain, from 1.
    pub iteration: u64,
    /// `y - x` by cell of the table.
    pub errors: Vec<f64>,
}

/// One coupled pair.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MeetingRow {
    /// The pair, from 0.
    pub replicate: u64,
    /// What happened.
    pub meeting: Meeting,
}

/// Distance of the marginals of many chains to the exact law after `t` steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MarginalRow {
    /// Steps.
    pub t: u64,
    /// Chains.
    pub chains: u64,
    /// Largest total variation distance over the cells, between the chains and many exact draws.
    pub tv: f64,
    /// The same with as many exact draws in the chains' place: mean over batches, and its standard deviation.
    pub floor: f64,
    /// Standard deviation of the floor over batches.
    pub floor_sd: f64,
}

/// The worst pair of tables of one search.
#[derive(Debug, Clone, PartialEq)]
pub struct PrivacyRow {
    /// The part of the table that nothing ties to the rest, from 1.
    pub part: u64,
    /// Its cells.
    pub cells: u64,
    /// What was compared: "table" (the confidential table with its neighbours), "corner" (another table with its
    /// neighbours) or "all" (all pairs of tables that satisfy the invariant).
    pub scope: &'static str,
    /// The pair: moves from the confidential table are on the part's cells.
    pub worst: WorstPair,
    /// A proved bound on gamma for all pairs of the kind that was compared.
    pub bound: f64,
}

/// Records of one chain's second half.
pub(super) const RECORDS: u64 = 512;
/// Chains of one cell that keep their traces for R-hat.
pub(super) const TRACED_CHAINS: u64 = 8;

impl Rows {
    /// Appends the rows of the next range.
    pub fn append(&mut self, mut other: Self) {
        self.errors.append(&mut other.errors);
        self.chains.append(&mut other.chains);
        self.traces.append(&mut other.traces);
        self.draws.append(&mut other.draws);
        self.meetings.append(&mut other.meetings);
        self.privacy.append(&mut other.privacy);
    }

    /// Adds one release of a table: its errors, and whether it satisfies the invariant.
    pub(super) fn release(&mut self, replicate: u64, errors: Vec<f64>, kept: bool) {
        self.errors.push(LevelRow::of(replicate, 1, &errors, kept));
        self.draws.push(Draw { replicate, iteration: 1, errors });
    }

    /// R-hat per level over the traced chains; forgets the traces.
    pub fn take_rhat(&mut self) -> Vec<Option<f64>> {
        let traces = std::mem::take(&mut self.traces);
        let Some(first) = traces.first().filter(|_| traces.len() >= 2) else { return Vec::new() };
        (0..first.len())
            .map(|l| {
                // A part that was read may hold anything: chains of different lengths have no R-hat.
                let level = traces.iter().map(|chain| chain.get(l).map_or(&[][..], |trace| trace));
                rank_normalised_split_rhat(&level.collect::<Vec<_>>())
            })
            .collect()
    }
}

/// A cell ready to draw.
pub(super) trait Prepared: Send + Sync {
    /// Draws a range of replicates. On an error the rows before it are kept.
    fn replicates(&self, range: Range<u64>, rows: &mut Rows) -> Result<()>;
    /// Total variation error of a draw that the sampler itself states; NaN if unknown.
    fn tv_error(&self) -> f64;
    /// Compares the marginals of chains with the exact law, if the cell asks for it.
    /// Errors: no start.
    fn marginals(&self) -> Result<Vec<MarginalRow>> {
        Ok(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chains of different shapes have no R-hat.
    #[test]
    fn uneven_traces_are_no_panic() {
        let trace = || (0..8).map(f64::from).collect::<Vec<_>>();
        let rhat = |traces| Rows { traces, ..Rows::default() }.take_rhat();
        assert!(rhat(vec![vec![trace()], vec![trace()]])[0].is_some());
        assert_eq!(rhat(vec![vec![trace(), trace()], vec![]]), [None, None]);
        assert_eq!(rhat(vec![vec![trace()], vec![vec![1.0]]]), [None]);
    }
}
