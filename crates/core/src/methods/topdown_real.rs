//! `topdown-real`: imaging from the root down, without a rounding.

use super::asked::Asked;
use super::choices::{Choices, projected};
use super::define::Define;
use super::draws::Draws;
use super::facts::{FOUR, Facts, IMAGING, NO_NODES, on_trees};
use super::laws::TreeNoise;
use super::problem::Problem;
use super::projection::Projection;
use super::tree::Tree;
use crate::error::Result;
use crate::imaging::{TopDownReal as OfTree, TopDownRealScratch};
use crate::law::Value;

/// Reals >= 0, level by level.
pub(super) struct TopDownReal;

static FACTS: Facts = Facts {
    name: "topdown-real",
    on_trees: on_trees("imaging as `topdown`, without its rounding: reals >= 0", FOUR, FOUR, NO_NODES),
    integers: false,
    nonnegative: true,
    is_listed: true,
    ..IMAGING
};

impl Define for TopDownReal {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn projection(&self, _: &Asked) -> Option<Projection> {
        Some(Projection::TopDownReal)
    }

    fn on_tree<L: TreeNoise>(&self, _: &Problem, tree: Tree<L>) -> Result<Box<dyn Draws>> {
        let topdown = OfTree::new(&tree.hierarchy, &tree.counts);
        Ok(tree.drawn(0.0, move |tree, range, out| {
            if tree.pieces.is_some() {
                return tree.in_pieces(range, out.crew, |pieces| {
                    let root = topdown.root(tree.counts[0] as f64 + pieces.root_noise().0.to_f64());
                    pieces.release_counts(
                        root,
                        out,
                        |piece, noise| pieces.noise(piece, noise, Value::to_f64),
                        |piece, above, noisy, _, scratch, counts| {
                            topdown.below(piece, above, noisy, scratch, counts)
                        },
                    )
                });
            }
            let (mut noise, mut scratch) = (tree.zeros(), TopDownRealScratch::default());
            for replicate in range {
                tree.fill(&mut tree.stream(replicate), &mut noise);
                let noisy: Vec<f64> = tree.released(&noise).iter().map(|y| y.to_f64()).collect();
                let mut errors = vec![0.0; noisy.len()];
                topdown.release(&noisy, &mut scratch, &mut errors);
                errors.iter_mut().zip(&*tree.counts).for_each(|(y, &x)| *y -= x as f64);
                // Sums that hold to the rounding of the fit hold to that of a sum.
                tree.hierarchy.sum_up_noise(&mut errors);
                let released: Vec<f64> =
                    errors.iter().zip(&*tree.counts).map(|(z, &x)| x as f64 + z).collect();
                tree.record(replicate, &errors, &released, out)?;
            }
            Ok(())
        }))
    }

    fn choices<'a>(&self, problem: &Problem<'a>) -> Result<Choices<'a>> {
        let tree = problem.tree()?;
        let (topdown, counts) = (OfTree::new(tree.hierarchy, tree.counts), tree.counts);
        Ok(projected(move |noise| {
            let noisy: Vec<f64> = noise.iter().zip(&**counts).map(|(z, &x)| z + x as f64).collect();
            topdown.release(&noisy, &mut TopDownRealScratch::default(), noise);
            Ok(())
        }))
    }
}
