//! Tables as a report of some runs has them: their header, their rows with what the cell is, cells that failed, and the files.

use crate::runs::{CELL, Part, RUN, Runs, has, names, with};
use crate::{Error, Result};
use congenial::failure::Failure;
use congenial::page::field;
use congenial::store::PUBLISHED;
use congenial::study::cells::{CellRow, FailureRow};
use congenial::study::{FAILED, Records, STUDIES};
use congenial::table::Record;
use polars::prelude::*;
use std::borrow::Cow;
use std::fs::File;
use std::path::Path;

/// Where a row of the run's summary stands, by which rows are put into the order of a report.
pub(crate) const PLACE: &str = "place";
/// Which of them are ours, and which somebody else has published.
const SOURCE: &str = "source";
const OURS: &str = "run";
const THEIRS: &str = "published";

/// A table of a report; `None` if it has no rows. `summed` gives the rows of a run that has the summary `R`, with their cell and [`PLACE`].
/// Header and names of runs are those of the report itself.
pub(crate) fn table<R: Record>(
    runs: &Runs,
    file: &str,
    summed: impl Fn(&Part) -> Result<LazyFrame>,
) -> Result<Option<DataFrame>> {
    let (mut header, mut frames): (Vec<String>, Vec<DataFrame>) = Default::default();
    for study in STUDIES {
        let mut published = Vec::new();
        for part in runs.parts().filter(|part| part.named.run.manifest.study == study.name()) {
            let all = study.records(std::slice::from_ref(part.named))?;
            let Some(records) = all.into_iter().find(|records| records.file == file) else { continue };
            if records.header.len() > header.len() {
                header.clone_from(&records.header);
            }
            if part.named.run.has::<R>() {
                let is_known =
                    |name: &&str| records.header.iter().any(|column| column == name) && !has::<R>(name);
                let known: Vec<&str> =
                    [CELL].into_iter().chain(names::<CellRow>().filter(is_known)).collect();
                frames.extend(ours(&part, &known, summed(&part)?)?);
            }
            if part.named.run.file(PUBLISHED).is_some() {
                published.push(theirs(&records)?);
            }
        }
        frames.extend(published);
    }
    let whole = below_each_other(&header, &frames)?;
    Ok((whole.height() > 0).then_some(whole))
}

/// The rows of a run with their cells, in order, and behind them its cells that failed. `known`: columns that say what a cell is.
fn ours(part: &Part, known: &[&str], summed: LazyFrame) -> Result<[DataFrame; 2]> {
    let cells = shown(part)?.select(known.iter().map(|&name| col(name)).collect::<Vec<_>>());
    let of_run = [lit(part.named.name.clone()).alias(RUN), lit(OURS).alias(SOURCE)];
    let drawn = with(summed, cells.clone(), &[CELL]).sort([PLACE], SortMultipleOptions::default());
    let drawn = drawn.with_columns(of_run.clone()).collect()?;
    let failed = part.scan::<FailureRow>()?.select([col(CELL), col("error").alias(FAILED)]);
    let failed = with(failed, cells.clone(), &[CELL]).with_columns(of_run).collect()?;
    // A table that no other cell of the run has says nothing of those that failed.
    let told =
        if drawn.height() > 0 || failed.height() == cells.collect()?.height() { failed.height() } else { 0 };
    Ok([drawn, failed.head(Some(told))])
}

/// The cells that a report shows: of several master seeds those that stand for all.
pub(crate) fn shown(part: &Part) -> Result<LazyFrame> {
    Ok(part.cells()?.filter(col("pooled").is_null()))
}

/// The rows of a summary of the cells that a report shows, with their places.
pub(crate) fn summary<R: Record>(part: &Part) -> Result<LazyFrame> {
    let rows = part.scan::<R>()?.with_row_index(PLACE, None);
    Ok(with(rows, shown(part)?.select([col(CELL)]), &[CELL]))
}

/// What stands for cells of a report, for the cells that have the rows by replicate: of several master seeds those of each.
pub(crate) fn of_replicates(part: &Part, shown: LazyFrame) -> Result<LazyFrame> {
    const DRAWN: &str = "cell with rows by replicate";
    let cells =
        part.cells()?.select([col("pooled").fill_null(col(CELL)).alias(CELL), col(CELL).alias(DRAWN)]);
    Ok(with(shown, cells, &[CELL]).with_column(col(DRAWN).alias(CELL)).drop(by_name([DRAWN], true, false)))
}

/// Mean over a group and its standard error, under the names that reports give them.
pub(crate) fn estimated(value: Expr, name: &str) -> [Expr; 2] {
    let error = value.clone().std(1) / len().cast(DataType::Float64).sqrt();
    [value.mean().alias(name), error.alias(format!("{name}_se"))]
}

/// The published figures that stand in a table, as the report reads them.
fn theirs(records: &Records) -> Result<DataFrame> {
    let mut rows = Vec::new();
    records.while_true(&mut |row| {
        if row.get(SOURCE).and_then(|source| source.as_str()) == Some(THEIRS) {
            rows.push(row);
        }
        Ok(true)
    })?;
    let mut columns = Vec::new();
    for name in records.header.iter().filter(|name| rows.iter().any(|row| row.contains_key(*name))) {
        let values = || rows.iter().map(|row| row.get(name));
        let texts: Vec<Option<&str>> = values().map(|value| value?.as_str()).collect();
        let numbers: Vec<Option<f64>> = values().map(|value| value?.as_f64()).collect();
        let is_text = texts.iter().any(Option::is_some);
        columns.push(if is_text {
            Column::new(name.into(), texts)
        } else {
            Column::new(name.into(), numbers)
        });
    }
    Ok(DataFrame::new(rows.len(), columns)?)
}

/// Frames with the columns of a header; null where a frame does not have one. A column has the type that it has in the first frame.
fn below_each_other(header: &[String], frames: &[DataFrame]) -> Result<DataFrame> {
    let kind = |name: &String| -> Result<DataType> {
        let first = frames.iter().find_map(|frame| frame.column(name).ok());
        let missing =
            || Failure::Wrong(format!("the report has a column `{name}`, which is not computed here"));
        Ok(first.ok_or_else(missing)?.dtype().clone())
    };
    let kinds = header.iter().map(kind).collect::<Result<Vec<_>>>()?;
    let mut whole: Option<DataFrame> = None;
    for frame in frames {
        let column = |(name, kind): (&String, &DataType)| match frame.column(name) {
            Ok(column) => column.cast(kind),
            Err(_) => Ok(Column::full_null(name.into(), frame.height(), kind)),
        };
        let columns = header.iter().zip(&kinds).map(column).collect::<PolarsResult<Vec<_>>>()?;
        let aligned = DataFrame::new(frame.height(), columns)?;
        match &mut whole {
            None => whole = Some(aligned),
            Some(whole) => drop(whole.vstack_mut(&aligned)?),
        }
    }
    Ok(whole.unwrap_or_default())
}

/// Writes a table into a folder, as `<stem>.csv`, in which texts are as in a report, and as `<stem>.parquet`; `told` hears of each file.
/// Refused: a place that cannot be written.
pub fn write(frame: &DataFrame, folder: &Path, stem: &str, mut told: impl FnMut(&Path)) -> Result<()> {
    let mut put = |ending: &str, content: &mut dyn FnMut(File) -> PolarsResult<()>| -> Result<()> {
        let place = folder.join(format!("{stem}.{ending}"));
        let failed = |e: std::io::Error| Error::from(Failure::write(&place, e));
        let unfinished = folder.join(format!("{stem}.{ending}.tmp"));
        content(File::create(&unfinished).map_err(failed)?)?;
        std::fs::rename(&unfinished, &place).map_err(failed)?;
        told(&place);
        Ok(())
    };
    put("csv", &mut |file| CsvWriter::new(file).finish(&mut for_spreadsheets(frame)?))?;
    put("parquet", &mut |file| ParquetWriter::new(file).finish(&mut frame.clone()).map(drop))
}

/// Texts as values of a CSV file; an empty one is nothing.
fn for_spreadsheets(frame: &DataFrame) -> PolarsResult<DataFrame> {
    let text = |text: Option<&str>| text.filter(|text| !text.is_empty()).map(field).map(Cow::into_owned);
    let column = |column: &Column| match column.str() {
        Ok(texts) => {
            let texts: StringChunked = texts.iter().map(text).collect();
            texts.with_name(column.name().clone()).into_column()
        }
        Err(_) => column.clone(),
    };
    DataFrame::new(frame.height(), frame.columns().iter().map(column).collect())
}
