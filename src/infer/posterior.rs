//! Intervals from the posterior, with a prior that all leaves share.

use super::interval::{By, Said};
use super::target::Target;
use super::{Noisy, Wish, drawn};
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

/// What is said of the targets, by how many draws, and what it rests on, in words. Errors: a release that has no such posterior;
/// a prior that leaves nothing.
pub(super) fn said(
    wish: &Wish,
    noisy: &Noisy,
    tree: &Hierarchy,
    targets: &[Target],
    prior: Shared,
) -> Result<(Vec<Said>, usize, String)> {
    let refused = |e| noisy.refused(e);
    if noisy.method.nonnegative() || !(noisy.method.kind().is_free() || noisy.method.conditions()) {
        let message = format!(
            "--prior: no posterior of releases by {}; want noise on every count, as it is or conditioned on sums alone",
            noisy.method_words()
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
    let (prior, found) =
        chosen((noisy, tree), prior, &|prior| with(prior).map(|all| all.log_evidence())).map_err(refused)?;
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
    let words = words(prior, found);
    let lacks = posterior.lacks();
    let lacks =
        if lacks > 1e-9 { format!("; at most {lacks:.1e} of its mass is left out") } else { String::new() };
    let assumed = if noisy.assumed {
        "; the noise is taken as normal, since the file tells its variance alone"
    } else {
        ""
    };
    Ok((said, draws, words + &lacks + assumed))
}

/// A prior in words; `found`: its parameters were looked for.
fn words(prior: Prior, found: bool) -> String {
    match (prior, found) {
        (Prior::Flat, _) => "every integer weighs the same".to_owned(),
        (Prior::Between(..), _) => "every integer >= 0 weighs the same".into(),
        (Prior::Poisson(mean), found) => format!("Poisson with the mean {}{}", short(mean), from(found)),
        (Prior::NegativeBinomial { mean, size }, found) => {
            format!(
                "negative binomial with the mean {} and the size {}{}",
                short(mean),
                short(size),
                from(found)
            )
        }
    }
}

/// A parameter, to four digits behind the point.
fn short(x: f64) -> String {
    let text = format!("{x:.4}");
    if x < 0.01 { format!("{x:.3e}") } else { text.trim_end_matches('0').trim_end_matches('.').to_owned() }
}

/// Where parameters come from, in words.
fn from(found: bool) -> &'static str {
    if found { ", which makes the release most likely of those that were tried" } else { "" }
}

/// The prior with its parameters, and whether they were looked for. Errors: no posterior.
fn chosen(
    (noisy, tree): (&Noisy, &Hierarchy),
    prior: Shared,
    evidence: &dyn Fn(Prior) -> crate::Result<f64>,
) -> crate::Result<(Prior, bool)> {
    let leaves = tree.leaves();
    let sum: f64 = leaves.iter().map(|&leaf| noisy.values[leaf as usize].max(0.0)).sum();
    let near = (sum / leaves.len() as f64).max(0.01);
    Ok(match prior {
        Shared::Flat => (Prior::Flat, false),
        Shared::Nonnegative => (Prior::NONNEGATIVE, false),
        Shared::Poisson(Some(mean)) => (Prior::Poisson(mean), false),
        Shared::NegativeBinomial(Some((mean, size))) => (Prior::NegativeBinomial { mean, size }, false),
        Shared::Poisson(None) => {
            let mean = best((near / 100.0, near * 10.0), &|mean| evidence(Prior::Poisson(mean)))?;
            (Prior::Poisson(mean), true)
        }
        Shared::NegativeBinomial(None) => {
            let (mut mean, mut size) = (near, 1.0);
            for _ in 0..ROUNDS {
                size = best((1e-3, 1e4), &|size| evidence(Prior::NegativeBinomial { mean, size }))?;
                mean = best((near / 100.0, near * 10.0), &|mean| {
                    evidence(Prior::NegativeBinomial { mean, size })
                })?;
            }
            (Prior::NegativeBinomial { mean, size }, true)
        }
    })
}

/// Rounds of two searches after each other.
const ROUNDS: usize = 4;
/// Steps of a search: each leaves 0.62 of the range of logarithms.
const STEPS: usize = 32;

/// Where a function with one peak is largest, between two numbers > 0: by golden sections of the logarithm. Errors: those of the function.
fn best((low, high): (f64, f64), of: &dyn Fn(f64) -> crate::Result<f64>) -> crate::Result<f64> {
    let golden = 0.5 * (libm::sqrt(5.0) - 1.0);
    let at = |log: f64| of(libm::exp(log));
    let (mut low, mut high) = (libm::log(low), libm::log(high));
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
    Ok(libm::exp(0.5 * (low + high)))
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
