//! Pages: what a reader is told, part by part, and how the parts are written for whom.

mod choice;
mod html;
mod latex;
mod markdown;
mod rows;
mod text;
mod words;

pub use crate::escape::{field, line, masked, place, shown};
pub use choice::Choice;
pub use html::{Head, Source, html};
pub use rows::{Column, Number, Pivot, distinct, grouped};
pub use text::{COLUMNS, listing, terminal};
pub use words::{
    brief, bytes, counted, data_column, duration, finite, number, replicates, thousands, with_error,
};

use crate::figure::Figure;

/// How a report is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For a terminal.
    Text,
    /// For a page.
    Markdown,
    /// One page that stands alone, for a browser.
    Html,
    /// Tables and figures for a paper; they want the packages booktabs, longtable and graphicx.
    Latex,
    /// The figures, each as a file of a folder.
    Svg,
    /// The first table of the study: of releases a line per cell and level, and per published figure; of meetings one per cell and t.
    Csv,
    /// All tables of summaries, with the manifests.
    Json,
}

/// Entries of a list in a summary.
const ENTRIES: usize = 20;
/// Headings of what a summary leaves out that it names at most.
const TITLES: usize = 8;

/// A table of words. The first columns say what a row is about, the others what is told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// The number of columns, from the first, that say what a row is about.
    pub keys: usize,
    /// Names of the columns; one may have several lines.
    pub header: Vec<String>,
    /// The cells, row by row.
    pub rows: Vec<Vec<String>>,
    /// Columns of errors: of the rows that only the last key tells apart, the smallest is the best.
    pub errors: Vec<usize>,
}

impl Table {
    /// A table of lines of words; the first `keys` columns say what a line is about.
    pub fn new<S: Into<String>>(
        keys: usize,
        header: impl IntoIterator<Item = S>,
        rows: Vec<Vec<String>>,
    ) -> Self {
        Self { keys, header: header.into_iter().map(Into::into).collect(), rows, errors: Vec::new() }
    }

    /// Whether a cell and all before it are as in the row above: it need not be said again, but for the last of what a row is about.
    pub fn is_said_above(&self, row: usize, column: usize) -> bool {
        row > 0 && column + 1 < self.keys && self.rows[row - 1][..=column] == self.rows[row][..=column]
    }

    /// Whether a column has numbers alone.
    pub fn numbers(&self) -> Vec<bool> {
        (0..self.header.len()).map(|i| self.rows.iter().all(|row| is_number(&row[i]))).collect()
    }
}

/// Whether a cell is a number, or stands where one would.
fn is_number(cell: &str) -> bool {
    let begins = |c: char| c.is_ascii_digit() || "+-−<>=.(".contains(c);
    cell.is_empty()
        || cell.starts_with(begins)
        || ["-", "unknown", "impossible", "failed", "inf", "NaN"].contains(&cell)
}

/// A part of a page. No text is broken to lines: that is done where it is written.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// What the parts behind it are about.
    Heading {
        /// The heading, in a few words.
        text: String,
        /// Whether a reader wants to see the parts behind it first.
        main: bool,
    },
    /// A table.
    Table(Table),
    /// A paragraph.
    Text(String),
    /// A list.
    List(Vec<String>),
    /// A figure; where none can be shown, the tables beside it say the same.
    Figure(Box<Figure>),
}

/// What a reader is told.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Page(Vec<Part>);

impl Page {
    /// A page with this heading.
    pub fn headed(heading: impl Into<String>) -> Self {
        Self(vec![Part::Heading { text: heading.into(), main: false }])
    }

    /// A page with this heading, for what a reader wants to see first.
    pub fn main(heading: impl Into<String>) -> Self {
        Self(vec![Part::Heading { text: heading.into(), main: true }])
    }

    /// Adds a table.
    pub fn table(mut self, table: Table) -> Self {
        self.0.push(Part::Table(table));
        self
    }

    /// Adds a table with a line for each row; the first `keys` columns say what it is about.
    pub fn listed<R>(self, keys: usize, rows: &[R], columns: &[Column<R>]) -> Self {
        self.table(Table::listed(keys, rows, columns))
    }

    /// Adds a table, in which what is the same in all of several rows is said once, below it, but for what a row is
    /// about.
    pub fn table_once(self, Table { keys, header, rows, .. }: Table) -> Self {
        let alike = |i: usize| i >= keys && rows.len() > 1 && rows.iter().all(|row| row[i] == rows[0][i]);
        let (once, columns): (Vec<usize>, Vec<usize>) = (0..header.len()).partition(|&i| alike(i));
        let told = once.iter().filter(|&&i| !rows[0][i].is_empty());
        let told: Vec<String> = told.map(|&i| format!("{}: {}", header[i], rows[0][i])).collect();
        let told =
            if told.is_empty() { String::new() } else { format!("Of all of them: {}.", told.join("; ")) };
        let some = |row: &Vec<String>| -> Vec<String> { columns.iter().map(|&i| row[i].clone()).collect() };
        self.table(Table::new(keys, some(&header), rows.iter().map(some).collect())).text(told)
    }

    /// Adds a paragraph, if there is anything to say.
    pub fn text(mut self, text: impl Into<String>) -> Self {
        let text = text.into();
        if !text.is_empty() {
            self.0.push(Part::Text(text));
        }
        self
    }

    /// The page, none of which a reader wants to see first.
    pub fn aside(mut self) -> Self {
        for part in &mut self.0 {
            if let Part::Heading { main, .. } = part {
                *main = false;
            }
        }
        self
    }

    /// Whether the page says nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a list, if there is anything to say.
    pub fn list(mut self, entries: Vec<String>) -> Self {
        if !entries.is_empty() {
            self.0.push(Part::List(entries));
        }
        self
    }

    /// Adds a figure; of one with more series than can be told apart all its parts.
    pub fn figure(mut self, figure: Figure) -> Self {
        self.0.extend(figure.parts().into_iter().map(|part| Part::Figure(Box::new(part))));
        self
    }

    /// The figures of the page.
    pub fn figures(&self) -> impl Iterator<Item = &Figure> {
        self.0.iter().filter_map(|part| if let Part::Figure(figure) = part { Some(&**figure) } else { None })
    }

    /// Numbers the later ones of figures that have one name.
    pub fn told_apart(mut self) -> Self {
        let mut names: Vec<String> = Vec::new();
        for part in &mut self.0 {
            let Part::Figure(figure) = part else { continue };
            let own = figure.name.clone();
            let mut number = 1;
            while names.contains(&figure.name) {
                number += 1;
                figure.name = format!("{own}-{number}");
            }
            names.push(figure.name.clone());
        }
        self
    }

    /// Adds the parts of another page.
    pub fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// A summary: what a reader wants to see first, with so many rows of tables in all; of the rest the headings. The
    /// first table is cut there, others are there whole or not. `rest`: what shows all.
    pub fn summary(&self, rows: usize, rest: &str) -> Self {
        let (mut page, mut others, mut left) = (Self::default(), Vec::new(), rows);
        for section in self.0.chunk_by(|_, next| !matches!(next, Part::Heading { .. })) {
            let height = |part: &Part| if let Part::Table(table) = part { table.rows.len() } else { 0 };
            let height: usize = section.iter().map(height).sum();
            if let Some(Part::Heading { text, main }) = section.first()
                && !(*main && (height <= left || left == rows))
            {
                others.push(text.as_str());
                continue;
            }
            for part in section {
                let table = match part {
                    Part::Table(table) => table,
                    Part::List(entries) if entries.len() > ENTRIES => {
                        let more = format!("and {} more", entries.len() - ENTRIES);
                        page = page.list(entries[..ENTRIES].iter().cloned().chain([more]).collect());
                        continue;
                    }
                    _ => {
                        page.0.push(part.clone());
                        continue;
                    }
                };
                let (here, more) = table.rows.split_at(left.min(table.rows.len()));
                left -= here.len();
                page.0.push(Part::Table(Table { rows: here.to_vec(), ..table.clone() }));
                if !more.is_empty() {
                    page = page.text(format!("… and {}", counted(more.len() as f64, "more row")));
                }
            }
        }
        let more = others.len().saturating_sub(TITLES);
        let mut others: Vec<String> = others.into_iter().take(TITLES).map(str::to_owned).collect();
        if more > 0 {
            others.push(format!("and {more} more"));
        }
        let behind = if others.is_empty() { String::new() } else { format!("All of it, by `{rest}`:") };
        page.text(behind).list(others)
    }

    /// The parts of the page.
    pub fn parts(&self) -> &[Part] {
        &self.0
    }

    /// The page for a terminal of so many columns: no line but a word that has no place to break it is longer.
    pub fn to_text(&self, width: usize) -> String {
        text::of(self, width)
    }

    /// The tables and figures of the page in LaTeX, for a paper.
    pub fn to_latex(&self) -> String {
        latex::of(self)
    }

    /// The page in markdown, in which nothing of others is a tag or a link.
    pub fn to_markdown(&self) -> String {
        markdown::of(self)
    }
}

impl FromIterator<Self> for Page {
    fn from_iter<I: IntoIterator<Item = Self>>(pages: I) -> Self {
        Self(pages.into_iter().flat_map(|page| page.0).collect())
    }
}
