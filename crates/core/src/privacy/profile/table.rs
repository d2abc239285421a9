//! What integer noise on the entries of a table loses, given equations, for every change of one record.
//!
//! Entries that nothing ties together are looked at part by part: single entries, trees of entries and known totals
//! ([`super::tree`]), and totals of *tied* entries. In a table of two rows with both margins known `z_2j = -z_1j`: two
//! entries have the noise of one, with the square of its weight, and the row is a known total of those. Its smallest
//! change moves a record in one row and another back in the other.

use super::losses::Losses;
use super::noise::IntegerNoise;
use super::tree::Walk;
use crate::error::Result;
use crate::invariant::{Component, Hierarchy, Linear};
use crate::lattice::Row;
use crate::law::IntegerLaw;
use crate::privacy::ChangeKind;
use std::collections::HashMap;

/// The losses of every change of a kind. `None`: they are not computed under these equations, or there is no such change.
///
/// Errors: as [`Walk::new`] and [`Walk::moved`]; a scale beyond the law's range.
pub(super) fn of_changes<L: IntegerLaw>(
    invariant: &Linear,
    scale: f64,
    noise: IntegerNoise,
    make: &dyn Fn(f64) -> Result<L>,
    kind: ChangeKind,
) -> Result<Option<Vec<Losses>>> {
    let mut alike: HashMap<(usize, Vec<Row>), (Component, usize)> = HashMap::new();
    for component in invariant.components() {
        let key = (component.entries.len(), component.rows.clone());
        alike.entry(key).or_insert((component, 0)).1 += 1;
    }
    let mut parts: Vec<(Component, usize)> = alike.into_values().collect();
    parts.sort_by_key(|(component, _)| component.entries[0]);
    let Some(forms) = parts.iter().map(|(component, _)| form(component)).collect::<Option<Vec<_>>>() else {
        return Ok(None);
    };
    if kind == ChangeKind::Smallest {
        // As long as a record can be added or moved, that is the smallest change.
        for records in [ChangeKind::Added, ChangeKind::Moved] {
            let found = of_changes(invariant, scale, noise, make, records)?;
            if found.is_some() {
                return Ok(found);
            }
        }
    }
    let (mut added, mut moved) = (Vec::new(), Vec::new());
    let mut smallest: (u32, Vec<Losses>) = (u32::MAX, Vec::new());
    for (part, ((tree, times), (_, many))) in forms.iter().zip(&parts).enumerate() {
        let laws = vec![Some(make(noise.scale_of_power(scale, *times))?); tree.levels()];
        match (kind, times) {
            // Entries that are tied admit no record.
            (ChangeKind::Added | ChangeKind::Moved, 2..) => {}
            (ChangeKind::Added | ChangeKind::Moved, _) => {
                let mut walk = Walk::new(tree, &laws)?;
                added.extend(walk.added()?.into_iter().map(|losses| (losses, part, *many)));
                if kind == ChangeKind::Moved {
                    moved.extend(walk.moved()?);
                }
            }
            (ChangeKind::Smallest, _) => {
                let mut walk = Walk::new(tree, &laws)?;
                for (size, own) in [(*times, walk.added()?), (2 * times, walk.moved()?)] {
                    if !own.is_empty() && size < smallest.0 {
                        smallest = (size, Vec::new());
                    }
                    if size == smallest.0 {
                        smallest.1.extend(own);
                    }
                }
            }
        }
    }
    let found: Vec<Losses> = match kind {
        ChangeKind::Added => added.into_iter().map(|(losses, ..)| losses).collect(),
        ChangeKind::Smallest => smallest.1,
        // A record can move between parts, too, where it can be added in both.
        ChangeKind::Moved => {
            for (i, (one, part, many)) in added.iter().enumerate() {
                let others = added[i..].iter().filter(|(_, other, _)| other != part || *many > 1);
                moved.extend(others.map(|(other, ..)| one.and(other)));
            }
            moved
        }
    };
    Ok((!found.is_empty()).then_some(found))
}

/// The tree of a component, and how many of its entries each node stands for; `None` if it has none, and where a record
/// could be moved between entries that are tied.
fn form(component: &Component) -> Option<(Hierarchy, u32)> {
    if component.rows.is_empty() {
        return Some((Hierarchy::from_parents(&[0]).ok()?, 1));
    }
    match component.tree() {
        Some(tree) => Some((tree.hierarchy, 1)),
        None if component.equal_columns().iter().any(|(_, entries)| entries.len() > 1) => None,
        None => tied(component),
    }
}

/// The known total that a component is where entries are tied to be equal or opposite: as a tree, with the entries
/// that are tied to one.
fn tied(component: &Component) -> Option<(Hierarchy, u32)> {
    let n = component.entries.len();
    // By entry: the one that it is tied to, with the sign.
    let mut of: Vec<(usize, i64)> = (0..n).map(|entry| (entry, 1)).collect();
    let (ties, sums): (Vec<&Row>, Vec<&Row>) =
        component.rows.iter().partition(|row| row.len() == 2 && row.iter().all(|(_, a)| a.abs() == 1));
    for tie in ties {
        let [(i, a), (j, b)] = [0, 1].map(|k| (of[tie[k].0 as usize], tie[k].1));
        // a s_i z_i + b s_j z_j = 0.
        let sign = -a * b * i.1 * j.1;
        if i.0 == j.0 {
            if sign != 1 {
                return None;
            }
            continue;
        }
        let (from, to) = (j.0, i.0);
        of.iter_mut()
            .filter(|(entry, _)| *entry == from)
            .for_each(|(entry, own)| (*entry, *own) = (to, *own * sign));
    }
    let mut sizes: HashMap<usize, u32> = HashMap::new();
    of.iter().for_each(|(entry, _)| *sizes.entry(*entry).or_default() += 1);
    let times = *sizes.values().next()?;
    if sizes.values().any(|size| *size != times) {
        return None;
    }
    let mut total: Option<Vec<i64>> = None;
    for sum in sums {
        let mut own = vec![0; n];
        sum.iter().for_each(|&(entry, a)| own[of[entry as usize].0] += a * of[entry as usize].1);
        let Some(first) = own.iter().find(|a| **a != 0).copied() else { continue };
        own.iter_mut().for_each(|a| *a *= first.signum());
        let is_total = sizes.keys().all(|&entry| own[entry].abs() == first.abs());
        match &total {
            _ if !is_total => return None,
            Some(before) if *before != own => return None,
            _ => total = Some(own),
        }
    }
    if total.is_none() {
        // One entry, as it were, that nothing holds.
        return (sizes.len() == 1).then(|| Some((Hierarchy::from_parents(&[0]).ok()?, times))).flatten();
    }
    let parents = vec![0; sizes.len() + 1];
    let known = (0..parents.len()).map(|node| node == 0).collect();
    let tree = Hierarchy::from_parents(&parents).ok()?.with_known(known).ok()?;
    Some((tree, times))
}
