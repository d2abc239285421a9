//! Noise on trees of counts.

use crate::bits::Bits;
use crate::error::{Error, Result};
use crate::law::{Law, Precision, within};
use crate::sums::Sums;

/// Noise on a tree (or several) in which every parent is the sum of its children, and every count is known or measured with noise of its
/// own.
///
/// The law: `P(z) ∝ Π w_v(z_v)` over all counts `v` that are not known, on all `z` with `z_v = 0` where `v` is known and every parent's
/// noise the sum of its children's. So sums hold by construction, and a known count is released as it is.
///
/// Upwards: the weights of a node's noise are `m_v = w_v · (m_c1 * m_c2 * …)` over its children, one row for all nodes of the same shape.
/// Downwards: a root that is not known from `m_root`; a node's noise is split over its children by halves, each given its sum.
/// All rows are integers with bounds of their errors; the table of a split leaves what these do not decide, some
/// 2^-45 of the draws, to rows with more digits, so that the law is exact.
///
/// A node whose children are all known is determined, and its noise is 0.
///
/// Refuses trees whose sums are so wide that a row reaches beyond 2^16: `λ √n` beyond some 10^3 to 10^4, n counts below a node.
/// Time: the upward pass takes the square of the reach for each shape, once; then a draw takes some 10^2 ns for a count.
///
/// ```
/// use congenial_exact_noise::{Base, Law, System, Tree};
///
/// // A nation, known; two states; two and three counties.
/// let parents = [None, Some(0), Some(0), Some(1), Some(1), Some(2), Some(2), Some(2)];
/// let known = [true, false, false, false, false, false, false, false];
/// let states = Law::DoubleGeometric(Base::from_loss(&"0.5".parse()?)?);
/// let counties = Law::DoubleGeometric(Base::from_loss(&"0.25".parse()?)?);
/// let mut tree = Tree::new(&parents, &known, &[None, Some(states), Some(counties)])?;
/// let noise = tree.draw(&mut System::new())?;
/// assert_eq!((noise[0], noise[1] + noise[2], noise[3] + noise[4]), (0, 0, noise[1]));
/// # Ok::<(), congenial_exact_noise::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Tree {
    parents: Vec<Option<usize>>,
    sums: Sums,
    /// By node: the shape of a root that is drawn.
    roots: Vec<Option<usize>>,
    /// By node: the shape of the sum of its open children.
    below: Vec<Option<usize>>,
    /// Open children by parent, in the order of their shapes; those of node v from `starts[v]` to `starts[v + 1]`.
    children: Vec<usize>,
    starts: Vec<usize>,
}

impl Tree {
    /// Prepares the draws.
    ///
    /// - `parents`: of every node its parent, which stands before it; none for a root.
    /// - `known`: of every node whether its count is an invariant.
    /// - `laws`: of every level the law of its counts, roots first; none where all of a level are known.
    /// - Refuses lists of different lengths, a parent that does not stand before its child, another number of laws than levels, an open
    ///   node without a law, and sums that are too wide.
    pub fn new(parents: &[Option<usize>], known: &[bool], laws: &[Option<Law>]) -> Result<Self> {
        Self::with_precision(parents, known, laws, Precision::default())
    }

    /// Prepares the draws, with other bits of the tables: of the same law.
    pub fn with_precision(
        parents: &[Option<usize>],
        known: &[bool],
        laws: &[Option<Law>],
        precision: Precision,
    ) -> Result<Self> {
        if known.len() != parents.len() {
            return Err(Error::parameter("marks of known nodes", known.len(), "one for each node"));
        }
        let laws = laws_of_nodes(&levels(parents)?, laws)?;
        let (children, starts) = children(parents)?;
        let below = |v: usize| children_of(&children, &starts, v);
        let mut tree = Self {
            parents: parents.to_vec(),
            sums: Sums::new(precision.rows),
            roots: vec![None; parents.len()],
            below: vec![None; parents.len()],
            children: Vec::new(),
            starts: Vec::new(),
        };
        // Children before their parents. A node is open if its noise is neither known nor determined.
        let mut shapes: Vec<Option<usize>> = vec![None; parents.len()];
        for (v, (known, law)) in known.iter().zip(&laws).enumerate().rev() {
            let mut open: Vec<usize> =
                below(v).iter().filter_map(|c| shapes.get(*c).copied().flatten()).collect();
            open.sort_unstable();
            let sum = if open.is_empty() { None } else { Some(tree.sums.sum_of(&open)?) };
            let is_open = !known && (sum.is_some() || below(v).is_empty());
            let want_law = || Error::parameter("law of the level of open node", v, "one, or a known node");
            let shape = match (is_open, sum) {
                (false, _) => None,
                (true, None) => Some(tree.sums.leaf(law.ok_or_else(want_law)?)?),
                (true, Some(sum)) => Some(tree.sums.weighed(law.ok_or_else(want_law)?, sum)?),
            };
            set(&mut shapes, v, shape)?;
            set(&mut tree.below, v, sum)?;
            if parents.get(v) == Some(&None) {
                set(&mut tree.roots, v, shape)?;
            }
        }
        let whole: Vec<usize> = tree.roots.iter().flatten().copied().collect();
        tree.sums.fill(&whole)?;
        for v in 0..parents.len() {
            tree.starts.push(tree.children.len());
            let shape = |c: &usize| shapes.get(*c).copied().flatten();
            let mut open: Vec<usize> = below(v).iter().filter(|c| shape(c).is_some()).copied().collect();
            open.sort_by_key(shape);
            tree.children.extend(open);
        }
        tree.starts.push(tree.children.len());
        Ok(tree)
    }

    /// Draws the noise of all nodes, in their order. Errors: the source's; noise beyond 2^61.
    pub fn draw<B: Bits + ?Sized>(&mut self, source: &mut B) -> Result<Vec<i64>> {
        let mut noise = vec![0i64; self.parents.len()];
        for v in 0..noise.len() {
            if let Some(shape) = self.roots.get(v).copied().flatten() {
                let drawn = self.sums.whole(shape, source)?;
                set(&mut noise, v, drawn)?;
            }
            if let Some(sum) = self.below.get(v).copied().flatten() {
                let total = noise.get(v).copied().ok_or(Error::Bug("a node beyond the tree"))?;
                let open = children_of(&self.children, &self.starts, v);
                self.sums.split(sum, total, open, &mut noise, source)?;
            }
        }
        self.check(&noise)?;
        within(noise)
    }

    /// Every parent is the sum of its children, or nothing is released.
    fn check(&self, noise: &[i64]) -> Result<()> {
        let mut rest = noise.to_vec();
        let mut is_parent = vec![false; noise.len()];
        for (noise, parent) in noise.iter().zip(&self.parents) {
            let Some(parent) = *parent else { continue };
            set(&mut is_parent, parent, true)?;
            let before = rest.get(parent).and_then(|rest| rest.checked_sub(*noise)).ok_or(Error::Beyond)?;
            set(&mut rest, parent, before)?;
        }
        let holds = rest.iter().zip(&is_parent).all(|(rest, is_parent)| !is_parent || *rest == 0);
        if holds { Ok(()) } else { Err(Error::Bug("a parent is not the sum of its children")) }
    }
}

fn set<T>(list: &mut [T], place: usize, value: T) -> Result<()> {
    *list.get_mut(place).ok_or(Error::Bug("a node beyond the tree"))? = value;
    Ok(())
}

/// The level of every node, roots at 0.
fn levels(parents: &[Option<usize>]) -> Result<Vec<usize>> {
    let mut levels: Vec<usize> = Vec::with_capacity(parents.len());
    for parent in parents {
        let level = match parent {
            None => 0,
            Some(parent) => {
                let want = "a node that stands before its child";
                let level = levels.get(*parent).ok_or_else(|| Error::parameter("parent", parent, want))?;
                level.saturating_add(1)
            }
        };
        levels.push(level);
    }
    Ok(levels)
}

fn laws_of_nodes(levels: &[usize], laws: &[Option<Law>]) -> Result<Vec<Option<Law>>> {
    let count = levels.iter().max().map_or(0, |last| last.saturating_add(1));
    if laws.len() != count {
        return Err(Error::parameter("number of laws", laws.len(), "one for each level"));
    }
    Ok(levels.iter().map(|level| laws.get(*level).copied().flatten()).collect())
}

/// Children by parent, and where those of each begin.
fn children(parents: &[Option<usize>]) -> Result<(Vec<usize>, Vec<usize>)> {
    let mut order: Vec<usize> = (0..parents.len()).collect();
    let parent = |v: &usize| parents.get(*v).copied().flatten();
    order.retain(|v| parent(v).is_some());
    order.sort_by_key(parent);
    let starts = (0..=parents.len()).map(|v| order.partition_point(|c| parent(c) < Some(v))).collect();
    Ok((order, starts))
}

fn children_of<'a>(children: &'a [usize], starts: &[usize], v: usize) -> &'a [usize] {
    let range = starts.get(v).zip(starts.get(v.saturating_add(1)));
    range.and_then(|(start, end)| children.get(*start..*end)).unwrap_or_default()
}
