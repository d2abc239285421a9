//! A report as one page of HTML that stands alone.

use super::Report;
use crate::config::Preface;
use crate::failure::Result;
use crate::page::{Head, Source, counted, duration, html, shown};
use crate::store::RESOLVED;
use crate::study::Named;
use std::path::Path;

/// The page of some runs by a template, or by ours. Errors: their tables and configs; the template.
pub(super) fn of(report: &Report, template: Option<&Path>) -> Result<String> {
    let abouts = report.abouts();
    let about =
        |named: &Named| abouts.iter().find(|(other, _)| std::ptr::eq(*other, named)).map(|(_, about)| *about);
    let runs: Vec<Source> = report.runs().map(|named| run(named, about(named))).collect::<Result<_>>()?;
    let names: Vec<&str> = runs.iter().map(|run| run.name.as_str()).collect();
    let title = match &runs[..] {
        [one] if !one.title.is_empty() => one.title.clone(),
        _ => names.join(", "),
    };
    let texts = |texts: Vec<String>| texts.iter().map(|text| safe(text)).collect();
    let (warnings, published) = (texts(report.warnings()?), texts(report.published()?));
    html(report.body()?, &Head { title, warnings, published, runs }, template)
}

/// Bytes of a file that are shown at most.
const SHOWN: usize = 1 << 18;

/// A file of the run, or where it is.
fn whole(text: &str, file: &str) -> String {
    if text.len() > SHOWN { format!("It is long: see {file} in the folder of the run.") } else { safe(text) }
}

fn safe(text: &str) -> String {
    shown(text).into_owned()
}

/// `about`: what the run says of itself, with the first of its parts.
fn run(named: &Named, about: Option<&Preface>) -> Result<Source> {
    let manifest = &named.run.manifest;
    let process = &manifest.process;
    let failed = match manifest.failed_cells {
        0 => String::new(),
        n => format!(", {n} of them failed"),
    };
    let digest = match &manifest.data_digest[..] {
        "" => String::new(),
        digest => format!("SHA-256 {digest}"),
    };
    let facts = [
        ("run", format!("{}: {}", named.name, named.run.folder.display())),
        ("study", format!("{} on a {}", manifest.study, manifest.subject)),
        ("cells", format!("{}{failed}", counted(manifest.cells as f64, "cell"))),
        ("seed", manifest.seed_words()),
        ("drawn", format!("{} to {} ({})", process.started, process.finished, duration(process.seconds))),
        ("machine", format!("{}, {}", process.cpu, counted(process.threads as f64, "thread"))),
        ("tool", manifest.revision()),
        ("config", format!("hash {}", manifest.config_hash)),
        ("data", manifest.data.clone()),
        ("digest of the data", digest),
        ("invariant", manifest.invariant.clone()),
        ("notice", manifest.notice.clone()),
    ];
    let facts = facts.into_iter().filter(|(_, value)| !value.is_empty());
    let words = |text: fn(&Preface) -> &str| about.map_or(String::new(), |about| safe(text(about).trim()));
    Ok(Source {
        name: safe(&named.name),
        title: words(|about| &about.title),
        description: about
            .map_or_else(Vec::new, |about| about.paragraphs().iter().map(|text| safe(text)).collect()),
        author: words(|about| &about.author),
        about: facts.map(|(name, value)| (name, safe(&value))).collect(),
        config: whole(&named.run.text(RESOLVED)?, RESOLVED),
        manifest: whole(&manifest.text(), "manifest.json"),
    })
}
