//! Driving chains: from a start to a release, with what their diagnostics need.

use crate::error::{Error, Result};
use crate::kernel::{Kernel, LANES};
use crate::rng::{Rng, Stream};

/// What a chain leaves behind beside its last state.
#[derive(Debug, Clone, PartialEq)]
pub struct ChainRecord {
    /// The number of steps made.
    pub steps: u64,
    /// The number of steps that changed the state.
    pub moves: u64,
    /// Recorded statistics, one trace each, from the second half of the chain at equal distances.
    pub traces: Vec<Vec<f64>>,
}

/// A chain on its way.
#[derive(Debug, Clone)]
pub struct Chain<S, R> {
    /// The current state.
    pub state: S,
    /// The random stream of the chain's moves.
    pub rng: R,
    /// The number of steps that changed the state.
    pub moves: u64,
}

/// Where a chain has come to.
#[derive(Debug)]
pub(crate) struct End<S> {
    /// The last state: for a chain that never moved its start, and no release.
    state: S,
    /// What the chain leaves beside its last state.
    pub(crate) record: ChainRecord,
    /// Whether the kernel rejects, and no step changed the state, or an independent part of it.
    stuck: bool,
}

impl<S> End<S> {
    /// The release; `None` if the chain never moved.
    pub(crate) fn release(&self) -> Option<&S> {
        (!self.stuck).then_some(&self.state)
    }

    /// The last state and the record. Errors: the chain never moved.
    fn moved(self) -> Result<(S, ChainRecord)> {
        match self.stuck {
            true => Err(Error::NeverMoved { steps: self.record.steps }),
            false => Ok((self.state, self.record)),
        }
    }
}

impl<S, R: Rng> Chain<S, R> {
    /// A chain at its start, with the stream of its moves.
    pub fn new(state: S, rng: R) -> Self {
        Self { state, rng, moves: 0 }
    }

    /// Goes on from where steps elsewhere have led: the state, the stream, and how many of them changed the state.
    fn take_over(&mut self, (state, rng, moves): (S, R, u64)) {
        (self.state, self.rng) = (state, rng);
        self.moves += moves;
    }

    /// From `done` steps on to the last of `stops`, the first of which is yet to come: `at(position)` at each.
    pub(crate) fn visit<K: Kernel<State = S>>(
        &mut self,
        kernel: &K,
        mut done: u64,
        stops: &[u64],
        mut at: impl FnMut(&[K::Value]),
    ) {
        let mut noise = kernel.noise();
        for &stop in stops {
            for _ in done..stop {
                kernel.draw(&mut self.rng, &mut noise);
                self.moves += u64::from(kernel.apply(&mut self.state, &noise));
            }
            done = stop;
            at(kernel.position(&self.state));
        }
    }
}

/// Fewer chains than this are faster alone than side by side.
pub(crate) const FEW: usize = 12;

/// How many chains of a kernel are best run together.
pub fn side_by_side<K: Kernel>(kernel: &K) -> usize {
    if kernel.lanes().is_some() { LANES } else { 1 }
}

/// Runs chains, each as it would run alone, side by side where the kernel can: `at(chain, position)` after every number of steps in
/// `stops`, which increase.
pub fn visit_all<K: Kernel>(
    kernel: &K,
    mut chains: Vec<Chain<K::State, Stream>>,
    stops: &[u64],
    mut at: impl FnMut(usize, &[K::Value]),
) -> Vec<Chain<K::State, Stream>> {
    let mut all_lanes = if chains.len() < FEW { None } else { kernel.lanes() };
    for (group, chains) in chains.chunks_mut(LANES).enumerate() {
        let first = group * LANES;
        let mut lanes = all_lanes.as_mut().filter(|_| chains.len() >= FEW);
        let mut inside = [false; LANES];
        for (lane, chain) in chains.iter_mut().enumerate() {
            inside[lane] = lanes.as_mut().is_some_and(|lanes| lanes.load(lane, &chain.state, &chain.rng));
            if !inside[lane] {
                chain.visit(kernel, 0, stops, |position| at(first + lane, position));
            }
        }
        let Some(lanes) = lanes else { continue };
        let mut done = 0;
        for (i, &stop) in stops.iter().enumerate() {
            while done < stop && inside.contains(&true) {
                done += lanes.run(stop - done);
                for lane in 0..LANES {
                    if !lanes.has_left(lane) {
                        continue;
                    }
                    let taken = lanes.take(lane);
                    if std::mem::take(&mut inside[lane]) {
                        chains[lane].take_over(taken);
                        chains[lane].visit(kernel, done, &stops[i..], |position| at(first + lane, position));
                    }
                }
            }
            for lane in (0..LANES).filter(|&lane| inside[lane]) {
                at(first + lane, lanes.position(lane));
            }
        }
        for lane in (0..LANES).filter(|&lane| inside[lane]) {
            chains[lane].take_over(lanes.take(lane));
        }
    }
    chains
}

/// Runs `steps` steps from `start` and returns the last state.
///
/// Every statistic of `statistics(position)` is recorded `records` times (or once a step if there are
/// fewer steps) over the second half; the first half is burn-in.
///
/// Errors: [`Error::NeverMoved`] if the kernel rejects and no step changed the state (or an independent part of it): such a chain would
/// release its start. (Refusing Gibbs chains that drew their start again would bias the law.)
///
/// # Examples
///
/// ```
/// use congenial_core::chain;
/// use congenial_core::invariant::Linear;
/// use congenial_core::kernel::{Dispersed, LatticeMetropolis, Start};
/// use congenial_core::lattice::BasisKind;
/// use congenial_core::law::DoubleGeometric;
/// use congenial_core::rng::{Role, TaskKey, stream};
///
/// let law = DoubleGeometric::new(2.0)?;
/// let kernel = LatticeMetropolis::new(&Linear::margins(2, 3)?, law, 0.3, BasisKind::Reduced)?;
/// let mut rng = stream(TaskKey { seed: 1, cell: 0, replicate: 0, role: Role::Moves });
/// let start = kernel.start(Start::OverDispersed, &mut rng)?;
/// // The norm is recorded 100 times over the second half.
/// let norm = |z: &[i64], put: &mut dyn FnMut(usize, f64)| put(0, z.iter().map(|z| z.abs() as f64).sum());
/// let (_, record) = chain::run(&kernel, start, 1000, 100, &mut rng, norm)?;
/// assert_eq!((record.steps, record.traces[0].len()), (1000, 100));
/// assert!(record.moves > 0 && record.moves < 1000);
/// # Ok::<(), congenial_core::Error>(())
/// ```
pub fn run<K: Kernel, R: Rng + ?Sized>(
    kernel: &K,
    start: K::State,
    steps: u64,
    records: u64,
    rng: &mut R,
    statistics: impl FnMut(&[K::Value], &mut dyn FnMut(usize, f64)),
) -> Result<(K::State, ChainRecord)> {
    end(kernel, start, steps, records, rng, statistics).moved()
}

/// [`run`] that tells of a chain that never moved as well.
pub(crate) fn end<K: Kernel, R: Rng + ?Sized>(
    kernel: &K,
    start: K::State,
    steps: u64,
    records: u64,
    rng: &mut R,
    mut statistics: impl FnMut(&[K::Value], &mut dyn FnMut(usize, f64)),
) -> End<K::State> {
    let plan = Plan::new(steps, records);
    let (mut chain, mut traces) = (Chain::new(start, rng), Vec::new());
    chain.visit(kernel, 0, &plan.stops, |position| {
        plan.record(&mut traces, |put| statistics(position, put));
    });
    plan.end(kernel, chain.state, chain.moves, traces)
}

/// [`run`] from several starts, side by side where the kernel can: results in their order, each as alone.
/// `statistics` is told which chain it looks at.
pub fn run_all<K: Kernel>(
    kernel: &K,
    starts: Vec<(K::State, Stream)>,
    steps: u64,
    records: u64,
    statistics: impl FnMut(usize, &[K::Value], &mut dyn FnMut(usize, f64)),
) -> Vec<Result<(K::State, ChainRecord)>> {
    ends(kernel, starts, steps, records, statistics).into_iter().map(End::moved).collect()
}

/// [`run_all`] that tells of chains that never moved as well.
pub(crate) fn ends<K: Kernel>(
    kernel: &K,
    starts: Vec<(K::State, Stream)>,
    steps: u64,
    records: u64,
    mut statistics: impl FnMut(usize, &[K::Value], &mut dyn FnMut(usize, f64)),
) -> Vec<End<K::State>> {
    let plan = Plan::new(steps, records);
    let mut traces = vec![Vec::new(); starts.len()];
    let chains = starts.into_iter().map(|(state, rng)| Chain::new(state, rng)).collect();
    let chains = visit_all(kernel, chains, &plan.stops, |chain, position| {
        plan.record(&mut traces[chain], |put| statistics(chain, position, put));
    });
    let ends = chains.into_iter().zip(traces);
    ends.map(|(chain, traces)| plan.end(kernel, chain.state, chain.moves, traces)).collect()
}

/// When a chain is looked at.
struct Plan {
    steps: u64,
    /// The steps after which it is, and the last.
    stops: Vec<u64>,
    /// Whether statistics are recorded there.
    records: bool,
}

impl Plan {
    fn new(steps: u64, records: u64) -> Self {
        let kept = steps / 2;
        if records == 0 || kept == 0 {
            return Self { steps, stops: vec![steps], records: false };
        }
        let every = kept.div_ceil(records);
        let last = (kept - 1) / every;
        Self { steps, stops: (0..=last).rev().map(|back| steps - back * every).collect(), records: true }
    }

    fn record(&self, traces: &mut Vec<Vec<f64>>, statistics: impl FnOnce(&mut dyn FnMut(usize, f64))) {
        if self.records {
            statistics(&mut |which, value| {
                if traces.len() <= which {
                    traces.resize_with(which + 1, Vec::new);
                }
                traces[which].push(value);
            });
        }
    }

    /// What is left of a chain.
    fn end<K: Kernel>(
        &self,
        kernel: &K,
        state: K::State,
        moves: u64,
        traces: Vec<Vec<f64>>,
    ) -> End<K::State> {
        let stuck = K::REJECTS && (moves == 0 || kernel.is_stuck(&state));
        End { state, record: ChainRecord { steps: self.steps, moves, traces }, stuck }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invariant::Linear;
    use crate::kernel::{Dispersed, LatticeMetropolis, Start};
    use crate::lattice::BasisKind;
    use crate::law::{DiscreteGaussian, DoubleGeometric, EuclideanLaplace, LatticeLaw};
    use crate::testing::test_stream;

    /// Steps of records, by hand.
    #[test]
    fn records_are_spread_over_the_second_half() {
        let stops = |steps, records| Plan::new(steps, records).stops;
        assert_eq!(stops(10, 2), [7, 10]);
        assert_eq!(stops(11, 2), [8, 11]);
        assert_eq!(stops(6, 100), [4, 5, 6]);
        assert_eq!((stops(6, 0), stops(1, 5)), (vec![6], vec![1]));
    }

    /// Chains that grow beyond 16 bits between two looks at them are as alone, too.
    #[test]
    fn chains_leave_lanes_in_time() {
        let law = DoubleGeometric::new(1e6).unwrap();
        let kernel =
            LatticeMetropolis::new(&Linear::margins(2, 2).unwrap(), law, 0.98, BasisKind::Smith).unwrap();
        let start = |seed| (kernel.init(&[0; 4]), test_stream(seed));
        let all = run_all(&kernel, (0..12).map(start).collect(), 400_000, 0, |_, _, _| ());
        let mut beyond = 0;
        for (seed, together) in (0..).zip(all) {
            let (state, mut rng) = start(seed);
            let alone = run(&kernel, state, 400_000, 0, &mut rng, |_, _| ()).unwrap();
            let together = together.unwrap();
            assert_eq!(kernel.position(&together.0), kernel.position(&alone.0));
            assert_eq!(together.1, alone.1);
            beyond += u32::from(kernel.position(&alone.0)[0].abs() > 1 << 15);
        }
        assert!(beyond > 3, "{beyond}");
    }

    /// Chains that go on side by side have moved as often as those that did not stop between.
    #[test]
    fn moves_add_up() {
        let law = DoubleGeometric::new(2.0).unwrap();
        let kernel =
            LatticeMetropolis::new(&Linear::margins(3, 3).unwrap(), law, 0.3, BasisKind::Smith).unwrap();
        let start = |seed| Chain::new(kernel.init(&[0; 9]), test_stream(seed));
        let chains: Vec<_> = (0..33).map(start).collect();
        let visit = |chains, stop| visit_all(&kernel, chains, &[stop], |_, _| ());
        let whole = visit(chains.clone(), 500);
        for (once, twice) in whole.iter().zip(visit(visit(chains, 300), 200)) {
            assert!(once.moves > 0);
            assert_eq!((once.moves, &once.rng), (twice.moves, &twice.rng));
        }
    }

    /// The plain reference of lanes: every chain alone. States, moves, traces and streams are equal bit for bit, for any number of
    /// chains, within what lanes hold, beyond, and from one to the other.
    #[test]
    fn chains_side_by_side_are_as_alone() {
        fn agree<L: LatticeLaw>(law: L, invariant: &Linear, a: f64, starts: Start) {
            let kernel = LatticeMetropolis::new(invariant, law, a, BasisKind::Smith).unwrap();
            for number in [1, 12, 32, 45, 70] {
                let seeds = 0..number as u64;
                let start = |seed| {
                    (kernel.start(starts, &mut test_stream(100 + seed)).unwrap(), test_stream(500 + seed))
                };
                let statistics = |noise: &[i64], put: &mut dyn FnMut(usize, f64)| {
                    put(0, noise.iter().map(|z| z.abs() as f64).sum());
                    put(1, noise[0] as f64);
                };
                let all = run_all(&kernel, seeds.clone().map(start).collect(), 600, 40, |_, noise, put| {
                    statistics(noise, put);
                });
                for (seed, side_by_side) in seeds.zip(all) {
                    let (state, mut rng) = start(seed);
                    let alone = run(&kernel, state, 600, 40, &mut rng, statistics);
                    let [alone, side_by_side] = [alone, side_by_side].map(|end| {
                        end.map(|(state, record)| (kernel.position(&state).to_vec(), record))
                            .map_err(|error| error.to_string())
                    });
                    assert_eq!(alone, side_by_side);
                }
            }
        }
        let invariants = [
            Linear::margins(4, 4).unwrap(),
            Linear::margins(2, 7).unwrap(),
            // Two components, an entry that nothing moves, and coefficients beyond ±1.
            Linear::from_rows(
                8,
                vec![vec![(0, 1), (1, 1), (2, 1)], vec![(3, 2), (4, 3), (5, 1)], vec![(7, 1)]],
            )
            .unwrap(),
        ];
        for invariant in &invariants {
            // Scales of which all states are small, some, and none.
            for scale in [4.0, 250.0, 4000.0] {
                for start in [Start::OverDispersed, Start::Published] {
                    let a = libm::exp(-1.0 / f64::sqrt(scale));
                    agree(DoubleGeometric::new(scale).unwrap(), invariant, a, start);
                    agree(DiscreteGaussian::new(scale).unwrap(), invariant, a, start);
                    agree(EuclideanLaplace::new(scale).unwrap(), invariant, a, start);
                }
            }
        }
    }
}
