//! `congenial release`: what is made, what it pays, what is refused, and that nothing before the data depends on them.
#![allow(clippy::disallowed_methods)] // Tests open files of their own.

use crate::place::Place;
use congenial::infer::Noisy;
use congenial::input::LeafList;
use congenial::release::ledger::{History, Ledger, Limit, Opening, Protects};
use congenial::release::{Certificate, Config, Statement, check, make, validate};
use congenial::rng::{Rng, Role, Stream, TaskKey, stream};
use congenial_exact_noise::Bits;
use std::path::Path;

/// A list of leaves, of which `x3` has no row in the data.
const DOMAIN: &str = "part,place\nx,x1\nx,x2\nx,x3\ny,y1\ny,y2\nz,z1\nz,z2\n";
const DATA: &str = "place,part,trips\nx1,x,40\nx2,x,0\ny1,y,7\ny2,y,130\nz1,z,3\nz2,z,20\n";
const CONFIG: &str = r#"kind = "release"
[product]
name = "Trips of a town"
curator = "Town office"
intended-use = "Planning of bus lines"
region = "Nowhere"
[data]
table = "trips.csv"
domain = "places.csv"
levels = ["part", "place"]
count = "trips"
root = "town"
known = ["town"]
[privacy]
protects = "moved"
records-per-unit = 1
law = "double-geometric"
epsilon = "1/2"
split = ["1/4", "3/4"]
noise = "free"
[publish]
table = "bluedown"
intervals = "9/10"
"#;

/// Bits from a seeded generator, counted.
struct Seeded {
    rng: Stream,
    calls: u64,
}

impl Seeded {
    fn new(seed: u64) -> Self {
        Self { rng: stream(TaskKey { seed, cell: 0, replicate: 0, role: Role::Noise }), calls: 0 }
    }
}

impl Bits for Seeded {
    fn bits(&mut self, count: u32) -> congenial_exact_noise::Result<u32> {
        self.calls += 1;
        Ok((self.rng.next_u64() >> (64 - count)) as u32)
    }
}

fn place() -> Place {
    let place = Place::new(&[("release.toml", CONFIG), ("places.csv", DOMAIN), ("trips.csv", DATA)]);
    place.keep("trips.csv");
    let limit = Limit::parse("epsilon = 3").unwrap();
    let opening = Opening { unit: "one trip".into(), records: 1, protects: Protects::Moved, limit };
    Ledger::create(&place.path("trips.ledger"), &opening).unwrap();
    let limit = Limit::parse("rho = 9").unwrap();
    Ledger::create(&place.path("rho.ledger"), &Opening { limit, ..opening }).unwrap();
    place
}

/// A ledger of units of two records, of those that are added.
fn two(place: &Place) {
    let limit = Limit::parse("epsilon = 3").unwrap();
    let opening = Opening { unit: "one rider".into(), records: 2, protects: Protects::Added, limit };
    Ledger::create(&place.path("two.ledger"), &opening).unwrap();
}

const MAKE: [&str; 7] = ["release", "make", "release.toml", "--ledger", "trips.ledger", "--out", "out"];

/// Makes the release of `release.toml` into `out` with a seed; what it took of the source.
fn made(place: &Place, out: &str, seed: u64) -> u64 {
    let config = Config::read(&place.path("release.toml")).unwrap();
    let mut source = Seeded::new(seed);
    let ledger = if config.text.contains("rho = ") { "rho.ledger" } else { "trips.ledger" };
    make(&config, &place.path(ledger), &place.path(out), &mut source).unwrap();
    source.calls
}

/// The values of the noisy file of a folder.
fn noisy(place: &Place, out: &str) -> Vec<f64> {
    let levels = ["part".to_owned(), "place".to_owned()];
    Noisy::read(&place.path(out).join("noisy.parquet"), &levels, None).unwrap().values
}

fn checked(place: &Place, out: &str) -> Result<Certificate, String> {
    let again = tempfile::TempDir::new().unwrap();
    check(&place.path(out), again.path()).map(|(certificate, _)| certificate).map_err(|e| e.to_string())
}

#[test]
fn a_release_is_planned_made_and_checked() {
    let place = place();
    let plan = place.prints(&["release", "plan", "release.toml"]);
    assert!(plan.contains("0.500000000") && plan.contains("known"), "{plan}");
    place.prints(&["release", "validate", "release.toml"]);
    let printed = place.prints(&MAKE);
    assert!(printed.contains("noisy.parquet") && printed.contains("certificate.html"), "{printed}");
    let checked = place.prints(&["release", "check", "out"]);
    assert!(checked.contains("6 files are what"), "{checked}");
    let table = std::fs::read_to_string(place.path("out").join("table.csv")).unwrap();
    let rows: Vec<Vec<&str>> = table.lines().map(|row| row.split(',').collect()).collect();
    assert_eq!(rows[0], ["part", "place", "value", "low", "high", "note"]);
    let value = |row: &Vec<&str>| row[2].parse::<i64>().unwrap();
    let sum = |part: &dyn Fn(&&Vec<&str>) -> bool| rows[1..].iter().filter(part).map(value).sum::<i64>();
    // What is known stays, and everything adds up, >= 0.
    assert_eq!((rows.len(), value(&rows[1])), (12, 200));
    assert_eq!(sum(&|row| !row[0].is_empty() && row[1].is_empty()), 200);
    assert_eq!(sum(&|row| !row[1].is_empty()), 200);
    assert!(rows[1..].iter().all(|row| value(row) >= 0));
    let record = std::fs::read_to_string(place.path("out").join("registry.yaml")).unwrap();
    assert!(record.contains(
        "  product:\n    name: \"Trips of a town\"\n    data_curators:\n      - \"Town office\"\n"
    ));
    assert!(record.contains("    privacy_parameters:\n      epsilon: 0.500000000\n"), "{record}");
    // It is booked, and published; another pays again.
    let history = || History::read(&place.path("trips.ledger")).unwrap();
    assert_eq!((history().spent().count(), history().published().len()), (1, 1));
    let certificate = Certificate::read(&place.path("out/certificate.json")).unwrap();
    let head = congenial::release::ledger::Head {
        head: certificate.ledger.head.clone(),
        lines: certificate.ledger.lines,
    };
    assert!(history().has(&head));
    place.refuses(&MAKE, &["out", "it is there already"]);
    assert_eq!(history().spent().count(), 1);
    let mut again = MAKE;
    again[6] = "second";
    place.prints(&again);
    assert_eq!((history().spent().count(), history().published().len()), (2, 2));
    assert_ne!(noisy(&place, "out"), noisy(&place, "second"));
}

/// A folder is the one that its path leads to, whatever ends the path.
#[test]
fn a_folder_may_end_with_a_point() {
    let place = place();
    let mut make = MAKE;
    make[6] = "out/.";
    assert!(place.prints(&make).contains("certificate.json"));
    place.prints(&["release", "check", "out"]);
    make[6] = "..";
    place.refuses(&make, &["--out: got `..`"]);
}

/// A list with the bytes of the data is refused, also as another file; in words that say nothing once the loss is paid.
#[test]
fn the_list_is_not_the_data() {
    let place = place();
    place.write("places.csv", DATA);
    place.refuses(&["release", "validate", "release.toml"], &["it is the list of leaves places.csv, too"]);
    place.refuses(&MAKE, &["the data were refused"]);
}

/// What is drawn, and how much of it, is the same for other data.
#[test]
fn nothing_before_the_data_depends_on_them() {
    let place = place();
    for (noise, table) in [("free", "topdown"), ("free", "l2"), ("conditioned", "none")] {
        let config = CONFIG.replace("noise = \"free\"", &format!("noise = \"{noise}\""));
        place.write("release.toml", &config.replace("\"bluedown\"", &format!("\"{table}\"")));
        let out = |data: &str| format!("{noise}-{table}-{data}");
        place.write("trips.csv", DATA);
        let first = made(&place, &out("first"), 7);
        place.write("trips.csv", "place,part,trips\nz2,z,1000000\nx1,x,1\n");
        let second = made(&place, &out("second"), 7);
        let [one, other] = ["first", "second"].map(|data| noisy(&place, &out(data)));
        let noise: Vec<f64> = one
            .iter()
            .zip([200.0, 40.0, 137.0, 23.0, 40.0, 0.0, 0.0, 7.0, 130.0, 3.0, 20.0])
            .map(|(y, x)| y - x)
            .collect();
        let counts = [1_000_001.0, 1.0, 0.0, 1e6, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1e6];
        let others: Vec<f64> = other.iter().zip(counts).map(|(y, x)| y - x).collect();
        assert_eq!((first, &noise), (second, &others));
        assert!(noise[0] == 0.0 && noise.iter().any(|z| *z != 0.0), "{noise:?}");
    }
    place.write("trips.csv", DATA);
}

/// Data that are refused after the loss was booked say nothing of themselves, and the loss stays.
#[test]
fn refused_data_stay_paid_and_say_nothing() {
    let place = place();
    let mut said = Vec::new();
    for data in [
        "place,part,trips\nx9,x,1\n",
        "place,part,trips\nx1,x,-5\n",
        "part\nx\n",
        "place,part,trips\nx1,x,1\nx1,x,2\n",
    ] {
        place.write("trips.csv", data);
        place.refuses(&["release", "validate", "release.toml"], &["trips.csv"]);
        let output = place.command(&MAKE).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        said.push((output.stdout, output.stderr));
        assert!(!place.path("out").exists() && !place.path("out.partial").exists());
    }
    assert!(said.iter().all(|other| *other == said[0]));
    assert!(String::from_utf8_lossy(&said[0].1).contains("The loss is paid"));
    let history = History::read(&place.path("trips.ledger")).unwrap();
    assert_eq!((history.spent().count(), history.published().len()), (4, 0));
}

#[test]
fn what_does_not_go_is_refused_before_anything_is_booked() {
    let place = place();
    let refused = |from: &str, to: &str, wanted: &[&str]| {
        assert!(CONFIG.contains(from), "{from}");
        place.write("release.toml", &CONFIG.replacen(from, to, 1));
        place.refuses(&MAKE, wanted);
    };
    refused("\"release\"", "\"run\"", &["kind: got `run`", "want \"release\""]);
    refused("[product]", "seed = 1\n[product]", &["seed: not used", "the operating system"]);
    refused("epsilon = \"1/2\"", "epsilon = 0.5", &["in quotes", "got 0.5"]);
    refused("epsilon = \"1/2\"", "epsilon = \"-1\"", &["got `-1`"]);
    refused("epsilon = \"1/2\"", "epsilon = \"0\"", &["privacy.epsilon: got 0"]);
    refused("epsilon = \"1/2\"", "epsilon = \"1/100000000000000000\"", &["privacy"]);
    refused("epsilon = \"1/2\"", "rho = \"1/2\"", &["privacy.rho: not used", "epsilon"]);
    refused("epsilon = \"1/2\"\n", "", &["privacy.epsilon: missing"]);
    refused(
        "\"1/4\", \"3/4\"",
        "\"1/4\", \"1/4\"",
        &["privacy.split: got 2 that add up to 0.5", ": part, place"],
    );
    refused("\"moved\"", "\"added\"", &["privacy.protects", "data.known"]);
    refused(
        "\"double-geometric\"",
        "\"laplace\"",
        &["privacy.law: got `laplace`", "double-geometric, discrete-gaussian"],
    );
    for law in ["l1", "generalized-gaussian"] {
        refused("\"double-geometric\"", &format!("\"{law}\""), &["privacy.law: got", "discrete-gaussian"]);
    }
    refused("count = \"trips\"", "count = \"\"", &["data.count: got ``"]);
    refused(
        "domain = \"places.csv\"",
        "domain = \"trips.csv\"",
        &["trips.csv", "it is the list of leaves, too"],
    );
    refused(
        "\"1/4\", \"3/4\"",
        "\"1e-30\", \"0.999999999999999999999999999999\"",
        &["privacy.split", "below 2^64"],
    );
    refused("\"9/10\"", "0.9", &["in quotes"]);
    refused("records-per-unit = 1", "records-per-unit = 0", &["records-per-unit"]);
    refused("records-per-unit = 1", "records-per-unit = \"3/2\"", &["records-per-unit: got 3/2"]);
    refused("known = [\"town\"]", "known = [\"town\", \"part\", \"place\"]", &["data.known", "every level"]);
    refused("known = [\"town\"]", "known = [\"part\"]", &["data.known", "town"]);
    refused("noise = \"free\"", "noise = \"conditioned\"", &["publish.table", "adds up by itself"]);
    refused("\"bluedown\"", "\"nnl2\"", &["publish.table: got `nnl2`"]);
    refused("\"9/10\"", "\"2\"", &["publish.intervals: got `2`"]);
    refused("domain = \"places.csv\"\n", "", &["domain"]);
    refused("domain = \"places.csv\"", "domain = \"none.csv\"", &["none.csv"]);
    refused("table = \"trips.csv\"", "table = \"none.csv\"", &["none.csv"]);
    refused(
        "levels = [\"part\", \"place\"]",
        "levels = [\"part\", \"value\"]",
        &["data.levels: got `value`"],
    );
    place.write("release.toml", CONFIG);
    for (domain, wanted) in [
        ("part,place\nx,x1\nx,x1\n", "`x1` stands there twice"),
        ("part,place\nx,x1\n,y1\n", "`part` is blank"),
        ("part,place\n", "no rows"),
        ("part\nx\n", "place"),
        ("part,place\nx,x1\n", "nothing is left to release"),
    ] {
        place.write("places.csv", domain);
        place.refuses(&MAKE, &[wanted]);
    }
    place.write("places.csv", DOMAIN);
    place.write("release.toml", &CONFIG.replace("\"1/2\"", "\"4\""));
    place.refuses(&MAKE, &["trips.ledger", "3"]);
    let history = History::read(&place.path("trips.ledger")).unwrap();
    assert!(history.spent().next().is_none() && !place.path("out").exists());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        place.write("release.toml", CONFIG);
        std::fs::set_permissions(place.path("trips.csv"), std::fs::Permissions::from_mode(0o666)).unwrap();
        place.refuses(&MAKE, &["others than its owner may write it"]);
    }
}

/// No bit of a published folder can change, no file can be missing or added.
#[test]
fn every_damaged_byte_is_named() {
    let place = place();
    made(&place, "out", 3);
    checked(&place, "out").unwrap();
    let folder = place.path("out");
    let names: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(names.len(), 6);
    for path in &names {
        let bytes = std::fs::read(path).unwrap();
        for at in (0..bytes.len()).step_by(1 + bytes.len() / 150) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << (at % 8);
            std::fs::write(path, &damaged).unwrap();
            let refused = checked(&place, "out").expect_err("a damaged byte");
            let name = path.file_name().unwrap().to_str().unwrap();
            assert!(refused.contains(name), "{name} {at}: {refused}");
        }
        std::fs::remove_file(path).unwrap();
        assert!(checked(&place, "out").is_err());
        std::fs::write(path, &bytes).unwrap();
    }
    checked(&place, "out").unwrap();
    std::fs::write(folder.join("more.csv"), "a\n").unwrap();
    assert!(checked(&place, "out").unwrap_err().contains("no file of this release"));
}

/// What a change pays is that of the dearest of all changes of records between leaves, added up here over the counts that it touches.
#[test]
fn statements_are_those_of_the_dearest_change() {
    let domains = [
        DOMAIN,
        "part,place\nx,x1\n",
        "part,place\nx,x1\ny,y1\n",
        "part,place\nx,x1\nx,x2\n",
        "part,place\nx,x1\nx,x2\ny,y1\n",
    ];
    let mut compared = 0;
    for domain in domains {
        for (known, split) in [("[]", 3), ("[\"town\"]", 2), ("[\"town\", \"part\"]", 1)] {
            for (law, protects, records) in [
                ("double-geometric", "moved", 1),
                ("double-geometric", "added", 3),
                ("discrete-gaussian", "moved", 2),
            ] {
                let key = if law == "double-geometric" { "epsilon" } else { "rho" };
                let shares = ["\"1/6\"", "\"1/3\"", "\"1/2\""];
                let shares = if split == 3 {
                    shares.join(", ")
                } else {
                    vec![format!("\"1/{split}\""); split].join(", ")
                };
                let text = CONFIG
                    .replace("known = [\"town\"]", &format!("known = {known}"))
                    .replace("\"moved\"", &format!("\"{protects}\""))
                    .replace("records-per-unit = 1", &format!("records-per-unit = {records}"))
                    .replace("\"double-geometric\"", &format!("\"{law}\""))
                    .replace("epsilon = ", &format!("{key} = "))
                    .replace("\"1/4\", \"3/4\"", &shares);
                let place = Place::new(&[("release.toml", &text), ("places.csv", domain)]);
                let Ok(config) = Config::read(&place.path("release.toml")) else { continue };
                let Ok(domain) = leaves(&config) else { continue };
                let tree = &domain.tree;
                let loss = |v: usize, u: f64| {
                    let each = |base: congenial_exact_noise::Base| {
                        -(base.mantissa() as f64 / (1u64 << 48) as f64).ln()
                    };
                    let of =
                        statement(&config, &domain).and_then(|s| s.bases[tree.level(v)]).map_or(0.0, each);
                    if tree.is_known(v) {
                        assert_eq!(u, 0.0);
                        0.0
                    } else if key == "rho" {
                        u * u * of
                    } else {
                        u.abs() * of
                    }
                };
                let records = f64::from(records);
                let changed = |leaf: u32, sign: f64| {
                    let mut u = vec![0.0; tree.nodes()];
                    u[leaf as usize] = sign * records;
                    tree.sum_up(&mut u);
                    u
                };
                let mut dearest = 0.0f64;
                for &a in tree.leaves() {
                    let mut pays = |u: Vec<f64>| {
                        if (0..tree.nodes()).all(|v| !tree.is_level_known(tree.level(v)) || u[v] == 0.0) {
                            dearest = dearest.max((0..tree.nodes()).map(|v| loss(v, u[v])).sum());
                        }
                    };
                    match protects {
                        "added" => pays(changed(a, 1.0)),
                        _ => tree.leaves().iter().filter(|&&b| b != a).for_each(|&b| {
                            pays(changed(a, -1.0).iter().zip(changed(b, 1.0)).map(|(x, y)| x + y).collect())
                        }),
                    }
                }
                match statement(&config, &domain) {
                    None => assert_eq!(dearest, 0.0),
                    Some(statement) => {
                        let stated: f64 = statement.unit().rounded_up(12).parse().unwrap();
                        assert!((stated - dearest).abs() < 2e-12, "{text}: {stated} {dearest}");
                        assert!(dearest <= 0.5 + 1e-15);
                        compared += 1;
                    }
                }
            }
        }
    }
    assert!(compared > 20, "{compared}");
}

/// The tree of a config.
fn leaves(config: &Config) -> Result<LeafList, congenial::failure::Failure> {
    let data = &config.data;
    LeafList::read(&data.domain, &data.levels, data.known)
}

fn statement(config: &Config, domain: &LeafList) -> Option<Statement> {
    Statement::new(&config.privacy, &domain.tree).ok()
}

/// The noise of 4,000 leaves has the law that the certificate states: chi-square at 1e-6.
#[test]
fn noise_has_the_law_of_its_certificate() {
    let leaves = 4000;
    let list: String = (0..leaves).map(|i| format!("p{},l{i}\n", i % 2)).collect();
    let place = place();
    place.write("places.csv", &format!("part,place\n{list}"));
    place.write("trips.csv", "part,place,trips\np0,l0,5\n");
    for (law, key) in [("double-geometric", "epsilon"), ("discrete-gaussian", "rho")] {
        let text = CONFIG
            .replace("\"double-geometric\"", &format!("\"{law}\""))
            .replace("epsilon = \"1/2\"", &format!("{key} = \"9/10\""));
        place.write(
            "release.toml",
            &text.replace("\"bluedown\"", "\"none\"").replace("intervals = \"9/10\"\n", ""),
        );
        made(&place, law, 11);
        let certificate = checked(&place, law).unwrap();
        let q = certificate.levels[2].mantissa.unwrap() as f64 / (1u64 << 48) as f64;
        let weight = |z: i64| q.powf(if key == "rho" { (z * z) as f64 } else { z.abs() as f64 });
        let whole: f64 = (-400..=400).map(weight).sum();
        let values = noisy(&place, law);
        let noise: Vec<i64> =
            values[3..].iter().enumerate().map(|(i, y)| *y as i64 - if i == 0 { 5 } else { 0 }).collect();
        assert_eq!(noise.len(), leaves);
        // Cells of -4 and less, -3 to 3, 4 and more.
        let cell = |z: i64| z.clamp(-4, 4) + 4;
        let (mut seen, mut expected) = ([0.0; 9], [0.0; 9]);
        noise.iter().for_each(|&z| seen[cell(z) as usize] += 1.0);
        (-400..=400).for_each(|z| expected[cell(z) as usize] += leaves as f64 * weight(z) / whole);
        let square: f64 = seen.iter().zip(expected).map(|(s, e): (&f64, f64)| (s - e) * (s - e) / e).sum();
        // The quantile of 8 degrees of freedom at 1 - 1e-6.
        assert!(square < 42.7, "{law}: {square} {seen:?} {expected:?}");
    }
}

/// Conditioned noise keeps every sum, and the intervals of the release stand around it.
#[test]
fn conditioned_releases_add_up() {
    let place = place();
    let text =
        CONFIG.replace("noise = \"free\"", "noise = \"conditioned\"").replace("\"bluedown\"", "\"none\"");
    place.write("release.toml", &text);
    for seed in 0..5 {
        let out = format!("out{seed}");
        place.write("release.toml", &text.replace("\"1/2\"", "\"1/5\""));
        made(&place, &out, seed);
        let y = noisy(&place, &out);
        assert_eq!(y[0], 200.0);
        assert_eq!(
            (y[1] + y[2] + y[3], y[4] + y[5] + y[6], y[7] + y[8], y[9] + y[10]),
            (200.0, y[1], y[2], y[3])
        );
        checked(&place, &out).unwrap();
    }
}

/// All releases of a ledger have its records of a unit, and where units are moved its list of leaves.
#[test]
fn a_ledger_is_of_one_unit_and_one_list() {
    let place = place();
    two(&place);
    made(&place, "out", 1);
    let mut make = MAKE;
    make[6] = "out2";
    place.write("places.csv", &(DOMAIN.to_owned() + "z,z3\n"));
    place.refuses(&make, &["trips.ledger", "counts by another list of leaves", "the same records"]);
    place.write("places.csv", DOMAIN);
    place.write("release.toml", &CONFIG.replace("records-per-unit = 1", "records-per-unit = 2"));
    place.refuses(&make, &["`one trip`, at most 1 record, and the release says 2: want the same"]);
    assert!(!place.path("out2.partial").exists());
    // A unit that is added may be in one list and not in another.
    let text = CONFIG
        .replace("records-per-unit = 1", "records-per-unit = 2")
        .replace("\"moved\"", "\"added\"")
        .replace("known = [\"town\"]\n", "")
        .replace("split = [\"1/4\", \"3/4\"]\n", "");
    place.write("release.toml", &text);
    (make[4], make[6]) = ("two.ledger", "added");
    place.prints(&make);
    place.write("places.csv", &(DOMAIN.to_owned() + "z,z3\n"));
    make[6] = "added2";
    place.prints(&make);
    make[6] = "none/added3";
    let history = || History::read(&place.path("two.ledger")).unwrap().lines().len();
    place.refuses(&make, &["none/added3.partial: cannot create"]);
    assert_eq!(history(), 5);
}

/// Whatever could be known before the data is refused before anything is booked; what was begun is gone.
#[test]
fn what_can_be_known_beforehand_is_not_paid() {
    let place = place();
    let lines = || History::read(&place.path("trips.ledger")).unwrap().lines().len();
    let refused = |text: &str, wanted: &[&str]| {
        place.write("release.toml", text);
        place.refuses(&["release", "plan", "release.toml"], wanted);
        place.refuses(&["release", "validate", "release.toml"], wanted);
        place.refuses(&MAKE, wanted);
        assert!(lines() == 1 && !place.path("out.partial").exists(), "{text}");
    };
    let wide = CONFIG.replace("epsilon = \"1/2\"", "epsilon = \"1/20000000000000\"");
    refused(&wide, &["privacy.epsilon: the noise of level 1", "want at most 2^40"]);
    let list: String = (0..100).map(|i| format!("p,l{i}\n")).collect();
    place.write("places.csv", &format!("part,place\n{list}"));
    let split = "split = [\"1/4\", \"3/4\"]\n";
    let wide = CONFIG.replace("epsilon = \"1/2\"", "epsilon = \"1/250000000000\"").replace(split, "");
    refused(&wide, &["privacy.epsilon: the noise of all counts would add up to some 1.0e14"]);
    place.write("places.csv", DOMAIN);
    let conditioned = CONFIG
        .replace("noise = \"free\"", "noise = \"conditioned\"")
        .replace("\"bluedown\"", "\"none\"")
        .replace("epsilon = \"1/2\"", "epsilon = \"1/100000\"");
    refused(&conditioned, &["privacy.noise: got `conditioned`"]);
    // Intervals of so much that draws would have to hold it.
    let held = CONFIG
        .replace("intervals = \"9/10\"", "intervals = \"0.99999999\"")
        .replace("epsilon = \"1/2\"", "epsilon = \"1/1000000\"");
    refused(&held, &["draws"]);
    std::fs::create_dir(place.path("out.partial")).unwrap();
    place.write("release.toml", CONFIG);
    place.refuses(&MAKE, &["out.partial: cannot make a release: it is there"]);
    assert!(lines() == 1 && place.path("out.partial").exists());
}

/// Data with the largest counts are released; larger ones are refused like any others, and neither says a number.
#[test]
fn the_largest_counts() {
    let place = place();
    for table in ["topdown", "bluedown", "l2"] {
        place.write("release.toml", &CONFIG.replace("\"bluedown\"", &format!("\"{table}\"")));
        place.write("trips.csv", &format!("place,part,trips\nx1,x,{}\ny1,y,{}\n", 1u64 << 51, 1u64 << 51));
        made(&place, table, 5);
        checked(&place, table).unwrap();
    }
    place.write("trips.csv", &format!("place,part,trips\nx1,x,{}\n", (1u64 << 52) + 1));
    let output = place.command(&MAKE).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("The loss is paid"), "{said}");
    assert!(!place.path("out.partial").exists());
}

/// The certificate names what is exact: known counts, those that follow from them, and those that earlier releases gave.
#[test]
fn what_is_exact_is_named() {
    let place = place();
    place.write("places.csv", "part,place\nx,x1\nx,x2\ny,y1\nz,z1\n");
    place.write("trips.csv", "part,place,trips\nx,x1,4\ny,y1,7\n");
    made(&place, "town", 1);
    let parts = CONFIG
        .replace("known = [\"town\"]", "known = [\"town\", \"part\"]")
        .replace("split = [\"1/4\", \"3/4\"]\n", "");
    place.write("release.toml", &parts);
    made(&place, "parts", 2);
    place.write("release.toml", CONFIG);
    made(&place, "again", 3);
    let certificate = |out: &str| checked(&place, out).unwrap();
    assert_eq!(certificate("town").known(), "town");
    assert_eq!(certificate("parts").known(), "town, part, 2 of the 4 of place, which follow from those");
    assert_eq!(noisy(&place, "parts")[6..], [7.0, 0.0]);
    let before = |out: &str| certificate(out).issued.known_before;
    assert!(before("town").is_empty() && before("parts").is_empty());
    assert_eq!(before("again"), ["part"]);
    let none = CONFIG.replace("known = [\"town\"]", "known = []").replace("split = [\"1/4\", \"3/4\"]\n", "");
    place.write("release.toml", &none);
    made(&place, "none", 4);
    assert_eq!(before("none"), ["part", "town"]);
    let page = std::fs::read_to_string(place.path("again/certificate.html")).unwrap();
    assert!(page.contains("Releases before this one gave counts by part exactly"), "{page}");
    // A level of which everything follows has no noise.
    let place = self::place();
    place.write("places.csv", "part,place\nx,x1\nx,x2\n");
    place.write("trips.csv", "part,place,trips\nx,x1,4\n");
    made(&place, "out", 1);
    let certificate = checked(&place, "out").unwrap();
    assert_eq!(certificate.known(), "town, part");
    assert_eq!((certificate.levels[1].mantissa, certificate.levels[1].known), (None, 1));
}

/// A certificate that states less than was booked, or noisy counts of another law than it says, are told by the ledger, or by the check.
#[test]
fn another_loss_around_the_same_noise_is_told() {
    let place = place();
    made(&place, "out", 1);
    let folder = place.path("out");
    let verify = ["ledger", "verify", "trips.ledger", "--certificate", "out/certificate.json"];
    let release = Certificate::read(&folder.join("certificate.json")).unwrap().issued.release;
    let said = place.prints(&verify);
    assert!(said.ends_with(&format!("out/certificate.json: at line 2, published as {release}\n")), "{said}");
    // The same noisy file with a certificate of half the loss, sealed as any other.
    let forged = |from: &str, to: &str| {
        let path = folder.join("certificate.json");
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{from}");
        let text = text.replace(from, to);
        let mut certificate: Certificate = serde_json::from_str(&text).unwrap();
        certificate.sha256.clear();
        place.write("open.json", &certificate.text());
        certificate.sha256 = congenial::store::FileDigest::of(&place.path("open.json")).unwrap().sha256;
        std::fs::write(&path, certificate.text()).unwrap();
    };
    let fails = |wanted: &str| {
        let output = place.command(&verify).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).replace("\n  │ ", " ");
        assert!(output.status.code() == Some(1) && said.contains(wanted), "{said}");
    };
    let text = std::fs::read_to_string(folder.join("certificate.json")).unwrap();
    let whole = || std::fs::write(folder.join("certificate.json"), &text).unwrap();
    forged("epsilon = \\\"1/2\\\"", "epsilon = \\\"1/4\\\"");
    let said = checked(&place, "out").unwrap_err();
    assert!(said.contains("noisy.parquet: byte") && said.contains("its law, scales, method"), "{said}");
    fails("line 2 has booked the config");
    whole();
    forged(
        "noise = \\\"free\\\"\\n[publish]\\ntable = \\\"bluedown\\\"",
        "noise = \\\"conditioned\\\"\\n[publish]\\ntable = \\\"none\\\"",
    );
    assert!(checked(&place, "out").unwrap_err().contains("`files`: want"));
    whole();
    forged("\"unit\": \"0.500000000\"", "\"unit\": \"0.400000000\"");
    assert!(checked(&place, "out").unwrap_err().contains("certificate.json: byte"));
    fails("line 2 has booked the loss `epsilon 0.500000000`, and it states `epsilon 0.400000000`");
    whole();
    forged("\"noisy.parquet\":", "\"../trips.csv\":");
    assert!(
        checked(&place, "out")
            .unwrap_err()
            .contains("`files`: want noisy.parquet, table.csv, intervals.parquet")
    );
    whole();
    forged(&release, &"0".repeat(32));
    fails("line 2 has booked the release");
    whole();
    forged("\"known_before\": []", "\"known_before\": [\"part\"]");
    fails("line 2 has booked the known counts before ``, and it states `part`");
    whole();
    place.prints(&verify);
    // A ledger that was put back, and one that went on from there.
    let ledger = std::fs::read_to_string(place.path("trips.ledger")).unwrap();
    std::fs::write(place.path("trips.ledger"), ledger.split_inclusive('\n').take(1).collect::<String>())
        .unwrap();
    fails("trips.ledger has 1: it was put back to an earlier state");
    made(&place, "second", 2);
    fails("trips.ledger has another hash there");
    // A release that was stopped before the ledger could say that it was published.
    std::fs::write(place.path("trips.ledger"), ledger.split_inclusive('\n').take(2).collect::<String>())
        .unwrap();
    assert!(place.prints(&verify).ends_with("at line 2; no line says that it was published\n"));
    std::fs::write(place.path("trips.ledger"), "x").unwrap();
    place.write("c.json", "{\"ledger\": {\"head\": \"ab\"}}");
    std::fs::write(place.path("trips.ledger"), &ledger).unwrap();
    place.refuses(
        &["ledger", "verify", "trips.ledger", "--certificate", "c.json"],
        &["c.json: it is no certificate"],
    );
}

/// What was refused to the operator names the row.
#[test]
fn validation_names_what_is_wrong() {
    let place = place();
    let said = |data: &str| {
        place.write("trips.csv", data);
        validate(&Config::read(&place.path("release.toml")).unwrap()).unwrap_err().to_string()
    };
    assert!(said("place,part,trips\nx1,x,1\nx9,x,1\n").contains("line 3: `place` = `x9` is not in"));
    assert!(
        said("place,part,trips\nx1,x,1\nx1,x,1\n").contains("its leaf stands there twice (first on line 2)")
    );
    place.write("trips.csv", DATA);
    let counts = validate(&Config::read(Path::new(&place.path("release.toml"))).unwrap()).unwrap();
    assert_eq!(counts, [200, 40, 137, 23, 40, 0, 0, 7, 130, 3, 20]);
    // Without a column of counts every row is a record.
    place.write("release.toml", &CONFIG.replace("count = \"trips\"\n", ""));
    place.write("trips.csv", "place,part\nx1,x\nx1,x\nz2,z\n");
    let counts = validate(&Config::read(&place.path("release.toml")).unwrap()).unwrap();
    assert_eq!((counts[0], counts[4], counts[10]), (3, 2, 1));
}
