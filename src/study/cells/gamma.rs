//! What conditioning on inequalities adds to what a cell pays: gamma.

use crate::catalogue::{Family, LawKind};
use crate::grid::Cell;
use crate::input::{HierarchyTable, InvariantTable, Subject};
use crate::invariant::Bounded;
use crate::law::DoubleGeometric;
use crate::privacy::{
    Accountant, Conditioning, Gamma, RealGamma, Search, TreeCosts, WorstChange, gamma_bound, longest_step,
    real_table_gamma, real_tree_gamma, rho_ratio, tables,
};

/// Tables of an invariant that are searched in full for the gamma of every row.
const SEARCHED: usize = 200;
/// Tables of a component that are searched in full under Gaussian laws on the integers: below about half a second,
/// which grows with the cube.
const SEARCHED_GAUSSIAN: usize = 128;

/// gamma of a cell.
///
/// Moving free noise to the invariant is post-processing, the same for all tables of the invariant; equations alone
/// leave the probability of the invariant constant ("Two views", Lemma 3.3; for Gaussian laws the shift of a lattice or a
/// subspace by one of its own vectors). Only conditioning on inequalities pays, and with normal noise on the reals not even that
/// ([`rho_ratio`]).
///
/// With it, of Gaussian noise on the integers, the factor of rho behind it.
pub(in crate::study) fn gamma(cell: &Cell, subject: &Subject) -> (Gamma, Option<f64>) {
    if !cell.at.law.is_noise() {
        return (Gamma::Unknown, None);
    }
    if cell.pays.is_some() {
        return (Gamma::Declared, None);
    }
    if !is_paid(cell, subject) {
        return (Gamma::Proved, None);
    }
    match (subject, Reason::of(subject, cell.at.law)) {
        (Subject::Table(table), Reason::Renyi) => {
            let ratio = rho_factor(cell, table);
            (ratio.map_or(Gamma::Unknown, |ratio| Gamma::Computed(concentrated(cell, ratio))), ratio)
        }
        (Subject::Table(table), Reason::Pairs) => {
            (searched(cell, table).unwrap_or_else(|| Gamma::Bounded(bound(cell, table))), None)
        }
        (_, Reason::Real) => (real(cell, subject, Some(SEARCHED)).all, None),
        (_, reason) => (bounded(reason, cell, subject, || None), None),
    }
}

/// A bound on gamma that takes no search.
pub(super) fn quick_gamma(cell: &Cell, subject: &Subject, longest: impl FnOnce() -> Option<u64>) -> Gamma {
    match is_paid(cell, subject) {
        true => bounded(Reason::of(subject, cell.at.law), cell, subject, longest),
        false => Gamma::Proved,
    }
}

/// Whether a cell conditions on inequalities, with noise that pays for them.
pub(super) fn is_paid(cell: &Cell, subject: &Subject) -> bool {
    cell.at.method.conditions()
        && is_bounded(cell, subject)
        && Reason::of(subject, cell.at.law) != Reason::Normal
}

/// Whether a cell keeps inequalities.
pub(super) fn is_bounded(cell: &Cell, subject: &Subject) -> bool {
    match subject {
        Subject::Hierarchy(_) => cell.at.method.nonnegative() || subject.ties_nodes(),
        Subject::Table(table) => !table.region.is_everything(),
    }
}

/// Why gamma of a cell that conditions on inequalities is what is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    /// Real normal noise on a convex set pays nothing ([`crate::privacy::rho_ratio`] has the proof).
    Normal,
    /// Double geometric noise on all nodes of a tree, leaves >= 0: the largest [`crate::privacy::tree_gamma_bound`] of one record.
    Paths,
    /// Double geometric noise on a table: the worst pair of all tables where they are few, else [`gamma_bound`] under
    /// bounds of entries, and 1 under other inequalities.
    Pairs,
    /// Laplace noise of reals: computed or bounded where entries or leaves are few ([`RealGamma`]), and at most 1.
    Real,
    /// Theorem 2.1 of Gong and Meng: at most 1, for every law whose loss between two tables bounds the log ratio of any
    /// set's probabilities.
    Pure,
    /// Gaussian noise on the integers of a table: [`rho_ratio`] where the tables are few.
    Renyi,
    /// No bound is known: Gaussian noise on the integers of a tree.
    Open,
    /// No law of the place.
    NoLaw,
}

impl Reason {
    /// Every law at every place: none is decided by an arm for the rest.
    fn of(subject: &Subject, law: LawKind) -> Self {
        match (subject, law.family()) {
            (_, Family::Gaussian) => Self::Normal,
            (_, Family::Laplace | Family::DoubleGeometric) if subject.ties_nodes() => Self::Pure,
            (_, Family::Laplace) => Self::Real,
            (Subject::Table(_), Family::Euclidean) => Self::Pure,
            (Subject::Hierarchy(_), Family::DoubleGeometric) => Self::Paths,
            (Subject::Table(_), Family::DoubleGeometric) => Self::Pairs,
            (Subject::Table(_), Family::DiscreteGaussian) => Self::Renyi,
            (Subject::Hierarchy(_), Family::DiscreteGaussian) => Self::Open,
            (Subject::Hierarchy(_), Family::Euclidean) | (_, Family::Nothing) => Self::NoLaw,
        }
    }
}

/// What a reason says without a search. `longest`: of the steps between tables ([`longest_step`]).
fn bounded(reason: Reason, cell: &Cell, subject: &Subject, longest: impl FnOnce() -> Option<u64>) -> Gamma {
    match (reason, subject) {
        (Reason::Normal, _) => Gamma::Proved,
        (Reason::Paths, Subject::Hierarchy(table)) => Gamma::Bounded(tree_gamma(cell, table)),
        (Reason::Pairs, _) => {
            let rate = 1.0 / cell.calibration.scales[0];
            Gamma::Bounded(longest().map_or(1.0, |longest| gamma_bound(rate, longest)))
        }
        (Reason::Real, _) => real(cell, subject, None).all,
        (Reason::Pure, _) => Gamma::Bounded(1.0),
        (Reason::Renyi | Reason::Open | Reason::NoLaw, _) | (Reason::Paths, Subject::Table(_)) => {
            Gamma::Unknown
        }
    }
}

/// The worst pair of all tables, part by part, if there are few; `None` if there are many.
fn searched(cell: &Cell, table: &InvariantTable) -> Option<Gamma> {
    let law = DoubleGeometric::new(cell.calibration.scales[0]).ok()?;
    let mut worst = 0.0f64;
    for bounded in table.region.components(&table.invariant) {
        if bounded.region.is_everything() {
            continue;
        }
        // Parts are independent: the loss of a pair that differs in several is the sum of theirs.
        match Conditioning::new(&bounded, law).worst_pair(SEARCHED) {
            Ok(Search::Worst(pair)) => worst = worst.max(pair.gamma),
            Ok(Search::Single) => {}
            _ => return None,
        }
    }
    Some(Gamma::Computed(worst))
}

/// The largest [`rho_ratio`] of all parts, at least 1; `None` if some part has many tables.
fn rho_factor(cell: &Cell, table: &InvariantTable) -> Option<f64> {
    let mut ratio = 1.0f64;
    for bounded in table.region.components(&table.invariant) {
        if !bounded.region.is_everything() {
            let tables = tables(&bounded, SEARCHED_GAUSSIAN).ok()??;
            ratio = ratio.max(rho_ratio(&tables, cell.calibration.scales[0])?.bound);
        }
    }
    Some(ratio)
}

/// Gaussian noise on the integers: gamma such that `(1 + gamma) epsilon_total` is the epsilon of `ratio rho` at the cell's delta.
///
/// rho is that of the free noise between tables that are as far apart as the sensitivity. `generalized-gaussian` states an epsilon of its
/// own for them, which is not that of its rho: what is paid is then the larger of both.
fn concentrated(cell: &Cell, ratio: f64) -> f64 {
    let (sigma, delta) = (cell.calibration.scales[0], cell.calibration.delta);
    let rho = 0.5 * (cell.at.sensitivity / sigma) * (cell.at.sensitivity / sigma);
    let stated = match cell.at.law.facts().by_lattice {
        true => cell.calibration.epsilon,
        false => Accountant::Zcdp.epsilon(rho, delta),
    };
    (Accountant::Zcdp.epsilon(ratio * rho, delta) / stated - 1.0).max(0.0)
}

/// gamma of Laplace noise of reals, by kind of change. `limit`: of the tables of a total that are searched; `None`: none is.
pub(super) fn real(cell: &Cell, subject: &Subject, limit: Option<usize>) -> RealGamma {
    match subject {
        Subject::Hierarchy(table) => {
            real_tree_gamma(&table.hierarchy, &rates(cell)).unwrap_or(RealGamma::UNKNOWN)
        }
        Subject::Table(table) => {
            let parts = table.region.components(&table.invariant);
            real_table_gamma(&parts, 1.0 / cell.calibration.scales[0], limit)
        }
    }
}

/// Laplace noise of reals by kind of change, as far as gamma over all changes was found: computed, or bounded.
pub(super) fn real_by_kind(cell: &Cell, subject: &Subject, all: Gamma) -> RealGamma {
    let limit = matches!(all, Gamma::Computed(_)).then_some(SEARCHED);
    RealGamma { all, ..real(cell, subject, limit) }
}

/// The bound over all parts.
fn bound(cell: &Cell, table: &InvariantTable) -> f64 {
    let rate = 1.0 / cell.calibration.scales[0];
    let part = |bounded: Bounded| match bounded.region.is_everything() {
        true => 0.0,
        false => longest_step(&bounded).map_or(1.0, |longest| gamma_bound(rate, longest)),
    };
    table.region.components(&table.invariant).into_iter().map(part).fold(0.0, f64::max)
}

/// A bound on gamma for all tables of a tree and all changes of one record, with double geometric noise.
fn tree_gamma(cell: &Cell, table: &HierarchyTable) -> f64 {
    let rates = rates(cell);
    let Ok(costs) = TreeCosts::new(&table.hierarchy, &rates) else { return 1.0 };
    let changes = [costs.worst_added(), costs.worst_moved()];
    changes.into_iter().flatten().fold(0.0, |most, worst: WorstChange| worst.gamma_bound.max(most))
}

/// 1/lambda by level.
pub(in crate::study) fn rates(cell: &Cell) -> Vec<f64> {
    cell.calibration.laws(|scale| 1.0 / scale).collect()
}
