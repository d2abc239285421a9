//! The ledger of a data set: what every release from it has paid, and what may still be paid.
//!
//! A ledger is one file, a line for each thing that happened: it was opened, a release paid, a release was published. A line is
//! only ever added, and each has the hash of the line before. `FORMAT.md` has the layout.
//!
//! # What holds
//!
//! - **Paid before published.** [`Ledger::spend`] returns after the line is on the disk. A release that goes on from there and fails
//!   stays paid; one whose line was not written has no head to stand in its certificate.
//! - **The limit holds for all releases together**, also of processes at the same time: [`Ledger::open`] holds the lock of the
//!   operating system until it is dropped. Sums are rational numbers; where a formula is in floating point it is rounded up
//!   ([`Account`]).
//! - **What was damaged is found.** A line is covered by its own hash and by all later ones, so that no byte can change. A ledger that
//!   was put back to an earlier state is whole in itself: the heads in the certificates of its releases expose it
//!   ([`History::has`]).
//!
//! Not claimed: that nobody writes another ledger from the beginning. Whoever may write the file can make a chain of hashes; then only
//! the certificates tell.

mod accounting;
mod entry;
mod exact;
mod file;
mod history;
mod limit;
mod page;
mod possible;

pub use accounting::{Account, Left, Pays};
pub use entry::{Entry, FORMAT, Known, Line, Opened, Protects, Published, Spent};
pub use exact::Exact;
pub use file::{Ledger, Opening, RECORDS, Spend, new_id};
pub use history::{Head, History};
pub use limit::Limit;
pub use page::page;
pub use possible::possible;
