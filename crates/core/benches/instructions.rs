//! Instructions of every kernel, counted by callgrind on fixed inputs and streams: `scripts/instructions` runs it.
//!
//! What is prepared once is not counted, and neither is a first run, in which scratch space grows. What is left to
//! chance is where the stack begins, by the length of the program's path: copies of what lies there take some ten
//! instructions more or less. Chains side by side take the widest registers that valgrind knows: those of AVX2.

mod shapes;

use congenial_core::chain::{Chain, visit_all};
use congenial_core::coupling::meet_all;
use congenial_core::exact::{
    ContinuousExact, ContinuousSampler, ExactLattice, GeometricSum, LatticeExact, LatticeScratch, Rejection,
    Source, SplitScratch, Table, TreeLaw, TreeSampler, composition,
};
use congenial_core::imaging::{
    ClosestScratch, ImageScratch, IntegerL2, IntegerNnl2, L2, LatticeL1, LatticeL2, LatticeNnl2, Nnl2Scratch,
    SimplexScratch, SimplexValue, TopDown, TopDownScratch,
};
use congenial_core::invariant::{Hierarchy, Inequalities, Linear, Region};
use congenial_core::kernel::{
    Coupled, Dispersed, HierarchicalMh, Kernel, LANES, LatticeGibbs, LatticeMetropolis, LineGibbs,
    MetropolizedIndependence, Start,
};
use congenial_core::lattice::{Basis, BasisKind, IntMatrix, hermite, reduce, smith};
use congenial_core::law::{
    DiscreteGaussian, DoubleGeometric, EuclideanLaplace, Gaussian, Laplace, LatticeLaw, Law, LineLaw,
    Sampler, Value,
};
use congenial_core::rng::{Rng, Role, Stream, TaskKey, below, exponential, gamma, geometric, normal, stream};
use gungraun::{Callgrind, prelude::*};
use shapes::{counties, records, rng, table, taxi};
use std::hint::black_box;

/// What is counted.
type Run = Box<dyn FnMut()>;

/// Draws of a number, steps of a chain on a table.
const MANY: u64 = 1000;
/// Draws of a table or a hierarchy, steps of a chain that visits all of it.
const FEW: u64 = 20;
/// The C library copies by the same code on every processor.
const PLAIN: &str =
    "glibc.cpu.hwcaps=-AVX2,-AVX_Fast_Unaligned_Load,-SSSE3,-SSE4_1,-SSE4_2,-MOVBE,-ERMS,-FSRM";
/// Cells of the simplex.
const SIMPLEX: usize = 1000;

fn l1() -> DoubleGeometric {
    DoubleGeometric::new(4.0).expect("a scale")
}

fn l2() -> EuclideanLaplace {
    EuclideanLaplace::new(4.0).expect("a scale")
}

fn gaussian() -> DiscreteGaussian {
    DiscreteGaussian::new(12.0).expect("a scale")
}

fn laplace() -> Laplace {
    Laplace::new(4.0).expect("a scale")
}

fn normal_law() -> Gaussian {
    Gaussian::new(12.0).expect("a scale")
}

fn margins() -> Linear {
    Linear::margins(4, 4).expect("a table")
}

/// Runs once before it is counted, in which scratch space grows.
fn again(mut run: impl FnMut() + 'static) -> Run {
    run();
    Box::new(run)
}

/// `times` calls.
fn repeat<T>(times: u64, mut call: impl FnMut(&mut Stream) -> T + 'static) -> Run {
    let mut rng = rng();
    again(move || {
        for _ in 0..times {
            black_box(call(&mut rng));
        }
    })
}

fn sample<L: Law>(law: L) -> Run {
    let sampler = law.sampler();
    repeat(MANY, move |rng| sampler.draw(rng))
}

/// Draws without a table.
fn sample_wide<L: Law>(law: L) -> Run {
    repeat(MANY, move |rng| law.sample(rng))
}

/// Noise of independent draws, one for each of `n` cells.
fn free<L: Law>(law: L, n: usize) -> Vec<L::Value> {
    let mut rng = rng();
    (0..n).map(|_| law.sample(&mut rng)).collect()
}

fn chain<K: Kernel + 'static>(kernel: K, mut state: K::State, steps: u64) -> Run {
    let mut noise = kernel.noise();
    repeat(steps, move |rng| {
        kernel.draw(rng, &mut noise);
        kernel.apply(&mut state, &noise)
    })
}

fn dispersed<K: Dispersed + 'static>(kernel: K) -> Run {
    let state = kernel.start(Start::default(), &mut rng()).expect("a start");
    chain(kernel, state, MANY)
}

/// Steps of pairs that have not met: pairs that meet start again.
fn coupled<K: Coupled<Value = i64> + 'static>(kernel: K) -> Run {
    let mut starts = rng();
    let mut start = move |kernel: &K| kernel.start(Start::default(), &mut starts).expect("a start");
    let (mut x, mut y) = (start(&kernel), start(&kernel));
    let (mut a, mut b) = (kernel.noise(), kernel.noise());
    repeat(MANY, move |rng| {
        kernel.draw_pair(rng, (&x, &y), (&mut a, &mut b));
        kernel.apply(&mut x, &a);
        kernel.apply(&mut y, &b);
        if kernel.position(&x) == kernel.position(&y) {
            y = start(&kernel);
        }
    })
}

/// A stream of its own.
fn stream_of(rng: &mut Stream) -> Stream {
    stream(TaskKey { seed: rng.next_u64(), cell: 1, replicate: 0, role: Role::Moves })
}

/// A register of chains from one start.
fn side_by_side<K: Dispersed<State: Clone> + 'static>(kernel: K) -> Run {
    let state = kernel.start(Start::default(), &mut rng()).expect("a start");
    let mut rng = rng();
    again(move || {
        let chain = |_| Chain::new(state.clone(), stream_of(&mut rng));
        let chains = (0..LANES).map(chain).collect();
        black_box(visit_all(&kernel, chains, &[FEW], |_, _| ()));
    })
}

/// Registers of coupled pairs until they meet.
fn coupled_side_by_side<K: Coupled<Value = i64> + 'static>(kernel: K) -> Run {
    let mut rng = rng();
    again(move || {
        let streams = (0..2 * LANES).map(|_| (stream_of(&mut rng), stream_of(&mut rng))).collect();
        black_box(meet_all(&kernel, 10, 100, Start::default(), streams));
    })
}

fn line_gibbs<L: LineLaw>(law: L) -> Run {
    let tree = taxi();
    let kernel = LineGibbs::new(&tree, &[law; 3], None).expect("three levels");
    let state = kernel.init(&free(law, tree.nodes()));
    let sweep = kernel.sweep();
    chain(kernel, state, sweep)
}

fn hierarchical_mh<L: Law>(law: L) -> Run {
    let (tree, laws) = (taxi(), [law; 3]);
    let proposal = HierarchicalMh::default_proposal(&tree, &laws);
    let kernel = HierarchicalMh::new(&tree, &laws, proposal, None).expect("three levels");
    let state = kernel.init(&free(law, tree.nodes()));
    chain(kernel, state, FEW)
}

fn lattice_gibbs_bounded() -> Run {
    let (invariant, region) = table();
    dispersed(LatticeGibbs::new(&invariant, Some(&region), l1()).expect("a lattice"))
}

fn metropolized_independence() -> Run {
    let (invariant, region) = table();
    let law = DoubleGeometric::new(2.0).expect("a scale");
    dispersed(MetropolizedIndependence::new(&invariant, Some(&region), law, 0.55, None).expect("served"))
}

fn lattice_metropolis<L: LatticeLaw>(law: L, a: f64) -> LatticeMetropolis<L> {
    LatticeMetropolis::new(&margins(), law, a, BasisKind::Smith).expect("a lattice")
}

fn lattice_gibbs<L: LatticeLaw>(law: L) -> LatticeGibbs<L> {
    LatticeGibbs::new(&margins(), None, law).expect("a lattice")
}

/// Counts of the taxi kind: a few large zones, many small ones.
fn counts(tree: &Hierarchy) -> Vec<i64> {
    let mut counts = (0..tree.nodes() as i64).map(|v| (v * 7919 % 263).pow(2)).collect::<Vec<i64>>();
    tree.sum_up(&mut counts);
    counts
}

fn tree<L: TreeLaw>(law: L, nonnegative: bool) -> Run
where
    L::Exact: 'static,
{
    let tree = taxi();
    let counts = nonnegative.then(|| counts(&tree));
    let sampler = L::tree_sampler(&tree, &[law; 3], counts.as_deref()).expect("small tables");
    let mut scratch = <L::Exact as TreeSampler>::Scratch::default();
    let mut noise = vec![L::Value::default(); tree.nodes()];
    repeat(FEW, move |rng| sampler.draw(rng, &mut scratch, black_box(&mut noise)))
}

fn exact<L: ExactLattice>(invariant: &Linear, region: Option<&Region>, law: L) -> Run {
    let sampler = LatticeExact::new(invariant, region, law).expect("served");
    let (mut scratch, mut noise) = (LatticeScratch::default(), vec![0; invariant.entries()]);
    repeat(FEW, move |rng| sampler.draw(rng, &mut scratch, black_box(&mut noise)))
}

fn truncated() -> Run {
    let (invariant, region) = table();
    exact(&invariant, Some(&region), DoubleGeometric::new(2.0).expect("a scale"))
}

fn large_margins() -> Linear {
    Linear::margins(5, 5).expect("a table")
}

fn bounded_margins() -> Run {
    let counts: Vec<i64> = (0..16).map(|i| i % 5).collect();
    let region = Inequalities::nonnegative(16).around(&counts).expect("counts >= 0");
    exact(&margins(), Some(&region), l1())
}

fn geometric_sum() -> Run {
    let sum = GeometricSum::new(&l1(), 64, None).expect("a small table");
    let (mut scratch, mut parts) = (SplitScratch::default(), vec![0; 64]);
    repeat(FEW, move |rng| {
        let t = sum.sum().sample(rng);
        sum.split(rng, t, &mut scratch, black_box(&mut parts));
    })
}

/// `total` in 64 parts.
fn compose(total: u64) -> Run {
    let (mut parts, mut bars) = (vec![0; 64], Vec::new());
    repeat(FEW, move |rng| composition::uniform(rng, total, black_box(&mut parts), &mut bars))
}

fn continuous<L: ContinuousExact>(invariant: &Linear, law: L) -> Run {
    let sampler = ContinuousSampler::new(law, invariant, None).expect("served");
    let mut noise = vec![0.0; invariant.entries()];
    repeat(FEW, move |rng| sampler.draw(rng, black_box(&mut noise)))
}

fn rejection() -> Run {
    let invariant = Linear::total(3).expect("cells");
    let region = Inequalities::nonnegative(3).around(&[3, 1, 4]).expect("counts >= 0");
    let sampler = Rejection::new(&invariant, &region, l1(), Source::Equations).expect("served");
    let (mut scratch, mut noise) = (LatticeScratch::default(), vec![0; 3]);
    repeat(MANY, move |rng| sampler.draw(rng, &mut scratch, black_box(&mut noise)))
}

/// Draws of a law from its table.
fn tabulated() -> Run {
    let table = Table::of_law(&gaussian(), i64::MIN, i64::MAX).expect("a small table");
    repeat(MANY, move |rng| table.sample(rng))
}

/// Images of the same noise.
fn images(noise: Vec<f64>, mut project: impl FnMut(&mut [f64]) + 'static) -> Run {
    let mut z = noise.clone();
    repeat(FEW, move |_| {
        z.copy_from_slice(&noise);
        project(black_box(&mut z));
    })
}

fn tree_l2() -> Run {
    let tree = taxi();
    let l2 = L2::new(&tree, &[laplace().variance(); 3]).expect("three levels");
    images(free(laplace(), tree.nodes()), move |z| l2.project(z))
}

fn topdown<L: Law>(law: L) -> Run
where
    L::Value: SimplexValue,
{
    let tree = taxi();
    let counts = counts(&tree);
    let noise = free(law, tree.nodes());
    let noisy: Vec<_> = counts.iter().zip(noise).map(|(&x, z)| L::Value::from_count(x) + z).collect();
    let (topdown, mut scratch, mut released) =
        (TopDown::new(&tree, &counts), TopDownScratch::default(), vec![0i64; tree.nodes()]);
    repeat(FEW, move |rng| topdown.release(&noisy, rng, &mut scratch, black_box(&mut released)))
}

fn simplex<L: Law>(law: L) -> Run
where
    L::Value: SimplexValue,
{
    let noisy = free(law, SIMPLEX);
    let (mut scratch, mut released) = (SimplexScratch::default(), vec![0i64; SIMPLEX]);
    repeat(FEW, move |rng| {
        SimplexValue::project(&noisy, SIMPLEX as i64, rng, &mut scratch, black_box(&mut released));
    })
}

fn lattice_l1() -> Run {
    let (invariant, region) = large_total();
    let l1 = LatticeL1::new(&invariant, &region, 0.5).expect("served");
    images(free(laplace(), SIMPLEX), move |z| l1.project(z))
}

fn lattice_l2(invariant: &Linear) -> Run {
    let l2 = LatticeL2::new(invariant).expect("served");
    images(free(laplace(), invariant.entries()), move |z| l2.project(z))
}

/// Rounding to integers with the totals of the states.
fn rounding() -> Run {
    let invariant = counties();
    let l2 = IntegerL2::new(&invariant).expect("served");
    let noise: Vec<f64> = free(l1(), invariant.entries()).iter().map(|&z| z as f64).collect();
    let (mut scratch, mut z) = (ClosestScratch::default(), vec![0; noise.len()]);
    repeat(FEW, move |rng| l2.round(rng, &mut scratch, &noise, black_box(&mut z)).expect("totals"))
}

/// One total of counts >= 0.
fn large_total() -> (Linear, Region) {
    let counts: Vec<i64> = (0..SIMPLEX as i64).map(|i| i % 7).collect();
    let region = Inequalities::nonnegative(SIMPLEX).around(&counts).expect("counts >= 0");
    (Linear::total(SIMPLEX).expect("cells"), region)
}

fn nnl2((invariant, region): (Linear, Region)) -> Run {
    let nnl2 = LatticeNnl2::new(&invariant, &region).expect("served");
    let mut scratch = Nnl2Scratch::default();
    images(free(l1(), invariant.entries()).iter().map(|&z| z as f64).collect(), move |z| {
        nnl2.project(&mut scratch, z).expect("it converges");
    })
}

fn nnl2_rounding() -> Run {
    let (invariant, region) = large_total();
    let nnl2 = IntegerNnl2::new(&invariant, &region).expect("served");
    let (noise, mut out) = (free(laplace(), SIMPLEX), vec![0; SIMPLEX]);
    let mut scratch = ImageScratch::default();
    repeat(FEW, move |rng| nnl2.round(rng, &mut scratch, &noise, black_box(&mut out)).expect("within 2^40"))
}

/// A normal form or a basis of the equations of the 4 × 4 table.
fn margins_matrix<T>(form: impl Fn(&IntMatrix) -> T + 'static) -> Run {
    let matrix = margins().whole().matrix();
    repeat(1, move |_| form(black_box(&matrix)))
}

fn lll() -> Run {
    let basis = Basis::of_kernel(&margins().whole().matrix(), BasisKind::Smith).expect("a basis").vectors;
    repeat(1, move |_| reduce(black_box(&basis)))
}

#[library_benchmark]
// Numbers.
#[bench::rng_word(repeat(MANY, Rng::next_u64))]
#[bench::rng_below(repeat(MANY, |rng| below(rng, 1_000_003)))]
#[bench::rng_exponential(repeat(MANY, exponential))]
#[bench::rng_normal(repeat(MANY, normal))]
#[bench::rng_gamma(repeat(MANY, |rng| gamma(rng, 7.5)))]
#[bench::rng_geometric(repeat(MANY, |rng| geometric(rng, 4.0)))]
#[bench::law_double_geometric(sample(l1()))]
#[bench::law_discrete_gaussian(sample(gaussian()))]
#[bench::law_double_geometric_wide(sample_wide(l1()))]
#[bench::law_discrete_gaussian_wide(sample_wide(gaussian()))]
#[bench::law_laplace(sample(laplace()))]
#[bench::law_gaussian(sample(normal_law()))]
// Chains on the taxi hierarchy, then on the 4 × 4 table and (bounded) the 2 × 23 table.
#[bench::line_gibbs_double_geometric(line_gibbs(l1()))]
#[bench::line_gibbs_discrete_gaussian(line_gibbs(gaussian()))]
#[bench::line_gibbs_laplace(line_gibbs(laplace()))]
#[bench::line_gibbs_gaussian(line_gibbs(normal_law()))]
#[bench::hierarchical_mh_double_geometric(hierarchical_mh(l1()))]
#[bench::hierarchical_mh_laplace(hierarchical_mh(laplace()))]
#[bench::lattice_gibbs_l1(dispersed(lattice_gibbs(l1())))]
#[bench::lattice_gibbs_l2(dispersed(lattice_gibbs(l2())))]
#[bench::lattice_gibbs_gaussian(dispersed(lattice_gibbs(gaussian())))]
#[bench::lattice_gibbs_bounded(lattice_gibbs_bounded())]
#[bench::lattice_metropolis_l1(dispersed(lattice_metropolis(l1(), 0.37)))]
#[bench::lattice_metropolis_l2(dispersed(lattice_metropolis(l2(), 0.14)))]
#[bench::metropolized_independence(metropolized_independence())]
#[bench::coupled_lattice_gibbs_l1(coupled(lattice_gibbs(l1())))]
#[bench::coupled_lattice_gibbs_l2(coupled(lattice_gibbs(l2())))]
#[bench::coupled_lattice_metropolis_l1(coupled(lattice_metropolis(l1(), 0.37)))]
#[bench::coupled_lattice_metropolis_l2(coupled(lattice_metropolis(l2(), 0.14)))]
#[bench::lattice_metropolis_l1_side_by_side(side_by_side(lattice_metropolis(l1(), 0.37)))]
#[bench::lattice_metropolis_l2_side_by_side(side_by_side(lattice_metropolis(l2(), 0.14)))]
#[bench::coupled_lattice_metropolis_l1_side_by_side(coupled_side_by_side(lattice_metropolis(l1(), 0.37)))]
// Exact samplers.
#[bench::exact_integer_tree_double_geometric(tree(l1(), false))]
#[bench::exact_integer_tree_discrete_gaussian(tree(gaussian(), false))]
#[bench::exact_integer_tree_nonnegative(tree(l1(), true))]
#[bench::exact_laplace_tree(tree(laplace(), false))]
#[bench::exact_gaussian_tree(tree(normal_law(), false))]
#[bench::exact_zero_sum(exact(&counties(), None, l1()))]
#[bench::exact_geometric_sum(geometric_sum())]
#[bench::exact_composition_few(compose(64))]
#[bench::exact_composition_many(compose(6400))]
#[bench::exact_table(tabulated())]
#[bench::exact_margins(exact(&margins(), None, l1()))]
#[bench::exact_margins_large(exact(&large_margins(), None, l1()))]
#[bench::exact_margins_bounded(bounded_margins())]
#[bench::exact_grouped(exact(&records(), None, l1()))]
#[bench::exact_klein(exact(&margins(), None, gaussian()))]
#[bench::exact_euclidean_klein(exact(&margins(), None, l2()))]
#[bench::exact_truncated(truncated())]
#[bench::exact_continuous_laplace(continuous(&counties(), laplace()))]
#[bench::exact_continuous_gaussian(continuous(&margins(), normal_law()))]
#[bench::exact_rejection(rejection())]
// Images.
#[bench::image_tree_l2(tree_l2())]
#[bench::image_topdown_integer(topdown(l1()))]
#[bench::image_topdown_real(topdown(laplace()))]
#[bench::image_simplex_integer(simplex(l1()))]
#[bench::image_simplex_real(simplex(laplace()))]
#[bench::image_lattice_l1(lattice_l1())]
#[bench::image_lattice_l2_margins(lattice_l2(&margins()))]
#[bench::image_lattice_l2_counties(lattice_l2(&counties()))]
#[bench::image_lattice_rounding(rounding())]
#[bench::image_nnl2_table(nnl2(table()))]
#[bench::image_nnl2_total(nnl2(large_total()))]
#[bench::image_nnl2_rounding(nnl2_rounding())]
// Normal forms of the 4 × 4 table.
#[bench::lattice_smith(margins_matrix(smith))]
#[bench::lattice_hermite(margins_matrix(hermite))]
#[bench::lattice_reduce(lll())]
fn kernel(mut run: Run) -> Run {
    run();
    run
}

library_benchmark_group!(name = kernels, benchmarks = kernel);
main!(
    config = LibraryBenchmarkConfig::default()
        .env("GLIBC_TUNABLES", PLAIN)
        // Cargo's depends on the folder.
        .env("LD_LIBRARY_PATH", "")
        .tool(Callgrind::with_args(["--cache-sim=no"])),
    library_benchmark_groups = kernels
);
