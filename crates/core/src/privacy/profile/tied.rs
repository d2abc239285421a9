//! Entries that equations tie to be equal or opposite, as the known total that they are.

use crate::invariant::{Component, Hierarchy};
use crate::lattice::Row;
use std::collections::HashMap;

/// The known total that a component is where entries are tied to be equal or opposite: as a tree, with the entries
/// that are tied to one.
pub(super) fn total(component: &Component) -> Option<(Hierarchy, u32)> {
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
