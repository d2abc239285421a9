//! Queries: sums of the cells of a table.

use super::basis;
use super::domain::{Domain, check_categories};
use super::nested::cross;
use crate::error::{Error, Result};
use std::collections::BTreeMap;

/// A query of a table: a sum for each combination of categories, or of groups of them, of the attributes that it names. The others are
/// summed over.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Query {
    by: Vec<(usize, By)>,
}

/// What a query asks of an attribute that it names.
#[derive(Debug, Clone, PartialEq, Eq)]
enum By {
    /// Each category.
    Each,
    /// Groups of categories; those that are in none are left out.
    Groups(Vec<Vec<u32>>),
}

impl Query {
    /// The sum of all cells.
    pub fn total() -> Self {
        Self::default()
    }

    /// The marginal of some attributes.
    pub fn of(attributes: &[usize]) -> Self {
        Self { by: attributes.iter().map(|&attribute| (attribute, By::Each)).collect() }
    }

    /// This query by groups of categories of an attribute, too, or in the place of its categories. No category is in two groups; those in
    /// none are left out of all sums.
    pub fn grouping(mut self, attribute: usize, groups: Vec<Vec<u32>>) -> Self {
        self.by.retain(|(other, _)| *other != attribute);
        self.by.push((attribute, By::Groups(groups)));
        self
    }

    /// Whether it tells an attribute's categories, or groups of them, apart.
    pub fn names(&self, attribute: usize) -> bool {
        self.by.iter().any(|(other, _)| *other == attribute)
    }

    /// The groups of an attribute's categories that it tells apart; `None` where it tells categories apart, or sums over all.
    pub fn groups(&self, attribute: usize) -> Option<&[Vec<u32>]> {
        self.by.iter().find_map(|(other, by)| match by {
            By::Groups(groups) if *other == attribute => Some(&groups[..]),
            _ => None,
        })
    }

    /// Refuses attributes and categories that are not there, or stand twice.
    pub(super) fn check(&self, sizes: &[u32]) -> Result<()> {
        for (place, (attribute, by)) in self.by.iter().enumerate() {
            if *attribute >= sizes.len() {
                return Err(Error::parameter("attribute of a query", attribute, "one that is there"));
            }
            if self.by[..place].iter().any(|(other, _)| other == attribute) {
                return Err(Error::parameter("attribute of a query", attribute, "each once"));
            }
            if let By::Groups(groups) = by {
                let all: Vec<u32> = groups.iter().flatten().copied().collect();
                check_categories(sizes, *attribute, &all)?;
                if groups.iter().any(Vec::is_empty) {
                    return Err(Error::parameter("group of a query", "no category", "at least one"));
                }
            }
        }
        Ok(())
    }

    /// The attributes that it groups.
    pub(super) fn grouped(&self) -> impl Iterator<Item = usize> {
        self.by.iter().filter(|(_, by)| matches!(by, By::Groups(_))).map(|(attribute, _)| *attribute)
    }

    /// By what of an attribute: the number of the category or group; `None` where it is in no group, 0 where it is summed over.
    fn code(&self, attribute: usize, category: u32) -> Option<u32> {
        match self.by.iter().find(|(other, _)| *other == attribute) {
            None => Some(0),
            Some((_, By::Each)) => Some(category),
            Some((_, By::Groups(groups))) => {
                groups.iter().position(|group| group.contains(&category)).map(|group| group as u32)
            }
        }
    }
}

/// A query of the cells of a domain, with its answers in order: by what it asks of the joined attributes (its *rows*, the slowest), then
/// by the free attributes that it names. Sums of no cell that can be have no answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Marginal {
    /// By row, the combinations of joined attributes that it sums, ascending.
    pub(super) rows: Vec<Vec<u32>>,
    /// By row, the codes of the joined attributes: of a category or group, 0 where it is summed over.
    codes: Vec<Vec<u32>>,
    /// Bit i: whether it names the i-th free attribute.
    pub(super) named: u32,
    /// The sizes of the free attributes that it names.
    sizes: Vec<usize>,
    /// By coefficient of those its place among the coefficients of all free attributes.
    pub(super) places: Vec<u32>,
    /// The square root of how many cells of free attributes an answer sums.
    pub(super) factor: f64,
}

impl Marginal {
    /// The query on a domain that was made for it.
    pub fn new(domain: &Domain, query: &Query) -> Self {
        let mut rows: BTreeMap<Vec<u32>, Vec<u32>> = BTreeMap::new();
        for number in 0..domain.joint() {
            let own = domain.joined().iter().zip(domain.combination(number));
            let codes: Option<Vec<u32>> =
                own.map(|(&attribute, &category)| query.code(attribute, category)).collect();
            if let Some(codes) = codes {
                rows.entry(codes).or_default().push(number as u32);
            }
        }
        let (mut named, mut sizes, mut places, mut summed) = (0, Vec::new(), vec![0u32], 1.0);
        for (bit, (attribute, kept)) in domain.free().iter().enumerate() {
            let n = kept.len() as u32;
            if query.names(*attribute) {
                named |= 1 << bit;
                sizes.push(kept.len());
                places = places.iter().flat_map(|place| (0..n).map(move |own| place * n + own)).collect();
            } else {
                summed *= f64::from(n);
                places.iter_mut().for_each(|place| *place *= n);
            }
        }
        let (codes, rows) = rows.into_iter().unzip();
        Self { rows, codes, named, sizes, places, factor: libm::sqrt(summed) }
    }

    /// How many answers it has.
    pub fn answers(&self) -> usize {
        self.rows.len() * self.places.len()
    }

    /// Answers whose estimates have one variance: the first of them, and how many they are.
    pub fn alike(&self) -> impl Iterator<Item = (usize, usize)> {
        let each = self.places.len();
        (0..self.rows.len()).map(move |row| (row * each, each))
    }

    /// Whether it has a part in a kind of coefficients.
    pub(super) fn reaches(&self, kind: u32) -> bool {
        kind & !self.named == 0
    }

    /// What an answer is of, by attribute: the number of a category, or of a group of those that the query groups; 0 where it is summed
    /// over.
    pub fn codes(&self, domain: &Domain, answer: usize) -> Vec<u32> {
        let mut codes = vec![0; domain.sizes().len()];
        let (row, mut place) = (answer / self.places.len(), answer % self.places.len());
        domain.joined().iter().zip(&self.codes[row]).for_each(|(&attribute, &code)| codes[attribute] = code);
        for (bit, (attribute, kept)) in domain.free().iter().enumerate().rev() {
            if self.named >> bit & 1 == 1 {
                codes[*attribute] = kept[place % kept.len()];
                place /= kept.len();
            }
        }
        codes
    }

    /// The answer that a cell is counted in; `None` where the query leaves it out.
    pub fn answer_of(&self, domain: &Domain, place: usize) -> Option<usize> {
        let free = domain.free_cells();
        let (combination, mut rest) = ((place / free) as u32, place % free);
        let row = self.rows.iter().position(|row| row.binary_search(&combination).is_ok())?;
        let (mut own, mut stride) = (0, 1);
        for (bit, (_, kept)) in domain.free().iter().enumerate().rev() {
            if self.named >> bit & 1 == 1 {
                own += rest % kept.len() * stride;
                stride *= kept.len();
            }
            rest /= kept.len();
        }
        Some(row * self.places.len() + own)
    }

    /// By cell the answer that it is counted in; `u32::MAX` where the query leaves it out.
    pub fn map(&self, domain: &Domain) -> Vec<u32> {
        let answer = |cell| self.answer_of(domain, cell).map_or(u32::MAX, |answer| answer as u32);
        (0..domain.cells()).map(answer).collect()
    }

    /// Whether it crosses another query: some answers of theirs share cells, and neither counts all of the other's.
    pub fn crosses(&self, other: &Self, domain: &Domain) -> bool {
        cross(&self.map(domain), &other.map(domain))
    }

    /// Replaces answers by their coefficients.
    pub(super) fn forward(&self, answers: &mut [f64]) {
        basis::forward(answers, &self.sizes);
    }

    /// A query without answers.
    pub(super) fn none() -> Self {
        Self {
            rows: Vec::new(),
            codes: Vec::new(),
            named: 0,
            sizes: Vec::new(),
            places: Vec::new(),
            factor: 1.0,
        }
    }

    /// What it asks of the joined attributes, by row, in the kinds of coefficients that it reaches.
    pub(super) fn weights(&self, joint: usize) -> Vec<Vec<f64>> {
        let of = |row: &Vec<u32>| {
            let mut h = vec![0.0; joint];
            row.iter().for_each(|&j| h[j as usize] = self.factor);
            h
        };
        self.rows.iter().map(of).collect()
    }

    /// The query on the answers of another, as cells of a domain of their own: an attribute for its rows, then the free ones that it names.
    /// `None`: some answer is not a sum of those.
    pub(super) fn on(&self, other: &Self, domain: &Domain) -> Option<Query> {
        if self.named & !other.named != 0 {
            return None;
        }
        let mut groups = Vec::with_capacity(self.rows.len());
        for row in &self.rows {
            let is_in = |joint: &u32| row.binary_search(joint).is_ok();
            let own: Vec<u32> = (0..)
                .zip(&other.rows)
                .filter(|(_, other)| other.iter().all(is_in))
                .map(|(at, _)| at)
                .collect();
            let held: usize = own.iter().map(|&at| other.rows[at as usize].len()).sum();
            if held < row.len() {
                return None;
            }
            groups.push(own);
        }
        let named = |bit: &usize| other.named >> bit & 1 == 1;
        let free = (0..domain.free().len()).filter(named).enumerate();
        let named: Vec<usize> =
            free.filter(|(_, bit)| self.named >> bit & 1 == 1).map(|(at, _)| at + 1).collect();
        Some(Query::of(&named).grouping(0, groups))
    }

    /// Its answers, as cells of a domain of their own: an attribute for its rows, then the free ones that it names.
    pub(super) fn cells(&self) -> Result<Domain> {
        let sizes = std::iter::once(self.rows.len()).chain(self.sizes.iter().copied());
        let sizes: Vec<u32> = sizes.map(|size| size as u32).collect();
        let rows = (0..sizes[0]).map(|row| vec![row]).collect();
        Domain::new(&sizes, &[], &[Query::total().grouping(0, rows)])
    }

    /// The coefficients of its answers, by those of a table.
    pub(super) fn coefficients(&self, whole: &[f64], free_cells: usize, out: &mut Vec<f64>) {
        for row in &self.rows {
            let sum = |&place: &u32| {
                let of = |&combination: &u32| whole[combination as usize * free_cells + place as usize];
                self.factor * row.iter().map(of).sum::<f64>()
            };
            out.extend(self.places.iter().map(sum));
        }
    }

    /// The answers of a table with these coefficients.
    pub(super) fn of_coefficients(&self, coefficients: &[f64], free_cells: usize, answers: &mut Vec<f64>) {
        answers.clear();
        self.coefficients(coefficients, free_cells, answers);
        basis::backward(answers, &self.sizes);
    }
}

#[cfg(test)]
mod tests {
    use super::super::domain::Zero;
    use super::*;
    use crate::rng::normal;
    use crate::testing::test_stream;

    /// Answers of coefficients are the sums of cells that the query says, each cell by its categories alone.
    #[test]
    fn answers_are_sums_of_the_cells_that_they_name() {
        let groups = vec![vec![0], vec![1, 3]];
        let queries = [
            Query::total(),
            Query::of(&[0, 1, 2, 3]),
            Query::of(&[1, 3]),
            Query::of(&[2]),
            Query::of(&[3]).grouping(2, groups.clone()),
        ];
        let zeros = [Zero { of: vec![(0, vec![1]), (2, vec![0, 2])] }];
        let domain = Domain::new(&[3, 4, 4, 2], &zeros, &queries).unwrap();
        let mut rng = test_stream(413);
        let cells: Vec<f64> = (0..domain.cells()).map(|_| normal(&mut rng)).collect();
        let mut coefficients = cells.clone();
        basis::forward(&mut coefficients, &domain.free_sizes());
        for query in &queries {
            let marginal = Marginal::new(&domain, query);
            let mut got = Vec::new();
            marginal.of_coefficients(&coefficients, domain.free_cells(), &mut got);
            let mut want: BTreeMap<Vec<u32>, f64> = BTreeMap::new();
            for (place, x) in cells.iter().enumerate() {
                let cell = domain.cell(place);
                let codes: Option<Vec<u32>> =
                    (0..4).map(|attribute| query.code(attribute, cell[attribute])).collect();
                let answer = codes.as_ref().map(|codes| {
                    *want.entry(codes.clone()).or_insert(0.0) += x;
                    codes.clone()
                });
                let said = marginal.answer_of(&domain, place).map(|answer| marginal.codes(&domain, answer));
                assert_eq!(said, answer);
            }
            assert_eq!(got.len(), want.len());
            for (answer, value) in got.iter().enumerate() {
                let want = want[&marginal.codes(&domain, answer)];
                assert!((value - want).abs() < 1e-12, "{query:?} {answer}: {value} {want}");
            }
        }
    }
}
