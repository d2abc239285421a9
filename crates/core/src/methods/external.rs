//! `external`: methods that are not ours: what they are told of a problem, and what becomes of their releases.

use super::define::Define;
use super::draws::{Draws, Out};
use super::facts::{FOUR, Facts, IMAGING, NO_NODES, PRODUCTS, on_tables, on_trees};
use super::known_options::option;
use super::laws::TreeNoise;
use super::options::{Kind, OptionFacts};
use super::own::{Own, OwnReleases, Promises, Structure, Task};
use super::pieces::InPieces;
use super::problem::{OnTable, Problem};
use super::table::Free;
use super::tree::Tree;
use crate::crew::Crew;
use crate::error::{Error, Result};
use crate::invariant::{Hierarchy, Linear, NO_LOWER, NO_UPPER, Region};
use crate::law::Value;
use crate::privacy::Declared;
use crate::rng::{Rng, Role, TaskKey, stream};
use std::ops::Range;
use std::sync::Arc;

/// Methods that are not ours.
pub(super) struct External;

static OWN: OptionFacts = option("own", "the method", Kind::Own);

const WHAT: &str = "a method of one's own: a program, or a type that was registered";

static FACTS: Facts = Facts {
    name: super::own::EXTERNAL,
    options: &[&OWN],
    on_trees: on_trees(WHAT, FOUR, FOUR, NO_NODES),
    on_tables: on_tables(WHAT, PRODUCTS, PRODUCTS),
    is_own: true,
    words: 1_000,
    ..IMAGING
};

impl Define for External {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn on_tree<L: TreeNoise>(&self, problem: &Problem, tree: Tree<L>) -> Result<Box<dyn Draws>> {
        match problem.asked.own() {
            Some(own) => Ok(Box::new(OwnTree::new(own, problem, tree)?)),
            None => Err(problem.unsupported("a hierarchy")),
        }
    }

    fn on_free(
        &self,
        problem: &Problem,
        table: OnTable,
        free: Free,
        variance: f64,
    ) -> Result<Box<dyn Draws>> {
        match problem.asked.own() {
            Some(own) => Ok(Box::new(on_table(own, problem, table, free, variance)?)),
            None => Err(problem.unsupported("free noise")),
        }
    }
}

/// Releases that a method is given at once at most, and their counts.
const REPLICATES: u64 = 1 << 12;
const COUNTS: u64 = 1 << 20;

/// The largest integer of which every smaller one is a number of its own.
const WHOLE: f64 = 9_007_199_254_740_992.0;

/// A tree, as methods are told of it.
fn structure(tree: &Hierarchy) -> Structure {
    let begins = (0..tree.levels()).map(|level| tree.level_nodes(level).start);
    Structure::Tree {
        parents: (0..tree.nodes()).map(|v| tree.parent(v) as i64).collect(),
        levels: begins.chain([tree.nodes()]).map(|v| v as i64).collect(),
    }
}

/// A table, as methods are told of it: what every release keeps is no secret.
fn table(table: OnTable) -> Structure {
    let value = |row: &[(u32, i64)]| row.iter().map(|&(entry, a)| a * table.counts[entry as usize]).sum();
    let bounds = (0..table.counts.len()).flat_map(|entry| {
        let (lower, upper) = table.inequalities.bounds_of(entry);
        let at = |a: i64, bound: i64| (vec![(entry as u32, a)], a * bound);
        let lower = (lower != NO_LOWER).then(|| at(1, lower));
        lower.into_iter().chain((upper != NO_UPPER).then(|| at(-1, upper)))
    });
    Structure::Table {
        entries: table.counts.len(),
        equations: table.invariant.rows().iter().map(|row| (row.clone(), value(row))).collect(),
        inequalities: bounds.chain(table.inequalities.explicit().iter().cloned()).collect(),
    }
}

/// Prepares a method for a problem. Errors: it does not serve it.
fn ready(
    own: Own,
    problem: &Problem,
    structure: Structure,
    variances: Vec<f64>,
) -> Result<Box<dyn OwnReleases>> {
    let task = Task {
        structure: Arc::new(structure),
        law: problem.law.name(),
        epsilon: problem.epsilon,
        variances,
        options: Vec::new(),
    };
    own.prepare(task).map_err(Error::Own)
}

/// Replicates together, as many as a method is given at once.
fn batches(range: Range<u64>, counts: usize) -> impl Iterator<Item = Range<u64>> {
    let most = (COUNTS / counts.max(1) as u64).clamp(1, REPLICATES);
    let end = range.end;
    range.step_by(most as usize).map(move |start| start..(start + most).min(end))
}

/// The seed of a replicate.
fn seed(key: TaskKey, replicate: u64) -> u64 {
    stream(TaskKey { replicate, role: Role::Own, ..key }).next_u64()
}

/// Refuses a count below 0 of a method that promises none.
fn above(promises: Promises, released: &[f64]) -> Result<()> {
    match released.iter().position(|y| *y < 0.0).filter(|_| promises.nonnegative) {
        None => Ok(()),
        Some(i) => Err(Error::Own(format!(
            "it promises counts >= 0, and released {} as count {}",
            released[i],
            i + 1
        ))),
    }
}

/// Reads what a method released as integers. Errors: what is none.
fn integers(released: &[f64]) -> Result<Vec<i64>> {
    finite(released)?;
    let whole = |(i, &x): (usize, &f64)| match x == x.trunc() && x.abs() <= WHOLE {
        true => Ok(x as i64),
        false => Err(Error::Own(format!("it promises integers, and released {x} as count {}", i + 1))),
    };
    released.iter().enumerate().map(whole).collect()
}

/// Checks that all that was released is finite. Errors: what is no number.
fn finite(released: &[f64]) -> Result<()> {
    match released.iter().position(|x| !x.is_finite()) {
        None => Ok(()),
        Some(i) => Err(Error::Own(format!("it released {} as count {}", released[i], i + 1))),
    }
}

/// Errors of a real release on a tree, whose sums hold as they do of our own methods: rounding of the largest count is
/// taken out of them. Errors: a sum, or a known count, that is off by more.
fn summed(tree: &Hierarchy, released: &[f64], errors: &mut [f64]) -> Result<()> {
    let most = released.iter().fold(1.0f64, |most, y| most.max(y.abs()));
    let rounding = 4.0 * f64::EPSILON * tree.nodes() as f64 * most;
    for v in 0..tree.nodes() {
        let off = match tree.is_known(v) {
            true => errors[v],
            false if tree.is_leaf(v) => 0.0,
            false => errors[v] - errors[tree.children(v)].iter().sum::<f64>(),
        };
        if off.abs() > rounding {
            return Err(Error::violated(format!("node {v}"), off));
        }
        if tree.is_known(v) {
            errors[v] = 0.0;
        }
    }
    tree.sum_up_noise(errors);
    Ok(())
}

/// Prepares a method on a table, with free noise and its variance.
fn on_table(own: Own, problem: &Problem, subject: OnTable, free: Free, variance: f64) -> Result<OwnTable> {
    let mut variances = vec![variance; subject.counts.len()];
    subject.known.iter().for_each(|&entry| variances[entry as usize] = 0.0);
    let key = problem.streams.key;
    Ok(OwnTable {
        releases: ready(own, problem, table(subject), variances)?,
        promises: own.promises(),
        free,
        counts: subject.counts.to_vec(),
        known: subject.known.to_vec(),
        invariant: subject.invariant.clone(),
        region: subject.region.clone(),
        key,
        noise: TaskKey { cell: problem.streams.noise, ..key },
    })
}

struct OwnTable {
    releases: Box<dyn OwnReleases>,
    promises: Promises,
    free: Free,
    counts: Vec<i64>,
    known: Vec<u32>,
    invariant: Linear,
    region: Region,
    /// The key of the cell's streams and, below, that of its noise.
    key: TaskKey,
    noise: TaskKey,
}

impl Draws for OwnTable {
    fn draw(&self, range: Range<u64>, out: &mut Out) -> Result<()> {
        let entries = self.counts.len();
        for batch in batches(range, entries) {
            let mut counts = vec![0.0; entries * (batch.end - batch.start) as usize];
            let mut widest = Vec::new();
            for (replicate, noise) in batch.clone().zip(counts.chunks_mut(entries)) {
                if !self.promises.mechanism {
                    (self.free)(&mut stream(TaskKey { replicate, ..self.noise }), noise);
                }
                self.known.iter().for_each(|&entry| noise[entry as usize] = 0.0);
                noise.iter_mut().zip(&self.counts).for_each(|(z, &x)| *z += x as f64);
                widest.push(noise.iter().fold(0.0f64, |most, y| most.max(y.abs())));
            }
            let seeds: Vec<u64> = batch.clone().map(|replicate| seed(self.key, replicate)).collect();
            self.releases.release(&seeds, &mut counts).map_err(Error::Own)?;
            for ((replicate, released), widest) in batch.zip(counts.chunks_mut(entries)).zip(widest) {
                let kept = self.check(released, widest)?;
                out.release(replicate, released, &self.counts, kept);
            }
        }
        Ok(())
    }

    fn tv_error(&self) -> f64 {
        0.0
    }

    fn pays(&self) -> Option<Declared> {
        self.releases.pays()
    }
}

impl OwnTable {
    /// Turns what was released into its errors; tells whether it keeps the invariant. Errors: a promise that is broken.
    fn check(&self, released: &mut [f64], widest: f64) -> Result<bool> {
        let promises = self.promises;
        finite(released)?;
        above(promises, released)?;
        let (equations, inequalities) = if promises.integers {
            let mut noise = integers(released)?;
            noise.iter_mut().zip(&self.counts).for_each(|(y, x)| *y -= x);
            released.iter_mut().zip(&noise).for_each(|(y, &z)| *y = z as f64);
            (self.invariant.check(&noise), self.region.check(&noise))
        } else {
            released.iter_mut().zip(&self.counts).for_each(|(y, &x)| *y -= x as f64);
            let widest = released.iter().fold(widest, |most, z| most.max(z.abs()));
            (self.invariant.check_reals(released, widest), self.region.check_reals(released))
        };
        let kept = equations.is_ok() && inequalities.is_ok();
        if promises.invariant {
            equations?;
        }
        if promises.inequalities {
            inequalities?;
        }
        Ok(kept)
    }
}

/// A method that is not ours.
struct OwnTree<L: TreeNoise> {
    tree: Tree<L>,
    releases: Box<dyn OwnReleases>,
    promises: Promises,
}

impl<L: TreeNoise> OwnTree<L> {
    /// Prepares a method on a tree. Errors: it does not serve the problem.
    fn new(own: Own, problem: &Problem, tree: Tree<L>) -> Result<Self> {
        let hierarchy = &tree.hierarchy;
        let mut variances = vec![0.0; hierarchy.nodes()];
        for (level, law) in tree.laws.iter().enumerate() {
            let nodes = hierarchy.level_nodes(level);
            nodes.filter(|&v| !hierarchy.is_known(v)).for_each(|v| variances[v] = law.variance());
        }
        let releases = ready(own, problem, structure(hierarchy), variances)?;
        Ok(Self { tree, releases, promises: own.promises() })
    }

    /// What the method is given of some replicates, one behind the other: noisy counts or, if it is a mechanism, the
    /// confidential ones.
    fn given(&self, batch: Range<u64>, crew: &dyn Crew) -> Vec<f64> {
        let (tree, mut noise) = (&self.tree, self.tree.zeros());
        let mut given = Vec::with_capacity(noise.len() * (batch.end - batch.start) as usize);
        for replicate in batch {
            if !self.promises.mechanism {
                let key = TaskKey { replicate, cell: tree.streams.noise, ..tree.streams.key };
                match InPieces::of(tree, crew, key) {
                    Some(pieces) => pieces.fill(&mut noise),
                    None => tree.fill(&mut stream(key), &mut noise),
                }
            }
            given.extend(noise.iter().zip(&*tree.counts).map(|(z, &x)| z.to_f64() + x as f64));
        }
        given
    }

    /// Adds the rows of a release. Errors: a promise that is broken.
    fn record(&self, replicate: u64, released: &[f64], out: &mut Out) -> Result<()> {
        let tree = &self.tree;
        above(self.promises, released)?;
        if self.promises.integers {
            return tree.record_integers(replicate, &integers(released)?, out);
        }
        finite(released)?;
        let counts = || tree.counts.iter().map(|&x| x as f64);
        let mut errors: Vec<f64> = released.iter().zip(counts()).map(|(y, x)| y - x).collect();
        if self.promises.invariant {
            summed(&tree.hierarchy, released, &mut errors)?;
        }
        let released: Vec<f64> = errors.iter().zip(counts()).map(|(z, x)| z + x).collect();
        tree.record(replicate, &errors, &released, out)
    }
}

impl<L: TreeNoise> Draws for OwnTree<L> {
    fn draw(&self, range: Range<u64>, out: &mut Out) -> Result<()> {
        let nodes = self.tree.hierarchy.nodes();
        for batch in batches(range, nodes) {
            let mut counts = self.given(batch.clone(), out.crew);
            let seeds: Vec<u64> =
                batch.clone().map(|replicate| seed(self.tree.streams.key, replicate)).collect();
            self.releases.release(&seeds, &mut counts).map_err(Error::Own)?;
            for (replicate, released) in batch.zip(counts.chunks(nodes)) {
                self.record(replicate, released, out)?;
            }
        }
        Ok(())
    }

    fn tv_error(&self) -> f64 {
        0.0
    }

    fn pays(&self) -> Option<Declared> {
        self.releases.pays()
    }
}
