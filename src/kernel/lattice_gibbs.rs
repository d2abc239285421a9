//! Line Gibbs on any lattice.

use super::{Coupled, Dispersed, Kernel, start, widest};
use crate::error::{Error, Result};
use crate::invariant::{Linear, Moves, Region, start_basis};
use crate::lattice::Sparse;
use crate::law::{LatticeLaw, Line, downhill};
use crate::rng::{Rng, below, open01};

/// Gibbs sampler of a [`LatticeLaw`] on `{z : A z = 0}` that moves along one short lattice vector at a time and
/// draws the step exactly from its law along that line ([`LatticeLaw::line`]): no rejection, no tuning.
///
/// The vector is drawn uniformly from a set that generates the lattice: pairs `e_i - e_j` inside a total,
/// 2 × 2 swaps of a two-way table, else pairs of equal columns and, for the group sums, a basis (reduced by LLL up
/// to [`crate::lattice::MAX_REDUCED`] dimensions) with its sums and differences by pairs that are no longer than its
/// longest vector. Components of the
/// invariant are chosen in proportion to their entries.
///
/// With inequalities the step is drawn within the interval that they leave on the line. Then the vectors must connect
/// all points within the bounds, which a generating set need not: pairs do under one total, 2 × 2 swaps on a two-way
/// table with lower bounds, and everywhere else the Graver basis of the group sums is computed, and the invariant
/// refused where that is too large.
///
/// Coupled chains ([`Coupled`]) share the vector and the quantile `u`. The step increases with `u`, and the place
/// where it leads on a line with the place where it begins; in practice the chains contract, and on a lattice they
/// meet exactly.
#[derive(Debug)]
pub struct LatticeGibbs<L: LatticeLaw> {
    law: L,
    tables: L::Tables,
    entries: usize,
    /// Where chains start: a basis of the lattice.
    basis: Vec<Sparse>,
    /// By component.
    moves: Vec<Moves>,
    /// By entry: its component, if there are several.
    owners: Vec<u32>,
    /// Inequalities, if there are any.
    region: Option<Region>,
}

/// State of [`LatticeGibbs`].
#[derive(Debug, Clone)]
pub struct LatticeGibbsState {
    z: Vec<i64>,
    /// `Σ part(z)`.
    sum: i64,
    line: Line<i64>,
}

/// One move: the vector, and where in the law of the step.
#[derive(Debug, Clone)]
pub struct LatticeMove {
    vector: Sparse,
    u: f64,
}

impl<L: LatticeLaw> LatticeGibbs<L> {
    /// `region`: inequalities on the noise, if any.
    ///
    /// Errors: no free dimension; a lattice whose basis is refused by [`crate::invariant::basis`]; a scale for
    /// which sums of squares could overflow; inequalities under which no connecting moves are known.
    pub fn new(invariant: &Linear, region: Option<&Region>, law: L) -> Result<Self> {
        let region = region.filter(|region| !region.is_everything());
        let everything = Region::everything();
        let components: Vec<_> = region
            .unwrap_or(&everything)
            .components(invariant)
            .into_iter()
            .filter(|c| c.component.rows.is_empty() || c.component.entries.len() > 1)
            .collect();
        let mut moves = Vec::new();
        let (mut owners, mut basis) = (Vec::new(), Vec::new());
        for bounded in &components {
            let some = Moves::within(bounded)?;
            if matches!(&some, Moves::Listed(list) if list.is_empty()) {
                continue;
            }
            owners.extend(std::iter::repeat_n(moves.len() as u32, bounded.component.entries.len()));
            moves.push(some);
            basis.extend(start_basis(&bounded.component)?);
        }
        if moves.is_empty() {
            return Err(Error::no_free_dimension());
        }
        law.check_size(invariant.entries(), widest(&basis, invariant.entries()), 0.0)?;
        let (tables, entries) = (law.tables(), invariant.entries());
        Ok(Self { law, tables, entries, basis, moves, owners, region: region.cloned() })
    }

    /// Moves in one sweep: the number of entries.
    pub fn sweep(&self) -> u64 {
        self.entries as u64
    }
}

impl<L: LatticeLaw> Kernel for LatticeGibbs<L> {
    type Value = i64;
    type State = LatticeGibbsState;
    type Noise = LatticeMove;
    const REJECTS: bool = false;

    /// `position`: a point of the lattice.
    fn init(&self, position: &[i64]) -> LatticeGibbsState {
        let sum = position.iter().map(|&z| L::part(z)).sum();
        LatticeGibbsState { z: position.to_vec(), sum, line: Line::default() }
    }

    fn noise(&self) -> LatticeMove {
        LatticeMove { vector: Vec::with_capacity(16), u: 0.5 }
    }

    #[inline]
    fn draw<R: Rng + ?Sized>(&self, rng: &mut R, noise: &mut LatticeMove) {
        let component = match &self.moves[..] {
            [_] => 0,
            _ => self.owners[below(rng, self.owners.len() as u64) as usize] as usize,
        };
        let vector = &mut noise.vector;
        vector.clear();
        match &self.moves[component] {
            Moves::Listed(list) => vector.extend_from_slice(&list[below(rng, list.len() as u64) as usize]),
            Moves::Pairs(entries) => vector.extend(pair(rng, entries)),
            Moves::Swaps { entries, rows, columns } => {
                let ((i, k), (j, l)) = (two(rng, *rows), two(rng, *columns));
                let at = |row: usize, column: usize| entries[row * columns + column];
                vector.extend([(at(i, j), 1), (at(i, l), -1), (at(k, j), -1), (at(k, l), 1)]);
            }
            Moves::Grouped { groups, pairs, vectors, spread } => {
                let which = below(rng, (pairs.len() + vectors.len()) as u64) as usize;
                match vectors.get(which) {
                    Some(sums) if *spread => lift(rng, groups, sums, vector),
                    Some(lifted) => vector.extend(lifted.iter().map(|&(group, c)| {
                        let members = &groups[group as usize];
                        (members[below(rng, members.len() as u64) as usize], c)
                    })),
                    None => vector.extend(pair(rng, &groups[pairs[which - vectors.len()] as usize])),
                }
            }
        }
        noise.u = open01(rng);
    }

    #[inline]
    fn apply(&self, state: &mut LatticeGibbsState, noise: &LatticeMove) -> bool {
        let LatticeGibbsState { z, sum, line } = state;
        let within = match &self.region {
            None => (i64::MIN, i64::MAX),
            Some(region) => region.interval(&noise.vector, z),
        };
        let t = self.law.line(&self.tables, line, &noise.vector, (z, *sum), within, noise.u);
        if t == 0 {
            return false;
        }
        for &(entry, coefficient) in &noise.vector {
            let value = &mut z[entry as usize];
            *sum -= L::part(*value);
            *value += t * i64::from(coefficient);
            *sum += L::part(*value);
        }
        true
    }

    fn position<'a>(&self, state: &'a LatticeGibbsState) -> &'a [i64] {
        &state.z
    }
}

impl<L: LatticeLaw> Dispersed for LatticeGibbs<L> {
    fn start<R: Rng + ?Sized>(&self, rng: &mut R, scale: f64) -> Result<LatticeGibbsState> {
        let mut z = start(&self.basis, self.entries, rng, scale).1;
        if let Some(region) = &self.region {
            self.walk_into(region, rng, &mut z)?;
        }
        Ok(self.init(&z))
    }
}

/// Sweeps in which a start must reach the region.
const SWEEPS_TO_REGION: u64 = 2000;
/// How far along a line steps that change no violation are looked at.
const PLATEAU: i64 = 64;

impl<L: LatticeLaw> LatticeGibbs<L> {
    /// Moves along the same lines to where the inequalities are violated least, to a uniform one of such places
    /// near by, until none is violated.
    fn walk_into<R: Rng + ?Sized>(&self, region: &Region, rng: &mut R, z: &mut [i64]) -> Result<()> {
        let mut noise = self.noise();
        for _ in 0..SWEEPS_TO_REGION {
            if region.contains(z) {
                return Ok(());
            }
            for _ in 0..self.sweep() {
                self.draw(rng, &mut noise);
                let along = region.violation_along(&noise.vector, z);
                let (best, least) = downhill(&along);
                let (mut first, mut last) = (best, best);
                while last - best < PLATEAU && along(last + 1) == least {
                    last += 1;
                }
                while best - first < PLATEAU && along(first - 1) == least {
                    first -= 1;
                }
                let t = first + below(rng, (last - first) as u64 + 1) as i64;
                for &(entry, c) in &noise.vector {
                    z[entry as usize] += t * i64::from(c);
                }
            }
        }
        Err(Error::Unsupported {
            method: "line-gibbs",
            what: "these inequalities".into(),
            reason: "no start that satisfies them was found in 2,000 sweeps",
        })
    }
}

impl<L: LatticeLaw> Coupled for LatticeGibbs<L> {
    #[inline]
    fn draw_pair<R: Rng + ?Sized>(
        &self,
        rng: &mut R,
        _: (&LatticeGibbsState, &LatticeGibbsState),
        noise: (&mut LatticeMove, &mut LatticeMove),
    ) {
        self.draw(rng, noise.0);
        noise.1.vector.clone_from(&noise.0.vector);
        noise.1.u = noise.0.u;
    }
}

/// A vector of group sums on entries of the groups: each unit on an entry of its own choice.
fn lift<R: Rng + ?Sized>(rng: &mut R, groups: &[Vec<u32>], sums: &[(u32, i32)], vector: &mut Sparse) {
    for &(group, c) in sums {
        let (members, from) = (&groups[group as usize], vector.len());
        for _ in 0..c.unsigned_abs() {
            let entry = members[below(rng, members.len() as u64) as usize];
            match vector[from..].iter_mut().find(|(other, _)| *other == entry) {
                Some((_, units)) => *units += c.signum(),
                None => vector.push((entry, c.signum())),
            }
        }
    }
}

/// Two different indices below `n` (0 and 0 if n = 1).
#[inline]
pub(super) fn two<R: Rng + ?Sized>(rng: &mut R, n: usize) -> (usize, usize) {
    let i = below(rng, n as u64) as usize;
    let j = below(rng, n.max(2) as u64 - 1) as usize;
    (i, if j >= i && n > 1 { j + 1 } else { j })
}

#[inline]
pub(super) fn pair<R: Rng + ?Sized>(rng: &mut R, entries: &[u32]) -> [(u32, i32); 2] {
    let (i, j) = two(rng, entries.len());
    [(entries[i], 1), (entries[j], -1)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::{DiscreteGaussian, DoubleGeometric, EuclideanLaplace};
    use crate::testing::{assert_stationary, lattice_points, small_lattices};

    impl Moves {
        /// Every vector that a move can take, with its probability.
        fn all(&self) -> Vec<(f64, Sparse)> {
            let pairs = |entries: &[u32]| -> Vec<Sparse> {
                let others =
                    |&i: &u32| entries.iter().filter(move |&&j| j != i).map(move |&j| vec![(i, 1), (j, -1)]);
                entries.iter().flat_map(others).collect()
            };
            let even = |list: Vec<Sparse>| -> Vec<(f64, Sparse)> {
                let p = 1.0 / list.len() as f64;
                list.into_iter().map(|vector| (p, vector)).collect()
            };
            match self {
                Self::Listed(list) => even(list.clone()),
                Self::Pairs(entries) => even(pairs(entries)),
                Self::Swaps { .. } => unreachable!("small tables are listed"),
                Self::Grouped { groups, pairs: dimensions, vectors, .. } => {
                    let share = 1.0 / (dimensions.len() + vectors.len()) as f64;
                    let mut all = Vec::new();
                    for &group in dimensions {
                        all.extend(even(pairs(&groups[group as usize])));
                    }
                    for vector in vectors {
                        let mut lifted: Vec<Sparse> = vec![Vec::new()];
                        for &(group, c) in vector {
                            lifted = lifted
                                .into_iter()
                                .flat_map(|head| {
                                    groups[group as usize].iter().map(move |&entry| {
                                        let mut next = head.clone();
                                        next.push((entry, c));
                                        next
                                    })
                                })
                                .collect();
                        }
                        all.extend(even(lifted));
                    }
                    all.into_iter().map(|(p, vector)| (p * share, vector)).collect()
                }
            }
        }
    }

    /// The transition matrix on a listed support, through [`Kernel::apply`]: the law of a step along a vector is
    /// read off the values of u at which it changes.
    fn stationary<L: LatticeLaw>(law: L) {
        for invariant in small_lattices() {
            let kernel = LatticeGibbs::new(&invariant, None, law).unwrap();
            let points = lattice_points(&invariant, 7);
            assert_stationary(
                &points,
                |z| L::part(z),
                |sum| law.energy(sum),
                |from| {
                    let mut row = Vec::new();
                    let total: usize = kernel.moves.iter().map(|_| 1).sum();
                    for (component, moves) in kernel.moves.iter().enumerate() {
                        let owned =
                            kernel.owners.iter().filter(|&&owner| owner as usize == component).count();
                        let share = if total == 1 { 1.0 } else { owned as f64 / kernel.owners.len() as f64 };
                        for (p, vector) in moves.all() {
                            let at = |u: f64| {
                                let mut state = kernel.init(from);
                                kernel.apply(&mut state, &LatticeMove { vector: vector.clone(), u });
                                state.z
                            };
                            let (mut u, mut here) = (0.0, at(1e-17));
                            while u < 1.0 {
                                // The last u with this value.
                                let (mut low, mut high) = (u, 1.0);
                                if at(1.0 - 1e-16) != here {
                                    for _ in 0..60 {
                                        let middle = 0.5 * (low + high);
                                        if at(f64::max(middle, 1e-17)) == here {
                                            low = middle
                                        } else {
                                            high = middle
                                        }
                                    }
                                }
                                row.push((here.clone(), share * p * (high - u)));
                                u = high;
                                here = at(u.min(1.0 - 1e-16));
                            }
                        }
                    }
                    row
                },
            );
        }
    }

    #[test]
    fn moves_leave_the_target_invariant() {
        stationary(DoubleGeometric::new(0.35).unwrap());
        stationary(DiscreteGaussian::new(0.7).unwrap());
        stationary(EuclideanLaplace::new(0.25).unwrap());
    }

    /// Large tables draw their swaps instead of listing them.
    #[test]
    fn swaps_of_large_tables_are_swaps() {
        let invariant = Linear::margins(40, 60).unwrap();
        let kernel = LatticeGibbs::new(&invariant, None, DoubleGeometric::new(2.0).unwrap()).unwrap();
        assert!(matches!(&kernel.moves[..], [Moves::Swaps { .. }]));
        let mut rng = crate::testing::test_stream(1);
        let (mut state, mut noise) = (kernel.start(&mut rng, 2.0).unwrap(), kernel.noise());
        invariant.check(kernel.position(&state)).unwrap();
        for _ in 0..1000 {
            kernel.draw(&mut rng, &mut noise);
            assert_eq!(noise.vector.len(), 4);
            kernel.apply(&mut state, &noise);
        }
        invariant.check(kernel.position(&state)).unwrap();
    }
}
