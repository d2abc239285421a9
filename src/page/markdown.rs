//! Pages in markdown.

use super::text::{aligned, widths};
use super::{Page, Part, Table, shown};

/// Writes a page in markdown.
pub(super) fn of(page: &Page) -> String {
    let part = |part: &Part| match part {
        Part::Figure(_) => String::new(),
        Part::Heading { text, .. } => format!("## {}\n", line(text)),
        Part::Table(table) => rows(table),
        Part::Text(text) => format!("{}\n", line(text)),
        Part::List(entries) => entries.iter().map(|entry| format!("- {}\n", line(entry))).collect(),
    };
    page.parts().iter().filter(|part| !matches!(part, Part::Figure(_))).map(|one| part(one) + "\n").collect()
}

/// What stands for nothing, and parts what readers of markdown would take for an address or a name.
const NOTHING: &str = "<!-- -->";

/// Text on one line, in which nothing is a tag or a link: also no address that stands bare, of a page (`http://`, `www.`) or of a person
/// (`@`).
fn line(text: &str) -> String {
    let text = shown(text).replace('\n', " ");
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        let rest = &text[at + c.len_utf8()..];
        let tag = |next: char| next.is_ascii_alphabetic() || "/!?".contains(next);
        match c {
            '<' if rest.starts_with(tag) => out += "&lt;",
            '(' if before == ']' => out += "\\(",
            ':' if rest.starts_with("//") => out.extend([":", NOTHING]),
            '@' if rest.starts_with(char::is_alphanumeric) => out.extend(["@", NOTHING]),
            '.' if out.len() >= 3 && out.as_bytes()[out.len() - 3..].eq_ignore_ascii_case(b"www") => {
                out.extend([NOTHING, "."]);
            }
            _ => out.push(c),
        }
        before = c;
    }
    out
}

/// Text of a cell, escaped as by [`line()`], in which a bar does not end the cell. Behind a backslash another one would
/// not keep a bar from ending it.
fn cell(text: &str) -> String {
    line(text).replace("\\|", "\\&#124;").replace('|', "\\|")
}

fn rows(table: &Table) -> String {
    let cells = |row: &Vec<String>| row.iter().map(|text| cell(text)).collect();
    let lines: Vec<Vec<String>> = std::iter::once(&table.header).chain(&table.rows).map(cells).collect();
    let widths = widths(&lines);
    let mut out = String::new();
    for (number, row) in lines.iter().enumerate() {
        let cells = row.iter().zip(&widths).map(|(cell, &width)| aligned(cell, width, true));
        out += &format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "));
        if number == 0 {
            let rules: Vec<String> = widths.iter().map(|width| "-".repeat(width + 2)).collect();
            out += &format!("|{}|\n", rules.join("|"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_others_acts_on_a_reader() {
        let hostile = "<script>a|b</script> [l](http://x) 1 < 2 <= 3";
        assert_eq!(line(hostile), "&lt;script>a|b&lt;/script> [l]\\(http:<!-- -->//x) 1 < 2 <= 3");
        assert_eq!(line("WWW.x.org a@b.org 3 @ 4"), "WWW<!-- -->.x.org a@<!-- -->b.org 3 @ 4");
        assert_eq!(cell("a\\|b|c"), "a\\&#124;b\\|c");
        let page = Page::default().table(Table::new(1, ["h"], vec![vec!["a|b\nc\x07".into()]]));
        assert_eq!(of(&page), "|           h |\n|-------------|\n| a\\|b c\\u{7} |\n\n");
    }
}
