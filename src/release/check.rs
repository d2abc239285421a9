//! Checking a published folder, without confidential data.

use super::certificate::{self, Certificate};
use super::config::Config;
use super::make::{self, PAGE, RECORD};
use super::public;
use super::statement::Statement;
use crate::failure::{Failure, Result};
use crate::files;
use crate::hash;
use crate::infer::{Noisy, Structure};
use std::io::Read;
use std::path::Path;

/// Computes every file of a release again that is a function of its noisy file and its certificate, in the empty folder `again`, and
/// compares them byte for byte; returns the certificate and the names of the files.
///
/// Refused: a certificate that is not what was written; a file that is missing, damaged or too much; one that is computed to be another,
/// with the first byte that differs.
pub fn check(folder: &Path, again: &Path) -> Result<(Certificate, Vec<String>)> {
    let certificate = Certificate::read(folder)?;
    let mut names: Vec<String> = certificate.files.keys().cloned().collect();
    names.extend([certificate::FILE, PAGE, RECORD].map(str::to_owned));
    for entry in files::listed(folder)? {
        let name = entry.file_name();
        if !names.iter().any(|known| name == known.as_str()) {
            return Err(Failure::data(&entry.path(), "it is no file of this release"));
        }
    }
    for (name, stated) in &certificate.files {
        let (path, got) = (folder.join(name), hash::of_file(&folder.join(name))?);
        if got != *stated {
            return Err(Failure::data(
                &path,
                format!("its SHA-256 is {got}, and the certificate says {stated}"),
            ));
        }
    }
    let noisy = folder.join(public::NOISY);
    let config = Config::of(&folder.join(certificate::FILE), certificate.config.clone())?;
    let read = Noisy::read(&noisy, &config.data.levels, None)?;
    let Structure::Tree(nodes) = &read.structure else {
        return Err(Failure::data(&noisy, "want the noisy counts of a tree"));
    };
    let statement = Statement::new(&config.privacy, &nodes.tree)?;
    let issued = (certificate.issued.clone(), certificate.ledger.clone());
    make::certified(&config, (&nodes.tree, &statement), issued, (certificate.files.clone(), again))?;
    let compared =
        |name: &str| same(&folder.join(name), &again.join(name)).map_err(|e| told(e, &certificate));
    [certificate::FILE, PAGE, RECORD].into_iter().try_for_each(compared)?;
    let public = public::write(&config, &noisy, again)?;
    let stated: Vec<&str> =
        certificate.files.keys().map(String::as_str).filter(|name| *name != public::NOISY).collect();
    if let Some(name) = public.iter().find(|name| !stated.contains(name)) {
        return Err(Failure::data(&folder.join(name), "the release should have this file, and has none"));
    }
    stated.into_iter().try_for_each(compared)?;
    Ok((certificate, names))
}

/// What differs, with the version that made it where that is another.
fn told(failure: Failure, certificate: &Certificate) -> Failure {
    let own = format!("congenial {}", env!("CARGO_PKG_VERSION"));
    let (made, commit) = (&certificate.issued.program, &certificate.issued.commit);
    match failure {
        Failure::Data { path, message } if *made != own || commit != env!("CONGENIAL_GIT_COMMIT") => {
            let message =
                format!("{message}; it was made by {made}, commit {commit}: want that version to check it");
            Failure::Data { path, message }
        }
        other => other,
    }
}

/// Refuses two files that differ, with the first byte that does.
fn same(given: &Path, computed: &Path) -> Result<()> {
    let bytes = |path: &Path| {
        let mut bytes = Vec::new();
        let read = files::open(path)?.read_to_end(&mut bytes);
        read.map(|_| bytes).map_err(|e| Failure::io(path, "cannot read", e))
    };
    let (given_bytes, computed) = (bytes(given)?, bytes(computed)?);
    if given_bytes == computed {
        return Ok(());
    }
    let place = given_bytes.iter().zip(&computed).position(|(a, b)| a != b);
    let place = place.unwrap_or(given_bytes.len().min(computed.len()));
    let message = format!("byte {} differs from what is computed from {}", place + 1, public::NOISY);
    Err(Failure::data(given, message))
}
