//! The command as a user runs it: results, determinism, and what bad input gives.
#![allow(clippy::disallowed_methods)] // Tests open files of their own.

use crate::place::Place;
use congenial::input::CsvTable;
use congenial::study::cells::CellRow;
use congenial::study::release::{ChainRow, ErrorRow, LevelRow};
use congenial::table::Writer;
use std::collections::HashMap;
use std::path::Path;

const COUNTS: &str = "zone,group,count\na1,a,5\na2,a,0\nb1,b,120\nb2,b,3\nb3,b,44\nc1,c,7\n";

const CONFIG: &str = r#"
name = "tiny"
seed = 11
replicates = 20

[data]
table = "counts.csv"
levels = ["group", "zone"]
count = "count"

[[grid]]
epsilon = [0.5, 1.0]
law = ["double-geometric", "laplace"]
method = ["unconstrained", "exact", "l2", "topdown", { kind = "line-gibbs", sweeps = 10, nonnegative = [false, true] }]

[[grid]]
epsilon = 1
law = ["double-geometric", "laplace"]
method = { kind = "hierarchical-mh", steps = 2000, nonnegative = [false, true] }
replicates = 3

[[grid]]
epsilon = 1
law = ["gaussian", "discrete-gaussian"]
delta = 1e-5
split = ["even", [0.2, 0.3, 0.5]]
method = ["exact", "line-gibbs", { kind = "hierarchical-mh", steps = 500 }, "l2", "topdown"]
replicates = 3
"#;

/// A place with the tiny config.
fn tiny() -> Place {
    Place::new(&[("counts.csv", COUNTS), ("config.toml", CONFIG)])
}

fn run(place: &Place, out: &str, more: &[&str]) -> Vec<ErrorRow> {
    let mut arguments = vec!["run", "config.toml", "--out", out];
    arguments.extend(more);
    place.command(&arguments).assert().success();
    place.rows(out)
}

#[test]
fn a_run_leaves_rows_that_keep_the_invariant() {
    let place = tiny();
    let rows = run(&place, "out", &[]);
    assert!(place.failures("out").is_empty());
    // 24 cells of 20 replicates, 4 of 3, 20 of 3; 3 levels each.
    assert_eq!(rows.len(), (24 * 20 + 4 * 3 + 20 * 3) * 3);
    assert_eq!(place.rows("out").iter().map(|row: &LevelRow| row.nodes).max(), Some(6));
    // The root's error cannot exceed the sum of its children's where the invariant holds.
    let cells = place.cells("out");
    for three in rows.chunks(3).filter(|three| cells[&three[0].cell].method.name() != "unconstrained") {
        assert!(three[0].l1 <= three[1].l1 + 1e-9, "{three:?}");
    }
    assert!(!place.rows::<ChainRow>("out").is_empty());
    for file in ["manifest.json", "config.toml", "config.resolved.toml"] {
        assert!(place.path("out").join(file).exists(), "{file}");
    }
}

#[test]
fn rows_do_not_depend_on_threads_nor_on_the_rest_of_the_grid() {
    let place = tiny();
    let one = run(&place, "one", &["--threads", "1"]);
    assert_eq!(one, run(&place, "three", &["--threads", "3"]));
    let more =
        run(&place, "more", &["--set", "grid.0.epsilon=[0.25, 0.5, 1.0, 3.0]", "--set", "replicates=25"]);
    for row in &one {
        assert!(more.contains(row), "{row:?}");
    }
    // The resolved config is the same plan.
    let resolved = place.path("one").join("config.resolved.toml");
    place.command(&["run", resolved.to_str().unwrap(), "--out", "again"]).assert().success();
    let mut again: Vec<ErrorRow> = place.rows("again");
    let mut first = one.clone();
    let key = |row: &ErrorRow| (row.cell, row.replicate, row.level);
    again.sort_by_key(key);
    first.sort_by_key(key);
    assert_eq!(first, again);
    // Another seed is another run.
    assert_ne!(one, run(&place, "seed", &["--set", "seed=12"]));
}

#[test]
fn the_same_config_is_not_run_twice_and_another_never_overwrites() {
    let place = tiny();
    let first = place.command(&["run", "config.toml", "--out", "out"]).output().unwrap();
    let before = std::fs::read(place.path("out/errors.parquet")).unwrap();
    let second = place.command(&["run", "config.toml", "--out", "out"]).output().unwrap();
    assert_eq!((second.status.code(), &second.stdout), (Some(0), &first.stdout));
    assert!(String::from_utf8_lossy(&second.stderr).contains("was run before"));
    place.refuses(
        &["run", "config.toml", "--out", "out", "--set", "seed=5"],
        &["out", "another config", "--out"],
    );
    assert_eq!(before, std::fs::read(place.path("out/errors.parquet")).unwrap());
    std::fs::create_dir(place.path("mine")).unwrap();
    place.write("mine/notes.txt", "keep");
    place.refuses(&["run", "config.toml", "--out", "mine"], &["mine", "not the folder of a run"]);
    place.refuses(&["run", "config.toml", "--out", "counts.csv/out"], &["counts.csv"]);
    std::fs::create_dir(place.path("busy.partial")).unwrap();
    place.write("busy.partial/notes.txt", "keep");
    place.refuses(&["run", "config.toml", "--out", "busy"], &["busy.partial", "no run has left it"]);
    assert!(place.path("mine/notes.txt").exists() && !place.path("busy").exists());
}

/// `run` and `plan` refuse the tiny config with something else in the place of `from`.
fn wrong(place: &Place, from: &str, to: &str, wanted: &[&str]) {
    assert!(CONFIG.contains(from), "{from}");
    place.write("wrong.toml", &CONFIG.replacen(from, to, 1));
    place.refuses(&["run", "wrong.toml", "--out", "wrong"], &[&["wrong.toml"], wanted].concat());
    place.refuses(&["plan", "wrong.toml"], wanted);
    assert!(!place.path("wrong").exists() && !place.path("wrong.partial").exists());
}

#[test]
fn mistakes_in_a_config_name_the_place_the_value_and_what_was_wanted() {
    let place = tiny();
    let wrong = |from: &str, to: &str, wanted: &[&str]| wrong(&place, from, to, wanted);
    wrong("seed = 11", "sed = 11", &["unknown field `sed`", "expected one of"]);
    wrong("seed = 11", "", &["seed: missing"]);
    wrong("seed = 11", "seed = \"x\"", &["got \"x\", want an integer >= 0"]);
    wrong("seed = 11", "seed = ", &["wrong.toml:3"]);
    wrong("name = \"tiny\"", "name = \"a/b\"", &["name: got `a/b`"]);
    wrong("epsilon = [0.5, 1.0]", "epsilon = [0.5, 0]", &["epsilon: got 0", "finite number > 0"]);
    wrong("epsilon = [0.5, 1.0]", "epsilon = [-1.5]", &["epsilon: got -1.5"]);
    wrong("epsilon = [0.5, 1.0]", "epsilon = [nan]", &["epsilon: got NaN"]);
    wrong("epsilon = [0.5, 1.0]", "epsilon = [inf]", &["epsilon: got inf"]);
    wrong("epsilon = [0.5, 1.0]", "epsilon = []", &["epsilon: got an empty axis"]);
    wrong("epsilon = [0.5, 1.0]", "epsilon = [1, 1.0]", &["epsilon: got 1.0 twice"]);
    wrong("epsilon = [0.5, 1.0]", "epsilon = [\"a\"]", &["got \"a\", want a number"]);
    wrong("replicates = 20", "replicates = 0", &["replicates: got 0", "integer >= 1"]);
    wrong("\"unconstrained\"", "\"magic\"", &["method: got `magic`", "topdown"]);
    wrong("law = [\"double-geometric\", \"laplace\"]", "law = \"cauchy\"", &["law: got `cauchy`", "laplace"]);
    wrong("\"unconstrained\"", "{ kind = \"l2\", sweeps = 3 }", &["sweeps: not an option of `l2`"]);
    wrong(
        "sweeps = 10",
        "sweep = 10",
        &["sweep: not an option of `line-gibbs`", "its options: nonnegative, sweeps"],
    );
    wrong("sweeps = 10", "sweeps = 0", &["sweeps: got 0"]);
    wrong("delta = 1e-5", "", &["delta: missing"]);
    wrong("delta = 1e-5", "delta = 1", &["delta: got 1"]);
    wrong("[0.2, 0.3, 0.5]", "[0.2, 0.3]", &["2 shares for 3 levels"]);
    wrong("[0.2, 0.3, 0.5]", "[0.2, 0.3, 0.6]", &["shares that sum to 1.1"]);
    wrong(
        "\"exact\"",
        "{ kind = \"exact\", nonnegative = true }",
        &["`exact` cannot serve", "laplace noise", "exclude"],
    );
    wrong("\"unconstrained\"", "\"exact\"", &["method: got `exact` twice"]);
    wrong("sweeps = 10", "sweeps = [10, 10]", &["sweeps: got 10 twice"]);
    wrong(
        "name = \"tiny\"",
        &format!("name = \"{}\"", "a".repeat(101)),
        &["name: got 101 characters", "at most 100"],
    );
    for (value, got) in [("nan", "NaN"), ("-1", "-1"), ("inf", "inf")] {
        for key in ["epsilon", "sensitivity"] {
            let exclude = format!("[[exclude]]\n{key} = {value}\n[[grid]]");
            wrong("[[grid]]", &exclude, &[&format!("exclude.{key}: got {got}"), "finite number > 0"]);
        }
    }
    wrong("[[grid]]", "[[exclude]]\nepsilon = []\n[[grid]]", &["epsilon: got an empty axis"]);
    wrong("levels = [\"group\", \"zone\"]", "levels = []", &["data.levels: got an empty list"]);
}

#[test]
fn scales_out_of_reach_are_refused_without_the_data_too() {
    let place = tiny();
    for sensitivity in ["5e-324", "1e-308", "1e300"] {
        let grid = format!("[[grid]]\nsensitivity = {sensitivity}");
        wrong(&place, "[[grid]]", &grid, &["scale", "from 1e-100 to 1e15"]);
        place.refuses(&["check", "wrong.toml"], &["scale", "from 1e-100 to 1e15", "wrong.toml"]);
    }
}

/// A larger one may stand in a file, whose values cannot be changed then.
#[test]
fn seeds_that_are_set_are_below_two_to_the_63() {
    let place = tiny();
    place.refuses(&["run", "config.toml", "--set", "seed=9223372036854775808"], &["below 2^63"]);
    place.write("large.toml", &CONFIG.replacen("seed = 11", "seed = 9223372036854775808", 1));
    place.command(&["plan", "large.toml"]).assert().success();
    place.refuses(&["plan", "large.toml", "--set", "replicates=2"], &["--set", "cannot be changed"]);
}

#[test]
fn mistakes_in_arguments_name_them() {
    let place = tiny();
    place.refuses(&["run", "nowhere.toml"], &["nowhere.toml", "cannot read"]);
    place.refuses(&["run", "config.toml", "--set", "seed"], &["--set seed", "want key=value"]);
    place.refuses(&["run", "config.toml", "--set", "grid.9.epsilon=1"], &["`grid` has 3 blocks"]);
    place.refuses(&["run", "config.toml", "--set", "grid.epsilom=1"], &["unknown field `epsilom`"]);
    place.refuses(&["run", "config.toml", "--threads", "0"], &["--threads"]);
}

#[test]
fn what_an_exclusion_leaves_out_is_no_mistake() {
    let place = tiny();
    let allowed = CONFIG.replacen("\"exact\"", "{ kind = \"exact\", nonnegative = true }", 1)
        + "\n[[exclude]]\nlaw = \"laplace\"\nmethod = \"exact\"\nnonnegative = true\n";
    place.write("allowed.toml", &allowed);
    let told = place.command(&["plan", "allowed.toml"]).assert().success();
    assert!(!String::from_utf8_lossy(&told.get_output().stderr).contains("no block has"));
}

#[test]
fn an_exclusion_that_leaves_out_nothing_gives_a_warning() {
    let place = tiny();
    for (exclude, what) in [
        ("epsilon = [0.5, 7.0]", "epsilon: no block has 7"),
        ("law = \"gaussian\"\nsensitivity = 3.0", "sensitivity: no block has 3"),
        ("method = \"bluedown\"", "method: no block has bluedown"),
        ("method = { kind = \"line-gibbs\", sweeps = 11 }", "method: no block has line-gibbs sweeps=11"),
        ("law = \"discrete-gaussian\"\ndelta = 0.5", "delta: no block has 0.5"),
        ("split = [[0.5, 0.25, 0.25]]", "split: no block has "),
    ] {
        place.write("idle.toml", &format!("{CONFIG}\n[[exclude]]\n{exclude}\n"));
        let told = place.command(&["plan", "idle.toml"]).assert().success();
        let message = String::from_utf8_lossy(&told.get_output().stderr).into_owned();
        assert!(message.contains(&format!("warning: [[exclude]] {what}")), "{message}");
    }
}

#[test]
fn mistakes_in_the_data_name_file_and_line() {
    let place = tiny();
    let wrong = |text: &str, wanted: &[&str]| {
        place.write("counts.csv", text);
        place.refuses(&["run", "config.toml", "--out", "wrong"], &[&["counts.csv"], wanted].concat());
        assert!(!place.path("wrong").exists());
    };
    wrong("zone,group\na1,a\n", &["no column `count`", "zone, group"]);
    wrong("zone,group,count\na1,a,-3\n", &["line 2", "`count` = `-3`", "integer >= 0"]);
    wrong("zone,group,count\na1,a,1\na2,a,2.5\n", &["line 3", "2.5"]);
    wrong("zone,group,count\na1,a,1\na1,a,2\n", &["line 3", "`a1` is duplicated", "line 2"]);
    wrong("zone,group,count\na1,,1\n", &["line 2", "`a1` has no parent"]);
    wrong("zone,group,count\n,a,1\n", &["line 2", "no `zone`"]);
    wrong("zone,group,count\na1,a\n", &["line"]);
    wrong("zone,group,count\n", &["no rows"]);
    wrong("zone,zone,count\n", &["column `zone` stands there twice"]);
    wrong("", &["empty"]);
    wrong("zone,group,count\na1,a,9007199254740993\n", &["limit is 2^53"]);
    std::fs::remove_file(place.path("counts.csv")).unwrap();
    place.refuses(&["run", "config.toml"], &["counts.csv", "cannot read"]);
}

/// A chain that never moves is a failed cell: its error is a row, the other cells go on, the code says so.
#[test]
fn a_failed_cell_is_a_row_and_the_others_go_on() {
    let place = tiny();
    let sets = ["--set", "grid.1.method={ kind = \"hierarchical-mh\", steps = 1, proposal-scale = 1e6 }"];
    let output =
        place.command(&[&["run", "config.toml", "--out", "out"][..], &sets].concat()).output().unwrap();
    assert_eq!(output.status.code(), Some(5), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stderr).contains("2 of 46 cells failed"));
    assert!(String::from_utf8_lossy(&output.stdout).contains("never moved in 1 steps"));
    assert_eq!(place.failures("out").len(), 2);
    place
        .command(&[&["run", "config.toml", "--out", "out", "--allow-failed"][..], &sets].concat())
        .assert()
        .code(0);
    let with_rows = place.with_cells("out", |row: &ErrorRow| row.cell);
    assert!(with_rows.iter().all(|(cell, _)| cell.epsilon != 1.0
        || cell.method.name() != "hierarchical-mh"
        || cell.law.needs_delta()));
    assert!(with_rows.iter().filter(|(cell, _)| cell.method.name() == "exact").count() > 100);
}

#[test]
fn reports_come_in_four_formats_and_from_several_runs() {
    let place = tiny();
    run(&place, "a", &[]);
    run(&place, "b", &["--set", "seed=12"]);
    let report = |arguments: &[&str]| {
        let output = place.command(&[&["report"][..], arguments].concat()).output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(report(&["a"]).contains("tiny: normalised L1 error, double-geometric noise"));
    assert!(report(&["a", "--format", "markdown"]).contains("|---"));
    let csv = report(&["a", "b", "--format", "csv"]);
    assert_eq!(csv.lines().count(), 1 + 2 * 48 * 3);
    let json: serde_json::Value = serde_json::from_str(&report(&["a", "--format", "json"])).unwrap();
    assert_eq!(json["errors"].as_array().unwrap().len(), 48 * 3);
    assert_eq!(json["runs"][0]["seed"], 11);
    place.command(&["report", "a", "b", "--out", "tables"]).assert().success();
    assert_eq!(std::fs::read_to_string(place.path("tables/l1_error.csv")).unwrap(), csv);
    place.refuses(&["report", "nowhere"], &["nowhere", "complete run"]);
    let manifest = std::fs::read_to_string(place.path("a/manifest.json")).unwrap();
    place.write("a/manifest.json", &manifest.replace("\"schema_version\": ", "\"schema_version\": 9"));
    place.refuses(&["report", "a"], &["schema version 9"]);
    place.write("b/errors.parquet", "not parquet");
    place.refuses(&["report", "b"], &["errors.parquet", "it is not the file of this run"]);
}

const LOOKUP: &str = "id,borough\n1,North\n2,North\n3,South\n4,Unknown\n";

/// Records that are counted, in both kinds of file.
const RECORDS: [&str; 2] = ["records.parquet", "records.csv"];

/// The tiny config with records and a table to look their keys up in.
fn place_of_records() -> Place {
    let place = tiny();
    place.write("lookup.csv", LOOKUP);
    let keys = [Some(3i64), Some(1), Some(3), None, Some(4), Some(3)];
    write_parquet(&place.path("records.parquet"), &keys);
    place.write("records.csv", "pu,fare\n3,1.0\n1,2.0\n3,0.5\n,1.0\n4,9.0\n3,1.0\n");
    place
}

/// What counts `records` into `out`.
fn aggregate<'a>(records: &'a str, out: &'a str) -> Vec<&'a str> {
    let arguments = ["aggregate", records, "--key", "pu", "--lookup", "lookup.csv", "--lookup-key", "id"];
    let more = ["--exclude", "borough=Unknown", "--count", "trips", "--out", out];
    [&arguments[..], &more].concat()
}

#[test]
fn aggregate_counts_parquet_and_csv_alike() {
    let place = place_of_records();
    for records in RECORDS {
        let output = place.command(&aggregate(records, "out.csv")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(
            String::from_utf8_lossy(&output.stderr).contains("4 of 6 records (1 excluded, 1 without a key)")
        );
        let table = std::fs::read_to_string(place.path("out.csv")).unwrap();
        assert_eq!(table, "id,borough,trips\n1,North,1\n2,North,0\n3,South,3\n");
        std::fs::remove_file(place.path("out.csv")).unwrap();
    }
}

#[test]
fn what_was_counted_is_never_overwritten() {
    let place = place_of_records();
    for records in RECORDS {
        let out = format!("{records}.out.csv");
        place.prints(&aggregate(records, &out));
        place.refuses(&aggregate(records, &out), &[&out, "cannot create"]);
    }
}

#[test]
fn a_config_reads_what_was_counted() {
    let place = place_of_records();
    for records in RECORDS {
        let out = format!("{records}.out.csv");
        place.prints(&aggregate(records, &out));
        let sets = [
            format!("data.table={out}"),
            "data.levels=[\"borough\", \"id\"]".into(),
            "data.count=trips".into(),
        ];
        place
            .command(&["plan", "config.toml", "--set", &sets[0], "--set", &sets[1], "--set", &sets[2]])
            .assert()
            .success();
    }
}

/// Its keys can, one by one.
#[test]
fn a_table_of_a_config_cannot_be_set() {
    let place = place_of_records();
    for records in RECORDS {
        let out = format!("{records}.out.csv");
        place.prints(&aggregate(records, &out));
        let sets = [
            "--set",
            &format!("data={{ table = \"{out}\", levels = [\"borough\", \"id\"], count = \"trips\" }}"),
        ];
        place.refuses(&[&["plan", "config.toml"][..], &sets].concat(), &["`data` is a table"]);
    }
}

#[test]
fn mistakes_in_records_and_what_they_are_looked_up_in_are_named() {
    let place = place_of_records();
    let refuse = |more: &[&str], wanted: &[&str]| {
        let arguments = [
            "aggregate",
            "records.parquet",
            "--lookup",
            "lookup.csv",
            "--lookup-key",
            "id",
            "--out",
            "x.csv",
        ];
        place.refuses(&[&arguments[..], more].concat(), wanted);
        assert!(!place.path("x.csv").exists());
    };
    refuse(&["--key", "nokey"], &["records.parquet", "no column `nokey`", "pu"]);
    refuse(&["--key", "fare"], &["records have `fare` = `1.5`", "does not list"]);
    refuse(&["--key", "pu", "--exclude", "borough=Nowhere"], &["nothing to exclude"]);
    refuse(&["--key", "pu", "--exclude", "borough"], &["want COLUMN=VALUE"]);
    place.write("lookup.csv", "id,borough\n1,North\n3,South\n");
    refuse(&["--key", "pu"], &["1 records have `pu` = `4`", "does not list"]);
    place.write("lookup.csv", "id,borough\n1,North\n1,South\n");
    refuse(&["--key", "pu"], &["line 3", "duplicated"]);
    place.write("lookup.csv", LOOKUP);
    place.write("records.parquet", "PAR1 and then nothing");
    refuse(&["--key", "pu"], &["records.parquet", "not a readable parquet file"]);
}

fn write_parquet(path: &Path, keys: &[Option<i64>]) {
    use congenial::table::{Field, Kind, Value};
    let fields = vec![Field { optional: true, ..Field::new("pu", Kind::I64) }, Field::new("fare", Kind::F64)];
    let mut writer = Writer::new(std::fs::File::create(path).unwrap(), fields, &[]).unwrap();
    for key in keys {
        let columns = writer.row().unwrap();
        key.put(&mut columns[0]);
        1.5f64.put(&mut columns[1]);
    }
    writer.finish().unwrap();
}

/// The tiny config with another grid.
fn with_grid(grid: &str) -> String {
    let at = CONFIG.find("[[grid]]").unwrap();
    format!("{}{grid}", &CONFIG[..at])
}

/// The cells of a plan with a grid, as they are listed.
fn listed(place: &Place, grid: &str) -> Vec<serde_json::Value> {
    place.write("grid.toml", &with_grid(grid));
    let plan: serde_json::Value =
        serde_json::from_str(&place.prints(&["plan", "grid.toml", "--json"])).unwrap();
    plan["cells"].as_array().unwrap().clone()
}

/// Two values of each of three axes.
const AXES: &str =
    "[[grid]]\nepsilon = [0.5, 1.0]\nsensitivity = [1, 2]\nlaw = \"laplace\"\nmethod = [\"exact\", \"l2\"]\n";

#[test]
fn axes_that_are_zipped_go_together() {
    let place = tiny();
    let cells = |grid: &str| -> Vec<(f64, f64, String)> {
        let text = |cell: &serde_json::Value, field: &str| cell[field].as_str().unwrap().to_owned();
        let number = |cell: &serde_json::Value, field: &str| cell[field].as_f64().unwrap();
        let words = |cell| (text(cell, "method") + " " + &text(cell, "options")).trim_end().to_owned();
        let cells = listed(&place, grid);
        cells.iter().map(|cell| (number(cell, "epsilon"), number(cell, "sensitivity"), words(cell))).collect()
    };
    assert_eq!(cells(AXES).len(), 8);
    let of = |zip: &str| cells(&format!("{AXES}zip = {zip}\n"));
    let cell = |epsilon, sensitivity, method: &str| (epsilon, sensitivity, method.to_owned());
    assert_eq!(
        of("[\"epsilon\", \"sensitivity\"]"),
        [cell(0.5, 1.0, "exact"), cell(0.5, 1.0, "l2"), cell(1.0, 2.0, "exact"), cell(1.0, 2.0, "l2")]
    );
    assert_eq!(
        of("[[\"method\", \"epsilon\", \"sensitivity\"]]"),
        [cell(0.5, 1.0, "exact"), cell(1.0, 2.0, "l2")]
    );
}

#[test]
fn a_law_without_a_delta_takes_no_part_in_what_goes_with_it() {
    let place = tiny();
    let cells = |grid: &str| listed(&place, grid);
    let gaussian = "[[grid]]\nepsilon = [0.5, 1.0]\ndelta = [1e-5, 1e-6]\nlaw = [\"laplace\", \"gaussian\"]\nmethod = \"l2\"\n";
    assert_eq!(cells(gaussian).len(), 2 + 4);
    assert_eq!(cells(&format!("{gaussian}zip = [\"epsilon\", \"delta\"]\n")).len(), 2 + 2);
}

#[test]
fn cells_have_the_same_keys_whether_axes_are_zipped_or_not() {
    let place = tiny();
    let keys = |grid: &str| {
        let key = |cell: &serde_json::Value| cell["cell"].as_str().unwrap().to_owned();
        listed(&place, grid).iter().map(key).collect::<Vec<_>>()
    };
    let (all, some) = (keys(AXES), keys(&format!("{AXES}zip = [\"epsilon\", \"sensitivity\"]\n")));
    assert!(some.iter().all(|key| all.contains(key)));
}

#[test]
fn mistakes_in_a_zip_name_the_axes() {
    let place = tiny();
    for (zip, wanted) in [
        ("[\"epsilon\", \"sensitivty\"]", &["zip: got `sensitivty`", "sensitivity"][..]),
        ("[\"epsilon\"]", &["zip: got [\"epsilon\"]", "two axes or more"]),
        ("[\"epsilon\", \"law\"]", &["zip: epsilon has 2, law has 1", "as many values of each"]),
        ("[[\"epsilon\", \"method\"], [\"method\", \"sensitivity\"]]", &["zip: got `method` twice"]),
        ("[\"epsilon\", \"delta\"]", &["zip: got `delta`", "only Gaussian laws"]),
        ("[\"epsilon\", \"lag\"]", &["zip: got `lag`", "want one of"]),
    ] {
        place.write("wrong.toml", &with_grid(&format!("{AXES}zip = {zip}\n")));
        place.refuses(&["plan", "wrong.toml"], &[&["wrong.toml"], wanted].concat());
    }
}

#[test]
fn cells_are_left_out_by_options_delta_and_split() {
    let place = tiny();
    let cells = |grid: &str| listed(&place, grid);
    let chains = "[[grid]]\nepsilon = 1.0\nlaw = \"gaussian\"\ndelta = [1e-5, 1e-6]\nsplit = [\"each\", \"even\"]\n\
                  method = [\"l2\", { kind = \"line-gibbs\", sweeps = [5, 10, 20] }]\n";
    let left = |exclude: &str| cells(&format!("{chains}[[exclude]]\n{exclude}\n")).len();
    assert_eq!(cells(chains).len(), 16);
    assert_eq!(left("method = \"line-gibbs\""), 4);
    assert_eq!(left("method = { kind = \"line-gibbs\", sweeps = [5, 20] }"), 8);
    assert_eq!(left("method = { kind = \"line-gibbs\", sweeps = 5 }\ndelta = 1e-6"), 14);
    assert_eq!(left("split = \"even\"\ndelta = 1e-5"), 12);
}

/// The project's own configs plan.
#[test]
fn the_projects_configs_plan() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs");
    let place = tiny();
    let mut planned = 0;
    for study in std::fs::read_dir(&root).unwrap() {
        for config in std::fs::read_dir(study.unwrap().path()).unwrap() {
            let config = config.unwrap().path();
            // Their tables are made by scripts/country and scripts/state.
            if config.ends_with("country/full.toml") || config.ends_with("cube/state.toml") {
                continue;
            }
            let output = place.command(&["plan", config.to_str().unwrap()]).output().unwrap();
            let message = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{}: {message}", config.display());
            if config.starts_with(root.join("taxi")) {
                let table = config.ends_with("meeting-table-full.toml");
                let nodes = if table { "270 entries" } else { "270 nodes in 3 levels (263 leaves" };
                assert!(message.contains(nodes), "{message}");
            }
            planned += 1;
        }
    }
    assert!(planned >= 12);
}

/// Numbers of a seed never change unless on purpose: the whole long table of the tiny config.
#[test]
fn the_tiny_table_is_as_it_was() {
    let place = tiny();
    run(&place, "out", &[]);
    let output = place.command(&["report", "out", "--format", "csv"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    // Ours only, to 10 digits: sums in another order may change the last ones.
    let lines: Vec<String> = text
        .lines()
        .map(|line| {
            line.split(',')
                .map(|field| match field.parse::<f64>() {
                    Ok(x) if field.contains('.') => format!("{x:.9e}"),
                    _ => field.to_owned(),
                })
                .collect::<Vec<_>>()
                .join(",")
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn without_the_data_a_config_can_be_checked_and_nothing_else() {
    let place = tiny();
    std::fs::remove_file(place.path("counts.csv")).unwrap();
    assert!(place.prints(&["check", "config.toml"]).contains("config.toml: fine (release"));
    place.refuses(&["plan", "config.toml"], &["counts.csv"]);
    place.refuses(&["verify", "config.toml"], &["counts.csv"]);
    place.refuses(&["check", "config.toml", "--set", "replicates=0"], &["replicates: got 0"]);
}

#[test]
fn a_plan_lists_the_cells_and_the_folder_of_its_run() {
    let place = tiny();
    let plan: serde_json::Value =
        serde_json::from_str(&place.prints(&["plan", "config.toml", "--json"])).unwrap();
    let cells = plan["cells"].as_array().unwrap();
    run(&place, "out", &[]);
    let rows: Vec<CellRow> = place.rows("out");
    for (cell, row) in cells.iter().zip(&rows) {
        assert_eq!(cell["cell"], row.cell.to_string());
        assert_eq!(cell["method"], row.method.name());
        assert_eq!(cell["epsilon"].as_f64(), Some(row.epsilon));
    }
    assert_eq!(plan["folder"], format!("results/tiny-{}", &plan["config_hash"].as_str().unwrap()[..8]));
}

#[test]
fn a_plan_measures_time_and_leaves_nothing_behind() {
    let place = tiny();
    let plan: serde_json::Value =
        serde_json::from_str(&place.prints(&["plan", "config.toml", "--json"])).unwrap();
    let cells = plan["cells"].as_array().unwrap();
    let before = std::fs::read_dir(place.path(".")).unwrap().count();
    let timed: serde_json::Value =
        serde_json::from_str(&place.prints(&["plan", "config.toml", "--time", "--json"])).unwrap();
    let measured = timed["measured"]["cells"].as_array().unwrap();
    assert_eq!(measured.len(), cells.len());
    assert!(measured.iter().all(|cell| cell["replicate"].as_f64() > Some(0.0) && cell["error"].is_null()));
    assert!(timed["measured"]["seconds"].as_f64() > Some(0.0));
    assert!(place.prints(&["plan", "config.toml", "--time"]).contains(" time "));
    assert_eq!(std::fs::read_dir(place.path(".")).unwrap().count(), before);
}

#[test]
fn the_schema_lists_the_laws() {
    let place = tiny();
    let schema: serde_json::Value = serde_json::from_str(&place.prints(&["schema"])).unwrap();
    assert!(schema["$defs"]["LawName"]["enum"].as_array().unwrap().contains(&"laplace".into()));
}

#[test]
fn the_manual_is_printed_and_written() {
    let place = tiny();
    assert!(place.prints(&["man"]).contains("congenial\\-verify(1)"));
    place.prints(&["man", "--out", "man"]);
    assert!(std::fs::read_to_string(place.path("man/congenial-run.1")).unwrap().contains("resume"));
}

#[test]
fn completions_are_printed() {
    let place = tiny();
    assert!(place.prints(&["completions", "bash"]).contains("congenial"));
}

#[test]
fn every_method_of_the_tiny_config_passes_verify() {
    let place = tiny();
    // Chains of ten sweeps, or 2,000 steps, are too short for the systems of computed laws.
    let steps = "grid.1.method={ kind = \"hierarchical-mh\", steps = 40000, nonnegative = [false, true] }";
    let long = "grid.0.method=[\"exact\", \"l2\", \"topdown\", { kind = \"line-gibbs\", nonnegative = [false, true] }]";
    let verified = place.prints(&["verify", "config.toml", "--set", long, "--set", steps]);
    assert!(
        verified.contains("kept") && verified.contains("fine") && !verified.contains("WRONG"),
        "{verified}"
    );
}

/// A chain that is far from its law after its steps does not pass.
#[test]
fn verify_sees_a_chain_that_is_too_short() {
    let place = tiny();
    let set = "grid.0.method={ kind = \"hierarchical-mh\", steps = 20, proposal-scale = 0.1 }";
    let sets = ["--set", set, "--set", "grid.0.law=\"double-geometric\"", "--set", "grid.0.epsilon=0.02"];
    let output = place.command(&[&["verify", "config.toml"], &sets[..]].concat()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && text.contains("WRONG, or too few steps"), "{text}{message}");
    assert!(message.contains("did not pass"), "{message}");
}

/// Real noise on a tree in which families nearly cancel: no release is said to violate its invariant.
#[test]
fn families_that_cancel_are_no_violation() {
    let mut table = "p,l,n\n".to_owned();
    for p in 0..500 {
        table += &format!("p{p},a{p},3\np{p},b{p},2\n");
    }
    let config = "name = \"cancel\"\nseed = 1\nreplicates = 100\n[data]\ntable = \"table.csv\"\nlevels = [\"p\", \"l\"]\ncount = \"n\"\n\
                  [[grid]]\nepsilon = 0.7\nlaw = [\"laplace\", \"gaussian\"]\ndelta = 1e-6\nmethod = [\"exact\", \"l2\"]\n";
    let place = Place::new(&[("config.toml", config), ("table.csv", &table)]);
    place.prints(&["run", "config.toml", "--out", "out"]);
    assert!(place.failures("out").is_empty());
}

fn place_of_layout() -> Place {
    Place::new(&[("layout.csv", "a,b,blocks,people\nx,p,2,0\nx,q,0,5\ny,p,3,1e3\n")])
}

/// What simulates the layout into `out`.
fn simulate<'a>(more: &[&'a str], out: &'a str) -> Vec<&'a str> {
    [&["simulate", "layout.csv", "--size", "1", "--seed", "7", "--out", out], more].concat()
}

/// So many leaves each as a column says, whose means are another column.
const EXPANDED: [&str; 6] = ["--expand", "blocks", "--leaf", "block", "--mean", "people"];

/// The rows of a layout that was expanded.
fn expanded() -> Vec<Vec<String>> {
    let place = place_of_layout();
    place.command(&simulate(&EXPANDED, "out.csv")).assert().success();
    let text = std::fs::read_to_string(place.path("out.csv")).unwrap();
    text.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

/// So many rows each, numbered.
#[test]
fn simulate_expands_a_layout() {
    let rows = expanded();
    assert_eq!(rows[0], ["a", "b", "people", "block", "count"]);
    let leaves: Vec<&[String]> = rows[1..].iter().map(|row| &row[..4]).collect();
    let wanted = [
        ["x", "p", "0", "1"],
        ["x", "p", "0", "2"],
        ["y", "p", "1e3", "1"],
        ["y", "p", "1e3", "2"],
        ["y", "p", "1e3", "3"],
    ];
    assert_eq!(leaves, wanted);
}

#[test]
fn means_of_simulated_counts_may_differ_by_row() {
    let rows = expanded();
    let counts: Vec<i64> = rows[1..].iter().map(|row| row[4].parse().unwrap()).collect();
    assert!(counts[..2] == [0, 0] && counts[2..].iter().all(|n| *n > 0), "{counts:?}");
}

#[test]
fn simulate_writes_the_same_into_either_kind_of_file() {
    let place = place_of_layout();
    let digest = |table: &str| {
        let config = format!(
            "name = \"x\"\nseed = 1\nreplicates = 1\n[data]\ntable = \"{table}\"\nlevels = [\"a\", \"b\", \"block\"]\n\
             count = \"count\"\n[[grid]]\nepsilon = 1\nlaw = \"laplace\"\nmethod = \"l2\"\n"
        );
        place.write("config.toml", &config);
        let plan = place.prints(&["plan", "config.toml", "--json"]);
        plan.lines().find(|line| line.contains("data_digest")).unwrap().to_owned()
    };
    for out in ["out.csv", "out.parquet"] {
        place.command(&simulate(&EXPANDED, out)).assert().success();
    }
    assert_eq!(digest("out.csv"), digest("out.parquet"));
}

#[test]
fn simulate_with_a_limit_writes_the_first_rows() {
    let place = place_of_layout();
    place.command(&simulate(&EXPANDED, "out.csv")).assert().success();
    let text = std::fs::read_to_string(place.path("out.csv")).unwrap();
    let few = [&EXPANDED[..], &["--limit", "4"]].concat();
    place.command(&simulate(&few, "few.csv")).assert().success();
    assert_eq!(
        std::fs::read_to_string(place.path("few.csv")).unwrap(),
        text.lines().take(5).map(|line| format!("{line}\n")).collect::<String>()
    );
}

const PERSONS: &str = "\
[[class]]
leaves = 1.0
mean = 40
size = 3
attributes = { sex = { f = 3, m = 1 }, home = { house = 1 } }
[[class]]
leaves = 0.5
mean = 7
attributes = { sex = { f = 1, m = 0 }, home = { barracks = 2, ship = 2 } }
";

/// Persons of two classes in 4,000 leaves: their numbers, shares and the leaves that have any are within 5 standard errors of what the
/// classes say. Every leaf is in the list, and only rows that are asked for.
#[test]
fn persons_are_those_of_their_classes() {
    let layout = "state,group,blocks\n10,a,2000\n10,b,2000\n11,c,5\n";
    let place = Place::new(&[("layout.csv", layout), ("persons.toml", PERSONS)]);
    fn run<'a>(more: &[&'a str]) -> Vec<&'a str> {
        let layout = ["simulate", "layout.csv", "--expand", "blocks", "--leaf", "block"];
        [&layout[..], &["--seed", "7", "--persons", "persons.toml"], more].concat()
    }
    let arguments = run(&["--only", "state=10", "--areas", "areas.csv", "--out", "cells.parquet"]);
    let told = place.command(&arguments).output().unwrap();
    let told = String::from_utf8_lossy(&told.stderr).into_owned();
    assert!(told.contains("4,000 leaves"), "{told}");
    let list = std::fs::read_to_string(place.path("areas.csv")).unwrap();
    assert!(list.starts_with("state,group,block\n10,a,1\n") && list.lines().count() == 4001);
    let cells = CsvTable::read(&place.path("cells.parquet")).unwrap();
    assert_eq!(cells.columns, ["state", "group", "block", "home", "sex", "count"]);
    let mut counts: HashMap<(&str, &str), Vec<f64>> = HashMap::new();
    for row in 0..cells.len() {
        let count: f64 = cells.text(row, 5).parse().unwrap();
        assert!(count > 0.0);
        counts.entry((cells.text(row, 3), cells.text(row, 4))).or_default().push(count);
    }
    let sum = |home: &str, sex: &str| counts.get(&(home, sex)).map_or(0.0, |own| own.iter().sum::<f64>());
    let near =
        |got: f64, want: f64, error: f64| assert!((got - want).abs() < 5.0 * error, "{got} {want} {error}");
    // The sum of 4,000 negative binomial counts with the mean 40 and the variance 40 + 40²/3.
    let house = sum("house", "f") + sum("house", "m");
    near(house, 160_000.0, (4000.0 * (40.0 + 1600.0 / 3.0f64)).sqrt());
    near(sum("house", "f") / house, 0.75, (0.75 * 0.25 / house).sqrt());
    let (barracks, ship) = (sum("barracks", "f"), sum("ship", "f"));
    // Half of the leaves, with the mean 7 and the variance 7 + 49.
    near(barracks + ship, 14_000.0, (4000.0 * (0.5 * 56.0 + 0.25 * 49.0f64)).sqrt());
    near(barracks / (barracks + ship), 0.5, 0.5 / (barracks + ship).sqrt());
    assert_eq!((sum("barracks", "m"), counts.len()), (0.0, 4));
    place.refuses(
        &run(&["--only", "state=12", "--areas", "a.csv", "--out", "b.csv"]),
        &["layout.csv", "no row has state=12"],
    );
    place.refuses(
        &run(&["--only", "state", "--areas", "a.csv", "--out", "b.csv"]),
        &["--only: got state, want COLUMN=VALUE"],
    );
    place.refuses(&run(&["--out", "b.csv"]), &["--areas"]);
    let refused = |from: &str, to: &str, wanted: &[&str]| {
        assert!(PERSONS.contains(from), "{from}");
        place.write("persons.toml", &PERSONS.replacen(from, to, 1));
        place.refuses(&run(&["--areas", "a.csv", "--out", "b.csv"]), wanted);
        assert!(!place.path("a.csv").exists() && !place.path("b.csv").exists());
    };
    refused("leaves = 0.5", "leaves = 1.5", &["persons.toml: class 2: leaves = 1.5, want a share in (0, 1]"]);
    refused("mean = 40", "mean = 0", &["class 1: mean = 0, size = 3: want a mean in"]);
    refused("f = 1, m = 0", "f = -1, m = 0", &["class 2: sex.f = -1, want a weight >= 0"]);
    refused("f = 1, m = 0", "f = 0, m = 0", &["class 2: sex: want a weight above 0"]);
    refused(
        "home = { house = 1 }",
        "house = { house = 1 }",
        &["class 2: attributes home, sex, want those of the first class"],
    );
    refused("size = 3", "sizes = 3", &["persons.toml", "sizes"]);
    place.write("persons.toml", "class = []\n");
    place.refuses(&run(&["--areas", "a.csv", "--out", "b.csv"]), &["no [[class]], want one at least"]);
}

#[test]
fn mistakes_in_a_layout_name_the_line_the_value_and_what_was_wanted() {
    let place = place_of_layout();
    let refuse = |more: &[&str], wanted: &[&str]| {
        place.refuses(&simulate(more, "x.csv"), wanted);
        assert!(!place.path("x.csv").exists());
    };
    refuse(&["--expand", "none", "--mean", "1"], &["no column `none`"]);
    refuse(&["--expand", "a", "--mean", "1"], &["line 2", "`a` = `x`, want a number of leaves"]);
    refuse(&["--mean", "b"], &["line 2", "`b` = `p`, want a number >= 0"]);
    refuse(&["--mean=-1"], &["--mean: got -1, want a number >= 0"]);
    refuse(&["--mean", "often"], &["--mean: got often"]);
    refuse(&["--probability", "1"], &["--probability"]);
    refuse(&["--expand", "blocks", "--leaf", "a", "--mean", "1"], &["a column `a` already"]);
}

#[test]
fn simulate_overwrites_nothing() {
    let place = place_of_layout();
    place.command(&simulate(&EXPANDED, "out.csv")).assert().success();
    place.refuses(&simulate(&["--mean", "1"], "out.csv"), &["cannot create"]);
}

/// What `init` guesses is a config that runs as it is, whatever the columns are called.
#[test]
fn a_guessed_config_runs() {
    let hostile = "\"a \"\"b\"\" = [1]\",c\x1b[31md,n\nx,1,5\nx,2,0\ny,3,7\ny,4,1\n";
    let large: String = (0..30).map(|i| format!("r{},c{},{i}\n", i / 6, i % 6)).collect();
    let tables = [
        (
            "tree",
            "state,fips,county,population\nA,1,x,1\nA,1,y,2\nB,2,z,3\nB,2,w,3\n",
            "levels = [\"state\", \"county\"]",
        ),
        ("margins", "age,sex,n\n1,f,0\n1,m,3\n2,f,1\n2,m,9\n", "kind = \"margins\""),
        ("total", "age,sex,n\n1,f,0\n1,m,3\n2,f,1\n2,m,9\n3,f,7\n", "kind = \"total\""),
        ("large", &format!("row,column,count\n{large}"), "line-gibbs"),
        ("one", "name,count\na,1\nb,2\n", "levels = [\"name\"]"),
        ("hostile", hostile, "levels"),
    ];
    for (name, table, wanted) in tables {
        let place = Place::new(&[("counts.csv", table)]);
        let config = place.prints(&["init", "counts.csv"]);
        assert!(config.contains(wanted), "{name}: {config}");
        assert!(!config.contains('\x1b'), "{name}");
        place.write("mine.toml", &config);
        place.prints(&["check", "mine.toml"]);
        place.prints(&["run", "mine.toml", "--set", "replicates=5", "--out", "out"]);
    }
    let place = Place::new(&[("words.csv", "a,b\nx,y\n")]);
    place.refuses(&["init", "words.csv"], &["words.csv", "no column of integers >= 0"]);
    place.refuses(&["init", "none.csv"], &["none.csv"]);
}

#[test]
fn manual_pages_of_verbs() {
    let place = Place::new(&[]);
    assert!(place.prints(&["man", "run"]).contains("congenial\\-run"));
    place.refuses(&["man", "runn"], &["man: got `runn`", "did you mean `run`?"]);
}
