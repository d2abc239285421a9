//! Simulated persons: tables of attributes in the leaves of a layout, sparse and clustered.

use crate::failure::{Failure, Result};
use crate::rng::{Stream, geometric, open01};
use std::collections::BTreeMap;
use std::path::Path;

/// A mean at most, and a size.
const MOST: (f64, u32) = (1e6, 1_000_000);

/// Classes of persons.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    class: Vec<WireClass>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct WireClass {
    /// Of what, for readers alone.
    #[serde(rename = "name")]
    _name: Option<String>,
    /// The share of leaves that have any of them.
    leaves: f64,
    /// How many a leaf has of them that has any: the mean of a negative binomial law.
    mean: f64,
    /// Its size.
    #[serde(default = "one")]
    size: u32,
    /// By attribute, weights of its categories.
    attributes: BTreeMap<String, BTreeMap<String, f64>>,
}

fn one() -> u32 {
    1
}

/// Persons of one kind.
struct Class {
    leaves: f64,
    /// Of a geometric law of which `size` make the number of persons.
    scale: f64,
    size: u32,
    /// By attribute, sums of weights up to each category.
    sums: Vec<Vec<(u32, f64)>>,
}

/// What persons there are.
pub(super) struct Persons {
    /// Attributes, each with its categories.
    pub(super) attributes: Vec<(String, Vec<String>)>,
    classes: Vec<Class>,
}

impl Persons {
    /// Reads classes of persons from TOML.
    ///
    /// Refused: no class, shares of leaves that are not in (0, 1], means that are not above 0, classes with different attributes, weights
    /// below 0 or all 0.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let text = crate::files::text(path, "cannot read the persons")?;
        let wire: Wire = toml::from_str(&text).map_err(|e| Failure::data(path, e.message().to_owned()))?;
        let refused =
            |number: usize, message: String| Failure::data(path, format!("class {}: {message}", number + 1));
        let Some(first) = wire.class.first() else {
            return Err(Failure::data(path, "no [[class]], want one at least"));
        };
        let names: Vec<&String> = first.attributes.keys().collect();
        let mut attributes: Vec<(String, Vec<String>)> =
            names.iter().map(|name| ((*name).clone(), Vec::new())).collect();
        let mut classes = Vec::new();
        for (number, class) in wire.class.iter().enumerate() {
            let refused = |message: String| refused(number, message);
            if !(class.leaves > 0.0 && class.leaves <= 1.0) {
                return Err(refused(format!("leaves = {}, want a share in (0, 1]", class.leaves)));
            }
            let is_good = class.mean > 0.0 && class.mean <= MOST.0 && (1..=MOST.1).contains(&class.size);
            if !is_good {
                let (mean, size) = (class.mean, class.size);
                return Err(refused(format!(
                    "mean = {mean}, size = {size}: want a mean in (0, 10^6] and a size from 1 to 10^6"
                )));
            }
            if !class.attributes.keys().eq(names.iter().copied()) {
                let own: Vec<&str> = class.attributes.keys().map(String::as_str).collect();
                return Err(refused(format!("attributes {}, want those of the first class", own.join(", "))));
            }
            let mut sums = Vec::new();
            for ((name, weights), (_, categories)) in class.attributes.iter().zip(&mut attributes) {
                let mut sum = 0.0;
                let mut own = Vec::new();
                for (category, &weight) in weights {
                    if !(weight >= 0.0 && weight.is_finite()) {
                        return Err(refused(format!("{name}.{category} = {weight}, want a weight >= 0")));
                    }
                    let place = categories.iter().position(|known| known == category).unwrap_or_else(|| {
                        categories.push(category.clone());
                        categories.len() - 1
                    });
                    sum += weight;
                    own.push((place as u32, sum));
                }
                if sum <= 0.0 {
                    return Err(refused(format!("{name}: want a weight above 0")));
                }
                sums.push(own);
            }
            // A geometric law with the mean m has exp(-1/scale) = m/(1 + m).
            let mean = class.mean / f64::from(class.size);
            let scale = 1.0 / libm::log1p(1.0 / mean);
            classes.push(Class { leaves: class.leaves, scale, size: class.size, sums });
        }
        Ok(Self { attributes, classes })
    }

    /// Draws the persons of a leaf: its cells that are not 0, in order, each with the numbers of its categories.
    pub(super) fn draw(&self, rng: &mut Stream) -> BTreeMap<Vec<u32>, i64> {
        let mut cells = BTreeMap::new();
        for class in &self.classes {
            if open01(rng) >= class.leaves {
                continue;
            }
            let number: i64 = (0..class.size).map(|_| geometric(rng, class.scale)).sum();
            for _ in 0..number {
                let category = |sums: &Vec<(u32, f64)>| {
                    let total = sums.last().map_or(0.0, |(_, sum)| *sum);
                    let at = open01(rng) * total;
                    sums[sums.partition_point(|(_, sum)| *sum <= at).min(sums.len() - 1)].0
                };
                *cells.entry(class.sums.iter().map(category).collect()).or_insert(0) += 1;
            }
        }
        cells
    }
}
