//! Checks of the method axis, by the catalogue.

use super::checker::Checker;
use super::nearest::{meant, one_of};
use super::wire::{Axis, WireMethod};
use crate::catalogue::{Given, Method, MethodKind, OptionFacts, Value};
use crate::failure::Result;
use crate::own::EXTERNAL;
use std::ops::Range;
use toml::Spanned;

impl Checker<'_> {
    /// The method of a name. Errors: there is none.
    pub(super) fn method_kind(&self, name: &str, span: Range<usize>) -> Result<MethodKind> {
        MethodKind::named(name).ok_or_else(|| {
            let names: Vec<&str> = MethodKind::ALL.iter().map(|kind| kind.name()).chain([EXTERNAL]).collect();
            self.error(format!("method: got `{name}`"), span, one_of(name, &names))
        })
    }

    /// One method for each combination of its options, the first changing slowest. `lengths`: whether the length of a chain is an
    /// option.
    pub(super) fn method<'a>(
        &self,
        wire: &'a WireMethod,
        span: Range<usize>,
        lengths: bool,
    ) -> Result<Vec<Method>> {
        if wire.kind == EXTERNAL {
            return self.external(wire, wire.place.clone().unwrap_or(span));
        }
        let kind = self.method_kind(&wire.kind, wire.place.clone().unwrap_or(span))?;
        let options = kind.facts().options;
        for (i, (key, axis)) in wire.options.iter().enumerate() {
            let Some(option) = options.iter().find(|option| option.key == key) else {
                let message = format!("{key}: not an option of `{}`", kind.name());
                let keys: Vec<&str> = options.iter().map(|option| option.key).collect();
                let label = match &keys[..] {
                    [] => "want it left out".to_owned(),
                    _ => format!("its options: {}{}", keys.join(", "), meant(key, &keys)),
                };
                return Err(self.error(message, axis.span(), label));
            };
            if option.length && !lengths {
                let label = "coupled chains run until they meet, or to `max-steps`";
                return Err(self.error(format!("{key}: not used"), axis.span(), label));
            }
            if wire.options[..i].iter().any(|(other, _)| other == key) {
                return Err(self.error(format!("{key}: got it twice"), axis.span(), "want it once"));
            }
        }
        let axis = |option: &OptionFacts| wire.options.iter().find(|(key, _)| key == option.key);
        let length =
            |(key, axis): &'a (String, Spanned<Axis<Given>>)| (&**key, axis.get_ref().0.len(), axis.span());
        let given: Vec<_> = options.iter().filter_map(|option| axis(option)).map(length).collect();
        let combinations = self.product(0, &given)?;
        let values = |option: &&'static OptionFacts| match axis(option) {
            None => Ok(vec![option.default().filter(|_| lengths || !option.length)]),
            Some((key, axis)) => self.axis(key, axis, |value, span| {
                let refused = || self.error(format!("{key}: got {value}"), span, option.wanted());
                option.fits(value).map(Some).ok_or_else(refused)
            }),
        };
        let axes = options.iter().map(values).collect::<Result<Vec<_>>>()?;
        Ok((0..combinations).map(|i| nth(kind, options, &axes, i)).collect())
    }
}

/// The method of one combination of its axes, by number.
fn nth(kind: MethodKind, options: &[&OptionFacts], axes: &[Vec<Option<Value>>], mut number: usize) -> Method {
    let mut chosen = Vec::new();
    for (option, axis) in options.iter().zip(axes).rev() {
        chosen.push((option.key, axis[number % axis.len()]));
        number /= axis.len();
    }
    kind.with(|option| chosen.iter().find(|(key, _)| *key == option.key).and_then(|(_, value)| *value))
}
