//! Where two curves of errors cross.

use super::Estimate;

/// Two errors at one place, above 0, both estimated independently.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    /// The place of both errors, above 0.
    pub at: f64,
    /// The error of the first curve.
    pub first: Estimate,
    /// The error of the second curve.
    pub second: Estimate,
}

impl Pair {
    /// `ln(first / second)` with its standard error, to first order; 0 ± 0 where both are 0.
    fn log_ratio(&self) -> (f64, f64) {
        let relative = |x: Estimate| if x.mean > 0.0 { x.standard_error / x.mean } else { 0.0 };
        let (a, b) = (self.first.mean, self.second.mean);
        let ratio = if a == b { 0.0 } else { libm::log(a / b) };
        (ratio, libm::hypot(relative(self.first), relative(self.second)))
    }

    /// Tells which error is smaller, if they are more than `z` standard errors of their ratio apart (where one is 0: of
    /// their difference): -1 for the first, 1 for the second; else, and where an error is not known, 0.
    pub fn sign(&self, z: f64) -> i8 {
        let (a, b) = (self.first, self.second);
        let (apart, error) = match a.mean > 0.0 && b.mean > 0.0 {
            true => self.log_ratio(),
            false => (a.mean - b.mean, libm::hypot(a.standard_error, b.standard_error)),
        };
        let known = !a.standard_error.is_nan() && !b.standard_error.is_nan();
        match known && apart.abs() > z * error {
            true if apart < 0.0 => -1,
            true => 1,
            false => 0,
        }
    }
}

/// Where two curves cross.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Crossing {
    /// The place where they cross, with its standard error: NaN where a straight line tells none between `low` and
    /// `high`.
    pub at: Estimate,
    /// The last place at which one of the curves is smaller.
    pub low: f64,
    /// The first place at which the other curve is smaller.
    pub high: f64,
    /// Whether the first curve is the smaller one at `low`.
    pub first_is_lower_before: bool,
}

/// The crossings of two curves that are known at some places, in order of `at`.
///
/// A crossing lies between the last place at which one curve is smaller by more than `z` standard errors, and the next
/// at which the other is. The place itself is the root of a straight line of `ln(first / second)` in `ln at`: between
/// the two neighbouring places where the sign changes or, where it changes more than once, by weighted least squares
/// over all places from the one to the other. Its standard error is that of the line (delta method), and says nothing
/// of a curve that is bent between them.
pub fn crossings(pairs: &[Pair], z: f64) -> Vec<Crossing> {
    let mut found = Vec::new();
    let mut last: Option<usize> = None;
    for (i, pair) in pairs.iter().enumerate() {
        let sign = pair.sign(z);
        if sign == 0 {
            continue;
        }
        if let Some(before) = last.filter(|&before| pairs[before].sign(z) != sign) {
            let (low, high) = (pairs[before].at, pair.at);
            let at = root(&pairs[before..=i]).filter(|root| root.mean >= low && root.mean <= high);
            let at = at.unwrap_or(Estimate { mean: f64::NAN, standard_error: f64::NAN });
            found.push(Crossing { at, low, high, first_is_lower_before: sign > 0 });
        }
        last = Some(i);
    }
    found
}

/// The root of the weighted least-squares line; `None` if it is flat, or if some error is 0 or unknown.
fn root(pairs: &[Pair]) -> Option<Estimate> {
    let points: Vec<(f64, f64, f64)> = pairs
        .iter()
        .map(|pair| {
            let (ratio, error) = pair.log_ratio();
            (libm::log(pair.at), ratio, 1.0 / (error * error))
        })
        .collect();
    if points.iter().any(|(_, y, w)| !y.is_finite() || !w.is_finite()) {
        return None;
    }
    let turns = |i: &usize| points[*i].1.signum() != points[i + 1].1.signum();
    let mut changes = (0..points.len() - 1).filter(turns);
    let points = match (changes.next(), changes.next()) {
        (Some(i), None) => &points[i..i + 2],
        _ => &points[..],
    };
    let sum = |f: &dyn Fn(&(f64, f64, f64)) -> f64| points.iter().map(f).sum::<f64>();
    let weight = sum(&|(_, _, w)| *w);
    let (x, y) = (sum(&|(x, _, w)| w * x) / weight, sum(&|(_, y, w)| w * y) / weight);
    let spread = sum(&|(at, _, w)| w * (at - x) * (at - x));
    let slope = sum(&|(at, ratio, w)| w * (at - x) * (ratio - y)) / spread;
    // y + slope (t - x) = 0; y and the slope are uncorrelated.
    let shift = -y / slope;
    let variance = (1.0 / weight + shift * shift / spread) / (slope * slope);
    let mean = libm::exp(x + shift);
    let standard_error = mean * libm::sqrt(variance);
    (mean.is_finite() && standard_error.is_finite()).then_some(Estimate { mean, standard_error })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::open01;
    use crate::testing::test_stream;

    fn estimate(mean: f64, relative: f64) -> Estimate {
        Estimate { mean, standard_error: relative * mean }
    }

    /// 1/p against 2/p^1.5: they cross at 4.
    fn powers(places: &[f64], relative: f64) -> Vec<Pair> {
        let pair = |&at: &f64| Pair {
            at,
            first: estimate(1.0 / at, relative),
            second: estimate(2.0 / (at * libm::sqrt(at)), relative),
        };
        places.iter().map(pair).collect()
    }

    #[test]
    fn powers_cross_where_they_are_equal() {
        for places in [&[1.0, 8.0][..], &[0.5, 1.0, 2.0, 3.9, 4.1, 8.0], &[3.0, 4.0, 5.0]] {
            let found = crossings(&powers(places, 0.01), 3.0);
            assert_eq!(found.len(), 1, "{places:?}");
            assert!((found[0].at.mean - 4.0).abs() < 1e-9, "{found:?}");
            assert!(found[0].first_is_lower_before);
            assert!(found[0].low < 4.0 && found[0].high > 4.0);
        }
        assert!(crossings(&powers(&[0.5, 1.0, 2.0], 0.01), 3.0).is_empty());
        // Nothing is told apart.
        assert!(crossings(&powers(&[3.9, 4.1], 0.01), 3.0).is_empty());
        assert!(crossings(&[], 3.0).is_empty());
    }

    /// Both zero, one zero, no error known: no place, and no panic.
    #[test]
    fn zeros_have_no_logarithm() {
        let zero = estimate(0.0, 0.0);
        let both = Pair { at: 1.0, first: zero, second: zero };
        assert_eq!(both.sign(3.0), 0);
        let one = Pair { at: 2.0, first: zero, second: estimate(1.0, 0.1) };
        assert_eq!(one.sign(3.0), -1);
        // Zero in a hundred releases, and once not: one standard error.
        let rare = Estimate { mean: 0.01, standard_error: 0.01 };
        assert_eq!(Pair { at: 2.0, first: zero, second: rare }.sign(3.0), 0);
        let single = Estimate { mean: 0.0, standard_error: f64::NAN };
        assert_eq!(Pair { at: 2.0, first: single, second: estimate(1.0, 0.1) }.sign(3.0), 0);
        let other = Pair { at: 3.0, first: estimate(1.0, 0.1), second: estimate(0.5, 0.1) };
        let found = crossings(&[both, one, other], 3.0);
        assert_eq!((found.len(), found[0].low, found[0].high), (1, 2.0, 3.0));
        assert!(found[0].at.mean.is_nan());
        let unknown = Pair { at: 1.0, first: estimate(1.0, f64::NAN), second: estimate(2.0, 0.1) };
        assert_eq!(unknown.sign(3.0), 0);
    }

    /// The stated standard error is the spread of the root over errors drawn anew: 4,000 of them, within 6 % (5 standard errors of a
    /// standard deviation, 1/sqrt(8,000)).
    #[test]
    fn the_standard_error_is_the_spread_of_roots() {
        let mut rng = test_stream(411);
        let mut normal = || {
            let (u, v) = (open01(&mut rng), open01(&mut rng));
            libm::sqrt(-2.0 * libm::log(u)) * libm::cos(std::f64::consts::TAU * v)
        };
        let relative = 0.01;
        for places in [&[2.0, 6.0][..], &[1.5, 3.5, 4.5, 8.0]] {
            let exact = powers(places, relative);
            let stated = root(&exact).unwrap().standard_error;
            let mut roots = super::super::Moments::default();
            for _ in 0..4000 {
                let mut pairs = exact.clone();
                for pair in &mut pairs {
                    pair.first.mean *= libm::exp(relative * normal());
                    pair.second.mean *= libm::exp(relative * normal());
                }
                roots.push(root(&pairs).unwrap().mean);
            }
            assert!((roots.deviation() / stated - 1.0).abs() < 0.06, "{} {stated}", roots.deviation());
            assert!((roots.mean() - 4.0).abs() < 0.02);
        }
    }
}
