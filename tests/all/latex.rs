//! Reports in LaTeX: what is chosen, and that papers with them compile where there is TeX.
#![allow(clippy::disallowed_methods)] // Tests open files of their own.

use crate::place::{MARGINS, Place, TABLE, TABLE_DATA, TREE, TREE_DATA};
use std::process::Command;

/// Runs of three studies: a tree with levels, a frontier, and meetings of chains.
fn runs() -> Place {
    // More budgets than a figure has signs, and more rows than a page has lines.
    let budgets: Vec<f64> = (1..=13).map(|k| 0.25 * f64::from(k)).collect();
    let tree = format!(
        "name = \"tree\"\nseed = 1\nreplicates = 40\n{TREE_DATA}[[grid]]\nepsilon = {budgets:?}\nlaw = \"double-geometric\"\n\
         method = [\"exact\", \"topdown\", {{ kind = \"hierarchical-mh\", steps = 400, proposal-scale = 1.0 }}]\n"
    );
    let frontier = format!(
        "name = \"frontier\"\nseed = 1\nstudy = \"frontier\"\nchange = \"added\"\nreplicates = 20\n{TREE_DATA}[[grid]]\npaid = [0.5, 1.0]\n\
         law = \"double-geometric\"\nmethod = [\"exact\", \"topdown\"]\n"
    );
    let meeting = format!(
        "name = \"meeting\"\nseed = 1\nstudy = \"meeting\"\nreplicates = 60\n{TABLE_DATA}{MARGINS}[[grid]]\nepsilon = 0.5\nlaw = \"l1\"\n\
         method = [\"line-gibbs\", \"lattice-metropolis\"]\nlag = 100\nmax-steps = 100_000\nmarginal-chains = 20\nmarginal-steps = 10\n"
    );
    let place = Place::new(&[
        ("tree.csv", TREE),
        ("table.csv", TABLE),
        ("tree.toml", &tree),
        ("frontier.toml", &frontier),
        ("meeting.toml", &meeting),
    ]);
    for name in ["tree", "frontier", "meeting"] {
        let output = place.command(&["run", &format!("{name}.toml"), "--out", name]).output().unwrap();
        assert!(matches!(output.status.code(), Some(0 | 5)), "{}", String::from_utf8_lossy(&output.stderr));
    }
    place
}

/// What begins ends, in its order, and labels are each there once.
fn is_well_formed(text: &str) {
    let mut open = Vec::new();
    for (at, _) in text.match_indices('\\') {
        let name = |command: &str| {
            let rest = text[at..].strip_prefix(command)?;
            Some(rest.split('}').next().unwrap_or_default().to_owned())
        };
        if let Some(name) = name("\\begin{") {
            open.push(name);
        } else if let Some(name) = name("\\end{") {
            assert_eq!(open.pop(), Some(name));
        }
    }
    assert!(open.is_empty(), "{open:?}");
    let mut labels: Vec<&str> =
        text.split("\\label{").skip(1).map(|rest| rest.split('}').next().unwrap()).collect();
    let all = labels.len();
    labels.sort_unstable();
    labels.dedup();
    assert!(labels.len() == all && all > 0, "{labels:?}");
}

/// A paper with every table of three studies, and figures that are and are not there.
#[test]
fn papers_compile() {
    let place = runs();
    let text = place.prints(&["report", "tree", "frontier", "meeting", "--format", "latex"]);
    is_well_formed(&text);
    for part in [
        "\\begin{longtable}",
        "\\label{tab:",
        "\\label{fig:",
        "\\textbf{",
        "steps 400",
        "% \\usepackage{booktabs,longtable,graphicx}",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // Every figure of the report by its name, and no other.
    place.prints(&[
        "report",
        "tree",
        "frontier",
        "meeting",
        "--format",
        "svg",
        "--untitled",
        "-o",
        "figures",
    ]);
    let files = std::fs::read_dir(place.path("figures")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut drawn: Vec<String> =
        names.filter_map(|name| Some(name.strip_suffix(".svg")?.to_owned())).collect();
    let include = "\\includegraphics[width=\\linewidth]{figures/";
    let mut included: Vec<String> =
        text.split(include).skip(1).map(|rest| rest.split(".pdf}").next().unwrap().to_owned()).collect();
    drawn.sort();
    included.sort();
    assert_eq!(drawn, included);
    place.write("tables.tex", &text);
    place.write(
        "paper.tex",
        "\\documentclass{article}\n\\usepackage[T1]{fontenc}\n\\usepackage[utf8]{inputenc}\n\\usepackage{booktabs,longtable,graphicx}\n\
         \\begin{document}\n\\input{tables}\n\\end{document}\n",
    );
    let paper = Command::new("pdflatex")
        .args(["-interaction=nonstopmode", "-halt-on-error", "paper.tex"])
        .current_dir(place.path(""))
        .output();
    let Ok(paper) = paper else {
        eprintln!("skipped: there is no pdflatex here");
        return;
    };
    let log = String::from_utf8_lossy(&paper.stdout);
    assert!(paper.status.success() && place.path("paper.pdf").exists(), "{log}");
}

/// Some tables, levels and columns; what is not there is refused, with what is.
#[test]
fn tables_levels_and_columns_are_chosen() {
    let place = runs();
    let latex = |folder: &str, more: &[&str]| {
        place.prints(&[&["report", folder, "--format", "latex"], more].concat())
    };
    let text = latex("tree", &["--table", "L1 error", "--level", "group"]);
    is_well_formed(&text);
    assert!(text.contains("epsilon & releases & method & group & pays"), "{text}");
    let text = latex("tree", &["--table", "l1 error", "--column", "zone"]);
    assert!(text.contains("epsilon & releases & method & zone \\\\"), "{text}");
    assert_eq!(text.matches("\\label{tab:").count(), 1);
    // Levels as rows.
    let whole = latex("frontier", &["--table", "which is better for what is paid"]);
    let text = latex("frontier", &["--table", "which is better for what is paid", "--level", "zone"]);
    assert!(
        whole.contains("  group & ") && !text.contains("  group & ") && text.contains("  zone & "),
        "{text}"
    );
    let refuses =
        |more: &[&str], wanted: &[&str]| place.refuses(&[&["report", "tree"], more].concat(), wanted);
    refuses(&["--format", "latex", "--table", "bias"], &["--table", "`bias`", "normalised L1 error"]);
    refuses(&["--format", "latex", "--level", "state"], &["--level", "`state`", "group; zone"]);
    refuses(&["--format", "latex", "--column", "cost"], &["--column", "`cost`", "pays"]);
    refuses(&["--format", "markdown", "--column", "zone"], &["--column", "--format latex"]);
}
