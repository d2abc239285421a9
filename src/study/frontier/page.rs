//! Errors against what is paid, method by method, and where the better one changes.

use super::curve::{APART, Contest, Curve, Point, axes, contests, curves, kinds, measures};
use super::{FrontierRow, answer};
use crate::diagnostics::{Crossing, Pair};
use crate::failure::Result;
use crate::figure::{Axis, Figure, Kind, Mark, Panel, Scale, Series};
use crate::page::{Page, Table, number, with_error};
use crate::privacy::{ChangeKind, Measure};
use crate::study::cells::{self, CellRow, known};
use crate::study::release::{LevelRow, answered, by_size};
use crate::study::tell::records::{FAILED, Named, Records, Row, Take, fields, identity};
use crate::table::Key;
use serde_json::Value;
use std::collections::HashMap;

/// Losses at which one of two curves is smaller, as ranges of neighbours: `0.5 to 2, 8`.
fn ranges(pairs: &[Pair], sign: i8) -> String {
    let mut ranges: Vec<(f64, f64)> = Vec::new();
    let mut open = false;
    for pair in pairs {
        match (pair.sign(APART) == sign, open) {
            (true, true) => ranges.last_mut().expect("one is open").1 = pair.at,
            (true, false) => ranges.push((pair.at, pair.at)),
            (false, _) => {}
        }
        open = pair.sign(APART) == sign;
    }
    let words = |(low, high): &(f64, f64)| match low == high {
        true => low.to_string(),
        false => format!("{low} to {high}"),
    };
    let words: Vec<String> = ranges.iter().map(words).collect();
    if words.is_empty() { "-".into() } else { words.join(", ") }
}

/// Which of two curves is better, where.
fn verdict(pairs: &[Pair]) -> String {
    let signs: Vec<i8> = pairs.iter().map(|pair| pair.sign(APART)).collect();
    let all = |sign: i8| signs.iter().all(|s| *s == sign);
    match (all(-1), all(1), all(0)) {
        (true, ..) => "the first".into(),
        (_, true, _) => "the second".into(),
        (.., true) => "neither".into(),
        _ => {
            let sides =
                [("the first", -1), ("the second", 1)].map(|(which, sign)| (which, ranges(pairs, sign)));
            let sides = sides.iter().filter(|(_, where_)| where_ != "-");
            sides.map(|(which, where_)| format!("{which} at {where_}")).collect::<Vec<_>>().join(",\n")
        }
    }
}

fn crossing_words(crossing: &Crossing) -> String {
    let Crossing { at, low, high, .. } = crossing;
    match at.mean.is_nan() {
        true => format!("{low} to {high}"),
        false => format!("{} ({low} to {high})", with_error(*at)),
    }
}

/// The page of a run.
pub(super) fn of(run: &Named) -> Result<Page> {
    let (change, all) = curves(run, false)?;
    let Some(change) = change else { return Ok(Page::default()) };
    let mut page = Page::default();
    for measure in measures(&all) {
        let own: Vec<&Curve> = all.iter().filter(|curve| curve.measure == measure).collect();
        page = page.and(answer::page(run, change, measure, &own)?);
    }
    let points =
        all.iter().flat_map(|curve| curve.points.iter().map(move |point| (curve.measure, &point.own)));
    let paid: HashMap<Key, (Measure, f64)> =
        points.map(|(measure, own)| (own.cell, (measure, own.paid))).collect();
    for measure in measures(&all) {
        let of =
            |cell: &CellRow| paid.get(&cell.cell).filter(|(own, _)| *own == measure).map(|(_, paid)| *paid);
        page = page.and(by_size(run, &measure.words(), &of)?);
    }
    let noise = |cell: &CellRow| match paid.get(&cell.cell) {
        Some((measure, paid)) => format!("{} noise, {} {paid}", cell.law.name(), measure.words()),
        None => cell.noise_words(),
    };
    page = page.and(by_accountant(run, &all));
    for (measure, curves) in kinds(&all) {
        page = page.and(budgets(run, measure, &curves)).and(better(run, measure, &contests(&curves)));
    }
    Ok(run.with_failed(page).and(answered(run, &noise)?.aside()))
}

/// The figures of some curves: integers, and real numbers.
pub(super) fn figures(run: &Named, change: ChangeKind, measure: Measure, all: &[&Curve]) -> Vec<Figure> {
    let what_they_pay = match measure {
        Measure::Epsilon => "what they pay".into(),
        other => format!("the {} that they pay", other.name()),
    };
    let of = |(integers, kind): (bool, &str)| {
        let curves: Vec<&Curve> = all.iter().copied().filter(|curve| curve.integers == integers).collect();
        let mut laws: Vec<&str> = curves.iter().map(|curve| curve.cell().law.name()).collect();
        laws.dedup();
        let law = if let [law] = laws[..] { format!(" with {law} noise") } else { String::new() };
        let title =
            format!("{}: releases that are {kind}{law}, by {what_they_pay} for {}", run.name, change.words());
        let (_, levels) = axes(&curves);
        (!curves.is_empty()).then(|| figure(run, title, (measure, kind), &curves, &levels))
    };
    [(true, "integers"), (false, "real numbers")].into_iter().filter_map(of).collect()
}

/// What is paid, as the name of a column.
fn paid_is(measure: Measure) -> String {
    if measure == Measure::Epsilon { "paid".into() } else { format!("{} paid", measure.short()) }
}

/// The budgets of the noise, by what is paid.
fn budgets(run: &Named, measure: Measure, curves: &[&Curve]) -> Page {
    let (paid, _) = axes(curves);
    let line = |&paid: &f64| {
        let of = |curve: &&Curve| match curve.drawn(paid) {
            Some(point) => number(point.cell.epsilon),
            None => curve.none(paid),
        };
        std::iter::once(paid.to_string()).chain(curves.iter().map(of)).collect()
    };
    let header = std::iter::once(paid_is(measure)).chain(curves.iter().map(|curve| curve.name.clone()));
    Page::headed(format!("{}: the epsilon of the noise that pays it", run.name)).table(Table::new(
        1,
        header,
        paid.iter().map(line).collect(),
    ))
}

/// Which of two curves is better, level by level, and where they cross.
fn better(run: &Named, measure: Measure, contests: &[Contest]) -> Page {
    if contests.is_empty() {
        return Page::default();
    }
    let crossings = |contest: &Contest| {
        let crossings: Vec<String> = contest.crossings.iter().map(crossing_words).collect();
        if crossings.is_empty() { "-".into() } else { crossings.join(",\n") }
    };
    Page::headed(match measure {
        Measure::Epsilon => format!("{}: which is better for what is paid", run.name),
        other => format!("{}: which is better for the {} that is paid", run.name, other.name()),
    })
    .listed(
        3,
        contests,
        &[
            ("level", &|contest| run.level(contest.level)),
            ("first", &|contest| contest.first.name.clone()),
            ("second", &|contest| contest.second.name.clone()),
            ("first is better\nwhere it pays", &|contest| ranges(&contest.pairs, -1)),
            ("second is better\nwhere it pays", &|contest| ranges(&contest.pairs, 1)),
            ("they cross at", &crossings),
        ],
    )
    .text(
        "Better: a smaller error, by more than 3 standard errors. They cross in the range in brackets. The place is read off \
         a straight line on logarithms; its standard error is that of the releases, and says nothing of how bent the curves \
         are within the range.",
    )
}

/// What changes where losses are compared by another measure than the first: every two curves that both have.
fn by_accountant(run: &Named, all: &[Curve]) -> Page {
    let of = |measure: Measure| -> Vec<Contest> {
        let own = kinds(all).into_iter().filter(|(of, _)| *of == measure);
        own.flat_map(|(_, curves)| contests(&curves)).collect()
    };
    let measures = measures(all);
    let mut by: Vec<Vec<Contest>> = measures.iter().map(|&measure| of(measure)).collect();
    if by.len() < 2 {
        return Page::default();
    }
    let first = by.remove(0);
    // Blocks may list the methods in another order.
    let pairs = |a: &Contest, b: &Contest| {
        if a.level != b.level || a.first.integers != b.first.integers {
            return None;
        }
        let turned = |pair: &Pair| Pair { first: pair.second, second: pair.first, ..*pair };
        let [is, is_turned] = [(b.first, b.second), (b.second, b.first)]
            .map(|(first, second)| (&a.first.name, &a.second.name) == (&first.name, &second.name));
        match (is, is_turned) {
            (true, _) => Some(b.pairs.clone()),
            (_, true) => Some(b.pairs.iter().map(turned).collect()),
            _ => None,
        }
    };
    let row = |a: &Contest| {
        let others = by.iter().map(|own| own.iter().find_map(|b| pairs(a, b)));
        let others: Vec<Option<Vec<Pair>>> = others.collect();
        others.iter().any(Option::is_some).then(|| {
            let names = [run.level(a.level), a.first.name.clone(), a.second.name.clone(), verdict(&a.pairs)];
            let others = others.iter().map(|own| own.as_deref().map_or("-".into(), verdict));
            names.into_iter().chain(others).collect()
        })
    };
    let rows: Vec<Vec<String>> = first.iter().filter_map(row).collect();
    if rows.is_empty() {
        return Page::default();
    }
    let at = |measure: &Measure| format!("better\nat equal {}", measure.name().replace(" of ", "\nof "));
    let header = ["level", "first", "second"].map(str::to_owned).into_iter().chain(measures.iter().map(at));
    Page::main(format!("{}: what the accountant changes", run.name)).table(Table::new(3, header, rows)).text(
        "Better: a smaller error, by more than 3 standard errors, at all losses of the config if none is named. \
            Conditioning on equations keeps a pure epsilon, and raises \
         rho: noise conditioned on a known total pays more rho than free noise of the same epsilon, up to twice as \
         much where the total has two entries.",
    )
}

/// The curves on logarithmic axes, level by level.
fn figure(
    run: &Named,
    title: String,
    (measure, kind): (Measure, &str),
    curves: &[&Curve],
    levels: &[u32],
) -> Figure {
    let panel = |&level: &u32| {
        let series = curves.iter().map(|curve| {
            let here = curve.points.iter().filter(|point| point.level.level == level);
            let mark = |point: &Point| {
                let error = point.error();
                Mark::new(point.own.paid, error.mean).estimated(error)
            };
            Series {
                name: curve.name.replace('\n', " "),
                kind: Kind::DottedLine,
                marks: here.map(mark).collect(),
            }
        });
        Panel { title: run.level(level), series: series.collect() }
    };
    Figure {
        name: Figure::named(&match measure {
            Measure::Epsilon => format!("{}-{kind}", run.name),
            other => format!("{}-{kind}-{}", run.name, other.name()),
        }),
        title,
        about: "A curve for each method: the mean absolute error of a count with its 95 % interval against what a \
            release pays, both on logarithmic axes, level by \
                level. The table below has the figures."
            .into(),
        x: Axis::new(format!("paid ({})", measure.name()), Scale::Log),
        y: Axis::new("error of a count", Scale::Log),
        panels: levels.iter().map(panel).collect(),
        note: match curves {
            [only] => format!("The line is {}.", only.name.replace('\n', " ")),
            _ => String::new(),
        },
    }
}

/// The points of some runs.
pub(super) fn points(runs: &[Named]) -> Records<'_> {
    let mut header = Records::of_cells::<FrontierRow>("frontier", "frontier.csv", &[]).header;
    let level = Records::of_cells::<LevelRow>("errors", "l1_error.csv", &[]).header;
    let more: Vec<String> = level.into_iter().filter(|name| !header.contains(name)).collect();
    header.extend(more);
    header.extend(runs.iter().any(|run| !run.failed.is_empty()).then(|| FAILED.to_owned()));
    Records::new("frontier", "frontier.csv", header, move |take| {
        for run in runs {
            for point in curves(run, true)?.1.into_iter().flat_map(|curve| curve.points) {
                let mut record: Row = identity(&point.cell);
                record.extend(fields(&point.own));
                record.extend(fields(&point.level));
                record.remove("cell");
                record.insert("run".into(), run.name.as_str().into());
                if !take(record)? {
                    return Ok(());
                }
            }
            let cells = cells::by_key(&run.run)?;
            for row in run.run.all::<FrontierRow>()? {
                let Some(error) = run.failed.get(&row.cell) else { continue };
                let mut record: Row = identity(known(&cells, row.cell, &run.run)?);
                record.extend(fields(&row));
                record.remove("cell");
                record.insert("run".into(), run.name.as_str().into());
                record.insert(FAILED.into(), error.as_str().into());
                if !take(record)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    })
}

/// Every two curves of some runs, with their crossings.
pub(super) fn crossing_records(runs: &[Named]) -> Records<'_> {
    let header = [
        "run",
        "change",
        "measure",
        "integers",
        "level",
        "first",
        "second",
        "low",
        "high",
        "first_is_lower_before",
        "paid",
        "paid_se",
    ];
    let source = move |take: Take| {
        for run in runs {
            let (change, all) = curves(run, true)?;
            for (measure, curves) in kinds(&all) {
                for contest in contests(&curves) {
                    for crossing in &contest.crossings {
                        let known = |x: f64| if x.is_nan() { Value::Null } else { x.into() };
                        let values: [Value; 12] = [
                            run.name.as_str().into(),
                            change.map_or("", ChangeKind::name).into(),
                            measure.name().into_owned().into(),
                            contest.first.integers.into(),
                            contest.level.into(),
                            contest.first.name.replace('\n', " ").into(),
                            contest.second.name.replace('\n', " ").into(),
                            crossing.low.into(),
                            crossing.high.into(),
                            crossing.first_is_lower_before.into(),
                            known(crossing.at.mean),
                            known(crossing.at.standard_error),
                        ];
                        if !take(header.iter().map(|name| (*name).to_owned()).zip(values).collect())? {
                            return Ok(());
                        }
                    }
                }
            }
        }
        Ok(())
    };
    Records::new("crossings", "crossings.csv", header.map(str::to_owned).into(), source)
}
