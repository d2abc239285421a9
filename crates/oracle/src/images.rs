//! Projections of noise drawn anew: by coordinate ascent on the multipliers, and by trying all integers nearby.

use super::Sampler;
use congenial_core::invariant::{Bounded, Hierarchy, Linear, NO_LOWER, NO_UPPER, Region};
use congenial_core::rng::{Rng, Stream, open01};

/// `row·z = value` or `row·z >= value`.
#[derive(Debug, Clone)]
pub(crate) struct Constraint {
    row: Vec<(usize, f64)>,
    value: f64,
    equal: bool,
}

impl Constraint {
    fn holds(&self, z: &[f64]) -> bool {
        let rest = self.row.iter().map(|&(i, a)| a * z[i]).sum::<f64>() - self.value;
        rest.abs() < 1e-9 || (!self.equal && rest > 0.0)
    }
}

/// What a table's noise satisfies.
pub(crate) fn constraints(invariant: &Linear, region: &Region) -> Vec<Constraint> {
    let sparse = |row: &[(u32, i64)]| row.iter().map(|&(c, a)| (c as usize, a as f64)).collect();
    let at_least = |row, value| Constraint { row, value, equal: false };
    let equal = |row: &Vec<(u32, i64)>| Constraint { row: sparse(row), value: 0.0, equal: true };
    let mut all: Vec<Constraint> = invariant.rows().iter().map(equal).collect();
    for i in 0..invariant.entries() {
        if region.lower[i] != NO_LOWER {
            all.push(at_least(vec![(i, 1.0)], region.lower[i] as f64));
        }
        if region.upper[i] != NO_UPPER {
            all.push(at_least(vec![(i, -1.0)], -region.upper[i] as f64));
        }
    }
    all.extend(region.rows.iter().map(|(row, least)| at_least(sparse(row), *least as f64)));
    all
}

/// Distances that differ by less are the same.
const SAME: f64 = 1e-5;

/// All integer points that satisfy the constraints and are closest to `real` in L1: by trying all within a distance, which
/// grows until there is one. For a few entries.
pub(crate) fn closest_integers(real: &[f64], constraints: &[Constraint]) -> Vec<Vec<f64>> {
    // By entry: the constraints that it completes.
    let mut complete: Vec<Vec<&Constraint>> = vec![Vec::new(); real.len()];
    for constraint in constraints {
        let last = constraint.row.iter().map(|&(i, _)| i).max();
        complete[last.expect("a coefficient")].push(constraint);
    }
    fn search(
        real: &[f64],
        complete: &[Vec<&Constraint>],
        point: &mut Vec<f64>,
        off: f64,
        best: &mut (f64, Vec<Vec<f64>>),
    ) {
        let i = point.len();
        if i == real.len() {
            if off < best.0 - SAME {
                *best = (off, Vec::new());
            }
            best.1.push(point.clone());
            return;
        }
        let floor = libm::floor(real[i]);
        for (first, step) in [(floor, -1.0), (floor + 1.0, 1.0)] {
            let mut value = first;
            while off + (value - real[i]).abs() <= best.0 + SAME {
                point.push(value);
                if complete[i].iter().all(|constraint| constraint.holds(point)) {
                    search(real, complete, point, off + (value - real[i]).abs(), best);
                }
                point.pop();
                value += step;
            }
        }
    }
    let mut reach = 1.0;
    loop {
        let mut best = (reach, Vec::new());
        search(real, &complete, &mut Vec::new(), 0.0, &mut best);
        if !best.1.is_empty() {
            return best.1;
        }
        reach *= 1.5;
    }
}

/// Entries of one component up to which all integers nearby are tried.
const MOST_TRIED: usize = 9;

/// Component by component one of the closest integer points: of those tied the one with the least sum of random weights.
fn tried<R: Rng + ?Sized>(
    rng: &mut R,
    real: &[f64],
    invariant: &Linear,
    region: &Region,
) -> Result<Vec<f64>, String> {
    let mut out = vec![0.0; real.len()];
    for Bounded { component, region } in region.components(invariant) {
        let n = component.entries.len();
        if n > MOST_TRIED {
            return Err("roundings are tried for a few entries that share equations only".into());
        }
        let own: Vec<f64> = component.entries.iter().map(|&entry| real[entry as usize]).collect();
        let all = match component.rows.is_empty() {
            true => constraints(&Linear::none(n), &region),
            false => {
                let equations = Linear::from_rows(n, component.rows).map_err(|error| error.to_string())?;
                constraints(&equations, &region)
            }
        };
        let weights: Vec<f64> = (0..n).map(|_| open01(rng) - 0.5).collect();
        let weighed = |y: &[f64]| y.iter().zip(&weights).map(|(y, w)| y * w).sum::<f64>();
        let points = closest_integers(&own, &all);
        let point = points.iter().min_by(|a, b| weighed(a).total_cmp(&weighed(b))).expect("there is one");
        component.entries.iter().zip(point).for_each(|(&entry, &y)| out[entry as usize] = y);
    }
    Ok(out)
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
    /// [`TableImage::L2`], then the closest integers.
    L2Integer,
    /// [`TableImage::Nnl2`], then the closest integers.
    Nnl2Integer,
    /// L1 under totals and bounds, by shares.
    L1 {
        /// The first entry's share.
        beta: f64,
    },
}

/// One image of fresh noise on a table. Rounding tries all integers nearby: for components of at most nine entries.
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
    let everything = Region::everything();
    let bounds =
        if matches!(image, TableImage::Nnl2 | TableImage::Nnl2Integer) { region } else { &everything };
    let constraints = constraints(invariant, bounds);
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
        TableImage::L2Integer | TableImage::Nnl2Integer => {
            tried(rng, &closest(&u, &ones, &constraints), invariant, bounds)?
        }
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

/// Fresh noise on a tree, none where a count is known.
pub fn fresh<R: Rng + ?Sized>(rng: &mut R, tree: &Hierarchy, noise: &[Sampler]) -> Vec<f64> {
    let mut draw = |v: usize| if tree.is_known(v) { 0.0 } else { noise[tree.level(v)].draw(rng) };
    (0..tree.nodes()).map(&mut draw).collect()
}

/// Least squares at and below a node, `Σ (z - u)²/variance` with every parent the sum of its children and nothing where a count is
/// known but perhaps at the node itself.
fn least_squares(tree: &Hierarchy, from: usize, u: &[f64], variances: &[f64]) -> Vec<f64> {
    let mut inside = vec![false; tree.nodes()];
    let mut constraints = Vec::new();
    inside[from] = true;
    for v in from..tree.nodes() {
        inside[v] |= v > from && inside[tree.parent(v)];
        if !inside[v] {
            continue;
        }
        if v > from && tree.is_known(v) {
            constraints.push(Constraint { row: vec![(v, 1.0)], value: 0.0, equal: true });
        }
        if !tree.is_leaf(v) {
            let row = std::iter::once((v, -1.0)).chain(tree.children(v).map(|c| (c, 1.0))).collect();
            constraints.push(Constraint { row, value: 0.0, equal: true });
        }
    }
    if from == 0 && tree.is_known(0) {
        constraints.push(Constraint { row: vec![(0, 1.0)], value: 0.0, equal: true });
    }
    let variances: Vec<f64> = (0..tree.nodes()).map(|v| variances[tree.level(v)]).collect();
    closest(u, &variances, &constraints)
}

/// Least squares of noise u on a tree: `Σ (z - u)²/variance` with every parent the sum of its children and none where a count is
/// known.
pub fn tree_l2(tree: &Hierarchy, u: &[f64], variances: &[f64]) -> Vec<f64> {
    least_squares(tree, 0, u, variances)
}

/// Goes from the root down: the closest non-negative numbers in least squares with the parent's released sum, then the
/// closest integers. Errors of a release of `counts` under noise u; families of at most six children.
pub fn topdown<R: Rng + ?Sized>(rng: &mut R, tree: &Hierarchy, counts: &[i64], u: &[f64]) -> Vec<f64> {
    let noisy: Vec<f64> = u.iter().zip(counts).map(|(z, &x)| x as f64 + z).collect();
    descent(Some(rng), tree, counts, &noisy, &vec![1.0; tree.nodes()])
}

/// Goes down as [`topdown`] does, without the integers.
pub fn topdown_real(tree: &Hierarchy, counts: &[i64], u: &[f64]) -> Vec<f64> {
    let noisy: Vec<f64> = u.iter().zip(counts).map(|(z, &x)| x as f64 + z).collect();
    descent(None::<&mut Stream>, tree, counts, &noisy, &vec![1.0; tree.nodes()])
}

/// By node: the variance of its least-squares estimate from its own subtree, from the coefficients of all measurements.
///
/// `variances`: one per level.
pub fn estimate_variances(tree: &Hierarchy, variances: &[f64]) -> Vec<f64> {
    let below = |v: usize, mut w: usize| {
        while w > v {
            w = tree.parent(w);
        }
        w == v
    };
    let of = |v: usize| {
        if tree.is_known(v) {
            return 0.0;
        }
        let inside = (v..tree.nodes()).filter(|&w| below(v, w) && !tree.is_known(w));
        inside
            .map(|w| {
                let mut unit = vec![0.0; tree.nodes()];
                unit[w] = 1.0;
                let coefficient = least_squares(tree, v, &unit, variances)[v];
                coefficient * coefficient * variances[tree.level(w)]
            })
            .sum()
    };
    (0..tree.nodes()).map(of).collect()
}

/// Goes down as [`topdown`] does, from the least-squares estimate of every node from its own subtree, weighted by the
/// inverse of its variance `spread` ([`estimate_variances`]). Errors of a release of `counts` under noise u.
pub fn bluedown<R: Rng + ?Sized>(
    rng: &mut R,
    tree: &Hierarchy,
    counts: &[i64],
    u: &[f64],
    (variances, spread): (&[f64], &[f64]),
) -> Vec<f64> {
    let estimate = |v: usize| counts[v] as f64 + least_squares(tree, v, u, variances)[v];
    let estimates: Vec<f64> = (0..tree.nodes()).map(estimate).collect();
    descent(Some(rng), tree, counts, &estimates, spread)
}

/// `rng`: `None` where nothing is rounded.
fn descent<R: Rng + ?Sized>(
    mut rng: Option<&mut R>,
    tree: &Hierarchy,
    counts: &[i64],
    noisy: &[f64],
    spread: &[f64],
) -> Vec<f64> {
    // What is known below a node, or at it.
    let mut least = vec![0.0; tree.nodes()];
    for v in (0..tree.nodes()).rev() {
        least[v] = match tree.is_known(v) {
            true => counts[v] as f64,
            false => tree.children(v).map(|c| least[c]).sum(),
        };
    }
    let mut released = vec![0.0; tree.nodes()];
    let root = match rng.as_deref_mut() {
        None => noisy[0],
        // The integer below or above, whichever is closer; in the middle either.
        Some(rng) => {
            let below = libm::floor(noisy[0]);
            let beyond = noisy[0] - below - 0.5;
            let rises = if beyond.abs() < 1e-7 { open01(rng) < 0.5 } else { beyond > 0.0 };
            below + f64::from(u8::from(rises))
        }
    };
    released[0] = if tree.is_known(0) { least[0] } else { root.max(least[0]) };
    for v in (0..tree.nodes()).filter(|&v| !tree.is_leaf(v)) {
        let fixed: f64 = tree.children(v).filter(|&c| tree.is_known(c)).map(|c| least[c]).sum();
        tree.children(v).for_each(|c| released[c] = least[c]);
        let children: Vec<usize> = tree.children(v).filter(|&c| !tree.is_known(c)).collect();
        if children.is_empty() {
            continue;
        }
        let at = |theta: f64| -> Vec<f64> {
            children.iter().map(|&c| (noisy[c] - theta * spread[c]).max(least[c])).collect()
        };
        let (mut low, mut high) = (-1e9, 1e9);
        for _ in 0..120 {
            let middle = 0.5 * (low + high);
            if at(middle).iter().sum::<f64>() > released[v] - fixed { low = middle } else { high = middle }
        }
        let real = at(0.5 * (low + high));
        let Some(rng) = rng.as_deref_mut() else {
            children.iter().zip(real).for_each(|(&c, y)| released[c] = y);
            continue;
        };
        let everyone = vec![(0..real.len()).collect::<Vec<_>>()];
        // What is at its least stays there: it is no entry of the face.
        let positive: Vec<usize> = (0..real.len()).filter(|&k| real[k] > least[children[k]] + 1e-9).collect();
        let set = if positive.is_empty() { everyone } else { vec![positive] };
        let lower: Vec<f64> = children.iter().map(|&c| least[c]).collect();
        let whole = rounded(rng, &real, &set, &lower);
        children.iter().zip(whole).for_each(|(&c, y)| released[c] = y);
    }
    released.iter().zip(counts).map(|(y, &x)| y - x as f64).collect()
}
