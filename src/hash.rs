//! Hashes as text and as words.

use crate::failure::{Failure, Result};
use crate::files;
use serde::{Deserialize, Serialize};
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

/// The SHA-256 of bytes, in hexadecimal.
pub(crate) fn of_bytes(bytes: impl AsRef<[u8]>) -> String {
    hex(Sha256::digest(bytes))
}

/// A file, byte by byte.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDigest {
    /// The number of bytes of the file.
    pub bytes: u64,
    /// SHA-256 of the bytes, in hexadecimal.
    pub sha256: String,
}

impl FileDigest {
    /// The digest of a file as it is on the disk. Errors: as `files::open`.
    pub fn of(path: &Path) -> Result<Self> {
        let (mut file, mut hash) = (files::open(path)?, Sha256::new());
        let (mut buffer, mut bytes) = (vec![0; 1 << 18], 0);
        loop {
            match file.read(&mut buffer).map_err(|e| Failure::io(path, "cannot read", e))? {
                0 => return Ok(Self { bytes, sha256: hex(hash.finalize()) }),
                more => {
                    hash.update(&buffer[..more]);
                    bytes += more as u64;
                }
            }
        }
    }
}
