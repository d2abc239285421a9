//! The folder of a run: its journal while it is drawn, its tables, configs and manifest. `FORMAT.md` documents it.

mod folder;
mod journal;
mod manifest;
mod process;
mod run;

pub use crate::hash::FileDigest;
pub use folder::{
    BESIDE, Claim, Earlier, Free, GIVEN, PUBLISHED, RESOLVED, RowsFile, RunFolder, TableFile, claim, free,
    shard,
};
pub(crate) use journal::locked;
pub use journal::{Batch, BatchKey, Identity, Journal, Spot, hash_of, next};
pub use manifest::{About, DataSet, Lattice, Manifest, ShardRecord, sealed};
pub(crate) use process::now;
pub use process::{Process, Started};
pub use run::Run;

/// Version of the files' layout; readers accept their own.
pub const SCHEMA_VERSION: u32 = 16;
