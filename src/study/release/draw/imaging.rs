//! Free noise, and imaging: free noise moved to the closest point that satisfies the invariant.

use super::super::rows::{Releases, Rows};
use crate::Result;
use crate::catalogue::Method;
use crate::catalogue::unsupported;
use crate::grid::Cell;
use crate::imaging::{ImageScratch, IntegerL2, IntegerNnl2, LatticeL1, LatticeL2, LatticeNnl2};
use crate::input::InvariantTable;
use crate::invariant::{Linear, Region};
use crate::rng::{Role, Stream, TaskKey, stream};
use std::ops::Range;

/// Fills a draw with independent noise.
pub(super) type Free = Box<dyn Fn(&mut Stream, &mut [f64]) + Send + Sync>;

/// Prepares a cell. Errors: an invariant that the projection does not serve.
pub(super) fn prepare(
    cell: &Cell,
    seed: u64,
    table: &InvariantTable,
    free: Free,
) -> Result<Box<dyn Releases>> {
    let (invariant, region) = (&table.invariant, &table.region);
    let image: Image = match cell.method {
        Method::Unconstrained => {
            let known = table.known.clone();
            Box::new(move |ready, _, _, noise| {
                known.iter().for_each(|&entry| noise[entry as usize] = 0.0);
                let integers: Vec<i64> = noise.iter().map(|&z| z as i64).collect();
                let whole = noise.iter().zip(&integers).all(|(&real, &z)| real == z as f64);
                Ok(whole && ready.invariant.holds(&integers) && ready.region.contains(&integers))
            })
        }
        Method::L2 => {
            let l2 = LatticeL2::new(invariant)?;
            Box::new(move |_, _, _, noise| {
                let widest = widest(noise);
                l2.project(noise);
                l2.check(noise, widest).map(|()| true)
            })
        }
        Method::L2Integer => {
            let l2 = IntegerL2::new(invariant)?;
            Box::new(move |ready, rng, scratch, noise| {
                let mut integers: Vec<i64> = vec![0; noise.len()];
                l2.round(rng, &mut scratch.closest, noise, &mut integers)?;
                ready.invariant.check(&integers)?;
                set(noise, &integers)
            })
        }
        Method::L1 { beta } => {
            // With the equations, for the check of every release.
            let (l1, equations) = (LatticeL1::new(invariant, region, beta)?, LatticeL2::new(invariant)?);
            Box::new(move |ready, _, _, noise| {
                let widest = widest(noise);
                l1.project(noise);
                equations.check(noise, widest)?;
                ready.region.check_bounds(noise).map(|()| true)
            })
        }
        Method::Nnl2 => {
            let nnl2 = LatticeNnl2::new(invariant, region)?;
            Box::new(move |_, _, scratch, noise| {
                nnl2.project(&mut scratch.nnl2, noise)?;
                nnl2.check(noise).map(|()| true)
            })
        }
        Method::Nnl2Integer => {
            let nnl2 = IntegerNnl2::new(invariant, region)?;
            Box::new(move |ready, rng, scratch, noise| {
                let mut integers: Vec<i64> = vec![0; noise.len()];
                nnl2.round(rng, scratch, noise, &mut integers)?;
                ready.invariant.check(&integers)?;
                ready.region.check(&integers)?;
                set(noise, &integers)
            })
        }
        _ => return Err(unsupported(cell.method.name(), "free noise")),
    };
    Ok(Box::new(Ready {
        free,
        image,
        invariant: invariant.clone(),
        region: region.clone(),
        key: TaskKey { seed, cell: cell.streams, replicate: 0, role: Role::Noise },
    }))
}

/// Moves the noise to the invariant, and says whether the release keeps it. Errors: a promise that is broken.
type Image = Box<dyn Fn(&Ready, &mut Stream, &mut ImageScratch, &mut [f64]) -> Result<bool> + Send + Sync>;

fn widest(noise: &[f64]) -> f64 {
    noise.iter().fold(0.0f64, |widest, z| widest.max(z.abs()))
}

fn set(noise: &mut [f64], integers: &[i64]) -> Result<bool> {
    noise.iter_mut().zip(integers).for_each(|(noise, &z)| *noise = z as f64);
    Ok(true)
}

struct Ready {
    free: Free,
    image: Image,
    invariant: Linear,
    region: Region,
    key: TaskKey,
}

impl Releases for Ready {
    fn replicates(&self, range: Range<u64>, rows: &mut Rows) -> Result<()> {
        let (mut scratch, mut noise) = (ImageScratch::default(), vec![0.0; self.invariant.entries()]);
        for replicate in range {
            let key = TaskKey { replicate, ..self.key };
            let mut rng = stream(key);
            (self.free)(&mut rng, &mut noise);
            let kept = (self.image)(self, &mut rng, &mut scratch, &mut noise)?;
            rows.release(key, &noise, kept);
        }
        Ok(())
    }

    fn tv_error(&self) -> f64 {
        0.0
    }
}
