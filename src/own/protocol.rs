//! The frames of the protocol: a line of words, then numbers of 64 bits, the lowest byte first.

use super::{Promises, Structure, Task};
use crate::privacy::{ChangeKind, Declared};
use std::io::{self, BufRead, Read, Write};

/// The version of the protocol.
const VERSION: &str = "1";
/// Bytes of a line at most.
const LINE: u64 = 1 << 16;

fn line(out: &mut impl Write, words: &str) -> io::Result<()> {
    writeln!(out, "{words}")
}

fn integers(out: &mut impl Write, numbers: impl IntoIterator<Item = i64>) -> io::Result<()> {
    numbers.into_iter().try_for_each(|number| out.write_all(&number.to_le_bytes()))
}

fn reals(out: &mut impl Write, numbers: &[f64]) -> io::Result<()> {
    let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
    out.write_all(&bytes)
}

/// Options in a line.
fn words(options: &[(String, String)]) -> String {
    options.iter().map(|(key, value)| format!(" {key}={value}")).collect()
}

/// `congenial VERSION OPTION=VALUE…`; answered by `method NAME VERSION PROMISE…`.
pub(super) fn hello(out: &mut impl Write, options: &[(String, String)]) -> io::Result<()> {
    line(out, &format!("congenial {VERSION}{}", words(options)))?;
    out.flush()
}

/// `structure tree NODES LEVELS` with parents and levels; `structure table ENTRIES EQUATIONS TERMS INEQUALITIES TERMS`
/// with, for both, where each begins among its terms, the entries and the coefficients of the terms, and the values.
pub(super) fn structure(out: &mut impl Write, structure: &Structure) -> io::Result<()> {
    match structure {
        Structure::Tree { parents, levels } => {
            line(out, &format!("structure tree {} {}", parents.len(), levels.len() - 1))?;
            integers(out, parents.iter().chain(levels).copied())
        }
        Structure::Table { entries, equations, inequalities } => {
            let terms =
                |rows: &[(Vec<(u32, i64)>, i64)]| rows.iter().map(|(row, _)| row.len()).sum::<usize>();
            let [e, i] = [equations, inequalities].map(|rows| format!("{} {}", rows.len(), terms(rows)));
            line(out, &format!("structure table {entries} {e} {i}"))?;
            for rows in [equations, inequalities] {
                let mut begin = 0;
                integers(out, [0])?;
                for (row, _) in rows {
                    begin += row.len() as i64;
                    integers(out, [begin])?;
                }
                let all = || rows.iter().flat_map(|(row, _)| row);
                integers(out, all().map(|(entry, _)| i64::from(*entry)))?;
                integers(out, all().map(|(_, coefficient)| *coefficient))?;
                integers(out, rows.iter().map(|(_, value)| *value))?;
            }
            Ok(())
        }
    }
}

/// `cell NUMBER law=… epsilon=… OPTION=VALUE…` with the variances; answered by `ready`, of a mechanism with what it pays.
pub(super) fn cell(out: &mut impl Write, number: u64, task: &Task) -> io::Result<()> {
    line(out, &format!("cell {number} law={} epsilon={:?}{}", task.law, task.epsilon, words(&task.options)))?;
    reals(out, &task.variances)?;
    out.flush()
}

/// `release NUMBER REPLICATES` with their seeds and noisy counts; answered by `released REPLICATES` with what is released.
pub(super) fn release(out: &mut impl Write, number: u64, seeds: &[u64], counts: &[f64]) -> io::Result<()> {
    line(out, &format!("release {number} {}", seeds.len()))?;
    seeds.iter().try_for_each(|seed| out.write_all(&seed.to_le_bytes()))?;
    reals(out, counts)?;
    out.flush()
}

/// What went wrong with an answer.
pub(super) enum Wrong {
    /// The program ended, or could not be read.
    Ended(String),
    /// The program says itself that something is wrong.
    Said(String),
}

/// The words of the next answer, which begins with a word. `error TEXT` is an error.
pub(super) fn answer(input: &mut impl BufRead, begins: &str) -> Result<Vec<String>, Wrong> {
    let mut bytes = Vec::new();
    let read = input.by_ref().take(LINE).read_until(b'\n', &mut bytes);
    read.map_err(|e| Wrong::Ended(format!("cannot be read: {e}")))?;
    if bytes.pop() != Some(b'\n') {
        let why = if bytes.len() as u64 + 1 >= LINE { "sent a line without an end" } else { "ended" };
        return Err(Wrong::Ended(why.into()));
    }
    let text = String::from_utf8_lossy(&bytes).trim().to_owned();
    let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    match words.first().map(String::as_str) {
        Some(first) if first == begins => Ok(words),
        Some("error") => Err(Wrong::Said(text["error".len()..].trim().to_owned())),
        _ => {
            let shown: String = text.chars().take(100).collect();
            let plain = !shown.chars().any(|c| c.is_control() || c == char::REPLACEMENT_CHARACTER);
            let shown = if plain { format!("`{shown}`") } else { "bytes that are no line".into() };
            Err(Wrong::Ended(format!("answered {shown}, want `{begins}`")))
        }
    }
}

/// `method NAME VERSION PROMISE…`.
pub(super) fn promises(words: &[String]) -> Result<Promises, String> {
    match words {
        [_, _, _, promises @ ..] => Promises::of(promises.iter().map(String::as_str)),
        _ => Err("answered without its name and version: want `method NAME VERSION PROMISE…`".into()),
    }
}

/// `ready`, of a mechanism with epsilons by kind of change and delta: `ready added=EPSILON moved=EPSILON
/// smallest=EPSILON delta=DELTA`, one epsilon at least.
pub(super) fn ready(words: &[String]) -> Result<Option<Declared>, Wrong> {
    let mut declared = Declared::default();
    for word in &words[1..] {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        match (value.parse::<f64>(), ChangeKind::named(name)) {
            (Ok(epsilon), Some(kind)) => declared.epsilons[kind as usize] = Some(epsilon),
            (Ok(delta), None) if name == "delta" => declared.delta = delta,
            _ => {
                let want = "want `added=`, `moved=`, `smallest=` or `delta=` with a number";
                return Err(Wrong::Ended(format!("answered `{word}` after `ready`, {want}")));
            }
        }
    }
    Ok((words.len() > 1).then_some(declared))
}

/// `released REPLICATES` with the counts, into their place.
pub(super) fn released(input: &mut impl BufRead, replicates: usize, counts: &mut [f64]) -> Result<(), Wrong> {
    let words = answer(input, "released")?;
    if words.get(1).and_then(|n| n.parse().ok()) != Some(replicates) {
        let got = words[1..].join(" ");
        return Err(Wrong::Ended(format!("released `{got}` replicates, want {replicates}")));
    }
    let mut bytes = vec![0; 8 * counts.len()];
    let mut sent = 0;
    while sent < bytes.len() {
        match input.read(&mut bytes[sent..]) {
            Ok(more @ 1..) => sent += more,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            _ => {
                let want = bytes.len();
                return Err(Wrong::Ended(format!("sent too few counts: {sent} of {want} bytes")));
            }
        }
    }
    let (numbers, _) = bytes.as_chunks::<8>();
    counts.iter_mut().zip(numbers).for_each(|(count, bits)| *count = f64::from_le_bytes(*bits));
    Ok(())
}
