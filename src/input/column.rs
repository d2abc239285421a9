//! One column of a table: text by row, each name kept once.

use crate::table::Texts;
use hashbrown::{DefaultHashBuilder, HashTable};
use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher;
use std::ops::Range;

/// A name of digits without its leading zeros.
pub(super) fn without_zeros(name: &str) -> &str {
    let short = name.trim_start_matches('0');
    if short.is_empty() && !name.is_empty() { "0" } else { short }
}

/// Names of a column from which on it is taken for one of distinct names (ids), if every second row had a new one:
/// looking for them costs more than they take.
const MANY: usize = 1 << 17;

/// Whether two texts are equal: for short ones.
#[inline]
fn same(a: &[u8], b: &[u8]) -> bool {
    let word = |text: &[u8; 8]| u64::from_le_bytes(*text);
    match (a.first_chunk(), b.first_chunk(), a.last_chunk(), b.last_chunk()) {
        (Some(a1), Some(b1), Some(a2), Some(b2)) if a.len() <= 16 => {
            a.len() == b.len() && word(a1) == word(b1) && word(a2) == word(b2)
        }
        (None, None, ..) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a == b),
        _ => a == b,
    }
}

/// Numbers of names, from 0 in the order in which they came.
#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    names: Texts,
    index: HashTable<u32>,
    hasher: DefaultHashBuilder,
    last: u32,
    last_bytes: Range<usize>,
}

impl Names {
    /// The number of a name. No order or number depends on the hash.
    #[inline]
    pub fn number(&mut self, name: &[u8]) -> u32 {
        if same(&self.names.all()[self.last_bytes.clone()], name) && !self.names.is_empty() {
            return self.last;
        }
        let Self { names, index, hasher, last, last_bytes } = self;
        let entry = index.entry(
            hasher.hash_one(name),
            |&i| names.bytes(i as usize) == name,
            |&i| hasher.hash_one(names.bytes(i as usize)),
        );
        *last = match entry {
            hashbrown::hash_table::Entry::Occupied(entry) => *entry.get(),
            hashbrown::hash_table::Entry::Vacant(entry) => {
                let number = names.len() as u32;
                entry.insert(number);
                names.push(name);
                number
            }
        };
        *last_bytes = names.range(*last as usize);
        *last
    }

    pub fn into_texts(self) -> Texts {
        self.names
    }

    /// The number of the empty name.
    pub fn empty(&self) -> Option<u32> {
        (0..self.names.len()).find(|&i| self.names.bytes(i).is_empty()).map(|i| i as u32)
    }
}

/// The values of one column, which are UTF-8.
#[derive(Debug, Clone)]
pub(super) enum Column {
    /// Nobody wants it.
    Skipped,
    /// Numbers of names, by row.
    Coded { codes: Vec<u32>, names: Names },
    /// Texts by row: numbers, or names of which most are distinct.
    Plain(Texts),
}

impl Column {
    /// Adds the value of the next row so many times, at least once.
    #[inline]
    pub fn push(&mut self, text: &[u8], times: usize) {
        match self {
            Self::Skipped => {}
            Self::Plain(texts) => (0..times).for_each(|_| texts.push(text)),
            Self::Coded { codes, names } => {
                codes.extend(std::iter::repeat_n(names.number(text), times));
                if names.names.len() >= MANY && names.names.len() > codes.len() / 2 {
                    let mut texts = Texts::default();
                    codes.iter().for_each(|&code| texts.push(names.names.bytes(code as usize)));
                    *self = Self::Plain(texts);
                }
            }
        }
    }

    /// Ends the column: nothing more comes.
    pub fn finish(&mut self) {
        if let Self::Coded { names, .. } = self {
            names.index = HashTable::new();
        }
    }

    #[inline]
    pub fn text(&self, row: usize) -> &str {
        match self {
            Self::Skipped => unreachable!("a column that was not asked for"),
            Self::Coded { codes, names } => &names.names[codes[row] as usize],
            Self::Plain(texts) => &texts[row],
        }
    }

    /// By row: a number of its name, the same for the same names; and the number of the empty name.
    pub fn into_codes(self) -> (Vec<u32>, Option<u32>) {
        let (codes, names) = match self {
            Self::Skipped => unreachable!("a column that was not asked for"),
            Self::Coded { codes, names } => (codes, names),
            Self::Plain(texts) => {
                let mut names = Names::default();
                ((0..texts.len()).map(|row| names.number(texts.bytes(row))).collect(), names)
            }
        };
        let empty = names.empty();
        (codes, empty)
    }

    /// Names of digits, without leading zeros, of which there are several that differ in these alone.
    pub fn lost_zeros(&self) -> HashSet<String> {
        let names: &Texts = match self {
            Self::Skipped => unreachable!("a column that was not asked for"),
            Self::Coded { names, .. } => &names.names,
            Self::Plain(texts) => texts,
        };
        let digits =
            |i: &usize| names.bytes(*i).iter().all(u8::is_ascii_digit) && !names.bytes(*i).is_empty();
        let mut lengths = (0..names.len()).filter(digits).map(|i| names.bytes(i).len());
        let first = lengths.next();
        if lengths.all(|length| Some(length) == first) {
            return HashSet::new();
        }
        // Only beside a name that begins with 0 can one be another's.
        let padded =
            (0..names.len()).filter(digits).filter(|&i| names[i].len() > 1 && names[i].starts_with('0'));
        let mut texts: HashMap<&str, &str> = HashMap::new();
        let mut suspects = HashSet::new();
        let mut see = |short, name| {
            if *texts.entry(short).or_insert(name) != name {
                suspects.insert(str::to_owned(short));
            }
        };
        padded.clone().for_each(|i| see(without_zeros(&names[i]), &names[i]));
        let padded: HashSet<&str> = padded.map(|i| without_zeros(&names[i])).collect();
        (0..names.len()).filter(|&i| padded.contains(&names[i])).for_each(|i| see(&names[i], &names[i]));
        suspects
    }

    /// Keeps some rows, in this order.
    pub fn select(&mut self, rows: &[u32]) {
        match self {
            Self::Skipped => {}
            Self::Coded { codes, .. } => *codes = rows.iter().map(|&row| codes[row as usize]).collect(),
            Self::Plain(texts) => texts.select(rows),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A column of distinct names, which then repeat: the same texts, the same rows alike.
    #[test]
    fn many_names() {
        let name = |i: usize| format!("n{}", i % (MANY + 100));
        let mut column = Column::Coded { codes: Vec::new(), names: Names::default() };
        let rows = MANY + 3000;
        (0..rows).for_each(|i| column.push(name(i).as_bytes(), 1));
        column.finish();
        assert!(matches!(&column, Column::Plain(texts) if texts.len() == rows));
        assert!((0..rows).all(|i| column.text(i) == name(i)));
        let keep: Vec<u32> = (0..rows as u32).filter(|i| i % 3 == 0).collect();
        column.select(&keep);
        assert!((0..keep.len()).all(|i| column.text(i) == name(3 * i)));
        let (codes, empty) = column.into_codes();
        let mut numbers: std::collections::HashMap<String, u32> = std::collections::HashMap::new();
        assert!(empty.is_none() && codes.len() == keep.len());
        assert!((0..codes.len()).all(|i| *numbers.entry(name(3 * i)).or_insert(codes[i]) == codes[i]));
        assert_eq!(numbers.values().collect::<std::collections::HashSet<_>>().len(), numbers.len());
    }

    #[test]
    fn short_texts_are_the_same_if_equal() {
        let texts: Vec<String> = (0..20)
            .flat_map(|n| [0, n / 2].map(|at| (0..n).map(|i| if i == at { 'b' } else { 'a' }).collect()))
            .collect();
        for a in &texts {
            for b in &texts {
                assert_eq!(same(a.as_bytes(), b.as_bytes()), a == b, "{a} {b}");
            }
        }
    }
}
