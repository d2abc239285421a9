//! Traces of recorded chains.

use super::EntryRow;
use crate::failure::Result;
use crate::figure::{Axis, Figure, Kind, Mark, Panel, Scale, Series};
use crate::study::cells::CellRow;
use crate::study::tell::records::Named;
use crate::table::{Reader, Value};

/// Points of a trace at most; of longer ones so many are drawn, evenly apart.
const POINTS: usize = 500;

/// The first chain of a cell in the entries that are `asked` for, by name; or in two, that with the smallest and that with the largest
/// effective sample size. `None` where no draws were kept, or nothing varies. Errors: the file.
pub(super) fn figure(
    run: &Named,
    cell: &CellRow,
    entries: &[EntryRow],
    asked: &[String],
) -> Result<Option<Figure>> {
    let size = |entry: &&EntryRow| entry.ess.map(|ess| ess.mean);
    let known = || entries.iter().filter(|entry| entry.ess.is_some());
    let by_size =
        |a: &&EntryRow, b: &&EntryRow| size(a).partial_cmp(&size(b)).unwrap_or(std::cmp::Ordering::Equal);
    let (Some(slowest), Some(fastest)) = (known().min_by(by_size), known().max_by(by_size)) else {
        return Ok(None);
    };
    let Some(path) = run.run.file(&format!("cells/{}/draws.parquet", cell.cell)) else { return Ok(None) };
    let mut shown = vec![slowest, fastest];
    if !asked.is_empty() {
        let named = |name: &String| entries.iter().find(|entry| entry.name == *name);
        shown = asked.iter().filter_map(named).collect();
    }
    shown.dedup_by_key(|entry| entry.name.clone());
    let reader = Reader::open(&path)?;
    let place = |name: &str| reader.fields().iter().position(|field| field.name == name);
    let places: Vec<Option<usize>> = shown.iter().map(|entry| place(&entry.name)).collect();
    let (Some(chain), Some(iteration)) = (place(".chain"), place(".iteration")) else { return Ok(None) };
    let mut marks: Vec<Vec<Mark>> = vec![Vec::new(); shown.len()];
    reader.groups(|columns| {
        for row in 0..columns[chain].len() {
            if u64::get(&columns[chain], row) != Some(1) {
                return Ok(false);
            }
            let at = u64::get(&columns[iteration], row).unwrap_or_default();
            for (marks, place) in marks.iter_mut().zip(&places) {
                let Some(column) = place.map(|place| &columns[place]) else { continue };
                let error = i64::get(column, row).map(|x| x as f64).or_else(|| f64::get(column, row));
                marks.extend(error.map(|error| Mark::new(at as f64, error)));
            }
        }
        Ok(true)
    })?;
    let panel = |(entry, marks): (&&EntryRow, Vec<Mark>)| {
        let n = marks.len();
        let some: Vec<Mark> = match n > POINTS {
            true => (0..POINTS).map(|k| marks[k * (n - 1) / (POINTS - 1)]).collect(),
            false => marks,
        };
        let size = entry.ess.map_or(String::new(), |size| format!(", ESS {:.0}", size.mean));
        Panel {
            title: format!("{}{size}", entry.name),
            series: vec![Series { name: String::new(), kind: Kind::Line, marks: some }],
        }
    };
    let (method, noise) = (cell.method_words(), cell.noise_words());
    Ok(Some(Figure {
        name: Figure::named(&format!("{}-trace-{method}-{noise}", run.name)),
        title: format!("{}: trace of the first chain, {method}, {noise}", run.name),
        about: match asked {
            [] => format!(
                "The error of two entries along the first chain, up to {POINTS} of its records: that with the smallest \
                    effective sample size (ESS) of all chains together, and \
                 that with the largest."
            ),
            _ => format!(
                "The error of some entries along the first chain, up to {POINTS} of its records, with the effective sample size (ESS) \
                 of all chains together."
            ),
        },
        x: Axis::new("recorded draw", Scale::Linear),
        y: Axis::new("released - confidential (counts)", Scale::Linear),
        note: match marks.iter().map(Vec::len).max() {
            Some(all) if all > POINTS => format!("{POINTS} of {all} recorded draws, evenly apart."),
            _ => String::new(),
        },
        panels: shown.iter().zip(marks).map(panel).collect(),
    }))
}
