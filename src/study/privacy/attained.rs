//! What post-processing really pays, on tables and trees that are small enough to list their noise.

use super::{CHANGES, PaidRow};
use crate::engine::{Drawn, Prepared};
use crate::grid::Cell;
use crate::input::Subject;
use crate::law::{DoubleGeometric, Law};
use crate::methods::Choices;
use crate::privacy::{Attained, TreeChange, attained};
use crate::table::Key;
use crate::{Error, Result};
use std::ops::Range;

/// Counts whose noise is listed at most.
const COUNTS: usize = 4;
/// Noisy tables that are listed at most.
const TABLES: f64 = (1u64 << 20) as f64;

/// Prepares a cell of a method that moves free noise. Errors: more than four counts with noise; what the method refuses.
pub(super) fn prepare<'a>(cell: &'a Cell, subject: &'a Subject) -> Result<Box<dyn Prepared + 'a>> {
    let scales: Vec<f64> = cell.calibration.laws(|scale| scale).collect();
    let (counts, scale): (&[i64], &dyn Fn(usize) -> f64) = match subject {
        Subject::Hierarchy(table) => (&table.counts, &|v| scales[table.hierarchy.level(v)]),
        Subject::Table(table) => (&table.counts, &|_| scales[0]),
    };
    let known = |v: &usize| matches!(subject, Subject::Hierarchy(table) if table.hierarchy.is_known(*v));
    let measured: Vec<usize> = (0..counts.len()).filter(|v| !known(v)).collect();
    if measured.len() > COUNTS {
        let what = "listing the noise of free counts".into();
        let needed = measured.len() as u64;
        return Err(Error::TooLarge { what, needed, limit: COUNTS as u64, unit: "counts" });
    }
    let laws = measured.iter().map(|&v| DoubleGeometric::new(scale(v))).collect::<Result<Vec<_>>>()?;
    let choices = cell.at.method.choices(&cell.problem(subject))?;
    Ok(Box::new(ReadyAttained { cell: Key(cell.key), choices, subject, counts, measured, laws }))
}

struct ReadyAttained<'a> {
    cell: Key,
    choices: Choices<'a>,
    subject: &'a Subject,
    counts: &'a [i64],
    /// Counts that are not known, in order.
    measured: Vec<usize>,
    /// The law of their noise.
    laws: Vec<DoubleGeometric>,
}

impl Prepared for ReadyAttained<'_> {
    /// One replicate: everything is computed.
    fn draw(&self, _: Range<u64>) -> (Drawn, Result<()>) {
        Drawn::all(self.rows())
    }

    fn close(&self) -> Result<Vec<u8>> {
        Ok(Vec::new())
    }
}

impl ReadyAttained<'_> {
    /// The worst change of each kind.
    fn rows(&self) -> Result<Vec<PaidRow>> {
        let mut worst: [Option<(Attained, Vec<i64>, u64)>; 3] = Default::default();
        // Tables of counts: none is below 0.
        let has_none_below_0 = |step: &[i64]| self.counts.iter().zip(step).all(|(x, u)| x + u >= 0);
        for (kind, step) in self.steps().into_iter().filter(|(_, step)| has_none_below_0(step)) {
            // The output is that of the noise around the confidential table: it depends on the noisy counts alone.
            let zeros = vec![0; self.measured.len()];
            let of_measured: Vec<i64> = self.measured.iter().map(|&v| step[v]).collect();
            let mut all = vec![0; self.counts.len()];
            let paid = attained(&self.laws, &zeros, &of_measured, self.reach(), |noise, each| {
                self.measured.iter().zip(noise).for_each(|(&v, &z)| all[v] = z);
                (self.choices)(&all, each)
            })?;
            let pairs = worst[kind].as_ref().map_or(0, |(.., pairs)| *pairs) + 1;
            match &mut worst[kind] {
                Some((old, _, count)) if old.loss >= paid.loss => *count = pairs,
                other => *other = Some((paid, step, pairs)),
            }
        }
        let rows = worst.into_iter().zip(CHANGES).filter_map(|(worst, change)| Some((worst?, change)));
        Ok(rows.map(|((paid, step, pairs), change)| self.row(&paid, &step, pairs, change)).collect())
    }

    /// How far from the confidential table the listed ones reach: as [`TABLES`] of them go, and no further than noise of any weight.
    fn reach(&self) -> u32 {
        let side = libm::pow(TABLES, 1.0 / self.laws.len() as f64);
        let widest = self.laws.iter().map(|law| law.scale()).fold(0.0, f64::max);
        (0.5 * (side - 2.0)).min(50.0 * widest + 1.0).max(1.0) as u32
    }

    /// Changes of one record from the confidential table, or where there are none the smallest; with their kinds.
    fn steps(&self) -> Vec<(usize, Vec<i64>)> {
        match self.subject {
            Subject::Hierarchy(table) => {
                let tree = &table.hierarchy;
                let leaves = tree.leaves();
                let moves = leaves.iter().flat_map(|&from| {
                    let others = leaves.iter().filter(move |&&to| to > from);
                    others.map(move |&to| (1, TreeChange::Moved { from, to }))
                });
                let changes = leaves.iter().map(|&leaf| (0, TreeChange::Added(leaf))).chain(moves);
                let step = |change: TreeChange| {
                    let mut step = vec![0; tree.nodes()];
                    change.step(tree).into_iter().for_each(|(v, sign)| step[v as usize] = i64::from(sign));
                    step
                };
                let steps = changes.map(|(kind, change)| (kind, step(change)));
                let possible = |step: &[i64]| (0..step.len()).all(|v| step[v] == 0 || !tree.is_known(v));
                steps.filter(|(_, step)| possible(step)).collect()
            }
            Subject::Table(table) => {
                let n = self.counts.len();
                let all = (0..3usize.pow(n as u32)).map(|index| {
                    (0..n).map(|i| (index / 3usize.pow(i as u32) % 3) as i64 - 1).collect::<Vec<i64>>()
                });
                let keeps = |v: &Vec<i64>| {
                    v.iter().any(|&x| x != 0) && table.invariant.check(v).is_ok() && table.region.contains(v)
                };
                let steps: Vec<Vec<i64>> = all.filter(keeps).collect();
                let size = |v: &[i64]| v.iter().map(|x| x.unsigned_abs()).sum::<u64>();
                let smallest = steps.iter().map(|v| size(v)).min();
                let kind = |v: Vec<i64>| match (size(&v), v.iter().sum::<i64>()) {
                    (1, _) => Some((0, v)),
                    (2, 0) => Some((1, v)),
                    (size, _) if Some(size) == smallest => Some((2, v)),
                    _ => None,
                };
                steps.into_iter().filter_map(kind).collect()
            }
        }
    }

    fn row(&self, paid: &Attained, step: &[i64], pairs: u64, change: &str) -> PaidRow {
        let name = |i: usize| match self.subject {
            Subject::Hierarchy(_) => format!("node {}", i + 1),
            Subject::Table(table) => table.names[i].to_owned(),
        };
        let differing = (0..step.len()).filter(|&i| step[i] != 0);
        let words =
            differing.map(|i| format!("{}: {} -> {}", name(i), self.counts[i], self.counts[i] + step[i]));
        PaidRow {
            cell: self.cell,
            component: 1,
            entries: self.counts.len() as u64,
            scope: "attained".into(),
            change: change.to_owned(),
            tables: pairs + 1,
            pairs: 2 * pairs,
            gamma: paid.loss / paid.charged - 1.0,
            gamma_bound: 0.0,
            log_ratio: paid.loss - paid.charged,
            loss: paid.charged,
            loss_conditioned: paid.loss,
            pair: words.collect::<Vec<_>>().join(", "),
        }
    }
}
