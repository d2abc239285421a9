//! Intervals from the posterior of a table, with a prior that weighs all tables the same.

use super::entries::Entries;
use super::interval::Said;
use super::noisy::Ground;
use super::posterior::Believed;
use super::target::Target;
use super::{Noisy, Shared, Wish, drawn, pivots};
use crate::catalogue::Place;
use crate::failure::{Failure, Result};
use crate::invariant::Inequalities;

/// What is said of the targets.
///
/// A release y of integer noise z that was conditioned on the equations alone has the likelihood `q(y - x)` on the tables x that
/// keep them: with every such table as likely, x is `y + z`, since z and -z have one law. With every one >= 0 as likely, it is `y + z`
/// given that it is >= 0.
///
/// Refused: other releases and priors; a release with an entry below 0 where the prior wants none; what the exact sampler does not
/// serve.
pub(super) fn said(
    wish: &Wish,
    noisy: &Noisy,
    entries: &Entries,
    targets: &[Target],
    prior: &Shared,
) -> Result<Believed> {
    let refused = |e| noisy.refused(e);
    let serves = noisy.method.conditions() && !noisy.method.kind().is_free() && noisy.is_pivot();
    if !serves || noisy.law.is_continuous() {
        let message = format!(
            "--prior: no posterior of a table released by {} with {} noise; want integer noise conditioned on equations alone; \
             without --prior the intervals hold whatever the counts are",
            noisy.method_words(),
            noisy.law.name()
        );
        return Err(Failure::data(&noisy.path, message));
    }
    if wish.bounds.is_some() || wish.draws > 0 {
        let what = if wish.bounds.is_some() { "--bounds" } else { "draws" };
        return Err(Failure::data(
            &noisy.path,
            format!("{what}: want the release of a tree, this is one of a table"),
        ));
    }
    let counts: Vec<i64> = noisy.values.iter().map(|&value| value as i64).collect();
    let (ground, words) = match prior {
        Shared::Flat => (Ground::free(counts), "every integer weighs the same"),
        Shared::Nonnegative => {
            if counts.iter().any(|&count| count < 0) {
                let message = "--prior nonnegative: an entry was released below 0, which its exact sampler does not serve; \
                               want --prior flat, or none";
                return Err(Failure::data(&noisy.path, message));
            }
            let within = Inequalities::nonnegative(counts.len());
            (Ground::within(counts, within).map_err(refused)?, "every integer >= 0 weighs the same")
        }
        _ => {
            let message =
                "--prior: a table has those that weigh all tables the same, want flat or nonnegative";
            return Err(Failure::data(&noisy.path, message));
        }
    };
    let place = Place::Table { inequalities: !ground.inequalities.is_empty() };
    let exact = pivots::exact_sampler(noisy.law, place).ok_or_else(|| {
        let message = format!(
            "--prior: no exact sampler of {} noise on counts >= 0, want --prior flat",
            noisy.law.name()
        );
        Failure::data(&noisy.path, message)
    })?;
    let draws = drawn::number(targets.len(), wish.level).map_err(refused)?;
    let errors = drawn::errors(noisy, (exact, &ground), targets, (draws, wish.seed)).map_err(refused)?;
    let known = entries.known.len();
    let of = |(target, errors): (&Target, Vec<f64>)| {
        let released = noisy.estimate(target);
        let values: Vec<f64> = errors.iter().map(|z| released + z).collect();
        Said::of_draws(values, wish.level)
    };
    let said = targets.iter().zip(errors).map(of).collect();
    let words = match known {
        0 => words.to_owned(),
        _ => format!("{words}; known entries are what they are"),
    };
    Ok(Believed { said, draws, words, chains: None, kept: Vec::new() })
}
