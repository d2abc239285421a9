//! Files of the intervals.

use super::{Inferred, Interval, RatioRow};
use crate::failure::{Failure, Result};
use crate::figure::{Look, svg};
use crate::files;
use crate::page::{Page, data_column, field};
use crate::table;
use crate::table::{Field, Kind, Record, Value, Values, Writer, unwritten};
use std::fs::File;
use std::path::Path;

table! {
    /// `congenial infer --out`: one row for each node of the noisy file, in the order of the tree, then one for each
    /// district. Behind these columns stand the keys of the node, one column for each level. Of a table: one row for each sum that the
    /// invariant leaves open (the total, then sums by each column of keys; blank is what they go over), for each entry, and for each query.
    pub struct IntervalRow in "intervals.parquet" {
        /// the column of the node's level, `total`, or `district`; of a table the column of a sum, `total`, `entry`, or `query`
        of: String;
        /// of a district or a query its name
        name: Option<String>;
        /// released; of values that do not keep what is fixed the estimate of least squares; the mean of a posterior
        estimate: f64, "counts";
        /// of the error
        standard_deviation: f64, "counts";
        /// the interval begins there
        low: f64, "counts";
        /// and ends there
        high: f64, "counts";
        /// the same of a band that holds for all counts of a level, or for all districts or queries, at once (`--bands`)
        band_low: Option<f64>, "counts";
        /// the same
        band_high: Option<f64>, "counts";
        /// what the intervals hold
        level: f64, "probability";
        /// `law` of the error; `draws` of it; `normal`, as if the error were that; `bootstrap`, which promises nothing; `posterior`
        found_by: String;
        /// whether an interval holds at least that, whatever the counts are
        guaranteed: bool;
        /// what an interval met of what is known (counts are >= 0, and no more than a known count around them, or than the invariant
        /// leaves): `whole`, `cut`, or `empty`
        /// where nothing was left, and the nearest value that can be stands there
        met: String;
    }
}

/// Columns of a page of text.
const WIDTH: usize = 120;

/// Writes `table.csv` (keys, value, low, high), `intervals.csv` and `intervals.parquet` (all that is known), `ratios.csv` of ratios,
/// `draws.parquet` of draws that were kept, `model.csv` of a model,
/// `page.txt`, `page.md`, `page.html` and the figures of the page into a folder; files of the same names are replaced. Errors: the disk.
pub fn write(inferred: &Inferred, page: &Page, folder: &Path, mut done: impl FnMut(&Path)) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(|e| Failure::io(folder, "cannot create the folder", e))?;
    let mut put = |name: &str, write: &dyn Fn(File, &Path) -> Result<()>| {
        let path = folder.join(name);
        files::replace_file(folder, name, |file| write(file, &path))?;
        done(&path);
        Ok::<_, Failure>(())
    };
    put("table.csv", &|file, path| csv(file, path, table(inferred)))?;
    put("intervals.csv", &|file, path| csv(file, path, all(inferred)))?;
    put("intervals.parquet", &|file, path| parquet(inferred, file, path))?;
    if !inferred.kept.is_empty() {
        put("draws.parquet", &|file, path| draws(inferred, file, path))?;
    }
    if !inferred.ratios.is_empty() {
        put("ratios.csv", &|file, path| csv(file, path, ratios(inferred)))?;
    }
    if let Some(modelled) = &inferred.modelled {
        let rows = modelled.rows(inferred.level);
        put("model.csv", &|file, path| files::write_csv(file, path, records(&rows)))?;
    }
    let pictures =
        page.figures().map(|figure| (format!("{}.svg", figure.name), svg(figure, Look::default())));
    let pages = [
        ("page.txt", page.to_text(WIDTH)),
        ("page.md", page.to_markdown()),
        ("page.html", page.to_html(&inferred.title())?),
    ];
    let pages = pages.map(|(name, text)| (name.to_owned(), text));
    for (name, text) in pages.into_iter().chain(pictures) {
        files::replace(folder, &name, text.as_bytes())?;
        done(&folder.join(name));
    }
    Ok(())
}

/// Writes rows as CSV in which no name is a formula to a spreadsheet.
fn csv(file: File, path: &Path, rows: impl Iterator<Item = Vec<String>>) -> Result<()> {
    let plain = |row: Vec<String>| row.iter().map(|text| field(text).into_owned()).collect::<Vec<_>>();
    files::write_csv(file, path, rows.map(plain))
}

/// The names of the columns of keys, beside those of intervals.
fn key_names(inferred: &Inferred) -> Vec<String> {
    let ours = IntervalRow::COLUMNS.iter().map(|column| column.name).chain(["value", "district", "query"]);
    keys_beside(inferred, &ours.collect::<Vec<_>>())
}

fn keys_beside(inferred: &Inferred, ours: &[&str]) -> Vec<String> {
    inferred.noisy.columns.iter().map(|level| data_column(level, ours)).collect()
}

/// The keys of an interval, blank of a district or a query.
fn keys<'a>(inferred: &'a Inferred, interval: &Interval) -> Vec<&'a str> {
    let noisy = &inferred.noisy;
    interval.count.map_or_else(|| vec![""; noisy.columns.len()], |count| noisy.keys(count))
}

/// Keys, value, low and high side by side.
fn table(inferred: &Inferred) -> impl Iterator<Item = Vec<String>> {
    let queries = inferred.intervals.iter().any(|interval| interval.of.is_err());
    let (_, word) = inferred.noisy.query_words();
    let own = queries.then_some(word).into_iter().chain(["value", "low", "high"]);
    let header = key_names(inferred).into_iter().chain(own.map(str::to_owned)).collect();
    let row = move |interval: &Interval| {
        let keys = keys(inferred, interval).into_iter().map(str::to_owned);
        let name = queries.then(|| interval.of.clone().err().unwrap_or_default());
        let numbers = [interval.estimate, interval.low, interval.high].map(|x| x.to_string());
        keys.chain(name).chain(numbers).collect()
    };
    std::iter::once(header).chain(inferred.intervals.iter().map(row))
}

/// Ratios, of which an end may be infinite.
fn ratios(inferred: &Inferred) -> impl Iterator<Item = Vec<String>> {
    let row = |row: RatioRow| {
        let numbers = [row.estimate, row.low, row.high, row.level].map(|x| x.to_string());
        let words = [row.found_by, row.guaranteed.to_string(), row.met];
        std::iter::once(row.ratio).chain(numbers).chain(words).collect()
    };
    std::iter::once(names::<RatioRow>().collect()).chain(inferred.ratio_rows().into_iter().map(row))
}

/// The columns of a record.
fn names<R: Record>() -> impl Iterator<Item = String> {
    R::COLUMNS.iter().map(|column| column.name.to_owned())
}

/// A record as text, column by column.
fn texts<R: Record + serde::Serialize>(record: &R) -> Vec<String> {
    let row = serde_json::to_value(record).unwrap_or_default();
    let text = |name: String| match &row[name] {
        serde_json::Value::Null => String::new(),
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    names::<R>().map(text).collect()
}

/// Records with their columns as header.
fn records<R: Record + serde::Serialize>(rows: &[R]) -> impl Iterator<Item = Vec<String>> {
    std::iter::once(names::<R>().collect()).chain(rows.iter().map(texts))
}

/// All that is known.
fn all(inferred: &Inferred) -> impl Iterator<Item = Vec<String>> {
    let header = key_names(inferred).into_iter().chain(names::<IntervalRow>()).collect();
    let row = move |interval: &Interval| {
        let texts = texts(&row(inferred, interval));
        keys(inferred, interval).into_iter().map(str::to_owned).chain(texts).collect()
    };
    std::iter::once(header).chain(inferred.intervals.iter().map(row))
}

/// The row of an interval.
fn row(inferred: &Inferred, interval: &Interval) -> IntervalRow {
    IntervalRow {
        of: match interval.of {
            Ok(level) => inferred.noisy.level_name(level).to_owned(),
            Err(_) => inferred.noisy.query_words().1.to_owned(),
        },
        name: interval.of.clone().err(),
        estimate: interval.estimate,
        standard_deviation: interval.deviation,
        low: interval.low,
        high: interval.high,
        band_low: interval.band.map(|band| band.low),
        band_high: interval.band.map(|band| band.high),
        level: inferred.level,
        found_by: interval.by.word().to_owned(),
        guaranteed: inferred.is_guaranteed,
        met: interval.met.word().to_owned(),
    }
}

/// The columns of [`IntervalRow`], then those of the keys.
fn fields(inferred: &Inferred) -> Vec<Field> {
    let keys = key_names(inferred);
    IntervalRow::fields().into_iter().chain(keys.iter().map(|key| Field::new(key, Kind::Text))).collect()
}

/// Adds an interval to the columns.
fn put(inferred: &Inferred, interval: &Interval, columns: &mut [Values]) {
    let (own, rest) = columns.split_at_mut(IntervalRow::COLUMNS.len());
    row(inferred, interval).put(own);
    let keys = keys(inferred, interval);
    rest.iter_mut().zip(keys).for_each(|(column, key)| column.put_text(key.as_bytes()));
}

/// All intervals in memory, as `intervals.parquet` has them.
pub fn columns(inferred: &Inferred) -> (Vec<Field>, Vec<Values>) {
    let fields = fields(inferred);
    let rows = inferred.intervals.len();
    let mut columns: Vec<Values> =
        fields.iter().map(|field| Values::new(field.kind, field.optional, rows)).collect();
    inferred.intervals.iter().for_each(|interval| put(inferred, interval, &mut columns));
    (fields, columns)
}

/// Writes all intervals as `intervals.parquet`. `path`: its name in messages. Errors: the disk.
pub fn parquet(inferred: &Inferred, file: File, path: &Path) -> Result<()> {
    let failed = |e| unwritten(path, e);
    let mut writer = Writer::new(file, fields(inferred), &[]).map_err(failed)?;
    for interval in &inferred.intervals {
        put(inferred, interval, writer.row().map_err(failed)?);
    }
    writer.finish().map(drop).map_err(failed)
}

/// Writes the draws of the posterior that were kept, draw by draw, with a row for each node. Errors: the disk.
fn draws(inferred: &Inferred, file: File, path: &Path) -> Result<()> {
    let failed = |e| unwritten(path, e);
    let keys = keys_beside(inferred, &[".draw", "count"]);
    let fields = std::iter::once(Field::new(".draw", Kind::U64))
        .chain(keys.iter().map(|key| Field::new(key, Kind::Text)))
        .chain([Field::new("count", Kind::I64)]);
    let mut writer = Writer::new(file, fields.collect(), &[]).map_err(failed)?;
    let nodes = inferred.noisy.counts();
    for (place, count) in inferred.kept.iter().enumerate() {
        let columns = writer.row().map_err(failed)?;
        let [draw, keys @ .., counts] = columns else { continue };
        (place as u64 / nodes as u64 + 1).put(draw);
        let own = inferred.noisy.keys(place % nodes);
        keys.iter_mut().zip(own).for_each(|(column, key)| column.put_text(key.as_bytes()));
        count.put(counts);
    }
    writer.finish().map(drop).map_err(failed)
}
