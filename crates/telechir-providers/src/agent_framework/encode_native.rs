//! Encodes a neutral content in the framework's fields, as its `to_dict` does.

use serde_json::{Map, Value, json};
use telechir_protocol::{
    ComputerCall, ComputerResult, Content, FunctionCall, FunctionResult, HostedCall, Media, Meta,
    SafetyCheck, ShellCall, ShellOutcome, ShellResult, UnknownContent,
};

use super::function_mapping::{self, FunctionCalls};
use super::{DIALECT, PROVIDER, decode};
use crate::openai::action::ActionEncoder;

/// Marks a text that repeats another content for the model.
pub(super) const REPEATED_CALL: &str = "said_for";

/// The framework's content types; it rejects other types and fields.
const CONTENT_TYPES: [&str; 26] = [
    "text",
    "text_reasoning",
    "data",
    "uri",
    "error",
    "function_call",
    "function_result",
    "usage",
    "hosted_file",
    "hosted_vector_store",
    "code_interpreter_tool_call",
    "code_interpreter_tool_result",
    "image_generation_tool_call",
    "image_generation_tool_result",
    "mcp_server_tool_call",
    "mcp_server_tool_result",
    "search_tool_call",
    "search_tool_result",
    "shell_tool_call",
    "shell_tool_result",
    "shell_command_output",
    "computer_tool_call",
    "computer_tool_result",
    "function_approval_request",
    "function_approval_response",
    "oauth_consent_request",
];

/// Whether the framework has this content type.
pub(super) fn has_type(kind: Option<&str>) -> bool {
    kind.is_some_and(|kind| CONTENT_TYPES.contains(&kind))
}

/// Whether the content is the framework's own; other providers may use the same type.
pub(super) fn is_own(other: &UnknownContent) -> bool {
    let is_same =
        |content: &Content| matches!(content, Content::Other(same) if same.json == other.json);
    other
        .dialect
        .as_deref()
        .is_none_or(|dialect| dialect == DIALECT)
        && has_type(other.kind.as_deref())
        && is_same(&decode::plain(
            other.json.clone(),
            &FunctionCalls::default(),
        ))
}

/// Encodes a content that follows these calls.
pub(super) fn encoded(content: &Content, calls: &FunctionCalls) -> Value {
    if calls.is_result_of_function(content) {
        function_result_of(content)
    } else {
        self::content(content)
    }
}

/// Encodes the result of a call that was encoded as a function call; other contents like
/// [`content`].
pub(super) fn function_result_of(content: &Content) -> Value {
    match function_mapping::encode_result(content) {
        Some(members) => finished(members, content.meta()),
        None => self::content(content),
    }
}

/// Encodes a content in the framework's fields. Drops what they cannot represent.
pub(super) fn content(content: &Content) -> Value {
    if let Some(members) = function_mapping::encode_call(content) {
        return finished(members, content.meta());
    }
    let members = match content {
        Content::Text(text) => json!({"type": "text", "text": text.text}),
        Content::Reasoning(reasoning) => json!({
            "type": "text_reasoning", "id": reasoning.item_id, "text": reasoning.text,
            "protected_data": reasoning.protected_data,
        }),
        Content::Data(data) => {
            json!({"type": "data", "uri": data.uri, "media_type": data.media_type(), "name": data.name})
        }
        Content::Uri(uri) => {
            json!({"type": "uri", "uri": uri.uri, "media_type": uri.media_type})
        }
        Content::HostedFile(file) => {
            json!({"type": "hosted_file", "file_id": file.file_id, "media_type": file.media_type, "name": file.name})
        }
        Content::FunctionCall(call) => function_call(call),
        Content::FunctionResult(result) => function_result(result),
        Content::ComputerCall(call) => computer_call(call),
        Content::ComputerResult(result) => computer_result(result),
        Content::ShellCall(call) => shell_call(call),
        Content::ShellResult(result) => shell_result(result),
        Content::EditCall(_) | Content::EditResult(_) => {
            function_mapping::encode_result(content).unwrap_or_default()
        }
        Content::CommandCall(call) => json!({
            "type": "code_interpreter_tool_call", "call_id": call.call_id,
            "inputs": all(&call.inputs), "status": call.status,
        }),
        Content::CommandResult(result) => json!({
            "type": "code_interpreter_tool_result", "call_id": result.call_id,
            "outputs": all(&result.results), "status": result.status,
        }),
        Content::ImageGenerationCall(call) => {
            json!({"type": "image_generation_tool_call", "image_id": call.call_id})
        }
        Content::ImageGenerationResult(result) => images(result),
        Content::ApprovalRequest(request) => json!({
            "type": "function_approval_request", "id": request.id,
            "function_call": self::content(&request.call), "user_input_request": true,
        }),
        Content::ApprovalResponse(response) => json!({
            "type": "function_approval_response", "id": response.id, "approved": response.approved,
            "function_call": response.call.as_deref().map(self::content),
        }),
        Content::Usage(usage) => json!({"type": "usage", "usage_details": {
            "input_token_count": usage.input_token_count,
            "output_token_count": usage.output_token_count,
            "total_token_count": usage.total_token_count,
        }}),
        Content::Error(error) => json!({
            "type": "error", "message": error.message, "error_code": error.error_code,
            "error_details": error.error_details.as_ref().map(text_of),
        }),
        Content::Other(other) if is_own(other) => return Value::Object(other.json.clone()),
        // The framework rejects unknown types; an empty text carries the sidecar.
        Content::Other(_) => json!({"type": "text", "text": ""}),
    };
    finished(members, content.meta())
}

/// Removes absent fields and adds the annotations and properties.
fn finished(mut json: Value, meta: Option<&Meta>) -> Value {
    without_null(&mut json);
    let Value::Object(members) = &mut json else {
        return json;
    };
    let annotations = meta.map(|meta| &meta.annotations);
    if let Some(annotations) = annotations.filter(|annotations| !annotations.is_empty()) {
        members.insert("annotations".to_owned(), annotations.clone().into());
    }
    let properties = meta.map(|meta| meta.additional_properties.clone());
    let mut properties = properties.unwrap_or_default();
    // The type and the server's name represent them.
    properties.shift_remove(PROVIDER);
    members.insert(
        "additional_properties".to_owned(),
        Value::Object(properties),
    );
    json
}

fn without_null(value: &mut Value) {
    if let Value::Object(members) = value {
        members.retain(|_, value| !value.is_null());
        if let Some(usage) = members.get_mut("usage_details") {
            without_null(usage);
        }
    }
}

fn all(contents: &[Content]) -> Vec<Value> {
    contents.iter().map(content).collect()
}

pub(super) fn media(media: &Media) -> Value {
    content(&Content::from(media.clone()))
}

fn text_of(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn hosted(meta: &Meta) -> Option<&str> {
    meta.property(PROVIDER, "type")?.as_str()
}

fn function_call(call: &FunctionCall) -> Value {
    let arguments = serde_json::to_value(&call.arguments).unwrap_or_default();
    if let Some(kind) = hosted(&call.meta) {
        return json!({
            "type": kind, "call_id": call.call_id, "tool_name": call.name,
            "server_name": call.meta.property(PROVIDER, "server_name"), "arguments": arguments,
        });
    }
    json!({
        "type": "function_call", "call_id": call.call_id.as_ref().map_or("", |id| id.as_str()),
        "name": call.name, "arguments": arguments, "exception": call.exception, "id": call.item_id,
        "hosted": false,
        "informational_only": (!call.requires_local_execution).then_some(true),
    })
}

fn function_result(result: &FunctionResult) -> Value {
    if let Some(kind) = hosted(&result.meta) {
        let member = if kind.starts_with("mcp") {
            "output"
        } else {
            "result"
        };
        let items = (!result.items.is_empty()).then(|| all(&result.items));
        return json!({
            "type": kind, "call_id": result.call_id, "tool_name": result.name,
            member: result.result, "items": items,
        });
    }
    let text = |item: &Content| {
        let Content::Text(text) = item else {
            return None;
        };
        Some(text.text.clone())
    };
    let texts = result.items.iter().filter_map(text);
    let texts = texts.collect::<Vec<_>>().join("\n");
    let error = result.error.as_ref().map(|error| error.message.clone());
    let text = result.result.as_ref().map(text_of);
    let text = text.unwrap_or_else(|| match &error {
        Some(error) if texts.is_empty() => error.clone(),
        _ => texts,
    });
    let items = match result.items.as_slice() {
        [] => vec![content(&Content::text(text.clone()))],
        items => all(items),
    };
    json!({
        "type": "function_result", "call_id": result.call_id.as_ref().map_or("", |id| id.as_str()),
        "result": text, "items": items, "exception": error,
    })
}

fn computer_call(call: &ComputerCall) -> Value {
    // Each action is encoded separately: the framework passes on actions of the service, and
    // actions that the service does not have use our own names.
    let actions = call.actions.iter().flat_map(|action| {
        let native = ActionEncoder::default().encode(std::slice::from_ref(action));
        native.map_or_else(|| vec![Value::Object(action.to_json())], |(text, _)| text)
    });
    let actions: Vec<Value> = actions
        .map(|mut action| {
            if let Some(members) = action.as_object_mut() {
                members.retain(|_, value| !value.is_null());
            }
            action
        })
        .collect();
    let is_question = !call.pending_safety_checks.is_empty();
    json!({
        "type": "computer_tool_call",
        "id": call.item_id.as_deref().unwrap_or_else(|| call.call_id.as_str()),
        "call_id": call.call_id, "actions": actions, "status": call.status,
        "pending_safety_checks": checks(&call.pending_safety_checks),
        "user_input_request": is_question.then_some(true),
    })
}

fn checks(checks: &[SafetyCheck]) -> Option<Value> {
    let check = |check: &SafetyCheck| {
        let mut json = json!({"id": check.id, "code": check.code, "message": check.message});
        without_null(&mut json);
        json
    };
    (!checks.is_empty()).then(|| checks.iter().map(check).collect())
}

fn computer_result(result: &ComputerResult) -> Value {
    json!({
        "type": "computer_tool_result", "call_id": result.call_id, "id": result.item_id,
        "screenshot": result.screenshot.as_ref().map(media),
        "acknowledged_safety_checks": checks(&result.acknowledged_safety_checks),
    })
}

/// The text of a computer result, for which the framework has no field.
pub(super) fn text_of_result(result: &ComputerResult) -> Option<String> {
    let error = result.error.as_ref().map(|error| error.message.as_str());
    let texts: Vec<&str> = error
        .into_iter()
        .chain(result.text_output.as_deref())
        .collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

fn shell_call(call: &ShellCall) -> Value {
    let commands: Vec<String> = call
        .commands
        .iter()
        .map(|command| command.to_line())
        .collect();
    json!({
        "type": "shell_tool_call", "call_id": call.call_id, "commands": commands,
        "timeout_ms": call.timeout_ms, "max_output_length": call.max_output, "status": call.status,
    })
}

fn shell_result(result: &ShellResult) -> Value {
    let output = |stdout: &str, stderr: &str, exit_code: Option<i32>, timed_out: bool| {
        let mut json = json!({
            "type": "shell_command_output", "stdout": stdout, "stderr": stderr,
            "exit_code": exit_code, "timed_out": timed_out, "additional_properties": {},
        });
        without_null(&mut json);
        json
    };
    let mut outputs: Vec<Value> = result
        .outputs
        .iter()
        .map(|one| {
            let timed_out = one.outcome == ShellOutcome::Timeout;
            output(&one.stdout, &one.stderr, one.exit_code, timed_out)
        })
        .collect();
    if let Some(error) = result.error.as_ref().filter(|_| outputs.is_empty()) {
        // A command that was not started is encoded like one that failed.
        outputs.push(output("", &error.message, Some(1), false));
    }
    json!({
        "type": "shell_tool_result", "call_id": result.call_id, "outputs": outputs,
        "max_output_length": result.max_output,
    })
}

fn images(result: &HostedCall) -> Value {
    let outputs = match result.results.as_slice() {
        [] => None,
        [only] => Some(content(only)),
        many => Some(all(many).into()),
    };
    json!({"type": "image_generation_tool_result", "image_id": result.call_id, "outputs": outputs})
}

/// Whether two contents of the framework are equal. The framework replaces exceptions by a fixed
/// text and adds items to a result without any, which is ignored.
pub(super) fn is_equal(own: &Value, native: &Value) -> bool {
    let (Value::Object(own), Value::Object(native)) = (own, native) else {
        return false;
    };
    let mut names = own.keys().chain(native.keys());
    names.all(|name| {
        let (own, native) = (own.get(name), native.get(name));
        match name.as_str() {
            "exception" => own.is_some() == native.is_some(),
            "additional_properties" => properties(own) == properties(native),
            _ => own == native,
        }
    })
}

fn properties(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value?.as_object().filter(|members| !members.is_empty())
}
