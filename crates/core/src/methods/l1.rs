//! `l1`: imaging in L1, one total at a time.

use super::asked::Asked;
use super::choices::{Choices, projected};
use super::define::Define;
use super::draws::Draws;
use super::facts::{Facts, IMAGING, PRODUCTS, on_tables};
use super::known_options::option;
use super::options::{Kind, OptionFacts};
use super::problem::{OnTable, Problem};
use super::projection::Projection;
use super::table::{Free, moved, widest};
use crate::error::Result;
use crate::imaging::{LatticeL1, LatticeL2};

/// The closest reals in L1.
pub(super) struct L1;

static BETA: OptionFacts = option(
    "beta",
    "share of the excess that the first entry of a total keeps",
    Kind::Number { above: 0.0, closed: true, most: 1.0, default: Some(0.5) },
);

static FACTS: Facts = Facts {
    name: "l1",
    options: &[&BETA],
    on_tables: on_tables(
        "imaging in L1, totals and partitions, with bounds by entry: the first entry of a total keeps `beta` of its share \
         in the excess",
        PRODUCTS,
        PRODUCTS,
    ),
    integers: false,
    is_listed: true,
    ..IMAGING
};

impl Define for L1 {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn projection(&self, method: &Asked) -> Option<Projection> {
        Some(Projection::L1 { beta: method.get(&BETA) })
    }

    fn on_free(&self, problem: &Problem, table: OnTable, free: Free, _: f64) -> Result<Box<dyn Draws>> {
        let l1 = LatticeL1::new(table.invariant, table.region, problem.asked.get(&BETA))?;
        // For the check of every release.
        let equations = LatticeL2::new(table.invariant)?;
        Ok(moved(problem, table, free, move |table, _, _, noise| {
            let widest = widest(noise);
            l1.project(noise);
            equations.check(noise, widest)?;
            table.region.check_bounds(noise).map(|()| true)
        }))
    }

    fn choices<'a>(&self, problem: &Problem<'a>) -> Result<Choices<'a>> {
        let table = problem.table()?;
        let l1 = LatticeL1::new(table.invariant, table.region, problem.asked.get(&BETA))?;
        Ok(projected(move |noise| {
            l1.project(noise);
            Ok(())
        }))
    }
}
