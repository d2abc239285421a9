//! What is settled at once of the tables of the children of an area: the tables, or before them the answers of a query.

use super::super::basis;
use super::super::bounds::{Bounds, Limit, number};
use super::super::domain::{Domain, runs};
use super::super::measurements::{Measurements, Said};
use super::super::nested::Nested;
use super::super::query::Marginal;
use super::fit::{Family, Fit, GAP, LITTLE};
use super::limits::Limits;
use super::rounding::Rounding;
use super::shape::Shape;
use super::standing::Standing;
use super::support::Support;
use super::{Certificate, DescentScratch, Table};
use crate::error::{Error, Result};
use crate::rng::Rng;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

/// Tables of a domain that are settled: those of the areas, or of the answers of a query, whose answers are its cells.
#[derive(Debug)]
pub(super) struct Stage {
    /// The query; `None`: the tables themselves.
    pub(super) query: Option<Marginal>,
    /// By cell of the areas' tables its cell here, of a query; none beyond all.
    map: Vec<u32>,
    /// What is known by then: queries and domain.
    pub(super) measurements: Measurements,
    /// By level, by kind of coefficients: what is known.
    said: Vec<Vec<Said>>,
    sizes: Vec<usize>,
    runs: Vec<(usize, usize, usize)>,
    pub(super) nested: Nested,
    /// By query that has bounds, by cell the number of the answer that counts it; none beyond all.
    pub(super) numbers: Vec<Vec<u32>>,
    /// By level, whether everything of it is known.
    is_known: Vec<bool>,
}

/// What is settled of the children of an area.
pub(super) struct Settled {
    /// Their tables, on the domain of the stage.
    pub(super) tables: Vec<Table>,
    pub(super) certificate: Certificate,
}

/// What has to be kept of tables.
pub(super) struct Kept<'a> {
    /// By query, on how many levels it is known, from the root's on.
    pub(super) known: &'a [usize],
    /// The queries that have bounds.
    pub(super) bounded: &'a [usize],
    /// The queries that are settled before, each finer than those before it.
    pub(super) before: &'a [usize],
}

impl Stage {
    /// The stage of some tables, or of the answers of a query.
    ///
    /// Refused: queries that are known or have bounds and cross each other; and before the tables are settled, known queries that are
    /// neither sums of the query's answers nor have all of these as sums.
    pub(super) fn new(whole: &Measurements, query: Option<usize>, kept: &Kept) -> Result<Self> {
        let (domain, queries) = match query {
            None => (whole.domain.clone(), whole.queries.clone()),
            Some(query) => coarse(whole, query)?,
        };
        let levels = 0..whole.levels();
        let is_fixed = |level: usize, own: usize| level < kept.known[own] || kept.before.contains(&own);
        let is_known = |level: usize| {
            let Some(query) = query else { return Ok(false) };
            let all = &whole.queries;
            let fixed: Vec<usize> = (0..all.len()).filter(|&own| level < kept.known[own]).collect();
            if fixed.iter().any(|&own| all[query].on(&all[own], &whole.domain).is_some()) {
                return Ok(true);
            }
            match fixed.iter().find(|&&own| all[own].on(&all[query], &whole.domain).is_none()) {
                None => Ok(false),
                Some(other) => Err(Error::Unsupported {
                    method: "a descent in passes",
                    what: format!("query {} settled first where query {} is known", query + 1, other + 1),
                    reason: "known answers are sums of those of a pass, or the other way round",
                }),
            }
        };
        let is_known: Vec<bool> = levels.clone().map(is_known).collect::<Result<_>>()?;
        let variance =
            |level: usize, own: usize| (is_fixed(level, own) && queries[own].answers() > 0).then_some(0.0);
        let of_level = |level: usize| (0..queries.len()).map(|own| variance(level, own)).collect();
        let variances: Vec<Vec<Option<f64>>> = levels.map(of_level).collect();
        let measurements = Measurements::new(&domain, queries, variances)?;
        let maps: Vec<Vec<u32>> = measurements.queries.iter().map(|query| query.map(&domain)).collect();
        let fixed = |own: usize| if kept.before.contains(&own) { whole.levels() } else { kept.known[own] };
        let known: Vec<usize> = (0..maps.len())
            .map(|own| if measurements.queries[own].answers() > 0 { fixed(own) } else { 0 })
            .collect();
        let nested = Nested::new(domain.cells(), &maps, &known, kept.bounded)?;
        let of_query = |&query: &usize| {
            let first = number(&measurements.queries, kept.bounded, query, 0);
            maps[query].iter().map(|answer| answer.saturating_add(first)).collect()
        };
        let numbers = kept.bounded.iter().map(of_query).collect();
        let sizes = domain.free_sizes();
        Ok(Self {
            map: query.map_or(Vec::new(), |query| whole.queries[query].map(&whole.domain)),
            query: query.map(|query| whole.queries[query].clone()),
            said: (0..measurements.levels()).map(|level| measurements.kinds(level)).collect(),
            runs: runs(&sizes),
            measurements,
            sizes,
            nested,
            numbers,
            is_known,
        })
    }

    /// Whether everything of it is known on a level.
    pub(super) fn is_idle(&self, level: usize) -> bool {
        self.is_known[level]
    }

    fn domain(&self) -> &Domain {
        &self.measurements.domain
    }

    /// A table here.
    pub(super) fn of<'a>(&self, table: &'a Table) -> Cow<'a, Table> {
        if self.query.is_none() {
            return Cow::Borrowed(table);
        }
        let mut cells: BTreeMap<u32, i64> = BTreeMap::new();
        for (&place, count) in table.places.iter().zip(&table.counts) {
            let cell = self.map[place as usize];
            if (cell as usize) < self.domain().cells() {
                *cells.entry(cell).or_default() += count;
            }
        }
        let (places, counts) = cells.into_iter().unzip();
        Cow::Owned(Table { places, counts })
    }

    /// Settles the tables of nodes of a level: of the children of a node with a table, or of the root alone without one.
    pub(super) fn settle(
        &self,
        (level, nodes): (usize, Range<usize>),
        parent: Option<&Table>,
        standing: &Standing,
        bounds: Option<&Bounds>,
        (ties, scratch): (&mut impl Rng, &mut DescentScratch),
    ) -> Result<Settled> {
        let parent = parent.map(|table| self.of(table));
        if parent.as_ref().is_some_and(|table| table.places.is_empty()) {
            let tables = vec![Table::default(); nodes.len()];
            return Ok(Settled { tables, certificate: Certificate::default() });
        }
        let support = parent
            .as_ref()
            .map_or_else(|| Support::all(self.domain()), |table| Support::of(self.domain(), &table.places));
        let totals = parent.map(|table| support.counts(&table));
        let limits = match bounds {
            Some(bounds) => Limits::new(bounds, &self.numbers, &self.measurements, &support, nodes.clone())?,
            None => None,
        };
        let Fit { tables, value, gap, rounds } =
            self.fit(level, standing, &support, totals.as_deref(), limits.as_ref(), GAP)?;
        let certificate = Certificate { gap: gap / value.max(LITTLE), rounds };
        let sets: Vec<_> = match bounds {
            Some(bounds) => nodes.map(|v| self.sets(bounds, v)).collect(),
            None => Vec::new(),
        };
        let rounding = Rounding {
            nested: &self.nested,
            support: &support,
            level,
            totals: totals.as_deref(),
            tables: &tables,
            bounds: &sets,
        };
        let DescentScratch { integers, flow, .. } = scratch;
        integers.resize(tables.len(), 0);
        rounding.round(ties, flow, integers)?;
        let cells = support.cells();
        let sum = |cell: usize| integers.iter().skip(cell).step_by(cells).sum::<i64>();
        let sums_up = |totals: &Vec<i64>| totals.iter().enumerate().all(|(cell, &total)| sum(cell) == total);
        if !totals.as_ref().is_none_or(sums_up) || integers.iter().any(|count| *count < 0) {
            return Err(Error::violated(
                "integers that are at least 0 and sum to the table above them",
                "some",
            ));
        }
        let table = |own: &[i64]| {
            let (places, counts) = support.places.iter().zip(own).filter(|(_, count)| **count > 0).unzip();
            Table { places, counts }
        };
        Ok(Settled { tables: integers.chunks_exact(support.cells()).map(table).collect(), certificate })
    }

    /// Bounds of the sets of a node: which, at least, at most.
    fn sets(&self, bounds: &Bounds, v: usize) -> Vec<(usize, i64, i64)> {
        let set = |own: &Limit| Some((self.nested.of_answer(own.number)?, own.least, own.most));
        bounds.of(v).iter().filter_map(set).collect()
    }

    /// A table that is within its node's bounds. Errors: it is not.
    pub(super) fn check(&self, bounds: &Bounds, v: usize, table: &Table) -> Result<()> {
        let bounds = self.sets(bounds, v);
        if bounds.is_empty() {
            return Ok(());
        }
        let mut sums = vec![0i64; self.nested.len()];
        for (&place, count) in table.places.iter().zip(&table.counts) {
            let mut set = self.nested.first(place as usize);
            while let Some(own) = set {
                sums[own] += count;
                set = self.nested.above(own);
            }
        }
        match bounds.iter().find(|(set, least, most)| !(*least..=*most).contains(&sums[*set])) {
            None => Ok(()),
            Some((set, least, most)) => {
                Err(Error::violated(format!("its bounds, {least} to {most}"), sums[*set]).in_area(v))
            }
        }
    }

    /// The tables of nodes as reals, on a support. `totals`: what they sum to there.
    pub(super) fn fit(
        &self,
        level: usize,
        standing: &Standing,
        support: &Support,
        totals: Option<&[i64]>,
        limits: Option<&Limits>,
        gap: f64,
    ) -> Result<Fit> {
        let (domain, m, said) = (self.domain(), support.cells(), &self.said[level]);
        let own;
        let standing = match &self.query {
            None => standing,
            Some(query) => {
                own = standing.of(query);
                &own
            }
        };
        let shape = |covariances: &Vec<Vec<f64>>| Shape::new(covariances, said, domain.joint(), support);
        let shapes: Vec<Shape> = standing.covariances.iter().map(shape).collect::<Result<_>>()?;
        let mut centres = vec![0.0; standing.of.len() * m];
        let estimates = standing.estimates.chunks_exact(domain.cells());
        for ((estimate, centre), shape) in estimates.zip(centres.chunks_exact_mut(m)).zip(&standing.of) {
            match support.is_all(domain) {
                true => {
                    centre.copy_from_slice(estimate);
                    basis::backward(centre, support.sizes());
                }
                false => shapes[*shape as usize].centre((&self.sizes, &self.runs), support, estimate, centre),
            }
        }
        let totals: Option<Vec<f64>> =
            totals.map(|totals| totals.iter().map(|&total| total as f64).collect());
        let (totals, of) = (totals.as_deref(), &standing.of[..]);
        Family { support, totals, shapes: &shapes, of, centres: &centres, limits }.fit(gap)
    }
}

/// The answers of a query as the cells of a domain, and the queries on it: without answers those that are no sums of them.
fn coarse(whole: &Measurements, query: usize) -> Result<(Domain, Vec<Marginal>)> {
    let all = &whole.queries;
    let domain = all[query].cells()?;
    let on = |own: &Marginal| {
        own.on(&all[query], &whole.domain).map_or_else(Marginal::none, |own| Marginal::new(&domain, &own))
    };
    let queries = all.iter().map(on).collect();
    Ok((domain, queries))
}
