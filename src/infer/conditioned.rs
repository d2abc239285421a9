//! Posteriors of releases whose integer noise was conditioned on counts >= 0: by chains of independent proposals.

use super::interval::Said;
use super::target::Target;
use super::{Noisy, Wish, drawn};
use crate::catalogue::Family;
use crate::diagnostics::{LEAST_ESS, MOST_RHAT, Mixing};
use crate::inference::{Chains, Conditioned, Prior, Proposal, Weight};
use crate::invariant::Hierarchy;
use crate::page::thousands;
use crate::rng::{Role, TaskKey, stream};
use crate::{Error, Result};
use rayon::prelude::*;
use std::collections::HashMap;

/// What chains of proposals tell of themselves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Walked {
    /// Steps from the beginning of each chain that are left out.
    pub left_out: usize,
    /// The share of proposals that were accepted.
    pub acceptance: f64,
    /// The distance of the first step kept to the posterior, estimated (total variation); `None`: it is 0.
    pub unforgotten: Option<f64>,
    /// The worst of all counts and districts; `None` where nothing varies.
    pub mixing: Option<Mixing>,
}

/// Chains.
const CHAINS: usize = 4;
/// Steps that are left out before those that are kept: one for this many of these.
const LEFT_OUT: usize = 3;
/// Steps kept at least, of all chains: fewer would hardly mix.
const LEAST: usize = 800;
/// Products of all passes at most: some minutes.
const WORK: f64 = 2e10;
/// How far tables reach, in scales.
const REACH: f64 = 45.0;
/// Draws that tell the evidence of a prior.
const EVIDENCE: u64 = 100;
/// Proposals; of the evidence.
const CELLS: [u64; 2] = [0x636f_6e64_6974_696f, 0x6576_6964_656e_6365];

/// Whether a release is integers that conditioning on counts >= 0 gives.
pub(super) fn serves(noisy: &Noisy) -> bool {
    let method = &noisy.method;
    method.conditions()
        && method.nonnegative()
        && matches!(noisy.law.family(), Family::DoubleGeometric | Family::DiscreteGaussian)
}

/// What is said of the targets, by how many draws. Errors: tables that are too large, or chains that would take too long.
pub(super) fn said(
    wish: &Wish,
    (noisy, tree): (&Noisy, &Hierarchy),
    targets: &[Target],
    weights: &[Weight],
    priors: &[Prior],
) -> Result<(Vec<Said>, usize, Walked)> {
    let posterior = Conditioned::on_tree(tree, weights, &noisy.values, priors)?;
    let kept = drawn::number(targets.len(), wish.level)?;
    let kept = kept.min(passes(noisy, tree, wish.level)?).div_ceil(CHAINS);
    let left_out = kept.div_ceil(LEFT_OUT);
    let draw = |replicate: u64| {
        let mut counts = vec![0i64; tree.nodes()];
        let key = TaskKey { seed: wish.seed, cell: CELLS[0], replicate, role: Role::Noise };
        let uniform = posterior.draw(&mut stream(key), &mut counts);
        (counts, uniform)
    };
    let number = (CHAINS * (kept + left_out)) as u64;
    let drawn: Vec<(Vec<i64>, f64)> = (0..number).into_par_iter().map(draw).collect();
    let proposals = proposals(&posterior, &drawn)?;
    let value = |counts: &[i64]| targets.iter().map(|target| target.value(|v| counts[v] as f64)).collect();
    let values: Vec<Vec<f64>> = drawn.par_iter().map(|(counts, _)| value(counts)).collect();
    let chains = Chains::run(&proposals, (CHAINS, left_out), posterior.log_least());
    let of = |target: usize| {
        let chain = |at: &Vec<u32>| at.iter().map(|&place| values[place as usize][target]).collect();
        let all: Vec<Vec<f64>> = chains.at.iter().map(chain).collect();
        let mixing = Mixing::of(&all.iter().map(Vec::as_slice).collect::<Vec<_>>());
        let all = all.concat();
        let is_true = match targets[target] {
            Target::Count(v) if noisy.may_be_true(v) => {
                Some(all.iter().filter(|count| **count == noisy.values[v]).count() as f64 / all.len() as f64)
            }
            _ => None,
        };
        (Said { is_true, ..Said::of_draws(all, wish.level) }, mixing)
    };
    let (said, mixing): (Vec<Said>, Vec<Option<Mixing>>) = (0..targets.len()).into_par_iter().map(of).unzip();
    let worst = |a: Mixing, b: Mixing| Mixing {
        rhat: a.rhat.max(b.rhat),
        bulk: a.bulk.min(b.bulk),
        tail: a.tail.min(b.tail),
    };
    let mixing = mixing.into_iter().flatten().reduce(worst);
    let Chains { acceptance, unforgotten, .. } = chains;
    Ok((said, CHAINS * kept, Walked { left_out, acceptance, unforgotten, mixing }))
}

/// Counts that were drawn with their normalisers: equal ones have it computed once.
fn proposals(posterior: &Conditioned, drawn: &[(Vec<i64>, f64)]) -> Result<Vec<Proposal>> {
    let (mut places, mut different): (HashMap<&[i64], usize>, Vec<&[i64]>) = Default::default();
    let place = |counts| {
        *places.entry(counts).or_insert_with(|| {
            different.push(counts);
            different.len() - 1
        })
    };
    let of: Vec<usize> = drawn.iter().map(|(counts, _)| &counts[..]).map(place).collect();
    let logs: Vec<f64> =
        different.par_iter().map(|counts| posterior.log_normaliser(counts)).collect::<Result<_>>()?;
    let both = drawn.iter().zip(of);
    Ok(both
        .map(|((_, uniform), place)| Proposal { log_normaliser: logs[place], uniform: *uniform })
        .collect())
}

/// The logarithm of the probability of the release under a prior, but for a constant: of the evidence without the normaliser c, and
/// the mean of 1/c over draws of its posterior, the same for all priors as far as can be. Errors: no posterior.
pub(super) fn log_evidence(
    wish: &Wish,
    (noisy, tree): (&Noisy, &Hierarchy),
    weights: &[Weight],
    priors: &[Prior],
) -> Result<f64> {
    passes(noisy, tree, wish.level)?;
    let posterior = Conditioned::on_tree(tree, weights, &noisy.values, priors)?;
    let log = |replicate: u64| -> Result<f64> {
        let mut counts = vec![0i64; tree.nodes()];
        let key = TaskKey { seed: wish.seed, cell: CELLS[1], replicate, role: Role::Noise };
        Ok(-posterior.propose(&mut stream(key), &mut counts)?.log_normaliser)
    };
    let logs = (0..EVIDENCE).into_par_iter().map(log).collect::<Result<Vec<f64>>>()?;
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mean = logs.iter().map(|log| libm::exp(log - most)).sum::<f64>() / EVIDENCE as f64;
    Ok(posterior.without().log_evidence() + most + libm::log(mean))
}

/// How many normalisers may be computed. Errors: fewer than chains, or intervals that hold `level`, want.
fn passes(noisy: &Noisy, tree: &Hierarchy, level: f64) -> Result<usize> {
    let least = (LEAST as f64).max(libm::ceil(4.0 / (1.0 - level)));
    let widest = noisy.scales.iter().copied().fold(0.0, f64::max);
    let each = tree.nodes() as f64 * libm::pow(1.0 + REACH * widest, 2.0);
    match WORK / each {
        passes if passes >= least => Ok(passes as usize),
        _ => Err(Error::TooLarge {
            what: "the posterior of a release conditioned on counts >= 0".into(),
            needed: (least * each) as u64,
            limit: WORK as u64,
            unit: "products",
        }),
    }
}

impl Walked {
    /// Whether the chains mixed well enough to be taken for the posterior.
    pub(super) fn has_converged(&self) -> bool {
        self.mixing.is_none_or(|mixing| mixing.converged())
    }

    /// What the posterior rests on, in words.
    pub(super) fn words(&self, draws: usize) -> String {
        let start = match self.unforgotten {
            None => "from there on every chain has its law exactly".to_owned(),
            Some(distance) => format!(
                "from there on their distance to its law is about {distance:.0e} or less (total variation, an estimate and no bound)"
            ),
        };
        let mixing = self.mixing.map_or(String::new(), |mixing| {
            let verdict = match self.has_converged() {
                true => String::new(),
                false => format!(
                    " That is not enough: want at least {LEAST_ESS} and at most {MOST_RHAT}, take none of it for sure."
                ),
            };
            let effective = thousands(libm::floor(mixing.bulk.min(mixing.tail)));
            format!(
                " They are worth at least {effective} independent draws for every count, with an R-hat of at most {:.3}.{verdict}",
                mixing.rhat
            )
        });
        format!(
            " The release was conditioned on counts >= 0, with a chance that depends on the counts. So all of it rests on {} draws \
             of {CHAINS} chains, which accepted {:.1} % of their proposals. The first {} steps of each are left out; {start}.{mixing}",
            thousands(draws as f64),
            100.0 * self.acceptance,
            thousands(self.left_out as f64),
        )
    }
}
