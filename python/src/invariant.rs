//! What every release keeps, as an object of Python.

use crate::arrays::{integers, matrix, room};
use crate::config::document;
use crate::failure::{guarded, guarded_harness, usage};
use crate::frame;
use congenial::grid::{Plan, wanted};
use congenial::input::{HierarchyTable, InvariantTable, Subject};
use congenial::invariant::{Hierarchy, Inequalities, Linear, Region};
use congenial::lattice::IntMatrix;
use congenial::study;
use congenial::table::Texts;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::path::Path;
use std::sync::Arc;

/// Equations, and inequalities, that tie counts together; with the confidential counts where they are given.
///
/// Numbers are finite and at most 2^53 in size, whatever their type; counts of a table sum up to at most 2^53. Refused
/// (`ConfigError`): what is no array of numbers, an array with a mask. `MemoryError`: what would take more memory than
/// is left, before it is asked for.
#[pyclass(frozen, module = "congenial")]
pub struct Invariant {
    pub subject: Arc<Subject>,
    /// Whether the counts of the subject are the caller's; else they are 0.
    pub counted: bool,
    /// Whether releases on a tree are not negative.
    pub nonnegative: bool,
}

impl Invariant {
    /// How many counts a release has.
    pub fn size(&self) -> usize {
        self.subject.nodes()
    }

    /// Checks a release, and its noise around the confidential counts: equations to rounding, inequalities, known
    /// counts, finite numbers. Errors: the first that is broken.
    pub fn check(&self, released: &[f64], noise: &[f64]) -> congenial::Result<()> {
        match &*self.subject {
            Subject::Hierarchy(table) => {
                let tree = &table.hierarchy;
                tree.check_release(released, &table.counts, noise)?;
                tree.check_known(noise)?;
                if self.nonnegative { tree.check_nonnegative(released) } else { Ok(()) }
            }
            Subject::Table(table) => {
                let widest = released.iter().fold(0.0f64, |widest, y| widest.max(y.abs()));
                table.invariant.check_reals(noise, widest)?;
                table.region.check_reals(noise)
            }
        }
    }

    /// Checks that released integers keep the invariant, in exact arithmetic.
    pub fn check_integers(&self, released: &[i64], noise: &[i64]) -> congenial::Result<()> {
        match &*self.subject {
            Subject::Hierarchy(table) => {
                let tree = &table.hierarchy;
                tree.check(released)?;
                tree.check_known(noise)?;
                if self.nonnegative { tree.check_nonnegative(released) } else { Ok(()) }
            }
            Subject::Table(table) => {
                table.invariant.check(noise)?;
                table.region.check(noise)
            }
        }
    }

    pub fn confidential(&self) -> &[i64] {
        match &*self.subject {
            Subject::Hierarchy(table) => &table.counts,
            Subject::Table(table) => &table.counts,
        }
    }

    /// An invariant that is equations alone.
    fn of_table(linear: Linear, counts: Option<&Bound<PyAny>>) -> PyResult<Self> {
        let counted = counts.is_some();
        let counts = given_counts(counts, linear.entries())?;
        check_total(&counts)?;
        guarded(|| Self::with(linear, Inequalities::default(), counts, counted))
    }

    fn with(
        invariant: Linear,
        inequalities: Inequalities,
        counts: Vec<i64>,
        counted: bool,
    ) -> congenial::Result<Self> {
        let mut names = Texts::default();
        (1..=counts.len()).for_each(|entry| names.push(entry.to_string().as_bytes()));
        let region = inequalities.around(&counts)?;
        let known = Vec::new();
        let (digest, warning) = (String::new(), None);
        let columns = Vec::new();
        let table = InvariantTable {
            names,
            counts,
            known,
            invariant,
            inequalities,
            region,
            digest,
            warning,
            columns,
        };
        Ok(Self { subject: Arc::new(Subject::Table(table)), counted, nonnegative: false })
    }
}

/// Confidential counts, or zeros.
fn given_counts(counts: Option<&Bound<PyAny>>, wanted: usize) -> PyResult<Vec<i64>> {
    let Some(counts) = counts else { return Ok(vec![0; wanted]) };
    let counts = integers(counts, "counts")?;
    if counts.len() != wanted {
        return Err(usage(format!("counts: got {}, want {wanted}", counts.len())));
    }
    if let Some(i) = counts.iter().position(|&count| count < 0) {
        return Err(usage(format!("counts: got {} as count {}, want integers >= 0", counts[i], i + 1)));
    }
    Ok(counts)
}

/// Refuses the counts of a table that sum up to more than 2^53, as readers of data files do.
fn check_total(counts: &[i64]) -> PyResult<()> {
    match counts.iter().map(|&count| i128::from(count)).sum::<i128>() {
        total if total > 1 << 53 => Err(usage(format!("counts: they sum up to {total}, the limit is 2^53"))),
        _ => Ok(()),
    }
}

/// Bytes that an invariant takes for each entry, or coefficient, and for each node of a tree.
const OF_ENTRY: u128 = 128;
const OF_NODE: u128 = 96;

/// Entries of a table, at most: they have numbers of 32 bits.
const MOST_ENTRIES: usize = 0xffff_ffff;

/// A number of things. Errors: one that is below 1, or more than can be numbered.
fn number(name: &str, given: i64) -> PyResult<usize> {
    match usize::try_from(given) {
        Ok(n @ 1..=MOST_ENTRIES) => Ok(n),
        _ => Err(usage(format!("{name}: got {given}, want an integer from 1 to 2^32 - 1"))),
    }
}

#[pymethods]
impl Invariant {
    /// The sum of all entries of a table.
    #[staticmethod]
    #[pyo3(signature = (entries, counts=None))]
    fn total(entries: i64, counts: Option<&Bound<PyAny>>) -> PyResult<Self> {
        let entries = number("entries", entries)?;
        room("entries", OF_ENTRY * entries as u128)?;
        Self::of_table(guarded(|| Linear::total(entries))?, counts)
    }

    /// Both margins of a two-way table, entries row by row.
    #[staticmethod]
    #[pyo3(signature = (rows, columns, counts=None))]
    fn margins(rows: i64, columns: i64, counts: Option<&Bound<PyAny>>) -> PyResult<Self> {
        let (rows, columns) = (number("rows", rows)?, number("columns", columns)?);
        if let Some(wrong) = rows.checked_mul(columns).filter(|entries| *entries > MOST_ENTRIES) {
            return Err(usage(format!(
                "margins: got {rows} × {columns} = {wrong} entries, want at most 2^32 - 1"
            )));
        }
        room("margins", OF_ENTRY * rows as u128 * columns as u128)?;
        Self::of_table(guarded(|| Linear::margins(rows, columns))?, counts)
    }

    /// The sums that a matrix of integers makes of the entries: a row for each equation, a column for each entry.
    #[staticmethod]
    #[pyo3(signature = (a, counts=None))]
    fn matrix(a: &Bound<PyAny>, counts: Option<&Bound<PyAny>>) -> PyResult<Self> {
        let rows = matrix(a, "a")?;
        let a = IntMatrix::from_rows(&rows).filter(|a| a.columns() > 0).ok_or_else(|| {
            usage("a: got no entry, want a row for each equation and a column for each entry")
        })?;
        room("a", OF_ENTRY * a.rows() as u128 * a.columns() as u128)?;
        Self::of_table(guarded(|| Linear::matrix(&a))?, counts)
    }

    /// A tree: by node its parent; the root comes first, with itself (0), and nodes stand level by level. Every count
    /// is the sum of those below it.
    #[staticmethod]
    #[pyo3(signature = (parents, counts=None))]
    fn hierarchy(parents: &Bound<PyAny>, counts: Option<&Bound<PyAny>>) -> PyResult<Self> {
        let parents = integers(parents, "parents")?;
        room("parents", OF_NODE * parents.len() as u128)?;
        let places: Result<Vec<u32>, i64> =
            parents.iter().map(|&parent| u32::try_from(parent).map_err(|_| parent)).collect();
        let places = places
            .map_err(|parent| usage(format!("parents: got {parent}, want numbers of nodes, from 0")))?;
        let hierarchy = guarded(|| Hierarchy::from_numbers(places))?;
        let counted = counts.is_some();
        let counts = given_counts(counts, hierarchy.nodes())?;
        guarded(|| Ok(hierarchy.check(&counts)))?.map_err(|e| usage(format!("counts: {e}")))?;
        let (region, digest) = (Region::everything(), String::new());
        let table = HierarchyTable { hierarchy, counts: counts.into(), region, digest, warning: None };
        Ok(Self { subject: Arc::new(Subject::Hierarchy(table)), counted, nonnegative: false })
    }

    /// The invariant of a data frame: a tree, by the columns of its `levels`, or a table, by `invariants` as in
    /// `[[invariant]]` of a config. `options`: other keys of `[data]`, as `entry`, `root`, `known`, `where`.
    #[staticmethod]
    #[pyo3(signature = (frame, *, count, levels=None, invariants=None, **options))]
    fn from_frame(
        py: Python,
        frame: &Bound<PyAny>,
        count: &str,
        levels: Option<&Bound<PyAny>>,
        invariants: Option<&Bound<PyList>>,
        options: Option<&Bound<PyDict>>,
    ) -> PyResult<Self> {
        let frame = frame::read(frame)?;
        let data = PyDict::new(py);
        data.set_item("table", "frame")?;
        data.set_item("count", count)?;
        if let Some(levels) = levels {
            data.set_item("levels", levels)?;
        }
        for (key, value) in options.into_iter().flat_map(|options| options.iter()) {
            data.set_item(key.str()?.to_string().replace('_', "-"), value)?;
        }
        let config = PyDict::new(py);
        config.set_item("name", "frame")?;
        config.set_item("seed", 1)?;
        config.set_item("data", data)?;
        if let Some(invariants) = invariants {
            config.set_item("invariant", invariants)?;
        }
        // A grid of one cell, which every subject serves.
        let block = PyDict::new(py);
        block.set_item("epsilon", [1.0])?;
        block.set_item("law", ["double-geometric"])?;
        block.set_item("method", ["unconstrained"])?;
        block.set_item("replicates", 1)?;
        config.set_item("grid", [block])?;
        let text = document(&config)?.to_string();
        let path = Path::new("frame");
        let read = || {
            let config = study::read(path, &text, &[])?.grid("one on data")?.remove(0);
            let table = frame.table(path, &wanted(&config))?;
            Plan::on(config, table).map(|plan| plan.subject)
        };
        let subject = py.detach(|| guarded_harness(read))?;
        if subject.ties_nodes() {
            return Err(usage("invariants: got inequalities between nodes of a tree, which runs alone draw"));
        }
        Ok(Self { subject: Arc::new(subject), counted: true, nonnegative: false })
    }

    /// This invariant, and no release is below 0. It wants the confidential counts.
    fn nonnegative(&self) -> PyResult<Self> {
        if !self.counted {
            return Err(usage(
                "nonnegative: want an invariant with counts: what noise may be depends on them",
            ));
        }
        match &*self.subject {
            Subject::Hierarchy(_) => {
                Ok(Self { subject: self.subject.clone(), counted: true, nonnegative: true })
            }
            Subject::Table(table) => {
                room("nonnegative", OF_ENTRY * table.counts.len() as u128)?;
                let more = Inequalities::nonnegative(table.counts.len());
                let inequalities = table.inequalities.clone().and(more);
                let region = guarded(|| inequalities.around(&table.counts))?;
                let table = InvariantTable { inequalities, region, ..table.clone() };
                Ok(Self { subject: Arc::new(Subject::Table(table)), counted: true, nonnegative: false })
            }
        }
    }

    /// Both invariants of one table.
    fn __and__(&self, other: &Self) -> PyResult<Self> {
        let (Subject::Table(one), Subject::Table(two)) = (&*self.subject, &*other.subject) else {
            return Err(usage("&: a tree cannot be tied to other equations, want two invariants of tables"));
        };
        if one.counts.len() != two.counts.len() {
            let message =
                format!("&: got {} and {} entries, want as many", one.counts.len(), two.counts.len());
            return Err(usage(message));
        }
        if self.counted && other.counted && one.counts != two.counts {
            return Err(usage("&: the two have different counts"));
        }
        let counts = if self.counted { &one.counts } else { &two.counts };
        let terms =
            |table: &InvariantTable| table.invariant.rows().iter().map(Vec::len).sum::<usize>() as u128;
        room("&", OF_ENTRY * (terms(one) + terms(two) + counts.len() as u128))?;
        guarded(|| {
            Self::with(
                one.invariant.clone().and(two.invariant.clone()),
                one.inequalities.clone().and(two.inequalities.clone()),
                counts.clone(),
                self.counted || other.counted,
            )
        })
    }

    /// `hierarchy` or `table`.
    #[getter]
    fn kind(&self) -> &'static str {
        self.subject.name()
    }

    /// The confidential counts, or None.
    #[getter]
    fn counts<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<i64>>> {
        self.counted.then(|| PyArray1::from_slice(py, self.confidential()))
    }

    /// The parent of every node of a tree, 0 for the root; None for a table.
    #[getter]
    fn parents<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<i64>>> {
        let Subject::Hierarchy(table) = &*self.subject else { return None };
        let tree = &table.hierarchy;
        Some(PyArray1::from_iter(
            py,
            (0..tree.nodes()).map(|v| if v == 0 { 0 } else { tree.parent(v) as i64 }),
        ))
    }

    /// The names of a table's entries; None for a tree.
    #[getter]
    fn names(&self) -> Option<Vec<String>> {
        let Subject::Table(table) = &*self.subject else { return None };
        Some(table.names.iter().map(str::to_owned).collect())
    }

    /// By row of an array whether it keeps the invariant: releases where counts are given, else noise. Sums of reals
    /// hold to their rounding.
    fn holds<'py>(
        &self,
        py: Python<'py>,
        values: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray1<bool>>> {
        let values = crate::arrays::rows(values, "values", self.size())?;
        let counts = self.confidential();
        let holds = |row: &[f64]| {
            let noise: Vec<f64> = row.iter().zip(counts).map(|(y, &x)| y - x as f64).collect();
            self.check(row, &noise).is_ok()
        };
        let held = guarded(|| Ok(values.values.chunks(self.size().max(1)).map(holds).collect()))?;
        Ok(PyArray1::from_vec(py, held))
    }

    fn __len__(&self) -> usize {
        self.size()
    }

    fn __repr__(&self) -> String {
        format!("<Invariant: {}>", self.subject.summary())
    }
}
