//! Every cell of a plan, drawn and kept in memory.

use super::{Release, ReleasePart, Rows};
use crate::engine::{self, Drawn, Manner, Sink, decode};
use crate::failure::Result;
use crate::grid::Plan;
use crate::page::counted;
use crate::study::cells::Paid;
use crate::study::grid::Gridded;
use std::sync::Arc;

/// What one cell gave, in memory.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Its rows, in the order of the replicates; none if it failed.
    pub rows: Rows,
    /// What its releases pay.
    pub paid: Paid,
    /// Why it failed.
    pub error: Option<String>,
}

/// Draws every cell of a plan and keeps the rows in memory. Errors: threads.
pub fn draw_all(mut plan: Plan, manner: Manner) -> Result<(Plan, Vec<Outcome>)> {
    // Rows alone are kept.
    plan.config.part = Arc::new(ReleasePart { certify: None, ..ReleasePart::of(&plan.config).clone() });
    struct Kept(Vec<Outcome>);
    impl Sink for Kept {
        fn rows(&mut self, cell: usize, rows: Drawn) -> Result<()> {
            self.0[cell].rows.append(rows.take()?);
            Ok(())
        }
        fn close(&mut self, cell: usize, closing: &[u8], error: Option<&str>) -> Result<()> {
            self.0[cell].error = error.map(str::to_owned);
            if !closing.is_empty() {
                self.0[cell].paid = decode(closing)?;
            }
            Ok(())
        }
    }
    let planned: Gridded<Release> = Gridded::new(plan);
    let expected = engine::estimate(&planned, manner.threads);
    if expected.is_long() {
        let cells = counted(planned.plan.cells.len() as f64, "cell");
        say!("{}: {cells}{expected}", planned.plan.config.name);
    }
    let mut kept = Kept(planned.plan.cells.iter().map(|_| Outcome::default()).collect());
    engine::run(&planned, manner, None, &mut kept)?;
    Ok((planned.plan, kept.0))
}
