//! Every chain kernel on random small systems: its exact transition matrix on the listed support against the law listed in
//! full, and its code against that matrix.
//!
//! Claim: after its default length a chain is within [`RIGHT`] of its law in total variation from every start (where nothing
//! bounds the support: from its over-dispersed starts), or the traces of [`CHAINS`] chains mark it as not converged. The
//! matrix is computed from the formula of the law and from what a step chooses; that a step has its row is tested by draws, at
//! [`ALPHA`] for all systems together.

mod support;
pub(crate) mod systems;

use super::known::{KnownSums, with_zeros};
use super::*;
use crate::chain;
use crate::diagnostics::Mixing;
use crate::invariant::{Hierarchy, Inequalities, Linear, MOST_LOOKS, Region};
use crate::lattice::{BasisKind, IntMatrix};
use crate::law::{DiscreteGaussian, DoubleGeometric, EuclideanLaplace, LatticeLaw, Law, LineLaw};
use crate::oracle::Formula;
use crate::rng::{Stream, below, normal_cdf};
use crate::testing::{ALPHA, frequencies, test_stream};
use std::collections::HashMap;
use support::{Matrix, Support};
use systems::{integer, pick, table};

/// Default lengths.
const SWEEPS: u64 = 100;
const STEPS: u64 = 200_000;
/// Total variation distance of a chain that is right.
const RIGHT: f64 = 0.01;
/// Steps that are compared with a row.
const DRAWS: u64 = 2_000;
/// Chains whose traces mark a cell, and records of each.
const CHAINS: u64 = 8;
const RECORDS: u64 = 512;

/// What the fuzz found.
#[derive(Default)]
struct Found {
    /// By kernel: systems, those that were not right but marked, and the largest distance of the others.
    kernels: HashMap<&'static str, (u64, u64, f64)>,
    tests: u64,
    least: f64,
    wrong: Vec<String>,
}

/// What is looked at: a kernel, its matrix of so many steps, and how often that is made.
struct Chain<'a, K: Kernel> {
    name: &'static str,
    system: String,
    kernel: &'a K,
    support: &'a Support,
    /// The matrix of `block` steps.
    matrix: Matrix,
    block: u64,
    blocks: u64,
    /// The law of starts; `None`: the worst.
    starts: Option<Vec<f64>>,
    /// What the law holds beyond the list, at most; rounding.
    beyond: f64,
}

impl Found {
    fn judge<K: Kernel<Value = i64>>(
        &mut self,
        rng: &mut Stream,
        chain: &Chain<K>,
        start: impl Fn(&mut Stream) -> Option<K::State>,
    ) {
        let Chain { name, kernel, support, matrix, .. } = chain;
        let n = support.n();
        let mut wrong = |what: String| self.wrong.push(format!("{name}: {what}: {}", chain.system));
        // The law is left as it is.
        let mut after = vec![0.0; n];
        for i in 0..n {
            after.iter_mut().zip(matrix.row(i)).for_each(|(after, p)| *after += support.p[i] * p);
        }
        let off = support.distance(&after);
        if off > chain.beyond {
            wrong(format!("the law changes by {off:e}"));
        }
        // The code has the rows.
        for _ in 0..2 {
            let from = support.draw(rng);
            let mut seen = vec![0u64; n];
            for _ in 0..DRAWS {
                let (mut state, mut noise) = (kernel.init(&support.points[from]), kernel.noise());
                for _ in 0..chain.block {
                    kernel.draw(rng, &mut noise);
                    kernel.apply(&mut state, &noise);
                }
                if let Some(&to) = support.place.get(kernel.position(&state)) {
                    seen[to] += 1;
                }
            }
            if let Some(p) = frequencies(seen.into_iter().zip(matrix.row(from).iter().copied()), DRAWS) {
                self.tests += 1;
                self.least = self.least.min(p);
                if p < ALPHA / 1e4 {
                    wrong(format!("steps from {:?} have not their law: p = {p:e}", support.points[from]));
                }
            }
        }
        // A chain of the default length is right, or it is marked.
        let last = matrix.power(chain.blocks);
        let distance = match &chain.starts {
            None => (0..n).map(|i| support.distance(last.row(i))).fold(0.0, f64::max),
            Some(starts) => {
                let mut law = vec![0.0; n];
                for (i, start) in starts.iter().enumerate() {
                    law.iter_mut().zip(last.row(i)).for_each(|(law, p)| *law += start * p);
                }
                support.distance(&law)
            }
        };
        assert!(!distance.is_nan());
        let entry = self.kernels.entry(name).or_default();
        entry.0 += 1;
        if distance <= RIGHT {
            entry.2 = entry.2.max(distance);
        } else if is_marked(*kernel, chain.block * chain.blocks, rng, start) {
            entry.1 += 1;
            println!("{name}: {distance:.3} off and marked: {}", chain.system);
        } else {
            self.wrong.push(format!("{name}: {distance:.3} off and not marked: {}", chain.system));
        }
    }
}

/// Whether the traces of the chains' norm show that they have not converged: rank-normalised split R-hat above 1.01, less than 400
/// effective draws, a trace that stands still, or a chain that is refused.
fn is_marked<K: Kernel<Value = i64>>(
    kernel: &K,
    steps: u64,
    rng: &mut Stream,
    start: impl Fn(&mut Stream) -> Option<K::State>,
) -> bool {
    let mut traces: Vec<Vec<f64>> = Vec::new();
    for _ in 0..CHAINS {
        let Some(state) = start(rng) else { return true };
        let norm = |z: &[i64], put: &mut dyn FnMut(usize, f64)| {
            put(0, z.iter().map(|z| z.abs() as f64).sum::<f64>());
        };
        let Ok((_, record)) = chain::run(kernel, state, steps, RECORDS, rng, norm) else { return true };
        traces.extend(record.traces.into_iter().next());
    }
    let traces: Vec<&[f64]> = traces.iter().map(Vec::as_slice).collect();
    Mixing::of(&traces).is_none_or(|mixing| !mixing.converged())
}

/// The law of a kernel's own starts; `None` if they are hardly ever listed.
fn starts_of<K: Dispersed<Value = i64>>(kernel: &K, support: &Support, rng: &mut Stream) -> Option<Vec<f64>> {
    let mut law = vec![0.0; support.n()];
    for _ in 0..400 {
        // Those beyond the listed support are nearly never there.
        let state = kernel.start(Start::default(), rng).ok()?;
        if let Some(&i) = support.place.get(kernel.position(&state)) {
            law[i] += 1.0;
        }
    }
    let total: f64 = law.iter().sum();
    (total > 200.0).then(|| law.into_iter().map(|n| n / total).collect())
}

/// A random table with its listed law.
struct Case<L> {
    name: String,
    equations: Linear,
    region: Region,
    law: L,
    support: Support,
    /// Whether the list holds all points; else nearly everything.
    whole: bool,
}

impl<L: LatticeLaw> Case<L> {
    fn beyond(&self) -> f64 {
        if self.whole { 1e-11 } else { 1e-5 }
    }

    /// A chain whose matrix is that of single steps.
    fn judge<K: Dispersed<Value = i64>>(
        &self,
        (rng, found): (&mut Stream, &mut Found),
        (name, kernel, matrix): (&'static str, &K, Matrix),
        blocks: u64,
        starts: Option<Vec<f64>>,
    ) {
        let (system, beyond) = (format!("{}, {:?}", self.name, self.law), self.beyond());
        let chain =
            Chain { name, system, kernel, support: &self.support, matrix, block: 1, blocks, starts, beyond };
        found.judge(rng, &chain, |rng| kernel.start(Start::default(), rng).ok());
    }

    /// `looks`: none where odds are to come from bounds alone, as for regions with many points.
    fn lines(&self, rng: &mut Stream, found: &mut Found, name: &'static str, looks: usize) {
        let Self { equations, region, support, .. } = self;
        let Ok(kernel) = LatticeGibbs::looking(equations, Some(region), self.law, looks) else { return };
        for _ in 0..20 {
            let start = kernel.start(Start::default(), rng);
            if !start.is_ok_and(|state| region.contains(kernel.position(&state))) {
                found.wrong.push(format!("{name}: no start: {}", self.name));
            }
        }
        let mut matrix = Matrix::identity(support.n());
        for (p, vector) in kernel.choices() {
            support.add_gibbs(&mut matrix, &vector, p);
        }
        let starts = if self.whole { None } else { starts_of(&kernel, &self.support, rng) };
        if self.whole || starts.is_some() {
            self.judge((rng, found), (name, &kernel, matrix), SWEEPS * kernel.sweep(), starts);
        }
    }

    fn independence(&self, rng: &mut Stream, found: &mut Found) {
        let Self { equations, region, law, support, .. } = self;
        let rate = 1.0 / law.scale();
        let Ok(kernel) = MetropolizedIndependence::new(equations, Some(region), *law, rate, None) else {
            return;
        };
        if kernel.start(Start::default(), rng).is_err() {
            return;
        }
        let (n, a, parts) = (support.n(), libm::exp(-rate), kernel.parts());
        let q = |i: usize, free: &[u32]| -> f64 {
            let p = |z: i64| (1.0 - a) / (1.0 + a) * libm::pow(a, z.abs() as f64);
            free.iter().map(|&entry| p(support.points[i][entry as usize])).product()
        };
        let mut matrix = Matrix { n, p: vec![0.0; n * n] };
        for (entries, free) in &parts {
            let others = |i: usize| -> Vec<i64> {
                let z = support.points[i].iter().zip(0..);
                z.filter(|(_, entry)| !entries.contains(entry)).map(|(&z, _)| z).collect()
            };
            let propose = |from, to| if others(from) == others(to) { q(to, free) } else { 0.0 };
            let ratio = |from, to| support.ratio(from, to) * q(from, free) / q(to, free);
            let one = Matrix::metropolis(n, propose, ratio);
            matrix.p.iter_mut().zip(one.p).for_each(|(sum, p)| *sum += p / parts.len() as f64);
        }
        // A start is a proposal for every component.
        let start = |i: usize| -> f64 { parts.iter().map(|(_, free)| q(i, free)).product() };
        let total: f64 = (0..n).map(start).sum();
        let starts = (0..n).map(|i| start(i) / total).collect();
        let blocks = STEPS * kernel.component_count();
        self.judge((rng, found), ("mis", &kernel, matrix), blocks, Some(starts));
    }

    fn metropolis(&self, rng: &mut Stream, found: &mut Found) {
        let support = &self.support;
        let kernel = LatticeMetropolis::new(&self.equations, self.law, libm::exp(-1.0), BasisKind::Smith);
        let Ok(kernel) = kernel else { return };
        let coordinates = kernel.coordinates(&support.points);
        let mut matrix = Matrix::identity(support.n());
        for block in kernel.blocks_of_coordinates() {
            let propose = |from: usize, to: usize| -> f64 {
                let jump = |j: usize| coordinates[to][j] - coordinates[from][j];
                let p = |j| match block.contains(&j) {
                    true => kernel.jump_p(jump(j)),
                    false => f64::from(jump(j) == 0),
                };
                (0..kernel.dimension()).map(p).product()
            };
            let one = Matrix::metropolis(support.n(), propose, |from, to| support.ratio(from, to));
            matrix = matrix.then(&one);
        }
        if let Some(starts) = starts_of(&kernel, &self.support, rng) {
            self.judge((rng, found), ("lattice-metropolis", &kernel, matrix), STEPS, Some(starts));
        }
    }
}

/// Tables, three of four with inequalities.
fn tables<L: LatticeLaw>(rng: &mut Stream, found: &mut Found, systems: u64, make: fn(f64) -> (L, Formula)) {
    for i in 0..systems {
        let bounded = i % 4 != 3;
        let Some((name, equations, region)) = table(rng, bounded) else { continue };
        let (law, formula) = make(pick(rng, if bounded { &[0.3, 0.7, 1.5, 4.0] } else { &[0.2, 0.3] }));
        let reach = if bounded { 60 } else { 6 };
        let Some(support) = Support::of_table(&equations, &region, formula, reach) else { continue };
        let whole = bounded && support.points.iter().flatten().all(|z| z.abs() < reach);
        if bounded && !whole {
            continue;
        }
        let case = Case { name, equations, region, law, support, whole };
        case.lines(rng, found, "line-gibbs", MOST_LOOKS);
        match bounded {
            true => case.lines(rng, found, "line-gibbs by bounds", 0),
            false => case.metropolis(rng, found),
        }
        if i % 4 < 2 {
            case.independence(rng, found);
        }
    }
}

/// A tree of two or three leaves on one to three levels, with the parents that it is made from. Of every third some
/// nodes are known; `None` where those cannot be.
fn small_tree(rng: &mut Stream) -> Option<(&'static [usize], Hierarchy)> {
    let parents: &'static [usize] = pick(
        rng,
        &[&[0, 0, 0][..], &[0, 0, 0, 0], &[0, 0, 1, 1], &[0, 0, 0, 1, 1], &[0, 0, 0, 1, 2, 2], &[0, 0, 0, 1]],
    );
    let tree = Hierarchy::from_parents(parents).unwrap();
    if below(rng, 3) == 0 {
        let marks = (0..tree.nodes()).map(|_| below(rng, 3) == 0).collect();
        return Some((parents, tree.with_known(marks).ok()?));
    }
    Some((parents, tree))
}

/// All noise on a tree that is 0 at known nodes and from `-reach` to `reach`, but not below its floor, at leaves.
fn points_within(tree: &Hierarchy, floor: impl Fn(u32) -> i64, reach: i64) -> Vec<Vec<i64>> {
    let mut points: Vec<Vec<i64>> = vec![vec![0; tree.nodes()]];
    for &v in tree.leaves() {
        let set = |z: &Vec<i64>, t| {
            let mut z = z.clone();
            z[v as usize] = t;
            z
        };
        points = points.iter().flat_map(|z| (floor(v).max(-reach)..=reach).map(move |t| set(z, t))).collect();
    }
    points.iter_mut().for_each(|z| tree.sum_up(z));
    points.retain(|z| tree.check_known(z).is_ok());
    points
}

/// A random tree with its listed law.
struct TreeCase<L> {
    name: String,
    tree: Hierarchy,
    /// By level.
    laws: Vec<L>,
    /// Where releases must be >= 0: the counts.
    confidential: Option<Vec<i64>>,
    support: Support,
}

impl<L: LineLaw<Value = i64> + Law<Value = i64>> TreeCase<L> {
    /// What the law holds beyond the list, at most.
    const BEYOND: f64 = 1e-5;

    /// `None` where its known nodes cannot be, and where the list does not hold nearly everything.
    fn new(rng: &mut Stream, make: fn(f64) -> (L, Formula)) -> Option<Self> {
        let (parents, tree) = small_tree(rng)?;
        let laws: Vec<(L, Formula)> =
            (0..tree.levels()).map(|_| make(pick(rng, &[0.25, 0.4, 1.5]))).collect();
        let (laws, formulas): (Vec<L>, Vec<Formula>) = laws.into_iter().unzip();
        let mut counts = vec![0; tree.nodes()];
        tree.leaves().iter().for_each(|&v| counts[v as usize] = integer(rng, 0, 2));
        tree.sum_up(&mut counts);
        let floors = below(rng, 2) == 0;
        let floor = |v: u32| if floors { -counts[v as usize] } else { i64::MIN };
        let reach = if tree.leaves().len() == 2 { 6 } else { 2 };
        let support = Support::new(points_within(&tree, floor, reach), |z| {
            let weight = |(v, &z): (usize, &i64)| formulas[tree.level(v)].log_weight(z as f64);
            z.iter().enumerate().map(weight).sum()
        })?;
        let edge = |z: &[i64]| tree.leaves().iter().any(|&v| z[v as usize].abs() == reach);
        let beyond: f64 =
            support.points.iter().zip(&support.p).filter(|(z, _)| edge(z)).map(|(_, p)| p).sum();
        if beyond > Self::BEYOND {
            return None;
        }
        let name = format!("{parents:?} around {counts:?}, floors {floors}, {laws:?}");
        Some(Self { name, tree, laws, confidential: floors.then_some(counts), support })
    }

    /// A chain whose matrix is that of single steps, from starts of its own.
    fn judge<K: Dispersed<Value = i64>>(
        &self,
        (rng, found): (&mut Stream, &mut Found),
        (name, kernel, matrix): (&'static str, &K, Matrix),
        blocks: u64,
    ) {
        let Self { support, .. } = self;
        let starts = starts_of(kernel, support, rng);
        let (system, beyond) = (self.name.clone(), Self::BEYOND);
        let chain = Chain { name, system, kernel, support, matrix, block: 1, blocks, starts, beyond };
        found.judge(rng, &chain, |rng| kernel.start(Start::default(), rng).ok());
    }

    fn lines(&self, rng: &mut Stream, found: &mut Found) {
        let Self { tree, laws, support, .. } = self;
        let kernel = LineGibbs::new(tree, laws, self.confidential.as_deref()).unwrap();
        let mut matrix = Matrix::identity(support.n());
        let with_sums = |leaf: u32, c: i32| {
            let mut z = vec![0; tree.nodes()];
            z[leaf as usize] = i64::from(c);
            tree.sum_up(&mut z);
            z
        };
        for (p, leaf, partner) in kernel.moves() {
            let mut vector = with_sums(leaf, 1);
            if let Some(partner) = partner {
                vector.iter_mut().zip(with_sums(partner, -1)).for_each(|(z, other)| *z += other);
            }
            let sparse: Vec<(u32, i32)> =
                vector.iter().zip(0..).filter(|(z, _)| **z != 0).map(|(&z, v)| (v, z as i32)).collect();
            support.add_gibbs(&mut matrix, &sparse, p);
        }
        self.judge((rng, found), ("line-gibbs on trees", &kernel, matrix), SWEEPS * kernel.sweep());
    }

    fn hierarchical(&self, rng: &mut Stream, found: &mut Found) {
        let Self { tree, laws, support, .. } = self;
        let confidential = self.confidential.as_deref();
        let proposal = HierarchicalMh::default_proposal(tree, laws);
        let kernel = HierarchicalMh::new(tree, laws, proposal, confidential).unwrap();
        let step = |k: i64| normal_cdf((k as f64 + 0.5) / proposal) - normal_cdf((k as f64 - 0.5) / proposal);
        // The law of the steps of all leaves, closed under the known sums, from all that are likely before.
        let known = KnownSums::new(&with_zeros(tree, confidential).unwrap());
        let (leaves, far) = (tree.leaves().len(), (9.0 * proposal) as usize + 1);
        let side = 2 * far + 1;
        let mut steps: HashMap<Vec<i64>, f64> = HashMap::new();
        for index in 0..side.pow(leaves as u32) {
            let mut own: Vec<i64> =
                (0..leaves as u32).map(|k| (index / side.pow(k) % side) as i64 - far as i64).collect();
            let p: f64 = own.iter().map(|&k| step(k)).product();
            known.close(&mut own);
            *steps.entry(own).or_default() += p;
        }
        let propose = |from: usize, to: usize| -> f64 {
            let at = |i: usize, v: u32| support.points[i][v as usize];
            let own: Vec<i64> = tree.leaves().iter().map(|&v| at(to, v) - at(from, v)).collect();
            steps.get(&own).copied().unwrap_or(0.0)
        };
        let matrix = Matrix::metropolis(support.n(), propose, |from, to| support.ratio(from, to));
        self.judge((rng, found), ("hierarchical-mh", &kernel, matrix), STEPS);
    }
}

/// Trees of two or three leaves on one to three levels.
fn trees<L: LineLaw<Value = i64> + Law<Value = i64>>(
    rng: &mut Stream,
    found: &mut Found,
    systems: u64,
    make: fn(f64) -> (L, Formula),
) {
    for _ in 0..systems {
        let Some(case) = TreeCase::new(rng, make) else { continue };
        case.lines(rng, found);
        case.hierarchical(rng, found);
    }
}

#[test]
fn chains_of_the_default_length_are_right_or_marked() {
    let mut rng = test_stream(91);
    let mut found = Found { least: 1.0, ..Found::default() };
    let geometric = |scale| (DoubleGeometric::new(scale).unwrap(), Formula::Geometric(scale));
    let gaussian = |scale| (DiscreteGaussian::new(scale).unwrap(), Formula::DiscreteGaussian(scale));
    let euclidean = |scale| (EuclideanLaplace::new(scale).unwrap(), Formula::Euclidean(scale));
    let systems: u64 = std::env::var("CONGENIAL_FUZZ").map_or(120, |n| n.parse().unwrap());
    tables(&mut rng, &mut found, systems, geometric);
    tables(&mut rng, &mut found, systems, gaussian);
    tables(&mut rng, &mut found, systems, euclidean);
    trees(&mut rng, &mut found, systems / 4, geometric);
    trees(&mut rng, &mut found, systems / 4, gaussian);
    let Found { kernels, tests, least, wrong } = found;
    let mut names: Vec<_> = kernels.iter().collect();
    names.sort_by_key(|(name, _)| **name);
    for (name, (systems, marked, worst)) in names {
        println!("{name}: {systems} systems, {marked} marked, the others at most {worst:.4} off");
    }
    println!("{tests} rows by draws, the least p is {least:.1e}");
    assert!(tests < 10_000);
    let by_lines = |name: &str| kernels[name].1;
    // All short lines in turn: nothing needs to be marked.
    assert_eq!(["line-gibbs", "line-gibbs by bounds", "line-gibbs on trees"].map(by_lines), [0; 3]);
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(kernels.len() == 6 && kernels.values().all(|(systems, marked, _)| *systems >= 2 * marked + 10));
}

/// Few tables under equations with many short vectors, most of which fit nowhere: right after 30 sweeps from every start, by
/// the transition matrix. Drawn evenly from the whole Graver basis, one move for each entry, the same sweeps leave chains up
/// to 0.6 off.
#[test]
fn sweeps_are_worth_the_same_where_little_can_move() {
    let equations = [vec![-1, -2, 4, -2, 0], vec![1, 3, 2, -1, 0]];
    let equations = Linear::matrix(&IntMatrix::from_rows(&equations).unwrap()).unwrap();
    let scale = 1.0 / 1.6;
    let law = DoubleGeometric::new(scale).unwrap();
    for (lower, upper, rows, least) in [
        (-1, 9, [[-2, -1, 0, 0, -2], [-2, 1, 0, 1, 2]], [-10, 5]),
        (-1, 15, [[-2, 2, -1, -2, 1], [-1, 0, 1, 1, -2]], [-9, 0]),
        (0, 9, [[1, 0, -1, 0, -1], [2, 1, 2, 2, -1]], [-5, 23]),
    ] {
        let rows = rows.map(|row| (0..5).zip(row).collect::<Vec<(u32, i64)>>());
        let region = Inequalities::bounds(vec![lower; 5], vec![upper; 5])
            .unwrap()
            .and(Inequalities::rows(rows.into_iter().zip(least).collect()).unwrap())
            .around(&[2, 4, 3, 5, 1])
            .unwrap();
        let support = Support::of_table(&equations, &region, Formula::Geometric(scale), 20).unwrap();
        assert_eq!(support.n(), 9);
        for looks in [MOST_LOOKS, 0] {
            let kernel = LatticeGibbs::looking(&equations, Some(&region), law, looks).unwrap();
            let mut matrix = Matrix::identity(9);
            for (p, vector) in kernel.choices() {
                support.add_gibbs(&mut matrix, &vector, p);
            }
            let last = matrix.power(30 * kernel.sweep());
            let worst = (0..9).map(|i| support.distance(last.row(i))).fold(0.0, f64::max);
            println!(
                "{} vectors, {} moves in a sweep: {worst:.4} off",
                kernel.choices().len(),
                kernel.sweep()
            );
            assert!(worst < RIGHT, "{worst}");
        }
    }
}
