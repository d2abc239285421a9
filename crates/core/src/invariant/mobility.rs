//! How often a vector can move within a region.

use super::inequalities::{Bounded, Region};
use super::side::{NO_LOWER, NO_UPPER};
use crate::lattice::Sparse;
use std::collections::HashSet;

/// Points times vectors that are looked at, for all components of an invariant together.
pub(crate) const MOST_LOOKS: usize = 1 << 18;

/// Points of one component that are listed.
const MOST_POINTS: usize = 2048;

/// By vector: the share of the region's points from which a step of ±1 along it stays inside. All points are
/// listed, from 0 along the vectors, which must connect them.
///
/// `vectors`: on the component's own entries. `looks`: how many points times vectors may be looked at; what was looked at is
/// taken off. `None`: more than that, more than 2,048 points, or nothing bounds some entry.
pub(crate) fn listed(bounded: &Bounded, vectors: &[Sparse], looks: &mut usize) -> Option<Vec<f64>> {
    let within = bounded.narrowed()?;
    let n = bounded.component.entries.len();
    if (0..n).any(|entry| within.lower[entry] == NO_LOWER || within.upper[entry] == NO_UPPER) {
        return None;
    }
    let mut points = vec![vec![0i64; n]];
    let mut known: HashSet<Vec<i64>> = HashSet::from([points[0].clone()]);
    let mut mobile = vec![0u32; vectors.len()];
    let mut next = 0;
    while next < points.len() {
        if points.len() > MOST_POINTS {
            return None;
        }
        *looks = looks.checked_sub(vectors.len())?;
        for (vector, mobile) in vectors.iter().zip(&mut mobile) {
            let mut can = false;
            for sign in [1, -1] {
                let mut z = points[next].clone();
                vector.iter().for_each(|&(entry, c)| z[entry as usize] += sign * i64::from(c));
                if within.contains(&z) {
                    can = true;
                    if known.insert(z.clone()) {
                        points.push(z);
                    }
                }
            }
            *mobile += u32::from(can);
        }
        next += 1;
    }
    Some(mobile.into_iter().map(|mobile| f64::from(mobile) / points.len() as f64).collect())
}

/// Estimates from bounds alone what [`listed`] counts, for one vector that fits ([`Bounded::fits`]): the share for a
/// step of +1 if every point of the box of the bounds that everything implies were in the region,
/// `Π (1 - |b_i|/(width_i + 1))`; above 0.
///
/// `within`: the region's [`Bounded::narrowed`].
pub(crate) fn estimated(within: &Region, vector: &[(u32, i32)]) -> f64 {
    let of = |&(entry, c): &(u32, i32)| {
        let (lower, upper) = (within.lower[entry as usize], within.upper[entry as usize]);
        if lower == NO_LOWER || upper == NO_UPPER {
            return 1.0;
        }
        let points = upper.saturating_sub(lower) as f64 + 1.0;
        // What fits has a step of its size within the bounds of every entry.
        (1.0 - f64::from(c).abs() / points).max(f64::MIN_POSITIVE)
    };
    vector.iter().map(of).product::<f64>().max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invariant::{Linear, Moves};
    use crate::kernel::fuzz::systems::{points, table};
    use crate::testing::test_stream;

    /// On random systems whose points are listed another way, the moves connect them; shares are the shares; what could
    /// move fits, and has an estimate above 0.
    #[test]
    fn nothing_that_can_move_is_left_out() {
        let mut rng = test_stream(92);
        let (mut systems, mut vectors, mut out, mut kept) = (0, 0, 0, 0);
        for _ in 0..300 {
            let Some((name, equations, region)) = table(&mut rng, true) else { continue };
            for bounded in region.components(&equations).iter().flat_map(Bounded::reduced) {
                let n = bounded.component.entries.len();
                let own = Bounded {
                    component: crate::invariant::Component {
                        entries: (0..n as u32).collect(),
                        ..bounded.component.clone()
                    },
                    ..bounded.clone()
                };
                let rows = own.component.rows.clone();
                let invariant = Linear::from_rows(n, rows).unwrap_or(Linear::none(n));
                let Some(points) = points(&invariant, &own.region, 25) else { continue };
                if points.len() > 2000 || points.iter().flatten().any(|z| z.abs() == 25) {
                    continue;
                }
                let Ok(moves) = Moves::within(&own) else { continue };
                let Some(all) = moves.list(512).filter(|all| !all.is_empty()) else { continue };
                let shares = listed(&own, &all, &mut usize::MAX.clone());
                // Nothing bounds some entry that the box knows of.
                let Some(shares) = shares else { continue };
                let within: Region = own.narrowed().expect("it holds 0");
                let known: HashSet<&Vec<i64>> = points.iter().collect();
                systems += 1;
                for (vector, &share) in all.iter().zip(&shares) {
                    let moved = |z: &Vec<i64>, sign: i64| {
                        let mut z = z.clone();
                        vector.iter().for_each(|&(i, c)| z[i as usize] += sign * i64::from(c));
                        known.contains(&z)
                    };
                    let mobile = points.iter().filter(|z| moved(z, 1) || moved(z, -1)).count();
                    let want = mobile as f64 / points.len() as f64;
                    assert_eq!(share, want, "{name}: {vector:?}");
                    let estimate = if own.fits(vector) { estimated(&within, vector) } else { 0.0 };
                    assert!(
                        (0.0..=1.0).contains(&estimate) && (want == 0.0 || estimate > 0.0),
                        "{name}: {vector:?}"
                    );
                    vectors += 1;
                    out += usize::from(want == 0.0 && estimate == 0.0);
                    kept += usize::from(want == 0.0 && estimate > 0.0);
                }
            }
        }
        println!(
            "{systems} systems, {vectors} vectors; {out} that cannot move are left out by bounds alone, {kept} are not"
        );
        assert!(systems > 100 && out > 10 * kept);
    }
}
