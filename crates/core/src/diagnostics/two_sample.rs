//! Whether two samples are of one law.

/// The largest difference of two empirical distribution functions, of samples that are sorted.
///
/// # Examples
///
/// ```
/// use congenial_core::diagnostics::kolmogorov_smirnov;
///
/// assert_eq!(kolmogorov_smirnov(&[1.0, 2.0, 3.0, 4.0], &[3.0, 4.0, 5.0, 6.0]), 0.5);
/// assert_eq!(kolmogorov_smirnov(&[1.0, 2.0], &[1.0, 2.0]), 0.0);
/// ```
pub fn kolmogorov_smirnov(a: &[f64], b: &[f64]) -> f64 {
    let (mut i, mut j, mut largest) = (0, 0, 0.0f64);
    while i < a.len() && j < b.len() {
        let x = a[i].min(b[j]);
        while i < a.len() && a[i] <= x {
            i += 1;
        }
        while j < b.len() && b[j] <= x {
            j += 1;
        }
        largest = largest.max((i as f64 / a.len() as f64 - j as f64 / b.len() as f64).abs());
    }
    largest
}

/// Several statistics of two samples of draws, compared one by one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Agreement {
    /// The numbers of draws of both samples.
    pub draws: (u64, u64),
    /// The number of statistics that were compared.
    pub comparisons: u64,
    /// The largest two-sample Kolmogorov-Smirnov distance.
    pub distance: f64,
    /// `e exp(-2 distance² n m/(n + m))` times the comparisons, at most 1: an approximate bound on the probability of such a
    /// distance if both laws are the same.
    pub p: f64,
}

impl Agreement {
    /// Compares the statistics of `a` with those of `b`: the same ones, each a sorted sample.
    pub fn of(a: &[Vec<f64>], b: &[Vec<f64>]) -> Self {
        let distance = a.iter().zip(b).map(|(a, b)| kolmogorov_smirnov(a, b)).fold(0.0, f64::max);
        let draws = |samples: &[Vec<f64>]| samples.first().map_or(0, Vec::len);
        let (n, m) = (draws(a) as f64, draws(b) as f64);
        let p =
            std::f64::consts::E * libm::exp(-2.0 * distance * distance * n * m / (n + m)) * a.len() as f64;
        Self { draws: (n as u64, m as u64), comparisons: a.len() as u64, distance, p: p.min(1.0) }
    }

    /// The bound in words, for people.
    pub fn p_text(&self) -> String {
        match self.p {
            1.0 => "1".into(),
            p if p < 1e-300 => "< 1e-300".into(),
            p => format!("{p:.1e}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_of_samples() {
        let two = kolmogorov_smirnov;
        assert_eq!(two(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0]), 0.0);
        assert_eq!(two(&[1.0, 2.0], &[3.0, 4.0]), 1.0);
        assert_eq!(two(&[0.0, 0.0, 1.0, 1.0], &[0.0, 1.0, 1.0, 1.0]), 0.25);
        let agreement = Agreement::of(&[vec![1.0, 2.0], vec![0.0, 0.0]], &[vec![3.0, 4.0], vec![0.0, 0.0]]);
        assert_eq!((agreement.draws, agreement.comparisons, agreement.distance), ((2, 2), 2, 1.0));
        assert_eq!(agreement.p, (2.0 * libm::exp(1.0 - 2.0)).min(1.0));
    }
}
