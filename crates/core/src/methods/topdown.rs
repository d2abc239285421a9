//! `topdown`: imaging from the root down.

use super::asked::Asked;
use super::choices::Choices;
use super::define::Define;
use super::draws::Draws;
use super::facts::{FOUR, Facts, IMAGING, NO_NODES, on_trees};
use super::laws::TreeNoise;
use super::problem::Problem;
use super::projection::Projection;
use super::tree::Tree;
use crate::error::Result;
use crate::imaging::{TopDown as OfTree, TopDownScratch};
use crate::law::Value;
use crate::privacy::all_choices;

/// Integers >= 0, level by level.
pub(super) struct TopDown;

static FACTS: Facts = Facts {
    name: "topdown",
    on_trees: on_trees(
        "imaging: noise on every count, then from the root down the nearest integers >= 0 that add up (exact controlled rounding)",
        FOUR,
        FOUR,
        NO_NODES,
    ),
    rounds: true,
    nonnegative: true,
    is_listed: true,
    ..IMAGING
};

impl Define for TopDown {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn projection(&self, _: &Asked) -> Option<Projection> {
        Some(Projection::TopDown)
    }

    fn on_tree<L: TreeNoise>(&self, _: &Problem, tree: Tree<L>) -> Result<Box<dyn Draws>> {
        let topdown = OfTree::new(&tree.hierarchy, &tree.counts);
        Ok(tree.drawn(0.0, move |tree, range, out| {
            if tree.pieces.is_some() {
                return tree.in_pieces(range, out.crew, |pieces| {
                    let (noise, mut rng) = pieces.root_noise();
                    let root = topdown.root(L::Value::from_count(tree.counts[0]) + noise, &mut rng);
                    pieces.release_counts(
                        root,
                        out,
                        |piece, noise| pieces.noise(piece, noise, |z| z),
                        |piece, above, noisy, rng, scratch, counts| {
                            topdown.below(piece, above, noisy, rng, scratch, counts)
                        },
                    )
                });
            }
            let (mut noise, mut scratch) = (tree.zeros(), TopDownScratch::default());
            for replicate in range {
                let mut rng = tree.stream(replicate);
                tree.fill(&mut rng, &mut noise);
                let mut released = vec![0i64; noise.len()];
                topdown.release(&tree.released(&noise), &mut rng, &mut scratch, &mut released);
                tree.record_integers(replicate, &released, out)?;
            }
            Ok(())
        }))
    }

    fn choices<'a>(&self, problem: &Problem<'a>) -> Result<Choices<'a>> {
        let tree = problem.tree()?;
        let (topdown, counts) = (OfTree::new(tree.hierarchy, tree.counts), tree.counts);
        Ok(Box::new(move |noise, each| {
            let noisy: Vec<i64> = noise.iter().zip(&**counts).map(|(z, x)| z + x).collect();
            let mut scratch = TopDownScratch::default();
            let release = |words: &mut _| {
                let mut out = vec![0; noisy.len()];
                topdown.release(&noisy, words, &mut scratch, &mut out);
                out
            };
            all_choices(release, each);
            Ok(())
        }))
    }
}
