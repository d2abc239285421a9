//! Bounds of answers, from a table with a row for each.

use super::areas::Areas;
use super::config::CubeConfig;
use super::descent::{nest, units};
use crate::config::tables::ByWords;
use crate::cube::{Answers, Bound, Bounds, Measurements};
use crate::failure::{Failure, Result};
use crate::hash::FileDigest;
use crate::input::{AreaColumns, CsvTable, Wanted, counts_or_blank, depth, joined};
use std::collections::{BTreeSet, HashMap};

/// The columns of bounds.
const LEAST: &str = "least";
const MOST: &str = "most";

/// Bounds, and the SHA-256 of their file, in hexadecimal.
pub(super) struct Read {
    pub(super) bounds: Bounds,
    pub(super) sha256: String,
}

/// Reads the bounds of a config: the columns of a noisy file that tell answers apart, `least` and `most`, either of which may be blank.
///
/// Refused, with file and row: a missing column; names of no area, query or answer; an answer twice; bounds that are no counts, or cross;
/// bounds within which the answer is not.
pub(super) fn read(config: &CubeConfig, areas: &Areas) -> Result<Option<Read>> {
    let Some(path) = &config.data.bounds else { return Ok(None) };
    let tables = &config.data.tables;
    let sha256 = FileDigest::of(path)?.sha256;
    let columns = AreaColumns::of(&tables.levels[1..], tables.attributes.iter().map(|(name, _)| name));
    if let Some(twice) = columns.keys().find(|name| [LEAST, MOST].contains(name)) {
        let message = format!("`{twice}` is a bound there, want another name for the level or attribute");
        return Err(Failure::data(path, message));
    }
    let table = CsvTable::read_wanted(path, &Wanted::readable())?;
    columns.check(&table, &[LEAST, MOST])?;
    let rows = Rows::of(&table, &columns, areas)?;
    let answers = ByWords::new(tables, &areas.domain, &areas.queries);
    let [least, most] = [LEAST, MOST].map(|name| table.column(name));
    let (least, most) = (counts_or_blank(&table, least?)?, counts_or_blank(&table, most?)?);
    let mut given: Vec<Bound> = Vec::with_capacity(table.len());
    let mut first: HashMap<(usize, usize, usize), usize> = HashMap::new();
    let mut truth = (None, Answers::default());
    for row in 0..table.len() {
        let area = rows.area(row)?;
        let (name, words) = rows.words(row);
        let refused = |why| table.bad_row(row, why);
        let query = answers.query(name).map_err(refused)?;
        let answer = answers.answer(query, &words).map_err(refused)?;
        if let Some(before) = first.insert((area, query, answer), row) {
            let message = format!("its answer stands there twice (first on {})", table.place(before));
            return Err(table.bad_row(row, message));
        }
        let bound = Bound { area, query, answer, least: least[row].unwrap_or(0), most: most[row] };
        if bound.most.is_some_and(|most| most < bound.least) {
            let (least, most) = (bound.least, bound.most.unwrap_or_default());
            let message = format!("`{LEAST}` = {least} and `{MOST}` = {most}, want `{MOST}` no smaller");
            return Err(table.bad_row(row, message));
        }
        if truth.0 != Some((area, query)) {
            truth.0 = Some((area, query));
            truth.1.of = vec![Vec::new(); areas.queries.len()];
            truth.1.of[query].resize(areas.queries[query].answers(), 0.0);
            areas.answer(area, &mut truth.1.of);
        }
        let own = truth.1.of[query][answer] as i64;
        if own < bound.least || bound.most.is_some_and(|most| own > most) {
            let of = joined(words.iter().map(String::as_str));
            let of = if of.is_empty() { String::new() } else { format!(" `{of}`") };
            let want = match bound.most {
                None => format!("at least {}", bound.least),
                Some(most) => format!("{} to {most}", bound.least),
            };
            let place = areas.words(area);
            let message = format!(
                "the answer{of} of `{name}` in {place} is {own}, and its bounds are {want}: want bounds that the counts keep"
            );
            return Err(table.bad_row(row, message));
        }
        given.push(bound);
    }
    let refused = |e: crate::Error| Failure::data(path, e.to_string());
    let measurements =
        Measurements::new(&areas.domain, areas.queries.clone(), units(tables)).map_err(refused)?;
    let bounded: BTreeSet<usize> = given.iter().map(|bound| bound.query).collect();
    nest(tables, areas, &Vec::from_iter(bounded)).map_err(|why| Failure::data(path, why))?;
    let known = |v: usize, answers: &mut Answers| areas.answer(v, &mut answers.of);
    let bounds = Bounds::new(&areas.list.tree, &measurements, &given, known).map_err(refused)?;
    Ok(Some(Read { bounds, sha256 }))
}

/// The rows of the table.
struct Rows<'a> {
    table: &'a CsvTable,
    levels: Vec<usize>,
    query: usize,
    attributes: Vec<usize>,
    areas: HashMap<Vec<&'a str>, usize>,
}

impl<'a> Rows<'a> {
    fn of(table: &'a CsvTable, columns: &AreaColumns, areas: &'a Areas) -> Result<Self> {
        let places =
            |names: &[String]| names.iter().map(|name| table.column(name)).collect::<Result<Vec<_>>>();
        let tree = &areas.list.tree;
        Ok(Self {
            table,
            levels: places(&columns.levels)?,
            query: table.column(&columns.query)?,
            attributes: places(&columns.attributes)?,
            areas: (0..tree.nodes()).map(|v| (areas.list.keys(v), v)).collect(),
        })
    }

    fn area(&self, row: usize) -> Result<usize> {
        depth(self.table, &self.levels, row)?;
        let own: Vec<&str> = self.levels.iter().map(|&place| self.table.text(row, place)).collect();
        let refused = || self.table.bad_row(row, format!("`{}` is no area of the study", own.join(", ")));
        self.areas.get(&own).copied().ok_or_else(refused)
    }

    /// The name of the query, and the words of the answer.
    fn words(&self, row: usize) -> (&str, Vec<String>) {
        let word = |&place: &usize| self.table.text(row, place).to_owned();
        (self.table.text(row, self.query), self.attributes.iter().map(word).collect())
    }
}
