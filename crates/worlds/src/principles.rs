//! What characterises the two operators on beliefs: kept ratios, mixtures, the smallest change.

use super::belief::{Belief, Event};
use super::draw::{self, Settings};
use super::finding::{Claim, Finding, Operator, Property, Tally};
use super::space::{Metric, Space};
use congenial_core::Result;
use congenial_core::rng::{Rng, below, exponential, open01};

/// By how much `after` breaks the conditions of Proposition 2.1 for a `before` with `P(E) > 0`: the mass outside `E`
/// plus the largest `|P'(w) P(w') - P'(w') P(w)|` over worlds of `E`. Zero if and only if both conditions hold.
fn changes_ratios(before: &Belief, after: &Belief, event: Event) -> f64 {
    let (p, q) = (before.probabilities(), after.probabilities());
    let cross = event.worlds().flat_map(|a| event.worlds().map(move |b| (q[a] * p[b] - q[b] * p[a]).abs()));
    1.0 - after.of(event) + cross.fold(0.0, f64::max)
}

/// Proposition 2.1: `P'` is `P(. | E)` if and only if `P'(not E) = 0` and `P'` keeps the ratios of `P` in `E`.
///
/// Forwards: the operator's result has violation `v = 0`, and `P'(B) P(B') = P'(B') P(B)` for random `B`, `B'` in `E`.
/// Backwards, with a number: summing the cross products over `w'` in `E` gives
/// `|P'(w) - P(w | E)| <= (|E| / P(E) + 1) v` for every `P'`, so `v = 0` leaves only `P(. | E)`. Checked for random
/// `P'` and for `P'` close to the result.
pub(super) fn characterisation(
    operator: Operator,
    settings: &Settings,
    rng: &mut dyn Rng,
) -> Result<Finding> {
    let mut tally = Tally::new();
    for case in 0..settings.cases {
        let worlds = settings.worlds;
        let event = draw::event(worlds, rng);
        let space = draw::space(worlds, draw::metric(rng), rng)?;
        let before = draw::sparse_belief(worlds, event, rng)?;
        let after = operator.apply(&before, &space, event)?;
        let mut deviation = changes_ratios(&before, &after, event);
        let mut part = || Event::of(event.worlds().filter(|_| below(rng, 2) == 0));
        let (b, c) = (part(), part());
        deviation = deviation.max((after.of(b) * before.of(c) - after.of(c) * before.of(b)).abs());
        let conditional = before.conditioned(event)?;
        let other = draw::sparse_belief(worlds, event, rng)?;
        let step = libm::pow(10.0, -6.0 * open01(rng));
        for other in [Belief::mixture(&[(1.0 - step, &after), (step, &other)])?, other] {
            let factor = event.size() as f64 / before.of(event) + 1.0;
            let room = factor * changes_ratios(&before, &other, event);
            deviation = deviation.max(other.distance(&conditional) - room);
        }
        tally.see(deviation, || format!("case {case}, {} of {worlds} worlds", event.size()));
    }
    let claim = Claim { statement: "Proposition 2.1", operator, property: Property::Other, claim: true };
    Ok(tally.finding(claim, 1e-9, "kept ratios, and distance from P(.|E) beyond what broken ratios allow"))
}

/// Proposition 2.2: for disjoint `C`, `C'` the result on the union is `lambda` times that on `C` plus `1 - lambda`
/// times that on `C'`, with `lambda = P(C) / (P(C) + P(C'))`.
pub(super) fn union_formula(operator: Operator, settings: &Settings, rng: &mut dyn Rng) -> Result<Finding> {
    let mut tally = Tally::new();
    for case in 0..settings.cases {
        let (c, d) = draw::disjoint(settings.worlds, rng);
        let space = draw::space(settings.worlds, draw::metric(rng), rng)?;
        let belief = draw::belief(settings.worlds, rng)?;
        let lambda = belief.of(c) / (belief.of(c) + belief.of(d));
        let (on_c, on_d) = (operator.apply(&belief, &space, c)?, operator.apply(&belief, &space, d)?);
        let mixed = Belief::mixture(&[(lambda, &on_c), (1.0 - lambda, &on_d)])?;
        let deviation = operator.apply(&belief, &space, c.union(d))?.distance(&mixed);
        tally.see(deviation, || format!("case {case}, sets of {} and {} worlds", c.size(), d.size()));
    }
    let claim = Claim { statement: "Proposition 2.2", operator, property: Property::Other, claim: true };
    Ok(tally.finding(claim, 1e-9, "difference of P(.|C u C') and the mixture by lambda"))
}

/// Equation (2): the result for `lambda P + (1 - lambda) P'` is the mixture of the results.
pub(super) fn homomorphism(operator: Operator, settings: &Settings, rng: &mut dyn Rng) -> Result<Finding> {
    let mut tally = Tally::new();
    for case in 0..settings.cases {
        let event = draw::event(settings.worlds, rng);
        let space = draw::space(settings.worlds, draw::metric(rng), rng)?;
        let (p, q) = (draw::belief(settings.worlds, rng)?, draw::belief(settings.worlds, rng)?);
        let lambda = open01(rng);
        let mixed = |p: &Belief, q: &Belief| Belief::mixture(&[(lambda, p), (1.0 - lambda, q)]);
        let after = operator.apply(&mixed(&p, &q)?, &space, event)?;
        let parts = mixed(&operator.apply(&p, &space, event)?, &operator.apply(&q, &space, event)?)?;
        tally.see(after.distance(&parts), || format!("case {case}, lambda {lambda:.4}"));
    }
    let claim = Claim { statement: "Equation (2)", operator, property: Property::Other, claim: true };
    Ok(tally.finding(claim, 1e-9, "difference of the result of a mixture and the mixture of the results"))
}

/// The worlds of Example 2.3 by (apple, banana) and the belief in them; the event is "no apple".
fn apple_or_banana() -> Result<(Space, Belief, Event)> {
    let space = Space::new(vec![[1, 1, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]], Metric::L1)?;
    Ok((space, Belief::new(vec![0.0, 0.7, 0.3, 0.0])?, Event::of([2, 3])))
}

/// Example 2.3: an apple (0.7) or a banana (0.3) is in the box; then there is no apple. Conditioning is sure of the
/// banana; imaging keeps 0.3 for it and gives 0.7 to the empty box.
pub(super) fn example(operator: Operator) -> Result<Finding> {
    let (space, belief, event) = apple_or_banana()?;
    let after = operator.apply(&belief, &space, event)?;
    let printed = match operator {
        Operator::Conditioning => [0.0, 0.0, 1.0, 0.0],
        Operator::Imaging => [0.0, 0.0, 0.3, 0.7],
    };
    let mut tally = Tally::new();
    tally.see(after.distance(&Belief::new(printed.to_vec())?), || format!("{:?}", after.probabilities()));
    let claim = Claim { statement: "Example 2.3", operator, property: Property::Other, claim: true };
    Ok(tally.finding(claim, 1e-12, "difference from the printed probabilities of the four worlds"))
}

/// Section 2: an impossible world stays impossible and a sure event stays sure. True for conditioning; imaging breaks
/// both, in Example 2.3 already. The deviation is the largest new mass of worlds that had none.
pub(super) fn impossible_stays(
    operator: Operator,
    settings: &Settings,
    rng: &mut dyn Rng,
) -> Result<Finding> {
    let mut tally = Tally::new();
    let mut see = |space: &Space, belief: &Belief, event: Event, name: &str| -> Result<()> {
        let after = operator.apply(belief, space, event)?;
        let impossible = Event::of((0..belief.worlds()).filter(|&w| belief.probabilities()[w] == 0.0));
        let mass = after.of(impossible);
        tally.see(mass, || format!("{name}: mass {mass:.4} in worlds that had none"));
        Ok(())
    };
    let (space, belief, event) = apple_or_banana()?;
    see(&space, &belief, event, "Example 2.3")?;
    for _ in 0..settings.cases {
        let event = draw::event(settings.worlds, rng);
        let space = draw::space(settings.worlds, draw::metric(rng), rng)?;
        see(&space, &draw::sparse_belief(settings.worlds, event, rng)?, event, "a random belief")?;
    }
    let claim = operator == Operator::Conditioning;
    let statement = "Section 2: the impossible stays impossible";
    Ok(tally.finding(Claim { statement, operator, property: Property::Other, claim }, 1e-12, "new mass"))
}

/// The minimum principle of conditioning (section 2): among all `P'` with `P'(C) = 1` the result minimises
/// `I(P, P') = sum P' ln(P' / P)`, and the minimum is `-ln P(C)`.
///
/// The deviation is the largest of: what a competitor undercuts the result by, and the error of the closed form.
/// Competitors: a random belief on `C`, steps from the result towards it, and the results of both operators.
pub(super) fn least_information(
    operator: Operator,
    settings: &Settings,
    rng: &mut dyn Rng,
) -> Result<Finding> {
    let mut tally = Tally::new();
    for case in 0..settings.cases {
        let worlds = settings.worlds;
        let event = draw::event(worlds, rng);
        let space = draw::space(worlds, draw::metric(rng), rng)?;
        let belief = draw::belief(worlds, rng)?;
        let after = operator.apply(&belief, &space, event)?;
        let least = belief.information(&after);
        let other = draw::sparse_belief(worlds, event, rng)?.conditioned(event)?;
        let step = libm::pow(10.0, -4.0 * open01(rng));
        let near = Belief::mixture(&[(1.0 - step, &after), (step, &other)])?;
        let [first, second] = Operator::ALL.map(|rival| rival.apply(&belief, &space, event));
        let undercut = [other, near, first?, second?].map(|rival| least - belief.information(&rival));
        let closed = (least + libm::log(belief.of(event))).abs();
        tally.see(undercut.into_iter().fold(closed, f64::max), || format!("case {case}, {least:.4} nats"));
    }
    let claim =
        Claim { statement: "Minimum principle, KL", operator, property: Property::Minimum, claim: true };
    Ok(tally.finding(claim, 1e-9, "I(P, P') beyond a competitor's or off -ln P(C)"))
}

/// Where the mass of each world goes: row `w` is the law of the world that `w` moves to.
type Plan = Vec<Vec<f64>>;

/// The plan of an operator: imaging moves `w` to the closest world of `C`; conditioning keeps the worlds of `C` and
/// spreads all others like `P(. | C)`.
fn plan(operator: Operator, belief: &Belief, space: &Space, event: Event) -> Result<Plan> {
    let sure = |to: usize| (0..belief.worlds()).map(|w| f64::from(u8::from(w == to))).collect::<Vec<f64>>();
    let closest = space.closest(event)?;
    let conditional = belief.conditioned(event)?;
    Ok((0..belief.worlds())
        .map(|w| match operator {
            Operator::Imaging => sure(closest[w]),
            Operator::Conditioning if event.contains(w) => sure(w),
            Operator::Conditioning => conditional.probabilities().to_vec(),
        })
        .collect())
}

fn cost(plan: &Plan, belief: &Belief, space: &Space) -> f64 {
    let row = |(from, row): (usize, &Vec<f64>)| -> f64 {
        let moved = row.iter().enumerate().map(|(to, part)| part * space.distance(from, to) as f64);
        belief.probabilities()[from] * moved.sum::<f64>()
    };
    plan.iter().enumerate().map(row).sum()
}

/// The minimum principle of imaging: among all ways to move the probability of every world into `C` (couplings of `P`
/// with any `P'`, `P'(C) = 1`) its way has the least expected distance, squared L2 or L1, and the minimum is
/// `sum P(w) dist(w, C)`.
///
/// Competitors: random plans, plans that differ from the result's in one world, and those of both operators. The
/// deviation is relative to the mean distance of the points, as `least_information` else.
pub(super) fn least_movement(
    operator: Operator,
    metric: Metric,
    settings: &Settings,
    rng: &mut dyn Rng,
) -> Result<Finding> {
    let mut tally = Tally::new();
    for case in 0..settings.cases {
        let worlds = settings.worlds;
        let event = draw::event(worlds, rng);
        let space = draw::space(worlds, metric, rng)?;
        let belief = draw::belief(worlds, rng)?;
        let result = plan(operator, &belief, &space, event)?;
        let least = cost(&result, &belief, &space);
        let random: Plan = (0..worlds)
            .map(|_| {
                let weights = (0..worlds).map(|w| if event.contains(w) { exponential(rng) } else { 0.0 });
                Belief::new(weights.collect()).map(|row| row.probabilities().to_vec())
            })
            .collect::<Result<_>>()?;
        let mut near = result.clone();
        let changed = below(rng, worlds as u64) as usize;
        near[changed].clone_from(&random[changed]);
        let [first, second] = Operator::ALL.map(|rival| plan(rival, &belief, &space, event));
        let undercut = [random, near, first?, second?].map(|rival| least - cost(&rival, &belief, &space));
        let to_event = |from| event.worlds().map(|to| space.distance(from, to)).min().unwrap_or(0) as f64;
        let closed: f64 = belief.probabilities().iter().enumerate().map(|(w, p)| p * to_event(w)).sum();
        let unit = (1..worlds).map(|w| space.distance(0, w)).max().unwrap_or(1).max(1) as f64;
        let deviation = undercut.into_iter().fold((least - closed).abs(), f64::max) / unit;
        tally.see(deviation, || format!("case {case}, least {:.4} of the widest", least / unit));
    }
    let statement = match metric {
        Metric::L1 => "Minimum principle, L1 distance",
        Metric::SquaredL2 => "Minimum principle, L2 distance",
    };
    let claim = Claim { statement, operator, property: Property::Minimum, claim: true };
    Ok(tally.finding(claim, 1e-9, "expected distance beyond a competitor's or off sum P(w) dist(w, C)"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::test_stream;

    const SETTINGS: Settings = Settings { worlds: 6, cases: 200, epsilon: 1.0 };

    #[test]
    fn the_apple_and_the_banana() {
        let (space, belief, event) = apple_or_banana().unwrap();
        let after = |operator: Operator| operator.apply(&belief, &space, event).unwrap();
        assert_eq!(after(Operator::Conditioning).probabilities(), [0.0, 0.0, 1.0, 0.0]);
        assert_eq!(after(Operator::Imaging).probabilities(), [0.0, 0.0, 0.3, 0.7]);
        assert!(example(Operator::Conditioning).unwrap().holds && example(Operator::Imaging).unwrap().holds);
    }

    /// Every check finds it out when it is given the operator that it does not hold for.
    #[test]
    fn principles_fail_for_the_other_operator() {
        let mut rng = test_stream(1);
        let rng = &mut rng;
        let (conditioning, imaging) = (Operator::Conditioning, Operator::Imaging);
        assert!(!characterisation(imaging, &SETTINGS, rng).unwrap().holds);
        assert!(!union_formula(imaging, &SETTINGS, rng).unwrap().holds);
        assert!(!homomorphism(conditioning, &SETTINGS, rng).unwrap().holds);
        assert!(!impossible_stays(imaging, &SETTINGS, rng).unwrap().holds);
        assert!(!least_information(imaging, &SETTINGS, rng).unwrap().holds);
        for metric in [Metric::L1, Metric::SquaredL2] {
            assert!(!least_movement(conditioning, metric, &SETTINGS, rng).unwrap().holds);
        }
    }

    #[test]
    fn information_of_a_coin() {
        let fair = Belief::new(vec![1.0, 1.0]).unwrap();
        let sure = Belief::new(vec![1.0, 0.0]).unwrap();
        assert!((fair.information(&sure) - std::f64::consts::LN_2).abs() < 1e-15);
        assert_eq!(sure.information(&fair), f64::INFINITY);
    }
}
