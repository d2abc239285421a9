//! A noisy file: what was released, a row for each node, with the law of its noise and what was done to it.

use super::target::Target;
use crate::catalogue::{Family, Given, Kind, LawKind, Method, MethodKind, Projection, Value};
use crate::failure::{Failure, Result};
use crate::input::{CsvTable, NOISY, Wanted};
use crate::invariant::Hierarchy;
use crate::privacy::Calibration;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// What was released.
#[derive(Debug, Clone)]
pub struct Noisy {
    /// The file.
    pub path: PathBuf,
    /// The columns of the levels below the total, the highest first.
    pub levels: Vec<String>,
    /// The tree of the counts, with those that are known.
    pub tree: Hierarchy,
    /// By node, its value in the column of its level; of the total nothing.
    pub names: Vec<String>,
    /// By node, what was released.
    pub values: Vec<f64>,
    /// Whether all of that are integers.
    pub integers: bool,
    /// The law of the noise.
    pub law: LawKind,
    /// Whether the law is no more than what a variance suggests.
    pub assumed: bool,
    /// By level, lambda or sigma in counts; 0 where the level is known.
    pub scales: Vec<f64>,
    /// What was done with the noise.
    pub method: Method,
}

/// The file while it is read.
struct File<'a> {
    table: &'a CsvTable,
    keys: Vec<usize>,
    value: usize,
    law: Option<usize>,
    scale: Option<usize>,
    variance: Option<usize>,
    known: Option<usize>,
    method: usize,
    options: Option<usize>,
}

impl Noisy {
    /// Reads a noisy file. `levels`: the columns of its levels; none: all columns without a meaning.
    ///
    /// Refused, with file and row: a missing column; keys that are blank above one that is not; a node twice, or without
    /// the one above; no total; a leaf above the last level; a value that is no number, or a known one that is no count; laws,
    /// scales and methods that differ where they must not, or say nothing; a release that was to add up and does not.
    pub fn read(path: &Path, levels: &[String]) -> Result<Self> {
        let table = CsvTable::read_wanted(path, &Wanted::readable())?;
        let named = |name: &str| table.columns.iter().position(|column| column == name);
        let keys: Vec<usize> = match levels.is_empty() {
            true => (0..table.columns.len())
                .filter(|&i| !NOISY.contains(&table.columns[i].as_str()) && !table.columns[i].is_empty())
                .collect(),
            false => levels.iter().map(|level| table.column(level)).collect::<Result<_>>()?,
        };
        if keys.is_empty() {
            return Err(Failure::data(path, "no column of keys, want one for each level below the total"));
        }
        if let Some((name, why)) = table.unread().first() {
            return Err(Failure::data(path, format!("column `{name}` {why}")));
        }
        let file = File {
            table: &table,
            keys,
            value: table.column("value")?,
            law: named("law"),
            scale: named("scale"),
            variance: named("variance"),
            known: named("known"),
            method: table.column("method")?,
            options: named("options"),
        };
        file.read()
    }

    /// The keys of a node, by level below the total; blank below it.
    pub fn keys(&self, node: usize) -> Vec<&str> {
        let mut keys = vec![""; self.levels.len()];
        let mut v = node;
        while v > 0 {
            keys[self.tree.level(v) - 1] = &self.names[v];
            v = self.tree.parent(v);
        }
        keys
    }

    /// What was done with the noise, in words.
    pub fn method_words(&self) -> String {
        let sign = if self.method.conditions() && self.method.nonnegative() { " >= 0" } else { "" };
        self.method.words() + sign
    }

    /// A level in words.
    pub fn level_name(&self, level: usize) -> &str {
        level.checked_sub(1).map_or("total", |below| &self.levels[below])
    }

    /// What was released of a target.
    pub(super) fn estimate(&self, target: &Target) -> f64 {
        target.value(&self.tree, |v| self.values[v])
    }

    /// What the core refuses, as an error of the file.
    pub(super) fn refused(&self, error: crate::Error) -> Failure {
        let message = match &error {
            crate::Error::AtNode { node: 0, why } => format!("the total {why}"),
            crate::Error::AtNode { node, why } => {
                format!("`{}` {why}", self.keys(*node)[..self.tree.level(*node)].join(", "))
            }
            _ => error.to_string(),
        };
        Failure::data(&self.path, message)
    }

    /// The noise of every level. What it pays is not looked at.
    pub fn calibration(&self) -> Calibration {
        Calibration { scales: self.scales.clone(), epsilon: 1.0, delta: 0.0 }
    }

    /// Whether the released counts are the counts plus noise under equations alone, whose law does not depend on the counts.
    pub fn is_pivot(&self) -> bool {
        !self.method.nonnegative()
            && (self.method.kind().is_free() || self.is_linear() || self.method.conditions())
    }

    /// Whether the release is a linear function of free noise.
    pub fn is_linear(&self) -> bool {
        matches!(self.method.projection(), Some(Projection::L2))
    }
}

impl File<'_> {
    fn read(&self) -> Result<Noisy> {
        let table = self.table;
        if table.is_empty() {
            return Err(Failure::data(&table.path, "no rows below the header, want one for each node"));
        }
        let (parents, node_of_row) = self.nodes()?;
        let nodes = parents.len();
        let mut row_of_node = vec![0; nodes];
        node_of_row.iter().enumerate().for_each(|(row, &node)| row_of_node[node as usize] = row);
        let tree = Hierarchy::from_numbers(parents).map_err(|e| Failure::data(&table.path, e.to_string()))?;
        self.check_leaves(&tree, &row_of_node)?;
        let (mut values, integers) = self.values(&row_of_node)?;
        let known = self.flags(self.known, &row_of_node)?;
        if let Some(v) = (0..nodes).find(|&v| known[v] && !(values[v] >= 0.0 && values[v].fract() == 0.0)) {
            return Err(self.bad_value(row_of_node[v], " is known, want a count: an integer >= 0"));
        }
        let method = self.method(&row_of_node)?;
        let (law, assumed, scales) = self.noise(&tree, &known, &row_of_node)?;
        if method.releases_integers(law)
            && let Some(v) = values.iter().position(|value| value.fract() != 0.0)
        {
            let (method, law) = (method.name(), law.name());
            let want = format!(", want an integer, as {method} releases of {law} noise");
            return Err(self.bad_value(row_of_node[v], want));
        }
        if let Some(v) = values.iter().position(|value| *value < 0.0).filter(|_| method.nonnegative()) {
            let want = format!(", want none below 0: {} releases none", method.name());
            return Err(self.bad_value(row_of_node[v], want));
        }
        let names = (0..nodes).map(|v| match tree.level(v) {
            0 => String::new(),
            level => table.text(row_of_node[v], self.keys[level - 1]).to_owned(),
        });
        let names = names.collect();
        self.settle(&tree, &known, &mut values, &row_of_node)?;
        let tree = match known.contains(&true) {
            true => tree.with_known(known).map_err(|e| Failure::data(&table.path, e.to_string()))?,
            false => tree,
        };
        if !method.kind().is_free() {
            self.check_sums(&tree, &values, &row_of_node)?;
        }
        let levels = self.keys.iter().map(|&place| table.columns[place].clone()).collect();
        let path = table.path.clone();
        Ok(Noisy { path, levels, tree, names, values, integers, law, assumed, scales, method })
    }

    /// An error at the value of a row; `what`: the rest of the message.
    fn bad_value(&self, row: usize, what: impl std::fmt::Display) -> Failure {
        self.table.bad_row(row, format!("`value` = `{}`{what}", self.table.text(row, self.value)))
    }

    /// The keys of a row that are not blank.
    fn words(&self, row: usize) -> String {
        let keys = self.keys.iter().map(|&place| self.table.text(row, place));
        keys.filter(|key| !key.is_empty()).collect::<Vec<_>>().join(", ")
    }

    /// The level of a row: how many of its keys, from the first, are not blank.
    fn level(&self, row: usize) -> Result<usize> {
        let table = self.table;
        let is_blank = |&&place: &&usize| table.text(row, place).is_empty();
        let level = self.keys.iter().take_while(|place| !is_blank(place)).count();
        match self.keys[level..].iter().find(|place| !is_blank(place)) {
            None => Ok(level),
            Some(&below) => {
                let (above, below) = (&table.columns[self.keys[level]], &table.columns[below]);
                let message =
                    format!("`{above}` is blank and `{below}` below it is not, want the name of a node");
                Err(table.bad_row(row, message))
            }
        }
    }

    /// The parents of the nodes, breadth first, and by row its node.
    fn nodes(&self) -> Result<(Vec<u32>, Vec<u32>)> {
        let table = self.table;
        Hierarchy::check_nodes(table.len()).map_err(|e| Failure::data(&table.path, e.to_string()))?;
        let codes: Vec<Vec<u32>> = self.keys.iter().map(|&place| table.numbers(place)).collect();
        let mut by_level: Vec<Vec<usize>> = vec![Vec::new(); self.keys.len() + 1];
        for row in 0..table.len() {
            by_level[self.level(row)?].push(row);
        }
        match by_level[0][..] {
            [] => {
                let message = "no row of the total, want one whose keys are all blank";
                return Err(Failure::data(&table.path, message));
            }
            [_] => {}
            [first, second, ..] => {
                let message = format!("a second total, the first is on {}", table.place(first));
                return Err(table.bad_row(second, message));
            }
        }
        let (mut parents, mut node_of_row) = (vec![0u32], vec![0u32; table.len()]);
        let mut known: HashMap<(u32, u32), u32> = HashMap::new();
        for (level, rows) in by_level.iter().enumerate().skip(1) {
            let mut of_parents = Vec::with_capacity(rows.len());
            for &row in rows {
                let mut node = 0;
                for (codes, &place) in codes.iter().zip(&self.keys).take(level - 1) {
                    let Some(&found) = known.get(&(node, codes[row])) else {
                        let (name, above) = (self.words(row), table.text(row, place));
                        let message =
                            format!("`{name}` is below `{above}`, which has no row of its own here");
                        return Err(table.bad_row(row, message));
                    };
                    node = found;
                }
                of_parents.push((node, row));
            }
            // Children of one parent become neighbours, in the order of the file.
            of_parents.sort_by_key(|(parent, _)| *parent);
            for (parent, row) in of_parents {
                let node = parents.len() as u32;
                if let Some(first) = known.insert((parent, codes[level - 1][row]), node) {
                    let name = self.words(row);
                    let first = node_of_row.iter().position(|&node| node == first).unwrap_or(0);
                    let message = format!("`{name}` stands there twice (first on {})", table.place(first));
                    return Err(table.bad_row(row, message));
                }
                parents.push(parent);
                node_of_row[row] = node;
            }
        }
        Ok((parents, node_of_row))
    }

    fn check_leaves(&self, tree: &Hierarchy, rows: &[usize]) -> Result<()> {
        let last = self.keys.len();
        let short = (0..tree.nodes()).find(|&v| tree.is_leaf(v) && tree.level(v) < last);
        short.map_or(Ok(()), |v| {
            let level = &self.table.columns[self.keys[tree.level(v)]];
            Err(self.table.bad_row(rows[v], format!("nothing is below it, want its counts by `{level}`")))
        })
    }

    /// By node, what was released; and whether all are integers.
    fn values(&self, rows: &[usize]) -> Result<(Vec<f64>, bool)> {
        let value = |&row: &usize| {
            let value = self.table.text(row, self.value).parse::<f64>().ok();
            let value = value.filter(|value| value.abs() <= (1u64 << 53) as f64);
            value.ok_or_else(|| self.bad_value(row, ", want a number of at most 2^53 in size"))
        };
        let values = rows.iter().map(value).collect::<Result<Vec<f64>>>()?;
        let integers = values.iter().all(|value| value.fract() == 0.0);
        Ok((values, integers))
    }

    /// Gives nodes whose count follows from known ones that count, whatever was released of them. Refused: known counts that do not go
    /// together.
    fn settle(&self, tree: &Hierarchy, known: &[bool], values: &mut [f64], rows: &[usize]) -> Result<()> {
        let mut known = known.to_vec();
        let refused = |v: usize, want: String| {
            Err(self.bad_value(rows[v], format!(" is known, and the known counts below it {want}")))
        };
        for v in (0..tree.nodes()).rev().filter(|&v| !tree.is_leaf(v)) {
            if !tree.children(v).all(|child| known[child]) {
                continue;
            }
            let sum: f64 = tree.children(v).map(|child| values[child]).sum();
            if known[v] && values[v] != sum {
                return refused(v, format!("add up to {sum}: want the sum"));
            }
            (known[v], values[v]) = (true, sum);
        }
        for v in (0..tree.nodes()).filter(|&v| !tree.is_leaf(v)) {
            let mut open = tree.children(v).filter(|&child| !known[child]);
            if let (true, Some(last), None) = (known[v], open.next(), open.next()) {
                let others: f64 =
                    tree.children(v).filter(|&child| child != last).map(|child| values[child]).sum();
                if values[v] < others {
                    return refused(v, format!("add up to {others}: want at least as much"));
                }
                (known[last], values[last]) = (true, values[v] - others);
            }
        }
        Ok(())
    }

    fn flags(&self, place: Option<usize>, rows: &[usize]) -> Result<Vec<bool>> {
        let Some(place) = place else { return Ok(vec![false; rows.len()]) };
        let flag = |&row: &usize| match self.table.text(row, place) {
            "true" | "TRUE" | "True" | "1" => Ok(true),
            "false" | "FALSE" | "False" | "0" => Ok(false),
            text => {
                let name = &self.table.columns[place];
                Err(self.table.bad_row(row, format!("`{name}` = `{text}`, want true or false")))
            }
        };
        rows.iter().map(flag).collect()
    }

    /// The only text of a column. Refused: two.
    fn one(&self, place: usize, rows: &[usize]) -> Result<&str> {
        let (table, first) = (self.table, self.table.text(rows[0], place));
        if place != self.options.unwrap_or(usize::MAX)
            && let Some(&row) = rows.iter().find(|&&row| table.text(row, place).is_empty())
        {
            return Err(
                table.bad_row(row, format!("`{}` is blank, want the same in all rows", table.columns[place]))
            );
        }
        match rows.iter().find(|&&row| table.text(row, place) != first) {
            None => Ok(first),
            Some(&row) => {
                let (name, text) = (&table.columns[place], table.text(row, place));
                let message = format!(
                    "`{name}` = `{text}`, and `{first}` on {}: want one for all",
                    table.place(rows[0])
                );
                Err(table.bad_row(row, message))
            }
        }
    }

    fn method(&self, rows: &[usize]) -> Result<Method> {
        let (table, name) = (self.table, self.one(self.method, rows)?);
        let kind = MethodKind::named(name).filter(|kind| !kind.is_own() && kind.facts().on_trees.is_some());
        let kind = kind.ok_or_else(|| {
            let known = MethodKind::ALL.iter().filter(|kind| kind.facts().on_trees.is_some());
            let known: Vec<&str> = known.map(|kind| kind.name()).collect();
            let message = format!("`method` = `{name}`, want what was done: one of {}", known.join(", "));
            table.bad_row(rows[0], message)
        })?;
        let mut given: HashMap<&str, &str> = HashMap::new();
        let options = self.options.map(|place| self.one(place, rows)).transpose()?.unwrap_or_default();
        for option in options.split(',').map(str::trim).filter(|option| !option.is_empty()) {
            let known = option
                .split_once('=')
                .filter(|(name, _)| kind.facts().options.iter().any(|o| o.key == *name));
            let Some((name, value)) = known else {
                let known: Vec<&str> = kind.facts().options.iter().map(|option| option.key).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                let message =
                    format!("`options` = `{option}`, want name=value with an option of {name}: {known}");
                return Err(table.bad_row(rows[0], message));
            };
            given.insert(name, value);
        }
        let mut values: HashMap<&str, Value> = HashMap::new();
        for option in kind.facts().options {
            let Some(text) = given.get(option.key) else { continue };
            let read = match option.kind {
                Kind::Flag => text.parse().ok().map(Given::Flag),
                Kind::Count(_) => text.parse().ok().map(Given::Integer),
                Kind::Number { .. } => text.parse().ok().map(Given::Number),
                _ => Some(Given::Text((*text).to_owned())),
            };
            let value = read.and_then(|given| option.fits(&given)).ok_or_else(|| {
                table.bad_row(rows[0], format!("option {} = `{text}`, {}", option.key, option.wanted()))
            })?;
            values.insert(option.key, value);
        }
        Ok(kind.with(|option| values.get(option.key).copied().or_else(|| option.default())))
    }

    /// The law, whether it is assumed, and the scale of each level.
    fn noise(&self, tree: &Hierarchy, known: &[bool], rows: &[usize]) -> Result<(LawKind, bool, Vec<f64>)> {
        let table = self.table;
        let measured: Vec<usize> = (0..tree.nodes()).filter(|&v| !known[v]).map(|v| rows[v]).collect();
        let Some(&first) = measured.first() else {
            return Err(Failure::data(&table.path, "every count is known: there is nothing to infer"));
        };
        let (law, place, squared) = match (self.law, self.scale, self.variance) {
            (Some(law), Some(scale), None) => {
                let name = self.one(law, &measured)?;
                let kind = LawKind::named(name).filter(|law| law.on_hierarchies());
                let kind = kind.ok_or_else(|| {
                    let message = format!(
                        "`law` = `{name}`, want laplace, double-geometric, gaussian or discrete-gaussian"
                    );
                    table.bad_row(first, message)
                })?;
                (kind, scale, false)
            }
            (None, None, Some(variance)) => (normal(), variance, true),
            _ => {
                let message = "the noise is told by the columns `law` and `scale`, or by `variance`: want the one or the other";
                return Err(Failure::data(&table.path, message));
            }
        };
        let mut scales = vec![0.0; tree.levels()];
        let mut said = vec![0; tree.levels()];
        for v in (0..tree.nodes()).filter(|&v| !known[v]) {
            let (level, row) = (tree.level(v), rows[v]);
            let text = table.text(row, place);
            let number = text.parse::<f64>().ok().filter(|x| x.is_finite() && *x > 0.0);
            let number = number.ok_or_else(|| {
                let name = &table.columns[place];
                table.bad_row(
                    row,
                    format!("`{name}` = `{text}`, want a number > 0 where a count is not known"),
                )
            })?;
            let scale = if squared { libm::sqrt(number) } else { number };
            if scales[level] == 0.0 {
                (scales[level], said[level]) = (scale, row);
            } else if scales[level] != scale {
                let name = &table.columns[place];
                let (first, other) = (table.place(said[level]), table.text(said[level], place));
                let message =
                    format!("`{name}` = `{text}`, and `{other}` on {first}: want one for each level");
                return Err(table.bad_row(row, message));
            }
        }
        Ok((law, squared, scales))
    }

    /// Refuses a release that was to add up and does not: exactly for integers, to rounding for reals.
    fn check_sums(&self, tree: &Hierarchy, values: &[f64], rows: &[usize]) -> Result<()> {
        for v in (0..tree.nodes()).filter(|&v| !tree.is_leaf(v)) {
            let sum: f64 = tree.children(v).map(|child| values[child]).sum();
            let size: f64 = tree.children(v).map(|child| values[child].abs()).sum::<f64>() + 1.0;
            if (sum - values[v]).abs() > 1e-6 * size {
                let want = format!(
                    ", and what is below it adds up to {sum}: want the sum, or the method unconstrained"
                );
                return Err(self.bad_value(rows[v], want));
            }
        }
        Ok(())
    }
}

/// The law that a variance alone suggests.
fn normal() -> LawKind {
    let is_normal = |law: &LawKind| law.family() == Family::Gaussian && law.on_hierarchies();
    LawKind::ALL.iter().copied().find(is_normal).expect("a normal law on hierarchies")
}
