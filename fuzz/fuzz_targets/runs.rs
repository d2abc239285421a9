//! Folders of runs with damage under hashes that fit it, read by everything that reads runs; and parquet files as data. The first byte
//! chooses the run, the second what is damaged.
#![no_main]

mod common;

use congenial::engine::{self, Manner};
use congenial::failure::Result;
use congenial::input::CsvTable;
use congenial::page::{COLUMNS, Format};
use congenial::report::{Report, compare, write};
use congenial::store::{self, Claim, Earlier, FileDigest, Identity, Manifest, Started, sealed};
use congenial::study;
use congenial::table::{Data, Reader, Writer};
use libfuzzer_sys::fuzz_target;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const TREE: &str = "a,b,n\nx,p,5\nx,q,0\ny,r,9\ny,s,2\n";
const DATA: &str = "[data]\ntable = \"tree.csv\"\ncount = \"n\"\n";
const LEVELS: &str = "levels = [\"a\", \"b\"]\n";
const ENTRIES: &str = "entry = [\"a\", \"b\"]\n[[invariant]]\nkind = \"partition\"\nby = [\"a\"]\n";
const GRID: &str = "[[grid]]\nlaw = \"double-geometric\"\nmethod = [\"exact\", { kind = \"line-gibbs\", sweeps = 3 }]\n";
const PUBLISHED: &str = "source,name,table,figure,value,se,level\ns,n,l1_error,l2,1.5,0.1,1\n";
const BESIDE: &str = "a,b,c,r\nx,p,5,6\ny,s,2,1\n";

/// Runs of every study, small.
fn configs() -> Vec<String> {
    let top = |study: &str, more: &str| format!("name = \"f\"\nseed = 1\nstudy = \"{study}\"\n{more}");
    let report = "[report]\npublished = \"published.csv\"\nqueries = [[\"a\"]]\n[report.beside]\n\
        table = \"beside.csv\"\nconfidential = \"c\"\nreleased = \"r\"\nnote = \"n\"\n";
    vec![
        top("release", "replicates = 3\n") + DATA + LEVELS + GRID + "epsilon = 1\n",
        top("release", "replicates = 3\nkeep-draws = true\n") + DATA + ENTRIES + GRID + "epsilon = 1\n" + report,
        top("meeting", "replicates = 3\n")
            + DATA
            + ENTRIES
            + "[[grid]]\nlaw = \"double-geometric\"\nmethod = \"line-gibbs\"\nepsilon = 1\nlag = 2\n\
               marginal-chains = 3\nmarginal-steps = 4\n",
        top("frontier", "replicates = 3\nchange = \"added\"\n") + DATA + LEVELS + GRID + "paid = [0.5, 1]\n",
        top("privacy", "") + DATA + ENTRIES + "[[grid]]\nlaw = \"double-geometric\"\nmethod = \"exact\"\nepsilon = 1\n",
        top("composition", "") + "[worlds]\nworlds = 4\ncases = 1\nepsilon = 1\n",
    ]
}

struct Made {
    folder: PathBuf,
    /// A second of the same run, which is damaged and mended again.
    other: PathBuf,
    files: Vec<(String, Vec<u8>)>,
    manifest: Manifest,
}

fn make(folder: &Path, config: &str) -> Result<()> {
    let planned = study::plan(study::read(&folder.with_file_name("f.toml"), config, &[])?)?;
    let (about, copies) = (planned.about(), planned.copies()?);
    let identity = Identity::new(&about.config_hash, &about.data_digest);
    let Claim::New(run) = store::claim(folder, &identity, Earlier::Refused)? else { unreachable!("it is new") };
    let (given, resolved) = planned.configs();
    run.write("config.toml", given.as_bytes())?;
    run.write(store::RESOLVED, resolved.as_bytes())?;
    copies.iter().try_for_each(|(name, content)| run.write(name, content))?;
    let mut tables = planned.begin(&run)?;
    let manner = Manner { threads: 1, fail_fast: false, quiet: true, watch: None };
    let failed = engine::run(&*planned, manner, Some(run.journal()), &mut *tables)?;
    tables.finish()?;
    assert_eq!(failed, 0, "{config}");
    run.commit(Manifest::new(about, failed, Started::now(1).end(), Vec::new())).map(drop)
}

fn made() -> &'static [Made] {
    static MADE: OnceLock<Vec<Made>> = OnceLock::new();
    MADE.get_or_init(|| {
        let place = std::env::temp_dir().join(format!("congenial-fuzz-{}", std::process::id()));
        let _ = fs::remove_dir_all(&place);
        fs::create_dir_all(&place).expect("a place for runs");
        for (name, text) in [("tree.csv", TREE), ("published.csv", PUBLISHED), ("beside.csv", BESIDE)] {
            fs::write(place.join(name), text).expect("a file");
        }
        let one = |(i, config): (usize, String)| {
            let [folder, other] = ["run", "other"].map(|name| place.join(format!("{name}-{i}")));
            for folder in [&folder, &other] {
                make(folder, &config).unwrap_or_else(|e| panic!("{config}: {e:?}"));
            }
            let manifest = Manifest::read(&other).expect("just written");
            let read = |name: &String| (name.clone(), fs::read(other.join(name)).expect("just written"));
            Made { files: manifest.files.keys().map(read).collect(), manifest, folder, other }
        };
        configs().into_iter().enumerate().map(one).collect()
    })
}

/// Bits of a text that change: a place and a mask, three bytes each.
fn flip(bytes: &mut [u8], edits: &[u8]) {
    for edit in edits.chunks_exact(3) {
        let place = usize::from(u16::from_le_bytes([edit[0], edit[1]]));
        if let Some(byte) = bytes.get_mut(place % bytes.len().max(1)) {
            *byte ^= edit[2];
        }
    }
}

/// A table with other values in it, four bytes each: a row, a column, and what becomes of the value there.
fn edited(path: &Path, edits: &[u8]) -> Result<()> {
    let reader = Reader::open(path)?;
    let fields = reader.fields().to_vec();
    let mut groups = Vec::new();
    reader.groups(|columns| {
        groups.push(columns.to_vec());
        Ok(true)
    })?;
    for edit in edits.chunks_exact(4) {
        let Some(columns) = groups.first_mut() else { break };
        let width = columns.len();
        let column = &mut columns[usize::from(edit[1]) % width];
        let row = usize::from(edit[0]) % column.len().max(1);
        let large = i64::from_le_bytes([edit[2], edit[3], 0, 0, 0, 0, edit[2], edit[3]]);
        match &mut column.data {
            Data::U32(all) => all.iter_mut().skip(row).take(1).for_each(|x| *x = large as u32),
            Data::U64(all) => all.iter_mut().skip(row).take(1).for_each(|x| *x = large as u64),
            Data::I64(all) => all.iter_mut().skip(row).take(1).for_each(|x| *x = large),
            Data::F64(all) => all.iter_mut().skip(row).take(1).for_each(|x| *x = f64::from_bits(large as u64)),
            Data::Bool(all) => all.iter_mut().skip(row).take(1).for_each(|x| *x = !*x),
            Data::Text(all) => {
                let mut texts = congenial::table::Texts::default();
                for i in 0..all.len() {
                    texts.push(if i == row { &edit[2..] } else { all.bytes(i) });
                }
                *all = texts;
            }
        }
    }
    let mut writer = Writer::new(fs::File::create(path).expect("a file"), fields, &[]).expect("a table");
    for columns in &groups {
        writer.row().expect("a row").clone_from_slice(columns);
    }
    writer.finish().expect("a table");
    Ok(())
}

fn reads(folder: &Path, base: &Path) -> Result<()> {
    compare(base, folder, |rule| rule).and_then(|comparison| comparison.render(Format::Json, COLUMNS)).map(drop)?;
    compare(folder, base, |rule| rule)?.render(Format::Text, COLUMNS)?;
    let report = Report::open(&[folder.to_owned(), base.to_owned()])?;
    for format in [Format::Text, Format::Markdown, Format::Html, Format::Latex, Format::Csv, Format::Json] {
        write(&report, format.into(), folder, &mut Vec::new())?;
    }
    report.warnings().map(drop)
}

fuzz_target!(|data: &[u8]| {
    let [run, what, edits @ ..] = data else { return };
    let all = made();
    let Made { folder, other, files, manifest } = &all[usize::from(*run) % all.len()];
    let (name, bytes) = &files[usize::from(what >> 2) % files.len()];
    let path = other.join(name);
    let mut text = manifest.text();
    match what % 4 {
        0 => {
            let mut bytes = bytes.clone();
            flip(&mut bytes, edits);
            fs::write(&path, &bytes).expect("a file");
            // As data of a config, too.
            CsvTable::read(&path).err().map(common::refused);
        }
        1 if name.ends_with(".parquet") => edited(&path, edits).unwrap_or_else(common::refused),
        2 => {
            let length = edits.iter().take(2).fold(0, |n, &byte| 256 * n + usize::from(byte));
            fs::write(&path, &bytes[..length.min(bytes.len())]).expect("a file");
        }
        _ => {
            let mut bytes = text.into_bytes();
            flip(&mut bytes, edits);
            text = String::from_utf8_lossy(&bytes).into_owned();
        }
    }
    let mut damaged = manifest.clone();
    damaged.files.insert(name.clone(), FileDigest::of(&path).expect("it is there"));
    if what % 4 < 3 {
        text = damaged.text();
    } else if text.contains("\"manifest_sha256\"") {
        text = sealed(&text);
    }
    fs::write(other.join("manifest.json"), text).expect("a file");
    if let Err(failure) = reads(other, folder) {
        common::refused(failure);
    }
    fs::write(&path, bytes).expect("a file");
});
