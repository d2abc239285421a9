//! Studies of trees of tables: errors against variances that are computed, what is refused, and what no thread decides.
#![allow(clippy::disallowed_methods)] // Tests open files of their own.

use crate::place::Place;
use congenial::privacy::Accountant;
use congenial::study::cube::{CubeCellRow, CubeDrawRow, CubeErrorRow};
use std::collections::HashMap;

/// A county of two towns with two streets each.
pub const AREAS: &str = "town,street\nA,A1\nA,A2\nB,B1\nB,B2\n";
pub const CELLS: &str = "\
street,sex,age,count
A1,f,0-17,3
A1,m,65+,1
A2,f,18-64,20
B1,m,18-64,130
B2,f,0-17,2
";
pub const CONFIG: &str = r#"
name = "streets"
seed = 5
study = "cube"
[data]
kind = "tree-of-tables"
areas = "areas.csv"
counts = "cells.csv"
levels = ["town", "street"]
root = "county"
attributes = { sex = ["f", "m"], age = ["0-17", "18-64", "65+"] }
known = ["county"]
[[query]]
of = ["sex", "age"]
shares = { town = 0.2, street = 0.4 }
[[query]]
name = "grown"
of = ["age"]
groups = { age = [["0-17"], ["18-64", "65+"]] }
shares = { street = 0.1 }
[[query]]
of = []
shares = { town = 0.1, street = 0.2 }
[[grid]]
epsilon = 2.0
law = ["double-geometric", "discrete-gaussian", "laplace", "gaussian"]
delta = 1e-6
method = ["unconstrained", "gls"]
replicates = 400
"#;

pub fn place() -> Place {
    Place::new(&[("areas.csv", AREAS), ("cells.csv", CELLS), ("cube.toml", CONFIG)])
}

/// Mean squared errors are what follows from the variances of the noise: by hand without an estimate, by covariances with it; at every
/// level, for every query and size, under four laws. 400 replicates: |z| < 6 each, whose tail is that of means of squares. Errors have no
/// bias. No row depends on threads.
#[test]
fn errors_are_those_of_the_variances() {
    let place = place();
    place.prints(&["run", "cube.toml", "--out", "out"]);
    let cells: HashMap<_, CubeCellRow> =
        place.rows::<CubeCellRow>("out").into_iter().map(|row| (row.cell, row)).collect();
    assert_eq!(cells.len(), 8);
    let rows: Vec<CubeErrorRow> = place.rows("out");
    let mut by_query: HashMap<(String, String, String, String, String), f64> = HashMap::new();
    for row in &rows {
        let cell = &cells[&row.cell];
        let words = format!("{} {} {} {} {}", cell.law, cell.method, row.level, row.query, row.size);
        let z = |mean: f64, error: f64| if error > 0.0 { mean / error } else { 0.0 };
        let off = row.squared.mean - row.squared_computed;
        if row.squared_computed < 1e-9 {
            // What is known has no error.
            assert!(row.squared.mean < 1e-15, "{words}: {}", row.squared.mean);
            continue;
        }
        assert!(
            z(off, row.squared.standard_error).abs() < 6.0,
            "{words}: {:?} {}",
            row.squared,
            row.squared_computed
        );
        assert!(z(row.bias.mean, row.bias.standard_error).abs() < 6.0, "{words}: {:?}", row.bias);
        // Normal noise is within 1.645 standard deviations with a chance of 90 %.
        let held = row.covered.mean - 0.9;
        let is_normal = cell.law == "gaussian";
        assert!(!is_normal || z(held, row.covered.standard_error).abs() < 6.0, "{words}: {:?}", row.covered);
        let key =
            (cell.law.clone(), row.level.clone(), row.query.clone(), row.size.clone(), cell.method.clone());
        by_query.insert(key, row.squared_computed);
    }
    // Laplace noise of scale 1/(2 · 0.4) on the detailed table of a street: 2 λ².
    let key = |method: &str| ["laplace", "street", "sex*age", "1-9", method].map(str::to_owned);
    let [law, level, query, size, method] = key("unconstrained");
    let own = by_query[&(law, level, query, size, method)];
    assert!((own - 2.0 / (0.8 * 0.8)).abs() < 1e-12, "{own}");
    let mut smaller = 0;
    for ((law, level, query, size, method), variance) in &by_query {
        let free = (law.clone(), level.clone(), query.clone(), size.clone(), "unconstrained".to_owned());
        if let (Some(free), "gls") = (by_query.get(&free), &**method) {
            assert!(variance < free, "{law} {level} {query}: {variance} {free}");
            smaller += 1;
        }
    }
    assert!(smaller >= 20, "{smaller}");
    place.prints(&["run", "cube.toml", "--out", "one", "--threads", "1"]);
    assert!(place.prints(&["digest", "one"]) == place.prints(&["digest", "out"]));
    let page = place.prints(&["report", "out"]);
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in ["streets: laplace noise, epsilon 2", "No record can be added or removed", "grown"] {
        assert!(page.contains(words), "{page}");
    }
}

/// What a record pays, against all pairs of tables of two areas with two cells: the loss of a change is the sum over measured answers
/// of their change, over the scales that the rows say.
#[test]
fn losses_are_those_of_the_dearest_change() {
    let areas = "town\nA\nB\n";
    let cells = "town,sex,count\nA,f,1\n";
    let config = CONFIG.replace("levels = [\"town\", \"street\"]", "levels = [\"town\"]").replace(
        "{ sex = [\"f\", \"m\"], age = [\"0-17\", \"18-64\", \"65+\"] }",
        "{ sex = [\"f\", \"m\"] }",
    );
    let from = config.find("[[query]]").unwrap();
    let to = config.find("[[grid]]").unwrap();
    let queries = "[[query]]\nof = [\"sex\"]\nshares = { county = 0.1, town = 0.5 }\n".to_owned()
        + "[[query]]\nof = []\nshares = { county = 0.15, town = 0.25 }\n";
    let config = config[..from].replace("known = [\"county\"]\n", "") + &queries + &config[to..];
    let place = Place::new(&[("areas.csv", areas), ("cells.csv", cells), ("cube.toml", &config)]);
    place.prints(&["run", "cube.toml", "--out", "out"]);
    // Answers of a table [A f, A m, B f, B m], with their shares.
    let answers = |x: [i64; 4]| {
        let [a, b, c, d] = x;
        [
            (0.1, vec![a + c, b + d]),
            (0.5, vec![a, b, c, d]),
            (0.15, vec![a + b + c + d]),
            (0.25, vec![a + b, c + d]),
        ]
    };
    let tables: Vec<[i64; 4]> =
        (0..81).map(|code| [code / 27, code / 9 % 3, code / 3 % 3, code % 3]).collect();
    let size = |x: &[i64; 4]| x.iter().sum::<i64>();
    let (mut added, mut moved) = ([0.0f64; 2], [0.0f64; 2]);
    for x in &tables {
        for y in &tables {
            let steps: i64 = x.iter().zip(y).map(|(x, y)| (x - y).abs()).sum();
            // By shares: of epsilon, and of rho.
            let change = |power: i32| -> f64 {
                let each = |x: &[i64], y: &[i64]| -> f64 {
                    x.iter().zip(y).map(|(x, y)| ((x - y).abs() as f64).powi(power)).sum()
                };
                let pairs = answers(*x).into_iter().zip(answers(*y));
                pairs.map(|((share, x), (_, y))| share * each(&x, &y)).sum()
            };
            let own = if steps == 1 {
                &mut added
            } else if steps == 2 && size(x) == size(y) {
                &mut moved
            } else {
                continue;
            };
            for (most, power) in own.iter_mut().zip([1, 2]) {
                *most = most.max(change(power));
            }
        }
    }
    for row in place.rows::<CubeCellRow>("out") {
        let accountant = match &*row.law {
            "discrete-gaussian" => Some(Accountant::Zcdp),
            "gaussian" => Some(Accountant::Normal),
            _ => None,
        };
        let paid = |shares: [f64; 2]| match accountant {
            Some(by) => by.epsilon(shares[1] * by.rho(2.0, 1e-6), 1e-6),
            None => 2.0 * shares[0],
        };
        let stated = row.added.unwrap();
        assert!((stated - paid(added)).abs() < 1e-9, "{}: {stated} {}", row.law, paid(added));
        // At most: the total of the county, which stays, counts as if it changed.
        let (least, most) = (paid(moved), paid([2.0 * added[0], 2.0 * added[1]]));
        assert!(
            row.moved >= least - 1e-9 && row.moved <= most + 1e-9,
            "{}: {} {least} {most}",
            row.law,
            row.moved
        );
    }
}

/// The detailed table alone: noise given that all tables add up, cell by cell. Its variance is that of a sum over all pairs of integers
/// where there are two areas, and that of least squares where noise is normal; drawn errors have it. Known tables have none.
#[test]
fn exact_noise_is_that_of_independent_trees() {
    let place = place();
    let from = CONFIG.find("[[query]]").unwrap();
    let to = CONFIG.find("[[grid]]").unwrap();
    let queries = "[[query]]\nof = [\"sex\", \"age\"]\nshares = { town = 0.25, street = 0.75 }\n";
    let config = CONFIG[..from].replace("\"county\"]", "{ level = \"county\", query = \"age*sex\" }]")
        + &queries.replace("[\"sex\", \"age\"]", "[\"age\", \"sex\"]")
        + &CONFIG[to..].replace(", \"laplace\"", "").replace("\"unconstrained\"", "\"exact\"");
    place.write("cube.toml", &config);
    place.prints(&["run", "cube.toml", "--out", "out"]);
    place.prints(&["run", "cube.toml", "--out", "one", "--threads", "1"]);
    assert!(place.prints(&["digest", "one"]) == place.prints(&["digest", "out"]));
    let cells: HashMap<_, CubeCellRow> =
        place.rows::<CubeCellRow>("out").into_iter().map(|row| (row.cell, row)).collect();
    let mut of_normal: HashMap<(String, String, String), f64> = HashMap::new();
    for row in place.rows::<CubeErrorRow>("out") {
        let cell = &cells[&row.cell];
        let words = format!("{} {} {} {}", cell.law, cell.method, row.level, row.size);
        if row.level == "county" {
            assert!(row.squared.mean < 1e-15 && row.squared_computed < 1e-15, "{words}");
            continue;
        }
        let z = (row.squared.mean - row.squared_computed) / row.squared.standard_error;
        assert!(z.abs() < 6.0 && (row.bias.mean / row.bias.standard_error).abs() < 6.0, "{words}: {row:?}");
        if cell.law == "gaussian" {
            let other = of_normal.insert((row.level, row.size, words), row.squared_computed);
            assert!(other.is_none());
        }
    }
    let by_method = |method: &str| {
        let own = of_normal.iter().filter(|((_, _, words), _)| words.contains(method));
        let mut own: Vec<_> = own.map(|((level, size, _), variance)| (level, size, *variance)).collect();
        own.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)));
        own
    };
    for (exact, gls) in by_method("exact").iter().zip(by_method("gls")) {
        assert!((exact.2 - gls.2).abs() < 1e-9 * gls.2, "{exact:?} {gls:?}");
    }
    // Two areas below a measured one, double geometric noise with the scales 1/(2 · 0.25) and 1/(2 · 0.75).
    let config = config
        .replace("levels = [\"town\", \"street\"]", "levels = [\"street\"]")
        .replace("town = 0.25, street = 0.75", "county = 0.25, street = 0.75")
        .replace("known = [{ level = \"county\", query = \"age*sex\" }]\n", "");
    place.write("areas.csv", "street\nA1\nA2\n");
    place.write("cells.csv", "street,sex,age,count\nA1,f,0-17,3\nA2,m,65+,4\n");
    place.write("cube.toml", &config);
    place.prints(&["run", "cube.toml", "--out", "two"]);
    let weight = |z: i64, share: f64| (-(z.abs() as f64) * 2.0 * share).exp();
    let (mut mass, mut leaf, mut root) = (0.0, 0.0, 0.0);
    for a in -60i64..=60 {
        for b in -60..=60 {
            let own = weight(a, 0.75) * weight(b, 0.75) * weight(a + b, 0.25);
            mass += own;
            leaf += own * (a * a) as f64;
            root += own * ((a + b) * (a + b)) as f64;
        }
    }
    let cells: HashMap<_, CubeCellRow> =
        place.rows::<CubeCellRow>("two").into_iter().map(|row| (row.cell, row)).collect();
    let mut seen = 0;
    for row in place.rows::<CubeErrorRow>("two") {
        let cell = &cells[&row.cell];
        if cell.law == "double-geometric" && cell.method == "exact" {
            let want = if row.level == "street" { leaf / mass } else { root / mass };
            assert!((row.squared_computed - want).abs() < 1e-9, "{row:?} {want}");
            assert!(((row.squared.mean - want) / row.squared.standard_error).abs() < 6.0, "{row:?} {want}");
            seen += 1;
        }
    }
    assert_eq!(seen, 2);
}

/// No record can be added where all cells are in some known query, though none has all; one with a tiny loss does not pay 0.
#[test]
fn what_known_queries_leave_open_is_told() {
    let place = place();
    let queries = "[[query]]\nname = \"young\"\nof = [\"age\"]\ngroups = { age = [[\"0-17\"]] }\n".to_owned()
        + "[[query]]\nname = \"rest\"\nof = [\"age\"]\ngroups = { age = [[\"18-64\", \"65+\"]] }\n[[query]]\n"
        + "of = [\"sex\", \"age\"]";
    let known =
        "known = [{ level = \"county\", query = \"young\" }, { level = \"county\", query = \"rest\" }]";
    let config = CONFIG
        .replacen("[[query]]\nof = [\"sex\", \"age\"]", &queries, 1)
        .replace("known = [\"county\"]", known)
        .replace("400", "1");
    place.write("cube.toml", &config);
    place.prints(&["run", "cube.toml", "--out", "both"]);
    assert!(place.rows::<CubeCellRow>("both").iter().all(|row| row.added.is_none()));
    let laws = "[\"double-geometric\", \"discrete-gaussian\", \"laplace\", \"gaussian\"]";
    let tiny =
        CONFIG.replace("epsilon = 2.0", "epsilon = 1e-8").replace(laws, "\"laplace\"").replace("400", "1");
    place.write("cube.toml", &tiny);
    place.prints(&["run", "cube.toml", "--out", "tiny"]);
    let page = place.prints(&["report", "tiny", "--full"]);
    assert!(page.split_whitespace().collect::<Vec<_>>().join(" ").contains("at most 2.000e-8"), "{page}");
}

/// One error, with the place, the value and what is wanted.
#[test]
fn wrong_input_is_refused() {
    let place = place();
    let config = |from: &str, to: &str, wanted: &[&str]| {
        assert!(CONFIG.contains(from), "{from}");
        place.write("cube.toml", &CONFIG.replace(from, to));
        place.refuses(&["plan", "cube.toml"], wanted);
    };
    config("tree-of-tables", "tree", &["data.kind: got `tree`", "want \"tree-of-tables\""]);
    config("[\"town\", \"street\"]", "[\"town\", \"town\"]", &["data.levels: got \"town\" twice"]);
    config("root = \"county\"", "root = \"town\"", &["data.levels", "none with the root's name"]);
    config(
        "age = [\"0-17\", \"18-64\", \"65+\"] }",
        "age = [] }",
        &["data.attributes.age", "at least one category"],
    );
    let counts =
        &["data.count: got `age`", "a column of its own for the counts: this one is that of an attribute"];
    config("known = [\"county\"]", "count = \"age\"\nknown = [\"county\"]", counts);
    let counts = &["data.count: got `town`", "this one is that of a level"];
    config("known = [\"county\"]", "count = \"town\"\nknown = [\"county\"]", counts);
    let counts = &["data.count: got `count`", "this one is that of an attribute"];
    config("\"65+\"] }", "\"65+\"], count = 2 }", counts);
    config("known = [\"county\"]", "known = [\"state\"]", &["data.known: got the level `state`", "county"]);
    config(
        "known = [\"county\"]",
        "known = [{ level = \"town\", query = \"grwn\" }]",
        &["data.known: got the query `grwn`", "`grown`"],
    );
    config("known = [\"county\"]", "known = [\"town\"]", &["`total` of `town` is measured or known already"]);
    config("known = [\"county\"]", "zeros = [\"sex = x\"]", &["`sex`: got the category `x`", "f, m"]);
    config("known = [\"county\"]", "zeros = [\"sex\"]", &["data.zeros: got `sex`", "want such as"]);
    config("known = [\"county\"]", "zeros = [\"race = 1\"]", &["data.zeros: got `race`", "sex"]);
    config(
        "known = [\"county\"]",
        "zeros = [\"age = 65+ & sex = f | m\"]",
        &["cells.csv", "has to be 0", "count of 1"],
    );
    config(
        "of = [\"sex\", \"age\"]",
        "of = [\"sex\", \"ag\"]",
        &["query.of: got `ag`", "want one of age, sex"],
    );
    config("shares = { street = 0.1 }", "shares = { street = 0.2 }", &["the shares add up to 1.1"]);
    config("shares = { street = 0.1 }", "shares = { block = 0.1 }", &["query.shares: got the level `block`"]);
    config("[\"18-64\", \"65+\"]]", "[\"0-17\", \"65+\"]]", &["query.groups: got \"0-17\" twice"]);
    config("name = \"grown\"", "name = \"total\"", &["query: got `total` twice"]);
    config(
        "method = [\"unconstrained\", \"gls\"]",
        "method = \"topdwn\"",
        &["method: got `topdwn`", "topdown"],
    );
    let exact = "method = \"exact\"";
    let ties =
        &["`grown` of `street` is measured, which ties the cells", "the query of all attributes alone"];
    config("method = [\"unconstrained\", \"gls\"]", exact, ties);
    config("delta = 1e-6\n", "", &["delta: missing", "discrete-gaussian"]);
    config(
        "sex = [\"f\", \"m\"]",
        "sex = 2000000000",
        &["data.attributes.sex: got 2000000000", "at most 16777216"],
    );
    config(
        "of = []\nshares = { town = 0.1, street = 0.2 }",
        "name = \"total\"\nof = [\"sex\"]\nshares = { town = 0.1, street = 0.2 }",
        &["query: got `total` twice", "another name"],
    );
    config("epsilon = 2.0", "epsilon = 0.0", &["epsilon: got 0"]);
    config("law = [", "law = [\"l2\", ", &["law: got `l2`", "want one of"]);
    place.write("cube.toml", CONFIG);
    let data = |file: &str, text: &str, wanted: &[&str]| {
        place.write(file, text);
        place.refuses(&["plan", "cube.toml"], wanted);
    };
    let cells = |from: &str, to: &str| CELLS.replace(from, to);
    data("cells.csv", &cells("B2,f", "C9,f"), &["cells.csv: line 6", "`street` = `C9` is not in areas.csv"]);
    data("cells.csv", &cells("B2,f,0-17", "B2,f,17"), &["cells.csv: line 6", "`age` has no category `17`"]);
    data(
        "cells.csv",
        &cells("B2,f,0-17", "A1,f,0-17"),
        &["cells.csv: line 6", "its cell stands there twice (first on line 2)"],
    );
    data("cells.csv", &cells("0-17,2", "0-17,-2"), &["cells.csv: line 6", "-2"]);
    data("cells.csv", &cells("sex", "six"), &["cells.csv", "sex"]);
    place.write("cells.csv", CELLS);
    data(
        "areas.csv",
        "town,street\nA,A1\nA,A2\nB,B1\nB,A1\n",
        &["cells.csv: line 2", "`A1` is in several areas"],
    );
    data("areas.csv", "town,street\nA,A1\nA,A1\n", &["areas.csv: line 3", "`A1` stands there twice"]);
    data("areas.csv", "town,street\nA,\n", &["areas.csv: line 2", "`street` is blank"]);
}

/// What does not determine every cell is refused where it is to be estimated. Two runs of one config are the same, and
/// so are two shards of one.
#[test]
fn what_cannot_be_estimated_is_refused() {
    let place = place();
    let open = CONFIG.replace("{ town = 0.2, street = 0.4 }", "{ town = 0.6 }").replace("400", "2");
    place.write("cube.toml", &open);
    let wanted = ["not every cell of a `street` follows", "all attributes"];
    place.refuses(&["run", "cube.toml", "--out", "out"], &wanted);
    place.write("cube.toml", &open.replace("[\"unconstrained\", \"gls\"]", "\"unconstrained\""));
    place.prints(&["run", "cube.toml", "--out", "out"]);
    place.write("cube.toml", &CONFIG.replace("400", "20"));
    place.prints(&["run", "cube.toml", "--out", "a"]);
    place.prints(&["run", "cube.toml", "--out", "b"]);
    assert_eq!(place.rows::<CubeDrawRow>("a").len(), place.rows::<CubeDrawRow>("b").len());
    let compared = place.prints(&["compare", "a", "b"]);
    assert!(compared.contains("0 undecided") && compared.contains("identical rows"), "{compared}");
    for shard in ["1/2", "2/2"] {
        place.prints(&["run", "cube.toml", "--out", "c", "--shard", shard]);
    }
    place.prints(&["merge", "cube.toml", "--out", "c"]);
    assert!(place.prints(&["digest", "c"]) == place.prints(&["digest", "a"]));
}
