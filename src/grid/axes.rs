//! The product of a block's axes, in the order of its cells, but for axes that go together.

use super::excluded::Excluded;
use crate::catalogue::Method;
use crate::config::axes::AxisRow;
use crate::config::{AXES, AxisName, Block, Config, Point};

/// The noise of some cells: one value of every axis of the noise.
pub(super) struct Noise {
    /// Their place on the axes of the noise, and their data set; no method, seed or lag is chosen yet.
    pub(super) point: Point,
    /// The place of each value on its axis, of those that it is on.
    places: Vec<(AxisName, usize)>,
}

/// Every noise of a block.
pub(super) fn noises(config: &Config, block: &Block) -> Vec<Noise> {
    let point = Point { data: config.data_name.clone(), ..Point::default() };
    let mut noises = vec![Noise { point, places: Vec::new() }];
    // The outer axes come last.
    for axis in AXES.iter().rev().filter(|axis| axis.of_noise) {
        noises = noises.into_iter().flat_map(|noise| noise.along(axis, block)).collect();
    }
    noises
}

impl Noise {
    /// This noise with every value of an axis; where that goes with an axis that it is on already, with the value of its place there.
    fn along(self, axis: &AxisRow, block: &Block) -> Vec<Self> {
        if !(axis.has)(&self.point) {
            return vec![self];
        }
        let mut groups = block.zip.iter().filter(|group| group.contains(&axis.name));
        let together = groups.find_map(|group| self.places.iter().find(|(other, _)| group.contains(other)));
        let places = match together {
            Some(&(_, place)) => place..place + 1,
            None => 0..(axis.len)(&block.axes),
        };
        let at = |place| {
            let mut point = self.point.clone();
            (axis.put)(&block.axes, place, &mut point);
            let places = self.places.iter().copied().chain([(axis.name, place)]).collect();
            Self { point, places }
        };
        places.map(at).collect()
    }

    /// The methods that it is drawn for on the config's data set, with their places on their axis and the master seeds;
    /// those without any are left out.
    pub(super) fn methods(
        &self,
        config: &Config,
        excluded: &Excluded,
        block: &Block,
    ) -> Vec<(usize, Method, Vec<u64>)> {
        let Some(of_data) = block.axes.data.iter().position(|name| *name == config.data_name) else {
            return Vec::new();
        };
        let mut point = self.point.clone();
        let mut with_seeds = |(place, method): (usize, &Method)| {
            point.method = *method;
            let wanted = |(of_seed, seed): &(usize, u64)| {
                let others =
                    [(AxisName::Method, place), (AxisName::Seed, *of_seed), (AxisName::Data, of_data)];
                let places: Vec<_> = self.places.iter().copied().chain(others).collect();
                point.seed = *seed;
                go_together(block, &places) && !excluded.has(&point)
            };
            let seeds = block.axes.seed.iter().copied().enumerate().filter(wanted).map(|(_, seed)| seed);
            (place, *method, seeds.collect())
        };
        let all = block.axes.method.iter().enumerate().map(&mut with_seeds);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::{Document, read};
    use std::path::Path;

    /// Three axes of 20,000 values that go together are as many noises, and nothing is listed on the way that is none.
    #[test]
    fn axes_that_go_together_are_no_product() {
        let list = |scale: f64| {
            let values: Vec<String> = (1..=20_000).map(|i| (f64::from(i) * scale).to_string()).collect();
            values.join(", ")
        };
        let text = format!(
            "name = \"n\"\nseed = 1\nreplicates = 1\n[data]\ntable = \"t.csv\"\ncount = \"count\"\nlevels = [\"a\"]\n[[grid]]\n\
             epsilon = [{}]\nsensitivity = [{}]\ndelta = [{}]\nlaw = \"gaussian\"\nmethod = \"l2\"\n\
             zip = [\"epsilon\", \"sensitivity\", \"delta\"]\n",
            list(1.0),
            list(1.0),
            list(1e-9)
        );
        let Ok(Document::Grid(config)) = read(Path::new("c.toml"), &text, &[]) else { panic!("a config") };
        let noises = noises(&config[0], &config[0].blocks[0]);
        assert_eq!(noises.len(), 20_000);
        assert!(noises.iter().all(|noise| noise.places.iter().filter(|(_, place)| *place > 0).count() != 1));
    }
}
