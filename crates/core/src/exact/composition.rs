//! Uniform compositions of an integer.

use crate::rng::{Rng, below};

/// Fills `parts` with integers >= 0 that sum to `total`, all `C(total + n - 1, n - 1)` ways equally
/// likely (n = `parts.len()` >= 1). `bars`: scratch space.
///
/// A composition is a row of `total` stars and `n - 1` bars. With few stars a part the row is walked
/// through, O(n + total); with many, the places of the bars are drawn and sorted, O(n log n).
///
/// # Examples
///
/// ```
/// use congenial_core::exact::composition::uniform;
/// use congenial_core::rng::{Role, TaskKey, stream};
///
/// let mut rng = stream(TaskKey { seed: 1, cell: 0, replicate: 0, role: Role::Noise });
/// let mut parts = [0; 4];
/// uniform(&mut rng, 10, &mut parts, &mut Vec::new());
/// assert!(parts.iter().sum::<i64>() == 10 && parts.iter().all(|&part| part >= 0));
/// ```
#[inline]
pub fn uniform<R: Rng + ?Sized>(rng: &mut R, total: u64, parts: &mut [i64], bars: &mut Vec<u64>) {
    debug_assert!(!parts.is_empty());
    if total <= 8 * parts.len() as u64 {
        walk(rng, total, parts);
    } else {
        sort(rng, total, parts, bars);
    }
}

fn walk<R: Rng + ?Sized>(rng: &mut R, total: u64, parts: &mut [i64]) {
    let mut bars = parts.len() as u64 - 1;
    let mut places = total + bars;
    let mut part = 0;
    let mut stars = 0u64;
    while bars > 0 {
        // Branch-free but for the loop: whether the next place holds a bar is a coin nobody can predict.
        let bar = u64::from(below(rng, places) < bars);
        parts[part] = stars as i64;
        stars = (stars + 1) & bar.wrapping_sub(1);
        part += bar as usize;
        bars -= bar;
        places -= 1;
    }
    parts[part] = (stars + places) as i64;
}

fn sort<R: Rng + ?Sized>(rng: &mut R, total: u64, parts: &mut [i64], bars: &mut Vec<u64>) {
    let wanted = parts.len() - 1;
    let places = total + wanted as u64;
    bars.clear();
    // Draw places until enough of them are distinct: a uniform set.
    while bars.len() < wanted {
        for _ in bars.len()..wanted {
            bars.push(below(rng, places));
        }
        bars.sort_unstable();
        bars.dedup();
    }
    let mut next = 0;
    for (part, &bar) in parts.iter_mut().zip(&*bars) {
        *part = (bar - next) as i64;
        next = bar + 1;
    }
    parts[wanted] = (places - next) as i64;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Role, TaskKey, stream};
    use crate::testing::assert_frequencies;
    use std::collections::HashMap;

    /// Both algorithms give every composition of 4 into 3 parts equally often.
    #[test]
    fn all_compositions_are_equally_likely() {
        let mut rng = stream(TaskKey { seed: 7, cell: 0, replicate: 0, role: Role::Noise });
        for sorted in [false, true] {
            let mut seen: HashMap<[i64; 3], u64> = HashMap::new();
            let draws = 60_000;
            for _ in 0..draws {
                let mut parts = [0; 3];
                if sorted {
                    sort(&mut rng, 4, &mut parts, &mut Vec::new())
                } else {
                    walk(&mut rng, 4, &mut parts)
                }
                assert_eq!(parts.iter().sum::<i64>(), 4);
                *seen.entry(parts).or_default() += 1;
            }
            assert_eq!(seen.len(), 15);
            assert_frequencies(seen.values().map(|&count| (count, 1.0 / 15.0)), draws);
        }
    }
}
