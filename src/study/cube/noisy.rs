//! What was measured, as a noisy file: what `congenial infer` reads.

use super::Planned;
use super::config::Way;
use super::draw::Ready;
use crate::cube::Answers;
use crate::failure::{Failure, Result};
use crate::input::{AreaColumns, NOISY_TABLES, NoisyRow};
use crate::store::RunFolder;

/// Writes the answers of the first release of a cell, each with its own noise, area by area. Errors: the disk.
pub(super) fn write(planned: &Planned, folder: &RunFolder, cell: usize) -> Result<()> {
    let ready = Ready::free(planned, cell).map_err(|e| Failure::Wrong(e.to_string()))?;
    let (areas, tables, point) = (&planned.areas, &planned.config.data.tables, &planned.config.points[cell]);
    let columns = AreaColumns::of(&tables.levels[1..], tables.attributes.iter().map(|(name, _)| name));
    let integers = !point.law.is_continuous();
    let name = format!("cells/{:016x}/release.parquet", planned.units[cell].key);
    let told = [(NOISY_TABLES, tables.text())];
    let mut file = folder.rows(&name, NoisyRow::fields(columns.keys(), integers), &told)?;
    let words: Vec<Vec<Vec<String>>> = tables
        .queries
        .iter()
        .zip(&areas.queries)
        .map(|(asked, query)| {
            let words = |answer| tables.words(&asked.query, &query.codes(&areas.domain, answer));
            (0..query.answers()).map(words).collect()
        })
        .collect();
    let mut answers = Answers::default();
    for v in 0..areas.list.tree.nodes() {
        ready.released(0, v, &mut answers);
        let level = areas.list.tree.level(v);
        let above = areas.list.keys(v);
        for (query, own) in answers.of.iter().enumerate() {
            let scale = ready.scales[query][level];
            let (law, method) = (point.law.name(), Way::Unconstrained.name());
            let row =
                NoisyRow { law, scale: scale.unwrap_or(0.0), known: scale.is_none(), method, options: "" };
            for (value, words) in own.iter().zip(&words[query]) {
                let name = &*tables.queries[query].name;
                let keys: Vec<&str> =
                    above.iter().copied().chain([name]).chain(words.iter().map(String::as_str)).collect();
                match integers {
                    true => row.put(&keys, *value as i64, file.row()?),
                    false => row.put(&keys, *value, file.row()?),
                }
            }
        }
    }
    file.finish()
}
