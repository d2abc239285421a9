//! Sets of releases that tell two tables apart, and what they prove.

use super::claim::Claim;
use super::score::{Columns, Score};
use crate::diagnostics::clopper_pearson;
use crate::rng::normal_quantile;

/// A set of releases: those with a score of so much and more or, the other way round, of so much and less.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    score: Score,
    /// Where the set begins.
    limit: f64,
    /// Whether it holds what is likelier of the second table.
    reversed: bool,
}

/// What an event proves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Found {
    /// Releases in the event: of the table of which it is likelier, and of the other.
    pub hits: [u64; 2],
    /// Releases of each table.
    pub draws: u64,
    /// The delta that is meant.
    pub delta: f64,
    /// The epsilon that is stated at this delta; infinite where none is.
    pub stated: f64,
    /// The least epsilon at this delta, as far as these draws prove it; 0 where they prove nothing.
    pub at_least: f64,
}

impl Found {
    /// Whether more is paid than is stated.
    pub fn exceeds(&self) -> bool {
        self.at_least > self.stated
    }
}

/// Limits of which the best is chosen.
const LIMITS: usize = 512;

/// Chooses the event that says most against a claim, by what other draws would prove at a level if their shares were these: by Wilson's
/// limits, which are quick. With it that as a share of what is stated. `None`: no scores, or no
/// draws of one table.
pub fn choose(scores: Vec<Score>, draws: [&Columns; 2], claim: &Claim, level: f64) -> Option<(f64, Event)> {
    let z = -normal_quantile(0.5 * level);
    let drawn = draws.map(|draws| draws[0].len() as f64);
    if drawn.contains(&0.0) {
        return None;
    }
    let mut best: Option<(f64, usize, f64, bool)> = None;
    for (number, score) in scores.iter().enumerate() {
        let values = |of: usize| (0..draws[of][0].len()).map(move |draw| (score.of(draws[of], draw), of));
        let mut all: Vec<(f64, usize)> = values(0).chain(values(1)).collect();
        all.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        for reversed in [true, false] {
            let mut hits = [0u64; 2];
            let mut since = all.len();
            for run in all.chunk_by(|a, b| a.0 == b.0) {
                run.iter().for_each(|&(_, of)| hits[of] += 1);
                since += run.len();
                if since < all.len() / LIMITS {
                    continue;
                }
                since = 0;
                let (of, other) = if reversed { (1, 0) } else { (0, 1) };
                let share = |of: usize| hits[of] as f64 / drawn[of];
                let low = wilson(share(of), drawn[of], -z);
                let high = wilson(share(other), drawn[other], z);
                let share = claim.against(low, high).share();
                if best.is_none_or(|(old, ..)| share > old) {
                    best = Some((share, number, run[0].0, reversed));
                }
            }
            all.reverse();
        }
    }
    let (share, number, limit, reversed) = best?;
    let score = scores.into_iter().nth(number).expect("it was chosen");
    Some((share, Event { score, limit, reversed }))
}

/// Wilson's limit of a share of n draws: the lower one for z < 0.
fn wilson(share: f64, n: f64, z: f64) -> f64 {
    let square = z * z / n;
    let off = z * (share * (1.0 - share) / n + 0.25 * square / n).sqrt();
    ((share + 0.5 * square + off) / (1.0 + square)).clamp(0.0, 1.0)
}

impl Event {
    /// The number of draws of one table that are in the set.
    pub fn count(&self, draws: &Columns) -> u64 {
        let holds = |score: f64| if self.reversed { score <= self.limit } else { score >= self.limit };
        (0..draws[0].len()).filter(|&draw| holds(self.score.of(draws, draw))).count() as u64
    }

    /// What the event proves against a claim, on draws that had no part in choosing it: as many of both tables. A draw that
    /// releases nothing is one that is not in the set.
    ///
    /// - `counts`: how many of them are in the set ([`Event::count`]).
    /// - `level`: the probability at most of proving more than is paid.
    pub fn judge(&self, counts: [u64; 2], draws: u64, claim: &Claim, level: f64) -> Found {
        let [first, second] = counts;
        let hits = if self.reversed { [second, first] } else { [first, second] };
        let low = clopper_pearson(hits[0], draws, 0.5 * level).0;
        let high = clopper_pearson(hits[1], draws, 0.5 * level).1;
        let proof = claim.against(low, high);
        Found { hits, draws, delta: proof.delta, stated: proof.stated, at_least: proof.at_least.max(0.0) }
    }
}
