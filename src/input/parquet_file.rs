//! Columns of a parquet file, one after the other.

use super::column::Column;
use super::csv_table::{Places, check_rows};
use super::{CsvTable, Wanted};
use crate::failure::{Failure, Result};
use parquet::basic::{ConvertedType, LogicalType, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;
use std::fs::File;
use std::io::{Chain, Cursor, Read};
use std::path::{Path, PathBuf};

/// Values that are decoded at once.
const BATCH: usize = 1024;

/// A data file of either kind.
pub(super) enum Source {
    /// CSV.
    Text(Chain<Cursor<Vec<u8>>, File>),
    /// Parquet.
    Parquet(File),
}

impl Source {
    /// A file that begins with `PAR1` is parquet.
    pub fn open(path: &Path) -> Result<Self> {
        let mut file = File::open(path).map_err(|e| Failure::io(path, "cannot read", e))?;
        let mut magic = Vec::new();
        // What cannot be read here cannot be read later either.
        let _ = (&mut file).take(4).read_to_end(&mut magic);
        Ok(match &magic[..] {
            b"PAR1" => Self::Parquet(file),
            _ => Self::Text(Cursor::new(magic).chain(file)),
        })
    }
}

/// One value of a table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// Text.
    Text(&'a str),
    /// A number.
    Integer(i64),
}

/// A parquet file whose metadata was read.
pub(super) struct ParquetFile {
    path: PathBuf,
    reader: SerializedFileReader<File>,
    columns: Vec<String>,
}

impl ParquetFile {
    pub fn open(path: &Path, file: File) -> Result<Self> {
        let reader = SerializedFileReader::new(file).map_err(|e| unreadable(path, &e))?;
        let fields = reader.metadata().file_metadata().schema_descr().root_schema().get_fields();
        let columns = fields.iter().map(|field| field.name().to_owned()).collect();
        Ok(Self { path: path.to_owned(), reader, columns })
    }

    /// Names of the columns.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Hands over all values of the column at a place, `None` for a missing one, each with how often it follows itself as
    /// far as that is easily seen.
    ///
    /// Refused: neither text nor integers; what cannot be read; what `take` refuses.
    pub fn read(&self, place: usize, mut take: impl FnMut(Option<Value>, usize) -> Result<()>) -> Result<()> {
        let schema = self.reader.metadata().file_metadata().schema_descr();
        let name = &self.columns[place];
        let leaf = (0..schema.num_columns()).find(|&leaf| schema.get_column_root_idx(leaf) == place);
        let leaf = leaf.filter(|&leaf| schema.column(leaf).path().parts().len() == 1);
        let leaf = leaf.filter(|&leaf| schema.column(leaf).max_rep_level() == 0);
        let Some(leaf) = leaf else {
            return Err(self.refuse(format!("column `{name}` is nested, want integers or text")));
        };
        let column = schema.column(leaf);
        let unsigned = match kind(&column) {
            Kind::Text => false,
            Kind::Integers { unsigned } => unsigned,
            Kind::Other(what) => {
                return Err(
                    self.refuse(format!("column `{name}` has the type {what}, want integers or text"))
                );
            }
        };
        let bad = |e: ParquetError| unreadable(&self.path, &e);
        for group in 0..self.reader.num_row_groups() {
            let group = self.reader.get_row_group(group).map_err(bad)?;
            match group.get_column_reader(leaf).map_err(bad)? {
                ColumnReader::ByteArrayColumnReader(reader) => {
                    // Of a dictionary, equal texts are at one place.
                    let same = |a: &ByteArray, b: &ByteArray| std::ptr::eq(a.data(), b.data());
                    self.values(reader, &column, same, |value, times| {
                        let text = value.map(|value| std::str::from_utf8(value.data())).transpose();
                        let text = text
                            .map_err(|_| self.refuse(format!("column `{name}`: text that is not UTF-8")))?;
                        take(text.map(Value::Text), times)
                    })?;
                }
                ColumnReader::Int32ColumnReader(reader) => {
                    let wide = |value| if unsigned { i64::from(value as u32) } else { i64::from(value) };
                    self.values(reader, &column, i32::eq, |value, times| {
                        take(value.copied().map(wide).map(Value::Integer), times)
                    })?;
                }
                ColumnReader::Int64ColumnReader(reader) => {
                    self.values(reader, &column, i64::eq, |value, times| match value {
                        Some(&value) if unsigned && value < 0 => {
                            take(Some(Value::Text(&(value as u64).to_string())), times)
                        }
                        value => take(value.copied().map(Value::Integer), times),
                    })?;
                }
                _ => unreachable!("the type was checked"),
            }
        }
        Ok(())
    }

    /// The values of one column in one row group; neighbours that are the `same` together.
    fn values<T: DataType>(
        &self,
        mut reader: ColumnReaderImpl<T>,
        column: &ColumnDescriptor,
        same: impl Fn(&T::T, &T::T) -> bool,
        mut take: impl FnMut(Option<&T::T>, usize) -> Result<()>,
    ) -> Result<()> {
        let optional = column.max_def_level() > 0;
        let (mut values, mut levels) = (Vec::with_capacity(BATCH), Vec::with_capacity(BATCH));
        loop {
            values.clear();
            levels.clear();
            let read = reader.read_records(BATCH, Some(&mut levels), None, &mut values);
            let (records, present, _) = read.map_err(|e| unreadable(&self.path, &e))?;
            if records == 0 {
                return Ok(());
            }
            if !optional || present == records {
                values.chunk_by(&same).try_for_each(|run| take(run.first(), run.len()))?;
                continue;
            }
            let mut values = values.iter();
            for &level in &levels {
                take(if level > 0 { values.next() } else { None }, 1)?;
            }
        }
    }

    fn refuse(&self, message: String) -> Failure {
        Failure::data(&self.path, message)
    }
}

enum Kind {
    Text,
    Integers { unsigned: bool },
    Other(String),
}

fn kind(column: &ColumnDescriptor) -> Kind {
    let (logical, converted) = (column.logical_type_ref(), column.converted_type());
    match (column.physical_type(), logical) {
        (Physical::BYTE_ARRAY, Some(LogicalType::String | LogicalType::Enum | LogicalType::Json)) => {
            Kind::Text
        }
        (Physical::BYTE_ARRAY, None)
            if matches!(converted, ConvertedType::UTF8 | ConvertedType::ENUM | ConvertedType::JSON) =>
        {
            Kind::Text
        }
        (Physical::INT32 | Physical::INT64, Some(LogicalType::Integer(of))) => {
            Kind::Integers { unsigned: !of.is_signed }
        }
        (Physical::INT32 | Physical::INT64, None) => match converted {
            ConvertedType::NONE
            | ConvertedType::INT_8
            | ConvertedType::INT_16
            | ConvertedType::INT_32
            | ConvertedType::INT_64 => Kind::Integers { unsigned: false },
            ConvertedType::UINT_8
            | ConvertedType::UINT_16
            | ConvertedType::UINT_32
            | ConvertedType::UINT_64 => Kind::Integers { unsigned: true },
            other => Kind::Other(other.to_string()),
        },
        (_, Some(logical)) => Kind::Other(format!("{logical:?}")),
        (physical, None) => Kind::Other(physical.to_string()),
    }
}

fn unreadable(path: &Path, e: &ParquetError) -> Failure {
    Failure::data(path, format!("not a readable parquet file: {e}"))
}

impl CsvTable {
    /// Some columns of a parquet file: text or integers, dictionaries or not.
    ///
    /// Refused: a wanted column of another type, a missing value in it.
    pub fn from_parquet(path: &Path, file: File, wanted: &Wanted) -> Result<Self> {
        let parquet = ParquetFile::open(path, file)?;
        let metadata = parquet.reader.metadata().file_metadata();
        let rows = usize::try_from(metadata.num_rows()).unwrap_or(usize::MAX);
        check_rows(path, rows)?;
        let mut table = Self::empty(path, parquet.columns().to_vec(), wanted, None)?;
        for (place, column) in table.values.iter_mut().enumerate() {
            if matches!(column, Column::Skipped) {
                continue;
            }
            let name = &parquet.columns()[place];
            let mut row = 0;
            parquet.read(place, |value, times| {
                match value {
                    Some(Value::Text(text)) => column.push_times(text.as_bytes(), times),
                    Some(Value::Integer(value)) => column.push_integer(value, times),
                    None => {
                        return Err(Failure::data(path, format!("row {}: no value in `{name}`", row + 1)));
                    }
                }
                row += times;
                Ok(())
            })?;
            if row != rows {
                let message = format!("`{name}` has {row} values for {rows} rows");
                return Err(Failure::data(path, format!("not a readable parquet file: {message}")));
            }
            column.finish();
        }
        table.rows = rows;
        table.places = Places::new(None);
        Ok(table)
    }
}
