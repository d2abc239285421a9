//! What a method is asked to serve.

use super::asked::Asked;
use super::laws::LawKind;
use super::unsupported;
use crate::error::{Error, Result};
use crate::invariant::{Hierarchy, Inequalities, Linear, Region};
use crate::privacy::Calibration;
use crate::rng::{Role, Stream, TaskKey, stream};
use std::sync::Arc;

/// What methods are asked to keep that do not know inequalities of a tree.
pub(super) const WITHIN_NODES: &str = "inequalities between nodes of a hierarchy";

/// A method with its options, the noise, the confidential counts with what ties them, and the streams of the draws.
#[derive(Debug, Clone, Copy)]
pub struct Problem<'a> {
    /// The method, as far as it is data.
    pub asked: Asked,
    /// The noise law.
    pub law: LawKind,
    /// The budget as given.
    pub epsilon: f64,
    /// The noise of each level.
    pub calibration: &'a Calibration,
    /// The counts.
    pub place: On<'a>,
    /// The streams of the draws.
    pub streams: Streams,
}

/// The counts, with what ties them.
#[derive(Debug, Clone, Copy)]
pub enum On<'a> {
    /// The nodes of a hierarchy.
    Tree(OnTree<'a>),
    /// The entries of a table.
    Table(OnTable<'a>),
}

/// The nodes of a hierarchy with their counts.
#[derive(Debug, Clone, Copy)]
pub struct OnTree<'a> {
    /// The tree.
    pub hierarchy: &'a Hierarchy,
    /// The confidential counts, by node.
    pub counts: &'a Arc<[i64]>,
    /// The inequalities on the noise of the nodes, but for those of a method whose releases are >= 0.
    pub region: &'a Region,
    /// Children of a piece at most, in which a release of a large tree is drawn; `None`: as many as serve.
    pub piece: Option<usize>,
}

/// The entries of a table with their counts.
#[derive(Debug, Clone, Copy)]
pub struct OnTable<'a> {
    /// The equations.
    pub invariant: &'a Linear,
    /// The inequalities on the counts.
    pub inequalities: &'a Inequalities,
    /// The inequalities on the noise.
    pub region: &'a Region,
    /// The confidential counts, by entry.
    pub counts: &'a [i64],
    /// Entries that are known, ascending.
    pub known: &'a [u32],
}

/// The streams of a problem's draws.
#[derive(Debug, Clone, Copy)]
pub struct Streams {
    /// The key of the replicates' streams, each with its own number in it.
    pub key: TaskKey,
    /// The cell of the streams of the noise: a method of one's own shares it with free noise.
    pub noise: u64,
    /// States that are recorded of each chain on a table; 0: its end alone.
    pub records: u64,
}

impl Streams {
    pub(super) fn key_of(&self, replicate: u64) -> TaskKey {
        TaskKey { replicate, ..self.key }
    }

    pub(super) fn stream(&self, replicate: u64, role: Role) -> Stream {
        stream(TaskKey { replicate, role, ..self.key })
    }
}

impl<'a> Problem<'a> {
    /// The error that the method does not serve something.
    pub(super) fn unsupported(&self, what: &str) -> Error {
        unsupported(self.asked.name(), what)
    }

    /// Errors: inequalities between nodes of a tree that the method does not know.
    pub(super) fn check_nodes(&self) -> Result<()> {
        match (self.place, self.asked.facts().on_trees) {
            (On::Tree(tree), Some(on))
                if !tree.region.is_everything() && !(on.inequalities.has)(self.law) =>
            {
                Err(self.unsupported(WITHIN_NODES))
            }
            _ => Ok(()),
        }
    }

    /// The error that the method does not serve the law.
    pub(super) fn no_law(&self) -> Error {
        self.unsupported(self.law.name())
    }

    /// The counts of a tree. Errors: it is a table.
    pub(super) fn tree(&self) -> Result<OnTree<'a>> {
        match self.place {
            On::Tree(tree) => Ok(tree),
            On::Table(_) => Err(self.unsupported("a table")),
        }
    }

    /// The counts of a table. Errors: it is a tree.
    pub(super) fn table(&self) -> Result<OnTable<'a>> {
        match self.place {
            On::Table(table) => Ok(table),
            On::Tree(_) => Err(self.unsupported("a hierarchy")),
        }
    }

    /// The confidential counts of a tree, if the method promises that no leaf is released below 0.
    pub(super) fn floors(&self, tree: OnTree<'a>) -> Option<&'a [i64]> {
        self.asked.nonnegative().then_some(&tree.counts[..])
    }
}
