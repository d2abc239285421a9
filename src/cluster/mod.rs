//! Scripts and manifests that draw the shards of a run on a cluster, and merge them when all have come to their end.

mod kubernetes;
mod parallel;
mod slurm;

pub use kubernetes::{Pods, kubernetes};
pub use parallel::parallel;
pub use slurm::slurm;

use crate::engine::Task;
use crate::failure::{Failure, Result};
use crate::page::counted;
use std::ffi::OsStr;

/// What a cluster is to do.
#[derive(Debug)]
pub struct Job {
    /// Name of the run.
    pub name: String,
    /// Hash of its config.
    pub config_hash: String,
    /// The program, as the machines of the cluster find it.
    pub program: Word,
    /// The resolved config, frozen in the folder of the run.
    pub config: Word,
    /// Folder of the run, absolute.
    pub out: Word,
    /// The tasks.
    pub tasks: Vec<Task>,
    /// Threads of each task.
    pub threads: u16,
    /// Memory of each task, in MiB, if it is to be asked for.
    pub memory: Option<u64>,
}

impl Job {
    /// Seconds of the shortest and the longest task.
    pub fn seconds(&self) -> (f64, f64) {
        let seconds = self.tasks.iter().map(|task| task.seconds);
        (seconds.clone().fold(f64::INFINITY, f64::min), seconds.fold(0.0, f64::max))
    }

    /// What to allow for a task, in minutes: three times the longest, for slower machines and for what the measurement could
    /// not know, and ten more.
    fn minutes(&self) -> u64 {
        (self.seconds().1 * 3.0 / 60.0).ceil() as u64 + 10
    }

    /// The job in words, for the head of a script.
    fn words(&self) -> String {
        let (least, most) = self.seconds();
        let tasks = self.tasks.len();
        format!(
            "{} ({}): {} of {}, {} by what its cells took where this was written, then the merge.",
            self.name,
            self.config_hash,
            counted(tasks as f64, "task"),
            counted(f64::from(self.threads), "thread"),
            if tasks == 1 { minutes(most) } else { format!("{} to {} each", minutes(least), minutes(most)) },
        )
    }

    /// The arguments of a task, but for its shard.
    fn draw(&self) -> [String; 6] {
        let [config, out] = [&self.config, &self.out].map(|word| word.0.clone());
        ["run".into(), config, "--out".into(), out, "--threads".into(), self.threads.to_string()]
    }

    /// The arguments of the merge.
    fn merge(&self) -> [String; 6] {
        let [_, config, out, folder, threads, used] = self.draw();
        ["merge".into(), config, out, folder, threads, used]
    }

    /// A command line for a shell.
    fn line(&self, arguments: &[String]) -> String {
        self.line_by(quote, arguments)
    }

    /// A command line with words that `quote` quotes.
    fn line_by(&self, quote: impl Fn(&str) -> String, arguments: &[String]) -> String {
        let words = std::iter::once(&self.program.0).chain(arguments);
        words.map(|word| quote(word)).collect::<Vec<_>>().join(" ")
    }

    /// What a script says and does where the run is complete: its frozen config has moved with it.
    fn unless_complete(&self) -> String {
        let manifest = quote(&format!("{}/manifest.json", self.out.0));
        format!("[ ! -e {manifest} ] || {{ echo 'the run is complete'; exit 0; }}")
    }

    /// The folder of the tasks' logs, beside that of the run.
    fn logs(&self) -> String {
        format!("{}.logs", self.out.0)
    }
}

/// A word of a script: text without control characters, so that it stays within its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word(String);

impl Word {
    /// `what`: the argument that it comes from. Refused: what is no text, is empty or has control characters.
    pub fn new(what: &str, word: &OsStr) -> Result<Self> {
        let refused = |why: &str| {
            let shown: String = word.to_string_lossy().escape_debug().take(200).collect();
            Err(Failure::Usage(format!(
                "{what}: got `{shown}`, want a name without {why}: a script could not hold it"
            )))
        };
        match word.to_str() {
            None => refused("bytes that are not UTF-8"),
            Some(text) if text.chars().any(char::is_control) => {
                refused("newlines and other control characters")
            }
            Some("") => Err(Failure::Usage(format!("{what}: got nothing, want a name"))),
            Some(text) => Ok(Self(text.to_owned())),
        }
    }
}

/// A word for a shell.
fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Seconds in words.
fn minutes(seconds: f64) -> String {
    if seconds < 90.0 { format!("{seconds:.0} s") } else { format!("{:.0} min", seconds / 60.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_shell_are_quoted() {
        assert_eq!(quote("/a/b-c_1.toml"), "/a/b-c_1.toml");
        assert_eq!(quote("a b"), "'a b'");
        assert_eq!(quote("$(rm)'"), r"'$(rm)'\'''");
        assert_eq!(quote(""), "''");
    }

    #[test]
    fn words_of_scripts_stay_in_their_line() {
        use std::os::unix::ffi::OsStrExt;
        assert_eq!(Word::new("--out", OsStr::new("a b{#}@é$'")).unwrap().0, "a b{#}@é$'");
        for (word, wanted) in [
            (
                &b"a\nTASK\n"[..],
                "--out: got `a\\nTASK\\n`, want a name without newlines and other control characters",
            ),
            (b"a\x1b[0m", "--out: got `a\\u{1b}[0m`, want a name without newlines"),
            (b"a\xff", "want a name without bytes that are not UTF-8"),
            (b"", "--out: got nothing"),
        ] {
            let refused = Word::new("--out", OsStr::from_bytes(word)).unwrap_err().to_string();
            assert!(refused.contains(wanted), "{refused}");
        }
    }
}
