use super::*;
use crate::imaging::nnl2::grid::power;
use crate::imaging::nnl2::{Nnl2, Nnl2Scratch, Route};
use crate::invariant::{Linear, NO_LOWER, NO_UPPER, Region};
use crate::law::{DoubleGeometric, Law};
use crate::rng::{Stream, below, normal};
use crate::testing::test_stream;

/// Values that are moved to the grid: by at most this much of `1 + ‖u‖∞`, as the errors say.
const MOVED: f64 = 1e-5;

/// A component, its bounds around 0, and noise.
struct Case {
    component: Component,
    lower: Vec<i64>,
    upper: Vec<i64>,
    u: Vec<f64>,
}

impl Case {
    fn large(&self) -> Vec<f64> {
        let Self { component, lower, upper, u } = self;
        let table = Crossing::of(component, lower, upper).expect("a table");
        let nnl2 = Nnl2::new(component, lower, upper, &[]).unwrap();
        self.project(&Nnl2 { route: Route::Crossing(table), ..nnl2 }, u)
    }

    fn project(&self, nnl2: &Nnl2, u: &[f64]) -> Vec<f64> {
        let mut z = u.to_vec();
        nnl2.project(&mut Nnl2Scratch::default(), &mut z).unwrap();
        nnl2.check(&z).unwrap();
        z
    }

    /// By alternating projections with Dykstra's corrections: means of rows and columns taken off, then the bounds.
    fn dykstra(&self, rows: usize, columns: usize) -> Vec<f64> {
        let mut z = self.u.clone();
        let mut correction = vec![0.0; z.len()];
        for _ in 0..200_000 {
            for i in 0..rows {
                let mean = z[i * columns..(i + 1) * columns].iter().sum::<f64>() / columns as f64;
                z[i * columns..(i + 1) * columns].iter_mut().for_each(|z| *z -= mean);
            }
            for j in 0..columns {
                let mean = (0..rows).map(|i| z[i * columns + j]).sum::<f64>() / rows as f64;
                (0..rows).for_each(|i| z[i * columns + j] -= mean);
            }
            let mut change = 0.0f64;
            for (i, z) in z.iter_mut().enumerate() {
                let wanted = *z + correction[i];
                let inside = wanted.clamp(self.lower[i] as f64, self.upper[i] as f64);
                change = change.max((*z - inside).abs());
                correction[i] = wanted - inside;
                *z = inside;
            }
            if change < 1e-12 {
                return z;
            }
        }
        panic!("Dykstra's projections have not converged");
    }
}

fn farthest(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// Counts from 0 on around a mean, a part of them 0: how far noise may fall.
fn floors(rng: &mut Stream, n: usize, most: u64) -> Vec<i64> {
    (0..n).map(|_| -(below(rng, most + 1) as i64) * i64::from(below(rng, 3) > 0)).collect()
}

fn noise(rng: &mut Stream, n: usize, scale: f64, real: bool) -> Vec<f64> {
    let law = DoubleGeometric::new(scale).unwrap();
    (0..n).map(|_| if real { scale * normal(rng) } else { law.sample(rng) as f64 }).collect()
}

/// Beyond 2,048 entries: the projection that Dykstra's alternating projections converge to, of integer and real noise,
/// with upper bounds and without. Their last change is 1e-12, a factor of 1e-3 at most from their limit here; the grid
/// is the rest.
#[test]
fn large_tables_against_alternating_projections() {
    let mut rng = test_stream(201);
    let (rows, columns) = (60, 50);
    for (real, capped, most) in [(false, false, 12), (true, false, 3), (true, true, 6)] {
        let n = rows * columns;
        let upper =
            if capped { (0..n).map(|_| below(&mut rng, 5) as i64).collect() } else { vec![NO_UPPER; n] };
        let component = Linear::margins(rows, columns).unwrap().whole();
        let case =
            Case { component, lower: floors(&mut rng, n, most), upper, u: noise(&mut rng, n, 4.0, real) };
        let nnl2 = Nnl2::new(&case.component, &case.lower, &case.upper, &[]).unwrap();
        assert!(matches!(nnl2.route, Route::Crossing(_)));
        let z = case.project(&nnl2, &case.u);
        let wanted = case.dykstra(rows, columns);
        // A hundred units of the grid: the rounding of 60 entries in a sum goes to few of them.
        assert!(farthest(&z, &wanted) < 100.0 / power(24), "{}", farthest(&z, &wanted));
        assert!(
            wanted.iter().zip(&case.lower).filter(|&(z, &lower)| *z < lower as f64 + 1e-9).count() > n / 20
        );
    }
}

/// The conditions of optimality, from the values alone: of entries between their bounds `u - z = a_i + b_j`, along a
/// tree of them; entries at a bound push outwards. Beyond 65,536 entries.
#[test]
fn conditions_of_optimality_hold() {
    let mut rng = test_stream(202);
    for (rows, columns, most) in [(257, 256, 20), (1000, 70, 2)] {
        let n = rows * columns;
        let component = Linear::margins(rows, columns).unwrap().whole();
        let case = Case {
            component,
            lower: floors(&mut rng, n, most),
            upper: vec![NO_UPPER; n],
            u: noise(&mut rng, n, 4.0, true),
        };
        let z = case.large();
        let push: Vec<f64> = case.u.iter().zip(&z).map(|(u, z)| u - z).collect();
        let inside: Vec<bool> =
            z.iter().zip(&case.lower).map(|(z, &lower)| z - lower as f64 > 1e-3).collect();
        let mut multipliers: Vec<Option<f64>> = vec![None; rows + columns];
        multipliers[0] = Some(0.0);
        let mut open = vec![0];
        while let Some(at) = open.pop() {
            let (first, step, count, other) =
                if at < rows { (at * columns, 1, columns, rows) } else { (at - rows, columns, rows, 0) };
            for k in (0..count).filter(|k| inside[first + step * k]) {
                if multipliers[other + k].is_none() {
                    multipliers[other + k] = multipliers[at].map(|m| push[first + step * k] - m);
                    open.push(other + k);
                }
            }
        }
        // The grid moves entries by some units, and a way along the tree adds them up.
        let tolerance = 1e-4;
        let mut tight = 0;
        for (entry, push) in push.iter().enumerate() {
            let sum = multipliers[entry / columns].unwrap() + multipliers[rows + entry % columns].unwrap();
            let off = push - sum;
            assert!(if inside[entry] { off.abs() < tolerance } else { off < 2e-3 }, "{entry}: {off}");
            tight += usize::from(!inside[entry]);
        }
        assert!(tight > n / 20, "{tight}");
    }
}

/// Counts that are mostly 0, under noise a thousand times as wide: the search takes many rounds, and finds what the dense route does.
#[test]
fn sparse_tables_under_wide_noise() {
    let mut rng = test_stream(205);
    for (rows, columns, scale) in [(40, 40, 3000.0), (30, 50, 1000.0), (44, 46, 30_000.0)] {
        let n = rows * columns;
        let component = Linear::margins(rows, columns).unwrap().whole();
        let lower = (0..n).map(|_| -i64::from(below(&mut rng, 30) == 0)).collect();
        let case = Case { component, lower, upper: vec![NO_UPPER; n], u: noise(&mut rng, n, scale, true) };
        let dense = Nnl2::new(&case.component, &case.lower, &case.upper, &[]).unwrap();
        assert!(!matches!(dense.route, Route::Crossing(_)));
        let (want, got) = (case.project(&dense, &case.u), case.large());
        assert!(farthest(&want, &got) < 1e-8 * scale, "{scale}: {}", farthest(&want, &got));
    }
}

/// Small tables, whole and with gaps, several entries at a crossing, under both routes: the same point to what the
/// grids move. Some bounds pin, some are none.
#[test]
fn both_routes_find_the_same_point() {
    let mut rng = test_stream(203);
    let mut gaps = 0;
    for round in 0..600 {
        let n = 6 + below(&mut rng, 40) as usize;
        let whole = round % 3 == 0;
        let columns = 2 + below(&mut rng, 6) as usize;
        let n = if whole { n / columns * columns } else { n };
        let invariant = if whole && n / columns > 1 {
            Linear::margins(n / columns, columns).unwrap()
        } else {
            let mut side = |kinds: u64| -> Linear {
                let groups: Vec<usize> = (0..n).map(|_| below(&mut rng, kinds) as usize).collect();
                Linear::partition(&groups).unwrap()
            };
            side(4).and(side(5))
        };
        for component in invariant.components() {
            let entries: Vec<u32> = (0..component.entries.len() as u32).collect();
            let n = entries.len();
            let component = Component { entries, ..component };
            let lower: Vec<i64> = match round % 4 {
                0 => vec![NO_LOWER; n],
                _ => floors(&mut rng, n, 6),
            };
            let upper: Vec<i64> = (0..n)
                .map(|_| if below(&mut rng, 3) == 0 { below(&mut rng, 4) as i64 } else { NO_UPPER })
                .collect();
            if component.is_total() {
                continue;
            }
            gaps += usize::from(component.margins.is_none());
            let u = noise(&mut rng, n, 3.0, round % 2 == 0);
            let case = Case { component, lower, upper, u };
            let route = Nnl2::general(&case.component, &case.lower, &case.upper, &[]).unwrap();
            let nnl2 = Nnl2::new(&case.component, &case.lower, &case.upper, &[]).unwrap();
            let general = case.project(&Nnl2 { route, ..nnl2 }, &case.u);
            let z = case.large();
            let most = 2.0 * MOVED * (1.0 + largest(&case.u));
            assert!(farthest(&z, &general) < most, "{:?} {:?}: {z:?} {general:?}", case.component, case.u);
        }
    }
    assert!(gaps > 200, "{gaps}");
}

/// What is no two-way table is told: an entry in one sum or in three, another coefficient, an odd circle of sums.
#[test]
fn tables_are_recognised() {
    let is = |invariant: Linear| {
        let component = invariant.whole();
        let n = component.entries.len();
        Crossing::of(&component, &vec![0; n], &vec![0; n]).is_some()
    };
    assert!(is(Linear::margins(3, 4).unwrap()));
    assert!(is(Linear::subsets(4, &[vec![0, 1], vec![2, 3], vec![1, 3], vec![0, 2]]).unwrap()));
    assert!(!is(Linear::total(4).unwrap()));
    assert!(!is(Linear::subsets(3, &[vec![0, 1], vec![1, 2], vec![0, 2]]).unwrap()));
    assert!(!is(Linear::from_rows(2, vec![vec![(0, 1), (1, 2)], vec![(0, 1), (1, 1)]]).unwrap()));
    assert!(!is(Linear::subsets(2, &[vec![0, 1], vec![0], vec![0, 1], vec![1]]).unwrap()));
}

/// A row of zeros stays, noise far beyond the counts is projected, and a shift of counts by integers shifts nothing:
/// the same noisy counts give the same release.
#[test]
fn large_noise_and_shifts() {
    let mut rng = test_stream(204);
    let (rows, columns) = (50, 45);
    let n = rows * columns;
    let component = Linear::margins(rows, columns).unwrap().whole();
    let mut lower = floors(&mut rng, n, 9);
    lower[..columns].fill(0);
    // Up in one corner of a square and down in the next.
    let corners = [(47, 2), (48, -2), (47 + columns, -2), (48 + columns, 2)];
    corners.iter().for_each(|&(entry, _)| lower[entry] = -9);
    for scale in [1.0, 1e3, 1e7] {
        let u = noise(&mut rng, n, scale, false);
        let case = Case { component: component.clone(), lower: lower.clone(), upper: vec![NO_UPPER; n], u };
        let z = case.large();
        assert!(z[..columns].iter().all(|&z| z == 0.0));
        let mut shift = vec![0i64; n];
        corners.iter().for_each(|&(entry, step)| shift[entry] = step);
        let moved = Case {
            component: component.clone(),
            lower: lower.iter().zip(&shift).map(|(lower, shift)| lower - shift).collect(),
            upper: vec![NO_UPPER; n],
            u: case.u.iter().zip(&shift).map(|(u, &shift)| u - shift as f64).collect(),
        };
        let again: Vec<f64> = moved.large().iter().zip(&shift).map(|(z, &shift)| z + shift as f64).collect();
        assert!(farthest(&z, &again) <= MOVED * (1.0 + largest(&case.u)));
    }
}

/// Through the whole table: two large tables side by side, one with entries that cannot move.
#[test]
fn tables_side_by_side() {
    let mut rng = test_stream(205);
    let (rows, columns) = (48, 47);
    let one = rows * columns;
    let row = |entry: usize| (entry / one) * rows + entry % one / columns;
    let column = |entry: usize| (entry / one) * columns + entry % one % columns;
    let both = Linear::partition(&(0..2 * one).map(row).collect::<Vec<_>>())
        .unwrap()
        .and(Linear::partition(&(0..2 * one).map(column).collect::<Vec<_>>()).unwrap());
    let known: Vec<u32> = (0..one as u32).filter(|entry| entry % 7 == 0).collect();
    let invariant = both.with_known(&known).unwrap();
    let region = Region { lower: floors(&mut rng, 2 * one, 8).into_iter().collect(), ..Region::everything() };
    let nnl2 = crate::imaging::LatticeNnl2::new(&invariant, &region).unwrap();
    let mut z = noise(&mut rng, 2 * one, 4.0, false);
    nnl2.project(&mut Nnl2Scratch::default(), &mut z).unwrap();
    nnl2.check(&z).unwrap();
    assert!(known.iter().all(|&entry| z[entry as usize] == 0.0));
    for row in both.rows() {
        assert_eq!(row.iter().map(|&(entry, _)| z[entry as usize]).sum::<f64>(), 0.0);
    }
}
