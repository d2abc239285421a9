//! What the targets share.
#![allow(dead_code)]

use congenial::failure::Failure;
use congenial::grid::{Plan, resolved};
use congenial::input::CsvTable;
use congenial::study::{self, Document};
use std::path::Path;

/// Prints a failure as the command does: spans must lie in their text.
pub fn refused(failure: Failure) {
    assert!(!format!("{:?}", miette::Report::new(failure)).is_empty());
}

/// A config's way to its plan, on a table, and back: the resolved config is the same run.
pub fn plan(text: &str, sets: &[String], table: &str) {
    let Some(plan) = expand(text, sets, table) else { return };
    assert!(!plan.cells.is_empty());
    for cell in &plan.cells {
        let scales = &cell.calibration.scales;
        let (known, measured) = scales.split_at(plan.subject.known_levels());
        assert!(measured.iter().all(|scale| scale.is_finite() && *scale > 0.0), "scales {scales:?}");
        assert!(!measured.is_empty() && known.iter().all(|scale| *scale == 0.0), "scales {scales:?}");
    }
    let resolved = resolved(&[&plan]);
    let again = expand(&resolved, &[], table).unwrap_or_else(|| panic!("refused when resolved:\n{resolved}"));
    assert_eq!(again.hash(), plan.hash(), "another run when resolved:\n{resolved}");
}

fn expand(text: &str, sets: &[String], table: &str) -> Option<Plan> {
    let config = match study::read(Path::new("fuzz.toml"), text, sets) {
        Ok(Document::Grid(mut configs)) => configs.remove(0),
        Ok(Document::Gridless(config)) => {
            drop(study::plan(Document::Gridless(config)));
            return None;
        }
        Err(failure) => {
            refused(failure);
            return None;
        }
    };
    let table = CsvTable::from_reader(&config.data.table, table.as_bytes());
    match table.and_then(|table| Plan::on(config, table)) {
        Ok(plan) => Some(plan),
        Err(failure) => {
            refused(failure);
            None
        }
    }
}
