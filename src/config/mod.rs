//! A config file: read ([`wire`]), overridden (`--set`), checked. What passes here can be run.

mod check;
mod excerpt;
mod invariants;
mod limits;
mod methods;
mod model;
mod overrides;
mod schema;
pub mod wire;
mod worlds;

pub use check::{Document, load, read};
pub use limits::MOST_CELLS;
pub use model::{
    Beside, Block, Config, DataSource, Exclude, InvariantSpec, LawKind, Method, MethodKind, Shape, SplitSpec,
    Study, Thresholds, basis_name, source_name,
};
pub use schema::schema;
pub use worlds::WorldsConfig;
