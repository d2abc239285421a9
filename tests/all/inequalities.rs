//! Studies under inequalities, of the privacy paid and of the theory, as a user runs them.
#![allow(clippy::disallowed_methods)] // An oracle need not agree to the last bit.

use crate::place::{NONNEGATIVE, Place, TABLES_DATA, partition};
use congenial::privacy::Accountant;
use congenial::study::cells::CellRow;
use congenial::study::composition::FindingRow;
use congenial::study::privacy::PaidRow;
use congenial::study::release::{AgreementRow, ComponentRow, EntryRow, ErrorRow, LevelRow};
use std::sync::LazyLock;

const TABLE: &str = "\
table,row,column,low,high,count
s,a,x,0,9,2
s,a,y,,,1
s,b,x,0,,0
s,b,y,-1,3,3
t,a,x,0,9,1
t,a,y,,,1
t,b,x,0,,1
t,b,y,-1,3,1
";

static CONFIG: LazyLock<String> = LazyLock::new(|| {
    let grid = r#"
[[grid]]
epsilon = 0.5
law = "double-geometric"
method = [
    "exact", "rejection", { kind = "rejection", from = "unconstrained" }, { kind = "line-gibbs", sweeps = 40 },
    { kind = "mis", steps = 300, proposal-epsilon = [0.4, 0.6] }, "nnl2",
    "nnl2-then-integer-l1", { kind = "l1", beta = [0.0, 0.4] }, "unconstrained",
]

[[grid]]
epsilon = 1.0
law = "l2"
method = ["line-gibbs", { kind = "mis", steps = 400 }, "rejection"]

[[grid]]
epsilon = 1.0
law = ["laplace", "gaussian"]
delta = 1e-5
method = ["nnl2", "nnl2-then-integer-l1"]
"#;
    let front = "name = \"bounded\"\nseed = 5\nreplicates = 400\nkeep-draws = true\n";
    format!("{front}{TABLES_DATA}{}{NONNEGATIVE}{grid}", partition(&["table"]))
});

static EQUATIONS: LazyLock<String> = LazyLock::new(|| {
    let grid = r#"
[[grid]]
epsilon = 0.5
delta = 1e-5
sensitivity = 2.0
law = ["laplace", "gaussian"]
method = ["exact", "l2", { kind = "l1", beta = [0.5, 0.9] }, "unconstrained"]
"#;
    let front = "name = \"equations\"\nseed = 6\nreplicates = 4000\n";
    let filter = "where = { column = \"x\" }\n";
    format!("{front}{TABLES_DATA}{filter}{}{grid}", partition(&["table"]))
});

static PRIVACY: LazyLock<String> = LazyLock::new(|| {
    let grid = r#"
[[grid]]
epsilon = [0.5, 2.0]
law = ["double-geometric", "l1"]
method = "exact"
"#;
    let parts = [["table", "row"], ["table", "column"]].map(|by| partition(&by)).concat();
    format!("name = \"privacy\"\nstudy = \"privacy\"\nseed = 7\n{TABLES_DATA}{parts}{NONNEGATIVE}{grid}")
});

const THEORY: &str = "name = \"theory\"\nseed = 8\nstudy = \"composition\"\n\n[worlds]\nworlds = [4, 6]\ncases = 60\nepsilon = 1.0\n";

fn place() -> Place {
    Place::new(&[
        ("table.csv", TABLE),
        ("config.toml", &CONFIG),
        ("equations.toml", &EQUATIONS),
        ("privacy.toml", &PRIVACY),
        ("theory.toml", THEORY),
    ])
}

#[test]
fn pages_say_what_releases_pay_and_how_far_they_are() {
    let place = place();
    let text = place.prints(&["run", "config.toml", "--out", "out"]);
    assert!(text.contains("What a release pays") && text.contains("methods with the same noise"), "{text}");
    assert!(text.contains("L1 distance of a release to its table, over 2 components of 4 entries"), "{text}");
}

/// A place with a run of the config.
fn released() -> Place {
    let place = place();
    place.prints(&["run", "config.toml", "--out", "out"]);
    place
}

#[test]
fn every_cell_under_inequalities_has_its_releases() {
    let place = released();
    assert!(place.failures("out").is_empty());
    let rows: Vec<ErrorRow> = place.rows("out");
    assert_eq!(rows.len(), (11 + 3 + 4) * 400);
}

#[test]
fn releases_under_inequalities_say_what_they_pay() {
    let place = released();
    let (mut kept, mut chains) = (0, 0);
    for paid in place.rows::<CellRow>("out") {
        let method = paid.method.name();
        let conditions = matches!(method, "exact" | "rejection" | "line-gibbs" | "mis");
        assert_eq!(paid.nonnegative, method != "unconstrained");
        match (conditions, paid.law.name()) {
            (false, _) => assert_eq!((paid.gamma, paid.gamma_known.as_str()), (Some(0.0), "proved")),
            (true, "l2") => assert_eq!((paid.gamma, paid.gamma_known.as_str()), (Some(1.0), "bounded")),
            (true, _) => {
                // Few tables: all pairs were searched; below ln(2 - a²)/(2 rate) for one total.
                assert_eq!(paid.gamma_known, "computed");
                let bound = (2.0 - f64::exp(-1.0)).ln();
                assert!(paid.gamma.unwrap() > 0.2 && paid.gamma.unwrap() < bound, "{paid:?}");
            }
        }
        let sampled = matches!(method, "line-gibbs" | "mis");
        assert_eq!(paid.delta_sampling.is_none(), sampled, "{method}");
        assert!(paid.delta_sampling.unwrap_or(0.0) < 1e-9);
        chains += usize::from(sampled);
        kept += usize::from(conditions);
    }
    assert!(kept > 0 && chains > 0);
}

#[test]
fn releases_keep_their_bounds() {
    let place = released();
    for (cell, row) in place.with_cells("out", |row: &EntryRow| row.cell) {
        let method = cell.method.name();
        if method != "unconstrained" {
            assert_eq!(row.negative, 0.0, "{method} {}", row.name);
        }
    }
}

/// And are told apart from imaging.
#[test]
fn samplers_of_one_law_agree() {
    let place = released();
    let cells = place.cells("out");
    let method = |key| cells[&key].method.name();
    let agreement: Vec<AgreementRow> = place.rows("out");
    let samplers = ["exact", "rejection", "line-gibbs", "mis"];
    let mut same = 0;
    for row in agreement.iter().filter(|row| samplers.contains(&method(row.cell))) {
        let other = row.other.split(' ').next().unwrap();
        if samplers.contains(&other) {
            assert!(row.p > 1e-6, "{} {}: {row:?}", method(row.cell), row.other);
            same += 1;
        }
    }
    assert!(same > 10);
    let apart = agreement.iter().find(|row| method(row.cell) == "exact" && row.other == "nnl2").unwrap();
    assert!(apart.p < 1e-6, "{apart:?}");
}

#[test]
fn releases_under_inequalities_do_not_depend_on_threads() {
    let place = released();
    place.prints(&["run", "config.toml", "--out", "one", "--threads", "1"]);
    assert_eq!(place.rows::<EntryRow>("out"), place.rows("one"));
}

#[test]
fn a_resolved_config_with_inequalities_runs_again() {
    let place = released();
    place.prints(&["run", "out/config.resolved.toml", "--out", "again"]);
    assert_eq!(place.rows::<ErrorRow>("out").len(), place.rows::<ErrorRow>("again").len());
}

#[test]
fn reports_under_inequalities_have_parts_agreement_and_entries() {
    let place = released();
    place.prints(&["report", "out", "--out", "tables"]);
    for file in ["components.csv", "agreement.csv", "entries.csv"] {
        assert!(place.path(&format!("tables/{file}")).exists());
    }
}

/// Cells of a run of three replicates of the table.
fn run_gaussian(body: &str) -> Vec<CellRow> {
    let place = place();
    let front = "name = \"gaussian\"\nseed = 9\nreplicates = 3\n";
    place.write("gaussian.toml", &format!("{front}{TABLES_DATA}{body}"));
    place.prints(&["run", "gaussian.toml", "--out", "out"]);
    assert!(place.failures("out").is_empty());
    place.rows("out")
}

const GAUSSIAN: &str = r#"
[[grid]]
epsilon = 0.3
delta = 1e-5
law = ["gaussian", "discrete-gaussian", "generalized-gaussian"]
method = { kind = "line-gibbs", sweeps = 20 }
"#;

/// A law, and how its gamma is known.
fn known(row: &CellRow) -> (&'static str, String) {
    (row.law.name(), row.gamma_known.clone())
}

/// Up to 84 in a component. Normal noise pays nothing for inequalities, whatever they are.
#[test]
fn what_gaussian_laws_pay_is_computed_where_tables_are_few() {
    for row in run_gaussian(&format!("{}{NONNEGATIVE}{GAUSSIAN}", partition(&["table"]))) {
        let how = if row.law.name() == "gaussian" { "proved" } else { "computed" };
        assert_eq!(known(&row), (row.law.name(), how.to_owned()));
        // Noise far wider than the tables.
        assert_eq!(row.gamma, Some(0.0), "{row:?}");
    }
}

#[test]
fn what_discrete_gaussian_laws_pay_is_unknown_where_tables_are_many() {
    for row in run_gaussian(&format!("\n[[invariant]]\nkind = \"total\"\n{NONNEGATIVE}{GAUSSIAN}")) {
        let how = if row.law.name() == "gaussian" { "proved" } else { "unknown" };
        assert_eq!(known(&row), (row.law.name(), how.to_owned()));
        assert_eq!(row.gamma.is_some(), how == "proved");
    }
}

/// Normal noise pays nothing. The strip: (k, k, b) with k and k + 2 b from 0 to 2.
#[test]
fn discrete_gaussian_noise_pays_for_a_skew_strip() {
    let place = Place::new(&[("strip.csv", "entry,count\nk,1\nk2,1\nb,0\n")]);
    let strip = r#"
[data]
table = "strip.csv"
count = "count"
entry = ["entry"]

[[invariant]]
kind = "matrix"
rows = [[1, -1, 0]]

[[invariant]]
kind = "at-least"
rows = [[1, 0, 0], [-1, 0, 0], [1, 0, 2], [-1, 0, -2]]
values = [0, -2, 0, -2]

[[grid]]
epsilon = EPSILON
delta = 1e-6
law = ["gaussian", "discrete-gaussian"]
method = "exact"
"#;
    // epsilon at sigma = 0.7 and sensitivity 1; and the least and the most that conditioning makes of rho.
    let epsilon = |rho: f64| Accountant::Zcdp.epsilon(rho, 1e-6);
    let rho = 0.5 / 0.49;
    place.write(
        "strip.toml",
        &format!("name = \"strip\"\nseed = 9\nreplicates = 3\n{strip}")
            .replace("EPSILON", &epsilon(rho).to_string()),
    );
    place.prints(&["run", "strip.toml", "--out", "strip"]);
    assert!(place.failures("strip").is_empty());
    let [normal, discrete] = &place.rows::<CellRow>("strip")[..] else { panic!("two cells") };
    assert_eq!((normal.gamma, normal.gamma_known.as_str()), (Some(0.0), "proved"));
    assert!((discrete.scale - 0.7).abs() < 1e-9 && discrete.gamma_known == "computed", "{discrete:?}");
    let paid = discrete.epsilon_paid().unwrap();
    assert!(epsilon(1.0716 * rho) < paid && paid < epsilon(1.0718 * rho), "{discrete:?}");
}

#[test]
fn variances_are_beside_their_closed_forms() {
    let place = place();
    let text = place.pages("equations.toml", "out");
    assert!(text.contains("conditioning / least squares"), "{text}");
    let parts = place.with_cells("out", |row: &ComponentRow| row.cell);
    assert_eq!(parts.len(), 2 * 5 * 2);
    for (cell, row) in &parts {
        let expected = row.mse_expected.unwrap();
        // At level 1e-6; the tails of squares of Laplace noise are wide.
        assert!((row.mse.mean - expected).abs() < 6.0 * row.mse.standard_error, "{row:?}");
        let two = cell.law.name() == "laplace" && cell.method.name() != "unconstrained";
        assert_eq!(row.ks.is_some(), two);
        if two {
            // Massart's bound at 1e-6.
            assert!(row.ks.unwrap() < ((2e6f64).ln() / (2.0 * row.draws as f64)).sqrt(), "{row:?}");
            let attained = if cell.options == "beta=0.9" { 0.5 / 1.8 } else { 0.5 };
            assert!((row.epsilon_attained.unwrap() - attained).abs() < 1e-9);
        }
    }
}

#[test]
fn gamma_is_found_by_a_study_of_privacy() {
    let place = place();
    let text = place.pages("privacy.toml", "out");
    assert!(text.contains("gamma over all pairs of tables"), "{text}");
    assert!(place.failures("out").is_empty());
    let rows: Vec<PaidRow> = place.rows("out");
    // Two parts, each over the table, (no corner: no equal columns in a 2 × 2 table, so every table is one,) and all pairs.
    assert!(rows.iter().all(|row| row.gamma <= row.gamma_bound && row.gamma_bound < 1.0));
    for part in [1, 2] {
        let of = |scope: &str| rows.iter().find(|row| row.component == part && row.scope == scope).unwrap();
        assert!(of("table").gamma <= of("all").gamma);
        assert_eq!(of("all").pairs, of("all").tables * (of("all").tables - 1));
    }
    // 2 0 / 1 3 keeps its margins with 0..=2 in the first cell; the losses are those of the law.
    let all = rows.iter().find(|row| row.scope == "all" && row.component == 2).unwrap();
    assert_eq!(all.tables, 3);
    assert!((all.loss - 2.0).abs() < 1e-12 || (all.loss - 4.0).abs() < 1e-12, "{all:?}");
    place.prints(&["report", "out", "--out", "tables"]);
    assert!(place.path("tables/privacy.csv").exists());
}

#[test]
fn the_theory_is_checked_statement_by_statement() {
    let place = place();
    let text = place.pages("theory.toml", "out");
    assert!(text.contains("Table 1 of \"Two views\" as computed (4 worlds"), "{text}");
    assert!(text.contains("Theorem 3.5 (2) (conditioning; printed as true)"), "{text}");
    let rows: Vec<FindingRow> = place.rows("out");
    let refuted: Vec<&str> =
        rows.iter().filter(|row| row.claim && !row.holds).map(|row| row.statement.as_str()).collect();
    assert!(refuted.iter().all(|s| s.contains("3.5 (2)") || s.contains("by the letter")), "{refuted:?}");
    let again = place.pages("theory.toml", "out");
    assert_eq!(again, text);
    place.prints(&["run", "theory.toml", "--out", "one", "--threads", "1"]);
    assert_eq!(rows, place.rows("one"));
    let wrong = |from: &str, to: &str, wanted: &[&str]| {
        place.write("wrong.toml", &THEORY.replacen(from, to, 1));
        place.refuses(&["run", "wrong.toml", "--out", "wrong"], wanted);
    };
    wrong("cases = 60", "cases = 0", &["cases", "got 0", "1 to 1000000"]);
    wrong("worlds = [4, 6]", "worlds = [2]", &["worlds: got 2", "3 to 64"]);
    wrong("worlds = [4, 6]", "worlds = []", &["nothing to check"]);
    wrong("seed = 8", "seed = 8\ngrid = 1", &["unknown field `grid`"]);
    assert!(place.prints(&["plan", "theory.toml"]).contains("cases of a statement"));
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
    let kind = |to: &str, wanted: &[&str]| wrong("kind = \"nonnegative\"", to, wanted);
    kind("kind = \"bounds\"", &["bounds: got none", "lower"]);
    kind("kind = \"bounds\"\nlower = 1", &["`s/b/x` is 0", "want >= 1"]);
    kind("kind = \"bounds\"\nupper = 1", &["infeasible: equation 1", "asks for 6", "at most 4"]);
    kind("kind = \"bounds\"\nupper = 2", &["`s/b/y` is 3", "want <= 2"]);
    kind("kind = \"bounds\"\nlower = 3\nupper = 2", &["infeasible", "3 <= y <= 2"]);
    kind("kind = \"bounds\"\nlower = \"nowhere\"", &["no column `nowhere`"]);
    kind("kind = \"bounds\"\nlower = \"row\"", &["line 2", "`row` = `a`", "an integer or nothing"]);
    kind("kind = \"at-least\"\nrows = [[1]]\nvalues = [0]", &["1 columns for 8 entries"]);
    kind(
        "kind = \"at-least\"\nrows = [[1, 0, 0, 0, 0, 0, 0, 0]]\nvalues = [3]",
        &["gives 2 on the counts", "want >= 3"],
    );
    kind("kind = \"at-least\"\nrows = [[1, 0, 0, 0, 0, 0, 0, 0]]\nvalues = []", &["got 0 for 1 rows"]);
    kind("kind = \"at-least\"\nrows = [[0, 0, 0, 0, 0, 0, 0, 0]]\nvalues = [0]", &["no inequality ties"]);
    kind("kind = \"at-least\"\nrows = [[0, 0, 0, 0, 0, 0, 0, 0]]\nvalues = [1]", &["inequality 1", "0 >= 1"]);
    kind("kind = \"at-least\"\nvalues = [0]", &["want one of `rows` and `table`"]);
    wrong("\"exact\"", "\"l2\"", &["`l2` cannot serve", "equations only"]);
    wrong("\"exact\"", "\"lattice-metropolis\"", &["cannot serve", "equations only"]);
    wrong("\"exact\"", "{ kind = \"exact\", beta = 0.5 }", &["beta: not an option of `exact`"]);
    wrong(
        "from = \"unconstrained\"",
        "from = \"nowhere\"",
        &["from: got `nowhere`", "equations or unconstrained"],
    );
    wrong("proposal-epsilon = [0.4, 0.6]", "proposal-epsilon = 0", &["proposal-epsilon: got 0"]);
    wrong(
        "method = [\"line-gibbs\"",
        "method = [\"exact\", \"nnl2\"",
        &["`exact` cannot serve", "not a product"],
    );
    let gaussian = "law = [\"laplace\", \"gaussian\"]\ndelta = 1e-5\nmethod = [\"nnl2\"";
    let named = "`lattice-metropolis` cannot serve";
    wrong(gaussian, &gaussian.replace("nnl2", "lattice-metropolis"), &[named, "it keeps equations only"]);
    let privacy = |from: &str, to: &str, wanted: &[&str]| {
        assert!(PRIVACY.contains(from), "{from}");
        place.write("wrong.toml", &PRIVACY.replacen(from, to, 1));
        place.refuses(&["run", "wrong.toml", "--out", "wrong"], wanted);
    };
    privacy("\"exact\"", "\"mis\"", &["method: got `mis`", "wants exact"]);
    privacy("\"exact\"", "\"exact\"\nreplicates = 3", &["replicates: not used"]);
    privacy("\"l1\"]", "\"laplace\"]", &["law: got `laplace`", "double-geometric, l1"]);
}

/// Every kind of inequality, by number, by column and by coefficients, beside every form of equations.
#[test]
fn every_kind_of_inequality_runs() {
    let place = place();
    let row = "rows = [[1, -1, 0, 0, 0, 0, 0, 0], [0, 0, 1, 1, -1, 0, 0, 0]]\nvalues = [-2, 0]";
    let kinds = [
        "kind = \"bounds\"\nlower = \"low\"\nupper = \"high\"".to_owned(),
        "kind = \"bounds\"\nlower = -3".to_owned(),
        format!("kind = \"at-least\"\n{row}"),
        format!("kind = \"nonnegative\"\n\n[[invariant]]\nkind = \"at-least\"\n{row}"),
    ];
    let equations = [
        "kind = \"total\"",
        "kind = \"partition\"\nby = [\"table\", \"row\"]",
        "kind = \"subsets\"\nsets = [[1, 2, 5], [5, 6, 7]]",
        "kind = \"bounds\"\nupper = 50",
    ];
    for kind in &kinds {
        for equation in equations {
            let text = CONFIG
                .replace("kind = \"nonnegative\"", kind)
                .replace("kind = \"partition\"\nby = [\"table\"]", equation)
                .replace("\"nnl2-then-integer-l1\", { kind = \"l1\", beta = [0.0, 0.4] }, ", "")
                .replace(", \"nnl2-then-integer-l1\"]", ", \"line-gibbs\"]")
                .replace("{ kind = \"rejection\", from = \"unconstrained\" }, ", "")
                // Two rows leave five groups under one total: few enough points only for small noise.
                .replace("epsilon = 0.5", "epsilon = 2.5")
                .replace("proposal-epsilon = [0.4, 0.6]", "proposal-epsilon = [1.5, 2.0]")
                .replace("replicates = 400", "replicates = 3")
                .replace("steps = 300", "steps = 3000")
                .replace("steps = 400", "steps = 3000");
            place.write("kind.toml", &text);
            let name = format!("out-{}", equation.len() * 1000 + kind.len());
            place.prints(&["run", "kind.toml", "--out", &name]);
            assert!(place.failures(&name).is_empty(), "{kind} {equation}");
        }
    }
}

/// Tables of 0 and 1: the errors of `exact` are those of all 2^14 tables, listed with their weights. At 4.9 standard errors, which a right
/// sampler exceeds once in 10^6 comparisons.
#[test]
fn binary_tables_err_as_their_list_says() {
    let config = std::path::Path::new("configs/intersecting-14/binary-smoke.toml");
    let place = Place::new(&[]);
    let (config, out) = (std::fs::canonicalize(config).unwrap(), place.path("out"));
    let run = ["run", config.to_str().unwrap(), "--out", out.to_str().unwrap(), "--set", "replicates=4000"];
    place.prints(&run);
    let mut csv = csv::Reader::from_path("data/records/fourteen_binary.csv").unwrap();
    let (mut sets, mut table) = ([0u32; 3], 0u32);
    for (i, row) in csv.records().enumerate() {
        let bit = |place: usize| row.as_ref().unwrap()[place].parse::<u32>().unwrap() << i;
        sets.iter_mut().enumerate().for_each(|(k, set)| *set |= bit(1 + k));
        table |= bit(4);
    }
    let sums = |table: u32| sets.map(|set| (table & set).count_ones());
    let changes: Vec<f64> = (0..1 << 14)
        .filter(|&other| sums(other) == sums(table))
        .map(|other| f64::from((other ^ table).count_ones()))
        .collect();
    let mut compared = 0;
    for (cell, level) in place.with_cells("out", |row: &LevelRow| row.cell) {
        if !matches!(cell.method.name(), "exact" | "rejection") {
            continue;
        }
        let weight = |change: &f64| (-cell.epsilon * change).exp();
        let total: f64 = changes.iter().map(weight).sum();
        let want = changes.iter().map(|change| change * weight(change)).sum::<f64>() / total / 14.0;
        let found = level.l1_per_node;
        assert!((found.mean - want).abs() < 4.9 * found.standard_error, "{cell:?}: {found:?}, listed {want}");
        compared += 1;
    }
    assert_eq!(compared, 5);
}
