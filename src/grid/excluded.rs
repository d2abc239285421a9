//! Which cells the `[[exclude]]` blocks leave out: found by their numbers, not block by block.

use crate::config::{AXES, Exclude, Point};
use std::collections::{HashMap, HashSet};

/// The blocks of a config, each under the values of one key that it names, that by which it meets the fewest others.
#[derive(Debug)]
pub(super) struct Excluded<'a> {
    filed: HashMap<(usize, u64), Vec<&'a Exclude>>,
    /// Those that name no number.
    others: Vec<&'a Exclude>,
}

impl<'a> Excluded<'a> {
    pub(super) fn new(blocks: &'a [Exclude]) -> Self {
        let all: Vec<HashSet<u64>> =
            AXES.iter().map(|axis| blocks.iter().filter_map(axis.numbers).flatten().collect()).collect();
        let mut excluded = Self { filed: HashMap::new(), others: Vec::new() };
        for block in blocks {
            // The share of an axis' values that it names.
            let share = |key: &usize| {
                let own = (AXES[*key].numbers)(block)?.len();
                Some(own as f64 / all[*key].len() as f64)
            };
            let keys = (0..AXES.len()).filter_map(|key| Some((share(&key)?, key)));
            match keys.min_by(|a, b| a.0.total_cmp(&b.0)) {
                None => excluded.others.push(block),
                Some((_, key)) => {
                    let values: HashSet<u64> = (AXES[key].numbers)(block).into_iter().flatten().collect();
                    values
                        .into_iter()
                        .for_each(|value| excluded.filed.entry((key, value)).or_default().push(block));
                }
            }
        }
        excluded
    }

    /// Blocks that may leave out a cell: all that do are among them.
    fn may<'b>(&'b self, point: &'b Point) -> impl Iterator<Item = &'a Exclude> + 'b {
        let axes = AXES.iter().enumerate().filter(|_| !self.filed.is_empty());
        let filed = axes.filter_map(|(key, axis)| self.filed.get(&(key, (axis.number)(point)?))).flatten();
        filed.chain(&self.others).copied()
    }

    /// Whether a block leaves out a cell.
    pub(super) fn has(&self, point: &Point) -> bool {
        self.may(point).any(|block| block.has(point))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::LawKind;
    use crate::privacy::{Amount, Measure};

    /// A thousand blocks that name a cell each, of a grid of a thousand: a cell looks at one or two of them, in
    /// whichever key they differ. What is left out is what block by block is.
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
                let point = Point { budget: epsilon(budget), seed, ..Point::default() };
                let all = blocks.iter().any(|block| block.has(&point));
                assert_eq!(excluded.has(&point), all, "{budget} {seed}");
                looked = looked.max(excluded.may(&point).count());
                left_out += usize::from(all);
            }
            assert!(looked <= most, "{looked}");
            assert!(left_out > 500 || blocks.len() == 1, "{left_out}");
        }
    }
}
