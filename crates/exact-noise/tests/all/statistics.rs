//! Many draws against closed forms, and against another algorithm, at level 1e-6 a test.

use congenial_exact_noise::{Base, Bits, Free, Law, Precision, Result, System, Tree, ZeroSum};
use statrs::distribution::{ChiSquared, ContinuousCDF};
use std::collections::BTreeMap;

/// The probability that a right sampler fails a test.
const ALPHA: f64 = 1e-6;

/// Draws of a test: all of them with `--release`, a tenth of them without.
fn draws(all: usize) -> usize {
    if cfg!(debug_assertions) { all / 10 } else { all }
}

/// Bits of a seeded generator (splitmix64), so that tests repeat.
pub struct Seeded(pub u64);

impl Seeded {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    pub fn below(&mut self, end: u32) -> u32 {
        (((self.next() >> 32) * u64::from(end)) >> 32) as u32
    }

    fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

impl Bits for Seeded {
    fn bits(&mut self, count: u32) -> Result<u32> {
        Ok((self.next() >> (64 - count)) as u32)
    }
}

fn geometric(loss: &str) -> Law {
    Law::DoubleGeometric(Base::from_loss(&loss.parse().unwrap()).unwrap())
}

fn gaussian(loss: &str) -> Law {
    Law::DiscreteGaussian(Base::from_loss(&loss.parse().unwrap()).unwrap())
}

/// Weights of a law from `-reach` to `reach`, by floating point.
fn weights(law: Law, reach: i64) -> Vec<f64> {
    let ln = (law.base().mantissa() as f64 / (1u64 << 48) as f64).ln();
    let power = |z: i64| match law {
        Law::DoubleGeometric(_) => z.abs() as f64,
        Law::DiscreteGaussian(_) => (z * z) as f64,
    };
    (-reach..=reach).map(|z| (ln * power(z)).exp()).collect()
}

/// Counts of outcomes against probabilities from `-reach` to `reach`, tails with their ends: outcomes that are expected fewer than 25 times
/// are merged with their neighbours.
fn fits(what: &str, counts: &BTreeMap<i64, u64>, reach: i64, probabilities: &[f64]) {
    let draws: u64 = counts.values().sum();
    let total: f64 = probabilities.iter().sum();
    let (mut statistic, mut cells) = (0.0, 0);
    let (mut seen, mut expected, mut left) = (0.0, 0.0, draws as f64);
    let below: u64 = counts.range(..-reach).map(|(_, count)| count).sum();
    seen += below as f64;
    for (z, p) in (-reach..=reach).zip(probabilities) {
        seen += counts.get(&z).copied().unwrap_or(0) as f64;
        expected += draws as f64 * p / total;
        if expected >= 25.0 && left - expected >= 25.0 {
            statistic += (seen - expected).powi(2) / expected;
            left -= expected;
            (seen, expected) = (0.0, 0.0);
            cells += 1;
        }
    }
    seen += counts.range(reach + 1..).map(|(_, count)| count).sum::<u64>() as f64;
    if expected > 0.0 {
        statistic += (seen - expected).powi(2) / expected;
    }
    assert!(cells >= 1, "{what}: one cell");
    let p = ChiSquared::new(f64::from(cells)).unwrap().sf(statistic);
    println!("{what}: chi-square {statistic:.1} on {cells} degrees of freedom, p = {p:.4}");
    assert!(p > ALPHA, "{what}: p = {p}");
}

/// Counts of two samplers of one law, of as many draws.
fn agree(what: &str, a: &BTreeMap<i64, u64>, b: &BTreeMap<i64, u64>) {
    let keys: std::collections::BTreeSet<i64> = a.keys().chain(b.keys()).copied().collect();
    let (mut statistic, mut cells) = (0.0, -1.0);
    let (mut x, mut y) = (0.0, 0.0);
    for key in keys {
        x += a.get(&key).copied().unwrap_or(0) as f64;
        y += b.get(&key).copied().unwrap_or(0) as f64;
        if x + y >= 100.0 {
            statistic += (x - y) * (x - y) / (x + y);
            (x, y) = (0.0, 0.0);
            cells += 1.0;
        }
    }
    let p = ChiSquared::new(cells).unwrap().sf(statistic);
    println!("{what}: chi-square {statistic:.1} on {cells} degrees of freedom, p = {p:.4}");
    assert!(p > ALPHA, "{what}: p = {p}");
}

/// How often more than some sizes were drawn: within the normal quantile of 1e-6, where that many are expected.
fn tails(what: &str, counts: &BTreeMap<i64, u64>, tail: impl Fn(i64) -> f64) {
    let draws = counts.values().sum::<u64>() as f64;
    let mut from = 0;
    while draws * tail(from) >= 100.0 {
        let seen: u64 = counts.iter().filter(|(z, _)| z.abs() > from).map(|(_, count)| count).sum();
        let (p, seen) = (tail(from), seen as f64);
        // Two tails of 5.2 deviations are 2e-7; with 100 expected the Poisson tail is at most thrice that.
        let off = (seen - draws * p) / (draws * p * (1.0 - p)).sqrt();
        assert!(off.abs() < 5.2, "{what}: {seen} beyond {from}, expected {}", draws * p);
        from = from * 2 + 1;
    }
    assert!(from > 0, "{what}: no tail was looked at");
}

fn counted(draws: usize, mut draw: impl FnMut() -> i64) -> BTreeMap<i64, u64> {
    let mut counts = BTreeMap::new();
    for _ in 0..draws {
        *counts.entry(draw()).or_default() += 1;
    }
    counts
}

#[test]
fn free_draws_have_their_law() {
    let cases = [
        (geometric("0.2"), 400),
        (geometric("1/113"), 5000),
        (geometric("3"), 30),
        (gaussian("1/50"), 60),
        (gaussian("1/5000"), 500),
        (gaussian("3"), 6),
        (gaussian("0.7"), 12),
    ];
    for (case, (law, reach)) in cases.into_iter().enumerate() {
        let free = Free::new(law).unwrap();
        let mut source = Seeded(100 + case as u64);
        let counts = counted(draws(10_000_000), || free.draw(&mut source).unwrap());
        let weights = weights(law, reach);
        fits(&format!("{law:?}"), &counts, reach, &weights);
        let total: f64 = weights.iter().sum();
        let tail = |from: i64| {
            weights.iter().zip(-reach..).filter(|(_, z)| z.abs() > from).map(|(w, _)| w).sum::<f64>() / total
        };
        tails(&format!("{law:?}"), &counts, tail);
    }
}

/// The operating system's bits, and first comparisons of 5 bits, which are refined once in 20 times.
#[test]
fn refined_draws_of_the_system_have_their_law() {
    for law in [geometric("0.4"), gaussian("1/20")] {
        let free = Free::with_precision(law, Precision::new(5, 8).unwrap()).unwrap();
        let mut source = System::new();
        let counts = counted(draws(1_000_000), || free.draw(&mut source).unwrap());
        fits(&format!("{law:?}, 5 bits"), &counts, 80, &weights(law, 80));
    }
}

/// `Σ a(s) b(t - s)`, both from `-reach` to `reach`, cut there.
fn convolved(a: &[f64], b: &[f64]) -> Vec<f64> {
    let reach = a.len() as i64 / 2;
    let at = |x: &[f64], z: i64| if z.abs() <= reach { x[(z + reach) as usize] } else { 0.0 };
    (-reach..=reach).map(|t| (-reach..=reach).map(|s| at(a, s) * at(b, t - s)).sum()).collect()
}

/// One entry of a group: `w(z)` times the weight of `-z` as the sum of the others.
#[test]
fn entries_of_groups_have_their_law() {
    for (law, n, reach, rows) in [
        (geometric("0.2"), 2, 150, 62),
        (geometric("0.2"), 7, 250, 62),
        (geometric("1/40"), 3, 1000, 62),
        (gaussian("1/50"), 7, 120, 62),
        (gaussian("0.3"), 4, 30, 62),
        (geometric("0.5"), 5, 120, 7),
        (gaussian("0.1"), 3, 40, 9),
    ] {
        let own = weights(law, reach);
        let others = (2..n).fold(own.clone(), |sum, _| convolved(&sum, &own));
        let marginal: Vec<f64> = own.iter().zip(&others).map(|(own, others)| own * others).collect();
        let mut group = ZeroSum::with_precision(law, n, Precision::new(32, rows).unwrap()).unwrap();
        let mut source = Seeded(n as u64);
        let draws = if rows == 62 { draws(300_000) } else { 3_000 };
        let mut last = BTreeMap::new();
        let first = counted(draws, || {
            let noise = group.draw(&mut source).unwrap();
            *last.entry(noise[n - 1]).or_default() += 1;
            noise[0]
        });
        fits(&format!("{law:?}, first of {n}, {rows} bits"), &first, reach, &marginal);
        fits(&format!("{law:?}, last of {n}, {rows} bits"), &last, reach, &marginal);
    }
}

/// Two ways to the same law: compositions, and halves of a tree with a known root. 60 counts, one of them, and a half of them.
#[test]
fn groups_and_trees_agree() {
    let (law, n) = (geometric("0.3"), 60);
    let parents: Vec<Option<usize>> = std::iter::once(None).chain((0..n).map(|_| Some(0))).collect();
    let known: Vec<bool> = (0..=n).map(|v| v == 0).collect();
    let mut tree = Tree::new(&parents, &known, &[None, Some(law)]).unwrap();
    let mut group = ZeroSum::new(law, n).unwrap();
    let (mut a, mut b) = (Seeded(1), Seeded(2));
    let draws = draws(20_000);
    let of_trees: Vec<Vec<i64>> = (0..draws).map(|_| tree.draw(&mut a).unwrap()[1..].to_vec()).collect();
    let of_groups: Vec<Vec<i64>> = (0..draws).map(|_| group.draw(&mut b).unwrap()).collect();
    type Look = fn(&[i64]) -> i64;
    let look: [(&str, Look); 3] = [
        ("one", |z| z[17]),
        ("half", |z| z.iter().step_by(2).sum()),
        ("size", |z| z.iter().map(|z| z.abs()).sum()),
    ];
    for (what, look) in look {
        let count = |all: &[Vec<i64>]| {
            let mut all = all.iter();
            counted(draws, || look(all.next().unwrap()))
        };
        agree(what, &count(&of_trees), &count(&of_groups));
    }
}

/// A geometric by inversion, with floating point.
fn geometric_by_inversion(rate: f64, source: &mut Seeded) -> i64 {
    let draw = |source: &mut Seeded| (-(1.0 - source.uniform()).ln() / rate).floor() as i64;
    draw(source) - draw(source)
}

/// A second algorithm: leaves at random, sums kept with probability `q^|s|`, or `q^(s²)`, again until all are kept.
#[test]
fn trees_agree_with_rejection() {
    // A root, three states, four counties each; the second state's total is known in the last case.
    let parents: Vec<Option<usize>> =
        std::iter::once(None).chain([Some(0); 3]).chain((0..12).map(|c| Some(1 + c / 4))).collect();
    let (top, leaf) = (0.1, 0.4);
    for (case, (middle, known_root)) in
        [(geometric("0.25"), false), (gaussian("0.02"), false), (geometric("0.25"), true)]
            .into_iter()
            .enumerate()
    {
        let mut known = vec![false; parents.len()];
        known[0] = known_root;
        let laws = [Some(geometric("0.1")), Some(middle), Some(geometric("0.4"))];
        let mut tree = Tree::new(&parents, &known, &laws).unwrap();
        let (mut source, mut other) = (Seeded(50 + case as u64), Seeded(90 + case as u64));
        let keeps = |s: i64, other: &mut Seeded| match middle {
            Law::DoubleGeometric(_) => other.uniform() < (-0.25 * s.abs() as f64).exp(),
            Law::DiscreteGaussian(_) => other.uniform() < (-0.02 * (s * s) as f64).exp(),
        };
        let mut by_rejection = || loop {
            let mut z = vec![0i64; 16];
            for state in 0..3 {
                loop {
                    let leaves: Vec<i64> = (0..4).map(|_| geometric_by_inversion(leaf, &mut other)).collect();
                    let sum: i64 = leaves.iter().sum();
                    if keeps(sum, &mut other) {
                        z[1 + state] = sum;
                        z[4 + 4 * state..8 + 4 * state].copy_from_slice(&leaves);
                        break;
                    }
                }
            }
            z[0] = z[1] + z[2] + z[3];
            let is_kept =
                if known_root { z[0] == 0 } else { other.uniform() < (-top * z[0].abs() as f64).exp() };
            if is_kept {
                return z;
            }
        };
        let draws = draws(60_000);
        let pairs: Vec<(Vec<i64>, Vec<i64>)> =
            (0..draws).map(|_| (tree.draw(&mut source).unwrap(), by_rejection())).collect();
        for v in [0, 1, 3, 4, 15] {
            let (mut a, mut b) = (pairs.iter(), pairs.iter());
            let a = counted(draws, || a.next().unwrap().0[v]);
            let b = counted(draws, || b.next().unwrap().1[v]);
            if known_root && v == 0 {
                assert_eq!((a.len(), b.len()), (1, 1));
            } else {
                agree(&format!("case {case}, node {v}"), &a, &b);
            }
        }
        // Two nodes at once.
        let both = |z: &[i64]| z[4] - z[5] + 3 * z[2];
        let (mut a, mut b) = (pairs.iter(), pairs.iter());
        let a = counted(draws, || both(&a.next().unwrap().0));
        agree(&format!("case {case}, several"), &a, &counted(draws, || both(&b.next().unwrap().1)));
    }
}

/// Counts bits.
struct Counting(Seeded, u64);

impl Bits for Counting {
    fn bits(&mut self, count: u32) -> Result<u32> {
        self.1 += u64::from(count);
        self.0.bits(count)
    }
}

/// Bits of a draw do not tell its value: those of a double geometric are always as many, and those of a Gaussian go with the trials
/// alone. Where there is no correlation, that of n draws has the standard error 1/√n; 5.2 of them are 2e-7. A hundredth is
/// what no law may have.
#[test]
fn the_number_of_bits_does_not_tell_the_value() {
    let geometrics = ["1", "1/5", "1/113"].map(geometric);
    // Sigma 1, 5 and 113.
    let gaussians = ["1/2", "1/50", "1/25538"].map(gaussian);
    for law in geometrics.into_iter().chain(gaussians) {
        let free = Free::new(law).unwrap();
        let mut source = Counting(Seeded(5), 0);
        let draws = draws(1_000_000);
        let mut sums = [0.0; 5];
        for _ in 0..draws {
            let before = source.1;
            let z = free.draw(&mut source).unwrap().abs() as f64;
            let bits = (source.1 - before) as f64;
            for (sum, part) in sums.iter_mut().zip([z, bits, z * z, bits * bits, z * bits]) {
                *sum += part;
            }
        }
        let [z, bits, zz, bb, zb] = sums.map(|sum| sum / draws as f64);
        let spread = ((zz - z * z) * (bb - bits * bits)).max(0.0).sqrt();
        let correlation = if bb - bits * bits < 1e-9 * bb { 0.0 } else { (zb - z * bits) / spread };
        println!("{law:?}: {bits:.2} bits a draw, correlation {correlation:.5}");
        assert!(correlation.abs() < 5.2 / (draws as f64).sqrt(), "{correlation}");
        assert!(cfg!(debug_assertions) || correlation.abs() < 0.01, "{correlation}");
        if let Law::DoubleGeometric(_) = law {
            assert!(bb - bits * bits < 1e-9 * bb, "{law:?}: bits vary");
        }
    }
}
