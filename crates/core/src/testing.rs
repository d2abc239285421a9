//! What the statistical tests share.
#![allow(dead_code)]

use congenial_core::invariant::Hierarchy;
use congenial_core::rng::{Stream, below};
use statrs::distribution::{ChiSquared, ContinuousCDF};
use std::collections::HashMap;

/// Level of every statistical test: the chance that a correct sampler fails it, for its fixed seed.
pub const ALPHA: f64 = 1e-6;

/// The p-value of Pearson's chi-square test of counts against probabilities that sum to at most 1; the rest, and the
/// outcomes expected fewer than 10 times, are pooled. `None` if that leaves nothing to compare.
pub fn frequencies(bins: impl IntoIterator<Item = (u64, f64)>, draws: u64) -> Option<f64> {
    let n = draws as f64;
    let (mut statistic, mut kept) = (0.0, 0);
    let (mut rest_count, mut rest_p) = (draws, 1.0);
    for (count, p) in bins {
        if n * p >= 10.0 {
            statistic += (count as f64 - n * p) * (count as f64 - n * p) / (n * p);
            kept += 1;
            rest_count -= count;
            rest_p -= p;
        }
    }
    if n * rest_p >= 10.0 {
        statistic += libm::pow(rest_count as f64 - n * rest_p, 2.0) / (n * rest_p);
        kept += 1;
    } else if rest_count >= 60 {
        // A rare event pooled from tails: at most 10 expected; 60 or more has probability below 1e-25.
        return Some(0.0);
    }
    (kept >= 2).then(|| ChiSquared::new(f64::from(kept - 1)).unwrap().sf(statistic))
}

/// Asserts [`frequencies`] at level ALPHA.
pub fn assert_frequencies(bins: impl IntoIterator<Item = (u64, f64)>, draws: u64) {
    let p = frequencies(bins, draws).expect("nothing to test");
    assert!(p > ALPHA, "chi-square test of {draws} draws: p = {p:e}");
}

/// A tree of so many nodes, each with its parent among the last three before it; half of the trees have nodes that are known.
pub fn random_tree(nodes: usize, rng: &mut Stream) -> Hierarchy {
    let mut parents = vec![0usize; nodes];
    for v in 2..nodes {
        let last = parents[v - 1];
        parents[v] = last + below(rng, (v - last).min(3) as u64) as usize;
    }
    let tree = Hierarchy::from_parents(&parents).unwrap();
    if below(rng, 2) > 0 {
        return tree;
    }
    let known = (0..nodes).map(|_| below(rng, 4) == 0).collect();
    tree.clone().with_known(known).unwrap_or(tree)
}

/// Draws of whole vectors against a listed law, by [`assert_frequencies`].
pub fn assert_law(law: &HashMap<Vec<i64>, f64>, draws: u64, mut draw: impl FnMut() -> Vec<i64>) {
    let mut seen: HashMap<Vec<i64>, u64> = HashMap::new();
    for _ in 0..draws {
        *seen.entry(draw()).or_default() += 1;
    }
    assert_frequencies(law.iter().map(|(z, &p)| (seen.get(z).copied().unwrap_or(0), p)), draws);
}

/// Kolmogorov-Smirnov test of independent draws against a continuous distribution function, by the
/// Dvoretzky-Kiefer-Wolfowitz bound with Massart's constant.
pub fn assert_distribution(mut draws: Vec<f64>, cdf: impl Fn(f64) -> f64) {
    draws.sort_by(f64::total_cmp);
    let n = draws.len() as f64;
    let limit = (libm::log(2.0 / ALPHA) / (2.0 * n)).sqrt();
    let distance = draws.iter().enumerate().fold(0.0f64, |worst, (i, &x)| {
        let p = cdf(x);
        worst.max((p - i as f64 / n).abs()).max(((i + 1) as f64 / n - p).abs())
    });
    assert!(distance <= limit, "KS distance {distance}, limit {limit}");
}

/// Two-sample Kolmogorov-Smirnov test, each sample within its own DKW bound.
pub fn assert_same_distribution(mut a: Vec<f64>, mut b: Vec<f64>) {
    a.sort_by(f64::total_cmp);
    b.sort_by(f64::total_cmp);
    let bound = |n: usize| (libm::log(4.0 / ALPHA) / (2.0 * n as f64)).sqrt();
    let limit = bound(a.len()) + bound(b.len());
    let share = |sorted: &[f64], x: f64| sorted.partition_point(|&y| y <= x) as f64 / sorted.len() as f64;
    let distance = a.iter().chain(&b).map(|&x| (share(&a, x) - share(&b, x)).abs()).fold(0.0, f64::max);
    assert!(distance <= limit, "two-sample KS distance {distance}, limit {limit}");
}

/// Asserts that a mean of `n` draws with the given standard deviation is `expected`, at level ALPHA.
pub fn assert_mean(mean: f64, expected: f64, deviation: f64, n: usize) {
    // Two-sided normal quantile for 1e-6 is 4.9.
    let limit = 4.9 * deviation / (n as f64).sqrt();
    assert!((mean - expected).abs() <= limit, "mean {mean}, expected {expected} ± {limit}");
}

/// The stream of a test.
pub fn test_stream(seed: u64) -> congenial_core::rng::Stream {
    use congenial_core::rng::{Role, TaskKey, stream};
    stream(TaskKey { seed, cell: 0, replicate: 0, role: Role::Noise })
}

/// All two-way sums of a 2 × 2 × n table, layer by layer of n.
pub fn layers(n: u32) -> congenial_core::invariant::Linear {
    let at = |i: u32, j: u32, k: u32| (i * 2 + j) * n + k;
    let mut rows: Vec<congenial_core::lattice::Row> = Vec::new();
    for a in 0..2 {
        rows.extend((0..n).map(|k| vec![(at(0, a, k), 1), (at(1, a, k), 1)]));
        rows.extend((0..n).map(|k| vec![(at(a, 0, k), 1), (at(a, 1, k), 1)]));
        rows.extend((0..2).map(|b| (0..n).map(|k| (at(a, b, k), 1)).collect()));
    }
    congenial_core::invariant::Linear::from_rows(4 * n as usize, rows).unwrap()
}

/// Systems with a small free dimension: one total, two totals, a table, equal columns, coefficients beyond ±1.
pub fn small_lattices() -> Vec<congenial_core::invariant::Linear> {
    use congenial_core::invariant::Linear;
    use congenial_core::lattice::IntMatrix;
    let explicit = |rows: &[Vec<i64>]| Linear::matrix(&IntMatrix::from_rows(rows).unwrap()).unwrap();
    vec![
        Linear::total(3).unwrap(),
        Linear::partition(&[0, 1, 0, 1]).unwrap(),
        Linear::margins(2, 3).unwrap(),
        Linear::subsets(4, &[vec![0, 1, 2], vec![2, 3]]).unwrap(),
        explicit(&[vec![1, 2, -1]]),
        explicit(&[vec![2, 3, 0, 1], vec![4, 6, 0, 2], vec![0, 0, 1, 1]]),
    ]
}

/// All points of `{z : A z = 0}` with entries within ±reach.
pub fn lattice_points(invariant: &congenial_core::invariant::Linear, reach: i64) -> Vec<Vec<i64>> {
    let side = (2 * reach + 1) as usize;
    let entries = invariant.entries();
    (0..side.pow(entries as u32))
        .map(|index| {
            (0..entries).map(|c| (index / side.pow(c as u32) % side) as i64 - reach).collect::<Vec<i64>>()
        })
        .filter(|z| invariant.check(z).is_ok())
        .collect()
}

/// Asserts `π P = π` on a listed support, for `π ∝ exp(-energy(Σ part))` and the rows of P: points with their
/// probabilities. What leaves the list is carried by points of negligible weight.
pub fn assert_stationary(
    points: &[Vec<i64>],
    part: impl Fn(i64) -> i64,
    energy: impl Fn(i64) -> f64,
    mut row: impl FnMut(&[i64]) -> Vec<(Vec<i64>, f64)>,
) {
    use std::collections::HashMap;
    let weight = |z: &[i64]| libm::exp(-energy(z.iter().map(|&z| part(z)).sum()));
    let total: f64 = points.iter().map(|z| weight(z)).sum();
    let mut after: HashMap<Vec<i64>, f64> = HashMap::new();
    for z in points {
        let before = weight(z) / total;
        // Rows of points that weigh nothing need not be computed.
        if before < 1e-13 {
            continue;
        }
        let row = row(z);
        let sum: f64 = row.iter().map(|(_, p)| p).sum();
        assert!((sum - 1.0).abs() < 1e-9, "a row sums to {sum}");
        for (to, p) in row {
            *after.entry(to).or_default() += before * p;
        }
    }
    for z in points {
        let (want, got) = (weight(z) / total, after.get(z).copied().unwrap_or(0.0));
        assert!((got - want).abs() < 2e-10, "{z:?}: {want} before a step, {got} after");
    }
}

/// The law of `at(u)` with a uniform u, where `at` is a step function whose values never come back: read off the values of u at which
/// it changes.
pub fn step_law<T: PartialEq + Clone>(at: impl Fn(f64) -> T) -> Vec<(T, f64)> {
    let mut law = Vec::new();
    let (mut u, mut here) = (0.0, at(1e-17));
    while u < 1.0 {
        // The last u with this value.
        let (mut low, mut high) = (u, 1.0);
        if at(1.0 - 1e-16) != here {
            for _ in 0..60 {
                let middle = 0.5 * (low + high);
                if at(f64::max(middle, 1e-17)) == here { low = middle } else { high = middle }
            }
        }
        law.push((here.clone(), high - u));
        u = high;
        here = at(u.min(1.0 - 1e-16));
    }
    law
}

/// Asserts that the bound from coupled pairs lies above the true distance at every t, and returns both at t = 0, 1, 2, …
///
/// - `points`: the support, or all of it that matters; what leaves it stays where it was.
/// - `row`: the kernel's transition law from a point.
/// - `start`: both chains of every pair begin here, and so does the law whose distance to its limit is computed.
pub fn assert_bounded<K: congenial_core::kernel::Coupled<Value = i64>>(
    kernel: &K,
    points: &[Vec<i64>],
    row: impl Fn(&[i64]) -> Vec<(Vec<i64>, f64)>,
    start: &[i64],
    (lag, pairs): (u64, u64),
) -> Vec<(f64, f64)> {
    use congenial_core::coupling::{MeetingTimes, couple};
    use std::collections::HashMap;
    let places: HashMap<&[i64], usize> = points.iter().enumerate().map(|(i, z)| (&z[..], i)).collect();
    let rows: Vec<Vec<(usize, f64)>> = points
        .iter()
        .enumerate()
        .map(|(i, z)| {
            row(z).into_iter().map(|(to, p)| (places.get(&to[..]).copied().unwrap_or(i), p)).collect()
        })
        .collect();
    let step = |law: &[f64]| {
        let mut after = vec![0.0; law.len()];
        for (row, p) in rows.iter().zip(law).filter(|(_, p)| **p > 0.0) {
            row.iter().for_each(|&(to, q)| after[to] += p * q);
        }
        after
    };
    let distance = |a: &[f64], b: &[f64]| 0.5 * a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum::<f64>();
    let first = |i: usize| f64::from(u8::from(i == places[start]));
    let mut laws: Vec<Vec<f64>> = vec![(0..points.len()).map(first).collect()];
    while laws.len() < 20_000 {
        let next = step(&laws[laws.len() - 1]);
        let moved = distance(&next, &laws[laws.len() - 1]);
        laws.push(next);
        if moved < 1e-12 {
            break;
        }
    }
    let limit = laws.pop().expect("one");
    let mut times = MeetingTimes::new(lag);
    for pair in 0..pairs {
        let states = (kernel.init(start), kernel.init(start));
        times.push(couple(kernel, states, lag, 1_000_000, &mut test_stream(pair)).tau);
    }
    assert!(times.is_bounded(), "{} pairs have not met", times.censored());
    let compare = |(t, law): (usize, &Vec<f64>)| {
        let (true_distance, bound) = (distance(law, &limit), times.bound(t as u64));
        // 4.9 standard errors, and pairs of a probability of which none need be seen at this level.
        let limit = bound.mean + 4.9 * bound.standard_error + libm::log(1.0 / ALPHA) / pairs as f64;
        assert!(true_distance <= limit, "t = {t}: distance {true_distance}, bound {bound:?}");
        (true_distance, bound.mean)
    };
    laws.iter().enumerate().map(compare).collect()
}

/// Runs a coupled pair of chains until they meet, within 200,000 steps, and 1,000 steps on, in which they stay together.
/// Returns both.
pub fn assert_meets<K: congenial_core::kernel::Coupled<Value: PartialEq>>(
    kernel: &K,
    seed: u64,
) -> [K::State; 2] {
    use congenial_core::kernel::Start;
    let mut rng = test_stream(seed);
    let mut start = || kernel.start(Start::default(), &mut rng).unwrap();
    let (mut x, mut y) = (start(), start());
    let (mut a, mut b) = (kernel.noise(), kernel.noise());
    let mut step = |x: &mut K::State, y: &mut K::State| {
        kernel.draw_pair(&mut rng, (x, y), (&mut a, &mut b));
        kernel.apply(x, &a);
        kernel.apply(y, &b);
        kernel.position(x) == kernel.position(y)
    };
    assert!((0..200_000).any(|_| step(&mut x, &mut y)), "pair {seed} has not met");
    assert!((0..1000).all(|_| step(&mut x, &mut y)), "pair {seed} has come apart");
    [x, y]
}

/// The logarithm of a law, up to a constant.
pub type LogWeight<'a> = &'a dyn Fn(&[i64]) -> f64;

/// Asserts of groups of chains with weights: at the start the bound on every divergence is the divergence, at `times` it is at least
/// the true one, it never rises, and in the end χ² rests at `Var(w/c)/N` (each within 4.9 standard errors).
///
/// - `points`: the support, or all of it that matters; what leaves it stays where it was.
/// - `row`: the kernel's transition law from a point.
/// - `log`: of the target and of the law of starts, each up to a constant.
/// - `sizes`: groups, and chains of each.
pub fn assert_harmonized<K: congenial_core::kernel::Coupled<Value = i64>>(
    kernel: &K,
    points: &[Vec<i64>],
    row: impl Fn(&[i64]) -> Vec<(Vec<i64>, f64)>,
    log: [LogWeight; 2],
    start: congenial_core::kernel::Start,
    (times, sizes): (&[u64], (u64, u64)),
) {
    use congenial_core::coupling::{Divergence, Harmonized, harmonize};
    use std::collections::HashMap;
    let places: HashMap<&[i64], usize> = points.iter().enumerate().map(|(i, z)| (&z[..], i)).collect();
    let normed = |log: LogWeight| -> Vec<f64> {
        let weights: Vec<f64> = points.iter().map(|z| libm::exp(log(z))).collect();
        let total: f64 = weights.iter().sum();
        weights.into_iter().map(|weight| weight / total).collect()
    };
    let (target, mut law) = (normed(log[0]), normed(log[1]));
    let (groups, chains) = sizes;
    let run = |group| harmonize(kernel, start, chains, 1_000_000, &mut test_stream(group)).unwrap();
    let all = Harmonized::new((0..groups).map(run).collect());
    assert_eq!((all.met(), all.at(all.last()).apart()), (groups, groups));
    let resamples = all.resamples(&mut test_stream(u64::MAX));
    let truth = |law: &[f64], divergence: Divergence| -> f64 {
        target.iter().zip(law).filter(|(_, q)| **q > 0.0).map(|(p, q)| q * divergence.f(p / q)).sum()
    };
    let spread = truth(&law, Divergence::ChiSquared);
    let mut before = [f64::INFINITY; 4];
    let mut rows: Vec<Vec<(usize, f64)>> = Vec::new();
    for t in 0..=times.iter().copied().max().unwrap_or(0) {
        if t == 1 {
            let place = |i: usize, to: &[i64]| places.get(to).copied().unwrap_or(i);
            let row =
                |(i, z): (usize, &Vec<i64>)| row(z).into_iter().map(|(to, p)| (place(i, &to), p)).collect();
            rows = points.iter().enumerate().map(row).collect();
        }
        if t > 0 {
            let mut after = vec![0.0; law.len()];
            for (row, p) in rows.iter().zip(&law) {
                row.iter().for_each(|&(to, q)| after[to] += p * q);
            }
            law = after;
        }
        if !times.contains(&t) {
            continue;
        }
        for (divergence, before) in Divergence::ALL.into_iter().zip(&mut before) {
            let (bound, truth) = (all.at(t).bootstrap(divergence, &resamples), truth(&law, divergence));
            let (mean, limit) = (bound.estimate.mean, 4.9 * bound.estimate.standard_error);
            println!("{divergence}, t = {t}: {truth}, bound {mean} ± {}", bound.estimate.standard_error);
            assert!(truth <= mean + limit, "{divergence}, t = {t}: {truth}, bound {bound:?}");
            assert!(t > 0 || (truth - mean).abs() <= limit, "{divergence} at the start: {truth}, {bound:?}");
            assert!(mean <= *before + 1e-12, "{divergence} rises at t = {t}");
            assert!(bound.interval.0 <= mean + limit && mean - limit <= bound.interval.1);
            *before = mean;
        }
    }
    let end = all.at(all.last()).bootstrap(Divergence::ChiSquared, &resamples).estimate;
    let floor = spread / chains as f64;
    assert!((end.mean - floor).abs() <= 4.9 * end.standard_error, "rests at {end:?}, not at {floor}");
}

/// Equations with the inequalities on the noise.
pub type System = (congenial_core::invariant::Linear, congenial_core::invariant::Region);

/// Equations with inequalities that leave one or two free dimensions in the reals: bounds, rows, corners at the counts, bounds far
/// out, equalities that only the inequalities imply, coefficients beyond ±1, two components. Each with the same system without
/// implied equalities, written by hand, for an oracle that does not know of them.
pub fn bounded_reals() -> Vec<[System; 2]> {
    use congenial_core::invariant::{Inequalities, Linear, Region};
    use congenial_core::lattice::IntMatrix;
    let explicit = |rows: &[Vec<i64>]| Linear::matrix(&IntMatrix::from_rows(rows).unwrap()).unwrap();
    let floors = |counts: &[i64]| Inequalities::nonnegative(counts.len()).around(counts).unwrap();
    let rows = |rows: Vec<(Vec<(u32, i64)>, i64)>| Inequalities::rows(rows).unwrap();
    let within = |low: i64, high: i64, n: usize| Inequalities::bounds(vec![low; n], vec![high; n]).unwrap();
    let slanted = rows(vec![(vec![(0, 1), (1, -2)], -3), (vec![(1, 1), (2, 1)], 1)]);
    let four = within(0, 5, 4);
    let opposite = rows(vec![(vec![(0, 1), (1, 2)], 4), (vec![(0, -1), (1, -2)], -4)]);
    let mut systems: Vec<[System; 2]> = vec![
        (Linear::total(2).unwrap(), Region::everything()),
        (Linear::total(2).unwrap(), floors(&[3, 0])),
        (Linear::total(3).unwrap(), Region::everything()),
        (Linear::total(3).unwrap(), floors(&[0, 4, 1])),
        (Linear::total(3).unwrap(), slanted.clone().and(within(0, 3, 3)).around(&[0, 1, 2]).unwrap()),
        (Linear::total(3).unwrap(), slanted.around(&[9, 1, 0]).unwrap()),
        (explicit(&[vec![3, -2, 1]]), floors(&[0, 1, 2])),
        (
            explicit(&[vec![1, 2, -1, 0], vec![0, 3, 1, -2]]),
            within(-2, 40, 4).around(&[1, 0, 40, 3]).unwrap(),
        ),
        (Linear::partition(&[0, 0, 1, 1]).unwrap(), floors(&[1, 0, 0, 6])),
    ]
    .into_iter()
    .map(|system| [system.clone(), system])
    .collect();
    systems.push([
        // Empty totals fix their entries.
        (Linear::partition(&[0, 0, 0, 1, 1, 2, 2, 2]).unwrap(), floors(&[2, 0, 1, 0, 0, 0, 0, 0])),
        (
            Linear::subsets(8, &[vec![0, 1, 2], vec![3], vec![4], vec![5], vec![6], vec![7]]).unwrap(),
            floors(&[2, 0, 1, 0, 0, 0, 0, 0]),
        ),
    ]);
    systems.push([
        // Both rows together are an equation.
        (Linear::total(4).unwrap(), opposite.and(four.clone()).around(&[2, 1, 0, 5]).unwrap()),
        (explicit(&[vec![1; 4], vec![1, 2, 0, 0]]), four.around(&[2, 1, 0, 5]).unwrap()),
    ]);
    systems
}

/// Distances of the exact law of metropolized independence to its target, total variation, after some numbers of steps,
/// which rise: a total of three entries, the first two proposed with the rate `rate`, the law `exp(-epsilon Σ |z_i|)`.
/// By sorted weights w = p/q: a state x accepts a proposal y with probability `min(1, w(y)/w(x))`.
pub fn mis_distances(epsilon: f64, rate: f64, steps: &[u64]) -> Vec<f64> {
    let reach = (12.0 / rate.min(epsilon)).ceil() as i64;
    let mut points: Vec<(f64, f64)> = (-reach..=reach)
        .flat_map(|x| (-reach..=reach).map(move |y| (x, y)))
        .map(|(x, y)| {
            let proposed = (x.abs() + y.abs()) as f64;
            (libm::exp(-epsilon * (proposed + (x + y).abs() as f64)), libm::exp(-rate * proposed))
        })
        .collect();
    let totals = points.iter().fold((0.0, 0.0), |sums, point| (sums.0 + point.0, sums.1 + point.1));
    // Weights that would vanish are no larger than the smallest that digits are left for.
    points.iter_mut().for_each(|(p, q)| {
        *q /= totals.1;
        *p = (*p / totals.0).max(1e-200 * *q);
    });
    points.sort_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1)));
    let weight = |(p, q): (f64, f64)| p / q;
    let mut law: Vec<f64> = points.iter().map(|(_, q)| *q).collect();
    let (mut made, mut distances) = (0, Vec::new());
    for &t in steps {
        for _ in made..t {
            // Of lighter or equal states, all of their mass; of heavier ones mass / weight.
            // Summed from the heaviest: light ones would leave nothing of the others' digits.
            let mut heavier = vec![0.0; points.len()];
            for i in (1..points.len()).rev() {
                heavier[i - 1] = heavier[i] + law[i] / weight(points[i]);
            }
            // Of lighter or equal proposals q w = p; of heavier ones q.
            let (mut lighter, mut light_p, mut heavy_q) = (0.0, 0.0, 1.0);
            for ((point, mass), heavier) in points.iter().zip(&mut law).zip(&heavier) {
                let w = weight(*point);
                lighter += *mass;
                light_p += point.0;
                heavy_q -= point.1;
                let accepts = light_p / w + heavy_q.max(0.0);
                *mass = point.1 * (lighter + w * heavier) + *mass * (1.0 - accepts.min(1.0));
            }
        }
        made = t;
        distances
            .push(0.5 * points.iter().zip(&law).map(|(point, mass)| (point.0 - mass).abs()).sum::<f64>());
    }
    distances
}
