//! The noisy file of a release.

use super::config::Config;
use super::statement::Statement;
use crate::catalogue::{LawKind, Method, MethodKind, Place};
use crate::failure::{Failure, Result};
use crate::infer::{self, Nodes, Noisy, Structure};
use crate::input::NoisyRow;
use crate::invariant::Hierarchy;
use crate::table::{Writer, unwritten};
use std::fs::File;
use std::path::Path;

/// Writes what was released of all nodes: their keys, value, law and scale, whether they are known, and the method. Errors: the disk.
pub(super) fn write<'a>(
    file: File,
    path: &Path,
    (config, statement): (&Config, &Statement),
    (tree, keys): (&Hierarchy, &dyn Fn(usize) -> Vec<&'a str>),
    released: &[i64],
) -> Result<()> {
    let (failed, privacy) = (|e| unwritten(path, e), &config.privacy);
    let fields = NoisyRow::fields(config.data.levels.iter().map(String::as_str), true);
    let mut writer = Writer::new(file, fields, &[]).map_err(failed)?;
    let (law, method) = (privacy.law.name(), method(privacy.law, privacy.conditioned)?.name());
    for (v, value) in released.iter().enumerate() {
        let (scale, known) = (statement.scale(tree.level(v)), tree.is_known(v));
        let row = NoisyRow { law, scale, known, method, options: "" };
        row.put(&keys(v), *value, writer.row().map_err(failed)?);
    }
    writer.finish().map(drop).map_err(failed)
}

/// A noisy file before anything was drawn: its values are 0. Errors: a law that has none.
pub(super) fn blank(config: &Config, nodes: Nodes, statement: &Statement) -> Result<Noisy> {
    let privacy = &config.privacy;
    Ok(Noisy {
        path: config.path.clone(),
        columns: config.data.levels.clone(),
        values: vec![0.0; nodes.tree.nodes()],
        integers: true,
        law: privacy.law,
        assumed: false,
        scales: (0..nodes.tree.levels()).map(|level| statement.scale(level)).collect(),
        method: method(privacy.law, privacy.conditioned)?,
        structure: Structure::Tree(nodes),
    })
}

/// What `infer` knows the noise by: noise alone, or noise given the equations.
fn method(law: LawKind, conditioned: bool) -> Result<Method> {
    let place = Place::Tree { inequalities: false };
    let found = match conditioned {
        false => MethodKind::ALL
            .iter()
            .find(|kind| kind.is_free())
            .map(|kind| kind.with(|option| option.default())),
        true => infer::exact_sampler(law, place),
    };
    found.ok_or_else(|| Failure::Usage(format!("no noisy file has {} noise", law.name())))
}
