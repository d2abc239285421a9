//! Maximal couplings of draws along two lines.

use super::{Bounded, LinePair, RealLaw};
use crate::rng::{Rng, open01};

/// Draws of the second law that are tried for its part beyond the first. That part is as likely as it is hard to hit, so
/// that few are tried on the average; more than these are tried where rounding alone tells the laws apart.
const TRIES: u32 = 1 << 24;

/// Draws along two lines, with the densities p and q, that lead to one place with the largest probability that any pair
/// of such draws has, `∫ min(p, q)`: the first where `u` says; the second to the same place with the probability `min(1,
/// q/p)` there, else by draws of q, each refused with the probability `min(1, p/q)` (Thorisson 2000, Coupling,
/// Stationarity, and Regeneration, ch. 1, sec. 4; Jacob, O'Leary, Atchadé 2020, Algorithm 2).
///
/// `apart`: what the second step has more than the first where both lead to one place.
pub fn maximal<L: RealLaw, R: Rng + ?Sized>(
    tables: &L::Tables,
    (x, x_lo, x_hi): Bounded<f64>,
    (y, y_lo, y_hi): Bounded<f64>,
    apart: f64,
    u: f64,
    rng: &mut R,
) -> LinePair<f64> {
    let step = L::line(tables, x, x_lo, x_hi, u);
    // Of a place, by the steps that lead there.
    let mut ln_p = |t: f64| match (x_lo..=x_hi).contains(&t) {
        true => L::line_log_density(tables, x, x_lo, x_hi, t),
        false => f64::NEG_INFINITY,
    };
    let ln_q = |y: &mut _, t: f64| match (y_lo..=y_hi).contains(&t) {
        true => L::line_log_density(tables, y, y_lo, y_hi, t),
        false => f64::NEG_INFINITY,
    };
    if libm::log(open01(rng)) + ln_p(step) <= ln_q(y, step + apart) {
        return LinePair { x: step, y: None };
    }
    let mut other = step;
    for _ in 0..TRIES {
        other = L::line(tables, y, y_lo, y_hi, open01(rng));
        if libm::log(open01(rng)) + ln_q(y, other) > ln_p(other - apart) {
            break;
        }
    }
    LinePair { x: step, y: Some(other) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::{Gaussian, Laplace, Line, LineLaw, Term};
    use crate::rng::{Stream, below};
    use crate::testing::{assert_frequencies, test_stream};

    const DRAWS: u64 = 20_000;

    /// A line of one to four terms within 3 scales, with bounds or without, and another that differs from it by up to
    /// `by` in every place: their terms and bounds.
    fn lines(rng: &mut Stream, by: f64) -> [(Line<f64>, f64, f64); 2] {
        let spread = |rng: &mut Stream, by: f64| by * (2.0 * open01(rng) - 1.0);
        let mut lines = [(); 2].map(|()| (Line::default(), f64::NEG_INFINITY, f64::INFINITY));
        for _ in 0..=below(rng, 4) {
            let (level, at) = (below(rng, 2) as usize, spread(rng, 3.0));
            lines.iter_mut().for_each(|(line, ..)| line.terms.push(Term { level, at: at + spread(rng, by) }));
        }
        if below(rng, 2) == 0 {
            let lo = -3.0 * open01(rng);
            lines.iter_mut().for_each(|line| line.1 = lo + spread(rng, by).min(0.0));
        }
        if below(rng, 2) == 0 {
            let hi = 3.0 * open01(rng);
            lines.iter_mut().for_each(|line| line.2 = hi + spread(rng, by).max(0.0));
        }
        lines
    }

    /// The density is one over the slope of the quantile.
    fn check_density<L: RealLaw>(laws: [L; 2]) {
        let (tables, mut rng) = (L::tables(&laws), test_stream(1));
        for _ in 0..500 {
            let [(mut line, lo, hi), _] = lines(&mut rng, 0.0);
            for u in [0.07, 0.3, 0.5, 0.77, 0.96] {
                let [a, b] = [u - 1e-6, u + 1e-6].map(|u| L::line(&tables, &mut line, lo, hi, u));
                let [p, q] = [a, b].map(|t| libm::exp(L::line_log_density(&tables, &mut line, lo, hi, t)));
                let slope = 2e-6 / (b - a);
                assert!(
                    (0.5 * (p + q) / slope - 1.0).abs() < 1e-4,
                    "{line:?} [{lo}, {hi}] {u}: {p}, slope {slope}"
                );
            }
        }
    }

    /// The second has its law, whatever the first does, and they meet as often as any pair of draws can.
    fn check_pairs<L: RealLaw>(laws: [L; 2]) {
        let (tables, mut rng) = (L::tables(&laws), test_stream(2));
        for by in [0.0, 0.01, 0.3, 2.0] {
            let [(mut x, x_lo, x_hi), (mut y, y_lo, y_hi)] = lines(&mut rng, by);
            let apart = by * (open01(&mut rng) - 0.5);
            let overlap = (0..20_000u32).map(|k| {
                let t = L::line(&tables, &mut x, x_lo, x_hi, (f64::from(k) + 0.5) / 20_000.0);
                match (y_lo..=y_hi).contains(&(t + apart)) {
                    true => {
                        let q = L::line_log_density(&tables, &mut y, y_lo, y_hi, t + apart);
                        libm::exp(q - L::line_log_density(&tables, &mut x, x_lo, x_hi, t)).min(1.0)
                    }
                    false => 0.0,
                }
            });
            let overlap = overlap.sum::<f64>() / 20_000.0;
            let tenths: Vec<f64> =
                (1..10).map(|k| L::line(&tables, &mut y, y_lo, y_hi, 0.1 * f64::from(k))).collect();
            let (mut met, mut places) = (0, [0u64; 10]);
            for _ in 0..DRAWS {
                let (u, of_x, of_y) = (open01(&mut rng), (&mut x, x_lo, x_hi), (&mut y, y_lo, y_hi));
                let pair = maximal::<L, _>(&tables, of_x, of_y, apart, u, &mut rng);
                met += u64::from(pair.y.is_none());
                let y = pair.y.unwrap_or(pair.x + apart);
                places[tenths.iter().filter(|&&tenth| tenth < y).count()] += 1;
            }
            assert_frequencies(places.map(|seen| (seen, 0.1)), DRAWS);
            match by {
                0.0 => assert_eq!(met, DRAWS),
                _ => assert_frequencies([(met, overlap), (DRAWS - met, 1.0 - overlap)], DRAWS),
            }
        }
    }

    #[test]
    fn densities_are_those_of_quantiles() {
        check_density([1.0, 0.4].map(|scale| Laplace::new(scale).unwrap()));
        check_density([1.0; 2].map(|scale| Laplace::new(scale).unwrap()));
        check_density([1.0, 0.4].map(|scale| Gaussian::new(scale).unwrap()));
    }

    #[test]
    fn pairs_have_their_laws_and_meet_as_often_as_can_be() {
        check_pairs([1.0, 0.4].map(|scale| Laplace::new(scale).unwrap()));
        check_pairs([1.0, 0.4].map(|scale| Gaussian::new(scale).unwrap()));
    }

    /// Bounds that leave a point, and bounds far out in the tails.
    #[test]
    fn narrow_and_far_bounds_are_served() {
        let tables = Gaussian::tables(&[Gaussian::new(1.0).unwrap()]);
        let mut rng = test_stream(3);
        let line = |at: f64| Line { terms: vec![Term { level: 0, at }], ..Line::default() };
        for (y_hi, met) in [(0.0, true), (1.0, false)] {
            let of_x = (&mut line(0.3), 0.0, 0.0);
            let pair = maximal::<Gaussian, _>(&tables, of_x, (&mut line(0.2), 0.0, y_hi), 0.0, 0.4, &mut rng);
            assert_eq!((pair.x, pair.y.is_none()), (0.0, met));
        }
        for at in [50.0, -50.0] {
            let (lo, hi) = (-1.0, 1.0);
            for u in [0.2, 0.7] {
                let t = Gaussian::line(&tables, &mut line(at), lo, hi, u);
                let next = Gaussian::line(&tables, &mut line(at), lo, hi, u + 1e-6);
                let density = libm::exp(Gaussian::line_log_density(&tables, &mut line(at), lo, hi, t));
                assert!((density * (next - t) / 1e-6 - 1.0).abs() < 1e-3, "{at} {u}: {density}");
            }
        }
    }
}
