//! Checking a published folder, without confidential data.

use super::certificate::{self, Certificate};
use super::config::Config;
use super::make::{self, PAGE, RECORD};
use super::noisy;
use super::public;
use super::statement::Statement;
use crate::failure::{Failure, Result};
use crate::files;
use crate::hash::FileDigest;
use crate::infer::{Noisy, Structure};
use crate::page::line;
use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

/// Computes every file of a release again that is a function of its noisy file and its certificate, in the empty folder `again`, and
/// compares them byte for byte; returns the certificate and the names of the files.
///
/// Refused: a certificate that is not what was written; a file that is missing, damaged or too much; a noisy file with anything but counts
/// that its config's law, scales, method and known levels do not give; a file that is computed to be another, with the first byte that
/// differs.
///
/// Whether the noise was drawn at all, and whether the ledger has it, no file can tell.
pub fn check(folder: &Path, again: &Path) -> Result<(Certificate, Vec<String>)> {
    let certificate = Certificate::read(&folder.join(certificate::FILE))?;
    let config = Config::of(&folder.join(certificate::FILE), certificate.config.clone())?;
    let public: Vec<&str> = public::names(&config).collect();
    let mut names: Vec<String> = [public::NOISY].iter().chain(&public).map(|&name| name.to_owned()).collect();
    if !certificate.files.keys().eq(&names.iter().cloned().collect::<BTreeSet<_>>()) {
        let message = format!("`files`: want {}, which are those of its config", names.join(", "));
        return Err(Failure::data(&folder.join(certificate::FILE), message));
    }
    names.extend([certificate::FILE, PAGE, RECORD].map(str::to_owned));
    for entry in files::listed(folder)? {
        let name = entry.file_name();
        if !names.iter().any(|known| name == known.as_str()) {
            return Err(Failure::data(&entry.path(), "it is no file of this release"));
        }
    }
    for (name, stated) in &certificate.files {
        let (path, got) = (folder.join(name), FileDigest::of(&folder.join(name))?.sha256);
        if got != *stated {
            return Err(Failure::data(
                &path,
                format!("its SHA-256 is {got}, and the certificate says {stated}"),
            ));
        }
    }
    let noisy = folder.join(public::NOISY);
    let read = Noisy::read(&noisy, &config.data.levels, None)?;
    let Structure::Tree(nodes) = &read.structure else {
        return Err(Failure::data(&noisy, "want the noisy counts of a tree"));
    };
    let known = (0..nodes.tree.nodes()).map(|v| nodes.tree.level(v) < config.data.known).collect();
    let tree = nodes.tree.clone().with_known(known).map_err(|e| Failure::data(&noisy, e.to_string()))?;
    let statement = Statement::new(&config.privacy, &tree)?;
    let compared =
        |name: &str| same(&folder.join(name), &again.join(name)).map_err(|e| told(e, &certificate));
    // The noisy file has nothing but its counts: all else in it follows from the config.
    let released: Vec<i64> = read.values.iter().map(|&value| value as i64).collect();
    files::replace_file(again, public::NOISY, |file| {
        noisy::write(file, &noisy, (&config, &statement), (&tree, &|v| read.keys(v)), &released)
    })?;
    compared(public::NOISY)?;
    let issued = (certificate.issued.clone(), certificate.ledger.clone());
    make::certified(&config, (&tree, &statement), issued, (certificate.files.clone(), again))?;
    [certificate::FILE, PAGE, RECORD].into_iter().try_for_each(compared)?;
    public::write(&config, &noisy, again)?;
    public.into_iter().try_for_each(compared)?;
    Ok((certificate, names))
}

/// What differs, with the version that made it where that is another.
fn told(failure: Failure, certificate: &Certificate) -> Failure {
    let own = make::program();
    let (made, commit) = (&certificate.issued.program, &certificate.issued.commit);
    match failure {
        Failure::Data { path, message } if *made != own || *commit != make::commit() => {
            let message = format!(
                "{message}; it was made by {}, commit {}: want that version to check it",
                line(made),
                line(commit)
            );
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
    let message = match given.ends_with(public::NOISY) {
        true => "its law, scales, method, known counts or form are not those of the certificate's config",
        false => "it is not what is computed from noisy.parquet",
    };
    let message = format!("byte {} differs: {message}", place + 1);
    Err(Failure::data(given, message))
}
