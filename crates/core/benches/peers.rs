//! Kernels for `scripts/peers`, which times other libraries beside them: a line of standard input names one with its
//! sizes, a line of standard output answers with the seconds it took and what its results are to be checked by.
//!
//! - `noise LAW SCALE N`: N draws; their mean and mean square.
//! - `chain STEPS`: steps of the published chain on the 4 × 4 table, epsilon 0.25; the mean of ‖z‖₁.
//! - `chains STEPS`: the same steps of chains side by side, seen every 25 steps.
//! - `exact ROWS COLUMNS N`: exact draws of such a table; the mean of ‖z‖₁.
//! - `tree BRANCHES LEVELS N`: least squares on a tree with double geometric noise of scale 2 at every node; the mean
//!   square of the leaves after it.
//! - `simplex TOTAL Y…`: the closest non-negative point with that sum, a thousand times over; the point.

mod shapes;

use congenial_core::chain::{Chain, visit_all};
use congenial_core::exact::{LatticeExact, LatticeScratch};
use congenial_core::imaging::{L2, LatticeNnl2, Nnl2Scratch};
use congenial_core::invariant::{Hierarchy, Inequalities, Linear};
use congenial_core::kernel::{Dispersed, Kernel, LANES, LatticeMetropolis, Start};
use congenial_core::lattice::BasisKind;
use congenial_core::law::{DiscreteGaussian, DoubleGeometric, Law, Sampler};
use congenial_core::rng::{Role, TaskKey, stream};
use shapes::rng;
use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

type Answer = Result<String, Box<dyn Error>>;

// `cargo bench` and `cargo test` run it without a line to read.
fn main() -> Result<(), Box<dyn Error>> {
    for line in std::io::stdin().lines() {
        let line = line?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let answer = match words[..] {
            ["noise", law, scale, n] => noise(law, scale.parse()?, n.parse()?),
            ["chain", steps] => chain(steps.parse()?),
            ["chains", steps] => chains(steps.parse()?),
            ["exact", rows, columns, n] => exact(rows.parse()?, columns.parse()?, n.parse()?),
            ["tree", branches, levels, n] => tree(branches.parse()?, levels.parse()?, n.parse()?),
            ["simplex", total, ref noisy @ ..] => {
                let noisy = noisy.iter().map(|y| y.parse()).collect::<Result<Vec<f64>, _>>()?;
                simplex(total.parse()?, &noisy)
            }
            _ => Err(format!("unknown: {line}").into()),
        };
        println!("{}", answer?);
    }
    Ok(())
}

/// Seconds that something took.
fn timed(run: impl FnOnce()) -> f64 {
    let start = Instant::now();
    run();
    start.elapsed().as_secs_f64()
}

fn noise(law: &str, scale: f64, n: usize) -> Answer {
    fn draw<L: Law<Value = i64>>(law: &L, out: &mut [i64]) -> f64 {
        let (sampler, mut rng) = (law.sampler(), rng());
        timed(|| out.iter_mut().for_each(|z| *z = sampler.draw(&mut rng)))
    }
    let mut out = vec![0i64; n];
    let seconds = match law {
        "double-geometric" => draw(&DoubleGeometric::new(scale)?, &mut out),
        "discrete-gaussian" => draw(&DiscreteGaussian::new(scale)?, &mut out),
        _ => return Err(format!("unknown law: {law}").into()),
    };
    let mean = |of: fn(f64) -> f64| out.iter().map(|&z| of(z as f64)).sum::<f64>() / n as f64;
    Ok(format!("{seconds} {} {}", mean(|z| z), mean(|z| z * z)))
}

fn published_chain() -> congenial_core::Result<LatticeMetropolis<DoubleGeometric>> {
    let law = DoubleGeometric::new(4.0)?;
    LatticeMetropolis::new(&Linear::margins(4, 4)?, law, libm::exp(-1.0), BasisKind::Smith)
}

fn chains(steps: u64) -> Answer {
    /// Steps until a chain has forgotten its start.
    const START: u64 = 2000;
    let (kernel, lanes) = (published_chain()?, LANES as u64);
    let stops: Vec<u64> = (START..=steps / lanes).step_by(25).collect();
    let start = |replicate| {
        let stream = |role| stream(TaskKey { seed: 1, cell: 1, replicate, role });
        Ok(Chain::new(kernel.start(Start::default(), &mut stream(Role::Start))?, stream(Role::Moves)))
    };
    let chains = (0..lanes).map(start).collect::<congenial_core::Result<Vec<_>>>()?;
    let (mut sum, mut seen) = (0, 0u64);
    let seconds = timed(|| {
        visit_all(&kernel, chains, &stops, |_, z| {
            sum += z.iter().map(|z| z.abs()).sum::<i64>();
            seen += 1;
        });
    });
    Ok(format!("{seconds} {}", sum as f64 / seen as f64))
}

fn chain(steps: u64) -> Answer {
    let kernel = published_chain()?;
    let mut rng = rng();
    let (mut state, mut noise) = (kernel.start(Start::default(), &mut rng)?, kernel.noise());
    let mut sum = 0;
    let seconds = timed(|| {
        for _ in 0..steps {
            kernel.draw(&mut rng, &mut noise);
            kernel.apply(&mut state, &noise);
            sum += kernel.position(&state).iter().map(|z| z.abs()).sum::<i64>();
        }
    });
    Ok(format!("{seconds} {}", sum as f64 / steps as f64))
}

fn exact(rows: usize, columns: usize, n: u64) -> Answer {
    let sampler = LatticeExact::new(&Linear::margins(rows, columns)?, None, DoubleGeometric::new(4.0)?)?;
    let (mut rng, mut scratch, mut z) = (rng(), LatticeScratch::default(), vec![0; rows * columns]);
    let mut sum = 0;
    let seconds = timed(|| {
        for _ in 0..n {
            sampler.draw(&mut rng, &mut scratch, &mut z);
            sum += z.iter().map(|z| z.abs()).sum::<i64>();
        }
    });
    Ok(format!("{seconds} {}", sum as f64 / n as f64))
}

fn tree(branches: usize, levels: usize, n: u64) -> Answer {
    let inner: usize = (0..levels - 1).map(|l| branches.pow(l as u32)).sum();
    let parents = (0..=inner * branches).map(|v| v.saturating_sub(1) / branches).collect::<Vec<usize>>();
    let tree = Hierarchy::from_parents(&parents)?;
    let (law, mut rng) = (DoubleGeometric::new(2.0)?, rng());
    let (l2, sampler) = (L2::new(&tree, &vec![law.variance(); levels])?, law.sampler());
    let (mut noise, mut square, mut seconds) = (vec![0.0; tree.nodes()], 0.0, 0.0);
    for _ in 0..n {
        noise.iter_mut().for_each(|z| *z = sampler.draw(&mut rng) as f64);
        seconds += timed(|| l2.project(black_box(&mut noise)));
        square += tree.leaves().iter().map(|&v| noise[v as usize] * noise[v as usize]).sum::<f64>();
    }
    Ok(format!("{seconds} {}", square / (n as f64 * tree.leaves().len() as f64)))
}

/// The noise is what moves a count of 0 up: `y` itself, around counts of which the first is the total.
fn simplex(total: i64, noisy: &[f64]) -> Answer {
    let n = noisy.len();
    let mut counts = vec![0i64; n];
    counts[0] = total;
    let region = Inequalities::nonnegative(n).around(&counts)?;
    let nnl2 = LatticeNnl2::new(&Linear::total(n)?, &region)?;
    let mut scratch = Nnl2Scratch::default();
    let noise: Vec<f64> = noisy.iter().zip(&counts).map(|(y, &x)| y - x as f64).collect();
    let mut z = noise.clone();
    let mut failure = None;
    let seconds = timed(|| {
        for _ in 0..1000 {
            z.copy_from_slice(&noise);
            if let Err(error) = nnl2.project(&mut scratch, black_box(&mut z)) {
                failure = Some(error);
            }
        }
    });
    if let Some(error) = failure {
        return Err(error.into());
    }
    let point: Vec<String> = z.iter().zip(&counts).map(|(z, &x)| (z + x as f64).to_string()).collect();
    Ok(format!("{seconds} {}", point.join(" ")))
}
