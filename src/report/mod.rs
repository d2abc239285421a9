//! From the runs of any number of folders to pages, records and comparisons.

mod compare;
mod html;
mod render;

pub use compare::{Clock, Compared, Comparison, Verdict, compare};
pub use render::{Look, Report, summarize, write, write_figures, write_files};
