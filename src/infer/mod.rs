//! What a release says of the counts: a noisy file of a tree, or of a table under equations, is read, and gives intervals of
//! nodes or entries, and of sums of them (districts, queries).
//!
//! Under equations alone a release is `y = x + z`, and no law of z depends on x: what holds for z holds for x at every table
//! of counts (`pivots`). What a method moves to be >= 0 has no such law, and gets a parametric bootstrap, which promises
//! nothing. With a prior there is a posterior; with a model of the counts there are its coefficients.

mod conditioned;
mod districts;
mod drawn;
mod entries;
mod file;
mod inferred;
mod interval;
mod laws;
mod leaves;
mod likelihood;
mod model;
mod nodes;
mod noisy;
mod page;
mod pivots;
mod posterior;
mod priors;
mod ratios;
mod raw;
mod reach;
mod repeated;
mod table_posterior;
mod target;
mod write;

pub use conditioned::Walked;
pub use districts::District;
pub use entries::Entries;
pub use inferred::Inferred;
pub use interval::{Band, By, Interval, Met};
pub use likelihood::Likelihood;
pub use model::{Covariates, Model, ModelRow, Modelled, counts, fits};
pub use nodes::Nodes;
pub use noisy::{Noisy, Structure};
pub use pivots::exact_sampler;
pub use priors::{Ends, Mean, Shared, ends, prior};
pub use ratios::{Ratio, RatioRow};
pub use raw::settled;
pub use repeated::{Repeated, Span, named, release};
pub use write::{IntervalRow, columns, parquet, write};

use crate::failure::{Failure, Result};
use leaves::Leaves;
use std::path::PathBuf;

/// What is asked of a noisy file.
#[derive(Debug, Clone)]
pub struct Wish {
    /// The noisy file.
    pub file: PathBuf,
    /// Its columns of keys: of a tree those of the levels below the total, the highest first; none: all that have no meaning of their own.
    pub levels: Vec<String>,
    /// A file with the `[[invariant]]` blocks of a table; `None`: those that the file carries, and else it is that of a tree.
    pub invariants: Option<PathBuf>,
    /// A table of districts or queries.
    pub queries: Option<PathBuf>,
    /// Ratios of districts or queries, by their names with `/` between.
    pub ratios: Vec<String>,
    /// What intervals hold at least, between 0 and 1.
    pub level: f64,
    /// The prior of a posterior; `None`: intervals that hold whatever the counts are, where there are any.
    pub prior: Option<Shared>,
    /// A table with a row for each leaf, for priors, bounds and models.
    pub leaves: Option<PathBuf>,
    /// Columns of it between which counts are, with a prior.
    pub bounds: Option<Ends>,
    /// A model of the counts of leaves.
    pub model: Option<Model>,
    /// Draws of the posterior that are kept.
    pub draws: usize,
    /// Whether bands are wanted that hold for all counts of a query at once.
    pub bands: bool,
    /// The master seed of draws.
    pub seed: u64,
}

impl Wish {
    /// Intervals of all counts of a noisy file that hold 0.9, whatever the counts are.
    pub fn of(file: PathBuf) -> Self {
        Self {
            file,
            levels: Vec::new(),
            invariants: None,
            queries: None,
            ratios: Vec::new(),
            level: 0.9,
            prior: None,
            leaves: None,
            bounds: None,
            model: None,
            draws: 0,
            bands: false,
            seed: 1,
        }
    }
}

/// A level in words, or as a fraction: `0.9`, `9/10`. Errors: what is no number between 0 and 1.
pub fn level(text: &str) -> std::result::Result<f64, String> {
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let level = match text.split_once('/') {
        Some((above, below)) => number(above)
            .zip(number(below))
            .filter(|(above, _)| *above > 0.0)
            .map(|(above, below)| above / below),
        None => number(text),
    };
    let good = level.filter(|level| is_level(*level));
    good.ok_or_else(|| "want a number above 0 and at most 0.999999999, such as 0.9 or 9/10".to_owned())
}

/// The intervals. Errors: the files; what nothing can be said of.
pub fn infer(wish: &Wish) -> Result<Inferred> {
    if !is_level(wish.level) {
        let message = format!("level: got {}, want a number above 0 and at most 0.999999999", wish.level);
        return Err(Failure::Usage(message));
    }
    if wish.bands && wish.prior.is_some() {
        return Err(Failure::Usage("bands: want no prior, a posterior has none here".into()));
    }
    for (given, what) in [(wish.bounds.is_some(), "--bounds"), (wish.draws > 0, "draws")] {
        if given && wish.prior.is_none() {
            return Err(Failure::Usage(format!("{what}: want a prior, too")));
        }
    }
    let noisy = Noisy::read(&wish.file, &wish.levels, wish.invariants.as_deref())?;
    let leaves = wish.leaves.as_ref().map(|path| Leaves::read(path, &noisy)).transpose()?;
    let districts = wish.queries.as_ref().map(|path| districts::read(path, &noisy)).transpose()?;
    inferred::of(wish, noisy, leaves.as_ref(), districts.unwrap_or_default())
}

/// Whether intervals may hold so much: closer to 1, what laws are computed to would decide.
fn is_level(level: f64) -> bool {
    level > 0.0 && level <= 1.0 - 1e-9
}
