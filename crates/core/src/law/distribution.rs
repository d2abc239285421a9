//! Laws as distributions of the crate `rand`: they take its generators, and go where its distributions go.
//! Where both traits are in scope a call says which: `Law::sample(&law, rng)`.

use super::{DiscreteGaussian, DoubleGeometric, Gaussian, IntegerLaw, Laplace, Law, Sampler, Tabled};
use rand::Rng;
use rand::distr::Distribution;

/// Draws the law once, as [`Law::sample`] does.
macro_rules! distributions {
    ($($law:ty),*) => {
        $(impl Distribution<<$law as Law>::Value> for $law {
            #[inline]
            fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> <$law as Law>::Value {
                Law::sample(self, rng)
            }
        })*
    };
}

distributions!(Laplace, Gaussian, DoubleGeometric, DiscreteGaussian);

/// Draws the law once, as [`Sampler::draw`] does.
impl<L: IntegerLaw> Distribution<i64> for Tabled<L> {
    #[inline]
    fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> i64 {
        self.draw(rng)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Role, TaskKey, stream};
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    fn draws_the_same<L: Law + Distribution<L::Value>>(law: L) {
        let key = TaskKey { seed: 1, cell: 2, replicate: 3, role: Role::Noise };
        let (mut ours, mut theirs) = (stream(key), stream(key));
        for _ in 0..1000 {
            assert_eq!(Law::sample(&law, &mut ours), Distribution::sample(&law, &mut theirs), "{law:?}");
        }
    }

    /// Laws draw the same through `rand`, and from a generator of another crate.
    #[test]
    fn laws_draw_the_same_through_rand() {
        draws_the_same(Laplace::new(3.0).unwrap());
        draws_the_same(Gaussian::new(3.0).unwrap());
        draws_the_same(DoubleGeometric::new(3.0).unwrap());
        draws_the_same(DiscreteGaussian::new(3.0).unwrap());
        let tabled = DiscreteGaussian::new(3.0).unwrap().sampler();
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut same = rng.clone();
        let all: Vec<i64> = tabled.clone().sample_iter(&mut rng).take(100).collect();
        all.into_iter().for_each(|z| assert_eq!(z, tabled.draw(&mut same)));
    }
}
