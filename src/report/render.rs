//! Reports of runs: pages, CSV or JSON.

use super::{html, sizes};
use crate::config::Preface;
use crate::failure::{Failure, Result};
use crate::figure::{self, Figure};
use crate::files::{replace, replace_with};
use crate::page::{COLUMNS, Choice, Format, Page};
use crate::store::Run;
use crate::study::{self, Named, PAGES, PRINTED, Records, STUDIES, Study, beside, lines};
use serde::ser::{Error, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, HashSet};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Rows of tables in a summary.
const ROWS: usize = 40;

/// Some finished runs.
pub struct Report {
    /// By study, in the order of [`STUDIES`]; those that there are.
    studies: Vec<(&'static dyn Study, Vec<Named>)>,
    /// The runs as records tell them, where seeds are told by themselves: with all seeds.
    listed: Option<Vec<(&'static dyn Study, Vec<Named>)>>,
    /// In the order in which they were given: the study and the place in it.
    order: Vec<(usize, usize)>,
    /// Cells that failed: run, cell in words, error.
    pub failures: Vec<(String, String, String)>,
    /// What they gave, once it is asked for.
    body: OnceCell<Page>,
}

impl Report {
    /// Opens run folders. Of several master seeds all together are told. Errors: as [`Run::open`]; their tables.
    pub fn open(folders: &[PathBuf]) -> Result<Self> {
        Self::open_by(folders, false)
    }

    /// Reads runs, `by_seed` with each master seed by itself.
    pub fn open_by(folders: &[PathBuf], by_seed: bool) -> Result<Self> {
        let none = || STUDIES.into_iter().map(|study| (study, Vec::new())).collect::<Vec<_>>();
        let mut studies: Vec<(&dyn Study, Vec<Named>)> = none();
        let mut listed: Option<Vec<(&dyn Study, Vec<Named>)>> = by_seed.then(none);
        let (mut order, mut failures, mut names) = (Vec::new(), Vec::new(), Vec::new());
        for folder in folders {
            let run = Run::open(folder)?;
            let study = study::named(&run.manifest.study)?;
            // Two of one name are told apart by their hash.
            let own = run.manifest.name.clone();
            let name = if names.contains(&own) {
                format!("{own}-{}", &run.manifest.config_hash[..8])
            } else {
                own.clone()
            };
            names.push(own);
            let place = studies.iter().position(|(other, _)| other.name() == study.name()).unwrap_or(0);
            let whole = run.manifest.seeds.is_empty() && run.manifest.data_sets.is_empty();
            if let Some(listed) = &mut listed {
                let own = || Ok(vec![Named::new(name.clone(), run.clone())?]);
                listed[place].1.extend(if whole { own()? } else { Named::of_seeds(&name, &run)? });
            }
            let parts =
                if whole { vec![Named::new(name, run)?] } else { Named::parts(&name, &run, by_seed)? };
            for part in parts {
                for (cell, error) in study.failures(&part.run)? {
                    failures.push((part.name.clone(), cell, error));
                }
                order.push((place, studies[place].1.len()));
                studies[place].1.push(part);
            }
        }
        Ok(Self { studies, listed, order, failures, body: OnceCell::new() })
    }

    /// The runs in the order in which they were given.
    pub fn runs(&self) -> impl Iterator<Item = &Named> {
        self.order.iter().map(|&(study, place)| &self.studies[study].1[place])
    }

    /// What the figures of runs are not to be trusted for, a sentence each. Errors: their tables.
    pub fn warnings(&self) -> Result<Vec<String>> {
        let mut warnings = Vec::new();
        for (study, runs) in self.studies() {
            for Named { name, run, .. } in runs {
                warnings.extend(study.warning(run)?.map(|warning| format!("{name}: {warning}")));
            }
        }
        Ok(warnings)
    }

    /// How published figures differ from those of runs, a sentence for each run that stands beside some. Errors: their files and tables.
    pub fn published(&self) -> Result<Vec<String>> {
        let mut sentences = Vec::new();
        for (study, runs) in self.studies() {
            for run in runs {
                sentences.extend(beside::summary(*study, run)?);
            }
        }
        Ok(sentences)
    }

    fn studies(&self) -> impl Iterator<Item = &(&'static dyn Study, Vec<Named>)> {
        self.studies.iter().filter(|(_, runs)| !runs.is_empty())
    }

    /// The studies of the runs, for records.
    fn listed(&self) -> impl Iterator<Item = &(&'static dyn Study, Vec<Named>)> {
        self.listed.as_ref().unwrap_or(&self.studies).iter().filter(|(_, runs)| !runs.is_empty())
    }

    /// The names of the levels of all runs, each once.
    fn levels(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for run in self.runs() {
            let levels = 1..=run.run.manifest.levels.len() as u32;
            names.extend(levels.map(|level| run.level(level)));
        }
        let mut seen = HashSet::new();
        names.retain(|name| seen.insert(name.clone()));
        names
    }

    fn records(&self) -> Result<Vec<Records<'_>>> {
        let mut all = Vec::new();
        for (study, runs) in self.listed() {
            all.extend(study.records(runs)?);
            all.push(beside::records(*study, runs)?);
        }
        Ok(all)
    }

    /// The runs, each once whatever its parts, with what they say of themselves.
    pub(super) fn abouts(&self) -> Vec<(&Named, &Preface)> {
        let mut folders = HashSet::new();
        let each = self.runs().filter(|part| folders.insert(&part.run.folder));
        each.map(|named| (named, &named.run.manifest.about)).collect()
    }

    /// What a reader is told of the runs. Errors: their tables.
    fn page(&self) -> Result<Page> {
        Ok(self.head().and(self.body()?.clone()))
    }

    /// What the runs are.
    fn head(&self) -> Page {
        let mut page = Page::default();
        for (Named { run, .. }, about) in self.abouts() {
            page = page.text(about.title.trim());
            page = about.paragraphs().into_iter().fold(page, Page::text).text(about.author.trim());
            let (manifest, folder) = (&run.manifest, run.folder.display());
            let (revision, seed) = (manifest.revision(), manifest.seed_words());
            let name = &manifest.name;
            let s = if manifest.seeds.is_empty() { "" } else { "s" };
            page = page.text(format!("{name}: {folder} by {revision}, seed{s} {seed}"));
            if self.listed.is_some() && manifest.seeds.len() > PAGES {
                page = page.text(format!(
                    "These pages show the first {PAGES} seeds by themselves; all of them are in `report {folder} --by-seed --format csv`."
                ));
            }
            if manifest.cells > PRINTED {
                page = page.text(format!(
                    "It has {} cells. These pages show the first {PRINTED}; all of them are in its tables and in \
                        `report {folder} --format csv`.",
                    manifest.cells
                ));
            }
        }
        page
    }

    /// What they gave. Errors: their tables.
    pub(super) fn body(&self) -> Result<&Page> {
        if self.body.get().is_none() {
            let _ = self.body.set(self.told()?);
        }
        Ok(self.body.get().expect("it was just set"))
    }

    fn told(&self) -> Result<Page> {
        let mut page = Page::default();
        for (study, runs) in self.studies() {
            page = page.and(study.pages(runs)?).and(beside::pages(*study, runs)?);
        }
        let runs: Vec<&Named> = self.runs().collect();
        page = page.and(sizes::page(&runs));
        let abouts = self.abouts();
        for (named, about) in abouts.iter().filter(|(_, about)| !about.notes.is_empty()) {
            let heading = if abouts.len() == 1 { "Notes".into() } else { format!("Notes of {}", named.name) };
            page = page.and(about.notes.iter().fold(Page::main(heading), Page::text));
        }
        if !self.failures.is_empty() {
            let line = |(run, cell, error): &(String, String, String)| format!("{run}: {cell}: {error}");
            let mut lines: Vec<String> = self.failures.iter().take(PRINTED).map(line).collect();
            if let Some(more) = self.failures.len().checked_sub(PRINTED).filter(|more| *more > 0) {
                lines.push(format!("and {more} more, in failures.parquet"));
            }
            page = page.and(Page::main("Failed cells").list(lines));
        }
        Ok(page.told_apart())
    }
}

/// Writes what one wants to see first, in so many columns. `place`: where to, for errors. Errors: tables; the place.
pub fn summarize(report: &Report, width: usize, place: &Path, out: &mut dyn Write) -> Result<()> {
    let mut folders: Vec<String> =
        report.runs().map(|named| named.run.folder.display().to_string()).collect();
    folders.dedup();
    let all = format!("congenial report {} --full", folders.join(" "));
    let page = report.page()?.summary(ROWS, &all).to_text(width);
    out.write_all(page.as_bytes()).map_err(|e| Failure::write(place, e))
}

/// How a report looks.
#[derive(Debug, Clone, Copy)]
pub struct Look<'a> {
    /// The format.
    pub format: Format,
    /// Columns of text.
    pub width: usize,
    /// The template of HTML, if it is not ours.
    pub template: Option<&'a Path>,
    /// What of the page is written in LaTeX; all of it if nothing is said.
    pub choice: Option<&'a Choice>,
}

impl From<Format> for Look<'_> {
    fn from(format: Format) -> Self {
        Self { format, width: COLUMNS, template: None, choice: None }
    }
}

/// Writes a report. `place`: where to, for errors. Errors: tables; the template; the place.
pub fn write(report: &Report, look: Look, place: &Path, out: &mut dyn Write) -> Result<()> {
    let mut out = BufWriter::new(out);
    let mut put = |page: String| out.write_all(page.as_bytes()).map_err(|e| Failure::write(place, e));
    match look.format {
        Format::Text => put(report.page()?.to_text(look.width))?,
        Format::Svg => {
            return Err(Failure::Usage(
                "--format svg: figures are files; give their folder by --output".into(),
            ));
        }
        Format::Latex => {
            let page = match look.choice {
                Some(choice) => report.body()?.chosen(choice, &report.levels()).map_err(Failure::Usage)?,
                None => report.body()?.clone(),
            };
            put(page.to_latex())?;
        }
        Format::Html => put(html::of(report, look.template)?)?,
        Format::Markdown => put(report.page()?.to_markdown())?,
        Format::Csv => {
            // The first table of the first study that has rows.
            let mut firsts = Vec::new();
            for (study, runs) in report.listed() {
                firsts.push(study.records(runs)?.swap_remove(0));
            }
            let mut first = 0;
            for (i, records) in firsts.iter().enumerate().rev() {
                first = if records.is_empty()? { first } else { i };
            }
            firsts.get(first).map_or(Ok(()), |records| records.csv(place, &mut out, true))?;
        }
        Format::Json => json(report, place, &mut out)?,
    }
    out.flush().map_err(|e| Failure::write(place, e))
}

fn json(report: &Report, place: &Path, out: &mut dyn Write) -> Result<()> {
    let manifests: Vec<_> = report.runs().map(|named| &named.run.manifest).collect();
    let failed =
        |(run, cell, error): &(String, String, String)| json!({ "run": run, "cell": cell, "error": error });
    let failures: Vec<Value> = report.failures.iter().map(failed).collect();
    let mut all =
        BTreeMap::from([("runs", Part::Value(json!(manifests))), ("failures", Part::Value(failures.into()))]);
    for records in report.records()? {
        match all.entry(records.key).or_insert_with(|| Part::Tables(Vec::new(), RefCell::default())) {
            Part::Tables(tables, _) => tables.push(records),
            Part::Value(_) => unreachable!("no table has these names"),
        }
    }
    let written = serde_json::to_writer_pretty(&mut *out, &all);
    let failure = all.values().find_map(|part| match part {
        Part::Tables(_, failure) => failure.take(),
        Part::Value(_) => None,
    });
    match (failure, written) {
        (Some(failure), _) => Err(failure),
        (None, Err(e)) => Err(Failure::write(place, e)),
        (None, Ok(())) => out.write_all(b"\n").map_err(|e| Failure::write(place, e)),
    }
}

/// A part of the JSON.
enum Part<'a> {
    Value(Value),
    /// The rows of some tables, below each other, row by row; and what was wrong with a table.
    Tables(Vec<Records<'a>>, RefCell<Option<Failure>>),
}

impl Serialize for Part<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let (tables, failure) = match self {
            Self::Value(value) => return value.serialize(serializer),
            Self::Tables(tables, failure) => (tables, failure),
        };
        let mut rows = serializer.serialize_seq(None)?;
        for records in tables {
            let mut unwritten = None;
            let read = records.while_true(&mut |row| {
                unwritten = rows.serialize_element(&row).err();
                Ok(unwritten.is_none())
            });
            if let Some(e) = unwritten {
                return Err(e);
            }
            if let Err(e) = read {
                failure.replace(Some(e));
                return Err(S::Error::custom("a table"));
            }
        }
        rows.end()
    }
}

/// The figures of a report. Errors: its tables.
pub fn figures(report: &Report) -> Result<Vec<Figure>> {
    Ok(report.body()?.figures().cloned().collect())
}

/// Writes every figure into a folder: the picture, its data, and a specification of Vega-Lite that draws it from them.
/// `told` hears of each file. Errors: tables; the folder.
pub fn write_figures(
    report: &Report,
    look: figure::Look,
    folder: &Path,
    mut told: impl FnMut(&Path),
) -> Result<()> {
    let page = report.body()?;
    for one in page.figures() {
        let name = &one.name;
        let csv = format!("{name}.csv");
        let specification =
            serde_json::to_string_pretty(&figure::vega_lite(one, &csv)).expect("plain values") + "\n";
        let (header, rows) = figure::data(one);
        for (file, content) in [
            (format!("{name}.svg"), figure::svg(one, look)),
            (csv, lines(&header, &rows)),
            (format!("{name}.vl.json"), specification),
        ] {
            replace(folder, &file, content.as_bytes())?;
            told(&folder.join(file));
        }
    }
    Ok(())
}

/// Writes every file of a report into a folder; `told` hears of each. Errors: tables; the folder.
pub fn write_files(report: &Report, folder: &Path, mut told: impl FnMut(&Path)) -> Result<()> {
    let mut put = |name: &str, content: &mut dyn FnMut(&Path, &mut dyn Write) -> Result<()>| -> Result<()> {
        let place = folder.join(name);
        replace_with(folder, name, |out| content(&place, out))?;
        told(&place);
        Ok(())
    };
    for (name, format) in [
        ("report.txt", Format::Text),
        ("report.md", Format::Markdown),
        ("report.html", Format::Html),
        ("report.json", Format::Json),
    ] {
        put(name, &mut |place, out| write(report, format.into(), place, out))?;
    }
    // Two studies with a table of one name: the rows below each other.
    let mut tables: Vec<(&str, Vec<Records>)> = Vec::new();
    for records in report.records()? {
        if records.is_empty()? {
            continue;
        }
        match tables.iter_mut().find(|(file, _)| *file == records.file) {
            Some((_, same)) => same.push(records),
            None => tables.push((records.file, vec![records])),
        }
    }
    for (file, same) in tables {
        put(file, &mut |place, out| {
            same.iter().enumerate().try_for_each(|(i, records)| records.csv(place, out, i == 0))
        })?;
    }
    Ok(())
}
