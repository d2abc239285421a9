//! Trees of tables of integers that are not negative: what they keep, how close they are, what is refused.

use crate::cube::{CONFIG, place};
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
