//! What can happen to a run: it is killed, resumed, meets another process, or finds what is not its own.

mod place;

use place::Place;
use std::process::{Command, Stdio};
use std::time::Duration;

const TABLE: &str = "cell,group,count\na,s,3\nb,s,0\nc,s,5\nd,t,2\ne,t,1\nf,t,0\ng,t,7\nh,t,4\ni,t,2\n";

/// Two cells of about 64 parts, each part some 30 ms.
const CONFIG: &str = r#"
name = "faults"
seed = 9
replicates = 256
keep-draws = true

[data]
table = "table.csv"
count = "count"
cell = ["cell"]

[[invariant]]
kind = "partition"
by = "group"

[[invariant]]
kind = "nonnegative"

[[grid]]
epsilon = [0.5, 1.0]
law = "double-geometric"
method = { kind = "line-gibbs", sweeps = 12_000 }
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

fn parts(place: &Place, folder: &str) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(place.path(folder).join("journal")).into_iter().flatten().flatten();
    let mut parts: Vec<_> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "part"))
        .collect();
    parts.sort();
    parts
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

/// Killed at random moments, again and again, and resumed each time: the rows of an undisturbed run.
#[test]
fn a_killed_run_goes_on_to_the_same_rows() {
    let place = place();
    place.prints(&["run", "config.toml", "--out", "whole"]);
    let want = place.prints(&["digest", "whole"]);
    let mut wait = 17u64;
    let (mut kills, mut finished) = (0, 0);
    while kills < 50 {
        let mut run = start(&place, &["run", "config.toml", "--out", "out", "--resume"]);
        wait = wait.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(Duration::from_millis(20 + (wait >> 33) % 180));
        run.kill().unwrap();
        run.wait().unwrap();
        kills += 1;
        if place.path("out").exists() {
            assert_eq!(place.prints(&["digest", "out"]), want);
            std::fs::remove_dir_all(place.path("out")).unwrap();
            finished += 1;
        }
    }
    place.prints(&["run", "config.toml", "--out", "out", "--resume"]);
    assert_eq!(place.prints(&["digest", "out"]), want);
    assert!(!place.path("out.partial").exists() && !place.path("out/journal").exists());
    assert!(finished < kills);
}

/// SIGTERM and SIGINT end with their codes and a line on how to go on; without --resume nothing is touched.
#[test]
fn a_stopped_run_says_how_to_go_on() {
    let place = place();
    for (signal, code) in [("-TERM", 143), ("-INT", 130)] {
        let before = parts(&place, "out.partial").len();
        let run = start(&place, &["run", "config.toml", "--out", "out", "--resume"]);
        until("another part", || parts(&place, "out.partial").len() > before);
        Command::new("kill").args([signal, &run.id().to_string()]).status().unwrap();
        let output = run.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code));
        assert!(String::from_utf8_lossy(&output.stderr).contains("--resume goes on from here"));
    }
    let before = parts(&place, "out.partial").len();
    place.refuses(&["run", "config.toml", "--out", "out"], &["out.partial", "give --resume"]);
    assert_eq!(parts(&place, "out.partial").len(), before);
    // Another config, other data, or another schema may not go on from here.
    place.refuses(
        &["run", "config.toml", "--out", "out", "--resume", "--set", "seed=10"],
        &["cannot go on", "begun with the config"],
    );
    let identity = place.path("out.partial/journal/identity.json");
    let text = std::fs::read_to_string(&identity).unwrap();
    std::fs::write(&identity, text.replace("\"schema_version\": ", "\"schema_version\": 9")).unwrap();
    place.refuses(&["run", "config.toml", "--out", "out", "--resume"], &["begun with the schema 93"]);
    std::fs::write(&identity, "not json").unwrap();
    place.refuses(&["run", "config.toml", "--out", "out", "--resume"], &["identity.json", "cannot go on"]);
    std::fs::write(&identity, text).unwrap();
    assert_eq!(parts(&place, "out.partial").len(), before);
    place.prints(&["run", "config.toml", "--out", "out", "--resume"]);
}

/// Parts that were cut, changed, or come from elsewhere are drawn again.
#[test]
fn damaged_parts_are_drawn_again() {
    let place = place();
    place.prints(&["run", "config.toml", "--out", "whole"]);
    let mut run = start(&place, &["run", "config.toml", "--out", "out"]);
    until("six parts", || parts(&place, "out.partial").len() >= 6);
    run.kill().unwrap();
    run.wait().unwrap();
    let parts = parts(&place, "out.partial");
    let bytes = |i: usize| std::fs::read(&parts[i]).unwrap();
    let cut = bytes(0);
    std::fs::write(&parts[0], &cut[..cut.len() / 2]).unwrap();
    let mut flipped = bytes(1);
    let middle = flipped.len() / 2;
    flipped[middle] ^= 1;
    std::fs::write(&parts[1], flipped).unwrap();
    std::fs::write(&parts[2], bytes(3)).unwrap();
    std::fs::write(&parts[4], b"").unwrap();
    std::fs::write(place.path("out.partial/journal/stray.part.tmp"), b"half").unwrap();
    place.prints(&["run", "config.toml", "--out", "out", "--resume"]);
    assert_eq!(place.prints(&["digest", "out"]), place.prints(&["digest", "whole"]));
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
    assert!(String::from_utf8_lossy(&output.stderr).contains("parts are missing"));
    let before = parts(&place, "shared.partial").len();
    assert!(before > 20 && !place.path("shared").exists());
    place.prints(&shard("2/3", "shared"));
    assert!(parts(&place, "shared.partial").len() > before);
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
    place.refuses(&with(&["run", "config.toml", "--out", "whole", "--shard", "1/2"]), &["whole", "exists"]);
    place.refuses(&with(&["run", "config.toml", "--out", "x", "--shard", "3/2"]), &["got shard 3 of 2"]);
    place.refuses(
        &with(&["run", "config.toml", "--out", "x", "--shard", "auto"]),
        &["SLURM_ARRAY_TASK_ID is not set"],
    );
}
