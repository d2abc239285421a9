//! Lattice Metropolis, the published chain.

mod lanes;
mod pairs;

use super::jumps::Jumps;
use super::{Coupled, Dispersed, Kernel, Lanes, Pairs, Start, coordinates, coordinates_log_density, widest};
use crate::error::{Error, Result};
use crate::invariant::{Linear, basis};
use crate::lattice::{BasisKind, Sparse};
use crate::law::LatticeLaw;
use crate::rng::{Rng, exponential};
use lanes::MetropolisLanes;
use pairs::MetropolisPairs;
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
    entries: usize,
    jumps: Jumps,
    blocks: Vec<Block>,
    /// Chunks of all packed blocks.
    chunks: usize,
    basis: Vec<Sparse>,
    /// The terms of the basis, by row of V: (coordinate, coefficient).
    terms: Vec<(u32, i32)>,
    /// Rows of V: the entry, and where its terms end (they begin where the last row's end).
    rows: Vec<(u32, u32)>,
}

/// Entries and coordinates that are accepted together.
#[derive(Debug)]
struct Block {
    rows: Range<usize>,
    coordinates: Range<usize>,
    first_term: usize,
    /// The basis as packed columns: chunk of rows by chunk, coordinate by coordinate. Empty where its terms are
    /// less work, or where a step could reach beyond [`SMALL`].
    packed: Vec<Packed>,
    /// The chunks of the block in the packed states; empty with `packed`.
    chunks: Range<usize>,
}

/// Sixteen entries: two registers of any x86-64 or arm64 processor.
type Packed = [i16; ENTRIES];
/// Rows of a packed column.
const ENTRIES: usize = 16;
/// Values up to here stay packed: with a step as large their squares still add up in 32 bits.
const SMALL: i64 = 1 << 12;

/// State of [`LatticeMetropolis`].
#[derive(Debug, Clone)]
pub struct LatticeState {
    v: Vec<i64>,
    z: Vec<i64>,
    proposed: Vec<i64>,
    /// The blocks with packed columns, 16 entries at a time: z as long as it is small, and what is proposed.
    packed: Vec<Packed>,
    packed_proposed: Vec<Packed>,
    /// By block: `Σ part(z)`.
    sums: Vec<i64>,
}

/// Random inputs of one step: the jumps of all coordinates, and by block `-ln` of the accept test's uniform.
#[derive(Debug, Clone)]
pub struct LatticeNoise {
    jumps: Vec<i32>,
    thresholds: Vec<f64>,
}

impl<L: LatticeLaw> LatticeMetropolis<L> {
    /// Prepares the chain. `a`: the proposal's parameter, in (0, 1).
    ///
    /// Errors: `a` outside (0, 0.9999]; no free dimension; what [`basis`] refuses.
    pub fn new(invariant: &Linear, law: L, a: f64, kind: BasisKind) -> Result<Self> {
        let jumps = Jumps::new(a)?;
        let components = if L::FACTORISES { invariant.components() } else { vec![invariant.whole()] };
        let (mut blocks, mut vectors, mut chunks) = (Vec::new(), Vec::new(), 0);
        let mut rows: Vec<(u32, u32)> = Vec::new();
        let mut terms: Vec<(u32, i32)> = Vec::new();
        for component in &components {
            let new = basis(component, kind)?;
            if new.is_empty() {
                continue;
            }
            let first = vectors.len();
            let mut by_entry: Vec<(u32, u32, i32)> = Vec::new();
            for (j, vector) in new.iter().enumerate() {
                by_entry.extend(vector.iter().map(|&(entry, x)| (entry, (first + j) as u32, x)));
            }
            by_entry.sort_unstable();
            let (first_row, first_term) = (rows.len(), terms.len());
            for (entry, j, x) in by_entry {
                if rows.len() == first_row || rows[rows.len() - 1].0 != entry {
                    rows.push((entry, 0));
                }
                terms.push((j, x));
                rows.last_mut().expect("just pushed").1 = terms.len() as u32;
            }
            vectors.extend(new);
            let (own_rows, coordinates) = (first_row..rows.len(), first..vectors.len());
            let packed = pack(&rows, &terms, own_rows.clone(), coordinates.clone(), first_term, jumps.reach);
            let own_chunks = chunks..chunks + packed.len() / coordinates.len();
            chunks = own_chunks.end;
            blocks.push(Block { rows: own_rows, coordinates, first_term, packed, chunks: own_chunks });
        }
        if blocks.is_empty() {
            return Err(Error::no_free_dimension());
        }
        let widest = widest(&vectors, invariant.entries());
        law.check_size(invariant.entries(), widest, f64::from(jumps.reach), true)?;
        Ok(Self { law, entries: invariant.entries(), jumps, blocks, chunks, basis: vectors, terms, rows })
    }

    /// The number of free dimensions.
    pub fn dimension(&self) -> usize {
        self.basis.len()
    }
}

/// The block's packed columns; empty where they do not serve.
fn pack(
    rows: &[(u32, u32)],
    terms: &[(u32, i32)],
    own_rows: Range<usize>,
    coordinates: Range<usize>,
    first_term: usize,
    reach: i32,
) -> Vec<Packed> {
    let own = &rows[own_rows];
    let terms_here = own.last().map_or(0, |&(_, end)| end as usize - first_term);
    if 2 * own.len().div_ceil(ENTRIES) * coordinates.len() > terms_here {
        return Vec::new();
    }
    let mut packed = vec![[0; ENTRIES]; own.len().div_ceil(ENTRIES) * coordinates.len()];
    let mut start = first_term;
    for (i, &(_, end)) in own.iter().enumerate() {
        let row = &terms[start..end as usize];
        let largest: i64 = row.iter().map(|&(_, x)| i64::from(x.abs())).sum();
        if largest * i64::from(reach) > SMALL {
            return Vec::new();
        }
        for &(j, x) in row {
            packed[i / ENTRIES * coordinates.len() + (j as usize - coordinates.start)][i % ENTRIES] =
                x as i16;
        }
        start = end as usize;
    }
    packed
}

/// Packs small values.
fn pack_values(values: impl Iterator<Item = i64>) -> Packed {
    let mut packed = [0; ENTRIES];
    packed.iter_mut().zip(values).for_each(|(p, value)| *p = value as i16);
    packed
}

/// `z + V e` by packed columns into `proposed`; the sum of its parts.
#[inline]
fn propose_packed<L: LatticeLaw>(
    columns: &[Packed],
    z: &[Packed],
    jumps: &[i32],
    proposed: &mut [Packed],
) -> i64 {
    let mut sum = 0;
    for ((z, out), columns) in z.iter().zip(proposed).zip(columns.chunks_exact(jumps.len())) {
        let mut value = *z;
        for (column, &jump) in columns.iter().zip(jumps) {
            // Opaque, so that the compiler works on the 16 entries at once and not on several columns.
            let jump = std::hint::black_box(jump as i16);
            for l in 0..ENTRIES {
                // No overflow: z is small, and so is every step of a block that has packed columns.
                value[l] = value[l].wrapping_add(column[l].wrapping_mul(jump));
            }
        }
        *out = value;
        sum += i64::from(value.into_iter().map(L::part_of_small).sum::<i32>());
    }
    sum
}

impl<L: LatticeLaw> LatticeMetropolis<L> {
    /// `z + V e` by the terms of V into `proposed`; the sum of its parts.
    #[inline]
    fn propose_sparse(
        &self,
        block: &Block,
        rows: &[(u32, u32)],
        z: &[i64],
        jumps: &[i32],
        proposed: &mut [i64],
    ) -> i64 {
        let (mut sum, mut start) = (0, block.first_term);
        for (&(entry, end), out) in rows.iter().zip(proposed) {
            let mut value = z[entry as usize];
            for &(j, x) in &self.terms[start..end as usize] {
                value += i64::from(jumps[j as usize]) * i64::from(x);
            }
            start = end as usize;
            *out = value;
            sum += L::part(value);
        }
        sum
    }
}

impl<L: LatticeLaw> Kernel for LatticeMetropolis<L> {
    type Value = i64;
    type State = LatticeState;
    type Noise = LatticeNoise;
    const REJECTS: bool = true;

    /// Makes the state at `position`, a point of the lattice. The state's coordinates are counted from it; chains that
    /// are to be coupled need them from the same origin: [`Dispersed::start`].
    fn init(&self, position: &[i64]) -> LatticeState {
        let part = |&(entry, _): &(u32, u32)| L::part(position[entry as usize]);
        let sums: Vec<i64> =
            self.blocks.iter().map(|block| self.rows[block.rows.clone()].iter().map(part).sum()).collect();
        let mut packed = vec![[0; ENTRIES]; self.chunks];
        for (block, &sum) in self.blocks.iter().zip(&sums) {
            if !block.packed.is_empty() && sum <= L::most_within(SMALL) {
                let rows = self.rows[block.rows.clone()].chunks(ENTRIES);
                for (rows, words) in rows.zip(&mut packed[block.chunks.clone()]) {
                    *words = pack_values(rows.iter().map(|&(entry, _)| position[entry as usize]));
                }
            }
        }
        LatticeState {
            v: vec![0; self.dimension()],
            z: position.to_vec(),
            proposed: vec![0; self.rows.len()],
            packed_proposed: packed.clone(),
            packed,
            sums,
        }
    }

    fn noise(&self) -> LatticeNoise {
        LatticeNoise { jumps: vec![0; self.dimension()], thresholds: vec![0.0; self.blocks.len()] }
    }

    #[inline]
    fn draw<R: Rng + ?Sized>(&self, rng: &mut R, noise: &mut LatticeNoise) {
        self.jumps.fill(rng, &mut noise.jumps);
        for threshold in &mut noise.thresholds {
            *threshold = exponential(rng);
        }
    }

    #[inline]
    fn apply(&self, state: &mut LatticeState, noise: &LatticeNoise) -> bool {
        let LatticeState { v, z, proposed, packed, packed_proposed, sums } = state;
        let mut moved = false;
        for ((block, sum), &threshold) in self.blocks.iter().zip(sums).zip(&noise.thresholds) {
            let jumps = &noise.jumps[block.coordinates.clone()];
            let packed = &mut packed[block.chunks.clone()];
            let packed_proposed = &mut packed_proposed[block.chunks.clone()];
            let small = !packed.is_empty() && *sum <= L::most_within(SMALL);
            let new_sum = if small {
                propose_packed::<L>(&block.packed, packed, jumps, packed_proposed)
            } else {
                let rows = &self.rows[block.rows.clone()];
                self.propose_sparse(block, rows, z, &noise.jumps, &mut proposed[block.rows.clone()])
            };
            let accepted = self.law.energy(new_sum) - self.law.energy(*sum) <= threshold;
            if !accepted {
                continue;
            }
            *sum = new_sum;
            let rows = &self.rows[block.rows.clone()];
            if small {
                packed.copy_from_slice(packed_proposed);
                for (&(entry, _), &value) in rows.iter().zip(packed.as_flattened()) {
                    z[entry as usize] = i64::from(value);
                }
            } else {
                let proposed = &proposed[block.rows.clone()];
                for (&(entry, _), &value) in rows.iter().zip(proposed) {
                    z[entry as usize] = value;
                }
                if new_sum <= L::most_within(SMALL) {
                    for (values, words) in proposed.chunks(ENTRIES).zip(packed) {
                        *words = pack_values(values.iter().copied());
                    }
                }
            }
            for (v, &jump) in v[block.coordinates.clone()].iter_mut().zip(jumps) {
                *v += i64::from(jump);
                moved |= jump != 0;
            }
        }
        moved
    }

    fn position<'a>(&self, state: &'a LatticeState) -> &'a [i64] {
        &state.z
    }

    fn lanes(&self) -> Option<Box<dyn Lanes<Self> + '_>> {
        Some(Box::new(MetropolisLanes::new(self)?))
    }
}

/// Algorithm 2 of the source: maximal coupling of the two proposals coordinate by coordinate, one uniform for
/// both accepts. As printed, its line 4 stands inside the loop and would undo all coordinates but the last:
/// it belongs before it, as in Algorithm 1.
impl<L: LatticeLaw> Dispersed for LatticeMetropolis<L> {
    /// Draws double geometric coordinates; at [`Start::Published`] with the proposal's own law on each, as published.
    fn start<R: Rng + ?Sized>(&self, start: Start, rng: &mut R) -> Result<LatticeState> {
        let (v, z) = coordinates(&self.basis, self.entries, rng, self.start_scale(start));
        Ok(LatticeState { v, ..self.init(&z) })
    }

    fn weighted_start<R: Rng + ?Sized>(
        &self,
        start: Start,
        rng: &mut R,
    ) -> Result<Option<(LatticeState, f64)>> {
        let state = self.start(start, rng)?;
        let density = coordinates_log_density(&state.v, self.start_scale(start));
        let log_weight = -self.law.energy(state.sums.iter().sum()) - density;
        Ok(Some((state, log_weight)))
    }
}

impl<L: LatticeLaw> LatticeMetropolis<L> {
    /// The scale of the double geometric coordinates of a start.
    fn start_scale(&self, start: Start) -> f64 {
        let wide = self.law.start_scale(self.entries);
        match start {
            Start::OverDispersed => wide,
            Start::FreeNoise => 0.5 * wide,
            Start::Published => self.jumps.scale,
        }
    }
}

impl<L: LatticeLaw> Coupled for LatticeMetropolis<L> {
    #[inline]
    fn draw_pair<R: Rng + ?Sized>(
        &self,
        rng: &mut R,
        (x, y): (&LatticeState, &LatticeState),
        (a, b): (&mut LatticeNoise, &mut LatticeNoise),
    ) {
        for ((e, other), (v, w)) in a.jumps.iter_mut().zip(&mut b.jumps).zip(x.v.iter().zip(&y.v)) {
            let apart = v - w;
            (*e, *other) = self.jumps.pair(rng, apart);
        }
        for (threshold, other) in a.thresholds.iter_mut().zip(&mut b.thresholds) {
            *threshold = exponential(rng);
            *other = *threshold;
        }
    }

    fn pairs(&self) -> Option<Box<dyn Pairs<Self> + '_>> {
        Some(Box::new(MetropolisPairs::new(self)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::{DiscreteGaussian, DoubleGeometric, EuclideanLaplace};
    use crate::testing::{assert_harmonized, assert_stationary, lattice_points, small_lattices, test_stream};

    /// The plain reference of the packed columns: the sparse terms.
    #[test]
    fn packed_and_sparse_proposals_agree() {
        fn agree<L: LatticeLaw>(law: L, start_scale: f64) {
            for invariant in [Linear::margins(4, 4).unwrap(), Linear::margins(5, 5).unwrap()] {
                let kernel = LatticeMetropolis::new(&invariant, law, 0.4, BasisKind::Smith).unwrap();
                let block = &kernel.blocks[0];
                assert!(!block.packed.is_empty());
                let mut rng = test_stream(6);
                let (v, z) = coordinates(&kernel.basis, kernel.entries, &mut rng, start_scale);
                let (mut state, mut noise) = (LatticeState { v, ..kernel.init(&z) }, kernel.noise());
                let mut plain = vec![0; kernel.rows.len()];
                for _ in 0..300 {
                    kernel.draw(&mut rng, &mut noise);
                    let want = kernel.propose_sparse(block, &kernel.rows, &state.z, &noise.jumps, &mut plain);
                    let before = state.z.clone();
                    if state.sums[0] <= L::most_within(SMALL) {
                        let mut packed = state.packed.clone();
                        let got =
                            propose_packed::<L>(&block.packed, &state.packed, &noise.jumps, &mut packed);
                        assert_eq!(got, want);
                    }
                    kernel.apply(&mut state, &noise);
                    assert!(state.z == plain || state.z == before);
                    assert_eq!(state.sums[0], state.z.iter().map(|&z| L::part(z)).sum::<i64>());
                }
            }
        }
        // Starts within and beyond what is packed.
        for scale in [5.0, 2000.0] {
            agree(DoubleGeometric::new(4.0).unwrap(), scale);
            agree(EuclideanLaplace::new(4.0).unwrap(), scale);
        }
    }

    impl<L: LatticeLaw> LatticeMetropolis<L> {
        /// The coordinates of points, found by listing: V has full column rank.
        pub(in crate::kernel) fn coordinates(&self, points: &[Vec<i64>]) -> Vec<Vec<i64>> {
            let at = |v: &[i64]| {
                let mut z = vec![0i64; self.entries];
                for (vector, v) in self.basis.iter().zip(v) {
                    vector.iter().for_each(|&(entry, x)| z[entry as usize] += i64::from(x) * v);
                }
                z
            };
            let m = self.dimension() as u32;
            let known: std::collections::HashMap<Vec<i64>, Vec<i64>> = (0..31usize.pow(m))
                .map(|index| (0..m).map(|j| (index / 31usize.pow(j) % 31) as i64 - 15).collect::<Vec<i64>>())
                .map(|v| (at(&v), v))
                .collect();
            points.iter().map(|z| known[z].clone()).collect()
        }

        /// The coordinates of each block.
        pub(in crate::kernel) fn blocks_of_coordinates(&self) -> Vec<Range<usize>> {
            self.blocks.iter().map(|block| block.coordinates.clone()).collect()
        }

        /// The probability of a jump of one coordinate.
        pub(in crate::kernel) fn jump_p(&self, jump: i64) -> f64 {
            self.jumps.p(jump as i32)
        }
    }

    /// The transition matrix on a listed support, through [`Kernel::apply`]: the chance of acceptance is read off
    /// the threshold at which it changes.
    fn stationary<L: LatticeLaw>(law: L) {
        for invariant in small_lattices() {
            let kernel = LatticeMetropolis::new(&invariant, law, 0.3, BasisKind::Smith).unwrap();
            let points = lattice_points(&invariant, 7);
            let coordinates: std::collections::HashMap<&Vec<i64>, Vec<i64>> =
                points.iter().zip(kernel.coordinates(&points)).collect();
            // One block at a time: a step of several blocks is a product of such steps.
            for block in 0..kernel.blocks.len() {
                let own = kernel.blocks[block].coordinates.clone();
                assert_stationary(
                    &points,
                    |z| L::part(z),
                    |sum| law.energy(sum),
                    |from| {
                        let v = &coordinates[&from.to_vec()];
                        let mut stays = 1.0;
                        let mut row = Vec::new();
                        for to in &points {
                            let w = &coordinates[&to];
                            let jumps: Vec<i32> = v.iter().zip(w).map(|(v, w)| (w - v) as i32).collect();
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

    /// At every start the weight is the ratio of the listed laws; the law of starts is that of the coordinates.
    #[test]
    fn weights_of_starts() {
        fn check<L: LatticeLaw>(law: L) {
            let kernel =
                LatticeMetropolis::new(&Linear::margins(2, 3).unwrap(), law, 0.3, BasisKind::Smith).unwrap();
            let side = -50i64..=50;
            let coordinates: Vec<[i64; 2]> =
                side.clone().flat_map(|a| side.clone().map(move |b| [a, b])).collect();
            let place = |v: &[i64; 2]| -> Vec<i64> {
                let mut z = vec![0; 6];
                for (vector, v) in kernel.basis.iter().zip(v) {
                    vector.iter().for_each(|&(entry, x)| z[entry as usize] += i64::from(x) * v);
                }
                z
            };
            let points: Vec<Vec<i64>> = coordinates.iter().map(place).collect();
            let known: std::collections::HashMap<&Vec<i64>, &[i64; 2]> =
                points.iter().zip(&coordinates).collect();
            let target = |z: &[i64]| -law.energy(z.iter().map(|&z| L::part(z)).sum());
            let wide = law.start_scale(6);
            let scales = [wide, 0.5 * wide, -1.0 / libm::log(0.3)];
            let starts = [Start::OverDispersed, Start::FreeNoise, Start::Published];
            for (start, scale) in starts.into_iter().zip(scales) {
                let of_start =
                    |z: &[i64]| -known[&z.to_vec()].map(|v| v.abs() as f64).iter().sum::<f64>() / scale;
                let how = (&[0][..], (5000, 8));
                assert_harmonized(&kernel, &points, |_| Vec::new(), [&target, &of_start], start, how);
            }
        }
        check(DoubleGeometric::new(1.5).unwrap());
        check(EuclideanLaplace::new(0.8).unwrap());
    }

    #[test]
    fn steps_leave_the_target_invariant() {
        stationary(DoubleGeometric::new(0.35).unwrap());
        stationary(DiscreteGaussian::new(0.7).unwrap());
        stationary(EuclideanLaplace::new(0.25).unwrap());
    }
}
