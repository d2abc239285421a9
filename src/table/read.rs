//! Reading a table, one row group at a time.

use super::digest::Hasher;
use super::{Data, Field, Kind, Record, TableDigest, Values};
use crate::failure::{Failure, Result};
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;
use std::fs::File;
use std::path::{Path, PathBuf};

/// A file that is being read.
pub struct Reader {
    path: PathBuf,
    file: SerializedFileReader<File>,
    fields: Vec<Field>,
}

impl Reader {
    /// Opens a file. Refused: what is no parquet file; columns of types that no table of ours has.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|e| Failure::io(path, "cannot read", e))?;
        let file = SerializedFileReader::new(file)
            .map_err(|e| Failure::data(path, format!("not a readable parquet file: {e}")))?;
        let columns = file.metadata().file_metadata().schema_descr().columns();
        let fields = columns.iter().map(|column| field(column)).collect::<std::result::Result<_, String>>();
        let fields = fields.map_err(|message| Failure::data(path, message))?;
        Ok(Self { path: path.to_owned(), file, fields })
    }

    /// Its columns.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Its rows, by its footer.
    pub fn rows(&self) -> u64 {
        self.file.metadata().file_metadata().num_rows().max(0) as u64
    }

    /// Goes through the rows, a row group at a time, as long as `each` returns true; returns what the file holds if that was to
    /// its end. Errors: of the file, and of `each`.
    pub fn groups(&self, mut each: impl FnMut(&[Values]) -> Result<bool>) -> Result<Option<TableDigest>> {
        let bad = |e: ParquetError| Failure::data(&self.path, format!("cannot be read: {e}"));
        let mut hasher = Hasher::new(self.fields.len());
        for i in 0..self.file.num_row_groups() {
            let group = self.file.get_row_group(i).map_err(bad)?;
            let rows = group.metadata().num_rows().max(0) as usize;
            let mut columns = Vec::with_capacity(self.fields.len());
            for (i, field) in self.fields.iter().enumerate() {
                let column = group.get_column_reader(i).map_err(bad)?;
                columns.push(values(column, field, rows).map_err(bad)?);
            }
            if columns.iter().any(|column| column.len() != rows) {
                return Err(Failure::data(&self.path, "its columns have different lengths"));
            }
            hasher.update(&columns);
            if !each(&columns)? {
                return Ok(None);
            }
        }
        Ok(Some(hasher.finish(&self.fields)))
    }

    /// The same, row by row. Refused: other columns than those of the record, a text that is no value of its kind.
    pub fn each<R: Record>(&self, mut each: impl FnMut(R) -> Result<bool>) -> Result<Option<TableDigest>> {
        let wanted = R::fields();
        if let Some(missing) = wanted.iter().find(|field| !self.fields.contains(field)) {
            let message = match self.fields.iter().find(|field| field.name == missing.name) {
                None => format!("no column `{}`", missing.name),
                Some(other) => {
                    let (is, want) = (other.type_words(), missing.type_words());
                    format!("column `{}` is of the type {is}, want {want}", missing.name)
                }
            };
            return Err(Failure::data(&self.path, message));
        }
        if self.fields != wanted {
            return Err(Failure::data(
                &self.path,
                "the columns are not those of this version, or in another order",
            ));
        }
        self.groups(|columns| {
            for row in 0..columns.first().map_or(0, Values::len) {
                let record = R::get(columns, row)
                    .ok_or_else(|| Failure::data(&self.path, "a text is not what its column holds"))?;
                if !each(record)? {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }
}

/// What a file holds, read in full.
pub fn digest_of(path: &Path) -> Result<TableDigest> {
    let digest = Reader::open(path)?.groups(|_| Ok(true))?;
    Ok(digest.expect("it was read to its end"))
}

fn field(column: &ColumnDescriptor) -> std::result::Result<Field, String> {
    let name = column.path().string();
    let unsigned = |width: i8| match column.logical_type_ref() {
        Some(LogicalType::Integer(integer)) => integer.bit_width == width && !integer.is_signed,
        _ => false,
    };
    let kind = match column.physical_type() {
        Physical::BOOLEAN => Kind::Bool,
        Physical::DOUBLE => Kind::F64,
        Physical::INT32 if unsigned(32) => Kind::U32,
        Physical::INT64 if unsigned(64) => Kind::U64,
        Physical::INT64 => Kind::I64,
        Physical::BYTE_ARRAY => Kind::Text,
        other => return Err(format!("column `{name}` has the type {other}, which no table here has")),
    };
    if column.max_rep_level() > 0 || column.max_def_level() > 1 {
        return Err(format!("column `{name}` is nested, which no table here is"));
    }
    let optional = column.self_type().get_basic_info().repetition() == Repetition::OPTIONAL;
    Ok(Field { name, kind, optional })
}

/// All values of a column of a row group.
fn values(column: ColumnReader, field: &Field, rows: usize) -> std::result::Result<Values, ParquetError> {
    type Read<T> = (Vec<<T as DataType>::T>, Option<Vec<bool>>);
    fn all<T: DataType>(
        mut reader: ColumnReaderImpl<T>,
        optional: bool,
        rows: usize,
    ) -> std::result::Result<Read<T>, ParquetError> {
        let (mut values, mut levels) = (Vec::with_capacity(rows), Vec::new());
        let mut read = 0;
        while read < rows {
            let wanted = optional.then_some(&mut levels);
            let (records, ..) = reader.read_records(rows - read, wanted, None, &mut values)?;
            if records == 0 {
                return Err(ParquetError::General("a column ends early".into()));
            }
            read += records;
        }
        Ok((values, optional.then(|| levels.into_iter().map(|level| level == 1).collect())))
    }
    let mut filled = Values::new(field.kind, field.optional);
    /// Puts the values in their places.
    macro_rules! fill {
        ($reader:expr, $value:ident => $put:expr) => {{
            let (read, present) = all($reader, field.optional, rows)?;
            let mut read = read.into_iter();
            for row in 0..rows {
                if present.as_ref().is_some_and(|present| !present[row]) {
                    filled.put_nothing();
                    continue;
                }
                let Some($value) = read.next() else {
                    return Err(ParquetError::General("a column ends early".into()));
                };
                $put;
            }
            filled.present = present;
        }};
    }
    match column {
        ColumnReader::BoolColumnReader(reader) => {
            fill!(reader, x => if let Data::Bool(all) = &mut filled.data { all.push(x) })
        }
        ColumnReader::Int32ColumnReader(reader) => {
            fill!(reader, x => if let Data::U32(all) = &mut filled.data { all.push(x as u32) })
        }
        ColumnReader::Int64ColumnReader(reader) => fill!(reader, x => match &mut filled.data {
            Data::U64(all) => all.push(x as u64),
            Data::I64(all) => all.push(x),
            _ => {}
        }),
        ColumnReader::DoubleColumnReader(reader) => {
            fill!(reader, x => if let Data::F64(all) = &mut filled.data { all.push(x) })
        }
        ColumnReader::ByteArrayColumnReader(reader) => {
            fill!(reader, x => if let Data::Text(bytes, ends) = &mut filled.data {
                bytes.extend_from_slice(x.data());
                ends.push(bytes.len());
            })
        }
        _ => return Err(ParquetError::General("a type that no table here has".into())),
    }
    Ok(filled)
}
