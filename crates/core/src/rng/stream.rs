//! The random stream of a task.

use super::xoshiro::Xoshiro256PlusPlus;
use rand::SeedableRng;
use sha2::{Digest, Sha256};

/// The generator of every stream.
pub type Stream = Xoshiro256PlusPlus;

/// What a stream is used for inside one replicate: streams of different roles are independent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Role {
    /// Noise of the mechanism, and every draw of a method that has no chain.
    Noise = 0,
    /// The starting point of a chain.
    Start = 1,
    /// The moves of a chain.
    Moves = 2,
    /// A group of coupled chains: all their starts, then their moves.
    Group = 3,
    /// The seed of a method that is not ours.
    Own = 4,
}

/// Names one random stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskKey {
    /// The master seed of the run.
    pub seed: u64,
    /// The key of the cell: a hash of what the cell is.
    pub cell: u64,
    /// The replicate, from 0.
    pub replicate: u64,
    /// The use of the stream.
    pub role: Role,
}

/// The stream of a task: xoshiro256++ with the SHA-256 digest of the key as its 256-bit state.
///
/// The digest is taken over the ASCII tag `congenial stream 1`, then seed, cell and replicate as
/// little-endian 64-bit words, then the role as one byte. Two keys that differ share a stream with
/// probability 2^-256.
///
/// # Examples
///
/// ```
/// use congenial_core::rng::{Role, TaskKey, open01, stream};
///
/// let key = TaskKey { seed: 1, cell: 7, replicate: 0, role: Role::Noise };
/// let first = open01(&mut stream(key));
/// assert_eq!(open01(&mut stream(key)), first); // the same key, the same words
/// assert_ne!(open01(&mut stream(TaskKey { replicate: 1, ..key })), first);
/// assert_ne!(open01(&mut stream(TaskKey { role: Role::Moves, ..key })), first);
/// ```
pub fn stream(key: TaskKey) -> Stream {
    Stream::from_seed(hashed(key).finalize().into())
}

/// The key of a task, hashed so far.
pub(super) fn hashed(key: TaskKey) -> Sha256 {
    let mut hash = Sha256::new();
    hash.update(b"congenial stream 1");
    hash.update(key.seed.to_le_bytes());
    hash.update(key.cell.to_le_bytes());
    hash.update(key.replicate.to_le_bytes());
    hash.update([key.role as u8]);
    hash
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;

    const KEY: TaskKey = TaskKey { seed: 1, cell: 2, replicate: 3, role: Role::Noise };

    #[test]
    fn every_part_of_the_key_changes_the_stream() {
        let first = |key| stream(key).next_u64();
        let words = [
            first(KEY),
            first(TaskKey { seed: 2, ..KEY }),
            first(TaskKey { cell: 3, ..KEY }),
            first(TaskKey { replicate: 4, ..KEY }),
            first(TaskKey { role: Role::Start, ..KEY }),
            first(TaskKey { role: Role::Moves, ..KEY }),
            first(TaskKey { role: Role::Group, ..KEY }),
        ];
        for (i, a) in words.iter().enumerate() {
            assert!(words[..i].iter().all(|b| a != b));
        }
    }
}
