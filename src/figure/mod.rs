//! Figures: what is drawn, apart from how it is drawn.

mod axis;
mod data;
mod svg;

use crate::diagnostics::Estimate;
pub use data::{data, vega_lite};
pub use svg::{Look, svg};

/// A figure: panels beside each other that share both axes.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Its name among the figures of a report: letters, digits, `-` and `_`, as [`Figure::named`] makes it.
    pub name: String,
    /// In a few words.
    pub title: String,
    /// What is seen, for those who do not see it.
    pub about: String,
    /// From left to right.
    pub x: Axis,
    /// From the bottom up; names from the top down.
    pub y: Axis,
    /// In their order.
    pub panels: Vec<Panel>,
}

impl Figure {
    /// A name that can be that of a file and of an element of a page.
    pub fn named(words: &str) -> String {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        let parts = words.split(|c| !plain(c)).filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join("-")
    }
}

/// An axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// What it shows, with the unit.
    pub label: String,
    /// How it shows it.
    pub scale: Scale,
}

/// How an axis shows values.
#[derive(Debug, Clone, PartialEq)]
pub enum Scale {
    /// As they are.
    Linear,
    /// Their logarithms; values that have none are left out.
    Log,
    /// Places 0, 1, … with these names: of the axis y alone.
    Names(Vec<String>),
}

/// A part of a figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// What it shows; empty for the only one.
    pub title: String,
    /// What is drawn in it.
    pub series: Vec<Series>,
}

impl Panel {
    /// The only one.
    pub fn only(series: impl IntoIterator<Item = Series>) -> Vec<Self> {
        vec![Self { title: String::new(), series: series.into_iter().collect() }]
    }
}

/// Marks of one kind, with one colour in all panels.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// For the legend.
    pub name: String,
    /// How they are drawn.
    pub kind: Kind,
    /// What is drawn.
    pub marks: Vec<Mark>,
}

/// How marks are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A sign for each, with its interval.
    Dots,
    /// A line through all, with a band.
    Line,
    /// Both.
    DottedLine,
    /// A box from quartile to quartile, the median, and whiskers.
    Boxes,
}

/// A value, with what is known of it. Intervals, quartiles and whiskers lie along x if the axis y has names, along y otherwise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mark {
    /// Along x.
    pub x: f64,
    /// Along y; a place if it has names.
    pub y: f64,
    /// A 95 % interval, or the quartiles.
    pub interval: Option<(f64, f64)>,
    /// Whiskers.
    pub whiskers: Option<(f64, f64)>,
}

impl Mark {
    /// A value alone.
    pub fn new(x: f64, y: f64) -> Self {
        Self { x, y, interval: None, whiskers: None }
    }

    /// The same with an interval.
    pub fn within(self, low: f64, high: f64) -> Self {
        Self { interval: Some((low, high)), ..self }
    }

    /// The same with the 95 % interval of an estimate of what is never negative, if its standard error is known.
    pub fn estimated(self, Estimate { mean, standard_error }: Estimate) -> Self {
        let half = 1.96 * standard_error;
        if half > 0.0 { self.within((mean - half).max(0.0), mean + half) } else { self }
    }
}
