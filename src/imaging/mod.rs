//! Imaging: free noise, then the closest point that satisfies the invariant.

mod bluedown;
mod descent;
mod l2;
mod lattice_l1;
mod lattice_l2;
mod lattice_nnl2;
mod nnl2;
mod simplex;
mod topdown;

pub use bluedown::{BlueDown, BlueDownScratch};
pub use l2::L2;
pub use lattice_l1::LatticeL1;
pub use lattice_l2::LatticeL2;
pub use lattice_nnl2::LatticeNnl2;
pub use nnl2::{Nnl2, Nnl2Scratch};
pub use simplex::{SimplexScratch, SimplexValue};
pub use topdown::{TopDown, TopDownScratch};
