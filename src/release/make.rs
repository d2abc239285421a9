//! Making a release, in the order that keeps what is drawn and booked from depending on the data.

use super::certificate::{self, Certificate, Head, Issued};
use super::config::Config;
use super::domain::Domain;
use super::ledger::{Known, Ledger, Pays, Spend, Spent, new_id, possible};
use super::statement::Statement;
use super::{counts, noise, noisy, page, public, registry};
use crate::failure::{Failure, Result};
use crate::files;
use crate::hash;
use crate::invariant::Hierarchy;
use congenial_exact_noise::{Bits, Ratio};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The page of the certificate, and its record for the public registry, in a folder.
pub(super) const PAGE: &str = "certificate.html";
/// See [`PAGE`].
pub(super) const RECORD: &str = "registry.yaml";
/// What stands behind the name of a folder while it is made.
const PARTIAL: &str = ".partial";

/// What was made.
#[derive(Debug)]
pub struct Made {
    /// The certificate.
    pub certificate: Certificate,
    /// The files, by their names.
    pub files: Vec<String>,
}

/// Makes a release into the folder `out`, and books it in a ledger. `source`: the randomness, [`congenial_exact_noise::System`] but in
/// tests.
///
/// Refused before anything is booked: what a config, its list of leaves or a ledger are refused for; a folder that is there; a table of
/// data that is not there or that others may write; noise that does not fit.
///
/// From then on the loss is paid, whatever happens: data that do not fit the list, a full disk, a failing source. What is said of data
/// that were refused does not depend on what they are; [`validate`] says it to the operator.
pub fn make(config: &Config, ledger: &Path, out: &Path, source: &mut dyn Bits) -> Result<Made> {
    let domain = Domain::read(config)?;
    let statement = Statement::new(&config.privacy, &domain.tree)?;
    let partial = begun(out)?;
    guarded(&config.data.table)?;
    if config.privacy.conditioned {
        noise::tree_noise(&statement, &domain.tree)?;
    }
    let mut ledger = Ledger::open(ledger)?;
    let spend = spend(config, &domain, &statement, &ledger)?;
    let booked = ledger.spend(&spend)?;
    let opened = ledger.history().opened().clone();
    let time = ledger.history().lines().last().map(|line| line.time.clone()).unwrap_or_default();
    let noise = noise::draw(&config.privacy, &statement, &domain.tree, source)?;
    let released = released(config, &domain, &noise)?;
    drop(noise);
    fs::create_dir(&partial).map_err(|e| Failure::write(&partial, e))?;
    let place = partial.join(public::NOISY);
    files::replace_file(&partial, public::NOISY, |file| {
        let levels = &config.data.levels;
        noisy::write(file, &place, (levels, &domain), (&config.privacy, &statement), &released)
    })?;
    let issued = Issued {
        release: spend.spent.release.clone(),
        time,
        unit: opened.unit,
        domain: domain.sha256.clone(),
        program: format!("congenial {}", env!("CARGO_PKG_VERSION")),
        commit: env!("CONGENIAL_GIT_COMMIT").to_owned(),
    };
    let booked = Head { data_set: opened.id, lines: booked.lines, head: booked.head };
    let mut hashes = BTreeMap::from([(public::NOISY.to_owned(), hash::of_file(&place)?)]);
    for name in public::write(config, &place, &partial)? {
        hashes.insert(name.to_owned(), hash::of_file(&partial.join(name))?);
    }
    let certificate = certified(config, (&domain.tree, &statement), (issued, booked), (hashes, &partial))?;
    files::sync_folder(&partial).map_err(|e| Failure::write(&partial, e))?;
    fs::rename(&partial, out).map_err(|e| Failure::write(out, e))?;
    files::sync_folder(
        out.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")),
    )
    .map_err(|e| Failure::write(out, e))?;
    ledger.publish(&spend.spent.release, &hash::of_bytes(certificate.text().as_bytes()))?;
    let names = certificate.files.keys().map(String::as_str).chain([certificate::FILE, PAGE, RECORD]);
    let files = names.map(str::to_owned).collect();
    Ok(Made { certificate, files })
}

/// Looks at the data as [`make`] would, for the operator alone: draws nothing, pays nothing, publishes nothing. Refused, with the row: what
/// does not fit the list of leaves.
pub fn validate(config: &Config) -> Result<Vec<i64>> {
    let domain = Domain::read(config)?;
    Statement::new(&config.privacy, &domain.tree)?;
    guarded(&config.data.table)?;
    counts::read(&config.data, &domain)
}

/// Writes the certificate of a release with its page and its record into a folder. `files`: the other files, with their hashes.
pub(super) fn certified(
    config: &Config,
    tree: (&Hierarchy, &Statement),
    issued: (Issued, Head),
    (files, folder): (BTreeMap<String, String>, &Path),
) -> Result<Certificate> {
    let certificate = Certificate::new(config, tree, issued, files);
    files::replace(folder, certificate::FILE, certificate.text().as_bytes())?;
    let page = page::page(&certificate, &config.product).to_html(&config.product.name)?;
    files::replace(folder, PAGE, page.as_bytes())?;
    files::replace(folder, RECORD, registry::record(&certificate, &config.product).as_bytes())?;
    Ok(certificate)
}

/// What is booked. Refused: a change that is impossible under all known counts of the ledger.
fn spend(config: &Config, domain: &Domain, statement: &Statement, ledger: &Ledger) -> Result<Spend> {
    let (privacy, history) = (&config.privacy, ledger.history());
    let known = known(config, domain);
    let columns: Vec<&str> = config.data.levels.iter().map(String::as_str).collect();
    let leaves = domain.tree.leaves().iter().map(|&leaf| domain.keys(leaf as usize));
    possible(&columns, leaves, history.known(), &known, privacy.protects)?;
    let unit: Ratio = statement.unit();
    let pays = if statement.is_rho { Pays::concentrated(&unit)? } else { Pays::pure(&unit)? };
    let spent = Spent {
        release: new_id()?,
        product: config.product.name.clone(),
        config_sha256: hash::of_bytes(config.text.as_bytes()),
        law: privacy.law.name().to_owned(),
        pays,
        records: privacy.records,
        known,
    };
    Ok(Spend { unit: history.opened().unit.clone(), protects: privacy.protects, spent })
}

/// The counts that are released as they are: those of the last known level, which the levels above add up.
fn known(config: &Config, domain: &Domain) -> Vec<Known> {
    let Some(last) = config.data.known.checked_sub(1) else { return Vec::new() };
    let of = |v: usize| {
        config.data.levels.iter().cloned().zip(domain.keys(v).into_iter().map(str::to_owned)).take(last)
    };
    domain.tree.level_nodes(last).map(|v| of(v).collect()).collect()
}

/// The counts with their noise. What is said of data that are refused is one sentence.
fn released(config: &Config, domain: &Domain, noise: &[i64]) -> Result<Vec<i64>> {
    let refused = || {
        let message = "the data were refused. The loss is paid, and nothing is published. Nothing more is said here, since it \
                       could tell of the data: `congenial release validate` says it to the operator";
        Failure::data(&config.data.table, message)
    };
    let counts = counts::read(&config.data, domain).map_err(|_| refused())?;
    let released = congenial_exact_noise::add(&counts, noise).map_err(|_| refused())?;
    let tree = &domain.tree;
    let is_known_kept = (0..tree.nodes()).all(|v| !tree.is_known(v) || noise[v] == 0);
    let adds_up = !config.privacy.conditioned || tree.check(&released).is_ok();
    match is_known_kept && adds_up {
        true => Ok(released),
        false => Err(Failure::Wrong(
            "the noise does not keep what is known: a bug of congenial; nothing is released".into(),
        )),
    }
}

/// Where a release is made until it is whole. Refused: a folder that is there, or is being made.
fn begun(out: &Path) -> Result<PathBuf> {
    let name = out
        .file_name()
        .ok_or_else(|| Failure::Usage(format!("--out: got `{}`, want a new folder", out.display())))?;
    let mut name = name.to_owned();
    name.push(PARTIAL);
    let partial = out.with_file_name(name);
    for taken in [out, &partial] {
        if files::is_taken(taken) {
            return Err(Failure::io(
                taken,
                "cannot make a release",
                "it is there already, want a new folder",
            ));
        }
    }
    Ok(partial)
}

/// Refuses data that are no file, or that others than their owner may write. Does not open them.
fn guarded(path: &Path) -> Result<()> {
    let about = fs::metadata(path).map_err(|e| Failure::io(path, "cannot read", e))?;
    if !about.is_file() {
        return Err(Failure::io(path, "cannot read", "want a regular file"));
    }
    match files::writable_mode(&about) {
        None => Ok(()),
        Some(mode) => Err(Failure::io(
            path,
            "cannot release from it",
            format!("others than its owner may write it (mode {mode:o}): chmod go-w '{}'", path.display()),
        )),
    }
}
