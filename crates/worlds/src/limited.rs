//! Revision that may refuse what is learned: the models that "Two views", section 5, leaves to a full version.
//!
//! * *Screened* revision (Makinson, "Screened revision", Theoria 1997) protects a core `A`: it conditions on `C` and `A` together if both
//!   are possible at once, and else leaves the belief as it is.
//! * *Credibility-limited* revision (Hansson, Fermé, Cantwell, Falappa, "Credibility limited revision", Journal of Symbolic Logic 2001)
//!   takes `C` if it is credible, here if `P(C) >= c`, and else leaves the belief as it is.
//!
//! Every dataset of a mechanism has a belief of its own. What is possible is the same for all of them (at a finite level), so a screen is
//! conditioning or nothing, for all data. What is credible is not: where one of two neighbours takes `C` and the other does not, outputs
//! outside `C` tell them apart.
//!
//! **What holds.** Let `M` have level `epsilon`, `C` and `c` not depend on the data, and `P, P'` be the beliefs of two neighbours.
//! Both take `C`: `P(y|C) / P'(y|C) = P(y)/P'(y) P'(C)/P(C) <= e^epsilon min(e^epsilon, 1/c)`, since `P'(C) <= 1` and `P(C) >= c`.
//! Neither does: `epsilon`. One does, `P(C) >= c > P'(C)`: `P(y|C) <= e^epsilon P'(y) / c`, and the other way round
//! `P'(y) <= e^epsilon P(y) <= e^epsilon P(y|C)` on `C`, beyond which `P'` has `1 - P'(C)`. So the law is `(epsilon
//! + ln(1/c), delta)`-private with `delta` the largest `1 - P'(C)` over
//! neighbours that the test tells apart, no smaller `delta` will do at any level, and `1 - c < delta <= 1 - c e^-epsilon`.

use super::belief::{Belief, Event};
use super::draw::{self, Settings};
use super::finding::{Claim, Finding, Operator, Property, Tally};
use super::mechanism::Mechanism;
use congenial_core::Result;
use congenial_core::rng::{Rng, open01};

fn claim(statement: &'static str, claim: bool) -> Claim {
    Claim { statement, operator: Operator::Conditioning, property: Property::Other, claim }
}

/// Screened revision with the core `core`.
fn screened(belief: &Belief, event: Event, core: Event) -> Result<Belief> {
    let both = event.without(event.without(core));
    if belief.of(both) > 0.0 { belief.conditioned(both) } else { Ok(belief.clone()) }
}

/// Credibility-limited revision: `C` is taken if its probability is at least `least` > 0.
fn limited(belief: &Belief, event: Event, least: f64) -> Result<Belief> {
    if belief.of(event) >= least { belief.conditioned(event) } else { Ok(belief.clone()) }
}

/// A random mechanism that can have outputs in a random event alone, an event to learn and a core.
fn with_core(settings: &Settings, rng: &mut dyn Rng) -> Result<(Mechanism, Event, Event)> {
    let worlds = settings.worlds;
    let possible = draw::event(worlds, rng);
    let mechanism = draw::mechanism(worlds, settings.epsilon, rng)?.each(|law| law.conditioned(possible))?;
    Ok((mechanism, draw::event(worlds, rng), draw::event(worlds, rng)))
}

/// A share of cases with its standard error, in words.
fn share(some: u64, cases: u64) -> String {
    let (p, n) = (some as f64 / cases as f64, cases as f64);
    format!("{p:.4} ± {:.4}", libm::sqrt(p * (1.0 - p) / n))
}

/// Screened revision costs what conditioning on `C` and the core costs, at most twice the level, or nothing; and all datasets take `C`, or
/// none does.
pub(super) fn screened_level(settings: &Settings, rng: &mut dyn Rng) -> Result<Finding> {
    let (mut tally, mut taken) = (Tally::new(), 0);
    for case in 0..settings.cases {
        let (mechanism, event, core) = with_core(settings, rng)?;
        let both = event.without(event.without(core));
        let masses: Vec<f64> = mechanism.beliefs().iter().map(|law| law.of(both)).collect();
        let is_taken = masses.iter().any(|mass| *mass > 0.0);
        taken += u64::from(is_taken);
        let most = masses.iter().copied().fold(0.0, f64::max);
        let least = masses.iter().copied().fold(f64::INFINITY, f64::min);
        let level = mechanism.level();
        let cost = if is_taken { level.min(libm::log(most / least)) } else { 0.0 };
        let after = mechanism.each(|law| screened(law, event, core))?.level();
        tally.see(after - level - cost, || format!("case {case}: level {level:.6} becomes {after:.6}"));
    }
    let measured = format!(
        "level beyond that of C and the core together; taken in {} of the cases",
        share(taken, settings.cases)
    );
    let statement = "Section 5: screened revision costs as conditioning does, or nothing";
    Ok(tally.finding(claim(statement, true), settings.tolerance(), &measured))
}

/// A random mechanism and event with a threshold: below all probabilities of the event, among them and above them, in turn.
fn with_threshold(case: u64, settings: &Settings, rng: &mut dyn Rng) -> Result<(Mechanism, Event, f64)> {
    let mechanism = draw::mechanism(settings.worlds, settings.epsilon, rng)?;
    let event = draw::event(settings.worlds, rng);
    let mut masses: Vec<f64> = mechanism.beliefs().iter().map(|law| law.of(event)).collect();
    masses.sort_unstable_by(f64::total_cmp);
    let (low, high) = match case % 3 {
        0 => (0.0, masses[0]),
        1 => (masses[0], masses[masses.len() - 1]),
        _ => (masses[masses.len() - 1], 1.0),
    };
    Ok((mechanism, event, low + (high - low) * open01(rng)))
}

/// Whether some datasets take the event and others do not.
fn is_told(mechanism: &Mechanism, event: Event, least: f64) -> bool {
    let taken = mechanism.beliefs().iter().filter(|law| law.of(event) >= least).count();
    taken > 0 && taken < mechanism.beliefs().len()
}

/// Credibility-limited revision keeps a finite level: it does not.
pub(super) fn limited_level(settings: &Settings, rng: &mut dyn Rng) -> Result<Finding> {
    let (mut tally, mut told) = (Tally::new(), 0);
    for case in 0..settings.cases {
        let mechanism = draw::mechanism(settings.worlds, settings.epsilon, rng)?;
        let (event, least) = (draw::event(settings.worlds, rng), open01(rng));
        told += u64::from(is_told(&mechanism, event, least));
        let after = mechanism.each(|law| limited(law, event, least))?;
        let delta = after.delta(2.0 * mechanism.level());
        tally.see(delta, || format!("case {case}, credible from {least:.4}: delta {delta:.6}"));
    }
    // Random thresholds may miss the few datasets that they tell apart; this one does not.
    let mechanism = Mechanism::randomised_response(settings.epsilon)?;
    let after = mechanism.each(|law| limited(law, Event::of([0]), 0.5))?;
    tally.see(after.delta(2.0 * settings.epsilon), || {
        "randomised response, its answer 0 credible from 0.5".into()
    });
    let measured = format!(
        "delta at 2 epsilon, where the level is infinite; a threshold that is uniform tells neighbours apart in {} of the cases",
        share(told, settings.cases)
    );
    let statement = "Section 5: credibility-limited revision is private at a level of 2 epsilon";
    Ok(tally.finding(claim(statement, false), settings.tolerance(), &measured))
}

/// What holds of it: see the module. The smallest delta of the level `epsilon + ln(1/c)` is computed from the listed laws, and compared
/// with the largest `1 - P'(C)` over datasets that refuse `C` while a neighbour takes it.
pub(super) fn limited_level_instead(settings: &Settings, rng: &mut dyn Rng) -> Result<Finding> {
    let mut tally = Tally::new();
    for case in 0..settings.cases {
        let (mechanism, event, least) = with_threshold(case, settings, rng)?;
        let level = mechanism.level();
        let after = mechanism.each(|law| limited(law, event, least))?;
        let refused = mechanism.beliefs().iter().map(|law| law.of(event)).filter(|mass| *mass < least);
        let delta = match is_told(&mechanism, event, least) {
            true => refused.map(|mass| 1.0 - mass).fold(0.0, f64::max),
            false => 0.0,
        };
        let deviation = (after.delta(level - libm::log(least)) - delta).abs();
        let outside = if delta > 0.0 {
            (1.0 - least - delta).max(delta - 1.0 + least * libm::exp(-level))
        } else {
            0.0
        };
        // Where all agree the level is finite.
        let beyond = match delta > 0.0 {
            true => 0.0,
            false => after.level() - level - level.min(-libm::log(least)),
        };
        tally.see(deviation.max(outside).max(beyond), || {
            format!("case {case}, credible from {least:.6}: level {level:.6}, delta {delta:.6}")
        });
    }
    let statement = "In place of it: (epsilon + ln(1/c), 1 - P'(C)), and epsilon + min(epsilon, ln(1/c)) where all data agree";
    Ok(tally.finding(
        claim(statement, true),
        settings.tolerance(),
        "difference from the delta and the level stated",
    ))
}

/// A test of credibility that is the same for all data, `P(C) >= c` for every dataset: at most `epsilon + min(epsilon, ln(1/c))`.
pub(super) fn agreed_level(settings: &Settings, rng: &mut dyn Rng) -> Result<Finding> {
    let (mut tally, mut most) = (Tally::new(), 0.0f64);
    for case in 0..settings.cases {
        let (mechanism, event, least) = with_threshold(case, settings, rng)?;
        let level = mechanism.level();
        let agreed = mechanism.beliefs().iter().all(|law| law.of(event) >= least);
        let after = match agreed {
            true => mechanism.each(|law| law.conditioned(event))?.level(),
            false => level,
        };
        let bound = if agreed { level + level.min(-libm::log(least)) } else { level };
        if level > 0.0 {
            most = most.max(after / level - 1.0);
        }
        tally.see(after - bound, || {
            format!("case {case}, credible from {least:.6}: {after:.6} of {bound:.6}")
        });
    }
    let measured = format!("level beyond epsilon + min(epsilon, ln(1/c)); largest gamma met {most:.6}");
    let statement = "Credible for every dataset: gamma <= min(1, ln(1/c)/epsilon)";
    Ok(tally.finding(claim(statement, true), settings.tolerance(), &measured))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::test_stream;

    const SETTINGS: Settings = Settings { worlds: 8, cases: 300, epsilon: 1.0 };

    /// Three worlds by hand: what is credible for one dataset alone is told by the world outside of it.
    #[test]
    fn credibility_by_hand() {
        let laws = [[0.5, 0.2, 0.3], [0.4, 0.16, 0.44]].map(|law| Belief::new(law.to_vec()).unwrap());
        let mechanism = Mechanism::all_neighbours(laws.to_vec()).unwrap();
        let after = mechanism.each(|law| limited(law, Event::of([0, 1]), 0.6)).unwrap();
        // The first becomes (5/7, 2/7, 0), the second stays.
        assert!((after.beliefs()[0].probabilities()[1] - 2.0 / 7.0).abs() < 1e-15);
        assert_eq!(after.level(), f64::INFINITY);
        assert!((after.delta(10.0) - 0.44).abs() < 1e-15);
        // The other way round what is missing at level 0 is 5/7 - 0.4 + 2/7 - 0.16.
        assert!((after.delta(0.0) - 0.44).abs() < 1e-15);
    }

    /// A core that excludes what is learned leaves everything as it is; one that allows all of it is conditioning.
    #[test]
    fn screens_by_hand() {
        let law = Belief::new(vec![1.0, 2.0, 3.0, 4.0]).unwrap();
        let learned = Event::of([0, 1]);
        assert_eq!(screened(&law, learned, Event::of([2, 3])).unwrap(), law);
        assert_eq!(screened(&law, learned, Event::all(4)).unwrap(), law.conditioned(learned).unwrap());
        assert_eq!(screened(&law, learned, Event::of([1, 3])).unwrap().probabilities(), [0.0, 1.0, 0.0, 0.0]);
    }

    #[test]
    fn statements_hold_as_claimed() {
        let rng = &mut test_stream(3);
        for finding in [
            screened_level(&SETTINGS, rng).unwrap(),
            limited_level_instead(&SETTINGS, rng).unwrap(),
            agreed_level(&SETTINGS, rng).unwrap(),
        ] {
            assert!(finding.holds, "{finding:?}");
        }
        assert!(!limited_level(&SETTINGS, rng).unwrap().holds);
    }
}
