//! The frontier, as a user asks for it: what is paid, against statements computed here, and releases of the same cells.

use crate::curves::binomial;
use crate::place::{MARGINS, NONNEGATIVE, Place, TABLE, TABLE_DATA, TREE, TREE_DATA, partition};
use congenial::diagnostics::Estimate;
use congenial::privacy::{Accountant, ChangeKind, Measure};
use congenial::rng::normal_quantile;
use congenial::study::cells::{CellRow, StatementRow};
use congenial::study::frontier::FrontierRow;
use congenial::study::release::{AnswerRow, EntryRow, ErrorRow, LevelRow, SizeRow};
use libm::{exp, hypot, log, pow, tanh};
use std::collections::HashMap;

fn frontier(change: &str, body: &str) -> String {
    format!("name = \"f\"\nseed = 3\nstudy = \"frontier\"\nchange = \"{change}\"\nreplicates = 5\n{body}")
}

fn tree(change: &str, grid: &str) -> Place {
    let config = frontier(change, &format!("{TREE_DATA}\n[[grid]]\n{grid}\n"));
    Place::new(&[("tree.csv", TREE), ("config.toml", &config)])
}

fn run(place: &Place) {
    place.prints(&["run", "config.toml", "--out", "out"]);
}

/// Every cell pays what it is to pay, by the statement that the run itself writes.
fn all_pay(place: &Place, change: ChangeKind, cells: usize) {
    let rows = place.with_cells("out", |row: &FrontierRow| row.cell);
    assert_eq!(rows.len(), cells);
    let statements: Vec<StatementRow> = place.rows("out");
    for (cell, row) in rows {
        let mut own = statements.iter().filter(|s| s.cell == row.cell && s.change == change);
        let pays = own.next().unwrap().epsilon_conditioned.unwrap();
        let off = pays / row.paid - 1.0;
        assert!((-3e-8..1e-9).contains(&off), "{}: {pays}, not {}", cell.words(), row.paid);
        assert_eq!(row.change, change);
    }
}

/// What one record pays on three levels, by formulas: equalities and imaging 3 epsilon; conditioned on leaves >= 0 with
/// the bound of its path, whose length is three; Gaussian noise by its rho.
#[test]
fn budgets_on_a_tree_are_those_of_formulas() {
    let grid = r#"
paid = [0.3, 3.0, 12.0]
law = "double-geometric"
method = ["exact", { kind = "exact", nonnegative = true }, "topdown"]

[[grid]]
paid = [0.3, 3.0]
law = "discrete-gaussian"
delta = 1e-5
method = ["exact", "l2"]
"#;
    let place = tree("added", grid);
    run(&place);
    all_pay(&place, ChangeKind::Added, 13);
    for (cell, row) in place.with_cells("out", |row: &FrontierRow| row.cell) {
        let rate = 1.0 / cell.scale;
        let pays = match (cell.delta, cell.method.name(), cell.nonnegative) {
            (Some(delta), ..) => Accountant::Zcdp.epsilon(3.0 * rate * rate / 2.0, delta),
            (None, "exact", true) => 3.0 * rate + log(1.0 + exp(rate) - exp(-2.0 * rate)),
            _ => 3.0 * rate,
        };
        assert!((pays / row.paid - 1.0).abs() < 4e-8, "{}: {pays}", cell.words());
    }
}

/// What is paid is inverted on tables: a record that moves within a group, with the bound of its own length; two people who trade places.
#[test]
fn budgets_on_tables_are_those_of_formulas() {
    let partition = partition(&["row"]);
    for (change, invariants, kind, length) in [
        ("moved", partition.as_str(), ChangeKind::Moved, 2.0),
        ("smallest", MARGINS, ChangeKind::Smallest, 4.0),
    ] {
        let grid = "\n[[grid]]\npaid = [0.5, 4.0]\nlaw = \"double-geometric\"\nmethod = [\"exact\", \"nnl2-then-integer-l1\", \"nnl2\"]\n";
        let config = frontier(change, &format!("{TABLE_DATA}{invariants}{NONNEGATIVE}{grid}"));
        let place = Place::new(&[("table.csv", TABLE), ("config.toml", &config)]);
        run(&place);
        all_pay(&place, kind, 6);
        for (cell, row) in place.with_cells("out", |row: &FrontierRow| row.cell) {
            let rate = 1.0 / cell.scale;
            // What is searched for may be less than the bound, and never more.
            let bound = length * rate + log(1.0 + exp((length - 2.0) * rate) - exp(-2.0 * rate));
            match cell.method.name() {
                "exact" => {
                    assert!(row.paid < bound * (1.0 + 1e-9) && row.paid > length * rate, "{}", cell.words())
                }
                _ => assert!((length * rate / row.paid - 1.0).abs() < 4e-8),
            }
            assert_eq!(cell.integers, cell.method.name() != "nnl2");
        }
    }
}

/// rho, by formulas: of free noise `r tanh(r/2)` by count that changes; conditioned on known totals of two entries, the
/// fewest here, `2r tanh r`; Gaussian noise by its own. Equal in rho, conditioning has other noise than projections;
/// equal in epsilon it has not: the page says what that changes.
#[test]
fn budgets_as_rho_are_those_of_formulas() {
    let known = TREE_DATA.to_owned() + "known = [\"total\", \"group\"]\n";
    let methods = "law = \"double-geometric\"\nmethod = [\"exact\", \"l2\", \"topdown\"]";
    // In another order: the page compares them all the same.
    let turned = methods.replace("\"exact\", \"l2\", \"topdown\"", "\"topdown\", \"l2\", \"exact\"");
    let grid = format!(
        "[[grid]]\npaid = [0.5, 2.0]\n{turned}\n[[grid]]\npaid = {{ rho = [0.02, 0.3, 2.0] }}\n{methods}\n\
         [[grid]]\npaid = {{ rho = 0.3 }}\nlaw = \"discrete-gaussian\"\ndelta = 1e-5\nmethod = [\"exact\", \"l2\"]\n"
    );
    let config = frontier("moved", &format!("{known}\n{grid}")).replace("replicates = 5", "replicates = 40");
    let place = Place::new(&[("tree.csv", TREE), ("config.toml", &config)]);
    run(&place);
    let statements: Vec<StatementRow> = place.rows("out");
    let mut seen = [0; 2];
    for (cell, row) in place.with_cells("out", |row: &FrontierRow| row.cell) {
        let mut own = statements.iter().filter(|s| s.cell == row.cell && s.change == ChangeKind::Moved);
        let statement = own.next().unwrap();
        let known = if cell.method.name() == "exact" { "computed" } else { "noise" };
        assert_eq!(statement.rho_known, known, "{}", cell.words());
        let (rate, rho) = (1.0 / cell.scale, statement.rho.unwrap());
        let formula = match (cell.delta, cell.method.name()) {
            (Some(_), _) => rate * rate,
            (None, "exact") => 2.0 * rate * tanh(rate),
            _ => 2.0 * rate * tanh(0.5 * rate),
        };
        assert!((rho / formula - 1.0).abs() < 1e-12, "{}: {rho} {formula}", cell.words());
        let pays = if row.measure == Measure::Rho { rho } else { statement.epsilon_conditioned.unwrap() };
        assert!((-3e-8..1e-9).contains(&(pays / row.paid - 1.0)), "{}: {pays} {}", cell.words(), row.paid);
        seen[usize::from(row.measure == Measure::Rho)] += 1;
    }
    assert_eq!(seen, [6, 11]);
    let told = place.prints(&["report", "out"]);
    for words in ["at equal rho for one record moved", "what the accountant changes", "at equal rho"] {
        assert!(told.contains(words), "{words}: {told}");
    }
    // The resolved config says rho as well.
    place.prints(&["run", "out/config.resolved.toml", "--out", "again"]);
    let paid =
        |folder: &str| place.rows::<FrontierRow>(folder).iter().map(|row| row.paid).collect::<Vec<_>>();
    assert_eq!(paid("out"), paid("again"));
}

/// The epsilon of releases together, and mu, by formulas: free noise is randomised response of both counts that change; conditioned on known
/// totals of two entries, the fewest here, it is randomised response of both at once; normal noise has its mu.
#[test]
fn budgets_as_curves_are_those_of_formulas() {
    let known = TREE_DATA.to_owned() + "known = [\"total\", \"group\"]\n";
    let methods = "law = \"double-geometric\"\nmethod = [\"exact\", \"l2\", \"topdown\"]";
    let normal = "law = \"gaussian\"\ndelta = 1e-5\nmethod = \"l2\"";
    let together = "{ epsilon = [0.7, 4.0], delta = 1e-3, releases = 5 }";
    let grid = format!(
        "[[grid]]\npaid = {together}\n{methods}\n[[grid]]\npaid = {{ mu = [0.4, 2.0] }}\n{methods}\n\
         [[grid]]\npaid = {{ mu = [0.4, 2.0] }}\n{normal}\n"
    );
    let config = frontier("moved", &format!("{known}\n{grid}")).replace("replicates = 5", "replicates = 40");
    let place = Place::new(&[("tree.csv", TREE), ("config.toml", &config)]);
    run(&place);
    // A test errs with probabilities alpha and beta where so many of two counts lose.
    let mu = |rate: f64, both: bool| {
        let up = |rate: f64| 1.0 / (1.0 + exp(-rate));
        let corners = match both {
            true => vec![(1.0 - up(2.0 * rate), 1.0 - up(2.0 * rate))],
            false => {
                let (p, q) = (up(rate), 1.0 - up(rate));
                vec![(q * q, 1.0 - p * p), (1.0 - p * p, q * q)]
            }
        };
        corners.into_iter().map(|(a, b)| -normal_quantile(a) - normal_quantile(b)).fold(0.0, f64::max)
    };
    let rows = place.with_cells("out", |row: &FrontierRow| row.cell);
    assert_eq!(rows.len(), 14);
    for (cell, row) in rows {
        let (rate, both) = (1.0 / cell.scale, cell.method.name() == "exact");
        let pays = match row.measure {
            Measure::Together { delta, releases } => {
                assert_eq!((delta, releases), (1e-3, 5));
                if both { binomial(2.0 * rate, 5, delta) } else { binomial(rate, 10, delta) }
            }
            Measure::Mu if cell.law.name() == "gaussian" => rate * 2f64.sqrt(),
            _ => mu(rate, both),
        };
        assert!((-4e-8..1e-8).contains(&(pays / row.paid - 1.0)), "{}: {pays} {}", cell.words(), row.paid);
    }
    let told = place.prints(&["report", "out"]);
    for words in [
        "at equal epsilon at delta 0.001 of 5 releases for one record moved",
        "what the accountant changes",
        "at equal mu",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    place.prints(&["run", "out/config.resolved.toml", "--out", "again"]);
    let paid = |folder: &str| {
        let rows = place.rows::<FrontierRow>(folder);
        rows.iter().map(|row| (row.paid, row.measure)).collect::<Vec<_>>()
    };
    assert_eq!(paid("out"), paid("again"));
}

/// Counts below 0 are as many as the law of the noise makes: of free double geometric noise `Σ a^(x + 1) / (1 + a)` over the
/// counts x of a level, a the ratio of the law; of entries the shares that are counted entry by entry; none where that is promised. The
/// means lie within 4.5 standard errors: of 14 of them one in 10,000 runs has one outside.
#[test]
fn negative_counts_are_those_of_the_law() {
    let grid = "paid = [0.6, 3.0]\nlaw = \"double-geometric\"\n\
                method = [\"unconstrained\", { kind = \"exact\", nonnegative = true }, \"topdown\"]";
    let config = frontier("added", &format!("{TREE_DATA}\n[[grid]]\n{grid}\n"));
    let config = config.replace("replicates = 5", "replicates = 4000");
    let place = Place::new(&[("tree.csv", TREE), ("config.toml", &config)]);
    run(&place);
    let counts: [&[i32]; 3] = [&[179], &[5, 167, 7], &[5, 0, 120, 3, 44, 7]];
    let mut seen = [0; 2];
    for (cell, row) in place.with_cells("out", |row: &LevelRow| row.cell) {
        if cell.nonnegative {
            assert_eq!(row.negative.mean, 0.0, "{}", cell.words());
            seen[1] += 1;
            continue;
        }
        let a = exp(-1.0 / row.scale);
        let law: f64 =
            counts[row.level as usize - 1].iter().map(|&x| pow(a, f64::from(x + 1)) / (1.0 + a)).sum();
        // Where none was seen, a release has fewer than ln(10^4) / 4000 of them.
        let off = (row.negative.mean - law).abs();
        let most = if row.negative.mean == 0.0 { 2.3e-3 } else { 4.5 * row.negative.standard_error };
        assert!(off <= most, "{} level {}: {:?} {law}", cell.words(), row.level, row.negative);
        seen[0] += 1;
    }
    assert_eq!(seen, [6, 12]);
    let told = place.prints(&["report", "out"]);
    assert!(told.contains("do not add up") && told.contains("integers >= 0"), "{told}");

    let grid = "[[grid]]\nepsilon = 0.4\nlaw = \"double-geometric\"\nmethod = [\"unconstrained\", \"exact\", \"l2\"]\n";
    let config = format!("name = \"t\"\nseed = 2\nreplicates = 50\n{TABLE_DATA}{MARGINS}{grid}");
    place.write("table.csv", TABLE);
    place.write("table.toml", &config);
    place.prints(&["run", "table.toml", "--out", "table"]);
    let mut shares: HashMap<_, f64> = HashMap::new();
    place
        .rows::<EntryRow>("table")
        .iter()
        .for_each(|row| *shares.entry(row.cell).or_default() += row.negative);
    let rows: Vec<LevelRow> = place.rows("table");
    assert!(rows.len() == 3 && rows.iter().any(|row| row.negative.mean > 0.1));
    rows.iter().for_each(|row| assert!((row.negative.mean - shares[&row.cell]).abs() < 1e-12, "{row:?}"));
    let all: u64 = place.rows::<ErrorRow>("table").iter().map(|row| row.negative).sum();
    assert!((all as f64 / 50.0 - shares.values().sum::<f64>()).abs() < 1e-9);
}

/// The best are those of the rows: the page of the small town says for each kind of release who has the smallest error, and
/// marks it.
#[test]
fn the_first_answer_is_that_of_the_rows() {
    let place = Place::new(&[]);
    let config = std::fs::canonicalize("examples/town/town.toml").unwrap();
    place.prints(&["run", config.to_str().unwrap(), "--out", "out"]);
    let told = place.prints(&["report", "out", "--format", "markdown"]);
    let paid: HashMap<_, f64> =
        place.rows::<FrontierRow>("out").into_iter().map(|row| (row.cell, row.paid)).collect();
    let mut smallest = 0;
    let rows: Vec<_> = place.with_cells("out", |row: &LevelRow| row.cell);
    for (cell, row) in rows.iter().filter(|(_, row)| row.scale > 0.0) {
        let kind = |cell: &CellRow| (cell.consistent, cell.integers, cell.nonnegative);
        let rivals = rows.iter().filter(|(other, its)| {
            kind(other) == kind(cell) && paid[&its.cell] == paid[&row.cell] && its.level == row.level
        });
        let rivals: Vec<Estimate> = rivals.map(|(_, its)| its.l1_per_node).collect();
        let least = rivals.iter().min_by(|a, b| a.mean.total_cmp(&b.mean)).unwrap();
        // Less than 3 standard errors of the ratio away from the smallest.
        let own = row.l1_per_node;
        let relative = |x: &Estimate| x.standard_error / x.mean;
        let apart = log(own.mean / least.mean) / hypot(relative(&own), relative(least));
        let best = rivals.len() > 1 && (own.mean == least.mean || apart <= 3.0);
        let words = congenial::page::brief(row.l1_per_node);
        let line = |line: &&str| {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            cells.get(1) == Some(&paid[&row.cell].to_string().as_str())
                && cells.get(3) == Some(&cell.method.name())
                && line.contains(&words)
        };
        let line = told.lines().find(line).unwrap_or_else(|| panic!("{} {words}: {told}", cell.words()));
        assert_eq!(line.contains(&format!("{words} *")), best, "{line}");
        smallest += usize::from(best && cell.method.name() == "bluedown");
    }
    assert_eq!(smallest, 12);
    let words = "Integers >= 0: no method has a smaller error than `bluedown`, at any level and loss.";
    assert!(told.contains(words), "{told}");
}

/// Errors by size are means of those of the leaves, in sizes of one's own; bias and relative error stand beside. What are
/// no sizes is refused.
#[test]
fn errors_by_size_are_those_of_the_leaves() {
    let grid = "paid = [1.0, 4.0]\nlaw = \"double-geometric\"\nmethod = [\"exact\", \"topdown\"]";
    let with = |sizes: &str| {
        frontier("moved", &format!("{TREE_DATA}\n[[grid]]\n{grid}\n[report]\nsizes = {sizes}\n"))
    };
    let place = Place::new(&[("tree.csv", TREE), ("config.toml", &with("[0, 4, 50]"))]);
    run(&place);
    let answers: Vec<AnswerRow> = place.rows("out");
    let sizes: Vec<SizeRow> = place.rows("out");
    assert_eq!((answers.len(), sizes.len()), (4 * 6, 4 * 3));
    let (next, words) = ([4, 50, i64::MAX], ["0-3", "4-49", "50+"]);
    for (i, row) in sizes.iter().enumerate() {
        let within =
            |answer: &&AnswerRow| answer.cell == row.cell && (row.least..next[i % 3]).contains(&answer.count);
        let own: Vec<&AnswerRow> = answers.iter().filter(within).collect();
        let mean = |of: &dyn Fn(&AnswerRow) -> f64| {
            own.iter().map(|answer| of(answer)).sum::<f64>() / own.len() as f64
        };
        assert_eq!((row.size.as_str(), row.groups), (words[i % 3], own.len() as u64));
        let want = [mean(&|a| a.mae.mean), mean(&|a| a.mean.mean), mean(&|a| a.count as f64)];
        for (got, want) in [row.mae.mean, row.mean.mean, row.count].into_iter().zip(want) {
            assert!((got - want).abs() < 1e-12, "{row:?}: {got} {want}");
        }
    }
    let told = place.prints(&["report", "out", "--full"]);
    for words in ["error by size of the count, 6 counts by group, zone", "Relative error", "Bias"] {
        assert!(told.contains(words), "{words}: {told}");
    }
    place.prints(&["run", "out/config.resolved.toml", "--out", "again"]);
    assert_eq!(place.rows::<SizeRow>("again").len(), sizes.len());
    for (sizes, named) in [("[1, 4]", "[1, 4]"), ("[0, 4, 4]", "[0, 4, 4]"), ("[]", "[]")] {
        place.write("config.toml", &with(sizes));
        place.refuses(&["run", "config.toml"], &[&format!("report.sizes: got {named}"), "ascending from 0"]);
    }
}

/// A cell with the epsilon that was found is a cell like any other: a study of releases draws the same.
#[test]
fn releases_are_those_of_their_epsilon() {
    let methods = r#"["exact", { kind = "exact", nonnegative = true }, "bluedown"]"#;
    let place = tree("moved", &format!("paid = [1.0, 4.0]\nlaw = \"double-geometric\"\nmethod = {methods}"));
    run(&place);
    let cells = place.cells("out");
    let mut blocks = String::new();
    for cell in cells.values() {
        let exact = cell.method.name() == "exact";
        let nonnegative = if exact && cell.nonnegative { ", nonnegative = true" } else { "" };
        blocks += &format!(
            "\n[[grid]]\nepsilon = {:?}\nlaw = \"double-geometric\"\nmethod = {{ kind = \"{}\"{nonnegative} }}\n",
            cell.epsilon,
            cell.method.name()
        );
    }
    place.write("release.toml", &format!("name = \"r\"\nseed = 3\nreplicates = 5\n{TREE_DATA}{blocks}"));
    place.prints(&["run", "release.toml", "--out", "releases"]);
    let levels = |folder: &str| -> HashMap<_, f64> {
        place
            .rows::<LevelRow>(folder)
            .into_iter()
            .map(|row| ((row.cell, row.level), row.l1_per_node.mean))
            .collect()
    };
    assert_eq!(levels("out"), levels("releases"));
    // The resolved config gives the same cells again.
    place.prints(&["run", "out/config.resolved.toml", "--out", "again"]);
    assert_eq!(levels("out"), levels("again"));
}

/// What no budget gives is refused before anything is drawn.
#[test]
fn what_cannot_be_paid_for_is_refused() {
    let grid = "paid = 1.0\nlaw = \"double-geometric\"\nmethod = \"exact\"";
    let place = tree("added", grid);
    let refuses = |config: &str, wanted: &[&str]| {
        place.write("config.toml", config);
        place.refuses(&["plan", "config.toml"], wanted);
        place.refuses(&["run", "config.toml", "--out", "out"], wanted);
        assert!(!place.path("out").exists());
    };
    let with =
        |change: &str, data: &str, grid: &str| frontier(change, &format!("{data}\n[[grid]]\n{grid}\n"));
    let known = TREE_DATA.to_owned() + "known = [\"total\"]\n";
    refuses(
        &with("added", &known, grid),
        &[
            "change: got `added`",
            "impossible on these data",
            "a known count contains every leaf",
            "config.toml:4:10",
        ],
    );
    refuses(&with("doubled", TREE_DATA, grid), &["change: got `doubled`", "added, moved, smallest"]);
    refuses(&with("added", TREE_DATA, grid).replace("change = \"added\"\n", ""), &["change"]);
    refuses(
        &with("added", TREE_DATA, &grid.replace("paid", "epsilon")),
        &["epsilon: not used", "release or meeting or privacy or profile takes it"],
    );
    refuses(&with("added", TREE_DATA, &grid.replace("1.0", "[1.0, -1.0]")), &["paid: got -1"]);
    let rho = |value: &str| with("added", TREE_DATA, &grid.replace("1.0", value));
    refuses(&rho("{ rho = [1.0, 0.0] }"), &["paid: got 0", "finite number > 0"]);
    refuses(&rho("{ rho = [1.0, 1.0] }"), &["paid: got rho 1.0 twice"]);
    refuses(
        &rho("{ rho = 1.0, foo = 1.0 }"),
        &["unknown field `foo`, expected one of `rho`, `mu`", "config.toml"],
    );
    refuses(&rho("\"x\""), &["got \"x\", want a loss, a list of losses, `{ rho = ... }`"]);
    for wrong in ["{ epsilon = 1.0 }", "{ rho = 1.0, mu = 1.0 }", "{ mu = 1.0, delta = 1e-6 }", "{}"] {
        refuses(
            &rho(wrong),
            &["want a loss", "`{ epsilon = ..., delta = ..., releases = ... }`", "config.toml"],
        );
    }
    refuses(&rho("{ epsilon = 1.0, delta = 1.5 }"), &["paid.delta: got 1.5", "in (0, 1)"]);
    refuses(&rho("{ epsilon = 1.0, delta = 1e-6, releases = 0 }"), &["paid.releases: got 0"]);
    let nonnegative = "method = { kind = \"exact\", nonnegative = true }";
    // A bound does not rank methods: of counts >= 0 without a known total there is no end.
    for (paid, name) in [
        ("{ epsilon = 1.0, delta = 1e-6 }", "the law of the loss"),
        ("{ mu = 1.0 }", "mu"),
        ("{ rho = 1.0 }", "rho"),
    ] {
        let bounded = rho(paid).replace("method = \"exact\"", nonnegative);
        refuses(
            &bounded,
            &[&format!("{name} of `exact` with double-geometric noise is bounded, not computed")],
        );
    }
    refuses(&rho("{ rho = [\"x\"] }"), &["got \"x\""]);
    let release = with("added", TREE_DATA, grid).replace("study = \"frontier\"\nchange = \"added\"\n", "");
    refuses(&release, &["paid: not used", "only a study of the kind frontier or coverage takes it"]);
    let exclude = "\n[[exclude]]\nepsilon = 1.0\n";
    refuses(
        &(with("added", TREE_DATA, grid) + exclude),
        &["epsilon: not used", "the budgets of this study are `paid`"],
    );
    let near = grid.replace("1.0", "[1.0, 1.0000000001]");
    refuses(&with("added", TREE_DATA, &near), &["paid: got 1 and 1.0000000001 for `exact`", "pays both"]);
    let chain = "paid = 1.0\nlaw = \"discrete-gaussian\"\ndelta = 1e-5\n\
                 method = { kind = \"line-gibbs\", sweeps = 5, nonnegative = true }";
    refuses(
        &with("added", TREE_DATA, chain),
        &["nothing bounds what `line-gibbs` pays for it with discrete-gaussian noise"],
    );
}

/// What is paid, and for which change, is what a run is: also where the noise is the same.
#[test]
fn runs_of_other_changes_are_other_runs() {
    let grid = "paid = 1.0\nlaw = \"double-geometric\"\nmethod = \"exact\"";
    let place = tree("added", grid);
    run(&place);
    let noise =
        |place: &Place| place.rows::<FrontierRow>("out").iter().map(|row| row.cell).collect::<Vec<_>>();
    let before = noise(&place);
    place.refuses(
        &["run", "config.toml", "--set", "change=\"smallest\"", "--out", "out"],
        &["the run of another config"],
    );
    place.prints(&["run", "config.toml", "--set", "change=\"smallest\"", "--out", "other"]);
    let other: Vec<_> = place.rows::<FrontierRow>("other").iter().map(|row| row.cell).collect();
    assert_eq!(before, other);
}
