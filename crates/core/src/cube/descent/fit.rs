//! Tables >= 0 of the children of an area that are closest to their estimates, by alternating directions, with a proof of how close.

use super::columns;
use super::limits::{Boxes, Limits};
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
    /// Bounds of sums of their cells.
    pub(super) limits: Option<&'a Limits>,
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
    /// Minimises `Σ_c (x_c - v_c)ᵀ P_c (x_c - v_c) / 2` over `x >= 0` with `Σ_c x_c` given, what is known, and sums within bounds.
    ///
    /// Each round has two steps (alternating directions): tables that weigh the form against the distance to those of the other step, and
    /// their sums B x against the distance to sums within the bounds, which is a matrix of each kind of coefficients; and the closest
    /// tables >= 0 with the sums over the children, cell by cell, and the closest sums within the bounds. The first meets what is known,
    /// the second the rest; they meet in the end.
    ///
    /// **How close**: the dual of the problem at multipliers y of tables and q of sums bounds the least value from below. With
    /// `g = y + Bᵀ q` the difference is `Σ_c (z_c - v_c - C_c g_c)ᵀ P_c (z_c - v_c - C_c g_c) / 2`, C the inverse of P: large counts cost
    /// no digits. (`Σ z (y - min_c y)` is 0: the second step is a projection.) Where z misses what is known or bounded, `|Σ (z - x) (g - P
    /// C g)|` is added, x the tables of the first step, and `|qᵀ (B z - w)|`, w the sums of the second. It ends once that is a part of the
    /// value, as small as `part` (of [`LITTLE`], if it is less).
    ///
    /// Errors: that is not reached.
    pub(super) fn fit(&self, part: f64) -> Result<Fit> {
        let m = self.support.cells();
        if m == 1 && self.limits.is_none() {
            return Ok(self.fit_one_cell());
        }
        let weight = self.weight();
        let mut steps = Steps::new(self, START * weight)?;
        let has_known = self.shapes.iter().any(Shape::has_known);
        let mut look = FIRST;
        for round in 1..=ROUNDS {
            if round < look && round < ROUNDS {
                steps.round();
                continue;
            }
            let (missed, turned) = steps.watched();
            let mut multipliers = steps.multipliers();
            let (value, gap) = self.certify(
                &steps.z,
                &mut multipliers,
                has_known.then_some(&steps.x[..]),
                &mut steps.scratch,
            );
            let gap = gap + steps.beside();
            let off = if has_known { missed } else { 0.0 } + steps.beyond();
            let is_near = off <= MISSED * (part / GAP);
            if gap <= part * value.max(LITTLE) && is_near {
                return Ok(Fit { tables: steps.z, value, gap, rounds: round });
            }
            if round == ROUNDS {
                let misses = match is_near {
                    true => String::new(),
                    false => format!(", and what is known or bounded is missed by {off:.1e}"),
                };
                let residuals =
                    format!("the sum of squares is {value:e}, at most {gap:e} above the least{misses}");
                return Err(Error::NotConverged { what: "tables that are not negative", residuals });
            }
            look += (look / 4).max(FIRST);
            // What the steps miss of each other beside what they still move by.
            if round < BALANCED && missed > ROUNDED * steps.z.iter().sum::<f64>() {
                let wanted = steps.rho * (missed / (START * turned)).clamp(0.1, 10.0);
                let off = wanted.clamp(weight / FURTHEST, weight * FURTHEST) / steps.rho;
                if !(0.5..=2.0).contains(&off) {
                    steps.weigh(off)?;
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
        let inverses = self.boxes().map(|boxes| &boxes.inverses[..]);
        self.shapes.iter().map(|shape| shape.kept(rho, self.support, inverses).ok_or_else(singular)).collect()
    }

    fn boxes(&self) -> Option<&Boxes> {
        self.limits.and_then(|limits| limits.boxes.as_ref())
    }

    /// The closest tables >= 0 with the sums, which are 0 where they have to be.
    fn project(&self, tables: &mut [f64], thetas: &mut [f64]) {
        if let Some(limits) = self.limits {
            limits.close(tables);
        }
        match self.totals {
            Some(totals) => columns::project(tables, totals, thetas),
            None => tables.iter_mut().for_each(|x| *x = x.max(0.0)),
        }
    }

    /// The value of tables, and by how much it may be above the least, by the multipliers `y` of tables and sums, which are
    /// overwritten. `x`: tables that have what is known, where anything is.
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

/// Where the rounds stand.
struct Steps<'a> {
    family: &'a Family<'a>,
    /// The weight of a unit between the steps, and the matrix of the first by kind of children.
    rho: f64,
    kept: Vec<Operator>,
    /// The tables of the first and of the second step; what they missed of each other so far; theta of each cell.
    x: Vec<f64>,
    z: Vec<f64>,
    u: Vec<f64>,
    thetas: Vec<f64>,
    sums: Option<Sums<'a>>,
    scratch: Vec<f64>,
}

/// Where the rounds stand with the sums that have bounds, child by child.
struct Sums<'a> {
    boxes: &'a Boxes,
    /// The sums of the centres.
    centres: Vec<f64>,
    /// The sums of the first step's tables, those of the second step, and what they missed of each other.
    x: Vec<f64>,
    w: Vec<f64>,
    s: Vec<f64>,
}

impl<'a> Steps<'a> {
    fn new(family: &'a Family<'a>, rho: f64) -> Result<Self> {
        let m = family.support.cells();
        let (mut z, mut thetas) = (family.centres.to_vec(), vec![0.0; m]);
        family.project(&mut z, &mut thetas);
        let sums = family.boxes().map(|boxes| {
            let n = boxes.sums();
            let none = vec![0.0; family.of.len() * n];
            let (mut centres, mut w) = (none.clone(), none.clone());
            let tables = family.centres.chunks_exact(m).zip(z.chunks_exact(m)).enumerate();
            for (c, (centre, table)) in tables.filter(|_| n > 0) {
                let own = c * n..(c + 1) * n;
                boxes.of(centre, &mut centres[own.clone()]);
                boxes.of(table, &mut w[own.clone()]);
                boxes.clamp(c, &mut w[own]);
            }
            Sums { boxes, centres, x: none.clone(), w, s: none }
        });
        let kept = family.kept(rho)?;
        let none = vec![0.0; z.len()];
        Ok(Self { family, rho, kept, x: none.clone(), z, u: none, thetas, sums, scratch: Vec::new() })
    }

    fn round(&mut self) {
        let Self { family, kept, x, z, u, thetas, sums, scratch, .. } = self;
        let m = family.support.cells();
        let mut own = Vec::new();
        for (c, x) in x.chunks_exact_mut(m).enumerate() {
            let of_child = c * m..(c + 1) * m;
            let (z, u, centre) =
                (&mut z[of_child.clone()], &mut u[of_child.clone()], &family.centres[of_child]);
            for (((x, z), u), v) in x.iter_mut().zip(&*z).zip(&*u).zip(centre) {
                *x = z - u - v;
            }
            if let Some(sums) = sums {
                sums.pull(c, x, &mut own);
            }
            kept[family.of[c] as usize].apply(x, scratch);
            for (((x, z), u), v) in x.iter_mut().zip(z).zip(u).zip(centre) {
                *x += v;
                *u += RELAXED * *x + (1.0 - RELAXED) * *z;
                *z = *u;
            }
            if let Some(sums) = sums {
                sums.step(c, x);
            }
        }
        family.project(z, thetas);
        u.iter_mut().zip(&*z).for_each(|(u, z)| *u -= z);
    }

    /// A round: how much the steps then miss of each other, and how much the second still moved by.
    fn watched(&mut self) -> (f64, f64) {
        let before = self.z.clone();
        let sums_before = self.sums.as_ref().map(|sums| sums.w.clone());
        self.round();
        let (mut missed, mut turned) = (0.0, 0.0);
        for ((x, z), before) in self.x.iter().zip(&self.z).zip(&before) {
            missed += (x - z).abs();
            turned += (z - before).abs();
        }
        if let (Some(sums), Some(before)) = (&self.sums, sums_before) {
            for ((x, w), before) in sums.x.iter().zip(&sums.w).zip(&before) {
                missed += (x - w).abs();
                turned += (w - before).abs();
            }
        }
        (missed, turned)
    }

    /// The multipliers of the second step: those of one cell are the same for all children that have anything in it. With those of the
    /// sums, cell by cell.
    fn multipliers(&self) -> Vec<f64> {
        let m = self.family.support.cells();
        let mut y = self.u.clone();
        for (c, (y, z)) in y.chunks_exact_mut(m).zip(self.z.chunks_exact(m)).enumerate() {
            for ((y, z), theta) in y.iter_mut().zip(z).zip(&self.thetas) {
                *y = -self.rho * if *z > 0.0 { *theta } else { *y };
            }
            if let Some(sums) = &self.sums {
                let n = sums.boxes.sums();
                let q: Vec<f64> = sums.s[c * n..(c + 1) * n].iter().map(|s| -self.rho * s).collect();
                sums.boxes.spread(&q, y);
            }
        }
        y
    }

    /// What the gap has more by the sums of the tables that are beyond their bounds.
    fn beside(&self) -> f64 {
        let Some(sums) = &self.sums else { return 0.0 };
        let (m, n) = (self.family.support.cells(), sums.boxes.sums());
        let (mut own, mut beside) = (vec![0.0; n], 0.0);
        for (c, table) in self.z.chunks_exact(m).enumerate() {
            sums.boxes.of(table, &mut own);
            let beyond = own.iter().zip(&sums.w[c * n..]).map(|(own, w)| own - w);
            beside -= self.rho * beyond.zip(&sums.s[c * n..]).map(|(beyond, s)| beyond * s).sum::<f64>();
        }
        beside.abs()
    }

    /// How far the tables are beyond the bounds, in counts.
    fn beyond(&self) -> f64 {
        self.sums.as_ref().map_or(0.0, |sums| sums.boxes.missed(&self.z))
    }

    /// Changes the weight of a unit.
    fn weigh(&mut self, by: f64) -> Result<()> {
        self.rho *= by;
        self.u.iter_mut().chain(&mut self.thetas).for_each(|x| *x /= by);
        if let Some(sums) = &mut self.sums {
            sums.s.iter_mut().for_each(|s| *s /= by);
        }
        self.kept = self.family.kept(self.rho)?;
        Ok(())
    }
}

impl Sums<'_> {
    /// Adds to what the first step starts from, of a child, what its sums are pulled by.
    fn pull(&self, child: usize, x: &mut [f64], own: &mut Vec<f64>) {
        let n = self.boxes.sums();
        let of_child = child * n..(child + 1) * n;
        own.clear();
        let both = self.w[of_child.clone()].iter().zip(&self.s[of_child.clone()]);
        own.extend(both.zip(&self.centres[of_child]).map(|((w, s), v)| w - s - v));
        self.boxes.spread(own, x);
    }

    /// The second step of a child's sums, by its table of the first.
    fn step(&mut self, child: usize, table: &[f64]) {
        let n = self.boxes.sums();
        let of_child = child * n..(child + 1) * n;
        let (x, w, s) = (&mut self.x[of_child.clone()], &mut self.w[of_child.clone()], &mut self.s[of_child]);
        self.boxes.of(table, x);
        for ((x, w), s) in x.iter().zip(&mut *w).zip(&mut *s) {
            *s += RELAXED * x + (1.0 - RELAXED) * *w;
            *w = *s;
        }
        self.boxes.clamp(child, w);
        s.iter_mut().zip(w).for_each(|(s, w)| *s -= *w);
    }
}
