//! A cell on a table under an invariant: law and method decide who draws.

use super::super::rows::Releases;
use super::conditioning;
use super::imaging::{self, Free};
use super::unsupported;
use crate::catalogue::{IntegerNoise, OnLaw, RealNoise};
use crate::error::Result;
use crate::grid::Cell;
use crate::input::InvariantTable;
use crate::invariant::check_free;
use crate::law::{EuclideanLaplace, Law, Value};

/// Prepares a cell: everything that does not depend on the replicate.
pub(super) fn prepare(cell: &Cell, seed: u64, table: &InvariantTable) -> Result<Box<dyn Releases>> {
    if cell.method.keeps_equations() {
        check_free(&table.invariant)?;
    }
    let equations_only = cell.method.keeps_equations() && !cell.method.keeps_inequalities();
    if equations_only && !table.region.is_everything() {
        return Err(unsupported(cell.method.name(), "inequalities"));
    }
    cell.law.on(OnTable { cell, seed, table })
}

struct OnTable<'a> {
    cell: &'a Cell,
    seed: u64,
    table: &'a InvariantTable,
}

impl OnLaw for OnTable<'_> {
    type Output = Box<dyn Releases>;

    fn integers<L: IntegerNoise>(self, law: fn(f64) -> Result<L>) -> Result<Self::Output> {
        let Self { cell, seed, table } = self;
        let law = law(cell.calibration.scales[0])?;
        match cell.method.conditions() {
            true => conditioning::integers(cell, seed, table, law),
            false => imaging::prepare(cell, seed, table, free(law)),
        }
    }

    fn reals<L: RealNoise>(self, law: fn(f64) -> Result<L>) -> Result<Self::Output> {
        let Self { cell, seed, table } = self;
        let law = law(cell.calibration.scales[0])?;
        match cell.method.conditions() {
            true => conditioning::reals(cell, seed, table, law),
            false => imaging::prepare(cell, seed, table, free(law)),
        }
    }

    fn euclidean(self, law: fn(f64) -> Result<EuclideanLaplace>) -> Result<Self::Output> {
        let Self { cell, seed, table } = self;
        // No product over entries: there is no free noise to draw.
        match cell.method.conditions() {
            true => conditioning::integers(cell, seed, table, law(cell.calibration.scales[0])?),
            false => Err(unsupported(cell.method.name(), cell.law.name())),
        }
    }
}

fn free<L: Law>(law: L) -> Free {
    Box::new(move |rng, noise| noise.iter_mut().for_each(|z| *z = law.sample(rng).to_f64()))
}
