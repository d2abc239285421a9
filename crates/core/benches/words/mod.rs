//! The machine's raw word rate, and ratios to it from criterion's own estimates of the same run.

use crate::shapes::rng;
use congenial_core::rng::Rng;
use criterion::{BenchmarkGroup, measurement::WallTime};

/// Words of one iteration.
const WORDS: u64 = 4096;

/// Times raw xoshiro256++ words, close to what is compared with them.
pub fn bench_words(group: &mut BenchmarkGroup<WallTime>, name: &str) {
    let mut words = rng();
    group.bench_function(name, |b| {
        b.iter(|| (0..WORDS).fold(0u64, |sum, _| sum.wrapping_add(words.next_u64())));
    });
}

/// Median of a benchmark of this run, in nanoseconds.
pub fn median(group: &str, name: &str) -> Option<f64> {
    // The program is `target/release/deps/NAME`.
    let program = std::env::current_exe().ok()?;
    let path =
        program.ancestors().nth(3)?.join("criterion").join(group).join(name).join("new/estimates.json");
    #[allow(clippy::disallowed_methods, reason = "its own file of this run")]
    let text = std::fs::read_to_string(path).ok()?;
    let after = text.split("\"median\":").nth(1)?.split("\"point_estimate\":").nth(1)?;
    after.split([',', '}']).next()?.parse().ok()
}

/// Prints medians in words per unit beside their limits; `lines`: name, units of one iteration, limit.
pub fn print_ratios(group: &str, words: &str, unit: &str, lines: &[(String, f64, Option<f64>)]) {
    let Some(word) = median(group, words).map(|ns| ns / WORDS as f64) else { return };
    println!("\n{group}: one xoshiro256++ word takes {word:.3} ns ({words}); words per {unit}:");
    for (name, units, limit) in lines {
        let Some(ns) = median(group, name) else { continue };
        let ratio = ns / units / word;
        let verdict = match limit {
            Some(limit) if ratio > *limit => format!(" (limit {limit}: TOO SLOW)"),
            Some(limit) => format!(" (limit {limit})"),
            None => String::new(),
        };
        println!("  {name}: {ratio:.1}{verdict}");
    }
}
