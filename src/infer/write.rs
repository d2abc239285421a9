//! Files of the intervals.

use super::{Inferred, Interval, RatioRow, Wish};
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
    /// district. Behind these columns stand the keys of the node, one column for each level (of one that is called as a column here,
    /// `value`, `district` or `query` it is `data.district` and so on). Of a table: one row for each sum that the
    /// invariant leaves open (the total, then sums by each column of keys; blank is what they go over), for each entry, and for each
    /// query. Of tables of attributes in areas: one row for each answer of every query, area by area, then district by district; behind
    /// stand the keys of the area, the query, and the category of each attribute.
    pub struct IntervalRow in "intervals.parquet" {
        /// the column of the node's level, `total`, or `district`; of a table the column of a sum, `total`, `entry`, or `query`
        of: String;
        /// of a district or a query its name
        name: Option<String>;
        /// released; of values that do not keep what is fixed the estimate of least squares; the mean of a posterior
        estimate: f64, "counts";
        /// of the error; null where it depends on the counts, and nothing is known of it
        standard_deviation: Option<f64>, "counts";
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
        /// the probability that a released count is the true one, given the release and the prior: with a prior, of nodes of a tree whose
        /// released value may be a count; of `cell-keys` and `small-count-rounding` given that value alone, and of the latter a lower bound
        is_true: Option<f64>, "probability";
        /// `law` of the error; `bound`, which no law of the error passes more often than the level allows; `draws` of the error; `normal`,
        /// as if the error were that; `bootstrap`, which promises nothing; `posterior`
        found_by: String;
        /// whether an interval holds at least that, whatever the counts are
        guaranteed: bool;
        /// what an interval met of what is known (counts are >= 0, and no more than a known count around them, or than the invariant
        /// leaves): `whole`, `cut`, or `empty`
        /// where nothing was left, and the nearest value that can be stands there
        met: String;
    }
}

impl IntervalRow {
    /// The names of its columns.
    pub(super) fn names() -> impl Iterator<Item = &'static str> {
        Self::COLUMNS.iter().map(|column| column.name)
    }
}

/// The files of values that are written into a folder.
const FILES: [&str; 6] =
    ["table.csv", "intervals.csv", "intervals.parquet", "ratios.csv", "draws.parquet", "model.csv"];

/// Columns of a page of text.
const WIDTH: usize = 120;

/// What a file says of its counts, as it is told and written.
pub trait Told {
    /// All of it for a reader.
    fn page(&self) -> Page;
    /// The heading of the page.
    fn title(&self) -> String;
    /// Whether the intervals hold at least their chance, whatever the counts are.
    fn is_guaranteed(&self) -> bool;
    /// The names of the columns of keys, beside those of intervals.
    fn keys(&self) -> Vec<String>;
    /// The number of intervals.
    fn rows(&self) -> usize;
    /// An interval with its keys.
    fn row(&self, place: usize) -> (IntervalRow, Vec<String>);
    /// What the intervals with a name are of, if there are any: districts, queries.
    fn named(&self) -> Option<&'static str>;
    /// Writes what there is beside intervals. Errors: the disk.
    fn write_more(&self, _: &mut Put) -> Result<()> {
        Ok(())
    }
}

/// Writes a file into a folder, by its name.
pub type Put<'a> = dyn FnMut(&str, &dyn Fn(File, &Path) -> Result<()>) -> Result<()> + 'a;

/// Refuses to write a file that is read: into a folder by [`write()`], or a page. Errors: so.
pub fn check_apart(wish: &Wish, folder: Option<&Path>, page: Option<&Path>) -> Result<()> {
    let in_folder = folder.into_iter().flat_map(|folder| FILES.map(|name| folder.join(name)));
    in_folder.chain(page.map(Path::to_owned)).try_for_each(|place| files::check_apart(&place, wish.files()))
}

/// Writes `table.csv` (keys, value, low, high), `intervals.csv` and `intervals.parquet` (all that is known), `ratios.csv` of ratios,
/// `draws.parquet` of draws that were kept, `model.csv` of a model, `page.txt`, `page.md`, `page.html` and the figures of the page into a
/// folder; files of the same names are replaced. Errors: the disk.
pub fn write(told: &dyn Told, page: &Page, folder: &Path, mut done: impl FnMut(&Path)) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(|e| Failure::io(folder, "cannot create the folder", e))?;
    let mut put = |name: &str, write: &dyn Fn(File, &Path) -> Result<()>| {
        let path = folder.join(name);
        files::replace_file(folder, name, |file| write(file, &path))?;
        done(&path);
        Ok::<_, Failure>(())
    };
    put("table.csv", &|file, path| csv(file, path, table(told)))?;
    put("intervals.csv", &|file, path| csv(file, path, all(told)))?;
    put("intervals.parquet", &|file, path| parquet(told, file, path))?;
    told.write_more(&mut put)?;
    let pictures =
        page.figures().map(|figure| (format!("{}.svg", figure.name), svg(figure, Look::default())));
    let pages = [
        ("page.txt", page.to_text(WIDTH)),
        ("page.md", page.to_markdown()),
        ("page.html", page.to_html(&told.title())?),
    ];
    let pages = pages.map(|(name, text)| (name.to_owned(), text));
    for (name, text) in pages.into_iter().chain(pictures) {
        files::replace(folder, &name, text.as_bytes())?;
        done(&folder.join(name));
    }
    Ok(())
}

impl Told for Inferred {
    fn page(&self) -> Page {
        self.page()
    }

    fn title(&self) -> String {
        self.title()
    }

    fn is_guaranteed(&self) -> bool {
        self.is_guaranteed
    }

    fn keys(&self) -> Vec<String> {
        keys_beside(self, &IntervalRow::names().chain(["value", "district", "query"]).collect::<Vec<_>>())
    }

    fn rows(&self) -> usize {
        self.intervals.len()
    }

    fn row(&self, place: usize) -> (IntervalRow, Vec<String>) {
        let interval = &self.intervals[place];
        let blank = || vec![""; self.noisy.columns.len()];
        let keys = interval.count.map_or_else(blank, |count| self.noisy.keys(count));
        (row(self, interval), keys.into_iter().map(str::to_owned).collect())
    }

    fn named(&self) -> Option<&'static str> {
        let has_names = self.intervals.iter().any(|interval| interval.of.is_err());
        has_names.then_some(self.noisy.query_words().1)
    }

    fn write_more(&self, put: &mut Put) -> Result<()> {
        if !self.kept.is_empty() {
            put("draws.parquet", &|file, path| draws(self, file, path))?;
        }
        if !self.ratios.is_empty() {
            put("ratios.csv", &|file, path| csv(file, path, ratios(self)))?;
        }
        if let Some(modelled) = &self.modelled {
            let rows = modelled.rows(self.level);
            put("model.csv", &|file, path| files::write_csv(file, path, records(&rows)))?;
        }
        Ok(())
    }
}

/// Writes rows as CSV in which no name is a formula to a spreadsheet.
fn csv(file: File, path: &Path, rows: impl Iterator<Item = Vec<String>>) -> Result<()> {
    let plain = |row: Vec<String>| row.iter().map(|text| field(text).into_owned()).collect::<Vec<_>>();
    files::write_csv(file, path, rows.map(plain))
}

fn keys_beside(inferred: &Inferred, ours: &[&str]) -> Vec<String> {
    inferred.noisy.columns.iter().map(|level| data_column(level, ours)).collect()
}

/// Keys, value, low and high side by side.
fn table(told: &dyn Told) -> impl Iterator<Item = Vec<String>> {
    let word = told.named();
    let own = word.into_iter().chain(["value", "low", "high"]);
    let header = told.keys().into_iter().chain(own.map(str::to_owned)).collect();
    let row = move |place: usize| {
        let (row, keys) = told.row(place);
        let name = word.map(|_| row.name.unwrap_or_default());
        let numbers = [row.estimate, row.low, row.high].map(|x| x.to_string());
        keys.into_iter().chain(name).chain(numbers).collect()
    };
    std::iter::once(header).chain((0..told.rows()).map(row))
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
fn all(told: &dyn Told) -> impl Iterator<Item = Vec<String>> {
    let header = told.keys().into_iter().chain(names::<IntervalRow>()).collect();
    let row = move |place: usize| {
        let (row, keys) = told.row(place);
        keys.into_iter().chain(texts(&row)).collect()
    };
    std::iter::once(header).chain((0..told.rows()).map(row))
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
        standard_deviation: Some(interval.deviation).filter(|deviation| deviation.is_finite()),
        low: interval.low,
        high: interval.high,
        band_low: interval.band.map(|band| band.low),
        band_high: interval.band.map(|band| band.high),
        level: inferred.level,
        is_true: interval.is_true,
        found_by: interval.by.word().to_owned(),
        guaranteed: inferred.guarantees(interval),
        met: interval.met.word().to_owned(),
    }
}

/// The columns of [`IntervalRow`], then those of the keys.
fn fields(told: &dyn Told) -> Vec<Field> {
    IntervalRow::fields()
        .into_iter()
        .chain(told.keys().iter().map(|key| Field::new(key, Kind::Text)))
        .collect()
}

/// Adds an interval to the columns.
fn put(told: &dyn Told, place: usize, columns: &mut [Values]) {
    let (own, rest) = columns.split_at_mut(IntervalRow::COLUMNS.len());
    let (row, keys) = told.row(place);
    row.put(own);
    rest.iter_mut().zip(keys).for_each(|(column, key)| column.put_text(key.as_bytes()));
}

/// All intervals in memory, as `intervals.parquet` has them.
pub fn columns(told: &dyn Told) -> (Vec<Field>, Vec<Values>) {
    let (fields, rows) = (fields(told), told.rows());
    let mut columns: Vec<Values> =
        fields.iter().map(|field| Values::new(field.kind, field.optional, rows)).collect();
    (0..rows).for_each(|place| put(told, place, &mut columns));
    (fields, columns)
}

/// Writes all intervals as `intervals.parquet`. `path`: its name in messages. Errors: the disk.
pub fn parquet(told: &dyn Told, file: File, path: &Path) -> Result<()> {
    let failed = |e| unwritten(path, e);
    let mut writer = Writer::new(file, fields(told), &[]).map_err(failed)?;
    for place in 0..told.rows() {
        put(told, place, writer.row().map_err(failed)?);
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
