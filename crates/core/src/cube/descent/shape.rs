//! What is known of the tables of children of one kind, on the cells that can be other than 0.

use super::super::basis;
use super::super::measurements::Said;
use super::super::small::{axpy, generalised_inverse, inverse, measured, product};
use super::operator::Operator;
use super::support::Support;
use crate::error::{Error, Result};

/// What is less than this in a projection along rows of 0s and 1s is rounding.
const ROUNDING: f64 = 1e-12;

/// The quadratic form of an estimate of a table, `(x - v)ᵀ P (x - v)` with the inverse P of its covariance, for tables that are 0 but on a
/// support: by kind of coefficients, matrices over the joined attributes.
#[derive(Debug)]
pub(super) struct Shape {
    /// P on the domain.
    precision: Vec<Vec<f64>>,
    /// What is known, if anything is.
    known: Option<Known>,
    /// On the support: P, and its inverse on what is not known.
    own: Vec<Vec<f64>>,
    pub(super) covariances: Vec<Vec<f64>>,
    /// P on what is not known, and its inverse.
    pub(super) form: Operator,
    pub(super) covariance: Operator,
}

/// Q, positive semidefinite, with `Q (x - v) = 0`.
#[derive(Debug)]
struct Known {
    /// Q on the domain.
    whole: Vec<Vec<f64>>,
    /// A generalised inverse of Q on the support.
    inverses: Vec<Vec<f64>>,
}

impl Shape {
    /// The form of an estimate with the covariances by kind, where `said` is known. Errors: covariances that are singular
    /// but for what is known.
    pub(super) fn new(
        covariances: &[Vec<f64>],
        said: &[Said],
        joint: usize,
        support: &Support,
    ) -> Result<Self> {
        let gram = |said: &Said| {
            let mut gram = vec![0.0; joint * joint];
            for h in said.known() {
                gram.chunks_exact_mut(joint).zip(h).for_each(|(row, &weight)| axpy(row, weight, h));
            }
            gram
        };
        let grams: Vec<Vec<f64>> = said.iter().map(gram).collect();
        let precision = |((covariance, said), gram): ((&Vec<f64>, &Said), &Vec<f64>)| {
            let open = beside(said.known(), joint);
            let mut sum = within(&open, covariance, joint);
            let trace = |matrix: &[f64]| (0..joint).map(|i| matrix[i * joint + i]).sum::<f64>();
            let (own, fixed) = (trace(&sum), trace(gram));
            // What is known spans the rest: with it there is an inverse.
            if fixed > 0.0 {
                axpy(&mut sum, if own > 0.0 { own } else { 1.0 } / fixed, gram);
            }
            inverse(&sum, joint).ok_or_else(singular)
        };
        let precision: Vec<Vec<f64>> =
            covariances.iter().zip(said).zip(&grams).map(precision).collect::<Result<_>>()?;
        let own = support.restrict(&precision);
        let n = support.joint();
        let mut covariances: Vec<Vec<f64>> =
            own.iter().map(|own| inverse(own, n).ok_or_else(singular)).collect::<Result<_>>()?;
        let mut forms = own.clone();
        let mut known = None;
        if grams.iter().flatten().any(|x| *x != 0.0) {
            let on_support = support.restrict(&grams);
            // Along what is known nothing counts.
            for ((rows, covariance), form) in on_support.iter().zip(&mut covariances).zip(&mut forms) {
                let rows = rows.chunks_exact(n);
                rows.clone().for_each(|row| drop(measured(covariance, row, 0.0)));
                let open = beside(rows, n);
                *covariance = within(&open, covariance, n);
                *form = within(&open, form, n);
            }
            let inverses = on_support.iter().map(|own| generalised_inverse(own, n)).collect();
            known = Some(Known { whole: grams, inverses });
        }
        let [form, covariance] = [&forms, &covariances].map(|kinds| Operator::new(support, kinds));
        Ok(Self { precision, known, own, covariances, form, covariance })
    }

    /// Whether something is known.
    pub(super) fn has_known(&self) -> bool {
        self.known.is_some()
    }

    /// Where the form is least on the support, cell by cell, by the estimate's coefficients on the domain, `whole`.
    pub(super) fn centre(
        &self,
        domain: (&[usize], &[(usize, usize, usize)]),
        support: &Support,
        whole: &[f64],
        out: &mut [f64],
    ) {
        let (sizes, runs) = domain;
        // x = v + δ on the support, and off it v goes: P δ is P there of what goes.
        let mut gone = whole.to_vec();
        basis::backward(&mut gone, sizes);
        let taken = |place: &u32| std::mem::take(&mut gone[*place as usize]);
        let stays: Vec<f64> = support.places.iter().map(taken).collect();
        basis::forward(&mut gone, sizes);
        let on_support = |matrices: &[Vec<f64>]| {
            let mut linear = vec![0.0; gone.len()];
            multiply(runs, matrices, &gone, &mut linear);
            basis::backward(&mut linear, sizes);
            let mut own: Vec<f64> = support.places.iter().map(|&place| linear[place as usize]).collect();
            basis::forward(&mut own, support.sizes());
            own
        };
        let mut rest = on_support(&self.precision);
        let mut start = vec![0.0; rest.len()];
        if let Some(Known { whole, inverses }) = &self.known {
            multiply(&support.runs, inverses, &on_support(whole), &mut start);
            let mut moved = vec![0.0; rest.len()];
            multiply(&support.runs, &self.own, &start, &mut moved);
            axpy(&mut rest, -1.0, &moved);
        }
        multiply(&support.runs, &self.covariances, &rest, out);
        axpy(out, 1.0, &start);
        basis::backward(out, support.sizes());
        axpy(out, 1.0, &stays);
    }

    /// The matrix `C (C + I/ρ)⁻¹` with the covariance C: how much of what a table is moved by is left to it where a unit of that
    /// costs ρ/2 squared. With `T` in the place of I, whose inverses by kind are `inverses`, it is `C (C + T⁻¹/ρ)⁻¹ T⁻¹`.
    pub(super) fn kept(
        &self,
        rho: f64,
        support: &Support,
        inverses: Option<&[Vec<f64>]>,
    ) -> Option<Operator> {
        let n = support.joint();
        let kept = |(kind, covariance): (usize, &Vec<f64>)| {
            let mut sum = covariance.clone();
            match inverses {
                None => (0..n).for_each(|i| sum[i * n + i] += 1.0 / rho),
                Some(inverses) => axpy(&mut sum, 1.0 / rho, &inverses[kind]),
            }
            let kept = product(covariance, &inverse(&sum, n)?, n);
            Some(inverses.map_or_else(|| kept.clone(), |inverses| product(&kept, &inverses[kind], n)))
        };
        let kinds: Vec<Vec<f64>> = self.covariances.iter().enumerate().map(kept).collect::<Option<_>>()?;
        Some(Operator::new(support, &kinds))
    }
}

/// The projection onto what has no part along some rows.
fn beside<'a>(rows: impl Iterator<Item = &'a [f64]>, n: usize) -> Vec<f64> {
    let mut open = vec![0.0; n * n];
    (0..n).for_each(|i| open[i * n + i] = 1.0);
    rows.for_each(|row| drop(measured(&mut open, row, 0.0)));
    open.iter_mut().filter(|x| x.abs() < ROUNDING).for_each(|x| *x = 0.0);
    open
}

/// A matrix between two projections: what rounding leaves outside is gone.
fn within(open: &[f64], matrix: &[f64], n: usize) -> Vec<f64> {
    product(&product(open, matrix, n), open, n)
}

/// The error of a covariance that has no inverse.
pub(super) fn singular() -> Error {
    Error::NotConverged { what: "the inverse of a covariance", residuals: "it is singular".into() }
}

/// Multiplies coefficients by a matrix of each kind, over the combinations of joined attributes.
pub(super) fn multiply(runs: &[(usize, usize, usize)], matrices: &[Vec<f64>], of: &[f64], out: &mut [f64]) {
    let joint = libm::sqrt(matrices[0].len() as f64) as usize;
    let free = of.len() / joint;
    for &(from, to, kind) in runs {
        for (j, row) in matrices[kind].chunks_exact(joint).enumerate() {
            let out = &mut out[j * free + from..j * free + to];
            let (first, others) = (row[0], &row[1..]);
            out.iter_mut().zip(&of[from..to]).for_each(|(out, x)| *out = first * x);
            for (other, &weight) in (1..).zip(others) {
                axpy(out, weight, &of[other * free + from..other * free + to]);
            }
        }
    }
}
