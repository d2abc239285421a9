//! Run folders as lazy frames.

use crate::Result;
use congenial::failure::Failure;
use congenial::report::Report;
use congenial::study::Named;
use congenial::study::cells::CellRow;
use congenial::table::Record;
use polars::prelude::*;
use std::path::PathBuf;

/// The column with the name of a run, or of one of its data sets, as a report has it.
pub(crate) const RUN: &str = "run";
/// The column by which rows have their cell.
pub(crate) const CELL: &str = "cell";
const DATA: &str = "data";
const LEVEL: &str = "level";
const LEVEL_NAME: &str = "level_name";

/// Some finished runs.
pub struct Runs(Report);

impl Runs {
    /// Opens run folders. Refused: as [`congenial::store::Run::open`], which reads every byte once.
    pub fn open(folders: &[PathBuf]) -> Result<Self> {
        Ok(Self(Report::open(folders)?))
    }

    /// The rows of a table of all runs that have it, below each other, nothing read yet.
    ///
    /// - First the column `run`, and the columns of the cell, of all master seeds; one that the table has, too, is
    ///   called `cell_` and its name.
    /// - Then those of the table. Behind `level` stands `level_name`, as the config names it.
    ///
    /// Each data set of a run of several is a run by itself. Refused: none of the runs has the table.
    pub fn rows<R: Record>(&self) -> Result<LazyFrame> {
        let parts = self.parts().filter(|part| part.named.run.has::<R>());
        let frames = parts.map(|part| part.rows::<R>()).collect::<Result<Vec<_>>>()?;
        if frames.is_empty() {
            return Err(Failure::Nothing(format!("none of these runs has the table {}", R::FILE)).into());
        }
        Ok(concat(frames, UnionArgs::default())?)
    }

    /// What a report tells by itself, in the order in which it was given.
    pub(crate) fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        self.0.runs().map(|named| {
            let several = !named.run.manifest.data_sets.is_empty();
            let data = named.printed.first().filter(|_| several).map(|cell| cell.data.clone());
            Part { named, data }
        })
    }
}

/// A run, or one of its data sets.
pub(crate) struct Part<'a> {
    pub(crate) named: &'a Named,
    /// Its name, if the run has several.
    data: Option<String>,
}

impl Part<'_> {
    /// A table of the run.
    pub(crate) fn scan<R: Record>(&self) -> Result<LazyFrame> {
        let path = PlRefPath::try_from_path(&self.named.run.path(R::FILE)?)?;
        // A folder may have any name.
        Ok(LazyFrame::scan_parquet(path, ScanArgsParquet { glob: false, ..Default::default() })?)
    }

    /// The rows of a table that are of this data set.
    fn own<R: Record>(&self) -> Result<LazyFrame> {
        let all = self.scan::<R>()?;
        Ok(match &self.data {
            Some(name) if has::<R>(DATA) => all.filter(col(DATA).eq(lit(name.clone()))),
            _ => all,
        })
    }

    /// Its cells.
    pub(crate) fn cells(&self) -> Result<LazyFrame> {
        self.own::<CellRow>()
    }

    /// Rows with their cells: see [`Runs::rows`].
    fn rows<R: Record>(&self) -> Result<LazyFrame> {
        let of_cells = has::<R>(CELL) && R::FILE != CellRow::FILE && self.named.run.has::<CellRow>();
        let of_levels = has::<R>(LEVEL) && !has::<R>(LEVEL_NAME);
        let mut rows = self.own::<R>()?;
        let mut columns = vec![lit(self.named.name.clone()).alias(RUN)];
        if of_cells {
            let named = |name: &str| match has::<R>(name) && name != CELL {
                true => format!("cell_{name}"),
                false => name.to_owned(),
            };
            let cells = names::<CellRow>().map(|name| col(name).alias(named(name)));
            rows = with(rows, self.cells()?.select(cells.collect::<Vec<_>>()), &[CELL]);
            columns.extend(names::<CellRow>().map(|name| col(named(name))));
        }
        if of_levels {
            let mut arguments = JoinArgs::new(JoinType::Left);
            arguments.maintain_order = MaintainOrderJoin::Left;
            rows = rows.join(self.levels()?, [col(LEVEL)], [col(LEVEL)], arguments);
        }
        for name in names::<R>().filter(|name| !(of_cells && *name == CELL)) {
            columns.push(col(name));
            columns.extend((of_levels && name == LEVEL).then(|| col(LEVEL_NAME)));
        }
        Ok(rows.select(columns))
    }

    /// Levels and their names; a table has one.
    fn levels(&self) -> Result<LazyFrame> {
        let manifest = &self.named.run.manifest;
        let levels: Vec<u32> = (1..).take(manifest.levels.len().max(1)).collect();
        let names: Vec<String> = levels.iter().map(|&level| manifest.level(level)).collect();
        Ok(df!(LEVEL => levels, LEVEL_NAME => names)?.lazy())
    }
}

/// Rows with those of another frame that have the same keys, in their own order.
pub(crate) fn with(rows: LazyFrame, other: LazyFrame, keys: &[&str]) -> LazyFrame {
    let keys: Vec<Expr> = keys.iter().map(|&key| col(key)).collect();
    let mut arguments = JoinArgs::new(JoinType::Inner);
    arguments.maintain_order = MaintainOrderJoin::Left;
    rows.join(other, keys.clone(), keys, arguments)
}

/// The columns of a declared table.
pub(crate) fn names<R: Record>() -> impl Iterator<Item = &'static str> {
    R::COLUMNS.iter().map(|column| column.name)
}

/// Whether a declared table has a column.
pub(crate) fn has<R: Record>(name: &str) -> bool {
    names::<R>().any(|own| own == name)
}
