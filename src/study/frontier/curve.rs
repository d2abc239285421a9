//! Curves of errors against what is paid, and their contests.

use super::FrontierRow;
use crate::diagnostics::{Crossing, Estimate, Pair, crossings};
use crate::failure::Result;
use crate::page::{distinct, grouped};
use crate::privacy::{ChangeKind, Measure};
use crate::study::cells::{self, CellRow, known};
use crate::study::release::LevelRow;
use crate::study::tell::records::{FAILED, Named};
use crate::table::Key;
use std::collections::HashMap;

/// Standard errors between two errors of which one is called smaller: one of 370 pairs of equal errors is told apart.
pub(super) const APART: f64 = 3.0;

/// A point: a cell, what it pays, and its errors on one level.
pub(super) struct Point {
    pub(super) cell: CellRow,
    pub(super) own: FrontierRow,
    pub(super) level: LevelRow,
}

impl Point {
    /// Mean absolute error of a count.
    pub(super) fn error(&self) -> Estimate {
        self.level.l1_per_node
    }
}

/// The points of one law and method: everything of a cell but its budget.
pub(super) struct Curve {
    pub(super) name: String,
    /// What the name has beside the method: law and options that tell it from others, a line each.
    pub(super) apart: String,
    pub(super) measure: Measure,
    pub(super) integers: bool,
    pub(super) points: Vec<Point>,
    /// What was to be paid where a cell failed.
    pub(super) failed: Vec<f64>,
}

impl Curve {
    /// Its first cell.
    pub(super) fn cell(&self) -> &CellRow {
        &self.points[0].cell
    }

    /// The name without the sign of the method, where something else tells what its releases are.
    pub(super) fn bare(&self) -> String {
        self.cell().method_bare_plain() + &self.apart
    }

    /// The point of a level at a loss.
    pub(super) fn at(&self, level: u32, paid: f64) -> Option<&Point> {
        self.points.iter().find(|point| point.level.level == level && point.own.paid == paid)
    }

    /// A point at a loss, of any level.
    pub(super) fn drawn(&self, paid: f64) -> Option<&Point> {
        self.points.iter().find(|point| point.own.paid == paid)
    }

    /// What stands where there is no point.
    pub(super) fn none(&self, paid: f64) -> String {
        if self.failed.contains(&paid) { FAILED.into() } else { "-".into() }
    }
}

/// The curves of a run, in the order of the config, and the change that they pay for: of its first cells, as many as
/// pages show, or of `all`. They are named by their methods, and as far as they differ by their laws and options.
pub(super) fn curves(run: &Named, all: bool) -> Result<(Option<ChangeKind>, Vec<Curve>)> {
    let own: HashMap<Key, FrontierRow> =
        run.run.all::<FrontierRow>()?.into_iter().map(|row| (row.cell, row)).collect();
    let change = own.values().next().map(|row| row.change);
    let cells = match all {
        true => cells::by_key(&run.run)?,
        false => run.printed.iter().map(|cell| (cell.cell, cell.clone())).collect(),
    };
    let mut points: Vec<Point> = Vec::new();
    run.run.while_true(|level: LevelRow| {
        if !all && !cells.contains_key(&level.cell) {
            return Ok(false);
        }
        let cell = known(&cells, level.cell, &run.run)?;
        let Some(row) = own.get(&cell.cell) else { return Ok(true) };
        // Known levels have no errors.
        if level.scale > 0.0 {
            points.push(Point { cell: cell.clone(), own: row.clone(), level });
        }
        Ok(true)
    })?;
    let what = |cell: &CellRow, measure: Measure| {
        format!("{} {} {:?}", measure.name(), cell.noise_but_budget(), cell.method_key())
    };
    let gone = || cells.values().filter(|cell| run.failed.contains_key(&cell.cell));
    let curve = |points: Vec<Point>| {
        let Point { cell, own: first, .. } = &points[0];
        let measure = first.measure;
        let failed = gone().filter_map(|other| Some((other, own.get(&other.cell)?)));
        let failed = failed.filter(|(other, row)| what(other, row.measure) == what(cell, measure));
        let failed = failed.map(|(_, row)| row.paid).collect();
        Curve {
            name: cell.method_plain(),
            apart: String::new(),
            measure,
            integers: cell.integers,
            points,
            failed,
        }
    };
    let curves = grouped(points, |point: &Point| what(&point.cell, point.own.measure));
    let mut curves: Vec<Curve> = curves.into_iter().map(curve).collect();
    name_apart(&mut curves);
    Ok((change, curves))
}

/// Names curves by their laws, if those differ, and where the names are the same by what else differs.
fn name_apart(curves: &mut [Curve]) {
    let words = |curve: &Curve| -> Vec<String> {
        let cell = &curve.points[0].cell;
        let options = [cell.options_words(), cell.options.clone()];
        let [short, whole] = options.map(|options| options.replace(',', "\n"));
        let parts = cell.parts().into_iter().map(|part| part.words);
        [cell.law.name().to_owned(), short].into_iter().chain(parts).chain([whole]).collect()
    };
    let words: Vec<Vec<String>> = curves.iter().map(words).collect();
    for part in 0..words.first().map_or(0, Vec::len) {
        let names: Vec<String> = curves.iter().map(|curve| curve.name.clone()).collect();
        for (i, curve) in curves.iter_mut().enumerate() {
            let own = &words[i][part];
            let told_apart = |j: usize| words[j][part] != *own && (part == 0 || names[j] == names[i]);
            if !own.is_empty() && (0..words.len()).any(told_apart) {
                curve.name = format!("{}\n{own}", curve.name);
                curve.apart += &format!("\n{own}");
            }
        }
    }
}

/// Losses and levels of some curves, in order.
pub(super) fn axes(curves: &[&Curve]) -> (Vec<f64>, Vec<u32>) {
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let failed = curves.iter().flat_map(|curve| curve.failed.iter().copied());
    let paid = distinct(points().map(|point| point.own.paid).chain(failed));
    let mut levels: Vec<u32> = points().map(|point| point.level.level).collect();
    levels.sort_unstable();
    levels.dedup();
    (paid, levels)
}

/// Two curves on one level.
pub(super) struct Contest<'a> {
    pub(super) level: u32,
    pub(super) first: &'a Curve,
    pub(super) second: &'a Curve,
    pub(super) pairs: Vec<Pair>,
    pub(super) crossings: Vec<Crossing>,
}

/// Every two curves of one kind on every level, as far as both have points.
pub(super) fn contests<'a>(curves: &[&'a Curve]) -> Vec<Contest<'a>> {
    let (paid, levels) = axes(curves);
    let mut all = Vec::new();
    for &level in &levels {
        for (i, first) in curves.iter().enumerate() {
            for second in &curves[i + 1..] {
                let pair = |&at: &f64| {
                    let (first, second) = (first.at(level, at)?.error(), second.at(level, at)?.error());
                    Some(Pair { at, first, second })
                };
                let pairs: Vec<Pair> = paid.iter().filter_map(pair).collect();
                let crossings = crossings(&pairs, APART);
                all.push(Contest { level, first, second, pairs, crossings });
            }
        }
    }
    all.retain(|contest| !contest.pairs.is_empty());
    all
}

/// The measures of curves, in the order of the config.
pub(super) fn measures(all: &[Curve]) -> Vec<Measure> {
    let mut measures: Vec<Measure> = Vec::new();
    for curve in all {
        if !measures.contains(&curve.measure) {
            measures.push(curve.measure);
        }
    }
    measures
}

/// Curves that are compared with each other: of one measure, integers or not; those that there are.
pub(super) fn kinds(all: &[Curve]) -> Vec<(Measure, Vec<&Curve>)> {
    let kinds =
        measures(all).into_iter().flat_map(|measure| [true, false].map(|integers| (measure, integers)));
    let of = |(measure, integers)| {
        let own = all.iter().filter(|curve| (curve.measure, curve.integers) == (measure, integers));
        (measure, own.collect::<Vec<_>>())
    };
    kinds.map(of).filter(|(_, curves)| !curves.is_empty()).collect()
}
