//! Noise as a real release draws it, from a seeded source of bits.

use super::dyadic::{Dyadic, refused};
use crate::error::{Error, Result};
use crate::invariant::{Hierarchy, Linear};
use crate::rng::Rng;
use congenial_exact_noise::{Bits, Tree};
use std::sync::{Mutex, PoisonError};

/// Exact sampler of integer noise on a hierarchy, or on a table whose equations are hierarchies, by `congenial-exact-noise`: what
/// `congenial release` adds to counts. Here its bits come from a generator, whatever it is: for experiments, not for releasing real data.
///
/// The law is that of [`super::IntegerTree`], `q(z) ∝ Π_v w_v(z_v)` over all integer vectors in which every parent is the sum of its
/// children and no known node has noise, with weights of [`Dyadic`] bases. Draws have it to the last digit: nothing is truncated.
///
/// Preparing takes the square of the reach of the noise for each shape of a subtree; then a draw takes some 10^2 ns for a count. Noise
/// whose sums reach beyond 2^16 is refused. Tables of how sums are split are made when they are first needed, for each thread that
/// draws.
///
/// # Examples
///
/// ```
/// use congenial_core::exact::{Dyadic, ReleaseSampler};
/// use congenial_core::invariant::Hierarchy;
/// use congenial_core::law::DoubleGeometric;
/// use congenial_core::rng::{Role, TaskKey, stream};
///
/// // A state, whose count is known, two counties, and two towns in each.
/// let tree = Hierarchy::from_parents(&[0, 0, 0, 1, 1, 2, 2])?;
/// let tree = tree.with_known(vec![true, false, false, false, false, false, false])?;
/// let law = Dyadic::double_geometric(DoubleGeometric::new(2.0)?)?;
/// let sampler = ReleaseSampler::on_tree(&tree, &[law; 3])?;
/// let mut rng = stream(TaskKey { seed: 1, cell: 0, replicate: 0, role: Role::Noise });
/// let mut noise = [0; 7];
/// sampler.lend(|lent| lent.draw(&mut rng, &mut noise))?;
/// tree.check(&noise)?; // every sum holds
/// assert_eq!(noise[0], 0);
/// # Ok::<(), congenial_core::Error>(())
/// ```
#[derive(Debug)]
pub struct ReleaseSampler {
    /// The sampler before anything was drawn.
    fresh: Tree,
    /// Samplers that nobody draws with now, with the tables that they have made.
    left: Mutex<Vec<Tree>>,
    /// By count, its node in the sampler.
    nodes: Vec<usize>,
}

/// A sampler in the hands of one thread.
#[derive(Debug)]
pub struct Lent<'a> {
    tree: Tree,
    nodes: &'a [usize],
}

impl ReleaseSampler {
    /// Prepares the draws on a hierarchy, with a law for each level. Errors: another number of laws; noise that is too wide.
    pub fn on_tree(hierarchy: &Hierarchy, laws: &[Dyadic]) -> Result<Self> {
        let nodes = 0..hierarchy.nodes();
        let parents = nodes.clone().map(|v| (v > 0).then(|| hierarchy.parent(v))).collect();
        let known = nodes.clone().map(|v| hierarchy.is_known(v)).collect();
        Self::new(&Forest { parents, known, nodes: nodes.collect() }, laws)
    }

    /// Prepares the draws on a table, with one law for all entries. Errors: equations that are no hierarchies; noise that is too wide.
    pub fn on_table(invariant: &Linear, law: Dyadic) -> Result<Self> {
        let forest = Forest::of(invariant)?;
        let laws = vec![law; forest.levels()];
        Self::new(&forest, &laws)
    }

    /// Errors: a table with equations that are no hierarchies.
    pub fn check_table(invariant: &Linear) -> Result<()> {
        Forest::of(invariant).map(drop)
    }

    fn new(forest: &Forest, laws: &[Dyadic]) -> Result<Self> {
        let laws: Vec<_> = laws.iter().map(|law| Some(law.0)).collect();
        let fresh = Tree::new(&forest.parents, &forest.known, &laws).map_err(refused)?;
        Ok(Self { fresh, left: Mutex::default(), nodes: forest.nodes.clone() })
    }

    /// Lends the sampler to a thread for some draws. What is drawn does not depend on who had it before.
    pub fn lend<T>(&self, draws: impl FnOnce(&mut Lent) -> T) -> T {
        let left = || self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let tree = left().pop();
        let mut lent = Lent { tree: tree.unwrap_or_else(|| self.fresh.clone()), nodes: &self.nodes };
        let drawn = draws(&mut lent);
        left().push(lent.tree);
        drawn
    }
}

impl Lent<'_> {
    /// Draws once, into `noise` (one value per node or entry). Errors: noise beyond 2^61, of a probability below e^(-2^14).
    pub fn draw<R: Rng + ?Sized>(&mut self, rng: &mut R, noise: &mut [i64]) -> Result<()> {
        let drawn = self.tree.draw(&mut Seeded(rng)).map_err(refused)?;
        noise.iter_mut().zip(self.nodes).for_each(|(noise, &node)| *noise = drawn[node]);
        Ok(())
    }
}

/// The bits of a generator: the highest of each of its words.
struct Seeded<'a, R: ?Sized>(&'a mut R);

impl<R: Rng + ?Sized> Bits for Seeded<'_, R> {
    #[inline]
    fn bits(&mut self, count: u32) -> congenial_exact_noise::Result<u32> {
        Ok((self.0.next_u64() >> (64 - count)) as u32)
    }
}

fn no_hierarchy() -> Error {
    Error::Unsupported {
        method: "release",
        what: "equations that are no hierarchy".into(),
        reason: "what a real release keeps is the sums of a tree; use exact or line-gibbs",
    }
}

/// The hierarchies of a table, one after the other.
struct Forest {
    /// By node its parent, which stands before it.
    parents: Vec<Option<usize>>,
    known: Vec<bool>,
    /// By count, its node.
    nodes: Vec<usize>,
}

impl Forest {
    /// Errors: equations that are no hierarchies.
    fn of(invariant: &Linear) -> Result<Self> {
        let mut forest = Self { parents: Vec::new(), known: Vec::new(), nodes: vec![0; invariant.entries()] };
        for component in invariant.components() {
            let first = forest.parents.len();
            match component.tree() {
                Some(tree) => {
                    let nodes = 0..tree.hierarchy.nodes();
                    let parent = |v: usize| (v > 0).then(|| first + tree.hierarchy.parent(v));
                    forest.parents.extend(nodes.clone().map(parent));
                    forest.known.extend(nodes.clone().map(|v| tree.hierarchy.is_known(v)));
                    // A known root is no entry.
                    let own = first + (nodes.end - tree.entries.len())..;
                    for (&entry, node) in tree.entries.iter().zip(own) {
                        forest.nodes[component.entries[entry as usize] as usize] = node;
                    }
                }
                None if component.is_fixed()? => {
                    for (&entry, node) in component.entries.iter().zip(first..) {
                        forest.parents.push(None);
                        forest.known.push(true);
                        forest.nodes[entry as usize] = node;
                    }
                }
                None => return Err(no_hierarchy()),
            }
        }
        Ok(forest)
    }

    /// Levels of the deepest of them.
    fn levels(&self) -> usize {
        let mut levels: Vec<usize> = Vec::with_capacity(self.parents.len());
        for parent in &self.parents {
            levels.push(parent.map_or(1, |parent| levels[parent] + 1));
        }
        levels.into_iter().max().unwrap_or(0)
    }
}
