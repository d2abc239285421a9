//! Answers to queries: the errors of sums over groups of leaves or entries, by group and by size of the confidential count.

mod page;
mod sizes;
mod small;
mod stated;

pub(in crate::study) use page::pages;
use page::title;
pub(super) use page::{records, size_records, small_records};
pub(in crate::study) use sizes::by_size;
use small::Small;
pub use small::SmallRow;
use stated::{By, Stated};

use super::rows::Draw;
use crate::diagnostics::{Estimate, Moments, quantile};
use crate::failure::Result;
use crate::grid::{Cell, Plan};
use crate::input::{Answered, Asked};
use crate::page::{finite, thousands};
use crate::store::{RunFolder, TableFile};
use crate::table;
use crate::table::Key;

table! {
    /// Releases with `[report] queries`: one row per query.
    pub struct QueryRow in "queries.parquet" {
        /// name of the data set; empty if it has none
        data: String;
        /// from 1, in the order of the config
        query: u32;
        /// its columns, joined by `, `
        columns: String;
        /// the level (1 = root) whose nodes its groups are: their own released values are its answers; null where
        /// answers are sums of the released values of leaves or entries
        level: Option<u32>;
        /// how many groups it has
        groups: u64;
    }
}

table! {
    /// Releases with `[report] queries`: one row per query, group and column of the query.
    pub struct GroupRow in "groups.parquet" {
        /// name of the data set; empty if it has none
        data: String;
        /// the query, in `queries.parquet`
        query: u32;
        /// from 1, in the order of the first leaf of the tree, or entry of the table
        group: u64;
        /// a column of the query
        column: String;
        /// the value that its leaves or entries have there
        value: String;
    }
}

table! {
    /// Releases with `[report] queries`: one row per cell, query and group. Errors (released - confidential) of the
    /// group's answer over the replicates; of a chain its last state is the release. Standard errors are null for fewer
    /// than two replicates. Quantiles are interpolated at `p (n - 1)` and are those of the first replicates: 100,000,
    /// or fewer where all queries together have more than 160 groups, at least 100; null beyond 160,000 groups.
    pub struct AnswerRow in "answers.parquet" {
        /// the cell, in `cells.parquet`
        cell: Key;
        /// the query, in `queries.parquet`
        query: u32;
        /// the group, in `groups.parquet`
        group: u64;
        /// the values of its columns joined by `/`
        name: String;
        /// confidential
        count: i64, "counts";
        /// releases
        replicates: u64;
        /// mean error: the bias
        mean: Estimate, "counts", error mean_se;
        /// root of the mean squared error
        rmse: Estimate, "counts", error rmse_se {
            /// its standard error: that of the mean squared error over `2 rmse`
        };
        /// mean absolute error
        mae: Estimate, "counts", error mae_se;
        /// replicates of the quantiles
        quantile_replicates: u64;
        /// the central interval that holds 50 % of the errors begins there: their 25 % quantile
        low_50: Option<f64>, "counts";
        /// and ends there
        high_50: Option<f64>, "counts";
        /// the same of 90 %
        low_90: Option<f64>, "counts";
        /// the same of 90 %
        high_90: Option<f64>, "counts";
        /// the same of 95 %
        low_95: Option<f64>, "counts";
        /// the same of 95 %
        high_95: Option<f64>, "counts";
        /// half width of the 95 % interval around the released value that is stated before anything is drawn. Of
        /// `unconstrained`, of entries of a table that nothing ties, and of integer noise conditioned on a tree's
        /// equations: the quantile of the error's law, which holds at least 95 %. Of `l2` and of conditioned Gaussian
        /// noise: by the variance of least squares. Null for other methods, under inequalities, and where counts times groups exceed 10^8
        stated: Option<f64>, "counts";
        /// how: `exact`, from the law of the error; `normal`, 1.96 standard deviations as if errors were normal, which
        /// may hold less than 95 %. Null where nothing is stated
        stated_by: Option<String>;
        /// share of the replicates in which the interval holds the confidential count (to 1e-6 counts)
        coverage: Option<f64>;
    }
}

table! {
    /// Releases with `[report] queries`: one row per cell, query and size of the confidential count, of sizes that some
    /// group has. Of every replicate the mean over the groups is taken; standard errors are those over the replicates,
    /// since the groups of one release are not independent.
    pub struct SizeRow in "sizes.parquet" {
        /// the cell, in `cells.parquet`
        cell: Key;
        /// the query, in `queries.parquet`
        query: u32;
        /// the sizes of the config: 0, 1-9, 10-99, 100-999, 1,000-9,999 and 10,000+ where it names none
        size: String;
        /// the smallest count of this size
        least: i64, "counts";
        /// mean of the confidential counts of its groups
        count: f64, "counts";
        /// groups with such a count
        groups: u64;
        /// releases
        replicates: u64;
        /// mean error: the bias
        mean: Estimate, "counts", error mean_se;
        /// mean absolute error
        mae: Estimate, "counts", error mae_se;
        /// root of the mean squared error
        rmse: Estimate, "counts", error rmse_se {
            /// its standard error: that of the mean squared error over `2 rmse`
        };
        /// share of the stated intervals that hold the confidential count; null where a group has none
        coverage: Option<f64>;
        /// how they are found: `exact`; `normal` if any of them is so; null where a group has none
        stated_by: Option<String>;
        /// its standard error
        coverage_se: Option<f64>;
    }
}

/// The place of a confidential count among sizes that begin at these counts.
pub(in crate::study) fn size(sizes: &[i64], count: i64) -> usize {
    sizes.partition_point(|&least| least <= count).saturating_sub(1)
}

/// A size in words: `0`, `1-9`, `10,000+`.
pub(in crate::study) fn size_words(sizes: &[i64], place: usize) -> String {
    let words = |count: i64| thousands(count as f64);
    match (sizes[place], sizes.get(place + 1)) {
        (least, None) => words(least) + "+",
        (least, Some(&next)) if next == least + 1 => words(least),
        (least, Some(&next)) => format!("{}-{}", words(least), words(next - 1)),
    }
}

/// Errors of a cell that are kept for quantiles, of all groups together; replicates at least and at most.
const VALUES: usize = 16_000_000;
const REPLICATES: (usize, usize) = (100, 100_000);
/// What a stated interval may miss by rounding.
const ROUNDING: f64 = 1e-6;

/// Errors as they come: of a group, or of the mean over groups.
#[derive(Debug, Default, Clone, Copy)]
struct Sums {
    error: Moments,
    absolute: Moments,
    square: Moments,
    covered: Moments,
}

impl Sums {
    fn push(&mut self, [error, absolute, square, covered]: [f64; 4]) {
        self.error.push(error);
        self.absolute.push(absolute);
        self.square.push(square);
        self.covered.push(covered);
    }
}

/// The answers of the cell that is drawn.
struct Drawn {
    /// By group of all queries, one after the other.
    stated: Vec<Option<Stated>>,
    groups: Vec<Sums>,
    /// By query and size.
    sizes: Vec<Sums>,
    /// Of releases of integers.
    small: Option<Small>,
    /// The errors of the first replicates, one after the other.
    kept: Vec<f64>,
    replicates: usize,
}

/// The tables while they are written.
pub(super) struct Answers<'a> {
    plan: &'a Plan,
    asked: &'a Asked,
    /// By group of all queries: query and size, as a place among the sizes of all queries.
    places: Vec<u32>,
    /// The smallest count of every size.
    own: &'a [i64],
    /// By query and size: groups, and the sum of their confidential counts.
    members: Vec<u64>,
    counts: Vec<f64>,
    /// Replicates whose errors are kept.
    most: usize,
    drawn: Option<Drawn>,
    answers: TableFile<'a, AnswerRow>,
    sizes: TableFile<'a, SizeRow>,
    small: TableFile<'a, SmallRow>,
}

impl<'a> Answers<'a> {
    /// Writes the queries with their groups and begins the answers; `None` without queries. Errors: the disk.
    pub(super) fn begin(plan: &'a Plan, folder: &'a RunFolder) -> Result<Option<Self>> {
        let Some(asked) = plan.asked.as_deref().filter(|asked| !asked.queries.is_empty()) else {
            return Ok(None);
        };
        let (mut queries, mut groups) = (folder.table()?, folder.table()?);
        let own = &plan.config.part.queries().sizes[..];
        let mut places = Vec::with_capacity(asked.groups());
        for (number, query) in asked.queries.iter().enumerate() {
            let level = match &query.answered {
                Answered::Level(level, _) => Some(*level as u32 + 1),
                Answered::Sums(..) => None,
            };
            let (columns, number) = (query.columns.join(", "), number as u32);
            places.extend(
                query.counts.iter().map(|&count| number * own.len() as u32 + size(own, count) as u32),
            );
            if plan.pooled {
                continue;
            }
            queries.push(&QueryRow {
                data: plan.config.data_name.clone(),
                query: number + 1,
                columns,
                level,
                groups: query.groups() as u64,
            })?;
            for group in 0..query.groups() {
                for (column, values) in query.columns.iter().zip(&query.values) {
                    groups.push(&GroupRow {
                        data: plan.config.data_name.clone(),
                        query: number + 1,
                        group: group as u64 + 1,
                        column: column.clone(),
                        value: values[group].to_owned(),
                    })?;
                }
            }
        }
        let mut members = vec![0; asked.queries.len() * own.len()];
        let mut counts = vec![0.0; members.len()];
        for (&place, &count) in places.iter().zip(asked.queries.iter().flat_map(|query| &query.counts)) {
            members[place as usize] += 1;
            counts[place as usize] += count as f64;
        }
        let most = match VALUES / places.len().max(1) {
            fit if fit < REPLICATES.0 => 0,
            fit => fit.min(REPLICATES.1),
        };
        let (answers, sizes, small) = (folder.table()?, folder.table()?, folder.table()?);
        Ok(Some(Self { plan, asked, places, own, members, counts, most, drawn: None, answers, sizes, small }))
    }

    /// Adds the errors of all groups in one release.
    pub(super) fn push(&mut self, cell: &Cell, draw: Draw) {
        let drawn = self.drawn.get_or_insert_with(|| Drawn {
            stated: stated::intervals(self.plan, cell, self.asked),
            groups: vec![Sums::default(); self.places.len()],
            sizes: vec![Sums::default(); self.members.len()],
            small: cell
                .at
                .method
                .releases_integers(cell.at.law)
                .then(|| Small::new(self.asked.queries.len())),
            kept: Vec::new(),
            replicates: 0,
        });
        let mut sums = vec![[0.0; 4]; self.members.len()];
        let groups = drawn.groups.iter_mut().zip(&drawn.stated).zip(&self.places);
        for (((group, stated), &place), &z) in groups.zip(draw.errors) {
            let covered =
                stated.map_or(f64::NAN, |stated| f64::from(u8::from(z.abs() <= stated.half + ROUNDING)));
            let values = [z, z.abs(), z * z, covered];
            group.push(values);
            sums[place as usize].iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        }
        for ((size, sum), &members) in drawn.sizes.iter_mut().zip(sums).zip(&self.members) {
            if members > 0 {
                size.push(sum.map(|sum| sum / members as f64));
            }
        }
        if let Some(small) = &mut drawn.small {
            let counts = self.asked.queries.iter().enumerate();
            let counts = counts.flat_map(|(query, own)| own.counts.iter().map(move |&count| (query, count)));
            small.push(counts.zip(draw.errors).map(|((query, count), &error)| (query, count, error)));
        }
        if drawn.replicates < self.most {
            drawn.kept.extend_from_slice(draw.errors);
        }
        drawn.replicates += 1;
    }

    /// Forgets the cell that is drawn.
    pub(super) fn forget(&mut self) {
        self.drawn = None;
    }

    /// Writes the rows of the cell, which is forgotten. Errors: the disk.
    pub(super) fn close(&mut self, cell: &Cell) -> Result<()> {
        let Some(Drawn { stated, groups, sizes, small, kept, replicates }) = self.drawn.take() else {
            return Ok(());
        };
        let kept_replicates = replicates.min(self.most);
        let (mut at, mut values) = (0, Vec::with_capacity(kept_replicates));
        for (number, query) in self.asked.queries.iter().enumerate() {
            for group in 0..query.groups() {
                values.clear();
                values.extend(kept.chunks_exact(groups.len()).map(|errors| errors[at]));
                let Sums { error, absolute, square, covered } = &groups[at];
                let mut quantile = |p: f64| (!values.is_empty()).then(|| quantile(&mut values, p));
                self.answers.push(&AnswerRow {
                    cell: Key(cell.key),
                    query: number as u32 + 1,
                    group: group as u64 + 1,
                    name: query.name(group),
                    count: query.counts[group],
                    replicates: replicates as u64,
                    mean: error.estimate(),
                    rmse: square.estimate().root(),
                    mae: absolute.estimate(),
                    quantile_replicates: kept_replicates as u64,
                    low_50: quantile(0.25),
                    high_50: quantile(0.75),
                    low_90: quantile(0.05),
                    high_90: quantile(0.95),
                    low_95: quantile(0.025),
                    high_95: quantile(0.975),
                    stated: stated[at].map(|stated| stated.half),
                    stated_by: stated[at].map(|stated| stated.by.word().to_owned()),
                    coverage: finite(covered.mean()),
                })?;
                at += 1;
            }
        }
        for row in small.iter().flat_map(|small| small.rows(Key(cell.key))) {
            self.small.push(&row)?;
        }
        // Of a size `normal` if one of its groups is; nothing if one states nothing.
        let mut by: Vec<Option<By>> = vec![Some(By::Exact); sizes.len()];
        for (&place, stated) in self.places.iter().zip(&stated) {
            let by = &mut by[place as usize];
            *by = by.zip(*stated).map(|(by, stated)| by.max(stated.by));
        }
        for (place, (sums, &members)) in sizes.iter().zip(&self.members).enumerate() {
            if members == 0 {
                continue;
            }
            let coverage = sums.covered.estimate();
            self.sizes.push(&SizeRow {
                cell: Key(cell.key),
                query: (place / self.own.len()) as u32 + 1,
                size: size_words(self.own, place % self.own.len()),
                least: self.own[place % self.own.len()],
                count: self.counts[place] / members as f64,
                groups: members,
                replicates: replicates as u64,
                mean: sums.error.estimate(),
                mae: sums.absolute.estimate(),
                rmse: sums.square.estimate().root(),
                coverage: finite(coverage.mean),
                stated_by: by[place].map(|by| by.word().to_owned()),
                coverage_se: finite(coverage.standard_error),
            })?;
        }
        Ok(())
    }
}
