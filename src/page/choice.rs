//! What of a page a paper takes: some of its tables, of these some levels and columns.

use super::{Page, Part, Table};

/// What is asked for; of a list that is empty, everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choice {
    /// Words of headings.
    pub tables: Vec<String>,
    /// Names of levels.
    pub levels: Vec<String>,
    /// Names of columns.
    pub columns: Vec<String>,
}

impl Choice {
    /// Whether everything is asked for.
    pub fn is_all(&self) -> bool {
        self.tables.is_empty() && self.levels.is_empty() && self.columns.is_empty()
    }
}

/// A name as it is compared: on one line, without regard to capitals.
fn plain(name: &str) -> String {
    name.replace('\n', " ").to_lowercase()
}

/// Whether a heading of a column has this name: as a whole, or on its first line.
fn is_named(heading: &str, name: &str) -> bool {
    let first = heading.lines().next().unwrap_or_default();
    plain(heading) == plain(name) || plain(first) == plain(name)
}

/// What was asked for and is not there, and what is.
fn unknown(option: &str, asked: &str, all: &[String]) -> String {
    format!("{option}: got `{asked}`, want one of: {}", all.join("; "))
}

impl Table {
    /// The table with some of its columns.
    fn with_columns(&self, wanted: &[usize]) -> Self {
        let some = |row: &Vec<String>| -> Vec<String> { wanted.iter().map(|&i| row[i].clone()).collect() };
        let errors = self.errors.iter().filter_map(|i| wanted.iter().position(|other| other == i));
        Self {
            keys: wanted.iter().filter(|i| **i < self.keys).count(),
            errors: errors.collect(),
            header: some(&self.header),
            rows: self.rows.iter().map(some).collect(),
        }
    }

    /// The rows and columns of some levels of `all`: a level is a column, or a key of rows.
    fn of_levels(&self, some: &[String], all: &[String]) -> Self {
        let among = |names: &[String], own: &str| names.iter().any(|name| is_named(own, name));
        let is_other = |own: &String| among(all, own) && !among(some, own);
        let columns: Vec<usize> =
            (0..self.header.len()).filter(|&i| i < self.keys || !is_other(&self.header[i])).collect();
        let mut table = self.with_columns(&columns);
        if let Some(level) = table.header[..table.keys].iter().position(|name| name == "level") {
            table.rows.retain(|row| among(some, &row[level]));
        }
        table
    }
}

impl Page {
    /// What is asked for, with the headings. `levels`: the names of all. Errors: words that nothing has, with what there is.
    pub fn chosen(&self, choice: &Choice, levels: &[String]) -> Result<Self, String> {
        for level in &choice.levels {
            if !levels.iter().any(|name| plain(name) == plain(level)) {
                return Err(unknown("--level", level, levels));
            }
        }
        let sections: Vec<&[Part]> =
            self.parts().chunk_by(|_, next| !matches!(next, Part::Heading { .. })).collect();
        let heading = |section: &[Part]| match section.first() {
            Some(Part::Heading { text, .. }) => text.clone(),
            _ => String::new(),
        };
        let has_table = |section: &&&[Part]| section.iter().any(|part| matches!(part, Part::Table(_)));
        let headings: Vec<String> =
            sections.iter().filter(has_table).map(|section| heading(section)).collect();
        let has = |heading: &str, words: &String| plain(heading).contains(&plain(words));
        if let Some(words) =
            choice.tables.iter().find(|words| !headings.iter().any(|heading| has(heading, words)))
        {
            return Err(unknown("--table", words, &headings));
        }
        let is_asked = |section: &&&[Part]| {
            choice.tables.is_empty() || choice.tables.iter().any(|words| has(&heading(section), words))
        };
        let (mut page, mut columns) = (Self::default(), Vec::new());
        for part in sections.iter().filter(is_asked).flat_map(|section| section.iter()) {
            let Part::Table(table) = part else {
                // Sentences and figures are of all levels.
                if choice.levels.is_empty() || !matches!(part, Part::List(_) | Part::Figure(_)) {
                    page.0.push(part.clone());
                }
                continue;
            };
            let table = if choice.levels.is_empty() {
                table.clone()
            } else {
                table.of_levels(&choice.levels, levels)
            };
            columns.extend(table.header[table.keys..].iter().cloned());
            let is_wanted = |i: &usize| {
                *i < table.keys
                    || choice.columns.is_empty()
                    || choice.columns.iter().any(|name| is_named(&table.header[*i], name))
            };
            let wanted: Vec<usize> = (0..table.header.len()).filter(is_wanted).collect();
            // One with nothing but what rows are about says nothing.
            if choice.columns.is_empty() || wanted.len() > table.keys {
                page.0.push(Part::Table(table.with_columns(&wanted)));
            }
        }
        let mut all: Vec<String> = Vec::new();
        for name in columns {
            if !all.contains(&name) {
                all.push(name);
            }
        }
        match choice.columns.iter().find(|name| !all.iter().any(|own| is_named(own, name))) {
            Some(name) => {
                let all: Vec<String> = all.iter().map(|name| name.replace('\n', " ")).collect();
                Err(unknown("--column", name, &all))
            }
            None => Ok(page),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    fn page() -> Page {
        let across =
            Table::new(1, ["method", "zone", "borough", "pays"], vec![words(&["exact", "1", "2", "3"])]);
        let down = Table::new(
            2,
            ["level", "method", "paid\nis"],
            vec![words(&["zone", "exact", "5"]), words(&["borough", "exact", "6"])],
        );
        Page::headed("Errors, laplace")
            .table(Table { errors: vec![1, 2], ..across })
            .and(Page::headed("Frontier").table(down))
    }

    fn tables(page: &Page) -> Vec<&Table> {
        page.parts()
            .iter()
            .filter_map(|part| if let Part::Table(table) = part { Some(table) } else { None })
            .collect()
    }

    #[test]
    fn tables_levels_and_columns_are_chosen() {
        let levels = words(&["zone", "borough"]);
        let chosen = |tables: &[&str], of: &[&str], columns: &[&str]| {
            let choice = Choice { tables: words(tables), levels: words(of), columns: words(columns) };
            page().chosen(&choice, &levels)
        };
        assert_eq!(chosen(&[], &[], &[]).unwrap(), page());
        let own = chosen(&["LAPLACE"], &["Borough"], &[]).unwrap();
        let [table] = tables(&own)[..] else { panic!("{own:?}") };
        assert_eq!(
            (table.header.clone(), table.errors.clone()),
            (words(&["method", "borough", "pays"]), vec![1])
        );
        let own = chosen(&[], &["zone"], &["paid is"]).unwrap();
        let [table] = tables(&own)[..] else { panic!("{own:?}") };
        assert_eq!(table.rows, [words(&["zone", "exact", "5"])]);
        let own = chosen(&[], &[], &["pays", "zone"]).unwrap();
        assert_eq!(tables(&own)[0].header, ["method", "zone", "pays"]);
        for (tables, levels, columns, want) in [
            (&["bias"][..], &[][..], &[][..], "--table: got `bias`, want one of: Errors, laplace; Frontier"),
            (&[][..], &["state"][..], &[][..], "--level: got `state`, want one of: zone; borough"),
            (
                &["errors"][..],
                &["zone"][..],
                &["borough"][..],
                "--column: got `borough`, want one of: zone; pays",
            ),
        ] {
            assert_eq!(chosen(tables, levels, columns).unwrap_err(), want);
        }
    }
}
