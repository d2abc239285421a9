//! `plan --optimise`: the config that it prints runs, and its errors are those that were said.

use crate::place::{MARGINS, Place, TABLE, TABLE_DATA};
use congenial::study::cells::CellRow;
use congenial::study::release::AnswerRow;
use serde_json::Value;
use std::collections::BTreeMap;

/// Leaves of two states whose counties have other numbers of districts; two groups cut across them.
const LEAVES: &str = "\
state,county,district,group,count
A,x,1,young,40
A,x,2,old,200
A,x,3,old,7
A,y,4,young,40
A,y,5,old,0
B,z,6,young,5
B,z,7,old,2
B,z,8,young,3000
B,z,9,old,11
";

const DATA: &str = r#"
[data]
table = "leaves.csv"
levels = ["state", "county", "district"]
count = "count"
"#;

const QUERIES: &str = "report.queries = [[\"state\"], [\"group\"], [\"group\", \"county\"]]\n";

const GRID: &str = r#"
[[grid]]
epsilon = 2.0
law = ["laplace", "double-geometric"]
split = "even"
method = "l2"

[[grid]]
epsilon = 2.0
delta = 1e-5
law = ["gaussian", "discrete-gaussian"]
split = "even"
method = "l2"
"#;

fn config(front: &str, grid: &str) -> String {
    format!("name = \"optimise\"\nseed = 5\nreplicates = 4000\n{front}{DATA}{grid}")
}

fn place(config: &str) -> Place {
    Place::new(&[("leaves.csv", LEAVES), ("config.toml", config)])
}

/// What is said of the splits, for programs.
fn told(place: &Place, goal: &str) -> Value {
    serde_json::from_str(&place.prints(&["plan", "config.toml", "--optimise", goal, "--json"])).unwrap()
}

/// By law, the answers of a run.
fn answers(place: &Place, out: &str) -> BTreeMap<String, Vec<(CellRow, AnswerRow)>> {
    let mut by_law = BTreeMap::<String, Vec<_>>::new();
    for (cell, row) in place.with_cells(out, |row: &AnswerRow| row.cell) {
        by_law.entry(cell.law.name().to_owned()).or_default().push((cell, row));
    }
    by_law
}

/// A run has the errors that were said of it: of every query the root of the mean over its answers, and of the largest, to 5 standard
/// errors.
fn has_errors(place: &Place, out: &str, told: &Value, which: &str) {
    let by_law = answers(place, out);
    let designs = told["designs"].as_array().unwrap();
    assert_eq!(designs.len(), by_law.len());
    for design in designs {
        let rows = &by_law[design["law"].as_str().unwrap()];
        for (number, query) in design["queries"].as_array().unwrap().iter().enumerate() {
            let own = rows.iter().map(|(_, row)| row).filter(|row| row.query as usize == number + 1);
            let rmse: Vec<_> = own.map(|row| row.rmse).collect();
            let n = rmse.len() as f64;
            let mean: f64 = rmse.iter().map(|one| one.mean * one.mean).sum::<f64>() / n;
            // Answers of a replicate depend on each other.
            let error: f64 = rmse.iter().map(|one| 2.0 * one.mean * one.standard_error).sum::<f64>() / n;
            let want = query[which]["mean"].as_f64().unwrap();
            let words = format!(
                "{out}, {}, {}: {mean} ± {error}, not {}",
                design["law"],
                query["query"],
                want * want
            );
            assert!((mean - want * want).abs() < 5.0 * error, "{words}");
            let largest = query[which]["largest"].as_f64().unwrap();
            let is_near = rmse.iter().any(|one| (one.mean - largest).abs() < 5.0 * one.standard_error);
            let is_most = rmse.iter().all(|one| one.mean < largest + 5.0 * one.standard_error);
            assert!(is_near && is_most, "{words}: largest {largest}, {rmse:?}");
        }
    }
}

/// Sums of leaves and nodes, all laws, both goals: the printed config is a run with these errors, and so are even shares.
#[test]
fn the_config_that_is_printed_has_the_errors_that_are_said() {
    let place = place(&config(QUERIES, GRID));
    place.prints(&["run", "config.toml", "--out", "even"]);
    for goal in ["mean", "largest"] {
        let told = told(&place, goal);
        let printed = place.prints(&["plan", "config.toml", "--optimise", goal]);
        assert_eq!(told["config"].as_str().unwrap(), printed);
        place.write("best.toml", &printed);
        place.prints(&["run", "best.toml", "--out", goal]);
        has_errors(&place, goal, &told, "best");
        has_errors(&place, "even", &told, "even");
        for design in told["designs"].as_array().unwrap() {
            let [even, best, at_least] =
                ["even", "best", "at_least"].map(|key| design[key].as_f64().unwrap());
            assert!(at_least <= best && best < 0.999 * even, "{goal}: {design}");
            assert!(best < 1.002 * at_least, "{goal}: {design}");
            let shares = design["shares"].as_array().unwrap();
            assert_eq!(shares[0]["level"], "total");
            let others =
                design["not_asked"].as_array().unwrap().iter().map(|other| other["query"].as_str().unwrap());
            assert_eq!(others.collect::<Vec<_>>(), ["total", "county", "district"]);
            let sum: f64 = shares.iter().map(|share| share["share"].as_f64().unwrap()).sum();
            assert!((sum - 1.0).abs() < 1e-12);
        }
    }
}

/// The whole budget on each of four levels is as much as four times the budget in shares: what differs in its split alone becomes one
/// cell, with the replicates of the one that has more. Without queries nodes are asked for; levels that are known have no share.
#[test]
fn what_pays_the_same_has_the_same_split() {
    let grid = r#"
[[grid]]
epsilon = 0.5
law = "laplace"
method = ["l2", "exact"]

[[grid]]
epsilon = 2.0
law = "laplace"
split = ["even", [0.1, 0.2, 0.3, 0.4]]
method = "l2"
replicates = 5000
"#;
    let place = place(&config("", grid));
    let told = told(&place, "mean");
    let designs = told["designs"].as_array().unwrap();
    assert_eq!(designs.len(), 1, "{told}");
    assert_eq!(designs[0]["epsilon"], 2.0);
    let queries: Vec<&str> = designs[0]["queries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|query| query["query"].as_str().unwrap())
        .collect();
    assert_eq!(queries, ["total", "state", "county", "district"]);
    let printed = told["config"].as_str().unwrap();
    assert_eq!(printed.matches("[[grid]]").count(), 2, "{printed}");
    assert!(printed.contains("replicates = 5000") && printed.contains("replicates = 4000"), "{printed}");
    place.write("known.toml", &config("", grid).replace("[data]", "[data]\nknown = [\"total\"]"));
    let known =
        place.prints(&["plan", "known.toml", "--optimise", "largest", "--set", "grid.1.split=[\"even\"]"]);
    assert!(known.contains("split = [[") && !known.contains("even"), "{known}");
}

/// Cells that differ in their seed alone stand beside each other, as a config wants them, though their splits stood apart.
#[test]
fn seeds_of_one_cell_stand_together() {
    let grid = r#"
[[grid]]
epsilon = 2.0
law = "laplace"
split = "even"
seed = 5
method = ["l2", "exact"]

[[grid]]
epsilon = 2.0
law = "laplace"
split = [[0.1, 0.2, 0.3, 0.4]]
seed = 6
method = ["l2", "exact"]
"#;
    let place = place(&config("", grid).replace("seed = 5\nreplicates", "seed = [5, 6]\nreplicates"));
    place.write("best.toml", &place.prints(&["plan", "config.toml", "--optimise", "mean"]));
    assert!(place.prints(&["plan", "best.toml"]).contains("exact"));
}

/// Methods that do not weigh levels as least squares do keep their splits, and are named.
#[test]
fn other_methods_are_left_as_they_are() {
    let grid = r#"
[[grid]]
epsilon = 2.0
law = "double-geometric"
split = "even"
method = ["unconstrained", "l2", "exact", { kind = "exact", nonnegative = true }, "topdown"]
"#;
    let place = place(&config("", grid));
    let output = place.command(&["plan", "config.toml", "--optimise", "mean"]).output().unwrap();
    let (printed, told) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(printed.matches("split = [\"even\"]").count(), 3, "{printed}");
    assert_eq!(printed.matches("split = [[").count(), 2, "{printed}");
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("least squares do: unconstrained, exact >= 0, topdown >= 0."), "{told}");
    place.write("best.toml", &printed);
    place.prints(&["plan", "best.toml"]);
    place.write("bad.toml", &config("", &grid.replace("\"l2\", \"exact\",", "")));
    place.refuses(&["plan", "bad.toml", "--optimise", "mean"], &["bad.toml", "least squares", "`l2`"]);
}

#[test]
fn what_has_nothing_to_split_is_refused() {
    let place = place(&config("", GRID));
    let refuses = |text: &str, wanted: &[&str]| {
        place.write("bad.toml", text);
        place.refuses(&["plan", "bad.toml", "--optimise", "mean"], wanted);
    };
    place.write("table.csv", TABLE);
    let table = "name = \"table\"\nseed = 1\nreplicates = 5\n".to_owned() + TABLE_DATA + MARGINS;
    refuses(
        &(table + "\n[[grid]]\nepsilon = 1.0\nlaw = \"laplace\"\nmethod = \"l2\"\n"),
        &["bad.toml", "share one budget", "levels"],
    );
    let frontier =
        config("study = \"frontier\"\nchange = \"added\"\n", GRID).replace("epsilon = 2.0", "paid = 2.0");
    refuses(&frontier, &["bad.toml", "paid", "epsilon"]);
    refuses(
        &config("", GRID).replace("[data]", "[data]\nknown = [\"total\", \"state\", \"county\"]"),
        &["bad.toml", "one level is measured"],
    );
    refuses(&config("", GRID).replace("epsilon = 2.0", "epsilon = 1e-11"), &["bad.toml", "laplace", "scale"]);
    place.refuses(&["plan", "config.toml", "--optimise", "median"], &["--optimise", "median"]);
    place.refuses(
        &["plan", "config.toml", "--optimise", "mean", "--delta", "1e-6", "--releases", "3"],
        &["cannot be used with"],
    );
}

const NOISES: [&str; 4] = ["laplace", "double-geometric", "gaussian", "discrete-gaussian"];

/// A config of tables of streets: one noise, and queries of which one is measured nowhere and the total is asked for on one level alone.
fn tables(law: &str) -> String {
    let laws = r#"["double-geometric", "discrete-gaussian", "laplace", "gaussian"]"#;
    let queries = "[[query]]\nof = [\"sex\"]\nasked = [\"county\", \"street\"]\n[[query]]\nof = []\nasked = [\"street\"]\n";
    let text =
        crate::cube::CONFIG.replace(laws, &format!("{law:?}")).replace("[[query]]\nof = []\n", queries);
    text.replace("[\"unconstrained\", \"gls\"]", "\"gls\"").replace("replicates = 400", "replicates = 3000")
}

/// By level and query the mean squared error of a run, and a bound of its standard error: sizes depend on each other.
fn squared(place: &Place, out: &str) -> BTreeMap<(String, String), (f64, f64)> {
    let mut sums = BTreeMap::<_, (f64, f64, f64)>::new();
    for row in place.rows::<congenial::study::cube::CubeErrorRow>(out) {
        let (sum, error, answers) = sums.entry((row.level, row.query)).or_default();
        *sum += row.squared.mean * row.answers as f64;
        *error += row.squared.standard_error * row.answers as f64;
        *answers += row.answers as f64;
    }
    sums.into_iter().map(|(key, (sum, error, n))| (key, (sum / n, error / n))).collect()
}

/// Tables in areas: a run of the printed config has the errors that are said, of what is asked for and of what is not, and so has one of
/// the config as it is; the shares are fewer than what is asked for.
#[test]
fn tables_have_the_errors_that_are_said() {
    for (number, law) in NOISES.into_iter().enumerate() {
        let goal = ["mean", "largest"][number % 2];
        let place = crate::cube::place();
        place.write("config.toml", &tables(law));
        let told = told(&place, goal);
        place.write("best.toml", told["config"].as_str().unwrap());
        let design = &told["designs"][0];
        for (config, which) in [("best.toml", "best"), ("config.toml", "given")] {
            place.prints(&["run", config, "--out", which]);
            let squared = squared(&place, which);
            let rows = ["queries", "not_asked"].map(|rows| design[rows].as_array().unwrap().clone());
            let rows = rows.concat();
            // Four queries on three levels, of which the total of the county is known.
            assert_eq!(rows.len(), 11);
            for row in rows {
                let [level, query] = ["level", "query"].map(|key| row[key].as_str().unwrap().to_owned());
                let want = row[which]["mean"].as_f64().unwrap();
                let (mean, error) = squared[&(level.clone(), query.clone())];
                let off = (mean - want * want) / error;
                assert!(
                    off.abs() < 5.0,
                    "{law} {which} {level} {query}: {mean} ± {error}, not {}",
                    want * want
                );
                assert!(row[which]["largest"].as_f64().unwrap() >= want * (1.0 - 1e-12));
            }
        }
        let value = |key: &str| design[key].as_f64().unwrap();
        assert!(value("at_least") <= value("best") && value("best") < 1.002 * value("at_least"), "{design}");
        assert!(value("best") < 0.99 * value("given") && value("best") < 0.99 * value("even"), "{design}");
        let asked: Vec<&str> =
            design["queries"].as_array().unwrap().iter().map(|row| row["query"].as_str().unwrap()).collect();
        // By level: the county, the towns, the streets.
        assert_eq!(
            asked,
            ["sex*age", "grown", "sex", "sex*age", "grown", "sex*age", "grown", "sex", "total"]
        );
        let shares = design["shares"].as_array().unwrap();
        // Of the best shares nothing better is found, and nothing worse is printed.
        let again: Value =
            serde_json::from_str(&place.prints(&["plan", "best.toml", "--optimise", goal, "--json"]))
                .unwrap();
        let again = &again["designs"][0];
        assert!(
            again["best"].as_f64().unwrap() <= again["given"].as_f64().unwrap() * (1.0 + 1e-6),
            "{again}"
        );
        assert_eq!(shares.len(), 5);
        assert_eq!(shares[2]["query"], "grown");
        let sum: f64 = shares.iter().map(|share| share["share"].as_f64().unwrap()).sum();
        assert!((sum - 1.0).abs() < 1e-12);
    }
}

/// What is printed for people has the shares by query and level, and names methods that have them without being least squares.
#[test]
fn tables_are_told_with_shares_by_level() {
    let place = crate::cube::place();
    place.write("config.toml", &tables("gaussian").replace("\"gls\"", "[\"gls\", \"unconstrained\"]"));
    let output = place.command(&["plan", "config.toml", "--optimise", "mean"]).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    for wanted in [
        "rmse: given",
        "┆ town",
        "┆ street",
        "grown",
        "total (not asked for)",
        "least squares do: unconstrained.",
    ] {
        assert!(told.contains(wanted), "{wanted}: {told}");
    }
}

#[test]
fn tables_that_have_no_best_shares_are_refused() {
    let place = crate::cube::place();
    let refuses = |text: String, wanted: &[&str]| {
        place.write("bad.toml", &text);
        place.refuses(&["plan", "bad.toml", "--optimise", "mean"], wanted);
    };
    let good = tables("gaussian");
    refuses(
        tables("laplace").replace("law = \"laplace\"", "law = [\"laplace\", \"gaussian\"]"),
        &["bad.toml", "one law", "laplace", "gaussian"],
    );
    refuses(good.replace("epsilon = 2.0", "epsilon = [1.0, 2.0]"), &["bad.toml", "one law", "epsilon=1.0"]);
    refuses(good.replace("\"gls\"", "\"unconstrained\""), &["bad.toml", "no method", "`gls`"]);
    refuses(good.replace("asked = [\"street\"]", "asked = [\"road\"]"), &["query.asked", "road", "street"]);
    refuses(
        good.replace("asked = [\"street\"]", "asked = [\"street\", \"street\"]"),
        &["query.asked", "street"],
    );
    refuses(
        good.replace("asked = [\"county\", \"street\"]\n", ""),
        &["`sex` is measured nowhere", "`asked`"],
    );
    let none = good.replace("of = [\"sex\", \"age\"]\n", "of = [\"sex\", \"age\"]\nasked = []\n");
    let none = none
        .replace("[[query]]\nof = [\"sex\"]\nasked = [\"county\", \"street\"]\n", "")
        .replace("asked = [\"street\"]", "asked = []");
    refuses(
        none.replace("shares = { street = 0.1 }", "shares = { street = 0.1 }\nasked = []"),
        &["bad.toml", "query.asked"],
    );
    place.write(
        "worlds.toml",
        "name = \"w\"\nseed = 1\nstudy = \"composition\"\n[worlds]\nworlds = 6\ncases = 30\nepsilon = 1.0\n",
    );
    place.refuses(
        &["plan", "worlds.toml", "--optimise", "mean"],
        &["worlds.toml", "composition", "split over"],
    );
}
