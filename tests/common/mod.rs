//! What the tests share.
#![allow(dead_code, unused_imports)]

#[path = "../../src/testing.rs"]
mod testing;

pub use testing::*;

use congenial::invariant::Hierarchy;

/// Two-sided normal quantile of [`ALPHA`].
pub const Z_ALPHA: f64 = 4.9;

/// The taxi hierarchy without its counts: 6 boroughs with their numbers of zones.
pub fn taxi_shape() -> Hierarchy {
    let mut parents = vec![0; 7];
    for (borough, zones) in [43, 61, 1, 69, 69, 20].into_iter().enumerate() {
        parents.extend(std::iter::repeat_n(borough + 1, zones));
    }
    Hierarchy::from_parents(&parents).unwrap()
}
