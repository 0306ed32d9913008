//! Encodes contents as steps.

use serde_json::{Map, Value, json};
use telechir_protocol::{
    CallId, Content, HostedCall, Meta, ReasoningContent, ToolResult, UnknownContent,
};

use super::DIALECT;
use super::content::{of_media, passed_on};
use super::decode_step::{self, FORM, restore_fields};
use super::envelope;
use crate::Report;
use crate::google::call_encoder::{CallForm, is_own_reasoning, label};
use crate::google::context::GoogleContext;
use crate::google::encode_call::EncodedFunctionCall;
use crate::google::media::hosted_text;
use crate::google::tool_result::{ACKNOWLEDGED, FunctionResponse, is_approval};
use crate::google::{PROVIDER, text};

/// Steps. Texts and images are not steps by themselves.
pub(super) struct Steps;

impl CallForm for Steps {
    const DIALECT: &'static str = DIALECT;

    fn passed_on(other: &UnknownContent) -> Option<&Map<String, Value>> {
        own(other)
    }

    fn read(json: &Map<String, Value>, _id: &CallId, context: &GoogleContext) -> Option<Content> {
        is_step(json).then(|| decode_step::read(json, context).contents.pop())?
    }

    fn is_placeholder(json: &Map<String, Value>) -> bool {
        envelope::is_placeholder(json)
    }

    fn function_call(json: &Map<String, Value>) -> Option<(Option<&str>, &str)> {
        let id = text(json, "id")?;
        Some((Some(id), text(json, "name").unwrap_or_default()))
    }

    fn calls(content: &Content, encoded: &[EncodedFunctionCall]) -> Vec<Value> {
        let write = |encoded: &EncodedFunctionCall| {
            let mut step = json!({
                "type": "function_call",
                "id": encoded.id.as_str(),
                "name": encoded.name,
                "arguments": encoded.args,
            });
            if let Some(meta) = content.meta() {
                restore_fields(&mut step, meta);
            }
            step
        };
        encoded.iter().map(write).collect()
    }

    fn result(
        encoded: &EncodedFunctionCall,
        response: FunctionResponse,
        meta: &Meta,
        report: &mut Report,
    ) -> Value {
        let form = meta.property(PROVIDER, FORM).and_then(Value::as_str);
        let mut step = result_step(encoded, response, form, report);
        let has_flag = meta.property(PROVIDER, "is_error").is_some();
        if has_flag && step.get("is_error").is_none() {
            step["is_error"] = false.into();
        }
        restore_fields(&mut step, meta);
        step
    }

    fn own_result(call: &Content, result: &ToolResult, report: &mut Report) -> Option<Vec<Value>> {
        Some(tool_search_results(
            id_of_tool_search(call)?,
            result,
            report,
        ))
    }

    fn plain(content: &Content, location: &str, report: &mut Report) -> Option<Value> {
        let mut step = match content {
            Content::Reasoning(reasoning) => thought(reasoning, location, report)?,
            Content::CommandCall(call) => code_call(call, location, report),
            Content::CommandResult(result) => code_result(result, location, report),
            // Usage is not part of a conversation, and an error is in the step around it.
            Content::Usage(_) => return None,
            Content::Error(error) if error.meta.property(PROVIDER, "step_error").is_some() => {
                return None;
            }
            other => {
                report.lost(label(other), location, "there is no such step");
                return None;
            }
        };
        if let Some(meta) = content.meta() {
            restore_fields(&mut step, meta);
        }
        Some(step)
    }
}

/// The type of a step with which the model searches for functions.
const TOOL_SEARCH: &str = "tool_search_call";

/// The id of a search for functions that the client carries out.
fn id_of_tool_search(content: &Content) -> Option<&str> {
    let raw = content.meta()?.raw_representation.as_ref()?;
    let step = raw.json().as_object().filter(|_| raw.dialect == DIALECT)?;
    (text(step, "type") == Some(TOOL_SEARCH))
        .then(|| text(step, "id"))
        .flatten()
}

/// The result of a search holds only functions; any other result follows as input of the user.
fn tool_search_results(id: &str, result: &ToolResult, report: &mut Report) -> Vec<Value> {
    let ToolResult::Function(result) = result else {
        return Vec::new();
    };
    let value = result.result.as_ref();
    let lists = [value, value.and_then(|value| value.get("tools"))];
    let found = lists.into_iter().flatten().find(|value| value.is_array());
    let functions = found.cloned().unwrap_or_else(|| json!([]));
    let mut steps = vec![json!({"type": "tool_search_result", "call_id": id, "result": functions})];
    let rest = match (&result.error, value) {
        (Some(error), _) => Some(format!("Error: {}", error.message)),
        (None, Some(Value::String(text))) => Some(text.clone()),
        (None, Some(value)) if found.is_none() => Some(value.to_string()),
        (None, _) => None,
    };
    if let Some(rest) = rest {
        let what = format!("the result of call {id}");
        let why = "the result of a search holds only functions";
        let how = "as input of the user after the results";
        report.preserved(&what, format!("call {id}"), why, how);
        let text = json!({"type": "text", "text": format!("{what}: {rest}")});
        steps.push(json!({"type": "user_input", "content": [text]}));
    }
    steps
}

/// Whether a step holds exactly one content.
fn is_step(json: &Map<String, Value>) -> bool {
    const STEPS: [&str; 5] = [
        "thought",
        "function_call",
        "function_result",
        "code_execution_call",
        "code_execution_result",
    ];
    text(json, "type").is_some_and(|kind| STEPS.contains(&kind))
}

/// The step of this dialect that a content carries unchanged. Neutral JSON that does not state the
/// dialect is recognized by its type.
fn own(other: &UnknownContent) -> Option<&Map<String, Value>> {
    if other.dialect.as_deref() == Some(DIALECT) {
        return Some(passed_on(other));
    }
    const PASSED: [&str; 20] = [
        "function_call",
        "function_result",
        "thought",
        "user_input",
        "model_output",
        "code_execution_call",
        "code_execution_result",
        "google_search_call",
        "google_search_result",
        "url_context_call",
        "url_context_result",
        "google_maps_call",
        "google_maps_result",
        "file_search_call",
        "file_search_result",
        "retrieval_call",
        "retrieval_result",
        "processing_call",
        "processing_result",
        "mcp_server_tool_call",
    ];
    let step = passed_on(other);
    let kind = text(step, "type").unwrap_or_default();
    // OpenAI has an item of this name with other fields.
    if kind == "file_search_call" && step.contains_key("queries") {
        return None;
    }
    (other.kind.as_deref() == Some("google_step")
        || PASSED.contains(&kind)
        || kind == "mcp_server_tool_result")
        .then_some(step)
}

/// Encodes one result. The documentation does not say whether the approval belongs beside the
/// result or inside it, so it is in both.
fn result_step(
    encoded: &EncodedFunctionCall,
    mut answer: FunctionResponse,
    form: Option<&str>,
    report: &mut Report,
) -> Value {
    let mut step = json!({
        "type": "function_result",
        "call_id": encoded.id.as_str(),
        "name": encoded.name,
    });
    if answer.response.contains_key("error") || answer.is_error {
        step["is_error"] = true.into();
    }
    if answer.response.get(ACKNOWLEDGED).is_some_and(is_approval) {
        answer.response.insert(ACKNOWLEDGED.to_owned(), true.into());
        step[ACKNOWLEDGED] = true.into();
    }
    let only = ["output", "error"]
        .iter()
        .find_map(|name| Some((*name, answer.response.get(*name)?.as_str()?)));
    let plain = match only {
        Some((name, text)) if answer.response.len() == 1 => {
            (name == "output" || form == Some("text")).then(|| text.to_owned())
        }
        _ => None,
    };
    let is_bare = answer.media.is_empty();
    step["result"] = match form {
        Some("object") if is_bare => answer.response.into(),
        Some("text") if is_bare => {
            let json = || Value::Object(answer.response.clone()).to_string();
            plain.unwrap_or_else(json).into()
        }
        _ => {
            let location = format!("result {}", encoded.id);
            let mut contents = Vec::new();
            if !answer.response.is_empty() || is_bare {
                let json = || Value::Object(answer.response.clone()).to_string();
                let text = plain
                    .filter(|_| is_plain_text(&answer))
                    .unwrap_or_else(json);
                contents.push(json!({"type": "text", "text": text}));
            }
            let media = answer.media.iter();
            contents.extend(media.filter_map(|media| of_media(media, &location, report)));
            contents.into()
        }
    };
    step
}

/// Whether the output decodes as text again, not as an object.
fn is_plain_text(answer: &FunctionResponse) -> bool {
    let output = answer.response.get("output").and_then(Value::as_str);
    output.is_some_and(|output| !output.trim_start().starts_with('{'))
}

fn thought(reasoning: &ReasoningContent, location: &str, report: &mut Report) -> Option<Value> {
    if !is_own_reasoning(reasoning, location, report) {
        return None;
    }
    let mut step = json!({"type": "thought"});
    if let Some(signature) = &reasoning.protected_data {
        step["signature"] = signature.as_str().into();
    }
    if let Some(summary) = reasoning.meta.property(PROVIDER, "summary") {
        step["summary"] = summary.clone();
    } else if let Some(text) = reasoning.text.as_deref().filter(|text| !text.is_empty()) {
        step["summary"] = json!([{"type": "text", "text": text}]);
    }
    Some(step)
}

fn code_call(call: &HostedCall, location: &str, report: &mut Report) -> Value {
    let mut arguments = Map::new();
    match call
        .meta
        .property(PROVIDER, "arguments")
        .and_then(Value::as_object)
    {
        Some(stored) => arguments.extend(stored.clone()),
        None => {
            let language = call.meta.property(PROVIDER, "language");
            let is_bash =
                call.meta.property("anthropic", "name") == Some(&"bash_code_execution".into());
            if is_bash {
                arguments.insert("language".to_owned(), "bash".into());
            } else if language != Some(&"LANGUAGE_UNSPECIFIED".into()) {
                let own = language.and_then(Value::as_str).map(str::to_lowercase);
                let language = own.unwrap_or_else(|| "python".to_owned());
                arguments.insert("language".to_owned(), language.into());
            }
        }
    }
    let code = hosted_text(call, location, report).unwrap_or_default();
    arguments.insert("code".to_owned(), code.into());
    let id = call.call_id.as_ref().map_or("", |id| id.as_str());
    json!({"type": "code_execution_call", "id": id, "arguments": arguments})
}

/// Statuses of failed code that `is_error` expresses; an error may also be beside a complete result.
const FAILED_STATUSES: [&str; 6] = [
    "",
    "OUTCOME_FAILED",
    "completed",
    "error",
    "failed",
    "success",
];

fn code_result(result: &HostedCall, location: &str, report: &mut Report) -> Value {
    let id = result.call_id.as_ref().map_or("", |id| id.as_str());
    let is_list = result.meta.property(PROVIDER, FORM).is_some();
    let output: Value = if is_list {
        let contents = result.results.iter();
        contents
            .filter_map(|content| super::content::write(content, location, report))
            .collect()
    } else {
        hosted_text(result, location, report)
            .unwrap_or_default()
            .into()
    };
    let failed = result
        .results
        .iter()
        .any(|content| matches!(content, Content::Error(_)));
    let status = result.status.as_deref().unwrap_or_default();
    let failed = failed || (status.starts_with("OUTCOME_") && status != "OUTCOME_OK");
    if failed && !FAILED_STATUSES.contains(&status) {
        let what = format!("outcome `{status}`");
        let why = "a step says only whether the code failed";
        report.preserved(what, location, why, "as `is_error`");
    }
    let mut step = json!({"type": "code_execution_result", "call_id": id, "result": output});
    if failed {
        step["is_error"] = true.into();
    }
    step
}
