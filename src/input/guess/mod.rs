//! What a table seems to be: which column counts, which ones name groups, whether they nest, and what is doubtful.

mod columns;
mod doubts;
mod nesting;

pub(super) use nesting::{Bundle, bundles};

use super::CsvTable;
use super::known::doubtful_order;
use super::numbers::Numbers;
use crate::failure::{Failure, Result};
use columns::Seen;

/// What somebody says of a table, where it is not to be guessed.
#[derive(Debug, Clone, Default)]
pub struct Wishes {
    /// The levels of a hierarchy below the root, coarse to fine.
    pub levels: Vec<String>,
    /// The column of the counts.
    pub count: Option<String>,
}

/// What a table seems to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guess {
    /// The column of the counts.
    pub count: String,
    /// Columns that name a row: the levels of a hierarchy, coarse to fine; or those of a table, few values first.
    pub keys: Vec<String>,
    /// Those of them that cross a hierarchy, and could as well stand in another order.
    pub crossed: Vec<String>,
    /// Whether the keys are levels of a hierarchy.
    pub nested: bool,
    /// Whether all pairs of values of two columns are there, once.
    pub margins: bool,
    /// Columns that are not used, and why.
    pub left_out: Vec<(String, String)>,
    /// What may be wrong with the guess or with the table, in words.
    pub doubts: Vec<String>,
    /// What was seen of the file that not every file has, in words.
    pub notes: Vec<String>,
    /// The number of rows.
    pub rows: usize,
}

impl Guess {
    /// Looks at a table.
    ///
    /// Refused: no rows; no column of counts, or several of which none is called like one; counts that cannot be read;
    /// records, of which each row is one; two rows of the same group; blanks in place of names.
    pub fn of(table: &CsvTable, wishes: &Wishes) -> Result<Self> {
        if table.is_empty() {
            return Err(Failure::data(&table.path, "no rows"));
        }
        let mut left_out: Vec<(String, String)> = table.unread().to_vec();
        let mut doubts = Vec::new();
        let mut seen = Vec::new();
        // Values have numbers in the order of their rows: columns that say the same have the same numbers.
        for place in (0..table.columns.len()).filter(|&place| table.is_read(place)) {
            seen.push(Seen::of(table, place));
        }
        let wished = |seen: &Seen| wishes.levels.iter().any(|level| *level == table.columns[seen.place]);
        for level in &wishes.levels {
            table.column(level)?;
        }
        let count = columns::count(table, &seen, wishes, &mut doubts)?;
        let (mut keys, mut records): (Vec<Seen>, Vec<Seen>) = (Vec::new(), Vec::new());
        let named = seen.iter().any(|column| Some(column.place) == count && column.is_named_count());
        for column in seen.into_iter().filter(|column| Some(column.place) != count) {
            if wished(&column) || (wishes.levels.is_empty() && column.may_name(table.len())) {
                keys.push(column);
            } else if wishes.levels.is_empty() && column.is_record(table.len()) {
                records.push(column);
            } else {
                left_out.push((table.columns[column.place].clone(), column.why(table.len()).into()));
            }
        }
        // Numbers of the rows may be all that tells groups apart.
        if !records.is_empty() && named && !nesting::tell_apart(&keys) {
            keys.append(&mut records);
        }
        left_out.extend(
            records.iter().map(|one| (table.columns[one.place].clone(), one.why(table.len()).into())),
        );
        let Some(count) = count else { return Err(columns::no_count(table, &keys, &left_out)) };
        if wishes.levels.is_empty() {
            columns::drop_measures(table, &mut keys, &mut left_out);
            columns::drop_repeated(table, &mut keys, &mut left_out);
            columns::drop_needless(table, &mut keys, &mut left_out);
        } else {
            keys.sort_by_key(|key| wishes.levels.iter().position(|level| *level == table.columns[key.place]));
        }
        if keys.is_empty() {
            let message = format!("no column beside `{}` that tells rows apart", table.columns[count]);
            return Err(Failure::data(&table.path, message));
        }
        check_blanks(table, &keys)?;
        let order = match wishes.levels.is_empty() {
            true => nesting::order(table, keys, &mut left_out),
            false => nesting::Order { nested: true, margins: false, chain: keys.len(), keys },
        };
        if let Some((row, first)) = nesting::repeated(&order.keys) {
            return Err(match named || wishes.count.is_some() {
                true => repeated(table, &order.keys, count, (row, first)),
                false => columns::no_count(table, &order.keys, &left_out),
            });
        }
        let numbers = Numbers::new(table, count);
        let counts = (0..table.len()).map(|row| numbers.count(row)).collect::<Result<Vec<i64>>>()?;
        doubts::add(table, &order, &counts, &mut doubts);
        let names =
            |keys: &[Seen]| keys.iter().map(|key| table.columns[key.place].clone()).collect::<Vec<_>>();
        if !wishes.levels.is_empty() {
            doubts.extend(doubtful_order(table, &names(&order.keys))?);
        }
        Ok(Self {
            count: table.columns[count].clone(),
            keys: names(&order.keys),
            crossed: if order.nested { names(&order.keys[order.chain..]) } else { Vec::new() },
            nested: order.nested,
            margins: order.margins,
            left_out,
            doubts,
            notes: table.notes().iter().cloned().chain(numbers.note()).collect(),
            rows: table.len(),
        })
    }
}

/// Refuses a row without a name in a column of names.
fn check_blanks(table: &CsvTable, keys: &[Seen]) -> Result<()> {
    for row in 0..table.len() {
        let Some(key) = keys.iter().find(|key| table.text(row, key.place).is_empty()) else { continue };
        let name = &table.columns[key.place];
        let message = format!(
            "`{name}` is blank, want a name in every row: where nothing is on this level, write the name of the level above"
        );
        return Err(table.bad_row(row, message));
    }
    Ok(())
}

/// The error of two rows of the same group.
fn repeated(table: &CsvTable, keys: &[Seen], count: usize, (row, first): (usize, usize)) -> Failure {
    let names: Vec<&str> = keys.iter().map(|key| table.columns[key.place].as_str()).collect();
    let sum = &table.columns[count];
    table.bad_row(
        row,
        format!(
            "names the same group as {}; want one row for each. `{}` adds them up",
            table.place(first),
            columns::command(table, &names, &["--sum", sum, "--count", sum])
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn guess(text: &str) -> Result<Guess> {
        let table = CsvTable::from_reader(Path::new("t.csv"), text.as_bytes()).unwrap();
        Guess::of(&table, &Wishes::default())
    }

    #[test]
    fn hierarchies_and_crossings_are_told_apart() {
        let tree = guess(
            "district,street,residents,area\nn,Elm,12,1.5\nn,Oak,0,2.25\ns,Quay,31,0.5\ns,Mill,4,1.0\n",
        )
        .unwrap();
        assert_eq!((tree.count.as_str(), tree.nested, tree.margins), ("residents", true, false));
        assert_eq!(tree.keys, ["district", "street"]);
        assert_eq!(tree.left_out, [("area".to_owned(), "measures something".to_owned())]);
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
        assert!(same.left_out.iter().all(|(_, why)| why.starts_with("says the same as")));
    }

    #[test]
    fn what_is_no_table_of_counts_is_refused() {
        let message = |text: &str| guess(text).unwrap_err().to_string();
        assert!(message("a,b\n").contains("no rows"));
        assert!(message("a,b\nx,y\n").contains("no column of integers >= 0"));
        assert!(message("n\n1\n2\n").contains("no column beside `n`"));
        assert!(message("a,b,n\nx,u,1\ny,u,2\nx,u,3\n").contains("line 4: names the same group as line 2"));
    }
}
