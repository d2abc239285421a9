//! `rejection`: conditioning, by proposals until one keeps everything.

use super::asked::Asked;
use super::define::Define;
use super::draws::Draws;
use super::facts::{ALL, CONDITIONING, FOUR, FOUR_INTEGERS, Facts, PRODUCTS, Place, on_tables, on_trees};
use super::known_options::{NONNEGATIVE, option};
use super::laws::{Laws, RealNoise, TreeNoise};
use super::options::{Kind, OptionFacts};
use super::problem::{OnTable, Problem};
use super::table::drawn;
use super::tree::Tree;
use crate::error::Result;
use crate::exact::{
    ExactLattice, LatticeScratch, RealRejection, Rejection as OfIntegers, Source, TreeRejection,
};

/// Conditioning by rejection.
pub(super) struct Rejection;

static FROM: OptionFacts =
    option("from", "what proposals satisfy", Kind::Name(&["equations", "unconstrained"]));

/// Where free noise is proposed.
const OF_TABLES: Laws = Laws {
    has: |_| false,
    why: |_| "`from` unconstrained serves tables: on a hierarchy proposals keep the sums".into(),
};

static FACTS: Facts = Facts {
    name: "rejection",
    options: &[&NONNEGATIVE, &FROM],
    on_trees: on_trees(
        "conditioning: what `exact` draws, until one draw keeps the inequalities between nodes; `nonnegative` with integer laws",
        FOUR,
        FOUR_INTEGERS,
        FOUR,
    ),
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

    fn laws(&self, method: &Asked, place: Place, laws: Laws) -> Laws {
        match (method.get::<Source>(&FROM), place) {
            (Source::Equations, _) => laws,
            // Its proposals are independent noise.
            (Source::Unconstrained, Place::Table { .. }) => PRODUCTS,
            (Source::Unconstrained, Place::Tree { .. }) => OF_TABLES,
        }
    }

    fn on_tree<L: TreeNoise>(&self, _: &Problem, tree: Tree<L>) -> Result<Box<dyn Draws>> {
        let sums = L::tree_sampler(&tree.hierarchy, &tree.laws, tree.floors())?;
        let sampler = TreeRejection::new(&tree.hierarchy, sums, &tree.region)?;
        Ok(tree.drawn(sampler.tv_error(), move |tree, range, out| {
            let (mut noise, mut scratch) = (tree.zeros(), Default::default());
            for replicate in range {
                sampler.draw(&mut tree.stream(replicate), &mut scratch, &mut noise);
                tree.record(replicate, &noise, &tree.released(&noise), out)?;
            }
            Ok(())
        }))
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
