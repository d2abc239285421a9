//! Laws of errors, where they are computed: integer noise under the equations of a tree or of a partition, and normal noise under any
//! equations of a table or a tree.

use super::Noisy;
use super::entries::Entries;
use super::noisy::Structure;
use super::target::Target;
use crate::catalogue::Family;
use crate::imaging::{L2, LatticeL2};
use crate::inference::{JointLaw, NodeLaws, Ratios, SumLaw, SumLaws, normal_ratios};
use crate::invariant::Hierarchy;
use crate::law::{DiscreteGaussian, DoubleGeometric, IntegerLaw};
use crate::rng::normal_quantile;
use rayon::prelude::*;
use std::borrow::Cow;

/// Products that the law of one sum may take: a minute; that of two together: some ten seconds.
pub(super) const PRODUCTS: f64 = 1e10;
/// Products where the law only stands beside a bootstrap: some milliseconds.
pub(super) const BESIDE: f64 = 1e7;
/// Products of the normal laws of all targets together.
const NORMAL: usize = 1 << 32;

/// What is known of the error of a target, whatever the counts are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Width {
    /// The least half width that holds at least the level.
    pub(super) half: f64,
    /// The standard deviation, in counts.
    pub(super) deviation: f64,
    /// `P(|error| <= half)`, where the law is computed.
    pub(super) holds: Option<f64>,
}

impl Width {
    /// Of a normal law with this standard deviation; of 0 what is fixed.
    fn normal(deviation: f64, level: f64) -> Self {
        let holds = Some(if deviation > 0.0 { level } else { 1.0 });
        Self { half: normal_quantile(0.5 * (1.0 + level)) * deviation, deviation, holds }
    }
}

/// What the law of an error says, as far as it is computed.
pub(super) type Law = Option<Width>;

/// How laws are computed.
enum How<'a> {
    /// Normal noise on a table, by projection.
    Normal(&'a Entries),
    /// Normal noise on a tree, by projection.
    NormalTree(&'a Hierarchy),
    /// Integer noise on a tree. A count is a node; of a partition each entry has its leaf.
    Tree(Cow<'a, Hierarchy>, Option<Vec<usize>>),
    /// They are not.
    Not,
}

impl<'a> How<'a> {
    fn of(noisy: &'a Noisy) -> Self {
        let conditions = noisy.method.conditions() && !noisy.method.kind().is_free();
        let is_projected =
            conditions || noisy.method.kind().is_free() || noisy.is_linear() || !noisy.is_pivot();
        match (&noisy.structure, noisy.law.family()) {
            (Structure::Table(entries), Family::Gaussian) if is_projected => Self::Normal(entries),
            (Structure::Tree(nodes), Family::Gaussian) if is_projected => Self::NormalTree(&nodes.tree),
            _ if !conditions && noisy.is_pivot() => Self::Not,
            (Structure::Tree(nodes), _) => Self::Tree(Cow::Borrowed(&nodes.tree), None),
            (Structure::Table(entries), _) => match partition(entries) {
                Some((tree, leaves)) => Self::Tree(Cow::Owned(tree), Some(leaves)),
                None => Self::Not,
            },
        }
    }
}

/// A tree of whose noise laws are computed, with the node of a count.
struct On<'a> {
    tree: &'a Hierarchy,
    leaves: Option<&'a [usize]>,
}

impl On<'_> {
    fn node(&self, count: usize) -> usize {
        self.leaves.map_or(count, |leaves| leaves[count])
    }

    /// Weights of counts that are leaves, by leaf.
    fn weights(&self, own: &[(u32, i8)]) -> Vec<i8> {
        let mut weights = vec![0i8; self.tree.leaves().len()];
        for &(count, weight) in own {
            weights[self.tree.leaf_number(self.node(count as usize) as u32) - 1] = weight;
        }
        weights
    }
}

/// Integer noise by level.
enum Integers {
    Geometric(Vec<DoubleGeometric>),
    Gaussian(Vec<DiscreteGaussian>),
}

impl Integers {
    /// The noise on a tree; `None` of real noise. Errors: scales out of range.
    fn on(noisy: &Noisy, tree: &Hierarchy) -> crate::Result<Option<Self>> {
        let mut calibration = noisy.calibration();
        if let Structure::Table(_) = noisy.structure {
            calibration.scales = vec![noisy.scales[0]; tree.levels()];
        }
        Ok(match noisy.law.family() {
            Family::DoubleGeometric => {
                Some(Self::Geometric(calibration.laws(DoubleGeometric::new).collect::<crate::Result<_>>()?))
            }
            Family::DiscreteGaussian => {
                Some(Self::Gaussian(calibration.laws(DiscreteGaussian::new).collect::<crate::Result<_>>()?))
            }
            _ => None,
        })
    }
}

/// What is computed, or `None` where that is too much.
fn fits<T>(computed: crate::Result<T>) -> crate::Result<Option<T>> {
    match computed {
        Ok(law) => Ok(Some(law)),
        Err(crate::Error::TooLarge { .. }) => Ok(None),
        Err(other) => Err(other),
    }
}

/// The errors of a release, as far as their laws are computed; beside a bootstrap those of the noise alone. `most`: products that the
/// law of one sum may take. Errors: scales out of range.
pub(super) fn laws(noisy: &Noisy, targets: &[Target], level: f64, most: f64) -> crate::Result<Vec<Law>> {
    let none = || Ok(vec![None; targets.len()]);
    match How::of(noisy) {
        How::Normal(entries) => Ok(normal(entries, noisy.scales[0], targets, level)),
        How::NormalTree(tree) => Ok(ProjectedTree::new(noisy, tree)?.laws(targets, level)),
        How::Tree(tree, leaves) => {
            let on = On { tree: &tree, leaves: leaves.as_deref() };
            match Integers::on(noisy, &tree)? {
                Some(Integers::Geometric(laws)) => of_laws(&on, &laws, targets, (level, most)),
                Some(Integers::Gaussian(laws)) => of_laws(&on, &laws, targets, (level, most)),
                None => none(),
            }
        }
        How::Not => none(),
    }
}

/// What is known of the errors of two targets together, whatever the counts are.
pub(super) enum Joint {
    /// Their joint law.
    Law(JointLaw),
    /// Vectors whose products are the variances and the covariance of normal noise.
    Normal([Vec<f64>; 2]),
}

impl Joint {
    /// The ratios that the release of both does not rule out.
    pub(super) fn ratios(&self, released: [f64; 2], level: f64) -> Ratios {
        match self {
            Self::Law(law) => law.ratios(released, level),
            Self::Normal([above, below]) => normal_ratios(released, [above, below], level),
        }
    }
}

/// What is known of the errors of both sums of each pair, as far as it is computed. Errors: scales out of range.
pub(super) fn joints(noisy: &Noisy, pairs: &[[Target; 2]], most: f64) -> crate::Result<Vec<Option<Joint>>> {
    let none = || Ok(pairs.iter().map(|_| None).collect());
    match How::of(noisy) {
        How::Normal(entries) => {
            let Some(projected) = Projected::new(entries, 2 * pairs.len()) else { return none() };
            let noise = |target: &Target| projected.of(target).iter().map(|c| noisy.scales[0] * c).collect();
            let of = |[above, below]: &[Target; 2]| Some(Joint::Normal([noise(above), noise(below)]));
            Ok(pairs.par_iter().map(of).collect())
        }
        How::NormalTree(tree) => {
            let projected = ProjectedTree::new(noisy, tree)?;
            Ok(pairs.par_iter().map(|pair| Some(Joint::Normal(projected.joint(pair)))).collect())
        }
        How::Tree(tree, leaves) => {
            let on = On { tree: &tree, leaves: leaves.as_deref() };
            match Integers::on(noisy, &tree)? {
                Some(Integers::Geometric(laws)) => joints_of_laws(&on, &laws, pairs, most),
                Some(Integers::Gaussian(laws)) => joints_of_laws(&on, &laws, pairs, most),
                None => none(),
            }
        }
        How::Not => none(),
    }
}

fn joints_of_laws<L: IntegerLaw + Sync>(
    on: &On,
    laws: &[L],
    pairs: &[[Target; 2]],
    most: f64,
) -> crate::Result<Vec<Option<Joint>>> {
    let of = |pair: &[Target; 2]| {
        let [Target::Sum(above), Target::Sum(below)] = pair else { return Ok(None) };
        let (above, below) = (on.weights(above), on.weights(below));
        let law = fits(JointLaw::on_tree(on.tree, laws, [&above, &below], most))?;
        Ok(law.map(Joint::Law))
    };
    pairs.par_iter().map(of).collect()
}

/// Normal noise given equations, or moved to them by least squares: a sum with the weights c has the error `σ <P c, g>`, with g standard
/// normal and P the projection onto what the equations leave.
struct Projected {
    l2: LatticeL2,
    width: usize,
}

impl Projected {
    /// `None`: too many targets.
    fn new(entries: &Entries, targets: usize) -> Option<Self> {
        let width = entries.invariant.entries();
        let l2 = LatticeL2::new(&entries.invariant).ok()?;
        let fits = targets.saturating_mul(width).saturating_mul(width.min(1000)) <= NORMAL;
        fits.then_some(Self { l2, width })
    }

    /// `P c`.
    fn of(&self, target: &Target) -> Vec<f64> {
        let mut weights = vec![0.0; self.width];
        match target {
            Target::Count(entry) => weights[*entry] = 1.0,
            Target::Sum(own) => own.iter().for_each(|&(entry, c)| weights[entry as usize] += f64::from(c)),
        }
        self.l2.project(&mut weights);
        // What is fixed has no error but rounding.
        if weights.iter().map(|c| c * c).sum::<f64>() <= 1e-18 {
            weights.fill(0.0);
        }
        weights
    }
}

/// Noise of every node of a tree, moved to its equations by least squares.
struct ProjectedTree<'a> {
    tree: &'a Hierarchy,
    /// By level, the variance of the noise.
    own: Vec<f64>,
    l2: L2,
}

impl<'a> ProjectedTree<'a> {
    /// Errors: variances out of range.
    fn new(noisy: &Noisy, tree: &'a Hierarchy) -> crate::Result<Self> {
        let own = noisy.variances()?;
        let l2 = L2::new(tree, &own)?;
        Ok(Self { tree, own, l2 })
    }

    /// `P Σ c`, with the weights c of a target and the variances Σ of the noise: a sum with the weights a has the covariance `aᵀ P Σ c`
    /// with it.
    fn of(&self, target: &Target) -> Vec<f64> {
        let mut all = vec![0.0; self.tree.nodes()];
        let own = |v: usize| if self.tree.is_known(v) { 0.0 } else { self.own[self.tree.level(v)] };
        match target {
            Target::Count(v) => all[*v] = own(*v),
            Target::Sum(weights) => {
                weights.iter().for_each(|&(v, c)| all[v as usize] += f64::from(c) * own(v as usize));
            }
        }
        self.l2.project(&mut all);
        all
    }

    /// The standard deviation of the error of a target, by the variances of all nodes.
    fn deviation(&self, of_nodes: &[f64], target: &Target) -> f64 {
        let variance = match target {
            Target::Count(v) => of_nodes[*v],
            Target::Sum(_) => {
                let projected = self.of(target);
                target.value(|v| projected[v])
            }
        };
        // What is fixed has no error but rounding.
        let least = 1e-12 * self.own.iter().copied().fold(0.0, f64::max);
        if variance > least { libm::sqrt(variance) } else { 0.0 }
    }

    /// By target the law of normal noise.
    fn laws(&self, targets: &[Target], level: f64) -> Vec<Law> {
        let of_nodes = self.l2.variances();
        let of = |target: &Target| Some(Width::normal(self.deviation(&of_nodes, target), level));
        targets.par_iter().map(of).collect()
    }

    /// Vectors whose products are the variances and the covariance of two targets.
    fn joint(&self, [above, below]: &[Target; 2]) -> [Vec<f64>; 2] {
        let (of_above, of_below) = (self.of(above), self.of(below));
        let (a, b) = (above.value(|v| of_above[v]), below.value(|v| of_below[v]));
        let both = above.value(|v| of_below[v]);
        let deviation = libm::sqrt(a.max(0.0));
        let share = if deviation > 0.0 { both / deviation } else { 0.0 };
        [vec![deviation, 0.0], vec![share, libm::sqrt((b - share * share).max(0.0))]]
    }
}

/// What a normal law of the errors says where these are those of least squares on a tree and no law of them is computed: their standard
/// deviations are theirs, whatever the noise is. `None` of other errors. Errors: variances out of range.
pub(super) fn as_if_normal(
    noisy: &Noisy,
    targets: &[Target],
    level: f64,
) -> crate::Result<Option<Vec<Width>>> {
    match (&noisy.structure, How::of(noisy)) {
        (Structure::Tree(nodes), How::Not) if noisy.method.kind().is_free() || noisy.is_linear() => {
            let laws = ProjectedTree::new(noisy, &nodes.tree)?.laws(targets, level);
            Ok(Some(laws.into_iter().flatten().map(|width| Width { holds: None, ..width }).collect()))
        }
        _ => Ok(None),
    }
}

/// Normal noise: by target.
fn normal(entries: &Entries, sigma: f64, targets: &[Target], level: f64) -> Vec<Law> {
    let Some(projected) = Projected::new(entries, targets.len()) else {
        return vec![None; targets.len()];
    };
    let of = |target: &Target| {
        let deviation = sigma * libm::sqrt(projected.of(target).iter().map(|c| c * c).sum());
        Some(Width::normal(deviation, level))
    };
    targets.par_iter().map(of).collect()
}

/// A partition as a tree of two levels below the root, with its sums known; by entry its leaf. `None` of other equations.
fn partition(entries: &Entries) -> Option<(Hierarchy, Vec<usize>)> {
    let groups = entries.invariant.components();
    let is_known = |entry: u32| entries.known.binary_search(&entry).is_ok();
    let is_sum = |group: &crate::invariant::Component| match group.entries[..] {
        [entry] => is_known(entry) || group.is_total(),
        _ => group.is_total(),
    };
    if !groups.iter().all(is_sum) {
        return None;
    }
    let mut parents = vec![0u32; groups.len() + 1];
    let mut leaves = vec![0; entries.invariant.entries()];
    for (group, number) in groups.iter().zip(1..) {
        for &entry in &group.entries {
            leaves[entry as usize] = parents.len();
            parents.push(number);
        }
    }
    let known = (0..parents.len()).map(|node| node <= groups.len()).collect();
    let tree = Hierarchy::from_numbers(parents).and_then(|tree| tree.with_known(known)).ok()?;
    Some((tree, leaves))
}

fn of_laws<L: IntegerLaw + Sync>(
    on: &On,
    laws: &[L],
    targets: &[Target],
    (level, most): (f64, f64),
) -> crate::Result<Vec<Law>> {
    let said = |law: &SumLaw| {
        let half = law.half_width(level);
        Width {
            half: half as f64,
            deviation: libm::sqrt(law.variance()),
            holds: Some(1.0 - law.beyond(half)),
        }
    };
    let Some(nodes) = fits(NodeLaws::on_tree(on.tree, laws))? else {
        return Ok(vec![None; targets.len()]);
    };
    let of_nodes: Vec<Width> = nodes.each().map(said).collect();
    let of = |target: &Target| match target {
        Target::Count(count) => Ok(Some(of_nodes[nodes.place(on.node(*count))])),
        Target::Sum(own) => {
            fits(SumLaws::new(on.tree, laws, most).and_then(|mut sums| sums.of(&on.weights(own)).map(said)))
        }
    };
    targets.par_iter().map(of).collect()
}
