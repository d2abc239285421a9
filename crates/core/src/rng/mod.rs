//! Random numbers: from a task's key to a stream of words, and from words to draws.
//!
//! A stream is a function of (master seed, cell key, replicate, role), of a piece of a large tree also of its place,
//! and of nothing else, so results do not depend on thread count, order or machine. Every algorithm from the `u64` word
//! up is written here, with `libm` for the elementary functions, so that a library update changes no result.
//!
//! The generator is xoshiro256++: fast, and predictable. Together with floating-point noise it serves
//! experiments; it is not for releasing real data.

mod alias;
mod alias_rows;
mod bounded;
mod exponential;
mod gamma;
mod geometric;
mod normal;
mod odds;
mod packed;
mod piece;
mod stream;
mod uniform;
pub(crate) mod xoshiro;
mod ziggurat;

pub use alias::Alias;
pub(crate) use alias_rows::{AliasLanes, AliasRows};
pub use bounded::below;
pub use exponential::exponential;
pub(crate) use exponential::exponentials;
pub use gamma::gamma;
pub use geometric::geometric;
pub use normal::{normal, normal_cdf, normal_quantile};
pub use odds::Odds;
pub use packed::Packed;
pub(crate) use packed::PackedLanes;
pub use piece::piece_stream;
pub use rand::Rng;
pub use stream::{Role, Stream, TaskKey, stream};
pub use uniform::{open01, sign};
pub use xoshiro::LANES;
pub(crate) use xoshiro::{Row, Streams};
