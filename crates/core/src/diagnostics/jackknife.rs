//! Standard errors by the jackknife.

/// Groups of chains that are left out in turn.
const GROUPS: usize = 8;

/// Standard error of a statistic of several chains that grows in proportion to their number, as an effective sample size does: the
/// jackknife, `sqrt((g - 1)/g Σ (s_i - mean s)²)` with the statistic s_i without group i, scaled to all chains. The chains are left
/// out in `g` groups, as many as there are, at most 8. NaN for fewer than 3 chains.
pub fn jackknife(chains: &[&[f64]], statistic: impl Fn(&[&[f64]]) -> f64) -> f64 {
    let all = chains.len();
    if all < 3 {
        return f64::NAN;
    }
    let groups = all.min(GROUPS);
    let without = |group: usize| {
        let (from, to) = (group * all / groups, (group + 1) * all / groups);
        let rest: Vec<&[f64]> = [&chains[..from], &chains[to..]].concat();
        statistic(&rest) * all as f64 / rest.len() as f64
    };
    let moments: super::Moments = (0..groups).map(without).collect();
    let g = groups as f64;
    // Σ (s_i - mean)² = (g - 1) deviation².
    (g - 1.0) / libm::sqrt(g) * moments.deviation()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For a sum of the chains' own figures it is the standard error of a sum: `sqrt(n)` times their standard deviation.
    #[test]
    fn sums_have_their_error() {
        let values = [[1.0], [4.0], [2.0], [7.0]];
        let chains: Vec<&[f64]> = values.iter().map(|x| &x[..]).collect();
        let got = jackknife(&chains, |some| some.iter().map(|chain| chain[0]).sum());
        let moments: crate::diagnostics::Moments = values.iter().map(|x| x[0]).collect();
        // Scaled sums of n - 1 are means of n - 1 times n.
        assert!((got - 2.0 * moments.deviation()).abs() < 1e-12, "{got}");
        assert!(jackknife(&chains[..2], |_| 1.0).is_nan());
    }
}
