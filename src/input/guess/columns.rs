//! Column by column: what it holds, and which one counts.

use super::super::CsvTable;
use super::super::numbers::{Numbers, is_hidden, is_number};
use super::{Wishes, nesting};
use crate::failure::{Failure, Result};
use std::collections::HashMap;

/// Words that columns of counts are called by, the surest first.
const COUNTS: [&str; 45] = [
    "count",
    "counts",
    "n",
    "freq",
    "frequency",
    "number",
    "anzahl",
    "nombre",
    "numero",
    "num",
    "population",
    "pop",
    "bevölkerung",
    "bevoelkerung",
    "einwohner",
    "residents",
    "inhabitants",
    "habitants",
    "people",
    "persons",
    "personen",
    "households",
    "haushalte",
    "records",
    "cases",
    "fälle",
    "trips",
    "children",
    "students",
    "pupils",
    "patients",
    "deaths",
    "births",
    "visits",
    "employees",
    "jobs",
    "licences",
    "licenses",
    "total",
    "sum",
    "value",
    "values",
    "wert",
    "obs_value",
    "estimate",
];
/// Words of columns that weigh records.
const WEIGHTS: [&str; 16] = [
    "weight",
    "weights",
    "wt",
    "wgt",
    "weighting",
    "gewicht",
    "hochrechnungsfaktor",
    "poids",
    "pwgtp",
    "wgtp",
    "perwt",
    "hhwt",
    "finalwt",
    "fwgt",
    "pweight",
    "w",
];
/// Words of columns of numbers that name groups.
const NAMES: [&str; 33] = [
    "year", "jahr", "annee", "month", "monat", "day", "week", "quarter", "date", "age", "agep", "alter",
    "sex", "gender", "code", "id", "fips", "geoid", "zip", "plz", "ags", "nuts", "tract", "block", "puma",
    "zone", "district", "state", "county", "class", "grade", "group", "category",
];
/// Words of columns that number rows, if their values do.
const ROWS: [&str; 13] =
    ["", "id", "index", "row", "rows", "rownames", "rownum", "rowid", "unnamed", "...1", "x", "nr", "no"];
/// Words of columns that number records, if most values differ.
const RECORDS: [&str; 8] = ["serialno", "serial", "pid", "person", "personid", "hhid", "uuid", "respondent"];
/// Words of columns of places, from large to small.
const PLACES: [&str; 44] = [
    "world",
    "continent",
    "nation",
    "country",
    "land",
    "region",
    "division",
    "state",
    "bundesland",
    "province",
    "canton",
    "kanton",
    "regierungsbezirk",
    "department",
    "county",
    "kreis",
    "landkreis",
    "bezirk",
    "district",
    "borough",
    "constituency",
    "municipality",
    "gemeinde",
    "commune",
    "comune",
    "city",
    "town",
    "stadt",
    "place",
    "zip",
    "plz",
    "ward",
    "parish",
    "neighborhood",
    "tract",
    "zone",
    "location",
    "block",
    "street",
    "strasse",
    "straße",
    "school",
    "address",
    "building",
];

/// What the values of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing.
    Blank,
    Text,
    /// Digits, some with a leading zero.
    Code,
    /// Whole numbers >= 0.
    Integers,
    /// Other numbers.
    Reals,
    /// Numbers, and blanks or signs in place of some.
    Holes,
}

/// A column that was looked at.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub place: usize,
    /// By row, the number of its value.
    pub numbers: Vec<u32>,
    /// The number of values.
    pub values: usize,
    pub kind: Kind,
    /// Whether it numbers the rows, one by one.
    counts_rows: bool,
    /// The words of its name.
    words: Vec<String>,
}

/// The words of a name, in small letters.
fn words(name: &str) -> Vec<String> {
    let name = name.to_lowercase();
    let parts = name.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty());
    let mut all: Vec<String> = parts.map(str::to_owned).collect();
    all.push(name);
    all
}

impl Seen {
    pub fn of(table: &CsvTable, place: usize) -> Self {
        let numbers = table.numbers(place);
        let firsts = CsvTable::first_rows(&numbers);
        let values = firsts.len();
        let texts = || firsts.iter().map(|&row| table.text(row, place));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let counts = Numbers::new(table, place);
        let kind = if texts().all(str::is_empty) {
            Kind::Blank
        } else if texts().all(digits) && texts().any(|text| text.len() > 1 && text.starts_with('0')) {
            Kind::Code
        } else if !texts().any(is_number) {
            Kind::Text
        } else if firsts.iter().all(|&row| counts.count(row).is_ok()) {
            Kind::Integers
        } else if texts().all(is_number) {
            Kind::Reals
        } else if texts().all(|text| is_number(text) || is_hidden(text)) {
            Kind::Holes
        } else {
            Kind::Text
        };
        let words = words(&table.columns[place]);
        let called = |all: &[&str]| words.iter().any(|word| all.contains(&word.as_str()));
        let kind = match kind {
            // A code that some rows have not.
            Kind::Holes if called(&NAMES) => Kind::Code,
            // Counts of which some are wrong.
            Kind::Text if texts().any(is_number) && called(&COUNTS) && !called(&NAMES) => Kind::Holes,
            other => other,
        };
        let first = table.text(0, place).parse::<usize>().ok().filter(|first| *first < 2);
        let counts_rows = table.len() > 1
            && first.is_some_and(|first| {
                values == table.len()
                    && (0..values).all(|row| table.text(row, place) == (first + row).to_string())
            });
        Self { place, numbers, values, kind, counts_rows, words }
    }

    fn called(&self, words: &[&str]) -> bool {
        self.words.iter().any(|word| words.contains(&word.as_str()))
    }

    /// How surely the name is one of counts; smaller is surer.
    fn rank(&self) -> Option<usize> {
        COUNTS.iter().position(|count| self.words.iter().any(|word| word == count))
    }

    /// Whether it numbers records or rows by its name and its values.
    pub fn is_record(&self, rows: usize) -> bool {
        (self.counts_rows && self.called(&ROWS)) || (self.called(&RECORDS) && 2 * self.values > rows)
    }

    /// How small the places are that its name is a name of, if it is one.
    pub fn place_rank(&self) -> Option<usize> {
        PLACES.iter().position(|place| self.words.iter().any(|word| word == place))
    }

    /// Whether its name is one of counts.
    pub fn is_named_count(&self) -> bool {
        self.rank().is_some()
    }

    /// Whether the column may name groups.
    pub fn may_name(&self, rows: usize) -> bool {
        let whole = matches!(self.kind, Kind::Text | Kind::Code | Kind::Integers);
        let tells = self.values > 1 || rows <= 1;
        whole && tells && !self.is_record(rows) && !self.called(&WEIGHTS)
    }

    /// Why a column that may not is left out.
    pub fn why(&self, rows: usize) -> &'static str {
        match self.kind {
            Kind::Blank => "nothing in it",
            _ if self.values == 1 && rows > 1 => "one value only",
            _ if self.is_record(rows) => "numbers the rows",
            _ if self.called(&WEIGHTS) => "weighs records",
            Kind::Reals | Kind::Holes => "measures something",
            _ => "not asked for",
        }
    }
}

/// The place of the column of counts: the one that is asked for; that whose name is most surely one of counts; the only
/// one of whole numbers that names nothing. `None`: there is none.
///
/// Refused: none of the name that is asked for; several, of which no name tells; one by its name whose counts cannot be
/// read.
pub(super) fn count(
    table: &CsvTable,
    seen: &[Seen],
    wishes: &Wishes,
    doubts: &mut Vec<String>,
) -> Result<Option<usize>> {
    if let Some(name) = &wishes.count {
        return table.column(name).map(Some);
    }
    let wished = |column: &Seen| wishes.levels.iter().any(|level| *level == table.columns[column.place]);
    let named = |kinds: &[Kind]| {
        let columns = seen.iter().filter(|column| kinds.contains(&column.kind) && !wished(column));
        columns.filter_map(|column| Some((column.rank()?, column.place))).min()
    };
    if let Some((_, place)) = named(&[Kind::Integers]).or(named(&[Kind::Holes, Kind::Reals])) {
        let others: Vec<&Seen> = seen
            .iter()
            .filter(|column| {
                column.place != place && column.kind == Kind::Integers && column.rank().is_some()
            })
            .collect();
        if !others.is_empty() {
            let names: Vec<String> =
                others.iter().map(|column| quoted(&table.columns[column.place])).collect();
            doubts.push(format!("{} may be counts as well: --count chooses", listed(&names)));
        }
        return Ok(Some(place));
    }
    let others: Vec<&Seen> =
        seen.iter().filter(|column| column.may_name(table.len()) && !wished(column)).collect();
    let (measures, keys): (Vec<&Seen>, Vec<&Seen>) =
        others.into_iter().partition(|column| column.kind == Kind::Integers && !column.called(&NAMES));
    // Numbers that follow from a name are codes.
    let measures: Vec<&Seen> = measures
        .into_iter()
        .filter(|one| !keys.iter().any(|key| key.values < table.len() && nesting::follows(one, key)))
        .collect();
    match &measures[..] {
        [] => Ok(None),
        _ if seen.iter().any(|column| column.called(&WEIGHTS)) => Ok(None),
        [only] => {
            let name = quoted(&table.columns[only.place]);
            doubts.push(format!(
                "{name} is taken for the counts, as nothing else is whole numbers: --count chooses"
            ));
            Ok(Some(only.place))
        }
        // Without names, the last one counts what the others name.
        [.., last] if keys.is_empty() => Ok(Some(last.place)),
        _ => {
            let names: Vec<String> =
                measures.iter().map(|column| format!("`{}`", table.columns[column.place])).collect();
            let message = format!(
                "{} may all be counts: choose one by --count; if each is a group of its own, write one row for each group, \
                 with one column of counts",
                listed(&names)
            );
            Err(Failure::data(&table.path, message))
        }
    }
}

/// Names of a comment: the first ones, and how many more.
fn listed(names: &[String]) -> String {
    match names.len() {
        0..=5 => names.join(", "),
        all => format!("{} and {} more", names[..4].join(", "), all - 4),
    }
}

/// A name as TOML writes it.
fn quoted(name: &str) -> String {
    toml::Value::String(name.to_owned()).to_string()
}

/// Leaves out whole numbers that are not needed to tell rows apart: measures, codes, numbers of the rows.
pub(super) fn drop_measures(table: &CsvTable, keys: &mut Vec<Seen>, left_out: &mut Vec<(String, String)>) {
    let (mut kept, mut measures): (Vec<Seen>, Vec<Seen>) =
        keys.drain(..).partition(|key| key.kind != Kind::Integers || key.called(&NAMES));
    // Those of few values first.
    measures.sort_by_key(|key| key.values);
    let mut apart = nesting::tell_apart(&kept);
    for measure in measures {
        if !apart {
            kept.push(measure);
            apart = nesting::tell_apart(&kept);
            continue;
        }
        let goes_with = |key: &&Seen| key.values < table.len() && nesting::follows(&measure, key);
        let why = match kept.iter().find(goes_with).filter(|_| !measure.is_named_count()) {
            Some(key) => format!("a code that goes with {}", quoted(&table.columns[key.place])),
            None if measure.counts_rows && !measure.is_named_count() => "numbers the rows".to_owned(),
            None => "a further measure".to_owned(),
        };
        left_out.push((table.columns[measure.place].clone(), why));
    }
    kept.sort_by_key(|key| key.place);
    *keys = kept;
}

/// Leaves out columns that say the same as another one, value by value: of a code and a name the code, else the later.
pub(super) fn drop_repeated(table: &CsvTable, keys: &mut Vec<Seen>, left_out: &mut Vec<(String, String)>) {
    let mut first: HashMap<&[u32], usize> = HashMap::new();
    let mut drop: Vec<Option<usize>> = vec![None; keys.len()];
    for (i, key) in keys.iter().enumerate() {
        let before = *first.entry(&key.numbers).or_insert(i);
        if before == i {
            continue;
        }
        let named = key.kind == Kind::Text && keys[before].kind != Kind::Text;
        let (gone, kept) = if named { (before, i) } else { (i, before) };
        first.insert(&key.numbers, kept);
        drop[gone] = Some(kept);
    }
    for (key, kept) in keys.iter().zip(&drop) {
        let Some(kept) = kept.map(|kept| quoted(&table.columns[keys[kept].place])) else { continue };
        let why = match key.kind {
            Kind::Text => format!("says the same as {kept}"),
            _ => format!("a code that repeats {kept}"),
        };
        left_out.push((table.columns[key.place].clone(), why));
    }
    let mut drop = drop.into_iter();
    keys.retain(|_| drop.next().is_some_and(|drop| drop.is_none()));
}

/// Columns up to which each is looked at beside all others.
const BESIDE: usize = 40;

/// Leaves out, from the last column on, what the others say together: codes of two names, what has blanks, and names of
/// each row.
pub(super) fn drop_needless(table: &CsvTable, keys: &mut Vec<Seen>, left_out: &mut Vec<(String, String)>) {
    for i in (0..keys.len()).rev() {
        let key = &keys[i];
        let blank = (0..table.len()).any(|row| table.text(row, key.place).is_empty());
        let (each, code) = (key.values == table.len(), key.kind != Kind::Text);
        if !(blank || each || code) || keys.len() == 1 || keys.len() > BESIDE {
            continue;
        }
        let mut others = keys.clone();
        others.remove(i);
        let joined = if code && !blank { nesting::joined(key, &others) } else { None };
        let like = if code && !blank { names_like(key, &others, table.len()) } else { None };
        let like = like.map(|name| format!("a code that goes with {}", quoted(&table.columns[name.place])));
        let why = match joined {
            Some((one, other)) => {
                let [one, other] = [one, other].map(|key| quoted(&table.columns[key.place]));
                format!("a code that repeats {one} and {other}")
            }
            None if like.is_some() => like.unwrap_or_default(),
            None => {
                // A name is not given up for codes.
                others.retain(|other| code || blank || other.kind == Kind::Text);
                if !(blank || each) || !nesting::tell_apart(&others) {
                    continue;
                }
                let why = if blank {
                    "it has blanks, and the others tell rows apart"
                } else {
                    "it names each row once more"
                };
                why.to_owned()
            }
        };
        left_out.push((table.columns[keys.remove(i).place].clone(), why));
    }
}

/// A name of each row that tells rows apart where a code does, within the other columns.
fn names_like<'a>(code: &Seen, others: &'a [Seen], rows: usize) -> Option<&'a Seen> {
    let name = others.iter().find(|other| other.kind == Kind::Text && other.values == rows)?;
    let rest = others.iter().filter(|other| other.place != name.place).chain([code]).cloned();
    nesting::tell_apart(&rest.collect::<Vec<_>>()).then_some(name)
}

/// The error of a table without a column of counts: how its records are tabulated.
pub(super) fn no_count(table: &CsvTable, keys: &[Seen], left_out: &[(String, String)]) -> Failure {
    let few = |key: &&Seen| key.values == 1 || 2 * key.values <= table.len() || table.len() < 8;
    let by: Vec<&str> = keys.iter().filter(few).map(|key| table.columns[key.place].as_str()).collect();
    let weight = left_out.iter().find(|(_, why)| why == "weighs records").map(|(name, _)| name.as_str());
    let weight: Vec<&str> = weight.iter().flat_map(|name| ["--weight", name]).collect();
    let message = format!(
        "no column of integers >= 0 that counts (--count chooses one); if each row is a record, tabulate them: `{}`",
        command(table, &by, &weight)
    );
    Failure::data(&table.path, message)
}

/// The command that tabulates a table by some columns.
pub(super) fn command(table: &CsvTable, by: &[&str], more: &[&str]) -> String {
    let word = |word: &str| {
        let plain = |c: char| c.is_alphanumeric() || "-_./,".contains(c);
        if !word.is_empty() && word.chars().all(plain) {
            word.to_owned()
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    };
    let path = table.path.to_string_lossy();
    let by = by.join(",");
    let words = ["congenial", "aggregate", &path, "--by", &by].into_iter().chain(more.iter().copied());
    words.chain(["--out", "counts.csv"]).map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn words_of_columns_are_each_of_one_kind() {
        let mut seen = HashSet::new();
        for word in COUNTS.iter().chain(&WEIGHTS).chain(&NAMES) {
            assert!(seen.insert(word), "{word}");
        }
    }
}
