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
    /// The number of nodes that are released below 0, of real numbers by more than rounding.
    pub negative: usize,
}

/// Whether a count is released below 0; `whole`: its error is an integer. A real number is, if it is further below than by
/// 1e-9 of its error and of 1: sums of a million entries round by less.
#[inline]
pub fn is_negative(error: f64, count: i64, whole: bool) -> bool {
    let rounding = if whole { 0.0 } else { 1e-9 * (1.0 + error.abs()) };
    error + (count as f64) < -rounding
}

impl Sums {
    /// Sums up errors in their order (integers that are summed exactly in any), of nodes with these confidential counts.
    pub fn of<V: Value>(errors: &[V], counts: &[i64]) -> Self {
        debug_assert_eq!(errors.len(), counts.len());
        // Integers whose squares sum to less are summed exactly, in any order.
        const EXACT: f64 = (1u64 << 53) as f64;
        if V::WHOLE {
            let ((fours, rest), (of_fours, of_rest)) = (errors.as_chunks::<4>(), counts.as_chunks::<4>());
            let mut lanes = [Self::default(); 4];
            for (four, counts) in fours.iter().zip(of_fours) {
                lanes.iter_mut().zip(four.iter().zip(counts)).for_each(|(lane, (&z, &x))| lane.add(z, x));
            }
            rest.iter().zip(of_rest).for_each(|(&z, &x)| lanes[0].add(z, x));
            let all: Self = lanes.into_iter().sum();
            if all.squares < EXACT {
                return all;
            }
        }
        let mut all = Self::default();
        errors.iter().zip(counts).for_each(|(&z, &x)| all.add(z, x));
        all
    }

    #[inline]
    fn add<V: Value>(&mut self, error: V, count: i64) {
        let z = error.to_f64();
        self.negative += usize::from(is_negative(z, count, V::WHOLE));
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
            negative: a.negative + b.negative,
        })
    }
}
