//! Text of others, such as names in data and notes, so that it acts on nobody who reads it: on a terminal [`shown`] and
//! [`line`], in excerpts of files [`masked`], in files of values [`field`]. What markdown, LaTeX and HTML make of signs
//! is escaped where those are written, on top of it.

use std::borrow::Cow;
use std::path::Path;

/// Text as a terminal may show it: control characters but the end of a line, and characters that
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

/// Text as a terminal may show it, on one line: as by [`shown`], and ends of lines are written out, too.
pub fn line(text: &str) -> Cow<'_, str> {
    match shown(text) {
        text if text.contains('\n') => Cow::Owned(text.replace('\n', "\\u{a}")),
        text => text,
    }
}

/// A path as [`line()`] shows it.
pub fn place(path: &Path) -> String {
    line(&path.display().to_string()).into_owned()
}

/// Text as a terminal may show it, in as many bytes, with question marks for what is not shown: for texts in which
/// places are known. A carriage return stays where it is a part of the end of a line.
pub fn masked(text: &str) -> Cow<'_, str> {
    let ends = |at: usize| text.as_bytes().get(at + 1) == Some(&b'\n');
    let masks = |(at, c): (usize, char)| acts(c) && c != '\t' && !(c == '\r' && ends(at));
    if !text.char_indices().any(masks) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        if masks((at, c)) { out += &"?".repeat(c.len_utf8()) } else { out.push(c) }
    }
    Cow::Owned(out)
}

/// Text as a value of a CSV file that a spreadsheet may open: on one line as by [`line()`], and no formula. What begins
/// as one, and is no number, stands behind an apostrophe.
pub fn field(text: &str) -> Cow<'_, str> {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']) && text.parse::<f64>().is_err();
    if formula { Cow::Owned(format!("'{}", line(text))) } else { line(text) }
}

/// Whether a terminal does something else with it than to show it.
fn acts(c: char) -> bool {
    let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || (c.is_control() && c != '\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_others_acts_on_a_terminal() {
        assert_eq!(shown("a\x1b[31mb\u{202e}\u{9b}\n"), "a\\u{1b}[31mb\\u{202e}\\u{9b}\n");
        assert!(matches!(shown("±, é, \n"), Cow::Borrowed(_)));
        assert_eq!(line("a\rb\nc\r\n"), "a\\u{d}b\\u{a}c\\u{d}\\u{a}");
        assert_eq!(masked("a\rb\r\nc\u{9b}\r"), "a?b\r\nc???");
    }

    #[test]
    fn fields_are_one_line_and_no_formula() {
        for (text, wanted) in [
            ("-1.5", "-1.5"),
            ("=1", "'=1"),
            ("@SUM", "'@SUM"),
            ("\r=1", "'\\u{d}=1"),
            ("a\nb", "a\\u{a}b"),
            ("\x1b[31m", "\\u{1b}[31m"),
        ] {
            assert_eq!(field(text), wanted);
        }
    }
}
