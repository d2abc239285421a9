//! What a study says of itself stands on every page, changes no figure, and is refused where it is none of its keys.
#![allow(clippy::disallowed_methods)] // Tests open files of their own.

use crate::place::{Place, TREE, TREE_DATA};
use congenial::store::Run;
use congenial::study::release::ErrorRow;

const WORLDS: &str = "study = \"composition\"\n[worlds]\nworlds = 4\ncases = 5\nepsilon = 0.5\n";

const ABOUT: &str = r#"
[about]
title = "How well do <small> towns come out?"
description = """
We ask which method
an office would take.

A second paragraph names `code`."""
author = "Unit 3"
notes = ["The data are made up.", "There is more."]
"#;

#[test]
fn a_study_tells_what_it_is() {
    let release = format!(
        "replicates = 3\n{TREE_DATA}[[grid]]\nepsilon = 1.0\nlaw = \"double-geometric\"\nmethod = \"unconstrained\"\n"
    );
    let config = |about: &str, body: &str| format!("name = \"town\"\nseed = 1\n{about}{body}");
    let place = Place::new(&[("tree.csv", TREE)]);
    for (name, body) in [("release", release.as_str()), ("worlds", WORLDS)] {
        // Keys at the top of a file stand before its tables.
        let (top, tables) = body.split_at(body.find('[').unwrap());
        place.write("plain.toml", &config("", body));
        place.write("told.toml", &config(&format!("{top}{ABOUT}"), tables));
        let [plain, told] = ["plain", "told"].map(|config| format!("{name}-{config}"));
        place.prints(&["run", "plain.toml", "--out", &plain]);
        let summary = place.prints(&["run", "told.toml", "--out", &told]);
        let head = "How well do <small> towns come out?\n\nWe ask which method an office would take.\n\nA second paragraph \
                    names `code`.\n\nUnit 3\n\n";
        assert!(summary.starts_with(head), "{summary}");
        let text = place.prints(&["report", &told, "--full"]);
        assert!(
            text.contains("\nNotes\n") && text.contains("The data are made up.\n\nThere is more.\n"),
            "{text}"
        );
        let html = place.prints(&["report", &told, "--format", "html"]);
        for wanted in [
            "<h1>How well do &lt;small&gt; towns come out?</h1>",
            "<p>We ask which method an office would take.</p>",
            "<p>A second paragraph names <code>code</code>.</p>",
            "<p>Unit 3</p>",
            "<p>There is more.</p>",
        ] {
            assert!(html.contains(wanted), "no {wanted} in {html}");
        }
        // Beside another run each keeps its words, and the page has the names of both.
        let both = place.prints(&["report", &plain, &told, "--format", "html"]);
        assert!(
            both.contains("<p><strong>How well do &lt;small&gt;") && both.contains("Notes of town-"),
            "{both}"
        );
        // The config as resolved says the same again.
        let resolved = std::fs::read_to_string(place.path(&told).join("config.resolved.toml")).unwrap();
        place.write("again.toml", &resolved);
        place.prints(&["run", "again.toml", "--out", "again"]);
        let hash = |folder: &str| Run::open(&place.path(folder)).unwrap().manifest.config_hash;
        assert_eq!(hash("again"), hash(&told));
        std::fs::remove_dir_all(place.path("again")).unwrap();
    }
    assert_eq!(place.rows::<ErrorRow>("release-plain"), place.rows::<ErrorRow>("release-told"));
    let (top, tables) = release.split_at(release.find('[').unwrap());
    for (wrong, wanted) in
        [("authors = \"Unit 3\"", "unknown field `authors`"), ("title = 3", "got 3, want a text")]
    {
        place.write("wrong.toml", &config(&format!("{top}[about]\n{wrong}\n"), tables));
        place.refuses(&["plan", "wrong.toml"], &[wrong, wanted]);
    }
}
