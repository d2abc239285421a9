//! `release`: conditioning, drawn as `congenial release` draws it, from a seeded source of bits.

use super::asked::Asked;
use super::define::Define;
use super::draws::Draws;
use super::facts::{CONDITIONING, Facts, NO_NODES, NO_NOISE, on_tables, on_trees};
use super::laws::{Family, LawKind, Laws, TreeNoise};
use super::problem::{On, OnTable, Problem};
use super::table::drawn;
use super::tree::Tree;
use crate::error::Result;
use crate::exact::{Dyadic, ExactLattice, ReleaseSampler};
use crate::law::{DiscreteGaussian, DoubleGeometric};

/// Noise given the sums of trees, by the sampler of real releases.
pub(super) struct Release;

const ON_TREES: Laws = Laws {
    has: |law| law.on_hierarchies() && !law.is_continuous(),
    why: |law| match law.is_continuous() {
        true => no_reals(law),
        false => format!("{} is no law of the nodes of a hierarchy", law.name()),
    },
};
const ON_TABLES: Laws = Laws {
    has: |law| law.is_noise() && !law.is_continuous() && law != LawKind::L2,
    why: |law| match law.is_continuous() {
        true => no_reals(law),
        false if !law.is_noise() => NO_NOISE.into(),
        false => "a real release draws products over counts, and the l2 law is none: use exact".into(),
    },
};
const NO_FLOORS: Laws = Laws {
    has: |_| false,
    why: |_| "a real release is not conditioned on counts >= 0: use exact with `nonnegative`".into(),
};
const NO_INEQUALITIES: Laws = Laws {
    has: |_| false,
    why: |_| {
        "a real release keeps equations only, and the invariant has inequalities: use exact, rejection or line-gibbs".into()
    },
};

fn no_reals(law: LawKind) -> String {
    format!("a real release draws integers, and {} noise is real: use exact", law.name())
}

static FACTS: Facts = Facts {
    name: "release",
    on_trees: on_trees(
        "conditioning: what `exact` draws, by the sampler of `congenial release` from seeded bits; its bases are whole numbers over 2^48",
        ON_TREES,
        NO_FLOORS,
        NO_NODES,
    ),
    on_tables: on_tables(
        "conditioning: what `exact` draws, by the sampler of `congenial release` from seeded bits: totals, partitions, and other \
         equations that are hierarchies",
        ON_TABLES,
        NO_INEQUALITIES,
    ),
    has_tails: true,
    is_listed: true,
    words: 80,
    ..CONDITIONING
};

/// The law of a scale with a dyadic base. Errors: a law that is not served, noise that is too wide.
fn dyadic(problem: &Problem, scale: f64) -> Result<Dyadic> {
    match problem.law.family() {
        Family::DoubleGeometric => Dyadic::double_geometric(DoubleGeometric::new(scale)?),
        Family::DiscreteGaussian => Dyadic::discrete_gaussian(DiscreteGaussian::new(scale)?),
        Family::Laplace | Family::Gaussian | Family::Euclidean | Family::Nothing => Err(problem.no_law()),
    }
}

impl Define for Release {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn fits(&self, _: &Asked, place: On) -> Result<()> {
        match place {
            On::Tree(_) => Ok(()),
            On::Table(table) => ReleaseSampler::check_table(table.invariant),
        }
    }

    fn on_tree<L: TreeNoise>(&self, problem: &Problem, tree: Tree<L>) -> Result<Box<dyn Draws>> {
        let laws = problem.calibration.laws(|scale| dyadic(problem, scale)).collect::<Result<Vec<_>>>()?;
        let sampler = ReleaseSampler::on_tree(&tree.hierarchy, &laws)?;
        Ok(tree.drawn(0.0, move |tree, range, out| {
            sampler.lend(|lent| {
                let mut noise = vec![0; tree.hierarchy.nodes()];
                for replicate in range {
                    lent.draw(&mut tree.stream(replicate), &mut noise)?;
                    let released: Vec<i64> = noise.iter().zip(&*tree.counts).map(|(z, x)| x + z).collect();
                    tree.record(replicate, &noise, &released, out)?;
                }
                Ok(())
            })
        }))
    }

    fn on_integers<L: ExactLattice>(
        &self,
        problem: &Problem,
        table: OnTable,
        _: L,
    ) -> Result<Box<dyn Draws>> {
        let law = dyadic(problem, problem.calibration.scales[0])?;
        let sampler = ReleaseSampler::on_table(table.invariant, law)?;
        Ok(drawn(problem, table, 0.0, move |table, range, out| {
            sampler.lend(|lent| {
                let mut noise = table.zeros::<i64>();
                for replicate in range {
                    lent.draw(&mut table.stream(replicate), &mut noise)?;
                    table.release(replicate, &noise, out)?;
                }
                Ok(())
            })
        }))
    }
}
