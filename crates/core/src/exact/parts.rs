//! Sums of independent integer terms, and the terms given their sum, by a binary tree of partial convolutions.

use super::defect::{Cut, Defect};
use super::table::{TRUNCATION, outwards, reach};
use super::{GeometricSum, SplitScratch, Table};
use crate::error::Result;
use crate::invariant::{NO_LOWER, NO_UPPER};
use crate::law::{DoubleGeometric, IntegerLaw, Law};
use crate::pace;
use crate::rng::AliasRows;
use crate::rng::{Rng, open01};
use std::collections::HashMap;

/// A part in its arena.
pub(super) type PartId = u32;

/// The parts that a sampler draws from; equal ones are shared.
#[derive(Debug, Default)]
pub(super) struct Parts(Vec<Part>);

/// Consecutive terms that are drawn as one: `table` is the law of their sum.
#[derive(Debug)]
struct Part {
    kind: Kind,
    table: Table,
    /// Terms it covers.
    len: usize,
}

#[derive(Debug)]
enum Kind {
    /// One term.
    Term,
    /// Independent double geometric terms.
    Leaves(Box<GeometricSum>),
    /// Two parts.
    Split(Box<Split>),
}

/// A sum of two parts, and how it is split.
#[derive(Debug)]
struct Split {
    left: PartId,
    right: PartId,
    /// Var(left) / Var(left + right), and the means of both.
    slope: f64,
    means: (f64, f64),
    likely: Likely,
    /// If all terms are equal: the term, and the parts of a power of two of them, from the largest within this one to two terms; else none.
    term: PartId,
    levels: Vec<PartId>,
}

/// Alias tables of the left sum for the likely sums of both, from the first of them on.
#[derive(Debug, Default)]
struct Likely {
    first: i64,
    sums: u64,
    /// -1 where sums below 0 are split as those above with the other sign, else 0.
    flip: i64,
    rows: AliasRows,
}

/// Whether a table is that of an even law, up to rounding.
fn is_even(table: &Table) -> bool {
    let p = table.entries();
    *table.support().start() == -table.support().end()
        && p.iter().zip(p.iter().rev()).all(|(a, b)| (a - b).abs() <= 1e-14 * a.max(*b).max(1e-6))
}

/// The largest scale of double geometric terms that are split by tables, and the most of them.
const NARROW: f64 = 4.0;
const MAX_SPLIT: usize = 1 << 12;

/// Sums with a smaller probability are split by search.
const LIKELY: f64 = 1e-6;

/// What a part is made of.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Shape {
    /// The tilt by its bits.
    Leaf {
        level: usize,
        floor: i64,
        ceiling: i64,
        tilt: u64,
    },
    /// The deepest that each of the terms may go is beyond `floor`, which none is likely to.
    Leaves {
        level: usize,
        n: usize,
        reach: Option<u64>,
        floor: i64,
        tilt: u64,
    },
    Node {
        level: usize,
        inner: PartId,
        tilt: u64,
    },
    Split(PartId, PartId),
}

/// Space for one draw, reused from draw to draw.
#[derive(Debug, Clone, Default)]
pub struct PartsScratch {
    split: SplitScratch,
    parts: Vec<i64>,
    words: Vec<u64>,
    powers: Vec<i64>,
}

/// The noise of consecutive nodes.
pub(super) struct Nodes<'a> {
    pub(super) first: usize,
    pub(super) noise: &'a mut [i64],
}

impl Nodes<'_> {
    fn put(&mut self, order: &[u32], values: &[i64]) {
        for (&node, &z) in order.iter().zip(values) {
            self.noise[node as usize - self.first] = z;
        }
    }
}

impl Parts {
    /// The law of the sum of a part.
    pub(super) fn table(&self, part: PartId) -> &Table {
        &self.0[part as usize].table
    }

    /// Both halves of a part that is drawn as two.
    pub(super) fn halves(&self, part: PartId) -> Option<(PartId, PartId)> {
        match self.0[part as usize].kind {
            Kind::Split(ref split) => Some((split.left, split.right)),
            _ => None,
        }
    }

    /// Terms that a part covers.
    pub(super) fn terms(&self, part: PartId) -> usize {
        self.0[part as usize].len
    }

    /// Makes alias tables for likely splits, as far as `most` columns go: the part is then drawn several times as fast.
    pub(super) fn with_aliases(mut self, most: usize) -> Self {
        let mut columns = 0;
        for i in 0..self.0.len() {
            let Kind::Split(split) = &self.0[i].kind else { continue };
            let (left, right) = (split.left, split.right);
            let (l, r) = (&self.0[left as usize].table, &self.0[right as usize].table);
            let table = &self.0[i].table;
            let is_likely = |sum: &i64| table.at(*sum) >= LIKELY;
            let (Some(first), Some(last)) =
                (table.support().find(is_likely), table.support().rev().find(is_likely))
            else {
                continue;
            };
            let mirror = first == -last && is_even(l) && is_even(r);
            let first = if mirror { 0 } else { first };
            let mut rows = AliasRows::default();
            for sum in first..=last {
                let low = (*l.support().start()).max(sum - r.support().end());
                let high = (*l.support().end()).min(sum - r.support().start());
                let weights: Vec<f64> = (low..=high).map(|x| l.at(x) * r.at(sum - x)).collect();
                // What an alias table could not hold is left out.
                let least = 5e-20 * table.at(sum);
                let first = weights.iter().position(|&w| w > least).unwrap_or(0);
                let last = weights.iter().rposition(|&w| w > least).unwrap_or(0);
                let weights = &weights[first..=last];
                if columns + rows.columns() + weights.len().next_power_of_two() > most {
                    return self;
                }
                rows.push(low + first as i64, weights);
            }
            columns += rows.columns();
            let flip = if mirror { -1 } else { 0 };
            let made = Likely { first, sums: (last - first + 1) as u64, flip, rows };
            if let Kind::Split(split) = &mut self.0[i].kind {
                split.likely = made;
            }
        }
        self
    }

    /// Draws the terms of a part given their sum, into the places `order` of `noise`.
    pub(super) fn fill<R: Rng + ?Sized>(
        &self,
        id: PartId,
        sum: i64,
        order: &[u32],
        rng: &mut R,
        scratch: &mut PartsScratch,
        noise: &mut [i64],
    ) {
        self.fill_nodes(id, sum, order, rng, scratch, &mut Nodes { first: 0, noise });
    }

    /// Draws the terms of a part given their sum, into the nodes `order`.
    pub(super) fn fill_nodes<R: Rng + ?Sized>(
        &self,
        id: PartId,
        sum: i64,
        order: &[u32],
        rng: &mut R,
        scratch: &mut PartsScratch,
        noise: &mut Nodes<'_>,
    ) {
        let part = &self.0[id as usize];
        debug_assert_eq!(part.len, order.len());
        match &part.kind {
            Kind::Term => noise.put(order, &[sum]),
            Kind::Leaves(leaves) => {
                scratch.parts.resize(part.len, 0);
                leaves.split(rng, sum, &mut scratch.split, &mut scratch.parts);
                noise.put(order, &scratch.parts);
            }
            Kind::Split(split) if !split.levels.is_empty() => {
                self.fill_equal(id, split, sum, rng, scratch);
                noise.put(order, &scratch.parts);
            }
            Kind::Split(split) => {
                let x = self.half(id, split, sum, rng.next_u64(), rng);
                let (first, rest) = order.split_at(self.0[split.left as usize].len);
                self.fill_nodes(split.left, x, first, rng, scratch, noise);
                self.fill_nodes(split.right, sum - x, rest, rng, scratch, noise);
            }
        }
    }

    /// Draws n equal terms into the scratch: their sums by powers of two, the largest first; then all sums of one size
    /// are halved at once, and the next power of two joins them. So most draws do not wait for each other.
    fn fill_equal<R: Rng + ?Sized>(
        &self,
        id: PartId,
        split: &Split,
        sum: i64,
        rng: &mut R,
        scratch: &mut PartsScratch,
    ) {
        let n = self.0[id as usize].len;
        let PartsScratch { parts, words, powers, .. } = scratch;
        powers.clear();
        let (mut at, mut own, mut rest) = (id, split, sum);
        while own.left != own.right {
            let x = self.half(at, own, rest, rng.next_u64(), rng);
            powers.push(x);
            (at, rest) = (own.right, rest - x);
            match &self.0[at as usize].kind {
                Kind::Split(next) => own = next,
                _ => break,
            }
        }
        powers.push(rest);
        parts.resize(n, 0);
        parts[0] = powers[0];
        let (mut sums, mut joined) = (1, 1);
        for (k, &whole) in split.levels.iter().enumerate() {
            let Kind::Split(own) = &self.0[whole as usize].kind else {
                unreachable!("a sum of equal halves")
            };
            // All words first: the generator's state then stays in registers.
            words.clear();
            words.extend((0..sums).map(|_| rng.next_u64()));
            for i in (0..sums).rev() {
                let sum = parts[i];
                let x = self.half(whole, own, sum, words[i], rng);
                parts[2 * i] = x;
                parts[2 * i + 1] = sum - x;
            }
            sums *= 2;
            if n >> (split.levels.len() - 1 - k) & 1 == 1 {
                parts[sums] = powers[joined];
                (sums, joined) = (sums + 1, joined + 1);
            }
        }
    }

    /// The sum of the left half of a part, from a word, or from one more where there is no alias table.
    #[inline]
    fn half<R: Rng + ?Sized>(&self, part: PartId, split: &Split, sum: i64, word: u64, rng: &mut R) -> i64 {
        let likely = &split.likely;
        let sign = (sum >> 63) & likely.flip;
        let at = ((sum ^ sign) - sign).wrapping_sub(likely.first) as u64;
        if at < likely.sums {
            let x = likely.rows.at(at as usize, word);
            return (x ^ sign) - sign;
        }
        self.search(part, split, sum, rng)
    }

    /// The sum of the left half of a part, by a search from its likeliest value on, without alias tables.
    #[inline(never)]
    fn search<R: Rng + ?Sized>(&self, part: PartId, split: &Split, sum: i64, rng: &mut R) -> i64 {
        let &Split { left, right, slope, means, .. } = split;
        let (part, l, r) = (&self.0[part as usize], &self.0[left as usize], &self.0[right as usize]);
        let lo = (*l.table.support().start()).max(sum - r.table.support().end());
        let hi = (*l.table.support().end()).min(sum - r.table.support().start());
        let guess = means.0 + (sum as f64 - means.0 - means.1) * slope;
        let mode = (libm::rint(guess) as i64).clamp(lo, hi);
        let weight = |x: i64| l.table.at(x) * r.table.at(sum - x);
        outwards(open01(rng) * part.table.at(sum), mode, (lo, hi), weight)
    }
}

/// Makes parts, each shape once.
pub(super) struct Builder<'a, L, A = Tables> {
    laws: &'a [L],
    /// By level and tilt: how far down a term without a bound is likely to go.
    depths: HashMap<(usize, u64), i64>,
    arena: A,
    known: HashMap<Shape, PartId>,
    how: How,
}

/// How tables are made.
#[derive(Debug, Clone, Copy)]
pub(super) struct How {
    /// How tables are cut.
    pub(super) cut: Cut,
    /// Whether it is to be known what tables lack.
    pub(super) certified: bool,
}

/// What is kept of parts, by their numbers.
pub(super) trait Arena {
    /// The next part. Errors: it cannot be made.
    fn make<L: IntegerLaw>(&mut self, laws: &[L], how: How, shape: &Shape) -> Result<()>;
    fn len(&self) -> usize;
}

/// Parts with their tables.
#[derive(Debug, Default)]
pub(super) struct Tables {
    parts: Parts,
    /// By part, what its table lacks, if that is to be known.
    defects: Vec<Defect>,
    /// Multiplications of convolutions so far, and how many are expected, if that is known.
    steps: f64,
    expected: Option<f64>,
}

impl Tables {
    /// Multiplications of convolutions so far.
    #[cfg(test)]
    pub(super) fn steps_done(&self) -> f64 {
        self.steps
    }
}

/// Multiplications that two tables of such lengths are convolved with.
pub(super) fn steps(left: f64, right: f64, how: How) -> f64 {
    // The tables, and what each lacks with the other.
    left * right * if how.certified { 3.0 } else { 1.0 }
}

/// Terms of a sum that nothing is likely to bound: all of one level.
#[derive(Debug, Clone, Copy)]
pub(super) struct FreeTerms<'a> {
    /// The level of all terms.
    pub(super) level: usize,
    /// The largest sum that will be asked for, if all terms are such.
    pub(super) reach: Option<u64>,
    /// t of the factor `e^(t z)` on their weights.
    pub(super) tilt: f64,
    /// By term: -z of the deepest z that it may take, if that has a bound after all.
    pub(super) depths: Option<&'a [i64]>,
}

impl<'a, L: IntegerLaw> Builder<'a, L> {
    /// A builder of parts. `laws`: by level.
    pub(super) fn new(laws: &'a [L]) -> Self {
        Self::with_tails(laws, TRUNCATION)
    }

    /// A builder that knows value by value what every table lacks. `expected`: multiplications, if that is known.
    pub(super) fn certified(laws: &'a [L], cut: Cut, expected: Option<f64>) -> Self {
        let arena = Tables { expected, ..Tables::default() };
        Self::on(laws, How { cut, certified: true }, arena)
    }

    /// A builder of tables with other tails; what they lack is told by [`Table::lost`] alone.
    pub(super) fn with_tails(laws: &'a [L], tails: f64) -> Self {
        let cut = Cut { tails, sound_ends: false };
        Self::on(laws, How { cut, certified: false }, Tables::default())
    }

    pub(super) fn finish(self) -> Parts {
        self.arena.parts
    }

    pub(super) fn table(&self, part: PartId) -> &Table {
        self.arena.parts.table(part)
    }

    /// An upper bound on the total variation distance to a part's law, everything included that its table was made of: of
    /// a builder that is [`Builder::certified`] for any laws, else for those that nothing bounds.
    pub(super) fn lacking(&self, part: PartId) -> f64 {
        let table = self.table(part);
        self.arena.defects.get(part as usize).map_or(table.lost(), |defect| defect.share(table))
    }

    /// An upper bound on the total variation distance to a part's law given that its sum is 0.
    ///
    /// Without bounds the law is symmetric and unimodal: what was cut has at most its share given 0. Errors: 0 was cut.
    pub(super) fn lacking_at_zero(&self, part: PartId) -> Result<f64> {
        let table = self.table(part);
        if table.at(0) == 0.0 {
            return Err(super::table::nothing_left());
        }
        Ok(self.arena.defects.get(part as usize).map_or(table.lost(), |defect| defect.share_at(table, 0)))
    }
}

impl<'a, L: IntegerLaw, A: Arena> Builder<'a, L, A> {
    /// A builder that keeps parts in an arena that is empty.
    pub(super) fn on(laws: &'a [L], how: How, arena: A) -> Self {
        Self { laws, depths: HashMap::new(), arena, known: HashMap::new(), how }
    }

    pub(super) fn into_arena(self) -> A {
        self.arena
    }

    /// How far down a term without a bound is likely to go.
    fn depth(&mut self, level: usize, tilt: f64) -> i64 {
        let law = &self.laws[level];
        let depth = match self.depths.get(&(level, tilt.to_bits())) {
            Some(&depth) => depth,
            None if tilt == 0.0 && self.how.cut.tails >= TRUNCATION => reach(law),
            None => -*Table::tilted(law, NO_LOWER, NO_UPPER, tilt, self.how.cut.tails)
                .map_or(i64::MIN + 1..=0, |table| table.support())
                .start(),
        };
        self.depths.insert((level, tilt.to_bits()), depth);
        depth
    }

    /// One term within `floor <= z <= ceiling`; a bound that cuts nothing of the table counts as none. `tilt`: t of a
    /// factor `e^(t z)` on its weights.
    pub(super) fn leaf(&mut self, level: usize, floor: i64, ceiling: i64, tilt: f64) -> Result<PartId> {
        let is_open = self.how.certified || tilt == 0.0;
        let depth = if is_open { self.depth(level, tilt) } else { i64::MAX };
        let floor = if is_open && floor <= -depth { NO_LOWER } else { floor };
        let ceiling = if tilt == 0.0 && ceiling >= depth { NO_UPPER } else { ceiling };
        self.part(Shape::Leaf { level, floor, ceiling, tilt: tilt.to_bits() })
    }

    /// A sum of terms that is itself weighted with the law of a level, and with the factor `e^(tilt z)`.
    pub(super) fn node(&mut self, level: usize, inner: PartId, tilt: f64) -> Result<PartId> {
        self.part(Shape::Node { level, inner, tilt: tilt.to_bits() })
    }

    /// The part over several terms; puts them into the order in which it draws them.
    pub(super) fn sum(&mut self, terms: FreeTerms<'_>, order: &mut [u32], unit: &[PartId]) -> Result<PartId> {
        let FreeTerms { level, reach, tilt, depths } = terms;
        let tilt = tilt.to_bits();
        order.sort_by_key(|&term| unit[term as usize]);
        let free_leaf =
            self.known.get(&Shape::Leaf { level, floor: NO_LOWER, ceiling: NO_UPPER, tilt }).copied();
        let free = |&term: &u32| Some(unit[term as usize]) == free_leaf;
        let mut parts = Vec::new();
        let closed_form = self.laws.get(level).and_then(|law| law.as_double_geometric());
        // Narrow laws are split faster by tables.
        let is_wide = |law: DoubleGeometric| law.scale() > NARROW || order.len() > MAX_SPLIT;
        if closed_form.is_some_and(is_wide) && order.iter().any(free) {
            // Free leaves first, as one part.
            order.sort_by_key(|term| !free(term));
            let n = order.iter().filter(|term| free(term)).count();
            let reach = reach.filter(|_| n == order.len());
            // A power of two below all depths, so that few shapes differ; none is less than what made the terms free.
            let floor = match depths {
                None => NO_LOWER,
                Some(depths) => {
                    let least = order[..n].iter().map(|&term| depths[term as usize]).min().unwrap_or(0);
                    let power = if least > 0 { 1i64 << least.ilog2() } else { 0 };
                    -power.max(self.depth(level, f64::from_bits(tilt)))
                }
            };
            parts.push(self.part(Shape::Leaves { level, n, reach, floor, tilt })?);
            parts.extend(order[n..].iter().map(|&term| unit[term as usize]));
        } else {
            parts.extend(order.iter().map(|&term| unit[term as usize]));
        }
        self.split(&parts)
    }

    fn split(&mut self, parts: &[PartId]) -> Result<PartId> {
        if let [one] = parts {
            return Ok(*one);
        }
        // Powers of two, so that most shapes are shared.
        let (left, right) = parts.split_at(parts.len().div_ceil(2).next_power_of_two());
        let (left, right) = (self.split(left)?, self.split(right)?);
        self.part(Shape::Split(left, right))
    }

    fn part(&mut self, shape: Shape) -> Result<PartId> {
        if let Some(&id) = self.known.get(&shape) {
            return Ok(id);
        }
        self.arena.make(self.laws, self.how, &shape)?;
        let id = (self.arena.len() - 1) as PartId;
        self.known.insert(shape, id);
        Ok(id)
    }
}

impl Arena for Tables {
    fn len(&self) -> usize {
        self.parts.0.len()
    }

    fn make<L: IntegerLaw>(&mut self, laws: &[L], how: How, shape: &Shape) -> Result<()> {
        let How { cut, certified } = how;
        let parts = &self.parts.0;
        let defect = |part: PartId| &self.defects[part as usize];
        let (part, defect) = match *shape {
            Shape::Leaf { level, floor, ceiling, tilt } => {
                let (law, tilt) = (&laws[level], f64::from_bits(tilt));
                let table = Table::tilted(law, floor, ceiling, tilt, cut.tails)?;
                let defect = certified.then(|| Defect::of_law(&table, law, (floor, ceiling), tilt));
                (Part { kind: Kind::Term, table, len: 1 }, defect)
            }
            Shape::Leaves { level, n, reach, floor, tilt } => {
                let law = laws[level].as_double_geometric().expect("grouped only where it has one");
                let tilt = f64::from_bits(tilt);
                let leaves = GeometricSum::tilted(&law, n, reach, tilt, cut.tails)?;
                let table = leaves.sum().clone();
                let defect = certified.then(|| {
                    let next = leaves.beside(tilt);
                    Defect::of_sum(&table, |t| leaves.beyond_floor(&law, floor, tilt, t), next)
                });
                (Part { kind: Kind::Leaves(Box::new(leaves)), table, len: n }, defect)
            }
            Shape::Node { level, inner, tilt } => {
                let (law, table) = (&laws[level], &parts[inner as usize].table);
                let (table, defect) = if certified {
                    let (table, defect) = defect(inner).weighted(table, law, f64::from_bits(tilt), cut)?;
                    (table, Some(defect))
                } else {
                    (table.weighted(law, cut.tails)?, None)
                };
                (Part { kind: Kind::Term, table, len: 1 }, defect)
            }
            Shape::Split(left, right) => {
                let (l, r) = (&parts[left as usize], &parts[right as usize]);
                let ((mean_l, var_l), (mean_r, var_r)) = (l.table.moments(), r.table.moments());
                let lengths = [l, r].map(|part| part.table.entries().len() as f64);
                self.steps += steps(lengths[0], lengths[1], how);
                let (table, defect) = if certified {
                    let (left, right) = ((&l.table, defect(left)), (&r.table, defect(right)));
                    let (table, defect) = Defect::convolve(left, right, cut)?;
                    (table, Some(defect))
                } else {
                    (l.table.convolve_within(&r.table, cut.tails)?, None)
                };
                let slope = if var_l + var_r > 0.0 { var_l / (var_l + var_r) } else { 0.5 };
                let means = (mean_l, mean_r);
                // Of a part: its term, if all are equal, and how many.
                let term = |id: PartId| match &parts[id as usize].kind {
                    Kind::Term => Some(id),
                    Kind::Split(split) if !split.levels.is_empty() => Some(split.term),
                    _ => None,
                };
                let (term, same) =
                    (term(left).unwrap_or(left), term(left).is_some() && term(left) == term(right));
                let mut levels = Vec::new();
                if same && l.len.is_power_of_two() && r.len <= l.len {
                    levels.extend((l.len == r.len).then_some(parts.len() as PartId));
                    if let Kind::Split(half) = &l.kind {
                        levels.extend(&half.levels);
                    }
                }
                let split = Split { left, right, slope, means, likely: Likely::default(), term, levels };
                (Part { kind: Kind::Split(Box::new(split)), table, len: l.len + r.len }, defect)
            }
        };
        self.parts.0.push(part);
        self.defects.extend(defect);
        if let Some(expected) = self.expected {
            pace::at(self.steps, expected);
        }
        Ok(())
    }
}
