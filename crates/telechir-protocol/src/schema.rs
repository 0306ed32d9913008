//! JSON Schema of the vocabulary as it is written. Decoding also accepts other spellings.

mod action;

use std::borrow::Cow;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use crate::{
    Action, ActionKind, Button, CallId, Chord, ClickCount, Command, CommandOutput, ComputerCall,
    Content, Environment, Failure, FrameId, Message, Meta, Modifier, Point, Region, SafetyCheck,
    ScrollUnit, ShellAction, ShellCall, ShellEnvironment, ShellResult, Space, Target, TargetId,
    Tool,
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
    Button => |_g| json_schema!({"enum": ["left", "middle", "right", "back", "forward"]});
    ClickCount => |_g| json_schema!({"enum": [1, 2, 3]});
    ScrollUnit => |_g| json_schema!({"enum": ["clicks", "pixels", "thousandths"]});
    Modifier => |_g| json_schema!({"enum": Modifier::ALL.map(Modifier::name)});
    Chord => |_g| json_schema!({
        "description": "Keys pressed together, such as ctrl+shift+t or Enter.",
        "anyOf": [
            {"type": "string", "minLength": 1},
            {"type": "array", "items": {"type": "string"}, "minItems": 1},
        ],
    });
    ActionKind => |_g| json_schema!({
        "enum": ActionKind::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>(),
    });
    Environment => |_g| json_schema!({
        "description": "browser, mac, windows, linux, mobile, or any other name.",
        "type": "string",
    });
    Action => |g| action::schema(g);
    ShellAction => |_g| json_schema!({"anyOf": [{"type": "string"}, {"type": "object"}]});
    ComputerCall => |g| with_meta("A model's call to a screen or browser.", &[
        ("call_id", true, schema::<CallId>(g)),
        ("item_id", false, json!({"type": "string"})),
        ("actions", true, json!({"type": "array", "items": schema::<Action>(g)})),
        ("pending_safety_checks", false, json!({"type": "array", "items": schema::<SafetyCheck>(g)})),
        ("intent", false, json!({"type": "string"})),
        ("target", false, schema::<TargetId>(g)),
        ("group", false, json!({"type": "string"})),
        ("status", false, json!({"type": "string"})),
        ("exception", false, json!({"type": "string"})),
    ], &schema::<Meta>(g));
    ShellCall => |g| with_meta("A model's call to a shell.", &[
        ("call_id", true, schema::<CallId>(g)),
        ("item_id", false, json!({"type": "string"})),
        ("action", true, json!({"type": "string"})),
        ("text", false, json!({"type": "string"})),
        ("key", false, json!({"type": "string"})),
        ("job", false, json!({"type": "string"})),
        ("commands", false, json!({"type": "array", "items": schema::<Command>(g)})),
        ("timeout_ms", false, json!({"type": "integer", "minimum": 0})),
        ("max_output", false, json!({"type": "integer", "minimum": 0})),
        ("cwd", false, json!({"type": "string"})),
        ("env", false, json!({"type": "object"})),
        ("user", false, json!({"type": "string"})),
        ("environment", false, schema::<ShellEnvironment>(g)),
        ("status", false, json!({"type": "string"})),
        ("exception", false, json!({"type": "string"})),
    ], &schema::<Meta>(g));
    ShellResult => |g| with_meta("The result of a shell call.", &[
        ("call_id", true, schema::<CallId>(g)),
        ("item_id", false, json!({"type": "string"})),
        ("outputs", true, json!({"type": "array", "items": schema::<CommandOutput>(g)})),
        ("combined", false, json!({"type": "boolean"})),
        ("cwd", false, json!({"type": "string"})),
        ("max_output", false, json!({"type": "integer", "minimum": 0})),
        ("error", false, schema::<Failure>(g)),
    ], &schema::<Meta>(g));
    Content => |g| content(g);
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

/// An object with these members and those common to all contents.
fn with_meta(description: &str, members: &[SchemaMember<'_>], meta: &Value) -> Schema {
    json_schema!({"description": description, "allOf": [object(members), meta]})
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
