//! Which entries of a table the figures of a report show: boxes by panel, traces by name.

use super::config::ReleasePart;
use crate::config::Checker;
use crate::failure::{Failure, Result};
use crate::grid::Plan;
use crate::input::{DataSource, Shape, Subject};
use crate::store::{RESOLVED, Run};
use std::collections::HashSet;
use toml::Spanned;
use toml_edit::{DocumentMut, Item};

/// Panels of box plots at most, and entries in all of them.
const MOST: (usize, usize) = (24, 2_000);

/// `report.boxes` of a config. Refused: a tree; several data sets; a column that is none of `data.entry`, or stands there twice.
pub(super) fn boxes(
    checker: &Checker,
    given: Option<&Spanned<Vec<String>>>,
    data: &DataSource,
    several: bool,
) -> Result<Option<Vec<String>>> {
    let Some(columns) = of_a_table(checker, "boxes", given, data, several)? else { return Ok(None) };
    let refuse = |message: String, label: &str| Err(checker.error(message, columns.span(), label));
    let known = match &data.shape {
        Shape::Table { entry: Some(entry), .. } => entry.as_slice(),
        _ => &[],
    };
    if let Some(other) = columns.get_ref().iter().find(|column| !known.contains(column)) {
        return refuse(format!("report.boxes: got `{other}`"), "want columns of `data.entry`, or []");
    }
    let mut seen = HashSet::new();
    if let Some(twice) = columns.get_ref().iter().find(|column| !seen.insert(*column)) {
        return refuse(format!("report.boxes: got `{twice}` twice"), "want every column once");
    }
    Ok(Some(columns.get_ref().clone()))
}

/// `report.traces` of a config. Refused: a tree; several data sets.
pub(super) fn traces(
    checker: &Checker,
    given: Option<&Spanned<Vec<String>>>,
    data: &DataSource,
    several: bool,
) -> Result<Vec<String>> {
    let names = of_a_table(checker, "traces", given, data, several)?;
    Ok(names.map_or_else(Vec::new, |names| names.get_ref().clone()))
}

/// A key that only one table takes.
fn of_a_table<'a>(
    checker: &Checker,
    key: &str,
    given: Option<&'a Spanned<Vec<String>>>,
    data: &DataSource,
    several: bool,
) -> Result<Option<&'a Spanned<Vec<String>>>> {
    checker.one_data_set(&format!("report.{key}"), given, several)?;
    match (given, &data.shape) {
        (Some(given), Shape::Hierarchy { .. }) => {
            let label = "a tree has no entries: only releases of a table take it";
            Err(checker.error(format!("report.{key}: not used"), given.span(), label))
        }
        _ => Ok(given),
    }
}

/// Refuses entries to trace that the table does not have; panels whose entries their names cannot tell, or too many of them to be seen.
pub(super) fn check(plan: &Plan) -> Result<()> {
    let Subject::Table(table) = &plan.subject else { return Ok(()) };
    let asked = ReleasePart::of(&plan.config);
    let refuse = |message: String| Err(Failure::Usage(format!("{}: {message}", plan.config.path.display())));
    let names: Vec<&str> = (0..table.counts.len()).map(|i| &table.names[i]).collect();
    if let Some(other) = asked.traces.iter().find(|name| !names.contains(&name.as_str())) {
        let first = names.first().copied().unwrap_or_default();
        return refuse(format!("report.traces: got `{other}`, want names of entries, like `{first}`"));
    }
    let Some(columns) = &asked.boxes else { return Ok(()) };
    let Shape::Table { entry, .. } = &plan.config.data.shape else { return Ok(()) };
    let panels = Panels::new(entry.as_deref().unwrap_or_default(), columns);
    let mut titles: HashSet<String> = HashSet::new();
    for name in &names {
        match panels.of(name) {
            Some(title) => titles.insert(title),
            None => {
                return refuse(format!(
                    "report.boxes: the entry `{name}` has a `/` in a value: its panel cannot be told"
                ));
            }
        };
    }
    if titles.len() > MOST.0 || names.len() > MOST.1 {
        let (panels, entries) = MOST;
        return refuse(format!(
            "report.boxes: got {} panels and {} entries, want at most {panels} and {entries}: more cannot be seen",
            titles.len(),
            names.len()
        ));
    }
    Ok(())
}

/// In which panel an entry is drawn.
pub(super) struct Panels {
    /// Columns of a name, and the places among them of those that name a panel.
    columns: usize,
    places: Vec<usize>,
}

impl Panels {
    /// The panels by some of the columns that name an entry.
    fn new(entry: &[String], columns: &[String]) -> Self {
        let place = |column: &String| entry.iter().position(|other| other == column);
        Self { columns: entry.len(), places: columns.iter().filter_map(place).collect() }
    }

    /// The title of the panel of an entry; empty if there is one alone; `None` of a name whose columns cannot be told.
    pub(super) fn of(&self, name: &str) -> Option<String> {
        if self.places.is_empty() {
            return Some(String::new());
        }
        let values: Vec<&str> = name.split('/').collect();
        (values.len() == self.columns)
            .then(|| self.places.iter().map(|&place| values[place]).collect::<Vec<_>>().join("/"))
    }
}

/// What the figures of a run show.
#[derive(Default)]
pub(super) struct Shown {
    /// Box plots, if they are asked for.
    pub(super) boxes: Option<Panels>,
    /// Entries to trace, by name; empty if they are chosen by effective sample size.
    pub(super) traces: Vec<String>,
}

impl Shown {
    /// As the resolved config of the run says. Errors: the file.
    pub(super) fn of(run: &Run) -> Result<Self> {
        let Some(path) = run.file(RESOLVED) else { return Ok(Self::default()) };
        let text = crate::files::text(&path, "cannot read")?;
        // The blocks of all cells come last: of many cells they are long.
        let head = text.split("\n[[grid]]\n").next().unwrap_or_default();
        let document: DocumentMut =
            head.parse().map_err(|_| Failure::data(&path, "it is no TOML: want a resolved config"))?;
        let texts = |item: Option<&Item>| -> Option<Vec<String>> {
            let list = item?.as_array()?;
            Some(list.iter().filter_map(|text| text.as_str().map(str::to_owned)).collect())
        };
        let key = |table: &str, key: &str| texts(document.get(table).and_then(|table| table.get(key)));
        let entry = key("data", "entry").unwrap_or_default();
        Ok(Self {
            boxes: key("report", "boxes").map(|columns| Panels::new(&entry, &columns)),
            traces: key("report", "traces").unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panels_are_told_by_the_values_of_their_columns() {
        let texts = |all: &[&str]| all.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
        let panels = Panels::new(&texts(&["state", "county", "year"]), &texts(&["year", "state"]));
        assert_eq!(panels.of("Ohio/Allen/2010"), Some("2010/Ohio".into()));
        assert_eq!(panels.of("Ohio/Allen"), None);
        assert_eq!(Panels::new(&texts(&["state"]), &[]).of("a/b"), Some(String::new()));
    }
}
