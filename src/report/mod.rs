//! From the rows of any number of runs to tables: text, markdown, CSV or JSON.

mod agreement;
mod beside;
mod collect;
mod compare;
mod entries;
mod findings;
mod meetings;
mod parts;
mod privacy;
mod published;
mod render;
mod tails;

pub use beside::{BesideRow, beside_from, beside_source_from, read_beside, read_beside_source, write_beside};
pub use collect::{ChainLine, Label, Line, MeetingLine, Report, collect};
pub use compare::{Clock, Compared, Comparison, Verdict, compare};
pub use published::{Published, published_from, read_published};
pub use render::{Format, files, render};
