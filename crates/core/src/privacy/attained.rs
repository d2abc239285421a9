//! What post-processing really pays: by listing the noise of a few counts.

use crate::error::{Error, Result};
use crate::law::{DoubleGeometric, Law};
use std::collections::BTreeMap;

/// The loss that the outputs of a map attain between two tables.
///
/// A map of noisy counts `n = x + z` to outputs, which may be random itself, costs nothing: it is charged the loss of the noise,
/// `Σ |u_i| / lambda_i`. What it attains is `max_y |ln P(y | x) / P(y | x')|`, and may be less.
#[derive(Debug, Clone, PartialEq)]
pub struct Attained {
    /// The largest log ratio, over the outputs whose probabilities are known.
    pub loss: f64,
    /// The output that has it.
    pub output: Vec<i64>,
    /// What the map is charged.
    pub charged: f64,
    /// The number of outputs whose probabilities are known.
    pub known: u64,
    /// The number of all outputs that were listed.
    pub listed: u64,
    /// Bound on the mass of the noise that was left out, under either table.
    pub left_out: f64,
}

/// Relative error of the probabilities of outputs that count as known.
const RELATIVE: f64 = 1e-9;
/// Noisy tables that are listed at most.
const MOST: u64 = 1 << 26;

/// Lists all noisy tables whose counts are within `reach` of x or `x + step`.
///
/// - `laws`: of the noise, by count.
/// - `map`: gives the outputs of a noisy table to its second argument, with probabilities that sum to 1; outputs are integers, reals on a
///   grid. It may depend on what both tables have in common, the invariant, and on nothing else of them.
///
/// The noise that is left out has at most the mass `t`, the sum of both tails of all counts. The true probability of an output lies within
/// `[p, p + t]`, p what was listed; it counts as known if `t <= 1e-9 p` under both tables. `loss` is then wrong by 2e-9 at most, and the
/// supremum over all outputs is at least that, and at most what is charged.
///
/// Errors: laws, counts and step of different lengths; more than 2^26 noisy tables; no output is known.
pub fn attained(
    laws: &[DoubleGeometric],
    counts: &[i64],
    step: &[i64],
    reach: u32,
    mut map: impl FnMut(&[i64], &mut dyn FnMut(&[i64], f64)) -> Result<()>,
) -> Result<Attained> {
    let n = laws.len();
    if counts.len() != n || step.len() != n {
        return Err(Error::parameter(
            "counts",
            counts.len(),
            "one for each law, and for each entry of the step",
        ));
    }
    let reach = i64::from(reach);
    let other: Vec<i64> = counts.iter().zip(step).map(|(x, u)| x + u).collect();
    let low: Vec<i64> = counts.iter().zip(&other).map(|(a, b)| a.min(b) - reach).collect();
    let high: Vec<i64> = counts.iter().zip(&other).map(|(a, b)| a.max(b) + reach).collect();
    let tables = low.iter().zip(&high).try_fold(1u64, |all, (a, b)| all.checked_mul((b - a + 1) as u64));
    let Some(_) = tables.filter(|tables| *tables <= MOST) else {
        let what = "listing the noise: noisy tables".into();
        return Err(Error::TooLarge {
            what,
            needed: tables.unwrap_or(u64::MAX),
            limit: MOST,
            unit: "tables",
        });
    };
    let normal = |law: &DoubleGeometric| libm::log((1.0 - law.ratio()) / (1.0 + law.ratio()));
    let log_normal: f64 = laws.iter().map(normal).sum();
    let left_out = |of: &[i64]| -> f64 {
        let tails = (0..n).map(|i| {
            let beyond = |steps: i64| libm::exp(laws[i].log_weight(steps + 1)) / (1.0 + laws[i].ratio());
            beyond(of[i] - low[i]) + beyond(high[i] - of[i])
        });
        tails.sum()
    };
    let left_out = left_out(counts).max(left_out(&other));
    let mut outputs: BTreeMap<Vec<i64>, [f64; 2]> = BTreeMap::new();
    let mut noisy = low.clone();
    loop {
        let log = |of: &[i64]| -> f64 { (0..n).map(|i| laws[i].log_weight(noisy[i] - of[i])).sum() };
        let p = [log(counts), log(&other)].map(|log| libm::exp(log_normal + log));
        map(&noisy, &mut |output, probability| {
            let sums = match outputs.get_mut(output) {
                Some(sums) => sums,
                None => outputs.entry(output.to_vec()).or_default(),
            };
            sums.iter_mut().zip(p).for_each(|(sum, p)| *sum += p * probability);
        })?;
        let Some(place) = (0..n).find(|&i| noisy[i] < high[i]) else { break };
        noisy[..place].copy_from_slice(&low[..place]);
        noisy[place] += 1;
    }
    let charged = laws.iter().zip(step).map(|(law, u)| -law.log_weight(*u)).sum();
    let listed = outputs.len() as u64;
    let mut known = 0;
    let mut worst: Option<(f64, Vec<i64>)> = None;
    for (output, [p, q]) in outputs {
        if left_out <= RELATIVE * p.min(q) {
            known += 1;
            let loss = libm::log(p / q).abs();
            if worst.as_ref().is_none_or(|(most, _)| loss > *most) {
                worst = Some((loss, output));
            }
        }
    }
    match worst {
        Some((loss, output)) => Ok(Attained { loss, output, charged, known, listed, left_out }),
        None => {
            Err(Error::parameter("reach", reach, "so large that the probability of some output is known"))
        }
    }
}

/// Gives everything that a map with random choices may give, with its probability, for choices among up to four
/// ([`crate::rng::below`]).
///
/// A choice takes one word of 64 bits; 12 words spread over their range give every choice among one to four its share exactly. All
/// sequences of these words are tried as far as the map reads them.
///
/// - `map`: the output for the random words that it is given; the same words, the same output.
pub fn all_choices(mut map: impl FnMut(&mut Words) -> Vec<i64>, each: &mut dyn FnMut(&[i64], f64)) {
    let mut words = Words { digits: Vec::new(), read: 0 };
    loop {
        words.read = 0;
        let output = map(&mut words);
        words.digits.truncate(words.read);
        each(&output, libm::pow(1.0 / Words::BASE as f64, words.read as f64));
        // The next sequence: the last word that has a successor takes it.
        while words.digits.last() == Some(&(Words::BASE - 1)) {
            words.digits.pop();
        }
        match words.digits.last_mut() {
            Some(digit) => *digit += 1,
            None => return,
        }
    }
}

/// Gives everything that a map may give which reads its words as keys, of which the order alone counts: all orders of
/// different keys are tried, each with its probability.
///
/// - `coin`: whether the map reads one word before them, of which the first bit alone counts: both are tried.
/// - `keys`: words that the map reads, or more; at most 12.
pub fn all_orders(
    coin: bool,
    keys: u64,
    mut map: impl FnMut(&mut Words) -> Vec<i64>,
    each: &mut dyn FnMut(&[i64], f64),
) {
    assert!(keys <= Words::BASE, "as many keys as a word tells apart");
    let sides: &[&[u64]] = if coin { &[&[0], &[Words::BASE - 1]] } else { &[&[]] };
    let share = 1.0 / (sides.len() as u64 * (1..=keys).product::<u64>()) as f64;
    let mut keys: Vec<u64> = (0..keys).collect();
    loop {
        for side in sides {
            let mut words = Words { digits: [side, &keys[..]].concat(), read: 0 };
            each(&map(&mut words), share);
            assert!(words.digits.len() == side.len() + keys.len(), "all keys are different");
        }
        // The next order: the last key with a larger one behind it takes the least such.
        let Some(place) = keys.windows(2).rposition(|pair| pair[0] < pair[1]) else { return };
        let larger = keys.iter().rposition(|key| *key > keys[place]).expect("the next one is larger");
        keys.swap(place, larger);
        keys[place + 1..].reverse();
    }
}

/// Words that are given in turn: see [`all_choices`] and [`all_orders`].
#[derive(Debug)]
pub struct Words {
    digits: Vec<u64>,
    read: usize,
}

impl Words {
    const BASE: u64 = 12;
}

impl rand::TryRng for Words {
    type Error = std::convert::Infallible;

    fn try_next_u64(&mut self) -> std::result::Result<u64, Self::Error> {
        if self.read == self.digits.len() {
            self.digits.push(0);
        }
        let digit = self.digits[self.read];
        self.read += 1;
        // In the middle of its share.
        Ok(((u128::from(2 * digit + 1) << 64) / u128::from(2 * Self::BASE)) as u64)
    }

    fn try_next_u32(&mut self) -> std::result::Result<u32, Self::Error> {
        self.try_next_u64().map(|word| (word >> 32) as u32)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> std::result::Result<(), Self::Error> {
        for chunk in bytes.chunks_mut(8) {
            let word = self.try_next_u64()?.to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::imaging::{LatticeL1, LatticeL2, LatticeNnl2, Nnl2Scratch, TopDown, TopDownScratch};
    use crate::invariant::{Hierarchy, Inequalities, Linear, Region};
    use crate::rng::below;

    fn laws(n: usize, lambda: f64) -> Vec<DoubleGeometric> {
        vec![DoubleGeometric::new(lambda).unwrap(); n]
    }

    /// Reals on a grid of 1/1024.
    fn on_grid(values: &[f64]) -> Vec<i64> {
        values.iter().map(|x| libm::rint(x * 1024.0) as i64).collect()
    }

    /// Released counts: those of the given table plus the image of what the noisy ones have more.
    fn imaged(counts: &[i64], noisy: &[i64], project: impl FnOnce(&mut [f64])) -> Vec<i64> {
        let mut noise: Vec<f64> = noisy.iter().zip(counts).map(|(n, x)| (n - x) as f64).collect();
        project(&mut noise);
        noise.iter_mut().zip(counts).for_each(|(z, x)| *z += *x as f64);
        on_grid(&noise)
    }

    /// Every choice gets its share exactly, whatever the number of words.
    #[test]
    fn choices_get_their_shares() {
        let mut shares: BTreeMap<Vec<i64>, f64> = BTreeMap::new();
        all_choices(
            |words| {
                let first = below(words, 4);
                let second = if first > 0 { below(words, first) } else { 9 };
                vec![first as i64, second as i64]
            },
            &mut |output, p| *shares.entry(output.to_vec()).or_default() += p,
        );
        let want = |output: &[i64]| 0.25 / output[0].max(1) as f64;
        assert_eq!(shares.len(), 1 + 1 + 2 + 3);
        assert!(shares.iter().all(|(output, p)| (p - want(output)).abs() < 1e-12), "{shares:?}");
    }

    /// The order of three keys: each of six has its share.
    #[test]
    fn orders_get_their_shares() {
        let mut shares: BTreeMap<Vec<i64>, f64> = BTreeMap::new();
        all_orders(
            false,
            3,
            |words| {
                let mut keys: Vec<(u64, i64)> = (0..3).map(|i| (rand::Rng::next_u64(words), i)).collect();
                keys.sort_unstable();
                keys.into_iter().map(|(_, i)| i).collect()
            },
            &mut |output, p| *shares.entry(output.to_vec()).or_default() += p,
        );
        assert_eq!(shares.len(), 6);
        assert!(shares.values().all(|p| (p - 1.0 / 6.0).abs() < 1e-12), "{shares:?}");
        let mut single = 0.0;
        all_orders(false, 0, |_| vec![7], &mut |_, p| single += p);
        assert_eq!(single, 1.0);
        // With a coin before them: the first bit of a word.
        let mut sides: BTreeMap<Vec<i64>, f64> = BTreeMap::new();
        let map = |words: &mut Words| {
            (0..3).map(|i| (rand::Rng::next_u64(words) >> if i == 0 { 63 } else { 56 }) as i64).collect()
        };
        all_orders(true, 2, map, &mut |output, p| *sides.entry(output.to_vec()).or_default() += p);
        assert_eq!(sides.len(), 4);
        assert!(sides.iter().all(|(words, p)| *p == 0.25 && words[1] != words[2]), "{sides:?}");
    }

    /// Nothing is done: everything that is charged is paid. One count cut at 0: at 0 less, elsewhere all.
    #[test]
    fn noise_itself_pays_what_it_is_charged() {
        let laws = laws(2, 1.5);
        let free = attained(&laws, &[3, 1], &[1, -1], 40, |noisy, each| {
            each(noisy, 1.0);
            Ok(())
        });
        let free = free.unwrap();
        assert!((free.loss - free.charged).abs() < 1e-12 && (free.charged - 2.0 / 1.5).abs() < 1e-12);
        assert!(free.left_out < 1e-10 && free.known < free.listed);
        // Whether a count is above 0: P(n <= 0 | x) = a^x/(1 + a) for x >= 1.
        let sign = attained(&laws[..1], &[3], &[1], 60, |noisy, each| {
            each(&[i64::from(noisy[0] > 0)], 1.0);
            Ok(())
        });
        let sign = sign.unwrap();
        assert_eq!((sign.output, sign.listed, sign.known), (vec![0], 2, 2));
        assert!((sign.loss - 1.0 / 1.5).abs() < 1e-9, "{}", sign.loss);
    }

    /// Least squares on two entries with a known total releases the difference of the noisy counts, whose law has a closed form:
    /// `P(d) ∝ a^|d| (|d| + (1 + a²)/(1 - a²))`.
    #[test]
    fn least_squares_of_two_entries_has_the_closed_form() {
        let law = laws(2, 1.0);
        let l2 = LatticeL2::new(&Linear::total(2).unwrap()).unwrap();
        let counts = [4, 2];
        let paid = attained(&law, &counts, &[1, -1], 45, |noisy, each| {
            each(&imaged(&counts, noisy, |noise| l2.project(noise)), 1.0);
            Ok(())
        });
        let paid = paid.unwrap();
        let a = law[0].ratio();
        let log = |d: i64| {
            let d = d.unsigned_abs() as f64;
            libm::log(d + (1.0 + a * a) / (1.0 - a * a)) - d
        };
        // The released difference is that of the noisy counts.
        let difference = (paid.output[0] - paid.output[1]) / 1024;
        let want = (log(difference - 2) - log(difference - 4)).abs();
        assert!((paid.loss - want).abs() < 1e-8, "{} {want}", paid.loss);
        assert!(paid.loss < paid.charged - 0.02 && paid.loss > 1.5, "{paid:?}");
    }

    /// Tables and trees that are small enough: everything attains at most what it is charged. Half of L1's excess from each entry is least
    /// squares.
    #[test]
    fn post_processing_attains_no_more_than_it_is_charged() {
        let (law, counts) = (laws(2, 1.0), [2, 1]);
        let total = Linear::total(2).unwrap();
        let region = Inequalities::nonnegative(2).around(&counts).unwrap();
        let l1 = LatticeL1::new(&total, &Region::everything(), 0.5).unwrap();
        let l2 = LatticeL2::new(&total).unwrap();
        let nnl2 = LatticeNnl2::new(&total, &region).unwrap();
        let run = |project: &dyn Fn(&mut [f64])| {
            let map = |noisy: &[i64], each: &mut dyn FnMut(&[i64], f64)| {
                each(&imaged(&counts, noisy, project), 1.0);
                Ok(())
            };
            attained(&law, &counts, &[1, -1], 45, map).unwrap()
        };
        let half = run(&|noise| l1.project(noise));
        let least = run(&|noise| l2.project(noise));
        assert_eq!((half.listed, half.output.clone()), (least.listed, least.output.clone()));
        assert!((half.loss - least.loss).abs() < 1e-12);
        let cut = run(&|noise| nnl2.project(&mut Nnl2Scratch::default(), noise).unwrap());
        // Four released tables; all noise beyond goes to the ends.
        assert!(cut.loss <= least.loss + 1e-9 && cut.loss > 0.5, "{cut:?}");
        let tree = Hierarchy::from_parents(&[0, 0, 0]).unwrap();
        let topdown = TopDown::new(&tree, &[3, 2, 1]);
        let paid = attained(&laws(3, 0.7), &[3, 2, 1], &[1, 1, 0], 25, |noisy, each| {
            all_choices(
                |words| {
                    let mut out = vec![0; 3];
                    topdown.release(noisy, words, &mut TopDownScratch::default(), &mut out);
                    out
                },
                each,
            );
            Ok(())
        });
        let paid = paid.unwrap();
        assert!((paid.charged - 2.0 / 0.7).abs() < 1e-12);
        assert!(paid.loss <= paid.charged + 1e-8 && paid.loss > 1.0, "{paid:?}");
    }

    #[test]
    fn what_cannot_be_listed_is_refused() {
        let same = |noisy: &[i64], each: &mut dyn FnMut(&[i64], f64)| {
            each(noisy, 1.0);
            Ok(())
        };
        let refused = attained(&laws(4, 1.0), &[0; 4], &[1, 0, 0, 0], 100, same).unwrap_err().to_string();
        assert!(refused.contains("noisy tables"), "{refused}");
        assert!(attained(&laws(2, 1.0), &[0; 3], &[1, 0, 0], 10, same).is_err());
        assert!(attained(&laws(1, 50.0), &[0], &[1], 3, same).unwrap_err().to_string().contains("reach"));
    }
}
