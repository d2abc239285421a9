//! The documentation as it is: what its commands print, its figures, its keys and its links. `CONGENIAL_DOCS=write`
//! writes anew what is ours to write.
#![allow(clippy::disallowed_methods)] // Tests open files of their own.

use crate::place::Place;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// A file is what it should be, or is written so.
fn hold(path: &str, wanted: &str) {
    if std::env::var_os("CONGENIAL_DOCS").is_some() {
        fs::write(path, wanted).unwrap();
    }
    let held = read(path);
    for (held, wanted) in held.lines().zip(wanted.lines()) {
        assert_eq!(held, wanted, "{path}: CONGENIAL_DOCS=write cargo test --test all docs");
    }
    assert!(held == wanted, "{path} ends elsewhere");
}

/// What stands between two marks is replaced.
fn replaced(text: &str, (from, to): (&str, &str), by: &str) -> String {
    let begin = text.find(from).unwrap_or_else(|| panic!("no {from}")) + from.len();
    let end = begin + text[begin..].find(to).unwrap_or_else(|| panic!("no {to} behind {from}"));
    text[..begin].to_owned() + by + &text[end..]
}

/// What the command prints, but for the commit, and where its line is broken.
fn printed(place: &Place, line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let text = place.prints(&words[1..]);
    let Some((head, rest)) =
        text.split_once("\n\n").filter(|(head, _)| head.contains(" by congenial ") && head.contains(" ("))
    else {
        return text;
    };
    let head = head.replace('\n', " ");
    let (before, behind) = head.split_once(" (").expect("a commit");
    let (_, behind) = behind.split_once(')').expect("its end");
    format!("{before} (COMMIT){behind}\n\n{rest}")
}

/// A text without what is drawn for it, random names and hashes, and with one time for all.
fn undrawn(text: &str) -> String {
    let is_name = |word: &str| word.len() >= 32 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_time = |word: &str| word.len() == 20 && word.ends_with('Z') && word.as_bytes()[10] == b'T';
    let mut out = String::new();
    for part in text.split_inclusive(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != ':') {
        let word = part.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        let shown = match word {
            word if is_name(word) => "…",
            word if is_time(word) => "2026-01-31T12:00:00Z",
            word => word,
        };
        out += &(shown.to_owned() + &part[word.len()..]);
    }
    out
}

/// The files of a tutorial are written, its commands are run, and print what it says.
#[test]
fn the_tutorials_are_what_happens() {
    ["docs/tutorial.md", "docs/tutorial-release.md"].into_iter().for_each(tutorial);
}

fn tutorial(path: &str) {
    let (text, place) = (read(path), Place::new(&[]));
    let (mut wanted, mut commands) = (String::new(), 0);
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        wanted += &format!("{line}\n");
        let Some(kind) = line.strip_prefix("```") else { continue };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        if kind == "console" {
            for command in block.iter().filter(|line| line.starts_with("$ ")) {
                commands += 1;
                wanted += &format!("{command}\n{}", undrawn(&printed(&place, &command[2..])));
            }
        } else {
            let content: String = block.iter().map(|line| format!("{line}\n")).collect();
            if let Some((_, name)) = kind.split_once(",file=") {
                place.write(name, &content);
                place.keep(name);
            }
            wanted += &content;
        }
        wanted += "```\n";
    }
    assert!(commands >= 6, "{commands}");
    hold(path, &wanted);
}

/// Rows of a table of results/published by the names of their columns; none where the run has no such table.
fn published(run: &Path, table: &str) -> Vec<BTreeMap<String, String>> {
    let Ok(mut reader) = csv::Reader::from_path(run.join(table)) else { return Vec::new() };
    let header: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let row = |row: csv::StringRecord| header.iter().cloned().zip(row.iter().map(str::to_owned)).collect();
    reader.records().map(|record| row(record.unwrap())).collect()
}

/// The gallery's table of what chains add to delta is that of the limits of all published studies of meetings: of every
/// chain with its usual start the largest lag.
#[test]
fn the_gallery_says_what_chains_add() {
    let mut runs: Vec<_> =
        fs::read_dir("results/published").unwrap().map(|entry| entry.unwrap().path()).collect();
    runs.sort();
    let chain = |row: &BTreeMap<String, String>| {
        ["law", "epsilon", "delta", "method", "options", "nonnegative"].map(|key| row[key].clone())
    };
    let number = |row: &BTreeMap<String, String>, key: &str| row[key].parse::<f64>().ok();
    let mut lines = String::new();
    for run in &runs {
        let bounds = published(run, "tv_bound.csv");
        for times in published(run, "meeting_times.csv") {
            let same = bounds.iter().filter(|row| chain(row) == chain(&times));
            let longest = same.filter_map(|row| number(row, "lag")).fold(0.0, f64::max);
            if times["options"].contains("start=") || number(&times, "lag").is_some_and(|lag| lag < longest) {
                continue;
            }
            let own =
                |row: &&BTreeMap<String, String>| chain(row) == chain(&times) && row["lag"] == times["lag"];
            let limits: Vec<(&str, f64)> = bounds
                .iter()
                .filter(own)
                .filter_map(|row| Some((&row["t"][..], number(row, "delta_sampling_high")?)))
                .collect();
            let first = |most: f64| {
                let found = limits.iter().find(|(_, limit)| *limit <= most);
                found.map_or("-".to_owned(), |(t, _)| (*t).to_owned())
            };
            let least = limits.iter().map(|(_, limit)| *limit).fold(f64::INFINITY, f64::min);
            let least = if least < 1.0 { format!("{least:.1e}") } else { "-".into() };
            let delta = Some(&times["delta"]).filter(|delta| !delta.is_empty());
            let law = times["law"].clone() + &delta.map_or(String::new(), |delta| format!(", delta {delta}"));
            let mut words: Vec<String> = times["options"].split(',').map(str::to_owned).collect();
            words.retain(|option| !option.is_empty());
            words.iter_mut().for_each(|option| {
                let value =
                    option.split_once('=').and_then(|(key, value)| Some((key, value.parse::<f64>().ok()?)));
                if let Some((key, value)) = value {
                    *option = format!("{key}={}", (value * 1e4).round() / 1e4);
                }
            });
            let sign = if times["nonnegative"] == "true" { " >= 0" } else { "" };
            let method = format!("{}{sign} {}", times["method"], words.join(", "));
            lines += &format!(
                "| {} | {law} | {} | {} | {} | {} | {} | {} | {least} |\n",
                times["run"],
                times["epsilon"],
                method.trim(),
                if times["censored"] == times["pairs"] {
                    format!("{}, none met", times["pairs"])
                } else {
                    times["pairs"].clone()
                },
                first(0.1),
                first(0.01),
                first(0.001)
            );
        }
    }
    let head = "| run | noise | epsilon | chain | pairs | <= 0.1 | <= 0.01 | <= 0.001 | least |\n|---|---|---|---|---|---|---|---|---|\n";
    let marks = ("<!-- what chains add -->\n", "<!-- end -->");
    let path = "experiments/README.md";
    hold(path, &replaced(&read(path), marks, &(head.to_owned() + &lines)));
}

/// The first table of the README is what its first command prints of the loss 1, in words, too.
#[test]
fn the_readme_shows_its_first_command() {
    let place = Place::new(&[]);
    let config = fs::canonicalize("examples/town/town.toml").unwrap();
    let mut command = place.command(&["run", config.to_str().unwrap(), "--out", "out"]);
    let text = String::from_utf8(command.env("COLUMNS", "120").output().unwrap().stdout).unwrap();
    let told = text.lines().skip_while(|line| !line.starts_with("town: mean error"));
    let said: Vec<&str> = told.take_while(|line| !line.is_empty()).collect();
    let shown = said.iter().map(|line| format!("{line}\n")).collect::<String>()
        + "\n"
        + &rows_of(&text, "┌", "│    1 ").concat();
    hold("README.md", &replaced(&read("README.md"), ("<!-- from town -->\n```text\n", "```"), &shown));
    assert!(read("README.md").lines().count() <= 150);
    // Without its tables: what a newcomer reads.
    let words =
        read("README.md").split("```").step_by(2).map(|text| text.split_whitespace().count()).sum::<usize>();
    assert!(words <= 950, "{words} words");
}

/// The first example of the page on splits has the table that is printed of it.
#[test]
fn the_page_on_splits_shows_its_first_example() {
    let path = "docs/how-to/split.md";
    let page = read(path);
    let config = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let data = fs::canonicalize("data").unwrap();
    let config = config.replace("\"data/", &format!("\"{}/", data.display()));
    let place = Place::new(&[("counties.toml", &config)]);
    let output = place.command(&["plan", "counties.toml", "--optimise", "mean"]).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    let shown: String = told.split_inclusive('\n').take_while(|line| !line.starts_with("By query")).collect();
    hold(path, &replaced(&page, ("```text\n", "```"), &format!("{}\n", shown.trim_end())));
}

/// The config of the README's first command is what `init` writes.
#[test]
fn the_small_town_is_what_init_writes() {
    let place = Place::new(&[("town.csv", &read("examples/town/town.csv"))]);
    hold("examples/town/town.toml", &place.prints(&["init", "town.csv", "--known", "total,region"]));
}

/// The second table and the figure of the README are those of the paper's command.
#[test]
fn the_readme_shows_the_papers() {
    let place = Place::new(&[]);
    let config = fs::canonicalize("configs/taxi/quick.toml").unwrap();
    place.prints(&["run", config.to_str().unwrap(), "--out", "out"]);
    let mut command = place.command(&["report", "out", "--full"]);
    let text = String::from_utf8(command.env("COLUMNS", "120").output().unwrap().stdout).unwrap();
    let of = |law: &str| {
        let heading = format!("taxi-quick: normalised L1 error, {law} noise");
        let own: Vec<&str> = text.lines().skip_while(|line| *line != heading).collect();
        format!("{law} noise\n") + &rows_of(&own.join("\n"), "┌", "│       1 ")[0]
    };
    let shown = of("laplace") + &of("double-geometric");
    hold("README.md", &replaced(&read("README.md"), ("<!-- from taxi/quick -->\n```text\n", "```"), &shown));

    place.prints(&["report", "out", "--format", "svg", "-o", "figures", "--figure-width", "860"]);
    let figure = fs::read_to_string(place.path("figures/taxi-quick-l1-error-laplace.svg")).unwrap();
    hold("docs/figures/taxi.svg", &figure);
}

/// Of the tables of a text that have a row which begins like this: the header, that row, and those below it for the same budget.
fn rows_of(text: &str, top: &str, begins: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let budget = |line: &&&str| line.split(['│', '┆']).nth(1).is_some_and(|cell| !cell.trim().is_empty());
    let tables =
        lines.iter().enumerate().filter(|(_, line)| line.starts_with(top)).filter_map(|(start, _)| {
            let end = start + lines[start..].iter().position(|line| line.starts_with('└'))?;
            let head = start + lines[start..end].iter().position(|line| line.starts_with('╞'))?;
            let first = start + lines[start..end].iter().position(|line| line.starts_with(begins))?;
            let rows = 1 + lines[first + 1..end].iter().take_while(|line| !budget(line)).count();
            let shown = [&lines[start..=head], &lines[first..first + rows], &lines[end..=end]].concat();
            Some(shown.iter().map(|line| format!("{line}\n")).collect())
        });
    tables.collect()
}

/// What a key may hold, in words.
fn kind(schema: &Value, all: &Value) -> String {
    let of = |list: &Value| -> Vec<String> {
        let mut words: Vec<String> = list.as_array().unwrap().iter().map(|one| kind(one, all)).collect();
        words.retain(|words| words != "null");
        words.dedup();
        words
    };
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.rsplit('/').next().unwrap();
        return match name {
            "Method" => "method".into(),
            "MethodName" => "name of a method".into(),
            "LawName" => "law".into(),
            "WireInvariant" => "table".into(),
            name => kind(&all[name], all),
        };
    }
    if let Some(names) = schema["enum"].as_array() {
        return names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    }
    for several in ["anyOf", "oneOf", "allOf"] {
        if schema[several].is_array() {
            return of(&schema[several]).join(" or ");
        }
    }
    let kinds: Vec<&str> = match &schema["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => {
            kinds.iter().filter_map(Value::as_str).filter(|kind| *kind != "null").collect()
        }
        _ => return "any".into(),
    };
    let limit =
        |key: &str, sign: &str| schema[key].as_f64().map_or(String::new(), |x| format!(" {sign} {x}"));
    let limits = limit("minimum", ">=")
        + &limit("exclusiveMinimum", ">")
        + &limit("maximum", "<=")
        + &limit("exclusiveMaximum", "<");
    match kinds[..] {
        ["array"] if schema["items"].is_object() => format!("list of {}", kind(&schema["items"], all)),
        ["object"] => "table".into(),
        ["string"] => "text".into(),
        ["boolean"] => "true or false".into(),
        _ => kinds.join(" or ") + &limits,
    }
}

/// Tables of the schema with their names in a config, and the studies that they are of; empty for all.
const TABLES: [(&str, &[(&str, &str)]); 15] = [
    (
        "the top of the file",
        &[
            ("ReleaseFile", "release"),
            ("MeetingFile", "meeting"),
            ("PrivacyFile", "privacy"),
            ("ProfileFile", "profile"),
            ("FrontierFile", "frontier"),
            ("CoverageFile", "coverage"),
        ],
    ),
    ("`[data]`", &[("WireData", "")]),
    ("`[[invariant]]`", &[("WireInvariant", "")]),
    (
        "`[[grid]]`",
        &[
            ("ReleaseBlock", "release"),
            ("MeetingBlock", "meeting"),
            ("PrivacyBlock", "privacy"),
            ("ProfileBlock", "profile"),
            ("FrontierBlock", "frontier"),
            ("CoverageBlock", "coverage"),
        ],
    ),
    ("`[[exclude]]`", &[("WireExclude", "")]),
    ("`[report]`", &[("WireReport", "")]),
    ("`[report.beside]`", &[("WireBeside", "")]),
    ("`[certify]`", &[("WireCertify", "")]),
    ("`[about]`", &[("Preface", "")]),
    ("`[compare]`", &[("WireCompare", "")]),
    ("`[worlds]` (of a study of composition)", &[("WireWorlds", "")]),
    ("the top of the file (of a study of trees of tables)", &[("CubeFile", "")]),
    ("`[data]` (of a study of trees of tables)", &[("CubeData", "")]),
    ("`[[query]]` (of a study of trees of tables)", &[("CubeQuery", "")]),
    ("`[[grid]]` (of a study of trees of tables)", &[("CubeBlock", "")]),
];

/// A table of the schema by parts: their keys, and what has them; nothing for all.
fn parts<'a>(all: &'a Value, sources: &[(&str, &'static str)]) -> Vec<(&'a Value, &'a str)> {
    let mut parts: Vec<(&Value, &str)> = Vec::new();
    for (name, study) in sources {
        parts.push((&all[*name], study));
        // Told apart by their kind; others say which of two keys is wanted.
        let variants = all[*name]["oneOf"].as_array().into_iter().flatten();
        let variants = variants.filter(|part| part["properties"].is_object());
        parts.extend(
            variants.map(|part| (part, part["properties"]["kind"]["const"].as_str().expect("a kind"))),
        );
    }
    parts.retain(|(part, _)| part["properties"].is_object());
    parts
}

/// The page of dependencies has every direct one of every crate here, and no other.
#[test]
fn every_dependency_is_told() {
    let mut used = BTreeSet::new();
    let crates = ["core", "exact-noise", "oracle", "worlds", "frames"].map(|name| format!("crates/{name}"));
    for folder in crates.into_iter().chain([".", "python", "fuzz"].map(str::to_owned)) {
        let manifest: toml::Table = read(&format!("{folder}/Cargo.toml")).parse().unwrap();
        for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let all = manifest.get(kind).and_then(toml::Value::as_table).into_iter().flatten();
            used.extend(all.map(|(name, _)| name.clone()).filter(|name| !name.starts_with("congenial")));
        }
    }
    let page = read("docs/explanation/dependencies.md");
    let first = |line: &str| line.strip_prefix("| `")?.split('|').next().map(str::to_owned);
    let told: BTreeSet<String> = page
        .lines()
        .filter_map(first)
        .flat_map(|names| {
            names.split(',').map(|name| name.trim_matches([' ', '`']).to_owned()).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(told, used);
}

/// Every key of a config stands in the reference, from the declarations.
#[test]
fn every_key_has_its_line() {
    let schema: Value = serde_json::from_str(&Place::new(&[]).prints(&["schema"])).unwrap();
    let all = &schema["$defs"];
    let mut out = String::new();
    for (title, sources) in TABLES {
        let parts = parts(all, sources);
        assert!(!parts.is_empty(), "{title}");
        // By key and what is said of it: what has it.
        let mut keys: BTreeMap<&str, Vec<(String, Vec<&str>)>> = BTreeMap::new();
        for (part, of) in &parts {
            let wanted: Vec<&str> =
                part["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            for (key, value) in part["properties"].as_object().unwrap() {
                let is_kind = value["const"].is_string();
                let words = if is_kind { &part["description"] } else { &value["description"] };
                let about = words.as_str().unwrap_or_default().replace('\n', " ").replace('|', "\\|");
                assert!(!about.is_empty(), "{title}: {key} of {of} has no description");
                let must = if wanted.contains(&key.as_str()) { "yes" } else { "" };
                let line = match is_kind {
                    true => format!("| `{key}` | `{of}` | {must} | {about}"),
                    false => {
                        format!("| `{key}` | {} | {must} | {about}", kind(value, all).replace('|', "\\|"))
                    }
                };
                let lines = keys.entry(key).or_default();
                match lines.iter_mut().find(|(other, _)| *other == line) {
                    Some((_, those)) => those.push(of),
                    None => lines.push((line, vec![of])),
                }
            }
        }
        out += &format!("\n### Keys: {title}\n\n| key | value | wanted | meaning |\n|---|---|---|---|\n");
        for (key, lines) in &keys {
            for (line, of) in lines {
                let only = match of.len() < parts.len() && *key != "kind" {
                    true => format!(" ({})", of.join(", ")),
                    false => String::new(),
                };
                out += &format!("{line}{only} |\n");
            }
        }
    }
    let path = "docs/reference/config.md";
    hold(path, &replaced(&read(path), ("<!-- keys -->\n", "<!-- end of keys -->"), &(out + "\n")));
}

/// All pages.
fn pages(folder: &Path, all: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            pages(&path, all);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            all.push(path.to_str().unwrap().to_owned());
        }
    }
}

/// Links lead to files, scripts that are named exist, and every page of the site is in its list.
#[test]
fn links_lead_somewhere() {
    let mut all: Vec<String> =
        ["README.md", "CONTRIBUTING.md", "PERFORMANCE.md", "SECURITY.md"].map(String::from).into();
    pages(Path::new("docs"), &mut all);
    pages(Path::new("experiments"), &mut all);
    let summary = read("docs/SUMMARY.md");
    for page in &all {
        let text = read(page);
        let folder = Path::new(page).parent().unwrap();
        for part in text.split("](").skip(1) {
            let link = part.split(')').next().unwrap();
            if !link.starts_with("http") && !link.contains(' ') {
                let to = folder.join(link.split('#').next().unwrap());
                assert!(to.exists(), "{page}: {link}");
            }
        }
        for part in text.split("scripts/").skip(1) {
            let name = part.split(|c: char| !(c.is_ascii_lowercase() || c == '-')).next().unwrap();
            assert!(name.is_empty() || Path::new("scripts").join(name).exists(), "{page}: scripts/{name}");
        }
        if let Some(name) = page.strip_prefix("docs/") {
            assert!(
                name == "SUMMARY.md" || summary.contains(&format!("({name})")),
                "{page} is not in docs/SUMMARY.md"
            );
        }
    }
}

/// Every page states the question that it answers: the first paragraph behind its title.
#[test]
fn pages_begin_with_their_question() {
    let mut all = Vec::new();
    pages(Path::new("docs"), &mut all);
    all.retain(|page| page != "docs/SUMMARY.md");
    assert!(all.len() > 20, "{} pages", all.len());
    for page in all {
        let text = read(&page);
        let mut parts = text.split("\n\n").map(str::trim);
        let title = parts.next().unwrap_or_default();
        assert!(
            title.starts_with("# ") && title.lines().count() == 1,
            "{page} does not begin with its title"
        );
        let question = parts.next().unwrap_or_default();
        assert!(question.ends_with('?'), "{page} does not state its question behind its title");
    }
}

/// What names the run of a config.
fn name_of(config: &str) -> String {
    let text = read(config);
    let name = text.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
    name.unwrap_or_else(|| panic!("{config} has no name")).to_owned()
}

/// The page of the papers' figures has the commands of the experiments, and how long each of them took.
#[test]
fn figures_of_the_papers_have_their_commands() {
    let mut experiments = Vec::new();
    pages(Path::new("experiments"), &mut experiments);
    let experiments: String = experiments.iter().map(|page| read(page)).collect();
    let path = "docs/reference/figures.md";
    let (mut wanted, mut made) = (String::new(), 0);
    for line in read(path).lines() {
        let command = line.split('`').find(|part| part.starts_with("cargo run "));
        let Some(command) = command.filter(|_| line.starts_with("| ")) else {
            wanted += &format!("{line}\n");
            continue;
        };
        assert!(experiments.contains(command), "{path}: no experiment has {command}");
        let config = command.split(' ').find(|word| word.starts_with("configs/"));
        let config = config.unwrap_or_else(|| panic!("{path}: {command} names no config"));
        let took = read(&format!("results/published/{}/duration.txt", name_of(config)));
        let (before, rest) = line.split_once(&format!("`{command}` | ")).expect("a cell behind the command");
        let (_, behind) = rest.split_once(" | ").expect("a cell behind the time");
        wanted += &format!("{before}`{command}` | {} | {behind}\n", took.trim());
        made += 1;
    }
    assert!(made > 15, "{made}");
    hold(path, &wanted);
}

/// The arguments of the commands `run` in a page that name a config of ours, as a shell takes them.
fn runs(text: &str) -> Vec<Vec<String>> {
    let command = |line: &str| {
        let (_, arguments) = line.trim_start().split_once("cargo run --release -- run ")?;
        // In a sentence or a table a command stands between backticks.
        let arguments = arguments.split('`').next().unwrap_or(arguments);
        let mut words = vec![String::new()];
        let mut quote = None;
        for c in arguments.split(" #").next().unwrap_or(arguments).trim().chars() {
            match (c, quote) {
                (c, Some(open)) if c == open => quote = None,
                ('\'' | '"', None) => quote = Some(c),
                (' ', None) => words.push(String::new()),
                (c, _) => words.last_mut()?.push(c),
            }
        }
        words[0].starts_with("configs/").then(|| words.into_iter().filter(|word| !word.is_empty()).collect())
    };
    text.lines().filter_map(command).collect()
}

/// Every run of a page begins: its config is read with its data, and so is what stands beside results.
#[test]
fn runs_of_pages_begin() {
    let mut all = vec!["README.md".to_owned()];
    pages(Path::new("docs"), &mut all);
    pages(Path::new("experiments"), &mut all);
    let mut begun = 0;
    for page in all {
        for arguments in runs(&read(&page)) {
            let said = arguments.windows(2).filter(|pair| pair[0] == "--set");
            let sets: Vec<String> = said.map(|pair| pair[1].clone()).collect();
            let planned =
                congenial::study::load(Path::new(&arguments[0]), &sets).and_then(congenial::study::plan);
            match planned.and_then(|planned| planned.copies()) {
                Ok(_) => begun += 1,
                // Data of a country or a state are made first.
                Err(e)
                    if e.to_string().contains("No such file")
                        && ["country/", "cube/state"].iter().any(|made| arguments[0].contains(made)) => {}
                Err(e) => panic!("{page}: {arguments:?}: {e}"),
            }
        }
    }
    assert!(begun > 30, "{begun}");
}
