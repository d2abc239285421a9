//! The tables as parquet: the only place that knows how they are stored.

use super::{RunFolder, SCHEMA_VERSION};
use crate::config::Study;
use crate::failure::{Failure, Result};
use crate::grid::{Cell, Plan};
use crate::input::Subject;
use crate::privacy::sampling_delta;
use crate::runner::CellOutcome;
use polars::prelude::{
    ChunkFull, Column, DataFrame, IntoSeries, KeyValueMetadata, NamedFrom, ParquetReader, ParquetWriter,
    SerReader, Series, StringChunked,
};
use std::path::Path;
use std::sync::Arc;

/// Rows of one table, column by column; the cell's own columns first.
pub(super) struct Frame<'a> {
    cells: Vec<(&'a Cell, usize)>,
    columns: Vec<Column>,
}

impl<'a> Frame<'a> {
    /// `cells`: each with its number of rows.
    pub(super) fn new(cells: Vec<(&'a Cell, usize)>) -> Self {
        let mut frame = Self { cells, columns: Vec::new() };
        frame.text("cell", Cell::key_text);
        frame.cell("epsilon", |cell| cell.epsilon);
        frame.cell("delta", |cell| cell.delta);
        frame.cell("sensitivity", |cell| cell.sensitivity);
        frame.text("split", |cell| cell.split.label());
        frame.text("law", |cell| cell.law.name().to_owned());
        frame.text("method", |cell| cell.method.name().to_owned());
        frame.text("options", |cell| cell.method.options());
        frame.cell("nonnegative", |cell| cell.nonnegative);
        frame
    }

    /// A column that is constant within a cell.
    pub(super) fn cell<T: Clone>(&mut self, name: &str, value: impl Fn(&Cell) -> T)
    where
        Series: NamedFrom<Vec<T>, [T]>,
    {
        let mut values = Vec::new();
        for (cell, rows) in &self.cells {
            values.resize(values.len() + rows, value(cell));
        }
        self.push(name, values);
    }

    /// The same for text, which is stored once a cell and not once a row.
    pub(super) fn text(&mut self, name: &str, value: impl Fn(&Cell) -> String) {
        let mut column = StringChunked::full(name.into(), "", 0);
        for (cell, rows) in &self.cells {
            let part = StringChunked::full(name.into(), &value(cell), *rows);
            column.append(&part).expect("both are text");
        }
        self.columns.push(column.into_series().into());
    }

    pub(super) fn push<T>(&mut self, name: &str, values: Vec<T>)
    where
        Series: NamedFrom<Vec<T>, [T]>,
    {
        self.columns.push(Series::new(name.into(), values).into());
    }

    pub(super) fn write(self, folder: &RunFolder, name: &str, config_hash: &str) -> Result<()> {
        write_columns(folder, name, config_hash, self.columns)
    }
}

/// Writes columns as a parquet file with the metadata of the run.
pub(super) fn write_columns(
    folder: &RunFolder,
    name: &str,
    config_hash: &str,
    columns: Vec<Column>,
) -> Result<()> {
    let metadata = vec![
        ("congenial.schema_version".to_owned(), SCHEMA_VERSION.to_string()),
        ("congenial.config_hash".to_owned(), config_hash.to_owned()),
        ("congenial.git_commit".to_owned(), env!("CONGENIAL_GIT_COMMIT").to_owned()),
    ];
    let digest = super::digest::digest(&columns)
        .map_err(|e| Failure::data(Path::new(name), format!("cannot be written: {e}")))?;
    folder.note(name, digest);
    folder.write_with(name, |file| {
        let mut frame = DataFrame::new_infer_height(columns).map_err(|e| e.to_string())?;
        let writer =
            ParquetWriter::new(file).with_key_value_metadata(Some(KeyValueMetadata::from_static(metadata)));
        writer.finish(&mut frame).map(|_| ()).map_err(|e| e.to_string())
    })
}

/// Writes the tables of a study.
pub fn write_tables(folder: &RunFolder, plan: &Plan, outcomes: &[CellOutcome]) -> Result<()> {
    let hash = plan.hash();
    if plan.config.study == Study::Meeting {
        return super::meetings::write(folder, plan, outcomes, &hash);
    }
    if plan.config.study == Study::Privacy {
        return super::privacy::write(folder, plan, outcomes, &hash);
    }
    write_errors(folder, plan, outcomes, &hash)?;
    write_chains(folder, plan, outcomes, &hash)?;
    match &plan.subject {
        Subject::Hierarchy(_) => Ok(()),
        Subject::Table(table) => {
            super::parts::write(folder, plan, table, outcomes, &hash)?;
            super::agreement::write(folder, plan, outcomes, &hash)?;
            super::entries::write(folder, plan, table, outcomes, &hash)
        }
    }
}

/// A row per replicate and level; a failed cell ends with one row that holds its error.
fn write_errors(folder: &RunFolder, plan: &Plan, outcomes: &[CellOutcome], hash: &str) -> Result<()> {
    let nodes = plan.subject.nodes() as f64;
    let rows = |outcome: &CellOutcome| outcome.rows.errors.len() + usize::from(outcome.error.is_some());
    let mut frame =
        Frame::new(plan.cells.iter().zip(outcomes).map(|(cell, outcome)| (cell, rows(outcome))).collect());
    /// One column: a value for each row, null on a row that only holds an error.
    macro_rules! column {
        ($name:literal, $row:ident, $cell:ident => $value:expr) => {{
            let mut values = Vec::new();
            for ($cell, outcome) in plan.cells.iter().zip(outcomes) {
                let _ = $cell;
                values.extend(outcome.rows.errors.iter().map(|$row| Some($value)));
                values.extend(outcome.error.iter().map(|_| None));
            }
            frame.push($name, values);
        }};
    }
    column!("level", row, cell => row.level);
    column!("scale", row, cell => cell.calibration.scales[row.level as usize - 1]);
    column!("nodes", row, cell => plan.subject.level_size(row.level as usize - 1) as u64);
    column!("replicate", row, cell => row.replicate);
    column!("l1", row, cell => row.l1);
    column!("l1_normalised", row, cell => row.l1 / nodes);
    column!("l2", row, cell => row.l2);
    column!("bias", row, cell => row.bias);
    column!("invariant_ok", row, cell => row.invariant_ok);
    frame.cell("epsilon_total", |cell| cell.calibration.epsilon);
    frame.cell("delta_total", |cell| cell.calibration.delta);
    let (mut tv, mut error) = (Vec::new(), Vec::new());
    let (mut gamma, mut how, mut sampling) = (Vec::new(), Vec::new(), Vec::new());
    for (cell, outcome) in plan.cells.iter().zip(outcomes) {
        let known = (!outcome.tv_error.is_nan()).then_some(outcome.tv_error);
        tv.resize(tv.len() + rows(outcome), known);
        gamma.resize(gamma.len() + rows(outcome), outcome.gamma.value());
        how.resize(how.len() + rows(outcome), outcome.gamma.how().to_owned());
        // Without a bound on gamma there is no epsilon to add it to.
        let epsilon = outcome.gamma.value().map(|gamma| (1.0 + gamma) * cell.calibration.epsilon);
        let added = known.zip(epsilon).map(|(eta, epsilon)| sampling_delta(epsilon, eta));
        sampling.resize(sampling.len() + rows(outcome), added);
        error.resize(error.len() + outcome.rows.errors.len(), None);
        error.extend(outcome.error.iter().map(|e| Some(e.clone())));
    }
    frame.push("gamma", gamma);
    frame.push("gamma_known", how);
    frame.push("tv_error", tv);
    frame.push("delta_sampling", sampling);
    frame.push("error", error);
    frame.write(folder, "errors.parquet", hash)
}

/// A row per chain and level.
fn write_chains(folder: &RunFolder, plan: &Plan, outcomes: &[CellOutcome], hash: &str) -> Result<()> {
    let with_rows = plan.cells.iter().zip(outcomes).map(|(cell, outcome)| (cell, outcome.rows.chains.len()));
    let mut frame = Frame::new(with_rows.collect());
    let rows =
        || outcomes.iter().flat_map(|outcome| outcome.rows.chains.iter().map(move |row| (row, outcome)));
    frame.push("level", rows().map(|(row, _)| row.level).collect::<Vec<_>>());
    frame.push("replicate", rows().map(|(row, _)| row.replicate).collect::<Vec<_>>());
    frame.push("steps", rows().map(|(row, _)| row.steps).collect::<Vec<_>>());
    frame.push("moves", rows().map(|(row, _)| row.moves).collect::<Vec<_>>());
    frame.push("acceptance", rows().map(|(row, _)| row.moves as f64 / row.steps as f64).collect::<Vec<_>>());
    frame.push("records", rows().map(|(row, _)| row.records).collect::<Vec<_>>());
    frame.push("ess", rows().map(|(row, _)| row.ess).collect::<Vec<_>>());
    let rhat = rows().map(|(row, outcome)| outcome.rhat.get(row.level as usize - 1).copied().flatten());
    frame.push("rhat", rhat.collect::<Vec<Option<f64>>>());
    frame.write(folder, "chains.parquet", hash)
}

/// What the report needs of one row of `errors.parquet`.
#[derive(Debug, Clone, PartialEq)]
pub struct ErrorRow {
    /// The cell; shared by its rows.
    pub group: Arc<Group>,
    /// What the release pays.
    pub paid: Paid,
    /// Row of a replicate; `None` for a row that holds an error.
    pub value: Option<Errors>,
    /// Why the cell failed.
    pub error: Option<String>,
}

/// What a release pays.
#[derive(Debug, Clone, PartialEq)]
pub struct Paid {
    /// epsilon of all measurements together.
    pub epsilon: f64,
    /// delta of the mechanism.
    pub delta: f64,
    /// What conditioning may add, as a share of epsilon; `None` if nothing bounds it.
    pub gamma: Option<f64>,
    /// How gamma is known.
    pub known: String,
    /// What imperfect sampling adds to delta; `None` where the distance of a chain to its law is not known.
    pub sampling: Option<f64>,
}

/// The cell of a row, as text and numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Key of the cell.
    pub cell: String,
    /// Budget.
    pub epsilon: f64,
    /// For the Gaussian laws.
    pub delta: Option<f64>,
    /// Sensitivity.
    pub sensitivity: f64,
    /// Split.
    pub split: String,
    /// Law.
    pub law: String,
    /// Method.
    pub method: String,
    /// Its options.
    pub options: String,
    /// Whether releases are >= 0.
    pub nonnegative: bool,
}

/// Errors of one replicate on one level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Errors {
    /// 1 = root.
    pub level: u32,
    /// Noise scale of the level.
    pub scale: f64,
    /// Nodes of the level.
    pub nodes: u64,
    /// Sum of absolute errors over the level, divided by all nodes of the tree.
    pub l1_normalised: f64,
    /// Sum of absolute errors.
    pub l1: f64,
    /// Root of the sum of squares.
    pub l2: f64,
    /// Mean error.
    pub bias: f64,
}

/// One row of `chains.parquet`, without what the report does not need.
#[derive(Debug, Clone, PartialEq)]
pub struct ChainSummaryRow {
    /// The cell; shared by its rows.
    pub group: Arc<Group>,
    /// 1 = root.
    pub level: u32,
    /// Kernel steps.
    pub steps: u64,
    /// Share of the steps that changed the state.
    pub acceptance: f64,
    /// Effective sample size of the recorded half.
    pub ess: Option<f64>,
    /// R-hat of the cell on this level.
    pub rhat: Option<f64>,
}

pub(super) struct Reader {
    pub(super) frame: DataFrame,
    path: std::path::PathBuf,
}

impl Reader {
    /// None if the run has no such table.
    pub(super) fn open_if_there(folder: &Path, name: &str) -> Result<Option<Self>> {
        if folder.join(name).exists() { Self::open(folder, name).map(Some) } else { Ok(None) }
    }

    pub(super) fn open(folder: &Path, name: &str) -> Result<Self> {
        let path = folder.join(name);
        let file = std::fs::File::open(&path).map_err(|e| Failure::io(&path, "cannot read", e))?;
        let frame = ParquetReader::new(file)
            .finish()
            .map_err(|e| Failure::data(&path, format!("not a readable parquet file: {e}")))?;
        Ok(Self { frame, path })
    }

    fn column(&self, name: &str) -> Result<&Column> {
        self.frame.column(name).map_err(|_| Failure::data(&self.path, format!("no column `{name}`")))
    }

    pub(super) fn typed<'a, T>(
        &'a self,
        name: &str,
        read: impl Fn(&'a Column) -> polars::prelude::PolarsResult<Vec<Option<T>>>,
    ) -> Result<Vec<Option<T>>> {
        read(self.column(name)?).map_err(|e| Failure::data(&self.path, format!("column `{name}`: {e}")))
    }

    pub(super) fn f64(&self, name: &str) -> Result<Vec<Option<f64>>> {
        self.typed(name, |c| Ok(c.f64()?.iter().collect()))
    }

    pub(super) fn u64(&self, name: &str) -> Result<Vec<Option<u64>>> {
        self.typed(name, |c| Ok(c.u64()?.iter().collect()))
    }

    pub(super) fn u32(&self, name: &str) -> Result<Vec<Option<u32>>> {
        self.typed(name, |c| Ok(c.u32()?.iter().collect()))
    }

    pub(super) fn text(&self, name: &str) -> Result<&StringChunked> {
        self.column(name)?.str().map_err(|e| Failure::data(&self.path, format!("column `{name}`: {e}")))
    }

    /// The cell of every row; neighbours of one cell share it.
    pub(super) fn groups(&self) -> Result<Vec<Arc<Group>>> {
        let (cell, split, law) = (self.text("cell")?, self.text("split")?, self.text("law")?);
        let (method, options) = (self.text("method")?, self.text("options")?);
        let (epsilon, delta, sensitivity) =
            (self.f64("epsilon")?, self.f64("delta")?, self.f64("sensitivity")?);
        let nonnegative: Vec<Option<bool>> = self.typed("nonnegative", |c| Ok(c.bool()?.iter().collect()))?;
        let missing = || Failure::data(&self.path, "a row without its cell");
        let mut groups: Vec<Arc<Group>> = Vec::with_capacity(self.frame.height());
        for (i, key) in cell.iter().enumerate() {
            let key = key.ok_or_else(missing)?;
            let group = match groups.last() {
                Some(last) if last.cell == key => last.clone(),
                _ => {
                    let text = |column: &StringChunked| column.get(i).map(str::to_owned).ok_or_else(missing);
                    Arc::new(Group {
                        cell: key.to_owned(),
                        epsilon: epsilon[i].ok_or_else(missing)?,
                        delta: delta[i],
                        sensitivity: sensitivity[i].ok_or_else(missing)?,
                        split: text(split)?,
                        law: text(law)?,
                        method: text(method)?,
                        options: text(options)?,
                        nonnegative: nonnegative[i].ok_or_else(missing)?,
                    })
                }
            };
            groups.push(group);
        }
        Ok(groups)
    }
}

/// Reads `errors.parquet` of a run folder.
pub fn read_errors(folder: &Path) -> Result<Vec<ErrorRow>> {
    let reader = Reader::open(folder, "errors.parquet")?;
    let (level, scale, nodes) = (reader.u32("level")?, reader.f64("scale")?, reader.u64("nodes")?);
    let (l1, normalised) = (reader.f64("l1")?, reader.f64("l1_normalised")?);
    let (l2, bias, error) = (reader.f64("l2")?, reader.f64("bias")?, reader.text("error")?);
    let (epsilon, delta) = (reader.f64("epsilon_total")?, reader.f64("delta_total")?);
    let (gamma, known) = (reader.f64("gamma")?, reader.text("gamma_known")?);
    let sampling = reader.f64("delta_sampling")?;
    let rows = reader.groups()?.into_iter().enumerate().map(|(i, group)| {
        let value = || {
            Some(Errors {
                level: level[i]?,
                scale: scale[i]?,
                nodes: nodes[i]?,
                l1_normalised: normalised[i]?,
                l1: l1[i]?,
                l2: l2[i]?,
                bias: bias[i]?,
            })
        };
        let paid = Paid {
            epsilon: epsilon[i].unwrap_or(f64::NAN),
            delta: delta[i].unwrap_or(f64::NAN),
            gamma: gamma[i],
            known: known.get(i).unwrap_or_default().to_owned(),
            sampling: sampling[i],
        };
        ErrorRow { group, paid, value: value(), error: error.get(i).map(str::to_owned) }
    });
    Ok(rows.collect())
}

/// Reads `chains.parquet` of a run folder.
pub fn read_chains(folder: &Path) -> Result<Vec<ChainSummaryRow>> {
    let reader = Reader::open(folder, "chains.parquet")?;
    let (level, steps, acceptance) = (reader.u32("level")?, reader.u64("steps")?, reader.f64("acceptance")?);
    let (ess, rhat) = (reader.f64("ess")?, reader.f64("rhat")?);
    let rows = reader.groups()?.into_iter().enumerate().filter_map(|(i, group)| {
        Some(ChainSummaryRow {
            group,
            level: level[i]?,
            steps: steps[i]?,
            acceptance: acceptance[i]?,
            ess: ess[i],
            rhat: rhat[i],
        })
    });
    Ok(rows.collect())
}
