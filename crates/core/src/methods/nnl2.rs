//! `nnl2`: imaging by least squares under equations and inequalities.

use super::asked::Asked;
use super::choices::{Choices, projected};
use super::define::Define;
use super::draws::Draws;
use super::facts::{Facts, IMAGING, PRODUCTS, on_tables};
use super::problem::{OnTable, Problem};
use super::projection::Projection;
use super::table::{Free, moved};
use crate::error::Result;
use crate::imaging::{LatticeNnl2, Nnl2Scratch};

/// The closest reals within the inequalities in least squares.
pub(super) struct Nnl2;

static FACTS: Facts = Facts {
    name: "nnl2",
    on_tables: on_tables(
        "imaging, least squares under equations and inequalities; its releases meet all of them exactly, as real numbers",
        PRODUCTS,
        PRODUCTS,
    ),
    integers: false,
    is_listed: true,
    words: 5_000,
    ..IMAGING
};

impl Define for Nnl2 {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn projection(&self, _: &Asked) -> Option<Projection> {
        Some(Projection::Nnl2)
    }

    fn on_free(&self, problem: &Problem, table: OnTable, free: Free, _: f64) -> Result<Box<dyn Draws>> {
        let nnl2 = LatticeNnl2::new(table.invariant, table.region)?;
        Ok(moved(problem, table, free, move |_, _, scratch, noise| {
            nnl2.project(&mut scratch.nnl2, noise)?;
            nnl2.check(noise).map(|()| true)
        }))
    }

    fn choices<'a>(&self, problem: &Problem<'a>) -> Result<Choices<'a>> {
        let table = problem.table()?;
        let nnl2 = LatticeNnl2::new(table.invariant, table.region)?;
        Ok(projected(move |noise| nnl2.project(&mut Nnl2Scratch::default(), noise)))
    }
}
