//! Which cells the `[[exclude]]` blocks leave out: found by their numbers, not block by block.

use crate::catalogue::{LawKind, Method};
use crate::config::{Exclude, SplitSpec};
use crate::privacy::Amount;
use std::collections::{HashMap, HashSet};

/// A cell as blocks see it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Point<'a> {
    /// Budget and delta.
    pub(super) noise: (Amount, Option<f64>),
    pub(super) law: LawKind,
    pub(super) method: &'a Method,
    pub(super) sensitivity: f64,
    pub(super) split: &'a SplitSpec,
    pub(super) seed: u64,
    pub(super) data: &'a str,
    /// `None` also of a cell whose lag is not chosen yet.
    pub(super) lag: Option<u64>,
}

/// Keys by whose values blocks are filed: budget, delta, sensitivity, seed, lag.
const KEYS: usize = 5;

/// The blocks of a config, each under the values of one key that it names, that by which it meets the fewest others.
#[derive(Debug)]
pub(super) struct Excluded<'a> {
    filed: HashMap<(usize, u64), Vec<&'a Exclude>>,
    /// Those that name no number.
    others: Vec<&'a Exclude>,
}

/// Equal numbers have the same bits.
fn bits(x: f64) -> u64 {
    (x + 0.0).to_bits()
}

/// What a block names of a key, if it names any.
fn named(block: &Exclude, key: usize) -> Option<Vec<u64>> {
    let reals = |axis: &Option<Vec<f64>>| Some(axis.as_ref()?.iter().copied().map(bits).collect());
    match key {
        0 => Some(block.budget.as_ref()?.iter().map(|budget| bits(budget.loss)).collect()),
        1 => reals(&block.delta),
        2 => reals(&block.sensitivity),
        3 => block.seed.clone(),
        _ => block.lag.clone(),
    }
}

impl<'a> Excluded<'a> {
    pub(super) fn new(blocks: &'a [Exclude]) -> Self {
        let mut all: [HashSet<u64>; KEYS] = Default::default();
        for (key, values) in all.iter_mut().enumerate() {
            values.extend(blocks.iter().filter_map(|block| named(block, key)).flatten());
        }
        let mut excluded = Self { filed: HashMap::new(), others: Vec::new() };
        for block in blocks {
            // The share of a key's values that it names.
            let share = |key: &usize| {
                let own = named(block, *key)?.len();
                Some(own as f64 / all[*key].len() as f64)
            };
            let keys = (0..KEYS).filter_map(|key| Some((share(&key)?, key)));
            match keys.min_by(|a, b| a.0.total_cmp(&b.0)) {
                None => excluded.others.push(block),
                Some((_, key)) => {
                    let values: HashSet<u64> = named(block, key).into_iter().flatten().collect();
                    values
                        .into_iter()
                        .for_each(|value| excluded.filed.entry((key, value)).or_default().push(block));
                }
            }
        }
        excluded
    }

    /// Blocks that may leave out a cell: all that do are among them.
    fn may(&self, point: Point<'a>) -> impl Iterator<Item = &'a Exclude> + '_ {
        let (budget, delta) = point.noise;
        let values = [
            Some(bits(budget.loss)),
            delta.map(bits),
            Some(bits(point.sensitivity)),
            Some(point.seed),
            point.lag,
        ];
        let values = values.into_iter().enumerate().filter(|_| !self.filed.is_empty());
        let filed = values.filter_map(|(key, value)| self.filed.get(&(key, value?))).flatten();
        filed.chain(&self.others).copied()
    }

    /// Whether a block leaves out a cell.
    pub(super) fn has(&self, point: Point<'a>) -> bool {
        let Point { noise, law, method, sensitivity, split, seed, data, lag } = point;
        self.may(point).any(|block| block.has(noise, law, method, sensitivity, split, (seed, data, lag)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::MethodKind;
    use crate::privacy::Measure;

    /// A thousand blocks that name a cell each, of a grid of a thousand: a cell looks at one or two of them, in whichever key they differ. What is left out is
    /// what block by block is.
    #[test]
    fn a_cell_looks_at_few_blocks() {
        let epsilon = |loss| Amount { loss, measure: Measure::Epsilon };
        let block = |budget: &[f64], seed: &[u64]| Exclude {
            budget: Some(budget.iter().map(|&loss| epsilon(loss)).collect()),
            seed: Some(seed.to_vec()),
            ..Exclude::default()
        };
        let law = Exclude { law: Some(vec![LawKind::Gaussian]), ..Exclude::default() };
        let by_budget: Vec<Exclude> =
            (0..1000).map(|i| block(&[f64::from(i)], &[1])).chain([law.clone()]).collect();
        let by_seed: Vec<Exclude> =
            (0..1000).map(|i| block(&[0.0, 1.0], &[i, i + 1])).chain([law.clone()]).collect();
        for (blocks, most) in [(&by_budget, 2), (&by_seed, 3), (&vec![law], 1)] {
            let excluded = Excluded::new(blocks);
            let (mut looked, mut left_out) = (0, 0);
            for (budget, seed) in (0..1000).flat_map(|i| [(f64::from(i), 1), (f64::from(i % 3), i as u64)]) {
                let point = Point {
                    noise: (epsilon(budget), None),
                    law: LawKind::Laplace,
                    method: &MethodKind::ALL[0].with(|_| None),
                    sensitivity: 1.0,
                    split: &SplitSpec::Each,
                    seed,
                    data: "",
                    lag: None,
                };
                let all = blocks.iter().any(|block| {
                    let of = (seed, "", None);
                    block.has(point.noise, point.law, point.method, 1.0, point.split, of)
                });
                assert_eq!(excluded.has(point), all, "{budget} {seed}");
                looked = looked.max(excluded.may(point).count());
                left_out += usize::from(all);
            }
            assert!(looked <= most, "{looked}");
            assert!(left_out > 500 || blocks.len() == 1, "{left_out}");
        }
    }
}
