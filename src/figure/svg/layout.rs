//! Where the parts of a figure are. Texts are broken to lines, and never cut: what is around them grows.

use super::Look;
use super::legend;
use super::text::{width, wrapped};
use crate::figure::axis::{Range, words};
use crate::figure::{Figure, Kind, Scale};

/// Panels beside each other at most, and the least width of one of them, in letters.
const ACROSS: usize = 3;
const LEAST: f64 = 11.0;
/// The room of names beside the panels, at most, as a share of the width.
const NAMES: f64 = 0.4;

/// Where things are, in pixels.
pub(super) struct Layout {
    /// Lines of the title, of the label of the axis x, and of what stands below.
    pub title: Vec<String>,
    pub x_label: Vec<String>,
    pub note: Vec<String>,
    pub legend: legend::Entries,
    /// By panel, the lines of its title.
    pub titles: Vec<Vec<String>>,
    /// The names of the axis y, in lines.
    pub names: Vec<Vec<String>>,
    /// The ranges of both axes, and their ticks.
    pub x: Range,
    pub y: Range,
    pub x_ticks: Vec<f64>,
    pub y_ticks: Vec<f64>,
    /// Left of the panels; above the first of them; below the last, ticks included.
    pub left: f64,
    pub top: f64,
    pub below: f64,
    /// Width and height of a panel with its margins, and without.
    pub step: (f64, f64),
    pub panel: (f64, f64),
    pub across: usize,
    pub height: f64,
}

impl Layout {
    pub(super) fn of(figure: &Figure, look: Look, series: &[&str]) -> Self {
        let Look { font, .. } = look;
        let (x, y) = figure.ranges();
        let inner = look.width - 2.0 * font;
        let title = if look.titled { wrapped(&figure.title, 1.08 * font, inner) } else { Vec::new() };
        let legend = legend::Entries::of(
            series,
            look,
            if title.is_empty() { 0.0 } else { font * (0.6 + 1.3 * title.len() as f64) },
        );
        let names: Vec<Vec<String>> = match &figure.y.scale {
            Scale::Names(names) => names.iter().map(|name| wrapped(name, font, NAMES * look.width)).collect(),
            _ => Vec::new(),
        };
        let band = band(&names, series.len(), font);
        let is_wide = names.is_empty()
            && figure.panels.iter().flat_map(|panel| &panel.series).any(|series| series.kind == Kind::Boxes);
        let height = match names.len() {
            0 if is_wide => 0.55 * look.height,
            0 => look.height,
            n => band * n as f64 + 0.5 * font,
        };
        let y_ticks =
            if names.is_empty() { y.ticks(((height / (2.5 * font)) as usize).min(8)) } else { Vec::new() };
        let widest = match names.is_empty() {
            true => y_ticks.iter().map(|tick| width(&words(*tick), font)).fold(0.0, f64::max),
            false => names.iter().flatten().map(|line| width(line, font)).fold(0.0, f64::max),
        };
        let label = if figure.y.label.is_empty() { 0.0 } else { 1.8 * font };
        let left = label + widest + font;
        let gap = 1.8 * font;
        let panels = figure.panels.len().max(1);
        // Boxes along the axis x want width.
        let most = match is_wide {
            true => 1 + usize::from(panels > ACROSS),
            false => ACROSS,
        };
        let most = (((look.width - left) / (LEAST * font)) as usize).clamp(1, most.min(panels));
        // As many in every row, as far as that is possible.
        let rows = panels.div_ceil(most);
        let across = panels.div_ceil(rows);
        let step = (look.width - left - 0.3 * font) / across as f64;
        let titles: Vec<Vec<String>> =
            figure.panels.iter().map(|panel| title_of(&panel.title, font, step - gap)).collect();
        let lines = titles.iter().map(Vec::len).max().unwrap_or(0);
        let head = if lines == 0 { 0.3 * font } else { font * (0.5 + 1.3 * lines as f64) };
        let step = (step, height + head + 2.4 * font);
        let top = legend.bottom + head + 0.4 * font;
        let below = top - head + rows as f64 * step.1;
        let x_label = wrapped(&figure.x.label, font, inner);
        let mut note = figure.note.clone();
        if x.has_zero() || y.has_zero() {
            let between = if note.is_empty() { "" } else { " " };
            note += &format!("{between}0, which has no logarithm, stands apart at the edge.");
        }
        let note = if note.is_empty() { Vec::new() } else { wrapped(&note, font, inner) };
        let under = 0.8 + 1.3 * (x_label.len() + note.len()) as f64 + if note.is_empty() { 0.0 } else { 0.6 };
        let x_ticks = spread(&x, step.0 - gap, font);
        Self {
            title,
            x_label,
            // Whole pixels, so that the paper ends where the picture does.
            height: (below + under * font).ceil(),
            note,
            legend,
            titles,
            names,
            x,
            y,
            x_ticks,
            y_ticks,
            left,
            top,
            below,
            step,
            panel: (step.0 - gap, height),
            across,
        }
    }

    /// The left upper corner of a panel.
    pub(super) fn corner(&self, panel: usize) -> (f64, f64) {
        let (column, row) = (panel % self.across, panel / self.across);
        (self.left + column as f64 * self.step.0, self.top + row as f64 * self.step.1)
    }
}

/// The lines of a panel's title; none of an empty one.
fn title_of(title: &str, font: f64, room: f64) -> Vec<String> {
    if title.is_empty() { Vec::new() } else { wrapped(title, 1.08 * font, room) }
}

/// The height of a name on the axis y: it holds its lines, and the signs of all series below each other.
fn band(names: &[Vec<String>], series: usize, font: f64) -> f64 {
    let lines = names.iter().map(Vec::len).max().unwrap_or(1) as f64;
    (1.2 * font * lines + 0.5 * font).max(apart(font) * series as f64 + 0.7 * font)
}

/// How far the signs of two series at one name are apart.
pub(super) fn apart(font: f64) -> f64 {
    0.55 * font
}

/// Ticks of an axis of this length whose words do not touch each other.
fn spread(range: &Range, length: f64, font: f64) -> Vec<f64> {
    let half = |tick: f64| 0.5 * width(&words(tick), font);
    let touch = |ticks: &[f64]| {
        ticks.windows(2).any(|pair| {
            let [a, b] = [pair[0], pair[1]].map(|tick| range.place(tick).unwrap_or(0.0) * length);
            b - a < half(pair[0]) + half(pair[1]) + 0.5 * font
        })
    };
    let mut most = 7;
    loop {
        let ticks = range.ticks(most);
        if most <= 2 || !touch(&ticks) {
            return ticks;
        }
        most -= 1;
    }
}
