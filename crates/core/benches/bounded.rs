//! Speed under inequalities: the 2 × 23 table of "Congenial differential privacy" and non-negative least squares, beside
//! the machine's raw word rate and beside each other.
//!
//! Limits are ratios inside one run: an exact draw takes at most 40 words a cell and at most 1/50 of what the published
//! sampler, at its best proposal scale, needs for an effective draw of cell 1. `scripts/bench` runs it.

mod shapes;
mod words;

use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, NonnegativeConeT, ZeroConeT};
use congenial_core::diagnostics::bulk_ess;
use congenial_core::exact::{LatticeExact, LatticeScratch, Rejection, Source};
use congenial_core::imaging::{LatticeNnl2, Nnl2Scratch};
use congenial_core::invariant::{Inequalities, Linear};
use congenial_core::kernel::{Dispersed, LatticeGibbs, MetropolizedIndependence, Start};
use congenial_core::law::{DoubleGeometric, Law};
use criterion::{BenchmarkGroup, Criterion, measurement::WallTime};
use shapes::{rng, table};
use std::hint::black_box;
use words::{bench_words, median, print_ratios};

/// Proposal scales among which the best is taken.
const PROPOSALS: [f64; 4] = [0.5, 0.55, 0.6, 0.65];
/// Steps of one iteration.
const STEPS: u64 = 1000;
/// Steps over which the share of effective draws is measured.
const TRIAL: usize = 1_000_000;
/// Cells of the simplex.
const SIMPLEX: usize = 100_000;

/// Times steps; returns the effective draws of cell 1 for each step.
fn chain<K: Dispersed<Value = i64>>(
    group: &mut BenchmarkGroup<WallTime>,
    name: &str,
    kernel: &K,
    trial: usize,
) -> f64 {
    let mut rng = rng();
    let (mut state, mut noise) = (kernel.start(Start::default(), &mut rng).expect("a start"), kernel.noise());
    let mut trace = Vec::with_capacity(trial);
    for _ in 0..trial {
        kernel.draw(&mut rng, &mut noise);
        kernel.apply(&mut state, &noise);
        trace.push(kernel.position(&state)[0] as f64);
    }
    let effective = bulk_ess(&[&trace]).unwrap_or(f64::NAN) / trial as f64;
    group.bench_function(name, |b| {
        b.iter(|| {
            let step = |_: &u64| {
                kernel.draw(&mut rng, &mut noise);
                kernel.apply(&mut state, &noise)
            };
            black_box((0..STEPS).filter(step).count())
        });
    });
    effective
}

/// Solves the least squares of the simplex by the interior-point solver, from the numbers to the solution.
fn interior(u: &[f64], lower: &[f64], rows: &[Vec<u32>]) -> Vec<f64> {
    let n = u.len();
    let (mut places, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for (i, row) in rows.iter().enumerate() {
        for &cell in row {
            places.push(i);
            columns.push(cell as usize);
            values.push(1.0);
        }
    }
    let mut right = vec![0.0; rows.len()];
    for (i, lower) in lower.iter().enumerate() {
        places.push(rows.len() + i);
        columns.push(i);
        values.push(-1.0);
        right.push(-lower);
    }
    let matrix = CscMatrix::new_from_triplets(rows.len() + n, n, places, columns, values);
    let cones = [ZeroConeT(rows.len()), NonnegativeConeT(n)];
    let settings = DefaultSettings { verbose: false, max_threads: 1, ..DefaultSettings::default() };
    let linear: Vec<f64> = u.iter().map(|u| -u).collect();
    let mut solver = DefaultSolver::new(&CscMatrix::identity(n), &linear, &matrix, &right, &cones, settings)
        .expect("a problem");
    solver.solve();
    solver.solution.x
}

fn projections(group: &mut BenchmarkGroup<WallTime>) {
    let law = DoubleGeometric::new(1.0).expect("a scale");
    let mut rng = rng();
    let (invariant, region) = table();
    let rows: Vec<Vec<u32>> =
        invariant.rows().iter().map(|row| row.iter().map(|&(cell, _)| cell).collect()).collect();
    let simplex = Linear::total(SIMPLEX).expect("cells");
    let counts: Vec<i64> = (0..SIMPLEX as i64).map(|i| i % 7).collect();
    let floor = Inequalities::nonnegative(SIMPLEX).around(&counts).expect("counts >= 0");
    let all = vec![(0..SIMPLEX as u32).collect::<Vec<u32>>()];
    for (name, invariant, region, rows) in
        [("2x23", &invariant, &region, &rows), ("simplex", &simplex, &floor, &all)]
    {
        let projection = LatticeNnl2::new(invariant, region).expect("served");
        let noise: Vec<f64> = (0..invariant.entries()).map(|_| law.sample(&mut rng) as f64).collect();
        let (mut scratch, mut z) = (Nnl2Scratch::default(), noise.clone());
        group.bench_function(format!("nnl2 {name}"), |b| {
            b.iter(|| {
                z.copy_from_slice(&noise);
                projection.project(&mut scratch, black_box(&mut z)).expect("it converges");
            });
        });
        let lower: Vec<f64> = region.lower.of(noise.len()).into_iter().map(|x| x as f64).collect();
        let general = interior(&noise, &lower, rows);
        let apart = z.iter().zip(&general).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        println!("nnl2 {name}: largest difference to the general solver {apart:.1e}");
        group.bench_function(format!("general solver {name}"), |b| {
            b.iter(|| black_box(interior(&noise, &lower, rows)));
        });
    }
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let test = std::env::args().any(|argument| argument == "--test");
    let trial = if test { 1000 } else { TRIAL };
    let mut group = criterion.benchmark_group("bounded");
    group.sample_size(30);
    let law = DoubleGeometric::new(2.0).expect("a scale");
    let (invariant, region) = table();
    bench_words(&mut group, "words");
    let sampler = LatticeExact::new(&invariant, Some(&region), law).expect("served");
    let (mut rng, mut scratch, mut noise) = (rng(), LatticeScratch::default(), vec![0; 46]);
    group.bench_function("exact", |b| b.iter(|| sampler.draw(&mut rng, &mut scratch, black_box(&mut noise))));
    region.check(&noise).expect("exact keeps the bounds");
    let effective = PROPOSALS.map(|rate| {
        let kernel =
            MetropolizedIndependence::new(&invariant, Some(&region), law, rate, None).expect("served");
        chain(&mut group, &format!("mis {rate}"), &kernel, trial)
    });
    let gibbs = LatticeGibbs::new(&invariant, Some(&region), law).expect("served");
    let by_gibbs = chain(&mut group, "line-gibbs", &gibbs, trial);
    let rejection = Rejection::new(&invariant, &region, law, Source::Equations).expect("served");
    group.bench_function("rejection", |b| b.iter(|| rejection.draw(&mut rng, &mut scratch, &mut noise)));
    projections(&mut group);
    group.finish();
    criterion.final_summary();
    let line = |name: &str, units: f64, limit| (name.to_owned(), units, limit);
    print_ratios(
        "bounded",
        "words",
        "cell",
        &[line("exact", 46.0, Some(40.0)), line("rejection", 46.0, None)],
    );
    let Some(exact) = median("bounded", "exact") else { return };
    let per_effective = |name: &str, effective: f64| {
        let ns = median("bounded", name)? / STEPS as f64 / effective;
        println!("  {name}: {:.1} times an exact draw for an effective draw of cell 1", ns / exact);
        Some(ns / exact)
    };
    println!("\nbounded: an exact draw takes {exact:.0} ns");
    let times: Vec<f64> = PROPOSALS
        .iter()
        .zip(effective)
        .filter_map(|(rate, effective)| per_effective(&format!("mis {rate}"), effective))
        .collect();
    per_effective("line-gibbs", by_gibbs);
    let best = times.iter().copied().fold(f64::INFINITY, f64::min);
    let verdict = if best < 50.0 { ": TOO SLOW" } else { "" };
    println!("  the best of mis: {best:.0} (limit 50{verdict})");
    for name in ["2x23", "simplex"] {
        if let (Some(own), Some(general)) =
            (median("bounded", &format!("nnl2 {name}")), median("bounded", &format!("general solver {name}")))
        {
            println!(
                "  nnl2 {name}: {:.1} us, the general solver takes {:.0} times as long",
                own / 1e3,
                general / own
            );
        }
    }
}
