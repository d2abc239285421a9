//! What a release says of the counts: a noisy file of a tree, or of a table under equations, is read, and gives intervals of
//! nodes or entries, and of sums of them (districts, queries).
//!
//! Under equations alone a release is `y = x + z`, and no law of z depends on x: what holds for z holds for x at every table
//! of counts (`pivots`). What a method moves to be >= 0 has no such law, and gets a parametric bootstrap, which promises
//! nothing. With a prior there is a posterior; with a model of the counts there are its coefficients.
//!
//! A file of tables of attributes in all areas of a hierarchy has readers of its own (`area_tables`).

mod area_tables;
mod conditioned;
mod customary;
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
mod wish;
mod write;

pub use area_tables::AreaInferred;
pub use conditioned::Walked;
pub use districts::District;
pub use drawn::{OfNodes, in_batches};
pub use entries::Entries;
pub use inferred::Inferred;
pub use interval::{Band, By, Interval, Met};
pub use likelihood::Likelihood;
pub use model::{Covariates, ModelRow, Modelled, fits};
pub use nodes::Nodes;
pub use noisy::{Noisy, Structure};
pub use pivots::exact_sampler;
pub use ratios::{Ratio, RatioRow};
pub use raw::settled;
pub use repeated::{Repeated, Span, named, release};
pub use wish::{Ends, Mean, Model, Shared, Wish, counts, ends, level, prior};
pub use write::{IntervalRow, Put, Told, check_apart, columns, parquet, write};

use crate::failure::{Failure, Result};
use leaves::Leaves;

/// What a file says, be it of single counts or of tables of attributes in areas. Errors: the files; what nothing can be said of.
pub fn told(wish: &Wish) -> Result<Box<dyn Told>> {
    Ok(match of_tables(wish)? {
        Some(told) => Box::new(told),
        None => Box::new(infer(wish)?),
    })
}

/// The intervals of a file of tables of attributes in areas; `None` of another file. Errors: the files; what nothing can be said of.
pub fn of_tables(wish: &Wish) -> Result<Option<AreaInferred>> {
    wish.check_level()?;
    area_tables::of(wish)
}

/// The intervals of single counts. Errors: the files; what nothing can be said of.
pub fn infer(wish: &Wish) -> Result<Inferred> {
    wish.check_level()?;
    if wish.bands && wish.prior.is_some() {
        return Err(Failure::Usage("bands: want no prior, a posterior has none here".into()));
    }
    for (given, what) in [(wish.bounds.is_some(), "--bounds"), (wish.draws > 0, "--draws")] {
        if given && wish.prior.is_none() {
            return Err(Failure::Usage(format!("{what}: want a prior, too")));
        }
    }
    let noisy = Noisy::read(&wish.file, &wish.levels, wish.invariants.as_deref())?;
    let leaves = wish.leaves.as_ref().map(|path| Leaves::read(path, &noisy)).transpose()?;
    let districts = wish.queries.as_ref().map(|path| districts::read(path, &noisy)).transpose()?;
    inferred::of(wish, noisy, leaves.as_ref(), districts.unwrap_or_default())
}
