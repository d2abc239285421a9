//! Random trees and tables, laws, budgets from 0.01 to 700 and methods: releases against laws that are computed in full.
//!
//! In CI a fixed seed and number. `scripts/random-systems [SECONDS]` runs it for as long as one likes with a fresh seed:
//! CONGENIAL_SYSTEMS_SEED and CONGENIAL_SYSTEMS_SECONDS.

use congenial::engine::Manner;
use congenial::study::release::draw_all;
use congenial::verify::{OnSystem, systems};
use std::time::Instant;

/// Chance of a wrong alarm, for all comparisons together.
const ALPHA: f64 = 1e-6;
/// Comparisons that the level is shared by; a longer run ends when it has made them.
const COMPARISONS: f64 = 1e6;
/// Systems in CI.
const SYSTEMS: u64 = 100;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}

#[test]
fn random_systems_have_their_laws() {
    let seed = number("CONGENIAL_SYSTEMS_SEED").unwrap_or(20_261_121);
    let seconds = number("CONGENIAL_SYSTEMS_SECONDS");
    let clock = Instant::now();
    let (mut refused, mut undrawn, mut unlisted) = (0, 0, 0);
    let (mut compared, mut comparisons) = (0, 0usize);
    let mut least = (f64::INFINITY, String::new());
    let mut wrong = Vec::new();
    for i in 0.. {
        let go_on = seconds.map_or(i < SYSTEMS, |seconds| clock.elapsed().as_secs() < seconds);
        if !go_on || comparisons as f64 > COMPARISONS {
            break;
        }
        let system = systems::random(seed, i);
        let Ok(plan) = system.plan() else {
            refused += 1;
            continue;
        };
        let manner = Manner { threads: 2, fail_fast: false, quiet: true, watch: None };
        let (plan, outcomes) = draw_all(plan, manner).unwrap();
        let found = OnSystem::new(&system.name, &plan.cells[0], &plan.subject, &outcomes[0], 300_000_000);
        if let Some(broken) = &found.broken {
            wrong.push(format!("system {i}, {}: {broken}", system.name));
        }
        match &found.comparisons {
            Err(_) if outcomes[0].error.is_some() => undrawn += 1,
            Err(_) => unlisted += 1,
            Ok(all) => {
                compared += 1;
                comparisons += all.len();
                for one in all {
                    if one.p < least.0 {
                        least = (one.p, format!("{}: {}: {}", system.name, one.what, one.figure));
                    }
                    if one.p < ALPHA / COMPARISONS {
                        let p = one.p;
                        wrong.push(format!(
                            "system {i}, {}: {}: {} (p <= {p:e})",
                            system.name, one.what, one.figure
                        ));
                    }
                }
            }
        }
    }
    println!(
        "seed {seed}: {compared} systems compared by {comparisons} figures, {unlisted} too wide to be computed, {undrawn} refused \
         when drawn, {refused} when planned; the least p is {:.1e}: {}",
        least.0, least.1
    );
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(seconds.is_some() || compared > SYSTEMS / 3, "only {compared} were compared");
}
