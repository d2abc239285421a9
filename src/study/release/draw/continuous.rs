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
        cells: table.counts.len(),
        key: TaskKey { seed, cell: cell.key, replicate: 0, role: Role::Noise },
    }))
}

struct Ready {
    sampler: ContinuousSampler,
    /// For the check of every release.
    equations: LatticeL2,
    cells: usize,
    key: TaskKey,
}

impl Releases for Ready {
    fn replicates(&self, range: Range<u64>, rows: &mut Rows) -> Result<()> {
        for replicate in range {
            let mut noise = vec![0.0; self.cells];
            self.sampler.draw(&mut stream(TaskKey { replicate, ..self.key }), &mut noise);
            self.equations.check(&noise, 0.0)?;
            rows.release(replicate, noise, true);
        }
        Ok(())
    }

    fn tv_error(&self) -> f64 {
        0.0
    }
}
