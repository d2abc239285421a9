//! Imaging: free noise, then the closest point that satisfies the invariant.

mod l2;
mod lattice_l2;
mod simplex;
mod topdown;

pub use l2::L2;
pub use lattice_l2::LatticeL2;
pub use simplex::{SimplexScratch, SimplexValue};
pub use topdown::{TopDown, TopDownScratch};
