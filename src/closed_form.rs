//! Variances and laws that are known in closed form: what experiments must reproduce.

use crate::invariant::Component;

/// A law of independent noise, by what the formulas need.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Noise {
    /// Laplace with its lambda.
    Laplace(f64),
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
        (Operation::L1 { beta }, _) if component.is_total() && component.entries.len() == 2 => {
            Some(noise.variance() * (beta * beta + (1.0 - beta) * (1.0 - beta)))
        }
        _ => None,
    }
}

/// The law of the first entry of a total of two under Laplace noise: Gong and Meng, "Congenial differential privacy",
/// section 4 and Appendix A.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TwoBins {
    lambda: f64,
    /// `None`: conditioned.
    beta: Option<f64>,
}

impl TwoBins {
    /// - `lambda`: of the Laplace noise, `2/epsilon` in the paper.
    ///
    /// `None` for an operation without such a law (free noise).
    pub fn new(lambda: f64, operation: Operation) -> Option<Self> {
        match operation {
            Operation::Free => None,
            Operation::Conditioned => Some(Self { lambda, beta: None }),
            Operation::L2 => Some(Self { lambda, beta: Some(0.5) }),
            Operation::L1 { beta } => Some(Self { lambda, beta: Some(beta) }),
        }
    }

    /// `P(z > x)` and the density at x, for `x >= 0`: the law is symmetric.
    ///
    /// Conditioned: Lap(lambda/2) (4.6). With beta: `w Lap(lambda beta) + (1 - w) Lap(lambda (1 - beta))`,
    /// `w = beta²/(2 beta - 1)` (A.1); for beta = ½ its limit (A.2).
    fn right(&self, x: f64) -> (f64, f64) {
        let laplace = |scale: f64| match scale {
            0.0 => (0.0, 0.0),
            _ => (0.5 * libm::exp(-x / scale), 0.5 / scale * libm::exp(-x / scale)),
        };
        let Some(beta) = self.beta else { return laplace(0.5 * self.lambda) };
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
        match self.beta {
            None => 2.0 / self.lambda,
            Some(beta) => 1.0 / (self.lambda * beta.max(1.0 - beta)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invariant::Linear;

    fn laws() -> Vec<TwoBins> {
        let images = [0.0, 0.1, 0.5, 0.500001, 0.8, 1.0].map(|beta| Operation::L1 { beta });
        [Operation::Conditioned, Operation::L2]
            .into_iter()
            .chain(images)
            .filter_map(|operation| TwoBins::new(1.7, operation))
            .collect()
    }

    /// Densities integrate to the distribution function, their second moments to the variances, and their ratios stay
    /// within the epsilon that is stated and come close to it.
    #[test]
    fn laws_agree_with_themselves() {
        let total = &Linear::total(2).unwrap().components()[0];
        for law in laws() {
            let (step, mut sum, mut squares) = (1e-3, 0.0, 0.0);
            let mut x = -60.0;
            while x < 60.0 {
                let middle = x + 0.5 * step;
                sum += step * law.density(middle);
                squares += step * middle * middle * law.density(middle);
                x += step;
                assert!((law.cdf(x) - sum).abs() < 1e-6, "{law:?} at {x}: {} {sum}", law.cdf(x));
            }
            let operation = match law.beta {
                None => Operation::Conditioned,
                Some(beta) => Operation::L1 { beta },
            };
            let want = variance(Noise::Laplace(1.7), operation, total, 1).unwrap();
            assert!((squares - want).abs() < 1e-4, "{law:?}: {squares} {want}");
            let ratio = |x: f64| libm::log(law.density(x) / law.density(x - 1.0));
            let most = (-4000..4000).map(|k| ratio(f64::from(k) * 0.01).abs()).fold(0.0, f64::max);
            assert!(most <= law.epsilon() + 1e-9 && most > 0.96 * law.epsilon(), "{law:?}: {most}");
        }
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
