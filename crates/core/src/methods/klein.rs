//! `klein`: conditioning of discrete Gaussian noise, by nearest plane and rejection.

use super::define::Define;
use super::draws::Draws;
use super::exact;
use super::facts::{CONDITIONING, Facts, GAUSSIANS, NONE, on_tables};
use super::problem::{OnTable, Problem};
use crate::error::Result;
use crate::exact::ExactLattice;

/// What `exact` is for a discrete Gaussian, by name.
pub(super) struct Klein;

static FACTS: Facts = Facts {
    name: "klein",
    on_tables: on_tables(
        "conditioning: nearest plane and rejection, as `exact` draws discrete Gaussian laws, asked for by name",
        GAUSSIANS,
        NONE,
    ),
    has_tails: true,
    ..CONDITIONING
};

impl Define for Klein {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn on_integers<L: ExactLattice>(
        &self,
        problem: &Problem,
        table: OnTable,
        law: L,
    ) -> Result<Box<dyn Draws>> {
        match problem.law.needs_delta() {
            true => exact::on_integers(problem, table, law),
            false => Err(problem.no_law()),
        }
    }
}
