//! From a config and its data to the cells of the run, each with a key of what it is.

mod axes;
mod excluded;
mod key;
mod resolved;

use crate::catalogue::{self, IntegerNoise, LawKind, Method, OnLaw, Place, RealNoise};
use crate::config::{Block, CellPart, Config, Point, QuerySpec, SplitSpec};
use crate::failure::{Failure, Result};
use crate::input::{
    Asked, Bound, CsvTable, DataSource, HierarchyTable, InvariantSpec, InvariantTable, Known, Refusal, Shape,
    Subject, Wanted, read_subject,
};
use crate::law::EuclideanLaplace;
use crate::methods::{On, OnTable, OnTree, Problem, Streams};
use crate::privacy::{Amount, Budget, Calibration, Declared, LatticeShape, Split, generalized_gaussian};
use crate::rng::{Role, TaskKey};
use excluded::Excluded;
pub use resolved::{absolute, invariant_blocks, resolved};
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// One point of the grid.
#[derive(Debug, Clone)]
pub struct Cell {
    /// Hash of what the cell is: the same in every grid that contains it.
    pub key: u64,
    /// Hash of what the cell is, whatever the master seed; its streams are made of it and the seed.
    pub streams: u64,
    /// Key of its chain, whatever the length, and without a lag: what studies of releases and of meetings share; `None` of other methods.
    pub chain: Option<u64>,
    /// Its place on the axes of the grid.
    pub at: Point,
    /// Whether its config has several, so that the seed is a part of the key.
    pub seeded: bool,
    /// The budget of the noise: as given, or found for `paid`.
    pub epsilon: f64,
    /// What its releases are to pay, where budgets are that (no part of the key: epsilon is).
    pub paid: Option<Amount>,
    /// The noise of each level and what measuring all of them pays.
    pub calibration: Calibration,
    /// Whether every release is >= 0: by the method's option, or by an invariant that the method keeps.
    pub nonnegative: bool,
    /// What its study adds (no part of the key: of what was drawn nothing changes with it).
    pub part: Arc<dyn CellPart>,
    /// Replicates (no part of the key: more of them extend a cell).
    pub replicates: u64,
    /// What a mechanism of one's own says that it pays (no part of the key).
    pub pays: Option<Declared>,
}

impl Cell {
    /// epsilon and delta of measuring all levels; of a mechanism of one's own what it says, for the first change of
    /// which it says something.
    pub fn total(&self) -> (f64, f64) {
        let declared = self.pays.and_then(|pays| Some((pays.first()?, pays.delta)));
        declared.unwrap_or((self.calibration.epsilon, self.calibration.delta))
    }

    /// Whether both have one chain, whatever its length, and one master seed.
    pub fn has_chain_of(&self, other: &Self) -> bool {
        self.chain == other.chain && self.at.seed == other.at.seed
    }

    /// Key of the cell of a study of meetings with its chain.
    pub fn meeting_key(&self, lag: u64, subject: &Subject) -> u64 {
        self.chain_key(Some(lag), subject)
    }

    fn chain_key(&self, lag: Option<u64>, subject: &Subject) -> u64 {
        let at = Point { method: self.at.method.without_length(), lag, ..self.at.clone() };
        key::streams(&Self { at, ..self.clone() }, subject)
    }

    /// What its noise is: cells with the same words have the same noise.
    pub fn noise(&self) -> String {
        key::noise(self)
    }

    /// The key as it is printed: 16 hexadecimal digits.
    pub fn key_text(&self) -> String {
        format!("{:016x}", self.key)
    }

    /// The cell with another method, as a release.
    pub fn with(&self, method: Method, subject: &Subject) -> Self {
        let nonnegative = nonnegative(method, subject);
        let at = Point { method, lag: None, ..self.at.clone() };
        let cell = Self { at, nonnegative, part: Arc::new(()), ..self.clone() };
        let pays = self.pays.filter(|_| method == self.at.method);
        Self { pays, ..cell }.keyed(subject)
    }

    /// The cell with the keys of what it is.
    fn keyed(mut self, subject: &Subject) -> Self {
        self.streams = key::streams(&self, subject);
        self.key = key::cell(&self, subject);
        self.chain = self.at.method.is_chain().then(|| self.chain_key(None, subject));
        self
    }

    /// The cell with another budget of its noise. `shape`: of the table's lattice, once it is needed. Errors: the law's calibration.
    pub fn at(
        &self,
        epsilon: f64,
        subject: &Subject,
        shape: &OnceCell<crate::Result<LatticeShape>>,
    ) -> crate::Result<Self> {
        let calibration = calibrate(&self.at, epsilon, subject, shape)?;
        Ok(Self { epsilon, calibration, ..self.clone() }.keyed(subject))
    }

    /// What its method is asked to serve: its noise on these counts, with the streams of its releases.
    pub fn problem<'a>(&'a self, subject: &'a Subject) -> Problem<'a> {
        let place = on(subject);
        let Self { at: Point { method, law, seed, .. }, epsilon, calibration, .. } = self;
        let noise = method.noise_like().map_or(self.streams, |other| self.with(other, subject).streams);
        let key = TaskKey { seed: *seed, cell: self.streams, replicate: 0, role: Role::Noise };
        let streams = Streams { key, noise, records: 0 };
        Problem { asked: **method, law: *law, epsilon: *epsilon, calibration, place, streams }
    }

    /// The cell in words, for people.
    pub fn words(&self) -> String {
        format!("{} {} epsilon {}", self.at.method.words(), self.at.law.name(), self.epsilon)
    }
}

/// Everything that a run needs.
#[derive(Debug)]
pub struct Plan {
    /// The config.
    pub config: Config,
    /// The confidential counts.
    pub subject: Subject,
    /// The cells, in the order of the config.
    pub cells: Vec<Cell>,
    /// What is asked of single counts, if anything is.
    pub asked: Option<Arc<Asked>>,
    /// The lines of its key that its study adds.
    pub part_key: String,
    /// Whether each cell stands for those of all master seeds: see [`Plan::pooled`].
    pub pooled: bool,
}

/// The columns that a config reads of its data.
pub fn wanted(config: &Config) -> Wanted<'_> {
    let queried = config.part.queries().queries.iter().flat_map(|query| &query.columns).map(String::as_str);
    Wanted::by(&config.data).and(queried)
}

impl Plan {
    /// Reads the data and expands the grid.
    ///
    /// Refused: what the data loader refuses; a split that does not fit the tree; a method that cannot
    /// serve a law; a cell defined twice; a grid from which everything is excluded.
    pub fn new(config: Config) -> Result<Self> {
        let table = CsvTable::read_wanted(&config.data.table, &wanted(&config))?;
        meet(&config)?;
        Self::on(config, table)
    }

    /// Expands the grid on a table that was read. Refused: as [`Plan::new`]; methods that are not ours are not asked what they promise.
    pub fn on(config: Config, table: CsvTable) -> Result<Self> {
        let (subject, asked) = subject(&config, table)?;
        let part_key = config.part.key(&subject, asked.as_deref())?;
        let mut cells: Vec<Cell> = Vec::new();
        let (mut keys, shape) = (HashSet::new(), OnceCell::new());
        let excluded = Excluded::new(&config.excludes);
        // Of several master seeds: cells of all seeds that came, and the last.
        let (mut groups, mut group) = (HashSet::new(), None);
        for block in &config.blocks {
            for cell in expand(&config, &excluded, block, &subject, &shape)? {
                let place = place(&subject);
                let lagged = cell.at.lag.is_some();
                let serves = cell.at.method.serves(cell.at.law, place);
                let serves =
                    serves.and_then(|()| cell.part.serves(cell.at.method, cell.at.law, place, lagged));
                let fits = || cell.at.method.fits(on(&subject)).map_err(|e| e.to_string());
                let serves = serves.and_then(|()| fits());
                serves.map_err(|reason| unserved(&config, block, cell.at.method, &reason))?;
                let paid = cell.paid.map(|paid| paid.exact());
                let this = Some((cell.streams, paid.clone()));
                let apart = cell.seeded && group != this && !groups.insert(this.clone());
                group = this;
                if !keys.insert((cell.key, paid)) || apart {
                    return Err(config.error(
                        format!(
                            "grid: `{}` at {} is defined twice{}",
                            cell.at.method.name(),
                            match cell.paid {
                                Some(paid) => format!("paid {paid}"),
                                None => format!("epsilon {}", cell.epsilon),
                            },
                            if apart { ", with other seeds" } else { "" }
                        ),
                        block.method_span.clone(),
                        "want every cell in one block only",
                    ));
                }
                cells.push(cell);
            }
        }
        if cells.is_empty() {
            let data = match &config.data_name[..] {
                "" => String::new(),
                name => format!(" of the data set `{name}`"),
            };
            let path = config.path.display();
            return Err(Failure::Usage(format!("{path}: every cell{data} is excluded, nothing to run")));
        }
        Ok(Self { config, subject, cells, asked, part_key, pooled: false })
    }

    /// The plan of a config with several master seeds in which one cell stands for those that differ in nothing else,
    /// with the replicates of all of them and the key that it has in a config of one seed; and by cell of this plan its
    /// place there.
    pub fn pooled(&self) -> Option<(Self, Vec<usize>)> {
        if self.config.seeds.len() < 2 {
            return None;
        }
        let mut cells: Vec<Cell> = Vec::new();
        let mut places = Vec::new();
        for cell in &self.cells {
            // Seeds of one cell stand beside each other.
            match cells.last_mut().filter(|last| last.key == cell.streams && last.paid == cell.paid) {
                Some(last) => {
                    last.replicates += cell.replicates;
                    if let Some(both) = last.part.with(&*cell.part) {
                        last.part = both;
                    }
                }
                None => cells.push(Cell { key: cell.streams, seeded: false, ..cell.clone() }),
            }
            places.push(cells.len() - 1);
        }
        let Self { config, subject, asked, part_key, .. } = self;
        let (config, subject, asked) = (config.clone(), subject.clone(), asked.clone());
        let pooled = Self { config, subject, cells, asked, part_key: part_key.clone(), pooled: true };
        Some((pooled, places))
    }

    /// Hash of the config as resolved, 16 hexadecimal digits: name, seed, and every cell with its
    /// replicates. Names the folder.
    pub fn hash(&self) -> String {
        format!("{:016x}", key::plan(self))
    }
}

/// Refuses cells of one chain with other seeds, of those of which something is computed once a chain and belongs to all of its cells.
pub fn same_seeds_of_chains(plan: &Plan, computes: impl Fn(&Cell) -> bool) -> Result<()> {
    let mut seeds: HashMap<Option<u64>, Vec<u64>> = HashMap::new();
    let seeded: Vec<&Cell> = plan.cells.iter().filter(|cell| cell.seeded && computes(cell)).collect();
    for same in seeded.chunk_by(|a, b| a.streams == b.streams) {
        let of_cell: Vec<u64> = same.iter().map(|cell| cell.at.seed).collect();
        let of_chain = seeds.entry(same[0].chain).or_insert_with(|| of_cell.clone());
        if *of_chain != of_cell {
            let message = format!(
                "seed: got {of_chain:?} and {of_cell:?} for one chain of `{}`",
                same[0].at.method.name()
            );
            let span = plan.config.blocks[0].method_span.clone();
            let label =
                "pairs, marginals and groups belong to a chain: want the same seeds for all of its cells";
            return Err(plan.config.error(message, span, label));
        }
    }
    Ok(())
}

/// Asks the methods that are not ours what they promise. Errors: one that cannot be used.
pub fn meet(config: &Config) -> Result<()> {
    let excluded = Excluded::new(&config.excludes);
    for block in &config.blocks {
        let mut seen = HashSet::new();
        let noises = axes::noises(config, block);
        let methods = noises.iter().flat_map(|noise| noise.methods(config, &excluded, block));
        for (_, method, _) in methods.filter(|(place, ..)| seen.insert(*place)) {
            if let Some(own) = method.own() {
                own.meet().map_err(|why| {
                    config.error(
                        format!("method: {why}"),
                        block.method_span.clone(),
                        "this method cannot be used",
                    )
                })?;
            }
        }
    }
    Ok(())
}

/// The confidential counts with their structure, and what the config asks of single ones.
fn subject(config: &Config, table: CsvTable) -> Result<(Subject, Option<Arc<Asked>>)> {
    for QuerySpec { columns, span } in &config.part.queries().queries {
        if let Some(unknown) = columns.iter().find(|column| !table.columns.contains(column)) {
            let known = table.columns.iter().filter(|column| **column != config.data.count);
            let label = format!("want columns of {}", known.cloned().collect::<Vec<_>>().join(", "));
            let data = match &config.data_name[..] {
                "" => String::new(),
                name => format!(" of the data set `{name}`"),
            };
            return Err(config.error(format!("report.queries: got `{unknown}`{data}"), span.clone(), label));
        }
    }
    let queries: Vec<&[String]> =
        config.part.queries().queries.iter().map(|query| &query.columns[..]).collect();
    let read = read_subject(table, &config.data, &queries, config.part.keep());
    let (subject, asked) = read.map_err(|refusal| match (refusal, &config.data.shape) {
        (Refusal::Invariant(i, message), shape) => {
            let span = match shape {
                Shape::Table { invariants, .. } => invariants[i].1.clone(),
                Shape::Hierarchy { inequalities, .. } => inequalities[i].1.clone(),
            };
            config.error(message, span, "this invariant does not fit the data")
        }
        (Refusal::File(failure), _) => failure,
    })?;
    Ok((subject, asked.map(Arc::new)))
}

/// Whether every release of a method is >= 0.
fn nonnegative(method: Method, subject: &Subject) -> bool {
    method.nonnegative() || (subject.implies_nonnegative() && method.keeps_inequalities())
}

/// The cells of a block. `shape`: of the table's lattice, once a block needs it.
fn expand(
    config: &Config,
    excluded: &Excluded,
    block: &Block,
    subject: &Subject,
    shape: &OnceCell<crate::Result<LatticeShape>>,
) -> Result<Vec<Cell>> {
    let mut cells = Vec::new();
    let lags = match &block.axes.lag[..] {
        [] => vec![None],
        lags => lags.iter().copied().map(Some).collect(),
    };
    for noise in axes::noises(config, block) {
        // What is excluded need not calibrate.
        let methods = noise.methods(config, excluded, block);
        if methods.is_empty() {
            continue;
        }
        let budget = noise.point.budget;
        let at =
            |epsilon: f64| calibrate(&noise.point, epsilon, subject, shape).map(|noise| (epsilon, noise));
        let paid = config.paid.then_some(budget);
        // Where a loss is asked for, its epsilon is looked for: from any that the law serves.
        let starts: &[f64] = if paid.is_some() { &[0.1, 1e-3, 1e-5] } else { &[] };
        let or_from = |found: crate::Result<_>, &start: &f64| found.or_else(|e| at(start).map_err(|_| e));
        let calibrated = starts.iter().fold(at(budget.loss), or_from);
        let (epsilon, calibration) = calibrated.map_err(|e| unbought(config, block, &e))?;
        for (_, method, seeds) in methods {
            let cell = Cell {
                key: 0,
                streams: 0,
                chain: None,
                at: Point { method, ..noise.point.clone() },
                seeded: config.seeds.len() > 1,
                epsilon,
                paid,
                nonnegative: nonnegative(method, subject),
                calibration: calibration.clone(),
                part: block.part.clone(),
                replicates: block.replicates,
                pays: (!method.facts().states_loss).then(Declared::default),
            };
            for &lag in &lags {
                for &seed in &seeds {
                    let mut cell = cell.clone();
                    (cell.at.lag, cell.at.seed) = (lag, seed);
                    if cell.at.lag.is_none() || !excluded.has(&cell.at) {
                        cells.push(cell.keyed(subject));
                    }
                }
            }
        }
    }
    Ok(cells)
}

/// The noise that a budget buys. `shape`: of the table's lattice, once it is needed. Errors: a budget that the law or
/// the levels do not take.
pub fn calibrate(
    at: &Point,
    epsilon: f64,
    subject: &Subject,
    shape: &OnceCell<crate::Result<LatticeShape>>,
) -> crate::Result<Calibration> {
    let &Point { law, delta, sensitivity, .. } = at;
    let known = subject.known_levels();
    if !law.is_noise() {
        // Whatever the scales: nothing is drawn by them, and nothing is promised.
        let scales = vec![1.0; subject.levels() - known];
        return Ok(Calibration { scales, epsilon: f64::INFINITY, delta: 0.0 }.below_known(known));
    }
    if let (true, Subject::Table(table)) = (law.facts().by_lattice, subject) {
        let shape = shape.get_or_init(|| LatticeShape::of(&table.invariant)).clone()?;
        let calibration = generalized_gaussian(&shape, epsilon, delta.unwrap_or(f64::NAN), sensitivity)?;
        law.on(Makes(calibration.scales[0]))?;
        return Ok(calibration);
    }
    let calibration = on_levels(at, epsilon, subject.levels() - known)?;
    Ok(calibration.below_known(known))
}

/// The noise that a budget buys on so many levels that are measured. Errors: a budget that the law or the levels do not take.
fn on_levels(at: &Point, epsilon: f64, levels: usize) -> crate::Result<Calibration> {
    let split = match &at.split {
        SplitSpec::Each => Split::Each,
        SplitSpec::Even => Split::Shares(vec![1.0 / levels as f64; levels]),
        SplitSpec::Shares(shares) => Split::Shares(shares.clone()),
    };
    let calibration = budget(at, epsilon, split).calibrate(levels)?;
    calibration.scales.iter().try_for_each(|&scale| takes(at.law, scale))?;
    Ok(calibration)
}

fn budget(at: &Point, epsilon: f64, split: Split) -> Budget {
    let &Point { law, delta, sensitivity, .. } = at;
    Budget { epsilon, guarantee: law.guarantee(delta), sensitivity, split }
}

/// By a share of a budget the variance of the noise that it buys on a level. Errors: a budget that the law does not take; of a share, noise
/// out of range.
pub fn bought(at: &Point, epsilon: f64) -> crate::Result<impl Fn(f64) -> crate::Result<f64> + use<>> {
    let (law, scale) = (at.law, budget(at, epsilon, Split::Each).scale()?);
    Ok(move |share| {
        let scale = scale(share);
        takes(law, scale)?;
        Ok(catalogue::noise(law, scale).map_or(f64::NAN, |noise| noise.variance()))
    })
}

/// Refuses a scale that a law does not take, or beyond which nothing that is drawn or summed stays within what numbers hold.
fn takes(law: LawKind, scale: f64) -> crate::Result<()> {
    if !(1e-100..=1e15).contains(&scale) {
        let want = "the noise of every level to have a scale from 1e-100 to 1e15";
        return Err(crate::Error::parameter("noise: scale", format!("{scale:e}"), want));
    }
    law.on(Makes(scale))
}

/// Whether a law takes a scale.
struct Makes(f64);

impl OnLaw for Makes {
    type Output = ();

    fn integers<L: IntegerNoise>(self, law: fn(f64) -> crate::Result<L>) -> crate::Result<()> {
        law(self.0).map(drop)
    }

    fn reals<L: RealNoise>(self, law: fn(f64) -> crate::Result<L>) -> crate::Result<()> {
        law(self.0).map(drop)
    }

    fn euclidean(self, law: fn(f64) -> crate::Result<EuclideanLaplace>) -> crate::Result<()> {
        law(self.0).map(drop)
    }
}

/// Refuses what no data make right: a method that serves a law, or a coupling, nowhere where the config may mean it; a
/// scale that a law refuses.
pub fn check(config: &Config) -> Result<()> {
    let (places, excluded) = (places(&config.data), Excluded::new(&config.excludes));
    for block in &config.blocks {
        check_scales(config, &excluded, block)?;
        let lagged = !block.axes.lag.is_empty();
        let mut seen = HashSet::new();
        for noise in axes::noises(config, block) {
            for (place, method, _) in noise.methods(config, &excluded, block) {
                if !seen.insert((noise.point.law, place)) {
                    continue;
                }
                let why = |&place: &Place| {
                    let serves = method.serves(noise.point.law, place);
                    serves.and_then(|()| block.part.serves(method, noise.point.law, place, lagged)).err()
                };
                let refused: Vec<String> = places.iter().filter_map(why).collect();
                if refused.len() == places.len() {
                    return Err(unserved(config, block, method, &refused[0]));
                }
            }
        }
    }
    Ok(())
}

/// Refuses budgets that buy no noise on any number of levels that the data may have. What a loss or a lattice decides is left to the plan.
fn check_scales(config: &Config, excluded: &Excluded, block: &Block) -> Result<()> {
    if config.paid {
        return Ok(());
    }
    for noise in axes::noises(config, block) {
        let of_lattice = matches!(config.data.shape, Shape::Table { .. });
        if (of_lattice && noise.point.law.facts().by_lattice)
            || !noise.point.law.is_noise()
            || noise.methods(config, excluded, block).is_empty()
        {
            continue;
        }
        let levels = match (&noise.point.split, &config.data.shape) {
            (SplitSpec::Each, _) | (_, Shape::Table { .. }) => 1..=1,
            (SplitSpec::Shares(shares), _) => shares.len()..=shares.len(),
            (SplitSpec::Even, Shape::Hierarchy { levels, .. }) => 1..=levels.len() + 1,
        };
        let bought = levels.map(|levels| on_levels(&noise.point, noise.point.budget.loss, levels));
        if let Err(e) = bought.reduce(std::result::Result::or).expect("there is a level") {
            return Err(unbought(config, block, &e));
        }
    }
    Ok(())
}

/// Refuses a budget.
fn unbought(config: &Config, block: &Block, e: &crate::Error) -> Failure {
    config.error(e.to_string(), block.split_span.clone(), "want a budget that fits the law and the levels")
}

/// Where the noise of a config may be, as far as it tells without the data: columns of bounds may be empty, and of inequalities
/// between known counts nothing is left.
fn places(data: &DataSource) -> Vec<Place> {
    let tree = |inequalities| Place::Tree { inequalities };
    let invariants = match &data.shape {
        Shape::Hierarchy { inequalities, .. } if inequalities.is_empty() => return vec![tree(false)],
        Shape::Hierarchy { .. } if data.known == Known::default() => return vec![tree(true)],
        Shape::Hierarchy { .. } => return vec![tree(false), tree(true)],
        Shape::Table { invariants, .. } => invariants,
    };
    let bounded = |spec: &InvariantSpec| match spec {
        InvariantSpec::Nonnegative | InvariantSpec::AtLeast(..) => Some(true),
        InvariantSpec::Bounds(lower, upper) => {
            let given = [lower, upper].map(|bound| matches!(bound, Some(Bound::Value(_))));
            given.contains(&true).then_some(true)
        }
        _ => Some(false),
    };
    let kinds: Vec<Option<bool>> = invariants.iter().map(|(spec, _)| bounded(spec)).collect();
    let with = |inequalities| Place::Table { inequalities };
    if kinds.contains(&Some(true)) {
        vec![with(true)]
    } else if kinds.contains(&None) {
        vec![with(false), with(true)]
    } else {
        vec![with(false)]
    }
}

/// The counts as methods see them.
fn on(subject: &Subject) -> On<'_> {
    match subject {
        Subject::Hierarchy(HierarchyTable { hierarchy, counts, region, .. }) => {
            On::Tree(OnTree { hierarchy, counts, region, piece: None })
        }
        Subject::Table(InvariantTable { invariant, inequalities, region, counts, known, .. }) => {
            On::Table(OnTable { invariant, inequalities, region, counts, known })
        }
    }
}

/// Where the noise of a subject is.
fn place(subject: &Subject) -> Place {
    match subject {
        Subject::Hierarchy(_) => Place::Tree { inequalities: subject.ties_nodes() },
        Subject::Table(table) => Place::Table { inequalities: !table.region.is_everything() },
    }
}

/// Refuses a method where it stands in the config, or anywhere if it is in several blocks.
pub fn refused(config: &Config, method: Method, reason: &str) -> Failure {
    let block =
        config.blocks.iter().find(|block| block.axes.method.contains(&method)).unwrap_or(&config.blocks[0]);
    unserved(config, block, method, reason)
}

/// The name of a method; of one that is not ours with its options.
fn named(method: Method) -> String {
    match method.kind().is_own() {
        true => method.words(),
        false => method.name().to_owned(),
    }
}

fn unserved(config: &Config, block: &Block, method: Method, reason: &str) -> Failure {
    config.error(
        format!("method: `{}` cannot serve this grid", named(method)),
        block.method_span.clone(),
        format!("{reason} (or leave the combination out by an [[exclude]])"),
    )
}

/// Whether the method exists for the law and the invariant; what needs tables or bases is left to the run.
pub(crate) fn servable(cell: &Cell, subject: &Subject) -> std::result::Result<(), String> {
    cell.at.method.serves(cell.at.law, place(subject))
}
