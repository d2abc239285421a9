//! Methods that offices use without a formal loss: what they release, what is stated of them, and where they are refused.
#![allow(clippy::disallowed_methods)] // Tests open files of their own.

use crate::place::{MARGINS, Place, TABLE, TABLE_DATA};
use congenial::sdc::PerturbationTable;
use congenial::study::cells::{CellRow, StatementRow};
use congenial::study::release::{AnswerRow, ErrorRow, SmallRow};

/// Six streets in each of five towns, with counts from 0 to 7; the sixth of each town is large.
fn leaves() -> String {
    let rows = (0..30).map(|i| {
        let count = if i % 6 == 5 { 100 + i } else { (i * i + 3 * i) % 8 };
        format!("{},{},{count}\n", ["A", "B", "C", "D", "E"][i / 6], i + 1)
    });
    format!("town,street,count\n{}", rows.collect::<String>())
}

const FRONT: &str = r#"
name = "customary"
seed = 3
replicates = 3000
report.queries = [["town"], ["town", "street"]]
[data]
table = "leaves.csv"
levels = ["town", "street"]
count = "count"
"#;

const GRID: &str = r#"
[[grid]]
epsilon = inf
law = "none"
method = [{ kind = "cell-keys" }, { kind = "cell-keys", d = 5, v = 3.0, js = 2, pstay = 0.5 }, { kind = "small-count-rounding", base = [3, 5] }]
"#;

fn place(grid: &str) -> Place {
    Place::new(&[("leaves.csv", &leaves()), ("config.toml", &format!("{FRONT}{grid}"))])
}

fn parameter(cell: &CellRow, key: &str) -> f64 {
    let value = cell.options.split(',').find_map(|option| option.strip_prefix(key)?.strip_prefix('='));
    value.unwrap().parse().unwrap()
}

/// The table of a cell of `cell-keys`.
fn table(cell: &CellRow) -> PerturbationTable {
    let of = |key| parameter(cell, key);
    PerturbationTable::new(of("d") as u64, of("v"), of("js") as u64, of("pstay")).unwrap()
}

/// Every count of `cell-keys` errs with the variance of the table and without bias, one of 0 does not err, and the sums do not hold. What a
/// published 0, 1 or 2 says is what Bayes' rule makes of the table and of how often each count stands in the data.
#[test]
fn cell_keys_have_the_law_of_their_table() {
    let place = place(&GRID.replace(", { kind = \"small-count-rounding\", base = [3, 5] }", ""));
    place.prints(&["run", "config.toml", "--out", "out"]);
    let rows = place.with_cells("out", |row: &AnswerRow| row.cell);
    assert_eq!(rows.len(), 2 * 35);
    for (cell, row) in &rows {
        let v = if row.count == 0 { 0.0 } else { parameter(cell, "v") };
        let words = format!("{} {}: {row:?}", cell.options, row.name);
        if v == 0.0 {
            assert_eq!((row.mean.mean, row.rmse.mean), (0.0, 0.0), "{words}");
            continue;
        }
        assert!((row.rmse.mean - v.sqrt()).abs() < 5.0 * row.rmse.standard_error, "{words}");
        assert!(row.mean.mean.abs() < 5.0 * row.mean.standard_error, "{words}");
    }
    let small = place.with_cells("out", |row: &SmallRow| row.cell);
    assert_eq!(small.len(), 2 * 2 * 3);
    for (cell, row) in &small {
        let table = table(cell);
        let counts = rows.iter().filter(|(other, one)| other.cell == cell.cell && one.query == row.query);
        let p = |count: i64| {
            let change = row.published - count;
            table.law(count as u64).find(|(own, _)| *own == change).map_or(0.0, |(_, p)| p)
        };
        let all: f64 = counts.clone().map(|(_, one)| p(one.count)).sum();
        let is_true: f64 =
            counts.filter(|(_, one)| one.count == row.published).map(|(_, one)| p(one.count)).sum();
        let words = format!("{} query {}: {row:?}, not {all} and {is_true}", cell.options, row.query);
        assert!((row.groups.mean - all).abs() <= 5.0 * row.groups.standard_error + 1e-9, "{words}");
        match row.is_true {
            None => assert!(all < 1e-3, "{words}"),
            Some(share) => {
                let off = (share.mean - is_true / all).abs();
                assert!(off <= 5.0 * share.standard_error + 1e-9, "{words}");
            }
        }
    }
    let kept =
        place.with_cells("out", |row: &ErrorRow| row.cell).iter().filter(|(_, row)| row.invariant_ok).count();
    assert!(kept < 300, "{kept} of 18,000");
}

/// Rounded counts add up, small ones become 0 or the base, and no street changes by the base or more.
#[test]
fn rounded_counts_add_up() {
    let grid = "[[grid]]\nepsilon = inf\nlaw = \"none\"\nmethod = { kind = \"small-count-rounding\", base = [3, 5] }\nreplicates = 50\n";
    let place = place(grid);
    place.write(
        "config.toml",
        &format!("keep-draws = true\n{FRONT}{grid}")
            .replace("keep-draws = true\n\nname", "keep-draws = true\nname"),
    );
    place.prints(&["run", "config.toml", "--out", "out"]);
    let errors = place.with_cells("out", |row: &ErrorRow| row.cell);
    assert!(!errors.is_empty() && errors.iter().all(|(_, row)| row.invariant_ok));
    for (cell, row) in place.with_cells("out", |row: &AnswerRow| row.cell) {
        let base = parameter(&cell, "base");
        let largest = [row.low_95, row.high_95].map(Option::unwrap);
        let words = format!("{base}: {row:?}");
        if row.query == 2 {
            let is_small = row.count > 0 && (row.count as f64) < base;
            assert_eq!(is_small, row.rmse.mean > 0.0, "{words}");
            assert!(largest.iter().all(|error| error.abs() < base), "{words}");
        }
    }
    for (_, row) in
        place.with_cells("out", |row: &SmallRow| row.cell).iter().filter(|(_, row)| row.query == 2)
    {
        // Published as 1 or 2 is nothing; as 0 a true 0, and others.
        match row.published {
            0 => assert!(row.is_true.unwrap().mean < 1.0 && row.is_true.unwrap().mean > 0.0, "{row:?}"),
            _ => assert!(row.groups.mean == 0.0 && row.is_true.is_none(), "{row:?}"),
        }
    }
}

/// Nothing is stated of what they pay: epsilon is infinite, no statement has a price, the report says so, and an audit proves what they pay
/// at least without accusing them.
#[test]
fn nothing_is_stated() {
    let place = place(GRID);
    place.prints(&["run", "config.toml", "--out", "out", "--set", "replicates=20"]);
    for (cell, row) in place.with_cells("out", |row: &StatementRow| row.cell) {
        assert!(
            cell.epsilon.is_infinite() && row.epsilon.is_none() && row.epsilon_conditioned.is_none(),
            "{row:?}"
        );
        assert!(row.why.contains("does not say what it pays"), "{row:?}");
    }
    let report = place.prints(&["report", "out"]);
    assert!(report.contains("inf") && report.contains("what small published counts say"), "{report}");
    place.prints(&["check", "config.toml"]);
    let plan = place.prints(&["plan", "config.toml", "--delta", "1e-6"]);
    assert!(plan.contains("unknown") && plan.contains("none"), "{plan}");
    let audit = place.prints(&["audit", "config.toml", "--draws", "4000"]);
    assert!(audit.contains("nothing stated") && !audit.contains("pays more"), "{audit}");
    // The resolved config runs, too.
    let run = place.path("out");
    let resolved = std::fs::read_to_string(run.join("config.resolved.toml")).unwrap();
    place.write("again.toml", &resolved);
    place.prints(&["plan", "again.toml"]);
}

#[test]
fn what_they_do_not_serve_is_refused() {
    let place = place(GRID);
    let refuses = |text: String, wanted: &[&str]| {
        place.write("bad.toml", &text);
        place.refuses(&["plan", "bad.toml"], wanted);
    };
    let good = format!("{FRONT}{GRID}");
    refuses(good.replace("epsilon = inf", "epsilon = 1.0"), &["epsilon: got 1", "inf", "none"]);
    refuses(good.replace("law = \"none\"", "law = \"laplace\""), &["epsilon: got inf"]);
    refuses(good.replace("law = \"none\"", "law = [\"laplace\", \"none\"]"), &["epsilon: got inf"]);
    let noisy = good.replace("epsilon = inf", "epsilon = 1.0").replace("law = \"none\"", "law = \"laplace\"");
    refuses(noisy, &["cell-keys", "law = \"none\""]);
    refuses(good.replace("{ kind = \"cell-keys\" }", "\"exact\""), &["exact", "none"]);
    refuses(good.replace("v = 3.0", "v = 40.0"), &["v: got 40", "a count of 1"]);
    refuses(good.replace("js = 2", "js = 5"), &["js"]);
    refuses(good.replace("js = 2", "js = -1"), &["js", "an integer >= 0"]);
    refuses(good.replace("base = [3, 5]", "base = 1"), &["base"]);
    refuses(good.replace("[data]", "[data]\nknown = [\"total\"]"), &["known"]);
    refuses(
        format!("study = \"frontier\"\nchange = \"added\"{good}").replace("epsilon = inf", "paid = inf"),
        &["law"],
    );
    refuses(good.replace("law = \"none\"", "law = \"none\"\nsplit = \"even\""), &["split: not used", "none"]);
    refuses(
        good.replace("law = \"none\"", "law = \"none\"\nsensitivity = 2.0"),
        &["sensitivity: not used", "none"],
    );
    place.write("table.csv", TABLE);
    let table = "name = \"t\"\nseed = 1\nreplicates = 5\n".to_owned() + TABLE_DATA + MARGINS + GRID;
    refuses(table, &["law", "none"]);
}
