//! What a cell of a grid is, and what became of it: `cells.parquet` and `failures.parquet`.

pub mod expected;
mod gamma;
mod profile;
mod statement;
mod telling;

pub(in crate::study) use gamma::{gamma, rates};
pub(in crate::study) use profile::Together;
pub(crate) use profile::{Known, Profiles};
pub use statement::{StatementRow, Statements, described, statement_words, statements};
pub use telling::{CELL, Part, Releases};

use crate::catalogue::{LawKind, MethodKind};
use crate::config::SplitSpec;
use crate::failure::{Failure, Result};
use crate::grid::{Cell, Plan};
use crate::own::Own;
use crate::privacy::{Gamma, sampling_delta};
use crate::store::{Run, RunFolder, TableFile};
use crate::table::{Key, Record};
use crate::{table, text_value};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

text_value!(column LawKind, |law: &LawKind| law.name(), LawKind::named);
text_value!(column MethodKind, |kind: &MethodKind| kind.name(), MethodKind::named);
text_value!(Convergence, |convergence: &Convergence| convergence.name(), Convergence::named);
text_value!(SplitSpec, |split: &SplitSpec| split.label(), SplitSpec::named);

/// Whether the chains of a cell may be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Convergence {
    /// It draws none that could be judged.
    NoChains,
    /// By every quantity that was recorded.
    Converged,
    /// By one of them not.
    NotConverged,
    /// Coupled pairs bound how far the law of its releases is from its target, whatever those quantities say.
    Certified,
    /// Nothing tells: a single chain, too few records, or a certificate was asked for and says nothing.
    Unknown,
}

impl Convergence {
    const ALL: [Self; 5] =
        [Self::NoChains, Self::Converged, Self::NotConverged, Self::Certified, Self::Unknown];

    /// As tables have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoChains => "",
            Self::Converged => "yes",
            Self::NotConverged => "no",
            Self::Certified => "certified",
            Self::Unknown => "unknown",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|convergence| convergence.name() == name)
    }

    /// The verdict beside a certificate: where that says nothing, chains that agree with each other are no excuse.
    pub(in crate::study) fn certified(self, is_known: bool) -> Self {
        match self {
            Self::Converged | Self::NotConverged | Self::Unknown if is_known => Self::Certified,
            Self::Converged => Self::Unknown,
            Self::NoChains | Self::NotConverged | Self::Certified | Self::Unknown => self,
        }
    }

    /// What marks the method of a cell whose chains are certified, or may not be trusted.
    pub(in crate::study) fn mark(self) -> &'static str {
        match self {
            Self::NoChains | Self::Converged => "",
            Self::NotConverged => " †",
            Self::Certified => " §",
            Self::Unknown => " ‡",
        }
    }
}

table! {
    /// Studies of a grid: one row per cell, in the order of the config.
    pub struct CellRow in "cells.parquet" {
        /// key of the cell, 16 hexadecimal digits: SHA-256 of what the cell is, data included; of one of several master
        /// seeds that too
        cell: Key;
        /// name of the data set; empty if it has none
        data: String;
        /// master seed; null of a cell that stands for those of all seeds: its summaries are over the replicates of all
        /// of them, and rows by replicate it has none
        seed: Option<u64>;
        /// of one of several seeds: the cell that stands for all of them, with the key that it has in a config of one
        /// seed
        pooled: Option<Key>;
        /// privacy budget as given (of each level with split `each`, of the whole otherwise)
        epsilon: f64;
        /// for the Gaussian laws
        delta: Option<f64>;
        /// of the counts of one level: L1 (pure laws) or L2 (Gaussian laws)
        sensitivity: f64, "counts";
        /// `each`, `even`, or shares joined by `/`, the root's first
        split: SplitSpec;
        /// trees: `laplace`, `double-geometric`, `gaussian`, `discrete-gaussian`; tables: all of these, `l1`, `l2`,
        /// `generalized-gaussian`
        law: LawKind;
        /// see `docs/reference/config.md`; of all methods `release` alone draws by the sampler of `congenial release`, with bits of the
        /// cell's seeded streams in the place of the operating system's
        method: MethodKind;
        /// of the method: `name=value`, joined by commas; empty if none
        options: String;
        /// whether the releases are promised to be >= 0: by an option of the method (trees), or by the invariant if the
        /// method keeps inequalities (tables)
        nonnegative: bool;
        /// whether all releases are integers: the method keeps those of the law, or ends with a rounding
        integers: bool;
        /// whether the releases are promised to satisfy the equations of the invariant
        consistent: bool;
        /// of chains: key of the cell without the length of its chain and without a lag, by which a study of meetings
        /// certifies releases
        chain: Option<Key>;
        /// of coupled chains
        lag: Option<u64>, "kernel steps";
        /// where a coupled pair is cut short
        max_steps: Option<u64>, "kernel steps";
        /// lambda or sigma of the noise (l1, l2: sensitivity / epsilon); of trees that of the highest level that is
        /// measured, the others are in `levels.parquet`
        scale: f64, "counts";
        /// as asked for
        replicates: u64;
        /// what measuring all levels pays together, without what conditioning on inequalities adds (`gamma`) and what
        /// imperfect sampling adds (`delta_sampling`). On tables epsilon is paid per unit of the law's norm between two
        /// tables with the same invariants. Of a mechanism of one's own what it says that it pays, for the first of
        /// `added`, `moved`, `smallest` of which it says something
        epsilon_total: f64;
        /// the same for delta
        delta_total: f64;
        /// conditioning on inequalities pays up to (1 + gamma) epsilon (Gong and Meng 2020, Theorem 2.1; of Gaussian
        /// laws through their rho, at `delta_total`); null if nothing bounds it
        gamma: Option<f64>;
        /// `proved`: 0, since the invariant has equations alone, the method moves free noise to it, or the noise is
        /// normal on the reals; `computed`: over all pairs of tables of the invariant, of double geometric noise (up to
        /// 200 tables in each component) the worst pair, of discrete Gaussian laws (up to 128) an upper bound by
        /// `congenial::privacy::rho_ratio`: it multiplies rho by at least 1, and by at most 1e-4 more, relatively, than
        /// the worst pair or 1, of real Laplace noise what `congenial::privacy::RealGamma` says of trees of at most 12
        /// leaves and parts of tables of at most 12 entries; `bounded`: at most this, by
        /// `congenial::privacy::gamma_bound`, on hierarchies with double geometric noise by
        /// `congenial::privacy::tree_gamma_bound` for changes of one record, with real Laplace noise on few entries by
        /// `congenial::privacy::real_step_bound`, or 1;
        /// `declared`: 0, a mechanism of one's own says what it pays; `unknown`: discrete Gaussian noise conditioned on
        /// inequalities of more tables, or on a tree, or not computed
        gamma_known: String;
        /// total variation error that the sampler states: 0 without truncation; for `exact` with integer laws what its
        /// truncated tables lack of the law: on trees and under inequalities an upper bound, and a cell whose bound is
        /// above 1e-9 fails; on tables without inequalities an estimate that includes rounding; for `rejection` that of
        /// its proposals over the acceptance; 0 for `release`, whose law has a base above that of the cell by less than 2^-48; null
        /// for chains, where it is not known
        tv_error: Option<f64>, "probability";
        /// chains of releases: `no` where rank-normalised split R-hat is above 1.01 or an effective sample size, of
        /// bulk or tails, below 400 on the L1 error of any level, or on an entry that is recorded (Vehtari et al.
        /// 2021), or a chain never moved, else `yes`; `certified` instead of all of these where coupled pairs bound how
        /// far the last state is from its law (`bound_high` of `certificates.parquet` is below 1, and no chain stood
        /// still): a release is the last state, those quantities are of the second half; `unknown` for a single chain
        /// or fewer than 4 records, and instead of `yes` where a certificate was asked for and has no such limit; empty
        /// for other cells
        converged: Convergence;
        /// `(1 + e^((1 + gamma) epsilon_total)) tv_error`, at most 1, and 0 where `tv_error` is 0; to be added to
        /// delta; of chains by `bound_high` of `certificates.parquet`; null where either is not known
        delta_sampling: Option<f64>;
    }
}

table! {
    /// Every study: one row per cell that failed, none if all went well. It has no rows but here, in `cells.parquet`
    /// and in `statements.parquet`.
    pub struct FailureRow in "failures.parquet" {
        /// the cell
        cell: Key;
        /// why it failed: its first error
        error: String;
    }
}

impl CellRow {
    /// The method with what tells it from others.
    pub fn method_words(&self) -> String {
        format!("{} {}", self.method_name(), self.options_words()).trim_end().to_owned()
    }

    /// The method without its sign, where a column tells what its releases are; one whose chains may not be trusted is
    /// marked.
    pub fn method_bare(&self) -> String {
        self.method_bare_plain() + self.converged.mark()
    }

    /// The method without its sign and mark.
    pub fn method_bare_plain(&self) -> String {
        self.title().0.to_owned()
    }

    /// The method without its sign, with what tells it from others.
    pub fn method_bare_words(&self) -> String {
        format!("{} {}", self.method_bare(), self.options_words()).trim_end().to_owned()
    }

    /// The method with its sign; one whose chains may not be trusted is marked.
    pub fn method_name(&self) -> String {
        self.method_plain() + self.converged.mark()
    }

    /// The method with its sign.
    pub fn method_plain(&self) -> String {
        format!("{}{}", self.title().0, if self.nonnegative { " >= 0" } else { "" })
    }

    /// Name and options, of a method of one's own those that it has there.
    fn title(&self) -> (&str, String) {
        match self.method.is_own() {
            true => Own::named(&self.options),
            false => (self.method.name(), self.options.clone()),
        }
    }

    /// The options, of a method of one's own those that it has there.
    pub fn options_plain(&self) -> String {
        self.title().1
    }

    /// The options, numbers with four decimals.
    pub fn options_words(&self) -> String {
        let short = |option: &str| match option.split_once('=') {
            Some((name, value)) if value.len() > 8 && value.contains('.') => match value.parse::<f64>() {
                Ok(x) => format!("{name}={x:.4}"),
                Err(_) => option.to_owned(),
            },
            _ => option.to_owned(),
        };
        self.title().1.split(',').map(short).collect::<Vec<_>>().join(", ")
    }

    /// The whole cell.
    pub fn words(&self) -> String {
        format!("{} with {}", self.method_words(), self.noise_words())
    }

    /// `(1 + gamma) epsilon` of a release by the law itself; `None` if nothing bounds gamma.
    pub fn epsilon_paid(&self) -> Option<f64> {
        self.gamma.map(|gamma| (1.0 + gamma) * self.epsilon_total)
    }
}

/// What is computed once a cell of its releases.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Paid {
    /// Total variation error of a draw, if it is known.
    pub tv_error: Option<f64>,
    /// gamma, if it is bounded, and how it is known.
    pub gamma: Option<f64>,
    /// See `gamma`.
    pub known: String,
    /// What conditioning Gaussian noise of integers on inequalities multiplies rho with, if that is known.
    pub rho_factor: Option<f64>,
    /// Upper limit of the total variation error of a chain's draw, if that is known.
    #[serde(skip)]
    pub certified: Option<f64>,
}

impl Paid {
    /// `tv_error`: NaN if unknown.
    pub fn new(tv_error: f64, (gamma, rho_factor): (Gamma, Option<f64>)) -> Self {
        let tv_error = Some(tv_error).filter(|error| !error.is_nan());
        let known = gamma.how().to_owned();
        Self { tv_error, gamma: gamma.value(), known, rho_factor, certified: None }
    }
}

/// The tables while they are written.
pub struct CellTables<'a> {
    plan: &'a Plan,
    statements: (Statements<'a>, TableFile<'a, StatementRow>),
    cells: TableFile<'a, CellRow>,
    failures: TableFile<'a, FailureRow>,
}

impl<'a> CellTables<'a> {
    /// Begins them. Errors: the disk.
    pub fn begin(folder: &'a RunFolder, plan: &'a Plan) -> Result<Self> {
        let statements = (Statements::new(plan), folder.table()?);
        Ok(Self { plan, statements, cells: folder.table()?, failures: folder.table()? })
    }

    /// The end of a cell of which everything is computed, and nothing drawn. Errors: the disk.
    pub fn close_computed(&mut self, cell: &Cell, error: Option<&str>) -> Result<()> {
        let paid = match error {
            None => Paid::new(f64::NAN, gamma(cell, &self.plan.subject)),
            Some(_) => Paid::default(),
        };
        self.close(cell, &paid, Convergence::NoChains, error)
    }

    /// The end of a cell. Errors: the disk.
    pub fn close(
        &mut self,
        cell: &Cell,
        paid: &Paid,
        converged: Convergence,
        error: Option<&str>,
    ) -> Result<()> {
        let calibration = &cell.calibration;
        // Without a bound on gamma there is no epsilon to add it to.
        let (epsilon_total, delta_total) = cell.total();
        let epsilon = paid.gamma.map(|gamma| (1.0 + gamma) * epsilon_total);
        let eta = paid.tv_error.or(paid.certified);
        let statement = self.statements.0.of(cell, Gamma::named(paid.gamma, &paid.known), paid.rho_factor);
        for (kind, change) in statement.changes() {
            self.statements.1.push(&StatementRow::new(Key(cell.key), kind, change, eta))?;
        }
        self.cells.push(&CellRow {
            cell: Key(cell.key),
            data: self.plan.config.data_name.clone(),
            seed: (!self.plan.pooled).then_some(cell.at.seed),
            pooled: cell.seeded.then_some(Key(cell.streams)),
            epsilon: cell.epsilon,
            delta: cell.at.delta,
            sensitivity: cell.at.sensitivity,
            split: cell.at.split.clone(),
            law: cell.at.law,
            method: cell.at.method.kind(),
            options: cell.at.method.options(),
            nonnegative: cell.nonnegative,
            integers: cell.at.method.releases_integers(cell.at.law),
            consistent: cell.at.method.keeps_equations(),
            chain: cell.chain.map(Key),
            lag: cell.at.lag,
            max_steps: cell.part.max_steps(),
            scale: calibration.first_scale(),
            replicates: cell.replicates,
            epsilon_total,
            delta_total,
            gamma: paid.gamma,
            gamma_known: if paid.known.is_empty() { "unknown".into() } else { paid.known.clone() },
            tv_error: paid.tv_error,
            converged,
            delta_sampling: eta.zip(epsilon).map(|(eta, epsilon)| sampling_delta(epsilon, eta)),
        })?;
        match error {
            Some(error) => self.failures.push(&FailureRow { cell: Key(cell.key), error: error.to_owned() }),
            None => Ok(()),
        }
    }
}

/// By cell of one of several master seeds the cell that stands for all of them. Errors: the tables of the run.
pub fn pooled(run: &Run) -> Result<HashMap<Key, Key>> {
    let mut pooled = HashMap::new();
    run.each(|row: CellRow| {
        pooled.extend(row.pooled.map(|all| (row.cell, all)));
        Ok(())
    })?;
    Ok(pooled)
}

/// The cells of a run by key. Errors: its tables.
pub fn by_key(run: &Run) -> Result<HashMap<Key, CellRow>> {
    let mut cells = HashMap::new();
    run.each(|row: CellRow| {
        cells.insert(row.cell, row);
        Ok(())
    })?;
    Ok(cells)
}

/// The place of every cell in the config of a run; none of a study without a grid. Errors: its tables.
pub fn order(run: &Run) -> Result<HashMap<Key, usize>> {
    let mut order = HashMap::new();
    if run.manifest.tables.contains_key(CellRow::FILE) {
        run.each(|row: CellRow| {
            order.insert(row.cell, order.len());
            Ok(())
        })?;
    }
    Ok(order)
}

/// The cells of a run that failed: in words, with their errors. Errors: its tables.
pub fn failures(run: &Run) -> Result<Vec<(String, String)>> {
    let failures: Vec<FailureRow> = run.all()?;
    if failures.is_empty() {
        return Ok(Vec::new());
    }
    let cells = by_key(run)?;
    let words = |row: FailureRow| {
        let cell = cells.get(&row.cell).map_or_else(|| row.cell.to_string(), CellRow::words);
        (cell, row.error)
    };
    Ok(failures.into_iter().map(words).collect())
}

/// The cell of a row, which the tables of a run must have. Errors: it has not.
pub(in crate::study) fn known<'a>(
    cells: &'a HashMap<Key, CellRow>,
    key: Key,
    run: &Run,
) -> Result<&'a CellRow> {
    cells.get(&key).ok_or_else(|| Failure::data(&run.folder, format!("cells.parquet has no cell {key}")))
}
