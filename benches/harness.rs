//! What the harness costs beside the draws, whole runs of the command, in raw xoshiro256++ words of the same process: by error row,
//! by cell, and on two threads against one. `--test`: tiny, without figures.

use congenial::law::{DoubleGeometric, Law};
use congenial::rng::{Rng, Role, TaskKey, stream};
use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// Words an error row, beside its draw, and words a cell.
const ROW: f64 = 500.0;
const CELL: f64 = 50_000.0;
/// Least gain of a second thread.
const GAIN: f64 = 1.9;
/// Runs of which the fastest counts.
const RUNS: usize = 5;

fn seconds(mut work: impl FnMut()) -> f64 {
    let run = |_| {
        let clock = Instant::now();
        work();
        clock.elapsed().as_secs_f64()
    };
    (0..RUNS).map(run).fold(f64::INFINITY, f64::min)
}

/// A grid on a table of four rows and columns.
fn config(folder: &Path, name: &str, replicates: u64, grid: &str) {
    let table: String = (0..16).map(|i| format!("r{},c{},{}\n", i / 4, i % 4, 7 * i % 11)).collect();
    std::fs::write(folder.join("table.csv"), format!("row,column,count\n{table}")).expect("space");
    let text = format!(
        "name = \"{name}\"\nseed = 1\nreplicates = {replicates}\n[data]\ntable = \"table.csv\"\ncount = \"count\"\n\
         [[invariant]]\nkind = \"margins\"\nrows = \"row\"\ncolumns = \"column\"\n[[grid]]\nlaw = \"double-geometric\"\n{grid}\n"
    );
    std::fs::write(folder.join(format!("{name}.toml")), text).expect("space");
}

fn run(folder: &Path, name: &str, threads: &str) {
    let out = folder.join("out");
    drop(std::fs::remove_dir_all(&out));
    let output = Command::new(env!("CARGO_BIN_EXE_congenial"))
        .current_dir(folder)
        .args(["run", &format!("{name}.toml"), "--out", "out", "--threads", threads])
        .output()
        .expect("the command");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(out.join("manifest.json").exists());
}

fn verdict(ratio: f64, limit: f64, most: bool) -> &'static str {
    if (ratio > limit) == most { ": TOO SLOW" } else { "" }
}

fn main() {
    let test = std::env::args().any(|argument| argument == "--test");
    let place = tempfile::tempdir().expect("space");
    let folder = place.path();
    let rows: u64 = if test { 1_000 } else { 1_000_000 };
    config(folder, "rows", rows, "epsilon = 1.0\nmethod = \"unconstrained\"");
    if test {
        run(folder, "rows", "2");
        return;
    }
    let mut words = stream(TaskKey { seed: 0, cell: 0, replicate: 0, role: Role::Noise });
    let many = 100_000_000;
    let word = seconds(|| {
        black_box((0..many).fold(0u64, |sum, _| sum ^ words.next_u64()));
    }) / many as f64;
    println!("one xoshiro256++ word takes {:.3} ns", word * 1e9);
    let law = DoubleGeometric::new(1.0).expect("a scale");
    let draws = seconds(|| {
        (0..16 * rows).for_each(|_| {
            black_box(law.sample(&mut words));
        })
    });
    let [one, two] = ["1", "2"].map(|threads| seconds(|| run(folder, "rows", threads)));
    let ratio = (one - draws) / rows as f64 / word;
    println!(
        "{rows} rows of 16 entries, unconstrained: {one:.2} s on one thread, of which {draws:.2} s are draws"
    );
    println!("  words an error row beside its draw: {ratio:.0} (limit {ROW}{})", verdict(ratio, ROW, true));
    println!("  two threads: {:.2} times one (limit {GAIN}{})", one / two, verdict(one / two, GAIN, false));
    for cells in [1_000, 10_000, 100_000] {
        let epsilons: Vec<f64> = (0..cells / 2).map(|i| (50_000 + i) as f64 / 100_000.0).collect();
        config(folder, "cells", 10, &format!("epsilon = {epsilons:?}\nmethod = [\"unconstrained\", \"l2\"]"));
        let ratio = seconds(|| run(folder, "cells", "1")) / f64::from(cells) / word;
        println!(
            "{cells} cells of 10 releases: {ratio:.0} words a cell (limit {CELL}{})",
            verdict(ratio, CELL, true)
        );
    }
}
