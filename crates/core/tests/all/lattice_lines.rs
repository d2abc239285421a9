//! Draws along lines of integer vectors against sums of all weights, and against integrals where these are too many.
#![allow(clippy::disallowed_methods)] // An oracle need not agree to the last bit.

use congenial_core::law::{DiscreteGaussian, DoubleGeometric, EuclideanLaplace, LatticeLaw, Line};
use congenial_core::rng::{Stream, below, normal, open01};

/// A line `z + t b` of a law on integer vectors: minus the logarithm of the weight, from the place next to the peak.
struct Lattice<'a, L> {
    law: &'a L,
    b: Vec<(u32, i32)>,
    z: Vec<i64>,
    lo: i64,
    hi: i64,
}

impl<L: LatticeLaw> Lattice<'_, L> {
    fn sum(&self) -> i64 {
        self.z.iter().map(|&z| L::part(z)).sum()
    }

    /// Σ b² and Σ b z.
    fn form(&self) -> (i128, i128) {
        let pairs = || self.b.iter().map(|&(i, c)| (i128::from(c), i128::from(self.z[i as usize])));
        (pairs().map(|(c, _)| c * c).sum(), pairs().map(|(c, z)| c * z).sum())
    }

    /// The peak within the bounds, and the squared norm there.
    fn peak(&self) -> (i64, i128) {
        let (square, product) = self.form();
        let mode = (-product).div_euclid(square) as i64;
        let of = |t: i64| i128::from(self.sum()) + i128::from(t) * (2 * product + i128::from(t) * square);
        [mode, mode + 1]
            .map(|t| t.clamp(self.lo, self.hi))
            .map(|t| (t, of(t)))
            .into_iter()
            .min_by_key(|x| x.1)
            .unwrap()
    }

    /// `ln w(peak + t)/w(peak)`, for any real t.
    fn log(&self, l2: bool) -> impl Fn(f64) -> f64 {
        let (square, product) = self.form();
        let (peak, least) = self.peak();
        let product = (product + i128::from(peak) * square) as f64;
        let (square, least, scale) = (square as f64, least as f64, self.law.scale());
        move |t: f64| {
            if t == 0.0 {
                return 0.0;
            }
            let more = t * (2.0 * product + t * square);
            if l2 {
                -more / scale / (least.sqrt() + (least + more).max(0.0).sqrt())
            } else {
                -0.5 * more / scale / scale
            }
        }
    }

    fn draw(&self, tables: &L::Tables, u: f64) -> i64 {
        self.law.line(tables, &mut Line::default(), &self.b, (&self.z, self.sum()), (self.lo, self.hi), u)
    }

    /// Against sums of all weights: for many u, and for u next to where the draw must change.
    fn check(&self, l2: bool, rng: &mut Stream) {
        let (tables, log, (peak, _)) = (self.law.tables(), self.log(l2), self.peak());
        let end = |bound: i64, sign: i64| {
            let mut reach = 1;
            while log((sign * reach) as f64) > -50.0 && reach < 1 << 40 {
                reach *= 2;
            }
            reach.min(bound.saturating_sub(peak).saturating_mul(sign))
        };
        let (left, right) = (end(self.lo, -1), end(self.hi, 1));
        // `sums(t)`: the share of the law up to peak + t, and the share above.
        let plain: Option<Vec<f64>> =
            (left + right < 40_000).then(|| (-left..=right).map(|t| log(t as f64).exp()).collect());
        let sums = |weights: &[f64], t: i64| {
            let place = (t + left + 1).clamp(0, weights.len() as i64) as usize;
            let (below, above): (f64, f64) =
                (weights[..place].iter().sum(), weights[place..].iter().rev().sum());
            (below / (below + above), above / (below + above))
        };
        // The same from integrals, less the first term of Euler and Maclaurin's series.
        let integral = |from: f64, to: f64| {
            let n = 20_000;
            let h = (to - from) / n as f64;
            let inner: f64 = (0..n)
                .map(|i| {
                    let x = from + (f64::from(i) + 0.5) * h;
                    let shift = 0.5 * h / 3f64.sqrt();
                    0.5 * h * (log(x - shift).exp() + log(x + shift).exp())
                })
                .sum();
            let slope = |x: f64| (log(x + 0.5).exp() - log(x - 0.5).exp()) / 24.0;
            inner - slope(to) + slope(from)
        };
        let share = |t: i64| match &plain {
            Some(weights) => sums(weights, t),
            None => {
                let edge = (t as f64 + 0.5).clamp(-left as f64 - 0.5, right as f64 + 0.5);
                let below = integral(-left as f64 - 0.5, edge);
                let above = integral(edge, right as f64 + 0.5);
                (below / (below + above), above / (below + above))
            }
        };
        let tolerance = if plain.is_some() { 1e-12 } else { 1e-9 };
        let describe = |u: f64, t: i64| {
            format!(
                "{:?} b {:?} z {:?} [{}, {}] u = {u}: {t}, peak {peak}",
                self.law, self.b, self.z, self.lo, self.hi
            )
        };
        let verify = |u: f64| {
            let t = self.draw(&tables, u);
            assert!((self.lo..=self.hi).contains(&t), "{}", describe(u, t));
            let ((before, _), (upto, above)) = (share(t - peak - 1), share(t - peak));
            let right = before <= u + tolerance && upto >= u - tolerance && above <= 1.0 - u + tolerance;
            assert!(right, "{}: its place is {before} to {upto}", describe(u, t));
            (t, before, upto)
        };
        for _ in 0..3 {
            let (t, before, upto) = verify(open01(rng));
            for edge in [before, upto] {
                for beside in [1e-4, -1e-4, 1e-6, -1e-6, 1e-9, -1e-9, 1e-11, -1e-11] {
                    let u = edge + beside * (upto - before);
                    if (1e-15..1.0 - 1e-15).contains(&u) {
                        verify(u);
                    }
                }
            }
            let middle = 0.5 * (before + upto);
            if upto - before > 10.0 * tolerance {
                assert_eq!(self.draw(&tables, middle), t, "{}", describe(middle, t));
            }
        }
        // In order of u.
        let mut draws =
            [1e-15, 1e-9, 1e-3, 0.2, 0.5, 0.8, 0.999, 1.0 - 1e-9, 1.0 - 1e-15].map(|u| self.draw(&tables, u));
        let drawn = draws;
        draws.sort_unstable();
        assert_eq!(draws, drawn);
    }
}

/// Random lines at random places near 0 and far from it, with and without bounds.
fn lattice_lines<L: LatticeLaw>(law: L, l2: bool, lines: u64, rng: &mut Stream) {
    for i in 0..lines {
        let entries = 3 + below(rng, 8) as usize;
        let spread = law.scale() * if l2 { 1.5 } else { 1.0 } * [1.0, 0.1, 4.0][i as usize % 3];
        let z = (0..entries).map(|_| (normal(rng) * spread).round() as i64).collect::<Vec<i64>>();
        let small = if i % 2 == 0 { 1 } else { 3 };
        let coefficient =
            |rng: &mut Stream| (1 + below(rng, small) as i32) * if below(rng, 2) == 0 { 1 } else { -1 };
        let b: Vec<(u32, i32)> =
            (0..2 + below(rng, 3).min(entries as u64 - 2)).map(|j| (j as u32, coefficient(rng))).collect();
        let mut line = Lattice { law: &law, b, z, lo: i64::MIN, hi: i64::MAX };
        // The line goes through its place at any distance from the peak.
        let far = [0, 1, (3.0 * law.scale()) as i64, 1_000_003][below(rng, 4) as usize];
        for &(entry, c) in &line.b {
            line.z[entry as usize] += far * i64::from(c);
        }
        line.check(l2, rng);
        let room = (law.scale() * 3.0) as u64 + 1;
        let side =
            |rng: &mut Stream| [0, below(rng, 3), below(rng, room), 1 << 62][below(rng, 4) as usize] as i64;
        (line.lo, line.hi) = (-side(rng), side(rng));
        line.check(l2, rng);
        (line.lo, line.hi) = (0, 0);
        assert_eq!(line.draw(&law.tables(), open01(rng)), 0);
    }
}

#[test]
fn lattice_lines_of_the_discrete_gaussian() {
    let mut rng = crate::common::test_stream(11);
    for sigma in [0.05, 0.3, 0.8, 1.0, 1.5, 2.3, 6.0, 12.0, 47.0, 400.0] {
        lattice_lines(DiscreteGaussian::new(sigma).unwrap(), false, 40, &mut rng);
    }
    for sigma in [4e3, 3e4, 7e4, 1e6] {
        lattice_lines(DiscreteGaussian::new(sigma).unwrap(), false, 6, &mut rng);
    }
}

#[test]
fn lattice_lines_of_the_l2_norm() {
    let mut rng = crate::common::test_stream(12);
    for scale in [0.05, 0.3, 0.8, 1.5, 2.3, 4.0, 11.0, 40.0, 150.0] {
        lattice_lines(EuclideanLaplace::new(scale).unwrap(), true, 40, &mut rng);
    }
    for scale in [4e3, 3e4, 1e6] {
        lattice_lines(EuclideanLaplace::new(scale).unwrap(), true, 6, &mut rng);
    }
}

/// Without bounds and with them, coefficients of 1 and larger ones: the place of u in the sums of all weights.
#[test]
fn lattice_lines_of_the_l1_norm() {
    let mut rng = crate::common::test_stream(13);
    for scale in [0.03, 0.3, 1.0, 4.0, 40.0, 400.0] {
        let law = DoubleGeometric::new(scale).unwrap();
        let tables = LatticeLaw::tables(&law);
        for i in 0..300 {
            let largest = if i % 4 == 0 { 3 } else { 1 };
            let coefficient =
                |rng: &mut Stream| (1 + below(rng, largest) as i32) * if below(rng, 2) == 0 { 1 } else { -1 };
            let b: Vec<(u32, i32)> =
                (0..2 + below(&mut rng, 3) as u32).map(|entry| (entry, coefficient(&mut rng))).collect();
            let far = [0, 1, (3.0 * scale) as i64, 1_000_003][below(&mut rng, 4) as usize];
            let noise = |rng: &mut Stream| (normal(rng) * scale * [0.1, 1.0, 4.0][i % 3]).round() as i64;
            let z: Vec<i64> = b.iter().map(|&(_, c)| noise(&mut rng) + far * i64::from(c)).collect();
            let energy = |t: i64| {
                b.iter().map(|&(entry, c)| (z[entry as usize] + i64::from(c) * t).abs()).sum::<i64>()
            };
            // The weight is largest at a break, or next to it where that is no integer.
            let breaks = b.iter().map(|&(entry, c)| (-z[entry as usize]).div_euclid(i64::from(c)));
            let peak = breaks.flat_map(|at| [at, at + 1]).min_by_key(|&t| energy(t)).unwrap();
            let reach = (40.0 * scale) as i64 + 5;
            let (lo, hi) = match i % 5 {
                0 => (-(below(&mut rng, 9) as i64), below(&mut rng, 9) as i64),
                _ => (i64::MIN, i64::MAX),
            };
            let top = peak.clamp(lo, hi);
            let (from, to) = ((top - reach).max(lo), (top + reach).min(hi));
            let weights: Vec<f64> =
                (from..=to).map(|t| (-(energy(t) - energy(top)) as f64 / scale).exp()).collect();
            let total: f64 = weights.iter().sum();
            let sum = z.iter().map(|z| z.abs()).sum();
            for _ in 0..20 {
                let u = open01(&mut rng);
                let t = law.line(&tables, &mut Line::default(), &b, (&z, sum), (lo, hi), u);
                let words = format!("scale {scale} b {b:?} z {z:?} [{lo}, {hi}] u = {u}: {t}, peak {peak}");
                assert!((from..=to).contains(&t), "{words}");
                let before: f64 = weights[..(t - from) as usize].iter().sum::<f64>() / total;
                let upto = before + weights[(t - from) as usize] / total;
                assert!(before <= u + 1e-11 && upto >= u - 1e-11, "{words}: its place is {before} to {upto}");
            }
        }
    }
}
