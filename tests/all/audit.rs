//! `audit`: what is planted is found, what pays what it states is not accused, and what is proved comes close to what is paid.
//!
//! In CI some random systems. CONGENIAL_AUDITS=1000 makes it a thousand (`scripts/nightly audit`).

use crate::place::{NONNEGATIVE, Place};
use congenial::audit::{Audited, Effort, Verdict, audit};
use congenial::engine::Manner;
use congenial::input::CsvTable;
use congenial::law::{DoubleGeometric, Laplace, Law};
use congenial::own::{self, OwnMethod, OwnReleases, Promises, Task};
use congenial::privacy::Declared;
use congenial::rng::{Role, Stream, TaskKey, stream};
use congenial::study;
use congenial::verify::systems;
use std::path::Path;
use std::sync::Arc;

const MANNER: Manner = Manner { threads: 2, fail_fast: false, quiet: true, watch: None };

/// Scale of the noise of every count.
const SCALE: f64 = 1.0;
/// What a mechanism with a threshold states that it pays beside epsilon.
const DELTA: f64 = 0.01;

/// A mechanism on a table whose total is known, with a fault or without.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    /// Real noise, cut off to an integer before it is added.
    Integers,
    /// Counts below a threshold are released as 0, and the threshold is one too low for the stated delta.
    Threshold,
    /// Two counts have the same noise.
    SharedSeed,
    /// The noise is that of half the change.
    Sensitivity,
    /// What is 0 stays 0.
    Looks,
    /// The noise is conditioned on counts >= 0, and what is stated leaves that out.
    NoGamma,
}

const FAULTS: [Fault; 6] =
    [Fault::Integers, Fault::Threshold, Fault::SharedSeed, Fault::Sensitivity, Fault::Looks, Fault::NoGamma];

struct Planted {
    fault: Fault,
    /// Whether the mechanism has its fault.
    is_there: bool,
}

impl Planted {
    fn name(&self) -> String {
        format!("{:?}-{}", self.fault, if self.is_there { "faulty" } else { "sound" })
    }

    fn release(&self, counts: &mut [f64], rng: &mut Stream) {
        let geometric = DoubleGeometric::new(SCALE).unwrap();
        match self.fault {
            Fault::Integers => {
                let law = Laplace::new(SCALE).unwrap();
                for x in counts {
                    let z = law.sample(rng);
                    *x += if self.is_there { z.trunc() } else { z };
                }
            }
            Fault::Threshold => {
                let law = Laplace::new(SCALE).unwrap();
                // P(1 + z >= threshold) = delta.
                let right = 1.0 - SCALE * libm::log(2.0 * DELTA);
                let threshold = if self.is_there { right - 1.0 } else { right };
                for x in counts {
                    let y = *x + law.sample(rng);
                    *x = if *x > 0.0 && y >= threshold { y } else { 0.0 };
                }
            }
            Fault::SharedSeed => {
                let first = geometric.sample(rng) as f64;
                for x in counts {
                    *x += if self.is_there { first } else { geometric.sample(rng) as f64 };
                }
            }
            Fault::Sensitivity => {
                let scale = if self.is_there { 0.5 * SCALE } else { SCALE };
                let law = DoubleGeometric::new(scale).unwrap();
                counts.iter_mut().for_each(|x| *x += law.sample(rng) as f64);
            }
            Fault::Looks => {
                for x in counts {
                    let z = geometric.sample(rng) as f64;
                    *x += if self.is_there && *x == 0.0 { 0.0 } else { z };
                }
            }
            Fault::NoGamma => loop {
                let noise: Vec<f64> = counts.iter().map(|_| geometric.sample(rng) as f64).collect();
                let is_above = counts.iter().zip(&noise).all(|(x, z)| x + z >= 0.0);
                if noise.iter().sum::<f64>() == 0.0 && is_above {
                    counts.iter_mut().zip(noise).for_each(|(x, z)| *x += z);
                    return;
                }
            },
        }
    }
}

impl OwnMethod for Planted {
    fn promises(&self, _: &[(String, String)]) -> Result<Promises, String> {
        Ok(Promises { mechanism: true, ..Promises::default() })
    }

    fn prepare(&self, task: Task) -> Result<Box<dyn OwnReleases>, String> {
        let &Self { fault, is_there } = self;
        Ok(Box::new(Ready(Self { fault, is_there }, task.structure.counts())))
    }

    fn identity(&self) -> String {
        self.name()
    }
}

struct Ready(Planted, usize);

impl OwnReleases for Ready {
    fn release(&self, seeds: &[u64], counts: &mut [f64]) -> Result<(), String> {
        for (&seed, release) in seeds.iter().zip(counts.chunks_mut(self.1)) {
            let key = TaskKey { seed, cell: 0, replicate: 0, role: Role::Own };
            self.0.release(release, &mut stream(key));
        }
        Ok(())
    }

    /// Two counts change by 1. Conditioning on inequalities pays at most twice that.
    fn pays(&self) -> Option<Declared> {
        let moved = match self.0.fault {
            Fault::NoGamma if !self.0.is_there => 4.0 / SCALE,
            _ => 2.0 / SCALE,
        };
        let delta = if self.0.fault == Fault::Threshold { DELTA } else { 0.0 };
        Some(Declared { epsilons: [None, Some(moved), None], delta })
    }
}

const TABLE: &str = "a,count\nx,2\ny,1\nz,0\n";
const TOTAL: &str = "entry = [\"a\"]\n[[invariant]]\nkind = \"total\"\n";

fn audited(table: &str, data: &str, grid: &str, effort: Effort) -> Vec<Audited> {
    let text = format!(
        "name = \"a\"\nseed = 7\nreplicates = 1\n[data]\ntable = \"t.csv\"\ncount = \"count\"\n{data}[[grid]]\n{grid}\n"
    );
    let configs = study::read(Path::new("a.toml"), &text, &[]).unwrap().grid("a grid").unwrap();
    let table = CsvTable::from_reader(Path::new("t.csv"), table.as_bytes()).unwrap();
    let plans = study::settled(configs, vec![Some(table)]).unwrap();
    let found = audit(&plans, effort, &MANNER).unwrap();
    found.into_iter().map(|(_, one)| one).collect()
}

/// An audit of a mechanism with or without its fault: the one statement that it makes.
fn of_planted(fault: Fault, is_there: bool) -> Audited {
    let planted = Planted { fault, is_there };
    let name = planted.name();
    own::register([(name.clone(), Arc::new(planted) as Arc<dyn OwnMethod>)]);
    let floors = if fault == Fault::NoGamma { "[[invariant]]\nkind = \"nonnegative\"\n" } else { "" };
    let grid = format!(
        "epsilon = 1.0\nlaw = \"double-geometric\"\nmethod = {{ kind = \"external\", name = \"{name}\" }}"
    );
    // What inequalities add is little.
    let draws = if fault == Fault::NoGamma { 60_000 } else { 20_000 };
    let effort = Effort { draws, ..Effort::default() };
    let found = audited(TABLE, &format!("{TOTAL}{floors}"), &grid, effort);
    let [one] = <[Audited; 1]>::try_from(found).unwrap();
    one
}

#[test]
fn planted_faults_are_found_and_sound_mechanisms_are_not_accused() {
    for fault in FAULTS {
        for is_there in [true, false] {
            let one = of_planted(fault, is_there);
            let found = one.found.as_ref().unwrap();
            let verdict = if is_there { Verdict::PaysMore } else { Verdict::Consistent };
            assert_eq!(one.verdict(), verdict, "{fault:?} {is_there}: {found:?}, {}", one.pair);
            println!("{fault:?} {is_there}: {found:?} {}", one.pair);
        }
    }
}

/// What is proved of methods whose loss is known comes close to it, on trees and tables, of pure and of Gaussian noise.
#[test]
fn what_is_proved_is_close_to_what_is_paid() {
    let tree = "a,b,count\n0,x,3\n0,y,1\n1,x,5\n1,y,0\n";
    let levels = "levels = [\"a\", \"b\"]\n";
    let pure =
        "epsilon = 0.5\nlaw = [\"double-geometric\", \"laplace\"]\nmethod = [\"unconstrained\", \"exact\"]\n";
    let gaussian = "epsilon = 1.0\nlaw = [\"discrete-gaussian\", \"gaussian\"]\ndelta = 1e-6\nmethod = [\"unconstrained\", \"exact\"]\n";
    for (table, data) in [(tree, levels), (TABLE, TOTAL)] {
        // At a delta of its own, which is as uncertain as the rest, less is proved.
        for (grid, least) in [(pure, 0.5), (gaussian, 0.3)] {
            let all = audited(table, data, grid, Effort::default());
            assert!(all.len() >= 4);
            for one in all {
                let found = one.found.as_ref().unwrap();
                let share = found.at_least / found.stated;
                assert!(share > least && share < 1.0, "{} {:?}: {found:?}", one.cell.words(), one.change);
            }
        }
    }
}

/// Random trees and tables, laws, budgets and methods: none is accused, each audit at its own level.
#[test]
fn no_method_is_accused() {
    let number = std::env::var("CONGENIAL_AUDITS").map_or(40, |text| text.parse().expect("a number"));
    let (mut audits, mut told, mut closest) = (0, 0, (f64::NEG_INFINITY, String::new()));
    let mut accused = Vec::new();
    for i in 0.. {
        if audits == number {
            break;
        }
        let system = systems::random(20_261_128, i);
        let Ok(plan) = system.plan() else { continue };
        let found = audit(&[plan], Effort { draws: 2000, ..Effort::default() }, &MANNER).unwrap();
        audits += 1;
        for (_, one) in found {
            let words = || format!("system {i}, {}: {}: {:?}", system.name, one.cell.words(), one.found);
            match (one.verdict(), &one.found) {
                (Verdict::PaysMore, _) => accused.push(words()),
                (_, Ok(found)) if found.at_least > 0.0 => {
                    told += 1;
                    if found.at_least - found.stated > closest.0 {
                        closest = (found.at_least - found.stated, words());
                    }
                }
                _ => {}
            }
        }
    }
    println!("{audits} audits, {told} of them proved something; closest to what is stated: {closest:?}");
    assert!(accused.is_empty(), "{} accused:\n{}", accused.len(), accused.join("\n"));
    assert!(told > audits / 3, "only {told} proved something");
}

/// A record moves between counts that nothing ties together, too.
#[test]
fn moves_between_single_counts_are_found() {
    let config = format!(
        "name = \"a\"\nseed = 7\nreplicates = 1\n[data]\ntable = \"t.csv\"\ncount = \"count\"\nentry = [\"a\"]\n{NONNEGATIVE}\
         [[grid]]\nepsilon = 1.0\nlaw = \"laplace\"\nmethod = \"exact\"\n"
    );
    let place = Place::new(&[("t.csv", TABLE), ("a.toml", &config)]);
    let printed = place.prints(&["audit", "a.toml", "--draws", "1000"]);
    assert!(printed.contains("moved") && !printed.contains("no two tables"), "{printed}");
}

#[test]
fn the_command_says_what_it_found() {
    let config = |method: &str| {
        format!(
            "name = \"a\"\nseed = 7\nreplicates = 1\n[data]\ntable = \"t.csv\"\ncount = \"count\"\n{TOTAL}\
             [[grid]]\nepsilon = 1.0\nlaw = \"double-geometric\"\nmethod = {method}\n"
        )
    };
    let fails = "{ kind = \"external\", name = \"false\", command = [\"false\"] }";
    let place = Place::new(&[("t.csv", TABLE), ("a.toml", &config("\"exact\"")), ("b.toml", &config(fails))]);
    let command = ["audit", "a.toml", "--draws", "2000"];
    let printed = place.prints(&command);
    assert!(printed.contains("consistent") && printed.contains("moved"), "{printed}");
    let json: serde_json::Value =
        serde_json::from_str(&place.prints(&[&command[..], &["--json"]].concat())).unwrap();
    let one = &json["audited"][0];
    assert_eq!(
        (&one["verdict"], &one["releases"], &json["draws"]),
        (&"consistent".into(), &2000.into(), &2000.into())
    );
    assert!(one["at_least"].as_f64().unwrap() > 0.3 && one["stated"] == 2.0, "{one}");
    // Whatever the number of threads.
    for threads in ["1", "2", "3"] {
        assert_eq!(place.prints(&[&command[..], &["--threads", threads]].concat()), printed);
    }
    place.refuses(&["audit", "a.toml", "--level", "0"], &["--level: got 0, want a number in (0, 1)"]);
    place.refuses(&["audit", "a.toml", "--draws", "10"], &["--draws: got 10, want 100 to 1000000000"]);
    place.refuses(&["audit", "b.toml"], &["false"]);
}
