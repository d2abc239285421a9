//! What a release says of a model of its counts: coefficients by the exact likelihood, beside those of who reads the release as counts.

use super::leaves::Leaves;
use super::noisy::Structure;
use super::{Model, Noisy, Wish, posterior};
use crate::failure::{Failure, Result};
use crate::inference::{Coefficient, Counts, Fit, Regression, Release};
use crate::page::{Page, Table, line};
use crate::table;
use rayon::prelude::*;
use std::path::{Path, PathBuf};

/// What a release says of a model.
#[derive(Debug, Clone)]
pub struct Modelled {
    /// The model.
    pub model: Model,
    /// The table of leaves.
    pub leaves: PathBuf,
    /// By the exact likelihood.
    pub fit: Fit,
    /// By the released counts of the leaves as if they were true, or why there is none.
    pub naive: std::result::Result<Fit, String>,
}

table! {
    /// `congenial infer --model`: one row for each coefficient of the model.
    pub struct ModelRow in "model.csv" {
        /// `intercept`, the column of a covariate, or `size` of negative binomial counts
        coefficient: String;
        /// where the likelihood of the release is largest
        estimate: f64;
        /// from the observed information; of the size by the delta method
        standard_error: f64;
        /// the profile-likelihood interval begins there; null where it has no end
        low: Option<f64>;
        /// and ends there
        high: Option<f64>;
        /// the estimate of who reads the released counts of the leaves as if they were true, those below 0 as 0; null where there is none
        naive_estimate: Option<f64>;
        /// the same of its standard error
        naive_standard_error: Option<f64>;
        /// the same of its interval
        naive_low: Option<f64>;
        /// the same
        naive_high: Option<f64>;
        /// what the intervals hold
        level: f64, "probability";
        /// the largest log likelihood of the release, but for the constant of its noise; the same in all rows
        log_likelihood: f64;
    }
}

/// Columns of a table of leaves that a model takes, by leaf.
#[derive(Debug, Clone)]
pub struct Covariates {
    /// Names and numbers of those of which the logarithm of the mean is a linear function.
    pub columns: Vec<(String, Vec<f64>)>,
    /// By what means are multiplied.
    pub offset: Option<Vec<f64>>,
}

impl Covariates {
    /// Reads them from a table of the leaves of a release. Errors: the table; columns that are no numbers; offsets that are not > 0.
    pub fn read(noisy: &Noisy, path: &Path, names: &[String], offset: Option<&String>) -> Result<Self> {
        Self::of(&Leaves::read(path, noisy)?, names, offset)
    }

    fn of(leaves: &Leaves, names: &[String], offset: Option<&String>) -> Result<Self> {
        let column = |name: &String| Ok((name.clone(), leaves.numbers(name)?));
        let columns = names.iter().map(column).collect::<Result<Vec<_>>>()?;
        Ok(Self { columns, offset: offset.map(|name| leaves.positive(name)).transpose()? })
    }
}

/// The model at its maximum. Errors: columns of the table of leaves; a release without a likelihood; no maximum.
pub(super) fn of(wish: &Wish, noisy: &Noisy, leaves: Option<&Leaves>, model: &Model) -> Result<Modelled> {
    posterior::tree(noisy, "--model: no likelihood", false)?;
    let missing = || Failure::Usage("--model: want a table of leaves, --leaves FILE".to_owned());
    let leaves = leaves.ok_or_else(missing)?;
    let covariates = Covariates::of(leaves, &model.covariates, model.offset.as_ref())?;
    let of_model = |error: crate::Error| match error {
        crate::Error::Model(_) => Failure::data(leaves.path(), error.to_string()),
        other => noisy.refused(other),
    };
    let (fit, naive) = fits(noisy, model.counts, &covariates, wish.level).map_err(of_model)?;
    let fit = fit.expect("it has a likelihood").map_err(of_model)?;
    let naive = naive.map_err(|error| error.to_string());
    Ok(Modelled { model: model.clone(), leaves: leaves.path().to_owned(), fit, naive })
}

/// The fit of a model by the exact likelihood of a release of a tree, where it has one, and that of who takes its leaves for counts.
/// Errors: the columns.
pub fn fits(
    noisy: &Noisy,
    counts: Counts,
    covariates: &Covariates,
    level: f64,
) -> crate::Result<(Option<crate::Result<Fit>>, crate::Result<Fit>)> {
    let Structure::Tree(nodes) = &noisy.structure else {
        return Err(crate::Error::Model("want the release of a tree".into()));
    };
    let weights = posterior::weights(noisy);
    let release = Release { tree: &nodes.tree, weights: &weights, values: &noisy.values };
    let regression = Regression::new(release, counts, &covariates.columns, covariates.offset.as_deref())?;
    let has_likelihood = posterior::tree(noisy, "", false).is_ok();
    let exact = has_likelihood.then(|| fit(&regression, level));
    Ok((exact, fit(&regression.naive(), level)))
}

/// [`Regression::fit`] with the intervals side by side.
fn fit(regression: &Regression, level: f64) -> crate::Result<Fit> {
    let maximum = regression.maximum()?;
    let places = (0..regression.names().len()).into_par_iter();
    let coefficients =
        places.map(|place| regression.coefficient(&maximum, place, level)).collect::<crate::Result<_>>()?;
    Ok(Fit { coefficients, log_likelihood: maximum.log_likelihood })
}

impl Modelled {
    /// The rows of `model.csv`.
    pub fn rows(&self, level: f64) -> Vec<ModelRow> {
        let finite = |x: f64| x.is_finite().then_some(x);
        let row = |(place, own): (usize, &Coefficient)| {
            let naive = self.naive.as_ref().ok().map(|naive| &naive.coefficients[place]);
            ModelRow {
                coefficient: own.name.clone(),
                estimate: own.estimate,
                standard_error: own.standard_error,
                low: finite(own.low),
                high: finite(own.high),
                naive_estimate: naive.map(|naive| naive.estimate),
                naive_standard_error: naive.map(|naive| naive.standard_error),
                naive_low: naive.and_then(|naive| finite(naive.low)),
                naive_high: naive.and_then(|naive| finite(naive.high)),
                level,
                log_likelihood: self.fit.log_likelihood,
            }
        };
        self.fit.coefficients.iter().enumerate().map(row).collect()
    }

    /// What the model is, in words.
    fn words(&self) -> String {
        let Model { counts, covariates, offset } = &self.model;
        let law = match counts {
            Counts::Poisson => "Poisson counts",
            Counts::NegativeBinomial => "Negative binomial counts (variance `mean + mean²/size`)",
        };
        let offset = offset.as_ref().map_or(String::new(), |name| format!("ln `{}` + ", line(name)));
        let terms: String = covariates.iter().map(|name| format!(" + b · `{0}`", line(name))).collect();
        let file = self.leaves.display().to_string();
        format!("{law} of the leaves, with ln mean = {offset}intercept{terms}; columns of {}.", line(&file))
    }

    /// The page; `percent`: what intervals hold, in words.
    pub(super) fn page(&self, percent: &str) -> Page {
        let number = |x: f64| match x {
            x if x.is_finite() => format!("{x:.4}"),
            _ => "no end".to_owned(),
        };
        let ends = |own: &Coefficient| [own.estimate, own.low, own.high].map(number);
        let row = |(place, own): (usize, &Coefficient)| {
            let [estimate, low, high] = ends(own);
            let naive = self.naive.as_ref().map(|naive| ends(&naive.coefficients[place]));
            let naive = naive.unwrap_or_else(|_| ["-"; 3].map(str::to_owned));
            let mut row = vec![line(&own.name).to_string(), estimate, number(own.standard_error), low, high];
            row.extend(naive);
            row
        };
        let header = [
            "coefficient",
            "estimate",
            "standard\nerror",
            "low",
            "high",
            "naive\nestimate",
            "naive\nlow",
            "naive\nhigh",
        ];
        let naive = match &self.naive {
            Ok(_) => String::new(),
            Err(why) => format!(" The naive fit fails: {why}."),
        };
        let log = self.fit.log_likelihood;
        Page::main("What the release says of the model")
            .text(self.words())
            .table(Table::new(1, header, self.fit.coefficients.iter().enumerate().map(row).collect()))
            .text(format!(
                "Estimates make the release most likely, with the counts summed out: exact, noise and known counts included (log \
                 likelihood {log:.4}, but for the constant of the noise). Intervals are those of the profile likelihood, which hold about \
                 {percent} %. Naive: the released counts read as if they were true, those below 0 as 0; its intervals leave out the \
                 noise, and promise nothing.{naive}"
            ))
    }
}
