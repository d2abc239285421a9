//! What runs away is told before it begins, and refused where it cannot end; what takes too much memory ends with a message.
#![allow(clippy::disallowed_methods)] // Tests open files of their own.

use crate::place::{NONNEGATIVE, Place, TABLE, TABLE_DATA, TREE, TREE_DATA, partition};
use std::process::{Command, Stdio};
use std::time::Duration;

const HEAD: &str = "name = \"c\"\nseed = 1\nreplicates = 20\n";
const GRID: &str =
    "[[grid]]\nepsilon = 1.0\nlaw = \"double-geometric\"\nmethod = { kind = \"line-gibbs\", sweeps = 20 }\n";

fn place() -> Place {
    let tree = format!("{HEAD}{TREE_DATA}{GRID}");
    let table = format!("{HEAD}{TABLE_DATA}{}{NONNEGATIVE}{GRID}", partition(&["row"]));
    Place::new(&[("tree.csv", TREE), ("table.csv", TABLE), ("tree.toml", &tree), ("table.toml", &table)])
}

fn names(place: &Place) -> Vec<String> {
    let entries = std::fs::read_dir(place.path(".")).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// More rows than the disk has room for, and states of a chain that do not fit in memory: refused before anything is there.
#[test]
fn what_does_not_fit_is_refused() {
    let place = place();
    let before = names(&place);
    for (config, set, wanted) in [
        ("tree.toml", "replicates=1000000000000000", "rows take at least"),
        ("table.toml", "grid.records=1000000000000", "drawn at the same time take at least"),
        ("table.toml", "grid.records=1000000000000", "the memory has"),
    ] {
        let with = |arguments: &[&str]| {
            let set = if set.starts_with("grid") {
                vec!["--set", set, "--set", "grid.method.sweeps=2000000000000"]
            } else {
                vec!["--set", set]
            };
            place.refuses(&[arguments, &set].concat(), &[wanted, "left: ask for fewer"]);
        };
        with(&["run", config, "--out", "out"]);
        with(&["run", config, "--out", "out", "--shard", "1/2"]);
        with(&["submit", config, "--out", "out", "--engine", "slurm"]);
    }
    assert_eq!(names(&place), before);
    // The plan is printed, and then what is wrong with it.
    let plan =
        place.command(&["plan", "tree.toml", "--set", "replicates=1000000000000000"]).output().unwrap();
    let message = String::from_utf8_lossy(&plan.stderr);
    assert_eq!(plan.status.code(), Some(2), "{message}");
    assert!(String::from_utf8_lossy(&plan.stdout).contains("line-gibbs"));
    // A complete run takes nothing more, and what fits is told.
    let output = place.command(&["run", "tree.toml", "--out", "out"]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("60 rows and summaries"));
    let json: serde_json::Value =
        serde_json::from_str(&place.prints(&["plan", "tree.toml", "--json"])).unwrap();
    assert_eq!(json["estimate"]["rows"], 60.0);
}

/// What will not end in a lifetime says so before it begins.
#[test]
fn long_runs_say_how_long() {
    let place = place();
    for arguments in [
        &["run", "tree.toml", "--out", "out"][..],
        &["submit", "tree.toml", "--out", "out", "--engine", "parallel"],
        &["verify", "tree.toml"],
    ] {
        let log = place.path("log");
        let mut child = Command::new(env!("CARGO_BIN_EXE_congenial"))
            .current_dir(place.path("."))
            .args(arguments)
            .args(["--set", "grid.method.sweeps=1000000000000000000"])
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let said = || std::fs::read_to_string(&log).unwrap().contains("; roughly centuries, ");
        for _ in 0..2000 {
            if said() || child.try_wait().unwrap().is_some() {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(child.try_wait().unwrap().is_none(), "{arguments:?}: it ended");
        assert!(said(), "{arguments:?}: {}", std::fs::read_to_string(&log).unwrap());
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

/// Where the system gives no more memory the process ends with a message and an exit code of the table.
#[test]
fn no_memory_is_a_message() {
    let place = place();
    let rows: String = (0..300_000).map(|i| format!("name of a rather long cell {i},group,{i}\n")).collect();
    place.write("long.csv", &format!("{}\n{rows}", TREE.lines().next().unwrap()));
    place.write("long.toml", &format!("{HEAD}{}{GRID}", TREE_DATA.replace("tree.csv", "long.csv")));
    let limited = |kilobytes: u32| {
        let script = format!("ulimit -v {kilobytes}; exec \"$@\"");
        let mut shell = Command::new("sh");
        shell.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_congenial")]).args(["plan", "long.toml"]);
        shell.current_dir(place.path(".")).output().unwrap()
    };
    assert!(limited(1_000_000).status.success());
    let output = limited(40_000);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("no memory is left: ") && message.contains("--resume goes on"), "{message}");
}

/// The memory of a report is that of a row, and of the cells: 20,000 of them, in every format. What a reader gets first
/// is a screen, and the page is no burden.
#[test]
fn many_cells_fit_in_little_memory() {
    let place = place();
    let list = |n: u32| {
        (1..=n).map(|i| format!("{:.3}", 1.0 + f64::from(i) / 1000.0)).collect::<Vec<_>>().join(", ")
    };
    let grid = format!(
        "[[grid]]\nepsilon = [{}]\nsensitivity = [{}]\nlaw = \"laplace\"\nmethod = \"l2\"\nreplicates = 1\n",
        list(200),
        list(100)
    );
    place.write("many.toml", &format!("name = \"c\"\nseed = 1\n{TREE_DATA}{grid}"));
    for arguments in [
        &["run", "many.toml", "--out", "many"][..],
        &["report", "many", "--format", "csv"],
        &["report", "many", "--format", "json"],
        &["report", "many", "--out", "tables"],
        &["compare", "many", "many", "--identical"],
    ] {
        let mut shell = Command::new("sh");
        shell.args(["-c", "ulimit -v 300000; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_congenial")]);
        let output = shell.args(arguments).current_dir(place.path(".")).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {message}");
        let lines = String::from_utf8_lossy(&output.stdout).lines().count();
        assert!(arguments[0] != "run" || lines < 120, "{lines}");
    }
    assert!(std::fs::metadata(place.path("tables/report.html")).unwrap().len() < 5_000_000);
    let rows = std::fs::read_to_string(place.path("tables/l1_error.csv")).unwrap().lines().count();
    assert_eq!(rows, 1 + 3 * 20_000);
}

/// A row without an end is no row: a quote that is not closed, or a file of zeros.
#[test]
fn rows_have_an_end() {
    let place = place();
    let header = TREE.lines().next().unwrap();
    place.write("open.csv", &format!("{header}\na,\"b,1\n{}", "c,d,2\n".repeat(4_000_000)));
    std::fs::File::create(place.path("zeros.csv")).unwrap().set_len(3 << 30).unwrap();
    for (file, why) in [("open.csv", "a row has more than 16 MiB"), ("zeros.csv", "it has bytes of zeros")] {
        place.write("other.toml", &format!("{HEAD}{}{GRID}", TREE_DATA.replace("tree.csv", file)));
        place.refuses(&["plan", "other.toml"], &[file, why]);
        place.write(
            "matrix.toml",
            &format!("{HEAD}{TABLE_DATA}[[invariant]]\nkind = \"matrix\"\ntable = \"{file}\"\n{GRID}"),
        );
        place.refuses(&["plan", "matrix.toml"], &[file]);
    }
    let zone = header.split(',').next().unwrap();
    let aggregate = [
        "aggregate",
        "open.csv",
        "--key",
        zone,
        "--lookup",
        "tree.csv",
        "--count",
        "n",
        "--lookup-key",
        zone,
        "--out",
        "new.csv",
    ];
    place.refuses(&aggregate, &["open.csv", "a row has more than 16 MiB"]);
}

/// A release beside ours is of our entries.
#[test]
fn what_stands_beside_is_known() {
    let place = place();
    let config = format!(
        "{HEAD}{TABLE_DATA}{}{NONNEGATIVE}{GRID}[report.beside]\ntable = \"theirs.csv\"\nconfidential = \
            \"c\"\nreleased = \"r\"\nnote = \"theirs\"\n",
        partition(&["row"])
    );
    place.write("config.toml", &config);
    let header = TABLE.lines().next().unwrap();
    let mut columns = header.split(',');
    let (a, b) = (columns.next().unwrap(), columns.next().unwrap());
    let first = TABLE.lines().nth(1).unwrap().split(',').take(2).collect::<Vec<_>>().join(",");
    place.write("theirs.csv", &format!("{a},{b},c,r\nnobody,knows,1,2\n"));
    place.refuses(
        &["run", "config.toml", "--out", "out"],
        &["theirs.csv", "none of its 1 entries is one of ours", "the first is"],
    );
    assert!(!place.path("out.partial").exists());
    place.write("theirs.csv", &format!("{a},{b},c,r\n{first},1,2\nnobody,knows,1,2\n"));
    let output = place.command(&["run", "config.toml", "--out", "out"]).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && message.contains("1 of 2 entries are none of ours"), "{message}");
}

/// Figures show entries, and panels of them, that are there.
#[test]
fn what_figures_show_is_known() {
    let place = place();
    let refuses = |data: &str, report: &str, wanted: &[&str]| {
        place.write("config.toml", &format!("{HEAD}{data}{GRID}[report]\n{report}\n"));
        place.refuses(&["run", "config.toml", "--out", "out"], wanted);
        assert!(!place.path("out.partial").exists());
    };
    let table = format!("{TABLE_DATA}{}", partition(&["row"]));
    refuses(
        &table,
        "boxes = [\"nobody\"]",
        &["report.boxes: got `nobody`", "want columns of `data.entry`, or []"],
    );
    refuses(
        &table,
        "boxes = [\"row\", \"row\"]",
        &["report.boxes: got `row` twice", "want every column once"],
    );
    refuses(
        &table,
        "traces = [\"a/x\", \"z/z\"]",
        &["report.traces: got `z/z`, want names of entries, like `a/x`"],
    );
    refuses(TREE_DATA, "boxes = []", &["report.boxes: not used", "only releases of a table take it"]);
    refuses(TREE_DATA, "traces = [\"a\"]", &["report.traces: not used", "only releases of a table take it"]);
    let slash = TABLE.replace("a,x,", "a/b,x,");
    place.write("table.csv", &slash);
    refuses(&table, "boxes = [\"row\"]", &["report.boxes: the entry `a/b/x` has a `/` in a value"]);
    let many: String = (0..30).map(|i| format!("r{i},x,1,0,5\nr{i},y,1,0,5\n")).collect();
    place.write("table.csv", &format!("{}\n{many}", TABLE.lines().next().unwrap()));
    refuses(
        &table,
        "boxes = [\"row\"]",
        &["report.boxes: got 30 panels and 60 entries, want at most 24 and 2000"],
    );
}
