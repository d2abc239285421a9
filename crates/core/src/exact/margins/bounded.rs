//! Two-way tables of integer noise within bounds.

use super::{MAX_PROPOSED, by_row, mean_kept, put_pair, too_many};
use crate::error::{Error, Result};
use crate::exact::Table;
use crate::exact::parts::{Builder, FreeTerms, PartId, Parts, PartsScratch};
use crate::exact::tilt::tilts;
use crate::invariant::{Bounded, Region};
use crate::law::IntegerLaw;
use crate::rng::{Rng, open01};

/// Entries of alias tables of all rows.
const MAX_ALIASES: usize = 1 << 20;
/// Standard deviations by which a column's or a row's mean may miss 0 before weights are tilted.
const MISS: f64 = 0.25;
/// Entries of the largest table.
const MAX_ENTRIES: usize = 1 << 12;
/// Multiplications for one proposal.
const MAX_WORK: f64 = (1u64 << 25) as f64;
/// Proposals by which the share that is kept is measured, and multiplications for all of them.
const TRIALS: f64 = 512.0;
const TRIAL_WORK: f64 = (1u64 << 28) as f64;
/// Total variation distance beyond which a sampler is refused.
const MAX_TV_ERROR: f64 = 1e-9;
/// Weights of a column below this share of its largest are left out.
const NOTHING: f64 = 1e-22;

/// Exact sampler of independent integer noise on an r × c table given zero row and column sums, every entry within
/// bounds of its own, by proposals of rows (see the module). The two rows that are fitted are those that spread the
/// most.
///
/// A row is drawn given that it sums to 0 by a tree of partial convolutions of its entries' tables. Column sums that
/// the bounds push away from 0 are brought back by weights `e^(τ_j z)` by column (and by row): they multiply to the
/// same for all tables with the margins, so that they change nothing but how many proposals are kept. `T_ij(s)` is a
/// one-dimensional convolution over the columns.
#[derive(Debug)]
pub struct BoundedMargins {
    rows: Vec<Proposed>,
    parts: Parts,
    /// The two rows that are fitted: the entries and laws of each, by column.
    pair: [(Vec<u32>, Vec<Table>); 2],
    /// What a weight `T_ij` is multiplied by: `1/(‖T_i‖ ‖T_j‖)`.
    scale: f64,
    columns: usize,
    tv_error: f64,
}

/// A row that is proposed: its part, and its entries and their columns in the part's order.
#[derive(Debug)]
struct Proposed {
    part: PartId,
    entries: Vec<u32>,
    columns: Vec<u32>,
}

impl Proposed {
    /// A row given that it sums to 0; and what the table of its sum lost, over the probability of 0 there.
    ///
    /// - `unit`: the part of every entry; `row`: its entries, by their places in the component; `global`: the entries
    ///   at such places.
    ///
    /// Errors: a table that is too long; one that has nothing at 0.
    fn summing_to_zero<L: IntegerLaw>(
        build: &mut Builder<'_, L>,
        unit: &[PartId],
        row: &[u32],
        global: impl Fn(&[u32]) -> Vec<u32>,
    ) -> Result<(Self, f64)> {
        let mut own = row.to_vec();
        let terms = FreeTerms { level: 0, reach: None, tilt: 0.0, depths: None };
        let part = build.sum(terms, &mut own, unit)?;
        let met = build.table(part).at(0);
        if met == 0.0 {
            return Err(beyond());
        }
        let lacking = build.table(part).lost() / met;
        let columns = own.iter().map(|entry| row.iter().position(|e| e == entry).expect("its own") as u32);
        Ok((Self { part, columns: columns.collect(), entries: global(&own) }, lacking))
    }
}

/// Space for one draw, reused from draw to draw.
#[derive(Debug, Clone, Default)]
pub struct BoundedScratch {
    parts: PartsScratch,
    sums: Vec<i64>,
    first: Vec<i64>,
    fit: Fit,
}

impl BoundedMargins {
    /// Prepares the sampler of one component, `bounded`: a two-way table with bounds of its entries alone.
    ///
    /// Errors: rows of inequalities; no free dimension; [`Error::TooLarge`] for more than 2^12 entries, where a table
    /// of one entry or the sum of a row is too long, where a proposal takes more than 2^25 multiplications (with the
    /// scale that would do), or where a draw takes proposals of more than 10^7 entries; an estimate of the total
    /// variation distance above 1e-9.
    pub fn new<L: IntegerLaw>(bounded: &Bounded, law: &L) -> Result<Self> {
        let component = &bounded.component;
        let size = component.margins.expect("the caller checked the form");
        if !bounded.region.rows.is_empty() {
            return Err(Error::Unsupported {
                method: "exact",
                what: "margins with inequalities of several entries".into(),
                reason: "bounds of single entries alone are served; use line-gibbs",
            });
        }
        let region = &bounded.tightened();
        let places: Vec<u32> = (0..component.entries.len() as u32).collect();
        let table = by_row(&places, size);
        let columns = table[0].len();
        if table.len() < 2 || columns < 2 {
            return Err(Error::no_free_dimension());
        }
        let what = || format!("exact: a {} × {} table with margins and bounds", size.0, size.1);
        if places.len() > MAX_ENTRIES {
            let (needed, limit) = (places.len() as u64, MAX_ENTRIES as u64);
            return Err(Error::TooLarge { what: what(), needed, limit, unit: "entries" });
        }
        let tilt = tilt_by_entry(bounded, region, law)?;
        let laws = [*law];
        let mut build = Builder::new(&laws);
        let mut unit = vec![0; places.len()];
        for &entry in &places {
            let at = entry as usize;
            unit[at] = build.leaf(0, region.lower[at], region.upper[at], tilt[at])?;
        }
        let order = widest_first(&build, &unit, &table);
        let global =
            |row: &[u32]| row.iter().map(|&entry| component.entries[entry as usize]).collect::<Vec<u32>>();
        let pair = [order[0], order[1]].map(|i| {
            let laws =
                table[i].iter().map(|&e| build.table(unit[e as usize]).clone()).collect::<Vec<Table>>();
            (global(&table[i]), laws)
        });
        let mut lacking = 0.0;
        let mut rows = Vec::new();
        for &i in &order[2..] {
            let (row, lost) = Proposed::summing_to_zero(&mut build, &unit, &table[i], global)?;
            lacking += lost;
            rows.push(row);
        }
        let work = work_of_fit(&pair, columns);
        if work > MAX_WORK {
            return Err(too_much_work(what(), law.scale(), work));
        }
        let [(top, cut_top), (bottom, cut_bottom)] = pair.each_ref().map(|(_, laws)| norm(laws));
        let scale = 1.0 / (top * bottom);
        if !scale.is_finite() {
            return Err(beyond());
        }
        lacking += cut_top + cut_bottom;
        let parts = build.finish().with_aliases(MAX_ALIASES);
        let mut sampler = Self { rows, parts, pair, scale, columns, tv_error: 0.0 };
        let (proposals, proposed) = sampler.proposals(work, places.len());
        if proposed.is_nan() || proposed > MAX_PROPOSED {
            return Err(too_many(what(), proposed));
        }
        // What a proposal and the probability that it is kept lack, over the share that is kept; sums of positive
        // numbers are right to rounding.
        sampler.tv_error = 2.0 * lacking * proposals + 1e-15 * (columns * size.0.max(size.1)) as f64;
        if sampler.tv_error.is_nan() || sampler.tv_error > MAX_TV_ERROR {
            return Err(Error::Unsupported {
                method: "exact",
                what: format!(
                    "these margins and bounds: its tables may lack {:.1e} of the law",
                    sampler.tv_error
                ),
                reason: "at most 1e-9 is accepted; line-gibbs serves them",
            });
        }
        Ok(sampler)
    }

    /// Proposals for one draw, measured; and how many entries they propose in all. `work`: multiplications for one of
    /// them; `entries`: of the table.
    fn proposals(&self, work: f64, entries: usize) -> (f64, f64) {
        // Two rows alone need no proposal.
        let trials = if self.rows.is_empty() { 1.0 } else { (TRIAL_WORK / work).clamp(32.0, TRIALS) };
        let proposals = 1.0 / self.kept(trials as u64);
        let proposed = if self.rows.is_empty() { 0.0 } else { proposals * entries as f64 };
        (proposals, proposed)
    }

    /// The share of proposals that is kept, as the mean over so many of a fixed stream.
    pub fn kept(&self, trials: u64) -> f64 {
        let proposed = self.rows.iter().map(|row| &row.entries);
        let entries = self.pair.iter().map(|(entries, _)| entries).chain(proposed).flatten();
        let mut scratch = BoundedScratch::default();
        mean_kept(trials, entries, |rng, noise| self.propose(rng, &mut scratch, noise))
    }

    /// Draws all rows but two; returns the probability that they are kept.
    fn propose<R: Rng + ?Sized>(&self, rng: &mut R, scratch: &mut BoundedScratch, noise: &mut [i64]) -> f64 {
        let BoundedScratch { parts, sums, fit, .. } = scratch;
        sums.clear();
        sums.resize(self.columns, 0);
        for row in &self.rows {
            self.parts.fill(row.part, 0, &row.entries, rng, parts, noise);
            for (&entry, &j) in row.entries.iter().zip(&row.columns) {
                sums[j as usize] -= noise[entry as usize];
            }
        }
        let [top, bottom] = &self.pair;
        let both = top.1.iter().zip(&bottom.1).zip(&*sums).map(|((t, b), &s)| Weights::of_two(t, b, s));
        fit.total(both) * self.scale
    }

    /// Draws once, into the component's entries of `noise`.
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R, scratch: &mut BoundedScratch, noise: &mut [i64]) {
        while {
            let kept = self.propose(rng, scratch, noise);
            kept <= 0.0 || (!self.rows.is_empty() && open01(rng) >= kept)
        } {}
        let BoundedScratch { sums, first, fit, .. } = scratch;
        first.resize(self.columns, 0);
        fit.draw(rng, first);
        let [(top, _), (bottom, _)] = &self.pair;
        put_pair([top, bottom], first, sums, noise);
    }

    /// Estimate of the total variation distance of a draw to the law: at most what tables lack, over half the share of proposals that is
    /// kept, which is measured; and rounding.
    pub fn tv_error(&self) -> f64 {
        self.tv_error
    }
}

/// By entry: t of the factor `e^(t z)` on its weights by which the means of rows and columns are near 0. Errors: an
/// entry without a table.
fn tilt_by_entry<L: IntegerLaw>(bounded: &Bounded, region: &Region, law: &L) -> Result<Vec<f64>> {
    // Every entry has equations of its own: a group each, in an order of their own.
    let (equations, groups): (Vec<_>, Vec<Vec<u32>>) = bounded.equal_columns().into_iter().unzip();
    let (a, _) = bounded.matrices(equations.iter());
    let mut tilt = vec![0.0; bounded.component.entries.len()];
    for (entries, t) in groups.iter().zip(tilts(&a, &groups, region, law, MISS)?) {
        entries.iter().for_each(|&entry| tilt[entry as usize] = t);
    }
    Ok(tilt)
}

/// The rows of a table by the sum of their entries' variances, the largest first; `unit`: the part of every entry.
fn widest_first<L: IntegerLaw>(build: &Builder<'_, L>, unit: &[PartId], table: &[Vec<u32>]) -> Vec<usize> {
    let spread = |row: &Vec<u32>| row.iter().map(|&e| build.table(unit[e as usize]).moments().1).sum::<f64>();
    let mut order: Vec<(f64, usize)> = table.iter().enumerate().map(|(i, row)| (spread(row), i)).collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    order.into_iter().map(|(_, i)| i).collect()
}

/// Multiplications that a fit of two rows takes, nearly: half the square of the length of all columns together, each as
/// long as the shorter of its two laws.
fn work_of_fit(pair: &[(Vec<u32>, Vec<Table>); 2], columns: usize) -> f64 {
    let width =
        |j: usize| pair.each_ref().map(|(_, laws)| laws[j].entries().len()).into_iter().min().unwrap_or(0);
    let width = (0..columns).map(width).sum::<usize>() as f64;
    0.5 * width * width
}

/// `‖T‖` of a row, and at most what its entries' tables lack of `T_ij` in units of `‖T_i‖ ‖T_j‖`.
///
/// Where entry c lies beyond its table, `T_ij` lacks at most the norm of `T_i` there times that of `T_j`. The square of
/// that norm is at most the lost mass squared times the largest sum over the other entries of their laws' squares,
/// which is at most the largest square of one of them times the sums of the squares of the others.
fn norm(laws: &[Table]) -> (f64, f64) {
    let squares = |law: &Table| -> Vec<f64> { law.entries().iter().map(|p| p * p).collect() };
    let weights = |law: &Table| Weights::trimmed(*law.support().start(), squares(law));
    let square = Fit::default().total(laws.iter().map(weights));
    let most = |law: &Table| squares(law).into_iter().fold(0.0, f64::max);
    let sum = |law: &Table| squares(law).into_iter().sum::<f64>();
    // The one whose largest square counts instead of their sum.
    let all: f64 = laws.iter().map(sum).product();
    let cut = (0..laws.len()).map(|c| {
        let others = laws.iter().enumerate().filter(|(i, _)| *i != c).map(|(_, law)| most(law) / sum(law));
        let beyond = all / sum(&laws[c]) * others.fold(f64::INFINITY, f64::min);
        laws[c].lost() * libm::sqrt(beyond / square)
    });
    (libm::sqrt(square), cut.sum())
}

/// The error of a proposal that takes too many multiplications, with the nearest scale that does not.
fn too_much_work(what: String, scale: f64, work: f64) -> Error {
    let would_do = scale * libm::sqrt(MAX_WORK / work);
    Error::TooLarge {
        what: format!("{what} at the scale {scale} ({would_do:.0} would do)"),
        needed: work as u64,
        limit: MAX_WORK as u64,
        unit: "multiplications a proposal",
    }
}

fn beyond() -> Error {
    Error::Unsupported {
        method: "exact",
        what: "these margins and bounds".into(),
        reason: "what satisfies them lies beyond the tables (probability below 1e-18 an entry)",
    }
}

/// Weights on `lo, lo + 1, …`, not normalised: their sum matters here. Empty for none.
#[derive(Debug, Clone, Default)]
struct Weights {
    lo: i64,
    p: Vec<f64>,
}

impl Weights {
    /// `p(t) q(s - t)`.
    fn of_two(p: &Table, q: &Table, s: i64) -> Self {
        let lo = (*p.support().start()).max(s - q.support().end());
        let hi = (*p.support().end()).min(s - q.support().start());
        Self::trimmed(lo, (lo..=hi).map(|t| p.at(t) * q.at(s - t)).collect())
    }

    /// Leaves out what is nothing beside the largest weight.
    fn trimmed(lo: i64, mut weights: Vec<f64>) -> Self {
        let least = NOTHING * weights.iter().copied().fold(0.0, f64::max);
        let first = weights.iter().position(|&w| w > least).unwrap_or(weights.len());
        weights.truncate(weights.iter().rposition(|&w| w > least).map_or(0, |last| last + 1));
        weights.drain(..first.min(weights.len()));
        Self { lo: lo + first as i64, p: weights }
    }

    #[inline]
    fn at(&self, t: i64) -> f64 {
        self.p.get(t.wrapping_sub(self.lo) as usize).copied().unwrap_or(0.0)
    }

    fn convolve(&self, other: &Self) -> Self {
        if self.p.is_empty() || other.p.is_empty() {
            return Self::default();
        }
        let mut p = vec![0.0; self.p.len() + other.p.len() - 1];
        for (i, a) in self.p.iter().enumerate() {
            p[i..].iter_mut().zip(&other.p).for_each(|(out, b)| *out += a * b);
        }
        Self { lo: self.lo + other.lo, p }
    }

    /// The values of this that go with the other's to `sum`.
    fn shared(&self, other: &Self, sum: i64) -> std::ops::Range<i64> {
        let end = |weights: &Self| weights.lo + weights.p.len() as i64;
        self.lo.max(sum - end(other) + 1)..end(self).min(sum - other.lo + 1)
    }
}

/// Sums of columns as a binary tree: the columns, then every two as one, until the last is their sum at 0.
#[derive(Debug, Clone, Default)]
struct Fit {
    levels: Vec<Vec<Weights>>,
    sums: Vec<i64>,
}

impl Fit {
    /// The weight of all values that sum to 0, one of each of at least two columns.
    fn total(&mut self, columns: impl Iterator<Item = Weights>) -> f64 {
        self.levels.clear();
        self.levels.push(columns.collect());
        loop {
            let last = &self.levels[self.levels.len() - 1];
            if let [a, b] = &last[..] {
                return a.shared(b, 0).map(|t| a.at(t) * b.at(-t)).sum();
            }
            let next = last.chunks(2).map(|two| match two {
                [a, b] => a.convolve(b),
                one => one[0].clone(),
            });
            let next = next.collect();
            self.levels.push(next);
        }
    }

    /// Draws the values by the weights of the last [`Fit::total`], which was above 0.
    fn draw<R: Rng + ?Sized>(&mut self, rng: &mut R, out: &mut [i64]) {
        let sums = &mut self.sums;
        sums.clear();
        sums.push(0);
        for level in self.levels.iter().rev() {
            // Sums of the level above become those of its halves, from the last on.
            let above = std::mem::take(sums);
            for (two, &sum) in level.chunks(2).zip(&above) {
                if let [a, b] = two {
                    let t = split(rng, a, b, sum);
                    sums.extend([t, sum - t]);
                } else {
                    sums.push(sum);
                }
            }
        }
        out.copy_from_slice(sums);
    }
}

/// The value of the first given the sum of both.
fn split<R: Rng + ?Sized>(rng: &mut R, a: &Weights, b: &Weights, sum: i64) -> i64 {
    let shared = a.shared(b, sum);
    let weight = |t: i64| a.at(t) * b.at(sum - t);
    let total: f64 = shared.clone().map(weight).sum();
    let mut rest = open01(rng) * total;
    let mut chosen = shared.start;
    for t in shared {
        let p = weight(t);
        rest -= p;
        if p > 0.0 {
            chosen = t;
        }
        if rest < 0.0 {
            break;
        }
    }
    chosen
}
