//! The shape of values in a config file: one or many, budgets, methods, splits. Every checked value keeps its place in the file.

use crate::catalogue::Given;
use crate::privacy::Measure;
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use toml::Spanned;

/// Budgets, by what they are counted in.
pub type Budgets<'a> = (Measure, &'a Axis<f64>);

/// Budgets as epsilon.
pub type Epsilons = Axis<f64>;

/// What budgets are written as.
pub trait Budgeted {
    /// Their measure and their values.
    fn budgets(&self) -> Budgets<'_>;
}

impl Budgeted for Axis<f64> {
    fn budgets(&self) -> Budgets<'_> {
        (Measure::Epsilon, self)
    }
}

/// Losses: as epsilon, or as something else.
#[derive(Debug, schemars::JsonSchema)]
#[schemars(untagged)]
pub enum WirePaid {
    /// epsilon.
    Epsilon(Axis<f64>),
    /// Something else.
    Other(WireLosses),
}

/// Losses as rho of zero-concentrated privacy, as mu of Gaussian privacy, or as the epsilon of releases together at a delta.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WireLosses {
    /// Values of rho.
    rho: Option<Axis<f64>>,
    /// Values of mu.
    mu: Option<Axis<f64>>,
    /// Values of epsilon, at `delta`.
    epsilon: Option<Axis<f64>>,
    /// The delta of epsilon, between 0 and 1.
    delta: Option<f64>,
    /// How many releases pay epsilon together; default 1.
    #[schemars(range(min = 1))]
    releases: Option<u64>,
}

impl WireLosses {
    /// What they are counted in, and their values; `None` if keys are missing, or do not go together.
    fn budgets(&self) -> Option<Budgets<'_>> {
        match self {
            Self { rho: Some(rho), mu: None, epsilon: None, delta: None, releases: None } => {
                Some((Measure::Rho, rho))
            }
            Self { rho: None, mu: Some(mu), epsilon: None, delta: None, releases: None } => {
                Some((Measure::Mu, mu))
            }
            Self { rho: None, mu: None, epsilon: Some(epsilon), delta: Some(delta), releases } => {
                let releases = releases.unwrap_or(1);
                Some((Measure::Together { delta: *delta, releases }, epsilon))
            }
            _ => None,
        }
    }
}

/// What losses are written as.
const LOSSES: &str = "a loss, a list of losses, `{ rho = ... }`, `{ mu = ... }` or `{ epsilon = ..., delta = ..., releases = ... }`";

impl<'de> Deserialize<'de> for WirePaid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Paid)
    }
}

struct Paid;

impl<'de> Visitor<'de> for Paid {
    type Value = WirePaid;
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(LOSSES)
    }
    fn visit_i64<E: de::Error>(self, v: i64) -> Result<WirePaid, E> {
        one(v).map(WirePaid::Epsilon)
    }
    fn visit_f64<E: de::Error>(self, v: f64) -> Result<WirePaid, E> {
        one(v).map(WirePaid::Epsilon)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<WirePaid, A::Error> {
        OneOrMany(PhantomData).visit_seq(seq).map(WirePaid::Epsilon)
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<WirePaid, A::Error> {
        let losses = WireLosses::deserialize(de::value::MapAccessDeserializer::new(map))?;
        match losses.budgets() {
            Some(_) => Ok(WirePaid::Other(losses)),
            None => Err(de::Error::custom(format!("want {LOSSES}"))),
        }
    }
}

impl Budgeted for WirePaid {
    fn budgets(&self) -> Budgets<'_> {
        match self {
            Self::Epsilon(axis) => (Measure::Epsilon, axis),
            Self::Other(losses) => losses.budgets().expect("it was read"),
        }
    }
}

/// `"name"` or `{ kind = "name", option = value or list, … }`.
#[derive(Debug)]
pub struct WireMethod {
    /// The name; its place, if it stands in a table.
    pub kind: String,
    /// See `kind`.
    pub place: Option<Range<usize>>,
    /// Options; lists are axes.
    pub options: Vec<(String, Spanned<Axis<Given>>)>,
}

/// `"each"`, `"even"`, or one share per level.
#[derive(Debug)]
pub enum WireSplit {
    /// A named split.
    Name(String),
    /// Shares, the root's first.
    Shares(Vec<f64>),
}

/// Names of axes, or lists of them.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum WireZip {
    /// Axes that go together.
    One(Vec<String>),
    /// Several such.
    Several(Vec<Vec<String>>),
}

/// `true`, `false`, or names of levels.
#[derive(Debug, schemars::JsonSchema)]
#[schemars(untagged)]
pub enum WireKeep {
    /// All, or none.
    Flag(bool),
    /// Levels of a tree: `total` for the root, else columns of `data.levels`.
    Levels(Vec<String>),
}

/// One value or a list of them.
#[derive(Debug, Clone)]
pub struct Axis<T>(pub Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Axis<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneOrMany(PhantomData))
    }
}

struct OneOrMany<T>(PhantomData<T>);

/// Passes a scalar on to `T`.
fn one<'de, T: Deserialize<'de>, E: de::Error>(
    value: impl de::IntoDeserializer<'de, E>,
) -> Result<Axis<T>, E> {
    T::deserialize(value.into_deserializer()).map(|value| Axis(vec![value]))
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for OneOrMany<T> {
    type Value = Axis<T>;
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a value or a list of values")
    }
    fn visit_bool<E: de::Error>(self, v: bool) -> Result<Axis<T>, E> {
        one(v)
    }
    fn visit_i64<E: de::Error>(self, v: i64) -> Result<Axis<T>, E> {
        one(v)
    }
    fn visit_u64<E: de::Error>(self, v: u64) -> Result<Axis<T>, E> {
        one(v)
    }
    fn visit_f64<E: de::Error>(self, v: f64) -> Result<Axis<T>, E> {
        one(v)
    }
    fn visit_str<E: de::Error>(self, v: &str) -> Result<Axis<T>, E> {
        one(v)
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Axis<T>, A::Error> {
        T::deserialize(de::value::MapAccessDeserializer::new(map)).map(|value| Axis(vec![value]))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Axis<T>, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = seq.next_element()? {
            values.push(value);
        }
        Ok(Axis(values))
    }
}

impl<'de> Deserialize<'de> for WireMethod {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MethodVisitor;
        impl<'de> Visitor<'de> for MethodVisitor {
            type Value = WireMethod;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a method's name or a table { kind = \"name\", options }")
            }
            fn visit_str<E: de::Error>(self, v: &str) -> Result<WireMethod, E> {
                Ok(WireMethod { kind: v.to_owned(), place: None, options: Vec::new() })
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<WireMethod, A::Error> {
                let (mut kind, mut options) = (None, Vec::new());
                while let Some(key) = map.next_key::<String>()? {
                    match &*key {
                        "kind" => kind = Some(map.next_value::<Spanned<String>>()?),
                        _ => options.push((key, map.next_value()?)),
                    }
                }
                let kind = kind.ok_or_else(|| de::Error::missing_field("kind"))?;
                Ok(WireMethod { place: Some(kind.span()), kind: kind.into_inner(), options })
            }
        }
        deserializer.deserialize_any(MethodVisitor)
    }
}

impl<'de> Deserialize<'de> for WireKeep {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeepVisitor;
        impl<'de> Visitor<'de> for KeepVisitor {
            type Value = WireKeep;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("true, false or a list of names of levels")
            }
            fn visit_bool<E: de::Error>(self, v: bool) -> Result<WireKeep, E> {
                Ok(WireKeep::Flag(v))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<WireKeep, A::Error> {
                let mut levels = Vec::new();
                while let Some(level) = seq.next_element()? {
                    levels.push(level);
                }
                Ok(WireKeep::Levels(levels))
            }
        }
        deserializer.deserialize_any(KeepVisitor)
    }
}

impl<'de> Deserialize<'de> for WireSplit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SplitVisitor;
        impl<'de> Visitor<'de> for SplitVisitor {
            type Value = WireSplit;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("\"each\", \"even\" or a list of shares inside the list of splits")
            }
            fn visit_str<E: de::Error>(self, v: &str) -> Result<WireSplit, E> {
                Ok(WireSplit::Name(v.to_owned()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<WireSplit, A::Error> {
                let mut shares = Vec::new();
                while let Some(share) = seq.next_element()? {
                    shares.push(share);
                }
                Ok(WireSplit::Shares(shares))
            }
        }
        deserializer.deserialize_any(SplitVisitor)
    }
}
