//! Texts of a figure: how wide they are, where they are broken, and how they are written.

use crate::page::shown;

/// A width that nobody sees.
const HAIR: f64 = 1e-6;

/// The width of a text, at most, in fonts that are usual: that of DejaVu Sans, the widest of them.
pub(super) fn width(text: &str, font: f64) -> f64 {
    font * text.chars().map(advance).sum::<f64>()
}

/// The width of a letter for a font of size 1.
fn advance(letter: char) -> f64 {
    match letter {
        'i' | 'j' | 'l' | 'I' | ' ' | '.' | ',' | ':' | ';' | '\'' | '|' => 0.33,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '/' | '-' | '"' => 0.41,
        'm' | 'M' | 'W' | '%' | '@' | '…' => 1.0,
        'w' | '+' | '<' | '>' | '=' | '~' | '±' | '×' | '−' => 0.84,
        'A'..='Z' => 0.77,
        // Letters of most scripts, and those that are as wide as high.
        '\u{1100}'.. => 1.0,
        _ => 0.64,
    }
}

/// The lines of a text in so much room: broken behind a space or a sign between words; within a word, behind a hyphen or an
/// equals sign, or anywhere, only where it is too long for a line.
pub(super) fn wrapped(text: &str, font: f64, room: f64) -> Vec<String> {
    // Sums in another order differ in their last digits.
    let fits = |line: &str, more: &str| width(line, font) + width(more.trim_end(), font) <= room + HAIR;
    let mut lines: Vec<String> = Vec::new();
    for paragraph in text.split('\n') {
        let mut line = String::new();
        for word in paragraph.split_inclusive([' ', ',', '/', '_', '|']) {
            let parts: Vec<&str> =
                if fits("", word) { vec![word] } else { word.split_inclusive(['-', '=']).collect() };
            for part in parts {
                if !line.is_empty() && !fits(&line, part) {
                    lines.push(std::mem::take(&mut line));
                }
                for letter in part.chars() {
                    if !line.is_empty() && !fits(&line, &letter.to_string()) {
                        lines.push(std::mem::take(&mut line));
                    }
                    line.push(letter);
                }
            }
        }
        lines.push(line);
    }
    lines.into_iter().map(|line| line.trim_end().to_owned()).collect()
}

/// A place or size with one decimal.
pub(super) fn short(x: f64) -> String {
    let text = format!("{x:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".into() } else { text.to_owned() }
}

/// A text in which nothing is a tag.
pub(super) fn escaped(text: &str) -> String {
    shown(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nothing is cut, and no line is wider than its room, but where one letter is.
    #[test]
    fn lines_fit_and_say_all() {
        for text in [
            "hierarchical-mh steps=100000, proposal-scale=0.5 >= 0",
            "unbrokenunbrokenunbroken",
            "a\nb c",
            "",
            "市区町村",
        ] {
            for room in [1.0, 30.0, 80.0, 1e4] {
                let lines = wrapped(text, 12.0, room);
                let plain = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
                assert_eq!(plain(&lines.concat()), plain(text));
                assert!(
                    lines.iter().all(|line| width(line, 12.0) <= room + HAIR || line.chars().count() == 1),
                    "{lines:?}"
                );
            }
        }
        assert_eq!(wrapped("exact, epsilon 0.5", 10.0, 70.0), ["exact,", "epsilon 0.5"]);
        // Where the last word would fit but for the space before it.
        let room = width("epsilon0.5", 10.0);
        assert_eq!(wrapped("epsilon 0.5", 10.0, room), ["epsilon", "0.5"]);
        let broken = |room: &str| wrapped("a proposal-scale=2", 10.0, width(room, 10.0));
        assert_eq!(broken("proposal-scale=2"), ["a", "proposal-scale=2"]);
        // As wide as the room, to the last digit.
        for room in ["bluedown >= 0, integers", "aaa bbb, ccc", "0.1 0.2 0.3"] {
            assert_eq!(wrapped(room, 12.0, width(room, 12.0)), [room]);
        }
        assert_eq!(broken("a proposal-"), ["a proposal-", "scale=2"]);
    }
}
