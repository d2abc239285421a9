//! `exact`: conditioning, drawn at once.

use super::define::Define;
use super::draws::Draws;
use super::facts::{
    ALL, CONDITIONING, EXACT_WITHIN, FOUR, FOUR_INTEGERS, Facts, NO_NODES, on_tables, on_trees,
};
use super::known_options::NONNEGATIVE;
use super::laws::{RealNoise, TreeNoise};
use super::noise::{OnNoise, on_noise};
use super::problem::{OnTable, OnTree, Problem, WITHIN_NODES};
use super::table::drawn;
use super::tree::Tree;
use crate::error::{Error, Result};
use crate::exact::{
    ContinuousSampler, DownwardSampler, ExactLattice, LatticeExact, LatticeScratch, TreeSampler,
};
use crate::kernel::{LatticeGibbs, LineGibbs};
use crate::law::{Errors, Value};
use crate::rng::Stream;

/// Noise given the invariant, exactly.
pub(super) struct Exact;

static FACTS: Facts = Facts {
    name: "exact",
    options: &[&NONNEGATIVE],
    on_trees: on_trees(
        "conditioning: noise drawn exactly from its law, given that all sums hold; `nonnegative` with integer laws",
        FOUR,
        FOUR_INTEGERS,
        NO_NODES,
    ),
    on_tables: on_tables(
        "conditioning, no chain: closed form for totals and partitions, proposals of rows for margins, dynamic \
         programming for few equations (`l1`), nearest plane and rejection (Gaussian, `l2`); with inequalities by groups of equal \
         columns with few free dimensions, and by rows for margins with bounds of entries (not for `l2`); equations \
         that are one hierarchy, of any size, with lower bounds of its leaves or \
         without, as on trees (not for `l2`). Real laws: closed forms for totals and partitions, linear algebra \
         (`gaussian`); other equations, and inequalities, where a component has one or two free dimensions. A cell that does not \
         fit into memory fails and names the limit",
        ALL,
        EXACT_WITHIN,
    ),
    has_tails: true,
    is_listed: true,
    ..CONDITIONING
};

/// Why a problem is too large, and that a chain can take it if one can.
fn or_chain(why: Error, chain_serves: impl FnOnce() -> bool) -> Error {
    match why {
        Error::TooLarge { .. } if chain_serves() => {
            Error::Instead { why: Box::new(why), instead: "line-gibbs" }
        }
        why => why,
    }
}

/// Integer noise on a table.
pub(super) fn on_integers<L: ExactLattice>(
    problem: &Problem,
    table: OnTable,
    law: L,
) -> Result<Box<dyn Draws>> {
    let (invariant, region) = (table.invariant, Some(table.region));
    let exact = LatticeExact::new(invariant, region, law)
        .map_err(|why| or_chain(why, || LatticeGibbs::new(invariant, region, law).is_ok()))?;
    Ok(drawn(problem, table, exact.tv_error(), move |table, range, out| {
        let (mut scratch, mut noise) = (LatticeScratch::default(), table.zeros::<i64>());
        for replicate in range {
            exact.draw(&mut table.stream(replicate), &mut scratch, &mut noise);
            table.release(replicate, &noise, out)?;
        }
        Ok(())
    }))
}

impl Define for Exact {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn on_tree<L: TreeNoise>(&self, _: &Problem, tree: Tree<L>) -> Result<Box<dyn Draws>> {
        let (hierarchy, laws, counts) = (&tree.hierarchy, &tree.laws[..], tree.floors());
        let sampler = L::tree_sampler(hierarchy, laws, counts)
            .map_err(|why| or_chain(why, || LineGibbs::new(hierarchy, laws, counts).is_ok()))?;
        let tv_error = sampler.tv_error();
        Ok(tree.drawn(tv_error, move |tree, range, out| {
            if let (Some(_), Some(sampler)) = (&tree.pieces, sampler.downwards()) {
                return tree.in_pieces(range, out.crew, |pieces| {
                    let root = sampler.root_noise(&mut pieces.root_stream());
                    pieces.release(root, rounds(sampler), out, |piece, above, scratch, noise| {
                        sampler.below(piece, above, &mut piece.stream(pieces.key), scratch, noise);
                    })
                });
            }
            let (mut noise, mut scratch) = (tree.zeros(), Default::default());
            for replicate in range {
                sampler.draw(&mut tree.stream(replicate), &mut scratch, &mut noise);
                tree.record(replicate, &noise, &tree.released(&noise), out)?;
            }
            Ok(())
        }))
    }

    fn on_integers<L: ExactLattice>(
        &self,
        problem: &Problem,
        table: OnTable,
        law: L,
    ) -> Result<Box<dyn Draws>> {
        on_integers(problem, table, law)
    }

    fn on_reals<L: RealNoise>(&self, problem: &Problem, table: OnTable, law: L) -> Result<Box<dyn Draws>> {
        let exact = ContinuousSampler::new(law, table.invariant, Some(table.region))?;
        Ok(drawn(problem, table, 0.0, move |table, range, out| {
            let mut noise = table.zeros::<f64>();
            for replicate in range {
                exact.draw(&mut table.stream(replicate), &mut noise);
                table.release(replicate, &noise, out)?;
            }
            Ok(())
        }))
    }
}

/// Whether sums of what a sampler draws hold up to rounding alone.
fn rounds<S: DownwardSampler>(_: &S) -> bool {
    S::ROUNDS
}

/// Draws of noise given the invariant: each from its stream, handed on one by one.
pub type Conditioned = Box<dyn Fn(&mut dyn Iterator<Item = Stream>, &mut dyn FnMut(Errors)) + Send + Sync>;

impl Problem<'_> {
    /// The noise given the invariant, exactly, whatever the method; leaves at or above 0 where the method promises
    /// that. Errors: what the exact sampler does not serve.
    pub fn conditioned(&self) -> Result<Conditioned> {
        on_noise(self, Exactly(self))
    }
}

/// `draw`: of its stream and its scratch space so many values.
fn one_by_one<V: Value, S: Default>(
    values: usize,
    draw: impl Fn(&mut Stream, &mut S, &mut [V]) + Send + Sync + 'static,
) -> Conditioned {
    Box::new(move |streams, each| {
        let (mut noise, mut scratch) = (vec![V::default(); values], S::default());
        for mut rng in streams {
            draw(&mut rng, &mut scratch, &mut noise);
            each(V::errors(&noise));
        }
    })
}

struct Exactly<'a>(&'a Problem<'a>);

impl OnNoise for Exactly<'_> {
    type Output = Conditioned;

    fn tree<L: TreeNoise>(self, tree: OnTree, laws: &[L]) -> Result<Conditioned> {
        if !tree.region.is_everything() {
            return Err(self.0.unsupported(WITHIN_NODES));
        }
        let sampler = L::tree_sampler(tree.hierarchy, laws, self.0.floors(tree))?;
        let nodes = tree.hierarchy.nodes();
        Ok(one_by_one(nodes, move |rng, scratch, noise| sampler.draw(rng, scratch, noise)))
    }

    fn integers<L: ExactLattice>(self, table: OnTable, law: L) -> Result<Conditioned> {
        let exact = LatticeExact::new(table.invariant, Some(table.region), law)?;
        let entries = table.invariant.entries();
        Ok(one_by_one(entries, move |rng, scratch: &mut LatticeScratch, noise| {
            exact.draw(rng, scratch, noise)
        }))
    }

    fn reals<L: RealNoise>(self, table: OnTable, law: L) -> Result<Conditioned> {
        let exact = ContinuousSampler::new(law, table.invariant, Some(table.region))?;
        Ok(one_by_one(table.invariant.entries(), move |rng, (), noise| exact.draw(rng, noise)))
    }
}
