//! The manifest: what made a run, and its commit record.

use super::{Process, SCHEMA_VERSION};
use crate::config::Preface;
use crate::failure::{Failure, Result};
use crate::files;
use crate::hash::{self, FileDigest};
use crate::table::TableDigest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// `manifest.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Layout of the folder.
    pub schema_version: u32,
    /// Name of the run.
    pub name: String,
    /// What it says of itself, in its author's words; absent where it says nothing.
    #[serde(default, skip_serializing_if = "Preface::is_empty")]
    pub about: Preface,
    /// What was done with the cells: "release", "meeting", "privacy", "profile", "frontier", "coverage", "composition" or "cube".
    pub study: String,
    /// What it was about: "hierarchy", "table", "worlds" or "tables" (trees of them).
    pub subject: String,
    /// Hash of the resolved config.
    pub config_hash: String,
    /// Master seed; of several the first.
    pub seed: u64,
    /// All master seeds, where there are several.
    #[serde(default)]
    pub seeds: Vec<u64>,
    /// The generator, and how a stream is made from a task's key.
    pub generator: String,
    /// SHA-256 of the data: shape and counts.
    pub data_digest: String,
    /// Free dimensions of a table's lattice and `ln sqrt(det(CᵀC))` of a basis C; absent for a hierarchy.
    pub lattice: Option<Lattice>,
    /// Names of the levels of a hierarchy, the root's first; none of a table.
    #[serde(default)]
    pub levels: Vec<String>,
    /// The data in words; empty without.
    #[serde(default)]
    pub data: String,
    /// What every release keeps, in words; empty without data.
    #[serde(default)]
    pub invariant: String,
    /// Counts of a release, all levels together; 0 without data.
    #[serde(default)]
    pub counts: usize,
    /// Each data set, where there are several: then `data_digest` is that of all digests, `levels` has none and `counts` is the sum.
    #[serde(default)]
    pub data_sets: Vec<DataSet>,
    /// Cells in the grid.
    pub cells: usize,
    /// Cells that failed.
    pub failed_cells: usize,
    /// By file of a table: its rows and a hash of what they hold.
    pub tables: BTreeMap<String, TableDigest>,
    /// Version of the tool.
    pub tool_version: String,
    /// Git commit that it was built from; empty if unknown.
    pub git_commit: String,
    /// Whether the tree differed from the commit when it was built; `None` if unknown.
    pub git_dirty: Option<bool>,
    /// Git's hash of what differed (`git diff --binary HEAD | git hash-object --stdin`); absent if nothing did.
    pub git_diff: Option<String>,
    /// Compiler.
    pub rustc: String,
    /// Target.
    pub target: String,
    /// The process that wrote the run.
    #[serde(flatten)]
    pub process: Process,
    /// Shards that it merged, as far as they came to their end.
    pub shards: Vec<ShardRecord>,
    /// What the results may not be used for.
    pub notice: String,
    /// By the name of every other file of the folder: what its bytes are.
    pub files: BTreeMap<String, FileDigest>,
    /// SHA-256 of the text of the manifest, in which these 64 digits are left out.
    pub manifest_sha256: String,
}

/// What a manifest says of one of several data sets: as [`Manifest`] of a single one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct DataSet {
    /// The name of the data set in the config.
    pub name: String,
    pub data: String,
    pub data_digest: String,
    pub lattice: Option<Lattice>,
    pub levels: Vec<String>,
    pub invariant: String,
    pub counts: usize,
}

/// A shard that came to its end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShardRecord {
    /// The number of the shard, from 1.
    pub shard: u64,
    /// The number of all shards.
    pub of: u64,
    /// The number of batches that were its own.
    pub batches: usize,
    /// The process that drew them.
    #[serde(flatten)]
    pub process: Process,
}

/// The lattice that noise on a table lives on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Lattice {
    /// m = d - rank.
    pub dimension: usize,
    /// `ln sqrt(det(CᵀC))`.
    pub log_volume: f64,
}

/// What a manifest says of the run's content.
#[derive(Debug, Clone)]
pub struct About {
    /// Name of the run.
    pub name: String,
    /// What the study says of itself.
    pub preface: Preface,
    /// The kind of study.
    pub study: &'static str,
    /// The kind of subject of the study.
    pub subject: &'static str,
    /// Hash of the config.
    pub config_hash: String,
    /// Master seeds; not empty.
    pub seeds: Vec<u64>,
    /// Digest of the data; empty without.
    pub data_digest: String,
    /// Lattice of a table.
    pub lattice: Option<Lattice>,
    /// Names of the levels of a hierarchy.
    pub levels: Vec<String>,
    /// The data in words.
    pub data: String,
    /// What every release keeps, in words.
    pub invariant: String,
    /// Counts of a release.
    pub counts: usize,
    /// Each data set, where there are several.
    pub data_sets: Vec<DataSet>,
    /// Cells of the grid.
    pub cells: usize,
}

/// What every manifest has.
#[derive(Deserialize)]
struct Version {
    schema_version: u32,
    #[serde(default)]
    tool_version: String,
    #[serde(default)]
    git_commit: String,
    #[serde(default)]
    manifest_sha256: String,
}

impl Manifest {
    /// The name of a level, from 1; a table has one.
    pub fn level(&self, level: u32) -> String {
        match self.levels.get(level.saturating_sub(1) as usize) {
            Some(name) => name.clone(),
            None if self.levels.is_empty() && level == 1 => "all entries".into(),
            None => format!("level {level}"),
        }
    }

    /// The manifest with what it says of one of its data sets; all of it if it has none of this name.
    pub fn of_data(&self, name: &str) -> Self {
        let one = self.clone();
        match self.data_sets.iter().find(|set| set.name == name).cloned() {
            None => one,
            Some(DataSet { data, data_digest, lattice, levels, invariant, counts, .. }) => {
                Self { data, data_digest, lattice, levels, invariant, counts, ..one }
            }
        }
    }

    /// The master seeds in words.
    pub fn seed_words(&self) -> String {
        match &self.seeds[..] {
            [] => self.seed.to_string(),
            all => span_of_seeds(all),
        }
    }

    /// Describes a finished run.
    pub fn new(about: About, failed_cells: usize, process: Process, shards: Vec<ShardRecord>) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            name: about.name,
            about: about.preface,
            study: about.study.into(),
            subject: about.subject.into(),
            config_hash: about.config_hash,
            seed: about.seeds[0],
            seeds: if about.seeds.len() > 1 { about.seeds } else { Vec::new() },
            generator: "xoshiro256++, seeded by SHA-256 of (seed, cell, replicate, role)".into(),
            data_digest: about.data_digest,
            lattice: about.lattice,
            levels: about.levels,
            data: about.data,
            invariant: about.invariant,
            counts: about.counts,
            data_sets: about.data_sets,
            cells: about.cells,
            failed_cells,
            tables: BTreeMap::new(),
            tool_version: env!("CARGO_PKG_VERSION").into(),
            git_commit: env!("CONGENIAL_GIT_COMMIT").into(),
            git_dirty: match env!("CONGENIAL_GIT_DIRTY") {
                "yes" => Some(true),
                "no" => Some(false),
                _ => None,
            },
            git_diff: Some(env!("CONGENIAL_GIT_DIFF").to_owned()).filter(|hash| !hash.is_empty()),
            rustc: env!("CONGENIAL_RUSTC").into(),
            target: env!("CONGENIAL_TARGET").into(),
            process,
            shards,
            notice: "Seeded, predictable generator and floating-point noise: for experiments, not for releasing real data."
                .into(),
            files: BTreeMap::new(),
            manifest_sha256: String::new(),
        }
    }

    /// The text of `manifest.json`, with its own hash.
    pub fn text(&self) -> String {
        let open = Self { manifest_sha256: String::new(), ..self.clone() };
        sealed(&serde_json::to_string_pretty(&open).expect("a manifest has only plain fields"))
    }

    /// Reads the manifest of a run folder.
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join("manifest.json");
        if !path.exists() {
            let runs = files::listed(folder).into_iter().flatten().map(|entry| entry.path());
            let mut runs: Vec<_> = runs.filter(|path| path.join("manifest.json").exists()).collect();
            runs.sort();
            if !runs.is_empty() {
                let names: Vec<String> = runs.iter().map(|run| run.display().to_string()).collect();
                let message = format!("it is no run, but has runs in it: {}", names.join(", "));
                return Err(Failure::data(folder, message));
            }
        }
        let text = files::text(&path, "cannot read (is this the folder of a complete run?)")?;
        Self::parse(&path, &text)
    }

    /// The manifest in a text; `path` is its name in messages.
    pub fn parse(path: &Path, text: &str) -> Result<Self> {
        let bad = |e: serde_json::Error| Failure::data(path, format!("not a manifest: {e}"));
        // The version first: another one may have other fields.
        let Version { schema_version, tool_version, git_commit, manifest_sha256 } =
            serde_json::from_str(text).map_err(bad)?;
        if schema_version != SCHEMA_VERSION {
            let commit =
                if git_commit.is_empty() { String::new() } else { format!(" of commit {git_commit}") };
            let message = format!(
                "schema version {schema_version}, this tool reads {SCHEMA_VERSION}: read it with the tool that wrote it (congenial \
                 {tool_version}{commit}), or run its config.toml again into another folder"
            );
            return Err(Failure::data(path, message));
        }
        let found = hash_without(text, &manifest_sha256);
        if found != manifest_sha256 {
            let message = format!(
                "it is not what the run wrote: its hash is {}, it says {}",
                short(&found),
                short(&manifest_sha256)
            );
            return Err(Failure::data(path, message));
        }
        let manifest: Self = serde_json::from_str(text).map_err(bad)?;
        let hash = &manifest.config_hash;
        if hash.len() != 16 || !hash.bytes().all(|c| c.is_ascii_hexdigit()) {
            let message = format!("config_hash: got `{hash}`, want 16 hexadecimal digits");
            return Err(Failure::data(path, message));
        }
        if let Some(table) = manifest.tables.keys().find(|table| !manifest.files.contains_key(*table)) {
            return Err(Failure::data(path, format!("tables: `{table}` is not among the files")));
        }
        Ok(manifest)
    }

    /// The revision that made the run, for people.
    pub fn revision(&self) -> String {
        let commit = if self.git_commit.is_empty() { "unknown commit" } else { &self.git_commit };
        let dirty = if self.git_dirty == Some(true) { " with uncommitted changes" } else { "" };
        format!("congenial {} ({commit}{dirty})", self.tool_version)
    }
}

/// SHA-256 of a manifest's text without its own hash.
fn hash_without(text: &str, hash: &str) -> String {
    hash::of_bytes(text.replacen(&format!("\"{hash}\""), "\"\"", 1))
}

/// A manifest's text, in which the hash is empty, with its hash.
pub fn sealed(text: &str) -> String {
    let (before, after) = text.split_once("\"manifest_sha256\"").expect("a manifest has the key");
    let hash = hash_without(text, "");
    format!("{before}\"manifest_sha256\"{}", after.replacen("\"\"", &format!("\"{hash}\""), 1))
}

/// The first digits of a hash, for people.
pub(super) fn short(hash: &str) -> String {
    format!("{}…", hash.chars().take(16).collect::<String>())
}

/// Seeds in words: the first and last of those that follow each other.
fn span_of_seeds(seeds: &[u64]) -> String {
    let follow = seeds.windows(2).all(|pair| pair[0].checked_add(1) == Some(pair[1]));
    match seeds {
        [first, .., last] if follow && seeds.len() > 2 => format!("{first} to {last}"),
        _ => seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::{Manifest, sealed};
    use std::path::Path;

    fn read(text: &str) -> Result<Manifest, String> {
        Manifest::parse(Path::new("manifest.json"), text).map_err(|e| e.to_string())
    }

    /// The hash names runs by its first digits: a short one is refused.
    #[test]
    fn hashes_have_16_digits() {
        let text = include_str!("../../fuzz/seeds/manifest.json");
        read(&sealed(text)).unwrap();
        for hash in ["", "0123", "0123456789abcdeg", "0123456789abcdé"] {
            let refused = read(&sealed(&text.replace("0123456789abcdef", hash))).unwrap_err();
            assert_eq!(
                refused,
                format!("manifest.json: config_hash: got `{hash}`, want 16 hexadecimal digits")
            );
        }
        let refused =
            read(&sealed(&text.replace("\"errors.parquet\":{\"b", "\"other.parquet\":{\"b"))).unwrap_err();
        assert_eq!(refused, "manifest.json: tables: `errors.parquet` is not among the files");
    }

    /// No bit of a manifest can change, nor its hash be left out.
    #[test]
    fn every_bit_counts() {
        let open = include_str!("../../fuzz/seeds/manifest.json");
        let text = sealed(open);
        assert_eq!(read(&text).unwrap().text(), read(&read(&text).unwrap().text()).unwrap().text());
        assert!(read(open).unwrap_err().contains("it is not what the run wrote"));
        for at in 0..8 * text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[at / 8] ^= 1 << (at % 8);
            if let Ok(changed) = String::from_utf8(bytes) {
                assert!(read(&changed).is_err(), "{at}");
            }
        }
    }
}
