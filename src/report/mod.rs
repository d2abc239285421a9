//! From the rows of any number of runs to tables: text, markdown, CSV or JSON.

mod collect;
mod published;
mod render;

pub use collect::{ChainLine, Label, Line, Report, collect};
pub use published::{Published, read_published};
pub use render::{Format, render};
