//! What noise with a pure loss pays in zero-concentrated privacy.
//!
//! A mechanism is rho-zCDP (Bun and Steinke 2016) if `D_α(P ‖ Q) <= rho α` for its laws P and Q on two tables and all
//! `α > 1`, D the divergence of Rényi; rho here is the smallest such number for a change, `sup_α D_α/α`.
//!
//! **Claim 1.** Let `M(t) = E_P e^(tL)` be the moments of the loss `L = ln P/Q`, so that `D_α = ln M(α - 1)/(α - 1)`,
//! with `M(t) = M(-1 - t)`. If M, as a function of `w = (t + 1/2)²`, is entire of order below 1 with zeros at negative
//! w alone, then `rho = lim_(α → 1) D_α = E_P L`.
//!
//! **Proof.** By Hadamard's product `ln M = c + Σ_k ln(1 + w/a_k)`, all `a_k > 0`: concave in w. At `w = 1/4` it is 0,
//! and with `t (t + 1) = w - 1/4` `D_α/α = ln M/(w - 1/4)` is the slope of a chord of a concave function from there,
//! largest where it becomes the tangent. ∎
//!
//! **One count**, free noise with the rate `a = 1/lambda`, a change by k. The claim holds for both laws, and losses of
//! several counts add up:
//!
//! | noise | `M` up to a factor, `s = t + 1/2` | rho |
//! | --- | --- | --- |
//! | double geometric | `2 cosh(k a s)/(1 - e^(-a)) + Σ_(0 < j < k) cosh((k - 2j) a s)` | `a tanh(a/2)` for k = 1 |
//! | Laplace | `cosh(k a s) + sinh(k a s)/(2s)` | `k a - 1 + e^(-k a)` |
//!
//! The first is a polynomial in `e^(2as)` that changes its sign k times on the unit circle, where the two sums have the
//! same sign at the k-th roots of unity: all its zeros are there, at imaginary s. The zeros of the second solve `tan y
//! = -2y/(ka)` with `s = iy/(ka)`: the eigenvalues of a self-adjoint problem of Sturm and Liouville, all real. For k =
//! 1 the loss of the double geometric is ±a, randomised response: of all pure epsilons the worst, so that [`rho_bound`]
//! holds for any.
//!
//! **A total of n entries that is known**, double geometric noise *conditioned* on it, one unit moved. The loss is ±2a or 0, and
//! `M ∝ cosh(2as) + b`. Since the law of an entry is symmetric, `E_P L = 2a P(z_i = 0)`, and
//!
//! `P(z_i = 0) = f(0) f_(n-1)(0)/f_n(0) = P_(n-2)(coth a)/P_(n-1)(coth a)`,
//!
//! f_n the law of a sum of n and `P_m` Legendre's polynomials: `f_n(0) ∝ Σ_r C(r + n - 1, n - 1)² e^(-2ar)`, which by
//! Euler's transformation is `P_(n-1)(coth a)/(1 - e^(-2a))^n`. It falls with n, since `f_n(0) = ∫ φ^n` are moments,
//! from `tanh a` to `f(0) = tanh(a/2)`; hence `b = sinh a/P(z_i = 0) - cosh a` goes from 0 to 1, all zeros of M lie at
//! imaginary s, and the claim holds. So conditioning keeps a pure loss, and does not keep rho: `2a P(z_i = 0)` is `2a
//! tanh a` at two entries and `2a tanh(a/2)`, that of free noise, at infinitely many.
//!
//! For other conditioned releases [`rho_bound`] of the pure loss is known here. What is done with free noise
//! afterwards, a projection for instance, lowers rho if anything: then rho of the noise is stated, as its epsilon is
//! ([`Rho::OfNoise`]).

/// Noise with a pure loss of which more is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PureNoise {
    /// Integers with the weight `exp(-|z|/lambda)`.
    DoubleGeometric,
    /// Reals with the density `exp(-|z|/lambda)`.
    Laplace,
}

/// What is known of the rho of a release.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rho {
    /// The rho is exactly this.
    Computed(f64),
    /// Free noise pays this; it is moved to an invariant, and what is released pays at most as much. So a pure epsilon
    /// is charged, too.
    OfNoise(f64),
    /// The rho is at most this, and may be far less: it says nothing of which release pays less.
    Bounded(f64),
    /// Nothing is known of the rho.
    Unknown,
}

/// Rounds up what some hundred roundings made.
const UP: f64 = 1.0 + 1e-13;

/// No mechanism with the pure loss `epsilon` has a larger rho: `epsilon tanh(epsilon/2)`, that of randomised response.
///
/// # Examples
///
/// ```
/// use congenial_core::privacy::{PureNoise, rho_bound};
///
/// // One count with double geometric noise pays as much as any mechanism of its epsilon, one with Laplace noise less.
/// let (lambda, epsilon) = (2.0, 0.5f64);
/// assert!((rho_bound(epsilon) - epsilon * (epsilon / 2.0).tanh()).abs() < 1e-12);
/// assert_eq!(PureNoise::DoubleGeometric.rho(lambda), rho_bound(epsilon));
/// assert!(PureNoise::Laplace.rho(lambda) < rho_bound(epsilon));
/// ```
pub fn rho_bound(epsilon: f64) -> f64 {
    epsilon * libm::tanh(0.5 * epsilon) * UP
}

impl PureNoise {
    /// The rho of free noise with the scale lambda, in counts, on a count that changes by 1; for a change by k it is at
    /// most k² times as much.
    pub fn rho(self, lambda: f64) -> f64 {
        match self {
            Self::DoubleGeometric => rho_bound(1.0 / lambda),
            Self::Laplace => laplace(1.0 / lambda),
        }
    }

    /// The rho of noise with the scale lambda, in counts, on `entries` >= 2 entries that is conditioned on their total,
    /// for one unit that moves. It falls with the number of entries.
    ///
    /// `None`: Laplace noise on more than two, where only [`rho_bound`] is known.
    pub fn rho_of_total(self, lambda: f64, entries: u64) -> Option<f64> {
        let a = 1.0 / lambda;
        match (self, entries) {
            (Self::DoubleGeometric, _) => Some(2.0 * a * zero_of_total(a, entries) * UP),
            // Both entries move as one, at twice the rate.
            (Self::Laplace, ..=2) => Some(laplace(2.0 * a)),
            (Self::Laplace, _) => None,
        }
    }
}

/// `x - 1 + e^(-x)`.
fn laplace(x: f64) -> f64 {
    let value = match x < 0.5 {
        false => x + libm::expm1(-x),
        // x²/2 - x³/6 + ..., where the difference would cancel.
        true => (1..12).rev().fold(0.0, |sum, k| 1.0 - x / f64::from(k + 2) * sum) * 0.5 * x * x,
    };
    value * UP
}

/// `P_(n-2)(ξ)/P_(n-1)(ξ)`, `ξ = coth a`, by the recurrence of Legendre's polynomials for their ratio, with what it
/// lacks of 1 and `ξ - 1` beside it: all terms are positive, so that no difference cancels where both are near 1.
fn zero_of_total(a: f64, entries: u64) -> f64 {
    let over = 2.0 / libm::expm1(2.0 * a);
    if over == f64::INFINITY {
        return 0.0;
    }
    let (mut ratio, mut lacks) = (1.0 / (1.0 + over), over / (1.0 + over));
    for m in 2..entries.max(2) {
        let m = m as f64;
        let more = (2.0 * m - 1.0) * over + (m - 1.0) * lacks;
        let next = m / (m + more);
        if next == ratio {
            break;
        }
        (ratio, lacks) = (next, more / (m + more));
    }
    ratio
}

impl Rho {
    /// The rho or its bound; `None` if nothing is known.
    pub fn value(self) -> Option<f64> {
        match self {
            Self::Computed(rho) | Self::OfNoise(rho) | Self::Bounded(rho) => Some(rho),
            Self::Unknown => None,
        }
    }

    /// How the rho is known: `computed`, `noise`, `bounded` or `unknown`.
    pub fn how(self) -> &'static str {
        match self {
            Self::Computed(_) => "computed",
            Self::OfNoise(_) => "noise",
            Self::Bounded(_) => "bounded",
            Self::Unknown => "unknown",
        }
    }

    /// Makes a rho of a figure and the words that [`Rho::how`] gives; without a figure it is unknown.
    pub fn named(value: Option<f64>, how: &str) -> Self {
        match (value, how) {
            (Some(rho), "computed") => Self::Computed(rho),
            (Some(rho), "noise") => Self::OfNoise(rho),
            (Some(rho), "bounded") => Self::Bounded(rho),
            _ => Self::Unknown,
        }
    }

    /// The rho of a release that pays at most this one.
    pub fn at_most(self) -> Self {
        self.value().map_or(Self::Unknown, Self::Bounded)
    }

    /// The rho of a release that moves the noise which pays this one: a computed rho becomes that of the noise.
    pub fn of_noise(self) -> Self {
        match self {
            Self::Computed(rho) => Self::OfNoise(rho),
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::closed_form::{Noise, Operation, variance};
    use crate::invariant::Linear;

    /// `sup_α D_α/α` over a grid of orders from almost 1 to 10^4, of the loss with these values and probabilities.
    fn largest(losses: &[(f64, f64)]) -> f64 {
        let at = |t: f64| {
            let most = losses.iter().map(|(loss, _)| t * loss).fold(f64::MIN, f64::max);
            let sum: f64 = losses.iter().map(|(loss, p)| p * libm::exp(t * loss - most)).sum();
            (most + libm::log(sum)) / (t * (t + 1.0))
        };
        (-16..160).map(|k| at(libm::exp(0.0575 * f64::from(k)))).fold(at(1e-5), f64::max)
    }

    /// The probabilities of double geometric noise from -reach to reach.
    fn law(a: f64, reach: i64) -> Vec<f64> {
        (-reach..=reach).map(|z| libm::tanh(0.5 * a) * libm::exp(-a * z.abs() as f64)).collect()
    }

    fn convolved(p: &[f64], q: &[f64], reach: i64) -> Vec<f64> {
        let at = |p: &[f64], z: i64| usize::try_from(z + reach).ok().and_then(|i| p.get(i).copied());
        let sum =
            |z: i64| (-reach..=reach).map(|y| at(p, y).unwrap_or(0.0) * at(q, z - y).unwrap_or(0.0)).sum();
        (-reach..=reach).map(sum).collect()
    }

    /// The published figures, one count: 0.1225, 0.4621, 1.523, 3.856; and no order has more, counts that change by more included.
    #[test]
    fn one_count() {
        for (epsilon, rho) in [(0.5, 0.1225), (1.0, 0.4621), (2.0, 1.523), (4.0, 3.856)] {
            let found = PureNoise::DoubleGeometric.rho(1.0 / epsilon);
            assert!((found - rho).abs() < 5e-4 * rho, "{epsilon}: {found}");
        }
        for a in [0.05, 0.3, 1.0, 2.5, 6.0] {
            let reach = (60.0 / a) as i64 + 8;
            for k in 1..6i64 {
                let loss = |z: i64| a * ((z - k).abs() - z.abs()) as f64;
                let losses: Vec<_> = (-reach..=reach).zip(law(a, reach)).map(|(z, p)| (loss(z), p)).collect();
                let (found, one) = (largest(&losses), PureNoise::DoubleGeometric.rho(1.0 / a));
                let bound = one * (k * k) as f64;
                assert!(found <= bound && found <= rho_bound(k as f64 * a), "{a} {k}: {found} {bound}");
                // Its mean is never exceeded, and at orders near 1 it is reached.
                let mean: f64 = losses.iter().map(|(loss, p)| loss * p).sum();
                assert!((found / mean - 1.0).abs() < 1e-4, "{a} {k}: {found} {mean}");
                assert!(k > 1 || (one / mean - 1.0).abs() < 1e-12, "{a}: {one} {mean}");
            }
        }
    }

    /// Laplace: its moments in closed form (Mironov 2017), for all orders.
    #[test]
    fn one_real_count() {
        for a in [1e-9, 1e-4, 0.01, 0.3, 0.499_999, 0.500_001, 1.0, 3.0, 20.0] {
            let rho = PureNoise::Laplace.rho(1.0 / a);
            for k in -80..80 {
                let alpha = 1.0 + libm::exp(0.1 * f64::from(k));
                let t = alpha - 1.0;
                let mean = alpha / (2.0 * alpha - 1.0) * libm::expm1(t * a)
                    + t / (2.0 * alpha - 1.0) * libm::expm1(-alpha * a);
                let divergence = if t * a > 600.0 { a } else { libm::log1p(mean) / t };
                // Of a difference near 0 some digits are lost.
                let lost = 1e-15 / (a * t);
                assert!(divergence / alpha <= rho * (1.0 + 1e-9 + lost), "{a} {alpha}: {divergence} {rho}");
            }
            let mean = if a < 1e-3 { 0.5 * a * a * (1.0 - a / 3.0) } else { a - 1.0 + libm::exp(-a) };
            assert!((rho / mean - 1.0).abs() < 1e-7, "{a}: {rho} {mean}");
            assert!(rho < PureNoise::DoubleGeometric.rho(1.0 / a));
        }
    }

    /// A total by convolution: every order, from two entries to many; and the published figures at 0.5.
    #[test]
    fn totals_by_convolution() {
        for (entries, rho) in [(2, 0.4621), (3, 0.3317), (5, 0.2805), (10, 0.2594), (30, 0.2492)] {
            let found = PureNoise::DoubleGeometric.rho_of_total(2.0, entries).unwrap();
            assert!((found - rho).abs() < 6e-5, "{entries}: {found}");
        }
        // Near 1, where rounding would be amplified: beside 1/coth and, for many, tanh(a/2), in 60 digits.
        for (a, entries, want) in
            [(17.0, 1_000_000, 0.999_999_996_575_120_7), (9.0, 1_000, 0.999_969_799_894_293_6)]
        {
            let found = PureNoise::DoubleGeometric.rho_of_total(1.0 / a, entries).unwrap() / (2.0 * a);
            assert!(found >= want && found < want * (1.0 + 1e-12), "{a} {entries}: {found}");
        }
        for a in [0.2, 0.5, 1.5, 4.0] {
            let reach = (45.0 / a) as i64 + 8;
            let one = law(a, reach);
            let mut rest = vec![0.0; one.len()];
            rest[reach as usize] = 1.0;
            let mut before = f64::INFINITY;
            for entries in 2..9 {
                let of_rest = |z: i64| usize::try_from(z + reach).ok().and_then(|i| rest.get(i).copied());
                let mut losses: [(f64, f64); 3] = [(-2.0 * a, 0.0), (0.0, 0.0), (2.0 * a, 0.0)];
                for (x, p) in (-reach..=reach).zip(&one) {
                    for (y, q) in (-reach..=reach).zip(&one) {
                        let steps = (x - 1).abs() - x.abs() + (y + 1).abs() - y.abs();
                        losses[(steps / 2 + 1) as usize].1 += p * q * of_rest(-x - y).unwrap_or(0.0);
                    }
                }
                let total: f64 = losses.iter().map(|(_, p)| p).sum();
                losses.iter_mut().for_each(|(_, p)| *p /= total);
                let mean: f64 = losses.iter().map(|(loss, p)| loss * p).sum();
                let rho = PureNoise::DoubleGeometric.rho_of_total(1.0 / a, entries).unwrap();
                assert!((rho / mean - 1.0).abs() < 1e-9, "{a} {entries}: {rho} {mean}");
                let most = largest(&losses);
                assert!(
                    most <= rho * (1.0 + 1e-9) && most > rho * (1.0 - 1e-4),
                    "{a} {entries}: {most} {rho}"
                );
                // It falls to that of two free counts, and never beyond the bound of its pure loss.
                let free = 2.0 * PureNoise::DoubleGeometric.rho(1.0 / a);
                assert!(
                    rho < before * (1.0 + 1e-12) && rho > free && rho <= rho_bound(2.0 * a) * (1.0 + 1e-12)
                );
                before = rho;
                rest = convolved(&rest, &one, reach);
            }
            let far = PureNoise::DoubleGeometric.rho_of_total(1.0 / a, 1_000_000).unwrap();
            assert!((far / (2.0 * PureNoise::DoubleGeometric.rho(1.0 / a)) - 1.0).abs() < 1e-5);
        }
        assert_eq!(PureNoise::Laplace.rho_of_total(2.0, 3), None);
        let two = PureNoise::Laplace.rho_of_total(2.0, 2).unwrap();
        assert_eq!(two, PureNoise::Laplace.rho(1.0));
    }

    /// The variance of an entry, conditioned on its total over projected to it, at equal pure loss and at equal rho:
    /// which is better depends on the accountant.
    #[test]
    fn the_ratio_depends_on_the_accountant() {
        for (entries, a, at_loss, at_rho) in
            [(3, 0.5, 0.6055, 0.8323), (2, 0.25, 0.4923, 0.9794), (30, 0.5, 0.9495, 0.9669)]
        {
            let total = Linear::total(entries).unwrap();
            let component = &total.components()[0];
            let of = |a: f64, operation| {
                variance(Noise::DoubleGeometric(1.0 / a), operation, component, 1).unwrap()
            };
            let conditioned = of(a, Operation::Conditioned);
            let rho = PureNoise::DoubleGeometric.rho_of_total(1.0 / a, entries as u64).unwrap();
            let (mut low, mut high) = (a, 4.0 * a);
            for _ in 0..100 {
                let middle = 0.5 * (low + high);
                if 2.0 * PureNoise::DoubleGeometric.rho(1.0 / middle) < rho {
                    low = middle
                } else {
                    high = middle
                }
            }
            let ratios = [a, low].map(|projected| conditioned / of(projected, Operation::L2));
            let off = |ratio: f64, want: f64| (ratio - want).abs() > 6e-5;
            assert!(!off(ratios[0], at_loss) && !off(ratios[1], at_rho), "{entries} {a}: {ratios:?}");
        }
    }
}
