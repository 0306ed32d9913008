//! Calls of types that a decoder does not know and that the client has to answer. They become
//! function calls, so that each gets a result.

use std::collections::HashSet;

use serde_json::{Map, Value};
use telechir_protocol::{Arguments, CallId, Content, FunctionCall, Meta, ModelTurn, Raw};

use crate::json::{Fields, kind, object, present, some_text, text};

/// Calls that a provider answers itself, also in a later response.
const HOSTED: [&str; 18] = [
    "server_tool_use",
    "mcp_tool_use",
    "code_execution_call",
    "code_interpreter_call",
    "code_interpreter_tool_call",
    "command_call",
    "file_search_call",
    "google_maps_call",
    "google_search_call",
    "image_generation_call",
    "image_generation_tool_call",
    "mcp_call",
    "mcp_server_tool_call",
    "processing_call",
    "retrieval_call",
    "search_tool_call",
    "url_context_call",
    "web_search_call",
];

/// Fields with the id of the call that a content answers.
const ANSWERED_IDS: [&str; 4] = ["call_id", "tool_use_id", "tool_call_id", "toolUseId"];

/// Fields of a call that are not arguments.
const NOT_ARGUMENTS: [&str; 11] = [
    "type",
    "id",
    "call_id",
    "tool_call_id",
    "toolUseId",
    "name",
    "status",
    "caller",
    "signature",
    "dialect",
    "raw_representation",
];

/// Makes function calls of the calls in a response that the decoder does not know. `id_field` has
/// their id, and `dialect` is that of their JSON.
pub(crate) fn answerable(turn: ModelTurn, id_field: &str, dialect: &str) -> ModelTurn {
    let answered: HashSet<&str> = turn.contents().iter().flat_map(answered_ids).collect();
    let call_of = |content: &Content| {
        let call = unknown_call(content, id_field, dialect)?;
        let is_open = call
            .call_id
            .as_ref()
            .is_some_and(|id| !answered.contains(id.as_str()));
        is_open.then_some(call)
    };
    if !turn
        .contents()
        .iter()
        .any(|content| call_of(content).is_some())
    {
        return turn;
    }
    let contents = turn.contents().iter().map(|content| {
        let call = call_of(content).map(Content::FunctionCall);
        call.unwrap_or_else(|| content.clone())
    });
    // The calls have ids.
    ModelTurn::new(contents.collect()).unwrap_or(turn)
}

/// The ids of the calls that an unknown content answers.
fn answered_ids(content: &Content) -> Vec<&str> {
    let Content::Other(other) = content else {
        return Vec::new();
    };
    let fields = call_fields(&other.json);
    if is_call(kind_of(&other.json)) {
        return Vec::new();
    }
    let ids = ANSWERED_IDS.iter().filter_map(|name| text(fields, name));
    ids.collect()
}

fn unknown_call(content: &Content, id_field: &str, dialect: &str) -> Option<FunctionCall> {
    let Content::Other(other) = content else {
        return None;
    };
    let kind = kind_of(&other.json);
    let fields = call_fields(&other.json);
    let id = some_text(fields, id_field)?;
    if !is_call(kind) || HOSTED.contains(&kind) || is_hosted(fields) {
        return None;
    }
    let name_of_kind = match kind {
        "tool_search_call" => "tool_search",
        kind => kind,
    };
    let name = some_text(fields, "name").unwrap_or(name_of_kind);
    let arguments = ["arguments", "input", "args"];
    let arguments = arguments.iter().find_map(|name| present(fields, name));
    let arguments = match arguments {
        Some(Value::Object(members)) => Arguments::Json(members.clone()),
        Some(Value::String(text)) => Arguments::Text(text.clone()),
        Some(other) => Arguments::Text(other.to_string()),
        None => Arguments::Json(others(fields)),
    };
    Some(FunctionCall {
        call_id: Some(CallId::from(id)),
        meta: Meta {
            raw_representation: Some(Raw::new(dialect, Value::Object(other.json.clone()))),
            ..Meta::default()
        },
        ..FunctionCall::new(name, arguments)
    })
}

/// The type of a content; in a union of one member the member's name.
fn kind_of(json: &Fields) -> &str {
    match member_of_union(json) {
        Some((name, _)) => name,
        None => kind(json),
    }
}

fn call_fields(json: &Fields) -> &Fields {
    member_of_union(json).map_or(json, |(_, fields)| fields)
}

/// The member of a union without a type of its own, as in Bedrock's blocks.
fn member_of_union(json: &Fields) -> Option<(&str, &Fields)> {
    let mut members = json.keys().filter(|name| *name != "type");
    let (only, None) = (members.next()?, members.next()) else {
        return None;
    };
    Some((only, object(json, only)?))
}

fn is_call(kind: &str) -> bool {
    ["_call", ".call", "_use", "ToolUse", "Call"]
        .iter()
        .any(|end| kind.ends_with(end))
}

/// Whether the call states that the provider answers it.
fn is_hosted(fields: &Fields) -> bool {
    let is = |name: &str, value: bool| fields.get(name) == Some(&Value::Bool(value));
    let environment = object(fields, "environment");
    text(fields, "execution") == Some("server")
        || environment.is_some_and(|environment| kind(environment) != "local")
        || is("hosted", true)
        || is("informational_only", true)
        || is("requires_local_execution", false)
}

fn others(fields: &Fields) -> Map<String, Value> {
    let others = fields
        .iter()
        .filter(|(name, _)| !NOT_ARGUMENTS.contains(&name.as_str()));
    others
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}
