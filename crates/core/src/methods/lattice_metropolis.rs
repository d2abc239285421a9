//! `lattice-metropolis`: conditioning, by the published chain on a lattice.

use super::chains::{Chains, coupled};
use super::define::Define;
use super::draws::Draws;
use super::facts::{CHAIN, Facts, INTEGERS, NONE, on_tables};
use super::known_options::{START, STEPS, option, silent};
use super::options::{Kind, OptionFacts};
use super::problem::{OnTable, Problem};
use super::table::by_chains;
use crate::error::Result;
use crate::exact::ExactLattice;
use crate::kernel::{LANES, LatticeMetropolis as Kernel};
use crate::law::LatticeLaw;

/// Algorithm 1 of "Integer subspace differential privacy".
pub(super) struct LatticeMetropolis;

static A: OptionFacts = option(
    "a",
    "parameter of a double geometric proposal",
    // 1/e.
    Kind::Number { above: 0.0, closed: false, most: 0.9999, default: Some(0.367_879_441_171_442_33) },
);
static BASIS: OptionFacts = option("basis", "basis of the lattice", Kind::Name(&["smith", "reduced"]));
static STARTS: OptionFacts = silent(
    START,
    "where the chain begins: twice as wide as the law's own noise, as wide, or as its proposals",
    Kind::Name(&["over-dispersed", "free-noise", "published"]),
);

static FACTS: Facts = Facts {
    name: "lattice-metropolis",
    options: &[&STEPS, &A, &BASIS, &STARTS],
    on_tables: on_tables(
        "conditioning by a chain, the published Algorithm 1 of \"Integer subspace differential privacy\"",
        INTEGERS,
        NONE,
    ),
    couples: |_| Ok(()),
    has_tails: true,
    together: LANES as u64,
    ..CHAIN
};

fn kernel<L: LatticeLaw>(problem: &Problem, table: OnTable, law: L) -> Result<Kernel<L>> {
    Kernel::new(table.invariant, law, problem.asked.get(&A), problem.asked.get(&BASIS))
}

impl Define for LatticeMetropolis {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn on_integers<L: ExactLattice>(
        &self,
        problem: &Problem,
        table: OnTable,
        law: L,
    ) -> Result<Box<dyn Draws>> {
        let steps = problem.asked.get::<Option<u64>>(&STEPS).unwrap_or(0);
        Ok(by_chains(problem, table, kernel(problem, table, law)?, steps))
    }

    fn chain_on_integers<L: ExactLattice>(
        &self,
        problem: &Problem,
        table: OnTable,
        law: L,
    ) -> Result<Box<dyn Chains>> {
        Ok(coupled(kernel(problem, table, law)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::Value;

    /// A part of what cells are: its digits do not change.
    #[test]
    fn the_default_of_a_is_the_inverse_of_e() {
        assert_eq!(A.default(), Some(Value::Number(libm::exp(-1.0))));
    }
}
