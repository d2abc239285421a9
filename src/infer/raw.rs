//! Values that do not add up, made to by least squares.

use super::Noisy;
use super::entries::Entries;
use super::noisy::Structure;
use super::reach::Equation;
use crate::catalogue::noise;
use crate::imaging::{L2, LatticeL2};
use crate::invariant::Hierarchy;

/// Least squares of values that do not add up. Errors: the variances; sums that are fixed and do not go together.
pub(super) fn project(noisy: &mut Noisy) -> crate::Result<()> {
    let (base, moved) = match &noisy.structure {
        Structure::Tree(nodes) => {
            let l2 = L2::new(&nodes.tree, &variances(noisy)?)?;
            let base = base(&nodes.tree, &noisy.values);
            let mut rest = less(&noisy.values, &base);
            l2.project(&mut rest);
            (base, rest)
        }
        Structure::Table(entries) => {
            let l2 = LatticeL2::new(&entries.invariant)?;
            let base = solved(entries, &noisy.values)?;
            let mut rest = less(&noisy.values, &base);
            l2.project(&mut rest);
            (base, rest)
        }
    };
    noisy.values = moved.iter().zip(&base).map(|(rest, base)| rest + base).collect();
    noisy.integers = false;
    Ok(())
}

fn less(values: &[f64], base: &[f64]) -> Vec<f64> {
    values.iter().zip(base).map(|(value, base)| value - base).collect()
}

/// Values of the nodes that add up and are those of known nodes.
fn base(tree: &Hierarchy, values: &[f64]) -> Vec<f64> {
    let mut base = vec![0.0; tree.nodes()];
    // A leaf below a node with nothing known on the way.
    let mut free: Vec<Option<usize>> = vec![None; tree.nodes()];
    for v in (0..tree.nodes()).rev() {
        if tree.is_leaf(v) {
            base[v] = if tree.is_known(v) { values[v] } else { 0.0 };
            free[v] = (!tree.is_known(v)).then_some(v);
            continue;
        }
        base[v] = tree.children(v).map(|child| base[child]).sum();
        let leaf = tree.children(v).find_map(|child| free[child]);
        if tree.is_known(v) {
            let rest = values[v] - base[v];
            let mut node = leaf.unwrap_or(v);
            while node != v {
                base[node] += rest;
                node = tree.parent(node);
            }
            base[v] += rest;
        } else {
            free[v] = leaf;
        }
    }
    base
}

/// Values of the entries near what was released that keep what is fixed: `u + Aᵀ w` with `A Aᵀ w = b - A u`, by conjugate
/// gradients. Errors: what is fixed does not go together.
fn solved(entries: &Entries, released: &[f64]) -> crate::Result<Vec<f64>> {
    let known = entries.known.iter().map(|&entry| {
        let (row, value) = (vec![(entry, 1)], released[entry as usize]);
        Equation { row, value, family: 0 }
    });
    let equations: Vec<Equation> = entries.equations.iter().cloned().chain(known).collect();
    let of_row = |equation: &Equation, x: &[f64]| -> f64 {
        equation.row.iter().map(|&(entry, a)| a as f64 * x[entry as usize]).sum()
    };
    let product = |w: &[f64]| {
        let mut x = vec![0.0; released.len()];
        for (equation, w) in equations.iter().zip(w) {
            equation.row.iter().for_each(|&(entry, a)| x[entry as usize] += a as f64 * w);
        }
        x
    };
    let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    let mut base = released.to_vec();
    let mut rest: Vec<f64> = equations.iter().map(|e| e.value - of_row(e, &base)).collect();
    let mut step = rest.clone();
    let mut size = dot(&rest, &rest);
    let small = 1e-28 * (1.0 + equations.iter().map(|e| e.value * e.value).sum::<f64>());
    for _ in 0..4 * equations.len() + 100 {
        if size <= small {
            break;
        }
        let moved = product(&step);
        let squares = dot(&moved, &moved);
        if squares <= 1e-24 * dot(&step, &step) {
            break;
        }
        let far = size / squares;
        base.iter_mut().zip(&moved).for_each(|(x, z)| *x += far * z);
        rest.iter_mut().zip(&equations).for_each(|(rest, e)| *rest -= far * of_row(e, &moved));
        let next = dot(&rest, &rest);
        step.iter_mut().zip(&rest).for_each(|(step, rest)| *step = rest + next / size * *step);
        size = next;
    }
    for (i, equation) in equations.iter().enumerate() {
        let (got, want) = (of_row(equation, &base), equation.value);
        let scale: f64 = equation.row.iter().map(|&(entry, a)| (a as f64 * base[entry as usize]).abs()).sum();
        if (got - want).abs() > 1e-6 * (1.0 + scale) {
            let message = format!(
                "what is fixed does not go together: with the others equation {} gives {got:.6}, and {want} is fixed",
                i + 1
            );
            return Err(crate::Error::Invariant(message));
        }
    }
    Ok(base)
}

/// The variance of each level's noise; of a known one that of another. Errors: scales out of range.
fn variances(noisy: &Noisy) -> crate::Result<Vec<f64>> {
    let of = |scale: f64| match noise(noisy.law, scale) {
        Some(noise) => Ok(noise.variance()),
        None => Err(crate::Error::parameter("scale", scale, "one that the law can have")),
    };
    noisy.calibration().laws(of).collect()
}
