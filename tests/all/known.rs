//! Known counts as a user gives them: by level and by a column, on trees and on tables; and data that contradict themselves.
#![allow(clippy::disallowed_methods)] // Tests open files of their own.

use crate::place::Place;
use congenial::study::privacy::PaidRow;
use congenial::study::release::{ErrorRow, LevelRow, NodeDrawRow, NodeRow};
use std::collections::HashMap;

/// The empty county z is marked, and so is the node b of the first level.
const LEAVES: &str = "\
group,zone,fixed,count
a,a1,,5
a,a2,1,0
a,a3,,9
b,b1,group,120
b,b2,,3
b,b3,0,44
c,c1,,7
c,c2,false,0
";

fn config(data: &str, grid: &str) -> String {
    format!(
        "name = \"known\"\nseed = 3\nreplicates = 40\nkeep-draws = true\n[data]\ntable = \"leaves.csv\"\ncount = \"count\"\n{data}\n{grid}"
    )
}

const LEVELS: &str = "levels = [\"group\", \"zone\"]\n";

const EVERY: &str = r#"
[[grid]]
epsilon = 0.5
law = ["double-geometric", "discrete-gaussian", "laplace", "gaussian"]
delta = 1e-6
method = ["unconstrained", "exact", "l2", "topdown", "bluedown",
    { kind = "line-gibbs", sweeps = 30, nonnegative = [false, true] },
    { kind = "hierarchical-mh", steps = 4000, nonnegative = [false, true] }]

[[grid]]
epsilon = 0.5
law = ["double-geometric", "discrete-gaussian"]
delta = 1e-6
method = { kind = "exact", nonnegative = true }
"#;

fn place(data: &str, grid: &str) -> Place {
    Place::new(&[("leaves.csv", LEAVES), ("config.toml", &config(data, grid))])
}

/// Every method under every law: no known node has an error, every other one has some, and nothing else is broken.
#[test]
fn known_counts_are_released_as_they_are() {
    for (known, paths) in [
        ("known = [\"total\"]", vec![""]),
        ("root = \"nation\"\nknown = [\"nation\", \"group\"]", vec!["", "a", "b", "c"]),
        ("known-column = \"fixed\"", vec!["a/a2", "b"]),
        ("known = [\"total\"]\nknown-column = \"fixed\"", vec!["", "a/a2", "b"]),
    ] {
        let place = place(&format!("{LEVELS}{known}"), EVERY);
        place.prints(&["run", "config.toml", "--out", "out"]);
        assert_eq!(place.failures("out"), Vec::<String>::new(), "{known}");
        let nodes: HashMap<u64, String> =
            place.rows::<NodeRow>("out").into_iter().map(|row| (row.node, row.path)).collect();
        let mut moved: HashMap<(String, String), bool> = HashMap::new();
        for (cell, draw) in place.with_cells("out", |row: &NodeDrawRow| row.cell) {
            let path = &nodes[&draw.node];
            let key = (cell.words(), path.clone());
            if paths.contains(&path.as_str()) {
                assert_eq!(draw.error, 0.0, "{known}: {key:?}");
            } else {
                *moved.entry(key).or_default() |= draw.error != 0.0;
            }
        }
        assert!(!moved.is_empty() && moved.values().all(|moved| *moved), "{known}: {moved:?}");
        for (cell, row) in place.with_cells("out", |row: &ErrorRow| row.cell) {
            let promised = cell.method_words() != "unconstrained";
            assert!(!promised || row.invariant_ok, "{known}: {}", cell.words());
        }
    }
}

/// Known levels take no budget: the others have the whole of it, and pay for it once each.
#[test]
fn known_levels_are_not_measured() {
    let grid = "[[grid]]\nepsilon = 0.5\nlaw = \"laplace\"\nsplit = [\"each\", \"even\", [0.2, 0.8]]\nmethod = \"l2\"\n";
    let place = place(&format!("{LEVELS}known = [\"total\"]"), grid);
    place.prints(&["run", "config.toml", "--out", "out"]);
    for (cell, row) in place.with_cells("out", |row: &LevelRow| row.cell) {
        let want = match (cell.split.label().as_str(), row.level) {
            (_, 1) => 0.0,
            ("each", _) => 2.0,
            ("even", _) => 4.0,
            (_, 2) => 10.0,
            _ => 2.5,
        };
        assert!(
            (row.scale - want).abs() < 1e-12,
            "{} level {}: {}",
            cell.split.label(),
            row.level,
            row.scale
        );
        let total = if cell.split.label() == "each" { 1.0 } else { 0.5 };
        assert!((cell.epsilon_total - total).abs() < 1e-12, "{}", cell.epsilon_total);
    }
    assert!(place.prints(&["plan", "config.toml"]).contains("known 2.0000 2.0000"));
    // The resolved config plans the same cells.
    place.prints(&["run", "config.toml", "--out", "again"]);
    let resolved = std::fs::read_to_string(place.path("out/config.resolved.toml")).unwrap();
    assert!(resolved.contains("known = [\"total\"]"), "{resolved}");
    place.write("resolved.toml", &resolved);
    let hash = |text: String| text.lines().find(|line| line.contains("config_hash")).map(str::to_owned);
    assert_eq!(
        hash(place.prints(&["plan", "config.toml", "--json"])),
        hash(place.prints(&["plan", "resolved.toml", "--json"]))
    );
}

/// A tree with known nodes and the table with the same equations have one law: mean sizes of the errors of all leaves.
#[test]
fn both_dialects_have_one_law() {
    let grid = "[[grid]]\nepsilon = 0.7\nlaw = \"double-geometric\"\nreplicates = 4000\nmethod = \"exact\"\n";
    // Nodes of known levels, and leaves by the column: a group cannot be marked in a table.
    let marked = LEAVES.replace(",group,", ",,");
    for (data, leaves) in [
        ("known = [\"total\"]\nknown-column = \"fixed\"", marked.as_str()),
        ("root = \"all\"\nknown = [\"all\", \"group\"]", marked.as_str()),
    ] {
        let hierarchy = "\n[[invariant]]\nkind = \"hierarchy\"\nlevels = [\"group\", \"zone\"]\n";
        let text = config(&format!("entry = [\"group\", \"zone\"]\n{data}"), &format!("{hierarchy}{grid}"));
        let table = Place::new(&[("leaves.csv", leaves), ("config.toml", &text)]);
        table.prints(&["run", "config.toml", "--out", "out"]);
        let text = config(&format!("{LEVELS}{data}"), grid);
        let tree = Place::new(&[("leaves.csv", leaves), ("config.toml", &text)]);
        tree.prints(&["run", "config.toml", "--out", "out"]);
        let (of_tree, of_table) = (norms(&tree), norms(&table));
        let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
        let error = |x: &[f64]| {
            let m = mean(x);
            x.iter().map(|x| (x - m) * (x - m)).sum::<f64>() / (x.len() * x.len()) as f64
        };
        let apart = (mean(&of_tree) - mean(&of_table)).abs() / (error(&of_tree) + error(&of_table)).sqrt();
        assert!(apart < 4.5, "{data}: {} {} {apart}", mean(&of_tree), mean(&of_table));
    }
}

/// By release, the L1 error of all counts together: both dialects release all nodes.
fn norms(place: &Place) -> Vec<f64> {
    let mut sums: HashMap<u64, f64> = HashMap::new();
    place.rows::<ErrorRow>("out").iter().for_each(|row| *sums.entry(row.replicate).or_default() += row.l1);
    sums.into_values().collect()
}

#[test]
fn what_cannot_be_known_is_refused() {
    let grid = "[[grid]]\nepsilon = 1.0\nlaw = \"laplace\"\nmethod = \"exact\"\n";
    for (data, wanted) in [
        ("known = [\"state\"]", &["data.known: got `state`", "total, group, zone"][..]),
        ("known = [\"group\"]", &["got `group` without `total`", "want [\"total\", \"group\"]"]),
        ("known = [\"total\", \"group\", \"zone\"]", &["got every level", "`zone` left out"]),
        ("known = [\"total\", \"total\"]", &["got \"total\" twice"]),
        ("root = \"zone\"", &["data.root: got `zone`", "a name that no level has"]),
        ("known-column = \"count\"", &["data.known-column: got `count`"]),
        ("known-column = \"marks\"", &["no column `marks`", "group, zone, fixed, count"]),
        ("known-column = \"group2\"", &["no column `group2`"]),
    ] {
        let place = place(&format!("{LEVELS}{data}"), grid);
        place.refuses(&["run", "config.toml", "--out", "out"], wanted);
        assert!(!place.path("out").exists());
    }
    let shares = grid.replace("method", "split = [[0.2, 0.3, 0.5]]\nmethod");
    place(&format!("{LEVELS}known = [\"total\"]"), &shares).refuses(
        &["plan", "config.toml"],
        &["3 shares for 2 levels", "one share per level that is measured"],
    );
    let total = "entry = [\"group\", \"zone\"]\nknown = [\"total\"]\n[[invariant]]\nkind = \"total\"\n";
    place(total, grid).refuses(&["plan", "config.toml"], &["data.known: there is no tree"]);
    let beside = format!("{LEVELS}[[invariant]]\nkind = \"margins\"\nrows = \"group\"\ncolumns = \"zone\"\n");
    place(&beside, grid).refuses(
        &["plan", "config.toml"],
        &["data.levels: not used beside an [[invariant]]", "kind \"hierarchy\" with these levels"],
    );
    let rows = |text: &str, wanted: &[&str]| {
        let place = place(&format!("{LEVELS}known-column = \"fixed\""), grid);
        place.write("leaves.csv", text);
        place.refuses(&["plan", "config.toml"], wanted);
    };
    rows(
        "group,zone,fixed,count\na,a1,yes,5\na,a2,,1\n",
        &["leaves.csv: line 2: `fixed` = `yes`", "1, 0, nothing or the name of a level: total, group, zone"],
    );
    rows("group,zone,fixed,count\na,a1,1,5\na,a2,1,1\n", &["nothing is left to release"]);
    rows(
        "group,zone,fixed,count\n1,a1,,5\n1,a2,,1\n01,a3,,2\n",
        &["line 4: `group` = `01`, and `1` on line 2: leading zeros seem lost"],
    );
    rows("group,zone,fixed,count\na,007,,5\na,07,,1\n", &["line 3: `zone` = `07`, and `007` on line 2"]);
}

/// Equal names under different parents are different nodes, and other names of digits are other names.
#[test]
fn names_that_only_look_alike_are_served() {
    let grid = "[[grid]]\nepsilon = 1.0\nlaw = \"laplace\"\nmethod = \"exact\"\n";
    let place = place(LEVELS, grid);
    place.write("leaves.csv", "group,zone,fixed,count\n1,1,,5\n1,2,,5\n2,01,,1\n2,10,,3\n");
    place.prints(&["plan", "config.toml"]);
    // Levels in the wrong order: a warning with the rows.
    place.write("leaves.csv", "group,zone,fixed,count\nx,CA,,5\ny,CA,,5\nz,NV,,1\n");
    let output = place.command(&["plan", "config.toml"]).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.success() && message.contains("warning: leaves.csv: `zone` = `CA` has two parents"),
        "{message}"
    );
    assert!(message.contains("`group` = `x` on line 2 and `group` = `y` on line 3"), "{message}");
}

/// By listing their noise: two leaves below a known total are two entries with that total, and with one parent that is
/// known there is one step down, so that `bluedown` is `topdown`. Where the total is measured, every output of three
/// counts pays at most its charge.
#[test]
fn small_trees_attain_what_tables_do() {
    let leaves = "zone,count\na,2\nb,2\n";
    let privacy = |data: &str, methods: &str| {
        let config = format!(
            "name = \"p\"\nseed = 3\nstudy = \"privacy\"\n[data]\ntable = \"leaves.csv\"\ncount = \
                \"count\"\n{data}\n[[grid]]\nepsilon = [1.0, 2.0]\n\
             law = \"double-geometric\"\nmethod = {methods}\n"
        );
        let place = Place::new(&[("leaves.csv", leaves), ("config.toml", &config)]);
        place.prints(&["run", "config.toml", "--out", "out"]);
        assert_eq!(place.failures("out"), Vec::<String>::new());
        let rows = place.with_cells("out", |row: &PaidRow| row.cell);
        let attained = rows.into_iter().filter(|(_, row)| row.scope == "attained");
        let mut attained: Vec<(String, u64, String, f64, f64)> = attained
            .map(|(cell, row)| {
                let epsilon = (cell.epsilon * 10.0) as u64;
                (cell.method.name().to_owned(), epsilon, row.change, row.loss, row.loss_conditioned)
            })
            .collect();
        attained.sort_by(|a, b| a.partial_cmp(b).unwrap());
        attained
    };
    let known = "levels = [\"zone\"]\nknown = [\"total\"]";
    let table = privacy("entry = [\"zone\"]\n[[invariant]]\nkind = \"total\"", "[\"l2\"]");
    assert_eq!(privacy(known, "[\"l2\"]"), table);
    assert_eq!(table.len(), 2);
    let without_name = |rows: Vec<(String, u64, String, f64, f64)>| {
        rows.into_iter()
            .map(|(_, epsilon, change, loss, paid)| (epsilon, change, loss, paid))
            .collect::<Vec<_>>()
    };
    let [topdown, bluedown] =
        ["topdown", "bluedown"].map(|method| without_name(privacy(known, &format!("[\"{method}\"]"))));
    assert_eq!([topdown.len(), bluedown.len()], [2, 2]);
    for (down, up) in topdown.iter().zip(&bluedown) {
        assert_eq!((down.0, &down.1, down.2), (up.0, &up.1, up.2));
        assert!((down.3 - up.3).abs() < 1e-9, "{down:?} {up:?}");
    }
    let nnl2 = privacy(
        "entry = [\"zone\"]\n[[invariant]]\nkind = \"total\"\n[[invariant]]\nkind = \"nonnegative\"",
        "[\"nnl2\"]",
    );
    assert_eq!(nnl2.len(), 2);
    // Rounding of the projection tells no more than the projection.
    for ((_, _, _, paid), (.., real)) in topdown.iter().zip(&nnl2) {
        assert!(*paid <= real + 1e-8 && *paid > 0.3, "{paid} {real}");
    }
    let measured = privacy("levels = [\"zone\"]", "[\"l2\", \"topdown\", \"bluedown\"]");
    assert_eq!(measured.len(), 12);
    for (method, _, change, charged, paid) in &measured {
        assert!(*paid <= charged + 1e-8 && *paid > 0.2 * charged, "{method} {change}: {paid} of {charged}");
    }
}
