//! Whether the change that a ledger protects is possible at all under the counts that are given as they are.

use super::entry::{Known, Protects};
use crate::failure::{Failure, Result};
use hashbrown::HashMap;
use std::hash::BuildHasher;

/// Refuses a release after which no change of the kind that is protected would leave all known counts of the ledger as they are: a loss for
/// a change that cannot be says nothing.
///
/// - `columns`: those of the leaves; `leaves`: the values of each, in that order. Rows with the same values are one leaf.
/// - `before`: the known counts of the releases so far ([`History::known`](super::History::known)); `now`: those of this release.
///
/// A leaf *agrees* with a known count if it has its values in the columns that both have; without a common column every leaf agrees.
/// `moved` is possible if two leaves agree with the same known counts: a unit goes from one to the other, and whatever else is known of it
/// stays. `added` is possible if some leaf agrees with none.
///
/// This refuses more than it must where releases have different columns: a count of women in a zone is left alone by a man who leaves it,
/// but leaves by zone alone do not say who he is. It looks at this release's leaves alone.
///
/// Takes a look-up for each column of a leaf, and one for each set of columns that known counts have in common with the leaves.
pub fn possible<'a, L, V>(
    columns: &[&str],
    leaves: impl IntoIterator<Item = L>,
    before: impl IntoIterator<Item = &'a Known>,
    now: &'a [Known],
    protects: Protects,
) -> Result<()>
where
    L: AsRef<[V]>,
    V: AsRef<str>,
{
    let agreements = Agreements::new(columns, before.into_iter().chain(now));
    // Of every signature the leaf that had it first, by a hash: two leaves of one hash are taken for one, so that this refuses.
    let mut seen: HashMap<Box<[u32]>, u64> = HashMap::new();
    let hashes = seen.hasher().clone();
    let (mut ids, mut key, mut signature) = (Vec::new(), Vec::new(), Vec::new());
    let mut number = 0u64;
    for leaf in leaves {
        let leaf = leaf.as_ref();
        number += 1;
        agreements.of(leaf, &mut ids, &mut key, &mut signature);
        match protects {
            Protects::Added if signature.iter().all(|place| *place == NONE) => return Ok(()),
            Protects::Added => {}
            Protects::Moved => {
                let hash = leaf.iter().fold(0, |hash: u64, value| hashes.hash_one((hash, value.as_ref())));
                match seen.get(&signature[..]) {
                    Some(first) if *first != hash => return Ok(()),
                    Some(_) => {}
                    None => drop(seen.insert(signature.as_slice().into(), hash)),
                }
            }
        }
    }
    let message = match protects {
        Protects::Moved => format!(
            "no unit could be moved: any two of the {number} leaves are told apart by a count that is known from this release or \
             one before. \
             What it pays would protect nobody: want fewer known counts"
        ),
        Protects::Added => format!(
            "no unit could be added or removed: each of the {number} leaves is in a count that is known from this release or one \
             before. What \
             it pays would protect nobody: want a ledger of units that are moved, or a leaf outside of all known counts"
        ),
    };
    Err(Failure::Usage(message))
}

/// Nothing that is known has this value; none of these known counts agrees.
const NONE: u32 = 0;

/// Columns of the leaves, and numbers by values there.
type Group = (Vec<usize>, HashMap<Box<[u32]>, u32>);

/// Which known counts agree with a leaf.
struct Agreements {
    /// By column of the leaves: the values that known counts have there, numbered from 1.
    values: Vec<HashMap<String, u32>>,
    /// By the columns that known counts have in common with the leaves: their values there, numbered from 1. Those with the same values
    /// agree with the same leaves.
    groups: Vec<Group>,
}

impl Agreements {
    fn new<'a>(columns: &[&str], known: impl Iterator<Item = &'a Known>) -> Self {
        let mut values = vec![HashMap::<String, u32>::new(); columns.len()];
        let mut places: HashMap<Vec<usize>, usize> = HashMap::new();
        let mut groups: Vec<Group> = Vec::new();
        for count in known {
            let (mut common, mut key) = (Vec::new(), Vec::new());
            for (i, column) in columns.iter().enumerate() {
                let Some(value) = count.get(*column) else { continue };
                let next = values[i].len() as u32 + 1;
                common.push(i);
                key.push(*values[i].entry(value.clone()).or_insert(next));
            }
            let place = *places.entry(common.clone()).or_insert(groups.len());
            if place == groups.len() {
                groups.push((common, HashMap::new()));
            }
            let group = &mut groups[place].1;
            let next = group.len() as u32 + 1;
            group.entry(key.into()).or_insert(next);
        }
        Self { values, groups }
    }

    /// The signature of a leaf: of each group the number of those that agree.
    fn of<V: AsRef<str>>(
        &self,
        leaf: &[V],
        ids: &mut Vec<u32>,
        key: &mut Vec<u32>,
        signature: &mut Vec<u32>,
    ) {
        ids.clear();
        let id =
            |(values, own): (&HashMap<String, u32>, &V)| values.get(own.as_ref()).copied().unwrap_or(NONE);
        ids.extend(self.values.iter().zip(leaf).map(id));
        signature.clear();
        for (columns, group) in &self.groups {
            key.clear();
            key.extend(columns.iter().map(|&i| ids[i]));
            signature.push(group.get(&key[..]).copied().unwrap_or(NONE));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(values: &[(&str, &str)]) -> Known {
        values.iter().map(|(column, value)| ((*column).to_owned(), (*value).to_owned())).collect()
    }

    /// The definition, pair by pair.
    fn by_pairs(columns: &[&str], leaves: &[Vec<String>], known: &[Known], protects: Protects) -> bool {
        let agrees = |leaf: &Vec<String>, count: &Known| {
            columns.iter().zip(leaf).all(|(column, value)| count.get(*column).is_none_or(|own| own == value))
        };
        let signature =
            |leaf: &Vec<String>| known.iter().map(|count| agrees(leaf, count)).collect::<Vec<bool>>();
        match protects {
            Protects::Added => leaves.iter().any(|leaf| signature(leaf).iter().all(|agrees| !agrees)),
            Protects::Moved => {
                let other = |a: &Vec<String>| leaves.iter().any(|b| a != b && signature(a) == signature(b));
                leaves.iter().any(other)
            }
        }
    }

    #[test]
    fn changes_by_hand() {
        let leaves = [["a", "1"], ["a", "2"], ["b", "1"]];
        let of = |before: &[Known], now: &[Known], protects| {
            possible(&["zone", "age"], leaves, before, now, protects).map_err(|e| e.to_string())
        };
        let (total, a, one) = (known(&[]), known(&[("zone", "a")]), known(&[("age", "1")]));
        assert!(of(&[], &[], Protects::Added).is_ok());
        let refused = of(&[], std::slice::from_ref(&total), Protects::Added).unwrap_err();
        assert!(refused.starts_with("no unit could be added or removed: each of the 3 leaves"), "{refused}");
        // b is outside of a.
        assert!(of(&[], std::slice::from_ref(&a), Protects::Added).is_ok());
        assert!(of(std::slice::from_ref(&total), std::slice::from_ref(&a), Protects::Moved).is_ok());
        // Together they tell all apart.
        let refused = of(std::slice::from_ref(&one), std::slice::from_ref(&a), Protects::Moved).unwrap_err();
        assert!(refused.starts_with("no unit could be moved: any two of the 3 leaves"), "{refused}");
        // A count with a column that the leaves do not have: by what is common, or all.
        assert!(of(std::slice::from_ref(&one), &[known(&[("sex", "f")])], Protects::Moved).is_ok());
        assert!(
            of(std::slice::from_ref(&one), &[known(&[("sex", "f"), ("zone", "a")])], Protects::Moved)
                .is_err()
        );
        assert!(of(&[], &[known(&[("sex", "f")])], Protects::Added).is_err());
        // One leaf alone, however often, goes nowhere.
        assert!(possible(&["zone"], [["a"], ["a"]], &[], &[], Protects::Moved).is_err());
        assert!(possible(&["zone"], [["a"], ["b"]], &[], &[], Protects::Moved).is_ok());
    }

    /// All sets of up to four known counts of two columns and a strange one, beside the definition.
    #[test]
    fn changes_are_those_of_the_definition() {
        let columns = ["zone", "age"];
        let texts = ["a", "b", "c"];
        let leaves: Vec<Vec<String>> =
            (0..9).map(|i| vec![texts[i / 3].to_owned(), texts[i % 3].to_owned()]).collect();
        let mut counts = vec![known(&[]), known(&[("sex", "f")]), known(&[("sex", "f"), ("zone", "b")])];
        for text in ["a", "b", "d"] {
            counts.extend([known(&[("zone", text)]), known(&[("age", text)])]);
            counts.push(known(&[("zone", text), ("age", "a")]));
        }
        let mut refused = 0;
        for set in 0..1u32 << counts.len() {
            let some = |leaves: &[Vec<String>], protects| {
                let own: Vec<Known> =
                    (0..counts.len()).filter(|i| set >> i & 1 == 1).map(|i| counts[i].clone()).collect();
                let (before, now) = own.split_at(own.len() / 2);
                let found = possible(&columns, leaves, before, now, protects).is_ok();
                assert_eq!(found, by_pairs(&columns, leaves, &own, protects), "{own:?} {protects:?}");
                u32::from(!found)
            };
            for protects in [Protects::Moved, Protects::Added] {
                refused += some(&leaves, protects) + some(&leaves[..4], protects);
            }
        }
        assert!(refused > 300, "{refused}");
    }
}
