//! A method that is a program: started once for every thread that draws, kept for all its batches, spoken to by its
//! standard input and output.
//!
//! What it does wrong is the error of the cell, with its last words on standard error: it ends, it takes longer than it
//! may, it answers something else. It is ended then, and another one begins with the next batch.

use super::ending::{self, Started, locked};
use super::protocol::{self, Wrong};
use super::{OwnMethod, OwnReleases, Promises, Structure, Task, starting};
use crate::privacy::Declared;
use std::collections::{BTreeMap, VecDeque};
use std::io::{BufReader, BufWriter, Read};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Cells that a program is to remember at the same time.
const CELLS: usize = 16;
/// Bytes of its standard error that are kept.
const LAST_WORDS: usize = 2000;

/// A program that speaks the protocol.
pub struct Program(Arc<Shared>);

struct Shared {
    command: Vec<String>,
    folder: PathBuf,
    timeout: Duration,
    /// Programs that nobody speaks to.
    idle: Mutex<Vec<Talk>>,
    /// By options, the words of the first answer to them.
    met: Mutex<BTreeMap<Options, Vec<String>>>,
}

/// Options: names and values.
type Options = Vec<(String, String)>;

impl Shared {
    /// Refuses an answer to the handshake that is another than the first with these options, of this process or of
    /// another: cells, keys and checks rest on it.
    fn same(&self, options: &[(String, String)], words: &[String]) -> Result<(), String> {
        let mut met = locked(&self.met);
        let first = met.entry(options.to_vec()).or_insert_with(|| words.to_vec());
        let shown = |words: &[String]| -> String {
            words.join(" ").chars().take(100).flat_map(char::escape_debug).collect()
        };
        for (what, (before, now)) in [
            ("name", (&first[1..2], &words[1..2])),
            ("version", (&first[2..3], &words[2..3])),
            ("promises", (&first[3..], &words[3..])),
        ] {
            if before != now {
                let (before, now) = (shown(before), shown(now));
                return Err(format!(
                    "changed its {what} between two handshakes: `{before}` at first, then `{now}`; want the same from all its processes"
                ));
            }
        }
        Ok(())
    }
}

/// Those of all configs, each once: process, command, folder, seconds of an answer, what else decides its releases.
type Key = (u32, Vec<String>, PathBuf, u64, String);
static PROGRAMS: Mutex<BTreeMap<Key, Arc<Program>>> = Mutex::new(BTreeMap::new());

impl Program {
    /// A command with its arguments, run in a folder; one program for the same ones. `timeout`: for each of its
    /// answers; `identity`: what else decides its releases.
    pub fn of(command: &[String], folder: &Path, timeout: Duration, identity: &str) -> Arc<Self> {
        let (command, folder) = (command.to_vec(), folder.to_owned());
        // A process that was forked has programs of its own.
        let process = std::process::id();
        let key = (process, command.clone(), folder.clone(), timeout.as_nanos() as u64, identity.to_owned());
        let new = || {
            Arc::new(Self(Arc::new(Shared {
                command,
                folder,
                timeout,
                idle: Mutex::default(),
                met: Mutex::default(),
            })))
        };
        locked(&PROGRAMS).entry(key).or_insert_with(new).clone()
    }
}

/// Ends the programs of this process that nobody speaks to: at the end of what they were started for.
pub fn end_idle() {
    let process = std::process::id();
    let own = |((by, ..), program): (&Key, &Arc<Program>)| (*by == process).then(|| program.clone());
    let all: Vec<Arc<Program>> = locked(&PROGRAMS).iter().filter_map(own).collect();
    for program in all {
        drop(std::mem::take(&mut *locked(&program.0.idle)));
        // Who changes a program between two runs of one process means it.
        locked(&program.0.met).clear();
    }
}

impl OwnMethod for Program {
    fn promises(&self, options: &[(String, String)]) -> Result<Promises, String> {
        let waiting = locked(&self.0.idle).pop();
        let (talk, promises) = match waiting {
            Some(talk) => talk.greet(&self.0, options),
            None => Talk::begin(&self.0, options),
        }?;
        locked(&self.0.idle).push(talk);
        Ok(promises)
    }

    fn prepare(&self, task: Task) -> Result<Box<dyn OwnReleases>, String> {
        let mut ready = ReadyProgram { shared: self.0.clone(), task: Arc::new(task), pays: None };
        let mut pays = None;
        ready.talk(|talk, number| {
            pays = talk.cells[number as usize].as_ref().and_then(|(_, pays)| *pays);
            Ok(())
        })?;
        ready.pays = pays;
        Ok(Box::new(ready))
    }
}

/// A cell that a program was told of.
struct ReadyProgram {
    shared: Arc<Shared>,
    task: Arc<Task>,
    pays: Option<Declared>,
}

impl ReadyProgram {
    /// Speaks with one of the programs that knows the cell, or is told of it.
    fn talk(&self, speak: impl FnOnce(&mut Talk, u64) -> Result<(), Wrong>) -> Result<(), String> {
        let waiting = {
            let mut idle = locked(&self.shared.idle);
            let knows = idle.iter().position(|talk| talk.number(&self.task).is_some());
            knows.or(idle.len().checked_sub(1)).map(|place| idle.swap_remove(place))
        };
        let mut talk = match waiting {
            Some(talk) => talk,
            None => {
                Talk::begin(&self.shared, &self.task.options).inspect_err(|_| ending::wait_if_ending())?.0
            }
        };
        let said = talk.tell(&self.task).and_then(|number| speak(&mut talk, number));
        let late = talk.hurry(None);
        match said {
            Ok(()) => {
                // It answered just before it was ended.
                if !late {
                    locked(&self.shared.idle).push(talk);
                }
                Ok(())
            }
            Err(Wrong::Said(words)) => {
                // It does not serve the cell; it may serve others.
                talk.forget(&self.task);
                locked(&self.shared.idle).push(talk);
                Err(format!("`{}` says: {words}", self.shared.command.join(" ")))
            }
            Err(Wrong::Ended(why)) => {
                ending::wait_if_ending();
                Err(talk.end(&why))
            }
        }
    }
}

impl OwnReleases for ReadyProgram {
    fn release(&self, seeds: &[u64], counts: &mut [f64]) -> Result<(), String> {
        self.talk(|talk, number| {
            talk.hurry(Some(talk.timeout));
            let sent = protocol::release(&mut talk.input, number, seeds, counts);
            sent.map_err(|e| Wrong::Ended(format!("does not listen: {e}")))?;
            protocol::released(&mut talk.output, seeds.len(), counts)?;
            talk.nothing_more(&self.shared, &self.task)
        })
    }

    fn pays(&self) -> Option<Declared> {
        self.pays
    }
}

/// A program that runs.
struct Talk {
    name: String,
    timeout: Duration,
    input: BufWriter<ChildStdin>,
    output: BufReader<ChildStdout>,
    watched: Arc<(Mutex<Watched>, Condvar)>,
    last_words: Arc<Mutex<VecDeque<u8>>>,
    structure: Option<Arc<Structure>>,
    /// What it remembers, and what it said that it pays.
    cells: Vec<Option<(Arc<Task>, Option<Declared>)>>,
    /// The place of the next cell.
    next: usize,
    /// The last cell of which it has sent as many counts as it said.
    proved: Option<Arc<Task>>,
}

/// What the watch of a program knows.
struct Watched {
    program: Started,
    /// When it must have answered.
    until: Option<Instant>,
    late: bool,
    ended: bool,
}

impl Talk {
    /// Starts a program and asks what it promises.
    fn begin(shared: &Shared, options: &[(String, String)]) -> Result<(Self, Promises), String> {
        let name = shared.command.join(" ");
        let mut program = starting::start(&shared.command, &shared.folder)
            .map_err(|e| format!("`{name}` cannot be started in {}: {e}", shared.folder.display()))?;
        let child = &mut program.child;
        let (Some(input), Some(output), Some(mut errors)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(format!("`{name}` has no standard input and output"));
        };
        let last_words: Arc<Mutex<VecDeque<u8>>> = Arc::default();
        let heard = last_words.clone();
        let listen = move || {
            let mut bytes = [0; 4096];
            while let Ok(n @ 1..) = errors.read(&mut bytes) {
                let mut heard = locked(&heard);
                heard.extend(&bytes[..n]);
                let more = heard.len().saturating_sub(LAST_WORDS);
                heard.drain(..more);
            }
        };
        let watched = Watched { program, until: None, late: false, ended: false };
        let watched = Arc::new((Mutex::new(watched), Condvar::new()));
        let seen = watched.clone();
        let thread = |what: &str, run: Box<dyn FnOnce() + Send>| {
            let built = std::thread::Builder::new().name(what.into()).spawn(run);
            built.map(drop).map_err(|e| format!("cannot start a thread: {e}"))
        };
        thread("last words", Box::new(listen))?;
        thread("watch", Box::new(move || watch(&seen)))?;
        let talk = Self {
            name,
            timeout: shared.timeout,
            input: BufWriter::with_capacity(1 << 16, input),
            output: BufReader::with_capacity(1 << 16, output),
            watched,
            last_words,
            structure: None,
            cells: vec![None; CELLS],
            next: 0,
            proved: None,
        };
        talk.greet(shared, options)
    }

    /// Asks what it promises with these options. Errors: it ends.
    fn greet(mut self, shared: &Shared, options: &[(String, String)]) -> Result<(Self, Promises), String> {
        self.hurry(Some(self.timeout));
        let answered = protocol::hello(&mut self.input, options)
            .map_err(|e| Wrong::Ended(format!("does not listen: {e}")))
            .and_then(|()| protocol::answer(&mut self.output, "method"));
        self.hurry(None);
        match answered {
            Ok(words) => {
                let promises = protocol::promises(&words);
                match promises.and_then(|promises| shared.same(options, &words).map(|()| promises)) {
                    Ok(promises) => Ok((self, promises)),
                    Err(why) => Err(self.end(&why)),
                }
            }
            Err(Wrong::Said(words)) => Err(format!("`{}` says: {words}", self.name)),
            Err(Wrong::Ended(why)) => Err(self.end(&why)),
        }
    }

    /// The number by which it knows a cell.
    fn number(&self, task: &Arc<Task>) -> Option<u64> {
        let is_it = |known: &Option<(Arc<Task>, _)>| {
            known.as_ref().is_some_and(|(known, _)| Arc::ptr_eq(known, task))
        };
        self.cells.iter().position(is_it).map(|place| place as u64)
    }

    /// Tells it of a cell, if it does not know it.
    fn tell(&mut self, task: &Arc<Task>) -> Result<u64, Wrong> {
        if let Some(number) = self.number(task) {
            return Ok(number);
        }
        let deaf = |e: std::io::Error| Wrong::Ended(format!("does not listen: {e}"));
        self.hurry(Some(self.timeout));
        if self.structure.as_ref().is_none_or(|known| **known != *task.structure) {
            self.cells.fill(None);
            protocol::structure(&mut self.input, &task.structure).map_err(deaf)?;
            self.structure = Some(task.structure.clone());
        }
        let place = self.next;
        self.next = (place + 1) % CELLS;
        self.cells[place] = None;
        protocol::cell(&mut self.input, place as u64, task).map_err(deaf)?;
        let pays = protocol::ready(&protocol::answer(&mut self.output, "ready")?)?;
        self.cells[place] = Some((task.clone(), pays));
        Ok(place as u64)
    }

    /// Whether it has sent no more than it said: after the first releases of a cell it is asked what it promises, and
    /// that must be its next answer.
    fn nothing_more(&mut self, shared: &Shared, task: &Arc<Task>) -> Result<(), Wrong> {
        if self.proved.as_ref().is_some_and(|proved| Arc::ptr_eq(proved, task)) {
            return Ok(());
        }
        let more = |why| Wrong::Ended(format!("sent more than the counts of its releases, or {why}"));
        protocol::hello(&mut self.input, &task.options).map_err(|e| more(format!("does not listen: {e}")))?;
        match protocol::answer(&mut self.output, "method") {
            Ok(words) => {
                protocol::promises(&words)
                    .and_then(|_| shared.same(&task.options, &words))
                    .map_err(Wrong::Ended)?;
                self.proved = Some(task.clone());
                Ok(())
            }
            Err(Wrong::Said(words)) => Err(Wrong::Said(words)),
            Err(Wrong::Ended(why)) => Err(more(why)),
        }
    }

    fn forget(&mut self, task: &Arc<Task>) {
        if let Some(number) = self.number(task) {
            self.cells[number as usize] = None;
        }
    }

    /// From now on it has so long to answer. Returns whether it was too late before.
    fn hurry(&self, time: Option<Duration>) -> bool {
        let (watched, changed) = &*self.watched;
        let mut watched = locked(watched);
        watched.until = time.map(|time| Instant::now() + time);
        changed.notify_all();
        watched.late
    }

    /// Ends the program; says what happened, with its last words.
    fn end(self, why: &str) -> String {
        let late = locked(&self.watched.0).late;
        let why = match late {
            true if why == "ended" => format!("took more than {:?} for an answer", self.timeout),
            true => format!("took more than {:?} for an answer: {why}", self.timeout),
            false => why.to_owned(),
        };
        let (name, last_words) = (self.name.clone(), self.last_words.clone());
        drop(self);
        // What it wrote last may still be on its way.
        std::thread::sleep(Duration::from_millis(20));
        let bytes: Vec<u8> = locked(&last_words).iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let last = lines[lines.len().saturating_sub(3)..].join(" / ");
        let last = if last.is_empty() { String::new() } else { format!("; its last words: {last}") };
        format!("`{name}` {why}{last}")
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        let (watched, changed) = &*self.watched;
        let mut watched = locked(watched);
        watched.ended = true;
        watched.program.end();
        changed.notify_all();
    }
}

/// Ends a program that is late.
fn watch(watched: &(Mutex<Watched>, Condvar)) {
    let (watched, changed) = watched;
    let mut now = locked(watched);
    while !now.ended {
        let wait = match now.until {
            Some(until) if Instant::now() >= until => {
                now.late = true;
                now.until = None;
                now.program.kill();
                continue;
            }
            Some(until) => until.saturating_duration_since(Instant::now()),
            None => Duration::from_secs(3600),
        };
        now = changed.wait_timeout(now, wait).unwrap_or_else(PoisonError::into_inner).0;
    }
}
