//! Least squares under equations and inequalities: the routes here; the constraints and the conditions of optimality in
//! `problem`; who meets them in `solve`, by `face` (the active set) and `interior`; the exact grid in `repair`. Large
//! two-way tables in `crossing`.

mod crossing;
mod face;
mod grid;
mod interior;
mod problem;
mod repair;
mod solve;
mod total;

use crate::error::{Error, Result};
use crate::invariant::{Bounded, Component, Region, Row};
use crate::lattice::{MAX_DIMENSION, square};
use crossing::Crossing;
use grid::{FINEST, GRID, clamp, grid, largest, nearest, power};
use problem::{Constraint, Problem};
use std::ops::{Neg, Shr};
use total::Total;

/// Largest noise, in counts.
const MAX_NOISE: f64 = (1u64 << 40) as f64;

/// Entries of the dense matrix of a component that is not one total.
const MAX_ENTRIES: usize = 1 << 22;

/// Projects noise onto `{z : A z = 0, lower <= z <= upper, b·z >= c}` in least squares, on one connected component:
/// its equations and what bounds its entries; entries renumbered from 0 (`component.entries` gives the places in the
/// whole table).
///
/// Acts on the noise u, since the confidential counts satisfy the constraints: z = 0 is always feasible, and
/// `x + z >= 0` is `z >= -x`. Four routes:
///
/// - no equation and no row `b·z >= c`: every value is clamped;
/// - one total with bounds alone: `z_i = clamp(u_i - theta, lower_i, upper_i)`, without upper bounds from
///   a few passes, else from sorted breakpoints, O(n log n); without allocation;
/// - a two-way table with bounds alone that is beyond the limits of the last route: `z_ij = clamp(u_ij - a_i - b_j,
///   lower_ij, upper_ij)`, with the multipliers of its rows and columns by Newton steps. Whole or with gaps; residual
///   of every sum <= 1e-9 of `1 + ‖u‖∞` times the root of its entries;
/// - anything else: a dual active-set method (Goldfarb and Idnani 1983) finds which constraints are tight and solves
///   their equations by orthonormalisation; beyond 128 entries it begins at what an interior-point solver takes for
///   tight. The conditions of optimality are checked: residual <= 1e-9 relative to `1 + ‖u‖∞`.
///
/// Then the result is moved to a dyadic grid, at most by 1e-5 of `1 + ‖u‖∞` (as a rule by less than 1e-6 counts), so
/// that the values, as real numbers, meet every constraint exactly. The grid is `2^-24` unless values beyond
/// `2^28` (coarser), or equations of many entries with large minors (finer), need another; on it sums of counts and
/// noise below `2^28` are exact in `f64`. Where equations and integer bounds meet in a point that no binary fraction
/// holds, such as `z_1 = 1/3`, the result is the projection of the same noise within bounds that are tighter by at most
/// `2^-17`: like the projection itself a function of the noisy counts and the constraints alone. Deterministic.
///
/// The projection is post-processing and costs no privacy. The rounding is where every equation can be solved for an entry
/// with the coefficient ±1 or another power of two (totals, partitions, margins): it then commutes with integer shifts of
/// the counts. Elsewhere the last digits, near `2^-24`, are multiples of an odd pivot *relative to the confidential
/// counts*, and tell them modulo that pivot: read such releases to fewer digits.
#[derive(Debug, Clone)]
pub struct Nnl2 {
    component: Component,
    lower: Vec<i64>,
    upper: Vec<i64>,
    rows: Vec<(Row, i64)>,
    route: Route,
}

#[derive(Debug, Clone)]
enum Route {
    Clamp,
    Total(Total),
    Crossing(Crossing),
    /// Independent equations, then the rows; the number of the former; entries that have one value.
    General(Vec<Constraint>, usize, Vec<bool>),
}

/// Space for one projection, reused from call to call.
#[derive(Default, Clone, Debug)]
pub struct Nnl2Scratch {
    values: Vec<f64>,
    units: Vec<i64>,
    at_lower: Vec<f64>,
    at_upper: Vec<f64>,
}

impl Nnl2 {
    /// Prepares the projection of one component.
    ///
    /// - `component`: its equations; `component.rows` may be empty (free entries).
    /// - `lower`, `upper`: one per entry of the component, `lower <= 0 <= upper`; `i64::MIN` and `i64::MAX` mean none.
    /// - `rows`: coefficients on the renumbered entries, and the least value c <= 0.
    ///
    /// Errors: bounds or rows that exclude z = 0 or do not fit the component; equations beyond
    /// [`MAX_DIMENSION`], or equations and rows times entries beyond 2^22, unless it is one total or a two-way table.
    pub fn new(component: &Component, lower: &[i64], upper: &[i64], rows: &[(Row, i64)]) -> Result<Self> {
        let n = component.entries.len();
        for (name, bounds) in [("lower bounds", lower), ("upper bounds", upper)] {
            if bounds.len() != n {
                return Err(Error::parameter(name, bounds.len(), "one per entry of the component"));
            }
        }
        if let Some(bad) = lower.iter().find(|&&bound| bound > 0) {
            return Err(Error::parameter("lower bound of the noise", bad, "a number <= 0"));
        }
        if let Some(bad) = upper.iter().find(|&&bound| bound < 0) {
            return Err(Error::parameter("upper bound of the noise", bad, "a number >= 0"));
        }
        for (i, (row, least)) in rows.iter().enumerate() {
            if *least > 0 {
                return Err(Error::parameter("least value of a row of the noise", least, "a number <= 0"));
            }
            let mut entries: Vec<u32> = row.iter().map(|&(entry, _)| entry).collect();
            entries.sort_unstable();
            let fits = entries.last().is_some_and(|&entry| (entry as usize) < n);
            if !fits || entries.windows(2).any(|pair| pair[0] == pair[1]) || row.iter().any(|&(_, a)| a == 0)
            {
                let want = "want different entries of the component with coefficients other than 0";
                return Err(Error::Invariant(format!("inequality {}: {want}", i + 1)));
            }
        }
        let route = if !rows.is_empty() {
            Self::general(component, lower, upper, rows)?
        } else if component.rows.is_empty() {
            Route::Clamp
        } else if component.is_total() {
            Route::Total(Total::new(lower, upper))
        } else {
            match Self::large(component).then(|| Crossing::of(component, lower, upper)).flatten() {
                Some(table) => Route::Crossing(table),
                None => Self::general(component, lower, upper, rows)?,
            }
        };
        Ok(Self {
            component: component.clone(),
            lower: lower.to_vec(),
            upper: upper.to_vec(),
            rows: rows.to_vec(),
            route,
        })
    }

    /// Whether equations alone are beyond [`Self::general`].
    fn large(component: &Component) -> bool {
        let entries = component.entries.len();
        entries * component.rows.len() > MAX_ENTRIES
            || (entries > MAX_DIMENSION && component.equal_columns().len() > MAX_DIMENSION)
    }

    fn general(component: &Component, lower: &[i64], upper: &[i64], rows: &[(Row, i64)]) -> Result<Route> {
        let entries = component.entries.len() * (component.rows.len() + rows.len());
        if entries > MAX_ENTRIES {
            return Err(Error::TooLarge {
                what: "least squares under inequalities on one component".into(),
                needed: entries as u64,
                limit: MAX_ENTRIES as u64,
                unit: "entries of its matrix",
            });
        }
        let independent = component.independent_rows()?;
        let constraint =
            |row: &Row, least: i64| Constraint { row: row.clone(), least, length: libm::sqrt(square(row)) };
        let equations = independent.len();
        let equal = independent.into_iter().map(|i| constraint(&component.rows[i], 0));
        let constraints = equal.chain(rows.iter().map(|(row, least)| constraint(row, *least))).collect();
        let region = Region {
            lower: lower.iter().copied().collect(),
            upper: upper.iter().copied().collect(),
            rows: rows.to_vec(),
        };
        let Region { lower, upper, .. } = Bounded { component: component.clone(), region }.tightened();
        let pinned = (0..component.entries.len()).map(|i| lower[i] == upper[i]).collect();
        Ok(Route::General(constraints, equations, pinned))
    }

    /// Replaces the noise of the component's entries, within the vector of the whole table, by its projection.
    ///
    /// Errors: noise that is not finite or beyond 2^40; [`Error::NotConverged`] if no point passes the conditions of
    /// optimality, or none that meets the constraints exactly is within 1e-5 of it. On error nothing is replaced.
    pub fn project(&self, scratch: &mut Nnl2Scratch, noise: &mut [f64]) -> Result<()> {
        let entries = &self.component.entries;
        scratch.values.clear();
        scratch.values.extend(entries.iter().map(|&entry| noise[entry as usize]));
        if let Some(bad) = scratch.values.iter().find(|u| u.is_nan() || u.abs() > MAX_NOISE) {
            return Err(Error::parameter("noise", bad, "a number within ±2^40"));
        }
        scratch.units.clear();
        let bits = match &self.route {
            Route::Clamp => self.clamp(scratch),
            Route::Total(total) => total.project(scratch),
            Route::Crossing(table) => {
                let z = table.solve(&scratch.values)?;
                let (units, bits) = table.place(&z, 1.0 + largest(&scratch.values))?;
                scratch.units = units;
                bits
            }
            Route::General(constraints, equations, pinned) => {
                let problem = Problem {
                    u: &scratch.values,
                    lower: &self.lower,
                    upper: &self.upper,
                    constraints,
                    equations: *equations,
                    scale: 1.0 + largest(&scratch.values),
                };
                let solution = problem.solve()?;
                let exact = |units: &[i64], bits: u32| self.check_units(bits, |i| units[i]).is_ok();
                let (units, bits) = problem.repair(&solution, pinned, exact)?;
                scratch.units = units;
                bits
            }
        };
        self.check_units(bits, |i| scratch.units[i])?;
        let unit = 1.0 / power(bits);
        for (&entry, &units) in entries.iter().zip(&scratch.units) {
            noise[entry as usize] = units as f64 * unit;
        }
        Ok(())
    }

    fn clamp(&self, scratch: &mut Nnl2Scratch) -> u32 {
        for ((u, &lower), &upper) in scratch.values.iter_mut().zip(&self.lower).zip(&self.upper) {
            *u = clamp(*u, lower as f64, upper as f64);
        }
        let bits = grid(largest(&scratch.values), GRID);
        scratch.units.extend(scratch.values.iter().map(|u| nearest(u * power(bits)) as i64));
        bits
    }

    /// Checks noise of the whole table against the equations, bounds and rows, in exact arithmetic on the values as real
    /// numbers.
    ///
    /// Errors: a value that is no multiple of 2^-50 or beyond 2^53; [`Error::InvariantViolated`] with the first constraint that
    /// fails.
    pub fn check(&self, noise: &[f64]) -> Result<()> {
        let entries = &self.component.entries;
        for &entry in entries {
            let z = noise[entry as usize];
            let units = z * power(FINEST);
            if z.is_nan() || z.abs() > power(53) || libm::rint(units) != units {
                return Err(Error::parameter("noise", z, "a multiple of 2^-50 within ±2^53"));
            }
        }
        self.check_units(FINEST, |i| (noise[entries[i] as usize] * power(FINEST)) as i128)
    }

    /// Checks noise of the whole table, given as `unit(i) 2^-bits`, against the equations, bounds and rows.
    fn check_units<U>(&self, bits: u32, unit: impl Fn(usize) -> U) -> Result<()>
    where
        U: Copy + Into<i128> + Neg<Output = U> + Shr<u32, Output = U>,
    {
        let sum = |row: &Row| {
            row.iter().try_fold(0i128, |sum, &(entry, a)| {
                let term = i128::from(a)
                    .checked_mul(unit(entry as usize).into())
                    .and_then(|term| sum.checked_add(term));
                term.ok_or_else(|| Error::Invariant("an equation of the noise overflows 128 bits".into()))
            })
        };
        let violated = |place: String, units: i128| Err(Error::violated(place, units as f64 / power(bits)));
        for (i, row) in self.component.rows.iter().enumerate() {
            let residual = sum(row)?;
            if residual != 0 {
                return violated(format!("equation {}", i + 1), residual);
            }
        }
        for (i, (row, least)) in self.rows.iter().enumerate() {
            let slack = sum(row)? - (i128::from(*least) << bits);
            if slack < 0 {
                return violated(format!("inequality {}", i + 1), slack);
            }
        }
        for (i, (&lower, &upper)) in self.lower.iter().zip(&self.upper).enumerate() {
            // Rounded down and up to counts.
            let (least, most) = ((unit(i) >> bits).into(), -(-unit(i) >> bits).into());
            if least < i128::from(lower) || most > i128::from(upper) {
                let (unit, lower, upper) =
                    (unit(i).into(), i128::from(lower) << bits, i128::from(upper) << bits);
                let by = (unit - lower).min(upper - unit);
                return violated(format!("entry {}", self.component.entries[i] + 1), by);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::face::Face;
    use super::problem::Tight;
    use super::solve::{REFINED, UNREFINED};
    use super::*;
    use crate::invariant::Linear;
    use crate::law::{DoubleGeometric, Law};
    use crate::rng::{Stream, below, open01};
    use crate::testing::test_stream;
    use nalgebra::{DMatrix, DVector};

    const NONE: (i64, i64) = (i64::MIN, i64::MAX);

    /// A component and what bounds it.
    #[derive(Debug, Clone)]
    struct Case {
        component: Component,
        lower: Vec<i64>,
        upper: Vec<i64>,
        rows: Vec<(Row, i64)>,
    }

    impl Case {
        fn nonnegative(invariant: &Linear, x: &[i64]) -> Self {
            let lower = x.iter().map(|x| -x).collect();
            Self { component: invariant.whole(), lower, upper: vec![NONE.1; x.len()], rows: vec![] }
        }

        fn nnl2(&self) -> Nnl2 {
            Nnl2::new(&self.component, &self.lower, &self.upper, &self.rows).unwrap()
        }

        /// Prepares the projection of the case by the general route alone.
        fn general(&self) -> Nnl2 {
            let Self { component, lower, upper, rows } = self;
            Nnl2 { route: Nnl2::general(component, lower, upper, rows).unwrap(), ..self.nnl2() }
        }

        fn project(&self, nnl2: &Nnl2, u: &[f64]) -> Vec<f64> {
            let mut z = u.to_vec();
            nnl2.project(&mut Nnl2Scratch::default(), &mut z)
                .unwrap_or_else(|e| panic!("{e}: {self:?} {u:?}"));
            nnl2.check(&z).unwrap();
            z
        }

        /// The closest feasible point among the solutions of all sets of tight constraints.
        fn brute_force(&self, u: &[f64]) -> Vec<f64> {
            let n = u.len();
            let mut best = (f64::INFINITY, vec![]);
            for code in 0..3usize.pow(n as u32) << self.rows.len() {
                let (sets, mut rest) = (code % (1 << self.rows.len()), code >> self.rows.len());
                let mut fixed = vec![None; n];
                for (i, fixed) in fixed.iter_mut().enumerate() {
                    *fixed = [None, Some(self.lower[i]), Some(self.upper[i])][rest % 3];
                    rest /= 3;
                }
                if fixed.iter().flatten().any(|&bound| bound == NONE.0 || bound == NONE.1) {
                    continue;
                }
                let tight = (0..self.rows.len()).filter(|j| sets >> j & 1 == 1).map(|j| &self.rows[j]);
                let equal = self.component.rows.iter().map(|row| (row, 0)).chain(tight.map(|(r, c)| (r, *c)));
                let equal: Vec<(&Row, i64)> = equal.collect();
                let mut z = DVector::from_fn(n, |i, _| fixed[i].map_or(u[i], |bound| bound as f64));
                if !equal.is_empty() {
                    let mut a = DMatrix::zeros(equal.len(), n);
                    let mut right = DVector::zeros(equal.len());
                    for (j, (row, least)) in equal.iter().enumerate() {
                        right[j] = *least as f64;
                        for &(entry, x) in *row {
                            right[j] -= x as f64 * z[entry as usize];
                            if fixed[entry as usize].is_none() {
                                a[(j, entry as usize)] = x as f64;
                            }
                        }
                    }
                    z += a.pseudo_inverse(1e-10).unwrap() * right;
                }
                let sum = |row: &Row| row.iter().map(|&(i, x)| x as f64 * z[i as usize]).sum::<f64>();
                let feasible = (0..n)
                    .all(|i| z[i] >= self.lower[i] as f64 - 1e-9 && z[i] <= self.upper[i] as f64 + 1e-9)
                    && self.component.rows.iter().all(|row| sum(row).abs() < 1e-9)
                    && self.rows.iter().all(|(row, least)| sum(row) >= *least as f64 - 1e-9);
                let distance = z.iter().zip(u).map(|(z, u)| (z - u) * (z - u)).sum();
                if feasible && distance < best.0 {
                    best = (distance, z.iter().copied().collect());
                }
            }
            best.1
        }
    }

    fn between(rng: &mut Stream, low: i64, high: i64) -> i64 {
        low + below(rng, (high - low + 1) as u64) as i64
    }

    fn random_row(rng: &mut Stream, n: usize) -> Row {
        loop {
            let row: Row = (0..n as u32).map(|c| (c, between(rng, -1, 2))).filter(|(_, a)| *a != 0).collect();
            if !row.is_empty() {
                return row;
            }
        }
    }

    fn random_case(rng: &mut Stream, entries: (i64, i64), equations: i64, rows: i64) -> Case {
        let n = between(rng, entries.0, entries.1) as usize;
        let entries = (10..10 + n as u32).collect();
        let equations = (0..between(rng, 0, equations)).map(|_| random_row(rng, n)).collect();
        let component = Component { entries, rows: equations, margins: None };
        let lower = (0..n).map(|_| if below(rng, 4) == 0 { NONE.0 } else { -between(rng, 0, 5) }).collect();
        let upper = (0..n).map(|_| if below(rng, 2) == 0 { NONE.1 } else { between(rng, 0, 5) }).collect();
        let rows = (0..between(rng, 0, rows)).map(|_| (random_row(rng, n), -between(rng, 0, 4))).collect();
        Case { component, lower, upper, rows }
    }

    /// Noise of the table: integers, or reals.
    fn random_noise(rng: &mut Stream, n: usize, real: bool) -> Vec<f64> {
        (0..n).map(|_| between(rng, -9, 9) as f64 + if real { open01(rng) } else { 0.0 }).collect()
    }

    fn distance(a: &[f64], b: &[f64]) -> f64 {
        assert_eq!(a.len(), b.len());
        a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    }

    /// The 2 × 23 table of sex and age: the total, the women, and those of voting age are kept.
    fn two_by_23() -> Linear {
        let adults = (4..23).chain(27..46).collect();
        Linear::subsets(46, &[(0..46).collect(), (0..23).collect(), adults]).unwrap()
    }

    /// The projection is the closest point of all sets of tight constraints.
    #[test]
    fn closest_of_all_active_sets() {
        let mut rng = test_stream(1);
        for round in 0..500 {
            let case = random_case(&mut rng, (1, 5), 2, 2);
            let n = case.component.entries.len();
            let mut u = vec![7.25; 10];
            u.extend(random_noise(&mut rng, n, round % 2 == 0));
            let z = case.project(&case.nnl2(), &u);
            assert_eq!(z[..10], u[..10]);
            let best = case.brute_force(&u[10..]);
            assert!(distance(&z[10..], &best) < 1e-5 * 10.0, "{case:?} {u:?}: {z:?}, want {best:?}");
        }
    }

    /// Larger systems: the point stays the projection when the noise moves along its residual, and the residual
    /// makes no acute angle with the way to another feasible point.
    #[test]
    fn residual_is_normal() {
        let mut rng = test_stream(2);
        for round in 0..300 {
            let mut case = random_case(&mut rng, (8, 30), 5, 4);
            let n = case.component.entries.len();
            case.component.entries = (0..n as u32).collect();
            let nnl2 = case.nnl2();
            let [u, other] = [0, 1].map(|_| random_noise(&mut rng, n, round % 2 == 0));
            let (z, w) = (case.project(&nnl2, &u), case.project(&nnl2, &other));
            let inner: f64 = (0..n).map(|i| (u[i] - z[i]) * (w[i] - z[i])).sum();
            assert!(inner < 1e-2, "{inner}: {case:?} {u:?} {other:?}");
            for t in [0.3, 2.5] {
                let moved: Vec<f64> = u.iter().zip(&z).map(|(u, z)| z + t * (u - z)).collect();
                let again = case.project(&nnl2, &moved);
                assert!(distance(&again, &z) < 4e-4, "{case:?} {u:?}");
            }
        }
    }

    /// Sorting and the general route find the same point.
    #[test]
    fn total_by_both_routes() {
        let mut rng = test_stream(3);
        for round in 0..300 {
            let mut case = random_case(&mut rng, (2, 25), 0, 0);
            let n = case.component.entries.len();
            case.component = Linear::total(n).unwrap().whole();
            let u = random_noise(&mut rng, n, round % 2 == 0);
            let short = case.nnl2();
            assert!(matches!(short.route, Route::Total(_)));
            let (z, other) = (case.project(&short, &u), case.project(&case.general(), &u));
            assert!(distance(&z, &other) < 2e-5, "{case:?} {u:?}: {z:?}, {other:?}");
        }
    }

    /// A simplex of 10^5 entries, and a box with one sum, against bisection on theta.
    #[test]
    fn many_cells_against_bisection() {
        let mut rng = test_stream(4);
        let n = 100_000;
        let x: Vec<i64> = (0..n).map(|_| between(&mut rng, 0, 8)).collect();
        let mut case = Case::nonnegative(&Linear::total(n).unwrap(), &x);
        let law = DoubleGeometric::new(4.0).unwrap();
        for bounded in [false, true] {
            if bounded {
                case.upper = x.iter().map(|x| x % 3).collect();
            }
            let u: Vec<f64> = (0..n).map(|_| law.sample(&mut rng) as f64 + open01(&mut rng)).collect();
            let z = case.project(&case.nnl2(), &u);
            let at = |theta: f64| {
                (0..n)
                    .map(move |i| (i, theta))
                    .map(|(i, t)| clamp(u[i] - t, case.lower[i] as f64, case.upper[i] as f64))
            };
            let (mut low, mut high) = (-1e3, 1e3);
            for _ in 0..100 {
                let theta = 0.5 * (low + high);
                if at(theta).sum::<f64>() > 0.0 { low = theta } else { high = theta }
            }
            assert!(distance(&z, &at(low).collect::<Vec<f64>>()) < 1e-6);
        }
    }

    /// Counts and noise in the millions, by every route.
    #[test]
    fn large_magnitudes() {
        let mut rng = test_stream(5);
        for equations in [0, 1, 3] {
            for _ in 0..100 {
                let mut case = random_case(&mut rng, (6, 12), equations, 0);
                let n = case.component.entries.len();
                case.component.entries = (0..n as u32).collect();
                if equations == 1 {
                    case.component.rows = Linear::total(n).unwrap().rows().to_vec();
                }
                case.lower = (0..n).map(|_| between(&mut rng, -1_000_000, -999_000)).collect();
                case.upper = vec![NONE.1; n];
                let u: Vec<f64> = (0..n).map(|_| between(&mut rng, -3_000_000, 1_500_000) as f64).collect();
                let (z, other) = (case.project(&case.nnl2(), &u), case.project(&case.general(), &u));
                assert!(distance(&z, &other) < 1.0);
                let back: Vec<f64> = z.iter().map(|z| 0.5 * z).collect();
                let inner: f64 = (0..n).map(|i| (u[i] - z[i]) * (back[i] - z[i])).sum();
                assert!(inner < 1e-5 * 1e13, "{inner}");
            }
        }
    }

    /// Tables whose counts stay >= 0, many of them 0: every draw is projected, and next to nothing is moved by
    /// the exact rounding.
    #[test]
    fn thousands_of_draws() {
        let mut rng = test_stream(6);
        let law = DoubleGeometric::new(1.0).unwrap();
        for (invariant, mean) in
            [(Linear::margins(4, 4).unwrap(), 2), (Linear::margins(4, 4).unwrap(), 0), (two_by_23(), 5)]
        {
            let n = invariant.entries();
            for _ in 0..40 {
                let x: Vec<i64> = (0..n).map(|_| between(&mut rng, 0, 2 * mean)).collect();
                let case = Case::nonnegative(&invariant, &x);
                let nnl2 = case.nnl2();
                for _ in 0..25 {
                    let u: Vec<f64> = (0..n).map(|_| law.sample(&mut rng) as f64).collect();
                    let z = case.project(&nnl2, &u);
                    let Route::General(constraints, equations, _) = &nnl2.route else { panic!("{nnl2:?}") };
                    let problem = Problem {
                        u: &u,
                        lower: &case.lower,
                        upper: &case.upper,
                        constraints,
                        equations: *equations,
                        scale: 1.0 + largest(&u),
                    };
                    let solution = problem.solve().unwrap();
                    assert!(distance(&solution.z, &z) < 1e-5, "{case:?} {u:?}");
                    // From the active set of the solver, and from none.
                    let mut cold = Face::new(&problem, Tight::default());
                    assert!(cold.run() && distance(&cold.z, &solution.z) < 1e-9);
                    let (interior, multipliers, _) = problem.interior().unwrap();
                    assert!(problem.residual(&interior, &multipliers) < UNREFINED);
                    // What has the wrong multipliers, or is not feasible, is no solution.
                    assert!(problem.residual(&solution.z, &vec![0.1; constraints.len()]) > REFINED);
                    assert!(
                        distance(&u, &z) == 0.0 || problem.residual(&u, &cold.all_multipliers()) > REFINED
                    );
                }
            }
        }
    }

    /// A vertex that no binary fraction holds, a row that cannot bind, and a zero row of a table.
    #[test]
    fn corner_cases() {
        let component = Component { entries: vec![0, 1], rows: vec![vec![(0, 3), (1, 1)]], margins: None };
        let case =
            Case { component: component.clone(), lower: vec![-5, -1], upper: vec![5, 5], rows: vec![] };
        let z = case.project(&case.nnl2(), &[8.0, -8.0]);
        assert!(distance(&z, &[1.0 / 3.0, -1.0]) < 1e-5 && z[1] > -1.0, "{z:?}");
        // Where a vertex is no binary fraction: another table with the same constraints and the same noisy counts releases
        // the same. From the one to the other (-1, 3) is added to the counts.
        let shift = [-1i64, 3];
        let one = Case { component: component.clone(), lower: vec![-5, -7], upper: vec![9, 9], rows: vec![] };
        let mut other = one.clone();
        for bounds in [&mut other.lower, &mut other.upper] {
            bounds.iter_mut().zip(shift).for_each(|(bound, step)| *bound -= step);
        }
        for noise in [[8.0, -20.0], [7.25, -9.5], [100.0, -3000.0]] {
            let z = one.project(&one.nnl2(), &noise);
            assert!(distance(&z, &[7.0 / 3.0, -7.0]) < 1e-5 && z[1] > -7.0, "{z:?}");
            let again =
                other.project(&other.nnl2(), &[noise[0] - shift[0] as f64, noise[1] - shift[1] as f64]);
            assert_eq!(z, [again[0] + shift[0] as f64, again[1] + shift[1] as f64]);
        }
        // A row that cannot bind leaves nothing to solve.
        let component = Component { entries: vec![0, 1], rows: vec![], margins: None };
        let (lower, upper) = (vec![NONE.0; 2], vec![NONE.1; 2]);
        let case = Case { component, lower, upper, rows: vec![(vec![(0, 1), (1, -1)], -1000)] };
        assert_eq!(case.project(&case.nnl2(), &[4.5, 1.0]), [4.5, 1.0]);
        let case = Case::nonnegative(&Linear::margins(2, 3).unwrap(), &[0, 0, 0, 1, 2, 3]);
        assert_eq!(case.project(&case.nnl2(), &[1.0, -2.0, 5.0, 0.0, 0.0, 9.0]), [0.0; 6]);
    }

    /// The exact check finds a deviation by one unit of the last place in each kind of constraint.
    #[test]
    fn exact_check() {
        let component = Linear::subsets(4, &[vec![0, 1, 2], vec![2, 3]]).unwrap().whole();
        let rows = vec![(vec![(0, 1), (3, 2)], -3)];
        let nnl2 = Nnl2::new(&component, &[-2, -2, -1, -2], &[3, 1, 9, 9], &rows).unwrap();
        let check = |z: [f64; 4]| nnl2.check(&z);
        let tiny = 1.0 / power(40);
        check([2.0, -1.0, -1.0, 1.0]).unwrap();
        check([2.0 + tiny, -1.0 - tiny, -1.0, 1.0]).unwrap();
        let place = |z: [f64; 4]| match check(z) {
            Err(Error::InvariantViolated { place, .. }) => place,
            other => panic!("{other:?}"),
        };
        assert_eq!(place([2.0 + tiny, -1.0, -1.0, 1.0]), "equation 1");
        assert_eq!(place([2.0 + tiny, -1.0, -1.0 - tiny, 1.0]), "equation 2");
        assert_eq!(place([2.0 + tiny, -1.0, -1.0 - tiny, 1.0 + tiny]), "entry 3");
        assert_eq!(place([0.0, 1.0 + tiny, -1.0 - tiny, 1.0 + tiny]), "entry 2");
        assert_eq!(place([-1.0, -1.0 + tiny, 2.0 - tiny, -2.0 + tiny]), "inequality 1");
        assert!(matches!(check([0.1, -0.1, 0.0, 0.0]), Err(Error::Parameter { .. })));
        assert!(matches!(check([f64::NAN, 0.0, 0.0, 0.0]), Err(Error::Parameter { .. })));
    }

    /// What excludes z = 0 or does not fit is refused; so is noise that is no number.
    #[test]
    fn refusals() {
        let component = Linear::total(2).unwrap().whole();
        let refused = |lower: &[i64], upper: &[i64], rows: &[(Row, i64)]| {
            Nnl2::new(&component, lower, upper, rows).is_err()
        };
        assert!(refused(&[0], &[0, 0], &[]) && refused(&[0, 0], &[0], &[]));
        assert!(refused(&[1, 0], &[2, 0], &[]) && refused(&[-2, 0], &[-1, 0], &[]));
        assert!(refused(&[0, 0], &[0, 0], &[(vec![(0, 1)], 1)]));
        assert!(refused(&[0, 0], &[0, 0], &[(vec![(2, 1)], 0)]));
        assert!(refused(&[0, 0], &[0, 0], &[(vec![(1, 1), (1, 1)], 0)]));
        assert!(refused(&[0, 0], &[0, 0], &[(vec![], 0)]));
        let nnl2 = Nnl2::new(&component, &[-1, -1], &[1, 1], &[]).unwrap();
        let mut noise = [1.0, f64::NAN];
        assert!(nnl2.project(&mut Nnl2Scratch::default(), &mut noise).is_err());
        assert_eq!(noise[0], 1.0);
    }
}
