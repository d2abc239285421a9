//! What epsilon a rho stands for at a delta, and what rho an epsilon buys.
//!
//! Gaussian noise with the scales sigma_v pays `rho = Σ u_v² / (2 sigma_v²)` for a change u of the counts that are
//! measured. rho adds over releases. Which epsilon follows depends on what is known beside rho:
//!
//! - of integer noise, that it is rho-zCDP: the best that follows from the Rényi divergences `D_α <= α rho` (Canonne,
//!   Kamath, Steinke 2020, "The discrete Gaussian for differential privacy", Prop. 12);
//! - of real noise the whole curve: that of N(0, 1) beside N(mu, 1) with `mu = sqrt(2 rho)` (Balle, Wang 2018,
//!   "Improving the Gaussian mechanism for differential privacy", Thm. 8), also where it is conditioned on equations
//!   and convex inequalities (see [`super::rho_ratio`]'s file).
//!
//! Neither is above `rho + 2 sqrt(rho ln(1/delta))` (Bun, Steinke 2016, Prop. 1.3).

use super::normal_curve;

/// How an epsilon is read off a rho.
///
/// # Examples
///
/// ```
/// use congenial_core::privacy::Accountant;
///
/// let (rho, delta) = (0.5, 1e-6f64);
/// let epsilon = Accountant::Zcdp.epsilon(rho, delta);
/// assert!(epsilon < rho + 2.0 * (rho * (1.0 / delta).ln()).sqrt()); // Bun, Steinke 2016
/// assert!(Accountant::Normal.epsilon(rho, delta) < epsilon); // more is known of normal noise
/// assert!((Accountant::Zcdp.rho(epsilon, delta) / rho - 1.0).abs() < 1e-10);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accountant {
    /// By zero-concentrated privacy: what follows from rho-zCDP.
    Zcdp,
    /// By the curve of normal noise: what follows from `mu = sqrt(2 rho)`.
    Normal,
}

impl Accountant {
    /// Both accountants.
    pub const ALL: [Self; 2] = [Self::Zcdp, Self::Normal];

    /// The name of the accountant in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Zcdp => "zcdp",
            Self::Normal => "normal",
        }
    }

    /// The accountant of a name; `None` for another name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|accountant| accountant.name() == name)
    }

    /// An epsilon with which a release that pays rho is (epsilon, delta)-private; it rises with rho.
    ///
    /// - Zcdp: `min over α > 1 of α rho + (ln(1/delta) + (α-1) ln(1-1/α) - ln α)/(α-1)`.
    /// - Normal: where `Φ(mu/2 - epsilon/mu) - e^epsilon Φ(-mu/2 - epsilon/mu)` has come down to delta.
    ///
    /// At least rho: with so large a delta that less would do, less is not stated. `rho` >= 0 and finite, `delta` in (0, 1).
    pub fn epsilon(self, rho: f64, delta: f64) -> f64 {
        if rho == 0.0 {
            return 0.0;
        }
        let old = rho + 2.0 * libm::sqrt(rho * -libm::log(delta));
        let least = match self {
            Self::Zcdp => epsilon_at(order_of_rho(rho, delta), rho, delta),
            Self::Normal => normal_curve::epsilon(libm::sqrt(2.0 * rho), delta, old),
        };
        least.clamp(rho, old)
    }

    /// The largest rho of which [`Accountant::epsilon`] makes no more than this epsilon. `epsilon` > 0 and finite, `delta` in (0, 1).
    pub fn rho(self, epsilon: f64, delta: f64) -> f64 {
        let log = -libm::log(delta);
        // (sqrt(epsilon + log) - sqrt(log))², without cancellation.
        let root = epsilon / (libm::sqrt(epsilon + log) + libm::sqrt(log));
        let old = (root * root).min(epsilon);
        let most = match self {
            Self::Zcdp => rho_at(order_of_epsilon(epsilon, delta), epsilon, delta),
            Self::Normal => {
                let mu = normal_curve::mu(epsilon, delta, libm::sqrt(2.0 * old));
                0.5 * mu * mu
            }
        };
        most.clamp(old, epsilon)
    }
}

/// `(ln(1/delta) + b ln(1-1/α) - ln α)/b`, `α = 1 + b`: what the order adds to `α rho`. Beside it, what rounding may add or take.
fn beside(b: f64, delta: f64) -> (f64, f64) {
    let terms = [-libm::log(delta) / b, -libm::log1p(b) / b, -libm::log1p(1.0 / b)];
    (terms.iter().sum(), 8.0 * f64::EPSILON * terms.iter().map(|term| term.abs()).sum::<f64>())
}

/// The epsilon that follows from `D_α <= α rho`, `α = 1 + b`: whatever b; rounded upwards.
fn epsilon_at(b: f64, rho: f64, delta: f64) -> f64 {
    let (beside, rounding) = beside(b, delta);
    (1.0 + b) * rho * (1.0 + 4.0 * f64::EPSILON) + beside + rounding
}

/// The rho with that epsilon: with no b more than with the best; rounded downwards.
fn rho_at(b: f64, epsilon: f64, delta: f64) -> f64 {
    let (beside, rounding) = beside(b, delta);
    (epsilon * (1.0 - 4.0 * f64::EPSILON) - beside - rounding) / (1.0 + b)
}

/// The b with the least epsilon. There the derivative is 0: `rho b² + ln(1 + b) = ln(1/delta)`, whose left side rises.
fn order_of_rho(rho: f64, delta: f64) -> f64 {
    let log = -libm::log(delta);
    let most = libm::sqrt(log / rho);
    let at = |b: f64| rho * b * b + libm::log1p(b) - log;
    root(at, libm::log(most) - 100.0, libm::log(most))
}

/// The b with the largest rho: of those by [`order_of_rho`], the one whose epsilon `(1 + 2b) rho - ln(1 + 1/b)` is this
/// one. It falls with b.
fn order_of_epsilon(epsilon: f64, delta: f64) -> f64 {
    let log = -libm::log(delta);
    let at = |b: f64| epsilon + libm::log1p(1.0 / b) - (1.0 + 2.0 * b) * (log - libm::log1p(b)) / (b * b);
    // At 1/delta - 1 nothing is left of the fraction.
    root(at, -300.0, (log + libm::log1p(-delta)).min(700.0))
}

/// `e^x` of the x between two at which a function rises through 0.
fn root(at: impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        if at(libm::exp(middle)) > 0.0 { high = middle } else { low = middle }
    }
    libm::exp(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// rho, delta, epsilon by zCDP and by the normal curve: computed with 60 digits from the formulas, by golden section and bisection.
    const KNOWN: [(f64, f64, f64, f64); 16] = [
        (1e-6, 1e-6, 0.004496493980648612, 0.003991535401080414),
        (1e-6, 1e-10, 0.007427583685432304, 0.006997904228244482),
        (1e-6, 1e-40, 0.01811058515272587, 0.01783752025235857),
        (0.001, 1e-3, 0.0903620511381331, 0.0729684104908374),
        (0.001, 1e-10, 0.2627904751404585, 0.2497749390926144),
        (0.03, 1e-3, 0.6718555247047384, 0.5778078023448085),
        (0.03, 1e-6, 1.118168598919548, 1.037603961396593),
        (0.03, 1e-40, 3.263039670177311, 3.216424331904627),
        (0.5, 1e-3, 3.536561846168959, 3.138670548582939),
        (0.5, 1e-10, 6.839329413120848, 6.547924066864951),
        (2.56, 1e-6, 13.56777291591598, 12.77948084095602),
        (2.56, 1e-10, 17.15830871210475, 16.47938784972381),
        (2.56, 1e-40, 32.79027393102791, 32.35138569795165),
        (40.0, 1e-6, 85.22872617883264, 81.71523337053344),
        (1000.0, 1e-3, 1162.695031330494, 1137.232566070214),
        (1000.0, 1e-40, 1604.63943369872, 1594.407207058548),
    ];

    #[test]
    fn epsilons_are_those_of_many_digits() {
        for (rho, delta, zcdp, normal) in KNOWN {
            for (accountant, want) in [(Accountant::Zcdp, zcdp), (Accountant::Normal, normal)] {
                let got = accountant.epsilon(rho, delta);
                assert!((got / want - 1.0).abs() < 1e-11, "{accountant:?} {rho} {delta}: {got}, want {want}");
                assert!(got > want * (1.0 - 1e-14), "{accountant:?} {rho} {delta}: {got} is below {want}");
                let back = accountant.rho(want, delta);
                assert!((back / rho - 1.0).abs() < 1e-10, "{accountant:?} {rho} {delta}: {back}");
            }
        }
    }

    /// Epsilon and rho lead there and back; both rise; epsilon is never above what was used before; the exact curve is
    /// below what holds for all of one rho.
    #[test]
    fn epsilon_and_rho_are_one_curve() {
        for delta in [0.3, 1e-2, 1e-6, 1e-12, 1e-100] {
            let mut before = [0.0; 2];
            for k in 0..120 {
                let rho = 1e-9 * libm::exp(0.3 * f64::from(k));
                let old = rho + 2.0 * libm::sqrt(rho * -libm::log(delta));
                let both = Accountant::ALL.map(|accountant| accountant.epsilon(rho, delta));
                assert!(both[1] <= both[0] && both[0] <= old && both[1] >= rho, "{rho} {delta}: {both:?}");
                for (accountant, (epsilon, before)) in
                    Accountant::ALL.into_iter().zip(both.into_iter().zip(&mut before))
                {
                    assert!(epsilon > *before, "{accountant:?} {rho} {delta}");
                    *before = epsilon;
                    let bought = accountant.rho(epsilon, delta);
                    assert!((bought / rho - 1.0).abs() < 1e-8, "{accountant:?} {rho} {delta}: {bought}");
                    let again = accountant.epsilon(bought, delta);
                    assert!(
                        again <= epsilon * (1.0 + 1e-14),
                        "{accountant:?} {rho} {delta}: {again} {epsilon}"
                    );
                }
            }
        }
    }

    /// By how much less noise the same (epsilon, delta) needs of integers than by `rho + 2 sqrt(rho ln(1/delta))`.
    #[test]
    fn less_noise_is_needed() {
        let table = [(0.1, 25.1), (0.5, 18.2), (1.0, 15.3), (2.0, 12.4), (4.0, 9.6), (10.0, 6.2)];
        for (epsilon, percent) in table {
            let log = libm::log(1e6);
            let root = libm::sqrt(epsilon + log) - libm::sqrt(log);
            let sigma = libm::sqrt(root * root / Accountant::Zcdp.rho(epsilon, 1e-6));
            assert!((100.0 * (1.0 - sigma) - percent).abs() < 0.05, "{epsilon}: {sigma}");
        }
    }

    /// No order gives a smaller epsilon, on a fine grid.
    #[test]
    fn the_order_is_the_best() {
        for (rho, delta) in [(1e-4, 1e-6), (0.1, 1e-6), (3.0, 1e-10), (50.0, 0.01)] {
            let stated = Accountant::Zcdp.epsilon(rho, delta);
            let least = (-4000..4000).map(|k| epsilon_at(libm::exp(f64::from(k) / 200.0), rho, delta));
            let least = least.fold(f64::INFINITY, f64::min);
            assert!(stated <= least * (1.0 + 1e-13) && stated > least * (1.0 - 1e-4), "{stated} {least}");
        }
    }

    /// The law of discrete Gaussian noise itself, summed: what is stated for a change by u is never below its
    /// hockey-stick divergence, and close to it. For real noise the same integral, on a fine grid.
    #[test]
    fn losses_of_the_noise_itself_lie_below() {
        for (sigma, u) in [(0.6, 1.0), (2.0, 1.0), (2.0, 7.0), (15.0, 1.0), (15.0, 40.0)] {
            let rho = u * u / (2.0 * sigma * sigma);
            for delta in [1e-2, 1e-5, 1e-9] {
                // Of a change by u, summed in steps of h.
                let divergence = |epsilon: f64, h: f64| {
                    let reach = (15.0 * sigma / h) as i64;
                    let log = |z: f64| -0.5 * (z / sigma) * (z / sigma);
                    let total: f64 = (-reach..=reach).map(|z| libm::exp(log(z as f64 * h))).sum();
                    let over = |z: f64| (libm::exp(log(z)) - libm::exp(epsilon + log(z + u))).max(0.0);
                    (-reach..=reach).map(|z| over(z as f64 * h)).sum::<f64>() / total
                };
                let zcdp = Accountant::Zcdp.epsilon(rho, delta);
                assert!(divergence(zcdp, 1.0) <= delta, "{sigma} {u} {delta}");
                let normal = Accountant::Normal.epsilon(rho, delta);
                let real = divergence(normal, sigma / 2000.0);
                assert!(real <= delta * (1.0 + 1e-5), "{sigma} {u} {delta}: {real}");
                if normal > 1.01 * rho {
                    assert!(real > delta * (1.0 - 1e-5), "{sigma} {u} {delta}: {real}");
                }
            }
        }
    }

    /// At the ends of what is asked for: no panic, nothing that is not a number.
    #[test]
    fn ends() {
        for accountant in Accountant::ALL {
            assert_eq!(accountant.epsilon(0.0, 1e-6), 0.0);
            for delta in [1e-309, 1e-300, 1e-16, 0.5, 1.0 - 1e-15] {
                for x in [1e-290, 1e-30, 1e-9, 1.0, 1e6, 1e17, 2.822224100789361e39, 1e100] {
                    let (epsilon, rho) = (accountant.epsilon(x, delta), accountant.rho(x, delta));
                    assert!(epsilon >= x && epsilon.is_finite(), "{accountant:?} {x} {delta}: {epsilon}");
                    assert!(rho > 0.0 || x < 1e-150, "{accountant:?} {x} {delta}: {rho}");
                    assert!(rho <= x, "{accountant:?} {x} {delta}: {rho}");
                }
            }
        }
    }
}
