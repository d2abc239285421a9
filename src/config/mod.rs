//! A config file: read ([`wire`]), overridden (`--set`), checked. What passes here can be run.

mod check;
mod model;
mod overrides;
pub mod wire;

pub use check::read;
pub use model::{Block, Config, DataSource, Exclude, LawKind, Method, SplitSpec};
