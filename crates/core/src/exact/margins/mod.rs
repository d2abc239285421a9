//! Integer noise on two-way tables with both margins fixed: rows are proposed, two of them are fitted.
//!
//! Let row i be independent noise given that it sums to 0, with the law `T_i` on vectors. What is wanted is the law of
//! all rows given that every column sums to 0. All rows but two are drawn from their laws; let their columns sum to
//! `-s`. Two rows whose columns sum to `s` have the weight `T_ij(s) = Σ_t T_i(t) T_j(s - t) <= ‖T_i‖ ‖T_j‖` (Cauchy,
//! Schwarz). The rows are kept with the probability `T_ij(s) / (‖T_i‖ ‖T_j‖)`, else all are drawn again; then the two
//! rows are drawn given their columns' sums. The result has the law, whatever the size of the table and the scale: no
//! table over vectors of column sums is needed.
//!
//! Without bounds `T_ij` is `T_2`, its bound `T_2(0)`, and the share of proposals that is kept is `T_r(0)/T_2(0)` for r rows: near
//! `(2/(1.44 r))^((c - 1)/2)` for c columns: sums of many rows are near a normal law in c - 1 dimensions.

mod bounded;
mod free;
mod pair;

pub use bounded::{BoundedMargins, BoundedScratch};
pub use free::{MarginsScratch, MarginsTable};

use crate::error::{Error, Result};
use crate::rng::{Role, Stream, TaskKey, stream};

/// Entries that are proposed for one draw beyond which a sampler is refused.
const MAX_PROPOSED: f64 = 1e7;

/// By how much, a column, the sum of two rows is likelier at 0 than a normal law of its variance, and that of many rows is not: measured.
const PEAK: f64 = 1.2;

/// Entries by row, rows and columns exchanged where that keeps more proposals.
fn by_row(entries: &[u32], (rows, columns): (usize, usize)) -> Vec<Vec<u32>> {
    if proposals(columns, rows) < proposals(rows, columns) {
        (0..columns).map(|j| (0..rows).map(|i| entries[i * columns + j]).collect()).collect()
    } else {
        entries.chunks(columns).map(<[u32]>::to_vec).collect()
    }
}

/// Proposals for one draw without bounds, nearly.
fn proposals(rows: usize, columns: usize) -> f64 {
    if rows <= 2 {
        return 1.0;
    }
    libm::pow(PEAK * libm::sqrt(rows as f64 / 2.0), columns as f64 - 1.0)
}

/// Refuses what takes too many proposals, nearly, with the nearest table that does not.
fn check_size(rows: usize, columns: usize) -> Result<()> {
    let proposed = |r: usize, c: usize| proposals(r, c).min(proposals(c, r)) * (r * c) as f64;
    let (long, short) = (rows.max(columns), rows.min(columns));
    let needed = proposed(rows, columns);
    if needed <= MAX_PROPOSED {
        return Ok(());
    }
    let nearest = (2..long).rev().find(|&r| proposed(r, short) <= MAX_PROPOSED);
    let nearest = nearest.map_or(String::new(), |r| format!(" ({r} × {short} would do)"));
    Err(too_many(format!("exact: a {rows} × {columns} table with margins{nearest}"), needed))
}

/// The share of proposals that is kept, as the mean over so many of a fixed stream; `entries`: all that are written.
fn mean_kept<'a>(
    trials: u64,
    entries: impl Iterator<Item = &'a u32>,
    mut propose: impl FnMut(&mut Stream, &mut [i64]) -> f64,
) -> f64 {
    let mut rng = stream(TaskKey { seed: 0, cell: 0, replicate: 0, role: Role::Noise });
    let mut noise = vec![0; entries.max().map_or(0, |&entry| entry as usize + 1)];
    (0..trials).map(|_| propose(&mut rng, &mut noise)).sum::<f64>() / trials as f64
}

/// Writes the two rows that are fitted: the first, and what it leaves of the columns' sums.
fn put_pair([top, bottom]: [&[u32]; 2], first: &[i64], sums: &[i64], noise: &mut [i64]) {
    for ((&top, &bottom), (&t, &s)) in top.iter().zip(bottom).zip(first.iter().zip(sums)) {
        noise[top as usize] = t;
        noise[bottom as usize] = s - t;
    }
}

fn too_many(what: String, needed: f64) -> Error {
    Error::TooLarge {
        what,
        needed: needed.min(1e18) as u64,
        limit: MAX_PROPOSED as u64,
        unit: "proposed entries a draw",
    }
}
