//! The split of a budget over measurements that answers some sums best.
//!
//! What is measured has noise, of one variance r for each level of a tree ([`TreeAnswers`]), or for each query of a level of a tree of
//! tables ([`TableAnswers`]), and counts are estimated by least squares ([`crate::imaging::L2`], [`crate::cube::Gls`]). The variance `v_c`
//! of the estimate of a sum c is a function of the precisions `p_k = 1 / r_k` ([`Answers`]): with `A_k` the sums that are measured with
//! precision `p_k` it is `c' (Σ_k p_k A_k'A_k)⁻¹ c` on the counts that the known ones leave free. It is convex in p, and falls as 1/t
//! where all of p grow by t. So `1 / v_c` is concave: of any two splits, `1 / v_c(q) <= (g · q) / v_c(p)²` with `g_k = -∂v_c / ∂p_k`. The
//! same holds of the mean of several `v_c`, and the least of several such bounds bounds the largest.
//!
//! A share s of a budget buys a precision `P(s)`. Under Gaussian noise it is proportional to s: the problem is convex (an A-optimal
//! design, or a minimax one). Under Laplace noise it grows with s², under integer noise faster yet: the problem is not convex, and has
//! several local optima. [`best`] solves both to the global optimum, by cuts and by branching.

mod answers;
mod search;
mod tables;
mod tree;

pub use answers::{Answers, OfQuery, Variance, of_queries};
pub use search::{Best, Goal, LEAST, best};
pub use tables::TableAnswers;
pub use tree::TreeAnswers;
