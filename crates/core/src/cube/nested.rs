//! Sets of cells of which each two are disjoint or one holds the other.

use crate::error::{Error, Result};
use std::collections::BTreeMap;

/// No set, no answer.
const NONE: u32 = u32::MAX;

/// The cells that the answers of some queries sum, in the order of their sizes, the smallest first. Of equal sets there is one, and there
/// is none of one cell that is known nowhere and has no bounds.
#[derive(Debug, Default)]
pub(super) struct Nested {
    /// By set, the smallest that holds it and more.
    above: Vec<u32>,
    /// By cell, the smallest set that holds it.
    first: Vec<u32>,
    /// By set, on how many levels its sum is known.
    pub(super) known: Vec<usize>,
    /// By answer of the queries that have bounds, one after the other, its set.
    bounded: Vec<u32>,
}

impl Nested {
    /// The sets of queries that nest, each if it does with those before it; the known ones and those that have bounds first.
    ///
    /// - `cells`: of the domain.
    /// - `maps`: by query, by cell the answer that it is counted in; none beyond all answers.
    /// - `known`: by query, on how many levels it is, from the root's on.
    /// - `bounded`: the queries that have bounds.
    ///
    /// Errors: such queries that do not nest.
    pub(super) fn new(cells: usize, maps: &[Vec<u32>], known: &[usize], bounded: &[usize]) -> Result<Self> {
        let is_fixed = |query: usize| known[query] > 0 || bounded.contains(&query);
        // Sets as ascending cells, with on how many levels they are known.
        let mut sets: Vec<(Vec<u32>, usize)> = Vec::new();
        let mut of_cell: Vec<Vec<u32>> = vec![Vec::new(); cells];
        // By query the set of each of its answers.
        let mut of_query: Vec<Vec<u32>> = vec![Vec::new(); maps.len()];
        let mut taken: Vec<usize> = Vec::new();
        let (first, then): (Vec<usize>, Vec<usize>) = (0..maps.len()).partition(|&query| is_fixed(query));
        for query in first.into_iter().chain(then) {
            if let Some(other) = taken.iter().find(|&&other| cross(&maps[other], &maps[query])) {
                if is_fixed(query) {
                    return Err(Error::Unsupported {
                        method: "the rounding of tables",
                        what: format!(
                            "queries {} and {}, which are known or have bounds, and cross",
                            other + 1,
                            query + 1
                        ),
                        reason: "integers are found where two such answers share no cells, or one has all of the other's",
                    });
                }
                continue;
            }
            taken.push(query);
            for own in answers(&maps[query]) {
                let held = own.first().map_or(&[][..], |&cell| &of_cell[cell as usize]);
                let same = held.iter().find(|&&set| sets[set as usize].0.len() == own.len());
                let set = match same {
                    Some(&same) => {
                        let levels = &mut sets[same as usize].1;
                        *levels = (*levels).max(known[query]);
                        same
                    }
                    None if own.is_empty() || own.len() == 1 && !is_fixed(query) => NONE,
                    None => {
                        own.iter().for_each(|&cell| of_cell[cell as usize].push(sets.len() as u32));
                        sets.push((own, known[query]));
                        sets.len() as u32 - 1
                    }
                };
                of_query[query].push(set);
            }
        }
        // The smallest first.
        let mut order: Vec<usize> = (0..sets.len()).collect();
        order.sort_by_key(|&set| sets[set].0.len());
        let mut nested = Self { first: vec![NONE; cells], ..Self::default() };
        let mut top = vec![NONE; cells];
        let mut numbers = vec![NONE; sets.len()];
        for set in order {
            let number = nested.above.len() as u32;
            numbers[set] = number;
            for &cell in &sets[set].0 {
                match std::mem::replace(&mut top[cell as usize], number) {
                    NONE => nested.first[cell as usize] = number,
                    below => nested.above[below as usize] = number,
                }
            }
            nested.above.push(NONE);
            nested.known.push(sets[set].1);
        }
        let number = |&set: &u32| numbers.get(set as usize).copied().unwrap_or(NONE);
        nested.bounded = bounded.iter().flat_map(|&query| of_query[query].iter().map(number)).collect();
        Ok(nested)
    }

    /// How many sets there are.
    pub(super) fn len(&self) -> usize {
        self.above.len()
    }

    /// The set of an answer, by its number among those of the queries that have bounds.
    pub(super) fn of_answer(&self, number: u32) -> Option<usize> {
        let set = self.bounded[number as usize];
        (set != NONE).then_some(set as usize)
    }

    /// The smallest set that holds a cell.
    pub(super) fn first(&self, cell: usize) -> Option<usize> {
        (self.first[cell] != NONE).then_some(self.first[cell] as usize)
    }

    /// The smallest set that holds a set and more.
    pub(super) fn above(&self, set: usize) -> Option<usize> {
        (self.above[set] != NONE).then_some(self.above[set] as usize)
    }
}

/// The cells of each answer, ascending, up to the last that has any.
fn answers(map: &[u32]) -> Vec<Vec<u32>> {
    let counted = |answer: u32| (answer != NONE).then_some(answer as usize);
    let number = map.iter().filter_map(|&answer| counted(answer)).max().map_or(0, |last| last + 1);
    let mut answers = vec![Vec::new(); number];
    for (cell, &answer) in map.iter().enumerate() {
        if let Some(answer) = counted(answer) {
            answers[answer].push(cell as u32);
        }
    }
    answers
}

/// Whether two queries cross: some answers of theirs share cells, and neither holds all of the other's.
///
/// - `one`, `other`: by cell the answer that it is counted in; none beyond all answers.
pub(super) fn cross(one: &[u32], other: &[u32]) -> bool {
    let mut sizes: [BTreeMap<u32, usize>; 2] = Default::default();
    let mut both: BTreeMap<(u32, u32), usize> = BTreeMap::new();
    for (&a, &b) in one.iter().zip(other) {
        *sizes[0].entry(a).or_default() += 1;
        *sizes[1].entry(b).or_default() += 1;
        *both.entry((a, b)).or_default() += 1;
    }
    let counted = both.iter().filter(|((a, b), _)| *a != NONE && *b != NONE);
    counted.into_iter().any(|((a, b), number)| *number < sizes[0][a].min(sizes[1][b]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_nest_in_the_order_of_their_queries() {
        // Cells of 2 × 3: the rows, the columns, the total, each cell.
        let rows = vec![0, 0, 0, 1, 1, 1];
        let columns = vec![0, 1, 2, 0, 1, 2];
        let (total, each) = (vec![0; 6], (0..6).collect::<Vec<u32>>());
        let some = vec![u32::MAX, 0, 0, u32::MAX, u32::MAX, u32::MAX];
        let maps = [rows, columns, total, each, some];
        let nested = Nested::new(6, &maps, &[0; 5], &[]).unwrap();
        // The two in the first row, the rows, all.
        assert_eq!(nested.len(), 1 + 2 + 1);
        let chain = |cell: usize| {
            let mut chain = vec![nested.first(cell).unwrap()];
            while let Some(above) = nested.above(chain[chain.len() - 1]) {
                chain.push(above);
            }
            chain
        };
        assert_eq!((chain(0).len(), chain(1).len(), chain(5).len()), (2, 3, 2));
        assert_eq!((chain(0)[0], chain(0)[1]), (chain(2)[1], chain(5)[1]));
        // What is known comes first, and is known on as many levels as one of its queries.
        let nested = Nested::new(6, &maps, &[0, 2, 1, 0, 0], &[]).unwrap();
        assert_eq!(nested.known.iter().filter(|levels| **levels == 2).count(), 3);
        assert!(Nested::new(6, &maps, &[1, 1, 0, 0, 0], &[]).is_err());
        let nested = Nested::new(6, &maps, &[0, 0, 0, 1, 0], &[]).unwrap();
        assert_eq!(
            (nested.len(), nested.known.iter().filter(|levels| **levels == 1).count()),
            (6 + 1 + 2 + 1, 6)
        );
    }
}
