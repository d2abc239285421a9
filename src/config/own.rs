//! Methods of one's own in a config: `{ kind = "external", command = [...], … }`, or by the name under which the caller registered one.

use super::checker::Checker;
use super::excluded::ExcludedOwn;
use super::nearest::one_of;
use super::wire::{Axis, WireMethod};
use crate::catalogue::{Given, Method};
use crate::failure::Result;
use crate::files;
use crate::hash::hex;
use crate::own::process::Program;
use crate::own::{self, EXTERNAL, Own, OwnMethod};
use sha2::{Digest, Sha256};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use toml::Spanned;
use toml_edit::{Array, Value};

/// Seconds of an answer, if the config does not say.
const TIMEOUT: f64 = 60.0;
/// Keys that are no options of the method.
const KEYS: [&str; 5] = ["command", "name", "depends", "timeout", "folder"];
/// What the protocol or results call something else.
const RESERVED: [&str; 5] = ["kind", "law", "epsilon", "variances", "files"];

impl Checker<'_> {
    /// Methods of one's own that an `[[exclude]]` leaves out: by `name`, which may be that of the last argument of
    /// `command`, and by options; all of them, if it says nothing of them.
    pub(super) fn excluded_own(&self, wire: &WireMethod) -> Result<ExcludedOwn> {
        let mut excluded = ExcludedOwn { name: None, options: Vec::new() };
        for (key, axis) in &wire.options {
            match key.as_str() {
                "name" => excluded.name = self.texts(key, axis)?.pop(),
                "command" => {
                    let command = self.texts(key, axis)?;
                    excluded.name = excluded.name.or_else(|| Some(name_of(&command)));
                }
                key if KEYS.contains(&key) => {}
                key => {
                    let word = |given: &Given, span| self.word(key, given, span);
                    excluded.options.push((key.to_owned(), self.axis(key, axis, word)?));
                }
            }
        }
        Ok(excluded)
    }

    /// One method for each combination of its options, the first changing slowest. Errors: neither a command nor a
    /// name; files that cannot be read; values that no line of the protocol holds.
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
        let timeout = find("timeout").map_or(Ok(TIMEOUT), |axis| self.timeout(axis))?;
        let axes = wire.options.iter().filter(|(key, _)| !KEYS.contains(&key.as_str()));
        let axes: Vec<(&str, Vec<String>)> =
            axes.map(|(key, axis)| self.option(key, axis)).collect::<Result<_>>()?;
        let lengths: Vec<_> = axes.iter().map(|(key, values)| (*key, values.len(), span.clone())).collect();
        let combinations = self.product(0, &lengths)?;
        let (name, identity, kind, own) = match (command, name) {
            (Some(command), name) if !command.is_empty() => {
                let span = find("depends").map_or(span.clone(), Spanned::span);
                let identity = self.identity(&command, &folder, &depends, span)?;
                let name = name.unwrap_or_else(|| name_of(&command));
                let own = Program::of(&command, &folder, Duration::from_secs_f64(timeout), &identity);
                (name, identity, Some(command), own as Arc<dyn OwnMethod>)
            }
            (None, Some(name)) => {
                let own = self.registered(&name, span.clone())?;
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
            Method::of_own(Own::new(&name, &identity, config, options, own.clone()))
        };
        Ok((0..combinations).map(method).collect())
    }

    /// Seconds of an answer. Refused: anything but one number above 0; one with a decimal point from 10^9 on.
    fn timeout(&self, axis: &Spanned<Axis<Given>>) -> Result<f64> {
        match &axis.get_ref().0[..] {
            [Given::Integer(n)] if *n > 0 => Ok(*n as f64),
            [Given::Number(x)] if *x > 0.0 && *x < 1e9 => Ok(*x),
            _ => {
                let label = "want one number of seconds > 0";
                Err(self.error("timeout: got no such number", axis.span(), label))
            }
        }
    }

    /// An option of the method with its values, as words. Refused: a key that no line of the protocol holds, or that
    /// means something else there or in results; such a value.
    fn option<'a>(&self, key: &'a str, axis: &Spanned<Axis<Given>>) -> Result<(&'a str, Vec<String>)> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if key.is_empty() || !key.chars().all(plain) || RESERVED.contains(&key) {
            let label = format!("want letters, digits, - and _, and none of {}", RESERVED.join(", "));
            return Err(self.error(format!("option: got `{key}`"), axis.span(), label));
        }
        let word = |given: &Given, span| self.word(key, given, span);
        Ok((key, self.axis(key, axis, word)?))
    }

    /// What tells a program from others: a hash of its command and of the files on which it depends, in 8 hexadecimal
    /// digits. `span`: where the config names those files. Errors: one that cannot be read.
    fn identity(
        &self,
        command: &[String],
        folder: &Path,
        depends: &[String],
        span: Range<usize>,
    ) -> Result<String> {
        let mut hash = Sha256::new();
        hash.update(command.join("\0"));
        for file in depends {
            let content = files::bytes(&folder.join(file), "cannot read").map_err(|e| {
                self.error(format!("depends: {e}"), span.clone(), "want a file, relative to the folder")
            })?;
            hash.update((content.len() as u64).to_le_bytes());
            hash.update(content);
        }
        Ok(hex(hash.finalize())[..8].to_owned())
    }

    /// The method that the caller registered under a name. Refused: a name under which there is none.
    fn registered(&self, name: &str, span: Range<usize>) -> Result<Arc<dyn OwnMethod>> {
        own::registered(name).map_err(|names| {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let label = match names.is_empty() {
                true => "want `command`: this program has no methods of its own".into(),
                false => one_of(name, &names),
            };
            self.error(format!("name: got `{name}`"), span, label)
        })
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

/// The name of a method that has none: that of the file of the last argument that is no flag.
fn name_of(command: &[String]) -> String {
    let last = command.iter().rev().find(|word| !word.starts_with('-'));
    let stem = last.and_then(|word| Path::new(word).file_stem()).unwrap_or_default();
    // Of a script in the arguments it may be anything.
    let plain = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    match stem.to_string_lossy().chars().map(plain).take(40).collect::<String>() {
        empty if empty.is_empty() => EXTERNAL.to_owned(),
        name => name,
    }
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
        // A number or a truth value where that is written as the word.
        let number = word.parse::<i64>().ok().filter(|n| n.to_string() == *word).map(Value::from);
        let number =
            number.or_else(|| word.parse().ok().filter(|x: &f64| format!("{x:?}") == *word).map(Value::from));
        let value = number.or_else(|| word.parse::<bool>().ok().map(Value::from));
        parts.push((key.clone(), value.unwrap_or_else(|| Value::from(word.as_str()))));
    }
    parts
        .iter()
        .map(|(key, value)| format!("{key} = {}", value.to_string().trim()))
        .collect::<Vec<_>>()
        .join(", ")
}
