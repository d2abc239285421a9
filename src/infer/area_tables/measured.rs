//! A noisy file of tables of attributes: the areas, what was measured of each, and how noisy it is.

use crate::catalogue::{Family, LawKind, Place, noise};
use crate::config::tables::{AreaTables, ByWords};
use crate::cube::{Domain, Gls, Marginal, Measurements, Query};
use crate::failure::{Failure, Result};
use crate::infer::file::File;
use crate::input::{
    AreaColumns, AreaKeys, CsvTable, NOISY, NOISY_TABLES, Wanted, footer, joined, names_above,
};
use crate::invariant::Hierarchy;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// What was measured.
#[derive(Debug)]
pub(super) struct Measured {
    pub(super) path: PathBuf,
    pub(super) tables: AreaTables,
    /// The names of its columns of levels, of the query, and of attributes.
    pub(super) columns: AreaColumns,
    /// By area, its name in the column of its level; of the root nothing.
    names: Vec<String>,
    pub(super) domain: Domain,
    pub(super) gls: Gls,
    pub(super) law: LawKind,
    /// Whether the law is no more than what a variance suggests.
    pub(super) assumed: bool,
    /// By level and query, the scale of the noise; 0 where there is none.
    pub(super) scales: Vec<Vec<f64>>,
    layout: Layout,
    /// What was measured, by area and query.
    values: Vec<f64>,
}

/// Where the answers of areas stand one after the other.
#[derive(Debug)]
struct Layout {
    /// By level and query, where its answers begin among those of an area; `None` where it is not measured.
    offsets: Vec<Vec<Option<usize>>>,
    /// By area, where its answers begin.
    first: Vec<usize>,
    answers: usize,
}

/// Rows with their areas and queries.
struct Rows<'a> {
    table: &'a CsvTable,
    tree: Hierarchy,
    /// By area, a row of it or of one below it.
    of_area: Vec<u32>,
    /// By row.
    area: Vec<u32>,
    query: Vec<u32>,
}

/// The text of what the tables are, if a file has any: in another file, or in its footer.
pub(super) fn description(path: &Path, tables: Option<&Path>) -> Result<Option<AreaTables>> {
    match tables {
        Some(file) => {
            let text = crate::files::text(file, "cannot read what the tables are")?;
            AreaTables::of(file, &text).map(Some)
        }
        None => footer(path, NOISY_TABLES)?.map(|text| AreaTables::of(path, &text)).transpose(),
    }
}

impl Measured {
    /// Reads a noisy file of these tables.
    ///
    /// Refused, with file and row: a missing column; a key that is blank above one that is not; queries and categories that are none; an
    /// answer twice, or one that is missing; values that are no numbers, or known ones that are no counts; laws and methods that differ,
    /// and scales that differ within a level and query. And queries from which not every cell of a leaf follows.
    pub(super) fn read(path: &Path, tables: AreaTables) -> Result<Self> {
        let columns = AreaColumns::of(&tables.levels[1..], tables.attributes.iter().map(|(name, _)| name));
        let table = CsvTable::read_wanted(path, &Wanted::readable())?;
        if table.is_empty() {
            return Err(Failure::data(path, "no rows below the header, want one for each answer"));
        }
        columns.check(&table, &NOISY)?;
        let keys = columns.keys().map(|name| table.column(name)).collect::<Result<Vec<_>>>()?;
        let file = File::of(&table, keys)?;
        if let Some(place) = file.method {
            let rows = differing(&table, &[place], |_| 0);
            let method = file.method(&rows, Place::Tree { inequalities: false })?;
            if !(method.kind().is_free() && method.facts().states_loss) {
                let message =
                    format!("`method` = `{}`, want the answers as they were measured", method.name());
                return Err(table.bad_row(0, message));
            }
        }
        let asked: Vec<Query> = tables.queries.iter().map(|asked| asked.query.clone()).collect();
        let refused = |e: crate::Error| Failure::data(path, e.to_string());
        let domain = Domain::new(&tables.sizes(), &tables.zeros, &asked).map_err(refused)?;
        let queries: Vec<Marginal> = asked.iter().map(|query| Marginal::new(&domain, query)).collect();
        let all: Vec<usize> = (0..table.len()).collect();
        let (released, _) = file.values(&all)?;
        let known = file.known(&all, &released)?;
        drop(all);
        let answers = ByWords::new(&tables, &domain, &queries);
        let rows = Rows::of(&file, tables.levels.len(), &answers)?;
        let layout = Layout::of(&rows, &queries, tables.levels.len());
        let values = rows.values(&file, (&tables, &domain, &queries), (&layout, &answers), &released)?;
        let (law, assumed, scales) = rows.noise(&file, &tables, &known)?;
        if !assumed
            && !law.is_continuous()
            && let Some(row) = released.iter().position(|value| value.fract() != 0.0)
        {
            return Err(file.bad_value(row, format!(", want an integer, as {} noise leaves", law.name())));
        }
        let variance = |(offset, &scale): (&Option<usize>, &f64)| {
            // One that is no number of its own any more would be that of what is known.
            let of = |scale: f64| {
                noise(law, scale).map_or(f64::NAN, |noise| noise.variance().max(f64::MIN_POSITIVE))
            };
            offset.map(|_| if scale > 0.0 { of(scale) } else { 0.0 })
        };
        let variances = layout.offsets.iter().zip(&scales);
        let variances = variances.map(|(own, scales)| own.iter().zip(scales).map(variance).collect());
        let gls = Measurements::new(&domain, queries, variances.collect())
            .and_then(|measurements| Gls::new(&rows.tree, measurements));
        let names = (0..rows.tree.nodes()).map(|v| match rows.tree.level(v) {
            0 => String::new(),
            level => table.text(rows.of_area[v] as usize, file.keys[level - 1]).to_owned(),
        });
        let names = names.collect();
        let (gls, path) = (gls.map_err(refused)?, path.to_owned());
        Ok(Self { path, tables, columns, names, domain, gls, law, assumed, scales, layout, values })
    }

    pub(super) fn tree(&self) -> &Hierarchy {
        self.gls.tree()
    }

    /// Whether the noise is normal.
    pub(super) fn is_normal(&self) -> bool {
        self.law.family() == Family::Gaussian
    }

    /// Answers of all queries in an area.
    pub(super) fn each(&self) -> usize {
        self.gls.measurements().queries().iter().map(Marginal::answers).sum()
    }

    /// The names of an area and of those above it; blank below its level.
    pub(super) fn keys(&self, area: usize) -> Vec<&str> {
        names_above(self.tree(), self.tables.levels.len() - 1, area, |v| &self.names[v])
    }

    /// An area in words.
    pub(super) fn words(&self, area: usize) -> String {
        let own = joined(self.keys(area));
        if own.is_empty() { self.tables.levels[0].clone() } else { own }
    }

    /// What was measured of a query in an area; `None` where it was not.
    pub(super) fn answers(&self, area: usize, query: usize) -> Option<&[f64]> {
        let from = self.layout.first[area] + self.layout.offsets[self.tree().level(area)][query]?;
        Some(&self.values[from..from + self.gls.measurements().queries()[query].answers()])
    }

    /// Whether the answers of a query on a level are known.
    pub(super) fn is_known(&self, level: usize, query: usize) -> bool {
        self.layout.offsets[level][query].is_some() && self.scales[level][query] == 0.0
    }
}

impl Layout {
    fn of(rows: &Rows, queries: &[Marginal], levels: usize) -> Self {
        let mut measured = vec![vec![false; queries.len()]; levels];
        for (&area, &query) in rows.area.iter().zip(&rows.query) {
            measured[rows.tree.level(area as usize)][query as usize] = true;
        }
        let mut lengths = Vec::with_capacity(levels);
        let mut of_level = |own: Vec<bool>| {
            let mut length = 0;
            let mut offset = |(query, is): (&Marginal, bool)| {
                let from = length;
                length += if is { query.answers() } else { 0 };
                is.then_some(from)
            };
            let offsets = queries.iter().zip(own).map(&mut offset).collect();
            lengths.push(length);
            offsets
        };
        let offsets = measured.into_iter().map(&mut of_level).collect();
        let (mut first, mut answers) = (Vec::with_capacity(rows.tree.nodes()), 0);
        for v in 0..rows.tree.nodes() {
            first.push(answers);
            answers += lengths[rows.tree.level(v)];
        }
        Self { offsets, first, answers }
    }
}

impl<'a> Rows<'a> {
    fn of(file: &File<'a>, levels: usize, answers: &ByWords) -> Result<Self> {
        let table = file.table;
        let (levels, rest) = file.keys.split_at(levels - 1);
        let AreaKeys { tree, of_area, area } = AreaKeys::read(table, levels)?;
        let query = |row: usize| {
            let found = answers.query(table.text(row, rest[0]));
            found.map(|query| query as u32).map_err(|why| table.bad_row(row, why))
        };
        let query = (0..table.len()).map(query).collect::<Result<_>>()?;
        Ok(Self { table, tree, of_area, area, query })
    }

    /// What was released, in the order of the layout.
    fn values(
        &self,
        file: &File,
        (tables, domain, queries): (&AreaTables, &Domain, &[Marginal]),
        (layout, answers): (&Layout, &ByWords),
        released: &[f64],
    ) -> Result<Vec<f64>> {
        let table = self.table;
        let columns = &file.keys[tables.levels.len()..];
        let words = |query: usize, answer: usize| {
            tables.words(&tables.queries[query].query, &queries[query].codes(domain, answer))
        };
        let mut values = vec![f64::NAN; layout.answers];
        let mut first = vec![u32::MAX; layout.answers];
        let mut own: Vec<String> = Vec::new();
        for (row, &value) in released.iter().enumerate() {
            let (area, query) = (self.area[row] as usize, self.query[row] as usize);
            own.clear();
            own.extend(columns.iter().map(|&place| table.text(row, place).to_owned()));
            let answer = answers.answer(query, &own).map_err(|why| table.bad_row(row, why))?;
            let offset = layout.offsets[self.tree.level(area)][query].unwrap_or_default();
            let place = layout.first[area] + offset + answer;
            if first[place] != u32::MAX {
                let before = table.place(first[place] as usize);
                return Err(table.bad_row(row, format!("its answer stands there twice (first on {before})")));
            }
            (values[place], first[place]) = (value, row as u32);
        }
        match values.iter().position(|value| value.is_nan()) {
            None => Ok(values),
            Some(place) => {
                let area = layout.first.partition_point(|first| *first <= place) - 1;
                let rest = place - layout.first[area];
                let offsets = layout.offsets[self.tree.level(area)].iter().enumerate();
                let mut own = offsets.filter_map(|(query, offset)| Some((query, (*offset)?)));
                let (query, offset) = own.rfind(|(_, offset)| *offset <= rest).unwrap_or_default();
                let cell = joined(words(query, rest - offset).iter().map(String::as_str));
                let message = format!(
                    "no answer{} of the query `{}` in the area of {}: want all of them wherever others of its level have them",
                    if cell.is_empty() { String::new() } else { format!(" `{cell}`") },
                    tables.queries[query].name,
                    table.place(self.of_area[area] as usize)
                );
                Err(Failure::data(&table.path, message))
            }
        }
    }

    /// The law, whether it is assumed, and by level and query the scale, 0 where answers are known.
    fn noise(
        &self,
        file: &File,
        tables: &AreaTables,
        known: &[bool],
    ) -> Result<(LawKind, bool, Vec<Vec<f64>>)> {
        let (levels, queries) = (tables.levels.len(), tables.queries.len());
        let group =
            |row: usize| self.tree.level(self.area[row] as usize) * queries + self.query[row] as usize;
        let mut first: Vec<Option<usize>> = vec![None; levels * queries];
        for (row, &is_known) in known.iter().enumerate() {
            let before = *first[group(row)].get_or_insert(row);
            if known[before] != is_known {
                let before = self.table.place(before);
                let message = format!(
                    "`known` differs from {before}: want all answers of a query on a level known, or none of them"
                );
                return Err(self.table.bad_row(row, message));
            }
        }
        let said: Vec<usize> = [file.law, file.scale, file.variance].into_iter().flatten().collect();
        let measured: Vec<(usize, usize)> = differing(self.table, &said, group)
            .into_iter()
            .filter(|&row| !known[row])
            .map(|row| (row, group(row)))
            .collect();
        let place = Place::Tree { inequalities: false };
        let (law, assumed, scales) =
            file.noise(&measured, (levels * queries, "each query of a level"), place)?;
        Ok((law, assumed, scales.chunks_exact(queries).map(<[f64]>::to_vec).collect()))
    }
}

/// Of every group of rows the first, and those that say something else in these columns than the one before them in the group.
fn differing(table: &CsvTable, places: &[usize], group: impl Fn(usize) -> usize) -> Vec<usize> {
    let mut last: HashMap<usize, usize> = HashMap::new();
    let is_new = |row: &usize| match last.insert(group(*row), *row) {
        None => true,
        Some(before) => places.iter().any(|&place| table.text(before, place) != table.text(*row, place)),
    };
    (0..table.len()).filter(is_new).collect()
}
