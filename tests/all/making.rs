//! Runs that programs make for themselves: watched, stopped, taken up again; and methods that are registered on the way.

use crate::place::{Place, TREE, TREE_DATA};
use congenial::engine::{Manner, Watch};
use congenial::failure::{Failure, Result};
use congenial::input::{CsvTable, Wanted};
use congenial::making::{self, Hearer, Made, Making};
use congenial::own::{self, OwnMethod, OwnReleases, Promises, Task};
use congenial::store::{Earlier, Run};
use congenial::study::{self, Planned};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const GRID: &str = "name = \"c\"\nseed = 1\n[[grid]]\nepsilon = 1.0\nlaw = \"double-geometric\"\n";

struct Nobody;

impl Hearer for Nobody {
    fn hear(&self, _: &str) {}
    fn claimed(&self, _: &str, _: usize) -> Result<()> {
        Ok(())
    }
}

/// Stops a run once so much of it is done.
#[derive(Debug, Default)]
struct Stops {
    at: f64,
    calls: AtomicU64,
    stopped: AtomicBool,
}

impl Watch for Stops {
    fn progress(&self, share: f64) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        assert!((0.0..=1.0).contains(&share), "{share}");
        self.stopped.fetch_or(share >= self.at, Ordering::Relaxed);
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

fn make(planned: &dyn Planned, out: &Path, earlier: Earlier, watch: &dyn Watch) -> Result<Made> {
    let manner = Manner { threads: 2, fail_fast: false, quiet: false, watch: Some(watch) };
    making::run(&Making { out: Some(out), earlier, manner, merged: None }, planned, &Nobody)
}

fn planned(place: &Place, method: &str) -> Box<dyn Planned> {
    let text = format!("{GRID}{method}\n{TREE_DATA}");
    study::plan(study::read(&place.path("config.toml"), &text, &[]).unwrap()).unwrap()
}

#[test]
fn a_run_that_is_stopped_goes_on_to_the_same_rows() {
    let place = Place::new(&[("tree.csv", TREE)]);
    let chains = "replicates = 64\nmethod = { kind = \"line-gibbs\", sweeps = 20000 }";
    let planned = planned(&place, chains);
    let (never, early) = (Stops { at: 2.0, ..Stops::default() }, Stops { at: 0.2, ..Stops::default() });
    let whole = make(&*planned, &place.path("whole"), Earlier::Refused, &never).unwrap();
    assert!(never.calls.load(Ordering::Relaxed) > 10, "progress was told");
    let out = place.path("stopped");
    let stopped = make(&*planned, &out, Earlier::Refused, &early);
    let Err(failure @ Failure::Interrupted(_)) = stopped else { panic!("{stopped:?}") };
    assert_eq!((failure.exit_code(), out.exists()), (130, false));
    // Nothing holds the folder, and what is finished is there.
    let mut least = f64::INFINITY;
    for _ in 0..2 {
        let stops = Stops { at: 2.0, ..Stops::default() };
        match make(&*planned, &out, Earlier::Resumed, &stops).unwrap() {
            Made::Drawn(_) => least = stops.calls.load(Ordering::Relaxed) as f64,
            Made::Before(_, manifest) => assert_eq!(manifest.failed_cells, 0),
        }
    }
    assert!(least.is_finite());
    let tables = |folder: &Path| Run::open(folder).unwrap().manifest.tables;
    assert_eq!(tables(whole.folder()), tables(&out));
}

/// Adds a number to the first count.
struct Adds(f64, &'static str);

impl OwnMethod for Adds {
    fn promises(&self, _: &[(String, String)]) -> std::result::Result<Promises, String> {
        Ok(Promises::default())
    }

    fn prepare(&self, task: Task) -> std::result::Result<Box<dyn OwnReleases>, String> {
        Ok(Box::new(Added(self.0, task.structure.counts())))
    }

    fn identity(&self) -> String {
        self.1.to_owned()
    }
}

struct Added(f64, usize);

impl OwnReleases for Added {
    fn release(&self, _: &[u64], counts: &mut [f64]) -> std::result::Result<(), String> {
        counts.chunks_mut(self.1).for_each(|release| release[0] += self.0);
        Ok(())
    }
}

#[test]
fn a_method_that_is_registered_again_takes_the_place_of_the_first() {
    let place = Place::new(&[("tree.csv", TREE)]);
    let keys = |number: f64, identity: &'static str| {
        own::register([("adds".to_owned(), Arc::new(Adds(number, identity)) as Arc<dyn OwnMethod>)]);
        let method = "replicates = 2\nmethod = { kind = \"external\", name = \"adds\" }";
        let planned = planned(&place, method);
        let out = place.path(&format!("{identity}-{number}"));
        let stops = Stops { at: 2.0, ..Stops::default() };
        make(&*planned, &out, Earlier::Refused, &stops).unwrap();
        let run = Run::open(&out).unwrap();
        let errors = run.all::<congenial::study::release::ErrorRow>().unwrap();
        (planned.units()[0].key, errors[0].bias)
    };
    let (first, other, same) = (keys(0.0, "a"), keys(1000.0, "b"), keys(5000.0, "a"));
    assert_ne!(first.0, other.0, "the identity is a part of the cell");
    assert_eq!(first.0, same.0);
    // The noise is shared: what is left is what the methods add, each of them the one that was registered last.
    assert_eq!((other.1 - first.1, same.1 - first.1), (1000.0, 5000.0));
}

#[test]
fn a_table_that_is_held_gives_the_rows_of_its_file() {
    let place = Place::new(&[("tree.csv", TREE)]);
    let method = "replicates = 3\nmethod = \"exact\"";
    let mut columns: Vec<(String, Vec<Option<&str>>)> = Vec::new();
    for (i, line) in TREE.lines().enumerate() {
        for (place, value) in line.split(',').enumerate() {
            match i {
                0 => columns.push((value.to_owned(), Vec::new())),
                _ => columns[place].1.push(Some(value)),
            }
        }
    }
    let table = CsvTable::from_columns(Path::new("frame"), &columns, &Wanted::default()).unwrap();
    let text = format!("{GRID}{method}\n{TREE_DATA}");
    let read = || study::read(&place.path("config.toml"), &text, &[]).unwrap();
    let held = study::plan_on(read(), vec![Some(table)]).unwrap();
    let filed = planned(&place, method);
    assert_eq!(held.about().data_digest, filed.about().data_digest);
    assert_eq!(held.units(), filed.units());
    columns[2].1[3] = None;
    let refused = CsvTable::from_columns(Path::new("frame"), &columns, &Wanted::default()).unwrap_err();
    assert_eq!(refused.to_string(), "frame: row 4: no value in `count`");
    columns[2].1.pop();
    let refused = CsvTable::from_columns(Path::new("frame"), &columns, &Wanted::default()).unwrap_err();
    assert_eq!(refused.to_string(), "frame: `count` has 5 values, `zone` has 6");
    columns[2].1[3] = Some("x");
    columns[2].1.push(Some("1"));
    let table = CsvTable::from_columns(Path::new("frame"), &columns, &Wanted::default()).unwrap();
    let refused = study::plan_on(read(), vec![Some(table)]).err().unwrap();
    let refused = refused.to_string();
    assert!(refused.starts_with("frame: row 4: `count` = `x`, want an integer >= 0"), "{refused}");
}
