//! The config of a study of composition: finite worlds, without data and grid.

use crate::config::wire::{Axis, WireCompare, WirePublished};
use crate::config::{Checker, Preface, Thresholds};
use crate::failure::Result;
use crate::grid::absolute;
use crate::worlds::Settings;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// A study of composition on finite worlds.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Wire {
    /// Name of the run: part of the folder's name.
    #[schemars(with = "String")]
    name: Spanned<String>,
    /// Master seed.
    seed: u64,
    /// "composition"
    #[serde(rename = "study")]
    #[schemars(extend("enum" = ["composition"]))]
    _study: String,
    /// What is checked.
    #[schemars(with = "WireWorlds")]
    worlds: Spanned<WireWorlds>,
    /// What the study says of itself; no figure depends on it.
    #[serde(default)]
    about: Preface,
    /// How `compare` judges runs of this config.
    #[serde(default)]
    compare: WireCompare,
    /// What the report adds.
    #[serde(default)]
    report: WirePublished,
}

/// `[worlds]`
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct WireWorlds {
    /// Worlds of a random example, 3 to 64.
    worlds: Axis<usize>,
    /// Random examples of every statement.
    cases: u64,
    /// Level of the mechanisms.
    epsilon: Axis<f64>,
}

/// A checked config of a study of composition.
#[derive(Debug, Clone)]
pub struct WorldsConfig {
    /// Name of the run.
    pub name: String,
    /// Master seed.
    pub seed: u64,
    /// What is checked, one after another.
    pub settings: Vec<Settings>,
    /// What the study says of itself.
    pub about: Preface,
    /// How runs are compared.
    pub compare: Thresholds,
    /// Published figures to print beside ours.
    pub published: Option<PathBuf>,
    /// The text of the file as given, and with overrides applied.
    pub given: String,
    /// See `given`.
    pub text: String,
    /// The file.
    pub path: PathBuf,
}

impl WorldsConfig {
    /// The text with an absolute path of what it names: it is run from another folder.
    pub(super) fn resolved(&self) -> String {
        let Some(published) = &self.published else { return self.text.clone() };
        let mut document: toml_edit::DocumentMut = self.text.parse().expect("it was read before");
        document["report"]["published"] = toml_edit::value(absolute(published));
        document.to_string()
    }
}

/// Checks the config.
pub(super) fn check(checker: &Checker) -> Result<WorldsConfig> {
    let wire: Wire = checker.parse()?;
    checker.name("name", &wire.name)?;
    let WireWorlds { worlds, cases, epsilon } = wire.worlds.get_ref();
    let mut settings = Vec::new();
    let mut seen = HashSet::new();
    let (lengths, place) = ([worlds.0.len(), epsilon.0.len()], wire.worlds.span());
    checker.product(0, &[("worlds", lengths[0], place.clone()), ("epsilon", lengths[1], place)])?;
    for &worlds in &worlds.0 {
        for &epsilon in &epsilon.0 {
            let one = Settings { worlds, cases: *cases, epsilon };
            one.check().map_err(|e| {
                checker.error(e.to_string(), wire.worlds.span(), "want settings within these limits")
            })?;
            if !seen.insert((worlds, epsilon.to_bits())) {
                let message = format!("worlds: got {worlds} worlds at epsilon {epsilon} twice");
                return Err(checker.error(message, wire.worlds.span(), "want every setting once"));
            }
            settings.push(one);
        }
    }
    if settings.is_empty() {
        return Err(checker.error(
            "worlds: nothing to check",
            wire.worlds.span(),
            "want at least one value of each",
        ));
    }
    Ok(WorldsConfig {
        name: wire.name.get_ref().clone(),
        seed: wire.seed,
        settings,
        about: wire.about.clone(),
        compare: checker.thresholds(&wire.compare)?,
        published: wire
            .report
            .published
            .as_ref()
            .map(|published| checker.path.parent().unwrap_or(Path::new(".")).join(published.get_ref())),
        given: checker.given.to_owned(),
        text: checker.text.to_owned(),
        path: checker.path.to_owned(),
    })
}
