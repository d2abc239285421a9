//! Tables of rows: one declaration gives the struct, the writer, the reader, the records of CSV and JSON, and the table in
//! `FORMAT.md`.
//!
//! Rows stream: a writer holds one row group, a reader some rows. What a table holds is known by a hash of its logical rows
//! ([`TableDigest`]); the bytes of a file depend on the library that wrote it.

mod digest;
#[doc(hidden)]
pub mod held;
mod read;
mod texts;
mod value;
mod write;

pub use digest::TableDigest;
pub use read::Reader;
pub(crate) use read::{guarded, open, runs};
pub use texts::Texts;
pub use value::{Data, Key, Value, Values};
pub use write::Writer;
pub(crate) use write::unwritten;

/// Type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Unsigned, 32 bits.
    U32,
    /// Unsigned, 64 bits.
    U64,
    /// Signed, 64 bits.
    I64,
    /// Double precision.
    F64,
    /// True or false.
    Bool,
    /// UTF-8.
    Text,
}

impl Kind {
    /// The name in FORMAT.md and in digests.
    pub fn name(self) -> &'static str {
        match self {
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::I64 => "i64",
            Self::F64 => "f64",
            Self::Bool => "bool",
            Self::Text => "text",
        }
    }
}

/// A column of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: Kind,
    /// Whether it may be null.
    pub optional: bool,
}

impl Field {
    /// A column without nulls.
    pub fn new(name: &str, kind: Kind) -> Self {
        Self { name: name.to_owned(), kind, optional: false }
    }

    /// The type in words.
    pub fn type_words(&self) -> String {
        format!("{}{}", self.kind.name(), if self.optional { ", null" } else { "" })
    }
}

/// A declared column.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// Whether it may be null.
    pub optional: bool,
    /// Its unit; empty for none.
    pub unit: &'static str,
    /// What it means.
    pub meaning: &'static str,
}

impl Column {
    /// The column as a file has it.
    pub fn field(&self) -> Field {
        Field { name: self.name.to_owned(), kind: self.kind, optional: self.optional }
    }
}

/// A row of a declared table: see [`table!`](crate::table!).
pub trait Record: Sized + serde::Serialize {
    /// The file in the folder of a run.
    const FILE: &'static str;
    /// What a row stands for.
    const ABOUT: &'static str;
    /// Its columns, in order.
    const COLUMNS: &'static [Column];
    /// Appends the row to the columns.
    fn put(&self, columns: &mut [Values]);
    /// The row in this place; `None` if a text is no value of its kind.
    fn get(columns: &[Values], row: usize) -> Option<Self>;

    /// The columns as a file has them.
    fn fields() -> Vec<Field> {
        Self::COLUMNS.iter().map(Column::field).collect()
    }
}

/// A declared table, without its type.
#[derive(Debug, Clone, Copy)]
pub struct Declared {
    /// The file in the folder of a run.
    pub file: &'static str,
    /// What a row stands for.
    pub about: &'static str,
    /// Its columns.
    pub columns: &'static [Column],
}

impl Declared {
    /// Describes the table of the record type `R`.
    pub fn of<R: Record>() -> Self {
        Self { file: R::FILE, about: R::ABOUT, columns: R::COLUMNS }
    }

    /// The section of FORMAT.md.
    pub fn markdown(&self) -> String {
        let mut out = format!("## `{}`\n\n{}\n\n", self.file, self.about);
        out += "| column | type | unit | meaning |\n|---|---|---|---|\n";
        for column in self.columns {
            let kind = column.field().type_words();
            out += &format!("| `{}` | {kind} | {} | {} |\n", column.name, column.unit, column.meaning);
        }
        out + "\n"
    }
}

/// Declares a table: its doc comment says what a row stands for, that of a column what it means; after the type comes
/// the unit. An `Estimate`, and an `Option` of one, has two columns: behind `error` is the name of the second, for its
/// standard error, and in braces, as a doc comment, what there is to say of that.
#[macro_export]
macro_rules! table {
    (
        $(#[doc = $about:literal])+
        pub struct $name:ident in $file:literal $(, also $($derived:path),+)? {
            $(
                $(#[doc = $meaning:literal])+
                $field:ident: $type:ty $(, $unit:literal)? $(, error $se:ident $({ $(#[doc = $of_se:literal])+ })?)?;
            )*
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, PartialEq $($(, $derived)+)?)]
        pub struct $name {
            $($(#[doc = $meaning])+ pub $field: $type,)*
        }

        impl $crate::table::Record for $name {
            const FILE: &'static str = $file;
            const ABOUT: &'static str = concat!($($about),+).trim_ascii();
            const COLUMNS: &'static [$crate::table::Column] = &$crate::table::held::complete(
                [$(
                    $crate::table::Column {
                        name: stringify!($field),
                        kind: <$type as $crate::table::held::Held>::KIND,
                        optional: <$type as $crate::table::held::Held>::OPTIONAL,
                        unit: concat!($($unit)?),
                        meaning: concat!($($meaning),+).trim_ascii(),
                    },
                    $($crate::table::Column {
                        name: stringify!($se),
                        kind: $crate::table::Kind::F64,
                        optional: true,
                        unit: "",
                        meaning: concat!($($($of_se),+)?).trim_ascii(),
                    },)?
                )*],
                [$(false, $(stringify!($se).len() > 0,)?)*],
            );

            fn put(&self, columns: &mut [$crate::table::Values]) {
                let mut columns = columns.iter_mut();
                $($crate::table::held::Held::put(&self.$field, &mut columns);)*
            }

            fn get(columns: &[$crate::table::Values], row: usize) -> Option<Self> {
                let mut columns = columns.iter();
                Some(Self { $($field: <$type as $crate::table::held::Held>::get(&mut columns, row)?,)* })
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
                let columns = <Self as $crate::table::Record>::COLUMNS.len();
                let mut fields = serializer.serialize_struct(stringify!($name), columns)?;
                $($crate::table::held::Held::serialize(
                    &self.$field,
                    [stringify!($field), concat!($(stringify!($se))?)],
                    &mut fields,
                )?;)*
                serde::ser::SerializeStruct::end(fields)
            }
        }
    };
}
