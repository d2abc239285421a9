//! One exact sampler for every invariant: component by component, whatever serves it.

use super::grouped::{Grouped, GroupedScratch};
use super::klein::{EuclideanKlein, Klein};
use super::margins::{BoundedMargins, BoundedScratch, MarginsScratch, MarginsTable};
use super::{Entry, GeometricSum, IntegerTree, PartsScratch, SplitScratch, Truncated};
use crate::error::{Error, Result};
use crate::invariant::{Bounded, Component, Linear, NO_LOWER, NO_UPPER, Region, Tied};
use crate::law::{DiscreteGaussian, DoubleGeometric, EuclideanLaplace, IntegerLaw, LatticeLaw, Law};
use crate::rng::Rng;
use std::collections::HashMap;
use std::collections::hash_map::Entry::{Occupied, Vacant};
use std::sync::Arc;

/// A law with exact samplers on lattices.
pub trait ExactLattice: LatticeLaw {
    /// Prepares a component with equations.
    ///
    /// Errors: no exact sampler fits into memory or accepts often enough; no free dimension.
    fn component(self, component: &Component) -> Result<ComponentSampler>;
    /// Prepares a component under inequalities; `aliases`: columns that its alias tables may take.
    ///
    /// Errors: a law that is no product over entries; see [`Truncated::new`].
    fn bounded(self, bounded: &Bounded, aliases: usize) -> Result<ComponentSampler>;
    /// Prepares the law of one entry, within bounds or without. Errors: as [`ExactLattice::bounded`].
    fn entry(self, bounds: (i64, i64)) -> Result<Entry>;
}

/// Exact sampler of a [`LatticeLaw`] on `{z : A z = 0}`, optionally within inequalities.
///
/// | invariant | double geometric (ℓ1) | Gaussian | ℓ2 |
/// | --- | --- | --- | --- |
/// | no equation on an entry | [`Entry`] | [`Entry`] | [`EuclideanKlein`] |
/// | total, partition | [`GeometricSum`] | [`Klein`] | [`EuclideanKlein`] |
/// | margins | [`MarginsTable`] | [`Klein`] | [`EuclideanKlein`] |
/// | anything else | [`Grouped`], else [`Truncated`] | [`Klein`] | [`EuclideanKlein`] |
/// | 2 × 2 × n with all two-way margins, and the like | its groups' total | [`Klein`] | [`EuclideanKlein`] |
/// | with inequalities | [`Truncated`], for margins [`BoundedMargins`] | the same | none |
/// | a hierarchy too large for these, with lower bounds of its leaves or without | [`IntegerTree`] | [`IntegerTree`] | none |
///
/// # Examples
///
/// ```
/// use congenial_core::exact::{LatticeExact, LatticeScratch};
/// use congenial_core::invariant::Linear;
/// use congenial_core::law::DoubleGeometric;
/// use congenial_core::rng::{Role, TaskKey, stream};
///
/// let invariant = Linear::margins(3, 4)?;
/// let sampler = LatticeExact::new(&invariant, None, DoubleGeometric::new(2.0)?)?;
/// let mut rng = stream(TaskKey { seed: 1, cell: 0, replicate: 0, role: Role::Noise });
/// let mut noise = [0; 12];
/// sampler.draw(&mut rng, &mut LatticeScratch::default(), &mut noise);
/// assert!(invariant.holds(&noise));
/// # Ok::<(), congenial_core::Error>(())
/// ```
#[derive(Debug)]
pub struct LatticeExact {
    samplers: Vec<ComponentSampler>,
    tv_error: f64,
}

/// Exact sampler of one component, writing into the entries of the whole table.
#[derive(Debug)]
pub enum ComponentSampler {
    /// Nothing is free: zeros.
    Fixed(Vec<u32>),
    /// Entries with one sum.
    Total(Vec<u32>, Box<GeometricSum>),
    /// A two-way table.
    Margins(Box<MarginsTable>),
    /// A two-way table with bounds of its entries.
    BoundedMargins(Box<BoundedMargins>),
    /// Any equations.
    Grouped(Box<Grouped>),
    /// Equations and inequalities.
    Truncated(Box<Truncated>),
    /// Equations that leave entries equal up to sign.
    Tied(Box<TiedExact>),
    /// An entry in no equation.
    Entry(u32, Arc<Entry>),
    /// Equations that are a hierarchy, lower bounds of its leaves included.
    Tree(Vec<u32>, Box<IntegerTree>),
    /// Gaussian on any lattice.
    Klein(Box<Klein>),
    /// ℓ2 on any lattice.
    EuclideanKlein(Box<EuclideanKlein>),
}

/// Groups of entries that are equal up to sign: `Σ |z| / lambda` of k of them is that of one with `lambda / k`.
#[derive(Debug)]
pub struct TiedExact {
    groups: LatticeExact,
    tied: Tied,
}

impl TiedExact {
    /// Prepares the sampler of the groups; `None`: nothing is tied, or the groups are served no better.
    fn new(component: &Component, law: DoubleGeometric) -> Option<Self> {
        let tied = component.tied()?;
        let law = DoubleGeometric::new(Law::scale(&law) / tied.size() as f64).ok()?;
        Some(Self { groups: LatticeExact::new(&tied.equations, None, law).ok()?, tied })
    }
}

/// Space for one draw, reused from draw to draw.
#[derive(Debug, Clone, Default)]
pub struct LatticeScratch {
    tied: Vec<i64>,
    split: SplitScratch,
    parts: Vec<i64>,
    grouped: GroupedScratch,
    margins: (MarginsScratch, BoundedScratch),
    truncated: PartsScratch,
    tree: (PartsScratch, Vec<i64>),
    centres: Vec<f64>,
}

impl ExactLattice for DoubleGeometric {
    fn component(self, component: &Component) -> Result<ComponentSampler> {
        let entries = &component.entries;
        Ok(if component.is_total() {
            ComponentSampler::Total(
                entries.clone(),
                Box::new(GeometricSum::new(&self, entries.len(), Some(0))?),
            )
        } else if component.margins.is_some() {
            ComponentSampler::Margins(Box::new(MarginsTable::new(component, self)?))
        } else {
            match Grouped::new(component, &self) {
                // Many equations leave few free dimensions.
                Err(large @ Error::TooLarge { .. }) => {
                    if let Some(tied) = TiedExact::new(component, self) {
                        return Ok(ComponentSampler::Tied(Box::new(tied)));
                    }
                    let region = Region::everything();
                    let bounded = Bounded { component: component.clone(), region };
                    or_tree(within(&bounded, self, MAX_ALIASES).map_err(|_| large), &bounded, self)?
                }
                other => ComponentSampler::Grouped(Box::new(other?)),
            }
        })
    }
    fn bounded(self, bounded: &Bounded, aliases: usize) -> Result<ComponentSampler> {
        or_tree(within(bounded, self, aliases), bounded, self)
    }
    fn entry(self, bounds: (i64, i64)) -> Result<Entry> {
        Entry::new(&self, bounds, Entry::Geometric)
    }
}

impl ExactLattice for DiscreteGaussian {
    fn component(self, component: &Component) -> Result<ComponentSampler> {
        let klein = Klein::new(component, &self).map(|klein| ComponentSampler::Klein(Box::new(klein)));
        let bounded = Bounded { component: component.clone(), region: Region::everything() };
        or_tree(klein, &bounded, self)
    }
    fn bounded(self, bounded: &Bounded, aliases: usize) -> Result<ComponentSampler> {
        or_tree(within(bounded, self, aliases), bounded, self)
    }
    fn entry(self, bounds: (i64, i64)) -> Result<Entry> {
        Entry::new(&self, bounds, Entry::Gaussian)
    }
}

impl ExactLattice for EuclideanLaplace {
    fn component(self, component: &Component) -> Result<ComponentSampler> {
        Ok(ComponentSampler::EuclideanKlein(Box::new(EuclideanKlein::new(component, &self)?)))
    }
    fn bounded(self, _: &Bounded, _: usize) -> Result<ComponentSampler> {
        Err(no_product())
    }
    fn entry(self, _: (i64, i64)) -> Result<Entry> {
        Err(no_product())
    }
}

/// Prepares the points that are listed or, for a two-way table with bounds of its entries, which has too many soon,
/// proposals by rows; whatever serves.
fn within<L: IntegerLaw>(bounded: &Bounded, law: L, aliases: usize) -> Result<ComponentSampler> {
    let listed = || {
        let sampler = Truncated::new(bounded, &law)?.for_draws(aliases);
        Ok(ComponentSampler::Truncated(Box::new(sampler)))
    };
    let by_rows = || Ok(ComponentSampler::BoundedMargins(Box::new(BoundedMargins::new(bounded, &law)?)));
    match bounded.component.margins.filter(|_| bounded.region.rows.is_empty()) {
        None => listed(),
        Some((rows, columns)) if (rows - 1) * (columns - 1) <= LISTED => {
            listed().or_else(|why| by_rows().map_err(|_| why))
        }
        Some(_) => by_rows().or_else(|why| listed().map_err(|_| why)),
    }
}

/// Free dimensions of a table with margins up to which its points are listed: a draw then takes less.
const LISTED: usize = 3;

/// Prepares the sampler of a hierarchy where no sampler of equations serves and they are one. Errors: those of the
/// first.
fn or_tree<L: IntegerLaw>(
    first: Result<ComponentSampler>,
    bounded: &Bounded,
    law: L,
) -> Result<ComponentSampler> {
    first.or_else(|why| {
        let Some((tree, least)) = bounded.tree() else { return Err(why) };
        let counts: Option<Vec<i64>> = least.map(|least| least.iter().map(|z| -z).collect());
        let laws = vec![law; tree.hierarchy.levels()];
        let sampler =
            IntegerTree::new(&tree.hierarchy, &laws, counts.as_deref()).map_err(|_| why)?.for_draws();
        let component = &bounded.component.entries;
        let entries = tree.entries.iter().map(|&entry| component[entry as usize]).collect();
        Ok(ComponentSampler::Tree(entries, Box::new(sampler)))
    })
}

fn no_product() -> Error {
    Error::Unsupported {
        method: "exact",
        what: "the l2 law with inequalities".into(),
        reason: "it is no product over entries; use line-gibbs, mis or rejection",
    }
}

/// Columns of all alias tables of one sampler (8 bytes each).
const MAX_ALIASES: usize = 1 << 21;

impl LatticeExact {
    /// Prepares the sampler. `region`: inequalities on the noise, if any.
    ///
    /// Errors: no free dimension at all; a component that no exact sampler serves, with the limit it exceeds.
    pub fn new<L: ExactLattice>(invariant: &Linear, region: Option<&Region>, law: L) -> Result<Self> {
        let everything = Region::everything();
        let region = region.unwrap_or(&everything);
        let components =
            if L::FACTORISES { region.components(invariant) } else { vec![region.whole(invariant)] };
        let several =
            |bounded: &&Bounded| bounded.component.entries.len() > 1 && !bounded.region.is_everything();
        let aliases = MAX_ALIASES / components.iter().filter(several).count().max(1);
        let mut alone = Alone::new(law);
        let mut samplers = Vec::new();
        for bounded in &components {
            let (component, region) = (&bounded.component, &bounded.region);
            samplers.push(if region.is_everything() {
                ComponentSampler::new(component, &mut alone)?
            } else if component.rows.is_empty() && component.entries.len() == 1 && region.rows.is_empty() {
                alone.sampler(component.entries[0], (region.lower[0], region.upper[0]))?
            } else {
                law.bounded(bounded, aliases)?
            });
        }
        if samplers.iter().all(|sampler| matches!(sampler, ComponentSampler::Fixed(_))) {
            return Err(Error::no_free_dimension());
        }
        let tv_error = samplers.iter().map(ComponentSampler::tv_error).sum();
        Ok(Self { samplers, tv_error })
    }

    /// Draws once, into `noise` (one value per entry).
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R, scratch: &mut LatticeScratch, noise: &mut [i64]) {
        for sampler in &self.samplers {
            sampler.draw(rng, scratch, noise);
        }
    }

    /// Estimate of the total variation distance of a draw to the law, from truncated tables (see the samplers); 0 for
    /// the samplers by rejection.
    pub fn tv_error(&self) -> f64 {
        self.tv_error
    }
}

/// The laws of entries that nothing ties to others: those with the same bounds share one.
pub(super) struct Alone<L> {
    law: L,
    made: HashMap<(i64, i64), Arc<Entry>>,
}

impl<L: ExactLattice> Alone<L> {
    pub(super) fn new(law: L) -> Self {
        Self { law, made: HashMap::new() }
    }

    fn sampler(&mut self, entry: u32, bounds: (i64, i64)) -> Result<ComponentSampler> {
        let law = match self.made.entry(bounds) {
            Occupied(made) => made.get().clone(),
            Vacant(place) => place.insert(Arc::new(self.law.entry(bounds)?)).clone(),
        };
        Ok(ComponentSampler::Entry(entry, law))
    }
}

impl ComponentSampler {
    /// Prepares the sampler of one component of the equations.
    pub(super) fn new<L: ExactLattice>(component: &Component, alone: &mut Alone<L>) -> Result<Self> {
        if L::FACTORISES && component.rows.is_empty() {
            return alone.sampler(component.entries[0], (NO_LOWER, NO_UPPER));
        }
        // The leaves of a hierarchy are free, however many equations there are.
        if component.tree().is_none() && component.is_fixed()? {
            Ok(Self::Fixed(component.entries.clone()))
        } else {
            alone.law.component(component)
        }
    }

    pub(super) fn draw<R: Rng + ?Sized>(&self, rng: &mut R, scratch: &mut LatticeScratch, noise: &mut [i64]) {
        match self {
            Self::Fixed(entries) => entries.iter().for_each(|&entry| noise[entry as usize] = 0),
            Self::Total(entries, sum) => {
                scratch.parts.resize(entries.len(), 0);
                sum.split(rng, 0, &mut scratch.split, &mut scratch.parts);
                for (&entry, &part) in entries.iter().zip(&scratch.parts) {
                    noise[entry as usize] = part;
                }
            }
            Self::Margins(table) => table.draw(rng, &mut scratch.margins.0, noise),
            Self::BoundedMargins(table) => table.draw(rng, &mut scratch.margins.1, noise),
            Self::Grouped(grouped) => grouped.draw(rng, &mut scratch.grouped, noise),
            Self::Truncated(truncated) => truncated.draw(rng, &mut scratch.truncated, noise),
            Self::Tied(tied) => {
                let mut values = std::mem::take(&mut scratch.tied);
                values.resize(tied.tied.groups.len(), 0);
                tied.groups.draw(rng, scratch, &mut values);
                tied.tied.spread(&values, noise);
                scratch.tied = values;
            }
            Self::Entry(entry, law) => noise[*entry as usize] = law.draw(rng),
            Self::Tree(entries, tree) => {
                let (parts, nodes) = &mut scratch.tree;
                // A root that is known is no entry.
                let first = usize::from(tree.root().is_none());
                nodes.resize(entries.len() + first, 0);
                tree.draw(rng, parts, nodes);
                entries.iter().zip(&nodes[first..]).for_each(|(&entry, z)| noise[entry as usize] = *z);
            }
            Self::Klein(klein) => klein.draw(rng, &mut scratch.centres, noise),
            Self::EuclideanKlein(klein) => klein.draw(rng, &mut scratch.centres, noise),
        }
    }

    pub(super) fn tv_error(&self) -> f64 {
        match self {
            Self::Margins(table) => table.tv_error(),
            Self::BoundedMargins(table) => table.tv_error(),
            Self::Grouped(grouped) => grouped.tv_error(),
            Self::Truncated(truncated) => truncated.tv_error(),
            Self::Tied(tied) => tied.groups.tv_error(),
            Self::Entry(_, law) => law.lost(),
            Self::Tree(_, tree) => tree.tv_error(),
            _ => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invariant::Inequalities;
    use crate::testing::{assert_frequencies, layers, test_stream};
    use std::collections::BTreeMap;

    /// More equations than a normal form takes, without inequalities and with them.
    #[test]
    fn hierarchies_may_be_large() {
        let groups = 1100;
        let inner = |g: u32| 2 * groups + g;
        let mut rows = vec![vec![(3 * groups, -1)]];
        for g in 0..groups {
            rows[0].push((inner(g), 1));
            rows.push(vec![(2 * g, 1), (2 * g + 1, 1), (inner(g), -1)]);
        }
        let entries = 3 * groups as usize + 1;
        let invariant = Linear::from_rows(entries, rows).unwrap();
        let mut counts = vec![1; 2 * groups as usize];
        counts.extend(vec![2; groups as usize]);
        counts.push(2 * i64::from(groups));
        let region = Inequalities::nonnegative(entries).around(&counts).unwrap();
        let (mut rng, mut scratch, mut noise) = (test_stream(2), LatticeScratch::default(), vec![0; entries]);
        for region in [None, Some(&region)] {
            let geometric =
                LatticeExact::new(&invariant, region, DoubleGeometric::new(2.0).unwrap()).unwrap();
            let gaussian =
                LatticeExact::new(&invariant, region, DiscreteGaussian::new(2.0).unwrap()).unwrap();
            for exact in [geometric, gaussian] {
                exact.draw(&mut rng, &mut scratch, &mut noise);
                assert!(invariant.holds(&noise) && region.is_none_or(|region| region.contains(&noise)));
                assert!(noise.iter().any(|&z| z != 0));
            }
        }
    }

    /// All two-way sums of a 2 × 2 × n table: against the mean absolute value of an entry by convolution, and its whole law.
    #[test]
    fn layers_of_tables_are_drawn_as_a_total() {
        for (n, lambda, want) in [(4, 4.0, 0.560_755), (6, 2.0, 0.148_794)] {
            let invariant = layers(n);
            let exact = LatticeExact::new(&invariant, None, DoubleGeometric::new(lambda).unwrap()).unwrap();
            assert!(matches!(exact.samplers[..], [ComponentSampler::Tied(_)]));
            // The law of one layer: weights `a^|u|`, given that all sum to 0.
            let a = libm::exp(-4.0 / lambda);
            let weight = |u: i64| libm::pow(a, u.abs() as f64);
            let mut rest = BTreeMap::from([(0i64, 1.0)]);
            for _ in 1..n {
                let mut next = BTreeMap::new();
                for (at, p) in &rest {
                    (-40..=40).for_each(|u| *next.entry(at + u).or_insert(0.0) += p * weight(u));
                }
                rest = next;
            }
            let law: Vec<(i64, f64)> = (-40..=40).map(|u| (u, weight(u) * rest[&-u])).collect();
            let total: f64 = law.iter().map(|(_, p)| p).sum();
            let mean: f64 = law.iter().map(|(u, p)| u.abs() as f64 * p / total).sum();
            assert!((mean - want).abs() < 1e-6, "{n}: {mean}");
            const DRAWS: u64 = 200_000;
            let mut found: BTreeMap<i64, u64> = BTreeMap::new();
            let mut noise = vec![0; 4 * n as usize];
            let (mut rng, mut scratch) = (test_stream(n.into()), LatticeScratch::default());
            for _ in 0..DRAWS {
                exact.draw(&mut rng, &mut scratch, &mut noise);
                assert!(invariant.holds(&noise));
                *found.entry(noise[0]).or_default() += 1;
            }
            assert_frequencies(
                law.iter().map(|(u, p)| (found.get(u).copied().unwrap_or(0), p / total)),
                DRAWS,
            );
        }
    }

    /// Two-way tables side by side, one with its columns first, are drawn table by table: as often as the list of their points says.
    #[test]
    fn tables_side_by_side_have_the_law_of_their_points() {
        let line = |of: &dyn Fn(u32) -> u32, n: u32| (0..n).map(|k| (of(k), 1)).collect::<Vec<_>>();
        let rows = |first: u32| (0..2).map(move |i| line(&|j| first + 3 * i + j, 3));
        let columns = |first: u32| (0..3).map(move |j| line(&|i| first + 3 * i + j, 2));
        let all = rows(0).chain(columns(6)).chain(columns(0)).chain(rows(6)).collect();
        let invariant = Linear::from_rows(12, all).unwrap();
        let margins = invariant.components().iter().map(|component| component.margins).collect::<Vec<_>>();
        assert_eq!(margins, [Some((2, 3)); 2]);
        let counts = [2, 1, 0, 1, 0, 2, 1, 1, 1, 0, 3, 0];
        let region = Inequalities::nonnegative(12).around(&counts).unwrap();
        let law = DoubleGeometric::new(1.5).unwrap();
        let exact = LatticeExact::new(&invariant, Some(&region), law).unwrap();
        const DRAWS: u64 = 100_000;
        let mut found: BTreeMap<Vec<i64>, u64> = BTreeMap::new();
        let (mut rng, mut scratch, mut noise) = (test_stream(3), LatticeScratch::default(), vec![0; 12]);
        for _ in 0..DRAWS {
            exact.draw(&mut rng, &mut scratch, &mut noise);
            *found.entry(noise.clone()).or_default() += 1;
        }
        let tables = || (0..81).map(|i| (i / 9 - 4, i % 9 - 4)).map(|(a, b)| [a, b, -a - b, -a, -b, a + b]);
        let pairs = tables().flat_map(|one| tables().map(move |other| [one, other].concat()));
        let points: Vec<Vec<i64>> = pairs.filter(|z| region.contains(z)).collect();
        let weight = |z: &Vec<i64>| libm::exp(-z.iter().map(|z| z.abs()).sum::<i64>() as f64 / 1.5);
        let total: f64 = points.iter().map(weight).sum();
        assert!(points.len() > 10);
        assert_frequencies(
            points.iter().map(|z| (found.get(z).copied().unwrap_or(0), weight(z) / total)),
            DRAWS,
        );
        // Free, each is a two-way table as well.
        let free = LatticeExact::new(&invariant, None, law).unwrap();
        free.draw(&mut rng, &mut scratch, &mut noise);
        assert!(invariant.holds(&noise));
        assert!(free.samplers.iter().all(|sampler| matches!(sampler, ComponentSampler::Margins(_))));
    }

    /// A hierarchy in any order of entries, drawn by the sampler of trees: as often as the list of its points says.
    #[test]
    fn trees_of_entries_have_the_law_of_the_listed_points() {
        // Entry 3 = 0 + 4, 0 = 1 + 2, of counts (3, 1, 2, 5, 2); and the same with entry 3 known.
        let rows = vec![vec![(3, -1), (0, 1), (4, 1)], vec![(0, 1), (1, -1), (2, -1)]];
        let free = Linear::from_rows(5, rows).unwrap();
        let known = free.with_known(&[3]).unwrap();
        tree_case(&free, Some(3), |_| true);
        tree_case(&known, None, |z| z[3] == 0);
    }

    fn tree_case(invariant: &Linear, root: Option<u32>, allowed: impl Fn(&[i64]) -> bool) {
        let counts = [3, 1, 2, 5, 2];
        let region = Inequalities::nonnegative(5).around(&counts).unwrap();
        let bounded =
            region.components(invariant).into_iter().max_by_key(|b| b.component.entries.len()).unwrap();
        let law = DoubleGeometric::new(1.5).unwrap();
        let none = Err(Error::no_free_dimension());
        let ComponentSampler::Tree(entries, tree) = or_tree(none, &bounded, law).unwrap() else {
            panic!("no tree")
        };
        assert!(root.is_none_or(|root| entries[0] == root));
        let sampler = ComponentSampler::Tree(entries, tree);
        const DRAWS: u64 = 100_000;
        let mut found: BTreeMap<Vec<i64>, u64> = BTreeMap::new();
        let (mut rng, mut scratch, mut noise) = (test_stream(1), LatticeScratch::default(), vec![0; 5]);
        for _ in 0..DRAWS {
            sampler.draw(&mut rng, &mut scratch, &mut noise);
            assert!(invariant.holds(&noise) && region.contains(&noise));
            *found.entry(noise.clone()).or_default() += 1;
        }
        // Leaves up to 30: what is beyond weighs less than 1e-8.
        let mut points = Vec::new();
        for (a, b, c) in (0..30 * 30 * 30).map(|i| (i / 900, i / 30 % 30, i % 30)) {
            let (a, b, c) = (a - counts[1], b - counts[2], c - counts[4]);
            points.push(vec![a + b, a, b, a + b + c, c]);
        }
        points.retain(|z| allowed(z));
        let weight =
            |z: &Vec<i64>| libm::exp(-z.iter().map(|z| z.abs()).sum::<i64>() as f64 / Law::scale(&law));
        let total: f64 = points.iter().map(weight).sum();
        assert_frequencies(
            points.iter().map(|z| (found.get(z).copied().unwrap_or(0), weight(z) / total)),
            DRAWS,
        );
    }
}
