//! What conditioning Gaussian noise on inequalities pays: nothing in the reals, and on the integers what is computed here.
//!
//! # In the reals: nothing
//!
//! Let the release be `y = x + z` with independent normal `z`, given that y lies in a convex set K: equations and inequalities. In
//! units of the standard deviations its density is `p_x(y) ∝ exp(-‖y-x‖²/2)` on K. On a tree y are the counts of all nodes, and K
//! lies in the subspace of the sums; a normal law on a subspace is normal around the projection of x, which brings two tables no
//! further apart. Let `x' = x - u` and `mu = ‖u‖`; neither table need lie in K.
//!
//! **Claim.** The conditioned releases of x and x' are no easier to tell apart than N(0, 1) and N(mu, 1): mu-GDP (Dong, Roth, Su 2022,
//! "Gaussian differential privacy"), with the mu of the free noise. Every statement that is computed from mu holds as it does
//! without the inequalities, among them `rho = mu²/2` of zero-concentrated privacy and (epsilon, delta): gamma = 0.
//!
//! **Proof.** `p_x(y)/p_x'(y) ∝ exp(<u,y>)`, so by Neyman and Pearson the best tests are `T = <u,y> > c`. Under the
//! table `x' + s u`, T has a density `f ∝ f_0(t) exp(s t)` with `(log f)'' <= -1/mu²`: marginals of strongly
//! log-concave laws are strongly log-concave with the same constant (Prékopa; Brascamp, Lieb 1976), and so are their
//! tilts. (If T is constant on K, both laws are one.) For q in (0, 1) let `J(q)` be f at the t with `P(T > t) = q`, and
//! `I(q)` the same of a standard normal Z. Then `I'' = -1/I` and `J'' = (log f)''/J <= -1/(mu² J)`, so that `J >=
//! I/mu`: where it were below, `J'' <= -1/(mu² J) < -1/(mu I) = (I/mu)''`, and `J - I/mu` would be concave there, but
//! it is >= 0 at the ends, as I is 0 at 0 and 1. With `p = P(T > c)` and `P(Z > z) = p`
//!
//! `dp/ds = Cov(1{T > c}, T) = ∫ (min(p, q) - p q)/J(q) dq <= mu ∫ (min(p, q) - p q)/I(q) dq = mu Cov(1{Z > z}, Z) = mu φ(z)`,
//!
//! the integrals over `q = P(T > t)` in place of t. So `Φ⁻¹(p)` grows by at most mu as s goes from 0 to 1: no test of
//! size p has a power above `Φ(Φ⁻¹(p) + mu)`. Exchanging x and x' replaces u by -u. ∎
//!
//! Gopi, Lee, Liu 2022, "Private convex optimization via exponential mechanism", have the same bound for strongly log-concave laws
//! tilted by Lipschitz functions. K must be convex: outside an interval it fails (see the tests).
//!
//! # On the integers: computed
//!
//! Let S be the integer tables that keep equations and inequalities, `Z(c) = Σ_{y in S} exp(-‖y-c‖²/(2 sigma²))`, and
//! x, x' two tables of S, `u = x - x'`, `rho(u) = ‖u‖²/(2 sigma²)`. The Rényi divergence of the conditioned releases is
//!
//! `D_α(x‖x') = α rho(u) + (ln Z(x + (α-1) u) - α ln Z(x) + (α-1) ln Z(x')) / (α-1)`.
//!
//! Without inequalities S is a lattice moved by x, where Z is the same at all tables and nowhere larger, so that `D_α
//! <= α rho`: what the free noise pays. With them the bracket can be above 0. **Integers differ from reals here.** Let
//! `y = (k, k, b)` be (0,0,0), (0,0,1), (1,1,0), (2,2,-1) or (2,2,0), all integer points of a parallelogram. The middle
//! one has no neighbour at distance 1 and each of the others has one; at sigma 0.7 the ratio below is above 1.071. Two
//! counts from 0 to 4 with `2 a >= b` reach 1.064 at sigma 0.5, and two overlapping totals with bounds by entry 1.02.
//! One total with bounds by entry, and both margins of a table up to 3 × 3, never exceeded 1 where we looked; we know
//! of no proof.
//!
//! [`rho_ratio`] computes `r = sup D_α/(α rho)` over pairs of tables and all `α > 1`: the conditioned release is then
//! `r rho`-zCDP if the free one is rho-zCDP, also for several components, whose rho add up, by the largest r.

use std::collections::BTreeMap;

/// By how much [`rho_ratio`]'s bound may exceed what is attained, or 1 where that is larger, relatively.
pub const SLACK: f64 = 1e-4;

/// The least rho of a pair for which rounding stays below [`SLACK`].
const LEAST_RHO: f64 = 1e-8;

/// What conditioning makes of rho: the largest `D_α/(α rho)` over all pairs of tables and all `α > 1`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RhoRatio {
    /// The largest that was met.
    pub attained: f64,
    /// No pair has more; at least 1, and at most `max(1, attained) (1 + SLACK)`. 1 if the search shows that no pair exceeds it.
    pub bound: f64,
}

/// The ratio of one set of tables: all integer points of a convex set in a lattice that holds `v/g` with every v of which all entries are
/// multiples of g.
///
/// - `tables`: as moves from one of them, each once. One alone has the bound 1.
/// - `sigma`: of every entry, > 0.
///
/// `None`: some pair has a rho below 1e-8 and is not seen to pay nothing.
///
/// Only pairs with no table between them are looked at, those where the entries of u have no common divisor: through
/// the g - 1 tables between two others, releases of g steps of rho each are `g² rho`-zCDP (Bun, Steinke 2016, Prop.
/// 1.9), and `g² rho` is what the free noise pays. `ψ(α) = (α-1) D_α` is convex and 0 at 1, so between two orders it
/// lies below its chord: intervals are halved until the chord shows that nothing in them exceeds 1, or what is known to
/// be attained by more than [`SLACK`]. No order from `D_∞/rho` on has a ratio above 1. A pair whose ψ'' is everywhere
/// at most 2 rho, that of the free noise, has none either, since both are 0 at the orders 0 and 1:
/// `ψ'' = Var(<u,y>)/sigma⁴` under some law on S, at most a quarter of the square of the range of `<u,y>` over sigma⁴.
pub fn rho_ratio(tables: &[Vec<i64>], sigma: f64) -> Option<RhoRatio> {
    let mut ratio = RhoRatio { attained: 0.0, bound: 1.0 };
    for (i, x) in tables.iter().enumerate() {
        for (j, other) in tables.iter().enumerate() {
            let u: Vec<i64> = x.iter().zip(other).map(|(a, b)| a - b).collect();
            if i == j || u.iter().fold(0, |g, &v| gcd(g, v.unsigned_abs())) != 1 {
                continue;
            }
            let pair = Pair::new(tables, x, &u, sigma);
            if pair.is_narrow(sigma) {
                continue;
            }
            if pair.rho < LEAST_RHO {
                return None;
            }
            pair.search(&mut ratio);
        }
    }
    Some(ratio)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Releases of x beside those of `x - u`.
struct Pair {
    rho: f64,
    /// By value of `<u, y-x>`: the logarithms of its probability under x and of how much likelier it is than under `x - u`.
    law: BTreeMap<i128, (f64, f64)>,
    /// `D_∞`.
    largest: f64,
}

impl Pair {
    fn new(tables: &[Vec<i64>], x: &[i64], u: &[i64], sigma: f64) -> Self {
        let precision = 1.0 / (sigma * sigma);
        let mut energies: BTreeMap<i128, Vec<f64>> = BTreeMap::new();
        for y in tables {
            let (mut along, mut square) = (0i128, 0.0);
            for ((y, x), u) in y.iter().zip(x).zip(u) {
                along += i128::from(y - x) * i128::from(*u);
                square += ((y - x) as f64) * ((y - x) as f64);
            }
            energies.entry(along).or_default().push(-0.5 * precision * square);
        }
        let rho = 0.5 * precision * u.iter().map(|&v| (v as f64) * (v as f64)).sum::<f64>();
        let weights: Vec<(i128, f64)> = energies.iter().map(|(&t, logs)| (t, log_sum(logs))).collect();
        // ‖y-x'‖² = ‖y-x‖² + 2 <u,y-x> + ‖u‖².
        let gain = |t: i128| precision * t as f64 + rho;
        let own = log_sum(&weights.iter().map(|(_, log)| *log).collect::<Vec<f64>>());
        let other = log_sum(&weights.iter().map(|&(t, log)| log - gain(t)).collect::<Vec<f64>>());
        let law: BTreeMap<i128, (f64, f64)> =
            weights.into_iter().map(|(t, log)| (t, (log - own, gain(t) + other - own))).collect();
        let largest = law.last_key_value().map_or(0.0, |(_, (_, loss))| *loss);
        Self { rho, law, largest }
    }

    /// Whether the range of `<u,y>` alone shows that the ratio is at most 1.
    fn is_narrow(&self, sigma: f64) -> bool {
        let ends = self.law.first_key_value().zip(self.law.last_key_value());
        let range = ends.map_or(0.0, |((first, _), (last, _))| (last - first) as f64);
        range * range <= 8.0 * self.rho * libm::pow(sigma, 4.0)
    }

    /// `ψ(1 + beta) = ln E exp(beta L)`, L the loss under x.
    fn psi(&self, beta: f64) -> f64 {
        let law = self.law.values();
        if beta * self.largest < 0.5 {
            return libm::log1p(law.map(|(log, loss)| libm::exp(*log) * libm::expm1(beta * loss)).sum());
        }
        log_sum(&law.map(|(log, loss)| log + beta * loss).collect::<Vec<f64>>())
    }

    /// Widens the ratio to this pair.
    fn search(&self, ratio: &mut RhoRatio) {
        // With beta = α - 1: D_α/(α rho) = ψ/(beta (1 + beta) rho).
        let at = |beta: f64, psi: f64| psi / (beta * (1.0 + beta) * self.rho);
        let end = self.largest / self.rho - 1.0;
        if end <= 0.0 {
            return;
        }
        let mut open = vec![[(0.0, 0.0), (end, self.psi(end))]];
        while let Some([a, b]) = open.pop() {
            ratio.attained = ratio.attained.max(at(b.0, b.1));
            // The chord `slope beta - drop` over beta (1 + beta) rho is largest at `top`.
            let slope = (b.1 - a.1) / (b.0 - a.0);
            let drop = slope * a.0 - a.1;
            let most = if a.0 == 0.0 {
                slope / self.rho
            } else {
                let top = (drop + libm::sqrt((drop * (drop + slope)).max(0.0))) / slope;
                let beta = top.clamp(a.0, b.0);
                at(beta, slope * beta - drop)
            };
            if most <= ratio.attained.max(1.0) * (1.0 + SLACK) {
                ratio.bound = ratio.bound.max(most);
                continue;
            }
            let root = 0.5 * (libm::sqrt(a.0) + libm::sqrt(b.0));
            let middle = (root * root, self.psi(root * root));
            open.extend([[a, middle], [middle, b]]);
        }
    }
}

/// `ln Σ exp`, of at least one term.
fn log_sum(logs: &[f64]) -> f64 {
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    most + libm::log(logs.iter().map(|log| libm::exp(log - most)).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::normal_cdf;

    /// Orders of Rényi divergences.
    const ORDERS: [f64; 4] = [1.01, 1.5, 2.0, 5.0];

    /// delta(epsilon) between N(mu, 1) and N(0, 1) (Balle, Wang 2018, Theorem 8).
    fn normal_delta(mu: f64, epsilon: f64) -> f64 {
        normal_cdf(0.5 * mu - epsilon / mu) - libm::exp(epsilon) * normal_cdf(-0.5 * mu - epsilon / mu)
    }

    /// By how much the hockey-stick divergence of two conditioned laws exceeds that of the free ones, and `D_α/(α rho)` exceeds 1:
    /// the largest over epsilons and orders. `points`: nodes of a quadrature on K with their weights, dimension by dimension.
    fn excess(points: &[(Vec<f64>, f64)], x: &[f64], other: &[f64], sigma: f64) -> (f64, f64) {
        let square = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
        let log_density = |c: &[f64]| -> Vec<f64> {
            let of = |(y, w): &(Vec<f64>, f64)| libm::log(*w) - 0.5 * square(y, c) / (sigma * sigma);
            let logs: Vec<f64> = points.iter().map(of).collect();
            let total = log_sum(&logs);
            logs.into_iter().map(|log| log - total).collect()
        };
        let (p, q) = (log_density(x), log_density(other));
        let pairs = || p.iter().zip(&q);
        let mu = libm::sqrt(square(x, other)) / sigma;
        let mut most = (f64::MIN, f64::MIN);
        for k in 0..40 {
            let epsilon = 0.005 * mu * f64::from(k * k);
            let delta: f64 = pairs().map(|(p, q)| (libm::exp(*p) - libm::exp(epsilon + q)).max(0.0)).sum();
            most.0 = most.0.max(delta - normal_delta(mu, epsilon));
        }
        for order in ORDERS {
            let logs: Vec<f64> = pairs().map(|(p, q)| order * p - (order - 1.0) * q).collect();
            let divergence = log_sum(&logs) / (order - 1.0);
            most.1 = most.1.max(divergence / (order * 0.5 * mu * mu) - 1.0);
        }
        most
    }

    /// Nodes of the midpoint rule on an interval.
    fn midpoints(low: f64, high: f64, n: usize) -> Vec<(f64, f64)> {
        let step = (high - low).max(0.0) / n as f64;
        (0..n).map(|i| (low + (i as f64 + 0.5) * step, step)).collect()
    }

    /// Conditioned on intervals and half-lines: against the closed form of the free noise. The rule's error is below h²/24 times the
    /// total variation of the derivative, a few over sigma², with h at most 60 sigma/40,000: below 1e-6.
    #[test]
    fn in_one_dimension_intervals_cost_nothing() {
        for sigma in [0.4, 1.0, 3.0] {
            for (low, high) in
                [(0.0, f64::INFINITY), (0.0, 1.0), (-2.0, 5.0), (f64::NEG_INFINITY, 0.0), (3.0, 3.5)]
            {
                for (x, other) in [(0.0, 1.0), (1.0, 0.0), (0.0, 0.3), (2.0, 4.0), (-1.0, 0.5)] {
                    // Densities, and what the orders weigh, are largest at the points of K that are closest to x + (α-1) u, α = 0 to 5.
                    let near = |x: f64, away: f64| (x.clamp(low, high) + away).clamp(low, high);
                    let far = x + 4.0 * (x - other);
                    let first = near(f64::min(far, other), -12.0 * sigma);
                    let last = near(f64::max(far, other), 12.0 * sigma);
                    let nodes = midpoints(first, last, 40_000);
                    let points: Vec<_> = nodes.into_iter().map(|(y, w)| (vec![y], w)).collect();
                    let (delta, order) = excess(&points, &[x], &[other], sigma);
                    assert!(
                        delta < 1e-6 && order < 1e-6,
                        "{sigma} {low} {high} {x} {other}: {delta} {order}"
                    );
                }
            }
        }
    }

    /// What is left of the line outside an interval is not convex, and pays more.
    #[test]
    fn without_convexity_more_is_paid() {
        let nodes = midpoints(-12.0, 13.0, 20_000).into_iter().filter(|(y, _)| (y - 0.5).abs() > 1.5);
        let points: Vec<_> = nodes.map(|(y, w)| (vec![y], w)).collect();
        let (delta, order) = excess(&points, &[1.0], &[0.0], 1.0);
        assert!(delta > 0.1 && order > 0.1, "{delta} {order}");
    }

    /// A total of three counts >= 0 (a triangle), with an upper bound (a polygon), and between two bounds of one count.
    #[test]
    fn in_two_dimensions_polygons_cost_nothing() {
        for (sigma, least, most) in [(0.6, 0.0, 4.0), (1.5, 0.0, 4.0), (1.5, 0.0, 3.0), (1.0, 1.0, 1.5)] {
            // y = (a, b, 4 - a - b), a between `least` and `most`, all between 0 and `most`.
            let mut points = Vec::new();
            for (a, w) in midpoints(least, most, 500) {
                let (low, high) = ((4.0 - a - most).max(0.0), (4.0 - a).min(most));
                points.extend(
                    midpoints(low, high, 500).into_iter().map(|(b, v)| (vec![a, b, 4.0 - a - b], v * w)),
                );
            }
            for (x, other) in [([4.0, 0.0, 0.0], [3.0, 1.0, 0.0]), ([0.0, 4.0, 0.0], [1.0, 1.0, 2.0])]
                .into_iter()
                .chain([([1.0, 2.0, 1.0], [2.0, 1.0, 1.0]), ([1.0, 3.0, 0.0], [1.0, 2.0, 1.0])])
            {
                for (x, other) in [(x, other), (other, x)] {
                    let (delta, order) = excess(&points, &x, &other, sigma);
                    assert!(
                        delta < 1e-5 && order < 1e-5,
                        "{sigma} {least} {most} {x:?} {other:?}: {delta} {order}"
                    );
                }
            }
        }
    }

    /// All points of a box that satisfy something.
    fn within(low: i64, high: i64, n: usize, keeps: impl Fn(&[i64]) -> bool) -> Vec<Vec<i64>> {
        let side = (high - low + 1) as usize;
        (0..side.pow(n as u32))
            .map(|index| (0..n).map(|c| (index / side.pow(c as u32) % side) as i64 + low).collect())
            .filter(|y: &Vec<i64>| keeps(y))
            .collect()
    }

    /// `max D_α/(α rho)` over all ordered pairs, those with tables between them too, on a grid of orders, by sums over all tables.
    fn largest(tables: &[Vec<i64>], sigma: f64) -> f64 {
        let log_z = |c: &[f64]| {
            let energy = |y: &Vec<i64>| {
                -y.iter().zip(c).map(|(&y, c)| (y as f64 - c) * (y as f64 - c)).sum::<f64>()
                    / (2.0 * sigma * sigma)
            };
            log_sum(&tables.iter().map(energy).collect::<Vec<f64>>())
        };
        let real = |x: &[i64]| x.iter().map(|&x| x as f64).collect::<Vec<f64>>();
        let at: Vec<f64> = tables.iter().map(|x| log_z(&real(x))).collect();
        let mut most = 0.0f64;
        for (i, x) in tables.iter().enumerate() {
            for (j, other) in tables.iter().enumerate().filter(|(j, _)| *j != i) {
                let (x, other) = (real(x), real(other));
                let square: f64 = x.iter().zip(&other).map(|(a, b)| (a - b) * (a - b)).sum();
                let rho = square / (2.0 * sigma * sigma);
                for k in 1..180 {
                    let beta = 0.002 * libm::exp(0.05 * f64::from(k));
                    let c: Vec<f64> = x.iter().zip(&other).map(|(x, o)| x + beta * (x - o)).collect();
                    let rest = log_z(&c) - (1.0 + beta) * at[i] + beta * at[j];
                    most = most.max(1.0 + rest / (beta * (1.0 + beta) * rho));
                }
            }
        }
        most
    }

    fn systems() -> Vec<(&'static str, Vec<Vec<i64>>)> {
        let sum = |y: &[i64], of: &[usize]| of.iter().map(|&i| y[i]).sum::<i64>();
        vec![
            ("two", within(0, 7, 2, |y| sum(y, &[0, 1]) == 7)),
            ("three", within(0, 4, 3, |y| sum(y, &[0, 1, 2]) == 4)),
            ("four", within(0, 2, 4, |y| sum(y, &[0, 1, 2, 3]) == 3)),
            (
                "2x3",
                within(0, 3, 6, |y| {
                    sum(y, &[0, 1, 2]) == 3
                        && sum(y, &[3, 4, 5]) == 4
                        && sum(y, &[0, 3]) == 2
                        && sum(y, &[1, 4]) == 3
                }),
            ),
            (
                "skew",
                within(-4, 4, 5, |y| {
                    -y[0] - 2 * y[1] + 4 * y[2] - 2 * y[3] == 0
                        && y[0] + 3 * y[1] + 2 * y[2] - y[3] == 0
                        && y[4].abs() < 3
                }),
            ),
            ("offset", offset()),
            ("half", half()),
            (
                "subsets",
                within(0, 4, 4, |y| sum(y, &[0, 2]) == 3 && sum(y, &[1, 2, 3]) == 4 && y[1] < 2 && y[2] < 4),
            ),
        ]
    }

    /// y = (k, k, b) with `0 <= k <= 2` and `0 <= k + 2 b <= 2`.
    fn offset() -> Vec<Vec<i64>> {
        within(-3, 3, 3, |y| y[0] == y[1] && (0..3).contains(&y[0]) && (0..3).contains(&(y[0] + 2 * y[2])))
    }

    /// Two counts from 0 to 4, one at least half of the other.
    fn half() -> Vec<Vec<i64>> {
        within(0, 4, 2, |y| 2 * y[0] >= y[1])
    }

    /// The bound lies above every pair and order, those that are not searched too, and what is attained is close to it.
    #[test]
    fn ratios_are_those_of_all_sums() {
        let (mut above, mut below) = (0, 0);
        for (name, tables) in systems() {
            for sigma in [0.3, 0.5, 0.7, 0.92, 1.0, 2.0, 6.0] {
                let ratio = rho_ratio(&tables, sigma).unwrap();
                let want = largest(&tables, sigma);
                assert!(want <= ratio.bound + 1e-9, "{name} {sigma}: {ratio:?}, {want}");
                // Whatever the order of the tables.
                let reversed: Vec<Vec<i64>> = tables.iter().rev().cloned().collect();
                let again = rho_ratio(&reversed, sigma).unwrap();
                assert!(want <= again.bound + 1e-9, "{name} {sigma}: {again:?}, {want}");
                assert!(ratio.bound <= ratio.attained.max(1.0) * (1.0 + SLACK), "{name} {sigma}: {ratio:?}");
                // The grid of the sums is coarse.
                assert!(ratio.attained <= want.max(1.0) * 1.002 + 1e-9, "{name} {sigma}: {ratio:?}, {want}");
                above += usize::from(ratio.attained > 1.01);
                below += usize::from(ratio.bound == 1.0);
            }
        }
        assert!(above >= 2 && below >= 10, "{above} {below}");
    }

    /// The finding: on the integers, conditioning on inequalities can cost more.
    #[test]
    fn a_skew_strip_of_integers_pays_more() {
        let tables = offset();
        assert_eq!(tables.len(), 5);
        // By hand: x = (1,1,0) and x' = (0,0,0) at order 2, whose centre is (2,2,0).
        let q = |square: f64| libm::exp(-square / (2.0 * 0.49));
        let (middle, end) = (1.0 + 2.0 * q(2.0) + 2.0 * q(3.0), 1.0 + q(1.0) + q(2.0) + q(8.0) + q(9.0));
        let want = 1.0 + (2.0 * libm::log(end) - 2.0 * libm::log(middle)) / (2.0 * 2.0 / (2.0 * 0.49));
        let ratio = rho_ratio(&tables, 0.7).unwrap();
        assert!(want > 1.04 && ratio.attained > want - 1e-3, "{ratio:?} {want}");
        assert!((ratio.bound - 1.0717).abs() < 2e-4, "{ratio:?}");
        assert!((rho_ratio(&half(), 0.5).unwrap().bound - 1.0648).abs() < 2e-4);
    }

    /// One total with bounds by entry, and both margins: no pair pays more, in any of these.
    #[test]
    fn totals_and_margins_pay_nothing_where_we_looked() {
        let mut systems = Vec::new();
        for (n, most) in [(2, 6), (3, 2), (3, 3), (3, 5), (4, 2), (5, 1)] {
            for total in 1..=most * n as i64 / 2 {
                systems.push(within(0, most, n, |y| y.iter().sum::<i64>() == total));
            }
        }
        for (rows, columns, most) in [(2usize, 2usize, 4), (2, 3, 2), (3, 3, 1)] {
            for x in within(0, most, rows * columns, |y| y.is_sorted()) {
                let line = |y: &[i64], of: &dyn Fn(usize) -> bool| -> i64 {
                    (0..y.len()).filter(|&i| of(i)).map(|i| y[i]).sum()
                };
                systems.push(within(0, most, rows * columns, |y| {
                    (0..rows).all(|r| line(y, &|i| i / columns == r) == line(&x, &|i| i / columns == r))
                        && (0..columns)
                            .all(|c| line(y, &|i| i % columns == c) == line(&x, &|i| i % columns == c))
                }));
            }
        }
        let mut pairs = 0;
        for tables in systems.iter().filter(|tables| tables.len() > 1) {
            for sigma in [0.3, 0.5, 0.7, 1.0, 1.4, 2.0] {
                let ratio = rho_ratio(tables, sigma).unwrap();
                assert!(
                    ratio.attained < 1.0 + 1e-9 && ratio.bound <= 1.0 + SLACK,
                    "{sigma} {tables:?}: {ratio:?}"
                );
                pairs += tables.len() * (tables.len() - 1);
            }
        }
        assert!(pairs > 10_000, "{pairs}");
    }

    #[test]
    fn the_ends_of_the_range() {
        assert_eq!(rho_ratio(&[vec![0, 0]], 1.0).unwrap(), RhoRatio { attained: 0.0, bound: 1.0 });
        // Far wider noise than tables: nothing is searched. Far wider tables than noise: pairs are as those of the lattice.
        let tables: Vec<Vec<i64>> = (0..40).map(|k| vec![k, -k]).collect();
        assert_eq!(rho_ratio(&tables, 1e6).unwrap().bound, 1.0);
        let ratio = rho_ratio(&tables, 0.05).unwrap();
        assert!(ratio.attained > 0.99 && ratio.bound <= 1.0 + SLACK, "{ratio:?}");
        // A short step along which the tables reach far.
        let far: Vec<Vec<i64>> = vec![vec![0, 0], vec![1, 0], vec![0, 1], vec![400_000_001, 400_000_000]];
        assert_eq!(rho_ratio(&far, 1e5), None);
    }
}
