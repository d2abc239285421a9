//! Figures as SVG: the one look of all of them. The same figure gives the same bytes.

mod panel;

use super::{Figure, Kind, Scale};
use crate::page::shown;
use std::fmt::Write;

/// The sizes of a figure and its parts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// The width of the whole figure, in pixels.
    pub width: f64,
    /// The height of a panel, in pixels; with names on the axis y it follows from them.
    pub height: f64,
    /// The size of letters, in pixels.
    pub font: f64,
}

impl Default for Look {
    fn default() -> Self {
        Self { width: 760.0, height: 320.0, font: 12.0 }
    }
}

/// Colours of series (Okabe and Ito), darker on light and lighter on dark; with signs and dashes nothing is told by colour alone.
const COLOURS: [(&str, &str); 8] = [
    ("#0060a0", "#5db4f0"),
    ("#c04a00", "#f09a50"),
    ("#007a5a", "#3fc79c"),
    ("#a8437f", "#e79ac4"),
    ("#7a6a00", "#e6d84a"),
    ("#2f6f8f", "#8fd0ea"),
    ("#59626d", "#b3bcc7"),
    ("#8a1f1f", "#ff8f8f"),
];
const DASHES: [&str; 4] = ["none", "6 3", "2 3", "8 3 2 3"];
/// Panels beside each other at most.
const ACROSS: usize = 3;

/// Draws a figure as SVG.
pub fn svg(figure: &Figure, look: Look) -> String {
    let names = series_names(figure);
    let place = Layout::of(figure, look, &names);
    let mut out = String::new();
    let id = &figure.name;
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" width=\"{0}\" height=\"{1}\" role=\"img\" \
         aria-labelledby=\"{id}-title {id}-about\" class=\"figure\">\n<title id=\"{id}-title\">{}</title>\n<desc \
         id=\"{id}-about\">{}</desc>\n",
        short(look.width),
        short(place.height),
        escaped(&figure.title),
        escaped(&figure.about)
    );
    out += &style(look);
    legend(&mut out, figure, &names, look);
    for (i, panel) in figure.panels.iter().enumerate() {
        panel::Frame::of(figure, &place, look, i).draw(&mut out, panel, &names);
    }
    let middle = (place.left + look.width) / 2.0;
    let _ = writeln!(
        out,
        "<text class=\"label\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
        short(middle),
        short(place.height - 0.5 * look.font),
        escaped(&figure.x.label)
    );
    if !figure.y.label.is_empty() {
        let (x, y) = (look.font, (place.top + place.height - place.bottom) / 2.0);
        let _ = writeln!(
            out,
            "<text class=\"label\" transform=\"translate({} {}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            short(x),
            short(y),
            escaped(&figure.y.label)
        );
    }
    out + "</svg>\n"
}

fn style(look: Look) -> String {
    let mut light = String::new();
    let mut dark = String::new();
    for (i, (on_light, on_dark)) in COLOURS.iter().enumerate() {
        let _ = write!(light, "--s{i}:{on_light};");
        let _ = write!(dark, "--s{i}:{on_dark};");
    }
    let font = short(look.font);
    format!(
        "<style>\n.figure{{font:{font}px system-ui,sans-serif;--ink:#1b1f24;--faint:#59626d;--line:#d3d8de;--paper:#fff;{light}}}\n\
         @media (prefers-color-scheme:dark){{.figure{{--ink:#e3e6ea;--faint:#a3acb7;--line:#3a424c;--paper:#14171b;{dark}}}}}\n\
         .figure text{{fill:var(--ink);stroke:none}}.figure .tick{{fill:var(--faint)}}.figure .grid{{stroke:var(--line);stroke-width:1}}\
         .figure .frame{{fill:none;stroke:var(--faint);stroke-width:1}}.figure \
         .mark{{stroke-width:1.6;fill:none}}.figure .band{{stroke:none;fill-opacity:.18}}\
         .figure .sign{{stroke-width:1.4;fill:var(--paper)}}\n</style>\n"
    )
}

/// The names of the series in all panels, each once.
fn series_names(figure: &Figure) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for series in figure.panels.iter().flat_map(|panel| &panel.series) {
        if !names.contains(&series.name.as_str()) {
            names.push(&series.name);
        }
    }
    names
}

/// Where things are.
struct Layout {
    /// Left of the panels, above them, below them.
    left: f64,
    top: f64,
    bottom: f64,
    /// Width and height of a panel with its margins.
    step: (f64, f64),
    /// Width and height of a panel.
    panel: (f64, f64),
    across: usize,
    height: f64,
}

impl Layout {
    fn of(figure: &Figure, look: Look, names: &[&str]) -> Self {
        let font = look.font;
        let widest = match &figure.y.scale {
            Scale::Names(names) => names.iter().map(|name| text_width(name, font)).fold(0.0, f64::max),
            _ => 4.5 * font,
        };
        let label = if figure.y.label.is_empty() { 0.0 } else { 1.8 * font };
        let left = label + widest.min(0.4 * look.width) + font;
        let lines = legend_lines(names, look);
        let top = 1.6 * font * lines as f64 + 0.6 * font;
        // Boxes along the axis x want width.
        let is_wide = !matches!(figure.y.scale, Scale::Names(_))
            && figure.panels.iter().flat_map(|panel| &panel.series).any(|series| series.kind == Kind::Boxes);
        let most = match is_wide {
            true => 1 + usize::from(figure.panels.len() > ACROSS),
            false => ACROSS,
        };
        let across = figure.panels.len().clamp(1, most);
        let rows = figure.panels.len().div_ceil(across).max(1);
        let title = if figure.panels.iter().all(|panel| panel.title.is_empty()) { 0.0 } else { 1.8 * font };
        let height = match &figure.y.scale {
            Scale::Names(names) => 1.7 * font * names.len().max(1) as f64 + font,
            _ if is_wide => 0.55 * look.height,
            _ => look.height,
        };
        let gap = 1.2 * font;
        let width = (look.width - left - gap) / across as f64;
        let step = (width, height + title + 2.2 * font);
        let bottom = 2.0 * font;
        Self {
            left,
            top: top + title,
            bottom,
            step,
            panel: (width - gap, height),
            across,
            height: top + rows as f64 * step.1 + bottom,
        }
    }

    /// The left upper corner of a panel.
    fn corner(&self, panel: usize) -> (f64, f64) {
        let (column, row) = (panel % self.across, panel / self.across);
        (self.left + column as f64 * self.step.0, self.top + row as f64 * self.step.1)
    }
}

/// Lines of the legend, and where its entries are.
fn entries(names: &[&str], look: Look) -> Vec<(f64, usize)> {
    let (mut x, mut line) = (look.font, 0);
    let place = |name: &&str| {
        let width = text_width(name, look.font) + 3.5 * look.font;
        if x + width > look.width && x > look.font {
            (x, line) = (look.font, line + 1);
        }
        let here = (x, line);
        x += width;
        here
    };
    names.iter().map(place).collect()
}

fn legend_lines(names: &[&str], look: Look) -> usize {
    if names.len() < 2 { 0 } else { entries(names, look).last().map_or(0, |(_, line)| line + 1) }
}

fn legend(out: &mut String, figure: &Figure, names: &[&str], look: Look) {
    if names.len() < 2 {
        return;
    }
    let is_line = |name: &str| {
        let mut series = figure.panels.iter().flat_map(|panel| &panel.series);
        series.any(|series| series.name == name && series.kind == Kind::Line)
    };
    for (i, (name, (x, row))) in names.iter().zip(entries(names, look)).enumerate() {
        let y = 1.1 * look.font + 1.6 * look.font * row as f64;
        let (middle, r) = (y - 0.35 * look.font, 0.35 * look.font);
        if is_line(name) {
            line(out, i, &[(x - r, middle), (x + 1.4 * r, middle)]);
        } else {
            sign(out, i, x, middle, r);
        }
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"{}\">{}</text>",
            short(x + 0.9 * look.font),
            short(y),
            escaped(name)
        );
    }
}

/// The line of a series.
fn line(out: &mut String, series: usize, points: &[(f64, f64)]) {
    let (colour, dash) = (series % COLOURS.len(), DASHES[series / 2 % DASHES.len()]);
    let _ = writeln!(
        out,
        "<path class=\"mark\" stroke=\"var(--s{colour})\" stroke-dasharray=\"{dash}\" d=\"{}\"/>",
        path(points)
    );
}

/// The sign of a series.
fn sign(out: &mut String, series: usize, x: f64, y: f64, r: f64) {
    let shape = match series % 5 {
        0 => format!("<circle cx=\"{}\" cy=\"{}\" r=\"{}\"", short(x), short(y), short(r)),
        1 => format!(
            "<path d=\"M{} {}h{2}v{2}h-{2}z\"",
            short(x - 0.85 * r),
            short(y - 0.85 * r),
            short(1.7 * r)
        ),
        2 => format!(
            "<path d=\"M{} {}l{} {}h-{}z\"",
            short(x),
            short(y - 1.1 * r),
            short(1.1 * r),
            short(1.9 * r),
            short(2.2 * r)
        ),
        3 => format!(
            "<path d=\"M{} {}l{2} {2}l-{2} {2}l-{2} -{2}z\"",
            short(x),
            short(y - 1.2 * r),
            short(1.2 * r)
        ),
        _ => format!(
            "<path d=\"M{} {}l{2} {2}m0 -{2}l-{2} {2}\"",
            short(x - 0.9 * r),
            short(y - 0.9 * r),
            short(1.8 * r)
        ),
    };
    let colour = series % COLOURS.len();
    let _ = writeln!(out, "{shape} class=\"sign\" stroke=\"var(--s{colour})\"/>");
}

fn path(points: &[(f64, f64)]) -> String {
    let part = |(i, (x, y)): (usize, &(f64, f64))| {
        format!("{}{} {}", if i == 0 { "M" } else { "L" }, short(*x), short(*y))
    };
    points.iter().enumerate().map(part).collect()
}

/// A place with one decimal.
fn short(x: f64) -> String {
    let text = format!("{x:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".into() } else { text.to_owned() }
}

/// The width of a text, roughly, in most fonts.
fn text_width(text: &str, font: f64) -> f64 {
    0.56 * font * text.chars().count() as f64
}

/// A name of at most so many letters: what stands at its ends tells it from others.
fn cut(name: &str, most: usize) -> String {
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= most {
        return name.to_owned();
    }
    let end = most.saturating_sub(1).div_ceil(2);
    let begin = most.saturating_sub(1 + end);
    letters[..begin].iter().chain(&['…']).chain(&letters[letters.len() - end..]).collect()
}

fn escaped(text: &str) -> String {
    shown(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
