//! Two runs side by side.
#![allow(clippy::disallowed_methods)] // Tests open files of their own.

use crate::place::Place;
use congenial::study::release::ErrorRow;

const TABLE: &str = "cell,count\na,3\nb,10\nc,5\nd,2\n";
const CONFIG: &str = r#"
name = "compared"
seed = 1
replicates = 3000

[data]
table = "table.csv"
count = "count"

[[invariant]]
kind = "total"

[[grid]]
epsilon = [0.5, 1.0]
law = "double-geometric"
method = ["exact", "l2"]
"#;

fn place() -> Place {
    let place = Place::new(&[("table.csv", TABLE), ("config.toml", CONFIG)]);
    place.prints(&["run", "config.toml", "--out", "base"]);
    place
}

/// Exit code, standard output and standard error.
fn compare(place: &Place, arguments: &[&str]) -> (i32, String, String) {
    let output = place.command(&[&["compare"][..], arguments].concat()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

/// Multiplies a share of a column of errors.parquet.
fn scale(place: &Place, folder: &str, by: f64) {
    place.edit(folder, |row: &mut ErrorRow| row.l1 = row.l1 * by + 1e-3);
}

/// Whether a page has some words, wherever its lines are broken.
fn says(text: &str, words: &str) -> bool {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    flat.contains(words.trim())
}

#[test]
fn the_same_rows_are_identical_and_another_seed_is_equal() {
    let place = place();
    place.prints(&["run", "config.toml", "--out", "same", "--threads", "1"]);
    let (code, text, _) = compare(&place, &["base", "same", "--identical"]);
    assert_eq!(code, 0);
    assert!(says(&text, "12 figures: 12 identical, 0 equal"), "{text}");
    place.prints(&["run", "config.toml", "--out", "other", "--set", "seed=2"]);
    let (code, text, _) = compare(&place, &["base", "other", "--margin", "0.2"]);
    assert_eq!(code, 0);
    assert!(says(&text, "12 figures: 4 identical, 8 equal within 20 %"), "{text}");
    // A margin that 3,000 releases cannot reach leaves everything undecided; nothing has changed.
    let (code, text, _) = compare(&place, &["base", "other", "--margin", "0.001"]);
    assert!(
        code == 0 && says(&text, "0 equal within 0.1 %, 8 undecided, 0 changed for the better"),
        "{text}"
    );
    let (code, _, message) = compare(&place, &["base", "other", "--margin", "0.2", "--identical"]);
    assert!(code == 3 && message.contains("do not hold the same rows"), "{message}");
    let (code, text, _) = compare(&place, &["base", "other", "--margin", "0.2", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(code == 0 && json["figures"].as_array().unwrap().len() == 12, "{text}");
    let (code, text, _) = compare(&place, &["base", "other", "--format", "markdown"]);
    assert!(code == 0 && text.contains("## Tables") && text.contains("|"), "{text}");
}

#[test]
fn changes_have_a_direction() {
    let place = place();
    for (folder, by, code, words) in
        [("worse", 1.3, 3, "4 changed for the worse"), ("better", 0.7, 0, "4 changed for the better")]
    {
        place.prints(&["run", "config.toml", "--out", folder, "--set", "seed=2"]);
        scale(&place, folder, by);
        let (got, text, _) = compare(&place, &["base", folder]);
        assert_eq!(got, code, "{text}");
        assert!(says(&text, words), "{text}");
    }
}

/// A bias is judged by its size, against the error of a count.
#[test]
fn a_bias_is_a_change() {
    let place = place();
    // The total has none.
    let edited = |folder: &str, by: f64| {
        place.edit(folder, |row: &mut ErrorRow| row.bias = by + 0.1 * (row.replicate % 7) as f64 - 0.3)
    };
    edited("base", 0.0);
    for (folder, bias, code) in [("biased", 3.0, 3), ("the-other-way", -3.0, 3), ("hardly", 1e-3, 0)] {
        place.prints(&["run", "config.toml", "--out", folder, "--set", "seed=2"]);
        edited(folder, bias);
        let (got, text, _) = compare(&place, &["base", folder, "--margin", "0.2"]);
        assert_eq!(got, code, "{text}");
        let changed = if code == 3 { "4 changed for the worse" } else { "0 changed for the worse" };
        assert!(says(&text, changed), "{text}");
    }
    // Back to none is for the better.
    let (code, text, _) = compare(&place, &["biased", "base", "--margin", "0.2"]);
    assert!(code == 0 && says(&text, "4 changed for the better"), "{text}");
}

/// Methods of one run against the first of each noise, and laws, by what each of them is.
#[test]
fn methods_of_one_run_are_compared() {
    let place = place();
    let (code, text, _) = compare(&place, &["base", "--by", "method", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let figures = json["figures"].as_array().unwrap();
    assert!(code == 0 && figures.len() == 6, "{text}");
    let of = |field: &str| figures.iter().map(|figure| figure[field].as_str().unwrap()).collect::<Vec<_>>();
    assert!(of("against").iter().all(|method| *method == "exact"), "{text}");
    assert!(of("words").iter().all(|method| *method == "l2"), "{text}");
    assert_eq!(of("among")[0], "double-geometric noise, epsilon 0.5");
    // Both keep the total; conditioning has the smaller error, by far more than 3,000 releases leave open.
    let of_errors = figures.iter().filter(|figure| figure["metric"] == "l1");
    assert!(
        of_errors.clone().count() == 2 && of_errors.clone().all(|figure| figure["verdict"] == "worse"),
        "{text}"
    );
    assert_eq!(json["paid"].as_array().unwrap().len(), 2);
    let (code, text, _) = compare(&place, &["base", "--by", "method"]);
    assert!(
        code == 0 && text.contains("6 figures: 2 identical") && text.contains("smaller or larger"),
        "{text}"
    );
    let (code, _, message) = compare(&place, &["base", "--by", "law"]);
    assert!(code == 4 && message.contains("base: no two cells differ by law alone"), "{message}");
    place.refuses(&["compare", "base", "base", "--by", "method"], &["cannot be used with"]);
    place.refuses(&["compare", "base"], &["required"]);
}

/// Laws are compared at one sensitivity, each with its delta.
#[test]
fn laws_are_compared_at_one_sensitivity() {
    let grid = "\n[[grid]]\nepsilon = 0.5\nlaw = \"double-geometric\"\nsensitivity = [1.0, 2.0]\nmethod = \"exact\"\n\
        [[grid]]\nepsilon = 0.5\nlaw = \"gaussian\"\nsensitivity = [1.0, 2.0]\ndelta = [1e-5, 1e-6]\nmethod = \"exact\"\n";
    let (head, _) = CONFIG.split_once("\n[[grid]]").unwrap();
    let config = head.replace("replicates = 3000", "replicates = 30") + grid;
    let place = Place::new(&[("table.csv", TABLE), ("config.toml", &config)]);
    place.prints(&["run", "config.toml", "--out", "base"]);
    let (code, text, _) = compare(&place, &["base", "--by", "law", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let paid = json["paid"].as_array().unwrap().iter();
    let told = paid.map(|pair| ["among", "words", "against"].map(|field| pair[field].as_str().unwrap()));
    let told: std::collections::BTreeSet<_> = told.collect();
    let among = ["exact, epsilon 0.5, split each", "exact, epsilon 0.5, split each, sensitivity 2"];
    let words = ["gaussian, delta 1e-5", "gaussian, delta 1e-6"];
    let wanted = among.into_iter().flat_map(|among| words.map(|words| [among, words, "double-geometric"]));
    assert_eq!((code, told), (0, wanted.collect()), "{text}");
}

#[test]
fn what_does_not_go_together_is_said() {
    let place = place();
    place.prints(&["run", "config.toml", "--out", "part", "--set", "grid.epsilon=[0.5, 2.0]"]);
    let (code, text, _) = compare(&place, &["base", "part"]);
    assert_eq!(code, 7);
    assert!(text.contains("6 figures: 6 identical") && text.contains("only in the base"), "{text}");
    assert!(text.contains("only in the candidate"), "{text}");
    place.prints(&["run", "config.toml", "--out", "apart", "--set", "grid.epsilon=[2.0]"]);
    let (code, _, message) = compare(&place, &["base", "apart"]);
    assert!(code == 4 && message.contains("no cell"), "{message}");
    place.prints(&["run", "config.toml", "--out", "newer"]);
    let manifest = place.path("newer/manifest.json");
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(&manifest, text.replace("\"schema_version\": ", "\"schema_version\": 9")).unwrap();
    let (code, _, message) = compare(&place, &["base", "newer"]);
    assert!(code == 6 && message.contains("schema version 9"), "{message}");
    let mut other = congenial::store::Manifest::parse(&manifest, &text).unwrap();
    other.study = "meeting".into();
    std::fs::write(&manifest, other.text()).unwrap();
    let (code, _, message) = compare(&place, &["base", "newer"]);
    assert!(code == 6 && message.contains("cannot be compared"), "{message}");
    place.refuses(&["compare", "base", "nowhere"], &["nowhere", "cannot read"]);
    place.refuses(&["compare", "base", "part", "--margin=-1"], &["--margin: got -1"]);
    place.refuses(&["compare", "base", "part", "--level", "2"], &["--level: got 2"]);
    place.refuses(
        &["compare", "base", "part", "--format", "html"],
        &["invalid value 'html'", "text, markdown, csv, json"],
    );
}

/// A few replicates prove nothing, whatever their spread: Student's t keeps to the level.
#[test]
fn few_replicates_are_undecided() {
    let place = place();
    let run = |out: &str, replicates: usize, seed: usize| {
        let sets = [format!("replicates={replicates}"), format!("seed={seed}")];
        place.prints(&["run", "config.toml", "--out", out, "--set", &sets[0], "--set", &sets[1]]);
    };
    run("one", 1, 1);
    run("other", 1, 2);
    let (code, text, _) = compare(&place, &["one", "other"]);
    assert!(code == 0 && says(&text, " 0 equal") && says(&text, "better, 0 changed"), "{text}");
    let mut changed = 0;
    for seed in 0..30 {
        let [a, b] = ["a", "b"].map(|name| format!("{name}{seed}"));
        run(&a, 3, 100 + seed);
        run(&b, 3, 200 + seed);
        let (_, text, _) = compare(&place, &[&a, &b]);
        changed += usize::from(!says(&text, "0 changed for the better, 0 changed for the worse"));
    }
    // At the level 0.05 more than 6 of 30 comparisons have the probability 3e-4; normal quantiles gave a third of them.
    assert!(changed <= 6, "{changed}");
}

/// A rise by 3 % that is many standard errors wide is equal by the margin alone: whoever says equal says within what, in every format.
#[test]
fn equal_names_its_margin() {
    let place = place();
    for folder in ["many", "more"] {
        place.prints(&["run", "config.toml", "--set", "replicates=40000", "--out", folder]);
    }
    place.edit("more", |row: &mut ErrorRow| row.l1 *= 1.03);
    let all = ["text", "markdown", "csv", "json"];
    for (margin, words, formats) in [
        ("0.05", "equal within 5 %", &all[..]),
        ("0.07", "equal within 7 %", &all[2..3]),
        ("0.125", "equal within 12.5 %", &all[2..3]),
    ] {
        for &format in formats {
            let (code, told, _) = compare(&place, &["many", "more", "--margin", margin, "--format", format]);
            let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(code == 0 && told.contains(words), "{format}: {told}");
            // Of text a cell of a table is broken into lines.
            if format == "text" {
                continue;
            }
            // The rule says when they are.
            let others = ["they are equal", "\"verdict\": \"equal\""];
            let others: usize = others.iter().map(|words| told.matches(words).count()).sum();
            assert_eq!(
                told.matches("equal").count() - others,
                told.matches(words).count(),
                "{format}: {told}"
            );
        }
    }
}

/// The base's config sets the thresholds; options override them.
#[test]
fn thresholds_come_from_the_base() {
    let place = place();
    let with = |thresholds: &str, out: &str| {
        place.write("thresholds.toml", &format!("{CONFIG}\n[compare]\n{thresholds}\n"));
        place.prints(&["run", "thresholds.toml", "--out", out]);
    };
    place.prints(&["run", "config.toml", "--out", "other", "--set", "seed=2"]);
    with("margin = 0.2", "wide");
    let (code, text, _) = compare(&place, &["wide", "other"]);
    assert!(code == 0 && says(&text, "8 equal within 20 %") && text.contains("within 0.2 times"), "{text}");
    with("margin = 0.2\nmargins = { l2 = 0.001 }", "mixed");
    let (code, text, _) = compare(&place, &["mixed", "other"]);
    assert!(
        code == 0 && says(&text, "4 equal within the margin, 4 undecided") && text.contains("(0.001 for l2)"),
        "{text}"
    );
    // They are no part of what the run is.
    let (code, text, _) = compare(&place, &["other", "mixed", "--margin", "0.2"]);
    assert!(code == 0 && says(&text, "8 equal"), "{text}");
    let (code, _, _) = compare(&place, &["base", "mixed", "--identical"]);
    assert_eq!(code, 0);
    for (wrong, why) in [
        ("margin = -1.0", "compare.margin: got -1"),
        ("level = 1.0", "compare.level: got 1"),
        ("margins = { l1 = nan }", "compare.margins.l1: got NaN"),
        ("margins = { l3 = 0.1 }", "unknown field `l3`"),
    ] {
        place.write("wrong.toml", &format!("{CONFIG}\n[compare]\n{wrong}\n"));
        place.refuses(&["check", "wrong.toml"], &["wrong.toml", why]);
    }
}

/// A cell that fails in the candidate alone is lost; one that fails no more is named.
#[test]
fn cells_that_fail_are_changes() {
    let place = place();
    // What failed cannot be had by a config alone.
    place.prints(&["run", "config.toml", "--out", "failed"]);
    place.fail("failed", |row: &ErrorRow| row.cell);
    let (code, text, message) = compare(&place, &["base", "failed"]);
    assert!(code == 7 && message.contains("0 are not in the candidate, 1 failed there"), "{text}{message}");
    assert!(
        text.contains("failed now") && text.contains("no memory") && text.contains("9 identical"),
        "{text}"
    );
    let (code, text, _) = compare(&place, &["failed", "base"]);
    assert!(code == 0 && text.contains("no longer failed"), "{text}");
}

/// Meeting times, and statements on finite worlds.
#[test]
fn other_studies_have_their_own_metrics() {
    let meeting = CONFIG
        .replace("seed = 1", "seed = 1\nstudy = \"meeting\"")
        .replace("replicates = 3000", "replicates = 400")
        .replace("method = [\"exact\", \"l2\"]", "method = \"line-gibbs\"\nlag = 20\nmax-steps = 60");
    let worlds =
        "name = \"w\"\nseed = 1\nstudy = \"composition\"\n[worlds]\nworlds = 4\ncases = 50\nepsilon = 0.5\n";
    let place = Place::new(&[("table.csv", TABLE), ("meeting.toml", &meeting), ("worlds.toml", worlds)]);
    for (config, metric) in [("meeting.toml", "tau"), ("worlds.toml", "fails")] {
        for (out, seed) in [("a", "seed=1"), ("b", "seed=2")] {
            place.prints(&["run", config, "--out", &format!("{metric}-{out}"), "--set", seed]);
        }
        let [a, b] = ["a", "b"].map(|out| format!("{metric}-{out}"));
        let (code, text, _) = compare(&place, &[&a, &b, "--format", "json", "--margin", "0.5"]);
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        let figures = json["figures"].as_array().unwrap();
        assert!(code == 0 && figures.iter().all(|figure| figure["metric"] == metric), "{text}");
        let verdict = if metric == "tau" { "equal" } else { "identical" };
        assert!(figures.iter().all(|figure| figure["verdict"] == verdict), "{text}");
        let told = if metric == "tau" { "equal within 50 %" } else { "identical" };
        assert!(figures.iter().all(|figure| figure["told"] == told), "{text}");
        if metric == "tau" {
            // Cut short at 60, no mean is longer.
            let means = figures.iter().map(|figure| figure["base"].as_f64().unwrap());
            assert!(
                means.clone().count() == 2 && means.clone().all(|mean| mean > 20.0 && mean <= 60.0),
                "{text}"
            );
            // Pairs that were cut earlier are compared up to there.
            place.prints(&["run", config, "--out", "cut", "--set", "grid.max-steps=24"]);
            let (code, text, _) = compare(&place, &["cut", &a]);
            assert!(code == 0 && text.contains("2 figures: 2 identical"), "{text}");
        }
        assert_eq!(json["clocks"].as_array().unwrap().len(), 2);
    }
}
