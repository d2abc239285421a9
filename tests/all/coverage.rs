//! `study = "coverage"`: shares by hand and by the law, the same intervals as those of `congenial infer`, and what is refused.
#![allow(clippy::disallowed_methods)] // Tests open files of their own.

use crate::place::{MARGINS, NONNEGATIVE, Place, TABLE, TABLE_DATA, TREE, TREE_DATA};
use congenial::infer::{Wish, infer};
use congenial::store::Run;
use congenial::study::coverage::{ClassRow, CoverageRow, CoveredRow, Reading};
use libm::tanh;

/// A tree of a total that is known and two leaves, one of which is 0.
const PAIR: &str = "zone,count\na,0\nb,7\n";

const PAIR_DATA: &str =
    "[data]\ntable = \"pair.csv\"\nlevels = [\"zone\"]\ncount = \"count\"\nknown = [\"total\"]\n";

const DISTRICTS: &str =
    "group,zone,name,weight\na,a1,north,1\nb,b1,north,1\nc,c1,north,1\na,a2,more,1\nb,b3,more,-1\n";

fn config(top: &str, body: &str) -> String {
    format!("name = \"c\"\nseed = 5\nstudy = \"coverage\"\n{top}\n{body}")
}

fn place(top: &str, body: &str) -> Place {
    Place::new(&[
        ("tree.csv", TREE),
        ("pair.csv", PAIR),
        ("districts.csv", DISTRICTS),
        ("config.toml", &config(top, body)),
    ])
}

/// Two leaves whose sum is known have one noise with two signs, of the law `tanh(1/λ) e^(-2|z|/λ)`. An interval of half width h holds
/// with `P(|z| <= h)`; around a leaf of 0 also where all of it lies below 0, and around one that is the total where all lies above, with
/// half of the rest.
#[test]
fn shares_by_hand() {
    // One record moved changes both leaves: lambda is 2 / paid.
    let grid = "[[grid]]\npaid = 1.0\nlaw = \"double-geometric\"\nmethod = \"exact\"\n";
    let sizes = "change = \"moved\"\nlevel = \"4/5\"\nreplicates = 20000\nsizes = [0, 1]";
    let place = place(sizes, &format!("{PAIR_DATA}{grid}"));
    place.prints(&["run", "config.toml", "--out", "out"]);
    let classes: Vec<ClassRow> = place.rows("out");
    let words: Vec<(&str, u64, i64)> =
        classes.iter().map(|class| (&*class.size, class.counts, class.total)).collect();
    assert_eq!(words, [("", 2, 7), ("0", 1, 0), ("1+", 1, 7)]);
    let rate = 1.0 / 2.0;
    let p = |z: i64| tanh(rate) * libm::exp(-2.0 * rate * z.unsigned_abs() as f64);
    let within = |half: i64| (-half..=half).map(p).sum::<f64>();
    let half = (0..).find(|&half| within(half) >= 0.8).unwrap();
    let rest = 1.0 - within(half);
    let expected = [within(half) + 0.5 * rest; 3];
    let rows: Vec<CoverageRow> = place.rows("out");
    assert_eq!(rows.len(), 3);
    for (row, expected) in rows.iter().zip(expected) {
        assert!((row.coverage_computed.unwrap() - expected).abs() < 1e-12, "{expected}: {row:?}");
        let off = (row.coverage.mean - expected) / row.coverage.standard_error;
        assert!(off.abs() < 5.0 && row.guaranteed && row.level == 0.8, "{expected}: {row:?}");
        // Unbiased, and the variance that is stated is the mean squared error: 1 / (2 sinh^2(rate)).
        assert!(row.bias.mean.abs() <= 5.0 * row.bias.standard_error, "{row:?}");
        let variance = 0.5 / (libm::sinh(rate) * libm::sinh(rate));
        assert!((row.variance.mean / variance - 1.0).abs() < 1e-12, "{variance}: {row:?}");
        assert!(
            (row.squared.mean - variance).abs() < 5.0 * row.squared.standard_error,
            "{variance}: {row:?}"
        );
    }
    assert!(rows.iter().all(|row| row.length.mean < 2.0 * half as f64));
}

/// All methods on a tree with districts: what is guaranteed holds, drawn and computed agree, and nothing is said of the law of others.
#[test]
fn drawn_and_computed_agree() {
    let block =
        |law: &str, methods: &str| format!("[[grid]]\npaid = 1.0\nlaw = \"{law}\"\nmethod = [{methods}]\n");
    let grid = block("laplace", "\"exact\", \"l2\", \"unconstrained\"")
        + &block(
            "double-geometric",
            "\"exact\", \"l2\", \"topdown\", \"bluedown\", { kind = \"exact\", nonnegative = true }",
        );
    let top = "change = \"added\"\nreplicates = 2000\ndistricts = \"districts.csv\"\nbootstrap = 99";
    let place = place(top, &format!("{TREE_DATA}{grid}"));
    place.prints(&["run", "config.toml", "--out", "out"]);
    let mut computed = 0;
    let mut missed = Vec::new();
    for (cell, row) in place.with_cells("out", |row: &CoverageRow| row.cell) {
        let error = row.coverage.standard_error.max(1e-9);
        if let Some(share) = row.coverage_computed {
            computed += 1;
            assert!((row.coverage.mean - share).abs() < 5.0 * error, "{} {share}: {row:?}", cell.words());
        }
        if row.guaranteed {
            assert!(row.coverage.mean > 0.9 - 5.0 * error, "{}: {row:?}", cell.words());
        } else if row.coverage.mean < 0.9 - 5.0 * error {
            missed.push((cell.method_words(), row.intervals));
        }
        let is_pivot = ["exact", "l2", "unconstrained"].contains(&cell.method.name()) && !cell.nonnegative;
        assert_eq!(row.guaranteed, is_pivot, "{}", cell.words());
        assert!(row.intervals == Reading::Noise || !is_pivot);
    }
    // Three levels, sizes of the last and two districts; the law is that of `exact` with integer noise.
    assert!(computed > 5, "{computed}");
    assert!(missed.iter().any(|(_, reading)| *reading == Reading::Noise), "{missed:?}");
    // Several seeds: the cells that stand for both have the mean of both.
    place.prints(&["run", "config.toml", "--out", "two", "--set", "seed=[5,6]", "--set", "replicates=50"]);
    let run = Run::open(&place.path("two")).unwrap();
    assert_eq!(run.all::<CoveredRow>().unwrap().len() % 100, 0);
    assert!(run.all::<CoverageRow>().unwrap().iter().any(|row| row.replicates == 100));
}

/// The interval that `congenial infer` gives for a release that a study of releases has written is the one that is judged here.
#[test]
fn judges_the_intervals_of_infer() {
    let grid = |budget: &str| {
        format!("[[grid]]\n{budget}\nlaw = \"double-geometric\"\nmethod = [\"exact\", \"l2\"]\n")
    };
    // One record on three levels.
    let place = place(
        "change = \"added\"\nreplicates = 3\ndistricts = \"districts.csv\"",
        &format!("{TREE_DATA}{}", grid("paid = 1.5")),
    );
    let release = format!(
        "name = \"r\"\nseed = 5\nreplicates = 3\nkeep-draws = true\n{TREE_DATA}{}",
        grid("epsilon = 0.5")
    );
    std::fs::write(place.path("release.toml"), release).unwrap();
    place.prints(&["run", "config.toml", "--out", "out"]);
    place.prints(&["run", "release.toml", "--out", "releases"]);
    let rows: Vec<CoveredRow> = place.rows("out");
    for (cell, _) in place.with_cells("out", |row: &CoverageRow| row.cell) {
        assert!((cell.epsilon - 0.5).abs() < 1e-7, "{}", cell.words());
    }
    let folders: Vec<_> =
        std::fs::read_dir(place.path("releases/cells")).unwrap().map(|f| f.unwrap().path()).collect();
    assert_eq!(folders.len(), 2);
    for folder in folders {
        let wish =
            Wish { queries: Some(place.path("districts.csv")), ..Wish::of(folder.join("release.parquet")) };
        let inferred = infer(&wish).unwrap();
        // By the law: by draws both would differ by theirs.
        let by_law = inferred.draws == 0;
        let first: Vec<&CoveredRow> = rows.iter().filter(|row| row.replicate == 0).collect();
        let lengths: Vec<f64> =
            inferred.intervals.iter().filter(|i| i.of.is_err()).map(|i| i.high - i.low).collect();
        let of_districts =
            |rows: &[&CoveredRow]| rows.iter().rev().take(2).rev().map(|row| row.length).collect::<Vec<_>>();
        let cells: Vec<Vec<f64>> = first.chunk_by(|a, b| a.cell == b.cell).map(of_districts).collect();
        let near = |own: &Vec<f64>| {
            own.iter().zip(&lengths).all(|(a, b)| (a - b).abs() <= if by_law { 0.0 } else { 0.15 * b })
        };
        assert!(cells.iter().any(near), "{lengths:?}: {cells:?}");
    }
}

#[test]
fn what_is_refused_names_its_place() {
    let grid = "[[grid]]\npaid = 1.0\nlaw = \"double-geometric\"\nmethod = \"exact\"\n";
    let refuses = |top: &str, data: &str, wanted: &[&str]| {
        let place = place(top, &format!("{data}{grid}"));
        place.refuses(&["run", "config.toml", "--out", "out"], wanted);
        assert!(!place.path("out").exists());
    };
    refuses("replicates = 2", TREE_DATA, &["change"]);
    refuses("change = \"swapped\"\nreplicates = 2", TREE_DATA, &["change: got `swapped`"]);
    let top = "change = \"added\"\nreplicates = 2\n";
    refuses(&format!("{top}level = \"90\""), TREE_DATA, &["level: got `90`", "such as 0.9 or 9/10"]);
    refuses(&format!("{top}bootstrap = 5"), TREE_DATA, &["bootstrap: got 5", "from 99"]);
    refuses(&format!("{top}sizes = [1, 2]"), TREE_DATA, &["sizes: got [1, 2]", "ascending from 0"]);
    refuses(&format!("{top}districts = \"none.csv\""), TREE_DATA, &["none.csv"]);
    refuses(&format!("{top}districts = \"tree.csv\""), TREE_DATA, &["tree.csv", "name"]);
    refuses(top, PAIR_DATA, &["added", "impossible"]);
}

/// Three readers of a tree: the posterior under a flat prior of counts >= 0 holds, uses all that was measured, and so is shortest; what
/// conditions on counts >= 0 has one, too.
#[test]
fn posteriors_are_judged() {
    let block =
        |methods: &str| format!("[[grid]]\npaid = 1.0\nlaw = \"double-geometric\"\nmethod = [{methods}]\n");
    let top = "change = \"added\"\nreplicates = 60\nprior = \"nonnegative\"";
    let place = place(top, &format!("{TREE_DATA}{}", block("\"exact\", \"unconstrained\", \"topdown\"")));
    place.prints(&["run", "config.toml", "--out", "out"]);
    let rows = place.with_cells("out", |row: &CoverageRow| row.cell);
    let of = |method: &str, reading: Reading| {
        let is = |(cell, row): &&(_, CoverageRow)| {
            let cell: &congenial::study::cells::CellRow = cell;
            cell.method.name() == method && row.intervals == reading && row.class == 3
        };
        rows.iter().find(is).map(|(_, row)| row)
    };
    assert!(of("topdown", Reading::Posterior).is_none());
    for method in ["exact", "unconstrained"] {
        let (noise, posterior) =
            (of(method, Reading::Noise).unwrap(), of(method, Reading::Posterior).unwrap());
        assert!(posterior.variance.mean < noise.variance.mean, "{method}: {posterior:?} {noise:?}");
        assert!(posterior.coverage.mean > 0.75, "{posterior:?}");
    }
    let page = place.prints(&["report", "out", "--full"]);
    assert!(page.contains("Expected variance of the posterior"), "{page}");
}

/// Coefficients of a model: the exact likelihood holds its level, who takes releases for counts misses by far, and says so on the page.
#[test]
fn models_are_judged() {
    let (mut data, mut areas) = ("area,cases\n".to_owned(), "area,persons,exposed\n".to_owned());
    for i in 0..24 {
        data += &format!("a{i},4\n");
        areas += &format!("a{i},{},{}\n", 200 + 50 * (i % 5), i % 2);
    }
    let body = r#"
[data]
table = "areas-data.csv"
levels = ["area"]
count = "cases"
[model]
leaves = "areas.csv"
offset = "persons"
intercept = -4.6
coefficients = { exposed = 0.7 }
[[grid]]
paid = 0.7
law = "double-geometric"
method = ["exact", "topdown"]
"#;
    let top = "change = \"added\"\nreplicates = 150";
    let files = [("areas-data.csv", &*data), ("areas.csv", &*areas), ("config.toml", &*config(top, body))];
    let place = Place::new(&files);
    place.prints(&["run", "config.toml", "--out", "out"]);
    let classes: Vec<ClassRow> = place.rows("out");
    let names: Vec<&str> = classes.iter().map(|class| &*class.coefficient).collect();
    assert_eq!(names, ["intercept", "exposed"]);
    let rows = place.with_cells("out", |row: &CoverageRow| row.cell);
    // `topdown` has no likelihood.
    assert_eq!(rows.len(), 6);
    for (cell, row) in &rows {
        let error = row.coverage.standard_error.max(0.01);
        match row.intervals {
            Reading::Likelihood => {
                assert_eq!(cell.method.name(), "exact");
                assert!((row.coverage.mean - 0.9).abs() < 5.0 * error, "{row:?}");
                assert!(row.bias.mean.abs() < 5.0 * row.bias.standard_error + 0.15, "{row:?}");
            }
            _ => assert!(row.coverage.mean < 0.9 - 5.0 * error, "{}: {row:?}", cell.words()),
        }
    }
    let page = place.prints(&["report", "out"]);
    assert!(page.contains("the shortest intervals of coefficients that hold"), "{page}");
    let refuses = |change: (&str, &str), wanted: &[&str]| {
        let body = body.replace(change.0, change.1);
        place.write("wrong.toml", &config(top, &body));
        place.refuses(&["run", "wrong.toml", "--out", "wrong"], wanted);
    };
    refuses(("offset = \"persons\"", "offset = \"exposed\""), &["`exposed` = `0`, want a number > 0"]);
    refuses(("{ exposed = 0.7 }", "{ none = 0.7 }"), &["no column `none`"]);
    refuses(("exposed = 0.7 }", "exposed = 0.7 }\nsize = -1.0"), &["model.size: got -1"]);
    refuses(("intercept = -4.6", "intercept = 90.0"), &["a leaf has the mean", "want at most"]);
}

/// Entries of tables: what is guaranteed holds, and counts that must be >= 0 have no such intervals.
#[test]
fn tables_are_judged() {
    let grid = "[[grid]]\npaid = 1.0\nlaw = \"double-geometric\"\nmethod = [\"exact\"]\n";
    for (more, guaranteed) in [("", true), (NONNEGATIVE, false)] {
        let body = format!("{TABLE_DATA}{MARGINS}{more}{grid}");
        let place = Place::new(&[
            ("table.csv", TABLE),
            (
                "config.toml",
                &config("change = \"smallest\"\nreplicates = 400\nsizes = [0, 10]\nbootstrap = 99", &body),
            ),
        ]);
        place.prints(&["run", "config.toml", "--out", "out"]);
        let rows: Vec<CoverageRow> = place.rows("out");
        for row in &rows {
            assert_eq!(row.guaranteed, guaranteed && row.intervals == Reading::Noise, "{row:?}");
            if row.guaranteed {
                assert!(row.coverage.mean > 0.9 - 5.0 * row.coverage.standard_error.max(0.01), "{row:?}");
            }
        }
        assert_eq!(rows.iter().any(|row| row.intervals == Reading::Bootstrap), !guaranteed);
        let classes: Vec<ClassRow> = place.rows("out");
        assert!(classes[0].level_name == "entries" && classes[0].counts == 6, "{:?}", classes[0].counts);
    }
}
