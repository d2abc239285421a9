//! The end of programs, and of what they have started, at every exit of this process.
//!
//! A program has a process group of its own, and a mark in its environment, which all that it starts inherits, also
//! what leaves the group. So it is ended by a signal to the group, and to whoever has the mark (Linux shows
//! environments under `/proc`; elsewhere the group is all). An exit in order calls [`end_all`], one by a signal that is
//! waited for [`end_for_good`]. At any other exit (SIGKILL, a signal that nobody waits for, no memory) a guard does it:
//! a process that waits for the end of a pipe whose other end this process holds.

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::fs::File;
use std::io::Read;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What a mutex holds, whoever panicked with it.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The variable with the marks: of the process that started a program, and of those around that.
const MARK: &str = "CONGENIAL_PROGRAM";
/// Looks for processes with a mark, until there is none, and the time between two.
const LOOKS: usize = 1000;
const LOOK: Duration = Duration::from_millis(1);
/// Looks after which a process without an environment is held to have none.
const UNSURE: usize = 20;
/// Bytes of an environment that are read.
const ENVIRONMENT: usize = 1 << 22;

/// What was started and has not been waited for.
struct All {
    /// Whether this process is about to exit: nothing is started any more.
    ending: bool,
    /// Groups, each with the process that started it: one that was forked has those of its parent here, and leaves them alone.
    groups: Vec<(u32, Pid)>,
}

static ALL: Mutex<All> = Mutex::new(All { ending: false, groups: Vec::new() });

/// The mark of this process, a part of that of each of its programs, with the process: one that was forked makes another.
static OWN: Mutex<Option<(u32, String)>> = Mutex::new(None);

/// The mark, made when the first program starts.
pub(super) fn mark() -> String {
    let process = std::process::id();
    let mut own = locked(&OWN);
    match own.as_ref().filter(|(by, _)| *by == process) {
        Some((_, mark)) => mark.clone(),
        None => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos());
            let mark = format!(":{process}-{now}.");
            *own = Some((process, mark.clone()));
            mark
        }
    }
}

/// The mark, if this process has started a program.
fn own_mark() -> Option<String> {
    let own = locked(&OWN);
    own.as_ref().filter(|(process, _)| *process == std::process::id()).map(|(_, mark)| mark.clone())
}

/// A program that was started, with all that it starts. It ends when this is dropped.
pub(super) struct Started {
    pub(super) child: Child,
    mark: String,
    /// Whether it was waited for.
    gone: bool,
}

impl Started {
    /// Starts a command in a group of its own, so that what a terminal sends to this process does not reach it. Errors:
    /// also that this process is about to exit.
    pub(super) fn new(mut command: Command) -> std::io::Result<Self> {
        use std::os::unix::process::CommandExt;
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let mark = format!("{}{};", mark(), NEXT.fetch_add(1, Ordering::Relaxed));
        let around = std::env::var_os(MARK).unwrap_or_default();
        command.env(MARK, format!("{}{mark}", around.to_string_lossy())).process_group(0);
        // Held, so that none is started behind the back of the end.
        let mut all = locked(&ALL);
        if all.ending {
            return Err(std::io::Error::other("this process is about to end"));
        }
        let child = command.spawn()?;
        all.groups.push((std::process::id(), Pid::from_child(&child)));
        Ok(Self { child, mark, gone: false })
    }

    /// Kills the program, and all that it has started.
    pub(super) fn kill(&mut self) {
        if !self.gone {
            let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
            let _ = self.child.kill();
        }
        end_marked(&self.mark);
    }

    /// Ends the program and all that it has started, and waits for it: it is gone then.
    pub(super) fn end(&mut self) {
        if self.gone {
            return;
        }
        self.kill();
        let group = (std::process::id(), Pid::from_child(&self.child));
        // Before it is waited for: its number may be another's then.
        locked(&ALL).groups.retain(|known| *known != group);
        let _ = self.child.wait();
        self.gone = true;
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.end();
    }
}

/// Ends all programs that this process has started, with all that they have started.
pub fn end_all() {
    let Some(mark) = own_mark() else { return };
    let process = std::process::id();
    let all = locked(&ALL);
    let own = all.groups.iter().filter(|(by, _)| *by == process);
    for (_, group) in own {
        let _ = kill_process_group(*group, Signal::KILL);
    }
    drop(all);
    end_marked(&mark);
}

/// Ends all programs just before this process exits while threads may still draw: nothing is started any more, and a
/// thread that loses a program by it waits (`wait_if_ending`).
pub fn end_for_good() {
    locked(&ALL).ending = true;
    end_all();
}

/// Does not return if this process is about to exit: what a program has failed at by that is no error of a cell, which
/// a journal would keep.
pub(super) fn wait_if_ending() {
    while locked(&ALL).ending {
        std::thread::park();
    }
}

/// What the guard does: it waits until nobody holds the other end of its standard input, and ends what has a mark then.
pub fn guard(mark: &str) {
    let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
    end_marked(mark);
}

/// Kills every process with a mark, until there is none.
fn end_marked(mark: &str) {
    let (mut unsure, mut buffer) = (0, vec![0; ENVIRONMENT]);
    for _ in 0..LOOKS {
        let looked: Vec<(Pid, Marked)> =
            processes().map(|process| (process, marked(process, mark, &mut buffer))).collect();
        if looked.iter().all(|(_, is)| *is == Marked::No) || unsure == UNSURE {
            return;
        }
        let found: Vec<Pid> =
            looked.into_iter().filter(|(_, is)| *is == Marked::Yes).map(|(process, _)| process).collect();
        unsure = if found.is_empty() { unsure + 1 } else { 0 };
        for process in found {
            let _ = kill_process(process, Signal::KILL);
        }
        // They go, and what they have started meanwhile is found.
        std::thread::sleep(LOOK);
    }
}

/// The processes of this machine.
#[allow(clippy::disallowed_methods, reason = "the kernel writes it, and no user names it")]
fn processes() -> impl Iterator<Item = Pid> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter_map(Pid::from_raw)
}

/// Whether a process has a mark.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Marked {
    Yes,
    No,
    /// It has memory and no environment: it may be about to become another program, and is looked at again.
    Unsure,
}

#[allow(clippy::disallowed_methods, reason = "the kernel writes them, and no user names them")]
fn marked(process: Pid, mark: &str, buffer: &mut [u8]) -> Marked {
    let open = |name: &str| File::open(format!("/proc/{}/{name}", process.as_raw_pid()));
    let marks = |word: &[u8]| {
        let marks = word.strip_prefix(MARK.as_bytes()).and_then(|word| word.strip_prefix(b"="));
        marks.is_some_and(|marks| String::from_utf8_lossy(marks).contains(mark))
    };
    // Those of others cannot be read. In one piece: the rest of a second is gone with the program before.
    let Ok(length) = open("environ").and_then(|mut file| file.read(buffer)) else { return Marked::No };
    let environment = &buffer[..length];
    // Told in pages: one that is ending, and one of the kernel, have none.
    let memory = || {
        let mut first = [0; 2];
        open("statm").and_then(|mut file| file.read_exact(&mut first)).is_ok() && first != *b"0 "
    };
    if environment.split(|byte| *byte == 0).any(marks) {
        Marked::Yes
    } else if environment.is_empty() && memory() {
        Marked::Unsure
    } else {
        Marked::No
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests open files of their own")]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Write};
    use std::process::Stdio;

    /// Processes of a shell that are there, by their numbers on its standard output.
    fn there(numbers: &[i32]) -> usize {
        let lives = |number: &&i32| {
            let status = std::fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
            status.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
        };
        numbers.iter().filter(lives).count()
    }

    /// Those that are there after some time: what was killed has no environment any more, and ends. A leader of a group
    /// is a zombie until it is waited for.
    fn left(numbers: &[i32]) -> usize {
        for _ in 0..10_000 {
            if there(numbers) == 0 {
                return 0;
            }
            std::thread::sleep(LOOK);
        }
        there(numbers)
    }

    fn started(script: &str, wanted: usize) -> (Started, Vec<i32>) {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut started = Started::new(command).unwrap();
        let lines = BufReader::new(started.child.stdout.take().unwrap()).lines();
        let numbers = lines.take(wanted).map(|line| line.unwrap().trim().parse().unwrap()).collect();
        (started, numbers)
    }

    /// What a program has started ends with it, whatever group or session it is in; others stay.
    #[test]
    fn what_a_program_has_started_ends_with_it() {
        if !cfg!(target_os = "linux") {
            return;
        }
        let script = "sleep 60 & echo $!; (setsid sh -c 'echo $$; exec sleep 60' &) ; echo $$; wait; cat";
        let (mut one, ones) = started(script, 3);
        let (mut other, others) = started(script, 3);
        assert_eq!((there(&ones), there(&others)), (3, 3));
        one.kill();
        assert_eq!((left(&ones), there(&others)), (0, 3));
        one.end();
        drop(one);
        // What it left behind ends also if it has ended by itself.
        other.child.stdin.take().unwrap().flush().unwrap();
        drop(other);
        assert_eq!(left(&others), 0);
        assert!(!locked(&ALL).groups.iter().any(|(_, group)| ones.contains(&group.as_raw_pid())));
    }
    /// Also what is about to become another program at any time, and shows no environment then.
    #[test]
    fn what_becomes_another_program_ends() {
        if !cfg!(target_os = "linux") {
            return;
        }
        for _ in 0..100 {
            let again = "export AGAIN='exec sh -c \"$AGAIN\"'; setsid sh -c 'echo $$; eval \"$AGAIN\"' & cat";
            let (one, ones) = started(again, 1);
            drop(one);
            assert_eq!(left(&ones), 0);
        }
    }
}
