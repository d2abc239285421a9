//! Speed on the taxi hierarchy (263 zones, 6 boroughs), beside the machine's raw word rate.
//!
//! Limits are ratios inside one run: the last lines compare every median with the time of one
//! xoshiro256++ word. `scripts/bench` runs it.

mod shapes;
mod words;

use congenial_core::exact::{IntegerTree, LaplaceTree, PartsScratch};
use congenial_core::imaging::{L2, TopDown, TopDownScratch};
use congenial_core::inference::{Posterior, Prior, Weight};
use congenial_core::kernel::{HierarchicalMh, Kernel, LineGibbs};
use congenial_core::law::{DoubleGeometric, Laplace, Law, Sampler};
use criterion::{BenchmarkGroup, Criterion, measurement::WallTime};
use shapes::{rng, taxi};
use std::hint::black_box;
use words::{bench_words, print_ratios};

const NODES: f64 = 270.0;

fn chain<K: Kernel>(
    group: &mut BenchmarkGroup<WallTime>,
    name: &str,
    kernel: &K,
    start: &[K::Value],
    steps: u64,
) {
    let mut rng = rng();
    let (mut state, mut noise) = (kernel.init(start), kernel.noise());
    let mut moves = |steps: u64| {
        (0..steps)
            .filter(|_| {
                kernel.draw(&mut rng, &mut noise);
                kernel.apply(&mut state, &noise)
            })
            .count()
    };
    assert!(moves(100 * steps) > 0, "{name} does not move");
    group.bench_function(name, |b| b.iter(|| black_box(moves(steps))));
}

fn benches(criterion: &mut Criterion) {
    let tree = taxi();
    let mut group = criterion.benchmark_group("taxi");
    for epsilon in [0.5, 2.0] {
        bench_words(&mut group, &format!("words-{epsilon}"));
        let law = DoubleGeometric::new(1.0 / epsilon).expect("a scale");
        let (laws, sampler) = ([law; 3], law.sampler());
        let real = [Laplace::new(1.0 / epsilon).expect("a scale"); 3];
        let mut rng = rng();
        let mut noise = vec![0i64; tree.nodes()];
        let mut real_noise = vec![0.0; tree.nodes()];
        group.bench_function(format!("double-geometric-{epsilon}"), |b| {
            b.iter(|| noise.iter_mut().for_each(|z| *z = sampler.draw(&mut rng)));
        });
        let exact = IntegerTree::new(&tree, &laws, None).expect("small tables").for_draws();
        let mut scratch = PartsScratch::default();
        exact.draw(&mut rng, &mut scratch, &mut noise);
        tree.check(&noise).expect("exact keeps the invariant");
        group.bench_function(format!("exact-{epsilon}"), |b| {
            b.iter(|| exact.draw(&mut rng, &mut scratch, &mut noise));
        });
        let exact = LaplaceTree::new(&tree, &real).expect("three levels");
        let mut scratch = Vec::new();
        group.bench_function(format!("exact-laplace-{epsilon}"), |b| {
            b.iter(|| exact.draw(&mut rng, &mut scratch, &mut real_noise));
        });
        // Chains start from free noise: from the truth itself hierarchical-mh would not move.
        let start: Vec<i64> = noise.iter().map(|_| law.sample(&mut rng)).collect();
        let real_start: Vec<f64> = start.iter().map(|&z| z as f64).collect();
        let gibbs = LineGibbs::new(&tree, &laws, None).expect("three levels");
        chain(&mut group, &format!("line-gibbs-{epsilon}"), &gibbs, &start, gibbs.sweep());
        let gibbs = LineGibbs::new(&tree, &real, None).expect("three levels");
        chain(&mut group, &format!("line-gibbs-laplace-{epsilon}"), &gibbs, &real_start, gibbs.sweep());
        let mh = |laws| HierarchicalMh::default_proposal(&tree, laws);
        let kernel = HierarchicalMh::new(&tree, &laws, mh(&laws), None).expect("three levels");
        chain(&mut group, &format!("hierarchical-mh-{epsilon}"), &kernel, &start, 1);
        let l2 = L2::new(&tree, &[law.variance(); 3]).expect("three levels");
        group.bench_function(format!("l2-{epsilon}"), |b| {
            b.iter(|| {
                real_noise.iter_mut().for_each(|z| *z = real[0].sample(&mut rng));
                l2.project(&mut real_noise);
            });
        });
        // Counts of the taxi kind: a few large zones, many small ones.
        let mut counts: Vec<i64> = (0..tree.nodes() as i64).map(|v| (v * 7919 % 263).pow(2)).collect();
        tree.sum_up(&mut counts);
        let topdown = TopDown::new(&tree, &counts);
        let (mut noisy, mut released) = (vec![0i64; tree.nodes()], vec![0i64; tree.nodes()]);
        let mut scratch = TopDownScratch::default();
        group.bench_function(format!("topdown-{epsilon}"), |b| {
            b.iter(|| {
                for (y, &x) in noisy.iter_mut().zip(&counts) {
                    *y = x + sampler.draw(&mut rng);
                }
                topdown.release(&noisy, &mut rng, &mut scratch, &mut released);
            });
        });
        tree.check(&released).expect("topdown keeps the invariant");
        let values: Vec<f64> = noisy.iter().map(|&y| y as f64).collect();
        let weights = [Weight::Exponential(1.0 / epsilon); 3];
        let priors = vec![Prior::NONNEGATIVE; tree.leaves().len()];
        let posterior = Posterior::on_tree(&tree, &weights, &values, &priors).expect("small tables");
        // As of thousands of draws: most splits were seen before.
        (0..2000).for_each(|_| posterior.draw(&mut rng, &mut released));
        tree.check(&released).expect("draws add up");
        group.bench_function(format!("posterior-{epsilon}"), |b| {
            b.iter(|| posterior.draw(&mut rng, &mut released));
        });
    }
    group.finish();
}

fn ratios() {
    let limits = [
        ("double-geometric", Some(3.0)),
        ("exact", Some(8.0)),
        ("exact-laplace", None),
        ("line-gibbs", Some(60.0)),
        ("line-gibbs-laplace", Some(60.0)),
        ("hierarchical-mh", Some(4.0)),
        ("l2", None),
        ("topdown", Some(13.0)),
        ("posterior", Some(14.0)),
    ];
    for epsilon in ["0.5", "2"] {
        let lines: Vec<_> =
            limits.iter().map(|(name, limit)| (format!("{name}-{epsilon}"), NODES, *limit)).collect();
        print_ratios("taxi", &format!("words-{epsilon}"), "node", &lines);
    }
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    benches(&mut criterion);
    criterion.final_summary();
    ratios();
}
