//! Conditioned noise on a tree: the law of the root and the moments of every level, by convolution in logarithms.

use super::{Distribution, Formula};
use congenial_core::invariant::Hierarchy;
use std::collections::HashMap;

/// What the noise of a tree is.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeLaw {
    /// The law of the root's noise.
    pub root: Distribution,
    /// By level, the mean of `Σ |z|`.
    pub absolute: Vec<f64>,
    /// By level, the mean of `Σ z²`.
    pub squares: Vec<f64>,
}

/// Elementary steps of all convolutions.
pub const MOST_STEPS: u64 = 3_000_000_000;

/// The law `q(z) ∝ Π w_v(z_v)` of noise in which every parent is the sum of its children and known nodes have none.
///
/// - `laws`: one per level. `floors`: the confidential counts, if no release may be negative.
/// - `most`: steps after which it gives up, see [`MOST_STEPS`].
///
/// Everything is computed on `-W … W` (times a step of a sixteenth of the smallest scale, for real laws), with W doubled until
/// nothing changes any more. Errors: why there is none, in words.
pub fn conditioned(
    tree: &Hierarchy,
    laws: &[Formula],
    floors: Option<&[i64]>,
    most: u64,
) -> Result<TreeLaw, String> {
    settled(tree, laws, floors, most, false)
}

/// The law of the root alone: less work.
pub fn root(
    tree: &Hierarchy,
    laws: &[Formula],
    floors: Option<&[i64]>,
    most: u64,
) -> Result<Distribution, String> {
    settled(tree, laws, floors, most, true).map(|law| law.root)
}

fn settled(
    tree: &Hierarchy,
    laws: &[Formula],
    floors: Option<&[i64]>,
    most: u64,
    root_only: bool,
) -> Result<TreeLaw, String> {
    let real = laws.iter().any(|law| law.is_real());
    let smallest = laws.iter().map(|law| law.scale()).fold(f64::INFINITY, f64::min);
    let step = if real { 1.0 / libm::ceil(16.0 / smallest) } else { 1.0 };
    let widest = laws.iter().map(|law| law.reach()).fold(0.0, f64::max);
    let mut budget = most;
    let mut width = (libm::ceil(0.25 * widest / step) as i64).clamp(8, 4096);
    let mut before: Option<TreeLaw> = None;
    loop {
        let mut window = Window { tree, laws, floors, step, width, budget, inner: Vec::new() };
        let Some(law) = window.law(root_only) else {
            return Err("its laws are too wide to be convolved plainly".into());
        };
        budget = window.budget;
        if before.as_ref().is_some_and(|before| agree(before, &law)) {
            return Ok(law);
        }
        before = Some(law);
        width *= 2;
    }
}

fn agree(a: &TreeLaw, b: &TreeLaw) -> bool {
    let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-6 * b.abs() + 1e-12;
    let at: HashMap<u64, f64> = a.root.points.iter().map(|&(z, p)| (z.to_bits(), p)).collect();
    let p = |z: f64| at.get(&z.to_bits()).copied().unwrap_or(0.0);
    let apart: f64 = b.root.points.iter().map(|&(z, q)| (p(z) - q).abs()).sum();
    apart < 1e-9
        && a.absolute.iter().zip(&b.absolute).all(close)
        && a.squares.iter().zip(&b.squares).all(close)
}

/// Logarithms of weights on consecutive integers.
#[derive(Debug, Clone)]
struct Weights {
    low: i64,
    log: Vec<f64>,
}

/// Subtrees that look alike.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Shape {
    Leaf(Own, Option<i64>),
    /// Its own, and shapes of children with their numbers.
    Node(Own, Vec<(usize, u64)>),
}

/// The level of a node, and whether its count is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Own {
    level: usize,
    known: bool,
}

struct Window<'a> {
    tree: &'a Hierarchy,
    laws: &'a [Formula],
    floors: Option<&'a [i64]>,
    step: f64,
    width: i64,
    budget: u64,
    /// By shape: the weights of its sum, without its own.
    inner: Vec<Weights>,
}

impl Window<'_> {
    /// `None`: beyond the budget.
    fn law(&mut self, root_only: bool) -> Option<TreeLaw> {
        let mut shapes: Vec<Shape> = Vec::new();
        let mut known: HashMap<Shape, usize> = HashMap::new();
        let mut of = vec![0; self.tree.nodes()];
        for v in (0..self.tree.nodes()).rev() {
            let own = Own { level: self.tree.level(v), known: self.tree.is_known(v) };
            let shape = if self.tree.is_leaf(v) {
                // Floors beyond the window are none.
                let floor = self.floors.map(|floors| -floors[v]);
                Shape::Leaf(own, floor.filter(|floor| (*floor as f64 / self.step) >= -self.width as f64))
            } else {
                let mut children: HashMap<usize, u64> = HashMap::new();
                self.tree.children(v).for_each(|c| *children.entry(of[c]).or_default() += 1);
                let mut children: Vec<(usize, u64)> = children.into_iter().collect();
                children.sort_unstable();
                Shape::Node(own, children)
            };
            of[v] = *known.entry(shape.clone()).or_insert_with(|| {
                shapes.push(shape);
                shapes.len() - 1
            });
        }
        self.inner.clear();
        for shape in &shapes {
            let weights = match shape {
                Shape::Leaf(_, floor) => {
                    let low = floor.map_or(-self.width, |floor| (floor as f64 / self.step) as i64);
                    let mut log = vec![0.0; (self.width - low) as usize + 1];
                    if floor.is_some() && self.step < 1.0 {
                        // Half of the interval around a floor lies below it.
                        log[0] = -std::f64::consts::LN_2;
                    }
                    Weights { low, log }
                }
                Shape::Node(_, children) => self.sum(&shapes, children, None)?,
            };
            self.inner.push(weights);
        }
        let levels = self.tree.levels();
        let mut law = TreeLaw {
            root: Distribution::default(),
            absolute: vec![0.0; levels],
            squares: vec![0.0; levels],
        };
        let free = Weights { low: -self.width, log: vec![0.0; 2 * self.width as usize + 1] };
        self.down(&shapes, of[0], 1.0, &free, root_only, &mut law)?;
        Some(law)
    }

    /// The weights of a shape's sum with its own.
    fn outer(&self, shapes: &[Shape], shape: usize) -> Weights {
        let own = match &shapes[shape] {
            Shape::Leaf(own, _) | Shape::Node(own, _) => *own,
        };
        self.weighted(own, self.inner[shape].clone())
    }

    /// The weights times a node's own, which are those of 0 alone where it is known.
    fn weighted(&self, own: Own, mut weights: Weights) -> Weights {
        if own.known {
            let at = weights.log.get(-weights.low as usize).copied().unwrap_or(f64::NEG_INFINITY);
            return Weights { low: 0, log: vec![at] };
        }
        for (k, log) in (weights.low..).zip(&mut weights.log) {
            *log += self.laws[own.level].log_weight(k as f64 * self.step);
        }
        weights
    }

    /// The weights of the sum of all children but one of the shape `without`; of none if there is no other.
    fn sum(
        &mut self,
        shapes: &[Shape],
        children: &[(usize, u64)],
        without: Option<usize>,
    ) -> Option<Weights> {
        let mut sum = Weights { low: 0, log: vec![0.0] };
        for &(child, n) in children {
            let mut n = n - u64::from(without == Some(child));
            let mut power = self.outer(shapes, child);
            while n > 0 {
                if n % 2 == 1 {
                    sum = self.convolve(&sum, &power)?;
                }
                n /= 2;
                if n > 0 {
                    power = self.convolve(&power, &power)?;
                }
            }
        }
        Some(sum)
    }

    fn convolve(&mut self, a: &Weights, b: &Weights) -> Option<Weights> {
        let (a, b) = if a.log.len() <= b.log.len() { (a, b) } else { (b, a) };
        let steps = a.log.len() as u64 * b.log.len() as u64;
        self.budget = self.budget.checked_sub(steps)?;
        let low = (a.low + b.low).max(-self.width);
        let high = (a.low + b.low + (a.log.len() + b.log.len()) as i64 - 2).min(self.width);
        let log = (low..=high).map(|t| {
            // a over i, b over t - i.
            let first = (t - (b.low + b.log.len() as i64 - 1)).max(a.low);
            let last = (t - b.low).min(a.low + a.log.len() as i64 - 1);
            let term = |i: i64| a.log[(i - a.low) as usize] + b.log[(t - i - b.low) as usize];
            let top = (first..=last).map(term).fold(f64::NEG_INFINITY, f64::max);
            top + libm::log(
                (first..=last).map(term).filter(|x| *x > top - 50.0).map(|x| libm::exp(x - top)).sum(),
            )
        });
        Some(Weights { low, log: log.collect() })
    }

    /// Adds the moments of `number` nodes of a shape and, unless they are to stand alone, of everything below, given
    /// the weights of everything outside.
    fn down(
        &mut self,
        shapes: &[Shape],
        shape: usize,
        number: f64,
        outside: &Weights,
        alone: bool,
        law: &mut TreeLaw,
    ) -> Option<()> {
        let outer = self.outer(shapes, shape);
        let out = |k: i64| outside.log.get((k - outside.low) as usize).copied().unwrap_or(f64::NEG_INFINITY);
        let both: Vec<(i64, f64)> = (outer.low..).zip(&outer.log).map(|(k, log)| (k, log + out(k))).collect();
        let top = both.iter().map(|(_, log)| *log).fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = both.iter().map(|(_, log)| libm::exp(log - top)).sum();
        let marginal = both.iter().map(|(k, log)| (*k as f64 * self.step, libm::exp(log - top) / total));
        let (own, children) = match &shapes[shape] {
            Shape::Leaf(own, _) => (*own, &[][..]),
            Shape::Node(own, children) => (*own, &children[..]),
        };
        let level = own.level;
        if level == 0 {
            law.root.points = marginal.clone().collect();
            if self.step < 1.0 {
                law.root.grain = marginal.clone().map(|(_, p)| p).fold(0.0, f64::max);
            }
        }
        law.absolute[level] += number * marginal.clone().map(|(z, p)| z.abs() * p).sum::<f64>();
        law.squares[level] += number * marginal.map(|(z, p)| z * z * p).sum::<f64>();
        for &(child, n) in children.iter().filter(|_| !alone) {
            // Given a child's value: what its siblings and everything above make of it.
            let siblings = self.sum(shapes, children, Some(child))?;
            let above = self.weighted(own, outside.clone());
            // o(s) = Σ_r above(s + r) siblings(r): a convolution with the siblings turned around.
            let turned = Weights {
                low: -(siblings.low + siblings.log.len() as i64 - 1),
                log: siblings.log.into_iter().rev().collect(),
            };
            let given = self.convolve(&above, &turned)?;
            self.down(shapes, child, number * n as f64, &given, alone, law)?;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three leaves under a root, rate 1 on all nodes, counts 0, 3, 5: against a sum over all points.
    #[test]
    fn a_listed_tree() {
        let tree = Hierarchy::from_parents(&[0, 0, 0, 0]).unwrap();
        let counts = [8, 0, 3, 5];
        let laws = [Formula::Geometric(1.0), Formula::Geometric(0.7)];
        let law = conditioned(&tree, &laws, Some(&counts), MOST_STEPS).unwrap();
        let (mut total, mut root, mut leaves) = (0.0, [0.0; 2], [0.0; 2]);
        for a in 0..=30i64 {
            for b in -3..=30i64 {
                for c in -5..=30i64 {
                    let sum = a + b + c;
                    let size = (a.abs() + b.abs() + c.abs()) as f64;
                    let p = libm::exp(-size / 0.7 - sum.abs() as f64);
                    total += p;
                    root[0] += p * sum.abs() as f64;
                    root[1] += p * (sum * sum) as f64;
                    leaves[0] += p * size;
                    leaves[1] += p * (a * a + b * b + c * c) as f64;
                }
            }
        }
        for (got, want) in [
            (law.absolute[0], root[0]),
            (law.squares[0], root[1]),
            (law.absolute[1], leaves[0]),
            (law.squares[1], leaves[1]),
        ] {
            assert!((got - want / total).abs() < 1e-9, "{got} {}", want / total);
        }
    }
}
