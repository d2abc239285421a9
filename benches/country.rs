//! One release of a large tree, everything that it does counted (noise, projection, check, errors by level), in raw
//! xoshiro256++ words a node of the same process, and what two threads gain within one release beside what they gain on
//! raw words. `LEAVES=10157420`: another size than a million. `--test`: tiny, without figures.

mod turns;

use congenial::study;
use std::hint::black_box;
use std::process::Command;
use std::time::Instant;
use turns::{Turns, pools, turns};

/// Words a node at most, double geometric noise on one thread; the other laws have none.
const LIMITS: [(&str, Option<f64>); 5] = [
    ("unconstrained", None),
    ("exact", Some(15.0)),
    ("topdown", Some(25.0)),
    ("bluedown", Some(25.0)),
    ("l2", Some(12.0)),
];
const LAWS: [&str; 3] = ["double-geometric", "discrete-gaussian", "laplace"];
/// Least gain of two threads, on a machine that gives them two whole cores.
const GAIN: f64 = 1.8;
fn verdict(ratio: f64, limit: f64, most: bool) -> &'static str {
    if (ratio > limit) == most { ": TOO SLOW" } else { "" }
}

fn main() {
    let test = std::env::args().any(|argument| argument == "--test");
    let leaves = std::env::var("LEAVES").unwrap_or(if test { "40000" } else { "1000000" }.into());
    let place = tempfile::tempdir().expect("space");
    let (table, config) = (place.path().join("leaves.parquet"), place.path().join("country.toml"));
    let shape = concat!(env!("CARGO_MANIFEST_DIR"), "/data/country/block_groups_2010.parquet");
    let made = Command::new(env!("CARGO_BIN_EXE_congenial"))
        .args(["simulate", shape, "--expand", "blocks", "--leaf", "block", "--size", "1", "--mean", "28"])
        .args(["--seed", "20100401", "--limit", &leaves, "--out"])
        .arg(&table)
        .output()
        .expect("the command");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let pools = pools();
    for law in LAWS {
        let delta = if law == "discrete-gaussian" { "delta = 1e-6\n" } else { "" };
        for (method, limit) in LIMITS {
            // Rejection level by level takes minutes on five levels.
            if (law, method) == ("laplace", "exact") {
                continue;
            }
            let text = format!(
                "name = \"country\"\nseed = 1\nreplicates = 1\n[data]\ntable = \"leaves.parquet\"\n\
                 levels = [\"state\", \"county\", \"tract\", \"block_group\", \"block\"]\ncount = \"count\"\n\
                 [[grid]]\nepsilon = 1.0\nlaw = {law:?}\n{delta}method = {method:?}\n"
            );
            std::fs::write(&config, text).expect("space");
            let planned = study::load(&config, &[]).and_then(study::plan).expect("a plan");
            let nodes = planned.about().counts as f64;
            let clock = Instant::now();
            let prepared = planned.prepare(0).expect("a cell");
            let prepare = clock.elapsed().as_secs_f64();
            let draw = || {
                let (rows, drawn) = prepared.draw(0..1);
                drawn.expect("a release");
                black_box(rows);
            };
            if test {
                pools[1].install(draw);
                continue;
            }
            let Turns { one, gain, machine, word } = turns(7, &pools, draw);
            let ratio = one / nodes / word;
            let limit = limit.filter(|_| law == LAWS[0]);
            let told = limit
                .map_or(String::new(), |limit| format!(" (limit {limit}{})", verdict(ratio, limit, true)));
            println!(
                "{law}, {method}: {ratio:.1} words a node{told}; two threads {gain:.2} times one (limit {GAIN}{}; raw words {machine:.2}); \
                 prepared in {prepare:.2} s; a word takes {:.3} ns",
                verdict(gain, GAIN, false),
                word * 1e9
            );
        }
    }
}
