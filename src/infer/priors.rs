//! Priors of the leaves: one that all share, or with means by leaf; in a range or not.

use super::leaves::Leaves;
use super::{Ends, Mean, Noisy, Shared, Wish};
use crate::failure::{Failure, Result};
use crate::inference::Prior;
use crate::invariant::Hierarchy;
use crate::page::line;

/// The prior of each leaf, and all of them in words; `evidence`: how likely priors make the release, in logarithms. Errors: columns of the
/// table of leaves; no posterior.
pub(super) fn of(
    wish: &Wish,
    (noisy, tree, leaves): (&Noisy, &Hierarchy, Option<&Leaves>),
    shared: &Shared,
    evidence: &dyn Fn(&[Prior]) -> crate::Result<f64>,
) -> Result<(Vec<Prior>, String)> {
    let number = tree.leaves().len();
    let table = |what: &str| {
        leaves.ok_or_else(|| Failure::Usage(format!("{what}: want a table of leaves, --leaves FILE")))
    };
    let mut ranges = vec![(i64::MIN, i64::MAX); number];
    if let Some(Ends { low, high }) = &wish.bounds {
        let leaves = table("--bounds")?;
        if let Some(low) = low {
            ranges.iter_mut().zip(leaves.ends(low, i64::MIN)?).for_each(|(range, low)| range.0 = low);
        }
        if let Some(high) = high {
            ranges.iter_mut().zip(leaves.ends(high, i64::MAX)?).for_each(|(range, high)| range.1 = high);
        }
    }
    let bounded = wish.bounds.is_some();
    let within = |priors: Vec<Prior>| match bounded {
        true => priors.iter().zip(&ranges).map(|(prior, &(low, high))| prior.within(low, high)).collect(),
        false => priors,
    };
    let means = |name: &str| table(&format!("--prior with the column `{name}`"))?.positive(name);
    let by_column = |law: &str, name: &str| {
        let file = leaves.map_or(String::new(), |leaves| leaves.path().display().to_string());
        format!("{law} with the mean in `{}` of {}", line(name), line(&file))
    };
    let (priors, words) = match shared {
        Shared::Poisson(Some(Mean::Column(name))) => {
            (means(name)?.into_iter().map(Prior::Poisson).collect(), by_column("Poisson", name))
        }
        Shared::NegativeBinomial(Some((Mean::Column(name), size))) => {
            let prior = |mean| Prior::NegativeBinomial { mean, size: *size };
            let words = by_column("negative binomial", name) + &format!(" and the size {}", short(*size));
            (means(name)?.into_iter().map(prior).collect(), words)
        }
        shared => {
            let evidence = |prior: Prior| evidence(&within(vec![prior; number]));
            let (prior, found) = chosen((noisy, tree), shared, &evidence).map_err(|e| noisy.refused(e))?;
            (vec![prior; number], words(prior, &found.unwrap_or_default()))
        }
    };
    let range = match &wish.bounds {
        None => String::new(),
        Some(Ends { low, high }) => {
            let name = |end: &Option<String>| {
                end.as_ref().map_or("no end".to_owned(), |name| format!("`{}`", line(name)))
            };
            format!("; from {} to {} of each leaf", name(low), name(high))
        }
    };
    Ok((within(priors), words + &range))
}

/// A prior in words; `most`: where its parameters come from, blank where they were given.
fn words(prior: Prior, most: &str) -> String {
    match prior {
        Prior::Flat => "every integer weighs the same".to_owned(),
        Prior::Between(..) => "every integer >= 0 weighs the same".into(),
        Prior::Poisson(mean) | Prior::TruncatedPoisson { mean, .. } => {
            format!("Poisson with the mean {}{most}", short(mean))
        }
        Prior::NegativeBinomial { mean, size } | Prior::TruncatedNegativeBinomial { mean, size, .. } => {
            format!("negative binomial with the mean {} and the size {}{most}", short(mean), short(size))
        }
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
    shared: &Shared,
    evidence: &dyn Fn(Prior) -> crate::Result<f64>,
) -> crate::Result<(Prior, Option<String>)> {
    let leaves = tree.leaves();
    let sum: f64 = leaves.iter().map(|&leaf| noisy.values[leaf as usize].max(0.0)).sum();
    let near = (sum / leaves.len() as f64).max(0.01);
    let means = (near / 100.0, near * 10.0);
    Ok(match *shared {
        Shared::Flat => (Prior::Flat, None),
        Shared::Nonnegative => (Prior::NONNEGATIVE, None),
        Shared::Poisson(Some(Mean::Number(mean))) => (Prior::Poisson(mean), None),
        Shared::NegativeBinomial(Some((Mean::Number(mean), size))) => {
            (Prior::NegativeBinomial { mean, size }, None)
        }
        Shared::Poisson(_) => {
            let (mean, edge) = best(means, &|mean| evidence(Prior::Poisson(mean)))?;
            (Prior::Poisson(mean), Some(from(&[("mean", edge)])))
        }
        Shared::NegativeBinomial(_) => {
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
