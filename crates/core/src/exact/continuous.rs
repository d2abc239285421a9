//! Real noise given linear equations and inequalities.

use super::planar::{Fall, FewDimensions};
use crate::error::Result;
use crate::invariant::{Bounded, Component, Hull, Linear, Region, Tied, basis};
use crate::lattice::{BasisKind, IntMatrix, orthonormal};
use crate::law::{Gaussian, Laplace, Law, RealLaw};
use crate::rng::{Rng, exponential, gamma, normal};

/// A continuous law with exact samplers given `A z = 0`, and within inequalities.
pub trait ContinuousExact: RealLaw {
    /// Tells how the weight of the law falls from 0.
    fn fall(self) -> Fall;
    /// Prepares a component under equations alone. Errors: one that it does not serve.
    fn component(self, component: &Component) -> Result<RealComponent>;
}

/// Exact sampler of independent real noise given `A z = 0`, optionally within inequalities.
///
/// | component | Laplace | Gaussian |
/// | --- | --- | --- |
/// | no equation on an entry | the law | the law |
/// | total, partition | `S (D - D')` | entry by entry |
/// | entries equal up to sign, each with as many others | as one entry with less noise, then any of these | `sigma N ξ` |
/// | anything else | one or two free dimensions: [`FewDimensions`] | `sigma N ξ` |
/// | with inequalities | one or two free dimensions: [`FewDimensions`] | the same |
///
/// Draws are exact: their total variation distance to the law is that of rounding alone.
///
/// # Examples
///
/// ```
/// use congenial_core::exact::ContinuousSampler;
/// use congenial_core::invariant::Linear;
/// use congenial_core::law::Laplace;
/// use congenial_core::rng::{Role, TaskKey, stream};
///
/// let invariant = Linear::total(4)?;
/// let sampler = ContinuousSampler::new(Laplace::new(2.0)?, &invariant, None)?;
/// let mut rng = stream(TaskKey { seed: 1, cell: 0, replicate: 0, role: Role::Noise });
/// let mut noise = [0.0; 4];
/// sampler.draw(&mut rng, &mut noise);
/// invariant.check_reals(&noise, 0.0)?;
/// # Ok::<(), congenial_core::Error>(())
/// ```
#[derive(Debug)]
pub struct ContinuousSampler {
    components: Vec<RealComponent>,
}

/// Exact sampler of one component.
#[derive(Debug)]
pub struct RealComponent(How);

/// How one component is drawn.
#[derive(Debug)]
enum How {
    /// Nothing is free: zeros.
    Fixed(Vec<u32>),
    /// Laplace entries with one sum: lambda.
    LaplaceTotal(Vec<u32>, f64),
    /// Laplace entries in no equation.
    LaplaceFree(u32, Laplace),
    /// Gaussian entries with one sum: sigma.
    GaussianTotal(Vec<u32>, f64),
    /// Gaussian entries: sigma, and an orthonormal basis of what the equations leave free.
    Gaussian(Vec<u32>, f64, Vec<Vec<f64>>),
    /// One or two free dimensions.
    Few(Box<FewDimensions>),
    /// Groups of Laplace entries that are equal up to sign, k each: as one with lambda / k.
    Tied(Box<ContinuousSampler>, Tied),
}

impl ContinuousExact for Laplace {
    fn fall(self) -> Fall {
        Fall::Laplace(self)
    }

    /// Totals and partitions: a Laplace entry is a difference of two exponentials; given a zero sum of n entries their plus
    /// parts sum to S, as do the minus parts, with density `∝ s^(2n-2) e^(-2s/lambda)`: `S ~ Gamma(2n - 1, rate
    /// 2/lambda)` and `z = S (D - D')` with D, D' independent and uniform on the simplex. Everything else with one or two free
    /// dimensions.
    fn component(self, component: &Component) -> Result<RealComponent> {
        Ok(RealComponent(if component.rows.is_empty() {
            How::LaplaceFree(component.entries[0], self)
        } else if component.is_total() {
            How::LaplaceTotal(component.entries.clone(), self.scale())
        } else {
            let bounded = Bounded { component: component.clone(), region: Region::everything() };
            match FewDimensions::new(&bounded, self.fall()) {
                Ok(few) => How::Few(Box::new(few)),
                Err(why) => tied(component, self).ok_or(why)?,
            }
        }))
    }
}

/// `None`: nothing is tied, or the groups are served no better.
fn tied(component: &Component, law: Laplace) -> Option<How> {
    let tied = component.tied()?;
    let law = Laplace::new(law.scale() / tied.size() as f64).ok()?;
    let groups = ContinuousSampler::new(law, &tied.equations, None).ok()?;
    Some(How::Tied(Box::new(groups), tied))
}

impl ContinuousExact for Gaussian {
    fn fall(self) -> Fall {
        Fall::Gaussian(self)
    }

    /// Any equations: entry by entry given those before for a total, else `sigma N ξ` with an orthonormal basis N of the
    /// kernel and standard normal ξ.
    fn component(self, component: &Component) -> Result<RealComponent> {
        if component.is_total() {
            return Ok(RealComponent(How::GaussianTotal(component.entries.clone(), self.scale())));
        }
        let vectors = basis(component, BasisKind::Reduced).or_else(|_| basis(component, BasisKind::Smith))?;
        let vectors = orthonormal(&IntMatrix::from_vectors(&vectors, &component.entries));
        Ok(RealComponent(How::Gaussian(component.entries.clone(), self.scale(), vectors)))
    }
}

impl RealComponent {
    /// Prepares the sampler of one component of a [`Hull`]. Errors: a component that is not served, with the reason.
    pub(super) fn new<L: ContinuousExact>(law: L, bounded: &Bounded) -> Result<Self> {
        let component = &bounded.component;
        if component.is_fixed()? {
            // The only entry of a total, and what the inequalities fix.
            Ok(Self(How::Fixed(component.entries.clone())))
        } else if bounded.region.is_everything() {
            law.component(component)
        } else {
            Ok(Self(How::Few(Box::new(FewDimensions::new(bounded, law.fall())?))))
        }
    }

    /// Draws once, into the component's entries of `noise`.
    pub(super) fn draw<R: Rng + ?Sized>(&self, rng: &mut R, noise: &mut [f64]) {
        match &self.0 {
            How::Fixed(entries) => entries.iter().for_each(|&entry| noise[entry as usize] = 0.0),
            How::LaplaceFree(entry, law) => noise[*entry as usize] = law.sample(rng),
            How::LaplaceTotal(entries, lambda) => {
                let n = entries.len() as f64;
                let size = gamma(rng, 2.0 * n - 1.0) * 0.5 * lambda;
                let mut sums = [0.0, 0.0];
                for &entry in entries {
                    let plus = exponential(rng);
                    noise[entry as usize] = plus;
                    sums[0] += plus;
                }
                let minus: Vec<f64> = entries.iter().map(|_| exponential(rng)).collect();
                sums[1] = minus.iter().sum();
                for (&entry, minus) in entries.iter().zip(&minus) {
                    let z = &mut noise[entry as usize];
                    *z = size * (*z / sums[0] - minus / sums[1]);
                }
            }
            How::GaussianTotal(entries, sigma) => {
                // Given the entries so far, the next has mean -sum/left and variance sigma² (1 - 1/left).
                let mut sum = 0.0;
                for (left, &entry) in (1..=entries.len()).rev().zip(entries) {
                    let left = left as f64;
                    let z = -sum / left + sigma * libm::sqrt(1.0 - 1.0 / left) * normal(rng);
                    noise[entry as usize] = z;
                    sum += z;
                }
            }
            How::Gaussian(entries, sigma, vectors) => {
                entries.iter().for_each(|&entry| noise[entry as usize] = 0.0);
                for vector in vectors {
                    let along = sigma * normal(rng);
                    entries.iter().zip(vector).for_each(|(&entry, x)| noise[entry as usize] += along * x);
                }
            }
            How::Few(few) => few.draw(rng, noise),
            How::Tied(groups, tied) => {
                let mut values = vec![0.0; tied.groups.len()];
                groups.draw(rng, &mut values);
                tied.spread(&values, noise);
            }
        }
    }
}

impl ContinuousSampler {
    /// Prepares the sampler. `region`: inequalities on the noise, if any.
    ///
    /// Errors: no free dimension at all; what [`Hull::new`] refuses; a component that no exact sampler serves, with the reason.
    pub fn new<L: ContinuousExact>(law: L, invariant: &Linear, region: Option<&Region>) -> Result<Self> {
        let hull = Hull::new(invariant, region.unwrap_or(&Region::everything()))?;
        hull.components()?;
        let components = hull.region.components(&hull.equations);
        let components =
            components.iter().map(|bounded| RealComponent::new(law, bounded)).collect::<Result<_>>()?;
        Ok(Self { components })
    }

    /// Draws once, into `noise` (one value per entry).
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R, noise: &mut [f64]) {
        self.components.iter().for_each(|component| component.draw(rng, noise));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::against::assert_oracle;
    use crate::closed_form::{EntryOfTotal, Operation};
    use crate::diagnostics::Moments;
    use crate::invariant::Inequalities;
    use crate::oracle::{Formula, reals};
    use crate::testing::{
        System, assert_distribution, assert_mean, bounded_reals, layers, small_lattices, test_stream,
    };

    fn draws(sampler: &ContinuousSampler, entries: usize, n: usize, seed: u64) -> Vec<Vec<f64>> {
        let mut rng = test_stream(seed);
        (0..n)
            .map(|_| {
                let mut noise = vec![0.0; entries];
                sampler.draw(&mut rng, &mut noise);
                noise
            })
            .collect()
    }

    /// Two and three entries of a total against their laws (Congenial (4.6); "Two views", section 4), larger ones
    /// against the closed form of their variance; a lone entry of a total is 0.
    #[test]
    fn laplace_totals_have_their_laws() {
        let lambda = 1.7;
        let law = Laplace::new(lambda).unwrap();
        let partition = Linear::partition(&[0, 0, 1, 1, 1, 2, 3, 3, 3, 3, 3]).unwrap();
        let sampler = ContinuousSampler::new(law, &partition, None).unwrap();
        let all = draws(&sampler, 11, 60_000, 51);
        let entry = |i: usize| all.iter().map(|z| z[i]).collect::<Vec<f64>>();
        let two = EntryOfTotal::new(lambda, Operation::Conditioned, 2).unwrap();
        assert_distribution(entry(0), |x| two.cdf(x));
        let tail = |s: f64| libm::exp(-2.0 * s) * (0.5 + s / 3.0);
        let three = |x: f64| if x < 0.0 { tail(-x / lambda) } else { 1.0 - tail(x / lambda) };
        assert_distribution(entry(3), three);
        assert!(entry(5).iter().all(|&z| z == 0.0));
        let squares: Moments = all.iter().map(|z| z[8] * z[8]).collect();
        let want = lambda * lambda * 9.0 * 4.0 / (5.0 * 6.0);
        assert_mean(squares.mean(), want, squares.deviation(), 60_000);
        assert!(all.iter().all(|z| z[6..].iter().sum::<f64>().abs() < 1e-12));
        let refused =
            ContinuousSampler::new(law, &Linear::margins(3, 3).unwrap(), None).unwrap_err().to_string();
        assert!(refused.contains("laplace noise with 4 free dimensions"), "{refused}");
    }

    /// All two-way sums of a 2 × 2 × 5 table: five layers with lambda/4 and one sum, against the closed form of their variance.
    #[test]
    fn layers_of_tables_are_a_total() {
        let lambda = 1.7;
        let invariant = layers(5);
        let sampler = ContinuousSampler::new(Laplace::new(lambda).unwrap(), &invariant, None).unwrap();
        let all = draws(&sampler, 20, 60_000, 58);
        assert!(all.iter().all(|z| invariant.check_reals(z, 0.0).is_ok()));
        let squares: Moments = all.iter().map(|z| z[7] * z[7]).collect();
        let want = (lambda / 4.0) * (lambda / 4.0) * 9.0 * 4.0 / (5.0 * 6.0);
        assert_mean(squares.mean(), want, squares.deviation(), 60_000);
    }

    /// Gaussian entries under equations: their covariances are sigma² times the projection onto the kernel.
    #[test]
    fn gaussian_covariances_are_the_projection() {
        let sigma = 2.0;
        let rows = [vec![1, 2, -1, 0], vec![0, 1, 1, 1]];
        let invariant = Linear::matrix(&IntMatrix::from_rows(&rows).unwrap()).unwrap();
        let law = Gaussian::new(sigma).unwrap();
        let sampler = ContinuousSampler::new(law, &invariant, None).unwrap();
        let total = ContinuousSampler::new(law, &Linear::total(4).unwrap(), None).unwrap();
        // Rows orthonormalised by hand: (1, 2, -1, 0)/√6 and (-1, 4, 7, 6)/√102.
        let unit = |v: [f64; 4], square: f64| v.map(|x| x / libm::sqrt(square));
        let basis = [unit([1.0, 2.0, -1.0, 0.0], 6.0), unit([-1.0, 4.0, 7.0, 6.0], 102.0)];
        for (sampler, basis) in [(sampler, &basis[..]), (total, &[[0.5; 4]][..])] {
            let all = draws(&sampler, 4, 40_000, 52);
            for i in 0..4 {
                for j in 0..=i {
                    let product: Moments = all.iter().map(|z| z[i] * z[j]).collect();
                    let identity = f64::from(u8::from(i == j));
                    let want = sigma * sigma * (identity - basis.iter().map(|b| b[i] * b[j]).sum::<f64>());
                    assert_mean(product.mean(), want, product.deviation(), 40_000);
                }
            }
        }
    }

    /// One and two free dimensions within inequalities, and Laplace noise under equations that share entries, against quadrature;
    /// every draw satisfies everything.
    #[test]
    fn few_dimensions_have_the_law_of_quadrature() {
        let check = |seed: u64,
                     law: Formula,
                     sampler: ContinuousSampler,
                     [(equations, region), plain]: &[System; 2]| {
            let all = draws(&sampler, equations.entries(), 20_000, seed);
            let l2 = crate::imaging::LatticeL2::new(equations).unwrap();
            for z in &all {
                l2.check(z, 0.0).unwrap();
                region.check_reals(z).unwrap();
            }
            assert_oracle(&all, &reals::conditioned(&plain.0, &plain.1, law).unwrap());
        };
        let shared = small_lattices().into_iter().filter(|invariant| {
            let whole = invariant.whole();
            (1..=2).contains(&(invariant.entries() - whole.independent_rows().unwrap().len()))
        });
        let shared: Vec<[System; 2]> = shared
            .map(|invariant| [(invariant.clone(), Region::everything()), (invariant, Region::everything())])
            .collect();
        assert!(shared.len() >= 3);
        for (i, systems) in bounded_reals().iter().chain(&shared).enumerate() {
            let (equations, region) = &systems[0];
            // Regions that are wide, as wide as the noise, and narrow.
            for (k, scale) in [0.2, 1.7, 30.0].into_iter().enumerate() {
                let seed = 10 * i as u64 + k as u64;
                let laplace = Laplace::new(scale).unwrap();
                let sampler = ContinuousSampler::new(laplace, equations, Some(region)).unwrap();
                check(1000 + seed, Formula::Laplace(scale), sampler, systems);
                let gaussian = Gaussian::new(scale).unwrap();
                let sampler = ContinuousSampler::new(gaussian, equations, Some(region)).unwrap();
                check(2000 + seed, Formula::Gaussian(scale), sampler, systems);
            }
        }
    }

    #[test]
    fn more_dimensions_are_refused_with_the_reason() {
        let floors = Inequalities::nonnegative(4).around(&[1, 2, 3, 4]).unwrap();
        let total = Linear::total(4).unwrap();
        let refused = ContinuousSampler::new(Gaussian::new(1.0).unwrap(), &total, Some(&floors))
            .unwrap_err()
            .to_string();
        assert!(refused.contains("gaussian noise with 3 free dimensions"), "{refused}");
        let point = Inequalities::nonnegative(4).around(&[0; 4]).unwrap();
        assert!(ContinuousSampler::new(Gaussian::new(1.0).unwrap(), &total, Some(&point)).is_err());
    }
}
