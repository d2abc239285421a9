//! Values that do not add up, made to by least squares.

use super::Noisy;
use crate::catalogue::noise;
use crate::imaging::L2;

/// Least squares of values that do not add up. Errors: the variances.
pub(super) fn project(noisy: &mut Noisy) -> crate::Result<()> {
    let l2 = L2::new(&noisy.tree, &variances(noisy)?)?;
    let base = base(noisy);
    let mut rest: Vec<f64> = noisy.values.iter().zip(&base).map(|(value, base)| value - base).collect();
    l2.project(&mut rest);
    noisy.values = rest.iter().zip(&base).map(|(rest, base)| rest + base).collect();
    noisy.integers = false;
    Ok(())
}

/// Values that add up and are those of known nodes.
fn base(noisy: &Noisy) -> Vec<f64> {
    let tree = &noisy.tree;
    let mut base = vec![0.0; tree.nodes()];
    // A leaf below a node with nothing known on the way.
    let mut free: Vec<Option<usize>> = vec![None; tree.nodes()];
    for v in (0..tree.nodes()).rev() {
        if tree.is_leaf(v) {
            base[v] = if tree.is_known(v) { noisy.values[v] } else { 0.0 };
            free[v] = (!tree.is_known(v)).then_some(v);
            continue;
        }
        base[v] = tree.children(v).map(|child| base[child]).sum();
        let leaf = tree.children(v).find_map(|child| free[child]);
        if tree.is_known(v) {
            let rest = noisy.values[v] - base[v];
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

/// The variance of each level's noise; of a known one that of another. Errors: scales out of range.
fn variances(noisy: &Noisy) -> crate::Result<Vec<f64>> {
    let of = |scale: f64| match noise(noisy.law, scale) {
        Some(noise) => Ok(noise.variance()),
        None => Err(crate::Error::parameter("scale", scale, "one that the law can have")),
    };
    noisy.calibration().laws(of).collect()
}
