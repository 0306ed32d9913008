//! Decodes one neutral content. One that is invalid stays in the history: a call is answered with
//! an error, a result keeps its call answered, anything else is an unknown content.

use serde_json::{Map, Value};
use telechir_protocol::{
    Arguments, CallId, ComputerCall, ComputerResult, Content, EditCall, EditResult, EditTool,
    Failure, FailureKind, FunctionCall, FunctionResult, Meta, Raw, ShellCall, ShellResult,
    TextContent, UnknownContent,
};

use super::call_ids::CallIds;
use crate::Report;
use crate::history::turns::pair_id;

/// The dialect's name on the command line and in raw representations.
pub(super) const DIALECT: &str = "neutral";

/// Types of calls that a session answers, also in other spellings.
pub(super) const CALLS: [&str; 7] = [
    "computer_call",
    "computer_tool_call",
    "shell_call",
    "shell_tool_call",
    "edit_call",
    "function_call",
    "function",
];

/// Other spellings of the types of calls and results.
const ALIASES: [(&str, &str); 5] = [
    ("function", "function_call"),
    ("computer_tool_call", "computer_call"),
    ("computer_tool_result", "computer_result"),
    ("shell_tool_call", "shell_call"),
    ("shell_tool_result", "shell_result"),
];

/// Members with a list of contents; `outputs` has contents in hosted results only.
const NESTED: [&str; 4] = ["items", "inputs", "results", "outputs"];
/// Members with a list of objects whose members may be null.
const PARTS: [&str; 3] = ["actions", "steps", "pending_safety_checks"];

/// Decodes a content.
pub(super) fn content(
    original: Map<String, Value>,
    location: &str,
    ids: &mut CallIds,
    report: &mut Report,
) -> Content {
    let mut members = original.clone();
    let kind = kind(&members);
    remove_nulls(&mut members);
    wrap_invalid_parts(&kind, &mut members, location, report);
    if kind == "function_call" && !members.contains_key("returned_arguments") {
        // A function without parameters may be called without arguments.
        members
            .entry("arguments")
            .or_insert_with(|| Map::new().into());
    }
    ids.complete(&kind, &mut members, location, report);
    let problem = match serde_json::from_value(Value::Object(members.clone())) {
        Ok(content) => return with_spelling(content, original),
        Err(error) => error.to_string(),
    };
    let Some(mut content) = unreadable(&kind, members, &problem) else {
        let why = format!("it is invalid: {problem}");
        report.preserved(&kind, location, why, "as an unknown content");
        return Content::Other(UnknownContent::new(DIALECT, original));
    };
    if kind.ends_with("_result") {
        let why = format!("it is invalid: {problem}");
        report.preserved(&kind, location, why, "as a result with this error");
    }
    if let Some(meta) = content.meta_mut() {
        meta.raw_representation = Some(Raw::new(DIALECT, Value::Object(original)));
    }
    content
}

/// A text that is a string instead of a content.
pub(super) fn text(text: String) -> Content {
    let mut content = TextContent::new(text.clone());
    content.meta.raw_representation = Some(Raw::new(DIALECT, text.into()));
    Content::Text(content)
}

/// Keeps the original JSON if the content would be written differently, such as an alias.
fn with_spelling(mut content: Content, original: Map<String, Value>) -> Content {
    let original = Value::Object(original);
    let is_same = serde_json::to_value(&content).is_ok_and(|json| json == original);
    if let Some(meta) = content.meta_mut()
        && !is_same
        && meta.raw_representation.is_none()
    {
        meta.raw_representation = Some(Raw::new(DIALECT, original));
    }
    content
}

/// The original JSON of a content, unless it was changed since.
pub(super) fn original(content: &Content) -> Option<Value> {
    let again = |mut members: Map<String, Value>, call_id: Option<&CallId>| {
        if let Some(call_id) = call_id {
            // One that was assigned is not in the original.
            members
                .entry("call_id")
                .or_insert_with(|| call_id.as_str().into());
        }
        let (mut ids, mut report) = (CallIds::default(), Report::default());
        self::content(members, "", &mut ids, &mut report)
    };
    if let Content::Other(other) = content {
        let is_unchanged = again(other.json.clone(), None) == *content;
        return is_unchanged.then(|| Value::Object(other.json.clone()));
    }
    let raw = content.meta()?.raw_representation.as_ref()?;
    if let Some(plain) = raw.json().as_str() {
        return (*content == text(plain.to_owned())).then(|| raw.json().clone());
    }
    let members = raw.json().as_object().filter(|_| raw.dialect == DIALECT)?;
    let mut again = again(members.clone(), pair_id(content));
    again.meta_mut()?.raw_representation = Some(raw.clone());
    (again == *content).then(|| raw.json().clone())
}

fn kind(members: &Map<String, Value>) -> String {
    let kind = members.get("type").and_then(Value::as_str);
    let kind = kind.unwrap_or_default();
    let canonical = ALIASES.iter().find(|(alias, _)| *alias == kind);
    canonical
        .map_or(kind, |(_, canonical)| canonical)
        .to_owned()
}

/// Removes members that are null: they are not set. A value to enter may be null.
fn remove_nulls(members: &mut Map<String, Value>) {
    let is_input = |name: &str| name == "value";
    members.retain(|name, value| !value.is_null() || is_input(name));
    for part in PARTS {
        let parts = members.get_mut(part).and_then(Value::as_array_mut);
        for part in parts.into_iter().flatten().filter_map(Value::as_object_mut) {
            part.retain(|name, value| !value.is_null() || is_input(name));
        }
    }
    if let Some(Value::Object(action)) = members.get_mut("action") {
        action.retain(|name, value| !value.is_null() || is_input(name));
    }
    for list in NESTED {
        let contents = members.get_mut(list).and_then(Value::as_array_mut);
        for content in contents.into_iter().flatten() {
            if let Value::Object(content) = content {
                remove_nulls(content);
            }
        }
    }
    if let Some(Value::Object(call)) = members.get_mut("call") {
        remove_nulls(call);
    }
}

/// Wraps contents inside this one that are invalid, so that only they are unknown.
fn wrap_invalid_parts(
    kind: &str,
    members: &mut Map<String, Value>,
    location: &str,
    report: &mut Report,
) {
    let of_shell = kind == "shell_result";
    for list in NESTED
        .iter()
        .filter(|list| !of_shell || **list != "outputs")
    {
        let contents = members.get_mut(*list).and_then(Value::as_array_mut);
        for (at, content) in contents.into_iter().flatten().enumerate() {
            if let Err(problem) = serde_json::from_value::<Content>(content.clone()) {
                let location = format!("{location}.{list}[{at}]");
                let why = format!("it is invalid: {problem}");
                report.preserved("a content", location, why, "as an unknown content");
                let json = match content.take() {
                    Value::Object(members) => members,
                    other @ (Value::Null
                    | Value::Bool(_)
                    | Value::Number(_)
                    | Value::String(_)
                    | Value::Array(_)) => Map::from_iter([("value".to_owned(), other)]),
                };
                *content = serde_json::json!({"type": "unknown_content", "json": json});
            }
        }
    }
}

/// A call or result for JSON that does not have the members of its type; none for other types.
fn unreadable(kind: &str, members: Map<String, Value>, problem: &str) -> Option<Content> {
    let call_id = members.get("call_id").and_then(Value::as_str);
    let call_id = call_id.map(CallId::from)?;
    let failure = || Failure::new(FailureKind::InvalidInput, problem);
    Some(match kind {
        "computer_call" | "shell_call" | "edit_call" => unreadable_call(kind, members, problem),
        "function_call" => Content::FunctionCall(function_call(&members, problem)),
        "computer_result" => Content::ComputerResult(ComputerResult::err(call_id, failure())),
        "shell_result" => {
            let mut result = ShellResult::new(call_id, Vec::new());
            result.error = Some(failure());
            Content::ShellResult(result)
        }
        "edit_result" => Content::EditResult(EditResult {
            call_id,
            text: None,
            error: Some(failure()),
            meta: Meta::default(),
        }),
        "function_result" => Content::FunctionResult(FunctionResult {
            call_id: Some(call_id),
            name: members
                .get("name")
                .and_then(Value::as_str)
                .map(str::to_owned),
            items: Vec::new(),
            result: Some(Value::Object(members)),
            error: None,
            meta: Meta::default(),
        }),
        _ => return None,
    })
}

/// A call that is answered with the problem. As many of its members as possible are decoded.
fn unreadable_call(kind: &str, mut members: Map<String, Value>, problem: &str) -> Content {
    let exception = members.entry("exception").or_insert_with(|| problem.into());
    if !exception.is_string() {
        *exception = problem.into();
    }
    if let Ok(content) = serde_json::from_value(Value::Object(members.clone())) {
        return content;
    }
    let call_id = members.get("call_id").and_then(Value::as_str);
    let call_id = CallId::from(call_id.unwrap_or_default());
    let exception = Some(problem.to_owned());
    let mut content = match kind {
        "computer_call" => {
            let mut call = ComputerCall::new(call_id, Vec::new());
            call.exception = exception;
            Content::ComputerCall(call)
        }
        "shell_call" => {
            let mut call = ShellCall::execute(call_id, Vec::new());
            call.exception = exception;
            Content::ShellCall(call)
        }
        _ => Content::EditCall(EditCall {
            call_id,
            item_id: None,
            tool: EditTool::Editor,
            operations: Vec::new(),
            exception,
            meta: Meta::default(),
        }),
    };
    members.retain(|name, _| !["type", "call_id", "exception"].contains(&name.as_str()));
    if let Some(meta) = content.meta_mut() {
        meta.set_property(DIALECT, "unreadable", members.into());
    }
    content
}

/// A function call with arguments that are neither an object nor a string, or without a name.
fn function_call(members: &Map<String, Value>, problem: &str) -> FunctionCall {
    let text = |name: &str| members.get(name).and_then(Value::as_str).map(str::to_owned);
    let arguments = ["arguments", "returned_arguments"];
    let arguments = arguments.iter().find_map(|name| members.get(*name));
    let arguments = match arguments {
        None => Arguments::Json(Map::new()),
        Some(Value::Object(members)) => Arguments::Json(members.clone()),
        Some(Value::String(text)) => Arguments::Text(text.clone()),
        Some(other) => Arguments::Text(other.to_string()),
    };
    FunctionCall {
        call_id: text("call_id").map(CallId::from),
        item_id: text("item_id").or_else(|| text("id")),
        exception: Some(problem.to_owned()),
        ..FunctionCall::new(text("name").unwrap_or_default(), arguments)
    }
}
