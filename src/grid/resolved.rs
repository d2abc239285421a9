//! The config as resolved: every default filled in, one block per cell. Running it gives the same cells.

use super::Plan;
use crate::config::{Method, SplitSpec};
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
        let mut data = Table::new();
        data["table"] = value(absolute(&config.data.table));
        data["levels"] = value(config.data.levels.iter().map(String::as_str).collect::<Array>());
        data["count"] = value(config.data.count.as_str());
        document["data"] = Item::Table(data);
        if let Some(published) = &config.published {
            let mut report = Table::new();
            report["published"] = value(absolute(published));
            document["report"] = Item::Table(report);
        }
        let mut blocks = ArrayOfTables::new();
        for cell in &self.cells {
            let mut block = Table::new();
            block["epsilon"] = value(cell.epsilon);
            block["law"] = value(cell.law.name());
            block["sensitivity"] = value(cell.sensitivity);
            let split = match &cell.split {
                SplitSpec::Shares(shares) => Value::Array(shares.iter().copied().collect()),
                named => Value::from(named.label()),
            };
            block["split"] = value(Array::from_iter([split]));
            if let Some(delta) = cell.delta {
                block["delta"] = value(delta);
            }
            block["method"] = value(method(&cell.method));
            block["replicates"] = value(cell.replicates as i64);
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
    match *method {
        Method::LineGibbs { sweeps, .. } => {
            table.insert("sweeps", (sweeps as i64).into());
        }
        Method::HierarchicalMh { steps, proposal_scale, .. } => {
            table.insert("steps", (steps as i64).into());
            if let Some(scale) = proposal_scale {
                table.insert("proposal-scale", scale.into());
            }
        }
        Method::Unconstrained | Method::Exact { .. } | Method::L2 | Method::TopDown => {}
    }
    if matches!(method, Method::Exact { .. } | Method::LineGibbs { .. } | Method::HierarchicalMh { .. }) {
        table.insert("nonnegative", method.nonnegative().into());
    }
    table
}
