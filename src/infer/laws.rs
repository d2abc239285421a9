//! Laws of errors, where they are computed: integer noise under the equations of a tree or of a partition, and normal noise under any
//! equations of a table.

use super::Noisy;
use super::entries::Entries;
use super::noisy::Structure;
use super::target::Target;
use crate::catalogue::Family;
use crate::imaging::LatticeL2;
use crate::inference::{NodeLaws, SumLaw, SumLaws};
use crate::invariant::Hierarchy;
use crate::law::{DiscreteGaussian, DoubleGeometric, IntegerLaw};
use crate::rng::normal_quantile;
use rayon::prelude::*;

/// Products that the law of one sum may take: a minute.
pub(super) const PRODUCTS: f64 = 1e10;
/// The same where it only stands beside a bootstrap: some milliseconds.
pub(super) const BESIDE: f64 = 1e7;
/// Products of the normal laws of all targets together.
const NORMAL: usize = 1 << 32;

/// What is known of the error of a target, whatever the counts are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Width {
    /// The least half width that holds at least the level.
    pub(super) half: f64,
    /// The standard deviation, in counts.
    pub(super) deviation: f64,
    /// `P(|error| <= half)`, where the law is computed.
    pub(super) holds: Option<f64>,
}

/// What the law of an error says, as far as it is computed.
pub(super) type Law = Option<Width>;

/// The errors of a release, as far as their laws are computed; beside a bootstrap those of the noise alone. `most`: products that the
/// law of one sum may take. Errors: scales out of range.
pub(super) fn laws(noisy: &Noisy, targets: &[Target], level: f64, most: f64) -> crate::Result<Vec<Law>> {
    let none = || Ok(vec![None; targets.len()]);
    let conditions = noisy.method.conditions() && !noisy.method.kind().is_free();
    match (&noisy.structure, noisy.law.family()) {
        (Structure::Table(entries), Family::Gaussian)
            if conditions || noisy.method.kind().is_free() || noisy.is_linear() || !noisy.is_pivot() =>
        {
            Ok(normal(entries, noisy.scales[0], targets, level))
        }
        _ if !conditions && noisy.is_pivot() => none(),
        (Structure::Tree(nodes), _) => of_tree(noisy, (&nodes.tree, &|node| node), targets, (level, most)),
        (Structure::Table(entries), _) => match partition(entries) {
            Some((tree, leaves)) => of_tree(noisy, (&tree, &|entry| leaves[entry]), targets, (level, most)),
            None => none(),
        },
    }
}

/// Normal noise given equations, or moved to them by least squares: a sum with the weights c has the variance `σ² ‖P c‖²`, P the
/// projection onto what the equations leave.
fn normal(entries: &Entries, sigma: f64, targets: &[Target], level: f64) -> Vec<Law> {
    let width = entries.invariant.entries();
    let l2 = LatticeL2::new(&entries.invariant).ok();
    let l2 = l2.filter(|_| targets.len().saturating_mul(width).saturating_mul(width.min(1000)) <= NORMAL);
    let Some(l2) = l2 else { return vec![None; targets.len()] };
    let quantile = normal_quantile(0.5 * (1.0 + level));
    let of = |target: &Target| {
        let mut weights = vec![0.0; width];
        match target {
            Target::Count(entry) => weights[*entry] = 1.0,
            Target::Sum(own) => own.iter().for_each(|&(entry, c)| weights[entry as usize] += f64::from(c)),
        }
        l2.project(&mut weights);
        // What is fixed has no error but rounding.
        let squares: f64 = weights.iter().map(|c| c * c).sum();
        let deviation = if squares > 1e-18 { sigma * libm::sqrt(squares) } else { 0.0 };
        let holds = Some(if deviation > 0.0 { level } else { 1.0 });
        Some(Width { half: quantile * deviation, deviation, holds })
    };
    targets.par_iter().map(of).collect()
}

/// A partition as a tree of two levels below the root, with its sums known; by entry its leaf. `None` of other equations.
fn partition(entries: &Entries) -> Option<(Hierarchy, Vec<usize>)> {
    let groups = entries.invariant.components();
    let is_known = |entry: u32| entries.known.binary_search(&entry).is_ok();
    let is_sum = |group: &crate::invariant::Component| match group.entries[..] {
        [entry] => is_known(entry) || group.is_total(),
        _ => group.is_total(),
    };
    if !groups.iter().all(is_sum) {
        return None;
    }
    let mut parents = vec![0u32; groups.len() + 1];
    let mut leaves = vec![0; entries.invariant.entries()];
    for (group, number) in groups.iter().zip(1..) {
        for &entry in &group.entries {
            leaves[entry as usize] = parents.len();
            parents.push(number);
        }
    }
    let known = (0..parents.len()).map(|node| node <= groups.len()).collect();
    let tree = Hierarchy::from_numbers(parents).and_then(|tree| tree.with_known(known)).ok()?;
    Some((tree, leaves))
}

/// Integer noise under the equations of a tree. `place`: the tree, and the node of a count; `how`: the level, and the products of one law.
fn of_tree(
    noisy: &Noisy,
    place: (&Hierarchy, &(dyn Fn(usize) -> usize + Sync)),
    targets: &[Target],
    how: (f64, f64),
) -> crate::Result<Vec<Law>> {
    let mut calibration = noisy.calibration();
    if let Structure::Table(_) = noisy.structure {
        calibration.scales = vec![noisy.scales[0]; place.0.levels()];
    }
    match noisy.law.family() {
        Family::DoubleGeometric => {
            let laws: Vec<_> = calibration.laws(DoubleGeometric::new).collect::<crate::Result<_>>()?;
            of_laws(place, &laws, targets, how)
        }
        Family::DiscreteGaussian => {
            let laws: Vec<_> = calibration.laws(DiscreteGaussian::new).collect::<crate::Result<_>>()?;
            of_laws(place, &laws, targets, how)
        }
        _ => Ok(vec![None; targets.len()]),
    }
}

fn of_laws<L: IntegerLaw + Sync>(
    (tree, node): (&Hierarchy, &(dyn Fn(usize) -> usize + Sync)),
    laws: &[L],
    targets: &[Target],
    (level, most): (f64, f64),
) -> crate::Result<Vec<Law>> {
    let said = |law: &SumLaw| {
        let half = law.half_width(level);
        Width {
            half: half as f64,
            deviation: libm::sqrt(law.variance()),
            holds: Some(1.0 - law.beyond(half)),
        }
    };
    let fits = |law: crate::Result<Width>| match law {
        Ok(said) => Ok(Some(said)),
        Err(crate::Error::TooLarge { .. }) => Ok(None),
        Err(other) => Err(other),
    };
    let nodes = match NodeLaws::on_tree(tree, laws) {
        Ok(nodes) => nodes,
        Err(crate::Error::TooLarge { .. }) => return Ok(vec![None; targets.len()]),
        Err(other) => return Err(other),
    };
    let of_nodes: Vec<Width> = nodes.each().map(said).collect();
    let of = |target: &Target| match target {
        Target::Count(count) => Ok(Some(of_nodes[nodes.place(node(*count))])),
        Target::Sum(own) => {
            let mut weights = vec![0i8; tree.leaves().len()];
            for &(count, weight) in own {
                weights[tree.leaf_number(node(count as usize) as u32) - 1] = weight;
            }
            fits(SumLaws::new(tree, laws, most).and_then(|mut sums| sums.of(&weights).map(said)))
        }
    };
    targets.par_iter().map(of).collect()
}
