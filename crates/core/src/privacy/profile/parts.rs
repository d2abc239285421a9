//! What integer noise on the entries of a table or the nodes of a tree loses, given equations and inequalities, for every change of a
//! kind.
//!
//! Entries that nothing ties together are looked at part by part, each in the way that serves it:
//!
//! - single entries, trees of entries and known totals by the passes over a tree ([`super::tree`]);
//! - totals of *tied* entries ([`super::tied`]) by the same. In a table of two rows with both margins known `z_2j = -z_1j`: two
//!   entries have the noise of one, with the square of its weight, and the row is a known total of those. Its smallest change moves a
//!   record in one row and another back in the other;
//! - both margins of larger tables by transforms ([`super::margins`]);
//! - other equations by listing the points of their lattice ([`super::lattice`]);
//! - what inequalities bound by listing its tables ([`super::finite`]).

use super::finite::Finite;
use super::losses::{Losses, undominated};
use super::noise::IntegerNoise;
use super::tree::{Walk, check_changes};
use super::{lattice, margins, tied};
use crate::error::Result;
use crate::invariant::{Bounded, Component, Hierarchy, NO_LOWER, NO_UPPER};
use crate::law::IntegerLaw;
use crate::privacy::ChangeKind;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// What nothing ties to the rest of a table.
pub(super) struct Part {
    bounded: Bounded,
    /// By entry: the scale of its noise, and whether it counts records.
    entries: Vec<(f64, bool)>,
    /// How many parts are like this one.
    many: usize,
}

/// Parts without those that are like another. `entries`: the scales of a part's noise, and what counts records.
pub(super) fn alike(
    parts: impl IntoIterator<Item = Bounded>,
    entries: impl Fn(&Component) -> Vec<(f64, bool)>,
) -> Vec<Part> {
    let mut places = HashMap::new();
    let mut found: Vec<Part> = Vec::new();
    for part in parts {
        let bounded = from_bound(part);
        let entries = entries(&bounded.component);
        let bits: Vec<(u64, bool)> =
            entries.iter().map(|(scale, counts)| (scale.to_bits(), *counts)).collect();
        match places.entry((bounded.component.rows.clone(), bounded.region.clone(), bits)) {
            Entry::Occupied(place) => {
                let place: usize = *place.get();
                found[place].many += 1;
            }
            Entry::Vacant(place) => {
                place.insert(found.len());
                found.push(Part { bounded, entries, many: 1 });
            }
        }
    }
    found
}

/// One count alone as it is seen from its bound: its tables are the same whatever the given one is.
fn from_bound(mut part: Bounded) -> Bounded {
    if let ([_], true) = (&part.component.entries[..], part.component.rows.is_empty()) {
        let bounds = [part.region.lower[0], part.region.upper[0]];
        if let Some(from) = bounds.into_iter().find(|bound| ![NO_LOWER, NO_UPPER].contains(bound)) {
            part.region = part.region.around_moved(&[from]);
        }
    }
    part
}

/// What a part loses, as far as it was asked for.
#[derive(Default)]
struct Own {
    /// For a record added, with the change of the count if its sign matters, else 0.
    added: Vec<(i64, Losses)>,
    moved: Vec<Losses>,
    /// For the smallest change, with the records of it.
    smallest: Option<(u64, Vec<Losses>)>,
}

impl Part {
    /// What is lost for a kind of change; for a record that moves what is lost for one that is added, too. `None`: it is not
    /// computed.
    fn own<L: IntegerLaw>(
        &self,
        noise: IntegerNoise,
        make: &dyn Fn(f64) -> Result<L>,
        kind: ChangeKind,
    ) -> Result<Option<Own>> {
        let component = &self.bounded.component;
        if !self.bounded.region.is_everything() {
            let laws = self.entries.iter().map(|(scale, _)| make(*scale)).collect::<Result<Vec<L>>>()?;
            let counts: Vec<bool> = self.entries.iter().map(|(_, counts)| *counts).collect();
            return Ok(Finite::new(&self.bounded, &laws, &counts)?.map(|finite| of_tables(&finite, kind)));
        }
        if let Some((tree, laws)) = self.tree(make)? {
            return of_walk(Walk::new(&tree, &laws)?, kind).map(Some);
        }
        let scale = self.entries[0].0;
        if self.entries.iter().any(|(other, _)| *other != scale) {
            return Ok(None);
        }
        let pairs = component.equal_columns().iter().any(|(_, entries)| entries.len() > 1);
        if let Some((tree, times)) = tied::total(component).filter(|_| !pairs) {
            let laws = vec![Some(make(noise.scale_of_power(scale, times))?); tree.levels()];
            return of_tied(Walk::new(&tree, &laws)?, times, kind).map(Some);
        }
        let law = make(scale)?;
        Ok(Some(match kind {
            ChangeKind::Added => Own::default(),
            ChangeKind::Moved => Own { moved: lattice::moved(component, &law)?, ..Own::default() },
            ChangeKind::Smallest => {
                let of_margins = component.margins.map(|sizes| margins::of_table(&law, sizes)).transpose()?;
                let smallest = match of_margins.flatten() {
                    Some(losses) => Some((margins::CHANGED as u64, vec![losses])),
                    None => lattice::smallest(component, &law)?,
                };
                Own { smallest, ..Own::default() }
            }
        }))
    }

    /// The tree of the entries with the laws of its levels; `None`: they are none.
    fn tree<L: IntegerLaw>(
        &self,
        make: &dyn Fn(f64) -> Result<L>,
    ) -> Result<Option<(Hierarchy, Vec<Option<L>>)>> {
        if self.bounded.component.rows.is_empty() {
            let one = Hierarchy::from_parents(&[0])?;
            return Ok(Some((one, vec![Some(make(self.entries[0].0)?)])));
        }
        let Some(tree) = self.bounded.component.tree() else { return Ok(None) };
        let hierarchy = tree.hierarchy;
        let first = usize::from(hierarchy.is_known(0));
        let law = |level: usize| {
            let node = hierarchy.level_nodes(level).start;
            let entry = node.checked_sub(first).map(|place| tree.entries[place] as usize);
            entry.map(|entry| make(self.entries[entry].0)).transpose()
        };
        let laws = (0..hierarchy.levels()).map(law).collect::<Result<_>>()?;
        Ok(Some((hierarchy, laws)))
    }
}

fn of_walk<L: IntegerLaw>(mut walk: Walk<L>, kind: ChangeKind) -> Result<Own> {
    let either = |added: Vec<Losses>| added.into_iter().map(|losses| (0, losses)).collect();
    Ok(match kind {
        ChangeKind::Added => Own { added: either(walk.added()?), ..Own::default() },
        ChangeKind::Moved => Own { added: either(walk.added()?), moved: walk.moved()?, ..Own::default() },
        // A record is added or moved where one can be, and where none can be nothing changes.
        ChangeKind::Smallest => Own::default(),
    })
}

/// Entries that are tied admit no record, but so many changes at once.
fn of_tied<L: IntegerLaw>(mut walk: Walk<L>, times: u32, kind: ChangeKind) -> Result<Own> {
    if kind != ChangeKind::Smallest {
        return Ok(Own::default());
    }
    let mut smallest = (u64::from(times), walk.added()?);
    if smallest.1.is_empty() {
        smallest = (2 * u64::from(times), walk.moved()?);
    }
    Ok(Own { smallest: Some(smallest).filter(|(_, losses)| !losses.is_empty()), ..Own::default() })
}

/// Every two tables: of those that are alike up to what they lose one is kept.
fn of_tables(finite: &Finite, kind: ChangeKind) -> Own {
    match kind {
        ChangeKind::Added | ChangeKind::Moved => {
            let added = [-1, 1].into_iter().flat_map(|sign| {
                let losses = undominated(finite.each(|step| step.size == 1 && step.sum == sign));
                losses.into_iter().map(move |losses| (sign, losses))
            });
            let moved = finite.each(|step| step.size == 2 && step.sum == 0);
            Own { added: added.collect(), moved: undominated(moved), smallest: None }
        }
        ChangeKind::Smallest => {
            let least = finite.least();
            let of = |least| (least, undominated(finite.each(|step| step.size == least)));
            Own { smallest: least.map(of), ..Own::default() }
        }
    }
}

/// The losses of every change of a kind; none where there is no such change. `None`: they are not computed.
///
/// Errors: as [`Walk::new`] and [`Walk::moved`], and as [`lattice::moved`]; a scale beyond the law's range.
pub(super) fn of_changes<L: IntegerLaw>(
    parts: &[Part],
    noise: IntegerNoise,
    make: &dyn Fn(f64) -> Result<L>,
    kind: ChangeKind,
) -> Result<Option<Vec<Losses>>> {
    if kind == ChangeKind::Smallest {
        // As long as a record can be added or moved, that is the smallest change.
        for records in [ChangeKind::Added, ChangeKind::Moved] {
            let found = of_changes(parts, noise, make, records)?;
            if found.as_ref().is_none_or(|losses| !losses.is_empty()) {
                return Ok(found);
            }
        }
    }
    let Some(own) =
        parts.iter().map(|part| part.own(noise, make, kind)).collect::<Result<Option<Vec<_>>>>()?
    else {
        return Ok(None);
    };
    match kind {
        ChangeKind::Added => {
            Ok(Some(own.into_iter().flat_map(|own| own.added).map(|(_, losses)| losses).collect()))
        }
        ChangeKind::Moved => moved(own, parts),
        ChangeKind::Smallest => {
            let all: Vec<(u64, Vec<Losses>)> = own.into_iter().filter_map(|own| own.smallest).collect();
            let least = all.iter().map(|(size, _)| *size).min();
            let of_least = all.into_iter().filter(|(size, _)| Some(*size) == least);
            Ok(Some(of_least.flat_map(|(_, losses)| losses).collect()))
        }
    }
}

/// Pairs of losses of records that move between parts with inequalities.
const MOST_PAIRS: usize = 1_000_000;

/// A record moves within a part, and between two where it can be added in both; `None`: between too many tables of two.
///
/// Errors: more than 20,000 changes.
fn moved(own: Vec<Own>, parts: &[Part]) -> Result<Option<Vec<Losses>>> {
    let mut moved = Vec::new();
    let mut added: Vec<(usize, i64, Losses)> = Vec::new();
    for (part, own) in own.into_iter().enumerate() {
        added.extend(own.added.into_iter().map(|(sign, losses)| (part, sign, losses)));
        moved.extend(own.moved);
    }
    let mut pairs = 0;
    for (i, (part, sign, one)) in added.iter().enumerate() {
        let others = added[i..].iter().filter(|(other, to, _)| {
            // One count falls, the other rises.
            (other != part || parts[*part].many > 1) && sign * to <= 0
        });
        for (.., other) in others {
            pairs += one.listed_pairs(other);
            if pairs > MOST_PAIRS {
                return Ok(None);
            }
            moved.push(one.and(other));
            check_changes(moved.len())?;
        }
    }
    Ok(Some(moved))
}
