//! What a small published count says: how often it is the true one.

use super::{QueryRow, title};
use crate::diagnostics::Estimate;
use crate::failure::Result;
use crate::page::{Page, Table, with_error};
use crate::study::cells::CellRow;
use crate::study::tell::records::{Named, PAGES};
use crate::table;
use crate::table::Key;

/// Published counts that are looked at: from 0, and fewer than this.
const SMALL: usize = 3;

table! {
    /// Releases of integers with `[report] queries`: one row per cell, query and small published count: 0, 1 and 2.
    pub struct SmallRow in "small.parquet" {
        /// the cell, in `cells.parquet`
        cell: Key;
        /// the query, in `queries.parquet`
        query: u32;
        /// what is published
        published: i64, "counts";
        /// releases
        replicates: u64;
        /// mean number of groups of which it is published
        groups: Estimate, "groups", error groups_se;
        /// share of these whose confidential count it is, over all releases: the posterior probability that it is true, of a group drawn
        /// from those of the data. Null where it is never published
        is_true: Option<Estimate>, "probability", error is_true_se {
            /// its standard error, as of a ratio of means over the replicates
        };
    }
}

/// Of a small count by release: how often it is published, and how often it is true; sums, and sums of products.
#[derive(Debug, Default, Clone, Copy)]
struct Counted {
    published: f64,
    is_true: f64,
    squares: [f64; 3],
}

/// How often small counts were published, by query.
#[derive(Debug)]
pub(super) struct Small {
    of: Vec<[Counted; SMALL]>,
    releases: f64,
}

impl Small {
    pub(super) fn new(queries: usize) -> Self {
        Self { of: vec![Default::default(); queries], releases: 0.0 }
    }

    /// Adds a release. `groups`: by group its query, its confidential count and its error.
    pub(super) fn push(&mut self, groups: impl Iterator<Item = (usize, i64, f64)>) {
        let mut seen = vec![[[0.0; 2]; SMALL]; self.of.len()];
        for (query, count, error) in groups {
            let published = count as f64 + error;
            let place = (0..SMALL).find(|&small| published == small as f64);
            if let Some(place) = place {
                let [published, is_true] = &mut seen[query][place];
                *published += 1.0;
                *is_true += f64::from(u8::from(error == 0.0));
            }
        }
        self.releases += 1.0;
        for (all, seen) in self.of.iter_mut().flatten().zip(seen.into_iter().flatten()) {
            let [n, t] = seen;
            all.published += n;
            all.is_true += t;
            [n * n, n * t, t * t].iter().zip(&mut all.squares).for_each(|(own, sum)| *sum += own);
        }
    }

    /// The rows of a cell.
    pub(super) fn rows(&self, cell: Key) -> impl Iterator<Item = SmallRow> {
        let n = self.releases;
        let each = self.of.iter().enumerate().flat_map(|(query, all)| {
            all.iter().enumerate().map(move |(published, counted)| (query, published, counted))
        });
        each.map(move |(query, published, counted)| {
            let Counted { published: sum, is_true, squares: [nn, nt, tt] } = *counted;
            let error = |square: f64| (n > 1.0).then(|| libm::sqrt(square.max(0.0) / (n * (n - 1.0))));
            let share = is_true / sum;
            SmallRow {
                cell,
                query: query as u32 + 1,
                published: published as i64,
                replicates: n as u64,
                groups: Estimate::new(sum / n, error(nn - sum * sum / n)),
                is_true: (sum > 0.0).then(|| {
                    Estimate::new(
                        share,
                        error(tt - 2.0 * share * nt + share * share * nn).map(|se| se * n / sum),
                    )
                }),
            }
        })
    }
}

/// What small published counts say, a table of every query over the first cells.
pub(super) fn page(
    run: &Named,
    query: &QueryRow,
    cells: &[(&CellRow, Vec<SmallRow>)],
    noise: super::page::NoiseWords,
) -> Page {
    let is_own = |row: &&SmallRow| row.query == query.query;
    if !cells.iter().flat_map(|(_, rows)| rows).filter(is_own).any(|row| row.groups.mean > 0.0) {
        return Page::default();
    }
    let row = |(cell, rows): &(&CellRow, Vec<SmallRow>)| {
        let own: Vec<&SmallRow> = rows.iter().filter(is_own).collect();
        let words = own.iter().flat_map(|row| {
            let published = with_error(row.groups);
            [published, row.is_true.map_or("-".into(), with_error)]
        });
        let words: Vec<String> = words.collect();
        (!words.is_empty())
            .then(|| [cell.method_words(), noise(cell)].into_iter().chain(words).collect::<Vec<_>>())
    };
    let rows: Vec<Vec<String>> = cells.iter().take(PAGES).filter_map(row).collect();
    if rows.is_empty() {
        return Page::default();
    }
    let columns = (0..SMALL).flat_map(|small| [format!("published\nas {small}"), format!("{small} is true")]);
    let header: Vec<String> = ["method", "noise"].map(String::from).into_iter().chain(columns).collect();
    Page::headed(format!("{}: what small published counts say, {}", run.name, title(query)))
        .text(
            "How many counts a release publishes as 0, 1 and 2, and the share of these that are so: the posterior probability of a count \
             drawn from those of the data.",
        )
        .table(Table::new(2, header, rows))
}

/// The rows of all cells of a run. Errors: the table.
pub(super) fn rows(run: &Named) -> Result<Vec<(&CellRow, Vec<SmallRow>)>> {
    run.by_cell(|row: &SmallRow| row.cell)
}
