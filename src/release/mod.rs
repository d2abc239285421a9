//! A real release of counts on a tree: exact noise that never saw the data, a ledger, a certificate, and files that anybody can
//! compute again.
//!
//! **The noise is drawn before the data are opened.** Under equations its law does not depend on the counts, so that nothing that is
//! chosen on the way can. A release goes through these steps, each of which takes from those before alone:
//!
//! 1. The config is read (`config`), and the public list of leaves, which is the tree (a [`LeafList`](crate::input::LeafList)).
//! 2. What it pays is stated as a rational number (`statement`), and everything is done that does not depend on counts (`foreseen`), so
//!    that what can be refused is refused here.
//! 3. The ledger is locked, the limit checked, and the loss booked on the disk ([`ledger`]).
//! 4. The noise is drawn (`noise`), by `congenial-exact-noise`.
//! 5. The data are opened, and checked against the list (`counts`); `y = x + z`.
//! 6. The noisy file is written (`noisy`), then what is a public function of it (`public`), then the certificate (`certificate`, its
//!    `page`, its `registry` record).
//! 7. The folder gets its name, and the ledger says that it was published.
//!
//! What stops after step 3 stays paid. `make` does all of it, `plan` steps 1 and 2, `validate` what step 5 would refuse, `check` step 6
//! again.

mod booked;
mod certificate;
mod check;
mod config;
mod counts;
mod foreseen;
mod known;
pub mod ledger;
mod make;
mod noise;
mod noisy;
mod page;
mod plan;
mod public;
mod registry;
mod statement;

pub use booked::booked;
pub use certificate::{Certificate, Head, Issued, Level, Pays};
pub use check::check;
pub use config::{Config, Data, Privacy, Product, Publish, Table};
pub use make::{Made, make, validate};
pub use plan::plan;
pub use statement::Statement;
