//! Imaging: free noise, then the closest point that satisfies the invariant.

mod bluedown;
mod closest;
mod descent;
mod flow;
mod integer_l2;
mod integer_nnl2;
mod l2;
mod lattice_l1;
mod lattice_l2;
mod lattice_nnl2;
mod network;
mod nnl2;
mod simplex;
mod topdown;
mod topdown_real;

pub use bluedown::{BlueDown, BlueDownScratch};
pub use closest::{ClosestIntegers, ClosestScratch};
pub use integer_l2::IntegerL2;
pub use integer_nnl2::{ImageScratch, IntegerNnl2};
pub use l2::L2;
pub use lattice_l1::LatticeL1;
pub use lattice_l2::LatticeL2;
pub use lattice_nnl2::LatticeNnl2;
pub use nnl2::{Nnl2, Nnl2Scratch};
pub use simplex::{SimplexScratch, SimplexValue};
pub use topdown::{TopDown, TopDownScratch};
pub use topdown_real::{TopDownReal, TopDownRealScratch};

pub(crate) use flow::{Convex, FlowScratch, tie_weight};
pub(crate) use network::Network;
pub(crate) use simplex::theta_of_reals;
