//! Leaves below known counts: starts and steps whose sums are 0 there.

use super::{Start, leaf};
use crate::error::Result;
use crate::invariant::Hierarchy;
use crate::law::{Law, Value};
use crate::rng::Rng;
use std::collections::BTreeMap;

/// The least and the largest noise of a node; `None` for no bound.
pub(super) type NodeBounds<V> = (Option<V>, Option<V>);

/// The hierarchy with what follows from releases that are not negative: everything below a known 0 is 0.
///
/// Errors: nothing is left to move.
pub(super) fn with_zeros(hierarchy: &Hierarchy, counts: Option<&[i64]>) -> Result<Hierarchy> {
    match counts.filter(|_| hierarchy.has_known()) {
        None => Ok(hierarchy.clone()),
        Some(counts) => hierarchy.clone().with_known(zeros(hierarchy, counts)),
    }
}

/// Whether releases that are not negative have nothing to choose: with what lies below known zeros, every count is known, and the one
/// release is the confidential tree. `counts`: the confidential counts if releases must not be negative.
pub(crate) fn is_settled(hierarchy: &Hierarchy, counts: Option<&[i64]>) -> bool {
    let marks = |counts| hierarchy.clone().with_known(zeros(hierarchy, counts));
    counts.filter(|_| hierarchy.has_known()).is_some_and(|counts| marks(counts).is_err())
}

/// By node whether it is known, or lies below a known 0.
fn zeros(hierarchy: &Hierarchy, counts: &[i64]) -> Vec<bool> {
    let mut known: Vec<bool> = (0..hierarchy.nodes()).map(|v| hierarchy.is_known(v)).collect();
    for v in 1..known.len() {
        let parent = hierarchy.parent(v);
        known[v] |= known[parent] && counts[parent] == 0;
    }
    known
}

/// Where the leaves of a hierarchy are tied by known counts. Places are those among [`Hierarchy::leaves`].
#[derive(Debug)]
pub(super) struct KnownSums {
    /// Leaves that are known.
    fixed: Vec<u32>,
    /// The other leaves below each known node, down to the next known ones.
    circles: Vec<Vec<u32>>,
}

impl KnownSums {
    pub(super) fn new(hierarchy: &Hierarchy) -> Self {
        let (mut fixed, mut circles) = (Vec::new(), BTreeMap::<usize, Vec<u32>>::new());
        if hierarchy.has_known() {
            for (place, &leaf) in (0..).zip(hierarchy.leaves()) {
                let mut v = leaf as usize;
                if hierarchy.is_known(v) {
                    fixed.push(place);
                    continue;
                }
                while v != 0 && !hierarchy.is_known(v) {
                    v = hierarchy.parent(v);
                }
                if hierarchy.is_known(v) {
                    circles.entry(v).or_default().push(place);
                }
            }
        }
        Self { fixed, circles: circles.into_values().collect() }
    }

    /// Replaces values by differences of neighbours around every circle, `z_i - z_(i+1)`, and by 0 where a leaf is known: their
    /// sums are 0, every integer vector with such sums can be reached, and a symmetric law stays symmetric.
    #[inline]
    pub(super) fn close<V: Value>(&self, values: &mut [V]) {
        for &place in &self.fixed {
            values[place as usize] = V::default();
        }
        for circle in &self.circles {
            let first = values[circle[0] as usize];
            for pair in circle.windows(2) {
                let next = values[pair[1] as usize];
                values[pair[0] as usize] += -next;
            }
            let last = circle[circle.len() - 1] as usize;
            values[last] += -first;
        }
    }

    /// Noise of the leaves from which a chain may start, by node; all others have 0: drawn from the start's law by leaf and put
    /// on the grid, closed, and moved within `bounds` of the leaves, which leave room for sums of 0.
    pub(super) fn start<L: Law, R: Rng + ?Sized>(
        &self,
        (hierarchy, laws): (&Hierarchy, &[L]),
        start: Start,
        rng: &mut R,
        grid: impl Fn(L::Value) -> L::Value,
        bounds: impl Fn(u32) -> NodeBounds<L::Value>,
    ) -> Vec<L::Value> {
        let leaves = hierarchy.leaves();
        let drawn = |&v: &u32| grid(leaf(&laws[hierarchy.level(v as usize)], start, rng));
        let mut values: Vec<L::Value> = leaves.iter().map(drawn).collect();
        self.close(&mut values);
        let within = |z: L::Value, place: usize| {
            let (lower, upper) = bounds(leaves[place]);
            lower.filter(|lower| z < *lower).or(upper.filter(|upper| z > *upper)).unwrap_or(z)
        };
        values.iter_mut().enumerate().for_each(|(place, z)| *z = within(*z, place));
        for circle in &self.circles {
            let mut excess = L::Value::default();
            circle.iter().for_each(|&place| excess += values[place as usize]);
            for &place in circle {
                let z = &mut values[place as usize];
                let moved = within(*z - excess, place as usize);
                excess += moved - *z;
                *z = moved;
            }
        }
        let mut nodes = vec![L::Value::default(); hierarchy.nodes()];
        leaves.iter().zip(values).for_each(|(&v, z)| nodes[v as usize] = z);
        nodes
    }
}
