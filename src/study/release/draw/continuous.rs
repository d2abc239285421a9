//! Conditioning of real noise on equations, exactly.

use super::super::rows::{Releases, Rows};
use crate::error::Result;
use crate::exact::{ContinuousExact, ContinuousSampler};
use crate::grid::Cell;
use crate::imaging::LatticeL2;
use crate::input::InvariantTable;
use crate::rng::{Role, TaskKey, stream};
use std::ops::Range;

/// Prepares a cell. Errors: as [`ContinuousExact::given`].
pub(super) fn prepare<L: ContinuousExact>(
    cell: &Cell,
    seed: u64,
    table: &InvariantTable,
    law: L,
) -> Result<Box<dyn Releases>> {
    Ok(Box::new(Ready {
        sampler: law.given(&table.invariant)?,
        equations: LatticeL2::new(&table.invariant)?,
        entries: table.counts.len(),
        key: TaskKey { seed, cell: cell.key, replicate: 0, role: Role::Noise },
    }))
}

struct Ready {
    sampler: ContinuousSampler,
    /// For the check of every release.
    equations: LatticeL2,
    entries: usize,
    key: TaskKey,
}

impl Releases for Ready {
    fn replicates(&self, range: Range<u64>, rows: &mut Rows) -> Result<()> {
        let mut noise = vec![0.0; self.entries];
        for replicate in range {
            let key = TaskKey { replicate, ..self.key };
            self.sampler.draw(&mut stream(key), &mut noise);
            self.equations.check(&noise, 0.0)?;
            rows.release(key, &noise, true);
        }
        Ok(())
    }

    fn tv_error(&self) -> f64 {
        0.0
    }
}
