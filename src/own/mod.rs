//! Methods that are not ours, as programs: see [`OwnMethod`] for what any of them is; a program speaks a protocol ([`process`]).

pub mod ending;
pub mod process;
mod protocol;
pub mod starting;

pub use congenial_core::methods::own::*;
