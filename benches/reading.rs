//! Reading a tree of a million leaves, CSV and parquet, beside the machine's raw word rate.

#[path = "../crates/core/benches/shapes/mod.rs"]
mod shapes;
#[path = "../crates/core/benches/words/mod.rs"]
mod words;

use congenial::input::{CsvTable, HierarchyTable, TableWriter, Value, Wanted};
use criterion::Criterion;
use std::hint::black_box;
use std::path::PathBuf;
use words::{bench_words, print_ratios};

const LEAVES: i64 = 1_000_000;
/// Words a leaf.
const LIMIT: f64 = 250.0;
const LEVELS: [&str; 5] = ["state", "county", "tract", "group", "leaf"];

/// About 50 leaves a group, 3 groups a tract, 25 tracts a county, 60 counties a state; `ids`: every name is its whole path.
fn write(name: &str, ids: bool) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let path = PathBuf::from(target).join(name);
    drop(std::fs::remove_file(&path));
    let columns: Vec<(&str, bool)> =
        LEVELS.map(|level| (level, false)).into_iter().chain([("count", true)]).collect();
    let mut writer = TableWriter::create(&path, &columns).expect("a new file");
    for leaf in 0..LEAVES {
        let sizes = [50 * 3 * 25 * 60, 50 * 3 * 25, 50 * 3, 50, 1];
        let parts = sizes.map(|size| leaf / size);
        let text = |i: usize| match (ids, i) {
            (true, _) => format!("{:0width$}", parts[i], width = [2, 5, 11, 12, 15][i]),
            (false, 0) => format!("{:02}", parts[0]),
            (false, _) => format!("{:03}", parts[i] % (sizes[i - 1] / sizes[i])),
        };
        let texts = [0, 1, 2, 3, 4].map(text);
        let row = texts.iter().map(|text| Value::Text(text)).chain([Value::Integer(leaf * 7919 % 61)]);
        writer.push(row).expect("space for a table");
    }
    writer.finish().expect("space for a table");
    path
}

fn main() {
    let mut criterion = Criterion::default().sample_size(10).configure_from_args();
    let mut group = criterion.benchmark_group("reading");
    bench_words(&mut group, "words");
    let levels = LEVELS.map(str::to_owned);
    let mut digests = Vec::new();
    let mut lines = Vec::new();
    for (name, ids) in [("codes", false), ("ids", true)] {
        for ending in ["csv", "parquet"] {
            let path = write(&format!("reading-{name}.{ending}"), ids);
            let read = || {
                let table = CsvTable::read_wanted(&path, &Wanted::of(LEVELS, "count")).expect("a table");
                HierarchyTable::from_csv(table, &levels, "count", &[]).expect("a tree")
            };
            digests.push(read().digest);
            group.bench_function(format!("{ending}-{name}"), |b| b.iter(|| black_box(read())));
            lines.push((format!("{ending}-{name}"), LEAVES as f64, Some(LIMIT)));
        }
    }
    assert!(digests.iter().all(|digest| *digest == digests[0]), "one tree, four files: {digests:?}");
    group.finish();
    criterion.final_summary();
    print_ratios("reading", "words", "leaf", &lines);
}
