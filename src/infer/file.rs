//! The columns of a noisy file that mean something, as any place reads them.

use crate::catalogue::{Family, Given, Kind, LawKind, Method, MethodKind, Place, Value};
use crate::failure::{Failure, Result};
use crate::input::CsvTable;
use std::collections::HashMap;

/// What a file tells of its values.
#[derive(Debug)]
pub(in crate::infer) struct Told {
    /// By node or entry, what was released.
    pub(in crate::infer) values: Vec<f64>,
    /// Whether all of that are integers.
    pub(in crate::infer) integers: bool,
    pub(in crate::infer) law: LawKind,
    /// Whether the law is no more than what a variance suggests.
    pub(in crate::infer) assumed: bool,
    /// By level.
    pub(in crate::infer) scales: Vec<f64>,
    pub(in crate::infer) method: Method,
}

/// The file while it is read.
pub(in crate::infer) struct File<'a> {
    pub(in crate::infer) table: &'a CsvTable,
    pub(in crate::infer) keys: Vec<usize>,
    pub(in crate::infer) value: usize,
    pub(in crate::infer) law: Option<usize>,
    pub(in crate::infer) scale: Option<usize>,
    pub(in crate::infer) variance: Option<usize>,
    pub(in crate::infer) known: Option<usize>,
    pub(in crate::infer) method: Option<usize>,
    pub(in crate::infer) options: Option<usize>,
}

impl<'a> File<'a> {
    /// The columns that mean something, beside these of keys. Refused: no column of values, and one that cannot be read.
    pub(in crate::infer) fn of(table: &'a CsvTable, keys: Vec<usize>) -> Result<Self> {
        Ok(Self {
            table,
            keys,
            value: table.column("value")?,
            law: table.optional("law")?,
            scale: table.optional("scale")?,
            variance: table.optional("variance")?,
            known: table.optional("known")?,
            method: table.optional("method")?,
            options: table.optional("options")?,
        })
    }
}

impl File<'_> {
    /// An error at the value of a row; `what`: the rest of the message.
    pub(in crate::infer) fn bad_value(&self, row: usize, what: impl std::fmt::Display) -> Failure {
        self.table.bad_row(row, format!("`value` = `{}`{what}", self.table.text(row, self.value)))
    }

    /// The keys of a row that are not blank.
    pub(in crate::infer) fn words(&self, row: usize) -> String {
        let keys = self.keys.iter().map(|&place| self.table.text(row, place));
        keys.filter(|key| !key.is_empty()).collect::<Vec<_>>().join(", ")
    }

    /// The columns of keys.
    pub(in crate::infer) fn columns(&self) -> Vec<String> {
        self.keys.iter().map(|&place| self.table.columns[place].clone()).collect()
    }

    /// By row, what was released; and whether all are integers.
    pub(in crate::infer) fn values(&self, rows: &[usize]) -> Result<(Vec<f64>, bool)> {
        let value = |&row: &usize| {
            let value = self.table.text(row, self.value).parse::<f64>().ok();
            let value = value.filter(|value| value.abs() <= (1u64 << 53) as f64);
            value.ok_or_else(|| self.bad_value(row, ", want a number of at most 2^53 in size"))
        };
        let values = rows.iter().map(value).collect::<Result<Vec<f64>>>()?;
        let integers = values.iter().all(|value| value.fract() == 0.0);
        Ok((values, integers))
    }

    /// By row, whether its value is the confidential count. Refused: a value that is none.
    pub(in crate::infer) fn known(&self, rows: &[usize], values: &[f64]) -> Result<Vec<bool>> {
        let Some(place) = self.known else { return Ok(vec![false; rows.len()]) };
        let flag = |&row: &usize| match self.table.text(row, place) {
            "true" | "TRUE" | "True" | "1" => Ok(true),
            "false" | "FALSE" | "False" | "0" => Ok(false),
            text => {
                let name = &self.table.columns[place];
                Err(self.table.bad_row(row, format!("`{name}` = `{text}`, want true or false")))
            }
        };
        let known = rows.iter().map(flag).collect::<Result<Vec<bool>>>()?;
        match (0..rows.len()).find(|&i| known[i] && !(values[i] >= 0.0 && values[i].fract() == 0.0)) {
            Some(i) => Err(self.bad_value(rows[i], " is known, want a count: an integer >= 0")),
            None => Ok(known),
        }
    }

    /// The only text of a column. Refused: two.
    fn one(&self, place: usize, rows: &[usize]) -> Result<&str> {
        let (table, first) = (self.table, self.table.text(rows[0], place));
        if place != self.options.unwrap_or(usize::MAX)
            && let Some(&row) = rows.iter().find(|&&row| table.text(row, place).is_empty())
        {
            return Err(
                table.bad_row(row, format!("`{}` is blank, want the same in all rows", table.columns[place]))
            );
        }
        match rows.iter().find(|&&row| table.text(row, place) != first) {
            None => Ok(first),
            Some(&row) => {
                let (name, text) = (&table.columns[place], table.text(row, place));
                let message = format!(
                    "`{name}` = `{text}`, and `{first}` on {}: want one for all",
                    table.place(rows[0])
                );
                Err(table.bad_row(row, message))
            }
        }
    }

    /// What was done with the noise, which must be known at a place.
    pub(in crate::infer) fn method(&self, rows: &[usize], place: Place) -> Result<Method> {
        let table = self.table;
        let name = self.one(self.method.map_or_else(|| table.column("method"), Ok)?, rows)?;
        let is_known = |kind: &&MethodKind| kind.somewhere(place).is_ok();
        let kind = MethodKind::named(name).filter(|kind| !kind.is_own() && is_known(&kind));
        let kind = kind.ok_or_else(|| {
            let known = MethodKind::ALL.iter().filter(is_known);
            let known: Vec<&str> = known.map(|kind| kind.name()).collect();
            let message = format!("`method` = `{name}`, want what was done: one of {}", known.join(", "));
            table.bad_row(rows[0], message)
        })?;
        let mut given: HashMap<&str, &str> = HashMap::new();
        let options = self.options.map(|place| self.one(place, rows)).transpose()?.unwrap_or_default();
        for option in options.split(',').map(str::trim).filter(|option| !option.is_empty()) {
            let known = option
                .split_once('=')
                .filter(|(name, _)| kind.facts().options.iter().any(|o| o.key == *name));
            let Some((name, value)) = known else {
                let known: Vec<&str> = kind.facts().options.iter().map(|option| option.key).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                let message =
                    format!("`options` = `{option}`, want name=value with an option of {name}: {known}");
                return Err(table.bad_row(rows[0], message));
            };
            if given.insert(name, value).is_some() {
                let message = format!("`options` = `{options}`, want {name} once");
                return Err(table.bad_row(rows[0], message));
            }
        }
        let mut values: HashMap<&str, Value> = HashMap::new();
        for option in kind.facts().options {
            let Some(text) = given.get(option.key) else { continue };
            let read = match option.kind {
                Kind::Flag => text.parse().ok().map(Given::Flag),
                Kind::Count(_) | Kind::Between { .. } => text.parse().ok().map(Given::Integer),
                Kind::Number { .. } => text.parse().ok().map(Given::Number),
                _ => Some(Given::Text((*text).to_owned())),
            };
            let value = read.and_then(|given| option.fits(&given)).ok_or_else(|| {
                table.bad_row(rows[0], format!("option {} = `{text}`, {}", option.key, option.wanted()))
            })?;
            values.insert(option.key, value);
        }
        let method = kind.with(|option| values.get(option.key).copied().or_else(|| option.default()));
        let refused = |e| table.bad_row(rows[0], format!("`options` = `{options}`: {e}"));
        method.takes().map_err(refused)?;
        Ok(method)
    }

    /// Refuses a release without noise that does not say by which options it was made: nothing else does.
    pub(in crate::infer) fn check_options(&self, method: Method, rows: &[usize]) -> Result<()> {
        let given = self.options.map(|place| self.one(place, rows)).transpose()?.unwrap_or_default();
        match given.trim().is_empty() {
            true => {
                let (name, such) = (method.name(), method.all_options());
                let message = format!("no options, want those with which {name} was run, such as {such}");
                Err(self.table.bad_row(rows[0], message))
            }
            false => Ok(()),
        }
    }

    /// The law of a method that draws no noise. `groups`: as of [`File::noise`]. Refused: a law that is another, a scale or a variance
    /// that is not blank or 0; no count that is not known.
    pub(in crate::infer) fn no_noise(&self, groups: &[(usize, usize)]) -> Result<LawKind> {
        let table = self.table;
        if groups.is_empty() {
            return Err(Failure::data(&table.path, "every count is known: there is nothing to infer"));
        }
        let law = LawKind::ALL.iter().copied().find(|law| !law.is_noise()).expect("a law without noise");
        let columns = [(self.law, law.name()), (self.scale, "0"), (self.variance, "0")];
        for (place, wanted) in columns.into_iter().filter_map(|(place, wanted)| Some((place?, wanted))) {
            let is_wanted = |text: &str| match wanted {
                "0" => text.is_empty() || text.parse() == Ok(0.0),
                wanted => text.is_empty() || text == wanted,
            };
            if let Some(&(row, _)) = groups.iter().find(|(row, _)| !is_wanted(table.text(*row, place))) {
                let (name, text) = (&table.columns[place], table.text(row, place));
                let message = format!("`{name}` = `{text}`, want `{wanted}`: the method draws no noise");
                return Err(table.bad_row(row, message));
            }
        }
        Ok(law)
    }

    /// The law, whether it is assumed, and the scale of each group. `groups`: by row whose count is not known its group, of so many,
    /// and what a group is in words.
    pub(in crate::infer) fn noise(
        &self,
        groups: &[(usize, usize)],
        (number, each): (usize, &str),
        place: Place,
    ) -> Result<(LawKind, bool, Vec<f64>)> {
        let table = self.table;
        let measured: Vec<usize> = groups.iter().map(|(row, _)| *row).collect();
        let Some(&first) = measured.first() else {
            return Err(Failure::data(&table.path, "every count is known: there is nothing to infer"));
        };
        let (law, column, squared) = match (self.law, self.scale, self.variance) {
            (Some(law), Some(scale), None) => {
                let name = self.one(law, &measured)?;
                let serves = |law: &LawKind| match place {
                    Place::Tree { .. } => law.on_hierarchies(),
                    Place::Table { .. } => law.is_noise(),
                };
                let kind = LawKind::named(name).filter(serves).ok_or_else(|| {
                    let known: Vec<&str> =
                        LawKind::ALL.iter().filter(|law| serves(law)).map(|law| law.name()).collect();
                    table.bad_row(first, format!("`law` = `{name}`, want one of {}", known.join(", ")))
                })?;
                (kind, scale, false)
            }
            (None, None, Some(variance)) => (normal(), variance, true),
            _ => {
                let message = "the noise is told by the columns `law` and `scale`, or by `variance`: want the one or the other";
                return Err(Failure::data(&table.path, message));
            }
        };
        let (mut scales, mut said) = (vec![0.0; number], vec![0; number]);
        for &(row, group) in groups {
            let text = table.text(row, column);
            let number = text.parse::<f64>().ok().filter(|x| x.is_finite() && *x > 0.0);
            let number = number.ok_or_else(|| {
                let name = &table.columns[column];
                table.bad_row(
                    row,
                    format!("`{name}` = `{text}`, want a number > 0 where a count is not known"),
                )
            })?;
            let scale = if squared { libm::sqrt(number) } else { number };
            if scales[group] == 0.0 {
                (scales[group], said[group]) = (scale, row);
            } else if scales[group] != scale {
                let name = &table.columns[column];
                let (first, other) = (table.place(said[group]), table.text(said[group], column));
                let message = format!("`{name}` = `{text}`, and `{other}` on {first}: want one for {each}");
                return Err(table.bad_row(row, message));
            }
        }
        Ok((law, squared, scales))
    }

    /// Refuses a release of integers in which a value is none. `rows`: by value, its row.
    pub(in crate::infer) fn check_integers(
        &self,
        method: Method,
        law: LawKind,
        values: &[f64],
        rows: &[usize],
    ) -> Result<()> {
        match values.iter().position(|value| value.fract() != 0.0).filter(|_| method.releases_integers(law)) {
            None => Ok(()),
            Some(v) => {
                let of = if law.is_noise() { format!(" of {} noise", law.name()) } else { String::new() };
                let want = format!(", want an integer, as {} releases{of}", method.name());
                Err(self.bad_value(rows[v], want))
            }
        }
    }
}

/// The law that a variance alone suggests.
fn normal() -> LawKind {
    let is_normal = |law: &LawKind| law.family() == Family::Gaussian && law.on_hierarchies();
    LawKind::ALL.iter().copied().find(is_normal).expect("a normal law on hierarchies")
}
