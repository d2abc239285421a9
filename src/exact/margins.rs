//! Integer noise on two-way tables with both margins fixed.

use crate::error::{Error, Result};
use crate::fourier::even_transform;
use crate::invariant::Component;
use crate::law::IntegerLaw;
use crate::rng::{Rng, open01};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};

/// Entries of the largest table (8 bytes each; a few of them are held).
const MAX_ENTRIES: f64 = (1u64 << 24) as f64;
/// Entries of the tables from which that of two rows is made, and multiplications to make it.
const MAX_SCRATCH: f64 = (1u64 << 26) as f64;
const MAX_WORK: f64 = (1u64 << 36) as f64;

/// Exact sampler of independent integer noise on an r × c table given zero row and column sums.
///
/// Rows are independent given that their vectors add to zero. With the shorter side as columns, `T_n(s)` is the
/// weight of `n` rows whose column sums are `s` (c - 1 free dimensions, `|s_j| <= R`); rows are divided in
/// halves, the halves' sums are drawn from `T_a(s) T_b(S - s)`, and two rows with given column sums are
/// drawn column by column, by one-dimensional convolutions. `T_1` is known, `T_2` a sum of positive terms;
/// only tables of 3 or more rows need a transform.
///
/// R covers the law but for [`MarginsTable::tv_error`], which extrapolates the mass on the boundary.
#[derive(Debug)]
pub struct MarginsTable<L: IntegerLaw> {
    law: L,
    /// Entries by row; columns are the shorter side.
    entries: Vec<Vec<u32>>,
    reach: i64,
    side: usize,
    /// `w(|z|)`, until it underflows.
    weights: Vec<f64>,
    /// By number of rows - 1.
    tables: Vec<Vec<f64>>,
    /// Cumulative weights of the first half's sums.
    root: Vec<f64>,
    tv_error: f64,
}

impl<L: IntegerLaw> MarginsTable<L> {
    /// `component`: a two-way table. Errors: [`Error::TooLarge`] where a table needs more than 2^24 entries.
    pub fn new(component: &Component, law: L) -> Result<Self> {
        let (rows, columns) = component.margins.expect("the caller checked the form");
        let entry = |i: usize, j: usize| component.entries[i * columns + j];
        let entries: Vec<Vec<u32>> = if columns <= rows {
            (0..rows).map(|i| (0..columns).map(|j| entry(i, j)).collect()).collect()
        } else {
            (0..columns).map(|j| (0..rows).map(|i| entry(i, j)).collect()).collect()
        };
        let (rows, columns) = (entries.len(), entries[0].len());
        if columns < 2 {
            return Err(Error::no_free_dimension());
        }
        // A half's column sum of s asks for |s| in all four corners of the table: w(s)^4 times the number of
        // ways, which the entries' entropy bounds.
        let limit = -(40.0 + (rows * columns) as f64) / 4.0;
        let mut reach = 1i64;
        while law.log_weight(reach) > limit && reach < (1 << 24) {
            reach += 1 + reach / 64;
        }
        let side = (2 * reach + 1) as usize;
        let largest = rows.div_ceil(2);
        let padded = if largest > 2 { (2 * side).next_power_of_two() } else { side };
        let check = |needed: f64, limit: f64, unit| {
            if needed <= limit {
                return Ok(());
            }
            Err(Error::TooLarge {
                what: format!("exact: a {rows} × {columns} table with margins (column sums within ±{reach})"),
                needed: needed as u64,
                limit: limit as u64,
                unit,
            })
        };
        check(libm::pow(padded as f64, columns as f64 - 1.0), MAX_ENTRIES, "table entries")?;
        if largest >= 2 {
            let (scratch, work) = two_rows_cost(columns, reach);
            check(scratch, MAX_SCRATCH, "table entries for two rows")?;
            check(work, MAX_WORK, "multiplications")?;
        }
        let weights = (0..).map(|z| libm::exp(law.log_weight(z))).take_while(|&w| w > 1e-150).collect();
        let (tables, root) = (Vec::new(), Vec::new());
        let mut margins = Self { law, entries, reach, side, weights, tables, root, tv_error: 0.0 };
        margins.tables.push(margins.one_row());
        if largest >= 2 {
            margins.tables.push(margins.two_rows());
        }
        if largest > 2 {
            margins.more_rows(largest, padded);
        }
        margins.prepare_root();
        Ok(margins)
    }

    fn columns(&self) -> usize {
        self.entries[0].len()
    }

    /// The sums that an index of a table stands for: all columns, the last one from the others.
    #[inline]
    fn sums(&self, mut index: usize, out: &mut [i64]) {
        let last = out.len() - 1;
        let mut total = 0;
        for s in &mut out[..last] {
            *s = (index % self.side) as i64 - self.reach;
            index /= self.side;
            total += *s;
        }
        out[last] = -total;
    }

    fn one_row(&self) -> Vec<f64> {
        let mut sums = vec![0; self.columns()];
        let size = self.side.pow(self.columns() as u32 - 1);
        (0..size)
            .map(|index| {
                self.sums(index, &mut sums);
                libm::exp(self.law.log_weights(&sums))
            })
            .collect()
    }

    /// `T_2(s) = Σ over t with Σ t_j = 0 of Π_j g_{s_j}(t_j)`, `g_s(t) = w(t) w(s - t)`: prefix sums column by
    /// column, all of them positive.
    fn two_rows(&self) -> Vec<f64> {
        let (columns, reach) = (self.columns(), self.reach);
        let far = self.reach * (columns as i64 - 1);
        // Row 1's entries in a column lie between 0 and s, and beyond it by at most the reach.
        let weight: Vec<f64> =
            (0..=2 * far.max(2 * reach)).map(|z| libm::exp(self.law.log_weight(z))).collect();
        let w = |z: i64| weight.get(z.unsigned_abs() as usize).copied().unwrap_or(0.0);
        let pair = |s: i64| -> Table1 {
            let (lo, hi) = (s.min(0) - reach, s.max(0) + reach);
            Table1 { lo, p: (lo..=hi).map(|t| w(t) * w(s - t)).collect() }
        };
        let by_sum: Vec<Table1> = (-far..=far).map(pair).collect();
        let g = |s: i64| &by_sum[(s + far) as usize];
        let size = self.side.pow(columns as u32 - 1);
        let mut out = vec![0.0; size];
        // Over the first half of the columns, then the second, each as a table of its partial sum.
        let split = columns / 2;
        let left_size = self.side.pow(split as u32);
        let mut sums = vec![0; columns];
        let mut lefts: Vec<Table1> = Vec::with_capacity(left_size);
        for index in 0..left_size {
            self.sums(index, &mut sums);
            lefts.push(sums[1..split].iter().fold(g(sums[0]).clone(), |t, &s| t.convolve(g(s))));
        }
        // Fixed keys: the order in which memory is given back is then the same in every process.
        let mut rights: HashMap<Vec<i64>, Table1, BuildHasherDefault<DefaultHasher>> = HashMap::default();
        for (index, out) in out.iter_mut().enumerate() {
            self.sums(index, &mut sums);
            let mut key = sums[split..].to_vec();
            key.sort_unstable();
            let right = rights
                .entry(key)
                .or_insert_with_key(|key| key[1..].iter().fold(g(key[0]).clone(), |t, &s| t.convolve(g(s))));
            *out = lefts[index % left_size].meet(right);
        }
        out
    }

    /// Tables of 3 … `largest` rows by powers of the transform of one row.
    fn more_rows(&mut self, largest: usize, padded: usize) {
        let dimensions = self.columns() - 1;
        let size = padded.pow(dimensions as u32);
        let mut place = Vec::with_capacity(self.tables[0].len());
        for index in 0..self.tables[0].len() {
            let (mut rest, mut at) = (index, 0);
            for dimension in 0..dimensions {
                let s = (rest % self.side) as i64 - self.reach;
                rest /= self.side;
                at += s.rem_euclid(padded as i64) as usize * padded.pow(dimension as u32);
            }
            place.push(at);
        }
        let transform = |table: &[f64]| {
            let mut wide = vec![0.0; size];
            for (&at, &p) in place.iter().zip(table) {
                wide[at] = p;
            }
            even_transform(&wide, padded, dimensions)
        };
        let one = transform(&self.tables[0]);
        let mut power = transform(&self.tables[1]);
        for _ in 3..=largest {
            power.iter_mut().zip(&one).for_each(|(p, f)| *p *= f);
            let back = even_transform(&power, padded, dimensions);
            self.tables.push(place.iter().map(|&at| back[at].max(0.0) / size as f64).collect());
        }
    }

    fn prepare_root(&mut self) {
        let rows = self.entries.len();
        let (a, b) = (rows.div_ceil(2), rows / 2);
        let size = self.tables[0].len();
        let (mut total, mut shell, mut inner_shell) = (0.0, 0.0, 0.0);
        let mut sums = vec![0; self.columns()];
        let mut root = Vec::with_capacity(size);
        for index in 0..size {
            // -s has the mirrored index, and tables are even.
            let weight = self.tables[a - 1][index] * self.tables[b - 1][index];
            total += weight;
            root.push(total);
            self.sums(index, &mut sums);
            let far = sums.iter().map(|s| s.abs()).max().unwrap_or(0);
            if far == self.reach {
                shell += weight;
            } else if far == self.reach - 1 {
                inner_shell += weight;
            }
        }
        // The shells fall at least geometrically; what a sum lost by cutting the rows' tables is of the same
        // order as the halves' own.
        let ratio: f64 = if inner_shell > 0.0 { (shell / inner_shell).min(0.999) } else { 0.0 };
        self.tv_error = rows as f64 * shell / (1.0 - ratio) / total + rows as f64 * 1e-15;
        self.root = root;
    }

    /// One draw, into the component's entries of `noise`.
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R, noise: &mut [i64]) {
        let rows = self.entries.len();
        let target = open01(rng) * self.root[self.root.len() - 1];
        let index = self.root.partition_point(|&sum| sum <= target).min(self.root.len() - 1);
        let mut sums = vec![0; self.columns()];
        self.sums(index, &mut sums);
        let half = rows.div_ceil(2);
        self.rows_given(rng, 0..half, &sums, noise);
        sums.iter_mut().for_each(|s| *s = -*s);
        self.rows_given(rng, half..rows, &sums, noise);
    }

    /// Draws some rows given their column sums.
    fn rows_given<R: Rng + ?Sized>(
        &self,
        rng: &mut R,
        rows: std::ops::Range<usize>,
        sums: &[i64],
        noise: &mut [i64],
    ) {
        match rows.len() {
            0 => {}
            1 => {
                for (&entry, &s) in self.entries[rows.start].iter().zip(sums) {
                    noise[entry as usize] = s;
                }
            }
            2 => {
                let first = self.first_of_two(rng, sums);
                for ((&top, &bottom), (&t, &s)) in self.entries[rows.start]
                    .iter()
                    .zip(&self.entries[rows.start + 1])
                    .zip(first.iter().zip(sums))
                {
                    noise[top as usize] = t;
                    noise[bottom as usize] = s - t;
                }
            }
            n => {
                let half = n.div_ceil(2);
                let left = self.half_given(rng, half, n - half, sums);
                let right: Vec<i64> = sums.iter().zip(&left).map(|(s, l)| s - l).collect();
                self.rows_given(rng, rows.start..rows.start + half, &left, noise);
                self.rows_given(rng, rows.start + half..rows.end, &right, noise);
            }
        }
    }

    /// The sums of the first `a` rows given those of all `a + b`: ∝ `T_a(s) T_b(sums - s)`.
    fn half_given<R: Rng + ?Sized>(&self, rng: &mut R, a: usize, b: usize, sums: &[i64]) -> Vec<i64> {
        let mut left = vec![0; sums.len()];
        let other = |left: &[i64]| {
            let mut index = 0;
            for (&s, &l) in sums.iter().zip(left).take(sums.len() - 1).rev() {
                let s = s - l;
                if s.abs() > self.reach {
                    return None;
                }
                index = index * self.side + (s + self.reach) as usize;
            }
            Some(index)
        };
        let mut weight = |index: usize| {
            self.sums(index, &mut left);
            other(&left).map_or(0.0, |at| self.tables[a - 1][index] * self.tables[b - 1][at])
        };
        let size = self.tables[0].len();
        let total: f64 = (0..size).map(&mut weight).sum();
        let mut rest = open01(rng) * total;
        let mut chosen = None;
        for index in 0..size {
            let p = weight(index);
            rest -= p;
            if p > 0.0 {
                chosen = Some(index);
            }
            if rest < 0.0 {
                break;
            }
        }
        self.sums(chosen.expect("some sum has weight"), &mut left);
        left
    }

    /// The first of two rows whose column sums are given: columns are independent given that it sums to 0.
    fn first_of_two<R: Rng + ?Sized>(&self, rng: &mut R, sums: &[i64]) -> Vec<i64> {
        let w = |z: i64| self.weights.get(z.unsigned_abs() as usize).copied().unwrap_or(0.0);
        let tables: Vec<Table1> = sums
            .iter()
            .map(|&s| {
                // From between 0 and s, where the weight w(t) w(s - t) has its mode, to where it falls below 1e-19
                // of that.
                let (mut lo, mut hi) = (s / 2, s / 2);
                let least = 1e-19 * w(lo) * w(s - lo);
                let mut below = vec![w(lo) * w(s - lo)];
                while w(lo - 1) * w(s - lo + 1) > least {
                    lo -= 1;
                    below.push(w(lo) * w(s - lo));
                }
                below.reverse();
                while w(hi + 1) * w(s - hi - 1) > least {
                    hi += 1;
                    below.push(w(hi) * w(s - hi));
                }
                Table1 { lo, p: below }
            })
            .collect();
        // Suffix sums, then column by column.
        let mut suffix = vec![tables[tables.len() - 1].clone()];
        for table in tables[1..tables.len() - 1].iter().rev() {
            suffix.push(table.convolve(&suffix[suffix.len() - 1]));
        }
        suffix.reverse();
        let mut needed = 0i64;
        let mut row = Vec::with_capacity(sums.len());
        for (table, later) in tables.iter().zip(&suffix) {
            let weight = |t: i64| table.at(t) * later.at(needed - t);
            let range = table.lo..table.lo + table.p.len() as i64;
            let total: f64 = range.clone().map(weight).sum();
            let mut rest = open01(rng) * total;
            let mut chosen = range.start;
            for t in range {
                let p = weight(t);
                rest -= p;
                if p > 0.0 {
                    chosen = t;
                }
                if rest < 0.0 {
                    break;
                }
            }
            row.push(chosen);
            needed -= chosen;
        }
        row.push(needed);
        row
    }

    /// Estimate of the total variation distance of a draw to the target.
    pub fn tv_error(&self) -> f64 {
        self.tv_error
    }
}

/// Entries that are held while the table of two rows is made, and multiplications that it takes.
fn two_rows_cost(columns: usize, reach: i64) -> (f64, f64) {
    let (r, side, c) = (reach as f64, (2 * reach + 1) as f64, columns as f64);
    let split = columns / 2;
    // An entry's table has up to 3 R values, that of k entries up to 3 k R; sums of the last column reach (c - 1) R.
    let one = 2.0 * (c - 1.0) * r * (2.0 + 0.5 * c) * r;
    let lefts = libm::pow(side, split as f64);
    let rights = libm::pow(side, (columns - split) as f64 - 1.0) * (2.0 * (c - 1.0) * r + 1.0);
    let (left_length, right_length) = (3.0 * split as f64 * r, 3.0 * (columns - split) as f64 * r);
    let scratch = one + lefts * left_length + rights * right_length;
    let work = lefts * (split as f64 - 1.0) * 9.0 * r * r
        + rights * ((columns - split) as f64 - 1.0) * 9.0 * r * r
        + libm::pow(side, c - 1.0) * left_length.min(right_length);
    (scratch, work)
}

/// Weights on `lo, lo + 1, …`, not normalised: their sum matters here.
#[derive(Debug, Clone)]
struct Table1 {
    lo: i64,
    p: Vec<f64>,
}

impl Table1 {
    #[inline]
    fn at(&self, t: i64) -> f64 {
        self.p.get(t.wrapping_sub(self.lo) as usize).copied().unwrap_or(0.0)
    }

    fn convolve(&self, other: &Self) -> Self {
        let mut p = vec![0.0; self.p.len() + other.p.len() - 1];
        for (i, a) in self.p.iter().enumerate() {
            for (out, b) in p[i..].iter_mut().zip(&other.p) {
                *out += a * b;
            }
        }
        Self { lo: self.lo + other.lo, p }
    }

    /// `Σ_t a(t) b(-t)`.
    #[inline]
    fn meet(&self, other: &Self) -> f64 {
        let lo = self.lo.max(-(other.lo + other.p.len() as i64 - 1));
        let hi = (self.lo + self.p.len() as i64 - 1).min(-other.lo);
        if lo > hi {
            return 0.0;
        }
        let a = &self.p[(lo - self.lo) as usize..=(hi - self.lo) as usize];
        let b = &other.p[(-hi - other.lo) as usize..=(-lo - other.lo) as usize];
        a.iter().zip(b.iter().rev()).map(|(a, b)| a * b).sum()
    }
}
