//! Options of methods: their kinds, ranges and defaults, and their values.

use super::own::Own;
use crate::exact::Source;
use crate::invariant::{Linear, dependent_entries};
use crate::kernel::Start;
use crate::lattice::BasisKind;
use std::fmt;

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
            Self::Own(own) => own.fmt(f),
        }
    }
}

impl OptionFacts {
    /// The value if the config does not say.
    pub fn default(&self) -> Option<Value> {
        match self.kind {
            Kind::Flag => Some(Value::Flag(false)),
            Kind::Count(n) => Some(Value::Count(n)),
            Kind::Number { default, .. } => default.map(Value::Number),
            Kind::Name(names) => Some(Value::Name(names[0])),
            Kind::Own => None,
        }
    }

    /// The value as a part of what a cell is: a flag and a name have one always, unless the default is silent.
    pub(super) fn normal(&self, value: Option<Value>) -> Option<Value> {
        match self.kind {
            Kind::Flag => value.or(Some(Value::Flag(false))),
            Kind::Name(names) if self.is_silent => value.filter(|value| *value != Value::Name(names[0])),
            Kind::Name(names) => value.or(Some(Value::Name(names[0]))),
            Kind::Count(_) | Kind::Number { .. } | Kind::Own => value,
        }
    }

    /// The value, if it is one of the option.
    pub fn fits(&self, given: &Given) -> Option<Value> {
        match (self.kind, given) {
            (Kind::Flag, Given::Flag(flag)) => Some(Value::Flag(*flag)),
            (Kind::Count(_), Given::Integer(n)) => {
                u64::try_from(*n).ok().filter(|&n| n > 0).map(Value::Count)
            }
            (Kind::Number { above, closed, most, .. }, Given::Integer(_) | Given::Number(_)) => {
                let x = if let Given::Integer(n) = given { *n as f64 } else { given.number()? };
                let low = if closed { x >= above } else { x > above };
                (x.is_finite() && low && x <= most).then_some(Value::Number(x))
            }
            (Kind::Name(names), Given::Text(text)) => {
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
            Kind::Number { above, closed: false, most, .. } if most == f64::INFINITY => {
                format!("want a finite number > {above}")
            }
            Kind::Number { above, closed, most, .. } => {
                format!("want a number in {}{above}, {most}]", if closed { '[' } else { '(' })
            }
            Kind::Name(names) => format!("want {}", either(names)),
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
names!(SolveFor: "last" = SolveFor::Last, "first" = SolveFor::First, "largest" = SolveFor::Largest, "smallest" = SolveFor::Smallest);
names!(Start: "over-dispersed" = Start::OverDispersed, "free-noise" = Start::FreeNoise, "published" = Start::Published);

/// Which entries `mis` solves for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SolveFor {
    /// The last ones with independent columns.
    #[default]
    Last,
    /// The first ones.
    First,
    /// Those with the largest counts.
    Largest,
    /// Those with the smallest counts.
    Smallest,
}

impl SolveFor {
    /// The entries in the order in which they are taken; `None` for the last ones.
    pub fn order(self, counts: &[i64]) -> Option<Vec<usize>> {
        let mut order: Vec<usize> = (0..counts.len()).collect();
        match self {
            Self::Last => return None,
            Self::First => {}
            Self::Largest => order.sort_by_key(|&entry| std::cmp::Reverse(counts[entry])),
            Self::Smallest => order.sort_by_key(|&entry| counts[entry]),
        }
        Some(order)
    }

    /// The entries that are solved for; `None` for the last ones. Errors: a system beyond 128 bits.
    pub fn dependent(self, invariant: &Linear, counts: &[i64]) -> crate::Result<Option<Vec<usize>>> {
        self.order(counts).map(|order| dependent_entries(invariant, &order)).transpose()
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
    use serde::de::{self, Deserialize, Deserializer, Visitor};
    use std::fmt;

    impl<'de> Deserialize<'de> for Given {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct GivenVisitor;
            impl Visitor<'_> for GivenVisitor {
                type Value = Given;
                fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                    f.write_str("a number, a text, true or false")
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
