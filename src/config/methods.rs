//! Checks of the method axis, by the catalogue.

use super::checker::Checker;
use super::nearest::{meant, one_of};
use super::wire::{Axis, WireMethod};
use crate::catalogue::{Given, Kind, Method, MethodKind, OptionFacts, Value};
use crate::failure::Result;
use crate::own::EXTERNAL;
use std::borrow::Cow;
use std::ops::Range;

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
        let kind = self.method_kind(&wire.kind, wire.place.clone().unwrap_or(span.clone()))?;
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
                let label = "chains have no length here: coupled ones run until they meet, or to `max-steps`";
                return Err(self.error(format!("{key}: not used"), axis.span(), label));
            }
            if wire.options[..i].iter().any(|(other, _)| other == key) {
                return Err(self.error(format!("{key}: got it twice"), axis.span(), "want it once"));
            }
        }
        let axis = |option: &OptionFacts| {
            let (key, axis) = wire.options.iter().find(|(key, _)| key == option.key)?;
            Some((&**key, values_of(option, axis.get_ref()), axis.span()))
        };
        let length = |(key, axis, span): (&'a str, Cow<'a, Axis<Given>>, _)| (key, axis.0.len(), span);
        let given: Vec<_> = options.iter().filter_map(|option| axis(option)).map(length).collect();
        let combinations = self.product(0, &given)?;
        let values = |option: &&'static OptionFacts| match axis(option) {
            None => Ok(vec![option.default().filter(|_| lengths || !option.length)]),
            Some((key, axis, span)) => self.values(key, (&axis, span), |value, span| {
                let refused = || self.error(format!("{key}: got {value}"), span, option.wanted());
                option.fits(value).map(Some).ok_or_else(refused)
            }),
        };
        let axes = options.iter().map(values).collect::<Result<Vec<_>>>()?;
        let methods: Vec<Method> = (0..combinations).map(|i| nth(kind, options, &axes, i)).collect();
        let refused = |e: crate::Error| {
            let span = wire.place.clone().unwrap_or(span.clone());
            self.error(format!("method: `{}`: {e}", kind.name()), span, "want options that go together")
        };
        methods.iter().try_for_each(Method::takes).map_err(refused)?;
        Ok(methods)
    }
}

/// The values of an option on its axis. Of an option that takes entries a list of numbers is one value.
fn values_of<'a>(option: &OptionFacts, axis: &'a Axis<Given>) -> Cow<'a, Axis<Given>> {
    let number = |value: &Given| if let Given::Integer(n) = value { Some(*n) } else { None };
    match (option.kind, axis.0.iter().map(number).collect::<Option<Vec<i64>>>()) {
        (Kind::NameOrEntries(_), Some(numbers)) if !numbers.is_empty() => {
            Cow::Owned(Axis(vec![Given::Entries(numbers)]))
        }
        _ => Cow::Borrowed(axis),
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
