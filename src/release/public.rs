//! What is published beside the noisy counts: public functions of the noisy file, which anybody can repeat.

use super::config::{Config, Table};
use crate::failure::{Failure, Result};
use crate::files;
use crate::hash;
use crate::hash::FileDigest;
use crate::imaging::{BlueDown, BlueDownScratch, TopDown, TopDownScratch};
use crate::infer::{self, Inferred, Noisy, Structure, Wish};
use crate::invariant::Hierarchy;
use crate::page::field;
use crate::rng::{Role, TaskKey, stream};
use std::path::Path;

/// The noisy file, the table and the intervals in a folder.
pub(super) const NOISY: &str = "noisy.parquet";
/// See [`NOISY`].
pub(super) const TABLE: &str = "table.csv";
/// See [`NOISY`].
pub(super) const INTERVALS: &str = "intervals.parquet";
/// The cell of the streams: no run has it.
const CELL: u64 = 0x7265_6c65_6173_6564;
/// What stands beside a value outside its interval.
const OUTSIDE: &str = "outside its interval";

/// The files beside the noisy one that a config wants.
pub(super) fn names(config: &Config) -> impl Iterator<Item = &'static str> {
    let table = (config.publish.table != Table::None).then_some(TABLE);
    table.into_iter().chain(config.publish.intervals.map(|_| INTERVALS))
}

/// Writes the table and the intervals of the noisy file `noisy` into `folder`, as far as a config wants them ([`names`]).
/// What is random in them (draws of errors, ties) has the file's hash for its seed. Errors: the disk.
pub(super) fn write(config: &Config, noisy: &Path, folder: &Path) -> Result<()> {
    let seed = hash::word(&FileDigest::of(noisy)?.sha256);
    let inferred = config.publish.intervals.map(|level| {
        let wish = Wish { levels: config.data.levels.clone(), level, seed, ..Wish::of(noisy.to_owned()) };
        infer::infer(&wish)
    });
    let inferred = inferred.transpose()?;
    if config.publish.table != Table::None {
        let read = Noisy::read(noisy, &config.data.levels, None)?;
        let values = projected(&read, config.publish.table, seed)?;
        files::replace_file(folder, TABLE, |file| {
            files::write_csv(file, &folder.join(TABLE), rows(&read, &values, inferred.as_ref()))
        })?;
    }
    if let Some(inferred) = &inferred {
        files::replace_file(folder, INTERVALS, |file| {
            infer::parquet(inferred, file, &folder.join(INTERVALS))
        })?;
    }
    Ok(())
}

/// The noisy counts of all nodes made to add up. Known counts stay. Errors: the variances.
pub(super) fn projected(noisy: &Noisy, table: Table, seed: u64) -> Result<Vec<f64>> {
    let refused = |e: crate::Error| Failure::data(&noisy.path, e.to_string());
    let Structure::Tree(nodes) = &noisy.structure else {
        return Err(Failure::data(&noisy.path, "no tree"));
    };
    let tree = &nodes.tree;
    let key = TaskKey { seed, cell: CELL, replicate: 0, role: Role::Noise };
    let mut rng = stream(key);
    let whole = |values: &[f64]| values.iter().map(|&value| value as i64).collect::<Vec<i64>>();
    let released: Vec<i64> = whole(&noisy.values);
    let mut out = vec![0i64; released.len()];
    match table {
        Table::None | Table::L2 => return infer::settled(noisy).map_err(refused),
        Table::TopDown => {
            TopDown::new(tree, &released).release(
                &released,
                &mut rng,
                &mut TopDownScratch::default(),
                &mut out,
            );
        }
        Table::BlueDown => {
            let variances = noisy.variances().map_err(refused)?;
            let base = base(tree, &released);
            let noise: Vec<i64> = released.iter().zip(&base).map(|(value, base)| value - base).collect();
            let image = BlueDown::new(tree, &variances, &base).map_err(refused)?;
            image.release(&base, &noise, &mut rng, &mut BlueDownScratch::default(), &mut out);
        }
    }
    Ok(out.iter().map(|&count| count as f64).collect())
}

/// Counts near those that were released which add up and are those of known nodes: leaves as they were released, and below a known node
/// the rest in one of them.
fn base(tree: &Hierarchy, released: &[i64]) -> Vec<i64> {
    let mut base = released.to_vec();
    // A leaf that is not known, by node.
    let mut open: Vec<Option<usize>> = vec![None; tree.nodes()];
    for v in (0..tree.nodes()).rev() {
        if tree.is_leaf(v) {
            open[v] = (!tree.is_known(v)).then_some(v);
            continue;
        }
        let sum: i64 = tree.children(v).map(|child| base[child]).sum();
        let leaf = tree.children(v).find_map(|child| open[child]);
        if let (true, Some(leaf)) = (tree.is_known(v), leaf) {
            let mut node = leaf;
            while node != v {
                base[node] += released[v] - sum;
                node = tree.parent(node);
            }
        } else {
            base[v] = sum;
            open[v] = leaf;
        }
    }
    base
}

/// Keys, value, and with intervals low, high, and a note where the value is not in its interval.
fn rows(noisy: &Noisy, values: &[f64], inferred: Option<&Inferred>) -> impl Iterator<Item = Vec<String>> {
    let own: &[&str] = if inferred.is_some() { &["value", "low", "high", "note"] } else { &["value"] };
    let header = noisy.columns.iter().map(String::as_str).chain(own.iter().copied()).map(str::to_owned);
    let row = move |(v, value): (usize, &f64)| {
        let mut row: Vec<String> = noisy.keys(v).into_iter().map(|key| field(key).into_owned()).collect();
        row.push(value.to_string());
        if let Some(interval) = inferred.map(|inferred| &inferred.intervals[v]) {
            let inside = interval.low <= *value && *value <= interval.high;
            row.extend(whole(interval.low, interval.high).map(|end| end.to_string()));
            row.push(if inside { String::new() } else { OUTSIDE.to_owned() });
        }
        row
    };
    std::iter::once(header.collect()).chain(values.iter().enumerate().map(row))
}

/// The ends of the whole numbers in an interval: counts are whole. Without one in it the ends themselves.
fn whole(low: f64, high: f64) -> [f64; 2] {
    // No rounding may leave out a whole number.
    let (least, most) = (libm::ceil(low - 1e-9), libm::floor(high + 1e-9));
    // Sums with 0 have no -0.
    if least <= most { [least + 0.0, most + 0.0] } else { [low + 0.0, high + 0.0] }
}
