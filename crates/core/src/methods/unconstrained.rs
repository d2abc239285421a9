//! `unconstrained`: free noise.

use super::asked::Asked;
use super::define::Define;
use super::draws::Draws;
use super::facts::{CONDITIONING, FOUR, Facts, How, PRODUCTS, on_tables, on_trees};
use super::laws::TreeNoise;
use super::problem::{OnTable, Problem};
use super::projection::Projection;
use super::table::{Free, moved};
use super::tree::Tree;
use crate::error::Result;
use crate::law::Sampler;

/// Independent noise on all counts that are not known.
pub(super) struct Unconstrained;

static FACTS: Facts = Facts {
    name: "unconstrained",
    how: How::Free,
    on_trees: on_trees("independent noise on every count; the sums do not hold", FOUR, FOUR, FOUR),
    on_tables: on_tables("independent noise; violates the invariant", PRODUCTS, PRODUCTS),
    ..CONDITIONING
};

impl Define for Unconstrained {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn projection(&self, _: &Asked) -> Option<Projection> {
        Some(Projection::None)
    }

    fn on_tree<L: TreeNoise>(&self, _: &Problem, tree: Tree<L>) -> Result<Box<dyn Draws>> {
        Ok(tree.drawn(0.0, |tree, range, out| {
            if tree.pieces.is_some() {
                return tree.in_pieces(range, out.crew, |pieces| {
                    let root = tree.samplers[0].draw(&mut pieces.root_stream());
                    pieces.release(root, false, out, |piece, _, (): &mut (), noise| {
                        pieces.noise(piece, noise, |z| z);
                    })
                });
            }
            let mut noise = tree.zeros();
            for replicate in range {
                tree.fill(&mut tree.stream(replicate), &mut noise);
                tree.record(replicate, &noise, &tree.released(&noise), out)?;
            }
            Ok(())
        }))
    }

    fn on_free(&self, problem: &Problem, table: OnTable, free: Free, _: f64) -> Result<Box<dyn Draws>> {
        let known = table.known.to_vec();
        Ok(moved(problem, table, free, move |table, _, _, noise| {
            known.iter().for_each(|&entry| noise[entry as usize] = 0.0);
            let integers: Vec<i64> = noise.iter().map(|&z| z as i64).collect();
            let whole = noise.iter().zip(&integers).all(|(&real, &z)| real == z as f64);
            Ok(whole && table.invariant.holds(&integers) && table.region.contains(&integers))
        }))
    }
}
