//! What runs of one kind took, against the size of what they are about.

use crate::figure::{Axis, Figure, Kind, Mark, Panel, Scale, Series};
use crate::page::{Column, Page, bytes, counted, duration, grouped, thousands};
use crate::store::Manifest;
use crate::study::Named;
use std::collections::HashSet;

/// Sizes from which on runs are shown against them.
const SIZES: usize = 3;

/// Time and memory of runs against the counts of their data: of runs with one study, subject and number of cells, if
/// they have at least three sizes.
pub(super) fn page(runs: &[&Named]) -> Page {
    let kind = |run: &&Named| {
        let manifest = &run.run.manifest;
        (manifest.study.clone(), manifest.subject.clone(), manifest.cells)
    };
    // Parts of one run took what all of it took.
    let whole = |run: &&&Named| run.run.manifest.counts > 0 && run.run.manifest.data_sets.is_empty();
    let mut folders = HashSet::new();
    let runs = runs.iter().filter(whole).filter(|run| folders.insert(&run.run.folder)).copied();
    let groups = grouped(runs, kind);
    let sizes = |group: &Vec<&Named>| {
        let mut sizes: Vec<usize> = group.iter().map(|run| run.run.manifest.counts).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes.len()
    };
    groups.iter().filter(|group| sizes(group) >= SIZES).map(|group| of(group)).collect()
}

/// Seconds of all processes of a run.
pub(super) fn seconds(manifest: &Manifest) -> f64 {
    manifest.process.seconds + manifest.shards.iter().map(|shard| shard.process.seconds).sum::<f64>()
}

/// The most bytes of any of them.
fn memory(manifest: &Manifest) -> Option<u64> {
    let shards = manifest.shards.iter().map(|shard| shard.process.peak_memory);
    shards.chain([manifest.process.peak_memory]).max().flatten()
}

fn of(runs: &[&Named]) -> Page {
    let mut sorted: Vec<&Manifest> = runs.iter().map(|run| &run.run.manifest).collect();
    sorted.sort_by_key(|manifest| (manifest.process.threads, manifest.counts));
    let columns: &[Column<&Manifest>] = &[
        ("threads", &|run| counted(run.process.threads as f64, "thread")),
        ("counts", &|run| thousands(run.counts as f64)),
        ("time", &|run| duration(seconds(run))),
        ("memory", &|run| memory(run).map_or("-".into(), |most| bytes(most as f64))),
    ];
    let first = sorted[0];
    let title = format!("{}: time and memory against size", first.name);
    let figure = |what: &str, label: &str, value: fn(&Manifest) -> Option<f64>| {
        let mut threads: Vec<usize> = sorted.iter().map(|manifest| manifest.process.threads).collect();
        threads.dedup();
        let series = |threads: usize| {
            let here = sorted.iter().filter(|manifest| manifest.process.threads == threads);
            Series {
                name: counted(threads as f64, "thread"),
                kind: Kind::DottedLine,
                marks: here.filter_map(|one| Some(Mark::new(one.counts as f64, value(one)?))).collect(),
            }
        };
        Figure {
            name: Figure::named(&format!("{}-{what}-by-size", first.name)),
            title: format!("{}: {what} against size", first.name),
            about: format!(
                "The {what} of a run with {} against the counts of a release, on logarithmic axes, by threads. The \
                    table below has the figures.",
                counted(first.cells as f64, "cell")
            ),
            x: Axis::new("counts of a release", Scale::Log),
            y: Axis::new(label, Scale::Log),
            panels: Panel::only(threads.into_iter().map(series)),
            note: String::new(),
        }
    };
    Page::headed(title)
        .text("Time is wall clock, from the first cell to the last row. Memory is the most that the process held, reading included.")
        .figure(figure("time", "seconds", |one| Some(seconds(one))))
        .figure(figure("memory", "MB", |one| Some(memory(one)? as f64 / 1e6)))
        .listed(1, &sorted, columns)
}
