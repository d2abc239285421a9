//! Two runs side by side.

mod place;

use place::Place;
use polars::prelude::{NamedFrom, ParquetReader, ParquetWriter, SerReader, Series};

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
    let path = place.path(folder).join("errors.parquet");
    let mut frame = ParquetReader::new(std::fs::File::open(&path).unwrap()).finish().unwrap();
    let values: Vec<f64> =
        frame.column("l1").unwrap().f64().unwrap().iter().map(|x| x.unwrap() * by + 1e-3).collect();
    frame.with_column(Series::new("l1".into(), values).into()).unwrap();
    ParquetWriter::new(std::fs::File::create(&path).unwrap()).finish(&mut frame).unwrap();
}

#[test]
fn the_same_rows_are_identical_and_another_seed_is_equal() {
    let place = place();
    place.prints(&["run", "config.toml", "--out", "same", "--threads", "1"]);
    let (code, text, _) = compare(&place, &["base", "same", "--identical"]);
    assert_eq!(code, 0);
    assert!(text.contains("8 figures: 8 identical, 0 equal"), "{text}");
    place.prints(&["run", "config.toml", "--out", "other", "--set", "seed=2"]);
    let (code, text, _) = compare(&place, &["base", "other", "--margin", "0.2"]);
    assert_eq!(code, 0);
    assert!(text.contains("8 figures: 0 identical, 8 equal"), "{text}");
    // A margin that 3,000 releases cannot reach leaves everything undecided; nothing has changed.
    let (code, text, _) = compare(&place, &["base", "other", "--margin", "0.001"]);
    assert!(code == 0 && text.contains("0 equal, 8 undecided, 0 changed for the better"), "{text}");
    let (code, _, message) = compare(&place, &["base", "other", "--margin", "0.2", "--identical"]);
    assert!(code == 3 && message.contains("do not hold the same rows"), "{message}");
    let (code, text, _) = compare(&place, &["base", "other", "--margin", "0.2", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(code == 0 && json["figures"].as_array().unwrap().len() == 8, "{text}");
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
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn what_does_not_go_together_is_said() {
    let place = place();
    place.prints(&["run", "config.toml", "--out", "part", "--set", "grid.epsilon=[0.5, 2.0]"]);
    let (code, text, _) = compare(&place, &["base", "part"]);
    assert_eq!(code, 0);
    assert!(text.contains("4 figures: 4 identical") && text.contains("only in the base"), "{text}");
    assert!(text.contains("only in the candidate"), "{text}");
    place.prints(&["run", "config.toml", "--out", "apart", "--set", "grid.epsilon=[2.0]"]);
    let (code, _, message) = compare(&place, &["base", "apart"]);
    assert!(code == 4 && message.contains("no cell"), "{message}");
    place.prints(&["run", "config.toml", "--out", "newer"]);
    let manifest = place.path("newer/manifest.json");
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(&manifest, text.replace("\"schema_version\": ", "\"schema_version\": 9")).unwrap();
    let (code, _, message) = compare(&place, &["base", "newer"]);
    assert!(code == 6 && message.contains("schema version 94"), "{message}");
    std::fs::write(&manifest, text.replace("\"study\": \"release\"", "\"study\": \"meeting\"")).unwrap();
    let (code, _, message) = compare(&place, &["base", "newer"]);
    assert!(code == 6 && message.contains("cannot be compared"), "{message}");
    place.refuses(&["compare", "base", "nowhere"], &["nowhere", "cannot read"]);
    place.refuses(&["compare", "base", "part", "--margin=-1"], &["--margin: got -1"]);
    place.refuses(&["compare", "base", "part", "--level", "2"], &["--level: got 2"]);
    place.refuses(&["compare", "base", "part", "--format", "csv"], &["want text, markdown or json"]);
}
