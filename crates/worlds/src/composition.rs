//! Functions of changed mechanisms, pairs, unions of events and mixtures.

use super::belief::{Belief, Event};
use super::draw::{self, Settings};
use super::finding::{Claim, Finding, Operator, Property, Tally};
use super::mechanism::Mechanism;
use super::space::{Metric, Space};
use congenial_core::Result;
use congenial_core::rng::{Rng, open01};

/// Two beliefs, one for each of two neighbouring datasets.
fn two(first: &[f64], second: &[f64]) -> Result<Mechanism> {
    Mechanism::all_neighbours(vec![Belief::new(first.to_vec())?, Belief::new(second.to_vec())?])
}

/// `(1, e^-epsilon)` brought to sum 1: the odds of randomised response.
fn odds(epsilon: f64) -> (f64, f64) {
    let lie = 1.0 / (1.0 + libm::exp(epsilon));
    (1.0 - lie, lie)
}

fn changed(operator: Operator, mechanism: &Mechanism, space: &Space, event: Event) -> Result<Mechanism> {
    mechanism.each(|belief| operator.apply(belief, space, event))
}

fn random_space(settings: &Settings, rng: &mut dyn Rng) -> Result<Space> {
    draw::space(settings.worlds, draw::metric(rng), rng)
}

/// Postprocessing (Lemma 3.4 (1) and, with `h` after the operator, Lemma 3.8): a function `h` of the changed mechanism
/// is no less private, (epsilon, delta).
pub(super) fn postprocessing(operator: Operator, settings: &Settings, rng: &mut dyn Rng) -> Result<Finding> {
    let mut tally = Tally::new();
    for case in 0..settings.cases {
        let worlds = settings.worlds;
        let mechanism = draw::mechanism(worlds, settings.epsilon, rng)?;
        let (space, event, h) =
            (random_space(settings, rng)?, draw::event(worlds, rng), draw::map(worlds, rng));
        let before = changed(operator, &mechanism, &space, event)?;
        let after = before.each(|belief| belief.moved(&h, worlds))?;
        let (level, of_function) = (before.level(), after.level());
        tally.see(after.excess(&[&before]), || {
            format!("case {case}, level {level:.6} becomes {of_function:.6}")
        });
    }
    let statement = match operator {
        Operator::Conditioning => "Lemma 3.4 (1)",
        Operator::Imaging => "Lemma 3.8: h of the imaged output",
    };
    let claim = Claim { statement, operator, property: Property::Postprocessing, claim: true };
    Ok(tally.finding(
        claim,
        settings.tolerance(),
        "(epsilon, delta) of the function beyond that of its input",
    ))
}

/// Lemma 3.4 (2) with `C` a set of outputs of `M`: the law of `h(M)` given `M in C`, computed from the joint law of
/// `h(M)` and `M in C`, is the law of `h` of the conditional mechanism.
pub(super) fn function_given(settings: &Settings, rng: &mut dyn Rng) -> Result<Finding> {
    let mut tally = Tally::new();
    for case in 0..settings.cases {
        let worlds = settings.worlds;
        let mechanism = draw::mechanism(worlds, settings.epsilon, rng)?;
        let (event, h) = (draw::event(worlds, rng), draw::map(worlds, rng));
        let joint = |belief: &Belief| {
            let mut inside = vec![0.0; worlds];
            for (world, p) in belief.probabilities().iter().enumerate() {
                inside[h[world]] += if event.contains(world) { *p } else { 0.0 };
            }
            Belief::new(inside)
        };
        let first = mechanism.each(|belief| belief.conditioned(event)?.moved(&h, worlds))?;
        tally.see(first.distance(&mechanism.each(joint)?), || format!("case {case}"));
    }
    let claim = Claim {
        statement: "Lemma 3.4 (2): h(M) given M in C",
        operator: Operator::Conditioning,
        property: Property::Postprocessing,
        claim: true,
    };
    Ok(tally.finding(claim, 1e-9, "difference of the law given M in C and h of the conditional law"))
}

/// Lemmas 3.4 (2) and 3.8 read by the letter, the operator with `C` applied to `h(M)`: is the result as private as the
/// changed `M`? It is not: what `h` mixes into `C` was outside before.
///
/// Conditioning: `M = (r / 4, r / 4, 1 - r / 2)` with `r` the odds of randomised response, `C = {0, 1}`, `h` swaps 1 and
/// 2: given `C`, `M` is uniform for both datasets, level 0; `h(M)` given `C` has odds `r / 4 : 1 - r / 2`.
/// Imaging: `M = (1/3, 0, r / 3 + 1/6, 1/2 - r / 3)` on a line, `C = {0, 1}`, `h` swaps 0 and 3: the image of `M` has
/// 1/3 at 0 for both datasets, that of `h(M)` has `1/2 - r / 3`.
pub(super) fn function_first(operator: Operator, settings: &Settings, rng: &mut dyn Rng) -> Result<Finding> {
    let mut tally = Tally::new();
    let mut see = |m: &Mechanism, space: &Space, event: Event, h: &[usize], name: &str| -> Result<()> {
        let before = changed(operator, m, space, event)?;
        let after = changed(operator, &m.each(|belief| belief.moved(h, space.worlds()))?, space, event)?;
        let (level, of_function) = (before.level(), after.level());
        tally.see(after.excess(&[&before]), || {
            format!("{name}: M pays {:.6}, changed {level:.6}, h(M) changed {of_function:.6}", m.level())
        });
        Ok(())
    };
    let (high, low) = odds(settings.epsilon);
    let (mechanism, h): (_, &[usize]) = match operator {
        Operator::Conditioning => {
            let law = |r: f64| [0.25 * r, 0.25 * r, 1.0 - 0.5 * r];
            (two(&law(high), &law(low))?, &[0, 2, 1])
        }
        Operator::Imaging => {
            let law = |r: f64| [1.0 / 3.0, 0.0, r / 3.0 + 1.0 / 6.0, 0.5 - r / 3.0];
            (two(&law(high), &law(low))?, &[3, 1, 2, 0])
        }
    };
    let line = Space::line(h.len(), Metric::SquaredL2)?;
    see(&mechanism, &line, Event::of([0, 1]), h, "the example of the text")?;
    for _ in 0..settings.cases {
        let worlds = settings.worlds;
        let mechanism = draw::mechanism(worlds, settings.epsilon, rng)?;
        let space = random_space(settings, rng)?;
        // Odd images of C and the rest, one to one or not.
        let h = draw::map(worlds, rng);
        let mut event = draw::event(worlds, rng);
        if !h.iter().any(|&to| event.contains(to)) {
            event = event.union(Event::of([h[0]]));
        }
        see(&mechanism, &space, event, &h, "a random mechanism")?;
    }
    let statement = match operator {
        Operator::Conditioning => "Lemma 3.4 (2) by the letter: h(M) given h(M) in C",
        Operator::Imaging => "Lemma 3.8 by the letter: image of h(M)",
    };
    let claim = Claim { statement, operator, property: Property::Other, claim: true };
    Ok(tally.finding(
        claim,
        settings.tolerance(),
        "(epsilon, delta) of h(M) changed beyond that of M changed",
    ))
}

/// What is true of the operator after `h` in place of Lemmas 3.4 (2) and 3.8 by the letter. Conditioning: the law of
/// `h(M)` given `h(M) in C` is `h` of the law of `M` given `M in h^-1(C)`. Imaging: the image of `h(M)` is as private as
/// `M` itself, a function of its output.
pub(super) fn function_first_instead(
    operator: Operator,
    settings: &Settings,
    rng: &mut dyn Rng,
) -> Result<Finding> {
    let mut tally = Tally::new();
    for case in 0..settings.cases {
        let worlds = settings.worlds;
        let mechanism = draw::mechanism(worlds, settings.epsilon, rng)?;
        let (space, h) = (random_space(settings, rng)?, draw::map(worlds, rng));
        let event = draw::event(worlds, rng).union(Event::of([h[0]]));
        let after = changed(operator, &mechanism.each(|belief| belief.moved(&h, worlds))?, &space, event)?;
        let deviation = match operator {
            Operator::Conditioning => {
                let inverse = event.preimage(&h);
                after.distance(&mechanism.each(|belief| belief.conditioned(inverse)?.moved(&h, worlds))?)
            }
            Operator::Imaging => after.excess(&[&mechanism]),
        };
        tally.see(deviation, || format!("case {case}"));
    }
    let (statement, measured) = match operator {
        Operator::Conditioning => (
            "In place of Lemma 3.4 (2): h(M) given h(M) in C is h of M given the preimage",
            "difference of the laws",
        ),
        Operator::Imaging => {
            ("In place of Lemma 3.8: the image of h(M) costs at most M", "(epsilon, delta) beyond M's")
        }
    };
    let claim = Claim { statement, operator, property: Property::Other, claim: true };
    Ok(tally.finding(claim, settings.tolerance(), measured))
}

/// Basic composition (Lemmas 3.6 and 3.10): two independent mechanisms on the same data, changed together by
/// `C_1 × C_2`, pay at most the sum of the levels of the two changed alone.
pub(super) fn basic(operator: Operator, settings: &Settings, rng: &mut dyn Rng) -> Result<Finding> {
    let side = settings.side();
    let mut tally = Tally::new();
    for case in 0..settings.cases {
        let metric = draw::metric(rng);
        let part = |rng: &mut dyn Rng| -> Result<(Mechanism, Space, Event)> {
            let epsilon = settings.epsilon * open01(rng);
            let mechanism = draw::mechanism(side, epsilon, rng)?;
            Ok((mechanism, draw::space(side, metric, rng)?, draw::event(side, rng)))
        };
        let ((m1, space1, c1), (m2, space2, c2)) = (part(rng)?, part(rng)?);
        let pairs = c1.worlds().flat_map(|i| c2.worlds().map(move |j| i * side + j));
        let both = changed(operator, &m1.product(&m2)?, &space1.product(&space2)?, Event::of(pairs))?;
        let alone =
            [changed(operator, &m1, &space1, c1)?.level(), changed(operator, &m2, &space2, c2)?.level()];
        let level = both.level();
        tally.see(level - alone[0] - alone[1], || {
            format!("case {case}: {level:.6} of levels {:.6} and {:.6}", alone[0], alone[1])
        });
    }
    let statement = match operator {
        Operator::Conditioning => "Lemma 3.6",
        Operator::Imaging => "Lemma 3.10",
    };
    let claim = Claim { statement, operator, property: Property::BasicComposition, claim: true };
    Ok(tally.finding(claim, settings.tolerance(), "level of the pair beyond the sum of the levels"))
}

/// The largest difference of `target` and the mixture of `first` and `second` that is closest to it in L2, and its
/// weight of `first` in [0, 1]. It is 0 if and only if `target` is a mixture of the two.
fn off_the_segment(target: &Belief, first: &Belief, second: &Belief) -> Result<(f64, f64)> {
    let parts = || target.probabilities().iter().zip(first.probabilities()).zip(second.probabilities());
    let along: f64 = parts().map(|((t, a), b)| (t - b) * (a - b)).sum();
    let length: f64 = parts().map(|((_, a), b)| (a - b) * (a - b)).sum();
    let lambda = if length > 0.0 { (along / length).clamp(0.0, 1.0) } else { 0.0 };
    Ok((target.distance(&Belief::mixture(&[(lambda, first), (1.0 - lambda, second)])?), lambda))
}

/// Theorem 3.5 (1): the mechanism changed by `C u C'` is, for each dataset, a convex combination of those changed by
/// `C` and by `C'`. Conditioning has it (Proposition 2.2).
///
/// Imaging does not: for the uniform law on the line {0, 1, 2}, `C = {0, 2}` and `C' = {1}`, the images are (2/3, 0, 1/3)
/// (world 1 is as close to 0 as to 2 and goes to 0), (0, 1, 0) and on the union (1/3, 1/3, 1/3).
pub(super) fn disjoint_union(operator: Operator, settings: &Settings, rng: &mut dyn Rng) -> Result<Finding> {
    let mut tally = Tally::new();
    let mut see = |m: &Mechanism, space: &Space, c: Event, d: Event, name: &str| -> Result<()> {
        for belief in m.beliefs() {
            let [on_c, on_d, on_both] = [c, d, c.union(d)].map(|event| operator.apply(belief, space, event));
            let (distance, lambda) = off_the_segment(&on_both?, &on_c?, &on_d?)?;
            tally.see(distance, || {
                format!("{name}, sets of {} and {} worlds, best lambda {lambda:.4}", c.size(), d.size())
            });
        }
        Ok(())
    };
    let uniform = [1.0, 1.0, 1.0];
    let line = Space::line(3, Metric::SquaredL2)?;
    see(&two(&uniform, &uniform)?, &line, Event::of([0, 2]), Event::of([1]), "uniform on {0, 1, 2}")?;
    for case in 0..settings.cases {
        let (c, d) = draw::disjoint(settings.worlds, rng);
        let mechanism = draw::mechanism(settings.worlds, settings.epsilon, rng)?;
        see(&mechanism, &random_space(settings, rng)?, c, d, &format!("case {case}"))?;
    }
    let claim = Claim {
        statement: "Theorem 3.5 (1)",
        operator,
        property: Property::DisjointUnion,
        claim: operator == Operator::Conditioning,
    };
    Ok(tally.finding(claim, 1e-9, "distance from the closest convex combination"))
}

/// Theorem 3.5 (2): if the mechanisms changed by `C` and by `C'` are both (epsilon, delta)-DP, so is the one changed by
/// `C u C'`. The paper derives it from part 1, but `lambda` there depends on the dataset, and it is false.
///
/// Additive Laplace or double geometric noise, true values 0 and 1, `C = {y <= 0}`, `C' = {y >= 1}`: on a half line the
/// two laws are proportional, so given either both datasets have the same law, level 0. Given the union the
/// odds of `C` to `C'` are `1 : e^-epsilon` for one and the inverse for the other, level `epsilon`. Randomised response
/// is the same with one output for each half line; it serves imaging too. (Taken for single outputs in turn, the
/// statement would make every mechanism with finitely many outputs 0-DP.)
///
/// `P_D(C)` and `P_D(C')` are positive for all datasets, as the paper's proof needs. By the letter of Definition 3.1
/// (`M(D) in C` if and only if `f(D) in C`, with probability one) one of two disjoint invariants has probability 0 for
/// every dataset, and the theorem would be about nothing.
pub(super) fn union_privacy(operator: Operator, settings: &Settings, rng: &mut dyn Rng) -> Result<Finding> {
    let mut tally = Tally::new();
    let mut see = |m: &Mechanism, space: &Space, c: Event, d: Event, name: &str| -> Result<()> {
        let (on_c, on_d) = (changed(operator, m, space, c)?, changed(operator, m, space, d)?);
        let both = changed(operator, m, space, c.union(d))?;
        let levels = [&on_c, &on_d, &both].map(Mechanism::level);
        tally.see(both.excess(&[&on_c, &on_d]), || {
            let [first, second, union] = levels;
            format!("{name}: levels {first:.6} on C, {second:.6} on C', {union:.6} on C u C'")
        });
        Ok(())
    };
    let (worlds, half) = (settings.worlds, settings.worlds / 2);
    let halves = (Event::all(half), Event::all(worlds).without(Event::all(half)));
    let noise =
        Mechanism::double_geometric(worlds, settings.epsilon)?.datasets(|x| x + 1 == half || x == half)?;
    let line = Space::line(worlds, Metric::SquaredL2)?;
    see(
        &noise,
        &line,
        halves.0,
        halves.1,
        "double geometric noise, C and C' the half lines of two neighbours",
    )?;
    let response = Mechanism::randomised_response(settings.epsilon)?;
    let line = Space::line(2, Metric::SquaredL2)?;
    see(&response, &line, Event::of([0]), Event::of([1]), "randomised response, C = {0}, C' = {1}")?;
    for case in 0..settings.cases {
        let (c, d) = draw::disjoint(settings.worlds, rng);
        let mechanism = draw::mechanism(settings.worlds, settings.epsilon, rng)?;
        see(&mechanism, &random_space(settings, rng)?, c, d, &format!("case {case}"))?;
    }
    let claim = Claim {
        statement: "Theorem 3.5 (2)",
        operator,
        property: Property::DisjointUnion,
        claim: operator == Operator::Conditioning,
    };
    Ok(tally.finding(claim, settings.tolerance(), "(epsilon, delta) on C u C' beyond both parts"))
}

/// In place of Theorem 3.5 (2): with `lambda_D = P_D(C) / (P_D(C) + P_D(C'))` and `eta` the largest of
/// `ln(lambda_D / lambda_D')` and `ln((1 - lambda_D) / (1 - lambda_D'))` over neighbours, if both parts are
/// (epsilon, delta)-DP the union is (epsilon + eta, delta)-DP, and its level is at least `eta`. So the printed statement
/// holds when `lambda` does not depend on the data.
///
/// Proof: `P_D(B | C u C') = lambda_D P_D(B | C) + (1 - lambda_D) P_D(B | C')` is at most
/// `e^epsilon (lambda_D P_D'(B | C) + (1 - lambda_D) P_D'(B | C')) + delta`, and `lambda_D <= e^eta lambda_D'`,
/// `1 - lambda_D <= e^eta (1 - lambda_D')`. At least: `lambda_D` and `1 - lambda_D` are the probabilities of `C` and `C'`
/// given the union.
pub(super) fn union_privacy_instead(settings: &Settings, rng: &mut dyn Rng) -> Result<Finding> {
    let mut tally = Tally::new();
    for case in 0..settings.cases {
        let (c, d) = draw::disjoint(settings.worlds, rng);
        let mechanism = draw::mechanism(settings.worlds, settings.epsilon, rng)?;
        let given = |event: Event| mechanism.each(|belief| belief.conditioned(event));
        let (on_c, on_d, both) = (given(c)?, given(d)?, given(c.union(d))?);
        let shares = mechanism.each(|belief| Belief::new(vec![belief.of(c), belief.of(d)]))?;
        let (eta, union) = (shares.level(), both.level());
        let level = on_c.level().max(on_d.level());
        let epsilon = level * open01(rng);
        let delta = both.delta(epsilon + eta) - on_c.delta(epsilon).max(on_d.delta(epsilon));
        let deviation = (union - level - eta).max(eta - union).max(delta);
        tally.see(deviation, || {
            format!("case {case}: eta {eta:.6}, {level:.6} on the parts, {union:.6} on C u C'")
        });
    }
    let claim = Claim {
        statement: "In place of Theorem 3.5 (2): eta <= level on C u C' <= level on the parts + eta",
        operator: Operator::Conditioning,
        property: Property::Other,
        claim: true,
    };
    Ok(tally.finding(claim, settings.tolerance(), "(epsilon, delta) outside the two bounds"))
}

/// Random weights of a mixture of three, with sum 1.
fn weights(rng: &mut dyn Rng) -> Result<Vec<f64>> {
    Ok(draw::belief(3, rng)?.probabilities().to_vec())
}

/// Theorem 3.9 (1): the mixture of mechanisms, changed, is the mixture of the changed mechanisms. Imaging has it
/// (equation (2)).
///
/// Conditioning does not: half of (0.8, 0.1, 0.1) and half of (0.1, 0.1, 0.8), given {0, 1}, has 9/11 at 0; the mean of
/// 8/9 and 1/2 is 25/36.
pub(super) fn mixture(operator: Operator, settings: &Settings, rng: &mut dyn Rng) -> Result<Finding> {
    let mut tally = Tally::new();
    let mut see = |parts: &[(f64, &Mechanism)], space: &Space, event: Event, name: &str| -> Result<()> {
        let after = changed(operator, &Mechanism::mixture(parts)?, space, event)?;
        let each = parts.iter().map(|(a, m)| Ok((*a, changed(operator, m, space, event)?)));
        let each = each.collect::<Result<Vec<_>>>()?;
        let mixed = Mechanism::mixture(&each.iter().map(|(a, m)| (*a, m)).collect::<Vec<_>>())?;
        tally.see(after.distance(&mixed), || {
            let laws = after.beliefs().iter().zip(mixed.beliefs());
            let pairs = laws.flat_map(|(p, q)| p.probabilities().iter().zip(q.probabilities()));
            let far = pairs.max_by(|a, b| (a.0 - a.1).abs().total_cmp(&(b.0 - b.1).abs()));
            let (p, q) = far.unwrap_or((&0.0, &0.0));
            format!(
                "{name}: a world gets {p:.4} in the changed mixture, {q:.4} in the mixture of the changed"
            )
        });
        Ok(())
    };
    let (first, second) = ([0.8, 0.1, 0.1], [0.1, 0.1, 0.8]);
    let (m1, m2) = (two(&first, &first)?, two(&second, &second)?);
    see(
        &[(0.5, &m1), (0.5, &m2)],
        &Space::line(3, Metric::L1)?,
        Event::of([0, 1]),
        "halves on three worlds",
    )?;
    for case in 0..settings.cases {
        let mut part = || draw::mechanism(settings.worlds, settings.epsilon, rng);
        let (m1, m2, m3) = (part()?, part()?, part()?);
        let a = weights(rng)?;
        let (space, event) = (random_space(settings, rng)?, draw::event(settings.worlds, rng));
        see(&[(a[0], &m1), (a[1], &m2), (a[2], &m3)], &space, event, &format!("case {case}"))?;
    }
    let claim = Claim {
        statement: "Theorem 3.9 (1)",
        operator,
        property: Property::Mixture,
        claim: operator == Operator::Imaging,
    };
    Ok(tally.finding(claim, 1e-9, "difference of the changed mixture and the mixture of the changed"))
}

/// Theorem 3.9 (2): if the changed mechanisms are (epsilon, delta)-DP, so is the changed mixture. True for imaging: the
/// weights `a_i` do not depend on the data.
///
/// False for conditioning, whose weights are `a_i P_D(C)`: half of `(r, 0, 1 - r)` and half of `(0, 1 - r, r)`, `r` the
/// odds of randomised response, `C = {0, 1}`. Each has one output given `C`, level 0; the mixture given `C` is
/// randomised response.
pub(super) fn mixture_privacy(operator: Operator, settings: &Settings, rng: &mut dyn Rng) -> Result<Finding> {
    let mut tally = Tally::new();
    let mut see = |parts: &[(f64, &Mechanism)], space: &Space, event: Event, name: &str| -> Result<()> {
        let after = changed(operator, &Mechanism::mixture(parts)?, space, event)?;
        let each =
            parts.iter().map(|(_, m)| changed(operator, m, space, event)).collect::<Result<Vec<_>>>()?;
        let (level, union) = (each.iter().map(Mechanism::level).fold(0.0, f64::max), after.level());
        tally.see(after.excess(&each.iter().collect::<Vec<_>>()), || {
            format!("{name}: levels up to {level:.6} of the parts, {union:.6} of the mixture")
        });
        Ok(())
    };
    let (r, s) = odds(settings.epsilon);
    let (m1, m2) = (two(&[r, 0.0, s], &[s, 0.0, r])?, two(&[0.0, s, r], &[0.0, r, s])?);
    let line = Space::line(3, Metric::L1)?;
    see(&[(0.5, &m1), (0.5, &m2)], &line, Event::of([0, 1]), "halves that answer in one way")?;
    for case in 0..settings.cases {
        let mut part = || draw::mechanism(settings.worlds, settings.epsilon, rng);
        let (m1, m2, m3) = (part()?, part()?, part()?);
        let a = weights(rng)?;
        let (space, event) = (random_space(settings, rng)?, draw::event(settings.worlds, rng));
        see(&[(a[0], &m1), (a[1], &m2), (a[2], &m3)], &space, event, &format!("case {case}"))?;
    }
    let claim = Claim {
        statement: "Theorem 3.9 (2)",
        operator,
        property: Property::Mixture,
        claim: operator == Operator::Imaging,
    };
    Ok(tally.finding(claim, settings.tolerance(), "(epsilon, delta) of the changed mixture beyond all parts"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::test_stream;

    const SETTINGS: Settings = Settings { worlds: 6, cases: 200, epsilon: 1.0 };

    /// Each composition belongs to one operator: its check fails for the other.
    #[test]
    fn compositions_fail_for_the_other_operator() {
        let mut rng = test_stream(1);
        let rng = &mut rng;
        let (conditioning, imaging) = (Operator::Conditioning, Operator::Imaging);
        assert!(disjoint_union(conditioning, &SETTINGS, rng).unwrap().holds);
        assert!(!disjoint_union(imaging, &SETTINGS, rng).unwrap().holds);
        assert!(mixture(imaging, &SETTINGS, rng).unwrap().holds);
        assert!(!mixture(conditioning, &SETTINGS, rng).unwrap().holds);
        assert!(mixture_privacy(imaging, &SETTINGS, rng).unwrap().holds);
        assert!(!mixture_privacy(conditioning, &SETTINGS, rng).unwrap().holds);
    }

    /// The examples of the docstrings, in numbers.
    #[test]
    fn counterexamples_by_hand() {
        let line = Space::line(3, Metric::SquaredL2).unwrap();
        let uniform = Belief::new(vec![1.0; 3]).unwrap();
        let image = |worlds: &[usize]| {
            Operator::Imaging.apply(&uniform, &line, Event::of(worlds.iter().copied())).unwrap()
        };
        let thirds = |p: [f64; 3]| Belief::new(p.to_vec()).unwrap();
        assert!(image(&[0, 2]).distance(&thirds([2.0, 0.0, 1.0])) < 1e-15);
        let (distance, lambda) = off_the_segment(&uniform, &image(&[0, 2]), &image(&[1])).unwrap();
        // Least squares: (U - B)(A - B) = (1/3)(2/3) + (2/3) + (1/3)(1/3) = 1, |A - B|² = 14/9.
        assert!((lambda - 9.0 / 14.0).abs() < 1e-14 && distance > 0.1, "{lambda} {distance}");

        let response = Mechanism::randomised_response(1.0).unwrap();
        let level = |worlds: &[usize]| {
            let event = Event::of(worlds.iter().copied());
            response.each(|belief| belief.conditioned(event)).unwrap().level()
        };
        assert_eq!((level(&[0]), level(&[1])), (0.0, 0.0));
        assert!((level(&[0, 1]) - 1.0).abs() < 1e-14);
    }

    /// Theorem 3.5 (2) on the half lines of two neighbours: 0 and 0 become epsilon, at most rounding off.
    #[test]
    fn half_lines_of_neighbours() {
        let noise = Mechanism::double_geometric(7, 0.4).unwrap().datasets(|x| x == 2 || x == 3).unwrap();
        let level = |cells: std::ops::Range<usize>| {
            noise.each(|belief| belief.conditioned(Event::of(cells.clone()))).unwrap().level()
        };
        assert!(level(0..3) < 1e-15 && level(3..7) < 1e-15, "{} {}", level(0..3), level(3..7));
        assert!((level(0..7) - 0.4).abs() < 1e-14);
    }

    /// Nothing is learned from the union when the shares of the parts do not depend on the data: part 2 holds then.
    #[test]
    fn constant_shares_preserve() {
        let mechanism = two(&[0.2, 0.3, 0.4, 0.1], &[0.25, 0.25, 0.3, 0.2]).unwrap();
        let given = |event: Event| mechanism.each(|belief| belief.conditioned(event)).unwrap();
        let (c, d) = (Event::of([0, 1]), Event::of([2, 3]));
        assert!(given(c.union(d)).excess(&[&given(c), &given(d)]) < 1e-14);
    }
}
