//! What tells cells apart, in words: the one list by which pages name and group them.

use super::CellRow;
use crate::catalogue::MethodKind;
use crate::config::{AXES, AxisName, SplitSpec};

/// Columns of `cells.parquet` by which records say which cell a row is of: the part of the run, then the cell in it.
pub const CELL: [&str; 10] =
    ["data", "seed", "law", "split", "sensitivity", "delta", "method", "options", "nonnegative", "epsilon"];

/// What the noise of a cell is on one axis, beside law and budget.
pub struct Part {
    /// The axis.
    pub axis: AxisName,
    /// In words; empty of a cell that is not on it.
    pub words: String,
    /// Whether it is said where nothing asks for it: it is not what it is by default.
    pub is_said: bool,
}

/// What releases are, in the order of pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Releases {
    /// They need not satisfy the invariant.
    Free,
    /// Real numbers.
    Reals,
    /// Real numbers that are >= 0.
    RealsAbove,
    /// Integers.
    Integers,
    /// Integers that are >= 0.
    IntegersAbove,
}

impl Releases {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Free => "do not add up",
            Self::Reals => "reals",
            Self::RealsAbove => "reals >= 0",
            Self::Integers => "integers",
            Self::IntegersAbove => "integers >= 0",
        }
    }
}

impl CellRow {
    /// What its noise is beside law and budget, in the order of the axes. A new axis stands here: words, titles and
    /// groups of pages follow. So does a new column, used or not.
    pub fn parts(&self) -> Vec<Part> {
        let Self {
            cell: _,
            data: _,
            seed: _,
            pooled: _,
            epsilon: _,
            delta,
            sensitivity,
            split,
            law: _,
            method: _,
            options: _,
            nonnegative: _,
            integers: _,
            consistent: _,
            chain: _,
            lag: _,
            max_steps: _,
            scale: _,
            replicates: _,
            epsilon_total: _,
            delta_total: _,
            gamma: _,
            gamma_known: _,
            tv_error: _,
            converged: _,
            delta_sampling: _,
        } = self;
        let part = |axis: AxisName| {
            let (words, is_said) = match axis {
                AxisName::Delta => {
                    (delta.map_or(String::new(), |delta| format!("delta {delta:e}")), delta.is_some())
                }
                AxisName::Sensitivity => (format!("sensitivity {sensitivity}"), *sensitivity != 1.0),
                AxisName::Split => (format!("split {}", split.label()), *split != SplitSpec::Each),
                // Law and budget, and what is no noise.
                AxisName::Law | AxisName::Budget => return None,
                AxisName::Method | AxisName::Lag | AxisName::Seed | AxisName::Data => return None,
            };
            Some(Part { axis, words, is_said })
        };
        AXES.iter().filter_map(|axis| part(axis.name)).collect()
    }

    /// The parts that are said, each behind a comma, but for those on some axes.
    pub fn said_but(&self, but: &[AxisName]) -> String {
        let said = |part: &Part| part.is_said && !but.contains(&part.axis);
        self.parts().into_iter().filter(said).map(|part| format!(", {}", part.words)).collect()
    }

    /// The noise: law, budget and what else belongs to it.
    pub fn noise_words(&self) -> String {
        match self.law.is_noise() {
            true => format!("{}, epsilon {}{}", self.law.noise_words(), self.epsilon, self.said_but(&[])),
            false => self.law.noise_words(),
        }
    }

    /// What its noise is, but for the budget; equal words, equal noise at one budget.
    pub fn noise_but_budget(&self) -> String {
        let parts: Vec<String> = self.parts().into_iter().map(|part| part.words).collect();
        format!("{} {}", self.law.name(), parts.join(" "))
    }

    /// What its noise is.
    pub fn noise(&self) -> String {
        format!("{:?} {}", self.epsilon, self.noise_but_budget())
    }

    /// What its releases are: only those of one kind are compared with each other.
    pub fn releases(&self) -> Releases {
        match (self.consistent, self.integers, self.nonnegative) {
            (false, ..) => Releases::Free,
            (true, false, false) => Releases::Reals,
            (true, false, true) => Releases::RealsAbove,
            (true, true, false) => Releases::Integers,
            (true, true, true) => Releases::IntegersAbove,
        }
    }

    /// What its method is: cells of one are told apart by noise, data, seed and lag alone.
    pub fn method_key(&self) -> (MethodKind, &str, bool) {
        (self.method, &self.options, self.nonnegative)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Record;

    /// Every axis is a column of cells, and tells their records apart; a lag is told by the tables of a study of
    /// meetings.
    #[test]
    fn records_tell_every_axis() {
        for axis in AXES {
            let key = axis.keys[0];
            assert!(CellRow::COLUMNS.iter().any(|column| column.name == key), "{key}");
            assert!(CELL.contains(&key) || axis.name == AxisName::Lag, "{key}");
        }
    }
}
