//! Checks of `[data]`.

use super::checker::Checker;
use super::wire::{WireData, WireInvariant};
use crate::failure::Result;
use crate::input::{DataSource, Shape};
use std::path::Path;
use toml::Spanned;

impl Checker<'_> {
    /// The data, and what every release must keep.
    pub(super) fn data(
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
        let shape = match (&data.levels, invariants) {
            (Some(levels), []) => {
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
                Shape::Hierarchy { levels: levels.get_ref().clone() }
            }
            (Some(levels), _) => {
                return Err(self.error(
                    "data.levels: not used beside an [[invariant]]",
                    levels.span(),
                    "want it left out, or an [[invariant]] of kind \"hierarchy\" with these levels",
                ));
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
        Ok(DataSource {
            table: folder.join(data.table.get_ref()),
            count: data.count.get_ref().clone(),
            filter,
            shape,
        })
    }
}
