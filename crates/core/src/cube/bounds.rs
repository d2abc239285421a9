//! Bounds of answers: what an area's table has of them at least and at most.

use super::measurements::Measurements;
use super::nested::Nested;
use super::query::Marginal;
use super::sweep::Answers;
use crate::error::{Error, Result};
use crate::invariant::Hierarchy;
use std::collections::{BTreeMap, BTreeSet};

/// No bound above.
const OPEN: i64 = i64::MAX;

/// Bounds of an answer of a query in an area.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// The area.
    pub area: usize,
    /// The query.
    pub query: usize,
    /// Its answer.
    pub answer: usize,
    /// At least 0, which says nothing.
    pub least: i64,
    /// At least `least`; `None`: no bound.
    pub most: Option<i64>,
}

/// Bounds of answers of queries in areas, with all that follow from them for the areas above, and for the other answers of an area from
/// what is known of it.
#[derive(Debug, Clone)]
pub struct Bounds {
    /// The queries that have bounds, ascending.
    queries: Vec<usize>,
    /// By node, the bounds of its answers, ascending by their numbers.
    of_node: Vec<Vec<Limit>>,
}

/// Bounds of an answer, which is numbered among the answers of all queries that have bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limit {
    pub(super) number: u32,
    pub(super) least: i64,
    pub(super) most: i64,
}

impl Bounds {
    /// Bounds of areas of a tree.
    ///
    /// An area has at least the sum of what the areas below it have at least, and at most of what they have at most. Within an area,
    /// answers of queries that have bounds or are known hold each other: one has at least what those in it have together; each of these
    /// has what the others leave of it.
    ///
    /// - `known`: writes the answers of a node that are known; what it writes of others is not looked at.
    ///
    /// Refused: areas, queries or answers that are not there, or stand twice; bounds that are negative, or cross; queries that are known or
    /// have bounds, and cross; bounds that contradict each other, or what is known.
    pub fn new(
        tree: &Hierarchy,
        measurements: &Measurements,
        given: &[Bound],
        known: impl Fn(usize, &mut Answers),
    ) -> Result<Self> {
        let all = &measurements.queries;
        let mut queries: Vec<usize> = given.iter().map(|bound| bound.query).collect();
        queries.sort_unstable();
        queries.dedup();
        if queries.last().is_some_and(|&last| last >= all.len()) {
            return Err(Error::parameter("query of a bound", "none", "one that is there"));
        }
        let mut of_node = of_nodes(tree, all, &queries, given)?;
        if given.is_empty() {
            return Ok(Self { queries, of_node });
        }
        let sets = Sets::new(measurements, &queries)?;
        let mut answers = Answers::default();
        for v in (0..tree.nodes()).rev() {
            let mut own = std::mem::take(&mut of_node[v]);
            own.extend(sums(&of_node[tree.children(v)]));
            let level = tree.level(v);
            let has_known = (0..all.len()).any(|query| measurements.is_known(level, query));
            if own.is_empty() && !has_known {
                continue;
            }
            let mut limits = vec![(0, OPEN); sets.nested.len()];
            let mut meet = |set: Option<usize>, least: i64, most: i64| {
                if let Some((low, high)) = set.and_then(|set| limits.get_mut(set)) {
                    (*low, *high) = ((*low).max(least), (*high).min(most));
                }
            };
            own.iter().for_each(|own| meet(sets.of(own.number), own.least, own.most));
            if has_known {
                answers.prepare(measurements, level);
                known(v, &mut answers);
                for query in (0..all.len()).filter(|&query| measurements.is_known(level, query)) {
                    for (answer, value) in answers.of[query].iter().enumerate() {
                        let total = libm::rint(*value) as i64;
                        meet(sets.of_known(number(all, &sets.queries, query, answer)), total, total);
                    }
                }
            }
            sets.settle(&mut limits);
            if let Some((least, most)) = limits.iter().find(|(least, most)| least > most) {
                let got = format!("at least {least} and at most {most} in area {}", v + 1);
                return Err(Error::parameter(
                    "bounds",
                    got,
                    "such as do not contradict each other, or what is known",
                ));
            }
            let limit = |(number, &set): (u32, &Option<usize>)| {
                let (least, most) = limits[set?];
                (least > 0 || most < OPEN).then_some(Limit { number, least, most })
            };
            of_node[v] = (0..).zip(&sets.bounded).filter_map(limit).collect();
        }
        Ok(Self { queries, of_node })
    }

    /// The queries that have bounds, ascending.
    pub fn queries(&self) -> &[usize] {
        &self.queries
    }

    /// How many answers the queries have that have bounds.
    pub(super) fn answers(&self, all: &[Marginal]) -> usize {
        self.queries.iter().map(|&query| all[query].answers()).sum()
    }

    /// The bounds of a node.
    pub(super) fn of(&self, v: usize) -> &[Limit] {
        &self.of_node[v]
    }
}

/// The number of an answer among those of all queries that have bounds.
pub(super) fn number(all: &[Marginal], queries: &[usize], query: usize, answer: usize) -> u32 {
    let before: usize = queries.iter().take_while(|&&own| own < query).map(|&own| all[own].answers()).sum();
    (before + answer) as u32
}

/// By node, bounds that were given. Refused: as of [`Bounds::new`].
fn of_nodes(
    tree: &Hierarchy,
    all: &[Marginal],
    queries: &[usize],
    given: &[Bound],
) -> Result<Vec<Vec<Limit>>> {
    let mut of_node = vec![Vec::new(); tree.nodes()];
    let mut seen = BTreeSet::new();
    for bound in given {
        let Bound { area, query, answer, least, most } = *bound;
        let most = most.unwrap_or(OPEN);
        let is_there = area < tree.nodes() && answer < all[query].answers();
        if !is_there || !seen.insert((area, query, answer)) {
            let got = format!("answer {answer} of query {query} in area {area}");
            return Err(Error::parameter("bound", got, "answers that are there, each once"));
        }
        if least < 0 || most < least {
            let got = format!("{least} to {most}");
            return Err(Error::parameter("bound", got, "0 <= least <= most"));
        }
        of_node[area].push(Limit { number: number(all, queries, query, answer), least, most });
    }
    Ok(of_node)
}

/// The sets of cells of answers that have bounds or are known.
struct Sets {
    nested: Nested,
    /// By set, which it holds and none between, and whether these are all of it.
    inside: Vec<(Vec<usize>, bool)>,
    /// The queries that have bounds or are known, ascending.
    queries: Vec<usize>,
    /// By answer of the queries that have bounds, one after the other, its set.
    bounded: Vec<Option<usize>>,
}

impl Sets {
    /// Errors: queries that cross.
    fn new(measurements: &Measurements, bounded: &[usize]) -> Result<Self> {
        let Measurements { domain, queries: all, .. } = measurements;
        let levels = 0..measurements.levels();
        let is_known = |query: usize| levels.clone().any(|level| measurements.is_known(level, query));
        let queries: Vec<usize> =
            (0..all.len()).filter(|&query| bounded.contains(&query) || is_known(query)).collect();
        let map = |query: usize| match queries.contains(&query) {
            true => all[query].map(domain),
            false => vec![u32::MAX; domain.cells()],
        };
        let maps: Vec<Vec<u32>> = (0..all.len()).map(map).collect();
        let nested = Nested::new(domain.cells(), &maps, &vec![0; all.len()], &queries)?;
        // How many cells a set has, and how many of these are in sets in it.
        let mut sizes = vec![(0, 0); nested.len()];
        for cell in 0..domain.cells() {
            let mut set = nested.first(cell);
            let mut is_first = true;
            while let Some(own) = set {
                sizes[own].0 += 1;
                sizes[own].1 += usize::from(!is_first);
                (set, is_first) = (nested.above(own), false);
            }
        }
        let mut inside: Vec<(Vec<usize>, bool)> =
            sizes.iter().map(|(all, held)| (Vec::new(), all == held)).collect();
        (0..nested.len()).for_each(|set| {
            if let Some(above) = nested.above(set) {
                inside[above].0.push(set);
            }
        });
        let numbers =
            bounded.iter().flat_map(|&query| (0..all[query].answers()).map(move |answer| (query, answer)));
        let set = |(query, answer)| nested.of_answer(number(all, &queries, query, answer));
        let of_bounded = numbers.map(set).collect();
        Ok(Self { nested, inside, queries, bounded: of_bounded })
    }

    /// The set of an answer, by its number among those of the queries that have bounds.
    fn of(&self, number: u32) -> Option<usize> {
        self.bounded[number as usize]
    }

    /// The set of an answer, by its number among those of the queries that have bounds or are known.
    fn of_known(&self, number: u32) -> Option<usize> {
        self.nested.of_answer(number)
    }

    /// Bounds of all sets from those of some: up from the smallest, then down.
    fn settle(&self, limits: &mut [(i64, i64)]) {
        for (set, (inside, is_all)) in self.inside.iter().enumerate() {
            let sum = |of: fn(&(i64, i64)) -> i64| {
                inside.iter().fold(0i64, |sum, &own| sum.saturating_add(of(&limits[own])))
            };
            let (least, most) = (sum(|own| own.0), sum(|own| own.1));
            let own = &mut limits[set];
            own.0 = own.0.max(least);
            if *is_all {
                own.1 = own.1.min(most);
            }
        }
        for (set, (inside, is_all)) in self.inside.iter().enumerate().rev() {
            let whole = limits[set];
            let before: Vec<(i64, i64)> = inside.iter().map(|&own| limits[own]).collect();
            let least = before.iter().fold(0i64, |sum, own| sum.saturating_add(own.0));
            let most =
                before.iter().filter(|own| own.1 < OPEN).fold(0i64, |sum, own| sum.saturating_add(own.1));
            let open = before.iter().filter(|own| own.1 == OPEN).count() + usize::from(!is_all);
            for (&own, &(low, high)) in inside.iter().zip(&before) {
                let (others, most) = if high == OPEN { (open - 1, most) } else { (open, most - high) };
                if others == 0 {
                    limits[own].0 = low.max(whole.0.saturating_sub(most));
                }
                if whole.1 < OPEN {
                    limits[own].1 = high.min(whole.1.saturating_sub(least - low));
                }
            }
        }
    }
}

/// What follows for a node from the bounds of its children.
fn sums(children: &[Vec<Limit>]) -> Vec<Limit> {
    let mut sums: BTreeMap<u32, (Limit, usize)> = BTreeMap::new();
    for own in children.iter().flatten() {
        let (sum, number) = sums.entry(own.number).or_insert((Limit { least: 0, most: 0, ..*own }, 0));
        sum.least = sum.least.saturating_add(own.least);
        sum.most = sum.most.saturating_add(own.most);
        *number += 1;
    }
    let open = |(sum, number): (Limit, usize)| Limit {
        most: if number == children.len() { sum.most } else { OPEN },
        ..sum
    };
    sums.into_values().map(open).filter(|own| own.least > 0 || own.most < OPEN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cube::{Domain, Query};
    use crate::rng::below;
    use crate::testing::test_stream;

    /// The least and the largest value of every set of a family that nests, among all cells from 0 to 4 within bounds of some.
    #[test]
    fn sets_have_what_others_leave_of_them() {
        let mut rng = test_stream(4216);
        let queries = [
            Query::of(&[0]),
            Query::total(),
            Query::of(&[0]).grouping(0, vec![vec![0, 1], vec![2, 3]]),
            Query::of(&[0]).grouping(0, vec![vec![1, 0]]),
        ];
        let domain = Domain::new(&[4], &[], &queries).unwrap();
        let marginals: Vec<Marginal> = queries.iter().map(|query| Marginal::new(&domain, query)).collect();
        let (mut empty, mut tight) = (0, 0);
        for _ in 0..1000 {
            let mut bounded: Vec<usize> = (0..4).filter(|_| below(&mut rng, 2) == 0).collect();
            if bounded.is_empty() {
                bounded.push(1);
            }
            let measurements = Measurements::new(&domain, marginals.clone(), vec![vec![None; 4]]).unwrap();
            let sets = Sets::new(&measurements, &bounded).unwrap();
            let cells = |set: usize| -> Vec<usize> {
                let holds = |cell: &usize| {
                    std::iter::successors(sets.nested.first(*cell), |own| sets.nested.above(*own))
                        .any(|own| own == set)
                };
                (0..4).filter(holds).collect()
            };
            let cells: Vec<Vec<usize>> = (0..sets.nested.len()).map(cells).collect();
            // No cell has more than 4, whatever else is said.
            let mut given: Vec<(i64, i64)> = cells
                .iter()
                .map(|own| match below(&mut rng, 3) {
                    0 => (0, 4 * own.len() as i64),
                    _ => {
                        let least = below(&mut rng, 6) as i64;
                        (least, (least + below(&mut rng, 4) as i64).min(4 * own.len() as i64))
                    }
                })
                .collect();
            let mut ranges = vec![(OPEN, -1i64); given.len()];
            for code in 0..625i64 {
                let x = [code % 5, code / 5 % 5, code / 25 % 5, code / 125];
                let sums: Vec<i64> = cells.iter().map(|own| own.iter().map(|&cell| x[cell]).sum()).collect();
                if sums.iter().zip(&given).all(|(x, (low, high))| (low..=high).contains(&x)) {
                    for ((low, high), x) in ranges.iter_mut().zip(sums) {
                        (*low, *high) = ((*low).min(x), (*high).max(x));
                    }
                }
            }
            let before = given.clone();
            sets.settle(&mut given);
            let is_empty = ranges[0].1 < 0;
            let crosses = given.iter().any(|own| own.0 > own.1);
            if !bounded.contains(&0) {
                // Cells are at most 4, which is not said: nothing that can be is left out.
                assert!(!crosses || is_empty, "{before:?} {cells:?}");
                let holds = |(own, range): (&(i64, i64), &(i64, i64))| own.0 <= range.0 && own.1 >= range.1;
                assert!(is_empty || given.iter().zip(&ranges).all(holds), "{before:?} {cells:?}");
                continue;
            }
            assert_eq!(crosses, is_empty, "{before:?} {cells:?}");
            if is_empty {
                empty += 1;
            } else {
                assert_eq!(given, ranges, "{before:?} {cells:?}");
                tight += usize::from(given != before);
            }
        }
        assert!(empty > 100 && tight > 100, "{empty} {tight}");
    }

    #[test]
    fn bounds_of_areas_above_are_sums() {
        let tree = Hierarchy::from_parents(&[0, 0, 0, 1, 1, 2]).unwrap();
        let queries = [Query::of(&[0]), Query::total()];
        let domain = Domain::new(&[2], &[], &queries).unwrap();
        let marginals: Vec<Marginal> = queries.iter().map(|query| Marginal::new(&domain, query)).collect();
        let variances = vec![vec![Some(1.0), Some(0.0)], vec![Some(1.0), None], vec![Some(1.0), None]];
        let measurements = Measurements::new(&domain, marginals, variances).unwrap();
        let bound = |area, answer, least, most| Bound { area, query: 0, answer, least, most };
        let given =
            [bound(3, 0, 2, Some(5)), bound(4, 0, 1, Some(3)), bound(5, 1, 4, None), bound(1, 1, 0, Some(0))];
        let known = |_: usize, answers: &mut Answers| answers.of[1][0] = 9.0;
        let bounds = Bounds::new(&tree, &measurements, &given, known).unwrap();
        let of = |v: usize| -> Vec<(u32, i64, i64)> {
            bounds.of(v).iter().map(|own| (own.number, own.least, own.most)).collect()
        };
        assert_eq!(of(1), [(0, 3, 8), (1, 0, 0)]);
        assert_eq!(of(2), [(1, 4, OPEN)]);
        // Of the nine that the root has, the second category has at least 4, and the first at least 3.
        assert_eq!(of(0), [(0, 3, 5), (1, 4, 6)]);
        let refused = |given: &[Bound], known: f64| {
            let known = |_: usize, answers: &mut Answers| answers.of[1][0] = known;
            Bounds::new(&tree, &measurements, given, known).unwrap_err().to_string()
        };
        assert!(
            refused(&given, 6.0).contains("at least 3 and at most 2 in area 1"),
            "{}",
            refused(&given, 6.0)
        );
        assert!(refused(&[bound(3, 0, 2, None), bound(1, 0, 0, Some(1))], 9.0).contains("in area 2"));
        assert!(refused(&[bound(3, 0, 2, Some(1))], 9.0).contains("0 <= least <= most"));
        assert!(refused(&[bound(3, 0, -1, None)], 9.0).contains("0 <= least <= most"));
        for given in [vec![bound(6, 0, 1, None)], vec![bound(1, 2, 1, None)], vec![bound(1, 0, 1, None); 2]] {
            assert!(refused(&given, 9.0).contains("each once"));
        }
        assert!(refused(&[Bound { query: 2, ..bound(1, 0, 1, None) }], 9.0).contains("one that is there"));
    }

    #[test]
    fn what_is_known_of_areas_without_bounds_counts() {
        let tree = Hierarchy::from_parents(&[0, 0, 0]).unwrap();
        let queries = [Query::total(), Query::of(&[0]).grouping(0, vec![vec![1]])];
        let domain = Domain::new(&[2], &[], &queries).unwrap();
        let marginals: Vec<Marginal> = queries.iter().map(|query| Marginal::new(&domain, query)).collect();
        let known = Measurements::new(&domain, marginals, vec![vec![None, Some(0.0)]; 2]).unwrap();
        let given = [Bound { area: 2, query: 0, answer: 0, least: 5, most: None }];
        let write = |v: usize, answers: &mut Answers| answers.of[1][0] = [8.0, 8.0, 0.0][v];
        let above = Bounds::new(&tree, &known, &given, write).unwrap();
        assert_eq!(above.of(0), [Limit { number: 0, least: 13, most: OPEN }]);
    }
}
