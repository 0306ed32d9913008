//! Encodes contents as steps, and the results of a turn.

use serde_json::{Map, Value, json};
use telechir_protocol::{
    AnsweredTurn, Content, HostedCall, ReasoningContent, ToolResult, UnknownContent,
};

use super::DIALECT;
use super::content::{of_media, passed_on};
use super::decode_step::{self, FORM, restore_fields};
use super::envelope::is_placeholder;
use crate::google::context::GoogleContext;
use crate::google::encode_call::{self, EncodedFunctionCall};
use crate::google::generate::content_of;
use crate::google::media::hosted_text;
use crate::google::tool_result::{self, ACKNOWLEDGED, FunctionResponse};
use crate::google::{PROVIDER, split_calls, text};
use crate::history::turns::meta_of;
use crate::{EncodedReply, Report};

/// Encodes the results of a turn as the steps of the next input, in the order of the calls.
pub(super) fn write_answers(turn: &AnsweredTurn) -> EncodedReply {
    let mut reply = EncodedReply::default();
    for (call, result) in turn.pairs() {
        let content = content_of(&call);
        let encoded = function_calls(&content, result);
        reply
            .items
            .extend(results(&encoded, result, &mut reply.report));
    }
    tool_result::note_unacknowledged(turn, &mut reply.report);
    reply
}

/// The function calls of the model; for a call of another dialect, the ones it would be encoded as.
fn function_calls(content: &Content, result: &ToolResult) -> Vec<EncodedFunctionCall> {
    if let Some(steps) = unchanged(content, &GoogleContext::default()) {
        return called(&steps);
    }
    encode_call::write_again(content, result)
}

/// The function calls in unchanged steps.
pub(super) fn called(steps: &[Value]) -> Vec<EncodedFunctionCall> {
    let stands = |step: &&Value| !step.as_object().is_some_and(is_placeholder);
    let calls: Vec<&Value> = steps.iter().filter(stands).collect();
    let count = calls.len();
    let call = |(at, step): (usize, &Value)| {
        let step = step.as_object()?;
        Some(EncodedFunctionCall {
            id: text(step, "id")?.into(),
            name: text(step, "name").unwrap_or_default().to_owned(),
            args: Value::Null,
            action: (count > 1).then_some(at),
        })
    };
    calls.into_iter().enumerate().filter_map(call).collect()
}

/// The original steps of a content, if it still means the same. Texts and images are not steps by
/// themselves.
pub(super) fn unchanged(content: &Content, context: &GoogleContext) -> Option<Vec<Value>> {
    if let Content::Other(other) = content {
        return own(other).map(|step| vec![Value::Object(step.clone())]);
    }
    let raw = content
        .meta()?
        .raw_representation
        .as_ref()
        .filter(|raw| raw.dialect == DIALECT)?;
    let read = |step: &Value| decode_step::read(step.as_object()?, context).contents.pop();
    let stands = |step: &&Value| !step.as_object().is_some_and(is_placeholder);
    match raw.json() {
        Value::Object(json) if is_step(json) => {
            (read(raw.json()).as_ref() == Some(content)).then(|| vec![raw.json().clone()])
        }
        Value::Array(steps) => {
            let read: Option<Vec<Content>> = steps.iter().filter(stands).map(read).collect();
            let mut joined = split_calls::join(read?);
            // Joined parts keep all their steps.
            if let [only] = joined.as_mut_slice()
                && let Some(meta) = only.meta_mut()
            {
                meta.raw_representation = Some(raw.clone());
            }
            (joined.as_slice() == std::slice::from_ref(content)).then(|| steps.clone())
        }
        _ => None,
    }
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

/// Encodes a call as steps.
pub(super) fn call_steps(content: &Content, encoded: &[EncodedFunctionCall]) -> Vec<Value> {
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

/// Encodes the results for these function calls.
pub(super) fn results(
    encoded: &[EncodedFunctionCall],
    result: &ToolResult,
    report: &mut Report,
) -> Vec<Value> {
    let answers = tool_result::write(encoded, result, report);
    let meta = meta_of(result);
    let write = |(encoded, answer): (&EncodedFunctionCall, FunctionResponse)| {
        let form = meta.property(PROVIDER, FORM).and_then(Value::as_str);
        let is_error = meta.property(PROVIDER, "is_error").is_some();
        let mut step = result_step(encoded, answer, form, report);
        if is_error && step.get("is_error").is_none() {
            step["is_error"] = false.into();
        }
        restore_fields(&mut step, meta);
        step
    };
    encoded.iter().zip(answers).map(write).collect()
}

/// Encodes one result. The documentation does not say whether the approval belongs beside the
/// result or inside it, so it is in both.
pub(super) fn result_step(
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
    if answer.response.contains_key(ACKNOWLEDGED) {
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

/// Encodes a content that is neither a call, a result nor text; `None` if it cannot be encoded,
/// which is reported, or is not part of a conversation.
pub(super) fn plain(content: &Content, location: &str, report: &mut Report) -> Option<Value> {
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
            let what = match other {
                Content::Error(error) => format!("error {:?}", error.message),
                Content::Other(other) => {
                    format!(
                        "content of type {:?}",
                        other.kind.as_deref().unwrap_or_default()
                    )
                }
                Content::ImageGenerationCall(_) => "an image generation call".to_owned(),
                Content::ImageGenerationResult(_) => "a generated image".to_owned(),
                Content::ApprovalRequest(request) => format!("approval request {}", request.id),
                Content::ApprovalResponse(given) => format!("approval response {}", given.id),
                _ => "a content".to_owned(),
            };
            report.lost(what, location, "there is no such step");
            return None;
        }
    };
    if let Some(meta) = content.meta() {
        restore_fields(&mut step, meta);
    }
    Some(step)
}

/// Reasoning is only accepted by the provider that created it.
fn thought(reasoning: &ReasoningContent, location: &str, report: &mut Report) -> Option<Value> {
    if reasoning.meta.property(PROVIDER, "thought").is_none() {
        let why = "the provider accepts only its own reasoning";
        report.lost("reasoning", location, why);
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
    let mut step = json!({"type": "code_execution_result", "call_id": id, "result": output});
    if failed {
        step["is_error"] = true.into();
    }
    step
}
