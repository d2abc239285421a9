//! Text of others, such as names in data and notes, so that it acts on nobody who reads it.

use std::borrow::Cow;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_others_acts_on_a_terminal() {
        assert_eq!(shown("a\x1b[31mb\u{202e}\u{9b}\n"), "a\\u{1b}[31mb\\u{202e}\\u{9b}\n");
        assert!(matches!(shown("±, é, \n"), Cow::Borrowed(_)));
    }
}
