//! Any method, whatever its type: law and place decide what it is asked.

use super::asked::Asked;
use super::chains::Chains;
use super::choices::Choices;
use super::define::Define;
use super::draws::Draws;
use super::facts::{Facts, Place};
use super::laws::{IntegerNoise, Laws, OnLaw, RealNoise, TreeNoise};
use super::noise::{OnNoise, on_noise};
use super::problem::{On, OnTable, OnTree, Problem};
use super::projection::Projection;
use super::table::free;
use super::tree::Tree;
use crate::error::Result;
use crate::exact::ExactLattice;
use crate::invariant::check_free;
use crate::kernel::Forgetting;
use crate::law::{DoubleGeometric, EuclideanLaplace};
use crate::rng::Stream;
use crate::sdc::Publishing;

/// A method of any type.
pub(super) trait Erased: Sync {
    fn facts(&self) -> &'static Facts;
    fn laws(&self, method: &Asked, place: Place, laws: Laws) -> Laws;
    fn takes(&self, method: &Asked) -> Result<()>;
    fn fits(&self, method: &Asked, place: On) -> Result<()>;
    fn projection(&self, method: &Asked) -> Option<Projection>;
    fn publishing(&self, method: &Asked) -> Result<Option<Publishing>>;
    fn prepare(&self, problem: &Problem) -> Result<Box<dyn Draws>>;
    fn chains(&self, problem: &Problem) -> Result<Box<dyn Chains>>;
    fn forgetting(&self, problem: &Problem, level: f64, rng: &mut Stream) -> Result<Option<Forgetting>>;
    fn choices<'a>(&self, problem: &Problem<'a>) -> Result<Choices<'a>>;
}

impl<D: Define> Erased for D {
    fn facts(&self) -> &'static Facts {
        Define::facts(self)
    }

    fn laws(&self, method: &Asked, place: Place, laws: Laws) -> Laws {
        Define::laws(self, method, place, laws)
    }

    fn takes(&self, method: &Asked) -> Result<()> {
        Define::takes(self, method)
    }

    fn fits(&self, method: &Asked, place: On) -> Result<()> {
        Define::fits(self, method, place)
    }

    fn projection(&self, method: &Asked) -> Option<Projection> {
        Define::projection(self, method)
    }

    fn publishing(&self, method: &Asked) -> Result<Option<Publishing>> {
        Define::publishing(self, method)
    }

    fn prepare(&self, problem: &Problem) -> Result<Box<dyn Draws>> {
        let method = problem.asked;
        let is_noise = problem.law.is_noise();
        match problem.place {
            _ if is_noise != method.facts().states_loss => Err(problem.no_law()),
            On::Tree(_) if is_noise && !problem.law.on_hierarchies() => Err(problem.no_law()),
            On::Tree(tree) => {
                problem.check_nodes()?;
                problem.law.on(ReleaseTree { define: self, problem, tree })
            }
            On::Table(table) => {
                if method.keeps_equations() {
                    check_free(table.invariant)?;
                }
                let equations_only =
                    method.own().is_none() && method.keeps_equations() && !method.keeps_inequalities();
                if equations_only && !table.region.is_everything() {
                    return Err(problem.unsupported("inequalities"));
                }
                problem.law.on(ReleaseTable { define: self, problem, table })
            }
        }
    }

    fn chains(&self, problem: &Problem) -> Result<Box<dyn Chains>> {
        problem.check_nodes()?;
        on_noise(problem, ChainsOf { define: self, problem })
    }

    fn forgetting(&self, problem: &Problem, level: f64, rng: &mut Stream) -> Result<Option<Forgetting>> {
        on_noise(problem, ForgettingOf { define: self, problem, level, rng })
    }

    fn choices<'a>(&self, problem: &Problem<'a>) -> Result<Choices<'a>> {
        problem.check_nodes()?;
        Define::choices(self, problem)
    }
}

struct ReleaseTree<'a, D> {
    define: &'a D,
    problem: &'a Problem<'a>,
    tree: OnTree<'a>,
}

impl<D: Define> ReleaseTree<'_, D> {
    fn with<L: TreeNoise>(self, law: fn(f64) -> Result<L>) -> Result<Box<dyn Draws>> {
        let laws = self.problem.calibration.laws(law).collect::<Result<Vec<_>>>()?;
        self.define.on_tree(self.problem, Tree::new(self.problem, self.tree, laws))
    }
}

impl<D: Define> OnLaw for ReleaseTree<'_, D> {
    type Output = Box<dyn Draws>;

    fn integers<L: IntegerNoise>(self, law: fn(f64) -> Result<L>) -> Result<Self::Output> {
        self.with(law)
    }

    fn reals<L: RealNoise>(self, law: fn(f64) -> Result<L>) -> Result<Self::Output> {
        self.with(law)
    }

    fn euclidean(self, _: fn(f64) -> Result<EuclideanLaplace>) -> Result<Self::Output> {
        Err(self.problem.no_law())
    }

    /// Of any law: nothing is drawn of it.
    fn nothing(self) -> Result<Self::Output> {
        self.with(DoubleGeometric::new)
    }
}

struct ReleaseTable<'a, D> {
    define: &'a D,
    problem: &'a Problem<'a>,
    table: OnTable<'a>,
}

impl<D: Define> ReleaseTable<'_, D> {
    fn scale(&self) -> f64 {
        self.problem.calibration.scales[0]
    }
}

impl<D: Define> OnLaw for ReleaseTable<'_, D> {
    type Output = Box<dyn Draws>;

    fn integers<L: IntegerNoise>(self, law: fn(f64) -> Result<L>) -> Result<Self::Output> {
        let law = law(self.scale())?;
        match self.problem.asked.conditions() {
            true => self.define.on_integers(self.problem, self.table, law),
            false => self.define.on_free(self.problem, self.table, free(&law), law.variance()),
        }
    }

    fn reals<L: RealNoise>(self, law: fn(f64) -> Result<L>) -> Result<Self::Output> {
        let law = law(self.scale())?;
        match self.problem.asked.conditions() {
            true => self.define.on_reals(self.problem, self.table, law),
            false => self.define.on_free(self.problem, self.table, free(&law), law.variance()),
        }
    }

    fn euclidean(self, law: fn(f64) -> Result<EuclideanLaplace>) -> Result<Self::Output> {
        // No product over entries: there is no free noise to draw.
        match self.problem.asked.conditions() {
            true => self.define.on_integers(self.problem, self.table, law(self.scale())?),
            false => Err(self.problem.no_law()),
        }
    }
}

struct ChainsOf<'a, D> {
    define: &'a D,
    problem: &'a Problem<'a>,
}

impl<D: Define> OnNoise for ChainsOf<'_, D> {
    type Output = Box<dyn Chains>;

    fn tree<L: TreeNoise>(self, tree: OnTree, laws: &[L]) -> Result<Self::Output> {
        self.define.chain_on_tree(self.problem, tree, laws, self.problem.floors(tree))
    }

    fn integers<L: ExactLattice>(self, table: OnTable, law: L) -> Result<Self::Output> {
        self.define.chain_on_integers(self.problem, table, law)
    }

    fn reals<L: RealNoise>(self, table: OnTable, law: L) -> Result<Self::Output> {
        self.define.chain_on_reals(self.problem, table, law)
    }
}

struct ForgettingOf<'a, D> {
    define: &'a D,
    problem: &'a Problem<'a>,
    level: f64,
    rng: &'a mut Stream,
}

impl<D: Define> OnNoise for ForgettingOf<'_, D> {
    type Output = Option<Forgetting>;

    fn tree<L: TreeNoise>(self, _: OnTree, _: &[L]) -> Result<Self::Output> {
        Err(self.problem.unsupported("the weights of its proposals"))
    }

    fn integers<L: ExactLattice>(self, table: OnTable, law: L) -> Result<Self::Output> {
        self.define.forgetting(self.problem, table, law, self.level, self.rng)
    }

    fn reals<L: RealNoise>(self, _: OnTable, _: L) -> Result<Self::Output> {
        Err(self.problem.unsupported("the weights of real proposals"))
    }
}
