//! The format of a model's answer: any text, any JSON, or JSON of a schema.

use serde_json::{Map, Value, json};

use super::api::Api;
use super::members::{Members, put};
use crate::Report;

/// A requested format other than plain text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ResponseFormat {
    /// Any JSON object.
    Json,
    Schema(FormatSchema),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct FormatSchema {
    schema: Value,
    name: Option<String>,
    description: Option<String>,
    strict: Option<bool>,
}

/// A format with the pointer it was read from.
pub(super) struct FoundFormat {
    format: ResponseFormat,
    pointer: &'static str,
}

/// The name of a schema for an API that requires one.
const DEFAULT_NAME: &str = "response";

fn pointer(api: Api) -> &'static str {
    match api {
        Api::Anthropic | Api::Invoke => "/output_config/format",
        Api::Responses => "/text/format",
        Api::Converse => "/outputConfig/textFormat",
        Api::Generate => "/generationConfig",
        Api::Interactions | Api::Chat | Api::Mistral | Api::Agents => "/response_format",
        Api::Conversations => "/completion_args/response_format",
        Api::Framework => "/options/response_format",
    }
}

pub(super) fn read(api: Api, members: &mut Members) -> Option<FoundFormat> {
    let pointer = pointer(api);
    let found = |format| Some(FoundFormat { format, pointer });
    if api == Api::Generate {
        return read_generate(members);
    }
    let value = members.get(pointer)?;
    // Interactions takes a list with one format for each kind of output.
    let (value, around) = match value {
        Value::Array(list) if list.len() == 1 => (&list[0], format!("{pointer}/0")),
        one => (one, pointer.to_owned()),
    };
    let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str);
    let schema_in = |parent: &str| {
        let member = |name: &str| value.pointer(&format!("{parent}/{name}"));
        Some(FormatSchema {
            schema: parsed(member("schema")?),
            name: text(&format!("{parent}/name")).map(str::to_owned),
            description: text(&format!("{parent}/description")).map(str::to_owned),
            strict: member("strict").and_then(Value::as_bool),
        })
    };
    let inner = match api {
        Api::Converse => "/structure/jsonSchema",
        Api::Chat | Api::Mistral | Api::Conversations | Api::Framework => "/json_schema",
        _ => "",
    };
    let schema = schema_in(inner);
    let is_text = text("/type") == Some("text") && text("/mime_type") != Some("application/json");
    let is_json =
        text("/type") == Some("json_object") || text("/mime_type") == Some("application/json");
    let format = schema
        .map(ResponseFormat::Schema)
        .or_else(|| is_json.then_some(ResponseFormat::Json));
    if format.is_some() || is_text {
        const TYPES: [&str; 3] = ["text", "json_object", "json_schema"];
        members.take_constant(&format!("{around}/type"), &TYPES);
        members.take_constant(&format!("{around}/mime_type"), &["application/json"]);
    }
    if matches!(format, Some(ResponseFormat::Schema(_))) {
        members.take(&format!("{around}{inner}/schema"));
        members.take_text(&format!("{around}{inner}/name"));
        members.take_text(&format!("{around}{inner}/description"));
        members.take_understood(&format!("{around}{inner}/strict"), &|_, value| {
            value.is_boolean()
        });
    }
    format.and_then(found)
}

/// A schema that an API takes as a string of JSON.
fn parsed(schema: &Value) -> Value {
    let text = schema.as_str();
    let parsed = text.and_then(|text| serde_json::from_str(text).ok());
    parsed.unwrap_or_else(|| schema.clone())
}

fn read_generate(members: &mut Members) -> Option<FoundFormat> {
    const JSON_SCHEMA: &str = "/generationConfig/responseJsonSchema";
    const SCHEMA: &str = "/generationConfig/responseSchema";
    const MIME: &str = "/generationConfig/responseMimeType";
    let is_json = members.text(MIME) == Some("application/json");
    members.take_constant(MIME, &["application/json", "text/plain"]);
    let schema = members
        .take(JSON_SCHEMA)
        .map(|schema| (schema, JSON_SCHEMA))
        .or_else(|| Some((lower_types(members.take(SCHEMA)?), SCHEMA)));
    match schema {
        Some((schema, pointer)) => Some(FoundFormat {
            format: ResponseFormat::Schema(FormatSchema {
                schema,
                ..FormatSchema::default()
            }),
            pointer,
        }),
        None => is_json.then_some(FoundFormat {
            format: ResponseFormat::Json,
            pointer: MIME,
        }),
    }
}

/// Google's own schema as JSON Schema: types in lower case, `nullable` as a type.
pub(super) fn lower_types(schema: Value) -> Value {
    let Value::Object(members) = schema else {
        return match schema {
            Value::Array(items) => items.into_iter().map(lower_types).collect(),
            other => other,
        };
    };
    let is_nullable = members.get("nullable") == Some(&Value::Bool(true));
    let mut converted = Map::new();
    for (name, value) in members {
        let value = match (name.as_str(), value) {
            ("nullable", Value::Bool(_)) => continue,
            ("type", Value::String(kind)) if is_nullable => {
                json!([kind.to_lowercase(), "null"])
            }
            ("type", Value::String(kind)) => kind.to_lowercase().into(),
            (
                "minItems" | "maxItems" | "minLength" | "maxLength" | "minProperties"
                | "maxProperties",
                Value::String(number),
            ) => number
                .parse::<u64>()
                .map_or(Value::String(number), Value::from),
            ("properties", Value::Object(inner)) => inner
                .into_iter()
                .map(|(name, schema)| (name, lower_types(schema)))
                .collect::<Map<String, Value>>()
                .into(),
            ("items" | "anyOf", inner) => lower_types(inner),
            (_, value) => value,
        };
        converted.insert(name, value);
    }
    converted.into()
}

pub(super) fn write(
    api: Api,
    found: Option<&FoundFormat>,
    document: &mut Value,
    report: &mut Report,
) {
    let Some(FoundFormat {
        format,
        pointer: at,
    }) = found
    else {
        return;
    };
    match format {
        ResponseFormat::Json => write_json(api, at, document, report),
        ResponseFormat::Schema(schema) => write_schema(api, schema, at, document, report),
    }
}

fn write_json(api: Api, at: &str, document: &mut Value, report: &mut Report) {
    match api {
        Api::Generate => put(
            document,
            "/generationConfig/responseMimeType",
            "application/json",
        ),
        Api::Interactions => put(
            document,
            pointer(api),
            json!({"type": "text", "mime_type": "application/json"}),
        ),
        Api::Responses | Api::Chat | Api::Mistral | Api::Conversations | Api::Framework => {
            put(document, pointer(api), json!({"type": "json_object"}));
        }
        Api::Anthropic | Api::Invoke | Api::Converse | Api::Agents => {
            let why = "the target has JSON only with a schema";
            report.lost("the format of any JSON object", at, why);
        }
    }
}

fn write_schema(
    api: Api,
    format: &FormatSchema,
    at: &str,
    document: &mut Value,
    report: &mut Report,
) {
    let name = format.name.as_deref().unwrap_or(DEFAULT_NAME);
    let mut described = json!({"name": name, "schema": format.schema});
    if let Some(description) = &format.description {
        described["description"] = description.as_str().into();
    }
    let has_strict = matches!(
        api,
        Api::Responses | Api::Chat | Api::Mistral | Api::Conversations | Api::Framework
    );
    if let (true, Some(strict)) = (has_strict, format.strict) {
        described["strict"] = strict.into();
    }
    match api {
        Api::Anthropic | Api::Invoke => {
            let value = json!({"type": "json_schema", "schema": format.schema});
            put(document, pointer(api), value);
        }
        Api::Responses => {
            described["type"] = "json_schema".into();
            put(document, pointer(api), described);
        }
        Api::Converse => {
            described["schema"] = format.schema.to_string().into();
            let structure = json!({"jsonSchema": described});
            let value = json!({"type": "json_schema", "structure": structure});
            put(document, pointer(api), value);
        }
        Api::Generate => {
            let config = "/generationConfig";
            put(
                document,
                &format!("{config}/responseMimeType"),
                "application/json",
            );
            put(
                document,
                &format!("{config}/responseJsonSchema"),
                format.schema.clone(),
            );
        }
        Api::Interactions => {
            let value = json!({
                "type": "text", "mime_type": "application/json", "schema": format.schema,
            });
            put(document, pointer(api), value);
        }
        Api::Chat | Api::Mistral | Api::Conversations | Api::Framework => {
            let value = json!({"type": "json_schema", "json_schema": described});
            put(document, pointer(api), value);
        }
        Api::Agents => {
            let member = at.rsplit('/').next().unwrap_or_default();
            let what = format!("the schema in `{member}`");
            report.lost(what, at, "agents have no such setting");
        }
    }
    report_names(api, format, at, report);
}

/// Reports the parts of a format that some APIs lack.
fn report_names(api: Api, format: &FormatSchema, at: &str, report: &mut Report) {
    let has_names = !matches!(
        api,
        Api::Anthropic | Api::Invoke | Api::Generate | Api::Interactions | Api::Agents
    );
    let why = "the target's format holds only the schema";
    if let (false, Some(name)) = (has_names, &format.name) {
        report.lost(format!("the name `{name}` of the format"), at, why);
    }
    if let (false, Some(_)) = (has_names, &format.description) {
        report.lost("the description of the format", at, why);
    }
    // Where it cannot be set, the schema is always enforced.
    if format.strict == Some(false) && !matches!(api, Api::Agents) {
        let has_strict = matches!(
            api,
            Api::Responses | Api::Chat | Api::Mistral | Api::Conversations | Api::Framework
        );
        if !has_strict {
            report.lost(
                "`strict`: false of the format",
                at,
                "the target always enforces it",
            );
        }
    }
}
