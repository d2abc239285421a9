//! What a release pays, said of the changes that it protects against.
//!
//! An epsilon means nothing without the change of the confidential table that it is about. Three are told apart: one
//! record **added** or removed, impossible where the invariant fixes a sum that contains it; one record **moved** to
//! another entry, possible only between entries that lie in the same sums; and the **smallest** change between two
//! tables that satisfy everything, equations and inequalities (two people who trade places, where both margins of a
//! two-way table are fixed). On a tree a record counts once on every node from its leaf to the root ([`TreeCosts`]). Of
//! every kind the worst place is meant ([`TableChanges`] says how it is found, and where an upper bound stands in its
//! place).
//!
//! For a change u of the counts that are measured the noise pays `Σ |u_v| / lambda_v` (pure laws), `‖u‖₂ / lambda` (the ℓ2 law), or
//! `rho = Σ u_v² / (2 sigma_v²)` and the epsilon that follows at a delta (Gaussian laws). Conditioning on inequalities makes of it
//! `(1 + gamma)` times as much ([`Gamma`]), imperfect sampling adds to delta ([`sampling_delta`]), and what is done with a draw afterwards
//! adds nothing.

use super::accountant::Accountant;
use super::changes::{NO_ROOM, ONE_TABLE, TableChanges, place};
use super::smallest::Smallest;
use super::tree::{ties_of_moves, within_zeros};
use super::within::{self, Dearest};
use super::worst::{Bounds, Ties, Worst};
use super::{
    Gamma, PureNoise, RealGamma, Rho, TreeCosts, WorstChange, rho_bound, sampling_delta, tree_gamma_bound,
};
use crate::error::Result;
use crate::invariant::{Hierarchy, Region};
use std::borrow::Cow;

/// How loss is measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Standard {
    /// `Σ |u_v| / lambda_v`: Laplace, double geometric and ℓ1 laws.
    Pure {
        /// The law of the noise.
        noise: PureNoise,
        /// Whether the noise is conditioned on the equations: else free noise is moved to them, or stays.
        conditioned: bool,
    },
    /// `‖u‖₂ / lambda`: the ℓ2 law.
    Euclidean,
    /// `rho = Σ u_v² / (2 sigma_v²)`, and epsilon at this delta: Gaussian laws.
    Concentrated {
        /// The delta at which epsilon is stated, in (0, 1).
        delta: f64,
        /// How epsilon is read off rho.
        accountant: Accountant,
    },
}

impl Standard {
    /// What a change by ±1 of a count with noise of this scale adds to the sum behind the loss.
    fn cost(self, scale: f64) -> f64 {
        match self {
            Self::Pure { .. } => 1.0 / scale,
            Self::Euclidean => 1.0 / (scale * scale),
            Self::Concentrated { .. } => 0.5 / (scale * scale),
        }
    }

    fn loss(self, cost: f64) -> Loss {
        match self {
            Self::Pure { .. } => Loss { epsilon: cost, accountant: None, delta: 0.0 },
            Self::Euclidean => Loss { epsilon: libm::sqrt(cost), accountant: None, delta: 0.0 },
            Self::Concentrated { delta, accountant } => {
                Loss { epsilon: accountant.epsilon(cost, delta), accountant: Some(accountant), delta }
            }
        }
    }
}

/// What the noise pays for a change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Loss {
    /// The epsilon that is paid, at `delta`.
    pub epsilon: f64,
    /// How epsilon is read off rho: for Gaussian laws alone.
    pub accountant: Option<Accountant>,
    /// The delta; 0 for pure laws.
    pub delta: f64,
}

/// What conditioning on inequalities makes of a loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Inequalities {
    /// The loss is multiplied by `1 + gamma`.
    Times(Gamma),
    /// The rho is multiplied by this ([`super::rho_ratio`]).
    TimesRho(f64),
    /// The loss is multiplied by `1 + gamma`, gamma by the change: for double geometric noise under bounds of single
    /// entries or leaves ([`tree_gamma_bound`], [`super::gamma_bound`]).
    ByChange {
        /// The gamma over all changes; the only bound under other inequalities.
        all: Gamma,
    },
    /// The loss is multiplied by `1 + gamma`, gamma by the kind of change: for real Laplace noise.
    ByKind(RealGamma),
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
    /// All kinds of change.
    pub const ALL: [Self; 3] = [Self::Added, Self::Moved, Self::Smallest];

    /// The name of the kind in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Moved => "moved",
            Self::Smallest => "smallest",
        }
    }

    /// The kind of a name; `None` for another name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The kind of change in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Added => "one record added or removed",
            Self::Moved => "one record moved",
            Self::Smallest => "the smallest change that keeps the invariant",
        }
    }
}

/// By what losses are compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Measure {
    /// By epsilon, at the delta of Gaussian laws.
    Epsilon,
    /// By rho of zero-concentrated privacy ([`Rho`]).
    Rho,
    /// By mu of Gaussian privacy ([`Profile::mu`](super::Profile::mu)).
    Mu,
    /// By the epsilon of so many releases together at a delta, by the whole law of their loss ([`Profile`](super::Profile)).
    Together {
        /// The delta.
        delta: f64,
        /// Releases of the same data.
        releases: u64,
    },
}

impl Measure {
    /// The measure in tables: `epsilon`, `rho`, `mu`, `epsilon at delta 1e-6`, `epsilon at delta 1e-6 of 12 releases`.
    pub fn name(self) -> Cow<'static, str> {
        match self {
            Self::Epsilon => "epsilon".into(),
            Self::Rho => "rho".into(),
            Self::Mu => "mu".into(),
            Self::Together { delta, releases } => format!("epsilon {}", together(delta, releases)).into(),
        }
    }

    /// The measure of a name; `None` for another name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "epsilon" => Some(Self::Epsilon),
            "rho" => Some(Self::Rho),
            "mu" => Some(Self::Mu),
            _ => {
                let terms = name.strip_prefix("epsilon at delta ")?;
                let (delta, releases) = match terms.split_once(" of ") {
                    None => (terms, "1"),
                    Some((delta, releases)) => (delta, releases.strip_suffix(" releases")?),
                };
                Some(Self::Together { delta: delta.parse().ok()?, releases: releases.parse().ok()? })
            }
        }
    }

    /// What is paid, in a title: a loss, or what else it is.
    pub fn words(self) -> Cow<'static, str> {
        if self == Self::Epsilon { "loss".into() } else { self.name() }
    }

    /// What is paid, in a word.
    pub fn short(self) -> &'static str {
        match self {
            Self::Epsilon => "loss",
            Self::Rho => "rho",
            Self::Mu => "mu",
            Self::Together { .. } => "epsilon",
        }
    }
}

/// At what a loss of releases together is stated.
fn together(delta: f64, releases: u64) -> String {
    match releases {
        1 => format!("at delta {delta:?}"),
        _ => format!("at delta {delta:?} of {releases} releases"),
    }
}

/// An amount of loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Amount {
    /// The loss.
    pub loss: f64,
    /// What the loss is measured by.
    pub measure: Measure,
}

impl Amount {
    /// The amount with all digits, as TOML writes numbers: a point in each.
    pub fn exact(&self) -> String {
        self.words(format!("{:?}", self.loss))
    }

    fn words(&self, loss: String) -> String {
        match self.measure {
            Measure::Epsilon => loss,
            Measure::Rho => format!("rho {loss}"),
            Measure::Mu => format!("mu {loss}"),
            Measure::Together { delta, releases } => format!("epsilon {loss} {}", together(delta, releases)),
        }
    }
}

impl std::fmt::Display for Amount {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(&self.words(self.loss.to_string()))
    }
}

/// Said of the place of a smallest change that is an upper bound.
const PERHAPS_SMALLER: &str = "a smaller one may exist";
/// Said of the place of a change that is not known to be possible.
const PERHAPS_IMPOSSIBLE: &str = "it may be impossible";

/// A loss as statements have it, rounded up: four decimals, below 1e-3 four digits.
pub fn at_most(x: f64) -> String {
    let is_small = x < 1e-3 && x > 0.0;
    let places = if is_small { 3.0 - libm::floor(libm::log10(x)) } else { 4.0 };
    // Not one more for what is rounded in x itself.
    let up = libm::ceil(x * libm::pow(10.0, places) * (1.0 - 1e-12)) / libm::pow(10.0, places);
    match is_small {
        true => format!("{up:.3e}"),
        false => format!("{up:.4}").trim_end_matches('0').trim_end_matches('.').to_owned(),
    }
}

/// What a change costs.
#[derive(Debug, Clone, PartialEq)]
pub struct Price {
    /// The size of the change: records that are added, or removed; a record that moves is two.
    pub records: u64,
    /// The place where the change costs most, if it is not the same everywhere.
    pub place: String,
    /// What the noise pays for the change.
    pub loss: Loss,
    /// What conditioning adds, relative to `loss.epsilon`.
    pub gamma: Gamma,
    /// What the release pays for the change in zero-concentrated privacy, conditioning included, at its own worst
    /// place.
    pub rho: Rho,
}

impl Price {
    /// The epsilon of the release, `(1 + gamma) epsilon`; `None` if nothing bounds gamma.
    pub fn epsilon(&self) -> Option<f64> {
        self.gamma.value().map(|gamma| (1.0 + gamma) * self.loss.epsilon)
    }

    /// What sampling within a total variation distance `eta` adds to delta; `None` if nothing bounds epsilon.
    pub fn sampling_delta(&self, eta: f64) -> Option<f64> {
        self.epsilon().map(|epsilon| sampling_delta(epsilon, eta))
    }

    /// Whether the price is an upper bound: whether a smaller change, or none of the kind, may be all there is.
    pub fn is_bound(&self) -> bool {
        [PERHAPS_SMALLER, PERHAPS_IMPOSSIBLE].into_iter().any(|text| self.place.ends_with(text))
    }

    /// Whether the epsilon of the release is known as an upper bound alone: the price is one, or what conditioning adds.
    pub fn epsilon_is_bound(&self) -> bool {
        self.epsilon().is_some() && (matches!(self.gamma, Gamma::Bounded(_)) || self.is_bound())
    }

    /// The epsilon of the release, short: `3`; `<= 4.28` where that is a bound, `unknown` where nothing bounds it.
    pub fn short(&self) -> String {
        match self.epsilon() {
            None => "unknown".into(),
            Some(total) if self.epsilon_is_bound() => format!("<= {}", at_most(total)),
            Some(total) => at_most(total),
        }
    }

    /// The price in words: `epsilon 3, conditioned at most 4.28`.
    pub fn words(&self) -> String {
        let Loss { epsilon, delta, .. } = self.loss;
        let mut words = match self.is_bound() {
            true => format!("epsilon at most {}", at_most(epsilon)),
            false => format!("epsilon {}", at_most(epsilon)),
        };
        if delta > 0.0 {
            words += &format!(" at delta {delta:e}");
        }
        match (self.gamma, self.epsilon()) {
            (Gamma::Proved, _) => {}
            (Gamma::Declared, _) => words += ", declared",
            (Gamma::Bounded(_), Some(total)) => words += &format!(", conditioned at most {}", at_most(total)),
            (_, Some(total)) => words += &format!(", conditioned {}", at_most(total)),
            (_, None) => words += ", conditioned unknown",
        }
        words
    }
}

/// A kind of change, and what it costs if it is possible.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// The change keeps the invariant somewhere, and costs this.
    Possible(Price),
    /// The change keeps the invariant nowhere, for this reason.
    Impossible(String),
    /// Nothing is known of the change, for this reason.
    Unknown(String),
}

impl Change {
    /// The price of the change, if it is possible and known.
    pub fn price(&self) -> Option<&Price> {
        match self {
            Self::Possible(price) => Some(price),
            _ => None,
        }
    }

    /// The change in words: what it costs, or why it is impossible.
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
    /// What one record added or removed costs.
    pub added: Change,
    /// What one record moved costs.
    pub moved: Change,
    /// What the smallest change that keeps the invariant costs.
    pub smallest: Change,
}

/// What a mechanism that is not ours says that it pays.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Declared {
    /// epsilon by kind of change, in the order of [`ChangeKind::ALL`]; `None` where it says nothing.
    pub epsilons: [Option<f64>; 3],
    /// The delta of all epsilons.
    pub delta: f64,
}

impl Declared {
    /// The epsilon of the first kind of change of which it says something.
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

    /// Puts what is declared into the place of what noise would pay. A change that the data make impossible stays so.
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
                    loss: Loss { epsilon, accountant: None, delta: self.delta },
                    gamma: Gamma::Declared,
                    rho: if self.delta == 0.0 { Rho::Bounded(rho_bound(epsilon)) } else { Rho::Unknown },
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

/// What is priced: a cost and what conditioning makes of it.
struct Pricing {
    standard: Standard,
    inequalities: Inequalities,
}

impl Pricing {
    /// `rho`: of pure noise that pays for no inequalities; `None` where only the bound by its epsilon is known.
    fn change(&self, records: u64, cost: f64, gamma: Gamma, place: &str, rho: Option<Rho>) -> Change {
        let loss = self.standard.loss(cost);
        let gamma = match (self.inequalities, self.standard) {
            (Inequalities::TimesRho(ratio), Standard::Concentrated { delta, accountant })
                if gamma != Gamma::Proved =>
            {
                let more = accountant.epsilon(ratio.max(1.0) * cost, delta) / loss.epsilon - 1.0;
                Gamma::Computed(more.max(0.0))
            }
            _ => gamma,
        };
        let mut price = Price { records, place: place.to_owned(), loss, gamma, rho: Rho::Unknown };
        price.rho = match (self.standard, self.inequalities, gamma) {
            (Standard::Concentrated { .. }, _, Gamma::Proved) => Rho::Computed(cost),
            // The factor is that of the worst pair of all.
            (Standard::Concentrated { .. }, Inequalities::TimesRho(ratio), _) => {
                Rho::Bounded(ratio.max(1.0) * cost)
            }
            (Standard::Concentrated { .. }, ..) => Rho::Unknown,
            (Standard::Pure { .. } | Standard::Euclidean, ..) => {
                let bound = price.epsilon().map(|epsilon| Rho::Bounded(rho_bound(epsilon)));
                rho.filter(|_| gamma == Gamma::Proved).or(bound).unwrap_or(Rho::Unknown)
            }
        };
        if price.is_bound() {
            price.rho = price.rho.at_most();
        }
        Change::Possible(price)
    }

    /// The gamma under these inequalities of a change by so many records; `of_change`: its bound where they bound single entries.
    fn gamma(&self, bounds: Bounds, records: u64, of_change: f64) -> Gamma {
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
            Inequalities::ByKind(RealGamma { all, added, moved }) => {
                let own = match records {
                    1 => added,
                    2 => moved,
                    _ => all.value().map_or(Gamma::Unknown, Gamma::Bounded),
                };
                (own, own, own)
            }
        };
        let some = |there: bool, gamma: Gamma| if there { gamma } else { Gamma::Proved };
        [(bounds.entries, entries), (bounds.rows, rows)]
            .into_iter()
            .fold(some(bounds.leaves, leaves), |most, (there, gamma)| most.larger(some(there, gamma)))
    }
}

impl Statement {
    /// States what noise on all nodes of a tree that are not known pays.
    ///
    /// - `scales`: lambda or sigma by level.
    /// - `inequalities`: what it pays that no leaf is released below its bound.
    /// - `nonnegative`: the counts by node, where no leaf may be negative: nothing below a known 0 can change.
    /// - `name`: of a node.
    ///
    /// Errors: not one scale for each level.
    ///
    /// # Examples
    ///
    /// ```
    /// use congenial_core::invariant::Hierarchy;
    /// use congenial_core::privacy::{Gamma, Inequalities, PureNoise, Standard, Statement};
    ///
    /// // Two levels with lambda 2 and 4: a record counts once on each, one that moves changes two leaves.
    /// let tree = Hierarchy::from_parents(&[0, 0, 0])?;
    /// let standard = Standard::Pure { noise: PureNoise::DoubleGeometric, conditioned: true };
    /// let free = Inequalities::Times(Gamma::Proved);
    /// let pays = Statement::of_tree(&tree, &[2.0, 4.0], standard, free, None, |v| format!("node {v}"))?;
    /// assert_eq!(pays.added.price().unwrap().epsilon(), Some(0.75)); // 1/2 + 1/4
    /// assert_eq!(pays.moved.price().unwrap().epsilon(), Some(0.5)); // 2/4
    /// # Ok::<(), congenial_core::Error>(())
    /// ```
    pub fn of_tree(
        tree: &Hierarchy,
        scales: &[f64],
        standard: Standard,
        inequalities: Inequalities,
        nonnegative: Option<&[i64]>,
        name: impl Fn(u32) -> String,
    ) -> Result<Self> {
        Self::of_tree_within(tree, scales, standard, inequalities, nonnegative, &Region::everything(), name)
    }

    /// States what noise on all nodes of a tree pays whose releases lie within inequalities between nodes, and so do the tables that
    /// are protected. For [`Statement::of_tree`]'s arguments; `region`: the inequalities on the noise around the given table, with the
    /// nodes as entries, but for those of leaves that must not be negative.
    ///
    /// A change of one record is possible where two tables that keep everything differ by it. Of up to 64 leaves all changes are tried;
    /// of more only some are, and what is stated is that of the worst change that the known counts allow. The smallest change is
    /// unknown where no record is known to be added, nor one to be moved while none can be added.
    ///
    /// `inequalities` must hold for the region: [`Gamma::Bounded`] of 1 for every law whose loss between two tables bounds the log ratio of
    /// the free densities. Let `c(x) = Σ_{y in S} W(y - x)` over the releases S that keep everything, and l the loss of `x' - x`. From
    /// `W(y - x') <= e^l W(y - x)` for every y follows `c(x') <= e^l c(x)`, for integrals as for sums, whatever S is; so the densities
    /// `W(y - x)/c(x)` and `W(y - x')/c(x')` are within `e^(2 l)` of each other (Gong and Meng 2020, Theorem 2.1).
    ///
    /// Errors: not one scale for each level.
    pub fn of_tree_within(
        tree: &Hierarchy,
        scales: &[f64],
        standard: Standard,
        inequalities: Inequalities,
        nonnegative: Option<&[i64]>,
        region: &Region,
        name: impl Fn(u32) -> String,
    ) -> Result<Self> {
        let open = match nonnegative.filter(|_| tree.has_known()) {
            None => Some(tree.clone()),
            Some(counts) => within_zeros(tree, counts),
        };
        let Some(tree) = &open else {
            let none = Change::Impossible(ONE_TABLE.into());
            return Ok(Self { added: none.clone(), moved: none.clone(), smallest: none });
        };
        let costs: Vec<f64> = scales.iter().map(|&scale| standard.cost(scale)).collect();
        let costs = TreeCosts::new(tree, &costs)?;
        let pricing = Pricing { standard, inequalities };
        let price = |worst: Option<WorstChange>, records, why: &str, rho| match worst {
            Some(WorstChange { change, cost, gamma_bound }) => {
                let gamma = pricing.gamma(Bounds::of_leaves(true), records, gamma_bound);
                pricing.change(records, cost, gamma, &place(change, &name), rho)
            }
            None => Change::Impossible(why.to_owned()),
        };
        let [rho_added, rho_moved] = rho_of_tree(tree, scales, standard)?;
        if !region.is_everything() {
            let region = match nonnegative {
                Some(counts) => region.clone().above(counts, tree.leaves().iter().map(|&leaf| leaf as usize)),
                None => region.clone(),
            };
            let found = within::dearest(tree, &costs, &region)?;
            return Ok(Self::within(&pricing, found, [rho_added, rho_moved], &name));
        }
        let added = price(costs.worst_added(), 1, "a known count contains every leaf", rho_added);
        let moved = price(costs.worst_moved(), 2, "no two leaves lie below the same known counts", rho_moved);
        let smallest = if added.price().is_some() { &added } else { &moved }.clone();
        Ok(Self { added, moved, smallest })
    }

    /// The statement of the worst records added and moved within inequalities.
    fn within(
        pricing: &Pricing,
        found: [Option<Dearest>; 2],
        rho: [Option<Rho>; 2],
        name: &impl Fn(u32) -> String,
    ) -> Self {
        let exists = found.map(|found| found.is_some_and(|found| found.exists));
        let price = |kind: usize| match found[kind] {
            None => Change::Impossible(NO_ROOM.into()),
            Some(Dearest { change, cost, is_certain, .. }) => {
                let records = kind as u64 + 1;
                let gamma = pricing.gamma(Bounds { rows: true, ..Bounds::default() }, records, 1.0);
                let mut place = place(change, name);
                if !is_certain {
                    place += &format!("; {PERHAPS_IMPOSSIBLE}");
                }
                pricing.change(records, cost, gamma, &place, rho[kind])
            }
        };
        let (added, moved) = (price(0), price(1));
        // A larger change may be the smallest where neither is known to be possible.
        let smallest = match (exists, &added) {
            ([true, _], _) => added.clone(),
            ([_, true], Change::Impossible(_)) => moved.clone(),
            _ => {
                Change::Unknown("the inequalities may leave room for no record added, and none moved".into())
            }
        };
        Self { added, moved, smallest }
    }

    /// Replaces the rho of each change by what `of` makes of it.
    pub fn with_rho(mut self, of: impl Fn(Rho) -> Rho) -> Self {
        for change in [&mut self.added, &mut self.moved, &mut self.smallest] {
            if let Change::Possible(price) = change {
                price.rho = of(price.rho);
            }
        }
        self
    }

    /// The changes of one record with their kinds; where neither is possible the smallest change alone stands beside them.
    pub fn of_records(&self) -> impl Iterator<Item = (ChangeKind, &Change)> {
        let has_records = [&self.added, &self.moved].iter().any(|change| change.price().is_some());
        self.changes().into_iter().filter(move |(kind, _)| *kind != ChangeKind::Smallest || !has_records)
    }

    /// The three changes with their kinds.
    pub fn changes(&self) -> [(ChangeKind, &Change); 3] {
        let Self { added, moved, smallest } = self;
        [(ChangeKind::Added, added), (ChangeKind::Moved, moved), (ChangeKind::Smallest, smallest)]
    }
}

/// rho of a record added, and of one moved, with pure noise that pays for no inequalities; `None` where only the bound
/// by its epsilon is known.
///
/// Errors: as [`TreeCosts::new`].
fn rho_of_tree(tree: &Hierarchy, scales: &[f64], standard: Standard) -> Result<[Option<Rho>; 2]> {
    let Standard::Pure { noise, conditioned } = standard else { return Ok([None; 2]) };
    if conditioned {
        let totals = ties_of_moves(tree);
        let of_total = |&(level, entries): &(usize, u64)| noise.rho_of_total(scales[level], entries);
        let most = |rhos: Vec<f64>| Rho::Computed(rhos.into_iter().fold(0.0, f64::max));
        let moved = totals.and_then(|totals| totals.iter().map(of_total).collect::<Option<Vec<_>>>());
        let alone = (tree.nodes() == 1).then(|| Rho::Computed(noise.rho(scales[0])));
        return Ok([alone, moved.map(most)]);
    }
    // Free noise on every node that changes, by 1.
    let each: Vec<f64> =
        scales.iter().map(|&scale| if scale > 0.0 { noise.rho(scale) } else { 0.0 }).collect();
    let costs = TreeCosts::new(tree, &each)?;
    let computed = |worst: Option<WorstChange>| worst.map(|worst| Rho::Computed(worst.cost));
    Ok([computed(costs.worst_added()), computed(costs.worst_moved())])
}

impl Worst {
    /// rho of pure noise with a scale that pays for no inequalities; `None` where only the bound by its epsilon is known.
    fn rho(&self, scale: f64, standard: Standard) -> Option<Rho> {
        let Standard::Pure { noise, conditioned } = standard else { return None };
        let Ties { free, total, other } = self.ties;
        let one = noise.rho(scale);
        if !conditioned {
            // An entry that changes by k pays at most k² times as much as one by 1 (Bun and Steinke 2016, Prop. 1.9).
            let ones = self.square == self.size;
            let bound = || (one * self.square).min(rho_bound(self.size / scale));
            return Some(if ones { Rho::Computed(one * self.size) } else { Rho::Bounded(bound()) });
        }
        if other {
            return None;
        }
        let of_free = free.then_some(one * self.records as f64);
        let of_total = match total {
            Some(entries) => Some(noise.rho_of_total(scale, entries)?),
            None => None,
        };
        of_free.into_iter().chain(of_total).reduce(f64::max).map(Rho::Computed)
    }
}

impl TableChanges {
    /// States what noise with the scale lambda or sigma on every entry pays.
    pub fn statement(&self, scale: f64, standard: Standard, inequalities: Inequalities) -> Statement {
        let (pricing, unit) = (Pricing { standard, inequalities }, standard.cost(scale));
        let price = |worst: &Worst, if_uncertain: &str| {
            let pure = matches!(standard, Standard::Pure { .. });
            let cost = unit * if pure { worst.size } else { worst.square };
            let gamma = pricing.gamma(worst.bounds, worst.records, tree_gamma_bound(cost, unit));
            let uncertain = if worst.is_certain { "" } else { if_uncertain };
            let place = [&worst.place[..], uncertain].into_iter().filter(|text| !text.is_empty());
            let rho = worst.rho(scale, standard);
            pricing.change(worst.records, cost, gamma, &place.collect::<Vec<_>>().join("; "), rho)
        };
        let of_records = |worst: &std::result::Result<Worst, String>| match worst {
            Ok(worst) => price(worst, PERHAPS_IMPOSSIBLE),
            Err(why) => Change::Impossible(why.clone()),
        };
        let (added, moved) = (of_records(&self.added), of_records(&self.moved));
        let smallest = match (&self.smallest, &added, &moved) {
            (_, Change::Possible(_), _) => added.clone(),
            (_, _, Change::Possible(_)) => moved.clone(),
            (Smallest::Is(worst), ..) => price(worst, PERHAPS_SMALLER),
            (Smallest::None, ..) => Change::Impossible(ONE_TABLE.into()),
            (Smallest::Unknown, ..) => {
                Change::Unknown("the lattice of the invariant is too large to be searched".into())
            }
        };
        Statement { added, moved, smallest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invariant::{Inequalities as Bounding, Linear};

    const PURE: Standard = Standard::Pure { noise: PureNoise::DoubleGeometric, conditioned: true };

    fn of(invariant: &Linear, counts: &[i64], standard: Standard, scale: f64) -> Statement {
        let region = Bounding::nonnegative(counts.len()).around(counts).unwrap();
        let changes = TableChanges::new(invariant, &region, "the total", |entry| format!("e{entry}"));
        changes.statement(scale, standard, Inequalities::ByChange { all: Gamma::Computed(0.25) })
    }

    fn size(v: &[i64]) -> u64 {
        v.iter().map(|x| x.unsigned_abs()).sum()
    }

    #[test]
    fn measures_are_read_as_they_are_written() {
        let together = |delta, releases| Measure::Together { delta, releases };
        for (measure, name) in [
            (Measure::Epsilon, "epsilon"),
            (Measure::Rho, "rho"),
            (Measure::Mu, "mu"),
            (together(1e-6, 1), "epsilon at delta 1e-6"),
            (together(0.1, 12), "epsilon at delta 0.1 of 12 releases"),
        ] {
            assert_eq!((measure.name().as_ref(), Measure::named(name)), (name, Some(measure)));
        }
        for name in [
            "",
            "loss",
            "epsilon at delta x",
            "epsilon at delta 0.1 of 12",
            "epsilon at delta 0.1 of x releases",
        ] {
            assert_eq!(Measure::named(name), None, "{name}");
        }
        let amount = Amount { loss: 2.0, measure: together(1e-6, 12) };
        assert_eq!(amount.to_string(), "epsilon 2 at delta 1e-6 of 12 releases");
        assert_eq!(amount.exact(), "epsilon 2.0 at delta 1e-6 of 12 releases");
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
            let statement = of(&invariant, &vec![3; n], PURE, 2.0);
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
        let free = of(&Linear::none(3), &[3; 3], PURE, 2.0);
        assert_eq!(free.added.price().unwrap().loss.epsilon, 0.5);
        assert_eq!(free.moved.price().unwrap().loss.epsilon, 1.0);
    }

    #[test]
    fn margins_let_two_people_trade_places() {
        let margins = Linear::margins(3, 4).unwrap();
        let pure = of(&margins, &[1; 12], PURE, 0.5);
        assert!(
            matches!(&pure.added, Change::Impossible(why) if why == "the sum of 4 entries (e0, e1, ...) is fixed by the total")
        );
        assert_eq!(pure.moved.words(), "impossible: no two entries lie in the same fixed sums");
        assert_eq!(pure.smallest.words(), "epsilon 8, conditioned 10");
        let euclidean = of(&margins, &[1; 12], Standard::Euclidean, 0.5);
        assert_eq!(euclidean.smallest.price().unwrap().loss.epsilon, 4.0);
        let gaussian = of(
            &margins,
            &[1; 12],
            Standard::Concentrated { delta: 1e-6, accountant: Accountant::Normal },
            2.0,
        );
        let price = gaussian.smallest.price().unwrap();
        assert_eq!(price.loss.epsilon, Accountant::Normal.epsilon(0.5, 1e-6));
        // Nothing was said of what its rho becomes.
        assert_eq!(price.rho, Rho::Unknown);
    }

    /// rho multiplied, and the epsilon that follows.
    #[test]
    fn gaussian_noise_pays_through_its_rho() {
        let region = Bounding::nonnegative(3).around(&[1, 2, 3]).unwrap();
        let changes = TableChanges::new(&Linear::total(3).unwrap(), &region, "total", |e| e.to_string());
        let standard = Standard::Concentrated { delta: 1e-5, accountant: Accountant::Zcdp };
        let price =
            changes.statement(2.0, standard, Inequalities::TimesRho(1.5)).moved.price().unwrap().clone();
        assert_eq!(price.rho, Rho::Bounded(0.375));
        assert!((price.epsilon().unwrap() - Accountant::Zcdp.epsilon(0.375, 1e-5)).abs() < 1e-12);
    }

    /// Free entries without bounds do not hide the bounds of another.
    #[test]
    fn bounds_of_any_entry_count() {
        for bounded in 0..4 {
            let lower = (0..4).map(|entry| if entry == bounded { 0 } else { i64::MIN }).collect();
            let region = Bounding::bounds(lower, vec![i64::MAX; 4]).unwrap().around(&[3; 4]).unwrap();
            let changes = TableChanges::new(&Linear::none(4), &region, "nothing", |e| e.to_string());
            let all = Gamma::Bounded(1.0);
            let statement = changes.statement(2.0, PURE, Inequalities::ByChange { all });
            for change in [&statement.added, &statement.moved] {
                let price = change.price().unwrap();
                assert!(price.gamma.value().unwrap() > 0.1, "{bounded}: {:?}", price.gamma);
                assert_eq!(price.rho, Rho::Bounded(rho_bound(price.epsilon().unwrap())));
            }
        }
    }

    /// rho by what ties the entries: free ones, totals of which the one with fewest entries pays most, and anything
    /// else, where only the bound is known.
    #[test]
    fn rho_is_that_of_what_ties_entries() {
        let noise = PureNoise::DoubleGeometric;
        let of = |invariant: &Linear, standard| {
            let region = Bounding::nonnegative(invariant.entries()).around(&vec![3; invariant.entries()]);
            let changes = TableChanges::new(invariant, &region.unwrap(), "sums", |entry| format!("e{entry}"));
            changes.statement(2.0, standard, Inequalities::Times(Gamma::Proved))
        };
        let projected = Standard::Pure { noise, conditioned: false };
        let rho = |change: &Change| change.price().unwrap().rho;
        let one = noise.rho(2.0);
        for standard in [PURE, projected] {
            let free = of(&Linear::none(3), standard);
            assert_eq!((rho(&free.added), rho(&free.moved)), (Rho::Computed(one), Rho::Computed(2.0 * one)));
        }
        let totals = Linear::subsets(9, &[vec![0, 1, 2, 3], vec![4, 5, 6]]).unwrap();
        let conditioned = of(&totals, PURE);
        assert_eq!(rho(&conditioned.added), Rho::Computed(one));
        let three = noise.rho_of_total(2.0, 3).unwrap();
        assert!(three > 2.0 * one);
        assert_eq!(rho(&conditioned.moved), Rho::Computed(three));
        assert_eq!(rho(&of(&totals, projected).moved), Rho::Computed(2.0 * one));
        let margins = Linear::margins(3, 4).unwrap();
        assert_eq!(rho(&of(&margins, PURE).smallest), Rho::Bounded(rho_bound(2.0)));
        assert_eq!(rho(&of(&margins, projected).smallest), Rho::Computed(4.0 * one));
        // Entries that change by more than 1.
        let uneven = Linear::from_rows(2, vec![vec![(0, 1), (1, 2)]]).unwrap();
        assert_eq!(rho(&of(&uneven, projected).smallest), Rho::Bounded((5.0 * one).min(rho_bound(1.5))));
        assert_eq!(
            rho(&of(&uneven, Standard::Euclidean).smallest),
            Rho::Bounded(rho_bound(libm::sqrt(1.25)))
        );
        let laplace = Standard::Pure { noise: PureNoise::Laplace, conditioned: true };
        assert_eq!(rho(&of(&totals, laplace).moved), Rho::Bounded(rho_bound(1.0)));
        let two = Linear::total(2).unwrap();
        assert_eq!(rho(&of(&two, laplace).moved), Rho::Computed(PureNoise::Laplace.rho(1.0)));
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
            (PURE, Inequalities::ByChange { all }),
            (PURE, Inequalities::Times(Gamma::Proved)),
            (
                Standard::Concentrated { delta: 1e-6, accountant: Accountant::Zcdp },
                Inequalities::Times(Gamma::Unknown),
            ),
        ] {
            let as_tree = Statement::of_tree(&tree, &[1.7; 3], standard, inequalities, None, name).unwrap();
            let as_table = changes.statement(1.7, standard, inequalities);
            for ((_, a), (_, b)) in as_tree.changes().into_iter().zip(as_table.changes()) {
                let (a, b) = (a.price().unwrap(), b.price().unwrap());
                assert_eq!((a.records, &a.place), (b.records, &b.place));
                assert!((a.loss.epsilon - b.loss.epsilon).abs() < 1e-12);
                assert_eq!(a.gamma.how(), b.gamma.how());
                assert!((a.gamma.value().unwrap_or(0.0) - b.gamma.value().unwrap_or(0.0)).abs() < 1e-12);
                assert_eq!(a.rho.how(), b.rho.how());
                assert!((a.rho.value().unwrap_or(0.0) - b.rho.value().unwrap_or(0.0)).abs() < 1e-12);
            }
        }
        // A record added counts on three levels, one moved on two of each path.
        let statement =
            Statement::of_tree(&tree, &[1.0; 3], PURE, Inequalities::Times(Gamma::Proved), None, name)
                .unwrap();
        assert_eq!(
            (statement.added.words(), statement.moved.words()),
            ("epsilon 3".into(), "epsilon 4".into())
        );
        let known = tree.with_known(vec![true, false, false, false, false, false, false]).unwrap();
        let statement =
            Statement::of_tree(&known, &[1.0; 3], PURE, Inequalities::Times(Gamma::Proved), None, name)
                .unwrap();
        assert_eq!(statement.added.words(), "impossible: a known count contains every leaf");
        assert_eq!(statement.smallest.price().unwrap().records, 2);
    }
}
