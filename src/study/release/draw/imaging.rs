//! Free noise, and imaging: free noise moved to the closest point that satisfies the invariant.

use super::super::rows::{Releases, Rows};
use super::unsupported;
use crate::config::Method;
use crate::error::Result;
use crate::grid::Cell;
use crate::imaging::{LatticeL1, LatticeL2, LatticeNnl2, Nnl2Scratch};
use crate::input::InvariantTable;
use crate::invariant::{Linear, Region};
use crate::rng::{Role, Stream, TaskKey, stream};
use std::ops::Range;

/// One draw of independent noise.
pub(super) type Free = Box<dyn Fn(&mut Stream) -> f64 + Send + Sync>;

/// Prepares a cell. Errors: an invariant that the projection does not serve.
pub(super) fn prepare(
    cell: &Cell,
    seed: u64,
    table: &InvariantTable,
    free: Free,
) -> Result<Box<dyn Releases>> {
    let invariant = &table.invariant;
    let image = match cell.method {
        Method::Unconstrained => Image::None,
        Method::L2 => Image::L2(LatticeL2::new(invariant)?),
        Method::L2Integer => {
            let l2 = LatticeL2::new(invariant)?;
            l2.check_rounding()?;
            Image::L2Integer(l2)
        }
        Method::L1 { beta } => {
            Image::L1(LatticeL1::new(invariant, &table.region, beta)?, LatticeL2::new(invariant)?)
        }
        Method::Nnl2 => Image::Nnl2(LatticeNnl2::new(invariant, &table.region)?),
        Method::Nnl2Integer => {
            let nnl2 = LatticeNnl2::new(invariant, &table.region)?;
            nnl2.check_rounding()?;
            Image::Nnl2Integer(nnl2)
        }
        _ => return Err(unsupported(cell.method.name(), "free noise")),
    };
    Ok(Box::new(Ready {
        free,
        image,
        invariant: invariant.clone(),
        region: table.region.clone(),
        key: TaskKey { seed, cell: cell.key, replicate: 0, role: Role::Noise },
    }))
}

struct Ready {
    free: Free,
    image: Image,
    invariant: Linear,
    region: Region,
    key: TaskKey,
}

enum Image {
    None,
    L2(LatticeL2),
    L2Integer(LatticeL2),
    /// With the equations, for the check of every release.
    L1(LatticeL1, LatticeL2),
    Nnl2(LatticeNnl2),
    Nnl2Integer(LatticeNnl2),
}

impl Releases for Ready {
    fn replicates(&self, range: Range<u64>, rows: &mut Rows) -> Result<()> {
        let mut scratch = Nnl2Scratch::default();
        for replicate in range {
            let mut rng = stream(TaskKey { replicate, ..self.key });
            let mut noise: Vec<f64> = (0..self.invariant.cells()).map(|_| (self.free)(&mut rng)).collect();
            let widest = noise.iter().fold(0.0f64, |widest, z| widest.max(z.abs()));
            let mut kept = true;
            match &self.image {
                Image::None => {
                    let integers: Vec<i64> = noise.iter().map(|&z| z as i64).collect();
                    let whole = noise.iter().all(|z| z.fract() == 0.0);
                    kept = whole && self.invariant.holds(&integers) && self.region.contains(&integers);
                }
                Image::L2(l2) => {
                    l2.project(&mut noise);
                    l2.check(&noise, widest)?;
                }
                Image::L1(l1, equations) => {
                    l1.project(&mut noise);
                    equations.check(&noise, widest)?;
                    self.region.check_bounds(&noise)?;
                }
                Image::Nnl2(nnl2) => {
                    nnl2.project(&mut scratch, &mut noise)?;
                    nnl2.check(&noise)?;
                }
                Image::L2Integer(l2) => {
                    let mut integers: Vec<i64> = vec![0; noise.len()];
                    l2.round(&mut rng, &noise, &mut integers);
                    self.invariant.check(&integers)?;
                    noise = integers.into_iter().map(|z| z as f64).collect();
                }
                Image::Nnl2Integer(nnl2) => {
                    let mut integers: Vec<i64> = vec![0; noise.len()];
                    nnl2.round(&mut rng, &noise, &mut integers);
                    self.invariant.check(&integers)?;
                    self.region.check(&integers)?;
                    noise = integers.into_iter().map(|z| z as f64).collect();
                }
            }
            rows.release(replicate, noise, kept);
        }
        Ok(())
    }

    fn tv_error(&self) -> f64 {
        0.0
    }
}
