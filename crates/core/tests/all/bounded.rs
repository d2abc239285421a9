//! Samplers under equations and inequalities, against the law listed in full and against each other.
#![allow(clippy::disallowed_methods)] // An oracle need not agree to the last bit.

use crate::common::*;
use congenial_core::diagnostics::Moments;
use congenial_core::exact::{
    BoundedMargins, BoundedScratch, ExactLattice, LatticeExact, LatticeScratch, Rejection, Source, Truncated,
};
use congenial_core::invariant::{Inequalities, Linear, NO_LOWER, NO_UPPER, Region};
use congenial_core::kernel::{Dispersed, Kernel, LatticeGibbs, MetropolizedIndependence, Start};
use congenial_core::lattice::IntMatrix;
use congenial_core::law::{DiscreteGaussian, DoubleGeometric, EuclideanLaplace, IntegerLaw, LatticeLaw};
use congenial_core::rng::Stream;
use std::collections::HashMap;

struct System {
    name: &'static str,
    invariant: Linear,
    region: Region,
}

fn matrix(rows: &[Vec<i64>]) -> Linear {
    Linear::matrix(&IntMatrix::from_rows(rows).unwrap()).unwrap()
}

fn systems() -> Vec<System> {
    let system = |name, invariant: Linear, inequalities: Inequalities, counts: &[i64]| System {
        name,
        region: inequalities.around(counts).unwrap(),
        invariant,
    };
    let nonnegative = Inequalities::nonnegative;
    let rows = |rows| Inequalities::rows(rows).unwrap();
    let bounds = |lower: &[i64], upper: &[i64]| Inequalities::bounds(lower.to_vec(), upper.to_vec()).unwrap();
    vec![
        system("total", Linear::total(3).unwrap(), nonnegative(3), &[0, 2, 1]),
        system(
            "total in a box",
            Linear::total(4).unwrap(),
            bounds(&[0, NO_LOWER, -1, 0], &[2, 1, NO_UPPER, 3]),
            &[1, 0, 2, 1],
        ),
        system("margins", Linear::margins(2, 3).unwrap(), nonnegative(6), &[1, 0, 2, 1, 1, 0]),
        system(
            "margins in a box",
            Linear::margins(2, 3).unwrap(),
            bounds(&[0; 6], &[1, 2, 2, 2, 1, 9]),
            &[1, 0, 2, 1, 1, 0],
        ),
        system(
            "subsets",
            Linear::subsets(4, &[vec![0, 1, 2], vec![2, 3]]).unwrap(),
            nonnegative(4),
            &[1, 0, 1, 2],
        ),
        system(
            "matrix with a row",
            matrix(&[vec![1, 2, -1, 1]]),
            nonnegative(4).and(rows(vec![(vec![(0, 1), (1, -2)], -3)])),
            &[2, 1, 3, 0],
        ),
        system(
            "parts tied by a row",
            Linear::partition(&[0, 0, 1, 1]).unwrap(),
            rows(vec![(vec![(0, 1), (2, 1)], 2)]),
            &[1, 1, 2, 0],
        ),
        system(
            "a free cell under a row",
            matrix(&[vec![1, -1, 0]]),
            rows(vec![(vec![(0, 1), (2, -1)], -1)]).and(bounds(&[0, 0, -2], &[NO_UPPER, 5, NO_UPPER])),
            &[1, 1, 1],
        ),
        system(
            "units spread over a group",
            matrix(&[vec![2, 1, 1]]),
            bounds(&[0; 3], &[3, 2, 2]),
            &[1, 1, 0],
        ),
        system(
            "nothing but bounds",
            matrix(&[vec![1, -1, 0, 0]]),
            bounds(&[0; 4], &[4, 3, 2, 1]),
            &[1, 1, 1, 1],
        ),
    ]
}

/// All points within the bounds and ±reach, with their probabilities.
fn listed<L: LatticeLaw>(system: &System, law: &L, reach: i64) -> HashMap<Vec<i64>, f64> {
    let points = lattice_points(&system.invariant, reach);
    let mut all: HashMap<Vec<i64>, f64> = points
        .into_iter()
        .filter(|z| system.region.contains(z))
        .map(|z| {
            let sum = z.iter().map(|&z| L::part(z)).sum();
            (z, libm::exp(-law.energy(sum)))
        })
        .collect();
    let total: f64 = all.values().sum();
    all.values_mut().for_each(|p| *p /= total);
    all
}

fn reach(system: &System) -> i64 {
    if system.invariant.entries() > 4 { 5 } else { 9 }
}

fn exact_has_the_law<L: ExactLattice>(law: L) {
    let mut rng = test_stream(31);
    for system in systems() {
        println!("{} {law:?}", system.name);
        let want = listed(&system, &law, reach(&system));
        let (mut scratch, mut noise) = (LatticeScratch::default(), vec![0; system.invariant.entries()]);
        let region = Some(&system.region);
        if L::FACTORISES {
            let exact = LatticeExact::new(&system.invariant, region, law).unwrap();
            assert!(exact.tv_error() < 1e-12);
            assert_law(&want, 40_000, || {
                exact.draw(&mut rng, &mut scratch, &mut noise);
                noise.clone()
            });
        } else {
            assert!(LatticeExact::new(&system.invariant, region, law).is_err());
        }
        for source in [Source::Unconstrained, Source::Equations] {
            let rejection = Rejection::new(&system.invariant, &system.region, law, source);
            if source == Source::Unconstrained && !L::FACTORISES {
                assert!(rejection.is_err());
                continue;
            }
            let rejection = rejection.unwrap();
            assert_law(&want, 5_000, || {
                rejection.draw(&mut rng, &mut scratch, &mut noise);
                noise.clone()
            });
        }
    }
}

#[test]
fn exact_samplers_have_the_listed_law() {
    exact_has_the_law(DoubleGeometric::new(0.8).unwrap());
    exact_has_the_law(DiscreteGaussian::new(1.3).unwrap());
    exact_has_the_law(EuclideanLaplace::new(0.6).unwrap());
}

fn run<K: Dispersed<Value = i64>>(kernel: &K, steps: u64, rng: &mut Stream) -> Vec<i64> {
    let mut state = kernel.start(Start::default(), rng).unwrap();
    let mut noise = kernel.noise();
    for _ in 0..steps {
        kernel.draw(rng, &mut noise);
        kernel.apply(&mut state, &noise);
    }
    kernel.position(&state).to_vec()
}

fn chains_have_the_law<L: LatticeLaw>(law: L) {
    let mut rng = test_stream(32);
    for system in systems() {
        println!("{} {law:?}", system.name);
        let want = listed(&system, &law, reach(&system));
        let region = Some(&system.region);
        let gibbs = LatticeGibbs::new(&system.invariant, region, law).unwrap();
        let mis = MetropolizedIndependence::new(&system.invariant, region, law, 0.9, None).unwrap();
        assert_law(&want, 6_000, || run(&gibbs, 120, &mut rng));
        assert_law(&want, 6_000, || run(&mis, 1_500, &mut rng));
    }
}

#[test]
fn chains_reach_the_listed_law() {
    chains_have_the_law(DoubleGeometric::new(0.8).unwrap());
    chains_have_the_law(DiscreteGaussian::new(1.3).unwrap());
    chains_have_the_law(EuclideanLaplace::new(0.6).unwrap());
}

/// `P(A z = 0 and z within its bounds)`, summed over all integer points that matter.
fn mass_is_the_sum<L: IntegerLaw + LatticeLaw>(law: L) {
    let wide: f64 = (-60..=60).map(|z: i64| libm::exp(law.log_weight(z))).sum();
    for system in systems() {
        let reach = if system.invariant.entries() > 4 { 6 } else { 16 };
        let points = lattice_points(&system.invariant, reach);
        let weight = |z: &Vec<i64>| z.iter().map(|&z| libm::exp(law.log_weight(z)) / wide).product::<f64>();
        let want: f64 = points.iter().filter(|z| system.region.contains(z)).map(weight).sum();
        let parts = system.region.components(&system.invariant);
        let got: f64 = parts.iter().map(|part| Truncated::new(part, &law).unwrap().log_mass()).sum();
        assert!((libm::exp(got) / want - 1.0).abs() < 2e-4, "{}: {} {want}", system.name, libm::exp(got));
    }
}

#[test]
fn probabilities_of_events_are_sums() {
    mass_is_the_sum(DoubleGeometric::new(0.5).unwrap());
    mass_is_the_sum(DiscreteGaussian::new(0.9).unwrap());
}

/// A total alone needs no bound: the closed form of two cells, `P(z_1 + z_2 = 0) = (1 - a)(1 + a²)/(1 + a)³`.
#[test]
fn probability_of_a_zero_sum_in_closed_form() {
    let law = DoubleGeometric::new(1.7).unwrap();
    let a = libm::exp(-1.0 / 1.7);
    let invariant = Linear::total(2).unwrap();
    let part = &Region::everything().components(&invariant)[0];
    let want = (1.0 - a) * (1.0 + a * a) / libm::pow(1.0 + a, 3.0);
    let got = libm::exp(Truncated::new(part, &law).unwrap().log_mass());
    assert!((got / want - 1.0).abs() < 1e-12, "{got} {want}");
}

/// The confidential table of "Congenial differential privacy", Table 1 (females, then males).
const TABLE_1: [i64; 46] = [
    8, 6, 3, 6, 4, 4, 4, 8, 5, 7, 7, 6, 1, 5, 4, 4, 9, 6, 2, 8, 8, 8, 7, //
    3, 4, 5, 8, 6, 4, 5, 5, 5, 6, 10, 7, 3, 2, 5, 11, 6, 4, 7, 4, 5, 3, 8,
];

fn sex_by_age() -> (Linear, Region) {
    let voting = |first: usize| first + 4..first + 23;
    let sets = [(0..46).collect(), (0..23).collect(), voting(0).chain(voting(23)).collect::<Vec<usize>>()];
    let region = Inequalities::nonnegative(46).around(&TABLE_1).unwrap();
    (Linear::subsets(46, &sets).unwrap(), region)
}

/// Two exact samplers and two chains on the published table: means, within standard errors at level 1e-6, and laws.
#[test]
fn samplers_agree_on_the_published_table() {
    let (invariant, region) = sex_by_age();
    let law = DoubleGeometric::new(2.0).unwrap();
    let mut rng = test_stream(33);
    let exact = LatticeExact::new(&invariant, Some(&region), law).unwrap();
    let rejection = Rejection::new(&invariant, &region, law, Source::Equations).unwrap();
    let gibbs = LatticeGibbs::new(&invariant, Some(&region), law).unwrap();
    let paper = [0, 22, 45];
    let mis = MetropolizedIndependence::new(&invariant, Some(&region), law, 0.55, Some(&paper)).unwrap();
    let (mut scratch, mut noise) = (LatticeScratch::default(), vec![0; 46]);
    let mut sums = |draw: &mut dyn FnMut(&mut Stream) -> Vec<i64>, n: usize| -> (Vec<f64>, Vec<f64>) {
        let draws = (0..n).map(|_| {
            let z = draw(&mut rng);
            invariant.check(&z).unwrap();
            region.check(&z).unwrap();
            (z.iter().map(|z| z.abs() as f64).sum::<f64>(), z[0] as f64)
        });
        draws.unzip()
    };
    let by_exact = sums(
        &mut |rng| {
            exact.draw(rng, &mut scratch, &mut noise);
            noise.clone()
        },
        40_000,
    );
    let (mut scratch, mut noise) = (LatticeScratch::default(), vec![0; 46]);
    let by_rejection = sums(
        &mut |rng| {
            rejection.draw(rng, &mut scratch, &mut noise);
            noise.clone()
        },
        400,
    );
    let by_gibbs = sums(&mut |rng| run(&gibbs, 40 * 46, rng), 3_000);
    let by_mis = sums(&mut |rng| run(&mis, 12_000, rng), 250);
    for (name, other) in [("rejection", by_rejection), ("line-gibbs", by_gibbs), ("mis", by_mis)] {
        for (a, b) in [(&by_exact.0, &other.0), (&by_exact.1, &other.1)] {
            let (a, b): (Moments, Moments) = (a.iter().copied().collect(), b.iter().copied().collect());
            let se = a.estimate().standard_error.hypot(b.estimate().standard_error);
            println!("{name}: {} {} ± {se}", a.mean(), b.mean());
            assert!((a.mean() - b.mean()).abs() < 4.9 * se, "{name}: {} {} ± {se}", a.mean(), b.mean());
        }
        assert_same_distribution(by_exact.0.clone(), other.0);
        assert_same_distribution(by_exact.1.clone(), other.1);
    }
}

/// Tables with margins and bounds by proposals of rows: the law listed in full, with bounds that pull sums to one side, on tables that
/// are higher than wide and wider than high.
#[test]
fn margins_within_bounds_have_the_listed_law() {
    fn check<L: LatticeLaw + IntegerLaw>(
        law: L,
        (rows, columns): (usize, usize),
        inequalities: Inequalities,
        counts: &[i64],
    ) {
        let system = System {
            name: "margins",
            invariant: Linear::margins(rows, columns).unwrap(),
            region: inequalities.around(counts).unwrap(),
        };
        // All tables by the entries of all rows and columns but the last.
        let (mut want, side) = (HashMap::new(), 17usize);
        for index in 0..side.pow(((rows - 1) * (columns - 1)) as u32) {
            let (mut z, mut rest) = (vec![0i64; rows * columns], index);
            for i in 0..rows - 1 {
                for j in 0..columns - 1 {
                    let value = (rest % side) as i64 - 8;
                    rest /= side;
                    for (at, sign) in [
                        (i * columns + j, 1),
                        (i * columns + columns - 1, -1),
                        ((rows - 1) * columns + j, -1),
                        (rows * columns - 1, 1),
                    ] {
                        z[at] += sign * value;
                    }
                }
            }
            if system.region.contains(&z) {
                let sum = z.iter().map(|&z| L::part(z)).sum();
                want.insert(z, libm::exp(-law.energy(sum)));
            }
        }
        let total: f64 = want.values().sum();
        want.values_mut().for_each(|p| *p /= total);
        let sampler = BoundedMargins::new(&system.region.components(&system.invariant)[0], &law).unwrap();
        assert!(sampler.tv_error() < 1e-11, "{}", sampler.tv_error());
        let (mut rng, mut scratch, mut noise) =
            (test_stream(33), BoundedScratch::default(), vec![0; counts.len()]);
        assert_law(&want, 40_000, || {
            sampler.draw(&mut rng, &mut scratch, &mut noise);
            noise.clone()
        });
    }
    let (l1, gaussian) = (DoubleGeometric::new(0.7).unwrap(), DiscreteGaussian::new(0.9).unwrap());
    let zeros = [0, 0, 1, 0, 2, 0, 0, 1, 0];
    check(l1, (3, 3), Inequalities::nonnegative(9), &zeros);
    check(gaussian, (3, 3), Inequalities::nonnegative(9), &zeros);
    check(l1, (2, 3), Inequalities::nonnegative(6), &[1, 0, 2, 1, 1, 0]);
    check(gaussian, (4, 2), Inequalities::nonnegative(8), &[0, 1, 0, 0, 2, 1, 0, 0]);
    let boxed = Inequalities::bounds(vec![0; 9], vec![1, 2, 2, 2, NO_UPPER, 1, 2, 2, 3]).unwrap();
    check(l1, (3, 3), boxed, &zeros);
}

/// The published sizes, which are too large to list: 4 × 4 and 4 × 6 against chains.
#[test]
fn larger_margins_within_bounds_agree_with_chains() {
    for (rows, columns, lambda) in [(4, 4, 4.0), (4, 6, 2.0)] {
        let law = DoubleGeometric::new(lambda).unwrap();
        let counts: Vec<i64> = (0..rows * columns).map(|i| [0, 1, 0, 5, 2, 12, 0][i % 7]).collect();
        let invariant = Linear::margins(rows, columns).unwrap();
        let region = Inequalities::nonnegative(counts.len()).around(&counts).unwrap();
        let exact = LatticeExact::new(&invariant, Some(&region), law).unwrap();
        let gibbs = LatticeGibbs::new(&invariant, Some(&region), law).unwrap();
        let (mut rng, mut scratch, mut z) =
            (test_stream(34), LatticeScratch::default(), vec![0; counts.len()]);
        let (mut a, mut b) = ([vec![], vec![], vec![]], [vec![], vec![], vec![]]);
        let put = |to: &mut [Vec<f64>; 3], z: &[i64]| {
            let l1 = z.iter().map(|z| z.abs()).sum::<i64>();
            to.iter_mut().zip([l1, z[0], z[5]]).for_each(|(to, x)| to.push(x as f64));
        };
        for _ in 0..3_000 {
            exact.draw(&mut rng, &mut scratch, &mut z);
            assert!(invariant.holds(&z) && region.contains(&z));
            put(&mut a, &z);
            put(&mut b, &run(&gibbs, 1_000, &mut rng));
        }
        for (a, b) in a.into_iter().zip(b) {
            assert_same_distribution(a, b);
        }
    }
}

/// What is refused says why.
#[test]
fn refusals() {
    let law = DoubleGeometric::new(2.0).unwrap();
    let message = |e: congenial_core::Error| e.to_string();
    let (invariant, region) = sex_by_age();
    let dependent = |cells: &[usize]| {
        message(MetropolizedIndependence::new(&invariant, Some(&region), law, 0.6, Some(cells)).unwrap_err())
    };
    assert!(dependent(&[0, 1, 2]).contains("independent columns"));
    assert!(dependent(&[0]).contains("independent columns"));
    let wide = Inequalities::nonnegative(24).around(&[1; 24]).unwrap();
    let margins = Linear::margins(4, 6).unwrap();
    // Inequalities of several entries leave the points to be listed, and there are too many.
    let pairs = Inequalities::rows(vec![(vec![(0, 1), (7, 1)], 0)]).unwrap().around(&[1; 24]).unwrap();
    assert!(message(LatticeExact::new(&margins, Some(&pairs), law).unwrap_err()).contains("points"));
    let large = Linear::margins(14, 14).unwrap();
    let around = Inequalities::nonnegative(196).around(&[3; 196]).unwrap();
    let refused = BoundedMargins::new(&around.components(&large)[0], &law).unwrap_err();
    let refused = message(refused);
    assert!(refused.contains("proposed entries a draw, the limit is 10000000"), "{refused}");
    // 4 × 6 tables bounded above have a Graver basis beyond the limit.
    let boxed = Inequalities::bounds(vec![0; 24], vec![2; 24]).unwrap().around(&[1; 24]).unwrap();
    assert!(message(LatticeGibbs::new(&margins, Some(&boxed), law).unwrap_err()).contains("Graver"));
    LatticeGibbs::new(&margins, Some(&wide), law).unwrap();
    let rejection = Rejection::new(&margins, &wide, law, Source::Unconstrained);
    assert!(message(rejection.unwrap_err()).contains("cannot be measured"));
    let fixed = Linear::margins(1, 3).unwrap();
    let region = Inequalities::nonnegative(3).around(&[1, 2, 3]).unwrap();
    assert!(LatticeGibbs::new(&fixed, Some(&region), law).is_err());
}

/// 60 cells that must all be equal: the probability of every single point underflows, their ratios do not. The common
/// value is double geometric with 60 times the rate.
#[test]
fn many_equations_do_not_underflow() {
    let (n, lambda) = (60, 200.0);
    let rows: Vec<Vec<i64>> =
        (0..n - 1).map(|i| (0..n).map(|j| i64::from(j == i) - i64::from(j == i + 1)).collect()).collect();
    let invariant = matrix(&rows);
    let law = DoubleGeometric::new(lambda).unwrap();
    let region = Inequalities::bounds(vec![-400; n], vec![NO_UPPER; n]).unwrap().around(&vec![0; n]).unwrap();
    let a = libm::exp(-(n as f64) / lambda);
    let mut rng = test_stream(34);
    for region in [None, Some(&region)] {
        let exact = LatticeExact::new(&invariant, region, law).unwrap();
        assert!(exact.tv_error() < 1e-9, "{}", exact.tv_error());
        let (mut scratch, mut noise) = (LatticeScratch::default(), vec![0; n]);
        let p = |z: i64| (1.0 - a) / (1.0 + a) * libm::pow(a, z.abs() as f64);
        let mut seen: HashMap<i64, u64> = HashMap::new();
        for _ in 0..20_000 {
            exact.draw(&mut rng, &mut scratch, &mut noise);
            invariant.check(&noise).unwrap();
            *seen.entry(noise[0]).or_default() += 1;
        }
        assert_frequencies((-40..=40).map(|z| (seen.get(&z).copied().unwrap_or(0), p(z))), 20_000);
    }
}

/// Coefficients that carry a solved cell far away: such proposals are rejected, they do not wrap around.
#[test]
fn wild_proposals_are_rejected() {
    let invariant = matrix(&[vec![1_000_000, 1]]);
    let law = DiscreteGaussian::new(5.0).unwrap();
    let mis = MetropolizedIndependence::new(&invariant, None, law, 0.001, None).unwrap();
    let mut rng = test_stream(35);
    let mut state = mis.start(Start::default(), &mut rng).unwrap();
    let mut noise = mis.noise();
    for _ in 0..20_000 {
        mis.draw(&mut rng, &mut noise);
        mis.apply(&mut state, &noise);
    }
    assert_eq!(mis.position(&state), [0, 0]);
}

/// A group of zeros has one table: nothing there can move, and nothing needs to.
#[test]
fn parts_of_one_point_do_not_stop_a_chain() {
    let invariant = Linear::partition(&[0, 0, 1, 1]).unwrap();
    let region = Inequalities::nonnegative(4).around(&[0, 0, 3, 4]).unwrap();
    let law = DoubleGeometric::new(2.0).unwrap();
    let mis = MetropolizedIndependence::new(&invariant, Some(&region), law, 0.5, None).unwrap();
    assert_eq!(mis.component_count(), 1);
    let mut rng = test_stream(36);
    let state = mis.start(Start::default(), &mut rng).unwrap();
    let (state, _) = congenial_core::chain::run(&mis, state, 2_000, 10, &mut rng, |_, _| {}).unwrap();
    region.check(mis.position(&state)).unwrap();
    assert_eq!(mis.position(&state)[..2], [0, 0]);
}
