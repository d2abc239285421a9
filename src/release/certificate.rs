//! The certificate of a release: what was protected, what it paid, how the noise was drawn, and the hashes of all files.

use super::config::{Config, Product, change};
use super::statement::Statement;
use crate::failure::{Failure, Result};
use crate::files;
use crate::hash;
use crate::invariant::Hierarchy;
use crate::page::thousands;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The name of the certificate in a folder.
pub(super) const FILE: &str = "certificate.json";
/// What a certificate of this kind begins with.
const FORMAT: &str = "congenial release 1";
/// Decimals of a loss.
pub(super) const PLACES: u8 = 9;

/// What a release says of itself. All but [`Issued`] and [`Head`] follows from the config, the noisy file and the published files.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    format: String,
    /// What was said when the release was made.
    pub issued: Issued,
    /// The ledger after the loss was booked.
    pub ledger: Head,
    product: WireProduct,
    /// The change that is protected: `moved` or `added`.
    pub protects: String,
    /// Records that one unit has at most.
    pub records_per_unit: u64,
    /// The law of the noise of a count.
    pub law: String,
    /// `free` or `conditioned`.
    pub noise: String,
    /// The levels, from the total's.
    pub levels: Vec<Level>,
    /// What the protected change pays.
    pub pays: Pays,
    /// The table: `none`, `l2`, `topdown` or `bluedown`.
    pub table: String,
    /// What intervals hold.
    pub intervals: Option<f64>,
    /// SHA-256 of the other files of the release, by name.
    pub files: BTreeMap<String, String>,
    /// The config as it was given.
    pub config: String,
    /// SHA-256 of this file with nothing in this place.
    pub sha256: String,
}

/// What was said when the release was made, and nobody can compute again.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Issued {
    /// The release's random id, as the ledger has it.
    pub release: String,
    /// When its loss was booked, UTC.
    pub time: String,
    /// One unit, in words of the ledger.
    pub unit: String,
    /// The columns of counts that releases before it gave exactly, and it does not; `total` of the total.
    pub known_before: Vec<String>,
    /// SHA-256 of the public list of leaves.
    pub domain: String,
    /// The program that made it, with its version.
    pub program: String,
    /// The commit of its source; empty if unknown.
    pub commit: String,
}

/// Where a ledger stood.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// The random id of the data set.
    pub data_set: String,
    /// Lines that it had.
    pub lines: u64,
    /// The hash of the last of them.
    pub head: String,
}

/// A level.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Level {
    /// Its name.
    pub level: String,
    /// Its counts.
    pub counts: u64,
    /// How many of them are released as they are: they are known, or follow from those that are.
    pub known: u64,
    /// The base of its noise, as `2^48 q`.
    pub mantissa: Option<u64>,
    /// lambda or sigma, in counts.
    pub scale: Option<f64>,
}

/// What the protected change pays, rounded up.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pays {
    /// `epsilon` of pure differential privacy, or `rho` of zero-concentrated.
    pub measure: String,
    /// One unit's change.
    pub unit: String,
    /// A change of one, two and ten records.
    pub records: [String; 3],
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireProduct {
    name: String,
    curator: String,
    intended_use: String,
    region: Option<String>,
    description: Option<String>,
    url: Option<String>,
}

impl From<&Product> for WireProduct {
    fn from(product: &Product) -> Self {
        let Product { name, curator, intended_use, region, description, url } = product.clone();
        Self { name, curator, intended_use, region, description, url }
    }
}

impl Certificate {
    /// The certificate of a release. `files`: the other files, with their hashes.
    pub(super) fn new(
        config: &Config,
        (tree, statement): (&Hierarchy, &Statement),
        (issued, ledger): (Issued, Head),
        files: BTreeMap<String, String>,
    ) -> Self {
        let level = |l: usize| {
            let base = statement.bases[l];
            Level {
                level: config.level(l).to_owned(),
                counts: tree.level_nodes(l).len() as u64,
                known: tree.level_nodes(l).filter(|&v| tree.is_known(v)).count() as u64,
                mantissa: base.map(|base| base.mantissa()),
                scale: base.map(|_| statement.scale(l)),
            }
        };
        let paid = |records: u64| statement.of_records(records).rounded_up(PLACES);
        let mut certificate = Self {
            format: FORMAT.to_owned(),
            issued,
            ledger,
            product: (&config.product).into(),
            protects: change(config.privacy.protects).to_owned(),
            records_per_unit: config.privacy.records,
            law: config.privacy.law.name().to_owned(),
            noise: if config.privacy.conditioned { "conditioned" } else { "free" }.to_owned(),
            levels: (0..tree.levels()).map(level).collect(),
            pays: Pays {
                measure: if statement.is_rho { "rho" } else { "epsilon" }.to_owned(),
                unit: statement.unit().rounded_up(PLACES),
                records: [1, 2, 10].map(paid),
            },
            table: config.publish.table.name().to_owned(),
            intervals: config.publish.intervals,
            files,
            config: config.text.clone(),
            sha256: String::new(),
        };
        certificate.sha256 = hash::of_bytes(certificate.text());
        certificate
    }

    /// Reads the certificate of a folder. Refused: what is none; one that is not what was written.
    pub fn read(path: &Path) -> Result<Self> {
        let text = files::text(path, "cannot read the certificate")?;
        let refused = |message: String| Failure::data(path, message);
        let certificate: Self =
            serde_json::from_str(&text).map_err(|e| refused(format!("it is no certificate: {e}")))?;
        if certificate.format != FORMAT {
            return Err(refused(format!("format: got `{}`, want `{FORMAT}`", certificate.format)));
        }
        let open = Self { sha256: String::new(), ..certificate.clone() };
        let is_own = certificate.sha256 == hash::of_bytes(open.text()) && text == certificate.text();
        match is_own {
            true => Ok(certificate),
            false => {
                Err(refused("it is not what was written: its own hash is that of another text".to_owned()))
            }
        }
    }

    /// As JSON.
    pub fn text(&self) -> String {
        serde_json::to_string_pretty(self).expect("names and numbers alone") + "\n"
    }

    /// What is released as it is, in words: of each level its name, with the number of such counts where it has others; empty without any.
    pub fn known(&self) -> String {
        let words = |level: &Level| match level.known {
            0 => None,
            all if all == level.counts => Some(level.level.clone()),
            some => Some(format!(
                "{} of the {} of {}, which follow from those",
                thousands(some as f64),
                thousands(level.counts as f64),
                level.level
            )),
        };
        self.levels.iter().filter_map(words).collect::<Vec<_>>().join(", ")
    }
}
