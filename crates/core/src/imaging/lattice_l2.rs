//! Least squares under linear equations.

use crate::error::{Error, Result};
use crate::invariant::Linear;
use crate::lattice::{MAX_DIMENSION, orthonormal};

/// Projects noise onto `{z : A z = 0}` in least squares, `z - Aᵀ(AAᵀ)⁻¹ A z`, component by component: acts on the
/// noise alone, since the confidential counts satisfy the invariant. Dependent rows are dropped.
///
/// # Examples
///
/// ```
/// use congenial_core::imaging::LatticeL2;
/// use congenial_core::invariant::Linear;
///
/// // Under one total every entry gives up the mean.
/// let mut noise = [5.0, 1.0, 0.0];
/// LatticeL2::new(&Linear::total(3)?)?.project(&mut noise);
/// assert_eq!(noise, [3.0, -1.0, -2.0]);
/// # Ok::<(), congenial_core::Error>(())
/// ```
#[derive(Debug)]
pub struct LatticeL2 {
    components: Vec<Projection>,
    invariant: Linear,
}

/// How one component is projected.
#[derive(Debug)]
enum Projection {
    /// Entries with one sum.
    Total(Vec<u32>),
    /// A two-way table, its entries row by row, and how many columns it has.
    Margins(Vec<u32>, usize),
    /// Entries and an orthonormal basis of the equations.
    General(Vec<u32>, Vec<Vec<f64>>),
}

impl LatticeL2 {
    /// Prepares the projection. Errors: a component of more than [`MAX_DIMENSION`] entries that is neither one total
    /// nor a two-way table.
    pub fn new(invariant: &Linear) -> Result<Self> {
        let mut components = Vec::new();
        for component in invariant.components() {
            if component.rows.is_empty() {
                continue;
            }
            if component.is_total() {
                components.push(Projection::Total(component.entries));
                continue;
            }
            if component.entries.len() > MAX_DIMENSION {
                if let Some((_, columns)) = component.margins {
                    components.push(Projection::Margins(component.entries, columns));
                    continue;
                }
                return Err(Error::TooLarge {
                    what: "the dense least squares of one component".into(),
                    needed: component.entries.len() as u64,
                    limit: MAX_DIMENSION as u64,
                    unit: "entries",
                });
            }
            let vectors = orthonormal(&component.matrix().select(&component.independent_rows()?));
            components.push(Projection::General(component.entries, vectors));
        }
        Ok(Self { components, invariant: invariant.clone() })
    }

    /// Replaces the noise by its projection.
    pub fn project(&self, noise: &mut [f64]) {
        for component in &self.components {
            match component {
                Projection::Total(entries) => {
                    let mean = entries.iter().map(|&c| noise[c as usize]).sum::<f64>() / entries.len() as f64;
                    entries.iter().for_each(|&c| noise[c as usize] -= mean);
                }
                Projection::Margins(entries, columns) => without_margins(noise, entries, *columns),
                Projection::General(entries, vectors) => {
                    for vector in vectors {
                        let along: f64 =
                            entries.iter().zip(vector).map(|(&c, a)| a * noise[c as usize]).sum();
                        entries.iter().zip(vector).for_each(|(&c, a)| noise[c as usize] -= along * a);
                    }
                }
            }
        }
    }

    /// Checks a projection against the equations as they were given: [`Linear::check_reals`]; `before`: the largest absolute value of
    /// what was projected.
    pub fn check(&self, noise: &[f64], before: f64) -> Result<()> {
        self.invariant.check_reals(noise, before)
    }
}

/// `z_ij - mean of row i - mean of column j + mean of all`: the projection under both margins of a table, row by row.
fn without_margins(noise: &mut [f64], entries: &[u32], columns: usize) {
    let rows = entries.len() / columns;
    let mut column = vec![0.0; columns];
    for row in entries.chunks_exact(columns) {
        let mean = row.iter().map(|&c| noise[c as usize]).sum::<f64>() / columns as f64;
        // Of what is left the mean of all is 0.
        for (&c, sum) in row.iter().zip(&mut column) {
            noise[c as usize] -= mean;
            *sum += noise[c as usize];
        }
    }
    for row in entries.chunks_exact(columns) {
        row.iter().zip(&column).for_each(|(&c, sum)| noise[c as usize] -= sum / rows as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The closed form of two-way tables beside the general projection; tables beyond its limit keep their margins.
    #[test]
    fn margins_have_a_closed_form() {
        let mut rng = test_stream(41);
        let mut normals = |n: usize| -> Vec<f64> { (0..n).map(|_| 5.0 * normal(&mut rng)).collect() };
        for (rows, columns) in [(2, 2), (3, 5), (7, 4)] {
            let invariant = Linear::margins(rows, columns).unwrap();
            let noise = normals(rows * columns);
            let (mut general, mut closed) = (noise.clone(), noise);
            LatticeL2::new(&invariant).unwrap().project(&mut general);
            let entries: Vec<u32> = (0..(rows * columns) as u32).collect();
            without_margins(&mut closed, &entries, columns);
            assert!(general.iter().zip(&closed).all(|(a, b)| (a - b).abs() < 1e-12));
        }
        let invariant = Linear::margins(50, 60).unwrap();
        let l2 = LatticeL2::new(&invariant).unwrap();
        let mut noise = normals(3000);
        l2.project(&mut noise);
        l2.check(&noise, 30.0).unwrap();
        let once = noise.clone();
        l2.project(&mut noise);
        assert!(noise.iter().zip(&once).all(|(a, b)| (a - b).abs() < 1e-12));
    }
    use crate::rng::normal;
    use crate::testing::{small_lattices, test_stream};

    /// The projection meets the equations and leaves a residual orthogonal to their lattice.
    #[test]
    fn projection_is_orthogonal() {
        for invariant in small_lattices() {
            let l2 = LatticeL2::new(&invariant).unwrap();
            let noise: Vec<f64> = (0..invariant.entries()).map(|i| ((i * 7 + 3) % 11) as f64 - 4.5).collect();
            let mut projected = noise.clone();
            l2.project(&mut projected);
            l2.check(&projected, 0.0).unwrap();
            assert!(l2.check(&noise, 0.0).is_err());
            for row in invariant.rows() {
                let sum: f64 = row.iter().map(|&(c, a)| a as f64 * projected[c as usize]).sum();
                assert!(sum.abs() < 1e-12);
            }
            for vector in
                crate::invariant::basis(&invariant.whole(), crate::lattice::BasisKind::Smith).unwrap()
            {
                let inner: f64 = vector
                    .iter()
                    .map(|&(c, x)| f64::from(x) * (noise[c as usize] - projected[c as usize]))
                    .sum();
                assert!(inner.abs() < 1e-12);
            }
        }
    }
}
