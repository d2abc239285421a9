//! Data tables as files.

use super::Value;
use crate::failure::{Failure, Result};
use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows that are written to a parquet file at once.
const GROUP: usize = 1 << 17;

/// Writes a table of text and integers row by row: CSV, or parquet by its name.
pub struct TableWriter {
    path: PathBuf,
    sink: Sink,
}

enum Sink {
    Text(Box<csv::Writer<File>>),
    Parquet { writer: Box<SerializedFileWriter<BufWriter<File>>>, columns: Vec<Values>, rows: usize },
}

/// Values of one column that were not written yet.
enum Values {
    Texts(Vec<ByteArray>),
    Integers(Vec<i64>),
}

impl TableWriter {
    /// A new file. `columns`: their names, and whether they hold integers. Refused: a file that is there.
    pub fn create(path: &Path, columns: &[(&str, bool)]) -> Result<Self> {
        let file = File::create_new(path).map_err(|e| Failure::io(path, "cannot create", e))?;
        let is_parquet = path.extension().is_some_and(|extension| extension == "parquet");
        let sink = if is_parquet {
            Self::parquet(file, columns).map_err(|e| Failure::write(path, e))?
        } else {
            let mut writer = csv::Writer::from_writer(file);
            let header = columns.iter().map(|(name, _)| name);
            writer.write_record(header).map_err(|e| Failure::write(path, e))?;
            Sink::Text(Box::new(writer))
        };
        Ok(Self { path: path.to_owned(), sink })
    }

    fn parquet(file: File, columns: &[(&str, bool)]) -> std::result::Result<Sink, ParquetError> {
        let field = |&(name, integers): &(&str, bool)| {
            let (physical, logical) = if integers {
                (Physical::INT64, None)
            } else {
                (Physical::BYTE_ARRAY, Some(LogicalType::String))
            };
            let field = Type::primitive_type_builder(name, physical);
            let field = field.with_repetition(Repetition::REQUIRED).with_logical_type(logical);
            field.build().map(Arc::new)
        };
        let fields = columns.iter().map(field).collect::<std::result::Result<_, _>>()?;
        let schema = Type::group_type_builder("table").with_fields(fields).build()?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_encoding(Encoding::PLAIN)
            .set_statistics_enabled(EnabledStatistics::Chunk);
        let file = BufWriter::new(file);
        let writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties.build()))?;
        let values = |&(_, integers): &(&str, bool)| match integers {
            true => Values::Integers(Vec::new()),
            false => Values::Texts(Vec::new()),
        };
        Ok(Sink::Parquet { writer: Box::new(writer), columns: columns.iter().map(values).collect(), rows: 0 })
    }

    /// Adds a row: one value for each column, of its kind.
    pub fn push<'a>(&mut self, row: impl Iterator<Item = Value<'a>>) -> Result<()> {
        match &mut self.sink {
            Sink::Text(writer) => {
                for value in row {
                    let written = match value {
                        Value::Text(text) => writer.write_field(text),
                        Value::Integer(value) => writer.write_field(value.to_string()),
                    };
                    written.map_err(|e| Failure::write(&self.path, e))?;
                }
                writer.write_record(None::<&[u8]>).map_err(|e| Failure::write(&self.path, e))
            }
            Sink::Parquet { columns, rows, .. } => {
                for (column, value) in columns.iter_mut().zip(row) {
                    match (column, value) {
                        (Values::Integers(values), Value::Integer(value)) => values.push(value),
                        // Equal neighbours share their bytes.
                        (Values::Texts(values), Value::Text(text)) => values.push(match values.last() {
                            Some(last) if last.data() == text.as_bytes() => last.clone(),
                            _ => text.into(),
                        }),
                        (Values::Integers(_), Value::Text(_)) | (Values::Texts(_), Value::Integer(_)) => {
                            unreachable!("a value of another kind than its column")
                        }
                    }
                }
                *rows += 1;
                if *rows == GROUP { self.flush() } else { Ok(()) }
            }
        }
    }

    /// Writes what is held of a parquet file.
    fn flush(&mut self) -> Result<()> {
        let Sink::Parquet { writer, columns, rows } = &mut self.sink else { return Ok(()) };
        let write = || {
            let mut group = writer.next_row_group()?;
            for values in columns {
                let mut column = group.next_column()?.expect("one for each field");
                match values {
                    Values::Texts(values) => {
                        column.typed::<ByteArrayType>().write_batch(values, None, None)?;
                        values.clear();
                    }
                    Values::Integers(values) => {
                        column.typed::<Int64Type>().write_batch(values, None, None)?;
                        values.clear();
                    }
                }
                column.close()?;
            }
            group.close().map(drop)
        };
        write().map_err(|e: ParquetError| Failure::write(&self.path, e))?;
        *rows = 0;
        Ok(())
    }

    /// Completes the file.
    pub fn finish(mut self) -> Result<()> {
        if matches!(self.sink, Sink::Parquet { rows: 1.., .. }) {
            self.flush()?;
        }
        let failed = |e: &dyn std::fmt::Display| Failure::write(&self.path, e);
        match self.sink {
            Sink::Text(mut writer) => writer.flush().map_err(|e| failed(&e)),
            Sink::Parquet { writer, .. } => {
                let mut file = writer.into_inner().map_err(|e| failed(&e))?;
                file.flush().map_err(|e| failed(&e))
            }
        }
    }
}
