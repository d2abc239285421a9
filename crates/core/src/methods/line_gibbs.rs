//! `line-gibbs`: conditioning, by exact draws along short lattice vectors.

use super::chains::{Chains, coupled};
use super::define::Define;
use super::draws::Draws;
use super::facts::{ALL, CHAIN, FOUR, Facts, NO_NODES, on_tables, on_trees};
use super::known_options::{NONNEGATIVE, STARTS, length};
use super::laws::{RealNoise, TreeNoise};
use super::options::OptionFacts;
use super::problem::{OnTable, OnTree, Problem};
use super::table::by_chains;
use super::tree::Tree;
use crate::error::Result;
use crate::exact::ExactLattice;
use crate::kernel::{LatticeGibbs, LineGibbs as OnLines, RealGibbs, is_settled};

/// Conditioning by line Gibbs.
pub(super) struct LineGibbs;

// See `experiments/taxi`.
static SWEEPS: OptionFacts = length("sweeps", "sweeps of the chain", 100);

static FACTS: Facts = Facts {
    name: "line-gibbs",
    options: &[&NONNEGATIVE, &SWEEPS, &STARTS],
    on_trees: on_trees(
        "conditioning by a chain: exact draws along short lattice vectors",
        FOUR,
        FOUR,
        NO_NODES,
    ),
    on_tables: on_tables(
        "conditioning by a chain: exact draws along pairs, swaps and short lattice vectors; one sweep is as many moves as \
         entries, or as many that can move. With inequalities only where the moves are known to connect everything: \
         one total within bounds by \
         entry, a two-way table with lower bounds, and where the Graver basis of the group sums has at most 500 vectors; \
         real laws under all",
        ALL,
        ALL,
    ),
    couples: |_| Ok(()),
    has_tails: true,
    words: 60,
    ..CHAIN
};

/// Steps of the chain, of a kernel whose sweep takes so many.
fn steps(problem: &Problem, sweep: u64) -> u64 {
    problem.asked.get::<Option<u64>>(&SWEEPS).unwrap_or(0).saturating_mul(sweep)
}

impl Define for LineGibbs {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn on_tree<L: TreeNoise>(&self, problem: &Problem, tree: Tree<L>) -> Result<Box<dyn Draws>> {
        if is_settled(&tree.hierarchy, tree.floors()) {
            return Ok(tree.settled());
        }
        let kernel = OnLines::new(&tree.hierarchy, &tree.laws, tree.floors())?;
        let steps = steps(problem, kernel.sweep());
        Ok(tree.by_chains(kernel, problem.asked.start(), steps))
    }

    fn on_integers<L: ExactLattice>(
        &self,
        problem: &Problem,
        table: OnTable,
        law: L,
    ) -> Result<Box<dyn Draws>> {
        let kernel = LatticeGibbs::new(table.invariant, Some(table.region), law)?;
        let steps = steps(problem, kernel.sweep());
        Ok(by_chains(problem, table, kernel, steps))
    }

    fn on_reals<L: RealNoise>(&self, problem: &Problem, table: OnTable, law: L) -> Result<Box<dyn Draws>> {
        let kernel = RealGibbs::new(table.invariant, Some(table.region), law)?;
        let steps = steps(problem, kernel.sweep());
        Ok(by_chains(problem, table, kernel, steps))
    }

    fn chain_on_tree<L: TreeNoise>(
        &self,
        _: &Problem,
        tree: OnTree,
        laws: &[L],
        counts: Option<&[i64]>,
    ) -> Result<Box<dyn Chains>> {
        Ok(coupled(OnLines::new(tree.hierarchy, laws, counts)?))
    }

    fn chain_on_integers<L: ExactLattice>(
        &self,
        _: &Problem,
        table: OnTable,
        law: L,
    ) -> Result<Box<dyn Chains>> {
        Ok(coupled(LatticeGibbs::new(table.invariant, Some(table.region), law)?))
    }

    fn chain_on_reals<L: RealNoise>(&self, _: &Problem, table: OnTable, law: L) -> Result<Box<dyn Chains>> {
        Ok(coupled(RealGibbs::new(table.invariant, Some(table.region), law)?))
    }
}
