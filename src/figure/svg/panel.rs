//! A panel of a figure: its frame with the axes, and the marks in it. Each sign has a `title` that says what it shows,
//! for readers who point at it.

use super::super::axis::{Range, words};
use super::super::{Figure, Kind, Mark, Panel, Scale, Series};
use super::{COLOURS, Layout, Look, cut, escaped, line, path, short, sign};
use std::fmt::Write;

/// Marks of a figure with boxes beyond which they have no titles of their own.
const CROWD: usize = 400;

/// A panel with its axes, which all panels of a figure share.
pub(super) struct Frame<'a> {
    figure: &'a Figure,
    look: Look,
    x: Range,
    y: Range,
    left: f64,
    top: f64,
    width: f64,
    height: f64,
    /// Whether it has the ticks of the axis y.
    is_first: bool,
}

impl<'a> Frame<'a> {
    pub(super) fn of(figure: &'a Figure, place: &Layout, look: Look, number: usize) -> Self {
        let marks = || figure.panels.iter().flat_map(|panel| &panel.series).flat_map(|series| &series.marks);
        let along = |own: fn(&Mark) -> f64, has_intervals: bool| {
            marks().flat_map(move |mark| {
                let both =
                    [mark.interval, mark.whiskers].into_iter().flatten().filter(move |_| has_intervals);
                both.flat_map(|(low, high)| [low, high]).chain([own(mark)])
            })
        };
        let named = matches!(figure.y.scale, Scale::Names(_));
        let ((left, top), (width, height)) = (place.corner(number), place.panel);
        Self {
            figure,
            look,
            x: Range::of(&figure.x.scale, along(|mark| mark.x, named)),
            y: Range::of(&figure.y.scale, along(|mark| mark.y, !named)),
            left,
            top,
            width,
            height,
            is_first: number.is_multiple_of(place.across),
        }
    }

    /// Whether the axis y has names, so that values lie along x alone.
    fn is_named(&self) -> bool {
        matches!(self.figure.y.scale, Scale::Names(_))
    }

    fn at_x(&self, value: f64) -> Option<f64> {
        self.x.place(value).map(|p| self.left + p.clamp(0.0, 1.0) * self.width)
    }

    fn at_y(&self, value: f64) -> Option<f64> {
        self.y.place(value).map(|p| self.top + (1.0 - p.clamp(0.0, 1.0)) * self.height)
    }

    /// The ends of an interval. One that begins at 0 goes to the end of a logarithmic axis.
    fn ends(&self, (low, high): (f64, f64)) -> Option<(f64, f64)> {
        match self.is_named() {
            true => Some((self.at_x(low).unwrap_or(self.left), self.at_x(high)?)),
            false => Some((self.at_y(low).unwrap_or(self.top + self.height), self.at_y(high)?)),
        }
    }

    pub(super) fn draw(&self, out: &mut String, panel: &Panel, names: &[&str]) {
        if !panel.title.is_empty() {
            let _ = writeln!(
                out,
                "<text x=\"{}\" y=\"{}\" font-weight=\"600\">{}</text>",
                short(self.left),
                short(self.top - 0.5 * self.look.font),
                escaped(&panel.title)
            );
        }
        self.axes(out);
        let half = self.half_box(panel);
        for (i, series) in panel.series.iter().enumerate() {
            let style = names.iter().position(|name| *name == series.name).unwrap_or(0);
            // Signs of several series at one name stand below each other: boxes by panel, others where they stand in all panels.
            let (place, many) = match series.kind {
                Kind::Boxes => (i, panel.series.len()),
                _ => (style, names.len()),
            };
            let many = many as f64;
            let shift = match self.is_named() && many > 1.0 {
                true => (place as f64 - (many - 1.0) / 2.0) * self.spacing(many),
                false => 0.0,
            };
            match self.is_crowded() {
                true => self.crowd(out, series, style, shift, half),
                false => self.series(out, series, style, shift, half),
            }
        }
    }

    /// From one of several series at a name to the next.
    fn spacing(&self, many: f64) -> f64 {
        (1.1 * self.look.font / many).min(0.5 * self.look.font)
    }

    /// Half the width of a box: boxes of several series at a name, and boxes at places that are near each other, are narrower.
    fn half_box(&self, panel: &Panel) -> f64 {
        let most = 0.35 * self.look.font;
        if self.is_named() {
            let many = panel.series.len() as f64;
            return if many > 1.0 { most.min(0.45 * self.spacing(many)) } else { most };
        }
        let boxes = || panel.series.iter().filter(|series| series.kind == Kind::Boxes);
        let mut places: Vec<f64> =
            boxes().flat_map(|series| &series.marks).filter_map(|mark| self.at_x(mark.x)).collect();
        places.sort_unstable_by(f64::total_cmp);
        places
            .windows(2)
            .map(|pair| 0.4 * (pair[1] - pair[0]))
            .filter(|half| *half > 0.0)
            .fold(most, f64::min)
    }

    /// Whether the boxes of the figure, with what stands beside them, are so many that each alone would be too much to read.
    fn is_crowded(&self) -> bool {
        let series = || self.figure.panels.iter().flat_map(|panel| &panel.series);
        let marks: usize = series().map(|series| series.marks.len()).sum();
        marks > CROWD && series().any(|series| series.kind == Kind::Boxes)
    }

    /// All marks of a series in few paths, without a title of each: boxes as thick lines through whiskers, with the medians across.
    fn crowd(&self, out: &mut String, series: &Series, style: usize, shift: f64, half: f64) {
        let colour = style % COLOURS.len();
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
                    *all += &self.along(ends, (x, y));
                }
            }
        }
        let mut line = |along: &str, width: f64, look: &str| {
            if !along.is_empty() {
                let _ = writeln!(
                    out,
                    "<path class=\"mark\" style=\"stroke-width:{}{look}\" stroke=\"var(--s{colour})\" d=\"{along}\"/>",
                    short(width)
                );
            }
        };
        line(&whiskers, 0.6, "");
        line(&boxes, 2.0 * half, ";stroke-opacity:.35");
        match series.kind {
            Kind::Boxes => line(&middles, 1.0, ""),
            _ => line(&middles, 3.0, ";stroke-linecap:round"),
        }
    }

    fn axes(&self, out: &mut String) {
        let &Self { look, left, top, width, height, .. } = self;
        for tick in self.x.ticks() {
            let Some(at) = self.at_x(tick) else { continue };
            let _ = writeln!(
                out,
                "<path class=\"grid\" d=\"M{0} {1}v{2}\"/><text class=\"tick\" x=\"{0}\" y=\"{3}\" text-anchor=\"middle\">{4}</text>",
                short(at),
                short(top),
                short(height),
                short(top + height + 1.3 * look.font),
                words(tick)
            );
        }
        let ticks: Vec<(Option<f64>, String)> = match &self.figure.y.scale {
            Scale::Names(names) => {
                let room = (0.4 * look.width / (0.56 * look.font)) as usize;
                names.iter().enumerate().map(|(i, name)| (self.at_y(i as f64), cut(name, room))).collect()
            }
            _ => self.y.ticks().into_iter().map(|value| (self.at_y(value), words(value))).collect(),
        };
        for (at, text) in ticks {
            let Some(at) = at else { continue };
            let _ =
                writeln!(out, "<path class=\"grid\" d=\"M{} {}h{}\"/>", short(left), short(at), short(width));
            if self.is_first {
                let _ = writeln!(
                    out,
                    "<text class=\"tick\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
                    short(left - 0.5 * look.font),
                    short(at + 0.35 * look.font),
                    escaped(&text)
                );
            }
        }
        let _ = writeln!(
            out,
            "<rect class=\"frame\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
            short(left),
            short(top),
            short(width),
            short(height)
        );
    }

    fn series(&self, out: &mut String, series: &Series, style: usize, shift: f64, half: f64) {
        let colour = style % COLOURS.len();
        let mut points: Vec<(&Mark, f64, f64)> = Vec::new();
        for mark in &series.marks {
            if let (Some(x), Some(y)) = (self.at_x(mark.x), self.at_y(mark.y)) {
                points.push((mark, x, y + shift));
            }
        }
        if matches!(series.kind, Kind::Line | Kind::DottedLine) {
            // Where nothing varies the band is as narrow as the line.
            let end = |&(mark, x, y): &(&Mark, f64, f64)| match mark.interval {
                Some(interval) => Some((x, self.ends(interval)?)),
                None => Some((x, (y, y))),
            };
            let upper = points.iter().filter_map(end).map(|(x, (_, high))| (x, high));
            let lower = points.iter().rev().filter_map(end).map(|(x, (low, _))| (x, low));
            let band: Vec<(f64, f64)> = upper.chain(lower).collect();
            let varies = points.iter().any(|(mark, ..)| mark.interval.is_some());
            if series.kind == Kind::Line && varies && band.len() > 2 {
                let band = path(&band);
                let _ = writeln!(out, "<path class=\"band\" fill=\"var(--s{colour})\" d=\"{band}z\"/>");
            }
            let along: Vec<(f64, f64)> = points.iter().map(|(_, x, y)| (*x, *y)).collect();
            if along.len() > 1 {
                line(out, style, &along);
            }
        }
        if series.kind == Kind::Line {
            return;
        }
        for (mark, x, y) in points {
            let _ = writeln!(out, "<g><title>{}</title>", escaped(&self.told(series, mark)));
            if let Some(whiskers) = mark.whiskers.and_then(|both| self.ends(both)) {
                self.stretch(out, whiskers, (x, y), colour);
            }
            match (series.kind, mark.interval.and_then(|both| self.ends(both))) {
                (Kind::Boxes, Some(quartiles)) => self.quartiles(out, quartiles, (x, y), half, colour),
                (_, interval) => {
                    if let Some(interval) = interval {
                        self.stretch(out, interval, (x, y), colour);
                    }
                    sign(out, style, x, y, 0.3 * self.look.font);
                }
            }
            out.push_str("</g>\n");
        }
    }

    /// A line from end to end through a place.
    fn stretch(&self, out: &mut String, ends: (f64, f64), place: (f64, f64), colour: usize) {
        let along = self.along(ends, place);
        let _ = writeln!(out, "<path class=\"mark\" stroke=\"var(--s{colour})\" d=\"{along}\"/>");
    }

    /// A path from end to end through a place.
    fn along(&self, (a, b): (f64, f64), (x, y): (f64, f64)) -> String {
        match self.is_named() {
            true => format!("M{} {}H{}", short(a), short(y), short(b)),
            false => format!("M{} {}V{}", short(x), short(a), short(b)),
        }
    }

    /// A box from end to end, with a line across at a place.
    fn quartiles(
        &self,
        out: &mut String,
        (low, high): (f64, f64),
        (x, y): (f64, f64),
        half: f64,
        colour: usize,
    ) {
        let (least, size) = (low.min(high), (high - low).abs());
        let (corner, size, middle) = match self.is_named() {
            true => (
                (least, y - half),
                (size, 2.0 * half),
                format!("M{} {}v{}", short(x), short(y - half), short(2.0 * half)),
            ),
            false => (
                (x - half, least),
                (2.0 * half, size),
                format!("M{} {}h{}", short(x - half), short(y), short(2.0 * half)),
            ),
        };
        let _ = writeln!(
            out,
            "<rect class=\"sign\" stroke=\"var(--s{colour})\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\
             <path class=\"mark\" stroke=\"var(--s{colour})\" d=\"{middle}\"/>",
            short(corner.0),
            short(corner.1),
            short(size.0),
            short(size.1)
        );
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
