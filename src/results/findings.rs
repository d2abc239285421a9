//! `findings.parquet`: statements checked on finite worlds.

use super::RunFolder;
use super::tables::{Reader, write_columns};
use crate::failure::Result;
use crate::worlds::{Finding, Settings};
use polars::prelude::{Column, NamedFrom, Series};
use std::path::Path;

/// A row of `findings.parquet`.
#[derive(Debug, Clone, PartialEq)]
pub struct FindingRow {
    /// Worlds of an example, and the level of the mechanisms.
    pub worlds: u64,
    /// See `worlds`.
    pub epsilon: f64,
    /// The statement.
    pub statement: String,
    /// "conditioning" or "imaging".
    pub operator: String,
    /// The column of the table that it belongs to.
    pub property: String,
    /// What is claimed.
    pub claim: bool,
    /// What was found.
    pub holds: bool,
    /// Examples.
    pub cases: u64,
    /// The largest deviation.
    pub worst: f64,
    /// What is allowed.
    pub tolerance: f64,
    /// Where it was met.
    pub evidence: String,
}

/// Writes all findings.
pub fn write_findings(folder: &RunFolder, findings: &[(Settings, Vec<Finding>)], hash: &str) -> Result<()> {
    let rows: Vec<(&Settings, &Finding)> = findings
        .iter()
        .flat_map(|(settings, all)| all.iter().map(move |finding| (settings, finding)))
        .collect();
    macro_rules! column {
        ($name:literal, $settings:ident, $finding:ident => $value:expr) => {{
            let values: Vec<_> = rows
                .iter()
                .map(|($settings, $finding)| {
                    let _ = ($settings, $finding);
                    $value
                })
                .collect();
            Column::from(Series::new($name.into(), values))
        }};
    }
    let columns = vec![
        column!("worlds", s, f => s.worlds as u64),
        column!("epsilon", s, f => s.epsilon),
        column!("statement", s, f => f.statement.to_owned()),
        column!("operator", s, f => f.operator.name().to_owned()),
        column!("property", s, f => f.property.name().to_owned()),
        column!("claim", s, f => f.claim),
        column!("holds", s, f => f.holds),
        column!("cases", s, f => f.cases),
        column!("worst", s, f => f.worst),
        column!("tolerance", s, f => f.tolerance),
        column!("evidence", s, f => f.evidence.clone()),
    ];
    write_columns(folder, "findings.parquet", hash, columns)
}

/// Reads `findings.parquet` of a run folder.
pub fn read_findings(folder: &Path) -> Result<Vec<FindingRow>> {
    let reader = Reader::open(folder, "findings.parquet")?;
    let (worlds, cases) = (reader.u64("worlds")?, reader.u64("cases")?);
    let (epsilon, worst, tolerance) =
        (reader.f64("epsilon")?, reader.f64("worst")?, reader.f64("tolerance")?);
    let text = |name| -> Result<Vec<String>> {
        Ok(reader.text(name)?.iter().map(|value| value.unwrap_or_default().to_owned()).collect())
    };
    let (statement, operator) = (text("statement")?, text("operator")?);
    let (property, evidence) = (text("property")?, text("evidence")?);
    let bool = |name| reader.typed(name, |c| Ok(c.bool()?.iter().collect::<Vec<Option<bool>>>()));
    let (claim, holds) = (bool("claim")?, bool("holds")?);
    let rows = (0..worlds.len()).filter_map(|i| {
        Some(FindingRow {
            worlds: worlds[i]?,
            epsilon: epsilon[i]?,
            statement: statement[i].clone(),
            operator: operator[i].clone(),
            property: property[i].clone(),
            claim: claim[i]?,
            holds: holds[i]?,
            cases: cases[i]?,
            worst: worst[i]?,
            tolerance: tolerance[i]?,
            evidence: evidence[i].clone(),
        })
    });
    Ok(rows.collect())
}
