//! Intervals from the posterior, with a prior of every leaf.

use super::conditioned::Walked;
use super::interval::Said;
use super::leaves::Leaves;
use super::noisy::Structure;
use super::target::Target;
use super::{Noisy, Shared, Wish, conditioned, drawn, priors};
use crate::catalogue::Family;
use crate::failure::{Failure, Result};
use crate::inference::{Posterior, Prior, Weight};
use crate::invariant::Hierarchy;
use crate::rng::{Role, TaskKey, stream};
use rayon::prelude::*;

/// Draws of all counts.
const CELL: u64 = 0x706f_7374_6572_696f;

/// Counts that are kept of draws at most, of all nodes together: 2 GiB.
const KEPT: usize = 1 << 28;

/// What a posterior says.
pub(super) struct Believed {
    /// By target.
    pub(super) said: Vec<Said>,
    /// Draws behind that.
    pub(super) draws: usize,
    /// What it rests on, in words.
    pub(super) words: String,
    /// The chains that gave it; `None` where laws and draws are exact.
    pub(super) chains: Option<Walked>,
    /// Draws of the counts of all nodes that were asked for, one after the other.
    pub(super) kept: Vec<i64>,
}

/// The tree of a release whose likelihood is a product over its nodes, or was until it was conditioned on counts >= 0, where that `may` be.
/// Errors: another release. `what`: what it has not.
pub(super) fn tree<'a>(noisy: &'a Noisy, what: &str, may: bool) -> Result<&'a Hierarchy> {
    let method = &noisy.method;
    let is_plain = !method.nonnegative() && (method.kind().is_free() || method.conditions());
    match &noisy.structure {
        Structure::Tree(nodes) if is_plain || may && conditioned::serves(noisy) => Ok(&nodes.tree),
        _ => {
            let place = if noisy.is_table() { " of a table" } else { "" };
            let more = if may { ", or noise on the integers conditioned on counts >= 0, too" } else { "" };
            let message = format!(
                "{what} of releases{place} by {} with {}; want noise on every count of a tree, as it is or conditioned on \
                 sums{more}",
                noisy.method_words(),
                noisy.law.noise_words()
            );
            Err(Failure::data(&noisy.path, message))
        }
    }
}

/// By level, what the noise weighs.
pub(super) fn weights(noisy: &Noisy) -> Vec<Weight> {
    let scales = noisy.calibration().laws(|scale| scale).collect::<Vec<_>>();
    let weight = |scale: &f64| match noisy.law.family() {
        Family::Gaussian | Family::DiscreteGaussian => Weight::Gaussian(*scale),
        _ => Weight::Exponential(*scale),
    };
    scales.iter().map(weight).collect()
}

/// What is said of the targets. Errors: a release that has no such posterior; a prior that leaves nothing.
pub(super) fn said(
    wish: &Wish,
    (noisy, leaves): (&Noisy, Option<&Leaves>),
    targets: &[Target],
    prior: &Shared,
) -> Result<Believed> {
    let refused = |e| noisy.refused(e);
    let tree = tree(noisy, "--prior: no posterior", true)?;
    let weights = weights(noisy);
    let is_conditioned = conditioned::serves(noisy);
    let with = |priors: &[Prior]| Posterior::on_tree(tree, &weights, &noisy.values, priors);
    let evidence = |priors: &[Prior]| match is_conditioned {
        true => conditioned::log_evidence(wish, (noisy, tree), &weights, priors),
        false => with(priors).map(|all| all.log_evidence()),
    };
    let prior = match prior {
        // The counts of such a release are >= 0.
        Shared::Flat if is_conditioned => &Shared::Nonnegative,
        prior => prior,
    };
    let (priors, words) = priors::of(wish, (noisy, tree, leaves), prior, &evidence)?;
    if is_conditioned {
        if wish.draws > 0 {
            let message = "draws: want a release that was not conditioned on counts >= 0, its draws are those of chains";
            return Err(Failure::data(&noisy.path, message));
        }
        let (said, draws, walked) =
            conditioned::said(wish, (noisy, tree), targets, &weights, &priors).map_err(refused)?;
        return Ok(Believed { said, draws, words, chains: Some(walked), kept: Vec::new() });
    }
    let posterior = with(&priors).map_err(refused)?;
    let laws = posterior.laws();
    let sums: Vec<&Target> = targets.iter().filter(|target| matches!(target, Target::Sum(_))).collect();
    let draws = match sums.len() {
        0 => 0,
        number => drawn::number(number, wish.level).map_err(refused)?,
    };
    let mut of_sums = drawn_sums(&posterior, tree, &sums, (draws, wish.seed)).into_iter();
    let of = |target: &Target| match target {
        Target::Count(v) => {
            let is_true = noisy.may_be_true(*v).then(|| laws[*v].p(noisy.values[*v] as i64));
            Said { is_true, ..Said::of_law(&laws[*v], wish.level) }
        }
        Target::Sum(_) => Said::of_draws(of_sums.next().unwrap_or_default(), wish.level),
    };
    let said = targets.iter().map(of).collect();
    let lacks = posterior.lacks();
    let lacks =
        if lacks > 1e-9 { format!("; at most {lacks:.1e} of its mass is left out") } else { String::new() };
    let assumed = if noisy.assumed {
        "; the noise is taken as normal, since the file tells its variance alone"
    } else {
        ""
    };
    let kept = drawn_counts(&posterior, tree, wish).map_err(refused)?;
    Ok(Believed { said, draws, words: words + &lacks + assumed, chains: None, kept })
}

/// Draws of all counts that are asked for, one after the other. Errors: more than fit.
fn drawn_counts(posterior: &Posterior, tree: &Hierarchy, wish: &Wish) -> crate::Result<Vec<i64>> {
    let nodes = tree.nodes();
    let needed = wish.draws.saturating_mul(nodes);
    if needed > KEPT {
        return Err(crate::Error::TooLarge {
            what: format!("{} draws of {nodes} counts", wish.draws),
            needed: needed as u64,
            limit: KEPT as u64,
            unit: "values",
        });
    }
    let mut kept = vec![0i64; needed];
    kept.par_chunks_mut(nodes)
        .enumerate()
        .for_each(|(replicate, counts)| draw(posterior, wish.seed, replicate as u64, counts));
    Ok(kept)
}

/// One draw of all counts.
fn draw(posterior: &Posterior, seed: u64, replicate: u64, counts: &mut [i64]) {
    let key = TaskKey { seed, cell: CELL, replicate, role: Role::Noise };
    posterior.draw(&mut stream(key), counts);
}

/// Sums over leaves in draws of the posterior, sum by sum.
fn drawn_sums(
    posterior: &Posterior,
    tree: &Hierarchy,
    sums: &[&Target],
    (draws, seed): (usize, u64),
) -> Vec<Vec<f64>> {
    let of_draw = |replicate: u64| -> Vec<f64> {
        let mut counts = vec![0i64; tree.nodes()];
        draw(posterior, seed, replicate, &mut counts);
        sums.iter().map(|target| target.value(|v| counts[v] as f64)).collect()
    };
    let all: Vec<Vec<f64>> = (0..draws as u64).into_par_iter().map(of_draw).collect();
    (0..sums.len()).map(|place| all.iter().map(|values| values[place]).collect()).collect()
}
