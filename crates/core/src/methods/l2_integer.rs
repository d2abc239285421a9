//! `l2-then-integer-l1`: imaging by least squares, then to the closest integers in L1.

use super::asked::Asked;
use super::define::Define;
use super::draws::Draws;
use super::facts::{Facts, IMAGING, NONE, PRODUCTS, on_tables};
use super::problem::{OnTable, Problem};
use super::projection::Projection;
use super::table::{Free, moved, set};
use crate::error::Result;
use crate::imaging::IntegerL2;

/// Least squares, then integers.
pub(super) struct L2Integer;

static FACTS: Facts = Facts {
    name: "l2-then-integer-l1",
    on_tables: on_tables(
        "imaging, least squares, then the closest integers: totals, margins, crossing partitions and hierarchies; small systems of \
         other equations",
        PRODUCTS,
        NONE,
    ),
    rounds: true,
    ..IMAGING
};

impl Define for L2Integer {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn projection(&self, _: &Asked) -> Option<Projection> {
        Some(Projection::L2Integer)
    }

    fn on_free(&self, problem: &Problem, table: OnTable, free: Free, _: f64) -> Result<Box<dyn Draws>> {
        let l2 = IntegerL2::new(table.invariant)?;
        Ok(moved(problem, table, free, move |table, rng, scratch, noise| {
            let mut integers: Vec<i64> = vec![0; noise.len()];
            l2.round(rng, &mut scratch.closest, noise, &mut integers)?;
            table.invariant.check(&integers)?;
            set(noise, &integers);
            Ok(true)
        }))
    }
}
