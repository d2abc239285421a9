//! One chain of a release: `chains.parquet`.

use crate::diagnostics::mean_ess;
use crate::rng::TaskKey;
use crate::table;
use crate::table::Key;

table! {
    /// Diagnostics of one chain on one level's L1 error.
    #[derive(Copy, serde::Deserialize)]
    pub struct ChainRow in "chains.parquet", "Studies `release` and `frontier`: one row per cell with chains, replicate and level. A chain's diagnostics are taken on the trace of each level's L1 error, recorded up to 512 times over the second half of the chain; the release is its last state." {
        cell: Key, "", "the cell, in `cells.parquet`";
        level: u32, "", "whose L1 error was traced; 1 = root";
        replicate: u64, "", "the chain";
        steps: u64, "kernel steps", "one proposal (`hierarchical-mh`, `lattice-metropolis`: of every component of the invariant, where the law factorises), one line (`line-gibbs`; a sweep is one per leaf or entry), one proposal in one component of the table (`mis`), proposals of all components together (`rejection`)";
        moves: u64, "kernel steps", "that changed the state (`rejection`: components of the table)";
        acceptance: f64, "", "`moves / steps`";
        records: u64, "", "length of the trace";
        ess: Option<f64>, "records", "effective sample size of this trace alone for its mean (Vehtari et al. 2021, one chain cut into halves); null if it does not vary";
    }
}

impl ChainRow {
    /// Of a chain's steps and the trace of one level, from 1.
    pub(super) fn of(key: TaskKey, level: u32, (steps, moves): (u64, u64), trace: &[f64]) -> Self {
        let (acceptance, records) = (moves as f64 / steps as f64, trace.len() as u64);
        let varies = trace.windows(2).any(|pair| pair[0] != pair[1]);
        let ess = mean_ess(&[trace]).filter(|_| varies);
        let TaskKey { cell, replicate, .. } = key;
        Self { cell: Key(cell), level, replicate, steps, moves, acceptance, records, ess }
    }
}
