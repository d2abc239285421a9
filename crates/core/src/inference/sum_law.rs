//! The law of a sum of noise under a tree's equations.

use super::shapes::{Shape, Shapes, Under};
use crate::error::{Error, Result};
use crate::fourier::{Transform, even_transform};
use crate::invariant::Hierarchy;
use crate::law::IntegerLaw;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// The law of `Σ c_i z_i` over leaves i of a tree, each `c_i` -1, 0 or 1, where z is integer noise given that every parent
/// is the sum of its children and known nodes have none: `q(z) ∝ Π_v w_v(z_v)`.
///
/// A release `y = x + z` with such noise gives intervals that hold at every table of counts: `P(|Σ c_i y_i - Σ c_i x_i| <= t)`
/// does not depend on x.
///
/// The characteristic function of the sum comes from one upward pass for each frequency ω, in which a leaf weighs
/// `w(z) e^(iωcz)`. A pass works on transforms of a table of every subtree's sum: products over children, with the weight of
/// the node between two transforms. Subtrees of equal shape share their table, and those without a weight share it over
/// all frequencies. That is exact but for rounding (near 1e-13) and for what the window of a table leaves out. No
/// sum of children leaves its window with more than 1e-17 of its mass (Chernoff's bound), and the window of the sum is
/// doubled until its outer half has less than 1e-12: a law that had mass beyond that would have to have none between.
///
/// The cost is `O(shapes · side² ln side)`, with the shapes that have a weight and the window's side, some 80 scales of the
/// noise.
///
/// # Examples
///
/// ```
/// use congenial_core::inference::SumLaw;
/// use congenial_core::invariant::Hierarchy;
/// use congenial_core::law::DoubleGeometric;
///
/// // A state with two counties of two towns each; the sum over a district of the first town of each county.
/// let tree = Hierarchy::from_parents(&[0, 0, 0, 1, 1, 2, 2])?;
/// let laws = [DoubleGeometric::new(2.0)?; 3];
/// let law = SumLaw::on_tree(&tree, &laws, &[1, 0, 1, 0])?;
/// let half = law.half_width(0.9);
/// assert!(law.beyond(half) <= 0.1 && law.beyond(half - 1) > 0.1);
/// # Ok::<(), congenial_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct SumLaw {
    /// `P(Σ = t)` for t from 0; the law is symmetric.
    p: Vec<f64>,
}

/// Mass of a sum of children beyond its window.
const CHILDREN: f64 = 1e-17;
/// Mass of the sum in the outer half of its window.
const OUTER: f64 = 1e-12;
/// What the probabilities of an interval may be off by, all together: by rounding, and beyond the window.
pub(super) const ERROR: f64 = 4e-12;
/// Probabilities below it are rounding.
pub(super) const ROUNDING: f64 = 1e-16;
/// Longest side of a window.
const MOST: usize = 1 << 15;
/// Most complex products of all passes together: some minutes.
pub(super) const WORK: f64 = 1e11;

impl SumLaw {
    /// The law on a tree.
    ///
    /// - `laws`: one per level.
    /// - `weights`: the c, one per leaf in the order of [`Hierarchy::leaves`].
    ///
    /// Errors: another number of laws or weights; a weight other than -1, 0 and 1; scales so large that the window of a
    /// table is longer than 2^15, or that the passes take more than 10^11 products ([`Error::TooLarge`]).
    pub fn on_tree<L: IntegerLaw>(tree: &Hierarchy, laws: &[L], weights: &[i8]) -> Result<Self> {
        SumLaws::new(tree, laws, WORK)?.of(weights).cloned()
    }

    pub(super) fn of_shapes<L: IntegerLaw>(shapes: &Shapes, laws: &[L], most: f64) -> Result<Self> {
        if !shapes.weighted.last().is_some_and(|weighted| weighted[0]) {
            return Ok(Self { p: vec![1.0] });
        }
        let mut side = window(shapes, laws, false).max(8.0);
        loop {
            let weighted = shapes.weighted.iter().filter(|weighted| weighted[0]).count();
            let work = weighted as f64 * side * side * (2.0 * libm::log2(side) + 4.0);
            if side > MOST as f64 || work > most {
                let what = "the law of a sum";
                return Err(match side > MOST as f64 {
                    true => too_large(what, side, MOST as f64, "entries"),
                    false => too_large(what, work, most, "products"),
                });
            }
            let law = Passes::new(shapes, laws, side as usize).law();
            // What the outer half has may have come from beyond.
            if law.beyond(side as i64 / 4) <= OUTER {
                return Ok(law);
            }
            side *= 2.0;
        }
    }

    /// The side of the window in which it was computed.
    pub(super) fn side(&self) -> usize {
        2 * self.p.len()
    }

    /// The law with these weights from 0 on, as far as they say anything.
    pub(super) fn of_table(weights: &[f64]) -> Self {
        let total = weights[0] + 2.0 * weights[1..].iter().rev().sum::<f64>();
        let reach = weights.iter().rposition(|weight| *weight > 1e-22 * total).unwrap_or(0);
        Self { p: weights[..=reach].iter().map(|weight| weight / total).collect() }
    }

    /// `P(Σ = t)`.
    pub fn p(&self, t: i64) -> f64 {
        usize::try_from(t.unsigned_abs()).ok().and_then(|t| self.p.get(t)).copied().unwrap_or(0.0)
    }

    /// `P(|Σ| > t)`; 1 for t below 0.
    pub fn beyond(&self, t: i64) -> f64 {
        match usize::try_from(t) {
            Err(_) => 1.0,
            Ok(t) => 2.0 * self.p.iter().skip(t + 1).rev().sum::<f64>(),
        }
    }

    /// The least t with `P(|Σ| <= t) >= level`, for a level below 1, whatever the last digits of the probabilities: an
    /// interval of this half width holds with at least this probability.
    pub fn half_width(&self, level: f64) -> i64 {
        let (mut beyond, allowed) = (0.0, 1.0 - level - if self.p.len() > 1 { ERROR } else { 0.0 });
        for (t, p) in self.p.iter().enumerate().rev() {
            beyond += 2.0 * p;
            if beyond > allowed {
                return t as i64;
            }
        }
        0
    }

    /// `Var(Σ)`, in counts squared.
    pub fn variance(&self) -> f64 {
        let square = |(t, p): (usize, &f64)| 2.0 * p * (t as f64) * (t as f64);
        self.p.iter().enumerate().rev().map(square).sum()
    }
}

/// The laws of several sums on one tree, each computed once: sums of one shape have one law.
#[derive(Debug)]
pub struct SumLaws<'a, L> {
    tree: &'a Hierarchy,
    laws: &'a [L],
    most: f64,
    known: HashMap<Vec<Shape>, SumLaw>,
}

impl<'a, L: IntegerLaw> SumLaws<'a, L> {
    /// - `laws`: one per level.
    /// - `most`: complex products that one law may take; some 5 ns each.
    ///
    /// Errors: another number of laws.
    pub fn new(tree: &'a Hierarchy, laws: &'a [L], most: f64) -> Result<Self> {
        tree.check_one_per_level("laws", laws.len())?;
        Ok(Self { tree, laws, most, known: HashMap::new() })
    }

    /// The law of a sum. Errors: as [`SumLaw::on_tree`], with `most` in the place of its limit.
    pub fn of(&mut self, weights: &[i8]) -> Result<&SumLaw> {
        check(self.tree, weights)?;
        let weights: Vec<[i8; 2]> = weights.iter().map(|&weight| [weight, 0]).collect();
        let shapes = Shapes::of(self.tree, &weights);
        match self.known.entry(shapes.all.clone()) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(place) => Ok(place.insert(SumLaw::of_shapes(&shapes, self.laws, self.most)?)),
        }
    }
}

/// Refuses what are no weights of a sum over leaves.
pub(super) fn check(tree: &Hierarchy, weights: &[i8]) -> Result<()> {
    if weights.len() != tree.leaves().len() {
        return Err(Error::parameter("weights", weights.len(), "one per leaf"));
    }
    match weights.iter().find(|weight| !(-1..=1).contains(*weight)) {
        Some(weight) => Err(Error::parameter("weight", weight, "-1, 0 or 1")),
        None => Ok(()),
    }
}

pub(super) fn too_large(what: &str, needed: f64, limit: f64, unit: &'static str) -> Error {
    Error::TooLarge { what: what.into(), needed: needed as u64, limit: limit as u64, unit }
}

/// A law on `-reach..=reach`, beyond which less than 1e-18 of its mass lies.
struct Cut {
    /// Probabilities from 0.
    p: Vec<f64>,
}

/// Longest reach of a cut: scales of about 6,000.
const LONGEST: i64 = 1 << 18;
/// What the window of a longer one would take at least, in scales; no table has as many entries.
const SCALES: f64 = 80.0;
const NO_TABLE: f64 = (1u64 << 30) as f64;

impl Cut {
    /// `None`: a law that is too wide.
    fn of<L: IntegerLaw>(law: &L) -> Option<Self> {
        let total = 1.0 + 2.0 * law.tail(1);
        let (mut low, mut high) = (0i64, 1i64);
        while 2.0 * law.tail(high + 1) > 1e-18 * total {
            if high >= LONGEST {
                return None;
            }
            (low, high) = (high, 2 * high);
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if 2.0 * law.tail(middle + 1) > 1e-18 * total { low = middle } else { high = middle }
        }
        Some(Self { p: (0..=high).map(|z| libm::exp(law.log_weight(z)) / total).collect() })
    }

    fn reach(&self) -> f64 {
        (self.p.len() - 1) as f64
    }

    /// `ln E e^(hz)`, h > 0: at most that of the law given anything unimodal around 0.
    fn log_mgf(&self, h: f64) -> f64 {
        // Beside the largest exponent.
        let top = h * self.reach();
        let terms = self.p.iter().enumerate().rev().map(|(z, p)| {
            let z = z as f64;
            p * if z == 0.0 { libm::exp(-top) } else { libm::exp(h * z - top) + libm::exp(-h * z - top) }
        });
        libm::log(terms.sum::<f64>()) + top
    }
}

/// The side of a window, a power of two, that every sum of children with the law of their parent fits into: beyond
/// `side - reach` lies less than [`CHILDREN`] of it. `apart`: also less the reach of any child, where the siblings of one
/// are looked at.
///
/// A subtree's sum is a law of its own level given something symmetric and unimodal, so that its exponential moments are at most those
/// of the law. Of laws that are too wide for any table that is larger than all limits.
pub(super) fn window<L: IntegerLaw>(shapes: &Shapes, laws: &[L], apart: bool) -> f64 {
    let Some(cuts) = laws.iter().map(Cut::of).collect::<Option<Vec<Cut>>>() else {
        return laws.iter().map(|law| SCALES * law.scale()).fold(NO_TABLE, f64::max);
    };
    let widest = cuts.iter().map(Cut::reach).fold(1.0, f64::max);
    // From a quarter of one over the widest reach on.
    let rates: Vec<f64> = (-4..24).map(|k| libm::exp2(0.5 * f64::from(k)) / widest).collect();
    let mgfs: Vec<Vec<f64>> =
        cuts.iter().map(|cut| rates.iter().map(|&h| cut.log_mgf(h)).collect()).collect();
    let mut side = 2.0 * widest + 2.0;
    for shape in &shapes.all {
        let Under::Children(children) = &shape.under else { continue };
        let own = if shape.known { 0.0 } else { cuts[shape.level].reach() };
        let own = own + if apart { widest } else { 0.0 };
        let reach = rates.iter().enumerate().map(|(k, h)| {
            let of = |&(child, number): &(u32, u32)| {
                let child = &shapes.all[child as usize];
                if child.known { 0.0 } else { f64::from(number) * mgfs[child.level][k] }
            };
            (children.iter().map(of).sum::<f64>() - libm::log(0.5 * CHILDREN)) / h
        });
        side = side.max(reach.fold(f64::INFINITY, f64::min) + own);
    }
    libm::exp2(libm::ceil(libm::log2(side)))
}

/// The transform of a subtree's table: `Σ_s m(s) e^(iθs)` at `θ = 2πk/side`; where its sum is 0 it is the same everywhere.
#[derive(Debug, Clone)]
pub(super) enum Spectrum {
    Constant(f64),
    Values(Vec<f64>),
}

/// The passes over all frequencies.
pub(super) struct Passes<'a> {
    pub(super) shapes: &'a Shapes,
    transform: Transform,
    /// By level: the weights of a node by its noise modulo the side, over the side.
    weights: Vec<Vec<f64>>,
    /// By level: the transform of a leaf's law.
    leaves: Vec<Vec<f64>>,
    /// By shape: its mass, which tables are divided by.
    pub(super) masses: Vec<f64>,
    /// By shape: what does not depend on the frequency.
    fixed: Vec<Option<Spectrum>>,
}

impl<'a> Passes<'a> {
    pub(super) fn new<L: IntegerLaw>(shapes: &'a Shapes, laws: &[L], side: usize) -> Self {
        let table = |law: &L| -> Vec<f64> {
            (0..side).map(|s| libm::exp(law.log_weight(s.min(side - s) as i64))).collect()
        };
        let weights: Vec<Vec<f64>> = laws.iter().map(table).collect();
        let law = |weights: &Vec<f64>| {
            let mut law = even_transform(weights, side, 1);
            let total = law[0];
            law.iter_mut().for_each(|value| *value /= total);
            law
        };
        let leaves = weights.iter().map(law).collect();
        let over = |mut weights: Vec<f64>| {
            weights.iter_mut().for_each(|weight| *weight /= side as f64);
            weights
        };
        let mut passes = Self {
            shapes,
            transform: Transform::new(side),
            weights: weights.into_iter().map(over).collect(),
            leaves,
            masses: vec![1.0; shapes.all.len()],
            fixed: vec![None; shapes.all.len()],
        };
        let (mut all, mut masses) = (Vec::new(), Vec::new());
        for (place, &weighted) in shapes.weighted.iter().enumerate() {
            let mut spectrum = passes.spectrum(place, [0, 0], &all);
            let mass = match &mut spectrum {
                Spectrum::Constant(value) => std::mem::replace(value, 1.0),
                Spectrum::Values(values) => {
                    let mass = values[0];
                    values.iter_mut().for_each(|value| *value /= mass);
                    mass
                }
            };
            masses.push(mass);
            if weighted == [false, false] {
                passes.fixed[place] = Some(spectrum.clone());
            }
            all.push(Some(spectrum));
        }
        passes.masses = masses;
        passes
    }

    pub(super) fn side(&self) -> usize {
        self.transform.side()
    }

    /// The weights of a level's node by its noise modulo the side, but for a factor.
    pub(super) fn weights(&self, level: usize) -> &[f64] {
        &self.weights[level]
    }

    /// The spectrum of a shape without weights.
    pub(super) fn unweighted(&self, place: usize) -> &Spectrum {
        self.fixed[place].as_ref().expect("it has no weights")
    }

    /// The transform of a level's law, over its mass.
    pub(super) fn leaf(&self, level: usize) -> &[f64] {
        &self.leaves[level]
    }

    /// The spectrum of a shape at the frequencies of both sums; `all`: of those before it, as far as they depend on them.
    pub(super) fn spectrum(&self, place: usize, at: [usize; 2], all: &[Option<Spectrum>]) -> Spectrum {
        let (shape, side) = (&self.shapes.all[place], self.transform.side());
        match &shape.under {
            Under::Leaf(_) if shape.known => Spectrum::Constant(1.0),
            Under::Leaf(weights) => {
                let law = &self.leaves[shape.level];
                let shift = |sum: usize| i64::from(weights[sum]) * at[sum] as i64;
                let shift = (shift(0) + shift(1)).rem_euclid(side as i64) as usize;
                Spectrum::Values(law[shift..].iter().chain(&law[..shift]).copied().collect())
            }
            Under::Children(children) => {
                let (constant, product) = self.product(children.iter(), 1.0 / self.masses[place], all);
                self.weighed(place, constant, product)
            }
        }
    }

    /// The product over children by shape, each with how many of it there are: a factor, and values, of which there are none where all
    /// are the same. It begins with `constant`.
    pub(super) fn product<'b>(
        &self,
        children: impl Iterator<Item = &'b (u32, u32)>,
        mut constant: f64,
        all: &[Option<Spectrum>],
    ) -> (f64, Vec<f64>) {
        let mut product = Vec::new();
        for &(child, number) in children {
            let child = child as usize;
            let spectrum = self.fixed[child].as_ref().or(all.get(child).and_then(Option::as_ref));
            match spectrum.expect("children come before their parents") {
                Spectrum::Constant(value) => constant *= power(*value, number),
                Spectrum::Values(values) if product.is_empty() => {
                    product = values.iter().map(|&value| power(value, number)).collect();
                }
                Spectrum::Values(values) => {
                    product.iter_mut().zip(values).for_each(|(all, &value)| *all *= power(value, number));
                }
            }
        }
        (constant, product)
    }

    /// The spectrum of a node, from the product over its children.
    pub(super) fn weighed(&self, place: usize, constant: f64, mut product: Vec<f64>) -> Spectrum {
        let shape = &self.shapes.all[place];
        // Known sums below, all of them: its own sum is 0.
        if product.is_empty() {
            return Spectrum::Constant(constant);
        }
        if shape.known {
            return Spectrum::Constant(constant * product.iter().sum::<f64>() / self.transform.side() as f64);
        }
        self.transform.weigh(&mut product, &self.weights[shape.level]);
        product.iter_mut().for_each(|value| *value *= constant);
        Spectrum::Values(product)
    }

    /// The characteristic function at a frequency.
    fn at(&self, frequency: usize) -> f64 {
        let mut all: Vec<Option<Spectrum>> = vec![None; self.shapes.all.len()];
        for place in 0..self.shapes.all.len() {
            if self.shapes.weighted[place][0] {
                all[place] = Some(self.spectrum(place, [frequency, 0], &all));
            }
        }
        match all.pop().flatten() {
            Some(Spectrum::Constant(value)) => value,
            Some(Spectrum::Values(values)) => values[0],
            None => 1.0,
        }
    }

    fn law(&self) -> SumLaw {
        let side = self.transform.side();
        let half: Vec<f64> = (0..=side / 2).map(|frequency| self.at(frequency)).collect();
        let whole: Vec<f64> = (0..side).map(|k| half[k.min(side - k)]).collect();
        let p = even_transform(&whole, side, 1);
        // What rounding leaves in the tails is nothing.
        let rounded = |p: &f64| if *p < ROUNDING * side as f64 { 0.0 } else { p / side as f64 };
        SumLaw { p: p[..side / 2].iter().map(rounded).collect() }
    }
}

/// `x^n`.
pub(super) fn power(x: f64, mut n: u32) -> f64 {
    let (mut base, mut all) = (x, 1.0);
    while n > 0 {
        if n & 1 == 1 {
            all *= base;
        }
        base *= base;
        n >>= 1;
    }
    all
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::exact::{IntegerTree, PartsScratch};
    use crate::imaging::L2;
    use crate::law::{DiscreteGaussian, DoubleGeometric};
    use crate::oracle::Formula;
    use crate::testing::{assert_frequencies, test_stream};
    use std::collections::BTreeMap;

    /// The law of sums with these weights each, by listing all noise up to `reach` on the leaves.
    pub(in crate::inference) fn listed(
        tree: &Hierarchy,
        formulas: &[Formula],
        weights: &[&[i8]],
        reach: i64,
    ) -> BTreeMap<Vec<i64>, f64> {
        let (mut law, mut total) = (BTreeMap::new(), 0.0);
        let leaves = tree.leaves();
        let mut own = vec![-reach; leaves.len()];
        'all: loop {
            let mut noise = vec![0; tree.nodes()];
            leaves.iter().zip(&own).for_each(|(&leaf, &z)| noise[leaf as usize] = z);
            for v in (0..tree.nodes()).rev().filter(|&v| !tree.is_leaf(v)) {
                noise[v] = tree.children(v).map(|child| noise[child]).sum();
            }
            if (0..tree.nodes()).all(|v| !tree.is_known(v) || noise[v] == 0) {
                let log = |v: usize| {
                    if tree.is_known(v) { 0.0 } else { formulas[tree.level(v)].log_weight(noise[v] as f64) }
                };
                let weight = libm::exp((0..tree.nodes()).map(log).sum::<f64>());
                let sum = |weights: &&[i8]| own.iter().zip(*weights).map(|(z, &c)| z * i64::from(c)).sum();
                *law.entry(weights.iter().map(sum).collect()).or_insert(0.0) += weight;
                total += weight;
            }
            for z in &mut own {
                *z += 1;
                if *z <= reach {
                    continue 'all;
                }
                *z = -reach;
            }
            break;
        }
        law.values_mut().for_each(|p| *p /= total);
        law
    }

    pub(in crate::inference) fn trees() -> Vec<Hierarchy> {
        let all = [
            (&[0, 0, 0][..], &[][..]),
            (&[0, 0, 0], &[0]),
            (&[0, 0, 0, 1, 1, 2], &[]),
            (&[0, 0, 0, 1, 1, 2, 2], &[0]),
            (&[0, 0, 0, 1, 1, 2, 2], &[0, 1, 2]),
            // A known leaf; a known node below one that is not.
            (&[0, 0, 0, 0], &[0, 2]),
            (&[0, 0, 0, 1, 1, 2, 2], &[4]),
        ];
        all.iter()
            .map(|(parents, known)| {
                let tree = Hierarchy::from_parents(parents).unwrap();
                let known: Vec<bool> = (0..tree.nodes()).map(|v| known.contains(&v)).collect();
                tree.with_known(known).unwrap()
            })
            .collect()
    }

    #[test]
    fn laws_are_those_of_all_noise_listed() {
        fn check<L: IntegerLaw>(scales: [f64; 3], law: fn(f64) -> L, formula: fn(f64) -> Formula) {
            for tree in trees() {
                let laws: Vec<L> = scales[..tree.levels()].iter().map(|&scale| law(scale)).collect();
                let formulas: Vec<Formula> = scales.iter().map(|&scale| formula(scale)).collect();
                let n = tree.leaves().len();
                for code in 0..3usize.pow(n as u32) {
                    let weights: Vec<i8> =
                        (0..n).map(|i| (code / 3usize.pow(i as u32) % 3) as i8 - 1).collect();
                    if n > 3 && code % 5 != 0 {
                        continue;
                    }
                    let got = SumLaw::on_tree(&tree, &laws, &weights).unwrap();
                    let want = listed(&tree, &formulas, &[&weights], if n > 3 { 10 } else { 20 });
                    let off = |(t, p): (&Vec<i64>, &f64)| (got.p(t[0]) - p).abs();
                    let most = want.iter().map(off).fold(0.0, f64::max);
                    let mass: f64 = want.keys().map(|t| got.p(t[0])).sum();
                    assert!(most < 1e-12 && (mass - 1.0).abs() < 1e-12, "{weights:?}: {most} {mass}");
                    let variance: f64 = want.iter().map(|(t, p)| (t[0] * t[0]) as f64 * p).sum();
                    assert!((got.variance() - variance).abs() < 1e-10 * (1.0 + variance));
                }
            }
        }
        let (geometric, gaussian) = ([0.3, 0.36, 0.33], [1.1, 0.9, 1.0]);
        check(geometric, |scale| DoubleGeometric::new(scale).unwrap(), Formula::Geometric);
        check(gaussian, |scale| DiscreteGaussian::new(scale).unwrap(), Formula::DiscreteGaussian);
    }

    /// The law is that of draws of the sampler, which goes another way; half widths hold what they say.
    #[test]
    fn sums_of_draws_have_the_law() {
        let parents: Vec<usize> = [0, 0, 0, 0].into_iter().chain((0..24).map(|i| 1 + i / 8)).collect();
        let tree = Hierarchy::from_parents(&parents).unwrap();
        let laws = [3.0, 5.0, 2.0].map(|scale| DoubleGeometric::new(scale).unwrap());
        let weights: Vec<i8> = (0..24).map(|i| [1, 0, -1, 1, 0][i % 5]).collect();
        let (law, sampler) =
            (SumLaw::on_tree(&tree, &laws, &weights).unwrap(), IntegerTree::new(&tree, &laws, None).unwrap());
        let (mut rng, mut scratch) = (test_stream(301), PartsScratch::default());
        let (mut noise, draws, mut seen) = (vec![0; tree.nodes()], 100_000u64, BTreeMap::<i64, u64>::new());
        for _ in 0..draws {
            sampler.draw(&mut rng, &mut scratch, &mut noise);
            let sum: i64 = tree
                .leaves()
                .iter()
                .zip(&weights)
                .map(|(&leaf, &c)| noise[leaf as usize] * i64::from(c))
                .sum();
            *seen.entry(sum).or_default() += 1;
        }
        assert_frequencies((-400..=400).map(|t| (seen.get(&t).copied().unwrap_or(0), law.p(t))), draws);
        for level in [0.5, 0.9, 0.99, 0.999_999] {
            let half = law.half_width(level);
            assert!(law.beyond(half) <= 1.0 - level && law.beyond(half - 1) > 1.0 - level - 1e-11);
        }
    }

    /// Discrete Gaussian noise of a wide scale has the variance of least squares, which is a projection.
    #[test]
    fn wide_gaussian_noise_has_the_variance_of_least_squares() {
        let parents = [0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 3, 3];
        let tree = Hierarchy::from_parents(&parents).unwrap();
        let sigmas = [9.0, 7.0, 6.0];
        let laws = sigmas.map(|sigma| DiscreteGaussian::new(sigma).unwrap());
        let l2 = L2::new(&tree, &sigmas.map(|sigma| sigma * sigma)).unwrap();
        for weights in
            [[1, 0, 0, 0, 0, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0, 0, 0, 0], [1, 0, -1, 1, 0, 0, 1, -1, 1]]
        {
            let mut noise = vec![0.0; tree.nodes()];
            let leaves = || tree.leaves().iter().zip(&weights);
            leaves().for_each(|(&leaf, &c)| noise[leaf as usize] = 36.0 * f64::from(c));
            l2.project(&mut noise);
            let want: f64 = leaves().map(|(&leaf, &c)| noise[leaf as usize] * f64::from(c)).sum();
            let got = SumLaw::on_tree(&tree, &laws, &weights.map(|c| c as i8)).unwrap().variance();
            assert!((got / want - 1.0).abs() < 1e-9, "{got} {want}");
        }
    }

    #[test]
    fn what_is_fixed_has_no_width_and_what_is_wrong_is_refused() {
        let tree = Hierarchy::from_parents(&[0, 0, 0]).unwrap().with_known(vec![true, false, false]).unwrap();
        let laws = [DoubleGeometric::new(2.0).unwrap(); 2];
        for weights in [[0, 0], [1, 1], [-1, -1]] {
            let law = SumLaw::on_tree(&tree, &laws, &weights).unwrap();
            assert!(law.p(0) > 1.0 - 1e-12 && law.half_width(0.95) == 0, "{law:?}");
        }
        let refused = |laws: &[DoubleGeometric], weights: &[i8]| {
            SumLaw::on_tree(&tree, laws, weights).unwrap_err().to_string()
        };
        assert!(refused(&laws, &[1]).contains("one per leaf"));
        assert!(refused(&laws, &[2, 0]).contains("-1, 0 or 1"));
        assert!(refused(&laws[..1], &[1, 0]).contains("laws"));
        let wide = [DoubleGeometric::new(1e4).unwrap(); 2];
        assert!(refused(&wide, &[1, 0]).contains("the law of a sum"));
    }
}
