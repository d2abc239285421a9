//! Box plots as numbers.

use std::ops::Range;

/// The quantile `p` of at least one value, interpolated between order statistics at `p (n - 1)` (type 7 of Hyndman and Fan 1996);
/// the order of the values changes.
///
/// # Examples
///
/// ```
/// use congenial_core::diagnostics::quantile;
///
/// let mut values = [4.0, 1.0, 3.0, 2.0];
/// assert_eq!([0.0, 0.25, 0.5, 1.0].map(|p| quantile(&mut values, p)), [1.0, 1.75, 2.5, 4.0]);
/// ```
pub fn quantile(values: &mut [f64], p: f64) -> f64 {
    quantile_within(values, p, &(0..values.len()))
}

/// The quantile `p` of values of which those in `range`, by order, are at their places, and among which it lies.
fn quantile_within(values: &mut [f64], p: f64, range: &Range<usize>) -> f64 {
    let at = p * (values.len() - 1) as f64;
    let nth = at as usize - range.start;
    let (_, &mut low, above) = values[range.clone()].select_nth_unstable_by(nth, f64::total_cmp);
    let high = above.iter().copied().min_by(f64::total_cmp).unwrap_or(low);
    low + (at - libm::floor(at)) * (high - low)
}

/// Five numbers of a sample, as a box plot shows them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoxPlot {
    /// The smallest value within 1.5 interquartile ranges below the first quartile (Tukey 1977).
    pub whisker_low: f64,
    /// First quartile.
    pub q1: f64,
    /// Median.
    pub median: f64,
    /// Third quartile.
    pub q3: f64,
    /// The largest value within 1.5 interquartile ranges above the third quartile.
    pub whisker_high: f64,
}

impl BoxPlot {
    /// Sums up at least one value; their order changes. Quantiles are interpolated between order statistics at
    /// `p (n - 1)` (type 7 of Hyndman and Fan 1996).
    pub fn of(values: &mut [f64]) -> Self {
        let n = values.len();
        let median = quantile(values, 0.5);
        // With the median in its place, what the other two are taken of lies on one side of it, unless there is next to nothing.
        let middle = n.div_ceil(2);
        let (lower, upper) = if n < 4 { (0..n, 0..n) } else { (0..middle, middle..n) };
        let (q1, q3) = (quantile_within(values, 0.25, &lower), quantile_within(values, 0.75, &upper));
        let reach = 1.5 * (q3 - q1);
        let low = values[lower].iter().copied().filter(|&x| x >= q1 - reach);
        let high = values[upper].iter().copied().filter(|&x| x <= q3 + reach);
        Self {
            whisker_low: low.min_by(f64::total_cmp).unwrap_or(q1),
            q1,
            median,
            q3,
            whisker_high: high.max_by(f64::total_cmp).unwrap_or(q3),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use crate::testing::test_stream;

    #[test]
    fn boxes_by_hand() {
        // R: boxplot.stats and quantile(c(1, 2, 3, 4, 100)).
        let plot = BoxPlot::of(&mut [100.0, 3.0, 1.0, 4.0, 2.0]);
        let want = BoxPlot { whisker_low: 1.0, q1: 2.0, median: 3.0, q3: 4.0, whisker_high: 4.0 };
        assert_eq!(plot, want);
        assert_eq!(BoxPlot::of(&mut [7.0]).whisker_high, 7.0);
        assert_eq!(BoxPlot::of(&mut [1.0, 2.0]).q1, 1.25);
    }

    /// Box plots are those by sorting, for samples of every small size, with ties.
    #[test]
    fn boxes_of_sorted_values() {
        let mut rng = test_stream(5);
        for case in 0..4000 {
            let n = 1 + case % 41;
            let mut values: Vec<f64> = (0..n).map(|_| (rng.next_u64() % 23) as f64 - 9.5).collect();
            let mut sorted = values.clone();
            sorted.sort_by(f64::total_cmp);
            let quantile = |p: f64| {
                let at = p * (n - 1) as f64;
                let (low, high) = (sorted[at as usize], sorted[(at as usize + 1).min(n - 1)]);
                low + at.fract() * (high - low)
            };
            let (q1, median, q3) = (quantile(0.25), quantile(0.5), quantile(0.75));
            let within = |x: &&f64| **x >= q1 - 1.5 * (q3 - q1) && **x <= q3 + 1.5 * (q3 - q1);
            let want = BoxPlot {
                whisker_low: *sorted.iter().find(within).unwrap(),
                q1,
                median,
                q3,
                whisker_high: *sorted.iter().rev().find(within).unwrap(),
            };
            assert_eq!(BoxPlot::of(&mut values), want, "{sorted:?}");
        }
    }
}
