//! Real noise on random equations: samplers against each other, against least squares, and against definitions.
#![allow(clippy::disallowed_methods)] // An oracle need not agree to the last bit.

use crate::common::*;
use congenial_core::diagnostics::Moments;
use congenial_core::exact::{ContinuousExact, ContinuousSampler, RealRejection, Source};
use congenial_core::imaging::LatticeL2;
use congenial_core::invariant::{Inequalities, Linear, Region};
use congenial_core::kernel::{Dispersed, Kernel, RealGibbs, RealIndependence, Start};
use congenial_core::lattice::IntMatrix;
use congenial_core::law::{Gaussian, Laplace, Law, RealLaw};
use congenial_core::rng::{Stream, below};
use nalgebra::DMatrix;

/// Rows of full rank with coefficients -2 to 2, none of them 0.
fn random(rng: &mut Stream, rows: usize, columns: usize) -> (Linear, DMatrix<f64>) {
    loop {
        let a: Vec<Vec<i64>> =
            (0..rows).map(|_| (0..columns).map(|_| below(rng, 5) as i64 - 2).collect()).collect();
        let matrix = DMatrix::from_fn(rows, columns, |i, j| a[i][j] as f64);
        if matrix.clone().svd(false, false).singular_values.min() > 0.1 {
            return (Linear::matrix(&IntMatrix::from_rows(&a).unwrap()).unwrap(), matrix);
        }
    }
}

/// `I - Aᵀ(AAᵀ)⁻¹A`.
fn projector(a: &DMatrix<f64>) -> DMatrix<f64> {
    let inverse = (a * a.transpose()).try_inverse().expect("full rank");
    DMatrix::identity(a.ncols(), a.ncols()) - a.transpose() * inverse * a
}

fn chains<K: Kernel<Value = f64> + Dispersed>(kernel: &K, n: usize, steps: u64, seed: u64) -> Vec<Vec<f64>> {
    let mut rng = test_stream(seed);
    let mut noise = kernel.noise();
    (0..n)
        .map(|_| {
            let mut state = kernel.start(Start::default(), &mut rng).unwrap();
            for _ in 0..steps {
                kernel.draw(&mut rng, &mut noise);
                kernel.apply(&mut state, &noise);
            }
            kernel.position(&state).to_vec()
        })
        .collect()
}

fn exact<L: ContinuousExact>(law: L, invariant: &Linear, n: usize, seed: u64) -> Vec<Vec<f64>> {
    let sampler = ContinuousSampler::new(law, invariant, None).unwrap();
    let mut rng = test_stream(seed);
    let mut noise = vec![0.0; invariant.entries()];
    (0..n)
        .map(|_| {
            sampler.draw(&mut rng, &mut noise);
            noise.clone()
        })
        .collect()
}

fn free<L: Law<Value = f64>>(law: L, entries: usize, rng: &mut Stream) -> Vec<f64> {
    (0..entries).map(|_| law.sample(rng)).collect()
}

/// "Two views", section 3: under Gaussian noise and equations, conditioning (exact, line Gibbs, mis) and
/// imaging by least squares have one law, with the covariance sigma² (I - Aᵀ(AAᵀ)⁻¹A).
#[test]
fn conditioning_and_least_squares_agree_for_gaussian_noise() {
    let (sigma, n) = (2.0, 20_000);
    let law = Gaussian::new(sigma).unwrap();
    let mut rng = test_stream(7);
    for (case, (rows, columns)) in [(1, 2), (1, 4), (2, 5), (3, 6), (4, 12), (5, 7)].into_iter().enumerate() {
        let (invariant, a) = random(&mut rng, rows, columns);
        let covariance = projector(&a) * (sigma * sigma);
        let l2 = LatticeL2::new(&invariant).unwrap();
        let images: Vec<Vec<f64>> = (0..n)
            .map(|_| {
                let mut z = free(law, columns, &mut rng);
                l2.project(&mut z);
                z
            })
            .collect();
        let gibbs = RealGibbs::new(&invariant, None, law).unwrap();
        let order: Vec<usize> = (0..invariant.entries()).collect();
        let order = (case % 2 == 1).then_some(&order[..]);
        let mis = RealIndependence::new(&invariant, None, law, 0.8, order).unwrap();
        let seed = case as u64;
        let mut samples =
            vec![exact(law, &invariant, n, 10 + seed), chains(&gibbs, n, 150 * columns as u64, 20 + seed)];
        // Blind proposals of eight entries are hardly ever accepted.
        if columns - rows <= 3 {
            samples.push(chains(&mis, n, 300, 30 + seed));
        }
        for (i, j) in (0..columns).flat_map(|i| (0..=i).map(move |j| (i, j))) {
            for draws in samples.iter().chain([&images]) {
                let products: Moments = draws.iter().map(|z| z[i] * z[j]).collect();
                assert_mean(products.mean(), covariance[(i, j)], products.deviation(), n);
            }
        }
        let norm =
            |draws: &[Vec<f64>]| draws.iter().map(|z| z.iter().map(|z| z.abs()).sum()).collect::<Vec<f64>>();
        for draws in &samples {
            for i in 0..columns {
                let entry = |draws: &[Vec<f64>]| draws.iter().map(|z| z[i]).collect::<Vec<f64>>();
                assert_same_distribution(entry(draws), entry(&images));
            }
            assert_same_distribution(norm(draws), norm(&images));
        }
    }
}

/// "Two views", appendix A: the conditional density given `A z = 0` is the limit of conditioning on `|A z| <=
/// h`. Free Laplace noise kept in such a slab, by its definition, against line Gibbs and rejection on the
/// plane; random A with up to four free dimensions.
#[test]
fn laplace_noise_on_the_plane_is_the_limit_of_slabs() {
    let law = Laplace::new(1.0).unwrap();
    let mut rng = test_stream(8);
    for (case, (rows, columns)) in [(1, 3), (1, 5), (2, 5), (2, 6)].into_iter().enumerate() {
        let (invariant, a) = random(&mut rng, rows, columns);
        // A slab of h blurs the law by O(h²) in the end: of 0.1 by less than 6,000 draws show.
        let width = 0.1;
        let mut slab = Vec::new();
        while slab.len() < 6000 {
            let z = free(law, columns, &mut rng);
            let image = &a * DMatrix::from_column_slice(columns, 1, &z);
            if image.iter().all(|x| x.abs() <= width) {
                slab.push(z);
            }
        }
        let gibbs = RealGibbs::new(&invariant, None, law).unwrap();
        let rejection =
            RealRejection::new(&invariant, &Region::everything(), law, Source::Unconstrained).unwrap();
        let mut noise = vec![0.0; columns];
        let kept: Vec<Vec<f64>> = (0..20_000)
            .map(|_| {
                rejection.draw(&mut rng, &mut noise);
                noise.clone()
            })
            .collect();
        let ends = chains(&gibbs, 20_000, 100 * columns as u64, 40 + case as u64);
        // In the slab an entry that the equations fix is not quite 0.
        let free = projector(&a);
        for i in (0..columns).filter(|&i| free[(i, i)] > 1e-9) {
            let entry = |draws: &[Vec<f64>]| draws.iter().map(|z| z[i]).collect::<Vec<f64>>();
            assert_same_distribution(entry(&kept), entry(&slab));
            assert_same_distribution(entry(&kept), entry(&ends));
        }
    }
}

/// "Two views", Lemma 3.3: conditioning on equations keeps epsilon. Two tables that satisfy the same
/// equations have, by quadrature over the plane of releases, the same probability of the invariant, and
/// conditional densities within `exp(±‖x - x'‖₁/lambda)`.
#[test]
fn conditioning_on_equations_keeps_epsilon() {
    let mut rng = test_stream(9);
    for _ in 0..20 {
        let (_, a) = random(&mut rng, 1, 3);
        // A basis of the plane by the singular vectors of the projector.
        let svd = projector(&a).svd(true, false);
        let u = svd.u.unwrap();
        let move_by = &u * DMatrix::from_column_slice(3, 1, &[1.3, -0.4, 0.0]);
        let lambda = 0.9;
        let weight = |x: f64, y: f64, shift: f64| {
            let z = &u * DMatrix::from_column_slice(3, 1, &[x, y, 0.0]) - &move_by * shift;
            (-z.iter().map(|z| z.abs()).sum::<f64>() / lambda).exp()
        };
        let (mut masses, mut most) = ([0.0; 2], 0.0f64);
        let step = 0.05;
        for i in -300..300 {
            for j in -300..300 {
                let (x, y) = (f64::from(i) * step, f64::from(j) * step);
                let both = [weight(x, y, 0.0), weight(x, y, 1.0)];
                masses[0] += both[0];
                masses[1] += both[1];
                most = most.max((both[0] / both[1]).ln().abs());
            }
        }
        assert!((masses[0] / masses[1] - 1.0).abs() < 1e-3, "{masses:?}");
        let epsilon = move_by.iter().map(|z| z.abs()).sum::<f64>() / lambda;
        let shift = (masses[0] / masses[1]).ln().abs();
        assert!(most + shift <= epsilon + 1e-3 && most > 0.99 * epsilon, "{most} {epsilon}");
    }
}

/// Inequalities with many free dimensions: line Gibbs, mis and rejection from both sources agree, and a half
/// line has its law.
#[test]
fn samplers_agree_under_inequalities() {
    let margins = Linear::margins(2, 4).unwrap();
    let counts = [2, 0, 1, 3, 1, 4, 0, 2];
    let caps = Inequalities::bounds(vec![i64::MIN; 8], vec![3, 3, 9, 9, 9, 9, 9, 9]).unwrap();
    let row = Inequalities::rows(vec![(vec![(0, 1), (1, 1), (7, -1)], -2)]).unwrap();
    let region = Inequalities::nonnegative(8).and(caps).and(row).around(&counts).unwrap();
    fn check<L: ContinuousExact + RealLaw>(law: L, margins: &Linear, region: &Region) {
        let n = 10_000;
        let gibbs = RealGibbs::new(margins, Some(region), law).unwrap();
        let mis = RealIndependence::new(margins, Some(region), law, 0.5, None).unwrap();
        let rejection = RealRejection::new(margins, region, law, Source::Unconstrained).unwrap();
        let mut rng = test_stream(3);
        let mut noise = vec![0.0; 8];
        let kept: Vec<Vec<f64>> = (0..n)
            .map(|_| {
                rejection.draw(&mut rng, &mut noise);
                noise.clone()
            })
            .collect();
        let lines = chains(&gibbs, n, 2000, 4);
        let proposals = chains(&mis, n, 2000, 5);
        for draws in [&lines, &proposals] {
            for z in draws {
                margins.check_reals(z, 0.0).unwrap();
                region.check_reals(z).unwrap();
            }
            for i in 0..8 {
                let entry = |draws: &[Vec<f64>]| draws.iter().map(|z| z[i]).collect::<Vec<f64>>();
                assert_same_distribution(entry(&kept), entry(draws));
            }
        }
    }
    check(Laplace::new(2.0).unwrap(), &margins, &region);
    check(Gaussian::new(2.0).unwrap(), &margins, &region);
    // y1 + y2 fixed, y1 >= 0 = x1: z1 is exponential with rate 2/lambda.
    let half = Inequalities::bounds(vec![0, i64::MIN], vec![i64::MAX; 2]).unwrap().around(&[0, 5]).unwrap();
    let law = Laplace::new(3.0).unwrap();
    let gibbs = RealGibbs::new(&Linear::total(2).unwrap(), Some(&half), law).unwrap();
    let draws = chains(&gibbs, 20_000, 20, 6);
    assert_distribution(draws.iter().map(|z| z[0]).collect(), |x| 1.0 - (-2.0 * x.max(0.0) / 3.0).exp());
}
