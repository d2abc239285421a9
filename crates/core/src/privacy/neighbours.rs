//! The privacy that conditioning on inequalities pays, exactly.

use super::tree_gamma_bound;
use crate::error::{Error, Result};
use crate::exact::Truncated;
use crate::invariant::{Bounded, Hierarchy, Moves};
use crate::lattice::{Basis, BasisKind, Sparse, graver};
use crate::law::DoubleGeometric;
use std::collections::{HashMap, HashSet, VecDeque};

/// The pair of tables between which conditioning pays most.
///
/// Let `M(x) = x + z` with double geometric noise and `c(x) = P(M(x) in S*)` the probability of the invariant. Between
/// tables x and x' of S* the loss of the unconditioned mechanism is `L = ‖x - x'‖₁ / lambda`, and that of the conditioned one is
/// exactly `L + ln c(x')/c(x)`: both factors of the proof of Theorem 2.1 in Gong and Meng, "Congenial differential
/// privacy", attain their bounds at the release `y = x`, which is in S*. Hence
///
/// `gamma = max ln(c(x')/c(x)) / L`
///
/// over the pairs that are compared is not only sufficient but necessary. Equations alone leave `c` constant: gamma = 0.
#[derive(Debug, Clone, PartialEq)]
pub struct WorstPair {
    /// The largest `ln(c(x')/c(x)) / L`.
    pub gamma: f64,
    /// The log ratio `ln(c(x')/c(x))` of the worst pair.
    pub log_ratio: f64,
    /// The loss `L` of the worst pair: what the unconditioned mechanism pays between the two.
    pub loss: f64,
    /// The table x, as moves of counts from the table that was given.
    pub from: Vec<i64>,
    /// The table x', as moves of counts from the table that was given.
    pub to: Vec<i64>,
    /// The number of ordered pairs that were compared.
    pub pairs: u64,
    /// The number of tables among them.
    pub tables: u64,
}

/// What a search over all tables of an invariant found.
#[derive(Debug, Clone, PartialEq)]
pub enum Search {
    /// More tables than were asked for.
    TooMany,
    /// One table alone: there is no pair.
    Single,
    /// The worst pair.
    Worst(WorstPair),
}

impl Search {
    /// The worst pair, if there is one.
    pub fn pair(self) -> Option<WorstPair> {
        match self {
            Self::Worst(pair) => Some(pair),
            _ => None,
        }
    }
}

/// The conditioning of one component ([`crate::invariant::Region::components`]) on everything that ties it.
#[derive(Debug)]
pub struct Conditioning<'a> {
    bounded: &'a Bounded,
    law: DoubleGeometric,
    /// By entry: the number of its group of equal columns.
    group: Vec<u32>,
    /// `ln c`, by the bounds of the noise up to exchanges within groups.
    known: HashMap<Vec<(u32, i64, i64)>, f64>,
}

impl<'a> Conditioning<'a> {
    /// Prepares the component. `bounded`: the region is that of the given table's noise.
    pub fn new(bounded: &'a Bounded, law: DoubleGeometric) -> Self {
        let mut group = vec![0; bounded.component.entries.len()];
        for (g, (_, entries)) in (0..).zip(bounded.equal_columns()) {
            entries.iter().for_each(|&entry| group[entry as usize] = g);
        }
        Self { bounded, law, group, known: HashMap::new() }
    }

    /// `ln c(x + v)`, the probability that noise around the moved table satisfies everything.
    ///
    /// Errors: as [`Truncated::new`].
    pub fn log_probability(&mut self, v: &[i64]) -> Result<f64> {
        let region = self.bounded.region.around_moved(v);
        let mut key: Vec<(u32, i64, i64)> =
            (0..v.len()).map(|i| (self.group[i], region.lower[i], region.upper[i])).collect();
        key.sort_unstable();
        // Rows depend on the sums of groups alone, which a move changes together with the slack.
        key.extend(region.rows.iter().map(|(_, least)| (u32::MAX, *least, 0)));
        if let Some(&known) = self.known.get(&key) {
            return Ok(known);
        }
        let bounded = Bounded { component: self.bounded.component.clone(), region };
        let log_mass = Truncated::new(&bounded, &self.law)?.log_mass();
        self.known.insert(key, log_mass);
        Ok(log_mass)
    }

    /// The worst pair of x + v and a neighbour of it that satisfies everything, in either order: tables that differ by
    /// one record that changed its entry within a group of equal columns; where there are none, by one of the vectors
    /// that connect all tables.
    ///
    /// `None` if x + v has no such neighbour. Errors: as [`Truncated::new`]; too many vectors to list.
    pub fn worst_neighbour(&mut self, v: &[i64]) -> Result<Option<WorstPair>> {
        let mut worst: Option<WorstPair> = None;
        let here = self.log_probability(v)?;
        let mut pairs = 0;
        for (step, count) in self.neighbours(v)? {
            let next = moved(v, &step);
            if !self.bounded.region.contains(&next) {
                continue;
            }
            pairs += 2 * count;
            let there = self.log_probability(&next)?;
            let (from, to) = if there >= here { (v, &next[..]) } else { (&next[..], v) };
            keep(&mut worst, (there - here).abs(), self.law.rate(), from, to);
        }
        if let Some(worst) = &mut worst {
            (worst.pairs, worst.tables) = (pairs, pairs / 2 + 1);
        }
        Ok(worst)
    }

    /// Steps to the neighbours of x + v, one for each kind, with the number of its kind: entries of one group with equal
    /// bounds can be exchanged.
    fn neighbours(&self, v: &[i64]) -> Result<Vec<(Sparse, u64)>> {
        let bounds = self.bounded.region.around_moved(v);
        let mut kinds: HashMap<(u32, i64, i64), (u32, u32, u64)> = HashMap::new();
        for i in 0..v.len() {
            let entry = i as u32;
            // Two entries of the kind, and how many there are.
            let kind =
                kinds.entry((self.group[i], bounds.lower[i], bounds.upper[i])).or_insert((entry, entry, 0));
            kind.1 = entry;
            kind.2 += 1;
        }
        let mut kinds: Vec<_> = kinds.into_iter().collect();
        kinds.sort_unstable();
        let mut steps = Vec::new();
        for (from, &(kind, (i, _, n))) in kinds.iter().enumerate() {
            for (to, &(other, (j, last, m))) in kinds.iter().enumerate() {
                if kind.0 != other.0 {
                    continue;
                }
                if from != to {
                    steps.push((vec![(i, -1), (j, 1)], n * m));
                } else if n > 1 {
                    steps.push((vec![(i, -1), (last, 1)], n * (n - 1)));
                }
            }
        }
        if !steps.is_empty() {
            return Ok(steps);
        }
        match connecting(self.bounded, usize::MAX)? {
            Some(vectors) => Ok(vectors.into_iter().map(|vector| (vector, 1)).collect()),
            None => Err(Error::Invariant("too many vectors between neighbouring tables".into())),
        }
    }

    /// The worst of all pairs of tables that satisfy everything.
    ///
    /// Errors: as [`Truncated::new`]; as [`tables`].
    pub fn worst_pair(&mut self, limit: usize) -> Result<Search> {
        let Some(tables) = tables(self.bounded, limit)? else { return Ok(Search::TooMany) };
        let logs = tables.iter().map(|v| self.log_probability(v)).collect::<Result<Vec<f64>>>()?;
        let mut worst: Option<WorstPair> = None;
        for (i, v) in tables.iter().enumerate() {
            for (j, w) in tables.iter().enumerate() {
                if i != j && logs[j] >= logs[i] {
                    keep(&mut worst, logs[j] - logs[i], self.law.rate(), v, w);
                }
            }
        }
        if let Some(worst) = &mut worst {
            let n = tables.len() as u64;
            (worst.tables, worst.pairs) = (n, n * (n - 1));
        }
        Ok(worst.map_or(Search::Single, Search::Worst))
    }

    /// The table with all counts of every group of equal columns in its largest entry, as moves from the given one: its
    /// noise is pressed against the most bounds, so that what it pays is a good lower bound of the worst. `None` if it
    /// does not satisfy everything, or entries have no lower bound.
    pub fn corner(&self) -> Option<Vec<i64>> {
        let region = &self.bounded.region;
        let mut v = vec![0; self.group.len()];
        for g in 0..=self.group.iter().copied().max()? {
            let entries: Vec<usize> = (0..v.len()).filter(|&i| self.group[i] == g).collect();
            // The lower bound of the noise is -(count above its own bound).
            let largest = *entries.iter().min_by_key(|&&i| region.lower[i])?;
            for &i in entries.iter().filter(|&&i| i != largest) {
                if region.lower[i] == crate::invariant::NO_LOWER {
                    return None;
                }
                v[i] = region.lower[i];
                v[largest] -= region.lower[i];
            }
        }
        region.contains(&v).then_some(v)
    }
}

fn keep(worst: &mut Option<WorstPair>, log_ratio: f64, rate: f64, from: &[i64], to: &[i64]) {
    let distance: u64 = from.iter().zip(to).map(|(a, b)| a.abs_diff(*b)).sum();
    let loss = distance as f64 * rate;
    let gamma = log_ratio / loss;
    if worst.as_ref().is_none_or(|worst| gamma > worst.gamma) {
        let (from, to) = (from.to_vec(), to.to_vec());
        *worst = Some(WorstPair { gamma, log_ratio, loss, from, to, pairs: 0, tables: 0 });
    }
}

fn moved(v: &[i64], step: &Sparse) -> Vec<i64> {
    let mut next = v.to_vec();
    step.iter().for_each(|&(entry, c)| next[entry as usize] += i64::from(c));
    next
}

/// The component with its entries numbered as they stand in it, so that vectors are on its own entries.
fn own(bounded: &Bounded) -> Bounded {
    let mut own = bounded.clone();
    own.component.entries = (0..own.component.entries.len() as u32).collect();
    own
}

/// Vectors that connect all tables within the bounds, both signs; `None` if there are far more than `limit`.
fn connecting(bounded: &Bounded, limit: usize) -> Result<Option<Vec<Sparse>>> {
    let listed = Moves::within(&own(bounded))?.list(limit.saturating_mul(64));
    Ok(listed.map(|vectors| {
        let minus = |v: &Sparse| v.iter().map(|&(entry, c)| (entry, -c)).collect();
        vectors.iter().map(minus).chain(vectors.iter().cloned()).collect()
    }))
}

/// Whether there surely are more tables than `limit`, by steps that need no search: one record between entries of equal columns that stand
/// next to each other, and along the path from a leaf of a hierarchy to the root.
fn exceeds(bounded: &Bounded, limit: usize) -> bool {
    let Bounded { component, region } = bounded;
    if !region.rows.is_empty() || component.rows.is_empty() {
        return false;
    }
    let pairs = component.equal_columns().into_iter().flat_map(|(_, entries)| {
        entries.windows(2).map(|pair| vec![(pair[0], 1), (pair[1], -1)]).collect::<Vec<Sparse>>()
    });
    let mut steps: Vec<Sparse> = pairs.collect();
    if let Some(tree) = component.tree().filter(|tree| !tree.hierarchy.is_known(0)) {
        let above = |&v: &usize| (v > 0).then(|| tree.hierarchy.parent(v));
        let path = |&leaf: &u32| {
            std::iter::successors(Some(leaf as usize), above).map(|v| (tree.entries[v], 1)).collect()
        };
        steps.extend(tree.hierarchy.leaves().iter().map(path));
    }
    let start = vec![0i64; component.entries.len()];
    let mut seen: HashSet<Vec<i64>> = HashSet::from([start.clone()]);
    let mut open = VecDeque::from([start]);
    while let Some(mut table) = open.pop_front() {
        for (step, sign) in steps.iter().flat_map(|step| [(step, 1), (step, -1)]) {
            let inside = step.iter().all(|&(entry, c)| {
                let (entry, next) = (entry as usize, table[entry as usize] + sign * i64::from(c));
                (region.lower[entry]..=region.upper[entry]).contains(&next)
            });
            if !inside {
                continue;
            }
            step.iter().for_each(|&(entry, c)| table[entry as usize] += sign * i64::from(c));
            if !seen.contains(&table) {
                if seen.len() >= limit {
                    return true;
                }
                seen.insert(table.clone());
                open.push_back(table.clone());
            }
            step.iter().for_each(|&(entry, c)| table[entry as usize] -= sign * i64::from(c));
        }
    }
    false
}

/// All tables of a component that satisfy everything, as moves from the given one; `None` if there are more than `limit`.
///
/// Errors: no connecting moves ([`crate::kernel::LatticeGibbs`]).
pub fn tables(bounded: &Bounded, limit: usize) -> Result<Option<Vec<Vec<i64>>>> {
    if exceeds(bounded, limit) {
        return Ok(None);
    }
    let Some(steps) = connecting(bounded, limit)? else { return Ok(None) };
    let start = vec![0; bounded.component.entries.len()];
    let mut tables = vec![start.clone()];
    let mut seen: HashSet<Vec<i64>> = HashSet::from([start.clone()]);
    let mut open = VecDeque::from([start]);
    while let Some(table) = open.pop_front() {
        for step in &steps {
            let next = moved(&table, step);
            if bounded.region.contains(&next) && seen.insert(next.clone()) {
                if tables.len() == limit {
                    return Ok(None);
                }
                tables.push(next.clone());
                open.push_back(next);
            }
        }
    }
    Ok(Some(tables))
}

/// A bound on gamma for bounds by entry: `ln(1 + a^(2-m) - a²) / (m rate)` with `a = e^(-rate)`, between two tables that differ by a
/// vector of length m; and for all tables, where every two are joined by steps v of length `‖v‖₁ <= m` that no other step undoes in
/// any entry ([`longest_step`]).
///
/// Proof. With S* the same for both, `c(x) ∝ W(x) = Σ_{y in S*} a^‖y-x‖₁`. On a line `y + t v` within S*, t runs over an
/// interval from some `lo`; with `f(t) = a^‖y+tv-x‖₁`, the line has `Σ f(t-1)` in W(x + v) and `Σ f(t)` in W(x). f is log-concave
/// and falls by at most `a^m` a step. At `lo` some entry is at its bound, with x and one step beyond the bound on different
/// sides of it, so that stepping back brings this entry no nearer to x than it takes the others: `f(lo-1)/f(lo) <=
/// a^(2-m)`. `Σ f(t-1)/Σ f(t) = 1 + (f(lo-1) - f(hi))/Σ f` is then largest if f falls as fast as it can and hi is infinite:
/// `1 + a^(2-m) (1 - a^m)`. This bounds `ln c(x+v)/c(x)` against the loss `m rate`; the bound grows with m, and along the steps
/// that join two tables both add up.
///
/// For one total (m = 2): `ln(2 - a²) / (2 rate)`; a table with all counts in one of many entries comes close.
///
/// # Examples
///
/// ```
/// use congenial_core::privacy::gamma_bound;
///
/// // One total of counts >= 0: a record that moves changes two entries by 1.
/// let rate = 0.5f64;
/// let want = (2.0 - (-2.0 * rate).exp()).ln() / (2.0 * rate);
/// assert!((gamma_bound(rate, 2) - want).abs() < 1e-12);
/// assert!(gamma_bound(rate, 2) < 1.0); // never more than twice the loss
/// ```
pub fn gamma_bound(rate: f64, longest: u64) -> f64 {
    tree_gamma_bound(longest as f64 * rate, rate)
}

/// The largest `‖v‖₁` of the steps that join every two tables within bounds by entry, each towards the other in every entry:
/// the Graver basis. `None` with explicit rows, or if it is not known.
pub fn longest_step(bounded: &Bounded) -> Option<u64> {
    let component = &bounded.component;
    if !bounded.region.rows.is_empty() {
        return None;
    }
    if component.rows.is_empty() {
        return Some(1);
    }
    if component.is_total() {
        return Some(2);
    }
    // Circuits of a complete bipartite graph.
    if let Some((rows, columns)) = component.margins {
        return Some(2 * rows.min(columns) as u64);
    }
    if let Some(tree) = component.tree() {
        return longest_path(&tree.hierarchy);
    }
    let basis = Basis::of_kernel(&component.distinct_columns(), BasisKind::Reduced).ok()?;
    let pairs = component.equal_columns().iter().any(|(_, entries)| entries.len() > 1);
    let length = |v: Vec<i64>| v.iter().map(|x| x.unsigned_abs()).sum::<u64>();
    let longest = graver(&basis.vectors).ok()?.into_iter().map(length).max().unwrap_or(0);
    Some(longest.max(if pairs { 2 } else { 0 })).filter(|&m| m >= 2)
}

/// The largest `‖v‖₁` of the steps of a hierarchy: one more along a path from a leaf to the root, where its count is
/// not known, or one more at one leaf and one less at another, with the nodes above them up to where their paths meet.
/// A hierarchy is a network, whose circuits these are.
fn longest_path(hierarchy: &Hierarchy) -> Option<u64> {
    // Nodes on the longest way down from each node, itself included.
    let mut deepest = vec![1u64; hierarchy.nodes()];
    let mut longest = 0;
    let mut below = vec![0u64; hierarchy.nodes()];
    for v in (1..hierarchy.nodes()).rev() {
        let parent = hierarchy.parent(v);
        if below[parent] > 0 {
            longest = longest.max(below[parent] + deepest[v]);
        }
        below[parent] = below[parent].max(deepest[v]);
        deepest[parent] = below[parent] + 1;
    }
    if !hierarchy.is_known(0) {
        longest = longest.max(deepest[0]);
    }
    Some(longest).filter(|&m| m >= 2)
}

/// gamma of a release, and how it is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Gamma {
    /// 0: equations alone, independent noise, a map that is the same for all tables of the invariant, or normal noise
    /// ([`rho_ratio`](super::rho_ratio)).
    Proved,
    /// Over all pairs of tables of the invariant: the worst of them, or for Gaussian laws at most [`SLACK`](super::SLACK) more.
    Computed(f64),
    /// At most this: [`gamma_bound`], or 1 (Theorem 2.1).
    Bounded(f64),
    /// No bound is known: a Gaussian law on the integers, with more tables than are searched.
    Unknown,
    /// 0: a mechanism of one's own says what it pays, all included.
    Declared,
}

impl Gamma {
    /// The figure; `None` if no bound is known.
    pub fn value(self) -> Option<f64> {
        match self {
            Self::Proved | Self::Declared => Some(0.0),
            Self::Computed(gamma) | Self::Bounded(gamma) => Some(gamma),
            Self::Unknown => None,
        }
    }

    /// Makes a gamma of a figure and the words that [`Gamma::how`] gives; without a figure it is unknown.
    pub fn named(value: Option<f64>, how: &str) -> Self {
        match (value, how) {
            (Some(_), "proved") => Self::Proved,
            (Some(_), "declared") => Self::Declared,
            (Some(gamma), "computed") => Self::Computed(gamma),
            (Some(gamma), _) => Self::Bounded(gamma),
            (None, _) => Self::Unknown,
        }
    }

    /// The larger figure; the weaker way of knowing it.
    pub(super) fn larger(self, other: Self) -> Self {
        let rank = |gamma: Self| match gamma {
            Self::Proved | Self::Declared => 0,
            Self::Computed(_) => 1,
            Self::Bounded(_) => 2,
            Self::Unknown => 3,
        };
        let weak = if rank(self) < rank(other) { other } else { self };
        let most = self.value().unwrap_or(0.0).max(other.value().unwrap_or(0.0));
        match weak {
            Self::Computed(_) => Self::Computed(most),
            Self::Bounded(_) => Self::Bounded(most),
            other => other,
        }
    }

    /// How gamma is known, in a word.
    pub fn how(self) -> &'static str {
        match self {
            Self::Proved => "proved",
            Self::Computed(_) => "computed",
            Self::Bounded(_) => "bounded",
            Self::Unknown => "unknown",
            Self::Declared => "declared",
        }
    }
}

/// What imperfect sampling adds to delta: a law within total variation `eta` of an (epsilon, delta) law is
/// `(epsilon, delta + (1 + e^epsilon) eta)`-private. At most 1, which every release satisfies; 0 for `eta` = 0 whatever
/// epsilon is.
pub fn sampling_delta(epsilon: f64, eta: f64) -> f64 {
    if eta == 0.0 { 0.0 } else { ((1.0 + libm::exp(epsilon)) * eta).min(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invariant::{Inequalities, Linear, Region};
    use crate::law::Law;

    #[test]
    fn sampling_adds_at_most_one() {
        assert_eq!(sampling_delta(f64::INFINITY, 0.0), 0.0);
        assert_eq!(sampling_delta(800.0, 0.0), 0.0);
        assert_eq!(sampling_delta(800.0, 1e-300), 1.0);
        assert_eq!(sampling_delta(1.0, 0.9), 1.0);
        assert!((sampling_delta(0.5, 0.01) - 0.01 * (1.0 + libm::exp(0.5))).abs() < 1e-17);
    }

    /// All tables with the invariant of the given one, and `W(x)` of each.
    fn brute(invariant: &Linear, counts: &[i64], upper: i64, rate: f64) -> Vec<(Vec<i64>, f64)> {
        let side = upper as usize + 1;
        let tables: Vec<Vec<i64>> = (0..side.pow(counts.len() as u32))
            .map(|index| (0..counts.len()).map(|c| (index / side.pow(c as u32) % side) as i64).collect())
            .filter(|y: &Vec<i64>| {
                let z: Vec<i64> = y.iter().zip(counts).map(|(y, x)| y - x).collect();
                invariant.check(&z).is_ok()
            })
            .collect();
        let distance =
            |x: &[i64], y: &[i64]| x.iter().zip(y).map(|(a, b)| a.abs_diff(*b)).sum::<u64>() as f64;
        let weight = |x: &Vec<i64>| tables.iter().map(|y| libm::exp(-rate * distance(x, y))).sum::<f64>();
        tables.iter().map(|x| (x.clone(), weight(x))).collect()
    }

    /// Against sums over all tables: the worst pair, its figures, and the bound.
    #[test]
    fn worst_pairs_are_those_of_all_sums() {
        let cases = [
            (Linear::total(3).unwrap(), vec![1, 2, 1], 4),
            (Linear::total(2).unwrap(), vec![3, 2], 5),
            (Linear::margins(2, 2).unwrap(), vec![2, 1, 1, 2], 6),
            (Linear::margins(2, 3).unwrap(), vec![1, 1, 0, 0, 1, 1], 4),
            (Linear::subsets(4, &[vec![0, 1, 2, 3], vec![1, 2]]).unwrap(), vec![1, 1, 1, 1], 4),
        ];
        for (invariant, counts, upper) in cases {
            for lambda in [0.7, 2.0, 9.0] {
                let law = DoubleGeometric::new(lambda).unwrap();
                let rate = 1.0 / law.scale();
                let region = Inequalities::nonnegative(counts.len()).around(&counts).unwrap();
                let all = brute(&invariant, &counts, upper, rate);
                let (mut gamma, mut bound) = (0.0f64, 0.0f64);
                for (x, here) in &all {
                    for (y, there) in &all {
                        let loss = rate * x.iter().zip(y).map(|(a, b)| a.abs_diff(*b)).sum::<u64>() as f64;
                        if loss > 0.0 {
                            let own = libm::log(there / here) / loss;
                            gamma = gamma.max(own);
                            // Any vector is a step of its own.
                            let length = (loss / rate).round() as u64;
                            assert!(own <= gamma_bound(rate, length) + 1e-12, "{x:?} {y:?}");
                        }
                    }
                }
                let (mut got, mut tables) = (0.0f64, 1);
                for bounded in &region.components(&invariant) {
                    if let Some(worst) = Conditioning::new(bounded, law).worst_pair(1000).unwrap().pair() {
                        tables *= worst.tables;
                        got = got.max(worst.gamma);
                        bound = bound.max(gamma_bound(rate, longest_step(bounded).unwrap()));
                        let mut conditioning = Conditioning::new(bounded, law);
                        let from = conditioning.log_probability(&worst.from).unwrap();
                        let to = conditioning.log_probability(&worst.to).unwrap();
                        assert!((to - from - worst.log_ratio).abs() < 1e-12);
                    }
                }
                assert_eq!(tables, all.len() as u64);
                assert!((got - gamma).abs() < 1e-9, "{counts:?} {lambda}: {got} {gamma}");
                assert!(gamma <= bound + 1e-12, "{counts:?} {lambda}: {gamma} beyond {bound}");
            }
        }
    }

    /// The exact loss between two tables is that of the worst release: the maximum over all releases of the log ratio
    /// of the conditioned probabilities.
    #[test]
    fn the_loss_is_attained() {
        let (invariant, counts) = (Linear::total(3).unwrap(), vec![4, 0, 0]);
        let law = DoubleGeometric::new(2.0).unwrap();
        let region = Inequalities::nonnegative(3).around(&counts).unwrap();
        let components = region.components(&invariant);
        let worst = Conditioning::new(&components[0], law).worst_pair(100).unwrap().pair().unwrap();
        let all = brute(&invariant, &counts, 4, 0.5);
        let table = |v: &[i64]| -> Vec<i64> { v.iter().zip(&counts).map(|(v, x)| v + x).collect() };
        let (x, y) = (table(&worst.from), table(&worst.to));
        let weight = |of: &[i64]| all.iter().find(|(table, _)| table == of).unwrap().1;
        let distance =
            |a: &[i64], b: &[i64]| a.iter().zip(b).map(|(a, b)| a.abs_diff(*b)).sum::<u64>() as f64;
        let log_ratio = |release: &[i64]| {
            0.5 * (distance(release, &y) - distance(release, &x)) + libm::log(weight(&y) / weight(&x))
        };
        let most = all.iter().map(|(release, _)| log_ratio(release)).fold(f64::MIN, f64::max);
        assert!((most - worst.loss - worst.log_ratio).abs() < 1e-9, "{most} {worst:?}");
        // Theorem 2.1: within (1 + gamma) times the loss of the mechanism, gamma <= 1.
        assert!((most / worst.loss - 1.0 - worst.gamma).abs() < 1e-9 && worst.gamma < 1.0);
    }

    /// Theorem 1.3 for the conditioned mechanism: what any release teaches about which table is confidential stays
    /// within `exp(±(1 + gamma) loss)` of the prior, whatever that is.
    #[test]
    fn posteriors_stay_within_their_bounds() {
        let (invariant, counts) = (Linear::total(3).unwrap(), vec![2, 1, 0]);
        let rate = 0.5;
        let all = brute(&invariant, &counts, 3, rate);
        let distance =
            |a: &[i64], b: &[i64]| a.iter().zip(b).map(|(a, b)| a.abs_diff(*b)).sum::<u64>() as f64;
        let p = |release: &[i64], x: &(Vec<i64>, f64)| libm::exp(-rate * distance(release, &x.0)) / x.1;
        // The largest loss of any pair, and so of any posterior.
        let mut epsilon = 0.0f64;
        for x in &all {
            for y in &all {
                let most = all.iter().map(|(release, _)| libm::log(p(release, x) / p(release, y)));
                epsilon = epsilon.max(most.fold(0.0, f64::max));
            }
        }
        let mut rng = crate::testing::test_stream(5);
        let mut closest = 0.0f64;
        for _ in 0..200 {
            let weights: Vec<f64> =
                all.iter().map(|_| libm::pow(crate::rng::open01(&mut rng), 8.0)).collect();
            for (release, _) in &all {
                let evidence: f64 = all.iter().zip(&weights).map(|(x, prior)| prior * p(release, x)).sum();
                let total: f64 = weights.iter().sum();
                for x in &all {
                    let ratio = libm::log(p(release, x) * total / evidence);
                    assert!(ratio.abs() <= epsilon + 1e-12, "{ratio} {epsilon}");
                    closest = closest.max(ratio.abs());
                }
            }
        }
        assert!(closest > 0.8 * epsilon, "the bound is far from what happens: {closest} {epsilon}");
    }

    /// Example 5.2: an invariant that leaves one table tells everything, and the mechanism nothing more.
    #[test]
    fn a_single_table_pays_nothing() {
        let invariant = Linear::total(2).unwrap();
        let region = Inequalities::bounds(vec![5, 0], vec![5, 9]).unwrap().around(&[5, 2]).unwrap();
        let components = region.components(&invariant);
        assert_eq!(
            Conditioning::new(&components[0], DoubleGeometric::new(1.0).unwrap()).worst_pair(10).unwrap(),
            Search::Single
        );
    }

    fn tree(entries: usize) -> Linear {
        let sum = |parent: u32, children: &[u32]| {
            std::iter::once((parent, -1)).chain(children.iter().map(|&child| (child, 1))).collect()
        };
        Linear::from_rows(entries, vec![sum(0, &[1, 2, 3]), sum(1, &[4, 5]), sum(2, &[6]), sum(6, &[7, 8])])
            .unwrap()
    }

    /// What exceeds a number of tables has more of them when all are listed; of totals and hierarchies it is known whenever they have.
    #[test]
    fn many_tables_are_told_without_a_search() {
        let counts = [7, 3, 3, 1, 1, 2, 3, 3, 0];
        let upper = vec![10, 5, 5, 5, 5, 5, 5, 3, 1];
        let bounds = Inequalities::bounds(vec![0; 9], upper).unwrap().around(&counts).unwrap();
        let known = tree(9).with_known(&[0]).unwrap();
        let total = Inequalities::nonnegative(4).around(&[2, 0, 0, 1]).unwrap();
        let margins = Inequalities::nonnegative(6).around(&[2, 1, 0, 0, 1, 3]).unwrap();
        for (bounded, surely) in [
            (total.whole(&Linear::total(4).unwrap()), true),
            (bounds.whole(&tree(9)), true),
            (bounds.components(&known).remove(1), false),
            (margins.whole(&Linear::margins(2, 3).unwrap()), false),
        ] {
            let all = tables(&bounded, 100_000).unwrap().unwrap().len();
            assert!(all > 5, "{all}");
            assert!((all..all + 3).all(|limit| !exceeds(&bounded, limit)));
            assert_eq!(exceeds(&bounded, all - 1), surely);
            assert!(tables(&bounded, all - 1).unwrap().is_none());
            assert_eq!(tables(&bounded, all).unwrap().unwrap().len(), all);
        }
    }

    /// Lengths of steps: those of the Graver basis of the whole matrix.
    #[test]
    fn longest_steps_are_those_of_the_graver_basis() {
        let cases = [
            Linear::total(4).unwrap(),
            Linear::margins(2, 3).unwrap(),
            Linear::margins(3, 3).unwrap(),
            Linear::subsets(5, &[vec![0, 1, 2, 3, 4], vec![1, 2], vec![2, 3]]).unwrap(),
            Linear::matrix(&crate::lattice::IntMatrix::from_rows(&[vec![2, 1, 1, 3]]).unwrap()).unwrap(),
            // 0 = 1 + 2 + 3, 1 = 4 + 5, 2 = 6, 6 = 7 + 8; of it the part under 2; and with 0 known.
            tree(9),
            Linear::from_rows(3, vec![vec![(0, -1), (1, 1), (2, 1)]]).unwrap(),
            Linear::from_rows(8, tree(9).with_known(&[0]).unwrap().components()[1].rows.clone()).unwrap(),
        ];
        for invariant in cases {
            let whole = invariant.whole();
            let basis = Basis::of_kernel(&whole.matrix(), BasisKind::Reduced).unwrap();
            let length = |v: Vec<i64>| v.iter().map(|x| x.unsigned_abs()).sum::<u64>();
            let want = graver(&basis.vectors).unwrap().into_iter().map(length).max();
            let region = Region::everything();
            assert_eq!(longest_step(&region.whole(&invariant)), want);
        }
    }

    #[test]
    fn bounds_have_their_limits() {
        assert!((gamma_bound(0.5, 2) - libm::log(2.0 - libm::exp(-1.0))).abs() < 1e-12);
        assert!(
            gamma_bound(1e-6, 2) > 0.999_99 && gamma_bound(50.0, 2) < 0.01 && gamma_bound(3.0, 400) < 1.0
        );
        // One entry >= 0 alone: `ln(1 + a - a²)` from 0 to 1, however small.
        for rate in [0.1, 1.0, 36.0, 200.0, 600.0] {
            let a = libm::exp(-rate);
            let own = libm::log1p(a - a * a) / rate;
            assert!(
                (gamma_bound(rate, 1) / own - 1.0).abs() < 1e-12,
                "{rate}: {} {own}",
                gamma_bound(rate, 1)
            );
        }
    }
}
