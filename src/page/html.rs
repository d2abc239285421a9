//! A page of HTML that stands alone, from a template.

use super::{Page, Part};
use crate::escape::shown;
use crate::failure::{Failure, Result};
use crate::figure::{Look, dark, svg};
use crate::files;
use minijinja::value::Serde;
use minijinja::{Environment, HtmlEscape, Value};
use serde::Serialize;
use std::path::Path;

/// The template, unless one is given.
const TEMPLATE: &str = include_str!("page.html");
/// Its name: what ends so is escaped.
const NAME: &str = "page.html";

/// What stands around a page.
#[derive(Debug, Default, Serialize)]
pub struct Head {
    /// The title.
    pub title: String,
    /// What a reader is warned of.
    pub warnings: Vec<String>,
    /// How published figures differ.
    pub published: Vec<String>,
    /// The runs that it is from.
    pub runs: Vec<Source>,
}

/// A run that a page is from.
#[derive(Debug, Serialize)]
pub struct Source {
    /// Its name.
    pub name: String,
    /// What the run says of itself, in a heading; empty, as what follows, where it says nothing.
    pub title: String,
    /// Paragraphs.
    pub description: Vec<String>,
    /// Who answers for it.
    pub author: String,
    /// Names and values.
    pub about: Vec<(&'static str, String)>,
    /// Its config, as resolved.
    pub config: String,
    /// The manifest.
    pub manifest: String,
}

/// What a template is given.
#[derive(Serialize)]
struct Content<'a> {
    #[serde(flatten)]
    head: &'a Head,
    version: &'static str,
    sections: Vec<Section>,
    /// Rules of CSS: the colours of figures where the reader's system is dark.
    dark: String,
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

impl Page {
    /// The page by itself. Errors: none that a page could make.
    pub fn to_html(&self, title: &str) -> Result<String> {
        html(self, &Head { title: safe(title), ..Head::default() }, None)
    }
}

/// A page by a template, or by ours. Errors: the template.
pub fn html(page: &Page, head: &Head, template: Option<&Path>) -> Result<String> {
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
    let content =
        Content { head, version: env!("CARGO_PKG_VERSION"), sections: sections(page), dark: dark() };
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

fn safe(text: &str) -> String {
    shown(text).into_owned()
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
