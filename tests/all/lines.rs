//! Tables that are written in many ways, some of them damaged: every reader of CSV reads just what was written, or
//! names the line that is wrong.

use congenial::failure::Failure;
use congenial::input::{
    CsvTable, DataSource, HierarchyTable, Keep, Known, Refusal, Shape, count_csv, matrix_from_reader,
    read_subject,
};
use congenial::study::published::published_from;
use congenial::study::release::Beside;
use congenial::study::release::beside_source_from;
use proptest::prelude::*;
use std::path::Path;

/// How a table is written.
#[derive(Debug, Clone)]
struct Written {
    /// By row: a name, and whether it is written in quotes.
    rows: Vec<(String, bool)>,
    /// What ends a row, and how many empty lines are behind it; round and round.
    ends: Vec<(&'static str, usize)>,
    mark: bool,
    open_end: bool,
    /// A row, from the end, and what is wrong with it.
    damage: Option<(usize, Damage)>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Damage {
    /// A quote that opens the last field is not closed.
    Open,
    /// Text behind a closing quote.
    Behind,
    /// A field too many.
    More,
    /// A field too few.
    Fewer,
    /// The last field is no number.
    Word,
}

fn written() -> impl Strategy<Value = Written> {
    let name = prop_oneof![
        6 => "[a-z]{1,3}",
        1 => "[a-z]{1,2}, [a-z]",
        1 => "[a-z]\r\n[a-z]",
        1 => "[a-z]\n\n[a-z]",
        1 => "[a-z]\r[a-z]",
        1 => "[a-z]\"[a-z]\"\"",
        1 => "[à-ü]{2}"
    ];
    let end =
        (prop::sample::select(vec!["\n", "\r\n", "\r"]), prop_oneof![4 => Just(0usize), 1 => 1..3usize]);
    let damage =
        prop::sample::select(vec![Damage::Open, Damage::Behind, Damage::More, Damage::Fewer, Damage::Word]);
    (
        prop::collection::vec((name, any::<bool>()), 1..12),
        prop::collection::vec(end, 1..4),
        any::<(bool, bool)>(),
        prop::option::of((0..12usize, damage)),
    )
        .prop_map(|(rows, ends, (mark, open_end), damage)| Written {
            rows,
            ends,
            mark,
            open_end,
            damage,
        })
}

impl Written {
    /// The row that is damaged.
    fn damaged(&self) -> Option<(usize, Damage)> {
        self.damage.map(|(row, damage)| (row % self.rows.len(), damage))
    }

    /// A text with this header; `before`: what stands between the name and the number. Beside it by row the line on
    /// which it begins and that of its last field. Names are numbered, so that they differ.
    fn text(&self, header: &str, before: &str) -> (String, Vec<(u64, u64)>) {
        let mut text = if self.mark { "\u{feff}".to_owned() } else { String::new() };
        let mut lines = Vec::new();
        let mut line = 1;
        let mut ends = self.ends.iter().cycle();
        let mut end = |text: &mut String, line: &mut u64, last: bool| {
            let (end, more) = ends.next().unwrap();
            if !(last && self.open_end) {
                (0..=*more).for_each(|_| text.push_str(end));
                *line += 1 + *more as u64;
            }
        };
        text += header;
        end(&mut text, &mut line, false);
        for (row, (name, quoted)) in self.rows.iter().enumerate() {
            let begins = line;
            let name = format!("{row}{name}");
            // A carriage return and a line feed are one end.
            line += name.replace("\r\n", "\n").matches(['\n', '\r']).count() as u64;
            let quoted = *quoted || name.contains([',', '\n', '\r', '"']);
            text += &if quoted { format!("\"{}\"", name.replace('"', "\"\"")) } else { name };
            lines.push((begins, line));
            let damage = self.damaged().filter(|damaged| damaged.0 == row).map(|damaged| damaged.1);
            text += &match damage {
                None => format!(",{before}{row}"),
                Some(Damage::Open) => format!(",{before}\"{row}"),
                Some(Damage::Behind) => format!(",{before}\"{row}\"x"),
                Some(Damage::More) => format!(",{before}{row},1"),
                Some(Damage::Fewer) => String::new(),
                Some(Damage::Word) => format!(",{before}word"),
            };
            end(&mut text, &mut line, row + 1 == self.rows.len());
            if damage == Some(Damage::Open) {
                // Nothing behind it has quotes.
                (row + 1..self.rows.len()).for_each(|row| text.push_str(&format!("{row}x,{before}{row}\n")));
                break;
            }
        }
        (text, lines)
    }

    /// What a reader must say of the damage, or that it must read; `words`: whether a word is no number to it.
    fn wanted(&self, lines: &[(u64, u64)], words: bool) -> Option<String> {
        let (row, damage) = self.damaged()?;
        let (begins, last) = *lines.get(row)?;
        match damage {
            Damage::Open => Some(format!("line {last}: a quote opens here and is not closed")),
            Damage::Behind => Some(format!("line {last}: text stands behind a closing quote")),
            Damage::More | Damage::Fewer => Some(format!("line {begins}: it has ")),
            Damage::Word => words.then(|| format!("line {begins}: ")),
        }
    }
}

/// What a reader gave is what it must give.
fn judge<T>(
    read: Result<T, Failure>,
    wanted: Option<String>,
    text: &str,
    fits: impl FnOnce(T) -> bool,
) -> Result<(), TestCaseError> {
    match (read, wanted) {
        (Ok(read), None) => prop_assert!(fits(read), "{text:?}"),
        (Err(e), Some(wanted)) => {
            let wanted = format!("t.csv: {wanted}");
            prop_assert!(e.to_string().starts_with(&wanted), "{e}\nwant {wanted}\n{text:?}");
        }
        (Ok(_), Some(wanted)) => prop_assert!(false, "read, want {wanted}\n{text:?}"),
        (Err(e), None) => prop_assert!(false, "{e}\n{text:?}"),
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn every_reader_reads_what_was_written_or_names_the_line(written in written()) {
        let path = Path::new("t.csv");
        let names: Vec<String> = written.rows.iter().enumerate().map(|(i, (name, _))| format!("{i}{name}")).collect();
        let n = names.len();
        let table = |text: &str| CsvTable::from_reader(path, text.as_bytes());

        let (text, lines) = written.text("name,n", "");
        let values = |(row, name): (usize, &String)| {
            let number = if written.damaged() == Some((row, Damage::Word)) { "word".into() } else { row.to_string() };
            vec![name.trim().to_owned(), number]
        };
        let all: Vec<(u64, Vec<String>)> =
            lines.iter().map(|line| line.0).zip(names.iter().enumerate().map(values)).collect();
        judge(table(&text), written.wanted(&lines, false), &text, |table| table.to_rows() == all)?;

        // Records that are counted: the column that may be damaged is not the one they are counted by.
        judge(count_csv(path, text.as_bytes(), "name"), written.wanted(&lines, false), &text, |(counts, none)| {
            none == 0 && counts.len() == n && counts.values().all(|&count| count == 1)
        })?;

        let tree = table(&text).and_then(|table| HierarchyTable::from_csv(table, &["name".into()], "n", &[]));
        let wanted = written.wanted(&lines, true);
        judge(tree, wanted.clone(), &text, |tree| tree.counts[1..] == *(0..n as i64).collect::<Vec<_>>())?;

        let (known, lines) = written.text("name,count,known", "7,");
        let source = DataSource {
            table: path.to_owned(),
            count: "count".into(),
            filter: vec![],
            shape: Shape::Hierarchy { levels: vec!["name".into()], inequalities: vec![] },
            root: "total".into(),
            known: Known { levels: vec![], column: Some("known".into()) },
        };
        // Only the first two numbers are marks.
        if n <= 2 {
            let read = table(&known).and_then(|table| read_subject(table, &source, &[], &Keep::Nothing).map_err(|e| match e {
                Refusal::File(failure) => failure,
                Refusal::Invariant(..) => unreachable!("there is none"),
            }));
            judge(read, written.wanted(&lines, true), &known, |_| true)?;
        }

        let (text, lines) = written.text("name,ours,theirs", "7,");
        let beside =
            Beside { table: path.to_owned(), confidential: "ours".into(), released: "theirs".into(), note: String::new() };
        let read = table(&text).and_then(|table| beside_source_from(&table, &beside, &["name".into()]));
        judge(read, written.wanted(&lines, true), &text, |rows| rows.len() == n)?;

        let (text, lines) = written.text("name,source,table,figure,value", "s,t,f,");
        let read = table(&text).and_then(|table| published_from(&table));
        judge(read, written.wanted(&lines, true), &text, |rows| {
            rows.len() == n && rows.iter().zip(&lines).all(|(row, line)| row.line == line.0)
        })?;

        // A matrix has numbers alone.
        let numbers = Written { rows: vec![(String::new(), false); n], ..written.clone() };
        let (text, lines) = numbers.text("1,1", "");
        judge(matrix_from_reader(path, text.as_bytes()), numbers.wanted(&lines, true), &text, |rows| {
            rows.len() == n + 1 && rows[1..].iter().zip(0i64..).all(|(row, i)| row == &[i, i])
        })?;
    }
}
