//! Checks of `[data]`.

use super::checker::Checker;
use super::wire::{Axis, WireData, WireInvariant};
use crate::failure::Result;
use crate::input::{DataSource, InvariantSpec, Known, Shape};
use std::ops::Range;
use std::path::Path;
use toml::Spanned;

/// The name of the root's level where `data.root` gives no other.
pub(crate) const ROOT: &str = "total";

impl Checker<'_> {
    /// Refuses names of levels among which that of the root's stands for two.
    pub(super) fn distinct_root(
        &self,
        key: &str,
        levels: &[String],
        root: &str,
        span: Range<usize>,
    ) -> Result<()> {
        if levels.iter().all(|level| level != root) {
            return Ok(());
        }
        let message = format!("{key}: a level below the root has the name `{root}` of the root");
        Err(self.error(message, span, "want `data.root`, another name for the root's level"))
    }

    /// What is known. Errors: a root or levels where there is no tree; a level that does not exist or has the name of
    /// the root; a known level below one that is not; nothing left to release; a column that is another one's.
    fn known(&self, data: &WireData, shape: &Shape, root: &str) -> Result<Known> {
        let levels: &[String] = match shape {
            Shape::Hierarchy { levels, .. } => levels,
            Shape::Table { invariants, .. } => {
                let trees = invariants.iter().filter_map(|(spec, _)| match spec {
                    InvariantSpec::Hierarchy(levels) => Some(&levels[..]),
                    _ => None,
                });
                match &trees.collect::<Vec<_>>()[..] {
                    [levels] => levels,
                    _ => &[],
                }
            }
        };
        let label = "want it with `data.levels`, or one [[invariant]] of kind \"hierarchy\"";
        if let Some(name) = &data.root {
            if levels.is_empty() {
                return Err(self.error("data.root: there is no tree", name.span(), label));
            }
            if levels.contains(name.get_ref()) || name.get_ref().is_empty() {
                let message = format!("data.root: got `{}`", name.get_ref());
                return Err(self.error(message, name.span(), "want a name that no level has"));
            }
        }
        let mut known = Known::default();
        if let Some(named) = &data.known {
            let refuse = |message: String, label: String| Err(self.error(message, named.span(), label));
            if levels.is_empty() {
                return refuse("data.known: there is no tree".into(), label.into());
            }
            self.no_duplicates("data.known", named.get_ref(), named.span())?;
            let all: Vec<&str> = std::iter::once(root).chain(levels.iter().map(String::as_str)).collect();
            self.distinct_root("data.known", levels, root, named.span())?;
            if let Some(name) = named.get_ref().iter().find(|name| !all.contains(&name.as_str())) {
                return refuse(
                    format!("data.known: got `{name}`"),
                    format!("want levels of {}", all.join(", ")),
                );
            }
            let is_known = |level: &&&str| named.get_ref().iter().any(|name| name == **level);
            let whole = all.iter().take_while(is_known).count();
            if let Some(level) = all[whole..].iter().find(is_known) {
                let message = format!("data.known: got `{level}` without `{}`", all[whole]);
                let last = all.iter().rposition(|level| is_known(&level)).unwrap_or(0);
                let label = format!(
                    "what is known adds up: want {:?}, the levels above a known one too",
                    &all[..=last]
                );
                return refuse(message, label);
            }
            if whole == all.len() {
                let label = format!("nothing would be left to release: want `{}` left out", all[whole - 1]);
                return refuse("data.known: got every level".into(), label);
            }
            known.levels = named.get_ref().clone();
        }
        if let Some(column) = &data.known_column {
            if column.get_ref() == data.count.get_ref() || levels.contains(column.get_ref()) {
                let message = format!("data.known-column: got `{}`", column.get_ref());
                return Err(self.error(message, column.span(), "want a column of its own"));
            }
            known.column = Some(column.get_ref().clone());
        }
        Ok(known)
    }

    /// The data sets with their names, and what every release of each must keep. Errors: none, or of several one
    /// without a name; two of one name; trees beside tables.
    pub(super) fn data_sets(
        &self,
        wire: &Spanned<Axis<WireData>>,
        invariants: &[Spanned<WireInvariant>],
        folder: &Path,
    ) -> Result<Vec<(String, DataSource)>> {
        self.not_empty("data", wire.get_ref(), wire.span())?;
        let all = &wire.get_ref().0;
        let mut sets: Vec<(String, DataSource)> = Vec::new();
        for data in all {
            let name = match &data.name {
                Some(name) => {
                    self.name("data.name", name)?;
                    if sets.iter().any(|(other, _)| other == name.get_ref()) {
                        let message = format!("data.name: got `{}` twice", name.get_ref());
                        return Err(self.error(message, name.span(), "want every name once"));
                    }
                    name.get_ref().clone()
                }
                None if all.len() == 1 => String::new(),
                None => {
                    let label = "want a `name` for each of several data sets";
                    return Err(self.error("data.name: missing", data.table.span(), label));
                }
            };
            let source = self.data(data, invariants, folder)?;
            let kind = |source: &DataSource| std::mem::discriminant(&source.shape);
            if let Some((first, _)) = sets.first().filter(|(_, first)| kind(first) != kind(&source)) {
                let message = format!("data: `{first}` and `{name}` are a tree and a table");
                return Err(self.error(message, data.table.span(), "want a config for each kind"));
            }
            sets.push((name, source));
        }
        Ok(sets)
    }

    /// The data, and what every release must keep.
    fn data(
        &self,
        data: &WireData,
        invariants: &[Spanned<WireInvariant>],
        folder: &Path,
    ) -> Result<DataSource> {
        let filter = data
            .filter
            .iter()
            .map(|(column, values)| {
                Ok((
                    column.clone(),
                    self.axis(&format!("where.{column}"), values, |value, _| Ok(value.clone()))?,
                ))
            })
            .collect::<Result<Vec<_>>>()?;
        if let Some(entry) = &data.entry {
            self.no_duplicates("data.entry", entry.get_ref(), entry.span())?;
        }
        let root = data.root.as_ref().map_or(ROOT, |root| root.get_ref()).to_owned();
        let shape = match (&data.levels, invariants) {
            (Some(levels), inequalities) => {
                if levels.get_ref().is_empty() {
                    return Err(self.error(
                        "data.levels: got an empty list",
                        levels.span(),
                        "want the columns of the levels below the root, coarse to fine",
                    ));
                }
                self.no_duplicates("data.levels", levels.get_ref(), levels.span())?;
                if let Some(entry) = &data.entry {
                    return Err(self.error(
                        "data.entry: not used",
                        entry.span(),
                        "the levels name the nodes",
                    ));
                }
                let between = |wire: &Spanned<WireInvariant>| {
                    Ok((self.between_nodes(wire, levels, &root)?, wire.span()))
                };
                Shape::Hierarchy {
                    levels: levels.get_ref().clone(),
                    inequalities: inequalities.iter().map(between).collect::<Result<_>>()?,
                }
            }
            (None, []) => {
                return Err(self.error(
                    "invariant: missing",
                    data.table.span(),
                    "want `data.levels` (a hierarchy) or an [[invariant]]",
                ));
            }
            (None, invariants) => Shape::Table {
                entry: data.entry.as_ref().map(|entry| entry.get_ref().clone()),
                invariants: invariants
                    .iter()
                    .map(|wire| Ok((self.invariant(wire.get_ref(), wire.span(), folder)?, wire.span())))
                    .collect::<Result<Vec<_>>>()?,
            },
        };
        let known = self.known(data, &shape, &root)?;
        Ok(DataSource {
            root,
            known,
            table: folder.join(data.table.get_ref()),
            count: data.count.get_ref().clone(),
            filter,
            shape,
        })
    }
}
