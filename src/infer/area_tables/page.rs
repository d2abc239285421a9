//! What is told of the intervals of tables of attributes.

use super::super::page::{by_size, count, holds, if_noise_normal, if_normal, percent};
use super::{Answer, AreaInferred};
use crate::infer::interval::Met;
use crate::page::{Page, Table, line, place, thousands};
use std::collections::BTreeMap;

/// Answers of an area, or of a query of a district, that are shown one by one at most; those of all districts.
const SHOWN: usize = 20;
const DISTRICTS: usize = 100;

/// Sums over the answers of a level, or of districts, and a query.
#[derive(Default)]
struct Sums {
    number: usize,
    deviation: f64,
    half: f64,
    cut: usize,
    empty: usize,
    by: &'static str,
}

impl AreaInferred {
    /// The heading of the page.
    pub fn title(&self) -> String {
        let (areas, law) = (thousands(self.tree().nodes() as f64), self.measured.law.name());
        format!("{}: tables of {areas} areas, {law} noise", place(&self.measured.path))
    }

    /// The page: what the file is, each level and query in one row, the answers of the root where they are few, districts, and a figure.
    pub fn page(&self) -> Page {
        let note = match self.has_areas {
            true => "",
            false => " There are too many areas to tell of each; districts alone are told.",
        };
        let text = format!(
            "{} Estimates are those of least squares from all answers together: they add up from area to area, and from query to \
             query.{note}",
            self.promise()
        );
        let page = Page::main(self.title())
            .text(text)
            .table(self.levels())
            .text(
                "Means over the answers of a row. Counts are >= 0, and those of areas no more than a known total: intervals are cut there, \
                 and where nothing is left stands the nearest value that can be.",
            )
            .figure(by_size(self.marks(), self.level));
        page.and(self.shown(|answer| answer.of == Ok(0), &self.measured.tables.levels[0]))
            .and(self.districts())
    }

    fn promise(&self) -> String {
        let percent = percent(self.level);
        match (self.is_guaranteed(), self.measured.assumed) {
            (true, _) => holds(&percent),
            (false, true) => if_noise_normal(&percent),
            (false, false) => if_normal(&percent, "its law is not computed"),
        }
    }

    /// A line for each level and query.
    fn levels(&self) -> Table {
        let mut sums: BTreeMap<(usize, u32), Sums> = BTreeMap::new();
        let levels = self.measured.tables.levels.len();
        for answer in &self.answers {
            let level = answer.of.map_or(levels, |area| self.tree().level(area as usize));
            let own = sums.entry((level, answer.query)).or_default();
            own.number += 1;
            own.deviation += answer.deviation;
            own.half += answer.half;
            own.cut += usize::from(answer.met == Met::Cut);
            own.empty += usize::from(answer.met == Met::Empty);
            // What is known is so by any law.
            if own.by.is_empty() || answer.deviation > 0.0 {
                own.by = self.by(answer).word();
            }
        }
        let row = |((level, query), own): (&(usize, u32), &Sums)| {
            let query = *query as usize;
            let name = self.measured.tables.levels.get(*level).map_or("districts", String::as_str);
            let scale = match (*level < levels).then(|| self.measured.scales[*level][query]) {
                Some(scale) if scale > 0.0 => format!("{scale:.4}"),
                Some(_) if self.measured.is_known(*level, query) => "known".to_owned(),
                _ => "-".to_owned(),
            };
            let number = own.number as f64;
            vec![
                name.to_owned(),
                self.measured.tables.queries[query].name.clone(),
                thousands(number),
                scale,
                format!("{:.2}", own.deviation / number),
                format!("{:.2}", own.half / number),
                thousands(own.cut as f64),
                thousands(own.empty as f64),
                own.by.to_owned(),
            ]
        };
        let mut header = vec!["counts of".to_owned(), "query".into(), "number".into()];
        header.extend(["scale of\nthe noise".to_owned(), "standard\ndeviation".into()]);
        header.push(format!("{} %\ninterval, +-", percent(self.level)));
        header.extend(["cut".to_owned(), "nothing\nleft".into(), "found by".into()]);
        Table::new(2, header, sums.iter().map(row).collect())
    }

    /// The answers of an area, or of districts, one by one, where they are few.
    fn shown(&self, is: impl Fn(&Answer) -> bool, title: &str) -> Page {
        let own: Vec<&Answer> = self.answers.iter().filter(|answer| is(answer)).collect();
        if own.is_empty() || own.len() > SHOWN {
            return Page::default();
        }
        Page::headed(title.to_owned()).table(self.table(&own, false))
    }

    fn districts(&self) -> Page {
        let own: Vec<&Answer> = self.answers.iter().filter(|answer| answer.of.is_err()).collect();
        let Some(file) = self.file.as_ref().filter(|_| !own.is_empty()) else { return Page::default() };
        let number = self.sets.len();
        let word = if number == 1 { "district" } else { "districts" };
        let title = format!("{} {word} of {}", thousands(number as f64), line(&file.display().to_string()));
        let is_short = |answer: &&&Answer| self.queries()[answer.query as usize].answers() <= SHOWN;
        let shown: Vec<&Answer> = own.iter().filter(is_short).take(DISTRICTS).copied().collect();
        let rest = match own.len() - shown.len() {
            0 => String::new(),
            more => format!("… and {} more answers, in intervals.csv of --out.", thousands(more as f64)),
        };
        Page::main(title).table(self.table(&shown, true)).text(rest)
    }

    fn table(&self, answers: &[&Answer], has_names: bool) -> Table {
        let name = has_names.then(|| "district".to_owned());
        let header = name.into_iter().chain(["query".to_owned(), "answer".into(), "estimate".into()]);
        let header =
            header.chain(["standard\ndeviation".to_owned(), "low".into(), "high".into(), "met".into()]);
        let row = |answer: &&Answer| {
            let set = answer.of.err().map(|set| line(&self.sets[set as usize].name).to_string());
            let names = self.measured.tables.attributes.iter().map(|(name, _)| name);
            let words: Vec<String> = names
                .zip(self.words(answer))
                .filter(|(_, word)| !word.is_empty())
                .map(|(name, word)| format!("{name} = {word}"))
                .collect();
            let query = self.measured.tables.queries[answer.query as usize].name.clone();
            let met = if answer.met == Met::Whole { "" } else { answer.met.word() };
            let numbers = [
                count(answer.estimate),
                format!("{:.2}", answer.deviation),
                count(answer.low),
                count(answer.high),
            ];
            set.into_iter().chain([query, words.join(", ")]).chain(numbers).chain([met.to_owned()]).collect()
        };
        Table::new(
            if has_names { 3 } else { 2 },
            header.collect::<Vec<_>>(),
            answers.iter().map(row).collect(),
        )
    }

    /// By level, and for districts, the estimates with the ends of their intervals.
    fn marks(&self) -> Vec<(String, Vec<[f64; 3]>)> {
        let levels = self.measured.tables.levels.iter().cloned().chain(["districts".to_owned()]);
        let mut all: Vec<(String, Vec<[f64; 3]>)> = levels.map(|name| (name, Vec::new())).collect();
        let last = all.len() - 1;
        for answer in self.answers.iter().filter(|answer| answer.deviation > 0.0) {
            let level = answer.of.map_or(last, |area| self.tree().level(area as usize));
            all[level].1.push([answer.estimate, answer.low, answer.high]);
        }
        all.retain(|(_, own)| !own.is_empty());
        all
    }
}
