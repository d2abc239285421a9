//! Memory is that of the cells in flight, whatever the number of rows: peak memory of the command, for ten times the rows.
#![allow(clippy::disallowed_methods)] // Tests open files of their own.

use crate::place::{MARGINS, Place, TABLE_DATA};
use std::process::{Command, Stdio};
use std::time::Duration;

const FEW: u64 = 200_000;
const MANY: u64 = 2_000_000;

/// Peak resident bytes of the command, which succeeds: what the kernel said last before it ended.
fn peak(place: &Place, arguments: &[&str]) -> u64 {
    let mut child = Command::new(env!("CARGO_BIN_EXE_congenial"))
        .current_dir(place.path("."))
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (status, mut peak) = (format!("/proc/{}/status", child.id()), 0u64);
    loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
        peak = peak.max(line.map_or(0, |kib| 1024 * kib.parse::<u64>().unwrap()));
        if let Some(ended) = child.try_wait().unwrap() {
            assert!(ended.success(), "{arguments:?}: {ended}");
            // On a busy machine a short command is over before anybody has looked at it.
            return if peak > 0 { peak } else { self::peak(place, arguments) };
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A run on one thread has one batch of rows and one row group of each table; whoever reads it has a row group as well. Few rows fill
/// all of them, so that ten times as many take nothing more: with one number of every row, of eight bytes, rows no longer stream.
#[test]
fn rows_stream() {
    if !cfg!(target_os = "linux") {
        eprintln!("skipped: peak memory is read from /proc");
        return;
    }
    let table: String = (0..16).map(|i| format!("r{},c{},{}\n", i / 4, i % 4, 7 * i % 23)).collect();
    let grid = "[[grid]]\nepsilon = 0.5\nlaw = \"double-geometric\"\nmethod = \"unconstrained\"\n";
    let config = format!("name = \"memory\"\nseed = 1\nreplicates = {FEW}\n{TABLE_DATA}{MARGINS}{grid}");
    let place = Place::new(&[("table.csv", &format!("row,column,count\n{table}")), ("config.toml", &config)]);
    let rows = |rows: u64| format!("replicates={rows}");
    for draws in ["keep-draws=false", "keep-draws=true"] {
        let run = ["run", "config.toml", "--threads", "1", "--set", draws, "--out"];
        let run = |out, rows: &str| peak(&place, &[&run[..], &[out, "--set", rows]].concat());
        let mut peaks = vec![("run", run("few", &rows(FEW)), run("many", &rows(MANY)))];
        for verb in ["report", "digest"] {
            peaks.push((verb, peak(&place, &[verb, "few"]), peak(&place, &[verb, "many"])));
        }
        let compare = |out| peak(&place, &["compare", out, out]);
        peaks.push(("compare", compare("few"), compare("many")));
        for (what, few, many) in peaks {
            let found = format!("{what}, {draws}: {few} bytes for {FEW} rows, {many} for {MANY}");
            eprintln!("{found}");
            assert!(many < few + 8 * (MANY - FEW), "{found}");
        }
        ["few", "many"].iter().for_each(|out| std::fs::remove_dir_all(place.path(out)).unwrap());
    }
}
