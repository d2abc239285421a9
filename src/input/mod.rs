//! Data files: tables of counts, and the raw records they are counted from.

mod aggregate;
mod areas;
mod asked;
mod between;
mod column;
mod csv_table;
mod encoding;
mod guess;
mod hierarchy_table;
mod invariant_table;
mod known;
mod leaf_list;
mod noisy;
mod numbers;
mod parquet_file;
mod rows;
mod separator;
mod source;
mod subject;
mod table_writer;
mod tabulate;

pub use aggregate::{Aggregate, Counted, Counts, aggregate, count_csv, join};
pub use areas::{AreaColumns, AreaKeys, NOISY_TABLES, depth, joined, names_above};
pub use asked::{Answered, Asked, KeptNodes, Query, read_subject};
pub use csv_table::{CsvTable, Wanted};
pub use guess::{Guess, Wishes};
pub use hierarchy_table::HierarchyTable;
pub use invariant_table::{InvariantTable, Refusal, System, matrix_from_reader, read_matrix};
pub use leaf_list::LeafList;
pub use noisy::{NOISY, NOISY_INVARIANTS, NoisyRow};
pub use numbers::{counts_or_blank, whole_counts};
pub use parquet_file::footer;
pub use source::{Bound, DataSource, InvariantSpec, Keep, Known, NodeInequality, NodeName, Shape, within_of};
pub use subject::Subject;
pub use table_writer::{TableWriter, Value};
pub use tabulate::{Tabulate, Tabulated, tabulate};
