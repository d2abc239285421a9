//! Cell keys: changes of counts by a table of laws, chosen by the keys of records.

use crate::error::{Error, Result};

/// The largest D.
pub const LARGEST_CHANGE: u64 = 100;
/// Newton's steps at most; most laws take some ten.
const STEPS: usize = 100;
/// How far mean and variance may be off where the steps end, and after the last of them, in units of the largest change.
const CLOSE: f64 = 1e-12;
const AT_LAST: f64 = 1e-9;

/// A perturbation table: for every count a law of changes, as the cell key method uses it (Thompson, Broadfoot and Elazar 2013; the laws
/// by entropy: Giessing 2016).
///
/// The law of a count x > 0 is the one of largest entropy among those on the changes from -D to D that leave no count below 0 and none of
/// 1 to js, with mean 0, variance V, and no change with probability pstay at least: `p(k) ∝ exp(a k + b k²)`, but for k = 0 where pstay
/// binds. A count of 0 stays. Counts above D + js have one law. The R package `ptable` (Statistical Office of Germany) makes its tables so
/// with `optim = 4` and `mono = FALSE`; its `mono = TRUE`, which also orders the probabilities of falls, is not served.
///
/// A record has a key, uniform on [0, 1), and a count the fractional part of the sum of the keys of its records. The change of a count is
/// the quantile of its law at its key, so that one set of records has one change wherever it is counted. Keys are fractions of 2^64 here:
/// sums wrap around.
///
/// # Examples
///
/// ```
/// use congenial_core::sdc::PerturbationTable;
///
/// let table = PerturbationTable::new(2, 1.08, 1, 0.0)?;
/// // A count of 1 is never published as 1, but as 0, 2 or 3.
/// let changes: Vec<i64> = table.law(1).map(|(change, _)| change).collect();
/// assert_eq!(changes, [-1, 1, 2]);
/// assert_eq!((table.publish(0, 1 << 63), table.publish(1, 0), table.publish(1, u64::MAX)), (0, 0, 3));
/// # Ok::<(), congenial_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct PerturbationTable {
    /// By count from 0: its law; the last is that of all larger ones.
    rows: Vec<Row>,
}

/// The law of the changes of a count.
#[derive(Debug, Clone, PartialEq)]
struct Row {
    /// Changes with their probabilities, ascending.
    law: Vec<(i64, f64)>,
    /// By change but the last, the probability of it and those before it, in parts of 2^64.
    below: Vec<u64>,
}

impl PerturbationTable {
    /// - `largest`: D, the largest change, 1 to 100.
    /// - `variance`: V, of every change, in counts squared.
    /// - `unpublished`: js; counts from 1 to it are not published. Less than D.
    /// - `stay`: pstay; the probability of no change at least, of counts that may be published. From 0, below 1.
    ///
    /// Refused: numbers out of range; a variance that no law of some count has.
    pub fn new(largest: u64, variance: f64, unpublished: u64, stay: f64) -> Result<Self> {
        if !(1..=LARGEST_CHANGE).contains(&largest) {
            return Err(Error::parameter("d", largest, "1 to 100"));
        }
        if unpublished >= largest {
            return Err(Error::parameter("js", unpublished, "less than d"));
        }
        if !(variance.is_finite() && variance > 0.0) {
            return Err(Error::parameter("v", variance, "a finite number > 0"));
        }
        if !(0.0..1.0).contains(&stay) {
            return Err(Error::parameter("pstay", stay, "a number from 0, below 1"));
        }
        let (d, js) = (largest as i64, unpublished as i64);
        let row = |count: i64| {
            let allowed = |change: &i64| count + change == 0 || count + change > js;
            let changes: Vec<i64> = (-d.min(count)..=d).filter(allowed).collect();
            match count {
                0 => Ok(Row::new(vec![(0, 1.0)])),
                _ => staying(&changes, variance, stay).map(Row::new).map_err(|(least, most)| {
                    let has = format!("{variance}, and changes of a count of {count} have variances above {least:.4} and below {most:.4}");
                    Error::parameter("v", has, "a variance that changes of every count have")
                }),
            }
        };
        Ok(Self { rows: (0..=d + js + 1).map(row).collect::<Result<_>>()? })
    }

    fn row(&self, count: u64) -> &Row {
        &self.rows[(count as usize).min(self.rows.len() - 1)]
    }

    /// The changes of a count with their probabilities, ascending.
    pub fn law(&self, count: u64) -> impl Iterator<Item = (i64, f64)> {
        self.row(count).law.iter().copied()
    }

    /// The probability that a count is published so.
    pub fn p(&self, count: u64, published: i64) -> f64 {
        let change = published.checked_sub_unsigned(count);
        self.law(count).find(|(own, _)| Some(*own) == change).map_or(0.0, |(_, p)| p)
    }

    /// D: the largest change.
    pub fn largest(&self) -> i64 {
        self.law(u64::MAX).last().map_or(0, |(change, _)| change)
    }

    /// js: the largest count, from 1, up to which none is published; 0 without any.
    pub fn unpublished(&self) -> i64 {
        // The rows are those of 0 to D + js + 1.
        self.rows.len() as i64 - self.largest() - 2
    }

    /// V: the variance of the change of every count but 0, in counts squared.
    pub fn variance(&self) -> f64 {
        self.law(u64::MAX).map(|(change, p)| (change * change) as f64 * p).sum()
    }

    /// What is published for a count whose records have this key together, in parts of 2^64.
    pub fn publish(&self, count: u64, key: u64) -> i64 {
        let Row { law, below } = self.row(count);
        count as i64 + law[below.partition_point(|below| *below <= key)].0
    }
}

impl Row {
    fn new(law: Vec<(i64, f64)>) -> Self {
        let mut sum = 0.0;
        let below = law[..law.len() - 1].iter().map(|(_, p)| {
            sum += p;
            // Beyond what there is it is the largest that there is.
            libm::scalbn(sum, 64) as u64
        });
        Self { below: below.collect(), law }
    }
}

/// The least and the largest variance of laws with mean 0 on some changes.
fn variances(changes: &[i64]) -> (i64, i64) {
    let below = changes.iter().copied().filter(|change| *change < 0);
    let above = changes.iter().copied().filter(|change| *change > 0);
    match (below.clone().max(), above.clone().min()) {
        _ if changes.contains(&0) => (0, -below.min().unwrap_or(0) * above.max().unwrap_or(0)),
        (Some(low), Some(high)) => (-low * high, -below.min().unwrap_or(low) * above.max().unwrap_or(high)),
        _ => (0, 0),
    }
}

/// The law of largest entropy on some changes with mean 0, this variance, and a probability of no change at least, where there may be one.
/// Errors: there is none; variances that it has to lie between.
fn staying(changes: &[i64], variance: f64, stay: f64) -> std::result::Result<Vec<(i64, f64)>, (f64, f64)> {
    let (least, most) = variances(changes);
    let free = of_largest_entropy(changes, variance).ok_or((least as f64, most as f64))?;
    if free.iter().all(|&(change, p)| change != 0 || p >= stay - 1e-12) {
        return Ok(free);
    }
    // Given that there is a change.
    let moved: Vec<i64> = changes.iter().copied().filter(|change| *change != 0).collect();
    let (least, most) = variances(&moved);
    let left = 1.0 - stay;
    let given = of_largest_entropy(&moved, variance / left);
    let mut law: Vec<(i64, f64)> = given.ok_or((left * least as f64, left * most as f64))?;
    law.iter_mut().for_each(|(_, p)| *p *= left);
    law.push((0, stay));
    law.sort_unstable_by_key(|(change, _)| *change);
    Ok(law)
}

/// The law `p(k) ∝ exp(a k + b k²)` on some changes with mean 0 and this variance. `None`: there is none.
///
/// a and b minimise the convex function `log Σ exp(a k + b k²) - b V`, with changes in units of the largest: Newton's steps, halved until
/// it falls and the law does not collapse.
fn of_largest_entropy(changes: &[i64], variance: f64) -> Option<Vec<(i64, f64)>> {
    let (least, most) = variances(changes);
    if !(least as f64 + 1e-9 < variance && variance < most as f64 - 1e-9) {
        return None;
    }
    let unit = changes.iter().map(|change| change.unsigned_abs()).max()? as f64;
    let scaled: Vec<f64> = changes.iter().map(|&change| change as f64 / unit).collect();
    let variance = variance / (unit * unit);
    let mut now = Tried::new(&scaled, variance, (0.0, 0.0));
    for _ in 0..STEPS {
        if now.off() < CLOSE {
            break;
        }
        let (a, b) = now.step();
        let mut size = 1.0;
        now = loop {
            let next = Tried::new(&scaled, variance, (now.at.0 - size * a, now.at.1 - size * b));
            let falls = next.value <= now.value + 1e-14 * (1.0 + now.value.abs());
            if (falls && next.determinant() > 1e-3 * now.determinant()) || size < 1e-9 {
                break next;
            }
            size *= 0.5;
        };
    }
    (now.off() < AT_LAST).then(|| changes.iter().copied().zip(now.law).collect())
}

/// A law by its a and b.
struct Tried {
    at: (f64, f64),
    law: Vec<f64>,
    /// What is minimised, with its slopes.
    value: f64,
    slopes: (f64, f64),
    /// Its second derivatives: by a twice, by a and b, by b twice.
    curved: (f64, f64, f64),
}

impl Tried {
    fn new(changes: &[f64], variance: f64, at: (f64, f64)) -> Self {
        let powers: Vec<f64> = changes.iter().map(|k| at.0 * k + at.1 * k * k).collect();
        let top = powers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut law: Vec<f64> = powers.iter().map(|power| libm::exp(power - top)).collect();
        let sum: f64 = law.iter().sum();
        law.iter_mut().for_each(|p| *p /= sum);
        let mut moments = [0.0; 4];
        for (k, p) in changes.iter().zip(&law) {
            moments.iter_mut().fold(*p, |power, moment| {
                *moment += power * k;
                power * k
            });
        }
        let [first, second, third, fourth] = moments;
        Self {
            at,
            law,
            value: top + libm::log(sum) - at.1 * variance,
            slopes: (first, second - variance),
            curved: (second - first * first, third - first * second, fourth - second * second),
        }
    }

    /// How far mean and variance are off.
    fn off(&self) -> f64 {
        self.slopes.0.abs().max(self.slopes.1.abs())
    }

    fn determinant(&self) -> f64 {
        let (aa, ab, bb) = self.curved;
        aa * bb - ab * ab
    }

    /// Newton's step.
    fn step(&self) -> (f64, f64) {
        let ((a, b), (aa, ab, bb)) = (self.slopes, self.curved);
        let determinant = self.determinant();
        ((bb * a - ab * b) / determinant, (aa * b - ab * a) / determinant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Rng, below, open01};
    use crate::testing::{assert_frequencies, test_stream};

    /// Tables of the makers: of the European census of 2021 with D = 2, V = 1.08 and js = 1 (sdcTools/CensusProtection on GitHub,
    /// `CellKey/SAS/ptable_d2_v108_js1.csv`; digits of the R package `ptable`), and with D = 5, V = 3, js = 2 and pstay = 0.5
    /// (sdcTools/cellKey, `data/params_cnts.rda`): rows whose law its `mono = TRUE` leaves as it is.
    #[test]
    fn published_tables_are_met() {
        let census: [(u64, &[(i64, f64)]); 4] = [
            (1, &[(-1, 0.513333333333), (1, 0.46), (2, 0.026666666667)]),
            (2, &[(-2, 0.165608346861), (0, 0.546349918834), (1, 0.244866774888), (2, 0.043174959416)]),
            (3, &[(-1, 0.420784681405), (0, 0.277645955786), (1, 0.182354044214), (2, 0.119215318595)]),
            (
                4,
                &[
                    (-2, 0.073946677932),
                    (-1, 0.244213288271),
                    (0, 0.363680067594),
                    (1, 0.244213288271),
                    (2, 0.073946677932),
                ],
            ),
        ];
        let other: [(u64, &[(i64, f64)]); 3] = [
            (1, &[(-1, 0.734469541), (2, 0.136720190), (3, 0.072796313), (4, 0.037429556), (5, 0.018584399)]),
            (
                3,
                &[
                    (-3, 0.187375979),
                    (0, 0.5),
                    (1, 0.156298158),
                    (2, 0.090813876),
                    (3, 0.043242014),
                    (4, 0.016873881),
                    (5, 0.005396092),
                ],
            ),
            (
                8,
                &[
                    (-5, 0.011584907),
                    (-4, 0.025395483),
                    (-3, 0.046759806),
                    (-2, 0.072317176),
                    (-1, 0.093942628),
                    (0, 0.5),
                    (1, 0.093942634),
                    (2, 0.072317180),
                    (3, 0.046759795),
                    (4, 0.025395476),
                    (5, 0.011584916),
                ],
            ),
        ];
        let of_census = PerturbationTable::new(2, 1.08, 1, 0.0).unwrap();
        let of_other = PerturbationTable::new(5, 3.0, 2, 0.5).unwrap();
        for (table, published) in [(&of_census, &census[..]), (&of_other, &other[..])] {
            for (count, published) in published {
                let own: Vec<(i64, f64)> = table.law(*count).collect();
                assert_eq!(own.len(), published.len());
                for ((change, p), (other, q)) in own.into_iter().zip(*published) {
                    assert!(change == *other && (p - q).abs() < 1e-7, "{count} {change}: {p}, not {q}");
                }
            }
        }
        assert!(of_census.law(5).eq(of_census.law(4)) && of_census.law(u64::MAX).eq(of_census.law(4)));
    }

    /// Counts, keys of cells and what is published: a worked table of sex by age with its totals, and single look-ups, in the course on the
    /// census's tools (sdcTools/CensusProtection, `TobiasData.zip` and its exercises).
    const LOOKED_UP: [(u64, f64, i64); 14] = [
        (4, 0.96679974, 6),
        (3, 0.73755586, 4),
        (1, 0.56526973, 2),
        (5, 0.47438843, 5),
        (2, 0.99210270, 4),
        (7, 0.70435560, 8),
        (8, 0.03176086, 6),
        (5, 0.53206947, 5),
        (8, 0.21194429, 7),
        (0, 0.0, 0),
        (0, 0.5012415871, 0),
        (1, 0.2513548301578, 0),
        (970, 0.70548315646, 971),
        (10_000, 0.4356278, 10_000),
    ];

    /// The first interval whose upper end is above the key is looked up, for counts up to the last row and beyond it.
    #[test]
    fn look_ups_are_those_of_the_makers() {
        let table = PerturbationTable::new(2, 1.08, 1, 0.0).unwrap();
        let key = |key: f64| libm::scalbn(key, 64) as u64;
        for (count, at, published) in LOOKED_UP {
            assert_eq!(table.publish(count, key(at)), published, "{count} at {at}");
        }
    }

    /// 400 random tables: laws have mean 0 and the variance, on what may be published, and the most entropy: a change of the law that keeps
    /// the moments has less. Or no law has the variance: it lies beyond what two changes have.
    #[test]
    fn laws_have_their_moments_and_the_most_entropy() {
        let mut rng = test_stream(821);
        let mut made = 0;
        for _ in 0..400 {
            let d = 1 + below(&mut rng, 9);
            let js = below(&mut rng, d);
            let v = open01(&mut rng) * (d * d) as f64;
            let table = match PerturbationTable::new(d, v, js, 0.0) {
                Ok(table) => table,
                Err(refused) => {
                    let has = |count: i64| {
                        let is_allowed = |k: &i64| count + k == 0 || count + k > js as i64;
                        let (least, most) = variances(
                            &(-(d as i64).min(count)..=d as i64).filter(is_allowed).collect::<Vec<_>>(),
                        );
                        least as f64 + 1e-8 < v && v < most as f64 - 1e-8
                    };
                    assert!(!(1..=(d + js + 1) as i64).all(has), "{d} {v} {js}: {refused}");
                    continue;
                }
            };
            made += 1;
            for count in 1..=d + js + 3 {
                let law: Vec<(i64, f64)> = table.law(count).collect();
                let moment =
                    |power: f64| -> f64 { law.iter().map(|&(k, p)| p * libm::pow(k as f64, power)).sum() };
                assert!(
                    (moment(0.0) - 1.0).abs() < 1e-12 && moment(1.0).abs() < 1e-9,
                    "{d} {v} {js} {count}"
                );
                assert!((moment(2.0) - v).abs() < 1e-7, "{d} {v} {js} {count}: {}", moment(2.0));
                for &(k, p) in &law {
                    let published = count as i64 + k;
                    assert!(p > 0.0 && (published == 0 || published > js as i64) && k.unsigned_abs() <= d);
                }
                // The logarithm of the odds is a quadratic function of the change: third differences over four changes vanish.
                for four in law.windows(4) {
                    let divided = |from: usize| -> f64 {
                        let [(a, p), (b, q), (c, r)] = [four[from], four[from + 1], four[from + 2]];
                        let slope = |(x, p): (i64, f64), (y, q): (i64, f64)| {
                            (libm::log(q) - libm::log(p)) / (y - x) as f64
                        };
                        (slope((b, q), (c, r)) - slope((a, p), (b, q))) / (c - a) as f64
                    };
                    assert!((divided(0) - divided(1)).abs() < 1e-6 * (1.0 + divided(0).abs()), "{law:?}");
                }
            }
        }
        assert!(made > 60, "{made}");
    }

    /// Keys that are uniform make changes of the law.
    #[test]
    fn changes_have_the_law_of_their_row() {
        let mut rng = test_stream(822);
        let table = PerturbationTable::new(3, 1.5, 1, 0.0).unwrap();
        for count in 1..7 {
            let mut seen = std::collections::HashMap::new();
            (0..40_000).for_each(|_| *seen.entry(table.publish(count, rng.next_u64())).or_insert(0u64) += 1);
            let bins =
                table.law(count).map(|(k, p)| (seen.get(&(count as i64 + k)).copied().unwrap_or(0), p));
            assert_frequencies(bins, 40_000);
        }
        assert!((0..1000).all(|_| table.publish(0, rng.next_u64()) == 0));
    }

    /// Whatever variance some law has, it is found: for changes up to 100, near the ends, too.
    #[test]
    fn every_variance_within_has_a_law() {
        let mut rng = test_stream(826);
        for _ in 0..4_000 {
            let d = [1, 2, 5, 20, 100][below(&mut rng, 5) as usize];
            let js = below(&mut rng, d as u64) as i64;
            let count = 1 + below(&mut rng, (d + js + 1) as u64) as i64;
            let allowed = |change: &i64| count + change == 0 || count + change > js;
            let changes: Vec<i64> = (-d.min(count)..=d).filter(allowed).collect();
            let (least, most) = variances(&changes);
            let ends = [1e-4, 1e-2, 0.5][below(&mut rng, 3) as usize] * open01(&mut rng);
            let part = if below(&mut rng, 2) == 0 { ends } else { 1.0 - ends };
            let variance = least as f64 + part * (most - least) as f64;
            if least < most && variance > least as f64 + 1e-8 && variance < most as f64 - 1e-8 {
                assert!(of_largest_entropy(&changes, variance).is_some(), "{changes:?} {variance}");
            }
        }
    }

    #[test]
    fn what_no_law_has_is_refused() {
        let refused = |d, v, js| PerturbationTable::new(d, v, js, 0.0).unwrap_err().to_string();
        assert!(refused(0, 1.0, 0).contains('d') && refused(2, 1.0, 2).contains("js"));
        assert!(refused(2, f64::NAN, 0).contains('v') && refused(2, -1.0, 0).contains('v'));
        // Of a count of 1 the changes -1, 1 and 2 have variances from 1 to 2.
        assert!(refused(9, 81.0, 0).contains("a count of 1"));
        assert!(refused(2, 0.9, 1).contains("a count of 1") && refused(2, 2.0, 1).contains("below 2.0000"));
    }
}
