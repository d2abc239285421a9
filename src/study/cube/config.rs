//! The config of a study of trees of tables.

use super::wire::{Wire, WireBlock, WireData, WirePassing, WireWay};
use crate::catalogue::LawKind;
use crate::config::tables::{AreaTables, Asked, Given, Measured, shares};
use crate::config::{Checker, Preface, Shown, one_of};
use crate::failure::Result;
use crate::grid::absolute;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// The column of counts where `data.count` gives no other.
const COUNT: &str = "count";
/// Releases at least of which an interval of 90 % is made.
const BOOTSTRAP: u64 = 19;
/// Cells of a run at most.
const CELLS: usize = 100_000;

/// A checked config.
#[derive(Debug, Clone)]
pub(super) struct CubeConfig {
    pub(super) name: String,
    pub(super) seed: u64,
    pub(super) data: Data,
    pub(super) points: Vec<Point>,
    pub(super) about: Preface,
    /// Whether what was measured in the first release of every cell is written.
    pub(super) keep_draws: bool,
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
    pub(super) bounds: Option<PathBuf>,
    pub(super) tables: AreaTables,
}

/// What is drawn.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Point {
    pub(super) epsilon: f64,
    pub(super) delta: Option<f64>,
    pub(super) law: LawKind,
    pub(super) method: Way,
    pub(super) passes: Passes,
    /// Releases of the released tables, of `topdown` and `bluedown`.
    pub(super) bootstrap: Option<u64>,
    pub(super) replicates: u64,
}

/// The queries that are settled before the tables, by number and by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Passes(pub(super) Vec<(usize, String)>);

impl Passes {
    /// Their names; `None` where there are none.
    pub(super) fn names(&self) -> Option<String> {
        let names: Vec<&str> = self.0.iter().map(|(_, name)| &**name).collect();
        (!names.is_empty()).then(|| names.join(","))
    }
}

/// A method with its passes.
struct Chosen(Way, Passes);

impl Shown for Chosen {
    fn shown(&self) -> String {
        method_words(self.0, &self.1)
    }
}

/// A method with its passes, in words.
fn method_words(method: Way, passes: &Passes) -> String {
    let passes = passes.names().map_or(String::new(), |names| format!(" passes={names}"));
    format!("{}{passes}", method.name())
}

/// What is made of the noisy answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Nothing: each answer with its own noise.
    Unconstrained,
    /// The best linear unbiased estimate.
    Gls,
    /// Noise given that all tables add up.
    Exact,
    /// Integers at least 0 from the root down, each area by its own answers.
    TopDown,
    /// Integers at least 0 from the root down, each area by all answers in its subtree.
    BlueDown,
}

impl Way {
    pub(super) const ALL: [Self; 5] =
        [Self::Unconstrained, Self::Gls, Self::Exact, Self::TopDown, Self::BlueDown];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Unconstrained => "unconstrained",
            Self::Gls => "gls",
            Self::Exact => "exact",
            Self::TopDown => "topdown",
            Self::BlueDown => "bluedown",
        }
    }
}

impl Way {
    /// Whether it makes tables of integers at least 0.
    pub(super) fn is_descent(self) -> bool {
        matches!(self, Self::TopDown | Self::BlueDown)
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }
}

/// Checks a config.
pub(super) fn check(checker: &Checker) -> Result<CubeConfig> {
    let wire: Wire = checker.parse()?;
    checker.name("name", &wire.name)?;
    checker.thresholds(&wire.compare)?;
    let folder = checker.path.parent().unwrap_or(Path::new("."));
    let data = data(checker, &wire, folder)?;
    let mut points = Vec::new();
    for block in &wire.grid {
        of_block(checker, block, &data.tables, &mut points)?;
    }
    if points.is_empty() {
        return Err(checker.error("grid: missing", wire.name.span(), "want a [[grid]] block"));
    }
    if let Some(bounds) =
        wire.data.bounds.as_ref().filter(|_| !points.iter().any(|point| point.method.is_descent()))
    {
        let label = "want `topdown` or `bluedown` in the grid: no other method keeps bounds";
        return Err(checker.error(format!("data.bounds: got `{}`", bounds.get_ref()), bounds.span(), label));
    }
    Ok(CubeConfig {
        name: wire.name.get_ref().clone(),
        seed: wire.seed,
        data,
        points,
        about: wire.about.clone(),
        keep_draws: wire.keep_draws,
        given: checker.given.to_owned(),
        text: checker.text.to_owned(),
        path: checker.path.to_owned(),
    })
}

fn data(checker: &Checker, file: &Wire, folder: &Path) -> Result<Data> {
    let wire = &file.data;
    let kind = wire.kind.get_ref();
    if kind != super::KIND {
        let label = format!("want \"{}\"", super::KIND);
        return Err(checker.error(format!("data.kind: got `{kind}`"), wire.kind.span(), label));
    }
    let WireData { levels, root, attributes, zeros, known, .. } = wire;
    let tables =
        AreaTables::new(checker, &Given { levels, root, attributes, zeros, known, query: &file.query })?;
    check_shares(checker, file, &tables.queries)?;
    let count = count(checker, wire, &tables)?;
    let bounds = wire.bounds.as_ref().map(|bounds| folder.join(bounds.get_ref()));
    Ok(Data { areas: folder.join(&wire.areas), counts: folder.join(&wire.counts), count, bounds, tables })
}

/// The column of counts. Errors: it is that of a level or an attribute.
fn count(checker: &Checker, wire: &WireData, tables: &AreaTables) -> Result<String> {
    let count = wire.count.as_ref().map_or(COUNT, |count| count.get_ref());
    let (of, other) = match wire.attributes.get(count) {
        Some(attribute) => ("an attribute", attribute.span()),
        None if tables.levels[1..].iter().any(|level| level == count) => ("a level", wire.levels.span()),
        None => return Ok(count.to_owned()),
    };
    let span = wire.count.as_ref().map_or(other, Spanned::span);
    let label = format!("want a column of its own for the counts: this one is that of {of}");
    Err(checker.error(format!("data.count: got `{count}`"), span, label))
}

/// Refuses shares that do not add up to 1, and queries without any.
fn check_shares(checker: &Checker, wire: &Wire, queries: &[Asked]) -> Result<()> {
    let span = wire.query.first().map_or(wire.name.span(), Spanned::span);
    let sum: f64 = shares(queries).sum();
    if (sum - 1.0).abs() > 1e-9 {
        let label = "want shares of the budget that add up to 1, over all queries and levels";
        return Err(checker.error(format!("query: the shares add up to {sum}"), span, label));
    }
    let is_idle = |asked: &&Asked| {
        asked.measured.iter().all(|measured| *measured == Measured::Not)
            && asked.wanted.as_ref().is_none_or(Vec::is_empty)
    };
    match queries.iter().find(is_idle) {
        None => Ok(()),
        Some(idle) => {
            let place = queries.iter().position(|asked| asked.name == idle.name);
            let span = place.and_then(|place| wire.query.get(place)).map_or(span, Spanned::span);
            let message = format!("query: `{}` is measured nowhere", idle.name);
            Err(checker.error(message, span, "want `shares` for it, by level, or `asked`"))
        }
    }
}

/// A method. Errors: its name; passes of another, or of queries that are none.
fn chosen(checker: &Checker, wire: &WireWay, span: Range<usize>, tables: &AreaTables) -> Result<Chosen> {
    let (name, passes) = match wire {
        WireWay::Name(name) => (name, &[][..]),
        WireWay::Passing(WirePassing { kind, passes }) => {
            (kind, passes.as_ref().map_or(&[][..], |passes| &passes.0))
        }
    };
    let Some(method) = Way::named(name) else {
        let names = Way::ALL.map(Way::name);
        return Err(checker.error(format!("method: got `{name}`"), span, one_of(name, &names)));
    };
    if !passes.is_empty() && !method.is_descent() {
        let label = "want passes of `topdown` and `bluedown` alone";
        return Err(checker.error(format!("passes: got some of `{name}`"), span, label));
    }
    let number = |name: &String| {
        let found = tables.queries.iter().position(|asked| asked.name == *name);
        found.map(|query| (query, name.clone())).ok_or_else(|| {
            let names: Vec<&str> = tables.queries.iter().map(|asked| asked.name.as_str()).collect();
            checker.error(format!("passes: got the query `{name}`"), span.clone(), one_of(name, &names))
        })
    };
    Ok(Chosen(method, Passes(passes.iter().map(number).collect::<Result<_>>()?)))
}

/// How often tables are released again. Errors: too few times; without a method that has such tables.
fn bootstrap(checker: &Checker, times: &Spanned<i64>, has_descent: bool) -> Result<u64> {
    let label = match u64::try_from(*times.get_ref()).ok().filter(|times| *times >= BOOTSTRAP) {
        Some(times) if has_descent => return Ok(times),
        Some(_) => "want it with `topdown` or `bluedown`",
        None => "want at least 19 releases: fewer have no 90 % interval",
    };
    Err(checker.error(format!("bootstrap: got {}", times.get_ref()), times.span(), label))
}

fn of_block(
    checker: &Checker,
    block: &WireBlock,
    tables: &AreaTables,
    points: &mut Vec<Point>,
) -> Result<()> {
    let positive = |key: &'static str| move |&x: &f64, span| checker.positive(key, x, span);
    let epsilon = checker.axis("epsilon", &block.epsilon, positive("epsilon"))?;
    let law = checker.axis("law", &block.law, |name, span| checker.law(name, span))?;
    let fits = |law: &LawKind| law.on_hierarchies();
    if let Some(law) = law.iter().find(|law| !fits(law)) {
        let names: Vec<&str> = LawKind::ALL.iter().filter(|law| fits(law)).map(|law| law.name()).collect();
        let label = format!("want one of {} here", names.join(", "));
        return Err(checker.error(format!("law: got `{}`", law.name()), block.law.span(), label));
    }
    let methods = checker.axis("method", &block.method, |wire, span| chosen(checker, wire, span, tables))?;
    let replicates = checker.positive_integer("replicates", &block.replicates)?;
    let has_descent = methods.iter().any(|Chosen(method, _)| method.is_descent());
    let bootstrap =
        block.bootstrap.as_ref().map(|times| bootstrap(checker, times, has_descent)).transpose()?;
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
            for Chosen(method, passes) in &methods {
                let (method, passes) = (*method, passes.clone());
                let bootstrap = bootstrap.filter(|_| method.is_descent());
                let point = Point { epsilon, delta, law, method, passes, bootstrap, replicates };
                let same = |other: &Point| other.words() == point.words();
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
    /// The method with its passes, in words.
    pub(super) fn method_words(&self) -> String {
        method_words(self.method, &self.passes)
    }

    /// What it is, in words and as its key.
    pub(super) fn words(&self) -> String {
        let delta = self.delta.map_or(String::new(), |delta| format!(" delta={delta:?}"));
        let method = self.method_words();
        format!("epsilon={:?} law={}{delta} method={method}", self.epsilon, self.law.name())
    }
}

impl CubeConfig {
    /// The text with absolute paths of what it names: it is run from another folder.
    pub(super) fn resolved(&self) -> String {
        let mut document: toml_edit::DocumentMut = self.text.parse().expect("it was read before");
        document["data"]["areas"] = toml_edit::value(absolute(&self.data.areas));
        document["data"]["counts"] = toml_edit::value(absolute(&self.data.counts));
        if let Some(bounds) = &self.data.bounds {
            document["data"]["bounds"] = toml_edit::value(absolute(bounds));
        }
        document.to_string()
    }
}
