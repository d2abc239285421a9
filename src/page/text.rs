//! Pages for a terminal.

use super::{Page, Part, Table, line, shown};
use std::ops::Range;
use textwrap::{WordSeparator, WordSplitter, WrapAlgorithm};
use unicode_width::UnicodeWidthStr;

/// Columns where nothing says how many there are.
pub const COLUMNS: usize = 100;
/// Columns below which no cell of a table is broken to lines.
const WORDS: usize = 24;

/// Columns of the terminal that standard output is; where it is none, what `COLUMNS` of the environment says, else 100.
pub fn terminal() -> usize {
    match rustix::termios::tcgetwinsize(std::io::stdout()) {
        Ok(size) if size.ws_col > 0 => size.ws_col.into(),
        _ => {
            let asked = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
            asked.filter(|&columns: &usize| columns > 0).unwrap_or(COLUMNS)
        }
    }
}

/// Writes a page for a terminal.
pub(super) fn of(page: &Page, width: usize) -> String {
    let entry = |text: &String| broken(&line(&format!("- {text}")), width, "  ") + "\n";
    let part = |part: &Part| match part {
        Part::Figure(_) => String::new(),
        Part::Heading { text, .. } => broken(&line(text), width, "") + "\n",
        Part::Table(table) => framed(table, width) + "\n",
        Part::Text(text) => broken(&line(text), width, "") + "\n\n",
        Part::List(entries) => entries.iter().map(entry).collect::<String>() + "\n",
    };
    page.parts().iter().map(part).collect()
}

/// Text that was escaped, on lines of so many columns; words stay whole.
fn broken(text: &str, width: usize, indent: &str) -> String {
    let options = textwrap::Options::new(width)
        .subsequent_indent(indent)
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .wrap_algorithm(WrapAlgorithm::FirstFit)
        .word_splitter(WordSplitter::NoHyphenation);
    textwrap::fill(text, options)
}

fn width(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.width() }
}

/// The width of every column.
pub(super) fn widths(rows: &[Vec<String>]) -> Vec<usize> {
    rows.iter().fold(Vec::new(), |mut widths, row| {
        widths.resize(widths.len().max(row.len()), 0);
        for (widest, cell) in widths.iter_mut().zip(row) {
            *widest = cell.split('\n').map(width).fold(*widest, usize::max);
        }
        widths
    })
}

/// Text with spaces, to the right or to the left.
pub(super) fn aligned(text: &str, to: usize, right: bool) -> String {
    let spaces = " ".repeat(to.saturating_sub(width(text)));
    if right { spaces + text } else { text.to_owned() + &spaces }
}

/// A table without lines, aligned to the left.
pub fn listing(rows: &[Vec<String>]) -> String {
    let rows: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|text| line(text).into_owned()).collect()).collect();
    let widths = widths(&rows);
    let listed = |row: &Vec<String>| {
        let cells =
            row.iter().zip(&widths).map(|(text, &width)| format!(" {} ", aligned(text, width, false)));
        cells.collect::<String>().trim_end().to_owned() + "\n"
    };
    rows.iter().map(listed).collect()
}

/// A table in a frame. One that is too wide has its long cells broken to lines; if that is not enough it comes in
/// several, below each other, each with the columns that say what a row is about.
fn framed(table: &Table, most: usize) -> String {
    let cells = |row: &Vec<String>| row.iter().map(|text| shown(text).into_owned()).collect();
    let mut lines: Vec<Vec<String>> = std::iter::once(&table.header).chain(&table.rows).map(cells).collect();
    let columns = table.header.len();
    let numbers = table.numbers();
    let mut widths = widths(&lines);
    let longest = |i: usize| lines.iter().flat_map(|row| row[i].split_whitespace()).map(width).max();
    let least = |i: usize| if numbers[i] { widths[i] } else { longest(i).unwrap_or(0).max(WORDS) };
    let least: Vec<usize> = (0..columns).map(least).collect();
    // Of columns with words the widest gives way.
    while widths.iter().map(|width| width + 3).sum::<usize>() >= most {
        let widest = (0..columns).filter(|&i| widths[i] > least[i]).max_by_key(|&i| widths[i]);
        let Some(i) = widest else { break };
        widths[i] -= 1;
    }
    for (cell, &to) in lines.iter_mut().flat_map(|row| row.iter_mut().zip(&widths)) {
        if cell.split('\n').any(|line| width(line) > to) {
            *cell = broken(cell, to, "");
        }
    }
    let keys = table.keys.min(columns);
    let mut out = String::new();
    let room = most.saturating_sub(1 + widths[..keys].iter().map(|width| width + 3).sum::<usize>());
    for others in shared(&widths[keys..], room) {
        let here: Vec<usize> = (0..keys).chain(others.map(|i| keys + i)).collect();
        out += &frame(table, &lines, &here, &widths, &numbers);
    }
    out
}

/// Columns of these widths in as few groups as there is room for, the widest group as narrow as it can be.
fn shared(widths: &[usize], room: usize) -> Vec<Range<usize>> {
    let within = |room: usize| {
        let (mut groups, mut used) = (vec![Range::default()], 0);
        for (i, width) in widths.iter().enumerate() {
            used += width + 3;
            match groups.last_mut() {
                Some(group) if used <= room || group.start == group.end => group.end = i + 1,
                _ => {
                    groups.push(i..i + 1);
                    used = width + 3;
                }
            }
        }
        groups
    };
    let fewest = within(room).len();
    let narrowest = (0..=room).find(|&room| within(room).len() == fewest);
    within(narrowest.unwrap_or(room))
}

/// Some columns of a table, of which `lines` has the header and the rows as they are shown.
fn frame(
    table: &Table,
    lines: &[Vec<String>],
    columns: &[usize],
    widths: &[usize],
    numbers: &[bool],
) -> String {
    let rule = |fill: &str, [left, between, right]: [&str; 3]| {
        let lines: Vec<String> = columns.iter().map(|&i| fill.repeat(widths[i] + 2)).collect();
        format!("{left}{}{right}\n", lines.join(between))
    };
    let mut out = rule("─", ["┌", "┬", "┐"]);
    for (number, row) in lines.iter().enumerate() {
        let said = |i: usize| number > 0 && table.is_said_above(number - 1, i);
        let text = |i: usize| if said(i) { "" } else { row[i].as_str() };
        let height = columns.iter().map(|&i| 1 + text(i).matches('\n').count()).max().unwrap_or(0);
        for line in 0..height {
            let part = |i: usize| text(i).split('\n').nth(line).unwrap_or_default();
            let cells = columns.iter().map(|&i| aligned(part(i), widths[i], numbers[i]));
            out += &format!("│ {} │\n", cells.collect::<Vec<_>>().join(" ┆ "));
        }
        if number == 0 {
            out += &rule("═", ["╞", "╪", "╡"]);
        }
    }
    out + &rule("─", ["└", "┴", "┘"])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(columns: usize, cell: &str) -> Page {
        let header: Vec<String> = (0..columns).map(|i| format!("c{i}")).collect();
        let row = |n: usize| {
            (0..columns).map(|i| if i < 2 { format!("k{}", n / 2) } else { cell.into() }).collect()
        };
        Page::headed("a heading").table(Table::new(2, header, (0..3).map(row).collect()))
    }

    /// Whatever the width, nothing is longer, and every cell is there.
    #[test]
    fn tables_fit() {
        for width in [40, 80, 100, 250] {
            for (columns, cell) in
                [(3, "1.5 ± 0.25"), (20, "1.5 ± 0.25"), (4, "some words that are long enough to be broken")]
            {
                let text = page(columns, cell).to_text(width);
                assert!(text.lines().all(|line| super::width(line) <= width), "{width}\n{text}");
                let said = text.replace(['\n', '│', '┆'], " ");
                let words = cell.split(' ').next().unwrap();
                assert_eq!(said.matches(words).count(), 3 * (columns - 2), "{width}\n{text}");
            }
        }
    }

    #[test]
    fn what_is_said_above_is_said_once() {
        let wanted = "\
            a heading\n\
            ┌────┬────┬────┐\n\
            │ c0 ┆ c1 ┆ c2 │\n\
            ╞════╪════╪════╡\n\
            │ k0 ┆ k0 ┆  7 │\n\
            │    ┆ k0 ┆  7 │\n\
            │ k1 ┆ k1 ┆  7 │\n\
            └────┴────┴────┘\n\n";
        assert_eq!(page(3, "7").to_text(80), wanted);
    }
}
