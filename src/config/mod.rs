//! A config file: read by its study ([`wire`]), overridden (`--set`), checked. What passes here can be run.

pub mod axes;
mod check;
mod checker;
pub(crate) mod data;
mod excerpt;
mod excluded;
mod invariants;
mod limits;
mod methods;
mod model;
pub mod names;
mod nearest;
mod overrides;
mod own;
mod part;
mod preface;
mod queries;
mod schema;
mod split;
pub(crate) mod tables;
pub mod values;
pub mod wire;

pub use axes::{AXES, AxisName, AxisRow, Exclude, Point};
pub(crate) use check::DEFAULT_MAX_STEPS;
pub use check::Section;
pub use checker::{Checker, Shown};
pub use invariants::Invariants;
pub use limits::MOST_CELLS;
pub use model::{Block, Config, DEFAULT_STUDY, Queries, QuerySpec, Thresholds};
pub(crate) use nearest::one_of;
pub use overrides::apply;
pub use part::{CellPart, ConfigPart};
pub use preface::Preface;
pub use schema::schema;
pub use split::SplitSpec;
