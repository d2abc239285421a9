//! How rows are told: as records of CSV and JSON, beside published figures, as figures of two runs that are compared, as one table.

pub mod beside;
pub(in crate::study) mod figures;
pub(in crate::study) mod frame;
pub mod published;
pub(in crate::study) mod records;
