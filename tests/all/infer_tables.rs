//! `congenial infer` on tables under equations: laws by enumeration, coverage over many releases, and what is refused.
#![allow(clippy::disallowed_methods)] // Tests open files of their own.

use crate::place::Place;
use congenial::infer::{By, Inferred, Interval, Met, Wish, infer};
use congenial::store::Run;
use congenial::study::cells::CellRow;
use congenial::table::{Data, Reader};
use std::path::Path;

const MARGINS: &str = "[[invariant]]\nkind = \"margins\"\nrows = \"row\"\ncolumns = \"column\"\n";
const TOTAL: &str = "[[invariant]]\nkind = \"total\"\n";
/// The entries of a table with the rows a, b and the columns x, y, z.
const ENTRIES: [(&str, &str); 6] = [("a", "x"), ("a", "y"), ("a", "z"), ("b", "x"), ("b", "y"), ("b", "z")];
const QUERIES: &str = "row,column,name,weight\na,x,ends,1\nb,z,ends,1\na,x,less,-1\nb,x,less,1\n";
/// Draws of a table of a few targets.
const DRAWS: f64 = 9999.0;

fn wish(file: &Path, invariants: Option<&Path>) -> Wish {
    Wish { invariants: invariants.map(Path::to_owned), level: 0.8, seed: 9, ..Wish::of(file.to_owned()) }
}

/// What is said of a file, with changes of the wish.
fn told(noisy: &str, invariants: &str, change: impl FnOnce(&mut Wish)) -> Result<Inferred, String> {
    let files = [("noisy.csv", noisy), ("inv.toml", invariants), ("q.csv", QUERIES)];
    let place = Place::new(&files);
    let mut wish = wish(&place.path("noisy.csv"), Some(&place.path("inv.toml")));
    change(&mut wish);
    wish.queries = wish.queries.map(|_| place.path("q.csv"));
    infer(&wish).map_err(|e| e.to_string() + &format!("{:?}", miette::Report::new(e)))
}

/// A text whose lines are joined.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A noisy file of so many of the entries with these values; `told`: law, scale, known, method.
fn file(values: &[f64], told: &str) -> String {
    let rows = ENTRIES.iter().zip(values).map(|((row, column), y)| format!("{row},{column},{y},{told}\n"));
    let rows: String = rows.collect();
    format!("row,column,value,law,scale,known,method\n{rows}")
}

fn of<'a>(inferred: &'a Inferred, keys: &[&str]) -> &'a Interval {
    let has = |i: &&Interval| i.count.is_some_and(|count| inferred.noisy.keys(count) == keys);
    inferred.intervals.iter().find(has).unwrap_or_else(|| panic!("{keys:?}"))
}

fn query<'a>(inferred: &'a Inferred, name: &str) -> &'a Interval {
    inferred.intervals.iter().find(|i| i.of.as_ref().err().is_some_and(|own| own == name)).unwrap()
}

/// All noise of a table of 2 x 3 that keeps both margins, up to a size, with its chance under `exp(-|z|/lambda)` by entry.
fn noise_of_margins(lambda: f64) -> Vec<([i64; 6], f64)> {
    let reach = 40i64;
    let mut all = Vec::new();
    for a in -reach..=reach {
        for b in -reach..=reach {
            let size = 2 * (a + b).abs() + 2 * (a.abs() + b.abs());
            all.push(([a, b, -a - b, -a, -b, a + b], (-size as f64 / lambda).exp()));
        }
    }
    let total: f64 = all.iter().map(|(_, p)| p).sum();
    all.iter_mut().for_each(|(_, p)| *p /= total);
    all
}

/// Whether a half width by draws is that of a law, within five standard errors of the share of the draws.
fn fits(half: f64, level: f64, beyond: impl Fn(f64) -> f64) -> bool {
    let slack = 5.0 * (level * (1.0 - level) / DRAWS).sqrt();
    beyond(half) <= 1.0 - level + slack && beyond(half - 1.0) >= 1.0 - level - slack
}

/// Conditioned integer noise on a table of 2 x 3 under both margins, by enumeration: entries, sums and differences by draws.
#[test]
fn draws_have_the_law_of_an_enumeration() {
    let lambda = 6.0;
    let law = noise_of_margins(lambda);
    let noisy = file(&[300.0, 400.0, 500.0, 600.0, 700.0, 800.0], "double-geometric,6,false,exact");
    for level in [0.5, 0.8, 0.95] {
        let inferred = told(&noisy, MARGINS, |wish| {
            (wish.level, wish.queries) = (level, Some("q".into()));
        })
        .unwrap();
        assert!(inferred.is_guaranteed);
        // Both margins are fixed: entries and queries are all there is.
        assert_eq!(inferred.intervals.len(), 8);
        let weights = |name: &str| match name {
            "ends" => [1, 0, 0, 0, 0, 1],
            _ => [-1, 0, 0, 1, 0, 0],
        };
        let entry = |i: usize| {
            let mut weights = [0; 6];
            weights[i] = 1;
            weights
        };
        let entries = (0..6).map(|i| (of(&inferred, &[ENTRIES[i].0, ENTRIES[i].1]), entry(i)));
        let queries = ["ends", "less"].map(|name| (query(&inferred, name), weights(name)));
        for (interval, weights) in entries.chain(queries) {
            let sum = |z: &[i64; 6]| z.iter().zip(weights).map(|(z, c)| z * c).sum::<i64>() as f64;
            let beyond = |t: f64| law.iter().filter(|(z, _)| sum(z).abs() > t).map(|(_, p)| p).sum::<f64>();
            assert_eq!(interval.by, By::Draws);
            assert!(fits(interval.half, level, beyond), "{level} {interval:?} {}", beyond(interval.half));
            let variance: f64 = law.iter().map(|(z, p)| p * sum(z) * sum(z)).sum();
            assert!((interval.deviation / variance.sqrt() - 1.0).abs() < 0.06, "{interval:?} {variance}");
        }
    }
}

/// A partition has the law itself: three entries with one sum, beside one that is known with its own, by enumeration.
#[test]
fn partitions_have_their_law() {
    let lambda = 4.0;
    let mut law = Vec::new();
    for a in -80i64..=80 {
        for b in -80i64..=80 {
            law.push(([a, b, -a - b], (-((a.abs() + b.abs() + (a + b).abs()) as f64) / lambda).exp()));
        }
    }
    let total: f64 = law.iter().map(|(_, p)| p).sum();
    let beyond = |t: i64, of: &dyn Fn(&[i64; 3]) -> i64| {
        law.iter().filter(|(z, _)| of(z).abs() > t).map(|(_, p)| p).sum::<f64>() / total
    };
    let exact =
        |level: f64, of: &dyn Fn(&[i64; 3]) -> i64| (0..).find(|&t| beyond(t, of) <= 1.0 - level).unwrap();
    let noisy = file(&[30.0, 40.0, 50.0, 7.0], "double-geometric,4,false,exact");
    let noisy = noisy.replace("b,x,7,double-geometric,4,false", "b,x,7,double-geometric,4,true");
    let invariants = "[[invariant]]\nkind = \"partition\"\nby = [\"row\"]\n";
    for level in [0.8, 0.9, 0.99] {
        let inferred = told(&noisy, invariants, |wish| wish.level = level).unwrap();
        let [x, y] = [of(&inferred, &["a", "x"]), of(&inferred, &["a", "y"])];
        assert_eq!((x.by, x.half, y.half), (By::Law, exact(level, &|z| z[0]) as f64, x.half));
        assert_eq!(of(&inferred, &["b", "x"]).half, 0.0);
        // What the invariant leaves open: sums by column, of which that of x has the noise of a alone.
        assert_eq!(of(&inferred, &["", "x"]).half, x.half);
        assert_eq!(inferred.draws, 0);
        partition_ratio(&noisy, invariants, (level, &law));
    }
}

/// The ratio of a, x to a, y in that: at its ends as much of the noise is inside as the level says, and by a thousandth beyond them more.
fn partition_ratio(noisy: &str, invariants: &str, (level, law): (f64, &[([i64; 3], f64)])) {
    let queries = "row,column,name\na,x,x\na,y,y\n";
    let place = Place::new(&[("noisy.csv", noisy), ("inv.toml", invariants), ("q.csv", queries)]);
    let wish = wish(&place.path("noisy.csv"), Some(&place.path("inv.toml")));
    let queries = Some(place.path("q.csv"));
    let inferred = infer(&Wish { level, queries, ratios: vec!["x/y".into()], ..wish }).unwrap();
    let [ratio] = &inferred.ratios[..] else { panic!() };
    assert!(ratio.by == By::Law && inferred.ratio_draws == 0 && ratio.low < 0.75 && 0.75 < ratio.high);
    let whole: f64 = law.iter().map(|(_, p)| p).sum();
    let inside = |r: f64| {
        let far = (30.0 - r * 40.0).abs() - 1e-7;
        let near = |z: &[i64; 3]| (z[0] as f64 - r * z[1] as f64).abs() < far;
        law.iter().filter(|(z, _)| near(z)).map(|(_, p)| p).sum::<f64>() / whole
    };
    assert!(inside(ratio.low) < level && inside(ratio.high) < level, "{ratio:?}");
    assert!(inside(0.999 * ratio.low) >= level && inside(1.001 * ratio.high) >= level, "{ratio:?}");
}

/// Normal noise has normal quantiles: of both margins of r x c an entry has the variance `σ² (1 - 1/r)(1 - 1/c)`, by either way.
#[test]
fn normal_noise_has_its_law() {
    for method in ["exact", "l2"] {
        let noisy = file(&[300.0, 400.0, 500.0, 600.0, 700.0, 800.0], &format!("gaussian,9,false,{method}"));
        let inferred =
            told(&noisy, MARGINS, |wish| (wish.level, wish.queries) = (0.9, Some("q".into()))).unwrap();
        let entry = of(&inferred, &["a", "x"]);
        let deviation = 9.0 / 3.0f64.sqrt();
        assert!((entry.deviation - deviation).abs() < 1e-9 && entry.by == By::Law, "{entry:?}");
        assert!((entry.half - 1.6448536269514722 * deviation).abs() < 1e-9, "{entry:?}");
        // z of b, x less that of a, x, which is its negative.
        assert!((query(&inferred, "less").deviation - 2.0 * deviation).abs() < 1e-9);
        normal_ratio(&noisy);
    }
}

/// The ratio of 400 to 600 in that, one column apart and one row: roots of `(a - r b)² = q² Var(a - r b)`. The entries have the variance
/// `σ²/3`, and as projections onto what both margins leave the covariance `σ² (-1/2) (-1/3)`.
fn normal_ratio(noisy: &str) {
    let queries = "row,column,name\na,y,up\nb,x,down\n";
    let place = Place::new(&[("noisy.csv", noisy), ("inv.toml", MARGINS), ("q.csv", queries)]);
    let wish = wish(&place.path("noisy.csv"), Some(&place.path("inv.toml")));
    let queries = Some(place.path("q.csv"));
    let inferred = infer(&Wish { level: 0.9, queries, ratios: vec!["up/down".into()], ..wish }).unwrap();
    let [ratio] = &inferred.ratios[..] else { panic!() };
    let q = 1.6448536269514722f64.powi(2) * 81.0;
    let (two, one, none) = (600.0 * 600.0 - q / 3.0, 400.0 * 600.0 - q / 6.0, 400.0 * 400.0 - q / 3.0);
    let root = f64::sqrt(one * one - two * none);
    let (low, high) = ((one - root) / two, (one + root) / two);
    assert!(ratio.by == By::Law && (ratio.low - low).abs() < 1e-9, "{ratio:?} {low}");
    assert!((ratio.high - high).abs() < 1e-9, "{ratio:?} {high}");
}

/// Over 1,000 releases of a table of 2 x 3 intervals and bands hold what they say, by laws and by draws.
#[test]
fn intervals_of_tables_hold_what_they_say() {
    const REPLICATES: usize = 1000;
    let table: String = ENTRIES
        .iter()
        .zip([40, 0, 3, 900, 77, 5])
        .map(|((row, column), x)| format!("{row},{column},{x}\n"))
        .collect();
    let config = format!(
        "name = \"noisy\"\nseed = 5\nreplicates = {REPLICATES}\nkeep-draws = true\n[data]\ntable = \"t.csv\"\n\
         count = \"count\"\n{MARGINS}\n[[grid]]\nepsilon = 0.2\nlaw = [\"double-geometric\", \"laplace\"]\n\
         method = [\"exact\", \"l2\", \"l2-then-integer-l1\", \"unconstrained\"]\n\n\
         [[grid]]\nepsilon = 0.2\nlaw = \"l2\"\nmethod = \"exact\"\n\n\
         [[grid]]\nepsilon = 0.2\ndelta = 1e-6\nlaw = [\"gaussian\", \"discrete-gaussian\"]\nmethod = \"exact\"\n"
    );
    let place = Place::new(&[
        ("t.csv", &format!("row,column,count\n{table}")),
        ("config.toml", &config),
        ("q.csv", QUERIES),
        ("inv.toml", MARGINS),
    ]);
    place.prints(&["run", "config.toml", "--out", "out"]);
    let run = Run::open(&place.path("out")).unwrap();
    let mut by = Vec::new();
    for cell in run.all::<CellRow>().unwrap() {
        let folder = run.folder.join(format!("cells/{}", cell.cell));
        let wish = Wish {
            queries: Some(place.path("q.csv")),
            bands: true,
            ..wish(&folder.join("release.parquet"), None)
        };
        let inferred = infer(&wish).unwrap();
        assert!(inferred.is_guaranteed && inferred.intervals.len() == 8);
        let what = format!("{} {}", cell.law.name(), cell.method_plain());
        // The footer says what a file of invariants says.
        let same = infer(&Wish { invariants: Some(place.path("inv.toml")), ..wish.clone() }).unwrap();
        assert_eq!(format!("{:?}", same.intervals), format!("{:?}", inferred.intervals));
        if cell.method_plain() == "unconstrained" {
            assert!(inferred.projected);
            continue;
        }
        let mut errors: Vec<[f64; 8]> = vec![[0.0; 8]; REPLICATES];
        let mut from = 0;
        Reader::open(&folder.join("draws.parquet"))
            .unwrap()
            .groups(|columns| {
                let rows = columns[0].len();
                for entry in 0..6 {
                    for row in 0..rows {
                        errors[from + row][entry] = match &columns[3 + entry].data {
                            Data::I64(z) => z[row] as f64,
                            Data::F64(z) => z[row],
                            other => panic!("{other:?}"),
                        };
                    }
                }
                from += rows;
                Ok(true)
            })
            .unwrap();
        errors.iter_mut().for_each(|z| (z[6], z[7]) = (z[0] + z[5], z[3] - z[0]));
        // Five standard errors of a share of 0.8.
        let slack = 5.0 * (0.16 / REPLICATES as f64).sqrt();
        let mut together = [0; 2];
        for (place, interval) in inferred.intervals.iter().enumerate() {
            let inside = |z: &&[f64; 8]| z[place].abs() <= interval.half + 1e-9;
            let held = errors.iter().filter(inside).count() as f64 / REPLICATES as f64;
            assert!(held >= 0.8 - slack && held <= 0.8 + slack + 0.05, "{what} {:?}: {held}", interval.of);
            by.push(interval.by);
        }
        for z in &errors {
            let within = |place: usize| z[place].abs() <= inferred.intervals[place].band.unwrap().half + 1e-9;
            together[0] += usize::from((0..6).all(within));
            together[1] += usize::from((6..8).all(within));
        }
        for held in together.iter().map(|&held| held as f64 / REPLICATES as f64) {
            assert!(held >= 0.8 - slack && held <= 0.8 + slack + 0.05, "{what}: {held}");
        }
    }
    assert!(by.contains(&By::Law) && by.contains(&By::Draws));
}

/// The solution of a linear system by elimination with row exchanges.
fn solve(mut a: Vec<Vec<f64>>) -> Vec<f64> {
    let n = a.len();
    for i in 0..n {
        let best = (i..n).max_by(|&p, &q| a[p][i].abs().total_cmp(&a[q][i].abs())).unwrap();
        a.swap(i, best);
        let pivot = a[i].clone();
        for (_, own) in a.iter_mut().enumerate().filter(|(row, _)| *row != i) {
            let times = own[i] / pivot[i];
            own.iter_mut().zip(&pivot).for_each(|(x, p)| *x -= times * p);
        }
    }
    (0..n).map(|i| a[i][n] / a[i][i]).collect()
}

/// Noise on every entry, margins as rows of sums: estimates are those of dense least squares with multipliers.
#[test]
fn raw_tables_are_projected() {
    let y = [12.5, 3.0, 9.0, -4.0, 30.0, 1.0];
    let [a, b, x, col_y] = [20.0, 35.0, 10.0, 33.0];
    let sum = |keys: &str, value: f64| format!("{keys},{value},,,true,unconstrained\n");
    let sums = [("a,", a), ("b,", b), (",x", x), (",y", col_y), (",z", 12.0)];
    let sums: String = sums.iter().map(|(keys, value)| sum(keys, *value)).collect();
    let entries = file(&y, "laplace,3,false,unconstrained");
    let noisy = entries.clone() + &sums;
    let inferred = told(&noisy, MARGINS, |_| {}).unwrap();
    // Sums stand anywhere.
    let (head, rows) = entries.split_once('\n').unwrap();
    let moved = told(&format!("{head}\n{sums}{rows}"), MARGINS, |_| {}).unwrap();
    for (row, column) in ENTRIES {
        let [one, other] = [&inferred, &moved].map(|inferred| of(inferred, &[row, column]).estimate);
        assert!((one - other).abs() < 1e-9);
    }
    assert!(inferred.projected && inferred.is_guaranteed);
    // x - y + Aᵀ w = 0 and A x = b, with the margins but the last, which follows.
    let rows: [([usize; 3], f64); 4] = [([0, 1, 2], a), ([3, 4, 5], b), ([0, 3, 9], x), ([1, 4, 9], col_y)];
    let mut system = vec![vec![0.0; 11]; 10];
    for i in 0..6 {
        system[i][i] = 1.0;
        system[i][10] = y[i];
    }
    for (k, (entries, value)) in rows.iter().enumerate() {
        for &entry in entries.iter().filter(|entry| **entry < 6) {
            system[entry][6 + k] = 1.0;
            system[6 + k][entry] = 1.0;
        }
        system[6 + k][10] = *value;
    }
    for (i, want) in solve(system).into_iter().take(6).enumerate() {
        let got = of(&inferred, &[ENTRIES[i].0, ENTRIES[i].1]).estimate;
        assert!((got - want).abs() < 1e-9, "{i}: {got} {want}");
    }
    // An entry loses to the projection what the margins tell of it: 18 (1/2)(2/3) = 6 is left, by draws.
    let deviation = of(&inferred, &["a", "x"]).deviation;
    assert!((deviation / 6.0f64.sqrt() - 1.0).abs() < 0.05, "{deviation}");
    // No interval leaves what the margins leave: column x has 10 in all.
    assert!(inferred.intervals.iter().all(|i| i.low >= 0.0) && of(&inferred, &["b", "x"]).high <= 10.0);
    // A matrix says its values itself.
    let matrix = "[[invariant]]\nkind = \"matrix\"\nrows = [[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1], [1, 0, 0, 1, 0, 0], \
                  [0, 1, 0, 0, 1, 0]]\nvalues = [20, 35, 10, 33]\n";
    let same = told(&entries, matrix, |_| {}).unwrap();
    for (one, other) in inferred.intervals.iter().zip(&same.intervals) {
        assert!((one.estimate - other.estimate).abs() < 1e-9);
    }
    let wrong = noisy.replace(",z,12", ",z,13");
    let message = told(&wrong, MARGINS, |_| {}).unwrap_err();
    assert!(message.contains("what is fixed does not go together"), "{message}");
}

/// An interval is cut to what the invariant leaves: with margins of 5 and 5 of 7 the first entry is at least 3 and at most 5.
#[test]
fn intervals_meet_what_the_invariant_leaves() {
    let noisy = "row,column,value,law,scale,method\na,x,4,double-geometric,9,exact\na,y,1,double-geometric,9,exact\n\
                 b,x,1,double-geometric,9,exact\nb,y,1,double-geometric,9,exact\n";
    let inferred = told(noisy, MARGINS, |wish| wish.level = 0.95).unwrap();
    let ends = |keys: &[&str]| (of(&inferred, keys).low, of(&inferred, keys).high, of(&inferred, keys).met);
    assert_eq!(ends(&["a", "x"]), (3.0, 5.0, Met::Cut));
    assert_eq!(ends(&["b", "y"]), (0.0, 2.0, Met::Cut));
    // Under one total alone a row has at most all of it.
    let inferred = told(noisy, TOTAL, |wish| wish.level = 0.95).unwrap();
    let row = of(&inferred, &["a", ""]);
    assert_eq!((row.low, row.high, row.met), (0.0, 7.0, Met::Cut));
    assert!(words(&inferred.page().to_text(80)).contains("within what the invariant leaves them"));
}

/// Posteriors of 2 x 2 under both margins by enumeration of the one free dimension: flat, and flat on counts >= 0.
#[test]
fn posteriors_of_tables_are_enumerated() {
    let noisy = "row,column,value,law,scale,method\na,x,2,double-geometric,8,exact\na,y,9,double-geometric,8,exact\n\
                 b,x,1,double-geometric,8,exact\nb,y,4,double-geometric,8,exact\n";
    // Where nothing is cut.
    let high = ["x,2", "y,9", "x,1", "y,4"].iter().fold(noisy.to_owned(), |noisy, at| {
        let (column, value) = at.split_once(',').unwrap();
        noisy.replace(at, &format!("{column},50{value}"))
    });
    for (prior, range) in [("flat", -200..=200), ("nonnegative", -2..=1)] {
        let law: Vec<(f64, f64)> =
            range.map(|t: i64| (t as f64, (-4.0 * t.abs() as f64 / 8.0).exp())).collect();
        let total: f64 = law.iter().map(|(_, p)| p).sum();
        let moment = |of: &dyn Fn(f64) -> f64| law.iter().map(|&(t, p)| of(t) * p).sum::<f64>() / total;
        let (mean, square) = (moment(&|t| t), moment(&|t| t * t));
        let deviation = (square - mean * mean).sqrt();
        let wanted = congenial::infer::prior(prior).ok();
        let (noisy, released) = if prior == "flat" { (&*high, 502.0) } else { (noisy, 2.0) };
        let inferred = told(noisy, MARGINS, |wish| (wish.prior, wish.level) = (wanted, 0.9)).unwrap();
        let entry = of(&inferred, &["a", "x"]);
        assert_eq!((entry.by, inferred.is_guaranteed), (By::Posterior, false));
        assert!(
            (entry.estimate - released - mean).abs() < 5.0 * deviation / DRAWS.sqrt(),
            "{prior} {entry:?} {mean}"
        );
        assert!((entry.deviation / deviation - 1.0).abs() < 0.05, "{prior} {entry:?} {deviation}");
        // At most 5 % on either side, and one step in more; 5 standard errors of the draws.
        let beyond =
            |t: f64| law.iter().filter(|(x, _)| released + x < t).map(|(_, p)| p).sum::<f64>() / total;
        let slack = 5.0 * (0.05f64 * 0.95 / DRAWS).sqrt();
        assert!(beyond(entry.low) <= 0.05 + slack && beyond(entry.low + 1.0) >= 0.05 - slack, "{entry:?}");
    }
    let refused = |noisy: &str, prior: &str, want: &str| {
        let prior = congenial::infer::prior(prior).ok();
        let message = told(noisy, MARGINS, |wish| wish.prior = prior).unwrap_err();
        assert!(message.contains(want), "{message}");
    };
    refused(noisy, "poisson", "want flat or nonnegative");
    let below =
        noisy.replace("x,2", "x,-1").replace("y,9", "y,12").replace("x,1", "x,4").replace("y,4", "y,1");
    refused(&below, "nonnegative", "an entry was released below 0");
    refused(&noisy.replace("exact", "l2"), "flat", "no posterior of a table released by l2");
    refused(&noisy.replace("double-geometric", "gaussian"), "flat", "want integer noise conditioned");
}

/// What is kept within inequalities gets a bootstrap, which promises nothing.
#[test]
fn tables_within_inequalities_promise_nothing() {
    let within = format!("{MARGINS}\n[[invariant]]\nkind = \"nonnegative\"\n");
    for method in ["exact", "nnl2", "nnl2-then-integer-l1"] {
        let noisy = file(&[3.0, 0.0, 5.0, 6.0, 7.0, 0.0], &format!("double-geometric,6,false,{method}"));
        let inferred = told(&noisy, &within, |_| {}).unwrap();
        assert!(!inferred.is_guaranteed && inferred.intervals.iter().all(|i| i.by == By::Bootstrap));
        assert!(words(&inferred.page().to_text(80)).contains("They promise nothing"));
    }
    // Free noise has a law, and what is known of the counts cuts its intervals.
    let free = file(&[3.0, -9.0, 5.0, 6.0, 7.0, 0.0], "double-geometric,6,false,unconstrained");
    let free = free + ",,30,,,true,unconstrained\n";
    let bounds = format!("{TOTAL}\n[[invariant]]\nkind = \"bounds\"\nupper = 9\n");
    let inferred = told(&free, &bounds, |_| {}).unwrap();
    assert!(
        inferred.is_guaranteed && inferred.intervals.iter().filter(|i| i.of == Ok(3)).all(|i| i.high <= 9.0)
    );
}

/// Ratios and other ways to hand a table over: any order, parquet, columns of one's own.
#[test]
fn rows_come_in_any_order() {
    let noisy = file(&[300.0, 400.0, 500.0, 600.0, 700.0, 800.0], "double-geometric,6,false,exact");
    let wishes = |wish: &mut Wish| {
        (wish.queries, wish.ratios) = (Some("q".into()), vec!["ends/less".into()]);
    };
    let one = told(&noisy, MARGINS, wishes).unwrap();
    let mut lines: Vec<&str> = noisy.lines().collect();
    lines[1..].reverse();
    let other = told(&(lines.join("\n") + "\n"), MARGINS, wishes).unwrap();
    for (row, column) in ENTRIES {
        let [a, b] = [&one, &other].map(|inferred| of(inferred, &[row, column]));
        assert_eq!(a.estimate, b.estimate);
        assert!((a.half - b.half).abs() <= 1.0);
    }
    // All r at which 1100 - 300 r is no farther from 0 than its noise is with the chance 0.8, by enumeration.
    let [ratio] = &one.ratios[..] else { panic!() };
    let law = noise_of_margins(6.0);
    let beyond = |r: f64| {
        let of = |z: &[i64; 6]| ((z[0] + z[5]) as f64 - r * (z[3] - z[0]) as f64).abs();
        let far = (1100.0 - 300.0 * r).abs();
        law.iter().filter(|(z, _)| of(z) >= far - 1e-9).map(|(_, p)| p).sum::<f64>()
    };
    let slack = 5.0 * (0.16 / DRAWS).sqrt();
    assert!(
        (ratio.estimate - 11.0 / 3.0).abs() < 1e-12
            && ratio.low < ratio.estimate
            && ratio.estimate < ratio.high
    );
    for (inside, outside) in
        [(1.001 * ratio.low, 0.999 * ratio.low), (0.999 * ratio.high, 1.001 * ratio.high)]
    {
        assert!(beyond(inside) >= 0.2 - slack && beyond(outside) <= 0.2 + slack, "{ratio:?}");
    }
    let page = one.page().to_text(80);
    assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
    assert!(page.contains("The 6 entries") && page.contains("2 queries of"), "{page}");
}

/// What a run writes is read back, whatever its invariant: sets, which free noise states as a matrix, and columns with names of ours.
#[test]
fn files_of_runs_are_read() {
    let rows = [("a", "x", 40), ("a", "y", 7), ("b", "x", 3), ("b", "y", 90), ("c", "x", 12)];
    let table: String = rows.iter().map(|(scale, part, x)| format!("{scale},{part},{x}\n")).collect();
    for (invariant, levels) in [
        ("kind = \"subsets\"\nsets = [[1, 2, 3], [3, 4]]", 2),
        ("kind = \"partition\"\nby = [\"scale\"]", 2),
        ("kind = \"total\"", 3),
    ] {
        let config = format!(
            "name = \"noisy\"\nseed = 5\nreplicates = 2\nkeep-draws = true\n[data]\ntable = \"t.csv\"\n\
             count = \"count\"\n[[invariant]]\n{invariant}\n[[grid]]\nepsilon = 0.2\nlaw = \"double-geometric\"\n\
             method = [\"exact\", \"unconstrained\", \"line-gibbs\"]\n"
        );
        let place = Place::new(&[("t.csv", &format!("scale,part,count\n{table}")), ("config.toml", &config)]);
        place.prints(&["run", "config.toml", "--out", "out"]);
        let run = Run::open(&place.path("out")).unwrap();
        for cell in run.all::<CellRow>().unwrap() {
            let file = run.folder.join(format!("cells/{}/release.parquet", cell.cell));
            let inferred = infer(&wish(&file, None)).unwrap_or_else(|e| panic!("{invariant}: {e}"));
            assert_eq!(inferred.noisy.columns, ["data.scale", "part"]);
            assert_eq!(inferred.projected, cell.method_plain() == "unconstrained");
            assert_eq!(inferred.is_guaranteed, !cell.method.is_chain());
            assert!(inferred.noisy.levels() >= levels, "{invariant}");
            // What is fixed is met, whatever was done.
            let sum = |own: &[usize]| -> f64 {
                own.iter().map(|&i| of(&inferred, &[rows[i].0, rows[i].1]).estimate).sum()
            };
            let fixed: &[(&[usize], f64)] = match invariant.contains("subsets") {
                true => &[(&[0, 1, 2], 50.0), (&[2, 3], 93.0)],
                false if invariant.contains("total") => &[(&[0, 1, 2, 3, 4], 152.0)],
                false => &[(&[0, 1], 47.0), (&[2, 3], 93.0), (&[4], 12.0)],
            };
            for (own, want) in fixed {
                assert!((sum(own) - want).abs() < 1e-9, "{invariant} {own:?}");
            }
        }
    }
}

#[test]
fn what_a_table_refuses_names_its_place() {
    let good = file(&[300.0, 400.0, 500.0, 600.0, 700.0, 800.0], "double-geometric,6,false,exact");
    told(&good, MARGINS, |_| {}).unwrap();
    let refused = |from: &str, to: &str, invariants: &str, want: &str| {
        assert!(good.contains(from), "{from}");
        let message = told(&good.replace(from, to), invariants, |_| {}).unwrap_err();
        assert!(words(&message).contains(want), "{from} -> {to}: {message}");
    };
    refused("a,y,400", "a,x,400", MARGINS, "line 3: `a, x` stands there twice (first on line 2)");
    refused("a,y,400", "a,y,four", MARGINS, "line 3: `value` = `four`, want a number");
    refused(
        "a,y,400,double",
        "a,,400,double",
        MARGINS,
        "line 3: a key is blank, which makes it a sum: want `known` true",
    );
    refused(
        "a,y,400,double-geometric,6,f",
        "a,y,400,double-geometric,5,f",
        MARGINS,
        "want one for all entries",
    );
    refused(
        "exact",
        "topdown",
        MARGINS,
        "`method` = `topdown`, want what was done: one of unconstrained, exact",
    );
    refused("double-geometric", "cauchy", MARGINS, "`law` = `cauchy`, want one of laplace");
    refused("a,y,400", "a,y,400.5", MARGINS, "want an integer, as exact releases of double-geometric noise");
    refused("row,column", "line,column", MARGINS, "no column `row`");
    refused("exact", "unconstrained", MARGINS, "the sum of `a`: nothing gives what the invariant fixes");
    let more = |row: &str, invariants: &str, want: &str| {
        let message = told(&format!("{good}{row},,,true,exact\n"), invariants, |_| {}).unwrap_err();
        assert!(message.contains(want), "{row}: {message}");
    };
    more("a,,1201", MARGINS, "the sum of `a`: the values give 1200, and the invariant fixes 1201");
    more("c,,12", MARGINS, "line 8: the sum of `c`: no [[invariant]] fixes it, or it is that of no entry");
    more(",,3300", MARGINS, "no [[invariant]] fixes it");
    told(&format!("{good}a,,1200,,,true,exact\n"), MARGINS, |_| {}).unwrap();
    let matrix = |rows: &str| format!("[[invariant]]\nkind = \"matrix\"\nrows = {rows}\n");
    let values = matrix("[[1, 1, 1, 0, 0, 0]]\nvalues = [1300]");
    refused("a,y", "a,y", &values, "equation 1: the values give 1200, and the invariant fixes 1300");
    refused(
        "b,z,800,double-geometric,6,false,exact\n",
        "",
        &matrix("[[1, 1, 1, 0, 0, 0]]"),
        "the matrix has 6 columns for 5 entries",
    );
    refused("a,y", "a,y", "[[invariant]]\nkind = \"margin\"\n", "margin");
    refused("a,y", "a,y", "name = \"x\"\n", "unknown field");
    refused(
        "a,y",
        "a,y",
        "[[invariant]]\nkind = \"hierarchy\"\nlevels = [\"row\"]\n",
        "its nodes have no rows here",
    );
    refused(
        "exact",
        "l2",
        &format!("{MARGINS}\n[[invariant]]\nkind = \"nonnegative\"\n"),
        "no release of this table is by `l2`",
    );
    let real =
        good.replace("double-geometric", "laplace").replace("exact", "l2").replace("a,y,400", "a,y,400.5");
    let message = told(&real, MARGINS, |_| {}).unwrap_err();
    assert!(message.contains("the values give 1200.5, want a whole number"), "{message}");
    // Without invariants a file is that of a tree.
    let message = told(&good, MARGINS, |wish| wish.invariants = None).unwrap_err();
    assert!(message.contains("no row of the total") && message.contains("wants --invariants"), "{message}");
    // Entries without a row count nothing, and the page says so.
    let short = told(&good.replace("b,z,800,double-geometric,6,false,exact\n", ""), MARGINS, |_| {}).unwrap();
    assert!(
        short
            .page()
            .to_text(200)
            .contains("Entries without a row, such as `b, z`, are taken to be 0 for sure")
    );
    let place =
        Place::new(&[("noisy.csv", &good), ("inv.toml", MARGINS), ("q.csv", "row,column,name\na,w,one\n")]);
    let wish = Wish {
        queries: Some(place.path("q.csv")),
        ..wish(&place.path("noisy.csv"), Some(&place.path("inv.toml")))
    };
    let message = infer(&wish).unwrap_err().to_string();
    assert!(message.contains("line 2: `a, w` is no entry of"), "{message}");
}
