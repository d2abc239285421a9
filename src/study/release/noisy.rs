//! One release as a noisy file: what `congenial infer` reads.

use crate::failure::Result;
use crate::grid::{Cell, Plan, invariant_blocks};
use crate::input::{
    InvariantSpec, InvariantTable, KeptNodes, NOISY, NOISY_INVARIANTS, NoisyRow, Shape, Subject,
};
use crate::page::data_column;
use crate::store::{RowsFile, RunFolder};
use std::collections::HashMap;

/// The name of the file in the folder of a cell.
const FILE: &str = "release.parquet";
/// Coefficients of a matrix that stands in the footer at most.
const COEFFICIENTS: usize = 1_000_000;

/// Whether a noisy file says all of the law of a cell's releases: there are no inequalities between nodes.
pub(super) fn has_law(plan: &Plan, cell: &Cell) -> bool {
    cell.at.method.kind().is_free() || !plan.subject.ties_nodes()
}

/// Writes the release of a tree with these errors of all nodes. Errors: the disk.
pub(super) fn write(
    plan: &Plan,
    folder: &RunFolder,
    (cell, kept): (&Cell, &KeptNodes),
    errors: &[f64],
) -> Result<()> {
    let Subject::Hierarchy(table) = &plan.subject else { return Ok(()) };
    let tree = &table.hierarchy;
    let names: Vec<&str> = kept.level_names[1..].iter().map(String::as_str).collect();
    let mut file = Rows::begin(folder, cell, &names, &[])?;
    for (v, error) in errors.iter().enumerate() {
        let level = tree.level(v);
        let keys = kept.keys(tree, level, v);
        let scale = cell.calibration.scales[level];
        file.push(&keys, (table.counts[v], *error), (scale, tree.is_known(v)))?;
    }
    file.file.finish()
}

/// Writes the release of a table with these errors of all entries, and behind it the sums that the invariant fixes, where the release
/// does not keep them. A table with nodes of a `hierarchy` gets no file, nor one whose equations are a matrix of more than 10^6
/// coefficients. Errors: the disk.
pub(super) fn write_table(plan: &Plan, folder: &RunFolder, cell: &Cell, errors: &[f64]) -> Result<()> {
    let (Subject::Table(table), Shape::Table { invariants, .. }) = (&plan.subject, &plan.config.data.shape)
    else {
        return Ok(());
    };
    let specs: Vec<&InvariantSpec> = invariants.iter().map(|(spec, _)| spec).collect();
    if specs.iter().any(|spec| matches!(spec, InvariantSpec::Hierarchy(_))) {
        return Ok(());
    }
    let is_free = cell.at.method.kind().is_free();
    let are_sums = specs.iter().all(|spec| spec.sums().is_some() || !is_equation(spec));
    let equations = &table.invariant;
    let matrix = match is_free && !are_sums {
        true if equations.rows().len().saturating_mul(equations.entries()) > COEFFICIENTS => return Ok(()),
        true => Some(matrix(table)),
        false => None,
    };
    let is_whole = matrix.is_some();
    let kept = specs.iter().copied().filter(|spec| !is_whole || !is_equation(spec));
    let renamed = |spec: &InvariantSpec| spec.renamed(|name| data_column(name, &NOISY));
    let blocks: Vec<InvariantSpec> = matrix.into_iter().chain(kept.map(renamed)).collect();
    let blocks = invariant_blocks(blocks.iter());
    let names: Vec<&str> = table.columns.iter().map(|(name, _)| name.as_str()).collect();
    let mut file = Rows::begin(folder, cell, &names, &[(NOISY_INVARIANTS, blocks)])?;
    let scale = cell.calibration.scales[0];
    for (entry, error) in errors.iter().enumerate() {
        let keys: Vec<&str> = table.columns.iter().map(|(_, texts)| &texts[entry]).collect();
        file.push(&keys, (table.counts[entry], *error), (scale, plan.subject.is_known(entry)))?;
    }
    if is_free && are_sums {
        for (keys, count) in sums(table, &names, &specs) {
            file.push(&keys, (count, 0.0), (scale, true))?;
        }
    }
    file.file.finish()
}

fn is_equation(spec: &InvariantSpec) -> bool {
    !matches!(spec, InvariantSpec::Nonnegative | InvariantSpec::Bounds(..) | InvariantSpec::AtLeast(..))
}

/// All equations of a table as one matrix, with their values.
fn matrix(table: &InvariantTable) -> InvariantSpec {
    let (mut rows, mut values) = (Vec::new(), Vec::new());
    for row in table.invariant.rows() {
        let mut dense = vec![0; table.counts.len()];
        row.iter().for_each(|&(entry, a)| dense[entry as usize] = a);
        values.push(row.iter().map(|&(entry, a)| a * table.counts[entry as usize]).sum());
        rows.push(dense);
    }
    InvariantSpec::Matrix { rows, values: Some(values) }
}

/// The sums that invariants fix: keys, blank where a sum goes over a column, and counts. Each once.
fn sums<'a>(
    table: &'a InvariantTable,
    names: &[&str],
    specs: &[&'a InvariantSpec],
) -> Vec<(Vec<&'a str>, i64)> {
    let mut places: HashMap<Vec<&str>, usize> = HashMap::new();
    let mut all: Vec<(Vec<&str>, i64)> = Vec::new();
    for columns in specs.iter().filter_map(|spec| spec.sums()).flatten() {
        let first = all.len();
        for (entry, count) in table.counts.iter().enumerate() {
            let key = |(name, (_, texts)): (&&str, &'a (String, crate::table::Texts))| {
                if columns.contains(name) { &texts[entry] } else { "" }
            };
            let keys: Vec<&str> = names.iter().zip(&table.columns).map(key).collect();
            let place = *places.entry(keys.clone()).or_insert(all.len());
            if place == all.len() {
                all.push((keys, 0));
            }
            if place >= first {
                all[place].1 += count;
            }
        }
    }
    // An entry whose keys all stand in a sum is its own row.
    all.retain(|(keys, _)| keys.contains(&""));
    all
}

/// A noisy file while it is written.
struct Rows<'a> {
    file: RowsFile<'a>,
    cell: &'a Cell,
    integers: bool,
    options: String,
}

impl<'a> Rows<'a> {
    /// `told`: what the footer says.
    fn begin(folder: &'a RunFolder, cell: &'a Cell, keys: &[&str], told: &[(&str, String)]) -> Result<Self> {
        let integers = cell.at.method.releases_integers(cell.at.law);
        let keys: Vec<String> = keys.iter().map(|name| data_column(name, &NOISY)).collect();
        let fields = NoisyRow::fields(keys.iter().map(String::as_str), integers);
        let file = folder.rows(&format!("cells/{}/{FILE}", cell.key_text()), fields, told)?;
        Ok(Self { file, cell, integers, options: cell.at.method.all_options() })
    }

    /// Adds a row; keys that are missing are blank.
    fn push(&mut self, keys: &[&str], (count, error): (i64, f64), (scale, known): (f64, bool)) -> Result<()> {
        let at = &self.cell.at;
        let (law, method, options) = (at.law.name(), at.method.name(), &*self.options);
        let scale = if at.law.is_noise() { scale } else { 0.0 };
        let row = NoisyRow { law, scale, known, method, options };
        let columns = self.file.row()?;
        match self.integers {
            true => row.put(keys, count + error as i64, columns),
            false => row.put(keys, count as f64 + error, columns),
        }
        Ok(())
    }
}
