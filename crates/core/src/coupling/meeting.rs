//! L-lag coupling: meeting times, and the bound on the distance to the target that they give.
//!
//! Biswas, Jacob, Vanetti (2019), Estimating convergence of Markov chains with L-lag couplings. The driver knows
//! the kernel by its trait alone.

use crate::chain::{Chain, FEW, visit_all};
use crate::diagnostics::Estimate;
use crate::error::{Error, Result};
use crate::kernel::{Coupled, LANES, Pairs, Start};
use crate::rng::{Rng, Stream, below};
use std::collections::BTreeMap;

/// The outcome of one coupled pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Meeting {
    /// `τ = inf{t > L : X_t = Y_{t-L}}`; `None` if the pair was cut short before it met (censored).
    pub tau: Option<u64>,
    /// The lag L.
    pub lag: u64,
    /// Kernel steps of both chains together.
    pub steps: u64,
    /// The number of these steps that changed the state.
    pub moves: u64,
}

/// Runs X alone for `lag` steps, then (X_t, Y_{t-L}) by the coupled kernel until they are equal.
///
/// - `start`: both chains begin at independent draws of [`crate::kernel::Dispersed::start`], from `rngs.0`; the moves come from
///   `rngs.1`.
/// - `lag` >= 1; `max_steps`: the pair is cut short when X has made this many steps.
///
/// Errors: a lag of 0; no start.
pub fn meet<K, R>(
    kernel: &K,
    lag: u64,
    max_steps: u64,
    start: Start,
    rngs: (&mut R, &mut R),
) -> Result<Meeting>
where
    K: Coupled,
    K::Value: PartialEq,
    R: Rng,
{
    let (starts, rng) = rngs;
    if lag == 0 {
        return Err(Error::parameter("lag", lag, "at least 1"));
    }
    let states = (kernel.start(start, starts)?, kernel.start(start, starts)?);
    Ok(couple(kernel, states, lag, max_steps, rng))
}

/// Couples two chains as [`meet`] does, from two states, which are independent draws of one law.
pub fn couple<K, R>(
    kernel: &K,
    (x, y): (K::State, K::State),
    lag: u64,
    max_steps: u64,
    rng: &mut R,
) -> Meeting
where
    K: Coupled,
    K::Value: PartialEq,
    R: Rng,
{
    let ahead = lag.min(max_steps);
    let mut x = Chain::new(x, rng);
    x.visit(kernel, 0, &[ahead], |_| ());
    let mut pair = Pair::new(x, y, ahead);
    pair.run(kernel, max_steps);
    pair.meeting(kernel, lag)
}

/// [`meet`] with each of several pairs of streams, side by side where the kernel can: results in their order, each as alone.
pub fn meet_all<K>(
    kernel: &K,
    lag: u64,
    max_steps: u64,
    start: Start,
    streams: Vec<(Stream, Stream)>,
) -> Vec<Result<Meeting>>
where
    K: Coupled,
    K::Value: PartialEq,
{
    let lanes = if lag == 0 || streams.len() < FEW { None } else { kernel.pairs() };
    let Some(mut lanes) = lanes else {
        let one = |(mut starts, mut moves)| meet(kernel, lag, max_steps, start, (&mut starts, &mut moves));
        return streams.into_iter().map(one).collect();
    };
    let (mut x, mut y) = (Vec::new(), Vec::new());
    let mut started = Vec::new();
    for (mut starts, moves) in streams {
        let states =
            kernel.start(start, &mut starts).and_then(|x| Ok((x, kernel.start(start, &mut starts)?)));
        started.push(states.map(|states| {
            x.push(Chain::new(states.0, moves));
            y.push(states.1);
        }));
    }
    let ahead = lag.min(max_steps);
    let pairs = visit_all(kernel, x, &[ahead], |_, _| ()).into_iter().zip(y);
    let pairs = pairs.map(|(x, y)| Pair::new(x, y, ahead)).collect();
    let mut met = together(kernel, &mut *lanes, pairs, max_steps).into_iter();
    let mut next = || met.next().expect("as many as have started").meeting(kernel, lag);
    started.into_iter().map(|started| started.map(|()| next())).collect()
}

/// A pair on its way, from the lag on.
struct Pair<S, R> {
    x: S,
    y: S,
    rng: R,
    /// Steps of X.
    t: u64,
    moves: u64,
}

impl<S, R: Rng> Pair<S, R> {
    /// `ahead`: steps that X has made.
    fn new(x: Chain<S, R>, y: S, ahead: u64) -> Self {
        Self { x: x.state, y, rng: x.rng, t: ahead, moves: x.moves }
    }

    fn has_met<K: Coupled<State = S, Value: PartialEq>>(&self, kernel: &K) -> bool {
        kernel.position(&self.x) == kernel.position(&self.y)
    }

    /// Runs the pair until it meets, after one step at least, or X has made `max_steps`.
    fn run<K: Coupled<State = S, Value: PartialEq>>(&mut self, kernel: &K, max_steps: u64) {
        let (mut a, mut b) = (kernel.noise(), kernel.noise());
        while self.t < max_steps {
            kernel.draw_pair(&mut self.rng, (&self.x, &self.y), (&mut a, &mut b));
            let moved = [kernel.apply(&mut self.x, &a), kernel.apply(&mut self.y, &b)];
            self.moves += moved.map(u64::from).iter().sum::<u64>();
            self.t += 1;
            if self.has_met(kernel) {
                break;
            }
        }
    }

    /// What has become of it: states that are equal by chance at the lag have not met.
    fn meeting<K: Coupled<State = S, Value: PartialEq>>(&self, kernel: &K, lag: u64) -> Meeting {
        let tau = (self.t > lag && self.has_met(kernel)).then_some(self.t);
        Meeting { tau, lag, steps: 2 * self.t - lag.min(self.t), moves: self.moves }
    }
}

/// Runs pairs to their ends in lanes: when one has met, the next takes its place.
fn together<K: Coupled<Value: PartialEq>>(
    kernel: &K,
    lanes: &mut (dyn Pairs<K> + '_),
    mut pairs: Vec<Pair<K::State, Stream>>,
    max_steps: u64,
) -> Vec<Pair<K::State, Stream>> {
    let mut waiting = 0..pairs.len();
    let mut inside = [None; LANES];
    loop {
        for (lane, place) in inside.iter_mut().enumerate() {
            while place.is_none()
                && let Some(next) = waiting.next()
            {
                let pair = &mut pairs[next];
                if pair.t < max_steps && lanes.load(lane, (&pair.x, &pair.y), &pair.rng) {
                    *place = Some(next);
                } else {
                    pair.run(kernel, max_steps);
                }
            }
        }
        let running = || inside.iter().flatten();
        // The last few are faster alone.
        let few = running().count() < FEW;
        let left = running().map(|&pair| max_steps - pairs[pair].t).min();
        let Some(left) = left else { return pairs };
        let made = if few { 0 } else { lanes.run(left) };
        for (lane, place) in inside.iter_mut().enumerate() {
            let Some(number) = *place else {
                if lanes.has_left(lane) {
                    lanes.take(lane);
                }
                continue;
            };
            let pair = &mut pairs[number];
            pair.t += made;
            let met = made > 0 && lanes.has_met(lane);
            if few || met || pair.t == max_steps || lanes.has_left(lane) {
                let (states, rng, moves) = lanes.take(lane);
                (pair.x, pair.y) = states;
                pair.rng = rng;
                pair.moves += moves;
                *place = None;
                if !met {
                    pair.run(kernel, max_steps);
                }
            }
        }
    }
}

/// `max(0, ceil((τ - L - t)/L))`: its mean bounds the total variation distance of the chain's law after `t` steps
/// to its target (Biswas, Jacob, Vanetti 2019, Thm. 2.5).
///
/// # Examples
///
/// ```
/// use congenial_core::coupling::bound_term;
///
/// // A pair with lag 50 that met 120 steps after the lag.
/// assert_eq!([0, 69, 70, 119, 120].map(|t| bound_term(120, 50, t)), [3, 2, 1, 1, 0]);
/// ```
pub fn bound_term(beyond: u64, lag: u64, t: u64) -> u64 {
    beyond.saturating_sub(t).div_ceil(lag)
}

/// Meeting times of many pairs of one lag: how many pairs met `τ - L` steps after the lag.
///
/// # Examples
///
/// ```
/// use congenial_core::coupling::{MeetingTimes, meet};
/// use congenial_core::invariant::Linear;
/// use congenial_core::kernel::{LatticeGibbs, Start};
/// use congenial_core::law::DoubleGeometric;
/// use congenial_core::rng::{Role, TaskKey, stream};
///
/// // A 3 x 3 table of which both margins are kept.
/// let kernel = LatticeGibbs::new(&Linear::margins(3, 3)?, None, DoubleGeometric::new(1.0)?)?;
/// let mut times = MeetingTimes::new(50);
/// for pair in 0..200 {
///     let rng = |role| stream(TaskKey { seed: 1, cell: 0, replicate: pair, role });
///     let rngs = (&mut rng(Role::Start), &mut rng(Role::Moves));
///     times.push(meet(&kernel, 50, 100_000, Start::default(), rngs)?.tau);
/// }
/// assert!(times.is_bounded());
/// // After 500 steps the chain is close to its law, in total variation.
/// assert!(times.bound(500).mean < 0.01);
/// # Ok::<(), congenial_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MeetingTimes {
    lag: u64,
    /// By `τ - L`, the number of pairs that met.
    met: BTreeMap<u64, u64>,
    censored: u64,
}

impl MeetingTimes {
    /// Holds no pairs yet; `lag` >= 1.
    pub fn new(lag: u64) -> Self {
        Self { lag: lag.max(1), met: BTreeMap::new(), censored: 0 }
    }

    /// The lag L of all pairs.
    pub fn lag(&self) -> u64 {
        self.lag
    }

    /// Adds a pair; `None`: it was cut short.
    pub fn push(&mut self, tau: Option<u64>) {
        match tau {
            Some(tau) => *self.met.entry(tau.saturating_sub(self.lag)).or_default() += 1,
            None => self.censored += 1,
        }
    }

    /// Adds the pairs of another, of the same lag.
    pub fn merge(&mut self, other: Self) {
        other.met.into_iter().for_each(|(beyond, pairs)| *self.met.entry(beyond).or_default() += pairs);
        self.censored += other.censored;
    }

    /// The number of pairs that met.
    pub fn met(&self) -> u64 {
        self.met.values().sum()
    }

    /// The number of pairs that were cut short.
    pub fn censored(&self) -> u64 {
        self.censored
    }

    /// Whether there is a bound: every pair met.
    pub fn is_bounded(&self) -> bool {
        self.censored == 0 && !self.met.is_empty()
    }

    /// The largest `τ - L` of a pair that met.
    pub fn longest(&self) -> Option<u64> {
        self.met.keys().next_back().copied()
    }

    /// `τ - L` of the pair with this number when they are sorted, from 0; pairs that were cut short come last and have none.
    pub fn sorted(&self, number: u64) -> Option<u64> {
        let mut before = 0;
        self.met.iter().find_map(|(&beyond, &pairs)| {
            before += pairs;
            (number < before).then_some(beyond)
        })
    }

    /// The mean of the bound after `t` steps over the pairs that met, with its standard error. It may exceed 1, where
    /// it says nothing; where a pair was cut short it is no bound.
    pub fn bound(&self, t: u64) -> Estimate {
        let terms =
            || self.met.iter().map(|(&beyond, &pairs)| (bound_term(beyond, self.lag, t), pairs as f64));
        let n = self.met() as f64;
        let mean = terms().map(|(term, pairs)| term as f64 * pairs).sum::<f64>() / n;
        let squares: f64 =
            terms().map(|(term, pairs)| pairs * (term as f64 - mean) * (term as f64 - mean)).sum();
        // A single pair says nothing of its error.
        let deviation = if n < 2.0 { f64::NAN } else { libm::sqrt(squares / (n - 1.0)) };
        Estimate { mean, standard_error: deviation / libm::sqrt(n) }
    }

    /// The mean of the bound after `t` steps.
    pub fn mean_bound(&self, t: u64) -> f64 {
        // Pairs that have met add nothing: only those beyond t count.
        let beyond = self.met.range(t.saturating_add(1)..);
        let sum: u64 =
            beyond.map(|(&beyond, &pairs)| bound_term(beyond, self.lag, t).saturating_mul(pairs)).sum();
        sum as f64 / self.met() as f64
    }

    /// The number of pairs that are still apart `t` steps after the lag, those that were cut short included.
    pub fn apart(&self, t: u64) -> u64 {
        self.met.range(t.saturating_add(1)..).map(|(_, pairs)| pairs).sum::<u64>() + self.censored
    }

    /// The first `t` at which the bound is at most `level`.
    pub fn first_below(&self, level: f64) -> u64 {
        let (mut above, mut below) = (0, self.longest().unwrap_or(0));
        if self.met.is_empty() || self.mean_bound(0) <= level {
            return 0;
        }
        // The bound falls with t: bisection.
        while below - above > 1 {
            let middle = above + (below - above) / 2;
            if self.mean_bound(middle) <= level {
                below = middle;
            } else {
                above = middle;
            }
        }
        below
    }

    /// `τ - L` of the pair in the middle; `None` if it was cut short.
    pub fn median(&self) -> Option<u64> {
        self.sorted((self.met() + self.censored) / 2)
    }

    /// 95 % intervals of statistics by the bootstrap over pairs (Efron 1979): the 2.5 % and 97.5 % quantiles of each over 1,000
    /// resamples. `statistics` gives as many for every sample; those of fewer than 2 pairs have no interval.
    pub fn intervals<R: Rng + ?Sized>(
        &self,
        rng: &mut R,
        statistics: impl Fn(&Self) -> Vec<f64>,
    ) -> Vec<Option<(f64, f64)>> {
        let mut pairs: Vec<Option<u64>> = Vec::new();
        for (&beyond, &n) in &self.met {
            pairs.extend(std::iter::repeat_n(Some(beyond), n as usize));
        }
        pairs.extend(std::iter::repeat_n(None, self.censored as usize));
        let n = pairs.len();
        if n < 2 {
            return vec![None; statistics(self).len()];
        }
        let mut all: Vec<Vec<f64>> = Vec::new();
        for _ in 0..RESAMPLES {
            let mut counts = vec![0u64; n];
            (0..n).for_each(|_| counts[below(rng, n as u64) as usize] += 1);
            let mut sample = Self::new(self.lag);
            for (pair, &count) in pairs.iter().zip(&counts).filter(|(_, count)| **count > 0) {
                match pair {
                    Some(beyond) => *sample.met.entry(*beyond).or_default() += count,
                    None => sample.censored += count,
                }
            }
            for (i, value) in statistics(&sample).into_iter().enumerate() {
                if all.len() <= i {
                    all.push(Vec::with_capacity(RESAMPLES));
                }
                all[i].push(value);
            }
        }
        let interval = |mut values: Vec<f64>| {
            values.sort_by(f64::total_cmp);
            let at = |p: f64| values[(p * RESAMPLES as f64) as usize];
            Some((at(0.025), at(0.975)))
        };
        all.into_iter().map(interval).collect()
    }
}

/// Resamples of the bootstrap.
pub(super) const RESAMPLES: usize = 1000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invariant::Linear;
    use crate::kernel::LatticeMetropolis;
    use crate::lattice::BasisKind;
    use crate::law::{DoubleGeometric, EuclideanLaplace, LatticeLaw};
    use crate::testing::test_stream;

    /// The plain reference of lanes: every pair alone. Pairs that meet, that are cut short, that begin beyond what lanes hold or get
    /// there, and pairs far apart, of which no table knows.
    #[test]
    fn pairs_side_by_side_are_as_alone() {
        fn agree<L: LatticeLaw>(
            law: L,
            invariant: &Linear,
            a: f64,
            lag: u64,
            max_steps: u64,
        ) -> (usize, usize) {
            let kernel = LatticeMetropolis::new(invariant, law, a, BasisKind::Smith).unwrap();
            let streams = |pair| (test_stream(1000 + pair), test_stream(2000 + pair));
            let pairs: Vec<u64> = (0..100).collect();
            let start = Start::OverDispersed;
            let all =
                meet_all(&kernel, lag, max_steps, start, pairs.iter().map(|&pair| streams(pair)).collect());
            let mut ends = (0, 0);
            for (&pair, together) in pairs.iter().zip(all) {
                let (mut starts, mut moves) = streams(pair);
                let alone = meet(&kernel, lag, max_steps, start, (&mut starts, &mut moves)).unwrap();
                assert_eq!(together.unwrap(), alone);
                *if alone.tau.is_some() { &mut ends.0 } else { &mut ends.1 } += 1;
            }
            ends
        }
        let table = Linear::margins(3, 4).unwrap();
        let rows = vec![vec![(0, 1), (1, 1), (2, 1)], vec![(3, 2), (4, 3), (5, 1)], vec![(7, 1)]];
        let two = Linear::from_rows(8, rows).unwrap();
        let mut ends = (0, 0);
        for (invariant, lag, max_steps) in
            [(&table, 30, 3000), (&two, 1, 2000), (&table, 50, 60), (&two, 90, 80), (&table, 10, 400)]
        {
            for scale in [1.5, 60.0, 2500.0] {
                let a = libm::exp(-1.0 / f64::sqrt(scale));
                let l1 = agree(DoubleGeometric::new(scale).unwrap(), invariant, a, lag, max_steps);
                let l2 = agree(EuclideanLaplace::new(scale).unwrap(), invariant, a, lag, max_steps);
                ends = (ends.0 + l1.0 + l2.0, ends.1 + l1.1 + l2.1);
            }
        }
        assert!(ends.0 > 300 && ends.1 > 300, "{ends:?}");
    }

    #[test]
    fn bounds_by_hand() {
        // ceil((15 - 10 - t)/10) = 1 for t < 5, ceil((32 - 10 - t)/10) = 3, 2 from t = 2, 1 from 12, 0 from 22.
        let mut times = MeetingTimes::new(10);
        times.push(Some(32));
        times.push(Some(15));
        let mean = |t| times.bound(t).mean;
        assert_eq!([mean(0), mean(2), mean(5), mean(12), mean(22)], [2.0, 1.5, 1.0, 0.5, 0.0]);
        assert_eq!(times.bound(0).standard_error, 1.0);
        assert_eq!([times.first_below(1.0), times.first_below(0.1)], [5, 22]);
        assert_eq!(times.first_below(2.0), 0);
        assert_eq!([times.sorted(0), times.sorted(1), times.sorted(2)], [Some(5), Some(22), None]);
        assert_eq!([times.apart(4), times.apart(5), times.apart(22)], [2, 1, 0]);
        // Of two pairs a quarter of the resamples has the fast one twice, a quarter the slow one.
        let mut rng = crate::testing::test_stream(1);
        assert_eq!(times.intervals(&mut rng, |sample| vec![sample.bound(0).mean]), [Some((1.0, 3.0))]);
        assert!(times.is_bounded());
        times.push(None);
        assert!(!times.is_bounded() && (times.met(), times.longest()) == (2, Some(22)));
    }
}
