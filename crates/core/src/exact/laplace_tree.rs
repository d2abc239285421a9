//! Laplace noise on all nodes of a hierarchy, conditioned on its sums: drawn exactly.

use super::table::zigzag;
use crate::error::Result;
use crate::invariant::Hierarchy;
use crate::law::{Laplace, Law};
use crate::rng::{Rng, exponential, gamma, open01, sign};

/// Exact sampler of `q(z) ∝ Π_v w_v(z_v)` over all real vectors in which every parent is the sum of its
/// children and no known node has noise, for Laplace weights. Nothing is truncated.
///
/// Sums first, by rejection from below: the children's sums are drawn, recursively, and kept with
/// probability `w_v(sum)`. The sum of `n` Laplace(1) leaves has the law of a signed Gamma(K, 1),
/// `P(K = k) = C(2n - k - 1, n - 1) 2^-(2n - k - 1)`, and weighting it by `exp(-c |s|)` leaves a signed
/// Gamma(K, 1 + c) with `P(K = k)` multiplied by `(1 + c)^-k`: a parent of leaves needs no rejection.
/// Then the leaves given their sum `t`: the minus parts sum to a Gamma(n + j, 2) with `j` drawn with
/// weight `C(n - 1, j) t^(n - 1 - j) Γ(n + j) / 2^(n + j)`, and both sides are split uniformly.
///
/// Below a known node the sums are drawn given theirs, 0: all but one group of leaves as above, and kept with the probability
/// that is to its largest value as the density of what is left for that group, times the weights of the nodes between.
///
/// The expected work for the sums is the product of the tries (about `1.3 sqrt(children)`) along a path
/// above the parents of leaves: right for few levels; O(1) each at the leaves.
///
/// # Examples
///
/// ```
/// use congenial_core::exact::LaplaceTree;
/// use congenial_core::invariant::Hierarchy;
/// use congenial_core::law::Laplace;
/// use congenial_core::rng::{Role, TaskKey, stream};
///
/// let tree = Hierarchy::from_parents(&[0, 0, 0, 1, 1, 2, 2])?;
/// let sampler = LaplaceTree::new(&tree, &[Laplace::new(2.0)?; 3])?;
/// let mut rng = stream(TaskKey { seed: 1, cell: 0, replicate: 0, role: Role::Noise });
/// let mut noise = [0.0; 7];
/// sampler.draw(&mut rng, &mut Vec::new(), &mut noise);
/// tree.check(&noise)?; // to rounding
/// # Ok::<(), congenial_core::Error>(())
/// ```
#[derive(Debug)]
pub struct LaplaceTree {
    hierarchy: Hierarchy,
    /// By level: `1/lambda`.
    rate: Vec<f64>,
    /// By node up to the last that has children: number of leaf children and the law of `K` of their sum; known ones do not count.
    leaves: Vec<Option<LeafSum>>,
    /// By node likewise: the child that takes what the others leave, the one with the most leaves; the node itself where its leaf
    /// children do.
    pivot: Vec<u32>,
}

/// The sum of the leaf children of one node.
#[derive(Debug)]
struct LeafSum {
    n: usize,
    /// `P(K <= k)`, k = 1, 2, …, with the parent's weight in it if it has no other children.
    cumulative: Vec<f64>,
    rate: f64,
    /// Weight of `K = k + 1` over that of k, times this: a parent's weight.
    tilt: f64,
    /// Whether the parent's weight is in it.
    weighted: bool,
}

impl LaplaceTree {
    /// Prepares the sampler. `laws`: one per level.
    pub fn new(hierarchy: &Hierarchy, laws: &[Laplace]) -> Result<Self> {
        hierarchy.check_one_per_level("laws", laws.len())?;
        let rate: Vec<f64> = laws.iter().map(|law| 1.0 / law.scale()).collect();
        let leaves: Vec<Option<LeafSum>> = (0..hierarchy.inner_end())
            .map(|v| {
                // Leaf children may stand anywhere among the children; they are drawn as one group.
                let n = hierarchy.open_children(v).filter(|&c| hierarchy.is_leaf(c)).count();
                let weighted = n == hierarchy.open_children(v).count() && !hierarchy.is_known(v);
                let level = hierarchy.level(v);
                (n > 0).then(|| LeafSum::new(n, weighted, rate[level + 1], rate[level]))
            })
            .collect();
        let mut size = vec![1u32; hierarchy.nodes()];
        let mut pivot = vec![0; hierarchy.inner_end()];
        for v in (0..pivot.len()).rev().filter(|&v| !hierarchy.is_leaf(v)) {
            size[v] = hierarchy.open_children(v).map(|c| size[c]).sum();
            let largest = hierarchy.open_children(v).max_by_key(|&c| size[c]);
            pivot[v] = largest.filter(|_| leaves[v].is_none()).unwrap_or(v) as u32;
        }
        Ok(Self { hierarchy: hierarchy.clone(), rate, leaves, pivot })
    }

    /// Draws the noise of all nodes once, into `noise` (one value per node). `scratch` is reused from draw to draw.
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R, scratch: &mut Vec<f64>, noise: &mut [f64]) {
        if self.hierarchy.nodes() == 1 {
            noise[0] = sign(rng) * exponential(rng) / self.rate[0];
            return;
        }
        if !self.hierarchy.is_known(0) {
            self.sums(0, rng, noise);
        }
        if self.hierarchy.has_known() {
            for v in 0..self.leaves.len() {
                if self.hierarchy.is_known(v) && self.hierarchy.open_children(v).next().is_some() {
                    noise[v] = 0.0;
                    while exponential(rng) <= -self.given(v, 0.0, rng, noise) {}
                }
            }
        }
        for (v, leaves) in self.leaves.iter().enumerate() {
            if let Some(leaves) = leaves {
                let internal: f64 = self.internal(v).map(|c| noise[c]).sum();
                self.split(v, leaves.n, noise[v] - internal, rng, scratch, noise);
            }
        }
        self.hierarchy.sum_up_noise(noise);
    }

    /// The children that are neither leaves nor known.
    fn internal(&self, v: usize) -> impl Iterator<Item = usize> {
        self.hierarchy.children(v).filter(|&c| !self.hierarchy.is_leaf(c) && !self.hierarchy.is_known(c))
    }

    /// Draws the sums of all internal nodes below v but those towards one group of leaves, which follow from the sum of v's
    /// children; returns the logarithm, at most 0, of the probability with which they are to be kept.
    fn given<R: Rng + ?Sized>(&self, v: usize, sum: f64, rng: &mut R, noise: &mut [f64]) -> f64 {
        let pivot = self.pivot[v] as usize;
        let mut rest = sum;
        for c in self.internal(v).filter(|&c| c != pivot) {
            self.sums(c, rng, noise);
            rest -= noise[c];
        }
        if let Some(leaves) = &self.leaves[v] {
            return leaves.log_density(rest);
        }
        noise[pivot] = rest;
        let inside = self.given(pivot, rest, rng, noise);
        // A parent of leaves alone has its weight in them.
        match self.leaves[pivot].as_ref().is_some_and(|leaves| leaves.weighted) {
            true => inside,
            false => inside - self.rate[self.hierarchy.level(pivot)] * rest.abs(),
        }
    }

    /// Draws the sum of node `v` and of every internal node below it.
    fn sums<R: Rng + ?Sized>(&self, v: usize, rng: &mut R, noise: &mut [f64]) {
        let rate = self.rate[self.hierarchy.level(v)];
        loop {
            let mut sum = 0.0;
            if let Some(leaves) = &self.leaves[v] {
                sum += leaves.draw(rng);
                if leaves.weighted {
                    noise[v] = sum;
                    return;
                }
            }
            for c in self.internal(v) {
                self.sums(c, rng, noise);
                sum += noise[c];
            }
            if exponential(rng) > rate * sum.abs() {
                noise[v] = sum;
                return;
            }
        }
    }

    /// Draws the leaf children of `v` given their sum.
    fn split<R: Rng + ?Sized>(
        &self,
        v: usize,
        n: usize,
        sum: f64,
        rng: &mut R,
        scratch: &mut Vec<f64>,
        noise: &mut [f64],
    ) {
        scratch.clear();
        if n == 1 {
            scratch.push(sum);
        } else {
            let rate = self.rate[self.hierarchy.level(v) + 1];
            let small = small_side(rng, n, sum.abs() * rate) / rate;
            let (plus, minus) = if sum >= 0.0 { (small + sum, small) } else { (small, small - sum) };
            // Uniform on the simplex: exponentials divided by their sum.
            scratch.extend((0..2 * n).map(|_| exponential(rng)));
            let (up, down) = scratch.split_at_mut(n);
            let plus = plus / up.iter().sum::<f64>();
            let minus = minus / down.iter().sum::<f64>();
            for (up, down) in up.iter_mut().zip(down) {
                *up = *up * plus - *down * minus;
            }
        }
        let leaves = self.hierarchy.open_children(v).filter(|&c| self.hierarchy.is_leaf(c));
        for (c, &z) in leaves.zip(&*scratch) {
            noise[c] = z;
        }
    }
}

impl LeafSum {
    fn new(n: usize, weighted: bool, rate: f64, parent_rate: f64) -> Self {
        let tilt = if weighted { 1.0 + parent_rate / rate } else { 1.0 };
        let mut cumulative = Vec::new();
        let (mut weight, mut total) = (1.0, 0.0);
        for k in 1..=n {
            total += weight;
            cumulative.push(total);
            weight *= next_weight(n, k) / tilt;
            if weight < 1e-22 * total {
                break;
            }
        }
        cumulative.iter_mut().for_each(|c| *c /= total);
        Self { n, cumulative, rate: rate * tilt, tilt, weighted }
    }

    /// `ln f(s) / f(0)`, f the density of the sum: `e^-x Σ_k P(K = k) / P(K = 1) x^(k-1) / (k-1)!`, x = rate |s|. At most 0.
    fn log_density(&self, s: f64) -> f64 {
        let x = s.abs() * self.rate;
        let (mut term, mut sum, mut log) = (1.0, 0.0, -x);
        for k in 1..=self.n {
            sum += term;
            let ratio = next_weight(self.n, k) / self.tilt * x / k as f64;
            if term * ratio < 1e-18 * sum && ratio < 0.5 {
                break;
            }
            term *= ratio;
            if term > 1e250 {
                log += libm::log(1e250);
                (term, sum) = (term * 1e-250, sum * 1e-250);
            }
        }
        log + libm::log(sum)
    }

    fn draw<R: Rng + ?Sized>(&self, rng: &mut R) -> f64 {
        let u = open01(rng);
        let k = 1 + self.cumulative.iter().position(|&c| u < c).unwrap_or(self.cumulative.len() - 1);
        sign(rng) * gamma(rng, k as f64) / self.rate
    }
}

/// `P(K = k + 1) / P(K = k)` for the sum of n leaves; 0 for k = n.
fn next_weight(n: usize, k: usize) -> f64 {
    2.0 * (n - k) as f64 / ((2 * n - k).max(2) - 1) as f64
}

/// The smaller side of `n` Laplace(1) draws given that they sum to `±t`.
fn small_side<R: Rng + ?Sized>(rng: &mut R, n: usize, t: f64) -> f64 {
    // Weight of j + 1 over that of j; it falls in j, so the weights have one mode.
    let ratio = |j: usize| (n - 1 - j) as f64 / (j + 1) as f64 * (n + j) as f64 / (2.0 * t);
    let (mut low, mut high) = (0, n - 1);
    while low < high {
        let middle = (low + high) / 2;
        if ratio(middle) > 1.0 {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    let mode = low;
    let up = || {
        let (mut j, mut weight) = (mode, 1.0);
        move || {
            weight *= ratio(j);
            j += 1;
            (j < n && weight > 1e-20).then_some(weight)
        }
    };
    let down = || {
        let (mut j, mut weight) = (mode, 1.0);
        move || {
            if j == 0 {
                return None;
            }
            j -= 1;
            weight /= ratio(j);
            (weight > 1e-20).then_some(weight)
        }
    };
    let total = 1.0 + std::iter::from_fn(up()).sum::<f64>() + std::iter::from_fn(down()).sum::<f64>();
    let j = mode.wrapping_add_signed(zigzag(open01(rng) * total, 1.0, up(), down()) as isize);
    gamma(rng, (n + j) as f64) / 2.0
}
