//! `congenial infer`: intervals by hand, coverage over many releases, and what is refused.
#![allow(clippy::disallowed_methods)] // Tests open files of their own.

use crate::place::{Place, TREE, TREE_DATA};
use congenial::exact::IntegerTree;
use congenial::infer::{By, Inferred, Interval, Met, Ratio, Wish, infer};
use congenial::inference::{Counts, NodeLaws, Regression, Release, SumLaw, SumLaws, Weight};
use congenial::input::{CsvTable, Wanted};
use congenial::invariant::Hierarchy;
use congenial::law::DoubleGeometric;
use congenial::rng::{Role, TaskKey, stream};
use congenial::store::Run;
use congenial::study::cells::CellRow;
use congenial::study::release::NodeDrawRow;
use congenial::table::Key;
use std::collections::HashMap;
use std::path::Path;

/// Districts of the tree: across groups, overlapping, and a difference.
const DISTRICTS: &str = "\
group,zone,name,weight
a,a1,north,1
b,b1,north,1
c,c1,north,1
b,b1,middle,1
b,b2,middle,1
a,a2,more,1
b,b3,more,-1
";

/// The same as leaves: a1, a2, b1, b2, b3, c1.
const WEIGHTS: [(&str, [i8; 6]); 3] =
    [("north", [1, 0, 1, 0, 0, 1]), ("middle", [0, 0, 1, 1, 0, 0]), ("more", [0, 1, 0, 0, -1, 0])];

fn wish(file: &Path, queries: Option<&Path>) -> Wish {
    let queries = queries.map(Path::to_owned);
    Wish { queries, level: 0.8, bands: true, seed: 9, ..Wish::of(file.to_owned()) }
}

/// The intervals of what stands in a file.
fn told(noisy: &str, level: f64) -> Result<Inferred, String> {
    let place = Place::new(&[("noisy.csv", noisy)]);
    let file = place.path("noisy.csv");
    infer(&Wish { level, bands: false, ..wish(&file, None) }).map_err(|e| e.to_string())
}

/// Two leaves whose sum is known have the same noise with two signs, of the law `tanh(1/λ) e^(-2|z|/λ)`.
#[test]
fn intervals_by_hand() {
    let lambda = 2.0 / std::f64::consts::LN_2; // e^(-2/λ) = 1/2: P(z) = (1/3) 2^-|z|.
    let file = |a: i64, b: i64| {
        format!(
            "zone,value,law,scale,known,method\n,{},double-geometric,{lambda},true,exact\n\
             a,{a},double-geometric,{lambda},false,exact\nb,{b},double-geometric,{lambda},false,exact\n",
            a + b
        )
    };
    let of = |a: i64, b: i64, level: f64| {
        let inferred = told(&file(a, b), level).unwrap();
        assert!(inferred.is_guaranteed && inferred.intervals.iter().all(|i| i.by == By::Law));
        let ends = |i: &Interval| (i.low, i.high, i.met);
        inferred.intervals.iter().map(ends).collect::<Vec<_>>()
    };
    // P(|z| > 0) = 2/3, > 1: 1/3, > 2: 1/6, > 3: 1/12.
    assert_eq!(
        of(40, 60, 0.8)[..],
        [(100.0, 100.0, Met::Whole), (38.0, 42.0, Met::Whole), (58.0, 62.0, Met::Whole)]
    );
    assert_eq!(of(40, 60, 0.9)[1..], [(37.0, 43.0, Met::Whole), (57.0, 63.0, Met::Whole)]);
    assert_eq!(of(40, 60, 0.3)[1..], [(40.0, 40.0, Met::Whole), (60.0, 60.0, Met::Whole)]);
    // What is below 0 is cut, and what is above the known total; nothing is left where all of it is.
    assert_eq!(of(-1, 101, 0.8)[1..], [(0.0, 1.0, Met::Cut), (99.0, 100.0, Met::Cut)]);
    assert_eq!(of(-3, 103, 0.8)[1..], [(0.0, 0.0, Met::Empty), (100.0, 100.0, Met::Empty)]);
    let deviation = told(&file(40, 60), 0.8).unwrap().intervals[1].deviation;
    // Σ z² 2^-|z| / 3 = 4.
    assert!((deviation - 2.0).abs() < 1e-9, "{deviation}");
}

/// Normal noise on a total and two leaves, by hand: least squares leave 2/3 of a variance to each; the difference of the leaves keeps both
/// of theirs. The laws are computed, so that nothing is drawn.
#[test]
fn normal_noise_on_a_tree_by_hand() {
    let queries = "zone,name,weight\na,difference,1\nb,difference,-1\na,left,1\nb,right,1\n";
    for method in ["unconstrained", "exact", "l2"] {
        let (a, b) = (40.0, 60.0);
        let total = if method == "unconstrained" { 103.0 } else { a + b };
        let row = |key: &str, value: f64| format!("{key},{value},gaussian,3,{method}\n");
        let rows = row("", total) + &row("a", a) + &row("b", b);
        let file = format!("zone,value,law,scale,method\n{rows}");
        let place = Place::new(&[("noisy.csv", &file), ("queries.csv", queries)]);
        let wish = Wish {
            ratios: vec!["left/right".into()],
            level: 0.9,
            bands: false,
            ..wish(&place.path("noisy.csv"), Some(&place.path("queries.csv")))
        };
        let inferred = infer(&wish).unwrap();
        assert!(inferred.is_guaranteed && inferred.draws == 0, "{method}");
        let deviations: Vec<f64> = inferred.intervals.iter().map(|i| i.deviation).collect();
        for (got, variance) in deviations.iter().zip([6.0, 6.0, 6.0, 18.0, 6.0, 6.0]) {
            assert!((got - f64::sqrt(variance)).abs() < 1e-9, "{method}: {deviations:?}");
        }
        let half = 1.644_853_626_951_472_7 * f64::sqrt(6.0);
        assert!(inferred.intervals.iter().all(|i| i.by == By::Law));
        assert!((inferred.intervals[1].half - half).abs() < 1e-6, "{}", inferred.intervals[1].half);
        // Fieller: the ratio r goes with the release where (y - r x)² is at most 1.645² Var(z_y - r z_x); covariance -3.
        let ratio = &inferred.ratios[0];
        let values = [inferred.intervals[4].estimate, inferred.intervals[5].estimate];
        for r in [ratio.low, ratio.high] {
            let (distance, variance) = (values[0] - r * values[1], 6.0 + 6.0 * r * r + 6.0 * r);
            let off = distance.abs() - 1.644_853_626_951_472_7 * f64::sqrt(variance);
            assert!(ratio.by == By::Law && off.abs() < 1e-5, "{method}: {r} {off}");
        }
    }
}

/// Over 2,000 releases intervals and bands hold at least what they say, of nodes and of districts, by laws and by draws; an interval
/// of a law does not hold much more than it must, where counts are spread.
#[test]
fn intervals_hold_what_they_say() {
    const REPLICATES: usize = 2000;
    let grid = r#"
[[grid]]
epsilon = 0.1
law = ["double-geometric", "laplace"]
method = ["exact", "l2", "unconstrained"]

[[grid]]
epsilon = 0.1
delta = 1e-6
law = ["discrete-gaussian", "gaussian"]
method = "exact"
"#;
    let config = format!(
        "name = \"noisy\"\nseed = 3\nreplicates = {REPLICATES}\nkeep-draws = true\n{TREE_DATA}{grid}"
    );
    let place = Place::new(&[("tree.csv", TREE), ("config.toml", &config), ("d.csv", DISTRICTS)]);
    place.prints(&["run", "config.toml", "--out", "out"]);
    let run = Run::open(&place.path("out")).unwrap();
    let cells: HashMap<Key, CellRow> =
        run.all().unwrap().into_iter().map(|row: CellRow| (row.cell, row)).collect();
    let mut errors: HashMap<Key, Vec<Vec<f64>>> = HashMap::new();
    run.each(|row: NodeDrawRow| {
        let of_cell = errors.entry(row.cell).or_insert_with(|| vec![Vec::new(); 10]);
        of_cell[row.node as usize - 1].push(row.error);
        Ok(())
    })
    .unwrap();
    let mut by = Vec::new();
    for (key, errors) in &errors {
        let cell = &cells[key];
        let file = run.folder.join(format!("cells/{key}/release.parquet"));
        let inferred = infer(&wish(&file, Some(&place.path("d.csv")))).unwrap();
        assert_eq!(inferred.intervals.len(), 13);
        assert!(inferred.is_guaranteed);
        let what = format!("{} {}", cell.law.name(), cell.method_plain());
        // Free noise is projected by what is said of it: its draws are those of `l2`.
        let errors = match cell.method_plain().as_str() {
            "unconstrained" => continue,
            _ => errors,
        };
        let mut all = errors.clone();
        for (_, weights) in WEIGHTS {
            let sum =
                |replicate: usize| (0..6).map(|i| f64::from(weights[i]) * errors[4 + i][replicate]).sum();
            all.push((0..REPLICATES).map(sum).collect::<Vec<f64>>());
        }
        // Five standard errors of a share of 0.8.
        let least = 0.8 - 5.0 * (0.16 / REPLICATES as f64).sqrt();
        let share = |held: usize| held as f64 / REPLICATES as f64;
        for (interval, errors) in inferred.intervals.iter().zip(&all) {
            let held = share(errors.iter().filter(|z| z.abs() <= interval.half + 1e-9).count());
            assert!(held >= least, "{what} {:?}: {held}", interval.of);
            assert!(held <= 0.8 + 0.1, "{what} {:?}: {held}", interval.of);
            let squares: f64 = errors.iter().map(|z| z * z).sum();
            let (got, want) = (interval.deviation, (squares / REPLICATES as f64).sqrt());
            assert!((got / want - 1.0).abs() < 0.12, "{what} {:?}: {got} {want}", interval.of);
            by.push(interval.by);
        }
        for group in [0..1, 1..4, 4..10, 10..13] {
            let all = |replicate: usize| {
                let inside = |place: usize| {
                    let band = inferred.intervals[place].band.unwrap();
                    all[place][replicate].abs() <= band.half + 1e-9
                };
                group.clone().all(inside)
            };
            let held = share((0..REPLICATES).filter(|&replicate| all(replicate)).count());
            assert!(held >= least, "{what} {group:?}: {held}");
            assert!(held <= 0.8 + 0.1, "{what} {group:?}: {held}");
        }
    }
    assert!(by.contains(&By::Law) && by.contains(&By::Draws));
}

/// Ratios have the law of their noise: two leaves below a known total, whose noise has one size and two signs. The interval is
/// then that of all r with `|a - r b| <= (1 + r) t`, t the quantile of |z|: from `(a - t)/(b + t)` to `(a + t)/(b - t)`.
#[test]
fn ratios_are_inverted() {
    let lambda = 8.0;
    let of = |a: i64, b: i64, level: f64| {
        let row = |name: &str, value: i64, known: bool| {
            format!("{name},{value},double-geometric,{lambda},{known},exact\n")
        };
        let rows = [row("", a + b, a + b >= 0), row("a", a, false), row("b", b, false)].concat();
        let place = Place::new(&[
            ("noisy.csv", &format!("zone,value,law,scale,known,method\n{rows}")),
            ("d.csv", "zone,name\na,a\nb,b/c\n"),
        ]);
        let wish = wish(&place.path("noisy.csv"), Some(&place.path("d.csv")));
        let wish = Wish { level, bands: false, ratios: vec!["a/b/c".into()], ..wish };
        infer(&wish).unwrap().ratios.remove(0)
    };
    // P(|z| > t) of tanh(1/λ) e^(-2|z|/λ), summed.
    let p = |z: i64| (1.0f64 / lambda).tanh() * (-2.0 * z as f64 / lambda).exp();
    let quantile =
        |level: f64| (0..).find(|&t| p(0) + 2.0 * (1..=t).map(p).sum::<f64>() >= level).unwrap() as f64;
    for (a, b, level) in [(300i64, 500i64, 0.8), (40, 900, 0.9), (900, 31, 0.5)] {
        let (got, t) = (of(a, b, level), quantile(level));
        let (a, b) = (a as f64, b as f64);
        assert!((got.estimate - a / b).abs() < 1e-12);
        assert!(got.by == By::Law && (got.low - (a - t) / (b + t)).abs() < 1e-9, "{got:?} {t}");
        assert!((got.high - (a + t) / (b - t)).abs() < 1e-9, "{got:?} {t}");
    }
    // A count that may be 0 gives no end.
    let open = of(300, 2, 0.9);
    assert!(open.high == f64::INFINITY && open.low > 0.0, "{open:?}");
    assert_eq!(of(1, 300, 0.9).low, 0.0);
    // Released far below 0: no ratio >= 0 goes with it, and what is said has ends that can be.
    let ends = |ratio: &Ratio| (ratio.low, ratio.high, ratio.is_empty);
    let (above, below, both) = (of(-300, 500, 0.9), of(300, -100, 0.9), of(-300, -500, 0.9));
    assert_eq!((above.estimate, ends(&above)), (0.0, (0.0, 0.0, true)));
    assert_eq!((below.estimate, ends(&below)), (f64::INFINITY, (f64::INFINITY, f64::INFINITY, true)));
    // Of two that are as far below 0 as each other's noise allows, the ratio is still told.
    assert!(both.estimate.is_nan() && !both.is_empty && both.low < 0.6 && 0.6 < both.high, "{both:?}");
    // A little below 0 it holds what is possible.
    let little = of(-1, 300, 0.9);
    assert!(little.low == 0.0 && little.high > 0.0 && !little.is_empty, "{little:?}");
}

/// The true ratio of two leaves of three, whose sum is released with noise of its own, is held at least as often as is said, also where the
/// lower one is 0: over all noise up to 4 on every leaf, by its chance.
#[test]
fn ratios_hold_what_they_say() {
    let (scale, level) = (0.5, 0.8);
    let all = (-4i64..=4).flat_map(|a| (-4..=4).flat_map(move |b| (-4..=4).map(move |c| [a, b, c])));
    let weight = |z: &[i64; 3]| {
        let sizes = z.iter().map(|z| z.abs()).sum::<i64>() + z.iter().sum::<i64>().abs();
        (-sizes as f64 / scale).exp()
    };
    let noise: Vec<([i64; 3], f64)> = all.map(|z| (z, weight(&z))).collect();
    let whole: f64 = noise.iter().map(|(_, p)| p).sum();
    let place = Place::new(&[("d.csv", "zone,name\na,a\nb,both\nc,both\n")]);
    for counts in [[6, 2, 1], [4, 0, 0], [0, 1, 2]] {
        let truth = counts[0] as f64 / (counts[1] + counts[2]) as f64;
        let mut held = 0.0;
        // What is left out counts as not held.
        for (z, p) in noise.iter().filter(|(_, p)| *p > 1e-4 * whole) {
            let released: Vec<i64> = counts.iter().zip(z).map(|(x, z)| x + z).collect();
            let row = |name: &str, y: i64| format!("{name},{y},double-geometric,{scale},exact\n");
            let rows: String = ["a", "b", "c"].iter().zip(&released).map(|(name, &y)| row(name, y)).collect();
            let total = row("", released.iter().sum());
            let file = place.path("noisy.csv");
            std::fs::write(&file, format!("zone,value,law,scale,method\n{total}{rows}")).unwrap();
            let wish = wish(&file, Some(&place.path("d.csv")));
            let inferred =
                infer(&Wish { level, bands: false, ratios: vec!["a/both".into()], ..wish }).unwrap();
            let [ratio] = &inferred.ratios[..] else { panic!() };
            assert!(inferred.is_guaranteed && ratio.by == By::Law && inferred.ratio_draws == 0);
            if !ratio.is_empty && ratio.low <= truth && truth <= ratio.high {
                held += p / whole;
            }
        }
        assert!(held >= level, "{counts:?}: {held}");
    }
}

/// Draws that are kept are written: a row for each draw and node, whose counts add up; known ones are what they are.
#[test]
fn draws_are_written() {
    let row =
        |keys: &str, value: i64, known: bool| format!("{keys},{value},double-geometric,2,{known},exact\n");
    let rows = [row(",", 9, false), row("g,", 9, true), row("g,a", 5, false), row("g,b", 4, false)].concat();
    let place = Place::new(&[("noisy.csv", &format!("count,zone,value,law,scale,known,method\n{rows}"))]);
    let arguments = ["infer", "noisy.csv", "--prior", "nonnegative", "--draws", "40"];
    place.prints(&[&arguments[..], &["--out", "out"]].concat());
    let table = CsvTable::read_wanted(&place.path("out/draws.parquet"), &Wanted::readable()).unwrap();
    assert_eq!(table.columns, [".draw", "data.count", "zone", "count"]);
    assert_eq!(table.len(), 160);
    let mut seen = Vec::new();
    for draw in 0..40 {
        let text = |node: usize, column: usize| table.text(4 * draw + node, column);
        let count = |node: usize| text(node, 3).parse::<i64>().unwrap();
        assert!((0..4).all(|node| text(node, 0) == (draw + 1).to_string()));
        assert_eq!([text(0, 1), text(1, 1), text(2, 1), text(2, 2), text(3, 2)], ["", "g", "g", "a", "b"]);
        assert!(count(0) == 9 && count(1) == 9 && count(2) + count(3) == 9 && count(2).min(count(3)) >= 0);
        seen.push(count(2));
    }
    // Independent draws of a law with more than one value.
    seen.sort_unstable();
    seen.dedup();
    assert!(seen.len() > 2, "{seen:?}");
    place.refuses(&arguments, &["--out"]);
    place.refuses(&["infer", "noisy.csv", "--draws", "40", "--out", "out"], &["--prior"]);
}

/// Values that do not add up are those of least squares: root and two leaves of equal variance, by hand.
#[test]
fn raw_values_are_projected() {
    let file = "zone,value,law,scale,method\n,10,laplace,2,unconstrained\na,3,laplace,2,unconstrained\n\
                b,4,laplace,2,unconstrained\n";
    let inferred = told(file, 0.9).unwrap();
    assert!(inferred.projected && inferred.is_guaranteed);
    // The sums differ by 3, of which each of the three takes 1.
    let estimates: Vec<f64> = inferred.intervals.iter().map(|i| i.estimate).collect();
    for (got, want) in estimates.iter().zip([9.0, 4.0, 5.0]) {
        assert!((got - want).abs() < 1e-12, "{estimates:?}");
    }
    // A leaf's variance falls from 8 to 16/3; 9,999 draws tell it to a few percent.
    let deviation = inferred.intervals[1].deviation;
    assert!((deviation / (16.0f64 / 3.0).sqrt() - 1.0).abs() < 0.05, "{deviation}");
    // Known counts stay as they are, wherever they are.
    let known = "zone,value,variance,known,method\n,10,8,true,unconstrained\na,3,8,false,unconstrained\n\
                 b,4,8,false,unconstrained\n";
    let inferred = told(known, 0.9).unwrap();
    let estimates: Vec<f64> = inferred.intervals.iter().map(|i| i.estimate).collect();
    for (got, want) in estimates.iter().zip([10.0, 4.5, 5.5]) {
        assert!((got - want).abs() < 1e-12, "{estimates:?}");
    }
    // A variance is no law.
    assert!(!inferred.is_guaranteed);
}

/// A posterior by hand: two leaves below a known total of 3, Poisson with two means that cancel, weights `2^-|y - x|`.
#[test]
fn posteriors_by_hand() {
    let lambda = 1.0 / std::f64::consts::LN_2;
    let file = format!(
        "zone,value,law,scale,known,method\n,3,double-geometric,{lambda},true,unconstrained\n\
         a,5,double-geometric,{lambda},false,unconstrained\nb,-1,double-geometric,{lambda},false,unconstrained\n"
    );
    let place = Place::new(&[
        ("noisy.csv", &file),
        ("d.csv", "zone,name,weight\na,both,1\nb,both,1\na,less,1\nb,less,-1\n"),
    ]);
    let wish = Wish {
        prior: congenial::infer::prior("poisson:2").ok(),
        bands: false,
        ..wish(&place.path("noisy.csv"), Some(&place.path("d.csv")))
    };
    let inferred = infer(&wish).unwrap();
    // x = a of 3: 1/(x! (3 - x)!) 2^-(5 - x) 2^-(4 - x), in parts of 125: binomial with 4/5.
    let law = [1.0, 12.0, 48.0, 64.0].map(|part| part / 125.0);
    let mean: f64 = law.iter().enumerate().map(|(x, p)| x as f64 * p).sum();
    assert!((mean - 2.4).abs() < 1e-12);
    let a = &inferred.intervals[1];
    assert!((a.estimate - 2.4).abs() < 1e-9 && (a.deviation - 0.48f64.sqrt()).abs() < 1e-9, "{a:?}");
    assert_eq!((a.low, a.high, a.by, inferred.is_guaranteed), (1.0, 3.0, By::Posterior, false));
    // Sums by draws: what is known has no error.
    let [both, less] = &inferred.intervals[3..] else { panic!() };
    assert_eq!((both.estimate, both.low, both.high), (3.0, 3.0, 3.0));
    // Twice a less 3: a standard error of 1.4/100.
    assert!((less.estimate - 1.8).abs() < 0.07, "{less:?}");
    assert!(inferred.page().to_markdown().contains("Prior of every leaf: Poisson with the mean 2"));
    // The mean that makes a release most likely: of one leaf without noise to speak of, the leaf itself.
    let sure = "zone,value,law,scale,method\n,7,gaussian,0.1,exact\na,7,gaussian,0.1,exact\n";
    let place = Place::new(&[("noisy.csv", sure)]);
    let found = infer(&Wish {
        prior: congenial::infer::prior("poisson").ok(),
        queries: None,
        file: place.path("noisy.csv"),
        ..wish.clone()
    });
    let words = found.unwrap().prior.unwrap();
    assert!(words.starts_with("Poisson with the mean 7") && words.contains("most likely"), "{words}");
    // A search that ends at an end of its range says so: counts that are spread less than Poisson ask for the largest size.
    let even: String = (0..8).map(|i| format!("z{i},7,gaussian,0.1,exact\n")).collect();
    let place =
        Place::new(&[("noisy.csv", &format!("zone,value,law,scale,method\n,56,gaussian,0.1,exact\n{even}"))]);
    let found = infer(&Wish {
        prior: congenial::infer::prior("negative-binomial").ok(),
        queries: None,
        file: place.path("noisy.csv"),
        ..wish.clone()
    });
    let words = found.unwrap().prior.unwrap();
    assert!(
        words.contains("the size lies at the end of the range") && words.contains("a larger one"),
        "{words}"
    );
    assert!(!words.contains("the mean lies"), "{words}");
    for text in ["poisson:0", "poisson:", "negative-binomial:2", "negative-binomial:2,x", "gamma", "flat:1"] {
        assert!(congenial::infer::prior(text).is_err(), "{text}");
    }
    let processed = sure.replace("exact", "topdown");
    let place = Place::new(&[("noisy.csv", &processed)]);
    let refused = infer(&Wish { queries: None, file: place.path("noisy.csv"), ..wish });
    assert!(refused.unwrap_err().to_string().contains("no posterior of releases by topdown"));
}

/// The posterior of a release that was conditioned on counts >= 0, by hand: two leaves below a known total of 6, every count alike. With
/// z the noise of the first, the pair weighs `2^-|z|`, and that sums to c(x) over z from -x to 6 - x.
#[test]
fn posteriors_of_conditioned_releases_by_hand() {
    let lambda = 2.0 / std::f64::consts::LN_2;
    let row = |key: &str, value: i64, known: bool| {
        format!("{key},{value},double-geometric,{lambda},{known},exact,nonnegative=true\n")
    };
    let rows = [row("", 6, true), row("a", 6, false), row("b", 0, false)].concat();
    let file = format!("zone,value,law,scale,known,method,options\n{rows}");
    let place = Place::new(&[("noisy.csv", &file), ("d.csv", "zone,name,weight\na,less,1\nb,less,-1\n")]);
    let wish = |prior: &str| Wish {
        prior: congenial::infer::prior(prior).ok(),
        bands: false,
        ..wish(&place.path("noisy.csv"), Some(&place.path("d.csv")))
    };
    let weight = |z: i64| 0.5f64.powi(z.abs() as i32);
    let mean = |c: &dyn Fn(i64) -> f64| {
        let law: Vec<f64> = (0..=6).map(|x| weight(6 - x) / c(x)).collect();
        let total: f64 = law.iter().sum();
        let mean = law.iter().enumerate().map(|(x, p)| x as f64 * p / total).sum::<f64>();
        let square = law.iter().enumerate().map(|(x, p)| (x * x) as f64 * p / total).sum::<f64>();
        (mean, (square - mean * mean).sqrt())
    };
    let (want, deviation) = mean(&|x| (-x..=6 - x).map(weight).sum());
    for prior in ["nonnegative", "flat"] {
        let inferred = infer(&wish(prior)).unwrap();
        let chains = inferred.chains.unwrap();
        let mixing = chains.mixing.unwrap();
        assert!(chains.acceptance > 0.8 && chains.unforgotten.is_none() && mixing.converged(), "{chains:?}");
        let error = deviation / mixing.bulk.sqrt();
        let [total, a, b, less] = &inferred.intervals[..] else { panic!() };
        assert!((a.estimate - want).abs() < 5.0 * error, "{} {want} ± {error}", a.estimate);
        assert!((a.deviation - deviation).abs() < 0.05 * deviation, "{a:?}");
        assert!((b.estimate - (6.0 - a.estimate)).abs() < 1e-9 && total.estimate == 6.0);
        assert!((less.estimate - (2.0 * a.estimate - 6.0)).abs() < 1e-9);
        assert!((a.high, a.by, inferred.is_guaranteed) == (6.0, By::Posterior, false), "{a:?}");
        // Without the normaliser it is another.
        assert!((mean(&|_| 1.0).0 - want).abs() > 7.0 * error);
        let page = inferred.page().to_text(200);
        assert!(page.contains("of their proposals") && page.contains("has its law exactly"), "{page}");
    }
    // The evidence of a Poisson mean is that of all x: with a known total the mean cancels, and the search ends somewhere.
    assert!(infer(&wish("poisson")).unwrap().prior.unwrap().contains("most likely"));
    // Real noise has no such normaliser here.
    let real = file.replace("double-geometric", "laplace").replace("exact", "line-gibbs");
    let place = Place::new(&[("noisy.csv", &real)]);
    let refused = infer(&Wish { queries: None, file: place.path("noisy.csv"), ..wish("flat") });
    assert!(refused.unwrap_err().to_string().contains("no posterior of releases by line-gibbs"));
}

/// No file that is read is written, under no name that leads to it; and other files of the folder are not in the way.
#[test]
fn what_is_read_is_not_written() {
    let noisy = "zone,value,law,scale,method\n,5,double-geometric,1,exact\na,2,double-geometric,1,exact\n\
                 b,3,double-geometric,1,exact\n";
    let place =
        Place::new(&[("table.csv", noisy), ("noisy.csv", noisy), ("intervals.csv", "zone,name\na,x\n")]);
    let refuses = |arguments: &[&str], name: &str| {
        place.refuses(&[&["infer"], arguments].concat(), &[name, "not written", "read by this command"]);
    };
    refuses(&["noisy.csv", "-o", "noisy.csv"], "noisy.csv");
    refuses(&["noisy.csv", "-o", "./noisy.csv"], "noisy.csv");
    refuses(&["table.csv", "--out", "."], "table.csv");
    refuses(&["noisy.csv", "--queries", "intervals.csv", "--out", "."], "intervals.csv");
    assert_eq!(std::fs::read_to_string(place.path("table.csv")).unwrap(), noisy);
    assert_eq!(std::fs::read_to_string(place.path("noisy.csv")).unwrap(), noisy);
    place.prints(&["infer", "noisy.csv", "--out", ".", "-o", "page"]);
    assert_ne!(std::fs::read_to_string(place.path("table.csv")).unwrap(), noisy);
}

/// Parameters that make a release most likely account for what conditioning on counts >= 0 does: against a search over sums, of two
/// leaves without a known total.
#[test]
fn parameters_account_for_the_condition() {
    let (values, leaf, root) = ([2i64, 1], 4.0, 6.0);
    let row = |key: &str, value: i64, scale: f64| {
        format!("{key},{value},double-geometric,{scale},exact,nonnegative=true\n")
    };
    let rows = [row("", 3, root), row("a", values[0], leaf), row("b", values[1], leaf)].concat();
    let place = Place::new(&[("noisy.csv", &format!("zone,value,law,scale,method,options\n{rows}"))]);
    let wish = Wish {
        prior: congenial::infer::prior("poisson").ok(),
        bands: false,
        ..wish(&place.path("noisy.csv"), None)
    };
    let words = infer(&wish).unwrap().prior.unwrap();
    let found: f64 = words["Poisson with the mean ".len()..].split(',').next().unwrap().parse().unwrap();
    let weight =
        |a: i64, b: i64| (-(a.abs() as f64 + b.abs() as f64) / leaf - (a + b).abs() as f64 / root).exp();
    const MOST: i64 = 20;
    let counts = || (0..MOST).flat_map(|a| (0..MOST).map(move |b| (a, b)));
    let normaliser = |(a, b): (i64, i64)| -> f64 {
        (-a..70).map(|z| (-b..70).map(|other| weight(z, other)).sum::<f64>()).sum()
    };
    let terms: Vec<((i64, i64), f64, f64)> =
        counts().map(|x| (x, weight(values[0] - x.0, values[1] - x.1), normaliser(x))).collect();
    let log = |mean: f64, conditioned: bool| -> f64 {
        let prior = |x: i64| (1..=x).fold((-mean).exp(), |p, k| p * mean / k as f64);
        let of = |&((a, b), q, c): &((i64, i64), f64, f64)| {
            prior(a) * prior(b) * q / if conditioned { c } else { 1.0 }
        };
        terms.iter().map(of).sum::<f64>().ln()
    };
    let best = |conditioned: bool| {
        let means = (1..80).map(|i| 0.05 * f64::from(i));
        means.max_by(|a, b| log(*a, conditioned).total_cmp(&log(*b, conditioned))).unwrap()
    };
    let (want, other) = (best(true), best(false));
    assert!(log(want, true) - log(found, true) < 0.02, "{found} {want} {other}");
    assert!(log(want, true) - log(other, true) > 0.04, "{found} {want} {other}");
}

/// Priors by leaf and ranges by hand: two leaves below a known total of 3, Poisson with the means 1 and 2, weights `2^-|y - x|`.
#[test]
fn priors_by_leaf_and_in_ranges() {
    let lambda = 1.0 / std::f64::consts::LN_2;
    let file = format!(
        "zone,value,law,scale,known,method\n,3,double-geometric,{lambda},true,unconstrained\n\
         a,5,double-geometric,{lambda},false,unconstrained\nb,-1,double-geometric,{lambda},false,unconstrained\n"
    );
    let leaves = "zone,expected,low,high,twice\nb,2,,,7\na,1,,1,7\n";
    let place = Place::new(&[("noisy.csv", &file), ("leaves.csv", leaves)]);
    let told = |prior: &str, bounds: Option<&str>| {
        let bounds = bounds.map(|text| congenial::infer::ends(text).unwrap());
        infer(&Wish {
            leaves: Some(place.path("leaves.csv")),
            prior: congenial::infer::prior(prior).ok(),
            bounds,
            bands: false,
            draws: 2000,
            ..wish(&place.path("noisy.csv"), None)
        })
    };
    let mean = |prior: &str, bounds: Option<&str>| told(prior, bounds).unwrap().intervals[1].estimate;
    // x = a of 3: 1/(x! (3 - x)!) (1/2)^x 4^x: binomial with 2/3.
    assert!((mean("poisson:expected", None) - 2.0).abs() < 1e-9);
    // With a at most 1 that is 1 to 6.
    assert!((mean("poisson:expected", Some("low,high")) - 6.0 / 7.0).abs() < 1e-9);
    assert!((mean("poisson:expected", Some(",high")) - 6.0 / 7.0).abs() < 1e-9);
    assert!((mean("poisson:expected", Some("low,")) - 2.0).abs() < 1e-9);
    // Flat: 4^x, from 0 to 3 as b allows; from 0 to 1 as a does.
    assert!((mean("nonnegative", None) - (4.0 + 32.0 + 192.0) / 85.0).abs() < 1e-9);
    assert!((mean("nonnegative", Some("low,high")) - 0.8).abs() < 1e-9);
    // Sizes so large that the law is Poisson.
    assert!((mean("negative-binomial:expected,1e12", None) - 2.0).abs() < 1e-9);
    // Draws that are kept have that law.
    let inferred = told("poisson:expected", None).unwrap();
    assert_eq!(inferred.kept.len(), 2000 * 3);
    let kept: Vec<&[i64]> = inferred.kept.chunks(3).collect();
    assert!(kept.iter().all(|counts| counts[0] == 3 && counts[1] + counts[2] == 3));
    let drawn = kept.iter().map(|counts| counts[1]).sum::<i64>() as f64 / 2000.0;
    // Five standard errors of 0.82/√2000.
    assert!((drawn - 2.0).abs() < 0.1, "{drawn}");
    let words = inferred.prior.unwrap();
    assert!(words.starts_with("Poisson with the mean in `expected` of"), "{words}");
    let refused = |prior: &str, bounds: Option<&str>, want: &str| {
        let message = told(prior, bounds).unwrap_err().to_string();
        assert!(message.contains(want), "{message}");
    };
    refused("poisson:exposure", None, "no column `exposure`");
    refused("poisson:low", None, "line 3: `low` = ``, want a number > 0");
    refused("flat", Some("twice,high"), "noisy.csv: `a` is released as 5, and no count is left there");
    refused("flat", Some("twice,"), "noisy.csv: the total is known to be 3, and no count is left there");
    refused("poisson:expected", Some("twice,high"), "allow no count (from 7 to 1)");
    for text in ["", ",", "low", "low,high,more"] {
        assert!(congenial::infer::ends(text).is_err(), "{text}");
    }
    let table = |rows: &str, want: &str| {
        let place = Place::new(&[("noisy.csv", &file), ("leaves.csv", rows)]);
        let wish = Wish {
            bands: false,
            leaves: Some(place.path("leaves.csv")),
            ..wish(&place.path("noisy.csv"), None)
        };
        let message = infer(&wish).unwrap_err().to_string();
        assert!(message.contains(want), "{rows}: {message}");
    };
    table("zone,x\na,1\n", "no row of `b`, want one for each leaf of");
    table("zone,x\na,1\nb,1\na,2\n", "line 4: `a` stands there twice (first on line 2)");
    table("zone,x\nc,1\n", "line 2: `c` is no leaf of");
    table("area,x\na,1\n", "no column `zone`");
}

/// A model from files is that of the core, whose likelihood is compared with all counts there: columns find their leaves, whatever the
/// order of rows.
#[test]
fn models_of_files_are_those_of_the_core() {
    let areas: Vec<(i64, f64, f64)> =
        (0..12).map(|i| (3 + (7 * i) % 11 + 2 * (i % 2) * i, (i % 2) as f64, 1.0 + (i % 3) as f64)).collect();
    let total: i64 = areas.iter().map(|area| area.0).sum();
    let mut file = format!("zone,value,law,scale,known,method\n,{total},double-geometric,2,true,exact\n");
    let mut leaves = "zone,exposed,persons,word,shifted,one\n".to_owned();
    for (i, (count, exposed, persons)) in areas.iter().enumerate() {
        file += &format!("z{i},{count},double-geometric,2,false,exact\n");
        // Rows in another order.
        leaves.insert_str(
            leaves.find('\n').unwrap() + 1,
            &format!("z{i},{exposed},{persons},w,{},1\n", 3.0 - exposed),
        );
    }
    let place = Place::new(&[("noisy.csv", &file), ("leaves.csv", &leaves)]);
    let arguments = |more: &[&'static str]| {
        let first = ["infer", "noisy.csv", "--leaves", "leaves.csv", "--model"];
        first.iter().chain(more).copied().collect::<Vec<&str>>()
    };
    let page = place.prints(&arguments(&[
        "poisson",
        "--covariates",
        "exposed",
        "--offset",
        "persons",
        "--out",
        "out",
    ]));
    assert!(page.contains("What the release says of the model"), "{page}");
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(page.contains("ln mean = ln `persons` + intercept + b · `exposed`"), "{page}");
    let csv = std::fs::read_to_string(place.path("out/model.csv")).unwrap();
    let rows: Vec<Vec<&str>> = csv.lines().skip(1).map(|line| line.split(',').collect()).collect();
    let tree =
        Hierarchy::from_parents(&[0; 13]).unwrap().with_known((0..13).map(|v| v == 0).collect()).unwrap();
    let values: Vec<f64> =
        std::iter::once(total).chain(areas.iter().map(|area| area.0)).map(|x| x as f64).collect();
    let release = Release { tree: &tree, weights: &[Weight::Exponential(2.0); 2], values: &values };
    let exposed = ("exposed".to_owned(), areas.iter().map(|area| area.1).collect::<Vec<f64>>());
    let persons: Vec<f64> = areas.iter().map(|area| area.2).collect();
    let model = Regression::new(release, Counts::Poisson, &[exposed], Some(&persons)).unwrap();
    let (fit, naive) = (model.fit(0.9).unwrap(), model.naive().fit(0.9).unwrap());
    for ((row, own), naive) in rows.iter().zip(&fit.coefficients).zip(&naive.coefficients) {
        assert_eq!(row[0], own.name);
        let want = [own.estimate, own.standard_error, own.low, own.high, naive.estimate];
        for (text, want) in row[1..6].iter().zip(want) {
            assert!((text.parse::<f64>().unwrap() - want).abs() < 1e-9, "{row:?} {want}");
        }
    }
    assert_eq!(rows.len(), 2);
    let refused = |more: &[&'static str], want: &str| {
        place.refuses(&arguments(more), &[want]);
    };
    refused(&["poisson", "--covariates", "word"], "`word` = `w`, want a number");
    refused(
        &["poisson", "--covariates", "exposed,shifted"],
        "column `shifted` is a linear combination of intercept, exposed",
    );
    refused(&["poisson", "--covariates", "one"], "column `one` is the same at every leaf");
    refused(&["poisson", "--offset", "exposed"], "`exposed` = `0`, want a number > 0");
    refused(&["poisson", "--covariates", "none"], "no column `none`");
    refused(&["gamma"], "want poisson or negative-binomial");
}

/// What is moved to be >= 0 gets a bootstrap, which says that it promises nothing, and what the noise alone would hold.
#[test]
fn post_processed_releases_promise_nothing() {
    let rows: String = (0..40).map(|i| format!("z{i},0,double-geometric,4,topdown\n")).collect();
    let file = format!("zone,value,law,scale,method\n,0,double-geometric,4,topdown\n{rows}");
    let inferred = told(&file, 0.9).unwrap();
    assert!(!inferred.is_guaranteed && inferred.intervals.iter().all(|i| i.by == By::Bootstrap));
    let page = inferred.page().to_text(200);
    assert!(page.contains("so that no interval holds at every table"), "{page}");
    assert!(page.contains("They promise") && page.contains("by the noise"), "{page}");
}

/// Files and pages: names are no formulas to a spreadsheet, blanks around names of columns do not matter, the page is HTML, too.
#[test]
fn what_is_written_is_plain() {
    let file = "zone,part,value,law,scale,method\n,,7,laplace,2,exact\n=1+1,,7,laplace,2,exact\n=1+1,@x,3,laplace,2,exact\n\
                =1+1,b,4,laplace,2,exact\n";
    let districts = "zone,part,name\n=1+1,@x,-a\n=1+1,b,+b\n";
    let place = Place::new(&[("noisy.csv", file), ("d.csv", districts)]);
    let arguments = ["infer", "noisy.csv", "--levels", "zone, part", "--queries", "d.csv", "--ratio=-a/+b"];
    let html = place.prints(&[&arguments[..], &["--out", "out", "--format", "html"]].concat());
    assert!(
        html.contains("<!doctype html>") && html.contains("<svg") && !html.contains("Provenance"),
        "{html}"
    );
    let read = |name: &str| std::fs::read_to_string(place.path(&format!("out/{name}"))).unwrap();
    assert!(html.ends_with(&read("page.html")));
    for (name, rows) in [("table.csv", 6), ("intervals.csv", 6), ("ratios.csv", 1)] {
        let text = read(name);
        assert_eq!(text.lines().count(), rows + 1, "{text}");
        let mut csv = csv::Reader::from_reader(text.as_bytes());
        for value in csv.records().flat_map(|row| row.unwrap().iter().map(str::to_owned).collect::<Vec<_>>())
        {
            let acts = value.starts_with(['=', '+', '-', '@']) && value.parse::<f64>().is_err();
            assert!(!acts, "{name}: {value}");
        }
    }
    assert!(read("table.csv").contains("\n'=1+1,'@x,,3,") && read("table.csv").contains(",'-a,"));
    let refused = [&arguments[..], &["--format", "json"]].concat();
    place.refuses(&refused, &["invalid value 'json'", "text, markdown, html, latex"]);
    let ratios = read("ratios.csv");
    assert!(ratios.starts_with("ratio,estimate,low,high,level,found_by,guaranteed,met\n"), "{ratios}");
    assert!(ratios.ends_with(",0.9,draws,true,whole\n"), "{ratios}");
    assert!(html.contains("9,999 draws of both errors stand for their law"), "{html}");
    // All of it is by draws: nothing else is said.
    assert!(html.contains("The law itself is not computed: 9,999 draws"), "{html}");
}

/// Noise that is too wide for tables gets advice that serves here.
#[test]
fn wide_noise_is_told_what_serves() {
    let file = |law: &str| {
        let row = |key: &str, value: i64| format!("{key},{value},{law},1000000,exact\n");
        let rows =
            [row("", 9_000_000), row("a", 4_000_000), row("b", 3_000_000), row("c", 2_000_000)].concat();
        format!("zone,value,law,scale,method\n{rows}")
    };
    for (law, other) in [("double-geometric", "laplace"), ("discrete-gaussian", "gaussian")] {
        let message = told(&file(law), 0.9).unwrap_err();
        assert!(
            message.contains(&format!("with `law` = `{other}`")) && !message.contains("line-gibbs"),
            "{message}"
        );
        assert!(told(&file(other), 0.9).unwrap().is_guaranteed);
    }
}

#[test]
fn what_is_refused_names_its_place() {
    let good = "zone,value,law,scale,method\n,7,laplace,2,exact\na,3,laplace,2,exact\nb,4,laplace,2,exact\n";
    told(good, 0.9).unwrap();
    let refused = |from: &str, to: &str, want: &str| {
        assert!(good.contains(from), "{from}");
        let message = told(&good.replace(from, to), 0.9).unwrap_err();
        assert!(message.contains(want), "{from} -> {to}: {message}");
    };
    refused("zone,value", "zone,count", "no column `value`");
    refused(",method", ",how", "no column `method`");
    refused("a,3", "b,3", "line 4: `b` stands there twice (first on line 3)");
    refused(",7,laplace", "c,7,laplace", "no row of the total");
    refused("a,3", ",3", "line 3: a second total, the first is on line 2");
    refused("a,3", "a,three", "line 3: `value` = `three`, want a number");
    refused("a,3", "a,2", "line 2: `value` = `7`, and what is below it adds up to 6: want the sum");
    refused("a,3,laplace", "a,3,gauss", "line 3: `law` = `gauss`, and `laplace` on line 2: want one for all");
    refused(
        "laplace",
        "cauchy",
        "`law` = `cauchy`, want one of laplace, double-geometric, gaussian, discrete-gaussian",
    );
    refused("a,3,laplace,2", "a,3,laplace,-1", "line 3: `scale` = `-1`, want a number > 0");
    refused(
        "a,3,laplace,2",
        "a,3,laplace,3",
        "line 4: `scale` = `2`, and `3` on line 3: want one for each level",
    );
    refused("exact", "magic", "`method` = `magic`, want what was done: one of");
    let silent = "zone,value,method\n,7,l2\na,3,l2\nb,4,l2\n";
    let message = told(silent, 0.9).unwrap_err();
    assert!(message.contains("the noise is told by the columns `law` and `scale`, or by `variance`"));
    let deep = "x,zone,value,variance,method\n,,7,2,l2\na,,7,2,l2\n,b,7,2,l2\n";
    assert!(told(deep, 0.9).unwrap_err().contains("line 4: `x` is blank and `zone` below it is not"));
    let orphan = "x,zone,value,variance,method\n,,7,2,l2\na,c,7,2,l2\n";
    assert!(told(orphan, 0.9).unwrap_err().contains("`a, c` is below `a`, which has no row of its own"));
    let short = "x,zone,value,variance,method\n,,7,2,l2\na,,3,2,l2\na,c,3,2,l2\nb,,4,2,l2\n";
    assert!(told(short, 0.9).unwrap_err().contains("line 5: nothing is below it, want its counts by `zone`"));
    let fraction =
        good.replace("laplace", "double-geometric").replace("a,3,", "a,3.5,").replace("b,4,", "b,3.5,");
    assert!(
        told(&fraction, 0.9)
            .unwrap_err()
            .contains("want an integer, as exact releases of double-geometric noise")
    );
    let known = "zone,value,variance,known,method\n,7,2,perhaps,l2\na,7,2,false,l2\n";
    assert!(told(known, 0.9).unwrap_err().contains("`known` = `perhaps`, want true or false"));
    let known = "x,zone,value,variance,known,method\n,,9,2,false,l2\na,,7,2,true,l2\nb,,2,2,false,l2\na,c,5,2,true,l2\n\
                 a,d,1,2,true,l2\nb,e,2,2,false,l2\n";
    let message = told(known, 0.9).unwrap_err();
    let want = "line 3: `value` = `7` is known, and the known counts below it add up to 6: want the sum";
    assert!(message.contains(want), "{message}");
    let less = known.replace("a,d,1,2,true", "a,d,1,2,false").replace("a,,7", "a,,4");
    let message = told(&less, 0.9).unwrap_err();
    assert!(
        message.contains("line 3: `value` = `4` is known, and the known counts below it add up to 5"),
        "{message}"
    );
    let all = "zone,value,variance,known,method\n,7,2,true,l2\na,7,2,true,l2\n";
    assert!(told(all, 0.9).unwrap_err().contains("every count is known"));
    // Draws for a level this close to 1 would fill the memory.
    assert!(told(good, 0.999999999).unwrap_err().contains("draws for intervals that hold 0.999999999"));
    let districts = |rows: &str, want: &str| {
        let place = Place::new(&[("noisy.csv", good), ("d.csv", rows)]);
        let wish = wish(&place.path("noisy.csv"), Some(&place.path("d.csv")));
        let message = infer(&wish).unwrap_err().to_string();
        assert!(message.contains(want), "{rows}: {message}");
    };
    districts("zone,district\na,x\n", "no column `name`");
    districts("zone,name\nc,x\n", "line 2: `c` is no leaf of");
    districts("zone,name\na,x\na,x\n", "line 3: `a` is in x twice (first on line 2)");
    districts("zone,name\na,\n", "line 2: `name` is blank");
    districts("zone,name,weight\na,x,2\n", "line 2: `weight` = `2`, want 1, 0 or -1");
    for level in ["1", "0", "9/0", "-9/-10", "0.9999999999", "much"] {
        assert!(congenial::infer::level(level).is_err(), "{level}");
    }
    assert_eq!(congenial::infer::level("9/10"), Ok(0.9));
}

/// 100,000 releases: how often the interval of every node, of a district, and of a difference holds is what its law says, at 1e-7 each.
#[test]
fn a_hundred_thousand_releases_are_covered_as_computed() {
    const RELEASES: u32 = 100_000;
    let parents = [0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 3];
    let known = (0..12).map(|v| v == 0).collect();
    let tree = Hierarchy::from_parents(&parents).unwrap().with_known(known).unwrap();
    let laws = [1.0, 6.0, 2.5].map(|lambda| DoubleGeometric::new(lambda).unwrap());
    let (nodes, mut sums) =
        (NodeLaws::on_tree(&tree, &laws).unwrap(), SumLaws::new(&tree, &laws, 1e9).unwrap());
    let queries: [[i8; 8]; 2] = [[1, 0, 0, 1, 0, 1, 0, 1], [1, 1, 0, -1, 0, 0, 0, -1]];
    let mut of = (1..12).map(|v| nodes.of(v).clone()).collect::<Vec<_>>();
    of.extend(queries.iter().map(|weights| sums.of(weights).unwrap().clone()));
    let levels = |law: &SumLaw| {
        [0.5, 0.9, 0.99].map(|level| law.half_width(level)).map(|half| (half, 1.0 - law.beyond(half)))
    };
    let widths: Vec<(i64, f64)> = of.iter().flat_map(levels).collect();
    let sampler = IntegerTree::new(&tree, &laws, None).unwrap();
    let mut rng = stream(TaskKey { seed: 99, cell: 0, replicate: 0, role: Role::Noise });
    let (mut noise, mut scratch, mut held) = ([0i64; 12], Default::default(), vec![0u32; widths.len()]);
    for _ in 0..RELEASES {
        sampler.draw(&mut rng, &mut scratch, &mut noise);
        let leaves =
            |weights: &[i8; 8]| weights.iter().zip(&noise[4..]).map(|(w, z)| i64::from(*w) * z).sum::<i64>();
        let errors = noise[1..].iter().copied().chain(queries.iter().map(leaves));
        for ((held, (half, _)), z) in held.iter_mut().zip(&widths).zip(errors.flat_map(|z| [z; 3])) {
            *held += u32::from(z.abs() <= *half);
        }
    }
    for (place, (held, (half, computed))) in held.iter().zip(&widths).enumerate() {
        let share = f64::from(*held) / f64::from(RELEASES);
        let error = (computed * (1.0 - computed) / f64::from(RELEASES)).sqrt();
        assert!((share - computed).abs() < 5.33 * error, "{place}: ± {half}: {share} {computed}");
        assert!(*computed >= [0.5, 0.9, 0.99][place % 3]);
    }
}
