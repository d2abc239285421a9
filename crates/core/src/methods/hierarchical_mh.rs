//! `hierarchical-mh`: conditioning, by the published chain on a hierarchy.

use super::asked::Asked;
use super::chains::{Chains, alone};
use super::define::Define;
use super::draws::Draws;
use super::facts::{CHAIN, FOUR, Facts, Place, on_trees};
use super::known_options::{NONNEGATIVE, POSITIVE, STARTS, STEPS, option, silent};
use super::laws::{Laws, TreeNoise};
use super::options::{Kind, OptionFacts};
use super::problem::{OnTree, Problem};
use super::tree::Tree;
use crate::error::Result;
use crate::invariant::{Hierarchy, Region};
use crate::kernel::{HierarchicalMh as Kernel, StepLaw, is_settled};
use crate::law::Law;

/// Algorithm 1 of "Two views".
pub(super) struct HierarchicalMh;

static PROPOSAL_SCALE: OptionFacts =
    option("proposal-scale", "standard deviation of a proposal, in units of the leaves' scale", POSITIVE);

static PROPOSAL: OptionFacts = silent(
    "proposal",
    "law of a proposal's steps: normal or Laplace, rounded for integer laws, or double geometric, for integer laws alone",
    Kind::Name(&["normal", "laplace", "integer"]),
);

/// The laws that integer steps serve.
const WHOLE: Laws = Laws {
    has: |law| law.on_hierarchies() && !law.is_continuous(),
    why: |law| format!("{} noise is real, and integer proposals do not reach all reals", law.name()),
};

static FACTS: Facts = Facts {
    name: "hierarchical-mh",
    options: &[&NONNEGATIVE, &STEPS, &PROPOSAL_SCALE, &PROPOSAL, &STARTS],
    on_trees: on_trees(
        "conditioning by a chain, the published Algorithm 1 of \"Two views\", also under inequalities between nodes",
        FOUR,
        FOUR,
        FOUR,
    ),
    // `experiments/taxi` says which couplings were tried.
    couples: |_| Err("two of its chains do not meet by any coupling that was tried"),
    ..CHAIN
};

fn kernel<L: TreeNoise>(
    problem: &Problem,
    hierarchy: &Hierarchy,
    laws: &[L],
    counts: Option<&[i64]>,
    region: &Region,
) -> Result<Kernel<L>> {
    let proposal = match problem.asked.get::<Option<f64>>(&PROPOSAL_SCALE) {
        Some(scale) => scale * Law::scale(&laws[laws.len() - 1]),
        None => Kernel::default_proposal(hierarchy, laws),
    };
    Kernel::joined(hierarchy, laws, proposal, counts, region)?.with_steps(problem.asked.get(&PROPOSAL))
}

impl Define for HierarchicalMh {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn laws(&self, method: &Asked, _: Place, laws: Laws) -> Laws {
        match method.get::<StepLaw>(&PROPOSAL) {
            StepLaw::Integer => WHOLE,
            StepLaw::Normal | StepLaw::Laplace => laws,
        }
    }

    fn on_tree<L: TreeNoise>(&self, problem: &Problem, tree: Tree<L>) -> Result<Box<dyn Draws>> {
        if is_settled(&tree.hierarchy, tree.floors()) {
            return Ok(tree.settled());
        }
        let kernel = kernel(problem, &tree.hierarchy, &tree.laws, tree.floors(), &tree.region)?;
        let steps = problem.asked.get::<Option<u64>>(&STEPS).unwrap_or(0);
        Ok(tree.by_chains(kernel, problem.asked.start(), steps))
    }

    fn chain_on_tree<L: TreeNoise>(
        &self,
        problem: &Problem,
        tree: OnTree,
        laws: &[L],
        counts: Option<&[i64]>,
    ) -> Result<Box<dyn Chains>> {
        Ok(alone(kernel(problem, tree.hierarchy, laws, counts, tree.region)?))
    }
}
