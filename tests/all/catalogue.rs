//! The catalogue against what is built: all methods under all laws, and the tables of the reference.
#![allow(clippy::disallowed_methods)] // Tests open files of their own.

use congenial::catalogue::{LawKind, Method, MethodKind, NONNEGATIVE_KEY, OptionFacts, Place, Value};
use congenial::catalogue::{laws_on, methods_on};
use congenial::config::Point;
use congenial::engine::Manner;
use congenial::grid::{Cell, Plan, check};
use congenial::input::CsvTable;
use congenial::study::release::draw_all;
use congenial::study::{Document, read};
use std::path::Path;

const TABLE: &str = "a,b,count\nx,1,3\nx,2,0\ny,3,5\ny,4,2\n";

fn plan(shape: &str, invariants: &str) -> Plan {
    let text = format!(
        "name = \"n\"\nseed = 1\nreplicates = 3\n[data]\ntable = \"t.csv\"\ncount = \"count\"\n{shape}\n{invariants}\n\
         [[grid]]\nepsilon = 0.2\nlaw = \"double-geometric\"\nmethod = \"unconstrained\"\n"
    );
    let Ok(Document::Grid(mut config)) = read(Path::new("c.toml"), &text, &[]) else { panic!("a config") };
    let table = CsvTable::from_reader(Path::new("t.csv"), TABLE.as_bytes()).expect("a table");
    Plan::on(config.remove(0), table).expect("a plan")
}

/// The methods with their defaults and short chains; on trees also where releases are >= 0.
fn methods(place: Place) -> Vec<Method> {
    let with = |kind: MethodKind, nonnegative: bool| {
        kind.with(|option: &OptionFacts| match option.key {
            NONNEGATIVE_KEY => Some(Value::Flag(nonnegative)),
            _ if option.length => Some(Value::Count(2000)),
            _ => option.default(),
        })
    };
    let mut methods: Vec<Method> = Vec::new();
    for &kind in MethodKind::ALL {
        for nonnegative in [false, true] {
            let method = with(kind, nonnegative);
            if !methods.contains(&method) && (matches!(place, Place::Tree { .. }) || !nonnegative) {
                methods.push(method);
            }
        }
    }
    methods
}

/// What the fuzz of the core's kernels claims of default lengths it claims of these.
#[test]
fn chains_have_the_lengths_that_the_core_tries() {
    let length = |kind: MethodKind| kind.with(OptionFacts::default).length();
    for kind in MethodKind::ALL.iter().copied().filter(|kind| kind.is_chain()) {
        let sweeps = kind.name() == "line-gibbs";
        assert_eq!(length(kind), Some(if sweeps { 100 } else { 200_000 }), "{}", kind.name());
    }
}

/// Every method under every law is drawn, without the checks of the config, where the catalogue lists it and nowhere else.
#[test]
fn every_method_serves_the_laws_that_are_listed() {
    let total = "[[invariant]]\nkind = \"total\"\n";
    // One free dimension in each total: real laws are drawn exactly there.
    let totals = "[[invariant]]\nkind = \"partition\"\nby = \"a\"\n";
    let at_most = "[[invariant]]\nkind = \"at-least\"\nminus = \"total\"\nvalue = -1000\n";
    let places = [
        (Place::Tree { inequalities: false }, plan("levels = [\"a\", \"b\"]", "")),
        (Place::Tree { inequalities: true }, plan("levels = [\"a\", \"b\"]", at_most)),
        (Place::Table { inequalities: false }, plan("", total)),
        (
            Place::Table { inequalities: true },
            plan("", &format!("{totals}[[invariant]]\nkind = \"nonnegative\"\n")),
        ),
    ];
    let mut wrong = Vec::new();
    for (place, mut plan) in places {
        let base = plan.cells[0].clone();
        let mut listed = Vec::new();
        plan.cells.clear();
        for method in methods(place) {
            for &law in LawKind::ALL {
                let delta = law.needs_delta().then_some(1e-6);
                plan.cells.push(
                    Cell { at: Point { law, delta, ..base.at.clone() }, ..base.clone() }
                        .with(method, &plan.subject),
                );
                listed.push(method.serves(law, place));
            }
        }
        let manner = Manner { threads: 2, fail_fast: false, quiet: true, watch: None };
        let (plan, outcomes) = draw_all(plan, manner).expect("threads");
        for ((cell, listed), outcome) in plan.cells.iter().zip(listed).zip(outcomes) {
            let words = format!("{place:?}, {} {}", cell.at.method.words(), cell.at.law.name());
            match (listed, outcome.error) {
                (Ok(()), Some(error)) => wrong.push(format!("{words}: listed, but {error}")),
                (Err(_), None) => wrong.push(format!("{words}: served, but not listed")),
                (Err(why), Some(_)) if why.is_empty() => {
                    wrong.push(format!("{words}: refused without a reason"))
                }
                (Ok(()), None) if cell.at.method.keeps_equations() => {
                    let kept = outcome.rows.errors.iter().all(|row| row.invariant_ok);
                    let rows = outcome.rows.errors.iter().filter(|row| row.level == 1).count() as u64;
                    if !kept || rows != cell.replicates {
                        wrong.push(format!("{words}: {rows} rows, kept: {kept}"));
                    }
                }
                _ => {}
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What `check` refuses without the data, and what a plan refuses with them, are the same: all methods under all laws and kinds of
/// invariants, coupled or not.
#[test]
fn what_a_plan_refuses_is_seen_without_the_data() {
    let table = "a,b,count,low,none\nx,1,3,0,\nx,2,0,0,\ny,3,5,0,\ny,4,2,0,\n";
    let total = "entry = [\"a\", \"b\"]\n[[invariant]]\nkind = \"total\"\n";
    let bounds = |bounds: &str| format!("{total}[[invariant]]\nkind = \"bounds\"\n{bounds}\n");
    let shapes = [
        "levels = [\"a\", \"b\"]\n".to_owned(),
        "levels = [\"a\", \"b\"]\n[[invariant]]\nkind = \"at-least\"\nof = { a = \"x\" }\nvalue = 1\n"
            .to_owned(),
        total.to_owned(),
        format!("{total}[[invariant]]\nkind = \"nonnegative\"\n"),
        bounds("lower = 0"),
        format!("{total}[[invariant]]\nkind = \"at-least\"\nrows = [[1, 1, 0, 0]]\nvalues = [0]\n"),
    ];
    let (mut refused, mut fine) = (0, 0);
    for shape in &shapes {
        for law in LawKind::ALL {
            for kind in MethodKind::ALL {
                for (study, own) in
                    [("release", ""), ("meeting", "lag = 5\n"), ("meeting", "harmonized-groups = 2\n")]
                {
                    for nonnegative in [false, true] {
                        let delta = if law.needs_delta() { "delta = 1e-3\n" } else { "" };
                        let options = if nonnegative { ", nonnegative = true" } else { "" };
                        let text = format!(
                            "name = \"n\"\nseed = 1\nstudy = \"{study}\"\nreplicates = 3\n[data]\ntable = \"t.csv\"\ncount = \"count\"\n\
                             {shape}[[grid]]\nepsilon = 0.2\nlaw = \"{}\"\n{delta}{own}method = {{ kind = \"{}\"{options} }}\n",
                            law.name(),
                            kind.name()
                        );
                        // What the text alone refuses, both do.
                        let Ok(Document::Grid(mut config)) = read(Path::new("c.toml"), &text, &[]) else {
                            continue;
                        };
                        let seen = check(&config[0]).map_err(|e| e.to_string());
                        let data =
                            CsvTable::from_reader(Path::new("t.csv"), table.as_bytes()).expect("a table");
                        let planned = Plan::on(config.remove(0), data).map(drop).map_err(|e| e.to_string());
                        assert_eq!(seen, planned, "{text}");
                        if seen.is_err() { refused += 1 } else { fine += 1 }
                    }
                }
            }
        }
    }
    assert!(refused > 100 && fine > 100, "{refused} and {fine}");
}

/// Columns of bounds may be empty: what only bounds would rule out waits for the data.
#[test]
fn bounds_in_columns_wait_for_the_data() {
    let read = |bounds: &str, method: &str| {
        let text = format!(
            "name = \"n\"\nseed = 1\nreplicates = 3\n[data]\ntable = \"t.csv\"\ncount = \"count\"\nentry = [\"a\"]\n[[invariant]]\n\
             kind = \"total\"\n[[invariant]]\nkind = \"bounds\"\n{bounds}\n[[grid]]\nepsilon = 0.2\nlaw = \
             \"laplace\"\nmethod = \"{method}\"\n"
        );
        let Ok(Document::Grid(config)) = read(Path::new("c.toml"), &text, &[]) else { panic!("a config") };
        check(&config[0]).is_ok()
    };
    assert!(read("lower = \"low\"", "l2") && !read("lower = 0", "l2"));
    assert!(!read("lower = \"low\"", "lattice-metropolis"));
}

/// The reference's tables of laws and methods are those of the catalogue. `CONGENIAL_DOCS=write` writes them anew.
#[test]
fn the_reference_lists_the_catalogue() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference/config.md");
    let mut text = std::fs::read_to_string(&path).expect("the reference");
    let row = |cells: &[String]| format!("| {} |\n", cells.join(" | ").trim_end());
    let table = |header: &str, rows: Vec<String>| {
        let columns = header.matches('|').count() - 1;
        format!("{header}\n|{}\n{}", "---|".repeat(columns), rows.concat())
    };
    for (name, place) in
        [("trees", Place::Tree { inequalities: false }), ("tables", Place::Table { inequalities: true })]
    {
        let laws = table("| law | noise |", laws_on(place).iter().map(|cells| row(cells)).collect());
        let header = "| method | what it does | options |";
        let methods = table(header, methods_on(place).iter().map(|cells| row(cells)).collect());
        for (what, wanted) in [("laws", laws), ("methods", methods)] {
            let (from, to) = (format!("<!-- {what} of {name} -->\n"), format!("<!-- end of {what} -->"));
            let begin = text.find(&from).unwrap_or_else(|| panic!("no {from}")) + from.len();
            let end = begin + text[begin..].find(&to).expect("an end");
            if std::env::var_os("CONGENIAL_DOCS").is_some() {
                text.replace_range(begin..end, &wanted);
            }
            let end = begin + text[begin..].find(&to).expect("an end");
            assert_eq!(&text[begin..end], wanted, "CONGENIAL_DOCS=write cargo test --test all catalogue");
        }
    }
    if std::env::var_os("CONGENIAL_DOCS").is_some() {
        std::fs::write(&path, text).expect("space");
    }
}
