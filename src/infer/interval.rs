//! What is said of one count, and what it meets.

use super::noisy::{Noisy, Structure};
use super::reach::Reach;
use super::target::Target;
use crate::diagnostics::Moments;
use crate::inference::CountLaw;

/// How an interval was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// From the law of the error.
    Law,
    /// Between bounds that leave at least the chance of the level whatever the law of the error is.
    Bound,
    /// By draws of the error, which do not depend on the counts: the k-th smallest of n has at least the chance `k/(n + 1)` to
    /// be no smaller than another.
    Draws,
    /// As if the error were normal, with its own standard deviation: of so many counts that draws do not fit.
    Normal,
    /// By a parametric bootstrap: the method is repeated on what was released.
    Bootstrap,
    /// From the posterior: equal tails.
    Posterior,
}

impl By {
    /// In a table.
    pub fn word(self) -> &'static str {
        match self {
            Self::Law => "law",
            Self::Bound => "bound",
            Self::Draws => "draws",
            Self::Normal => "normal",
            Self::Bootstrap => "bootstrap",
            Self::Posterior => "posterior",
        }
    }
}

/// What became of an interval where it met what is known: counts are >= 0, and no more than a known count around them, or than an
/// invariant leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Met {
    /// Nothing.
    Whole,
    /// A part was cut off.
    Cut,
    /// Nothing was left but the nearest value that can be.
    Empty,
}

impl Met {
    /// In a table.
    pub fn word(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Cut => "cut",
            Self::Empty => "empty",
        }
    }
}

/// What is said of a target, before it meets what is known.
#[derive(Debug, Clone, Copy)]
pub(super) struct Said {
    pub(super) estimate: f64,
    pub(super) deviation: f64,
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) by: By,
    pub(super) naive: f64,
    /// The probability that what was released is the true count, where it is told.
    pub(super) is_true: Option<f64>,
}

impl Said {
    pub(super) fn around(estimate: f64, half: f64, deviation: f64, by: By) -> Self {
        let (low, high) = (estimate - half, estimate + half);
        Self { estimate, deviation, low, high, by, naive: f64::NAN, is_true: None }
    }

    /// What the law of a posterior says: its mean, with equal tails.
    pub(super) fn of_law(law: &CountLaw, level: f64) -> Self {
        let (low, high) = law.interval(level);
        let own = Self::around(law.mean(), 0.0, libm::sqrt(law.variance()), By::Posterior);
        Self { low: low as f64, high: high as f64, ..own }
    }

    /// What draws of a posterior say: their mean, and the ranks on either side of which lie at most as many as the level leaves.
    pub(super) fn of_draws(mut values: Vec<f64>, level: f64) -> Self {
        let mut moments = Moments::default();
        values.iter().for_each(|&x| moments.push(x));
        values.sort_by(f64::total_cmp);
        let draws = values.len();
        let beyond = libm::floor(0.5 * (1.0 - level) * (draws + 1) as f64) as usize;
        let (low, high) = (values[beyond.max(1) - 1], values[draws - beyond.max(1)]);
        Self { low, high, ..Self::around(moments.mean(), 0.0, moments.deviation(), By::Posterior) }
    }
}

/// What is said of one count.
#[derive(Debug, Clone)]
pub struct Interval {
    /// The level of a node, of an entry or of a sum of entries, from 0; of a district or a query the name.
    pub of: std::result::Result<usize, String>,
    /// The number of what has a level: [`Noisy::keys`].
    pub count: Option<usize>,
    /// Released, the estimate of least squares where values do not add up, or the posterior mean.
    pub estimate: f64,
    /// The standard deviation of its error, in counts; NaN where it depends on the counts, and nothing is known of it.
    pub deviation: f64,
    /// Half the width of the interval, before it met anything.
    pub half: f64,
    /// Where the interval begins.
    pub low: f64,
    /// Where it ends.
    pub high: f64,
    /// What it met.
    pub met: Met,
    /// How it was found.
    pub by: By,
    /// The ends of a band that holds for all counts of its level, or for all districts or queries, at once.
    pub band: Option<Band>,
    /// The probability that what was released is the true count: given the release, or, without noise, that value alone, of which it is a
    /// lower bound where counts were rounded.
    pub is_true: Option<f64>,
    /// How often an interval by the law of the noise alone would hold, beside a bootstrap; NaN where there is none.
    pub naive: f64,
}

/// A band that holds for many counts at once.
#[derive(Debug, Clone, Copy)]
pub struct Band {
    /// Half its width, before it met anything.
    pub half: f64,
    /// Where it begins.
    pub low: f64,
    /// Where it ends.
    pub high: f64,
}

/// What is known of counts: they are >= 0, and no more than a known count around them, or than what the invariant leaves.
pub(super) enum Bounds<'a> {
    /// By node, the nearest known node at or above it.
    Tree(&'a Noisy, Vec<Option<u32>>),
    /// What entries can be.
    Table(&'a Reach),
}

impl<'a> Bounds<'a> {
    pub(super) fn new(noisy: &'a Noisy) -> Self {
        let tree = match &noisy.structure {
            Structure::Tree(nodes) => &nodes.tree,
            Structure::Table(entries) => return Self::Table(&entries.reach),
        };
        let mut known: Vec<Option<u32>> = vec![None; tree.nodes()];
        for v in 0..tree.nodes() {
            known[v] = match tree.is_known(v) {
                true => Some(v as u32),
                false if v > 0 => known[tree.parent(v)],
                false => None,
            };
        }
        Self::Tree(noisy, known)
    }

    /// The least and the largest value that a target can have.
    pub(super) fn of(&self, target: &Target) -> (f64, f64) {
        let (noisy, known) = match self {
            Self::Tree(noisy, known) => (noisy, known),
            Self::Table(reach) => return reach.of(target),
        };
        let value = |known: Option<u32>| known.map_or(f64::INFINITY, |v| noisy.values[v as usize]);
        match target {
            Target::Count(v) => (0.0, value(known[*v])),
            Target::Sum(weights) => {
                let side = |sign: i8| -> f64 {
                    let own = weights.iter().filter(|(_, weight)| *weight == sign);
                    let mut around: Vec<Option<u32>> = own.map(|&(leaf, _)| known[leaf as usize]).collect();
                    around.sort_unstable();
                    around.dedup();
                    around.into_iter().map(value).sum()
                };
                (0.0 - side(-1), side(1) + 0.0)
            }
        }
    }

    pub(super) fn meet(&self, target: &Target, low: f64, high: f64) -> (f64, f64, Met) {
        meet(self.of(target), low, high)
    }
}

/// What is left of an interval between the least and the largest value that can be.
pub(super) fn meet((least, most): (f64, f64), low: f64, high: f64) -> (f64, f64, Met) {
    if high < least {
        (least, least, Met::Empty)
    } else if low > most {
        (most, most, Met::Empty)
    } else if low < least || high > most {
        (low.max(least), high.min(most), Met::Cut)
    } else {
        (low, high, Met::Whole)
    }
}
