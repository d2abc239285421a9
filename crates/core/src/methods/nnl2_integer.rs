//! `nnl2-then-integer-l1`: imaging by least squares within inequalities, then to the closest integers in L1.

use super::asked::Asked;
use super::define::Define;
use super::draws::Draws;
use super::facts::{Facts, IMAGING, PRODUCTS, on_tables};
use super::problem::{OnTable, Problem};
use super::projection::Projection;
use super::table::{Free, moved, set};
use crate::error::Result;
use crate::imaging::IntegerNnl2;

/// Least squares within inequalities, then integers.
pub(super) struct Nnl2Integer;

static FACTS: Facts = Facts {
    name: "nnl2-then-integer-l1",
    on_tables: on_tables(
        "imaging, least squares under equations and inequalities, then the closest integers: the equations of \
         `l2-then-integer-l1` with bounds by entry; small systems of others",
        PRODUCTS,
        PRODUCTS,
    ),
    rounds: true,
    words: 5_000,
    ..IMAGING
};

impl Define for Nnl2Integer {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn projection(&self, _: &Asked) -> Option<Projection> {
        Some(Projection::Nnl2Integer)
    }

    fn on_free(&self, problem: &Problem, table: OnTable, free: Free, _: f64) -> Result<Box<dyn Draws>> {
        let nnl2 = IntegerNnl2::new(table.invariant, table.region)?;
        Ok(moved(problem, table, free, move |table, rng, scratch, noise| {
            let mut integers: Vec<i64> = vec![0; noise.len()];
            nnl2.round(rng, scratch, noise, &mut integers)?;
            table.invariant.check(&integers)?;
            table.region.check(&integers)?;
            set(noise, &integers);
            Ok(true)
        }))
    }
}
