//! `congenial methods`

use crate::catalogue::{MethodKind, Place, laws_on, methods_on, served};
use crate::failure::Result;
use crate::page::listing;

/// Columns of the page, and of its names.
const WIDTH: usize = 80;
const NAMES: usize = 24;

/// Prints the laws and methods that a config can name, with options and defaults.
pub(super) fn run() -> Result<()> {
    let places = [
        ("a hierarchy (data.levels)", Place::Tree { inequalities: false }),
        ("a table ([[invariant]])", Place::Table { inequalities: true }),
    ];
    for (name, place) in places {
        let laws = laws_on(place).into_iter().map(|[law, noise]| (law, vec![noise]));
        print(&format!("Laws on {name}"), laws)?;
        let methods = methods_on(place).into_iter().map(|[method, what, options]| {
            let laws = MethodKind::named(method.trim_matches('`')).map(|kind| served(kind, place));
            let mut about = vec![what, format!("laws: {}", laws.unwrap_or_default())];
            about.extend((!options.is_empty()).then(|| format!("options: {options}")));
            (method, about)
        });
        print(&format!("Methods on {name}"), methods)?;
    }
    Ok(())
}

fn print(title: &str, rows: impl Iterator<Item = (String, Vec<String>)>) -> Result<()> {
    let mut page = format!("{title}\n");
    for (name, about) in rows {
        let name = name.replace('`', "");
        let lines = about.iter().flat_map(|text| wrapped(&text.replace('`', ""), WIDTH - NAMES));
        let names = std::iter::once(name).chain(std::iter::repeat(String::new()));
        let rows: Vec<Vec<String>> = lines
            .zip(names)
            .map(|(line, name)| vec![format!("{name:width$}", width = NAMES - 4), line])
            .collect();
        page += &listing(&rows);
    }
    super::print(&(page + "\n"))
}

/// Breaks a text to lines of at most so many characters, unless a word is longer.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("one at least");
        match line.chars().count() + 1 + word.chars().count() <= width || line.is_empty() {
            true => *line = format!("{line} {word}").trim_start().to_owned(),
            false => lines.push(word.to_owned()),
        }
    }
    lines
}
