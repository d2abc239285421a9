//! Sums over errors.

use crate::law::Value;

/// Sums over the errors of some nodes.
#[derive(Debug, Default, Clone, Copy)]
pub struct Sums {
    /// The number of nodes.
    pub nodes: usize,
    /// The sum of the absolute values of the errors.
    pub l1: f64,
    /// The sum of the squares of the errors.
    pub squares: f64,
    /// The sum of the errors themselves.
    pub errors: f64,
}

impl Sums {
    /// Sums up errors in their order (integers that are summed exactly in any).
    pub fn of<V: Value>(errors: &[V]) -> Self {
        // Integers whose squares sum to less are summed exactly, in any order.
        const EXACT: f64 = (1u64 << 53) as f64;
        if V::WHOLE {
            let (fours, rest) = errors.as_chunks::<4>();
            let mut lanes = [Self::default(); 4];
            fours.iter().for_each(|four| lanes.iter_mut().zip(four).for_each(|(lane, &z)| lane.add(z)));
            rest.iter().for_each(|&z| lanes[0].add(z));
            let all: Self = lanes.into_iter().sum();
            if all.squares < EXACT {
                return all;
            }
        }
        let mut all = Self::default();
        errors.iter().for_each(|&z| all.add(z));
        all
    }

    #[inline]
    fn add<V: Value>(&mut self, error: V) {
        let z = error.to_f64();
        self.nodes += 1;
        self.l1 += z.abs();
        self.squares += z * z;
        self.errors += z;
    }
}

/// Adds sums one after the other.
impl std::iter::Sum for Sums {
    fn sum<I: Iterator<Item = Self>>(pieces: I) -> Self {
        pieces.fold(Self::default(), |a, b| Self {
            nodes: a.nodes + b.nodes,
            l1: a.l1 + b.l1,
            squares: a.squares + b.squares,
            errors: a.errors + b.errors,
        })
    }
}
