//! Real noise with one or two free dimensions under equations and inequalities.

use crate::error::{Error, Result};
use crate::invariant::{Bounded, Region, basis};
use crate::lattice::{BasisKind, IntMatrix, dot, orthonormal, real_value};
use crate::law::{Gaussian, Laplace, Law, Line, LineLaw, RealLaw, Term};
use crate::rng::{Rng, exponential, open01};
use std::f64::consts::{FRAC_PI_2, TAU};

/// A real law by how its weight falls from 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fall {
    /// The weight falls as `exp(-‖z‖₁/lambda)`.
    Laplace(Laplace),
    /// The weight falls as `exp(-‖z‖₂²/(2 sigma²))`.
    Gaussian(Gaussian),
}

/// Exact sampler of independent real noise on the line or plane `{z : A z = 0}` within inequalities.
///
/// With an orthonormal basis of the kernel the noise is `z_i = c_i·x`, x in the line or plane, and 0 is
/// inside of everything.
///
/// - **Line.** The density of x is `exp(-|x| ‖c‖₁/lambda)` or normal, on the interval that the inequalities
///   leave: one quantile.
/// - **Plane.** Seen from 0 the region is a fan of sectors, cut where an entry changes sign (between, `‖z‖₁`
///   is linear) and at the corners of the region (between, one wall is in the way). Within a sector the
///   density is at most that of a *triangle* (uniform between 0 and the wall), or of the whole *sector*
///   without the wall; the sector is cut where the density at the wall is `e^-2` (Laplace) or the wall is 1.5
///   sigma away (Gaussian), and the triangle taken where the wall is nearer. Both have closed forms: a point
///   of the sector is `r ((1-v) d + v d')` with `r ~ Gamma(2)/m(v)` and a density of v proportional to
///   `m(v)^-2`, m(v) the linear exponent; or normal. Proposals from all of them are kept with the ratio of
///   the densities: more than `e^-2` of them in every sector. Draws are exact.
#[derive(Debug)]
pub struct FewDimensions {
    entries: Vec<u32>,
    /// By entry, its coefficients on the free dimensions.
    coefficients: Vec<[f64; 2]>,
    region: Region,
    fall: Fall,
    shape: Shape,
}

#[derive(Debug)]
enum Shape {
    /// The law of x and the ends of its interval.
    Line(Fall, [f64; 2]),
    /// The pieces and their cumulative masses.
    Plane(Vec<Piece>, Vec<f64>),
}

/// A part of the envelope; directions are unit vectors.
#[derive(Debug)]
enum Piece {
    /// Uniform between 0 and two points.
    Triangle([f64; 2], [f64; 2]),
    /// Laplace between two directions: each with the exponent along it.
    Sector([f64; 2], f64, [f64; 2], f64),
    /// Gaussian between two angles: sigma.
    Arc(f64, f64, f64),
}

/// The exponent at the wall up to which a triangle is the envelope (Laplace).
const NEAR: f64 = 2.0;
/// The distance of the wall up to which a triangle is the envelope, in standard deviations (Gaussian).
const NEAR_SIGMAS: f64 = 1.5;

/// Why more free dimensions are refused.
const FEW: &str = "under inequalities, and for laplace noise under equations that share entries, one or two free dimensions in each \
                   component are served exactly; use line-gibbs, mis or rejection";

/// Free dimensions of a component. Errors: coefficients beyond 64 bits.
pub(super) fn free_dimensions(bounded: &Bounded) -> Result<usize> {
    let component = &bounded.component;
    let n = component.entries.len();
    Ok(match component.rows.len() {
        0 => n,
        _ if component.is_total() => n - 1,
        _ => n - component.independent_rows()?.len(),
    })
}

impl FewDimensions {
    /// Prepares the sampler of one component of a [`crate::invariant::Hull`].
    ///
    /// Errors: more than two free dimensions, or none.
    pub fn new(bounded: &Bounded, fall: Fall) -> Result<Self> {
        let dimensions = free_dimensions(bounded)?;
        if dimensions == 0 || dimensions > 2 {
            let name = match fall {
                Fall::Laplace(_) => "laplace",
                Fall::Gaussian(_) => "gaussian",
            };
            return Err(Error::Unsupported {
                method: "exact",
                what: format!("{name} noise with {dimensions} free dimensions in one component"),
                reason: FEW,
            });
        }
        let component = &bounded.component;
        let vectors = basis(component, BasisKind::Reduced).or_else(|_| basis(component, BasisKind::Smith))?;
        let vectors = orthonormal(&IntMatrix::from_vectors(&vectors, &component.entries));
        let zeros = vec![0.0; component.entries.len()];
        let second = vectors.get(1).unwrap_or(&zeros);
        let coefficients: Vec<[f64; 2]> = vectors[0].iter().zip(second).map(|(&a, &b)| [a, b]).collect();
        let region = bounded.region.clone();
        let walls = walls(&region, &coefficients);
        let shape = match vectors.len() {
            1 => {
                let mut ends = [f64::NEG_INFINITY, f64::INFINITY];
                for ([slope, _], room) in walls {
                    let end = room / slope;
                    if slope > 0.0 { ends[1] = ends[1].min(end) } else { ends[0] = ends[0].max(end) }
                }
                let along = match fall {
                    Fall::Laplace(law) => Fall::Laplace(law.along(&vectors[0])),
                    Fall::Gaussian(law) => Fall::Gaussian(law.along(&vectors[0])),
                };
                Shape::Line(along, ends)
            }
            _ => {
                let pieces = pieces(&coefficients, &walls, fall);
                let mut sum = 0.0;
                let cumulative: Vec<f64> = pieces
                    .iter()
                    .map(|(_, mass)| {
                        sum += mass;
                        sum
                    })
                    .collect();
                if !(sum.is_finite() && sum > 0.0) {
                    return Err(Error::NotConverged {
                        what: "the envelope of the law on a plane",
                        residuals: format!("its mass is {sum}"),
                    });
                }
                Shape::Plane(pieces.into_iter().map(|(piece, _)| piece).collect(), cumulative)
            }
        };
        Ok(Self { entries: component.entries.clone(), coefficients, region, fall, shape })
    }

    /// Draws once, into the component's entries of `noise`. Equations hold to rounding; bounds by entry exactly, and
    /// rows as they are computed in floating point.
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R, noise: &mut [f64]) {
        loop {
            let x = match &self.shape {
                Shape::Line(along, [lo, hi]) => [quantile(*along, *lo, *hi, open01(rng)), 0.0],
                Shape::Plane(pieces, cumulative) => {
                    let target = open01(rng) * cumulative[cumulative.len() - 1];
                    let at = cumulative.partition_point(|sum| *sum <= target).min(pieces.len() - 1);
                    match self.proposal(rng, &pieces[at]) {
                        Some(x) => x,
                        None => continue,
                    }
                }
            };
            let z = |i: usize| {
                let [a, b] = self.coefficients[i];
                a * x[0] + b * x[1]
            };
            for (i, &entry) in self.entries.iter().enumerate() {
                noise[entry as usize] = z(i);
            }
            match &self.shape {
                // At the ends of the interval rounding may lead out.
                Shape::Line(..) => {
                    for (i, &entry) in self.entries.iter().enumerate() {
                        let own = &mut noise[entry as usize];
                        *own = own.clamp(self.region.lower.real(i), self.region.upper.real(i));
                    }
                    return;
                }
                Shape::Plane(..) if self.is_inside(z) => return,
                Shape::Plane(..) => {}
            }
        }
    }

    /// A point of a piece of the envelope, kept with the ratio of the densities but for the walls.
    fn proposal<R: Rng + ?Sized>(&self, rng: &mut R, piece: &Piece) -> Option<[f64; 2]> {
        Some(match *piece {
            Piece::Triangle(p, q) => {
                let (u, v) = (open01(rng), open01(rng));
                let (u, v) = if u + v > 1.0 { (1.0 - u, 1.0 - v) } else { (u, v) };
                let x = [u * p[0] + v * q[0], u * p[1] + v * q[1]];
                let exponent: f64 = self.coefficients.iter().map(|c| self.fall.log_weight(dot(c, &x))).sum();
                if exponential(rng) < -exponent {
                    return None;
                }
                x
            }
            Piece::Sector(d, a, e, b) => {
                let u = open01(rng);
                // 1/m(v) is uniform between 1/a and 1/b.
                let (m, v) = (a * b / (b * (1.0 - u) + a * u), a * u / (b * (1.0 - u) + a * u));
                let r = (exponential(rng) + exponential(rng)) / m;
                [r * ((1.0 - v) * d[0] + v * e[0]), r * ((1.0 - v) * d[1] + v * e[1])]
            }
            Piece::Arc(from, to, sigma) => {
                let angle = from + (to - from) * open01(rng);
                let r = sigma * libm::sqrt(2.0 * exponential(rng));
                [r * libm::cos(angle), r * libm::sin(angle)]
            }
        })
    }

    fn is_inside(&self, z: impl Fn(usize) -> f64) -> bool {
        let n = self.coefficients.len();
        let values: Vec<f64> = (0..n).map(z).collect();
        let within =
            |i: usize| self.region.lower.real(i) <= values[i] && values[i] <= self.region.upper.real(i);
        (0..n).all(within)
            && self.region.rows.iter().all(|(row, least)| real_value(row, &values) >= *least as f64)
    }
}

impl Fall {
    fn log_weight(self, z: f64) -> f64 {
        match self {
            Self::Laplace(law) => law.log_weight(z),
            Self::Gaussian(law) => law.log_weight(z),
        }
    }
}

fn quantile(law: Fall, lo: f64, hi: f64, u: f64) -> f64 {
    fn of<L: LineLaw<Value = f64>>(law: L, lo: f64, hi: f64, u: f64) -> f64 {
        let mut line = Line::default();
        line.terms.push(Term { level: 0, at: 0.0 });
        L::line(&L::tables(&[law]), &mut line, lo, hi, u)
    }
    match law {
        Fall::Laplace(law) => of(law, lo, hi, u),
        Fall::Gaussian(law) => of(law, lo, hi, u),
    }
}

/// A half-plane `g·x <= h`, `h >= 0`.
type Wall = ([f64; 2], f64);

/// The inequalities on the free dimensions; those that say nothing there are left out.
fn walls(region: &Region, coefficients: &[[f64; 2]]) -> Vec<Wall> {
    let mut walls: Vec<Wall> = Vec::new();
    for (i, &[a, b]) in coefficients.iter().enumerate() {
        walls.push(([a, b], region.upper.real(i)));
        walls.push(([-a, -b], -region.lower.real(i)));
    }
    for (row, least) in &region.rows {
        let along = |k: usize| -row.iter().map(|&(i, b)| b as f64 * coefficients[i as usize][k]).sum::<f64>();
        walls.push(([along(0), along(1)], -(*least as f64)));
    }
    let size = |g: &[f64; 2]| libm::hypot(g[0], g[1]);
    // Of length 1. Coefficients are integers over a common root: what is not 0 is far from it.
    walls.retain(|(g, h)| h.is_finite() && size(g) > 1e-9);
    walls.into_iter().map(|(g, h)| ([g[0] / size(&g), g[1] / size(&g)], h / size(&g))).collect()
}

fn direction(angle: f64) -> [f64; 2] {
    [libm::cos(angle), libm::sin(angle)]
}

fn angle(x: [f64; 2]) -> f64 {
    libm::atan2(x[1], x[0])
}

/// The envelope, piece by piece with its mass (the density at 0 is 1).
fn pieces(coefficients: &[[f64; 2]], walls: &[Wall], fall: Fall) -> Vec<(Piece, f64)> {
    let mut cuts: Vec<f64> = (0..4).map(|k| f64::from(k) * FRAC_PI_2).collect();
    if let Fall::Laplace(_) = fall {
        let moving = coefficients.iter().filter(|c| libm::hypot(c[0], c[1]) > 1e-9);
        cuts.extend(moving.flat_map(|&c| [angle(c) + FRAC_PI_2, angle(c) - FRAC_PI_2]));
    }
    cuts.extend(walls.iter().flat_map(|&(g, _)| [angle(g) + FRAC_PI_2, angle(g) - FRAC_PI_2]));
    for (j, &(g, h)) in walls.iter().enumerate() {
        for &(f, k) in &walls[..j] {
            let det = g[0] * f[1] - g[1] * f[0];
            if det.abs() > 1e-12 {
                let corner = [(h * f[1] - k * g[1]) / det, (k * g[0] - h * f[0]) / det];
                let size = 1e-9 * (1.0 + libm::hypot(corner[0], corner[1]));
                if walls.iter().all(|(g, h)| dot(g, &corner) <= h + size) {
                    cuts.push(angle(corner));
                }
            }
        }
    }
    let mut pieces = Vec::new();
    for (from, to) in sectors(cuts, 0.0, TAU) {
        let middle = direction(0.5 * (from + to));
        let ahead = walls.iter().filter(|(g, _)| dot(g, &middle) > 0.0);
        let wall = ahead.min_by(|(g, h), (f, k)| (h / dot(g, &middle)).total_cmp(&(k / dot(f, &middle))));
        match fall {
            Fall::Laplace(law) => in_laplace(coefficients, law, wall, (from, to), &mut pieces),
            Fall::Gaussian(law) => in_gaussian(law.scale(), wall, (from, to), &mut pieces),
        }
    }
    pieces
}

/// The intervals between angles, cut at others (which count up to full turns).
fn sectors(cuts: Vec<f64>, from: f64, to: f64) -> Vec<(f64, f64)> {
    let turned = |cut: f64| from + libm::fmod(libm::fmod(cut - from, TAU) + TAU, TAU);
    let mut cuts: Vec<f64> = cuts.into_iter().map(turned).filter(|cut| from < *cut && *cut < to).collect();
    cuts.extend([from, to]);
    cuts.sort_unstable_by(f64::total_cmp);
    cuts.windows(2).map(|pair| (pair[0], pair[1])).filter(|(a, b)| b > a).collect()
}

fn in_laplace(
    coefficients: &[[f64; 2]],
    law: Laplace,
    wall: Option<&Wall>,
    (from, to): (f64, f64),
    pieces: &mut Vec<(Piece, f64)>,
) {
    // The exponent is slope·x between the two angles.
    let middle = direction(0.5 * (from + to));
    let mut slope = [0.0; 2];
    for c in coefficients {
        let sign = if dot(c, &middle) < 0.0 { -1.0 } else { 1.0 } / law.scale();
        slope = [slope[0] + sign * c[0], slope[1] + sign * c[1]];
    }
    let mut cuts = Vec::new();
    if let Some(&(g, h)) = wall {
        // At the wall, at h/(g·d) in direction d, it is `NEAR` where (h slope - NEAR g)·d = 0.
        let across = angle([h * slope[0] - NEAR * g[0], h * slope[1] - NEAR * g[1]]);
        cuts.extend([across + FRAC_PI_2, across - FRAC_PI_2]);
    }
    for (from, to) in sectors(cuts, from, to) {
        let (middle, [d, e]) = (direction(0.5 * (from + to)), [direction(from), direction(to)]);
        let (a, b) = (dot(&slope, &d), dot(&slope, &e));
        let spread = d[0] * e[1] - d[1] * e[0];
        let near = wall.filter(|(g, h)| h * dot(&slope, &middle) < NEAR * dot(g, &middle));
        pieces.push(match near {
            Some((g, h)) => {
                let reach = |d: [f64; 2], exponent: f64| {
                    let r = (h / dot(g, &d).max(0.0)).min((1.0 + 1e-9) * NEAR / exponent);
                    [r * d[0], r * d[1]]
                };
                let (p, q) = (reach(d, a), reach(e, b));
                (Piece::Triangle(p, q), 0.5 * (p[0] * q[1] - p[1] * q[0]))
            }
            None => (Piece::Sector(d, a, e, b), spread / (a * b)),
        });
    }
}

fn in_gaussian(sigma: f64, wall: Option<&Wall>, (from, to): (f64, f64), pieces: &mut Vec<(Piece, f64)>) {
    let far = NEAR_SIGMAS * sigma;
    let mut cuts = Vec::new();
    if let Some(&(g, h)) = wall.filter(|(_, h)| *h < far) {
        let side = libm::acos(h / far);
        cuts.extend([angle(g) + side, angle(g) - side]);
    }
    for (from, to) in sectors(cuts, from, to) {
        let middle = direction(0.5 * (from + to));
        pieces.push(match wall.filter(|(g, h)| *h < far * dot(g, &middle)) {
            Some((g, h)) => {
                let reach = |angle: f64| {
                    let d = direction(angle);
                    let r = (h / dot(g, &d).max(0.0)).min((1.0 + 1e-9) * far);
                    [r * d[0], r * d[1]]
                };
                let (p, q) = (reach(from), reach(to));
                (Piece::Triangle(p, q), 0.5 * (p[0] * q[1] - p[1] * q[0]))
            }
            None => (Piece::Arc(from, to, sigma), sigma * sigma * (to - from)),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::closed_form::{EntryOfTotal, Operation};
    use crate::invariant::Linear;
    use crate::rng::normal_cdf;
    use crate::testing::{assert_distribution, test_stream};

    /// Totals of two and three entries, not by their own samplers, against their laws in closed form
    /// (Congenial (4.6); "Two views", section 4); with so many draws that the law within a sector shows.
    #[test]
    fn lines_and_planes_have_closed_forms() {
        let lambda = 1.7;
        let laplace = Fall::Laplace(Laplace::new(lambda).unwrap());
        let gaussian = Fall::Gaussian(Gaussian::new(lambda).unwrap());
        let two = EntryOfTotal::new(lambda, Operation::Conditioned, 2).unwrap();
        let tail = |s: f64| libm::exp(-2.0 * s) * (0.5 + s / 3.0);
        let three = |x: f64| if x < 0.0 { tail(-x / lambda) } else { 1.0 - tail(x / lambda) };
        let normal = |n: f64| move |x: f64| normal_cdf(x / (lambda * libm::sqrt(1.0 - 1.0 / n)));
        let draws = |n: usize, fall: Fall| -> Vec<Vec<f64>> {
            let bounded = Region::everything().components(&Linear::total(n).unwrap()).remove(0);
            let sampler = FewDimensions::new(&bounded, fall).unwrap();
            let (mut rng, mut noise) = (test_stream(12), vec![0.0; n]);
            (0..400_000)
                .map(|_| {
                    sampler.draw(&mut rng, &mut noise);
                    noise.clone()
                })
                .collect()
        };
        // Sixteen equal entries and one that a row which never matters ties to them: far from round.
        let equal = (1..16).map(|i| vec![(0, 1), (i, -1)]).collect();
        let region = Region { rows: vec![(vec![(0, 1), (16, 1)], -1_000_000)], ..Region::everything() };
        let bounded = region.components(&Linear::from_rows(17, equal).unwrap()).remove(0);
        let sampler = FewDimensions::new(&bounded, laplace).unwrap();
        let (mut rng, mut noise) = (test_stream(13), vec![0.0; 17]);
        let mut pairs = [Vec::new(), Vec::new()];
        for _ in 0..400_000 {
            sampler.draw(&mut rng, &mut noise);
            pairs[0].push(noise[3]);
            pairs[1].push(noise[16]);
        }
        for (values, scale) in pairs.into_iter().zip([lambda / 16.0, lambda]) {
            let tail = |x: f64| 0.5 * libm::exp(-x / scale);
            assert_distribution(values, |x| if x < 0.0 { tail(-x) } else { 1.0 - tail(x) });
        }
        for (n, fall) in [(2, laplace), (3, laplace), (2, gaussian), (3, gaussian)] {
            let all = draws(n, fall);
            for i in 0..n {
                let entry: Vec<f64> = all.iter().map(|z| z[i]).collect();
                match (n, fall) {
                    (2, Fall::Laplace(_)) => assert_distribution(entry, |x| two.cdf(x)),
                    (_, Fall::Laplace(_)) => assert_distribution(entry, three),
                    _ => assert_distribution(entry, normal(n as f64)),
                }
            }
        }
    }
}
