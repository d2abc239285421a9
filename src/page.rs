//! Pages: headings, tables and numbers as text or markdown.

use crate::diagnostics::Estimate;
use std::borrow::Cow;
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

/// Text of others (names in data, notes, paths) as a terminal may show it: control characters but the end of a line, and characters that
/// turn the direction of writing, are written out.
pub fn shown(text: &str) -> Cow<'_, str> {
    if !text.contains(acts) {
        return Cow::Borrowed(text);
    }
    let mut out = String::new();
    for c in text.chars() {
        if acts(c) { out.extend(c.escape_unicode()) } else { out.push(c) }
    }
    Cow::Owned(out)
}

/// The same in as many bytes, with question marks: for texts in which places are known.
pub fn masked(text: &str) -> Cow<'_, str> {
    let masks = |c: char| acts(c) && c != '\t' && c != '\r';
    match text.contains(masks) {
        false => Cow::Borrowed(text),
        true => {
            text.chars().map(|c| if masks(c) { "?".repeat(c.len_utf8()) } else { c.to_string() }).collect()
        }
    }
}

/// Whether a terminal does something else with it than to show it.
fn acts(c: char) -> bool {
    let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || (c.is_control() && c != '\n')
}

/// A page that is complete: nothing in it acts on the terminal, or on a reader of markdown as a tag or a link.
pub fn finished(page: &str, format: Format) -> String {
    let page = shown(page);
    if format != Format::Markdown {
        return page.into_owned();
    }
    let mut out = String::with_capacity(page.len());
    let mut before = ' ';
    let mut rest = page.chars().peekable();
    while let Some(c) = rest.next() {
        let tag = |next: &char| next.is_ascii_alphabetic() || "/!?".contains(*next);
        match c {
            '<' if rest.peek().is_some_and(tag) => out += "&lt;",
            '(' if before == ']' => out += "\\(",
            _ => out.push(c),
        }
        before = c;
    }
    out
}

/// Seconds in words.
pub fn duration(seconds: f64) -> String {
    const YEAR: f64 = 365.25 * 86400.0;
    match seconds {
        s if s < 100.0 => format!("{s:.0} s"),
        s if s < 6000.0 => format!("{:.0} min", s / 60.0),
        s if s < 2.0 * 86400.0 => format!("{:.0} h", s / 3600.0),
        s if s < 2.0 * YEAR => format!("{:.0} days", s / 86400.0),
        s if s < 100.0 * YEAR => format!("{:.0} years", s / YEAR),
        _ => "centuries".into(),
    }
}

/// A number of bytes in words.
pub fn bytes(bytes: f64) -> String {
    let units = ["bytes", "kB", "MB", "GB", "TB", "PB", "EB"];
    let place =
        (0..units.len() - 1).find(|&i| bytes < 999.5 * libm::pow(1e3, i as f64)).unwrap_or(units.len() - 1);
    let x = bytes / libm::pow(1e3, place as f64);
    match (place, x) {
        (0, x) => format!("{x:.0} bytes"),
        (_, x) if x < 9.95 => format!("{x:.1} {}", units[place]),
        (_, x) => format!("{x:.0} {}", units[place]),
    }
}

/// A number of things in words, for one that has its plural by an s.
pub fn counted(n: f64, what: &str) -> String {
    format!("{} {what}{}", thousands(n), if n == 1.0 { "" } else { "s" })
}

/// A number of rows in words: by groups of three digits, from a billion on rounded.
pub fn thousands(n: f64) -> String {
    let grouped = |n: f64| {
        let digits = format!("{n:.0}");
        let places = digits.len();
        let group = |(i, c): (usize, char)| {
            let comma = (i > 0 && (places - i) % 3 == 0).then_some(',');
            comma.into_iter().chain([c])
        };
        digits.chars().enumerate().flat_map(group).collect::<String>()
    };
    match n {
        n if n < 1e9 => grouped(n),
        n if n < 1e12 => format!("{:.1} billion", n / 1e9),
        n if n < 1e15 => format!("{:.1} trillion", n / 1e12),
        n => format!("{n:.0e}"),
    }
}

/// A cell of a table, in markdown on one line: see [`finished`].
fn cell(text: &str, format: Format) -> String {
    match format {
        Format::Markdown => shown(text).replace('|', "\\|").replace('\n', " "),
        _ => shown(text).into_owned(),
    }
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
    let rows: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|text| shown(text).into_owned()).collect()).collect();
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
    let cells = |row: Vec<String>| -> Vec<String> { row.iter().map(|text| cell(text, format)).collect() };
    let (header, rows) = (cells(header), rows.into_iter().map(cells).collect::<Vec<_>>());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_words() {
        let all = [0.0, 99.4, 150.0, 7200.0, 260000.0, 3e9, 1e18].map(duration);
        assert_eq!(all, ["0 s", "99 s", "2 min", "2 h", "3 days", "95 years", "centuries"]);
        let all = [0.0, 999.0, 1234.0, 45_600_000.0, 9.96e9, 2e22].map(bytes);
        assert_eq!(all, ["0 bytes", "999 bytes", "1.2 kB", "46 MB", "10 GB", "20000 EB"]);
        let all = [0.0, 999.0, 1000.0, 1_234_567.0, 2.5e9, 1.2e13, 3e18].map(thousands);
        assert_eq!(all, ["0", "999", "1,000", "1,234,567", "2.5 billion", "12.0 trillion", "3e18"]);
    }

    #[test]
    fn nothing_of_others_acts_on_a_reader() {
        assert_eq!(shown("a\x1b[31mb\u{202e}\u{9b}\n"), "a\\u{1b}[31mb\\u{202e}\\u{9b}\n");
        assert!(matches!(shown("±, é, \n"), Cow::Borrowed(_)));
        let hostile = "<script>a|b</script> [l](http://x) 1 < 2 <= 3";
        assert_eq!(finished(hostile, Format::Text), hostile);
        let markdown = finished(hostile, Format::Markdown);
        assert_eq!(markdown, "&lt;script>a|b&lt;/script> [l]\\(http://x) 1 < 2 <= 3");
        let page = table(vec!["h".into()], vec![vec!["a|b\nc\x07".into()]], Format::Markdown);
        assert_eq!(page, "|           h |\n|-------------|\n| a\\|b c\\u{7} |\n\n");
    }
}
