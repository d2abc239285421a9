//! Reading a table, some rows at a time.

use super::{Data, Field, Kind, Record, Values};
use crate::failure::{Failure, Result};
use crate::files;
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;
use std::cell::Cell;
use std::fs::File;
use std::iter::repeat_n;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Once;

/// Rows that are handed on at once.
const ROWS: usize = 1 << 11;
/// Values of a column that are decoded at once.
const BATCH: usize = 1 << 10;

/// A file that is being read.
pub struct Reader {
    path: PathBuf,
    file: SerializedFileReader<File>,
    fields: Vec<Field>,
}

impl Reader {
    /// Opens a file. Refused: what is no parquet file; columns of types that no table of ours has.
    pub fn open(path: &Path) -> Result<Self> {
        let file = open(path, files::open(path)?)?;
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

    /// Goes through the rows, some at a time, as long as `each` returns true. Errors: of the file, and of `each`.
    pub fn groups(&self, mut each: impl FnMut(&[Values]) -> Result<bool>) -> Result<()> {
        let bad = |e: ParquetError| Failure::data(&self.path, format!("cannot be read: {e}"));
        for i in 0..self.file.num_row_groups() {
            let group = guarded(|| self.file.get_row_group(i)).map_err(bad)?;
            let rows = group.metadata().num_rows().max(0) as usize;
            let readers = (0..self.fields.len()).map(|i| guarded(|| group.get_column_reader(i)));
            let mut readers = readers.collect::<std::result::Result<Vec<_>, _>>().map_err(bad)?;
            for start in (0..rows).step_by(ROWS) {
                let rows = ROWS.min(rows - start);
                let columns =
                    readers.iter_mut().zip(&self.fields).map(|(reader, field)| values(reader, field, rows));
                let columns = columns.collect::<std::result::Result<Vec<_>, _>>().map_err(bad)?;
                if !each(&columns)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Goes through the wanted rows as records, as long as `each` returns true. Refused: other columns than those of
    /// the record, a text that is no value of its kind.
    pub fn each<R: Record>(
        &self,
        wanted: impl Fn(&[Values], usize) -> bool,
        mut each: impl FnMut(R) -> Result<bool>,
    ) -> Result<()> {
        let fields = R::fields();
        if let Some(missing) = fields.iter().find(|field| !self.fields.contains(field)) {
            let message = match self.fields.iter().find(|field| field.name == missing.name) {
                None => format!("no column `{}`", missing.name),
                Some(other) => {
                    let (is, want) = (other.type_words(), missing.type_words());
                    format!("column `{}` is of the type {is}, want {want}", missing.name)
                }
            };
            return Err(Failure::data(&self.path, message));
        }
        if self.fields != fields {
            return Err(Failure::data(
                &self.path,
                "the columns are not those of this version, or in another order",
            ));
        }
        self.groups(|columns| {
            for row in (0..columns.first().map_or(0, Values::len)).filter(|&row| wanted(columns, row)) {
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
    if column.max_rep_level() > 0 || column.path().parts().len() > 1 {
        return Err(format!("column `{name}` is nested, which no table here is"));
    }
    let optional = column.self_type().get_basic_info().repetition() == Repetition::OPTIONAL;
    Ok(Field { name, kind, optional })
}

/// The next rows of a column of a row group.
fn values(
    column: &mut ColumnReader,
    field: &Field,
    rows: usize,
) -> std::result::Result<Values, ParquetError> {
    let Values { mut data, mut present } = Values::new(field.kind, field.optional, rows);
    let mut mark = |there: usize, missing: usize| {
        if let Some(present) = &mut present {
            present.extend(repeat_n(true, there));
            present.extend(repeat_n(false, missing));
        }
    };
    macro_rules! fill {
        ($reader:expr, $all:expr, $convert:expr) => {
            runs(
                $reader,
                rows,
                |e| e,
                |values, missing| {
                    mark(values.len(), missing);
                    $all.extend(values.iter().map($convert));
                    $all.resize($all.len() + missing, Default::default());
                    Ok(())
                },
            )?
        };
    }
    let read = match (column, &mut data) {
        (ColumnReader::BoolColumnReader(reader), Data::Bool(all)) => fill!(reader, all, |&x| x),
        (ColumnReader::Int32ColumnReader(reader), Data::U32(all)) => fill!(reader, all, |&x| x as u32),
        (ColumnReader::Int64ColumnReader(reader), Data::U64(all)) => fill!(reader, all, |&x| x as u64),
        (ColumnReader::Int64ColumnReader(reader), Data::I64(all)) => fill!(reader, all, |&x| x),
        (ColumnReader::DoubleColumnReader(reader), Data::F64(all)) => fill!(reader, all, |&x| x),
        (ColumnReader::ByteArrayColumnReader(reader), Data::Text(all)) => runs(
            reader,
            rows,
            |e| e,
            |values, missing| {
                mark(values.len(), missing);
                values.iter().for_each(|text| all.push(text.data()));
                (0..missing).for_each(|_| all.push(&[]));
                Ok(())
            },
        )?,
        _ => return Err(ParquetError::General("a type that no table here has".into())),
    };
    match read == rows {
        true => Ok(Values { data, present }),
        false => Err(ParquetError::General("a column ends early".into())),
    }
}

thread_local! {
    /// Whether a panic is somebody else's, who read a file.
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Calls the library that reads parquet. On some damaged files it panics: that is an error of the file, and no panic of ours.
pub(crate) fn guarded<T>(
    work: impl FnOnce() -> std::result::Result<T, ParquetError>,
) -> std::result::Result<T, ParquetError> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !GUARDED.get() {
                hook(panic)
            }
        }));
    });
    GUARDED.set(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(false);
    done.unwrap_or_else(|panic| {
        let text =
            panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        Err(ParquetError::General(format!("damaged ({})", text.unwrap_or("its reader gave up"))))
    })
}

/// A parquet file of anybody. Refused: what is none.
pub(crate) fn open(path: &Path, file: File) -> Result<SerializedFileReader<File>> {
    guarded(|| SerializedFileReader::new(file))
        .map_err(|e| Failure::data(path, format!("not a readable parquet file: {e}")))
}

/// Hands on the next rows of a column of a row group, at most so many, in pieces: values, then how many are missing behind them;
/// returns how many rows there were. `bad`: what an error of the file becomes.
pub(crate) fn runs<T: DataType, E>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    bad: impl Fn(ParquetError) -> E,
    mut take: impl FnMut(&[T::T], usize) -> std::result::Result<(), E>,
) -> std::result::Result<usize, E> {
    let room = BATCH.min(rows);
    let (mut values, mut levels, mut read) = (Vec::with_capacity(room), Vec::new(), 0);
    while read < rows {
        values.clear();
        levels.clear();
        let most = BATCH.min(rows - read);
        let read_records = || reader.read_records(most, Some(&mut levels), None, &mut values);
        let (here, ..) = guarded(read_records).map_err(&bad)?;
        if here == 0 {
            break;
        }
        read += here;
        if values.len() == here {
            take(&values, 0)?;
            continue;
        }
        let mut rest = &values[..];
        for run in levels.chunk_by(i16::eq) {
            let (here, after) = rest.split_at(if run[0] > 0 { run.len() } else { 0 });
            take(here, run.len() - here.len())?;
            rest = after;
        }
    }
    Ok(read)
}
