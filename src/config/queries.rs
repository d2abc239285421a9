//! Checks of what is asked of single counts: `keep-draws`, `[report] queries` and `sizes`.

use super::checker::Checker;
use super::model::{Queries, QuerySpec};
use super::wire::WireKeep;
use crate::failure::Result;
use crate::input::{DataSource, Keep, Shape};
use std::collections::HashSet;
use toml::Spanned;

impl Checker<'_> {
    /// Which draws are written out. Errors: a list for a table, no level of the tree, a level twice, an empty list.
    pub(crate) fn keep(&self, wire: Option<&Spanned<WireKeep>>, data: &DataSource) -> Result<Keep> {
        let Some(wire) = wire else { return Ok(Keep::Nothing) };
        let names = match wire.get_ref() {
            WireKeep::Flag(false) => return Ok(Keep::Nothing),
            WireKeep::Flag(true) => return Ok(Keep::All),
            WireKeep::Levels(names) => names,
        };
        let refuse = |message: String, label: String| Err(self.error(message, wire.span(), label));
        let Shape::Hierarchy { levels, .. } = &data.shape else {
            let label = "a table has one level: want true (all entries) or false";
            return refuse("keep-draws: got a list of levels".into(), label.into());
        };
        if names.is_empty() {
            return refuse("keep-draws: got an empty list".into(), "want a level, or false".into());
        }
        self.distinct_root("keep-draws", levels, &data.root, wire.span())?;
        self.no_duplicates("keep-draws", names, wire.span())?;
        let known = data.level_names();
        let mut kept = Vec::new();
        for name in names {
            match known.iter().position(|level| level == name) {
                Some(level) => kept.push(level),
                None => {
                    let label = format!("want levels of {}", known.join(", "));
                    return refuse(format!("keep-draws: got `{name}`"), label);
                }
            }
        }
        kept.sort_unstable();
        Ok(Keep::Levels(kept))
    }

    /// The queries, and the sizes of counts by which they are told; without queries sizes ask for the leaves or entries. Errors:
    /// those of both, and sizes where neither queries nor columns name entries.
    pub(crate) fn asked(
        &self,
        queries: Option<&Spanned<Vec<Spanned<Vec<String>>>>>,
        sizes: Option<&Spanned<Vec<i64>>>,
        data: &DataSource,
    ) -> Result<Queries> {
        let mut asked = Queries {
            queries: self.queries(queries, &data.count)?,
            sizes: self.sizes("report.sizes", sizes)?,
        };
        let Some(sizes) = sizes else { return Ok(asked) };
        if asked.queries.is_empty() {
            let columns = match &data.shape {
                Shape::Hierarchy { levels, .. } => levels.clone(),
                Shape::Table { entry: Some(entry), .. } => entry.clone(),
                Shape::Table { entry: None, .. } => {
                    let label = "want `entry` in [data], or `queries` in [report]";
                    return Err(self.error("report.sizes: sizes of which counts?", sizes.span(), label));
                }
            };
            asked.queries.push(QuerySpec { columns, span: sizes.span() });
        }
        Ok(asked)
    }

    /// The smallest count of every size. Errors: those that do not ascend from 0.
    pub(crate) fn sizes(&self, key: &str, sizes: Option<&Spanned<Vec<i64>>>) -> Result<Vec<i64>> {
        let Some(sizes) = sizes else { return Ok(Queries::SIZES.into()) };
        let own = sizes.get_ref();
        if own.first() != Some(&0) || !own.is_sorted_by(|a, b| a < b) {
            let label = "want the smallest count of every size, ascending from 0, as [0, 1, 10, 100]";
            return Err(self.error(format!("{key}: got {own:?}"), sizes.span(), label));
        }
        Ok(own.clone())
    }

    /// The queries. Errors: none in the list, one without columns, a column twice, the column of the counts, a query twice.
    fn queries(
        &self,
        wire: Option<&Spanned<Vec<Spanned<Vec<String>>>>>,
        count: &str,
    ) -> Result<Vec<QuerySpec>> {
        let Some(wire) = wire else { return Ok(Vec::new()) };
        if wire.get_ref().is_empty() {
            let label = "want a list of columns for each query, or the key left out";
            return Err(self.error("report.queries: got an empty list", wire.span(), label));
        }
        let mut seen = HashSet::new();
        let mut queries = Vec::new();
        for query in wire.get_ref() {
            let columns = query.get_ref();
            if columns.is_empty() {
                let label = "want at least one column of the data table";
                return Err(self.error("report.queries: got a query without columns", query.span(), label));
            }
            self.no_duplicates("report.queries", columns, query.span())?;
            if columns.iter().any(|column| column == count) {
                let message = format!("report.queries: got `{count}`");
                return Err(self.error(message, query.span(), "it is the column of the counts"));
            }
            let mut sorted = columns.clone();
            sorted.sort_unstable();
            if !seen.insert(sorted) {
                let message = format!("report.queries: got {columns:?} twice");
                return Err(self.error(message, query.span(), "want every set of columns once"));
            }
            queries.push(QuerySpec { columns: columns.clone(), span: query.span() });
        }
        Ok(queries)
    }
}
