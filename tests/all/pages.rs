//! Every kind of page that `report` and `compare` print, whole: markdown and the columns of CSV of tiny runs, of three pages text.
//!
//! Only what differs between builds and machines is replaced: the revision that made a run, and the seconds and host of a
//! comparison's clocks. All else is compared literally, to the last byte: `[end]` closes every page, since the snapshots
//! themselves do not keep the newlines at their end.
#![allow(clippy::disallowed_methods)] // Tests open files of their own.

use crate::place::{
    MARGINS, NONNEGATIVE, Place, TABLE, TABLE_DATA, TABLES_DATA, TREE, TREE_DATA, large_table, partition,
};
use congenial::study::composition::FindingRow;
use congenial::study::meeting::{MarginalRow, PairRow};
use congenial::study::privacy::PaidRow;
use congenial::study::release::ErrorRow;

/// Pages that are pinned as text, too: all are pinned as markdown, and both come from the same parts.
const IN_TEXT: [&str; 3] = ["hierarchy", "table", "release_worse"];

/// Compares a page with its snapshot, `tests/snapshots/pages__<name>.snap`.
fn pin(name: &str, page: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, redacted(page) + "[end]"));
}

/// The page without what differs between builds and machines; paragraphs with such words are not broken to lines.
fn redacted(page: &str) -> String {
    let part = |part: &str| {
        let line = part.replace('\n', " ");
        let redacted = clocks(&revision(&line));
        if redacted == line { part.to_owned() } else { redacted }
    };
    page.split("\n\n").map(part).collect::<Vec<_>>().join("\n\n")
}

/// `run: folder by congenial 0.1.0 (commit), seed 1`
fn revision(line: &str) -> String {
    let (Some(start), Some(end)) = (line.find(" by congenial "), line.rfind(", seed ")) else {
        return line.to_owned();
    };
    format!("{} by [revision]{}", &line[..start], &line[end..])
}

/// `Wall clock, ...: base 0.1 s in 1 process, on host with 2 threads at the end; ...`
fn clocks(line: &str) -> String {
    if !line.starts_with("Wall clock") {
        return line.to_owned();
    }
    let words: Vec<&str> = line.split(' ').collect();
    let word = |i: usize| match (i.checked_sub(1).map(|before| words[before]), words.get(i + 1)) {
        (_, Some(&"s")) => "[seconds]",
        (Some("on"), _) => "[host]",
        _ => words[i],
    };
    (0..words.len()).map(word).collect::<Vec<_>>().join(" ")
}

/// Runs a config into a folder on one thread; returns what the command prints. Cells may fail.
fn run(place: &Place, config: &str, out: &str, more: &[&str]) -> String {
    let arguments = [&["run", config, "--out", out, "--threads", "1"], more].concat();
    let output = place.command(&arguments).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 5)), "{arguments:?}: {message}");
    String::from_utf8(output.stdout).unwrap()
}

/// Pins the report of some runs: both pages, and of the tables that `--out` writes their columns and numbers of rows.
fn pin_report(place: &Place, kind: &str, folders: &[&str]) -> String {
    let report = |format| place.prints(&[&["report"], folders, &["--format", format]].concat());
    let [summary, markdown, csv] = ["text", "markdown", "csv"].map(report);
    let text = place.prints(&[&["report"], folders, &["--full"]].concat());
    pin(&format!("{kind}_markdown"), &markdown);
    if IN_TEXT.contains(&kind) {
        pin(&format!("{kind}_summary"), &summary);
        pin(&format!("{kind}_text"), &text);
    }
    let tables = format!("{kind}-tables");
    place.prints(&[&["report"], folders, &["--out", &tables]].concat());
    let mut names: Vec<String> = std::fs::read_dir(place.path(&tables))
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let mut others = String::new();
    for name in names {
        let content = std::fs::read_to_string(place.path(&tables).join(&name)).unwrap();
        match name.as_str() {
            "report.txt" => assert_eq!(content, text),
            "report.md" => assert_eq!(content, markdown),
            "report.html" => is_a_page(&content),
            "report.json" => drop(serde_json::from_str::<serde_json::Value>(&content).unwrap()),
            _ => {
                let printed = if content == csv { ", as on standard output" } else { "" };
                let header = content.lines().next().unwrap_or_default();
                others += &format!("== {name}: {} rows{printed}\n{header}\n", content.lines().count() - 1);
            }
        }
    }
    pin(&format!("{kind}_tables"), &others);
    summary
}

/// A page that stands alone: it asks for nothing, and every tag that is opened is closed.
fn is_a_page(content: &str) {
    assert!(content.starts_with("<!doctype html>"));
    // A name, not an address.
    let content = content.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    for other in ["src=", "@import", "url(", "http://", "https://"] {
        assert!(!content.contains(other), "{other}");
    }
    for tag in [
        "html", "head", "body", "main", "section", "table", "thead", "tbody", "tr", "td", "h2", "ul", "li",
        "p",
    ] {
        let opened =
            content.matches(&format!("<{tag}>")).count() + content.matches(&format!("<{tag} ")).count();
        assert_eq!(opened, content.matches(&format!("</{tag}>")).count(), "{tag}");
    }
}

/// Runs a config, and pins its report; its summary is also what the run prints.
fn pin_run(kind: &str, config: &str, files: &[(&str, &str)]) -> Place {
    let place = Place::new(&[&[("config.toml", config)], files].concat());
    let printed = run(&place, "config.toml", "out", &[]);
    assert_eq!(printed, pin_report(&place, kind, &["out"]));
    place
}

/// Pins a comparison as text and markdown.
fn pin_comparison(place: &Place, kind: &str, arguments: &[&str], code: i32) {
    for format in ["text", "markdown"] {
        let arguments = [&["compare"], arguments, &["--format", format]].concat();
        let output = place.command(&arguments).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {message}");
        if format == "markdown" || IN_TEXT.contains(&kind) {
            pin(&format!("compare_{kind}_{format}"), &String::from_utf8(output.stdout).unwrap());
        }
    }
}

/// A config: its name, seed 1, and a body.
fn config(name: &str, body: &str) -> String {
    format!("name = \"{name}\"\nseed = 1\n{body}")
}

/// Queries that are levels and others, on a tree, beside another release.
#[test]
fn answers_to_queries() {
    let grid = r#"
replicates = 20
[report]
queries = [["group", "zone"], ["district"]]
[report.beside]
table = "tree.csv"
confidential = "count"
released = "released"
note = "by somebody else"

[[grid]]
epsilon = 0.5
law = "double-geometric"
method = ["unconstrained", "topdown"]
"#;
    let (top, rest) = grid.split_at(grid.find("[report]").unwrap());
    let tree = "zone,group,district,count,released\na1,a,1,5,6\na2,a,2,0,1\nb1,b,1,120,117\nb2,b,2,3,3\nb3,b,2,44,46\nc1,c,1,7,8\n";
    pin_run("answers", &config("answers", &format!("{top}{TREE_DATA}{rest}")), &[("tree.csv", tree)]);
}

/// What is paid, with laws and options that tell curves apart, integers and real numbers.
#[test]
fn errors_against_what_is_paid() {
    let grid = r#"
study = "frontier"
change = "added"
replicates = 60
[[grid]]
paid = [0.5, 3.0, 9.0]
law = ["double-geometric", "laplace"]
method = ["exact", "topdown"]

[[grid]]
paid = [0.5, 3.0, 9.0]
law = "double-geometric"
method = [{ kind = "exact", nonnegative = true }, { kind = "line-gibbs", sweeps = [5, 20] }, "l2"]
"#;
    let (front, grid) = grid.split_at(grid.find("[[grid]]").unwrap());
    pin_run("frontier", &config("frontier", &format!("{front}{TREE_DATA}{grid}")), &[("tree.csv", TREE)]);
}

/// Three levels, several budgets and methods, columns with options, blocks with replicates of their own, chains.
#[test]
fn errors_on_a_hierarchy() {
    let grid = r#"
replicates = 20
[[grid]]
epsilon = [0.5, 1.0]
law = ["double-geometric", "laplace"]
method = ["unconstrained", "exact", "l2", "topdown", { kind = "line-gibbs", sweeps = [5, 20], nonnegative = [false, true] }]

[[grid]]
epsilon = 1.0
law = "double-geometric"
method = [{ kind = "exact", nonnegative = true }, { kind = "hierarchical-mh", steps = 2000, proposal-scale = [0.3678794411714423, 0.5] }]
replicates = 3

[[grid]]
epsilon = 2.0
law = "laplace"
method = { kind = "hierarchical-mh", steps = [50, 2000], nonnegative = true }
replicates = 1

[[grid]]
epsilon = [1e-5, 40.0]
law = "laplace"
sensitivity = 2.0
split = "even"
method = ["exact", "unconstrained"]
replicates = 2
"#;
    let (front, grid) = grid.split_at(grid.find("[[grid]]").unwrap());
    pin_run("hierarchy", &config("tree", &format!("{front}{TREE_DATA}{grid}")), &[("tree.csv", TREE)]);
}

/// Gaussian laws with their deltas, splits, and what conditioning on signs pays.
#[test]
fn gaussian_errors_on_a_hierarchy() {
    let grid = r#"
[[grid]]
epsilon = [0.5, 2.0]
delta = [1e-5, 1e-3]
law = "gaussian"
split = ["even", [0.2, 0.3, 0.5]]
sensitivity = [1.0, 1.5]
method = ["exact", "l2"]

[[grid]]
epsilon = 1.0
delta = 1e-5
law = "discrete-gaussian"
split = "each"
method = ["unconstrained", "exact", { kind = "exact", nonnegative = true }, "topdown",
    { kind = "line-gibbs", sweeps = 20, nonnegative = [false, true] }]
replicates = 4
"#;
    let text = config("gaussian", &format!("replicates = 8\n{TREE_DATA}{grid}"));
    pin_run("hierarchy_gaussian", &text, &[("tree.csv", TREE)]);
}

/// Published figures beside ours: missing ones, single replicates, and a factor that noise cannot have.
#[test]
fn published_figures() {
    let mut tree = String::from("zone,group,count\n");
    for i in 0..80 {
        tree += &format!("z{i},g{},{}\n", i % 3, i * i);
    }
    let published = "\
source,name,table,figure,value,se,method,law,epsilon,level
Paper,Flat,l1_error,l1_normalised,0.02,,exact,laplace|double-geometric,0.5,1
Paper,Flat,l1_error,l1_normalised,1.9,,exact,laplace|double-geometric,0.5,3
Paper,Flat,l1_error,l1_normalised,1.8,,exact,laplace|double-geometric,4,3
Paper,Right,l1_error,l1_normalised,1.7,,exact,laplace,0.5,3
Paper,Right,l1_error,l1_normalised,0.21,,exact,laplace,4,3
Paper,TopDown,l1_error,l1_normalised,20000,,topdown,double-geometric,0.5,3
Paper,TopDown,l1_error,l1_normalised,0.0005,,topdown,double-geometric,8,3
Paper,Once,l1_error,l1_normalised,0.01,,l2,laplace,4,2
Paper,Unknown,l1_error,l1_normalised,0.01,,none,laplace,4,2
Paper,exact,l1_error,l2,3,0.5,exact,laplace,4,3
Paper,at the root,l1_error,bias,0.5,,exact,laplace,,1
Paper,nowhere,chains,ess_bulk,100,,exact,,,
";
    let grid = r#"
[report]
published = "published.csv"

[[grid]]
epsilon = [0.5, 4.0]
law = ["laplace", "double-geometric"]
method = ["exact", "topdown"]

[[grid]]
epsilon = 4.0
law = "laplace"
method = "l2"
replicates = 1

[[grid]]
epsilon = 0.5
delta = 1e-5
law = "gaussian"
method = "exact"
"#;
    let text = config("published", &format!("replicates = 30\n{TREE_DATA}{grid}"));
    pin_run("published", &text, &[("tree.csv", &tree), ("published.csv", published)]);
}

/// Errors, entries, parts, agreement, tails and chains of a table with fixed margins.
#[test]
fn releases_of_a_table() {
    let grid = r#"
[[grid]]
epsilon = 0.5
law = ["l1", "l2"]
method = ["exact", { kind = "line-gibbs", sweeps = 20 },
    { kind = "lattice-metropolis", steps = 500, a = 0.3678794411714423, basis = ["smith", "reduced"] }]

[[grid]]
epsilon = 0.5
law = "double-geometric"
sensitivity = 2.0
method = ["unconstrained", "l2"]
replicates = 5

[[grid]]
epsilon = 20.0
law = "l1"
method = "exact"
replicates = 1
"#;
    let text = config("table", &format!("replicates = 30\n{TABLE_DATA}{MARGINS}{grid}"));
    pin_run("table", &text, &[("table.csv", TABLE)]);
}

/// Chains that record, 24 cells of which some are printed, and a release by somebody else beside.
#[test]
fn recorded_chains_of_a_large_table_beside_another_release() {
    let mut table = String::from("row,column,count,other,released\n");
    for (i, j) in (0..4).flat_map(|i| (0..6).map(move |j| (i, j))) {
        let count = (i * 7 + j * j * 3) % 41;
        let other = count + i64::from(i == 2 && j > 3);
        table += &format!("r{i},c{j},{count},{other},{}\n", count + (i * 5 + j * 3) % 7 - 3);
    }
    let rows = partition(&["row"]);
    let body = format!(
        r#"replicates = 40
{TABLE_DATA}{rows}
[[grid]]
epsilon = 0.5
law = "l1"
method = ["exact", "l2"]

[[grid]]
epsilon = 0.5
law = "l1"
method = [{{ kind = "line-gibbs", sweeps = 40 }}, {{ kind = "lattice-metropolis", steps = 2000 }}]
replicates = 4
records = 20

[report.beside]
table = "table.csv"
confidential = "other"
released = "released"
note = "a release made up for this page"
"#
    );
    pin_run("table_large_beside", &config("large", &body), &[("table.csv", &table)]);
}

/// A release by somebody else of few cells, and one whose cells ours do not have.
#[test]
fn other_releases_of_few_cells() {
    let body = format!(
        r#"replicates = 10
{TABLE_DATA}{MARGINS}
[[grid]]
epsilon = 0.5
law = "l1"
method = ["exact", {{ kind = "line-gibbs", sweeps = [10, 20] }}]

[report.beside]
table = "theirs.csv"
confidential = "count"
released = "released"
note = "three cells"
"#
    );
    let some = "row,column,count,released\na,x,5,7\nb,x,12,11\nz,z,1,1\nc,y,7,7\n";
    let text = config("beside", &body);
    pin_run("table_beside", &text, &[("table.csv", TABLE), ("theirs.csv", some)]);
}

/// Parts with fixed totals.
fn bins(name: &str, replicates: u32, grid: &str) -> String {
    let (data, parts) =
        (TABLE_DATA.replace("\"row\", \"column\"", "\"bins\", \"bin\""), partition(&["bins"]));
    config(name, &format!("replicates = {replicates}\n{data}{parts}{grid}"))
}

/// Parts of two cells: distances, variances with their laws in closed form, ratios, and methods that agree or do not.
#[test]
fn parts_of_two_cells() {
    let table = "bins,bin,count\na,1,37\na,2,63\nb,1,5\nb,2,8\nc,1,0\nc,2,100\n";
    let grid = r#"
[[grid]]
epsilon = [0.5, 1.0]
law = "laplace"
sensitivity = 2.0
method = ["unconstrained", "exact", "l2", { kind = "l1", beta = [0.6, 1.0] }]

[[grid]]
epsilon = 1.0
law = "double-geometric"
method = ["exact", "l2", "l2-then-integer-l1", { kind = "line-gibbs", sweeps = 1 }]

[[grid]]
epsilon = 1.0
delta = 1e-6
law = "gaussian"
method = ["exact", "l2"]

[[grid]]
epsilon = 3.0
law = "laplace"
method = ["exact", "l2"]
replicates = 1
"#;
    pin_run("parts_of_two", &bins("two", 150, grid), &[("table.csv", table)]);
}

/// Parts of different sizes have no box; probabilities of agreement that are beyond printing.
#[test]
fn parts_of_different_sizes() {
    let table = "bins,bin,count\na,1,0\na,2,1\nb,1,0\nb,2,1\nb,3,0\n";
    let grid = r#"
[[grid]]
epsilon = 1.0
law = "double-geometric"
method = ["exact", "l2", "l2-then-integer-l1"]
"#;
    pin_run("parts_of_sizes", &bins("sizes", 4000, grid), &[("table.csv", table)]);
}

/// gamma computed, of tables under inequalities that are few.
#[test]
fn gamma_computed() {
    let table = "row,column,count\na,x,4\na,y,0\na,z,1\nb,x,2\nb,y,3\nb,z,0\n";
    let grid = r#"
[[grid]]
epsilon = 0.5
law = "double-geometric"
method = ["exact", "rejection", { kind = "rejection", from = "unconstrained" },
    { kind = "mis", steps = 500, proposal-epsilon = [0.5, 0.55] }, { kind = "line-gibbs", sweeps = 20 }, "nnl2",
    "nnl2-then-integer-l1", "unconstrained"]
"#;
    let rows = partition(&["row"]);
    let body = format!("replicates = 10\n{TABLE_DATA}{rows}{NONNEGATIVE}{grid}");
    pin_run("gamma_computed", &config("few", &body), &[("table.csv", table)]);
}

/// gamma bounded or unknown, of tables under inequalities that are many.
#[test]
fn gamma_bounded_or_unknown() {
    let table = "row,column,count\na,x,40\na,y,0\nb,x,70\nb,y,11\nc,x,25\nc,y,3\n";
    let grid = r#"
[[invariant]]
kind = "total"

[[invariant]]
kind = "bounds"
lower = 0

[[grid]]
epsilon = 0.5
law = "double-geometric"
method = ["exact", "rejection", { kind = "mis", steps = 100 }, "nnl2-then-integer-l1"]

[[grid]]
epsilon = 0.5
delta = 1e-6
law = "discrete-gaussian"
method = ["exact", { kind = "line-gibbs", sweeps = 20 }]
"#;
    let body = format!("replicates = 5\n{TABLE_DATA}{grid}");
    pin_run("gamma_bounded_or_unknown", &config("many", &body), &[("table.csv", table)]);
}

/// Tails under their bounds, and above them for chains that have barely begun.
#[test]
fn tails() {
    let grid = r#"
[[grid]]
epsilon = 0.5
law = "l2"
method = "exact"

[[grid]]
epsilon = 0.05
law = "l2"
method = [{ kind = "line-gibbs", sweeps = 20 }, { kind = "lattice-metropolis", steps = 20, a = 0.5 }]
replicates = 60

[[grid]]
epsilon = 0.3
delta = 1e-4
law = ["generalized-gaussian", "discrete-gaussian"]
method = ["exact", "klein", "line-gibbs", "l2", "unconstrained"]
replicates = 40
"#;
    let body = format!("replicates = 5000\n{TABLE_DATA}{MARGINS}{grid}");
    pin_run("tails", &config("tails", &body), &[("table.csv", TABLE)]);
}

/// Meeting times: bounds, pairs that were cut short, some and all, and marginals beside the exact law.
#[test]
fn meetings() {
    let grid = r#"
[[grid]]
epsilon = 0.5
law = ["l1", "l2"]
method = ["line-gibbs", { kind = "lattice-metropolis", a = 0.3678794411714423 }]
lag = [50, 100]
max-steps = 100_000
marginal-chains = 50
marginal-steps = 100
harmonized-groups = 20
harmonized-chains = 16

[[grid]]
epsilon = 0.5
law = "l1"
method = { kind = "lattice-metropolis", a = 0.3, basis = ["smith", "reduced"] }
lag = 20
max-steps = 60
marginal-chains = 20
marginal-steps = 10
harmonized-groups = 4
harmonized-chains = 4
harmonized-steps = 30

[[grid]]
epsilon = 0.01
law = "l1"
method = { kind = "lattice-metropolis", a = 0.3 }
lag = 1
max-steps = 2

[[grid]]
epsilon = 0.3
delta = 1e-4
sensitivity = 2.0
law = "discrete-gaussian"
method = "line-gibbs"
lag = 10
max-steps = 100_000
"#;
    let body = format!("study = \"meeting\"\nreplicates = 20\n{TABLE_DATA}{MARGINS}{grid}");
    let place = pin_run("meetings", &config("meeting", &body), &[("table.csv", TABLE)]);
    // Distances that no bound allows.
    place.edit("out", |row: &mut MarginalRow| row.tv *= 20.0);
    pin_report(&place, "meetings_below", &["out"]);
}

/// Meeting times of chains under inequalities: of a law with a bound on gamma, and of one without.
#[test]
fn meetings_under_inequalities() {
    let grid = r#"
[[grid]]
epsilon = 0.5
law = "l1"
method = "line-gibbs"
lag = 10
max-steps = 100_000

[[grid]]
epsilon = 0.5
delta = 1e-4
law = "discrete-gaussian"
method = "line-gibbs"
lag = 10
max-steps = 100_000
"#;
    let body = format!("study = \"meeting\"\nreplicates = 10\n{TABLE_DATA}{MARGINS}{NONNEGATIVE}{grid}");
    pin_run("meetings_under_inequalities", &config("bounded", &body), &[("table.csv", TABLE)]);
}

fn privacy() -> String {
    let (rows, margins) = (partition(&["table", "row"]), partition(&["table", "margin"]));
    let grid = "[[grid]]\nepsilon = [0.5, 1.0]\nlaw = \"double-geometric\"\nmethod = \"exact\"\n";
    config("privacy", &format!("study = \"privacy\"\n{TABLES_DATA}{rows}{margins}{NONNEGATIVE}{grid}"))
}

/// Parts of two cells, a two-way part, whose worst pair is cut short, and one of many cells.
fn privacy_table() -> String {
    let mut table = String::from("table,row,column,margin,count\n");
    for (i, count) in [0, 1, 2, 5, 9].into_iter().enumerate() {
        table += &format!("t{i},1,1,all,{count}\nt{i},1,2,all,{}\n", i + 1);
    }
    table += "two-way (2 × 2),1,1,c1,1\ntwo-way (2 × 2),1,2,c2,0\ntwo-way (2 × 2),2,1,c1,2\ntwo-way (2 × 2),2,2,c2,1\n";
    for i in 1..=40 {
        table += &format!("long,1,{i},all,{}\n", i % 3 * 1000);
    }
    table
}

/// The worst pairs around the table, its corner and everywhere.
#[test]
fn studies_of_privacy() {
    pin_run("privacy", &privacy(), &[("table.csv", &privacy_table())]);
    // A tree, with and without a promise of no negative counts; and three counts whose noise is listed.
    let grid = "[[grid]]\nepsilon = 0.5\nlaw = \"double-geometric\"\nmethod = { kind = \"exact\", nonnegative = [true, false] }\n";
    let tree = config("tree", &format!("study = \"privacy\"\n{TREE_DATA}{grid}"));
    pin_run("privacy_tree", &tree, &[("tree.csv", TREE)]);
    let grid = "[[grid]]\nepsilon = 2.0\nlaw = \"double-geometric\"\nmethod = [\"l2\", \"topdown\"]\n";
    let data = "[data]\ntable = \"tree.csv\"\nlevels = [\"zone\"]\ncount = \"count\"\n";
    let listed = config("listed", &format!("study = \"privacy\"\n{data}{grid}"));
    pin_run("privacy_listed", &listed, &[("tree.csv", "zone,count\na,2\nb,1\n")]);
}

/// One statement of what is paid, whichever way a config names the tree.
#[test]
fn a_tree_pays_the_same_as_levels_and_as_an_invariant() {
    let table = format!(
        "[data]\ntable = {:?}\ncount = \"trips\"\n",
        concat!(env!("CARGO_MANIFEST_DIR"), "/data/taxi/yellow_2022_01.csv")
    );
    let levels = "levels = [\"borough\", \"location_id\"]\n";
    let pays = |data: &str, method: &str| {
        let grid = format!("[[grid]]\nepsilon = 0.5\nlaw = \"double-geometric\"\nmethod = {method}\n");
        let text = format!("name = \"tree\"\nseed = 1\nreplicates = 1\n{table}{data}{grid}");
        let document = congenial::study::read(std::path::Path::new("tree.toml"), &text, &[]).unwrap();
        congenial::study::plan(document).unwrap().listing().json["cells"][0]["pays"].clone()
    };
    let as_levels = pays(levels, "{ kind = \"exact\", nonnegative = true }");
    let entry = "entry = [\"borough\", \"location_id\"]\n";
    let invariant = format!("{entry}[[invariant]]\nkind = \"hierarchy\"\n{levels}{NONNEGATIVE}");
    let as_invariant = pays(&invariant, "\"exact\"");
    for (change, epsilon) in [("added", 1.5), ("moved", 2.0), ("smallest", 1.5)] {
        for key in ["epsilon", "gamma", "epsilon_conditioned"] {
            let [a, b] = [&as_levels, &as_invariant].map(|pays| pays[change][key].as_f64().unwrap());
            assert!((a - b).abs() < 1e-12, "{change} {key}: {a} {b}");
        }
        assert!((as_levels[change]["epsilon"].as_f64().unwrap() - epsilon).abs() < 1e-12);
        assert_eq!(as_levels[change]["records"], as_invariant[change]["records"]);
    }
}

/// Table 1 on finite worlds, for several settings.
#[test]
fn studies_of_composition() {
    let body = "study = \"composition\"\n[worlds]\nworlds = [4, 5]\ncases = 20\nepsilon = [0.5, 1.0]\n";
    pin_run("composition", &config("worlds", body), &[]);
}

/// Cells that fail, in every study that has cells: chains that never move, and tables too large for exact sampling.
#[test]
fn failed_cells() {
    let chains = r#"
[[grid]]
epsilon = [0.5, 1.0]
law = ["double-geometric", "laplace"]
method = ["exact", { kind = "hierarchical-mh", steps = 1, proposal-scale = 1e6 }]
"#;
    let body = format!("replicates = 2\n{TREE_DATA}{chains}");
    pin_run("failed_hierarchy", &config("failed", &body), &[("tree.csv", TREE)]);
    let table = large_table();
    let release = "[[grid]]\nepsilon = 0.25\nlaw = \"l1\"\nmethod = [\"exact\", \"l2\"]\n";
    let body = format!("replicates = 2\n{TABLE_DATA}{MARGINS}{release}");
    pin_run("failed_table", &config("failed", &body), &[("table.csv", &table)]);
    let meeting = "[[grid]]\nepsilon = 0.25\nlaw = [\"l1\", \"l2\"]\nmethod = \"line-gibbs\"\nlag = 10\nmax-steps = 5000\n\
                   marginal-chains = 3\nmarginal-steps = 2\n";
    let body = format!("study = \"meeting\"\nreplicates = 2\n{TABLE_DATA}{MARGINS}{meeting}");
    pin_run("failed_meeting", &config("failed", &body), &[("table.csv", &table)]);
    let privacy = "[[grid]]\nepsilon = 0.25\nlaw = \"l1\"\nsensitivity = 2.0\n\
                   method = \"exact\"\n";
    let body = format!("study = \"privacy\"\n{TABLE_DATA}{MARGINS}{NONNEGATIVE}{privacy}");
    pin_run("failed_privacy", &config("failed", &body), &[("table.csv", &table)]);
}

/// Two runs of one name are told apart by their hash; runs of every study stand in one report.
#[test]
fn several_runs_in_one_report() {
    let tree = config(
        "same",
        &format!(
            "replicates = 3\n{TREE_DATA}\n[[grid]]\nepsilon = 1.0\nlaw = \"laplace\"\nmethod = [\"exact\", {{ kind = \
                \"hierarchical-mh\", steps = 100 }}]\n"
        ),
    );
    let table = config(
        "same",
        &format!(
            "replicates = 5\n{TABLE_DATA}{MARGINS}\n[[grid]]\nepsilon = 1.0\nlaw = \"l2\"\nmethod = [\"exact\", {{ \
                kind = \"line-gibbs\", sweeps = 5 }}]\n"
        ),
    );
    let place = Place::new(&[
        ("tree.csv", TREE),
        ("table.csv", TABLE),
        ("tree.toml", &tree),
        ("table.toml", &table),
        ("meeting.toml", &meeting_config()),
        ("worlds.toml", WORLDS),
        ("privacy.toml", &privacy()),
    ]);
    run(&place, "tree.toml", "first", &[]);
    run(&place, "tree.toml", "second", &["--set", "seed=2"]);
    pin_report(&place, "runs_of_one_name", &["first", "second"]);
    run(&place, "table.toml", "table", &[]);
    run(&place, "meeting.toml", "meeting", &["--set", "grid.epsilon=0.5"]);
    run(&place, "worlds.toml", "worlds", &[]);
    place.write("table.csv", &privacy_table());
    run(&place, "privacy.toml", "privacy", &["--set", "grid.epsilon=0.5"]);
    pin_report(&place, "runs_of_every_study", &["worlds", "privacy", "meeting", "table", "first"]);
}

fn meeting_config() -> String {
    let grid =
        "[[grid]]\nepsilon = [0.5, 1.0]\nlaw = \"l1\"\nmethod = \"line-gibbs\"\nlag = 20\nmax-steps = 60\n";
    config("meeting", &format!("study = \"meeting\"\nreplicates = 40\n{TABLE_DATA}{MARGINS}{grid}"))
}

const WORLDS: &str =
    "name = \"worlds\"\nseed = 1\nstudy = \"composition\"\n[worlds]\nworlds = 4\ncases = 5\nepsilon = 0.5\n";

/// Releases side by side: the same, equal, undecided, changed either way, and cells that one of the two has.
#[test]
fn comparisons_of_releases() {
    let grid = r#"
[[grid]]
epsilon = [0.5, 1.0]
law = "double-geometric"
method = ["exact", "l2"]

[compare]
margin = 0.2
margins = { l2 = 0.01 }
"#;
    let body = format!("replicates = 1500\n{TABLE_DATA}{MARGINS}{grid}");
    let place = Place::new(&[("table.csv", TABLE), ("config.toml", &config("compared", &body))]);
    run(&place, "config.toml", "base", &[]);
    run(&place, "config.toml", "same", &[]);
    pin_comparison(&place, "release_identical", &["base", "same", "--identical"], 0);
    run(&place, "config.toml", "seed", &["--set", "seed=2"]);
    pin_comparison(&place, "release_equal_or_undecided", &["base", "seed"], 0);
    run(
        &place,
        "config.toml",
        "part",
        &["--set", "grid.epsilon=[0.5, 2.0]", "--set", "grid.method=\"exact\""],
    );
    pin_comparison(&place, "release_only_in_one", &["base", "part", "--margin", "0.1"], 7);
    run(&place, "config.toml", "few", &["--set", "seed=3", "--set", "replicates=1"]);
    pin_comparison(&place, "release_few", &["base", "few", "--level", "0.01"], 0);
    for (by, name, code) in [(1.4, "worse", 3), (0.6, "better", 0)] {
        run(&place, "config.toml", name, &["--set", "seed=2"]);
        place.edit(name, |row: &mut ErrorRow| row.l1 *= by);
        pin_comparison(&place, &format!("release_{name}"), &["base", name], code);
    }
}

/// Cells that fail with one seed and not with another: a chain of one step may never move.
#[test]
fn comparisons_with_failed_cells() {
    let grid = r#"
[[grid]]
epsilon = 1.0
law = ["laplace", "double-geometric"]
method = ["exact", { kind = "hierarchical-mh", steps = 1, proposal-scale = 2.0 }]
"#;
    let body = format!("replicates = 1\n{TREE_DATA}{grid}");
    let place = Place::new(&[("tree.csv", TREE), ("config.toml", &config("failing", &body))]);
    // A seed with which no cell fails, and one with which some do.
    let fails = |seed: u32| {
        let out = format!("seed-{seed}");
        run(&place, "config.toml", &out, &["--set", &format!("seed={seed}")]);
        !place.failures(&out).is_empty()
    };
    let find = |wanted: bool| (1..40).find(|&seed| fails(seed) == wanted).unwrap();
    let (fine, failed) = (format!("seed-{}", find(false)), format!("seed-{}", find(true)));
    pin_comparison(&place, "failed_now", &[&fine, &failed], 7);
    pin_comparison(&place, "no_longer_failed", &[&failed, &fine], 0);
}

/// Meeting times, gammas and statements side by side.
#[test]
fn comparisons_of_other_studies() {
    let place = Place::new(&[
        ("table.csv", TABLE),
        ("meeting.toml", &meeting_config()),
        ("worlds.toml", WORLDS),
        ("privacy.toml", &privacy()),
    ]);
    run(&place, "meeting.toml", "meeting", &[]);
    run(&place, "meeting.toml", "meeting-seed", &["--set", "seed=2"]);
    run(
        &place,
        "meeting.toml",
        "meeting-cut",
        &["--set", "grid.max-steps=24", "--set", "grid.epsilon=[0.5, 2.0]"],
    );
    pin_comparison(&place, "meeting_identical", &["meeting", "meeting"], 0);
    pin_comparison(&place, "meeting_seed", &["meeting", "meeting-seed"], 0);
    pin_comparison(&place, "meeting_cut", &["meeting-cut", "meeting"], 7);
    run(&place, "meeting.toml", "meeting-slow", &["--set", "seed=2"]);
    place.edit("meeting-slow", |row: &mut PairRow| row.tau = row.tau.map(|tau| tau + 10));
    pin_comparison(&place, "meeting_changed", &["meeting", "meeting-slow"], 3);
    run(&place, "meeting.toml", "meeting-failed", &[]);
    place.fail("meeting-failed", |row: &PairRow| row.cell);
    pin_comparison(&place, "meeting_failed", &["meeting", "meeting-failed"], 7);
    run(&place, "worlds.toml", "worlds", &[]);
    run(&place, "worlds.toml", "worlds-seed", &["--set", "seed=2"]);
    run(&place, "worlds.toml", "worlds-more", &["--set", "worlds.worlds=[4, 5]"]);
    pin_comparison(&place, "composition_identical", &["worlds", "worlds"], 0);
    pin_comparison(&place, "composition_seed", &["worlds", "worlds-seed"], 0);
    pin_comparison(&place, "composition_only_in_one", &["worlds", "worlds-more"], 0);
    run(&place, "worlds.toml", "worlds-changed", &[]);
    let mut findings: Vec<FindingRow> = place.rows("worlds-changed");
    findings[..3].iter_mut().for_each(|row| row.holds = !row.holds);
    place.replace("worlds-changed", &findings);
    pin_comparison(&place, "composition_changed", &["worlds", "worlds-changed"], 3);
    // Signs in Table 1 that are not those printed.
    pin_report(&place, "composition_refuted", &["worlds-changed"]);
    place.write("table.csv", &privacy_table());
    run(&place, "privacy.toml", "privacy", &[]);
    run(&place, "privacy.toml", "privacy-part", &["--set", "grid.epsilon=[0.5, 2.0]"]);
    pin_comparison(&place, "privacy_identical", &["privacy", "privacy"], 0);
    pin_comparison(&place, "privacy_only_in_one", &["privacy", "privacy-part"], 7);
    run(&place, "privacy.toml", "privacy-worse", &[]);
    place.edit("privacy-worse", |row: &mut PaidRow| row.gamma *= 1.1);
    pin_comparison(&place, "privacy_changed", &["privacy", "privacy-worse"], 3);
    run(&place, "privacy.toml", "privacy-failed", &[]);
    place.fail("privacy-failed", |row: &PaidRow| row.cell);
    pin_comparison(&place, "privacy_failed", &["privacy", "privacy-failed"], 7);
    pin_comparison(&place, "privacy_no_longer_failed", &["privacy-failed", "privacy"], 0);
}
