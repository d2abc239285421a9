//! Box plots as numbers.

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
    /// Of at least one value; their order changes. Quantiles are interpolated between order statistics at `p (n - 1)`
    /// (type 7 of Hyndman and Fan 1996).
    pub fn of(values: &mut [f64]) -> Self {
        let mut quantile = |p: f64| {
            let at = p * (values.len() - 1) as f64;
            let (_, &mut low, above) = values.select_nth_unstable_by(at as usize, f64::total_cmp);
            let high = above.iter().copied().min_by(f64::total_cmp).unwrap_or(low);
            low + (at - libm::floor(at)) * (high - low)
        };
        let (q1, median, q3) = (quantile(0.25), quantile(0.5), quantile(0.75));
        let reach = 1.5 * (q3 - q1);
        let within = || values.iter().copied().filter(|&x| x >= q1 - reach && x <= q3 + reach);
        Self {
            whisker_low: within().min_by(f64::total_cmp).unwrap_or(q1),
            q1,
            median,
            q3,
            whisker_high: within().max_by(f64::total_cmp).unwrap_or(q3),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_by_hand() {
        // R: boxplot.stats and quantile(c(1, 2, 3, 4, 100)).
        let plot = BoxPlot::of(&mut [100.0, 3.0, 1.0, 4.0, 2.0]);
        let want = BoxPlot { whisker_low: 1.0, q1: 2.0, median: 3.0, q3: 4.0, whisker_high: 4.0 };
        assert_eq!(plot, want);
        assert_eq!(BoxPlot::of(&mut [7.0]).whisker_high, 7.0);
        assert_eq!(BoxPlot::of(&mut [1.0, 2.0]).q1, 1.25);
    }
}
