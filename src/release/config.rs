//! The config of a release: read, and checked as far as it can be without data.

use super::ledger::{self, Protects, RECORDS};
use crate::catalogue::{Family, LawKind};
use crate::config::Checker;
use crate::config::data::ROOT;
use crate::failure::Result;
use crate::files;
use crate::infer;
use congenial_exact_noise::Ratio;
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use std::fmt;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// Laws of exact noise.
const LAWS: [&str; 2] = ["double-geometric", "discrete-gaussian"];
/// Names that columns of keys cannot have: those of the noisy file and of the tables that are published.
const TAKEN: [&str; 10] =
    ["value", "law", "scale", "variance", "known", "method", "options", "low", "high", "note"];

/// A release as its config has it.
#[derive(Debug, Clone)]
pub struct Config {
    /// The file.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
    /// What is released, in words.
    pub product: Product,
    /// What is counted.
    pub data: Data,
    /// What is protected, and by what noise.
    pub privacy: Privacy,
    /// What is made of the noisy counts.
    pub publish: Publish,
}

/// What is released, in words, for the certificate.
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Product {
    /// Its name.
    pub name: String,
    /// Who releases it.
    pub curator: String,
    /// What it is for.
    pub intended_use: String,
    /// Where the counts are from.
    pub region: Option<String>,
    /// More of it.
    pub description: Option<String>,
    /// Where it is published.
    pub url: Option<String>,
}

/// What is counted.
#[derive(Debug, Clone)]
pub struct Data {
    /// The confidential table.
    pub table: PathBuf,
    /// The public list of all leaves.
    pub domain: PathBuf,
    /// Columns that name the nodes of the levels below the total.
    pub levels: Vec<String>,
    /// The column of counts; `None`: each row is a record.
    pub count: Option<String>,
    /// The name of the total's level.
    pub root: String,
    /// How many levels, from the total's, are released as they are.
    pub known: usize,
}

/// What is protected, and by what noise.
#[derive(Debug, Clone)]
pub struct Privacy {
    /// The change.
    pub protects: Protects,
    /// Records that one unit has at most.
    pub records: u64,
    /// The law of the noise of a count.
    pub law: LawKind,
    /// What the change may pay: epsilon of a pure law, rho of a Gaussian one.
    pub loss: Ratio,
    /// By level that is not known, its share of that: a fraction.
    pub split: Vec<(u64, u64)>,
    /// Whether the noise is conditioned on the equations; else it is free.
    pub conditioned: bool,
}

/// What is made of the noisy counts.
#[derive(Debug, Clone)]
pub struct Publish {
    /// The table.
    pub table: Table,
    /// What its intervals hold.
    pub intervals: Option<f64>,
}

/// A public function of the noisy counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// No table beside the noisy counts.
    None,
    /// Least squares.
    L2,
    /// From the root down, integers >= 0.
    TopDown,
    /// As `TopDown`, from the best linear estimates.
    BlueDown,
}

/// Words of a config with what they stand for.
type Words<T> = &'static [(&'static str, T)];

/// See [`Protects`].
const PROTECTS: Words<Protects> = &[("added", Protects::Added), ("moved", Protects::Moved)];
const TABLES: Words<Table> =
    &[("none", Table::None), ("l2", Table::L2), ("topdown", Table::TopDown), ("bluedown", Table::BlueDown)];
const NOISE: Words<bool> = &[("free", false), ("conditioned", true)];

impl Table {
    /// In configs.
    pub fn name(self) -> &'static str {
        named(TABLES, self)
    }
}

fn named<T: PartialEq>(words: Words<T>, value: T) -> &'static str {
    words.iter().find(|(_, other)| *other == value).map_or("", |(name, _)| name)
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    kind: Spanned<String>,
    product: Product,
    data: WireData,
    privacy: WirePrivacy,
    publish: WirePublish,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct WireData {
    table: String,
    domain: String,
    levels: Spanned<Vec<String>>,
    count: Option<Spanned<String>>,
    root: Option<Spanned<String>>,
    #[serde(default)]
    known: Option<Spanned<Vec<String>>>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct WirePrivacy {
    protects: Spanned<String>,
    records_per_unit: Option<Spanned<Exact>>,
    law: Spanned<String>,
    epsilon: Option<Spanned<Exact>>,
    rho: Option<Spanned<Exact>>,
    split: Option<Spanned<Vec<Exact>>>,
    noise: Spanned<String>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct WirePublish {
    table: Spanned<String>,
    intervals: Option<Spanned<Exact>>,
}

/// A number, exactly: a whole one, or one in quotes.
struct Exact(ledger::Exact);

impl<'de> Deserialize<'de> for Exact {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_any(Exactly).map(Self)
    }
}

struct Exactly;

impl Visitor<'_> for Exactly {
    type Value = ledger::Exact;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a whole number, or one in quotes such as \"1/2\" or \"0.5\"")
    }

    fn visit_i64<E: Error>(self, value: i64) -> std::result::Result<ledger::Exact, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_str<E: Error>(self, text: &str) -> std::result::Result<ledger::Exact, E> {
        ledger::Exact::parse(text).map_err(E::custom)
    }
}

impl Config {
    /// Reads the config of a release. Refused, with the place in it: what it has not to have, what is missing, what does not go
    /// together.
    pub fn read(path: &Path) -> Result<Self> {
        let text = files::text(path, "cannot read the config")?;
        Self::of(path, text)
    }

    /// Reads it from a text. `path`: its name, and where paths in it begin.
    pub fn of(path: &Path, text: String) -> Result<Self> {
        let elsewhere = |key: &str| match key {
            "seed" => Some("noise is drawn from the operating system: a release has no seed".to_owned()),
            "replicates" => Some("a release is drawn once".to_owned()),
            _ => None,
        };
        let checker = Checker::new(path, &text, &text, elsewhere);
        let wire: Wire = checker.parse()?;
        if wire.kind.get_ref() != "release" {
            let message = format!("kind: got `{}`", wire.kind.get_ref());
            return Err(checker.error(message, wire.kind.span(), "want \"release\""));
        }
        let data = data(&checker, wire.data, path.parent().unwrap_or(Path::new(".")))?;
        let privacy = privacy(&checker, wire.privacy, &data)?;
        let publish = publish(&checker, wire.publish, &privacy)?;
        Ok(Self { path: path.to_owned(), product: wire.product, data, privacy, publish, text })
    }

    /// The names of all levels, the total's first.
    pub fn levels(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&*self.data.root).chain(self.data.levels.iter().map(String::as_str))
    }

    /// The name of a level, 0 for the total's.
    pub fn level(&self, level: usize) -> &str {
        level.checked_sub(1).map_or(&self.data.root, |below| &self.data.levels[below])
    }
}

fn one_of<T: Copy>(checker: &Checker, key: &str, given: &Spanned<String>, words: Words<T>) -> Result<T> {
    let found = words.iter().find(|(name, _)| name == given.get_ref());
    found.map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<&str> = words.iter().map(|(name, _)| *name).collect();
        let message = format!("{key}: got `{}`", given.get_ref());
        checker.error(message, given.span(), format!("want one of {}", names.join(", ")))
    })
}

fn data(checker: &Checker, wire: WireData, folder: &Path) -> Result<Data> {
    let levels = wire.levels.get_ref();
    if levels.is_empty() {
        let label = "want the columns that name the nodes of each level below the total, coarse to fine";
        return Err(checker.error("data.levels: got none", wire.levels.span(), label));
    }
    checker.no_duplicates("data.levels", levels, wire.levels.span())?;
    if let Some(name) = levels.iter().find(|name| name.is_empty() || TAKEN.contains(&name.as_str())) {
        let label =
            format!("want other names than {}: those are columns of the published files", TAKEN.join(", "));
        return Err(checker.error(format!("data.levels: got `{name}`"), wire.levels.span(), label));
    }
    let is_none = |count: &&Spanned<String>| count.get_ref().is_empty() || levels.contains(count.get_ref());
    if let Some(count) = wire.count.as_ref().filter(is_none) {
        let message = format!("data.count: got `{}`", count.get_ref());
        return Err(checker.error(message, count.span(), "want the name of a column that is no level"));
    }
    let root = wire.root.as_ref().map_or(ROOT, |root| root.get_ref()).to_owned();
    if levels.contains(&root) || root.is_empty() {
        let span = wire.root.as_ref().map_or(wire.levels.span(), Spanned::span);
        let label = "want a name for the level of the total that no level below it has";
        return Err(checker.error(format!("data.root: got `{root}`"), span, label));
    }
    let mut known = 0;
    if let Some(named) = &wire.known {
        let all: Vec<&String> = std::iter::once(&root).chain(levels).collect();
        known = named.get_ref().len();
        if !named.get_ref().iter().eq(all.iter().copied().take(known)) {
            let names: Vec<&str> = all.iter().map(|name| name.as_str()).collect();
            let label =
                format!("want the first of {}, in this order: what is known adds up", names.join(", "));
            let message = format!("data.known: got {}", named.get_ref().join(", "));
            return Err(checker.error(message, named.span(), label));
        }
        if known == all.len() {
            let label = "every count would be released as it is: want at least the last level left out";
            return Err(checker.error("data.known: got every level", named.span(), label));
        }
    }
    Ok(Data {
        table: folder.join(wire.table),
        domain: folder.join(wire.domain),
        levels: wire.levels.into_inner(),
        count: wire.count.map(Spanned::into_inner),
        root,
        known,
    })
}

fn privacy(checker: &Checker, wire: WirePrivacy, data: &Data) -> Result<Privacy> {
    let protects = one_of(checker, "privacy.protects", &wire.protects, PROTECTS)?;
    if protects == Protects::Added && data.known > 0 {
        let label = "a record that is added changes every count above it, and data.known fixes the total: want \"moved\"";
        return Err(checker.error("privacy.protects: got `added`", wire.protects.span(), label));
    }
    let records = match &wire.records_per_unit {
        None => 1,
        Some(given) => {
            let text = given.get_ref().0.text();
            let whole = text.parse::<u64>().ok().filter(|n| (1..=RECORDS).contains(n));
            whole.ok_or_else(|| {
                let label =
                    format!("want a whole number from 1 to {RECORDS}: records that one unit has at most");
                checker.error(format!("privacy.records-per-unit: got {text}"), given.span(), label)
            })?
        }
    };
    let named = LAWS.iter().find(|name| *name == wire.law.get_ref()).and_then(|name| LawKind::named(name));
    let law = named.ok_or_else(|| {
        let label = format!("want one of {}: exact noise is that of integers", LAWS.join(", "));
        checker.error(format!("privacy.law: got `{}`", wire.law.get_ref()), wire.law.span(), label)
    })?;
    let (key, other) = match law.family() {
        Family::DoubleGeometric => ("epsilon", "rho"),
        _ => ("rho", "epsilon"),
    };
    let (given, extra) = if key == "epsilon" { (wire.epsilon, wire.rho) } else { (wire.rho, wire.epsilon) };
    if let Some(extra) = extra {
        let label = format!("noise of {} pays {key}: want that", law.name());
        return Err(checker.error(format!("privacy.{other}: not used"), extra.span(), label));
    }
    let Some(loss) = given else {
        let label = format!("want {key}, what the protected change may pay, in quotes: {key} = \"1/2\"");
        return Err(checker.error(format!("privacy.{key}: missing"), wire.law.span(), label));
    };
    let zero = exact(0, 1);
    if loss.get_ref().0.value() == &zero {
        let message = format!("privacy.{key}: got {}", loss.get_ref().0.text());
        return Err(checker.error(message, loss.span(), "want a number > 0"));
    }
    let measured = data.levels.len() + 1 - data.known;
    let split = match wire.split {
        None => vec![(1, measured as u64); measured],
        Some(given) => {
            let span = given.span();
            let shares: Vec<Ratio> =
                given.into_inner().into_iter().map(|Exact(share)| share.value().clone()).collect();
            let sum = shares.iter().fold(zero.clone(), |sum, share| sum.plus(share));
            if shares.len() != measured || sum != exact(1, 1) || shares.contains(&zero) {
                let levels = std::iter::once(&data.root).chain(&data.levels).skip(data.known);
                let label = format!(
                    "want {measured} shares > 0 that add up to 1, one for each level that is not known: {}",
                    levels.map(String::as_str).collect::<Vec<_>>().join(", ")
                );
                let sum = ledger::Exact::up(&sum)?;
                let message = format!("privacy.split: got {} that add up to {}", shares.len(), sum.text());
                return Err(checker.error(message, span, label));
            }
            let short = |share: &Ratio| match fraction(share) {
                Some(fraction) => Ok(fraction),
                None => {
                    let message =
                        format!("privacy.split: got the share {}", ledger::Exact::up(share)?.text());
                    Err(checker.error(message, span.clone(), "want fractions of numbers below 2^64"))
                }
            };
            shares.iter().map(short).collect::<Result<_>>()?
        }
    };
    let conditioned = one_of(checker, "privacy.noise", &wire.noise, NOISE)?;
    Ok(Privacy { protects, records, law, loss: loss.into_inner().0.value().clone(), split, conditioned })
}

/// The numbers of a fraction; `None` if one is not below 2^64.
fn fraction(number: &Ratio) -> Option<(u64, u64)> {
    let text = number.to_string();
    let (above, below) = text.split_once('/').unwrap_or((&text, "1"));
    Some((above.parse().ok()?, below.parse().ok()?))
}

fn publish(checker: &Checker, wire: WirePublish, privacy: &Privacy) -> Result<Publish> {
    let table = one_of(checker, "publish.table", &wire.table, TABLES)?;
    if privacy.conditioned && table != Table::None {
        let label = "conditioned noise adds up by itself: want \"none\", or privacy.noise = \"free\"";
        return Err(checker.error(
            format!("publish.table: got `{}`", table.name()),
            wire.table.span(),
            label,
        ));
    }
    let intervals = wire.intervals.as_ref().map(|given| {
        let text = given.get_ref().0.text();
        infer::level(text)
            .map_err(|why| checker.error(format!("publish.intervals: got `{text}`"), given.span(), why))
    });
    Ok(Publish { table, intervals: intervals.transpose()? })
}

/// The name of a change in configs.
pub(super) fn change(protects: Protects) -> &'static str {
    named(PROTECTS, protects)
}

/// A fraction of two numbers, the second > 0.
pub(super) fn exact(above: u64, below: u64) -> Ratio {
    Ratio::new(above, below).expect("no denominator here is 0")
}
