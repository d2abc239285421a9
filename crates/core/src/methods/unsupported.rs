//! What does not go together.

use crate::Error;

/// The error that a method does not serve something; the config refuses these before a run begins.
pub fn unsupported(method: &'static str, what: &str) -> Error {
    Error::Unsupported { method, what: what.to_owned(), reason: "they do not go together" }
}
