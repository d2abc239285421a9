//! Intervals that a release states for its answers: the half width within which an error lies with probability 95 %.

use crate::catalogue::{Family, LawKind, noise};
use crate::closed_form::{IntegerNoise, Noise, Operation, Summand, integer_quantile, laplace_quantile};
use crate::grid::{Cell, Plan};
use crate::imaging::{L2, LatticeL2};
use crate::inference::SumLaws;
use crate::input::{Answered, Asked, Query, Subject};
use crate::invariant::Hierarchy;
use crate::law::{DiscreteGaussian, DoubleGeometric, IntegerLaw, Law};
use crate::study::cells::expected;
use std::collections::{BTreeMap, HashMap};

/// The 97.5 % quantile of the normal law.
const NORMAL: f64 = 1.959_963_984_540_054;
/// Chance of an error outside.
const OUTSIDE: f64 = 0.05;
/// Counts times groups of a query up to which the variances of least squares are computed, by a projection for each group.
const MOST: usize = 100_000_000;
/// Products that the law of a sum may take: some seconds.
const PRODUCTS: f64 = 1e9;
/// Terms that are summed for a quantile of a discrete Gaussian; beyond, it is that of the normal law.
const WIDEST: f64 = 1e5;
/// Numbers of counts in one query whose sums are convolved; sums of yet other numbers are taken as normal.
const SIZES: usize = 100;

/// The interval that is stated around an answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Stated {
    /// Half its width, in counts.
    pub(super) half: f64,
    /// How it is found.
    pub(super) by: By,
}

/// How an interval is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum By {
    /// From the law of the error: it holds at least what it says.
    Exact,
    /// 1.96 standard deviations, as if errors were normal.
    Normal,
}

impl By {
    /// In a table.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Normal => "normal",
        }
    }
}

impl Stated {
    fn exact(half: f64) -> Self {
        Self { half, by: By::Exact }
    }

    /// From a variance; `normal`: whether the error is so.
    fn of_variance(variance: f64, normal: bool) -> Self {
        // No variance is no error.
        let by = if normal || variance == 0.0 { By::Exact } else { By::Normal };
        Self { half: NORMAL * libm::sqrt(variance), by }
    }
}

/// By query and group, one after the other: the 95 % interval that a cell states; `None` where it states none.
///
/// - Where the noise of the group is independent (`unconstrained`; entries of a table that nothing ties, also under
///   `l2` and methods that condition): the least c with `P(|error| <= c) >= 95 %`, from the law of the error. That of a
///   sum of integers is convolved ([`integer_quantile`]), that of Laplace noise is a mixture of Gamma laws
///   ([`laplace_quantile`]), that of Gaussian noise normal. Sums that are too wide to be convolved are taken as normal.
/// - Conditioning of integer noise on the equations of a tree: the same, from the law of the sum given the equations ([`SumLaws`]).
/// - `l2`, and conditioning of Gaussian noise on equations: `1.96 sqrt(v)`, v the variance of the answer under least
///   squares, which is `c' (A' W A)⁻¹ c` for the sum c of leaves (of a table `v |P c|²` with the projection P onto the
///   equations' kernel). It is computed by a projection for each group, while the counts of the subject times the
///   groups are at most 10^8. Exact for Gaussian noise, else as if errors were normal.
pub(super) fn intervals(plan: &Plan, cell: &Cell, asked: &Asked) -> Vec<Option<Stated>> {
    asked.queries.iter().flat_map(|query| of_query(plan, cell, query)).collect()
}

fn of_query(plan: &Plan, cell: &Cell, query: &Query) -> Vec<Option<Stated>> {
    let none = || vec![None; query.groups()];
    let noises: Option<Vec<Noise>> = cell.calibration.laws(|scale| noise(cell.at.law, scale)).collect();
    let (Some(noises), Some(operation)) = (noises, expected::operation(cell.at.method)) else {
        return none();
    };
    if operation == Operation::Free {
        return unconstrained(plan, cell, query, &noises).into_iter().map(Some).collect();
    }
    let free = match &plan.subject {
        Subject::Hierarchy(_) => !cell.nonnegative && !plan.subject.ties_nodes(),
        Subject::Table(table) => table.region.is_everything(),
    };
    let mut stated = match (operation, noises[0]) {
        (Operation::L2, _) => least_squares(plan, query, &noises),
        (Operation::Conditioned, Noise::Gaussian(_)) if free => least_squares(plan, query, &noises),
        (Operation::Conditioned, _) if free => conditioned(plan, cell, query),
        _ => None,
    }
    .map_or_else(none, |stated| stated.into_iter().map(Some).collect());
    if matches!(operation, Operation::L2 | Operation::Conditioned)
        && let Some(untied) = untied(plan, query)
    {
        let own = unconstrained(plan, cell, query, &noises);
        stated
            .iter_mut()
            .zip(own)
            .zip(untied)
            .filter(|(_, untied)| *untied)
            .for_each(|((stated, own), _)| *stated = Some(own));
    }
    stated
}

/// By group, whether nothing ties any of its entries; `None` of a hierarchy, and of a table that is tied as a whole.
fn untied(plan: &Plan, query: &Query) -> Option<Vec<bool>> {
    let (Subject::Table(table), Answered::Sums(first, groups)) = (&plan.subject, &query.answered) else {
        return None;
    };
    let mut tied = vec![true; table.counts.len()];
    for part in table.region.components(&table.invariant) {
        if part.component.rows.is_empty() && part.region.is_everything() {
            part.component.entries.iter().for_each(|&entry| tied[entry as usize] = false);
        }
    }
    // What is known has no noise.
    table.known.iter().for_each(|&entry| tied[entry as usize] = false);
    let mut untied = vec![true; query.groups()];
    groups
        .iter()
        .zip(*first..)
        .filter(|(_, entry)| tied[*entry])
        .for_each(|(&group, _)| untied[group as usize] = false);
    untied.contains(&true).then_some(untied)
}

/// What is stated of the noise itself.
fn unconstrained(plan: &Plan, cell: &Cell, query: &Query, noises: &[Noise]) -> Vec<Stated> {
    let scales = &cell.calibration.scales;
    match &query.answered {
        Answered::Level(level, nodes) => {
            let single = quantile(scales[*level], noises[*level]);
            nodes
                .clone()
                .map(|node| if plan.subject.is_known(node) { Stated::exact(0.0) } else { single })
                .collect()
        }
        Answered::Sums(first, groups) => {
            let level = plan.subject.levels() - 1;
            let measured = |i: usize| !plan.subject.is_known(first + i);
            let members = members(query.groups(), groups, measured);
            let mut known: BTreeMap<u64, Stated> = BTreeMap::new();
            let mut stated = |&members: &u64| {
                let normal = known.len() >= SIZES;
                let of = || of_sum(members, cell.at.law, scales[level], noises[level], normal);
                *known.entry(members).or_insert_with(of)
            };
            members.iter().map(&mut stated).collect()
        }
    }
}

/// What is stated of a sum of so many counts with noise of one law; `normal`: the sum is taken as normal.
fn of_sum(members: u64, law: LawKind, scale: f64, noise: Noise, normal: bool) -> Stated {
    match members {
        0 => return Stated::exact(0.0),
        1 => return quantile(scale, noise),
        _ => {}
    }
    let by_variance = |normal| Stated::of_variance(members as f64 * noise.variance(), normal);
    let integers = |law: IntegerNoise| {
        let sum = [Summand { weight: 1, count: members, law }];
        let half = if normal { None } else { integer_quantile(&sum, 1.0 - OUTSIDE) };
        half.map_or_else(|| by_variance(false), |half| Stated::exact(half as f64))
    };
    match law.family() {
        Family::Gaussian => by_variance(true),
        Family::Laplace if normal => by_variance(false),
        Family::Laplace => Stated::exact(scale * laplace_quantile(members, 1.0 - OUTSIDE)),
        Family::DoubleGeometric => integers(IntegerNoise::DoubleGeometric(scale)),
        Family::DiscreteGaussian => integers(IntegerNoise::DiscreteGaussian(scale)),
        // It has no noise of one count.
        Family::Euclidean | Family::Nothing => by_variance(false),
    }
}

/// How many leaves or entries every group has that are measured.
fn members(number: usize, groups: &[u32], measured: impl Fn(usize) -> bool) -> Vec<u64> {
    let mut members = vec![0; number];
    let counted = groups.iter().enumerate().filter(|&(i, _)| measured(i));
    counted.for_each(|(_, &group)| members[group as usize] += 1);
    members
}

/// The least c with `P(|z| <= c) >= 95 %`.
fn quantile(scale: f64, noise: Noise) -> Stated {
    match noise {
        Noise::Laplace(lambda) => Stated::exact(-lambda * libm::log(OUTSIDE)),
        Noise::Gaussian(sigma) => Stated::exact(NORMAL * sigma),
        Noise::DoubleGeometric(lambda) => {
            // P(|z| > c) = 2 a^(c + 1)/(1 + a).
            let a = DoubleGeometric::new(lambda).map_or(0.0, |law| law.ratio());
            let c = libm::log(OUTSIDE * (1.0 + a) / 2.0) / libm::log(a);
            Stated::exact((libm::ceil(c) - 1.0).max(0.0))
        }
        Noise::Variance(variance) => match DiscreteGaussian::new(scale) {
            Ok(law) if scale <= WIDEST => {
                let weight = |z: i64| libm::exp(law.log_weight(z) - law.log_weight(0));
                let end = (10.0 * scale) as i64 + 10;
                let tail = |from: i64| 2.0 * (from..=end).rev().map(weight).sum::<f64>();
                let mut beyond = tail(1);
                let allowed = OUTSIDE * (1.0 + beyond);
                let mut c = 0;
                while beyond > allowed {
                    c += 1;
                    beyond -= 2.0 * weight(c);
                }
                Stated::exact(c as f64)
            }
            _ => Stated::of_variance(variance, false),
        },
    }
}

/// Least squares on noise.
type Projection = Box<dyn Fn(&mut [f64])>;

/// By the variance of every answer under least squares; `None` where it is too much to compute.
fn least_squares(plan: &Plan, query: &Query, noises: &[Noise]) -> Option<Vec<Stated>> {
    if plan.subject.nodes().saturating_mul(query.groups()) > MOST {
        return None;
    }
    // `c' C c` with `C = (A' W A)⁻¹`: noise of `c v` on the leaves, projected, sums to it over the group.
    let (variance, project): (f64, Projection) = match &plan.subject {
        Subject::Hierarchy(table) => {
            let variances: Vec<f64> = noises.iter().map(|noise| noise.variance()).collect();
            let l2 = L2::new(&table.hierarchy, &variances).ok()?;
            (variances[variances.len() - 1], Box::new(move |noise| l2.project(noise)))
        }
        Subject::Table(table) => {
            let l2 = LatticeL2::new(&table.invariant).ok()?;
            (noises[0].variance(), Box::new(move |noise| l2.project(noise)))
        }
    };
    let mut noise = vec![0.0; plan.subject.nodes()];
    let widths = groups_of(plan, query).into_iter().map(|group| {
        noise.fill(0.0);
        group.iter().for_each(|&entry| noise[entry as usize] = variance);
        project(&mut noise);
        let found: f64 = group.iter().map(|&entry| noise[entry as usize]).sum();
        // What the invariant fixes has no variance; rounding may leave some.
        let of_free = variance * group.len() as f64;
        let variance = if found > 1e-12 * of_free { found } else { 0.0 };
        Stated::of_variance(variance, matches!(noises[0], Noise::Gaussian(_)))
    });
    Some(widths.collect())
}

/// From the law of a sum of integer noise under a tree's equations; `None` of tables and of real noise, and where it is too much
/// to compute.
fn conditioned(plan: &Plan, cell: &Cell, query: &Query) -> Option<Vec<Stated>> {
    let Subject::Hierarchy(table) = &plan.subject else { return None };
    if plan.subject.nodes().saturating_mul(query.groups()) > MOST {
        return None;
    }
    // Levels that are known have no scale, and no noise.
    let scales = cell.calibration.scales.iter().map(|&scale| if scale > 0.0 { scale } else { 1.0 });
    match cell.at.law.family() {
        Family::DoubleGeometric => {
            let laws: Vec<_> = scales.map(DoubleGeometric::new).collect::<Result<_, _>>().ok()?;
            by_sum_laws(&table.hierarchy, &laws, &groups_of(plan, query))
        }
        Family::DiscreteGaussian => {
            let laws: Vec<_> = scales.map(DiscreteGaussian::new).collect::<Result<_, _>>().ok()?;
            by_sum_laws(&table.hierarchy, &laws, &groups_of(plan, query))
        }
        _ => None,
    }
}

/// What sums over leaves state; `None` where one of their laws is too much to compute.
fn by_sum_laws<L: IntegerLaw>(tree: &Hierarchy, laws: &[L], groups: &[Vec<u32>]) -> Option<Vec<Stated>> {
    let mut known = SumLaws::new(tree, laws, PRODUCTS).ok()?;
    let mut weights = vec![0i8; tree.leaves().len()];
    let places: HashMap<u32, usize> = tree.leaves().iter().copied().zip(0..).collect();
    let stated = |group: &Vec<u32>| {
        weights.fill(0);
        group.iter().for_each(|leaf| weights[places[leaf]] = 1);
        Some(Stated::exact(known.of(&weights).ok()?.half_width(1.0 - OUTSIDE) as f64))
    };
    groups.iter().map(stated).collect()
}

/// The leaves or entries of every group.
fn groups_of(plan: &Plan, query: &Query) -> Vec<Vec<u32>> {
    let mut all = vec![Vec::new(); query.groups()];
    match (&query.answered, &plan.subject) {
        (Answered::Sums(first, groups), _) => {
            (*first as u32..).zip(groups).for_each(|(entry, &group)| all[group as usize].push(entry));
        }
        (Answered::Level(level, nodes), Subject::Hierarchy(table)) => {
            for &leaf in table.hierarchy.leaves() {
                let mut node = leaf as usize;
                while table.hierarchy.level(node) > *level {
                    node = table.hierarchy.parent(node);
                }
                all[node - nodes.start].push(leaf);
            }
        }
        (Answered::Level(..), Subject::Table(_)) => {}
    }
    all
}
