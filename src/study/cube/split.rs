//! The split of the budget over queries and levels, for a better one.

use super::Planned;
use super::config::{CubeConfig, Point, Way};
use super::draw::{budget, given, scales, variance, variances};
use crate::config::tables::Measured;
use crate::cube::{Gls, Measurements};
use crate::design::{Answers, TableAnswers, of_queries};
use crate::failure::{Failure, Result};
use crate::privacy::Split;
use crate::study::splitting::{Place, Splitting};

/// Queries of levels: level and query.
type Places = Vec<(usize, usize)>;

/// What the budget is split over: the queries of all levels that have shares.
///
/// Errors: cells with different noise, of which each has a best split of its own; none whose answers least squares give.
pub(super) fn splitting(planned: &Planned) -> Result<Splitting<'static>> {
    let config = &planned.config;
    let refused = |e: crate::Error| Failure::Usage(format!("{}: {e}", config.path.display()));
    let point = noise(config)?;
    let areas = &planned.areas;
    let gls = scales(planned, point).and_then(|scales| {
        let variances = variances(planned, point, &scales)?;
        Gls::new(&areas.list.tree, Measurements::new(&areas.domain, areas.queries.clone(), variances)?)
    });
    let gls = gls.map_err(refused)?;
    let (asked, others) = asked(planned, &gls).map_err(refused)?;
    if asked.is_empty() {
        let path = config.path.display();
        return Err(Failure::Usage(format!(
            "{path}: query.asked: no answer is asked for, want levels of some query"
        )));
    }
    let answers = |places: Places| -> crate::Result<(TableAnswers, Vec<Place>)> {
        let names = places.iter().map(|&place| words(config, place)).collect();
        Ok((TableAnswers::new(gls.clone(), places)?, names))
    };
    let ((asked, asked_names), (others, other_names)) =
        (answers(asked).map_err(refused)?, answers(others).map_err(refused)?);
    let measured = asked.places().iter().map(|&place| words(config, place)).collect();
    let scale = budget(point, Split::Each).scale().map_err(refused)?;
    let law = point.law;
    let mut beside = Vec::new();
    for other in config.points.iter().filter(|point| !is_served(point)).map(Point::method_words) {
        if !beside.contains(&other) {
            beside.push(other);
        }
    }
    Ok(Splitting {
        law: law.name(),
        total: (point.epsilon, point.delta.unwrap_or(0.0)),
        sensitivity: 1.0,
        measured,
        given: Some(given(planned.queries())),
        asked: (Box::new(asked) as Box<dyn Answers>, asked_names),
        others: (Box::new(others) as Box<dyn Answers>, other_names),
        beside,
        variance: Box::new(move |share| variance(law, scale(share))),
    })
}

/// Whether least squares give the answers of a cell.
fn is_served(point: &Point) -> bool {
    matches!(point.method, Way::Gls | Way::Exact)
}

/// A cell with the noise of all. Errors: cells with different noise; none whose answers least squares give.
fn noise(config: &CubeConfig) -> Result<&Point> {
    let refuse = |why: String| Err(Failure::Usage(format!("{}: {why}", config.path.display())));
    let Some(point) = config.points.iter().find(|point| is_served(point)) else {
        return refuse("no method answers by least squares: want `gls`".into());
    };
    let noise = |point: &Point| (point.law.name(), point.epsilon.to_bits(), point.delta.map(f64::to_bits));
    match config.points.iter().find(|other| noise(other) != noise(point)) {
        None => Ok(point),
        Some(other) => refuse(format!(
            "all cells have the shares of the queries, and each noise has best ones of its own: want one law, epsilon and delta; got {} \
             and {}",
            point.words(),
            other.words()
        )),
    }
}

/// Levels and queries whose answers are asked for, and the others, level by level; of what is known, or follows from it, there are none.
fn asked(planned: &Planned, gls: &Gls) -> crate::Result<(Places, Places)> {
    let queries = planned.queries();
    let levels = 0..planned.areas.list.tree.levels();
    let all: Places = levels.flat_map(|level| (0..queries.len()).map(move |query| (level, query))).collect();
    let answers = TableAnswers::new(gls.clone(), all.clone())?;
    // What is known has none, whatever the noise.
    let largest = of_queries(&answers, &vec![1.0; answers.measured()])?;
    let open =
        all.into_iter().zip(largest).filter(|(_, one)| one.largest.value > 0.0).map(|(place, _)| place);
    Ok(open.partition(|(level, query)| {
        queries[*query].wanted.as_ref().is_none_or(|wanted| wanted.contains(level))
    }))
}

fn words(config: &CubeConfig, (level, query): (usize, usize)) -> Place {
    let tables = &config.data.tables;
    Place { level: Some(tables.levels[level].clone()), query: Some(tables.queries[query].name.clone()) }
}

impl CubeConfig {
    /// The text with other shares, query by query, and level by level in each.
    pub(super) fn with_shares(&self, shares: &[f64]) -> String {
        let mut document: toml_edit::DocumentMut = self.resolved().parse().expect("it was written");
        let mut shares = shares.iter();
        for (query, asked) in self.data.tables.queries.iter().enumerate() {
            let mut own = toml_edit::InlineTable::new();
            for (level, measured) in self.data.tables.levels.iter().zip(&asked.measured) {
                if let Measured::Share(_) = measured {
                    own.insert(level, shares.next().copied().unwrap_or(0.0).into());
                }
            }
            // What is known of totals alone stands after the queries of the file.
            if !own.is_empty() {
                document["query"][query]["shares"] = toml_edit::value(own);
            }
        }
        document.to_string()
    }
}
