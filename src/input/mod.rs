//! Data files: tables of counts, and the raw records they are counted from.

mod aggregate;
mod csv_table;
mod hierarchy_table;

pub use aggregate::{Aggregate, Counted, aggregate};
pub use csv_table::CsvTable;
pub use hierarchy_table::HierarchyTable;
