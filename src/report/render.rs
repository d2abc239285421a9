//! Reports of runs: pages, CSV or JSON.

use crate::failure::Result;
use crate::page::{Format, finished, heading};
use crate::store::Run;
use crate::study::{self, Named, PRINTED, Records, STUDIES, Study, published};
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// Some finished runs.
pub struct Report {
    /// By study, in the order of [`STUDIES`]; those that there are.
    studies: Vec<(&'static dyn Study, Vec<Named>)>,
    /// In the order in which they were given: the study and the place in it.
    order: Vec<(usize, usize)>,
    /// Cells that failed: run, cell in words, error.
    pub failures: Vec<(String, String, String)>,
}

impl Report {
    /// Opens run folders. Errors: as [`Run::open`]; their tables.
    pub fn open(folders: &[PathBuf]) -> Result<Self> {
        let mut studies: Vec<(&dyn Study, Vec<Named>)> =
            STUDIES.into_iter().map(|study| (study, Vec::new())).collect();
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
            for (cell, error) in study.failures(&run)? {
                failures.push((name.clone(), cell, error));
            }
            let place = studies.iter().position(|(other, _)| other.name() == study.name()).unwrap_or(0);
            order.push((place, studies[place].1.len()));
            studies[place].1.push(Named::new(name, run)?);
        }
        Ok(Self { studies, order, failures })
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

    fn studies(&self) -> impl Iterator<Item = &(&'static dyn Study, Vec<Named>)> {
        self.studies.iter().filter(|(_, runs)| !runs.is_empty())
    }

    fn records(&self) -> Result<Vec<Records>> {
        let mut all = Vec::new();
        for (study, runs) in self.studies() {
            all.extend(study.records(runs)?);
            all.push(published::records(*study, runs)?);
        }
        Ok(all)
    }

    fn pages(&self, format: Format) -> Result<String> {
        let mut out = String::new();
        for Named { run, .. } in self.runs() {
            let (manifest, folder) = (&run.manifest, run.folder.display());
            out += &format!(
                "{}: {folder} by {}, seed {}\n\n",
                manifest.name,
                manifest.revision(),
                manifest.seed
            );
            if manifest.cells > PRINTED {
                out += &format!(
                    "It has {} cells. These pages show the first {PRINTED}; all of them are in its tables and in `report {folder} --format csv`.\n\n",
                    manifest.cells
                );
            }
        }
        for (study, runs) in self.studies() {
            out += &study.pages(runs, format)?;
            out += &published::pages(*study, runs, format)?;
        }
        if !self.failures.is_empty() {
            out += &heading("Failed cells", format);
            for (run, cell, error) in self.failures.iter().take(PRINTED) {
                out += &format!("- {run}: {cell}: {error}\n");
            }
            if let Some(more) = self.failures.len().checked_sub(PRINTED).filter(|more| *more > 0) {
                out += &format!("- and {more} more, in failures.parquet\n");
            }
        }
        Ok(out)
    }
}

/// Prints a report. Errors: tables.
pub fn render(report: &Report, format: Format) -> Result<String> {
    match format {
        Format::Text | Format::Markdown => Ok(finished(&report.pages(format)?, format)),
        Format::Csv => {
            // The first table of the first study that has rows.
            let firsts = report.studies().map(|(study, runs)| Ok(study.records(runs)?.swap_remove(0)));
            let firsts = firsts.collect::<Result<Vec<Records>>>()?;
            let first = firsts.iter().find(|records| !records.rows.is_empty()).or(firsts.first());
            Ok(first.map_or(String::new(), Records::csv))
        }
        Format::Json => {
            let mut all: Map<String, Value> = Map::new();
            let manifests: Vec<_> = report.runs().map(|named| &named.run.manifest).collect();
            all.insert("runs".into(), json!(manifests));
            let failed = |(run, cell, error): &(String, String, String)| json!({ "run": run, "cell": cell, "error": error });
            all.insert("failures".into(), report.failures.iter().map(failed).collect());
            for records in report.records()? {
                let rows: Vec<Value> = records.rows.into_iter().map(Value::Object).collect();
                match all.get_mut(records.key).and_then(Value::as_array_mut) {
                    Some(before) => before.extend(rows),
                    None => drop(all.insert(records.key.into(), rows.into())),
                }
            }
            Ok(serde_json::to_string_pretty(&all).expect("plain values") + "\n")
        }
    }
}

/// Every file of a report: name and content. Errors: tables.
pub fn files(report: &Report) -> Result<Vec<(&'static str, String)>> {
    let mut files = vec![
        ("report.txt", render(report, Format::Text)?),
        ("report.md", render(report, Format::Markdown)?),
        ("report.json", render(report, Format::Json)?),
    ];
    for records in report.records()?.into_iter().filter(|records| !records.rows.is_empty()) {
        match files.iter_mut().find(|(name, _)| *name == records.file) {
            // Two studies with a table of one name: the rows below each other.
            Some((_, text)) => *text += records.csv().split_once('\n').map_or("", |(_, rows)| rows),
            None => files.push((records.file, records.csv())),
        }
    }
    Ok(files)
}
