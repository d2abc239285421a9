//! Options of methods: their kinds, ranges and defaults, and their values.

use super::own::Own;
use crate::exact::Source;
use crate::invariant::{Linear, dependent_entries};
use crate::kernel::{Start, StepLaw};
use crate::lattice::BasisKind;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// What is known of an option.
#[derive(Debug, Clone, Copy)]
pub struct OptionFacts {
    /// The key of the option in configs.
    pub key: &'static str,
    /// What the option is, in a few words.
    pub meaning: &'static str,
    /// The values that the option takes.
    pub kind: Kind,
    /// Whether the option is the length of a chain: an option of releases, not of coupled chains, which run until they
    /// meet.
    pub length: bool,
    /// Whether a name that is its default is no part of what a cell is.
    pub is_silent: bool,
}

/// The values of an option, with its default.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// `true` or `false` (default).
    Flag,
    /// Integers from 1.
    Count(u64),
    /// Integers of a range.
    Between {
        /// The least.
        least: u64,
        /// The largest.
        most: u64,
        /// What it is if the config does not say.
        default: u64,
    },
    /// Finite numbers above `above` (or from it, if `closed`) to `most`.
    Number {
        /// Lower end.
        above: f64,
        /// Whether the lower end belongs to the range.
        closed: bool,
        /// Upper end, which belongs to the range; infinite for none.
        most: f64,
        /// What it is if the config does not say; `None` if the method knows better.
        default: Option<f64>,
    },
    /// One of these names, the default first.
    Name(&'static [&'static str]),
    /// One of these names, the default first, or some entries by number.
    NameOrEntries(&'static [&'static str]),
    /// A method that is not ours with all that belongs to it; none by default.
    Own,
}

/// A value of an option.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// The value of a flag.
    Flag(bool),
    /// The value of a count.
    Count(u64),
    /// The value of a number.
    Number(f64),
    /// The value of a name.
    Name(&'static str),
    /// Some entries by number.
    Entries(Entries),
    /// A method that is not ours.
    Own(Own),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Count(n) => write!(f, "{n}"),
            // The fewest digits that give it back: part of a cell's key.
            Self::Number(x) => write!(f, "{x:?}"),
            Self::Name(name) => f.write_str(name),
            Self::Entries(entries) => entries.fmt(f),
            Self::Own(own) => own.fmt(f),
        }
    }
}

impl OptionFacts {
    /// The value if the config does not say.
    pub fn default(&self) -> Option<Value> {
        match self.kind {
            Kind::Flag => Some(Value::Flag(false)),
            Kind::Count(n) | Kind::Between { default: n, .. } => Some(Value::Count(n)),
            Kind::Number { default, .. } => default.map(Value::Number),
            Kind::Name(names) | Kind::NameOrEntries(names) => Some(Value::Name(names[0])),
            Kind::Own => None,
        }
    }

    /// The value as a part of what a cell is: a flag and a name have one always, unless the default is silent.
    pub(super) fn normal(&self, value: Option<Value>) -> Option<Value> {
        match self.kind {
            Kind::Flag => value.or(Some(Value::Flag(false))),
            Kind::Name(names) | Kind::NameOrEntries(names) if self.is_silent => {
                value.filter(|value| *value != Value::Name(names[0]))
            }
            Kind::Name(names) | Kind::NameOrEntries(names) => value.or(Some(Value::Name(names[0]))),
            Kind::Count(_) | Kind::Between { .. } | Kind::Number { .. } | Kind::Own => value,
        }
    }

    /// The value, if it is one of the option.
    pub fn fits(&self, given: &Given) -> Option<Value> {
        match (self.kind, given) {
            (Kind::Flag, Given::Flag(flag)) => Some(Value::Flag(*flag)),
            (Kind::Count(_), Given::Integer(n)) => {
                u64::try_from(*n).ok().filter(|&n| n > 0).map(Value::Count)
            }
            (Kind::Between { least, most, .. }, Given::Integer(n)) => {
                u64::try_from(*n).ok().filter(|n| (least..=most).contains(n)).map(Value::Count)
            }
            (Kind::Number { above, closed, most, .. }, Given::Integer(_) | Given::Number(_)) => {
                let x = if let Given::Integer(n) = given { *n as f64 } else { given.number()? };
                let low = if closed { x >= above } else { x > above };
                (x.is_finite() && low && x <= most).then_some(Value::Number(x))
            }
            (Kind::NameOrEntries(_), Given::Entries(numbers)) => Entries::new(numbers).map(Value::Entries),
            (Kind::Name(names) | Kind::NameOrEntries(names), Given::Text(text)) => {
                names.iter().find(|name| **name == text.as_str()).map(|name| Value::Name(name))
            }
            _ => None,
        }
    }

    /// What is wanted of a value, in words.
    pub fn wanted(&self) -> String {
        match self.kind {
            Kind::Flag => "want true or false".into(),
            Kind::Count(_) => "want an integer >= 1".into(),
            Kind::Between { least, most, .. } => format!("want an integer from {least} to {most}"),
            Kind::Number { above, closed: false, most, .. } if most == f64::INFINITY => {
                format!("want a finite number > {above}")
            }
            Kind::Number { above, closed, most, .. } => {
                format!("want a number in {}{above}, {most}]", if closed { '[' } else { '(' })
            }
            Kind::Name(names) => format!("want {}", either(names)),
            Kind::NameOrEntries(names) => {
                format!("want {}, or a list of entries by number, from 1, each once", either(names))
            }
            Kind::Own => "want a command, or the name of a method that was registered".into(),
        }
    }
}

/// A value as a config gives it.
#[derive(Debug, Clone, PartialEq)]
pub enum Given {
    /// `true` or `false`.
    Flag(bool),
    /// An integer.
    Integer(i64),
    /// A number with a point.
    Number(f64),
    /// A text.
    Text(String),
    /// A list of integers.
    Entries(Vec<i64>),
}

impl Given {
    fn number(&self) -> Option<f64> {
        if let Self::Number(x) = self { Some(*x) } else { None }
    }
}

impl fmt::Display for Given {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Integer(n) => write!(f, "{n}"),
            Self::Number(x) => write!(f, "{x}"),
            Self::Text(text) => write!(f, "`{text}`"),
            Self::Entries(numbers) => write!(f, "{numbers:?}"),
        }
    }
}

/// A type of values of an option.
pub trait OptionValue: Copy {
    /// Reads the value; without one, or with one of a kind that the option does not have, gives the type's own default.
    fn read(value: Option<Value>) -> Self;
}

impl OptionValue for bool {
    fn read(value: Option<Value>) -> Self {
        value == Some(Value::Flag(true))
    }
}

impl OptionValue for Option<u64> {
    fn read(value: Option<Value>) -> Self {
        if let Some(Value::Count(n)) = value { Some(n) } else { None }
    }
}

impl OptionValue for Option<f64> {
    fn read(value: Option<Value>) -> Self {
        if let Some(Value::Number(x)) = value { Some(x) } else { None }
    }
}

impl OptionValue for f64 {
    fn read(value: Option<Value>) -> Self {
        Option::<f64>::read(value).unwrap_or(f64::NAN)
    }
}

impl OptionValue for Option<Own> {
    fn read(value: Option<Value>) -> Self {
        if let Some(Value::Own(own)) = value { Some(own) } else { None }
    }
}

/// Names of what an option chooses among, the default first.
macro_rules! names {
    ($type:ty: $($name:literal = $value:path),*) => {
        impl OptionValue for $type {
            fn read(value: Option<Value>) -> Self {
                let all = [$(($name, $value)),*];
                all.into_iter().find(|(name, _)| value == Some(Value::Name(name))).unwrap_or(all[0]).1
            }
        }
    };
}

names!(BasisKind: "smith" = BasisKind::Smith, "reduced" = BasisKind::Reduced);
names!(Source: "equations" = Source::Equations, "unconstrained" = Source::Unconstrained);
names!(Start: "over-dispersed" = Start::OverDispersed, "free-noise" = Start::FreeNoise, "published" = Start::Published);
names!(StepLaw: "normal" = StepLaw::Normal, "laplace" = StepLaw::Laplace, "integer" = StepLaw::Integer);

/// Entries of a table by number, from 1, in ascending order; as a text joined by `+`. Equal lists are equal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Entries(&'static [u32]);

/// Every list that was made, kept for good: configs name few.
static LISTS: Mutex<BTreeSet<&'static [u32]>> = Mutex::new(BTreeSet::new());

impl Entries {
    /// The entries of these numbers, in any order. `None` for an empty list, a number below 1, one twice.
    pub fn new(numbers: &[i64]) -> Option<Self> {
        let mut all =
            numbers.iter().map(|&n| u32::try_from(n).ok().filter(|&n| n > 0)).collect::<Option<Vec<_>>>()?;
        all.sort_unstable();
        if all.is_empty() || all.windows(2).any(|pair| pair[0] == pair[1]) {
            return None;
        }
        let mut lists = LISTS.lock().unwrap_or_else(PoisonError::into_inner);
        let known = lists.get(&all[..]).copied();
        Some(Self(known.unwrap_or_else(|| {
            let list: &'static [u32] = Vec::leak(all);
            lists.insert(list);
            list
        })))
    }

    /// The numbers, from 1.
    pub fn numbers(self) -> &'static [u32] {
        self.0
    }
}

impl fmt::Display for Entries {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0.iter().map(u32::to_string).collect::<Vec<_>>().join("+"))
    }
}

impl fmt::Debug for Entries {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Which entries `mis` solves for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SolveFor {
    /// The last ones with independent columns.
    #[default]
    Last,
    /// The first ones with independent columns.
    First,
    /// Those with the largest counts.
    Largest,
    /// Those with the smallest counts.
    Smallest,
    /// These.
    Listed(Entries),
}

impl OptionValue for SolveFor {
    fn read(value: Option<Value>) -> Self {
        match value {
            Some(Value::Name("first")) => Self::First,
            Some(Value::Name("largest")) => Self::Largest,
            Some(Value::Name("smallest")) => Self::Smallest,
            Some(Value::Entries(entries)) => Self::Listed(entries),
            _ => Self::Last,
        }
    }
}

impl SolveFor {
    /// The entries in the order in which they are taken; `None` for the last ones. Errors: see [`SolveFor::dependent`].
    pub fn order(self, invariant: &Linear, counts: &[i64]) -> crate::Result<Option<Vec<usize>>> {
        let mut order: Vec<usize> = (0..counts.len()).collect();
        match self {
            Self::Last => return Ok(None),
            Self::First => {}
            Self::Largest => order.sort_by_key(|&entry| std::cmp::Reverse(counts[entry])),
            Self::Smallest => order.sort_by_key(|&entry| counts[entry]),
            Self::Listed(entries) => {
                let listed: BTreeSet<usize> = entries.numbers().iter().map(|&n| n as usize - 1).collect();
                let wanted = |what: String| {
                    crate::Error::Invariant(format!("solve-for: got {entries:?}, want {what}"))
                };
                if let Some(beyond) = listed.iter().find(|&&entry| entry >= counts.len()) {
                    return Err(wanted(format!("entries from 1 to {}, not {}", counts.len(), beyond + 1)));
                }
                order.sort_by_key(|entry| !listed.contains(entry));
                let solved = dependent_entries(invariant, &order)?;
                if !solved.iter().eq(&listed) {
                    let numbers: Vec<usize> = solved.iter().map(|entry| entry + 1).collect();
                    return Err(wanted(format!(
                        "{} entries with independent columns, as many as there are independent equations, as {numbers:?}: \
                         else the equations do not have one solution",
                        solved.len()
                    )));
                }
            }
        }
        Ok(Some(order))
    }

    /// The entries that are solved for; `None` for the last ones.
    ///
    /// Errors: a list that is not as many entries as there are independent equations, with independent columns, so that the others
    /// do not give them; a system beyond 128 bits.
    pub fn dependent(self, invariant: &Linear, counts: &[i64]) -> crate::Result<Option<Vec<usize>>> {
        let order = self.order(invariant, counts)?;
        order.map(|order| dependent_entries(invariant, &order)).transpose()
    }
}

/// `a`, `a or b`, `a, b or c`.
fn either(names: &[&str]) -> String {
    match names {
        [all @ .., last] if !all.is_empty() => format!("{} or {last}", all.join(", ")),
        _ => names.concat(),
    }
}

/// A value as it is given, of whichever kind it is.
#[cfg(feature = "serde")]
mod given {
    use super::Given;
    use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};
    use std::fmt;

    impl<'de> Deserialize<'de> for Given {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct GivenVisitor;
            impl<'de> Visitor<'de> for GivenVisitor {
                type Value = Given;
                fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                    f.write_str("a number, a text, true or false")
                }
                fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Given, A::Error> {
                    let mut numbers = Vec::new();
                    while let Some(number) = seq.next_element()? {
                        numbers.push(number);
                    }
                    Ok(Given::Entries(numbers))
                }
                fn visit_bool<E: de::Error>(self, v: bool) -> Result<Given, E> {
                    Ok(Given::Flag(v))
                }
                fn visit_i64<E: de::Error>(self, v: i64) -> Result<Given, E> {
                    Ok(Given::Integer(v))
                }
                fn visit_f64<E: de::Error>(self, v: f64) -> Result<Given, E> {
                    Ok(Given::Number(v))
                }
                fn visit_str<E: de::Error>(self, v: &str) -> Result<Given, E> {
                    Ok(Given::Text(v.to_owned()))
                }
            }
            deserializer.deserialize_any(GivenVisitor)
        }
    }
}
