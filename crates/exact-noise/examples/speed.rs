//! How many draws a second one core makes from the operating system's bits, beside these bits alone, in one run.
//!
//!     cargo run --release --package congenial-exact-noise --example speed

use congenial_exact_noise::{Base, Bits, Free, Law, Ratio, Result, System, Tree, ZeroSum};
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
        let free = Free::new(law)?;
        let draws = rate(2_000_000, || {
            for _ in 0..2_000_000 {
                black_box(free.draw(&mut source)?);
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
    // A nation, 50 states, 60 counties each, 30 tracts each.
    let mut parents = vec![None];
    parents.extend((0..50).map(|_| Some(0)));
    parents.extend((0..3000).map(|v| Some(1 + v / 60)));
    parents.extend((0..90_000).map(|v| Some(51 + v / 30)));
    let law = Some(Law::DoubleGeometric(base(1, 10)?));
    let start = Instant::now();
    let mut tree = Tree::new(&parents, &vec![false; parents.len()], &[law; 4])?;
    let ready = start.elapsed().as_secs_f64();
    let draws = rate(parents.len() as u64, || tree.draw(&mut source).map(|noise| drop(black_box(noise))))?;
    println!("tree of 93,051 counts, lambda 10: ready after {ready:.2} s, {:.2} M draws/s", draws / 1e6);
    Ok(())
}
