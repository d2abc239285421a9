//! The cells of a table of attributes.

use super::query::Query;
use crate::error::{Error, Result};
use std::collections::BTreeSet;

/// Attributes at most.
const ATTRIBUTES: usize = 12;
/// Cells of a table at most, and combinations of joined attributes.
const CELLS: usize = 1 << 24;
const JOINED: usize = 1 << 10;

/// Cells that are structurally 0: those in which each of these attributes has one of its categories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zero {
    /// Attributes, each with categories.
    pub of: Vec<(usize, Vec<u32>)>,
}

impl Zero {
    /// Refuses attributes and categories that are not there, or stand twice, and a zero of none.
    fn check(&self, sizes: &[u32]) -> Result<()> {
        if self.of.is_empty() {
            return Err(Error::parameter("zero", "no attribute", "at least one"));
        }
        for (place, (attribute, categories)) in self.of.iter().enumerate() {
            check_categories(sizes, *attribute, categories)?;
            if self.of[..place].iter().any(|(other, _)| other == attribute) {
                return Err(Error::parameter("attribute of a zero", attribute, "each once"));
            }
        }
        Ok(())
    }
}

/// The cells of a table of attributes that can be other than 0, in the order in which estimates have them.
///
/// Attributes that a query groups, and those that a zero names together, are *joined*: their combinations are the slowest index. The
/// others are *free*, the smallest before the larger ones; the last is the fastest index.
#[derive(Debug, Clone, PartialEq)]
pub struct Domain {
    /// By attribute, how many categories it has.
    sizes: Vec<u32>,
    /// Joined attributes, ascending.
    joined: Vec<usize>,
    /// Their combinations that can be, one after the other.
    combinations: Vec<u32>,
    /// Free attributes with their categories that can be.
    free: Vec<(usize, Vec<u32>)>,
}

impl Domain {
    /// The cells for some queries.
    ///
    /// - `sizes`: by attribute, how many categories it has.
    /// - `zeros`: cells that are structurally 0.
    /// - `queries`: what will be asked; their groups say what is joined.
    ///
    /// Refused: no category; more than 12 attributes, 2^24 cells or 2^10 combinations of joined attributes; an attribute or category that
    /// is not there, or named twice; groups that are empty; zeros that leave nothing.
    pub fn new(sizes: &[u32], zeros: &[Zero], queries: &[Query]) -> Result<Self> {
        check_sizes(sizes)?;
        zeros.iter().try_for_each(|zero| zero.check(sizes))?;
        queries.iter().try_for_each(|query| query.check(sizes))?;
        // A zero of one attribute takes categories from it.
        let alone = zeros.iter().filter(|zero| zero.of.len() == 1).map(|zero| &zero.of[0]);
        let mut kept: Vec<Vec<u32>> = sizes.iter().map(|&size| (0..size).collect()).collect();
        alone.for_each(|(attribute, gone)| kept[*attribute].retain(|category| !gone.contains(category)));
        let together: Vec<&Zero> = zeros.iter().filter(|zero| zero.of.len() > 1).collect();
        let named = together.iter().flat_map(|zero| zero.of.iter().map(|(attribute, _)| *attribute));
        let mut joined: Vec<usize> = named.chain(queries.iter().flat_map(Query::grouped)).collect();
        joined.sort_unstable();
        joined.dedup();
        let combinations = joined.iter().map(|&attribute| kept[attribute].len()).product();
        if combinations > JOINED {
            return Err(Error::TooLarge {
                what: "attributes with groups or with zeros together".into(),
                needed: combinations as u64,
                limit: JOINED as u64,
                unit: "combinations",
            });
        }
        let mut domain = Self { sizes: sizes.to_vec(), joined, combinations: Vec::new(), free: Vec::new() };
        for mut number in 0..combinations {
            let mut combination = vec![0u32; domain.joined.len()];
            for (own, &attribute) in combination.iter_mut().zip(&domain.joined).rev() {
                let all = &kept[attribute];
                *own = all[number % all.len()];
                number /= all.len();
            }
            let has = |(attribute, categories): &(usize, Vec<u32>)| {
                let place = domain.joined.binary_search(attribute).expect("it is joined");
                categories.contains(&combination[place])
            };
            if !together.iter().any(|zero| zero.of.iter().all(has)) {
                domain.combinations.extend(combination);
            }
        }
        let free = (0..sizes.len()).filter(|attribute| domain.joined.binary_search(attribute).is_err());
        domain.free = free.map(|attribute| (attribute, kept[attribute].clone())).collect();
        domain.free.sort_by_key(|(_, kept): &(usize, Vec<u32>)| kept.len());
        match domain.cells() {
            0 => Err(Error::parameter("zeros", "all cells", "some cells that can be")),
            _ => Ok(domain),
        }
    }

    /// How many categories each attribute has.
    pub fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    /// Cells that can be other than 0.
    pub fn cells(&self) -> usize {
        self.joint() * self.free_cells()
    }

    /// Combinations of joined attributes that can be; 1 where none are joined.
    pub fn joint(&self) -> usize {
        match self.joined.len() {
            0 => 1,
            width => self.combinations.len() / width,
        }
    }

    /// Cells of the free attributes.
    pub(super) fn free_cells(&self) -> usize {
        self.free.iter().map(|(_, kept)| kept.len()).product()
    }

    /// The sizes of the free attributes, the fastest last.
    pub(super) fn free_sizes(&self) -> Vec<usize> {
        self.free.iter().map(|(_, kept)| kept.len()).collect()
    }

    /// The place of a cell, which has a category of every attribute; `None` of a structural zero.
    pub fn place(&self, cell: &[u32]) -> Option<usize> {
        let own: Vec<u32> = self.joined.iter().map(|&attribute| cell[attribute]).collect();
        let combination = match self.joined.len() {
            0 => 0,
            width => self.combinations.chunks_exact(width).position(|other| other == own)?,
        };
        self.free.iter().try_fold(combination, |place, (attribute, kept)| {
            Some(place * kept.len() + kept.binary_search(&cell[*attribute]).ok()?)
        })
    }

    /// The categories of the cell at a place, by attribute.
    pub fn cell(&self, mut place: usize) -> Vec<u32> {
        let mut cell = vec![0; self.sizes.len()];
        for (attribute, kept) in self.free.iter().rev() {
            cell[*attribute] = kept[place % kept.len()];
            place /= kept.len();
        }
        self.joined.iter().zip(self.combination(place)).for_each(|(&attribute, &own)| cell[attribute] = own);
        cell
    }

    /// The categories of a combination of the joined attributes.
    pub(super) fn combination(&self, number: usize) -> &[u32] {
        &self.combinations[number * self.joined.len()..][..self.joined.len()]
    }

    /// The joined attributes.
    pub(super) fn joined(&self) -> &[usize] {
        &self.joined
    }

    /// The free attributes with their categories that can be.
    pub(super) fn free(&self) -> &[(usize, Vec<u32>)] {
        &self.free
    }
}

/// Runs of coefficients of one kind of an array with axes of these sizes, the last the fastest: from where, to where, the kind. Bit i of a
/// kind: whether it has a deviation along the i-th.
pub(super) fn runs(sizes: &[usize]) -> Vec<(usize, usize, usize)> {
    let kind = |place: usize| {
        let (mut rest, mut kind) = (place, 0);
        for (bit, n) in sizes.iter().enumerate().rev() {
            kind |= usize::from(rest % n > 0) << bit;
            rest /= n;
        }
        kind
    };
    let mut runs: Vec<(usize, usize, usize)> = Vec::new();
    for place in 0..sizes.iter().product() {
        let kind = kind(place);
        match runs.last_mut() {
            Some((_, to, last)) if *last == kind => *to = place + 1,
            _ => runs.push((place, place + 1, kind)),
        }
    }
    runs
}

fn check_sizes(sizes: &[u32]) -> Result<()> {
    if sizes.len() > ATTRIBUTES {
        return Err(Error::parameter("attributes", sizes.len(), "at most 12"));
    }
    if sizes.contains(&0) {
        return Err(Error::parameter("categories of an attribute", 0, "at least 1"));
    }
    let cells = sizes.iter().try_fold(1usize, |all, &n| all.checked_mul(n as usize)).unwrap_or(usize::MAX);
    match cells <= CELLS {
        true => Ok(()),
        false => Err(Error::TooLarge {
            what: "a table of these attributes".into(),
            needed: cells as u64,
            limit: CELLS as u64,
            unit: "cells",
        }),
    }
}

/// Refuses an attribute or a category that is not there, and one that stands twice.
pub(super) fn check_categories(sizes: &[u32], attribute: usize, categories: &[u32]) -> Result<()> {
    let Some(&size) = sizes.get(attribute) else {
        return Err(Error::parameter("attribute", attribute, "one that is there"));
    };
    if let Some(wrong) = categories.iter().find(|category| **category >= size) {
        return Err(Error::parameter("category", wrong, "one that its attribute has"));
    }
    let different: BTreeSet<&u32> = categories.iter().collect();
    match different.len() == categories.len() && !categories.is_empty() {
        true => Ok(()),
        false => Err(Error::parameter("categories", format!("{categories:?}"), "each once, at least one")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_those_that_can_be_each_at_its_place() {
        let zeros = [Zero { of: vec![(0, vec![3]), (1, vec![0])] }, Zero { of: vec![(2, vec![1])] }];
        let domain = Domain::new(&[4, 2, 3, 2], &zeros, &[Query::total()]).unwrap();
        assert_eq!((domain.joint(), domain.cells()), (7, 7 * 2 * 2));
        for place in 0..domain.cells() {
            let cell = domain.cell(place);
            assert!(!(cell[0] == 3 && cell[1] == 0) && cell[2] != 1);
            assert_eq!(domain.place(&cell), Some(place));
        }
        assert_eq!(domain.place(&[3, 0, 0, 0]), None);
        assert_eq!(domain.place(&[0, 0, 1, 0]), None);
        let symmetric = Domain::new(&[63, 2, 8], &[], &[Query::of(&[0, 2])]).unwrap();
        assert_eq!((symmetric.joint(), symmetric.free_sizes()), (1, vec![2, 8, 63]));
        let runs = runs(&symmetric.free_sizes());
        assert_eq!((runs[0], runs[1], runs.len()), ((0, 1, 0), (1, 63, 4), 32));
    }

    #[test]
    fn what_is_no_table_is_refused() {
        let refused = |sizes: &[u32], zeros: &[Zero], queries: &[Query]| {
            Domain::new(sizes, zeros, queries).unwrap_err().to_string()
        };
        assert!(refused(&[2, 0], &[], &[]).contains("at least 1"));
        assert!(refused(&[1 << 13, 1 << 13], &[], &[]).contains("cells, the limit"));
        assert!(refused(&[2; 13], &[], &[]).contains("at most 12"));
        assert!(refused(&[2], &[Zero { of: vec![(0, vec![0, 1])] }], &[]).contains("all cells"));
        assert!(refused(&[2], &[Zero { of: vec![(1, vec![0])] }], &[]).contains("one that is there"));
        assert!(
            refused(&[2], &[Zero { of: vec![(0, vec![2])] }], &[]).contains("one that its attribute has")
        );
        assert!(refused(&[2], &[], &[Query::of(&[1])]).contains("one that is there"));
        assert!(refused(&[2], &[], &[Query::of(&[0, 0])]).contains("each once"));
        let groups = |groups: &[&[u32]]| {
            Query::total().grouping(0, groups.iter().map(|group| group.to_vec()).collect())
        };
        assert!(refused(&[3], &[], &[groups(&[&[0], &[0, 1]])]).contains("each once"));
        assert!(refused(&[3], &[], &[groups(&[&[0], &[]])]).contains("at least one"));
        assert!(refused(&[2000, 2], &[], &[groups(&[&[0], &[1]])]).contains("combinations"));
    }
}
