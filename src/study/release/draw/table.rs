//! A cell on a table under an invariant: law and method decide who draws.

use super::super::rows::Releases;
use super::conditioning;
use super::imaging::{self, Free};
use super::own;
use crate::Result;
use crate::catalogue::unsupported;
use crate::catalogue::{IntegerNoise, Method, MethodKind, OnLaw, RealNoise};
use crate::grid::Cell;
use crate::input::InvariantTable;
use crate::invariant::check_free;
use crate::law::{EuclideanLaplace, Law, Sampler, Value};

/// Prepares a cell: everything that does not depend on the replicate.
/// `keys`: the seed of the run, and the key of the cell's noise.
pub(super) fn prepare(cell: &Cell, keys: (u64, u64), table: &InvariantTable) -> Result<Box<dyn Releases>> {
    if cell.method.keeps_equations() {
        check_free(&table.invariant)?;
    }
    let ours = cell.method.kind() != MethodKind::External;
    let equations_only = ours && cell.method.keeps_equations() && !cell.method.keeps_inequalities();
    if equations_only && !table.region.is_everything() {
        return Err(unsupported(cell.method.name(), "inequalities"));
    }
    cell.law.on(OnTable { cell, keys, table })
}

struct OnTable<'a> {
    cell: &'a Cell,
    keys: (u64, u64),
    table: &'a InvariantTable,
}

impl OnLaw for OnTable<'_> {
    type Output = Box<dyn Releases>;

    fn integers<L: IntegerNoise>(self, law: fn(f64) -> Result<L>) -> Result<Self::Output> {
        let Self { cell, keys, table } = self;
        let seed = keys.0;
        let law = law(cell.calibration.scales[0])?;
        match cell.method.conditions() {
            true => conditioning::integers(cell, seed, table, law),
            false => with_free(cell, keys, table, law),
        }
    }

    fn reals<L: RealNoise>(self, law: fn(f64) -> Result<L>) -> Result<Self::Output> {
        let Self { cell, keys, table } = self;
        let seed = keys.0;
        let law = law(cell.calibration.scales[0])?;
        match cell.method.conditions() {
            true => conditioning::reals(cell, seed, table, law),
            false => with_free(cell, keys, table, law),
        }
    }

    fn euclidean(self, law: fn(f64) -> Result<EuclideanLaplace>) -> Result<Self::Output> {
        let Self { cell, keys, table } = self;
        let seed = keys.0;
        // No product over entries: there is no free noise to draw.
        match cell.method.conditions() {
            true => conditioning::integers(cell, seed, table, law(cell.calibration.scales[0])?),
            false => Err(unsupported(cell.method.name(), cell.law.name())),
        }
    }
}

/// A cell that begins with free noise.
fn with_free<L: Law + 'static>(
    cell: &Cell,
    keys: (u64, u64),
    table: &InvariantTable,
    law: L,
) -> Result<Box<dyn Releases>> {
    let variance = law.variance();
    match cell.method {
        Method::External { own: Some(own) } => own::prepare(own, cell, keys, table, (free(law), variance)),
        _ => imaging::prepare(cell, keys.0, table, free(law)),
    }
}

fn free<L: Law>(law: L) -> Free {
    let law = law.sampler();
    Box::new(move |rng, noise| noise.iter_mut().for_each(|z| *z = law.draw(rng).to_f64()))
}
