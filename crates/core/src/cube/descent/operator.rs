//! Matrices that act alike on all deviations along an attribute, and on its means.

use super::super::small::axpy;
use super::support::Support;

/// `⊗ (deviations or mean)` along the free attributes of a support, a matrix over the joined ones for each kind: as a sum over sets of
/// attributes of a matrix times the means over these. That takes additions alone, where a basis would take products.
#[derive(Debug)]
pub(super) struct Operator {
    /// Sizes of the axes of more than one category, the last the fastest.
    axes: Vec<usize>,
    joint: usize,
    /// By set of axes (bits), the matrix of the means over these.
    means: Vec<Vec<f64>>,
}

impl Operator {
    /// The matrix that `kinds` has by kind of coefficients.
    pub(super) fn new(support: &Support, kinds: &[Vec<f64>]) -> Self {
        let open: Vec<usize> = (0..support.sizes().len()).filter(|&bit| support.sizes()[bit] > 1).collect();
        let axes: Vec<usize> = open.iter().map(|&bit| support.sizes()[bit]).collect();
        // Along an axis the matrix is D (I - J/n) + M J/n = D I + (M - D) J/n.
        let kind = |set: usize| -> usize {
            open.iter().enumerate().filter(|(axis, _)| set >> axis & 1 == 0).map(|(_, bit)| 1 << bit).sum()
        };
        let mut means: Vec<Vec<f64>> =
            (0..1usize << axes.len()).map(|set| kinds[kind(set)].clone()).collect();
        for axis in 0..axes.len() {
            for set in (0..means.len()).filter(|set| set >> axis & 1 == 1) {
                let (without, with) = means.split_at_mut(set);
                axpy(&mut with[0], -1.0, &without[set ^ 1 << axis]);
            }
        }
        Self { axes, joint: support.joint(), means }
    }

    /// Replaces a table by its product with the matrix.
    pub(super) fn apply(&self, table: &mut [f64], scratch: &mut Vec<f64>) {
        scratch.resize((self.axes.len() + 2) * table.len(), 0.0);
        self.along(self.axes.len(), 0, 1, table, scratch);
    }

    /// The part of the product of axes before `open`, of a table of means over the axes of `set`; what follows the axes before has `inner`
    /// values.
    fn along(&self, open: usize, set: usize, inner: usize, table: &mut [f64], scratch: &mut [f64]) {
        let Some(axis) = open.checked_sub(1) else {
            return multiply(&self.means[set], self.joint, table, scratch);
        };
        let n = self.axes[axis];
        let (means, scratch) = scratch.split_at_mut(table.len() / n);
        average(table, n, inner, means);
        self.along(axis, set | 1 << axis, inner, means, scratch);
        self.along(axis, set, inner * n, table, scratch);
        for (block, means) in table.chunks_exact_mut(n * inner).zip(means.chunks_exact(inner)) {
            match means {
                [mean] => block.iter_mut().for_each(|x| *x += mean),
                means => block.chunks_exact_mut(inner).for_each(|row| axpy(row, 1.0, means)),
            }
        }
    }
}

/// The means over an axis of `n`, where what follows it has `inner` values.
fn average(table: &[f64], n: usize, inner: usize, means: &mut [f64]) {
    let part = 1.0 / n as f64;
    for (block, means) in table.chunks_exact(n * inner).zip(means.chunks_exact_mut(inner)) {
        if let [mean] = means {
            // In lanes.
            let (fours, rest) = block.as_chunks::<4>();
            let mut lanes = [0.0; 4];
            fours.iter().for_each(|four| lanes.iter_mut().zip(four).for_each(|(lane, x)| *lane += x));
            *mean = part * ((lanes[0] + lanes[2]) + (lanes[1] + lanes[3]) + rest.iter().sum::<f64>());
            continue;
        }
        means.copy_from_slice(&block[..inner]);
        block.chunks_exact(inner).skip(1).for_each(|row| axpy(means, 1.0, row));
        means.iter_mut().for_each(|mean| *mean *= part);
    }
}

/// Multiplies the arrays of each combination of joined attributes by a matrix over these.
fn multiply(matrix: &[f64], joint: usize, table: &mut [f64], scratch: &mut [f64]) {
    if let [weight] = matrix {
        return table.iter_mut().for_each(|x| *x *= weight);
    }
    let length = table.len() / joint;
    let before = &mut scratch[..table.len()];
    before.copy_from_slice(table);
    table.fill(0.0);
    for (out, row) in table.chunks_exact_mut(length).zip(matrix.chunks_exact(joint)) {
        before.chunks_exact(length).zip(row).for_each(|(x, &weight)| axpy(out, weight, x));
    }
}
