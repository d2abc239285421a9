//! `congenial infer` of tables of attributes in areas: against dense least squares of the file's rows, beside trees of counts, and what is
//! refused.
#![allow(clippy::disallowed_methods)] // Tests open files of their own.

use crate::cube::{AREAS, CELLS};
use crate::place::Place;
use congenial::infer::{IntervalRow, Told, Wish, infer, told};
use congenial::input::CsvTable;
use std::path::{Path, PathBuf};

/// Nothing is measured of towns; one query has groups that leave a category out.
const CONFIG: &str = r#"
name = "streets"
seed = 5
study = "cube"
keep-draws = true
[data]
kind = "tree-of-tables"
areas = "areas.csv"
counts = "cells.csv"
levels = ["town", "street"]
root = "county"
attributes = { sex = ["f", "m"], age = ["0-17", "18-64", "65+"] }
known = ["county"]
[[query]]
of = ["sex", "age"]
shares = { county = 0.2, street = 0.4 }
[[query]]
name = "grown"
of = ["age"]
groups = { age = [["65+"], ["18-64"]] }
shares = { street = 0.2 }
[[query]]
of = []
shares = { street = 0.2 }
[[grid]]
epsilon = 1.0
law = "gaussian"
delta = 1e-6
method = "gls"
replicates = 1
"#;
const SETS: &str = "town,street,name,weight\nA,,mixed,1\nB,B1,mixed,-1\nA,A1,twice,1\nA,,twice,1\n";

fn place() -> Place {
    let files = [("areas.csv", AREAS), ("cells.csv", CELLS), ("cube.toml", CONFIG), ("sets.csv", SETS)];
    Place::new(&files)
}

/// The noisy file of a run of the config.
fn released(place: &Place) -> PathBuf {
    place.prints(&["run", "cube.toml", "--out", "out"]);
    let mut cells = std::fs::read_dir(place.path("out/cells")).unwrap();
    cells.next().unwrap().unwrap().path().join("release.parquet")
}

/// Rows of what is told, each with its keys: town, street, query, age, sex.
fn rows(told: &dyn Told) -> Vec<(IntervalRow, Vec<String>)> {
    (0..told.rows()).map(|place| told.row(place)).collect()
}

/// The cells: town, street, sex, age.
fn cells() -> Vec<[&'static str; 4]> {
    let streets = [["A", "A1"], ["A", "A2"], ["B", "B1"], ["B", "B2"]];
    let cell = |[town, street]: [&'static str; 2]| {
        let of = move |sex| ["0-17", "18-64", "65+"].map(move |age| [town, street, sex, age]);
        ["f", "m"].into_iter().flat_map(of)
    };
    streets.into_iter().flat_map(cell).collect()
}

/// Whether a row with these keys (town, street, query, age, sex) counts a cell; a blank counts all.
fn counts(keys: &[String], [town, street, sex, age]: [&str; 4]) -> bool {
    let is = |key: &String, name: &str| key.is_empty() || key == name;
    let among = |key: &String, name: &str| key.is_empty() || key.split(" | ").any(|one| one == name);
    // A query with groups leaves out what is in none.
    is(&keys[0], town) && is(&keys[1], street) && among(&keys[3], age) && among(&keys[4], sex)
}

/// The solution of a system, and the inverse of its matrix: Gauss and Jordan, with the largest pivot.
fn solved(matrix: &[Vec<f64>], right: &[f64]) -> (Vec<f64>, Vec<Vec<f64>>) {
    let n = right.len();
    let mut all: Vec<Vec<f64>> = (0..n)
        .map(|i| {
            let unit = (0..n).map(|j| f64::from(u8::from(i == j)));
            matrix[i].iter().copied().chain([right[i]]).chain(unit).collect()
        })
        .collect();
    for k in 0..n {
        let largest = (k..n).max_by(|&a, &b| all[a][k].abs().total_cmp(&all[b][k].abs())).unwrap();
        all.swap(k, largest);
        let pivot = all[k][k];
        all[k].iter_mut().for_each(|x| *x /= pivot);
        let row = all[k].clone();
        for (i, other) in all.iter_mut().enumerate().filter(|(i, _)| *i != k) {
            let times = other[k];
            assert!(i < n);
            other.iter_mut().zip(&row).for_each(|(x, y)| *x -= times * y);
        }
    }
    (all.iter().map(|row| row[n]).collect(), all.iter().map(|row| row[n + 1..].to_vec()).collect())
}

/// Dense least squares of the rows of a noisy file, with what is known as equations: the cells' estimates and their covariance.
fn dense(file: &Path) -> (Vec<f64>, Vec<Vec<f64>>) {
    let (table, cells) = (CsvTable::read(file).unwrap(), cells());
    let column = |name: &str| table.column(name).unwrap();
    let keys = ["town", "street", "query", "age", "sex"].map(column);
    let (value, scale, known) = (column("value"), column("scale"), column("known"));
    let number = |row: usize, place: usize| table.text(row, place).parse::<f64>().unwrap();
    let of_row = |row: usize| -> Vec<f64> {
        let keys = keys.map(|place| table.text(row, place).to_owned());
        cells.iter().map(|cell| f64::from(u8::from(counts(&keys, *cell)))).collect()
    };
    let fixed: Vec<usize> = (0..table.len()).filter(|&row| table.text(row, known) == "true").collect();
    let n = cells.len() + fixed.len();
    let (mut matrix, mut right) = (vec![vec![0.0; n]; n], vec![0.0; n]);
    for row in (0..table.len()).filter(|row| !fixed.contains(row)) {
        let (own, weight) = (of_row(row), number(row, scale).powi(-2));
        for (i, a) in own.iter().enumerate() {
            own.iter().enumerate().for_each(|(j, b)| matrix[i][j] += weight * a * b);
            right[i] += weight * a * number(row, value);
        }
    }
    for (at, &row) in fixed.iter().enumerate() {
        for (i, a) in of_row(row).into_iter().enumerate() {
            (matrix[i][cells.len() + at], matrix[cells.len() + at][i]) = (a, a);
        }
        right[cells.len() + at] = number(row, value);
    }
    solved(&matrix, &right)
}

/// Every answer of every query in every area and set is that of dense least squares of the rows, with its standard deviation; 90 % of a
/// normal law lie within 1.645 of these. Counts are >= 0, and the county has 156 people.
#[test]
fn answers_are_those_of_dense_least_squares() {
    let place = place();
    let file = released(&place);
    let (cells, (estimates, covariance)) = (cells(), dense(&file));
    let wish = Wish { queries: Some(place.path("sets.csv")), ..Wish::of(file) };
    let told = told(&wish).unwrap();
    let mut sets = 0;
    for (row, keys) in rows(&*told) {
        // What areas a set is of, with weights.
        let areas: Vec<([&str; 2], f64)> = match row.name.as_deref() {
            None => vec![([&keys[0], &keys[1]], 1.0)],
            Some("mixed") => vec![(["A", ""], 1.0), (["B", "B1"], -1.0)],
            Some(_) => vec![(["A", "A1"], 1.0), (["A", ""], 1.0)],
        };
        sets += usize::from(row.name.is_some());
        let weight = |cell: &[&str; 4]| -> f64 {
            let of = |([town, street], weight): &([&str; 2], f64)| {
                let keys = [*town, *street, "", &keys[3], &keys[4]].map(str::to_owned);
                if counts(&keys, *cell) { *weight } else { 0.0 }
            };
            areas.iter().map(of).sum()
        };
        let weights: Vec<f64> = cells.iter().map(weight).collect();
        let estimate: f64 = weights.iter().zip(&estimates).map(|(w, x)| w * x).sum();
        let pairs = weights.iter().zip(&covariance);
        let variance: f64 =
            pairs.map(|(w, row)| w * weights.iter().zip(row).map(|(w, c)| w * c).sum::<f64>()).sum();
        let deviation = variance.max(0.0).sqrt();
        let near = |x: f64, y: f64| (x - y).abs() < 1e-7 * (1.0 + y.abs());
        assert!(near(row.estimate, estimate), "{keys:?}: {} {estimate}", row.estimate);
        let own = row.standard_deviation.unwrap();
        assert!(near(own, deviation), "{keys:?}: {own} {deviation}");
        let (low, high) = (estimate - 1.644_853_627 * deviation, estimate + 1.644_853_627 * deviation);
        let least = if row.name.as_deref() == Some("mixed") { f64::NEG_INFINITY } else { 0.0 };
        let most = if row.name.is_none() { 156.0 } else { f64::INFINITY };
        if high > least && low < most {
            let (low, high) = (low.max(least), high.min(most));
            assert!(near(row.low, low) && near(row.high, high), "{keys:?}: {row:?} {low} {high}");
        }
        assert!(row.guaranteed && row.found_by == "law");
    }
    // 9 answers each: 6 of the table, 2 of the groups, the total.
    assert_eq!((told.rows(), sets), ((1 + 2 + 4 + 2) * 9, 2 * 9));
    let page = told.page().to_text(80);
    for words in ["whatever the counts are", "2 districts of", "known", "mixed", "65+"] {
        assert!(page.contains(words), "{page}");
    }
}

/// Without attributes a file of tables is one of a tree of counts: the same estimates and standard deviations, under every law.
#[test]
fn without_attributes_it_is_a_tree_of_counts() {
    let tables = "[data]\nlevels = [\"town\", \"street\"]\nattributes = {}\n[[query]]\nof = []\n";
    let counts = [["", ""], ["A", ""], ["B", ""], ["A", "A1"], ["A", "A2"], ["B", "B1"], ["B", "B2"]];
    let values = [150.0, 30.0, 125.0, 7.0, 21.0, 133.0, -4.0];
    for law in ["laplace", "double-geometric", "gaussian", "discrete-gaussian"] {
        let (mut tree, mut areas) = ("town,street,value,law,scale,known,method\n".to_owned(), String::new());
        areas += "town,street,query,value,law,scale,known\n";
        for ([town, street], value) in counts.iter().zip(values) {
            let scale = 2 + u8::from(!town.is_empty()) + u8::from(!street.is_empty());
            let known = town.is_empty();
            tree += &format!("{town},{street},{value},{law},{scale},{known},unconstrained\n");
            areas += &format!("{town},{street},total,{value},{law},{scale},{known}\n");
        }
        let place = Place::new(&[("tree.csv", &tree), ("areas.csv", &areas), ("tables.toml", tables)]);
        let of_areas = Wish { tables: Some(place.path("tables.toml")), ..Wish::of(place.path("areas.csv")) };
        let (areas, tree) = (told(&of_areas).unwrap(), infer(&Wish::of(place.path("tree.csv"))).unwrap());
        assert_eq!((areas.rows(), tree.intervals.len()), (7, 7));
        for (interval, (row, _)) in tree.intervals.iter().zip(rows(&*areas)) {
            assert!((interval.estimate - row.estimate).abs() < 1e-9, "{law}: {interval:?} {row:?}");
            // Deviations of a tree under integer laws are those of draws.
            let slack = if law == "gaussian" { 1e-9 } else { 0.05 * (1.0 + interval.deviation) };
            assert!(
                (interval.deviation - row.standard_deviation.unwrap()).abs() < slack,
                "{law}: {interval:?} {row:?}"
            );
        }
    }
}

/// A CSV file with variances alone, described by the study's config, says the same, and promises nothing.
#[test]
fn variances_alone_are_taken_as_normal() {
    let place = place();
    let file = released(&place);
    let table = CsvTable::read(&file).unwrap();
    let column = |name: &str| table.column(name).unwrap();
    let keys = ["town", "street", "query", "age", "sex", "value"].map(column);
    let mut text = "town,street,query,age,sex,value,variance,known\n".to_owned();
    for row in 0..table.len() {
        let scale: f64 = table.text(row, column("scale")).parse().unwrap();
        let own = keys.map(|place| table.text(row, place).to_owned()).join(",");
        text += &format!("{own},{},{}\n", scale * scale, table.text(row, column("known")));
    }
    place.write("noisy.csv", &text);
    let wish = Wish { tables: Some(place.path("cube.toml")), ..Wish::of(place.path("noisy.csv")) };
    let (own, other) = (told(&wish).unwrap(), told(&Wish::of(file)).unwrap());
    for ((own, _), (other, _)) in rows(&*own).into_iter().zip(rows(&*other)) {
        let near = |x: f64, y: f64| (x - y).abs() < 1e-9 * (1.0 + y.abs());
        assert!(near(own.estimate, other.estimate) && near(own.high, other.high), "{own:?} {other:?}");
        assert!(!own.guaranteed && other.guaranteed);
    }
    let page = own.page().to_text(80);
    let words: Vec<&str> = page.split_whitespace().collect();
    assert!(words.join(" ").contains("the file tells its variance alone"), "{page}");
    let command = ["infer", "noisy.csv", "--tables", "cube.toml", "--queries", "sets.csv", "--out", "told"];
    assert!(place.prints(&command).contains("2 districts of sets.csv"));
    assert!(
        ["intervals.parquet", "intervals.svg"]
            .iter()
            .all(|file| place.path(&format!("told/{file}")).exists())
    );
    let written = CsvTable::read(&place.path("told/table.csv")).unwrap();
    assert_eq!(written.columns.join(","), "town,street,query,age,sex,district,value,low,high");
    assert_eq!(written.len(), 9 * 9);
}

/// What follows from what is known is what it is, under any law: whole, and no part of what a normal law says of the rest.
#[test]
fn what_follows_from_known_answers_is_fixed() {
    let tables = "[data]\nlevels = [\"street\"]\nattributes = { sex = [\"f\", \"m\"] }\n[[query]]\nof = [\"sex\"]\n\
                  [[query]]\nname = \"women\"\nof = [\"sex\"]\ngroups = { sex = [[\"f\"]] }\n";
    let noisy = "street,query,sex,value,law,scale,known\n,women,f,234,laplace,1,true\nA,women,f,77,laplace,1,true\n\
                 B,women,f,157,laplace,1,true\nA,sex,f,70,laplace,3,false\nA,sex,m,5,laplace,3,false\nB,sex,f,99,laplace,3,false\n\
                 B,sex,m,31,laplace,3,false\n";
    let place = Place::new(&[("tables.toml", tables), ("noisy.csv", noisy)]);
    let wish = Wish { tables: Some(place.path("tables.toml")), ..Wish::of(place.path("noisy.csv")) };
    let told = told(&wish).unwrap();
    let mut women = Vec::new();
    for (row, keys) in rows(&*told) {
        let is_fixed = keys[2] == "f";
        assert_eq!(
            (row.standard_deviation == Some(0.0), &*row.found_by == "law"),
            (is_fixed, is_fixed),
            "{keys:?} {row:?}"
        );
        if is_fixed {
            assert!(row.low == row.high && row.met == "whole", "{row:?}");
            women.push(row.estimate.round());
        }
    }
    assert_eq!(women, [234.0, 234.0, 77.0, 77.0, 157.0, 157.0]);
    let page = told.page().to_text(120);
    let line = page.lines().find(|line| line.contains("street") && line.contains("sex")).unwrap();
    assert!(line.contains("normal"), "{page}");
}

/// One error each, with the place, the value and what is wanted.
#[test]
fn wrong_files_are_refused() {
    let place = place();
    let tables = "[data]\nlevels = [\"street\"]\nattributes = { sex = [\"f\", \"m\"] }\n[[query]]\nof = [\"sex\"]\n\
                  [[query]]\nof = []\n";
    let good = "street,query,sex,value,law,scale,known\n,total,,9,laplace,1,true\nA,sex,f,4,laplace,2,false\nA,sex,m,1,laplace,2,false\n\
                B,sex,f,4,laplace,2,false\nB,sex,m,0,laplace,2,false\n";
    place.write("tables.toml", tables);
    place.write("noisy.csv", good);
    let command = ["infer", "noisy.csv", "--tables", "tables.toml"];
    assert!(place.prints(&command).contains("sex"));
    let refused = |from: &str, to: &str, wanted: &[&str]| {
        assert!(good.contains(from), "{from}");
        place.write("noisy.csv", &good.replacen(from, to, 1));
        place.refuses(&command, wanted);
    };
    refused(
        "street,query",
        "block,query",
        &["noisy.csv: a column `block`, want none but street, query, sex"],
    );
    refused("A,sex,f", "A,six,f", &["noisy.csv: line 3: `query` = `six`, want one of sex, total"]);
    refused("A,sex,f", "A,sex,x", &["line 3: the query `sex` has no answer `x`, want such as `f`"]);
    refused("A,sex,f", "A,sex,", &["line 3: the query `sex` has no answer ``"]);
    refused("A,sex,f", "A,sex,m", &["line 4: its answer stands there twice (first on line 3)"]);
    refused("B,sex,m,0,laplace,2,false\n", "", &["no answer `m` of the query `sex` in the area of line 5"]);
    refused(
        "A,sex,m,1,laplace,2,false",
        "A,sex,m,1,laplace,3,false",
        &["line 4", "`scale` = `3`", "each query of a level"],
    );
    refused(
        "A,sex,m,1,laplace,2,false",
        "A,sex,m,1,laplace,2,true",
        &["line 4: `known` differs from line 3"],
    );
    refused("A,sex,m,1,laplace", "A,sex,m,1,gaussian", &["line 4", "`law` = `gaussian`"]);
    refused("A,sex,m,1,", "A,sex,m,many,", &["line 4", "`value` = `many`"]);
    refused(
        "law,scale,known\n",
        "law,scale,knwon\n",
        &["noisy.csv: a column `knwon`, want none but street, query, sex"],
    );
    place.write(
        "noisy.csv",
        &good.replace("laplace", "double-geometric").replace("A,sex,m,1,", "A,sex,m,1.5,"),
    );
    place.refuses(&command, &["line 4: `value` = `1.5`, want an integer, as double-geometric noise leaves"]);
    place.write("noisy.csv", &good.replace(",2,false", ",1e-200,false"));
    place.refuses(&command, &["noisy.csv", "variance: got 2", "want 0, or a number from 2^-300"]);
    refused(",total,,9,", ",total,,9.5,", &["line 2", "is known, want a count"]);
    refused(
        "street,query,sex,value,law,scale,known\n",
        "street,query,sex,value,law,scale,method\n",
        &["line 3: `method` = `false`, and `true` on line 2"],
    );
    let published: String = good.lines().skip(1).map(|line| format!("{line},cell-keys\n")).collect();
    place.write("noisy.csv", &format!("street,query,sex,value,law,scale,known,method\n{published}"));
    place.refuses(&command, &["line 2", "`method` = `cell-keys`", "as they were measured"]);
    refused(
        "law,scale,known\n",
        "law,variance,known\n",
        &["by the columns `law` and `scale`, or by `variance`"],
    );
    place.write(
        "noisy.csv",
        &good
            .lines()
            .filter(|line| !line.starts_with('B'))
            .fold(String::new(), |all, line| all + line + "\n"),
    );
    place.prints(&command);
    // The total is known twice, and the two do not go together.
    let known = good.to_owned() + "A,total,,5,laplace,1,true\nB,total,,5,laplace,1,true\n";
    place.write("noisy.csv", &known);
    place.refuses(&command, &["known counts do not go together", "`total`"]);
    // However large they are.
    let large = "street,query,sex,value,law,scale,known\n,total,,20000015,laplace,1,true\nA,total,,10000000,laplace,1,true\n\
                 B,total,,10000000,laplace,1,true\n"
        .to_owned();
    place.write(
        "noisy.csv",
        &(large + &good.lines().skip(2).fold(String::new(), |all, line| all + line + "\n")),
    );
    place.refuses(&command, &["known counts do not go together", "20000015 is known"]);
    // Totals alone do not tell the cells.
    place.write(
        "noisy.csv",
        ",query,sex,value,law,scale\nA,total,,5,laplace,1\n".replacen(',', "street,", 1).as_str(),
    );
    place.refuses(&command, &["noisy.csv", "queries from which every cell of a leaf's table follows"]);
    place.write("noisy.csv", good);
    place.refuses(
        &["infer", "noisy.csv", "--tables", "tables.toml", "--prior", "flat"],
        &["a prior: want none"],
    );
    place.refuses(&["infer", "noisy.csv", "--tables", "tables.toml", "--bands"], &["bands: want none"]);
    place.refuses(
        &["infer", "noisy.csv", "--tables", "tables.toml", "--level", "0.999"],
        &["level: got 0.999, want at most 0.99"],
    );
    place.refuses(&["infer", "noisy.csv", "--tables", "none.toml"], &["none.toml"]);
    place.write("sets.csv", "street,name\nC,north\n");
    let with_sets = ["infer", "noisy.csv", "--tables", "tables.toml", "--queries", "sets.csv"];
    place.refuses(&with_sets, &["sets.csv: line 2: `C` is no area of noisy.csv"]);
    place.write("sets.csv", "street,name,weight\nA,north,2\n");
    place.refuses(&with_sets, &["sets.csv: line 2: `weight` = `2`, want 1, 0 or -1"]);
    place.write("sets.csv", "street,name\nA,north\nA,north\n");
    place.refuses(&with_sets, &["sets.csv: line 3: `A` is in north twice (first on line 2)"]);
}
