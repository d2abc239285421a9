//! The noise against rationals, closed forms and other algorithms. Floating point is in these tests alone.
#![allow(clippy::disallowed_methods)] // Tests open files and take logarithms of their own.

mod bases;
mod clones;
mod enclosed;
mod oracle;
mod paths;
mod refusals;
mod sources;
mod statistics;
mod ways;
