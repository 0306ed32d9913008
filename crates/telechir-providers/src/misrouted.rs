//! Detects calls and results of another dialect. Decoders keep unknown items and parts, so such a
//! call would be neither executed nor answered.

use serde_json::{Map, Value};

use crate::json::kind;
use crate::{DecodeError, Dialect};

/// Fields of a document that hold a list of messages, items or events.
const LISTS: [&str; 12] = [
    "messages",
    "input",
    "inputs",
    "output",
    "outputs",
    "contents",
    "steps",
    "entries",
    "choices",
    "candidates",
    "completion",
    "data",
];
/// Fields of a message that hold a list of blocks, parts or contents.
const PARTS: [&str; 3] = ["content", "contents", "parts"];
/// Fields that may wrap a message.
const WRAPPERS: [&str; 3] = ["message", "content", "output"];

/// OpenAI's types of items that belong to a call.
const OPENAI: [&str; 12] = [
    "function_call",
    "computer_call",
    "shell_call",
    "local_shell_call",
    "apply_patch_call",
    "custom_tool_call",
    "function_call_output",
    "computer_call_output",
    "shell_call_output",
    "local_shell_call_output",
    "apply_patch_call_output",
    "custom_tool_call_output",
];
const MISTRAL: [&str; 3] = ["function.call", "function.result", "tool.execution"];
const FRAMEWORK: [&str; 6] = [
    "function_call",
    "function_result",
    "computer_tool_call",
    "computer_tool_result",
    "shell_tool_call",
    "shell_tool_result",
];
const NEUTRAL: [&str; 6] = [
    "computer_call",
    "computer_result",
    "shell_call",
    "shell_result",
    "edit_call",
    "edit_result",
];

type JsonObject = Map<String, Value>;

/// The error for a document with a call or result of another dialect where this dialect has its
/// own.
pub(crate) fn find(dialect: Dialect, document: &Value) -> Option<DecodeError> {
    let found = match document {
        Value::Array(entries) => in_list(dialect, "", entries),
        Value::Object(object) => in_entry(dialect, "", object).or_else(|| {
            LISTS.iter().find_map(|name| {
                let entries = object.get(*name)?.as_array()?;
                in_list(dialect, name, entries)
            })
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    };
    let (path, Marker { name, of }) = found?;
    let path = if path.is_empty() {
        "the document"
    } else {
        &path
    };
    Some(DecodeError::WrongShape {
        dialect: dialect.name(),
        problem: format!("{path} has `{name}`, which is a call or result of another dialect"),
        looks_like: Some(of),
    })
}

type LocatedMarker = (String, Marker);

/// A field name or type that identifies a dialect.
struct Marker {
    name: &'static str,
    of: &'static str,
}

const fn marker(name: &'static str, of: &'static str) -> Option<Marker> {
    Some(Marker { name, of })
}

fn in_list(dialect: Dialect, name: &str, entries: &[Value]) -> Option<LocatedMarker> {
    entries.iter().enumerate().find_map(|(at, entry)| {
        let path = format!("{name}[{at}]");
        in_entry(dialect, &path, entry.as_object()?)
    })
}

/// Searches a message or item and its parts.
fn in_entry(dialect: Dialect, path: &str, entry: &JsonObject) -> Option<LocatedMarker> {
    let of_other_dialect =
        |marker: Option<Marker>| marker.filter(|marker| !reads(dialect, marker.of));
    if let Some(marker) = of_other_dialect(of_entry(entry)).filter(|_| !is_content(dialect, entry))
    {
        return Some((path.to_owned(), marker));
    }
    for name in WRAPPERS {
        if let Some(inner) = entry.get(name).and_then(Value::as_object)
            && let Some(found) = in_entry(dialect, &joined(path, name), inner)
        {
            return Some(found);
        }
    }
    PARTS.iter().find_map(|name| {
        let parts = entry.get(*name)?.as_array()?.iter().enumerate();
        let mut parts = parts.filter_map(|(at, part)| Some((at, part.as_object()?)));
        parts.find_map(|(at, part)| {
            let marker = of_other_dialect(of_part(name, part))?;
            Some((format!("{}[{at}]", joined(path, name)), marker))
        })
    })
}

fn joined(path: &str, name: &str) -> String {
    match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    }
}

/// Whether `dialect` decodes documents of the dialect named `of`, which stands for its family.
fn reads(dialect: Dialect, of: &str) -> bool {
    let anthropic = [Dialect::BedrockMessages, Dialect::BedrockInvoke];
    let chat = [Dialect::FunctionsInline, Dialect::MistralChat];
    of == dialect.name()
        || (of == "agent-framework" && dialect == Dialect::Neutral)
        || (of == "neutral" && dialect == Dialect::AgentFramework)
        || (of == "anthropic-messages" && anthropic.contains(&dialect))
        || (of == "functions" && chat.contains(&dialect))
}

/// A content of Agent Framework or of the neutral form may stand alone; its calls look like items.
fn is_content(dialect: Dialect, entry: &JsonObject) -> bool {
    let kind = kind(entry);
    let is_function = matches!(kind, "function_call" | "function_result");
    let is_neutral = dialect == Dialect::Neutral;
    let is_call = matches!(kind, "computer_call" | "shell_call");
    let has_functions = is_neutral || dialect == Dialect::AgentFramework;
    (is_neutral && is_call) || (has_functions && is_function && entry.contains_key("call_id"))
}

fn of_entry(entry: &JsonObject) -> Option<Marker> {
    let has = |name: &str| entry.contains_key(name);
    let is_object = |name: &str| entry.get(name).is_some_and(Value::is_object);
    let calls = entry.get("tool_calls").and_then(Value::as_array);
    if calls.is_some_and(|calls| !calls.is_empty()) {
        return marker("tool_calls", "functions");
    }
    let of_agents = ["invocationInputs", "returnControl", "sessionState"];
    if let Some(name) = of_agents.into_iter().find(|name| has(name)) {
        return marker(name, "bedrock-agents");
    }
    let by_kind = |kinds: &[&'static str], of| {
        let kind = kind(entry);
        let name = kinds.iter().find(|name| **name == kind)?;
        marker(name, of)
    };
    if has("call_id")
        && let Some(found) = by_kind(&OPENAI, "openai-responses")
    {
        return Some(found);
    }
    let of_steps = match kind(entry) {
        "function_call" => has("id") && is_object("arguments"),
        "function_result" => has("call_id") && has("result"),
        _ => false,
    };
    let steps = ["function_call", "function_result"];
    let found = of_steps.then(|| by_kind(&steps, "google-interactions"));
    found
        .flatten()
        .or_else(|| by_kind(&MISTRAL, "mistral-conversations"))
}

fn of_part(list: &str, part: &JsonObject) -> Option<Marker> {
    let has = |name: &str| part.contains_key(name);
    let member = |names: [&'static str; 2], of| {
        let is_object = |name: &&str| part.get(*name).is_some_and(Value::is_object);
        marker(names.into_iter().find(|name| is_object(name))?, of)
    };
    let found = member(["toolUse", "toolResult"], "bedrock-converse").or_else(|| {
        member(
            ["functionCall", "functionResponse"],
            "google-generate-content",
        )
    });
    if found.is_some() {
        return found;
    }
    match kind(part) {
        "tool_use" if has("id") && has("name") => marker("tool_use", "anthropic-messages"),
        "tool_result" if has("tool_use_id") => marker("tool_result", "anthropic-messages"),
        kind if list == "contents" && has("call_id") => {
            let of = |names: &[&'static str], dialect| {
                let name = names.iter().find(|name| **name == kind)?;
                marker(name, dialect)
            };
            of(&FRAMEWORK, "agent-framework").or_else(|| of(&NEUTRAL, "neutral"))
        }
        _ => None,
    }
}
