//! `method = "release"` as a user runs it: the law of `exact`, rows of their own that no number of threads changes, what reads them, and
//! what is refused.
#![allow(clippy::disallowed_methods)] // An oracle need not agree to the last bit.

use crate::place::{MARGINS, NONNEGATIVE, Place, TABLE, TABLE_DATA};
use congenial::exact::Dyadic;
use congenial::infer::{Wish, infer};
use congenial::input::LeafList;
use congenial::law::DoubleGeometric;
use congenial::release::{Config, Statement};
use congenial::study::cells::{CellRow, StatementRow};
use congenial::study::coverage::CoverageRow;
use congenial::study::release::{ErrorRow, LevelRow, NodeDrawRow};
use statrs::distribution::{ChiSquared, ContinuousCDF};
use std::collections::HashMap;

const LEAVES: &str = "group,zone,count\na,a1,2\na,a2,0\nb,b1,30\nb,b2,1\n";

/// The logarithm of what noise weighs.
type LogWeight = Box<dyn Fn(f64) -> f64>;

/// By node: total, a, b, a1, a2, b1, b2.
const LEVEL: [usize; 7] = [0, 1, 1, 2, 2, 2, 2];

const BOTH: &str = r#"
[[grid]]
epsilon = 1.0
law = "double-geometric"
method = ["exact", "release"]

[[grid]]
epsilon = 3.0
law = "discrete-gaussian"
delta = 1e-3
method = ["exact", "release"]
"#;

fn config(study: &str, known: &str, grid: &str) -> String {
    format!(
        "name = \"released\"\nseed = 8\n{study}\n[data]\ntable = \"leaves.csv\"\ncount = \"count\"\nlevels = [\"group\", \"zone\"]\n\
         known = [{known}]\n{grid}"
    )
}

fn place(study: &str, known: &str, grid: &str) -> Place {
    let config = config(study, known, grid);
    Place::new(&[("leaves.csv", LEAVES), ("table.csv", TABLE), ("config.toml", &config)])
}

/// The law of the noise of all nodes, listed with leaves within 11; `log`: of a weight, by level, of those that are not known.
fn listed(log: &[Option<LogWeight>]) -> HashMap<[i64; 7], f64> {
    let (reach, mut law) = (11i64, HashMap::new());
    let side = 2 * reach + 1;
    for index in 0..side.pow(4) {
        let [a1, a2, b1, b2] = [0, 1, 2, 3].map(|place| index / side.pow(place) % side - reach);
        let z = [a1 + a2 + b1 + b2, a1 + a2, b1 + b2, a1, a2, b1, b2];
        let weight = |v: usize| match &log[LEVEL[v]] {
            Some(log) => Some(log(z[v] as f64)),
            None => (z[v] == 0).then_some(0.0),
        };
        if let Some(logs) = (0..7).map(weight).collect::<Option<Vec<f64>>>() {
            law.insert(z, logs.iter().sum::<f64>().exp());
        }
    }
    let total: f64 = law.values().sum();
    law.values_mut().for_each(|p| *p /= total);
    law
}

/// The p-value of Pearson's chi-square; outcomes that are expected fewer than 10 times are one.
fn fits(draws: &[[i64; 7]], law: &HashMap<[i64; 7], f64>) -> f64 {
    let mut seen: HashMap<[i64; 7], f64> = HashMap::new();
    draws.iter().for_each(|z| *seen.entry(*z).or_default() += 1.0);
    let n = draws.len() as f64;
    let (mut statistic, mut cells, mut rest) = (0.0, 0, (n, n));
    for (z, p) in law.iter().filter(|(_, p)| n * **p >= 10.0) {
        let (got, want) = (seen.get(z).copied().unwrap_or(0.0), n * p);
        statistic += (got - want) * (got - want) / want;
        rest = (rest.0 - got, rest.1 - want);
        cells += 1;
    }
    assert!(cells > 8 && rest.1 > 10.0, "{cells} outcomes, {} in others", rest.1);
    statistic += (rest.0 - rest.1) * (rest.0 - rest.1) / rest.1;
    ChiSquared::new(f64::from(cells)).unwrap().sf(statistic)
}

/// Both methods under both laws against the listed law, at the level 1e-6: without known counts, with the total, with a level. They pay
/// the same, and every row says which method drew it.
#[test]
fn the_law_is_that_of_exact() {
    for known in ["", "\"total\"", "\"total\", \"group\""] {
        let place = place("keep-draws = true\nreplicates = 6000", known, BOTH);
        place.prints(&["run", "config.toml", "--out", "out"]);
        assert_eq!(place.failures("out"), Vec::<String>::new());
        let mut scales: HashMap<String, Vec<f64>> = HashMap::new();
        for (cell, row) in place.with_cells("out", |row: &LevelRow| row.cell) {
            scales.entry(cell.law.name().into()).or_insert_with(|| vec![0.0; 3])[row.level as usize - 1] =
                row.scale;
        }
        let mut draws: HashMap<(String, &str), Vec<[i64; 7]>> = HashMap::new();
        for (cell, row) in place.with_cells("out", |row: &NodeDrawRow| row.cell) {
            let of = draws.entry((cell.law.name().into(), cell.method.name())).or_default();
            if row.node == 1 {
                of.push([0; 7]);
            }
            of.last_mut().unwrap()[row.node as usize - 1] = row.error as i64;
        }
        assert_eq!(draws.len(), 4, "{known}");
        for ((law, method), draws) in &draws {
            let log = scales[law].iter().map(|&scale| -> Option<LogWeight> {
                match (scale > 0.0, law.as_str()) {
                    (false, _) => None,
                    (true, "double-geometric") => Some(Box::new(move |z: f64| -z.abs() / scale)),
                    _ => Some(Box::new(move |z: f64| -z * z / (2.0 * scale * scale))),
                }
            });
            let p = fits(draws, &listed(&log.collect::<Vec<_>>()));
            println!("known {known}, {law}, {method}: p = {p:.4}");
            assert!(p > 1e-6 && draws.len() == 6000, "known {known}, {law}, {method}: p = {p:e}");
        }
        let both = |law: &str| ["exact", "release"].map(|method| draws[&(law.to_owned(), method)].clone());
        let [exact, release] = both("double-geometric");
        assert!(exact != release);
        let mut paid: HashMap<(String, String), Vec<Option<f64>>> = HashMap::new();
        for (cell, row) in place.with_cells("out", |row: &StatementRow| row.cell) {
            assert!(cell.tv_error.is_some_and(|error| error < 1e-9) && cell.integers && cell.consistent);
            paid.entry((cell.law.name().into(), format!("{:?}", row.change))).or_default().push(row.epsilon);
        }
        assert!(paid.values().all(|paid| paid.len() == 2 && paid[0] == paid[1]), "{paid:?}");
    }
}

/// The rows are a function of cell, replicate and master seed.
#[test]
fn rows_depend_on_no_threads() {
    let tree = place("replicates = 3000", "\"total\"", BOTH);
    let table = place("replicates = 3000", "", "");
    let partition = "[[invariant]]\nkind = \"partition\"\nby = \"row\"\n";
    table.write(
        "config.toml",
        &format!("name = \"t\"\nseed = 2\nreplicates = 3000\n{TABLE_DATA}{partition}{BOTH}"),
    );
    for place in [tree, table] {
        for (out, threads) in [("one", "1"), ("two", "2")] {
            place.prints(&["run", "config.toml", "--out", out, "--threads", threads]);
        }
        let [one, two] = ["one", "two"].map(|out| place.rows::<ErrorRow>(out));
        assert!(one == two && one.len() >= 12_000, "{}", one.len());
        let drawn = place.with_cells("one", |row: &ErrorRow| row.cell);
        assert!(drawn.iter().all(|(_, row)| row.invariant_ok));
        let released = drawn.iter().filter(|(cell, row)| cell.method.name() == "release" && row.l1 > 0.0);
        assert!(released.count() > 3000);
    }
}

/// A file of such a release is read as one of `exact`, and a study of coverage gives both methods the same guarantee.
#[test]
fn releases_are_read_as_those_of_exact() {
    let grid = "[[grid]]\nepsilon = 0.5\nlaw = \"double-geometric\"\nmethod = [\"exact\", \"release\"]\n";
    let files = place("keep-draws = true\nreplicates = 2", "\"total\"", grid);
    files.prints(&["run", "config.toml", "--out", "out"]);
    let halves = |method: &str| -> Vec<f64> {
        let cell =
            files.rows::<CellRow>("out").into_iter().find(|cell| cell.method.name() == method).unwrap();
        let file = files.path(&format!("out/cells/{}/release.parquet", cell.cell));
        let inferred = infer(&Wish { level: 0.9, bands: true, seed: 9, ..Wish::of(file) }).unwrap();
        assert!(inferred.is_guaranteed, "{method}");
        inferred.intervals.iter().map(|interval| interval.deviation).collect()
    };
    assert!(halves("exact") == halves("release") && halves("release").len() == 7);

    let grid = "[[grid]]\npaid = 1.0\nlaw = \"double-geometric\"\nmethod = [\"exact\", \"release\"]\n";
    let covered = place("study = \"coverage\"\nchange = \"moved\"\nreplicates = 2000", "\"total\"", grid);
    covered.prints(&["run", "config.toml", "--out", "out"]);
    let mut computed: HashMap<&str, Vec<f64>> = HashMap::new();
    for (cell, row) in covered.with_cells("out", |row: &CoverageRow| row.cell) {
        assert!(row.guaranteed, "{row:?}");
        let share = row.coverage_computed.unwrap();
        let off = (row.coverage.mean - share).abs();
        assert!(off <= 5.0 * row.coverage.standard_error, "{}: {row:?}", cell.method.name());
        computed.entry(cell.method.name()).or_default().push(share);
    }
    assert!(computed["exact"] == computed["release"] && computed["exact"].len() > 2, "{computed:?}");
    // What is computed without a draw is that of the law.
    let grid = "[[grid]]\nepsilon = 0.5\nlaw = \"double-geometric\"\nmethod = \"release\"\n";
    place("study = \"privacy\"", "", grid).prints(&["run", "config.toml", "--out", "out"]);
}

/// A release that protects a moved record with an epsilon of 1/2, and a cell of 1/4 with the same shares: bases that a scale in floating
/// point tells apart by no more than one step of 2^-48.
#[test]
fn bases_are_those_of_a_release() {
    let grid =
        "[[grid]]\nepsilon = 0.25\nsplit = [[0.3, 0.7]]\nlaw = \"double-geometric\"\nmethod = \"release\"\n";
    let place = place("replicates = 2", "\"total\"", grid);
    let plan: serde_json::Value =
        serde_json::from_str(&place.prints(&["plan", "config.toml", "--json"])).unwrap();
    let scales: Vec<f64> = serde_json::from_value(plan["cells"][0]["scales"].clone()).unwrap();
    place.write("domain.csv", "group,zone\na,a1\na,a2\nb,b1\nb,b2\n");
    place.write(
        "release.toml",
        "kind = \"release\"\n[product]\nname = \"n\"\ncurator = \"c\"\nintended-use = \"u\"\n[data]\ntable = \"leaves.csv\"\n\
         domain = \"domain.csv\"\nlevels = [\"group\", \"zone\"]\ncount = \"count\"\nknown = [\"total\"]\n[privacy]\n\
         protects = \"moved\"\nlaw = \"double-geometric\"\nepsilon = \"0.5\"\nsplit = [\"3/10\", \"7/10\"]\nnoise = \"conditioned\"\n\
         [publish]\ntable = \"none\"\n",
    );
    let config = Config::read(&place.path("release.toml")).unwrap();
    let statement = Statement::new(
        &config.privacy,
        &LeafList::read(&config.data.domain, &config.data.levels, config.data.known).unwrap().tree,
    )
    .unwrap();
    assert_eq!(scales.len(), 3);
    for (&scale, base) in scales.iter().zip(&statement.bases) {
        let drawn =
            DoubleGeometric::new(scale).ok().map(|law| Dyadic::double_geometric(law).unwrap().mantissa());
        let off = drawn.zip(base.as_ref()).map(|(drawn, base)| drawn.abs_diff(base.mantissa()));
        assert!(off.is_none_or(|off| off <= 1) && drawn.is_some() == base.is_some(), "{drawn:?}, {base:?}");
    }
}

/// What the sampler of real releases does not draw, with what draws it.
#[test]
fn what_is_not_drawn_is_refused() {
    let grid = |law: &str, method: &str| {
        let delta = if law.ends_with("gaussian") { "delta = 1e-3\n" } else { "" };
        format!("[[grid]]\nepsilon = 0.5\nlaw = \"{law}\"\n{delta}method = {method}\n")
    };
    let plain = "\"release\"";
    let at_least = "[[invariant]]\nkind = \"at-least\"\nof = { group = \"a\" }\nvalue = 1\n";
    let tree = |grid: &str| config("replicates = 3", "", grid);
    let table = |invariants: &str, grid: &str| {
        format!("name = \"t\"\nseed = 2\nreplicates = 3\n{TABLE_DATA}{invariants}{grid}")
    };
    let total = "[[invariant]]\nkind = \"total\"\n";
    let geometric = grid("double-geometric", plain);
    for (text, wanted) in [
        (tree(&grid("laplace", plain)), "draws integers, and laplace noise is real: use exact"),
        (tree(&grid("gaussian", plain)), "draws integers, and gaussian noise is real: use exact"),
        (
            tree(&grid("double-geometric", "{ kind = \"release\", nonnegative = true }")),
            "nonnegative: not an option of `release`",
        ),
        (tree(&(at_least.to_owned() + &geometric)), "want hierarchical-mh or rejection"),
        (table(MARGINS, &geometric), "equations that are no hierarchy"),
        (table(&(total.to_owned() + NONNEGATIVE), &geometric), "use exact, rejection or line-gibbs"),
        (table(total, &grid("laplace", plain)), "laplace noise is real: use exact"),
        (table(total, &grid("l2", plain)), "the l2 law is none: use exact"),
    ] {
        let place = place("", "", "");
        place.write("config.toml", &text);
        place.refuses(&["run", "config.toml", "--out", "out"], &[wanted]);
    }
    // Noise whose sums reach beyond the tables is a failure of its cell.
    let wide = place("replicates = 3", "\"total\"", &geometric.replace("0.5", "3e-4"));
    wide.command(&["run", "config.toml", "--out", "out"]).output().unwrap();
    let failures = wide.failures("out");
    assert!(failures.len() == 1 && failures[0].contains("noise this wide"), "{failures:?}");
}
