//! Errors on several data sets of one run, side by side.

use super::LevelRow;
use crate::config::AxisName;
use crate::failure::Result;
use crate::page::{Number, Page, Pivot, grouped, replicates, with_error};
use crate::study::cells::CellRow;
use crate::study::tell::records::{FAILED, Named};

/// A row of a data set: the place of the part of the run, the cell, the level.
type Line<'a> = (usize, &'a CellRow, LevelRow);

/// The normalised L1 error by data set, for runs that have several: a table for each law, budget rule and sensitivity.
pub(in super::super) fn side_by_side(runs: &[Named]) -> Result<Page> {
    let parts = runs.iter().filter(|run| !run.run.manifest.data_sets.is_empty());
    let mut page = Page::default();
    // Seeds that are shown by themselves are tables of their own.
    let whole = |part: &&Named| {
        let seed = part.printed.first().and_then(|cell| cell.seed);
        format!("{} {seed:?}", part.run.folder.display())
    };
    for parts in grouped(parts, whole).into_iter().filter(|parts| parts.len() > 1) {
        let mut lines: Vec<Line> = Vec::new();
        for (place, part) in parts.iter().enumerate() {
            for (cell, levels) in part.by_cell(|row: &LevelRow| row.cell)? {
                lines.extend(levels.into_iter().map(|level| (place, cell, level)));
            }
        }
        let noise = |(_, cell, _): &Line| cell.noise_but_budget();
        page = grouped(lines, noise).into_iter().fold(page, |page, lines| page.and(table(&parts, &lines)));
    }
    Ok(page)
}

/// Epsilon, method and level by data set.
fn table(parts: &[&Named], lines: &[Line]) -> Page {
    let methods = grouped(lines.iter().map(|(_, cell, _)| cell.method_words()), String::clone);
    let methods: Vec<&String> = methods.iter().map(|same| &same[0]).collect();
    let method = |cell: &CellRow| methods.iter().position(|words| **words == cell.method_words());
    let noise = lines[0].1.noise_but_budget();
    let rows = lines.iter().map(|(part, cell, row)| {
        ((Number(cell.epsilon), method(cell).unwrap_or(0), row.level), *part, with_error(row.l1_normalised))
    });
    let data = |&part: &usize| [parts[part].printed.first().map_or(String::new(), |cell| cell.data.clone())];
    let table = Pivot::of(rows).and_keys([], 0..parts.len()).table(
        ["epsilon", "method", "level"],
        |&(Number(epsilon), method, level)| {
            [epsilon.to_string(), methods[method].clone(), level_name(parts, level)]
        },
        data,
        |&(Number(epsilon), place, _), part, line| {
            let here = |cell: &CellRow| cell.epsilon == epsilon && method(cell) == Some(place);
            let failed =
                || parts[*part].printed_failed().any(|cell| here(cell) && cell.noise_but_budget() == noise);
            [match line.get(part) {
                Some(error) => error.clone(),
                None if failed() => FAILED.into(),
                None => "-".into(),
            }]
        },
    );
    let (manifest, cell) = (&parts[0].run.manifest, lines[0].1);
    let seed = cell.seed.filter(|_| !manifest.seeds.is_empty());
    let name = manifest.name.clone() + &seed.map_or(String::new(), |seed| format!(", seed {seed}"));
    let (_, replicates) = replicates(lines.iter().map(|(.., row)| row.replicates));
    let said = cell.said_but(&[AxisName::Sensitivity, AxisName::Split]);
    let split = cell.split.label();
    Page::main(format!("{name}: data sets side by side, {}{said}, split {split}", cell.law.noise_words()))
        .text(format!(
            "Normalised L1 error: the sum of |released - confidential| over a level / counts of the whole data set, \
                mean ± standard error of {replicates} replicates."
        ))
        .table(table)
}

/// The name of a level, if all data sets that have it agree.
fn level_name(parts: &[&Named], level: u32) -> String {
    let names = parts.iter().map(|part| {
        let manifest = &part.run.manifest;
        let there = manifest.levels.is_empty() || manifest.levels.len() >= level as usize;
        there.then(|| manifest.level(level))
    });
    let mut names: Vec<String> = names.flatten().collect();
    names.dedup();
    names.join(" / ")
}
