//! What was found of a method, in words and for programs.

use super::{Audited, Effort, Unproved, Verdict};
use crate::page::{Page, Table, thousands};
use crate::privacy::at_most;
use serde_json::{Value, json};

/// What is told of a method for one kind of change.
const TOLD: [&str; 8] = ["law", "epsilon", "method", "change", "delta", "stated", "at least", "verdict"];

/// What was found of all methods, each with the name of its data, for people.
pub fn page(audited: &[(String, Audited)], effort: Effort) -> Page {
    let named = audited.iter().any(|(data, _)| !data.is_empty());
    let rows = audited.iter().map(|(data, one)| {
        named.then(|| data.clone()).into_iter().chain(one.told()).collect::<Vec<String>>()
    });
    let header: Vec<&str> = named.then_some("data").into_iter().chain(TOLD).collect();
    let page = Page::default().table_once(Table::new(4, header, rows.collect()));
    let accused: Vec<String> = audited.iter().filter_map(|(_, one)| one.accusation()).collect();
    let page = if accused.is_empty() { page } else { page.list(accused) };
    page.text(format!(
        "Two tables differ by one change and keep the invariant: one record added or removed, one moved, or the smallest change. A set of \
         releases that tells them apart is looked for on some releases, and judged on {} others of each table, of a chain on a tenth. \
         stated: the epsilon at this delta, by the statement or, of Gaussian noise, by its curve. at least: the epsilon that these \
         releases prove. With probability {:e} at most any of them is above what is paid. What is not proved may still be paid.",
        thousands(effort.draws as f64),
        effort.level
    ))
}

/// A delta in few digits.
fn delta(x: f64) -> String {
    match x {
        0.0 => "0".into(),
        x if x >= 1e-3 => format!("{x:.3}"),
        x => format!("{x:.0e}"),
    }
}

/// The same for programs.
pub fn described(audited: &[(String, Audited)], effort: Effort) -> Value {
    let each = audited.iter().map(|(data, one)| {
        let mut told = one.described();
        if !data.is_empty() {
            told["data"] = json!(data);
        }
        told
    });
    json!({ "draws": effort.draws, "level": effort.level, "audited": each.collect::<Vec<_>>() })
}

impl Audited {
    /// What speaks against the method, if anything does.
    fn accusation(&self) -> Option<String> {
        let of = format!("{}, {}", self.cell.words(), self.change.words());
        match (&self.found, self.verdict()) {
            (Err(error), _) => Some(format!("{of}: {error}")),
            (Ok(found), Verdict::PaysMore) => {
                let [more, less] = found.hits.map(|hits| thousands(hits as f64));
                let pair = &self.pair;
                Some(format!(
                    "{of}: {pair}: one set of releases came about {more} times with one table and {less} times with the other"
                ))
            }
            _ => None,
        }
    }

    /// What was found in words, in the order of [`TOLD`].
    fn told(&self) -> [String; 8] {
        let nonnegative = if self.cell.nonnegative { " >= 0" } else { "" };
        let (name, options) = self.cell.at.method.title();
        let [delta, stated, at_least] = match &self.found {
            Err(_) => ["-", "-", "-"].map(str::to_owned),
            Ok(found) => {
                let stated = if found.stated.is_finite() { at_most(found.stated) } else { "nothing".into() };
                // Rounded down.
                let at_least = format!("{:.3}", libm::floor(found.at_least * 1e3) / 1e3);
                [delta(found.delta), stated, at_least]
            }
        };
        [
            self.cell.at.law.name().to_owned(),
            self.cell.epsilon.to_string(),
            format!("{name}{nonnegative} {options}").trim().to_owned(),
            self.change.name().to_owned(),
            delta,
            stated,
            at_least,
            match self.verdict() {
                Verdict::Consistent => "consistent".into(),
                Verdict::PaysMore if self.cell.at.method.is_chain() => "PAYS MORE, or too few steps".into(),
                Verdict::PaysMore => "PAYS MORE".into(),
                Verdict::NothingStated => "nothing stated".into(),
                Verdict::NotAudited => "not audited".into(),
                Verdict::Failed => "failed".into(),
            },
        ]
    }

    /// What was found, for programs.
    fn described(&self) -> Value {
        let found = self.found.as_ref().ok();
        let finite = |x: f64| x.is_finite().then_some(x);
        json!({
            "cell": self.cell.key_text(),
            "law": self.cell.at.law.name(),
            "noise_epsilon": self.cell.epsilon,
            "method": self.cell.at.method.words(),
            "change": self.change.name(),
            "pair": self.pair,
            "delta": found.map(|found| found.delta),
            "stated": found.and_then(|found| finite(found.stated)),
            "at_least": found.map(|found| found.at_least),
            "releases": found.map(|found| found.draws),
            "hits": found.map(|found| found.hits),
            "verdict": match self.verdict() {
                Verdict::Consistent => "consistent",
                Verdict::PaysMore => "pays more",
                Verdict::NothingStated => "nothing stated",
                Verdict::NotAudited => "not audited",
                Verdict::Failed => "failed",
            },
            "error": self.found.as_ref().err().map(Unproved::to_string),
        })
    }
}
