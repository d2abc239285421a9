//! Noise given that all tables add up, drawn exactly: where the detailed table alone is measured or known, its cells are independent trees.

use super::Planned;
use super::config::Point;
use crate::catalogue::{Family, LawKind, Place, noise};
use crate::config::tables::{Asked, Measured};
use crate::imaging::L2;
use crate::infer::{OfNodes, exact_sampler};
use crate::inference::NodeLaws;
use crate::invariant::{Hierarchy, Region};
use crate::law::{DiscreteGaussian, DoubleGeometric};
use crate::methods::{Draws, On, OnTree, Out, Problem, Streams};
use crate::privacy::Calibration;
use crate::rng::{Role, TaskKey};
use crate::{Alone, Error, Result};
use std::ops::Range;
use std::sync::Arc;

/// The number of the query: it is the only one.
pub(super) const DETAILED: usize = 0;

/// The sampler of a cell's tree.
pub(super) struct Exact {
    /// By node, the standard deviation of its noise.
    pub(super) deviations: Vec<f64>,
    /// Cells of a table.
    cells: u64,
    draws: Box<dyn Draws>,
}

/// Errors: why a study has no exact sampler, in words.
pub(super) fn serves(planned: &Planned) -> std::result::Result<(), String> {
    let tables = &planned.config.data.tables;
    let is_detailed = |query: &crate::cube::Query| {
        (0..tables.attributes.len())
            .all(|attribute| query.names(attribute) && query.groups(attribute).is_none())
    };
    let want = "`exact` wants the query of all attributes alone, measured or known on every level: then its cells are independent trees";
    let level = |asked: &Asked, is: &dyn Fn(&Measured) -> bool| {
        asked.measured.iter().position(is).map_or("", |level| tables.levels[level].as_str())
    };
    if let Some(other) = tables.queries.iter().find(|asked| !is_detailed(&asked.query)) {
        let (of, what) = match level(other, &|measured| *measured == Measured::Known) {
            "" => (level(other, &|measured| *measured != Measured::Not), "measured"),
            known => (known, "known"),
        };
        return Err(format!("`{}` of `{of}` is {what}, which ties the cells: {want}", other.name));
    }
    let [detailed] = &tables.queries[..] else {
        return Err(format!("there are several such queries: {want}"));
    };
    if detailed.measured.last() == Some(&Measured::Known) {
        let last = tables.levels.last().map_or("", String::as_str);
        return Err(format!(
            "`{}` of `{last}` is known, and with it everything: nothing is left to draw",
            detailed.name
        ));
    }
    match level(detailed, &|measured| *measured == Measured::Not) {
        "" => Ok(()),
        open => Err(format!("`{}` is not measured on the level `{open}`: {want}", detailed.name)),
    }
}

/// Whether the law of what is drawn is computed, too.
pub(super) fn has_law(law: LawKind) -> bool {
    matches!(law.family(), Family::DoubleGeometric | Family::DiscreteGaussian | Family::Gaussian)
}

impl Exact {
    /// Errors: the law; noise too wide for its law to be computed.
    pub(super) fn new(
        planned: &Planned,
        point: &Point,
        scales: &[Vec<Option<f64>>],
        cell: u64,
    ) -> Result<Self> {
        let areas = &planned.areas;
        let mut tree = areas.list.tree.clone();
        let known: Vec<bool> = (0..tree.nodes()).map(|v| scales[DETAILED][tree.level(v)].is_none()).collect();
        if known.contains(&true) {
            tree = tree.with_known(known)?;
        }
        // What is known has no noise, whatever its scale.
        let scales: Vec<f64> = scales[DETAILED].iter().map(|scale| scale.unwrap_or(1.0)).collect();
        let calibration = Calibration { scales, epsilon: point.epsilon, delta: point.delta.unwrap_or(0.0) };
        let counts: Arc<[i64]> = vec![0; tree.nodes()].into();
        let place = Place::Tree { inequalities: false };
        let method = exact_sampler(point.law, place)
            .ok_or_else(|| Error::parameter("law", point.law.name(), "one with an exact sampler on trees"))?;
        let key = TaskKey { seed: planned.config.seed, cell, replicate: 0, role: Role::Noise };
        let problem = Problem {
            asked: *method,
            law: point.law,
            epsilon: point.epsilon,
            calibration: &calibration,
            place: On::Tree(OnTree {
                hierarchy: &tree,
                counts: &counts,
                region: &Region::everything(),
                piece: None,
            }),
            streams: Streams { key, noise: cell, records: 0 },
        };
        let draws = method.prepare(&problem)?;
        let deviations = deviations(point, &tree, &calibration)?;
        Ok(Self { deviations, cells: areas.domain.cells() as u64, draws })
    }

    /// The noise of some cells in a replicate, each cell by a stream of its own: of every cell its errors by node. Errors: the sampler.
    pub(super) fn draw(
        &self,
        replicate: u64,
        cells: Range<u64>,
        see: impl FnMut(&dyn Fn(usize) -> f64),
    ) -> Result<()> {
        let from = replicate * self.cells;
        let out = &mut Out { crew: &Alone, sink: &mut OfNodes(see) };
        self.draws.draw(from + cells.start..from + cells.end, out)
    }
}

/// By node, the standard deviation of noise given that it adds up. Errors: noise too wide for its law to be computed, and another law.
fn deviations(point: &Point, tree: &Hierarchy, calibration: &Calibration) -> Result<Vec<f64>> {
    let of_laws = |laws: NodeLaws| (0..tree.nodes()).map(|v| libm::sqrt(laws.of(v).variance())).collect();
    match point.law.family() {
        Family::DoubleGeometric => {
            let laws: Vec<_> = calibration.laws(DoubleGeometric::new).collect::<Result<_>>()?;
            NodeLaws::on_tree(tree, &laws).map(of_laws)
        }
        Family::DiscreteGaussian => {
            let laws: Vec<_> = calibration.laws(DiscreteGaussian::new).collect::<Result<_>>()?;
            NodeLaws::on_tree(tree, &laws).map(of_laws)
        }
        // Normal noise given equations is what least squares leaves of it.
        Family::Gaussian => {
            let variance = |scale: &f64| noise(point.law, *scale).map_or(f64::NAN, |noise| noise.variance());
            let variances: Vec<f64> = calibration.scales.iter().map(variance).collect();
            Ok(L2::new(tree, &variances)?.variances().into_iter().map(libm::sqrt).collect())
        }
        _ => Err(Error::parameter(
            "law",
            point.law.name(),
            "double-geometric, discrete-gaussian or gaussian with `exact`",
        )),
    }
}
