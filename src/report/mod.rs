//! From the runs of any number of folders to pages, records and comparisons.

mod compare;
mod html;
mod render;
mod sizes;

pub use compare::{By, Clock, Compared, Comparison, Verdict, compare, compare_within};
pub use render::{Look, Report, figures, summarize, write, write_figures, write_files};
