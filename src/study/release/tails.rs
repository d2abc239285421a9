//! Tails of the noise's norm under their bounds.

use crate::catalogue::Family;
use crate::failure::Result;
use crate::grid::Cell;
use crate::page::{Column, Page};
use crate::privacy::NormTail;
use crate::study::tell::records::Named;
use crate::table;
use crate::table::Key;

table! {
    /// Releases of a table under the l2 and Gaussian laws by methods that draw the law itself: rows per cell and norm
    /// t, at quantiles of the norms and where the bound has certain values. The bound: Theorems 12 (l2) and 15
    /// (Gaussian) of Dharangutte, Gao, Gong, Yu, "Integer subspace differential privacy".
    pub struct TailRow in "tails.parquet" {
        /// the cell, in `cells.parquet`
        cell: Key;
        /// a norm
        t: f64, "counts";
        /// the first of the cell, at most 100,000
        releases: u64;
        /// of them whose L2 error is at least t
        share: f64;
        /// its standard error
        share_se: f64;
        /// `min(1, K t^m exp(-energy))` from the t on from which it is proved (`congenial::privacy::NormTail`), 1 below
        bound: f64, "probability";
    }
}

/// Shares of releases, and values of the bound, at which both are compared.
const SHARES: [f64; 4] = [0.5, 0.1, 0.01, 0.001];
const BOUNDS: [f64; 3] = [0.9, 0.1, 0.01];

/// Releases of a cell whose norms are kept.
pub(super) const NORMS: usize = 100_000;

/// Whether a cell draws a law whose tail has a bound.
pub(super) fn bounded(cell: &Cell) -> bool {
    let law = matches!(cell.at.law.family(), Family::Euclidean | Family::DiscreteGaussian);
    law && cell.at.method.kind().facts().has_tails
}

/// The rows of a cell; `norms`: of its releases.
pub(super) fn rows(cell: &Cell, tail: &NormTail, mut norms: Vec<f64>) -> Vec<TailRow> {
    if norms.is_empty() {
        return Vec::new();
    }
    let scale = cell.calibration.scales[0];
    let bound = |t: f64| match cell.at.law.family() == Family::Euclidean {
        true => tail.laplace(1.0 / scale, t),
        false => tail.gaussian(scale, t),
    };
    norms.sort_unstable_by(f64::total_cmp);
    let n = norms.len();
    let mut places: Vec<f64> = SHARES
        .iter()
        .filter(|&&share| share * n as f64 >= 5.0)
        .map(|share| norms[n - 1 - (share * n as f64) as usize])
        .collect();
    // The bound is 1 and falls from where it leaves it: the first t below each value, by doubling and halving.
    for value in BOUNDS {
        let mut high = norms[n - 1].max(1.0);
        while bound(high) > value {
            high *= 2.0;
        }
        let mut low = high / 2.0;
        while bound(low) <= value && low > 1e-3 {
            low /= 2.0;
        }
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if bound(middle) > value { low = middle } else { high = middle }
        }
        places.push(high);
    }
    places.sort_by(f64::total_cmp);
    let row = |t: f64| {
        let share = (n - norms.partition_point(|&x| x < t)) as f64 / n as f64;
        let share_se = (share * (1.0 - share) / n as f64).sqrt();
        TailRow { cell: Key(cell.key), t, releases: n as u64, share, share_se, bound: bound(t) }
    };
    places.into_iter().map(row).collect()
}

/// A table for each cell.
pub(super) fn pages(run: &Named) -> Result<Page> {
    let Some(lattice) = run.run.manifest.lattice else { return Ok(Page::default()) };
    let mut page = Page::default();
    for (cell, rows) in run.by_cell(|row: &TailRow| row.cell)? {
        let above: Vec<f64> =
            rows.iter().filter(|row| row.share - 3.0 * row.share_se > row.bound).map(|row| row.t).collect();
        let n = rows[0].releases;
        // None seen: three expected are seen with probability 0.95.
        let share = |row: &TailRow| match row.share > 0.0 {
            true => format!("{:.5} ± {:.5}", row.share, row.share_se),
            false => format!("0 (< {:.5})", 3.0 / n as f64),
        };
        let columns: &[Column<TailRow>] = &[
            ("t", &|row| format!("{:.1}", row.t)),
            ("P(‖z‖₂ >= t)", &share),
            ("bound", &|row| format!("{:.5}", row.bound)),
        ];
        let verdict = if above.is_empty() {
            "The share lies under the bound at every t.".to_owned()
        } else {
            format!("The share lies ABOVE the bound at t = {above:?}.")
        };
        let title = format!(
            "Tail of {}, {}, {} (scale {:.4}, {} free dimensions): {n} releases",
            run.name,
            cell.method_words(),
            cell.noise_words(),
            cell.scale,
            lattice.dimension
        );
        page = page.and(Page::headed(title)
            .text("The bound is min(1, K t^m exp(-energy)) from the t on from which it is proved, and 1 below; in \
                brackets the 95 % limit where none was seen.")
            .listed(1, &rows, columns)
            .text(verdict));
    }
    Ok(run.with_failed(page))
}
