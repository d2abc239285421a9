//! A cell on a table under an invariant: law and method decide who draws.

use super::super::rows::Releases;
use super::conditioning;
use super::continuous;
use super::imaging::{self, Free};
use crate::config::{LawKind, Method};
use crate::error::Result;
use crate::grid::Cell;
use crate::input::InvariantTable;
use crate::invariant::check_free;
use crate::law::{DiscreteGaussian, DoubleGeometric, EuclideanLaplace, Gaussian, Laplace, Law};
use crate::rng::Stream;

/// Prepares a cell: everything that does not depend on the replicate.
pub(super) fn prepare(cell: &Cell, seed: u64, table: &InvariantTable) -> Result<Box<dyn Releases>> {
    if cell.method != Method::Unconstrained {
        check_free(&table.invariant)?;
    }
    let scale = cell.calibration.scales[0];
    let conditions = cell.method.conditions();
    match cell.law {
        LawKind::L1 | LawKind::DoubleGeometric => {
            let law = DoubleGeometric::new(scale)?;
            match conditions {
                true => conditioning::prepare(cell, seed, table, law),
                false => imaging::prepare(cell, seed, table, free(law, |z| z as f64)),
            }
        }
        LawKind::DiscreteGaussian | LawKind::GeneralizedGaussian => {
            let law = DiscreteGaussian::new(scale)?;
            match conditions {
                true => conditioning::prepare(cell, seed, table, law),
                false => imaging::prepare(cell, seed, table, free(law, |z| z as f64)),
            }
        }
        // No product over cells: the config refuses what draws free noise.
        LawKind::L2 => conditioning::prepare(cell, seed, table, EuclideanLaplace::new(scale)?),
        LawKind::Laplace => {
            let law = Laplace::new(scale)?;
            match conditions {
                true => continuous::prepare(cell, seed, table, law),
                false => imaging::prepare(cell, seed, table, free(law, |z| z)),
            }
        }
        LawKind::Gaussian => {
            let law = Gaussian::new(scale)?;
            match conditions {
                true => continuous::prepare(cell, seed, table, law),
                false => imaging::prepare(cell, seed, table, free(law, |z| z)),
            }
        }
    }
}

fn free<L: Law>(law: L, real: fn(L::Value) -> f64) -> Free {
    Box::new(move |rng: &mut Stream| real(law.sample(rng)))
}
