//! A config file: read ([`wire`]), overridden (`--set`), checked. What passes here can be run.

mod check;
mod overrides;
pub mod wire;

pub use check::{Block, Config, DataSource, Exclude, LawKind, Method, SplitSpec, read};
