//! Random trees and tables, laws, budgets from 0.01 to 700 and methods: releases against laws that are computed in full; and what is
//! inferred on the trees, against sums over all counts.
//!
//! In CI a fixed seed and number. `scripts/random-systems [SECONDS]` runs it for as long as one likes with a fresh seed:
//! CONGENIAL_SYSTEMS_SEED and CONGENIAL_SYSTEMS_SECONDS.

use congenial::catalogue::Family;
use congenial::engine::Manner;
use congenial::inference::{NodeLaws, Posterior, Prior, SumLaw, Weight};
use congenial::input::Subject;
use congenial::invariant::Hierarchy;
use congenial::law::{DiscreteGaussian, DoubleGeometric, IntegerLaw};
use congenial::oracle::Formula;
use congenial::oracle::sums::Weighed;
use congenial::rng::{Role, Stream, TaskKey, below, stream};
use congenial::study::release::draw_all;
use congenial::verify::{OnSystem, systems};
use std::collections::BTreeMap;
use std::time::Instant;

/// Chance of a wrong alarm, for all comparisons together.
const ALPHA: f64 = 1e-6;
/// Comparisons that the level is shared by; a longer run ends when it has made them.
const COMPARISONS: f64 = 1e6;
/// Systems in CI.
const SYSTEMS: u64 = 100;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}

#[test]
fn random_systems_have_their_laws() {
    let seed = number("CONGENIAL_SYSTEMS_SEED").unwrap_or(20_261_121);
    let seconds = number("CONGENIAL_SYSTEMS_SECONDS");
    let clock = Instant::now();
    let (mut refused, mut undrawn, mut unlisted) = (0, 0, 0);
    let (mut compared, mut comparisons) = (0, 0usize);
    let mut least = (f64::INFINITY, String::new());
    let mut wrong = Vec::new();
    for i in 0.. {
        let go_on = seconds.map_or(i < SYSTEMS, |seconds| clock.elapsed().as_secs() < seconds);
        if !go_on || comparisons as f64 > COMPARISONS {
            break;
        }
        let system = systems::random(seed, i);
        let Ok(plan) = system.plan() else {
            refused += 1;
            continue;
        };
        let manner = Manner { threads: 2, fail_fast: false, quiet: true, watch: None };
        let (plan, outcomes) = draw_all(plan, manner).unwrap();
        let found = OnSystem::new(&system.name, &plan.cells[0], &plan.subject, &outcomes[0], 300_000_000);
        if let Some(broken) = &found.broken {
            wrong.push(format!("system {i}, {}: {broken}", system.name));
        }
        match &found.comparisons {
            Err(_) if outcomes[0].error.is_some() => undrawn += 1,
            Err(_) => unlisted += 1,
            Ok(all) => {
                compared += 1;
                comparisons += all.len();
                for one in all {
                    if one.p < least.0 {
                        least = (one.p, format!("{}: {}: {}", system.name, one.what, one.figure));
                    }
                    if one.p < ALPHA / COMPARISONS {
                        let p = one.p;
                        wrong.push(format!(
                            "system {i}, {}: {}: {} (p <= {p:e})",
                            system.name, one.what, one.figure
                        ));
                    }
                }
            }
        }
    }
    println!(
        "seed {seed}: {compared} systems compared by {comparisons} figures, {unlisted} too wide to be computed, {undrawn} refused \
         when drawn, {refused} when planned; the least p is {:.1e}: {}",
        least.0, least.1
    );
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(seconds.is_some() || compared > SYSTEMS / 3, "only {compared} were compared");
}

/// Products of an oracle for one law.
const PRODUCTS: u64 = 3_000_000;
/// Draws of a posterior.
const DRAWS: u64 = 400;

/// What is compared on one tree.
struct Inference {
    tree: Hierarchy,
    formulas: Vec<Formula>,
    rng: Stream,
}

impl Inference {
    /// The tree of a random system with its noise, if it is one.
    fn of(seed: u64, number: u64) -> Option<(Self, Vec<i64>)> {
        let plan = systems::random(seed, number).plan().ok()?;
        let Subject::Hierarchy(table) = &plan.subject else { return None };
        let cell = &plan.cells[0];
        let formula = |scale| match cell.at.law.family() {
            Family::DoubleGeometric | Family::Laplace => Formula::Geometric(scale),
            _ => Formula::DiscreteGaussian(scale),
        };
        let formulas: Vec<Formula> = cell.calibration.laws(formula).collect();
        let rng = stream(TaskKey { seed, cell: number, replicate: 0, role: Role::Noise });
        let tree = table.hierarchy.clone();
        let small = tree.leaves().len() <= 12 && formulas.iter().all(|law| law.reach() < 80.0);
        small.then(|| (Self { tree, formulas, rng }, table.counts.to_vec()))
    }

    fn noise(&self, v: usize, z: f64) -> f64 {
        match self.tree.is_known(v) {
            true => f64::from(u8::from(z == 0.0)),
            false => libm::exp(self.formulas[self.tree.level(v)].log_weight(z)),
        }
    }

    /// The leaves below a node, as weights.
    fn below(&self, v: usize) -> Vec<i8> {
        let is_below = |&leaf: &u32| {
            let mut u = leaf as usize;
            while u > v {
                u = self.tree.parent(u);
            }
            i8::from(u == v)
        };
        self.tree.leaves().iter().map(is_below).collect()
    }

    /// Weights of a district.
    fn district(&mut self) -> Vec<i8> {
        (0..self.tree.leaves().len()).map(|_| below(&mut self.rng, 3) as i8 - 1).collect()
    }

    fn formula(&self, leaf: u32) -> Formula {
        self.formulas[self.tree.level(leaf as usize)]
    }

    /// Laws of the noise, of every node and of a district. Returns how many there were.
    fn pivots<L: IntegerLaw>(&mut self, laws: &[L]) -> usize {
        let district = self.district();
        let reach = |&leaf: &u32| match self.tree.is_known(leaf as usize) {
            true => (0, 0),
            false => (-(self.formula(leaf).reach() as i64), self.formula(leaf).reach() as i64),
        };
        let ranges: Vec<(i64, i64)> = self.tree.leaves().iter().map(reach).collect();
        let weight = |v: usize, z: i64| self.noise(v, z as f64);
        let weighed = Weighed { tree: &self.tree, ranges: &ranges, weight: &weight };
        let nodes = NodeLaws::on_tree(&self.tree, laws).unwrap();
        let of_nodes = (0..self.tree.nodes()).map(|v| (self.below(v), nodes.of(v).clone()));
        let sum = SumLaw::on_tree(&self.tree, laws, &district).unwrap();
        let mut compared = 0;
        for (weights, law) in of_nodes.chain([(district, sum)]) {
            let Ok((_, want)) = weighed.law(&weights, PRODUCTS) else { continue };
            compared += 1;
            for (&t, &p) in &want {
                assert!(
                    (law.p(t) - p).abs() < 1e-9,
                    "{t}: {} {p}, {:?} {weights:?}",
                    law.p(t),
                    self.formulas
                );
            }
        }
        compared
    }

    /// Laws of the counts and draws of them, given values near the counts that need not add up. Returns how many laws there were, and
    /// the smallest p of draws.
    fn posteriors(&mut self, counts: &[i64]) -> (usize, f64) {
        let tree = self.tree.clone();
        let shift = |v: usize, rng: &mut Stream| match tree.is_known(v) {
            true => 0.0,
            // Halves, too: real noise has the same posterior.
            false => {
                let scale = self.formulas[tree.level(v)].scale().min(10.0);
                libm::round(2.0 * scale * (below(rng, 400) as f64 / 100.0 - 2.0)) / 2.0
            }
        };
        let values: Vec<f64> =
            (0..tree.nodes()).map(|v| counts[v] as f64 + shift(v, &mut self.rng)).collect();
        let priors: Vec<Prior> = tree
            .leaves()
            .iter()
            .map(|&leaf| match (below(&mut self.rng, 3), counts[leaf as usize]) {
                (0, _) => Prior::Flat,
                (1, x) if x < 50 => Prior::Poisson(x as f64 + 0.7),
                _ => Prior::NONNEGATIVE,
            })
            .collect();
        let weights: Vec<Weight> = self
            .formulas
            .iter()
            .map(|law| match *law {
                Formula::DiscreteGaussian(sigma) => Weight::Gaussian(sigma),
                law => Weight::Exponential(law.scale()),
            })
            .collect();
        let posterior = Posterior::on_tree(&tree, &weights, &values, &priors).unwrap();
        let mut draws = Vec::new();
        for _ in 0..DRAWS {
            let mut draw = vec![0i64; tree.nodes()];
            posterior.draw(&mut self.rng, &mut draw);
            draws.push(draw);
        }
        let range = |&leaf: &u32| {
            let (x, v) = (counts[leaf as usize], leaf as usize);
            // What is released elsewhere pulls by as much as it is off.
            let reach = self.formula(leaf).reach() as i64 + 45;
            if tree.is_known(v) { (x, x) } else { ((x - reach), x + reach) }
        };
        let ranges: Vec<(i64, i64)> = tree.leaves().iter().map(range).collect();
        let weight = |v: usize, x: i64| {
            let noise = self.noise(v, values[v] - x as f64);
            let prior = match tree.is_leaf(v).then(|| priors[tree.leaf_number(v as u32) - 1]) {
                None | Some(Prior::Flat) => 1.0,
                Some(_) if x < 0 => 0.0,
                Some(Prior::Poisson(mean)) => {
                    libm::exp((1..=x).map(|k| libm::log(mean / k as f64)).sum::<f64>() - mean)
                }
                Some(_) => 1.0,
            };
            noise * prior
        };
        let weighed = Weighed { tree: &tree, ranges: &ranges, weight: &weight };
        let (laws, mut compared, mut least) = (posterior.laws(), 0, 1.0f64);
        for v in 0..tree.nodes() {
            let Ok((log, want)) = weighed.law(&self.below(v), PRODUCTS) else { continue };
            compared += 1;
            let off = (posterior.log_evidence() - log).abs();
            assert!(off < 1e-7 * (1.0 + log.abs()), "{off} {:?} {values:?} {priors:?}", self.formulas);
            let mut below = 0.0;
            let mut worst = 0.0f64;
            let mut seen: BTreeMap<i64, u64> = BTreeMap::new();
            draws.iter().for_each(|draw| *seen.entry(draw[v]).or_default() += 1);
            for (&x, &p) in &want {
                let got = laws[v].p(x);
                assert!(
                    (got - p).abs() < 1e-8,
                    "{v} {x}: {got} {p} {:?} {values:?} {priors:?}",
                    self.formulas
                );
                below += p;
                let share = seen.range(..=x).map(|(_, n)| n).sum::<u64>() as f64 / DRAWS as f64;
                worst = worst.max((share - below).abs());
            }
            // Dvoretzky, Kiefer, Wolfowitz and Massart.
            least = least.min(2.0 * libm::exp(-2.0 * DRAWS as f64 * worst * worst));
        }
        (compared, least)
    }
}

/// Laws of noise, and posteriors with their draws, on the generator's trees that are small enough to sum over all counts.
#[test]
fn random_trees_are_inferred() {
    let seed = number("CONGENIAL_SYSTEMS_SEED").unwrap_or(20_261_127);
    let (mut trees, mut pivots, mut posteriors, mut least) = (0, 0, 0, 1.0f64);
    for i in 0..3 * SYSTEMS {
        let Some((mut one, counts)) = Inference::of(seed, i) else { continue };
        trees += 1;
        let scales: Vec<f64> = one.formulas.iter().map(|law| law.scale()).collect();
        let laws = |scale: &f64| DoubleGeometric::new(*scale);
        let normal = |scale: &f64| DiscreteGaussian::new(*scale);
        pivots += match one.formulas[0] {
            Formula::Geometric(_) => {
                one.pivots(&scales.iter().map(laws).collect::<Result<Vec<_>, _>>().unwrap())
            }
            _ => one.pivots(&scales.iter().map(normal).collect::<Result<Vec<_>, _>>().unwrap()),
        };
        let (compared, p) = one.posteriors(&counts);
        (posteriors, least) = (posteriors + compared, least.min(p));
    }
    println!(
        "seed {seed}: {trees} trees, {pivots} laws of noise, {posteriors} of counts; the least p of draws is {least:.1e}"
    );
    assert!(least > ALPHA / posteriors.max(1) as f64, "{least:e} of {posteriors}");
    assert!(trees > 20 && pivots > 60 && posteriors > 60, "{trees} {pivots} {posteriors}");
}
