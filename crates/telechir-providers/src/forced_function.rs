//! The function that a request forces the model to call: often structured output in disguise.

use std::borrow::Cow;

use serde_json::Value;
use telechir_protocol::{Content, Message};

/// Where documents have the choice of a tool.
const CHOICES: [&str; 6] = [
    "/tool_choice",
    "/toolConfig/toolChoice",
    "/toolConfig/functionCallingConfig",
    "/tool_config/function_calling_config",
    "/generation_config/tool_choice",
    "/inferenceConfig/toolChoice",
];

/// Where a choice has the name of its only function.
const NAMES: [&str; 5] = [
    "/name",
    "/function/name",
    "/tool/name",
    "/allowed_tools/tools",
    "/allowedFunctionNames",
];

/// The name of the function that the request, or the response that repeats it, forces.
pub(crate) fn name_in(document: &Value) -> Option<String> {
    let choices = CHOICES.iter().filter_map(|path| document.pointer(path));
    choices.filter_map(name_of).next().map(str::to_owned)
}

fn name_of(choice: &Value) -> Option<&str> {
    // One of several functions is not forced, and `AUTO` forces none.
    if matches!(
        choice["mode"].as_str(),
        Some("AUTO" | "NONE" | "auto" | "none" | "VALIDATED")
    ) {
        return None;
    }
    let found = NAMES.iter().find_map(|path| choice.pointer(path))?;
    match found {
        Value::String(name) => Some(name),
        Value::Array(names) => match names.as_slice() {
            [only] => only.as_str(),
            _ => None,
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

/// Messages without the marks, which no provider's JSON has.
pub(crate) fn without_marks(messages: &[Message]) -> Cow<'_, [Message]> {
    let is_marked = |content: &Content| matches!(content, Content::FunctionCall(call) if call.could_be_structured_output);
    if !messages
        .iter()
        .any(|message| message.contents.iter().any(is_marked))
    {
        return Cow::Borrowed(messages);
    }
    let mut messages = messages.to_vec();
    for content in messages
        .iter_mut()
        .flat_map(|message| &mut message.contents)
    {
        if let Content::FunctionCall(call) = content {
            call.could_be_structured_output = false;
        }
    }
    Cow::Owned(messages)
}
