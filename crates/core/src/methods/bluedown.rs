//! `bluedown`: imaging by estimates from subtrees, then from the root down.

use super::asked::Asked;
use super::choices::{Choices, variances};
use super::define::Define;
use super::draws::Draws;
use super::facts::{FOUR, Facts, IMAGING, NO_NODES, on_trees};
use super::laws::TreeNoise;
use super::problem::Problem;
use super::projection::Projection;
use super::tree::Tree;
use crate::error::Result;
use crate::imaging::{BlueDown as OfTree, BlueDownScratch};
use crate::privacy::all_orders;

/// Integers >= 0, from the best linear unbiased estimate of every node.
pub(super) struct BlueDown;

static FACTS: Facts = Facts {
    name: "bluedown",
    on_trees: on_trees(
        "imaging as `topdown`, from the best linear unbiased estimate of every node by its subtree",
        FOUR,
        FOUR,
        NO_NODES,
    ),
    rounds: true,
    nonnegative: true,
    is_listed: true,
    ..IMAGING
};

impl Define for BlueDown {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn projection(&self, _: &Asked) -> Option<Projection> {
        Some(Projection::BlueDown)
    }

    fn on_tree<L: TreeNoise>(&self, _: &Problem, tree: Tree<L>) -> Result<Box<dyn Draws>> {
        let bluedown = OfTree::new(&tree.hierarchy, &tree.variances(), &tree.counts)?;
        Ok(tree.drawn(0.0, move |tree, range, out| {
            if tree.pieces.is_some() {
                return tree.in_pieces(range, out.crew, |pieces| {
                    let estimates = pieces.estimates(bluedown.estimates());
                    let (_, mut rng) = pieces.root_noise();
                    let root = bluedown.root(tree.counts[0], estimates[0], &mut rng);
                    pieces.release_counts(
                        root,
                        out,
                        |piece, noise| pieces.estimates_of(piece, &estimates, noise),
                        |piece, above, noisy, rng, scratch, counts| {
                            bluedown.below(piece, above, noisy, rng, scratch, counts)
                        },
                    )
                });
            }
            let (mut noise, mut scratch) = (tree.zeros(), BlueDownScratch::default());
            let mut released = vec![0i64; noise.len()];
            for replicate in range {
                let mut rng = tree.stream(replicate);
                tree.fill(&mut rng, &mut noise);
                bluedown.release(&tree.counts, &noise, &mut rng, &mut scratch, &mut released);
                tree.record_integers(replicate, &released, out)?;
            }
            Ok(())
        }))
    }

    fn choices<'a>(&self, problem: &Problem<'a>) -> Result<Choices<'a>> {
        let tree = problem.tree()?;
        let counts = tree.counts;
        let bluedown = OfTree::new(tree.hierarchy, &variances(problem.calibration)?, counts)?;
        let keys = (1..counts.len()).filter(|&node| !tree.hierarchy.is_known(node)).count() as u64;
        Ok(Box::new(move |noise, each| {
            let mut scratch = BlueDownScratch::default();
            let release = |words: &mut _| {
                let mut out = vec![0; noise.len()];
                bluedown.release(counts, noise, words, &mut scratch, &mut out);
                out
            };
            // Ties are broken by keys, one for each child that is not known; a half at the root by a bit before them.
            all_orders(bluedown.is_tied(noise), keys, release, each);
            Ok(())
        }))
    }
}
