//! Pages: headings, tables and numbers as text or markdown.

use crate::diagnostics::Estimate;
use unicode_width::UnicodeWidthStr;

/// How a report is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For a terminal.
    Text,
    /// For a page.
    Markdown,
    /// The first table of the study: of releases a line per cell and level, and per published figure; of meetings one per cell and t.
    Csv,
    /// All tables of summaries, with the manifests.
    Json,
}

/// A heading.
pub fn heading(text: &str, format: Format) -> String {
    match format {
        Format::Markdown => format!("## {text}\n\n"),
        _ => format!("{text}\n"),
    }
}

fn width(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.width() }
}

/// The width of every column.
fn widths<'a>(rows: impl Iterator<Item = &'a Vec<String>>) -> Vec<usize> {
    rows.fold(Vec::new(), |mut widths, row| {
        widths.resize(widths.len().max(row.len()), 0);
        for (widest, cell) in widths.iter_mut().zip(row) {
            *widest = cell.split('\n').map(width).fold(*widest, usize::max);
        }
        widths
    })
}

/// A table without lines, aligned to the left.
pub fn listing(rows: &[Vec<String>]) -> String {
    let widths = widths(rows.iter());
    let line = |row: &Vec<String>| {
        let cell =
            |(text, widest): (&String, &usize)| format!(" {text}{} ", " ".repeat(widest - width(text)));
        let line: String = row.iter().zip(&widths).map(cell).collect();
        line.trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

/// A table, aligned to the right; a cell may have several lines.
pub fn table(header: Vec<String>, rows: Vec<Vec<String>>, format: Format) -> String {
    let widths = widths(std::iter::once(&header).chain(&rows));
    let rule = |fill: &str, [left, between, right]: [&str; 3]| {
        let lines: Vec<String> = widths.iter().map(|width| fill.repeat(width + 2)).collect();
        format!("{left}{}{right}\n", lines.join(between))
    };
    let [side, between, top, below, bottom] = match format {
        Format::Markdown => ["|", "|", "", &rule("-", ["|"; 3]), ""],
        _ => {
            ["│", "┆", &rule("─", ["┌", "┬", "┐"]), &rule("═", ["╞", "╪", "╡"]), &rule("─", ["└", "┴", "┘"])]
        }
    };
    let mut out = top.to_owned();
    for (number, row) in std::iter::once(&header).chain(&rows).enumerate() {
        let height = row.iter().map(|cell| 1 + cell.matches('\n').count()).max().unwrap_or(0);
        for line in 0..height {
            for (column, (cell, &widest)) in row.iter().zip(&widths).enumerate() {
                let text = cell.split('\n').nth(line).unwrap_or_default();
                out += if column == 0 { side } else { between };
                out.extend(std::iter::repeat_n(' ', 1 + widest - width(text)));
                out += text;
                out.push(' ');
            }
            out += side;
            out.push('\n');
        }
        if number == 0 {
            out += below;
        }
    }
    out + bottom + "\n"
}

/// `mean ± standard error`, both with the decimals that give the error two digits.
pub fn with_error(estimate: Estimate) -> String {
    let Estimate { mean, standard_error } = estimate;
    if standard_error.is_nan() || standard_error <= 0.0 {
        return number(mean);
    }
    let decimals = (1.0 - libm::log10(standard_error).floor()).clamp(0.0, 12.0) as usize;
    format!("{mean:.decimals$} ± {standard_error:.decimals$}")
}

/// A number with six decimals, or in scientific notation.
pub fn number(x: f64) -> String {
    if x == 0.0 || (1e-3..1e4).contains(&x.abs()) { format!("{x:.6}") } else { format!("{x:.3e}") }
}

/// A number that a table can hold.
pub fn finite(x: f64) -> Option<f64> {
    x.is_finite().then_some(x)
}
