//! What the entries of a table can be: they are >= 0, and keep what the invariant fixes.

use super::target::Target;
use crate::invariant::{Inequalities, NO_LOWER, NO_UPPER};
use crate::lattice::Row;
use std::collections::{BTreeMap, HashMap, HashSet};

/// An equation, with the value that it fixes.
#[derive(Debug, Clone)]
pub(super) struct Equation {
    pub(super) row: Row,
    pub(super) value: f64,
    /// Equations of one family share no entry.
    pub(super) family: usize,
}

/// Rounds in which equations and bounds tighten each other at most.
const ROUNDS: usize = 20;

/// The least and the largest count of every entry, and sums that are fixed.
#[derive(Debug, Clone)]
pub struct Reach {
    /// By entry.
    bounds: Vec<(f64, f64)>,
    /// By family, whose sums share no entry: by entry the number of its sum; and the sums, each with its entries.
    families: Vec<Family>,
}

#[derive(Debug, Clone, Default)]
struct Family {
    of: HashMap<u32, usize>,
    sums: Vec<(Vec<u32>, f64)>,
}

impl Reach {
    /// What equations, inequalities by entry and known entries leave. Errors: an entry for which nothing is left.
    pub(super) fn new(
        equations: &[Equation],
        inequalities: &Inequalities,
        known: &[u32],
        values: &[f64],
    ) -> Result<Self, usize> {
        let bound = |entry: usize| {
            let (least, most) = inequalities.bounds_of(entry);
            let least = if least == NO_LOWER { 0.0 } else { (least as f64).max(0.0) };
            (least, if most == NO_UPPER { f64::INFINITY } else { most as f64 })
        };
        let mut bounds: Vec<(f64, f64)> = (0..values.len()).map(bound).collect();
        known
            .iter()
            .for_each(|&entry| bounds[entry as usize] = (values[entry as usize], values[entry as usize]));
        for _ in 0..ROUNDS {
            let before = bounds.clone();
            equations.iter().for_each(|equation| tighten(equation, &mut bounds));
            if bounds == before {
                break;
            }
        }
        if let Some(entry) = bounds.iter().position(|(least, most)| least > most) {
            return Err(entry);
        }
        let mut families: Vec<Family> = Vec::new();
        for Equation { row, value, family } in equations.iter().filter(|e| e.row.iter().all(|&(_, a)| a == 1))
        {
            families.resize_with(families.len().max(family + 1), Family::default);
            let Family { of, sums } = &mut families[*family];
            row.iter().for_each(|&(entry, _)| _ = of.insert(entry, sums.len()));
            sums.push((row.iter().map(|&(entry, _)| entry).collect(), *value));
        }
        families.retain(|family| !family.sums.is_empty());
        Ok(Self { bounds, families })
    }

    /// The least and the largest value that a target can have, as far as bounds and one family of fixed sums say.
    pub(super) fn of(&self, target: &Target) -> (f64, f64) {
        match target {
            Target::Count(entry) => self.bounds[*entry],
            Target::Sum(weights) => {
                let side = |sign: i8| {
                    let own = weights.iter().filter(|(_, weight)| *weight == sign);
                    self.sum(&own.map(|(entry, _)| *entry).collect::<Vec<_>>())
                };
                let (plus, minus) = (side(1), side(-1));
                (plus.0 - minus.1, plus.1 - minus.0)
            }
        }
    }

    /// The least and the largest sum of some entries.
    fn sum(&self, entries: &[u32]) -> (f64, f64) {
        let alone = |entries: &mut dyn Iterator<Item = u32>| {
            entries.map(|entry| self.bounds[entry as usize]).fold((0.0, 0.0), |(a, b), (c, d)| (a + c, b + d))
        };
        let mut all = alone(&mut entries.iter().copied());
        let asked: HashSet<u32> = entries.iter().copied().collect();
        for Family { of, sums } in &self.families {
            let mut within: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
            let mut own = (0.0, 0.0);
            for &entry in entries {
                match of.get(&entry) {
                    Some(&sum) => within.entry(sum).or_default().push(entry),
                    None => {
                        let (least, most) = self.bounds[entry as usize];
                        own = (own.0 + least, own.1 + most);
                    }
                }
            }
            for (sum, inside) in within {
                let (of_sum, value) = &sums[sum];
                let (least, most) = alone(&mut inside.iter().copied());
                let is_out = |entry: &u32| !asked.contains(entry);
                let rest = match inside.len() == of_sum.len() {
                    true => (0.0, 0.0),
                    false => alone(&mut of_sum.iter().copied().filter(is_out)),
                };
                own = (own.0 + least.max(value - rest.1), own.1 + most.min(value - rest.0));
            }
            all = (all.0.max(own.0), all.1.min(own.1));
        }
        all
    }
}

/// Cuts the bounds of every entry of an equation to what the others leave it. Counts are whole.
fn tighten(Equation { row, value, .. }: &Equation, bounds: &mut [(f64, f64)]) {
    let ends = |(entry, a): &(u32, i64), bounds: &[(f64, f64)]| {
        let (least, most) = bounds[*entry as usize];
        let a = *a as f64;
        if a > 0.0 { (a * least, a * most) } else { (a * most, a * least) }
    };
    // Sums of what is finite, and how many are not.
    let (mut low, mut high) = ((0.0, 0usize), (0.0, 0usize));
    for term in row {
        let (least, most) = ends(term, bounds);
        if least.is_finite() {
            low.0 += least
        } else {
            low.1 += 1
        }
        if most.is_finite() { high.0 += most } else { high.1 += 1 }
    }
    for term in row {
        let (least, most) = ends(term, bounds);
        let without = |(sum, open): (f64, usize), own: f64, none: f64| match (open, own.is_finite()) {
            (0, true) => sum - own,
            (1, false) => sum,
            _ => none,
        };
        let rest = (without(low, least, f64::NEG_INFINITY), without(high, most, f64::INFINITY));
        let a = term.1 as f64;
        let (one, other) = ((value - rest.1) / a, (value - rest.0) / a);
        let own = &mut bounds[term.0 as usize];
        // Rounding leaves out no whole number.
        let slack = 1e-9 * (1.0 + value.abs());
        own.0 = own.0.max(libm::ceil(one.min(other) - slack));
        own.1 = own.1.min(libm::floor(one.max(other) + slack));
    }
}
