//! Random small tables.

use crate::invariant::{Inequalities, Linear, Region};
use crate::lattice::IntMatrix;
use crate::rng::{Stream, below};

pub(crate) fn pick<T: Copy>(rng: &mut Stream, from: &[T]) -> T {
    from[below(rng, from.len() as u64) as usize]
}

pub(crate) fn integer(rng: &mut Stream, low: i64, high: i64) -> i64 {
    low + below(rng, (high - low) as u64 + 1) as i64
}

/// Equations, and what bounds the noise around random counts. `None`: what is refused.
pub(crate) fn table(rng: &mut Stream, bounded: bool) -> Option<(String, Linear, Region)> {
    let mut d = 2 + below(rng, if bounded { 5 } else { 3 }) as usize;
    let row = |rng: &mut Stream, d: usize, most: i64| -> Vec<i64> {
        (0..d).map(|_| integer(rng, -most, most)).collect()
    };
    let most = pick(rng, &[1, 2, 2, 4]);
    let equations = match below(rng, 7) {
        0 => Linear::total(d),
        1 => Linear::partition(&(0..d).map(|i| i % 2).collect::<Vec<_>>()),
        2 => {
            d = if bounded { pick(rng, &[4, 6]) } else { 4 };
            Linear::margins(2, d / 2)
        }
        _ => {
            let rows: Vec<Vec<i64>> = (0..=below(rng, 2)).map(|_| row(rng, d, most)).collect();
            Linear::matrix(&IntMatrix::from_rows(&rows)?)
        }
    };
    let equations = equations.ok()?;
    let most = pick(rng, &[3, 6, 6, 20]);
    let counts: Vec<i64> =
        (0..d).map(|_| if below(rng, 3) == 0 { 0 } else { integer(rng, 0, most) }).collect();
    if !bounded {
        return Some((format!("{:?}", equations.rows()), equations, Region::everything()));
    }
    let mut inequalities = match below(rng, 3) {
        0 => Inequalities::nonnegative(d),
        1 => Inequalities::bounds(vec![-1; d], vec![20; d]).ok()?,
        _ => {
            let lower = counts.iter().map(|x| x - integer(rng, 0, 4)).collect();
            let upper = counts.iter().map(|x| x + integer(rng, 0, 4)).collect();
            Inequalities::bounds(lower, upper).ok()?
        }
    };
    for _ in 0..below(rng, 3) {
        let row = row(rng, d, 2);
        let at: i64 = row.iter().zip(&counts).map(|(a, x)| a * x).sum();
        let least = at - integer(rng, 0, 6);
        let row = row.into_iter().zip(0..).map(|(a, i)| (i, a)).collect();
        inequalities = inequalities.and(Inequalities::rows(vec![(row, least)]).ok()?);
    }
    let region = inequalities.around(&counts).ok()?;
    Some((format!("{:?} around {counts:?}: {region:?}", equations.rows()), equations, region))
}

/// The points of a table's region with entries within ±reach: entry by entry, an equation as soon as all of its entries
/// are there. `None`: too many.
pub(crate) fn points(invariant: &Linear, region: &Region, reach: i64) -> Option<Vec<Vec<i64>>> {
    let mut points: Vec<Vec<i64>> = vec![Vec::new()];
    for i in 0..invariant.entries() {
        let (lower, upper) = (region.lower[i].max(-reach), region.upper[i].min(reach));
        let complete: Vec<_> =
            invariant.rows().iter().filter(|row| row[row.len() - 1].0 as usize == i).collect();
        let zero = |z: &Vec<i64>| {
            complete.iter().all(|row| row.iter().map(|&(c, a)| a * z[c as usize]).sum::<i64>() == 0)
        };
        points = points
            .iter()
            .flat_map(|head| (lower..=upper).map(move |z| [&head[..], &[z]].concat()))
            .filter(zero)
            .collect();
        if points.len() > 100_000 {
            return None;
        }
    }
    points.retain(|z| region.check(z).is_ok());
    Some(points)
}
