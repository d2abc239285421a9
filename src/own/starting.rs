//! The start of programs: through this program's hidden verb, so that they end when this process ends, and beside a
//! guard, which ends what they have started ([`super::ending`]).

use super::ending::{self, Started, locked};
use std::ffi::OsString;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, OnceLock};

/// The program that starts others, with its first arguments: started through it, they end with this process.
static SUPERVISOR: OnceLock<Vec<OsString>> = OnceLock::new();
/// The hidden verb of that program.
pub const VERB: &str = "own-method";

/// From now on programs are started through this one's hidden verb, and end when it ends, however it does.
pub fn supervise() {
    if let Ok(program) = std::env::current_exe() {
        supervise_by(vec![program.into()]);
    }
}

/// From now on programs are started through a program with its first arguments, which has our hidden verb. The first
/// that is set stays.
pub fn supervise_by(program: Vec<OsString>) {
    if cfg!(target_os = "linux") && !program.is_empty() {
        let _ = SUPERVISOR.set(program);
    }
}

type Spawned = std::io::Result<Started>;

/// Starts a program with its arguments in a folder. It would end with the thread that started it: that is one which does not end.
pub(super) fn start(program: &[String], folder: &Path) -> Spawned {
    type Wanted = (Command, Sender<Spawned>);
    // With the process of its thread, which one that was forked does not have.
    static SPAWNER: Mutex<Option<(u32, Sender<Wanted>)>> = Mutex::new(None);
    let begin = || -> std::io::Result<_> {
        let guard = guarded()?;
        let (sender, commands) = channel::<Wanted>();
        let run = move || {
            // As long as this process: the guard waits for the end of its standard input.
            let _guard = guard;
            for (command, answer) in commands {
                let _ = answer.send(Started::new(command));
            }
        };
        std::thread::Builder::new().name("programs".into()).spawn(run)?;
        Ok((std::process::id(), sender))
    };
    let mut command = match ours() {
        Some(mut command) => {
            command.args(["--parent", &std::process::id().to_string(), "--"]).args(program);
            command
        }
        None => {
            let mut command = Command::new(&program[0]);
            command.args(&program[1..]);
            command
        }
    };
    command.current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let (sender, answer) = channel();
    let gone = || std::io::Error::other("the thread that starts programs has ended");
    let mut spawner = locked(&SPAWNER);
    if spawner.as_ref().is_none_or(|(process, _)| *process != std::process::id()) {
        *spawner = Some(begin()?);
    }
    let sent = spawner.as_ref().is_some_and(|(_, spawner)| spawner.send((command, sender)).is_ok());
    drop(spawner);
    sent.then_some(()).ok_or_else(gone)?;
    answer.recv().map_err(|_| gone())?
}

/// Our hidden verb, without its arguments; nothing where we do not supervise.
fn ours() -> Option<Command> {
    let program = SUPERVISOR.get()?;
    let mut command = Command::new(&program[0]);
    command.args(&program[1..]).arg(VERB);
    Some(command)
}

/// The guard of what this process starts, with the pipe that it waits at; in a group of its own, which signals to ours do not reach.
fn guarded() -> std::io::Result<Option<Child>> {
    use std::os::unix::process::CommandExt;
    let Some(mut command) = ours() else { return Ok(None) };
    command.args(["--guard", &ending::mark()]).process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().map(Some)
}

/// What the hidden verb does: it asks to end with its parent, the process of this number, and becomes the program.
/// Returns only if that fails, with why.
pub fn become_program(command: &[String], parent: u32) -> String {
    use std::os::unix::process::CommandExt;
    let Some((program, arguments)) = command.split_first() else { return "no command".into() };
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
        if let Err(e) = set_parent_process_death_signal(Some(Signal::KILL)) {
            return format!("cannot ask to end with its parent: {e}");
        }
        // It may have ended before that.
        if getppid().map(Pid::as_raw_pid) != i32::try_from(parent).ok() {
            return "its parent has ended".into();
        }
    }
    format!("{program}: {}", Command::new(program).args(arguments).exec())
}
