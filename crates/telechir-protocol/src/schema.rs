//! JSON Schema of the vocabulary as it is written. Decoding also accepts other spellings.

pub(crate) mod forms;

use std::borrow::Cow;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use self::forms::object;
use crate::{Content, FrameId, Message, Point, Region, ShellAction, Space, Target, Tool};

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

fn schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    generator.subschema_for::<T>().to_value()
}

fn numbers(count: usize) -> Value {
    json!({"type": "array", "items": {"type": "number"}, "minItems": count, "maxItems": count})
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
