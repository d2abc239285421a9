//! Trees of tables of integers that are not negative: what they keep, how close they are, what is refused.

use crate::cube::{CONFIG, place};
use crate::place::Place;
use congenial::study::cube::{CubeCellRow, CubeDrawRow, CubeErrorRow};
use std::collections::HashMap;

const METHODS: &str = "method = [\"unconstrained\", \"gls\"]";

fn descents(replicates: &str) -> String {
    let replicates = format!("replicates = {replicates}");
    CONFIG
        .replace(METHODS, "method = [\"topdown\", \"bluedown\"]")
        .replace("{ town = 0.2, street = 0.4 }", "{ county = 0.1, town = 0.1, street = 0.4 }")
        .replace("replicates = 400", &replicates)
}

/// Under four laws: answers are whole, the known total has no error, every row has a gap of a millionth at most. No row depends on threads
/// or shards. Where the noise is far below a count, the tables are the true ones.
#[test]
fn tables_of_integers_keep_what_they_must() {
    let place = place();
    place.write("cube.toml", &descents("40"));
    place.prints(&["run", "cube.toml", "--out", "out", "--threads", "1"]);
    let rows: Vec<CubeDrawRow> = place.rows("out");
    // Three queries on three levels, in each of eight cells; towns of two sizes, streets of three.
    assert_eq!(rows.len(), 8 * 40 * 3 * (1 + 2 + 3));
    for row in &rows {
        let sum = row.l1 * row.answers as f64;
        assert!((sum - sum.round()).abs() < 1e-9, "{row:?}");
        assert!(row.gap.is_some_and(|gap| (0.0..=1e-6).contains(&gap)), "{row:?}");
        assert!(row.level != "county" || row.query != "total" || row.squared == 0.0, "{row:?}");
    }
    let errors: Vec<CubeErrorRow> = place.rows("out");
    assert!(errors.iter().all(|row| row.gap.is_some()));
    place.prints(&["run", "cube.toml", "--out", "two", "--threads", "2"]);
    assert!(place.prints(&["digest", "out"]) == place.prints(&["digest", "two"]));
    for shard in ["1/2", "2/2"] {
        place.prints(&["run", "cube.toml", "--out", "shards", "--shard", shard]);
    }
    place.prints(&["merge", "cube.toml", "--out", "shards"]);
    assert!(place.prints(&["digest", "out"]) == place.prints(&["digest", "shards"]));
    let laws = r#"["double-geometric", "discrete-gaussian", "laplace", "gaussian"]"#;
    let near = descents("2").replace("epsilon = 2.0", "epsilon = 500.0").replace(laws, r#""gaussian""#);
    place.write("cube.toml", &near);
    place.prints(&["run", "cube.toml", "--out", "near"]);
    assert!(place.rows::<CubeDrawRow>("near").iter().all(|row| row.squared == 0.0 && row.covered == 1.0));
}

/// A tree of counts: tables of one cell. Where an answer is measured on every level BlueDown is no worse than TopDown, and both say the
/// variance of the estimate that they are fitted to: of TopDown that of the noise.
#[test]
fn tables_of_one_cell_are_counts() {
    let place = place();
    let totals: HashMap<&str, i64> = [("A1", 4), ("A2", 20), ("B1", 130), ("B2", 2)].into();
    let cells: String = totals.iter().map(|(street, count)| format!("{street},{count}\n")).collect();
    place.write("cells.csv", &format!("street,count\n{cells}"));
    let config = r#"
name = "counts"
seed = 7
study = "cube"
[data]
kind = "tree-of-tables"
areas = "areas.csv"
counts = "cells.csv"
levels = ["town", "street"]
attributes = {}
[[query]]
of = []
shares = { total = 0.2, town = 0.3, street = 0.5 }
[[grid]]
epsilon = 1.0
law = "laplace"
method = ["unconstrained", "topdown", "bluedown"]
replicates = 4000
"#;
    place.write("cube.toml", config);
    place.prints(&["run", "cube.toml", "--out", "out"]);
    let cells: HashMap<_, CubeCellRow> =
        place.rows::<CubeCellRow>("out").into_iter().map(|row| (row.cell, row)).collect();
    let mut of: HashMap<(String, String, String), CubeErrorRow> = HashMap::new();
    for row in place.rows::<CubeErrorRow>("out") {
        of.insert((cells[&row.cell].method.clone(), row.level.clone(), row.size.clone()), row);
    }
    for (level, share) in [("total", 0.2), ("town", 0.3), ("street", 0.5)] {
        for ((method, _, size), row) in
            of.iter().filter(|((method, own, _), _)| own == level && method != "bluedown")
        {
            let want = 2.0 / (share * share);
            assert!((row.squared_computed - want).abs() < 1e-9 * want, "{method} {level} {size}");
        }
    }
    // No error of the total is larger than that of its noise; small streets are estimated too high.
    let squared =
        |method: &str, level: &str, size: &str| of[&(method.into(), level.into(), size.into())].squared.mean;
    assert!(squared("bluedown", "total", "100-999") < 0.5 * squared("topdown", "total", "100-999"));
    for method in ["topdown", "bluedown"] {
        let row = &of[&(method.to_owned(), "street".to_owned(), "1-9".to_owned())];
        assert!(row.bias.mean > 5.0 * row.bias.standard_error, "{:?}", row.bias);
        assert!(row.squared.mean < squared("unconstrained", "street", "1-9"));
    }
}

/// What these methods do not serve is refused before anything is drawn, and named.
#[test]
fn what_has_no_tables_of_integers_is_refused() {
    let place = place();
    let config = |from: &str, to: &str, wanted: &[&str]| {
        let own = descents("2");
        assert!(own.contains(from), "{from}");
        place.write("cube.toml", &own.replace(from, to));
        place.refuses(&["plan", "cube.toml"], wanted);
    };
    // Sexes and age groups cross.
    let sexes = "[[query]]\nname = \"sexes\"\nof = [\"sex\"]\n[[grid]]";
    let known =
        "known = [{ level = \"county\", query = \"sexes\" }, { level = \"county\", query = \"grown\" }]";
    let own = descents("2").replace("[[grid]]", sexes).replace("known = [\"county\"]", known);
    place.write("cube.toml", &own);
    place.refuses(&["plan", "cube.toml"], &["`grown` and `sexes` are known and cross"]);
    // One level of which the total alone is known.
    let open = "{ town = 0.2, street = 0.4 }";
    let wanted = ["not every cell of a `county` follows", "`topdown`"];
    config("{ county = 0.1, town = 0.1, street = 0.4 }", open, &wanted);
    let blue = descents("2").replace("[\"topdown\", \"bluedown\"]", "\"bluedown\"");
    place.write("cube.toml", &blue.replace("{ county = 0.1, town = 0.1, street = 0.4 }", open));
    place.prints(&["run", "cube.toml", "--out", "blue"]);
    // What is known of the streets is known above them, too.
    let known = "known = [{ level = \"street\", query = \"grown\" }]";
    let streets =
        descents("2").replace("shares = { street = 0.1 }", "").replace("street = 0.4", "street = 0.5");
    place.write("cube.toml", &streets.replace("known = [\"county\"]", known));
    place.prints(&["run", "cube.toml", "--out", "known"]);
    let grown = |row: &CubeDrawRow| row.query == "grown";
    assert!(place.rows::<CubeDrawRow>("known").iter().filter(|row| grown(row)).all(|row| row.squared == 0.0));
}

/// With the total first, large totals are not as far too low as without: what is given to cells that cannot be below 0 is not taken from
/// them. Cells and rows say what was settled first.
#[test]
fn totals_that_are_settled_first_are_closer() {
    let place = place();
    let passes = "method = [\"topdown\", { kind = \"topdown\", passes = [\"total\"] }, \
        { kind = \"bluedown\", passes = [\"total\", \"grown\"] }]";
    let of = "of = []\n";
    let config = descents("1000")
        .replace("method = [\"topdown\", \"bluedown\"]", passes)
        .replace(of, "name = \"total\"\nof = []\n")
        .replace("epsilon = 2.0", "epsilon = 0.5");
    place.write("cube.toml", &config);
    place.prints(&["run", "cube.toml", "--out", "out"]);
    let cells: HashMap<_, CubeCellRow> =
        place.rows::<CubeCellRow>("out").into_iter().map(|row| (row.cell, row)).collect();
    assert_eq!(cells.len(), 12);
    let rows: Vec<CubeErrorRow> = place.rows("out");
    let bias = |law: &str, method: &str, passes: Option<&str>| {
        let is = |row: &&CubeErrorRow| {
            let cell = &cells[&row.cell];
            cell.law == law
                && cell.method == method
                && cell.passes.as_deref() == passes
                && (&*row.level, &*row.query, &*row.size) == ("street", "total", "100-999")
        };
        rows.iter().find(is).unwrap().bias
    };
    for law in ["double-geometric", "discrete-gaussian", "laplace", "gaussian"] {
        let (free, passed) = (bias(law, "topdown", None), bias(law, "topdown", Some("total")));
        let error = libm::hypot(free.standard_error, passed.standard_error);
        assert!(passed.mean - free.mean > 3.0 * error, "{law}: {free:?} {passed:?}");
        assert!(bias(law, "bluedown", Some("total,grown")).mean > free.mean);
    }
    let page = place.prints(&["report", "out", "--full"]);
    assert!(page.contains("topdown, total first") && page.contains("bluedown, total,grown first"), "{page}");
    let refused = |with: &str, wanted: &[&str]| {
        place.write("cube.toml", &config.replace(passes, with));
        place.refuses(&["plan", "cube.toml"], wanted);
    };
    refused(
        "method = { kind = \"gls\", passes = [\"total\"] }",
        &["passes: got some of `gls`", "`topdown` and `bluedown` alone"],
    );
    refused("method = { kind = \"topdown\", passes = \"all\" }", &["passes: got the query `all`"]);
    refused(
        "method = { kind = \"topdown\", passes = [\"grown\", \"total\"] }",
        &["passes: got `total`, want", "each finer"],
    );
    refused("method = 3", &["such as { kind = \"topdown\", passes = [\"total\"] }"]);
    refused(
        "method = { kind = \"topdown\", pass = [\"total\"] }",
        &["unknown field `pass`, expected `kind` or `passes`"],
    );
}

/// Intervals of a parametric bootstrap hold more of the true answers than those of the variances where these hold few, and no row depends
/// on threads. What is known is held always.
#[test]
fn a_bootstrap_has_intervals() {
    let place = place();
    let laws = r#"["double-geometric", "discrete-gaussian", "laplace", "gaussian"]"#;
    let config = descents("40").replace(laws, r#""double-geometric""#);
    let config = config.replace("delta = 1e-6", "bootstrap = 39");
    place.write("cube.toml", &config);
    place.prints(&["run", "cube.toml", "--out", "out", "--threads", "1"]);
    let rows: Vec<CubeErrorRow> = place.rows("out");
    let own = |row: &CubeErrorRow| row.bootstrapped.unwrap().mean;
    assert!(rows.iter().all(|row| row.level != "county" || row.query != "total" || own(row) == 1.0));
    let large: Vec<&CubeErrorRow> = rows
        .iter()
        .filter(|row| (&*row.level, &*row.query, &*row.size) == ("street", "total", "100-999"))
        .collect();
    assert!(large.len() == 2 && large.iter().all(|row| own(row) > 0.6), "{large:?}");
    // Without it the same releases.
    let draws: Vec<CubeDrawRow> = place.rows("out");
    place.write("cube.toml", &config.replace("bootstrap = 39\n", ""));
    place.prints(&["run", "cube.toml", "--out", "none"]);
    let none: Vec<CubeDrawRow> = place.rows("none");
    assert!(none.iter().all(|row| row.bootstrapped.is_none()) && none.len() == draws.len());
    assert!(draws.iter().zip(&none).all(|(one, other)| one.l1 == other.l1 && one.bias == other.bias));
    place.write("cube.toml", &config);
    place.prints(&["run", "cube.toml", "--out", "two", "--threads", "2"]);
    assert!(place.prints(&["digest", "out"]) == place.prints(&["digest", "two"]));
    assert!(place.prints(&["report", "out", "--full"]).contains("parametric"));
    let refused = |from: &str, to: &str, wanted: &[&str]| {
        place.write("cube.toml", &config.replace(from, to));
        place.refuses(&["plan", "cube.toml"], wanted);
    };
    refused("bootstrap = 39", "bootstrap = 18", &["bootstrap: got 18", "at least 19"]);
    refused("[\"topdown\", \"bluedown\"]", "\"gls\"", &["bootstrap: got 39", "`topdown` or `bluedown`"]);
    refused("bootstrap = 39", "bootstrap = 100000000", &["bootstrap", "the limit is"]);
}

const BOUNDS: &str = "\
town,street,query,sex,age,least,most
A,A1,grown,,0-17,2,5
A,A1,grown,,18-64 | 65+,,1
A,A2,grown,,0-17,0,0
B,B1,grown,,0-17,,0
B,,total,,,130,140
";

fn bounded(rows: &str) -> (Place, String) {
    let place = place();
    place.write("bounds.csv", rows);
    let config = descents("40").replace("known = [\"county\"]", "bounds = \"bounds.csv\"").replace(
        "of = []\nshares = { town = 0.1, street = 0.2 }",
        "of = []\nname = \"total\"\nshares = { town = 0.1, street = 0.2 }",
    );
    assert!(config.contains("bounds.csv") && config.contains("name = \"total\""));
    place.write("cube.toml", &config);
    (place, config)
}

/// Bounds of a query by area: what has to be 0 is 0 in every release, on the level and above, and a total within ten is. Errors stay as
/// small as they can only be so, and no row depends on threads.
#[test]
fn bounds_are_kept() {
    let (place, config) = bounded(BOUNDS);
    place.prints(&["run", "cube.toml", "--out", "out", "--threads", "1"]);
    let rows: Vec<CubeDrawRow> = place.rows("out");
    // Street B1 is the only one of 100 to 999: nobody under 18, as it has to be; A2 the only one of 10 to 99.
    let of = |level: &str, query: &str, size: &str| -> Vec<&CubeDrawRow> {
        let is = |row: &&CubeDrawRow| row.level == level && row.query == query && row.size == size;
        rows.iter().filter(is).collect()
    };
    let grown = of("street", "grown", "100-999");
    let total = of("street", "total", "100-999");
    assert!(!grown.is_empty() && grown.len() == total.len());
    for (grown, total) in grown.iter().zip(&total) {
        // All its errors are in the second answer, which is the total.
        assert!((grown.l1 * 2.0 - total.l1).abs() < 1e-9, "{grown:?} {total:?}");
    }
    // Of town B, 132: 130 to 140.
    let town = of("town", "total", "100-999");
    assert!(town.iter().all(|row| (-2.0..=8.0).contains(&row.bias)), "{town:?}");
    assert!(town.iter().any(|row| row.bias == -2.0) && town.iter().any(|row| row.bias == 8.0));
    assert!(rows.iter().all(|row| row.gap.is_some_and(|gap| gap <= 1e-6)));
    place.prints(&["run", "cube.toml", "--out", "two", "--threads", "2"]);
    assert!(place.prints(&["digest", "out"]) == place.prints(&["digest", "two"]));
    // Other bounds are another study.
    place.write("bounds.csv", &BOUNDS.replace("140", "150"));
    place.refuses(&["run", "cube.toml", "--out", "two"], &["two"]);
    // What a run keeps can be run again.
    place.write("cube.toml", &config.replace("replicates = 40", "replicates = 1"));
    place.prints(&["run", "cube.toml", "--out", "again"]);
}

/// Bounds that cannot be are refused with file, row and value.
#[test]
fn bounds_that_cannot_be_are_refused() {
    let (place, config) = bounded(BOUNDS);
    let refused = |from: &str, to: &str, wanted: &[&str]| {
        assert!(BOUNDS.contains(from));
        place.write("bounds.csv", &BOUNDS.replace(from, to));
        place.refuses(&["plan", "cube.toml"], wanted);
    };
    refused("130,140", "133,140", &["bounds.csv: line 6", "`total` in B is 132", "133 to 140"]);
    refused("130,140", "140,130", &["`least` = 140 and `most` = 130", "want `most` no smaller"]);
    refused("B,,total", "C,,total", &["`C, ` is no area of the study"]);
    refused("B,,total", ",B1,total", &["`town` is blank"]);
    refused(",total,,,", ",all,,,", &["`query` = `all`, want one of sex*age, grown, total"]);
    refused("A2,grown,,0-17", "A1,grown,,0-17", &["stands there twice"]);
    refused("A2,grown,,0-17", "A2,grown,,0-18", &["`grown` has no answer `0-18, `"]);
    refused("130,140", "130,-1", &["`most` = `-1`, want an integer >= 0"]);
    place.write("bounds.csv", &BOUNDS.replace(",most", ",upper"));
    place.refuses(&["plan", "cube.toml"], &["a column `upper`"]);
    place.write("bounds.csv", BOUNDS);
    // By sex and by age they cross.
    let sexes = "[[query]]\nname = \"sexes\"\nof = [\"sex\"]\n[[grid]]";
    let crossing = config.replace("[[grid]]", sexes);
    let known = "known = [{ level = \"county\", query = \"sexes\" }]\nbounds =";
    place.write("cube.toml", &crossing.replace("bounds =", known));
    place.refuses(&["plan", "cube.toml"], &["`grown` and `sexes` are known or have bounds and cross"]);
    place.write("cube.toml", &config.replace("[\"topdown\", \"bluedown\"]", "\"gls\""));
    place.refuses(&["plan", "cube.toml"], &["data.bounds: got `bounds.csv`", "no other method keeps bounds"]);
}
