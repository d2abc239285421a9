//! CSV files; the first byte chooses the reader.
#![no_main]

mod common;

use congenial::input::Bound;
use congenial::failure::Failure;
use congenial::input::{
    Aggregate, CsvTable, DataSource, Guess, InvariantSpec, InvariantTable, Keep, Known, Refusal, Shape, Subject, Wanted,
    Wishes, count_csv, join, matrix_from_reader, read_subject,
};
use congenial::study::published::published_from;
use congenial::study::release::{Beside, beside_from, beside_source_from, write_beside};
use libfuzzer_sys::fuzz_target;
use std::path::Path;

fuzz_target!(|data: &[u8]| {
    let Some((&reader, bytes)) = data.split_first() else { return };
    if let Err(failure) = read(reader, bytes) {
        common::refused(failure);
    }
});

fn read(reader: u8, bytes: &[u8]) -> Result<(), Failure> {
    let path = Path::new("fuzz.csv");
    let table = |bytes: &[u8]| CsvTable::from_reader(path, bytes);
    let text = |name: &str| name.to_owned();
    let filter = vec![(text("a"), vec![text("1"), text("2")])];
    match reader % 8 {
        // What `init` makes of it.
        0 if reader & 8 != 0 => {
            let table = CsvTable::wanted_from_reader(path, bytes, &Wanted::readable())?;
            let guess = Guess::of(&table, &Wishes::default())?;
            assert!(guess.keys.iter().all(|key| *key != guess.count && table.column(key).is_ok()));
        }
        0 => {
            let rows = table(bytes)?.filter(&filter)?;
            assert!(rows.to_rows().iter().all(|(line, _)| *line > 0));
        }
        1 => {
            // With known counts for every other kind of input.
            let marked = reader & 8 != 0;
            let source = DataSource {
                table: path.to_owned(),
                count: text("count"),
                filter: vec![],
                shape: Shape::Hierarchy { levels: vec![text("a"), text("b")] },
                root: text("total"),
                known: Known {
                    levels: if reader & 16 != 0 { vec![text("total")] } else { vec![] },
                    column: marked.then(|| text("known")),
                },
            };
            let read = read_subject(table(bytes)?, &source, &[&[text("b")]], &Keep::All);
            let (subject, _) = match read {
                Ok(read) => read,
                Err(Refusal::File(failure)) => return Err(failure),
                Err(Refusal::Invariant(..)) => unreachable!("there is none"),
            };
            let Subject::Hierarchy(tree) = subject else { unreachable!("it has levels") };
            tree.hierarchy.check(&tree.counts).expect("a sum");
        }
        2 => drop(published_from(&table(bytes)?)?),
        3 => {
            let rows = beside_from(&table(bytes)?)?;
            let again = beside_from(&table(&write_beside(&rows))?)?;
            assert_eq!(again, rows);
        }
        4 => {
            let (confidential, released) = (text("count"), text("released"));
            let beside = Beside { table: path.to_owned(), confidential, released, note: text("") };
            drop(beside_source_from(&table(bytes)?, &beside, &[text("a"), text("b")])?);
        }
        5 => drop(matrix_from_reader(path, bytes)?),
        6 => {
            let split = bytes.windows(2).position(|two| two == b"##").unwrap_or(bytes.len());
            let (lookup, records) = (table(&bytes[..split])?, bytes.get(split + 2..).unwrap_or_default());
            let job = Aggregate {
                records: path.to_owned(),
                key: text("a"),
                lookup: path.to_owned(),
                lookup_key: text("a"),
                exclude: vec![(text("b"), text("1"))],
                count: text("n"),
            };
            let counted = join(&job, &lookup, || count_csv(path, records, "a"))?;
            assert!(counted.records >= counted.excluded + counted.missing);
        }
        _ => {
            let (a, b) = (text("a"), text("b"));
            let specs = [
                InvariantSpec::Total,
                InvariantSpec::Partition(vec![a.clone()]),
                InvariantSpec::Margins { rows: a.clone(), columns: b.clone() },
                InvariantSpec::Indicators(vec![text("in")]),
                InvariantSpec::Hierarchy(vec![a.clone(), b.clone()]),
                InvariantSpec::Bounds(
                    Some(Bound::Column(text("low"))),
                    Some(Bound::Column(text("high"))),
                ),
            ];
            // The rest of the byte chooses among them.
            let chosen = specs.into_iter().enumerate().filter(|(i, _)| reader >> 3 & 1 << (i % 5) != 0);
            let invariants = chosen.map(|(_, spec)| (spec, 0..0)).collect();
            let shape = Shape::Table { entry: Some(vec![a, b]), invariants };
            let (root, known) = (text("total"), Known::default());
            let source = DataSource { table: path.to_owned(), count: text("count"), filter: vec![], shape, root, known };
            match InvariantTable::from_csv(table(bytes)?, &source) {
                Ok(table) => {
                    let zero = vec![0; table.counts.len()];
                    assert!(table.invariant.check(&zero).is_ok() && table.region.contains(&zero));
                }
                Err(Refusal::File(failure)) => return Err(failure),
                Err(Refusal::Invariant(place, _)) => assert!(place < 6),
            }
        }
    }
    Ok(())
}
