//! The beta distribution, and Student's t that comes from it.

use crate::rng::normal_quantile;

/// `I_x(a, b)`, the distribution function of the beta law, for `0 < x < 1` and `a, b > 0`: the incomplete beta function from its
/// continued fraction (Lentz's method).
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    incomplete_beta_over(x, a, b, log_inverse_beta(a, b))
}

/// `-ln B(a, b)`.
fn log_inverse_beta(a: f64, b: f64) -> f64 {
    libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b)
}

/// [`incomplete_beta`] with `-ln B(a, b)` given.
fn incomplete_beta_over(x: f64, a: f64, b: f64, log_inverse_beta: f64) -> f64 {
    let front = libm::exp(log_inverse_beta + a * libm::log(x) + b * libm::log1p(-x));
    if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(x, a, b) / a
    } else {
        1.0 - front * fraction(1.0 - x, b, a) / b
    }
}

/// The quantile of the beta law: the x with `I_x(a, b) = p`, for `0 < p < 1` and `a, b > 0`, to about 1e-15.
pub fn beta_quantile(p: f64, a: f64, b: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    let log_inverse_beta = log_inverse_beta(a, b);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if incomplete_beta_over(middle, a, b, log_inverse_beta) > p { high = middle } else { low = middle }
    }
    0.5 * (low + high)
}

/// Confidence limits of a probability of which `hits` of `draws` independent draws came about: the lower one is above it with a probability
/// of `level` at most, and so is the upper one below it (Clopper and Pearson 1934).
pub fn clopper_pearson(hits: u64, draws: u64, level: f64) -> (f64, f64) {
    let (k, n) = (hits as f64, draws as f64);
    let low = if hits == 0 { 0.0 } else { beta_quantile(level, k, n - k + 1.0) };
    let high = if hits == draws { 1.0 } else { 1.0 - beta_quantile(level, n - k, k + 1.0) };
    (low, high)
}

/// `P(T <= t)` of Student's t with `freedom > 0` degrees of freedom, `t <= 0`: `I_x(freedom/2, 1/2)/2` with
/// `x = freedom/(freedom + t²)`.
fn lower_tail(t: f64, freedom: f64) -> f64 {
    0.5 * incomplete_beta(freedom / (freedom + t * t), 0.5 * freedom, 0.5)
}

/// The continued fraction of the incomplete beta function.
fn fraction(x: f64, a: f64, b: f64) -> f64 {
    let away = |y: f64| if y.abs() < 1e-300 { 1e-300 } else { y };
    let mut c = 1.0;
    let mut d = 1.0 / away(1.0 - (a + b) * x / (a + 1.0));
    let mut value = d;
    for m in 1..10_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        for term in [even, odd] {
            d = 1.0 / away(1.0 + term * d);
            c = away(1.0 + term / c);
            value *= c * d;
        }
        if (c * d - 1.0).abs() < 1e-15 {
            break;
        }
    }
    value
}

/// The quantile of Student's t: the t with `P(T <= t) = p`, for `0 < p < 1/2` and `freedom > 0`, to about 1e-10 of itself.
pub fn student_quantile(p: f64, freedom: f64) -> f64 {
    // Heavier tails than the normal: further out.
    let (mut near, mut far) = (normal_quantile(p), 2.0 * normal_quantile(p) - 1.0);
    while lower_tail(far, freedom) > p && far > -1e150 {
        (near, far) = (far, 4.0 * far);
    }
    for _ in 0..200 {
        let middle = 0.5 * (near + far);
        if lower_tail(middle, freedom) > p {
            near = middle;
        } else {
            far = middle;
        }
        if (near - far) <= 1e-12 * near.abs() {
            break;
        }
    }
    far
}

#[cfg(test)]
mod tests {
    use super::*;
    use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, StudentsT};

    /// Closed forms for 1 and 2 degrees of freedom, and another implementation for others.
    #[test]
    fn quantiles_agree_with_closed_forms() {
        let close = |a: f64, b: f64, within: f64| assert!((a / b - 1.0).abs() < within, "{a} {b}");
        for p in [0.4, 0.025, 1e-3, 1e-6] {
            close(student_quantile(p, 1.0), -1.0 / libm::tan(std::f64::consts::PI * p), 1e-9);
            close(student_quantile(p, 2.0), (2.0 * p - 1.0) / (2.0 * p * (1.0 - p)).sqrt(), 1e-9);
            for freedom in [1.7, 3.0, 12.5, 200.0, 1e5] {
                let t = student_quantile(p, freedom);
                close(StudentsT::new(0.0, 1.0, freedom).unwrap().cdf(t), p, 1e-6);
            }
            close(student_quantile(p, 1e9), normal_quantile(p), 1e-6);
        }
    }

    #[test]
    fn limits_are_those_of_the_binomial_law() {
        for (hits, draws) in [(0, 50), (1, 50), (20, 50), (49, 50), (50, 50), (3, 20_000), (9000, 20_000)] {
            for level in [0.05, 1e-3, 5e-7] {
                let (low, high) = clopper_pearson(hits, draws, level);
                let at = |p: f64| Binomial::new(p, draws).unwrap();
                if hits > 0 {
                    let above = at(low).sf(hits - 1);
                    assert!((above / level - 1.0).abs() < 1e-6, "{hits} of {draws} at {level}: {above}");
                } else {
                    assert_eq!(low, 0.0);
                }
                if hits < draws {
                    let below = at(high).cdf(hits);
                    assert!((below / level - 1.0).abs() < 1e-6, "{hits} of {draws} at {level}: {below}");
                } else {
                    assert_eq!(high, 1.0);
                }
            }
        }
    }
}
