//! What a run leaves behind: a folder with tables, configs and a manifest. `FORMAT.md` documents it.

mod entries;
mod folder;
mod manifest;
mod meetings;
mod tables;

pub use entries::{EntryRow, read_entries};
pub use folder::{Claim, RunFolder, claim};
pub use manifest::{Lattice, Manifest};
pub use meetings::{Pair, ReadMarginal, read_marginals, read_meetings};
pub use tables::{ChainSummaryRow, ErrorRow, Errors, Group, read_chains, read_errors, write_tables};

/// Version of the files' layout; readers accept their own.
pub const SCHEMA_VERSION: u32 = 2;
