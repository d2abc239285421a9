//! A report as one page of HTML that stands alone.

use super::Report;
use crate::config::Preface;
use crate::failure::{Failure, Result};
use crate::figure::{Look, dark, svg};
use crate::files;
use crate::page::{Page, Part, counted, duration, shown};
use crate::store::RESOLVED;
use crate::study::Named;
use minijinja::value::Serde;
use minijinja::{Environment, HtmlEscape, Value};
use serde::Serialize;
use std::path::Path;

/// The template, unless one is given.
pub const TEMPLATE: &str = include_str!("report.html");
/// Its name: what ends so is escaped.
const NAME: &str = "report.html";

/// What a template is given.
#[derive(Serialize)]
struct Content {
    title: String,
    version: &'static str,
    warnings: Vec<String>,
    /// How published figures differ.
    published: Vec<String>,
    runs: Vec<Run>,
    sections: Vec<Section>,
    /// Rules of CSS: the colours of figures where the reader's system is dark.
    dark: String,
}

/// A run.
#[derive(Serialize)]
struct Run {
    name: String,
    /// What the run says of itself: heading, paragraphs, who answers for it; empty texts where it says nothing.
    title: String,
    description: Vec<String>,
    author: String,
    /// Names and values.
    about: Vec<(&'static str, String)>,
    /// As resolved.
    config: String,
    manifest: String,
}

/// A heading with what is behind it.
#[derive(Serialize)]
struct Section {
    heading: String,
    /// Whether it is what a reader wants to see first.
    main: bool,
    parts: Vec<Element>,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Element {
    Table {
        keys: usize,
        header: Vec<String>,
        numbers: Vec<bool>,
        rows: Vec<Vec<String>>,
    },
    Text {
        text: String,
    },
    List {
        entries: Vec<String>,
    },
    /// A text of which nothing is escaped any more.
    Figure {
        svg: String,
    },
}

/// The page of some runs by a template, or by ours. Errors: their tables and configs; the template.
pub(super) fn of(report: &Report, template: Option<&Path>) -> Result<String> {
    let given = template.map(|path| files::text(path, "cannot read")).transpose()?;
    let place = template.unwrap_or(Path::new(NAME));
    let wrong = |e: minijinja::Error| {
        let line = e.line().map_or(String::new(), |line| format!("line {line}: "));
        Failure::data(
            place,
            format!("{line}{}", e.detail().map_or_else(|| e.kind().to_string(), str::to_owned)),
        )
    };
    let mut environment = Environment::new();
    environment.add_filter("code", code);
    environment.add_template(NAME, given.as_deref().unwrap_or(TEMPLATE)).map_err(wrong)?;
    let abouts = report.abouts();
    let about =
        |named: &Named| abouts.iter().find(|(other, _)| std::ptr::eq(*other, named)).map(|(_, about)| *about);
    let runs: Vec<Run> = report.runs().map(|named| run(named, about(named))).collect::<Result<_>>()?;
    let names: Vec<&str> = runs.iter().map(|run| run.name.as_str()).collect();
    let title = match &runs[..] {
        [one] if !one.title.is_empty() => one.title.clone(),
        _ => names.join(", "),
    };
    let content = Content {
        title,
        version: env!("CARGO_PKG_VERSION"),
        warnings: report.warnings()?.iter().map(|text| safe(text)).collect(),
        published: report.published()?.iter().map(|text| safe(text)).collect(),
        sections: sections(report.body()?),
        dark: dark(),
        runs,
    };
    let page = environment.get_template(NAME).and_then(|template| template.render(Serde(content)));
    page.map_err(wrong)
}

/// A text that is escaped, in which names between backticks are code.
fn code(text: &str) -> Value {
    let escaped = HtmlEscape(text).to_string();
    let parts: Vec<&str> = escaped.split('`').collect();
    let part = |(i, part): (usize, &&str)| match (i % 2, i + 1 == parts.len()) {
        (0, _) => (*part).to_owned(),
        // One that is not closed.
        (_, true) => format!("`{part}"),
        _ => format!("<code>{part}</code>"),
    };
    Value::from_safe_string(parts.iter().enumerate().map(part).collect())
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
fn run(named: &Named, about: Option<&Preface>) -> Result<Run> {
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
    Ok(Run {
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

fn sections(page: &Page) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for part in page.parts() {
        let cells = |row: &Vec<String>| row.iter().map(|cell| safe(cell)).collect();
        let element = match part {
            Part::Heading { text, main } => {
                sections.push(Section { heading: safe(text), main: *main, parts: Vec::new() });
                continue;
            }
            Part::Table(table) => Element::Table {
                keys: table.keys,
                header: cells(&table.header),
                numbers: table.numbers(),
                rows: table.rows.iter().map(cells).collect(),
            },
            Part::Text(text) => Element::Text { text: safe(text) },
            Part::Figure(figure) => Element::Figure { svg: svg(figure, Look::default()) },
            Part::List(entries) => Element::List { entries: cells(entries) },
        };
        match sections.last_mut() {
            Some(section) => section.parts.push(element),
            None => sections.push(Section { heading: String::new(), main: true, parts: vec![element] }),
        }
    }
    sections
}
