//! Errors of releases: of every one, and summed up by cell and level; what the cells pay.

use super::super::cells::CellRow;
use super::super::groups::{distinct, grouped, replicates};
use super::super::privacy::{statement_words, statements};
use super::super::published::{self, Published};
use super::super::records::{Named, Records};
use super::CertificateRow;
use crate::config::SplitSpec;
use crate::diagnostics::{Estimate, Moments};
use crate::failure::Result;
use crate::figure::{self, Axis, Kind, Mark, Panel, Scale, Series};
use crate::law::Value;
use crate::page::{Page, counted, finite, number, with_error};
use crate::rng::TaskKey;
use crate::table;
use crate::table::Key;
use serde_json::Map;

table! {
    /// Errors of one release on one level.
    #[derive(Copy, serde::Deserialize)]
    pub struct ErrorRow in "errors.parquet", "Studies `release` and `frontier`: one row per cell, replicate and level." {
        cell: Key, "", "the cell, in `cells.parquet`";
        level: u32, "", "1 = root; a table has the level 1 only: all its entries";
        replicate: u64, "", "from 0";
        l1: f64, "counts", "sum of abs(released - confidential) over the level";
        l2: f64, "counts", "root of the sum of squared errors over the level";
        bias: f64, "counts", "mean of (released - confidential) over the level";
        invariant_ok: bool, "", "the whole release meets the invariant (integers `==`, reals to rounding), and is >= 0 where promised";
    }
}

table! {
    /// Errors of a cell on one level, summed up over its releases.
    pub struct LevelRow in "levels.parquet", "Studies `release` and `frontier`: one row per cell and level, over its replicates. Standard errors are null for fewer than two of them." {
        cell: Key, "", "the cell, in `cells.parquet`";
        level: u32, "", "1 = root";
        scale: f64, "counts", "lambda or sigma of the level's noise (l1, l2: sensitivity / epsilon); 0 where the level is known";
        nodes: u64, "nodes", "of the level; entries of a table";
        replicates: u64, "", "releases";
        l1_normalised: f64, "counts per node", "mean of `l1` / nodes of the whole tree, as \"Two views\" normalises";
        l1_normalised_se: Option<f64>, "counts per node", "its standard error";
        l1_normalised_sd: Option<f64>, "counts per node", "standard deviation of one release";
        l1_per_node: f64, "counts per node", "mean of `l1` / nodes of the level";
        l1_per_node_se: Option<f64>, "counts per node", "its standard error";
        l2: f64, "counts", "mean of `l2`";
        l2_se: Option<f64>, "counts", "its standard error";
        bias: f64, "counts", "mean of `bias`";
        bias_se: Option<f64>, "counts", "its standard error";
    }
}

impl ErrorRow {
    /// Sums up the errors of one level, from 1; `kept`: whether the whole release satisfies the invariant.
    pub(super) fn of<V: Value>(key: TaskKey, level: u32, errors: &[V], kept: bool) -> Self {
        let (mut l1, mut squares, mut sum) = (0.0, 0.0, 0.0);
        for z in errors {
            let z = z.to_f64();
            l1 += z.abs();
            squares += z * z;
            sum += z;
        }
        let bias = sum / errors.len() as f64;
        let TaskKey { cell, replicate, .. } = key;
        Self { cell: Key(cell), level, replicate, l1, l2: libm::sqrt(squares), bias, invariant_ok: kept }
    }
}

/// Errors of a level as they come.
#[derive(Debug, Default, Clone)]
pub(super) struct Level {
    normalised: Moments,
    per_node: Moments,
    l2: Moments,
    bias: Moments,
}

impl Level {
    /// Adds a release; `all`: nodes of the whole tree.
    pub(super) fn push(&mut self, row: &ErrorRow, nodes: u64, all: u64) {
        self.normalised.push(row.l1 / all as f64);
        self.per_node.push(row.l1 / nodes as f64);
        self.l2.push(row.l2);
        self.bias.push(row.bias);
    }

    /// The row; `None` without a release.
    pub(super) fn row(&self, cell: Key, level: u32, scale: f64, nodes: u64) -> Option<LevelRow> {
        let se = |moments: &Moments| finite(moments.estimate().standard_error);
        (self.normalised.count() > 0).then(|| LevelRow {
            cell,
            level,
            scale,
            nodes,
            replicates: self.normalised.count(),
            l1_normalised: self.normalised.mean(),
            l1_normalised_se: se(&self.normalised),
            l1_normalised_sd: finite(self.normalised.deviation()),
            l1_per_node: self.per_node.mean(),
            l1_per_node_se: se(&self.per_node),
            l2: self.l2.mean(),
            l2_se: se(&self.l2),
            bias: self.bias.mean(),
            bias_se: se(&self.bias),
        })
    }
}

impl LevelRow {
    fn estimate(&self) -> Estimate {
        Estimate::new(self.l1_normalised, self.l1_normalised_se)
    }

    fn deviation(&self) -> f64 {
        self.l1_normalised_sd.unwrap_or(f64::NAN)
    }
}

type Line<'a> = (&'a CellRow, &'a LevelRow);

/// A published normalised L1 error of a level, of one release.
pub(super) struct Figure {
    /// The source, and its own name of the column.
    column: (String, String),
    /// The method of ours that it stands beside.
    method: String,
    /// The laws beside which it is shown.
    laws: Vec<String>,
    epsilon: f64,
    level: u32,
    value: f64,
}

impl Figure {
    /// One that tells law, method, epsilon and level, and nothing else.
    pub(super) fn of(published: &Published) -> Option<Self> {
        let here = published.table == "l1_error" && published.figure == "l1_normalised";
        let plain = published.standard_error.is_none() && published.keys.len() == 4;
        let key = |name: &str| published.key(name).filter(|_| here && plain);
        Some(Self {
            column: (published.source.clone(), published.name.clone()),
            method: key("method").filter(|method| !method.contains('|'))?.to_owned(),
            laws: key("law")?.split('|').map(str::to_owned).collect(),
            epsilon: key("epsilon")?.parse().ok()?,
            level: key("level")?.parse().ok()?,
            value: published.value,
        })
    }

    /// Whether the table of a law has its row.
    fn is_among(&self, cell: &CellRow, level: u32) -> bool {
        let law = self.laws.iter().any(|law| law == cell.law.name());
        law && self.epsilon == cell.epsilon && self.level == level
    }
}

/// Whether the pages of a run show a figure. Errors: its tables.
pub(super) fn shows(run: &Named, published: &Published) -> Result<bool> {
    let Some(figure) = Figure::of(published) else { return Ok(false) };
    let cells = run.by_cell(|row: &LevelRow| row.cell)?;
    Ok(cells.iter().any(|(cell, rows)| rows.iter().any(|row| figure.is_among(cell, row.level))))
}

fn published(run: &Named) -> Result<Vec<Figure>> {
    Ok(published::of(&run.run)?.iter().filter_map(Figure::of).collect())
}

/// The normalised L1 error: a table for each law, budget rule and sensitivity.
pub(super) fn pages(run: &Named) -> Result<Page> {
    let cells = run.by_cell(|row: &LevelRow| row.cell)?;
    let published = published(run)?;
    let lines = cells.iter().flat_map(|(cell, levels)| levels.iter().map(|level| (*cell, level)));
    // Cells that share a table: everything but epsilon, level and method.
    let table = |(cell, _): &Line| {
        let CellRow { law, split, delta, sensitivity, .. } = cell;
        format!("{law:?} {split:?} {delta:?} {sensitivity:?}")
    };
    let page = |lines: Vec<Line>| {
        let law = lines[0].0.law.name();
        let here: Vec<&Figure> =
            published.iter().filter(|figure| figure.laws.iter().any(|name| name == law)).collect();
        error_table(run, &lines, &here).and(against_published(&run.name, &lines, &here))
    };
    Ok(grouped(lines, table).into_iter().map(page).collect())
}

/// Cells that are told apart by their budget alone.
fn same_method(a: &CellRow, b: &CellRow) -> bool {
    (a.method, &a.options, a.nonnegative) == (b.method, &b.options, b.nonnegative)
}

/// Levels by epsilon and method; below a method the published figures that stand beside it.
fn error_table(run: &Named, lines: &[Line], published: &[&Figure]) -> Page {
    let mut methods: Vec<&CellRow> = Vec::new();
    for (cell, _) in lines {
        if !methods.iter().any(|method| same_method(method, cell)) {
            methods.push(cell);
        }
    }
    let epsilons = distinct(lines.iter().map(|(cell, _)| cell.epsilon));
    let most = lines.iter().map(|(_, line)| line.level).max().unwrap_or(0);
    let mut body = Vec::new();
    for epsilon in epsilons {
        // A published figure stands behind the last method of its name.
        let mut theirs: Vec<&&Figure> = published.iter().filter(|figure| figure.epsilon == epsilon).collect();
        let mut beside = |method: Option<&str>, body: &mut Vec<Vec<String>>| {
            let (here, others): (Vec<_>, Vec<_>) =
                theirs.iter().partition(|figure| method.is_none_or(|name| figure.method == name));
            theirs = others;
            let mut columns: Vec<&(String, String)> = here.iter().map(|figure| &figure.column).collect();
            columns.sort_unstable();
            columns.dedup();
            for column in columns {
                let of = |level| here.iter().find(|f| f.column == *column && f.level == level);
                let value = |level| of(level).map_or("-".into(), |figure| number(figure.value));
                let words = format!("{}, published", column.1);
                body.push([epsilon.to_string(), words].into_iter().chain((1..=most).map(value)).collect());
            }
        };
        for (i, method) in methods.iter().enumerate() {
            let of = |level: u32| {
                lines.iter().find(|(cell, line)| {
                    same_method(method, cell) && cell.epsilon == epsilon && line.level == level
                })
            };
            let Some((cell, _)) = (1..=most).find_map(of) else { continue };
            let twice =
                |other: &&CellRow| (other.method, other.nonnegative) == (cell.method, cell.nonnegative);
            let words = match methods.iter().copied().filter(twice).count() {
                1 => cell.method_name(),
                _ => cell.method_words(),
            };
            let error = |level| of(level).map_or("-".into(), |(_, line)| with_error(line.estimate()));
            body.push([epsilon.to_string(), words].into_iter().chain((1..=most).map(error)).collect());
            if !methods[i + 1..].iter().any(|other| other.method == method.method) {
                beside(Some(method.method.name()), &mut body);
            }
        }
        beside(None, &mut body);
    }
    let header =
        ["epsilon", "method"].map(str::to_owned).into_iter().chain((1..=most).map(|level| run.level(level)));
    let CellRow { law, delta, sensitivity, split, .. } = lines[0].0;
    let delta = delta.map_or(String::new(), |delta| format!(", delta {delta:e}"));
    let (_, replicates) = replicates(lines.iter().map(|(_, line)| line.replicates));
    let (sum, which) = if run.run.manifest.subject == "table" {
        ("all entries / their number".to_owned(), format!("sensitivity {sensitivity}{delta}"))
    } else {
        (
            "a level / nodes of the whole tree".to_owned(),
            format!("sensitivity {sensitivity}, split {}{delta}", split.label()),
        )
    };
    let split = if *split == SplitSpec::Each { String::new() } else { format!(", split {}", split.label()) };
    let page = Page::main(format!("{}: normalised L1 error, {} noise{delta}{split}", run.name, law.name()));
    let page = page.text(format!(
        "Sum of |released - confidential| over {sum}, mean ± standard error of {replicates} replicates ({which})."
    ));
    match figure(run, lines, published, &methods) {
        Some(figure) => page.figure(figure).table(2, header, body),
        None => page.table(2, header, body),
    }
}

/// The errors by level and method, the published ones beside.
fn figure(
    run: &Named,
    lines: &[Line],
    published: &[&Figure],
    methods: &[&CellRow],
) -> Option<figure::Figure> {
    let names: Vec<String> = methods.iter().map(|method| method.method_words()).collect();
    let most = lines.iter().map(|(_, line)| line.level).max()?;
    let mut epsilons: Vec<f64> = lines.iter().map(|(cell, _)| cell.epsilon).collect();
    epsilons.sort_by(f64::total_cmp);
    epsilons.dedup();
    let row =
        |cell: &CellRow| methods.iter().position(|method| same_method(method, cell)).unwrap_or(0) as f64;
    let panel = |level: u32| {
        let mut series = Vec::new();
        for &epsilon in &epsilons {
            let here = lines.iter().filter(|(cell, line)| cell.epsilon == epsilon && line.level == level);
            let mark = |(cell, line): &Line| {
                let Estimate { mean, standard_error } = line.estimate();
                let mark = Mark::new(mean, row(cell));
                if standard_error > 0.0 {
                    mark.within(mean - 1.96 * standard_error, mean + 1.96 * standard_error)
                } else {
                    mark
                }
            };
            series.push(Series {
                name: format!("epsilon {epsilon}"),
                kind: Kind::Dots,
                marks: here.map(mark).collect(),
            });
            let theirs = published.iter().filter(|figure| figure.epsilon == epsilon && figure.level == level);
            let theirs = theirs.filter_map(|figure| {
                let place = methods.iter().rposition(|method| method.method.name() == figure.method)?;
                Some(Mark::new(figure.value, place as f64))
            });
            let marks: Vec<Mark> = theirs.collect();
            if !published.is_empty() {
                series.push(Series {
                    name: format!("epsilon {epsilon}, published"),
                    kind: Kind::Dots,
                    marks,
                });
            }
        }
        Panel { title: run.level(level), series }
    };
    let CellRow { law, .. } = lines[0].0;
    Some(figure::Figure {
        name: format!("{}-l1-error-{}", run.name, law.name()),
        title: format!("{}: normalised L1 error by method, {} noise", run.name, law.name()),
        about: format!(
            "For each of {} the mean error of a release, with its 95 % interval, on a logarithmic axis, by level and epsilon. The table below has the figures.",
            counted(names.len() as f64, "method")
        ),
        x: Axis { label: "normalised L1 error (counts per node)".into(), scale: Scale::Log },
        y: Axis { label: String::new(), scale: Scale::Names(names) },
        panels: (1..=most).map(panel).collect(),
    })
}

/// How far each published figure lies from ours, and whether it scales as noise must.
fn against_published(run: &str, lines: &[Line], published: &[&Figure]) -> Page {
    if published.is_empty() {
        return Page::default();
    }
    let mut rows = Vec::new();
    let mut notes = Vec::new();
    let mut keys: Vec<(&(String, String), &str, u32)> =
        published.iter().map(|f| (&f.column, f.method.as_str(), f.level)).collect();
    keys.sort_unstable();
    keys.dedup();
    let epsilons = distinct(published.iter().map(|f| f.epsilon));
    for (column, method, level) in keys {
        let ours = |epsilon: f64| {
            let here = || {
                lines.iter().filter(|(cell, line)| {
                    cell.method.name() == method && cell.epsilon == epsilon && line.level == level
                })
            };
            // Of a method with and without inequalities, the one without.
            here().find(|(cell, _)| !cell.nonnegative).or(here().next()).map(|(_, line)| *line)
        };
        let theirs = |epsilon: f64| {
            published.iter().find(|f| f.column == *column && f.level == level && f.epsilon == epsilon)
        };
        let column = &column.1;
        let mut row = vec![column.clone(), method.to_owned(), level.to_string()];
        for &epsilon in &epsilons {
            let (line, figure) = (ours(epsilon), theirs(epsilon));
            let z =
                line.zip(figure).map(|(line, figure)| (figure.value - line.l1_normalised) / line.deviation());
            row.push(figure.map_or("-".into(), |figure| number(epsilon * figure.value)));
            row.push(line.map_or("-".into(), |line| number(epsilon * line.l1_normalised)));
            row.push(z.filter(|z| z.is_finite()).map_or("-".into(), |z| format!("{z:+.1}")));
        }
        if let (Some(&low), Some(&high)) = (epsilons.first(), epsilons.last()) {
            let both = (theirs(low), theirs(high), ours(low), ours(high));
            if let (Some(their_low), Some(their_high), Some(our_low), Some(our_high)) = both {
                let their_factor = high * their_high.value / (low * their_low.value);
                let (a, b) = (our_high.estimate(), our_low.estimate());
                let our_factor = high * a.mean / (low * b.mean);
                let se = our_factor * libm::hypot(a.standard_error / a.mean, b.standard_error / b.mean);
                let spread = |line: &LevelRow| line.deviation() / line.l1_normalised;
                let noise = libm::hypot(spread(our_low), spread(our_high));
                let z = libm::log(their_factor / our_factor) / noise;
                // Of few nodes a release's error varies by its own size, and one ratio says nothing.
                if noise < 0.3 && z.abs() > 5.0 {
                    notes.push(format!(
                        "{column}, level {level}: from epsilon {low} to {high} error × epsilon changes by the factor \
                         {their_factor:.2}; under `{method}` by {}. Between two single releases of that law the factor \
                         has a relative standard deviation of {noise:.3}: the published one lies {z:+.1} of them away. \
                         Another sensitivity or split multiplies both figures alike (exactly so for Laplace noise and equalities), so it cannot explain this.",
                        with_error(Estimate { mean: our_factor, standard_error: se })
                    ));
                }
            }
        }
        rows.push(row);
    }
    let mut header = vec!["published".to_owned(), "beside".to_owned(), "level".to_owned()];
    for epsilon in &epsilons {
        header.extend([format!("ε={epsilon}: theirs"), "ours".to_owned(), "z".to_owned()]);
    }
    Page::headed(format!("{run}: published against ours, {} noise", lines[0].0.law.name()))
        .text(
            "Error × epsilon (the same for every epsilon if the error scales as 1/epsilon), and \
         z = (published - our mean) / standard deviation of one of our releases.",
        )
        .table(3, header, rows)
        .list(notes)
}

/// What every cell pays.
pub(super) fn paid(runs: &[Named]) -> Result<Page> {
    let header = [
        "noise",
        "methods",
        "record added or removed",
        "record moved",
        "smallest change",
        "delta",
        "gamma, any change",
        "TV of sampling",
        "delta of sampling",
    ];
    // Methods that pay the same for the same noise stand in one row.
    let mut body: Vec<(String, Vec<String>, Vec<String>)> = Vec::new();
    let (mut unknown, mut impossible) = (Vec::new(), Vec::new());
    for run in runs {
        let mut certificates = std::collections::HashMap::new();
        run.run.each(|row: CertificateRow| {
            certificates.insert(row.cell, row);
            Ok(())
        })?;
        let statements = statements(&run.run)?;
        for (cell, _) in run.by_cell(|row: &LevelRow| row.cell)? {
            let certificate = certificates.get(&cell.cell);
            if let Some(row) = certificate.filter(|row| !row.unknown.is_empty()) {
                unknown.push(format!("{}: {}", cell.words(), row.unknown));
            }
            let CellRow { delta_total, gamma, gamma_known, .. } = &cell;
            let how = if gamma_known == "bounded" { "at most " } else { "" };
            let changes = statements.get(&cell.cell).map_or(&[][..], Vec::as_slice);
            let [added, moved, smallest] = statement_words(changes, &mut impossible);
            let eta = cell.tv_error.or(certificate.and_then(|row| row.bound_high));
            let prices = changes.iter().filter_map(|(_, change)| change.price());
            let deltas: Option<Vec<f64>> = prices.map(|price| price.sampling_delta(eta?)).collect();
            let delta_sampling = match eta {
                Some(0.0) => Some(0.0),
                _ => deltas.and_then(|deltas| deltas.into_iter().reduce(f64::max)),
            };
            let pays = vec![
                added,
                moved,
                smallest,
                if *delta_total == 0.0 { "0".into() } else { format!("{delta_total:e}") },
                match gamma {
                    Some(gamma) if *gamma == 0.0 => format!("0 ({gamma_known})"),
                    Some(gamma) => format!("{how}{gamma:.6} ({gamma_known})"),
                    None => "unknown".into(),
                },
                match (cell.tv_error, certificate) {
                    (Some(0.0), _) => "0".into(),
                    (Some(error), _) => format!("{error:.1e}"),
                    (None, Some(row)) => row.words(),
                    (None, None) => "unknown".into(),
                },
                match (delta_sampling, certificate) {
                    (Some(0.0), _) => "0".into(),
                    (Some(delta), None) => format!("{delta:.1e}"),
                    (Some(delta), Some(_)) => format!("<= {delta:.1e}"),
                    (None, _) => "unknown".into(),
                },
            ];
            let noise = cell.noise_words();
            match body.iter_mut().find(|(other, _, same)| *other == noise && *same == pays) {
                Some((_, methods, _)) => methods.push(cell.method_words()),
                None => body.push((noise, vec![cell.method_words()], pays)),
            }
        }
    }
    if body.is_empty() {
        return Ok(Page::default());
    }
    let note = "What the worst place pays for one change of the confidential table: epsilon of the noise, and what conditioning on inequalities makes of it. A record \
                counts once on every level of a hierarchy. gamma, any change: what conditioning on inequalities may add to changes of every length, times their epsilon; of a change in the columns before \
                it can be less (Theorem 2.1 of \"Congenial differential privacy\"; \
                Gaussian laws: through rho). TV of sampling: the total variation distance of a draw to its law; of a chain by coupled pairs, in brackets the upper limit at 95 % of \
                the lag whose limit is smallest. delta of sampling: (1 + e^((1 + gamma) epsilon)) times that, for the change of those shown that pays most.";
    let page = Page::main("What a release pays").list([statements_by_noise(&body), impossible].concat());
    let row = |(noise, methods, pays): (String, Vec<String>, Vec<String>)| {
        [vec![noise, methods.join(", ")], pays].concat()
    };
    let body: Vec<Vec<String>> = body.into_iter().map(row).collect();
    // What is the same everywhere is said once.
    let alike = |i: usize| i > 1 && body.len() > 1 && body.iter().all(|row| row[i] == body[0][i]);
    let (once, columns): (Vec<usize>, Vec<usize>) = (0..header.len()).partition(|&i| alike(i));
    let once: Vec<String> = once.into_iter().map(|i| format!("{}: {}", header[i], body[0][i])).collect();
    let once = if once.is_empty() { String::new() } else { format!("Of all of them: {}.", once.join("; ")) };
    let some = |row: &Vec<String>| columns.iter().map(|&i| row[i].clone()).collect();
    let page = page
        .and(Page::headed("What a release pays, method by method"))
        .table(2, columns.iter().map(|&i| header[i]), body.iter().map(some).collect())
        .text(once)
        .text(note);
    let why = if unknown.is_empty() { "" } else { "Unknown:" };
    Ok(page.text(why).list(unknown))
}

/// What changes of one record pay: a line for each noise, or some if its methods pay otherwise. `paid`: noise, methods, and what they pay
/// for a record that is added, one that is moved, and the smallest change, first.
fn statements_by_noise(paid: &[(String, Vec<String>, Vec<String>)]) -> Vec<String> {
    let mut kinds: Vec<(&str, &[String], Vec<&str>)> = Vec::new();
    for (noise, methods, pays) in paid {
        let methods = methods.iter().map(String::as_str);
        match kinds.iter_mut().find(|(other, same, _)| other == noise && *same == &pays[..3]) {
            Some((.., all)) => all.extend(methods),
            None => kinds.push((noise, &pays[..3], methods.collect())),
        }
    }
    let line = |(noise, pays, methods): &(&str, &[String], Vec<&str>)| {
        let [added, moved, smallest] = pays else { return String::new() };
        let alone = kinds.iter().filter(|(other, ..)| other == noise).count() == 1;
        let whose = if alone { String::new() } else { format!(" ({})", methods.join(", ")) };
        format!(
            "{noise}{whose}: record added or removed: {added}; record moved: {moved}; smallest change: {smallest}"
        )
    };
    kinds.iter().map(line).collect()
}

/// The levels of every cell, and the published figures beside.
pub(super) fn records(runs: &[Named]) -> Result<Records<'_>> {
    let mut records = Records::of_cells::<LevelRow>("errors", "l1_error.csv", runs);
    records.header.insert(0, "source".into());
    let mut theirs = Vec::new();
    for run in runs {
        for figure in published(run)? {
            let mut row = Map::new();
            row.insert("source".into(), published::PUBLISHED_ROW.into());
            row.insert("run".into(), run.name.as_str().into());
            row.insert("law".into(), figure.laws.join("|").into());
            row.insert("method".into(), figure.column.1.into());
            row.insert("epsilon".into(), figure.epsilon.into());
            row.insert("level".into(), figure.level.into());
            row.insert("l1_normalised".into(), figure.value.into());
            theirs.push(row);
        }
    }
    let ours = records.with(|row| drop(row.insert("source".into(), "run".into())));
    Ok(ours.and(theirs))
}
