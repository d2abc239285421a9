//! How series are told apart: each has a colour, and a sign or a dash of its own. What is drawn has its colours as
//! attributes, so that programs that know no style sheets draw the same.

use super::text::short;
use crate::figure::{Figure, Kind};
use std::fmt::Write;

/// Series of a figure that can be told apart, at most: each has a sign of its own.
pub const SERIES: usize = 12;

/// Colours of series (after Okabe and Ito): on light paper, and on dark.
const COLOURS: [(&str, &str); 8] = [
    ("#0060a0", "#5db4f0"),
    ("#c04a00", "#f09a50"),
    ("#007a5a", "#3fc79c"),
    ("#a8437f", "#e79ac4"),
    ("#7a6a00", "#e6d84a"),
    ("#2f6f8f", "#8fd0ea"),
    ("#505a66", "#b3bcc7"),
    ("#8a1f1f", "#ff8f8f"),
];
/// Colours of all else, on light paper.
pub(super) const INK: &str = "#1b1f24";
pub(super) const FAINT: &str = "#59626d";
pub(super) const GRID: &str = "#d3d8de";
pub(super) const PAPER: &str = "#ffffff";
/// Each of these colours, with the one in its place on dark paper.
const DARK: [(&str, &str); 4] = [(INK, "#e3e6ea"), (FAINT, "#a3acb7"), (GRID, "#3a424c"), (PAPER, "#14171b")];

/// Dashes of lines: so many lines can be told apart without signs.
const DASHES: [&str; 6] = ["", "7 3", "2 3", "9 3 2 3", "16 4", "9 3 2 3 2 3"];

/// Rules of CSS for a page that holds figures: their colours where the reader's system is dark. Rules of a page go
/// before attributes.
pub fn dark() -> String {
    let rule = |(light, dark): &(&str, &str)| {
        format!(
            "figure svg [fill=\"{light}\"] {{ fill: {dark}; }}\nfigure svg [stroke=\"{light}\"] {{ stroke: {dark}; }}\n"
        )
    };
    let rules: String = COLOURS.iter().chain(&DARK).map(rule).collect();
    format!("@media screen and (prefers-color-scheme: dark) {{\n{rules}}}\n")
}

/// How a series is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Style {
    pub colour: &'static str,
    dash: &'static str,
    /// The number of its sign, if it has any.
    sign: Option<usize>,
    /// Whether it has a line.
    pub line: bool,
    /// Whether its line has signs here and there.
    pub signed_line: bool,
}

/// The styles of the series by their names: no two share both sign and dash, up to [`SERIES`] of them.
pub(super) fn styles(figure: &Figure, names: &[&str]) -> Vec<Style> {
    let of = |name: &str| {
        let name = name.to_owned();
        figure.panels.iter().flat_map(|panel| &panel.series).filter(move |series| series.name == name)
    };
    let is_line = |name: &str| of(name).any(|series| series.kind == Kind::Line);
    let (x, y) = figure.ranges();
    // What stands apart needs a sign.
    let stands_apart = |name: &str| {
        of(name)
            .flat_map(|series| &series.marks)
            .any(|mark| mark.x == 0.0 && x.has_zero() || mark.y == 0.0 && y.has_zero())
    };
    let many = names.iter().filter(|name| is_line(name)).count() > DASHES.len();
    let (mut signs, mut dashes) = (0.., 0..);
    // What belongs to another series, as `exact, closed form` to `exact`, has its colour.
    let mut colours: Vec<usize> = Vec::new();
    let mut families = 0;
    for (i, name) in names.iter().enumerate() {
        let is_of = |other: &&str| name.strip_prefix(other).is_some_and(|rest| rest.starts_with(", "));
        let family = names[..i].iter().position(is_of).map(|other| colours[other]);
        colours.push(family.unwrap_or(families));
        families += usize::from(family.is_none());
    }
    let style = |(i, name): (usize, &&str)| {
        let plain = is_line(name);
        let line = plain || of(name).any(|series| series.kind == Kind::DottedLine);
        let has_sign = !plain || many || stands_apart(name);
        Style {
            colour: COLOURS[colours[i] % COLOURS.len()].0,
            dash: if line { DASHES[dashes.next().unwrap_or(0) % DASHES.len()] } else { "" },
            sign: if has_sign { signs.next() } else { None },
            line,
            signed_line: plain && many,
        }
    };
    names.iter().enumerate().map(style).collect()
}

impl Style {
    /// Draws a line.
    pub(super) fn line(&self, out: &mut String, points: &[(f64, f64)]) {
        let dash =
            if self.dash.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{}\"", self.dash) };
        let _ = writeln!(
            out,
            "<path fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\"{dash} d=\"{}\"/>",
            self.colour,
            path(points)
        );
    }

    /// Draws a line without dashes, as of an interval.
    pub(super) fn stroke(&self, out: &mut String, points: &[(f64, f64)]) {
        Self { dash: "", ..*self }.line(out, points);
    }

    /// Draws the sign, if there is one: every second is filled.
    pub(super) fn sign(&self, out: &mut String, (x, y): (f64, f64), r: f64) {
        let Some(number) = self.sign.map(|sign| sign % SERIES) else { return };
        let polygon = |corners: &[(f64, f64)]| {
            let corners: Vec<(f64, f64)> = corners.iter().map(|(a, b)| (x + a * r, y + b * r)).collect();
            format!("<path d=\"{}z\"", path(&corners))
        };
        let strokes = |strokes: [[(f64, f64); 2]; 2]| {
            let strokes = strokes.map(|ends| path(&ends.map(|(a, b)| (x + a * r, y + b * r))));
            format!("<path d=\"{}\"", strokes.concat())
        };
        let circle = || format!("<circle cx=\"{}\" cy=\"{}\" r=\"{}\"", short(x), short(y), short(r));
        let square = || polygon(&[(-0.85, -0.85), (0.85, -0.85), (0.85, 0.85), (-0.85, 0.85)]);
        let up = || polygon(&[(0.0, -1.1), (1.1, 0.8), (-1.1, 0.8)]);
        let down = || polygon(&[(0.0, 1.1), (1.1, -0.8), (-1.1, -0.8)]);
        let diamond = || polygon(&[(0.0, -1.2), (1.2, 0.0), (0.0, 1.2), (-1.2, 0.0)]);
        let (shape, fill) = match number {
            0 => (circle(), PAPER),
            1 => (square(), self.colour),
            2 => (up(), PAPER),
            3 => (diamond(), self.colour),
            4 => (strokes([[(-0.9, -0.9), (0.9, 0.9)], [(0.9, -0.9), (-0.9, 0.9)]]), "none"),
            5 => (down(), self.colour),
            6 => (square(), PAPER),
            7 => (circle(), self.colour),
            8 => (diamond(), PAPER),
            9 => (strokes([[(-1.1, 0.0), (1.1, 0.0)], [(0.0, -1.1), (0.0, 1.1)]]), "none"),
            10 => (down(), PAPER),
            _ => (up(), self.colour),
        };
        let _ = writeln!(out, "{shape} fill=\"{fill}\" stroke=\"{}\" stroke-width=\"1.4\"/>", self.colour);
    }
}

/// The commands of a path through some points.
pub(super) fn path(points: &[(f64, f64)]) -> String {
    let part = |(i, (x, y)): (usize, &(f64, f64))| {
        format!("{}{} {}", if i == 0 { "M" } else { "L" }, short(*x), short(*y))
    };
    points.iter().enumerate().map(part).collect()
}
