//! Chains of lattice Metropolis side by side: structure of arrays, one chain a lane.

use super::{LatticeMetropolis, LatticeState, SMALL};
use crate::kernel::{Kernel, Lanes};
use crate::law::LatticeLaw;
use crate::rng::{LANES, PackedLanes, Row, Stream, Streams, exponentials};
use fearless_simd::{Level, dispatch};

/// [`LANES`] chains.
///
/// Entries and jumps take 16 bits: one register of 512 bits, or two of 256, hold an entry of all chains. The loops over
/// lanes are plain; the compiler works on registers, and [`dispatch`] chooses at run time how wide they are. All
/// arithmetic is on integers, or the same operations on f64 as alone, so that the registers decide no result.
pub(super) struct MetropolisLanes<'a, L: LatticeLaw> {
    side: Side<'a, L>,
    law: PackedLanes<'a>,
    level: Level,
    streams: Streams,
    /// The jumps of one step by coordinate and, below, its thresholds of acceptance by block.
    jumps: Vec<Row<i16>>,
    thresholds: Vec<Row<f64>>,
    /// By coordinate: what was added since the last flush, and v.
    added: Vec<Row<i16>>,
    v: Vec<Row<i64>>,
}

impl<'a, L: LatticeLaw> MetropolisLanes<'a, L> {
    /// Makes empty lanes; `None` where a step could lead beyond what a lane holds.
    pub fn new(kernel: &'a LatticeMetropolis<L>) -> Option<Self> {
        let dimension = kernel.dimension();
        Some(Self {
            side: Side::new(kernel)?,
            law: kernel.jumps.lanes()?,
            level: Level::new(),
            streams: Streams::default(),
            jumps: vec![Row::default(); dimension],
            thresholds: vec![Row::default(); kernel.blocks.len()],
            added: vec![Row::default(); dimension],
            v: vec![Row::default(); dimension],
        })
    }

    /// At most as many steps as 16 bits can add up.
    #[inline(always)]
    fn steps(&mut self, steps: u64) -> u64 {
        for step in 1..=steps {
            self.law.fill(&mut self.streams, &mut self.jumps);
            for row in &mut self.thresholds {
                *row = exponentials(&mut self.streams);
            }
            self.side.apply(&self.jumps, &self.thresholds);
            for (block, &accepted) in self.side.kernel.blocks.iter().zip(&self.side.accepted) {
                let jumps = &self.jumps[block.coordinates.clone()];
                for (added, &jumps) in self.added[block.coordinates.clone()].iter_mut().zip(jumps) {
                    let mut sum = *added;
                    for l in 0..LANES {
                        sum.0[l] = sum.0[l].wrapping_add(jumps.0[l] & accepted.0[l]);
                    }
                    *added = sum;
                }
            }
            if self.side.some_left {
                return step;
            }
        }
        steps
    }

    fn flush(&mut self) {
        self.side.flush();
        for (v, added) in self.v.iter_mut().zip(&mut self.added) {
            v.0.iter_mut().zip(&added.0).for_each(|(v, &added)| *v += i64::from(added));
            *added = Row::default();
        }
    }
}

impl<L: LatticeLaw> Lanes<LatticeMetropolis<L>> for MetropolisLanes<'_, L> {
    fn load(&mut self, lane: usize, state: &LatticeState, rng: &Stream) -> bool {
        let fits = self.side.fits(state);
        if fits {
            self.side.load(lane, state);
            self.streams.load(lane, rng);
            self.v.iter_mut().zip(&state.v).for_each(|(row, &v)| row.0[lane] = v);
        }
        fits
    }

    fn run(&mut self, steps: u64) -> u64 {
        let mut made = 0;
        while made < steps {
            let some = (steps - made).min(self.side.most_steps);
            let now = dispatch!(self.level, _simd => self.steps(some));
            self.flush();
            made += now;
            if self.side.some_left {
                break;
            }
        }
        made
    }

    fn has_left(&self, lane: usize) -> bool {
        self.side.has_left(lane)
    }

    fn position(&mut self, lane: usize) -> &[i64] {
        self.side.position(lane)
    }

    fn take(&mut self, lane: usize) -> (LatticeState, Stream, u64) {
        let v = self.v.iter().map(|row| row.0[lane]).collect();
        let (state, moves) = self.side.take(lane);
        (LatticeState { v, ..state }, self.streams.stream(lane), moves)
    }
}

/// What every lane has of one chain.
pub(super) struct Side<'a, L: LatticeLaw> {
    pub kernel: &'a LatticeMetropolis<L>,
    /// By row of V, the entry of every chain.
    z: Vec<Row<i16>>,
    proposed: Vec<Row<i16>>,
    /// By block: the sum of parts and its energy, and ones in all bits where the last step was accepted.
    sums: Vec<Row<i32>>,
    energies: Vec<Row<f64>>,
    pub accepted: Vec<Row<i16>>,
    /// The largest sum of parts that a lane holds.
    limit: i32,
    /// Whether some lane holds more.
    pub some_left: bool,
    /// Steps that changed the state: since the last flush, and before.
    moved: Row<i16>,
    moves: Row<u64>,
    /// By lane: the last noise that was asked for; entries that no step changes are right at any time.
    positions: Vec<Vec<i64>>,
    /// Steps of which the jumps add up in 16 bits.
    pub most_steps: u64,
}

/// `Σ s²` of the largest steps s at most: added to values within [`SMALL`] their squares add up in 32 bits, since
/// (2^12 + 2^15)² < 2^31.
const MOST_SQUARES: i64 = 1 << 30;

impl<'a, L: LatticeLaw> Side<'a, L> {
    /// Makes empty lanes; `None` where a step could lead beyond what a lane holds.
    pub fn new(kernel: &'a LatticeMetropolis<L>) -> Option<Self> {
        let reach = i64::from(kernel.jumps.reach);
        for block in &kernel.blocks {
            let (mut start, mut squares) = (block.first_term, 0i64);
            for &(_, end) in &kernel.rows[block.rows.clone()] {
                let terms = &kernel.terms[start..end as usize];
                let largest = reach * terms.iter().map(|&(_, x)| i64::from(x).abs()).sum::<i64>();
                squares += largest.min(MOST_SQUARES) * largest.min(MOST_SQUARES);
                if largest > SMALL || squares > MOST_SQUARES {
                    return None;
                }
                start = end as usize;
            }
        }
        let (rows, blocks) = (kernel.rows.len(), kernel.blocks.len());
        Some(Self {
            kernel,
            z: vec![Row::default(); rows],
            proposed: vec![Row::default(); rows],
            sums: vec![Row::default(); blocks],
            energies: vec![Row([kernel.law.energy(0); LANES]); blocks],
            accepted: vec![Row::default(); blocks],
            limit: L::most_within(SMALL) as i32,
            some_left: false,
            moved: Row::default(),
            moves: Row::default(),
            positions: vec![vec![0; kernel.entries]; LANES],
            most_steps: (i16::MAX as u64) / reach as u64,
        })
    }

    /// Whether a lane holds this chain.
    pub fn fits(&self, state: &LatticeState) -> bool {
        state.sums.iter().all(|&sum| sum <= i64::from(self.limit))
    }

    /// Puts a chain that fits into a lane.
    pub fn load(&mut self, lane: usize, state: &LatticeState) {
        for (row, &(entry, _)) in self.z.iter_mut().zip(&self.kernel.rows) {
            row.0[lane] = state.z[entry as usize] as i16;
        }
        for ((sums, energies), &sum) in self.sums.iter_mut().zip(&mut self.energies).zip(&state.sums) {
            sums.0[lane] = sum as i32;
            energies.0[lane] = self.kernel.law.energy(sum);
        }
        self.moves.0[lane] = 0;
        self.positions[lane].copy_from_slice(&state.z);
    }

    /// The step of [`Kernel::apply`] in every lane.
    #[inline(always)]
    pub fn apply(&mut self, jumps: &[Row<i16>], thresholds: &[Row<f64>]) {
        let kernel = self.kernel;
        let (mut moved, mut left) = (Row([0i16; LANES]), Row([0i32; LANES]));
        for (b, block) in kernel.blocks.iter().enumerate() {
            let (rows, mut start) = (block.rows.clone(), block.first_term);
            let mut sum = Row([0i32; LANES]);
            for ((z, proposed), &(_, end)) in self.z[rows.clone()]
                .iter()
                .zip(&mut self.proposed[rows.clone()])
                .zip(&kernel.rows[rows.clone()])
            {
                let mut value = *z;
                for &(j, x) in &kernel.terms[start..end as usize] {
                    let (jump, x) = (jumps[j as usize], x as i16);
                    for l in 0..LANES {
                        // No overflow: both are small.
                        value.0[l] = value.0[l].wrapping_add(jump.0[l].wrapping_mul(x));
                    }
                }
                start = end as usize;
                for l in 0..LANES {
                    sum.0[l] = sum.0[l].wrapping_add(L::part_of_small(value.0[l]));
                }
                *proposed = value;
            }
            let (mut sums, mut energies, threshold) = (self.sums[b], self.energies[b], thresholds[b]);
            let mut accepted = Row([0i16; LANES]);
            for l in 0..LANES {
                let energy = kernel.law.energy(i64::from(sum.0[l]));
                let accept = energy - energies.0[l] <= threshold.0[l];
                accepted.0[l] = -i16::from(accept);
                energies.0[l] = if accept { energy } else { energies.0[l] };
                sums.0[l] = if accept { sum.0[l] } else { sums.0[l] };
                left.0[l] |= i32::from(sums.0[l] > self.limit);
            }
            (self.sums[b], self.energies[b], self.accepted[b]) = (sums, energies, accepted);
            for (z, &proposed) in self.z[rows.clone()].iter_mut().zip(&self.proposed[rows]) {
                let mut value = *z;
                for l in 0..LANES {
                    value.0[l] = proposed.0[l] & accepted.0[l] | value.0[l] & !accepted.0[l];
                }
                *z = value;
            }
            let mut any = Row([0i16; LANES]);
            for jump in &jumps[block.coordinates.clone()] {
                for l in 0..LANES {
                    any.0[l] |= jump.0[l];
                }
            }
            for l in 0..LANES {
                moved.0[l] |= any.0[l] & accepted.0[l];
            }
        }
        for l in 0..LANES {
            self.moved.0[l] += i16::from(moved.0[l] != 0);
        }
        self.some_left = left.0 != [0; LANES];
    }

    pub fn flush(&mut self) {
        self.moves.0.iter_mut().zip(&self.moved.0).for_each(|(moves, &moved)| *moves += moved as u64);
        self.moved = Row::default();
    }

    pub fn has_left(&self, lane: usize) -> bool {
        self.sums.iter().any(|row| row.0[lane] > self.limit)
    }

    pub fn position(&mut self, lane: usize) -> &[i64] {
        for (row, &(entry, _)) in self.z.iter().zip(&self.kernel.rows) {
            self.positions[lane][entry as usize] = i64::from(row.0[lane]);
        }
        &self.positions[lane]
    }

    /// Takes a chain out, without its coordinates; a chain at 0 is in its place.
    pub fn take(&mut self, lane: usize) -> (LatticeState, u64) {
        self.position(lane);
        let state = self.kernel.init(&self.positions[lane]);
        let moves = self.moves.0[lane];
        self.z.iter_mut().for_each(|row| row.0[lane] = 0);
        self.sums.iter_mut().for_each(|row| row.0[lane] = 0);
        self.energies.iter_mut().for_each(|row| row.0[lane] = self.kernel.law.energy(0));
        (state, moves)
    }
}
