//! `congenial schema`

use crate::config;
use crate::failure::Result;

/// The JSON schema of configs.
pub(super) fn run() -> Result<()> {
    let text = serde_json::to_string_pretty(&config::schema()).expect("plain values");
    super::print(&(text + "\n"))
}
