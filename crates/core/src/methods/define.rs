//! What a method says of itself, and how it comes to its releases: one file each.

use super::asked::Asked;
use super::chains::Chains;
use super::choices::Choices;
use super::draws::Draws;
use super::facts::{Facts, Place};
use super::laws::{Laws, RealNoise, TreeNoise};
use super::problem::{On, OnTable, OnTree, Problem};
use super::projection::Projection;
use super::table::Free;
use super::tree::Tree;
use crate::error::Result;
use crate::exact::ExactLattice;
use crate::kernel::Forgetting;
use crate::rng::Stream;
use crate::sdc::Publishing;

/// A method. What it does not serve it does not define: then it is refused.
pub trait Define: Sync + 'static {
    /// What is known of the method.
    fn facts(&self) -> &'static Facts;

    /// The laws that it serves with its options, of those that it serves somewhere.
    fn laws(&self, _: &Asked, _: Place, laws: Laws) -> Laws {
        laws
    }

    /// Errors: options that do not go together.
    fn takes(&self, _: &Asked) -> Result<()> {
        Ok(())
    }

    /// Errors: counts, or what ties them, that the method with its options does not serve.
    fn fits(&self, _: &Asked, _: On) -> Result<()> {
        Ok(())
    }

    /// What a count that the method publishes says of the true one, if it draws no noise; `None`: it does, or nothing is known. Errors:
    /// options that do not go together.
    fn publishing(&self, _: &Asked) -> Result<Option<Publishing>> {
        Ok(None)
    }

    /// What the method does with free noise, as closed forms and oracles know it; `None`: nothing of what they know.
    fn projection(&self, _: &Asked) -> Option<Projection> {
        None
    }

    /// Prepares releases on a tree, with noise of the laws that `tree` has.
    fn on_tree<L: TreeNoise>(&self, problem: &Problem, _: Tree<L>) -> Result<Box<dyn Draws>> {
        Err(problem.unsupported("a hierarchy"))
    }

    /// Prepares conditioning of integer noise on a table.
    fn on_integers<L: ExactLattice>(&self, problem: &Problem, _: OnTable, _: L) -> Result<Box<dyn Draws>> {
        Err(problem.unsupported("a table"))
    }

    /// Prepares conditioning of real noise on a table.
    fn on_reals<L: RealNoise>(&self, problem: &Problem, _: OnTable, _: L) -> Result<Box<dyn Draws>> {
        Err(problem.unsupported("real noise"))
    }

    /// Prepares what the method makes of free noise on a table, given with its variance.
    fn on_free(&self, problem: &Problem, _: OnTable, _: Free, _: f64) -> Result<Box<dyn Draws>> {
        Err(problem.unsupported("free noise"))
    }

    /// The method's chain on a tree, alone and in pairs. `counts`: where no leaf may be negative.
    fn chain_on_tree<L: TreeNoise>(
        &self,
        problem: &Problem,
        _: OnTree,
        _: &[L],
        _: Option<&[i64]>,
    ) -> Result<Box<dyn Chains>> {
        Err(problem.unsupported("a study of meetings"))
    }

    /// The method's chain of integer noise on a table, alone and in pairs.
    fn chain_on_integers<L: ExactLattice>(
        &self,
        problem: &Problem,
        _: OnTable,
        _: L,
    ) -> Result<Box<dyn Chains>> {
        Err(problem.unsupported("a study of meetings"))
    }

    /// The method's chain of real noise on a table, alone and in pairs.
    fn chain_on_reals<L: RealNoise>(&self, problem: &Problem, _: OnTable, _: L) -> Result<Box<dyn Chains>> {
        Err(problem.unsupported("a study of meetings of real noise"))
    }

    /// What bounds the distance of the method's chain on a table to its law, whatever its pairs show, if
    /// [`Facts::forgets`] says so; `None`: nothing. See [`crate::kernel::MetropolizedIndependence::forgetting`].
    fn forgetting<L: ExactLattice>(
        &self,
        _: &Problem,
        _: OnTable,
        _: L,
        _: f64,
        _: &mut Stream,
    ) -> Result<Option<Forgetting>> {
        Ok(None)
    }

    /// All that the method can release, for every noise of double geometric law.
    fn choices<'a>(&self, problem: &Problem<'a>) -> Result<Choices<'a>> {
        Err(problem.unsupported("a study of privacy"))
    }
}
