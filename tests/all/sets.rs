//! Several data sets and several master seeds of one config: what is drawn is what configs of one draw, and summaries are over all.

use crate::place::{MARGINS, Place, TABLE, TREE, partition};
use congenial::diagnostics::Moments;
use congenial::store::Run;
use congenial::study::cells::{CellRow, FailureRow};
use congenial::study::meeting::{PairRow, TimesRow};
use congenial::study::release::{EntryRow, ErrorRow, LevelRow, MixingRow, NodeRow, QueryRow};
use congenial::table::Key;
use std::collections::HashMap;

/// Another tree, with another level and other counts.
const DEEP: &str = "zone,part,group,count\na11,a1,a,5\na12,a1,a,9\nb21,b2,b,80\nb11,b1,b,3\n";

const METHODS: &str = "[[grid]]\nepsilon = [0.5, 2.0]\nlaw = \"double-geometric\"\nmethod = [\"unconstrained\", \"exact\", \"topdown\"]\n";

fn head(seeds: &str) -> String {
    format!("name = \"sets\"\n{seeds}\nreplicates = 40\n")
}

fn data(name: &str, table: &str, levels: &[&str]) -> String {
    format!("[[data]]\nname = \"{name}\"\ntable = \"{table}\"\nlevels = {levels:?}\ncount = \"count\"\n")
}

fn trees(seeds: &str) -> String {
    head(seeds)
        + &data("flat", "tree.csv", &["group", "zone"])
        + &data("deep", "deep.csv", &["group", "part", "zone"])
}

fn place(config: &str) -> Place {
    Place::new(&[("tree.csv", TREE), ("deep.csv", DEEP), ("table.csv", TABLE), ("config.toml", config)])
}

/// Errors by replicate and level of a cell, whatever its key.
fn errors(place: &Place, folder: &str, cell: Key) -> Vec<(u32, u64, f64, f64, f64)> {
    let rows: Vec<ErrorRow> = place.rows(folder);
    let here = rows.into_iter().filter(|row| row.cell == cell);
    here.map(|row| (row.level, row.replicate, row.l1, row.l2, row.bias)).collect()
}

/// Each cell of a data set and a seed has the rows that a config of that data set and seed alone has; for any number of
/// threads, in shards, from the resolved config.
#[test]
fn parts_are_configs_of_their_own() {
    let place = place(&(trees("seed = [7, 3]") + METHODS));
    place.prints(&["run", "config.toml", "--out", "all", "--threads", "1"]);
    place.prints(&["run", "config.toml", "--out", "two", "--threads", "2"]);
    place.prints(&["compare", "all", "two", "--identical"]);
    for shard in ["1/2", "2/2"] {
        place.prints(&["run", "config.toml", "--out", "merged", "--shard", shard]);
    }
    place.prints(&["merge", "config.toml", "--out", "merged"]);
    place.prints(&["compare", "all", "merged", "--identical"]);
    place.prints(&["run", "all/config.resolved.toml", "--out", "again"]);
    place.prints(&["compare", "all", "again", "--identical"]);
    let cells: Vec<CellRow> = place.rows("all");
    assert_eq!(cells.len(), 2 * 6 * 3);
    for (name, table, levels) in
        [("flat", "tree.csv", &["group", "zone"][..]), ("deep", "deep.csv", &["group", "part", "zone"][..])]
    {
        for seed in [7, 3] {
            let one = head(&format!("seed = {seed}")) + &data(name, table, levels) + METHODS;
            let out = format!("{name}-{seed}");
            place.write("one.toml", &one);
            place.prints(&["run", "one.toml", "--out", &out]);
            let ones: Vec<CellRow> = place.rows(&out);
            let mine: Vec<&CellRow> =
                cells.iter().filter(|cell| cell.data == name && cell.seed == Some(seed)).collect();
            assert_eq!((ones.len(), mine.len()), (6, 6));
            for (one, mine) in ones.iter().zip(mine) {
                assert_eq!((one.method, one.epsilon, one.seed), (mine.method, mine.epsilon, mine.seed));
                // The key that it has alone is that of the cell that stands for all seeds.
                assert!(mine.pooled == Some(one.cell) && mine.cell != one.cell && one.pooled.is_none());
                assert_eq!(errors(&place, &out, one.cell), errors(&place, "all", mine.cell));
            }
        }
    }
}

/// Summaries of the cells that stand for all seeds: means and standard errors over seeds × replicates, computed from the rows.
#[test]
fn seeds_are_pooled() {
    let place = place(&(trees("seeds = 3") + METHODS));
    place.prints(&["run", "config.toml", "--out", "out"]);
    let cells = place.cells("out");
    let mut sums: HashMap<(Key, u32), Moments> = HashMap::new();
    for row in place.rows::<ErrorRow>("out") {
        let cell = &cells[&row.cell];
        // Both trees have so many nodes.
        sums.entry((cell.pooled.unwrap(), row.level)).or_default().push(row.l1 / 10.0);
    }
    let levels: Vec<LevelRow> = place.rows("out");
    let pooled: Vec<&LevelRow> = levels.iter().filter(|row| cells[&row.cell].seed.is_none()).collect();
    assert_eq!(pooled.len(), 6 * (3 + 4));
    for row in pooled {
        let sum = &sums[&(row.cell, row.level)];
        assert_eq!((row.replicates, sum.count()), (120, 120));
        let estimate = sum.estimate();
        assert!((row.l1_normalised.mean - estimate.mean).abs() < 1e-12, "{row:?} {estimate:?}");
        let error = row.l1_normalised.standard_error;
        assert!((error - estimate.standard_error).abs() < 1e-12, "{row:?} {estimate:?}");
    }
    // Side by side, pooled; each seed by itself when that is asked for.
    let page = place.prints(&["report", "out"]);
    assert!(page.contains("sets: data sets side by side") && page.contains("120 replicates"), "{page}");
    assert!(page.contains("sets, deep: normalised L1 error") && !page.contains("seed 2"), "{page}");
    let page = place.prints(&["report", "out", "--by-seed", "--full"]);
    assert!(
        page.contains("sets, deep, seed 2: normalised L1 error") && page.contains("40 replicates"),
        "{page}"
    );
    let csv = place.prints(&["report", "out", "--format", "csv"]);
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 1 + 6 * (3 + 4));
    assert!(
        lines[0].starts_with("source,run,data,seed,law") && lines[1].contains("\"sets, flat\",flat,,"),
        "{csv}"
    );
    assert_eq!(
        place.prints(&["report", "out", "--by-seed", "--format", "csv"]).lines().count(),
        1 + 3 * 6 * 7
    );
    for format in ["html", "json", "markdown", "latex"] {
        assert!(place.prints(&["report", "out", "--format", format]).contains("deep"), "{format}");
    }
}

/// All seeds together are compared with a run of one, and with another of several; cells of one run are compared by
/// method within a data set.
#[test]
fn all_seeds_are_compared_together() {
    let place = place(&(trees("seeds = 30") + METHODS));
    place.prints(&["run", "config.toml", "--out", "all"]);
    place.write("one.toml", &(trees("seed = 77") + METHODS));
    place.prints(&["run", "one.toml", "--out", "one", "--set", "replicates=1200"]);
    let json = place.prints(&["compare", "all", "one", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let figures = json["figures"].as_array().unwrap();
    assert_eq!(figures.len(), 6 * (3 + 4) * 3);
    assert!(json["only_base"].as_array().unwrap().is_empty(), "{json}");
    // At 0.05 for all together; that one of them is wrong has seen this seed pass.
    assert!(
        figures.iter().all(|figure| !figure["verdict"].as_str().unwrap().starts_with("changed")),
        "{json}"
    );
    let within = place.prints(&["compare", "all", "--by", "method", "--format", "json"]);
    let within: serde_json::Value = serde_json::from_str(&within).unwrap();
    assert_eq!(within["figures"].as_array().unwrap().len(), 2 * 2 * (3 + 4) * 3);
}

/// Chains, entries and kept nodes of several seeds; tables.
#[test]
fn tables_and_chains_have_seeds_too() {
    let table = "[data]\ntable = \"table.csv\"\ncount = \"count\"\nentry = [\"row\", \"column\"]\n";
    let grid = "[[grid]]\nepsilon = 0.5\nlaw = \"l1\"\nrecords = 8\nmethod = [{ kind = \"line-gibbs\", sweeps = 20 }, \"exact\"]\n";
    let place = place(&(head("seed = [1, 2]") + table + MARGINS + grid));
    place.prints(&["run", "config.toml", "--out", "out"]);
    let cells = place.cells("out");
    let of = |key: Key| cells[&key].seed;
    let entries: Vec<EntryRow> = place.rows("out");
    assert_eq!(entries.len(), 2 * 3 * 6);
    let most = entries.iter().filter(|row| of(row.cell).is_none()).map(|row| row.draws).max().unwrap();
    assert_eq!(
        most,
        2 * entries.iter().filter(|row| of(row.cell).is_some()).map(|row| row.draws).max().unwrap()
    );
    let mixing: Vec<MixingRow> = place.rows("out");
    assert_eq!(mixing.len(), 3);
    let chains = |row: &&MixingRow| of(row.cell).is_none();
    assert_eq!(mixing.iter().find(chains).unwrap().chains, 80);
    place.prints(&["report", "out", "--full"]);
}

/// Coupled pairs of several seeds are one sample.
#[test]
fn meetings_are_pooled() {
    let table = "[data]\ntable = \"table.csv\"\ncount = \"count\"\nentry = [\"row\", \"column\"]\n";
    let grid = "[[grid]]\nepsilon = 0.5\nlaw = \"l1\"\nmethod = \"line-gibbs\"\nlag = 20\nmarginal-chains = 50\nmarginal-steps = 10\n";
    let config = head("seed = [1, 2]").replace("name", "study = \"meeting\"\nname")
        + table
        + &partition(&["row"])
        + grid;
    let place = place(&config);
    place.prints(&["run", "config.toml", "--out", "out"]);
    let cells = place.cells("out");
    let pairs: Vec<PairRow> = place.rows("out");
    assert_eq!(pairs.len(), 80);
    assert!(pairs.iter().all(|pair| cells[&pair.cell].seed.is_some()));
    let times: Vec<TimesRow> = place.rows("out");
    let all = times.iter().find(|row| cells[&row.cell].seed.is_none()).unwrap();
    assert_eq!((times.len(), all.pairs), (3, 80));
    let mut taus: Vec<u64> = pairs.iter().map(|pair| pair.tau.unwrap() - 20).collect();
    taus.sort_unstable();
    assert!((taus[39]..=taus[40]).contains(&all.median.unwrap()), "{all:?} {taus:?}");
    place.prints(&["report", "out", "--full"]);
}

/// What stands for one data set is read with that alone: names of levels, queries, kept nodes.
#[test]
fn names_belong_to_their_data_set() {
    let config = trees("seeds = 2").replace("replicates", "keep-draws = [\"group\"]\nreplicates")
        + METHODS
        + "[report]\nqueries = [[\"group\"]]\n";
    let place = place(&config);
    place.prints(&["run", "config.toml", "--out", "out"]);
    let nodes: Vec<NodeRow> = place.rows("out");
    assert_eq!(nodes.iter().filter(|row| row.data == "flat").count(), 3);
    assert_eq!(nodes.iter().filter(|row| row.data == "deep").count(), 2);
    assert_eq!(place.rows::<QueryRow>("out").len(), 2);
    let run = Run::open(&place.path("out")).unwrap();
    assert_eq!(run.manifest.of_data("deep").levels, ["total", "group", "part", "zone"]);
    assert_eq!(run.manifest.of_data("flat").levels, ["total", "group", "zone"]);
    assert_eq!((run.manifest.seeds.len(), run.manifest.data_sets.len()), (2, 2));
    let page = place.prints(&["report", "out", "--full"]);
    assert!(page.contains("part") && page.contains("group"), "{page}");
}

/// A cell that fails for one seed fails for all of them together; the others stay.
#[test]
fn failures_are_told_once() {
    // Too large to be drawn exactly.
    let table = "[data]\ntable = \"large.csv\"\ncount = \"count\"\nentry = [\"row\", \"column\"]\n";
    let grid = "[[grid]]\nepsilon = 0.05\nlaw = \"l1\"\nmethod = [\"exact\", \"l2\"]\n";
    let place =
        place(&(head("seeds = 2") + table + MARGINS + &grid.replace("\"l1\"", "\"double-geometric\"")));
    place.write("large.csv", &crate::place::large_table());
    let output = place.command(&["run", "config.toml", "--out", "out"]).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr).replace("\n  │ ", " ");
    assert_eq!(output.status.code(), Some(5), "{message}");
    assert!(message.contains("2 of 4 cells failed"), "{message}");
    let cells = place.cells("out");
    let failed: Vec<FailureRow> = place.rows("out");
    assert_eq!(failed.iter().filter(|row| cells[&row.cell].seed.is_none()).count(), 1);
    let page = place.prints(&["report", "out"]);
    assert_eq!(page.matches("sets: exact").count(), 1, "{page}");
}

/// Axes of seeds and data sets: parts of a block, together with others, excluded.
#[test]
fn seeds_and_data_sets_are_axes() {
    let cells = |blocks: &str| {
        let place = place(&(trees("seed = [1, 2]") + blocks));
        let json = place.prints(&["plan", "config.toml", "--json"]);
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        let words = |cell: &serde_json::Value| {
            format!("{} {} {}", cell["data"].as_str().unwrap(), cell["seed"], cell["epsilon"])
        };
        json["cells"].as_array().unwrap().iter().map(words).collect::<Vec<_>>()
    };
    let block = "[[grid]]\nlaw = \"laplace\"\nmethod = \"l2\"\nepsilon = [0.5, 2.0]\n";
    let zipped = cells(&format!("{block}zip = [\"data\", \"epsilon\"]\n"));
    assert_eq!(zipped, ["flat 1 0.5", "flat 2 0.5", "deep 1 2.0", "deep 2 2.0"]);
    let zipped = cells(&format!(
        "{block}zip = [\"seed\", \"epsilon\"]\ndata = \"flat\"\n{block}data = \"deep\"\nseed = 2\n"
    ));
    assert_eq!(zipped, ["flat 1 0.5", "flat 2 2.0", "deep 2 0.5", "deep 2 2.0"]);
    let meetings = "study = \"meeting\"\n".to_owned()
        + &trees("seed = [1, 2]")
        + "[[grid]]\nlaw = \"double-geometric\"\nmethod = \"line-gibbs\"\nepsilon = 1.0\nlag = [5, 7]\n[[exclude]]\nlag = 5\nseed = 1\n";
    let place = place(&meetings);
    let json = place.prints(&["plan", "config.toml", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let lags =
        json["cells"].as_array().unwrap().iter().map(|cell| format!("{} {}", cell["seed"], cell["lag"]));
    assert_eq!(lags.collect::<Vec<_>>(), ["2 5", "1 7", "2 7"].repeat(2));
    place.write("config.toml", &(trees("seed = 1") + METHODS + "[[exclude]]\nlag = 5\n"));
    place.refuses(&["plan", "config.toml"], &["exclude.lag: not used", "meeting"]);
    let left = cells(&format!("{block}[[exclude]]\nseed = 2\ndata = \"flat\"\n[[exclude]]\nepsilon = 0.5\n"));
    assert_eq!(left, ["flat 1 2.0", "deep 1 2.0", "deep 2 2.0"]);
}

#[test]
fn bad_seeds_and_data_sets_are_refused() {
    let place = place("");
    let refused = |config: &str, wanted: &[&str]| {
        place.write("config.toml", config);
        place.refuses(&["run", "config.toml", "--out", "out"], wanted);
        assert!(!place.path("out").exists() && !place.path("out.partial").exists());
    };
    let with = |seeds: &str, change: (&str, &str)| (trees(seeds) + METHODS).replace(change.0, change.1);
    let same = ("", "");
    refused(&with("", same), &["seed: missing"]);
    refused(&with("seed = 1\nseeds = 2", same), &["seeds: not used beside `seed`"]);
    refused(&with("seeds = 0", same), &["seeds: got 0"]);
    refused(&with("seeds = 1000000", same), &["seeds: got 1000000", "at most"]);
    refused(&with("seed = [1, 1]", same), &["seed: got 1 twice"]);
    refused(&with("seed = []", same), &["seed: got an empty axis"]);
    refused(&with("seed = 1", ("name = \"deep\"\n", "")), &["data.name: missing", "for each of several"]);
    refused(&with("seed = 1", ("\"deep\"", "\"flat\"")), &["data.name: got `flat` twice"]);
    refused(&with("seed = 1", ("\"deep\"", "\"a/b\"")), &["data.name: got `a/b`"]);
    refused(&with("seed = 1", ("[[grid]]", "[[grid]]\ndata = \"flut\"")), &["data: got `flut`", "flat"]);
    refused(&with("seed = 1", ("[[grid]]", "[[grid]]\nseed = 2")), &["seed: got 2"]);
    refused(
        &(with("seeds = 2", same) + "seed = 1\n" + METHODS + "seed = 2\n"),
        &["is defined twice, with other seeds"],
    );
    refused(
        &(with("seed = 1", same) + "[[exclude]]\ndata = \"deep\"\n"),
        &["of the data set `deep` is excluded"],
    );
    refused(&(with("seed = 1", same) + "[report]\npublished = \"x.csv\"\n"), &["report.published: not used"]);
    place.write("copy.csv", TREE);
    let copies = head("seed = 1")
        + &data("a", "tree.csv", &["group", "zone"])
        + &data("b", "copy.csv", &["group", "zone"]);
    refused(&(copies + METHODS), &["`a` and `b` hold the same counts"]);
    let chains = "[[grid]]\nepsilon = 1.0\nlaw = \"double-geometric\"\nmethod = \
        { kind = \"line-gibbs\", sweeps = 3 }\nseed = 1\n[[grid]]\nepsilon = 1.0\n\
                  law = \"double-geometric\"\nmethod = { kind = \"line-gibbs\", sweeps = 4 }\n[certify]\npairs = 4\nlag = 5\n";
    refused(&(trees("seeds = 2") + chains), &["for one chain of `line-gibbs`"]);
    let privacy = "[[grid]]\nepsilon = 1.0\nlaw = \"double-geometric\"\nmethod = \"exact\"\n";
    let several = "study = \"privacy\"\nname = \"p\"\nseeds = 2\n".to_owned()
        + &data("a", "tree.csv", &["group", "zone"])
        + privacy;
    refused(&several, &["this study draws nothing"]);
}
