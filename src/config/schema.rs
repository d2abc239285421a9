//! The shape of a config as a JSON schema, for editors.

use super::model::{LawKind, MethodKind, Study};
use super::wire::{Axis, WireConfig, WireMethod, WireMethodTable, WireSplit};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};
use std::borrow::Cow;

/// The JSON schema (draft 2020-12) of a config file. It knows keys, types and names; that a value fits the others, the data
/// and the study is seen by `check` and `plan`.
pub fn schema() -> Value {
    let mut generator = SchemaGenerator::default();
    let [grid, worlds] =
        [generator.subschema_for::<WireConfig>(), generator.subschema_for::<super::worlds::Wire>()];
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A config of congenial",
        "oneOf": [grid, worlds],
        "$defs": generator.take_definitions(true),
    });
    without_null(&mut schema);
    schema
}

/// What is optional is left out: TOML has no null.
fn without_null(value: &mut Value) {
    match value {
        Value::Object(map) => {
            if let Some(Value::Array(types)) = map.get_mut("type") {
                types.retain(|name| name != "null");
                if let [one] = &types[..] {
                    let one = one.clone();
                    map.insert("type".into(), one);
                }
            }
            if let Some(Value::Array(choices)) = map.get_mut("anyOf") {
                choices.retain(|choice| choice.get("type") != Some(&json!("null")));
            }
            if map.get("default") == Some(&Value::Null) {
                map.remove("default");
            }
            map.values_mut().for_each(without_null);
        }
        Value::Array(values) => values.iter_mut().for_each(without_null),
        _ => {}
    }
}

/// A type of text with the names that it may be.
macro_rules! names {
    ($($name:ident = $names:expr;)*) => {$(
        pub(super) struct $name;
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
    LawName = LawKind::ALL.map(LawKind::name);
    MethodName = MethodKind::ALL.map(MethodKind::name);
    StudyName = [Study::Release, Study::Meeting, Study::Privacy].map(Study::name);
    CompositionName = ["composition"];
    BasisName = ["smith", "reduced"];
    SourceName = ["equations", "unconstrained"];
    SplitName = ["each", "even"];
}

impl<T: JsonSchema> JsonSchema for Axis<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        format!("OneOrMany_{}", T::schema_name()).into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one = generator.subschema_for::<T>();
        json_schema!({ "anyOf": [one, { "type": "array", "items": one, "minItems": 1 }] })
    }
}

impl JsonSchema for WireMethod {
    fn schema_name() -> Cow<'static, str> {
        "Method".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let name = generator.subschema_for::<MethodName>();
        let table = generator.subschema_for::<WireMethodTable>();
        json_schema!({ "anyOf": [name, table] })
    }
}

/// Splits: a name, or a list of names and of lists of shares.
pub(super) struct SplitAxis;

impl JsonSchema for SplitAxis {
    fn schema_name() -> Cow<'static, str> {
        "Splits".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let name = generator.subschema_for::<SplitName>();
        let one = generator.subschema_for::<WireSplit>();
        json_schema!({ "anyOf": [name, { "type": "array", "items": one, "minItems": 1 }] })
    }
}

impl JsonSchema for WireSplit {
    fn schema_name() -> Cow<'static, str> {
        "Split".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let name = generator.subschema_for::<SplitName>();
        json_schema!({ "anyOf": [name, { "type": "array", "items": { "type": "number" }, "minItems": 1 }] })
    }
}
