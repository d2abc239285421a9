//! Variances and laws that are known in closed form: what experiments must reproduce.

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
    /// Nothing.
    Free,
    /// Conditioning on the equations.
    Conditioned,
    /// Least squares.
    L2,
    /// The L1 image of [`crate::imaging::LatticeL1`].
    L1 {
        /// Its beta.
        beta: f64,
    },
}

impl Noise {
    /// `Var(z)`.
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
/// | conditioned, double geometric, one total | `Σ z² p(z)` of [`EntryOfIntegers`] |
/// | L1 image, one total of two entries | `v (beta² + (1 - beta)²)` |
///
/// Conditioning Laplace noise on one total gives `(2n - 1)/(2(n + 1)) < 1` times the variance of least squares for
/// every n: the conjecture of "Two views", section 4. `None` for everything else.
pub fn variance(noise: Noise, operation: Operation, component: &Component, rank: usize) -> Option<f64> {
    let n = component.entries.len() as f64;
    let least_squares = noise.variance() * (n - rank as f64) / n;
    match (operation, noise) {
        (Operation::Free, _) => Some(noise.variance()),
        (Operation::L2, _) | (Operation::Conditioned, Noise::Gaussian(_)) => Some(least_squares),
        (Operation::Conditioned, _) if component.rows.is_empty() => Some(noise.variance()),
        (Operation::Conditioned, Noise::Laplace(lambda)) if component.is_total() => {
            Some(lambda * lambda * (2.0 * n - 1.0) * (n - 1.0) / (n * (n + 1.0)))
        }
        (Operation::Conditioned, Noise::DoubleGeometric(lambda)) if component.is_total() => {
            EntryOfIntegers::new(lambda, component.entries.len()).map(|law| law.variance())
        }
        (Operation::L1 { beta }, _) if component.is_total() && component.entries.len() == 2 => {
            Some(noise.variance() * (beta * beta + (1.0 - beta) * (1.0 - beta)))
        }
        _ => None,
    }
}

/// The law of one entry of n under double geometric noise conditioned on their total.
///
/// A double geometric draw is a difference of two geometric ones, so that the sum of m of them is a difference of two negative binomial
/// ones, with `P(s) ∝ Σ_k C(m - 1 + k, k) C(m - 1 + k + |s|, k + |s|) a^(2k + |s|)`, `a = e^(-1/lambda)`. One entry is z where the other n - 1 sum to
/// -z: `p(z) ∝ a^|z| P(-z)`.
#[derive(Debug, Clone, PartialEq)]
pub struct EntryOfIntegers {
    /// `p(z)` for z = 0, 1, ...; it is symmetric.
    masses: Vec<f64>,
}

impl EntryOfIntegers {
    /// `None` for a single entry, or where lambda is not in (0, 1e4]: the law is listed.
    pub fn new(lambda: f64, entries: usize) -> Option<Self> {
        if entries < 2 || !(lambda > 0.0 && lambda <= 1e4) {
            return None;
        }
        let others = (entries - 1) as f64;
        let mut logs = Vec::new();
        loop {
            let z = logs.len() as f64;
            logs.push(-z / lambda + log_sum_weight(others, z, lambda));
            // Both factors fall with z; what is beyond weighs less than what is last.
            if logs[logs.len() - 1] < logs[0] - 45.0 {
                break;
            }
        }
        let weights: Vec<f64> = logs.iter().map(|log| libm::exp(log - logs[0])).collect();
        let total = weights[0] + 2.0 * weights[1..].iter().sum::<f64>();
        Some(Self { masses: weights.iter().map(|weight| weight / total).collect() })
    }

    /// `P(z)`.
    pub fn mass(&self, z: i64) -> f64 {
        usize::try_from(z.unsigned_abs()).ok().and_then(|z| self.masses.get(z)).copied().unwrap_or(0.0)
    }

    /// `E z²`.
    pub fn variance(&self) -> f64 {
        2.0 * self.masses.iter().enumerate().map(|(z, p)| (z * z) as f64 * p).sum::<f64>()
    }

    /// `E |z|`.
    pub fn mean_absolute(&self) -> f64 {
        2.0 * self.masses.iter().enumerate().map(|(z, p)| z as f64 * p).sum::<f64>()
    }
}

/// `ln Σ_k C(m - 1 + k, k) C(m - 1 + k + s, k + s) a^(2k + s)`, term by term, each from the one before.
fn log_sum_weight(m: f64, s: f64, lambda: f64) -> f64 {
    let square = libm::exp(-2.0 / lambda);
    let first = libm::lgamma(m + s) - libm::lgamma(m) - libm::lgamma(s + 1.0) - s / lambda;
    let (mut term, mut sum, mut scale) = (1.0, 1.0, 0.0);
    let mut k = 0.0;
    loop {
        let ratio = (m + k) / (k + 1.0) * ((m + k + s) / (k + s + 1.0)) * square;
        term *= ratio;
        sum += term;
        k += 1.0;
        if sum > 1e200 {
            (term, sum, scale) = (term * 1e-200, sum * 1e-200, scale + 200.0 * std::f64::consts::LN_10);
        }
        // From here on the terms fall at least as fast.
        if ratio < 1.0 && term < 1e-18 * sum * (1.0 - ratio) {
            return first + scale + libm::log(sum);
        }
    }
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

    /// `P(z <= x)`.
    pub fn cdf(&self, x: f64) -> f64 {
        if x < 0.0 { self.right(-x).0 } else { 1.0 - self.right(x).0 }
    }

    /// The density.
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
            let one = EntryOfIntegers::new(lambda, entries).unwrap();
            for z in -30..=30 {
                let want = joint[(z + reach) as usize] / total;
                assert!((one.mass(z) - want).abs() < 1e-12, "{lambda} {entries} {z}: {} {want}", one.mass(z));
            }
            let mean = |f: &dyn Fn(f64) -> f64| -> f64 {
                (-reach..=reach).zip(&joint).map(|(z, p)| f(z as f64) * p / total).sum()
            };
            assert!((one.variance() - mean(&|z| z * z)).abs() < 1e-9);
            assert!((one.mean_absolute() - mean(&f64::abs)).abs() < 1e-9);
        }
        for entries in [2, 3, 254] {
            let component = Linear::total(entries).unwrap().components().remove(0);
            let of = |noise| variance(noise, Operation::Conditioned, &component, 1).unwrap() / 1e4;
            let (integers, reals) = (of(Noise::DoubleGeometric(100.0)), of(Noise::Laplace(100.0)));
            assert!((integers / reals - 1.0).abs() < 1e-4, "{entries}: {integers} {reals}");
        }
        assert_eq!((EntryOfIntegers::new(1.0, 1), EntryOfIntegers::new(f64::NAN, 3)), (None, None));
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
