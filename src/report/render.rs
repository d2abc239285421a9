//! Tables as text, markdown, CSV or JSON.

use super::collect::{Label, Line, Report};
use super::published::Published;
use super::{agreement, entries, findings, meetings, parts, privacy, tails};
use crate::diagnostics::Estimate;
use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

/// How a report is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For a terminal.
    Text,
    /// For a page.
    Markdown,
    /// One line per cell and level, and per published figure; of meetings, one per cell and t.
    Csv,
    /// The same as JSON, with the runs and chains.
    Json,
}

/// Prints a report.
pub fn render(report: &Report, format: Format) -> String {
    match format {
        Format::Text | Format::Markdown => pages(report, format),
        Format::Csv => {
            let errors = records(report);
            if !errors.is_empty() {
                csv_text(errors)
            } else if !report.privacy.is_empty() {
                csv_text(privacy::records(report))
            } else if !report.findings.is_empty() {
                csv_text(findings::records(report))
            } else {
                csv_text(meetings::records(report))
            }
        }
        Format::Json => {
            #[derive(Serialize)]
            struct Chain {
                #[serde(flatten)]
                label: LabelRecord,
                steps: u64,
                chains: u64,
                acceptance: f64,
                acceptance_se: Option<f64>,
                ess: Option<f64>,
                rhat: Option<f64>,
            }
            #[derive(Serialize)]
            struct Failed<'a> {
                run: &'a str,
                cell: &'a str,
                error: &'a str,
            }
            let chains: Vec<_> = report
                .chains
                .iter()
                .map(|line| Chain {
                    label: LabelRecord::new(&line.label),
                    steps: line.steps,
                    chains: line.acceptance.count(),
                    acceptance: line.acceptance.mean(),
                    acceptance_se: finite(line.acceptance.estimate().standard_error),
                    ess: finite(line.ess),
                    rhat: finite(line.rhat),
                })
                .collect();
            let failures: Vec<_> =
                report.failures.iter().map(|(run, cell, error)| Failed { run, cell, error }).collect();
            let runs: Vec<_> = report.runs.iter().map(|(_, manifest)| manifest).collect();
            let all = serde_json::json!({
                "runs": runs, "errors": records(report), "chains": chains, "failures": failures,
                "tv_bounds": meetings::records(report), "entries": entries::records(report),
                "parts": parts::records(report), "agreement": agreement::records(report), "privacy": privacy::records(report),
                "findings": findings::records(report),
            });
            serde_json::to_string_pretty(&all).expect("plain values") + "\n"
        }
    }
}

/// Every file of a report: name and content.
pub fn files(report: &Report) -> Vec<(&'static str, String)> {
    let mut files = vec![
        ("l1_error.txt", render(report, Format::Text)),
        ("l1_error.md", render(report, Format::Markdown)),
        ("l1_error.csv", csv_text(records(report))),
        ("l1_error.json", render(report, Format::Json)),
    ];
    if !report.meetings.is_empty() {
        files.push(("tv_bound.csv", csv_text(meetings::records(report))));
    }
    if !report.entries.is_empty() {
        files.push(("entries.csv", csv_text(entries::records(report))));
    }
    if !report.parts.is_empty() {
        files.push(("parts.csv", csv_text(parts::records(report))));
    }
    if !report.agreement.is_empty() {
        files.push(("agreement.csv", csv_text(agreement::records(report))));
    }
    if !report.privacy.is_empty() {
        files.push(("privacy.csv", csv_text(privacy::records(report))));
    }
    if !report.findings.is_empty() {
        files.push(("findings.csv", csv_text(findings::records(report))));
    }
    files
}

fn csv_text(records: Vec<impl Serialize>) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for record in records {
        writer.serialize(record).expect("writing to memory");
    }
    String::from_utf8(writer.into_inner().expect("writing to memory")).expect("UTF-8 in, UTF-8 out")
}

/// A number that a table can hold.
pub(super) fn finite(x: f64) -> Option<f64> {
    x.is_finite().then_some(x)
}

#[derive(Serialize)]
struct LabelRecord {
    run: String,
    law: String,
    split: String,
    sensitivity: f64,
    delta: Option<f64>,
    method: String,
    options: String,
    nonnegative: Option<bool>,
    epsilon: f64,
}

impl LabelRecord {
    fn new(label: &Label) -> Self {
        let Label { run, law, split, sensitivity, delta, method, options, nonnegative, epsilon } =
            label.clone();
        Self { run, law, split, sensitivity, delta, method, options, nonnegative: Some(nonnegative), epsilon }
    }
}

/// One line of the long table.
#[derive(Serialize)]
struct Record {
    source: String,
    run: String,
    law: String,
    split: String,
    sensitivity: Option<f64>,
    delta: Option<f64>,
    method: String,
    options: String,
    nonnegative: Option<bool>,
    epsilon: f64,
    level: u32,
    scale: Option<f64>,
    nodes: Option<u64>,
    replicates: Option<u64>,
    l1_normalised: f64,
    l1_normalised_se: Option<f64>,
    l1_normalised_sd: Option<f64>,
    l1_per_node: Option<f64>,
    l1_per_node_se: Option<f64>,
    l2: Option<f64>,
    l2_se: Option<f64>,
    bias: Option<f64>,
    bias_se: Option<f64>,
}

fn records(report: &Report) -> Vec<Record> {
    let ours = report.lines.iter().map(|line| {
        let label = line.label.clone();
        let (l1, per_node) = (line.l1_normalised.estimate(), line.l1_per_node.estimate());
        let (l2, bias) = (line.l2.estimate(), line.bias.estimate());
        Record {
            source: "run".into(),
            run: label.run,
            law: label.law,
            split: label.split,
            sensitivity: Some(label.sensitivity),
            delta: label.delta,
            method: label.method,
            options: label.options,
            nonnegative: Some(label.nonnegative),
            epsilon: label.epsilon,
            level: line.level,
            scale: Some(line.scale),
            nodes: Some(line.nodes),
            replicates: Some(line.l1_normalised.count()),
            l1_normalised: l1.mean,
            l1_normalised_se: finite(l1.standard_error),
            l1_normalised_sd: finite(line.l1_normalised.deviation()),
            l1_per_node: finite(per_node.mean),
            l1_per_node_se: finite(per_node.standard_error),
            l2: finite(l2.mean),
            l2_se: finite(l2.standard_error),
            bias: finite(bias.mean),
            bias_se: finite(bias.standard_error),
        }
    });
    let published = report.published.iter().map(|(run, figure)| Record {
        source: "published".into(),
        run: run.clone(),
        law: figure.laws.join("|"),
        split: String::new(),
        sensitivity: None,
        delta: None,
        method: figure.column.clone(),
        options: String::new(),
        nonnegative: None,
        epsilon: figure.epsilon,
        level: figure.level,
        scale: None,
        nodes: None,
        replicates: None,
        l1_normalised: figure.value,
        l1_normalised_se: None,
        l1_normalised_sd: None,
        l1_per_node: None,
        l1_per_node_se: None,
        l2: None,
        l2_se: None,
        bias: None,
        bias_se: None,
    });
    ours.chain(published).collect()
}

/// Cells that share a table: everything but epsilon, level and method.
fn same_table(a: &Label, b: &Label) -> bool {
    (&a.run, &a.law, &a.split, a.delta) == (&b.run, &b.law, &b.split, b.delta)
        && a.sensitivity == b.sensitivity
}

/// Cells that share a column of it.
fn same_column(a: &Label, b: &Label) -> bool {
    (&a.method, &a.options, a.nonnegative) == (&b.method, &b.options, b.nonnegative)
}

fn pages(report: &Report, format: Format) -> String {
    let mut out = String::new();
    for (folder, manifest) in &report.runs {
        let seeds = format!("seed {}", manifest.seed);
        out += &format!("{}: {} by {}, {seeds}\n\n", manifest.name, folder.display(), manifest.revision());
    }
    let mut tables: Vec<&Label> = Vec::new();
    for line in &report.lines {
        if !tables.iter().any(|label| same_table(label, &line.label)) {
            tables.push(&line.label);
        }
    }
    for label in tables {
        let lines: Vec<&Line> = report.lines.iter().filter(|line| same_table(&line.label, label)).collect();
        let published: Vec<&Published> = report
            .published
            .iter()
            .filter(|(run, figure)| *run == label.run && figure.laws.contains(&label.law))
            .map(|(_, figure)| figure)
            .collect();
        let on_table = report.entries.iter().any(|(other, _)| other.run == label.run);
        out += &error_table(label, &lines, &published, on_table, format);
        out += &against_published(&lines, &published, format);
    }
    out += &parts::pages(report, format);
    out += &agreement::pages(report, format);
    out += &privacy::paid(report, format);
    out += &privacy::pages(report, format);
    out += &findings::pages(report, format);
    out += &tails::pages(report, format);
    out += &entries::pages(report, format);
    out += &meetings::pages(report, format);
    out += &chain_table(report, format);
    if !report.failures.is_empty() {
        out += &heading("Failed cells", format);
        for (run, cell, error) in &report.failures {
            out += &format!("- {run}: {cell}: {error}\n");
        }
    }
    out
}

pub(super) fn heading(text: &str, format: Format) -> String {
    match format {
        Format::Markdown => format!("## {text}\n\n"),
        _ => format!("{text}\n"),
    }
}

pub(super) fn table(header: Vec<String>, rows: Vec<Vec<String>>, format: Format) -> String {
    let mut table = Table::new();
    table.load_style(if format == Format::Markdown {
        presets::ASCII_MARKDOWN
    } else {
        presets::UTF8_FULL_CONDENSED
    });
    table.set_header(header);
    table.add_rows(rows);
    for column in table.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{}\n\n", table.trim_fmt())
}

/// `mean ± standard error`, both with the decimals that give the error two digits.
pub(super) fn with_error(estimate: Estimate) -> String {
    let Estimate { mean, standard_error } = estimate;
    if standard_error.is_nan() || standard_error <= 0.0 {
        return number(mean);
    }
    let decimals = (1.0 - libm::log10(standard_error).floor()).clamp(0.0, 12.0) as usize;
    format!("{mean:.decimals$} ± {standard_error:.decimals$}")
}

pub(super) fn number(x: f64) -> String {
    if x == 0.0 || (1e-3..1e4).contains(&x.abs()) { format!("{x:.6}") } else { format!("{x:.3e}") }
}

/// The normalised L1 error: epsilon and level by method, with the published columns beside.
fn error_table(
    label: &Label,
    lines: &[&Line],
    published: &[&Published],
    on_table: bool,
    format: Format,
) -> String {
    let mut columns: Vec<&Label> = Vec::new();
    let mut rows: Vec<(f64, u32)> = Vec::new();
    for line in lines {
        if !columns.iter().any(|column| same_column(column, &line.label)) {
            columns.push(&line.label);
        }
        if !rows.contains(&(line.label.epsilon, line.level)) {
            rows.push((line.label.epsilon, line.level));
        }
    }
    rows.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut names: Vec<&str> = published.iter().map(|figure| figure.column.as_str()).collect();
    names.dedup();
    names.sort_unstable();
    names.dedup();
    let mut header = vec!["epsilon".to_owned(), "level".to_owned()];
    for column in &columns {
        let twice = columns
            .iter()
            .filter(|c| c.method == column.method && c.nonnegative == column.nonnegative)
            .count();
        let options = if twice > 1 {
            format!("\n{}", column.options_words().replace(',', "\n"))
        } else {
            String::new()
        };
        let sign = if column.nonnegative { " >= 0" } else { "" };
        header.push(format!("{}{sign}{options}", column.method));
    }
    header.extend(names.iter().map(|name| format!("{name}\npublished")));
    if format == Format::Markdown {
        header.iter_mut().for_each(|name| *name = name.replace('\n', " "));
    }
    let body = rows
        .iter()
        .map(|&(epsilon, level)| {
            let mut row = vec![epsilon.to_string(), level.to_string()];
            for column in &columns {
                let line = lines.iter().find(|line| {
                    same_column(column, &line.label) && line.label.epsilon == epsilon && line.level == level
                });
                row.push(line.map_or("-".into(), |line| {
                    let estimate = line.l1_normalised.estimate();
                    with_error(estimate)
                }));
            }
            for name in &names {
                let figure =
                    published.iter().find(|f| f.column == *name && f.epsilon == epsilon && f.level == level);
                row.push(figure.map_or("-".into(), |figure| number(figure.value)));
            }
            row
        })
        .collect();
    let delta = label.delta.map_or(String::new(), |delta| format!(", delta {delta:e}"));
    let counts: Vec<u64> = lines.iter().map(|line| line.l1_normalised.count()).collect();
    let (least, most) = (counts.iter().min().unwrap_or(&0), counts.iter().max().unwrap_or(&0));
    let replicates = if least == most { least.to_string() } else { format!("{least} to {most}") };
    let (sum, which) = if on_table {
        ("all cells / their number".to_owned(), format!("sensitivity {}{delta}", label.sensitivity))
    } else {
        (
            "a level / nodes of the whole tree".to_owned(),
            format!("sensitivity {}, split {}{delta}; level 1 is the root", label.sensitivity, label.split),
        )
    };
    heading(
        &format!(
            "Normalised L1 error of {}, {} noise: sum of |released - confidential| over {sum},\nmean ± standard error of \
             {replicates} replicates ({which})",
            label.run, label.law
        )
        .replace(if format == Format::Markdown { '\n' } else { '\0' }, " "),
        format,
    ) + &table(header, body, format)
}

/// How far each published figure lies from ours, and whether it scales as noise must.
fn against_published(lines: &[&Line], published: &[&Published], format: Format) -> String {
    if published.is_empty() {
        return String::new();
    }
    let mut rows = Vec::new();
    let mut notes = Vec::new();
    let mut keys: Vec<(&str, &str, u32)> =
        published.iter().map(|f| (f.column.as_str(), f.method.as_str(), f.level)).collect();
    keys.sort_unstable();
    keys.dedup();
    let mut epsilons: Vec<f64> = published.iter().map(|f| f.epsilon).collect();
    epsilons.sort_by(f64::total_cmp);
    epsilons.dedup();
    for (column, method, level) in keys {
        let ours = |epsilon: f64| {
            lines.iter().find(|line| {
                line.label.method == method
                    && (!line.label.nonnegative || method == "topdown")
                    && line.label.epsilon == epsilon
                    && line.level == level
            })
        };
        let theirs = |epsilon: f64| {
            published.iter().find(|f| f.column == column && f.level == level && f.epsilon == epsilon)
        };
        let mut row = vec![column.to_owned(), method.to_owned(), level.to_string()];
        for &epsilon in &epsilons {
            let (Some(line), Some(figure)) = (ours(epsilon), theirs(epsilon)) else {
                row.extend(["-".to_owned(), "-".to_owned(), "-".to_owned()]);
                continue;
            };
            let sd = line.l1_normalised.deviation();
            let z = (figure.value - line.l1_normalised.mean()) / sd;
            row.push(number(epsilon * figure.value));
            row.push(number(epsilon * line.l1_normalised.mean()));
            row.push(if z.is_finite() { format!("{z:+.1}") } else { "-".into() });
        }
        if let (Some(&low), Some(&high)) = (epsilons.first(), epsilons.last()) {
            let both = (theirs(low), theirs(high), ours(low), ours(high));
            if let (Some(their_low), Some(their_high), Some(our_low), Some(our_high)) = both {
                let their_factor = high * their_high.value / (low * their_low.value);
                let (a, b) = (our_high.l1_normalised.estimate(), our_low.l1_normalised.estimate());
                let our_factor = high * a.mean / (low * b.mean);
                let se = our_factor * libm::hypot(a.standard_error / a.mean, b.standard_error / b.mean);
                let spread = |line: &Line| line.l1_normalised.deviation() / line.l1_normalised.mean();
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
    let mut out = heading(
        "Published against ours: error × epsilon (the same for every epsilon if the error scales as 1/epsilon), and\nz = (published - our mean) / standard deviation of one of our releases",
        format,
    );
    out += &table(header, rows, format);
    for note in &notes {
        out += &format!("- {note}\n");
    }
    if !notes.is_empty() {
        out.push('\n');
    }
    out
}

fn chain_table(report: &Report, format: Format) -> String {
    if report.chains.is_empty() {
        return String::new();
    }
    let header = ["run", "law", "epsilon", "method", "options", "chains", "moves / step", "ess", "max R-hat"];
    let rows = report
        .chains
        .iter()
        .map(|line| {
            let label = &line.label;
            let or_dash = |x: f64, text: String| if x.is_nan() { "-".to_owned() } else { text };
            vec![
                label.run.clone(),
                label.law.clone(),
                label.epsilon.to_string(),
                format!("{}{}", label.method, if label.nonnegative { " >= 0" } else { "" }),
                label.options_words(),
                line.acceptance.count().to_string(),
                format!("{:.4}", line.acceptance.mean()),
                or_dash(line.ess, format!("{:.1}", line.ess)),
                or_dash(line.rhat, format!("{:.3}", line.rhat)),
            ]
        })
        .collect();
    heading(
        "Chains: effective sample size of the recorded second half (mean of the level where it is smallest), and the \
         largest rank-normalised split R-hat over the levels' L1 errors",
        format,
    ) + &table(header.map(str::to_owned).to_vec(), rows, format)
}
