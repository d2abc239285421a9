//! What a table seems to be: which column counts, and whether the others are levels of a hierarchy.

use super::CsvTable;
use crate::failure::{Failure, Result};
use std::collections::HashSet;
use std::path::Path;

/// Words that columns of counts are called by.
const COUNTS: [&str; 16] = [
    "count",
    "counts",
    "n",
    "number",
    "population",
    "pop",
    "total",
    "trips",
    "residents",
    "people",
    "persons",
    "households",
    "children",
    "records",
    "frequency",
    "freq",
];
/// Share of all pairs of values from which on two columns cross, where neither tells the other.
const CROSSED: f64 = 0.5;

/// What a table seems to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guess {
    /// The column of the counts.
    pub count: String,
    /// Columns that name a row, coarse to fine.
    pub keys: Vec<String>,
    /// Whether the keys are levels of a hierarchy.
    pub nested: bool,
    /// Whether all pairs of values of two columns are there, once.
    pub margins: bool,
    /// Columns that say nothing: one value only, the same as another column, or no whole numbers; and why.
    pub left_out: Vec<(String, &'static str)>,
    /// The number of rows.
    pub rows: usize,
}

impl Guess {
    /// Looks at a table. Refused: no rows; no column of counts; no other column; two rows of the same names.
    pub fn of(path: &Path, table: &CsvTable) -> Result<Self> {
        let refused = |message: String| Err(Failure::data(path, message));
        if table.is_empty() {
            return refused("no rows".into());
        }
        let rows = 0..table.len();
        let all = |place: usize, is: fn(&str) -> bool| rows.clone().all(|row| is(table.text(row, place)));
        let is_count = |text: &str| text.parse::<i64>().is_ok_and(|x| x >= 0);
        let counts: Vec<usize> = (0..table.columns.len()).filter(|&place| all(place, is_count)).collect();
        let named = |place: &&usize| {
            let name = table.columns[**place].to_lowercase();
            name.split(|c: char| !c.is_alphanumeric()).any(|word| COUNTS.contains(&word))
        };
        let Some(&count) = counts.iter().rev().find(named).or(counts.last()) else {
            return refused(
                "no column of integers >= 0; a table has a row for each group, with its count (`congenial aggregate` counts records)"
                    .into(),
            );
        };
        let mut left_out = Vec::new();
        let mut columns: Vec<Numbered> = Vec::new();
        // Values have numbers in the order of their rows: columns that say the same have the same numbers.
        let mut said: HashSet<Vec<u32>> = HashSet::new();
        let is_real = |text: &str| text.parse::<f64>().is_ok() && text.parse::<i64>().is_err();
        for place in (0..table.columns.len()).filter(|&place| place != count) {
            let column = Numbered::of(table, place);
            let why = if column.values == 1 && table.len() > 1 {
                "one value only"
            } else if rows.clone().any(|row| is_real(table.text(row, place))) {
                "measures something"
            } else if column.values < table.len() && !said.insert(column.numbers.clone()) {
                "says the same as another column"
            } else {
                columns.push(column);
                continue;
            };
            left_out.push((table.columns[place].clone(), why));
        }
        // Coarse to fine; of as many values in the order of the file.
        columns.sort_by_key(|column| column.values);
        // A column of which every row has another value names the rows; what stands beside it in the same way says no more.
        let naming = columns.iter().filter(|column| column.values == table.len()).count();
        for column in columns.drain(columns.len() - naming.saturating_sub(1)..) {
            left_out.push((table.columns[column.place].clone(), "says the same as another column"));
        }
        if columns.is_empty() {
            return refused(format!("no column beside `{}` that tells rows apart", table.columns[count]));
        }
        let mut seen = HashSet::new();
        for row in rows {
            let names: Vec<u32> = columns.iter().map(|column| column.numbers[row]).collect();
            if !seen.insert(names) {
                return Err(table.bad_row(
                    row,
                    "names the same group as a row above; want one row for each \
                    (`congenial aggregate` adds them up)",
                ));
            }
        }
        let nested = columns.windows(2).all(|two| {
            let (pairs, finer) = (two[0].pairs(&two[1]), two[1].values);
            pairs == finer || (pairs as f64) < CROSSED * two[0].values as f64 * finer as f64
        });
        let margins = columns.len() == 2 && columns[0].values * columns[1].values == table.len();
        Ok(Self {
            count: table.columns[count].clone(),
            keys: columns.iter().map(|column| table.columns[column.place].clone()).collect(),
            nested: nested && !margins,
            margins,
            left_out,
            rows: table.len(),
        })
    }
}

/// A column by the numbers of its values.
struct Numbered {
    place: usize,
    numbers: Vec<u32>,
    /// The number of values.
    values: usize,
}

impl Numbered {
    fn of(table: &CsvTable, place: usize) -> Self {
        let numbers = table.numbers(place);
        let values = numbers.iter().max().map_or(0, |most| *most as usize + 1);
        Self { place, numbers, values }
    }

    /// How many pairs of values stand in a row.
    fn pairs(&self, other: &Self) -> usize {
        self.numbers.iter().zip(&other.numbers).collect::<HashSet<_>>().len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guess(text: &str) -> Result<Guess> {
        let path = Path::new("t.csv");
        Guess::of(path, &CsvTable::from_reader(path, text.as_bytes()).unwrap())
    }

    #[test]
    fn hierarchies_and_crossings_are_told_apart() {
        let tree = guess(
            "district,street,residents,area\nn,Elm,12,1.5\nn,Oak,0,2.25\ns,Quay,31,0.5\ns,Mill,4,1.0\n",
        )
        .unwrap();
        assert_eq!((tree.count.as_str(), tree.nested, tree.margins), ("residents", true, false));
        assert_eq!(tree.keys, ["district", "street"]);
        assert_eq!(tree.left_out, [("area".to_owned(), "measures something")]);
        // Names of counties stand under several states.
        let names = guess("state,county,n\nA,x,1\nA,y,2\nB,z,3\nB,w,3\nC,x,4\nC,v,5\n").unwrap();
        assert!(names.nested);
        let table = guess("age,sex,n\n1,f,0\n1,m,3\n2,f,1\n2,m,9\n").unwrap();
        assert_eq!((table.nested, table.margins, table.keys.len()), (false, true, 2));
        let gaps = guess("age,sex,n\n1,f,0\n1,m,3\n2,f,1\n2,m,9\n3,f,7\n").unwrap();
        assert_eq!((gaps.nested, gaps.margins), (false, false));
        // A code beside a name.
        let codes = guess("state,fips,county,population\nA,1,x,1\nA,1,y,2\nB,2,z,3\nB,2,w,3\n").unwrap();
        assert_eq!((codes.keys, codes.nested), (vec!["state".to_owned(), "county".to_owned()], true));
    }

    /// Columns may be as many as a file may have: each is compared with all others at once. Pair by pair that would be
    /// 200 million.
    #[test]
    fn many_columns() {
        let columns = 20_000;
        let row = |text: fn(usize) -> String, count: &str| {
            (0..columns).map(text).chain([count.to_owned()]).collect::<Vec<_>>().join(",")
        };
        let header = row(|i| format!("c{i}"), "n");
        let one = guess(&format!("{header}\n{}\n", row(|i| format!("v{i}"), "5"))).unwrap();
        assert_eq!((one.keys.len(), one.left_out.len()), (1, columns - 1));
        // Codes that come back after 10 and after 11 columns, and say the same then.
        let rows: Vec<String> = (0..4)
            .map(|r: usize| match r {
                0 => row(|i| (i % 10).to_string() + "a", "1"),
                1 => row(|i| (i % 10).to_string() + "b", "2"),
                2 => row(|i| (i % 10).to_string() + if i % 3 == 0 { "a" } else { "b" }, "3"),
                _ => row(|i| (i % 10).to_string() + if i % 2 == 0 { "a" } else { "b" }, "4"),
            })
            .collect();
        let same = guess(&format!("{header}\n{}\n", rows.join("\n"))).unwrap();
        assert_eq!((same.keys.len(), same.left_out.len()), (4, columns - 4));
        assert!(same.left_out.iter().all(|(_, why)| *why == "says the same as another column"));
    }

    #[test]
    fn what_is_no_table_of_counts_is_refused() {
        let message = |text: &str| guess(text).unwrap_err().to_string();
        assert!(message("a,b\n").contains("no rows"));
        assert!(message("a,b\nx,y\n").contains("no column of integers >= 0"));
        assert!(message("n\n1\n2\n").contains("no column beside `n`"));
        assert!(message("a,b,n\nx,u,1\ny,u,2\nx,u,3\n").contains("line 4: names the same group"));
    }
}
