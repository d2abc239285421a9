//! Real releases.

pub mod ledger;
