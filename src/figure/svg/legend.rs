//! The legend: the signs and lines of series, with their names. It grows with them.

use super::layout::Layout;
use super::style::{INK, Style};
use super::text::{width, wrapped};
use super::{Look, label};

/// The entries of a legend: their places and lines.
pub(super) struct Entries {
    entries: Vec<Entry>,
    /// Where the legend ends.
    pub bottom: f64,
}

/// The left upper corner of an entry, and the lines of its name.
struct Entry {
    x: f64,
    y: f64,
    lines: Vec<String>,
}

/// The width of what stands before a name, in letters.
const SAMPLE: f64 = 3.0;
/// The room between two columns, in letters.
const BETWEEN: f64 = 1.5;

impl Entries {
    /// Where the names of series stand below `top`; a single series needs no legend.
    pub(super) fn of(names: &[&str], Look { width: whole, font, .. }: Look, top: f64) -> Self {
        let mut entries: Vec<Entry> = Vec::new();
        if names.len() < 2 {
            return Self { entries, bottom: top };
        }
        let lines: Vec<Vec<String>> =
            names.iter().map(|name| wrapped(name, font, whole - (2.0 + SAMPLE) * font)).collect();
        let widest = lines.iter().flatten().map(|line| width(line, font)).fold(0.0, f64::max);
        // Below each other in columns.
        let column = (SAMPLE + BETWEEN) * font + widest;
        let across = (((whole - 2.0 * font + BETWEEN * font) / column) as usize).clamp(1, names.len());
        let mut y = top + 0.4 * font;
        for lines in lines.chunks(across) {
            let most = lines.iter().map(Vec::len).max().unwrap_or(1);
            let entry = |(i, lines): (usize, &Vec<String>)| Entry {
                x: font + i as f64 * column,
                y,
                lines: lines.clone(),
            };
            entries.extend(lines.iter().enumerate().map(entry));
            y += row(most, font);
        }
        Self { entries, bottom: y }
    }
}

/// The height of a row with so many lines.
fn row(lines: usize, font: f64) -> f64 {
    font * (1.25 * lines as f64 + 0.35)
}

pub(super) fn draw(out: &mut String, place: &Layout, styles: &[Style], names: &[&str], look: Look) {
    if names.len() < 2 {
        return;
    }
    let font = look.font;
    for (entry, style) in place.legend.entries.iter().zip(styles) {
        let middle = entry.y + 0.65 * font;
        if style.line {
            style.line(out, &[(entry.x, middle), (entry.x + 2.4 * font, middle)]);
        }
        style.sign(out, (entry.x + 1.2 * font, middle), 0.35 * font);
        for (i, line) in entry.lines.iter().enumerate() {
            let at = (entry.x + SAMPLE * font, entry.y + font * (1.0 + 1.25 * i as f64));
            label(out, at, line, &format!("fill=\"{INK}\""));
        }
    }
}
