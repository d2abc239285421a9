//! Where a log likelihood is largest, and how far it stays near that: by its gradient alone.

use crate::error::{Error, Result};
use crate::rng::normal_quantile;

/// A log likelihood of some parameters.
pub trait LogLikelihood {
    /// Its value and its gradient. Errors: places where it cannot be computed; a search turns back from them.
    fn at(&self, place: &[f64]) -> Result<(f64, Vec<f64>)>;

    /// About minus its second derivatives, by rows: steps are measured by it.
    fn metric(&self, place: &[f64]) -> Vec<Vec<f64>>;

    /// How far a step moves what is modelled: the largest change of the logarithm of something.
    fn reach(&self, step: &[f64]) -> f64;
}

/// The maximum of a log likelihood.
#[derive(Debug, Clone, PartialEq)]
pub struct Maximum {
    /// Where it is, by parameter.
    pub place: Vec<f64>,
    /// Its value.
    pub log_likelihood: f64,
    /// The inverse of the observed information, by rows.
    pub covariance: Vec<Vec<f64>>,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Found {
    At(Maximum),
    /// It still rises where this parameter is beyond all bounds, upwards or downwards.
    Beyond(usize, bool),
}

/// Steps of a search at most.
const STEPS: usize = 300;
/// A search ends where a step would gain no more than this, and would move nothing by more than that.
const GAIN: f64 = 1e-10;
const STILL: f64 = 1e-5;
/// A step moves nothing by more than this.
const STEP: f64 = 3.0;
/// What has moved so far is on its way to infinity.
const FAR: f64 = 30.0;
/// Standard errors from here on are those of what has no maximum.
const FLAT: f64 = 100.0;
/// Steps of differences, in parts of a standard error with the other parameters fixed.
const DIFFERENCE: f64 = 1e-3;
/// How near the ends of intervals are, in standard errors.
const END: f64 = 1e-6;

/// The maximum near a place: by the quasi-Newton method of Broyden, Fletcher, Goldfarb and Shanno, whose first matrix is the inverse of
/// the metric; then a step of Newton, with differences of the gradient.
///
/// It is the highest place around; a likelihood with several may have a higher one elsewhere. Errors: it cannot be computed at the
/// start; no end after 300 steps.
pub(super) fn maximum(of: &dyn LogLikelihood, start: &[f64]) -> Result<Found> {
    let all = start.len();
    let metric = inverse(&of.metric(start)).unwrap_or_else(|| diagonal(&vec![1.0; all]));
    let top = climb(of, start, metric, true)?;
    let moved: Vec<f64> = difference(&top.place, start);
    let beyond = |step: &[f64]| {
        let part = |j: &usize| of.reach(&unit(all, *j, step[*j]));
        let j = (0..all).max_by(|a, b| part(a).total_cmp(&part(b))).unwrap_or(0);
        Found::Beyond(j, step[j] > 0.0)
    };
    if top.is_far {
        return Ok(beyond(&moved));
    }
    let information = information(of, &top.place)?;
    let Some(covariance) = inverse(&information) else { return Ok(beyond(&moved)) };
    let deviation = |j: usize| libm::sqrt(covariance[j][j]);
    if let Some(j) = (0..all).find(|&j| of.reach(&unit(all, j, deviation(j))) > FLAT) {
        return Ok(Found::Beyond(j, moved[j] > 0.0));
    }
    let step = times(&covariance, &top.gradient);
    let (mut place, mut value) = (top.place, top.value);
    if of.reach(&step) < 1e-2 {
        let newer: Vec<f64> = sum(&place, &step);
        let at = of.at(&newer)?.0;
        if at >= value - slack(value) {
            (place, value) = (newer, at);
        }
    }
    Ok(Found::At(Maximum { place, log_likelihood: value, covariance }))
}

impl Maximum {
    /// The standard error of a parameter, from the observed information.
    pub fn standard_error(&self, parameter: usize) -> f64 {
        libm::sqrt(self.covariance[parameter][parameter])
    }

    /// The profile-likelihood interval of a parameter: all values b at which the largest log likelihood over the other parameters is no
    /// more than half the `level` quantile of chi-square with 1 degree of freedom below the maximum; to 1e-6 standard errors.
    ///
    /// An end is infinite where the likelihood never falls so far. Errors: the search for an end finds none.
    pub fn interval(&self, of: &dyn LogLikelihood, parameter: usize, level: f64) -> Result<(f64, f64)> {
        // The square of it is that quantile.
        let root = -normal_quantile(0.5 * (1.0 - level));
        Ok((self.end(of, parameter, -1.0, root)?, self.end(of, parameter, 1.0, root)?))
    }

    /// Where `√(2 (maximum - profile))` is the root, on one side: by Newton's steps of it between what is too near and what is too far.
    fn end(&self, of: &dyn LogLikelihood, j: usize, side: f64, root: f64) -> Result<f64> {
        let (peak, all) = (self.place[j], self.place.len());
        let slopes: Vec<f64> = (0..all).map(|k| self.covariance[k][j] / self.covariance[j][j]).collect();
        let entry = |k: usize, l: usize| self.covariance[k][l] - slopes[k] * self.covariance[j][l];
        let conditional: Vec<Vec<f64>> = (0..all).map(|k| (0..all).map(|l| entry(k, l)).collect()).collect();
        let conditional = without(conditional, j);
        let (mut near, mut far) = (0.0, f64::INFINITY);
        let mut out = root * self.standard_error(j);
        let mut last = self.place.clone();
        for _ in 0..60 {
            let by = peak + side * out - last[j];
            let start: Vec<f64> = (0..all).map(|k| last[k] + slopes[k] * by).collect();
            let next = match climb(of, &start, conditional.clone(), false) {
                Ok(top) => {
                    let fallen = libm::sqrt(2.0 * (self.log_likelihood - top.value).max(0.0));
                    if (fallen - root).abs() < END {
                        return Ok(peak + side * out);
                    }
                    if fallen < root {
                        near = out;
                        if of.reach(&unit(all, j, out)) > FAR {
                            return Ok(side * f64::INFINITY);
                        }
                    } else {
                        far = out;
                    }
                    last = top.place;
                    let slope = -side * top.gradient[j] / fallen;
                    out - (fallen - root) / slope
                }
                Err(Error::AtNode { .. } | Error::TooLarge { .. }) => {
                    far = out;
                    f64::NAN
                }
                Err(error) => return Err(error),
            };
            out = match (next > near && next < far, far.is_finite()) {
                // No further than three times as far as it was.
                (true, _) => next.min(3.0 * out),
                (false, true) => 0.5 * (near + far),
                (false, false) => 2.0 * out,
            };
            if far.is_finite() && far - near < 1e-12 * far {
                return Ok(peak + side * out);
            }
        }
        Err(Error::NotConverged {
            what: "the profile of a likelihood",
            residuals: format!("an end between {near} and {far} from the estimate"),
        })
    }
}

/// Where a search ended.
struct Top {
    place: Vec<f64>,
    value: f64,
    gradient: Vec<f64>,
    is_far: bool,
}

/// Climbs along `inverse · gradient`; a parameter with a row and a column of zeros stays where it is. `strict`: until nothing moves any
/// more, not only until nothing is gained.
fn climb(of: &dyn LogLikelihood, start: &[f64], inverse: Vec<Vec<f64>>, strict: bool) -> Result<Top> {
    let mut inverse = inverse;
    let (value, gradient) = of.at(start)?;
    let mut top = Top { place: start.to_vec(), value, gradient, is_far: false };
    for _ in 0..STEPS {
        let step = times(&inverse, &top.gradient);
        let (gain, reach) = (dot(&step, &top.gradient), of.reach(&step));
        if gain <= GAIN && (!strict || reach <= STILL) {
            return Ok(top);
        }
        if of.reach(&difference(&top.place, start)) > FAR {
            top.is_far = true;
            return Ok(top);
        }
        let mut part = (STEP / reach).min(1.0);
        let found = (0..40).find_map(|_| {
            let place: Vec<f64> = top.place.iter().zip(&step).map(|(x, d)| x + part * d).collect();
            let rise = top.value + 1e-4 * part * gain - slack(top.value);
            let found = of.at(&place).ok().filter(|(value, _)| *value >= rise);
            part *= 0.4;
            found.map(|(value, gradient)| Top { place, value, gradient, is_far: false })
        });
        let Some(next) = found else {
            if gain < 1e-6 {
                return Ok(top);
            }
            break;
        };
        update(
            &mut inverse,
            &difference(&next.place, &top.place),
            &difference(&top.gradient, &next.gradient),
        );
        top = next;
    }
    Err(Error::NotConverged {
        what: "the maximum of a likelihood",
        residuals: format!(
            "a step would still gain {:.1e}",
            dot(&times(&inverse, &top.gradient), &top.gradient)
        ),
    })
}

/// What rounding may make of a log likelihood.
fn slack(value: f64) -> f64 {
    1e-13 * (1.0 + value.abs())
}

/// `B <- (I - ρ s y') B (I - ρ y s') + ρ s s'` with `ρ = 1/(s'y)`, where that stays positive definite.
fn update(inverse: &mut [Vec<f64>], s: &[f64], y: &[f64]) {
    let along = dot(s, y);
    let size = libm::sqrt(dot(s, s) * dot(y, y));
    if !(along > 1e-8 * size && along > 0.0) {
        return;
    }
    let b = times(inverse, y);
    let factor = (1.0 + dot(&b, y) / along) / along;
    for (i, row) in inverse.iter_mut().enumerate() {
        for (j, entry) in row.iter_mut().enumerate() {
            *entry += factor * s[i] * s[j] - (b[i] * s[j] + s[i] * b[j]) / along;
        }
    }
}

/// Minus the second derivatives, by central differences of the gradient. Errors: it cannot be computed there.
fn information(of: &dyn LogLikelihood, place: &[f64]) -> Result<Vec<Vec<f64>>> {
    let all = place.len();
    let metric = of.metric(place);
    let row = |j: usize| {
        let h = DIFFERENCE / libm::sqrt(metric[j][j].max(1e-8));
        let at = |by: f64| of.at(&sum(place, &unit(all, j, by)));
        let (above, below) = (at(h)?.1, at(-h)?.1);
        Ok(below.iter().zip(&above).map(|(below, above)| (below - above) / (2.0 * h)).collect())
    };
    let rows = (0..all).map(row).collect::<Result<Vec<Vec<f64>>>>()?;
    Ok((0..all).map(|j| (0..all).map(|k| 0.5 * (rows[j][k] + rows[k][j])).collect()).collect())
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn times(matrix: &[Vec<f64>], vector: &[f64]) -> Vec<f64> {
    matrix.iter().map(|row| dot(row, vector)).collect()
}

fn sum(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

fn unit(all: usize, j: usize, by: f64) -> Vec<f64> {
    (0..all).map(|k| if k == j { by } else { 0.0 }).collect()
}

fn diagonal(entries: &[f64]) -> Vec<Vec<f64>> {
    entries.iter().enumerate().map(|(j, &entry)| unit(entries.len(), j, entry)).collect()
}

/// With zeros in the row and the column of one.
fn without(mut matrix: Vec<Vec<f64>>, j: usize) -> Vec<Vec<f64>> {
    matrix.iter_mut().for_each(|row| row[j] = 0.0);
    matrix[j].fill(0.0);
    matrix
}

/// The inverse of a positive definite matrix, by Cholesky's factor; `None` of another, or of one that is nearly singular.
fn inverse(matrix: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let all = matrix.len();
    let mut lower = vec![vec![0.0; all]; all];
    for i in 0..all {
        for j in 0..=i {
            let rest = matrix[i][j] - dot(&lower[i][..j], &lower[j][..j]);
            if i > j {
                lower[i][j] = rest / lower[j][j];
            } else if rest > 1e-13 * matrix[i][i] && matrix[i][i].is_finite() {
                lower[i][i] = libm::sqrt(rest);
            } else {
                return None;
            }
        }
    }
    let column = |k: usize| {
        let mut x = unit(all, k, 1.0);
        for i in 0..all {
            x[i] = (x[i] - dot(&lower[i][..i], &x[..i])) / lower[i][i];
        }
        for i in (0..all).rev() {
            let rest: f64 = (i + 1..all).map(|l| lower[l][i] * x[l]).sum();
            x[i] = (x[i] - rest) / lower[i][i];
        }
        x
    };
    Some((0..all).map(column).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Poisson counts of two groups, by log mean and log ratio: maximum and profile have closed forms.
    struct Groups {
        counts: [f64; 2],
        numbers: [f64; 2],
    }

    impl Groups {
        fn means(&self, place: &[f64]) -> [f64; 2] {
            [self.numbers[0] * libm::exp(place[0]), self.numbers[1] * libm::exp(place[0] + place[1])]
        }
    }

    impl LogLikelihood for Groups {
        fn at(&self, place: &[f64]) -> Result<(f64, Vec<f64>)> {
            let (m, x) = (self.means(place), self.counts);
            let value = x[0] * libm::log(m[0]) - m[0] + x[1] * libm::log(m[1]) - m[1];
            Ok((value, vec![x[0] - m[0] + x[1] - m[1], x[1] - m[1]]))
        }

        fn metric(&self, place: &[f64]) -> Vec<Vec<f64>> {
            let m = self.means(place);
            vec![vec![m[0] + m[1], m[1]], vec![m[1], m[1]]]
        }

        fn reach(&self, step: &[f64]) -> f64 {
            step[0].abs().max((step[0] + step[1]).abs())
        }
    }

    /// Sums of Poisson counts given their total are binomial: the profile of the ratio is that of a share p,
    /// `x ln p + y ln (1 - p)`, and the standard error of its logarithm is `√(1/x + 1/y)`.
    #[test]
    fn profiles_have_their_closed_form() {
        for (counts, numbers) in
            [([30.0, 50.0], [10.0, 10.0]), ([400.0, 3.0], [7.0, 1.0]), ([5.0, 9.0], [1.0, 30.0])]
        {
            let groups = Groups { counts, numbers };
            let Found::At(maximum) = maximum(&groups, &[0.0, 0.0]).unwrap() else { panic!() };
            let [x, y] = counts;
            let want = libm::log(y / numbers[1] / (x / numbers[0]));
            assert!((maximum.place[1] - want).abs() < 1e-8, "{maximum:?} {want}");
            let error = (1.0 / x + 1.0 / y).sqrt();
            assert!((maximum.standard_error(1) / error - 1.0).abs() < 1e-5, "{maximum:?} {error}");
            let log = |ratio: f64| {
                let share = 1.0 / (1.0 + numbers[1] / numbers[0] * libm::exp(ratio));
                x * libm::log(share) + y * libm::log(1.0 - share)
            };
            // Half of 2.705543 is the 0.9 quantile's.
            let (low, high) = maximum.interval(&groups, 1, 0.9).unwrap();
            for end in [low, high] {
                let fallen = 2.0 * (log(want) - log(end));
                assert!((fallen - 2.705_543_454_095_404).abs() < 1e-5, "{end} {fallen}");
            }
            assert!(low < want && want < high);
        }
    }

    /// Where a group has no counts, the ratio has no maximum; the profile of what has one may be without an end.
    #[test]
    fn what_runs_off_is_named() {
        let groups = Groups { counts: [30.0, 0.0], numbers: [1.0, 1.0] };
        assert_eq!(maximum(&groups, &[1.0, 1.0]).unwrap(), Found::Beyond(1, false));
        let none = Groups { counts: [0.0, 30.0], numbers: [1.0, 1.0] };
        assert!(matches!(maximum(&none, &[1.0, 1.0]).unwrap(), Found::Beyond(..)));
    }

    #[test]
    fn inverses_of_other_matrices_are_none() {
        assert_eq!(inverse(&[vec![1.0, 1.0], vec![1.0, 1.0]]), None);
        assert_eq!(inverse(&[vec![1.0, 2.0], vec![2.0, 1.0]]), None);
        let good = inverse(&[vec![4.0, 2.0], vec![2.0, 3.0]]).unwrap();
        let want = [[0.375, -0.25], [-0.25, 0.5]];
        for (row, want) in good.iter().zip(want) {
            assert!(row.iter().zip(want).all(|(got, want)| (got - want).abs() < 1e-14), "{good:?}");
        }
    }
}
