//! A study of composition: every statement of the theory on finite worlds.

use crate::config::WorldsConfig;
use crate::error::Result;
use crate::hash;
use crate::rng::{Role, TaskKey, stream};
use crate::worlds::{Finding, Settings, check_all};
use rayon::prelude::*;

impl WorldsConfig {
    /// Hash of everything that decides the results, 16 hexadecimal digits.
    pub fn hash(&self) -> String {
        let settings: Vec<String> = self.settings.iter().map(text).collect();
        format!(
            "{:016x}",
            hash::word(&format!(
                "composition name={} seed={}\n{}",
                self.name,
                self.seed,
                settings.join("\n")
            ))
        )
    }
}

fn text(settings: &Settings) -> String {
    let Settings { worlds, cases, epsilon } = settings;
    format!("worlds={worlds} cases={cases} epsilon={epsilon:?}")
}

/// Checks all settings, each with a stream of its own.
pub fn check_worlds(
    config: &WorldsConfig,
    threads: usize,
) -> crate::failure::Result<Vec<(Settings, Vec<Finding>)>> {
    let usage =
        |message: String| crate::failure::Failure::Usage(format!("{}: {message}", config.path.display()));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|e| usage(format!("cannot start {threads} threads: {e}")))?;
    let check = |settings: &Settings| -> Result<(Settings, Vec<Finding>)> {
        let key =
            TaskKey { seed: config.seed, cell: hash::word(&text(settings)), replicate: 0, role: Role::Noise };
        Ok((*settings, check_all(settings, &mut stream(key))?))
    };
    let found = pool.install(|| config.settings.par_iter().map(check).collect::<Result<Vec<_>>>());
    found.map_err(|e| usage(e.to_string()))
}
