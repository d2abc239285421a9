//! Variances of sums on a tree under least squares, with their derivatives.

use super::answers::{Answers, Variance, checked};
use crate::error::Result;
use crate::invariant::Hierarchy;

/// Sums over nodes of a tree, in queries with an answer for each of their groups; the measurements are the levels that are not known
/// whole, the highest first.
///
/// A sum is taken over nodes none of which lies below another: leaves, or one node of any level.
#[derive(Debug, Clone)]
pub struct TreeAnswers<'a> {
    tree: &'a Hierarchy,
    /// The levels that are measured.
    measured: Vec<usize>,
    /// By query and group, its nodes in ascending order.
    queries: Vec<Vec<Vec<u32>>>,
}

/// What is known of nodes of a tree: by node so many numbers, a value and its derivative by the variance of each level.
struct Table {
    width: usize,
    numbers: Vec<f64>,
}

impl Table {
    fn new(nodes: usize, width: usize) -> Self {
        Self { width, numbers: vec![0.0; nodes * width] }
    }

    fn at(&self, v: usize) -> &[f64] {
        &self.numbers[v * self.width..(v + 1) * self.width]
    }
}

/// The estimates of all nodes from their own subtrees alone.
struct Subtrees {
    /// The variance r of the noise, by level.
    own: Vec<f64>,
    /// By node the variance V of its estimate from its subtree.
    estimate: Table,
    /// By node with children the sum B of V over them.
    below: Table,
}

/// A part of a sum at one node: q, the covariance of the part below the node with the node's count, and u, the variance of the part, both
/// from the node's subtree; each with its derivatives.
#[derive(Debug, Clone)]
struct Part {
    node: usize,
    q: Vec<f64>,
    u: Vec<f64>,
}

impl Subtrees {
    fn new(tree: &Hierarchy, own: &[f64]) -> Self {
        let width = 1 + own.len();
        let (mut estimate, mut below) = (Table::new(tree.nodes(), width), Table::new(tree.nodes(), width));
        for v in (0..tree.nodes()).rev() {
            let level = tree.level(v);
            let r = own[level];
            let at = v * width;
            if tree.is_leaf(v) {
                if !tree.is_known(v) {
                    estimate.numbers[at] = r;
                    estimate.numbers[at + 1 + level] = 1.0;
                }
                continue;
            }
            for child in tree.children(v) {
                for k in 0..width {
                    below.numbers[at + k] += estimate.numbers[child * width + k];
                }
            }
            let b = below.numbers[at];
            if tree.is_known(v) || b == 0.0 {
                continue;
            }
            let (of_below, of_own) = (r / (b + r), b / (b + r));
            estimate.numbers[at] = b * of_below;
            for k in 1..width {
                estimate.numbers[at + k] = of_below * of_below * below.numbers[at + k];
            }
            estimate.numbers[at + 1 + level] += of_own * of_own;
        }
        Self { own: own.to_vec(), estimate, below }
    }

    /// A node that a sum is taken over.
    fn whole(&self, node: usize) -> Part {
        let estimate = self.estimate.at(node).to_vec();
        Part { node, q: estimate.clone(), u: estimate }
    }

    /// Takes the measurement of a node to what its children have summed up to: u falls by Q²/(B + r), and q is Q r/(B + r).
    fn measure(&self, tree: &Hierarchy, part: &mut Part) {
        let v = part.node;
        let (level, below) = (tree.level(v), self.below.at(v));
        let b = below[0];
        let q = part.q[0];
        if b == 0.0 || part.q.iter().all(|q| *q == 0.0) {
            return;
        }
        let (r, is_known) = if tree.is_known(v) { (0.0, true) } else { (self.own[level], false) };
        let w = b + r;
        let slopes = part.q.iter_mut().zip(&mut part.u).zip(below).enumerate().skip(1);
        for (k, ((dq, du), &db)) in slopes {
            let dr = if k == 1 + level && !is_known { 1.0 } else { 0.0 };
            *du += -2.0 * q * *dq / w + (q / w) * (q / w) * (db + dr);
            *dq = *dq * r / w + q * (dr * b - r * db) / (w * w);
        }
        part.u[0] -= q * q / w;
        part.q[0] = q * r / w;
    }

    /// The variance of a sum over nodes in ascending order, and its derivatives: one pass up from them.
    fn sum(&self, tree: &Hierarchy, nodes: &[u32]) -> Vec<f64> {
        let mut rest = nodes.iter().rev().map(|&node| node as usize).peekable();
        let mut front: Vec<Part> = Vec::new();
        for level in (0..tree.levels()).rev() {
            // Both run downwards, and have no node in common.
            let mut merged: Vec<Part> = Vec::new();
            let mut lifted = front.into_iter().peekable();
            loop {
                let own = rest.peek().copied().filter(|&v| tree.level(v) == level);
                let from_below = lifted.peek().map(|part| part.node);
                match (own, from_below) {
                    (None, None) => break,
                    (Some(v), other) if other.is_none_or(|other| other < v) => {
                        merged.push(self.whole(v));
                        rest.next();
                    }
                    _ => {
                        let mut part = lifted.next().expect("it was seen");
                        self.measure(tree, &mut part);
                        merged.push(part);
                    }
                }
            }
            if level == 0 {
                return merged.pop().map_or_else(|| vec![0.0; 1 + self.own.len()], |root| root.u);
            }
            front = Vec::new();
            for part in merged {
                let parent = tree.parent(part.node);
                match front.last_mut().filter(|last| last.node == parent) {
                    Some(last) => {
                        last.q.iter_mut().zip(&part.q).for_each(|(all, own)| *all += own);
                        last.u.iter_mut().zip(&part.u).for_each(|(all, own)| *all += own);
                    }
                    None => front.push(Part { node: parent, ..part }),
                }
            }
        }
        unreachable!("a tree has a root")
    }
}

impl<'a> TreeAnswers<'a> {
    /// `queries`: by query and group, the nodes that are summed, in ascending order.
    pub fn new(tree: &'a Hierarchy, queries: Vec<Vec<Vec<u32>>>) -> Self {
        Self { tree, measured: tree.measured_levels().collect(), queries }
    }

    /// All nodes, a query for each level that is measured.
    pub fn of_levels(tree: &'a Hierarchy) -> Self {
        let of_level = |l: usize| tree.level_nodes(l).map(|v| vec![v as u32]).collect();
        Self::new(tree, tree.measured_levels().map(of_level).collect())
    }
}

impl Answers for TreeAnswers<'_> {
    fn measured(&self) -> usize {
        self.measured.len()
    }

    fn queries(&self) -> usize {
        self.queries.len()
    }

    fn work(&self) -> usize {
        self.tree.nodes() * self.tree.levels()
    }

    /// One pass up the tree, and one from the nodes of each sum.
    fn each(&self, variances: &[f64], take: &mut dyn FnMut(usize, u64, &Variance)) -> Result<()> {
        checked(variances, self.measured.len())?;
        let mut own = vec![1.0; self.tree.levels()];
        self.measured.iter().zip(variances).for_each(|(&l, r)| own[l] = *r);
        let subtrees = Subtrees::new(self.tree, &own);
        for (query, groups) in self.queries.iter().enumerate() {
            for nodes in groups {
                let numbers = subtrees.sum(self.tree, nodes);
                let fall = |(&l, r): (&usize, &f64)| (numbers[1 + l] * r * r).max(0.0);
                let falls = self.measured.iter().zip(variances).map(fall).collect();
                take(query, 1, &Variance { value: numbers[0].max(0.0), falls });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::imaging::L2;
    use crate::rng::{below, open01};
    use crate::testing::{random_tree, test_stream};

    /// Variances and derivatives in 300 random trees, some of whose nodes are known: with a_u what the noise of node u adds to the
    /// projected sum, the variance is Σ r_u a_u², and, since the projection is the best one, its derivative by r_l is Σ a_u² over
    /// level l.
    #[test]
    fn variances_are_those_of_projected_noise() {
        let mut rng = test_stream(811);
        for _ in 0..300 {
            let nodes = 2 + below(&mut rng, 24) as usize;
            let tree = random_tree(nodes, &mut rng);
            let own: Vec<f64> = (0..tree.levels()).map(|_| 0.1 + 10.0 * open01(&mut rng)).collect();
            let l2 = L2::new(&tree, &own).unwrap();
            let mut groups: Vec<Vec<u32>> = (0..nodes as u32).map(|v| vec![v]).collect();
            groups.extend(
                (0..5).map(|_| tree.leaves().iter().copied().filter(|_| below(&mut rng, 2) == 0).collect()),
            );
            let projected: Vec<(usize, Vec<f64>)> = (0..nodes)
                .filter(|&u| !tree.is_known(u))
                .map(|u| {
                    let mut noise = vec![0.0; nodes];
                    noise[u] = 1.0;
                    l2.project(&mut noise);
                    (u, noise)
                })
                .collect();
            let answers = TreeAnswers::new(&tree, vec![groups.clone()]);
            let measured: Vec<usize> = tree.measured_levels().collect();
            let mut group = groups.iter();
            let mut take = |_, _, got: &Variance| {
                let group = group.next().unwrap();
                let (mut value, mut falls) = (0.0, vec![0.0; tree.levels()]);
                for (u, noise) in &projected {
                    let adds: f64 = group.iter().map(|&v| noise[v as usize]).sum();
                    let r = own[tree.level(*u)];
                    value += r * adds * adds;
                    falls[tree.level(*u)] += r * r * adds * adds;
                }
                let words = format!("{group:?} of {tree:?}");
                assert!(
                    (got.value - value).abs() < 1e-9 * (1.0 + value),
                    "{words}: {} not {value}",
                    got.value
                );
                assert_eq!(got.falls.len(), measured.len());
                for (got, want) in got.falls.iter().zip(measured.iter().map(|&l| &falls[l])) {
                    assert!((got - want).abs() < 1e-8 * (1.0 + want), "{words}: {got} not {want}");
                }
            };
            let variances: Vec<f64> = measured.iter().map(|&l| own[l]).collect();
            answers.each(&variances, &mut take).unwrap();
            assert!(group.next().is_none());
        }
    }
}
