//! Tables >= 0 of the children of an area that are closest to their estimates, by alternating directions, with a proof of how close.

use super::columns;
use super::operator::Operator;
use super::shape::{Shape, singular};
use super::support::Support;
use crate::error::{Error, Result};
use crate::imaging::theta_of_reals;

/// How far the sum of squares may be above the least, as a part of it.
pub(super) const GAP: f64 = 1e-6;
/// A gap is compared with the value, and with this where the value is less. Tables that are a millionth of this above the least are off by
/// a thousandth of a standard error at most.
pub(super) const LITTLE: f64 = 0.1;
/// How far all tables together may be from what is known, in counts: they then have integers beside them that meet it.
const MISSED: f64 = 0.05;
/// Rounds at most; and those after which the gap is looked at first. Then it is after a fourth more, and that many at least.
const ROUNDS: usize = 20_000;
const FIRST: usize = 10;
/// Rounds from which on the weight of a unit stays: the rounds then converge.
const BALANCED: usize = 2000;
/// Over-relaxation (Boyd, Parikh, Chu, Peleato, Eckstein 2011, section 3.4.3).
const RELAXED: f64 = 1.8;
/// What the steps miss of each other is rounding below this part of all counts.
const ROUNDED: f64 = 1e-11;
/// How far the weight of a unit may go from the mean precision of a coefficient, either way.
const FURTHEST: f64 = 1e6;
/// The weight of a unit at first, beside the mean precision of a coefficient; and of what the steps miss of each other, beside what they
/// still move by: values near which the rounds are few.
const START: f64 = 4.0;

/// The tables of the children of one area, or of one area alone.
pub(super) struct Family<'a> {
    pub(super) support: &'a Support,
    /// What the children sum to, cell by cell; `None`: anything.
    pub(super) totals: Option<&'a [f64]>,
    /// What is known of them by kind of children, and of which kind each is.
    pub(super) shapes: &'a [Shape],
    pub(super) of: &'a [u32],
    /// Where the form of each is least: child by child, cell by cell.
    pub(super) centres: &'a [f64],
}

/// Tables that fit.
#[derive(Debug)]
pub(super) struct Fit {
    /// Child by child, cell by cell of the support.
    pub(super) tables: Vec<f64>,
    /// `Σ (x - v)ᵀ P (x - v) / 2`, and by how much it may be above the least.
    pub(super) value: f64,
    pub(super) gap: f64,
    /// Rounds that were gone.
    pub(super) rounds: usize,
}

impl Family<'_> {
    /// Minimises `Σ_c (x_c - v_c)ᵀ P_c (x_c - v_c) / 2` over `x >= 0` with `Σ_c x_c` given and what is known.
    ///
    /// Each round has two steps (alternating directions): tables that weigh the form against the distance to those of the other step,
    /// which is a matrix of each kind of coefficients; and the closest tables >= 0 with the sums, cell by cell. The first meets what is
    /// known, the second the signs and sums; they meet in the end.
    ///
    /// **How close**: the dual of the problem at multipliers y of the second step bounds the least value from below, and the difference is
    /// `Σ_c (z_c - v_c - C_c y_c)ᵀ P_c (z_c - v_c - C_c y_c) / 2`, C the inverse of P: large counts cost no digits. (`Σ z (y - min_c y)`
    /// is 0: the second step is a projection.) Where z misses what is known, `|Σ (z - x) (y - P C y)|` is added, x the tables of the first
    /// step. It ends once that is a part of the value, as small as `part` (of [`LITTLE`], if it is less).
    ///
    /// Errors: that is not reached.
    pub(super) fn fit(&self, part: f64) -> Result<Fit> {
        let m = self.support.cells();
        if m == 1 {
            return Ok(self.fit_one_cell());
        }
        let weight = self.weight();
        let mut rho = START * weight;
        let mut kept = self.kept(rho)?;
        let mut thetas = vec![0.0; m];
        let mut z = self.centres.to_vec();
        self.project(&mut z, &mut thetas);
        let (mut u, mut x, mut scratch) = (vec![0.0; z.len()], vec![0.0; z.len()], Vec::new());
        let has_known = self.shapes.iter().any(Shape::has_known);
        let mut look = FIRST;
        for round in 1..=ROUNDS {
            let looks = round == look || round == ROUNDS;
            let before = if looks { z.clone() } else { Vec::new() };
            for (c, x) in x.chunks_exact_mut(m).enumerate() {
                let of_child = c * m..(c + 1) * m;
                let (z, u, centre) =
                    (&mut z[of_child.clone()], &mut u[of_child.clone()], &self.centres[of_child]);
                for (((x, z), u), v) in x.iter_mut().zip(&*z).zip(&*u).zip(centre) {
                    *x = z - u - v;
                }
                kept[self.of[c] as usize].apply(x, &mut scratch);
                for (((x, z), u), v) in x.iter_mut().zip(z).zip(u).zip(centre) {
                    *x += v;
                    *u += RELAXED * *x + (1.0 - RELAXED) * *z;
                    *z = *u;
                }
            }
            self.project(&mut z, &mut thetas);
            u.iter_mut().zip(&z).for_each(|(u, z)| *u -= z);
            if !looks {
                continue;
            }
            let (mut missed, mut turned) = (0.0, 0.0);
            for ((x, z), before) in x.iter().zip(&z).zip(&before) {
                missed += (x - z).abs();
                turned += (z - before).abs();
            }
            // The multipliers of the second step: those of one cell are the same for all children that have anything in it.
            let mut y = before;
            for ((y, u), z) in y.chunks_exact_mut(m).zip(u.chunks_exact(m)).zip(z.chunks_exact(m)) {
                for (((y, u), z), theta) in y.iter_mut().zip(u).zip(z).zip(&thetas) {
                    *y = -rho * if *z > 0.0 { *theta } else { *u };
                }
            }
            let (value, gap) = self.certify(&z, &mut y, has_known.then_some(&x[..]), &mut scratch);
            let is_near = !has_known || missed <= MISSED * (part / GAP);
            if gap <= part * value.max(LITTLE) && is_near {
                return Ok(Fit { tables: z, value, gap, rounds: round });
            }
            if round == ROUNDS {
                let misses = if is_near {
                    String::new()
                } else {
                    format!(", and what is known is missed by {missed:.1e}")
                };
                let residuals =
                    format!("the sum of squares is {value:e}, at most {gap:e} above the least{misses}");
                return Err(Error::NotConverged { what: "tables that are not negative", residuals });
            }
            look += (look / 4).max(FIRST);
            // What the steps miss of each other beside what they still move by.
            if round < BALANCED && missed > ROUNDED * z.iter().sum::<f64>() {
                let wanted = rho * (missed / (START * turned)).clamp(0.1, 10.0);
                let off = wanted.clamp(weight / FURTHEST, weight * FURTHEST) / rho;
                if !(0.5..=2.0).contains(&off) {
                    rho *= off;
                    u.iter_mut().for_each(|u| *u /= off);
                    thetas.iter_mut().for_each(|theta| *theta /= off);
                    kept = self.kept(rho)?;
                }
            }
        }
        unreachable!("the last round looks")
    }

    /// Tables of one cell: `max(0, v - θ C)`, with one θ for all; exactly.
    fn fit_one_cell(&self) -> Fit {
        let variances: Vec<f64> =
            self.of.iter().map(|&shape| self.shapes[shape as usize].covariances[0][0]).collect();
        let known = |c: &usize| variances[*c] == 0.0;
        let all = 0..variances.len();
        let theta = self.totals.map_or(0.0, |totals| {
            let open: Vec<usize> = all.clone().filter(|c| !known(c)).collect();
            let left = totals[0] - all.clone().filter(known).map(|c| self.centres[c]).sum::<f64>();
            let pick = |of: &[f64]| -> Vec<f64> { open.iter().map(|&c| of[c]).collect() };
            match open.is_empty() || left <= 0.0 {
                true => f64::INFINITY,
                false => theta_of_reals(&pick(self.centres), Some(&pick(&variances)), left),
            }
        });
        let table = |c: usize| {
            if known(&c) {
                self.centres[c].max(0.0)
            } else {
                (self.centres[c] - theta * variances[c]).max(0.0)
            }
        };
        let tables: Vec<f64> = all.clone().map(table).collect();
        let square = |c: usize| (tables[c] - self.centres[c]) * (tables[c] - self.centres[c]) / variances[c];
        let value = 0.5 * all.filter(|c| !known(c)).map(square).sum::<f64>();
        Fit { tables, value, gap: 0.0, rounds: 0 }
    }

    /// The mean size of a coefficient's precision.
    fn weight(&self) -> f64 {
        let n = self.support.joint();
        let (mut sum, mut count) = (0.0, 0.0);
        for &shape in self.of {
            for &(from, to, kind) in &self.support.runs {
                let own = &self.shapes[shape as usize].covariances[kind];
                for variance in (0..n).map(|i| own[i * n + i]).filter(|variance| *variance > 0.0) {
                    sum -= libm::log(variance) * (to - from) as f64;
                    count += (to - from) as f64;
                }
            }
        }
        if count > 0.0 { libm::exp(sum / count) } else { 1.0 }
    }

    fn kept(&self, rho: f64) -> Result<Vec<Operator>> {
        self.shapes.iter().map(|shape| shape.kept(rho, self.support).ok_or_else(singular)).collect()
    }

    /// The closest tables >= 0 with the sums.
    fn project(&self, tables: &mut [f64], thetas: &mut [f64]) {
        match self.totals {
            Some(totals) => columns::project(tables, totals, thetas),
            None => tables.iter_mut().for_each(|x| *x = x.max(0.0)),
        }
    }

    /// The value of tables, and by how much it may be above the least, by the multipliers `y` of the second step, which are overwritten.
    /// `x`: tables that have what is known, where anything is.
    fn certify(&self, z: &[f64], y: &mut [f64], x: Option<&[f64]>, scratch: &mut Vec<f64>) -> (f64, f64) {
        let m = self.support.cells();
        let (mut value, mut gap, mut crossed) = (0.0, 0.0, 0.0);
        let (mut own, mut out) = (vec![0.0; m], vec![0.0; m]);
        for (c, (z, y)) in z.chunks_exact(m).zip(y.chunks_exact_mut(m)).enumerate() {
            let shape = &self.shapes[self.of[c] as usize];
            let centre = &self.centres[c * m..][..m];
            let mut form = |own: &[f64], scratch: &mut Vec<f64>| {
                out.copy_from_slice(own);
                shape.form.apply(&mut out, scratch);
                0.5 * own.iter().zip(&out).map(|(x, y)| x * y).sum::<f64>()
            };
            own.iter_mut().zip(z).zip(centre).for_each(|((own, z), v)| *own = z - v);
            value += form(&own, scratch);
            let before = x.map(|_| y.to_vec());
            shape.covariance.apply(y, scratch);
            own.iter_mut().zip(&*y).for_each(|(own, moved)| *own -= moved);
            gap += form(&own, scratch);
            if let (Some(x), Some(before)) = (x, before) {
                shape.form.apply(y, scratch);
                let known = before.iter().zip(&*y).map(|(before, y)| before - y);
                crossed += known.zip(z).zip(&x[c * m..]).map(|((y, z), x)| (z - x) * y).sum::<f64>();
            }
        }
        (value, gap + crossed.abs())
    }
}
