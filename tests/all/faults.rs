//! What can happen to a run: it is killed, resumed, meets another process, or finds what is not its own.
#![allow(clippy::disallowed_methods)] // Tests open files of their own.

use crate::place::Place;
use congenial::store::{Batch, BatchKey, Identity, Journal, next};
use std::process::{Command, Stdio};
use std::time::Duration;

const TABLE: &str = "cell,group,count\na,s,3\nb,s,0\nc,s,5\nd,t,2\ne,t,1\nf,t,0\ng,t,7\nh,t,4\ni,t,2\n";

/// Two cells of 64 batches, each some 40 ms.
const CONFIG: &str = r#"
name = "faults"
seed = 9
replicates = 256
keep-draws = true

[data]
table = "table.csv"
count = "count"
entry = ["cell"]

[[invariant]]
kind = "partition"
by = "group"

[[invariant]]
kind = "nonnegative"

[[grid]]
epsilon = [0.5, 1.0]
law = "double-geometric"
method = { kind = "line-gibbs", sweeps = 20_000 }
"#;

fn place() -> Place {
    Place::new(&[("table.csv", TABLE), ("config.toml", CONFIG)])
}

fn start(place: &Place, arguments: &[&str]) -> std::process::Child {
    Command::new(env!("CARGO_BIN_EXE_congenial"))
        .current_dir(place.path("."))
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn logs(place: &Place, folder: &str) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(place.path(folder).join("journal")).into_iter().flatten().flatten();
    let mut logs: Vec<_> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "log"))
        .collect();
    logs.sort();
    logs
}

fn journal(place: &Place, folder: &str) -> Option<Journal> {
    let identity = std::fs::read_to_string(place.path(folder).join("journal/identity.json")).ok()?;
    let identity: Identity = serde_json::from_str(&identity).ok()?;
    Some(Journal::open(&place.path(folder), &identity).unwrap())
}

/// Batches in a journal.
fn batches(place: &Place, folder: &str) -> usize {
    journal(place, folder).map_or(0, |journal| journal.batches())
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    for _ in 0..2000 {
        if done() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("waited ten seconds for {what}");
}

/// A run that was killed when it had six batches in its journal.
fn killed(place: &Place, out: &str) {
    let mut run = start(place, &["run", "config.toml", "--out", out]);
    until("six batches", || batches(place, &format!("{out}.partial")) >= 6);
    run.kill().unwrap();
    run.wait().unwrap();
}

/// Puts an error in the place of the first batch of a run that is not complete.
fn spoil(place: &Place, out: &str) {
    let partial = format!("{out}.partial");
    let mut spoilt: Option<BatchKey> = None;
    let identity = std::fs::read_to_string(place.path(&partial).join("journal/identity.json")).unwrap();
    let hash = congenial::store::hash_of(&identity);
    for log in logs(place, &partial) {
        let bytes = std::fs::read(&log).unwrap();
        let (mut rest, mut record) = (&bytes[..], Vec::new());
        while let Some((key, _)) = next(&mut rest, &hash, &mut record).unwrap() {
            if spoilt.is_none() && key.1 < key.2 {
                spoilt = Some(key);
                let others = [&bytes[..bytes.len() - rest.len() - record.len()], rest].concat();
                std::fs::write(&log, others).unwrap();
            }
        }
    }
    let error = Some("no memory was left".into());
    // A shard reads what shards of its number have left.
    let name = logs(place, &partial)[0].file_name().unwrap().to_string_lossy().into_owned();
    let numbers: Vec<u64> = name.split('-').filter_map(|word| word.parse().ok()).collect();
    let journal = match name.starts_with("shard-") {
        true => Journal::of_shard(
            &place.path(&partial),
            &serde_json::from_str(&identity).unwrap(),
            numbers[0],
            numbers[1],
        )
        .unwrap(),
        false => journal(place, &partial).unwrap(),
    };
    journal.append(spoilt.unwrap(), &Batch { rows: Vec::new(), error }, 0.0).unwrap();
    journal.save().unwrap();
}

/// Kills a run at random moments within so many milliseconds, again and again, and resumes it each time: the rows of an undisturbed
/// run. A batch that was once in the journal stays there.
fn kill_again_and_again(sets: &[&str], kills: usize, within: std::ops::Range<u64>) {
    let place = place();
    let run = |out| [&["run", "config.toml", "--out", out], sets].concat();
    place.prints(&run("whole"));
    let want = place.prints(&["digest", "whole"]);
    let resume = [&run("out")[..], &["--resume"]].concat();
    let (mut wait, mut finished, mut kept) = (17u64, 0, 0);
    for _ in 0..kills {
        let mut run = start(&place, &resume);
        wait = wait.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(Duration::from_millis(within.start + (wait >> 33) % (within.end - within.start)));
        let seen = batches(&place, "out.partial");
        run.kill().unwrap();
        run.wait().unwrap();
        if place.path("out").exists() {
            assert_eq!(place.prints(&["digest", "out"]), want);
            std::fs::remove_dir_all(place.path("out")).unwrap();
            (finished, kept) = (finished + 1, 0);
        } else {
            let left = batches(&place, "out.partial");
            assert!(left >= seen.max(kept), "{left} batches of {seen}, of {kept} before");
            kept = left;
        }
    }
    place.prints(&resume);
    assert_eq!(place.prints(&["digest", "out"]), want);
    assert!(!place.path("out.partial").exists() && !place.path("out/journal").exists());
    assert!(finished < kills);
}

#[test]
fn a_killed_run_goes_on_to_the_same_rows() {
    kill_again_and_again(&["--set", "report.queries=[[\"group\"], [\"cell\"]]"], 16, 20..200);
}

/// Batches of a millisecond are not in the journal before ten seconds of work are in none: a killed run begins again. Sixteen threads wait
/// for two cores, so that some of their batches take long enough, and ten seconds of work are soon done: a killed run has gaps, and so
/// has one with a slow cell among quick ones.
#[test]
fn quick_batches_are_drawn_again_to_the_same_rows() {
    let quick = ["--set", "grid.epsilon=[1, 2, 3, 4, 5, 6, 7, 8]", "--set"];
    kill_again_and_again(&[&quick[..], &["grid.method.sweeps=500"]].concat(), 5, 20..250);
    let many = [&quick[..], &["grid.method.sweeps=[500, 501]", "--threads", "16"]].concat();
    kill_again_and_again(&many, 5, 100..900);
    let mixed = ["--set", "grid.epsilon=1", "--set", "grid.method.sweeps=[500, 20000, 501]"];
    kill_again_and_again(&mixed, 5, 20..600);
}

/// SIGTERM and SIGINT end with their codes and a line on how to go on; without --resume nothing is touched.
#[test]
fn a_stopped_run_says_how_to_go_on() {
    let place = place();
    for (signal, code) in [("-TERM", 143), ("-INT", 130)] {
        let before = batches(&place, "out.partial");
        let run = start(&place, &["run", "config.toml", "--out", "out", "--resume"]);
        until("another batch", || batches(&place, "out.partial") > before);
        Command::new("kill").args([signal, &run.id().to_string()]).status().unwrap();
        let output = run.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code));
        assert!(
            String::from_utf8_lossy(&output.stderr).contains("stopped; the same command goes on from here")
        );
    }
    let before = batches(&place, "out.partial");
    place.refuses(&["run", "config.toml", "--out", "out"], &["out.partial", "give --resume"]);
    assert_eq!(batches(&place, "out.partial"), before);
    // Another config, other data, or another schema may not go on from here.
    place.refuses(
        &["run", "config.toml", "--out", "out", "--resume", "--set", "seed=10"],
        &["cannot go on", "begun with the config"],
    );
    let identity = place.path("out.partial/journal/identity.json");
    let text = std::fs::read_to_string(&identity).unwrap();
    std::fs::write(&identity, text.replace("\"schema_version\": ", "\"schema_version\": 9")).unwrap();
    place.refuses(&["run", "config.toml", "--out", "out", "--resume"], &["begun with the schema 9"]);
    std::fs::write(&identity, "not json").unwrap();
    place.refuses(&["run", "config.toml", "--out", "out", "--resume"], &["identity.json", "cannot go on"]);
    std::fs::write(&identity, text).unwrap();
    assert_eq!(batches(&place, "out.partial"), before);
    place.prints(&["run", "config.toml", "--out", "out", "--resume"]);
}

/// What is computed once a cell comes in parts, which the journal keeps, and which shards share.
#[test]
fn parts_of_what_is_computed_once_are_kept() {
    let place = place();
    let grid = CONFIG.find("[[grid]]").unwrap();
    let config = CONFIG[..grid]
        .replace("keep-draws = true\n", "")
        .replace("seed = 9", "seed = 9\nstudy = \"meeting\"");
    let block = "[[grid]]\nepsilon = 0.5\nlaw = \"double-geometric\"\nmethod = \"line-gibbs\"\nlag = \
        5\nmarginal-chains = 200\nmarginal-steps = 100_000\n";
    place.write("config.toml", &format!("{config}{block}").replace("replicates = 256", "replicates = 4"));
    place.prints(&["run", "config.toml", "--out", "whole"]);
    let want = place.prints(&["digest", "whole"]);
    let mut run = start(&place, &["run", "config.toml", "--out", "out"]);
    until("four parts", || batches(&place, "out.partial") >= 4);
    run.kill().unwrap();
    run.wait().unwrap();
    let left = batches(&place, "out.partial");
    let resume = place.command(&["run", "config.toml", "--out", "out", "--resume"]).output().unwrap();
    let message = String::from_utf8_lossy(&resume.stderr);
    assert!(message.contains(&format!("batches done already: {left}")), "{message}");
    assert_eq!(place.prints(&["digest", "out"]), want);
    for shard in ["1/3", "2/3", "3/3"] {
        place.prints(&["run", "config.toml", "--out", "merged", "--shard", shard]);
        assert!(batches(&place, "merged.partial") > 0);
    }
    place.prints(&["merge", "config.toml", "--out", "merged"]);
    assert_eq!(place.prints(&["digest", "merged"]), want);
}

/// Batches that were cut, changed, or come from elsewhere are drawn again.
#[test]
fn damaged_batches_are_drawn_again() {
    let place = place();
    place.prints(&["run", "config.toml", "--out", "whole"]);
    let want = place.prints(&["digest", "whole"]);
    let cut = |bytes: &mut Vec<u8>| bytes.truncate(bytes.len() - 100);
    let flip = |bytes: &mut Vec<u8>| {
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
    };
    let garbage = |bytes: &mut Vec<u8>| bytes.extend_from_slice(b"records4 and no more");
    let empty = |bytes: &mut Vec<u8>| bytes.clear();
    for damage in [&cut as &dyn Fn(&mut Vec<u8>), &flip, &garbage, &empty] {
        killed(&place, "out");
        let log = logs(&place, "out.partial").remove(0);
        let mut bytes = std::fs::read(&log).unwrap();
        damage(&mut bytes);
        std::fs::write(&log, bytes).unwrap();
        std::fs::write(place.path("out.partial/journal/stray.log.tmp"), b"half").unwrap();
        place.prints(&["run", "config.toml", "--out", "out", "--resume"]);
        assert_eq!(place.prints(&["digest", "out"]), want);
        std::fs::remove_dir_all(place.path("out")).unwrap();
    }
}

/// Two processes never write one folder.
#[test]
fn the_second_process_is_refused() {
    let place = place();
    let mut first = start(&place, &["run", "config.toml", "--out", "out"]);
    until("the first process", || place.path("out.partial/journal/identity.json").exists());
    for arguments in
        [&["run", "config.toml", "--out", "out"][..], &["run", "config.toml", "--out", "out", "--resume"]]
    {
        place.refuses(arguments, &["out.partial", "another process is writing it"]);
    }
    assert!(first.wait().unwrap().success());
    place.prints(&["digest", "out"]);
}

/// Shards in one folder at the same time, and in folders of their own: merged, the rows of a run in one piece.
#[test]
fn merged_shards_are_the_whole_run() {
    let place = place();
    let sets = ["--set", "grid.method.sweeps=2000"];
    let with = |arguments: &[&'static str]| -> Vec<&str> { [arguments, &sets[..]].concat() };
    place.prints(&with(&["run", "config.toml", "--out", "whole"]));
    let want = place.prints(&["digest", "whole"]);
    let shard = |shard: &'static str, out: &'static str| {
        with(&["run", "config.toml", "--out", out, "--shard", shard])
    };
    let mut running: Vec<_> =
        ["1/3", "3/3"].map(|m| start(&place, &shard(m, "shared"))).into_iter().collect();
    for run in &mut running {
        assert!(run.wait().unwrap().success());
    }
    // One shard is missing: nothing is lost, and nothing pretends to be complete.
    let merge = with(&["merge", "config.toml", "--out", "shared"]);
    let output = place.command(&merge).output().unwrap();
    assert_eq!(output.status.code(), Some(6));
    assert!(String::from_utf8_lossy(&output.stderr).contains("batches are missing"));
    let before = batches(&place, "shared.partial");
    assert!(before > 20 && !place.path("shared").exists());
    place.prints(&shard("2/3", "shared"));
    assert!(batches(&place, "shared.partial") > before);
    place.prints(&merge);
    assert_eq!(place.prints(&["digest", "shared"]), want);
    // Folders of their own; what is missing can also be drawn by the merging process.
    for (m, out) in [("1/2", "one"), ("2/2", "two")] {
        place.prints(&shard(m, out));
    }
    place.prints(&with(&["merge", "config.toml", "--out", "merged", "--from", "one", "--from", "two"]));
    assert_eq!(place.prints(&["digest", "merged"]), want);
    place.prints(&with(&["run", "config.toml", "--out", "one", "--resume"]));
    assert_eq!(place.prints(&["digest", "one"]), want);
    // Shards of another config are no shards of ours.
    place.refuses(
        &["merge", "config.toml", "--out", "other", "--from", "two"],
        &["two.partial", "begun with the config"],
    );
    place.refuses(&with(&["merge", "config.toml", "--out", "other", "--from", "nowhere"]), &["no journal"]);
    assert!(!place.path("other").exists() && !place.path("other.partial").exists());
    place.refuses(&["run", "config.toml", "--out", "whole", "--shard", "1/2"], &["whole", "is another run"]);
    place.refuses(&with(&["run", "config.toml", "--out", "x", "--shard", "3/2"]), &["got shard 3 of 2"]);
    place.refuses(
        &with(&["run", "config.toml", "--out", "x", "--shard", "auto"]),
        &["SLURM_ARRAY_TASK_ID is not set"],
    );
}

/// A batch that failed is an error of its cell; --retry-failed draws it again, in a run that was stopped and in one that is
/// complete, and keeps both the other batches and the earlier folder.
#[test]
fn what_failed_is_drawn_again_when_asked() {
    let place = place();
    place.prints(&["run", "config.toml", "--out", "whole"]);
    let want = place.prints(&["digest", "whole"]);
    // A batch of a run that was stopped ended with an error.
    let fail = |out: &str| {
        killed(&place, out);
        spoil(&place, out);
    };
    fail("stopped");
    place.prints(&["run", "config.toml", "--out", "stopped", "--retry-failed"]);
    assert_eq!(place.prints(&["digest", "stopped"]), want);
    fail("out");
    // What is in the journal ends a run as well.
    let fast = ["run", "config.toml", "--out", "out", "--resume", "--fail-fast"];
    assert_eq!(place.command(&fast).output().unwrap().status.code(), Some(5));
    assert!(!place.path("out").exists());
    let output = place.command(&["run", "config.toml", "--out", "out", "--resume"]).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(5) && message.contains("no memory was left"), "{message}");
    assert_ne!(place.prints(&["digest", "out"]), want);
    // Complete, but for the cell that failed: only when asked it is drawn again.
    let again = place.command(&["run", "config.toml", "--out", "out"]).output().unwrap();
    assert_eq!(again.status.code(), Some(5));
    let kept = batches(&place, "out");
    assert!(kept > 20);
    // Killed on the way, it goes on from what it has drawn.
    let size = |log: &std::path::PathBuf| std::fs::metadata(log).unwrap().len();
    std::fs::remove_file(logs(&place, "out").iter().max_by_key(|log| size(log)).unwrap()).unwrap();
    let left = batches(&place, "out");
    let retry = ["run", "config.toml", "--out", "out", "--retry-failed"];
    let mut run = start(&place, &retry);
    until("its batches", || batches(&place, "out.partial") > left);
    run.kill().unwrap();
    run.wait().unwrap();
    place.prints(&retry);
    assert_eq!(place.prints(&["digest", "out"]), want);
    assert!(place.path("out.failed-1/manifest.json").exists() && !place.path("out/journal").exists());
    // Nothing failed: nothing is done.
    let again = place.command(&["run", "config.toml", "--out", "out", "--retry-failed"]).output().unwrap();
    assert!(again.status.success() && String::from_utf8_lossy(&again.stderr).contains("was run before"));
}

/// A shard draws again what failed in it, where its run is complete there is nothing to do, and a retry of a merged run keeps
/// what came from other folders.
#[test]
fn shards_are_drawn_again_when_asked() {
    let place = place();
    let with = |arguments: &[&'static str]| [arguments, &["--set", "grid.method.sweeps=2000"]].concat();
    place.prints(&with(&["run", "config.toml", "--out", "whole"]));
    let want = place.prints(&["digest", "whole"]);
    place.prints(&with(&["run", "config.toml", "--out", "one", "--shard", "1/2"]));
    place.prints(&with(&["run", "config.toml", "--out", "two", "--shard", "2/2"]));
    spoil(&place, "two");
    let fast = with(&["run", "config.toml", "--out", "two", "--shard", "2/2", "--fail-fast"]);
    assert_eq!(place.command(&fast).output().unwrap().status.code(), Some(5));
    let merge =
        |out: &'static str| with(&["merge", "config.toml", "--out", out, "--from", "one", "--from", "two"]);
    assert_eq!(place.command(&merge("failed")).output().unwrap().status.code(), Some(5));
    // All batches of both cells, and their closings.
    assert_eq!(batches(&place, "failed"), 2 * 65);
    place.prints(&with(&["run", "config.toml", "--out", "failed", "--retry-failed"]));
    assert_eq!(place.prints(&["digest", "failed"]), want);
    place.prints(&with(&["run", "config.toml", "--out", "two", "--shard", "2/2", "--retry-failed"]));
    place.prints(&merge("merged"));
    assert_eq!(place.prints(&["digest", "merged"]), want);
    let again = with(&["run", "config.toml", "--out", "merged", "--shard", "2/2"]);
    let output = place.command(&again).output().unwrap();
    assert!(
        output.status.success() && String::from_utf8_lossy(&output.stderr).contains("the run is complete")
    );
}

/// A folder that appears where a run will go is nobody's to move; the run stays beside it.
#[test]
fn a_folder_that_appears_is_left() {
    let place = place();
    let mut run = start(&place, &["run", "config.toml", "--out", "out"]);
    until("the journal", || place.path("out.partial/journal").exists());
    std::fs::create_dir(place.path("out")).unwrap();
    place.write("out/mine.txt", "mine");
    assert_eq!(run.wait().unwrap().code(), Some(1));
    assert_eq!(std::fs::read_to_string(place.path("out/mine.txt")).unwrap(), "mine");
    assert!(place.path("out.partial/errors.parquet").exists());
    std::fs::remove_dir_all(place.path("out")).unwrap();
    place.prints(&["run", "config.toml", "--out", "out", "--resume"]);
}

/// --fail-fast ends with the first cell that fails, and loses nothing; so does a shard.
#[test]
fn the_first_failure_can_end_a_run() {
    let table: String = (0..144).map(|i| format!("{},{},{}\n", i / 12, i % 12, 20 + i)).collect();
    let config = r#"
name = "fails"
seed = 1
replicates = 64
[data]
table = "margins.csv"
count = "count"
[[invariant]]
kind = "margins"
rows = "row"
columns = "column"
[[grid]]
epsilon = 0.1
law = "double-geometric"
method = [{ kind = "line-gibbs", sweeps = 5000 }, "exact"]
"#;
    let place =
        Place::new(&[("margins.csv", &format!("row,column,count\n{table}")), ("config.toml", config)]);
    for more in [&[][..], &["--shard", "1/1"]] {
        let arguments = [&["run", "config.toml", "--out", "out", "--fail-fast"], more].concat();
        let output = place.command(&arguments).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(5), "{message}");
        assert!(message.contains("1 of 2 cells failed; the first: exact"), "{message}");
        assert!(!place.path("out").exists());
    }
    let output = place.command(&["run", "config.toml", "--out", "out", "--resume"]).output().unwrap();
    assert_eq!(output.status.code(), Some(5));
    assert!(place.path("out/errors.parquet").exists());
}

/// Runs a script in a mount namespace of its own, if this machine lets us.
fn alone(place: &Place, script: &str) -> Option<std::process::Output> {
    for unshare in [&["-m"][..], &["-rm"]] {
        let probe =
            Command::new("unshare").args(unshare).args(["sh", "-c", "mount -t tmpfs none /mnt"]).output();
        if probe.is_ok_and(|probe| probe.status.success()) {
            let congenial = env!("CARGO_BIN_EXE_congenial");
            let mut command = Command::new("unshare");
            command.args(unshare).args(["sh", "-c", script, "sh", congenial]).current_dir(place.path("."));
            return Some(command.output().unwrap());
        }
    }
    eprintln!("skipped: no mount namespaces here");
    None
}

/// A disk that is full: exit code 1, the place is named, what was finished stays, and with room again the run goes on.
#[test]
fn a_full_disk_loses_nothing() {
    let place = place();
    place.prints(&["run", "config.toml", "--out", "whole"]);
    std::fs::create_dir(place.path("small")).unwrap();
    let script = r#"
        mount -t tmpfs -o size=160k none small || exit 99
        "$1" run config.toml --out small/out; echo "first $?"
        ls small/out.partial/journal/*.log | wc -l
        ls small/out && echo complete
        mount -o remount,size=40m small
        "$1" run config.toml --out small/out --resume >small/report; echo "second $?"
        "$1" digest small/out
    "#;
    let Some(output) = alone(&place, script) else { return };
    let (text, message) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr).replace("\n  │ ", " "),
    );
    let lines: Vec<&str> = text.lines().collect();
    assert!(message.contains("cannot write: No space left on device"), "{text}{message}");
    assert_eq!((lines[0], lines[2]), ("first 1", "second 0"), "{text}{message}");
    assert!(lines[1].trim().parse::<usize>().unwrap() >= 1, "{text}");
    assert!(
        message.contains("--resume goes on from here") && message.contains("batches done already"),
        "{message}"
    );
    assert_eq!(lines[3..].join("\n") + "\n", place.prints(&["digest", "whole"]));
}

/// A folder that nobody may write.
#[test]
fn a_read_only_folder_is_named() {
    let place = place();
    std::fs::create_dir(place.path("fixed")).unwrap();
    let script = r#"
        mount -t tmpfs none fixed && mount -o remount,ro fixed || exit 99
        for more in "" "--resume" "--shard 1/2"; do "$1" run config.toml --out fixed/out $more; echo $?; done
        "$1" aggregate table.csv --key group --lookup table.csv --lookup-key cell --out fixed/out.csv; echo $?
    "#;
    let Some(output) = alone(&place, script) else { return };
    let message = String::from_utf8_lossy(&output.stderr).replace("\n  │ ", " ");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "2\n2\n2\n2\n", "{message}");
    assert!(message.matches("Read-only file system").count() >= 3, "{message}");
}

/// A clock that was set back: files from the future, and starts before the ends of earlier processes.
#[test]
fn a_clock_that_jumps_back_changes_nothing() {
    let place = place();
    place.prints(&["run", "config.toml", "--out", "whole"]);
    killed(&place, "out");
    let future = std::time::SystemTime::now() + Duration::from_secs(10 * 365 * 86_400);
    for log in logs(&place, "out.partial") {
        std::fs::File::options().append(true).open(log).unwrap().set_modified(future).unwrap();
    }
    let congenial = env!("CARGO_BIN_EXE_congenial");
    // Backwards while it runs, where the tool for it is installed.
    let faked = Command::new("faketime").args(["-f", "@2001-02-03 04:05:06", "true"]).status();
    let mut command = if faked.is_ok_and(|status| status.success()) {
        let mut command = Command::new("faketime");
        command.args(["-f", "@2001-02-03 04:05:06 x-3", congenial]);
        command
    } else {
        eprintln!("without faketime: only the files are from the future");
        Command::new(congenial)
    };
    command.args(["run", "config.toml", "--out", "out", "--resume"]).current_dir(place.path("."));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(place.prints(&["digest", "out"]), place.prints(&["digest", "whole"]));
}

/// A manifest that another version wrote: named, and nothing is touched.
#[test]
fn a_newer_manifest_is_refused_and_left() {
    let place = place();
    place.prints(&["run", "config.toml", "--out", "out", "--set", "grid.method.sweeps=10"]);
    let newer = r#"{ "schema_version": 99, "title": "other fields" }"#;
    place.write("out/manifest.json", newer);
    for arguments in [
        &["run", "config.toml", "--out", "out"][..],
        &["run", "config.toml", "--out", "out", "--retry-failed"],
        &["report", "out"],
        &["digest", "out"],
    ] {
        place.refuses(arguments, &["out/manifest.json", "schema version 99, this tool reads"]);
    }
    assert_eq!(std::fs::read_to_string(place.path("out/manifest.json")).unwrap(), newer);
    assert!(place.path("out/errors.parquet").exists());
}

/// Git is wanted neither to run nor to build: then the commit is unknown, and the manifest says so.
#[test]
fn git_may_be_missing() {
    let place = place();
    let sets = ["--set", "grid.method.sweeps=10"];
    let run = [&["run", "config.toml", "--out", "out"], &sets[..]].concat();
    let output = place.command(&run).env("PATH", "").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // What tells the build of the commit, without git.
    let script = place.path("build-script");
    let rustc = std::env::var("RUSTC").unwrap_or("rustc".into());
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/build.rs");
    let built =
        Command::new(&rustc).args(["--edition", "2024", "-o"]).arg(&script).arg(source).status().unwrap();
    assert!(built.success());
    let output = Command::new(&script).env("PATH", "").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.contains("GIT_COMMIT=\n"), "{text}");
    assert!(text.contains("GIT_DIRTY=unknown\n") && text.contains("GIT_DIFF=\n"), "{text}");
}

/// A plan that was submitted stands: whatever happens to the config meanwhile, the shards draw what was frozen.
#[test]
fn a_submitted_plan_is_frozen() {
    let place = place();
    place.prints(&["run", "config.toml", "--out", "whole"]);
    let submit = ["submit", "config.toml", "--out", "a b/out", "--tasks", "2", "--threads", "1", "--engine"];
    let script = place.prints(&[&submit[..], &["parallel"]].concat());
    assert!(script.contains("--shard @SHARD@/2"), "{script}");
    let slurm = place.prints(&[&submit[..], &["slurm"]].concat());
    assert!(slurm.contains("--array=1-2") && slurm.contains("--dependency=afterok:"), "{slurm}");
    place.write("config.toml", &CONFIG.replace("seed = 9", "seed = 10"));
    // The line of a task, as a shell reads it.
    let line = slurm.lines().find(|line| line.starts_with("exec") && line.contains("--shard")).unwrap();
    for id in ["1", "2"] {
        let mut task = Command::new("sh");
        task.args(["-c", line])
            .current_dir("/")
            .env("SLURM_ARRAY_TASK_ID", id)
            .env("SLURM_ARRAY_TASK_COUNT", "2");
        let output = task.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let line = slurm.lines().find(|line| line.starts_with("exec") && line.contains(" merge ")).unwrap();
    let output = Command::new("sh").args(["-c", line]).current_dir("/").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(place.prints(&["digest", "a b/out"]), place.prints(&["digest", "whole"]));
    assert_eq!(std::fs::read_to_string(place.path("a b/out/config.toml")).unwrap(), CONFIG);
    let manifest = std::fs::read_to_string(place.path("a b/out/manifest.json")).unwrap();
    assert_eq!(manifest.matches("\"shard\":").count(), 2);
    // The other config cannot be submitted to the same folder; nor can the same again.
    place.refuses(&[&submit[..], &["slurm"]].concat(), &["a b/out", "is another run"]);
    place.write("config.toml", CONFIG);
    place.refuses(&[&submit[..], &["slurm"]].concat(), &["a b/out", "complete run"]);
    for (more, why) in [
        (&["--engine", "kubernetes"][..], "want --image, --claim, --mount"),
        (&["--engine", "slurm", "--image", "x"], "--image: only `--engine kubernetes` takes it"),
        (&["--engine", "slurm", "--minutes", "0"], "--minutes: got 0"),
        (
            &["--engine", "kubernetes", "--image", "x", "--claim", "y", "--mount", "/nowhere"],
            "does not lie in it",
        ),
    ] {
        place.refuses(&[&["submit", "config.toml", "--out", "c"], more].concat(), &[why]);
    }
}
