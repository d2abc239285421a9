//! Answers by node and by query, as a user asks for them: beside a plain recomputation from draws that are kept.
#![allow(clippy::disallowed_methods)] // Tests open files of their own.

use crate::place::{Place, TABLE, TABLE_DATA, partition};
use congenial::study::cells::CellRow;
use congenial::study::release::{AnswerRow, ErrorRow, GroupRow, NodeDrawRow, NodeRow, QueryRow, SizeRow};
use congenial::table::{Data, Key, Reader};
use std::collections::{BTreeMap, HashMap};

/// Leaves that do not stand parent by parent; districts cut across counties, and a name stands under two parents.
const LEAVES: &str = "\
state,county,district,age,population
A,x,1,young,0
B,x,2,young,5
A,y,1,old,40
A,x,2,old,200
B,z,2,old,3000
A,y,3,young,12
B,x,3,old,70000
";

const DATA: &str = r#"
[data]
table = "leaves.csv"
levels = ["state", "county", "age"]
count = "population"
"#;

fn config(front: &str, grid: &str) -> String {
    format!("name = \"answers\"\nseed = 5\nreplicates = 60\n{front}{DATA}{grid}")
}

const QUERIES: &str = "report.queries = [[\"state\"], [\"county\", \"state\"], [\"county\"], [\"district\", \"age\"], [\"age\"]]\n";

const GRID: &str = r#"
[[grid]]
epsilon = 0.5
law = ["laplace", "double-geometric"]
method = ["unconstrained", "l2", "topdown", { kind = "line-gibbs", sweeps = 20, nonnegative = true }]

[[grid]]
epsilon = 0.5
delta = 1e-5
law = ["gaussian", "discrete-gaussian"]
method = ["exact", "unconstrained"]
"#;

fn place(config: &str) -> Place {
    Place::new(&[("leaves.csv", LEAVES), ("config.toml", config)])
}

/// `|a - b|` to rounding.
fn close(a: f64, b: f64, what: &str) {
    assert!((a - b).abs() <= 1e-9 * (1.0 + a.abs()), "{what}: {a}, want {b}");
}

/// The mean of some values and its standard error, in two passes.
fn mean(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
    (mean, (squares / (n - 1.0) / n).sqrt())
}

/// The quantile between order statistics.
fn quantile(values: &[f64], p: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = p * (values.len() - 1) as f64;
    let low = at.floor() as usize;
    let high = (low + 1).min(values.len() - 1);
    sorted[low] + (at - low as f64) * (sorted[high] - sorted[low])
}

/// Compares a row with the errors of its group by replicate.
fn check(row: &AnswerRow, errors: &[f64], what: &str) {
    let absolute: Vec<f64> = errors.iter().map(|z| z.abs()).collect();
    let squares: Vec<f64> = errors.iter().map(|z| z * z).collect();
    let (bias, mae, mse) = (mean(errors), mean(&absolute), mean(&squares));
    let rmse = mse.0.sqrt();
    let rmse_se = if rmse > 0.0 { mse.1 / (2.0 * rmse) } else { 0.0 };
    for (found, want) in [
        (row.mean.mean, bias.0),
        (row.mean.standard_error, bias.1),
        (row.mae.mean, mae.0),
        (row.mae.standard_error, mae.1),
        (row.rmse.mean, rmse),
        (row.rmse.standard_error, rmse_se),
        (row.low_50.unwrap(), quantile(errors, 0.25)),
        (row.high_50.unwrap(), quantile(errors, 0.75)),
        (row.low_90.unwrap(), quantile(errors, 0.05)),
        (row.high_90.unwrap(), quantile(errors, 0.95)),
        (row.low_95.unwrap(), quantile(errors, 0.025)),
        (row.high_95.unwrap(), quantile(errors, 0.975)),
    ] {
        close(found, want, what);
    }
    if let Some(width) = row.stated {
        let held = errors.iter().filter(|z| z.abs() <= width + 1e-6).count();
        close(row.coverage.unwrap(), held as f64 / errors.len() as f64, what);
    }
    assert_eq!((row.replicates, row.quantile_replicates), (errors.len() as u64, errors.len() as u64));
}

/// Columns and count.
type Leaf = (BTreeMap<&'static str, &'static str>, i64);

/// The leaves of the file.
fn leaves() -> Vec<Leaf> {
    let mut lines = LEAVES.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    let leaf = |line: &'static str| {
        let row: BTreeMap<&str, &str> = header.iter().copied().zip(line.split(',')).collect();
        let count = row["population"].parse().unwrap();
        (row, count)
    };
    lines.map(leaf).collect()
}

/// A run that keeps all draws, and what it says of its groups.
struct Kept {
    place: Place,
    nodes: Vec<NodeRow>,
    queries: Vec<QueryRow>,
    /// Columns and values, by query and group.
    groups: BTreeMap<(u32, u64), Vec<(String, String)>>,
    /// Errors by replicate, by cell and path.
    draws: HashMap<(Key, String), Vec<f64>>,
}

impl Kept {
    fn new() -> Self {
        let place = place(&config(&format!("keep-draws = true\n{QUERIES}"), GRID));
        place.prints(&["run", "config.toml", "--out", "out"]);
        let nodes: Vec<NodeRow> = place.rows("out");
        let mut draws: HashMap<(Key, String), Vec<f64>> = HashMap::new();
        for row in place.rows::<NodeDrawRow>("out") {
            let node = &nodes[row.node as usize - 1];
            assert_eq!(node.node, row.node);
            let errors = draws.entry((row.cell, node.path.clone())).or_default();
            assert_eq!(errors.len() as u64, row.replicate);
            errors.push(row.error);
        }
        let mut groups: BTreeMap<(u32, u64), Vec<(String, String)>> = BTreeMap::new();
        for row in place.rows::<GroupRow>("out") {
            groups.entry((row.query, row.group)).or_default().push((row.column, row.value));
        }
        Self { queries: place.rows("out"), place, nodes, groups, draws }
    }

    /// Errors of a node by replicate.
    fn node(&self, cell: Key, path: &str) -> &[f64] {
        &self.draws[&(cell, path.to_owned())]
    }

    /// What a group is of: columns and values.
    fn keys(&self, row: &AnswerRow) -> &[(String, String)] {
        &self.groups[&(row.query, row.group)]
    }

    /// The leaves of a group.
    fn inside(&self, row: &AnswerRow) -> Vec<Leaf> {
        let keys = self.keys(row);
        leaves().into_iter().filter(|(leaf, _)| keys.iter().all(|(c, v)| leaf[c.as_str()] == v)).collect()
    }

    /// Errors of a group by replicate, from the draws of its nodes.
    fn errors(&self, row: &AnswerRow) -> Vec<f64> {
        let values: Vec<&str> = self.keys(row).iter().map(|(_, value)| value.as_str()).collect();
        match self.queries[row.query as usize - 1].columns.as_str() {
            "state" => self.node(row.cell, &row.name).to_vec(),
            "county, state" => self.node(row.cell, &format!("{}/{}", values[1], values[0])).to_vec(),
            _ => {
                let path = |(leaf, _): &Leaf| format!("{}/{}/{}", leaf["state"], leaf["county"], leaf["age"]);
                let paths: Vec<String> = self.inside(row).iter().map(path).collect();
                let sum = |i: usize| paths.iter().map(|path| self.node(row.cell, path)[i]).sum();
                (0..60).map(sum).collect()
            }
        }
    }
}

/// Paths, levels, names and counts, by the leaves of the file.
#[test]
fn nodes_are_those_of_the_data() {
    let kept = Kept::new();
    let leaves = leaves();
    let of_path = |path: &str| -> i64 {
        let under = |row: &BTreeMap<&str, &str>| {
            let full = format!("{}/{}/{}", row["state"], row["county"], row["age"]);
            path.is_empty() || full == path || full.starts_with(&format!("{path}/"))
        };
        leaves.iter().filter(|(row, _)| under(row)).map(|(_, count)| count).sum()
    };
    assert_eq!(kept.nodes.len(), 1 + 2 + 4 + 7);
    for node in &kept.nodes {
        assert_eq!(node.count, of_path(&node.path), "{}", node.path);
        let depth = if node.path.is_empty() { 0 } else { node.path.split('/').count() };
        assert_eq!(node.level as usize, depth + 1);
        assert_eq!(node.level_name, ["total", "state", "county", "age"][depth]);
        assert_eq!(node.name, if depth == 0 { "total" } else { node.path.rsplit('/').next().unwrap() });
    }
}

#[test]
fn errors_of_a_level_are_sums_over_its_nodes() {
    let kept = Kept::new();
    for row in kept.place.rows::<ErrorRow>("out") {
        let level = kept.nodes.iter().filter(|node| node.level == row.level);
        let l1: f64 = level.map(|node| kept.node(row.cell, &node.path)[row.replicate as usize].abs()).sum();
        close(row.l1, l1, "L1 of a level");
    }
}

#[test]
fn queries_whose_groups_are_the_nodes_of_a_level_say_so() {
    let kept = Kept::new();
    let levels: Vec<Option<u32>> = kept.queries.iter().map(|query| query.level).collect();
    // The county x stands in both states.
    assert_eq!(levels, [Some(2), Some(3), None, None, None]);
}

#[test]
fn groups_have_the_names_and_counts_of_the_data() {
    let kept = Kept::new();
    for row in kept.place.rows::<AnswerRow>("out") {
        let query = &kept.queries[row.query as usize - 1];
        let keys = kept.keys(&row);
        let values: Vec<&str> = keys.iter().map(|(_, value)| value.as_str()).collect();
        let columns: Vec<&str> = keys.iter().map(|(column, _)| column.as_str()).collect();
        assert_eq!((row.name.as_str(), query.columns.as_str()), (&*values.join("/"), &*columns.join(", ")));
        assert_eq!(row.count, kept.inside(&row).iter().map(|(_, count)| count).sum::<i64>());
    }
}

#[test]
fn answers_are_those_of_the_draws_that_are_kept() {
    let kept = Kept::new();
    let cells = kept.place.cells("out");
    let mut seen = 0;
    for row in kept.place.rows::<AnswerRow>("out") {
        let what = format!("{}, {}", cells[&row.cell].words(), row.name);
        check(&row, &kept.errors(&row), &what);
        seen += 1;
    }
    let number = cells.len();
    assert_eq!(seen, number * (2 + 4 + 3 + 6 + 2));
}

/// Figures by size are means over the groups whose counts have it, replicate by replicate.
#[test]
fn figures_by_size_are_means_over_groups() {
    let kept = Kept::new();
    let mut by_size: HashMap<(Key, u32, String), Vec<Vec<f64>>> = HashMap::new();
    for row in kept.place.rows::<AnswerRow>("out") {
        let size = match row.count {
            0 => "0",
            1..=9 => "1-9",
            10..=99 => "10-99",
            100..=999 => "100-999",
            1000..=9999 => "1,000-9,999",
            _ => "10,000+",
        };
        by_size.entry((row.cell, row.query, size.to_owned())).or_default().push(kept.errors(&row));
    }
    let sizes: Vec<SizeRow> = kept.place.rows("out");
    assert_eq!(sizes.len(), by_size.len());
    for row in sizes {
        let groups = &by_size[&(row.cell, row.query, row.size.clone())];
        assert_eq!(row.groups as usize, groups.len());
        let over = |of: fn(f64) -> f64| -> Vec<f64> {
            (0..60)
                .map(|i| groups.iter().map(|errors| of(errors[i])).sum::<f64>() / groups.len() as f64)
                .collect()
        };
        let (bias, mae, mse) = (mean(&over(|z| z)), mean(&over(f64::abs)), mean(&over(|z| z * z)));
        close(row.mean.mean, bias.0, "bias");
        close(row.mean.standard_error, bias.1, "its error");
        close(row.mae.mean, mae.0, "mae");
        close(row.mae.standard_error, mae.1, "its error");
        close(row.rmse.mean, mse.0.sqrt(), "rmse");
        let want = if mse.0 > 0.0 { mse.1 / (2.0 * mse.0.sqrt()) } else { 0.0 };
        close(row.rmse.standard_error, want, "its error");
    }
}

/// The other rows leave them empty.
#[test]
fn answers_as_csv_have_the_keys_of_the_data() {
    let Kept { place, .. } = Kept::new();
    place.prints(&["report", "out", "--out", "report"]);
    let csv = std::fs::read_to_string(place.path("report/answers.csv")).unwrap();
    assert!(csv.starts_with("run,state,county,district,age,data,seed,law,"), "{csv}");
    assert!(csv.contains("\nanswers,A,y,,,") && csv.contains("\nanswers,,,1,old,"), "{csv}");
    assert!(place.path("report/sizes.csv").exists());
}

/// A run of a table whose rows keep their sums, with all draws: queries of rows and of columns.
fn kept_table() -> Place {
    let grid = r#"
report.queries = [["row"], ["column"]]
[[grid]]
epsilon = 0.5
law = ["laplace", "l1"]
method = ["exact", "l2"]

[[grid]]
epsilon = 0.5
law = "l1"
method = { kind = "line-gibbs", sweeps = 20 }
replicates = 4
records = 10
"#;
    let rows = partition(&["row"]);
    let front = "name = \"table\"\nseed = 1\nreplicates = 50\nkeep-draws = true\n";
    let (top, grid) = grid.split_at(grid.find("[[grid]]").unwrap());
    let text = format!("{front}{}{TABLE_DATA}{rows}{grid}", top.trim_start());
    let place = Place::new(&[("table.csv", TABLE), ("config.toml", &text)]);
    place.prints(&["run", "config.toml", "--out", "out"]);
    place
}

/// The sums of columns, beside the draws of their entries.
#[test]
fn answers_on_a_table_are_those_of_its_draws() {
    let place = kept_table();
    let columns = [("x", ["a/x", "b/x", "c/x"]), ("y", ["a/y", "b/y", "c/y"])];
    let mut drawn = 0;
    for (cell, row) in place.with_cells("out", |row: &AnswerRow| row.cell) {
        if cell.method.name() == "line-gibbs" || row.query == 1 {
            continue;
        }
        let file = place.path(&format!("out/cells/{}/draws.parquet", cell.cell));
        let entries = columns.iter().find(|(name, _)| *name == row.name).unwrap().1;
        let reader = Reader::open(&file).unwrap();
        let fields = reader.fields().to_vec();
        let mut errors = Vec::new();
        reader
            .groups(|columns| {
                let value = |name: &str, row: usize| {
                    let place = fields.iter().position(|field| field.name == name).unwrap();
                    match &columns[place].data {
                        Data::F64(values) => values[row],
                        Data::I64(values) => values[row] as f64,
                        other => panic!("{other:?}"),
                    }
                };
                let sum = |row: usize| entries.iter().map(|name| value(name, row)).sum();
                errors.extend((0..columns[0].len()).map(sum).collect::<Vec<f64>>());
                Ok(true)
            })
            .unwrap();
        assert_eq!(errors.len(), 50);
        check(&row, &errors, &cell.words());
        drawn += 1;
    }
    assert_eq!(drawn, 4 * 2);
}

#[test]
fn sums_that_a_table_keeps_are_answered_without_error() {
    let place = kept_table();
    for (cell, row) in place.with_cells("out", |row: &AnswerRow| row.cell) {
        if cell.method.name() != "line-gibbs" && row.query == 1 {
            assert!(row.rmse.mean < 1e-9 && row.count > 0, "sums of rows are kept: {row:?}");
        }
    }
}

#[test]
fn chains_that_record_answer_by_their_last_states() {
    let place = kept_table();
    let mut recorded = 0;
    for (cell, row) in place.with_cells("out", |row: &AnswerRow| row.cell) {
        if cell.method.name() == "line-gibbs" {
            // One for each chain.
            assert_eq!(row.replicates, 4);
            recorded += 1;
        }
    }
    assert_eq!(recorded, 5);
}

/// What `P(|error| <= c)` is of a sum of double geometric values of scale 2.
fn held(members: usize, c: f64) -> f64 {
    let (a, reach) = (libm::exp(-0.5), 60i64);
    let law = |z: i64| (1.0 - a) / (1.0 + a) * libm::pow(a, z.abs() as f64);
    let mut sums = HashMap::from([(0i64, 1.0)]);
    for _ in 0..members {
        let mut next: HashMap<i64, f64> = HashMap::new();
        for (at, p) in &sums {
            (-reach..=reach).for_each(|z| *next.entry(at + z).or_default() += p * law(z));
        }
        sums = next;
    }
    sums.iter().filter(|(z, _)| z.abs() as f64 <= c).map(|(_, p)| p).sum()
}

const MANY: usize = 40_000;

/// Answers with so many replicates that shares of them are known well.
fn many_answers() -> Vec<(CellRow, AnswerRow)> {
    let grid = r#"
[[grid]]
epsilon = 0.5
law = ["laplace", "double-geometric"]
method = ["unconstrained", "l2", "exact"]

[[grid]]
epsilon = 1.0
delta = 1e-5
split = [[0.5, 0.2, 0.2, 0.1]]
law = ["gaussian", "discrete-gaussian"]
method = ["unconstrained", "l2", "exact", { kind = "line-gibbs", sweeps = 5, nonnegative = true }]
"#;
    let place = place(&config(QUERIES, grid));
    let many = ["run", "config.toml", "--out", "out", "--set", &format!("replicates={MANY}")];
    place.prints(&many);
    place.with_cells("out", |row: &AnswerRow| row.cell)
}

/// Whether the law of an error is known, and not by its variance alone.
fn is_exact(cell: &CellRow) -> bool {
    cell.law.name() == "gaussian" || cell.method.is_free() || is_sum_law(cell)
}

/// Whether the law is that of a sum of integers given the equations of a tree.
fn is_sum_law(cell: &CellRow) -> bool {
    ["double-geometric", "discrete-gaussian"].contains(&cell.law.name()) && cell.method.name() == "exact"
}

fn what(cell: &CellRow, row: &AnswerRow) -> String {
    format!("{}, query {}, {}", cell.words(), row.query, row.name)
}

/// Free noise and least squares have them, and what is conditioned where noise is normal, or whole and on a tree.
#[test]
fn intervals_are_stated_where_variances_are_known_and_say_by_what() {
    for (cell, row) in &many_answers() {
        let what = what(cell, row);
        let free = matches!(cell.method.name(), "unconstrained" | "l2");
        let stated =
            free || (cell.law.name(), cell.method.name()) == ("gaussian", "exact") || is_sum_law(cell);
        assert_eq!((row.stated.is_some(), row.coverage.is_some()), (stated, stated), "{what}");
        if stated {
            let exact = is_exact(cell);
            assert_eq!(row.stated_by.as_deref(), Some(if exact { "exact" } else { "normal" }), "{what}");
        }
    }
}

/// The share of stated intervals that hold is the nominal one, where the law of the error is known: of what is exact it
/// is at least that. Of 100 figures none may be 4.5 standard deviations away (7e-6 each).
#[test]
fn stated_intervals_hold_as_often_as_they_say() {
    let n = MANY as f64;
    let columns: [&[&str]; 5] =
        [&["state"], &["county", "state"], &["county"], &["district", "age"], &["age"]];
    let members = |row: &AnswerRow| {
        let of = |values: &BTreeMap<&str, &str>| {
            columns[row.query as usize - 1].iter().map(|column| values[column]).eq(row.name.split('/'))
        };
        leaves().iter().filter(|(values, _)| of(values)).count()
    };
    let mut judged = 0;
    for (cell, row) in &many_answers() {
        let what = what(cell, row);
        let (Some(width), Some(coverage)) = (row.stated, row.coverage) else { continue };
        // Nodes of levels have noise of their own.
        let members = if row.query <= 2 { 1 } else { members(row) };
        let deviation = (0.95f64 * 0.05 / n).sqrt();
        if is_exact(cell) {
            assert!(coverage > 0.95 - 4.5 * deviation, "{what}: {coverage}");
        }
        // As often as it says at least; that one less holds less often the core tests.
        if is_sum_law(cell) {
            continue;
        }
        let nominal = match (cell.law.name(), cell.method.name()) {
            ("gaussian", _) | ("laplace", "unconstrained") => 0.95,
            ("double-geometric", "unconstrained") => {
                // The least c that holds at least 95 %; all levels have the scale 2.
                assert!(held(members, width) >= 0.95 && held(members, width - 1.0) < 0.95, "{what}");
                held(members, width)
            }
            // By variance, of other noise: near.
            _ => {
                assert!((coverage - 0.95).abs() < 0.03, "{what}: {coverage}");
                continue;
            }
        };
        let deviation = (nominal * (1.0 - nominal) / n).sqrt();
        assert!((coverage - nominal).abs() < 4.5 * deviation, "{what}: {coverage}, want {nominal}");
        judged += 1;
    }
    // Three Gaussian cells and two others, with 17 groups.
    assert_eq!(judged, 5 * 17);
}

/// Little noise: 1.96 standard deviations of a sum of four integers are 0.99, and hold it where all errors cancel, 79 %.
#[test]
fn little_noise_is_held_as_well() {
    let mut table = "a,b,n\n".to_owned();
    (0..20).for_each(|i| table += &format!("a{},b{},{}\n", i / 5, i % 5, 7 * i));
    let text = "name = \"little\"\nseed = 9\nreplicates = 20000\nreport.queries = [[\"b\"]]\n[data]\ntable = \
        \"d.csv\"\ncount = \"n\"\nlevels = [\"a\", \"b\"]\n\
                [[grid]]\nepsilon = 5.0\nlaw = \"double-geometric\"\nsplit = [[0.1, 0.2, 0.7]]\nmethod = [\"unconstrained\", \"l2\"]\n";
    let place = Place::new(&[("d.csv", &table), ("config.toml", text)]);
    place.prints(&["run", "config.toml", "--out", "out"]);
    for (cell, row) in place.with_cells("out", |row: &AnswerRow| row.cell) {
        match cell.method.name() {
            "unconstrained" => {
                assert_eq!((row.stated, row.stated_by.as_deref()), (Some(1.0), Some("exact")));
                assert!(row.coverage.unwrap() > 0.98, "{row:?}");
            }
            // What is no quantile says so.
            _ => assert_eq!(row.stated_by.as_deref(), Some("normal")),
        }
    }
    assert!(place.rows::<SizeRow>("out").iter().all(|row| row.stated_by.is_some()));
    let page = place.prints(&["report", "out", "--full"]);
    let by = |method: &str| page.lines().any(|line| line.contains(method) && line.contains(" normal "));
    assert!(
        page.contains("little: stated 95 % intervals, ") && by(" l2 ") && !by(" unconstrained "),
        "{page}"
    );
}

/// Stated intervals hold on a table, where least squares and conditioning of Gaussian noise have one law.
#[test]
fn stated_intervals_on_a_table() {
    let grid = "\n[[grid]]\nepsilon = 0.5\ndelta = 1e-5\nlaw = \"gaussian\"\nmethod = [\"unconstrained\", \"l2\", \"exact\"]\n";
    let queries = "report.queries = [[\"row\"], [\"column\"], [\"row\", \"column\"]]\n";
    let rows = partition(&["row"]);
    let text = format!("name = \"table\"\nseed = 2\nreplicates = 40000\n{queries}{TABLE_DATA}{rows}{grid}");
    let place = Place::new(&[("table.csv", TABLE), ("config.toml", &text)]);
    place.prints(&["run", "config.toml", "--out", "out"]);
    for (cell, row) in place.with_cells("out", |row: &AnswerRow| row.cell) {
        let coverage = row.coverage.unwrap();
        if row.query == 1 && !cell.method.is_free() {
            assert_eq!((row.stated, coverage), (Some(0.0), 1.0));
            continue;
        }
        let deviation = (0.95f64 * 0.05 / 40_000.0).sqrt();
        assert!((coverage - 0.95).abs() < 4.5 * deviation, "{} {}: {coverage}", cell.words(), row.name);
    }
    // Entries that nothing ties have the noise itself: sums of integers, whose law is convolved.
    let set = "\n[[invariant]]\nkind = \"subsets\"\nsets = [[1, 2]]\n";
    let free = text.replace("gaussian", "double-geometric").replace("delta = 1e-5\n", "").replace(&rows, set);
    place
        .write("config.toml", &free.replace("\"exact\"", "\"exact\", { kind = \"line-gibbs\", sweeps = 3 }"));
    place.prints(&["run", "config.toml", "--out", "free", "--set", "replicates=50"]);
    let answers: Vec<AnswerRow> = place.rows("free");
    let methods = answers.chunks(3 + 2 + 6);
    assert_eq!(methods.len(), 4);
    for (own, row) in methods.flat_map(|rows| answers.iter().zip(rows)) {
        let untied = row.name.starts_with(['b', 'c']);
        assert!(!untied || (row.stated, row.stated_by.as_deref()) == (own.stated, Some("exact")), "{row:?}");
        // A single count and a sum of two.
        assert!(
            !untied || row.stated.is_some_and(|half| half == if row.query == 1 { 8.0 } else { 6.0 }),
            "{row:?}"
        );
    }
    // With an inequality conditioning states none.
    let bounded = text.replace("[[grid]]", "[[invariant]]\nkind = \"nonnegative\"\n[[grid]]");
    place.write("config.toml", &bounded.replace("\"unconstrained\", \"l2\", ", ""));
    place.prints(&["run", "config.toml", "--out", "bounded", "--set", "replicates=20"]);
    assert!(
        place.rows::<AnswerRow>("bounded").iter().all(|row| row.stated.is_none() && row.coverage.is_none())
    );
}

/// Sizes by hand: every limit on both of its sides.
#[test]
fn sizes_of_counts() {
    let counts = [0, 1, 9, 10, 99, 100, 999, 1000, 9999, 10_000, 123_456];
    let leaves: String = counts.iter().enumerate().map(|(i, count)| format!("{i},{count}\n")).collect();
    let text = "name = \"sizes\"\nseed = 1\nreplicates = 3\nreport.queries = [[\"leaf\"]]\n[data]\ntable = \"leaves.csv\"\n\
                levels = [\"leaf\"]\ncount = \"count\"\n[[grid]]\nepsilon = 1.0\nlaw = \"laplace\"\nmethod = \"exact\"\n";
    let place = Place::new(&[("leaves.csv", &format!("leaf,count\n{leaves}")), ("config.toml", text)]);
    place.prints(&["run", "config.toml", "--out", "out"]);
    let found: Vec<(String, u64)> =
        place.rows::<SizeRow>("out").into_iter().map(|row| (row.size, row.groups)).collect();
    let want = [("0", 1), ("1-9", 2), ("10-99", 2), ("100-999", 2), ("1,000-9,999", 2), ("10,000+", 2)];
    assert!(found.iter().map(|(size, groups)| (size.as_str(), *groups)).eq(want), "{found:?}");
}

/// Only the levels that are asked for, and nothing else changes.
#[test]
fn some_levels_are_kept() {
    let place = place(&config("", GRID));
    place.prints(&["run", "config.toml", "--out", "plain"]);
    place.prints(&["run", "config.toml", "--out", "all", "--set", "keep-draws=true"]);
    let some = ["run", "config.toml", "--out", "some", "--set", "keep-draws=[\"county\", \"total\"]"];
    place.prints(&some);
    assert!(!place.path("plain/nodes.parquet").exists() && !place.path("plain/answers.parquet").exists());
    let cells = place.rows::<CellRow>("plain");
    for out in ["all", "some"] {
        assert_eq!(place.rows::<CellRow>(out), cells);
        assert_eq!(place.rows::<ErrorRow>(out), place.rows::<ErrorRow>("plain"));
    }
    let kept: Vec<NodeRow> = place.rows("some");
    assert!(kept.iter().map(|node| node.level).eq([1, 3, 3, 3, 3]), "{kept:?}");
    let all: Vec<NodeRow> = place.rows("all");
    assert!(kept.iter().all(|node| all[node.node as usize - 1] == *node));
    let numbers: Vec<u64> = kept.iter().map(|node| node.node).collect();
    let mut want: Vec<NodeDrawRow> = place.rows("all");
    want.retain(|row| numbers.contains(&row.node));
    assert_eq!(place.rows::<NodeDrawRow>("some"), want);
    // The resolved config asks for the same.
    let resolved = std::fs::read_to_string(place.path("some/config.resolved.toml")).unwrap();
    assert!(resolved.contains("keep-draws = [\"total\", \"county\"]"), "{resolved}");
}

/// Threads, shards and a run that is killed on the way: the same rows.
#[test]
fn rows_do_not_depend_on_how_a_run_is_made() {
    let grid = "\n[[grid]]\nepsilon = [0.5, 1.0]\nlaw = \"double-geometric\"\nmethod = \
        [{ kind = \"line-gibbs\", sweeps = 4000 }, \"topdown\"]\n";
    let place = place(&config(&format!("keep-draws = [\"county\"]\n{QUERIES}"), grid));
    let run = ["run", "config.toml", "--set", "replicates=300", "--out"];
    let with = |more: &[&'static str]| -> Vec<&str> { [&run[..], more].concat() };
    place.prints(&with(&["one", "--threads", "1"]));
    let want = place.prints(&["digest", "one"]);
    for table in ["answers", "sizes", "groups", "queries", "nodes", "node_draws"] {
        assert!(want.contains(&format!("{table}.parquet")), "{want}");
    }
    place.prints(&with(&["four", "--threads", "4"]));
    assert_eq!(place.prints(&["digest", "four"]), want);
    for shard in ["1/3", "2/3", "3/3"] {
        place.prints(&with(&["merged", "--shard", shard]));
    }
    place.prints(&["merge", "config.toml", "--set", "replicates=300", "--out", "merged"]);
    assert_eq!(place.prints(&["digest", "merged"]), want);
    // The resolved config is the same study.
    place.prints(&["run", "one/config.resolved.toml", "--out", "again"]);
    assert_eq!(place.prints(&["digest", "again"]), want);
    // Killed with some of its batches in the journal.
    for wait in [100, 250, 400] {
        let mut killed = std::process::Command::new(env!("CARGO_BIN_EXE_congenial"))
            .current_dir(place.path("."))
            .args(with(&["killed", "--threads", "1", "--resume"]))
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_millis(wait));
        killed.kill().unwrap();
        killed.wait().unwrap();
    }
    place.prints(&with(&["killed", "--resume"]));
    assert_eq!(place.prints(&["digest", "killed"]), want);
    // Of more replicates the first are the same.
    place.prints(&["run", "config.toml", "--set", "replicates=310", "--out", "more"]);
    let (few, more): (Vec<NodeDrawRow>, Vec<NodeDrawRow>) = (place.rows("one"), place.rows("more"));
    let first: Vec<&NodeDrawRow> = more.iter().filter(|row| row.replicate < 300).collect();
    assert!(first.into_iter().eq(few.iter()));
}

/// What cannot be asked is refused with what can be.
#[test]
fn what_cannot_be_asked_is_refused() {
    let place = place(&config("", "\n[[grid]]\nepsilon = 1.0\nlaw = \"laplace\"\nmethod = \"exact\"\n"));
    let refuses = |set: &str, wanted: &[&str]| {
        place.refuses(&["run", "config.toml", "--out", "out", "--set", set], wanted);
        assert!(!place.path("out").exists() && !place.path("out.partial").exists());
    };
    refuses("keep-draws=[\"borough\"]", &["keep-draws: got `borough`", "total, state, county, age"]);
    refuses("keep-draws=[]", &["keep-draws: got an empty list"]);
    refuses("keep-draws=[\"state\", \"state\"]", &["keep-draws: got \"state\" twice"]);
    refuses("keep-draws=3", &["true, false or a list of names of levels"]);
    refuses("report.queries=[]", &["report.queries: got an empty list"]);
    refuses("report.queries=[[]]", &["report.queries: got a query without columns"]);
    refuses("report.queries=[[\"state\"], [\"region\"]]", &["got `region`", "state, county, district, age"]);
    refuses("report.queries=[[\"population\"]]", &["got `population`", "it is the column of the counts"]);
    refuses("report.queries=[[\"age\", \"state\"], [\"state\", \"age\"]]", &["[\"state\", \"age\"] twice"]);
    refuses("report.queries=[[\"age\", \"age\"]]", &["got \"age\" twice"]);
    let rows = partition(&["row"]);
    let grid = "\n[[grid]]\nepsilon = 1.0\nlaw = \"l1\"\nmethod = \"exact\"\n";
    place.write("table.csv", TABLE);
    place.write("config.toml", &format!("name = \"t\"\nseed = 1\nreplicates = 3\n{TABLE_DATA}{rows}{grid}"));
    refuses("keep-draws=[\"row\"]", &["keep-draws: got a list of levels", "a table has one level"]);
    refuses("report.queries=[[\"rows\"]]", &["got `rows`", "row, column, in_1, in_2"]);
    refuses("report.queries=[[\"count\"]]", &["it is the column of the counts"]);
}

/// No line of a page is wider than 100 columns, however many groups and however long their names.
#[test]
fn pages_are_narrow_and_short() {
    let name = |i: usize| format!("county of a rather long name number {i}");
    let leaves: String = (0..3000).map(|i| format!("s{},{},{}\n", i % 50, name(i), i * i)).collect();
    let text = "name = \"wide\"\nseed = 1\nreplicates = 5\nreport.queries = [[\"state\", \"county\"], \
        [\"state\"]]\n[data]\ntable = \"leaves.csv\"\n\
                levels = [\"state\", \"county\"]\ncount = \"count\"\n[[grid]]\nepsilon = 0.01\nlaw = \
                \"laplace\"\nmethod = [\"unconstrained\", \"topdown\"]\n";
    let place =
        Place::new(&[("leaves.csv", &format!("state,county,count\n{leaves}")), ("config.toml", text)]);
    place.prints(&["run", "config.toml", "--out", "out"]);
    let page = place.prints(&["report", "out", "--full"]);
    let start = page.find("wide: stated 95 % intervals, 3,000 counts").unwrap();
    let end = start + page[start..].find("What a release pays").unwrap();
    let answers = &page[start..end];
    assert!(answers.lines().count() < 150, "{answers}");
    let widest = answers.lines().map(|line| line.chars().count()).max().unwrap();
    assert!(widest <= 100, "{widest}:\n{answers}");
    assert!(
        answers.contains("errs most") && answers.contains("largest, 3,000 counts by state, county"),
        "{answers}"
    );
}

/// Quantiles are of the first replicates, as many as 16,000,000 errors allow; of more than 160,000 groups there are none.
#[test]
fn quantiles_are_of_the_first_replicates() {
    let text = |method: &str| {
        format!(
            "name = \"many\"\nseed = 1\nreplicates = 2\nreport.queries = [[\"leaf\"]]\n[data]\ntable = \"leaves.csv\"\n\
             levels = [\"leaf\"]\ncount = \"count\"\n[[grid]]\nepsilon = 1.0\nlaw = \"laplace\"\nmethod = \"{method}\"\n"
        )
    };
    let leaves =
        |n: usize| "leaf,count\n".to_owned() + &(0..n).map(|i| format!("{i},1\n")).collect::<String>();
    let place = Place::new(&[("leaves.csv", &leaves(400)), ("config.toml", &text("unconstrained"))]);
    for (out, replicates) in [("most", "replicates=40000"), ("more", "replicates=41000")] {
        place.prints(&["run", "config.toml", "--out", out, "--set", replicates]);
    }
    let (most, more): (Vec<AnswerRow>, Vec<AnswerRow>) = (place.rows("most"), place.rows("more"));
    assert_eq!(most.len(), 400);
    for (a, b) in most.iter().zip(&more) {
        assert_eq!((a.quantile_replicates, b.quantile_replicates), (40_000, 40_000));
        assert_eq!((a.replicates, b.replicates), (40_000, 41_000));
        let quantiles =
            |row: &AnswerRow| [row.low_50, row.high_50, row.low_90, row.high_90, row.low_95, row.high_95];
        assert!(quantiles(a) == quantiles(b) && a.mean != b.mean);
        // Laplace noise of scale 1: the 97.5 % quantile is ln 20, with the deviation sqrt(p (1 - p)/n)/f.
        let deviation = (0.025f64 * 0.975 / 40_000.0).sqrt() / 0.025;
        assert!((a.high_95.unwrap() - libm::log(20.0)).abs() < 5.5 * deviation, "{a:?}");
    }
    place.write("leaves.csv", &leaves(160_001));
    place.prints(&["run", "config.toml", "--out", "none"]);
    let none = place.rows::<AnswerRow>("none");
    assert!(
        none.len() == 160_001 && none.iter().all(|row| row.quantile_replicates == 0 && row.low_95.is_none())
    );
}
