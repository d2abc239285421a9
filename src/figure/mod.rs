//! Figures: what is drawn, apart from how it is drawn.

mod axis;
mod data;
mod parts;
mod svg;

use crate::diagnostics::Estimate;
pub use data::{data, vega_lite};
pub use svg::{Look, SERIES, dark, svg};

/// Letters of a name at most, but for that of one long word.
const LONGEST: usize = 120;

/// A figure: panels beside each other that share both axes.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// The name of the figure among those of a report: letters, digits, `-` and `_`, as [`Figure::named`] makes it.
    pub name: String,
    /// The title, in a few words.
    pub title: String,
    /// What is seen in the figure, for those who do not see it.
    pub about: String,
    /// The axis from left to right.
    pub x: Axis,
    /// The axis from the bottom up; names stand from the top down.
    pub y: Axis,
    /// The panels, in their order.
    pub panels: Vec<Panel>,
    /// What stands below the panels: what they leave out, and why; may be empty.
    pub note: String,
}

impl Figure {
    /// A name that can be that of a file and of an element of a page: the first words, of letters and digits.
    pub fn named(words: &str) -> String {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        let mut name = String::new();
        for part in words.split(|c| !plain(c)).filter(|part| !part.is_empty()) {
            if name.len() + part.len() >= LONGEST && !name.is_empty() {
                break;
            }
            name += if name.is_empty() { "" } else { "-" };
            name += part;
        }
        name
    }
}

/// An axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// What the axis shows, with the unit.
    pub label: String,
    /// How the axis shows it.
    pub scale: Scale,
    /// The values at its ends, where the marks do not make them: what is beyond is drawn at the end.
    pub ends: (Option<f64>, Option<f64>),
}

impl Axis {
    /// An axis that shows all marks.
    pub fn new(label: impl Into<String>, scale: Scale) -> Self {
        Self { label: label.into(), scale, ends: (None, None) }
    }

    /// The logarithms of distances in total variation, which are at most 1.
    pub fn total_variation() -> Self {
        Self { ends: (None, Some(1.0)), ..Self::new("total variation distance", Scale::Log) }
    }
}

/// How an axis shows values.
#[derive(Debug, Clone, PartialEq)]
pub enum Scale {
    /// Shows values as they are.
    Linear,
    /// Shows the logarithms of values. 0, which has none, stands apart at the edge; values below 0 are left out.
    Log,
    /// Shows places 0, 1, … with these names: on the axis y alone.
    Names(Vec<String>),
}

/// A part of a figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// What the panel shows; empty for the only one.
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
    /// The name of the series, for the legend.
    pub name: String,
    /// How the marks are drawn.
    pub kind: Kind,
    /// The marks.
    pub marks: Vec<Mark>,
}

/// How marks are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A sign for each mark, with its interval.
    Dots,
    /// A line through all marks, with a band. It is broken where a mark is 0 on a logarithmic axis.
    Line,
    /// A line through all marks, and a sign for each.
    DottedLine,
    /// A box from quartile to quartile, the median, and whiskers.
    Boxes,
}

/// A value, with what is known of it. Intervals, quartiles and whiskers lie along x if the axis y has names, along y otherwise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mark {
    /// The place along x.
    pub x: f64,
    /// The place along y; a number of a name if the axis has names.
    pub y: f64,
    /// A 95 % interval, or the quartiles.
    pub interval: Option<(f64, f64)>,
    /// Whiskers.
    pub whiskers: Option<(f64, f64)>,
}

impl Mark {
    /// A mark of a value alone.
    pub fn new(x: f64, y: f64) -> Self {
        Self { x, y, interval: None, whiskers: None }
    }

    /// The mark with an interval.
    pub fn within(self, low: f64, high: f64) -> Self {
        Self { interval: Some((low, high)), ..self }
    }

    /// The mark with the 95 % interval of an estimate, if its standard error is known.
    pub fn around(self, Estimate { mean, standard_error }: Estimate) -> Self {
        let half = 1.96 * standard_error;
        if half > 0.0 { self.within(mean - half, mean + half) } else { self }
    }

    /// The mark with the 95 % interval of an estimate of what is never negative, if its standard error is known.
    pub fn estimated(self, estimate: Estimate) -> Self {
        let mark = self.around(estimate);
        Self { interval: mark.interval.map(|(low, high)| (low.max(0.0), high)), ..mark }
    }
}
