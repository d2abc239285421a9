//! How many draws a second one core makes from the operating system's bits, beside these bits alone, in one run.
//!
//!     cargo run --release --package congenial-exact-noise --example speed

use congenial_exact_noise::{Base, Bits, Free, Law, Ratio, Result, System, Tree, ZeroSum, free};
use std::hint::black_box;
use std::time::Instant;

/// The best of five rounds, a second.
fn rate(count: u64, mut work: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let start = Instant::now();
        work()?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok(count as f64 / best)
}

fn main() -> Result<()> {
    let mut source = System::new();
    let words = rate(20_000_000, || {
        for _ in 0..20_000_000 {
            black_box(source.bits(32)?);
        }
        Ok(())
    })?;
    println!("words of the source: {:.1} M/s ({:.2} GB/s)", words / 1e6, words * 4.0 / 1e9);
    let base = |n, d| Base::from_loss(&Ratio::new(n, d)?);
    for (what, law) in [
        ("double geometric, lambda 1", Law::DoubleGeometric(base(1, 1)?)),
        ("double geometric, lambda 5", Law::DoubleGeometric(base(1, 5)?)),
        ("double geometric, lambda 113", Law::DoubleGeometric(base(1, 113)?)),
        ("discrete Gaussian, sigma 5", Law::DiscreteGaussian(base(1, 50)?)),
        ("discrete Gaussian, sigma 100", Law::DiscreteGaussian(base(1, 20_000)?)),
    ] {
        let noise = Free::new(law)?;
        let draws = rate(2_000_000, || {
            for _ in 0..2_000_000 {
                black_box(noise.draw(&mut source)?);
            }
            Ok(())
        })?;
        println!(
            "{what}: {:.2} M draws/s, {:.1} words of the source take as long",
            draws / 1e6,
            words / draws
        );
    }
    for (what, law, n) in [
        (
            "double geometric, lambda 5, total of 10^6 known",
            Law::DoubleGeometric(base(1, 5)?),
            1_000_000usize,
        ),
        ("discrete Gaussian, sigma 5, total of 10^4 known", Law::DiscreteGaussian(base(1, 50)?), 10_000),
    ] {
        let start = Instant::now();
        let mut group = ZeroSum::new(law, n)?;
        let ready = start.elapsed().as_secs_f64();
        let draws = rate(n as u64, || group.draw(&mut source).map(|noise| drop(black_box(noise))))?;
        println!("{what}: ready after {ready:.2} s, {:.2} M draws/s", draws / 1e6);
    }
    // As many independent counts as there are leaves in a large tree, into one list.
    for n in [5, 113] {
        let law = Law::DoubleGeometric(base(1, n)?);
        let draws =
            rate(LEAVES as u64, || free(law, LEAVES, &mut source).map(|noise| drop(black_box(noise))))?;
        println!(
            "{LEAVES} independent counts, lambda {n}: {:.2} s, {:.2} M draws/s",
            LEAVES as f64 / draws,
            draws / 1e6
        );
    }
    // A city, 6 boroughs, 263 zones.
    let mut parents = vec![None];
    parents.extend([Some(0); 6]);
    parents.extend((0..263).map(|v| Some(1 + v % 6)));
    of_tree("a city", &parents, base(1, 10)?, &mut source)?;
    // A nation, 50 states, 60 counties each, 30 tracts each.
    let mut parents = vec![None];
    parents.extend((0..50).map(|_| Some(0)));
    parents.extend((0..3000).map(|v| Some(1 + v / 60)));
    parents.extend((0..90_000).map(|v| Some(51 + v / 30)));
    of_tree("a nation", &parents, base(1, 10)?, &mut source)
}

/// Counts of the longest list.
const LEAVES: usize = 10_160_000;

/// A tree whose counts are all measured with double geometric noise of one base.
fn of_tree(what: &str, parents: &[Option<usize>], base: Base, source: &mut System) -> Result<()> {
    let law = Some(Law::DoubleGeometric(base));
    let depth = std::iter::successors(parents.len().checked_sub(1), |v| parents[*v]).count();
    let laws = vec![law; depth];
    let n = parents.len() as u64;
    let start = Instant::now();
    let mut tree = Tree::new(parents, &vec![false; parents.len()], &laws)?;
    let ready = start.elapsed().as_secs_f64();
    // Small trees many times, so that the clock tells.
    let times = 100_000u64.div_ceil(n);
    let draws = rate(n * times, || {
        for _ in 0..times {
            black_box(tree.draw(source)?);
        }
        Ok(())
    })?;
    // For every thread one, with the tables that were kept so far.
    let clones = rate(1, || {
        black_box(tree.clone());
        Ok(())
    })?;
    println!(
        "{what} of {n} counts, lambda 10: ready after {:.1} ms, {:.2} M counts/s, {:.3} ms a draw, {:.3} ms a clone",
        ready * 1e3,
        draws / 1e6,
        1e3 * n as f64 / draws,
        1e3 / clones
    );
    Ok(())
}
