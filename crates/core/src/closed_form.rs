//! Variances and laws that are known in closed form: what experiments must reproduce.

mod sums;

pub use sums::{IntegerNoise, Summand, integer_quantile, laplace_quantile};

use crate::invariant::Component;

/// A law of independent noise, by what the formulas need.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Noise {
    /// Laplace with its lambda.
    Laplace(f64),
    /// Double geometric with its lambda.
    DoubleGeometric(f64),
    /// Gaussian with its sigma.
    Gaussian(f64),
    /// Any other law with its variance.
    Variance(f64),
}

/// What is done with the noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Operation {
    /// Nothing is done: the noise stays free.
    Free,
    /// The noise is conditioned on the equations.
    Conditioned,
    /// The noise is projected by least squares.
    L2,
    /// The noise is moved to the L1 image of [`crate::imaging::LatticeL1`].
    L1 {
        /// The share beta of the image.
        beta: f64,
    },
}

impl Noise {
    /// The variance `Var(z)` of one value, in counts squared.
    pub fn variance(self) -> f64 {
        match self {
            Self::Laplace(lambda) => 2.0 * lambda * lambda,
            // 2 a/(1 - a)², a = e^(-1/lambda).
            Self::DoubleGeometric(lambda) => {
                let half = libm::sinh(0.5 / lambda);
                0.5 / (half * half)
            }
            Self::Gaussian(sigma) => sigma * sigma,
            Self::Variance(variance) => variance,
        }
    }
}

/// The mean over the entries of one component of the variance of their noise, if it is known.
///
/// | operation | variance |
/// | --- | --- |
/// | free | `v = Var(z)` |
/// | least squares | `v (n - k)/n`, k equations on n entries ("Two views", Prop. 4.1, for one total) |
/// | conditioned, Gaussian | the same: both have the same law |
/// | conditioned, Laplace, one total | `lambda² (2n - 1)(n - 1)/(n (n + 1))` |
/// | conditioned, both, k entries each that are equal up to sign, one total | that of one total with `lambda/k` |
/// | conditioned, double geometric, one total | `2 (n - 1)/(n²(n + 1)) E[r (r + n)]`, `P(r) ∝ C(r + n - 1, n - 1)² e^(-2r/lambda)` |
/// | L1 image, one total of two entries | `v (beta² + (1 - beta)²)` |
///
/// Conditioning Laplace noise on one total gives `(2n - 1)/(2(n + 1)) < 1` times the variance of least squares for
/// every n: the conjecture of "Two views", section 4. `None` for everything else.
///
/// # Examples
///
/// ```
/// use congenial_core::closed_form::{Noise, Operation, variance};
/// use congenial_core::invariant::Linear;
///
/// // Three entries with one total, Laplace noise with lambda 1 (variance 2).
/// let component = Linear::total(3)?.whole();
/// let of = |operation| variance(Noise::Laplace(1.0), operation, &component, 1).unwrap();
/// assert!((of(Operation::L2) - 4.0 / 3.0).abs() < 1e-15);
/// assert!((of(Operation::Conditioned) - 5.0 / 6.0).abs() < 1e-15);
/// # Ok::<(), congenial_core::Error>(())
/// ```
pub fn variance(noise: Noise, operation: Operation, component: &Component, rank: usize) -> Option<f64> {
    let n = component.entries.len() as f64;
    let least_squares = noise.variance() * (n - rank as f64) / n;
    match (operation, noise) {
        (Operation::Free, _) => Some(noise.variance()),
        (Operation::L2, _) | (Operation::Conditioned, Noise::Gaussian(_)) => Some(least_squares),
        (Operation::Conditioned, _) if component.rows.is_empty() => Some(noise.variance()),
        (Operation::Conditioned, _) if component.is_total() => of_total(noise, component.entries.len(), 1.0),
        (Operation::Conditioned, Noise::Laplace(_) | Noise::DoubleGeometric(_)) => of_tied(noise, component),
        (Operation::L1 { beta }, _) if component.is_total() && component.entries.len() == 2 => {
            Some(noise.variance() * (beta * beta + (1.0 - beta) * (1.0 - beta)))
        }
        _ => None,
    }
}

/// The variance of an entry under noise conditioned on equations that make entries equal up to sign and leave one sum
/// of them: so do all two-way sums of a 2 × 2 × n table, whose layers have four entries ±t with one t, and `Σ t = 0`. k
/// equal entries weigh `exp(-k |t|/lambda)`, and signs change no law.
fn of_tied(noise: Noise, component: &Component) -> Option<f64> {
    let tied = component.tied().filter(|tied| tied.zeros.is_empty())?;
    let [row] = tied.equations.rows() else { return None };
    if row.len() != tied.groups.len() || row.iter().any(|(_, a)| a.abs() != 1) {
        return None;
    }
    of_total(noise, tied.groups.len(), tied.size() as f64)
}

/// The variance of one entry of so many under noise with `lambda/k` conditioned on their total; `None` for other laws.
fn of_total(noise: Noise, entries: usize, k: f64) -> Option<f64> {
    match noise {
        Noise::Laplace(lambda) => {
            let (lambda, n) = (lambda / k, entries as f64);
            Some(lambda * lambda * (2.0 * n - 1.0) * (n - 1.0) / (n * (n + 1.0)))
        }
        Noise::DoubleGeometric(lambda) => Some(total_of_integers(lambda / k, entries)),
        Noise::Gaussian(_) | Noise::Variance(_) => None,
    }
}

/// The variance of one entry of n under double geometric noise conditioned on their total, `a = e^(-1/lambda)`.
///
/// A double geometric draw is a difference of two geometric ones. Given that n of them add to 0, the plus parts and the
/// minus parts have one sum r, with `P(r) ∝ C(r + n - 1, n - 1)² a^(2r)`, and given r both are independent and uniform
/// on the compositions of r, where a part has the variance `r (r + n)(n - 1)/(n²(n + 1))`. So
/// `Var(z) = 2 (n - 1)/(n²(n + 1)) E[r (r + n)]`.
fn total_of_integers(lambda: f64, entries: usize) -> f64 {
    let n = entries as f64;
    let a = libm::exp(-1.0 / lambda);
    // P(r + 1)/P(r); it falls with r, and is 1 at the mode.
    let ratio = |r: f64| {
        let step = (r + n) / (r + 1.0) * a;
        step * step
    };
    let mode = ((n * a - 1.0) / -libm::expm1(-1.0 / lambda)).max(0.0).floor();
    let (mut weight, mut moment) = (0.0, 0.0);
    let mut add = |r: f64, p: f64| {
        weight += p;
        moment += p * r * (r + n);
        p > 1e-20 * weight
    };
    let (mut r, mut p) = (mode, 1.0);
    while add(r, p) {
        p *= ratio(r);
        r += 1.0;
    }
    (r, p) = (mode, 1.0);
    while r > 0.0 {
        r -= 1.0;
        p /= ratio(r);
        if !add(r, p) {
            break;
        }
    }
    2.0 * (n - 1.0) / (n * n * (n + 1.0)) * moment / weight
}

/// The law of the first entry of a total under Laplace noise: of two entries by Gong and Meng, "Congenial differential privacy",
/// section 4 and Appendix A; of three, conditioned, by "Two views", appendix B.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EntryOfTotal {
    lambda: f64,
    of: Of,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Of {
    TwoConditioned,
    ThreeConditioned,
    /// Two entries, `beta z_1 - (1 - beta) z_2`.
    TwoImaged(f64),
}

impl EntryOfTotal {
    /// Finds the law of the first of so many entries.
    ///
    /// - `lambda`: of the Laplace noise, `2/epsilon` in the first paper.
    ///
    /// `None` for an operation and a number of entries without such a law.
    pub fn new(lambda: f64, operation: Operation, entries: usize) -> Option<Self> {
        let of = match (operation, entries) {
            (Operation::Conditioned, 2) => Of::TwoConditioned,
            (Operation::Conditioned, 3) => Of::ThreeConditioned,
            (Operation::L2, 2) => Of::TwoImaged(0.5),
            (Operation::L1 { beta }, 2) => Of::TwoImaged(beta),
            _ => return None,
        };
        Some(Self { lambda, of })
    }

    /// `P(z > x)` and the density at x, for `x >= 0`: the law is symmetric.
    ///
    /// Two entries, conditioned: Lap(lambda/2) (4.6). With beta: `w Lap(lambda beta) + (1 - w) Lap(lambda (1 - beta))`,
    /// `w = beta²/(2 beta - 1)` (A.1); for beta = ½ its limit (A.2). Three entries: the density of one times that of the sum of the two
    /// others, `2 (1 + t) e^(-2t)/(3 lambda)` with `t = x/lambda`.
    fn right(&self, x: f64) -> (f64, f64) {
        let laplace = |scale: f64| match scale {
            0.0 => (0.0, 0.0),
            _ => (0.5 * libm::exp(-x / scale), 0.5 / scale * libm::exp(-x / scale)),
        };
        let beta = match self.of {
            Of::TwoConditioned => return laplace(0.5 * self.lambda),
            Of::ThreeConditioned => {
                let t = x / self.lambda;
                let fall = libm::exp(-2.0 * t);
                return ((1.5 + t) * fall / 3.0, 2.0 * (1.0 + t) * fall / (3.0 * self.lambda));
            }
            Of::TwoImaged(beta) => beta,
        };
        let t = 2.0 * x / self.lambda;
        if (2.0 * beta - 1.0).abs() < 1e-6 {
            let fall = libm::exp(-t);
            return (0.25 * (2.0 + t) * fall, 0.5 / self.lambda * (1.0 + t) * fall);
        }
        let w = beta * beta / (2.0 * beta - 1.0);
        let (a, b) = (laplace(self.lambda * beta), laplace(self.lambda * (1.0 - beta)));
        (w * a.0 + (1.0 - w) * b.0, w * a.1 + (1.0 - w) * b.1)
    }

    /// The distribution function `P(z <= x)`.
    pub fn cdf(&self, x: f64) -> f64 {
        if x < 0.0 { self.right(-x).0 } else { 1.0 - self.right(x).0 }
    }

    /// The density at x.
    pub fn density(&self, x: f64) -> f64 {
        self.right(x.abs()).1
    }

    /// The epsilon that releasing the entry attains for counts that differ by 1: the least c with
    /// `density(x) <= e^c density(x - 1)` for all x. With `lambda = 2/epsilon`: epsilon for conditioning and least squares,
    /// `epsilon/(2 max(beta, 1 - beta))` in L1 (Appendix A).
    pub fn epsilon(&self) -> f64 {
        match self.of {
            Of::TwoConditioned | Of::ThreeConditioned => 2.0 / self.lambda,
            Of::TwoImaged(beta) => 1.0 / (self.lambda * beta.max(1.0 - beta)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invariant::Linear;

    fn laws() -> Vec<EntryOfTotal> {
        let images = [0.0, 0.1, 0.5, 0.500001, 0.8, 1.0].map(|beta| Operation::L1 { beta });
        [Operation::Conditioned, Operation::L2]
            .into_iter()
            .chain(images)
            .filter_map(|operation| EntryOfTotal::new(1.7, operation, 2))
            .chain(EntryOfTotal::new(1.7, Operation::Conditioned, 3))
            .collect()
    }

    /// All two-way sums of 2 × 2 × n tables kept: the variance against a sum over the lattice, and the published mean
    /// absolute errors of an entry, 0.560755 at n = 4 and epsilon 0.25, 0.148794 at n = 6 and 0.5, from the same sum.
    #[test]
    fn three_way_tables() {
        for (n, epsilon, error) in [(4, 0.25, 0.560755), (6, 0.5, 0.148794)] {
            let lattice = crate::testing::layers(n);
            let component = &lattice.components()[0];
            // Four entries ±t in every layer, Σ t = 0: by one convolution of the layers.
            let reach = 90i64;
            let one: Vec<f64> =
                (-reach..=reach).map(|t| libm::exp(-4.0 * epsilon * t.abs() as f64)).collect();
            let mut rest = vec![1.0];
            for _ in 1..n {
                let mut sum = vec![0.0; rest.len() + one.len() - 1];
                for (i, p) in rest.iter().enumerate() {
                    one.iter().enumerate().for_each(|(j, q)| sum[i + j] += p * q);
                }
                rest = sum;
            }
            let middle = (rest.len() / 2) as i64;
            let mass = |t: i64| one[(t + reach) as usize] * rest[(middle - t) as usize];
            let mean = |of: fn(i64) -> f64| {
                let sum: f64 = (-reach..=reach).map(|t| of(t) * mass(t)).sum();
                sum / (-reach..=reach).map(mass).sum::<f64>()
            };
            assert!((mean(|t| t.abs() as f64) - error).abs() < 6e-7);
            let squares = mean(|t| (t * t) as f64);
            let known = |noise| variance(noise, Operation::Conditioned, component, 0).unwrap();
            let found = known(Noise::DoubleGeometric(1.0 / epsilon));
            assert!((found / squares - 1.0).abs() < 1e-12, "{n}: {found} {squares}");
            // Laplace: one total of n with a quarter of lambda.
            let (lambda, n) = (1.0 / epsilon, f64::from(n));
            let want = lambda * lambda / 16.0 * (2.0 * n - 1.0) * (n - 1.0) / (n * (n + 1.0));
            assert!((known(Noise::Laplace(lambda)) / want - 1.0).abs() < 1e-12);
        }
    }

    /// Densities integrate to the distribution function, their second moments to the variances, and their ratios stay
    /// within the epsilon that is stated and come close to it.
    #[test]
    fn laws_agree_with_themselves() {
        for law in laws() {
            let entries = if law.of == Of::ThreeConditioned { 3 } else { 2 };
            let total = &Linear::total(entries).unwrap().components()[0];
            let (step, mut sum, mut squares) = (1e-3, 0.0, 0.0);
            let mut x = -60.0;
            while x < 60.0 {
                let middle = x + 0.5 * step;
                sum += step * law.density(middle);
                squares += step * middle * middle * law.density(middle);
                x += step;
                assert!((law.cdf(x) - sum).abs() < 1e-6, "{law:?} at {x}: {} {sum}", law.cdf(x));
            }
            let operation = match law.of {
                Of::TwoConditioned | Of::ThreeConditioned => Operation::Conditioned,
                Of::TwoImaged(beta) => Operation::L1 { beta },
            };
            let want = variance(Noise::Laplace(1.7), operation, total, 1).unwrap();
            assert!((squares - want).abs() < 1e-4, "{law:?}: {squares} {want}");
            let ratio = |x: f64| libm::log(law.density(x) / law.density(x - 1.0));
            let most = (-4000..4000).map(|k| ratio(f64::from(k) * 0.01).abs()).fold(0.0, f64::max);
            assert!(most <= law.epsilon() + 1e-9 && most > 0.96 * law.epsilon(), "{law:?}: {most}");
        }
    }

    /// Integers: against convolutions of listed noise, for few and many entries; and Laplace noise for a large lambda.
    #[test]
    fn entries_of_integers_are_those_of_convolutions() {
        use crate::law::{DoubleGeometric, Law};
        for (lambda, entries) in [(0.4, 2), (1.0, 3), (2.0, 5), (1.5, 40)] {
            let noise = DoubleGeometric::new(lambda).unwrap();
            let reach = 400i64;
            let weight = |z: i64| libm::exp(noise.log_weight(z));
            let law: Vec<f64> = (-reach..=reach).map(weight).collect();
            let scale: f64 = law.iter().sum();
            let law: Vec<f64> = law.iter().map(|p| p / scale).collect();
            let mut sum = vec![0.0; law.len()];
            sum[reach as usize] = 1.0;
            for _ in 1..entries {
                let at = |s: i64| -> f64 {
                    (-60i64..=60)
                        .map(|z| {
                            law[(z + reach) as usize] * sum.get((s - z + reach) as usize).unwrap_or(&0.0)
                        })
                        .sum()
                };
                sum = (-reach..=reach).map(at).collect();
            }
            let joint: Vec<f64> = law.iter().zip(&sum).map(|(p, q)| p * q).collect();
            let total: f64 = joint.iter().sum();
            let want = (-reach..=reach).zip(&joint).map(|(z, p)| (z * z) as f64 * p / total).sum::<f64>();
            let got = total_of_integers(lambda, entries);
            assert!((got - want).abs() < 1e-9, "{lambda} {entries}: {got} {want}");
        }
        for entries in [2, 3, 254] {
            let component = Linear::total(entries).unwrap().components().remove(0);
            let of = |noise| variance(noise, Operation::Conditioned, &component, 1).unwrap() / 1e4;
            let (integers, reals) = (of(Noise::DoubleGeometric(100.0)), of(Noise::Laplace(100.0)));
            assert!((integers / reals - 1.0).abs() < 1e-4, "{entries}: {integers} {reals}");
        }
        // Where nearly nothing is drawn, and far more than is listed.
        assert_eq!(total_of_integers(1e-3, 5), 0.0);
        assert!((total_of_integers(1e5, 2) / 0.5e10 - 1.0).abs() < 1e-9);
        let law = DoubleGeometric::new(1.3).unwrap();
        assert!((Noise::DoubleGeometric(1.3).variance() - law.variance()).abs() < 1e-12);
    }

    /// Published: 2/epsilon², 4/epsilon² and between 4/epsilon² and 8/epsilon² for two bins (Table 2); 5/6 lambda² for three.
    #[test]
    fn published_variances() {
        let component = |n| Linear::total(n).unwrap().components().remove(0);
        let laplace = Noise::Laplace(2.0 / 0.7);
        let unit = 1.0 / (0.7 * 0.7);
        let of = |operation| variance(laplace, operation, &component(2), 1).unwrap() / unit;
        assert!((of(Operation::Conditioned) - 2.0).abs() < 1e-12);
        assert!((of(Operation::L2) - 4.0).abs() < 1e-12);
        assert!((of(Operation::L1 { beta: 0.5 }) - 4.0).abs() < 1e-12);
        assert!((of(Operation::L1 { beta: 1.0 }) - 8.0).abs() < 1e-12);
        let three = variance(Noise::Laplace(1.0), Operation::Conditioned, &component(3), 1).unwrap();
        assert!((three - 5.0 / 6.0).abs() < 1e-15);
        for n in 2..1000 {
            let ratio = variance(Noise::Laplace(1.0), Operation::Conditioned, &component(n), 1).unwrap()
                / variance(Noise::Laplace(1.0), Operation::L2, &component(n), 1).unwrap();
            let n = n as f64;
            assert!(ratio < 1.0 && (ratio - (2.0 * n - 1.0) / (2.0 * (n + 1.0))).abs() < 1e-12);
        }
    }
}
