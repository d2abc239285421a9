//! Bases of the integer kernel of a matrix.

use super::elimination::check_dimension;
use super::{lll, matrix::IntMatrix, smith::smith};
use crate::error::{Error, Result};

/// Dimension of a lattice whose basis is reduced.
pub const MAX_REDUCED: usize = 160;

/// Which basis of the lattice `{z : A z = 0}`; they span the same points and mix differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BasisKind {
    /// The last columns of V in the Smith normal form, as published.
    Smith,
    /// The Smith basis, reduced by LLL.
    Reduced,
}

/// A basis of `{z in Z^d : A z = 0}`.
///
/// # Examples
///
/// ```
/// use congenial_core::lattice::{Basis, BasisKind, IntMatrix};
///
/// // z_1 + z_2 + z_3 = 0 leaves two dimensions free.
/// let a = IntMatrix::from_rows(&[vec![1, 1, 1]]).expect("rows of one length");
/// let basis = Basis::of_kernel(&a, BasisKind::Reduced)?;
/// assert_eq!(basis.vectors.rows(), 2);
/// assert!((0..2).all(|i| basis.vectors.row(i).iter().sum::<i64>() == 0));
/// # Ok::<(), congenial_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Basis {
    /// One basis vector per row.
    pub vectors: IntMatrix,
}

impl Basis {
    /// Finds a basis of the integer kernel of `a` (k × d, dependent rows allowed); empty if there is no free dimension.
    ///
    /// Errors: more than [`super::MAX_DIMENSION`] rows or columns, a reduced basis of more than [`MAX_REDUCED`]
    /// vectors, entries beyond 64 bits.
    pub fn of_kernel(a: &IntMatrix, kind: BasisKind) -> Result<Self> {
        check_dimension(a.columns().max(a.rows()))?;
        let d = a.columns();
        let form = smith(a)?;
        let rank = form.diagonal.len();
        let mut vectors = IntMatrix::zero(d - rank, d);
        for i in 0..d - rank {
            for j in 0..d {
                vectors[(i, j)] = form.v[(j, rank + i)];
            }
        }
        if kind == BasisKind::Reduced && d > rank {
            if d - rank > MAX_REDUCED {
                return Err(Error::TooLarge {
                    what: "the reduced basis of the invariant's lattice".into(),
                    needed: (d - rank) as u64,
                    limit: MAX_REDUCED as u64,
                    unit: "dimensions",
                });
            }
            vectors = lll::reduce(&vectors)?;
        }
        Ok(Self { vectors })
    }
}
