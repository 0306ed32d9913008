//! Maps the framework's function calls and results to our tools, and back.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "no other content is a call or result of our tools"
)]

use std::collections::HashMap;

use serde_json::{Value, json};
use telechir_protocol::{
    ComputerCall, Content, FunctionCall, FunctionResult, Meta, ShellAction, ShellCall, ToolResult,
};

use super::{PROVIDER, encode_native};
use crate::extra_tools;
use crate::fallback_tools::{self, CallInfo, FunctionOutput};

/// The property for the function name that a call used.
const NAME: &str = "name";
/// The property for unknown fields of a function call or result.
const MEMBERS: &str = "members";

/// Calls so far that are function calls of our tools; their results are function results.
#[derive(Default)]
pub(super) struct FunctionCalls(HashMap<String, CallInfo>);

impl FunctionCalls {
    /// Collects the calls of a turn.
    pub(super) fn of(contents: &[Content]) -> Self {
        let mut calls = Self::default();
        contents.iter().for_each(|content| calls.note(content));
        calls
    }

    /// Records a call; the last call with an id is the one that a result refers to.
    pub(super) fn note(&mut self, content: &Content) {
        let Some((Some(id), known)) = fallback_tools::call_info(content) else {
            return;
        };
        if is_function(content) {
            self.0.insert(id.to_owned(), known);
        } else {
            self.0.remove(id);
        }
    }

    /// Whether this is the result of such a call.
    pub(super) fn is_result_of_function(&self, content: &Content) -> bool {
        let id = match content {
            Content::ComputerResult(result) => Some(&result.call_id),
            Content::ShellResult(result) => Some(&result.call_id),
            Content::EditResult(result) => Some(&result.call_id),
            _ => None,
        };
        id.is_some_and(|id| self.0.contains_key(id.as_str()))
    }

    /// Decodes a function result by the call it belongs to.
    pub(super) fn result(&self, result: FunctionResult) -> Content {
        let id = result.call_id.as_ref();
        match id.and_then(|id| self.0.get(id.as_str())) {
            Some(known) => decode_result(known, result),
            None => Content::FunctionResult(result),
        }
    }
}

fn decode_result(known: &CallInfo, result: FunctionResult) -> Content {
    let to_text = |value: Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    // The framework stores a text both as the result and as an item.
    let text = result
        .result
        .filter(|_| result.items.is_empty())
        .map(to_text);
    let mut meta = result.meta;
    set_aside(&mut meta);
    let answer = FunctionOutput {
        call_id: result.call_id,
        name: result.name,
        text,
        parts: result.items,
        meta,
    };
    let mut content = fallback_tools::decode_result(Some(known), answer);
    let error = match &mut content {
        Content::ComputerResult(result) => &mut result.error,
        Content::ShellResult(result) => &mut result.error,
        Content::EditResult(result) => &mut result.error,
        _ => return content,
    };
    if error.is_none() {
        *error = result.error;
    }
    content
}

/// Decodes a function call as a call of our tools. A call of another function, or one that we do
/// not execute, stays a function call.
pub(super) fn decode_call(call: FunctionCall) -> Content {
    let id = call
        .call_id
        .as_ref()
        .filter(|_| call.requires_local_execution);
    let read =
        id.map(|id| fallback_tools::decode_call(&call.name, id.as_str(), call.arguments.clone()));
    let Some(mut content) = read else {
        return Content::FunctionCall(call);
    };
    let (item_id, exception) = match &mut content {
        Content::ComputerCall(read) => (&mut read.item_id, &mut read.exception),
        Content::ShellCall(read) => (&mut read.item_id, &mut read.exception),
        Content::EditCall(read) => (&mut read.item_id, &mut read.exception),
        _ => return Content::FunctionCall(call),
    };
    *item_id = call.item_id;
    // The framework's own error takes precedence.
    *exception = call.exception.or_else(|| exception.take());
    if let Some(meta) = content.meta_mut() {
        *meta = call.meta;
        set_aside(meta);
        meta.set_property(PROVIDER, NAME, call.name.into());
    }
    content
}

/// Moves unknown fields aside: they could collide with fields of the decoded call, such as actions.
fn set_aside(meta: &mut Meta) {
    let members = std::mem::take(&mut meta.extra);
    if !members.is_empty() {
        meta.set_property(PROVIDER, MEMBERS, members.into());
    }
}

fn is_function(content: &Content) -> bool {
    match content {
        Content::EditCall(_) => true,
        Content::ShellCall(call) => original_name(content).is_some() || needs_function(call),
        Content::ComputerCall(call) => original_name(content).is_some() || is_for_browser(call),
        _ => false,
    }
}

/// Whether the call needs more than the framework's shell call, which has commands only.
fn needs_function(call: &ShellCall) -> bool {
    call.action != ShellAction::Execute
}

/// Whether the call is for a browser; the service's computer tool has no browser actions.
fn is_for_browser(call: &ComputerCall) -> bool {
    call.group.as_deref() == Some(extra_tools::BROWSER)
}

fn original_name(content: &Content) -> Option<&str> {
    content.meta()?.property(PROVIDER, NAME)?.as_str()
}

/// Encodes a call as a function call; `None` if the framework has a content type for it.
pub(super) fn encode_call(content: &Content) -> Option<Value> {
    if !is_function(content) {
        return None;
    }
    let called = fallback_tools::to_function_call(content)?;
    let (call_id, item_id, exception) = match content {
        Content::ComputerCall(call) => (&call.call_id, &call.item_id, &call.exception),
        Content::ShellCall(call) => (&call.call_id, &call.item_id, &call.exception),
        Content::EditCall(call) => (&call.call_id, &call.item_id, &call.exception),
        _ => return None,
    };
    let name = match content {
        // `execute_browser` has different arguments.
        _ if extra_tools::is_browser(&called.name) => &called.name,
        Content::ShellCall(_) => original_name(content).unwrap_or(extra_tools::SHELL),
        _ => original_name(content).unwrap_or(&called.name),
    };
    Some(json!({
        "type": "function_call", "call_id": call_id, "name": name,
        "arguments": called.arguments, "exception": exception, "id": item_id, "hosted": false,
    }))
}

/// Encodes a result as a function result.
pub(super) fn encode_result(content: &Content) -> Option<Value> {
    let result = match content.clone() {
        Content::ComputerResult(result) => ToolResult::Computer(result),
        Content::ShellResult(result) => ToolResult::Shell(result),
        Content::EditResult(result) => ToolResult::Edit(result),
        _ => return None,
    };
    let rendered = fallback_tools::render_result(&result);
    let error = match &result {
        ToolResult::Computer(result) => result.error.as_ref(),
        ToolResult::Shell(result) => result.error.as_ref(),
        ToolResult::Edit(result) => result.error.as_ref(),
        ToolResult::Function(_) => None,
    };
    let mut items = vec![encode_native::content(&Content::text(
        rendered.text.clone(),
    ))];
    items.extend(rendered.images.iter().map(encode_native::media));
    Some(json!({
        "type": "function_result", "call_id": result.call_id(), "result": rendered.text,
        "items": items, "exception": error.map(|error| error.message.as_str()),
    }))
}
