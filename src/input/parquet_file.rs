//! Columns of a parquet file, one after the other.

use crate::failure::{Failure, Result};
use crate::files;
use crate::table::{guarded, open, runs};
use parquet::basic::{ConvertedType as Converted, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;
use std::fs::File;
use std::io::{Chain, Cursor, Read};
use std::path::{Path, PathBuf};

/// A data file of either kind.
pub(super) enum Source {
    /// A CSV file, with the bytes that were read ahead.
    Text(Chain<Cursor<Vec<u8>>, File>),
    /// A parquet file.
    Parquet(File),
}

impl Source {
    /// Opens a data file: one that begins with `PAR1` is parquet.
    pub fn open(path: &Path) -> Result<Self> {
        let mut file = files::open(path)?;
        let mut magic = Vec::new();
        // What cannot be read here cannot be read later either.
        let _ = (&mut file).take(4).read_to_end(&mut magic);
        Ok(match &magic[..] {
            b"PAR1" => Self::Parquet(file),
            _ => Self::Text(Cursor::new(magic).chain(file)),
        })
    }
}

/// A parquet file whose metadata was read.
pub(super) struct ParquetFile {
    path: PathBuf,
    reader: SerializedFileReader<File>,
    /// Names of the columns.
    pub columns: Vec<String>,
}

impl ParquetFile {
    pub fn open(path: &Path, file: File) -> Result<Self> {
        let reader = open(path, file)?;
        let fields = reader.metadata().file_metadata().schema_descr().root_schema().get_fields();
        let columns = fields.iter().map(|field| field.name().to_owned()).collect();
        Ok(Self { path: path.to_owned(), reader, columns })
    }

    /// The number of rows, by the footer.
    pub fn rows(&self) -> usize {
        usize::try_from(self.reader.metadata().file_metadata().num_rows()).unwrap_or(usize::MAX)
    }

    /// Hands over all values of the column at a place as texts, `None` for a missing one, each with how often it follows itself
    /// as far as that is easily seen.
    ///
    /// Refused: neither text nor integers; what cannot be read; what `take` refuses.
    pub fn read(&self, place: usize, mut take: impl FnMut(Option<&str>, usize) -> Result<()>) -> Result<()> {
        let schema = self.reader.metadata().file_metadata().schema_descr();
        let name = &self.columns[place];
        let is_flat = |&leaf: &usize| {
            let column = schema.column(leaf);
            schema.get_column_root_idx(leaf) == place
                && column.path().parts().len() == 1
                && column.max_rep_level() == 0
        };
        let leaf = (0..schema.num_columns()).find(is_flat);
        let leaf =
            leaf.ok_or_else(|| self.refuse(format!("column `{name}` is nested, want integers or text")))?;
        let unsigned = unsigned(&schema.column(leaf)).map_err(|what| {
            self.refuse(format!("column `{name}` has the type {what}, want integers or text"))
        })?;
        let mut digits = itoa::Buffer::new();
        for group in 0..self.reader.num_row_groups() {
            let group = guarded(|| self.reader.get_row_group(group)).map_err(|e| self.unreadable(e))?;
            match guarded(|| group.get_column_reader(leaf)).map_err(|e| self.unreadable(e))? {
                ColumnReader::ByteArrayColumnReader(reader) => {
                    // Of a dictionary, equal texts are at one place.
                    let same = |a: &ByteArray, b: &ByteArray| std::ptr::eq(a.data(), b.data());
                    self.values(reader, same, |value, times| {
                        let text = value.map(|value| std::str::from_utf8(value.data())).transpose();
                        let not = |_| self.refuse(format!("column `{name}`: text that is not UTF-8"));
                        take(text.map_err(not)?, times)
                    })
                }
                ColumnReader::Int32ColumnReader(reader) => self.values(reader, i32::eq, |value, times| {
                    let text =
                        value.map(|&x| if unsigned { digits.format(x as u32) } else { digits.format(x) });
                    take(text, times)
                }),
                ColumnReader::Int64ColumnReader(reader) => self.values(reader, i64::eq, |value, times| {
                    let text =
                        value.map(|&x| if unsigned { digits.format(x as u64) } else { digits.format(x) });
                    take(text, times)
                }),
                _ => unreachable!("the type was checked"),
            }?;
        }
        Ok(())
    }

    /// The values of one column in one row group; neighbours that are the `same` together.
    fn values<T: DataType>(
        &self,
        mut reader: ColumnReaderImpl<T>,
        same: impl Fn(&T::T, &T::T) -> bool,
        mut take: impl FnMut(Option<&T::T>, usize) -> Result<()>,
    ) -> Result<()> {
        let bad = |e| self.unreadable(e);
        let all = runs(&mut reader, usize::MAX, bad, |values, missing| {
            values.chunk_by(&same).try_for_each(|run| take(run.first(), run.len()))?;
            if missing > 0 { take(None, missing) } else { Ok(()) }
        });
        all.map(drop)
    }

    pub fn unreadable(&self, e: impl std::fmt::Display) -> Failure {
        self.refuse(format!("not a readable parquet file: {e}"))
    }

    pub fn refuse(&self, message: String) -> Failure {
        Failure::data(&self.path, message)
    }
}

/// Whether a column of text or integers holds unsigned ones; or what else it holds. Of every logical type that is one of these, the
/// library tells the converted type.
fn unsigned(column: &ColumnDescriptor) -> std::result::Result<bool, String> {
    let (logical, converted) = (column.logical_type_ref(), column.converted_type());
    match (column.physical_type(), converted) {
        (Physical::BYTE_ARRAY, Converted::UTF8 | Converted::ENUM | Converted::JSON) => Ok(false),
        (
            Physical::INT32 | Physical::INT64,
            Converted::INT_8 | Converted::INT_16 | Converted::INT_32 | Converted::INT_64,
        ) => Ok(false),
        (
            Physical::INT32 | Physical::INT64,
            Converted::UINT_8 | Converted::UINT_16 | Converted::UINT_32 | Converted::UINT_64,
        ) => Ok(true),
        (Physical::INT32 | Physical::INT64, Converted::NONE) if logical.is_none() => Ok(false),
        (physical, _) => Err(match logical {
            Some(logical) => format!("{logical:?}"),
            None if converted != Converted::NONE => converted.to_string(),
            None => physical.to_string(),
        }),
    }
}
