//! Integer noise on all nodes of a hierarchy, conditioned on its sums: drawn exactly.

use super::defect::Cut;
use super::foreseen::Sizes;
use super::parts::{Arena, Builder, FreeTerms, How, Nodes, PartId, Parts, PartsScratch};
use super::table::TRUNCATION;
use super::{DownwardSampler, Table};
use crate::error::{Error, Result};
use crate::invariant::{Hierarchy, NO_LOWER, NO_UPPER, Piece};
use crate::law::IntegerLaw;
use crate::rng::Rng;

/// Exact sampler of `q(z) ∝ Π_v w_v(z_v)` over all integer vectors in which every parent is the sum of
/// its children and no known node has noise, optionally with every released count `x_v + z_v >= 0`.
///
/// Upwards, the law of a node's noise given its subtree is a table, `m_v = w_v · (⊛ m_c over its
/// children c)`, for a known node the one value 0; downwards, the root is drawn from `m_root` and every value is split over the children
/// by a binary tree of partial convolutions. Double geometric leaves that nothing truncates are drawn
/// together by [`super::GeometricSum`]. Subtrees of equal shape share their tables.
///
/// Tables are cut where both tails together hold 1e-18 of the mass. Without bounds `m_v` and the weight of everything
/// outside the subtree are symmetric and unimodal, so that the cut mass is at most as large under the conditioned law. With
/// non-negativity the laws are skewed: leaves with small counts push sums up and the weights above pull them down, to where
/// little of a table's own mass lies. Then tables are centred by exponential tilts on where the noise lies, and what every
/// table lacks is bounded value by value: [`IntegerTree::tv_error`] is an upper bound on the total variation distance of a
/// draw to `q` in either case (beside rounding, near 1e-15 a node), and a sampler whose bound is above 1e-9 is refused.
///
/// A draw costs O(nodes + Σ |z|) for the double geometric law and O(nodes · sigma) otherwise.
///
/// # Examples
///
/// ```
/// use congenial_core::exact::{IntegerTree, PartsScratch};
/// use congenial_core::invariant::Hierarchy;
/// use congenial_core::law::DoubleGeometric;
/// use congenial_core::rng::{Role, TaskKey, stream};
///
/// // A state, two counties, and two towns in each.
/// let tree = Hierarchy::from_parents(&[0, 0, 0, 1, 1, 2, 2])?;
/// let counts = [30, 12, 18, 12, 0, 11, 7];
/// let law = DoubleGeometric::new(1.0)?;
/// let sampler = IntegerTree::new(&tree, &[law; 3], Some(&counts))?;
///
/// let mut rng = stream(TaskKey { seed: 1, cell: 0, replicate: 0, role: Role::Noise });
/// let mut noise = [0; 7];
/// sampler.draw(&mut rng, &mut PartsScratch::default(), &mut noise);
/// tree.check(&noise)?; // every sum holds
/// assert!(counts.iter().zip(&noise).all(|(x, z)| x + z >= 0));
/// assert!(sampler.tv_error() < 1e-12);
/// # Ok::<(), congenial_core::Error>(())
/// ```
#[derive(Debug)]
pub struct IntegerTree {
    parts: Parts,
    hierarchy: Hierarchy,
    /// By node up to the last that has children: the part over those that are not known, or `None` where there are none.
    plan: Vec<Option<PartId>>,
    /// Position in a node's part -> node; known children come last.
    order: Vec<u32>,
    /// The root's part; `None` if its count is known.
    root: Option<PartId>,
    tv_error: f64,
}

/// What the upward pass knows by node and draws do not need.
pub(super) struct Pass {
    /// By node: its part as a term of its parent's sum.
    pub(super) unit: Vec<PartId>,
    /// By node: the tilt of its children's tables; `None`: all tilts are 0.
    pub(super) tilts: Option<Vec<f64>>,
}

/// Columns of all alias tables (8 bytes each).
const MAX_ALIASES: usize = 1 << 18;

/// Total variation distance beyond which a sampler is refused.
const MAX_TV_ERROR: f64 = 1e-9;

/// What the upward pass knows of a tree's parts.
struct Walked {
    unit: Vec<PartId>,
    plan: Vec<Option<PartId>>,
    order: Vec<u32>,
    /// Sums that are known to be 0.
    known: Vec<PartId>,
}

/// Makes the parts of all nodes, from the leaves upwards. `tilts`: by node, of its children's tables.
fn walk<L: IntegerLaw, A: Arena>(
    hierarchy: &Hierarchy,
    laws: &[L],
    counts: Option<&[i64]>,
    tilts: Option<&[f64]>,
    build: &mut Builder<'_, L, A>,
) -> Result<Walked> {
    let n = hierarchy.nodes();
    let tilt = |v: usize| tilts.map_or(0.0, |tilts| tilts[v]);
    let mut unit = vec![0; n];
    let mut plan = vec![None; hierarchy.inner_end()];
    let mut order: Vec<u32> = (0..n as u32).collect();
    let mut known = Vec::new();
    // Most leaves are as the one before.
    let mut before = None;
    for v in (0..n).rev() {
        let level = hierarchy.level(v);
        let outside = if v == 0 { 0.0 } else { tilt(hierarchy.parent(v)) };
        let is_known = hierarchy.is_known(v);
        let own = &mut order[hierarchy.children(v)];
        if hierarchy.has_known() {
            own.sort_by_key(|&child| hierarchy.is_known(child as usize));
        }
        let open = own.iter().take_while(|&&child| !hierarchy.is_known(child as usize)).count();
        if open == 0 {
            if !is_known {
                let leaf = (level, counts.map_or(NO_LOWER, |counts| -counts[v]), outside.to_bits());
                let part = match before {
                    Some((same, part)) if same == leaf => part,
                    _ => build.leaf(level, leaf.1, NO_UPPER, outside)?,
                };
                (unit[v], before) = (part, Some((leaf, part)));
            }
            continue;
        }
        // What is weighted with this level's law lies within its reach; a tilt would move it.
        let reach = match is_known {
            true => Some(0),
            false => tilts.is_none().then(|| super::table::reach(&laws[level]) as u64),
        };
        let terms = FreeTerms { level: level + 1, reach, tilt: tilt(v), depths: counts };
        let inner = build.sum(terms, &mut own[..open], &unit)?;
        plan[v] = Some(inner);
        if is_known {
            known.push(inner);
        } else {
            unit[v] = build.node(level, inner, outside - tilt(v))?;
        }
    }
    Ok(Walked { unit, plan, order, known })
}

/// Nodes times squares of reaches from which on it is worth while to foresee what tables take.
const LONG: f64 = 1e10;

/// Multiplications that the tables will take, of a large tree. Errors: they are too large, or too many.
fn foreseen<L: IntegerLaw>(
    hierarchy: &Hierarchy,
    laws: &[L],
    counts: &[i64],
    tilts: Option<&[f64]>,
    cut: Cut,
) -> Result<Option<f64>> {
    let widest = laws.iter().map(|law| super::table::reach(law) as f64).fold(0.0, f64::max);
    if hierarchy.nodes() as f64 * widest * widest < LONG {
        return Ok(None);
    }
    let mut build = Builder::on(laws, How { cut, certified: true }, Sizes::default());
    walk(hierarchy, laws, Some(counts), tilts, &mut build)?;
    build.into_arena().steps().map(Some)
}

impl IntegerTree {
    /// Prepares the sampler.
    ///
    /// - `laws`: one per level.
    /// - `counts`: the confidential counts if releases must not be negative (it is enough that no leaf
    ///   is), else `None`.
    ///
    /// Errors: a count below 0, a table too large for its limit (a very large scale); counts for which no tables are found
    /// that hold all but 1e-9 of the law.
    pub fn new<L: IntegerLaw>(hierarchy: &Hierarchy, laws: &[L], counts: Option<&[i64]>) -> Result<Self> {
        Ok(Self::with_pass(hierarchy, laws, counts)?.0)
    }

    /// Adds alias tables of 2 MB, for many draws: most sums are then split by one word.
    pub fn for_draws(mut self) -> Self {
        self.parts = std::mem::take(&mut self.parts).with_aliases(MAX_ALIASES);
        self
    }

    /// Prepares the sampler, and returns with it what the upward pass knew by node.
    pub(super) fn with_pass<L: IntegerLaw>(
        hierarchy: &Hierarchy,
        laws: &[L],
        counts: Option<&[i64]>,
    ) -> Result<(Self, Pass)> {
        hierarchy.check_one_per_level("laws", laws.len())?;
        let Some(counts) = counts else {
            return Self::build(hierarchy, laws, None, None, Builder::new(laws));
        };
        if let Some(&leaf) = hierarchy.leaves().iter().find(|&&leaf| counts[leaf as usize] < 0) {
            return Err(Error::parameter("count", counts[leaf as usize], ">= 0"));
        }
        let tilts = super::pull::tilts(hierarchy, laws, counts);
        let mut refusal = None;
        for (tilts, cut) in [
            // As without bounds where they push no sum far: the same tables then give the same draws.
            (None, Cut { tails: TRUNCATION, sound_ends: false }),
            (tilts.as_deref(), Cut { tails: 1e-32, sound_ends: true }),
            (tilts.as_deref(), Cut { tails: 1e-60, sound_ends: true }),
        ]
        .into_iter()
        .skip(usize::from(tilts.is_some()))
        {
            let made = foreseen(hierarchy, laws, counts, tilts, cut).and_then(|expected| {
                let build = Builder::certified(laws, cut, expected);
                Self::build(hierarchy, laws, Some(counts), tilts, build)
            });
            match made {
                Ok((sampler, pass)) if sampler.tv_error <= MAX_TV_ERROR => return Ok((sampler, pass)),
                Ok((sampler, _)) => {
                    refusal = Some(Error::Unsupported {
                        method: "exact",
                        what: format!(
                            "these counts: its tables may lack {:.1e} of the law",
                            sampler.tv_error
                        ),
                        reason: "at most 1e-9 is accepted; line-gibbs serves them",
                    });
                }
                Err(error) => refusal = refusal.or(Some(error)),
            }
        }
        Err(refusal.expect("one of the attempts was made"))
    }

    /// Builds the sampler with given tilts. `tilts`: by node, of its children's tables.
    fn build<L: IntegerLaw>(
        hierarchy: &Hierarchy,
        laws: &[L],
        counts: Option<&[i64]>,
        tilts: Option<&[f64]>,
        mut build: Builder<'_, L>,
    ) -> Result<(Self, Pass)> {
        let Walked { unit, plan, order, known } = walk(hierarchy, laws, counts, tilts, &mut build)?;
        // Components are independent: what they lack adds up.
        let mut tv_error = 0.0;
        for part in known {
            tv_error += build.lacking_at_zero(part)?;
        }
        let root = (!hierarchy.is_known(0)).then_some(unit[0]);
        tv_error += root.map_or(0.0, |root| build.lacking(root));
        let sampler =
            Self { hierarchy: hierarchy.clone(), parts: build.finish(), plan, order, root, tv_error };
        Ok((sampler, Pass { unit, tilts: tilts.map(<[f64]>::to_vec) }))
    }

    /// `ln c`: the mass of all noise that is allowed, leaves weighing what their laws say (they sum to 1) and other nodes
    /// `w_v(z) / w_v(0)`. Exact up to [`IntegerTree::tv_error`] and rounding.
    pub fn log_mass(&self) -> f64 {
        let mut log_mass = self.root().map_or(0.0, Table::log_mass);
        for (v, part) in self.plan.iter().enumerate() {
            // Sums below a known count are 0.
            if let Some(part) = part.filter(|_| self.hierarchy.is_known(v)) {
                let table = self.parts.table(part);
                log_mass += table.log_mass() + libm::log(table.at(0));
            }
        }
        log_mass
    }

    /// Part of the noise under an inner node, and the places of its terms.
    pub(super) fn under(&self, v: usize) -> Option<(PartId, &[u32])> {
        let part = self.plan.get(v).copied().flatten()?;
        Some((part, &self.order[self.hierarchy.children(v)][..self.parts.terms(part)]))
    }

    pub(super) fn parts(&self) -> &Parts {
        &self.parts
    }

    /// Upper bound on the total variation distance of a draw to its law that truncation causes.
    pub fn tv_error(&self) -> f64 {
        self.tv_error
    }

    /// The law of the root's noise; `None` if its count is known.
    pub fn root(&self) -> Option<&Table> {
        self.root.map(|root| self.parts.table(root))
    }

    /// Draws the noise of all nodes once, into `noise` (one value per node).
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R, scratch: &mut PartsScratch, noise: &mut [i64]) {
        noise[0] = self.root_noise(rng);
        for level in 1..self.hierarchy.levels() {
            let (piece, above, below) = self.hierarchy.split_level(level, noise);
            self.below(&piece, above, rng, scratch, below);
        }
    }
}

impl DownwardSampler for IntegerTree {
    type Value = i64;
    type Scratch = PartsScratch;
    const ROUNDS: bool = false;

    fn root_noise<R: Rng + ?Sized>(&self, rng: &mut R) -> i64 {
        self.root().map_or(0, |root| root.sample(rng))
    }

    fn below<R: Rng + ?Sized>(
        &self,
        piece: &Piece,
        above: &[i64],
        rng: &mut R,
        scratch: &mut PartsScratch,
        noise: &mut [i64],
    ) {
        if self.hierarchy.has_known() {
            noise.fill(0);
        }
        let mut noise = Nodes { first: piece.children.start, noise };
        let planned = &self.plan[piece.parents.start.min(self.plan.len())..];
        for ((v, &sum), part) in piece.parents.clone().zip(above).zip(planned) {
            if let Some(part) = *part {
                let order = &self.order[self.hierarchy.children(v)][..self.parts.terms(part)];
                self.parts.fill_nodes(part, sum, order, rng, scratch, &mut noise);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::{DiscreteGaussian, DoubleGeometric};
    use crate::pace::{self, Meter};
    use std::sync::Arc;

    /// A root, `families` below it, and so many leaves below each, with the counts 0, 1, …, `most` - 1 in turn.
    fn tree(families: usize, each: usize, most: i64) -> (Hierarchy, Vec<i64>) {
        let below = |family: usize| (0..each).map(move |_| family + 1);
        let parents: Vec<usize> =
            [0].into_iter().chain((0..families).map(|_| 0)).chain((0..families).flat_map(below)).collect();
        let tree = Hierarchy::from_parents(&parents).unwrap();
        let mut counts = vec![0; tree.nodes()];
        let leaves = tree.leaves().iter().zip(0i64..);
        leaves.for_each(|(&leaf, i)| counts[leaf as usize] = (7 * i) % most);
        tree.sum_up(&mut counts);
        (tree, counts)
    }

    /// What would take hours is refused before anything is made, with what it needs: too wide a sum, or too many of them.
    #[test]
    fn hopeless_trees_are_refused_at_once() {
        let refused = |scale: f64, (tree, counts): (Hierarchy, Vec<i64>)| {
            let laws = [DiscreteGaussian::new(scale).unwrap(); 3];
            match IntegerTree::new(&tree, &laws, Some(&counts)) {
                Err(Error::TooLarge { needed, limit, unit, .. }) => (needed, limit, unit),
                other => panic!("{:?}", other.map(|_| "tables")),
            }
        };
        let (needed, limit, unit) = refused(2763.0, tree(200, 100, 100_000));
        assert_eq!((limit, unit), (1 << 18, "entries"));
        assert!((300_000..600_000).contains(&needed), "{needed}");
        let (needed, limit, unit) = refused(1000.0, tree(200, 200, 9_000));
        assert_eq!((limit, unit), (10_000_000_000_000, "multiplications"));
        assert!(needed > limit && needed < 100 * limit, "{needed}");
    }

    /// A leaf with a large count beside many of 0 has a wide and flat table, and no wider one: no deviation of a normal
    /// law tells. Beside it a part that makes the tree large enough to be looked at.
    #[test]
    fn wide_flat_tables_are_not_hopeless() {
        let mut parents = vec![0, 0, 0];
        parents.extend(std::iter::repeat_n(1, 1001));
        parents.extend(std::iter::repeat_n(2, 1200));
        let tree = Hierarchy::from_parents(&parents).unwrap();
        let known = (0..tree.nodes()).map(|v| v < 3).collect();
        let tree = tree.with_known(known).unwrap();
        let mut counts: Vec<i64> = vec![0; tree.nodes()];
        counts[3] = 60_000;
        counts[1004..].fill(10);
        tree.sum_up(&mut counts);
        let laws = [DoubleGeometric::new(60.0).unwrap(); 3];
        let how = How { cut: Cut { tails: TRUNCATION, sound_ends: false }, certified: true };
        let mut build = Builder::on(&laws, how, Sizes::default());
        walk(&tree, &laws, Some(&counts), None, &mut build).unwrap();
        assert!(build.into_arena().steps().is_ok());
        // It can be made.
        IntegerTree::new(&tree, &laws, Some(&counts)).unwrap();
    }

    /// The multiplications that are foreseen are those that are done, roughly; what is told of them ends with the last.
    #[test]
    fn what_is_foreseen_is_done() {
        let cut = Cut { tails: TRUNCATION, sound_ends: false };
        fn check<L: IntegerLaw>(laws: &[L], (tree, counts): &(Hierarchy, Vec<i64>), cut: Cut) {
            let how = How { cut, certified: true };
            let mut build = Builder::on(laws, how, Sizes::default());
            walk(tree, laws, Some(counts), None, &mut build).unwrap();
            let expected = build.into_arena().steps().unwrap();
            let mut build = Builder::certified(laws, cut, Some(expected));
            let meter = Arc::new(Meter::default());
            pace::lend(&meter, || walk(tree, laws, Some(counts), None, &mut build)).unwrap();
            let done = build.into_arena().steps_done();
            assert!(done > 0.0 && (0.3..3.0).contains(&(expected / done)), "{expected:e} {done:e}");
            assert!((meter.share() - (done / expected).min(1.0)).abs() < 1e-9 && meter.share() > 0.3);
        }
        check(&[DiscreteGaussian::new(30.0).unwrap(); 3], &tree(12, 9, 50), cut);
        check(&[DoubleGeometric::new(6.0).unwrap(); 3], &tree(12, 9, 50), cut);
        check(&[DiscreteGaussian::new(8.0).unwrap(); 3], &tree(1, 200, 20), cut);
    }
}
