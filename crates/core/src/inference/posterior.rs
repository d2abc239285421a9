//! The posterior of the counts given what was released of a tree, with a prior by leaf.

use super::prior::Prior;
use super::splits::{Row, Splits};
use crate::error::{Error, Result};
use crate::invariant::Hierarchy;
use crate::rng::Rng;
use std::sync::OnceLock;

/// What noise weighs, but for a factor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Weight {
    /// `e^(-|z|/λ)`: Laplace and double geometric noise.
    Exponential(f64),
    /// `e^(-z²/(2σ²))`: Gaussian and discrete Gaussian noise.
    Gaussian(f64),
}

impl Weight {
    fn log(self, z: f64) -> f64 {
        match self {
            Self::Exponential(lambda) => -z.abs() / lambda,
            Self::Gaussian(sigma) => -0.5 * (z / sigma) * (z / sigma),
        }
    }

    /// Beyond which it weighs less than `e^-drop`.
    fn reach(self, drop: f64) -> f64 {
        match self {
            Self::Exponential(lambda) => drop * lambda,
            Self::Gaussian(sigma) => sigma * libm::sqrt(2.0 * drop),
        }
    }
}

/// A law of one count on a range of integers.
#[derive(Debug, Clone, PartialEq)]
pub struct CountLaw {
    from: i64,
    p: Vec<f64>,
}

impl CountLaw {
    /// The law of the counts from `from` on, by the logarithms of what they weigh, but for a constant. `None`: all of it is nothing.
    pub(crate) fn of_logs(from: i64, mut logs: Vec<f64>) -> Option<Self> {
        let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if !most.is_finite() {
            return None;
        }
        logs.iter_mut().for_each(|log| *log = libm::exp(*log - most));
        let total: f64 = logs.iter().sum();
        logs.iter_mut().for_each(|p| *p /= total);
        Some(Self { from, p: logs })
    }

    /// `P(x)`.
    pub fn p(&self, x: i64) -> f64 {
        let place = x.checked_sub(self.from).and_then(|place| usize::try_from(place).ok());
        place.and_then(|place| self.p.get(place)).copied().unwrap_or(0.0)
    }

    /// The mean, in counts.
    pub fn mean(&self) -> f64 {
        self.from as f64 + self.p.iter().enumerate().map(|(i, p)| i as f64 * p).sum::<f64>()
    }

    /// The variance, in counts squared.
    pub fn variance(&self) -> f64 {
        let mean = self.mean() - self.from as f64;
        self.p.iter().enumerate().map(|(i, p)| (i as f64 - mean) * (i as f64 - mean) * p).sum()
    }

    /// The mean of a function of the count.
    pub fn mean_of(&self, of: impl Fn(i64) -> f64) -> f64 {
        self.p.iter().zip(self.from..).map(|(p, x)| p * of(x)).sum()
    }

    /// The least count that it and those below it have more than the probability u of, from 0, below 1: of a uniform u a draw.
    pub fn quantile(&self, u: f64) -> i64 {
        let mut below = 0.0;
        let place = self.p.iter().position(|p| {
            below += p;
            below > u
        });
        // Rounding may leave the sum below u: then the last that has any.
        let last = || self.p.iter().rposition(|p| *p > 0.0).unwrap_or(0);
        self.from + place.unwrap_or_else(last) as i64
    }

    /// The interval with at most `(1 - level)/2` on either side.
    pub fn interval(&self, level: f64) -> (i64, i64) {
        let allowed = 0.5 * (1.0 - level);
        let side = |values: &mut dyn Iterator<Item = &f64>| {
            let mut beyond = 0.0;
            let inside = values.take_while(|p| {
                beyond += **p;
                beyond <= allowed
            });
            inside.count() as i64
        };
        let (low, high) = (side(&mut self.p.iter()), side(&mut self.p.iter().rev()));
        (self.from + low, self.from + self.p.len() as i64 - 1 - high)
    }
}

/// A part of the tree: a leaf, two parts side by side, or a node around a part.
#[derive(Debug, Clone, Copy)]
enum Part {
    Leaf,
    Pair(u32, u32),
    Around(u32),
}

/// What a part weighs by its sum.
#[derive(Debug, Clone)]
struct Table {
    from: i64,
    w: Vec<f64>,
}

/// The posterior `p(x | y) ∝ Π_leaves π(x_i) · Π_v w_v(y_v - s_v(x))` of the integer counts x of a tree, given released values y of all
/// nodes, with `s_v(x)` the sum below v, which is y_v where v is known.
///
/// That is the posterior given noise added to every node, and also given noise conditioned on the equations (whose law has a
/// constant that does not depend on x): values may add up or not. Of releases conditioned on inequalities it is none.
///
/// One pass up the tree, where the children of a node are joined two by two, gives a table for every sum and the evidence
/// `Σ_x π(x) Π w`; one down gives the law of every node's count, or a draw of all counts, independent of others. All terms are
/// at least 0. Tables end where what is left is below 1e-22 of them, or less where that would leave out more than 1e-9 of
/// the posterior; [`Posterior::lacks`] bounds what is left out.
///
/// # Examples
///
/// ```
/// use congenial_core::inference::{Posterior, Prior, Weight};
/// use congenial_core::invariant::Hierarchy;
///
/// // A total of 9 and two counts of 2 and 4, each with double geometric noise: all three tell of each.
/// let tree = Hierarchy::from_parents(&[0, 0, 0])?;
/// let posterior = Posterior::on_tree(&tree, &[Weight::Exponential(2.0); 2], &[9.0, 2.0, 4.0], &[Prior::NONNEGATIVE; 2])?;
/// let laws = posterior.laws();
/// assert!(laws[1].mean() > 2.0 && laws[0].mean() < 9.0);
/// assert!((laws[1].mean() + laws[2].mean() - laws[0].mean()).abs() < 1e-12);
/// # Ok::<(), congenial_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Posterior<'a> {
    tree: &'a Hierarchy,
    weights: &'a [Weight],
    values: &'a [f64],
    parts: Vec<Part>,
    tables: Vec<Table>,
    /// By node, its part.
    of_node: Vec<u32>,
    /// By leaf, where its prior begins and ends.
    allowed: Vec<(f64, f64)>,
    log_evidence: f64,
    lacks: f64,
    drop: f64,
    entries: usize,
    drawn: OnceLock<Drawn>,
}

/// Where tables end: `e^-drop` below their largest. More where released values are so far from each other that the posterior
/// lies in the tails of its parts.
const DROPS: [f64; 3] = [56.0, 200.0, 690.0];
/// Mass of a posterior that may be left out before tables are made longer.
const LACKS: f64 = 1e-9;
/// Products of one pass at most: some minutes.
const WORK: f64 = 2e11;
/// Entries of all tables: 2 GiB.
const ENTRIES: usize = 1 << 28;
/// Longest table.
const LONGEST: f64 = (1u64 << 22) as f64;

impl<'a> Posterior<'a> {
    /// The pass up.
    ///
    /// - `weights`: one per level.
    /// - `values`: by node, what was released; of a known node, and of one whose count follows from known ones, its count.
    /// - `priors`: one per leaf, in the order of [`Hierarchy::leaves`].
    ///
    /// Errors: another number of any; parameters out of range; a node where nothing is left ([`Error::AtNode`]); tables that are too
    /// large.
    pub fn on_tree(
        tree: &'a Hierarchy,
        weights: &'a [Weight],
        values: &'a [f64],
        priors: &[Prior],
    ) -> Result<Self> {
        tree.check_one_per_level("weights", weights.len())?;
        if values.len() != tree.nodes() {
            return Err(Error::parameter("values", values.len(), "one per node"));
        }
        if priors.len() != tree.leaves().len() {
            return Err(Error::parameter("priors", priors.len(), "one per leaf"));
        }
        priors.iter().try_for_each(|prior| prior.check())?;
        let longest = DROPS[DROPS.len() - 1];
        for drop in DROPS {
            match Self::up(tree, weights, values, priors, drop) {
                Ok(posterior) if posterior.lacks > LACKS && drop < longest => {}
                Err(Error::AtNode { .. }) if drop < longest => {}
                done => return done,
            }
        }
        unreachable!("the last is returned")
    }

    fn up(
        tree: &'a Hierarchy,
        weights: &'a [Weight],
        values: &'a [f64],
        priors: &[Prior],
        drop: f64,
    ) -> Result<Self> {
        let mut posterior = Self {
            tree,
            weights,
            values,
            parts: Vec::new(),
            tables: Vec::new(),
            of_node: vec![0; tree.nodes()],
            allowed: priors.iter().map(|prior| prior.support()).collect(),
            log_evidence: 0.0,
            lacks: 0.0,
            drop,
            entries: 0,
            drawn: OnceLock::new(),
        };
        let mut work = 0.0;
        for v in (0..tree.nodes()).rev() {
            if tree.is_leaf(v) {
                let table = posterior.leaf(v, priors[tree.leaf_number(v as u32) - 1])?;
                posterior.add(v, Part::Leaf, table)?;
            } else {
                let mut parts: Vec<u32> = tree.children(v).map(|child| posterior.of_node[child]).collect();
                while parts.len() > 1 {
                    let mut joined = Vec::with_capacity(parts.len().div_ceil(2));
                    for pair in parts.chunks(2) {
                        let &[a, b] = pair else {
                            joined.push(pair[0]);
                            continue;
                        };
                        let (left, right) = (&posterior.tables[a as usize], &posterior.tables[b as usize]);
                        work += left.w.len() as f64 * right.w.len() as f64;
                        if work > WORK {
                            return Err(too_large(work, WORK, "products"));
                        }
                        let table = left.beside(right);
                        posterior.add(v, Part::Pair(a, b), table)?;
                        joined.push(posterior.parts.len() as u32 - 1);
                    }
                    parts = joined;
                }
                let table = posterior.around(v, &posterior.tables[parts[0] as usize]);
                posterior.add(v, Part::Around(parts[0]), table)?;
            }
            posterior.of_node[v] = posterior.parts.len() as u32 - 1;
        }
        Ok(posterior)
    }

    /// Keeps the table of a part of v, with a mass of 1.
    fn add(&mut self, v: usize, part: Part, mut table: Table) -> Result<()> {
        let mass: f64 = table.w.iter().sum();
        if !(mass > 0.0 && mass.is_finite()) {
            return Err(self.nothing_left(v));
        }
        // What was cut from the parts weighs at most as much as they did.
        if let Part::Around(_) = part {
            self.lacks += 4.0 * self.tail() / mass.min(1.0);
        }
        table.w.iter_mut().for_each(|w| *w /= mass);
        table.trim(self.tail());
        self.log_evidence += libm::log(mass);
        self.entries += table.w.len();
        if self.entries > ENTRIES {
            return Err(too_large(self.entries as f64, ENTRIES as f64, "entries"));
        }
        self.parts.push(part);
        self.tables.push(table);
        Ok(())
    }

    /// The error of a node where no count is left.
    fn nothing_left(&self, v: usize) -> Error {
        let (low, high) = (0..self.tree.leaves().len())
            .filter(|&place| self.is_below(self.tree.leaves()[place] as usize, v))
            .map(|place| self.allowed[place])
            .fold((0.0, 0.0), |(low, high), own| (low + own.0, high + own.1));
        let allowed = match (low.is_finite(), high.is_finite()) {
            _ if low > high => format!("no count (from {low} to {high})"),
            (true, true) => format!("{low} to {high}"),
            (true, false) => format!("{low} and more"),
            (false, true) => format!("{high} and less"),
            (false, false) => "any count".to_owned(),
        };
        let (what, value) =
            (if self.tree.is_known(v) { "known to be" } else { "released as" }, self.values[v]);
        let why = format!(
            "is {what} {value}, and no count is left there: the prior and the bounds allow {allowed}, and of that nothing agrees with \
             the known counts, or lies within 10^-290 of the noise"
        );
        Error::AtNode { node: v, why }
    }

    /// Whether a node is another or below it.
    fn is_below(&self, mut node: usize, v: usize) -> bool {
        // Children come after their parents.
        while node > v {
            node = self.tree.parent(node);
        }
        node == v
    }

    /// The mass of a tail that is cut, of a table's: that of what weighs less, on either side of a peak.
    fn tail(&self) -> f64 {
        libm::exp(5.0 - self.drop)
    }

    /// `π(x) w(y - x)`, in units of its largest.
    fn leaf(&mut self, v: usize, prior: Prior) -> Result<Table> {
        let value = self.values[v];
        let mass = prior.log_mass()?;
        self.log_evidence -= if mass.is_finite() { mass } else { 0.0 };
        if self.tree.is_known(v) {
            let (x, log) = (value as i64, prior.log(value as i64));
            // However small, it is a factor alone.
            self.log_evidence += if log.is_finite() { log } else { 0.0 };
            return Ok(Table { from: x, w: vec![if log.is_finite() { 1.0 } else { 0.0 }] });
        }
        let weight = self.weights[self.tree.level(v)];
        let (low, high) = prior.support();
        if low > high {
            return Ok(Table { from: 0, w: vec![0.0] });
        }
        let near = value.clamp(low, high);
        let mode = prior.mode().unwrap_or(near).clamp(low, high);
        // Beyond the released value and the prior's mode the posterior falls as the weight does, from what it is at the nearest
        // place; and wherever the prior is, it gains no more by it than its mode has over that place.
        let drop = self.drop - weight.log(value - near);
        let gain = prior.log(libm::floor(mode) as i64) - prior.log(libm::round(near) as i64);
        let (reach, most) = (weight.reach(drop) + 1.0, weight.reach(drop + gain.max(0.0)) + 2.0);
        let from = (value - reach).min(mode.min(near)).max(value - most).max(low);
        let to = (value + reach).max(mode.max(near)).min(value + most).min(high);
        let (from, to) = (libm::ceil(from), libm::floor(to));
        if to < from {
            return Ok(Table { from: 0, w: vec![0.0] });
        }
        if to - from > LONGEST {
            return Err(too_large(to - from, LONGEST, "entries"));
        }
        let from = from as i64;
        let logs: Vec<f64> =
            (from..=to as i64).map(|x| prior.log(x) + weight.log(value - x as f64)).collect();
        let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        self.log_evidence += most;
        Ok(Table { from, w: logs.iter().map(|log| libm::exp(log - most)).collect() })
    }

    /// What a node weighs around a part.
    fn around(&self, v: usize, inner: &Table) -> Table {
        let value = self.values[v];
        if self.tree.is_known(v) {
            let x = value as i64;
            return Table { from: x, w: vec![inner.at(x)] };
        }
        let weight = self.weights[self.tree.level(v)];
        let of = |(i, w): (usize, &f64)| w * libm::exp(weight.log(value - (inner.from + i as i64) as f64));
        Table { from: inner.from, w: inner.w.iter().enumerate().map(of).collect() }
    }

    /// `ln Σ_x π(x) Π_v w_v(y_v - s_v(x))`: of proper priors the logarithm of the marginal likelihood, but for the constant of the
    /// noise, which does not depend on the prior.
    pub fn log_evidence(&self) -> f64 {
        self.log_evidence
    }

    /// At most so much of the posterior's mass is left out, by the ends of tables.
    pub fn lacks(&self) -> f64 {
        self.lacks
    }

    /// By node, for leaves: the least count that a draw can have; 0 elsewhere.
    pub(super) fn least(&self) -> Vec<i64> {
        let of = |v: usize| if self.tree.is_leaf(v) { self.tables[self.of_node[v] as usize].from } else { 0 };
        (0..self.tree.nodes()).map(of).collect()
    }

    /// The law of every node's count: the pass down.
    pub fn laws(&self) -> Vec<CountLaw> {
        let mut outside: Vec<Option<Vec<f64>>> = vec![None; self.parts.len()];
        let root = self.parts.len() - 1;
        outside[root] = Some(vec![1.0; self.tables[root].w.len()]);
        let mut node_of = vec![u32::MAX; self.parts.len()];
        self.of_node.iter().enumerate().for_each(|(v, &part)| node_of[part as usize] = v as u32);
        let mut laws = vec![CountLaw { from: 0, p: Vec::new() }; self.tree.nodes()];
        for place in (0..self.parts.len()).rev() {
            let (table, Some(around)) = (&self.tables[place], outside[place].take()) else { continue };
            match self.parts[place] {
                Part::Leaf => {}
                Part::Pair(a, b) => {
                    let (left, right) = (&self.tables[a as usize], &self.tables[b as usize]);
                    outside[a as usize] = Some(left.outside(table, &around, right));
                    outside[b as usize] = Some(right.outside(table, &around, left));
                }
                Part::Around(inner) => {
                    let v = node_of[place] as usize;
                    let part = &self.tables[inner as usize];
                    let weighed = self.around(v, &Table { from: part.from, w: vec![1.0; part.w.len()] });
                    let own = |i: usize| {
                        let x = part.from + i as i64;
                        weighed.at(x) * table.place(x).map_or(0.0, |place| around[place])
                    };
                    outside[inner as usize] = Some(scaled((0..part.w.len()).map(own).collect()));
                }
            }
            if node_of[place] != u32::MAX {
                let mut p: Vec<f64> = table.w.iter().zip(&around).map(|(w, d)| w * d).collect();
                let total: f64 = p.iter().sum();
                p.iter_mut().for_each(|p| *p /= total);
                laws[node_of[place] as usize] = CountLaw { from: table.from, p };
            }
        }
        laws
    }

    /// Draws all counts, by node: independent of other draws. A split takes the length of a table, or once its sum was split before one
    /// look-up.
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R, counts: &mut [i64]) {
        let drawn = self.drawn.get_or_init(|| Drawn::new(&self.parts, &self.tables, &self.of_node));
        let mut of = vec![0i64; self.parts.len()];
        of[drawn.root.0] = drawn.root.1 + drawn.root.2.place(rng.next_u64()) as i64;
        for split in &drawn.steps {
            let sum = of[split.part as usize];
            // Where both are on their tables.
            let first = split.left_from.max(sum - split.right_last);
            let x = first
                + drawn.splits.draw((split.rows + sum) as usize, rng, || self.weights_of(split, sum, first))
                    as i64;
            (of[split.left as usize], of[split.right as usize]) = (x, sum - x);
        }
        drawn.of_node.iter().zip(counts).for_each(|(&part, count)| *count = of[part as usize]);
    }

    /// The weights of the left part's sums from `first` on, where both parts have the sum.
    fn weights_of(&self, split: &Split, sum: i64, first: i64) -> impl Iterator<Item = f64> + Clone {
        let (left, right) =
            (&self.tables[split.left_table as usize], &self.tables[split.right_table as usize]);
        let last = (left.from + left.w.len() as i64 - 1).min(sum - right.from);
        let (a0, b0) = ((first - left.from) as usize, (sum - last - right.from) as usize);
        let number = (last - first + 1) as usize;
        left.w[a0..a0 + number].iter().zip(right.w[b0..b0 + number].iter().rev()).map(|(a, b)| a * b)
    }
}

/// What draws have in common.
#[derive(Debug)]
struct Drawn {
    /// The part with the sum of all, its least sum, and the law of that.
    root: (usize, i64, Row),
    /// The parts that are split, those that have others first.
    steps: Vec<Split>,
    /// By node, the part with its sum.
    of_node: Vec<u32>,
    splits: Splits,
}

/// A part whose sum is split in two. Parts are those with sums of their own, which a node around another has not.
#[derive(Debug)]
struct Split {
    part: u32,
    left: u32,
    right: u32,
    left_table: u32,
    right_table: u32,
    left_from: i64,
    right_last: i64,
    /// The number of a sum of 0 among the sums of all parts: less than 0 where 0 is not among its own.
    rows: i64,
}

impl Drawn {
    fn new(parts: &[Part], tables: &[Table], of_node: &[u32]) -> Self {
        let mut own: Vec<u32> = Vec::with_capacity(parts.len());
        for (place, part) in parts.iter().enumerate() {
            own.push(if let Part::Around(inner) = part { own[*inner as usize] } else { place as u32 });
        }
        let (mut steps, mut sums) = (Vec::new(), 0);
        for (place, part) in parts.iter().enumerate().rev() {
            let &Part::Pair(a, b) = part else { continue };
            let (table, left, right) = (&tables[place], &tables[a as usize], &tables[b as usize]);
            steps.push(Split {
                part: place as u32,
                left: own[a as usize],
                right: own[b as usize],
                left_table: a,
                right_table: b,
                left_from: left.from,
                right_last: right.from + right.w.len() as i64 - 1,
                rows: sums as i64 - table.from,
            });
            sums += table.w.len();
        }
        let top = parts.len() - 1;
        Self {
            root: (own[top] as usize, tables[top].from, Row::new(&tables[top].w)),
            steps,
            of_node: of_node.iter().map(|&part| own[part as usize]).collect(),
            splits: Splits::new(sums),
        }
    }
}

fn too_large(needed: f64, limit: f64, unit: &'static str) -> Error {
    Error::TooLarge { what: "a posterior".into(), needed: needed as u64, limit: limit as u64, unit }
}

/// Over the largest.
fn scaled(mut values: Vec<f64>) -> Vec<f64> {
    let most = values.iter().copied().fold(0.0, f64::max);
    if most > 0.0 {
        values.iter_mut().for_each(|value| *value /= most);
    }
    values
}

impl Table {
    fn place(&self, x: i64) -> Option<usize> {
        usize::try_from(x - self.from).ok().filter(|place| *place < self.w.len())
    }

    fn at(&self, x: i64) -> f64 {
        self.place(x).map_or(0.0, |place| self.w[place])
    }

    /// The table of the sum of two parts.
    fn beside(&self, other: &Self) -> Self {
        let mut w = vec![0.0; self.w.len() + other.w.len() - 1];
        for (i, a) in self.w.iter().enumerate() {
            w[i..].iter_mut().zip(&other.w).for_each(|(w, b)| *w += a * b);
        }
        Self { from: self.from + other.from, w }
    }

    /// By the sum of this part, the weight of what is outside: `sums` is the table of it and its sibling, `around` what is outside of that.
    fn outside(&self, sums: &Self, around: &[f64], sibling: &Self) -> Vec<f64> {
        let at = |x: i64| {
            // Sums that are on their table.
            let first = sums.from.max(x + sibling.from);
            let last =
                (sums.from + sums.w.len() as i64 - 1).min(x + sibling.from + sibling.w.len() as i64 - 1);
            if last < first {
                return 0.0;
            }
            let (a, b) = ((first - sums.from) as usize, (first - x - sibling.from) as usize);
            let number = (last - first + 1) as usize;
            around[a..a + number].iter().zip(&sibling.w[b..b + number]).map(|(d, w)| d * w).sum()
        };
        scaled((0..self.w.len()).map(|i| at(self.from + i as i64)).collect())
    }

    /// Cuts both tails with at most so much, of a table whose mass is 1.
    fn trim(&mut self, most: f64) {
        let tail = |values: &mut dyn Iterator<Item = &f64>| {
            let mut mass = 0.0;
            let inside = values.take_while(|w| {
                mass += **w;
                mass < most
            });
            inside.count()
        };
        let (low, high) = (tail(&mut self.w.iter()), tail(&mut self.w.iter().rev()));
        self.w.truncate(self.w.len() - high);
        self.w.drain(..low);
        self.from += low as i64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::below;
    use crate::testing::{ALPHA, frequencies, test_stream};
    use std::collections::HashMap;

    /// All counts of the leaves in a range, with the logarithm of what they weigh.
    fn listed(
        tree: &Hierarchy,
        weights: &[Weight],
        values: &[f64],
        priors: &[Prior],
        (low, high): (i64, i64),
    ) -> Vec<(Vec<i64>, f64)> {
        let leaves = tree.leaves();
        // Priors once more, by products.
        let factorial = |x: i64| (1..=x).map(|k| libm::log(k as f64)).sum::<f64>();
        let negative_binomial = |x: i64, mean: f64, size: f64| {
            let p = size / (size + mean);
            let rising: f64 = (0..x).map(|k| libm::log(size + k as f64)).sum();
            rising - factorial(x) + size * libm::log(p) + x as f64 * libm::log(1.0 - p)
        };
        let of = |prior: Prior, x: i64| match prior {
            Prior::Flat => 0.0,
            Prior::Between(low, high) => {
                if (low..=high).contains(&x) {
                    0.0
                } else {
                    f64::NEG_INFINITY
                }
            }
            _ if x < 0 => f64::NEG_INFINITY,
            Prior::Poisson(mean) => x as f64 * libm::log(mean) - mean - factorial(x),
            Prior::NegativeBinomial { mean, size } => negative_binomial(x, mean, size),
            Prior::TruncatedPoisson { low, high, .. }
            | Prior::TruncatedNegativeBinomial { low, high, .. }
                if !(low..=high).contains(&x) =>
            {
                f64::NEG_INFINITY
            }
            Prior::TruncatedPoisson { mean, low, high } => {
                let poisson = |x: i64| x as f64 * libm::log(mean) - mean - factorial(x);
                let mass: f64 = (low.max(0)..=high.min(200)).map(|x| libm::exp(poisson(x))).sum();
                poisson(x) - libm::log(mass)
            }
            Prior::TruncatedNegativeBinomial { mean, size, low, high } => {
                let of = |x: i64| negative_binomial(x, mean, size);
                let mass: f64 = (low.max(0)..=high.min(200)).map(|x| libm::exp(of(x))).sum();
                of(x) - libm::log(mass)
            }
        };
        let tables: Vec<Vec<f64>> =
            priors.iter().map(|&prior| (low..=high).map(|x| of(prior, x)).collect()).collect();
        let (mut own, mut all) = (vec![low; leaves.len()], Vec::new());
        'all: loop {
            let mut counts = vec![0i64; tree.nodes()];
            leaves.iter().zip(&own).for_each(|(&leaf, &x)| counts[leaf as usize] = x);
            tree.sum_up(&mut counts);
            let log = |v: usize| match (tree.is_known(v), weights[tree.level(v)]) {
                (true, _) if counts[v] as f64 == values[v] => 0.0,
                (true, _) => f64::NEG_INFINITY,
                (false, Weight::Exponential(scale)) => -(values[v] - counts[v] as f64).abs() / scale,
                (false, Weight::Gaussian(scale)) => {
                    -libm::pow(values[v] - counts[v] as f64, 2.0) / (2.0 * scale * scale)
                }
            };
            let prior = |(table, &x): (&Vec<f64>, &i64)| table[(x - low) as usize];
            let log =
                (0..tree.nodes()).map(log).sum::<f64>() + tables.iter().zip(&own).map(prior).sum::<f64>();
            all.push((counts, log));
            for x in &mut own {
                *x += 1;
                if *x <= high {
                    continue 'all;
                }
                *x = low;
            }
            return all;
        }
    }

    type System = (Hierarchy, Vec<Weight>, Vec<f64>, Vec<Prior>);

    fn systems() -> Vec<System> {
        let (mut rng, mut all) = (test_stream(141), Vec::new());
        for parents in [&[0, 0, 0][..], &[0, 0, 0, 0], &[0, 0, 0, 1, 1, 2], &[0, 0, 1, 1], &[0, 0]].repeat(6)
        {
            let number = all.len();
            let mut tree = Hierarchy::from_parents(parents).unwrap();
            let scale = |n: u64| 0.3 + 0.1 * n as f64;
            let weights: Vec<Weight> = (0..tree.levels())
                .map(|_| match below(&mut rng, 2) {
                    0 => Weight::Exponential(scale(below(&mut rng, 6))),
                    _ => Weight::Gaussian(scale(below(&mut rng, 12))),
                })
                .collect();
            let mut values: Vec<f64> =
                (0..tree.nodes()).map(|_| 0.25 * (below(&mut rng, 32) as f64 - 8.0)).collect();
            let priors: Vec<Prior> = (0..tree.leaves().len())
                .map(|_| match below(&mut rng, 9) {
                    0 => Prior::Flat,
                    1 => Prior::NONNEGATIVE,
                    2 => Prior::Between(-1, 3),
                    3 => Prior::Poisson(1.5),
                    4 => Prior::Poisson(1.5).within(-4, 2),
                    5 => Prior::Poisson(9.0).within(1, 4),
                    6 => Prior::Poisson(0.5).within(2, i64::MAX),
                    7 => Prior::NegativeBinomial { mean: 2.0, size: 0.7 }.within(2, 5),
                    _ => Prior::NegativeBinomial { mean: 2.0, size: 0.7 },
                })
                .collect();
            if number % 3 == 2 {
                // The root, or the first leaf, with a count that all priors allow.
                let known = if number % 2 == 0 { 0 } else { tree.leaves()[0] as usize };
                values[known] = 2.0;
                let marks = (0..tree.nodes()).map(|v| v == known).collect();
                let Ok(with) = tree.clone().with_known(marks) else { continue };
                tree = with;
                // An only child of what is known is known.
                (0..tree.nodes()).filter(|&v| tree.is_known(v)).for_each(|v| values[v] = 2.0);
            }
            all.push((tree, weights, values, priors));
        }
        all
    }

    /// Laws and evidence are those of all counts listed.
    #[test]
    fn posteriors_are_those_of_all_counts() {
        let systems = systems();
        assert!(systems.len() > 20);
        for (tree, weights, values, priors) in systems {
            let posterior = Posterior::on_tree(&tree, &weights, &values, &priors).unwrap();
            // Wide enough for 1e-12 of what is left out.
            let reach = if tree.leaves().len() > 2 { (-24, 32) } else { (-50, 60) };
            let all = listed(&tree, &weights, &values, &priors, reach);
            let most = all.iter().map(|(_, log)| *log).fold(f64::NEG_INFINITY, f64::max);
            let total: f64 = all.iter().map(|(_, log)| libm::exp(log - most)).sum();
            let evidence = libm::log(total) + most;
            let off = posterior.log_evidence() - evidence;
            assert!(off.abs() < 1e-12 * evidence.abs().max(1.0), "{off} {weights:?} {values:?} {priors:?}");
            let laws = posterior.laws();
            for v in 0..tree.nodes() {
                let mut law: HashMap<i64, f64> = HashMap::new();
                all.iter().for_each(|(counts, log)| {
                    *law.entry(counts[v]).or_default() += libm::exp(log - most) / total
                });
                for (x, want) in law {
                    let got = laws[v].p(x);
                    assert!(
                        (got - want).abs() < 1e-12,
                        "{v} {x}: {got} {want} {weights:?} {values:?} {priors:?}"
                    );
                }
            }
            assert!(posterior.lacks() < 1e-9);
        }
    }

    /// Draws have the law of all counts together.
    #[test]
    fn draws_have_their_law() {
        let (mut rng, mut compared) = (test_stream(142), 0);
        for (tree, weights, values, priors) in systems().into_iter().take(16) {
            let posterior = Posterior::on_tree(&tree, &weights, &values, &priors).unwrap();
            let all = listed(&tree, &weights, &values, &priors, (-20, 26));
            let most = all.iter().map(|(_, log)| *log).fold(f64::NEG_INFINITY, f64::max);
            let total: f64 = all.iter().map(|(_, log)| libm::exp(log - most)).sum();
            let draws = 20_000;
            let mut seen: HashMap<Vec<i64>, u64> = HashMap::new();
            let mut counts = vec![0; tree.nodes()];
            for _ in 0..draws {
                posterior.draw(&mut rng, &mut counts);
                *seen.entry(counts.clone()).or_default() += 1;
            }
            let cells = all
                .iter()
                .map(|(counts, log)| (seen.get(counts).copied().unwrap_or(0), libm::exp(log - most) / total));
            // Where one outcome has nearly all there is nothing to compare.
            if let Some(p) = frequencies(cells, draws) {
                assert!(p > ALPHA, "{p:e}");
                compared += 1;
            }
        }
        assert!(compared > 10, "{compared}");
    }

    /// Without a prior, and with normal noise whose scale is large, the posterior is normal: mean and variance are those of least squares.
    #[test]
    fn flat_priors_give_least_squares() {
        let tree = Hierarchy::from_parents(&[0, 0, 0, 0]).unwrap();
        let values = [100.0, 20.0, 30.0, 41.0];
        let posterior = Posterior::on_tree(
            &tree,
            &[Weight::Gaussian(6.0), Weight::Gaussian(5.0)],
            &values,
            &[Prior::Flat; 3],
        )
        .unwrap();
        let laws = posterior.laws();
        // The children sum to 91 with the variance 75, the root is 100 with 36.
        let gain = 75.0 / (75.0 + 36.0);
        assert!((laws[0].mean() - (91.0 + 9.0 * gain)).abs() < 1e-9);
        assert!((laws[0].variance() - 36.0 * gain).abs() < 1e-9);
        assert!((laws[1].mean() - (20.0 + 3.0 * gain)).abs() < 1e-9);
        assert!((laws[1].variance() - (25.0 - 25.0 / 3.0 * gain)).abs() < 1e-9);
        let (low, high) = laws[1].interval(0.9);
        let inside: f64 = (low..=high).map(|x| laws[1].p(x)).sum();
        assert!(inside >= 0.9 && inside - laws[1].p(low) - laws[1].p(high) < 0.9, "{low} {high} {inside}");
        // The normal density at 0 is that of the evidence: Σ over integers is an integral.
        let want = 1.5 * libm::log(2.0 * std::f64::consts::PI * 25.0) + 0.5 * libm::log(36.0 / 111.0)
            - 0.5 * 81.0 / 111.0;
        assert!((posterior.log_evidence() - want).abs() < 1e-9, "{} {want}", posterior.log_evidence());
    }

    #[test]
    fn empty_supports_name_the_node() {
        let tree = Hierarchy::from_parents(&[0, 0, 0]).unwrap().with_known(vec![true, false, false]).unwrap();
        let weights = [Weight::Exponential(1.0); 2];
        let refused = |values: &[f64], priors: &[Prior]| {
            Posterior::on_tree(&tree, &weights, values, priors).unwrap_err().to_string()
        };
        let message = refused(&[9.0, 4.0, 5.0], &[Prior::Between(0, 3); 2]);
        assert!(message.contains("node 1 is known to be 9, and no count is left"), "{message}");
        assert!(message.contains("allow 0 to 6"), "{message}");
        let message = refused(&[9.0, 4.0, 5.0], &[Prior::Flat, Prior::Poisson(2.0).within(7, 3)]);
        assert!(message.contains("node 3 is released as 5"), "{message}");
        assert!(message.contains("allow no count (from 7 to 3)"), "{message}");
        assert!(refused(&[9.0, 4.0, 5.0], &[Prior::Poisson(0.0); 2]).contains("mean"));
        assert!(refused(&[9.0, 4.0], &[Prior::Flat; 2]).contains("one per node"));
        assert!(refused(&[9.0, 4.0, 5.0], &[Prior::Flat]).contains("one per leaf"));
    }
}
