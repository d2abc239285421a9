//! The one error type of the harness, and the exit codes.

use crate::page::{line, shown};
use miette::{Diagnostic, NamedSource, SourceSpan};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// What stops a command. Every message names the place, the value and what was wanted.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[non_exhaustive]
pub enum Failure {
    /// Something in a config file.
    #[error("{message}")]
    Config {
        /// What is wrong.
        message: String,
        /// The file (with `--set` values in it).
        #[source_code]
        source_code: std::sync::Arc<NamedSource<String>>,
        /// Where.
        #[label("{label}")]
        span: SourceSpan,
        /// What was wanted there.
        label: String,
    },
    /// Something in an argument, such as `--set`.
    #[error("{0}")]
    Usage(String),
    /// Something in a data file.
    #[error("{}: {message}", path.display())]
    Data {
        /// The file.
        path: PathBuf,
        /// What is wrong, with the line where it applies.
        message: String,
    },
    /// A file or folder that cannot be read or written.
    #[error("{}: {message}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was tried and what the system said.
        message: String,
    },
    /// A file that could not be written: a disk that is full, a folder that vanished.
    #[error("{}: cannot write: {message}", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        message: String,
    },
    /// What was asked for went through and came out wrong.
    #[error("{0}")]
    Wrong(String),
    /// A comparison found something.
    #[error("{0}")]
    Changed(String),
    /// A comparison found that cells are gone.
    #[error("{0}")]
    Lost(String),
    /// There is nothing to compare.
    #[error("{0}")]
    Nothing(String),
    /// Stored results that do not go together, or with this tool.
    #[error("{0}")]
    Incompatible(String),
    /// Whoever waited for it has stopped it.
    #[error("{0}")]
    Interrupted(String),
    /// The run went through, but its figures are not to be trusted, and `--strict` was asked for.
    #[error("{0}")]
    Strict(String),
    /// The run went through, but some cells failed.
    #[error("{failed} of {cells} cells failed; the first: {first}")]
    CellsFailed {
        /// The number of cells that failed.
        failed: usize,
        /// The number of all cells.
        cells: usize,
        /// The first error of a cell.
        first: String,
    },
}

impl Failure {
    /// 1 for what could not be written or came out wrong; 2 for usage, config, data and files; 3 for a change for the
    /// worse (or any, where none is wanted), 4 for nothing to compare, 5 when cells failed (or, with `--strict`, chains
    /// have not converged), 6 for incompatible results, 7 for cells that are gone, 130 for what was stopped.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Write { .. } | Self::Wrong(_) => 1,
            Self::Changed(_) => 3,
            Self::Nothing(_) => 4,
            Self::CellsFailed { .. } | Self::Strict(_) => 5,
            Self::Incompatible(_) => 6,
            Self::Lost(_) => 7,
            Self::Interrupted(_) => 130,
            _ => 2,
        }
    }

    /// The failure as a terminal may show it: without control characters, and with at most 200 characters of a value.
    pub fn for_people(self) -> Self {
        // Verdicts and usage may have several lines; what is wrong at a place has one.
        let text = |text: String| cut(&shown(&text));
        let one = |text: String| cut(&line(&text));
        let path = |path: PathBuf| PathBuf::from(cut(&line(&path.to_string_lossy())));
        match self {
            Self::Config { message, source_code, span, label } => {
                Self::Config { message: one(message), source_code, span, label: one(label) }
            }
            Self::Usage(message) => Self::Usage(text(message)),
            Self::Data { path: place, message } => Self::Data { path: path(place), message: one(message) },
            Self::Io { path: place, message } => Self::Io { path: path(place), message: one(message) },
            Self::Write { path: place, message } => Self::Write { path: path(place), message: one(message) },
            Self::Wrong(message) => Self::Wrong(text(message)),
            Self::Changed(message) => Self::Changed(text(message)),
            Self::Lost(message) => Self::Lost(text(message)),
            Self::Nothing(message) => Self::Nothing(text(message)),
            Self::Incompatible(message) => Self::Incompatible(text(message)),
            Self::Strict(message) => Self::Strict(text(message)),
            Self::Interrupted(message) => Self::Interrupted(text(message)),
            Self::CellsFailed { failed, cells, first } => {
                Self::CellsFailed { failed, cells, first: text(first) }
            }
        }
    }

    /// A file or folder that cannot be used.
    pub fn io(path: &Path, tried: &str, error: impl std::fmt::Display) -> Self {
        Self::Io { path: path.to_owned(), message: format!("{tried}: {error}") }
    }

    /// A file or folder that could not be created: the disk is full, or it is no place to write.
    pub fn create(path: &Path, error: std::io::Error) -> Self {
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Self::write(path, error),
            _ => Self::io(path, "cannot create", error),
        }
    }

    /// A file that could not be written.
    pub fn write(path: &Path, error: impl std::fmt::Display) -> Self {
        Self::Write { path: path.to_owned(), message: error.to_string() }
    }

    /// A data file with something wrong in it.
    pub fn data(path: &Path, message: impl Into<String>) -> Self {
        Self::Data { path: path.to_owned(), message: message.into() }
    }
}

/// Characters of a word, and of a list of words, that a message shows.
const LONGEST: (usize, usize) = (200, 4000);

/// A message with its long words cut, and what is behind so many characters left out.
fn cut(message: &str) -> String {
    let word = |word: &str| match word.char_indices().nth(LONGEST.0) {
        Some((end, _)) if word.len() > end + "…".len() => {
            // The last quote still closes what the first one opened.
            let closing = word.rfind('`').filter(|&last| last >= end).map_or("", |last| &word[last..]);
            let closing = if closing.len() > LONGEST.0 { "`" } else { closing };
            format!("{}…{closing}", &word[..end])
        }
        _ => word.to_owned(),
    };
    let words: Vec<String> = message.split(' ').map(word).collect();
    let message = words.join(" ");
    match message.char_indices().nth(LONGEST.1) {
        Some((end, _)) => {
            format!("{}… ({} characters more)", &message[..end], message[end..].chars().count())
        }
        None => message,
    }
}

/// Result of the harness.
pub type Result<T> = std::result::Result<T, Failure>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_short_and_harmless() {
        let message = |text: String| Failure::data(Path::new("a\x1b[31m.csv"), text).for_people().to_string();
        assert_eq!(message("got `b`, want c".into()), "a\\u{1b}[31m.csv: got `b`, want c");
        assert_eq!(message("got `b\nc\rd`".into()), "a\\u{1b}[31m.csv: got `b\\u{a}c\\u{d}d`");
        let long = message(format!("line 2: `count` = `{}`, want an integer", "9".repeat(1_000_000)));
        assert_eq!(
            long,
            format!("a\\u{{1b}}[31m.csv: line 2: `count` = `{}…`, want an integer", "9".repeat(199))
        );
        let many = message(format!("no column `x`; the file has {}", vec!["name"; 200_000].join(", ")));
        assert!(many.len() < 4100 && many.ends_with("characters more)"), "{many}");
    }
}
