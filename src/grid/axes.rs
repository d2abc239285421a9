//! The product of a block's axes, in the order of its cells, but for axes that go together.

use super::excluded::{Excluded, Point};
use crate::catalogue::{LawKind, Method};
use crate::config::{AxisName, Block, Config, SplitSpec};
use crate::privacy::Amount;

/// The noise of some cells: one value of every axis but that of methods.
pub(super) struct Noise<'a> {
    pub(super) law: LawKind,
    pub(super) split: &'a SplitSpec,
    pub(super) sensitivity: f64,
    pub(super) delta: Option<f64>,
    /// As given: epsilon, or what is to be paid.
    pub(super) budget: Amount,
    /// The place of each value on its axis; of a law without a delta that has none.
    places: Vec<(AxisName, usize)>,
}

/// Every noise of a block.
pub(super) fn noises(block: &Block) -> Vec<Noise<'_>> {
    let mut noises = Vec::new();
    for (of_law, &law) in block.law.iter().enumerate() {
        let deltas: Vec<Option<f64>> =
            if law.needs_delta() { block.delta.iter().copied().map(Some).collect() } else { vec![None] };
        for (of_split, split) in block.split.iter().enumerate() {
            for (of_sensitivity, &sensitivity) in block.sensitivity.iter().enumerate() {
                for (of_delta, &delta) in deltas.iter().enumerate() {
                    for (of_budget, &budget) in block.budget.iter().enumerate() {
                        let mut places = vec![
                            (AxisName::Law, of_law),
                            (AxisName::Split, of_split),
                            (AxisName::Sensitivity, of_sensitivity),
                            (AxisName::Budget, of_budget),
                        ];
                        places.extend(delta.map(|_| (AxisName::Delta, of_delta)));
                        if go_together(block, &places) {
                            noises.push(Noise { law, split, sensitivity, delta, budget, places });
                        }
                    }
                }
            }
        }
    }
    noises
}

impl Noise<'_> {
    /// A cell of it.
    fn point<'b>(&'b self, config: &'b Config, method: &'b Method, seed: u64) -> Point<'b> {
        let &Self { law, split, sensitivity, delta, budget, .. } = self;
        let data = config.data_name.as_str();
        Point { noise: (budget, delta), law, method, sensitivity, split, seed, data, lag: None }
    }

    /// Whether a cell with a lag is left out.
    pub(super) fn excludes<'b>(
        &'b self,
        config: &'b Config,
        excluded: &Excluded<'b>,
        method: &'b Method,
        (seed, lag): (u64, u64),
    ) -> bool {
        excluded.has(Point { lag: Some(lag), ..self.point(config, method, seed) })
    }

    /// The methods that it is drawn for on the config's data set, with their places on their axis and the master seeds; those without any are left out.
    pub(super) fn methods<'b>(
        &'b self,
        config: &'b Config,
        excluded: &Excluded<'b>,
        block: &'b Block,
    ) -> Vec<(usize, Method, Vec<u64>)> {
        let Some(of_data) = block.data.iter().position(|name| *name == config.data_name) else {
            return Vec::new();
        };
        let with_seeds = |(place, method): (usize, &'b Method)| {
            let wanted = |(of_seed, seed): &(usize, u64)| {
                let others =
                    [(AxisName::Method, place), (AxisName::Seed, *of_seed), (AxisName::Data, of_data)];
                let places: Vec<_> = self.places.iter().copied().chain(others).collect();
                go_together(block, &places) && !excluded.has(self.point(config, method, *seed))
            };
            let seeds = block.seed.iter().copied().enumerate().filter(wanted).map(|(_, seed)| seed);
            (place, *method, seeds.collect())
        };
        let all = block.method.iter().enumerate().map(with_seeds);
        all.filter(|(_, _, seeds): &(_, _, Vec<u64>)| !seeds.is_empty()).collect()
    }
}

/// Whether values have one place on all axes of each group.
fn go_together(block: &Block, places: &[(AxisName, usize)]) -> bool {
    block.zip.iter().all(|group| {
        let mut here = places.iter().filter(|(axis, _)| group.contains(axis)).map(|(_, place)| place);
        let first = here.next();
        here.all(|place| Some(place) == first)
    })
}
