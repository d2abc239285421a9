//! Line Gibbs on any lattice.

use super::{Coupled, Dispersed, Kernel, Start, coordinates, coordinates_log_density, widest};
use crate::error::{Error, Result};
use crate::invariant::{Bounded, Linear, MOST_LOOKS, Moves, Region, check_free, start_basis};
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
/// refused where that is too large. Entries that can only keep their count are left out beforehand, and explicit rows that the rest
/// implies (`Bounded::reduced`).
///
/// Most vectors of a Graver basis fit into no small region. Those that cannot move from any point are left out, and the
/// others drawn with odds that do not depend on the state (`Moves::mobile`): the law stays exact, every move
/// reversible. A *sweep* is as many moves as make one for each entry that can move ([`LatticeGibbs::sweep`]).
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
    /// By component, its moves.
    moves: Vec<Moves>,
    /// Components, each as often as it has moves in a sweep.
    owners: Vec<u32>,
    sweep: u64,
    bounds: Option<Bounds>,
}

/// Inequalities.
#[derive(Debug)]
struct Bounds {
    /// The inequalities, without the entries that are left out.
    region: Region,
    /// By component: moves that lead into the region from anywhere, those included that cannot move in it.
    into: Vec<Moves>,
}

/// State of [`LatticeGibbs`].
#[derive(Debug, Clone)]
pub struct LatticeGibbsState {
    z: Vec<i64>,
    /// `Σ part(z)`.
    sum: i64,
    line: Line<i64>,
}

/// One move: the vector, and the uniform number that places the step in its law.
#[derive(Debug, Clone)]
pub struct LatticeMove {
    vector: Sparse,
    u: f64,
}

impl<L: LatticeLaw> LatticeGibbs<L> {
    /// Prepares the chain. `region`: inequalities on the noise, if any.
    ///
    /// Errors: no free dimension; a lattice whose basis is refused by [`crate::invariant::basis`]; a scale for
    /// which sums of squares could overflow; inequalities under which no connecting moves are known.
    pub fn new(invariant: &Linear, region: Option<&Region>, law: L) -> Result<Self> {
        Self::looking(invariant, region, law, MOST_LOOKS)
    }

    /// Prepares the chain with so many `looks` at points and vectors, for [`Moves::mobile`].
    pub(super) fn looking(
        invariant: &Linear,
        region: Option<&Region>,
        law: L,
        mut looks: usize,
    ) -> Result<Self> {
        let entries = invariant.entries();
        let region = region.filter(|region| !region.is_everything());
        let components = match region {
            None => Region::everything().components(invariant),
            Some(region) => region.components(invariant).iter().flat_map(Bounded::reduced).collect(),
        };
        let (mut moves, mut into, mut basis) = (Vec::new(), Vec::new(), Vec::new());
        let (mut owners, mut idle) = (Vec::new(), entries);
        for bounded in &components {
            let component = &bounded.component;
            if !component.rows.is_empty() && component.entries.len() == 1 {
                continue;
            }
            let all = Moves::within(bounded)?;
            if matches!(&all, Moves::Listed(list, _) if list.is_empty()) {
                continue;
            }
            // What can move nowhere is 0 wherever a chain may be, and where it starts.
            let walk = region.map(|_| all.clone());
            let Some((some, share)) = all.mobile(bounded, &mut looks) else { continue };
            let n = component.entries.len();
            idle -= n;
            let own = libm::rint(n as f64 / share).max(n as f64) as usize;
            owners.extend(std::iter::repeat_n(moves.len() as u32, own));
            moves.push(some);
            into.extend(walk);
            basis.extend(start_basis(component)?);
        }
        if moves.is_empty() && check_free(invariant).is_err() {
            return Err(Error::no_free_dimension());
        }
        let unit = moves.iter().chain(&into).all(Moves::is_unit);
        law.check_size(entries, widest(&basis, entries), 0.0, unit)?;
        let bounds = region.map(|_| Bounds { region: Region::joined(&components), into });
        let (tables, sweep) = (law.tables(), (owners.len() + idle) as u64);
        Ok(Self { law, tables, entries, basis, moves, owners, sweep, bounds })
    }

    /// Moves in one sweep: for each component its entries over the share of draws that can move (`Moves::mobile`), to the
    /// nearest integer; and one for each entry that cannot. Without inequalities the number of entries.
    pub fn sweep(&self) -> u64 {
        self.sweep
    }

    /// `moves`: by component.
    #[inline]
    fn draw_from<R: Rng + ?Sized>(&self, moves: &[Moves], rng: &mut R, noise: &mut LatticeMove) {
        noise.vector.clear();
        let component = match moves {
            [_] => 0,
            _ => self.owners[below(rng, self.owners.len() as u64) as usize] as usize,
        };
        choose(&moves[component], rng, &mut noise.vector);
        noise.u = open01(rng);
    }
}

impl<L: LatticeLaw> Kernel for LatticeGibbs<L> {
    type Value = i64;
    type State = LatticeGibbsState;
    type Noise = LatticeMove;
    const REJECTS: bool = false;

    /// Makes the state at `position`, a point of the lattice.
    fn init(&self, position: &[i64]) -> LatticeGibbsState {
        let sum = position.iter().map(|&z| L::part(z)).sum();
        LatticeGibbsState { z: position.to_vec(), sum, line: Line::default() }
    }

    fn noise(&self) -> LatticeMove {
        LatticeMove { vector: Vec::with_capacity(16), u: 0.5 }
    }

    #[inline]
    fn draw<R: Rng + ?Sized>(&self, rng: &mut R, noise: &mut LatticeMove) {
        if !self.moves.is_empty() {
            self.draw_from(&self.moves, rng, noise);
        }
    }

    #[inline]
    fn apply(&self, state: &mut LatticeGibbsState, noise: &LatticeMove) -> bool {
        let LatticeGibbsState { z, sum, line } = state;
        if noise.vector.is_empty() {
            return false;
        }
        let within = match &self.bounds {
            None => (i64::MIN, i64::MAX),
            Some(bounds) => bounds.region.interval(&noise.vector, z),
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
    fn start<R: Rng + ?Sized>(&self, start: Start, rng: &mut R) -> Result<LatticeGibbsState> {
        let mut z = coordinates(&self.basis, self.entries, rng, self.start_scale(start)).1;
        if let Some(bounds) = &self.bounds {
            self.walk_into(bounds, rng, &mut z)?;
        }
        Ok(self.init(&z))
    }

    fn weighted_start<R: Rng + ?Sized>(
        &self,
        start: Start,
        rng: &mut R,
    ) -> Result<Option<(LatticeGibbsState, f64)>> {
        if self.bounds.is_some() {
            return Ok(None);
        }
        let scale = self.start_scale(start);
        let (v, z) = coordinates(&self.basis, self.entries, rng, scale);
        let state = self.init(&z);
        let log_weight = -self.law.energy(state.sum) - coordinates_log_density(&v, scale);
        Ok(Some((state, log_weight)))
    }
}

/// Sweeps in which a start must reach the region.
const SWEEPS_TO_REGION: u64 = 2000;
/// How far along a line steps that change no violation are looked at.
const PLATEAU: i64 = 64;

impl<L: LatticeLaw> LatticeGibbs<L> {
    /// The scale of the double geometric coordinates of a start.
    fn start_scale(&self, start: Start) -> f64 {
        let wide = self.law.start_scale(self.entries);
        if start == Start::OverDispersed { wide } else { 0.5 * wide }
    }

    /// Moves along lines to where the inequalities are violated least, to a uniform one of such places
    /// near by, until none is violated.
    fn walk_into<R: Rng + ?Sized>(&self, bounds: &Bounds, rng: &mut R, z: &mut [i64]) -> Result<()> {
        let Bounds { region, into } = bounds;
        let mut noise = self.noise();
        for _ in 0..SWEEPS_TO_REGION {
            if region.contains(z) {
                return Ok(());
            }
            for _ in 0..self.sweep() {
                self.draw_from(into, rng, &mut noise);
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

/// Chooses one of the vectors of a component.
#[inline]
pub(super) fn choose<R: Rng + ?Sized>(moves: &Moves, rng: &mut R, vector: &mut Sparse) {
    match moves {
        Moves::Listed(list, odds) => vector.extend_from_slice(&list[odds.draw(rng)]),
        Moves::Pairs(entries) => vector.extend(pair(rng, entries)),
        Moves::Swaps { entries, rows, columns } => {
            let ((i, k), (j, l)) = (two(rng, *rows), two(rng, *columns));
            let at = |row: usize, column: usize| entries[row * columns + column];
            vector.extend([(at(i, j), 1), (at(i, l), -1), (at(k, j), -1), (at(k, l), 1)]);
        }
        Moves::Grouped { groups, pairs, vectors, odds, spread } => {
            let which = below(rng, (pairs.len() + vectors.len()) as u64) as usize;
            if which >= vectors.len() {
                vector.extend(pair(rng, &groups[pairs[which - vectors.len()] as usize]));
                return;
            }
            let sums = &vectors[odds.given(which, rng)];
            if *spread {
                return lift(rng, groups, sums, vector);
            }
            vector.extend(sums.iter().map(|&(group, c)| {
                let members = &groups[group as usize];
                (members[below(rng, members.len() as u64) as usize], c)
            }));
        }
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
fn two<R: Rng + ?Sized>(rng: &mut R, n: usize) -> (usize, usize) {
    let i = below(rng, n as u64) as usize;
    let j = below(rng, n.max(2) as u64 - 1) as usize;
    (i, if j >= i && n > 1 { j + 1 } else { j })
}

#[inline]
fn pair<R: Rng + ?Sized>(rng: &mut R, entries: &[u32]) -> [(u32, i32); 2] {
    let (i, j) = two(rng, entries.len());
    [(entries[i], 1), (entries[j], -1)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::{DiscreteGaussian, DoubleGeometric, EuclideanLaplace, Law};
    use crate::testing::{
        assert_bounded, assert_harmonized, assert_stationary, lattice_points, small_lattices, step_law,
    };
    use std::collections::HashMap;

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
                Self::Listed(list, odds) => (0..list.len()).map(|i| (odds.p(i), list[i].clone())).collect(),
                Self::Pairs(entries) => even(pairs(entries)),
                Self::Swaps { .. } => unreachable!("small tables are listed"),
                Self::Grouped { groups, pairs: dimensions, vectors, odds, spread } => {
                    let share = 1.0 / (dimensions.len() + vectors.len()) as f64;
                    let mut all = Vec::new();
                    for &group in dimensions {
                        all.extend(even(pairs(&groups[group as usize])));
                    }
                    for (i, vector) in vectors.iter().enumerate() {
                        let mut lifted: Vec<Sparse> = vec![Vec::new()];
                        // What goes to an entry of its own choice.
                        let units = vector.iter().flat_map(|&(group, c)| match spread {
                            true => vec![(group, c.signum()); c.unsigned_abs() as usize],
                            false => vec![(group, c)],
                        });
                        for (group, c) in units {
                            lifted = lifted
                                .into_iter()
                                .flat_map(|head| {
                                    groups[group as usize].iter().map(move |&entry| {
                                        let mut next = head.clone();
                                        match next.iter_mut().find(|(other, _)| *other == entry) {
                                            Some((_, units)) => *units += c,
                                            None => next.push((entry, c)),
                                        }
                                        next
                                    })
                                })
                                .collect();
                        }
                        let p = odds.p(i) * vectors.len() as f64;
                        all.extend(even(lifted).into_iter().map(|(q, vector)| (p * q, vector)));
                    }
                    all.into_iter().map(|(p, vector)| (p * share, vector)).collect()
                }
            }
        }
    }

    impl<L: LatticeLaw> LatticeGibbs<L> {
        /// Every vector that a step can take, with its probability.
        pub(in crate::kernel) fn choices(&self) -> Vec<(f64, Sparse)> {
            let owned = |i: usize| self.owners.iter().filter(|&&owner| owner as usize == i).count() as f64;
            let one = |(i, moves): (usize, &Moves)| {
                let share = owned(i) / self.owners.len() as f64;
                moves.all().into_iter().map(move |(p, vector)| (share * p, vector)).collect::<Vec<_>>()
            };
            self.moves.iter().enumerate().flat_map(one).collect()
        }

        /// The transition law from a point.
        fn row(&self, from: &[i64]) -> Vec<(Vec<i64>, f64)> {
            let mut row = Vec::new();
            for (p, vector) in self.choices() {
                let law = step_law(|u| {
                    let mut state = self.init(from);
                    self.apply(&mut state, &LatticeMove { vector: vector.clone(), u });
                    state.z
                });
                row.extend(law.into_iter().map(|(to, q)| (to, p * q)));
            }
            row
        }
    }

    /// The bound lies above the distance, with inequalities and without.
    #[test]
    fn bound_lies_above_the_distance() {
        let law = DoubleGeometric::new(0.5).unwrap();
        let lower = [-3, -1, -2, 0, -2, -3].into_iter().collect();
        let region = Region { lower, ..Region::everything() };
        for region in [None, Some(&region)] {
            let invariant = Linear::margins(2, 3).unwrap();
            let kernel = LatticeGibbs::new(&invariant, region, law).unwrap();
            let mut points = lattice_points(&invariant, 7);
            points.retain(|z| region.is_none_or(|region| region.contains(z)));
            let start = points.iter().max_by_key(|z| z.iter().map(|z| z.abs()).sum::<i64>().min(16)).unwrap();
            let both = assert_bounded(&kernel, &points, |from| kernel.row(from), start, (4, 2000));
            assert!(both[0].0 > 0.9);
        }
    }

    /// Weights bound the divergences for starts of both widths, whose coordinates are the entries of the lower right
    /// corner.
    #[test]
    fn weights_bound_the_divergences() {
        let (law, invariant) = (DoubleGeometric::new(0.5).unwrap(), Linear::margins(2, 3).unwrap());
        let kernel = LatticeGibbs::new(&invariant, None, law).unwrap();
        let at = |a: i64, b: i64| vec![a + b, -a, -b, -a - b, a, b];
        let points: Vec<Vec<i64>> = (-12..=12).flat_map(|a| (-12..=12).map(move |b| at(a, b))).collect();
        let rows: HashMap<&Vec<i64>, _> = points.iter().map(|z| (z, kernel.row(z))).collect();
        let target = |z: &[i64]| law.log_weights(z);
        for (start, scale) in [(Start::OverDispersed, 1.0), (Start::FreeNoise, 0.5)] {
            let starts = |z: &[i64]| -((z[4].abs() + z[5].abs()) as f64) / scale;
            let how = (&[0, 1, 2, 4, 8, 16, 32][..], (300, 16));
            assert_harmonized(
                &kernel,
                &points,
                |z| rows[&z.to_vec()].clone(),
                [&target, &starts],
                start,
                how,
            );
        }
        let lower = vec![-3; 6].into_iter().collect();
        let region = Region { lower, ..Region::everything() };
        let bounded = LatticeGibbs::new(&invariant, Some(&region), law).unwrap();
        let mut rng = crate::testing::test_stream(1);
        assert!(bounded.weighted_start(Start::default(), &mut rng).unwrap().is_none());
    }

    /// The transition matrix on a listed support, through [`Kernel::apply`]: the law of a step along a vector is
    /// read off the values of u at which it changes.
    fn stationary<L: LatticeLaw>(law: L) {
        for invariant in small_lattices() {
            let kernel = LatticeGibbs::new(&invariant, None, law).unwrap();
            let points = lattice_points(&invariant, 7);
            assert_stationary(&points, |z| L::part(z), |sum| law.energy(sum), |from| kernel.row(from));
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
        let (mut state, mut noise) = (kernel.start(Start::default(), &mut rng).unwrap(), kernel.noise());
        invariant.check(kernel.position(&state)).unwrap();
        for _ in 0..1000 {
            kernel.draw(&mut rng, &mut noise);
            assert_eq!(noise.vector.len(), 4);
            kernel.apply(&mut state, &noise);
        }
        invariant.check(kernel.position(&state)).unwrap();
    }
}
