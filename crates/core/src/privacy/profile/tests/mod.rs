//! Profiles against laws that are listed outcome by outcome, and against closed forms.

mod listing;

use super::*;
use crate::privacy::PureNoise;
use crate::testing;
use rand::RngExt;

/// A law of outcomes by listing: probabilities under P and under Q.
struct Listed(Vec<(f64, f64)>);

impl Listed {
    /// The noise z and z - u on all points, both normalised.
    fn of(points: &[Vec<i64>], u: &[i64], log_weight: impl Fn(usize, i64) -> f64) -> Self {
        let weight =
            |z: &mut dyn Iterator<Item = i64>| libm::exp(z.enumerate().map(|(v, z)| log_weight(v, z)).sum());
        let p: Vec<f64> = points.iter().map(|z| weight(&mut z.iter().copied())).collect();
        let q = points.iter().map(|z| weight(&mut z.iter().zip(u).map(|(z, u)| z - u)));
        let q: Vec<f64> = q.collect();
        let [p_all, q_all] = [&p, &q].map(|weights| weights.iter().sum::<f64>());
        Self(p.iter().zip(&q).map(|(p, q)| (p / p_all, q / q_all)).collect())
    }

    fn delta(&self, epsilon: f64) -> f64 {
        self.0.iter().map(|(p, q)| (p - libm::exp(epsilon) * q).max(0.0)).sum()
    }

    /// The second error of the best test with a first error of alpha, by its dual: the largest `a - (1/t) ...` over thresholds.
    fn second_error(&self, alpha: f64) -> f64 {
        let mut by_ratio = self.0.clone();
        by_ratio.retain(|(p, q)| p + q > 0.0);
        by_ratio.sort_by(|a, b| (b.0 / b.1).total_cmp(&(a.0 / a.1)));
        let (mut left, mut power) = (alpha, 0.0);
        for (p, q) in by_ratio {
            let share = if q <= left { 1.0 } else { left / q };
            power += share * p;
            left -= share * q;
            if left <= 0.0 {
                break;
            }
        }
        1.0 - power
    }

    fn rho(&self) -> f64 {
        let both = || self.0.iter().filter(|(p, q)| *p > 0.0 && *q > 0.0);
        let order = |t: f64| {
            let logs = both().map(|(p, q)| libm::log(*p) + t * libm::log(p / q));
            let top = logs.clone().fold(f64::NEG_INFINITY, f64::max);
            (top + libm::log(logs.map(|log| libm::exp(log - top)).sum())) / t / (1.0 + t)
        };
        (-30..=38).map(|k| order(libm::exp(0.25 * f64::from(k) - 6.0))).fold(0.0, f64::max)
    }
}

impl Listed {
    /// The largest `-Φ⁻¹(alpha) - Φ⁻¹(beta)` over all thresholds of the ratio; errors next to 1 by what they lack.
    fn mu(&self) -> f64 {
        let mut by_ratio: Vec<(f64, f64)> = self.0.iter().copied().filter(|(p, q)| p.min(*q) > 0.0).collect();
        by_ratio.sort_by(|a, b| (b.0 / b.1).total_cmp(&(a.0 / a.1)));
        let mut rest = vec![(0.0, 0.0)];
        for (p, q) in by_ratio.iter().rev() {
            let (beta, lacks) = rest[rest.len() - 1];
            rest.push((beta + p, lacks + q));
        }
        let x = |error: f64, lacks: f64| {
            if error < lacks { -normal_quantile(error) } else { normal_quantile(lacks) }
        };
        let (mut power, mut alpha, mut most) = (0.0, 0.0, 0.0f64);
        for (k, (p, q)) in by_ratio.iter().enumerate() {
            (power, alpha) = (power + p, alpha + q);
            let (beta, lacks) = rest[by_ratio.len() - 1 - k];
            // Equal ratios are taken together; on both sides something must be left.
            let next = by_ratio.get(k + 1).map(|(p, q)| p / q);
            if next.is_some_and(|next| next < p / q * (1.0 - 1e-12)) {
                most = most.max(x(alpha, lacks) + x(beta, power));
            }
        }
        most
    }
}

/// All values of so many entries within a reach, in turn.
fn box_of(entries: usize, reach: i64) -> impl Iterator<Item = Vec<i64>> {
    let side = (2 * reach + 1) as usize;
    (0..side.pow(entries as u32)).map(move |mut number| {
        (0..entries)
            .map(|_| {
                let z = (number % side) as i64 - reach;
                number /= side;
                z
            })
            .collect()
    })
}

/// The noise of all nodes of a tree that keeps its sums, within a reach at the leaves that are free.
fn tree_points(tree: &Hierarchy, reach: i64) -> Vec<Vec<i64>> {
    let leaves: Vec<usize> =
        tree.leaves().iter().map(|&leaf| leaf as usize).filter(|&leaf| !tree.is_known(leaf)).collect();
    let points = box_of(leaves.len(), reach).map(|values| {
        let mut noise = vec![0; tree.nodes()];
        leaves.iter().zip(values).for_each(|(&leaf, z)| noise[leaf] = z);
        tree.sum_up(&mut noise);
        noise
    });
    points.filter(|noise| (0..tree.nodes()).all(|v| !tree.is_known(v) || noise[v] == 0)).collect()
}

/// What a record more in a leaf changes; and one that moves between two.
fn changes(tree: &Hierarchy, kind: ChangeKind) -> Vec<Vec<i64>> {
    let leaves = tree.leaves();
    let step = |ends: &[(u32, i64)]| {
        let mut nodes = vec![0; tree.nodes()];
        ends.iter().for_each(|&(leaf, sign)| nodes[leaf as usize] = sign);
        tree.sum_up(&mut nodes);
        nodes
    };
    let all: Vec<Vec<i64>> = match kind {
        ChangeKind::Added => leaves.iter().map(|&leaf| step(&[(leaf, 1)])).collect(),
        _ => {
            let pairs =
                leaves.iter().flat_map(|&a| leaves.iter().map(move |&b| (a, b))).filter(|(a, b)| a != b);
            pairs.map(|(a, b)| step(&[(a, -1), (b, 1)])).collect()
        }
    };
    all.into_iter().filter(|u| (0..tree.nodes()).all(|v| !tree.is_known(v) || u[v] == 0)).collect()
}

const EPSILONS: [f64; 7] = [0.0, 0.1, 0.5, 0.9, 1.3, 2.2, 4.0];

/// A profile is the worst of what is listed: at no epsilon below it by more than the `lists` leave out, and above it by no
/// more than the grid explains.
fn check(profile: &Profile, listed: &[Listed], [lists, close]: [f64; 2], what: &str) {
    for epsilon in EPSILONS {
        let want = listed.iter().map(|one| one.delta(epsilon)).fold(0.0, f64::max);
        let got = profile.delta(epsilon);
        assert!(got >= want - lists, "{what}: delta({epsilon}) is {got}, below {want}");
        assert!(got <= want + close, "{what}: delta({epsilon}) is {got}, far above {want}");
        if got > 1e-9 && epsilon > 0.0 {
            let back = profile.epsilon(got);
            assert!((back - epsilon).abs() < 1e-6, "{what}: epsilon({got}) is {back}, not {epsilon}");
        }
    }
    for alpha in [0.001, 0.01, 0.1, 0.3, 0.5, 0.8] {
        let want = listed.iter().map(|one| one.second_error(alpha)).fold(1.0, f64::min);
        let got = profile.error_of_second_kind(alpha);
        assert!(
            got <= want + lists && got >= want - 10.0 * close - lists,
            "{what}: f({alpha}) is {got}, not {want}"
        );
    }
    if let Some(rho) = profile.rho() {
        let want = listed.iter().map(Listed::rho).fold(0.0, f64::max);
        assert!(rho >= want * (1.0 - 1e-6), "{what}: rho {rho}, not {want}");
        assert!(rho <= want * (1.0 + 1e-3 + 100.0 * close), "{what}: rho {rho}, far above {want}");
        let (mu, want) = (profile.mu().unwrap(), listed.iter().map(Listed::mu).fold(0.0, f64::max));
        assert!(mu >= want * (1.0 - 1e-4), "{what}: mu {mu}, not {want}");
        assert!(mu <= want * (1.001 + 100.0 * close), "{what}: mu {mu}, far above {want}");
    }
    if let Some(mu) = profile.mu() {
        for epsilon in EPSILONS {
            let normal = Profile::normal(mu).delta(epsilon);
            assert!(profile.delta(epsilon) <= normal + 1e-12, "{what}: mu {mu} at {epsilon}");
        }
    }
}

/// Trees of up to four leaves, with and without known nodes, noise that differs by level: against all outcomes.
#[test]
fn trees_are_those_of_all_outcomes() {
    let trees: [(&[usize], &[usize]); 8] = [
        (&[0], &[]),
        (&[0, 0, 0], &[0]),
        (&[0, 0, 0, 0], &[0]),
        (&[0, 0, 0], &[]),
        (&[0, 0, 0, 1, 1, 2], &[0]),
        (&[0, 0, 0, 1, 1, 2], &[]),
        (&[0, 0, 0, 1, 1, 2, 2], &[1]),
        (&[0, 0, 1, 1, 1, 2, 2], &[0, 2]),
    ];
    let scales = [[0.6, 0.6, 0.6, 0.6], [0.9, 0.45, 0.6, 0.5], [0.5, 0.7, 0.61, 0.4]];
    for (number, (parents, known)) in trees.into_iter().enumerate() {
        let tree = Hierarchy::from_parents(parents).unwrap();
        let marks = (0..tree.nodes()).map(|v| known.contains(&v)).collect();
        let tree = tree.with_known(marks).unwrap();
        let free = tree.leaves().iter().filter(|&&leaf| !tree.is_known(leaf as usize)).count();
        let reach = [0, 40, 26, 22, 13][free];
        let points = tree_points(&tree, reach);
        let lists = if free == 4 { 1e-8 } else { 1e-12 };
        for scales in scales {
            let scales: Vec<f64> =
                (0..tree.levels()).map(|l| if tree.is_level_known(l) { 0.0 } else { scales[l] }).collect();
            // Losses that are multiples of one step are on the grid.
            let used: Vec<f64> = scales.iter().copied().filter(|scale| *scale > 0.0).collect();
            let is_one = used.iter().all(|scale| *scale == used[0]);
            // Else each of up to six nodes puts its loss on two points of a grid of 4,096 in all, 0.003 apart.
            let close = if is_one { 1e-8 } else { 3e-4 };
            for noise in [IntegerNoise::DoubleGeometric, IntegerNoise::DiscreteGaussian] {
                let log_weight = |v: usize, z: i64| {
                    let (scale, z) = (scales[tree.level(v)], z as f64);
                    match noise {
                        _ if tree.is_known(v) => 0.0,
                        IntegerNoise::DoubleGeometric => -z.abs() / scale,
                        IntegerNoise::DiscreteGaussian => -0.5 * z * z / (scale * scale),
                    }
                };
                for kind in [ChangeKind::Added, ChangeKind::Moved] {
                    let listed = changes(&tree, kind);
                    let listed: Vec<Listed> =
                        listed.iter().map(|u| Listed::of(&points, u, log_weight)).collect();
                    let profile = Profile::of_tree(&tree, &scales, noise, kind).unwrap();
                    assert_eq!(profile.is_some(), !listed.is_empty());
                    if let Some(profile) = profile {
                        let what = format!("tree {number} {scales:?} {noise:?} {kind:?}");
                        check(&profile, &listed, [lists, close], &what);
                    }
                }
            }
        }
    }
}

/// Equations on entries from some on.
fn beside(first: u32, invariant: &Linear) -> Linear {
    let rows = invariant.rows().iter().map(|row| row.iter().map(|&(entry, a)| (entry + first, a)).collect());
    Linear::from_rows(first as usize + invariant.entries(), rows.collect()).unwrap()
}

/// The scale of the noise of tables.
const SCALE: f64 = 0.45;

fn of_table(
    invariant: &Linear,
    scale: f64,
    noise: IntegerNoise,
    kind: ChangeKind,
) -> Result<Option<Profile>> {
    Profile::of_table(invariant, &Region::everything(), scale, noise, kind)
}

/// The laws of all changes of a kind in a table, on all noise within a reach.
fn listed(invariant: &Linear, kind: ChangeKind, noise: IntegerNoise, reach: i64) -> Vec<Listed> {
    let points: Vec<Vec<i64>> = box_of(invariant.entries(), reach).filter(|z| invariant.holds(z)).collect();
    let short: Vec<&Vec<i64>> = points.iter().filter(|z| z.iter().all(|x| x.abs() <= 1)).collect();
    let size = |z: &[i64]| z.iter().map(|x| x.abs()).sum::<i64>();
    let least = short.iter().map(|z| size(z)).filter(|size| *size > 0).min().unwrap();
    let is_one = |z: &Vec<i64>| match kind {
        ChangeKind::Added => size(z) == 1,
        ChangeKind::Moved => size(z) == 2 && z.iter().sum::<i64>() == 0,
        ChangeKind::Smallest => size(z) == least,
    };
    let log_weight = |_: usize, z: i64| match noise {
        IntegerNoise::DoubleGeometric => -(z as f64).abs() / SCALE,
        IntegerNoise::DiscreteGaussian => -0.5 * (z * z) as f64 / (SCALE * SCALE),
    };
    short.into_iter().filter(|z| is_one(z)).map(|u| Listed::of(&points, u, log_weight)).collect()
}

/// Where several parts have a smallest change, all of one size count: that of four entries that are tied to one pays more than a
/// move in the table of three columns beside it. Where records can be added in one part alone, none moves to a copy of it; and
/// entries that are tied and alike are not taken for such that no record moves between.
#[test]
fn changes_of_all_parts_count() {
    let [square, wide] = [2, 3].map(|columns| Linear::margins(2, columns).unwrap());
    let tree = Linear::from_rows(4, vec![vec![(0, -1), (1, 1), (2, 1)], vec![(2, -1), (3, 1)]]).unwrap();
    for noise in [IntegerNoise::DoubleGeometric, IntegerNoise::DiscreteGaussian] {
        let smallest =
            |invariant: &Linear| of_table(invariant, SCALE, noise, ChangeKind::Smallest).unwrap().unwrap();
        let mut all = listed(&square, ChangeKind::Smallest, noise, 12);
        all.extend(listed(&wide, ChangeKind::Smallest, noise, 7));
        for both in [square.clone().and(beside(4, &wide)), wide.clone().and(beside(6, &square))] {
            check(&smallest(&both), &all, [1e-6, 1e-6], &format!("{noise:?}"));
        }
        let moved = |invariant: &Linear| of_table(invariant, SCALE, noise, ChangeKind::Moved).unwrap();
        assert_eq!(moved(&tree).unwrap().0.len(), 1, "the only pair of leaves");
        let pair = Linear::from_rows(2, vec![vec![(0, 1), (1, 1)], vec![(0, 2), (1, 2)]]).unwrap();
        let both = pair.and(beside(2, &Linear::total(3).unwrap()));
        let all = listed(&both, ChangeKind::Moved, noise, 7);
        check(&moved(&both).unwrap(), &all, [1e-6, 1e-6], &format!("{noise:?}"));
    }
}

/// Tables: single entries, totals beside each other, two rows with both margins, all four entries tied.
#[test]
fn tables_are_those_of_all_outcomes() {
    let two_rows = |columns| Linear::margins(2, columns).unwrap();
    let systems = [
        (Linear::none(2), ChangeKind::Moved, 12),
        (Linear::none(2), ChangeKind::Added, 12),
        (Linear::partition(&[0, 0, 1, 1]).unwrap(), ChangeKind::Moved, 12),
        (Linear::subsets(4, &[vec![0, 1]]).unwrap(), ChangeKind::Moved, 12),
        (two_rows(2), ChangeKind::Smallest, 12),
        (two_rows(3), ChangeKind::Smallest, 7),
    ];
    for (invariant, kind, reach) in systems {
        for noise in [IntegerNoise::DoubleGeometric, IntegerNoise::DiscreteGaussian] {
            let listed = listed(&invariant, kind, noise, reach);
            let profile = of_table(&invariant, SCALE, noise, kind).unwrap().unwrap();
            check(&profile, &listed, [1e-6, 1e-6], &format!("{invariant:?} {noise:?} {kind:?}"));
        }
    }
    // Nothing can change where all is known.
    let noise = IntegerNoise::DoubleGeometric;
    let total = Linear::total(3).unwrap();
    assert_eq!(of_table(&total, 1.0, noise, ChangeKind::Added).unwrap(), None);
}

/// rho of conditioned totals has a closed form, also where they are large; so has free noise.
#[test]
fn rho_is_that_of_the_closed_forms() {
    for (lambda, entries) in [(2.0, 2u64), (2.0, 3), (2.0, 10), (2.0, 300), (0.4, 5), (20.0, 30)] {
        let nodes = entries as usize + 1;
        let total = Hierarchy::from_parents(&vec![0; nodes]).unwrap();
        let total = total.with_known((0..nodes).map(|v| v == 0).collect()).unwrap();
        let noise = IntegerNoise::DoubleGeometric;
        let moved = Profile::of_tree(&total, &[0.0, lambda], noise, ChangeKind::Moved).unwrap().unwrap();
        let want = PureNoise::DoubleGeometric.rho_of_total(lambda, entries).unwrap();
        let got = moved.rho().unwrap();
        assert!((got / want - 1.0).abs() < 1e-7, "{lambda} {entries}: {got}, not {want}");
        let free = Profile::of_free(&[lambda, lambda], noise).unwrap().rho().unwrap();
        assert!((free / (2.0 * PureNoise::DoubleGeometric.rho(lambda)) - 1.0).abs() < 1e-7);
        let laplace = Profile::of_free_laplace(&[lambda]).rho().unwrap();
        let want = PureNoise::Laplace.rho(lambda);
        assert!(laplace > want * (1.0 - 1e-9) && laplace < want * (1.0 + 1e-5), "{laplace}, not {want}");
    }
}

/// k releases of one count: a binomial number of them lose epsilon (MATH: "k counts of equal epsilon compose as a binomial").
#[test]
fn composed_randomised_response_is_a_binomial() {
    for (epsilon, releases) in [(0.1, 100u64), (0.5, 7), (1.0, 40), (2.0, 1000), (0.01, 5000)] {
        let composed =
            Profile::of_free(&[1.0 / epsilon], IntegerNoise::DoubleGeometric).unwrap().composed(releases);
        let k = releases as f64;
        let log_up = -libm::log1p(libm::exp(-epsilon));
        let p = |ups: u64| {
            let ups = ups as f64;
            let log = libm::lgamma(k + 1.0) - libm::lgamma(ups + 1.0) - libm::lgamma(k - ups + 1.0);
            libm::exp(log + k * log_up - (k - ups) * epsilon)
        };
        let delta = |at: f64| -> f64 {
            let over = (0..=releases).map(|ups| (p(ups), (2.0 * ups as f64 - k) * epsilon));
            over.filter(|(_, loss)| *loss > at).map(|(p, loss)| -p * libm::expm1(at - loss)).sum()
        };
        for delta_wanted in [1e-3, 1e-6, 1e-9] {
            let got = composed.epsilon(delta_wanted);
            assert!(delta(got) <= delta_wanted * (1.0 + 1e-9), "{epsilon} {releases}: {got}");
            assert!(delta(got * 0.999 - 1e-9) > delta_wanted || got == 0.0, "{epsilon} {releases}: {got}");
        }
        assert!((composed.epsilon(0.0) / (k * epsilon) - 1.0).abs() < 1e-12);
    }
}

/// Composition by powers is that of all sums, also where losses leave their grid; and nothing is ever below them.
#[test]
fn composition_is_that_of_all_sums() {
    let scales = [0.7, 1.3];
    let noise = IntegerNoise::DiscreteGaussian;
    let one = Profile::of_free(&scales, noise).unwrap();
    let points: Vec<Vec<i64>> = box_of(4, 9).collect();
    // Two releases of both counts are four counts.
    let log_weight = |v: usize, z: i64| -0.5 * (z * z) as f64 / (scales[v % 2] * scales[v % 2]);
    let listed = Listed::of(&points, &[1, 1, 1, 1], log_weight);
    for epsilon in EPSILONS {
        let (got, want) = (one.composed(2).delta(epsilon), listed.delta(epsilon));
        assert!(got >= want - 1e-9 && got <= want + 2e-4, "{epsilon}: {got}, not {want}");
    }
    // Many releases come close to normal noise.
    let many = Profile::of_free(&[12.0], noise).unwrap().composed(400);
    let normal = Profile::normal(20.0 / 12.0);
    for delta in [1e-2, 1e-6, 1e-10] {
        let (got, want) = (many.epsilon(delta), normal.epsilon(delta));
        assert!((got / want - 1.0).abs() < 2e-3, "{delta}: {got}, not {want}");
        assert!(got < Accountant::Zcdp.epsilon(0.5 * 400.0 / 144.0, delta));
    }
}

/// Free Laplace noise: `δ(epsilon) = 1 - e^((epsilon - rate)/2)` (Balle, Barthe and Gaboardi 2020, Thm. 3).
#[test]
fn laplace_is_its_closed_form() {
    for rate in [0.01, 0.5, 3.0] {
        let profile = Profile::of_free_laplace(&[1.0 / rate]);
        for share in [0.0, 0.2, 0.5, 0.9, 1.0] {
            let epsilon = share * rate;
            let (got, want) = (profile.delta(epsilon), -libm::expm1(0.5 * (epsilon - rate)));
            assert!(got >= want - 1e-14 && got <= want + 1e-6 * rate, "{rate} {epsilon}: {got}, not {want}");
        }
    }
}

/// What is known of a pure loss, and of rho, bounds what is computed for noise that has them.
#[test]
fn bounds_hold() {
    let mut rng = testing::test_stream(20_261_128);
    for _ in 0..40 {
        let (lambda, leaves) = (0.3 + 4.0 * rng.random::<f64>(), rng.random_range(2..7usize));
        let tree = Hierarchy::from_parents(&vec![0; leaves + 1]).unwrap();
        let tree = tree.with_known((0..=leaves).map(|v| v == 0).collect()).unwrap();
        let (releases, delta) = (rng.random_range(1..30), libm::exp(-20.0 * rng.random::<f64>() - 1.0));
        let of = |noise| Profile::of_tree(&tree, &[0.0, lambda], noise, ChangeKind::Moved).unwrap().unwrap();
        let geometric = of(IntegerNoise::DoubleGeometric).composed(releases);
        let pure = Profile::pure(2.0 / lambda).composed(releases);
        assert!(geometric.epsilon(delta) <= pure.epsilon(delta) * (1.0 + 1e-9));
        let own = Profile::concentrated(geometric.rho().unwrap());
        assert!(geometric.epsilon(delta) <= own.epsilon(delta) * (1.0 + 1e-9));
        let gaussian = of(IntegerNoise::DiscreteGaussian).composed(releases);
        let rho = Profile::concentrated(releases as f64 / (lambda * lambda));
        assert!(
            gaussian.epsilon(delta) <= rho.epsilon(delta) * (1.0 + 1e-9),
            "{lambda} {leaves} {releases} {delta}"
        );
    }
}

/// mu of one and of two counts with free double geometric noise, by the corners of randomised response: also where errors are next to 1.
#[test]
fn mu_is_that_of_the_corners() {
    for epsilon in [0.01, 0.5, 3.0, 15.0, 30.0, 300.0] {
        let q = 1.0 / (1.0 + libm::exp(epsilon));
        let of = |alpha: f64, beta: f64| -normal_quantile(alpha) - normal_quantile(beta);
        let two = of(q * q, q * (2.0 - q)).max(of(0.5, 0.5));
        for (counts, want) in [(1, of(q, q)), (2, two)] {
            let scales = vec![1.0 / epsilon; counts];
            let mu = Profile::of_free(&scales, IntegerNoise::DoubleGeometric).unwrap().mu().unwrap();
            // Beyond, tables leave out what decides: then mu is that of the pure loss.
            let most = if epsilon < 100.0 { 1.0 + 1e-9 } else { 1.2 };
            let share = mu / want;
            assert!(share > 1.0 - 1e-9 && share < most, "epsilon {epsilon}, {counts}: {mu}, not {want}");
        }
    }
}

/// Budgets up to those at which probabilities are no numbers. Free Laplace noise of the rate r pays no less than the test that takes
/// losses above 0, whose two errors are equal: `e^(-r/2)/2` of one count, `e^-r (1/2 + r/4)` of two. Nothing pays more than randomised
/// response with its pure loss, which one count of double geometric noise is.
#[test]
fn large_losses_are_paid() {
    let mu_of = |log: f64| 2.0 * translated::quantile(log);
    let of_response = |epsilon: f64| mu_of(-epsilon - libm::log1p(libm::exp(-epsilon)));
    for rate in [1.0, 20.0, 50.0, 100.0, 300.0, 720.0, 800.0, 1e5] {
        let one = -0.5 * rate - std::f64::consts::LN_2;
        let two = -rate + libm::log(0.5 + 0.25 * rate);
        for (counts, log) in [(1, one), (2, two)] {
            let profile = Profile::of_free_laplace(&vec![1.0 / rate; counts]);
            let (mu, all, least) = (profile.mu().unwrap(), rate * counts as f64, mu_of(log));
            let what = format!("rate {rate}, {counts}");
            assert!(mu >= least * (1.0 - 1e-9), "{what}: mu {mu}, at least {least}");
            assert!(mu <= of_response(all) * (1.0 + 1e-9), "{what}: mu {mu}");
            // Other tests do a little better at small losses.
            assert!(all > 600.0 || mu < 1.1 * least, "{what}: mu {mu}, not {least}");
            // The Kullback-Leibler divergence, which rho is not below.
            let least = counts as f64 * (rate - 1.0 + libm::exp(-rate));
            let rho = profile.rho().unwrap();
            assert!(rho >= least * (1.0 - 1e-9) && rho <= all, "{what}: rho {rho}, at least {least}");
            let epsilon = profile.epsilon(1e-6);
            assert!(epsilon > all - 1e-4 && epsilon <= all, "{what}: epsilon {epsilon}");
        }
        let one = Profile::of_free(&[1.0 / rate], IntegerNoise::DoubleGeometric).unwrap().mu().unwrap();
        let want = of_response(rate);
        assert!(one >= want * (1.0 - 1e-9), "{rate}: mu {one}, not {want}");
        let response = Losses::pure(rate).mu().unwrap();
        assert!((response / want - 1.0).abs() < 1e-9, "{rate}: mu {response}, not {want}");
    }
}

/// mu of discrete Gaussian noise on one count, on several, and on a total: no test does better, however seldom it is wrong, and one
/// does as well, next to.
#[test]
fn mu_of_discrete_gaussians_is_that_of_all_tests() {
    let noise = IntegerNoise::DiscreteGaussian;
    let total = |entries: usize| {
        let tree = Hierarchy::from_parents(&vec![0; entries + 1]).unwrap();
        tree.with_known((0..=entries).map(|v| v == 0).collect()).unwrap()
    };
    for sigma in [0.4, 1.0, 3.0, 9.0] {
        // The sum of all entries that change, each by 1, has this law: k counts have sums z, on a total of two it is twice an entry.
        let free = |counts: usize| Profile::of_free(&vec![sigma; counts], noise).unwrap().mu().unwrap();
        let moved = Profile::of_tree(&total(2), &[0.0, sigma], noise, ChangeKind::Moved).unwrap().unwrap();
        for (mu, square, unit, counts) in
            [(free(1), 1.0, 1.0, 1), (free(3), 3.0, 1.0, 3), (moved.mu().unwrap(), 2.0, 2.0, 1)]
        {
            // Weights of <u, z>/unit up to 40 deviations, as logarithms; tables of several counts are exact sums.
            let reach = (40.0 * sigma * libm::sqrt(square)) as i64 + 8;
            let one = |z: i64| -0.5 * (unit * unit / square * (z * z) as f64) / (sigma * sigma);
            let mut logs: Vec<f64> = (-reach..=reach).map(one).collect();
            if counts == 3 {
                // By the remainder of the sum: the rest of the weight comes again with every third sum.
                let rest = |sum: i64| -> f64 {
                    let side = 12 * (sigma as i64 + 2);
                    let points =
                        (-side..=side).flat_map(|a| (-side..=side).map(move |b| (a, b, sum - a - b)));
                    let far = |(a, b, c): (i64, i64, i64)| {
                        let square = (a * a + b * b + c * c) as f64 - (sum * sum) as f64 / 3.0;
                        libm::exp(-0.5 * square / (sigma * sigma))
                    };
                    libm::log(points.map(far).sum())
                };
                let rests = [0, 1, 2].map(rest);
                logs.iter_mut().zip(-reach..).for_each(|(log, z)| *log += rests[z.rem_euclid(3) as usize]);
            }
            let turn = (square / unit) as i64;
            let add = |a: f64, b: f64| a.max(b) + libm::log1p(libm::exp(-(a - b).abs()));
            let mut tails = logs.clone();
            (0..tails.len() - 1).rev().for_each(|i| tails[i] = add(logs[i], tails[i + 1]));
            let all = tails[0];
            // By bisection in the upper half; below by what a test lacks.
            let upper = |z: i64| {
                let want = tails[(reach + z) as usize] - all;
                let (mut low, mut high) = (0.0, 100.0);
                for _ in 0..100 {
                    let middle = 0.5 * (low + high);
                    if normal_curve::log_tail(middle) > want { low = middle } else { high = middle }
                }
                low
            };
            let x = |z: i64| if z > 0 { upper(z) } else { -upper(1 - z) };
            let end = reach - turn - (8.0 * sigma) as i64;
            let most = (-turn..end).map(|z| x(z + turn) - x(z)).fold(0.0, f64::max);
            let last = x(end + turn) - x(end);
            assert!(mu >= most * (1.0 - 1e-9), "{sigma} {counts} {square}: mu {mu}, below {most}");
            assert!(
                mu <= most * (1.0 + 1e-6),
                "{sigma} {counts} {square}: mu {mu}, above {most}, at last {last}"
            );
            assert!(mu >= libm::sqrt(square) / sigma * (1.0 - 1e-9), "as normal noise, at least");
        }
    }
    assert_eq!(Profile::of_free(&[1.0, 1.1234], noise).unwrap().mu(), None, "no common step");
}

/// Losses that are next to certain, so that all others are cut: many releases pay next to their sum, not nothing.
#[test]
fn certain_losses_are_paid() {
    for epsilon in [1.0, 20.0, 60.0, 700.0] {
        let many = Losses::pure(epsilon).power(12);
        let all = 12.0 * epsilon + 12.0 * libm::log(1.0 / (1.0 + libm::exp(-epsilon)));
        let got = many.epsilon(1e-9);
        assert!(got <= 12.0 * epsilon && got >= all - 1e-6, "{epsilon}: {got}, at least {all}");
    }
}

/// Real noise on several counts pays no more than its pure loss, whatever the grid: of rates that have a step, and of those that have none.
#[test]
fn laplace_pays_no_more_than_its_pure_loss() {
    for scales in [vec![1.0; 3], vec![1.0, 0.75, 3.0], vec![0.7, 2.0_f64.sqrt(), 11.0], vec![0.01, 50.0]] {
        let all: f64 = scales.iter().map(|scale| 1.0 / scale).sum();
        let profile = Profile::of_free_laplace(&scales);
        for delta in [0.0, 1e-12, 1e-6, 1e-3] {
            let epsilon = profile.epsilon(delta);
            assert!(
                epsilon <= all && epsilon > all - 0.1 * all - delta,
                "{scales:?}, {delta}: {epsilon} of {all}"
            );
        }
        assert_eq!(profile.delta(all), 0.0);
        assert!(profile.delta(0.99 * all) > 0.0);
    }
}
