//! Trees of tables under noise of very different sizes, against exact arithmetic: whole numbers of any length, and no rounding but that of
//! the result.
#![allow(clippy::disallowed_methods)] // An oracle need not agree to the last bit.

use congenial_core::Alone;
use congenial_core::cube::{Answers, Domain, Estimate, Gls, Marginal, Measurements, Query, Variances};
use congenial_core::invariant::Hierarchy;
use congenial_core::rng::{Rng, below, normal};
use dashu_int::IBig;
use dashu_int::ops::{BitTest, UnsignedAbs};

use crate::common::test_stream;

/// Unknowns of a system at most: its exact inverse has as many rows.
const UNKNOWNS: usize = 24;
/// How far a variance may be off, as a part of it: some hundred roundings of 1.1e-16, one after the other. What is lost beside noise that
/// is 1e16 times as large is the square of a rounding times 1e16, 1e-16.
const OF_VARIANCE: f64 = 1e-13;
/// How far an estimate may be off, in its standard deviations; and times the root of the ratio of the noise. An answer is a number of up to
/// some 10 times the root of the ratio beside the least noise, of which 1.1e-16 is rounding, and some tens of roundings add up.
const OF_ESTIMATE: (f64, f64) = (1e-12, 5e-14);

fn number(rng: &mut impl Rng, from: u64, to: u64) -> usize {
    (from + below(rng, to - from + 1)) as usize
}

fn chance(rng: &mut impl Rng, one_in: u64) -> bool {
    below(rng, one_in) == 0
}

/// A tree of tables with what is measured of it. Variances are 1, 3, 5 or 7 times a power of 2.
struct System {
    tree: Hierarchy,
    domain: Domain,
    gls: Gls,
    /// By node and query.
    answers: Vec<Vec<Vec<f64>>>,
    /// By leaf and cell, whole numbers that have what is known.
    truth: Vec<i64>,
}

/// A tree of 2 or 3 levels, of which some leaves are above the last.
fn tree(rng: &mut impl Rng) -> Hierarchy {
    let children = number(rng, 2, 4);
    let mut parents = vec![0; 1 + children];
    if chance(rng, 2) {
        for v in 1..=children {
            parents.extend(vec![v; number(rng, 0, 3)]);
        }
    }
    Hierarchy::from_parents(&parents).unwrap()
}

/// A query of some attributes; of groups of one, where some are to be `joined`.
fn query(rng: &mut impl Rng, sizes: &[u32], joined: bool) -> Query {
    let named: Vec<usize> = (0..sizes.len()).filter(|_| chance(rng, 2)).collect();
    let query = Query::of(&named);
    if !joined || chance(rng, 3) {
        return query;
    }
    let mut groups = vec![Vec::new(); 2];
    for category in 0..sizes[0] {
        if let Some(group) = groups.get_mut(number(rng, 0, 2)) {
            group.push(category);
        }
    }
    groups.retain(|group| !group.is_empty());
    if groups.is_empty() { query } else { query.grouping(0, groups) }
}

impl System {
    /// With variances from 1 to a ratio.
    fn random(rng: &mut impl Rng, ratio: f64) -> Self {
        loop {
            let joined = !chance(rng, 3);
            let sizes: Vec<u32> =
                (0..number(rng, 1, 3)).map(|_| number(rng, 1, if joined { 5 } else { 3 }) as u32).collect();
            let tree = tree(rng);
            let mut queries = vec![Query::of(&(0..sizes.len()).collect::<Vec<_>>())];
            (0..number(rng, 1, 4)).for_each(|_| queries.push(query(rng, &sizes, joined)));
            let domain = Domain::new(&sizes, &[], &queries).unwrap();
            if domain.cells() * tree.leaves().len() > UNKNOWNS {
                continue;
            }
            let is_of_leaves =
                |level: usize| tree.leaves().iter().any(|&leaf| tree.level(leaf as usize) == level);
            // Both ends, and what is between them.
            let variance = |rng: &mut _| {
                let power = match number(rng, 0, 2) {
                    0 => 0.0,
                    1 => ratio.log2().floor(),
                    _ => (ratio.log2() * below(rng, 101) as f64 / 100.0).floor(),
                };
                [1.0, 3.0, 5.0, 7.0][number(rng, 0, 3)] * power.exp2()
            };
            let mut variances = Vec::new();
            for level in 0..tree.levels() {
                let of = |(query, rng): (usize, &mut _)| match number(rng, 0, 6) {
                    0 if query > 0 => Some(0.0),
                    1 | 2 if query > 0 || !is_of_leaves(level) => None,
                    _ => Some(variance(rng)),
                };
                variances.push((0..queries.len()).map(|query| of((query, rng))).collect());
            }
            let marginals = queries.iter().map(|query| Marginal::new(&domain, query)).collect();
            let measurements = Measurements::new(&domain, marginals, variances).unwrap();
            let gls = Gls::new(&tree, measurements).unwrap();
            let unknowns = tree.leaves().len() * domain.cells();
            let truth = (0..unknowns).map(|_| number(rng, 0, 30) as i64).collect();
            let mut own = Self { tree, domain, gls, answers: Vec::new(), truth };
            own.answers = (0..own.tree.nodes()).map(|v| own.answered(v, rng)).collect();
            return own;
        }
    }

    /// The answers of a node: what is true, and whole numbers for noise.
    fn answered(&self, v: usize, rng: &mut impl Rng) -> Vec<Vec<f64>> {
        let measurements = self.gls.measurements();
        let mut all = vec![Vec::new(); measurements.queries().len()];
        for (query, variance) in measurements.of_level(self.tree.level(v)) {
            for answer in 0..measurements.queries()[query].answers() {
                let row = self.row(&[(v, 1)], query, answer);
                let truth: i64 = row.iter().zip(&self.truth).map(|(h, x)| h * x).sum();
                all[query].push(truth as f64 + (variance.sqrt() * normal(rng)).round());
            }
        }
        all
    }

    /// The weights of an answer, of a sum over areas, in the unknowns.
    fn row(&self, areas: &[(usize, i64)], query: usize, answer: usize) -> Vec<i64> {
        let (cells, marginal) = (self.domain.cells(), &self.gls.measurements().queries()[query]);
        let mut row = vec![0; self.truth.len()];
        for (place, &leaf) in self.tree.leaves().iter().enumerate() {
            let mut v = leaf as usize;
            loop {
                let weight: i64 = areas.iter().filter(|(area, _)| *area == v).map(|(_, weight)| weight).sum();
                for cell in (0..cells).filter(|&cell| marginal.answer_of(&self.domain, cell) == Some(answer))
                {
                    row[place * cells + cell] += weight;
                }
                if v == 0 {
                    break;
                }
                v = self.tree.parent(v);
            }
        }
        row
    }
}

/// Least squares in whole numbers. The unknowns are `truth + Z t` with the columns of Z, along which nothing is known, and t is the best
/// estimate `N⁻¹ Zᵀ b`; all that follows is a whole number over the determinant of N.
struct Exact {
    /// By column of Z.
    open: Vec<Vec<IBig>>,
    /// The determinant times the inverse of N.
    adjugate: Vec<Vec<IBig>>,
    determinant: IBig,
    /// `Zᵀ b`, b of what is measured less what is true.
    along: Vec<IBig>,
    /// What all precisions were multiplied by.
    unit: IBig,
    /// The largest variance of noise.
    largest: f64,
}

impl Exact {
    fn of(own: &System) -> Self {
        let n = own.truth.len();
        let (mut known, mut finite) = (Vec::new(), Vec::new());
        let measurements = own.gls.measurements();
        for v in 0..own.tree.nodes() {
            for (query, variance) in measurements.of_level(own.tree.level(v)) {
                for (answer, y) in own.answers[v][query].iter().enumerate() {
                    let row = own.row(&[(v, 1)], query, answer);
                    let truth: i64 = row.iter().zip(&own.truth).map(|(h, x)| h * x).sum();
                    match variance == 0.0 {
                        true => known.push(row),
                        false => finite.push((row, *y as i64 - truth, variance)),
                    }
                }
            }
        }
        let open = null_space(known, n);
        // 105 is a multiple of 3, 5 and 7; of the powers of 2 the largest.
        let most = finite.iter().map(|(.., variance)| *variance).fold(1.0, f64::max);
        let power = most.log2().floor() as usize;
        let unit = IBig::from(105) << power;
        let m = open.len();
        let (mut normal, mut along) = (vec![vec![IBig::ZERO; m]; m], vec![IBig::ZERO; m]);
        for (row, y, variance) in &finite {
            let precision = &unit / IBig::from(*variance as i128);
            let row: Vec<IBig> = open.iter().map(|column| dot(row, column)).collect();
            for i in 0..m {
                along[i] += &row[i] * &precision * IBig::from(*y);
                for j in 0..m {
                    normal[i][j] += &row[i] * &precision * &row[j];
                }
            }
        }
        let (adjugate, determinant) = inverted(normal);
        Self { open, adjugate, determinant, along, unit, largest: most }
    }

    /// How far the best estimate of `rowᵀ x` is from what is true, and its variance.
    fn told(&self, row: &[i64]) -> (f64, f64) {
        let row: Vec<IBig> = self.open.iter().map(|column| dot(row, column)).collect();
        let (mut off, mut variance) = (IBig::ZERO, IBig::ZERO);
        for (own, adjugate) in row.iter().zip(&self.adjugate) {
            for ((x, other), along) in adjugate.iter().zip(&row).zip(&self.along) {
                let term = own * x;
                off += &term * along;
                variance += term * other;
            }
        }
        (ratio(off, &self.determinant), ratio(variance * &self.unit, &self.determinant))
    }
}

fn dot(row: &[i64], column: &[IBig]) -> IBig {
    row.iter().zip(column).filter(|(h, _)| **h != 0).map(|(h, x)| x * IBig::from(*h)).sum()
}

/// Columns that span what has no part along some rows.
fn null_space(rows: Vec<Vec<i64>>, n: usize) -> Vec<Vec<IBig>> {
    let mut rows: Vec<Vec<IBig>> =
        rows.into_iter().map(|row| row.into_iter().map(IBig::from).collect()).collect();
    let mut pivots: Vec<usize> = Vec::new();
    for column in 0..n {
        let rank = pivots.len();
        let Some(at) = (rank..rows.len()).find(|&i| rows[i][column] != IBig::ZERO) else { continue };
        rows.swap(rank, at);
        let pivot = rows[rank].clone();
        for (_, row) in rows.iter_mut().enumerate().filter(|(i, row)| *i != rank && row[column] != IBig::ZERO)
        {
            let weight = row[column].clone();
            for (x, p) in row.iter_mut().zip(&pivot) {
                *x = &*x * &pivot[column] - &weight * p;
            }
        }
        pivots.push(column);
    }
    let all: IBig = pivots.iter().enumerate().map(|(k, &column)| rows[k][column].clone()).product();
    let of = |free: usize| {
        let mut column = vec![IBig::ZERO; n];
        column[free] = all.clone();
        for (k, &pivot) in pivots.iter().enumerate() {
            column[pivot] = -(&all / &rows[k][pivot]) * &rows[k][free];
        }
        column
    };
    (0..n).filter(|column| !pivots.contains(column)).map(of).collect()
}

/// The adjugate of a positive definite matrix and its determinant (Bareiss's way: all divisions have no rest).
fn inverted(mut rows: Vec<Vec<IBig>>) -> (Vec<Vec<IBig>>, IBig) {
    let n = rows.len();
    for (i, row) in rows.iter_mut().enumerate() {
        row.extend((0..n).map(|j| IBig::from(i32::from(i == j))));
    }
    let mut last = IBig::ONE;
    for k in 0..n {
        let pivot = rows[k].clone();
        for (_, row) in rows.iter_mut().enumerate().filter(|(i, _)| *i != k) {
            let weight = row[k].clone();
            for (x, p) in row.iter_mut().zip(&pivot) {
                *x = (&*x * &pivot[k] - &weight * p) / &last;
            }
        }
        last = pivot[k].clone();
    }
    (rows.into_iter().map(|row| row[n..].to_vec()).collect(), last)
}

/// The quotient of two whole numbers, the second > 0.
fn ratio(of: IBig, by: &IBig) -> f64 {
    let bits = |x: &IBig| x.clone().unsigned_abs().bit_len() as i64;
    // 100 binary digits of it.
    let more = 100 + bits(by) - bits(&of);
    let quotient = match more > 0 {
        true => (of << more as usize) / by,
        false => of / (by << more.unsigned_abs() as usize),
    };
    i128::try_from(quotient).unwrap() as f64 * (-more as f64).exp2()
}

/// By node the answers of the estimate to each query.
fn estimated(own: &System) -> Vec<(usize, Vec<Vec<f64>>)> {
    let measure = |v: usize, out: &mut Answers| {
        for (out, given) in out.of.iter_mut().zip(&own.answers[v]) {
            out.copy_from_slice(given);
        }
    };
    let see = |all: &mut Vec<(usize, Vec<Vec<f64>>)>, v: usize, estimate: &Estimate| {
        let of = |marginal: &Marginal| {
            let mut out = Vec::new();
            estimate.answers(marginal, &mut out);
            out
        };
        all.push((v, own.gls.measurements().queries().iter().map(of).collect()));
        Ok(())
    };
    own.gls.estimate(&Alone, usize::MAX, measure, see).unwrap().into_iter().flatten().collect()
}

/// The largest errors that were seen: of the variance of an area's answer and of that of a sum over areas, as a part of it; of what is
/// known, of which the variance is 0; of an estimate, in standard deviations, or in counts where it is known.
#[derive(Default, Debug)]
struct Worst {
    variance: f64,
    sums: f64,
    nothing: f64,
    estimate: f64,
}

/// The variances of areas and of sums over areas.
fn compare_variances(own: &System, exact: &Exact, rng: &mut impl Rng, worst: &mut Worst) {
    let queries = own.gls.measurements().queries();
    let mut compare = |variances: &Variances, areas: &[(usize, i64)], is_sum: bool| {
        for (query, marginal) in queries.iter().enumerate() {
            for answer in 0..marginal.answers() {
                let got = variances.answer(marginal, answer);
                let (_, want) = exact.told(&own.row(areas, query, answer));
                let (most, off) = match (want > 0.0, is_sum) {
                    (true, false) => (&mut worst.variance, (got - want).abs() / want),
                    (true, true) => (&mut worst.sums, (got - want).abs() / want),
                    // Of weights that cancel the square of a rounding is left.
                    (false, true) => (&mut worst.nothing, got / exact.largest),
                    (false, false) => (&mut worst.nothing, got),
                };
                *most = most.max(off);
            }
        }
    };
    own.gls.each_variances(|areas, variances| {
        areas.iter().for_each(|&v| compare(variances, &[(v, 1)], false));
    });
    for _ in 0..3 {
        let areas: Vec<(usize, i64)> = (0..number(rng, 1, 4))
            .map(|_| (below(rng, own.tree.nodes() as u64) as usize, number(rng, 0, 6) as i64 - 3))
            .collect();
        let weighed: Vec<(usize, f64)> = areas.iter().map(|&(v, weight)| (v, weight as f64)).collect();
        compare(&own.gls.variances(&weighed), &areas, true);
    }
}

/// The estimates.
fn compare_estimates(own: &System, exact: &Exact, worst: &mut Worst) {
    for (v, answers) in estimated(own) {
        for (query, all) in answers.iter().enumerate() {
            for (answer, got) in all.iter().enumerate() {
                let row = own.row(&[(v, 1)], query, answer);
                let truth: i64 = row.iter().zip(&own.truth).map(|(h, x)| h * x).sum();
                let (off, variance) = exact.told(&row);
                let deviation = if variance > 0.0 { variance.sqrt() } else { 1.0 };
                worst.estimate = worst.estimate.max((got - truth as f64 - off).abs() / deviation);
            }
        }
    }
}

/// Variances of answers, of sums over areas and the estimates themselves in 600 random systems, a fifth of them with all noise of about one
/// size, and others with variances of a ratio up to 1e16; attributes are joined in a third of them, and some queries are known.
#[test]
fn noise_of_different_sizes_stays_apart() {
    let mut rng = test_stream(424);
    let (mut joined, mut known) = (0, 0);
    for ratio in [1.0f64, 1e4, 1e8, 1e12, 1e16] {
        let mut worst = Worst::default();
        for _ in 0..120 {
            let own = System::random(&mut rng, ratio);
            joined += usize::from(own.domain.joint() > 1);
            let variances = own.gls.measurements().variances();
            known += usize::from(variances.iter().flatten().flatten().any(|variance| *variance == 0.0));
            let exact = Exact::of(&own);
            compare_variances(&own, &exact, &mut rng, &mut worst);
            compare_estimates(&own, &exact, &mut worst);
        }
        let Worst { variance, sums, nothing, estimate } = worst;
        let of_estimate = OF_ESTIMATE.0 + OF_ESTIMATE.1 * ratio.sqrt();
        assert!(
            variance < OF_VARIANCE
                && sums < OF_VARIANCE
                && nothing < OF_VARIANCE * OF_VARIANCE
                && estimate < of_estimate,
            "a ratio of {ratio:e}: {worst:?}"
        );
    }
    assert!(joined > 150 && known > 200, "{joined} {known}");
}
