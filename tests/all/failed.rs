//! Cells that fail have no figures anywhere, and chains that never moved no releases.

use crate::place::Place;
use congenial::study::cells::{CellRow, Convergence, FailureRow};
use congenial::study::release::{ChainRow, ErrorRow, LevelRow};
use std::collections::HashSet;

/// One free dimension: whether a chain moves is decided by one entry.
const TABLE: &str = "r,c,n\na,x,4\na,y,6\nb,x,5\nb,y,3\n";

/// `seeds` and `methods` in TOML.
fn place(seeds: &str, methods: &str) -> Place {
    let config = format!(
        "name = \"stuck\"\n{seeds}\nreplicates = 100\nkeep-draws = true\n[data]\ntable = \"t.csv\"\ncount = \"n\"\nentry = [\"r\", \"c\"]\n\
         [[invariant]]\nkind = \"margins\"\nrows = \"r\"\ncolumns = \"c\"\n[[invariant]]\nkind = \"nonnegative\"\n\
         [[grid]]\nepsilon = 1.0\nlaw = \"double-geometric\"\nmethod = [{methods}]\n"
    );
    Place::new(&[("t.csv", TABLE), ("config.toml", &config)])
}

fn mis(steps: u64) -> String {
    format!("{{ kind = \"mis\", steps = {steps} }}")
}

/// What `run` ends with.
fn code(place: &Place, arguments: &[&str]) -> i32 {
    place.command(arguments).output().unwrap().status.code().unwrap()
}

/// Numbers of a line of CSV behind what the cell is.
fn figures(header: &csv::StringRecord, row: &csv::StringRecord) -> usize {
    let own = header.iter().position(|name| name == "epsilon").expect("which cell it is") + 1;
    let is_own = |(name, value): &(&str, &str)| *name != "failed" && !value.is_empty();
    header.iter().zip(row).skip(own).filter(is_own).count()
}

/// Three methods, of which chains of six steps fail.
fn with_short_chains() -> Place {
    place("seed = 1", &format!("\"exact\", {}, {}", mis(6), mis(20_000)))
}

/// [`with_short_chains`], run into `out`.
fn run_with_short_chains() -> Place {
    let place = with_short_chains();
    code(&place, &["run", "config.toml", "--out", "out"]);
    place
}

#[test]
fn a_failed_cell_says_why_and_gives_the_run_a_code() {
    let place = with_short_chains();
    assert_eq!(code(&place, &["run", "config.toml", "--out", "out"]), 5);
    let failed = place.rows::<FailureRow>("out");
    assert_eq!(failed.len(), 1);
    assert!(failed[0].error.contains("of 100 chains never moved in 6 steps"), "{}", failed[0].error);
}

/// No table of the run has a row of it that is a figure, and it has no draws.
#[test]
fn a_failed_cell_leaves_no_rows_and_no_draws() {
    let place = run_with_short_chains();
    let failed = place.rows::<FailureRow>("out")[0].cell;
    let rows = place.rows::<ErrorRow>("out").iter().map(|row| row.cell).collect::<Vec<_>>();
    let levels = place.rows::<LevelRow>("out").iter().map(|row| row.cell).collect::<Vec<_>>();
    let chains = place.rows::<ChainRow>("out").iter().map(|row| row.cell).collect::<Vec<_>>();
    assert_eq!((rows.len(), levels.len(), chains.len()), (200, 2, 100));
    assert!(rows.iter().chain(&levels).chain(&chains).all(|cell| *cell != failed));
    let draws = |cell| place.path(&format!("out/cells/{cell}/draws.parquet")).exists();
    let cells = place.rows::<CellRow>("out");
    assert_eq!(cells.iter().filter(|cell| draws(cell.cell)).count(), 2);
    assert!(!draws(failed));
}

/// Every table of the report.
#[test]
fn a_failed_cell_says_so_in_every_table_and_has_no_figures() {
    let place = run_with_short_chains();
    place.prints(&["report", "out", "--out", "tables"]);
    let mut tables = 0;
    for file in std::fs::read_dir(place.path("tables")).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "csv") || path.ends_with("published.csv") {
            continue;
        }
        let mut reader = csv::Reader::from_path(&path).unwrap();
        let header = reader.headers().unwrap().clone();
        let place = |name: &str| header.iter().position(|column| column == name).unwrap();
        let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
        let of: Vec<_> = rows.iter().filter(|row| &row[place("options")] == "steps=6").collect();
        assert!(!of.is_empty(), "{}", path.display());
        for row in of {
            assert!(row[place("failed")].contains("never moved"), "{}", path.display());
            // What it is and would have paid is known.
            let known = path.ends_with("cells.csv") || path.ends_with("statements.csv");
            assert!(known || figures(&header, row) == 0, "{}: {row:?}", path.display());
        }
        let others = rows.iter().filter(|row| &row[place("options")] != "steps=6");
        assert!(others.clone().count() > 0 && others.into_iter().all(|row| row[place("failed")].is_empty()));
        tables += 1;
    }
    assert!(tables >= 6, "{tables}");
}

#[test]
fn a_failed_cell_says_so_on_pages_of_every_format() {
    let place = run_with_short_chains();
    for (format, cell) in [("text", "┆"), ("markdown", "|"), ("latex", "&"), ("html", "<td")] {
        let page = place.prints(&["report", "out", "--full", "--format", format]);
        let told = page.lines().filter(|line| line.contains(cell) && line.contains("failed"));
        let told = if format == "html" { page.matches(">failed<").count() } else { told.count() };
        assert!(told >= 3, "{format}: {told}");
    }
}

#[test]
fn a_failed_cell_has_no_figures_in_json() {
    let place = run_with_short_chains();
    let json = place.prints(&["report", "out", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let rows = json["errors"].as_array().unwrap();
    assert_eq!(
        rows.iter().filter(|row| row["failed"].is_string() && row["l1_normalised"].is_null()).count(),
        1
    );
}

#[test]
fn a_failed_cell_says_so_in_a_comparison_of_methods() {
    let place = run_with_short_chains();
    let within = place.prints(&["compare", "out", "--by", "method", "--format", "csv"]);
    assert!(within.lines().any(|line| line.contains("steps=6") && line.contains(",failed,")), "{within}");
}

#[test]
fn a_chain_that_never_moved_is_no_release_and_its_cell_stands() {
    let place = place("seed = 1", &format!("\"exact\", {}", mis(120)));
    let output = place.command(&["run", "config.toml", "--out", "out"]).output().unwrap();
    let (told, warned) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(output.status.code(), Some(0), "{warned}");
    assert!(warned.contains("in 1 of them chains never moved"), "{warned}");
    assert!(told.contains("mis >= 0 †"), "{told}");
    let cells = place.rows::<CellRow>("out");
    let of: HashSet<u64> = place
        .rows::<ErrorRow>("out")
        .iter()
        .filter(|row| row.cell == cells[1].cell)
        .map(|row| row.replicate)
        .collect();
    let (moved, stuck): (Vec<_>, Vec<_>) =
        place.rows::<ChainRow>("out").into_iter().partition(|row| row.moves > 0);
    // Those that moved, and no others, are releases.
    assert!((1..=10).contains(&stuck.len()), "{}", stuck.len());
    assert_eq!(moved.iter().map(|row| row.replicate).collect::<HashSet<_>>(), of);
    assert_eq!(moved.len() + stuck.len(), 100);
    let level = place.rows::<LevelRow>("out").into_iter().find(|row| row.cell == cells[1].cell).unwrap();
    assert_eq!(level.replicates as usize, moved.len());
    assert_eq!(cells[1].converged, Convergence::NotConverged);
    let page = place.prints(&["report", "out", "--full", "--format", "markdown"]);
    assert!(page.contains(&format!("{} of 100 chains never moved in 120 steps", stuck.len())), "{page}");
    assert!(page.contains(&format!("| {} of 100 |", moved.len())), "{page}");
    // Threads, batches and the journal have no part in it.
    place.prints(&["run", "config.toml", "--out", "again", "--threads", "1"]);
    place.prints(&["compare", "out", "again", "--identical"]);
}

#[test]
fn cells_that_are_gone_have_a_code_of_their_own() {
    let place = place("seed = 1", &format!("\"exact\", {}", mis(20_000)));
    let exact = ["--set", "grid.0.method=[\"exact\"]"];
    let stuck = ["--set", "grid.0.method=[\"exact\", { kind = \"mis\", steps = 6 }]"];
    place.prints(&["run", "config.toml", "--out", "base"]);
    place.prints(&[&["run", "config.toml", "--out", "less"], &exact[..]].concat());
    assert_eq!(code(&place, &[&["run", "config.toml", "--out", "failed"], &stuck[..]].concat()), 5);
    let compared = |base: &str, candidate: &str| code(&place, &["compare", base, candidate]);
    assert_eq!(compared("base", "base"), 0);
    assert_eq!(compared("base", "less"), 7);
    assert_eq!(compared("less", "base"), 0);
    // Another cell failed, which the base had not: that of the base is gone.
    assert_eq!(compared("base", "failed"), 7);
    assert_eq!(compared("failed", "failed"), 0);
    let csv = place.command(&["compare", "base", "less", "--format", "csv"]).output().unwrap().stdout;
    let csv = String::from_utf8(csv).unwrap();
    assert!(
        csv.lines().any(|line| line.contains("steps=20000") && line.contains("only in the base")),
        "{csv}"
    );
}

/// One of several seeds failed: the cell that stands for all of them has failed, and is no sample of the others.
#[test]
fn of_several_seeds_one_that_failed_fails_them_together() {
    let place = place("seed = [1, 2, 3, 4, 5, 6]", &format!("\"exact\", {}", mis(80)));
    assert_eq!(code(&place, &["run", "config.toml", "--out", "out", "--set", "replicates=20"]), 5);
    let cells = place.rows::<CellRow>("out");
    let failed: HashSet<_> = place.rows::<FailureRow>("out").into_iter().map(|row| row.cell).collect();
    let (all, seeds): (Vec<&CellRow>, Vec<&CellRow>) =
        cells.iter().filter(|cell| cell.options == "steps=80").partition(|cell| cell.seed.is_none());
    let of_seeds = seeds.iter().filter(|cell| failed.contains(&cell.cell)).count();
    assert!((1..6).contains(&of_seeds), "{of_seeds}");
    assert_eq!(all.len(), 1);
    assert!(failed.contains(&all[0].cell));
    let levels = place.rows::<LevelRow>("out");
    assert!(levels.iter().all(|row| !failed.contains(&row.cell)));
    assert_eq!(levels.len(), 7 + 6 - of_seeds);
    let page = place.prints(&["report", "out", "--format", "markdown"]);
    assert!(page.contains("| mis >= 0 | failed |") || page.contains("failed |"), "{page}");
    let compared = place.command(&["compare", "out", "out", "--format", "csv"]).output().unwrap();
    let text = String::from_utf8(compared.stdout).unwrap();
    assert!(!text.contains("steps=80"), "{text}");
}

/// Below a known 0 there is nothing to choose: releases that are not negative are the zeros, by whichever method.
#[test]
fn below_a_known_zero_chains_release_the_zeros() {
    let config = "name = \"zeros\"\nseed = 1\nreplicates = 20\n[data]\ntable = \"t.csv\"\nlevels = [\"a\", \"b\"]\ncount = \"n\"\n\
                  known = [\"total\"]\n[[grid]]\nepsilon = 0.5\nlaw = \"double-geometric\"\n\
                  method = [{ kind = \"exact\", nonnegative = true }, { kind = \"line-gibbs\", sweeps = 9, nonnegative = true }, \
                  { kind = \"hierarchical-mh\", steps = 9, nonnegative = true }]\n";
    let place = Place::new(&[("t.csv", "a,b,n\nx,1,0\nx,2,0\ny,3,0\n"), ("config.toml", config)]);
    place.prints(&["run", "config.toml", "--out", "out"]);
    let rows = place.rows::<ErrorRow>("out");
    assert_eq!(rows.len(), 3 * 3 * 20);
    assert!(rows.iter().all(|row| row.l1 == 0.0 && row.invariant_ok));
}
