//! A budget that is split over measurements, and what is to be answered from them.

use crate::design::Answers;

/// A budget that is split over measurements, and what least squares are to answer from them.
pub struct Splitting<'a> {
    /// The name of the law.
    pub law: &'static str,
    /// epsilon of all measurements together, and delta; 0 of pure laws.
    pub total: (f64, f64),
    /// By how much one neighbouring step changes what is measured, in each measurement that it changes.
    pub sensitivity: f64,
    /// What is measured.
    pub measured: Vec<Place>,
    /// The shares that are given, where there is one list of them.
    pub given: Option<Vec<f64>>,
    /// The answers that are asked for, with the names of their queries.
    pub asked: (Box<dyn Answers + 'a>, Vec<Place>),
    /// Other answers.
    pub others: (Box<dyn Answers + 'a>, Vec<Place>),
    /// Methods that have the shares, too, and do not weigh measurements as least squares do.
    pub beside: Vec<String>,
    /// By a share the variance of the noise that it buys. Errors: noise out of range.
    pub variance: Box<dyn Fn(f64) -> crate::Result<f64> + 'a>,
}

/// The text of a config with other shares of its budget.
pub type Resplit = Box<dyn Fn(&[f64]) -> String>;

/// A level, a query, or a query of a level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The name of the level.
    pub level: Option<String>,
    /// The name of the query.
    pub query: Option<String>,
}
