//! Releases of a hierarchy within inequalities between its nodes, as a user runs them.
#![allow(clippy::disallowed_methods)] // An oracle need not agree to the last bit.

use crate::place::Place;
use congenial::study::cells::{CellRow, StatementRow};
use congenial::study::release::{ErrorRow, NodeDrawRow};
use std::collections::HashMap;

const LEAVES: &str = "group,zone,count\na,a1,2\na,a2,0\nb,b1,3\nb,b2,1\n";

const WITHIN: &str = r#"
[[invariant]]
kind = "at-least"
of = { group = "a" }
value = 1

[[invariant]]
kind = "at-least"
of = { group = "b" }
minus = { group = "a" }

[[invariant]]
kind = "at-least"
minus = { group = "a", zone = "a2" }
value = -1
"#;

fn config(invariants: &str, grid: &str) -> String {
    format!(
        "name = \"within\"\nseed = 4\nkeep-draws = true\n[data]\ntable = \"leaves.csv\"\ncount = \"count\"\n\
         levels = [\"group\", \"zone\"]\n{invariants}\n{grid}"
    )
}

fn place(invariants: &str, grid: &str) -> Place {
    Place::new(&[("leaves.csv", LEAVES), ("config.toml", &config(invariants, grid))])
}

fn grid(law: &str, method: &str, replicates: u64) -> String {
    let delta = if law.contains("gaussian") { "delta = 1e-3\n" } else { "" };
    format!("[[grid]]\nepsilon = 1.0\n{delta}law = {law}\nmethod = [{method}]\nreplicates = {replicates}\n")
}

/// Nodes by number from 1: total, a, b, a1, a2, b1, b2.
const COUNTS: [i64; 7] = [6, 2, 4, 2, 0, 3, 1];

/// Whether a release keeps the inequalities of [`WITHIN`], said once more.
fn keeps(y: &[i64; 7]) -> bool {
    y[1] >= 1 && y[2] >= y[1] && y[4] <= 1
}

/// Means of the noise of all nodes over a listed law. `floors`: whether no leaf may be below 0; `log`: of a weight, by level.
fn means(floors: bool, log: impl Fn(usize, i64) -> f64) -> [f64; 7] {
    let (mut total, mut sums) = (0.0, [0.0; 7]);
    let reach = 11;
    let side = 2 * reach + 1;
    for index in 0..side * side * side * side {
        let z = |place: u32| index / i64::pow(side, place) % side - reach;
        let (a1, a2, b1, b2) = (z(0), z(1), z(2), z(3));
        let z = [a1 + a2 + b1 + b2, a1 + a2, b1 + b2, a1, a2, b1, b2];
        let mut y = COUNTS;
        y.iter_mut().zip(z).for_each(|(y, z)| *y += z);
        if keeps(&y) && (!floors || y[3..].iter().all(|y| *y >= 0)) {
            let level = [0, 1, 1, 2, 2, 2, 2];
            let weight = (0..7).map(|v| log(level[v], z[v])).sum::<f64>().exp();
            total += weight;
            sums.iter_mut().zip(z).for_each(|(sum, z)| *sum += weight * z as f64);
        }
    }
    sums.map(|sum| sum / total)
}

/// The chain and rejection against the law, listed in full: the mean of every node within 5 standard errors, from independent
/// replicates; and every release keeps every inequality.
#[test]
fn releases_within_inequalities_have_their_law() {
    let methods = "\"unconstrained\", { kind = \"rejection\", nonnegative = [false, true] }, \
        { kind = \"hierarchical-mh\", steps = 600, proposal-scale = 1.0, nonnegative = [false, true] }";
    let place = place(WITHIN, &grid("[\"double-geometric\", \"discrete-gaussian\"]", methods, 1500));
    place.prints(&["run", "config.toml", "--out", "out"]);
    assert_eq!(place.failures("out"), Vec::<String>::new());
    let scales: HashMap<String, f64> = place
        .rows::<CellRow>("out")
        .into_iter()
        .map(|cell| (cell.law.name().to_owned(), cell.scale))
        .collect();
    let mut draws: HashMap<(String, String, bool), Vec<[i64; 7]>> = HashMap::new();
    for (cell, row) in place.with_cells("out", |row: &NodeDrawRow| row.cell) {
        let key = (cell.law.name().to_owned(), cell.method.name().to_owned(), cell.nonnegative);
        let of = draws.entry(key).or_default();
        if row.node == 1 {
            of.push([0; 7]);
        }
        of.last_mut().unwrap()[row.node as usize - 1] = row.error as i64;
    }
    assert_eq!(draws.len(), 10);
    let mut outside = 0;
    for ((law, method, floors), draws) in &draws {
        let released = |z: &[i64; 7]| -> [i64; 7] { std::array::from_fn(|v| COUNTS[v] + z[v]) };
        if method == "unconstrained" {
            outside += draws.iter().filter(|z| !keeps(&released(z))).count();
            continue;
        }
        assert!(draws.iter().all(|z| keeps(&released(z))), "{method}");
        let scale = scales[law];
        let want = means(*floors, |_, z| match law.as_str() {
            "double-geometric" => -(z.abs() as f64) / scale,
            _ => -((z * z) as f64) / (2.0 * scale * scale),
        });
        let n = draws.len() as f64;
        assert_eq!(draws.len(), 1500, "{method}");
        for v in 0..7 {
            let mean = draws.iter().map(|z| z[v] as f64).sum::<f64>() / n;
            let square = draws.iter().map(|z| (z[v] as f64 - mean).powi(2)).sum::<f64>() / (n - 1.0);
            let error = (square / n).sqrt();
            let off = (mean - want[v]).abs() / error;
            assert!(off < 5.0, "{law} {method} {floors} node {v}: {mean}, want {}, {off} errors", want[v]);
        }
    }
    assert!(outside > 100, "the inequalities press: {outside}");
    for (cell, row) in place.with_cells("out", |row: &ErrorRow| row.cell) {
        assert!(row.invariant_ok || cell.method.name() == "unconstrained");
    }
    // A noisy file says nothing of inequalities: `infer` would take another law.
    let folders: Vec<_> = std::fs::read_dir(place.path("out/cells")).unwrap().collect();
    let with_file =
        folders.into_iter().filter(|folder| folder.as_ref().unwrap().path().join("release.parquet").exists());
    assert_eq!(with_file.count(), 2, "of free noise alone");
}

/// What is paid: twice the loss at most of pure noise, nothing more of normal noise, unknown of discrete Gaussian noise.
#[test]
fn statements_within_inequalities_say_what_conditioning_pays() {
    let methods = "\"unconstrained\", { kind = \"hierarchical-mh\", steps = 50 }";
    let laws = "[\"double-geometric\", \"laplace\", \"gaussian\", \"discrete-gaussian\"]";
    let place = place(WITHIN, &grid(laws, methods, 3));
    place.prints(&["run", "config.toml", "--out", "out"]);
    let mut seen = 0;
    for (cell, row) in place.with_cells("out", |row: &StatementRow| row.cell) {
        let words = format!("{} {:?}", cell.words(), row.change);
        let conditioned = cell.method.name() != "unconstrained";
        assert!(row.possible && row.epsilon.is_some(), "{words}");
        let want = match (conditioned, cell.law.name()) {
            (false, _) | (true, "gaussian") => (Some(0.0), "proved"),
            (true, "discrete-gaussian") => (None, "unknown"),
            (true, _) => (Some(1.0), "bounded"),
        };
        assert_eq!((row.gamma, row.gamma_known.as_str()), want, "{words}");
        seen += 1;
    }
    assert_eq!(seen, 8 * 3);
}

/// A total that may not fall, and groups that may not rise: a record can be added to neither.
#[test]
fn inequalities_can_rule_out_records() {
    let pressed = "[[invariant]]\nkind = \"at-least\"\nof = \"total\"\nvalue = 6\n\
        [[invariant]]\nkind = \"at-least\"\nminus = [{ group = \"a\" }, { zone = \"b1\" }, { zone = \"b2\" }]\nvalue = -6\n";
    let place = place(pressed, &grid("\"double-geometric\"", "\"rejection\"", 3));
    let plan = place.prints(&["plan", "config.toml"]);
    assert!(plan.contains("impossible") && plan.contains("one moved"), "{plan}");
    place.prints(&["run", "config.toml", "--out", "out"]);
    for row in place.rows::<StatementRow>("out") {
        assert_eq!(row.possible, row.change.name() != "added", "{row:?}");
    }
}

/// Inequalities stand in words wherever a study is told, and in the resolved config.
#[test]
fn inequalities_are_told_in_words() {
    let methods = "\"rejection\", { kind = \"hierarchical-mh\", steps = 200 }";
    let place = place(WITHIN, &grid("\"laplace\"", methods, 4));
    let words = "within `a >= 1`, `b >= a`, `a/a2 <= 1`";
    assert!(place.prints(&["check", "config.toml"]).contains(words));
    let output = place.command(&["plan", "config.toml"]).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains(words), "{told}");
    let pages = place.pages("config.toml", "out");
    let pages = pages.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(pages.contains(words), "{pages}");
    assert!(place.prints(&["report", "out", "--format", "html"]).contains("b &gt;= a"));
    let resolved = std::fs::read_to_string(place.path("out/config.resolved.toml")).unwrap();
    place.write("again.toml", &resolved);
    place.prints(&["run", "again.toml", "--out", "again"]);
    let keys = |folder: &str| place.rows::<CellRow>(folder).iter().map(|cell| cell.cell).collect::<Vec<_>>();
    assert_eq!(keys("out"), keys("again"));
    // Other inequalities are other cells.
    let [own, all] = ["out", "free"].map(|folder| {
        if folder == "free" {
            place.write("free.toml", &config("", &grid("\"laplace\"", methods, 4)));
            place.prints(&["run", "free.toml", "--out", "free"]);
        }
        keys(folder)
    });
    assert!(own.iter().all(|key| !all.contains(key)));
}

/// What cannot be meant is refused, with its place and what is wanted.
#[test]
fn what_inequalities_cannot_mean_is_refused() {
    let grid = grid("\"double-geometric\"", "\"rejection\"", 3);
    let refuses = |invariant: &str, wanted: &[&str]| {
        let place = place(&format!("[[invariant]]\n{invariant}\n"), &grid);
        place.refuses(&["plan", "config.toml"], wanted);
    };
    let least = |rest: &str| format!("kind = \"at-least\"\n{rest}");
    for (rest, wanted) in [
        ("of = { grup = \"a\" }", &["of: got `grup`", "did you mean `group`?"][..]),
        ("of = { group = \"c\" }", &["no node has `group` = `c`: `group` has a, b"]),
        ("of = { group = \"a\", zone = \"b1\" }", &["no node has `group` = `a`, `zone` = `b1`"]),
        ("of = \"all\"", &["of: got `all`", "`total` for the root"]),
        ("of = []", &["of: got an empty list"]),
        ("of = {}", &["of: got no name"]),
        ("value = 3", &["of: missing"]),
        ("of = { group = \"a\" }\nvalue = 1.5", &["got 1.5"]),
        ("of = { group = \"a\" }\nvalue = 3", &["`a >= 3` does not hold in the data: the count is 2"]),
        ("minus = { group = \"a\" }\nvalue = -1", &["`a <= 1` does not hold in the data: the count is 2"]),
        (
            "of = { group = \"a\" }\nminus = { group = \"b\" }",
            &["`a >= b` does not hold in the data: the difference is -2"],
        ),
        ("of = { group = \"a\" }\nminus = { group = \"a\" }", &["minus: `a` counts twice"]),
        ("rows = [[1]]\nvalues = [0]", &["rows: not used beside `data.levels`", "want `of`, `minus`"]),
        (
            "of = { group = \"a\" }\n[[invariant]]\nkind = \"at-least\"\nof = { group = \"a\" }\nvalue = 1",
            &["`a >= 1` and `a >= 0` are about the same counts"],
        ),
        (
            "of = { group = \"a\" }\nvalue = 2\n[[invariant]]\nkind = \"at-least\"\nminus = { group = \"a\" }\nvalue = -2",
            &["`a <= 2` and `a >= 2` leave one value", "known-column"],
        ),
    ] {
        refuses(&least(rest), wanted);
    }
    refuses("kind = \"total\"", &["not used beside an [[invariant]]", "want inequalities alone"]);
    // One name under two parents.
    let twice = Place::new(&[
        ("leaves.csv", "group,zone,count\na,z,2\nb,z,3\n"),
        ("config.toml", &config(&format!("[[invariant]]\n{}\n", least("of = { zone = \"z\" }")), &grid)),
    ]);
    twice.refuses(
        &["plan", "config.toml"],
        &["several nodes have `zone` = `z`", "the levels above, too (group)"],
    );
    let table = "name = \"t\"\nseed = 1\n[data]\ntable = \"leaves.csv\"\ncount = \"count\"\n[[invariant]]\nkind = \"at-least\"\n\
        of = { group = \"a\" }\n";
    twice.write("table.toml", &format!("{table}{grid}"));
    twice.refuses(&["plan", "table.toml"], &["of: not used", "want `rows` and `values` here"]);
}

/// Methods that do not know the inequalities are refused with those that do, and not run without them.
#[test]
fn methods_that_do_not_know_inequalities_are_refused() {
    for method in ["exact", "line-gibbs", "topdown", "topdown-real", "bluedown", "l2"] {
        let place = place(WITHIN, &grid("\"laplace\"", &format!("\"{method}\""), 3));
        for verb in ["check", "plan", "run"] {
            let wanted = ["does not know inequalities between nodes", "want hierarchical-mh or rejection"];
            place.refuses(&[verb, "config.toml"], &[&format!("method: `{method}`"), wanted[0], wanted[1]]);
        }
    }
    let from = "{ kind = \"rejection\", from = \"unconstrained\" }";
    let place = place(WITHIN, &grid("\"laplace\"", from, 3));
    place.refuses(&["plan", "config.toml"], &["`from` unconstrained serves tables"]);
    place.write(
        "meeting.toml",
        &config(WITHIN, &grid("\"laplace\"", "\"hierarchical-mh\"", 3).replace("law =", "lag = 5\nlaw ="))
            .replace("keep-draws = true", "study = \"meeting\""),
    );
    place.refuses(&["check", "meeting.toml"], &["do not meet"]);
}

/// The example on taxi trips runs as it stands, with fewer replicates.
#[test]
fn the_taxi_example_runs() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("configs/taxi/within.toml");
    let place = Place::new(&[]);
    let sets = [
        "--set",
        "replicates=3",
        "--set",
        "grid.method=[\"rejection\", { kind = \"hierarchical-mh\", steps = 500 }]",
    ];
    place.prints(&[&["run", folder.to_str().unwrap(), "--out", "out"], &sets[..]].concat());
    assert_eq!(place.failures("out"), Vec::<String>::new());
    assert!(place.rows::<ErrorRow>("out").iter().all(|row| row.invariant_ok));
    let verified = place.prints(&["verify", folder.to_str().unwrap(), "--set", "grid.law=\"laplace\""]);
    assert!(verified.contains("rejection"), "{verified}");
}

/// Inequalities between known counts say nothing of the noise: every method serves.
#[test]
fn inequalities_between_known_counts_are_no_more() {
    let place = place(
        &format!(
            "known = [\"total\", \"group\"]\n{}",
            WITHIN.split("[[invariant]]\nkind = \"at-least\"\nminus").next().unwrap()
        ),
        &grid("\"laplace\"", "\"exact\", \"l2\"", 3),
    );
    place.prints(&["run", "config.toml", "--out", "out"]);
    assert_eq!(place.failures("out"), Vec::<String>::new());
}
