//! Diagnostics of chains beside those of ArviZ on the same draws, which `scripts/arviz` wrote (version 0.23.4).

use congenial_core::diagnostics::{
    bulk_ess, mcse_mean, mcse_quantile, mean_ess, rank_normalised_split_rhat, tail_ess,
};

fn rows(text: &str) -> impl Iterator<Item = (&str, Vec<f64>)> {
    text.lines().map(|line| {
        let mut fields = line.split(',');
        let name = fields.next().unwrap();
        (name, fields.map(|x| x.parse().unwrap()).collect())
    })
}

#[test]
fn figures_are_those_of_arviz() {
    let traces: Vec<_> = rows(include_str!("../data/arviz/traces.csv")).collect();
    let figures = include_str!("../data/arviz/figures.csv");
    let (header, figures) = figures.split_once('\n').unwrap();
    assert_eq!(header, "trace,rhat,bulk,tail,mean,mcse_mean,mcse_median");
    let mut compared = 0;
    for (name, want) in rows(figures) {
        let chains: Vec<&[f64]> =
            traces.iter().filter(|(trace, _)| *trace == name).map(|(_, chain)| &chain[..]).collect();
        let got = [
            rank_normalised_split_rhat(&chains),
            bulk_ess(&chains),
            tail_ess(&chains),
            mean_ess(&chains),
            mcse_mean(&chains),
            mcse_quantile(&chains, 0.5),
        ];
        for (what, (got, want)) in header.split(',').skip(1).zip(got.into_iter().zip(want)) {
            let got = got.unwrap_or(f64::NAN);
            let close = (got.is_nan() && want.is_nan()) || (got - want).abs() <= 1e-8 * want.abs();
            assert!(close, "{name}, {what}: {got}, ArviZ {want}");
            compared += 1;
        }
    }
    assert_eq!(compared, 60);
}
