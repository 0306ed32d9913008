//! JSON Schema of the vocabulary as it is written. Decoding also accepts other spellings.

use std::borrow::Cow;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use crate::{
    ClickCount, Content, FrameId, Message, Point, Region, ShellAction, Space, Target, Tool,
};

/// The published schema of a message, a content or a tool, with all their parts.
pub fn json_schema() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let roots = [
        generator.subschema_for::<Message>(),
        generator.subschema_for::<Content>(),
        generator.subschema_for::<Tool>(),
    ];
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "telechir protocol",
        "description": "A model's calls to a computer, and their results.",
        "anyOf": roots,
        "$defs": generator.take_definitions(true),
    })
}

macro_rules! schemas {
    ($($type:ident => |$generator:ident| $schema:expr;)*) => {$(
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema($generator: &mut SchemaGenerator) -> Schema {
                $schema
            }
        }
    )*};
}

schemas! {
    Point => |g| json_schema!({
        "description": "A position: [x, y] in pixels of the latest screenshot, or with its space.",
        "anyOf": [numbers(2), object(&[
            ("x", true, json!({"type": "number"})),
            ("y", true, json!({"type": "number"})),
            ("space", true, schema::<Space>(g)),
        ])],
    });
    Target => |g| json_schema!({
        "description": "The target of an action: a position, a label drawn on a screenshot, or an element by ref or by name.",
        "anyOf": [
            schema::<Point>(g),
            object(&[
                ("label", true, json!({"type": "integer", "minimum": 0})),
                ("frame", false, schema::<FrameId>(g)),
            ]),
            object(&[
                ("ref", true, json!({"type": "string"})),
                ("frame", false, schema::<FrameId>(g)),
            ]),
            {
                "description": "An element by its accessibility properties; all given properties must match.",
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "role": {"type": "string"},
                    "id": {"type": "string"},
                    "window": {"type": "string"},
                },
                "additionalProperties": false,
                "anyOf": [{"required": ["name"]}, {"required": ["role"]}, {"required": ["id"]}],
            },
        ],
    });
    Region => |g| json_schema!({
        "description": "A rectangle: [x0, y0, x1, y1] in pixels of the latest screenshot, or two points.",
        "anyOf": [numbers(4), object(&[
            ("from", true, schema::<Point>(g)),
            ("to", true, schema::<Point>(g)),
        ])],
    });
    ShellAction => |_g| json_schema!({"anyOf": [{"type": "string"}, {"type": "object"}]});
    Content => |g| content(g);
}

/// Milliseconds, with or without a fraction.
pub(crate) fn milliseconds(_generator: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "number", "minimum": 0, "description": "Milliseconds."})
}

/// The action of a shell call, as members of the call.
pub(crate) fn shell_action(_generator: &mut SchemaGenerator) -> Schema {
    let text = || json!({"type": "string"});
    json_schema!({
        "type": "object",
        "properties": {"action": text(), "text": text(), "key": text(), "job": text()},
        "required": ["action"],
    })
}

/// Removes null from the schemas of members.
pub(crate) fn never_null(schema: &mut Schema) {
    let mut object = std::mem::take(schema).to_value();
    without_null(&mut object);
    if let Ok(object) = Schema::try_from(object) {
        *schema = object;
    }
}

/// The forms of an action: a click has one for each count, and an unknown name has any members.
pub(crate) fn action_forms(schema: &mut Schema) {
    let derived = schema.remove("oneOf").unwrap_or_default();
    let mut forms: Vec<Value> = Vec::new();
    for mut form in derived.as_array().cloned().unwrap_or_default() {
        without_null(&mut form);
        if form["properties"]["action"]["const"] != "click" {
            forms.push(form);
            continue;
        }
        for count in [ClickCount::Single, ClickCount::Double, ClickCount::Triple] {
            form["properties"]["action"]["const"] = count.action_name().into();
            forms.push(form.clone());
        }
    }
    let names: Vec<&Value> = forms
        .iter()
        .map(|form| &form["properties"]["action"]["const"])
        .collect();
    let other = json!({"type": "string", "not": {"enum": names}});
    forms.push(object(&[("action", true, other)]));
    schema.insert("anyOf".to_owned(), forms.into());
}

/// Removes null from the schemas of members: it is read, but never written.
fn without_null(object: &mut Value) {
    let members = object.get_mut("properties").and_then(Value::as_object_mut);
    for member in members.into_iter().flat_map(Map::values_mut) {
        if member.get("default").is_some_and(Value::is_null) {
            member
                .as_object_mut()
                .map(|member| member.remove("default"));
        }
        let null = |form: &Value| form == "null" || form["type"] == "null";
        for alternatives in ["type", "anyOf"] {
            let Some(forms) = member.get_mut(alternatives).and_then(Value::as_array_mut) else {
                continue;
            };
            forms.retain(|form| !null(form));
            if let [only] = forms.as_mut_slice() {
                let only = only.take();
                if only.is_object() {
                    *member = only;
                } else {
                    member[alternatives] = only;
                }
            }
        }
    }
}

/// A member's name, whether it is required, and its schema.
type SchemaMember<'a> = (&'a str, bool, Value);

fn schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    generator.subschema_for::<T>().to_value()
}

fn numbers(count: usize) -> Value {
    json!({"type": "array", "items": {"type": "number"}, "minItems": count, "maxItems": count})
}

fn object(members: &[SchemaMember<'_>]) -> Value {
    let properties: Map<String, Value> = members
        .iter()
        .map(|(name, _, schema)| ((*name).to_owned(), schema.clone()))
        .collect();
    let needed: Vec<&str> = members
        .iter()
        .filter(|(_, needed, _)| *needed)
        .map(|(name, _, _)| *name)
        .collect();
    json!({"type": "object", "properties": properties, "required": needed})
}

/// Any content: the members of its type, or any members if the type is unknown.
fn content(generator: &mut SchemaGenerator) -> Schema {
    let tagged = |(name, members): (&str, Schema)| json!({"allOf": [object(&[("type", true, json!({"const": name}))]), members]});
    let mut kinds: Vec<Value> = crate::content::schemas(generator)
        .into_iter()
        .map(tagged)
        .collect();
    kinds.push(json!({
        "description": "A content of another type, retained verbatim.",
        "type": "object",
        "properties": {"type": {"not": {"enum": Content::TYPE_NAMES}}},
    }));
    json_schema!({"description": "A part of a message, tagged by `type`.", "anyOf": kinds})
}
