//! A figure with more series than can be told apart is several.

use super::axis::Range;
use super::{Axis, Figure, Mark, SERIES, Scale};

impl Figure {
    /// The names of the series in all panels, each once.
    pub(super) fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for series in self.panels.iter().flat_map(|panel| &panel.series) {
            if !names.contains(&series.name.as_str()) {
                names.push(&series.name);
            }
        }
        names
    }

    /// The ranges of both axes, which all panels share.
    pub(super) fn ranges(&self) -> (Range, Range) {
        let marks = || self.panels.iter().flat_map(|panel| &panel.series).flat_map(|series| &series.marks);
        let named = matches!(self.y.scale, Scale::Names(_));
        let of = |axis: &Axis, own: fn(&Mark) -> f64, has_intervals: bool| {
            // An interval that begins at 0 goes to the edge of a logarithmic axis; a mark at 0 stands apart.
            let log = axis.scale == Scale::Log;
            let values = marks().flat_map(move |mark| {
                let both = [mark.interval, mark.whiskers].into_iter().flatten();
                let ends = both.flat_map(|(low, high)| [low, high]);
                ends.filter(move |x| has_intervals && !(log && *x == 0.0)).chain([own(mark)])
            });
            Range::of(axis, values)
        };
        (of(&self.x, |mark| mark.x, named), of(&self.y, |mark| mark.y, !named))
    }

    /// The figure, or where it has more than [`SERIES`] series several on the same axes, each with some of them.
    pub fn parts(self) -> Vec<Self> {
        let names: Vec<String> = self.names().into_iter().map(str::to_owned).collect();
        if names.len() <= SERIES {
            return vec![self];
        }
        let (x, y) = self.ranges();
        let parts = names.len().div_ceil(SERIES);
        // Series that belong together come in pairs.
        let each = names.len().div_ceil(parts).next_multiple_of(2);
        let part = |(i, names): (usize, &[String])| {
            let mut part = self.clone();
            for panel in &mut part.panels {
                panel.series.retain(|series| names.contains(&series.name));
            }
            let of = format!("part {} of {parts}", i + 1);
            part.name = format!("{}-part-{}", self.name, i + 1);
            part.title = format!("{}, {of}", self.title);
            part.about =
                format!("{} This is {of}, with some of the series; the axes are the same.", self.about);
            (part.x.ends, part.y.ends) = (x.ends(), y.ends());
            part
        };
        names.chunks(each).enumerate().map(part).collect()
    }
}
