//! What the operators cost: levels before and after.

use super::belief::{Belief, Event};
use super::draw::{self, Settings};
use super::finding::{Claim, Finding, Operator, Property, Tally};
use super::mechanism::Mechanism;
use super::space::{Metric, Space};
use congenial_core::Result;
use congenial_core::rng::{Rng, below};

/// A mechanism of level `epsilon` whose law given `{0, 1}` has a level close to `2 epsilon`, on three worlds.
///
/// `P' = (s, 1/2, 1/2 - s)` and `P = (e^epsilon s, e^-epsilon / 2, rest)`: given the event the ratio at world 0 is
/// `e^epsilon (s + 1/2) / (e^epsilon s + e^-epsilon / 2)`, which grows to `e^(2 epsilon)` as `s` vanishes.
fn almost_doubled(epsilon: f64) -> Result<Mechanism> {
    let s = 1e-6 * libm::exp(-2.0 * epsilon);
    let (first, second) = (libm::exp(epsilon) * s, 0.5 * libm::exp(-epsilon));
    let near = Belief::new(vec![first, second, 1.0 - first - second])?;
    Mechanism::all_neighbours(vec![near, Belief::new(vec![s, 0.5, 0.5 - s])?])
}

/// Double geometric noise on a line of `worlds + 2` cells, and a random set of at least two inner cells that holds a
/// pair of neighbours, or the half line from cell 1 on; the datasets are the cells of the set (Definition 3.1).
fn on_a_line(settings: &Settings, half: bool, rng: &mut dyn Rng) -> Result<(Mechanism, Event)> {
    let cells = settings.worlds + 2;
    let event = if half {
        Event::of(1..cells)
    } else {
        let pair = 1 + below(rng, settings.worlds as u64 - 1) as usize;
        let inner = (1..=settings.worlds).filter(|&y| y == pair || y == pair + 1 || below(rng, 2) == 0);
        Event::of(inner.collect::<Vec<_>>())
    };
    let mechanism = Mechanism::double_geometric(cells, settings.epsilon)?;
    Ok((mechanism.datasets(|x| event.contains(x))?, event))
}

/// Examples of mechanisms with an event, for any `C`: the almost doubled one, noise on a half line, and as many as the
/// settings ask for, noise on a line and exponential mechanisms in turn.
fn examples(
    settings: &Settings,
    rng: &mut dyn Rng,
    mut see: impl FnMut(Mechanism, Event, Space, &str) -> Result<()>,
) -> Result<()> {
    let line = |worlds: usize| Space::line(worlds, Metric::SquaredL2);
    see(almost_doubled(settings.epsilon)?, Event::of([0, 1]), line(3)?, "three worlds made for it")?;
    let (mechanism, event) = on_a_line(settings, true, rng)?;
    see(mechanism, event, line(settings.worlds + 2)?, "double geometric noise on a half line")?;
    for case in 0..settings.cases {
        if case % 2 == 0 {
            let (mechanism, event) = on_a_line(settings, false, rng)?;
            see(mechanism, event, line(settings.worlds + 2)?, "double geometric noise on a random set")?;
        } else {
            let worlds = settings.worlds;
            let mechanism = draw::mechanism(worlds, settings.epsilon, rng)?;
            let space = draw::space(worlds, draw::metric(rng), rng)?;
            see(mechanism, draw::event(worlds, rng), space, "an exponential mechanism")?;
        }
    }
    Ok(())
}

/// Privacy preserving (Table 1, first column; Lemma 3.7 for imaging): what the mechanism pays covers the mechanism
/// after the operator, (epsilon, delta) as [`Mechanism::excess`] compares them.
pub(super) fn preserved(operator: Operator, settings: &Settings, rng: &mut dyn Rng) -> Result<Finding> {
    let mut tally = Tally::new();
    examples(settings, rng, |mechanism, event, space, name| {
        let after = mechanism.each(|belief| operator.apply(belief, &space, event))?;
        let (level, changed) = (mechanism.level(), after.level());
        tally.see(after.excess(&[&mechanism]), || {
            format!(
                "{name}, {} of {} outputs: level {level:.6} becomes {changed:.6}",
                event.size(),
                space.worlds()
            )
        });
        Ok(())
    })?;
    let (statement, claim) = match operator {
        Operator::Conditioning => ("Section 3: general C", false),
        Operator::Imaging => ("Lemma 3.7", true),
    };
    let claim = Claim { statement, operator, property: Property::PrivacyPreserving, claim };
    Ok(tally.finding(claim, settings.tolerance(), "(epsilon, delta) after beyond before"))
}

/// Gong and Meng (2020), Theorem 2.1, as section 3 quotes it: the law given `C` has level at most
/// `epsilon + max ln(c_D / c_D')` over neighbours, `c_D = P(M(D) in C)`, and never more than `2 epsilon`.
/// The deviation is what is beyond; the evidence has the largest `gamma = level / epsilon - 1`.
pub(super) fn congenial(settings: &Settings, rng: &mut dyn Rng) -> Result<Finding> {
    let (mut tally, mut gamma) = (Tally::new(), f64::NEG_INFINITY);
    examples(settings, rng, |mechanism, event, _, name| {
        let level = mechanism.level();
        if level > 0.0 {
            let after = mechanism.each(|belief| belief.conditioned(event))?.level();
            let beyond = after - level - log_masses(&mechanism, event).min(level);
            gamma = gamma.max(after / level - 1.0);
            tally.see(beyond, || name.to_string());
        }
        Ok(())
    })?;
    let measured = format!("level given C beyond the bound; largest gamma met {gamma:.6}");
    let statement = "Section 3: gamma <= 1 (Gong and Meng, Theorem 2.1)";
    let claim = Claim { statement, operator: Operator::Conditioning, property: Property::Other, claim: true };
    Ok(tally.finding(claim, settings.tolerance(), &measured))
}

/// The largest `ln(P_D(event) / P_D'(event))` over neighbours.
fn log_masses(mechanism: &Mechanism, event: Event) -> f64 {
    let mass = |d: usize| mechanism.beliefs()[d].of(event);
    let pairs = mechanism.neighbours().iter().map(|&(a, b)| libm::log(mass(a) / mass(b)).abs());
    pairs.fold(0.0, f64::max)
}

/// Gong and Meng (2020), Example 5.2: given that the output is the true value, whatever the data, it tells nothing:
/// level 0, `gamma = -1`. All single cells of a line with double geometric noise.
pub(super) fn secrecy(settings: &Settings) -> Result<Finding> {
    let mechanism = Mechanism::double_geometric(settings.worlds + 2, settings.epsilon)?;
    let mut tally = Tally::new();
    for cell in 0..settings.worlds + 2 {
        let after = mechanism.each(|belief| belief.conditioned(Event::of([cell])))?;
        tally.see(after.level(), || format!("C = {{{cell}}}, level {:.6} before", mechanism.level()));
    }
    let statement = "Gong and Meng, Example 5.2: one output, level 0";
    let claim = Claim { statement, operator: Operator::Conditioning, property: Property::Other, claim: true };
    Ok(tally.finding(claim, settings.tolerance(), "level given C"))
}

/// `ln(1 + a - a²) / epsilon`: the exact largest `gamma` of double geometric noise with `a = e^-epsilon`, neighbours
/// at distance 1, over all sets `C` that hold both true values.
///
/// For `x = 0`, `x' = 1` the masses of `C` are as `1 + a + a S + T` to `1 + a + S + a T`, with
/// `S = sum_(y >= 2) a^(y-1)` and `T = sum_(y < 0) a^-y` over `C`. Their ratio is largest at `T = 0` and the largest
/// `S = a / (1 - a)`, the half line `C = {0, 1, ..}`, where it is `1 + a - a²`. It is met at `y = x = 0`.
fn largest_gamma(epsilon: f64) -> f64 {
    let a = libm::exp(-epsilon);
    libm::log1p(a * -libm::expm1(-epsilon)) / epsilon
}

/// Double geometric noise: the level given `C` is at most `epsilon + ln(1 + a - a²)` for every `C` and equal on the
/// half line, that is for counts known to be nonnegative. See `largest_gamma` for the proof.
pub(super) fn geometric_gamma(settings: &Settings, rng: &mut dyn Rng) -> Result<Finding> {
    let bound = settings.epsilon * (1.0 + largest_gamma(settings.epsilon));
    let mut tally = Tally::new();
    for case in 0..=settings.cases {
        let (mechanism, event) = on_a_line(settings, case == 0, rng)?;
        let level = mechanism.each(|belief| belief.conditioned(event))?.level();
        let deviation = if case == 0 { (level - bound).abs() } else { level - bound };
        tally.see(deviation, || format!("case {case}, {} cells, level {level:.6}", event.size()));
    }
    let measured = format!("level given C beyond {bound:.6}, its value for C = {{0, 1, ..}}");
    let statement = "Double geometric noise: gamma <= ln(1 + a - a²) / epsilon";
    let claim = Claim { statement, operator: Operator::Conditioning, property: Property::Other, claim: true };
    Ok(tally.finding(claim, settings.tolerance(), &measured))
}

/// Privacy preserving for linear equations, imaging: double geometric noise on the two coordinates of a grid, `C` a
/// line `i + j = b` of the grid, datasets on it, neighbours two steps apart; both metrics.
pub(super) fn preserved_on_equations(
    operator: Operator,
    settings: &Settings,
    rng: &mut dyn Rng,
) -> Result<Finding> {
    let side = settings.side();
    let axis = Mechanism::double_geometric(side, 0.5 * settings.epsilon)?;
    let law = |i: usize, j: usize| axis.beliefs()[i].product(&axis.beliefs()[j]);
    let mut tally = Tally::new();
    for case in 0..settings.cases {
        let total = 1 + below(rng, 2 * side as u64 - 3) as usize;
        let on_line = |i: usize| (total + 1).saturating_sub(side) <= i && i <= total && i < side;
        let rows: Vec<usize> = (0..side).filter(|&i| on_line(i)).collect();
        let beliefs = rows.iter().map(|&i| law(i, total - i)).collect::<Result<Vec<_>>>()?;
        let mechanism = Mechanism::new(beliefs, (1..rows.len()).map(|d| (d - 1, d)).collect())?;
        let line = Space::line(side, draw::metric(rng))?;
        let space = line.product(&line)?;
        let event = Event::of(rows.iter().map(|&i| i * side + total - i));
        let after = mechanism.each(|belief| operator.apply(belief, &space, event))?;
        let (level, changed) = (mechanism.level(), after.level());
        tally.see(after.excess(&[&mechanism]), || {
            format!("case {case}, i + j = {total}: level {level:.6} becomes {changed:.6}")
        });
    }
    let claim = Claim {
        statement: "Lemma 3.7, C a line",
        operator,
        property: Property::PrivacyPreservingLinear,
        claim: true,
    };
    Ok(tally.finding(claim, settings.tolerance(), "(epsilon, delta) after beyond before"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::test_stream;

    const SETTINGS: Settings = Settings { worlds: 8, cases: 200, epsilon: 1.0 };

    #[test]
    fn conditioning_costs_and_imaging_does_not() {
        let mut rng = test_stream(1);
        let conditioning = preserved(Operator::Conditioning, &SETTINGS, &mut rng).unwrap();
        assert!(!conditioning.holds && (conditioning.worst - 1.0).abs() < 1e-5, "{conditioning:?}");
        assert!(preserved(Operator::Imaging, &SETTINGS, &mut rng).unwrap().holds);
    }

    /// Nonnegative counts at epsilon = 1: level 1 + ln(1 + 1/e - 1/e²).
    #[test]
    fn half_line_by_hand() {
        let (mechanism, event) = on_a_line(&SETTINGS, true, &mut test_stream(1)).unwrap();
        let after = mechanism.each(|belief| belief.conditioned(event)).unwrap();
        assert!((mechanism.level() - 1.0).abs() < 1e-12);
        assert!((after.level() - 1.209_080_454_232).abs() < 1e-9, "{}", after.level());
    }

    /// Equal masses of the tails: the law of the end cells is that of the infinite line.
    #[test]
    fn end_cells_hold_the_tails() {
        let a = libm::exp(-0.7);
        let mechanism = Mechanism::double_geometric(4, 0.7).unwrap();
        let p = mechanism.beliefs()[1].probabilities();
        let expected = [a / (1.0 + a), (1.0 - a) / (1.0 + a), a * (1.0 - a) / (1.0 + a), a * a / (1.0 + a)];
        assert!(p.iter().zip(expected).all(|(p, e)| (p - e).abs() < 1e-15), "{p:?} {expected:?}");
    }

    #[test]
    fn randomised_response_has_its_level_and_delta() {
        let mechanism = Mechanism::randomised_response(1.5).unwrap();
        let truth = 1.0 / (1.0 + libm::exp(-1.5));
        assert!((mechanism.level() - 1.5).abs() < 1e-14);
        assert!((mechanism.delta(0.0) - (2.0 * truth - 1.0)).abs() < 1e-15);
        assert!(mechanism.delta(1.5) < 1e-15);
    }
}
