//! The split of a budget over the levels of a tree that answers some sums best.
//!
//! All nodes of a tree are measured, those of a level with noise of one variance `r_l`, and the counts are estimated by least squares
//! ([`crate::imaging::L2`]). The variance `v_c` of the estimate of a sum c is a function of the precisions `p_l = 1 / r_l`
//! ([`Answers`]): with `A_l` the sums of level l it is `c' (Σ_l p_l A_l'A_l)⁻¹ c` on the counts that the known ones leave free. It is
//! convex in p, and falls as 1/t where all of p grow by t. So `1 / v_c` is concave: of any two splits, `1 / v_c(q) <= (g · q) / v_c(p)²`
//! with `g_l = -∂v_c / ∂p_l`. The same holds of the mean of several `v_c`, and the least of several such bounds bounds the largest.
//!
//! A share s of a budget buys a precision `P(s)`. Under Gaussian noise it is proportional to s: the problem is convex (an A-optimal
//! design, or a minimax one). Under Laplace noise it grows with s², under integer noise faster yet: the problem is not convex, and has
//! several local optima. [`best`] solves both to the global optimum, by cuts and by branching.

mod answers;
mod search;

pub use answers::{Answers, Variance};
pub use search::{Best, Goal, LEAST, best};
