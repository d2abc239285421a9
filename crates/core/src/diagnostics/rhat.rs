//! Rank-normalised split R-hat.

use super::split::Split;

/// Rank-normalised split R-hat: the larger of the bulk and the tail (folded) value.
///
/// Every chain is cut into halves; all values are replaced by normal scores of their ranks; then
/// `R-hat = sqrt((W (n-1)/n + B/n)/W)` from the variances within (W) and between (B) halves. Folding repeats it on distances from
/// the median.
///
/// - `chains`: at least two, of equal length >= 4.
/// - Returns `None` for other input or values that do not vary, infinity for chains that each stand still
///   in different places.
///
/// Vehtari, Gelman, Simpson, Carpenter, Bürkner (2021), Rank-normalization, folding, and localization.
///
/// # Examples
///
/// ```
/// use congenial_core::diagnostics::rank_normalised_split_rhat;
/// use congenial_core::rng::{Role, TaskKey, normal, stream};
///
/// let chain = |replicate, mean: f64| -> Vec<f64> {
///     let mut rng = stream(TaskKey { seed: 1, cell: 0, replicate, role: Role::Moves });
///     (0..1000).map(|_| mean + normal(&mut rng)).collect()
/// };
/// let (a, b, far) = (chain(0, 0.0), chain(1, 0.0), chain(2, 3.0));
/// assert!(rank_normalised_split_rhat(&[&a, &b]).unwrap() < 1.01);
/// assert!(rank_normalised_split_rhat(&[&a, &far]).unwrap() > 1.5);
/// assert_eq!(rank_normalised_split_rhat(&[&a]), None);
/// ```
pub fn rank_normalised_split_rhat(chains: &[&[f64]]) -> Option<f64> {
    let split = Split::of(chains).filter(|_| chains.len() > 1)?;
    let bulk = rhat(&split.scores())?;
    Some(rhat(&split.folded().scores()).map_or(bulk, |tail| tail.max(bulk)))
}

fn rhat(halves: &Split) -> Option<f64> {
    let n = halves.length as f64;
    let halves = halves.chains();
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
        assert_eq!(rank_normalised_split_rhat(&[&[1.0; 8], &[1.0; 8]]), None);
        assert_eq!(rank_normalised_split_rhat(&[&a]), None);
        assert_eq!(rank_normalised_split_rhat(&[&[1.0; 8], &[2.0; 8]]), Some(f64::INFINITY));
    }
}
