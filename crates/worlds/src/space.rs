//! Worlds as points, and the closest world of an event.

use super::belief::{Event, MOST_WORLDS};
use congenial_core::{Error, Result};

/// How far worlds are from each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// `sum_i |x_i - y_i|`.
    L1,
    /// `sum_i (x_i - y_i)²`, which orders like the Euclidean distance.
    SquaredL2,
}

/// Integer points, one for each world.
#[derive(Debug, Clone, PartialEq)]
pub struct Space {
    points: Vec<[i64; 4]>,
    metric: Metric,
}

impl Space {
    /// Worlds at the given points. Refused: no point, or more than [`MOST_WORLDS`], or coordinates beyond ±2^30.
    pub fn new(points: Vec<[i64; 4]>, metric: Metric) -> Result<Self> {
        let reach = points.iter().flatten().map(|c| c.unsigned_abs()).max().unwrap_or(0);
        if !(1..=MOST_WORLDS).contains(&points.len()) || reach > 1 << 30 {
            return Err(Error::parameter(
                "points of worlds",
                format!("{} points within ±{reach}", points.len()),
                "1 to 128 points with coordinates within ±2^30",
            ));
        }
        Ok(Self { points, metric })
    }

    /// The worlds `0, 1, .., worlds - 1` of a line.
    pub fn line(worlds: usize, metric: Metric) -> Result<Self> {
        Self::new((0..worlds as i64).map(|x| [x, 0, 0, 0]).collect(), metric)
    }

    /// The number of worlds.
    pub fn worlds(&self) -> usize {
        self.points.len()
    }

    /// The distance of two worlds, exactly.
    pub fn distance(&self, from: usize, to: usize) -> i64 {
        let steps = self.points[from].iter().zip(&self.points[to]).map(|(a, b)| a - b);
        match self.metric {
            Metric::L1 => steps.map(i64::abs).sum(),
            Metric::SquaredL2 => steps.map(|d| d * d).sum(),
        }
    }

    /// For every world the closest world of the event. "Two views" assumes that it is unique; here the smallest
    /// index wins a tie. Refused when the event has no world of this space.
    pub fn closest(&self, event: Event) -> Result<Vec<usize>> {
        let nearest =
            |from| event.worlds().filter(|&to| to < self.worlds()).min_by_key(|&to| self.distance(from, to));
        (0..self.worlds())
            .map(|from| {
                nearest(from).ok_or_else(|| Error::parameter("event to move to", "no world", "a world"))
            })
            .collect()
    }

    /// Pairs of worlds of two planes, in the order of [`super::Belief::product`]: the distances add up.
    pub fn product(&self, other: &Self) -> Result<Self> {
        let pair = |a: &[i64; 4], b: &[i64; 4]| [a[0], a[1], b[0], b[1]];
        let points = self.points.iter().flat_map(|a| other.points.iter().map(move |b| pair(a, b)));
        Self::new(points.collect(), self.metric)
    }
}
