//! Decodes a content of the framework.

use std::collections::HashSet;

use serde_json::{Map, Value};
use telechir_protocol::{
    Action, Arguments, CallId, ComputerCall, Content, FunctionCall, FunctionResult, Message, Meta,
    Raw, ShellCall, UnknownContent,
};

use super::function_mapping::{self, FunctionCalls};
use super::{DIALECT, PROVIDER, encode_native, sidecar};
use crate::Report;
use crate::json::{kind, text};
use crate::openai::action;

/// Calls and results of tools that the framework or a service executes.
const HOSTED: [&str; 4] = [
    "mcp_server_tool_call",
    "mcp_server_tool_result",
    "search_tool_call",
    "search_tool_result",
];

/// Decodes a content; `None` if it only repeats another one.
pub(super) fn content(
    json: Value,
    location: &str,
    calls: &mut FunctionCalls,
    report: &mut Report,
) -> Option<Content> {
    let content = decode(json, location, calls, report)?;
    calls.note(&content);
    Some(content)
}

fn decode(
    json: Value,
    location: &str,
    calls: &FunctionCalls,
    report: &mut Report,
) -> Option<Content> {
    let Value::Object(mut members) = json else {
        return Some(other(Map::from_iter([("value".to_owned(), json)])));
    };
    let Some(sidecar_json) = sidecar::remove(&mut members) else {
        return Some(with_raw(members, calls));
    };
    if sidecar_json.get(encode_native::REPEATED_CALL).is_some() {
        return None;
    }
    let plain = Value::Object(members);
    let neutral = sidecar::expand(sidecar_json, &plain);
    if let Some(content) = from_sidecar(neutral, &plain) {
        return Some(content);
    }
    report.lost(
        "another provider's values",
        location,
        "the framework's fields were changed later and take precedence",
    );
    let Value::Object(members) = plain else {
        return None;
    };
    Some(with_raw(members, calls))
}

/// The neutral content from a sidecar, if the framework's fields still match it.
fn from_sidecar(sidecar_json: Value, plain: &Value) -> Option<Content> {
    // The sidecar of an unknown content has nothing else.
    let content: Content = serde_json::from_value(sidecar_json).ok()?;
    let encoded = match plain["type"] == "function_result" {
        true => encode_native::function_result_of(&content),
        false => encode_native::content(&content),
    };
    encode_native::is_equal(&encoded, plain).then_some(content)
}

/// Keeps the original JSON if the neutral content would be encoded differently.
fn with_raw(members: Map<String, Value>, calls: &FunctionCalls) -> Content {
    let json = Value::Object(members.clone());
    let mut content = plain(members, calls);
    if encode_native::encoded(&content, calls) == json {
        return content;
    }
    if let Some(meta) = content.meta_mut() {
        meta.raw_representation = Some(Raw::new(DIALECT, json));
    }
    content
}

/// Decodes a content without sidecar and raw representation.
pub(super) fn plain(mut members: Map<String, Value>, calls: &FunctionCalls) -> Content {
    let original = members.clone();
    let kind = kind(&members).to_owned();
    remove_defaults(&kind, &mut members);
    if HOSTED.contains(&kind.as_str()) {
        return hosted(&kind, members).unwrap_or_else(|| other(original));
    }
    if kind == "computer_tool_call" {
        return computer_call(members);
    }
    match serde_json::from_value(Value::Object(members.clone())) {
        // Kept unchanged, with its default fields.
        Ok(Content::Other(_)) => unknown_call(&kind, &original).unwrap_or_else(|| other(original)),
        Ok(Content::FunctionCall(call)) => function_mapping::decode_call(call),
        Ok(Content::FunctionResult(result)) => calls.result(result),
        Ok(content) => content,
        Err(problem) => unreadable(&kind, &members, &problem.to_string()),
    }
}

/// Removes fields that the framework writes into every content of a type.
fn remove_defaults(kind: &str, members: &mut Map<String, Value>) {
    let is = |members: &Map<String, Value>, name: &str, value: bool| {
        members.get(name) == Some(&Value::Bool(value))
    };
    if kind == "function_call" {
        for name in ["hosted", "informational_only"] {
            if is(members, name, false) {
                members.shift_remove(name);
            }
        }
        // A client that does not know the arguments yet omits them.
        members.entry("arguments").or_insert_with(|| "".into());
    }
    if is(members, "user_input_request", true) {
        members.shift_remove("user_input_request");
    }
    for inner in ["function_call", "screenshot"] {
        if let Some(Value::Object(inner)) = members.get_mut(inner) {
            let kind = self::kind(inner).to_owned();
            remove_defaults(&kind, inner);
        }
    }
    for list in ["items", "inputs", "outputs"] {
        let Some(Value::Array(contents)) = members.get_mut(list) else {
            continue;
        };
        for content in contents.iter_mut().filter_map(Value::as_object_mut) {
            let kind = self::kind(content).to_owned();
            if kind == "shell_command_output" && no_properties(content) {
                content.shift_remove("additional_properties");
            }
            remove_defaults(&kind, content);
        }
    }
}

fn no_properties(members: &Map<String, Value>) -> bool {
    let properties = members.get("additional_properties");
    properties
        .and_then(Value::as_object)
        .is_some_and(Map::is_empty)
}

/// Decodes a computer call. Its actions are those of OpenAI's tool, or our own for others.
fn computer_call(mut members: Map<String, Value>) -> Content {
    let steps = match members.shift_remove("actions") {
        Some(Value::Array(steps)) => steps,
        _ => Vec::new(),
    };
    let call_id = text(&members, "call_id").unwrap_or_default().to_owned();
    members.insert("exception".to_owned(), "not decoded yet".into());
    members.insert("actions".to_owned(), Value::Array(Vec::new()));
    let mut call = match serde_json::from_value(Value::Object(members)) {
        Ok(Content::ComputerCall(call)) => call,
        Ok(other) => return other,
        Err(problem) => {
            let mut call = ComputerCall::new(call_id, Vec::new());
            call.exception = Some(problem.to_string());
            return Content::ComputerCall(call);
        }
    };
    call.exception = None;
    for (at, step) in steps.iter().enumerate() {
        match actions(step) {
            Ok(actions) => call.actions.extend(actions),
            Err(problem) => {
                let problem = format!("actions[{at}]: {problem}");
                call.exception.get_or_insert(problem);
            }
        }
    }
    if call.actions.is_empty() && call.exception.is_none() {
        call.exception = Some("`actions` is empty".to_owned());
    }
    Content::ComputerCall(call)
}

fn actions(step: &Value) -> Result<Vec<Action>, String> {
    let mut unused = Report::default();
    let openai = action::decode_batch(&Value::Array(vec![step.clone()]), "", &mut unused);
    if openai.problem.is_none() && unused.is_lossless() {
        return Ok(openai.actions);
    }
    let Value::Object(members) = step.clone() else {
        return Err("it is not an object".to_owned());
    };
    match Action::from_json(members) {
        Ok((Action::Other { name, .. }, _)) => Err(openai
            .problem
            .unwrap_or_else(|| format!("unknown action `{name}`"))),
        Ok((action, _)) => Ok(vec![action]),
        Err(own) => Err(openai.problem.unwrap_or(own.problem)),
    }
}

/// Decodes a call of a hosted tool as a function call that we do not execute.
fn hosted(kind: &str, mut members: Map<String, Value>) -> Option<Content> {
    let mut take = |name: &str| members.shift_remove(name);
    let call_id = match take("call_id") {
        Some(Value::String(id)) => Some(CallId::from(id)),
        _ => None,
    };
    let name = match take("tool_name") {
        Some(Value::String(name)) => Some(name),
        _ => None,
    };
    let server = take("server_name");
    let mut content = if kind.ends_with("_call") {
        let arguments = match take("arguments") {
            Some(Value::Object(arguments)) => Arguments::Json(arguments),
            Some(Value::String(arguments)) => Arguments::Text(arguments),
            None => Arguments::Text(String::new()),
            Some(_) => return None,
        };
        Content::FunctionCall(FunctionCall {
            call_id,
            requires_local_execution: false,
            ..FunctionCall::new(name?, arguments)
        })
    } else {
        let result = take("output").or_else(|| take("result"));
        let items = match take("items") {
            Some(items) => serde_json::from_value(items).ok()?,
            None => Vec::new(),
        };
        Content::FunctionResult(FunctionResult {
            call_id,
            name,
            items,
            result,
            error: None,
            meta: Meta::default(),
        })
    };
    take("type");
    let meta = content.meta_mut()?;
    if let Some(Value::Object(properties)) = take("additional_properties") {
        meta.additional_properties = properties;
    }
    meta.extra = members;
    meta.set_property(PROVIDER, "type", kind.into());
    if let Some(server) = server {
        meta.set_property(PROVIDER, "server_name", server);
    }
    Some(content)
}

/// A call of a type that this version does not know, as a function call: it gets a result.
fn unknown_call(kind: &str, members: &Map<String, Value>) -> Option<Content> {
    const AROUND: [&str; 6] = [
        "type",
        "call_id",
        "tool_name",
        "annotations",
        "additional_properties",
        "raw_representation",
    ];
    let is_call = kind.ends_with("_tool_call") && !encode_native::has_type(Some(kind));
    let call_id = text(members, "call_id").filter(|id| is_call && !id.is_empty())?;
    let arguments = match members.get("arguments") {
        Some(Value::Object(arguments)) => Arguments::Json(arguments.clone()),
        Some(Value::String(arguments)) => Arguments::Text(arguments.clone()),
        _ => {
            let others = members.iter();
            let others = others.filter(|(name, _)| !AROUND.contains(&name.as_str()));
            Arguments::Json(
                others
                    .map(|(name, value)| (name.clone(), value.clone()))
                    .collect(),
            )
        }
    };
    let name = text(members, "tool_name").unwrap_or(kind);
    let mut call = FunctionCall {
        call_id: Some(call_id.into()),
        ..FunctionCall::new(name, arguments)
    };
    if let Some(Value::Object(properties)) = members.get("additional_properties") {
        call.meta.additional_properties = properties.clone();
    }
    call.meta.set_property(PROVIDER, "type", kind.into());
    Some(Content::FunctionCall(call))
}

/// Marks the calls of unknown types that the framework answered itself.
pub(super) fn mark_answered(messages: &mut [Message]) {
    let contents = messages.iter().flat_map(|message| &message.contents);
    let results = contents.filter_map(|content| {
        let Content::Other(other) = content else {
            return None;
        };
        let kind = other.kind.as_deref()?;
        let id = text(&other.json, "call_id").filter(|_| kind.ends_with("_tool_result"))?;
        Some(id.to_owned())
    });
    let answered: HashSet<String> = results.collect();
    let contents = messages
        .iter_mut()
        .flat_map(|message| &mut message.contents);
    for content in contents {
        if let Content::FunctionCall(call) = content
            && is_unknown_call(call)
            && let Some(id) = &call.call_id
            && answered.contains(id.as_str())
        {
            call.requires_local_execution = false;
        }
    }
}

/// Whether the call is of a type that this version does not know.
pub(super) fn is_unknown_call(call: &FunctionCall) -> bool {
    let kind = call.meta.property(PROVIDER, "type");
    let kind = kind.and_then(Value::as_str);
    kind.is_some() && !encode_native::has_type(kind)
}

/// A call that cannot be decoded gets an error result; anything else is kept unchanged.
fn unreadable(kind: &str, members: &Map<String, Value>, problem: &str) -> Content {
    let call_id = text(members, "call_id").map(CallId::from);
    match (kind, call_id) {
        ("shell_tool_call", Some(call_id)) => {
            let mut call = ShellCall::execute(call_id, Vec::new());
            call.exception = Some(problem.to_owned());
            Content::ShellCall(call)
        }
        ("function_call", Some(call_id)) => {
            let name = text(members, "name").unwrap_or_default();
            Content::FunctionCall(FunctionCall {
                call_id: Some(call_id),
                exception: Some(problem.to_owned()),
                ..FunctionCall::new(name, Arguments::Json(Map::new()))
            })
        }
        _ => other(members.clone()),
    }
}

fn other(json: Map<String, Value>) -> Content {
    Content::Other(UnknownContent::new(DIALECT, json))
}
