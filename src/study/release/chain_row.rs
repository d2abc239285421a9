//! One chain of a release: `chains.parquet`.

use crate::diagnostics::mean_ess;
use crate::table;
use crate::table::Key;

table! {
    /// Studies `release` and `frontier`: one row per cell with chains, replicate and level. A chain's diagnostics are
    /// taken on the trace of each level's L1 error, recorded up to 512 times over the second half of the chain; the
    /// release is its last state.
    pub struct ChainRow in "chains.parquet", also Copy, serde::Deserialize {
        /// the cell, in `cells.parquet`
        cell: Key;
        /// whose L1 error was traced; 1 = root
        level: u32;
        /// the chain
        replicate: u64;
        /// one proposal (`hierarchical-mh`, `lattice-metropolis`: of every component of the invariant, where the law
        /// factorises), one line (`line-gibbs`; a sweep is one per leaf or entry), one proposal in one component of the
        /// table (`mis`), proposals of all components together (`rejection`)
        steps: u64, "kernel steps";
        /// that changed the state (`rejection`: components of the table)
        moves: u64, "kernel steps";
        /// `moves / steps`
        acceptance: f64;
        /// length of the trace
        records: u64;
        /// effective sample size of this trace alone for its mean (Vehtari et al. 2021, one chain cut into halves);
        /// null if it does not vary
        ess: Option<f64>, "records";
    }
}

impl ChainRow {
    /// The row of a chain: its steps, and the trace of one level, from 1.
    pub(super) fn of(
        cell: Key,
        replicate: u64,
        level: u32,
        (steps, moves): (u64, u64),
        trace: &[f64],
    ) -> Self {
        let (acceptance, records) = (moves as f64 / steps as f64, trace.len() as u64);
        let varies = trace.windows(2).any(|pair| pair[0] != pair[1]);
        let ess = mean_ess(&[trace]).filter(|_| varies);
        Self { cell, level, replicate, steps, moves, acceptance, records, ess }
    }
}
