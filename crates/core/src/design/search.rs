//! The best split: cuts bound what any split reaches, and branching closes what the precisions of shares leave open.

use super::answers::{Answers, OfQuery, Variance, of_queries};
use crate::error::{Error, Result};
use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, NonnegativeConeT, SolverStatus};
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// What is to be small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Goal {
    /// The mean over the queries of the mean over their answers of the variance.
    Mean,
    /// The largest variance of any answer.
    Largest,
}

impl Goal {
    /// All goals.
    pub const ALL: [Self; 2] = [Self::Mean, Self::Largest];

    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Largest => "largest",
        }
    }

    /// The goal of a name. Errors: another name.
    pub fn named(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|goal| goal.name() == name);
        found.ok_or_else(|| Error::parameter("goal", format!("`{name}`"), "mean or largest"))
    }

    /// What is to be small, of the variances of some queries.
    pub fn of(self, queries: &[OfQuery]) -> f64 {
        match self {
            Self::Mean => queries.iter().map(|query| query.mean.value).sum::<f64>() / queries.len() as f64,
            Self::Largest => queries.iter().map(|query| query.largest.value).fold(0.0, f64::max),
        }
    }
}

/// The best split that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Best {
    /// The shares of the measurements; they sum to 1.
    pub shares: Vec<f64>,
    /// What was to be small, in counts squared.
    pub variance: f64,
    /// No split with shares of [`LEAST`] and more has less.
    pub at_least: f64,
}

/// The least share of a measurement.
pub const LEAST: f64 = 1e-3;
/// How far above its bound the best may be, relatively, for the search to end.
const CLOSE: f64 = 1e-4;
/// Splits that are computed at most, and numbers of them ([`Answers::work`]).
const COMPUTED: usize = 20_000;
/// See [`COMPUTED`].
const NUMBERS: usize = 400_000_000;
/// Regions that are looked at at most.
const REGIONS: usize = 20_000;
/// Tangents are taken over so small a part of a share.
const STEP: f64 = 1e-5;
/// Shares that move by less have found a local optimum.
const NEAR: f64 = 1e-4;
/// A cut binds where it allows no more than so many times what all together do.
const BINDING: f64 = 1.1;
/// Cuts of one region before it is halved.
const CUTS: usize = 60;

/// The split of a budget whose least-squares estimates have the least variance.
///
/// `precision`: 1 / variance of the noise that a share in (0, 1] of the budget buys; increasing, and convex. The variance found is within
/// 1e-4 of the least, relatively, or what 20,000 splits led to, on large data fewer; [`Best::at_least`] tells how far it may be off. It is
/// no worse than that of equal shares, and of `starts`: shares of all measurements that sum to 1.
///
/// - A cut is a linear bound of `1/v` in the precisions, from the derivative at a split; it holds at every split.
/// - In a region `lo <= s <= hi` of shares every precision lies below its chord, so that the largest `1/v` under the cuts is a linear
///   program. Its dual weights prove a bound of the region, and the split at which its optimum lies is a candidate.
/// - Where precisions are proportional to shares chords are exact, and one region is about all. Else the region is cut in two at the share
///   whose chord is farthest off, and the region with the best bound is next. Tangents in the place of chords lead from what is found to a
///   local optimum.
///
/// # Examples
///
/// ```
/// use congenial_core::design::{Goal, TreeAnswers, best};
/// use congenial_core::invariant::Hierarchy;
///
/// // A root and two leaves. Gaussian noise: the precision is proportional to the share.
/// let tree = Hierarchy::from_parents(&[0, 0, 0])?;
/// let leaves = TreeAnswers::new(&tree, vec![vec![vec![1], vec![2]]]);
/// let best = best(&leaves, Goal::Mean, &[], |share| Ok(share))?;
/// // With shares p of the root and q = 1 - p of the leaves a leaf has the variance (p + q) / (q (2 p + q)).
/// assert!((best.shares[1] - 1.0).abs() < 2e-3 && (best.variance - 1.0).abs() < 1e-3);
/// # Ok::<(), congenial_core::Error>(())
/// ```
///
/// Errors: those of `precision` at the least and at the largest share, or a precision that is not finite and > 0; answers without noise;
/// no measurement, or more than 500.
pub fn best(
    answers: &dyn Answers,
    goal: Goal,
    starts: &[Vec<f64>],
    precision: impl Fn(f64) -> Result<f64>,
) -> Result<Best> {
    let measured = answers.measured();
    if !(1..=500).contains(&measured) {
        return Err(Error::parameter("measurements", measured, "1 to 500"));
    }
    for share in [LEAST, most(measured)] {
        let bought = precision(share)?;
        if !(bought.is_finite() && bought > 0.0) {
            return Err(Error::parameter("precision of the noise", bought, "a finite number > 0"));
        }
    }
    // Between them there are numbers, too.
    let precision = |share: f64| precision(share).unwrap_or(f64::NAN);
    let most = (NUMBERS / answers.work().max(1)).clamp(200, COMPUTED);
    let mut search = Search { answers, goal, precision, cuts: Vec::new(), best: None, computed: 0, most };
    let even = vec![1.0 / measured as f64; measured];
    if search.candidate(&even)? == 0.0 {
        // Why it has none.
        let why = of_queries(answers, &vec![1.0 / (search.precision)(even[0]); measured]).err();
        return Err(why.unwrap_or_else(|| Error::parameter("queries", "no variances", "answers with noise")));
    }
    for start in starts.iter().filter(|start| start.len() == measured) {
        // Each share is the least one at least.
        let left = 1.0 - LEAST * measured as f64;
        let is_within = start.iter().all(|share| *share >= LEAST * (1.0 - 1e-9));
        let start = start.iter().map(|share| if is_within { *share } else { LEAST + left * share });
        search.candidate(&start.collect::<Vec<_>>())?;
    }
    search.run()
}

/// The largest share of one of so many measurements.
fn most(measured: usize) -> f64 {
    1.0 - LEAST * (measured - 1) as f64
}

/// A bound of the inverse variance by precisions.
type Cut = Vec<f64>;

struct Search<'a, P> {
    answers: &'a dyn Answers,
    goal: Goal,
    precision: P,
    cuts: Vec<Cut>,
    /// The best split with its inverse variance.
    best: Option<(Vec<f64>, f64)>,
    /// Splits that were computed, and that are at most.
    computed: usize,
    most: usize,
}

/// Splits with shares between bounds.
#[derive(Clone)]
struct Region {
    lo: Vec<f64>,
    hi: Vec<f64>,
    /// No split of it has a larger inverse variance.
    bound: f64,
    /// The cuts that bind it, by number.
    cuts: Vec<usize>,
}

impl PartialEq for Region {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Region {}

impl PartialOrd for Region {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Region {
    fn cmp(&self, other: &Self) -> Ordering {
        self.bound.total_cmp(&other.bound)
    }
}

impl Region {
    /// All splits.
    fn whole(measured: usize, cuts: Vec<usize>) -> Self {
        Self { lo: vec![LEAST; measured], hi: vec![most(measured); measured], bound: f64::INFINITY, cuts }
    }

    /// The region without splits that do not add up to 1. `None`: there is no other in it.
    fn tightened(mut self) -> Option<Self> {
        let (least, most): (f64, f64) = (self.lo.iter().sum(), self.hi.iter().sum());
        for (lo, hi) in self.lo.iter_mut().zip(&mut self.hi) {
            let (own_lo, own_hi) = (*lo, *hi);
            *hi = own_hi.min(1.0 - (least - own_lo));
            *lo = own_lo.max(1.0 - (most - own_hi));
            if *lo > *hi {
                return None;
            }
        }
        Some(self)
    }
}

/// Straight lines above the precisions of the shares of a region.
struct Chords {
    lo: Vec<f64>,
    low: Vec<f64>,
    slopes: Vec<f64>,
    /// Whether precisions are such lines themselves.
    are_exact: bool,
}

impl Chords {
    fn new(region: &Region, precision: &impl Fn(f64) -> f64) -> Self {
        let ends = region.lo.iter().zip(&region.hi);
        let (mut slopes, mut are_exact) = (Vec::new(), true);
        for (&lo, &hi) in ends {
            let [low, middle, high] = [lo, 0.5 * (lo + hi), hi].map(precision);
            slopes.push(if hi > lo { (high - low) / (hi - lo) } else { 0.0 });
            are_exact &= (0.5 * (low + high) - middle).abs() <= 1e-12 * high;
        }
        let low = region.lo.iter().map(|&lo| precision(lo)).collect();
        Self { lo: region.lo.clone(), low, slopes, are_exact }
    }

    /// Those below the precisions, which meet them at some shares.
    fn tangents(shares: &[f64], precision: &impl Fn(f64) -> f64) -> Self {
        let slope = |&s: &f64| (precision(s * (1.0 + STEP)) - precision(s * (1.0 - STEP))) / (2.0 * STEP * s);
        Self {
            lo: shares.to_vec(),
            low: shares.iter().map(|&share| precision(share)).collect(),
            slopes: shares.iter().map(slope).collect(),
            are_exact: false,
        }
    }

    fn at(&self, k: usize, share: f64) -> f64 {
        self.low[k] + self.slopes[k] * (share - self.lo[k])
    }
}

impl<P: Fn(f64) -> f64> Search<'_, P> {
    fn run(&mut self) -> Result<Best> {
        let m = self.answers.measured();
        self.improve(0)?;
        let mut regions = BinaryHeap::from([Region::whole(m, (0..self.cuts.len()).collect())]);
        let mut bound = f64::INFINITY;
        for seen in 0.. {
            let Some(region) = regions.pop() else {
                // What was left out of the search is no better than so much.
                bound = 0.0;
                break;
            };
            bound = bound.min(region.bound);
            if bound <= self.reached() * (1.0 + CLOSE) || self.computed >= self.most || seen >= REGIONS {
                break;
            }
            let (cuts, reached) = (self.cuts.len(), self.reached());
            let halved = self.bounded(&region)?;
            if self.reached() > reached {
                self.improve(cuts)?;
            }
            if let Some((at, k, half)) = halved {
                let (mut below, mut above) = (half.clone(), half);
                (below.hi[k], above.lo[k]) = (at, at);
                regions.extend([below, above].into_iter().filter_map(Region::tightened));
            }
        }
        let (shares, reached) = self.best.take().expect("the even split was tried");
        Ok(Best { shares, variance: 1.0 / reached, at_least: 1.0 / bound.max(reached * (1.0 + CLOSE)) })
    }

    fn reached(&self) -> f64 {
        self.best.as_ref().map_or(0.0, |(_, reached)| *reached)
    }

    /// Bounds a region by cuts until they hold at their own optimum. Then where to cut the region in two, at which share of which
    /// measurement, and the region with its bound. `None`: nothing better is left in it.
    fn bounded(&mut self, region: &Region) -> Result<Option<(f64, usize, Region)>> {
        let m = self.answers.measured();
        let chords = Chords::new(region, &self.precision);
        let mut found = region.clone();
        let mut shares: Vec<f64> = (0..m).map(|k| 0.5 * (region.lo[k] + region.hi[k])).collect();
        let mut weights = vec![1.0; m];
        for _ in 0..CUTS {
            let Some((left, at)) = self.largest(&found, &chords) else { break };
            found.bound = found.bound.min(left);
            if found.bound <= self.reached() * (1.0 + CLOSE) {
                return Ok(None);
            }
            shares = at;
            let (before, reached) = (self.cuts.len(), self.candidate(&shares)?);
            let inverse = match chords.are_exact {
                true => reached,
                false => {
                    let at: Vec<f64> = shares.iter().enumerate().map(|(k, &s)| chords.at(k, s)).collect();
                    self.cut(&at)?
                }
            };
            if self.cuts.len() == before {
                break;
            }
            weights.clone_from(self.cuts.last().expect("one was made"));
            if left <= inverse * (1.0 + 0.1 * CLOSE) || self.computed >= self.most {
                break;
            }
            found.cuts.extend(before..self.cuts.len());
        }
        // The halves take the cuts that bind here.
        let at: Vec<f64> = shares.iter().enumerate().map(|(k, &s)| chords.at(k, s)).collect();
        let value = |cut: &usize| -> f64 { self.cuts[*cut].iter().zip(&at).map(|(c, p)| c * p).sum() };
        let values: Vec<f64> = found.cuts.iter().map(value).collect();
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let mut values = values.into_iter();
        found.cuts.retain(|_| values.next().is_some_and(|value| value <= BINDING * least));
        let off = |k: usize| weights[k] * (at[k] - (self.precision)(shares[k]));
        let worst = (0..m).max_by(|&a, &b| off(a).total_cmp(&off(b))).expect("there is a measurement");
        let width = region.hi[worst] - region.lo[worst];
        let at = shares[worst].clamp(region.lo[worst] + 0.1 * width, region.hi[worst] - 0.1 * width);
        Ok(Some((at, worst, found)))
    }

    /// Goes from the best split to a local optimum, by tangents in the place of chords: they lie below the precisions, so that what is
    /// better under them is better. Shares move by so much at most at a time: by twice as much after a step that led to something better,
    /// else by half. `cuts`: the first of those that the search goes by; those of the best are among them.
    fn improve(&mut self, cuts: usize) -> Result<()> {
        let whole = Region::whole(self.answers.measured(), Vec::new());
        if Chords::new(&whole, &self.precision).are_exact {
            return Ok(());
        }
        let mut reach = 1.0;
        while reach > NEAR && self.computed < self.most {
            let (shares, reached) = self.best.clone().expect("the even split was tried");
            let mut near = whole.clone();
            near.cuts = (cuts..self.cuts.len()).collect();
            for ((lo, hi), share) in near.lo.iter_mut().zip(&mut near.hi).zip(&shares) {
                (*lo, *hi) = (lo.max(share - reach), hi.min(share + reach));
            }
            let tangents = Chords::tangents(&shares, &self.precision);
            let Some((_, at)) = self.largest(&near, &tangents) else { break };
            self.candidate(&at)?;
            reach *= if self.reached() > reached * (1.0 + CLOSE) { 2.0 } else { 0.5 };
            reach = f64::min(reach, 1.0);
        }
        Ok(())
    }

    /// Takes shares, which add up to 1 but for what the solver is off by, for the best split if they are. The inverse variance.
    fn candidate(&mut self, shares: &[f64]) -> Result<f64> {
        let sum: f64 = shares.iter().sum();
        let shares: Vec<f64> = shares.iter().map(|share| share / sum).collect();
        let precisions: Vec<f64> = shares.iter().map(|&share| (self.precision)(share)).collect();
        let inverse = self.cut(&precisions)?;
        if inverse > self.reached() {
            self.best = Some((shares, inverse));
        }
        Ok(inverse)
    }

    /// The inverse variance at precisions; 0, without a cut, where they differ too much for it to be computed. Its cut is kept: of the
    /// largest variance those of the worst answer of every query, the worst of all last.
    fn cut(&mut self, precisions: &[f64]) -> Result<f64> {
        self.computed += 1;
        let variances: Vec<f64> = precisions.iter().map(|p| 1.0 / p).collect();
        let of_queries = match of_queries(self.answers, &variances) {
            Err(Error::NotConverged { .. }) => return Ok(0.0),
            told => told?,
        };
        let reached = self.goal.of(&of_queries);
        if reached.is_nan() || reached <= 0.0 {
            return Err(Error::parameter(
                "queries",
                "answers without noise",
                "one whose answer is not known",
            ));
        }
        let own = |variance: &Variance| -> Cut {
            let square = variance.value * variance.value;
            variance.falls.iter().map(|fall| fall / square).collect()
        };
        match self.goal {
            Goal::Mean => {
                let mut mean = Variance::zero(variances.len());
                of_queries.iter().for_each(|query| mean.add(1.0 / of_queries.len() as f64, &query.mean));
                self.cuts.push(own(&mean));
            }
            Goal::Largest => {
                let mut worst: Vec<&Variance> = of_queries.iter().map(|query| &query.largest).collect();
                worst.retain(|one| one.value > 0.0);
                worst.sort_by(|a, b| a.value.total_cmp(&b.value));
                self.cuts.extend(worst.into_iter().map(own));
            }
        }
        Ok(1.0 / reached)
    }

    /// A bound of the inverse variance in a region with chords for precisions, by the cuts, and the shares at which the bound lies.
    /// `None`: the solver gave up.
    ///
    /// The bound is proved by weights of the cuts alone, whatever the solver makes of them: the weighted mean of the cuts is linear in the
    /// shares, and its largest value in the region is found exactly.
    fn largest(&self, region: &Region, chords: &Chords) -> Option<(f64, Vec<f64>)> {
        let m = self.answers.measured();
        // In units of the best, which keeps numbers near 1.
        let unit = self.reached();
        let line = |&cut: &usize| {
            let own = self.cuts[cut].iter().enumerate();
            Line {
                slopes: own.clone().map(|(k, c)| c / unit * chords.slopes[k]).collect(),
                value: own.map(|(k, c)| c / unit * chords.at(k, 0.0)).sum(),
            }
        };
        let lines: Vec<Line> = region.cuts.iter().map(line).collect();
        let (weights, shares) = solved(region, &lines)?;
        let mean = |of: &dyn Fn(&Line) -> f64| -> f64 {
            weights.iter().zip(&lines).map(|(weight, line)| weight * of(line)).sum()
        };
        let slopes: Vec<f64> = (0..m).map(|k| mean(&|line| line.slopes[k])).collect();
        // What is left of the budget goes where the slope is largest.
        let mut order: Vec<usize> = (0..m).collect();
        order.sort_by(|&a, &b| slopes[b].total_cmp(&slopes[a]));
        let mut left = 1.0 - region.lo.iter().sum::<f64>();
        let mut bound = mean(&|line| line.value);
        for k in order {
            let more = left.min(region.hi[k] - region.lo[k]).max(0.0);
            bound += slopes[k] * (region.lo[k] + more);
            left -= more;
        }
        // Terms of both signs were added.
        let rounding = 1e-12 * (mean(&|line| line.value.abs()) + slopes.iter().sum::<f64>());
        Some(((bound + rounding) * unit, shares))
    }
}

/// A cut in a region: what it is where all shares are 0, and what each adds.
struct Line {
    value: f64,
    slopes: Vec<f64>,
}

/// Solves for the largest number that lies below all lines at the shares of a region: weights of the lines that sum to 1, and the shares.
/// `None`: the solver gave up.
fn solved(region: &Region, lines: &[Line]) -> Option<(Vec<f64>, Vec<f64>)> {
    let m = region.lo.len();
    let (mut rows, mut columns, mut values, mut right) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut row = |entries: &mut dyn Iterator<Item = (usize, f64)>, most: f64| {
        for (column, value) in entries.filter(|(_, value)| *value != 0.0) {
            rows.push(right.len());
            columns.push(column);
            values.push(value);
        }
        right.push(most);
    };
    row(&mut (0..m).map(|k| (k, 1.0)), 1.0);
    for k in 0..m {
        row(&mut [(k, 1.0)].into_iter(), region.hi[k]);
        row(&mut [(k, -1.0)].into_iter(), -region.lo[k]);
    }
    let bounds = 1 + 2 * m;
    let largest = |line: &Line| line.slopes.iter().fold(line.value.abs().max(1.0), |a, b| a.max(*b));
    let scales: Vec<f64> = lines.iter().map(largest).collect();
    for (Line { slopes, value }, scale) in lines.iter().zip(&scales) {
        let entries = slopes.iter().enumerate().map(|(k, slope)| (k, -slope / scale));
        row(&mut entries.chain([(m, 1.0 / scale)]), value / scale);
    }
    let matrix = CscMatrix::new_from_triplets(right.len(), m + 1, rows, columns, values);
    let settings = DefaultSettings {
        verbose: false,
        max_threads: 1,
        direct_solve_method: "qdldl".into(),
        tol_gap_abs: 1e-9,
        tol_gap_rel: 1e-9,
        tol_feas: 1e-9,
        ..DefaultSettings::default()
    };
    let mut linear = vec![0.0; m + 1];
    linear[m] = -1.0;
    let cones = [NonnegativeConeT(right.len())];
    let none = CscMatrix::zeros((m + 1, m + 1));
    let mut solver = DefaultSolver::new(&none, &linear, &matrix, &right, &cones, settings).ok()?;
    solver.solve();
    let solution = &solver.solution;
    if !matches!(solution.status, SolverStatus::Solved | SolverStatus::AlmostSolved) {
        return None;
    }
    let shares = (0..m).map(|k| solution.x[k].clamp(region.lo[k], region.hi[k])).collect();
    let weights = solution.z[bounds..].iter().zip(&scales).map(|(z, scale)| z.max(0.0) / scale);
    let weights: Vec<f64> = weights.collect();
    let sum: f64 = weights.iter().sum();
    (sum.is_finite() && sum > 0.0).then(|| (weights.iter().map(|weight| weight / sum).collect(), shares))
}

#[cfg(test)]
mod tests {
    use super::super::TreeAnswers;
    use super::*;
    use crate::invariant::Hierarchy;
    use crate::rng::below;
    use crate::testing::test_stream;

    /// What a split reaches.
    fn reached(answers: &dyn Answers, goal: Goal, shares: &[f64], precision: &dyn Fn(f64) -> f64) -> f64 {
        let variances: Vec<f64> = shares.iter().map(|&share| 1.0 / precision(share)).collect();
        let mut of_queries: Vec<Vec<f64>> = vec![Vec::new(); answers.queries()];
        answers.each(&variances, &mut |query, _, one| of_queries[query].push(one.value)).unwrap();
        match goal {
            Goal::Mean => {
                let means = of_queries.iter().map(|all| all.iter().sum::<f64>() / all.len() as f64);
                means.sum::<f64>() / of_queries.len() as f64
            }
            Goal::Largest => of_queries.iter().flatten().copied().fold(0.0, f64::max),
        }
    }

    /// On random trees of two to four levels no split of a grid is better, for noise whose precision is proportional to the share, to its
    /// square, and that of integer noise of two budgets.
    #[test]
    fn no_split_of_a_grid_is_better() {
        let mut rng = test_stream(812);
        for round in 0..40 {
            let levels = 2 + round % 3;
            let mut parents = vec![0usize];
            let mut above = 0..1;
            for _ in 1..levels {
                let first = parents.len();
                for v in above.clone() {
                    parents.extend(vec![v; 1 + below(&mut rng, 4) as usize]);
                }
                above = first..parents.len();
            }
            let tree = Hierarchy::from_parents(&parents).unwrap();
            let answers = match below(&mut rng, 2) {
                0 => TreeAnswers::of_levels(&tree),
                // Two sums of leaves.
                _ => {
                    let group = |own: u64| {
                        tree.leaves().iter().copied().filter(move |leaf| u64::from(leaf % 2) == own)
                    };
                    let groups: Vec<Vec<u32>> = (0..2).map(|own| group(own).collect()).collect();
                    TreeAnswers::new(
                        &tree,
                        vec![groups.into_iter().filter(|group: &Vec<u32>| !group.is_empty()).collect()],
                    )
                }
            };
            let precisions: [&dyn Fn(f64) -> f64; 4] =
                [&|s| s, &|s| s * s, &|s| libm::cosh(0.3 * s) - 1.0, &|s| libm::cosh(8.0 * s) - 1.0];
            for (number, precision) in precisions.into_iter().enumerate() {
                for goal in [Goal::Mean, Goal::Largest] {
                    let all = splits(levels, 24);
                    let start = all[below(&mut rng, all.len() as u64) as usize].clone();
                    let given = reached(&answers, goal, &start, precision);
                    let found = best(&answers, goal, &[start], |share| Ok(precision(share))).unwrap();
                    assert!(found.variance <= given * (1.0 + 1e-9), "{given} was given: {found:?}");
                    let words = format!("{parents:?}, noise {number}, {goal:?}: {found:?}");
                    assert!((found.shares.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{words}");
                    let own = reached(&answers, goal, &found.shares, precision);
                    assert!((own / found.variance - 1.0).abs() < 1e-6, "{words}: {own}");
                    assert!(found.variance / found.at_least < 1.0 + 2.5e-4, "{words}");
                    for split in all {
                        let other = reached(&answers, goal, &split, precision);
                        assert!(other > found.at_least * (1.0 - 1e-9), "{words}: {split:?} has {other}");
                    }
                }
            }
        }
    }

    /// All splits into multiples of 1/steps, none of them 0.
    fn splits(levels: usize, steps: usize) -> Vec<Vec<f64>> {
        fn parts(levels: usize, left: usize) -> Vec<Vec<usize>> {
            if levels == 1 {
                return vec![vec![left]];
            }
            let of = |first: usize| {
                parts(levels - 1, left - first).into_iter().map(move |rest| [vec![first], rest].concat())
            };
            (1..=left - (levels - 1)).flat_map(of).collect()
        }
        let share = |part: usize| part as f64 / steps as f64;
        parts(levels, steps).into_iter().map(|parts| parts.into_iter().map(share).collect()).collect()
    }

    /// A root with n leaves and Gaussian noise: the leaves have the variance (1 + (n - 2) s) / ((1 - s) (1 + (n - 1) s)) with a share s of
    /// the root, and the root n / (1 + (n - 1) s). The least of the first, and of the larger of both, is looked for on a line.
    #[test]
    fn a_total_has_a_closed_form() {
        for n in [2.0f64, 5.0, 40.0] {
            let tree = Hierarchy::from_parents(&vec![0; n as usize + 1]).unwrap();
            let leaves =
                TreeAnswers::new(&tree, vec![tree.leaves().iter().map(|&leaf| vec![leaf]).collect()]);
            let found = best(&leaves, Goal::Mean, &[], Ok).unwrap();
            let variance = |s: f64| (1.0 + (n - 2.0) * s) / ((1.0 - s) * (1.0 + (n - 1.0) * s));
            let least = (1..1000).map(|k| variance(f64::from(k) / 1000.0)).fold(f64::INFINITY, f64::min);
            assert!((found.variance / least - 1.0).abs() < 1e-4, "{n}: {found:?}, not {least}");
            // The largest of both levels: that of the root falls, that of the leaves rises, and the root's is the larger until
            // they meet.
            let both = best(&TreeAnswers::of_levels(&tree), Goal::Largest, &[], Ok).unwrap();
            let root = |s: f64| n / (1.0 + (n - 1.0) * s);
            let (mut low, mut high) = (0.0, 1.0);
            for _ in 0..60 {
                let s = 0.5 * (low + high);
                if root(s) > variance(s) { low = s } else { high = s }
            }
            assert!((both.variance / root(low) - 1.0).abs() < 2e-4, "{n}: {both:?}, not {}", root(low));
        }
    }

    #[test]
    fn noise_out_of_range_is_refused() {
        let tree = Hierarchy::from_parents(&[0, 0, 0]).unwrap();
        for bought in [0.0, f64::NAN, f64::INFINITY] {
            let refused = best(&TreeAnswers::of_levels(&tree), Goal::Mean, &[], |_| Ok(bought)).unwrap_err();
            assert!(refused.to_string().contains("precision of the noise"), "{refused}");
        }
    }

    #[test]
    fn what_is_known_needs_no_budget() {
        let tree = Hierarchy::from_parents(&[0, 0, 0]).unwrap();
        let known = tree.with_known(vec![true, false, false]).unwrap();
        let found = best(&TreeAnswers::of_levels(&known), Goal::Mean, &[], Ok).unwrap();
        assert_eq!(found.shares, [1.0]);
        let root = TreeAnswers::new(&known, vec![vec![vec![0]]]);
        assert!(best(&root, Goal::Largest, &[], Ok).unwrap_err().to_string().contains("not known"));
    }
}
