//! Lattice Metropolis, the published chain.

use super::{Coupled, Kernel, start};
use crate::error::{Error, Result};
use crate::invariant::Linear;
use crate::lattice::{BasisKind, Sparse, basis};
use crate::law::LatticeLaw;
use crate::rng::{Rng, exponential, open01};
use std::ops::Range;

/// Algorithm 1 of Dharangutte, Gao, Gong, Yu, "Integer subspace differential privacy": all coordinates on
/// a basis of the lattice `{z : A z = 0}` are proposed at once by double geometric jumps, and one accept step
/// follows.
///
/// `z = V v`, `v* = v + e`, `P(e_j = k) ∝ a^|k|` (cut symmetrically where less than 1e-18 lies beyond, which
/// leaves the target exactly invariant), accepted with probability `min(1, q(V v*)/q(V v))`.
///
/// Where a law factorises over the components of the invariant, each component is proposed and accepted on
/// its own in every step, as the paper runs the states of a country one by one.
#[derive(Debug)]
pub struct LatticeMetropolis<L: LatticeLaw> {
    law: L,
    cells: usize,
    jumps: Jumps,
    blocks: Vec<Block>,
    basis: Vec<Sparse>,
    /// Of the basis, by row of V: (coordinate, entry).
    entries: Vec<(u32, i32)>,
    /// Rows of V: the cell, and where its entries end (they begin where the last row's end).
    rows: Vec<(u32, u32)>,
}

/// Cells and coordinates that are accepted together.
#[derive(Debug)]
struct Block {
    rows: Range<usize>,
    coordinates: Range<usize>,
    first_entry: usize,
}

/// State of [`LatticeMetropolis`].
#[derive(Debug, Clone)]
pub struct LatticeState {
    v: Vec<i64>,
    z: Vec<i64>,
    proposed: Vec<i64>,
    /// By block: `Σ part(z)`.
    sums: Vec<i64>,
}

/// Random inputs of one step: the jumps of all coordinates, and by block `-ln` of the accept test's uniform.
#[derive(Debug, Clone)]
pub struct LatticeNoise {
    jumps: Vec<i64>,
    thresholds: Vec<f64>,
}

impl<L: LatticeLaw> LatticeMetropolis<L> {
    /// `a`: the proposal's parameter, in (0, 1).
    ///
    /// Errors: `a` outside (0, 0.9999]; no free dimension; what [`basis`] refuses.
    pub fn new(invariant: &Linear, law: L, a: f64, kind: BasisKind) -> Result<Self> {
        law.check_size(invariant.cells())?;
        let jumps = Jumps::new(a)?;
        let components = if L::FACTORISES { invariant.components() } else { vec![invariant.whole()] };
        let (mut blocks, mut vectors) = (Vec::new(), Vec::new());
        let (mut rows, mut entries): (Vec<(u32, u32)>, Vec<(u32, i32)>) = Default::default();
        for component in &components {
            let new = basis(component, kind)?;
            if new.is_empty() {
                continue;
            }
            let first = vectors.len();
            let mut by_cell: Vec<(u32, u32, i32)> = Vec::new();
            for (j, vector) in new.iter().enumerate() {
                by_cell.extend(vector.iter().map(|&(cell, x)| (cell, (first + j) as u32, x)));
            }
            by_cell.sort_unstable();
            let (first_row, first_entry) = (rows.len(), entries.len());
            for (cell, j, x) in by_cell {
                if rows.len() == first_row || rows[rows.len() - 1].0 != cell {
                    rows.push((cell, 0));
                }
                entries.push((j, x));
                rows.last_mut().expect("just pushed").1 = entries.len() as u32;
            }
            vectors.extend(new);
            blocks.push(Block {
                rows: first_row..rows.len(),
                coordinates: first..vectors.len(),
                first_entry,
            });
        }
        if blocks.is_empty() {
            return Err(Error::Invariant("no free dimension: the invariant fixes every cell".into()));
        }
        Ok(Self { law, cells: invariant.cells(), jumps, blocks, basis: vectors, entries, rows })
    }

    /// Free dimensions.
    pub fn dimension(&self) -> usize {
        self.basis.len()
    }
}

impl<L: LatticeLaw> Kernel for LatticeMetropolis<L> {
    type Value = i64;
    type State = LatticeState;
    type Noise = LatticeNoise;
    const REJECTS: bool = true;

    /// `position`: a point of the lattice. The state's coordinates are counted from it; chains that are to be
    /// coupled need them from the same origin: [`Coupled::start`].
    fn init(&self, position: &[i64]) -> LatticeState {
        let part = |&(cell, _): &(u32, u32)| L::part(position[cell as usize]);
        let sums = self.blocks.iter().map(|block| self.rows[block.rows.clone()].iter().map(part).sum());
        LatticeState {
            v: vec![0; self.dimension()],
            z: position.to_vec(),
            proposed: vec![0; self.rows.len()],
            sums: sums.collect(),
        }
    }

    fn noise(&self) -> LatticeNoise {
        LatticeNoise { jumps: vec![0; self.dimension()], thresholds: vec![0.0; self.blocks.len()] }
    }

    #[inline]
    fn draw<R: Rng + ?Sized>(&self, rng: &mut R, noise: &mut LatticeNoise) {
        for jump in &mut noise.jumps {
            *jump = self.jumps.sample(rng);
        }
        for threshold in &mut noise.thresholds {
            *threshold = exponential(rng);
        }
    }

    #[inline]
    fn apply(&self, state: &mut LatticeState, noise: &LatticeNoise) -> bool {
        let LatticeState { v, z, proposed, sums } = state;
        let mut moved = false;
        for ((block, sum), &threshold) in self.blocks.iter().zip(sums).zip(&noise.thresholds) {
            let mut new_sum = 0;
            let mut start = block.first_entry;
            let rows = &self.rows[block.rows.clone()];
            let proposed = &mut proposed[block.rows.clone()];
            for (&(cell, end), out) in rows.iter().zip(proposed.iter_mut()) {
                let mut value = z[cell as usize];
                for &(j, x) in &self.entries[start..end as usize] {
                    value += noise.jumps[j as usize] * i64::from(x);
                }
                start = end as usize;
                *out = value;
                new_sum += L::part(value);
            }
            if new_sum > *sum && self.law.energy(new_sum) - self.law.energy(*sum) > threshold {
                continue;
            }
            *sum = new_sum;
            for (&(cell, _), &value) in rows.iter().zip(proposed.iter()) {
                z[cell as usize] = value;
            }
            for j in block.coordinates.clone() {
                v[j] += noise.jumps[j];
                moved |= noise.jumps[j] != 0;
            }
        }
        moved
    }

    fn position<'a>(&self, state: &'a LatticeState) -> &'a [i64] {
        &state.z
    }
}

/// Algorithm 2 of the source: maximal coupling of the two proposals coordinate by coordinate, one uniform for
/// both accepts. As printed, its line 4 stands inside the loop and would undo all coordinates but the last:
/// it belongs before it, as in Algorithm 1.
impl<L: LatticeLaw> Coupled for LatticeMetropolis<L> {
    fn start<R: Rng + ?Sized>(&self, rng: &mut R, scale: f64) -> LatticeState {
        let (v, z) = start(&self.basis, self.cells, rng, scale);
        LatticeState { v, ..self.init(&z) }
    }

    #[inline]
    fn draw_pair<R: Rng + ?Sized>(
        &self,
        rng: &mut R,
        (x, y): (&LatticeState, &LatticeState),
        (a, b): (&mut LatticeNoise, &mut LatticeNoise),
    ) {
        for ((e, other), (v, w)) in a.jumps.iter_mut().zip(&mut b.jumps).zip(x.v.iter().zip(&y.v)) {
            let apart = v - w;
            (*e, *other) = self.jumps.sample_pair(rng, apart);
        }
        for (threshold, other) in a.thresholds.iter_mut().zip(&mut b.thresholds) {
            *threshold = exponential(rng);
            *other = *threshold;
        }
    }
}

/// Double geometric jumps by the alias method, cut symmetrically.
///
/// `P(|e|)` is exact to the rounding of f64, the sign exactly even.
#[derive(Debug)]
struct Jumps {
    /// Columns of the alias table of |e|: a power of two of them; (threshold, alias).
    columns: Vec<(u64, u32)>,
    shift: u32,
    /// a^0, a^1, … up to twice the reach.
    powers: Vec<f64>,
    reach: i64,
}

impl Jumps {
    fn new(a: f64) -> Result<Self> {
        if !(a > 0.0 && a <= 0.9999) {
            return Err(Error::parameter("a", a, "a number in (0, 0.9999]"));
        }
        let rate = -libm::log(a);
        let reach = libm::ceil(42.0 / rate).max(1.0) as usize;
        let size = (reach + 1).next_power_of_two().max(2);
        // In units of 2^-63, so that the alias table represents them without further rounding.
        let weight = |k: usize| if k == 0 { 1.0 } else { 2.0 * libm::exp(-rate * k as f64) };
        let total: f64 = (0..=reach).rev().map(weight).sum();
        let unit = (1u64 << 63) as f64;
        let mut share: Vec<u64> =
            (0..size).map(|k| if k <= reach { (weight(k) / total * unit) as u64 } else { 0 }).collect();
        let rest: u64 = share[1..].iter().sum();
        share[0] = (1u64 << 63) - rest;
        // Vose (1991), A linear algorithm for generating random numbers with a given distribution: every column
        // holds `full`.
        let bits = size.trailing_zeros();
        let full = 1u64 << (63 - bits);
        let mut columns = vec![(full, 0u32); size];
        let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..size).partition(|&k| share[k] < full);
        while let Some(low) = small.pop() {
            let high = *large.last().expect("what the small ones lack the large ones have");
            columns[low] = (share[low], high as u32);
            share[high] -= full - share[low];
            if share[high] < full {
                large.pop();
                small.push(high);
            }
        }
        let powers = (0..=2 * reach).map(|k| libm::exp(-rate * k as f64)).collect();
        Ok(Self { columns, shift: 63 - bits, powers, reach: reach as i64 })
    }

    /// One word: its lowest bit is the sign, its highest the column, the rest the threshold.
    #[inline]
    fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> i64 {
        let word = rng.next_u64();
        let bits = word >> 1;
        let column = (bits >> self.shift) as usize;
        let (threshold, alias) = self.columns[column];
        let keep = bits & ((1 << self.shift) - 1) < threshold;
        let size = if keep { column as i64 } else { i64::from(alias) };
        let flip = (word & 1) as i64;
        (size ^ -flip) + flip
    }

    /// Jumps `(e, e')` of two coordinates at distance `apart` = v - w, each with the law of [`Jumps::sample`],
    /// with `v + e = w + e'` as often as possible.
    #[inline]
    fn sample_pair<R: Rng + ?Sized>(&self, rng: &mut R, apart: i64) -> (i64, i64) {
        let e = self.sample(rng);
        if apart == 0 {
            return (e, e);
        }
        let joint = e + apart;
        if self.keeps(rng, e, joint) {
            return (e, joint);
        }
        loop {
            let other = self.sample(rng);
            if !self.keeps(rng, other, other - apart) {
                return (e, other);
            }
        }
    }

    /// True with probability `min(1, η(to)/η(from))`.
    #[inline]
    fn keeps<R: Rng + ?Sized>(&self, rng: &mut R, from: i64, to: i64) -> bool {
        if to.abs() > self.reach {
            return false;
        }
        let further = to.abs() - from.abs();
        further <= 0 || open01(rng) < self.powers[further as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::{DiscreteGaussian, DoubleGeometric, EuclideanLaplace};
    use crate::testing::{
        assert_frequencies, assert_stationary, lattice_points, small_lattices, test_stream,
    };

    impl Jumps {
        /// `P(e)` as the table implies it.
        fn p(&self, e: i64) -> f64 {
            let unit = (1u64 << self.shift) as f64 * self.columns.len() as f64;
            let size = e.unsigned_abs();
            let mut p = 0.0;
            for (k, &(threshold, alias)) in self.columns.iter().enumerate() {
                p += if k as u64 == size { threshold as f64 / unit } else { 0.0 };
                if u64::from(alias) == size && threshold < 1 << self.shift {
                    p += ((1u64 << self.shift) - threshold) as f64 / unit;
                }
            }
            if e == 0 { p } else { 0.5 * p }
        }
    }

    #[test]
    fn jump_table_is_the_double_geometric() {
        for a in [0.05, (-2.5f64).exp(), (-1.0f64).exp(), 0.9] {
            let jumps = Jumps::new(a).unwrap();
            let norm = (1.0 - a) / (1.0 + a);
            let mut total = 0.0;
            for e in -jumps.reach..=jumps.reach {
                let want = norm * a.powi(e.unsigned_abs() as i32);
                assert!((jumps.p(e) - want).abs() < 4e-16, "{a} {e}: {} {want}", jumps.p(e));
                total += jumps.p(e);
            }
            assert!((total - 1.0).abs() < 1e-15);
        }
        assert!(Jumps::new(1.0).is_err() && Jumps::new(0.0).is_err() && Jumps::new(f64::NAN).is_err());
    }

    /// The transition matrix on a listed support, through [`Kernel::apply`]: the chance of acceptance is read off
    /// the threshold at which it changes.
    fn stationary<L: LatticeLaw>(law: L) {
        for invariant in small_lattices() {
            let kernel = LatticeMetropolis::new(&invariant, law, 0.3, BasisKind::Smith).unwrap();
            let points = lattice_points(&invariant, 7);
            // Coordinates of the points: V has full column rank, so small ones are found by listing.
            let at = |v: &[i64]| {
                let mut z = vec![0i64; kernel.cells];
                for (vector, v) in kernel.basis.iter().zip(v) {
                    vector.iter().for_each(|&(cell, x)| z[cell as usize] += i64::from(x) * v);
                }
                z
            };
            let m = kernel.dimension() as u32;
            let coordinates: std::collections::HashMap<Vec<i64>, Vec<i64>> = (0..31usize.pow(m))
                .map(|index| (0..m).map(|j| (index / 31usize.pow(j) % 31) as i64 - 15).collect::<Vec<i64>>())
                .map(|v| (at(&v), v))
                .collect();
            // One block at a time: a step of several blocks is a product of such steps.
            for block in 0..kernel.blocks.len() {
                let own = kernel.blocks[block].coordinates.clone();
                assert_stationary(
                    &points,
                    |z| L::part(z),
                    |sum| law.energy(sum),
                    |from| {
                        let v = &coordinates[from];
                        let mut stays = 1.0;
                        let mut row = Vec::new();
                        for to in &points {
                            let w = &coordinates[to];
                            let jumps: Vec<i64> = v.iter().zip(w).map(|(v, w)| w - v).collect();
                            let outside = (0..jumps.len()).any(|j| !own.contains(&j) && jumps[j] != 0);
                            if to == from || outside {
                                continue;
                            }
                            let accepts = |threshold: f64| {
                                let mut state = kernel.init(from);
                                let thresholds = vec![threshold; kernel.blocks.len()];
                                let moved = kernel
                                    .apply(&mut state, &LatticeNoise { jumps: jumps.clone(), thresholds });
                                assert_eq!(&state.z, if moved { to } else { from });
                                moved
                            };
                            let (mut low, mut high) = (0.0, 200.0);
                            let accepted = if accepts(0.0) {
                                1.0
                            } else {
                                for _ in 0..60 {
                                    let middle = 0.5 * (low + high);
                                    if accepts(middle) { high = middle } else { low = middle }
                                }
                                libm::exp(-high)
                            };
                            let p = own.clone().map(|j| kernel.jumps.p(jumps[j])).product::<f64>() * accepted;
                            stays -= p;
                            row.push((to.clone(), p));
                        }
                        row.push((from.to_vec(), stays));
                        row
                    },
                );
            }
        }
    }

    #[test]
    fn steps_leave_the_target_invariant() {
        stationary(DoubleGeometric::new(0.35).unwrap());
        stationary(DiscreteGaussian::new(0.7).unwrap());
        stationary(EuclideanLaplace::new(0.25).unwrap());
    }

    /// Both jumps of a coupled pair have the law of one, and they lead to the same place as often as can be.
    #[test]
    fn coupled_jumps_have_their_marginals() {
        let jumps = Jumps::new((-1.0f64).exp()).unwrap();
        let mut rng = test_stream(4);
        for apart in [0i64, 1, -3, 40, 100] {
            let draws = 200_000;
            let mut seen = std::collections::HashMap::new();
            let mut together = 0u64;
            for _ in 0..draws {
                let (e, other) = jumps.sample_pair(&mut rng, apart);
                *seen.entry((0, e)).or_insert(0u64) += 1;
                *seen.entry((1, other)).or_insert(0u64) += 1;
                together += u64::from(e + apart == other);
            }
            for which in [0, 1] {
                assert_frequencies(
                    (-20..=20).map(|e| (seen.get(&(which, e)).copied().unwrap_or(0), jumps.p(e))),
                    draws,
                );
            }
            let overlap: f64 = (-200..=200).map(|e| jumps.p(e).min(jumps.p(e + apart))).sum();
            if overlap < 1.0 - 1e-9 && overlap > 1e-4 {
                assert_frequencies([(together, overlap), (draws - together, 1.0 - overlap)], draws);
            } else {
                assert_eq!(together, if apart == 0 { draws } else { 0 });
            }
        }
    }
}
