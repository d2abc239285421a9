//! What conditioning real Laplace noise on counts >= 0 pays: gamma, computed where tables are small.
//!
//! Let S be the set that releases lie in, `W(z) = Π_v e^(-r_v |z_v|)`, and `c(x) = ∫_S W(y - x) dy`. Between two tables x and x' the
//! conditioned release pays `L + ln c(x')/c(x)`, L the loss of the free noise: the ratio of densities is largest at `y = x` and
//! continuous there, so that both terms are attained ([`super::WorstPair`] has the same for integers). Hence
//! `gamma = max ln(c(x')/c(x))/L` over all pairs of tables of counts. docs/explanation/loss.md has what follows, with the proofs:
//!
//! 1. **ln c is concave** (Prékopa: W and the indicator of S are log-concave), and on a tree it is **submodular in the leaves** where
//!    no upper
//!    bound ties them: the gain by one record more in a leaf is the largest where all leaves are 0.
//! 2. **One record added on a tree without a known root** pays most at the all-zero corner, where `ln c(e_j)/c(0)` is
//!    `R_j + ln E exp(-2 Σ_v r_v (1 - S_v)_+)`: v runs over the path from leaf j to the root, R over the sums of the rates on such
//!    paths, and `S_v` is the sum of independent exponential times, of rate R_i for each leaf i below v. See [`added`].
//! 3. **A single entry** of at least l and at most h pays most at its bound ([`single`]).
//! 4. **A total of counts >= 0**: c is a sum of integrals of splines with breakpoints at the sums of subsets of the counts
//!    ([`LogMass`]), and the tables are searched where they are few.
//! 5. **Elsewhere** each step of loss l, whose gaining entry has the rate r, pays at most [`real_step_bound`].

use super::{Gamma, TreeChange, TreeCosts, longest_step, tables};
use crate::error::Result;
use crate::invariant::{Bounded, Hierarchy, NO_LOWER, NO_UPPER};
use std::collections::HashMap;

/// Entries of a part, or leaves of a tree, up to which gamma of real noise is computed; beyond, it is at most 1.
const MOST: usize = 12;
/// Above this rate of change of a phase nothing is computed: [`real_step_bound`] is next to 0 there.
const FASTEST: f64 = 1e4;
/// What rounding may take from a gamma that is computed: all sums have positive terms.
const ROUNDING: f64 = 1e-12;

/// gamma of real Laplace noise by kind of change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RealGamma {
    /// Over all pairs of tables.
    pub all: Gamma,
    /// For one record added or removed, relative to the largest loss of one.
    pub added: Gamma,
    /// For one record moved, relative to the largest loss of one.
    pub moved: Gamma,
}

impl RealGamma {
    /// Theorem 2.1 of Gong and Meng, and no more: at most 1, for every change.
    pub const UNKNOWN: Self =
        Self { all: Gamma::Bounded(1.0), added: Gamma::Bounded(1.0), moved: Gamma::Bounded(1.0) };
}

/// A bound on `ln(c(x')/c(x)) / loss` for real Laplace noise and two tables that differ by a step of this loss, in which only entries
/// with at
/// least the rate `own` gain, and only bounds of single entries from below: `ln(1 + l (e^(l-2r) - 1)/(l - 2r)) / l`, and at most 1.
///
/// # Examples
///
/// ```
/// use congenial_core::privacy::real_step_bound;
///
/// // One entry >= 0 alone attains it: ln(2 - e^-r)/r. A record that moves within a total has l = 2r: ln(1 + 2r)/(2r).
/// let r = 0.5f64;
/// assert!((real_step_bound(r, r) - (2.0 - (-r).exp()).ln() / r).abs() < 1e-12);
/// assert!((real_step_bound(2.0 * r, r) - (1.0 + 2.0 * r).ln() / (2.0 * r)).abs() < 1e-12);
/// ```
pub fn real_step_bound(loss: f64, own: f64) -> f64 {
    let over = loss - 2.0 * own;
    let before = if over == 0.0 { 1.0 } else { libm::expm1(over) / over };
    (libm::log1p(loss * before) / loss).min(1.0)
}

/// `ln c(l + 1)/c(l)` of one entry from l to h = l + width with noise of this rate, the most that one record adds: c(x) is
/// `(2 - e^(-r (x - l)) - e^(-r (h - x)))/r`. `None`: no upper bound.
fn single(rate: f64, width: Option<u64>) -> f64 {
    let below = |steps: f64| -libm::expm1(-rate * steps);
    let more = match width {
        None => below(1.0),
        Some(0) => 0.0,
        Some(width) => below(1.0) * below(width as f64 - 1.0) / below(width as f64),
    };
    libm::log1p(more)
}

/// `ln P(T > 1)` of a process that goes through phases, leaves each with its rate, and is killed at a rate by phase; it stays in the
/// last
/// phase. `kills` has one more entry than `rates`.
///
/// Uniformised: with q the largest rate of change, `exp(G) = Σ_k e^-q q^k/k! (1 + G/q)^k`, whose terms are all positive.
fn log_survival(rates: &[f64], kills: &[f64]) -> f64 {
    let leaving = |phase: usize| rates.get(phase).copied().unwrap_or(0.0);
    let fastest =
        (0..kills.len()).map(|phase| leaving(phase) + kills[phase]).fold(f64::MIN_POSITIVE, f64::max);
    let parts = libm::ceil(fastest / 16.0).max(1.0);
    let each = fastest / parts;
    let mut now = vec![0.0; kills.len()];
    now[0] = 1.0;
    let mut log = 0.0;
    for _ in 0..parts as u64 {
        let mut term: Vec<f64> = now.iter().map(|p| p * libm::exp(-each)).collect();
        let mut sum = term.clone();
        for k in 1..=(each + 60.0 + 8.0 * libm::sqrt(each)) as u64 {
            for phase in (0..term.len()).rev() {
                let stays = 1.0 - (leaving(phase) + kills[phase]) / fastest;
                let comes = if phase > 0 { term[phase - 1] * rates[phase - 1] / fastest } else { 0.0 };
                term[phase] = (term[phase] * stays.max(0.0) + comes) * each / k as f64;
            }
            sum.iter_mut().zip(&term).for_each(|(sum, term)| *sum += term);
        }
        let mass: f64 = sum.iter().sum();
        log += libm::log(mass);
        now = sum.into_iter().map(|p| p / mass).collect();
    }
    log
}

/// The leaves below a node that are not known, without those below known nodes; the node itself if it is one.
fn leaves_below(tree: &Hierarchy, v: usize) -> Vec<usize> {
    if tree.is_leaf(v) {
        return vec![v];
    }
    tree.open_children(v).flat_map(|c| leaves_below(tree, c)).collect()
}

/// `ln c(e_j)/c(0)` for a record more in leaf j, where no count is known on its way to the root: the most over all tables of counts >=
/// 0.
///
/// At `x = 0` all nodes are >= 0, so that `c(0) = Π_i 1/R_i`, and under the law behind it leaf i is exponential with the rate R_i. With
/// `|y - 1| = y - 1 + 2 (1 - y)_+` on the path, `c(e_j)/c(0) = e^(R_j) E exp(-2 Σ_v r_v (1 - S_v)_+)`. Let the leaves come one after
/// the
/// other, j first, then those below its parent, and so on: `(1 - S_v)_+` is the time before 1 in which all of v have come. So the mean
/// is
/// the probability to live until 1 where these nodes kill with the rate `2 r_v` each. `None`: the root or a node of the path is known.
fn added(costs: &TreeCosts, tree: &Hierarchy, rates: &[f64], leaf: usize) -> Option<f64> {
    let path_rate = |leaf: usize| costs.cost(TreeChange::Added(leaf as u32));
    let own = path_rate(leaf)?;
    let (mut phases, mut kills) = (vec![own], vec![0.0, 2.0 * rates[tree.level(leaf)]]);
    let mut below = leaf;
    while below != 0 {
        let above = tree.parent(below);
        for sibling in tree.open_children(above).filter(|&c| c != below) {
            for other in leaves_below(tree, sibling) {
                phases.push(path_rate(other)?);
                kills.push(*kills.last()?);
            }
        }
        *kills.last_mut()? += 2.0 * rates[tree.level(above)];
        below = above;
    }
    let fastest = phases.iter().chain(&kills).fold(0.0f64, |most, rate| most.max(*rate));
    Some(match fastest > FASTEST {
        true => own * real_step_bound(own, rates[tree.level(leaf)]),
        false => (own + log_survival(&phases, &kills)).max(0.0),
    })
}

/// The largest of some, relative to the largest loss.
#[derive(Debug, Clone, Copy, Default)]
struct Most {
    loss: f64,
    paid: f64,
    gamma: f64,
}

impl Most {
    fn add(&mut self, loss: f64, log_ratio: f64) {
        self.loss = self.loss.max(loss);
        self.paid = self.paid.max(loss + log_ratio);
        self.gamma = self.gamma.max(log_ratio / loss);
    }

    /// What is paid for the worst change, relative to the largest loss.
    fn of_kind(&self) -> f64 {
        if self.loss > 0.0 { (self.paid / self.loss - 1.0 + ROUNDING).clamp(0.0, 1.0) } else { 0.0 }
    }
}

/// gamma of real Laplace noise on all nodes of a tree that are not known, leaves >= 0. `rates`: 1/lambda by level.
///
/// Every two tables differ by records that are added, or taken away, and such that move, none of which turns back what another does,
/// so that
/// losses add up: gamma over all pairs is that of the worst of them. A record that is added is computed (`added`). One that moves
/// gains
/// no more than one that is added where it goes, and pays at most [`real_step_bound`].
///
/// Errors: not one rate for each level.
pub fn real_tree_gamma(tree: &Hierarchy, rates: &[f64]) -> Result<RealGamma> {
    let costs = TreeCosts::new(tree, rates)?;
    let leaves: Vec<usize> =
        tree.leaves().iter().map(|&leaf| leaf as usize).filter(|&leaf| !tree.is_known(leaf)).collect();
    if leaves.len() > MOST {
        return Ok(RealGamma::UNKNOWN);
    }
    let (mut more, mut moves, mut is_computed) = (Most::default(), Most::default(), true);
    for &to in &leaves {
        let own = rates[tree.level(to)];
        let gain = added(&costs, tree, rates, to);
        if let (Some(gain), Some(loss)) = (gain, costs.cost(TreeChange::Added(to as u32))) {
            more.add(loss, gain);
            is_computed &= loss <= FASTEST / 4.0;
        }
        for &from in &leaves {
            let change = TreeChange::Moved { from: from as u32, to: to as u32 };
            if let Some(loss) = costs.cost(change) {
                let bound = loss * real_step_bound(loss, own);
                moves.add(loss, gain.map_or(bound, |gain| gain.min(bound)));
            }
        }
    }
    let known = |gamma: f64, is_computed: bool| match is_computed {
        true => Gamma::Computed(gamma),
        false => Gamma::Bounded(gamma),
    };
    let all = (more.gamma.max(moves.gamma) + ROUNDING).min(1.0);
    Ok(RealGamma {
        all: known(all, is_computed && more.gamma >= moves.gamma),
        added: known(more.of_kind(), is_computed),
        moved: Gamma::Bounded(moves.of_kind()),
    })
}

/// `ln c` of a known total of counts >= 0 with Laplace noise, but for a constant.
///
/// Let s entries of the noise `z >= -x` with sum 0 be negative, their sizes `a_i` in `[0, x_i]` with the sum m, the other `n - s` with
/// the same sum: `c(x) = Σ_s ∫ V_s(m) m^(n-s-1)/(n-s-1)! e^(-2rm) dm`, `V_s` the sum, over all sets of s entries, of the density of
/// `Σ a_i` at m, a spline with breakpoints at the sums of subsets of x. These are integers: on every interval between two the splines
/// are
/// polynomials, in Bernstein's basis, where sums, integrals and products of polynomials >= 0 have coefficients >= 0: nothing cancels.
#[derive(Debug)]
struct LogMass {
    rate: f64,
    /// By the counts in order.
    known: HashMap<Vec<u64>, f64>,
}

/// A spline: for each interval from an integer to the next the coefficients in Bernstein's basis.
type Spline = Vec<Vec<f64>>;

/// `∫_0^x f(m - a) da` at every m.
fn over_box(f: &[Vec<f64>], x: usize) -> Spline {
    let degree = f[0].len() as f64;
    let whole: Vec<f64> = f.iter().map(|own| own.iter().sum::<f64>() / degree).collect();
    let interval = |k: usize| {
        let between: f64 = whole[(k + 1).saturating_sub(x)..k].iter().sum();
        let first = k.checked_sub(x).map(|first| &f[first]);
        let coefficient = |j: usize| {
            let last: f64 = f[k][..j].iter().sum();
            let first: f64 = first.map_or(0.0, |own| own[j..].iter().sum());
            between + (last + first) / degree
        };
        (0..=f[k].len()).map(coefficient).collect()
    };
    match x {
        0 => f.iter().map(|own| vec![0.0; own.len() + 1]).collect(),
        _ => (0..f.len()).map(interval).collect(),
    }
}

/// `n! / (k! (n - k)!)`.
fn choose(n: usize, k: usize) -> f64 {
    (0..k).fold(1.0, |product, i| product * (n - i) as f64 / (i + 1) as f64)
}

/// The product of two polynomials in Bernstein's basis.
fn product(a: &[f64], b: &[f64]) -> Vec<f64> {
    let (m, n) = (a.len() - 1, b.len() - 1);
    let mut all = vec![0.0; m + n + 1];
    for (i, x) in a.iter().enumerate() {
        for (j, y) in b.iter().enumerate() {
            all[i + j] += x * y * choose(m, i) * choose(n, j) / choose(m + n, i + j);
        }
    }
    all
}

/// `∫_0^1 B_j(t) e^(-at) dt` of Bernstein's polynomial of a degree: `e^-a M(d + 1 - j, d + 2, a)/(d + 1)`, Kummer's series of positive
/// terms.
fn against_exponential(degree: usize, j: usize, a: f64) -> f64 {
    let (mut term, mut sum, mut k) = (libm::exp(-a), 0.0, 0.0);
    let (upper, lower) = ((degree + 1 - j) as f64, (degree + 2) as f64);
    while term > 1e-18 * sum || k < a {
        sum += term;
        term *= (upper + k) / (lower + k) * a / (k + 1.0);
        k += 1.0;
    }
    sum / (degree + 1) as f64
}

impl LogMass {
    /// Rates above which exponentials underflow.
    const FASTEST: f64 = 300.0;

    fn of(&mut self, counts: &[u64]) -> f64 {
        let mut key = counts.to_vec();
        key.sort_unstable();
        if let Some(&known) = self.known.get(&key) {
            return known;
        }
        let log = libm::log(self.mass(&key));
        self.known.insert(key, log);
        log
    }

    fn mass(&self, counts: &[u64]) -> f64 {
        let (n, most) = (counts.len(), counts.iter().sum::<u64>() as usize);
        // By s - 1: V_s.
        let mut sets: Vec<Spline> = (1..n).map(|s| vec![vec![0.0; s]; most]).collect();
        for &x in counts {
            for s in (1..sets.len()).rev() {
                let more = over_box(&sets[s - 1], x as usize);
                let all = sets[s].iter_mut().flatten().zip(more.iter().flatten());
                all.for_each(|(own, more)| *own += more);
            }
            sets[0].iter_mut().take(x as usize).for_each(|own| own[0] += 1.0);
        }
        let a = 2.0 * self.rate;
        let mut mass = 0.0;
        for (s, spline) in (1..).zip(&sets) {
            let power = n - s - 1;
            let factorial = (1..=power).fold(1.0, |product, i| product * i as f64);
            for (k, own) in spline.iter().enumerate() {
                let at = k as f64;
                let powers: Vec<f64> = (0..=power)
                    .map(|j| libm::pow(at, (power - j) as f64) * libm::pow(at + 1.0, j as f64) / factorial)
                    .collect();
                let all = product(own, &powers);
                let integral: f64 =
                    (0..).zip(&all).map(|(j, c)| c * against_exponential(all.len() - 1, j, a)).sum();
                mass += integral * libm::exp(-a * at);
            }
        }
        mass
    }
}

/// gamma over all pairs of tables of a total of counts with lower bounds alone, if they are at most `limit`.
fn total(bounded: &Bounded, rate: f64, limit: usize) -> Option<f64> {
    let (region, entries) = (&bounded.region, bounded.component.entries.len());
    let is_plain = bounded.component.is_total() && region.rows.is_empty() && region.upper.is_open();
    if !is_plain || (0..entries).any(|i| region.lower[i] == NO_LOWER) || rate > LogMass::FASTEST {
        return None;
    }
    let tables: Vec<Vec<u64>> = tables(bounded, limit)
        .ok()??
        .iter()
        .map(|v| v.iter().enumerate().map(|(i, z)| z.abs_diff(region.lower[i])).collect())
        .collect();
    let mut log_mass = LogMass { rate, known: HashMap::new() };
    if tables.len() < 2 {
        return Some(0.0);
    }
    let logs: Vec<f64> = tables.iter().map(|x| log_mass.of(x)).collect();
    let mut worst = 0.0f64;
    for (x, from) in tables.iter().zip(&logs) {
        for (y, to) in tables.iter().zip(&logs).filter(|(_, to)| *to > from) {
            let distance: u64 = x.iter().zip(y).map(|(a, b)| a.abs_diff(*b)).sum();
            worst = worst.max((to - from) / (distance as f64 * rate));
        }
    }
    Some((worst + ROUNDING).min(1.0))
}

/// gamma of real Laplace noise of one rate on all entries of a table.
///
/// - `parts`: what nothing ties together, with the bounds of the given table's noise.
/// - `limit`: of the tables of a total that are searched; `None`: none is, and a bound stands in the place of what a search finds.
///
/// Parts are independent: the loss of a pair that differs in several is the sum of theirs. A part of more than 12 entries, or with
/// inequalities of several entries, pays at most 1.
pub fn real_table_gamma(parts: &[Bounded], rate: f64, limit: Option<usize>) -> RealGamma {
    let none = Gamma::Computed(0.0);
    let (mut all, mut of_single, mut of_totals) = (none, none, true);
    let mut others = false;
    for bounded in parts.iter().filter(|bounded| !bounded.region.is_everything()) {
        let (component, region) = (&bounded.component, &bounded.region);
        let own = if !region.rows.is_empty() || component.entries.len() > MOST {
            others = true;
            Gamma::Bounded(1.0)
        } else if component.rows.is_empty() && component.entries.len() == 1 {
            let (lower, upper) = (region.lower[0], region.upper[0]);
            let both = lower != NO_LOWER && upper != NO_UPPER;
            let gamma = single(rate, both.then(|| upper.abs_diff(lower))) / rate;
            let own = Gamma::Computed((gamma + ROUNDING).min(1.0));
            of_single = of_single.larger(own);
            of_totals = false;
            own
        } else {
            let found = limit.and_then(|limit| total(bounded, rate, limit)).map(Gamma::Computed);
            of_totals &= component.is_total();
            others |= !component.is_total();
            found.unwrap_or_else(|| Gamma::Bounded(steps(bounded, rate)))
        };
        all = all.larger(own);
    }
    let at_most = Gamma::Bounded(all.value().unwrap_or(1.0));
    RealGamma {
        all,
        added: if others { at_most } else { of_single },
        moved: if of_totals && !others { all } else { at_most },
    }
}

/// The largest [`real_step_bound`] of the steps that join two tables of a part.
fn steps(bounded: &Bounded, rate: f64) -> f64 {
    let longest = longest_step(bounded);
    let of = |m: u64| real_step_bound(m as f64 * rate, rate);
    longest.map_or(1.0, |longest| (1..=longest).map(of).fold(0.0, f64::max))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invariant::{Inequalities, Linear};

    /// Gauss and Legendre's rule of eight points on an interval: exact to 1e-10 for `e^(6t)` on [0, 1].
    fn integral(from: f64, to: f64, f: &mut dyn FnMut(f64) -> f64) -> f64 {
        const RULE: [(f64, f64); 4] = [
            (0.183_434_642_495_649_8, 0.362_683_783_378_362),
            (0.525_532_409_916_329, 0.313_706_645_877_887_3),
            (0.796_666_477_413_626_7, 0.222_381_034_453_374_47),
            (0.960_289_856_497_536_2, 0.101_228_536_290_376_26),
        ];
        let (middle, half) = (0.5 * (from + to), 0.5 * (to - from));
        let both = |(at, weight): (f64, f64)| weight * (f(middle - half * at) + f(middle + half * at));
        half * RULE.into_iter().map(both).sum::<f64>()
    }

    /// `∫ e^(-Σ_v r_v |y_v - x_v|)` over all y >= 0, entry by entry, each sum `v` a set of entries with its rate and its value at x:
    /// with
    /// all kinks, which lie where some entries sum to an integer, between the pieces. `total`: the sum of all entries, if that is
    /// known.
    fn mass(entries: usize, sums: &[(Vec<usize>, f64, f64)], total: Option<f64>, reach: f64) -> f64 {
        fn inner(
            sums: &[(Vec<usize>, f64, f64)],
            y: &mut Vec<f64>,
            n: usize,
            total: Option<f64>,
            reach: f64,
        ) -> f64 {
            let so_far: f64 = y.iter().sum();
            let weight = |y: &[f64]| {
                let off = |(of, rate, at): &(Vec<usize>, f64, f64)| {
                    rate * (of.iter().map(|&i| y[i]).sum::<f64>() - at).abs()
                };
                libm::exp(-sums.iter().map(off).sum::<f64>())
            };
            match total {
                Some(total) if y.len() + 1 == n => {
                    y.push(total - so_far);
                    let own = weight(y);
                    y.pop();
                    return own;
                }
                None if y.len() == n => return weight(y),
                _ => {}
            }
            let end = total.map_or(reach, |total| total - so_far);
            let mut cuts = vec![0.0, end];
            for set in 0..1usize << y.len() {
                let part: f64 = (0..y.len()).filter(|i| (set >> i) & 1 == 1).map(|i| y[i]).sum();
                cuts.extend(
                    (0..=reach as usize + 1).map(|k| k as f64 - part).filter(|cut| (0.0..end).contains(cut)),
                );
            }
            cuts.sort_by(f64::total_cmp);
            let pieces = cuts.windows(2).filter(|cut| cut[1] - cut[0] > 1e-12);
            pieces
                .map(|cut| {
                    integral(cut[0], cut[1], &mut |at| {
                        y.push(at);
                        let own = inner(sums, y, n, total, reach);
                        y.pop();
                        own
                    })
                })
                .sum()
        }
        inner(sums, &mut Vec::new(), entries, total, reach)
    }

    fn all_tables(entries: usize, most: u64) -> Vec<Vec<u64>> {
        let side = most as usize + 1;
        (0..side.pow(entries as u32))
            .map(|index| (0..entries).map(|i| (index / side.pow(i as u32) % side) as u64).collect())
            .collect()
    }

    /// The leaves below a node, by their places among all leaves.
    fn positions_below(tree: &Hierarchy, v: usize) -> Vec<usize> {
        let is_below = |mut node: usize| {
            while node > v {
                node = tree.parent(node);
            }
            node == v
        };
        let leaves = tree.leaves();
        (0..leaves.len()).filter(|&i| is_below(leaves[i] as usize)).collect()
    }

    /// On trees with two and three leaves, by quadrature over all tables with counts up to 2: no pair pays more than is stated; one
    /// record more
    /// pays what is computed at the all-zero corner, and nowhere more.
    #[test]
    fn records_on_trees_pay_what_quadrature_says() {
        let cases: [(&[usize], &[f64]); 3] = [
            (&[0, 0, 0], &[0.9, 2.1]),
            (&[0, 0, 0, 1, 1], &[0.5, 1.7, 1.3]),
            (&[0, 0, 1, 2, 2], &[0.6, 0.4, 0.8, 1.6]),
        ];
        for (parents, rates) in cases {
            let tree = Hierarchy::from_parents(parents).unwrap();
            let leaves: Vec<usize> = tree.leaves().iter().map(|&leaf| leaf as usize).collect();
            let below = |v: usize| positions_below(&tree, v);
            let log_mass = |x: &[u64]| {
                let sum = |v: usize| {
                    let at: u64 = below(v).iter().map(|&i| x[i]).sum();
                    (below(v), rates[tree.level(v)], at as f64)
                };
                libm::log(mass(leaves.len(), &(0..tree.nodes()).map(sum).collect::<Vec<_>>(), None, 10.0))
            };
            let loss = |x: &[u64], y: &[u64]| -> f64 {
                let change =
                    |v: usize| below(v).iter().map(|&i| y[i] as f64 - x[i] as f64).sum::<f64>().abs();
                (0..tree.nodes()).map(|v| rates[tree.level(v)] * change(v)).sum()
            };
            let tables = all_tables(leaves.len(), 2);
            let logs: Vec<f64> = tables.iter().map(|x| log_mass(x)).collect();
            let stated = real_tree_gamma(&tree, rates).unwrap();
            let costs = TreeCosts::new(&tree, rates).unwrap();
            let (mut corner, mut paid, mut largest) = (0.0f64, 0.0f64, 0.0f64);
            for (x, from) in tables.iter().zip(&logs) {
                for (y, to) in tables.iter().zip(&logs).filter(|(y, _)| *y != x) {
                    let gamma = (to - from) / loss(x, y);
                    assert!(
                        gamma <= stated.all.value().unwrap() + 1e-8,
                        "{parents:?} {x:?} {y:?}: {gamma} {stated:?}"
                    );
                    let gains: Vec<usize> = (0..x.len()).filter(|&i| y[i] > x[i]).collect();
                    let distance: u64 = x.iter().zip(y).map(|(a, b)| a.abs_diff(*b)).sum();
                    if distance == 2 && x.iter().sum::<u64>() == y.iter().sum::<u64>() {
                        let most = (1.0 + stated.moved.value().unwrap()) * costs.worst_moved().unwrap().cost;
                        assert!(
                            loss(x, y) + to - from <= most + 1e-8,
                            "{parents:?} {x:?} {y:?}: beyond {most}"
                        );
                    }
                    let is_record = y.iter().sum::<u64>() == x.iter().sum::<u64>() + 1 && gains.len() == 1;
                    if is_record
                        && loss(x, y) < costs.cost(TreeChange::Added(leaves[gains[0]] as u32)).unwrap() + 1e-9
                    {
                        let gain = added(&costs, &tree, rates, leaves[gains[0]]).unwrap();
                        assert!(to - from <= gain + 1e-8, "{x:?} {y:?}");
                        if x.iter().all(|x| *x == 0) {
                            assert!(
                                (to - from - gain).abs() < 1e-8,
                                "{parents:?} {y:?}: {} {gain}",
                                to - from
                            );
                            corner = corner.max(gamma);
                            paid = paid.max(loss(x, y) + to - from);
                            largest = largest.max(loss(x, y));
                        }
                    }
                }
            }
            match stated.all {
                Gamma::Computed(all) => {
                    assert!((all - corner).abs() < 1e-8 && corner > 0.1, "{all} {corner}")
                }
                other => assert!(other.value().unwrap() > corner && parents.len() == 5, "{other:?} {corner}"),
            }
            let Gamma::Computed(gamma) = stated.added else { panic!("{stated:?}") };
            assert!((1.0 + gamma - paid / largest).abs() < 1e-8, "{parents:?}: {gamma} {paid} {largest}");
            assert!(stated.moved.value().unwrap() <= 1.0);
        }
    }

    /// Totals of two to four entries against quadrature: c up to a constant, and the worst of all pairs.
    #[test]
    fn totals_pay_what_quadrature_says() {
        for (entries, sum, rate) in [(2usize, 5u64, 0.8), (3, 4, 0.3), (3, 3, 2.0), (4, 2, 0.7)] {
            let tables: Vec<Vec<u64>> =
                all_tables(entries, sum).into_iter().filter(|x| x.iter().sum::<u64>() == sum).collect();
            let mut log_mass = LogMass { rate, known: HashMap::new() };
            let quadrature = |x: &Vec<u64>| {
                let sums: Vec<_> = (0..entries).map(|i| (vec![i], rate, x[i] as f64)).collect();
                libm::log(mass(entries, &sums, Some(sum as f64), sum as f64))
            };
            let logs: Vec<f64> = tables.iter().map(quadrature).collect();
            for (x, log) in tables.iter().zip(&logs) {
                assert!((log_mass.of(x) - log).abs() < 1e-9, "{x:?}: {} {log}", log_mass.of(x));
            }
            let mut worst = 0.0f64;
            for (x, from) in tables.iter().zip(&logs) {
                for (y, to) in tables.iter().zip(&logs).filter(|(y, _)| *y != x) {
                    let distance: u64 = x.iter().zip(y).map(|(a, b)| a.abs_diff(*b)).sum();
                    worst = worst.max((to - from) / (distance as f64 * rate));
                }
            }
            let counts: Vec<i64> = tables[0].iter().map(|x| *x as i64).collect();
            let region = Inequalities::nonnegative(entries).around(&counts).unwrap();
            let parts = region.components(&Linear::total(entries).unwrap());
            let stated = real_table_gamma(&parts, rate, Some(1000));
            assert!(
                matches!(stated.all, Gamma::Computed(gamma) if (gamma - worst).abs() < 1e-9),
                "{stated:?} {worst}"
            );
            assert_eq!(stated.moved, stated.all);
            let bound = real_table_gamma(&parts, rate, None).all;
            assert!(
                matches!(bound, Gamma::Bounded(bound) if bound >= worst && bound < 1.0),
                "{bound:?} {worst}"
            );
        }
    }

    /// A narrow grid: with tiny rates all weights are equal, and `c` is the volume, `ln c` hardly changes; nothing cancels.
    #[test]
    fn totals_at_extreme_rates_keep_their_digits() {
        for rate in [1e-9, 1e-3, 40.0, 250.0] {
            let mut log_mass = LogMass { rate, known: HashMap::new() };
            // Two entries: c = ∫ e^(-2r|m|) over -x_1 to x_2, so c is ∝ 2 - e^(-2r x_1) - e^(-2r x_2).
            for (a, b) in [(0u64, 7u64), (1, 6), (3, 4)] {
                let below = |x: u64| -libm::expm1(-2.0 * rate * x as f64);
                let want = libm::log((below(a) + below(b)) / (2.0 * rate));
                assert!((log_mass.of(&[a, b]) - want).abs() < 1e-12, "{rate} {a} {b}");
            }
        }
        // Twelve entries, all in one: s - 1 of the others are negative at no size, so that V_1 alone is left.
        let mut log_mass = LogMass { rate: 1e-6, known: HashMap::new() };
        let mut counts = [0; 12];
        counts[3] = 5;
        let volume = libm::pow(5.0, 11.0) / (1..=11).product::<u64>() as f64;
        assert!((log_mass.of(&counts) - libm::log(volume)).abs() < 2e-5);
    }

    /// A single entry between bounds against the integral of its density at every place.
    #[test]
    fn single_entries_pay_most_at_their_bounds() {
        for rate in [0.05, 1.0, 6.0] {
            for width in [1u64, 2, 5, 30] {
                let mass = |x: u64| {
                    let cell = |k: u64| {
                        integral(k as f64, k as f64 + 1.0, &mut |y| libm::exp(-rate * (y - x as f64).abs()))
                    };
                    libm::log((0..width).map(cell).sum::<f64>())
                };
                let worst = (0..width).map(|x| (mass(x + 1) - mass(x)).abs()).fold(0.0, f64::max);
                assert!((single(rate, Some(width)) - worst).abs() < 1e-9, "{rate} {width}");
            }
            assert!((single(rate, None) - single(rate, Some(1000))).abs() < 1e-12);
            let region = Inequalities::nonnegative(2).around(&[3, 0]).unwrap();
            let stated = real_table_gamma(&region.components(&Linear::none(2)), rate, None);
            assert!(
                matches!(stated.all, Gamma::Computed(gamma) if (gamma * rate - single(rate, None)).abs() < 1e-9)
            );
        }
    }

    /// Star of n leaves: one record more gains what the closed form says, `ln(2 - e^-R)` where the root has no rate to speak of; and
    /// many
    /// leaves come near to the bound by steps.
    #[test]
    fn corners_of_stars_are_as_by_hand() {
        let star = |leaves: usize| Hierarchy::from_parents(&vec![0; leaves + 1]).unwrap();
        let gain = |leaves: usize, root: f64, own: f64| {
            let (tree, rates) = (star(leaves), [root, own]);
            added(&TreeCosts::new(&tree, &rates).unwrap(), &tree, &rates, 1).unwrap()
        };
        for own in [0.01f64, 1.0, 30.0] {
            let want = -libm::expm1(-own);
            assert!((gain(3, 1e-12, own) - libm::log1p(want)).abs() < 1e-9, "{own}");
        }
        // One leaf below the root is one entry with both rates.
        assert!((gain(1, 0.6, 0.4) - libm::log(2.0 - libm::exp(-1.0))).abs() < 1e-12);
        let most = |leaves| gain(leaves, 1.0, 1.0) / 2.0;
        assert!(most(2) < most(5) && most(5) < most(12) && most(12) <= real_step_bound(2.0, 1.0));
        assert!(real_step_bound(2.0, 1.0) - most(12) < 1e-3, "{} {}", most(12), real_step_bound(2.0, 1.0));
    }

    /// Where tables are too large gamma is said to be at most 1, as in Theorem 2.1.
    #[test]
    fn large_tables_and_trees_pay_at_most_one() {
        let tree = Hierarchy::from_parents(&[0; 14]).unwrap();
        assert_eq!(real_tree_gamma(&tree, &[1.0, 1.0]).unwrap(), RealGamma::UNKNOWN);
        let region = Inequalities::nonnegative(13).around(&[1; 13]).unwrap();
        let parts = region.components(&Linear::total(13).unwrap());
        assert_eq!(real_table_gamma(&parts, 1.0, Some(1000)).all, Gamma::Bounded(1.0));
    }
}
