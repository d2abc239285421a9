//! Columns of a parquet file, one after the other.

use crate::failure::{Failure, Result};
use crate::files;
use crate::table::{guarded, open, runs};
use parquet::basic::{ConvertedType as Converted, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType, FixedLenByteArray};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;
use std::fs::File;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};

/// A data file of either kind.
pub(super) enum Source {
    /// A text.
    Text(File),
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
            _ => {
                file.rewind().map_err(|e| Failure::data(path, e.to_string()))?;
                Self::Text(file)
            }
        })
    }
}

/// What stands in the footer of a data file under a key; `None` of a file that is no parquet, or where nothing does. Refused: a file
/// that cannot be read.
pub fn footer(path: &Path, key: &str) -> Result<Option<String>> {
    let Source::Parquet(file) = Source::open(path)? else { return Ok(None) };
    let parquet = ParquetFile::open(path, file)?;
    let all = parquet.reader.metadata().file_metadata().key_value_metadata();
    let own = all.into_iter().flatten().find(|pair| pair.key == key);
    Ok(own.and_then(|pair| pair.value.clone()))
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

    /// What the column at a place holds; in words, why it cannot be read.
    pub fn kind(&self, place: usize) -> std::result::Result<Kind, String> {
        let schema = self.reader.metadata().file_metadata().schema_descr();
        Kind::of(&schema.column(self.leaf(place)?))
            .map_err(|what| format!("has the type {what}, want integers or text"))
    }

    /// The only leaf of the column at a place. Refused, in words: it has several, or lists.
    fn leaf(&self, place: usize) -> std::result::Result<usize, String> {
        let schema = self.reader.metadata().file_metadata().schema_descr();
        let is_flat = |&leaf: &usize| {
            let column = schema.column(leaf);
            schema.get_column_root_idx(leaf) == place
                && column.path().parts().len() == 1
                && column.max_rep_level() == 0
        };
        let leaf = (0..schema.num_columns()).find(is_flat);
        leaf.ok_or_else(|| "is nested, want integers or text".to_owned())
    }

    /// Hands over all values of the column at a place as texts, `None` for a missing one, each with how often it follows itself
    /// as far as that is easily seen. Numbers that are whole are written as integers, dates as `2020-01-31`.
    ///
    /// Refused: a type that is none of [`Kind`]; what cannot be read; what `take` refuses.
    pub fn read(&self, place: usize, mut take: impl FnMut(Option<&str>, usize) -> Result<()>) -> Result<()> {
        let name = &self.columns[place];
        let refused = |why: String| self.refuse(format!("column `{name}` {why}"));
        let (leaf, kind) = (self.leaf(place).map_err(refused)?, self.kind(place).map_err(refused)?);
        let mut digits = itoa::Buffer::new();
        for group in 0..self.reader.num_row_groups() {
            let group = guarded(|| self.reader.get_row_group(group)).map_err(|e| self.unreadable(e))?;
            match guarded(|| group.get_column_reader(leaf)).map_err(|e| self.unreadable(e))? {
                ColumnReader::ByteArrayColumnReader(reader) => {
                    // Of a dictionary, equal texts are at one place.
                    let same = |a: &ByteArray, b: &ByteArray| std::ptr::eq(a.data(), b.data());
                    self.values(reader, same, |value, times| match (kind, value) {
                        (Kind::Decimal(scale), value) => {
                            let text = value.map(|value| decimal(big_endian(value.data()), scale));
                            take(text.as_deref(), times)
                        }
                        (_, value) => {
                            let text = value.map(|value| std::str::from_utf8(value.data())).transpose();
                            let not = |_| self.refuse(format!("column `{name}`: text that is not UTF-8"));
                            take(text.map_err(not)?, times)
                        }
                    })
                }
                ColumnReader::Int32ColumnReader(reader) => {
                    self.values(reader, i32::eq, |value, times| match (kind, value) {
                        (Kind::Decimal(_) | Kind::Date, Some(&x)) => {
                            take(Some(&kind.text(i64::from(x))), times)
                        }
                        (Kind::Unsigned, Some(&x)) => take(Some(digits.format(x as u32)), times),
                        (_, value) => take(value.map(|&x| digits.format(x)), times),
                    })
                }
                ColumnReader::Int64ColumnReader(reader) => {
                    self.values(reader, i64::eq, |value, times| match (kind, value) {
                        (Kind::Decimal(_), Some(&x)) => take(Some(&kind.text(x)), times),
                        (Kind::Unsigned, Some(&x)) => take(Some(digits.format(x as u64)), times),
                        (_, value) => take(value.map(|&x| digits.format(x)), times),
                    })
                }
                ColumnReader::FixedLenByteArrayColumnReader(reader) => {
                    let Kind::Decimal(scale) = kind else { unreachable!("the type was checked") };
                    let text = |value: &FixedLenByteArray| decimal(big_endian(value.data()), scale);
                    self.values(reader, FixedLenByteArray::eq, |value, times| {
                        take(value.map(text).as_deref(), times)
                    })
                }
                ColumnReader::DoubleColumnReader(reader) => {
                    let same = |a: &f64, b: &f64| a.to_bits() == b.to_bits();
                    self.values(reader, same, |value, times| {
                        take(value.copied().and_then(real).as_deref(), times)
                    })
                }
                ColumnReader::FloatColumnReader(reader) => {
                    let same = |a: &f32, b: &f32| a.to_bits() == b.to_bits();
                    self.values(reader, same, |value, times| {
                        take(value.copied().and_then(single).as_deref(), times)
                    })
                }
                ColumnReader::BoolColumnReader(reader) => {
                    let text = |value: &bool| if *value { "true" } else { "false" };
                    self.values(reader, bool::eq, |value, times| take(value.map(text), times))
                }
                ColumnReader::Int96ColumnReader(_) => unreachable!("the type was checked"),
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

/// What a column holds whose values are texts or can be written as texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Integer,
    Unsigned,
    /// Floating point.
    Real,
    /// Decimals, so many of them.
    Decimal(u32),
    Boolean,
    /// Days since 1970.
    Date,
}

impl Kind {
    /// What a column holds; the name of another type. Of every logical type the library tells the converted type.
    fn of(column: &ColumnDescriptor) -> std::result::Result<Self, String> {
        let (logical, converted) = (column.logical_type_ref(), column.converted_type());
        let integers = matches!(column.physical_type(), Physical::INT32 | Physical::INT64);
        match (column.physical_type(), converted) {
            (Physical::BYTE_ARRAY, Converted::UTF8 | Converted::ENUM | Converted::JSON) => Ok(Self::Text),
            (_, Converted::INT_8 | Converted::INT_16 | Converted::INT_32 | Converted::INT_64) if integers => {
                Ok(Self::Integer)
            }
            (_, Converted::UINT_8 | Converted::UINT_16 | Converted::UINT_32 | Converted::UINT_64)
                if integers =>
            {
                Ok(Self::Unsigned)
            }
            (_, Converted::NONE) if integers && logical.is_none() => Ok(Self::Integer),
            (Physical::INT32, Converted::DATE) => Ok(Self::Date),
            (Physical::DOUBLE | Physical::FLOAT, Converted::NONE) if logical.is_none() => Ok(Self::Real),
            (Physical::BOOLEAN, Converted::NONE) if logical.is_none() => Ok(Self::Boolean),
            (Physical::FIXED_LEN_BYTE_ARRAY | Physical::BYTE_ARRAY, Converted::DECIMAL)
                if column.type_length() <= 16 =>
            {
                u32::try_from(column.type_scale()).map(Self::Decimal).map_err(|e| e.to_string())
            }
            (_, Converted::DECIMAL) if integers => {
                u32::try_from(column.type_scale()).map(Self::Decimal).map_err(|e| e.to_string())
            }
            (physical, _) => Err(match logical {
                Some(logical) => format!("{logical:?}"),
                None if converted != Converted::NONE => converted.to_string(),
                None => physical.to_string(),
            }),
        }
    }

    /// A number of this kind as a text.
    fn text(self, x: i64) -> String {
        match self {
            Self::Decimal(scale) => decimal(Some(i128::from(x)), scale),
            Self::Date => date(x),
            _ => x.to_string(),
        }
    }
}

/// Floating point as a text, of which whole numbers are integers; none for what is no number.
fn real(x: f64) -> Option<String> {
    // 0 has no sign here.
    let x = if x == 0.0 { 0.0 } else { x };
    (!x.is_nan()).then(|| x.to_string())
}

/// As [`real`]; numbers above 2^24, which may be rounded, are written as spreadsheets write rounded ones.
fn single(x: f32) -> Option<String> {
    let rounded = x.is_finite() && x.abs() > 16_777_216.0;
    let x = if x == 0.0 { 0.0 } else { x };
    (!x.is_nan()).then(|| if rounded { format!("{x:E}").replace('E', "E+") } else { x.to_string() })
}

/// A number of at most 16 bytes, the highest first, of which the first bit is the sign; `None` of more.
fn big_endian(bytes: &[u8]) -> Option<i128> {
    let negative = bytes.first().is_some_and(|byte| *byte >= 0x80);
    let first = if negative { -1 } else { 0 };
    (bytes.len() <= 16).then(|| bytes.iter().fold(first, |x, &byte| x << 8 | i128::from(byte)))
}

/// A number with so many decimals; those that are 0 are left out.
fn decimal(x: Option<i128>, scale: u32) -> String {
    let Some(x) = x else { return "a decimal of more than 16 bytes".into() };
    let digits = format!("{:0>width$}", x.unsigned_abs(), width = scale as usize + 1);
    let (whole, decimals) = digits.split_at(digits.len() - scale as usize);
    let decimals = decimals.trim_end_matches('0');
    let (sign, point) = (if x < 0 { "-" } else { "" }, if decimals.is_empty() { "" } else { "." });
    format!("{sign}{whole}{point}{decimals}")
}

/// The day so many days after 1970-01-01, as `2020-01-31`: Hinnant, chrono-compatible low-level date algorithms,
/// `civil_from_days`.
fn date(days: i64) -> String {
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // Months from March on.
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!("{:04}-{month:02}-{day:02}", year + era * 400 + next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_days_are_written() {
        assert_eq!([4.0, -0.0, 1.5, 9e15].map(|x| real(x).unwrap()), ["4", "0", "1.5", "9000000000000000"]);
        assert_eq!(real(f64::NAN), None);
        assert_eq!([4.0f32, 0.1, 16_777_216.0].map(|x| single(x).unwrap()), ["4", "0.1", "16777216"]);
        assert_eq!(single(33_554_432.0).unwrap(), "3.3554432E+7");
        assert_eq!(single(f32::NAN), None);
        let decimals = [(1200, 2), (-5, 2), (7, 0), (1250, 3)].map(|(x, scale)| decimal(Some(x), scale));
        assert_eq!(decimals, ["12", "-0.05", "7", "1.25"]);
        assert_eq!(big_endian(&[0xff, 0x38]), Some(-200));
        assert_eq!(big_endian(&[0, 200]), Some(200));
        assert_eq!(big_endian(&[]), Some(0));
        // Day by day through four centuries, by the calendar's rule.
        let (mut year, mut month, mut day) = (1900, 1, 1);
        for days in -25_567..120_000 {
            assert_eq!(date(days), format!("{year:04}-{month:02}-{day:02}"));
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let last = match month {
                2 => 28 + i32::from(leap),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            (day, month, year) = match (day == last, month) {
                (false, _) => (day + 1, month, year),
                (true, 12) => (1, 1, year + 1),
                (true, _) => (1, month + 1, year),
            };
        }
    }
}
