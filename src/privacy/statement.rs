//! What a release pays, said of the changes that it protects against.
//!
//! An epsilon means nothing without the change of the confidential table that it is about. Three are told apart: one record
//! **added** or removed, impossible where the invariant fixes a sum that contains it; one record **moved** to another entry, possible
//! only between entries that lie in the same sums; and the **smallest** change that keeps the invariant, a shortest vector of its
//! lattice (two people who trade places, where both margins of a two-way table are fixed). On a tree a record counts once on every node
//! from its leaf to the root ([`TreeCosts`]). Of every kind the worst place is meant.
//!
//! For a change u of the counts that are measured the noise pays `Σ |u_v| / lambda_v` (pure laws), `‖u‖₂ / lambda` (the ℓ2 law), or
//! `rho = Σ u_v² / (2 sigma_v²)` and the epsilon that follows at a delta (Gaussian laws). Conditioning on inequalities makes of it
//! `(1 + gamma)` times as much ([`Gamma`]), imperfect sampling adds to delta ([`sampling_delta`]), and what is done with a draw afterwards
//! adds nothing.

use super::{
    Gamma, TreeChange, TreeCosts, WorstChange, concentrated_epsilon, sampling_delta, tree_gamma_bound,
};
use crate::error::{Error, Result};
use crate::invariant::{Component, Hierarchy, Linear, Region};
use crate::lattice::{Basis, BasisKind, graver};

/// How loss is measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Standard {
    /// `Σ |u_v| / lambda_v`: Laplace, double geometric and ℓ1 laws.
    Pure,
    /// `‖u‖₂ / lambda`: the ℓ2 law.
    Euclidean,
    /// `rho = Σ u_v² / (2 sigma_v²)`, and epsilon at this delta: Gaussian laws.
    Concentrated {
        /// In (0, 1).
        delta: f64,
    },
}

impl Standard {
    /// What a change by ±1 of a count with noise of this scale adds to the sum behind the loss.
    fn cost(self, scale: f64) -> f64 {
        match self {
            Self::Pure => 1.0 / scale,
            Self::Euclidean => 1.0 / (scale * scale),
            Self::Concentrated { .. } => 0.5 / (scale * scale),
        }
    }

    /// The same of a change of several counts.
    fn cost_of(self, change: &[i64], scale: f64) -> f64 {
        let size = |v: &i64| match self {
            Self::Pure => v.unsigned_abs() as f64,
            _ => (*v as f64) * (*v as f64),
        };
        self.cost(scale) * change.iter().map(size).sum::<f64>()
    }

    fn loss(self, cost: f64) -> Loss {
        match self {
            Self::Pure => Loss { epsilon: cost, rho: None, delta: 0.0 },
            Self::Euclidean => Loss { epsilon: libm::sqrt(cost), rho: None, delta: 0.0 },
            Self::Concentrated { delta } => {
                Loss { epsilon: concentrated_epsilon(cost, delta), rho: Some(cost), delta }
            }
        }
    }
}

/// What the noise pays for a change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Loss {
    /// epsilon, at `delta`.
    pub epsilon: f64,
    /// Of Gaussian laws.
    pub rho: Option<f64>,
    /// 0 for pure laws.
    pub delta: f64,
}

/// What conditioning on inequalities makes of a loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Inequalities {
    /// It is multiplied by `1 + gamma`.
    Times(Gamma),
    /// rho is multiplied by this ([`super::rho_ratio`]).
    TimesRho(f64),
    /// Double geometric noise: under bounds of single entries or leaves, by the change ([`tree_gamma_bound`], [`super::gamma_bound`]).
    ByChange {
        /// Over all changes; the only bound under other inequalities.
        all: Gamma,
    },
}

/// A kind of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// One record added or removed.
    Added,
    /// One record in another entry.
    Moved,
    /// The smallest change that keeps the invariant.
    Smallest,
}

impl ChangeKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Added, Self::Moved, Self::Smallest];

    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Moved => "moved",
            Self::Smallest => "smallest",
        }
    }

    /// The kind of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Added => "one record added or removed",
            Self::Moved => "one record moved",
            Self::Smallest => "the smallest change that keeps the invariant",
        }
    }
}

/// What a change costs.
#[derive(Debug, Clone, PartialEq)]
pub struct Price {
    /// Its size: records that are added, or removed; a record that moves is two.
    pub records: u64,
    /// Where it is worst, if it is not the same everywhere.
    pub place: String,
    /// What the noise pays.
    pub loss: Loss,
    /// What conditioning adds, relative to `loss.epsilon`.
    pub gamma: Gamma,
}

impl Price {
    /// `(1 + gamma) epsilon`; `None` if nothing bounds gamma.
    pub fn epsilon(&self) -> Option<f64> {
        self.gamma.value().map(|gamma| (1.0 + gamma) * self.loss.epsilon)
    }

    /// What sampling within a total variation distance `eta` adds to delta; `None` if nothing bounds epsilon.
    pub fn sampling_delta(&self, eta: f64) -> Option<f64> {
        self.epsilon().map(|epsilon| sampling_delta(epsilon, eta))
    }

    /// In words: `epsilon 3, conditioned at most 4.28`.
    pub fn words(&self) -> String {
        let figure = |x: f64| match x < 1e-3 && x > 0.0 {
            true => format!("{x:.3e}"),
            false => format!("{x:.4}").trim_end_matches('0').trim_end_matches('.').to_owned(),
        };
        // An upper bound is rounded up.
        let at_most = |x: f64| figure(if x < 1e-3 { x } else { libm::ceil(x * 1e4 * (1.0 - 1e-12)) / 1e4 });
        let Loss { epsilon, rho, delta } = self.loss;
        let mut words = format!("epsilon {}", figure(epsilon));
        if rho.is_some() || delta > 0.0 {
            words += &format!(" at delta {delta:e}");
        }
        match (self.gamma, self.epsilon()) {
            (Gamma::Proved, _) => {}
            (Gamma::Declared, _) => words += ", declared",
            (Gamma::Bounded(_), Some(total)) => words += &format!(", conditioned at most {}", at_most(total)),
            (_, Some(total)) => words += &format!(", conditioned {}", figure(total)),
            (_, None) => words += ", conditioned unknown",
        }
        words
    }
}

/// A kind of change, and what it costs if it is possible.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// It keeps the invariant somewhere.
    Possible(Price),
    /// Why it keeps it nowhere.
    Impossible(String),
    /// Why nothing is known of it.
    Unknown(String),
}

impl Change {
    /// The price, if it is possible and known.
    pub fn price(&self) -> Option<&Price> {
        match self {
            Self::Possible(price) => Some(price),
            _ => None,
        }
    }

    /// In words: what it costs, or why it is impossible.
    pub fn words(&self) -> String {
        match self {
            Self::Possible(price) => price.words(),
            Self::Impossible(why) => format!("impossible: {why}"),
            Self::Unknown(why) => format!("unknown: {why}"),
        }
    }
}

/// What a release pays.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// One record added or removed.
    pub added: Change,
    /// One record moved.
    pub moved: Change,
    /// The smallest change that keeps the invariant.
    pub smallest: Change,
}

/// What a mechanism that is not ours says that it pays.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Declared {
    /// epsilon by kind of change, in the order of [`ChangeKind::ALL`]; `None` where it says nothing.
    pub epsilons: [Option<f64>; 3],
    /// delta of all of them.
    pub delta: f64,
}

impl Declared {
    /// The epsilon of the first kind of which it says something.
    pub fn first(&self) -> Option<f64> {
        self.epsilons.into_iter().flatten().next()
    }

    /// Whether it says something, and no more than there is.
    pub fn is_possible(&self) -> bool {
        let fine = |epsilon: f64| epsilon >= 0.0 && epsilon.is_finite();
        self.first().is_some()
            && self.epsilons.into_iter().flatten().all(fine)
            && (0.0..=1.0).contains(&self.delta)
    }

    /// In the place of what noise would pay. A change that the data make impossible stays so.
    pub fn instead(&self, of_noise: Statement) -> Statement {
        let change = |kind: ChangeKind, of_noise: Change| {
            let records = match &of_noise {
                Change::Impossible(_) => return of_noise,
                Change::Possible(price) => price.records,
                Change::Unknown(_) => 0,
            };
            match self.epsilons[kind as usize] {
                Some(epsilon) => Change::Possible(Price {
                    records,
                    place: String::new(),
                    loss: Loss { epsilon, rho: None, delta: self.delta },
                    gamma: Gamma::Declared,
                }),
                None => Change::Unknown("the mechanism does not say what it pays for it".into()),
            }
        };
        let Statement { added, moved, smallest } = of_noise;
        let smallest_is = [(ChangeKind::Added, &added), (ChangeKind::Moved, &moved)]
            .into_iter()
            .find(|(_, change)| **change == smallest)
            .map_or(ChangeKind::Smallest, |(kind, _)| kind);
        Statement {
            smallest: change(smallest_is, smallest),
            added: change(ChangeKind::Added, added),
            moved: change(ChangeKind::Moved, moved),
        }
    }
}

/// The larger gamma; the weaker way of knowing it.
fn larger(a: Gamma, b: Gamma) -> Gamma {
    let rank = |gamma: Gamma| match gamma {
        Gamma::Proved | Gamma::Declared => 0,
        Gamma::Computed(_) => 1,
        Gamma::Bounded(_) => 2,
        Gamma::Unknown => 3,
    };
    let weak = if rank(a) < rank(b) { b } else { a };
    let most = a.value().unwrap_or(0.0).max(b.value().unwrap_or(0.0));
    match weak {
        Gamma::Computed(_) => Gamma::Computed(most),
        Gamma::Bounded(_) => Gamma::Bounded(most),
        other => other,
    }
}

/// What is priced: a cost and what conditioning makes of it.
struct Pricing {
    standard: Standard,
    inequalities: Inequalities,
}

impl Pricing {
    fn change(&self, records: u64, cost: f64, gamma: Gamma, place: &str) -> Change {
        let loss = self.standard.loss(cost);
        let gamma = match (self.inequalities, self.standard) {
            (Inequalities::TimesRho(ratio), Standard::Concentrated { delta }) if gamma != Gamma::Proved => {
                let more = concentrated_epsilon(ratio.max(1.0) * cost, delta) / loss.epsilon - 1.0;
                Gamma::Computed(more.max(0.0))
            }
            _ => gamma,
        };
        Change::Possible(Price { records, place: place.to_owned(), loss, gamma })
    }

    /// Under these inequalities; `of_change`: its bound where they bound single entries.
    fn gamma(&self, bounds: Bounds, of_change: f64) -> Gamma {
        let (leaves, entries, rows) = match self.inequalities {
            Inequalities::Times(gamma) => (gamma, gamma, gamma),
            Inequalities::TimesRho(_) => {
                let paid = Gamma::Computed(0.0);
                (paid, paid, paid)
            }
            Inequalities::ByChange { all } => {
                let bound = Gamma::Bounded(of_change);
                let no_more = all.value().is_some_and(|all| all <= of_change);
                (bound, if no_more { all } else { bound }, all)
            }
        };
        let some = |there: bool, gamma: Gamma| if there { gamma } else { Gamma::Proved };
        [(bounds.entries, entries), (bounds.rows, rows)]
            .into_iter()
            .fold(some(bounds.leaves, leaves), |most, (there, gamma)| larger(most, some(there, gamma)))
    }
}

/// What is bounded by inequalities.
#[derive(Debug, Clone, Copy, Default)]
struct Bounds {
    /// Leaves of trees.
    leaves: bool,
    /// Other entries, one by one.
    entries: bool,
    /// Anything else.
    rows: bool,
}

impl Bounds {
    /// Of a part that is no tree with bounds of its leaves alone.
    fn of(region: &Region) -> Self {
        let rows = !region.rows.is_empty();
        Self { leaves: false, entries: !rows && !region.is_everything(), rows }
    }

    fn or(self, other: Self) -> Self {
        Self {
            leaves: self.leaves || other.leaves,
            entries: self.entries || other.entries,
            rows: self.rows || other.rows,
        }
    }
}

const LEAVES: Bounds = Bounds { leaves: true, entries: false, rows: false };

impl Statement {
    /// Of noise on all nodes of a tree that are not known.
    ///
    /// - `scales`: lambda or sigma by level.
    /// - `inequalities`: what it pays that no leaf is released below its bound.
    /// - `name`: of a node.
    ///
    /// Errors: not one scale for each level.
    pub fn of_tree(
        tree: &Hierarchy,
        scales: &[f64],
        standard: Standard,
        inequalities: Inequalities,
        name: impl Fn(u32) -> String,
    ) -> Result<Self> {
        let costs: Vec<f64> = scales.iter().map(|&scale| standard.cost(scale)).collect();
        let costs = TreeCosts::new(tree, &costs)?;
        let pricing = Pricing { standard, inequalities };
        let price = |worst: Option<WorstChange>, records, why: &str| match worst {
            Some(WorstChange { change, cost, gamma_bound }) => {
                let gamma = pricing.gamma(LEAVES, gamma_bound);
                pricing.change(records, cost, gamma, &place(change, &name))
            }
            None => Change::Impossible(why.to_owned()),
        };
        let added = price(costs.worst_added(), 1, "a known count contains every leaf");
        let moved = price(costs.worst_moved(), 2, "no two leaves lie below the same known counts");
        let smallest = if added.price().is_some() { &added } else { &moved }.clone();
        Ok(Self { added, moved, smallest })
    }

    /// The changes with their kinds.
    pub fn changes(&self) -> [(ChangeKind, &Change); 3] {
        let Self { added, moved, smallest } = self;
        [(ChangeKind::Added, added), (ChangeKind::Moved, moved), (ChangeKind::Smallest, smallest)]
    }
}

/// The leaves of a change by name.
fn place(change: TreeChange, name: impl Fn(u32) -> String) -> String {
    match change {
        TreeChange::Added(leaf) => name(leaf),
        TreeChange::Moved { from, to } => format!("{} and {}", name(from), name(to)),
    }
}

/// The changes that are possible in a table under equations: the same for every noise.
///
/// Parts that no equation ties together are looked at one by one. One whose equations are a tree ([`Component::tree`]), a single free
/// entry among them, and no mere total, takes records as a tree does; in any other no record can be added, and one can move between entries of equal columns.
#[derive(Debug, Clone)]
pub struct TableChanges {
    /// The two records that change most entries when they are added, in different parts.
    added: Vec<Entries>,
    moved: Option<Entries>,
    shortest: Shortest,
    not_added: String,
}

/// Entries that a record changes, each by 1.
#[derive(Debug, Clone)]
struct Entries {
    count: f64,
    bounds: Bounds,
    place: String,
}

impl Entries {
    /// The larger of both, with the bounds of both.
    fn keep(worst: &mut Option<Self>, other: Self) {
        let bounds = worst.as_ref().map_or(other.bounds, |worst| worst.bounds.or(other.bounds));
        if worst.as_ref().is_none_or(|worst| other.count > worst.count) {
            *worst = Some(other);
        }
        worst.as_mut().expect("one was kept").bounds = bounds;
    }
}

/// A shortest vector of the lattices of parts in which no record can be added or moved.
#[derive(Debug, Clone)]
enum Shortest {
    /// There is none.
    None,
    /// No vector is known.
    Unknown,
    /// A vector, and whether a shorter one may exist.
    Vector { vector: Vec<i64>, bounds: Bounds, at_most: bool },
}

impl TableChanges {
    /// - `region`: the bounds of the given table's noise.
    /// - `invariants`: the equations in words, for what is impossible.
    /// - `name`: of an entry.
    pub fn new(invariant: &Linear, region: &Region, invariants: &str, name: impl Fn(u32) -> String) -> Self {
        let (mut added, mut moved): (Vec<Entries>, Option<Entries>) = Default::default();
        let (mut shortest, mut fixed) = (Shortest::None, None);
        let mut all_bounds = Bounds::default();
        for bounded in &region.components(invariant) {
            let component = &bounded.component;
            let others = Bounds::of(&bounded.region);
            // Of a total more is known than of other trees.
            if let Some(tree) = component.tree().filter(|_| !component.is_total()) {
                // Bounds of leaves alone, or none.
                let bounds = match bounded.tree() {
                    Some((_, least)) => Bounds { leaves: least.is_some(), ..Bounds::default() },
                    None => others,
                };
                let ones = vec![1.0; tree.hierarchy.levels()];
                let costs = TreeCosts::new(&tree.hierarchy, &ones).expect("one cost for each level");
                // A known root is no entry.
                let first = u32::from(tree.hierarchy.is_known(0));
                let entry =
                    |node: u32| name(component.entries[tree.entries[(node - first) as usize] as usize]);
                let of = |worst: WorstChange| Entries {
                    count: worst.cost,
                    bounds,
                    // All single entries are alike.
                    place: if component.rows.is_empty() { String::new() } else { place(worst.change, entry) },
                };
                let own = costs.worst_added();
                let sum = || {
                    let row = component.rows.iter().find(|row| row.iter().all(|(_, a)| *a == row[0].1));
                    row.map(|row| sum_words(component, row, &name))
                };
                if own.is_none() {
                    fixed = fixed.or_else(sum);
                }
                added.extend(own.map(of));
                if let Some(worst) = costs.worst_moved() {
                    Entries::keep(&mut moved, of(worst));
                }
                all_bounds = all_bounds.or(bounds);
            } else {
                fixed = fixed.or_else(|| component.rows.first().map(|row| sum_words(component, row, &name)));
                if component.equal_columns().iter().any(|(_, entries)| entries.len() > 1) {
                    Entries::keep(&mut moved, Entries { count: 2.0, bounds: others, place: String::new() });
                } else {
                    shortest = shortest.or(component, others);
                }
            }
            added.sort_by(|a, b| b.count.total_cmp(&a.count));
            added.truncate(2);
        }
        added.iter_mut().for_each(|entries| entries.bounds = all_bounds);
        if let [first, second] = &added[..] {
            let places = [&first.place[..], &second.place].into_iter().filter(|place| !place.is_empty());
            let place = places.collect::<Vec<_>>().join(" and ");
            Entries::keep(
                &mut moved,
                Entries { count: first.count + second.count, bounds: all_bounds, place },
            );
        }
        let not_added = fixed.map_or(String::new(), |sum| format!("{sum} is fixed by {invariants}"));
        Self { added, moved, shortest, not_added }
    }

    /// What noise with the scale lambda or sigma on every entry pays.
    pub fn statement(&self, scale: f64, standard: Standard, inequalities: Inequalities) -> Statement {
        let (pricing, unit) = (Pricing { standard, inequalities }, standard.cost(scale));
        let price = |entries: &Entries, records| {
            let cost = entries.count * unit;
            let gamma = pricing.gamma(entries.bounds, tree_gamma_bound(cost, unit));
            pricing.change(records, cost, gamma, &entries.place)
        };
        let or = |entries: Option<&Entries>, records, why: &str| match entries {
            Some(entries) => price(entries, records),
            None => Change::Impossible(why.to_owned()),
        };
        let (added, moved) = (self.added.first(), self.moved.as_ref());
        let smallest = match (added, moved, &self.shortest) {
            (Some(added), ..) => price(added, 1),
            (_, Some(moved), _) => price(moved, 2),
            (.., Shortest::Vector { vector, bounds, at_most }) => {
                let place = if *at_most { "a shorter one may exist" } else { "" };
                let cost = standard.cost_of(vector, scale);
                let gamma = pricing.gamma(*bounds, tree_gamma_bound(cost, unit));
                pricing.change(size(vector), cost, gamma, place)
            }
            (.., Shortest::None) => Change::Impossible("one table alone keeps the invariant".into()),
            (.., Shortest::Unknown) => {
                Change::Unknown("the lattice of the invariant is too large to be searched".into())
            }
        };
        Statement {
            added: or(added, 1, &self.not_added),
            moved: or(moved, 2, "no two entries lie in the same fixed sums"),
            smallest,
        }
    }
}

/// The sum of a row in words.
fn sum_words(component: &Component, row: &[(u32, i64)], name: &impl Fn(u32) -> String) -> String {
    let names: Vec<String> =
        row.iter().take(2).map(|&(entry, _)| name(component.entries[entry as usize])).collect();
    let more = if row.len() > 2 { ", ..." } else { "" };
    let what = if row.iter().all(|&(_, a)| a == 1) { "the sum of" } else { "an equation of" };
    let plural = if row.len() == 1 { "entry" } else { "entries" };
    format!("{what} {} {plural} ({}{more})", row.len(), names.join(", "))
}

/// Free dimensions of a part of which all irreducible vectors are listed.
const LISTED: usize = 10;
/// Entries of a part whose lattice is searched.
const SEARCHED: usize = 160;

impl Shortest {
    /// The shorter of this and the shortest vector of a component without equal columns.
    fn or(self, component: &Component, bounds: Bounds) -> Self {
        let (vector, at_most) = match of_component(component) {
            Ok(Some(found)) => found,
            Ok(None) => return self,
            Err(_) => return if matches!(self, Self::None) { Self::Unknown } else { self },
        };
        match self {
            Self::Vector { vector: old, bounds: others, at_most: might } if size(&old) <= size(&vector) => {
                Self::Vector { vector: old, bounds: others.or(bounds), at_most: might || at_most }
            }
            Self::Vector { bounds: others, .. } => {
                Self::Vector { vector, bounds: others.or(bounds), at_most }
            }
            _ => Self::Vector { vector, bounds, at_most },
        }
    }
}

/// A shortest vector of a component's lattice in the ℓ1 norm, and whether a shorter one may exist; `None` if it has none. Errors: it
/// is too large.
fn of_component(component: &Component) -> Result<Option<(Vec<i64>, bool)>> {
    if let Some((rows, columns)) = component.margins {
        return Ok((rows > 1 && columns > 1).then(|| (vec![1, -1, -1, 1], false)));
    }
    if component.entries.len() > SEARCHED {
        let what = "the lattice of an invariant".into();
        let needed = component.entries.len() as u64;
        return Err(Error::TooLarge { what, needed, limit: SEARCHED as u64, unit: "entries" });
    }
    let basis = Basis::of_kernel(&component.matrix(), BasisKind::Reduced)?.vectors;
    let of_basis = || (0..basis.rows()).map(|i| basis.row(i).to_vec()).collect();
    // Every vector is a sum of irreducible ones whose sizes add up to its own.
    let (vectors, at_most): (Vec<Vec<i64>>, bool) = match (basis.rows() <= LISTED).then(|| graver(&basis)) {
        Some(Ok(vectors)) => (vectors, false),
        _ => (of_basis(), true),
    };
    Ok(vectors.into_iter().min_by_key(|v| size(v)).map(|v| (v, at_most)))
}

fn size(v: &[i64]) -> u64 {
    v.iter().map(|x| x.unsigned_abs()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invariant::Inequalities as Bounding;

    fn of(invariant: &Linear, counts: &[i64], standard: Standard, scale: f64) -> Statement {
        let region = Bounding::nonnegative(counts.len()).around(counts).unwrap();
        let changes = TableChanges::new(invariant, &region, "the total", |entry| format!("e{entry}"));
        changes.statement(scale, standard, Inequalities::ByChange { all: Gamma::Computed(0.25) })
    }

    /// All vectors within ±2 that keep the equations: the shortest, and what records can do.
    #[test]
    fn changes_are_those_of_all_short_vectors() {
        let mut systems = crate::testing::small_lattices();
        systems.push(Linear::none(3));
        systems.push(Linear::margins(2, 2).unwrap());
        systems.push(Linear::subsets(5, &[vec![0, 1], vec![2, 3]]).unwrap());
        // Three tables that must agree: no two columns are equal, and neither is one of them a tree.
        systems
            .push(Linear::subsets(6, &[vec![0, 1, 2], vec![2, 3, 4], vec![4, 5, 0], vec![1, 3, 5]]).unwrap());
        for invariant in systems {
            let n = invariant.entries();
            let points = crate::testing::lattice_points(&invariant, 2);
            let sizes = |points: &[&Vec<i64>]| points.iter().map(|v| size(v)).filter(|&size| size > 0).min();
            let shortest = sizes(&points.iter().collect::<Vec<_>>());
            let is_tree = invariant.components().iter().any(|c| c.tree().is_some() && !c.is_total());
            let statement = of(&invariant, &vec![3; n], Standard::Pure, 2.0);
            let records = |change: &Change| change.price().map(|price| price.records);
            if !is_tree {
                assert_eq!(records(&statement.added), None);
                assert_eq!(records(&statement.smallest), shortest, "{invariant:?}");
                let moves: Vec<_> =
                    points.iter().filter(|v| size(v) == 2 && v.iter().sum::<i64>() == 0).collect();
                assert_eq!(records(&statement.moved).is_some(), !moves.is_empty(), "{invariant:?}");
                let price = statement.smallest.price().unwrap();
                assert_eq!(price.loss.epsilon, shortest.unwrap() as f64 / 2.0);
                assert_eq!(price.gamma, Gamma::Computed(0.25));
            }
        }
        let free = of(&Linear::none(3), &[3; 3], Standard::Pure, 2.0);
        assert_eq!(free.added.price().unwrap().loss.epsilon, 0.5);
        assert_eq!(free.moved.price().unwrap().loss.epsilon, 1.0);
    }

    #[test]
    fn margins_let_two_people_trade_places() {
        let margins = Linear::margins(3, 4).unwrap();
        let pure = of(&margins, &[1; 12], Standard::Pure, 0.5);
        assert!(
            matches!(&pure.added, Change::Impossible(why) if why == "the sum of 4 entries (e0, e1, ...) is fixed by the total")
        );
        assert_eq!(pure.moved.words(), "impossible: no two entries lie in the same fixed sums");
        assert_eq!(pure.smallest.words(), "epsilon 8, conditioned 10");
        let euclidean = of(&margins, &[1; 12], Standard::Euclidean, 0.5);
        assert_eq!(euclidean.smallest.price().unwrap().loss.epsilon, 4.0);
        let gaussian = of(&margins, &[1; 12], Standard::Concentrated { delta: 1e-6 }, 2.0);
        let loss = gaussian.smallest.price().unwrap().loss;
        assert_eq!((loss.rho, loss.epsilon), (Some(0.5), concentrated_epsilon(0.5, 1e-6)));
    }

    /// rho multiplied, and the epsilon that follows.
    #[test]
    fn gaussian_noise_pays_through_its_rho() {
        let region = Bounding::nonnegative(3).around(&[1, 2, 3]).unwrap();
        let changes = TableChanges::new(&Linear::total(3).unwrap(), &region, "total", |e| e.to_string());
        let standard = Standard::Concentrated { delta: 1e-5 };
        let price =
            changes.statement(2.0, standard, Inequalities::TimesRho(1.5)).moved.price().unwrap().clone();
        assert_eq!(price.loss.rho, Some(0.25));
        assert!((price.epsilon().unwrap() - concentrated_epsilon(0.375, 1e-5)).abs() < 1e-12);
    }

    /// One tree as a tree and as a table with equations: one statement, whatever noise.
    #[test]
    fn a_tree_says_the_same_in_both_forms() {
        let tree = Hierarchy::from_parents(&[0, 0, 0, 0, 1, 1, 2]).unwrap();
        let mut counts = vec![0, 0, 0, 4, 1, 0, 2];
        tree.sum_up(&mut counts);
        let children = |v: usize| tree.children(v).map(|c| (c as u32, 1)).collect::<Vec<_>>();
        let rows = (0..3).map(|v| [vec![(v as u32, -1)], children(v)].concat()).collect();
        let invariant = Linear::from_rows(7, rows).unwrap();
        let region = Bounding::nonnegative(7).around(&counts).unwrap();
        let name = |v: u32| format!("node {v}");
        let changes = TableChanges::new(&invariant, &region, "hierarchy", name);
        let all = Gamma::Bounded(1.0);
        for (standard, inequalities) in [
            (Standard::Pure, Inequalities::ByChange { all }),
            (Standard::Pure, Inequalities::Times(Gamma::Proved)),
            (Standard::Concentrated { delta: 1e-6 }, Inequalities::Times(Gamma::Unknown)),
        ] {
            let as_tree = Statement::of_tree(&tree, &[1.7; 3], standard, inequalities, name).unwrap();
            let as_table = changes.statement(1.7, standard, inequalities);
            for ((_, a), (_, b)) in as_tree.changes().into_iter().zip(as_table.changes()) {
                let (a, b) = (a.price().unwrap(), b.price().unwrap());
                assert_eq!((a.records, &a.place), (b.records, &b.place));
                assert!((a.loss.epsilon - b.loss.epsilon).abs() < 1e-12);
                assert_eq!(a.gamma.how(), b.gamma.how());
                assert!((a.gamma.value().unwrap_or(0.0) - b.gamma.value().unwrap_or(0.0)).abs() < 1e-12);
            }
        }
        // A record added counts on three levels, one moved on two of each path.
        let statement =
            Statement::of_tree(&tree, &[1.0; 3], Standard::Pure, Inequalities::Times(Gamma::Proved), name)
                .unwrap();
        assert_eq!(
            (statement.added.words(), statement.moved.words()),
            ("epsilon 3".into(), "epsilon 4".into())
        );
        let known = tree.with_known(vec![true, false, false, false, false, false, false]).unwrap();
        let statement =
            Statement::of_tree(&known, &[1.0; 3], Standard::Pure, Inequalities::Times(Gamma::Proved), name)
                .unwrap();
        assert_eq!(statement.added.words(), "impossible: a known count contains every leaf");
        assert_eq!(statement.smallest.price().unwrap().records, 2);
    }
}
