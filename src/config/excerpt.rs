//! Texts with very long lines, as errors show them.

use crate::page::masked;
use std::ops::Range;

/// Bytes of a line that is shown whole. Labels beyond column 65,535 cannot be drawn.
const WIDEST: usize = 2000;
/// Bytes kept of a longer one: before a place in it, and in all.
const KEPT: (usize, usize) = (60, 200);

/// The text with its long lines cut, and the place in it: what is left of a long line begins a little before the place.
/// Then its true column in words, if that is another now.
pub(super) fn excerpt(text: &str, span: Range<usize>) -> (String, Range<usize>, String) {
    let text = &*masked(text);
    if text.lines().all(|line| line.len() <= WIDEST) {
        return (text.to_owned(), span, String::new());
    }
    let (mut short, mut place, mut at) = (String::new(), 0..0, 0);
    for line in text.split_inclusive('\n') {
        let within = |position: usize| (at..at + line.len()).contains(&position).then(|| position - at);
        let kept = if line.len() <= WIDEST {
            0..line.len()
        } else {
            // The end of the text is a place as well.
            let first = within(span.start.min(text.len() - 1)).unwrap_or(0).saturating_sub(KEPT.0);
            line.floor_char_boundary(first)..line.floor_char_boundary((first + KEPT.1).min(line.len()))
        };
        short += if kept.start > 0 { "…" } else { "" };
        let moved = |position: usize| short.len() + position.clamp(kept.start, kept.end) - kept.start;
        for (new, old) in [(&mut place.start, span.start), (&mut place.end, span.end)] {
            if old >= at {
                *new = moved(old - at);
            }
        }
        short += &line[kept.clone()];
        short += if kept.end < line.len() { "…\n" } else { "" };
        at += line.len();
    }
    let column = |text: &str| text.chars().rev().take_while(|&c| c != '\n').count() + 1;
    let (before, after) =
        (column(&text[..text.floor_char_boundary(span.start)]), column(&short[..place.start]));
    let note = if before == after { String::new() } else { format!(" (column {before} of the file)") };
    (short, place, note)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::read;
    use std::path::Path;

    #[test]
    fn long_lines_are_cut_around_the_place() {
        let shown = |text: &str, span: Range<usize>| {
            let (short, place, _) = excerpt(text, span);
            (short[place].to_owned(), short.len())
        };
        assert_eq!(shown("ab\ncd", 3..4), ("c".into(), 5));
        let long = format!("first\n{}HERE{}\nlast é", "é".repeat(40_000), "x".repeat(90_000));
        let end = long.len();
        assert_eq!(shown(&long, 80_006..80_010).0, "HERE");
        assert!(shown(&long, 80_006..80_010).1 < 300);
        assert_eq!(shown(&long, 1..3).0, "ir");
        assert_eq!(shown(&long, end - 7..end - 3).0, "last");
        assert_eq!(shown(&long, end..end).0, "");
        assert!(shown(&long, 2..end).0.starts_with("rst\n"));
        assert!(shown(&long, 3..80_008).0.len() < 300);
        let one = "x".repeat(90_000);
        assert_eq!((shown(&one, 90_000..90_000).0, shown(&one, 0..90_000).0.len()), (String::new(), 200));
    }

    /// An error at the end of a line of 70,000 columns is drawn, and so is one that spans it.
    #[test]
    fn errors_on_long_lines_are_printed() {
        let data = "[data]\ntable = \"t.csv\"\ncount = \"count\"\n";
        let grid = "[[grid]]\nepsilon = 1\nlaw = \"l1\"\nmethod = \"exact\"\n";
        let rows = format!("rows = [[{}], [1]]", vec!["1"; 70_000].join(", "));
        let texts = [
            (format!("name = \"{}\" 7", "x".repeat(70_000)), "column 70011"),
            (
                format!("name = \"n\"\nseed = 1\n{data}{grid}[[invariant]]\nkind = \"matrix\"\n{rows}\n"),
                "row 2 has 1 entries",
            ),
        ];
        for (text, wanted) in texts {
            let failure = read(Path::new("c.toml"), &text, &[]).unwrap_err();
            let shown = format!("{:?}", miette::Report::new(failure));
            assert!(shown.contains("c.toml") && shown.contains(wanted) && shown.len() < 4000, "{shown}");
        }
    }
}
