//! Methods of one's own that an `[[exclude]]` leaves out.

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
