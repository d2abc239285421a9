//! Which columns contain which: hierarchies, and what crosses them.

use super::super::CsvTable;
use super::columns::{Kind, Seen};
use hashbrown::{HashMap, HashSet};

/// Share of all pairs of values from which on two columns cross, where neither tells the other.
const CROSSED: f64 = 0.5;

/// Columns that name a row, in an order.
pub(super) struct Order {
    /// Whether they are levels of a hierarchy: those of a chain, coarse to fine, and behind them what crosses it.
    pub nested: bool,
    /// Whether they are two columns of which all pairs are there.
    pub margins: bool,
    /// How many are of the chain.
    pub chain: usize,
    pub keys: Vec<Seen>,
}

/// How many pairs of values stand in a row.
fn pairs(one: &[u32], other: &[u32]) -> usize {
    one.iter().zip(other).collect::<HashSet<_>>().len()
}

/// Whether every value of `of` has one value of `one`.
pub(super) fn follows(one: &Seen, of: &Seen) -> bool {
    pairs(&one.numbers, &of.numbers) == of.values
}

/// By row, the number of its group: rows that agree in all columns; and the number of groups.
fn groups<'a>(columns: impl IntoIterator<Item = &'a [u32]>, rows: usize) -> (Vec<u32>, usize) {
    let (mut groups, mut all) = (vec![0u32; rows], usize::from(rows > 0));
    for column in columns {
        if all == rows {
            break;
        }
        let mut numbers: HashMap<(u32, u32), u32> = HashMap::new();
        for (group, &number) in groups.iter_mut().zip(column) {
            let next = numbers.len() as u32;
            *group = *numbers.entry((*group, number)).or_insert(next);
        }
        all = numbers.len();
    }
    (groups, all)
}

fn groups_of(keys: &[Seen]) -> (Vec<u32>, usize) {
    let rows = keys.first().map_or(0, |key| key.numbers.len());
    groups(keys.iter().map(|key| &key.numbers[..]), rows)
}

/// Whether no two rows agree in all columns.
pub(super) fn tell_apart(keys: &[Seen]) -> bool {
    keys.first().is_some_and(|key| groups_of(keys).1 == key.numbers.len())
}

/// The first row that agrees with one above in all columns, and that one.
pub(super) fn repeated(keys: &[Seen]) -> Option<(usize, usize)> {
    let mut first: HashMap<u32, usize> = HashMap::new();
    let groups = groups_of(keys).0;
    groups.iter().enumerate().find_map(|(row, group)| {
        let before = *first.entry(*group).or_insert(row);
        (before < row).then_some((row, before))
    })
}

/// Two columns whose pairs of values are the values of `key`.
pub(super) fn joined<'a>(key: &Seen, others: &'a [Seen]) -> Option<(&'a Seen, &'a Seen)> {
    let above: Vec<&Seen> =
        others.iter().filter(|one| one.values < key.values && follows(one, key)).collect();
    let mut two =
        above.iter().enumerate().flat_map(|(i, one)| above[i + 1..].iter().map(move |other| (*one, *other)));
    two.find(|(one, other)| pairs(&one.numbers, &other.numbers) == key.values)
}

/// Whether the values of a column are parts of those of a coarser one: each has one there; or few of the pairs are there,
/// most under one name, as names of counties that several states have; of places, whose names say which are small, more.
fn contains(coarse: &Seen, fine: &Seen) -> bool {
    if coarse.values > fine.values {
        return false;
    }
    let (found, all) =
        (pairs(&coarse.numbers, &fine.numbers) as f64, coarse.values as f64 * fine.values as f64);
    let fewer = coarse.values < fine.values;
    if fewer && found as usize == fine.values {
        return true;
    }
    let several = found / fine.values as f64;
    match (coarse.place_rank(), fine.place_rank()) {
        (Some(large), Some(small)) if large < small => {
            found < CROSSED * all || (found < all && several < 2.0)
        }
        (Some(_), Some(_)) => false,
        _ => fewer && found < CROSSED * all && several <= (coarse.values as f64 / 20.0).max(2.0),
    }
}

/// The longest chain in which each column contains the next, by places in `keys`, which stand few values first. Of
/// several as long the one with fewer codes, then with more names of places, then the one that ends finest.
fn chain(keys: &[Seen]) -> Vec<usize> {
    // By column, the best chain that ends with it.
    let mut best: Vec<Vec<usize>> = Vec::new();
    let worth = |chain: &[usize]| {
        let of = |is: fn(&Seen) -> bool| chain.iter().filter(|&&i| is(&keys[i])).count();
        let (codes, places) = (of(|key| key.kind != Kind::Text), of(|key| key.place_rank().is_some()));
        (chain.len(), usize::MAX - codes, places, chain.last().map_or(0, |&i| keys[i].values))
    };
    for i in 0..keys.len() {
        let longer = (0..i).filter(|&j| contains(&keys[j], &keys[i])).map(|j| best[j].clone());
        let mut chain = longer.max_by_key(|chain| worth(chain)).unwrap_or_default();
        chain.push(i);
        best.push(chain);
    }
    // Of equals the first.
    best.into_iter().rev().max_by_key(|chain| worth(chain)).unwrap_or_default()
}

/// Columns beyond which no chain is looked for.
const MOST: usize = 40;

/// Puts the columns that tell rows apart in an order. A chain of columns that contain each other is a hierarchy: what
/// follows from it is left out, and what crosses it comes behind, few values first; as do all columns without a chain.
pub(super) fn order(table: &CsvTable, mut keys: Vec<Seen>, left_out: &mut Vec<(String, String)>) -> Order {
    keys.sort_by_key(|key| key.values);
    let margins = keys.len() == 2 && keys[0].values * keys[1].values == table.len();
    if margins || keys.len() > MOST {
        return Order { nested: keys.len() == 1, margins, chain: 0, keys };
    }
    let chain = chain(&keys);
    if chain.len() == 1 && keys.len() > 1 {
        return Order { nested: false, margins, chain: 0, keys };
    }
    let (mut levels, mut attributes) = (Vec::new(), Vec::new());
    for (i, key) in keys.into_iter().enumerate() {
        if chain.contains(&i) { levels.push(key) } else { attributes.push(key) }
    }
    // Smaller places that are numbered anew in each larger one.
    let last = levels.last().and_then(Seen::place_rank);
    let (mut smaller, attributes): (Vec<Seen>, Vec<Seen>) =
        attributes.into_iter().partition(|key| last.is_some() && key.place_rank() > last);
    let (leaves, all) = groups_of(&levels);
    let follows_from = |key: &Seen, leaves: &[u32], all: usize| pairs(&key.numbers, leaves) == all;
    smaller.retain(|key| {
        let stays = !follows_from(key, &leaves, all);
        if !stays {
            left_out.push((table.columns[key.place].clone(), "follows from a level".to_owned()));
        }
        stays
    });
    smaller.sort_by_key(Seen::place_rank);
    levels.extend(smaller);
    let (leaves, all) = groups_of(&levels);
    let finest = levels.last().map_or(String::new(), |key| format!("`{}`", table.columns[key.place]));
    let chain = levels.len();
    for attribute in attributes {
        if follows_from(&attribute, &leaves, all) {
            left_out.push((table.columns[attribute.place].clone(), format!("follows from {finest}")));
        } else {
            levels.push(attribute);
        }
    }
    Order { nested: true, margins, chain, keys: levels }
}

/// Columns whose pairs of values are those of the records, finest first.
pub(in crate::input) struct Bundle {
    pub(in crate::input) places: Vec<usize>,
    /// Whether so few records stand for a value that columns may follow from each other by chance.
    pub(in crate::input) doubtful: bool,
}

/// Records for each value of a column from which on another column does not follow from it by chance.
const SURE: usize = 20;

/// Columns of a table, those together of which one follows from the other, or that are named as places one in another: names of
/// counties may stand in several states.
pub(in crate::input) fn bundles(table: &CsvTable, places: &[usize]) -> Vec<Bundle> {
    let keys: Vec<Seen> = places.iter().map(|&place| Seen::of(table, place)).collect();
    let mut of: Vec<usize> = (0..keys.len()).collect();
    let mut doubtful = vec![false; keys.len()];
    for i in 0..keys.len() {
        for j in 0..i {
            let named = keys[i].place_rank().is_some() && keys[j].place_rank().is_some();
            let tied = |one: &Seen, other: &Seen| {
                other.values > 1 && (follows(one, other) || (named && contains(one, other)))
            };
            if keys[i].values > 1 && (tied(&keys[i], &keys[j]) || tied(&keys[j], &keys[i])) {
                let few = table.len() < SURE * keys[i].values.max(keys[j].values);
                let (from, to) = (of[i].max(of[j]), of[i].min(of[j]));
                of.iter_mut().filter(|bundle| **bundle == from).for_each(|bundle| *bundle = to);
                doubtful[to] |= doubtful[from] || (few && !named);
            }
        }
    }
    let firsts = (0..keys.len()).filter(|&i| of[i] == i);
    let bundle = |first: usize| {
        let mut places: Vec<usize> = (0..keys.len()).filter(|&i| of[i] == first).collect();
        places.sort_by_key(|&i| std::cmp::Reverse(keys[i].values));
        Bundle { places, doubtful: doubtful[first] }
    };
    firsts.map(bundle).collect()
}
