//! What is asked of a noisy file, and how it is written.

use crate::failure::{Failure, Result};
use crate::inference::Counts;
use std::path::{Path, PathBuf};

/// What is asked of a noisy file.
#[derive(Debug, Clone)]
pub struct Wish {
    /// The noisy file.
    pub file: PathBuf,
    /// Its columns of keys: of a tree those of the levels below the total, the highest first; none: all that have no meaning of their own.
    pub levels: Vec<String>,
    /// A file with the `[[invariant]]` blocks of a table; `None`: those that the file carries, and else it is that of a tree.
    pub invariants: Option<PathBuf>,
    /// A file that says what the tables of attributes are; `None`: what the file carries, and else it is of single counts.
    pub tables: Option<PathBuf>,
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
            tables: None,
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

    /// The files that are read.
    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        let more = [&self.invariants, &self.tables, &self.queries, &self.leaves];
        std::iter::once(&self.file).chain(more.into_iter().flatten()).map(PathBuf::as_path)
    }

    /// Refuses a level that no interval can hold.
    pub(super) fn check_level(&self) -> Result<()> {
        match is_level(self.level) {
            true => Ok(()),
            false => {
                let message =
                    format!("level: got {}, want a number above 0 and at most 0.999999999", self.level);
                Err(Failure::Usage(message))
            }
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

/// Whether intervals may hold so much: closer to 1, what laws are computed to would decide.
fn is_level(level: f64) -> bool {
    level > 0.0 && level <= 1.0 - 1e-9
}

/// A prior of every leaf; without its parameters they are those that make the release most likely.
#[derive(Debug, Clone, PartialEq)]
pub enum Shared {
    /// Every integer weighs the same.
    Flat,
    /// Every integer >= 0 weighs the same.
    Nonnegative,
    /// Poisson with a mean.
    Poisson(Option<Mean>),
    /// Negative binomial with a mean and a size.
    NegativeBinomial(Option<(Mean, f64)>),
}

/// The mean of a prior.
#[derive(Debug, Clone, PartialEq)]
pub enum Mean {
    /// One for all leaves.
    Number(f64),
    /// That of each leaf, in a column of the table of leaves.
    Column(String),
}

/// Columns of the table of leaves in which ranges begin and end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ends {
    /// Where they begin.
    pub low: Option<String>,
    /// Where they end.
    pub high: Option<String>,
}

/// A prior from its words: `flat`, `nonnegative`, `poisson`, `poisson:MEAN`, `negative-binomial`, `negative-binomial:MEAN,SIZE`, with a
/// mean that is a number or the name of a column of the table of leaves. Errors: others.
pub fn prior(text: &str) -> std::result::Result<Shared, String> {
    let wanted = "want flat, nonnegative, poisson, poisson:MEAN, negative-binomial or negative-binomial:MEAN,SIZE, with numbers > 0 \
                  (or a column of --leaves for the mean)";
    let (name, parameters) =
        text.split_once(':').map_or((text, None), |(name, rest)| (name, Some(rest.trim())));
    let positive = |x: &f64| x.is_finite() && *x > 0.0;
    let mean = |text: &str| match text.parse::<f64>() {
        Ok(number) => Some(Mean::Number(number)).filter(|_| positive(&number)),
        Err(_) => Some(Mean::Column(text.to_owned())).filter(|_| !text.is_empty()),
    };
    // The name of a column may have commas.
    let both = |text: &str| {
        let (of_mean, size) = text.rsplit_once(',')?;
        Some((mean(of_mean.trim())?, size.trim().parse().ok().filter(positive)?))
    };
    let found = match (name, parameters) {
        ("flat", None) => Some(Shared::Flat),
        ("nonnegative", None) => Some(Shared::Nonnegative),
        ("poisson", None) => Some(Shared::Poisson(None)),
        ("poisson", Some(text)) => mean(text).map(|mean| Shared::Poisson(Some(mean))),
        ("negative-binomial", None) => Some(Shared::NegativeBinomial(None)),
        ("negative-binomial", Some(text)) => both(text).map(|both| Shared::NegativeBinomial(Some(both))),
        _ => None,
    };
    found.ok_or_else(|| wanted.to_owned())
}

/// Ends of ranges from their words: `LOW,HIGH`, names of columns, one of which may be left out. Errors: others.
pub fn ends(text: &str) -> std::result::Result<Ends, String> {
    let named = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    let ends = text.split_once(',').map(|(low, high)| Ends { low: named(low), high: named(high) });
    let good = ends.filter(|ends| {
        (ends.low.is_some() || ends.high.is_some()) && !text[text.find(',').unwrap_or(0) + 1..].contains(',')
    });
    good.ok_or_else(|| "want LOW,HIGH: columns of --leaves, of which one may be left out".to_owned())
}

/// A model of the counts of leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// Their law given the mean.
    pub counts: Counts,
    /// Columns of the table of leaves of which the logarithm of the mean is a linear function.
    pub covariates: Vec<String>,
    /// A column of numbers > 0 by which means are multiplied.
    pub offset: Option<String>,
}

/// The law of a model's counts from its words: `poisson`, `negative-binomial`. Errors: others.
pub fn counts(text: &str) -> std::result::Result<Counts, String> {
    match text {
        "poisson" => Ok(Counts::Poisson),
        "negative-binomial" => Ok(Counts::NegativeBinomial),
        _ => Err("want poisson or negative-binomial".to_owned()),
    }
}
