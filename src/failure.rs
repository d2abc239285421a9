//! The one error type of the harness, and the exit codes.

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
    /// There is nothing to compare.
    #[error("{0}")]
    Nothing(String),
    /// Stored results that do not go together, or with this tool.
    #[error("{0}")]
    Incompatible(String),
    /// The run went through, but its figures are not to be trusted, and `--strict` was asked for.
    #[error("{0}")]
    Strict(String),
    /// The run went through, but some cells failed.
    #[error("{failed} of {cells} cells failed; the first: {first}")]
    CellsFailed {
        /// How many.
        failed: usize,
        /// Of how many.
        cells: usize,
        /// The first error.
        first: String,
    },
}

impl Failure {
    /// 1 for what could not be written or came out wrong; 2 for usage, config, data and files; 3 for a change for the worse
    /// (or any, where none is wanted), 4 for nothing to compare, 5 when cells failed (or, with `--strict`, chains have not converged), 6 for incompatible results.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Write { .. } | Self::Wrong(_) => 1,
            Self::Changed(_) => 3,
            Self::Nothing(_) => 4,
            Self::CellsFailed { .. } | Self::Strict(_) => 5,
            Self::Incompatible(_) => 6,
            _ => 2,
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

/// Result of the harness.
pub type Result<T> = std::result::Result<T, Failure>;
