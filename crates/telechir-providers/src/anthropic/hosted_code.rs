//! Decodes and encodes code execution by the provider. Its other server tools pass unchanged.

use serde_json::{Map, Value, json};
use telechir_protocol::{Content, ErrorContent, HostedCall, HostedFileContent, Meta, TextContent};

use super::PROVIDER;
use super::decode_block::meta;
use crate::json::hosted_failure;
use crate::json::{Fields as Block, text};

/// Property of a call or result with its tool's name.
const NAME: &str = "name";
/// Property of a call with its input, if that has more fields than the code.
const INPUT: &str = "input";
/// The code of an error that only repeats `return_code`.
const RETURN_CODE: &str = "return_code";
/// Property of a result with its content's type and fields that have no neutral form.
const RESULT: &str = "result";

/// Decodes a `server_tool_use` that runs code; none for any other.
pub(super) fn call(block: &Block) -> Option<Content> {
    let input = block.get("input")?.as_object()?;
    let member = code_member(text(block, "name")?)?;
    let code = text(input, member)?;
    let known: &[&str] = if input.len() == 1 {
        &["id", "input"]
    } else {
        &["id"]
    };
    Some(Content::CommandCall(HostedCall {
        call_id: Some(text(block, "id")?.into()),
        inputs: vec![text_content(code)],
        meta: meta(block, known),
        ..HostedCall::default()
    }))
}

/// The field of a tool's input that contains the code.
fn code_member(name: &str) -> Option<&'static str> {
    match name {
        "bash_code_execution" => Some("command"),
        "code_execution" => Some("code"),
        _ => None,
    }
}

/// Decodes the result of a code execution; none for any other result.
pub(super) fn result(block: &Block) -> Option<Content> {
    let content = block.get("content")?.as_object()?;
    let kind = text(content, "type")?;
    let is_error = kind.ends_with("_error");
    let results = if is_error {
        vec![failure(text(content, "error_code")?)]
    } else {
        let stdout = text(content, "stdout").or_else(|| text(content, "encrypted_stdout"))?;
        let mut results = vec![text_content(stdout)];
        let stderr = text(content, "stderr").filter(|stderr| !stderr.is_empty());
        results.extend(stderr.map(of_stderr));
        results.extend(files(content));
        let code = content.get("return_code").filter(|code| *code != &json!(0));
        results.extend(code.map(|code| hosted_failure(RETURN_CODE, format!("Exit code: {code}."))));
        results
    };
    let mut meta = meta(block, &["tool_use_id", "content"]);
    let known = ["stdout", "encrypted_stdout", "stderr", "error_code"];
    let rest = content.iter().filter(|(name, value)| {
        !known.contains(&name.as_str()) && (*name != "content" || is_odd(value))
    });
    let rest: Map<String, Value> = rest
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    if let Some(code) = content.get("return_code") {
        meta.set_property(PROVIDER, "return_code", code.clone());
    }
    meta.set_property(PROVIDER, RESULT, Value::Object(rest));
    let name = text(block, "type")?.trim_end_matches("_tool_result");
    meta.set_property(PROVIDER, NAME, name.into());
    Some(Content::CommandResult(HostedCall {
        call_id: Some(text(block, "tool_use_id")?.into()),
        results,
        meta,
        ..HostedCall::default()
    }))
}

/// Whether files have fields other than their type and id.
fn is_odd(files: &Value) -> bool {
    let is_plain = |file: &Value| {
        file.as_object()
            .is_some_and(|file| file.len() == 2 && text(file, "file_id").is_some())
    };
    !files
        .as_array()
        .is_some_and(|files| files.iter().all(is_plain))
}

/// Encodes a call; none if another provider ran it.
pub(super) fn call_block(call: &HostedCall) -> Option<Value> {
    let name = call.meta.property(PROVIDER, NAME)?.as_str()?;
    let member = code_member(name)?;
    let [Content::Text(code)] = call.inputs.as_slice() else {
        return None;
    };
    let stored = call
        .meta
        .property(PROVIDER, INPUT)
        .and_then(Value::as_object);
    let mut input = stored.cloned().unwrap_or_default();
    input.insert(member.to_owned(), code.text.as_str().into());
    let mut block = json!({
        "type": "server_tool_use",
        "id": call.call_id.as_ref()?.as_str(),
        "name": name,
        "input": input,
    });
    restore(&mut block, &call.meta);
    Some(block)
}

/// Encodes a result; none if another provider ran it.
pub(super) fn result_block(result: &HostedCall) -> Option<Value> {
    let name = result.meta.property(PROVIDER, NAME)?.as_str()?;
    let rest = result.meta.property(PROVIDER, RESULT)?.as_object()?;
    let kind = text(rest, "type")?;
    let mut content = rest.clone();
    if kind.ends_with("_error") {
        let [Content::Error(error)] = result.results.as_slice() else {
            return None;
        };
        content.insert("error_code".to_owned(), error.error_code.as_deref()?.into());
    } else {
        let stdout = match kind {
            "encrypted_code_execution_result" => "encrypted_stdout",
            _ => "stdout",
        };
        let mut files = Vec::new();
        let (mut out, mut err) = (String::new(), String::new());
        for part in &result.results {
            match part {
                Content::Text(text) if is_stderr(&text.meta) => err.push_str(&text.text),
                Content::Text(text) => out.push_str(&text.text),
                Content::HostedFile(file) => {
                    let kind = kind.replace("encrypted_", "").replace("_result", "_output");
                    files.push(json!({"type": kind, "file_id": file.file_id}));
                }
                Content::Error(error) if error.error_code.as_deref() == Some(RETURN_CODE) => {}
                _ => return None,
            }
        }
        content.insert(stdout.to_owned(), out.into());
        content.insert("stderr".to_owned(), err.into());
        content
            .entry("content")
            .or_insert_with(|| Value::Array(files));
    }
    let mut block = json!({
        "type": format!("{name}_tool_result"),
        "tool_use_id": result.call_id.as_ref()?.as_str(),
        "content": content,
    });
    restore(&mut block, &result.meta);
    Some(block)
}

/// Restores the block's fields that have no neutral form.
fn restore(block: &mut Value, meta: &Meta) {
    for member in ["caller", "cache_control"] {
        if let Some(value) = meta.property(PROVIDER, member) {
            block[member] = value.clone();
        }
    }
}

fn failure(code: &str) -> Content {
    Content::Error(ErrorContent {
        message: format!("The provider failed to run the code: {code}."),
        error_code: Some(code.to_owned()),
        ..ErrorContent::default()
    })
}

fn of_stderr(stderr: &str) -> Content {
    let mut meta = Meta::default();
    meta.set_property(PROVIDER, "stream", "stderr".into());
    Content::Text(TextContent {
        text: stderr.to_owned(),
        meta,
    })
}

fn is_stderr(meta: &Meta) -> bool {
    meta.property(PROVIDER, "stream")
        .is_some_and(|stream| stream == "stderr")
}

fn files(content: &Block) -> Vec<Content> {
    let files = content.get("content").and_then(Value::as_array);
    let file = |file: &Value| {
        Some(Content::HostedFile(HostedFileContent {
            file_id: text(file.as_object()?, "file_id")?.to_owned(),
            media_type: None,
            name: None,
            meta: Meta::default(),
        }))
    };
    files.into_iter().flatten().filter_map(file).collect()
}

fn text_content(text: &str) -> Content {
    Content::Text(TextContent {
        text: text.to_owned(),
        meta: Meta::default(),
    })
}
