//! The manifest: what made a run, and its commit record.

use super::{SCHEMA_VERSION, TableDigest};
use crate::failure::{Failure, Result};
use crate::grid::Plan;
use crate::input::Subject;
use crate::privacy::LatticeShape;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// `manifest.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Layout of the folder.
    pub schema_version: u32,
    /// Name of the run.
    pub name: String,
    /// What was done with the cells: "release" or "meeting".
    pub study: String,
    /// What it was about: "hierarchy" or "table".
    pub subject: String,
    /// Hash of the resolved config.
    pub config_hash: String,
    /// Master seed.
    pub seed: u64,
    /// The generator, and how a stream is made from a task's key.
    pub generator: String,
    /// SHA-256 of the data: shape and counts.
    pub data_digest: String,
    /// Free dimensions of a table's lattice and `ln sqrt(det(CᵀC))` of a basis C; absent for a hierarchy.
    pub lattice: Option<Lattice>,
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
    /// Compiler.
    pub rustc: String,
    /// Target.
    pub target: String,
    /// Name of the machine.
    pub host: String,
    /// Threads of the pool.
    pub threads: usize,
    /// Start, UTC.
    pub started: String,
    /// Wall-clock time, seconds.
    pub seconds: f64,
    /// What the results may not be used for.
    pub notice: String,
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
    /// The study.
    pub study: &'static str,
    /// Its subject.
    pub subject: &'static str,
    /// Hash of the config.
    pub config_hash: String,
    /// Master seed.
    pub seed: u64,
    /// Digest of the data; empty without.
    pub data_digest: String,
    /// Lattice of a table.
    pub lattice: Option<Lattice>,
    /// Cells of the grid.
    pub cells: usize,
}

impl About {
    /// A plan.
    pub fn plan(plan: &Plan) -> Self {
        Self {
            name: plan.config.name.clone(),
            study: plan.config.study.name(),
            subject: plan.subject.name(),
            config_hash: plan.hash(),
            seed: plan.config.seed,
            data_digest: plan.subject.digest().to_owned(),
            lattice: match &plan.subject {
                Subject::Hierarchy(_) => None,
                Subject::Table(table) => LatticeShape::of(&table.invariant)
                    .ok()
                    .map(|LatticeShape { dimension, log_volume }| Lattice { dimension, log_volume }),
            },
            cells: plan.cells.len(),
        }
    }
}

impl Manifest {
    /// Describes a finished run.
    pub fn new(
        about: About,
        failed_cells: usize,
        threads: usize,
        started: SystemTime,
        elapsed: Duration,
    ) -> Self {
        let since = started.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
        let host = host.or_else(|| std::env::var("HOSTNAME").ok()).unwrap_or_default();
        Self {
            schema_version: SCHEMA_VERSION,
            name: about.name,
            study: about.study.into(),
            subject: about.subject.into(),
            config_hash: about.config_hash,
            seed: about.seed,
            generator: "xoshiro256++, seeded by SHA-256 of (seed, cell, replicate, role)".into(),
            data_digest: about.data_digest,
            lattice: about.lattice,
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
            rustc: env!("CONGENIAL_RUSTC").into(),
            target: env!("CONGENIAL_TARGET").into(),
            host: host.trim().into(),
            threads,
            started: utc(since),
            seconds: elapsed.as_secs_f64(),
            notice: "Seeded, predictable generator and floating-point noise: for experiments, not for releasing real data."
                .into(),
        }
    }

    /// Reads the manifest of a run folder.
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join("manifest.json");
        let text = std::fs::read_to_string(&path)
            .map_err(|e| Failure::io(&path, "cannot read (is this the folder of a complete run?)", e))?;
        let manifest: Self =
            serde_json::from_str(&text).map_err(|e| Failure::data(&path, format!("not a manifest: {e}")))?;
        if manifest.schema_version != SCHEMA_VERSION {
            let message =
                format!("schema version {}, this tool reads {SCHEMA_VERSION}", manifest.schema_version);
            return Err(Failure::data(&path, message));
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

/// Seconds since 1970 as `YYYY-MM-DDTHH:MM:SSZ`.
fn utc(seconds: u64) -> String {
    let (days, rest) = ((seconds / 86_400) as i64, seconds % 86_400);
    // Days to civil date, Howard Hinnant's algorithm.
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let day = doy - (153 * mp + 2) / 5 + 1;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    let year = yoe + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", rest / 3600, rest / 60 % 60, rest % 60)
}

#[cfg(test)]
mod tests {
    #[test]
    fn utc_dates() {
        assert_eq!(super::utc(0), "1970-01-01T00:00:00Z");
        assert_eq!(super::utc(951_827_696), "2000-02-29T12:34:56Z");
        assert_eq!(super::utc(1_643_673_600), "2022-02-01T00:00:00Z");
    }
}
