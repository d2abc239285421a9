//! The chain of a method, alone and in pairs, whatever its kernel.

use crate::chain::{self, Chain};
use crate::coupling::{Group, Meeting, harmonize, meet_all};
use crate::error::Result;
use crate::kernel::{Coupled, Dispersed, Start};
use crate::law::{Errors, Value};
use crate::rng::Stream;

/// Runs chains of one kernel.
pub trait Chains: Send + Sync {
    /// The number of chains that are best run together.
    fn together(&self) -> usize;

    /// Runs chains, each from a start of the first of its streams by steps of the second: `seen` is given the number of
    /// the chain and its state at each of these times, which rise. Errors: no start.
    fn visit(
        &self,
        start: Start,
        streams: Vec<(Stream, Stream)>,
        times: &[u64],
        seen: &mut dyn FnMut(usize, Errors),
    ) -> Result<()>;

    /// Runs coupled pairs with a lag, each by a stream of its starts and one of its steps, cut after so many steps: see
    /// [`meet_all`]. `None`: no coupling is known.
    fn meet(
        &self,
        lag: u64,
        most: u64,
        start: Start,
        streams: Vec<(Stream, Stream)>,
    ) -> Option<Vec<Result<Meeting>>>;

    /// Runs a group of chains that share weights: see [`harmonize()`]. `None`: no coupling is known.
    fn group(&self, start: Start, chains: u64, steps: u64, rng: &mut Stream) -> Option<Result<Group>>;
}

/// The functions that a coupling of the kernel serves.
struct Coupling<K> {
    #[allow(clippy::type_complexity)]
    meet: fn(&K, u64, u64, Start, Vec<(Stream, Stream)>) -> Vec<Result<Meeting>>,
    group: fn(&K, Start, u64, u64, &mut Stream) -> Result<Group>,
}

struct Of<K> {
    kernel: K,
    coupling: Option<Coupling<K>>,
}

/// Wraps a kernel with a coupling.
pub(super) fn coupled<K>(kernel: K) -> Box<dyn Chains>
where
    K: Coupled<Value: Value, State: Send, Noise: Send> + Send + Sync + 'static,
{
    let coupling = Some(Coupling { meet: meet_all::<K>, group: harmonize::<K, Stream> });
    Box::new(Of { kernel, coupling })
}

/// Wraps a kernel without a coupling.
pub(super) fn alone<K>(kernel: K) -> Box<dyn Chains>
where
    K: Dispersed<Value: Value, State: Send, Noise: Send> + Send + Sync + 'static,
{
    Box::new(Of { kernel, coupling: None })
}

impl<K> Chains for Of<K>
where
    K: Dispersed<Value: Value, State: Send, Noise: Send> + Send + Sync,
{
    fn together(&self) -> usize {
        chain::side_by_side(&self.kernel)
    }

    fn visit(
        &self,
        start: Start,
        streams: Vec<(Stream, Stream)>,
        times: &[u64],
        seen: &mut dyn FnMut(usize, Errors),
    ) -> Result<()> {
        let ready = |(mut starts, moves): (Stream, Stream)| {
            Ok(Chain::new(self.kernel.start(start, &mut starts)?, moves))
        };
        let ready = streams.into_iter().map(ready).collect::<Result<Vec<_>>>()?;
        chain::visit_all(&self.kernel, ready, times, |chain, noise| seen(chain, K::Value::errors(noise)));
        Ok(())
    }

    fn meet(
        &self,
        lag: u64,
        most: u64,
        start: Start,
        streams: Vec<(Stream, Stream)>,
    ) -> Option<Vec<Result<Meeting>>> {
        self.coupling.as_ref().map(|coupling| (coupling.meet)(&self.kernel, lag, most, start, streams))
    }

    fn group(&self, start: Start, chains: u64, steps: u64, rng: &mut Stream) -> Option<Result<Group>> {
        self.coupling.as_ref().map(|coupling| (coupling.group)(&self.kernel, start, chains, steps, rng))
    }
}
