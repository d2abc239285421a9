//! Whether the time of a draw tells its value: the correlation of both over 10^6 free draws of each law, one by one.
//!
//!     cargo run --release --package congenial-exact-noise --example time
//!
//! Where there is none, the correlation of n draws has the standard error 1/√n = 0.001. Bits are drawn ahead, since every 1,024th word
//! waits for the operating system, whatever is drawn. What else the machine does shows in the slowest draws: correlations are also
//! given without the slowest hundredth. Times are those of the clock, some 25 ns for itself included.

use congenial_exact_noise::{Base, Bits, Error, Free, Law, Ratio, Result, System};
use std::time::Instant;

/// Draws of a law.
const DRAWS: usize = 1_000_000;

/// Words that were drawn ahead.
struct Ahead {
    words: Vec<u32>,
    source: System,
}

impl Ahead {
    /// Enough words for any draw that is likely.
    fn fill(&mut self) -> Result<()> {
        while self.words.len() < 4096 {
            self.words.push(self.source.bits(32)?);
        }
        Ok(())
    }
}

impl Bits for Ahead {
    #[inline]
    fn bits(&mut self, count: u32) -> Result<u32> {
        let word = self.words.pop().ok_or(Error::Source("too few words ahead".into()))?;
        Ok(word >> 32u32.saturating_sub(count))
    }
}

/// Pearson's correlation of sizes and times.
fn correlation(draws: &[(f64, f64)]) -> f64 {
    let n = draws.len() as f64;
    let mean = |of: &dyn Fn(&(f64, f64)) -> f64| draws.iter().map(of).sum::<f64>() / n;
    let (size, time) = (mean(&|draw| draw.0), mean(&|draw| draw.1));
    let product = mean(&|draw| (draw.0 - size) * (draw.1 - time));
    let sizes = mean(&|draw| (draw.0 - size) * (draw.0 - size));
    let times = mean(&|draw| (draw.1 - time) * (draw.1 - time));
    product / (sizes * times).sqrt()
}

fn main() -> Result<()> {
    let mut source = Ahead { words: Vec::new(), source: System::new() };
    let base = |n, d| Base::from_loss(&Ratio::new(n, d)?);
    println!("law: ns a draw (median), correlation with the size, without the slowest hundredth");
    for (what, law) in [
        ("double geometric, lambda 1", Law::DoubleGeometric(base(1, 1)?)),
        ("double geometric, lambda 5", Law::DoubleGeometric(base(1, 5)?)),
        ("double geometric, lambda 113", Law::DoubleGeometric(base(1, 113)?)),
        ("discrete Gaussian, sigma 1", Law::DiscreteGaussian(base(1, 2)?)),
        ("discrete Gaussian, sigma 5", Law::DiscreteGaussian(base(1, 50)?)),
        ("discrete Gaussian, sigma 113", Law::DiscreteGaussian(base(1, 25_538)?)),
    ] {
        let free = Free::new(law)?;
        let mut draws = Vec::with_capacity(DRAWS);
        for _ in 0..DRAWS {
            source.fill()?;
            let start = Instant::now();
            let noise = free.draw(&mut source)?;
            let time = start.elapsed();
            draws.push((noise.unsigned_abs() as f64, time.as_nanos() as f64));
        }
        let all = correlation(&draws);
        draws.sort_by(|a, b| a.1.total_cmp(&b.1));
        let median = draws[DRAWS / 2].1;
        let rest = correlation(&draws[..DRAWS - DRAWS / 100]);
        println!("{what}: {median}, {all:.4}, {rest:.4}");
    }
    Ok(())
}
