//! `congenial ledger` and what it stands on: limits that hold for all who spend at once, damage that is found, and what is refused.
#![allow(clippy::disallowed_methods)] // Tests open files of their own.

use crate::place::Place;
use congenial::release::ledger::{
    Exact, Head, History, Known, Ledger, Limit, Opening, Pays, Protects, Spend, Spent, new_id,
};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const HASH: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// A release that pays this pure loss.
fn asks(loss: &str) -> Spend {
    Spend {
        protects: Protects::Moved,
        records: 1,
        spent: Spent {
            release: new_id().unwrap(),
            product: "taxi".into(),
            config_sha256: HASH.into(),
            domain_sha256: HASH.into(),
            law: "double-geometric".into(),
            pays: Pays::pure(Exact::parse(loss).unwrap().value()).unwrap(),
            known: vec![Known::new()],
        },
    }
}

fn create(path: &Path, limit: &str) -> Head {
    let limit = Limit::parse(limit).unwrap();
    Ledger::create(path, &Opening { unit: "one trip".into(), records: 1, protects: Protects::Moved, limit })
        .unwrap()
}

/// Waits for the lock.
fn open(path: &Path) -> Ledger {
    loop {
        match Ledger::open(path) {
            Err(e) if e.to_string().contains("locked") => std::thread::sleep(Duration::from_millis(1)),
            opened => return opened.unwrap(),
        }
    }
}

fn error<T: std::fmt::Debug>(result: congenial::failure::Result<T>) -> String {
    result.unwrap_err().to_string()
}

/// A ledger of four lines, and its heads.
fn four(place: &Place) -> Vec<Head> {
    let path = place.path("trips.ledger");
    let mut heads = vec![create(&path, "epsilon = 3")];
    let mut ledger = open(&path);
    for loss in ["1", "1/2"] {
        let spend = asks(loss);
        heads.push(ledger.spend(&spend).unwrap());
        if loss == "1" {
            heads.push(ledger.publish(&spend.spent.release, HASH).unwrap());
        }
    }
    heads
}

/// What a user sees, from the first line to a release that is not published.
#[test]
fn a_ledger_is_opened_shown_and_verified() {
    let place = Place::new(&[]);
    let new = ["ledger", "new", "trips.ledger", "--unit", "one trip", "--limit", "epsilon = 3"];
    let said = place.prints(&new);
    assert!(said.starts_with("trips.ledger: line 1, head ") && said.trim_end().len() == 91, "{said}");
    place.refuses(&new, &["trips.ledger: cannot create: it exists"]);
    let shown = place.prints(&["ledger", "show", "trips.ledger"]);
    assert!(shown.contains("No release has paid yet.") && shown.contains("Left: a loss of 3."), "{shown}");

    let path = place.path("trips.ledger");
    let mut ledger = open(&path);
    let first = asks("1");
    ledger.spend(&first).unwrap();
    ledger.publish(&first.spent.release, HASH).unwrap();
    let mut second = asks("1/3");
    second.spent.product = "taxi by <hour>".into();
    second.spent.known = vec![[("zone".to_owned(), "a".to_owned())].into(); 5];
    ledger.spend(&second).unwrap();
    drop(ledger);

    let shown = place.command(&["ledger", "show", "trips.ledger"]).env("COLUMNS", "160").output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    for wanted in [
        "Ledger of one trip: epsilon = 3",
        "Protects one unit that is moved: one trip, 1 record at most. All releases together may pay epsilon = 3. Opened 20",
        " 1 ┆ 0.462118 ┆",
        " 0.333334 ┆ 0.055047 ┆",
        "┆ total ",
        "zone = a; zone = a; zone = a; 2 more",
        "no, and paid",
        "Paid in all: a loss of 1.333334. Left: a loss of 1.666666666. The limit takes 5 releases more of the size of the last one.",
    ] {
        assert!(shown.contains(wanted), "no `{wanted}` in:\n{shown}");
    }
    let html = place.prints(&["ledger", "show", "trips.ledger", "--format", "html"]);
    assert!(html.contains("taxi by &lt;hour&gt;"), "{html}");
    place.prints(&["ledger", "show", "trips.ledger", "--format", "markdown", "-o", "page.md"]);
    assert!(std::fs::read_to_string(place.path("page.md")).unwrap().contains("Paid in all"));

    let said = place.prints(&["ledger", "verify", "trips.ledger"]);
    assert!(
        said.starts_with("trips.ledger: 4 whole lines, each with the hash of the one before, head "),
        "{said}"
    );
}

#[test]
fn wrong_input_is_refused() {
    let place = Place::new(&[("counts.csv", "zone,count\na,1\n")]);
    let new = |limit: &str, wanted: &[&str]| {
        place.refuses(&["ledger", "new", "l", "--unit", "one trip", "--limit", limit], wanted);
        assert!(!place.path("l").exists(), "{limit}");
    };
    new("epsilon = 3.5", &["--limit: epsilon: got 3.5, want a whole number, or text in quotes"]);
    new("epsilon = \"-1\"", &["--limit: epsilon: got `-1`, want a number >= 0 like 3, 0.25, 7/2 or 1e-9"]);
    new("epsilon = 0", &["--limit: epsilon: got 0, want a number above 0"]);
    new("epsilon = true", &["--limit: epsilon: got boolean, want a whole number or text in quotes"]);
    new("eps = 3", &["--limit: no key `eps` in a limit; want `epsilon = 3`"]);
    new("delta = \"1e-9\"", &["--limit: no epsilon and no rho"]);
    new("rho = 1, epsilon = 3", &["--limit: rho stands alone"]);
    new("epsilon = 3, delta = 1", &["--limit: delta: got 1, want a number from 1e-40 to below 1"]);
    new("epsilon = ", &["--limit: got `epsilon = `"]);
    new("", &["--limit: no epsilon and no rho"]);
    place.refuses(&["ledger", "new", "l", "--unit", " ", "--limit", "rho = 1"], &["the unit: got nothing"]);
    let none = ["ledger", "new", "l", "--unit", "a", "--records-per-unit", "0", "--limit", "rho = 1"];
    place.refuses(&none, &["records of a unit: got 0, want a whole number from 1 to 1000000"]);
    place.refuses(&["ledger", "show", "counts.csv"], &["counts.csv: line 1: it does not end with its hash"]);
    place.refuses(&["ledger", "show", "none"], &["none: cannot read the ledger"]);
    place.refuses(&["ledger", "verify", "."], &["it is a folder, want a regular file"]);
    place.write("empty", "");
    place.refuses(&["ledger", "verify", "empty"], &["empty: it is empty, want a ledger"]);
    for limit in ["rho = \"1/2\"", "epsilon = 3, delta = \"1e-9\"", "epsilon = \"7/2\""] {
        create(&place.path(limit.split('"').nth(1).unwrap().split('/').next().unwrap()), limit);
    }
    place.refuses(
        &["ledger", "show", "1", "--format", "csv"],
        &["invalid value 'csv'", "text, markdown, html, latex"],
    );
    let before = std::fs::read(place.path("1")).unwrap();
    place.refuses(&["ledger", "show", "1", "-o", "1"], &["1: not written", "read by this command"]);
    assert_eq!(std::fs::read(place.path("1")).unwrap(), before);
    place.refuses(
        &["ledger", "verify", "1", "--certificate", "counts.csv"],
        &["counts.csv: it is no certificate"],
    );
}

/// Nothing is written for what is refused.
#[test]
fn releases_that_do_not_fit_are_refused() {
    let place = Place::new(&[]);
    let path = place.path("l");
    create(&path, "epsilon = 3");
    let mut ledger = open(&path);
    let mut refuses = |change: &dyn Fn(&mut Spend), wanted: &str| {
        let (mut spend, before) = (asks("1"), ledger.head());
        change(&mut spend);
        let said = error(ledger.spend(&spend));
        assert!(said.contains(wanted), "no `{wanted}` in: {said}");
        assert_eq!(ledger.head(), before);
    };
    refuses(
        &|spend| spend.protects = Protects::Added,
        "it protects a unit that is moved, and the release one that is added or removed",
    );
    refuses(&|spend| spend.records = 2, "it protects `one trip`, at most 1 record, and the release says 2");
    refuses(&|spend| spend.spent.domain_sha256 = "x".into(), "domain_sha256: got `x`");
    refuses(&|spend| spend.spent.release = "x".into(), "release: got `x`, want 32 hexadecimal digits");
    refuses(&|spend| spend.spent.config_sha256 = HASH.to_uppercase(), "want 64 hexadecimal digits");
    let rho = Exact::parse("1/8").unwrap();
    refuses(
        &|spend| spend.spent.pays = Pays::concentrated(rho.value()).unwrap(),
        "the limit epsilon = 3 is one of pure losses, and discrete Gaussian noise has none",
    );
    refuses(
        &|spend| spend.spent.pays = asks("3.000001").spent.pays,
        "the release asks for a loss of 3.000001, and of the limit epsilon = 3 is left a loss of 3",
    );
    let first = asks("5/2");
    ledger.spend(&first).unwrap();
    assert_eq!(ledger.left().loss, "0.5");
    assert!(error(ledger.spend(&asks("1"))).contains("is left a loss of 0.5"));
    assert!(error(ledger.spend(&first)).contains("has paid before"));
    let mut other = asks("1/4");
    other.spent.domain_sha256 = HASH.replace('0', "1");
    assert!(error(ledger.spend(&other)).contains("counts by another list of leaves (SHA-256 0123"));
    assert!(error(ledger.publish("x", HASH)).contains("the release `x` has not paid"));
    assert!(error(ledger.publish(&first.spent.release, "x")).contains("want a SHA-256"));
    ledger.publish(&first.spent.release, HASH).unwrap();
    assert!(error(ledger.publish(&first.spent.release, HASH)).contains("was published before"));
    // A file that took its name.
    std::fs::rename(&path, place.path("moved")).unwrap();
    assert!(error(ledger.spend(&asks("1/4"))).contains("l: cannot write"));
    std::fs::copy(place.path("moved"), &path).unwrap();
    assert!(
        error(ledger.spend(&asks("1/4"))).contains("another file has taken its name since it was opened")
    );
    std::fs::rename(place.path("moved"), &path).unwrap();
    // Somebody else who does not ask for the lock.
    std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.clone() + "\n").unwrap();
    assert!(error(ledger.spend(&asks("1/2"))).contains("something else has written to it"));
    std::fs::write(&path, text).unwrap();
    ledger.spend(&asks("1/2")).unwrap();
    drop(ledger);
    assert_eq!(History::read(&path).unwrap().lines().len(), 4);
    let said = error(Ledger::create(
        &path,
        &Opening {
            unit: "one trip".into(),
            records: 1,
            protects: Protects::Moved,
            limit: Limit::parse("rho = 1").unwrap(),
        },
    ));
    assert!(said.contains("it exists"), "{said}");
}

#[test]
fn a_ledger_that_others_hold_or_may_write_is_refused() {
    let place = Place::new(&[]);
    let path = place.path("l");
    create(&path, "epsilon = 3");
    let held = open(&path);
    let said = error(Ledger::open(&path));
    assert!(said.contains("it is locked by another release that is being made"), "{said}");
    // To look at it needs no lock.
    place.prints(&["ledger", "show", "l"]);
    drop(held);
    drop(open(&path));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        for mode in [0o620, 0o602, 0o666] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            let said = error(Ledger::open(&path));
            assert!(said.contains(&format!("may write it (mode {mode:o})")), "{said}");
        }
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        drop(open(&path));
    }
}

/// Every bit of a ledger is covered: whatever byte changes, goes or comes, reading fails. So do lines that go, come, or change places; the
/// last ones that go are exposed by heads.
#[test]
fn every_damaged_byte_is_found() {
    let place = Place::new(&[]);
    let heads = four(&place);
    let path = place.path("trips.ledger");
    let whole = std::fs::read(&path).unwrap();
    let is_refused = |bytes: &[u8], what: &str| {
        std::fs::write(&path, bytes).unwrap();
        assert!(History::read(&path).is_err(), "{what}");
        assert!(Ledger::open(&path).is_err(), "{what}");
    };
    for i in 0..whole.len() {
        for bit in 0..8 {
            let mut other = whole.clone();
            other[i] ^= 1 << bit;
            is_refused(&other, &format!("bit {bit} of byte {i}"));
        }
        let without = [&whole[..i], &whole[i + 1..]].concat();
        is_refused(&without, &format!("without byte {i}"));
        is_refused(&[&whole[..i], b" ", &whole[i..]].concat(), &format!("a blank before byte {i}"));
    }
    let text = String::from_utf8(whole).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    for i in 0..4 {
        is_refused([&lines[..i], &lines[i..=i], &lines[i..]].concat().concat().as_bytes(), "a line twice");
        if i < 3 {
            is_refused([&lines[..i], &lines[i + 1..]].concat().concat().as_bytes(), "a line less");
            let mut other = lines.clone();
            other.swap(i, i + 1);
            is_refused(other.concat().as_bytes(), "lines that changed places");
        }
    }
    for kept in 1..4 {
        std::fs::write(&path, lines[..kept].concat()).unwrap();
        let history = History::read(&path).unwrap();
        let has: Vec<bool> = heads.iter().map(|head| history.has(head)).collect();
        assert_eq!(has, [0, 1, 2, 3].map(|i| i < kept));
    }
}

/// Wherever the last line is cut, the ledger is refused, with the way to go on; and goes on by it.
#[test]
fn a_last_line_that_was_cut_short_is_told() {
    let place = Place::new(&[]);
    let heads = four(&place);
    let path = place.path("trips.ledger");
    let whole = std::fs::read(&path).unwrap();
    let start = whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    for end in start + 1..whole.len() {
        std::fs::write(&path, &whole[..end]).unwrap();
        let said = error(Ledger::open(&path));
        let (_, command) = said.rsplit_once(": ").unwrap();
        if end < whole.len() - 1 {
            assert!(said.contains("line 4 is cut short") && said.contains(&heads[2].head), "{said}");
            assert_eq!(command, format!("truncate --size={start} '{}'", path.display()));
        } else {
            assert!(said.contains("line 4 is whole but for the line break at its end"), "{said}");
        }
        if end % 50 == 0 || end == whole.len() - 1 {
            assert!(Command::new("sh").args(["-c", command]).status().unwrap().success());
            let wanted = if end < whole.len() - 1 { &heads[2] } else { &heads[3] };
            assert_eq!(&open(&path).head(), wanted);
        }
    }
    std::fs::write(&path, &whole[..whole.len() - 20]).unwrap();
    let output = place.command(&["ledger", "verify", "trips.ledger"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        said.contains(&format!(
            "3 whole lines, each with the hash of the one before, head {}",
            heads[2].head
        )),
        "{said}"
    );
}

/// The process that others start: it spends a tenth again and again, says every head that it got, and what ended it.
#[test]
#[ignore = "other tests start it"]
fn a_process_that_spends() {
    let Some(path) = std::env::var_os("CONGENIAL_TEST_LEDGER") else { return };
    loop {
        match open(Path::new(&path)).spend(&asks("1/10")) {
            Ok(head) => println!("\nhead {} {}", head.lines, head.head),
            Err(e) => return println!("\nended {e}"),
        }
    }
}

/// Starts it, with some words of a shell before.
fn start(path: &Path, before: &str) -> std::process::Child {
    Command::new("sh")
        .args(["-c", &format!("{before} exec \"$@\""), "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "ledger::a_process_that_spends", "--ignored", "--nocapture"])
        .env("CONGENIAL_TEST_LEDGER", path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// The heads that it said.
fn heads(said: &[u8]) -> Vec<Head> {
    let head = |line: &str| {
        let (lines, head) = line.strip_prefix("head ")?.split_once(' ')?;
        Some(Head { lines: lines.parse().ok()?, head: head.to_owned() }).filter(|head| head.head.len() == 64)
    };
    String::from_utf8_lossy(said).lines().filter_map(head).collect()
}

/// Threads and processes spend at once: together they spend the limit, and no more.
#[test]
fn the_limit_holds_for_all_who_spend_at_once() {
    let place = Place::new(&[]);
    let path = place.path("l");
    create(&path, "epsilon = 4");
    let children: Vec<_> = (0..3).map(|_| start(&path, "")).collect();
    let by_threads: usize = std::thread::scope(|scope| {
        let spend = || (0..).take_while(|_| open(&path).spend(&asks("1/10")).is_ok()).count();
        let threads: Vec<_> = (0..3).map(|_| scope.spawn(spend)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    let mut by_processes = 0;
    let history = || History::read(&path).unwrap();
    for child in children {
        let said = child.wait_with_output().unwrap().stdout;
        assert!(
            String::from_utf8_lossy(&said).contains("is left a loss of 0"),
            "it ended for another reason"
        );
        by_processes += heads(&said).iter().filter(|head| history().has(head)).count();
    }
    assert_eq!((by_threads + by_processes, history().spent().count()), (40, 40));
}

/// Where the disk takes half a line, nothing of it stays, and nothing was spent; what was spent before is there.
#[test]
fn a_full_disk_leaves_whole_lines() {
    for blocks in 3..8 {
        let place = Place::new(&[]);
        let path = place.path("l");
        create(&path, "epsilon = 1000");
        // Blocks of 512 bytes; the signal that goes with them is ignored.
        let child = start(&path, &format!("ulimit -f {blocks}; trap '' XFSZ;"));
        let said = child.wait_with_output().unwrap().stdout;
        let (got, history) = (heads(&said), History::read(&path).unwrap());
        assert!(
            String::from_utf8_lossy(&said).contains("ended")
                && said.windows(12).any(|w| w == b"cannot write")
        );
        assert!(got.iter().all(|head| history.has(head)));
        assert_eq!(history.spent().count(), got.len(), "{blocks}");
        open(&path).spend(&asks("1")).unwrap();
    }
}

/// Killed at any moment: every head that was handed out is in the ledger, which is whole, or says that its last line is cut short.
#[test]
fn what_was_spent_before_a_kill_is_there() {
    let place = Place::new(&[]);
    let path = place.path("l");
    create(&path, "epsilon = 1000");
    let mut all = 0;
    for round in 0..12 {
        let mut child = start(&path, "");
        std::thread::sleep(Duration::from_millis(30 + 13 * round));
        child.kill().unwrap();
        let got = heads(&child.wait_with_output().unwrap().stdout);
        let (history, short) = History::read_whole(&path).unwrap();
        assert!(got.iter().all(|head| history.has(head)));
        all += got.len();
        // It was killed between a line and its head at most.
        assert!(history.spent().count() <= all + round as usize + 1 && history.spent().count() >= all);
        if let Some(short) = short {
            let said = short.to_string();
            let (_, command) = said.rsplit_once(": ").unwrap();
            assert!(Command::new("sh").args(["-c", command]).status().unwrap().success());
        }
    }
    assert!(all > 0);
}
