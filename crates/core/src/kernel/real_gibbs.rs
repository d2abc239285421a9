//! Line Gibbs for real noise under any equations and inequalities.

use super::lattice_gibbs::choose;
use super::{Coupled, Dispersed, Kernel, NEAR, Start, Step, coordinates, widest};
use crate::error::{Error, Result};
use crate::invariant::{Hull, Linear, Moves, NO_LOWER, NO_UPPER, Region, start_basis};
use crate::lattice::Sparse;
use crate::law::{Line, RealLaw, Term, maximal};
use crate::rng::{Rng, below, open01};

/// Gibbs sampler of independent real noise on `{z : A z = 0}` within inequalities that moves along one vector
/// at a time and draws the step exactly from its law along that line ([`crate::law::LineLaw::line`]): no
/// rejection, no tuning.
///
/// In the reals every set of vectors that spans the kernel of A connects a convex region with an interior: no
/// Markov basis is needed, and the vectors of [`super::LatticeGibbs`] without inequalities serve under any.
/// The region is first brought to its [`Hull`], in which it has an interior; entries that the inequalities
/// fix do not move.
///
/// **No drift.** All values are multiples of a unit `2^-k` between `2^-43` and `2^-42` of the law's scale (at
/// most 1), held as integers: equations, bounds and rows hold exactly, after any number of steps. A step is
/// rounded to the unit, as a floating-point number would be to its last digit: distribution functions move by
/// less than `2^-42` of the largest density times the scale in each step. The position as `f64` is exact up
/// to 1,000 scales, and right to its last digit beyond.
#[derive(Debug)]
pub struct RealGibbs<L: RealLaw> {
    law: L,
    /// By absolute coefficient of a move: the law along it.
    coefficients: Vec<u32>,
    tables: L::Tables,
    unit: f64,
    /// Pairs of chains that differ by no more units, at every entry, are near.
    near: u64,
    entries: usize,
    /// Where chains start: a basis of the kernel.
    basis: Vec<Sparse>,
    /// By component, its moves.
    moves: Vec<Moves>,
    /// By entry: its component, if there are several.
    owners: Vec<u32>,
    equations: Linear,
    /// Inequalities in units.
    region: Region,
}

/// State of [`RealGibbs`].
#[derive(Debug, Clone)]
pub struct RealGibbsState {
    /// The values in units.
    units: Vec<i64>,
    z: Vec<f64>,
    line: Line<f64>,
}

/// One move: the vector, and how far, in units.
#[derive(Debug, Clone)]
pub struct RealMove {
    vector: Sparse,
    step: Step<i64>,
}

/// Binary digits of the scale below which a value is rounded.
const DIGITS: i32 = 42;
/// Coefficients of a move.
const MAX_COEFFICIENT: u32 = 1 << 10;
/// Scales whose unit is a number with all its digits.
const LEAST_SCALE: f64 = 1e-200;

impl<L: RealLaw> RealGibbs<L> {
    /// Prepares the chain. `region`: inequalities on the noise, if any.
    ///
    /// Errors: no free dimension; what [`Hull::new`] and [`crate::invariant::basis`] refuse; a vector with a
    /// coefficient beyond 2^10; a scale below 1e-200.
    pub fn new(invariant: &Linear, region: Option<&Region>, law: L) -> Result<Self> {
        if law.scale() < LEAST_SCALE {
            return Err(Error::parameter("scale", law.scale(), "at least 1e-200 for a chain on the reals"));
        }
        let hull = Hull::new(invariant, region.unwrap_or(&Region::everything()))?;
        let (mut moves, mut owners, mut basis) = (Vec::new(), Vec::new(), Vec::new());
        for bounded in &hull.components()? {
            owners.extend(std::iter::repeat_n(moves.len() as u32, bounded.component.entries.len()));
            moves.push(Moves::of(&bounded.component)?);
            basis.extend(start_basis(&bounded.component)?);
        }
        let mut coefficients = vec![1];
        for moves in &moves {
            let vectors = match moves {
                Moves::Listed(vectors, _) | Moves::Grouped { vectors, .. } => &vectors[..],
                Moves::Pairs(_) | Moves::Swaps { .. } => &[],
            };
            coefficients.extend(vectors.iter().flatten().map(|(_, c)| c.unsigned_abs()));
        }
        coefficients.sort_unstable();
        coefficients.dedup();
        if let Some(&largest) = coefficients.last().filter(|&&c| c > MAX_COEFFICIENT) {
            return Err(Error::TooLarge {
                what: "a vector along which a chain on the reals moves".into(),
                needed: u64::from(largest),
                limit: u64::from(MAX_COEFFICIENT),
                unit: "as a coefficient",
            });
        }
        let laws: Vec<L> = coefficients.iter().map(|&c| law.along(&[f64::from(c)])).collect();
        let (_, exponent) = libm::frexp(law.scale());
        let digits = (DIGITS + 1 - exponent).max(0);
        let unit = libm::ldexp(1.0, -digits);
        Ok(Self {
            law,
            coefficients,
            tables: L::tables(&laws),
            unit,
            near: (NEAR * law.scale() / unit) as u64,
            entries: invariant.entries(),
            basis,
            moves,
            owners,
            region: in_units(&hull.region, invariant.entries(), digits),
            equations: hull.equations,
        })
    }

    /// Moves in one sweep: the number of entries.
    pub fn sweep(&self) -> u64 {
        self.entries as u64
    }

    /// Checks a state against the invariant's hull, in integer arithmetic. Errors: [`Error::InvariantViolated`].
    pub fn check(&self, state: &RealGibbsState) -> Result<()> {
        self.equations.check(&state.units).and_then(|()| self.region.check(&state.units))
    }

    /// Lays out the line of a move; returns the bounds of the step, in units and in counts.
    #[inline]
    fn lay(
        &self,
        vector: &Sparse,
        (units, z): (&[i64], &[f64]),
        line: &mut Line<f64>,
    ) -> ((i64, i64), (f64, f64)) {
        let (first, last) = self.region.interval(vector, units);
        let lo = if first == NO_LOWER { f64::NEG_INFINITY } else { first as f64 * self.unit };
        let hi = if last == NO_UPPER { f64::INFINITY } else { last as f64 * self.unit };
        line.terms.clear();
        line.terms.extend(vector.iter().map(|&(entry, c)| Term {
            level: match c.unsigned_abs() {
                1 => 0,
                size => self.coefficients.binary_search(&size).expect("all were listed"),
            },
            at: z[entry as usize] / f64::from(c),
        }));
        ((first, last), (lo, hi))
    }

    /// A step in units, within its bounds.
    #[inline]
    fn in_units(&self, step: f64, (first, last): (i64, i64)) -> i64 {
        (libm::rint(step / self.unit) as i64).clamp(first, last)
    }

    fn state(&self, units: Vec<i64>) -> RealGibbsState {
        RealGibbsState {
            z: units.iter().map(|&k| k as f64 * self.unit).collect(),
            units,
            line: Line::default(),
        }
    }
}

/// Bounds in units of `2^-digits`; those beyond 2^62 units, where no value comes, are none.
fn in_units(region: &Region, entries: usize, digits: i32) -> Region {
    let scaled = |bound: i64| {
        let far = bound.unsigned_abs().leading_zeros() as i32 <= digits + 1;
        if bound == 0 { Some(0) } else { (!far).then(|| bound << digits) }
    };
    Region {
        lower: (0..entries).map(|i| scaled(region.lower[i]).unwrap_or(NO_LOWER)).collect(),
        upper: (0..entries).map(|i| scaled(region.upper[i]).unwrap_or(NO_UPPER)).collect(),
        rows: region.rows.iter().filter_map(|(row, least)| Some((row.clone(), scaled(*least)?))).collect(),
    }
}

impl<L: RealLaw> Kernel for RealGibbs<L> {
    type Value = f64;
    type State = RealGibbsState;
    type Noise = RealMove;
    const REJECTS: bool = false;

    /// Makes the state at `position`, a point that satisfies everything, in multiples of the unit (integers are).
    fn init(&self, position: &[f64]) -> RealGibbsState {
        self.state(position.iter().map(|z| libm::rint(z / self.unit) as i64).collect())
    }

    fn noise(&self) -> RealMove {
        RealMove { vector: Vec::with_capacity(16), step: Step::At(0.5) }
    }

    #[inline]
    fn draw<R: Rng + ?Sized>(&self, rng: &mut R, noise: &mut RealMove) {
        let component = match &self.moves[..] {
            [_] => 0,
            _ => self.owners[below(rng, self.owners.len() as u64) as usize] as usize,
        };
        noise.vector.clear();
        choose(&self.moves[component], rng, &mut noise.vector);
        noise.step = Step::At(open01(rng));
    }

    #[inline]
    fn apply(&self, state: &mut RealGibbsState, noise: &RealMove) -> bool {
        let RealGibbsState { units, z, line } = state;
        let t = match noise.step {
            Step::At(u) => {
                let (steps, (lo, hi)) = self.lay(&noise.vector, (units, z), line);
                self.in_units(L::line(&self.tables, line, lo, hi, u), steps)
            }
            Step::By(t) => t,
        };
        for &(entry, c) in &noise.vector {
            let entry = entry as usize;
            units[entry] += t * i64::from(c);
            z[entry] = units[entry] as f64 * self.unit;
        }
        t != 0
    }

    fn position<'a>(&self, state: &'a RealGibbsState) -> &'a [f64] {
        &state.z
    }
}

/// Both chains move along the same vector. By one uniform they come close, and never meet. So where they are near, at every entry,
/// the steps are those of [`maximal()`]: they lead one entry, or none, to the same value as often as can be, that which leaves the
/// fewest entries of the vector different; of several one is drawn. A pair that misses is far apart again.
impl<L: RealLaw> Coupled for RealGibbs<L> {
    #[inline]
    fn draw_pair<R: Rng + ?Sized>(
        &self,
        rng: &mut R,
        (x, y): (&RealGibbsState, &RealGibbsState),
        (a, b): (&mut RealMove, &mut RealMove),
    ) {
        self.draw(rng, a);
        b.vector.clone_from(&a.vector);
        b.step = a.step;
        if x.units.iter().zip(&y.units).all(|(x, y)| x.abs_diff(*y) <= self.near) {
            self.draw_near(rng, (x, y), (a, b));
        }
    }
}

impl<L: RealLaw> RealGibbs<L> {
    /// Steps of two chains that are near, along one vector.
    fn draw_near<R: Rng + ?Sized>(
        &self,
        rng: &mut R,
        (x, y): (&RealGibbsState, &RealGibbsState),
        (a, b): (&mut RealMove, &mut RealMove),
    ) {
        let Step::At(u) = a.step else { return };
        let apart = meeting_step(&a.vector, (&x.units, &y.units), rng);
        let [(mut of_x, x_steps, x_bounds), (mut of_y, y_steps, y_bounds)] = [x, y].map(|state| {
            let mut line = Line::default();
            let (steps, bounds) = self.lay(&a.vector, (&state.units, &state.z), &mut line);
            (line, steps, bounds)
        });
        let lines = ((&mut of_x, x_bounds.0, x_bounds.1), (&mut of_y, y_bounds.0, y_bounds.1));
        let both = maximal::<L, R>(&self.tables, lines.0, lines.1, apart as f64 * self.unit, u, rng);
        let x = self.in_units(both.x, x_steps);
        let y = both.y.map_or((x + apart).clamp(y_steps.0, y_steps.1), |y| self.in_units(y, y_steps));
        (a.step, b.step) = (Step::By(x), Step::By(y));
    }
}

/// How much farther Y moves along a vector than X, in units, where as few of the vector's entries as can be differ
/// afterwards; of several one is drawn.
fn meeting_step<R: Rng + ?Sized>(vector: &Sparse, (x, y): (&[i64], &[i64]), rng: &mut R) -> i64 {
    let difference = |entry: u32| x[entry as usize] - y[entry as usize];
    let differ = |step: i64| {
        let left = |&&(entry, c): &&(u32, i32)| difference(entry) != step * i64::from(c);
        vector.iter().filter(left).count()
    };
    let (mut best, mut fewest, mut ties) = (0, differ(0), 1);
    for &(entry, c) in vector {
        let (difference, c) = (difference(entry), i64::from(c));
        if difference == 0 || difference % c != 0 {
            continue;
        }
        let step = difference / c;
        let left = differ(step);
        ties = if left < fewest { 1 } else { ties + u64::from(left == fewest) };
        if left < fewest || left == fewest && below(rng, ties) == 0 {
            (best, fewest) = (step, left);
        }
    }
    best
}

/// Sweeps in which a start must reach the region.
const SWEEPS_TO_REGION: u64 = 2000;

impl<L: RealLaw> Dispersed for RealGibbs<L> {
    /// Coordinates of the given scale on a basis, independent of the counts; then moves along the same lines
    /// until nothing is violated, each to a uniform one of the places where no more is violated in total than
    /// before. Those places are an interval, and a uniform point of it is inside of it, so that the walk
    /// neither gets stuck in a corner nor ends at the boundary.
    fn start<R: Rng + ?Sized>(&self, start: Start, rng: &mut R) -> Result<RealGibbsState> {
        let scale = libm::sqrt(2.0 * self.law.variance());
        let scale = if start == Start::OverDispersed { scale } else { 0.5 * scale };
        // Entries stay below 2^56 units.
        let most = (1u64 << 56) as f64 / (45.0 * widest(&self.basis, self.entries).max(1.0));
        let scale = (scale / self.unit).min(most);
        let mut z = coordinates(&self.basis, self.entries, rng, scale).1;
        // No entry goes farther in one move.
        let far = 4.0 * scale / f64::from(self.coefficients[self.coefficients.len() - 1]);
        let mut noise = self.noise();
        for _ in 0..SWEEPS_TO_REGION {
            if self.region.contains(&z) {
                return Ok(self.state(z));
            }
            for _ in 0..self.sweep() {
                self.draw(rng, &mut noise);
                let along = self.region.violation_along(&noise.vector, &z);
                let here = along(0);
                let reach = |side: i64| farthest(far, |t| along(side * t) <= here);
                let (first, last) = (-reach(-1), reach(1));
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

/// The last `t >= 0` up to `most` for which a condition holds that holds at 0 and, once broken, stays so.
fn farthest(most: f64, holds: impl Fn(i64) -> bool) -> i64 {
    let most = most as i64;
    let mut far = 1;
    while far < most && holds(far) {
        far *= 2;
    }
    let (mut inside, mut outside) = (far / 2, far.min(most) + 1);
    while outside - inside > 1 {
        let middle = inside + (outside - inside) / 2;
        if holds(middle) { inside = middle } else { outside = middle }
    }
    inside
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::against::assert_oracle;
    use crate::diagnostics::Moments;
    use crate::invariant::Inequalities;
    use crate::law::{Gaussian, Laplace, LineLaw};
    use crate::oracle::{Formula, reals};
    use crate::testing::{assert_mean, assert_meets, bounded_reals, small_lattices, test_stream};

    /// Ends of independent chains from over-dispersed starts; every one satisfies everything exactly.
    fn ends<L: RealLaw>(kernel: &RealGibbs<L>, chains: usize, sweeps: u64, seed: u64) -> Vec<Vec<f64>> {
        let mut rng = test_stream(seed);
        let mut noise = kernel.noise();
        (0..chains)
            .map(|_| {
                let mut state = kernel.start(Start::default(), &mut rng).unwrap();
                kernel.check(&state).unwrap();
                for _ in 0..sweeps * kernel.sweep() {
                    kernel.draw(&mut rng, &mut noise);
                    kernel.apply(&mut state, &noise);
                }
                kernel.check(&state).unwrap();
                state.z
            })
            .collect()
    }

    /// One and two free dimensions, with and without inequalities, coefficients beyond ±1, corners, hulls:
    /// against quadrature.
    #[test]
    fn chains_have_the_law_of_quadrature() {
        for (i, [(equations, region), plain]) in bounded_reals().into_iter().enumerate() {
            let laplace = RealGibbs::new(&equations, Some(&region), Laplace::new(1.7).unwrap()).unwrap();
            let want = reals::conditioned(&plain.0, &plain.1, Formula::Laplace(1.7)).unwrap();
            assert_oracle(&ends(&laplace, 5000, 100, i as u64), &want);
            let gaussian = RealGibbs::new(&equations, Some(&region), Gaussian::new(2.0).unwrap()).unwrap();
            let want = reals::conditioned(&plain.0, &plain.1, Formula::Gaussian(2.0)).unwrap();
            assert_oracle(&ends(&gaussian, 5000, 100, 100 + i as u64), &want);
        }
    }

    /// Equations alone, any number of free dimensions: the variances of Laplace totals in closed form, the
    /// covariances of Gaussian noise by least squares, sigma² times the projection onto the kernel.
    #[test]
    fn moments_are_those_of_closed_forms() {
        let lambda = 3.0;
        for n in [2usize, 6] {
            let total = Linear::total(n).unwrap();
            let kernel = RealGibbs::new(&total, None, Laplace::new(lambda).unwrap()).unwrap();
            let squares: Moments = ends(&kernel, 20_000, 30, n as u64).iter().map(|z| z[1] * z[1]).collect();
            let m = n as f64;
            let want = lambda * lambda * (2.0 * m - 1.0) * (m - 1.0) / (m * (m + 1.0));
            assert_mean(squares.mean(), want, squares.deviation(), 20_000);
        }
        for (seed, invariant) in small_lattices().into_iter().enumerate() {
            let kernel = RealGibbs::new(&invariant, None, Gaussian::new(2.0).unwrap()).unwrap();
            let all = ends(&kernel, 10_000, 60, 50 + seed as u64);
            let l2 = crate::imaging::LatticeL2::new(&invariant).unwrap();
            for i in 0..invariant.entries() {
                let mut column = vec![0.0; invariant.entries()];
                column[i] = 4.0;
                l2.project(&mut column);
                for (j, want) in column.into_iter().enumerate().take(i + 1) {
                    let products: Moments = all.iter().map(|z| z[i] * z[j]).collect();
                    assert_mean(products.mean(), want, products.deviation(), 10_000);
                }
            }
        }
    }

    /// A million steps leave every equation and bound as exact as the first.
    #[test]
    fn chains_do_not_drift() {
        let rows = [vec![3, -2, 1, 1, 0, -1], vec![0, 1, 5, -1, 2, 1]];
        let equations = Linear::matrix(&crate::lattice::IntMatrix::from_rows(&rows).unwrap()).unwrap();
        let region = Inequalities::nonnegative(6).around(&[3, 0, 9, 4, 1, 7]).unwrap();
        for scale in [1e-6, 0.3, 1e5] {
            let kernel = RealGibbs::new(&equations, Some(&region), Laplace::new(scale).unwrap()).unwrap();
            let mut rng = test_stream(3);
            let (mut state, mut noise) = (kernel.start(Start::default(), &mut rng).unwrap(), kernel.noise());
            for _ in 0..1_000_000 {
                kernel.draw(&mut rng, &mut noise);
                kernel.apply(&mut state, &noise);
            }
            kernel.check(&state).unwrap();
            // As real numbers too.
            for row in equations.rows() {
                assert_eq!(crate::lattice::real_value(row, &state.z), 0.0);
            }
            region.check_bounds(&state.z).unwrap();
        }
    }

    /// Pairs that are near: each chain's step has its law. What is near is taken for wide, so that many miss.
    #[test]
    fn near_pairs_have_their_laws() {
        for (i, [(equations, region), _]) in bounded_reals().into_iter().enumerate() {
            let mut kernel = RealGibbs::new(&equations, Some(&region), Laplace::new(1.7).unwrap()).unwrap();
            kernel.near = u64::MAX;
            let mut rng = test_stream(i as u64);
            let (mut a, mut b) = (kernel.noise(), kernel.noise());
            let (mut seen, mut moved) = ([[0u64; 10]; 2], 0);
            let mut x = kernel.start(Start::default(), &mut rng).unwrap();
            for _ in 0..20_000 {
                let y = x.clone();
                for _ in 0..2 {
                    kernel.draw(&mut rng, &mut a);
                    kernel.apply(&mut x, &a);
                }
                kernel.draw_pair(&mut rng, (&x, &y), (&mut a, &mut b));
                // From where Y is towards X, so that what draws it there shows.
                let (entry, c) = a.vector[0];
                let ahead = (x.units[entry as usize] - y.units[entry as usize]) * i64::from(c) >= 0;
                for (seen, (state, noise)) in seen.iter_mut().zip([(&x, &a), (&y, &b)]) {
                    let mut line = Line::default();
                    let (steps, (lo, hi)) = kernel.lay(&noise.vector, (&state.units, &state.z), &mut line);
                    let Step::By(t) = noise.step else { panic!("a pair that is not near") };
                    assert!((steps.0..=steps.1).contains(&t));
                    let tenths =
                        (1..10).map(|k| Laplace::line(&kernel.tables, &mut line, lo, hi, 0.1 * f64::from(k)));
                    let tenth = tenths.filter(|tenth| *tenth < t as f64 * kernel.unit).count();
                    seen[if ahead { tenth } else { 9 - tenth }] += 1;
                }
                moved += 1;
            }
            for seen in seen {
                crate::testing::assert_frequencies(seen.map(|seen| (seen, 0.1)), moved);
            }
        }
    }

    /// Pairs meet, stay together, and keep equations and bounds exactly.
    #[test]
    fn pairs_meet() {
        let equations =
            [Linear::total(9), Linear::margins(3, 3), Linear::margins(4, 4), Linear::margins(2, 12)];
        let all = equations.into_iter().map(Result::unwrap).chain(small_lattices());
        let cases = all.flat_map(|equations| {
            let n = equations.entries();
            let within = Inequalities::nonnegative(n).around(&vec![2; n]).unwrap();
            [None, Some(within)].map(|region| (equations.clone(), region))
        });
        for (equations, region) in cases {
            let kernel = RealGibbs::new(&equations, region.as_ref(), Laplace::new(1.3).unwrap()).unwrap();
            for pair in 0..20 {
                let [x, y] = assert_meets(&kernel, pair);
                assert_eq!(x.units, y.units);
                kernel.check(&x).unwrap();
            }
        }
    }

    #[test]
    fn what_cannot_be_served_is_refused() {
        let total = Linear::total(2).unwrap();
        let law = Laplace::new(1.0).unwrap();
        let point = Inequalities::nonnegative(2).around(&[0, 0]).unwrap();
        let refused = RealGibbs::new(&total, Some(&point), law).unwrap_err().to_string();
        assert!(refused.contains("no free dimension"), "{refused}");
        let wide = Linear::from_rows(2, vec![vec![(0, 1), (1, 5000)]]).unwrap();
        let refused = RealGibbs::new(&wide, None, law).unwrap_err().to_string();
        assert!(refused.contains("needs 5000 as a coefficient"), "{refused}");
        assert!(Laplace::new(1e-250).and_then(|law| RealGibbs::new(&total, None, law)).is_err());
    }
}
