//! The config as resolved: every default filled in, one block per cell. Running it gives the same cells.

use super::Plan;
use crate::config::wire::WireBound;
use crate::config::{InvariantSpec, Method, Shape, SplitSpec, Study, Thresholds, basis_name, source_name};
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, Value, value};

impl Plan {
    /// The resolved config as TOML; paths are absolute.
    pub fn resolved(&self) -> String {
        let config = &self.config;
        let absolute = |path: &std::path::Path| {
            std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
        };
        let mut document = DocumentMut::new();
        document["name"] = value(config.name.as_str());
        document["seed"] = value(config.seed as i64);
        if config.study != Study::Release {
            document["study"] = value(config.study.name());
        }
        if config.keep_draws {
            document["keep-draws"] = value(true);
        }
        let list = |names: &[String]| value(names.iter().map(String::as_str).collect::<Array>());
        let mut data = Table::new();
        data["table"] = value(absolute(&config.data.table));
        data["count"] = value(config.data.count.as_str());
        if !config.data.filter.is_empty() {
            let mut filter = InlineTable::new();
            for (column, values) in &config.data.filter {
                filter.insert(column, Value::Array(values.iter().map(String::as_str).collect()));
            }
            data["where"] = value(filter);
        }
        match &config.data.shape {
            Shape::Hierarchy { levels } => data["levels"] = list(levels),
            Shape::Table { cell, invariants } => {
                if let Some(cell) = cell {
                    data["cell"] = list(cell);
                }
                let specs = invariants.iter().map(|(spec, _)| invariant(spec)).collect();
                document["invariant"] = Item::ArrayOfTables(specs);
            }
        }
        document["data"] = Item::Table(data);
        let mut report = Table::new();
        if let Some(published) = &config.published {
            report["published"] = value(absolute(published));
        }
        if let Some(beside) = &config.beside {
            let mut table = Table::new();
            table["table"] = value(absolute(&beside.table));
            table["confidential"] = value(beside.confidential.as_str());
            table["released"] = value(beside.released.as_str());
            table["note"] = value(beside.note.as_str());
            report["beside"] = Item::Table(table);
        }
        if !report.is_empty() {
            document["report"] = Item::Table(report);
        }
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
        let mut blocks = ArrayOfTables::new();
        for cell in &self.cells {
            let mut block = Table::new();
            block["epsilon"] = value(cell.epsilon);
            block["law"] = value(cell.law.name());
            block["sensitivity"] = value(cell.sensitivity);
            if matches!(config.data.shape, Shape::Hierarchy { .. }) {
                let split = match &cell.split {
                    SplitSpec::Shares(shares) => Value::Array(shares.iter().copied().collect()),
                    named => Value::from(named.label()),
                };
                block["split"] = value(Array::from_iter([split]));
            }
            if let Some(delta) = cell.delta {
                block["delta"] = value(delta);
            }
            block["method"] = value(method(&cell.method));
            if config.study != Study::Privacy {
                block["replicates"] = value(cell.replicates as i64);
            }
            if cell.records > 0 {
                block["records"] = value(cell.records as i64);
            }
            if let Some(lag) = cell.lag {
                block["lag"] = value(lag as i64);
                block["max-steps"] = value(cell.max_steps as i64);
            }
            if let Some((chains, steps)) = cell.marginals {
                block["marginal-chains"] = value(chains as i64);
                block["marginal-steps"] = value(steps as i64);
            }
            block.decor_mut().set_prefix(format!("\n# cell {}\n", cell.key_text()));
            blocks.push(block);
        }
        document["grid"] = Item::ArrayOfTables(blocks);
        document.to_string()
    }
}

fn method(method: &Method) -> InlineTable {
    let mut table = InlineTable::new();
    table.insert("kind", method.name().into());
    let chain = |table: &mut InlineTable, key: &str, n: u64| {
        // 0 in a study of meetings, where it is no option.
        if n > 0 {
            table.insert(key, (n as i64).into());
        }
    };
    match *method {
        Method::LineGibbs { sweeps, .. } => chain(&mut table, "sweeps", sweeps),
        Method::HierarchicalMh { steps, proposal_scale, .. } => {
            chain(&mut table, "steps", steps);
            if let Some(scale) = proposal_scale {
                table.insert("proposal-scale", scale.into());
            }
        }
        Method::LatticeMetropolis { steps, a, basis } => {
            chain(&mut table, "steps", steps);
            table.insert("a", a.into());
            table.insert("basis", basis_name(basis).into());
        }
        Method::Mis { steps, proposal_epsilon } => {
            chain(&mut table, "steps", steps);
            if let Some(rate) = proposal_epsilon {
                table.insert("proposal-epsilon", rate.into());
            }
        }
        Method::L1 { beta } => {
            table.insert("beta", beta.into());
        }
        Method::Rejection { from } => {
            table.insert("from", source_name(from).into());
        }
        _ => {}
    }
    if matches!(method, Method::Exact { .. } | Method::LineGibbs { .. } | Method::HierarchicalMh { .. }) {
        table.insert("nonnegative", method.nonnegative().into());
    }
    table
}

fn invariant(spec: &InvariantSpec) -> Table {
    let list = |names: &[String]| value(names.iter().map(String::as_str).collect::<Array>());
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
                    Some(WireBound::Value(x)) => table[key] = value(*x),
                    Some(WireBound::Column(column)) => table[key] = value(column.as_str()),
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
