//! All that a method can release.

use crate::error::Result;
use crate::law::{DoubleGeometric, Law};
use crate::privacy::Calibration;

/// Gives the outputs of the noise of all counts to its second argument, with their probabilities; real ones on a grid
/// of 1,024 units a count.
pub type Choices<'a> = Box<dyn Fn(&[i64], &mut dyn FnMut(&[i64], f64)) -> Result<()> + Send + Sync + 'a>;

/// Real outputs are told apart on a grid of this many units a count: no quotient of counts by 2, 3 or 4 lies in the
/// middle between two of its points. Outputs that it takes for one make what is attained smaller, not larger.
const GRID: f64 = 1024.0;

/// The outputs of a projection: one for every noise.
pub(super) fn projected<'a>(project: impl Fn(&mut [f64]) -> Result<()> + Send + Sync + 'a) -> Choices<'a> {
    Box::new(move |noise, each| {
        let mut noise: Vec<f64> = noise.iter().map(|&z| z as f64).collect();
        project(&mut noise)?;
        let output: Vec<i64> = noise.iter().map(|z| libm::rint(z * GRID) as i64).collect();
        each(&output, 1.0);
        Ok(())
    })
}

/// The variances of double geometric noise, by level.
pub(super) fn variances(calibration: &Calibration) -> Result<Vec<f64>> {
    calibration.laws(|scale| Ok(DoubleGeometric::new(scale)?.variance())).collect()
}
