//! One column of a table: text by row, each name kept once.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::borrow::Cow;
use std::hash::BuildHasher;
use std::ops::Range;

/// Names of a column from which on it is taken for one of distinct names (ids), if every second row had a new one:
/// looking for them costs more than they take.
const MANY: usize = 1 << 17;

/// Texts behind each other: their bytes and four more each.
#[derive(Debug, Clone, Default)]
pub(super) struct Texts {
    bytes: Vec<u8>,
    /// The end of each, modulo 2^32.
    ends: Vec<u32>,
    /// The texts whose ends pass a multiple of 2^32.
    wraps: Vec<u32>,
}

impl Texts {
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    #[inline]
    pub fn push(&mut self, text: &[u8]) {
        let before = self.bytes.len() >> 32;
        self.bytes.extend_from_slice(text);
        for _ in before..self.bytes.len() >> 32 {
            self.wraps.push(self.ends.len() as u32);
        }
        self.ends.push(self.bytes.len() as u32);
    }

    #[inline]
    fn end(&self, i: usize) -> usize {
        let end = self.ends[i] as usize;
        if self.wraps.is_empty() {
            return end;
        }
        end + (self.wraps.partition_point(|&w| w as usize <= i) << 32)
    }

    #[inline]
    fn range(&self, i: usize) -> Range<usize> {
        if i == 0 { 0..self.end(0) } else { self.end(i - 1)..self.end(i) }
    }

    #[inline]
    pub fn bytes(&self, i: usize) -> &[u8] {
        &self.bytes[self.range(i)]
    }

    pub fn text(&self, i: usize) -> &str {
        std::str::from_utf8(self.bytes(i)).expect("readers check it")
    }

    fn retain(&mut self, keep: &[bool]) {
        let mut kept = Self::default();
        (0..self.len()).filter(|&i| keep[i]).for_each(|i| kept.push(self.bytes(i)));
        *self = kept;
    }
}

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
        if same(&self.names.bytes[self.last_bytes.clone()], name) && self.names.len() > 0 {
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

    /// The number of the empty name.
    pub fn empty(&self) -> Option<u32> {
        (0..self.names.len()).find(|&i| self.names.bytes(i).is_empty()).map(|i| i as u32)
    }
}

/// The values of one column.
#[derive(Debug, Clone)]
pub(super) enum Column {
    /// Nobody wants it.
    Skipped,
    /// Numbers of names, by row.
    Coded { codes: Vec<u32>, names: Names },
    /// Names by row, most of them distinct.
    Plain(Texts),
    /// Numbers by row; the texts of those that are not written as numbers are, by row.
    Integers { values: Vec<i64>, odd: Vec<u32>, texts: Texts },
}

impl Column {
    pub fn coded() -> Self {
        Self::Coded { codes: Vec::new(), names: Names::default() }
    }

    pub fn integers() -> Self {
        Self::Integers { values: Vec::new(), odd: Vec::new(), texts: Texts::default() }
    }

    /// Adds the value of the next row.
    #[inline]
    pub fn push(&mut self, text: &[u8]) {
        match self {
            Self::Skipped => {}
            Self::Plain(texts) => texts.push(text),
            Self::Coded { codes, names } => {
                codes.push(names.number(text));
                if names.names.len() >= MANY && names.names.len() > codes.len() / 2 {
                    let mut texts = Texts::default();
                    codes.iter().for_each(|&code| texts.push(names.names.bytes(code as usize)));
                    *self = Self::Plain(texts);
                }
            }
            Self::Integers { values, odd, texts } => match integer(text) {
                Some(value) => values.push(value),
                None => {
                    odd.push(values.len() as u32);
                    texts.push(text);
                    values.push(0);
                }
            },
        }
    }

    /// Adds it so many times, at least once.
    #[inline]
    pub fn push_times(&mut self, text: &[u8], times: usize) {
        self.push(text);
        match self {
            Self::Coded { codes, names } => codes.extend(std::iter::repeat_n(names.last, times - 1)),
            _ => (1..times).for_each(|_| self.push(text)),
        }
    }

    /// Adds a number, as if it were written, so many times.
    #[inline]
    pub fn push_integer(&mut self, value: i64, times: usize) {
        match self {
            Self::Integers { values, .. } => values.extend(std::iter::repeat_n(value, times)),
            _ => self.push_times(decimal(value, &mut [0; 20]), times),
        }
    }

    /// Nothing more comes.
    pub fn finish(&mut self) {
        if let Self::Coded { names, .. } = self {
            names.index = HashTable::new();
        }
    }

    pub fn text(&self, row: usize) -> Cow<'_, str> {
        match self {
            Self::Skipped => unreachable!("a column that was not asked for"),
            Self::Coded { codes, names } => names.names.text(codes[row] as usize).into(),
            Self::Plain(texts) => texts.text(row).into(),
            Self::Integers { values, odd, texts } => match odd.binary_search(&(row as u32)) {
                Ok(i) => texts.text(i).into(),
                Err(_) => values[row].to_string().into(),
            },
        }
    }

    /// By row: the number, or `None` where the text is none.
    pub fn parsed(&self, row: usize) -> Option<i64> {
        match self {
            Self::Integers { values, odd, texts } => match odd.binary_search(&(row as u32)) {
                Ok(i) => texts.text(i).parse().ok(),
                Err(_) => Some(values[row]),
            },
            _ => self.text(row).parse().ok(),
        }
    }

    /// By row: a number of its name, the same for the same names; and the number of the empty name.
    pub fn into_codes(self) -> (Vec<u32>, Option<u32>) {
        let rows = self.len();
        let (codes, names) = match self {
            Self::Coded { codes, names } => (codes, names),
            column => {
                let mut names = Names::default();
                let codes = (0..rows).map(|row| names.number(column.text(row).as_bytes())).collect();
                (codes, names)
            }
        };
        let empty = names.empty();
        (codes, empty)
    }

    pub fn len(&self) -> usize {
        match self {
            Self::Skipped => 0,
            Self::Coded { codes, .. } => codes.len(),
            Self::Plain(texts) => texts.len(),
            Self::Integers { values, .. } => values.len(),
        }
    }

    /// Keeps some rows.
    pub fn retain(&mut self, keep: &[bool]) {
        fn some<T>(values: &mut Vec<T>, keep: &[bool]) {
            let mut keep = keep.iter();
            values.retain(|_| *keep.next().expect("one for each row"));
        }
        match self {
            Self::Skipped => {}
            Self::Coded { codes, .. } => some(codes, keep),
            Self::Plain(texts) => texts.retain(keep),
            Self::Integers { values, odd, texts } => {
                let mut after: Vec<u32> = Vec::new();
                let mut kept_odd = Texts::default();
                let (mut kept, mut next) = (0, 0);
                for (row, &keep) in keep.iter().enumerate() {
                    let is_odd = odd.get(next) == Some(&(row as u32));
                    if keep && is_odd {
                        after.push(kept);
                        kept_odd.push(texts.bytes(next));
                    }
                    kept += u32::from(keep);
                    next += usize::from(is_odd);
                }
                (*odd, *texts) = (after, kept_odd);
                some(values, keep);
            }
        }
    }
}

/// A number as it is printed.
fn decimal(value: i64, place: &mut [u8; 20]) -> &[u8] {
    let (mut at, mut rest) = (place.len(), value.unsigned_abs());
    loop {
        at -= 1;
        place[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        at -= 1;
        place[at] = b'-';
    }
    &place[at..]
}

/// A number that is written as it would be printed.
#[inline]
fn integer(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let plain = match digits {
        [b'0'] => !negative,
        [b'1'..=b'9', ..] => digits.len() <= 18,
        _ => false,
    };
    if !plain {
        return None;
    }
    let mut value = 0i64;
    for digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = 10 * value + i64::from(digit);
    }
    Some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ends beyond 2^32 are told by where they pass it.
    #[test]
    fn ends_wrap() {
        let texts = Texts { bytes: Vec::new(), ends: vec![5, 3, 7, 1], wraps: vec![1, 3, 3] };
        let ends: Vec<usize> = (0..4).map(|i| texts.end(i)).collect();
        assert_eq!(ends, [5, (1 << 32) + 3, (1 << 32) + 7, (3 << 32) + 1]);
    }

    /// A column of distinct names, which then repeat: the same texts, the same rows alike.
    #[test]
    fn many_names() {
        let name = |i: usize| format!("n{}", i % (MANY + 100));
        let mut column = Column::coded();
        let rows = MANY + 3000;
        (0..rows).for_each(|i| column.push(name(i).as_bytes()));
        column.finish();
        assert!(matches!(column, Column::Plain(_)) && column.len() == rows);
        assert!((0..rows).all(|i| column.text(i) == name(i)));
        let keep: Vec<bool> = (0..rows).map(|i| i % 3 == 0).collect();
        column.retain(&keep);
        assert!((0..column.len()).all(|i| column.text(i) == name(3 * i)));
        let (codes, empty) = column.into_codes();
        let mut numbers: std::collections::HashMap<String, u32> = std::collections::HashMap::new();
        assert!(empty.is_none());
        assert!((0..codes.len()).all(|i| *numbers.entry(name(3 * i)).or_insert(codes[i]) == codes[i]));
        assert_eq!(numbers.values().collect::<std::collections::HashSet<_>>().len(), numbers.len());
    }

    /// Numbers are numbers only if they are printed as they are written.
    #[test]
    fn integers() {
        let texts =
            ["0", "-0", "7", "-7", "+7", "007", "", "2.5", "999999999999999999", "9223372036854775807"];
        let mut column = Column::integers();
        texts.iter().for_each(|text| column.push(text.as_bytes()));
        let check = |column: &Column, texts: &[&str]| {
            for (row, text) in texts.iter().enumerate() {
                assert_eq!((&*column.text(row), column.parsed(row)), (*text, text.parse().ok()));
            }
        };
        check(&column, &texts);
        let keep: Vec<bool> = (0..texts.len()).map(|i| i % 2 == 1).collect();
        column.retain(&keep);
        check(&column, &["-0", "-7", "007", "2.5", "9223372036854775807"]);
        for value in [0, 5, -5, i64::MIN, i64::MAX] {
            assert_eq!(decimal(value, &mut [0; 20]), value.to_string().as_bytes());
            assert_eq!(integer(value.to_string().as_bytes()).unwrap_or(value), value);
        }
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
