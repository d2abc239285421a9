//! Rank-normalised split R-hat.

use crate::rng::normal_quantile;

/// Rank-normalised split R-hat: the larger of the bulk and the tail (folded) value.
///
/// Every chain is cut into halves; all values are replaced by normal scores of their ranks,
/// `Φ⁻¹((rank - 3/8)/(S + 1/4))`, ties by their average rank; then `R-hat = sqrt((W (n-1)/n + B/n)/W)` from
/// the variances within (W) and between (B) halves. Folding repeats it on distances from the median.
///
/// - `chains`: at least one, of equal length >= 4.
/// - Returns `None` for other input or values that do not vary, infinity for chains that each stand still
///   in different places.
///
/// Vehtari, Gelman, Simpson, Carpenter, Bürkner (2021), Rank-normalization, folding, and localization.
pub fn rank_normalised_split_rhat(chains: &[&[f64]]) -> Option<f64> {
    let length = chains.first()?.len();
    if length < 4 || chains.iter().any(|chain| chain.len() != length) {
        return None;
    }
    let half = length / 2;
    let values: Vec<f64> = chains
        .iter()
        .flat_map(|chain| chain[..half].iter().chain(&chain[length - half..]).copied())
        .collect();
    let mut sorted = values.clone();
    sorted.sort_by(f64::total_cmp);
    let median = 0.5 * (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]);
    let folded: Vec<f64> = values.iter().map(|x| (x - median).abs()).collect();
    let bulk = rhat(&normal_scores(&values), half)?;
    Some(rhat(&normal_scores(&folded), half).map_or(bulk, |tail| tail.max(bulk)))
}

fn normal_scores(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut scores = vec![0.0; values.len()];
    let mut start = 0;
    for tied in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let rank = start as f64 + (tied.len() as f64 + 1.0) / 2.0;
        let score = normal_quantile((rank - 0.375) / (values.len() as f64 + 0.25));
        tied.iter().for_each(|&i| scores[i] = score);
        start += tied.len();
    }
    scores
}

fn rhat(values: &[f64], length: usize) -> Option<f64> {
    let n = length as f64;
    let halves = values.chunks_exact(length);
    let m = halves.len() as f64;
    let means: Vec<f64> = halves.clone().map(|half| half.iter().sum::<f64>() / n).collect();
    let within = halves
        .zip(&means)
        .map(|(half, mean)| half.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0))
        .sum::<f64>()
        / m;
    let grand = means.iter().sum::<f64>() / m;
    let between = means.iter().map(|mean| (mean - grand) * (mean - grand)).sum::<f64>() / (m - 1.0);
    if within > 1e-20 * between {
        Some(libm::sqrt((n - 1.0) / n + between / within))
    } else {
        // Chains that stand still, apart.
        (between > 0.0).then_some(f64::INFINITY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::normal;
    use crate::testing::test_stream;

    #[test]
    fn separates_mixed_from_unmixed() {
        let mut rng = test_stream(4);
        let mut chain = |shift: f64, scale: f64| -> Vec<f64> {
            (0..1000).map(|_| shift + scale * normal(&mut rng)).collect()
        };
        let (a, b, shifted, wide) = (chain(0.0, 1.0), chain(0.0, 1.0), chain(1.0, 1.0), chain(0.0, 3.0));
        assert!(rank_normalised_split_rhat(&[&a, &b]).unwrap() < 1.01);
        assert!(rank_normalised_split_rhat(&[&a, &shifted]).unwrap() > 1.1);
        // Same location, other scale: only the folded part sees it.
        assert!(rank_normalised_split_rhat(&[&a, &wide]).unwrap() > 1.1);
        assert_eq!(rank_normalised_split_rhat(&[&[1.0; 8]]), None);
    }
}
