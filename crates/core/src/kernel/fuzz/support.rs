//! The listed support of a law, and transition matrices on it.

use super::systems::points;
use crate::invariant::{Linear, Region};
use crate::oracle::Formula;
use crate::rng::{Stream, open01};
use std::collections::HashMap;

/// Points of a support.
const MOST: usize = 200;

/// Points with their probabilities.
pub(super) struct Support {
    pub(super) points: Vec<Vec<i64>>,
    pub(super) place: HashMap<Vec<i64>, usize>,
    pub(super) p: Vec<f64>,
    /// Logarithms of weights.
    pub(super) log: Vec<f64>,
}

impl Support {
    /// `None`: too many points, or one.
    pub(super) fn new(points: Vec<Vec<i64>>, log_weight: impl Fn(&[i64]) -> f64) -> Option<Self> {
        if points.len() < 2 || points.len() > MOST {
            return None;
        }
        let log: Vec<f64> = points.iter().map(|z| log_weight(z)).collect();
        let total: f64 = log.iter().map(|&log| libm::exp(log)).sum();
        let place = points.iter().cloned().zip(0..).collect();
        Some(Self { points, place, p: log.iter().map(|&log| libm::exp(log) / total).collect(), log })
    }

    /// The points of a table's region with entries within ±reach: see [`points`].
    pub(super) fn of_table(invariant: &Linear, region: &Region, law: Formula, reach: i64) -> Option<Self> {
        Self::new(points(invariant, region, reach)?, |z| match law {
            Formula::Euclidean(scale) => -libm::sqrt(z.iter().map(|&z| (z * z) as f64).sum::<f64>()) / scale,
            law => z.iter().map(|&z| law.log_weight(z as f64)).sum(),
        })
    }

    pub(super) fn n(&self) -> usize {
        self.points.len()
    }

    pub(super) fn moved(&self, from: usize, vector: &[(u32, i32)], t: i64) -> Option<usize> {
        let mut z = self.points[from].clone();
        vector.iter().for_each(|&(entry, c)| z[entry as usize] += t * i64::from(c));
        self.place.get(&z).copied()
    }

    /// The lines along a vector, of two points and more.
    pub(super) fn lines(&self, vector: &[(u32, i32)]) -> Vec<Vec<usize>> {
        let ends = (0..self.n()).filter(|&i| self.moved(i, vector, -1).is_none());
        let line = |i| (0..).map_while(|t| self.moved(i, vector, t)).collect::<Vec<usize>>();
        ends.map(line).filter(|line| line.len() > 1).collect()
    }

    /// Exact draws along a vector, made with probability `p`.
    pub(super) fn add_gibbs(&self, matrix: &mut Matrix, vector: &[(u32, i32)], p: f64) {
        for line in self.lines(vector) {
            // Weights on the line, by their ratios to the largest: all may be next to nothing.
            let top = line.iter().map(|&i| self.log[i]).fold(f64::NEG_INFINITY, f64::max);
            let weight = |i: usize| libm::exp(self.log[i] - top);
            let total: f64 = line.iter().map(|&i| weight(i)).sum();
            for &i in &line {
                matrix.p[i * self.n() + i] -= p;
                line.iter().for_each(|&j| matrix.p[i * self.n() + j] += p * weight(j) / total);
            }
        }
    }

    /// `p(to)/p(from)`.
    pub(super) fn ratio(&self, from: usize, to: usize) -> f64 {
        libm::exp(self.log[to] - self.log[from])
    }

    pub(super) fn distance(&self, law: &[f64]) -> f64 {
        0.5 * self.p.iter().zip(law).map(|(p, q)| (p - q).abs()).sum::<f64>()
    }

    /// A point, by its probability.
    pub(super) fn draw(&self, rng: &mut Stream) -> usize {
        let mut u = open01(rng);
        (0..self.n() - 1)
            .find(|&i| {
                u -= self.p[i];
                u < 0.0
            })
            .unwrap_or(0)
    }
}

/// A transition matrix, row by row.
#[derive(Clone)]
pub(super) struct Matrix {
    pub(super) n: usize,
    pub(super) p: Vec<f64>,
}

impl Matrix {
    pub(super) fn identity(n: usize) -> Self {
        Self { n, p: (0..n * n).map(|i| f64::from(i % (n + 1) == 0)).collect() }
    }

    pub(super) fn row(&self, i: usize) -> &[f64] {
        &self.p[i * self.n..(i + 1) * self.n]
    }

    pub(super) fn then(&self, next: &Self) -> Self {
        let mut product = vec![0.0; self.n * self.n];
        for (row, to) in self.p.chunks(self.n).zip(product.chunks_mut(self.n)) {
            for (&p, via) in row.iter().zip(next.p.chunks(self.n)).filter(|(p, _)| **p != 0.0) {
                to.iter_mut().zip(via).for_each(|(to, q)| *to += p * q);
            }
        }
        Self { n: self.n, p: product }
    }

    pub(super) fn power(&self, mut exponent: u64) -> Self {
        let (mut power, mut square) = (Self::identity(self.n), self.clone());
        while exponent > 0 {
            if exponent % 2 == 1 {
                power = power.then(&square);
            }
            exponent /= 2;
            if exponent > 0 {
                square = square.then(&square);
            }
        }
        power
    }

    /// Metropolis: what `propose(from, to)` gives, accepted with the smaller of 1 and `ratio(from, to)`.
    pub(super) fn metropolis(
        n: usize,
        propose: impl Fn(usize, usize) -> f64,
        ratio: impl Fn(usize, usize) -> f64,
    ) -> Self {
        let mut matrix = Self::identity(n);
        for from in 0..n {
            for to in (0..n).filter(|&to| to != from) {
                let p = propose(from, to) * ratio(from, to).min(1.0);
                matrix.p[from * n + to] += p;
                matrix.p[from * n + from] -= p;
            }
        }
        matrix
    }
}
