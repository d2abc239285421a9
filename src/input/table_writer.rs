//! Data tables as files.

use crate::failure::{Failure, Result};
use crate::files::NewFile;
use crate::table::{Field, Kind, Value as _, Writer, unwritten};
use std::fs::File;
use std::path::{Path, PathBuf};

/// One value of a table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// Text.
    Text(&'a str),
    /// A number.
    Integer(i64),
}

/// Writes a table of text and integers row by row: CSV, or parquet by its name.
///
/// The file gets its name when it is complete.
pub struct TableWriter {
    path: PathBuf,
    whole: NewFile,
    sink: Sink,
}

enum Sink {
    Text(Box<csv::Writer<File>>),
    Parquet(Box<Writer>),
}

impl TableWriter {
    /// A new file. `columns`: their names, and whether they hold integers. Refused: a file that is there.
    pub fn create(path: &Path, columns: &[(&str, bool)]) -> Result<Self> {
        let whole = NewFile::create(path)?;
        let file = whole.file()?;
        let is_parquet = path.extension().is_some_and(|extension| extension == "parquet");
        let sink = if is_parquet {
            let kind = |integers| if integers { Kind::I64 } else { Kind::Text };
            let fields = columns.iter().map(|&(name, integers)| Field::new(name, kind(integers))).collect();
            Sink::Parquet(Box::new(Writer::new(file, fields, &[]).map_err(|e| unwritten(path, e))?))
        } else {
            let mut writer = csv::Writer::from_writer(file);
            let header = columns.iter().map(|(name, _)| name);
            writer.write_record(header).map_err(|e| Failure::write(path, e))?;
            Sink::Text(Box::new(writer))
        };
        Ok(Self { path: path.to_owned(), whole, sink })
    }

    /// Adds a row: one value for each column, of its kind.
    pub fn push<'a>(&mut self, row: impl Iterator<Item = Value<'a>>) -> Result<()> {
        let failed = |e: &dyn std::fmt::Display| Failure::write(&self.path, e);
        match &mut self.sink {
            Sink::Text(writer) => {
                for value in row {
                    let written = match value {
                        Value::Text(text) => writer.write_field(text),
                        Value::Integer(value) => writer.write_field(value.to_string()),
                    };
                    written.map_err(|e| failed(&e))?;
                }
                writer.write_record(None::<&[u8]>).map_err(|e| failed(&e))
            }
            Sink::Parquet(writer) => {
                for (column, value) in writer.row().map_err(|e| unwritten(&self.path, e))?.iter_mut().zip(row)
                {
                    match value {
                        Value::Text(text) => column.put_text(text.as_bytes()),
                        Value::Integer(value) => value.put(column),
                    }
                }
                Ok(())
            }
        }
    }

    /// Completes the file.
    pub fn finish(self) -> Result<()> {
        match self.sink {
            Sink::Text(mut writer) => writer.flush().map_err(|e| Failure::write(&self.path, e))?,
            Sink::Parquet(writer) => writer.finish().map(drop).map_err(|e| unwritten(&self.path, e))?,
        }
        self.whole.finish()
    }
}
