//! Releases against what they must be, computed in other ways.

use crate::catalogue::{Family, LawKind, Projection};
use crate::diagnostics::{Agreement, Moments};
use crate::grid::Cell;
use crate::input::{HierarchyTable, InvariantTable, Subject};
use crate::invariant::Hull;
use crate::oracle::images::{self, TableImage};
use crate::oracle::trees::TreeLaw;
use crate::oracle::{Distribution, Formula, Sampler, reals, tables, trees};
use crate::pace;
use crate::rng::{Role, Stream, TaskKey, stream};
use crate::study::release::{ErrorRow, Outcome, sorted};

/// One comparison of a cell's releases with an oracle.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// What was compared.
    pub what: String,
    /// A bound on the probability of such a difference if the releases are right.
    pub p: f64,
    /// The difference, for people.
    pub figure: String,
}

/// Draws of a reference for each release.
const REFERENCES: usize = 2;
/// Nodes of a tree up to which least squares are solved plainly, and children of one node that are rounded by trial.
const MOST_NODES: usize = 40;
const MOST_CHILDREN: usize = 6;

/// Compares the releases of a cell with their law: that of the root and the moments of every level of a tree, every entry and the
/// norm of a table.
///
/// `steps`: of an oracle's work, see [`trees::MOST_STEPS`]. Errors: why there is no oracle, in words.
pub fn judge(
    cell: &Cell,
    subject: &Subject,
    outcome: &Outcome,
    steps: u64,
) -> Result<Vec<Comparison>, String> {
    if cell.at.method.kind().is_own() {
        return Err("the law of a method that is not ours is not known".into());
    }
    if !cell.at.law.is_noise() {
        return Err("no law is computed of methods that draw no noise".into());
    }
    if subject.ties_nodes() && !cell.at.method.kind().is_free() {
        return Err("no law is computed under inequalities between nodes".into());
    }
    let key = TaskKey { seed: 0x6f72_6163_6c65, cell: cell.streams, replicate: 0, role: Role::Noise };
    match subject {
        Subject::Hierarchy(table) => tree(cell, table, outcome, steps, stream(key)),
        Subject::Table(table) => entries(cell, table, outcome, stream(key)),
    }
}

/// The law of noise; there is some.
fn formula(law: LawKind, scale: f64) -> Formula {
    match law.family() {
        Family::Laplace => Formula::Laplace(scale),
        Family::Gaussian => Formula::Gaussian(scale),
        Family::DoubleGeometric => Formula::Geometric(scale),
        Family::DiscreteGaussian => Formula::DiscreteGaussian(scale),
        Family::Euclidean => Formula::Euclidean(scale),
        Family::Nothing => unreachable!("what draws no noise is not judged"),
    }
}

/// Compares a sample with a law by the inequality of Dvoretzky, Kiefer and Wolfowitz with Massart's constant, which
/// discrete laws keep.
fn against_law(what: String, values: &[f64], law: &Distribution) -> Comparison {
    let mut values = values.to_vec();
    values.sort_unstable_by(f64::total_cmp);
    let distance = law.distance(&values);
    let p = (2.0 * libm::exp(-2.0 * values.len() as f64 * distance * distance)).min(1.0);
    Comparison { what, p, figure: format!("KS {distance:.4}") }
}

/// Compares one statistic of two samples.
fn against_draws(what: String, a: impl Iterator<Item = f64>, b: impl Iterator<Item = f64>) -> Comparison {
    let Agreement { distance, p, .. } = Agreement::of(&[sorted(a)], &[sorted(b)]);
    Comparison { what, p, figure: format!("KS {distance:.4} of two samples") }
}

/// Compares a mean with its value, by Bernstein's inequality for terms within `width` standard deviations of their
/// mean; `slack`: relative error of the value; `unit`: the least that a value differs from 0 by, 0 for reals.
fn against_mean(
    what: String,
    values: impl Iterator<Item = f64>,
    (mean, slack): (f64, f64),
    width: f64,
    unit: f64,
) -> Comparison {
    let estimate = values.collect::<Moments>();
    let n = estimate.count() as f64;
    // Values that are rarely other than 0 vary as their number does, though no sample may show it.
    let rare = if mean < unit { libm::sqrt(mean * unit) } else { 0.0 };
    let deviation = estimate.deviation().max(rare).max(f64::MIN_POSITIVE);
    let width = width.max(unit / deviation);
    let off = ((estimate.mean() - mean).abs() - slack * mean.abs()).max(0.0);
    let z = off / deviation * libm::sqrt(n);
    let p = 2.0 * libm::exp(-0.5 * z * z / (1.0 + width * z / (3.0 * libm::sqrt(n))));
    let figure = format!("{:.5}, want {mean:.5}, {z:.2} standard errors", estimate.mean());
    Comparison { what, p: p.min(1.0), figure }
}

fn samplers(laws: &[Formula]) -> Result<Vec<Sampler>, String> {
    let all: Option<Vec<Sampler>> = laws.iter().map(|law| law.sampler()).collect();
    all.ok_or_else(|| "its law is too wide to be drawn from a table, or no product".into())
}

/// The variance of the noise of one node, by its formula.
fn variance(law: Formula) -> f64 {
    match law {
        Formula::Laplace(scale) => 2.0 * scale * scale,
        Formula::Gaussian(scale) => scale * scale,
        _ => {
            let reach = law.reach() as i64;
            let weight = |z: i64| libm::exp(law.log_weight(z as f64));
            let mass: f64 = (-reach..=reach).map(weight).sum();
            (-reach..=reach).map(|z| weight(z) * (z * z) as f64).sum::<f64>() / mass
        }
    }
}

fn tree(
    cell: &Cell,
    table: &HierarchyTable,
    outcome: &Outcome,
    steps: u64,
    mut rng: Stream,
) -> Result<Vec<Comparison>, String> {
    let tree = &table.hierarchy;
    let laws: Vec<Formula> = cell.calibration.laws(|scale| formula(cell.at.law, scale)).collect();
    let mut by_level: Vec<Vec<&ErrorRow>> = vec![Vec::new(); tree.levels()];
    for row in &outcome.rows.errors {
        by_level[row.level as usize - 1].push(row);
    }
    if cell.at.method.conditions() {
        let floors = cell.at.method.nonnegative().then_some(&table.counts[..]);
        let law = trees::conditioned(tree, &laws, floors, steps)?;
        return Ok(against_conditioned(&by_level, &law, laws.iter().any(|law| law.is_real())));
    }
    let rows = |level: usize| by_level[level].iter();
    let draws = projected(cell, table, &laws, REFERENCES * rows(0).count(), &mut rng)?;
    let of = |level: usize, value: fn(&[f64]) -> f64| {
        draws.iter().map(move |z| value(&z[tree.level_nodes(level)])).collect::<Vec<f64>>().into_iter()
    };
    let l1 = |z: &[f64]| z.iter().map(|z| z.abs()).sum::<f64>();
    let bias = |z: &[f64]| z.iter().sum::<f64>() / z.len() as f64;
    Ok((0..tree.levels())
        .flat_map(|level| {
            let name = level + 1;
            [
                against_draws(format!("level {name}, L1"), rows(level).map(|row| row.l1), of(level, l1)),
                against_draws(
                    format!("level {name}, mean"),
                    rows(level).map(|row| row.bias),
                    of(level, bias),
                ),
            ]
        })
        .collect())
}

/// Compares the errors of releases of a tree, by level, with the law of the noise given that all sums are kept: those
/// of the root with that of its noise, those of other levels with their moments. `real`: whether noise is of reals.
fn against_conditioned(by_level: &[Vec<&ErrorRow>], law: &TreeLaw, real: bool) -> Vec<Comparison> {
    let rows = |level: usize| by_level[level].iter();
    let (slack, unit) = if real { (0.02, 0.0) } else { (1e-5, 1.0) };
    let root: Vec<f64> = rows(0).map(|row| row.bias).collect();
    let mut found = vec![against_law("the root's noise".into(), &root, &law.root)];
    for level in 1..by_level.len() {
        // Sums of tails that fall like exponentials: ten standard deviations are rarer than any level here.
        let (l1, l2) = (rows(level).map(|row| row.l1), rows(level).map(|row| row.l2 * row.l2));
        let name = level + 1;
        found.push(against_mean(format!("level {name}, L1"), l1, (law.absolute[level], slack), 15.0, unit));
        found.push(against_mean(
            format!("level {name}, squares"),
            l2,
            (law.squares[level], slack),
            40.0,
            unit,
        ));
    }
    found
}

/// Noise on a tree, drawn `n` times from laws by level and moved as the cell's method moves it, but in a plain way.
/// Errors: why there is no such way, in words.
fn projected(
    cell: &Cell,
    table: &HierarchyTable,
    laws: &[Formula],
    n: usize,
    rng: &mut Stream,
) -> Result<Vec<Vec<f64>>, String> {
    let tree = &table.hierarchy;
    let noise = samplers(laws)?;
    let families = (0..tree.nodes()).map(|v| tree.children(v).len()).max().unwrap_or(0);
    // What is drawn once, so many times.
    let draws = |draw: &mut dyn FnMut() -> Vec<f64>| -> Vec<Vec<f64>> {
        let told = |k: usize| {
            pace::at(k as f64, n as f64);
            draw()
        };
        (0..n).map(told).collect()
    };
    Ok(match cell.at.method.projection() {
        Some(Projection::None) if tree.nodes() <= 10_000 => draws(&mut || images::fresh(rng, tree, &noise)),
        Some(Projection::L2) if tree.nodes() <= MOST_NODES => {
            let variances: Vec<f64> = laws.iter().map(|&law| variance(law)).collect();
            draws(&mut || images::tree_l2(tree, &images::fresh(rng, tree, &noise), &variances))
        }
        Some(Projection::BlueDown) if families <= MOST_CHILDREN && tree.nodes() <= MOST_NODES => {
            let variances: Vec<f64> = laws.iter().map(|&law| variance(law)).collect();
            let spread = images::estimate_variances(tree, &variances);
            draws(&mut || {
                let u = images::fresh(rng, tree, &noise);
                images::bluedown(rng, tree, &table.counts, &u, (&variances, &spread))
            })
        }
        Some(Projection::TopDown) if families <= MOST_CHILDREN => draws(&mut || {
            let u = images::fresh(rng, tree, &noise);
            images::topdown(rng, tree, &table.counts, &u)
        }),
        Some(Projection::TopDownReal) => {
            draws(&mut || images::topdown_real(tree, &table.counts, &images::fresh(rng, tree, &noise)))
        }
        None => return Err("no oracle is known for the method".into()),
        Some(_) => return Err("its tree is too large for plain projections".into()),
    })
}

fn entries(
    cell: &Cell,
    table: &InvariantTable,
    outcome: &Outcome,
    mut rng: Stream,
) -> Result<Vec<Comparison>, String> {
    let law = formula(cell.at.law, cell.calibration.scales[0]);
    let draws = &outcome.rows.draws;
    let d = table.counts.len();
    let name = |i: usize| format!("entry {}", &table.names[i]);
    let norm = |z: &[f64]| z.iter().map(|z| z.abs()).sum::<f64>();
    if cell.at.method.conditions() {
        let law = match law.is_real() {
            // Quadrature where there are few free dimensions; a finer grid than the listing's.
            true => {
                let hull = Hull::new(&table.invariant, &table.region).map_err(|error| error.to_string())?;
                reals::conditioned(&hull.equations, &hull.region, law).or_else(|_| {
                    tables::conditioned(&table.invariant, &table.region, law, tables::MOST_POINTS)
                })?
            }
            false => tables::conditioned(&table.invariant, &table.region, law, tables::MOST_POINTS)?,
        };
        let mut found: Vec<Comparison> = (0..d)
            .map(|i| {
                let values: Vec<f64> = draws.iter().map(|draw| draw.errors[i]).collect();
                against_law(name(i), &values, &law.entries[i])
            })
            .collect();
        let norms: Vec<f64> = draws.iter().map(|draw| norm(draw.errors)).collect();
        found.push(against_law("the L1 norm".into(), &norms, &law.norm));
        return Ok(found);
    }
    if d > MOST_NODES {
        return Err("its table is too large for plain projections".into());
    }
    let image = match cell.at.method.projection() {
        Some(Projection::None) => TableImage::None,
        Some(Projection::L2) => TableImage::L2,
        Some(Projection::Nnl2) => TableImage::Nnl2,
        Some(Projection::L2Integer) => TableImage::L2Integer,
        Some(Projection::Nnl2Integer) => TableImage::Nnl2Integer,
        Some(Projection::L1 { beta }) => TableImage::L1 { beta },
        _ => return Err("no oracle is known for the method".into()),
    };
    let noise = law.sampler().ok_or("its law is too wide to be drawn from a table")?;
    let mut reference = (0..REFERENCES * draws.len())
        .map(|_| images::table(&mut rng, &noise, image, &table.invariant, &table.region))
        .collect::<Result<Vec<_>, _>>()?;
    // What is known is not measured, also where nothing ties it.
    for z in &mut reference {
        table.known.iter().for_each(|&entry| z[entry as usize] = 0.0);
    }
    let mut found: Vec<Comparison> = (0..d)
        .map(|i| {
            against_draws(name(i), draws.iter().map(|draw| draw.errors[i]), reference.iter().map(|z| z[i]))
        })
        .collect();
    let ours = draws.iter().map(|draw| norm(draw.errors));
    found.push(against_draws("the L1 norm".into(), ours, reference.iter().map(|z| norm(z))));
    Ok(found)
}
