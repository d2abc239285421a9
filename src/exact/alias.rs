//! Draws from many small tables by one word each.

use crate::rng::Rng;

/// Alias tables (Walker 1977; built as by Vose 1991) of several laws on consecutive integers.
#[derive(Debug, Default)]
pub(super) struct AliasRows {
    /// By law: its first entry, and the integer there.
    rows: Vec<(u32, i64)>,
    /// By entry: the share of its own, in units of 2^-64, and the entry of its law that has the rest.
    entries: Vec<(u64, u32)>,
}

impl AliasRows {
    /// Adds a law by its weights on `low, low + 1, …`, not all 0.
    pub(super) fn push(&mut self, low: i64, weights: &[f64]) {
        let n = weights.len();
        let total: f64 = weights.iter().sum();
        self.rows.push((self.entries.len() as u32, low));
        let mut shares: Vec<f64> = weights.iter().map(|weight| weight / total * n as f64).collect();
        let mut small: Vec<usize> = (0..n).filter(|&i| shares[i] < 1.0).collect();
        let mut large: Vec<usize> = (0..n).filter(|&i| shares[i] >= 1.0).collect();
        let mut row = vec![(u64::MAX, 0u32); n];
        while let (Some(&i), Some(&j)) = (small.last(), large.last()) {
            small.pop();
            // Saturating: a share of 1 has all but 2^-64.
            row[i] = ((shares[i] * TWO_64) as u64, j as u32);
            shares[j] -= 1.0 - shares[i];
            if shares[j] < 1.0 {
                large.pop();
                small.push(j);
            }
        }
        // What rounding leaves over has its own share whole.
        for i in small.into_iter().chain(large) {
            row[i] = (u64::MAX, i as u32);
        }
        self.entries.extend(row);
    }

    /// Entries so far.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// A draw of law `k`.
    #[inline]
    pub(super) fn draw<R: Rng + ?Sized>(&self, k: usize, rng: &mut R) -> i64 {
        let (first, low) = self.rows[k];
        let end = self.rows.get(k + 1).map_or(self.entries.len(), |&(end, _)| end as usize);
        let row = &self.entries[first as usize..end];
        // The high half of the product picks the entry, the low half one of its two values.
        let product = u128::from(rng.next_u64()) * row.len() as u128;
        let (entry, fraction) = ((product >> 64) as usize, product as u64);
        let (share, other) = row[entry];
        low + if fraction < share { entry as i64 } else { i64::from(other) }
    }
}

const TWO_64: f64 = 18_446_744_073_709_551_616.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_frequencies, test_stream};

    /// The probability of every value, summed over the entries, is that of the law to 1e-15.
    #[test]
    fn tables_hold_their_laws() {
        let laws = [
            (-3i64, vec![0.2, 1e-9, 3.0, 0.0, 0.7]),
            (5, vec![1.0]),
            (0, vec![0.25; 8]),
            (2, vec![1.0, 2.0, 3.0]),
        ];
        let mut rows = AliasRows::default();
        laws.iter().for_each(|(low, weights)| rows.push(*low, weights));
        let mut rng = test_stream(41);
        for (k, (low, weights)) in laws.iter().enumerate() {
            let (first, _) = rows.rows[k];
            let row = &rows.entries[first as usize..first as usize + weights.len()];
            let mut p = vec![0.0; weights.len()];
            for (i, &(share, other)) in row.iter().enumerate() {
                let share = if share == u64::MAX { 1.0 } else { share as f64 / TWO_64 };
                p[i] += share / weights.len() as f64;
                p[other as usize] += (1.0 - share) / weights.len() as f64;
            }
            let total: f64 = weights.iter().sum();
            for (p, weight) in p.iter().zip(weights) {
                assert!((p - weight / total).abs() < 1e-15, "{p} {}", weight / total);
            }
            if weights.len() > 1 {
                let mut seen = vec![0u64; weights.len()];
                (0..40_000).for_each(|_| seen[(rows.draw(k, &mut rng) - low) as usize] += 1);
                assert_frequencies(seen.into_iter().zip(weights.iter().map(|w| w / total)), 40_000);
            }
        }
    }
}
