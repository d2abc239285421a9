//! Methods of one's own in a config: `{ kind = "external", command = [...], … }`, or by the name under which the caller registered one.

use super::checker::Checker;
use super::nearest::one_of;
use super::wire::{Axis, WireMethod};
use crate::catalogue::{Given, Method};
use crate::failure::Result;
use crate::hash::hex;
use crate::own::process::Program;
use crate::own::{self, Own, OwnMethod};
use sha2::{Digest, Sha256};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use toml::Spanned;
use toml_edit::{Array, Value};

/// Its name in configs.
pub(super) const EXTERNAL: &str = "external";
/// Seconds of an answer, if the config does not say.
const TIMEOUT: f64 = 60.0;
/// Keys that are no options of the method.
const KEYS: [&str; 5] = ["command", "name", "depends", "timeout", "folder"];

impl Checker<'_> {
    /// One method for each combination of its options, the first changing slowest. Errors: neither a command nor a name; files that cannot be read; values
    /// that no line of the protocol holds.
    pub(super) fn external(&self, wire: &WireMethod, span: Range<usize>) -> Result<Vec<Method>> {
        let find = |key: &str| wire.options.iter().find(|(given, _)| given == key).map(|(_, axis)| axis);
        let texts = |key: &str| find(key).map(|axis| self.texts(key, axis)).transpose();
        let one = |key: &str| -> Result<Option<String>> {
            match texts(key)? {
                None => Ok(None),
                Some(mut texts) if texts.len() == 1 => Ok(texts.pop()),
                Some(_) => {
                    let span = find(key).map_or(span.clone(), Spanned::span);
                    Err(self.error(format!("{key}: got a list"), span, "want one text"))
                }
            }
        };
        let (command, name, depends) =
            (texts("command")?, one("name")?, texts("depends")?.unwrap_or_default());
        let beside = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let beside = beside.unwrap_or(Path::new("."));
        let folder = beside.join(one("folder")?.unwrap_or_default());
        let folder = std::path::absolute(&folder).unwrap_or(folder);
        let timeout = match find("timeout") {
            None => TIMEOUT,
            Some(axis) => match &axis.get_ref().0[..] {
                [Given::Integer(n)] if *n > 0 => *n as f64,
                [Given::Number(x)] if *x > 0.0 && *x < 1e9 => *x,
                _ => {
                    let label = "want one number of seconds > 0";
                    return Err(self.error("timeout: got no such number", axis.span(), label));
                }
            },
        };
        let axes = wire.options.iter().filter(|(key, _)| !KEYS.contains(&key.as_str()));
        let axes: Vec<(&str, Vec<String>)> = axes
            .map(|(key, axis)| {
                self.not_empty(key, axis)?;
                let values = axis.get_ref().0.iter().map(|given| self.word(key, given, axis.span()));
                Ok((key.as_str(), values.collect::<Result<_>>()?))
            })
            .collect::<Result<_>>()?;
        let lengths: Vec<_> = axes.iter().map(|(key, values)| (*key, values.len(), span.clone())).collect();
        let combinations = self.product(0, &lengths)?;
        let (name, identity, kind, own) = match (command, name) {
            (Some(command), name) if !command.is_empty() => {
                let mut hash = Sha256::new();
                hash.update(command.join("\0"));
                for file in &depends {
                    let span = find("depends").map_or(span.clone(), Spanned::span);
                    let content = std::fs::read(folder.join(file)).map_err(|e| {
                        self.error(
                            format!("depends: cannot read `{file}`: {e}"),
                            span,
                            "want a file, relative to the folder",
                        )
                    })?;
                    hash.update((content.len() as u64).to_le_bytes());
                    hash.update(content);
                }
                let stem = command.iter().rev().find(|word| !word.starts_with('-'));
                let stem = stem.and_then(|word| Path::new(word).file_stem()).unwrap_or_default();
                let name = name.unwrap_or_else(|| stem.to_string_lossy().into_owned());
                let own = program(&command, &folder, timeout);
                (name, hex(hash.finalize())[..8].to_owned(), Some(command), own)
            }
            (None, Some(name)) => {
                let own = own::registered(&name).map_err(|names| {
                    let names: Vec<&str> = names.iter().map(String::as_str).collect();
                    let label = match names.is_empty() {
                        true => "want `command`: this program has no methods of its own".into(),
                        false => one_of(&name, &names),
                    };
                    self.error(format!("name: got `{name}`"), span.clone(), label)
                })?;
                (name, own.identity(), None, own)
            }
            _ => {
                let label = "want `command`, a list of a program and its arguments, or the `name` of a registered method";
                return Err(self.error("method: an external one without a command", span, label));
            }
        };
        self.word("name", &Given::Text(name.clone()), span.clone())?;
        let method = |mut number: usize| {
            let mut options: Vec<(String, String)> = Vec::new();
            for (key, values) in axes.iter().rev() {
                options.push(((*key).to_owned(), values[number % values.len()].clone()));
                number /= values.len();
            }
            options.reverse();
            let config = config(&name, kind.as_deref(), &depends, timeout, &folder, &options);
            Method::External { own: Some(Own::new(&name, &identity, config, options, own.clone())) }
        };
        Ok((0..combinations).map(method).collect())
    }

    /// Texts of a key.
    fn texts(&self, key: &str, axis: &Spanned<Axis<Given>>) -> Result<Vec<String>> {
        let text = |given: &Given| match given {
            Given::Text(text) => Ok(text.clone()),
            other => Err(self.error(format!("{key}: got {other}"), axis.span(), "want texts")),
        };
        axis.get_ref().0.iter().map(text).collect()
    }

    /// A value as it stands in a line of the protocol and in keys.
    fn word(&self, key: &str, given: &Given, span: Range<usize>) -> Result<String> {
        let word = match given {
            Given::Text(text) => text.clone(),
            Given::Number(x) => format!("{x:?}"),
            other => other.to_string(),
        };
        let plain = |c: char| !c.is_whitespace() && !c.is_control() && !",=\"\\".contains(c);
        if word.is_empty() || !word.chars().all(plain) {
            let label = "want a value without blanks, commas, quotes, backslashes and =";
            return Err(self.error(format!("{key}: got `{word}`"), span, label));
        }
        Ok(word)
    }
}

/// Programs of one command, of all options together: one for every thread.
fn program(command: &[String], folder: &Path, timeout: f64) -> Arc<dyn OwnMethod> {
    use std::collections::HashMap;
    use std::sync::{Mutex, PoisonError};
    type Key = (Vec<String>, PathBuf, u64);
    static PROGRAMS: Mutex<Option<HashMap<Key, Arc<Program>>>> = Mutex::new(None);
    let mut programs = PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (command.to_vec(), folder.to_owned(), timeout.to_bits());
    let new =
        || Arc::new(Program::new(command.to_vec(), folder.to_owned(), Duration::from_secs_f64(timeout)));
    programs.get_or_insert_default().entry(key).or_insert_with(new).clone()
}

/// The method as it stands in a config, whatever folder that is in.
fn config(
    name: &str,
    command: Option<&[String]>,
    depends: &[String],
    timeout: f64,
    folder: &Path,
    options: &[(String, String)],
) -> String {
    let list = |texts: &[String]| Value::from(texts.iter().map(String::as_str).collect::<Array>());
    let mut parts = vec![("name".to_owned(), Value::from(name))];
    if let Some(command) = command {
        parts.push(("command".into(), list(command)));
        parts.push(("folder".into(), Value::from(folder.display().to_string())));
        parts.push(("timeout".into(), Value::from(timeout)));
        if !depends.is_empty() {
            parts.push(("depends".into(), list(depends)));
        }
    }
    for (key, word) in options {
        let number = word.parse::<i64>().map(Value::from);
        let number = number.or_else(|_| word.parse::<f64>().map(Value::from));
        let value = number.or_else(|_| word.parse::<bool>().map(Value::from));
        parts.push((key.clone(), value.unwrap_or_else(|_| Value::from(word.as_str()))));
    }
    parts
        .iter()
        .map(|(key, value)| format!("{key} = {}", value.to_string().trim()))
        .collect::<Vec<_>>()
        .join(", ")
}
