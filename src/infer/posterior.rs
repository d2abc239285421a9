//! Intervals from the posterior, with a prior that all leaves share.

use super::conditioned::Walked;
use super::interval::{By, Said};
use super::target::Target;
use super::{Noisy, Wish, conditioned, drawn};
use crate::catalogue::Family;
use crate::failure::{Failure, Result};
use crate::inference::{Posterior, Prior, Weight};
use crate::invariant::Hierarchy;
use crate::rng::{Role, TaskKey, stream};
use rayon::prelude::*;

/// A prior that all leaves share; without its parameters they are those that make the release most likely.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shared {
    /// Every integer weighs the same.
    Flat,
    /// Every integer >= 0 weighs the same.
    Nonnegative,
    /// Poisson with a mean.
    Poisson(Option<f64>),
    /// Negative binomial with a mean and a size.
    NegativeBinomial(Option<(f64, f64)>),
}

/// A prior from its words: `flat`, `nonnegative`, `poisson`, `poisson:MEAN`, `negative-binomial`, `negative-binomial:MEAN,SIZE`.
/// Errors: others.
pub fn prior(text: &str) -> std::result::Result<Shared, String> {
    let wanted = "want flat, nonnegative, poisson, poisson:MEAN, negative-binomial or negative-binomial:MEAN,SIZE, with numbers > 0";
    let (name, parameters) = text.split_once(':').map_or((text, None), |(name, rest)| (name, Some(rest)));
    let numbers: Option<Vec<f64>> = parameters.map_or(Some(Vec::new()), |text| {
        text.split(',')
            .map(|text| text.trim().parse().ok().filter(|x: &f64| x.is_finite() && *x > 0.0))
            .collect()
    });
    match (name, numbers.as_deref()) {
        ("flat", Some([])) => Ok(Shared::Flat),
        ("nonnegative", Some([])) => Ok(Shared::Nonnegative),
        ("poisson", Some([])) => Ok(Shared::Poisson(None)),
        ("poisson", Some(&[mean])) => Ok(Shared::Poisson(Some(mean))),
        ("negative-binomial", Some([])) => Ok(Shared::NegativeBinomial(None)),
        ("negative-binomial", Some(&[mean, size])) => Ok(Shared::NegativeBinomial(Some((mean, size)))),
        _ => Err(wanted.to_owned()),
    }
}

/// Draws for sums over leaves.
const CELL: u64 = 0x706f_7374_6572_696f;

/// What a prior and a release say.
pub(super) struct Believed {
    /// Of each target.
    pub(super) said: Vec<Said>,
    /// Draws that were taken.
    pub(super) draws: usize,
    /// What it rests on, in words.
    pub(super) prior: String,
    /// The chains that gave it; `None` where draws are independent.
    pub(super) chains: Option<Walked>,
}

/// What is said of the targets. Errors: a release that has no such posterior; a prior that leaves nothing.
pub(super) fn said(
    wish: &Wish,
    noisy: &Noisy,
    tree: &Hierarchy,
    targets: &[Target],
    prior: Shared,
) -> Result<Believed> {
    let refused = |e| noisy.refused(e);
    let is_conditioned = conditioned::serves(noisy);
    let is_plain =
        !noisy.method.nonnegative() && (noisy.method.kind().is_free() || noisy.method.conditions());
    if !is_plain && !is_conditioned {
        let message = format!(
            "--prior: no posterior of releases by {} with {} noise; want noise on every count, as it is or conditioned on sums, or \
             noise on the integers conditioned on counts >= 0, too",
            noisy.method_words(),
            noisy.law.name()
        );
        return Err(Failure::data(&noisy.path, message));
    }
    let scales = noisy.calibration().laws(|scale| scale).collect::<Vec<_>>();
    let weight = |scale: &f64| match noisy.law.family() {
        Family::Gaussian | Family::DiscreteGaussian => Weight::Gaussian(*scale),
        _ => Weight::Exponential(*scale),
    };
    let weights: Vec<Weight> = scales.iter().map(weight).collect();
    let leaves = tree.leaves().len();
    let with = |prior: Prior| Posterior::on_tree(tree, &weights, &noisy.values, &vec![prior; leaves]);
    let evidence = |prior: Prior| match is_conditioned {
        true => conditioned::log_evidence(wish, (noisy, tree), &weights, &vec![prior; leaves]),
        false => with(prior).map(|all| all.log_evidence()),
    };
    let shared = match prior {
        // The counts of such a release are >= 0.
        Shared::Flat if is_conditioned => Shared::Nonnegative,
        prior => prior,
    };
    let (prior, found) = chosen((noisy, tree), shared, &evidence).map_err(refused)?;
    let words = words(prior, &found.unwrap_or_default());
    if is_conditioned {
        let priors = vec![prior; leaves];
        let (said, draws, walked) =
            conditioned::said(wish, (noisy, tree), targets, &weights, &priors).map_err(refused)?;
        return Ok(Believed { said, draws, prior: words, chains: Some(walked) });
    }
    let posterior = with(prior).map_err(refused)?;
    let laws = posterior.laws();
    let sums: Vec<&Target> = targets.iter().filter(|target| matches!(target, Target::Sum(_))).collect();
    let draws = match sums.len() {
        0 => 0,
        number => drawn::number(number, wish.level).map_err(refused)?,
    };
    let mut of_sums = drawn_sums(&posterior, noisy, &sums, (draws, wish.seed)).into_iter();
    let of = |target: &Target| match target {
        Target::Count(v) => {
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
    Ok(Believed { said, draws, prior: words + &lacks + assumed, chains: None })
}

/// A prior in words; `found`: where its parameters come from, blank where they were given.
fn words(prior: Prior, found: &str) -> String {
    match prior {
        Prior::Flat => "every integer weighs the same".to_owned(),
        Prior::Between(..) => "every integer >= 0 weighs the same".into(),
        Prior::Poisson(mean) => format!("Poisson with the mean {}{found}", short(mean)),
        Prior::NegativeBinomial { mean, size } => {
            format!("negative binomial with the mean {} and the size {}{found}", short(mean), short(size))
        }
        _ => String::new(),
    }
}

/// A parameter, to four digits behind the point.
fn short(x: f64) -> String {
    let text = format!("{x:.4}");
    if x < 0.01 { format!("{x:.3e}") } else { text.trim_end_matches('0').trim_end_matches('.').to_owned() }
}

/// Where parameters come from that were looked for, in words; `edges`: those that lie at an end of where they were.
fn from(edges: &[(&str, Edge)]) -> String {
    let mut words = ", which makes the release most likely of those that were tried".to_owned();
    for (name, edge) in edges {
        let more = match edge {
            Edge::Inside => continue,
            Edge::Low => "smaller",
            Edge::High => "larger",
        };
        words += &format!(
            "; the {name} lies at the end of the range that was searched, a {more} one may make it more likely"
        );
    }
    words
}

/// The prior with its parameters, and in words where they come from if they were looked for. Errors: no posterior.
fn chosen(
    (noisy, tree): (&Noisy, &Hierarchy),
    prior: Shared,
    evidence: &dyn Fn(Prior) -> crate::Result<f64>,
) -> crate::Result<(Prior, Option<String>)> {
    let leaves = tree.leaves();
    let sum: f64 = leaves.iter().map(|&leaf| noisy.values[leaf as usize].max(0.0)).sum();
    let near = (sum / leaves.len() as f64).max(0.01);
    let means = (near / 100.0, near * 10.0);
    Ok(match prior {
        Shared::Flat => (Prior::Flat, None),
        Shared::Nonnegative => (Prior::NONNEGATIVE, None),
        Shared::Poisson(Some(mean)) => (Prior::Poisson(mean), None),
        Shared::NegativeBinomial(Some((mean, size))) => (Prior::NegativeBinomial { mean, size }, None),
        Shared::Poisson(None) => {
            let (mean, edge) = best(means, &|mean| evidence(Prior::Poisson(mean)))?;
            (Prior::Poisson(mean), Some(from(&[("mean", edge)])))
        }
        Shared::NegativeBinomial(None) => {
            let (mut mean, mut size) = ((near, Edge::Inside), (1.0, Edge::Inside));
            for _ in 0..ROUNDS {
                let with = |mean, size| evidence(Prior::NegativeBinomial { mean, size });
                size = best((1e-3, 1e4), &|size| with(mean.0, size))?;
                mean = best(means, &|mean| with(mean, size.0))?;
            }
            let words = from(&[("mean", mean.1), ("size", size.1)]);
            (Prior::NegativeBinomial { mean: mean.0, size: size.0 }, Some(words))
        }
    })
}

/// Rounds of two searches after each other.
const ROUNDS: usize = 4;
/// Steps of a search: each leaves 0.62 of the range of logarithms.
const STEPS: usize = 32;

/// Where a search ended in its range.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Edge {
    Inside,
    Low,
    High,
}

/// Where a function with one peak is largest, between two numbers > 0: by golden sections of the logarithm. Errors: those of the function.
fn best((low, high): (f64, f64), of: &dyn Fn(f64) -> crate::Result<f64>) -> crate::Result<(f64, Edge)> {
    let golden = 0.5 * (libm::sqrt(5.0) - 1.0);
    let at = |log: f64| of(libm::exp(log));
    let (mut low, mut high) = (libm::log(low), libm::log(high));
    let ends = (low, high);
    let (mut a, mut b) = (high - golden * (high - low), low + golden * (high - low));
    let (mut of_a, mut of_b) = (at(a)?, at(b)?);
    for _ in 0..STEPS {
        if of_a > of_b {
            (high, b, of_b) = (b, a, of_a);
            a = high - golden * (high - low);
            of_a = at(a)?;
        } else {
            (low, a, of_a) = (a, b, of_b);
            b = low + golden * (high - low);
            of_b = at(b)?;
        }
    }
    // An end that never moved: the function grows up to it.
    let edge = match (low == ends.0, high == ends.1) {
        (true, _) => Edge::Low,
        (_, true) => Edge::High,
        _ => Edge::Inside,
    };
    Ok((libm::exp(0.5 * (low + high)), edge))
}

/// Sums over leaves in draws of the posterior, sum by sum.
fn drawn_sums(
    posterior: &Posterior,
    noisy: &Noisy,
    sums: &[&Target],
    (draws, seed): (usize, u64),
) -> Vec<Vec<f64>> {
    let draw = |replicate: u64| -> Vec<f64> {
        let mut counts = vec![0i64; noisy.values.len()];
        let key = TaskKey { seed, cell: CELL, replicate, role: Role::Noise };
        posterior.draw(&mut stream(key), &mut counts);
        sums.iter().map(|target| target.value(|v| counts[v] as f64)).collect()
    };
    let all: Vec<Vec<f64>> = (0..draws as u64).into_par_iter().map(draw).collect();
    (0..sums.len()).map(|place| all.iter().map(|values| values[place]).collect()).collect()
}
