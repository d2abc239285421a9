//! What is known of the tables of children of one kind, on the cells that can be other than 0.

use super::super::basis;
use super::super::gls::Tables;
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
    /// On the domain: P, and where something is known Q, positive semidefinite, with `Q (x - v) = 0`.
    precision: Vec<Vec<f64>>,
    known: Option<Vec<Vec<f64>>>,
    /// On the support: P, its inverse on what is not known, and Q.
    own: Vec<Vec<f64>>,
    pub(super) covariances: Vec<Vec<f64>>,
    own_known: Option<Vec<Vec<f64>>>,
    /// P and its inverse.
    pub(super) form: Operator,
    pub(super) covariance: Operator,
}

impl Shape {
    /// Of an estimate with the covariances that `tables` has by kind, where `said` is known. Errors: covariances that are singular but for
    /// what is known.
    pub(super) fn new(tables: &[Tables], said: &[Said], joint: usize, support: &Support) -> Result<Self> {
        let gram = |said: &Said| {
            let mut gram = vec![0.0; joint * joint];
            for h in &said.known {
                gram.chunks_exact_mut(joint).zip(h).for_each(|(row, &weight)| axpy(row, weight, h));
            }
            gram
        };
        let grams: Vec<Vec<f64>> = said.iter().map(gram).collect();
        let precision = |((tables, said), gram): ((&Tables, &Said), &Vec<f64>)| {
            let mut sum = off(&tables.covariance, said.known.iter().map(Vec::as_slice), joint);
            let trace = |matrix: &[f64]| (0..joint).map(|i| matrix[i * joint + i]).sum::<f64>();
            let (own, fixed) = (trace(&sum), trace(gram));
            // What is known spans the rest: with it there is an inverse.
            if fixed > 0.0 {
                axpy(&mut sum, if own > 0.0 { own } else { 1.0 } / fixed, gram);
            }
            inverse(&sum, joint).ok_or_else(singular)
        };
        let precision: Vec<Vec<f64>> =
            tables.iter().zip(said).zip(&grams).map(precision).collect::<Result<_>>()?;
        let known = grams.iter().flatten().any(|x| *x != 0.0).then_some(grams);
        let own = support.restrict(&precision);
        let own_known = known.as_ref().map(|known| support.restrict(known));
        let n = support.joint();
        let covariance = |kind: usize| {
            let mut covariance = inverse(&own[kind], n).ok_or_else(singular)?;
            let Some(known) = &own_known else { return Ok(covariance) };
            let rows = known[kind].chunks_exact(n);
            rows.clone().for_each(|row| drop(measured(&mut covariance, row, 0.0)));
            Ok(off(&covariance, rows, n))
        };
        let covariances: Vec<Vec<f64>> = (0..own.len()).map(covariance).collect::<Result<_>>()?;
        // Along what is known nothing counts.
        let form = |kind: usize| match &own_known {
            None => own[kind].clone(),
            Some(known) => off(&own[kind], known[kind].chunks_exact(n), n),
        };
        let forms: Vec<Vec<f64>> = (0..own.len()).map(form).collect();
        let [form, covariance] = [&forms, &covariances].map(|kinds| Operator::new(support, kinds));
        Ok(Self { precision, known, own, covariances, own_known, form, covariance })
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
        let n = support.joint();
        let mut start = vec![0.0; rest.len()];
        if let (Some(known), Some(own)) = (&self.known, &self.own_known) {
            let inverses: Vec<Vec<f64>> = own.iter().map(|own| generalised_inverse(own, n)).collect();
            multiply(&support.runs, &inverses, &on_support(known), &mut start);
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
    /// costs ρ/2 squared.
    pub(super) fn kept(&self, rho: f64, support: &Support) -> Option<Operator> {
        let n = support.joint();
        let kept = |covariance: &Vec<f64>| {
            let mut sum = covariance.clone();
            (0..n).for_each(|i| sum[i * n + i] += 1.0 / rho);
            Some(product(covariance, &inverse(&sum, n)?, n))
        };
        let kinds: Vec<Vec<f64>> = self.covariances.iter().map(kept).collect::<Option<_>>()?;
        Some(Operator::new(support, &kinds))
    }
}

/// A covariance of what has no part along some rows, without what rounding leaves there.
fn off<'a>(covariance: &[f64], rows: impl Iterator<Item = &'a [f64]>, n: usize) -> Vec<f64> {
    let mut open = vec![0.0; n * n];
    (0..n).for_each(|i| open[i * n + i] = 1.0);
    rows.for_each(|row| drop(measured(&mut open, row, 0.0)));
    open.iter_mut().filter(|x| x.abs() < ROUNDING).for_each(|x| *x = 0.0);
    product(&product(&open, covariance, n), &open, n)
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
