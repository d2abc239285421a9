//! The config of a study of trees of tables.

use super::wire::{Wire, WireAttribute, WireBlock, WireData, WireKnown, WireQuery};
use crate::catalogue::LawKind;
use crate::config::{Checker, Preface, one_of};
use crate::cube::{Query, Zero};
use crate::failure::Result;
use crate::grid::absolute;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// The name of the root's level where `data.root` gives no other, and the column of counts.
const ROOT: &str = "total";
const COUNT: &str = "count";
/// Cells of a run at most.
const CELLS: usize = 100_000;

/// A checked config.
#[derive(Debug, Clone)]
pub(super) struct CubeConfig {
    pub(super) name: String,
    pub(super) seed: u64,
    pub(super) data: Data,
    pub(super) queries: Vec<Asked>,
    pub(super) points: Vec<Point>,
    pub(super) about: Preface,
    /// The text of the file as given, and with overrides applied.
    pub(super) given: String,
    pub(super) text: String,
    pub(super) path: PathBuf,
}

/// `[data]`.
#[derive(Debug, Clone)]
pub(super) struct Data {
    pub(super) areas: PathBuf,
    pub(super) counts: PathBuf,
    pub(super) count: String,
    /// Names of the levels, the root's first.
    pub(super) levels: Vec<String>,
    /// Attributes with their categories.
    pub(super) attributes: Vec<(String, Vec<String>)>,
    pub(super) zeros: Vec<Zero>,
}

/// A query.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) name: String,
    pub(super) query: Query,
    /// By level.
    pub(super) measured: Vec<Measured>,
}

/// How a query is measured on a level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Measured {
    /// Not at all.
    Not,
    /// It is known.
    Known,
    /// With this share of the budget.
    Share(f64),
}

/// What is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    pub(super) epsilon: f64,
    pub(super) delta: Option<f64>,
    pub(super) law: LawKind,
    pub(super) method: Way,
    pub(super) replicates: u64,
}

/// What is made of the noisy answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Nothing: each answer with its own noise.
    Unconstrained,
    /// The best linear unbiased estimate.
    Gls,
}

impl Way {
    pub(super) const ALL: [Self; 2] = [Self::Unconstrained, Self::Gls];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Unconstrained => "unconstrained",
            Self::Gls => "gls",
        }
    }
}

impl Way {
    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }
}

/// Checks a config.
pub(super) fn check(checker: &Checker) -> Result<CubeConfig> {
    let wire: Wire = checker.parse()?;
    checker.name("name", &wire.name)?;
    checker.thresholds(&wire.compare)?;
    let folder = checker.path.parent().unwrap_or(Path::new("."));
    let data = data(checker, &wire.data, folder)?;
    let queries = queries(checker, &wire, &data)?;
    let mut points = Vec::new();
    for block in &wire.grid {
        of_block(checker, block, &mut points)?;
    }
    if points.is_empty() {
        return Err(checker.error("grid: missing", wire.name.span(), "want a [[grid]] block"));
    }
    Ok(CubeConfig {
        name: wire.name.get_ref().clone(),
        seed: wire.seed,
        data,
        queries,
        points,
        about: wire.about.clone(),
        given: checker.given.to_owned(),
        text: checker.text.to_owned(),
        path: checker.path.to_owned(),
    })
}

fn data(checker: &Checker, wire: &WireData, folder: &Path) -> Result<Data> {
    let kind = wire.kind.get_ref();
    if kind != super::KIND {
        let label = format!("want \"{}\"", super::KIND);
        return Err(checker.error(format!("data.kind: got `{kind}`"), wire.kind.span(), label));
    }
    let levels = wire.levels.get_ref();
    checker.no_duplicates("data.levels", levels, wire.levels.span())?;
    let root = wire.root.clone().unwrap_or_else(|| ROOT.to_owned());
    if levels.is_empty() || levels.contains(&root) {
        let label =
            "want the columns of the levels below the root, coarse to fine, none with the root's name";
        return Err(checker.error("data.levels", wire.levels.span(), label));
    }
    let mut attributes = Vec::new();
    for (name, given) in &wire.attributes {
        let categories: Vec<String> = match given.get_ref() {
            WireAttribute::Number(n) => {
                (0..checker.count(&format!("data.attributes.{name}"), *n, given.span())?)
                    .map(|category| category.to_string())
                    .collect()
            }
            WireAttribute::Names(names) => names.clone(),
        };
        let key = format!("data.attributes.{name}");
        checker.no_duplicates(&key, &categories, given.span())?;
        if categories.is_empty() || levels.contains(name) || *name == root {
            let label = "want at least one category, and a name that no level has";
            return Err(checker.error(key, given.span(), label));
        }
        attributes.push((name.clone(), categories));
    }
    let zero = |text: &Spanned<String>| zero(checker, text, &attributes);
    let zeros = wire.zeros.iter().map(zero).collect::<Result<_>>()?;
    let count = wire.count.clone().unwrap_or_else(|| COUNT.to_owned());
    let levels = std::iter::once(root).chain(levels.iter().cloned()).collect();
    Ok(Data {
        areas: folder.join(&wire.areas),
        counts: folder.join(&wire.counts),
        count,
        levels,
        attributes,
        zeros,
    })
}

/// `hhgq = 3 & voting_age = 0 | 1`.
fn zero(checker: &Checker, text: &Spanned<String>, attributes: &[(String, Vec<String>)]) -> Result<Zero> {
    let refused = |message: String, label: String| checker.error(message, text.span(), label);
    let mut of: Vec<(usize, Vec<u32>)> = Vec::new();
    for part in text.get_ref().split('&') {
        let Some((name, values)) = part.split_once('=') else {
            let message = format!("data.zeros: got `{}`", part.trim());
            return Err(refused(message, "want such as \"hhgq = 3 & voting_age = 0\"".into()));
        };
        let place = attribute(checker, "data.zeros", (name.trim(), text.span()), attributes)?;
        if of.iter().any(|(other, _)| *other == place) {
            let label = "want each attribute once; several of its categories with | between".to_owned();
            return Err(refused(format!("data.zeros: got `{}` twice", name.trim()), label));
        }
        let categories =
            values.split('|').map(|value| category(checker, (value.trim(), text.span()), &attributes[place]));
        of.push((place, categories.collect::<Result<_>>()?));
    }
    Ok(Zero { of })
}

/// The number of an attribute. Errors: there is none of the name.
fn attribute(
    checker: &Checker,
    key: &str,
    (name, span): (&str, Range<usize>),
    attributes: &[(String, Vec<String>)],
) -> Result<usize> {
    attributes.iter().position(|(known, _)| known == name).ok_or_else(|| {
        let names: Vec<&str> = attributes.iter().map(|(name, _)| name.as_str()).collect();
        checker.error(format!("{key}: got `{name}`"), span, one_of(name, &names))
    })
}

/// The number of a category. Errors: its attribute has none of the name.
fn category(
    checker: &Checker,
    (name, span): (&str, Range<usize>),
    (attribute, categories): &(String, Vec<String>),
) -> Result<u32> {
    let found = categories.iter().position(|known| known == name);
    found.map(|place| place as u32).ok_or_else(|| {
        let names: Vec<&str> = categories.iter().map(String::as_str).collect();
        checker.error(format!("`{attribute}`: got the category `{name}`"), span, one_of(name, &names))
    })
}

fn queries(checker: &Checker, wire: &Wire, data: &Data) -> Result<Vec<Asked>> {
    let mut all: Vec<Asked> = Vec::new();
    for given in &wire.query {
        let asked = query(checker, given.get_ref(), given.span(), data)?;
        if all.iter().any(|other| other.name == asked.name) {
            let label = "want a `name` of its own for each query";
            return Err(checker.error(format!("query: got `{}` twice", asked.name), given.span(), label));
        }
        all.push(asked);
    }
    for known in &wire.data.known {
        let (level, name) = match known.get_ref() {
            WireKnown::Level(level) => (level, None),
            WireKnown::Query { level, query } => (level, Some(query)),
        };
        let place = self::level(checker, "data.known", (level, known.span()), data)?;
        let total = Query::total();
        let found = match name {
            Some(name) => all.iter_mut().find(|asked| asked.name == *name),
            None => all.iter_mut().find(|asked| asked.query == total),
        };
        let asked = match (found, name) {
            (Some(asked), _) => asked,
            (None, Some(name)) => {
                let names: Vec<&str> = all.iter().map(|asked| asked.name.as_str()).collect();
                let label = one_of(name, &names);
                return Err(checker.error(
                    format!("data.known: got the query `{name}`"),
                    known.span(),
                    label,
                ));
            }
            (None, None) => {
                let measured = vec![Measured::Not; data.levels.len()];
                all.push(Asked { name: "total".into(), query: total, measured });
                all.last_mut().expect("it was just added")
            }
        };
        if asked.measured[place] != Measured::Not {
            let label = "want no share of what is known, and each of it once";
            let message = format!("data.known: `{}` of `{level}` is measured or known already", asked.name);
            return Err(checker.error(message, known.span(), label));
        }
        asked.measured[place] = Measured::Known;
    }
    let sum: f64 = shares(&all).sum();
    if (sum - 1.0).abs() > 1e-9 {
        let span = wire.query.first().map_or(wire.name.span(), Spanned::span);
        let label = "want shares of the budget that add up to 1, over all queries and levels";
        return Err(checker.error(format!("query: the shares add up to {sum}"), span, label));
    }
    let is_idle = |asked: &&Asked| asked.measured.iter().all(|measured| *measured == Measured::Not);
    if let Some(idle) = all.iter().find(is_idle) {
        let span = wire.query.first().map_or(wire.name.span(), Spanned::span);
        let message = format!("query: `{}` is measured nowhere", idle.name);
        return Err(checker.error(message, span, "want `shares` for it, by level"));
    }
    Ok(all)
}

/// The shares of all queries, level by level in each.
pub(super) fn shares(queries: &[Asked]) -> impl Iterator<Item = f64> {
    queries.iter().flat_map(|asked| &asked.measured).filter_map(|measured| match measured {
        Measured::Share(share) => Some(*share),
        _ => None,
    })
}

fn level(checker: &Checker, key: &str, (name, span): (&str, Range<usize>), data: &Data) -> Result<usize> {
    data.levels.iter().position(|known| known == name).ok_or_else(|| {
        let names: Vec<&str> = data.levels.iter().map(String::as_str).collect();
        checker.error(format!("{key}: got the level `{name}`"), span, one_of(name, &names))
    })
}

fn query(checker: &Checker, wire: &WireQuery, span: Range<usize>, data: &Data) -> Result<Asked> {
    let of = wire.of.get_ref();
    checker.no_duplicates("query.of", of, wire.of.span())?;
    let place = |name: &String| attribute(checker, "query.of", (name, wire.of.span()), &data.attributes);
    let mut query = Query::of(&of.iter().map(place).collect::<Result<Vec<_>>>()?);
    for (name, groups) in &wire.groups {
        let place = attribute(checker, "query.groups", (name, groups.span()), &data.attributes)?;
        if !of.contains(name) {
            let label = "want the attribute in `of`, too";
            return Err(checker.error(format!("query.groups: got `{name}`"), groups.span(), label));
        }
        let number = |text: &super::wire::WireCategory| {
            category(checker, (&text.text(), groups.span()), &data.attributes[place])
        };
        let groups_of = |group: &Vec<_>| group.iter().map(number).collect::<Result<Vec<u32>>>();
        let numbers = groups.get_ref().iter().map(groups_of).collect::<Result<Vec<_>>>()?;
        let all: Vec<u32> = numbers.iter().flatten().copied().collect();
        let names: Vec<String> =
            all.iter().map(|&number| data.attributes[place].1[number as usize].clone()).collect();
        checker.no_duplicates("query.groups", &names, groups.span())?;
        if numbers.is_empty() || numbers.iter().any(Vec::is_empty) {
            return Err(checker.error(
                "query.groups: got an empty group",
                groups.span(),
                "want categories in each",
            ));
        }
        query = query.grouping(place, numbers);
    }
    let mut measured = vec![Measured::Not; data.levels.len()];
    for (name, &share) in wire.shares.get_ref() {
        let place = level(checker, "query.shares", (name, wire.shares.span()), data)?;
        measured[place] = Measured::Share(checker.positive("query.shares", share, wire.shares.span())?);
    }
    let name = wire.name.clone().unwrap_or_else(|| match of.is_empty() {
        true => "total".to_owned(),
        false => of.join("*"),
    });
    let is_good = !name.is_empty() && name.chars().all(|c| !c.is_control());
    match is_good {
        true => Ok(Asked { name, query, measured }),
        false => Err(checker.error("query.name", span, "want a name on one line")),
    }
}

fn of_block(checker: &Checker, block: &WireBlock, points: &mut Vec<Point>) -> Result<()> {
    let positive = |key: &'static str| move |&x: &f64, span| checker.positive(key, x, span);
    let epsilon = checker.axis("epsilon", &block.epsilon, positive("epsilon"))?;
    let law = checker.axis("law", &block.law, |name, span| checker.law(name, span))?;
    let fits = |law: &LawKind| law.on_hierarchies();
    if let Some(law) = law.iter().find(|law| !fits(law)) {
        let names: Vec<&str> = LawKind::ALL.iter().filter(|law| fits(law)).map(|law| law.name()).collect();
        let label = format!("want one of {} here", names.join(", "));
        return Err(checker.error(format!("law: got `{}`", law.name()), block.law.span(), label));
    }
    let names = checker.axis("method", &block.method, |name, span| match Way::named(name) {
        Some(_) => Ok(name.clone()),
        None => {
            let names = Way::ALL.map(Way::name);
            Err(checker.error(format!("method: got `{name}`"), span, one_of(name, &names)))
        }
    })?;
    let method: Vec<Way> = names.iter().filter_map(|name| Way::named(name)).collect();
    let replicates = checker.positive_integer("replicates", &block.replicates)?;
    for &law in &law {
        let delta = match (law.needs_delta(), &block.delta) {
            (false, _) => None,
            (true, Some(delta)) if *delta.get_ref() > 0.0 && *delta.get_ref() < 1.0 => Some(*delta.get_ref()),
            (true, given) => {
                let span = given.as_ref().map_or(block.law.span(), Spanned::span);
                let got = given.as_ref().map_or("missing".into(), |delta| format!("got {}", delta.get_ref()));
                let label = format!("want a number in (0, 1), for the law {}", law.name());
                return Err(checker.error(format!("delta: {got}"), span, label));
            }
        };
        for &epsilon in &epsilon {
            for &method in &method {
                let point = Point { epsilon, delta, law, method, replicates };
                let same = |other: &Point| Point { replicates, ..*other } == point;
                if points.iter().any(same) {
                    let message = format!("grid: got {} twice", point.words());
                    return Err(checker.error(message, block.method.span(), "want each combination once"));
                }
                points.push(point);
            }
        }
    }
    match points.len() <= CELLS {
        true => Ok(()),
        false => Err(checker.error(
            format!("grid: {} cells", points.len()),
            block.method.span(),
            format!("want at most {CELLS}"),
        )),
    }
}

impl Point {
    /// What it is, in words and as its key.
    pub(super) fn words(&self) -> String {
        let delta = self.delta.map_or(String::new(), |delta| format!(" delta={delta:?}"));
        format!("epsilon={:?} law={}{delta} method={}", self.epsilon, self.law.name(), self.method.name())
    }
}

impl CubeConfig {
    /// The text with absolute paths of what it names: it is run from another folder.
    pub(super) fn resolved(&self) -> String {
        let mut document: toml_edit::DocumentMut = self.text.parse().expect("it was read before");
        document["data"]["areas"] = toml_edit::value(absolute(&self.data.areas));
        document["data"]["counts"] = toml_edit::value(absolute(&self.data.counts));
        document.to_string()
    }
}
