//! What is done with integer noise, on a tree or on a table; real noise is refused.

use super::laws::{IntegerNoise, OnLaw, RealNoise};
use super::problem::{On, OnTable, OnTree, Problem};
use crate::error::Result;
use crate::exact::ExactLattice;
use crate::law::EuclideanLaplace;

/// What is done with integer noise once its law and its place are known.
pub(super) trait OnIntegers: Sized {
    /// The result.
    type Output;
    /// Does it on a tree, with a law for each level.
    fn tree<L: IntegerNoise>(self, tree: OnTree, laws: &[L]) -> Result<Self::Output>;
    /// Does it on a table.
    fn table<L: ExactLattice>(self, table: OnTable, law: L) -> Result<Self::Output>;
}

/// Does it with the noise of a problem. Errors: real noise; noise on a tree that is no product; those of what is done.
pub(super) fn integers<T: OnIntegers>(problem: &Problem, task: T) -> Result<T::Output> {
    problem.law.on(At { problem, task })
}

struct At<'a, T> {
    problem: &'a Problem<'a>,
    task: T,
}

impl<T: OnIntegers> OnLaw for At<'_, T> {
    type Output = T::Output;

    fn integers<L: IntegerNoise>(self, law: fn(f64) -> Result<L>) -> Result<T::Output> {
        let calibration = self.problem.calibration;
        match self.problem.place {
            On::Tree(tree) => self.task.tree(tree, &calibration.laws(law).collect::<Result<Vec<L>>>()?),
            On::Table(table) => self.task.table(table, law(calibration.scales[0])?),
        }
    }

    fn reals<L: RealNoise>(self, _: fn(f64) -> Result<L>) -> Result<T::Output> {
        Err(self.problem.no_law())
    }

    fn euclidean(self, law: fn(f64) -> Result<EuclideanLaplace>) -> Result<T::Output> {
        match self.problem.place {
            On::Tree(_) => Err(self.problem.no_law()),
            On::Table(table) => self.task.table(table, law(self.problem.calibration.scales[0])?),
        }
    }
}
