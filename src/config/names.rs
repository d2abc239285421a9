//! Names in the JSON schema.

use crate::catalogue::{LawKind, MethodKind};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use std::borrow::Cow;

/// A type of text with the names that it may be.
macro_rules! names {
    ($($name:ident = $names:expr;)*) => {$(
        /// A name in the schema.
        pub struct $name;
        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "enum": $names })
            }
        }
    )*};
}

names! {
    LawName = LawKind::ALL.iter().map(|law| law.name()).collect::<Vec<_>>();
    MethodName = MethodKind::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>();
    SplitName = ["each", "even"];
}

/// Splits: a name, or a list of names and of lists of shares.
pub struct SplitAxis;

impl JsonSchema for SplitAxis {
    fn schema_name() -> Cow<'static, str> {
        "Splits".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let name = generator.subschema_for::<SplitName>();
        let shares = json_schema!({ "type": "array", "items": { "type": "number" }, "minItems": 1 });
        let one = json_schema!({ "anyOf": [name, shares] });
        json_schema!({ "anyOf": [name, { "type": "array", "items": one, "minItems": 1 }] })
    }
}
