//! `rejection`: conditioning, by proposals until one keeps everything.

use super::asked::Asked;
use super::define::Define;
use super::draws::Draws;
use super::facts::{ALL, CONDITIONING, Facts, PRODUCTS, on_tables};
use super::known_options::option;
use super::laws::{Laws, RealNoise};
use super::options::{Kind, OptionFacts};
use super::problem::{OnTable, Problem};
use super::table::drawn;
use crate::error::Result;
use crate::exact::{ExactLattice, LatticeScratch, RealRejection, Rejection as OfIntegers, Source};

/// Conditioning by rejection.
pub(super) struct Rejection;

static FROM: OptionFacts =
    option("from", "what proposals satisfy", Kind::Name(&["equations", "unconstrained"]));

static FACTS: Facts = Facts {
    name: "rejection",
    options: &[&FROM],
    on_tables: on_tables(
        "conditioning: proposals, component by component, until one keeps everything; `from` equations needs an exact sampler of \
         the equations, and `from` unconstrained with real noise draws free noise on independent entries and solves for the others",
        ALL,
        ALL,
    ),
    words: 1_000,
    ..CONDITIONING
};

impl Define for Rejection {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn laws(&self, method: &Asked, laws: Laws) -> Laws {
        match method.get::<Source>(&FROM) {
            // Its proposals are independent noise.
            Source::Unconstrained => PRODUCTS,
            Source::Equations => laws,
        }
    }

    fn on_integers<L: ExactLattice>(
        &self,
        problem: &Problem,
        table: OnTable,
        law: L,
    ) -> Result<Box<dyn Draws>> {
        let rejection = OfIntegers::new(table.invariant, table.region, law, problem.asked.get(&FROM))?;
        Ok(drawn(problem, table, rejection.tv_error(), move |table, range, out| {
            let (mut scratch, mut noise) = (LatticeScratch::default(), table.zeros::<i64>());
            for replicate in range {
                let steps = rejection.draw(&mut table.stream(replicate), &mut scratch, &mut noise);
                table.release(replicate, &noise, out)?;
                table.proposals(replicate, (steps, rejection.component_count()), out);
            }
            Ok(())
        }))
    }

    fn on_reals<L: RealNoise>(&self, problem: &Problem, table: OnTable, law: L) -> Result<Box<dyn Draws>> {
        let rejection = RealRejection::new(table.invariant, table.region, law, problem.asked.get(&FROM))?;
        Ok(drawn(problem, table, 0.0, move |table, range, out| {
            let mut noise = table.zeros::<f64>();
            for replicate in range {
                let steps = rejection.draw(&mut table.stream(replicate), &mut noise);
                table.release(replicate, &noise, out)?;
                table.proposals(replicate, (steps, rejection.component_count()), out);
            }
            Ok(())
        }))
    }
}
