//! What is summed up from rows by replicate is what `congenial report --out` says.
#![allow(clippy::disallowed_methods)] // Tests open files of their own.

use congenial::engine::Manner;
use congenial::failure::Result;
use congenial::making::{self, Hearer, Making};
use congenial::report::{Report, write_files};
use congenial::store::{Earlier, Run};
use congenial::study;
use congenial::study::cells::CellRow;
use congenial::study::meeting::PairRow;
use congenial::study::release::{ErrorRow, LevelRow};
use congenial_frames::{Runs, l1_error};
use polars::prelude::*;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const TREE: &str = "zone,group,count\na1,a,5\na2,a,0\nb1,b,120\nb2,b,3\nb3,b,44\nc1,c,7\n";
/// Another tree, with a level more.
const DEEP: &str = "zone,part,group,count\na11,a1,a,5\na12,a1,a,9\nb21,b2,b,80\nb11,b1,b,3\n";
const TABLE: &str = "row,column,count\na,x,5\na,y,1\nb,x,12\nb,y,3\nc,x,4\nc,y,7\n";
/// One free dimension: whether a chain moves is decided by one entry.
const SMALL: &str = "r,c,n\na,x,4\na,y,6\nb,x,5\nb,y,3\n";
/// Two of them stand in the error table.
const PUBLISHED: &str = "source,name,table,figure,value,se,law,method,epsilon,level\n\
                         somebody,\"=theirs, rounded\",l1_error,l1_normalised,0.25,,double-geometric|laplace,exact,0.5,2\n\
                         somebody,theirs,l1_error,l1_normalised,0.5,,laplace,l2,2,3\n\
                         somebody,with an error,l1_error,l1_normalised,0.5,0.1,laplace,l2,2,3\n";

const ON_TREE: &str = "[data]\ntable = \"tree.csv\"\nlevels = [\"group\", \"zone\"]\ncount = \"count\"\n";
const ON_TABLE: &str = "[data]\ntable = \"table.csv\"\ncount = \"count\"\nentry = [\"row\", \"column\"]\n\
                        [[invariant]]\nkind = \"margins\"\nrows = \"row\"\ncolumns = \"column\"\n";
const ON_SMALL: &str = "[data]\ntable = \"small.csv\"\ncount = \"n\"\nentry = [\"r\", \"c\"]\n\
                        [[invariant]]\nkind = \"margins\"\nrows = \"r\"\ncolumns = \"c\"\n[[invariant]]\nkind = \"nonnegative\"\n";
const GRID: &str = "[[grid]]\nepsilon = [0.5, 2.0]\nlaw = [\"double-geometric\", \"laplace\"]\n\
                    method = [\"unconstrained\", \"exact\", \"l2\", \"topdown\"]\n";

/// Runs of every kind that has one of the tables, by their folders.
struct Place(TempDir);

struct Silent;

impl Hearer for Silent {
    fn hear(&self, _: &str) {}

    fn claimed(&self, _: &str, _: usize) -> Result<()> {
        Ok(())
    }
}

impl Place {
    fn new() -> Self {
        let place = Self(TempDir::new().unwrap());
        for (name, text) in [
            ("tree.csv", TREE),
            ("deep.csv", DEEP),
            ("table.csv", TABLE),
            ("small.csv", SMALL),
            ("published.csv", PUBLISHED),
        ] {
            std::fs::write(place.path(name), text).unwrap();
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Draws a run into a folder.
    fn run(&self, folder: &str, config: &str) -> PathBuf {
        let (file, out) = (self.path(&format!("{folder}.toml")), self.path(folder));
        std::fs::write(&file, config).unwrap();
        let plan = study::plan(study::load(&file, &[]).unwrap()).unwrap();
        let manner = Manner { threads: 2, fail_fast: false, quiet: true, watch: None };
        let making = Making { out: Some(&out), earlier: Earlier::Refused, manner, merged: None };
        making::run(&making, &*plan, &Silent).unwrap();
        out
    }

    /// Releases on a tree, with published figures, options that CSV quotes, and a chain; twice under one name.
    fn trees(&self) -> [PathBuf; 2] {
        let more = "[[grid]]\nepsilon = 1.0\nlaw = \"double-geometric\"\nmethod = [{ kind = \"exact\", nonnegative = true }, \
                    { kind = \"line-gibbs\", sweeps = 20, start = \"free-noise\" }]\n\
                    [[grid]]\nepsilon = 1.0\ndelta = 1e-6\nlaw = \"discrete-gaussian\"\nsplit = [\"even\", [0.2, \
                    0.3, 0.5]]\nmethod = \"bluedown\"\n";
        let config = |seed, report| {
            format!("name = \"trees\"\nseed = {seed}\nreplicates = 50\n{ON_TREE}{report}{GRID}{more}")
        };
        let report = "[report]\npublished = \"published.csv\"\n";
        [self.run("trees", &config(1, report)), self.run("again", &config(2, ""))]
    }

    /// Two data sets, two seeds.
    fn sets(&self) -> PathBuf {
        let data = |name: &str, table: &str, levels: &[&str]| {
            format!(
                "[[data]]\nname = \"{name}\"\ntable = \"{table}\"\nlevels = {levels:?}\ncount = \"count\"\n"
            )
        };
        let (flat, deep) = (
            data("flat", "tree.csv", &["group", "zone"]),
            data("deep", "deep.csv", &["group", "part", "zone"]),
        );
        self.run("sets", &format!("name = \"sets\"\nseed = [7, 3]\nreplicates = 40\n{flat}{deep}{GRID}"))
    }

    /// A cell of two fails: its chains are too short. The other has one replicate, and no standard error.
    fn failing(&self) -> PathBuf {
        let methods = "method = [{ kind = \"mis\", steps = 6 }, \"exact\"]";
        let grid = format!(
            "[[grid]]\nepsilon = 1.0\nlaw = \"double-geometric\"\n{methods}\n[[grid]]\nepsilon = 2.0\nlaw = \
                \"laplace\"\nmethod = \"unconstrained\"\nreplicates = 1\n"
        );
        self.run("failing", &format!("name = \"failing\"\nseed = 1\nreplicates = 100\n{ON_SMALL}{grid}"))
    }

    fn frontier(&self) -> PathBuf {
        let grid = "[[grid]]\npaid = [0.5, 2.0]\nlaw = \"double-geometric\"\nmethod = [\"exact\", \"l2\"]\n";
        let head =
            "name = \"frontier\"\nstudy = \"frontier\"\nchange = \"moved\"\nseed = 3\nreplicates = 20\n";
        self.run("frontier", &format!("{head}{ON_TREE}{grid}"))
    }

    /// Pairs that meet and pairs that are cut short, of several laws, chains, lags and seeds; a budget so large that
    /// no delta but 0 is below 1; what conditioning on inequalities pays, known and unknown.
    fn meetings(&self) -> [PathBuf; 4] {
        let head = |name: &str, seed: &str| {
            format!("name = \"{name}\"\nstudy = \"meeting\"\nseed = {seed}\nreplicates = 40\n")
        };
        let chains = "[[grid]]\nepsilon = [0.25, 3.0]\nlaw = [\"l1\", \"l2\"]\nmethod = \"line-gibbs\"\nlag = [5, 40]\n\
                      [[grid]]\nepsilon = 900.0\nlaw = \"l1\"\nmethod = \"line-gibbs\"\nlag = 3\n\
                      [[grid]]\nepsilon = 0.25\nlaw = \"l1\"\nmethod = \
                      { kind = \"lattice-metropolis\", a = 0.36787944117144233 }\nlag = 10\nmax-steps = 60\n\
                      [[grid]]\nepsilon = 0.5\nlaw = \"double-geometric\"\nmethod = \"mis\"\nlag = 30\n";
        let seeds = "[[grid]]\nepsilon = 0.5\nlaw = \"l1\"\nmethod = \"line-gibbs\"\nlag = 20\n";
        let bounded = "[[invariant]]\nkind = \"nonnegative\"\n\
                       [[grid]]\nepsilon = 0.5\nlaw = \"double-geometric\"\nmethod = \"line-gibbs\"\nlag = 10\n";
        let unknown = "[[grid]]\nepsilon = 0.5\ndelta = 1e-6\nlaw = \"discrete-gaussian\"\n\
                       method = { kind = \"line-gibbs\", nonnegative = true }\nlag = 10\n";
        [
            ("meetings", "11", ON_TABLE, chains),
            ("pooled", "[1, 2]", ON_TABLE, seeds),
            ("bounded", "5", ON_TABLE, bounded),
            ("unknown", "6", ON_TREE, unknown),
        ]
        .map(|(name, seed, data, grid)| self.run(name, &format!("{}{data}{grid}", head(name, seed))))
    }

    /// What the report writes and what the command here writes, table by table.
    fn compare(&self, folders: &[PathBuf], wanted: &[&str]) {
        let [report, frames] = ["report", "frames"].map(|name| self.path(&format!("tables/{name}")));
        for folder in [&report, &frames] {
            let _ = std::fs::remove_dir_all(folder);
            std::fs::create_dir_all(folder).unwrap();
        }
        write_files(&Report::open(folders).unwrap(), &report, |_| ()).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_congenial-frames"));
        let output = command.args(folders).arg("--out").arg(&frames).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        for stem in ["l1_error", "tv_bound"] {
            let file = format!("{stem}.csv");
            assert_eq!(report.join(&file).exists(), wanted.contains(&stem), "{file}");
            assert_eq!(frames.join(&file).exists(), wanted.contains(&stem), "{file}");
            if wanted.contains(&stem) {
                let (theirs, ours) = (Csv::read(&report.join(&file)), Csv::read(&frames.join(&file)));
                ours.is(&theirs, stem);
                ours.is_parquet(&frames.join(format!("{stem}.parquet")));
            }
        }
    }
}

/// A file of values.
struct Csv {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Csv {
    fn read(path: &Path) -> Self {
        let mut reader = csv::Reader::from_path(path).unwrap();
        let texts = |row: &csv::StringRecord| row.iter().map(str::to_owned).collect();
        let header = texts(reader.headers().unwrap());
        Self { header, rows: reader.records().map(|row| texts(&row.unwrap())).collect() }
    }

    fn field<'a>(&self, row: &'a [String], name: &str) -> &'a str {
        self.header.iter().position(|column| column == name).map_or("", |place| &row[place])
    }

    /// Asserts that two tables have the same columns and rows in the same order, with the same texts, and numbers that are
    /// the same up to rounding.
    fn is(&self, theirs: &Self, table: &str) {
        assert_eq!(self.header, theirs.header, "{table}");
        assert_eq!(self.rows.len(), theirs.rows.len(), "{table}");
        let mut figures = 0;
        for (i, (ours, theirs_row)) in self.rows.iter().zip(&theirs.rows).enumerate() {
            for (name, (a, b)) in self.header.iter().zip(ours.iter().zip(theirs_row)) {
                let within = theirs.tolerance(theirs_row, name);
                let numbers = a.parse::<f64>().ok().zip(b.parse::<f64>().ok());
                let equal =
                    a == b || numbers.zip(within).is_some_and(|((a, b), within)| (a - b).abs() <= within);
                assert!(equal, "{table}, row {i}, {name}: {a}, want {b} within {within:?}");
                figures += u64::from(within.is_some() && !b.is_empty());
            }
        }
        assert!(figures > 0, "{table}");
    }

    /// How far a number may be off that is a mean over n values x, or its error; `None` of what must be the same text.
    ///
    /// A sum of n values in any order, or a mean that is updated, is off by at most n u max|x| to first order, where
    /// u is 2^-53 and max|x| at most |mean| + sd sqrt(n - 1); so is a standard deviation, by the same times a small
    /// constant, and a standard error by less. Two such numbers are compared, behind a division and a product: 8 in
    /// place of 2.
    fn tolerance(&self, row: &[String], name: &str) -> Option<f64> {
        let mean = ["_se", "_sd", "_high"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
        let error = format!("{mean}_se");
        if !self.header.contains(&error) {
            return None;
        }
        let number = |name: &str| self.field(row, name).parse::<f64>().unwrap_or(0.0).abs();
        let n = number("replicates").max(number("pairs"));
        let largest = number(mean).max(number(name)) + number(&error) * n;
        Some(8.0 * n * f64::EPSILON / 2.0 * largest)
    }

    /// What stands in the parquet file beside it is the same.
    fn is_parquet(&self, path: &Path) {
        let read = ParquetReader::new(std::fs::File::open(path).unwrap()).finish().unwrap();
        assert!(read.get_column_names().into_iter().eq(&self.header));
        assert_eq!(read.height(), self.rows.len());
        for (name, column) in self.header.iter().zip(read.columns()) {
            assert!(!matches!(column.dtype(), DataType::Null), "{name}");
            let there = self.rows.iter().filter(|row| !self.field(row, name).is_empty()).count();
            // An empty text is nothing in CSV.
            assert!(
                there == column.len() - column.null_count() || column.dtype() == &DataType::String,
                "{name}"
            );
        }
    }
}

/// All studies that have one of the tables, each run alone and all at once, in an order of their own.
#[test]
fn tables_are_those_of_the_report() {
    let place = Place::new();
    let [trees, again] = place.trees();
    let (sets, failing, frontier) = (place.sets(), place.failing(), place.frontier());
    let [meetings, pooled, bounded, unknown] = place.meetings();
    // Every case is there.
    let failed = |folder: &Path| Run::open(folder).unwrap().manifest.failed_cells;
    assert_eq!([&trees, &failing, &meetings].map(|folder| failed(folder)), [0, 1, 0]);
    let pairs: Vec<PairRow> = Run::open(&meetings).unwrap().all().unwrap();
    assert!(pairs.iter().any(|pair| pair.censored) && pairs.iter().any(|pair| !pair.censored));
    let gamma = |folder: &Path| Run::open(folder).unwrap().all::<CellRow>().unwrap()[0].gamma;
    assert!(gamma(&bounded).is_some_and(|gamma| gamma > 0.0) && gamma(&unknown).is_none());
    for alone in [&trees, &sets, &failing, &frontier] {
        place.compare(std::slice::from_ref(alone), &["l1_error"]);
    }
    for alone in [&meetings, &pooled, &bounded, &unknown] {
        place.compare(std::slice::from_ref(alone), &["tv_bound"]);
    }
    let all = [failing, meetings, trees.clone(), sets, again, pooled, bounded, unknown];
    place.compare(&all, &["l1_error", "tv_bound"]);
    place.compare(&[frontier, trees], &["l1_error"]);
}

/// Rows have what their cell is, and the name of their level; of several seeds those of each.
#[test]
fn rows_have_their_cells() {
    let place = Place::new();
    let ([trees, again], sets) = (place.trees(), place.sets());
    let folders = [trees, sets, again];
    let errors = Runs::open(&folders).unwrap().rows::<ErrorRow>().unwrap().collect().unwrap();
    let (mut wanted, mut all, mut names) = (0, 0, HashMap::new());
    for folder in &folders {
        let run = Run::open(folder).unwrap();
        let cells: Vec<CellRow> = run.all().unwrap();
        let rows: Vec<ErrorRow> = run.all().unwrap();
        (wanted, all) = (wanted + rows.len(), all + cells.len());
        for cell in cells {
            let manifest = run.manifest.of_data(&cell.data);
            names.insert(cell.cell.to_string(), (cell, manifest.levels));
        }
    }
    assert_eq!(errors.height(), wanted);
    let text = |name: &str| errors.column(name).unwrap().str().unwrap().clone();
    let (cell, law, method, level_name) = (text("cell"), text("law"), text("method"), text("level_name"));
    let epsilon = errors.column("epsilon").unwrap().f64().unwrap().clone();
    let level = errors.column("level").unwrap().u32().unwrap().clone();
    for i in 0..wanted {
        let (row, levels) = &names[cell.get(i).unwrap()];
        assert_eq!((law.get(i), method.get(i)), (Some(row.law.name()), Some(row.method.name())));
        assert_eq!(epsilon.get(i), Some(row.epsilon));
        assert_eq!(level_name.get(i).unwrap(), levels[level.get(i).unwrap() as usize - 1]);
    }
    let runs: Vec<String> = text("run").iter().flatten().map(str::to_owned).collect();
    let [first, last] = [runs.first().unwrap(), runs.last().unwrap()];
    assert!(first == "trees" && last.starts_with("trees-") && runs.iter().any(|run| run == "sets, deep"));
    assert_eq!(errors.column("seed").unwrap().as_materialized_series().unique().unwrap().len(), 4);
    // Of two columns of one name each is there.
    let levels = Runs::open(&folders).unwrap().rows::<LevelRow>().unwrap().collect().unwrap();
    assert!(
        ["scale", "cell_scale", "replicates", "cell_replicates"]
            .iter()
            .all(|name| levels.column(name).is_ok())
    );
    assert_eq!(Runs::open(&folders).unwrap().rows::<CellRow>().unwrap().collect().unwrap().height(), all);
}

/// What none of the runs has is refused, and so is a folder that is no run.
#[test]
fn what_is_not_there_is_refused() {
    let place = Place::new();
    let [meetings, ..] = place.meetings();
    let runs = Runs::open(&[meetings]).unwrap();
    let refused = runs.rows::<ErrorRow>().err().unwrap().to_string();
    assert_eq!(refused, "none of these runs has the table errors.parquet");
    assert!(l1_error(&runs).unwrap().is_none());
    assert!(Runs::open(&[place.path("nothing")]).is_err());
}
