//! A folder of its own for the command, and what it says.
#![allow(dead_code)]

use assert_cmd::Command;
use std::path::PathBuf;
use tempfile::TempDir;

pub struct Place {
    dir: TempDir,
}

impl Place {
    pub fn new(files: &[(&str, &str)]) -> Self {
        let place = Self { dir: TempDir::new().unwrap() };
        files.iter().for_each(|(name, text)| place.write(name, text));
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_congenial"));
        command.current_dir(self.dir.path()).args(arguments);
        command
    }

    /// What the command prints; it succeeds.
    pub fn prints(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// The command fails with code 2 and a message that holds all of `wanted`.
    pub fn refuses(&self, arguments: &[&str], wanted: &[&str]) {
        let output = self.command(arguments).output().unwrap();
        // Long messages are wrapped behind a bar.
        let message = String::from_utf8_lossy(&output.stderr).replace("\n  │ ", " ");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
        for text in wanted {
            assert!(message.contains(text), "{arguments:?}: no `{text}` in:\n{message}");
        }
        assert!(output.stdout.is_empty());
    }
}
