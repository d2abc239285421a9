//! All ratios of two sums that a release does not rule out.

use crate::rng::normal_quantile;
use std::f64::consts::FRAC_PI_2;

/// Where ratios end: the least and the largest, which is infinite where the lower sum may be 0; `None` where all are ruled out.
///
/// A ratio is an angle, `r = tan θ`, from 0 to a right one. It is ruled out where `v = cos θ y_a - sin θ y_b` is farther from 0 than the
/// noise `cos θ s - sin θ t` is with the level's chance: where that much of the noise lies strictly inside of `|v|`.
///
/// All angles between two are ruled out at once, and not one by one: noise that is inside at both ends, where v has one sign, is so
/// between them, since `v ± (cos θ s - sin θ t)` is linear in `(cos θ, sin θ)`, and those between are sums of both ends with weights
/// that are not negative. So no ratio is missed that is allowed by itself, as one is at which integers tie. What cannot be ruled out
/// down to an angle of 1e-18, or within some thousand looks, is kept.
pub type Ratios = Option<(f64, f64)>;

/// Noise of both sums, with what it weighs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Weighed {
    pub(super) at: [f64; 2],
    pub(super) weight: f64,
}

/// What rounding may do, by the size of what is compared: angles, their sines, and products with sums.
const SLACK: f64 = 1e-13;
/// Halvings of a right angle.
const STEPS: usize = 60;
/// Looks for one end.
const LOOKS: usize = 5000;
/// Weights that are summed at once, so that a sum is right to 1e-13.
const BLOCK: usize = 512;

/// `cos θ a - sin θ b`.
fn across(direction: (f64, f64), [a, b]: [f64; 2]) -> f64 {
    let (sin, cos) = direction;
    cos * a - sin * b
}

/// Ratios by outcomes of the noise. `enough`: the weight that has to be inside where a ratio is ruled out.
pub(super) fn of_outcomes(released: [f64; 2], noise: &[Weighed], enough: f64) -> Ratios {
    let size = |[a, b]: [f64; 2]| a.abs() + b.abs();
    let slack = SLACK * (size(released) + noise.iter().map(|own| size(own.at)).fold(0.0, f64::max));
    ends(|from, to| {
        let [near, far] = [from, to].map(libm::sincos);
        let values = [across(near, released), across(far, released)];
        let [inner, outer] = values.map(|value| value.abs() - slack);
        if values[0] * values[1] <= 0.0 || inner <= 0.0 || outer <= 0.0 {
            return false;
        }
        let inside = |own: &Weighed| {
            let is = across(near, own.at).abs() < inner && across(far, own.at).abs() < outer;
            f64::from(u8::from(is)) * own.weight
        };
        noise.chunks(BLOCK).map(|block| block.iter().map(inside).sum::<f64>()).sum::<f64>() >= enough
    })
}

/// The ratios that draws of the noise of both sums, side by side, do not rule out: a ratio is ruled out where v is farther from 0 than
/// the k-th smallest of the n draws, k the least with `k/(n + 1)` at least the level. The true ratio is kept with at least that chance, as
/// the rank of one more draw is as likely each.
pub fn drawn_ratios(released: [f64; 2], noise: [&[f64]; 2], level: f64) -> Ratios {
    let draws = noise[0].len();
    let rank = libm::ceil(level * (draws + 1) as f64 - 1e-9).clamp(1.0, draws as f64);
    let all: Vec<Weighed> =
        noise[0].iter().zip(noise[1]).map(|(&s, &t)| Weighed { at: [s, t], weight: 1.0 }).collect();
    of_outcomes(released, &all, rank)
}

/// The ratios that normal noise does not rule out. `noise`: vectors, the products of which are its variances and covariance.
pub fn normal_ratios(released: [f64; 2], noise: [&[f64]; 2], level: f64) -> Ratios {
    let quantile = normal_quantile(0.5 * (1.0 + level));
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let slack = SLACK * (released[0].abs() + released[1].abs());
    ends(|from, to| {
        let is_outside = |angle: f64| {
            let direction = libm::sincos(angle);
            let own: Vec<f64> =
                noise[0].iter().zip(noise[1]).map(|(&s, &t)| across(direction, [s, t])).collect();
            let value = across(direction, released);
            (value, value.abs() > quantile * (1.0 + 1e-12) * libm::sqrt(dot(&own, &own)) + slack)
        };
        // Between both the deviation is at most what theirs add up to, with the weights by which values do.
        let (near, far) = (is_outside(from), is_outside(to));
        near.1 && far.1 && near.0 * far.0 > 0.0
    })
}

/// Both ends. `is_out`: whether all angles between two are ruled out.
fn ends(is_out: impl Fn(f64, f64) -> bool) -> Ratios {
    let end = |from: f64, to: f64| first(&is_out, (from, to), STEPS, &mut { LOOKS });
    let ratio = |angle: f64| if angle >= FRAC_PI_2 { f64::INFINITY } else { libm::tan(angle) };
    let low = end(0.0, FRAC_PI_2)?;
    let high = end(FRAC_PI_2, 0.0).unwrap_or(FRAC_PI_2);
    Some((ratio(low), ratio(high.max(low))))
}

/// The first angle behind which one may be allowed, from the one end to the other.
fn first(
    is_out: &impl Fn(f64, f64) -> bool,
    (from, to): (f64, f64),
    steps: usize,
    looks: &mut usize,
) -> Option<f64> {
    if *looks > 0 && is_out(from, to) {
        *looks -= 1;
        return None;
    }
    *looks = looks.saturating_sub(1);
    let middle = 0.5 * (from + to);
    if steps == 0 || *looks == 0 || middle == from || middle == to {
        return Some(from);
    }
    first(is_out, (from, middle), steps - 1, looks).or_else(|| first(is_out, (middle, to), steps - 1, looks))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::{IntegerTree, PartsScratch};
    use crate::inference::JointLaw;
    use crate::invariant::Hierarchy;
    use crate::law::DoubleGeometric;
    use crate::testing::test_stream;
    use std::cmp::Ordering;

    /// Two counties of two towns.
    fn tree() -> Hierarchy {
        Hierarchy::from_parents(&[0, 0, 0, 1, 1, 2, 2]).unwrap()
    }

    /// One district in both, one in the first.
    fn law(scale: f64) -> JointLaw {
        let tree = tree();
        let laws = [DoubleGeometric::new(scale).unwrap(); 3];
        JointLaw::on_tree(&tree, &laws, [&[1, 0, 1, 0], &[0, 1, 0, 0]], 1e9).unwrap()
    }

    fn outcomes(law: &JointLaw, least: f64) -> Vec<([i64; 2], f64)> {
        let [s, t] = law.reach();
        let all = (-s..=s).flat_map(|s| (-t..=t).map(move |t| [s, t]));
        all.map(|at| (at, law.p(at[0], at[1]))).filter(|(_, p)| *p > least).collect()
    }

    /// Over all noise, the true ratio is held at least as often as the level says, whatever it is: also where a sum is 0, and where many
    /// outcomes tie.
    #[test]
    fn ratios_are_held_as_often_as_they_say() {
        let law = law(0.6);
        let noise = outcomes(&law, 1e-9);
        for level in [0.5, 0.8, 0.95] {
            for (above, below) in
                [(4, 4), (3, 6), (1, 3), (7, 2), (0, 3), (2, 0), (5, 0), (40, 9), (300, 200)]
            {
                let truth = above as f64 / below as f64;
                let holds = |([s, t], p): &([i64; 2], f64)| {
                    let ends = law.ratios([(above + s) as f64, (below + t) as f64], level);
                    if ends.is_some_and(|(low, high)| low <= truth && truth <= high) { *p } else { 0.0 }
                };
                let held: f64 = noise.iter().map(holds).sum();
                assert!(held >= level, "{above}/{below} {level}: {held}");
            }
        }
    }

    /// A ratio >= 0 of whole numbers.
    type Fraction = [i64; 2];

    fn order(a: &Fraction, b: &Fraction) -> Ordering {
        (a[0] * b[1]).cmp(&(b[0] * a[1]))
    }

    /// The least and the largest ratio that is allowed, in whole numbers: the weight inside changes where an outcome is as far from 0 as
    /// the release alone, so that these ratios, and one between each two, are all there is to try.
    fn listed(released: [i64; 2], noise: &[([i64; 2], f64)], enough: f64) -> Option<[Fraction; 2]> {
        let [a, b] = released;
        let turns = |&([s, t], _): &([i64; 2], f64)| [[a - s, b - t], [a + s, b + t]];
        let mut all: Vec<Fraction> = noise
            .iter()
            .flat_map(turns)
            .map(|[up, down]| if down < 0 || (down == 0 && up < 0) { [-up, -down] } else { [up, down] })
            .filter(|[up, down]| *up >= 0 && *up + *down > 0)
            .chain([[0, 1], [1, 0]])
            .collect();
        all.sort_by(order);
        all.dedup_by(|a, b| order(a, b) == Ordering::Equal);
        let is_allowed = |&[up, down]: &Fraction| {
            let far = (down * a - up * b).abs();
            let is_inside = |([s, t], _): &&([i64; 2], f64)| (down * s - up * t).abs() < far;
            noise.iter().filter(is_inside).map(|(_, p)| p).sum::<f64>() < enough
        };
        // Of what is between two turns both are ends.
        let between = all.windows(2).flat_map(|two| {
            let middle = [two[0][0] + two[1][0], two[0][1] + two[1][1]];
            two.iter().map(move |&end| (middle, end)).collect::<Vec<_>>()
        });
        let tried: Vec<(Fraction, Fraction)> = all.iter().map(|&own| (own, own)).chain(between).collect();
        let allowed: Vec<Fraction> =
            tried.into_iter().filter(|(own, _)| is_allowed(own)).map(|(_, end)| end).collect();
        Some([*allowed.iter().min_by(|a, b| order(a, b))?, *allowed.iter().max_by(|a, b| order(a, b))?])
    }

    /// Ends are those by listing, of a law and of draws; some of them stand alone, where integers tie.
    #[test]
    fn ends_are_those_of_a_list() {
        let law = law(0.35);
        let noise = outcomes(&law, 0.0);
        let draws: Vec<[i64; 2]> = (0..60).map(|i: i64| [i * i % 7 - 3, i * i * i % 5 - i % 3]).collect();
        let drawn: Vec<([i64; 2], f64)> = draws.iter().map(|&at| (at, 1.0)).collect();
        let column = |which: usize| draws.iter().map(|at| at[which] as f64).collect::<Vec<_>>();
        let (above, below) = (column(0), column(1));
        let check = |got: Ratios, want: Option<[Fraction; 2]>, what: &str| {
            let want = want.map(|ends| ends.map(|[up, down]| up as f64 / down as f64));
            let near = |got: f64, want: f64| (libm::atan(got) - libm::atan(want)).abs() < 1e-10;
            let is_near = match (got, want) {
                (Some((low, high)), Some([least, most])) => near(low, least) && near(high, most),
                (got, want) => got.is_none() && want.is_none(),
            };
            assert!(is_near, "{what}: {got:?} {want:?}");
        };
        let (mut ruled_out, mut open) = (0, 0);
        for released in (-3..9).flat_map(|a| (-3..7).map(move |b| [a, b])).chain([[90, 60], [1000, -4]]) {
            let own = released.map(|y| y as f64);
            for level in [0.6, 0.9] {
                let got = law.ratios(own, level);
                ruled_out += usize::from(got.is_none());
                open += usize::from(got.is_some_and(|(_, high)| high == f64::INFINITY));
                check(got, listed(released, &noise, level + 4e-12), &format!("{released:?} {level}"));
                let rank = libm::ceil(level * 61.0 - 1e-9);
                let got = drawn_ratios(own, [&above, &below], level);
                check(got, listed(released, &drawn, rank), &format!("draws {released:?} {level}"));
            }
        }
        assert!(ruled_out > 5 && open > 20, "{ruled_out} {open}");
    }

    /// The law and 9,999 draws of the sampler, which goes another way, agree: ends by draws lie between those by the law at levels 5
    /// standard errors below and above.
    #[test]
    fn draws_and_the_law_agree() {
        let (tree, laws) = (tree(), [DoubleGeometric::new(2.0).unwrap(); 3]);
        let weights: [&[i64]; 2] = [&[1, 0, 1, 0], &[0, 1, 0, 0]];
        let sampler = IntegerTree::new(&tree, &laws, None).unwrap();
        let (mut rng, mut scratch) = (test_stream(303), PartsScratch::default());
        let (mut noise, mut drawn) = (vec![0; tree.nodes()], [Vec::new(), Vec::new()]);
        for _ in 0..9999 {
            sampler.draw(&mut rng, &mut scratch, &mut noise);
            for (all, weights) in drawn.iter_mut().zip(weights) {
                let own = tree.leaves().iter().zip(weights).map(|(&leaf, c)| noise[leaf as usize] * c);
                all.push(own.sum::<i64>() as f64);
            }
        }
        let law = law(2.0);
        for released in [[60.0, 40.0], [200.0, 31.0], [9.0, 70.0], [30.0, 1.0]] {
            for level in [0.5, 0.9] {
                let slack = 5.0 * libm::sqrt(level * (1.0 - level) / 9999.0);
                let got = drawn_ratios(released, [&drawn[0], &drawn[1]], level).unwrap();
                let [short, long] =
                    [level - slack, level + slack].map(|level| law.ratios(released, level).unwrap());
                // Ends of integers are often equal, but for the slack.
                let is_before = |a: f64, b: f64| libm::atan(a) <= libm::atan(b) + 1e-10;
                let low = is_before(long.0, got.0) && is_before(got.0, short.0);
                let high = is_before(short.1, got.1) && is_before(got.1, long.1);
                assert!(low && high, "{released:?} {got:?} {short:?} {long:?}");
            }
        }
    }

    /// Normal noise: roots of `(a - r b)² = q² (v - 2 r c + r² w)`, where the lower sum is away from 0.
    #[test]
    fn normal_ends_are_roots() {
        let noise: [&[f64]; 2] = [&[3.0, 1.0, 0.0], &[-1.0, 2.0, 0.5]];
        let (v, c, w) = (10.0, -1.0, 5.25);
        for ([a, b], level) in [([300.0, 200.0], 0.9), ([5.0, 900.0], 0.5), ([1e6, 40.0], 0.99)] {
            let q = normal_quantile(0.5 * (1.0 + level));
            let (two, one, none) = (b * b - q * q * w, a * b - q * q * c, a * a - q * q * v);
            let root = libm::sqrt(one * one - two * none);
            let (low, high) = normal_ratios([a, b], noise, level).unwrap();
            let (least, most) = ((one - root) / two, (one + root) / two);
            assert!((low / least - 1.0).abs() < 1e-7 && (high / most - 1.0).abs() < 1e-7, "{low} {high}");
        }
        let open = normal_ratios([300.0, 2.0], noise, 0.9).unwrap();
        assert!(open.0 > 20.0 && open.1 == f64::INFINITY, "{open:?}");
        assert_eq!(normal_ratios([1.0, 300.0], noise, 0.9).unwrap().0, 0.0);
        assert_eq!(normal_ratios([-300.0, 500.0], noise, 0.9), None);
        // Both are fixed.
        let (low, high) = normal_ratios([30.0, 20.0], [&[], &[]], 0.9).unwrap();
        assert!(low <= 1.5 && 1.5 <= high && high - low < 1e-9, "{low} {high}");
    }
}
