//! `mis`: conditioning, by the published chain for inequalities.

use super::asked::Asked;
use super::chains::{Chains, alone, coupled};
use super::define::Define;
use super::draws::Draws;
use super::facts::{ALL, CHAIN, Facts, on_tables};
use super::known_options::{POSITIVE, STEPS, option, silent};
use super::laws::RealNoise;
use super::options::{Kind, OptionFacts, SolveFor};
use super::problem::{On, OnTable, Problem};
use super::table::by_chains;
use crate::error::Result;
use crate::exact::ExactLattice;
use crate::kernel::{Forgetting, MetropolizedIndependence, RealIndependence};
use crate::law::{LatticeLaw, Law};
use crate::rng::Stream;

/// Metropolized independence, Algorithm 1 of "Congenial differential privacy".
pub(super) struct Mis;

static PROPOSAL_EPSILON: OptionFacts =
    option("proposal-epsilon", "inverse scale of a proposal; by default the law's own", POSITIVE);
static SOLVE_FOR: OptionFacts = silent(
    "solve-for",
    "entries that are solved for from those that are proposed (the others are the set I): the last with independent columns, the first, \
     those with the largest counts, or with the smallest; or these, by number",
    Kind::NameOrEntries(&["last", "first", "largest", "smallest"]),
);

static FACTS: Facts = Facts {
    name: "mis",
    options: &[&STEPS, &PROPOSAL_EPSILON, &SOLVE_FOR],
    on_tables: on_tables(
        "conditioning by a chain: metropolized independence, Algorithm 1 of \"Congenial differential privacy\"",
        ALL,
        ALL,
    ),
    couples: |law| match law.is_continuous() {
        false => Ok(()),
        true => Err("what bounds its distance, whatever pairs show, is known for integer noise alone"),
    },
    starts_within: true,
    forgets: true,
    ..CHAIN
};

fn rate(problem: &Problem, scale: f64) -> f64 {
    problem.asked.get::<Option<f64>>(&PROPOSAL_EPSILON).unwrap_or(1.0 / scale)
}

fn steps(problem: &Problem, components: u64) -> u64 {
    problem.asked.get::<Option<u64>>(&STEPS).unwrap_or(0).saturating_mul(components)
}

fn kernel<L: LatticeLaw>(problem: &Problem, table: OnTable, law: L) -> Result<MetropolizedIndependence<L>> {
    let dependent = problem.asked.get::<SolveFor>(&SOLVE_FOR).dependent(table.invariant, table.counts)?;
    let rate = rate(problem, law.scale());
    MetropolizedIndependence::new(table.invariant, Some(table.region), law, rate, dependent.as_deref())
}

fn real_kernel<L: RealNoise>(problem: &Problem, table: OnTable, law: L) -> Result<RealIndependence<L>> {
    let order = problem.asked.get::<SolveFor>(&SOLVE_FOR).order(table.invariant, table.counts)?;
    let rate = rate(problem, Law::scale(&law));
    RealIndependence::new(table.invariant, Some(table.region), law, rate, order.as_deref())
}

impl Define for Mis {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn fits(&self, asked: &Asked, place: On) -> Result<()> {
        let On::Table(table) = place else { return Ok(()) };
        asked.get::<SolveFor>(&SOLVE_FOR).order(table.invariant, table.counts).map(drop)
    }

    fn on_integers<L: ExactLattice>(
        &self,
        problem: &Problem,
        table: OnTable,
        law: L,
    ) -> Result<Box<dyn Draws>> {
        let kernel = kernel(problem, table, law)?;
        let steps = steps(problem, kernel.component_count());
        Ok(by_chains(problem, table, kernel, steps))
    }

    fn on_reals<L: RealNoise>(&self, problem: &Problem, table: OnTable, law: L) -> Result<Box<dyn Draws>> {
        let kernel = real_kernel(problem, table, law)?;
        let steps = steps(problem, kernel.component_count());
        Ok(by_chains(problem, table, kernel, steps))
    }

    fn chain_on_integers<L: ExactLattice>(
        &self,
        problem: &Problem,
        table: OnTable,
        law: L,
    ) -> Result<Box<dyn Chains>> {
        Ok(coupled(kernel(problem, table, law)?))
    }

    fn chain_on_reals<L: RealNoise>(
        &self,
        problem: &Problem,
        table: OnTable,
        law: L,
    ) -> Result<Box<dyn Chains>> {
        Ok(alone(real_kernel(problem, table, law)?))
    }

    fn forgetting<L: ExactLattice>(
        &self,
        problem: &Problem,
        table: OnTable,
        law: L,
        level: f64,
        rng: &mut Stream,
    ) -> Result<Option<Forgetting>> {
        Ok(kernel(problem, table, law)?.forgetting(level, rng))
    }
}
