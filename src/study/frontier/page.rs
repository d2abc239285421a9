//! Errors against what is paid, method by method, and where the better one changes.

use super::FrontierRow;
use crate::diagnostics::{Crossing, Estimate, Pair, crossings};
use crate::failure::Result;
use crate::figure::{Axis, Figure, Kind, Mark, Panel, Scale, Series};
use crate::page::{Number, Page, Pivot, Table, distinct, grouped, number, replicates, with_error};
use crate::privacy::{ChangeKind, Measure};
use crate::study::cells::{self, CellRow, known};
use crate::study::release::LevelRow;
use crate::study::tell::records::{FAILED, Named, Records, Row, Take, fields, identity};
use crate::table::Key;
use serde_json::Value;
use std::collections::HashMap;

/// Standard errors between two errors of which one is called smaller: one of 370 pairs of equal errors is told apart.
const APART: f64 = 3.0;

/// A point: a cell, what it pays, and its errors on one level.
struct Point {
    cell: CellRow,
    own: FrontierRow,
    level: LevelRow,
}

impl Point {
    /// Mean absolute error of a count.
    fn error(&self) -> Estimate {
        self.level.l1_per_node
    }
}

/// The points of one law and method: everything of a cell but its budget.
struct Curve {
    name: String,
    measure: Measure,
    integers: bool,
    points: Vec<Point>,
    /// What was to be paid where a cell failed.
    failed: Vec<f64>,
}

impl Curve {
    /// The point of a level at a loss.
    fn at(&self, level: u32, paid: f64) -> Option<&Point> {
        self.points.iter().find(|point| point.level.level == level && point.own.paid == paid)
    }

    /// What stands where there is no point.
    fn none(&self, paid: f64) -> String {
        if self.failed.contains(&paid) { FAILED.into() } else { "-".into() }
    }
}

/// The curves of a run, in the order of the config, and the change that they pay for: of its first cells, as many as
/// pages show, or of `all`. They are named by their methods, and as far as they differ by their laws and options.
fn curves(run: &Named, all: bool) -> Result<(Option<ChangeKind>, Vec<Curve>)> {
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
        format!("{measure:?} {} {:?}", cell.noise_but_budget(), cell.method_key())
    };
    let gone = || cells.values().filter(|cell| run.failed.contains_key(&cell.cell));
    let curve = |points: Vec<Point>| {
        let Point { cell, own: first, .. } = &points[0];
        let measure = first.measure;
        let failed = gone().filter_map(|other| Some((other, own.get(&other.cell)?)));
        let failed = failed.filter(|(other, row)| what(other, row.measure) == what(cell, measure));
        let failed = failed.map(|(_, row)| row.paid).collect();
        Curve { name: cell.method_plain(), measure, integers: cell.integers, points, failed }
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
            }
        }
    }
}

/// Losses and levels of some curves, in order.
fn axes(curves: &[&Curve]) -> (Vec<f64>, Vec<u32>) {
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let failed = curves.iter().flat_map(|curve| curve.failed.iter().copied());
    let paid = distinct(points().map(|point| point.own.paid).chain(failed));
    let mut levels: Vec<u32> = points().map(|point| point.level.level).collect();
    levels.sort_unstable();
    levels.dedup();
    (paid, levels)
}

/// Two curves on one level.
struct Contest<'a> {
    level: u32,
    first: &'a Curve,
    second: &'a Curve,
    pairs: Vec<Pair>,
    crossings: Vec<Crossing>,
}

/// Every two curves of one kind on every level, as far as both have points.
fn contests<'a>(curves: &[&'a Curve]) -> Vec<Contest<'a>> {
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
    let page = |((measure, integers), curves): ((Measure, bool), Vec<&Curve>)| {
        let kind = if integers { "integers" } else { "real numbers" };
        errors(run, change, (measure, kind), &curves).and(budgets(run, measure, &curves)).and(better(
            run,
            measure,
            &contests(&curves),
        ))
    };
    let pages: Page = kinds(&all).into_iter().map(page).collect();
    // The short answer first.
    Ok(run.with_failed(by_accountant(run, &all).and(pages)))
}

/// What is paid, as the name of a column.
fn paid_is(measure: Measure) -> &'static str {
    match measure {
        Measure::Epsilon => "paid",
        Measure::Rho => "rho paid",
    }
}

/// The errors of curves by level and loss, the smallest of each line marked.
fn errors(run: &Named, change: ChangeKind, (measure, kind): (Measure, &str), curves: &[&Curve]) -> Page {
    let (what_they_pay, moved) = match measure {
        Measure::Epsilon => ("what they pay", ""),
        Measure::Rho => (
            "the rho that they pay",
            " Methods that move free noise are charged the rho of their noise, as they are its epsilon: what they release \
             may pay less.",
        ),
    };
    let (paid, levels) = axes(curves);
    let points =
        || curves.iter().enumerate().flat_map(|(i, curve)| curve.points.iter().map(move |point| (i, point)));
    let (least, drawn) = replicates(points().map(|(_, point)| point.level.replicates));
    let mut laws: Vec<&str> = curves.iter().map(|curve| curve.points[0].cell.law.name()).collect();
    laws.dedup();
    let law = if let [law] = laws[..] { format!(" with {law} noise") } else { String::new() };
    let title =
        format!("{}: releases that are {kind}{law}, by {what_they_pay} for {}", run.name, change.words());
    // With one release a cell nothing is known of its error.
    let told_apart = curves.len() > 1 && least > 1;
    let rows = points().map(|(i, point)| ((point.level.level, Number(point.own.paid)), i, point));
    let lines = levels.iter().flat_map(|&level| paid.iter().map(move |&paid| (level, Number(paid))));
    let table = Pivot::of(rows).and_keys(lines, 0..curves.len()).table(
        ["level", paid_is(measure)],
        |&(level, Number(paid))| [run.level(level), paid.to_string()],
        |&curve| [curves[curve].name.clone()],
        |&(_, Number(paid)), &curve, line| {
            let errors = line.values().map(|point| point.error());
            let best = errors.min_by(|a, b| a.mean.total_cmp(&b.mean));
            let (Some(point), Some(best)) = (line.get(&curve), best) else {
                return [curves[curve].none(paid)];
            };
            let error = point.error();
            let beaten = Pair { at: paid, first: best, second: error }.sign(APART) < 0;
            let star = if told_apart && !beaten { " *" } else { "" };
            [format!("{}{star}{}", with_error(error), point.cell.converged.mark())]
        },
    );
    let stars = "*: the smallest error of the row, and those less than 3 standard errors away from it.";
    Page::main(title.clone())
        .text(format!("Mean absolute error of a count ± standard error of {drawn} replicates.{moved}"))
        .figure(figure(run, title, (measure, kind), curves, &levels))
        .table(table)
        .text(if told_apart { stars } else { "" })
}

/// The budgets of the noise, by what is paid.
fn budgets(run: &Named, measure: Measure, curves: &[&Curve]) -> Page {
    let (paid, _) = axes(curves);
    let line = |&paid: &f64| {
        let of = |curve: &&Curve| match curve.points.iter().find(|point| point.own.paid == paid) {
            Some(point) => number(point.cell.epsilon),
            None => curve.none(paid),
        };
        std::iter::once(paid.to_string()).chain(curves.iter().map(of)).collect()
    };
    let header =
        std::iter::once(paid_is(measure).to_owned()).chain(curves.iter().map(|curve| curve.name.clone()));
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
    Page::main(match measure {
        Measure::Epsilon => format!("{}: which is better for what is paid", run.name),
        Measure::Rho => format!("{}: which is better for the rho that is paid", run.name),
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

/// Curves that are compared with each other: of one measure, integers or not; those that there are.
fn kinds(all: &[Curve]) -> Vec<((Measure, bool), Vec<&Curve>)> {
    let kinds =
        Measure::ALL.into_iter().flat_map(|measure| [true, false].map(|integers| (measure, integers)));
    let of = |kind| {
        let own = all.iter().filter(|curve| (curve.measure, curve.integers) == kind);
        (kind, own.collect::<Vec<_>>())
    };
    kinds.map(of).filter(|(_, curves)| !curves.is_empty()).collect()
}

/// What changes where losses are compared as rho and not as epsilon: every two curves that both kinds of budgets have.
fn by_accountant(run: &Named, all: &[Curve]) -> Page {
    let of = |measure: Measure| -> Vec<Contest> {
        let own = kinds(all).into_iter().filter(|((of, _), _)| *of == measure);
        own.flat_map(|(_, curves)| contests(&curves)).collect()
    };
    let (by_epsilon, by_rho) = (of(Measure::Epsilon), of(Measure::Rho));
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
        let by_rho = by_rho.iter().find_map(|b| pairs(a, b))?;
        Some(vec![
            run.level(a.level),
            a.first.name.clone(),
            a.second.name.clone(),
            verdict(&a.pairs),
            verdict(&by_rho),
        ])
    };
    let rows: Vec<Vec<String>> = by_epsilon.iter().filter_map(row).collect();
    if rows.is_empty() {
        return Page::default();
    }
    let header = ["level", "first", "second", "better\nat equal epsilon", "better\nat equal rho"];
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
            Measure::Rho => format!("{}-{kind}-rho", run.name),
        }),
        title,
        about: "A curve for each method: the mean absolute error of a count with its 95 % interval against what a \
            release pays, both on logarithmic axes, level by \
                level. The table below has the figures."
            .into(),
        x: Axis::new(format!("paid ({})", measure.name()), Scale::Log),
        y: Axis::new("error of a count", Scale::Log),
        panels: levels.iter().map(panel).collect(),
        note: String::new(),
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
            for ((measure, integers), curves) in kinds(&all) {
                for contest in contests(&curves) {
                    for crossing in &contest.crossings {
                        let known = |x: f64| if x.is_nan() { Value::Null } else { x.into() };
                        let values: [Value; 12] = [
                            run.name.as_str().into(),
                            change.map_or("", ChangeKind::name).into(),
                            measure.name().into(),
                            integers.into(),
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
