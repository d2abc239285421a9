//! `congenial schema`

use crate::failure::Result;
use crate::study;

/// Prints the JSON schema of configs.
pub(super) fn run() -> Result<()> {
    let text = serde_json::to_string_pretty(&study::schema()).expect("plain values");
    super::print(&(text + "\n"))
}
