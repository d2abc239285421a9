//! Every file that a verb writes appears whole or not at all, and nothing of a stopped process stays for ever.
#![allow(clippy::disallowed_methods)] // Tests open files of their own.

use crate::place::{Place, TREE, TREE_DATA};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

const CONFIG: &str = "name = \"c\"\nseed = 1\nreplicates = 20\n[[grid]]\nepsilon = [1.0, 2.0]\nlaw = \
    \"laplace\"\nmethod = [\"exact\", \"l2\"]\n";

fn place() -> Place {
    Place::new(&[("tree.csv", TREE), ("config.toml", &format!("{CONFIG}{TREE_DATA}"))])
}

/// The files of a folder with their sizes, folders below it left out.
fn files(folder: &Path) -> BTreeMap<String, u64> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap());
    let files = entries.filter(|entry| entry.path().is_file());
    files
        .map(|file| (file.file_name().to_string_lossy().into_owned(), file.metadata().unwrap().len()))
        .collect()
}

/// A file may have so many blocks of 512 bytes: further writes fail, or kill.
fn limited(place: &Place, blocks: u32, killed: bool, arguments: &[&str]) -> std::process::ExitStatus {
    let trap = if killed { "" } else { "trap '' XFSZ;" };
    let script = format!("{trap} ulimit -f {blocks}; exec \"$@\"");
    let mut shell = Command::new("sh");
    shell.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_congenial")]).args(arguments);
    shell.current_dir(place.path(".")).output().unwrap().status
}

/// What writes one file, which is its last argument.
const SINGLE: [&[&str]; 3] = [
    &["simulate", "lookup.csv", "--size", "2", "--mean", "10", "--seed", "1", "--out", "new.csv"],
    &["simulate", "lookup.csv", "--size", "2", "--mean", "10", "--seed", "1", "--out", "new.parquet"],
    &[
        "aggregate",
        "records.csv",
        "--key",
        "key",
        "--lookup",
        "lookup.csv",
        "--lookup-key",
        "key",
        "--out",
        "new.csv",
    ],
];

/// A place where what writes one file has thousands of lines to write.
fn place_of_keys() -> Place {
    let place = place();
    let keys: String = (0..5000).map(|i| format!("key-{i},name {i}\n")).collect();
    place.write("lookup.csv", &("key,name\n".to_owned() + &keys));
    place.write("records.csv", "key\nkey-1\n");
    place
}

#[test]
fn a_file_that_cannot_be_written_whole_is_not_there() {
    let place = place_of_keys();
    for arguments in SINGLE {
        let before = files(&place.path("."));
        let failed = limited(&place, 8, false, arguments);
        assert_eq!(failed.code(), Some(1), "{arguments:?}");
        assert_eq!(files(&place.path(".")), before, "{arguments:?}");
    }
}

#[test]
fn what_is_killed_while_it_writes_a_file_leaves_nothing_in_the_way() {
    let place = place_of_keys();
    for arguments in SINGLE {
        let name = *arguments.last().unwrap();
        let killed = limited(&place, 8, true, arguments);
        assert_eq!(killed.code(), None, "{arguments:?}");
        assert!(!place.path(name).exists(), "{arguments:?}");
        place.prints(arguments);
        std::fs::remove_file(place.path(name)).unwrap();
    }
}

#[test]
fn a_file_that_is_there_is_not_written_again() {
    let place = place_of_keys();
    for arguments in SINGLE {
        let name = *arguments.last().unwrap();
        place.prints(arguments);
        let whole = std::fs::read(place.path(name)).unwrap();
        place.refuses(arguments, &["it exists"]);
        assert_eq!(std::fs::read(place.path(name)).unwrap(), whole);
        std::fs::remove_file(place.path(name)).unwrap();
    }
}

/// `report` and `man` write them.
#[test]
fn files_of_a_folder_are_whole_or_not_there() {
    let place = place();
    place.prints(&["run", "config.toml", "--out", "run"]);
    for arguments in [&["report", "run", "--out"][..], &["man", "--out"]] {
        place.prints(&[arguments, &["whole"]].concat());
        let whole = files(&place.path("whole"));
        for blocks in [1, 2, 4, 8, 16] {
            for killed in [false, true] {
                limited(&place, blocks, killed, &[arguments, &["part"]].concat());
                let part = files(&place.path("part"));
                let wrong =
                    part.iter().find(|(name, size)| !name.ends_with(".tmp") && whole[*name] != **size);
                assert_eq!(wrong, None, "{arguments:?} {blocks} {killed}");
                assert!(killed || part.keys().all(|name| !name.ends_with(".tmp")), "{part:?}");
                let _ = std::fs::remove_dir_all(place.path("part"));
            }
        }
        std::fs::remove_dir_all(place.path("whole")).unwrap();
    }
}

/// What a process that was killed in its last milliseconds left in a complete folder is gone after the next command.
#[test]
fn leftovers_of_a_complete_run_are_swept() {
    let place = place();
    place.prints(&["run", "config.toml", "--out", "run"]);
    let clean = files(&place.path("run"));
    for again in
        [&["run", "config.toml", "--out", "run"][..], &["run", "config.toml", "--out", "run", "--resume"]]
    {
        std::fs::create_dir(place.path("run/journal")).unwrap();
        for left in ["run/journal/identity.json", "run/lock", "run/manifest.json.17.0.tmp"] {
            place.write(left, "{");
        }
        place.prints(again);
        assert_eq!(files(&place.path("run")), clean);
        assert!(!place.path("run/journal").exists());
    }
    // Before it is complete.
    std::fs::create_dir(place.path("new.partial")).unwrap();
    place.write("new.partial/lock", "");
    place.write("new.partial/config.toml.17.0.tmp", "na");
    place.prints(&["run", "config.toml", "--out", "new", "--resume"]);
    assert_eq!(
        files(&place.path("new")).into_keys().collect::<Vec<_>>(),
        clean.into_keys().collect::<Vec<_>>()
    );
}

/// A place that cannot become a folder is found before anything is drawn.
#[test]
fn a_link_that_leads_nowhere_is_taken() {
    let place = place();
    std::os::unix::fs::symlink("nowhere", place.path("dangling")).unwrap();
    std::os::unix::fs::symlink("loop", place.path("loop")).unwrap();
    place.write("file", "");
    for out in ["dangling", "loop", "file"] {
        for more in [&[][..], &["--shard", "1/2"]] {
            let run = [&["run", "config.toml", "--out", out], more].concat();
            place.refuses(&run, &[out, "not used"]);
        }
        place.refuses(&["submit", "config.toml", "--out", out, "--engine", "slurm"], &[out, "not used"]);
    }
    let mut left: Vec<String> = files(&place.path(".")).into_keys().collect();
    left.sort();
    assert_eq!(left, ["config.toml", "file", "tree.csv"]);
    assert!(!place.path("dangling.partial").exists() && !place.path("file.partial").exists());
}

/// Pipes without a writer, devices without an end and folders are no files of data, of a config or of a run: said at once.
#[test]
fn only_files_are_read() {
    let place = place();
    place.prints(&["run", "config.toml", "--out", "run"]);
    assert!(Command::new("mkfifo").arg(place.path("pipe")).status().unwrap().success());
    std::fs::create_dir(place.path("folder")).unwrap();
    let with = |table: &str| format!("{CONFIG}{}", TREE_DATA.replace("tree.csv", table));
    for (what, wanted) in [
        ("pipe", "a pipe or a device, want a regular file"),
        ("/dev/zero", "a pipe or a device, want a regular file"),
        ("folder", "a folder, want a regular file"),
    ] {
        place.write("other.toml", &with(what));
        place.refuses(&["plan", "other.toml"], &[what, wanted]);
        place.refuses(&["plan", what], &[what, wanted]);
        let simulate = ["simulate", what, "--size", "1", "--mean", "1", "--seed", "1", "--out", "new.csv"];
        place.refuses(&simulate, &[what, wanted]);
        place.write("other.toml", &format!("{}[report]\npublished = \"{what}\"\n", with("tree.csv")));
        place.refuses(&["run", "other.toml", "--out", "other"], &[what, wanted]);
    }
    for file in ["errors.parquet", "manifest.json"] {
        let place_of = place.path("run").join(file);
        std::fs::remove_file(&place_of).unwrap();
        assert!(Command::new("mkfifo").arg(&place_of).status().unwrap().success());
        place.refuses(&["digest", "run"], &[file, "a pipe or a device"]);
    }
}

fn read_all(path: &Path) -> congenial::failure::Result<()> {
    congenial::table::Reader::open(path)?.groups(|_| Ok(true))
}

/// Damaged parquet files are refused or read, whatever the library that reads them makes of it: 4,000 files with one to
/// three bytes changed.
#[test]
fn damaged_parquet_is_no_panic() {
    let place = place();
    place.write(
        "layout.csv",
        &("name,kind\n".to_owned() + &(0..300).map(|i| format!("n{i},k{}\n", i % 3)).collect::<String>()),
    );
    let simulate =
        ["simulate", "layout.csv", "--size", "2", "--mean", "10", "--seed", "1", "--out", "whole.parquet"];
    place.prints(&simulate);
    let whole = std::fs::read(place.path("whole.parquet")).unwrap();
    let damaged = place.path("damaged.parquet");
    let (mut refused, mut gave_up) = (0, 0);
    let mut state = 1u64;
    let mut below = |n: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % n
    };
    for _ in 0..4000 {
        let mut bytes = whole.clone();
        for _ in 0..1 + below(3) {
            let at = below(bytes.len());
            bytes[at] ^= 1 << below(8);
        }
        std::fs::write(&damaged, &bytes).unwrap();
        let messages = [congenial::input::CsvTable::read(&damaged).err(), read_all(&damaged).err()];
        for message in messages.into_iter().flatten().map(|failure| failure.to_string()) {
            assert!(message.contains("damaged.parquet"), "{message}");
            refused += 1;
            gave_up += usize::from(message.contains("damaged ("));
        }
    }
    assert!(refused > 1000, "{refused} refused, {gave_up} by a panic of the library");
}

/// Whether a text acts on no terminal.
fn is_harmless(text: &str) -> bool {
    !text.chars().any(|c| c.is_control() && c != '\n')
}

/// A table whose entries are named to act on terminals, spreadsheets and readers of markdown.
fn place_of_names() -> Place {
    let names = [
        "=cmd|/c calc",
        "@SUM(1)",
        "<script>alert(1)</script>",
        "\x1b[31mEVIL\x07",
        "a|b [l](http://x)",
        "two\nlines",
        "back\rOVER",
        "www.x.org or https://y.org or a@z.org",
        "a\\|b",
    ];
    let rows: String = names.iter().map(|name| format!("\"{name}\",5\n")).collect();
    let place = Place::new(&[("table.csv", &format!("cell,count\n{rows}"))]);
    place.write(
        "config.toml",
        "name = \"c\"\nseed = 1\nreplicates = 3\n[data]\ntable = \"table.csv\"\ncount = \"count\"\nentry = [\"cell\"]\n\
         [[invariant]]\nkind = \"total\"\n[[grid]]\nepsilon = 1.0\nlaw = \"laplace\"\nmethod = \"exact\"\n",
    );
    place
}

/// [`place_of_names`] with the report of its run, as files.
fn report_of_names() -> Place {
    let place = place_of_names();
    place.prints(&["run", "config.toml", "--out", "out"]);
    place.prints(&["report", "out", "--out", "tables"]);
    place
}

#[test]
fn names_in_data_act_on_no_terminal() {
    let text = place_of_names().pages("config.toml", "out");
    assert!(text.contains("\\u{1b}[31mEVIL\\u{7}") && is_harmless(&text), "{text}");
    let place = report_of_names();
    let read = |file: &str| std::fs::read_to_string(place.path("tables").join(file)).unwrap();
    for file in std::fs::read_dir(place.path("tables")).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "csv" || extension == "txt") {
            assert!(is_harmless(&std::fs::read_to_string(&path).unwrap()), "{}", path.display());
        }
    }
    assert!(read("entries.csv").contains("two\\u{a}lines") && read("entries.csv").contains("back\\u{d}OVER"));
}

#[test]
fn names_in_data_act_on_no_reader_of_markdown() {
    let place = report_of_names();
    let page = std::fs::read_to_string(place.path("tables/report.md")).unwrap();
    assert!(is_harmless(&page) && page.contains("&lt;script>alert") && !page.contains("<script"), "{page}");
    assert!(page.contains("a\\|b [l]\\(http:<!-- -->//x)"), "{page}");
    let bare = ["http://", "https://", "www.", "@z", "@SUM"];
    assert!(!bare.iter().any(|bare| page.contains(bare)) && page.contains("a\\&#124;b"), "{page}");
}

#[test]
fn names_in_data_act_on_no_spreadsheet() {
    let place = report_of_names();
    let csv = std::fs::read_to_string(place.path("tables/entries.csv")).unwrap();
    assert!(
        csv.contains("'=cmd") && csv.contains("'@SUM") && !csv.contains(",=cmd") && !csv.contains("\n@SUM")
    );
}

#[test]
fn names_of_columns_in_messages_act_on_no_terminal() {
    let place = place_of_names();
    place.write("evil.csv", "cell\x1b[31m,count\na,1\n");
    place.write(
        "config.toml",
        &std::fs::read_to_string(place.path("config.toml")).unwrap().replace("table.csv", "evil.csv"),
    );
    let output = place.command(&["plan", "config.toml"]).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.contains("cell\\u{1b}[31m"), "{message}");
}

/// Names of files, keys of several lines, and a carriage return alone.
#[test]
fn names_of_files_and_keys_in_messages_act_on_no_terminal() {
    let place = Place::new(&[]);
    for (name, text) in [
        ("\x1b[31m\nno error.toml", "nmae = 1\n"),
        ("keys.toml", "\"two\\nlines\\u001b\" = 1\n"),
        ("returns.toml", "name = \"c\" # error\rok\nseed = -1\n"),
    ] {
        place.write(name, text);
        let output = place.command(&["plan", name]).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(
            is_harmless(&message) && !message.contains("\nno error") && !message.contains("\nlines"),
            "{message}"
        );
    }
}

/// A value of megabytes is quoted with 200 characters; what is not heard ends nothing.
#[test]
fn messages_are_short_and_may_be_lost() {
    let place = place();
    place.write("long.csv", &format!("zone,group,count\na,b,{}\n", "9".repeat(3_000_000)));
    let with = |table: &str| format!("{CONFIG}{}", TREE_DATA.replace("tree.csv", table));
    place.write("long.toml", &with("long.csv"));
    let output = place.command(&["plan", "long.toml"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stderr.len() < 2000, "{}", output.stderr.len());
    let full = |arguments: &str| {
        let script = format!("exec {} {arguments} 2>/dev/full", env!("CARGO_BIN_EXE_congenial"));
        Command::new("sh").args(["-c", &script]).current_dir(place.path(".")).output().unwrap().status.code()
    };
    assert_eq!(full("run config.toml --out out"), Some(0));
    assert_eq!(full("report out --out tables"), Some(0));
    assert_eq!(full("plan long.toml"), Some(2));
}

/// A link keeps its place, and a device is written to: neither becomes a file of ours.
#[test]
fn links_and_devices_stay_what_they_are() {
    let config = format!(
        "name = \"n\"\nseed = 1\nreplicates = 2\n{}[[grid]]\nepsilon = 1.0\nlaw = \"laplace\"\nmethod = \"l2\"\n",
        crate::place::TREE_DATA
    );
    let place =
        Place::new(&[("tree.csv", crate::place::TREE), ("config.toml", &config), ("page.csv", "old")]);
    place.prints(&["run", "config.toml", "--out", "out"]);
    std::os::unix::fs::symlink("page.csv", place.path("link.csv")).unwrap();
    place.prints(&["report", "out", "--format", "csv", "-o", "link.csv"]);
    assert!(std::fs::symlink_metadata(place.path("link.csv")).unwrap().is_symlink());
    assert!(std::fs::read_to_string(place.path("page.csv")).unwrap().starts_with("source,run"));
    if cfg!(target_os = "linux") {
        std::os::unix::fs::symlink("/dev/full", place.path("full.csv")).unwrap();
        let output = place.command(&["report", "out", "--format", "csv", "-o", "full.csv"]).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(!std::fs::metadata("/dev/full").unwrap().is_file());
    }
}
