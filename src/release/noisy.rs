//! The noisy file of a release.

use super::config::{Config, Privacy};
use super::domain::Domain;
use super::statement::Statement;
use crate::catalogue::{LawKind, Method, MethodKind, Place};
use crate::failure::{Failure, Result};
use crate::infer::{self, Nodes, Noisy, Structure};
use crate::table::{Field, Kind, Value, Writer, unwritten};
use std::fs::File;
use std::path::Path;

/// Writes what was released of all nodes: their keys, value, law and scale, whether they are known, and the method. Errors: the disk.
pub(super) fn write(
    file: File,
    path: &Path,
    (levels, domain): (&[String], &Domain),
    (privacy, statement): (&Privacy, &Statement),
    released: &[i64],
) -> Result<()> {
    let failed = |e| unwritten(path, e);
    let keys = levels.iter().map(|level| Field::new(level, Kind::Text));
    let kinds = [Kind::I64, Kind::Text, Kind::F64, Kind::Bool, Kind::Text, Kind::Text];
    let names = ["value", "law", "scale", "known", "method", "options"];
    let own = names.iter().zip(kinds).map(|(name, kind)| Field::new(name, kind));
    let mut writer = Writer::new(file, keys.chain(own).collect(), &[]).map_err(failed)?;
    let method = method(privacy.law, privacy.conditioned)?.name();
    for (v, value) in released.iter().enumerate() {
        let columns = writer.row().map_err(failed)?;
        let (of_keys, own) = columns.split_at_mut(levels.len());
        of_keys.iter_mut().zip(domain.keys(v)).for_each(|(column, key)| column.put_text(key.as_bytes()));
        value.put(&mut own[0]);
        own[1].put_text(privacy.law.name().as_bytes());
        statement.scale(domain.tree.level(v)).put(&mut own[2]);
        domain.tree.is_known(v).put(&mut own[3]);
        own[4].put_text(method.as_bytes());
        own[5].put_text(b"");
    }
    writer.finish().map(drop).map_err(failed)
}

/// A noisy file before anything was drawn: its values are 0. Errors: a law that has none.
pub(super) fn blank(config: &Config, domain: &Domain, statement: &Statement) -> Result<Noisy> {
    let (tree, privacy) = (&domain.tree, &config.privacy);
    let names = (0..tree.nodes()).map(|v| domain.name(v).to_owned()).collect();
    Ok(Noisy {
        path: config.data.domain.clone(),
        columns: config.data.levels.clone(),
        structure: Structure::Tree(Nodes { tree: tree.clone(), names }),
        values: vec![0.0; tree.nodes()],
        integers: true,
        law: privacy.law,
        assumed: false,
        scales: (0..tree.levels()).map(|level| statement.scale(level)).collect(),
        method: method(privacy.law, privacy.conditioned)?,
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
