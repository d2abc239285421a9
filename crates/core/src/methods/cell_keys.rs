//! `cell-keys`: each count changed by a table of laws, by the keys of its records.

use super::asked::Asked;
use super::define::Define;
use super::draws::Draws;
use super::facts::{CUSTOMARY, Facts, How, NO_NODES, NOTHING, on_trees};
use super::known_options::option;
use super::laws::TreeNoise;
use super::options::{Kind, OptionFacts, Value};
use super::problem::Problem;
use super::tree::Tree;
use crate::error::{Error, Result};
use crate::rng::Rng;
use crate::sdc::{LARGEST_CHANGE, PerturbationTable, Publishing};

/// The cell key method.
pub(super) struct CellKeys;

/// The table of the tools for the European census of 2021.
static LARGEST: OptionFacts =
    option("d", "the largest change", Kind::Between { least: 1, most: LARGEST_CHANGE, default: 2 });
static VARIANCE: OptionFacts = option(
    "v",
    "the variance of every change",
    Kind::Number { above: 0.0, closed: false, most: 1e4, default: Some(1.08) },
);
static UNPUBLISHED: OptionFacts = option(
    "js",
    "counts from 1 to it are not published",
    Kind::Between { least: 0, most: LARGEST_CHANGE, default: 1 },
);
static STAY: OptionFacts = option(
    "pstay",
    "the probability of no change at least",
    Kind::Number { above: 0.0, closed: true, most: 0.99, default: Some(0.0) },
);

static FACTS: Facts = Facts {
    name: "cell-keys",
    how: How::Free,
    options: &[&LARGEST, &VARIANCE, &UNPUBLISHED, &STAY],
    on_trees: on_trees(
        "each count changed by a table of laws, by the keys of its records; the sums do not hold, and nothing is stated of what it pays",
        NOTHING,
        NOTHING,
        NO_NODES,
    ),
    ..CUSTOMARY
};

impl CellKeys {
    fn table(asked: &Asked) -> Result<PerturbationTable> {
        let number = |option: &'static OptionFacts| match asked.value(option.key).or_else(|| option.default())
        {
            Some(Value::Number(x)) => x,
            Some(Value::Count(n)) => n as f64,
            _ => f64::NAN,
        };
        PerturbationTable::new(
            number(&LARGEST) as u64,
            number(&VARIANCE),
            number(&UNPUBLISHED) as u64,
            number(&STAY),
        )
    }
}

impl Define for CellKeys {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn takes(&self, asked: &Asked) -> Result<()> {
        Self::table(asked).map(drop)
    }

    fn publishing(&self, asked: &Asked) -> Result<Option<Publishing>> {
        Ok(Some(Publishing::CellKeys(Self::table(asked)?)))
    }

    /// The key of a leaf with records is drawn: that of a sum of uniform ones. Those of other nodes are sums of them.
    fn on_tree<L: TreeNoise>(&self, problem: &Problem, tree: Tree<L>) -> Result<Box<dyn Draws>> {
        let table = Self::table(&problem.asked)?;
        if let Some(count) = tree.counts.iter().find(|count| **count < 0) {
            return Err(Error::parameter("count", count, "counts >= 0"));
        }
        Ok(tree.drawn(0.0, move |tree, mut range, out| {
            let hierarchy = &tree.hierarchy;
            let mut keys = vec![0u64; hierarchy.nodes()];
            let mut released = vec![0i64; hierarchy.nodes()];
            range.try_for_each(|replicate| {
                let mut rng = tree.stream(replicate);
                for v in (0..hierarchy.nodes()).rev() {
                    keys[v] = match hierarchy.is_leaf(v) {
                        true if tree.counts[v] > 0 => rng.next_u64(),
                        true => 0,
                        false => hierarchy.children(v).fold(0, |sum, child| sum.wrapping_add(keys[child])),
                    };
                    released[v] = match hierarchy.is_known(v) {
                        true => tree.counts[v],
                        false => table.publish(tree.counts[v] as u64, keys[v]),
                    };
                }
                tree.record_integers(replicate, &released, out)
            })
        }))
    }
}
