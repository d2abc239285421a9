//! Making a release, in the order that keeps what is drawn and booked from depending on the data.

use super::certificate::{self, Certificate, Head, Issued};
use super::config::{Config, Data};
use super::foreseen::Foreseen;
use super::known::{known, known_before};
use super::ledger::{Ledger, Pays, Spend, Spent, new_id, possible};
use super::statement::Statement;
use super::{counts, noisy, page, public, registry};
use crate::failure::{Failure, Result};
use crate::files;
use crate::hash;
use crate::hash::FileDigest;
use crate::input::LeafList;
use crate::invariant::Hierarchy;
use congenial_exact_noise::Bits;
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
/// Refused before anything is booked: what a config, its list of leaves or a ledger are refused for; noise, tables and intervals that do
/// not fit; a folder that is there or cannot be made; a table of data that is not there or that others may write.
///
/// From then on the loss is paid, whatever happens: data that do not fit the list, a full disk, a failing source. What is said of data
/// that were refused does not depend on what they are; [`validate`] says it to the operator.
pub fn make(config: &Config, ledger: &Path, out: &Path, source: &mut dyn Bits) -> Result<Made> {
    let Foreseen { domain, statement, mut noise, .. } = Foreseen::new(config)?;
    guarded(&config.data)?;
    let partial = Partial::create(out)?;
    let mut ledger = Ledger::open(ledger)?;
    let spend = spend(config, &domain, &statement, &ledger)?;
    let known_before = known_before(config, ledger.history().known());
    let booked = ledger.spend(&spend)?;
    let opened = ledger.history().opened();
    let issued = Issued {
        release: spend.spent.release.clone(),
        time: ledger.history().lines().last().map(|line| line.time.clone()).unwrap_or_default(),
        unit: opened.unit.clone(),
        known_before,
        domain: domain.sha256.clone(),
        program: program(),
        commit: commit(),
    };
    let head = Head { data_set: opened.id.clone(), lines: booked.lines, head: booked.head };
    let noise = noise.draw(&domain.tree, source)?;
    let released = released(config, &domain, &noise)?;
    drop(noise);
    let place = &partial.partial;
    let certificate = written(config, (&domain, &statement), &released, place)
        .and_then(|files| certified(config, (&domain.tree, &statement), (issued, head), (files, place)))
        .map_err(unfinished)?;
    let out = partial.publish()?;
    let settled = files::sync_folder(folder_of(&out)).map_err(|e| Failure::write(&out, e));
    let booked = ledger.publish(&spend.spent.release, &hash::of_bytes(certificate.text()));
    settled.and(booked).map_err(|e| {
        let message = format!("the release is published in {}, and then this failed: {e}", out.display());
        Failure::Wrong(message)
    })?;
    let names = certificate.files.keys().map(String::as_str).chain([certificate::FILE, PAGE, RECORD]);
    let files = names.map(str::to_owned).collect();
    Ok(Made { certificate, files })
}

/// Looks at a release and its data as [`make`] would, for the operator alone: draws nothing, pays nothing, publishes nothing. Refused, with
/// the row: what does not fit the list of leaves.
pub fn validate(config: &Config) -> Result<Vec<i64>> {
    let Foreseen { domain, .. } = Foreseen::new(config)?;
    guarded(&config.data)?;
    counts::read(&config.data, &domain)
}

/// The program that this is, as certificates name it.
pub(super) fn program() -> String {
    format!("congenial {}", env!("CARGO_PKG_VERSION"))
}

/// The commit of its source, with git's hash of what was changed since; empty if unknown.
pub(super) fn commit() -> String {
    let commit = env!("CONGENIAL_GIT_COMMIT");
    match env!("CONGENIAL_GIT_DIRTY") {
        "yes" => format!("{commit} with the changes {}", env!("CONGENIAL_GIT_DIFF")),
        _ => commit.to_owned(),
    }
}

/// Writes the noisy file and what is a public function of it; their hashes.
fn written(
    config: &Config,
    (domain, statement): (&LeafList, &Statement),
    released: &[i64],
    folder: &Path,
) -> Result<BTreeMap<String, String>> {
    let noisy = folder.join(public::NOISY);
    files::replace_file(folder, public::NOISY, |file| {
        let keys = |v: usize| domain.keys(v);
        noisy::write(file, &noisy, (config, statement), (&domain.tree, &keys), released)
    })?;
    public::write(config, &noisy, folder)?;
    let hashed = |name: &str| Ok((name.to_owned(), FileDigest::of(&folder.join(name))?.sha256));
    std::iter::once(public::NOISY).chain(public::names(config)).map(hashed).collect()
}

/// What is said of a release that failed after the data were opened: what the disk said, and nothing that was computed.
fn unfinished(failure: Failure) -> Failure {
    let paid = "The loss is paid, and nothing is published";
    match failure {
        Failure::Io { path, message } => Failure::Io { path, message: format!("{message}. {paid}") },
        Failure::Write { path, message } => Failure::Write { path, message: format!("{message}. {paid}") },
        _ => Failure::Wrong(format!(
            "the noisy counts could not be made into what is published: a bug of congenial. {paid}. Nothing more is said here, \
             since it could tell of the data"
        )),
    }
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
fn spend(config: &Config, domain: &LeafList, statement: &Statement, ledger: &Ledger) -> Result<Spend> {
    let (privacy, history) = (&config.privacy, ledger.history());
    let known = known(config, domain);
    let columns: Vec<&str> = config.data.levels.iter().map(String::as_str).collect();
    let leaves = domain.tree.leaves().iter().map(|&leaf| domain.keys(leaf as usize));
    possible(&columns, leaves, history.known(), &known, privacy.protects)?;
    let unit = statement.unit();
    let spent = Spent {
        release: new_id()?,
        product: config.product.name.clone(),
        config_sha256: hash::of_bytes(&config.text),
        domain_sha256: domain.sha256.clone(),
        law: privacy.law.name().to_owned(),
        pays: if statement.is_rho { Pays::concentrated(&unit)? } else { Pays::pure(&unit)? },
        known,
    };
    Ok(Spend { protects: privacy.protects, records: privacy.records, spent })
}

/// The counts with their noise. What is said of data that are refused is one sentence.
fn released(config: &Config, domain: &LeafList, noise: &[i64]) -> Result<Vec<i64>> {
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

/// The folder in which a release is made until it is whole. Dropped before, it goes.
struct Partial {
    partial: PathBuf,
    out: PathBuf,
}

impl Partial {
    /// Refused: a name that is taken, also by a release that is being made; a folder that cannot be made, or not written to.
    fn create(out: &Path) -> Result<Self> {
        let name = out
            .file_name()
            .ok_or_else(|| Failure::Usage(format!("--out: got `{}`, want a new folder", out.display())))?;
        let (mut own, out) = (name.to_owned(), out.with_file_name(name));
        own.push(PARTIAL);
        let partial = out.with_file_name(own);
        let taken = |path: &Path, why: &str| Failure::io(path, "cannot make a release", why);
        if files::is_taken(&out) {
            return Err(taken(&out, "it is there already, want a new folder"));
        }
        if files::is_taken(&partial) {
            let why = "it is there: another release is being made, or one was stopped. Remove it if none is";
            return Err(taken(&partial, why));
        }
        fs::create_dir(&partial).map_err(|e| Failure::create(&partial, e))?;
        let own = Self { partial, out };
        // Whether it can be written to, and named.
        files::replace(&own.partial, public::NOISY, b"")?;
        files::sync_folder(folder_of(&own.out)).map_err(|e| Failure::create(&own.out, e))?;
        Ok(own)
    }

    /// Gives the folder its name, once all is on the disk.
    fn publish(self) -> Result<PathBuf> {
        files::sync_folder(&self.partial)
            .and_then(|()| fs::rename(&self.partial, &self.out))
            .map_err(|e| unfinished(Failure::write(&self.out, e)))?;
        let out = self.out.clone();
        std::mem::forget(self);
        Ok(out)
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.partial);
    }
}

/// The folder that a path is in.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Refuses data that are no file, that cannot be read, that others than their owner may write, or that are the list of leaves. Does not
/// open them.
fn guarded(data: &Data) -> Result<()> {
    let path = &data.table;
    let refused = |tried: &str, why: &dyn std::fmt::Display| Err(Failure::io(path, tried, why));
    let about = match fs::metadata(path) {
        Ok(about) => about,
        Err(e) => return refused("cannot read", &e),
    };
    if !about.is_file() {
        return refused("cannot read", &"want a regular file");
    }
    if let Err(e) = files::readable(path) {
        return refused("cannot read", &e);
    }
    if let Some(mode) = files::writable_mode(&about) {
        let why =
            format!("others than its owner may write it (mode {mode:o}): chmod go-w '{}'", path.display());
        return refused("cannot release from it", &why);
    }
    match fs::metadata(&data.domain).is_ok_and(|domain| files::is_same(&about, &domain)) {
        true => refused(
            "cannot release from it",
            &"it is the list of leaves, too (data.domain): want a public list that was not made of these data",
        ),
        false => Ok(()),
    }
}
