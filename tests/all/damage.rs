//! A byte that changed anywhere in the folder of a run is found, or changes nothing.
#![allow(clippy::disallowed_methods)] // Tests open files of their own.

use crate::place::{Place, TABLE, TABLE_DATA, partition};
use congenial::store::Run;
use std::path::{Path, PathBuf};

const CONFIG: &str = "name = \"c\"\nseed = 1\nreplicates = 20\nkeep-draws = true\n[report]\npublished = \"published.csv\"\n\
[[grid]]\nepsilon = [1.0, 2.0]\nlaw = \"double-geometric\"\nmethod = [\"exact\", { kind = \"line-gibbs\", sweeps = 10 }]\n";
const PUBLISHED: &str = "source,name,table,figure,value,epsilon\nsomebody,x,l1_error,l1_per_node,0.5,1\n";

fn place() -> Place {
    let config = format!("{CONFIG}{TABLE_DATA}{}", partition(&["row"]));
    Place::new(&[("table.csv", TABLE), ("published.csv", PUBLISHED), ("config.toml", &config)])
}

/// All files of a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// The first and the last bytes of a file, and some between.
fn places(length: usize) -> Vec<usize> {
    let mut state = length as u64;
    let mut below = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % length
    };
    let between: Vec<usize> = (0..300).map(|_| below()).collect();
    let mut places: Vec<usize> =
        (0..length.min(100)).chain(length.saturating_sub(100)..length).chain(between).collect();
    places.sort_unstable();
    places.dedup();
    places
}

/// No verb reads a run of which one byte is another, or one that was cut, grew, or lost a file: the file is named.
#[test]
fn a_complete_run_has_no_other_byte() {
    let place = place();
    place.prints(&["run", "config.toml", "--out", "whole"]);
    place.prints(&["run", "config.toml", "--out", "out"]);
    let mut changed = 0;
    let all = files(&place.path("out"));
    assert!(all.len() > 12 && all.iter().any(|file| file.ends_with("draws.parquet")), "{all:?}");
    for file in all {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let bytes = std::fs::read(&file).unwrap();
        let refused = |bytes: &[u8]| {
            std::fs::write(&file, bytes).unwrap();
            let message = Run::open(&place.path("out")).unwrap_err().to_string();
            assert!(message.contains(&name), "{name}: {message}");
        };
        for at in places(bytes.len()) {
            let mut other = bytes.clone();
            other[at] ^= 1 << (at % 8);
            refused(&other);
            changed += 1;
        }
        refused(&bytes[..bytes.len() - 1]);
        refused(&[&bytes[..], b"\n"].concat());
        refused(b"");
        for verb in [
            &["digest", "out"][..],
            &["report", "out"],
            &["report", "out", "--format", "csv"],
            &["report", "out", "--format", "json"],
            &["report", "out", "--out", "tables"],
            &["compare", "out", "whole"],
            &["compare", "whole", "out", "--identical"],
            &["run", "config.toml", "--out", "out"],
        ] {
            place.refuses(verb, &[&name]);
        }
        assert!(!place.path("tables").exists());
        std::fs::remove_file(&file).unwrap();
        place.refuses(&["digest", "out"], &[&name]);
        std::fs::write(&file, bytes).unwrap();
    }
    Run::open(&place.path("out")).unwrap();
    assert!(changed > 3000, "{changed}");
    assert_eq!(place.prints(&["digest", "out"]), place.prints(&["digest", "whole"]));
}

/// A file that was put into a complete run, under a name that readers look for, is named by every verb; others are nobody's business.
#[test]
fn a_complete_run_has_no_other_file() {
    let place = place();
    let config = std::fs::read_to_string(place.path("config.toml")).unwrap();
    let plain = config.replace("keep-draws = true\n[report]\npublished = \"published.csv\"\n", "");
    assert_ne!(plain, config);
    place.write("plain.toml", &plain);
    place.prints(&["run", "config.toml", "--out", "with"]);
    place.prints(&["run", "plain.toml", "--out", "out"]);
    let pages = place.prints(&["report", "out", "--full"]);
    let with = files(&place.path("with"));
    let draws = with.iter().find(|file| file.ends_with("draws.parquet")).unwrap();
    let draws = draws.strip_prefix(place.path("with")).unwrap().to_str().unwrap().to_owned();
    let beside = "name,confidential,released,note\na/x,5,6,a note\n";
    for (name, content) in [
        ("published.csv", PUBLISHED.as_bytes().to_vec()),
        ("beside.csv", beside.as_bytes().to_vec()),
        ("other.parquet", std::fs::read(place.path("with/cells.parquet")).unwrap()),
        (&draws, std::fs::read(place.path("with").join(&draws)).unwrap()),
    ] {
        let file = place.path("out").join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, content).unwrap();
        for verb in [
            &["digest", "out"][..],
            &["report", "out"],
            &["report", "out", "--format", "html"],
            &["report", "out", "--out", "tables"],
            &["compare", "out", "with"],
            &["run", "plain.toml", "--out", "out"],
        ] {
            place.refuses(verb, &[name, "the manifest does not list it"]);
        }
        std::fs::remove_file(&file).unwrap();
    }
    std::os::unix::fs::symlink(place.path("published.csv"), place.path("out/published.csv")).unwrap();
    place.refuses(&["report", "out"], &["out/published.csv", "the manifest does not list it"]);
    std::fs::remove_file(place.path("out/published.csv")).unwrap();
    place.write("out/notes.txt", "mine");
    assert_eq!(place.prints(&["report", "out", "--full"]), pages);
}

/// A file of another length is refused before it is read.
#[test]
fn lengths_are_looked_at_first() {
    let place = place();
    place.prints(&["run", "config.toml", "--out", "out"]);
    let file = std::fs::File::create(place.path("out/errors.parquet")).unwrap();
    file.set_len(1 << 40).unwrap();
    place.refuses(&["report", "out"], &["errors.parquet", "1099511627776 bytes"]);
}

/// What lies in a folder that is still drawn is no part of the run: strange files are named before anything is drawn,
/// and tables of others go.
#[test]
fn nothing_strange_stays_in_a_run() {
    let place = place();
    place.prints(&["run", "config.toml", "--out", "whole"]);
    place.prints(&["submit", "config.toml", "--engine", "parallel", "--out", "out", "--tasks", "1"]);
    place.prints(&["run", "out.partial/config.resolved.toml", "--out", "out", "--shard", "1/1"]);
    place.write("out.partial/notes.txt", "mine");
    for verb in
        [&["merge", "config.toml", "--out", "out"][..], &["run", "config.toml", "--out", "out", "--resume"]]
    {
        place.refuses(verb, &["out.partial/notes.txt", "it is no file of this run"]);
    }
    assert_eq!(std::fs::read_to_string(place.path("out.partial/notes.txt")).unwrap(), "mine");
    std::fs::remove_file(place.path("out.partial/notes.txt")).unwrap();
    place.write("out.partial/beside.csv", "name,confidential,released,note\na/x,5,6,a note\n");
    std::fs::create_dir_all(place.path("out.partial/cells/0123")).unwrap();
    place.write("out.partial/cells/0123/draws.parquet", "half");
    place.prints(&["merge", "config.toml", "--out", "out"]);
    let names = |folder: &str| {
        let all = files(&place.path(folder));
        let mut all: Vec<PathBuf> =
            all.iter().map(|file| file.strip_prefix(place.path(folder)).unwrap().to_owned()).collect();
        all.sort();
        all
    };
    assert_eq!(names("out"), names("whole"));
    assert_eq!(place.prints(&["digest", "out"]), place.prints(&["digest", "whole"]));
}

/// A number in a file makes no table wide: a run that somebody has made up, of a level that no tree has.
#[test]
fn numbers_in_files_size_nothing() {
    use congenial::study::release::LevelRow;
    let place = place();
    place.prints(&["run", "config.toml", "--out", "out"]);
    place.edit::<LevelRow>("out", |row| row.level = u32::MAX);
    for format in ["text", "html", "csv"] {
        let output = place.command(&["report", "out", "--full", "--format", format]).output().unwrap();
        assert!(matches!(output.status.code(), Some(0 | 2)), "{format}: {output:?}");
        assert!(output.stdout.len() < 10_000_000);
    }
}

/// What the hash of a table in the manifest is taken of can be read back from its file.
#[test]
fn tables_hold_what_the_manifest_says() {
    use congenial::study::cells::{CellRow, StatementRow};
    use congenial::study::release::ErrorRow;
    let place = place();
    place.prints(&["run", "config.toml", "--out", "out"]);
    let before = place.prints(&["digest", "out"]);
    place.edit::<CellRow>("out", |_| {});
    place.edit::<StatementRow>("out", |_| {});
    place.edit::<ErrorRow>("out", |_| {});
    assert_eq!(place.prints(&["digest", "out"]), before);
    place.edit::<ErrorRow>("out", |row| row.replicate += 1);
    assert_ne!(place.prints(&["digest", "out"]), before);
}

/// What shards and stopped runs have left: a changed byte is drawn again, or refused, and no row becomes another.
#[test]
fn what_is_not_complete_has_no_other_byte() {
    let place = place();
    place.prints(&["run", "config.toml", "--out", "whole"]);
    let want = place.prints(&["digest", "whole"]);
    let out = place.path("out");
    place.prints(&["submit", "config.toml", "--engine", "parallel", "--out", "out", "--tasks", "2"]);
    for shard in ["1/2", "2/2"] {
        place.prints(&["run", "out.partial/config.resolved.toml", "--out", "out", "--shard", shard]);
    }
    std::fs::rename(place.path("out.partial"), place.path("left")).unwrap();
    let (mut same, mut refused) = (0, 0);
    for file in files(&place.path("left")) {
        let file = file.strip_prefix(place.path("left")).unwrap().to_owned();
        let bytes = std::fs::read(place.path("left").join(&file)).unwrap();
        let every = (bytes.len() / 12).max(1);
        for at in (0..bytes.len()).step_by(every) {
            copy(&place.path("left"), &place.path("out.partial"));
            let mut other = bytes.clone();
            other[at] ^= 1 << (at % 8);
            std::fs::write(place.path("out.partial").join(&file), other).unwrap();
            for command in [
                &["merge", "config.toml", "--out", "out"][..],
                &["run", "config.toml", "--out", "out", "--resume"],
            ] {
                if out.exists() {
                    break;
                }
                let output = place.command(command).output().unwrap();
                let message = String::from_utf8_lossy(&output.stderr);
                assert!(matches!(output.status.code(), Some(0 | 2 | 6)), "{file:?} {at}: {message}");
            }
            if out.exists() {
                assert_eq!(place.prints(&["digest", "out"]), want, "{file:?} {at}");
                let resolved =
                    |folder: &str| std::fs::read(place.path(folder).join("config.resolved.toml")).unwrap();
                assert_eq!(resolved("out"), resolved("whole"), "{file:?} {at}");
                std::fs::remove_dir_all(&out).unwrap();
                same += 1;
            } else {
                std::fs::remove_dir_all(place.path("out.partial")).unwrap();
                refused += 1;
            }
        }
    }
    assert!(same > 20 && refused > 5, "{same} the same, {refused} refused");
}

fn copy(from: &Path, to: &Path) {
    for file in files(from) {
        let place = to.join(file.strip_prefix(from).unwrap());
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::copy(&file, place).unwrap();
    }
}
