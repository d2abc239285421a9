//! Integer noise for a real release of counts: exactly the law that is named, from the randomness of the operating system.
//!
//! | noise | what draws it |
//! |---|---|
//! | independent counts | [`Free`], [`free`] |
//! | groups of counts whose totals are known: noise that sums to zero | [`ZeroSum`], [`partition`] |
//! | trees of counts, each measured or known, parents the sums of their children | [`Tree`] |
//!
//! The [`Law`] of a count is double geometric or discrete Gaussian, with a dyadic [`Base`] that is made of a [`Ratio`]: what a
//! count may pay. [`Base::loss`] states what it does pay, rounded up.
//!
//! ```
//! use congenial_exact_noise::{Base, Law, Ratio, System, add, partition};
//!
//! let epsilon: Ratio = "0.25".parse()?; // of a record in one count
//! let law = Law::DoubleGeometric(Base::from_loss(&epsilon)?);
//! // The noise is drawn before the data are opened: two groups, whose totals stay as they are.
//! let noise = partition(law, &[3, 2], &mut System::new())?;
//! let released = add(&[10, 0, 7, 4, 4], &noise)?;
//! assert_eq!(released[..3].iter().sum::<i64>(), 17);
//! # Ok::<(), congenial_exact_noise::Error>(())
//! ```
//!
//! # What holds
//!
//! - Outcomes have the probabilities of the law to the last digit: numbers are integers, of any size where it takes them, and a
//!   comparison that the bits at hand do not decide draws more bits and computes more digits. No floating point.
//! - Noise is no function of the data: nothing here but [`add`] takes counts.
//! - Every random bit comes from a [`Bits`]. [`System`] asks the operating system, without a seed and without a generator in
//!   between. If it fails, the draw fails, and every later one from it.
//! - No input panics: what is refused is an [`Error`]. Running out of memory ends the process.
//!
//! # What is not claimed
//!
//! The number of bits that [`Free`] takes for a draw does not depend on the value, up to events of probability 2^-32. Sums and
//! trees take time that depends on the noise, and noise stays in memory after it was used. A draw whose noise would be beyond
//! 2^61 is an error: at the widest law that can be made its probability is below e^(-2^14).
//!
//! Proofs of the identities and bounds: `docs/explanation/exact-noise.md`.

#![forbid(unsafe_code)]
#![deny(missing_docs, clippy::float_arithmetic, clippy::arithmetic_side_effects, clippy::indexing_slicing)]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, clippy::todo)]

mod base;
mod big;
mod bits;
mod chance;
mod composition;
mod error;
mod free;
mod law;
mod mixture;
mod ratio;
mod real;
mod release;
mod row;
mod sums;
mod tree;
mod zero_sum;

pub use base::Base;
pub use bits::{Bits, System};
pub use error::{Error, Result};
pub use free::Free;
pub use law::{Law, Precision};
pub use ratio::Ratio;
pub use release::{add, free, partition};
pub use tree::Tree;
pub use zero_sum::ZeroSum;
