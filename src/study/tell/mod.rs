//! How rows are told: as records of CSV and JSON, beside published figures, as figures of two runs that are compared.

pub mod beside;
pub(in crate::study) mod figures;
pub mod published;
pub(in crate::study) mod records;
