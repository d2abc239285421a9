//! Leaves below known counts: starts and steps whose sums are 0 there.

use crate::error::Result;
use crate::invariant::Hierarchy;
use crate::law::Value;
use std::collections::BTreeMap;

/// The hierarchy with what follows from releases that are not negative: everything below a known 0 is 0.
///
/// Errors: nothing is left to move.
pub(super) fn with_zeros(hierarchy: &Hierarchy, counts: Option<&[i64]>) -> Result<Hierarchy> {
    let Some(counts) = counts.filter(|_| hierarchy.has_known()) else { return Ok(hierarchy.clone()) };
    let mut known: Vec<bool> = (0..hierarchy.nodes()).map(|v| hierarchy.is_known(v)).collect();
    for v in 1..known.len() {
        let parent = hierarchy.parent(v);
        known[v] |= known[parent] && counts[parent] == 0;
    }
    hierarchy.clone().with_known(known)
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

    /// Moves values within their bounds so that all sums are 0 again; `bounds`: the lower and upper bound of a place.
    ///
    /// The lower bounds of a circle sum to at most 0 and the upper ones to at least that.
    pub(super) fn mend<V: Value>(&self, values: &mut [V], bounds: impl Fn(usize) -> (Option<V>, Option<V>)) {
        for circle in &self.circles {
            let mut excess = V::default();
            circle.iter().for_each(|&place| excess += values[place as usize]);
            for &place in circle {
                let z = &mut values[place as usize];
                let want = *z - excess;
                let (lower, upper) = bounds(place as usize);
                let moved = lower.filter(|lower| want < *lower).or(upper.filter(|upper| want > *upper));
                let moved = moved.unwrap_or(want);
                excess += moved - *z;
                *z = moved;
            }
        }
    }
}
