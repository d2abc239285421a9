//! What the releases of a cell pay, in words and rows: the one statement of it.

use super::gamma::{gamma, is_bounded, is_paid, quick_gamma, real_by_kind};
use crate::catalogue::Family;
use crate::grid::{Cell, Plan};
use crate::input::Subject;
use crate::invariant::Region;
use crate::privacy::{
    Accountant, Change, ChangeKind, Declared, Gamma, Inequalities, Loss, Price, PureNoise, Rho, Standard,
    Statement, TableChanges, longest_step,
};
use crate::store::Run;
use crate::table::Key;
use crate::{table, text_value};
use serde_json::{Value, json};
use std::cell::OnceCell;
use std::collections::HashMap;

text_value!(column Accountant, |accountant: &Accountant| accountant.name(), Accountant::named);
text_value!(column ChangeKind, |kind: &ChangeKind| kind.name(), ChangeKind::named);

table! {
    /// Studies of a grid: three rows per cell, one for each kind of change of the confidential table that a release
    /// protects. Of every kind the worst place is meant. In records, whatever `sensitivity` says; on a hierarchy a
    /// record counts once on every node from its leaf to the root.
    pub struct StatementRow in "statements.parquet" {
        /// the cell, in `cells.parquet`
        cell: Key;
        /// `added` (one record added or removed), `moved` (one record moved to another entry), `smallest` (the smallest
        /// change that keeps the invariant)
        change: ChangeKind;
        /// whether the change keeps the invariant at some place
        possible: bool;
        /// why it is impossible, or why nothing is known of it; else empty
        why: String;
        /// size of the change: records added and removed together, two for one that moves
        records: Option<u64>, "records";
        /// entries or leaves where it costs most, if there is a choice; leaves of a hierarchy by their numbers, from 1;
        /// last, of an upper bound, that a smaller change may exist or that it may be impossible
        place: String;
        /// what the noise pays: `Σ |u_v| / lambda_v` of the change u (pure laws), `‖u‖₂ / lambda` (l2), or the epsilon
        /// that `accountant` reads off rho at `delta`; of a mechanism of one's own what it says
        epsilon: Option<f64>;
        /// what the release pays in zero-concentrated privacy, `sup_α D_α/α`, conditioning included, at its own worst
        /// place; of Gaussian laws epsilon follows from it, of pure laws it does not follow from epsilon
        rho: Option<f64>;
        /// how rho is known: `computed`; `noise`, of methods that move free noise, which pays this, so that what they
        /// release pays at most as much; `bounded`, a bound that says nothing of which release pays less (`L
        /// tanh(L/2)`, L the `epsilon_conditioned`, which no release with this pure loss exceeds; or less, where more
        /// is known); `unknown` where it is null; empty where `epsilon` is
        rho_known: String;
        /// Gaussian laws: `normal` (the exact curve of normal noise: Balle, Wang 2018) or `zcdp` (the best that follows
        /// from rho-zCDP: Canonne, Kamath, Steinke 2020)
        accountant: Option<Accountant>;
        /// 0 for pure laws
        delta: Option<f64>;
        /// conditioning on inequalities makes `(1 + gamma) epsilon` of it; null if nothing bounds it
        gamma: Option<f64>;
        /// as in `cells.parquet`; with double geometric noise on trees and under bounds of single entries `bounded`,
        /// for this kind of change, by `congenial::privacy::tree_gamma_bound`, where nothing smaller is computed; with
        /// real Laplace noise on few entries `computed` or `bounded` for this kind of change;
        /// `declared` of a mechanism of one's own
        gamma_known: String;
        /// `(1 + gamma) epsilon`
        epsilon_conditioned: Option<f64>;
        /// `(1 + e^epsilon_conditioned) tv_error`, at most 1, to be added to delta; of chains by `bound_high` of
        /// `certificates.parquet`; null where either is not known
        delta_sampling: Option<f64>;
    }
}

impl StatementRow {
    /// `eta`: total variation error of a draw, if it is known.
    pub fn new(cell: Key, kind: ChangeKind, change: &Change, eta: Option<f64>) -> Self {
        let price = change.price();
        Self {
            cell,
            change: kind,
            possible: !matches!(change, Change::Impossible(_)),
            why: match change {
                Change::Possible(_) => String::new(),
                Change::Impossible(why) | Change::Unknown(why) => why.clone(),
            },
            records: price.map(|price| price.records),
            place: price.map_or(String::new(), |price| price.place.clone()),
            epsilon: price.map(|price| price.loss.epsilon),
            rho: price.and_then(|price| price.rho.value()),
            rho_known: price.map_or(String::new(), |price| price.rho.how().to_owned()),
            accountant: price.and_then(|price| price.loss.accountant),
            delta: price.map(|price| price.loss.delta),
            gamma: price.and_then(|price| price.gamma.value()),
            gamma_known: price.map_or(String::new(), |price| price.gamma.how().to_owned()),
            epsilon_conditioned: price.and_then(Price::epsilon),
            delta_sampling: price.zip(eta).and_then(|(price, eta)| price.sampling_delta(eta)),
        }
    }

    /// The change with its price.
    pub fn change(&self) -> Change {
        match (self.epsilon, self.delta) {
            (Some(epsilon), Some(delta)) => Change::Possible(Price {
                records: self.records.unwrap_or(0),
                place: self.place.clone(),
                loss: Loss { epsilon, accountant: self.accountant, delta },
                gamma: Gamma::named(self.gamma, &self.gamma_known),
                rho: Rho::named(self.rho, &self.rho_known),
            }),
            _ if self.possible => Change::Unknown(self.why.clone()),
            _ => Change::Impossible(self.why.clone()),
        }
    }
}

/// A change for programs.
pub fn described(change: &Change) -> Value {
    let row = StatementRow::new(Key(0), ChangeKind::Added, change, None);
    json!({
        "possible": row.possible,
        "why": row.why,
        "records": row.records,
        "place": row.place,
        "epsilon": row.epsilon,
        "rho": row.rho,
        "rho_known": row.rho_known,
        "accountant": row.accountant.map(Accountant::name),
        "delta": row.delta,
        "gamma": row.gamma,
        "gamma_known": row.gamma_known,
        "epsilon_conditioned": row.epsilon_conditioned,
    })
}

/// What changes cost, kind by kind, short: the smallest is named if it is one of the others, and why one is impossible is left to the notes
/// that are returned, each once.
pub fn statement_words(changes: &[(ChangeKind, Change)], notes: &mut Vec<String>) -> [String; 3] {
    let possible = |kind: ChangeKind| {
        changes.iter().any(|(of, change)| *of == kind && matches!(change, Change::Possible(_)))
    };
    ChangeKind::ALL.map(|kind| {
        let Some((_, change)) = changes.iter().find(|(of, _)| *of == kind) else {
            return "not recorded".into();
        };
        match change {
            Change::Possible(price) if kind == ChangeKind::Smallest => {
                if possible(ChangeKind::Added) {
                    "one added".into()
                } else if possible(ChangeKind::Moved) {
                    "one moved".into()
                } else {
                    format!("{} records: {}", price.records, price.words())
                }
            }
            Change::Possible(price) => price.words(),
            Change::Impossible(_) | Change::Unknown(_) => {
                let note = format!("{}: {}", kind.words(), change.words());
                if !notes.contains(&note) {
                    notes.push(note);
                }
                if matches!(change, Change::Impossible(_)) { "impossible" } else { "unknown" }.into()
            }
        }
    })
}

/// The statements of a run, cell by cell; none of a run that did not record them. Errors: the table.
pub fn statements(run: &Run) -> crate::failure::Result<HashMap<Key, Vec<(ChangeKind, Change)>>> {
    let mut statements: HashMap<Key, Vec<(ChangeKind, Change)>> = HashMap::new();
    run.each(|row: StatementRow| {
        statements.entry(row.cell).or_default().push((row.change, row.change()));
        Ok(())
    })?;
    Ok(statements)
}

/// Makes the statements of the cells of a plan.
pub struct Statements<'a> {
    subject: &'a Subject,
    /// The statements on a table of counts under an invariant.
    changes: Option<TableChanges>,
    longest: OnceCell<Option<u64>>,
}

impl<'a> Statements<'a> {
    /// The statements on the data of a plan.
    pub fn new(plan: &'a Plan) -> Self {
        let changes = match &plan.subject {
            Subject::Hierarchy(_) => None,
            Subject::Table(table) => {
                let name = |entry: u32| table.names[entry as usize].to_owned();
                Some(TableChanges::new(
                    &table.invariant,
                    &table.region,
                    &plan.config.data.equation_words(),
                    name,
                ))
            }
        };
        Self { subject: &plan.subject, changes, longest: OnceCell::new() }
    }

    /// What a cell pays. `gamma`, `rho_factor`: what conditioning on inequalities adds over all pairs of tables.
    pub fn of(&self, cell: &Cell, gamma: Gamma, rho_factor: Option<f64>) -> Statement {
        let conditioned = cell.at.method.conditions();
        let standard = match cell.at.law.family() {
            Family::Euclidean => Standard::Euclidean,
            // Without noise which changes are possible is all that is read of it.
            Family::Laplace | Family::Nothing => Standard::Pure { noise: PureNoise::Laplace, conditioned },
            Family::DoubleGeometric => Standard::Pure { noise: PureNoise::DoubleGeometric, conditioned },
            Family::Gaussian | Family::DiscreteGaussian => {
                let (accountant, delta) =
                    cell.at.law.facts().accountant.zip(cell.at.delta).expect("Gaussian laws have a delta");
                Standard::Concentrated { delta, accountant }
            }
        };
        let inequalities = match (rho_factor, cell.at.law.family()) {
            (Some(factor), _) => Inequalities::TimesRho(factor),
            // The bounds by change are those of leaves alone.
            (None, _) if self.subject.ties_nodes() => Inequalities::Times(gamma),
            (None, Family::DoubleGeometric) if is_paid(cell, self.subject) => {
                Inequalities::ByChange { all: gamma }
            }
            (None, Family::Laplace) if is_paid(cell, self.subject) => {
                Inequalities::ByKind(real_by_kind(cell, self.subject, gamma))
            }
            _ => Inequalities::Times(gamma),
        };
        let scales: Vec<f64> = cell.calibration.laws(|scale| scale).collect();
        let of_noise = match (self.subject, &self.changes) {
            (Subject::Hierarchy(table), _) => {
                let tree = &table.hierarchy;
                let name = |leaf| format!("leaf {}", tree.leaf_number(leaf));
                let conditions = cell.at.method.conditions() && cell.at.method.nonnegative();
                let nonnegative = conditions.then_some(&table.counts[..]);
                // Post-processing pays between all tables.
                let everything = Region::everything();
                let region = if conditioned { &table.region } else { &everything };
                let statement = Statement::of_tree_within(
                    tree,
                    &scales,
                    standard,
                    inequalities,
                    nonnegative,
                    region,
                    name,
                );
                statement.expect("a calibration has one scale for each level")
            }
            (_, changes) => {
                let changes = changes.as_ref().expect("a table has its changes");
                changes.statement(scales[0], standard, inequalities)
            }
        };
        // Without noise nothing is stated, whoever asks.
        let nothing = || (!cell.at.law.is_noise()).then(Declared::default);
        if let Some(declared) = cell.pays.or_else(nothing) {
            return declared.instead(of_noise);
        }
        match (conditioned, cell.at.method.kind().is_free()) {
            // Of real noise on bounded parts what is computed is a bound.
            (true, _) if cell.at.law.is_continuous() && is_bounded(cell, self.subject) => {
                of_noise.with_rho(Rho::at_most)
            }
            (true, _) | (false, true) => of_noise,
            (false, false) => of_noise.with_rho(Rho::of_noise),
        }
    }

    /// How many entries of a table a change of a kind changes, by 1 each: see [`TableChanges::ones`].
    pub(super) fn ones(&self, kind: ChangeKind) -> Option<u64> {
        self.changes.as_ref()?.ones(kind)
    }

    /// What a cell pays, with what a run finds about gamma.
    pub fn found(&self, cell: &Cell) -> Statement {
        let (gamma, rho_factor) = gamma(cell, self.subject);
        self.of(cell, gamma, rho_factor)
    }

    /// What a cell pays as far as a plan tells: gamma is not searched for, but bounded.
    pub fn quick(&self, cell: &Cell) -> Statement {
        let longest = || {
            *self.longest.get_or_init(|| match self.subject {
                Subject::Hierarchy(_) => None,
                Subject::Table(table) => {
                    let parts = table.region.components(&table.invariant);
                    let mut bounded = parts.iter().filter(|part| !part.region.is_everything());
                    bounded.try_fold(0, |most: u64, part| Some(most.max(longest_step(part)?)))
                }
            })
        };
        self.of(cell, quick_gamma(cell, self.subject, longest), None)
    }

    /// Whether the run finds more about gamma than [`Statements::quick`] says.
    pub fn is_searched(&self, cell: &Cell) -> bool {
        matches!(self.subject, Subject::Table(_)) && is_paid(cell, self.subject)
    }
}
