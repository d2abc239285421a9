//! Counts that a release gives exactly, as ledgers and certificates name them.

use super::config::Config;
use super::ledger::Known;
use crate::input::LeafList;
use std::collections::BTreeSet;

/// The counts that are released as they are: those of the last known level, which the levels above add up.
pub(super) fn known(config: &Config, domain: &LeafList) -> Vec<Known> {
    let Some(last) = config.data.known.checked_sub(1) else { return Vec::new() };
    let of = |v: usize| {
        config.data.levels.iter().cloned().zip(domain.keys(v).into_iter().map(str::to_owned)).take(last)
    };
    domain.tree.level_nodes(last).map(|v| of(v).collect()).collect()
}

/// The columns of counts that releases before this one gave exactly (`before`), and this one does not.
pub(super) fn known_before<'a>(config: &Config, before: impl Iterator<Item = &'a Known>) -> Vec<String> {
    let own = &config.data.levels[..config.data.known.saturating_sub(1)];
    let is_more = |known: &&Known| config.data.known == 0 || known.keys().any(|column| !own.contains(column));
    let name = |known: &Known| match known.is_empty() {
        true => config.data.root.clone(),
        false => known.keys().cloned().collect::<Vec<_>>().join(", "),
    };
    let names: BTreeSet<String> = before.filter(is_more).map(name).collect();
    names.into_iter().collect()
}
