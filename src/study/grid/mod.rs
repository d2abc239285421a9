//! A study of a grid: its cells planned, on several data sets and for several master seeds, whatever it does with one of them.
//!
//! A study knows one data set and cells that are drawn. That there are others is said here and nowhere else: a grid on several data sets is
//! one plan after the other (`several`), and cells that stand for those of all seeds have tables of their own, which take the rows of
//! all of them (`pooled`). Both are places of a cell on axes (`data`, `seed`); what is read and summed up for a data set is not.

mod configured;
mod curves;
mod gridded;
mod kind;
mod pooled;
mod several;

pub(in crate::study) use gridded::{COUPLED_STEPS, Gridded};
pub(in crate::study) use kind::Kind;
