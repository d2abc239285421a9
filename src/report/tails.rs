//! Tails of the noise's norm under their bounds.

use super::collect::{Line, Report};
use super::render::{Format, heading, table};
use crate::privacy::LatticeShape;

/// Shares of releases, and values of the bound, at which both are compared.
const SHARES: [f64; 4] = [0.5, 0.1, 0.01, 0.001];
const BOUNDS: [f64; 3] = [0.9, 0.1, 0.01];

/// Theorem 12 (ℓ2 law) and 15 (Gaussian laws) of Dharangutte, Gao, Gong, Yu, "Integer subspace differential
/// privacy", for methods that draw the law itself.
pub(super) fn pages(report: &Report, format: Format) -> String {
    let mut out = String::new();
    for (i, (_, manifest)) in report.runs.iter().enumerate() {
        let Some(lattice) = manifest.lattice else { continue };
        let shape = LatticeShape { dimension: lattice.dimension, log_volume: lattice.log_volume };
        let name = report.run_name(i);
        for line in report.lines.iter().filter(|line| line.label.run == name) {
            let conditioned =
                matches!(line.label.method.as_str(), "exact" | "klein" | "line-gibbs" | "lattice-metropolis");
            let bound: Box<dyn Fn(f64) -> f64> = match line.label.law.as_str() {
                "l2" => Box::new(|t| shape.laplace_tail(1.0 / line.scale, t)),
                "generalized-gaussian" | "discrete-gaussian" => {
                    Box::new(|t| shape.gaussian_tail(line.scale, t))
                }
                _ => continue,
            };
            if conditioned {
                out += &tail_table(line, &shape, bound, format);
            }
        }
    }
    out
}

fn tail_table(line: &Line, shape: &LatticeShape, bound: impl Fn(f64) -> f64, format: Format) -> String {
    let mut norms = line.norms.clone();
    norms.sort_by(f64::total_cmp);
    let n = norms.len();
    let mut places: Vec<f64> = SHARES
        .iter()
        .filter(|&&share| share * n as f64 >= 5.0)
        .map(|share| norms[n - 1 - (share * n as f64) as usize])
        .collect();
    // The bound rises to 1 and falls from where it leaves it: the last t with each value, by doubling and halving.
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
    let mut above = Vec::new();
    let rows = places
        .iter()
        .map(|&t| {
            let p = (n - norms.partition_point(|&x| x < t)) as f64 / n as f64;
            let se = (p * (1.0 - p) / n as f64).sqrt();
            if p - 3.0 * se > bound(t) {
                above.push(t);
            }
            // None seen: three expected are seen with probability 0.95.
            let share =
                if p > 0.0 { format!("{p:.5} ± {se:.5}") } else { format!("0 (< {:.5})", 3.0 / n as f64) };
            vec![format!("{t:.1}"), share, format!("{:.5}", bound(t))]
        })
        .collect();
    let header = ["t", "P(‖z‖₂ >= t)", "bound"].map(str::to_owned).into();
    let verdict = if above.is_empty() {
        "The share lies under the bound at every t.\n\n".to_owned()
    } else {
        format!("The share lies ABOVE the bound at t = {above:?}.\n\n")
    };
    let title = format!(
        "Tail of {}, {}, {} (scale {:.4}, {} free dimensions): {n} releases under the bound min(1, K t^m exp(-energy)); in \
         brackets the 95 % limit where none was seen",
        line.label.run,
        line.label.method_words(),
        line.label.noise_words(),
        line.scale,
        shape.dimension
    );
    heading(&title, format) + &table(header, rows, format) + &verdict
}
