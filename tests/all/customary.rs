//! Methods that offices use without a formal loss: what they release, what is stated of them, and where they are refused.
#![allow(clippy::disallowed_methods)] // Tests open files of their own.

use crate::place::{MARGINS, Place, TABLE, TABLE_DATA};
use congenial::infer::{By, Wish, infer};
use congenial::inference::{Prior, SumPrior};
use congenial::rng::{Rng, Role, TaskKey, open01, stream};
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
    refuses(good.replace("js = 2", "js = -1"), &["js", "an integer from 0 to 100"]);
    refuses(good.replace("base = [3, 5]", "base = 1"), &["base: got 1", "an integer from 2 to 1000"]);
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

/// A file of 40 towns with 25 streets each, whose counts are drawn from a negative binomial law and published by a table of cell keys, and
/// the true counts by node: the total, towns, streets. Names are numbers.
fn published(table: &PerturbationTable, options: &str, seed: u64) -> (String, Vec<i64>) {
    let prior = SumPrior::of(PRIOR).unwrap().given(0, &[1.0; 400]).unwrap();
    let mut rng = stream(TaskKey { seed, cell: 0, replicate: 0, role: Role::Noise });
    let mut counts = vec![0i64; 1041];
    let mut keys = vec![0u64; 1041];
    for street in 41..1041 {
        counts[street] = prior.quantile(open01(&mut rng));
        keys[street] = if counts[street] > 0 { rng.next_u64() } else { 0 };
        for above in [(street - 41) / 25 + 1, 0] {
            counts[above] += counts[street];
            keys[above] = keys[above].wrapping_add(keys[street]);
        }
    }
    let row = |v: usize| {
        let value = table.publish(counts[v] as u64, keys[v]);
        let (town, street) = match v {
            0 => (String::new(), String::new()),
            1..41 => (v.to_string(), String::new()),
            _ => (((v - 41) / 25 + 1).to_string(), v.to_string()),
        };
        format!("{town},{street},{value},none,cell-keys,\"{options}\"\n")
    };
    let rows: String = (0..1041).map(row).collect();
    (format!("town,street,value,law,method,options\n{rows}"), counts)
}

const PRIOR: Prior = Prior::NegativeBinomial { mean: 4.0, size: 0.7 };

/// Of counts drawn from the prior, as many published values are true as posteriors say, on every level and of every small value, to 5
/// standard deviations; intervals hold what they promise, with a prior and without, of nodes and of districts, but for 5 of theirs.
#[test]
fn cell_keys_are_believed_as_often_as_they_are_true() {
    let tables =
        [((2, 1.08, 1, 0.0), "d=2,v=1.08,js=1,pstay=0"), ((5, 3.0, 2, 0.5), "d=5,v=3,js=2,pstay=0.5")];
    let districts: String = (0..300).map(|i| format!("{},{},{}\n", i / 25 + 1, i + 41, i / 6)).collect();
    let place = Place::new(&[("districts.csv", &format!("town,street,name\n{districts}"))]);
    for ((d, v, js, stay), options) in tables {
        let table = PerturbationTable::new(d, v, js, stay).unwrap();
        // By level and published value (from 6 on together): what is said, its variance, what is true.
        let mut shares = std::collections::BTreeMap::<(usize, i64), [f64; 3]>::new();
        // By kind of interval and what it is of: how many, and how many hold.
        let mut held = std::collections::BTreeMap::<(&str, usize), [f64; 2]>::new();
        for seed in 1..=6 {
            let (text, counts) = published(&table, options, seed);
            place.write("noisy.csv", &text);
            for prior in [None, congenial::infer::prior("negative-binomial:4,0.7").ok()] {
                let queries = Some(place.path("districts.csv"));
                let inferred = infer(&Wish { prior, queries, ..Wish::of(place.path("noisy.csv")) }).unwrap();
                assert_eq!(inferred.is_guaranteed, inferred.prior.is_none());
                for (place, interval) in inferred.intervals.iter().enumerate() {
                    let of = interval.of.clone().unwrap_or(3);
                    let count: i64 = match place.checked_sub(1041) {
                        None => counts[place],
                        Some(district) => counts[41 + 6 * district..47 + 6 * district].iter().sum(),
                    };
                    let held = held.entry((interval.by.word(), of)).or_default();
                    held[0] += 1.0;
                    let holds = interval.low <= count as f64 && count as f64 <= interval.high;
                    held[1] += f64::from(u8::from(holds));
                    let Some(p) = interval.is_true else { continue };
                    let value = inferred.noisy.values[place] as i64;
                    let share = shares.entry((of, value.min(6))).or_default();
                    *share = [
                        share[0] + p,
                        share[1] + p * (1.0 - p),
                        share[2] + f64::from(u8::from(value == count)),
                    ];
                }
            }
        }
        for (of, [said, variance, is_true]) in shares {
            assert!(
                (said - is_true).abs() <= 5.0 * variance.sqrt() + 1e-9,
                "{options} {of:?}: {said} {is_true}"
            );
        }
        for (of, [all, held]) in &held {
            let least = 0.9 * all - 5.0 * (all * 0.09).sqrt();
            assert!(*held >= least, "{options} {of:?}: {held} of {all}");
        }
        let kinds: Vec<(&str, usize)> = held.into_keys().collect();
        let posteriors = (0..4).map(|of| ("posterior", of));
        assert_eq!(
            kinds,
            [("bound", 3)]
                .into_iter()
                .chain((0..3).map(|of| ("law", of)))
                .chain(posteriors)
                .collect::<Vec<_>>()
        );
    }
}

/// The posterior of counts that `run` kept, by enumeration: of streets Poisson, of towns that of sums. Rounded counts have the range of
/// what may have been published so, and are true at least with what is said.
#[test]
fn kept_releases_are_inferred_from() {
    let place = place(GRID);
    place.prints(&[
        "run",
        "config.toml",
        "--out",
        "out",
        "--set",
        "replicates=2",
        "--set",
        "keep-draws=true",
    ]);
    let poisson = |x: i64, mean: f64| (1..=x).fold((-mean).exp(), |p, k| p * mean / k as f64);
    for (key, cell) in place.cells("out") {
        let file = place.path(&format!("out/cells/{key}/release.parquet"));
        let prior = congenial::infer::prior("poisson:4").ok();
        let inferred = infer(&Wish { prior, ..Wish::of(file.clone()) }).unwrap();
        let sure = infer(&Wish::of(file)).unwrap();
        assert!(sure.is_guaranteed && !inferred.is_guaranteed);
        for (v, (interval, sure)) in inferred.intervals.iter().zip(&sure.intervals).enumerate() {
            let (value, leaves) =
                (inferred.noisy.values[v] as i64, [30.0, 6.0, 1.0][*interval.of.as_ref().unwrap()]);
            let words = format!("{} {v}: {value} {interval:?}", cell.options);
            if cell.options.starts_with("base") {
                let base = parameter(&cell, "base") as i64;
                assert_eq!(
                    (interval.low, interval.high, interval.by),
                    (sure.low, sure.high, By::Bound),
                    "{words}"
                );
                assert!(inferred.guarantees(interval) && interval.deviation.is_nan());
                let ends = match value {
                    0 => Some((0, base - 1)),
                    _ if value == base => Some((1, base)),
                    _ => None,
                };
                let (low, high) = ends.unwrap_or((value, value));
                if leaves == 1.0 {
                    let all: f64 = (low..=high).map(|x| poisson(x, 4.0)).sum();
                    assert_eq!((interval.low, interval.high), (low as f64, high as f64), "{words}");
                    assert!((interval.is_true.unwrap() - poisson(value, 4.0) / all).abs() < 1e-12, "{words}");
                } else {
                    assert!(interval.low <= value as f64 && value as f64 <= interval.high, "{words}");
                    assert!(interval.is_true.is_none());
                }
                continue;
            }
            let table = table(&cell);
            // Where the prior leaves nothing its digits are lost here, and there alone.
            let reach = |x: i64| poisson(x, 4.0 * leaves) * table.p(x as u64, value);
            let from = (value - 9).max(0);
            let all: f64 = (from..value + 10).map(reach).sum();
            if all < 1e-250 {
                continue;
            }
            let mean = (from..value + 10).map(|x| x as f64 * reach(x)).sum::<f64>() / all;
            assert!((interval.estimate - mean).abs() < 1e-9 * (1.0 + mean), "{words}, not {mean}");
            assert!((interval.is_true.unwrap() - reach(value) / all).abs() < 1e-9, "{words}");
            assert!(interval.by == By::Posterior && !inferred.guarantees(interval));
            assert!(
                sure.by == By::Law && sure.is_true.is_none() && sure.deviation == interval_deviation(&cell)
            );
        }
    }
}

fn interval_deviation(cell: &CellRow) -> f64 {
    table(cell).variance().sqrt()
}

/// Files of both methods are read and checked: what is never published, other laws and scales, counts that do not add up by one, and what is
/// asked of them and is not there.
#[test]
fn published_files_are_read_and_checked() {
    let keys = "town,value,method,options\n,6,cell-keys,js=1\na,2,cell-keys,js=1\nb,3,cell-keys,js=1\n";
    let rounded = "town,value,method,options,law,scale\n,6,small-count-rounding,base=3,none,\na,3,small-count-rounding,base=3,none,0\n\
                   b,3,small-count-rounding,base=3,none,\n";
    let districts = "town,name\na,x\nb,x\n";
    let place = Place::new(&[("keys.csv", keys), ("rounded.csv", rounded), ("districts.csv", districts)]);
    place.prints(&["infer", "keys.csv", "--prior", "poisson", "--queries", "districts.csv", "--out", "out"]);
    let told = place.prints(&["infer", "keys.csv", "--queries", "districts.csv"]);
    assert!(told.contains("cell-keys") && told.contains("no noise") && told.contains("Bernstein"), "{told}");
    let told = place.prints(&["infer", "rounded.csv", "--prior", "poisson:2"]);
    assert!(told.contains("What small published counts say") && told.contains("at least"), "{told}");
    place.refuses(&["infer", "rounded.csv", "--prior", "poisson"], &["rounded.csv", "its parameters"]);
    place.refuses(&["infer", "keys.csv", "--bands"], &["bands", "cell-keys"]);
    let both = ["infer", "keys.csv", "--queries", "districts.csv", "--ratio", "x/x"];
    place.refuses(&both, &["--ratio", "does not depend on the counts"]);
    let draws = ["infer", "keys.csv", "--prior", "poisson:2", "--draws", "5", "--out", "out"];
    place.refuses(&draws, &["keys.csv", "--draws", "cell-keys"]);
    let refuses = |text: String, wanted: &[&str]| {
        place.write("bad.csv", &text);
        place.refuses(&["infer", "bad.csv"], wanted);
    };
    refuses(keys.replace("a,2", "a,1"), &["bad.csv", "line 3", "`value` = `1`", "js=1"]);
    refuses(keys.replace("a,2", "a,-1"), &["line 3", "none below 0"]);
    refuses(keys.replace("a,2", "a,2.5"), &["line 3", "an integer"]);
    refuses(keys.replace("js=1", "js=9"), &["line 2", "js"]);
    refuses(keys.replace("js=1", "d=x"), &["line 2", "`x`", "an integer"]);
    refuses(rounded.replace("b,3", "b,2").replace(",6", ",5"), &["line 4", "`value` = `2`", "base=3"]);
    refuses(rounded.replace(",6", ",7"), &["line 2", "adds up to 6"]);
    refuses(keys.replace("js=1", ""), &["line 2", "no options", "such as d=2"]);
    refuses(rounded.replace("base=3", ""), &["line 2", "no options", "such as base=3"]);
    refuses(keys.replace(",6", ",1000"), &["line 2", "from 998 to 1002", "from 2 to 9", "one table"]);
    refuses(keys.replace("js=1", "\"d=2,d=3\""), &["line 2", "d once"]);
    let exact = "town,value,law,scale,method\n,9007199254740992,double-geometric,1,exact\na,9007199254740991,double-geometric,1,exact\n";
    refuses(format!("{exact}b,2,double-geometric,1,exact\n"), &["line 2", "adds up"]);
    place.write("bad.csv", &format!("{exact}b,1,double-geometric,1,exact\n"));
    place.prints(&["infer", "bad.csv"]);
    let held = rounded
        .replace("law,scale", "law,known")
        .replace(",none,0\n", ",none,1\n")
        .replace(",none,\n", ",none,0\n");
    refuses(held, &["line 3", "known", "all may change"]);
    refuses(rounded.replace("none", "laplace"), &["line 2", "`laplace`", "`none`", "no noise"]);
    refuses(rounded.replace("none,0", "none,2"), &["line 3", "`scale` = `2`", "no noise"]);
    // Known counts bound those below them; beside them there is no posterior.
    let known = "town,value,known,method,options\n,4,true,cell-keys,js=1\na,2,false,cell-keys,js=1\nb,5,false,cell-keys,js=1\n";
    place.write("known.csv", known);
    let told = infer(&Wish::of(place.path("known.csv"))).unwrap();
    let ends = |v: usize| (told.intervals[v].low, told.intervals[v].high);
    assert_eq!((ends(0), ends(2)), ((4.0, 4.0), (3.0, 4.0)));
    place.refuses(&["infer", "known.csv", "--prior", "poisson:2"], &["known.csv", "known counts"]);
    // Bounds that leave nothing.
    place.write("leaves.csv", "town,low\na,0\nb,9\n");
    let bounds = ["infer", "keys.csv", "--prior", "poisson:2", "--leaves", "leaves.csv", "--bounds", "low,"];
    place.refuses(&bounds, &["`b`", "published as 3", "want a prior", "from 1 to 5"]);
}
