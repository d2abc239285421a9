//! The config as resolved: every default filled in, one block per cell. Running it gives the same cells.

use super::{Cell, Plan};
use crate::catalogue;
use crate::config::data::ROOT;
use crate::config::{AXES, Config, DEFAULT_STUDY, Thresholds};
use crate::input::{Bound, InvariantSpec, NodeInequality, NodeName, Shape, Subject};
use crate::privacy::{Amount, Measure};
use std::fmt::Write;
use std::path::Path;
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, Value, value};

/// The resolved config of a grid as TOML, with a plan for each data set; paths are absolute.
pub fn resolved(plans: &[&Plan]) -> String {
    let config = &plans[0].config;
    let mut document = DocumentMut::new();
    document["name"] = value(config.name.as_str());
    document["seed"] = match config.seeds[..] {
        [seed] => value(seed as i64),
        _ => value(config.seeds.iter().map(|&seed| seed as i64).collect::<Array>()),
    };
    if let Some(about) = config.about.resolve() {
        document["about"] = about;
    }
    if config.study != DEFAULT_STUDY {
        document["study"] = value(config.study);
    }
    let invariants: ArrayOfTables = match &config.data.shape {
        Shape::Table { invariants, .. } => invariants.iter().map(|(spec, _)| invariant(spec)).collect(),
        Shape::Hierarchy { inequalities, .. } => inequalities.iter().map(|(one, _)| between(one)).collect(),
    };
    if !invariants.is_empty() {
        document["invariant"] = Item::ArrayOfTables(invariants);
    }
    document["data"] = match plans {
        [one] => Item::Table(data(&one.config)),
        _ => Item::ArrayOfTables(plans.iter().map(|plan| data(&plan.config)).collect()),
    };
    if let Some(published) = &config.published {
        let mut report = Table::new();
        report["published"] = value(absolute(published));
        document["report"] = Item::Table(report);
    }
    config.part.resolve(&mut document, &config.data);
    if config.compare != Thresholds::default() {
        let mut compare = Table::new();
        compare["level"] = value(config.compare.level);
        compare["margin"] = value(config.compare.margin);
        if !config.compare.margins.is_empty() {
            let margins = config.compare.margins.iter().map(|(metric, &x)| (metric.as_str(), x));
            compare["margins"] = value(InlineTable::from_iter(margins));
        }
        document["compare"] = Item::Table(compare);
    }
    let mut text = document.to_string();
    for plan in plans {
        for cell in &plan.cells {
            plan.block(cell, &mut text).expect("memory");
        }
    }
    text
}

/// `[[invariant]]` blocks as TOML.
pub fn invariant_blocks<'a>(specs: impl Iterator<Item = &'a InvariantSpec>) -> String {
    let mut document = DocumentMut::new();
    document["invariant"] = Item::ArrayOfTables(specs.map(invariant).collect());
    document.to_string()
}

/// A path as resolved configs have it.
pub fn absolute(path: &Path) -> String {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}

fn list(names: &[String]) -> Item {
    value(names.iter().map(String::as_str).collect::<Array>())
}

/// The table of a data set.
fn data(config: &Config) -> Table {
    let source = &config.data;
    let mut data = Table::new();
    if !config.data_name.is_empty() {
        data["name"] = value(config.data_name.as_str());
    }
    data["table"] = value(absolute(&source.table));
    data["count"] = value(source.count.as_str());
    if !source.filter.is_empty() {
        let mut filter = InlineTable::new();
        for (column, values) in &source.filter {
            filter.insert(column, Value::Array(values.iter().map(String::as_str).collect()));
        }
        data["where"] = value(filter);
    }
    if source.root != ROOT {
        data["root"] = value(source.root.as_str());
    }
    if !source.known.levels.is_empty() {
        data["known"] = list(&source.known.levels);
    }
    if let Some(column) = &source.known.column {
        data["known-column"] = value(column.as_str());
    }
    match &source.shape {
        Shape::Hierarchy { levels, .. } => data["levels"] = list(levels),
        Shape::Table { entry, .. } => {
            if let Some(entry) = entry {
                data["entry"] = list(entry);
            }
        }
    }
    data
}

impl Plan {
    /// Adds the block of a cell. As text: a document of 100,000 blocks is slow and large. Names have no quotes, and Rust's numbers
    /// are those of TOML.
    fn block(&self, cell: &Cell, text: &mut String) -> std::fmt::Result {
        writeln!(text, "\n# cell {}\n[[grid]]", cell.key_text())?;
        match cell.paid {
            None => writeln!(text, "epsilon = {:?}", cell.epsilon)?,
            Some(Amount { loss, measure: Measure::Epsilon }) => writeln!(text, "paid = {loss:?}")?,
            Some(Amount { loss, measure: Measure::Rho }) => writeln!(text, "paid = {{ rho = {loss:?} }}")?,
            Some(Amount { loss, measure: Measure::Mu }) => writeln!(text, "paid = {{ mu = {loss:?} }}")?,
            Some(Amount { loss, measure: Measure::Together { delta, releases } }) => {
                writeln!(text, "paid = {{ epsilon = {loss:?}, delta = {delta:?}, releases = {releases} }}")?
            }
        }
        writeln!(text, "law = \"{}\"", cell.at.law.name())?;
        if !self.config.data_name.is_empty() {
            writeln!(text, "data = \"{}\"", self.config.data_name)?;
        }
        if cell.seeded {
            writeln!(text, "seed = {}", cell.at.seed)?;
        }
        let on_tree = matches!(self.subject, Subject::Hierarchy(_));
        for line in AXES.iter().filter_map(|axis| (axis.line)(&cell.at, on_tree)) {
            writeln!(text, "{line}")?;
        }
        write!(text, "method = {{ kind = \"{}\"", cell.at.method.name())?;
        for (option, value) in cell.at.method.values() {
            match value {
                catalogue::Value::Name(name) => write!(text, ", {} = \"{name}\"", option.key)?,
                catalogue::Value::Entries(entries) => write!(text, ", {} = {entries:?}", option.key)?,
                catalogue::Value::Own(own) => write!(text, ", {}", own.config())?,
                value => write!(text, ", {} = {value}", option.key)?,
            }
        }
        writeln!(text, " }}")?;
        // Cells of marginals alone have none.
        if self.config.replicates && cell.replicates > 0 {
            writeln!(text, "replicates = {}", cell.replicates)?;
        }
        write!(text, "{}", cell.part.lines(&cell.at))?;
        Ok(())
    }
}

/// An inequality between nodes.
fn between(inequality: &NodeInequality) -> Table {
    let node = |node: &NodeName| match &node.names[..] {
        [] => Value::from(node.root.as_str()),
        names => Value::InlineTable(names.iter().map(|(level, name)| (level, name.as_str())).collect()),
    };
    let NodeInequality { of, minus, least } = inequality;
    let mut table = Table::new();
    for (key, nodes) in [("of", of), ("minus", minus)] {
        if !nodes.is_empty() {
            table[key] = value(nodes.iter().map(node).collect::<Array>());
        }
    }
    table["value"] = value(*least);
    table["kind"] = value("at-least");
    table
}

fn invariant(spec: &InvariantSpec) -> Table {
    let nested = |rows: &[Vec<i64>]| -> Item {
        value(rows.iter().map(|row| Value::Array(row.iter().copied().collect())).collect::<Array>())
    };
    let mut table = Table::new();
    let kind = match spec {
        InvariantSpec::Total => "total",
        InvariantSpec::Partition(by) => {
            table["by"] = list(by);
            "partition"
        }
        InvariantSpec::Margins { rows, columns } => {
            table["rows"] = value(rows.as_str());
            table["columns"] = value(columns.as_str());
            "margins"
        }
        InvariantSpec::Sets(sets) => {
            let one_based: Vec<Vec<i64>> =
                sets.iter().map(|set| set.iter().map(|&cell| cell as i64 + 1).collect()).collect();
            table["sets"] = nested(&one_based);
            "subsets"
        }
        InvariantSpec::Indicators(columns) => {
            table["columns"] = list(columns);
            "subsets"
        }
        InvariantSpec::Hierarchy(levels) => {
            table["levels"] = list(levels);
            "hierarchy"
        }
        InvariantSpec::Matrix { rows, values } => {
            table["rows"] = nested(rows);
            if let Some(values) = values {
                table["values"] = value(values.iter().copied().collect::<Array>());
            }
            "matrix"
        }
        InvariantSpec::Nonnegative => "nonnegative",
        InvariantSpec::Bounds(lower, upper) => {
            for (key, bound) in [("lower", lower), ("upper", upper)] {
                match bound {
                    None => {}
                    Some(Bound::Value(x)) => table[key] = value(*x),
                    Some(Bound::Column(column)) => table[key] = value(column.as_str()),
                }
            }
            "bounds"
        }
        InvariantSpec::AtLeast(rows, values) => {
            table["rows"] = nested(rows);
            table["values"] = value(values.iter().copied().collect::<Array>());
            "at-least"
        }
    };
    table["kind"] = value(kind);
    table
}
