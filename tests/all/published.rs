//! Published figures beside ours, in studies of every kind, and files that are refused.
#![allow(clippy::disallowed_methods)] // Tests open files of their own.

use crate::place::{NONNEGATIVE, Place, TABLE, TABLE_DATA, TREE, TREE_DATA, partition};

const HEADER: &str = "source,name,table,figure,value,se,";
const REPORT: &str = "[report]\npublished = \"figures/p.csv\"\n";

fn place(config: &str, published: &str) -> Place {
    let place = Place::new(&[("tree.csv", TREE), ("table.csv", TABLE), ("config.toml", config)]);
    std::fs::create_dir(place.path("figures")).unwrap();
    place.write("figures/p.csv", published);
    place
}

/// A study of every kind: its config, keys of a row, a figure that meets one row and another that meets none.
fn studies() -> Vec<(String, &'static str, &'static str, &'static str)> {
    let grid = |key: &str, rest: &str| format!("[[grid]]\n{key} = 1.0\nlaw = \"double-geometric\"\n{rest}\n");
    let table = format!("{TABLE_DATA}{}{NONNEGATIVE}", partition(&["row"]));
    let top =
        |study: &str, more: &str| format!("name = \"p\"\nseed = 1\nstudy = \"{study}\"\n{more}{REPORT}");
    vec![
        (
            top("release", "replicates = 20\n") + TREE_DATA + &grid("epsilon", "method = \"exact\""),
            "method,level",
            "l1_error,l2,3.0,0.1,exact,3",
            "l1_error,l2,3.0,0.1,topdown,3",
        ),
        (
            top("meeting", "replicates = 20\n")
                + &table
                + &grid("epsilon", "lag = 50\nmethod = \"line-gibbs\""),
            "method,lag",
            "meeting_times,moves,0.5,,line-gibbs,50",
            "meeting_times,moves,0.5,,line-gibbs,70",
        ),
        (
            top("privacy", "") + &table + &grid("epsilon", "method = \"exact\""),
            "scope,component",
            "privacy,gamma,0.25,,corner,1",
            "privacy,gamma,0.25,,corner,9",
        ),
        (
            top("frontier", "change = \"added\"\nreplicates = 20\n")
                + TREE_DATA
                + &grid("paid", "method = \"exact\""),
            "paid,level",
            "frontier,l1_per_node,2.5,0.5,1,2",
            "frontier,l1_per_node,2.5,0.5,2,2",
        ),
        (
            top("composition", "") + "[worlds]\nworlds = 4\ncases = 5\nepsilon = 0.5\n",
            "statement,operator",
            "findings,worst,0,,Lemma 3.3,conditioning",
            "findings,worst,0,,Lemma 9.9,conditioning",
        ),
    ]
}

#[test]
fn figures_stand_beside_every_study() {
    for (config, keys, met, unmet) in studies() {
        let place =
            place(&config, &format!("{HEADER}{keys}\nA paper,ours,{met}\nA paper,not ours,{unmet}\n"));
        place.prints(&["run", "config.toml", "--out", "out"]);
        let page = place.prints(&["report", "out", "--format", "markdown"]);
        let lines: Vec<&str> = page.lines().filter(|line| line.contains("A paper")).collect();
        assert_eq!(lines.len(), 2, "{config}: {page}");
        let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
        let (ours, not) = (cells(lines[0]), cells(lines[1]));
        assert_eq!(ours[1], "A paper: ours", "{config}");
        assert_ne!(ours[5], "-", "{config}");
        assert_eq!((&*not[5], &*not[6]), ("-", "-"), "{config}");
        place.prints(&["report", "out", "--out", "tables"]);
        let csv = std::fs::read_to_string(place.path("tables/published.csv")).unwrap();
        assert_eq!(csv.lines().count(), 3, "{csv}");
        // The config as resolved names the file wherever it is run, and gives the same page.
        place.prints(&["run", "out/config.resolved.toml", "--out", "again"]);
        let again = place.prints(&["report", "again", "--format", "markdown"]);
        assert_eq!(again.split_once('\n').unwrap().1, page.split_once('\n').unwrap().1, "{config}");
    }
}

#[test]
fn what_no_report_has_is_refused() {
    for (config, keys, met, _) in studies() {
        let row = |text: String| format!("{HEADER}{keys}\nA paper,ours,{text}\n");
        let refuses = |published: &str, wanted: &[&str]| {
            let place = place(&config, published);
            place.refuses(&["run", "config.toml", "--out", "out"], wanted);
            assert!(!place.path("out").exists());
        };
        let fields: Vec<&str> = met.split(',').collect();
        let with = |i: usize, value: &str| {
            let mut fields = fields.clone();
            fields[i] = value;
            row(fields.join(","))
        };
        refuses(&with(0, "nothing"), &["p.csv: line 2: `table` = `nothing`, want one of", fields[0]]);
        refuses(&with(1, "nothing"), &["line 2: `figure` = `nothing`, want one of", fields[1]]);
        refuses(&with(2, "many"), &["line 2: `value` = `many`, want a number"]);
        refuses(&with(3, "-1"), &["line 2: `se` = `-1`, want a number >= 0, or nothing"]);
        let other = format!("{HEADER}colour\nA paper,ours,{},red\n", fields[..4].join(","));
        refuses(&other, &["line 2: the column `colour` is filled", "none of this name"]);
        refuses(
            &row(format!("{met}\nA paper,ours,{met}")),
            &["line 3: this figure of this source is given twice"],
        );
        refuses(&format!("{HEADER}{keys}\n"), &["line 1: want at least one figure"]);
    }
}
