//! Intervals from the posterior, with a prior of every leaf.

use super::interval::{By, Said};
use super::leaves::Leaves;
use super::target::Target;
use super::{Noisy, Shared, Wish, drawn, priors};
use crate::catalogue::Family;
use crate::diagnostics::Moments;
use crate::failure::{Failure, Result};
use crate::inference::{Posterior, Prior, Weight};
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
    /// Draws of the counts of all nodes that were asked for, one after the other.
    pub(super) kept: Vec<i64>,
}

/// Refuses a release whose likelihood is not a product over its nodes. `what`: what it has not.
pub(super) fn check(noisy: &Noisy, what: &str) -> Result<()> {
    if noisy.method.nonnegative() || !(noisy.method.kind().is_free() || noisy.method.conditions()) {
        let message = format!(
            "{what} of releases by {}; want noise on every count, as it is or conditioned on sums alone",
            noisy.method_words()
        );
        return Err(Failure::data(&noisy.path, message));
    }
    Ok(())
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
    check(noisy, "--prior: no posterior")?;
    let weights = weights(noisy);
    let with = |priors: &[Prior]| Posterior::on_tree(&noisy.tree, &weights, &noisy.values, priors);
    let evidence = |priors: &[Prior]| with(priors).map(|all| all.log_evidence());
    let (priors, words) = priors::of(wish, (noisy, leaves), prior, &evidence)?;
    let posterior = with(&priors).map_err(refused)?;
    let laws = posterior.laws();
    let sums: Vec<&Target> = targets.iter().filter(|target| matches!(target, Target::Sum(_))).collect();
    let draws = match sums.len() {
        0 => 0,
        number => drawn::number(number, wish.level).map_err(refused)?,
    };
    let mut of_sums = drawn_sums(&posterior, noisy, &sums, (draws, wish.seed)).into_iter();
    let of = |target: &Target| match target {
        Target::Node(v) => {
            let (low, high) = laws[*v].interval(wish.level);
            let deviation = libm::sqrt(laws[*v].variance());
            let estimate = laws[*v].mean();
            Said {
                estimate,
                deviation,
                low: low as f64,
                high: high as f64,
                by: By::Posterior,
                naive: f64::NAN,
            }
        }
        Target::Sum(_) => {
            let mut values = of_sums.next().unwrap_or_default();
            let mut moments = Moments::default();
            values.iter().for_each(|&x| moments.push(x));
            values.sort_by(f64::total_cmp);
            // The ranks on either side of which lie at most as many draws.
            let beyond = libm::floor(0.5 * (1.0 - wish.level) * (draws + 1) as f64) as usize;
            let (low, high) = (values[beyond.max(1) - 1], values[draws - beyond.max(1)]);
            let (estimate, deviation) = (moments.mean(), moments.deviation());
            Said { estimate, deviation, low, high, by: By::Posterior, naive: f64::NAN }
        }
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
    let kept = drawn_counts(&posterior, noisy, wish)?;
    Ok(Believed { said, draws, words: words + &lacks + assumed, kept })
}

/// Draws of all counts that are asked for, one after the other. Errors: more than fit.
fn drawn_counts(posterior: &Posterior, noisy: &Noisy, wish: &Wish) -> Result<Vec<i64>> {
    let nodes = noisy.tree.nodes();
    let needed = wish.draws.saturating_mul(nodes);
    if needed > KEPT {
        return Err(noisy.refused(crate::Error::TooLarge {
            what: format!("{} draws of {nodes} counts", wish.draws),
            needed: needed as u64,
            limit: KEPT as u64,
            unit: "values",
        }));
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
    noisy: &Noisy,
    sums: &[&Target],
    (draws, seed): (usize, u64),
) -> Vec<Vec<f64>> {
    let of_draw = |replicate: u64| -> Vec<f64> {
        let mut counts = vec![0i64; noisy.tree.nodes()];
        draw(posterior, seed, replicate, &mut counts);
        sums.iter().map(|target| target.value(&noisy.tree, |v| counts[v] as f64)).collect()
    };
    let all: Vec<Vec<f64>> = (0..draws as u64).into_par_iter().map(of_draw).collect();
    (0..sums.len()).map(|place| all.iter().map(|values| values[place]).collect()).collect()
}
