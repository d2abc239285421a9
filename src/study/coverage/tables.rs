//! The tables of a study of coverage while it is drawn.

use super::classes;
use super::config::CoveragePart;
use super::{CoveredRow, Reading};
use crate::diagnostics::{Estimate, Moments};
use crate::engine::{Drawn, Sink, decode};
use crate::failure::Result;
use crate::grid::Plan;
use crate::privacy::Amount;
use crate::store::{RunFolder, TableFile};
use crate::study::cells::{CellTables, Convergence, Paid};
use crate::study::frontier::FrontierRow;
use crate::study::kind::Tables;
use crate::table;
use crate::table::Key;
use std::collections::BTreeMap;

table! {
    /// Study `coverage`: one row per cell, way to read a release, and class of counts, over the replicates. Standard errors are
    /// null for fewer than two of them.
    pub struct CoverageRow in "coverage.parquet" {
        /// the cell, in `cells.parquet`
        cell: Key;
        /// how releases are read: `noise` (the interval by the law of the noise under the equations, around what is released: of
        /// releases by noise alone what `congenial infer` gives; of others what somebody takes who knows the noise alone),
        /// `bootstrap` (a parametric bootstrap: the method repeated on what is released), `posterior` (equal tails, with the prior of
        /// the config); of a model `likelihood` (profile intervals by the exact likelihood), `as counts` (the same by who takes the
        /// released leaves for the counts)
        intervals: Reading;
        /// of the counts, in `classes.parquet`
        class: u32;
        /// releases
        replicates: u64;
        /// what the intervals are to hold at least
        level: f64;
        /// whether each interval holds at least the level, whatever the counts are
        guaranteed: bool;
        /// mean of `covered`
        coverage: Estimate, "share of the counts", error coverage_se;
        /// the same by the law of the error; null where it is not computed
        coverage_computed: Option<f64>, "share of the counts";
        /// mean of `length`
        length: Estimate, "counts", error length_se;
        /// mean of `bias`
        bias: Estimate, "counts", error bias_se;
        /// mean of `squared`
        squared: Estimate, "counts squared", error squared_se;
        /// mean of `variance`
        variance: Estimate, "counts squared", error variance_se;
    }
}

/// Rows of a class as they come.
#[derive(Debug, Default, Clone)]
struct Sums {
    covered: Moments,
    length: Moments,
    bias: Moments,
    squared: Moments,
    variance: Moments,
}

struct CoverageTables<'a> {
    plan: &'a Plan,
    cells: CellTables<'a>,
    covered: Option<TableFile<'a, CoveredRow>>,
    coverage: TableFile<'a, CoverageRow>,
    sums: BTreeMap<(Reading, u32), Sums>,
    frontier: TableFile<'a, FrontierRow>,
}

/// Begins the tables. Errors: the disk.
pub(super) fn begin<'a>(plan: &'a Plan, folder: &'a RunFolder) -> Result<Box<dyn Tables + 'a>> {
    if !plan.pooled {
        classes::write(plan, folder)?;
    }
    Ok(Box::new(CoverageTables {
        plan,
        cells: CellTables::begin(folder, plan)?,
        // Cells that stand for those of several seeds have no rows by replicate.
        covered: (!plan.pooled).then(|| folder.table()).transpose()?,
        coverage: folder.table()?,
        sums: BTreeMap::new(),
        frontier: folder.table()?,
    }))
}

impl Sink for CoverageTables<'_> {
    fn rows(&mut self, _: usize, rows: Drawn) -> Result<()> {
        for row in rows.take::<Vec<CoveredRow>>()? {
            let sums = self.sums.entry((row.intervals, row.class)).or_default();
            sums.covered.push(row.covered);
            sums.length.push(row.length);
            sums.bias.push(row.bias);
            sums.squared.push(row.squared);
            sums.variance.push(row.variance);
            self.covered.as_mut().map_or(Ok(()), |file| file.push(&row))?;
        }
        Ok(())
    }

    fn close(&mut self, number: usize, closing: &[u8], error: Option<&str>) -> Result<()> {
        let cell = &self.plan.cells[number];
        if let Some(Amount { loss: paid, measure }) = cell.paid {
            let change = CoveragePart::of(&self.plan.config).change.kind;
            self.frontier.push(&FrontierRow { cell: Key(cell.key), change, paid, measure })?;
        }
        let sums = std::mem::take(&mut self.sums);
        if closing.is_empty() || error.is_some() {
            return self.cells.close(cell, &Paid::default(), Convergence::NoChains, error);
        }
        let (paid, computed, guaranteed): (Paid, Option<Vec<f64>>, bool) = decode(closing)?;
        let converged = if cell.at.method.is_chain() { Convergence::Unknown } else { Convergence::NoChains };
        self.cells.close(cell, &paid, converged, None)?;
        for ((intervals, class), sums) in sums {
            let by_noise = intervals == Reading::Noise;
            let computed = computed.as_ref().filter(|_| by_noise);
            self.coverage.push(&CoverageRow {
                cell: Key(cell.key),
                intervals,
                class,
                replicates: sums.covered.count(),
                level: CoveragePart::of(&self.plan.config).level,
                guaranteed: guaranteed && by_noise,
                coverage: sums.covered.estimate(),
                coverage_computed: computed.and_then(|all| all.get(class as usize - 1)).copied(),
                length: sums.length.estimate(),
                bias: sums.bias.estimate(),
                squared: sums.squared.estimate(),
                variance: sums.variance.estimate(),
            })?;
        }
        Ok(())
    }
}

impl Tables for CoverageTables<'_> {}
