//! Coverage: what intervals from releases hold that pay the same for the same change, how long they are, and how far off the values
//! that they stand around.
//!
//! Which release is worth most to somebody who infers from it? Budgets are losses (`equal`); releases are those of
//! [`crate::study::release`]; intervals those of [`crate::infer`] (`judged`).

mod classes;
mod config;
mod judged;
mod model;
mod page;
mod tables;
mod template;

pub use classes::ClassRow;
pub use tables::CoverageRow;

use self::config::{CoverageBlock, CoverageFile, CoveragePart};
use self::judged::Judged;
use self::model::Modelled;
use crate::engine::{Drawn, Each, Pool, Prepared, encode};
use crate::failure::{Failure, Result};
use crate::grid::{Cell, Plan};
use crate::methods::{Draws, Out};
use crate::page::Page;
use crate::store::{Run, RunFolder};
use crate::study::cells::{self, CellRow, FailureRow, Paid, StatementRow, gamma};
use crate::study::equal;
use crate::study::frontier::FrontierRow;
use crate::study::grid::Kind;
use crate::study::kind::{Study, Tables};
use crate::study::release;
use crate::study::tell::figures::{Figures, Sample};
use crate::study::tell::records::{Named, Records};
use crate::table::{Declared, Key};
use crate::{infer, table, text_value};
use std::ops::Range;
use std::sync::Arc;

/// The study.
#[derive(Default)]
pub struct Coverage;

/// How a release is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Deserialize)]
pub enum Reading {
    /// By the law of its noise under the equations, as if nothing else had been done to it.
    Noise,
    /// By a parametric bootstrap: its method is repeated on it.
    Bootstrap,
    /// By the posterior, with a prior.
    Posterior,
    /// By the exact likelihood of a model.
    Likelihood,
    /// As if its leaves were the counts, of a model.
    AsCounts,
}

impl Reading {
    const ALL: [Self; 5] = [Self::Noise, Self::Bootstrap, Self::Posterior, Self::Likelihood, Self::AsCounts];

    /// In tables.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Noise => "noise",
            Self::Bootstrap => "bootstrap",
            Self::Posterior => "posterior",
            Self::Likelihood => "likelihood",
            Self::AsCounts => "as counts",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reading| reading.name() == name)
    }
}

text_value!(column Reading, |reading: &Reading| reading.name(), Reading::named);

impl serde::Serialize for Reading {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_unit_variant("Reading", *self as u32, self.name())
    }
}

table! {
    /// Study `coverage`: one row per cell, replicate, way to read a release, and class of counts.
    pub struct CoveredRow in "covered.parquet", also Copy, serde::Deserialize {
        /// the cell, in `cells.parquet`
        cell: Key;
        /// from 0
        replicate: u64;
        /// how the release is read: `noise`, `bootstrap`, `posterior`; of a model `likelihood`, `as counts`
        intervals: Reading;
        /// of the counts, in `classes.parquet`
        class: u32;
        /// of the class whose interval holds the confidential count; of a coefficient 0 or 1
        covered: f64, "share of the counts";
        /// mean over the class, after the intervals met what is known; of a coefficient in its unit, as what follows
        length: f64, "counts";
        /// mean over the class of what is released less what is confidential; of a coefficient the estimate less the truth
        bias: f64, "counts";
        /// mean over the class of the squared error
        squared: f64, "counts squared";
        /// mean over the class of the variance that the intervals state
        variance: f64, "counts squared";
    }
}

impl Kind for Coverage {
    type File = CoverageFile;
    type Block = CoverageBlock;

    /// The plan with budgets that pay what they are to, and with its districts. Errors: also methods of one's own; the districts.
    fn settle(mut plan: Plan) -> Result<Plan> {
        let mut part = CoveragePart::of(&plan.config).clone();
        if let Some(own) = plan.cells.iter().find(|cell| cell.at.method.kind().is_own()) {
            let message = format!("method: got `{}`", own.at.method.name());
            let label = "nothing is known of the law of its error: want methods of `congenial methods`";
            return Err(plan.config.error(message, plan.config.blocks[0].method_span.clone(), label));
        }
        if plan.subject.ties_nodes() {
            let label =
                "the law of such releases depends on the counts in a way that is not inferred from here";
            return Err(plan.config.error(
                "study: coverage under inequalities between nodes",
                part.change.span,
                label,
            ));
        }
        if let Some(file) = &part.file {
            let template =
                template::template(&plan, &plan.cells[0]).map_err(|e| Failure::Usage(e.to_string()))?;
            part.districts = infer::named(file, &template)?;
            plan.config.part = Arc::new(part.clone());
        }
        if let Some(spec) = &part.model {
            Modelled::new(&plan, &plan.cells[0], spec)?;
        }
        equal::settle(plan, part.change)
    }

    fn prepare<'a>(plan: &'a Plan, cell: usize) -> crate::Result<Box<dyn Prepared + 'a>> {
        let cell = &plan.cells[cell];
        let releases = release::prepare(plan, cell)?;
        let judging = match &CoveragePart::of(&plan.config).model {
            None => Judging::Counts(Judged::new(plan, cell)?),
            Some(spec) => Judging::Model(Modelled::new(plan, cell, spec).map_err(template::failed)?),
        };
        Ok(Box::new(Ready { plan, cell, releases, judging }))
    }

    fn begin<'a>(plan: &'a Plan, folder: &'a RunFolder) -> Result<Box<dyn Tables + 'a>> {
        tables::begin(plan, folder)
    }

    fn leaves(plan: &Plan, cell: &Cell) -> Each {
        let part = CoveragePart::of(&plan.config);
        let rows = 2 * (plan.subject.levels() + part.sizes.len() + part.districts.len()) as u64;
        let nodes = plan.subject.nodes() as u64;
        let again = if judged::is_repeated(plan, cell) { part.bootstrap as u64 } else { 0 };
        let words = cell.at.method.kind().facts().words.saturating_mul(nodes);
        Each { work: again.saturating_mul(words), rows, disk: 16 * rows, memory: 64 * rows + 48 * nodes }
    }
}

/// A cell ready to release, and to judge what its releases say.
struct Ready<'a> {
    plan: &'a Plan,
    cell: &'a Cell,
    releases: Box<dyn Draws>,
    judging: Judging,
}

/// What is judged: intervals of counts that stay, or of the coefficients by which counts are drawn anew.
enum Judging {
    Counts(Judged),
    Model(Modelled),
}

impl Prepared for Ready<'_> {
    fn draw(&self, replicates: Range<u64>) -> (Drawn, crate::Result<()>) {
        match &self.judging {
            Judging::Counts(judged) => {
                let mut taken = judged::Taken::new(judged);
                let drawn = self.releases.draw(replicates, &mut Out { crew: &Pool, sink: &mut taken });
                let (rows, judged) = taken.rows();
                (Drawn::Encoded(encode(&rows)), drawn.and(judged))
            }
            Judging::Model(model) => {
                let rows: crate::Result<Vec<_>> = replicates.map(|replicate| model.rows(replicate)).collect();
                Drawn::all(rows.map(|rows| rows.concat()))
            }
        }
    }

    fn close(&self) -> crate::Result<Vec<u8>> {
        let paid = Paid::new(self.releases.tv_error(), gamma(self.cell, &self.plan.subject));
        Ok(encode(&match &self.judging {
            Judging::Counts(judged) => (paid, judged.computed(), judged.is_guaranteed()),
            Judging::Model(_) => (paid, None, false),
        }))
    }
}

impl Study for Coverage {
    fn tables(&self) -> Vec<Declared> {
        vec![
            Declared::of::<CellRow>(),
            Declared::of::<StatementRow>(),
            Declared::of::<FailureRow>(),
            Declared::of::<ClassRow>(),
            Declared::of::<CoveredRow>(),
            Declared::of::<CoverageRow>(),
            Declared::of::<FrontierRow>(),
        ]
    }

    fn pages(&self, runs: &[Named]) -> Result<Page> {
        runs.iter().map(page::of).collect()
    }

    fn records<'a>(&self, runs: &'a [Named]) -> Result<Vec<Records<'a>>> {
        Ok(vec![
            Records::of_cells::<CoverageRow>("coverage", "coverage.csv", runs),
            Records::of_cells::<StatementRow>("statements", "statements.csv", runs),
            Records::of_cells::<CellRow>("cells", "cells.csv", runs),
        ])
    }

    fn figures(&self, runs: [&Run; 2]) -> Result<[Figures; 2]> {
        let of = |run: &Run| {
            let (cells, pooled) = (cells::by_key(run)?, cells::pooled(run)?);
            let mut figures = Figures::new(cells, run.all()?);
            let classes = classes::words(run)?;
            run.each(|row: CoveredRow| {
                let cell = pooled.get(&row.cell).copied().unwrap_or(row.cell);
                let place = || {
                    let class = classes.get(row.class as usize - 1).map_or("", String::as_str);
                    format!("{class}, by {}", row.intervals.name())
                };
                let number = 5 * u64::from(row.class) + row.intervals as u64;
                figures.add(cell, number, place, "covered", row.covered, Sample::drawn);
                figures.add(cell, number, place, "length", row.length, Sample::drawn);
                Ok(())
            })?;
            Ok(figures)
        };
        Ok([of(runs[0])?, of(runs[1])?])
    }
}
