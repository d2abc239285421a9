//! The privacy that conditioning on inequalities pays, exactly.

use crate::error::{Error, Result};
use crate::exact::Truncated;
use crate::invariant::{Bounded, Region};
use crate::lattice::{Moves, Sparse};
use crate::law::DoubleGeometric;
use std::collections::{HashMap, HashSet, VecDeque};

/// The pair of tables between which conditioning pays most.
///
/// Let `M(x) = x + z` with double geometric noise and `c(x) = P(M(x) in S*)` the probability of the invariant. Between
/// tables x and x' of S* the loss of the unconditioned mechanism is `L = ‖x - x'‖₁ / lambda`, and that of the conditioned one is
/// exactly `L + ln c(x')/c(x)`: both factors of the proof of Theorem 2.1 in Gong and Meng, "Congenial differential
/// privacy", attain their bounds at the release `y = x`, which is in S*. Hence
///
/// `gamma = max ln(c(x')/c(x)) / L`
///
/// over the pairs that are compared is not only sufficient but necessary. Equations alone leave `c` constant: gamma = 0.
#[derive(Debug, Clone, PartialEq)]
pub struct WorstPair {
    /// `max ln(c(x')/c(x)) / L`.
    pub gamma: f64,
    /// `ln(c(x')/c(x))` there.
    pub log_ratio: f64,
    /// `L` there: what the unconditioned mechanism pays between the two.
    pub loss: f64,
    /// x, as moves of counts from the table that was given.
    pub from: Vec<i64>,
    /// x', likewise.
    pub to: Vec<i64>,
    /// Ordered pairs that were compared.
    pub pairs: u64,
    /// Tables among them.
    pub tables: u64,
}

/// The conditioning of one part of a table ([`Region::components`]) on everything that ties it.
#[derive(Debug)]
pub struct Conditioning<'a> {
    bounded: &'a Bounded,
    law: DoubleGeometric,
    /// By cell: the number of its group of equal columns.
    group: Vec<u32>,
    /// `ln c`, by the bounds of the noise up to exchanges within groups.
    known: HashMap<Vec<(u32, i64, i64)>, f64>,
}

impl<'a> Conditioning<'a> {
    /// `bounded`: the region is that of the given table's noise.
    pub fn new(bounded: &'a Bounded, law: DoubleGeometric) -> Self {
        let mut group = vec![0; bounded.component.cells.len()];
        for (g, (_, cells)) in (0..).zip(bounded.equal_columns()) {
            cells.iter().for_each(|&cell| group[cell as usize] = g);
        }
        Self { bounded, law, group, known: HashMap::new() }
    }

    /// `ln c(x + v)`, the probability that noise around the moved table satisfies everything.
    ///
    /// Errors: as [`Truncated::new`].
    pub fn log_probability(&mut self, v: &[i64]) -> Result<f64> {
        let region = self.bounded.region.around_moved(v);
        let mut key: Vec<(u32, i64, i64)> =
            (0..v.len()).map(|i| (self.group[i], region.lower[i], region.upper[i])).collect();
        key.sort_unstable();
        // Rows depend on the sums of groups alone, which a move changes together with the slack.
        key.extend(region.rows.iter().map(|(_, least)| (u32::MAX, *least, 0)));
        if let Some(&known) = self.known.get(&key) {
            return Ok(known);
        }
        let bounded = Bounded { component: self.bounded.component.clone(), region };
        let log_mass = Truncated::new(&bounded, &self.law)?.log_mass();
        self.known.insert(key, log_mass);
        Ok(log_mass)
    }

    /// The worst pair of x + v and a neighbour of it that satisfies everything, in either order: tables that differ by
    /// one record that changed its cell within a group of equal columns; where there are none, by one of the vectors
    /// that connect all tables.
    ///
    /// `None` if x + v has no such neighbour. Errors: as [`Truncated::new`]; too many vectors to list.
    pub fn worst_neighbour(&mut self, v: &[i64]) -> Result<Option<WorstPair>> {
        let mut worst: Option<WorstPair> = None;
        let here = self.log_probability(v)?;
        let mut seen: HashSet<Vec<(u32, i64, i64)>> = HashSet::new();
        let mut pairs = 0;
        for step in neighbours(self.bounded)? {
            let next = moved(v, &step);
            if !self.bounded.region.contains(&next) {
                continue;
            }
            pairs += 2;
            // Equal up to exchanges: the same figures.
            let bounds = self.bounded.region.around_moved(v);
            let mut kind: Vec<(u32, i64, i64)> = step
                .iter()
                .map(|&(cell, c)| (self.group[cell as usize], bounds.lower[cell as usize], i64::from(c)))
                .collect();
            kind.sort_unstable();
            let has_upper = bounds.has_upper();
            if !has_upper && !seen.insert(kind) {
                continue;
            }
            let there = self.log_probability(&next)?;
            let (from, to) = if there >= here { (v, &next[..]) } else { (&next[..], v) };
            keep(&mut worst, (there - here).abs(), self.law.rate(), from, to);
        }
        if let Some(worst) = &mut worst {
            (worst.pairs, worst.tables) = (pairs, pairs / 2 + 1);
        }
        Ok(worst)
    }

    /// The worst of all pairs of tables that satisfy everything.
    ///
    /// `None` if there are more than `limit` of them, or no pair. Errors: as [`Truncated::new`]; no connecting moves
    /// ([`crate::kernel::LatticeGibbs`]).
    pub fn worst_pair(&mut self, limit: usize) -> Result<Option<WorstPair>> {
        let steps = connecting(self.bounded, limit)?;
        let Some(steps) = steps else { return Ok(None) };
        let start = vec![0; self.bounded.component.cells.len()];
        let mut tables = vec![start.clone()];
        let mut seen: HashSet<Vec<i64>> = HashSet::from([start.clone()]);
        let mut open = VecDeque::from([start]);
        while let Some(table) = open.pop_front() {
            for step in &steps {
                let next = moved(&table, step);
                if self.bounded.region.contains(&next) && seen.insert(next.clone()) {
                    if tables.len() == limit {
                        return Ok(None);
                    }
                    tables.push(next.clone());
                    open.push_back(next);
                }
            }
        }
        let logs = tables.iter().map(|v| self.log_probability(v)).collect::<Result<Vec<f64>>>()?;
        let mut worst: Option<WorstPair> = None;
        for (i, v) in tables.iter().enumerate() {
            for (j, w) in tables.iter().enumerate() {
                if i != j && logs[j] >= logs[i] {
                    keep(&mut worst, logs[j] - logs[i], self.law.rate(), v, w);
                }
            }
        }
        if let Some(worst) = &mut worst {
            let n = tables.len() as u64;
            (worst.tables, worst.pairs) = (n, n * (n - 1));
        }
        Ok(worst)
    }

    /// The table with all counts of every group of equal columns in its largest cell, as moves from the given one: its
    /// noise is pressed against the most bounds, so that what it pays is a good lower bound of the worst. `None` if it
    /// does not satisfy everything, or cells have no lower bound.
    pub fn corner(&self) -> Option<Vec<i64>> {
        let region = &self.bounded.region;
        let mut v = vec![0; self.group.len()];
        for g in 0..=self.group.iter().copied().max()? {
            let cells: Vec<usize> = (0..v.len()).filter(|&i| self.group[i] == g).collect();
            // The lower bound of the noise is -(count above its own bound).
            let largest = *cells.iter().min_by_key(|&&i| region.lower[i])?;
            for &i in cells.iter().filter(|&&i| i != largest) {
                if region.lower[i] == crate::invariant::NO_LOWER {
                    return None;
                }
                v[i] = region.lower[i];
                v[largest] -= region.lower[i];
            }
        }
        region.contains(&v).then_some(v)
    }
}

fn keep(worst: &mut Option<WorstPair>, log_ratio: f64, rate: f64, from: &[i64], to: &[i64]) {
    let distance: u64 = from.iter().zip(to).map(|(a, b)| a.abs_diff(*b)).sum();
    let loss = distance as f64 * rate;
    let gamma = log_ratio / loss;
    if worst.as_ref().is_none_or(|worst| gamma > worst.gamma) {
        let (from, to) = (from.to_vec(), to.to_vec());
        *worst = Some(WorstPair { gamma, log_ratio, loss, from, to, pairs: 0, tables: 0 });
    }
}

fn moved(v: &[i64], step: &Sparse) -> Vec<i64> {
    let mut next = v.to_vec();
    step.iter().for_each(|&(cell, c)| next[cell as usize] += i64::from(c));
    next
}

/// The part with its cells numbered as they stand in it, so that vectors are on its own cells.
fn own(bounded: &Bounded) -> Bounded {
    let mut own = bounded.clone();
    own.component.cells = (0..own.component.cells.len() as u32).collect();
    own
}

/// Vectors to the neighbours, both signs.
fn neighbours(bounded: &Bounded) -> Result<Vec<Sparse>> {
    let pairs: Vec<Sparse> = bounded
        .equal_columns()
        .into_iter()
        .flat_map(|(_, cells)| {
            let others = cells.clone();
            cells.into_iter().flat_map(move |i| {
                let others = others.clone();
                others.into_iter().filter(move |&j| j != i).map(move |j| vec![(i, -1), (j, 1)])
            })
        })
        .collect();
    if !pairs.is_empty() {
        return Ok(pairs);
    }
    match connecting(bounded, usize::MAX)? {
        Some(vectors) => Ok(vectors),
        None => Err(Error::Invariant("too many vectors between neighbouring tables".into())),
    }
}

/// Vectors that connect all tables within the bounds, both signs; `None` if there are far more than `limit`.
fn connecting(bounded: &Bounded, limit: usize) -> Result<Option<Vec<Sparse>>> {
    let listed = Moves::within(&own(bounded))?.list(limit.saturating_mul(64));
    Ok(listed.map(|vectors| {
        let minus = |v: &Sparse| v.iter().map(|&(cell, c)| (cell, -c)).collect();
        vectors.iter().map(minus).chain(vectors.iter().cloned()).collect()
    }))
}

impl Region {
    /// The noise that keeps a release within the same bounds around the table moved by `v`.
    pub fn around_moved(&self, v: &[i64]) -> Self {
        let shift = |(&bound, &v): (&i64, &i64)| match bound {
            i64::MIN | i64::MAX => bound,
            bound => bound - v,
        };
        let row = |(row, least): &(crate::invariant::Row, i64)| {
            let along: i64 = row.iter().map(|&(cell, b)| b * v[cell as usize]).sum();
            (row.clone(), least - along)
        };
        Self {
            lower: self.lower.iter().zip(v).map(shift).collect(),
            upper: self.upper.iter().zip(v).map(shift).collect(),
            rows: self.rows.iter().map(row).collect(),
        }
    }
}

/// gamma of a release, and how it is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Gamma {
    /// 0: equations alone, independent noise, or a map that is the same for all tables of the invariant.
    Proved,
    /// The worst pair of all tables of the invariant.
    Computed(f64),
    /// At most 1 (Theorem 2.1).
    Bounded,
    /// No bound is known: approximate privacy, conditioned on an event whose probability depends on the table.
    Unknown,
}

impl Gamma {
    /// The figure, if there is one.
    pub fn value(self) -> Option<f64> {
        match self {
            Self::Proved => Some(0.0),
            Self::Computed(gamma) => Some(gamma),
            Self::Bounded => Some(1.0),
            Self::Unknown => None,
        }
    }

    /// How it is known, in a word or two.
    pub fn how(self) -> &'static str {
        match self {
            Self::Proved => "proved",
            Self::Computed(_) => "computed",
            Self::Bounded => "bounded",
            Self::Unknown => "unknown",
        }
    }
}

/// What imperfect sampling adds to delta: a law within total variation `eta` of an (epsilon, delta) law is
/// `(epsilon, delta + (1 + e^epsilon) eta)`-private.
pub fn sampling_delta(epsilon: f64, eta: f64) -> f64 {
    (1.0 + libm::exp(epsilon)) * eta
}
