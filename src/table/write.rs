//! Writing a table as parquet, one row group at a time.

use super::digest::Hasher;
use super::{Data, Field, Kind, TableDigest, Values};
use crate::failure::Failure;
use bytes::Bytes;
use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{ColumnPath, Type, TypePtr};
use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Values of a row group, all columns together, and rows at most.
const GROUP: (usize, usize) = (1 << 20, 1 << 15);
/// Rows that are encoded at once, and those of a page at most: readers that want the first rows alone read few pages.
const ROWS: (usize, usize) = (1 << 12, 1 << 13);
/// Bytes of distinct numbers beyond which a column group has no dictionary.
const DICTIONARY: usize = 1 << 14;

/// What the system said, without what parquet says around it.
pub(crate) fn unwritten(path: &Path, error: ParquetError) -> Failure {
    match error {
        ParquetError::External(inner) => Failure::write(path, inner),
        other => Failure::write(path, other),
    }
}

/// A file that is being written, of any columns.
#[derive(Debug)]
pub struct Writer {
    fields: Vec<Field>,
    values: Vec<Values>,
    hasher: Hasher,
    file: SerializedFileWriter<File>,
    rows: usize,
}

impl Writer {
    /// Begins a file with these columns; `metadata` goes to its footer.
    pub fn new(file: File, fields: Vec<Field>, metadata: &[(&str, String)]) -> Result<Self, ParquetError> {
        let footer = metadata.iter().map(|(key, value)| KeyValue::new((*key).to_owned(), value.clone()));
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_offset_index_disabled(true)
            .set_data_page_row_count_limit(ROWS.1)
            .set_key_value_metadata(Some(footer.collect()));
        for field in &fields {
            let column = || ColumnPath::from(field.name.as_str());
            properties = match field.kind {
                Kind::U32 | Kind::U64 | Kind::I64 => properties
                    .set_column_dictionary_enabled(column(), false)
                    .set_column_encoding(column(), Encoding::DELTA_BINARY_PACKED),
                Kind::F64 => properties.set_column_dictionary_page_size_limit(column(), DICTIONARY),
                Kind::Bool | Kind::Text => properties,
            };
        }
        let rows = (GROUP.0 / fields.len().max(1)).clamp(1, GROUP.1);
        // Memory that is not touched is none.
        let values = fields.iter().map(|field| Values::new(field.kind, field.optional, rows)).collect();
        let file = SerializedFileWriter::new(file, schema(&fields)?, Arc::new(properties.build()))?;
        Ok(Self { hasher: Hasher::new(fields.len()), fields, values, file, rows })
    }

    /// The columns, to append a row of values to.
    pub fn row(&mut self) -> Result<&mut [Values], ParquetError> {
        if self.values.first().is_some_and(|values| values.len() >= self.rows) {
            self.flush()?;
        }
        Ok(&mut self.values)
    }

    fn flush(&mut self) -> Result<(), ParquetError> {
        self.hasher.update(&self.values);
        let mut group = self.file.next_row_group()?;
        for values in &self.values {
            let mut column = group.next_column()?.expect("a column for each field");
            for start in (0..values.len()).step_by(ROWS.0) {
                put(&mut column, values, start..values.len().min(start + ROWS.0))?;
            }
            column.close()?;
        }
        group.close()?;
        self.values.iter_mut().for_each(Values::clear);
        Ok(())
    }

    /// Ends the file, unsynced: what it holds.
    pub fn finish(mut self) -> Result<TableDigest, ParquetError> {
        if self.values.first().is_some_and(|values| !values.is_empty()) {
            self.flush()?;
        }
        self.file.close()?;
        Ok(self.hasher.finish(&self.fields))
    }
}

fn schema(fields: &[Field]) -> Result<TypePtr, ParquetError> {
    let unsigned = |bit_width| LogicalType::integer(bit_width, false);
    let columns = fields.iter().map(|field| {
        let (physical, logical) = match field.kind {
            Kind::U32 => (Physical::INT32, Some(unsigned(32))),
            Kind::U64 => (Physical::INT64, Some(unsigned(64))),
            Kind::I64 => (Physical::INT64, None),
            Kind::F64 => (Physical::DOUBLE, None),
            Kind::Bool => (Physical::BOOLEAN, None),
            Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let repetition = if field.optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let column = Type::primitive_type_builder(&field.name, physical)
            .with_repetition(repetition)
            .with_logical_type(logical);
        column.build().map(Arc::new)
    });
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    Ok(Arc::new(Type::group_type_builder("rows").with_fields(columns).build()?))
}

/// Writes some rows of a column of a row group.
fn put(column: &mut SerializedColumnWriter, values: &Values, rows: Range<usize>) -> Result<(), ParquetError> {
    let levels = values.present.as_ref().map(|present| &present[rows.clone()]);
    let levels: Option<Vec<i16>> =
        levels.map(|levels| levels.iter().map(|&there| i16::from(there)).collect());
    fn of<T: DataType>(
        column: &mut SerializedColumnWriter,
        values: &[T::T],
        levels: Option<&[i16]>,
    ) -> Result<(), ParquetError> {
        column.typed::<T>().write_batch(values, levels, None).map(drop)
    }
    /// Values as the file has them, without those that are null.
    macro_rules! write {
        ($type:ty, $row:ident => $stored:expr) => {{
            let stored: Vec<_> = rows.filter(|&row| values.is_there(row)).map(|$row| $stored).collect();
            of::<$type>(column, &stored, levels.as_deref())
        }};
    }
    match &values.data {
        Data::F64(all) if values.present.is_none() => of::<DoubleType>(column, &all[rows], None),
        Data::U32(all) => write!(Int32Type, row => all[row] as i32),
        Data::U64(all) => write!(Int64Type, row => all[row] as i64),
        Data::I64(all) => write!(Int64Type, row => all[row]),
        Data::F64(all) => write!(DoubleType, row => all[row]),
        Data::Bool(all) => write!(BoolType, row => all[row]),
        Data::Text(all) => {
            let ends =
                rows.clone().next_back().map(|last| (all.range(rows.start).start, all.range(last).end));
            let (first, end) = ends.unwrap_or_default();
            let bytes = Bytes::copy_from_slice(&all.all()[first..end]);
            write!(ByteArrayType, row => {
                let range = all.range(row);
                ByteArray::from(bytes.slice(range.start - first..range.end - first))
            })
        }
    }
}
