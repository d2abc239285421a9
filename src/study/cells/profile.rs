//! What the releases of a cell pay as a whole curve, and how it is known.

use super::Statements;
use super::gamma::is_bounded;
use crate::catalogue::Family;
use crate::grid::Cell;
use crate::input::Subject;
use crate::invariant::Hierarchy;
use crate::privacy::{
    Change, ChangeKind, Gamma, IntegerNoise, Price, Profile, Rho, Statement, TreeChange, TreeCosts,
};
use std::cell::RefCell;
use std::collections::HashMap;

/// How a curve is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    /// It is that of the release.
    Computed,
    /// It is that of the law at which a chain aims: what its distance from it adds comes on top.
    OfTarget,
    /// It is that of free noise, which is moved to the invariant: what is released pays at most as much.
    OfNoise,
    /// No release with what is stated pays more.
    Bounded,
}

impl Known {
    pub(in crate::study) fn name(self) -> &'static str {
        match self {
            Self::Computed => "computed",
            Self::OfTarget => "target",
            Self::OfNoise => "noise",
            Self::Bounded => "bounded",
        }
    }
}

/// What several releases of a cell pay for a change.
pub(in crate::study) struct Together<'a> {
    pub(in crate::study) change: ChangeKind,
    pub(in crate::study) price: &'a Price,
    /// The curve of one release; `None` if nothing bounds it.
    pub(in crate::study) curve: Option<(Profile, Known)>,
}

impl Together<'_> {
    /// What simple accounting charges so many releases at a delta: pure losses added up, or what follows from rho.
    pub(in crate::study) fn charged(&self, delta: f64, releases: u64) -> Option<f64> {
        let (loss, times) = (&self.price.loss, releases as f64);
        match loss.accountant {
            Some(accountant) => self.price.rho.value().map(|rho| accountant.epsilon(times * rho, delta)),
            // What is declared at a larger delta says nothing at this one.
            None if times * loss.delta > delta => None,
            None => self.price.epsilon().map(|epsilon| times * epsilon),
        }
    }

    /// The curve of so many releases together.
    pub(in crate::study) fn composed(&self, releases: u64) -> Option<Profile> {
        self.curve.as_ref().map(|(curve, _)| curve.composed(releases))
    }

    /// The least epsilon of so many releases together at a delta: by their curve, or by what simple accounting charges, where tables
    /// leave out more than delta. `curve`: of [`Together::composed`].
    pub(in crate::study) fn epsilon(&self, curve: &Profile, (delta, releases): (f64, u64)) -> f64 {
        let charged = self.charged(delta, releases).unwrap_or(f64::INFINITY);
        curve.epsilon(delta).min(charged)
    }

    /// rho of so many releases together: by the curve, or where any loss is possible by the statement.
    pub(in crate::study) fn rho(&self, releases: u64) -> Option<f64> {
        let of_curve = self.curve.as_ref().and_then(|(curve, _)| curve.rho());
        Some(of_curve.or(self.price.rho.value())? * releases as f64)
    }

    /// mu of so many releases together.
    pub(in crate::study) fn mu(&self, releases: u64) -> Option<f64> {
        Some(self.curve.as_ref()?.0.mu()? * (releases as f64).sqrt())
    }
}

/// The curves of the cells of a plan: those that pay the same noise for the same change have one.
pub(crate) struct Profiles<'a> {
    subject: &'a Subject,
    statements: &'a Statements<'a>,
    found: RefCell<HashMap<String, Option<(Profile, Known)>>>,
}

impl<'a> Profiles<'a> {
    /// None yet.
    pub(crate) fn new(subject: &'a Subject, statements: &'a Statements<'a>) -> Self {
        Self { subject, statements, found: RefCell::default() }
    }

    /// What several releases of a cell pay, change by change, as far as they are possible; for the smallest one where it is none of
    /// the others.
    pub(in crate::study) fn each<'b>(&self, cell: &Cell, pays: &'b Statement) -> Vec<Together<'b>> {
        let of = |(change, own): (ChangeKind, &'b Change)| {
            let Change::Possible(price) = own else { return None };
            Some(Together { change, price, curve: self.of(cell, change, price) })
        };
        pays.of_records().filter_map(of).collect()
    }

    /// The curve of a change that costs a price; `None` if nothing bounds it.
    pub(crate) fn of(&self, cell: &Cell, kind: ChangeKind, price: &Price) -> Option<(Profile, Known)> {
        let family = cell.at.law.family();
        // Normal noise has the curve of two normal laws, under equations itself, under convex inequalities as a bound.
        let normal = |rho: f64| Profile::normal((2.0 * rho).sqrt());
        // Of free noise a price that is no bound says what changes; what is conditioned is searched for its changes.
        let is_exact = match cell.at.method.conditions() {
            true => price.gamma != Gamma::Declared,
            false => price.gamma == Gamma::Proved && !price.is_bound(),
        };
        let computed = match (family, price.rho) {
            (Family::Gaussian, Rho::Computed(rho)) => Some((normal(rho), Known::Computed)),
            (Family::Gaussian, Rho::OfNoise(rho)) => Some((normal(rho), Known::OfNoise)),
            _ if is_exact => self.computed(cell, kind),
            _ => None,
        };
        let of_target = |(curve, known)| match known {
            Known::Computed if cell.at.method.is_chain() => (curve, Known::OfTarget),
            known => (curve, known),
        };
        computed.map(of_target).or_else(|| {
            let bound = match family {
                _ if price.loss.delta > 0.0 && price.gamma == Gamma::Declared => None,
                Family::Gaussian => price.rho.value().map(normal),
                Family::DiscreteGaussian => price.rho.value().map(Profile::concentrated),
                Family::Euclidean | Family::Laplace | Family::DoubleGeometric => {
                    price.epsilon().map(Profile::pure)
                }
                Family::Nothing => None,
            };
            Some((bound?, Known::Bounded))
        })
    }

    /// The curve of other noise where it is computed, by noise and change once.
    fn computed(&self, cell: &Cell, kind: ChangeKind) -> Option<(Profile, Known)> {
        let (law, method) = (cell.at.law, cell.at.method.kind());
        let scales: Vec<f64> = cell.calibration.laws(|scale| scale).collect();
        let keeps = (method.conditions(), cell.at.method.nonnegative());
        let key = format!("{:?}", (law.name(), &scales, keeps, method.is_free(), kind.name()));
        if let Some(known) = self.found.borrow().get(&key) {
            return known.clone();
        }
        let found = match method.conditions() {
            true => self.conditioned(cell, &scales, kind).map(|curve| (curve, Known::Computed)),
            false => {
                let known = if method.is_free() { Known::Computed } else { Known::OfNoise };
                self.free(law.family(), &scales, kind).map(|curve| (curve, known))
            }
        };
        self.found.borrow_mut().insert(key, found.clone());
        found
    }

    /// The curve of integer noise that is conditioned on what a cell keeps, as far as [`Profile`] serves it, and within its limits.
    fn conditioned(&self, cell: &Cell, scales: &[f64], kind: ChangeKind) -> Option<Profile> {
        let noise = integers(cell.at.law.family())?;
        let curve = match self.subject {
            Subject::Hierarchy(table) => {
                let (tree, region) = (&table.hierarchy, &table.region);
                match is_bounded(cell, self.subject) {
                    false => Profile::of_tree(tree, scales, noise, kind),
                    true => {
                        let counts = cell.at.method.nonnegative().then_some(&table.counts[..]);
                        Profile::of_tree_within(tree, scales, counts, region, noise, kind)
                    }
                }
            }
            Subject::Table(table) => {
                Profile::of_table(&table.invariant, &table.region, scales[0], noise, kind)
            }
        };
        // What is too large is bounded.
        curve.ok()?
    }

    /// The curve of free noise.
    fn free(&self, family: Family, scales: &[f64], kind: ChangeKind) -> Option<Profile> {
        let changed = match self.subject {
            Subject::Hierarchy(table) => on_path(&table.hierarchy, scales, kind)?,
            Subject::Table(_) => vec![scales[0]; self.statements.ones(kind)? as usize],
        };
        match (integers(family), family) {
            (Some(noise), _) => Profile::of_free(&changed, noise).ok(),
            (None, Family::Laplace) => Some(Profile::of_free_laplace(&changed)),
            (None, _) => None,
        }
    }
}

/// The integer noise of a family.
fn integers(family: Family) -> Option<IntegerNoise> {
    match family {
        Family::DoubleGeometric => Some(IntegerNoise::DoubleGeometric),
        Family::DiscreteGaussian => Some(IntegerNoise::DiscreteGaussian),
        Family::Gaussian | Family::Euclidean | Family::Laplace | Family::Nothing => None,
    }
}

/// The scales of the counts that a change of one record changes, of the change that changes most of them; every other
/// changes some of those. `None`: not all leaves lie on one level, so that none need be the worst.
fn on_path(tree: &Hierarchy, scales: &[f64], kind: ChangeKind) -> Option<Vec<f64>> {
    let last = tree.levels() - 1;
    if tree.leaves().iter().any(|&leaf| tree.level(leaf as usize) != last) {
        return None;
    }
    let ones = vec![1.0; tree.levels()];
    let costs = TreeCosts::new(tree, &ones).ok()?;
    let worst = match kind {
        ChangeKind::Added => costs.worst_added(),
        ChangeKind::Moved => costs.worst_moved(),
        ChangeKind::Smallest => costs.worst_added().or_else(|| costs.worst_moved()),
    }?;
    // So many of the lowest levels, on one path or on two.
    let paths = if matches!(worst.change, TreeChange::Added(_)) { 1 } else { 2 };
    let levels = worst.cost as usize / paths;
    let scales = scales[scales.len() - levels..].iter().flat_map(|&scale| vec![scale; paths]);
    Some(scales.collect())
}
