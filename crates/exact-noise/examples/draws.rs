//! Draws from the bits of the operating system, for `scripts/peers`, which holds them against another library's: a line of standard input
//! `LAW LOSS N` (`double-geometric` or `discrete-gaussian`, what a unit pays, how many) is answered by a line with the seconds that they
//! took and all of them.
//!
//!     echo "double-geometric 1/113 10" | cargo run --release --package congenial-exact-noise --example draws

use congenial_exact_noise::{Base, Free, Law, System};
use std::error::Error;
use std::fmt::Write;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let mut source = System::new();
    for line in std::io::stdin().lines() {
        let line = line?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let [law, loss, n] = words[..] else { return Err(format!("want LAW LOSS N: {line}").into()) };
        let base = Base::from_loss(&loss.parse()?)?;
        let law = match law {
            "double-geometric" => Law::DoubleGeometric(base),
            "discrete-gaussian" => Law::DiscreteGaussian(base),
            _ => return Err(format!("unknown: {law}").into()),
        };
        let mut draws = vec![0i64; n.parse()?];
        let noise = Free::new(law)?;
        let start = Instant::now();
        for draw in &mut draws {
            *draw = noise.draw(&mut source)?;
        }
        let mut answer = start.elapsed().as_secs_f64().to_string();
        for draw in draws {
            write!(answer, " {draw}")?;
        }
        println!("{answer}");
    }
    Ok(())
}
