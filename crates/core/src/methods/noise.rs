//! What is done with noise once its law and its place are known.

use super::laws::{IntegerNoise, OnLaw, RealNoise, TreeNoise};
use super::problem::{On, OnTable, OnTree, Problem};
use crate::error::Result;
use crate::exact::ExactLattice;
use crate::law::EuclideanLaplace;

/// What is done with the noise of a problem.
pub(super) trait OnNoise: Sized {
    /// The result.
    type Output;
    /// Does it on a tree, with a law for each level.
    fn tree<L: TreeNoise>(self, tree: OnTree, laws: &[L]) -> Result<Self::Output>;
    /// Does it with integer noise on a table.
    fn integers<L: ExactLattice>(self, table: OnTable, law: L) -> Result<Self::Output>;
    /// Does it with real noise on a table.
    fn reals<L: RealNoise>(self, table: OnTable, law: L) -> Result<Self::Output>;
}

/// Does it with the noise of a problem. Errors: noise on a tree that is no product; those of what is done.
pub(super) fn on_noise<T: OnNoise>(problem: &Problem, task: T) -> Result<T::Output> {
    problem.law.on(At { problem, task })
}

struct At<'a, T> {
    problem: &'a Problem<'a>,
    task: T,
}

impl<T: OnNoise> OnLaw for At<'_, T> {
    type Output = T::Output;

    fn integers<L: IntegerNoise>(self, law: fn(f64) -> Result<L>) -> Result<T::Output> {
        let calibration = self.problem.calibration;
        match self.problem.place {
            On::Tree(tree) => self.task.tree(tree, &calibration.laws(law).collect::<Result<Vec<L>>>()?),
            On::Table(table) => self.task.integers(table, law(calibration.scales[0])?),
        }
    }

    fn reals<L: RealNoise>(self, law: fn(f64) -> Result<L>) -> Result<T::Output> {
        let calibration = self.problem.calibration;
        match self.problem.place {
            On::Tree(tree) => self.task.tree(tree, &calibration.laws(law).collect::<Result<Vec<L>>>()?),
            On::Table(table) => self.task.reals(table, law(calibration.scales[0])?),
        }
    }

    fn euclidean(self, law: fn(f64) -> Result<EuclideanLaplace>) -> Result<T::Output> {
        match self.problem.place {
            On::Tree(_) => Err(self.problem.no_law()),
            On::Table(table) => self.task.integers(table, law(self.problem.calibration.scales[0])?),
        }
    }
}
