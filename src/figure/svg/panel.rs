//! A panel of a figure: its frame with the axes, and the marks in it. Each sign has a `title` that says what it shows,
//! for readers who point at it.

use super::layout::{Layout, apart};
use super::style::{FAINT, GRID, INK, PAPER, Style, path};
use super::text::{escaped, short, width};
use super::{Look, label};
use crate::figure::axis::words;
use crate::figure::{Figure, Kind, Mark, Panel, Scale, Series};
use std::fmt::Write;

/// Marks of a figure with boxes beyond which they have no titles of their own.
const CROWD: usize = 400;
/// Marks between the signs of a line that has some.
const BETWEEN: usize = 6;

/// A panel with its axes, which all panels of a figure share.
pub(super) struct Frame<'a> {
    figure: &'a Figure,
    place: &'a Layout,
    look: Look,
    number: usize,
    /// Whether the figure has several series.
    several: bool,
    left: f64,
    top: f64,
    width: f64,
    height: f64,
}

impl<'a> Frame<'a> {
    pub(super) fn of(figure: &'a Figure, place: &'a Layout, look: Look, number: usize) -> Self {
        let ((left, top), (width, height)) = (place.corner(number), place.panel);
        let several = figure.names().len() > 1;
        Self { figure, place, look, number, several, left, top, width, height }
    }

    /// Whether the axis y has names, so that values lie along x alone.
    fn is_named(&self) -> bool {
        matches!(self.figure.y.scale, Scale::Names(_))
    }

    fn at_x(&self, value: f64) -> Option<f64> {
        self.place.x.place(value).map(|p| self.left + p * self.width)
    }

    fn at_y(&self, value: f64) -> Option<f64> {
        self.place.y.place(value).map(|p| self.top + (1.0 - p) * self.height)
    }

    /// Whether a mark is 0 on a logarithmic axis.
    fn stands_apart(&self, mark: &Mark) -> bool {
        mark.x == 0.0 && self.place.x.has_zero() || mark.y == 0.0 && self.place.y.has_zero()
    }

    /// The ends of an interval. One that begins at 0 goes to the end of a logarithmic axis.
    fn ends(&self, (low, high): (f64, f64)) -> Option<(f64, f64)> {
        let begin = |low: f64, scale: &Scale| *scale == Scale::Log && low <= 0.0;
        match self.is_named() {
            true if begin(low, &self.figure.x.scale) => Some((self.left, self.at_x(high)?)),
            true => Some((self.at_x(low)?, self.at_x(high)?)),
            false if begin(low, &self.figure.y.scale) => Some((self.top + self.height, self.at_y(high)?)),
            false => Some((self.at_y(low)?, self.at_y(high)?)),
        }
    }

    pub(super) fn draw(&self, out: &mut String, panel: &Panel, styles: &[Style], names: &[&str]) {
        let font = self.look.font;
        let lines = &self.place.titles[self.number];
        for (i, line) in lines.iter().enumerate() {
            let up = 0.5 + 1.3 * (lines.len() - 1 - i) as f64;
            let bold = format!("fill=\"{INK}\" font-weight=\"bold\"");
            label(out, (self.left, self.top - up * font), line, &bold);
        }
        self.axes(out);
        let half = self.half_box(panel);
        for (i, series) in panel.series.iter().enumerate() {
            let Some(number) = names.iter().position(|name| *name == series.name) else { continue };
            // Signs of several series at one name stand below each other: boxes by panel, others where they stand in all panels.
            let (place, many) = match series.kind {
                Kind::Boxes => (i, panel.series.len()),
                _ => (number, names.len()),
            };
            let shift = match self.is_named() {
                true => (place as f64 - (many as f64 - 1.0) / 2.0) * apart(font),
                false => 0.0,
            };
            match self.is_crowded() {
                true => self.crowd(out, series, &styles[number], shift, half),
                false => self.series(out, series, &styles[number], shift, half),
            }
        }
    }

    /// Half the width of a box: boxes of several series at a name, and boxes at places that are near each other, are narrower.
    fn half_box(&self, panel: &Panel) -> f64 {
        let most = 0.35 * self.look.font;
        if self.is_named() {
            return if panel.series.len() > 1 { most.min(0.45 * apart(self.look.font)) } else { most };
        }
        let boxes = || panel.series.iter().filter(|series| series.kind == Kind::Boxes);
        let mut places: Vec<f64> =
            boxes().flat_map(|series| &series.marks).filter_map(|mark| self.at_x(mark.x)).collect();
        places.sort_unstable_by(f64::total_cmp);
        let halves = places.windows(2).map(|pair| 0.4 * (pair[1] - pair[0]));
        halves.filter(|half| *half > 0.0).fold(most, f64::min)
    }

    /// Whether the boxes of the figure, with what stands beside them, are so many that each alone would be too much to read.
    fn is_crowded(&self) -> bool {
        let series = || self.figure.panels.iter().flat_map(|panel| &panel.series);
        let marks: usize = series().map(|series| series.marks.len()).sum();
        marks > CROWD && series().any(|series| series.kind == Kind::Boxes)
    }

    /// All marks of a series in few paths, without a title of each: boxes as thick lines through whiskers, with the medians across.
    fn crowd(&self, out: &mut String, series: &Series, style: &Style, shift: f64, half: f64) {
        let [mut whiskers, mut boxes, mut middles] = [const { String::new() }; 3];
        for mark in &series.marks {
            let (Some(x), Some(y)) = (self.at_x(mark.x), self.at_y(mark.y).map(|y| y + shift)) else {
                continue;
            };
            let _ = match (series.kind, self.is_named()) {
                (Kind::Boxes, true) => {
                    write!(middles, "M{} {}v{}", short(x), short(y - half), short(2.0 * half))
                }
                (Kind::Boxes, false) => {
                    write!(middles, "M{} {}h{}", short(x - half), short(y), short(2.0 * half))
                }
                _ => write!(middles, "M{} {}h0", short(x), short(y)),
            };
            for (all, both) in [(&mut whiskers, mark.whiskers), (&mut boxes, mark.interval)] {
                if let Some(ends) = both.and_then(|both| self.ends(both)) {
                    let [(a, b), (c, d)] = self.along(ends, (x, y));
                    let _ = write!(all, "M{} {}L{} {}", short(a), short(b), short(c), short(d));
                }
            }
        }
        let mut line = |along: &str, width: f64, look: &str| {
            if !along.is_empty() {
                let (colour, width) = (style.colour, short(width));
                let _ = writeln!(
                    out,
                    "<path fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"{look} d=\"{along}\"/>"
                );
            }
        };
        line(&whiskers, 0.6, "");
        line(&boxes, 2.0 * half, " stroke-opacity=\"0.35\"");
        match series.kind {
            Kind::Boxes => line(&middles, 1.0, ""),
            _ => line(&middles, 3.0, " stroke-linecap=\"round\""),
        }
    }

    fn axes(&self, out: &mut String) {
        let &Self { look, left, top, width: across, height, .. } = self;
        let font = look.font;
        let mut grid = |at: String| {
            let _ = writeln!(out, "<path fill=\"none\" stroke=\"{GRID}\" stroke-width=\"1\" d=\"{at}\"/>");
        };
        let (bottom, right) = (top + height, left + across);
        let upright = |x: f64| path(&[(x, top), (x, bottom)]);
        let flat = |y: f64| path(&[(left, y), (right, y)]);
        let xs: Vec<(f64, f64)> =
            self.place.x_ticks.iter().filter_map(|&x| Some((x, self.at_x(x)?))).collect();
        let ys: Vec<(f64, f64)> =
            self.place.y_ticks.iter().filter_map(|&y| Some((y, self.at_y(y)?))).collect();
        let names: Vec<f64> = (0..self.place.names.len()).filter_map(|i| self.at_y(i as f64)).collect();
        xs.iter().for_each(|(_, at)| grid(upright(*at)));
        ys.iter().for_each(|(_, at)| grid(flat(*at)));
        // One series stands on the line of its name, several between two lines.
        let between = |pair: &[f64]| 0.5 * (pair[0] + pair[1]);
        match self.several {
            true => names.windows(2).for_each(|pair| grid(flat(between(pair)))),
            false => names.iter().for_each(|at| grid(flat(*at))),
        }
        // What 0 has for itself.
        let faint = format!("fill=\"none\" stroke=\"{FAINT}\" stroke-width=\"1\"");
        let ends = [
            self.place.x.apart().map(|p| upright(left + p * across)),
            self.place.y.apart().map(|p| flat(bottom - p * height)),
        ];
        for end in ends.into_iter().flatten() {
            let _ = writeln!(out, "<path {faint} stroke-dasharray=\"1 3\" d=\"{end}\"/>");
        }
        let _ = writeln!(
            out,
            "<rect {faint} x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
            short(left),
            short(top),
            short(across),
            short(height)
        );
        let tick = |anchor: &str| format!("fill=\"{FAINT}\" text-anchor=\"{anchor}\"");
        for (value, at) in xs {
            // Within the panel, so that those of two panels do not touch.
            let (half, over) = (0.5 * width(&words(value), font), 0.6 * font);
            let (least, most) = (left + half - over, right - half + over);
            let at = if least < most { at.clamp(least, most) } else { at };
            label(out, (at, bottom + 1.3 * font), &words(value), &tick("middle"));
        }
        if !self.number.is_multiple_of(self.place.across) {
            return;
        }
        let (beside, end) = (left - 0.5 * font, tick("end"));
        for (value, at) in ys {
            label(out, (beside, at + 0.35 * font), &words(value), &end);
        }
        for (lines, at) in self.place.names.iter().zip(names) {
            let first = at + 0.35 * font - 0.6 * font * (lines.len() as f64 - 1.0);
            for (i, line) in lines.iter().enumerate() {
                label(out, (beside, first + 1.2 * font * i as f64), line, &end);
            }
        }
    }

    fn series(&self, out: &mut String, series: &Series, style: &Style, shift: f64, half: f64) {
        let mut points: Vec<(&Mark, f64, f64)> = Vec::new();
        for mark in &series.marks {
            if let (Some(x), Some(y)) = (self.at_x(mark.x), self.at_y(mark.y)) {
                points.push((mark, x, y + shift));
            }
        }
        if matches!(series.kind, Kind::Line | Kind::DottedLine) {
            // No line leads to what stands apart.
            for points in points.split(|(mark, ..)| self.stands_apart(mark)) {
                if series.kind == Kind::Line {
                    self.band(out, points, style);
                }
                let along: Vec<(f64, f64)> = points.iter().map(|(_, x, y)| (*x, *y)).collect();
                if along.len() > 1 {
                    style.line(out, &along);
                }
            }
        }
        let last = points.len().saturating_sub(1);
        for (i, (mark, x, y)) in points.into_iter().enumerate() {
            let has_sign = self.stands_apart(mark)
                || series.kind != Kind::Line
                // One mark alone is no line.
                || style.signed_line && (i % BETWEEN == 0 || i == last);
            if has_sign {
                let _ = writeln!(out, "<g><title>{}</title>", escaped(&self.told(series, mark)));
                self.mark(out, (series.kind, mark), (x, y), half, style);
                out.push_str("</g>\n");
            }
        }
    }

    /// The band of a line. Where nothing varies it is as narrow as the line.
    fn band(&self, out: &mut String, points: &[(&Mark, f64, f64)], style: &Style) {
        let end = |&(mark, x, y): &(&Mark, f64, f64)| match mark.interval {
            Some(interval) => Some((x, self.ends(interval)?)),
            None => Some((x, (y, y))),
        };
        let upper = points.iter().filter_map(end).map(|(x, (_, high))| (x, high));
        let lower = points.iter().rev().filter_map(end).map(|(x, (low, _))| (x, low));
        let band: Vec<(f64, f64)> = upper.chain(lower).collect();
        if points.iter().any(|(mark, ..)| mark.interval.is_some()) && band.len() > 2 {
            let _ = writeln!(
                out,
                "<path fill=\"{}\" fill-opacity=\"0.18\" stroke=\"none\" d=\"{}z\"/>",
                style.colour,
                path(&band)
            );
        }
    }

    /// A mark with its intervals.
    fn mark(
        &self,
        out: &mut String,
        (kind, mark): (Kind, &Mark),
        (x, y): (f64, f64),
        half: f64,
        style: &Style,
    ) {
        if kind != Kind::Line
            && let Some(whiskers) = mark.whiskers.and_then(|both| self.ends(both))
        {
            self.stretch(out, whiskers, (x, y), style);
        }
        match (kind, mark.interval.and_then(|both| self.ends(both))) {
            (Kind::Boxes, Some(quartiles)) => self.quartiles(out, quartiles, (x, y), half, style),
            (Kind::Line, _) | (_, None) => style.sign(out, (x, y), 0.3 * self.look.font),
            (_, Some(interval)) => {
                self.stretch(out, interval, (x, y), style);
                style.sign(out, (x, y), 0.3 * self.look.font);
            }
        }
    }

    /// A line from end to end through a place.
    fn stretch(&self, out: &mut String, ends: (f64, f64), place: (f64, f64), style: &Style) {
        style.stroke(out, &self.along(ends, place));
    }

    /// The ends of such a line.
    fn along(&self, (a, b): (f64, f64), (x, y): (f64, f64)) -> [(f64, f64); 2] {
        match self.is_named() {
            true => [(a, y), (b, y)],
            false => [(x, a), (x, b)],
        }
    }

    /// A box from end to end, with a line across at a place.
    fn quartiles(
        &self,
        out: &mut String,
        (low, high): (f64, f64),
        (x, y): (f64, f64),
        half: f64,
        style: &Style,
    ) {
        let (least, size) = (low.min(high), (high - low).abs());
        let (corner, size, middle) = match self.is_named() {
            true => ((least, y - half), (size, 2.0 * half), [(x, y - half), (x, y + half)]),
            false => ((x - half, least), (2.0 * half, size), [(x - half, y), (x + half, y)]),
        };
        let _ = writeln!(
            out,
            "<rect fill=\"{PAPER}\" stroke=\"{}\" stroke-width=\"1.4\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
            style.colour,
            short(corner.0),
            short(corner.1),
            short(size.0),
            short(size.1)
        );
        style.stroke(out, &middle);
    }

    /// A mark in words: what it is of, and its values.
    fn told(&self, series: &Series, mark: &Mark) -> String {
        let (of, value) = match &self.figure.y.scale {
            Scale::Names(names) => (names.get(mark.y as usize).map_or("", String::as_str), digits(mark.x)),
            _ => ("", format!("{}, {}", digits(mark.x), digits(mark.y))),
        };
        let of: Vec<&str> = [of, &series.name].into_iter().filter(|text| !text.is_empty()).collect();
        let both = |both: Option<(f64, f64)>| {
            both.map_or(String::new(), |(low, high)| format!(" [{}, {}]", digits(low), digits(high)))
        };
        let colon = if of.is_empty() { "" } else { ": " };
        format!("{}{colon}{value}{}{}", of.join(", "), both(mark.interval), both(mark.whiskers))
    }
}

/// A number with four digits.
fn digits(x: f64) -> String {
    let places = if x == 0.0 { 0.0 } else { libm::log10(x.abs()).floor() };
    match places {
        -4.0..6.0 => {
            let text = format!("{x:.*}", (3.0 - places).max(0.0) as usize);
            if text.contains('.') {
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            } else {
                text
            }
        }
        _ => format!("{x:.3e}"),
    }
}
