//! The READMEs of the experiments quote what full runs gave: every figure with a standard error or an interval is in
//! `results/published`, among the runs of that experiment or of another that the README names.
#![allow(clippy::disallowed_methods)] // Tests open files of their own.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A printed `mean ± error`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Printed {
    mean: String,
    error: String,
}

impl Printed {
    /// As numbers.
    fn values(&self) -> Option<(f64, f64)> {
        value(&self.mean).zip(value(&self.error))
    }
}

/// A number as pages print it, from a place in a text on: digits with commas and a point.
fn number(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == ',')).unwrap_or(text.len());
    text[..end].trim_matches(['.', ','])
}

/// The number that a text ends with.
fn last_number(text: &str) -> &str {
    let start = text.rfind(|c: char| !(c.is_ascii_digit() || c == '.' || c == ','));
    text[start.map_or(0, |i| i + text[i..].chars().next().map_or(1, char::len_utf8))..]
        .trim_matches([',', '.'])
}

/// All `a [b, c]` of a text, without commas in numbers.
fn intervals(text: &str) -> HashSet<String> {
    let mut all = HashSet::new();
    for (at, _) in text.match_indices(" [") {
        let low = number(&text[at + 2..]);
        let rest = &text[at + 2 + low.len()..];
        let Some(rest) = rest.strip_prefix(", ") else { continue };
        let high = number(rest);
        let numbers = [last_number(&text[..at]), low, high].map(|x| x.replace(',', ""));
        if rest[high.len()..].starts_with(']') && numbers.iter().all(|x| !x.is_empty()) {
            all.insert(format!("{} [{}, {}]", numbers[0], numbers[1], numbers[2]));
        }
    }
    all
}

/// All `a ± b` of a text, signs and stars left out.
fn printed(text: &str) -> Vec<Printed> {
    let mut all = Vec::new();
    for (at, _) in text.match_indices(" ± ") {
        let after = text[at..].trim_start_matches(" ± ");
        let (mean, error) = (last_number(&text[..at]), number(after));
        if !mean.is_empty() && !error.is_empty() {
            all.push(Printed { mean: mean.to_owned(), error: error.to_owned() });
        }
    }
    all
}

/// Numbers without their thousands' commas.
fn value(text: &str) -> Option<f64> {
    text.replace(',', "").parse().ok()
}

fn decimals(text: &str) -> usize {
    text.split_once('.').map_or(0, |(_, digits)| digits.len())
}

/// Every column with its `_se` in a CSV table.
fn pairs(path: &Path) -> Vec<(f64, f64)> {
    let mut reader = csv::Reader::from_path(path).unwrap();
    let header = reader.headers().unwrap().clone();
    let columns: Vec<(usize, usize)> = header
        .iter()
        .enumerate()
        .filter_map(|(i, name)| Some((i, header.iter().position(|other| other == format!("{name}_se"))?)))
        .collect();
    let mut all = Vec::new();
    for row in reader.records() {
        let row = row.unwrap();
        let field = |i: usize| row.get(i).and_then(|text| text.parse::<f64>().ok());
        all.extend(columns.iter().filter_map(|&(mean, error)| field(mean).zip(field(error))));
    }
    all
}

/// What the full runs of an experiment left on their pages and in their tables.
#[derive(Default)]
struct Results {
    /// Means and errors.
    pairs: Vec<(f64, f64)>,
    intervals: HashSet<String>,
}

impl Results {
    /// `experiment`: its folder under `configs`.
    fn of(experiment: &Path) -> Self {
        let mut all = Self::default();
        for config in fs::read_dir(experiment).unwrap() {
            let text = fs::read_to_string(config.unwrap().path()).unwrap();
            let name =
                text.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"')).unwrap();
            let folder = Path::new("results/published").join(name);
            let Ok(files) = fs::read_dir(&folder) else { continue };
            for file in files {
                let path = file.unwrap().path();
                match path.extension().and_then(|extension| extension.to_str()) {
                    Some("md") => {
                        let page = fs::read_to_string(&path).unwrap();
                        all.pairs.extend(printed(&page).iter().filter_map(Printed::values));
                        all.intervals.extend(intervals(&page));
                    }
                    Some("csv") => all.pairs.extend(pairs(&path)),
                    Some("svg" | "txt") => {}
                    _ => panic!("{} is neither a page nor a table", path.display()),
                }
            }
        }
        all
    }

    /// Whether a figure is there, to the digits that are printed.
    fn has(&self, figure: &Printed) -> bool {
        let Some((mean, error)) = figure.values() else { return false };
        let near = |printed: &str, read: f64, exact: f64| {
            let unit = libm::pow(10.0, -(decimals(printed) as f64));
            (read - exact.abs()).abs() <= 0.5 * unit * (1.0 + 1e-9)
        };
        let same = |(a, b): &(f64, f64)| near(&figure.mean, mean, *a) && near(&figure.error, error, *b);
        self.pairs.iter().any(same)
    }
}

/// What cannot be looked up stands in a comment `<!-- not in the tables: 1.0 ± 0.1, ... (where it comes from) -->` of the README.
fn excused(text: &str) -> HashSet<Printed> {
    let comments = text.split("<!-- not in the tables:").skip(1);
    comments.flat_map(|rest| printed(rest.split("-->").next().unwrap_or_default())).collect()
}

#[test]
fn figures_of_the_readmes_are_those_of_full_runs() {
    let mut missing = Vec::new();
    let mut looked_up = 0;
    let experiments = fs::read_dir("experiments").unwrap();
    let experiments = experiments.map(|folder| folder.unwrap().path()).filter(|path| path.is_dir());
    let mut folders: Vec<PathBuf> = experiments.collect();
    folders.sort();
    let names: Vec<String> =
        folders.iter().map(|folder| folder.file_name().unwrap().to_str().unwrap().to_owned()).collect();
    // The gallery quotes all of them.
    folders.push("experiments".into());
    for folder in folders {
        let text = fs::read_to_string(folder.join("README.md")).unwrap();
        let name = folder.file_name().unwrap().to_str().unwrap();
        let named = text.split("`experiments/").skip(1).filter_map(|rest| rest.split('`').next());
        let of: Vec<&str> = match name {
            "experiments" => names.iter().map(String::as_str).collect(),
            _ => std::iter::once(name).chain(named).collect(),
        };
        let results: Vec<Results> =
            of.into_iter().map(|name| Results::of(&Path::new("configs").join(name))).collect();
        let excused = excused(&text);
        for figure in printed(&text) {
            looked_up += 1;
            if !excused.contains(&figure) && !results.iter().any(|results| results.has(&figure)) {
                missing.push(format!("{name}: {} ± {}", figure.mean, figure.error));
            }
        }
        for interval in intervals(&text) {
            looked_up += 1;
            if !results.iter().any(|results| results.intervals.contains(&interval)) {
                missing.push(format!("{name}: {interval}"));
            }
        }
    }
    assert!(
        missing.is_empty(),
        "{} figures are not in results/published:\n{}",
        missing.len(),
        missing.join("\n")
    );
    assert!(looked_up > 200, "{looked_up} figures");
}

/// How long a full run takes is what `scripts/published` measured, said behind its command.
#[test]
fn durations_are_those_of_the_runs_that_were_published() {
    let mut held = 0;
    for experiment in fs::read_dir("experiments").unwrap() {
        let path = experiment.unwrap().path().join("README.md");
        let Ok(text) = fs::read_to_string(&path) else { continue };
        for line in text.lines() {
            let Some((_, command)) = line.split_once("run configs/") else { continue };
            let (config, said) = command.split_once('#').unwrap_or((command, ""));
            if !config.trim().ends_with("full.toml") {
                continue;
            }
            let config = fs::read_to_string(Path::new("configs").join(config.trim())).unwrap();
            let name =
                config.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"')).unwrap();
            let took = Path::new("results/published").join(name).join("duration.txt");
            let Ok(took) = fs::read_to_string(&took) else { continue };
            assert!(said.contains(took.trim()), "{}: {line}\n{name} took {took}", path.display());
            held += 1;
        }
    }
    assert!(held > 0);
}

#[test]
fn figures_are_read_as_they_are_printed() {
    let read = |text: &str| printed(text).into_iter().map(|p| (p.mean, p.error)).collect::<Vec<_>>();
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(read("| 1.5 ± 0.1 | -2 ± 3 * |"), [pair("1.5", "0.1"), pair("2", "3")]);
    assert_eq!(read("| mean ± standard error | 1 ± ..."), []);
    assert_eq!(read("1,492 ± 364, and 0.850 ± 0.018."), [pair("1,492", "364"), pair("0.850", "0.018")]);
    let results = Results { pairs: vec![(1.2345, 0.0321), (-7.0, 2.0)], intervals: HashSet::new() };
    let has = |mean: &str, error: &str| results.has(&Printed { mean: mean.into(), error: error.into() });
    assert!(has("1.234", "0.032") && has("1.235", "0.032") && has("7", "2") && !has("1.23", "0.033"));
    let read = intervals("7,213 [5,872, 7,936] | 0.5 [0.4, 0.6], [1, 2], x [1] 3 [4, 5");
    assert_eq!(read, ["7213 [5872, 7936]", "0.5 [0.4, 0.6]"].map(str::to_owned).into());
    assert!(excused("<!-- not in the tables: 1 ± 2 (a log) --> 3 ± 4").len() == 1);
}
