//! Laws on a few integers by one word each.

/// An alias table (Walker 1977; built as by Vose 1991) of a law on `0..n`.
///
/// A draw takes 63 random bits, one look-up and no branch. The probabilities are multiples of 2^-63 that sum to 1, each within two units of
/// the weight's share as f64 has it, but for the largest, which takes what rounding leaves over.
#[derive(Debug, Clone)]
pub struct Alias(Box<[u64]>);

impl Alias {
    /// Builds the table. `weights`: at least one, finite, >= 0, not all 0; fewer than 2^31.
    pub fn new(weights: &[f64]) -> Self {
        let mut columns = Vec::new();
        push(weights, &mut columns);
        Self(columns.into())
    }

    /// The value that 63 uniform bits stand for.
    #[inline]
    pub fn at(&self, bits: u64) -> usize {
        let mask = self.0.len() as u64 - 1;
        pick(self.0[(bits & mask) as usize], mask, bits)
    }

    /// The probability of every value, in units of 2^-63.
    pub fn shares(&self) -> Vec<u64> {
        let mask = self.0.len() as u64 - 1;
        let bits = self.0.len().trailing_zeros();
        let full = 1u64 << (63 - bits);
        let mut shares = vec![0; self.0.len()];
        for (k, &entry) in self.0.iter().enumerate() {
            shares[k] += entry >> bits;
            shares[(entry & mask) as usize] += full - (entry >> bits);
        }
        shares
    }
}

/// Appends the columns of one law, a power of two of them: in the low bits the other value, above them the column's own share.
pub(super) fn push(weights: &[f64], columns: &mut Vec<u64>) {
    let size = weights.len().next_power_of_two();
    let bits = size.trailing_zeros();
    debug_assert!(bits < 32);
    let total = sum(weights);
    let mut share: Vec<u64> = weights.iter().map(|w| (w / total * (1u64 << 62) as f64) as u64 * 2).collect();
    share.resize(size, 0);
    // What rounding left over goes to the largest.
    let largest = (0..size).max_by_key(|&k| share[k]).unwrap_or(0);
    share[largest] = share[largest].wrapping_add((1u64 << 63).wrapping_sub(share.iter().sum()));
    let full = 1u64 << (63 - bits);
    let start = columns.len();
    columns.extend((0..size as u64).map(|k| full << bits | k));
    let own = &mut columns[start..];
    let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..size).partition(|&k| share[k] < full);
    while let (Some(low), Some(&high)) = (small.pop(), large.last()) {
        own[low] = share[low] << bits | high as u64;
        share[high] -= full - share[low];
        if share[high] < full {
            large.pop();
            small.push(high);
        }
    }
}

/// The sum of weights >= 0, within two units of its last place however many there are (Neumaier 1974).
fn sum(weights: &[f64]) -> f64 {
    let (mut sum, mut lost) = (0.0, 0.0);
    for &weight in weights {
        let next = sum + weight;
        lost += if sum >= weight { (sum - next) + weight } else { (weight - next) + sum };
        sum = next;
    }
    sum + lost
}

/// The value that 63 uniform bits stand for: the low ones choose one of `mask + 1` columns, a power of two, with this `entry`, the
/// high ones between its own value and the other.
#[inline]
pub(super) fn pick(entry: u64, mask: u64, bits: u64) -> usize {
    (if bits < entry & !mask { bits & mask } else { entry & mask }) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use crate::testing::{assert_frequencies, test_stream};

    /// The probability of every value, summed over the columns, is that of the law to rounding; draws have it.
    #[test]
    fn tables_hold_their_laws() {
        let mut rng = test_stream(41);
        for weights in [
            vec![0.2, 1e-9, 3.0, 0.0, 0.7],
            vec![1.0],
            vec![0.25; 8],
            vec![1.0, 2.0, 3.0],
            (0..700).map(|k| libm::exp(-0.05 * f64::from(k))).collect(),
        ] {
            let alias = Alias::new(&weights);
            let total: f64 = weights.iter().sum();
            let shares = alias.shares();
            assert_eq!(shares.iter().sum::<u64>(), 1 << 63);
            for (k, &share) in shares.iter().enumerate() {
                let want = weights.get(k).map_or(0.0, |w| w / total);
                assert!((share as f64 / (1u64 << 63) as f64 - want).abs() <= 3e-16, "{k}: {share} {want}");
            }
            let mut seen = vec![0u64; weights.len()];
            (0..40_000).for_each(|_| seen[alias.at(rng.next_u64() >> 1)] += 1);
            if weights.len() > 1 {
                assert_frequencies(seen.into_iter().zip(weights.iter().map(|w| w / total)), 40_000);
            }
        }
    }
}
