//! What values of axes have in common.

use super::super::excluded::ExcludedMethod;
use super::super::split::SplitSpec;
use crate::catalogue::{LawKind, Method};
use crate::privacy::Amount;
use serde_json::Value as Json;

/// A value of an axis, or of an `[[exclude]]` block.
pub trait Valued {
    /// In words.
    fn words(&self) -> String;
    /// A number that equal values share, by which `[[exclude]]` blocks are found; `None` of types without one.
    fn number(&self) -> Option<u64> {
        None
    }
    /// For programs: numbers as numbers, everything else in words.
    fn json(&self) -> Json {
        self.words().into()
    }
}

/// The bits of a number; equal ones have the same.
fn bits(x: f64) -> Option<u64> {
    Some((x + 0.0).to_bits())
}

/// Words; a number, and what it is for programs, if there is one.
macro_rules! values {
    ($($type:ty: $value:ident => $words:expr $(, $number:expr, $json:expr)?;)*) => {
        $(impl Valued for $type {
            fn words(&self) -> String {
                let $value = self;
                $words
            }
            $(
                fn number(&self) -> Option<u64> {
                    let $value = self;
                    $number
                }
                fn json(&self) -> Json {
                    let $value = self;
                    $json.into()
                }
            )?
        })*
    };
}

values! {
    Amount: value => value.to_string(), bits(value.loss), value.loss;
    f64: value => value.to_string(), bits(*value), *value;
    u64: value => value.to_string(), Some(*value), *value;
    String: value => value.clone();
    LawKind: value => value.name().to_owned();
    SplitSpec: value => value.label();
    Method: value => (**value).words();
    ExcludedMethod: value => ExcludedMethod::words(value);
}

/// What an `[[exclude]]` block may name.
pub trait Names<T> {
    /// Whether it is a value.
    fn names(&self, value: &T) -> bool;
}

impl<T: PartialEq> Names<T> for T {
    fn names(&self, value: &T) -> bool {
        self == value
    }
}

impl Names<Method> for ExcludedMethod {
    fn names(&self, value: &Method) -> bool {
        self.has(value)
    }
}

/// What a cell has of an axis: a value, or perhaps one.
pub trait Held<T> {
    /// The value.
    fn held(&self) -> Option<&T>;
}

impl<T> Held<T> for T {
    fn held(&self) -> Option<&T> {
        Some(self)
    }
}

impl<T> Held<T> for Option<T> {
    fn held(&self) -> Option<&T> {
        self.as_ref()
    }
}
