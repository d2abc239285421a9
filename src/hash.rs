//! Hashes as text and as words.

use sha2::{Digest, Sha256};

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: impl AsRef<[u8]>) -> String {
    bytes.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The first 64 bits of the SHA-256 of a text.
pub(crate) fn word(text: &str) -> u64 {
    let digest = Sha256::digest(text.as_bytes());
    u64::from_be_bytes(digest[..8].try_into().expect("a digest has 32 bytes"))
}

/// The SHA-256 of bytes, in hexadecimal.
pub(crate) fn of_bytes(bytes: impl AsRef<[u8]>) -> String {
    hex(Sha256::digest(bytes))
}
