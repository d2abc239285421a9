//! Lines of a ledger: what stands in one, and how it is sealed.

use super::accounting::Pays;
use super::limit::Limit;
use crate::hash;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the layout.
pub const FORMAT: u32 = 1;

/// A count that a release gives as it is: of the records with these values in these columns. Without any it is the total.
pub type Known = BTreeMap<String, String>;

/// The change of the data that a ledger protects: all its releases are charged for this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Protects {
    /// A unit is moved to other counts.
    Moved,
    /// A unit is added or removed.
    Added,
}

impl Protects {
    /// What happens to the unit, in a word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Moved => "moved",
            Self::Added => "added or removed",
        }
    }
}

/// A line.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// Its number, from 1.
    pub line: u64,
    /// When it was written, UTC, by the machine's clock.
    pub time: String,
    /// The hash of the line before; empty in the first.
    pub before: String,
    /// What happened.
    pub entry: Entry,
}

/// What happened.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Entry {
    /// The ledger was opened: the first line, and no other.
    Opened(Opened),
    /// A release has paid. It stays paid, whether it was published or not.
    Spent(Spent),
    /// A release was published.
    Published(Published),
}

/// What a ledger is for.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Opened {
    /// Version of the layout.
    pub format: u32,
    /// A random name of the data set, 32 hexadecimal digits. It is no function of the data.
    pub id: String,
    /// What is protected, in words: "one trip".
    pub unit: String,
    /// Records that a unit has at most.
    pub records: u64,
    /// The change of the data against which it is protected.
    pub protects: Protects,
    /// What all releases may pay together.
    pub limit: Limit,
    /// Version of the tool that opened it.
    pub version: String,
}

/// What a release has paid.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spent {
    /// A random name of the release, as of [`new_id`](super::new_id).
    pub release: String,
    /// The name of what is released.
    pub product: String,
    /// SHA-256 of its config, 64 hexadecimal digits.
    pub config_sha256: String,
    /// SHA-256 of its public list of leaves, 64 hexadecimal digits.
    pub domain_sha256: String,
    /// The law of the noise.
    pub law: String,
    /// What it pays for a change of one unit, all its records and all counts together.
    pub pays: Pays,
    /// The counts that it gives as they are.
    pub known: Vec<Known>,
}

/// What was published.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// The name of the release.
    pub release: String,
    /// SHA-256 of its certificate, 64 hexadecimal digits.
    pub certificate_sha256: String,
}

/// What stands between a line and its own hash.
const SEAL: &str = ",\"sha256\":\"";
/// What stands behind it.
const END: &str = "\"}";
/// Digits of a hash.
pub(super) const DIGITS: usize = 64;

impl Line {
    /// The line with its hash, and a line break; and the hash.
    pub(super) fn sealed(&self) -> (String, String) {
        let text = serde_json::to_string(self).expect("a line has only plain fields");
        let body = text.strip_suffix('}').expect("it is an object");
        let hash = hash::of_bytes(body);
        (format!("{body}{SEAL}{hash}{END}\n"), hash)
    }

    /// Reads a line without its line break; and its hash. `number` and `before`: what it must say of itself. Errors: what is wrong, in
    /// words.
    pub(super) fn read(bytes: &[u8], number: u64, before: &str) -> Result<(Self, String), String> {
        let cut = "it does not end with its hash, want `,\"sha256\":\"…\"}` with 64 digits";
        let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
        let rest = text.strip_suffix(END).ok_or(cut)?;
        let (rest, stated) = rest.split_at_checked(rest.len().saturating_sub(DIGITS)).ok_or(cut)?;
        let body = rest.strip_suffix(SEAL).ok_or(cut)?;
        let hash = hash::of_bytes(body);
        if stated != hash {
            return Err(format!("it was changed: its hash should be {hash}, and it says {stated}"));
        }
        let line: Self = serde_json::from_str(&format!("{body}}}")).map_err(|e| {
            format!("it is whole, and no line that this version ({}) writes: {e}", env!("CARGO_PKG_VERSION"))
        })?;
        if line.line != number {
            return Err(format!("it says that it is line {}: a line was added, removed or moved", line.line));
        }
        if line.before != before {
            let message = format!(
                "it follows a line with the hash `{}`, and the line before has `{before}`: a line was added, removed or changed",
                line.before
            );
            return Err(message);
        }
        Ok((line, hash))
    }
}

/// Whether a text is so many hexadecimal digits, small ones.
pub(super) fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}
