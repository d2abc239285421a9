//! Sums of independent noise: how wide they are, from their exact laws.

use std::f64::consts::PI;

/// Noise of one law in a sum: `weight (z_1 + ... + z_count)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summand {
    /// What every value is multiplied by.
    pub weight: u64,
    /// How many independent values there are.
    pub count: u64,
    /// The law of each value.
    pub law: IntegerNoise,
}

/// A law on the integers, symmetric around 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum IntegerNoise {
    /// Double geometric with its lambda.
    DoubleGeometric(f64),
    /// Discrete Gaussian with its sigma.
    DiscreteGaussian(f64),
}

/// Points of a period up to which a sum is convolved.
const MOST_POINTS: f64 = (1u64 << 22) as f64;
/// Mass of a sum beyond half a period.
const BEYOND: f64 = 1e-12;
/// What a probability of a sum may be wrong by, mass beyond a period and rounding together: it is taken off what is held.
const SLACK: f64 = 1e-10;

impl IntegerNoise {
    /// The factor `4a/(1 - a)²` of the characteristic function, `a = e^(-1/lambda)`.
    fn spread(lambda: f64) -> f64 {
        let sinh = libm::sinh(0.5 / lambda);
        1.0 / (sinh * sinh)
    }

    /// `ln E[cos(t z)]`, for t from 0 to pi.
    ///
    /// Double geometric: `-ln(1 + 4a/(1 - a)² sin²(t/2))`. Discrete Gaussian: summed for small sigma, else by Poisson's formula
    /// `Σ_j exp(-sigma² (t + 2 pi j)²/2)` over its value at 0.
    fn log_characteristic(self, t: f64) -> f64 {
        match self {
            Self::DoubleGeometric(lambda) => {
                let sine = libm::sin(0.5 * t);
                -libm::log1p(Self::spread(lambda) * sine * sine)
            }
            Self::DiscreteGaussian(sigma) if sigma < 1.0 => {
                let (mut mass, mut less) = (1.0, 0.0);
                for k in 1..=10 {
                    let k = f64::from(k);
                    let weight = 2.0 * libm::exp(-0.5 * (k / sigma) * (k / sigma));
                    let sine = libm::sin(0.5 * k * t);
                    mass += weight;
                    less += 2.0 * weight * sine * sine;
                }
                libm::log1p(-less / mass)
            }
            Self::DiscreteGaussian(sigma) => {
                // Of the terms at -2, -1, 1 and 2 over that at 0; those beyond are below 1e-19.
                let others = |t: f64| -> f64 {
                    let term = |j: f64| libm::exp(-2.0 * PI * j * sigma * sigma * (PI * j + t));
                    [-2.0, -1.0, 1.0, 2.0].map(term).iter().sum()
                };
                -0.5 * sigma * sigma * t * t + libm::log1p(others(t)) - libm::log1p(others(0.0))
            }
        }
    }

    /// A bound on `ln E[e^(theta z)]`; infinite where it is not known to be finite.
    ///
    /// Double geometric: `-ln(1 - 4a/(1 - a)² sinh²(theta/2))`, as it is. Discrete Gaussian: `sigma² theta²/2`
    /// (Canonne, Kamath, Steinke 2020).
    fn log_moments(self, theta: f64) -> f64 {
        match self {
            Self::DoubleGeometric(lambda) => {
                let sinh = libm::sinh(0.5 * theta);
                let taken = Self::spread(lambda) * sinh * sinh;
                if taken < 1.0 { -libm::log1p(-taken) } else { f64::INFINITY }
            }
            Self::DiscreteGaussian(sigma) => 0.5 * sigma * sigma * theta * theta,
        }
    }

    /// The theta from which on [`IntegerNoise::log_moments`] is infinite.
    fn end_of_moments(self) -> f64 {
        match self {
            Self::DoubleGeometric(lambda) => 1.0 / lambda,
            Self::DiscreteGaussian(_) => f64::INFINITY,
        }
    }

    /// An upper bound on the variance of one value.
    fn variance(self) -> f64 {
        match self {
            Self::DoubleGeometric(lambda) => 0.5 * Self::spread(lambda),
            Self::DiscreteGaussian(sigma) => sigma * sigma,
        }
    }
}

/// A c with `P(|S| > c) <= BEYOND`, S the sum: the least of Chernoff's bounds `2 E[e^(theta S)] e^(-theta c)` over some theta.
fn reach(sum: &[Summand]) -> f64 {
    let parts = || {
        let some = sum.iter().filter(|part| part.weight > 0 && part.count > 0);
        some.map(|&Summand { weight, count, law }| (weight as f64, count as f64, law))
    };
    let deviation = libm::sqrt(parts().map(|(w, n, law)| n * w * w * law.variance()).sum::<f64>());
    if deviation == 0.0 {
        return 0.0;
    }
    // Above all that are best for normal sums, and where the moments of all laws end.
    let ends = parts().map(|(weight, _, law)| law.end_of_moments() / weight);
    let first = ends.fold(32.0 / deviation, f64::min);
    let thetas = (1..200).map(|k| first * libm::exp2(-f64::from(k) / 8.0));
    let bound = |theta: f64| {
        let moments: f64 = parts().map(|(w, n, law)| n * law.log_moments(w * theta)).sum();
        (moments + libm::log(2.0 / BEYOND)) / theta
    };
    thetas.map(bound).fold(f64::INFINITY, f64::min)
}

/// The least c with `P(|S| <= c) >= p` for a sum S of independent integer noise, known to 1e-10 in probability and
/// rounded outwards by that much. `None`: so wide a sum is not convolved (a period of more than 2^22 points).
///
/// Laws are convolved as products of their characteristic functions on a circle of N points: `P(|S| <= c) = (1/N) Σ_j
/// φ(2 pi j/N) D_c(2 pi j/N)` with Dirichlet's kernel D, but for the mass that the circle wraps around, which
/// Chernoff's bound puts below 1e-12.
///
/// - `p`: in (0, 1 - 1e-9).
pub fn integer_quantile(sum: &[Summand], p: f64) -> Option<i64> {
    let reach = libm::ceil(reach(sum));
    let points = 2.0 * reach + 3.0;
    if points.is_nan() || points > MOST_POINTS {
        return None;
    }
    let n = points as u64;
    // By j: φ is that of the sum.
    let characteristic = |j: u64| -> f64 {
        let log = |&Summand { weight, count, law }: &Summand| {
            let place = weight % n * j % n;
            count as f64 * law.log_characteristic(2.0 * PI * place.min(n - place) as f64 / points)
        };
        libm::exp(sum.iter().map(log).sum())
    };
    let values: Vec<f64> = (1..=n / 2).map(characteristic).collect();
    let held = |c: u64| -> f64 {
        let kernel = |j: u64| {
            let above = libm::sin(PI * ((2 * c + 1) * j % (2 * n)) as f64 / points);
            above / libm::sin(PI * j as f64 / points)
        };
        let sum: f64 = values.iter().zip(1..).map(|(value, j)| value * kernel(j)).sum();
        ((2 * c + 1) as f64 + 2.0 * sum) / points
    };
    let (mut low, mut high) = (0, reach as u64);
    while low < high {
        let middle = (low + high) / 2;
        if held(middle) - SLACK >= p { high = middle } else { low = middle + 1 }
    }
    Some(low as i64)
}

/// The least c with `P(|S| <= c) >= p` for the sum S of n independent Laplace values with lambda 1, known to 1e-9 in
/// probability and rounded outwards by that much.
///
/// |S| is Gamma(K, 1) with `P(K = k) ∝ C(2n - k - 1, n - 1) 2^k`, k = 1 to n.
///
/// - `p`: in (0, 1 - 1e-8).
pub fn laplace_quantile(n: u64, p: f64) -> f64 {
    if n == 0 {
        return 0.0;
    }
    let n = n as f64;
    let (mut shares, mut share, mut k, mut mass) = (Vec::new(), 1.0, 1.0, 0.0);
    // Shares fall; those that are left out are too few for a tail of 1e-16.
    while share > 1e-24 * mass && k <= n {
        shares.push(share);
        mass += share;
        share *= 2.0 * (n - k) / (2.0 * n - k - 1.0);
        k += 1.0;
    }
    // P(Gamma(k, 1) > c) is the probability that a Poisson variable of mean c is below k.
    let outside = |c: f64| -> f64 {
        let (mut below, mut outside) = (0.0, 0.0);
        for (i, share) in shares.iter().enumerate() {
            let i = i as f64;
            below += libm::exp(i * libm::log(c) - c - libm::lgamma(i + 1.0));
            outside += share * below;
        }
        outside / mass
    };
    let allowed = 1.0 - p - 1e-9;
    // Beyond: Chebyshev's inequality with a variance of 2n.
    let (mut low, mut high) = (0.0, libm::sqrt(2.0 * n / allowed) + 1.0);
    for _ in 0..70 {
        let middle = 0.5 * (low + high);
        if outside(middle) <= allowed { high = middle } else { low = middle }
    }
    high
}
