//! Coupled pairs of lattice Metropolis side by side.

use super::lanes::Side;
use super::{LatticeMetropolis, LatticeState};
use crate::kernel::Pairs;
use crate::kernel::jumps::PairLanes;
use crate::law::LatticeLaw;
use crate::rng::{LANES, Row, Stream, Streams, exponentials};
use fearless_simd::{Level, dispatch};

/// [`LANES`] pairs.
pub(super) struct MetropolisPairs<'a, L: LatticeLaw> {
    x: Side<'a, L>,
    y: Side<'a, L>,
    lanes: PairLanes<'a>,
    level: Level,
    streams: Streams,
    /// The jumps of one step of both chains by coordinate and, below, its thresholds of acceptance by block.
    jumps: [Vec<Row<i16>>; 2],
    thresholds: Vec<Row<f64>>,
    /// By coordinate: how far x is from y.
    apart: Vec<Row<i64>>,
    /// Lanes with a pair.
    loaded: [bool; LANES],
    some_met: bool,
}

impl<'a, L: LatticeLaw> MetropolisPairs<'a, L> {
    /// Makes empty lanes; `None` where a step could lead beyond what a lane holds, or coupled jumps have no tables.
    pub fn new(kernel: &'a LatticeMetropolis<L>) -> Option<Self> {
        let dimension = kernel.dimension();
        let rows = || vec![Row::default(); dimension];
        Some(Self {
            x: Side::new(kernel)?,
            y: Side::new(kernel)?,
            lanes: kernel.jumps.pair_lanes()?,
            level: Level::new(),
            streams: Streams::default(),
            jumps: [rows(), rows()],
            thresholds: vec![Row::default(); kernel.blocks.len()],
            apart: vec![Row::default(); dimension],
            loaded: [false; LANES],
            some_met: false,
        })
    }

    #[inline(always)]
    fn steps(&mut self, steps: u64) -> u64 {
        let kernel = self.x.kernel;
        for step in 1..=steps {
            let [a, b] = &mut self.jumps;
            for ((a, b), apart) in a.iter_mut().zip(&mut *b).zip(&self.apart) {
                kernel.jumps.pairs(&self.lanes, &mut self.streams, apart, (a, b));
            }
            for row in &mut self.thresholds {
                *row = exponentials(&mut self.streams);
            }
            self.x.apply(a, &self.thresholds);
            self.y.apply(b, &self.thresholds);
            let mut distance = Row([0i64; LANES]);
            for (block, (&x, &y)) in kernel.blocks.iter().zip(self.x.accepted.iter().zip(&self.y.accepted)) {
                let own = block.coordinates.clone();
                for ((apart, &a), &b) in self.apart[own.clone()].iter_mut().zip(&a[own.clone()]).zip(&b[own])
                {
                    let mut value = *apart;
                    for l in 0..LANES {
                        value.0[l] += i64::from(a.0[l] & x.0[l]) - i64::from(b.0[l] & y.0[l]);
                        distance.0[l] |= value.0[l];
                    }
                    *apart = value;
                }
            }
            self.some_met =
                distance.0.iter().zip(&self.loaded).any(|(distance, loaded)| *distance == 0 && *loaded);
            if self.some_met || self.x.some_left || self.y.some_left {
                return step;
            }
        }
        steps
    }
}

impl<L: LatticeLaw> Pairs<LatticeMetropolis<L>> for MetropolisPairs<'_, L> {
    fn load(&mut self, lane: usize, (x, y): (&LatticeState, &LatticeState), rng: &Stream) -> bool {
        let fits = self.x.fits(x) && self.y.fits(y);
        if fits {
            self.x.load(lane, x);
            self.y.load(lane, y);
            self.streams.load(lane, rng);
            for (row, (v, w)) in self.apart.iter_mut().zip(x.v.iter().zip(&y.v)) {
                row.0[lane] = v - w;
            }
        }
        self.loaded[lane] |= fits;
        fits
    }

    fn run(&mut self, steps: u64) -> u64 {
        let mut made = 0;
        while made < steps {
            let some = (steps - made).min(self.x.most_steps);
            let now = dispatch!(self.level, _simd => self.steps(some));
            self.x.flush();
            self.y.flush();
            made += now;
            if self.some_met || self.x.some_left || self.y.some_left {
                break;
            }
        }
        made
    }

    fn has_met(&self, lane: usize) -> bool {
        self.apart.iter().all(|row| row.0[lane] == 0)
    }

    fn has_left(&self, lane: usize) -> bool {
        self.x.has_left(lane) || self.y.has_left(lane)
    }

    fn take(&mut self, lane: usize) -> ((LatticeState, LatticeState), Stream, u64) {
        let ((x, moves), (y, more)) = (self.x.take(lane), self.y.take(lane));
        // Counted from y: only the difference matters to a pair.
        let v = self.apart.iter().map(|row| row.0[lane]).collect();
        self.apart.iter_mut().for_each(|row| row.0[lane] = 0);
        self.loaded[lane] = false;
        ((LatticeState { v, ..x }, y), self.streams.stream(lane), moves + more)
    }
}
