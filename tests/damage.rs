//! A byte that changed anywhere in the folder of a run is found, or changes nothing.

mod place;

use congenial::store::Run;
use place::{Place, TABLE, TABLE_DATA, partition};
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

/// What the hash of a table in the manifest is taken of can be read back from its file.
#[test]
fn tables_hold_what_the_manifest_says() {
    use congenial::study::{cells::CellRow, privacy::StatementRow, release::ErrorRow};
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
