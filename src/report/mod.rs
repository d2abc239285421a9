//! From the runs of any number of folders to pages, records and comparisons.

mod compare;
mod render;

pub use compare::{Clock, Compared, Comparison, Verdict, compare};
pub use render::{Report, write, write_files};
