//! Pages: headings, tables and numbers as text or markdown.

use crate::diagnostics::Estimate;
use comfy_table::{CellAlignment, Table, presets};

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

/// A table, aligned to the right.
pub fn table(header: Vec<String>, rows: Vec<Vec<String>>, format: Format) -> String {
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
