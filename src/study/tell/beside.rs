//! Published figures beside ours.

use super::published::{PUBLISHED_ROW, Published, of, published_from};
use super::records::{Named, Records, Row};
use crate::diagnostics::Estimate;
use crate::failure::Result;
use crate::files;
use crate::input::CsvTable;
use crate::page::{Column, Page, with_error};
use crate::store::PUBLISHED;
use crate::study::cells::CELL;
use crate::study::kind::Study;
use serde_json::{Map, Value};
use std::path::Path;

/// Checks figures for a study. `asked`: columns of queries, which the answers have. Errors: those of the file; a table,
/// figure or key that the study's reports do not have.
fn check(table: &CsvTable, study: &dyn Study, asked: &[&str]) -> Result<()> {
    let tables = study.records(&[])?;
    let list = |names: Vec<&str>| names.join(", ");
    for published in published_from(table)? {
        let refused = |column: &str, value: &str, wanted: String| {
            Err(table.bad(published.line, format!("`{column}` = `{value}`, want one of {wanted}")))
        };
        let Some(of) = tables.iter().find(|records| stem(records) == published.table) else {
            return refused("table", &published.table, list(tables.iter().map(stem).collect()));
        };
        if !of.header.contains(&published.figure) {
            let names = of.header.iter().map(String::as_str);
            return refused("figure", &published.figure, list(names.collect()));
        }
        let known = |key: &String| {
            let asked = |key: &str| asked.contains(&key.strip_prefix("data.").unwrap_or(key));
            of.header.contains(key) || (published.table == "answers" && asked(key))
        };
        if let Some((key, _)) = published.keys.iter().find(|(key, _)| !known(key)) {
            let known = list(of.header.iter().map(String::as_str).collect());
            return Err(table.bad(
                published.line,
                format!(
                    "the column `{key}` is filled, and {}.csv has none of this name: it has {known}",
                    published.table
                ),
            ));
        }
    }
    Ok(())
}

/// The copy of a file that a run keeps. Errors: as [`check`].
pub(in crate::study) fn copy(
    path: &Path,
    study: &dyn Study,
    asked: &[&str],
) -> Result<(&'static str, Vec<u8>)> {
    let text = files::text(path, "cannot read")?;
    check(&CsvTable::from_reader(path, text.as_bytes())?, study, asked)?;
    Ok((PUBLISHED, text.into_bytes()))
}

fn stem(records: &Records) -> &'static str {
    records.file.trim_end_matches(".csv")
}

/// A published figure with one that it stands beside, if there is one.
struct Beside<'a> {
    published: &'a Published,
    /// Ours with its standard error, which may be unknown.
    ours: Option<Estimate>,
    /// The standard deviation of one of our releases, where the table has it.
    one_release: Option<f64>,
    /// What tells our row from others beside which the figure stands.
    which: String,
}

/// Columns of tables that tell rows of one cell apart.
const OF_ROWS: [&str; 11] = [
    "level",
    "lag",
    "max_steps",
    "t",
    "name",
    "entry",
    "component",
    "change",
    "statement",
    "operator",
    "start",
];

/// The values of some rows in the columns in which they differ.
fn telling(rows: &[&Map<String, Value>]) -> Vec<String> {
    let differ = |name: &&&str| rows.iter().any(|row| row.get(**name) != rows[0].get(**name));
    // Of one part of a run.
    let columns: Vec<&&str> = CELL[2..].iter().chain(&OF_ROWS).filter(differ).collect();
    let words = |row: &&Map<String, Value>| {
        let word = |name: &&&str| match row.get(**name)? {
            Value::Null => None,
            Value::String(text) if text.is_empty() => None,
            Value::String(text) => Some(format!("{name} {text}")),
            other => Some(format!("{name} {other}")),
        };
        columns.iter().filter_map(word).collect::<Vec<_>>().join(", ")
    };
    rows.iter().map(words).collect()
}

impl Beside<'_> {
    /// The source, and its own name of the figure if it has one.
    fn name(&self) -> String {
        let Published { source, name, .. } = self.published;
        [source.as_str(), name].join(if name.is_empty() { "" } else { ": " })
    }

    /// What it is of.
    fn keys(&self) -> String {
        let keys: Vec<String> =
            self.published.keys.iter().map(|(key, value)| format!("{key} {value}")).collect();
        keys.join(", ")
    }

    fn theirs(&self) -> Estimate {
        Estimate::new(self.published.value, self.published.standard_error)
    }

    /// Their figure less ours, in standard errors of what is known of both; of a figure without a standard error it is that of one release,
    /// where the table tells it. `None` if neither is known.
    fn apart(&self) -> Option<f64> {
        let ours = self.ours?;
        let known = |x: f64| if x.is_nan() { 0.0 } else { x };
        let theirs = self.published.standard_error.or(self.one_release).unwrap_or(0.0);
        let error = libm::hypot(theirs, known(ours.standard_error));
        (error > 0.0).then(|| (self.published.value - ours.mean) / error)
    }
}

/// Every figure with each row of ours that it stands beside; one without any alone.
fn beside<'a>(published: &'a [Published], tables: &[Records]) -> Result<Vec<Beside<'a>>> {
    let mut met: Vec<Vec<Row>> = published.iter().map(|_| Vec::new()).collect();
    for records in tables {
        let here = || published.iter().enumerate().filter(|(_, one)| stem(records) == one.table);
        if here().next().is_none() {
            continue;
        }
        records.while_true(&mut |row| {
            // A table may have rows of published figures.
            if row.get("source").is_none_or(|source| *source != PUBLISHED_ROW) {
                here().filter(|(_, one)| one.meets(&row)).for_each(|(i, _)| met[i].push(row.clone()));
            }
            Ok(true)
        })?;
    }
    let mut all = Vec::new();
    for (one, rows) in published.iter().zip(&met) {
        let before = all.len();
        let rows: Vec<&Row> = rows.iter().collect();
        let which = if rows.is_empty() { Vec::new() } else { telling(&rows) };
        for (row, which) in rows.into_iter().zip(which) {
            let field = |name: &str| row.get(name).and_then(Value::as_f64);
            let standard_error = field(&format!("{}_se", one.figure));
            let one_release = field(&format!("{}_sd", one.figure));
            if let Some(mean) = field(&one.figure) {
                all.push(Beside {
                    published: one,
                    ours: Some(Estimate::new(mean, standard_error)),
                    one_release,
                    which,
                });
            }
        }
        if all.len() == before {
            all.push(Beside { published: one, ours: None, one_release: None, which: String::new() });
        }
    }
    Ok(all)
}

/// The published figures of some runs of a study that its own pages do not show. Errors: their files and tables.
pub(crate) fn pages(study: &dyn Study, runs: &[Named]) -> Result<Page> {
    let mut page = Page::default();
    for run in runs {
        let mut published = Vec::new();
        for one in of(&run.run)? {
            if !study.shows(run, &one)? {
                published.push(one);
            }
        }
        if published.is_empty() {
            continue;
        }
        let tables = study.records(std::slice::from_ref(run))?;
        let of = |one: &Beside| {
            let words = [one.keys(), one.which.clone()];
            words.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("; ")
        };
        let columns: &[Column<Beside>] = &[
            ("source", &Beside::name),
            ("of", &of),
            ("figure", &|one| one.published.figure.clone()),
            ("published", &|one| with_error(one.theirs())),
            ("ours", &|one| one.ours.map_or("-".into(), with_error)),
            ("z", &|one| one.apart().map_or("-".into(), |z| format!("{z:+.1}"))),
        ];
        let headed = Page::headed(format!("{}: published figures beside ours", run.name));
        page = page.and(headed.listed(3, &beside(&published, &tables)?, columns)).text(
            "z: the published figure less ours, in standard errors of what is known of both. A figure without one is \
                that of one release where our table has the standard deviation of one, else exact.",
        );
    }
    Ok(page)
}

/// From here on, in standard errors, a published figure is another than ours.
const APART: f64 = 4.0;

/// How many published figures a run stands beside, and how many of them are others than ours, in a sentence; `None`
/// without any. Errors: its files and tables.
pub(crate) fn summary(study: &dyn Study, run: &Named) -> Result<Option<String>> {
    let published = of(&run.run)?;
    if published.is_empty() {
        return Ok(None);
    }
    let tables = study.records(std::slice::from_ref(run))?;
    let all = beside(&published, &tables)?;
    let judged: Vec<(f64, &Beside)> = all.iter().filter_map(|one| Some((one.apart()?, one))).collect();
    let apart: Vec<&(f64, &Beside)> = judged.iter().filter(|(z, _)| z.abs() > APART).collect();
    let begin = format!(
        "{}: {} beside ours",
        run.name,
        match judged.len() {
            1 => "1 published figure stands".to_owned(),
            n => format!("{n} published figures stand"),
        }
    );
    let unjudged = match all.len() - judged.len() {
        0 => String::new(),
        n => format!(", {n} more without a standard error or without a row of ours"),
    };
    let farthest = apart.iter().max_by(|a, b| a.0.abs().total_cmp(&b.0.abs()));
    Ok(Some(match farthest {
        None => format!("{begin}{unjudged}; none of them is more than {APART} standard errors away."),
        Some((z, one)) => format!(
            "{begin}{unjudged}; {} of them {} more than {APART} standard errors away. The farthest: {} ({}), theirs {}, \
             ours {}, {z:+.1} standard errors.",
            apart.len(),
            if apart.len() == 1 { "is" } else { "are" },
            one.name(),
            one.keys(),
            with_error(one.theirs()),
            one.ours.map_or("-".into(), with_error)
        ),
    }))
}

/// All published figures beside ours, as records.
pub(crate) fn records(study: &dyn Study, runs: &[Named]) -> Result<Records<'static>> {
    let header = [
        "run",
        "source",
        "name",
        "table",
        "figure",
        "of",
        "ours_is",
        "published",
        "published_se",
        "ours",
        "ours_se",
        "z",
    ];
    let mut rows: Vec<Row> = Vec::new();
    for run in runs {
        let published = of(&run.run)?;
        if published.is_empty() {
            continue;
        }
        let tables = study.records(std::slice::from_ref(run))?;
        for one in beside(&published, &tables)? {
            let Published { source, name, table, figure, keys, value, standard_error, .. } = one.published;
            let keys: Vec<String> = keys.iter().map(|(key, value)| format!("{key}={value}")).collect();
            let known = |x: Option<f64>| x.filter(|x| x.is_finite()).map_or(Value::Null, Value::from);
            let values: [Value; 12] = [
                run.name.as_str().into(),
                source.as_str().into(),
                name.as_str().into(),
                table.as_str().into(),
                figure.as_str().into(),
                keys.join("; ").into(),
                one.which.clone().into(),
                (*value).into(),
                known(*standard_error),
                known(one.ours.map(|ours| ours.mean)),
                known(one.ours.map(|ours| ours.standard_error)),
                known(one.apart()),
            ];
            rows.push(header.iter().map(|&name| name.to_owned()).zip(values).collect());
        }
    }
    Ok(listed("published", PUBLISHED, &header, rows))
}

/// Records that are there already.
fn listed(key: &'static str, file: &'static str, header: &[&str], rows: Vec<Row>) -> Records<'static> {
    let header = header.iter().map(|&name| name.to_owned()).collect();
    Records::new(key, file, header, |_| Ok(())).and(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(text: &str) -> Result<Vec<Published>> {
        published_from(&CsvTable::from_reader(Path::new("p.csv"), text.as_bytes())?)
    }

    const HEADER: &str = "source,name,table,figure,value,se,law,epsilon\n";

    /// Text, numbers and truths; any of several values; what is empty.
    #[test]
    fn rows_are_met_by_their_keys() {
        let all =
            read(&format!("{HEADER}a,b,t,f,3,0.3,l1|l2,0.50\na,c,t,f,3,,,\na,d,t,f,3,,l1,2\n")).unwrap();
        let row = |law: &str, epsilon: f64, f: f64| -> Map<String, Value> {
            json!({ "law": law, "epsilon": epsilon, "f": f, "f_se": 0.4 }).as_object().unwrap().clone()
        };
        let rows =
            vec![row("l1", 0.5, 2.0), row("l2", 0.5, 2.5), row("laplace", 0.5, 9.0), row("l1", 1.0, 7.0)];
        let table = listed("t", "t.csv", &["law", "epsilon", "f", "f_se"], rows);
        let met = beside(&all, &[table]).unwrap();
        let ours: Vec<(&str, Option<f64>)> =
            met.iter().map(|one| (one.published.name.as_str(), one.ours.map(|ours| ours.mean))).collect();
        let want = [("b", 2.0), ("b", 2.5), ("c", 2.0), ("c", 2.5), ("c", 9.0), ("c", 7.0)];
        let want = want.map(|(name, mean)| (name, Some(mean)));
        assert_eq!(ours, [&want[..], &[("d", None)]].concat());
        // 1 apart with errors 0.3 and 0.4; and with 0.4 alone.
        assert!((met[0].apart().unwrap() - 2.0).abs() < 1e-12);
        assert!((met[2].apart().unwrap() - 2.5).abs() < 1e-12);
        assert!(met[6].apart().is_none());
    }

    /// Rows of published figures are not ours; one release is as far off as one release may be; reserved names are keys behind `row.`.
    #[test]
    fn single_releases_and_rows_of_others() {
        let all = read("source,name,table,figure,value,row.name\na,b,t,f,3,x\n").unwrap();
        let row = |source: &str, f: f64| -> Map<String, Value> {
            json!({ "source": source, "name": "x", "f": f, "f_se": 0.3, "f_sd": 0.4 })
                .as_object()
                .unwrap()
                .clone()
        };
        let rows = vec![row("run", 2.0), row("published", 3.0)];
        let met =
            beside(&all, &[listed("t", "t.csv", &["source", "name", "f", "f_se", "f_sd"], rows)]).unwrap();
        assert_eq!(met.len(), 1);
        assert!((met[0].apart().unwrap() - 2.0).abs() < 1e-12);
    }
}
