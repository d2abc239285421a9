//! `small-count-rounding`: small counts become 0 or a base, so that all sums change little.

use super::asked::Asked;
use super::define::Define;
use super::draws::Draws;
use super::facts::{CUSTOMARY, Facts, How, NO_NODES, NOTHING, on_trees};
use super::known_options::option;
use super::laws::TreeNoise;
use super::options::{Kind, OptionFacts, OptionValue};
use super::problem::{On, Problem};
use super::tree::Tree;
use crate::error::Result;
use crate::sdc::{LARGEST_BASE, Publishing, check_rounded, round_small_counts};

/// Small count rounding.
pub(super) struct SmallCounts;

static BASE: OptionFacts = option(
    "base",
    "counts of leaves from 1 to base - 1 become 0 or base",
    Kind::Between { least: 2, most: LARGEST_BASE, default: 3 },
);

static FACTS: Facts = Facts {
    name: "small-count-rounding",
    how: How::Imaging,
    options: &[&BASE],
    on_trees: on_trees(
        "small leaves become 0 or `base`, which changes all nodes least; the sums hold, and nothing is stated of what it pays",
        NOTHING,
        NOTHING,
        NO_NODES,
    ),
    ..CUSTOMARY
};

impl SmallCounts {
    fn base(asked: &Asked) -> u64 {
        let base = asked.value(BASE.key).or_else(|| BASE.default());
        Option::<u64>::read(base).unwrap_or(0)
    }
}

impl Define for SmallCounts {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn fits(&self, _: &Asked, place: On) -> Result<()> {
        match place {
            On::Tree(tree) => check_rounded(tree.hierarchy, tree.counts),
            On::Table(_) => Ok(()),
        }
    }

    fn publishing(&self, asked: &Asked) -> Result<Option<Publishing>> {
        Publishing::rounding(Self::base(asked)).map(Some)
    }

    fn on_tree<L: TreeNoise>(&self, problem: &Problem, tree: Tree<L>) -> Result<Box<dyn Draws>> {
        let base = Self::base(&problem.asked);
        check_rounded(&tree.hierarchy, &tree.counts)?;
        Ok(tree.drawn(0.0, move |tree, mut range, out| {
            range.try_for_each(|replicate| {
                let mut rng = tree.stream(replicate);
                let released = round_small_counts(&tree.hierarchy, &tree.counts, base, &mut rng)?;
                tree.record_integers(replicate, &released, out)
            })
        }))
    }
}
