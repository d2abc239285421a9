//! What a run leaves behind: a folder with tables, configs and a manifest. `FORMAT.md` documents it.

mod agreement;
mod digest;
mod entries;
mod findings;
mod folder;
mod journal;
mod manifest;
mod meetings;
mod parts;
mod privacy;
mod process;
mod tables;

pub use agreement::{AgreementRow, read_agreement};
pub use digest::TableDigest;
pub use entries::{EntryRow, read_entries};
pub use findings::{FindingRow, read_findings, write_findings};
pub use folder::{Claim, Earlier, RESOLVED, RunFolder, claim, freeze, shard};
pub use journal::{Identity, Journal, Part};
pub use manifest::{About, Lattice, Manifest, ShardRecord};
pub use meetings::{Pair, ReadMarginal, read_marginals, read_meetings};
pub use parts::{PartRow, read_parts};
pub use privacy::{PaidRow, read_privacy};
pub use process::{Process, Started};
pub use tables::{ChainSummaryRow, ErrorRow, Errors, Group, Paid, read_chains, read_errors, write_tables};

/// Version of the files' layout; readers accept their own.
pub const SCHEMA_VERSION: u32 = 4;
