//! Tables of attributes in all areas of a hierarchy, and what is measured of them: as a study has them, and a noisy file.

use super::Checker;
use super::data::ROOT;
use super::nearest::one_of;
use crate::cube::{Domain, Marginal, Query, Zero};
use crate::failure::Result;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::path::Path;
use toml::Spanned;

/// Categories of an attribute at most: as many as a table has cells.
const MOST: i64 = 1 << 24;
/// The name of the query of everything where it has no other.
const TOTAL: &str = "total";

/// An attribute.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub(crate) enum WireAttribute {
    /// So many categories.
    Number(i64),
    /// Their names.
    Names(Vec<String>),
}

/// What is known.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub(crate) enum WireKnown {
    /// The totals of a level.
    Level(String),
    /// The answers of a query on a level.
    Query {
        /// The level.
        level: String,
        /// The name of the query.
        query: String,
    },
}

/// `[[query]]`
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(rename = "CubeQuery")]
pub(crate) struct WireQuery {
    /// Its name in results; default its attributes with `*` between, or "total".
    pub(crate) name: Option<String>,
    /// The attributes that it tells apart; the others are summed over. None: the total.
    #[schemars(with = "Vec<String>")]
    pub(crate) of: Spanned<Vec<String>>,
    /// Attributes whose groups of categories stand in the place of their categories.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Vec<Vec<WireCategory>>>")]
    pub(crate) groups: BTreeMap<String, Spanned<Vec<Vec<WireCategory>>>>,
    /// Shares of the budget, by level: all of them add up to 1.
    #[serde(default = "no_shares")]
    #[schemars(with = "BTreeMap<String, f64>")]
    pub(crate) shares: Spanned<BTreeMap<String, f64>>,
    /// The levels on which its answers are wanted when the shares are optimised (`plan --optimise`); default all.
    #[schemars(with = "Option<Vec<String>>")]
    pub(crate) asked: Option<Spanned<Vec<String>>>,
}

fn no_shares() -> Spanned<BTreeMap<String, f64>> {
    Spanned::new(0..0, BTreeMap::new())
}

/// A category.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub(crate) enum WireCategory {
    /// Its number.
    Number(i64),
    /// Its name.
    Name(String),
}

impl WireCategory {
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Name(name) => name.clone(),
        }
    }
}

/// What is said of them in a config.
pub(crate) struct Given<'a> {
    /// The columns of the levels below the root.
    pub(crate) levels: &'a Spanned<Vec<String>>,
    /// The name of the root's level.
    pub(crate) root: &'a Option<String>,
    pub(crate) attributes: &'a BTreeMap<String, Spanned<WireAttribute>>,
    pub(crate) zeros: &'a [Spanned<String>],
    pub(crate) known: &'a [Spanned<WireKnown>],
    pub(crate) query: &'a [Spanned<WireQuery>],
}

/// The tables, checked.
#[derive(Debug, Clone)]
pub(crate) struct AreaTables {
    /// Names of the levels, the root's first.
    pub(crate) levels: Vec<String>,
    /// Attributes with their categories.
    pub(crate) attributes: Vec<(String, Vec<String>)>,
    pub(crate) zeros: Vec<Zero>,
    pub(crate) queries: Vec<Asked>,
}

/// A query.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) name: String,
    pub(crate) query: Query,
    /// By level.
    pub(crate) measured: Vec<Measured>,
    /// The levels on which its answers are wanted, where it is said.
    pub(crate) wanted: Option<Vec<usize>>,
}

/// How a query is measured on a level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Measured {
    /// Not at all.
    Not,
    /// It is known.
    Known,
    /// With this share of the budget.
    Share(f64),
}

/// A config, or the part of one that says what the tables are. Other keys are not looked at.
#[derive(serde::Deserialize)]
struct Wire {
    data: WireData,
    #[serde(default)]
    query: Vec<Spanned<WireQuery>>,
}

#[derive(serde::Deserialize)]
struct WireData {
    levels: Spanned<Vec<String>>,
    root: Option<String>,
    attributes: BTreeMap<String, Spanned<WireAttribute>>,
    #[serde(default)]
    zeros: Vec<Spanned<String>>,
    #[serde(default)]
    known: Vec<Spanned<WireKnown>>,
}

impl AreaTables {
    /// Reads what a text says of the tables: a config of the study `cube`, or a part of it. `path`: its name in messages.
    ///
    /// Refused, with the place in the text: what is refused in a config, but that shares need not add up.
    pub(crate) fn of(path: &Path, text: &str) -> Result<Self> {
        let checker = Checker::new(path, text, text, |_| None);
        let Wire { data, query } = checker.parse()?;
        let WireData { levels, root, attributes, zeros, known } = &data;
        Self::new(&checker, &Given { levels, root, attributes, zeros, known, query: &query })
    }

    /// Checks what a config says.
    pub(crate) fn new(checker: &Checker, given: &Given) -> Result<Self> {
        let levels = given.levels.get_ref();
        checker.no_duplicates("data.levels", levels, given.levels.span())?;
        let root = given.root.clone().unwrap_or_else(|| ROOT.to_owned());
        if levels.is_empty() || levels.contains(&root) {
            let label =
                "want the columns of the levels below the root, coarse to fine, none with the root's name";
            return Err(checker.error("data.levels", given.levels.span(), label));
        }
        let mut attributes = Vec::new();
        for (name, given) in given.attributes {
            let categories: Vec<String> = match given.get_ref() {
                WireAttribute::Number(n) if *n > MOST => {
                    let label = format!("want at most {MOST} categories");
                    return Err(checker.error(
                        format!("data.attributes.{name}: got {n}"),
                        given.span(),
                        label,
                    ));
                }
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
        let zeros = given.zeros.iter().map(zero).collect::<Result<_>>()?;
        let levels = std::iter::once(root).chain(levels.iter().cloned()).collect();
        let mut tables = Self { levels, attributes, zeros, queries: Vec::new() };
        for query in given.query {
            tables.ask(checker, query)?;
        }
        for known in given.known {
            tables.know(checker, known)?;
        }
        Ok(tables)
    }

    fn ask(&mut self, checker: &Checker, given: &Spanned<WireQuery>) -> Result<()> {
        let asked = query(checker, given.get_ref(), given.span(), self)?;
        if self.queries.iter().any(|other| other.name == asked.name) {
            let label = "want a `name` of its own for each query";
            return Err(checker.error(format!("query: got `{}` twice", asked.name), given.span(), label));
        }
        self.queries.push(asked);
        Ok(())
    }

    fn know(&mut self, checker: &Checker, known: &Spanned<WireKnown>) -> Result<()> {
        let (level, name) = match known.get_ref() {
            WireKnown::Level(level) => (level, None),
            WireKnown::Query { level, query } => (level, Some(query)),
        };
        let place = self::level(checker, "data.known", (level, known.span()), self)?;
        let total = Query::total();
        let is_taken = self.queries.iter().any(|asked| asked.name == TOTAL);
        let all = &mut self.queries;
        let found = match name {
            Some(name) => all.iter_mut().find(|asked| asked.name == *name),
            None => all.iter_mut().find(|asked| asked.query == total),
        };
        let asked = match (found, name) {
            (Some(asked), _) => asked,
            (None, Some(name)) => {
                let names: Vec<&str> = all.iter().map(|asked| asked.name.as_str()).collect();
                let message = format!("data.known: got the query `{name}`");
                return Err(checker.error(message, known.span(), one_of(name, &names)));
            }
            (None, None) if is_taken => {
                let label =
                    "want another name for the query that is called `total`: totals that are known have it";
                return Err(checker.error("query: got `total` twice", known.span(), label));
            }
            (None, None) => {
                let measured = vec![Measured::Not; self.levels.len()];
                // Nobody asks for it.
                all.push(Asked { name: TOTAL.into(), query: total, measured, wanted: Some(Vec::new()) });
                all.last_mut().expect("it was just added")
            }
        };
        if asked.measured[place] != Measured::Not {
            let label = "want no share of what is known, and each of it once";
            let message = format!("data.known: `{}` of `{level}` is measured or known already", asked.name);
            return Err(checker.error(message, known.span(), label));
        }
        asked.measured[place] = Measured::Known;
        Ok(())
    }

    /// The numbers of categories, by attribute.
    pub(crate) fn sizes(&self) -> Vec<u32> {
        self.attributes.iter().map(|(_, categories)| categories.len() as u32).collect()
    }

    /// The words of an answer of a query, by attribute: the name of a category, those of a group with ` | ` between, blank where the query
    /// sums over it. `codes`: as [`crate::cube::Marginal::codes`] gives them.
    pub(crate) fn words(&self, query: &Query, codes: &[u32]) -> Vec<String> {
        let word = |(place, (code, (_, categories))): (usize, (&u32, &(String, Vec<String>)))| match (
            query.names(place),
            query.groups(place),
        ) {
            (false, _) => String::new(),
            (true, None) => categories[*code as usize].clone(),
            (true, Some(groups)) => {
                let own = groups[*code as usize].iter().map(|&category| &*categories[category as usize]);
                own.collect::<Vec<_>>().join(" | ")
            }
        };
        codes.iter().zip(&self.attributes).enumerate().map(word).collect()
    }

    /// What the tables are, as a text from which they can be read: levels, attributes, zeros and queries.
    pub(crate) fn text(&self) -> String {
        let list = |of: &mut dyn Iterator<Item = &String>| {
            of.map(|text| toml_edit::Value::from(text.as_str())).collect::<toml_edit::Array>()
        };
        let mut data = toml_edit::Table::new();
        data["levels"] = toml_edit::value(list(&mut self.levels[1..].iter()));
        data["root"] = toml_edit::value(&self.levels[0]);
        let mut attributes = toml_edit::InlineTable::new();
        for (name, categories) in &self.attributes {
            attributes.insert(name, list(&mut categories.iter()).into());
        }
        data["attributes"] = toml_edit::value(attributes);
        let zero = |zero: &Zero| {
            let part = |(attribute, gone): &(usize, Vec<u32>)| {
                let (name, categories) = &self.attributes[*attribute];
                let gone: Vec<&str> = gone.iter().map(|&category| &*categories[category as usize]).collect();
                format!("{name} = {}", gone.join(" | "))
            };
            zero.of.iter().map(part).collect::<Vec<_>>().join(" & ")
        };
        data["zeros"] = toml_edit::value(self.zeros.iter().map(zero).collect::<toml_edit::Array>());
        let mut queries = toml_edit::ArrayOfTables::new();
        for asked in &self.queries {
            let mut own = toml_edit::Table::new();
            own["name"] = toml_edit::value(&asked.name);
            let named = || self.attributes.iter().enumerate().filter(|(place, _)| asked.query.names(*place));
            own["of"] = toml_edit::value(list(&mut named().map(|(_, (name, _))| name)));
            let mut all = toml_edit::InlineTable::new();
            for (place, (name, categories)) in named() {
                if let Some(groups) = asked.query.groups(place) {
                    let group = |group: &Vec<u32>| {
                        list(&mut group.iter().map(|&category| &categories[category as usize]))
                    };
                    all.insert(name, groups.iter().map(group).collect::<toml_edit::Array>().into());
                }
            }
            if !all.is_empty() {
                own["groups"] = toml_edit::value(all);
            }
            queries.push(own);
        }
        let mut document = toml_edit::DocumentMut::new();
        document["data"] = toml_edit::Item::Table(data);
        document["query"] = toml_edit::Item::ArrayOfTables(queries);
        document.to_string()
    }
}

/// The answers of queries by their words.
pub(crate) struct ByWords {
    /// The numbers of the queries by their names.
    numbers: HashMap<String, usize>,
    /// By query its name, and the numbers of its answers by their words.
    queries: Vec<(String, HashMap<Vec<String>, usize>)>,
}

impl ByWords {
    /// The answers of the queries of some tables. `queries`: on the domain, one for each.
    pub(crate) fn new(tables: &AreaTables, domain: &Domain, queries: &[Marginal]) -> Self {
        let of = |(asked, marginal): (&Asked, &Marginal)| {
            let words = |answer| tables.words(&asked.query, &marginal.codes(domain, answer));
            (asked.name.clone(), (0..marginal.answers()).map(|answer| (words(answer), answer)).collect())
        };
        let numbers = tables.queries.iter().map(|asked| asked.name.clone()).zip(0..).collect();
        Self { numbers, queries: tables.queries.iter().zip(queries).map(of).collect() }
    }

    /// The number of a query. Errors: why there is none.
    pub(crate) fn query(&self, name: &str) -> std::result::Result<usize, String> {
        self.numbers.get(name).copied().ok_or_else(|| {
            let names: Vec<&str> = self.queries.iter().map(|(name, _)| &**name).collect();
            format!("`query` = `{name}`, want one of {}", names.join(", "))
        })
    }

    /// The number of the answer of a query with these words, one for each attribute. Errors: why there is none.
    pub(crate) fn answer(&self, query: usize, words: &[String]) -> std::result::Result<usize, String> {
        let (name, answers) = &self.queries[query];
        answers.get(words).copied().ok_or_else(|| {
            let example = answers.iter().find(|(_, answer)| **answer == 0);
            let example =
                example.map_or(String::new(), |(words, _)| format!(", want such as `{}`", words.join(", ")));
            format!("the query `{name}` has no answer `{}`{example}", words.join(", "))
        })
    }
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

/// The shares of all queries, level by level in each.
pub(crate) fn shares(queries: &[Asked]) -> impl Iterator<Item = f64> {
    queries.iter().flat_map(|asked| &asked.measured).filter_map(|measured| match measured {
        Measured::Share(share) => Some(*share),
        _ => None,
    })
}

fn level(
    checker: &Checker,
    key: &str,
    (name, span): (&str, Range<usize>),
    tables: &AreaTables,
) -> Result<usize> {
    tables.levels.iter().position(|known| known == name).ok_or_else(|| {
        let names: Vec<&str> = tables.levels.iter().map(String::as_str).collect();
        checker.error(format!("{key}: got the level `{name}`"), span, one_of(name, &names))
    })
}

fn query(checker: &Checker, wire: &WireQuery, span: Range<usize>, tables: &AreaTables) -> Result<Asked> {
    let of = wire.of.get_ref();
    checker.no_duplicates("query.of", of, wire.of.span())?;
    let place = |name: &String| attribute(checker, "query.of", (name, wire.of.span()), &tables.attributes);
    let mut query = Query::of(&of.iter().map(place).collect::<Result<Vec<_>>>()?);
    for (name, groups) in &wire.groups {
        let place = attribute(checker, "query.groups", (name, groups.span()), &tables.attributes)?;
        if !of.contains(name) {
            let label = "want the attribute in `of`, too";
            return Err(checker.error(format!("query.groups: got `{name}`"), groups.span(), label));
        }
        let number =
            |text: &WireCategory| category(checker, (&text.text(), groups.span()), &tables.attributes[place]);
        let groups_of = |group: &Vec<_>| group.iter().map(number).collect::<Result<Vec<u32>>>();
        let numbers = groups.get_ref().iter().map(groups_of).collect::<Result<Vec<_>>>()?;
        let all: Vec<u32> = numbers.iter().flatten().copied().collect();
        let names: Vec<String> =
            all.iter().map(|&number| tables.attributes[place].1[number as usize].clone()).collect();
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
    let mut measured = vec![Measured::Not; tables.levels.len()];
    for (name, &share) in wire.shares.get_ref() {
        let place = level(checker, "query.shares", (name, wire.shares.span()), tables)?;
        measured[place] = Measured::Share(checker.positive("query.shares", share, wire.shares.span())?);
    }
    let wanted = |asked: &Spanned<Vec<String>>| {
        checker.no_duplicates("query.asked", asked.get_ref(), asked.span())?;
        let place = |name: &String| level(checker, "query.asked", (name, asked.span()), tables);
        asked.get_ref().iter().map(place).collect::<Result<Vec<_>>>()
    };
    let wanted = wire.asked.as_ref().map(wanted).transpose()?;
    let name = wire.name.clone().unwrap_or_else(|| match of.is_empty() {
        true => TOTAL.to_owned(),
        false => of.join("*"),
    });
    let is_good = !name.is_empty() && name.chars().all(|c| !c.is_control());
    match is_good {
        true => Ok(Asked { name, query, measured, wanted }),
        false => Err(checker.error("query.name", span, "want a name on one line")),
    }
}
