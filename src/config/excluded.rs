//! Methods that an `[[exclude]]` leaves out.

use crate::catalogue::Method;
use crate::own::{EXTERNAL, Own};

/// Methods of one's own that are left out: what must agree.
#[derive(Debug, Clone, PartialEq)]
pub struct ExcludedOwn {
    /// The name, if that is given.
    pub(super) name: Option<String>,
    /// Options, each with the values of which one must be the method's.
    pub(super) options: Vec<(String, Vec<String>)>,
}

impl ExcludedOwn {
    /// Whether a method is among them.
    pub(super) fn has(&self, own: Own) -> bool {
        let value =
            |key: &str| own.options().iter().find(|(option, _)| option == key).map(|(_, value)| value);
        let (name, _) = Own::named(own.words());
        self.name.as_ref().is_none_or(|wanted| wanted == name)
            && self.options.iter().all(|(key, values)| value(key).is_some_and(|value| values.contains(value)))
    }

    /// In words.
    pub(super) fn words(&self) -> String {
        let options = self.options.iter().map(|(key, values)| format!(" {key}={}", values.join("|")));
        format!("{}{}", self.name.as_deref().unwrap_or(EXTERNAL), options.collect::<String>())
    }
}

/// Methods of which cells are left out.
#[derive(Debug, Clone, PartialEq)]
pub enum ExcludedMethod {
    /// One of ours.
    Ours {
        /// With options.
        method: Method,
        /// The keys of those that must agree.
        options: Vec<String>,
    },
    /// Some that are not ours.
    Own(ExcludedOwn),
}

impl ExcludedMethod {
    /// Whether a method is it.
    pub fn has(&self, method: &Method) -> bool {
        match self {
            Self::Ours { method: excluded, options } => {
                let value = |method: &Method, key: &str| {
                    method.values().into_iter().find(|(option, _)| option.key == key).map(|(_, value)| value)
                };
                method.kind() == excluded.kind()
                    && options.iter().all(|key| value(method, key) == value(excluded, key))
            }
            Self::Own(excluded) => method.own().is_some_and(|own| excluded.has(own)),
        }
    }

    /// In words.
    pub fn words(&self) -> String {
        match self {
            Self::Ours { method, options } if options.is_empty() => method.name().to_owned(),
            Self::Ours { method, .. } => method.words(),
            Self::Own(excluded) => excluded.words(),
        }
    }
}
