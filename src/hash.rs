//! Hashes as text and as words.

use crate::failure::{Failure, Result};
use crate::files;
use sha2::{Digest, Sha256};
use std::io::Read;
use std::path::Path;

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: impl AsRef<[u8]>) -> String {
    bytes.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The first 64 bits of the SHA-256 of a text.
pub(crate) fn word(text: &str) -> u64 {
    let digest = Sha256::digest(text.as_bytes());
    u64::from_be_bytes(digest[..8].try_into().expect("a digest has 32 bytes"))
}

/// The SHA-256 of a file, in hexadecimal. Errors: reading it.
pub(crate) fn of_file(path: &Path) -> Result<String> {
    let (mut file, mut hash, mut block) = (files::open(path)?, Sha256::new(), vec![0u8; 1 << 16]);
    loop {
        match file.read(&mut block).map_err(|e| Failure::io(path, "cannot read", e))? {
            0 => return Ok(hex(hash.finalize())),
            n => hash.update(&block[..n]),
        }
    }
}

/// The SHA-256 of bytes, in hexadecimal.
pub(crate) fn of_bytes(bytes: &[u8]) -> String {
    hex(Sha256::digest(bytes))
}
