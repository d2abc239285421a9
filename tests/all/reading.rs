//! Reading tables and trees, beside plain readers that keep every value as a text of its own.
#![allow(clippy::disallowed_methods)] // Tests open files of their own.

use congenial::failure::Failure;
use congenial::input::{CsvTable, HierarchyTable, TableWriter, Value, Wanted};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArrayType, FloatType, Int32Type,
    Int64Type, Int96, Int96Type,
};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use proptest::prelude::*;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const PATH: &str = "t.csv";

/// Columns and rows with their lines, by the crate `csv`.
type Plain = (Vec<String>, Vec<(u64, Vec<String>)>);

/// Where lines end: with a line feed, a carriage return or both.
fn line_ends(source: &[u8]) -> Vec<usize> {
    let ends = |&i: &usize| {
        let (byte, before) = (source[i], i.checked_sub(1).map(|i| source[i]));
        byte == b'\r' || (byte == b'\n' && before != Some(b'\r'))
    };
    (0..source.len()).filter(ends).collect()
}

/// Where the fields of a row begin; or at which of them, which begins with a quote, the raw text says something else
/// than the value in quotes.
fn begins(raw: &[u8], fields: &csv::ByteRecord) -> Result<Vec<usize>, usize> {
    let (mut at, mut all) = (0, Vec::new());
    for field in fields {
        all.push(at);
        let written = |value: &[u8]| {
            let twice = value.iter().flat_map(|&byte| vec![byte; if byte == b'"' { 2 } else { 1 }]);
            [b'"'].into_iter().chain(twice).chain([b'"']).collect::<Vec<u8>>()
        };
        // Blanks behind the quotes belong to the value, for the crate.
        let length = match raw.get(at) {
            Some(b'"') => {
                let blanks = field.iter().rev().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
                let quoted = (0..=blanks).find_map(|blanks| {
                    let (value, behind) = field.split_at(field.len() - blanks);
                    let whole = [&written(value)[..], behind].concat();
                    let next = raw.get(at + whole.len());
                    let ended = matches!(next, None | Some(b',' | b'\r' | b'\n'));
                    (raw[at..].starts_with(&whole) && ended).then_some(whole.len())
                });
                quoted.ok_or(at)?
            }
            _ => field.len(),
        };
        at += length + 1;
    }
    Ok(all)
}

/// Whether a text ends between quotes: then a row behind it is none.
fn ends_quoted(source: &[u8]) -> bool {
    let more = [source, b"\n\x01\n"].concat();
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(&more[..]);
    reader.byte_records().last().unwrap().unwrap() != vec!["\x01"]
}

fn plain_table(source: &[u8]) -> Result<Plain, String> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(source);
    let records: Vec<csv::ByteRecord> = reader.byte_records().map(Result::unwrap).collect();
    let mut places: Vec<usize> =
        records.iter().map(|record| record.position().unwrap().byte() as usize).collect();
    places.push(source.len());
    let ends = line_ends(source);
    // The line of a place, from 1.
    let line_of = |at: usize| 1 + ends.partition_point(|&end| end < at) as u64;
    let bad = |line: u64, message: &str| Err(format!("{PATH}: line {line}: {message}"));
    let (mut rows, mut first) = (Vec::new(), None);
    for (i, record) in records.iter().enumerate() {
        let mut start = places[i];
        if i == 0 && source.starts_with(b"\xef\xbb\xbf") {
            start = 3;
        }
        start += source[start..].iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        let line = line_of(start);
        let raw = &source[start..places[i + 1]];
        let last = i + 1 == records.len();
        match begins(raw, record) {
            Ok(all) if last && ends_quoted(source) => {
                let opens = line_of(start + all[all.len() - 1]);
                return bad(opens, "a quote opens here and is not closed before the end of the file");
            }
            // But for those that are written twice there is no other quote.
            Err(at)
                if last
                    && ends_quoted(source)
                    && !String::from_utf8_lossy(&source[start + at + 1..])
                        .replace("\"\"", "")
                        .contains('"') =>
            {
                let opens = line_of(start + at);
                return bad(opens, "a quote opens here and is not closed before the end of the file");
            }
            Err(_) => return bad(line, "text stands behind a closing quote"),
            Ok(_) => {}
        }
        let (width, on) = *first.get_or_insert((record.len(), line));
        if record.len() != width {
            let fields = |n| if n == 1 { "1 field".to_owned() } else { format!("{n} fields") };
            let alone = if record.len() == 1 || width == 1 {
                "; want the table alone, without titles and notes"
            } else {
                ""
            };
            return bad(
                line,
                &format!("it has {}, line {on} has {}{alone}", fields(record.len()), fields(width)),
            );
        }
        let Ok(texts) = record.iter().map(|field| std::str::from_utf8(field)).collect::<Result<Vec<_>, _>>()
        else {
            return bad(line, "text that is not UTF-8");
        };
        rows.push((line, texts.iter().map(|text| text.trim().to_owned()).collect::<Vec<_>>()));
    }
    if rows.first().is_none_or(|(_, header)| header.iter().all(String::is_empty)) {
        return Err(format!("{PATH}: the file is empty, want a header line"));
    }
    let (line, columns) = rows.remove(0);
    for (i, column) in columns.iter().enumerate() {
        if !column.is_empty() && columns[..i].contains(column) {
            return bad(line, &format!("column `{column}` stands there twice"));
        }
    }
    Ok((columns, rows))
}

/// Parents, counts and digest of the tree, or what is wrong with it.
fn plain_tree(
    source: &[u8],
    levels: &[String],
    filter: &[(String, Vec<String>)],
) -> Result<(Vec<usize>, Vec<i64>, String), String> {
    let (columns, mut rows) = plain_table(source)?;
    let place = |name: &str| {
        let none = || format!("{PATH}: no column `{name}`; the file has {}", columns.join(", "));
        columns.iter().position(|column| column == name).ok_or_else(none)
    };
    for (name, values) in filter {
        let place = place(name)?;
        for value in values {
            if !rows.iter().any(|(_, row)| &row[place] == value) {
                return Err(format!("{PATH}: no row has `{name}` = `{value}`"));
            }
        }
        rows.retain(|(_, row)| values.contains(&row[place]));
    }
    let places = levels.iter().map(|level| place(level)).collect::<Result<Vec<_>, _>>()?;
    let count_place = place("count")?;
    if rows.is_empty() {
        return Err(format!("{PATH}: no rows below the header, want one per leaf"));
    }
    let (mut parents, mut counts) = (vec![0], vec![0i64]);
    let mut of_row = vec![0; rows.len()];
    for (depth, &place) in places.iter().enumerate() {
        let last = depth + 1 == places.len();
        let mut children: HashMap<(usize, &str), u64> = HashMap::new();
        let mut found: Vec<(usize, &str)> = Vec::new();
        for ((line, values), &parent) in rows.iter().zip(&of_row) {
            let name = values[place].as_str();
            if name.is_empty() {
                let leaf = &values[places[places.len() - 1]];
                return Err(match last {
                    true => format!("{PATH}: line {line}: no `{}`, want an id", levels[depth]),
                    false => {
                        format!(
                            "{PATH}: line {line}: `{leaf}` has no parent: `{}` is empty; where nothing is on this level, write the name of the level above",
                            levels[depth]
                        )
                    }
                });
            }
            match children.get(&(parent, name)) {
                Some(first) if last => {
                    return Err(format!(
                        "{PATH}: line {line}: `{}` = `{name}` is duplicated (first on line {first})",
                        levels[depth]
                    ));
                }
                Some(_) => {}
                None => {
                    children.insert((parent, name), *line);
                    found.push((parent, name));
                }
            }
        }
        found.sort_by_key(|child| child.0);
        let first = parents.len();
        parents.extend(found.iter().map(|child| child.0));
        let number: HashMap<_, _> = found.into_iter().zip(first..).collect();
        for ((_, values), node) in rows.iter().zip(&mut of_row) {
            *node = number[&(*node, values[place].as_str())];
        }
    }
    counts.resize(parents.len(), 0);
    for ((line, values), &node) in rows.iter().zip(&of_row) {
        let text = &values[count_place];
        let value = text.parse::<i64>().ok().filter(|&x| x >= 0);
        counts[node] =
            value.ok_or_else(|| format!("{PATH}: line {line}: `count` = `{text}`, want an integer >= 0"))?;
    }
    let total = of_row.iter().fold(0i64, |sum, &node| sum.saturating_add(counts[node]));
    if total > 1 << 53 {
        return Err(format!("{PATH}: the counts sum to {total}, the limit is 2^53"));
    }
    for v in (1..parents.len()).rev() {
        counts[parents[v]] += counts[v];
    }
    let mut hash = Sha256::new();
    for (parent, count) in parents.iter().zip(&counts) {
        hash.update((*parent as u64).to_le_bytes());
        hash.update(count.to_le_bytes());
    }
    let digest = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok((parents, counts, digest))
}

fn tree_of(
    table: CsvTable,
    levels: &[String],
    filter: &[(String, Vec<String>)],
) -> Result<(Vec<usize>, Vec<i64>, String), String> {
    let table = HierarchyTable::from_csv(table, levels, "count", filter).map_err(|e| e.to_string())?;
    let tree = &table.hierarchy;
    let parents = (0..tree.nodes()).map(|v| if v == 0 { 0 } else { tree.parent(v) }).collect();
    Ok((parents, table.counts.to_vec(), table.digest))
}

fn wanted<'a>(levels: &'a [String], filter: &'a [(String, Vec<String>)]) -> Wanted<'a> {
    let columns = levels.iter().chain(filter.iter().map(|(column, _)| column)).map(String::as_str);
    Wanted::of(columns, "count")
}

fn same_table(source: &[u8]) -> Result<(), TestCaseError> {
    let ours = CsvTable::from_reader(Path::new(PATH), source)
        .map(|table| (table.columns.clone(), table.to_rows()))
        .map_err(|e| e.to_string());
    let plain = plain_table(source);
    let shown = String::from_utf8_lossy(source);
    // What stands behind a quote is on a line of its row, maybe not on the first; a header is refused by the row behind
    // it before it is looked at.
    match (&ours, &plain) {
        (Err(ours), Err(_)) if ours.ends_with("stands there twice") || ours.contains("the file is empty") => {
        }
        (Err(ours), Err(plain)) if plain.ends_with("behind a closing quote") => {
            let number = |text: &str| -> u64 {
                text.strip_prefix("t.csv: line ").unwrap().split(':').next().unwrap().parse().unwrap()
            };
            prop_assert!(ours.contains("text stands behind a closing quote"), "{ours}: {shown:?}");
            prop_assert!(number(ours) >= number(plain), "{ours}: {shown:?}");
        }
        _ => prop_assert_eq!(ours, plain, "{:?}", shown),
    }
    Ok(())
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// Pieces of CSV: what means something, alone and together, and what is not UTF-8.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        6 => Just(b",".to_vec()),
        4 => Just(b"\n".to_vec()),
        2 => Just(b"\r\n".to_vec()),
        1 => Just(b"\r".to_vec()),
        2 => Just(b"\"".to_vec()),
        1 => Just(b"\"\"".to_vec()),
        1 => Just(b" ".to_vec()),
        1 => Just(b" \x0b".to_vec()),
        1 => Just("\u{a0}é\u{2003}".into()),
        1 => Just(b"\xff".to_vec()),
        1 => Just(b"\xef\xbb\xbf".to_vec()),
        6 => "[a-c]{1,3}".prop_map(String::into_bytes),
        1 => "[a-z-]{9,20}".prop_map(String::into_bytes),
    ]
}

/// A field as it may be written.
fn field(values: &'static str) -> impl Strategy<Value = String> {
    let value = proptest::string::string_regex(values).unwrap();
    (value, 0..8).prop_map(|(value, how)| match how {
        0 => format!("\"{value}\""),
        1 => format!(" {value}\t"),
        _ => value,
    })
}

fn tree_text() -> impl Strategy<Value = String> {
    let count = prop_oneof![30 => field("[0-9]{1,3}"), 1 => field("-?[0-9a]{0,20}"), 1 => field("[0-9]{16}")];
    let name = prop_oneof![40 => field("[a-d]{1,2}"), 1 => field("[a-d]{0,1}")];
    let leaf = prop_oneof![40 => field("[0-9]{3,5}"), 2 => field("[0-9]{0,2}")];
    let end = prop_oneof![8 => Just("\n"), 1 => Just("\r\n"), 1 => Just("\n\n")];
    let row = (field("[x-z]"), name, leaf, count, end);
    (prop::collection::vec(row, 0..40), any::<bool>()).prop_map(|(mut rows, sorted)| {
        if sorted {
            rows.sort();
        }
        let rows = rows.iter().map(|(a, b, leaf, count, end)| format!("{leaf},{a},{count},{b}{end}"));
        format!("leaf,a,count,b\n{}", rows.collect::<String>())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Any bytes: the same columns, rows and lines, or the same refusal.
    #[test]
    fn tables_are_read_as_csv_reads_them(pieces in prop::collection::vec(piece(), 0..40), mark: bool) {
        let mut source = if mark { b"\xef\xbb\xbf".to_vec() } else { Vec::new() };
        source.extend(pieces.concat());
        same_table(&source)?;
    }

    /// Trees with empty and duplicated names, odd counts, filters, rows in any order: the same or the same refusal.
    #[test]
    fn trees_are_those_of_the_plain_reader(text in tree_text(), filtered in 0..4, by in 0..4) {
        let filter = match filtered {
            0 => vec![("a".to_owned(), names(&["x", "y"]))],
            1 => vec![("a".to_owned(), names(&["x"])), ("count".to_owned(), names(&["1", "2"]))],
            _ => Vec::new(),
        };
        let levels = match by {
            0 => names(&["leaf"]),
            1 => names(&["a", "none", "leaf"]),
            _ => names(&["a", "b", "leaf"]),
        };
        let plain = plain_tree(text.as_bytes(), &levels, &filter);
        for wanted in [Wanted::default(), wanted(&levels, &filter)] {
            let ours = CsvTable::wanted_from_reader(Path::new(PATH), text.as_bytes(), &wanted)
                .map_err(|e| e.to_string())
                .and_then(|table| tree_of(table, &levels, &filter));
            // What is to be written in place of it may follow.
            let ours = ours.map_err(|message| match message.split_once("want an integer >= 0") {
                Some((before, _)) => format!("{before}want an integer >= 0"),
                None => message,
            });
            prop_assert_eq!(&ours, &plain, "{:?}", text);
        }
    }
}

/// Records across the ends of buffers, and longer than one.
#[test]
fn long_files_are_read_as_csv_reads_them() {
    let mut text = "a,b,c\n".to_owned();
    for i in 0..120_000u64 {
        let x = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        text += &match x % 7 {
            0 => format!("{x},\"quoted, and\nin {i} lines\",c\r\n"),
            1 => format!("{x},é{i},\"\"\"\"\n\n"),
            _ => format!("{x},n{i},c\n"),
        };
        if i % 40_000 == 9 {
            text += &format!("1,\"{}\",\"\n\"\n", "long \"\" and, ".repeat(60_000));
        }
    }
    same_table(text.as_bytes()).unwrap();
    text += "1,2\n";
    same_table(text.as_bytes()).unwrap();
    text += "é";
    same_table(&text.as_bytes()[..text.len() - 1]).unwrap();
}

/// A source that fails after some bytes.
struct Failing<'a>(&'a [u8]);

impl std::io::Read for Failing<'_> {
    fn read(&mut self, place: &mut [u8]) -> std::io::Result<usize> {
        match self.0.read(&mut place[..1])? {
            0 => Err(std::io::Error::other("the wire broke")),
            read => Ok(read),
        }
    }
}

/// What is wrong before a failure of the source is told first.
#[test]
fn sources_may_fail() {
    let read = |text: &str| {
        CsvTable::from_reader(Path::new(PATH), Failing(text.as_bytes())).unwrap_err().to_string()
    };
    assert_eq!(read("a,b\n1,2\n3,"), "t.csv: the wire broke");
    assert_eq!(read(""), "t.csv: the wire broke");
    assert_eq!(read("a,b\n1,2,3\n4"), "t.csv: line 2: it has 3 fields, line 1 has 2 fields");
}

fn levels() -> Vec<String> {
    names(&["a", "b", "leaf"])
}

fn parquet_tree(path: &Path, wanted: &Wanted) -> Result<(Vec<usize>, Vec<i64>, String), String> {
    let table = CsvTable::read_wanted(path, wanted).map_err(|e| e.to_string())?;
    tree_of(table, &levels(), &[])
}

/// Rows as CSV and as parquet are the same tree, over several row groups.
#[test]
fn parquet_and_csv_are_the_same_tree() {
    let dir = tempfile::tempdir().unwrap();
    let paths = ["t.csv", "t.parquet"].map(|name| dir.path().join(name));
    let columns = [("leaf", true), ("other", false), ("a", false), ("b", false), ("count", true)];
    for path in &paths {
        let mut writer = TableWriter::create(path, &columns).unwrap();
        for i in 0..300_000i64 {
            let (a, b) = (format!("a{}", i / 70_000), format!("β{}", i % 1000 / 10));
            let texts = [Value::Text("not wanted"), Value::Text(&a), Value::Text(&b)];
            let row = [Value::Integer(i)].into_iter().chain(texts).chain([Value::Integer(i * 31 % 977)]);
            writer.push(row).unwrap();
        }
        writer.finish().unwrap();
        assert!(TableWriter::create(path, &columns).is_err());
    }
    let levels = levels();
    let text = std::fs::read(&paths[0]).unwrap();
    let plain = plain_tree(&text, &levels, &[]).unwrap();
    for path in &paths {
        for wanted in [Wanted::default(), wanted(&levels, &[])] {
            assert!(parquet_tree(path, &wanted).unwrap() == plain);
        }
    }
}

/// Writes one row group; `write` is called for each column in turn.
fn write_parquet(
    path: &Path,
    fields: &str,
    mut write: impl FnMut(usize, &mut parquet::file::writer::SerializedColumnWriter),
) {
    let schema = Arc::new(parse_message_type(&format!("message table {{ {fields} }}")).unwrap());
    let mut writer = SerializedFileWriter::new(File::create(path).unwrap(), schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = 0;
    while let Some(mut next) = group.next_column().unwrap() {
        write(column, &mut next);
        next.close().unwrap();
        column += 1;
    }
    group.close().unwrap();
    writer.close().unwrap();
}

fn put<T: DataType>(
    column: &mut parquet::file::writer::SerializedColumnWriter,
    values: &[T::T],
    levels: Option<&[i16]>,
) {
    column.typed::<T>().write_batch(values, levels, None).unwrap();
}

/// A parquet file with columns of many types, three rows.
struct Kinds(tempfile::TempDir);

impl Kinds {
    /// `missing`: the last row has no name.
    fn new(missing: bool) -> Self {
        let kinds = Self(tempfile::tempdir().unwrap());
        let fields = "required int32 a (INTEGER(8, true)); optional int32 b (INTEGER(32, false)); \
                      required int64 leaf (INTEGER(64, false)); required int64 count; \
                      optional byte_array name (STRING); required double x; required int32 day (DATE); \
                      repeated int32 list; required byte_array bytes;";
        let levels: &[i16] = if missing { &[1, 1, 0] } else { &[1, 1, 1] };
        let present = if missing { 2 } else { 3 };
        write_parquet(&kinds.path(), fields, |i, column| match i {
            0 => put::<Int32Type>(column, &[-1, -1, 7], None),
            1 => put::<Int32Type>(column, &[-1, 5, 6], Some(&[1, 1, 1])),
            2 => put::<Int64Type>(column, &[-1, 2, 3], None),
            3 => put::<Int64Type>(column, &[10, 20, 30], None),
            4 => {
                let names = ["n", "", "m"].map(ByteArray::from);
                put::<ByteArrayType>(column, &names[..present], Some(levels));
            }
            5 => put::<DoubleType>(column, &[1.0, 2.0, 3.0], None),
            6 => put::<Int32Type>(column, &[1, 2, 3], None),
            7 => {
                column
                    .typed::<Int32Type>()
                    .write_batch(&[1, 2], Some(&[1, 1, 0, 0]), Some(&[0, 1, 0, 0]))
                    .unwrap();
            }
            _ => put::<ByteArrayType>(column, &["n", "", "m"].map(ByteArray::from), None),
        });
        kinds
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("t.parquet")
    }

    fn read(&self, columns: &[&str]) -> Result<CsvTable, Failure> {
        CsvTable::read_wanted(&self.path(), &Wanted::of(columns.iter().copied(), "count"))
    }

    /// What is said of columns that cannot be read, behind the path.
    fn refusal(&self, columns: &[&str]) -> String {
        let message = self.read(columns).unwrap_err().to_string();
        message.strip_prefix(&format!("{}: ", self.path().display())).unwrap().to_owned()
    }

    fn tree(&self, levels: &[&str]) -> Result<HierarchyTable, Failure> {
        let levels = names(levels);
        HierarchyTable::from_csv(self.read(&["a", "b", "leaf", "name"]).unwrap(), &levels, "count", &[])
    }
}

/// Integers of every kind.
#[test]
fn parquet_columns_are_text_or_integers() {
    let table = Kinds::new(false).read(&["a", "b", "leaf", "name"]).unwrap();
    let rows: Vec<Vec<String>> =
        (0..3).map(|row| (0..5).map(|i| table.text(row, i).to_owned()).collect()).collect();
    assert_eq!(rows[0], ["-1", "4294967295", "18446744073709551615", "10", "n"]);
    assert_eq!(rows[1], ["-1", "5", "2", "20", ""]);
    assert_eq!(rows[2], ["7", "6", "3", "30", "m"]);
}

#[test]
fn parquet_columns_of_other_types_are_refused() {
    let kinds = Kinds::new(false);
    assert_eq!(kinds.refusal(&["bytes"]), "column `bytes` has the type BYTE_ARRAY, want integers or text");
    assert_eq!(kinds.refusal(&["list"]), "column `list` is nested, want integers or text");
}

/// Whole numbers of floating point and of decimals are integers; dates and booleans are names.
#[test]
fn parquet_columns_of_numbers_dates_and_booleans() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.parquet");
    let fields = "required double real; required float single; required int32 small (DECIMAL(9, 2)); \
                  required int64 large (DECIMAL(18, 0)); required fixed_len_byte_array(3) wide (DECIMAL(5, 1)); \
                  required boolean known; required int32 day (DATE); required int96 stamp; optional double half;";
    write_parquet(&path, fields, |i, column| match i {
        0 => put::<DoubleType>(column, &[4.0, 1.5], None),
        1 => put::<FloatType>(column, &[16_777_216.0, 33_554_432.0], None),
        2 => put::<Int32Type>(column, &[1200, -5], None),
        3 => put::<Int64Type>(column, &[7, 9_007_199_254_740_992], None),
        4 => {
            let values = [[0u8, 0, 200], [255, 255, 56]].map(|bytes| ByteArray::from(bytes.to_vec()).into());
            put::<FixedLenByteArrayType>(column, &values, None);
        }
        5 => put::<BoolType>(column, &[true, false], None),
        6 => put::<Int32Type>(column, &[0, 18_292], None),
        7 => put::<Int96Type>(column, &[Int96::from(vec![0, 0, 0]); 2], None),
        _ => put::<DoubleType>(column, &[1.0], Some(&[1, 0])),
    });
    let table = CsvTable::read_wanted(&path, &Wanted::readable()).unwrap();
    let unread: Vec<&str> = table.unread().iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(unread, ["stamp"]);
    // Whoever asks for it is told.
    assert!(table.column("stamp").unwrap_err().to_string().contains("column `stamp` has the type INT96"));
    assert!(table.optional("stamp").is_err() && table.optional("none").unwrap().is_none());
    let row = |row| (0..9).filter(|&i| i != 7).map(|i| table.text(row, i).to_owned()).collect::<Vec<_>>();
    assert_eq!(row(0), ["4", "16777216", "12", "7", "20", "true", "1970-01-01", "1"]);
    assert_eq!(
        row(1),
        ["1.5", "3.3554432E+7", "-0.05", "9007199254740992", "-20", "false", "2020-01-31", ""]
    );
    let tree = |count: &str| {
        let table = CsvTable::read_wanted(&path, &Wanted::of(["day"], count)).map_err(|e| e.to_string())?;
        let tree =
            HierarchyTable::from_csv(table, &names(&["day"]), count, &[]).map_err(|e| e.to_string())?;
        Ok::<_, String>(tree.counts.to_vec())
    };
    assert!(tree("large").unwrap_err().contains("the limit is 2^53"));
    for (count, wanted) in [
        ("real", "row 2: `real` = `1.5`, want an integer >= 0: records are counted whole"),
        ("single", "row 2: `single` = `3.3554432E+7`, want an integer >= 0: it may be rounded"),
        ("small", "row 2: `small` = `-0.05`, want an integer >= 0"),
        ("half", "row 2: no value in `half`"),
        ("stamp", "column `stamp` has the type INT96, want integers or text"),
    ] {
        let message = tree(count).unwrap_err();
        assert!(message.contains(wanted), "{message}");
    }
}

/// Files as offices have them are the same table; what was seen is said.
#[test]
fn dialects_are_the_same_table() {
    let dir = tempfile::tempdir().unwrap();
    let read = |name: &str, bytes: &[u8]| {
        let path = dir.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let table = CsvTable::read(&path).map_err(|e| e.to_string())?;
        Ok::<_, String>((table.columns.clone(), table.to_rows(), table.notes().to_vec()))
    };
    let plain = "Kanton,Gemeinde,n\nZürich,\"Egg, b. Zürich\",5\nGenève,Nyon,7\n";
    let wanted = read("plain.csv", plain.as_bytes()).unwrap();
    assert!(wanted.2.is_empty());
    let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let latin = |text: &str| text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect::<Vec<u8>>();
    let semicolons = "Kanton;Gemeinde;n\r\nZürich;Egg, b. Zürich;\"5\"\r\nGenève;Nyon;7\r\n";
    let tabs = semicolons.replace(';', "\t");
    let cases: [(&str, Vec<u8>, &[&str]); 7] = [
        ("bom.csv", [&b"\xef\xbb\xbf"[..], plain.as_bytes()].concat(), &[]),
        ("semicolons.csv", semicolons.into(), &["columns stand between `;`"]),
        ("tabs.tsv", tabs.clone().into(), &["columns stand between `tab`"]),
        ("bars.txt", semicolons.replace(';', "|").into(), &["columns stand between `|`"]),
        (
            "utf16.csv",
            [&[0xff, 0xfe], &utf16(&tabs)[..]].concat(),
            &["columns stand between `tab`", "the text is UTF-16"],
        ),
        ("latin.csv", latin(plain), &["the text is Windows-1252", "`Zürich` on line 2"]),
        (
            "latin-semicolons.csv",
            latin(semicolons),
            &["columns stand between `;`", "the text is Windows-1252", "`Zürich` on line 2"],
        ),
    ];
    for (name, bytes, notes) in cases {
        let table = read(name, &bytes).unwrap();
        assert_eq!((&table.0, &table.1), (&wanted.0, &wanted.1), "{name}");
        assert_eq!(table.2, notes, "{name}");
    }
    // `sep=;` is a line of the file, and none of the table.
    let said = read("said.csv", format!("sep=;\n{semicolons}").as_bytes()).unwrap();
    assert_eq!((said.0, said.1[0].0), (wanted.0, 3));
    let refused = |name: &str, bytes: &[u8], wanted: &str| {
        let message = read(name, bytes).unwrap_err();
        assert!(message.contains(wanted), "{name}: {message}");
    };
    refused("both.csv", b"a;b,c\n1;2,3\n", "`,` and `;` both divide all rows");
    refused(
        "dos.csv",
        b"a,n\nK\x94ln,5\n",
        "line 2: the bytes `94` are not UTF-8, and not surely Windows-1252",
    );
    refused("zeros.csv", &utf16(plain), "is it UTF-16 without its mark");
    refused("half.csv", b"\xff\xfea\0\n\0b", "line 2: text that is not UTF-16");
    refused(
        "note.csv",
        b"a,n\nx,5\nSource: us\n",
        "line 3: it has 1 field, line 1 has 2 fields; want the table alone",
    );
    // What is wrong with a file that is UTF-8 is not its encoding.
    refused("quote.csv", "a,n\nö,\"5\n".as_bytes(), "line 2: a quote opens here");
}

#[test]
fn trees_are_read_from_parquet() {
    assert_eq!(Kinds::new(false).tree(&["a", "leaf"]).unwrap().counts[..], [60, 30, 30, 10, 20, 30]);
}

#[test]
fn mistakes_in_a_tree_from_parquet_name_the_row() {
    let kinds = Kinds::new(false);
    let wrong = |levels: &[&str], message: &str| {
        assert_eq!(
            kinds.tree(levels).unwrap_err().to_string(),
            format!("{}: {message}", kinds.path().display())
        );
    };
    wrong(&["name"], "row 2: no `name`, want an id");
    wrong(
        &["name", "leaf"],
        "row 2: `2` has no parent: `name` is empty; where nothing is on this level, write the name of the level above",
    );
    wrong(&["a"], "row 2: `a` = `-1` is duplicated (first on row 1)");
    wrong(&["none"], "no column `none`; the file has a, b, leaf, count, name, x, day, list, bytes");
}

/// What is not wanted may miss values.
#[test]
fn a_value_that_is_missing_is_refused_where_it_is_wanted() {
    let kinds = Kinds::new(true);
    assert_eq!(kinds.refusal(&["name"]), "row 3: no value in `name`");
    assert!(kinds.read(&["a", "leaf"]).is_ok());
}

#[test]
fn what_is_no_parquet_file_is_refused() {
    let kinds = Kinds::new(false);
    std::fs::write(kinds.path(), "PAR1 and then nothing").unwrap();
    assert!(kinds.refusal(&["a"]).starts_with("not a readable parquet file"));
}

#[test]
fn a_folder_is_no_table() {
    let dir = tempfile::tempdir().unwrap();
    let folder = CsvTable::read(dir.path()).unwrap_err().to_string();
    assert!(folder.contains("it is a folder"), "{folder}");
}
