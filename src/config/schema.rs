//! The shape of a config as a JSON schema, for editors.

use super::names::MethodName;
use super::wire::{Axis, WireMethod};
use crate::catalogue::{Kind, MethodKind, OptionFacts};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// The JSON schema (draft 2020-12) of a config file of any of some studies. It knows keys, types and names; that a value fits the
/// others, the data and the study is seen by `check` and `plan`.
pub fn schema(studies: &[fn(&mut SchemaGenerator) -> Schema]) -> Value {
    let mut generator = SchemaGenerator::default();
    let studies: Vec<Schema> = studies.iter().map(|study| study(&mut generator)).collect();
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A config of congenial",
        "oneOf": studies,
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

/// A name, or a table with the options of that method.
impl JsonSchema for WireMethod {
    fn schema_name() -> Cow<'static, str> {
        "Method".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut choices = vec![json!(generator.subschema_for::<MethodName>())];
        for kind in MethodKind::ALL {
            let options = kind.facts().options.iter();
            let mut properties: Map<String, Value> =
                options.map(|option| (option.key.to_owned(), axis(option))).collect();
            properties.insert("kind".into(), json!({ "const": kind.name() }));
            choices.push(json!({
                "type": "object", "properties": properties, "required": ["kind"], "additionalProperties": false,
            }));
        }
        let texts = json!({ "type": "array", "items": { "type": "string" }, "minItems": 1 });
        let scalar = json!({ "type": ["boolean", "number", "string"] });
        choices.push(json!({
            "type": "object",
            "description": "A method of one's own; other keys are its options, of which lists are axes.",
            "properties": {
                "kind": { "const": crate::own::EXTERNAL },
                "command": texts,
                "name": { "type": "string" },
                "depends": { "anyOf": [{ "type": "string" }, texts] },
                "timeout": { "type": "number", "exclusiveMinimum": 0 },
                "folder": { "type": "string" },
            },
            "required": ["kind"],
            "additionalProperties": { "anyOf": [scalar, { "type": "array", "items": scalar, "minItems": 1 }] },
        }));
        json_schema!({ "anyOf": choices })
    }
}

/// A value of an option, or a list of them.
fn axis(option: &OptionFacts) -> Value {
    let one = match option.kind {
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Count(_) => json!({ "type": "integer", "minimum": 1 }),
        Kind::Between { least, most, .. } => json!({ "type": "integer", "minimum": least, "maximum": most }),
        Kind::Number { above, closed, most, .. } => {
            let low = if closed { "minimum" } else { "exclusiveMinimum" };
            let mut one = json!({ "type": "number", low: above });
            if most.is_finite() {
                one["maximum"] = json!(most);
            }
            one
        }
        Kind::Name(names) => json!({ "type": "string", "enum": names }),
        Kind::NameOrEntries(names) => {
            let entries =
                json!({ "type": "array", "items": { "type": "integer", "minimum": 1 }, "minItems": 1 });
            json!({ "anyOf": [{ "type": "string", "enum": names }, entries] })
        }
        Kind::Own => json!({}),
    };
    let mut axis = json!({
        "description": option.meaning,
        "anyOf": [one, { "type": "array", "items": one, "minItems": 1 }],
    });
    if let Some(default) = option.default() {
        axis["default"] = match default {
            crate::catalogue::Value::Flag(flag) => json!(flag),
            crate::catalogue::Value::Count(n) => json!(n),
            crate::catalogue::Value::Number(x) => json!(x),
            crate::catalogue::Value::Name(name) => json!(name),
            crate::catalogue::Value::Entries(entries) => json!(entries.numbers()),
            crate::catalogue::Value::Own(own) => json!(own.words()),
        };
    }
    axis
}
