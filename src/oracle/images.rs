//! Projections of noise drawn anew: by coordinate ascent on the multipliers, and by trying all roundings.

use super::Sampler;
use crate::invariant::{Hierarchy, Linear, NO_LOWER, NO_UPPER, Region};
use crate::rng::{Rng, open01};

/// `row·z = value` or `row·z >= value`.
#[derive(Debug, Clone)]
struct Constraint {
    row: Vec<(usize, f64)>,
    value: f64,
    equal: bool,
}

/// The point closest to `u` in `Σ (z - u)²/variance` that satisfies all constraints (Hildreth 1957): every multiplier in turn
/// is what makes its constraint hold, or 0.
fn closest(u: &[f64], variances: &[f64], constraints: &[Constraint]) -> Vec<f64> {
    let mut z = u.to_vec();
    let mut multipliers = vec![0.0f64; constraints.len()];
    for _ in 0..20_000 {
        let mut moved = 0.0f64;
        for (constraint, multiplier) in constraints.iter().zip(&mut multipliers) {
            let at: f64 = constraint.row.iter().map(|&(i, a)| a * z[i]).sum();
            let size: f64 = constraint.row.iter().map(|&(i, a)| a * a * variances[i]).sum();
            let next = *multiplier + (constraint.value - at) / size;
            let next = if constraint.equal { next } else { next.max(0.0) };
            for &(i, a) in &constraint.row {
                let step = (next - *multiplier) * a * variances[i];
                z[i] += step;
                moved = moved.max(step.abs());
            }
            *multiplier = next;
        }
        if moved < 1e-12 {
            break;
        }
    }
    z
}

/// Integers with `row·z = value` for all equations and within bounds that are closest to `real` in L1, one of those at
/// random; each value is rounded down or up, or one further.
fn rounded<R: Rng + ?Sized>(rng: &mut R, real: &[f64], sets: &[Vec<usize>], lower: &[f64]) -> Vec<f64> {
    let mut out: Vec<f64> = real.iter().map(|z| libm::rint(*z)).collect();
    for set in sets {
        let floors: Vec<f64> = set.iter().map(|&i| libm::floor(real[i] + 1e-9)).collect();
        let total: f64 = set.iter().map(|&i| real[i]).sum();
        let mut best: (f64, Vec<Vec<f64>>) = (f64::INFINITY, Vec::new());
        for index in 0..4usize.pow(set.len() as u32) {
            let at = |k: usize| floors[k] - 1.0 + (index / 4usize.pow(k as u32) % 4) as f64;
            let sum: f64 = (0..set.len()).map(at).sum();
            if (sum - total).abs() > 1e-6 || (0..set.len()).any(|k| at(k) < lower[set[k]] - 1e-9) {
                continue;
            }
            let off: f64 = (0..set.len()).map(|k| (at(k) - real[set[k]]).abs()).sum();
            let point = || (0..set.len()).map(at).collect();
            if off < best.0 - 1e-7 {
                best = (off, vec![point()]);
            } else if off < best.0 + 1e-7 {
                best.1.push(point());
            }
        }
        let chosen = (open01(rng) * best.1.len() as f64) as usize;
        for (&i, &z) in set.iter().zip(&best.1[chosen]) {
            out[i] = z;
        }
    }
    out
}

/// What is done with the noise of a table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TableImage {
    /// Nothing.
    None,
    /// Least squares under the equations.
    L2,
    /// Least squares under everything.
    Nnl2,
    /// [`TableImage::L2`], then the closest integers under each total.
    L2Integer,
    /// [`TableImage::Nnl2`], then the closest integers under each total.
    Nnl2Integer,
    /// L1 under totals and bounds, by shares.
    L1 {
        /// The first entry's share.
        beta: f64,
    },
}

/// One image of fresh noise on a table. Rounding tries `4^n` vectors for a total of n entries: a few only.
///
/// Errors: an image that is not known here for these constraints.
pub fn table<R: Rng + ?Sized>(
    rng: &mut R,
    noise: &Sampler,
    image: TableImage,
    invariant: &Linear,
    region: &Region,
) -> Result<Vec<f64>, String> {
    let d = invariant.entries();
    let u: Vec<f64> = (0..d).map(|_| noise.draw(rng)).collect();
    let sparse = |row: &[(u32, i64)]| row.iter().map(|&(c, a)| (c as usize, a as f64)).collect();
    let mut constraints: Vec<Constraint> =
        invariant.rows().iter().map(|row| Constraint { row: sparse(row), value: 0.0, equal: true }).collect();
    if matches!(image, TableImage::Nnl2 | TableImage::Nnl2Integer) {
        for i in 0..d {
            if region.lower[i] != NO_LOWER {
                constraints.push(Constraint {
                    row: vec![(i, 1.0)],
                    value: region.lower[i] as f64,
                    equal: false,
                });
            }
            if region.upper[i] != NO_UPPER {
                constraints.push(Constraint {
                    row: vec![(i, -1.0)],
                    value: -region.upper[i] as f64,
                    equal: false,
                });
            }
        }
        for (row, least) in &region.rows {
            constraints.push(Constraint { row: sparse(row), value: *least as f64, equal: false });
        }
    }
    let lower: Vec<f64> = (0..d).map(|i| region.lower.real(i)).collect();
    let upper: Vec<f64> = (0..d).map(|i| region.upper.real(i)).collect();
    let totals = || -> Result<Vec<Vec<usize>>, String> {
        let rows = invariant.rows();
        let plain = rows.iter().all(|row| row.len() <= 6 && row.iter().all(|&(_, a)| a == 1));
        let mut owned = vec![false; d];
        for &(c, _) in rows.iter().flatten() {
            if std::mem::replace(&mut owned[c as usize], true) || !plain {
                return Err("roundings are tried for small totals only".into());
            }
        }
        Ok(rows.iter().map(|row| row.iter().map(|&(c, _)| c as usize).collect()).collect())
    };
    let ones = vec![1.0; d];
    Ok(match image {
        TableImage::None => u,
        TableImage::L2 | TableImage::Nnl2 => closest(&u, &ones, &constraints),
        TableImage::L2Integer => {
            let none = vec![f64::NEG_INFINITY; d];
            rounded(rng, &closest(&u, &ones, &constraints), &totals()?, &none)
        }
        TableImage::Nnl2Integer => rounded(rng, &closest(&u, &ones, &constraints), &totals()?, &lower),
        TableImage::L1 { beta } => {
            let mut z: Vec<f64> =
                u.iter().zip(lower.iter().zip(&upper)).map(|(u, (l, h))| u.max(*l).min(*h)).collect();
            if !(0.0 < beta && beta < 1.0) {
                return Err("shares of 0 are not known here".into());
            }
            for set in totals()? {
                if set.len() == 1 {
                    z[set[0]] = 0.0;
                    continue;
                }
                let share = |k: usize| if k == 0 { 1.0 - beta } else { beta / (set.len() - 1) as f64 };
                let at = |theta: f64, k: usize| {
                    (z[set[k]] - share(k) * theta).max(lower[set[k]]).min(upper[set[k]])
                };
                // By bisection on how much is taken.
                let (mut low, mut high) = (-1e9, 1e9);
                for _ in 0..120 {
                    let middle = 0.5 * (low + high);
                    if (0..set.len()).map(|k| at(middle, k)).sum::<f64>() > 0.0 {
                        low = middle
                    } else {
                        high = middle
                    }
                }
                let moved: Vec<f64> = (0..set.len()).map(|k| at(0.5 * (low + high), k)).collect();
                set.iter().zip(moved).for_each(|(&i, x)| z[i] = x);
            }
            z
        }
    })
}

/// Least squares of fresh noise on a tree: `Σ (z - u)²/variance` with every parent the sum of its children.
pub fn tree_l2<R: Rng + ?Sized>(
    rng: &mut R,
    tree: &Hierarchy,
    noise: &[Sampler],
    variances: &[f64],
) -> Vec<f64> {
    let u: Vec<f64> = (0..tree.nodes()).map(|v| noise[tree.level(v)].draw(rng)).collect();
    let variances: Vec<f64> = (0..tree.nodes()).map(|v| variances[tree.level(v)]).collect();
    let sums = (0..tree.nodes()).filter(|&v| !tree.is_leaf(v)).map(|v| {
        let row = std::iter::once((v, -1.0)).chain(tree.children(v).map(|c| (c, 1.0))).collect();
        Constraint { row, value: 0.0, equal: true }
    });
    closest(&u, &variances, &sums.collect::<Vec<_>>())
}

/// From the root down: the closest non-negative numbers in least squares with the parent's released sum, then the closest
/// integers. Errors of a release of `counts` under fresh noise; families of at most six children.
pub fn topdown<R: Rng + ?Sized>(
    rng: &mut R,
    tree: &Hierarchy,
    counts: &[i64],
    noise: &[Sampler],
) -> Vec<f64> {
    let noisy: Vec<f64> =
        (0..tree.nodes()).map(|v| counts[v] as f64 + noise[tree.level(v)].draw(rng)).collect();
    let mut released = vec![0.0; tree.nodes()];
    released[0] = libm::rint(noisy[0]).max(0.0);
    for v in (0..tree.nodes()).filter(|&v| !tree.is_leaf(v)) {
        let children: Vec<usize> = tree.children(v).collect();
        let values: Vec<f64> = children.iter().map(|&c| noisy[c]).collect();
        let at = |theta: f64| values.iter().map(move |x| (x - theta).max(0.0));
        let (mut low, mut high) = (-1e9, 1e9);
        for _ in 0..120 {
            let middle = 0.5 * (low + high);
            if at(middle).sum::<f64>() > released[v] { low = middle } else { high = middle }
        }
        let real: Vec<f64> = at(0.5 * (low + high)).collect();
        let everyone = vec![(0..real.len()).collect::<Vec<_>>()];
        // What is 0 stays 0: it is no entry of the face.
        let positive: Vec<usize> = (0..real.len()).filter(|&k| real[k] > 1e-9).collect();
        let set = if positive.is_empty() { everyone } else { vec![positive] };
        let whole = rounded(rng, &real, &set, &vec![0.0; real.len()]);
        children.iter().zip(whole).for_each(|(&c, y)| released[c] = y);
    }
    released.iter().zip(counts).map(|(y, &x)| y - x as f64).collect()
}
