//! `l2`: imaging by least squares.

use super::asked::Asked;
use super::choices::{Choices, projected, variances};
use super::define::Define;
use super::draws::Draws;
use super::facts::{FOUR, Facts, IMAGING, NO_NODES, NONE, PRODUCTS, on_tables, on_trees};
use super::laws::TreeNoise;
use super::problem::{On, OnTable, Problem};
use super::projection::Projection;
use super::table::{Free, moved, widest};
use super::tree::Tree;
use crate::error::Result;
use crate::imaging::{L2 as OfTree, LatticeL2};
use crate::law::Value;

/// The closest reals in least squares, weighted by variance on trees.
pub(super) struct L2;

static FACTS: Facts = Facts {
    name: "l2",
    on_trees: on_trees(
        "imaging: noise on every count, then the nearest real numbers that add up (weighted least squares)",
        FOUR,
        FOUR,
        NO_NODES,
    ),
    on_tables: on_tables("imaging, least squares, real-valued; equations only", PRODUCTS, NONE),
    integers: false,
    is_listed: true,
    ..IMAGING
};

impl Define for L2 {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn projection(&self, _: &Asked) -> Option<Projection> {
        Some(Projection::L2)
    }

    fn on_tree<L: TreeNoise>(&self, _: &Problem, tree: Tree<L>) -> Result<Box<dyn Draws>> {
        let l2 = OfTree::new(&tree.hierarchy, &tree.variances())?;
        Ok(tree.drawn(0.0, move |tree, range, out| {
            if tree.pieces.is_some() {
                return tree.in_pieces(range, out.crew, |pieces| {
                    let estimates = pieces.estimates(&l2);
                    pieces.release(estimates[0], true, out, |piece, above, (): &mut (), noise| {
                        pieces.estimates_of(piece, &estimates, noise);
                        l2.spread(piece, above, noise);
                    })
                });
            }
            let mut noise = tree.zeros();
            for replicate in range {
                tree.fill(&mut tree.stream(replicate), &mut noise);
                let mut real: Vec<f64> = noise.iter().map(|z| z.to_f64()).collect();
                l2.project(&mut real);
                let released: Vec<f64> = real.iter().zip(&*tree.counts).map(|(z, &x)| x as f64 + z).collect();
                tree.record(replicate, &real, &released, out)?;
            }
            Ok(())
        }))
    }

    fn on_free(&self, problem: &Problem, table: OnTable, free: Free, _: f64) -> Result<Box<dyn Draws>> {
        let l2 = LatticeL2::new(table.invariant)?;
        Ok(moved(problem, table, free, move |_, _, _, noise| {
            let widest = widest(noise);
            l2.project(noise);
            l2.check(noise, widest).map(|()| true)
        }))
    }

    fn choices<'a>(&self, problem: &Problem<'a>) -> Result<Choices<'a>> {
        match problem.place {
            On::Tree(tree) => {
                let l2 = OfTree::new(tree.hierarchy, &variances(problem.calibration)?)?;
                Ok(projected(move |noise| {
                    l2.project(noise);
                    Ok(())
                }))
            }
            On::Table(table) => {
                let l2 = LatticeL2::new(table.invariant)?;
                Ok(projected(move |noise| {
                    l2.project(noise);
                    Ok(())
                }))
            }
        }
    }
}
