//! Errors on several data sets of one run, side by side.

use super::LevelRow;
use crate::config::AxisName;
use crate::failure::Result;
use crate::page::{Page, with_error};
use crate::study::cells::CellRow;
use crate::study::tell::groups::{distinct, grouped, replicates};
use crate::study::tell::records::{FAILED, Named};

/// A row of a data set: the part of the run, the cell, the level.
type Line<'a> = (&'a Named, &'a CellRow, LevelRow);

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
        for part in &parts {
            for (cell, levels) in part.by_cell(|row: &LevelRow| row.cell)? {
                lines.extend(levels.into_iter().map(|level| (*part, cell, level)));
            }
        }
        let noise = |(_, cell, _): &Line| cell.noise_but_budget();
        page = grouped(lines, noise).into_iter().fold(page, |page, lines| page.and(table(&parts, &lines)));
    }
    Ok(page)
}

/// Epsilon, method and level by data set.
fn table(parts: &[&Named], lines: &[Line]) -> Page {
    let method = |cell: &CellRow| cell.method_words();
    let mut methods: Vec<String> = Vec::new();
    for (_, cell, _) in lines {
        if !methods.contains(&method(cell)) {
            methods.push(method(cell));
        }
    }
    let levels = super::page::levels(lines.iter().map(|(.., row)| row));
    let mut body = Vec::new();
    for epsilon in distinct(lines.iter().map(|(_, cell, _)| cell.epsilon)) {
        for words in &methods {
            for &level in &levels {
                let of = |part: &&Named| {
                    lines.iter().find(|(of, cell, row)| {
                        std::ptr::eq(*of, *part)
                            && row.level == level
                            && cell.epsilon == epsilon
                            && method(cell) == *words
                    })
                };
                if !parts.iter().any(|part| of(part).is_some()) {
                    continue;
                }
                let failed = |part: &&Named| {
                    let here = |cell: &CellRow| cell.epsilon == epsilon && method(cell) == *words;
                    part.printed_failed()
                        .any(|cell| here(cell) && cell.noise_but_budget() == lines[0].1.noise_but_budget())
                };
                let error = |part: &&Named| match of(part) {
                    Some((.., row)) => with_error(row.estimate()),
                    None if failed(part) => FAILED.into(),
                    None => "-".into(),
                };
                let first = [epsilon.to_string(), words.clone(), level_name(parts, level)];
                body.push(first.into_iter().chain(parts.iter().map(error)).collect());
            }
        }
    }
    let (manifest, cell) = (&parts[0].run.manifest, lines[0].1);
    let seed = cell.seed.filter(|_| !manifest.seeds.is_empty());
    let name = manifest.name.clone() + &seed.map_or(String::new(), |seed| format!(", seed {seed}"));
    let data = |part: &&Named| part.printed.first().map_or(String::new(), |cell| cell.data.clone());
    let header = ["epsilon", "method", "level"].map(str::to_owned).into_iter().chain(parts.iter().map(data));
    let (_, replicates) = replicates(lines.iter().map(|(.., row)| row.replicates));
    let said = cell.said_but(&[AxisName::Sensitivity, AxisName::Split]);
    let (law, split) = (cell.law.name(), cell.split.label());
    Page::main(format!("{name}: data sets side by side, {law} noise{said}, split {split}"))
        .text(format!(
            "Normalised L1 error: the sum of |released - confidential| over a level / counts of the whole data set, \
                mean ± standard error of {replicates} replicates."
        ))
        .table(3, header, body)
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
