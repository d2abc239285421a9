//! The two views of constrained privacy on finitely many worlds: conditioning and imaging, and their table.
//!
//! Liu, Sun, Zhou and Feng, *Two Views of Constrained Differential Privacy: Belief Revision and Update* ("Two views"
//! below), take a mechanism's law for a [`Belief`] about its output. Learning an invariant `C` *revises* it, by
//! conditioning, or *updates* it, by imaging, which moves the probability of every world to the closest world of `C`.
//! Their Table 1 says which operator keeps what. [`check_all`] computes that table: every tick is
//! tried on random examples and its largest error reported, every cross has a counterexample. A verdict is only ever
//! `largest deviation <= tolerance`, by one computation for both operators.
//!
//! # What does not hold as printed
//!
//! * Theorem 3.5 (2), that the law on a disjoint union is as private as those on its parts: its mixing
//!   weight depends on the data. Additive noise given either half line of two neighbours has level 0, on both `epsilon`.
//! * Lemmas 3.4 (2) and 3.8 when the operator is applied to `h(M)`; they hold when it is applied to `M` and `h`
//!   to its result.
//!
//! * Theorem 1.3 of Gong and Meng, "Congenial differential privacy", on which section 3 builds, for every prior: it holds for an
//!   entry that the analyst takes for independent of the others.
//!
//! What holds in place of each is checked beside it.
//!
//! # Exactness
//!
//! Privacy levels are the largest log ratio of listed probabilities, and `delta(epsilon)` its sum: nothing is sampled.
//! Laws on infinitely many outputs are not cut off: tails are merged into end cells, or summed in closed form.

#[cfg(test)]
#[path = "../../core/src/testing.rs"]
mod testing;

mod belief;
mod composition;
mod congenial;
mod draw;
mod equations;
mod finding;
mod limited;
mod mechanism;
mod principles;
mod privacy;
mod remaining;
mod space;

pub use belief::{Belief, Event, MOST_WORLDS};
pub use draw::Settings;
pub use finding::{Finding, Operator, Property};
pub use mechanism::Mechanism;
pub use space::{Metric, Space};

use Operator::{Conditioning, Imaging};
use congenial_core::Result;
use congenial_core::rng::Rng;

/// Checks every statement of the theory of "Two views", sections 2 and 3: first those of Table 1, column by column,
/// then the others, and those of Gong and Meng, "Congenial differential privacy"; then revisions that may refuse what is learned, and how
/// many tables invariants leave. Refuses settings outside their ranges ([`Settings::check`]).
pub fn check_all(settings: &Settings, rng: &mut dyn Rng) -> Result<Vec<Finding>> {
    settings.check()?;
    Ok(vec![
        privacy::preserved(Conditioning, settings, rng)?,
        privacy::preserved(Imaging, settings, rng)?,
        equations::preserved(settings, rng)?,
        privacy::preserved_on_equations(Imaging, settings, rng)?,
        composition::postprocessing(Conditioning, settings, rng)?,
        composition::function_given(settings, rng)?,
        composition::postprocessing(Imaging, settings, rng)?,
        composition::basic(Conditioning, settings, rng)?,
        composition::basic(Imaging, settings, rng)?,
        composition::disjoint_union(Conditioning, settings, rng)?,
        composition::union_privacy(Conditioning, settings, rng)?,
        composition::disjoint_union(Imaging, settings, rng)?,
        composition::union_privacy(Imaging, settings, rng)?,
        composition::mixture(Conditioning, settings, rng)?,
        composition::mixture_privacy(Conditioning, settings, rng)?,
        composition::mixture(Imaging, settings, rng)?,
        composition::mixture_privacy(Imaging, settings, rng)?,
        principles::least_information(Conditioning, settings, rng)?,
        principles::least_movement(Imaging, Metric::SquaredL2, settings, rng)?,
        principles::least_movement(Imaging, Metric::L1, settings, rng)?,
        principles::characterisation(Conditioning, settings, rng)?,
        principles::union_formula(Conditioning, settings, rng)?,
        principles::homomorphism(Imaging, settings, rng)?,
        principles::example(Conditioning)?,
        principles::example(Imaging)?,
        principles::impossible_stays(Conditioning, settings, rng)?,
        principles::impossible_stays(Imaging, settings, rng)?,
        privacy::congenial(settings, rng)?,
        privacy::secrecy(settings)?,
        privacy::geometric_gamma(settings, rng)?,
        composition::union_privacy_instead(settings, rng)?,
        composition::function_first(Conditioning, settings, rng)?,
        composition::function_first_instead(Conditioning, settings, rng)?,
        composition::function_first(Imaging, settings, rng)?,
        composition::function_first_instead(Imaging, settings, rng)?,
        congenial::posterior(settings, rng)?,
        congenial::posterior_of_any_prior(settings)?,
        congenial::posterior_given_invariant(settings, rng)?,
        congenial::decreasing_function(settings, rng)?,
        congenial::convex_combination(settings)?,
        congenial::two_bins_gamma(settings)?,
        congenial::two_bins_gamma_instead(settings)?,
        limited::screened_level(settings, rng)?,
        limited::limited_level(settings, rng)?,
        limited::limited_level_instead(settings, rng)?,
        limited::agreed_level(settings, rng)?,
        remaining::trivial(),
        remaining::total(),
        remaining::rounding(),
        remaining::sex_by_age(settings, rng),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::test_stream;

    /// The statements of the paper that are refuted; see the module.
    const REFUTED: [(&str, Operator); 4] = [
        ("Theorem 3.5 (2)", Conditioning),
        ("Lemma 3.4 (2) by the letter: h(M) given h(M) in C", Conditioning),
        ("Lemma 3.8 by the letter: image of h(M)", Imaging),
        ("Gong and Meng, Theorem 1.3 by the letter: every prior", Conditioning),
    ];

    #[test]
    fn table_1_is_found_and_four_statements_are_refuted() {
        for (seed, worlds, cases, epsilon) in
            [(1, 6, 300, 1.0), (2, 3, 300, 10.0), (3, 64, 30, 0.1), (4, 12, 1, 1e-6), (5, 5, 100, 1e-4)]
        {
            let settings = Settings { worlds, cases, epsilon };
            let findings = check_all(&settings, &mut test_stream(seed)).unwrap();
            for finding in &findings {
                let refuted = REFUTED.contains(&(finding.statement, finding.operator));
                assert_eq!(finding.agrees(), !refuted, "{settings:?}: {finding:?}");
            }
            for property in Property::COLUMNS {
                for operator in Operator::ALL {
                    assert!(findings.iter().any(|f| f.property == property && f.operator == operator));
                }
            }
        }
    }

    #[test]
    fn same_seed_same_findings() {
        let settings = Settings { worlds: 5, cases: 20, epsilon: 0.5 };
        let run = || check_all(&settings, &mut test_stream(9)).unwrap();
        assert_eq!(run(), run());
    }

    #[test]
    fn refuses_what_it_cannot_check() {
        let good = Settings { worlds: 5, cases: 2, epsilon: 0.5 };
        for bad in [
            Settings { worlds: 2, ..good },
            Settings { worlds: 65, ..good },
            Settings { cases: 0, ..good },
            Settings { cases: 1_000_001, ..good },
            Settings { epsilon: 0.0, ..good },
            Settings { epsilon: 10.1, ..good },
            Settings { epsilon: f64::NAN, ..good },
        ] {
            assert!(check_all(&bad, &mut test_stream(1)).is_err(), "{bad:?}");
        }
        assert!(Belief::new(vec![0.0, 0.0]).is_err());
        assert!(Belief::new(vec![1.0, -1.0, 1.0]).is_err());
        assert!(Belief::new(vec![1.0, 1.0, 0.0]).unwrap().conditioned(Event::of([2])).is_err());
        assert!(Space::line(3, Metric::L1).unwrap().closest(Event::of([5])).is_err());
    }
}
