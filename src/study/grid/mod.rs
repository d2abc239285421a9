//! A study of a grid: its cells planned, on several data sets and for several master seeds, whatever it does with one of them.

mod configured;
mod gridded;
mod kind;
mod pooled;
mod several;

pub(in crate::study) use gridded::{COUPLED_STEPS, Gridded};
pub(in crate::study) use kind::Kind;
