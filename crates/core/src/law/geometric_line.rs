//! Exact draws along a line for double geometric weights.

use super::{DoubleGeometric, Law, Line, LineLaw, Term, sort};

/// What line draws look up: the powers of every level's ratio, and more if all levels share one.
#[derive(Debug)]
pub struct PowerTables {
    levels: Vec<Powers>,
    equal: Option<EqualRates>,
    /// Whether no product of growth factors along a line leaves the range of numbers.
    gentle: bool,
}

/// The powers `a^0, a^1, …` of one level, as far as they pay.
#[derive(Debug)]
struct Powers {
    rate: f64,
    ratio: f64,
    inverse: f64,
    powers: Vec<f64>,
}

/// Sum of the rates along a line up to which growth factors are multiplied.
const GENTLE: f64 = 300.0;

/// Most terms that the fast draw takes: all lines of a tree with three levels.
const FEW: usize = 4;

/// All levels have the rate 1/lambda: the growth factors of `K` terms after `k` breaks are
/// `exp((K - 2k)/lambda)`.
#[derive(Debug)]
struct EqualRates {
    /// By K and k: the growth factor q, and 1/(1 - q).
    growth: [[f64; FEW + 1]; FEW + 1],
    inverse_fall: [[f64; FEW + 1]; FEW + 1],
}

impl EqualRates {
    fn new(rate: f64) -> Self {
        let by_terms = |value: &dyn Fn(f64) -> f64| {
            std::array::from_fn(|terms| {
                std::array::from_fn(|passed| value((terms as f64 - 2.0 * passed as f64) * rate))
            })
        };
        Self { growth: by_terms(&libm::exp), inverse_fall: by_terms(&|slope| -1.0 / libm::expm1(slope)) }
    }
}

impl LineLaw for DoubleGeometric {
    type Tables = PowerTables;
    fn tables(laws: &[Self]) -> PowerTables {
        let levels = laws.iter().map(|law| {
            // Beyond exp(-200) a weight never decides; beyond 2,048 entries the table leaves the cache.
            let len = libm::ceil((200.0 * law.scale()).clamp(16.0, 2048.0)) as usize;
            let powers = (0..len).map(|k| libm::exp(-(k as f64) * law.rate())).collect();
            Powers { rate: law.rate(), ratio: law.ratio(), inverse: libm::exp(law.rate()), powers }
        });
        // With a small rate the differences that the fast draw takes would cancel.
        let equal = laws.iter().all(|law| law.rate() == laws[0].rate()) && laws[0].rate() > 2e-3;
        let steepest = laws.iter().map(|law| law.rate()).fold(0.0, f64::max);
        PowerTables {
            levels: levels.collect(),
            equal: equal.then(|| EqualRates::new(laws[0].rate())),
            gentle: steepest <= GENTLE / FEW as f64,
        }
    }

    /// The weight along the line is piecewise geometric with a break at every `-at_k`: its pieces are
    /// summed in closed form and the piece that holds `u` is inverted.
    ///
    /// Each piece is measured from its higher end, so nothing underflows that matters. Where the rates are so large, or the
    /// line so far from where the weights are, that growth factors or weights leave the range of numbers, the same is done
    /// with logarithms.
    #[inline]
    fn line(tables: &PowerTables, line: &mut Line<i64>, lo: i64, hi: i64, u: f64) -> i64 {
        let fast = match line.terms.len() {
            _ if !tables.gentle => None,
            1 => few_terms::<1>(tables, &line.terms, lo, hi, u),
            2 => few_terms::<2>(tables, &line.terms, lo, hi, u),
            3 => few_terms::<3>(tables, &line.terms, lo, hi, u),
            4 => few_terms::<4>(tables, &line.terms, lo, hi, u),
            _ => None,
        };
        fast.unwrap_or_else(|| any_terms(&tables.levels, line, lo, hi, u))
    }
}

/// The draw for `z + t b` without bounds and with one rate, where `b` has two to four coefficients, all of them ±1; `None` for other b,
/// and where a table ends.
///
/// The weight is largest at the breaks in the middle: those at the outer ones are powers of the steps from there, and nothing
/// underflows that matters.
#[inline]
pub(super) fn free_line(tables: &PowerTables, b: &[(u32, i32)], z: &[i64], u: f64) -> Option<i64> {
    let equal = tables.equal.as_ref().filter(|_| tables.gentle)?;
    let powers = &tables.levels[0].powers[..];
    match b.len() {
        2 => few_free::<2>(equal, powers, b, z, u),
        3 => few_free::<3>(equal, powers, b, z, u),
        4 => few_free::<4>(equal, powers, b, z, u),
        _ => None,
    }
}

#[inline]
fn few_free<const K: usize>(
    equal: &EqualRates,
    powers: &[f64],
    b: &[(u32, i32)],
    z: &[i64],
    u: f64,
) -> Option<i64> {
    let mut unit = true;
    let mut breaks = [0i64; K];
    for (at, &(entry, coefficient)) in breaks.iter_mut().zip(b) {
        unit &= coefficient.abs() == 1;
        *at = -z[entry as usize] * i64::from(coefficient);
    }
    if !unit {
        return None;
    }
    sort(&mut breaks, |&at| at);
    let mut weights = [1.0; K];
    if K > 2 {
        // K - 2 terms fall on the way out.
        let outer = |steps: i64| powers.get((K - 2).saturating_mul(steps as usize)).copied();
        weights[0] = outer(breaks[1] - breaks[0])?;
        weights[K - 1] = outer(breaks[K - 1] - breaks[K - 2])?;
    }
    let pieces = Pieces { lo: i64::MIN, end: i64::MAX, nodes: breaks, first: 0.0, last: 0.0, weights };
    pieces.quantile(&equal.growth[K], &equal.inverse_fall[K], u)
}

/// Draws along a line of `K` terms by tables alone; `None` where a table ends, a weight underflows or a slope is too
/// small for the difference of its ends.
#[inline]
fn few_terms<const K: usize>(
    tables: &PowerTables,
    terms: &[Term<i64>],
    lo: i64,
    hi: i64,
    u: f64,
) -> Option<i64> {
    let end = hi.saturating_add(1);
    match &tables.equal {
        Some(equal) => {
            let mut breaks: [i64; K] = std::array::from_fn(|k| -terms[k].at);
            sort(&mut breaks, |&at| at);
            let powers = &tables.levels[0].powers[..];
            let weight = |t: i64| {
                let distance: u64 = breaks.iter().map(|at| (t - at).unsigned_abs()).sum();
                powers.get(distance as usize).copied()
            };
            let nodes = breaks.map(|at| at.clamp(lo, end));
            Pieces::new(nodes, lo, end, weight)?.quantile(&equal.growth[K], &equal.inverse_fall[K], u)
        }
        None => {
            let mut breaks: [(i64, u32); K] = std::array::from_fn(|k| (-terms[k].at, terms[k].level as u32));
            sort(&mut breaks, |&(at, _)| at);
            let breaks = breaks.map(|(at, level)| (at, &tables.levels[level as usize]));
            let weight = |t: i64| {
                let mut weight = 1.0;
                for (at, table) in &breaks {
                    weight *= table.powers.get((t - at).unsigned_abs() as usize)?;
                }
                Some(weight)
            };
            let mut growth = [0.0; FEW + 1];
            growth[0] = breaks.iter().map(|(_, table)| table.inverse).product();
            let steepest = growth[0] - 1.0;
            for k in 0..K {
                let ratio = breaks[k].1.ratio;
                growth[k + 1] = growth[k] * (ratio * ratio);
            }
            let rounding = 1e-13 * steepest.min(1.0);
            if growth[..=K].iter().any(|q| is_flat(*q) && (1.0 - q).abs() >= rounding) {
                return None;
            }
            let inverse_fall = growth.map(|q| 1.0 / (1.0 - q));
            let nodes = breaks.map(|(at, _)| at.clamp(lo, end));
            Pieces::new(nodes, lo, end, weight)?.quantile(&growth, &inverse_fall, u)
        }
    }
}

/// Whether a piece with this growth factor is summed as if all its weights were equal.
#[inline]
fn is_flat(q: f64) -> bool {
    (1.0 - q).abs() <= 1e-3
}

/// The pieces of a line: piece 0 is `lo <= t < nodes[0]`, piece k `nodes[k - 1] <= t < nodes[k]`, the last
/// `nodes[K - 1] <= t < end`; with the weights at their ends, 0 where there is no bound.
struct Pieces<const K: usize> {
    lo: i64,
    end: i64,
    nodes: [i64; K],
    first: f64,
    last: f64,
    weights: [f64; K],
}

impl<const K: usize> Pieces<K> {
    #[inline]
    fn new(nodes: [i64; K], lo: i64, end: i64, weight: impl Fn(i64) -> Option<f64>) -> Option<Self> {
        let mut weights = [0.0; K];
        for k in 0..K {
            weights[k] = weight(nodes[k])?;
        }
        let first = if lo == i64::MIN { 0.0 } else { weight(lo)? };
        let last = if end == i64::MAX { 0.0 } else { weight(end)? };
        Some(Self { lo, end, nodes, first, last, weights })
    }

    /// Ends of piece k and the weights there.
    #[inline]
    fn ends(&self, k: usize) -> ((i64, f64), (i64, f64)) {
        let left = if k == 0 { (self.lo, self.first) } else { (self.nodes[k - 1], self.weights[k - 1]) };
        let right = if k == K { (self.end, self.last) } else { (self.nodes[k], self.weights[k]) };
        (left, right)
    }

    /// `growth[k]` is q on piece k and `inverse_fall[k]` is 1/(1 - q).
    #[inline]
    fn quantile(&self, growth: &[f64; FEW + 1], inverse_fall: &[f64; FEW + 1], u: f64) -> Option<i64> {
        let mut masses = [0.0; FEW + 1];
        let mut total = 0.0;
        for k in 0..=K {
            let ((left, at_left), (right, at_right)) = self.ends(k);
            masses[k] = if is_flat(growth[k]) {
                at_left * (right - left) as f64
            } else {
                (at_left - at_right) * inverse_fall[k]
            };
            total += masses[k];
        }
        if total < 1e-150 {
            return None;
        }
        let target = u * total;
        let (mut k, mut before, mut sum) = (0, 0.0, 0.0);
        for &mass in &masses[..K] {
            sum += mass;
            let beyond = target >= sum;
            k += usize::from(beyond);
            before = if beyond { sum } else { before };
        }
        let rest = target - before;
        let ((left, at_left), (right, at_right)) = self.ends(k);
        let q = growth[k];
        if is_flat(q) {
            return Some((left + (rest / at_left) as i64).min(right - 1));
        }
        // Measured from the higher end.
        let falls = q < 1.0;
        let from_top = if falls { rest } else { (masses[k] - rest).max(0.0) };
        let top = if falls { at_left } else { at_right };
        let share = from_top / (top * inverse_fall[k].abs());
        let steps = powers_above(if falls { q } else { 1.0 / q }, 1.0 - share);
        let t = if falls { left.saturating_add(steps) } else { right - 1 - steps };
        Some(t.min(right - 1).max(left))
    }
}

/// How many of `q, q², q³, …` are at least `y`, for q < 1.
#[inline]
fn powers_above(q: f64, y: f64) -> i64 {
    if q > 0.85 || y <= 0.0 {
        return (libm::log(y.max(f64::MIN_POSITIVE)) / libm::log(q)) as i64;
    }
    let (mut power, mut count) = (q, 0);
    while power >= y {
        power *= q;
        count += 1;
    }
    count
}

/// Draws along a line of any number of terms with any scales.
fn any_terms(tables: &[Powers], line: &mut Line<i64>, lo: i64, hi: i64, u: f64) -> i64 {
    line.sort_breaks();
    let Line { terms, nodes, weights, masses, .. } = line;
    // Piece j is nodes[j] <= t < nodes[j + 1]; the outer nodes are the bounds (hi + 1 on the right).
    let end = hi.saturating_add(1);
    nodes.clear();
    nodes.push(lo);
    for term in terms.iter() {
        let at = -term.at;
        if at > nodes[nodes.len() - 1] && at < end {
            nodes.push(at);
        }
    }
    nodes.push(end);
    let unbounded = |t: i64| t == i64::MIN || t == i64::MAX;
    weights.clear();
    weights.extend(nodes.iter().map(|&t| if unbounded(t) { 0.0 } else { product(tables, terms, t) }));
    let leftmost = Growth::leftmost(tables, terms);
    if leftmost.steepest > GENTLE || weights.iter().all(|&w| w < 1e-150) {
        return by_logarithms(tables, line, u);
    }
    let first = leftmost.pass(tables, terms, lo);
    let mut growth = first;
    masses.clear();
    let mut total = 0.0;
    for j in 0..nodes.len() - 1 {
        let mass = growth.mass(weights[j], weights[j + 1], nodes[j], nodes[j + 1]);
        masses.push(mass);
        total += mass;
        growth = growth.pass(tables, terms, nodes[j + 1]);
    }
    let mut rest = u * total;
    growth = first;
    let mut j = 0;
    while j + 1 < masses.len() && rest >= masses[j] {
        rest -= masses[j];
        j += 1;
        growth = growth.pass(tables, terms, nodes[j]);
    }
    let (left, right) = (nodes[j], nodes[j + 1]);
    if growth.is_flat() {
        (left + (rest / weights[j]) as i64).min(right - 1)
    } else if growth.slope < 0.0 {
        let steps = libm::log1p(-rest * growth.one_minus_q() / weights[j]) / growth.slope;
        (left + steps.min(1e18) as i64).clamp(left, right - 1)
    } else {
        let above = (masses[j] - rest).max(0.0);
        let steps = -libm::log1p(above * growth.one_minus_q() / weights[j + 1]) / growth.slope;
        (right - libm::ceil(steps).clamp(1.0, 1e18) as i64).clamp(left, right - 1)
    }
}

/// How the weight grows on one piece: `w(t + 1) = q w(t)`, `slope = ln q`.
#[derive(Clone, Copy)]
struct Growth {
    slope: f64,
    q: f64,
    /// The steepest slope of the line: the yardstick of rounding.
    steepest: f64,
    /// The number of breaks already passed.
    passed: usize,
}

impl Growth {
    #[inline]
    fn leftmost(tables: &[Powers], terms: &[Term<i64>]) -> Self {
        let (mut slope, mut q) = (0.0, 1.0);
        for term in terms {
            slope += tables[term.level].rate;
            q *= tables[term.level].inverse;
        }
        Self { slope, q, steepest: slope, passed: 0 }
    }

    /// Passes every break up to and including `upto`.
    #[inline]
    fn pass(mut self, tables: &[Powers], terms: &[Term<i64>], upto: i64) -> Self {
        while self.passed < terms.len() && -terms[self.passed].at <= upto {
            let table = &tables[terms[self.passed].level];
            self.slope -= 2.0 * table.rate;
            self.q *= table.ratio * table.ratio;
            self.passed += 1;
        }
        self
    }

    /// Whether the rates cancel, so that the slope is rounding.
    #[inline]
    fn is_flat(&self) -> bool {
        self.slope.abs() < 1e-13 * self.steepest
    }

    #[inline]
    fn one_minus_q(&self) -> f64 {
        if self.slope.abs() > 1e-3 { 1.0 - self.q } else { -libm::expm1(self.slope) }
    }

    /// The mass `Σ w(t)` over `left <= t < right`, from the weights at both ends.
    #[inline]
    fn mass(&self, at_left: f64, at_right: f64, left: i64, right: i64) -> f64 {
        if self.slope.abs() > 1e-3 {
            return (at_left - at_right) / (1.0 - self.q);
        }
        // The weight falls slowly and the difference above would cancel.
        let length = right as f64 - left as f64;
        if self.is_flat() {
            at_left * length
        } else if self.slope < 0.0 {
            at_left * libm::expm1(length * self.slope) / libm::expm1(self.slope)
        } else {
            at_right / self.q * libm::expm1(-length * self.slope) / libm::expm1(-self.slope)
        }
    }
}

#[inline]
fn product(tables: &[Powers], terms: &[Term<i64>], t: i64) -> f64 {
    let mut weight = 1.0;
    for term in terms {
        let table = &tables[term.level];
        let distance = (term.at + t).unsigned_abs();
        weight *= match table.powers.get(distance as usize) {
            Some(&power) => power,
            None => libm::exp(-(distance as f64) * table.rate),
        };
    }
    weight
}

/// Draws from the pieces between the nodes of `line`, with logarithms of weights and masses: for rates of any size.
#[cold]
fn by_logarithms(tables: &[Powers], line: &mut Line<i64>, u: f64) -> i64 {
    let Line { terms, nodes, slopes, weights, masses } = line;
    let steepest: f64 = terms.iter().map(|term| tables[term.level].rate).sum();
    // By piece: ln w(t + 1)/w(t), 0 where the rates cancel but for rounding.
    slopes.clear();
    slopes.extend(nodes.iter().take(nodes.len() - 1).map(|&left| {
        let sign = |term: &Term<i64>| if -term.at <= left { -1.0 } else { 1.0 };
        let slope: f64 = terms.iter().map(|term| sign(term) * tables[term.level].rate).sum();
        if slope.abs() < 1e-13 * steepest { 0.0 } else { slope }
    }));
    // The weight is largest where it stops rising, the left end of a piece; or at the last place before the upper bound.
    let pieces = slopes.len();
    let top = slopes.iter().position(|&slope| slope <= 0.0).unwrap_or(pieces);
    let length = |j: usize| nodes[j + 1] as f64 - nodes[j] as f64;
    weights.clear();
    weights.resize(nodes.len(), 0.0);
    for j in top..pieces {
        weights[j + 1] = if slopes[j] == 0.0 { weights[j] } else { weights[j] + slopes[j] * length(j) };
    }
    for j in (0..top).rev() {
        weights[j] = weights[j + 1] - slopes[j] * length(j);
    }
    // Of a piece: the logarithm of its largest weight, times a geometric series of so many terms.
    let highest = |j: usize| if slopes[j] > 0.0 { weights[j + 1] - slopes[j] } else { weights[j] };
    let series = |j: usize| match slopes[j].abs() {
        0.0 => length(j),
        slope => libm::expm1(-slope * length(j)) / libm::expm1(-slope),
    };
    let peak = (0..pieces).map(highest).fold(f64::NEG_INFINITY, f64::max);
    masses.clear();
    masses.extend((0..pieces).map(|j| libm::exp(highest(j) - peak) * series(j)));
    let mut rest = u * masses.iter().sum::<f64>();
    let last = masses.iter().rposition(|&mass| mass > 0.0).unwrap_or(0);
    let mut j = 0;
    while j < last && rest >= masses[j] {
        rest -= masses[j];
        j += 1;
    }
    let (left, right, share) = (nodes[j], nodes[j + 1], (rest / masses[j]).min(1.0));
    if slopes[j] == 0.0 {
        return left.saturating_add((share * length(j)) as i64).min(right - 1);
    }
    // Steps from the higher end: those of a geometric law that ends with the piece.
    let from_top = if slopes[j] < 0.0 { share } else { 1.0 - share };
    let log = libm::log1p(from_top * libm::expm1(-slopes[j].abs() * length(j)));
    let steps = (log / -slopes[j].abs()).min(1e18) as i64;
    let t = if slopes[j] < 0.0 { left.saturating_add(steps) } else { (right - 1).saturating_sub(steps) };
    t.clamp(left, right - 1)
}
