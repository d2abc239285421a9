//! A program with a method of its own, and all that `congenial` does:
//!
//!     cargo run --release --example own_method -- run examples/methods/own.toml

use congenial::own::{OwnMethod, OwnReleases, Promises, Structure, Task, register};
use std::process::ExitCode;
use std::sync::Arc;

/// Sums up the noisy counts of the leaves, and leaves the others aside.
struct BottomUp;

impl OwnMethod for BottomUp {
    fn promises(&self, _: &[(String, String)]) -> Result<Promises, String> {
        Ok(Promises { invariant: true, ..Promises::default() })
    }

    fn prepare(&self, task: Task) -> Result<Box<dyn OwnReleases>, String> {
        match &*task.structure {
            Structure::Tree { parents, .. } => Ok(Box::new(Sums(parents.clone()))),
            Structure::Table { .. } => Err("it serves trees".into()),
        }
    }
}

struct Sums(Vec<i64>);

impl OwnReleases for Sums {
    fn release(&self, _: &[u64], counts: &mut [f64]) -> Result<(), String> {
        let nodes = self.0.len();
        for release in counts.chunks_mut(nodes) {
            self.0[1..].iter().for_each(|&parent| release[parent as usize] = 0.0);
            (1..nodes).rev().for_each(|node| release[self.0[node] as usize] += release[node]);
        }
        Ok(())
    }
}

fn main() -> ExitCode {
    register([("bottom-up".to_owned(), Arc::new(BottomUp) as Arc<dyn OwnMethod>)]);
    congenial::cli::main()
}
