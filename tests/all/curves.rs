//! `plan --delta`: what releases pay by the whole law of their loss.

use crate::place::Place;
use congenial::study::profile::{CurveRow, Figure, ProfileRow};
use serde_json::Value;

const COUNTS: &str = "zone,group,count\na1,a,5\na2,a,0\nb1,b,120\nb2,b,3\nb3,b,44\nc1,c,7\n";

/// Three levels with noise of epsilon 0.5 each: free, moved to the sums, conditioned on them and on counts >= 0.
const TREE: &str = r#"
name = "curves"
seed = 3
replicates = 1

[data]
table = "counts.csv"
levels = ["group", "zone"]
count = "count"

[[grid]]
epsilon = 0.5
law = "double-geometric"
method = ["unconstrained", "l2", { kind = "exact", nonnegative = [false, true] }]

[[grid]]
epsilon = 0.5
law = "laplace"
method = ["unconstrained", "l2", "exact"]

[[grid]]
epsilon = 0.5
delta = 1e-6
law = ["discrete-gaussian", "gaussian"]
method = ["unconstrained", "exact"]
"#;

/// Two rows of three counts, and a total of six.
const TABLE: &str = r#"
name = "table"
seed = 3
replicates = 1

[data]
table = "table.csv"
count = "count"
entry = ["row", "column"]
INVARIANTS
[[grid]]
epsilon = 0.5
law = "double-geometric"
method = ["exact", "l2"]
"#;

/// A study that releases nothing.
const WORLDS: &str = r#"
name = "worlds"
seed = 3
study = "composition"

[worlds]
worlds = 3
cases = 10
epsilon = 1.0
"#;

fn changes(place: &Place, config: &str, arguments: &[&str]) -> Vec<Value> {
    let told = place.prints(&[&["plan", config, "--json"], arguments].concat());
    let told: Value = serde_json::from_str(&told).unwrap();
    let cells = told["cells"].as_array().unwrap().clone();
    let mut changes = told["curves"]["changes"].as_array().unwrap().clone();
    for change in &mut changes {
        let cell = cells.iter().find(|cell| cell["cell"] == change["cell"]).unwrap();
        for key in ["law", "method", "nonnegative", "pays"] {
            change[key] = cell[key].clone();
        }
    }
    changes
}

/// The least epsilon at delta of so many answers of randomised response: a binomial number of them lose.
pub(crate) fn binomial(epsilon: f64, answers: u32, delta: f64) -> f64 {
    let up = 1.0 / (1.0 + libm::exp(-epsilon));
    let mut law = vec![1.0];
    for _ in 0..answers {
        let mut next = vec![0.0; law.len() + 1];
        law.iter().enumerate().for_each(|(k, p)| {
            next[k] += p * (1.0 - up);
            next[k + 1] += p * up;
        });
        law = next;
    }
    let loss = |k: usize| (2.0 * k as f64 - f64::from(answers)) * epsilon;
    let at = |own: f64| -> f64 {
        let over = law.iter().enumerate().filter(|(k, _)| loss(*k) > own);
        over.map(|(k, p)| -p * libm::expm1(own - loss(k))).sum()
    };
    let (mut low, mut high) = (0.0, loss(answers as usize));
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if at(middle) > delta { low = middle } else { high = middle }
    }
    high
}

#[test]
fn releases_pay_together_what_the_law_of_their_loss_says() {
    let place = Place::new(&[("counts.csv", COUNTS), ("tree.toml", TREE)]);
    for (releases, delta) in [(1u32, 1e-3), (20, 1e-6)] {
        let arguments = ["--delta", &delta.to_string(), "--releases", &releases.to_string()];
        let all = changes(&place, "tree.toml", &arguments);
        // Seven cells of pure noise and four of Gaussian, of each a record added and one moved.
        assert_eq!(all.len(), 22);
        for change in all {
            let number = |key: &str| change[key].as_f64();
            let (epsilon, charged) = (number("epsilon").unwrap(), number("charged").unwrap());
            assert!(epsilon <= charged * (1.0 + 1e-9), "{change}");
            let nonnegative = change["nonnegative"].as_bool().unwrap();
            let [law, method, kind, known] =
                ["law", "method", "change", "known"].map(|key| change[key].as_str().unwrap());
            let counts = if kind == "added" { 3 } else { 4 };
            let want = match (law, method) {
                ("double-geometric" | "discrete-gaussian", "unconstrained") => "computed",
                ("double-geometric" | "laplace", "l2") => "noise",
                ("laplace", "unconstrained") | ("gaussian", _) => "computed",
                ("double-geometric" | "discrete-gaussian", "exact") if !nonnegative => "computed",
                _ => "bounded",
            };
            assert_eq!(known, want, "{change}");
            match (law, known) {
                ("double-geometric", "noise") | ("double-geometric", "computed") if method != "exact" => {
                    let want = binomial(0.5, counts * releases, delta);
                    assert!((epsilon / want - 1.0).abs() < 1e-9, "{change}: want {want}");
                }
                // What is known of a pure loss bounds that of conditioned noise.
                ("double-geometric", "computed") => {
                    let most = binomial(0.5 * f64::from(counts), releases, delta);
                    assert!(epsilon < most && number("mu").is_some(), "{change}: at most {most}");
                }
                ("double-geometric" | "laplace", "bounded") => {
                    let loss = change["pays"][kind]["epsilon_conditioned"].as_f64().unwrap();
                    let want = binomial(loss, releases, delta);
                    assert!((epsilon / want - 1.0).abs() < 1e-9, "{change}: want {want}");
                }
                _ => {}
            }
        }
    }
}

#[test]
fn tables_pay_for_the_change_that_there_is() {
    let rows = "row,column,count\na,x,3\na,y,0\na,z,5\nb,x,1\nb,y,2\nb,z,2\n";
    let place = Place::new(&[("table.csv", rows)]);
    let partition = |by: &str| format!("[[invariant]]\nkind = \"partition\"\nby = [\"{by}\"]\n");
    let margins = partition("row") + &partition("column");
    for (invariants, kind, counts) in
        [(margins.as_str(), "smallest", 4), ("[[invariant]]\nkind = \"total\"\n", "moved", 2)]
    {
        place.write("table.toml", &TABLE.replace("INVARIANTS", invariants));
        let all = changes(&place, "table.toml", &["--delta", "1e-6", "--releases", "10"]);
        let [exact, l2] = &all[..] else { panic!("{all:?}") };
        let epsilon = |change: &Value| change["epsilon"].as_f64().unwrap();
        assert_eq!([&exact["change"], &exact["known"], &l2["known"]], [kind, "computed", "noise"]);
        let want = binomial(0.5, 10 * counts, 1e-6);
        assert!((epsilon(l2) / want - 1.0).abs() < 1e-9, "{l2}: want {want}");
        // Conditioning keeps the pure loss and no more: together it pays more than free noise.
        let most = binomial(0.5 * f64::from(counts), 10, 1e-6);
        assert!(epsilon(exact) > want && epsilon(exact) < most, "{exact}: between {want} and {most}");
    }
}

/// What is known of the law at which a chain aims is said to be that; and where tables leave out more than delta, what is charged is
/// known all the same.
#[test]
fn chains_and_small_deltas_have_what_is_known_of_them() {
    let rows = "row,column,count\na,x,3\na,y,0\na,z,5\n";
    let chain = TABLE
        .replace("INVARIANTS", "[[invariant]]\nkind = \"total\"\n")
        .replace("\"l2\"", "{ kind = \"lattice-metropolis\", steps = 10 }");
    let place = Place::new(&[
        ("table.csv", rows),
        ("table.toml", &chain),
        ("counts.csv", COUNTS),
        ("tree.toml", TREE),
    ]);
    let [exact, chain] = &changes(&place, "table.toml", &["--delta", "1e-6"])[..] else { panic!() };
    assert_eq!([&exact["known"], &chain["known"]], ["computed", "target"]);
    assert_eq!(exact["epsilon"], chain["epsilon"]);
    let all = changes(&place, "tree.toml", &["--delta", "1e-40", "--releases", "120"]);
    for change in all.iter().filter(|change| change["law"] == "discrete-gaussian") {
        assert_eq!(change["epsilon"], change["charged"], "{change}");
    }
}

/// Margins of three rows, by transforms; and few counts >= 0, by all tables: of a total of two what the two laws of every two neighbours
/// say.
#[test]
fn what_is_few_is_listed() {
    let three = "row,column,count\na,x,3\na,y,0\na,z,5\nb,x,1\nb,y,2\nb,z,2\nc,x,0\nc,y,4\nc,z,1\n";
    let place = Place::new(&[("table.csv", three)]);
    let partition = |by: &str| format!("[[invariant]]\nkind = \"partition\"\nby = [\"{by}\"]\n");
    place.write("table.toml", &TABLE.replace("INVARIANTS", &(partition("row") + &partition("column"))));
    let all = changes(&place, "table.toml", &["--delta", "1e-6", "--releases", "10"]);
    let epsilon = |change: &Value| change["epsilon"].as_f64().unwrap();
    assert_eq!([&all[0]["change"], &all[0]["known"]], ["smallest", "computed"]);
    let [least, most] = [binomial(0.5, 40, 1e-6), binomial(2.0, 10, 1e-6)];
    assert!(epsilon(&all[0]) > least && epsilon(&all[0]) < most, "{}: {least}, {most}", all[0]);
    let (total, lambda) = (9i64, 2.0);
    place.write("table.csv", &format!("row,column,count\na,x,2\na,y,{}\n", total - 2));
    let invariants = "[[invariant]]\nkind = \"total\"\n[[invariant]]\nkind = \"nonnegative\"\n";
    place.write("table.toml", &TABLE.replace("INVARIANTS", invariants).replace(", \"l2\"", ""));
    let all = changes(&place, "table.toml", &["--delta", "1e-3"]);
    let [exact] = &all[..] else { panic!("{all:?}") };
    assert_eq!([&exact["change"], &exact["known"]], ["moved", "computed"]);
    // The first of the two counts is released as y, from x; both have noise.
    let law = |x: i64| -> Vec<f64> {
        let weights: Vec<f64> =
            (0..=total).map(|y| libm::exp(-2.0 * (y - x).abs() as f64 / lambda)).collect();
        let sum: f64 = weights.iter().sum();
        weights.into_iter().map(|weight| weight / sum).collect()
    };
    let pairs = (0..total).flat_map(|x| [(x, x + 1), (x + 1, x)]);
    let pairs: Vec<_> = pairs.map(|(x, other)| (law(x), law(other))).collect();
    let delta = |at: f64| -> f64 {
        let of = |(p, q): &(Vec<f64>, Vec<f64>)| -> f64 {
            p.iter().zip(q).map(|(p, q)| (p - libm::exp(at) * q).max(0.0)).sum()
        };
        pairs.iter().map(of).fold(0.0, f64::max)
    };
    let (mut low, mut high) = (0.0, 4.0);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if delta(middle) > 1e-3 { low = middle } else { high = middle }
    }
    let got = epsilon(exact);
    assert!(got >= high - 1e-9 && got <= high + 1e-3, "{exact}: want {high}");
    // As many tables that not all are compared: a bound.
    place.write("table.csv", "row,column,count\na,x,2\na,y,700\n");
    let all = changes(&place, "table.toml", &["--delta", "1e-3"]);
    assert_eq!(all[0]["known"], "bounded");
}

#[test]
fn curves_are_printed_and_refused() {
    let place = Place::new(&[("counts.csv", COUNTS), ("tree.toml", TREE)]);
    let told = place.prints(&["plan", "tree.toml", "--delta", "1e-6", "--releases", "12"]);
    assert!(told.contains("What 12 releases of a cell pay together at delta 1e-6"), "{told}");
    assert!(told.contains("exact >= 0"), "{told}");
    place.refuses(&["plan", "tree.toml", "--delta", "1"], &["above 0 and below 1"]);
    place.refuses(&["plan", "tree.toml", "--releases", "2"], &["--delta"]);
    place.refuses(&["plan", "tree.toml", "--delta", "1e-6", "--releases", "0"], &["--releases"]);
    let fixed = TABLE.replace("INVARIANTS", "[[invariant]]\nkind = \"subsets\"\nsets = [[1], [2]]\n");
    let fixed = fixed.replace("replicates = 1", "study = \"profile\"\ndelta = 1e-6").replace(", \"l2\"", "");
    place.write("table.csv", "row,column,count\na,x,3\na,y,0\n");
    place.write("fixed.toml", &fixed);
    let told = place.prints(&["run", "fixed.toml", "--out", "fixed"]);
    assert!(told.contains("No record can be added, removed or moved"), "{told}");
    place.write("worlds.toml", WORLDS);
    place.refuses(&["plan", "worlds.toml", "--delta", "1e-6"], &["--delta", "composition"]);
}

/// A study writes what `plan` prints, for every number of releases, and curves that say the same: of two counts with free noise, by the
/// binomial law of what they lose.
#[test]
fn a_study_writes_profiles_and_their_curves() {
    let study = "study = \"profile\"\ndelta = 1e-6\nreleases = [1, 20]";
    let config = TREE.replace("replicates = 1", study);
    let place = Place::new(&[("counts.csv", COUNTS), ("tree.toml", TREE), ("profile.toml", &config)]);
    place.prints(&["run", "profile.toml", "--out", "out"]);
    let (rows, curves) = (place.rows::<ProfileRow>("out"), place.rows::<CurveRow>("out"));
    assert_eq!((rows.len(), curves.len()), (44, 44 * (65 + 65 + 36)));
    for (releases, times) in [("1", 1), ("20", 20)] {
        let planned = changes(&place, "tree.toml", &["--delta", "1e-6", "--releases", releases]);
        let own: Vec<&ProfileRow> = rows.iter().filter(|row| row.releases == times).collect();
        assert_eq!(own.len(), planned.len());
        for (row, want) in own.iter().zip(&planned) {
            assert_eq!(
                (Some(&*row.change), row.known.as_deref()),
                (want["change"].as_str(), want["known"].as_str())
            );
            for (figure, key) in [(row.charged, "charged"), (row.epsilon_at_delta, "epsilon"), (row.mu, "mu")]
            {
                assert_eq!(figure, want[key].as_f64(), "{key}: {want}");
            }
        }
    }
    for row in &rows {
        let of = |figure: Figure| {
            let own = curves
                .iter()
                .filter(|at| (at.cell, &at.change, at.releases) == (row.cell, &row.change, row.releases));
            own.filter(|at| at.figure == figure).map(|at| (at.x, at.y)).collect::<Vec<_>>()
        };
        let (delta, error) = (of(Figure::Delta), of(Figure::Error));
        let (end, least) = delta[64];
        assert_eq!(Some(end), row.epsilon_at_delta);
        assert!(least <= 1e-6 * (1.0 + 1e-9), "{row:?}: {least}");
        assert_eq!((error[0].0, error.last()), (0.0, Some(&(1.0, 0.0))));
        for curve in [&delta, &error] {
            assert!(curve.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 >= pair[1].1), "{row:?}");
        }
        // No test does better than at an (epsilon, delta) of the other curve.
        for (epsilon, delta) in &delta {
            let below = |&(x, y): &(f64, f64)| y < 1.0 - delta - libm::exp(*epsilon) * x - 1e-9;
            assert!(!error.iter().any(below), "{row:?}");
        }
    }
    let told = place.prints(&["report", "out", "--format", "html"]);
    for words in [
        "what releases pay together for one record moved, at delta 0.000001",
        "delta against epsilon",
        "errors of a test",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    let refuses = |from: &str, to: &str, wanted: &[&str]| {
        place.write("profile.toml", &config.replace(from, to));
        place.refuses(&["run", "profile.toml", "--out", "not"], wanted);
        assert!(!place.path("not").exists());
    };
    refuses(
        "\ndelta = 1e-6\nreleases",
        "\ndelta = 1.0\nreleases",
        &["delta: got 1", "in (0, 1)", "profile.toml"],
    );
    refuses("\ndelta = 1e-6\nreleases", "\nreleases", &["missing field `delta`"]);
    refuses("[1, 20]", "[0]", &["releases: got 0"]);
    refuses("[1, 20]", "[20, 20]", &["releases: got 20 twice"]);
    refuses("seed = 3", "seed = 3\nreplicates = 4", &["replicates", "profile.toml"]);
}
