//! Studies of tables under integer invariants, as a user runs them.
#![allow(clippy::disallowed_methods)] // Tests open files of their own.

use crate::place::{MARGINS, Place, TABLE, TABLE_DATA, large_table};
use congenial::privacy::ChangeKind;
use congenial::study::cells::{CellRow, StatementRow};
use congenial::study::meeting::{DivergenceRow, DivergenceTimesRow, MarginalRow, PairRow, TimesRow};
use congenial::study::release::{EntryRow, ErrorRow, LevelRow};
use congenial::table::{Data, Reader};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::LazyLock;

static CONFIG: LazyLock<String> = LazyLock::new(|| {
    let grid = r#"
[[grid]]
epsilon = [0.25, 0.5]
law = ["l1", "l2", "double-geometric"]
method = ["exact", { kind = "line-gibbs", sweeps = 20 },
    { kind = "lattice-metropolis", steps = 1000, a = 0.3, basis = ["smith", "reduced"] }]

[[grid]]
epsilon = 0.3
delta = 1e-4
law = ["generalized-gaussian", "discrete-gaussian"]
method = ["exact", "klein", "line-gibbs", "lattice-metropolis", "l2", "unconstrained"]
replicates = 4
records = 20
"#;
    format!("name = \"table\"\nseed = 3\nreplicates = 30\nkeep-draws = true\n{TABLE_DATA}{MARGINS}{grid}")
});

static MEETING: LazyLock<String> = LazyLock::new(|| {
    let grid = r#"
[[invariant]]
kind = "subsets"
columns = ["in_1", "in_2"]

[[grid]]
epsilon = 0.5
law = ["l1", "l2"]
method = ["line-gibbs", { kind = "lattice-metropolis", a = 0.3 }]
lag = [50, 100]
max-steps = 100_000
marginal-chains = 50
marginal-steps = 100
harmonized-groups = 8
harmonized-chains = 8
"#;
    format!("name = \"meeting\"\nstudy = \"meeting\"\nseed = 4\nreplicates = 20\n{TABLE_DATA}{grid}")
});

fn place() -> Place {
    Place::new(&[("table.csv", TABLE), ("config.toml", &CONFIG), ("meeting.toml", &MEETING)])
}

#[test]
fn pages_of_a_table_have_its_entries_and_tails() {
    let text = place().pages("config.toml", "out");
    assert!(text.contains("Errors by entry of table: exact, l1 noise"), "{text}");
    assert!(text.contains("Tail of table"), "{text}");
}

/// A place with a run of the config.
fn released() -> Place {
    let place = place();
    place.prints(&["run", "config.toml", "--out", "out"]);
    place
}

#[test]
fn every_release_of_a_table_leaves_a_row() {
    let place = released();
    assert!(place.failures("out").is_empty());
    let rows: Vec<ErrorRow> = place.rows("out");
    assert_eq!(rows.len(), 2 * 3 * 4 * 30 + 2 * 6 * 4);
}

/// In row-major order; chains with records have R-hat, the others not.
#[test]
fn every_entry_of_a_table_leaves_a_row() {
    let entries: Vec<EntryRow> = released().rows("out");
    assert_eq!(entries.len(), (24 + 12) * 6);
    assert_eq!(entries[0].name, "a/x");
    assert_eq!((entries[0].count, entries[0].draws), (5, 30));
    let recorded = entries.iter().filter(|row| row.draws == 80);
    assert!(recorded.clone().count() > 0 && recorded.clone().all(|row| row.rhat.is_some()));
}

/// The draws of the cell of a row.
fn draws(place: &Place, row: &EntryRow) -> Reader {
    let path = place.path("out").join("cells").join(row.cell.to_string()).join("draws.parquet");
    Reader::open(&path).unwrap()
}

/// Chains, iterations and draws stand before the entries.
#[test]
fn draws_are_what_posterior_and_arviz_ask_for() {
    let place = released();
    for row in place.rows::<EntryRow>("out").iter().filter(|row| row.name == "a/x") {
        let reader = draws(&place, row);
        let names: Vec<&str> = reader.fields().iter().map(|field| field.name.as_str()).collect();
        assert_eq!(names, [".chain", ".iteration", ".draw", "a/x", "a/y", "b/x", "b/y", "c/x", "c/y"]);
        assert_eq!(reader.rows(), row.draws);
    }
}

#[test]
fn draws_of_a_table_keep_both_margins() {
    let place = released();
    let mut checked = 0;
    for (cell, row) in place.with_cells("out", |row: &EntryRow| row.cell) {
        if row.name != "a/x" || matches!(cell.method.name(), "l2" | "unconstrained") {
            continue;
        }
        let reader = draws(&place, &row);
        let names: Vec<&str> = reader.fields().iter().map(|field| field.name.as_str()).collect();
        let check = |columns: &[congenial::table::Values]| {
            let entry = |name: &str, i: usize| {
                let place = names.iter().position(|other| *other == name).unwrap();
                let Data::I64(values) = &columns[place].data else { panic!("integers") };
                values[i]
            };
            for i in 0..columns[0].len() {
                for pair in [["a/x", "a/y"], ["b/x", "b/y"], ["c/x", "c/y"]] {
                    assert_eq!(entry(pair[0], i) + entry(pair[1], i), 0);
                }
                assert_eq!(entry("a/x", i) + entry("b/x", i) + entry("c/x", i), 0);
            }
            Ok(true)
        };
        reader.groups(check).unwrap();
        checked += 1;
    }
    assert!(checked > 20);
}

#[test]
fn reports_of_a_table_have_its_entries() {
    let place = released();
    place.prints(&["report", "out", "--out", "tables"]);
    assert!(place.path("tables/entries.csv").exists());
}

#[test]
fn entries_do_not_depend_on_threads() {
    let place = released();
    place.prints(&["run", "config.toml", "--out", "one", "--threads", "1"]);
    assert_eq!(place.rows::<EntryRow>("out"), place.rows("one"));
}

#[test]
fn a_resolved_config_of_a_table_has_the_same_cells() {
    let place = released();
    place.prints(&["run", "out/config.resolved.toml", "--out", "again"]);
    assert_eq!(place.rows::<ErrorRow>("out").len(), place.rows::<ErrorRow>("again").len());
    let keys = |name: &str| {
        let mut keys: Vec<_> = place.rows(name).iter().map(|row: &EntryRow| row.cell).collect();
        keys.sort();
        keys
    };
    assert_eq!(keys("out"), keys("again"));
}

#[test]
fn meetings_leave_a_row_for_each_pair() {
    let place = place();
    let text = place.pages("meeting.toml", "out");
    assert!(text.contains("meeting: meeting times, l1 noise"), "{text}");
    assert!(text.contains("The bound lies above the distance at every t"), "{text}");
    assert!(place.failures("out").is_empty());
    let pairs: Vec<PairRow> = place.rows("out");
    assert_eq!(pairs.len(), 2 * 2 * 2 * 20);
    for pair in &pairs {
        let tau = pair.tau.expect("all meet");
        assert!(tau > pair.lag);
        assert_eq!(pair.steps, pair.lag + 2 * (tau - pair.lag));
        assert!(pair.moves <= pair.steps);
    }
    // 1, 3, 10, 32, 100, once for each law and kernel.
    assert_eq!(place.rows::<MarginalRow>("out").len(), 4 * 5);
    place.prints(&["run", "meeting.toml", "--out", "one", "--threads", "1"]);
    assert_eq!(pairs, place.rows("one"));
    assert_eq!(place.rows::<MarginalRow>("out"), place.rows::<MarginalRow>("one"));
    // Four divergences of each law and kernel, whatever the lags and the threads.
    let bounds: Vec<DivergenceRow> = place.rows("out");
    let times: Vec<DivergenceTimesRow> = place.rows("out");
    assert_eq!((bounds, times.len()), (place.rows("one"), 4 * 4));
    assert!(times.iter().all(|row| (row.met, row.groups, row.chains) == (8, 8, 8)), "{times:?}");
    assert_eq!(times, place.rows("one"));
    place.prints(&["run", "out/config.resolved.toml", "--out", "again"]);
    assert_eq!(times.len(), place.rows::<DivergenceTimesRow>("again").len());
    place.prints(&["report", "out", "--out", "tables"]);
    let csv = place.prints(&["report", "out", "--format", "csv"]);
    assert_eq!(std::fs::read_to_string(place.path("tables/tv_bound.csv")).unwrap(), csv);
    // Cut short: censored, and no bound is made of it.
    let sets = ["--set", "grid.max-steps=101", "--set", "grid.epsilon=0.05"];
    let text = place.prints(&[&["run", "meeting.toml", "--out", "cut"][..], &sets].concat());
    assert!(
        text.contains("pairs were cut short before they met") && text.contains("so there is no bound"),
        "{text}"
    );
    assert!(place.rows::<PairRow>("cut").iter().any(|pair| pair.tau.is_none()));
}

/// Each kind of invariant, alone and combined.
#[test]
fn every_kind_of_invariant_runs() {
    let place = place();
    place.write("a.csv", "1,1,1,0,0,0\n0,0,0,1,1,1\n2,2,2,2,2,2\n");
    let kinds = [
        "kind = \"total\"",
        "kind = \"partition\"\nby = \"row\"",
        "kind = \"partition\"\nby = [\"row\", \"in_1\"]",
        "kind = \"subsets\"\nsets = [[1, 2, 3], [3, 4]]",
        "kind = \"subsets\"\ncolumns = [\"in_1\", \"in_2\"]",
        "kind = \"hierarchy\"\nlevels = [\"row\", \"column\"]",
        "kind = \"matrix\"\nrows = [[1, 1, 0, 0, -1, 0]]\nvalues = [1]",
        "kind = \"matrix\"\ntable = \"a.csv\"",
    ];
    let margins = "kind = \"margins\"\nrows = \"row\"\ncolumns = \"column\"";
    for (i, kind) in kinds.iter().enumerate() {
        for (j, invariant) in
            [kind.to_string(), format!("{kind}\n[[invariant]]\nkind = \"total\"")].iter().enumerate()
        {
            let config = CONFIG.replace(margins, invariant);
            assert_ne!(config, *CONFIG);
            place.write("other.toml", &config);
            let out = format!("out-{i}-{j}");
            let arguments = ["run", "other.toml", "--out", &out, "--set", "grid.replicates=3"];
            let output = place.command(&arguments).output().unwrap();
            assert!(
                matches!(output.status.code(), Some(0 | 5)),
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
            // What is refused is the exact table of a large system, and it says so.
            for error in place.failures(&out) {
                assert!(error.contains("the limit is 33554432"), "{kind}: {error}");
            }
        }
    }
}

#[test]
fn mistakes_name_the_place_the_value_and_what_was_wanted() {
    let place = place();
    let wrong = |from: &str, to: &str, wanted: &[&str]| {
        assert!(CONFIG.contains(from), "{from}");
        place.write("wrong.toml", &CONFIG.replacen(from, to, 1));
        place.refuses(&["run", "wrong.toml", "--out", "wrong"], wanted);
        assert!(!place.path("wrong").exists() && !place.path("wrong.partial").exists());
    };
    let margins = "kind = \"margins\"\nrows = \"row\"\ncolumns = \"column\"";
    let kind = |to: &str, wanted: &[&str]| wrong(margins, to, wanted);
    kind("kind = \"magic\"", &["unknown variant `magic`", "margins"]);
    kind("rows = \"row\"", &["missing field `kind`"]);
    kind("kind = \"total\"\nby = 1", &["unknown field `by`"]);
    kind("kind = \"partition\"\nby = \"colour\"", &["table.csv", "no column `colour`"]);
    kind("kind = \"partition\"\nby = []", &["by: got an empty list"]);
    kind("kind = \"margins\"\nrows = \"row\"\ncolumns = \"row\"", &["got `row` for both"]);
    kind("kind = \"subsets\"\nsets = [[0]]", &["got entry 0", "numbered from 1"]);
    kind("kind = \"subsets\"\nsets = [[7]]", &["set 1: got entry 7", "1 to 6"]);
    kind("kind = \"subsets\"\nsets = [[1, 1]]", &["set 1"]);
    kind("kind = \"subsets\"\nsets = []", &["empty"]);
    kind("kind = \"subsets\"", &["want one of `sets` and `columns`"]);
    kind("kind = \"subsets\"\ncolumns = [\"row\"]", &["line 2", "`row` = `a`", "want 0 or 1"]);
    kind("kind = \"matrix\"\nrows = [[1, 2]]", &["2 columns for 6 entries"]);
    kind("kind = \"matrix\"\nrows = [[1, 1, 1, 1, 1, 1], [1]]", &["row 2 has 1 entries", "want 6"]);
    kind("kind = \"matrix\"\nrows = [[0, 0, 0, 0, 0, 0]]", &["empty"]);
    kind(
        "kind = \"matrix\"\nrows = [[1, 0, 0, 0, 0, 0]]\nvalues = [4]",
        &["inconsistent", "gives 5", "want 4"],
    );
    kind("kind = \"matrix\"\nrows = [[1, 0, 0, 0, 0, 0]]\nvalues = [5, 6]", &["got 2 for 1 rows"]);
    kind("kind = \"matrix\"\ntable = \"nowhere.csv\"", &["nowhere.csv", "cannot read"]);
    place.write("bad.csv", "1,2,3,4,5,x\n");
    kind("kind = \"matrix\"\ntable = \"bad.csv\"", &["bad.csv", "line 1", "`x`", "integer"]);
    wrong("entry = [\"row\", \"column\"]", "entry = [\"row\"]", &["line 3", "`a` is duplicated"]);
    wrong(
        "entry = [\"row\"",
        "levels = [\"row\"]\nentry = [\"row\"",
        &["data.entry: not used", "the levels name"],
    );
    wrong("entry = [\"row\"", "where = { row = \"z\" }\nentry = [\"row\"", &["no row has `row` = `z`"]);
    wrong(
        "law = [\"l1\", \"l2\"",
        "law = [\"laplace\"",
        &["`lattice-metropolis` cannot serve", "laplace noise is real"],
    );
    wrong("\"exact\"", "\"topdown\"", &["method: got `topdown`", "hierarchy"]);
    wrong("\"exact\"", "{ kind = \"exact\", nonnegative = true }", &["nonnegative: got true"]);
    wrong("\"exact\"", "\"klein\"", &["`klein` cannot serve", "draws discrete Gaussian laws"]);
    wrong("\"exact\"", "\"l2\"", &["`l2` cannot serve", "not a product"]);
    wrong("a = 0.3", "a = 1.0", &["a: got 1"]);
    wrong("basis = [\"smith\", \"reduced\"]", "basis = \"best\"", &["basis: got `best`", "smith or reduced"]);
    wrong("sweeps = 20", "a = 0.2", &["a: not an option of `line-gibbs`"]);
    wrong("epsilon = 0.3", "epsilon = 0.5", &["epsilon: got 0.5", "1/e"]);
    wrong("delta = 1e-4", "delta = 0.31", &["delta: got 0.31", "(0, epsilon)"]);
    wrong("replicates = 4", "replicates = 4\nlag = 3", &["lag: not used"]);
    wrong("records = 20", "records = -1", &["records: got -1"]);
    wrong("seed = 3", "seed = 3\nstudy = \"magic\"", &["study: got `magic`", "meeting"]);
    wrong("law = [\"l1\"", "split = \"even\"\nlaw = [\"l1\"", &["split: not used"]);
}

#[test]
fn mistakes_in_a_study_of_meetings_are_named_alike() {
    let place = place();
    let meeting = |from: &str, to: &str, wanted: &[&str]| {
        assert!(MEETING.contains(from), "{from}");
        place.write("wrong.toml", &MEETING.replacen(from, to, 1));
        place.refuses(&["run", "wrong.toml", "--out", "wrong"], wanted);
    };
    meeting("lag = [50, 100]", "", &["lag: missing"]);
    meeting("lag = [50, 100]", "lag = 0", &["lag: got 0"]);
    meeting("max-steps = 100_000", "max-steps = 100", &["lag: got 100, with max-steps 100"]);
    meeting(
        "\"line-gibbs\"",
        "\"exact\"",
        &["method: got `exact`", "line-gibbs, hierarchical-mh, lattice-metropolis or mis"],
    );
    meeting(
        "law = [\"l1\"",
        "law = [\"laplace\"",
        &["`lattice-metropolis` cannot serve", "laplace noise is real"],
    );
    meeting("a = 0.3", "steps = 5", &["steps: not used", "max-steps"]);
    meeting("marginal-chains = 50\n", "", &["marginal-chains: missing"]);
    meeting("harmonized-groups = 8\n", "", &["harmonized-groups: missing", "beside `harmonized-chains`"]);
    meeting("harmonized-groups = 8", "harmonized-groups = 1", &["harmonized-groups: got 1", "2 to 10000"]);
    meeting("harmonized-chains = 8", "harmonized-chains = 1", &["harmonized-chains: got 1", "2 to 65536"]);
}

/// Chains of real noise are coupled and compared where that is known, and refused with the reason where it is not.
#[test]
fn chains_of_real_noise_meet_where_a_coupling_is_known() {
    let table = "row,column,count\na,x,3\na,y,4\nb,x,5\nb,y,0\nc,x,2\nc,y,1\n";
    let place = Place::new(&[("t.csv", table)]);
    let config = |data: &str, invariant: &str, grid: &str| {
        let head = "name = \"reals\"\nstudy = \"meeting\"\nseed = 1\nreplicates = 200\n[data]\ntable = \"t.csv\"\ncount = \"count\"\n";
        let noise = "[[grid]]\nepsilon = 0.5\nlaw = [\"laplace\", \"gaussian\"]\ndelta = 1e-6\n";
        place.write("c.toml", &format!("{head}{data}{invariant}{noise}{grid}\n"));
    };
    let (tree, margins) = (
        "levels = [\"row\", \"column\"]\n",
        "[[invariant]]\nkind = \"margins\"\nrows = \"row\"\ncolumns = \"column\"\n",
    );
    let nonnegative = "method = { kind = \"line-gibbs\", nonnegative = true }\n";
    let compared = "marginal-chains = 400\nmarginal-steps = 300";
    for (data, invariant, grid) in [
        (tree, "", format!("method = \"line-gibbs\"\nlag = 300\n{compared}")),
        (tree, "", format!("{nonnegative}lag = 300")),
        ("", margins, format!("method = \"line-gibbs\"\nlag = 300\n{compared}")),
    ] {
        config(data, invariant, &grid);
        place.prints(&["run", "c.toml", "--out", "out"]);
        let times = place.rows::<TimesRow>("out");
        assert_eq!(times.len(), 2);
        assert!(times.iter().all(|row| row.censored == 0 && row.below_1.is_some()), "{times:?}");
        // At first the chains are far from the exact law, in the end no farther than as many exact draws.
        let rows = place.rows::<MarginalRow>("out");
        let is_far = |row: &MarginalRow| {
            let above = |tv: f64, floor: f64, sd: f64| tv > floor + 6.0 * sd;
            above(row.tv, row.floor, row.floor_sd) || above(row.l1, row.l1_floor, row.l1_floor_sd)
        };
        assert_eq!(rows.iter().any(|row| row.t == 1 && is_far(row)), grid.contains(compared));
        assert!(!rows.iter().any(|row| row.t == 300 && is_far(row)), "{rows:?}");
        std::fs::remove_dir_all(place.path("out")).unwrap();
    }
    for (data, invariant, grid, wanted) in [
        (tree, "", "method = \"hierarchical-mh\"\nlag = 9", "two of its chains do not meet"),
        (
            tree,
            "",
            &format!("{nonnegative}{compared}"),
            "`marginal-chains` compares with exact draws, and there are none",
        ),
        ("", margins, "method = \"mis\"\nlag = 9", "is known for integer noise alone"),
    ] {
        config(data, invariant, grid);
        place.refuses(&["run", "c.toml", "--out", "out"], &["cannot serve this grid", wanted]);
    }
}

/// No coupling of `mis` is known for real noise, but its chains alone are compared with exact draws, with and without
/// inequalities: at first they are far from them, in the end no farther than as many exact draws.
#[test]
fn real_chains_without_a_coupling_are_compared_alone() {
    let place = Place::new(&[("t.csv", "row,column,count\na,x,3\na,y,4\nb,x,5\nb,y,0\nc,x,2\nc,y,1\n")]);
    let config = |kind: &str| {
        let head = "name = \"alone\"\nstudy = \"meeting\"\nseed = 1\nreplicates = 2\n[data]\ntable = \"t.csv\"\ncount = \"count\"\n";
        let noise =
            "[[grid]]\nepsilon = 0.5\nlaw = [\"laplace\", \"gaussian\"]\ndelta = 1e-6\nmethod = \"mis\"\n";
        let compared = "marginal-chains = 400\nmarginal-steps = 3000\n";
        place.write("c.toml", &format!("{head}{kind}{noise}{compared}"));
    };
    let margins = "[[invariant]]\nkind = \"margins\"\nrows = \"row\"\ncolumns = \"column\"\n";
    let is_far = |row: &MarginalRow| row.tv > row.floor + 6.0 * row.floor_sd;
    for kind in [margins.to_owned(), format!("{margins}[[invariant]]\nkind = \"nonnegative\"\n")] {
        config(&kind);
        place.prints(&["run", "c.toml", "--out", "out"]);
        let rows = place.rows::<MarginalRow>("out");
        assert!(rows.iter().any(|row| row.t == 1 && is_far(row)), "{rows:?}");
        assert_eq!(rows.iter().filter(|row| row.t == 3000).count(), 2);
        assert!(!rows.iter().any(|row| row.t == 3000 && is_far(row)), "{rows:?}");
        std::fs::remove_dir_all(place.path("out")).unwrap();
    }
}

/// What real Laplace noise pays for counts >= 0: single entries and a small total are computed, of a large total and of more than 12 entries
/// a bound is said.
#[test]
fn real_noise_on_counts_says_what_it_pays() {
    let place = Place::new(&[]);
    let paid = |counts: &[u64], total: bool| {
        let rows: String = (0..).zip(counts).map(|(i, count)| format!("e{i},{count}\n")).collect();
        place.write("t.csv", &format!("entry,count\n{rows}"));
        let total = if total { "[[invariant]]\nkind = \"total\"\n" } else { "" };
        let config = format!(
            "name = \"paid\"\nseed = 1\nreplicates = 2\n[data]\ntable = \"t.csv\"\ncount = \"count\"\n{total}\
             [[invariant]]\nkind = \"nonnegative\"\n[[grid]]\nepsilon = 0.5\nlaw = \"laplace\"\nmethod = \"line-gibbs\"\n"
        );
        place.write("c.toml", &config);
        place.prints(&["run", "c.toml", "--out", "out"]);
        let cell = place.rows::<CellRow>("out").remove(0);
        let statements = place.rows::<StatementRow>("out");
        std::fs::remove_dir_all(place.path("out")).unwrap();
        let of = |kind: ChangeKind| {
            let row = statements.iter().find(|row| row.change == kind).unwrap();
            (row.gamma, row.gamma_known.clone())
        };
        ((cell.gamma, cell.gamma_known), of(ChangeKind::Added), of(ChangeKind::Moved))
    };
    let is = |(gamma, known): &(Option<f64>, String), wanted: f64, how: &str| {
        let gamma = gamma.unwrap();
        assert!((gamma - wanted).abs() < 1e-9 && known == how, "{gamma} {known}, want {wanted} {how}");
    };
    // ln(2 - e^-r)/r at r = 0.5.
    let single = libm::log(2.0 - libm::exp(-0.5)) / 0.5;
    let (all, added, moved) = paid(&[3, 0, 7], false);
    is(&all, single, "computed");
    is(&added, single, "computed");
    assert_eq!(moved.1, "bounded");
    // Two entries with a total of 2: c is as 2 - e^-x - e^-(2 - x), with 2 r = 1, and 0 and 1 are one record apart.
    let (none, one) = (1.0 - libm::exp(-2.0), 2.0 - 2.0 * libm::exp(-1.0));
    let (all, _, moved) = paid(&[1, 1], true);
    is(&all, libm::log(one / none), "computed");
    is(&moved, libm::log(one / none), "computed");
    // ln(1 + 2r)/(2r).
    let (all, _, moved) = paid(&[400, 3, 0], true);
    is(&all, libm::log(2.0), "bounded");
    is(&moved, libm::log(2.0), "bounded");
    is(&paid(&[1; 13], true).0, 1.0, "bounded");
}

/// Their starts are moved; those of proposals by themselves are not.
#[test]
fn line_chains_under_inequalities_are_not_harmonized() {
    let place = place();
    let bounded = MEETING.replacen("[[grid]]", "[[invariant]]\nkind = \"nonnegative\"\n\n[[grid]]", 1);
    let bounded = bounded.replacen("{ kind = \"lattice-metropolis\", a = 0.3 }", "\"mis\"", 1);
    let bounded = bounded.replacen("marginal-chains = 50\nmarginal-steps = 100\n", "", 1);
    place.write("bounded.toml", &bounded);
    let why = &["`line-gibbs` cannot serve", "its starts are moved", "leave out `harmonized-groups`"];
    place.refuses(&["run", "bounded.toml", "--out", "bounded"], why);
    place.write("bounded.toml", &bounded.replacen("\"line-gibbs\", ", "", 1));
    place.prints(&["run", "bounded.toml", "--out", "bounded"]);
    assert_eq!(place.rows::<DivergenceTimesRow>("bounded").len(), 2 * 4);
}

/// Numbers of a seed never change unless on purpose: the first release of every cell, and every meeting.
#[test]
fn tables_are_as_they_were() {
    let place = place();
    place.prints(&["run", "config.toml", "--out", "out"]);
    place.prints(&["run", "meeting.toml", "--out", "meeting"]);
    let mut lines = Vec::new();
    for (cell, row) in place.with_cells("out", |row: &EntryRow| row.cell) {
        let CellRow { law, epsilon, method, options, .. } = cell;
        let cell = format!("{} {epsilon} {} {options}", law.name(), method.name());
        lines.push(format!("{cell} {}: {:.9e} {:.9e}", row.name, row.first, row.mean_absolute));
    }
    for (cell, pair) in place.with_cells("meeting", |row: &PairRow| row.cell) {
        let PairRow { lag, tau, moves, .. } = pair;
        lines.push(format!("{} {} {lag} {} {moves}", cell.law.name(), cell.method.name(), tau.unwrap()));
    }
    insta::assert_snapshot!(lines.join("\n"));
}

/// A cell that a method cannot serve fails by itself, with the limit it exceeds; the others go on.
#[test]
fn what_does_not_fit_is_a_failed_cell_that_names_its_limit() {
    let place = Place::new(&[("table.csv", &large_table()), ("config.toml", &CONFIG)]);
    let sets = ["--set", "grid.0.epsilon=0.25", "--set", "grid.0.law=\"l1\"", "--set", "grid.replicates=2"];
    let output =
        place.command(&[&["run", "config.toml", "--out", "out"][..], &sets].concat()).output().unwrap();
    assert_eq!(output.status.code(), Some(5));
    let message = String::from_utf8_lossy(&output.stderr).replace("\n  │ ", " ");
    assert!(message.contains("a 12 × 12 table with margins (11 × 12 would do)"), "{message}");
    assert!(message.contains("limit is 10000000"), "{message}");
    assert_eq!(place.failures("out").len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// The parsers of invariants end in a plan or in a clear error, whatever they are given.
    #[test]
    fn invariants_never_panic(
        kind in "total|partition|margins|subsets|hierarchy|matrix|[a-z]{0,3}",
        key in "by|rows|columns|sets|levels|values|table",
        value in prop_oneof![
            Just("\"row\"".to_owned()),
            Just("[\"row\", \"column\"]".to_owned()),
            Just("[\"in_1\", \"count\"]".to_owned()),
            proptest::collection::vec(proptest::collection::vec(-3i64..9, 0..7), 0..4).prop_map(|rows| format!("{rows:?}")),
            any::<i64>().prop_map(|x| format!("[[{x}, {x}, 1, 0, 0, 0]]")),
            "[ -~]{0,12}",
        ],
    ) {
        let place = place();
        let margins = "kind = \"margins\"\nrows = \"row\"\ncolumns = \"column\"";
        let columns = if kind == "margins" && key != "columns" { "columns = \"column\"\n" } else { "" };
        place.write("config.toml", &CONFIG.replace(margins, &format!("kind = \"{kind}\"\n{columns}{key} = {value}")));
        let output = place.command(&["plan", "config.toml"]).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        prop_assert!(matches!(output.status.code(), Some(0 | 2)), "{message}");
        prop_assert!(!message.contains("panicked"), "{message}");
    }

    /// Matrices in files never let the reader panic.
    #[test]
    fn matrix_files_never_panic(text in "[0-9,\n -]{0,60}|[ -~\n]{0,40}") {
        let place = place();
        place.write("a.csv", &text);
        let margins = "kind = \"margins\"\nrows = \"row\"\ncolumns = \"column\"";
        place.write("config.toml", &CONFIG.replace(margins, "kind = \"matrix\"\ntable = \"a.csv\""));
        let output = place.command(&["plan", "config.toml"]).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        prop_assert!(matches!(output.status.code(), Some(0 | 2)), "{message}");
    }
}

/// Real noise is projected as it is drawn, and rounded then: a total of 5, where truncating the noise first gave a variance of
/// 0.247 and no error in 0.556 of all releases.
#[test]
fn real_noise_is_not_truncated() {
    let config = "name = \"real\"\nseed = 1\nreplicates = 20000\nkeep-draws = true\n[data]\ntable = \"table.csv\"\ncount = \"count\"\n\
                  [[invariant]]\nkind = \"total\"\n[[grid]]\nepsilon = 2.0\nlaw = \"laplace\"\nmethod = \"l2-then-integer-l1\"\n";
    let place = Place::new(&[("config.toml", config), ("table.csv", "id,count\na,1\nb,0\nc,4\nd,9\ne,2\n")]);
    place.prints(&["run", "config.toml", "--out", "out"]);
    let rows: Vec<ErrorRow> = place.rows("out");
    let (n, cells) = (rows.len() as f64, 5.0);
    let mean = |value: &dyn Fn(&ErrorRow) -> f64| {
        let values: Vec<f64> = rows.iter().map(value).collect();
        let mean = values.iter().sum::<f64>() / n;
        let square = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n;
        (mean, (square / n).sqrt())
    };
    for ((got, error), want) in
        [(mean(&|row| row.l2 * row.l2 / cells), 0.476), (mean(&|row| f64::from(row.l1 == 0.0)), 0.246)]
    {
        assert!((got - want).abs() < 5.0 * error + 0.0005, "{got} ± {error}, want {want}");
    }
}

/// What a table cannot serve is refused alike by all methods; rows of zeros that hold are dropped in equations and in
/// inequalities alike.
#[test]
fn refusals_are_alike() {
    let config = |invariant: &str, method: &str, law: &str| {
        format!(
            "name = \"one\"\nseed = 1\nreplicates = 3\n[data]\ntable = \"table.csv\"\ncount = \"count\"\n{invariant}\n\
             [[grid]]\nepsilon = 1.0\nlaw = \"{law}\"\nmethod = \"{method}\"\n{}",
            if law == "gaussian" { "delta = 1e-6\n" } else { "" }
        )
    };
    let total = "[[invariant]]\nkind = \"total\"";
    for (method, law) in [
        ("exact", "l1"),
        ("exact", "laplace"),
        ("exact", "gaussian"),
        ("l2", "laplace"),
        ("nnl2", "l1"),
        ("l1", "laplace"),
    ] {
        let place =
            Place::new(&[("config.toml", &config(total, method, law)), ("table.csv", "id,count\na,7\n")]);
        let output = place.command(&["run", "config.toml", "--out", "out"]).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            output.status.code() == Some(5) && message.contains("fixes every entry"),
            "{method} {law}: {message}"
        );
    }
    let table = "id,count\na,1\nb,0\nc,4\n";
    let rows = |kind: &str, row: &str, values: &str| {
        format!("[[invariant]]\nkind = \"{kind}\"\nrows = [{row}, [1, 1, 1]]\nvalues = {values}")
    };
    for (kind, values) in [("matrix", "[0, 5]"), ("at-least", "[0, 2]"), ("at-least", "[-3, 2]")] {
        let text = config(&rows(kind, "[0, 0, 0]", values), "exact", "l1");
        let place = Place::new(&[("config.toml", &text), ("table.csv", table)]);
        place.prints(&["run", "config.toml", "--out", "out"]);
    }
    for (kind, values, says) in
        [("matrix", "[1, 5]", "equation 1"), ("at-least", "[1, 2]", "all coefficients are 0")]
    {
        let text = config(&rows(kind, "[0, 0, 0]", values), "exact", "l1");
        let place = Place::new(&[("config.toml", &text), ("table.csv", table)]);
        place.refuses(&["run", "config.toml"], &[says]);
    }
}

/// Budgets so large that nothing but 0 is drawn: figures of privacy stay figures.
#[test]
fn large_budgets_have_figures() {
    let config = "name = \"large\"\nseed = 1\nreplicates = 5\n[data]\ntable = \"table.csv\"\ncount = \"count\"\n\
                  [[invariant]]\nkind = \"total\"\n[[invariant]]\nkind = \"nonnegative\"\n\
                  [[grid]]\nepsilon = [1.0, 30.0, 44.0, 120.0, 360.0, 700.0, 1000.0]\nlaw = \"l1\"\n\
                  method = [\"exact\", { kind = \"line-gibbs\", sweeps = 50 }]\n";
    let place = Place::new(&[("config.toml", config), ("table.csv", "id,count\na,1\nb,2\nc,0\n")]);
    place.prints(&["run", "config.toml", "--out", "out"]);
    for (cell, row) in place.with_cells("out", |row: &ErrorRow| row.cell) {
        let delta = cell.delta_sampling;
        assert!(delta.is_none_or(|delta| (0.0..=1.0).contains(&delta)), "{delta:?}");
        assert!(cell.epsilon < 30.0 || row.l1 == 0.0);
    }
}

/// A run of many cells prints a page for each of the first, rows for more of them, and says where all are.
#[test]
fn runs_of_many_cells_print_the_first_of_them() {
    let config = |cells: u32| {
        let epsilons: Vec<String> = (1..=cells).map(|i| format!("{}.0", i)).collect();
        format!(
            "name = \"many\"\nseed = 1\nreplicates = 2\n[data]\ntable = \"table.csv\"\ncount = \"count\"\n[[invariant]]\nkind = \"total\"\n\
             [[grid]]\nepsilon = [{}]\nlaw = \"double-geometric\"\nmethod = \"exact\"\n",
            epsilons.join(", ")
        )
    };
    let place = Place::new(&[("table.csv", "id,count\na,1\nb,0\n")]);
    for (cells, boxes, rows) in [(24, 24, 24), (25, 24, 25), (201, 24, 200)] {
        place.write("config.toml", &config(cells));
        let out = format!("out-{cells}");
        let page = place.pages("config.toml", &out);
        assert_eq!(page.matches("Errors by entry of many").count(), boxes, "{cells}");
        let (paid, _) = page.split_once("Errors by entry").unwrap();
        let (_, paid) = paid.split_once("method by method").unwrap();
        assert_eq!(paid.matches("double-geometric").count(), rows, "{cells}");
        assert_eq!(
            page.replace('\n', " ")
                .contains("for the first 24 cells. The rows of all cells are in entries.parquet"),
            cells > 24
        );
        assert_eq!(page.contains("It has 201 cells. These pages show the first 200"), cells > 200);
        assert_eq!(place.rows::<EntryRow>(&out).len(), 2 * cells as usize);
    }
}

/// A list of entries that `mis` solves for is one value: it is kept in results and resolved configs, and one that does not leave one
/// solution is refused with one that does.
#[test]
fn lists_of_entries_are_solved_for() {
    let table = "row,column,count\na,x,9\na,y,8\nb,x,7\nb,y,6\n";
    let config = |list: &str| {
        format!(
            "name = \"solved\"\nseed = 1\nreplicates = 20\n{TABLE_DATA}{MARGINS}[[grid]]\nepsilon = 1.0\n\
             law = \"double-geometric\"\nmethod = {{ kind = \"mis\", steps = 2000, solve-for = {list} }}\n"
        )
    };
    let place =
        Place::new(&[("table.csv", table), ("config.toml", &config("[[4, 2, 1], \"last\", [2, 3, 4]]"))]);
    place.prints(&["run", "config.toml", "--out", "out", "--threads", "1"]);
    let options: BTreeSet<String> = place.cells("out").into_values().map(|cell| cell.options).collect();
    let wanted = ["steps=2000", "steps=2000,solve-for=1+2+4", "steps=2000,solve-for=2+3+4"];
    assert!(options.iter().eq(&wanted), "{options:?}");
    place.prints(&["run", "out/config.resolved.toml", "--out", "again", "--threads", "1"]);
    assert_eq!(place.rows::<ErrorRow>("out"), place.rows::<ErrorRow>("again"));
    for (list, wanted) in [
        ("[1, 2, 3, 4]", &["`mis` cannot serve this grid", "solve-for: got [1, 2, 3, 4]"][..]),
        ("[1, 2]", &["want 3 entries with independent columns", "do not have one solution"]),
        ("[1, 2, 9]", &["want entries from 1 to 4, not 9"]),
        ("[1, 2, 2]", &["solve-for: got [1, 2, 2]", "each once"]),
        ("[0, 1, 2]", &["solve-for: got [0, 1, 2]", "from 1"]),
        ("[\"first\", 2]", &["solve-for: got 2"]),
        ("\"1\"", &["solve-for: got `1`", "or a list of entries by number"]),
    ] {
        place.write("wrong.toml", &config(list));
        place.refuses(&["run", "wrong.toml"], wanted);
    }
}

/// Chains whose steps have another law err as independent draws do, by level, to six standard errors; steps of whole counts
/// are refused of real noise.
#[test]
fn chains_with_steps_of_every_law_err_as_exact_draws() {
    let head = "name = \"steps\"\nseed = 5\nreplicates = 2000\n[data]\ntable = \"t.csv\"\ncount = \"count\"\nlevels = [\"row\", \"column\"]\n";
    let place = Place::new(&[("t.csv", "row,column,count\na,x,3\na,y,4\nb,x,5\nb,y,0\n")]);
    let method =
        |proposals: &str| format!("{{ kind = \"hierarchical-mh\", steps = 600, proposal = {proposals} }}");
    for (law, proposals, cells) in [
        ("double-geometric", r#"["normal", "laplace", "integer"]"#, 4),
        ("laplace", r#"["normal", "laplace"]"#, 3),
    ] {
        let grid = format!(
            "[[grid]]\nepsilon = 1.0\nlaw = \"{law}\"\nmethod = [\"exact\", {}]\n",
            method(proposals)
        );
        place.write("c.toml", &format!("{head}{grid}"));
        place.prints(&["run", "c.toml", "--out", law]);
        let rows = place.with_cells(law, |row: &LevelRow| row.cell);
        assert_eq!(rows.len(), 3 * cells);
        for (cell, row) in &rows {
            let exact =
                |(cell, own): &&(CellRow, LevelRow)| cell.method.name() == "exact" && own.level == row.level;
            let own = &rows.iter().find(exact).unwrap().1;
            let se = libm::hypot(row.l1_per_node.standard_error, own.l1_per_node.standard_error);
            assert!(
                (row.l1_per_node.mean - own.l1_per_node.mean).abs() < 6.0 * se,
                "{law} {}: {row:?} {own:?}",
                cell.options
            );
        }
    }
    let grid = format!("[[grid]]\nepsilon = 1.0\nlaw = \"laplace\"\nmethod = {}\n", method("\"integer\""));
    place.write("c.toml", &format!("{head}{grid}"));
    place.refuses(
        &["plan", "c.toml"],
        &["hierarchical-mh", "laplace noise is real, and integer proposals do not reach all reals"],
    );
    place.write("c.toml", &format!("{head}{}", grid.replace("\"integer\"", "\"uniform\"")));
    place.refuses(&["plan", "c.toml"], &["got `uniform`", "want normal, laplace or integer"]);
}
