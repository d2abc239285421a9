//! From the solution in floating point to the grid, on which every sum is exactly 0.

use super::super::grid::{GRID, grid, largest, nearest, power};
use super::Crossing;
use crate::error::{Error, Result};
use std::collections::VecDeque;

/// How far from a bound an entry takes up the rounding of others before those that are nearer do, in counts.
const ROOM: f64 = 1e-3;
/// Distance to a bound, relative to `1 + ‖u‖∞`, at which an entry lies on it.
const ON_BOUND: f64 = 1e-9;
/// How far a value may be moved, relative to `1 + ‖u‖∞`.
const MOVED: f64 = 1e-5;

impl Crossing {
    /// A point of the grid next to `z` within the bounds and with all sums 0: the values in units of `2^-bits`, and the bits.
    ///
    /// Entries at a bound stay there, the others are rounded. What this leaves of the sums goes from one to the other
    /// over entries: far from their bounds, else between them, else any. There always is a way, for 0 is a point of the
    /// table and its matrix is totally unimodular.
    ///
    /// Errors: a value would be moved by more than 1e-5 of `scale`.
    pub(in super::super) fn place(&self, z: &[f64], scale: f64) -> Result<(Vec<i64>, u32)> {
        let bits = grid(1.0 + largest(z), GRID);
        let on = |&(entry, bound): &(usize, f64)| (z[entry] - bound).abs() <= ON_BOUND * scale;
        let bound = |entry: usize| {
            [self.lower[entry], self.upper[entry]].map(|bound| (entry, bound)).into_iter().find(on)
        };
        let held: Vec<bool> = (0..z.len()).map(|entry| bound(entry).is_some()).collect();
        let units = |entry: usize| match bound(entry) {
            Some((_, bound)) => (bound as i64) << bits,
            None => nearest(z[entry] * power(bits)) as i64,
        };
        let mut units: Vec<i64> = (0..z.len()).map(units).collect();
        let mut sums = vec![0i64; self.columns.len()];
        for (&unit, ends) in units.iter().zip(&self.ends) {
            ends.iter().for_each(|&end| sums[end as usize] += unit);
        }
        let far = ((ROOM * power(bits)) as i64).max(1);
        for (room, all) in [(far, false), (1, false), (1, true)] {
            let open = |entry: usize, room_left: i128| (all || !held[entry]) && room_left >= i128::from(room);
            for equation in 0..sums.len() {
                while self.surplus(&sums, equation) > 0
                    && self.send(equation, bits, &mut units, &mut sums, open)
                {}
            }
        }
        let moved =
            units.iter().zip(z).map(|(&unit, z)| (unit as f64 / power(bits) - z).abs()).fold(0.0, f64::max);
        if moved <= MOVED * scale && sums.iter().all(|&sum| sum == 0) {
            return Ok((units, bits));
        }
        Err(Error::NotConverged {
            what: "the exact rounding of a two-way table under bounds",
            residuals: format!("a value would move by {moved:e}"),
        })
    }

    /// What a row has too much, or a column too little: entries that are lowered carry it from rows to columns, others back.
    fn surplus(&self, sums: &[i64], equation: usize) -> i64 {
        if self.columns[equation] { -sums[equation] } else { sums[equation] }
    }

    /// Sends surplus from an equation along the shortest way over open entries to one that lacks it. `false`: there is no way.
    fn send(
        &self,
        from: usize,
        bits: u32,
        units: &mut [i64],
        sums: &mut [i64],
        open: impl Fn(usize, i128) -> bool,
    ) -> bool {
        // Down a row, or up a column.
        let room = |units: &[i64], equation: usize, entry: usize| -> i128 {
            let (unit, shift) = (i128::from(units[entry]), |bound: f64| (bound as i128) << bits);
            if self.columns[equation] {
                shift(self.upper[entry]) - unit
            } else {
                unit - shift(self.lower[entry])
            }
        };
        let mut over = vec![u32::MAX; sums.len()];
        let mut queue = VecDeque::from([from]);
        let mut last = None;
        'search: while let Some(equation) = queue.pop_front() {
            for &entry in self.of_sum(equation) {
                let [row, column] = self.ends[entry as usize].map(|end| end as usize);
                let next = if row == equation { column } else { row };
                let new = next != from && over[next] == u32::MAX;
                if !new || !open(entry as usize, room(units, equation, entry as usize)) {
                    continue;
                }
                over[next] = entry;
                if self.surplus(sums, next) < 0 {
                    last = Some(next);
                    break 'search;
                }
                queue.push_back(next);
            }
        }
        let Some(last) = last else { return false };
        let mut path: Vec<(usize, usize)> = Vec::new();
        let mut at = last;
        while at != from {
            let entry = over[at] as usize;
            let [row, column] = self.ends[entry].map(|end| end as usize);
            at = if row == at { column } else { row };
            path.push((at, entry));
        }
        let least = i128::from(self.surplus(sums, from).min(-self.surplus(sums, last)));
        let amount =
            path.iter().map(|&(equation, entry)| room(units, equation, entry)).fold(least, i128::min) as i64;
        for &(equation, entry) in &path {
            let step = if self.columns[equation] { amount } else { -amount };
            units[entry] += step;
            self.ends[entry].iter().for_each(|&end| sums[end as usize] += step);
        }
        amount > 0
    }
}
