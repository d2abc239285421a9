//! `congenial init`

use crate::failure::Result;
use crate::input::{CsvTable, Guess};
use std::fmt::Write;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The data: CSV or parquet, a row for each group, with its count
    table: PathBuf,
}

/// Draws of all entries together that a config of ours asks for, roughly.
const DRAWN: usize = 20_000_000;
/// Entries of a two-way table up to which its margins are kept by an exact sampler.
const EXACT: usize = 16;

/// Prints a config for a table.
pub(super) fn run(arguments: &Arguments) -> Result<()> {
    let path = &arguments.table;
    let guess = Guess::of(path, &CsvTable::read(path)?)?;
    super::print(&config(path, &guess))
}

fn config(path: &Path, guess: &Guess) -> String {
    let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
    let list = |names: &[String]| {
        format!("[{}]", names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", "))
    };
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '-' };
    let name: String = path.file_stem().unwrap_or_default().to_string_lossy().chars().map(plain).collect();
    let mut out = format!(
        "# What this says of the data is a guess. `congenial plan FILE` shows what it would draw.\n\
         name = {}\n\
         seed = 1            # the same seed gives the same bits\n\
         replicates = {}   # releases of every cell\n\n\
         [data]\n\
         table = {}   # seen from this file\n\
         count = {}\n",
        quoted(&name),
        (DRAWN / guess.rows).clamp(10, 1000),
        quoted(&path.to_string_lossy()),
        quoted(&guess.count)
    );
    let keys = list(&guess.keys);
    if guess.nested {
        let _ = writeln!(out, "levels = {keys}   # of the hierarchy, from coarse to fine");
        out += "# known = [\"total\"]   # levels that are public: here the root, the sum of everything\n";
    } else {
        let _ = writeln!(out, "entry = {keys}   # columns that name an entry");
    }
    for (name, why) in &guess.left_out {
        let _ = writeln!(out, "# left out: {} ({why})", quoted(name));
    }
    let methods = match guess {
        Guess { nested: true, .. } => {
            "method = [\"unconstrained\", \"exact\", { kind = \"exact\", nonnegative = true }, \"topdown\", \"l2\"]"
        }
        Guess { margins: true, rows, .. } => {
            let [first, second] = [&guess.keys[0], &guess.keys[1]].map(|key| quoted(key));
            let _ = write!(
                out,
                "\n[[invariant]]       # what every release keeps: here the sums of all rows and columns\n\
                 kind = \"margins\"\nrows = {first}\ncolumns = {second}\n"
            );
            match *rows <= EXACT {
                true => "method = [\"unconstrained\", \"exact\", \"l2-then-integer-l1\"]",
                false => {
                    "method = [\"unconstrained\", { kind = \"line-gibbs\", sweeps = 200 }, \"l2-then-integer-l1\"]"
                }
            }
        }
        _ => {
            out += "\n[[invariant]]       # what every release keeps: here the sum of all entries\nkind = \"total\"\n";
            "method = [\"unconstrained\", \"exact\", \"l2-then-integer-l1\"]"
        }
    };
    if !guess.nested {
        out += "\n# [[invariant]]     # no count below 0 (then `l2-then-integer-l1` is `nnl2-then-integer-l1`)\n# kind = \"nonnegative\"\n";
    }
    let _ = write!(
        out,
        "\n[[grid]]            # every epsilon with every law and method\n\
         epsilon = [0.5, 1.0, 2.0]\n\
         law = \"double-geometric\"   # integer noise; `congenial methods` lists the others\n\
         {methods}\n"
    );
    out
}
