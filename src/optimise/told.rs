//! The best splits in words, for programs, and as a config.

use super::{Design, Errors, Optimised, Query};
use crate::design::{Goal, LEAST};
use crate::page::{Page, Table};
use crate::study::Place;
use serde_json::{Value, json};

/// What is small, in words.
fn what(goal: Goal) -> &'static str {
    match goal {
        Goal::Mean => "mean squared error",
        Goal::Largest => "squared error of the worst answer",
    }
}

/// A config with the splits, and before it what it is. `path`: of the config that had others; `by`: the method of the estimates.
pub(super) fn headed(path: &str, by: &str, goal: Goal, config: &str) -> String {
    format!(
        "# {}, with the split of every budget under which least-squares estimates ({by}) of its queries have the least\n# {}.\n{config}",
        crate::page::line(path),
        what(goal),
    )
}

/// An error in four digits.
fn digits(x: f64) -> String {
    match x {
        0.0 => "0".into(),
        x if x < 1e-4 => format!("{x:.3e}"),
        x => format!("{x:.*}", (3 - libm::log10(x).floor() as i32).clamp(0, 7) as usize),
    }
}

/// By how much one is less than the other.
fn less(even: f64, own: f64) -> String {
    format!("{:.1} %", 100.0 * (1.0 - own / even).max(0.0))
}

/// A level and a query, as columns of tables of trees and of trees of tables.
fn columns(place: &Place, is_tables: bool) -> Vec<String> {
    let Place { level, query } = place;
    match is_tables {
        true => [level, query].map(|name| name.clone().unwrap_or_default()).to_vec(),
        false => vec![query.clone().unwrap_or_default()],
    }
}

/// The shares of queries by level.
fn shares(design: &Design) -> Page {
    let (mut levels, mut queries): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for (Place { level, query }, _) in &design.shares {
        for (all, own) in [(&mut levels, level), (&mut queries, query)] {
            all.extend(own.as_deref().filter(|own| !all.contains(own)));
        }
    }
    let share = |query: &str, level: &str| {
        let is_own = |(place, _): &&(Place, f64)| {
            place.level.as_deref() == Some(level) && place.query.as_deref() == Some(query)
        };
        design.shares.iter().find(is_own).map_or("-".to_owned(), |(_, share)| format!("{share:.4}"))
    };
    let row = |query: &&str| -> Vec<String> {
        std::iter::once((*query).to_owned()).chain(levels.iter().map(|level| share(query, level))).collect()
    };
    let header: Vec<&str> = std::iter::once("query").chain(levels.iter().copied()).collect();
    let rows: Vec<Vec<String>> = queries.iter().map(row).collect();
    let legend = if rows.iter().flatten().any(|share| share == "-") { "-: not measured." } else { "" };
    Page::headed("Shares").table_once(Table::new(1, header, rows)).text(legend)
}

impl Optimised {
    /// What was found of every noise, for people, and what was left.
    pub fn page(&self) -> Page {
        let Self { designs, goal, .. } = self;
        let is_tables =
            designs.iter().any(|design| design.shares.iter().any(|(place, _)| place.query.is_some()));
        let named = designs.iter().any(|design| !design.data.is_empty());
        // A delta and a sensitivity are said where there are several.
        let several = |of: &dyn Fn(&Design) -> f64| {
            let mut values = designs.iter().map(of).filter(|value| *value > 0.0);
            let first = values.next();
            values.any(|value| Some(value) != first)
        };
        let deltas = several(&|design| design.total.1);
        let sensitivities = several(&|design| design.sensitivity);
        let keys = |design: &Design| -> Vec<String> {
            let data = named.then(|| design.data.clone());
            let delta = deltas
                .then(|| if design.total.1 > 0.0 { format!("{:e}", design.total.1) } else { "-".into() });
            let sensitivity = sensitivities.then(|| design.sensitivity.to_string());
            let noise = [design.law.to_owned(), design.total.0.to_string()];
            data.into_iter().chain(noise).chain(delta).chain(sensitivity).collect()
        };
        let of_keys = || {
            let noise = named.then_some("data").into_iter().chain(["law", "epsilon"]);
            noise.chain(deltas.then_some("delta")).chain(sensitivities.then_some("sensitivity"))
        };
        let splits = self.splits();
        let mut page = Page::headed(format!("Shares of the budget with the least {}", what(*goal)));
        // Data sets may have other levels.
        for own in designs.chunk_by(|a, b| a.data == b.data) {
            let own_shares = if is_tables { &[][..] } else { &own[0].shares };
            let levels = own_shares.iter().filter_map(|(place, _)| place.level.as_deref());
            let header: Vec<&str> = of_keys()
                .chain(levels)
                .chain(splits.iter().map(String::as_str))
                .chain(["less by", "within"])
                .collect();
            let rows = own.iter().map(|design| {
                let [even, best] = design.gain();
                let shares =
                    design.shares.iter().take(own_shares.len()).map(|(_, share)| format!("{share:.4}"));
                // At least what the search leaves open.
                let within = format!("{:.2} %", 100.0 * (1.0 - design.at_least / best).max(1e-4));
                let errors = design.errors.iter().map(|&error| digits(error));
                {
                    let errors = errors.chain([less(even, best), within]);
                    keys(design).into_iter().chain(shares).chain(errors).collect::<Vec<String>>()
                }
            });
            page = page.table_once(Table::new(of_keys().count() + own_shares.len(), header, rows.collect()));
        }
        if let Some(design) = designs.first().filter(|_| is_tables) {
            page = page.and(shares(design));
        }
        let by_query = self.by_query(is_tables, &of_keys().collect::<Vec<_>>(), &keys);
        let by = if is_tables { "`gls`" } else { "`l2`" };
        page.and(Page::headed("By query").table_once(by_query).text(format!(
            "rmse: the root of the mean squared error of least-squares estimates ({by}), in counts, by closed form: over the answers, or \
             of the worst. even: the same budget in equal shares. less by: of the first rmse. within: no split with shares of {LEAST} and \
             more has an rmse that is lower by more than this. epsilon: of all that is measured together; `plan` says what a record pays.",
        )))
        .text(self.left.clone().unwrap_or_default())
    }

    /// Errors by query. `of_keys`, `keys`: what tells noises apart.
    fn by_query(&self, is_tables: bool, of_keys: &[&str], keys: &dyn Fn(&Design) -> Vec<String>) -> Table {
        let place = if is_tables { &["level", "query"][..] } else { &["query"] };
        let splits = self.splits();
        let header: Vec<&str> =
            of_keys.iter().chain(place).copied().chain(splits.iter().map(String::as_str)).collect();
        let rows = self.designs.iter().flat_map(|design| {
            let row = |query: &Query, words: &str| {
                let of = |one: &Errors| match self.goal {
                    Goal::Mean => one.mean,
                    Goal::Largest => one.largest,
                };
                let mut place = columns(&query.place, is_tables);
                place.last_mut().expect("it has a name").push_str(words);
                let errors = query.errors.iter().map(|one| digits(of(one)));
                keys(design).into_iter().chain(place).chain(errors).collect::<Vec<String>>()
            };
            let asked = design.queries.iter().map(|query| row(query, ""));
            asked.chain(design.others.iter().map(|query| row(query, " (not asked for)"))).collect::<Vec<_>>()
        });
        Table::new(of_keys.len() + place.len(), header, rows.collect())
    }

    /// Headings of errors by split, which are the same of all noises.
    fn splits(&self) -> Vec<String> {
        let head =
            |(k, name): (usize, &&str)| if k == 0 { format!("rmse: {name}") } else { (*name).to_owned() };
        self.designs.first().map_or(Vec::new(), |design| design.splits.iter().enumerate().map(head).collect())
    }

    /// What was found, for programs: `goal`, `designs`, `config`.
    pub fn described(&self) -> Value {
        let errors = |one: &Errors| json!({ "mean": one.mean, "largest": one.largest });
        let place = |told: &mut Value, Place { level, query }: &Place| {
            for (key, name) in [("level", level), ("query", query)] {
                if let Some(name) = name {
                    told[key] = json!(name);
                }
            }
        };
        let each = self.designs.iter().map(|design| {
            let share = |(own, share): &(Place, f64)| {
                let mut told = json!({ "share": share });
                place(&mut told, own);
                told
            };
            let query = |query: &Query| {
                let mut told = json!({});
                place(&mut told, &query.place);
                design.splits.iter().zip(&query.errors).for_each(|(split, own)| told[*split] = errors(own));
                told
            };
            let mut told = json!({
                "law": design.law,
                "epsilon": design.total.0,
                "delta": design.total.1,
                "sensitivity": design.sensitivity,
                "shares": design.shares.iter().map(share).collect::<Vec<_>>(),
                "at_least": design.at_least,
                "queries": design.queries.iter().map(query).collect::<Vec<_>>(),
                "not_asked": design.others.iter().map(query).collect::<Vec<_>>(),
            });
            design.splits.iter().zip(&design.errors).for_each(|(split, own)| told[*split] = json!(own));
            if !design.data.is_empty() {
                told["data"] = json!(design.data);
            }
            told
        });
        json!({ "goal": self.goal.name(), "designs": each.collect::<Vec<_>>(), "config": self.config })
    }
}
