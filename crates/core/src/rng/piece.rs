//! The random stream of a piece of a task.

use super::stream::{Stream, TaskKey, hashed};
use rand::SeedableRng;
use sha2::Digest;

/// The random stream of one piece of a task: of a range of the nodes of a level of a tree.
///
/// The key is hashed as by [`super::stream`], with level and piece as little-endian 32-bit words behind the role. What
/// is hashed is then longer than for a task without pieces, so that no piece shares the stream of a task.
pub fn piece_stream(key: TaskKey, level: u32, piece: u32) -> Stream {
    let mut hash = hashed(key);
    hash.update(level.to_le_bytes());
    hash.update(piece.to_le_bytes());
    Stream::from_seed(hash.finalize().into())
}

#[cfg(test)]
mod tests {
    use super::super::{Role, stream};
    use super::*;
    use rand::Rng;

    #[test]
    fn every_piece_has_a_stream_of_its_own() {
        let key = TaskKey { seed: 1, cell: 2, replicate: 3, role: Role::Noise };
        let mut words = vec![stream(key).next_u64()];
        for (level, piece) in [(0, 0), (0, 1), (1, 0), (1, 1), (256, 0), (0, 256)] {
            words.push(piece_stream(key, level, piece).next_u64());
            words.push(piece_stream(TaskKey { replicate: 4, ..key }, level, piece).next_u64());
        }
        for (i, a) in words.iter().enumerate() {
            assert!(words[..i].iter().all(|b| a != b));
        }
    }
}
