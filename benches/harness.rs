//! What the harness costs beside the draws, whole runs of the command, in raw xoshiro256++ words of the same process:
//! by error row, by cell, by release of a method that is a program, and on two threads against one, beside what two
//! threads of raw words gain on the machine as it is. `--test`: tiny, without figures.

use congenial::law::{DoubleGeometric, Law};
use congenial::rng::{Rng, Role, TaskKey, stream};
use std::hint::black_box;
use std::io::{BufRead, Read, Write};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// Words an error row, beside its draw, and words a cell.
const ROW: f64 = 500.0;
const CELL: f64 = 50_000.0;
/// Microseconds of a release of 270 counts by a program, beyond its own time.
const OWN: f64 = 30.0;
/// Least gain of two threads, on a machine that gives them two whole cores.
const GAIN: f64 = 1.9;

/// Seconds of each work at its fastest. They take turns: what slows the machine down for a while meets all of them.
fn seconds<const N: usize>(rounds: usize, mut works: [&mut dyn FnMut(); N]) -> [f64; N] {
    let mut least = [f64::INFINITY; N];
    for _ in 0..rounds {
        for (work, least) in works.iter_mut().zip(&mut least) {
            let clock = Instant::now();
            work();
            *least = least.min(clock.elapsed().as_secs_f64());
        }
    }
    least
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
    run_config(folder, &format!("{name}.toml"), &["--threads", threads]);
}

fn run_config(folder: &Path, config: &str, more: &[&str]) {
    let out = folder.join("out");
    drop(std::fs::remove_dir_all(&out));
    let output = Command::new(env!("CARGO_BIN_EXE_congenial"))
        .current_dir(folder)
        .args(["run", config, "--out", "out"])
        .args(more)
        .output()
        .expect("the command");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(out.join("manifest.json").exists());
}

/// Releases of the taxi tree: `unconstrained`, or the same by a program that gives back what it is given.
fn released(folder: &Path, name: &str, replicates: u64, method: &str) {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/data/taxi/yellow_2022_01.csv");
    let text = format!(
        "name = \"{name}\"\nseed = 1\nreplicates = {replicates}\n[data]\ntable = {data:?}\nlevels = [\"borough\", \"location_id\"]\n\
         count = \"trips\"\n[[grid]]\nepsilon = 1.0\nlaw = \"double-geometric\"\nmethod = {method}\n"
    );
    std::fs::write(folder.join(format!("{name}.toml")), text).expect("space");
}

/// A method that gives back what it is given: this program, as another starts it.
fn copy() {
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
    let (mut counts, mut line, mut bytes) = (0, String::new(), Vec::new());
    loop {
        line.clear();
        if input.read_line(&mut line).expect("the harness") == 0 {
            return;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |i: usize| words[i].parse::<usize>().expect("a number");
        let mut take = |numbers: usize| {
            bytes.resize(8 * numbers, 0);
            input.read_exact(&mut bytes).expect("the harness");
        };
        match words[0] {
            "congenial" => writeln!(output, "method copy 1"),
            "structure" => {
                counts = number(2);
                take(counts + number(3) + 1);
                continue;
            }
            "cell" => {
                take(counts);
                writeln!(output, "ready")
            }
            _ => {
                take(number(2));
                take(number(2) * counts);
                writeln!(output, "released {}", number(2)).and_then(|()| output.write_all(&bytes))
            }
        }
        .and_then(|()| output.flush())
        .expect("the harness");
    }
}

fn verdict(ratio: f64, limit: f64, most: bool) -> &'static str {
    if (ratio > limit) == most { ": TOO SLOW" } else { "" }
}

/// Prints what two threads gain; `machine`: what they gain on raw words, 2 where nobody else uses the machine.
fn gain(ratio: f64, machine: f64) {
    println!(
        "  two threads: {ratio:.2} times one; those of raw words {machine:.2} times (limit {GAIN}{})",
        verdict(ratio, GAIN, false)
    );
}

fn main() {
    if std::env::args().nth(1).is_some_and(|argument| argument == "copy") {
        return copy();
    }
    let test = std::env::args().any(|argument| argument == "--test");
    let place = tempfile::tempdir().expect("space");
    let folder = place.path();
    let rows: u64 = if test { 1_000 } else { 1_000_000 };
    config(folder, "rows", rows, "epsilon = 1.0\nmethod = \"unconstrained\"");
    let releases = if test { 100 } else { 100_000 };
    let program = std::env::current_exe().expect("this program").display().to_string();
    released(folder, "free", releases, "\"unconstrained\"");
    released(
        folder,
        "own",
        releases,
        &format!("{{ kind = \"external\", command = [{program:?}, \"copy\"] }}"),
    );
    if test {
        run(folder, "rows", "2");
        run(folder, "own", "1");
        return;
    }
    let key = |replicate| TaskKey { seed: 0, cell: 0, replicate, role: Role::Noise };
    let many = 100_000_000u64;
    let words = |replicate, many| {
        let mut words = stream(key(replicate));
        black_box((0..many).fold(0u64, |sum, _| sum ^ words.next_u64()));
    };
    let both = |many| {
        std::thread::scope(|scope| {
            scope.spawn(|| words(0, many));
            words(1, many);
        })
    };
    let (law, mut noise) = (DoubleGeometric::new(1.0).expect("a scale"), stream(key(2)));
    let [all, draws, one, two, twice] = seconds(
        7,
        [
            &mut || words(0, many),
            &mut || {
                (0..16 * rows).for_each(|_| {
                    black_box(law.sample(&mut noise));
                })
            },
            &mut || run(folder, "rows", "1"),
            &mut || run(folder, "rows", "2"),
            &mut || both(many),
        ],
    );
    let word = all / many as f64;
    println!("one xoshiro256++ word takes {:.3} ns", word * 1e9);
    let ratio = (one - draws) / rows as f64 / word;
    println!(
        "{rows} rows of 16 entries, unconstrained: {one:.2} s on one thread, of which {draws:.2} s are draws"
    );
    println!("  words an error row beside its draw: {ratio:.0} (limit {ROW}{})", verdict(ratio, ROW, true));
    gain(one / two, 2.0 * all / twice);
    let [free, own] = seconds(5, [&mut || run(folder, "free", "1"), &mut || run(folder, "own", "1")]);
    let each = (own - free) / releases as f64 * 1e6;
    println!(
        "a release of 270 counts by a program: {each:.1} µs beyond `unconstrained` (limit {OWN}{})",
        verdict(each, OWN, true)
    );
    for cells in [1_000, 10_000, 100_000] {
        let epsilons: Vec<f64> = (0..cells / 2).map(|i| (50_000 + i) as f64 / 100_000.0).collect();
        config(folder, "cells", 10, &format!("epsilon = {epsilons:?}\nmethod = [\"unconstrained\", \"l2\"]"));
        let [one] = seconds(7, [&mut || run(folder, "cells", "1")]);
        let ratio = one / f64::from(cells) / word;
        println!(
            "{cells} cells of 10 releases: {ratio:.0} words a cell (limit {CELL}{})",
            verdict(ratio, CELL, true)
        );
    }
    let config = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/taxi/full.toml");
    let taxi = |threads| run_config(folder, config, &["--threads", threads, "--set", "grid.replicates=4"]);
    // As long as a run: a moment may find the whole machine free.
    let long = 40 * many;
    let [one, two, all, twice] =
        seconds(3, [&mut || taxi("1"), &mut || taxi("2"), &mut || words(0, long), &mut || both(long)]);
    println!("the taxi grid, 4 replicates a cell: {one:.1} s on one thread");
    gain(one / two, 2.0 * all / twice);
}
