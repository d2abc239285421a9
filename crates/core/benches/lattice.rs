//! Speed on tables: the 4 × 4 table with both margins, 14 records in three sets, 3,143 counties in 51 states, beside
//! the machine's raw word rate.
//!
//! Limits are ratios inside one run: the last lines compare every median with the time of one
//! xoshiro256++ word. `scripts/bench` runs it.

mod shapes;
mod words;

use congenial_core::exact::{ExactLattice, LatticeExact, LatticeScratch};
use congenial_core::invariant::{Inequalities, Linear, Region};
use congenial_core::kernel::{Coupled, LANES, Lanes, LatticeGibbs, LatticeMetropolis, Pairs, Start};
use congenial_core::lattice::BasisKind;
use congenial_core::law::{DiscreteGaussian, DoubleGeometric, EuclideanLaplace};
use criterion::{BenchmarkGroup, Criterion, measurement::WallTime};
use shapes::{counties, records, rng};
use std::hint::black_box;
use words::{bench_words, print_ratios};

/// Steps of one iteration.
const STEPS: u64 = 1000;
/// Scales at which chains must be as fast.
const SCALES: [f64; 4] = [0.5, 4.0, 40.0, 4000.0];
/// Words of a step of line Gibbs at most: discrete Gaussian, l2.
const LIMITS: [(&str, f64); 2] = [("gaussian", 90.0), ("l2", 200.0)];

fn chain<K: Coupled>(group: &mut BenchmarkGroup<WallTime>, name: &str, kernel: &K) {
    let mut rng = rng();
    let (mut state, mut noise) = (kernel.start(Start::default(), &mut rng).expect("a start"), kernel.noise());
    let mut step = || {
        kernel.draw(&mut rng, &mut noise);
        kernel.apply(&mut state, &noise)
    };
    black_box((0..20 * STEPS).filter(|_| step()).count());
    group.bench_function(name, |b| b.iter(|| black_box((0..STEPS).filter(|_| step()).count())));
}

/// Coupled steps of pairs that have not met: pairs that meet start again.
fn coupled<K: Coupled<Value = i64>>(group: &mut BenchmarkGroup<WallTime>, name: &str, kernel: &K) {
    let mut rng = rng();
    let (mut x, mut y) = (
        kernel.start(Start::default(), &mut rng).expect("a start"),
        kernel.start(Start::default(), &mut rng).expect("a start"),
    );
    let (mut a, mut b) = (kernel.noise(), kernel.noise());
    group.bench_function(name, |bencher| {
        bencher.iter(|| {
            for _ in 0..STEPS {
                kernel.draw_pair(&mut rng, (&x, &y), (&mut a, &mut b));
                kernel.apply(&mut x, &a);
                kernel.apply(&mut y, &b);
                if kernel.position(&x) == kernel.position(&y) {
                    y = kernel.start(Start::default(), &mut rng).expect("a start");
                }
            }
        });
    });
}

/// Steps of chains side by side; those that grow too large for that start again.
fn lanes<K: Coupled>(group: &mut BenchmarkGroup<WallTime>, name: &str, kernel: &K) {
    let mut rng = rng();
    let mut lanes = kernel.lanes().expect("a kernel with lanes");
    let mut load = |lanes: &mut dyn Lanes<K>, lane| {
        let start = kernel.start(Start::default(), &mut rng).expect("a start");
        assert!(lanes.load(lane, &start, &rng));
    };
    (0..LANES).for_each(|lane| load(&mut *lanes, lane));
    let mut run = || {
        let mut left = STEPS;
        while left > 0 {
            left -= lanes.run(left);
            for lane in 0..LANES {
                if lanes.has_left(lane) {
                    load(&mut *lanes, lane);
                }
            }
        }
    };
    (0..20).for_each(|_| run());
    group.bench_function(name, |b| b.iter(&mut run));
}

/// Coupled steps of pairs side by side; those that meet start again.
fn pairs<K: Coupled>(group: &mut BenchmarkGroup<WallTime>, name: &str, kernel: &K) {
    let mut rng = rng();
    let mut pairs = kernel.pairs().expect("a kernel with lanes");
    let mut load = |pairs: &mut dyn Pairs<K>, lane| {
        let mut start = || kernel.start(Start::default(), &mut rng).expect("a start");
        let (x, y) = (start(), start());
        assert!(pairs.load(lane, (&x, &y), &rng));
    };
    (0..LANES).for_each(|lane| load(&mut *pairs, lane));
    let mut run = || {
        let mut left = STEPS;
        while left > 0 {
            left -= pairs.run(left);
            for lane in 0..LANES {
                if pairs.has_met(lane) || pairs.has_left(lane) {
                    load(&mut *pairs, lane);
                }
            }
        }
    };
    group.bench_function(name, |b| b.iter(&mut run));
}

fn exact<L: ExactLattice>(
    group: &mut BenchmarkGroup<WallTime>,
    name: &str,
    invariant: &Linear,
    region: Option<&Region>,
    law: L,
) {
    let sampler = LatticeExact::new(invariant, region, law).expect("served");
    let (mut rng, mut scratch, mut noise) = (rng(), LatticeScratch::default(), vec![0; invariant.entries()]);
    group.bench_function(name, |b| b.iter(|| sampler.draw(&mut rng, &mut scratch, black_box(&mut noise))));
    invariant.check(&noise).expect("exact keeps the invariant");
}

fn benches(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("lattice");
    let (l1, l2) =
        (DoubleGeometric::new(4.0).expect("a scale"), EuclideanLaplace::new(4.0).expect("a scale"));
    let gaussian = DiscreteGaussian::new(12.0).expect("a scale");
    let table = Linear::margins(4, 4).expect("a table");
    let a = libm::exp(-1.0);
    let smith = |a| LatticeMetropolis::new(&table, l1, a, BasisKind::Smith).expect("a lattice");
    bench_words(&mut group, "words");
    chain(&mut group, "lattice-metropolis l1", &smith(a));
    coupled(&mut group, "lattice-metropolis l1 coupled", &smith(a));
    lanes(&mut group, "lattice-metropolis l1 side by side", &smith(a));
    pairs(&mut group, "lattice-metropolis l1 coupled side by side", &smith(a));
    let metropolis = LatticeMetropolis::new(&table, l2, a * a, BasisKind::Smith).expect("a lattice");
    chain(&mut group, "lattice-metropolis l2", &metropolis);
    coupled(&mut group, "lattice-metropolis l2 coupled", &metropolis);
    lanes(&mut group, "lattice-metropolis l2 side by side", &metropolis);
    pairs(&mut group, "lattice-metropolis l2 coupled side by side", &metropolis);
    chain(&mut group, "line-gibbs l1", &LatticeGibbs::new(&table, None, l1).expect("a lattice"));
    coupled(&mut group, "line-gibbs l1 coupled", &LatticeGibbs::new(&table, None, l1).expect("a lattice"));
    chain(&mut group, "line-gibbs gaussian", &LatticeGibbs::new(&table, None, gaussian).expect("a lattice"));
    chain(&mut group, "line-gibbs l2", &LatticeGibbs::new(&table, None, l2).expect("a lattice"));
    bench_words(&mut group, "words-scales");
    for scale in SCALES {
        let gaussian = DiscreteGaussian::new(scale).expect("a scale");
        let kernel = LatticeGibbs::new(&table, None, gaussian).expect("a lattice");
        chain(&mut group, &format!("line-gibbs gaussian {scale}"), &kernel);
        let l2 = EuclideanLaplace::new(scale).expect("a scale");
        let kernel = LatticeGibbs::new(&table, None, l2).expect("a lattice");
        chain(&mut group, &format!("line-gibbs l2 {scale}"), &kernel);
    }
    bench_words(&mut group, "words-exact");
    exact(&mut group, "exact l1", &table, None, l1);
    exact(&mut group, "exact l2", &table, None, l2);
    exact(&mut group, "exact gaussian", &table, None, gaussian);
    exact(&mut group, "exact 14 records l1", &records(), None, l1);
    for side in [5, 10] {
        let table = Linear::margins(side, side).expect("a table");
        exact(&mut group, &format!("exact {side}x{side} l1"), &table, None, l1);
    }
    let counts: Vec<i64> = (0..16).map(|i| i % 5).collect();
    let region = Inequalities::nonnegative(16).around(&counts).expect("counts >= 0");
    exact(&mut group, "exact l1 >= 0", &table, Some(&region), l1);
    let law = DoubleGeometric::new(1.0 / 0.192).expect("a scale");
    bench_words(&mut group, "words-counties");
    exact(&mut group, "exact counties", &counties(), None, law);
    group.finish();
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    benches(&mut criterion);
    criterion.final_summary();
    let steps = STEPS as f64;
    let line = |name: &str, units: f64, limit: Option<f64>| (name.to_owned(), units, limit);
    print_ratios(
        "lattice",
        "words",
        "step",
        &[
            line("lattice-metropolis l1", steps, Some(45.0)),
            line("lattice-metropolis l1 coupled", steps, Some(180.0)),
            line("lattice-metropolis l2", steps, Some(45.0)),
            line("lattice-metropolis l2 coupled", steps, Some(180.0)),
            line("lattice-metropolis l1 side by side", steps * LANES as f64, Some(15.0)),
            line("lattice-metropolis l1 coupled side by side", steps * LANES as f64, Some(45.0)),
            line("lattice-metropolis l2 side by side", steps * LANES as f64, Some(20.0)),
            line("lattice-metropolis l2 coupled side by side", steps * LANES as f64, None),
            line("line-gibbs l1", steps, Some(60.0)),
            line("line-gibbs l1 coupled", steps, None),
            line("line-gibbs gaussian", steps, Some(LIMITS[0].1)),
            line("line-gibbs l2", steps, Some(LIMITS[1].1)),
        ],
    );
    let scales = LIMITS.map(|(law, limit)| {
        SCALES.map(|scale| line(&format!("line-gibbs {law} {scale}"), steps, Some(limit)))
    });
    print_ratios("lattice", "words-scales", "step", &scales.concat());
    let draws = [
        line("exact l1", 1.0, Some(2000.0)),
        line("exact 14 records l1", 1.0, Some(2000.0)),
        line("exact 5x5 l1", 1.0, None),
        line("exact 10x10 l1", 1.0, None),
        line("exact l1 >= 0", 1.0, None),
        line("exact l2", 1.0, None),
        line("exact gaussian", 1.0, None),
    ];
    print_ratios("lattice", "words-exact", "draw", &draws);
    print_ratios("lattice", "words-counties", "county", &[line("exact counties", 3143.0, Some(40.0))]);
}
