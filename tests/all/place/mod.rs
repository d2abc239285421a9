//! A folder of its own for the command, and what it says.
#![allow(dead_code)]

use assert_cmd::Command;
use congenial::store::{FileDigest, Manifest, Run};
use congenial::study::cells::{CellRow, FailureRow};
use congenial::table::{Key, Record, Writer};
use std::collections::HashMap;
use std::path::PathBuf;
use tempfile::TempDir;

/// Three levels.
pub const TREE: &str = "zone,group,count\na1,a,5\na2,a,0\nb1,b,120\nb2,b,3\nb3,b,44\nc1,c,7\n";

/// `tree.csv` in a config.
pub const TREE_DATA: &str = r#"
[data]
table = "tree.csv"
levels = ["group", "zone"]
count = "count"
"#;

/// Six cells.
pub const TABLE: &str = "\
row,column,in_1,in_2,count
a,x,1,0,5
a,y,1,1,0
b,x,0,1,12
b,y,0,0,3
c,x,1,1,4
c,y,0,1,7
";

/// `table.csv` in a config.
pub const TABLE_DATA: &str = r#"
[data]
table = "table.csv"
count = "count"
entry = ["row", "column"]
"#;

/// Both margins of it.
pub const MARGINS: &str = r#"
[[invariant]]
kind = "margins"
rows = "row"
columns = "column"
"#;

/// `table.csv`, if it holds several tables, in a config.
pub const TABLES_DATA: &str = r#"
[data]
table = "table.csv"
count = "count"
entry = ["table", "row", "column"]
"#;

/// The sum by every value of some columns is kept.
pub fn partition(by: &[&str]) -> String {
    format!("\n[[invariant]]\nkind = \"partition\"\nby = {by:?}\n")
}

/// No count below 0.
pub const NONNEGATIVE: &str = "\n[[invariant]]\nkind = \"nonnegative\"\n";

/// A table whose margins are too large for exact sampling.
pub fn large_table() -> String {
    let cells = (0..144).map(|i| (i / 12, i % 12));
    "row,column,count\n".to_owned()
        + &cells.map(|(i, j)| format!("r{i},c{j},{}\n", i * j)).collect::<String>()
}

pub struct Place {
    dir: TempDir,
}

impl Place {
    pub fn new(files: &[(&str, &str)]) -> Self {
        let place = Self { dir: TempDir::new().unwrap() };
        files.iter().for_each(|(name, text)| place.write(name, text));
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    /// Lets nobody else read or write a file.
    pub fn keep(&self, name: &str) {
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            std::fs::set_permissions(self.path(name), std::fs::Permissions::from_mode(0o600)).unwrap();
        }
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_congenial"));
        command.current_dir(self.dir.path()).args(arguments);
        command
    }

    /// What the command prints; it succeeds.
    pub fn prints(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs a config into a folder; all pages of its report.
    pub fn pages(&self, config: &str, out: &str) -> String {
        self.prints(&["run", config, "--out", out]);
        self.prints(&["report", out, "--full"])
    }

    /// The command fails with code 2 and a message that holds all of `wanted`.
    pub fn refuses(&self, arguments: &[&str], wanted: &[&str]) {
        let output = self.command(arguments).output().unwrap();
        // Long messages are wrapped behind a bar.
        let message = String::from_utf8_lossy(&output.stderr).replace("\n  │ ", " ");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
        for text in wanted {
            assert!(message.contains(text), "{arguments:?}: no `{text}` in:\n{message}");
        }
        assert!(output.stdout.is_empty());
    }
}

impl Place {
    /// The rows of a table of a finished run.
    pub fn rows<R: Record>(&self, folder: &str) -> Vec<R> {
        Run::open(&self.path(folder)).unwrap().all().unwrap()
    }

    /// The cells of a finished run by key.
    pub fn cells(&self, folder: &str) -> HashMap<Key, CellRow> {
        self.rows::<CellRow>(folder).into_iter().map(|row| (row.cell, row)).collect()
    }

    /// The rows of a table, each with its cell.
    pub fn with_cells<R: Record>(&self, folder: &str, key: impl Fn(&R) -> Key) -> Vec<(CellRow, R)> {
        let cells = self.cells(folder);
        self.rows::<R>(folder).into_iter().map(|row| (cells[&key(&row)].clone(), row)).collect()
    }

    /// Errors of the cells that failed.
    pub fn failures(&self, folder: &str) -> Vec<String> {
        self.rows::<FailureRow>(folder).into_iter().map(|row| row.error).collect()
    }

    /// Writes other rows into a table of a finished run, and says so in its manifest: a run that nobody has drawn.
    pub fn replace<R: Record>(&self, folder: &str, rows: &[R]) {
        let file = std::fs::File::create(self.path(folder).join(R::FILE)).unwrap();
        let mut writer = Writer::new(file, R::fields(), &[]).unwrap();
        rows.iter().for_each(|row| row.put(writer.row().unwrap()));
        let digest = writer.finish().unwrap();
        let mut manifest = Manifest::read(&self.path(folder)).unwrap();
        manifest.tables.insert(R::FILE.into(), digest);
        manifest.files.insert(R::FILE.into(), FileDigest::of(&self.path(folder).join(R::FILE)).unwrap());
        self.write(&format!("{folder}/manifest.json"), &manifest.text());
    }

    /// Writes what becomes of every row of a table of a finished run: see [`Self::replace`].
    pub fn edit<R: Record>(&self, folder: &str, change: impl Fn(&mut R)) {
        let mut rows: Vec<R> = self.rows(folder);
        rows.iter_mut().for_each(change);
        self.replace(folder, &rows);
    }

    /// Lets the first cell of a run fail: it loses its rows in a table.
    pub fn fail<R: Record>(&self, folder: &str, key: impl Fn(&R) -> Key) {
        let mut rows: Vec<R> = self.rows(folder);
        let cell = key(&rows[0]);
        rows.retain(|row| key(row) != cell);
        self.replace(folder, &rows);
        self.replace(folder, &[FailureRow { cell, error: "no memory".into() }]);
    }
}
