//! Where the noise of a tree lies that must not go below floors: exponential tilts for its tables.

use crate::invariant::Hierarchy;
use crate::law::IntegerLaw;
use std::collections::HashMap;

/// By node with children: t of the factor `e^(t z)` under which its children's noise, independent and within its floors,
/// sums to about what it does under the law of the whole tree. `None` if that is so without any tilt.
///
/// Leaves with small counts push sums up; the weights of their ancestors, and leaves with large counts beside them, pull
/// them down again. Tables without a tilt would hold what leaves alone give. Tilting all children of a node alike changes
/// nothing but a factor that depends on their sum, which is taken back where the sum is weighted.
///
/// Every subtree has a curve: mean and variance of its sum by tilt. That of a node follows from those of its children:
/// with the tilt `θ` inside, mean `m(θ)` and variance `v(θ)`, the tilt outside is `θ - E[(ln w)'(S)]`, `S` normal with
/// both. The root has none outside; inside a known node the mean is 0. These are estimates for the choice of tables;
/// what they miss is measured by the tables' defects.
///
/// - `counts`: by node, those of the leaves are their floors.
pub(super) fn tilts<L: IntegerLaw>(tree: &Hierarchy, laws: &[L], counts: &[i64]) -> Option<Vec<f64>> {
    let slopes: Vec<Slope> = laws.iter().map(Slope::of).collect();
    let mut curves: Vec<Curve> = Vec::new();
    let mut known: HashMap<Shape, u32> = HashMap::new();
    let grid = Grid::new(tree, laws, counts)?;
    // By node: its curve as its parent sees it, and as its children make it.
    let mut outer = vec![0u32; tree.nodes()];
    let mut inner = vec![0u32; tree.nodes()];
    for v in (0..tree.nodes()).rev() {
        let level = tree.level(v);
        if tree.is_leaf(v) {
            let floor = -rounded(counts[v]);
            outer[v] = *known.entry(Shape::Leaf(level, floor)).or_insert_with(|| {
                let at = |tilt: &f64| moments(&laws[level], floor, *tilt);
                push(&mut curves, grid.0.iter().map(at).unzip())
            });
            continue;
        }
        let mut children: Vec<u32> = tree.open_children(v).map(|c| outer[c]).collect();
        if children.is_empty() {
            continue;
        }
        children.sort_unstable();
        inner[v] = match known.get(&Shape::Sum(children.clone())) {
            Some(&id) => id,
            None => {
                let (mut means, mut variances) = (vec![0.0; grid.0.len()], vec![0.0; grid.0.len()]);
                for &child in &children {
                    let child = &curves[child as usize];
                    means.iter_mut().zip(&child.means).for_each(|(sum, x)| *sum += x);
                    variances.iter_mut().zip(&child.variances).for_each(|(sum, x)| *sum += x);
                }
                let id = push(&mut curves, (means, variances));
                known.insert(Shape::Sum(children), id);
                id
            }
        };
        if tree.is_known(v) {
            continue;
        }
        let shape = Shape::Node(level, inner[v]);
        outer[v] = match known.get(&shape) {
            Some(&id) => id,
            None => {
                let curve = &curves[inner[v] as usize];
                let seen = |outside: &f64| {
                    let (mean, variance) =
                        curve.at(&grid, curve.inside(&grid, Some(slopes[level]), *outside));
                    (mean, slopes[level].narrowed(mean, variance))
                };
                let seen = grid.0.iter().map(seen).unzip();
                let id = push(&mut curves, seen);
                known.insert(shape, id);
                id
            }
        };
    }
    let mut tilts = vec![0.0f64; tree.nodes()];
    let mut solved: HashMap<(u32, usize, u64), f64> = HashMap::new();
    let mut misses = false;
    for v in (0..tree.nodes()).filter(|&v| tree.open_children(v).next().is_some()) {
        let outside: f64 = if v == 0 { 0.0 } else { tilts[tree.parent(v)] };
        let (curve, level) = (&curves[inner[v] as usize], tree.level(v));
        let (slope, place) = match tree.is_known(v) {
            true => (None, (inner[v], usize::MAX, 0)),
            false => (Some(slopes[level]), (inner[v], level, outside.to_bits())),
        };
        tilts[v] = *solved.entry(place).or_insert_with(|| {
            let tilt = curve.inside(&grid, slope, outside);
            let (mean, variance) = curve.at(&grid, tilt);
            let (free, spread) = curve.at(&grid, 0.0);
            misses |= (free - mean).abs() > MISS * libm::sqrt(spread);
            // To a quarter of a standard deviation: so that nodes of one shape share their tables.
            let quantum = libm::exp2(libm::floor(libm::log2(0.5 / libm::sqrt(variance.max(1e-12)))));
            libm::rint(tilt / quantum) * quantum
        });
    }
    misses.then_some(tilts)
}

/// Standard deviations by which a sum may miss its mean before it is tilted.
const MISS: f64 = 4.0;

/// Counts that differ by less than 3 % are taken for one here.
fn rounded(count: i64) -> i64 {
    if count < 32 {
        return count;
    }
    let unit = 1i64 << (count.ilog2() - 5);
    count / unit * unit
}

fn push(curves: &mut Vec<Curve>, (means, variances): (Vec<f64>, Vec<f64>)) -> u32 {
    curves.push(Curve { means, variances });
    (curves.len() - 1) as u32
}

#[derive(PartialEq, Eq, Hash)]
enum Shape {
    Leaf(usize, i64),
    Sum(Vec<u32>),
    Node(usize, u32),
}

/// How the weight of a level pulls: the expectation of `(ln w)'` under a normal law.
#[derive(Clone, Copy)]
pub(super) enum Slope {
    /// `-rate sign(z)`.
    Geometric(f64),
    /// `-z / sigma²`.
    Gaussian(f64),
}

impl Slope {
    pub(super) fn of<L: IntegerLaw>(law: &L) -> Self {
        match law.as_double_geometric() {
            Some(law) => Self::Geometric(law.rate()),
            None => Self::Gaussian(1.0 / (law.scale() * law.scale())),
        }
    }

    fn at(self, mean: f64, variance: f64) -> f64 {
        match self {
            Self::Geometric(rate) => -rate * libm::erf(mean / libm::sqrt(2.0 * variance.max(1e-300))),
            Self::Gaussian(precision) => -mean * precision,
        }
    }

    /// The variance of a normal law under the weight.
    pub(super) fn narrowed(self, mean: f64, variance: f64) -> f64 {
        let variance = variance.max(1e-300);
        match self {
            Self::Geometric(rate) => {
                let top = libm::sqrt(2.0 * variance / std::f64::consts::PI);
                variance / (1.0 + rate * top * libm::exp(-0.5 * mean * mean / variance))
            }
            Self::Gaussian(precision) => variance / (1.0 + variance * precision),
        }
    }
}

/// Tilts at which curves are known, ascending, the last of them 0.
struct Grid(Vec<f64>);

/// Steps from the strongest tilt to one that moves nothing.
const STEPS: i32 = 96;

impl Grid {
    /// `None` where nothing pushes any sum.
    fn new<L: IntegerLaw>(tree: &Hierarchy, laws: &[L], counts: &[i64]) -> Option<Self> {
        let levels = tree.levels();
        // Free means of leaves add up to more than any sum of theirs has.
        let mut largest = vec![0.0f64; levels];
        let mut above = vec![0.0; tree.nodes()];
        let mut free: HashMap<(usize, i64), f64> = HashMap::new();
        for v in (0..tree.nodes()).rev() {
            let level = tree.level(v);
            above[v] = if tree.is_leaf(v) {
                let floor = -rounded(counts[v]);
                *free.entry((level, floor)).or_insert_with(|| moments(&laws[level], floor, 0.0).0.max(0.0))
            } else {
                let sum = above[tree.children(v)].iter().sum();
                largest[level] = largest[level].max(sum);
                sum
            };
        }
        // Inside known nodes a few terms may have to hold all that many together may.
        let mut strongest = if tree.has_known() { 5.0 + libm::log(tree.nodes() as f64) } else { 0.0 };
        let mut rates = Vec::new();
        for (law, largest) in laws.iter().zip(largest) {
            strongest += match Slope::of(law) {
                Slope::Geometric(rate) => {
                    rates.push(rate);
                    rate
                }
                Slope::Gaussian(precision) => largest * precision,
            };
        }
        if !(strongest > 1e-200 && strongest < 1e200) {
            return None;
        }
        let ratio = libm::pow(1e-8, 1.0 / f64::from(STEPS));
        let mut grid: Vec<f64> = (0..=STEPS).map(|k| -strongest * libm::pow(ratio, f64::from(k))).collect();
        // Near its rate a double geometric law with a deep floor goes there.
        for rate in rates {
            for j in 1..=26 {
                let near = rate * libm::exp2(-f64::from(j));
                grid.extend([near - rate, -near - rate]);
            }
        }
        grid.push(0.0);
        grid.retain(|tilt| *tilt >= -strongest);
        grid.sort_by(f64::total_cmp);
        grid.dedup();
        Some(Self(grid))
    }
}

/// Mean and variance of a sum by tilt; the variance is the mean's derivative.
struct Curve {
    means: Vec<f64>,
    variances: Vec<f64>,
}

impl Curve {
    /// Mean and variance at a tilt of the grid's range: by cubic Hermite interpolation.
    fn at(&self, grid: &Grid, tilt: f64) -> (f64, f64) {
        let last = grid.0.len() - 1;
        let i = grid.0.partition_point(|t| *t <= tilt).clamp(1, last) - 1;
        let (from, to) = (grid.0[i], grid.0[i + 1]);
        let (h, x) = (to - from, ((tilt - from) / (to - from)).clamp(0.0, 1.0));
        let (m, v) = (&self.means, &self.variances);
        let (y, x2, x3) = (1.0 - x, x * x, x * x * x);
        let mean = m[i] * (1.0 - 3.0 * x2 + 2.0 * x3)
            + m[i + 1] * (3.0 * x2 - 2.0 * x3)
            + h * (v[i] * x * y * y - v[i + 1] * x2 * y);
        (mean.max(m[i].min(m[i + 1])).min(m[i].max(m[i + 1])), v[i] * y + v[i + 1] * x)
    }

    /// The tilt inside that a node with such a weight has under one outside; of a known node, under which its mean is 0.
    fn inside(&self, grid: &Grid, slope: Option<Slope>, outside: f64) -> f64 {
        let off = |tilt: f64, (mean, variance): (f64, f64)| match slope {
            Some(slope) => tilt - slope.at(mean, variance) - outside,
            None => mean,
        };
        let at = |i: usize| off(grid.0[i], (self.means[i], self.variances[i]));
        // It rises with the tilt.
        let (mut low, mut high) = (0, grid.0.len() - 1);
        if at(low) >= 0.0 {
            return grid.0[low];
        }
        if at(high) <= 0.0 {
            return grid.0[high];
        }
        while high - low > 1 {
            let middle = (low + high) / 2;
            if at(middle) <= 0.0 { low = middle } else { high = middle }
        }
        let (mut low, mut high) = (grid.0[low], grid.0[high]);
        for _ in 0..12 {
            let middle = 0.5 * (low + high);
            if off(middle, self.at(grid, middle)) <= 0.0 { low = middle } else { high = middle }
        }
        0.5 * (low + high)
    }
}

/// Mean and variance of one term `z >= floor` (<= 0) with the weights `w(z) e^(tilt z)`, tilt <= 0.
pub(super) fn moments<L: IntegerLaw>(law: &L, floor: i64, tilt: f64) -> (f64, f64) {
    match law.as_double_geometric() {
        Some(law) => geometric_moments(law.rate(), floor, tilt),
        None => {
            let square = law.scale() * law.scale();
            let mode = libm::rint(tilt * square).max(floor as f64);
            // Relative to that of the mode.
            let log_weight = |z: f64| -(z - mode) * (0.5 * (z - mode) / square + (mode / square - tilt));
            // Where the weights fall slowly, a value stands for several.
            let fall = -log_weight(mode + 1.0);
            let stride = libm::floor(law.scale().min(1.0 / fall.max(1e-9)) / 32.0).max(1.0);
            let (mut mass, mut first, mut second) = (0.0, 0.0, 0.0);
            for step in [stride, -stride] {
                let mut z = if step > 0.0 { mode } else { mode - stride };
                while z >= floor as f64 {
                    let log = log_weight(z);
                    if log < -40.0 {
                        break;
                    }
                    // Half of the interval around the floor lies below it.
                    let share = if z - stride < floor as f64 && stride > 1.0 { 0.5 } else { 1.0 };
                    let weight = share * libm::exp(log);
                    mass += weight;
                    first += weight * (z - mode);
                    second += weight * (z - mode) * (z - mode);
                    z += step;
                }
            }
            let mean = first / mass;
            (mode + mean, (second / mass - mean * mean).max(0.0))
        }
    }
}

/// Mean and variance of one double geometric term `z >= floor` with the weights `e^(tilt z - rate |z|)`, put together
/// from those of what is at least 0 and of what is below.
fn geometric_moments(rate: f64, floor: i64, tilt: f64) -> (f64, f64) {
    let up = tilt - rate;
    let one_minus = -libm::expm1(up);
    let ratio = libm::exp(up);
    let above = (-libm::log(one_minus), ratio / one_minus, ratio / (one_minus * one_minus));
    if floor == 0 {
        return (above.1, above.2);
    }
    // -1 - z for z < 0, on 0 … m: weights e^(lean k).
    let (lean, m) = (-rate - tilt, -(floor + 1) as f64);
    let below = {
        let (log, mean, variance) = truncated_geometric(lean, m);
        (log + lean, -1.0 - mean, variance)
    };
    let share = 1.0 / (1.0 + libm::exp(below.0 - above.0));
    let mean = share * above.1 + (1.0 - share) * below.1;
    let between = above.1 - below.1;
    let variance = share * above.2 + (1.0 - share) * below.2 + share * (1.0 - share) * between * between;
    (mean, variance)
}

/// `ln Σ`, mean and variance of the weights `e^(lean k)`, k = 0 … m.
fn truncated_geometric(lean: f64, m: f64) -> (f64, f64, f64) {
    let n = m + 1.0;
    if lean.abs() * n < 0.05 {
        let variance = (n * n - 1.0) / 12.0;
        return (libm::log(n) + 0.5 * lean * m, 0.5 * m + lean * variance, variance);
    }
    if lean > 0.0 {
        let (log, mean, variance) = truncated_geometric(-lean, m);
        return (log + lean * m, m - mean, variance);
    }
    let (one, all) = (-libm::expm1(lean), -libm::expm1(lean * n));
    let (ratio, end) = (libm::exp(lean), libm::exp(lean * n));
    let mean = ratio / one - n * end / all;
    let variance = ratio / (one * one) - n * n * end / (all * all);
    (libm::log(all) - libm::log(one), mean, variance.max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::{DiscreteGaussian, DoubleGeometric};

    /// Moments of one term against sums over all its values.
    #[test]
    fn moments_of_one_term() {
        let check = |log_weight: &dyn Fn(i64) -> f64, floor: i64, got: (f64, f64), within: f64| {
            let all: Vec<(f64, f64)> = (floor..4000).map(|z| (z as f64, log_weight(z))).collect();
            let top = all.iter().map(|(_, log)| *log).fold(f64::NEG_INFINITY, f64::max);
            let sum = |f: &dyn Fn(f64) -> f64| -> f64 {
                all.iter().map(|(z, log)| f(*z) * libm::exp(log - top)).sum()
            };
            let mass = sum(&|_| 1.0);
            let mean = sum(&|z| z) / mass;
            let variance = sum(&|z| (z - mean) * (z - mean)) / mass;
            let scale = libm::sqrt(variance);
            assert!((got.0 - mean).abs() <= within * scale, "{floor}: {} {mean}", got.0);
            assert!((got.1 - variance).abs() <= within * variance, "{floor}: {} {variance}", got.1);
        };
        for floor in [0, -1, -2, -7, -60, -900] {
            for tilt in [0.0, -0.01, -0.2, -0.5, -0.500001, -0.7, -3.0] {
                let law = DoubleGeometric::new(2.0).unwrap();
                let log = |z: i64| law.log_weight(z) + tilt * z as f64;
                check(&log, floor, moments(&law, floor, tilt), 1e-6);
                let law = DiscreteGaussian::new(2.5).unwrap();
                let log = |z: i64| law.log_weight(z) + tilt * z as f64;
                check(&log, floor, moments(&law, floor, tilt), 1e-9);
                let law = DiscreteGaussian::new(200.0).unwrap();
                let log = |z: i64| law.log_weight(z) + tilt / 100.0 * z as f64;
                check(&log, floor, moments(&law, floor, tilt / 100.0), 2e-2);
            }
        }
    }
    use crate::law::Law;
}
