//! How rows are told: as records of CSV and JSON, in groups on a page, beside published figures, as figures of two runs that are compared.

pub mod beside;
pub(in crate::study) mod figures;
pub(in crate::study) mod groups;
pub mod published;
pub(in crate::study) mod records;
