//! Converts a Converse content block to Anthropic's format. Fields without an equivalent are in
//! the field `bedrock`, from which [`encode_block`](super::encode_block) restores the original.

use serde_json::{Map, Value, json};
use telechir_protocol::{Content, DataContent};

use super::encode_block::{DOCUMENT_MEMBERS, TEXT_FORMAT, cache_point_members as cache_point};
use super::{EXTRA, JsonObject, NULLS, OPAQUE_PREFIX};
use crate::bedrock::media;
use crate::json::text_of;

/// Converts a block; an unknown one gets a type with the prefix [`OPAQUE_PREFIX`].
pub(super) fn block(original: &Value) -> Value {
    let Some(members) = original.as_object() else {
        return original.clone();
    };
    // Some clients write the members of other blocks as null.
    let mut named = members.iter().filter(|(_, value)| !value.is_null());
    let known = match (named.next(), named.next(), named.next()) {
        (Some((name, value)), None, _) => known(name, value),
        (Some((name, value)), Some((second, point)), None) if second == CACHE_POINT => {
            known(name, value).map(|mut block| {
                block["cache_control"] = marker(point);
                block
            })
        }
        _ => None,
    };
    let mut block = known.unwrap_or_else(|| opaque(members));
    let is_known = !text_of(&block, "type").starts_with(OPAQUE_PREFIX);
    let nulls = members.iter().filter(|(_, value)| value.is_null());
    let nulls: JsonObject = nulls
        .map(|(name, null)| (name.clone(), null.clone()))
        .collect();
    if is_known && !nulls.is_empty() {
        block[EXTRA][NULLS] = Value::Object(nulls);
    }
    block
}

/// The member of a cache point.
pub(super) const CACHE_POINT: &str = "cachePoint";

/// Joins each cache point with the block before it: Anthropic marks the block itself.
pub(super) fn join_cache_points(blocks: Vec<Value>) -> Vec<Value> {
    let mut joined: Vec<Value> = Vec::with_capacity(blocks.len());
    for block in blocks {
        let point = block.as_object().filter(|members| members.len() == 1);
        let point = point.and_then(|members| members.get(CACHE_POINT));
        if let Some(point) = point.filter(|point| cache_point(&marker(point)) == **point)
            && let Some(last) = joined.last_mut().filter(|last| can_be_marked(last))
        {
            last[CACHE_POINT] = point.clone();
        } else {
            joined.push(block);
        }
    }
    joined
}

/// The `cache_control` of Anthropic's for a cache point.
pub(crate) fn marker(point: &Value) -> Value {
    let mut marker = json!({"type": "ephemeral"});
    if let Some(ttl) = point.get("ttl") {
        marker["ttl"] = ttl.clone();
    }
    marker
}

/// Whether Anthropic accepts a marker, or a further one, in the block.
fn can_be_marked(original: &Value) -> bool {
    if original.get(CACHE_POINT).is_some() {
        return false;
    }
    let block = block(original);
    match text_of(&block, "type") {
        "text" => !text_of(&block, "text").is_empty(),
        "image" | "document" | "search_result" | "tool_use" | "tool_result" => true,
        _ => false,
    }
}

fn opaque(members: &JsonObject) -> Value {
    let name = members.keys().next().map_or("nothing", String::as_str);
    let mut block = Map::from_iter([("type".to_owned(), format!("{OPAQUE_PREFIX}{name}").into())]);
    block.extend(members.clone());
    Value::Object(block)
}

fn known(name: &str, value: &Value) -> Option<Value> {
    match name {
        "text" => Some(json!({"type": "text", "text": value.as_str()?})),
        "image" => image(value),
        "document" => document(value),
        "searchResult" => search_result(value),
        "toolUse" => tool_use(value),
        "toolResult" => tool_result(value),
        "reasoningContent" => reasoning(value),
        "citationsContent" => cited(value),
        _ => None,
    }
}

/// Converts a part of a tool's result.
fn part(original: &Value) -> Value {
    match original.as_object().filter(|part| part.len() == 1) {
        Some(part) if part.contains_key("json") => {
            let json = &part["json"];
            json!({"type": "text", "text": json.to_string(), EXTRA: {"json": json}})
        }
        _ => block(original),
    }
}

/// The values of these fields; none if there are others, which would be lost.
fn exactly<'a, const N: usize>(value: &'a Value, names: [&str; N]) -> Option<[&'a Value; N]> {
    let members = value.as_object().filter(|members| members.len() == N)?;
    let mut found = [&Value::Null; N];
    for (slot, name) in found.iter_mut().zip(names) {
        *slot = members.get(name)?;
    }
    Some(found)
}

fn image(value: &Value) -> Option<Value> {
    let [format, source] = exactly(value, ["format", "source"])?;
    let kind = media::image_type(format.as_str()?)?;
    if let Some([bytes]) = exactly(source, ["bytes"]) {
        let source = json!({"type": "base64", "media_type": kind, "data": bytes.as_str()?});
        return Some(json!({"type": "image", "source": source}));
    }
    let [location] = exactly(source, ["s3Location"])?;
    let uri = location.get("uri")?.as_str()?;
    let extra = json!({"format": format, "s3Location": location});
    Some(json!({"type": "image", "source": {"type": "url", "url": uri}, EXTRA: extra}))
}

/// Replaces a sound or a video, which Anthropic does not have, by a neutral content.
pub(super) fn read_recording(content: &mut Content) {
    let Content::Other(other) = &*content else {
        return;
    };
    let recording = ["audio", "video"].into_iter().find_map(|name| {
        let [format, source] = exactly(other.json.get(name)?, ["format", "source"])?;
        let [bytes] = exactly(source, ["bytes"])?;
        let kind = media::recording_type(name, format.as_str()?)?;
        Some(DataContent::from_base64(kind, bytes.as_str()?))
    });
    if let Some(recording) = recording.filter(|_| other.json.len() == 2) {
        *content = Content::Data(recording);
    }
}

/// Converts a document. Its context and citations have the same form in both APIs.
fn document(value: &Value) -> Option<Value> {
    let mut extra = value.as_object()?.clone();
    let source = extra.shift_remove("source")?;
    let format = extra.get("format").cloned();
    let (source, assumed) = if let Some([bytes]) = exactly(&source, ["bytes"]) {
        let kind = media::document_type(format.as_ref()?.as_str()?)?;
        let source = json!({"type": "base64", "media_type": kind, "data": bytes.as_str()?});
        (source, format.clone())
    } else if let Some([text]) = exactly(&source, ["text"]) {
        let source = json!({"type": "text", "media_type": "text/plain", "data": text.as_str()?});
        (source, Some(TEXT_FORMAT.into()))
    } else {
        let [parts] = exactly(&source, ["content"])?;
        let texts = texts(parts)?;
        (json!({"type": "content", "content": texts}), None)
    };
    if format == assumed {
        extra.shift_remove("format");
    } else {
        extra.insert("format".to_owned(), format.into());
    }
    let name = extra.shift_remove("name")?;
    let name = name.as_str()?;
    if media::document_name(name) != name {
        extra.insert("name".to_owned(), name.into());
    }
    let mut block = json!({"type": "document", "source": source, "title": name});
    for member in DOCUMENT_MEMBERS {
        if let Some(value) = extra.shift_remove(member) {
            block[member] = value;
        }
    }
    Some(with_extra(block, extra))
}

/// Texts of Converse as text blocks of Anthropic's.
fn texts(parts: &Value) -> Option<Vec<Value>> {
    let text = |part: &Value| {
        let [text] = exactly(part, ["text"])?;
        Some(json!({"type": "text", "text": text.as_str()?}))
    };
    parts.as_array()?.iter().map(text).collect()
}

fn with_extra(mut block: Value, extra: JsonObject) -> Value {
    if !extra.is_empty() {
        block[EXTRA] = Value::Object(extra);
    }
    block
}

fn tool_use(value: &Value) -> Option<Value> {
    let mut extra = value.as_object()?.clone();
    if extra.get("type").and_then(Value::as_str) == Some("server_tool_use") {
        return nova_code(value);
    }
    let mut block = json!({"type": "tool_use"});
    for (converse_name, anthropic_name) in
        [("toolUseId", "id"), ("name", "name"), ("input", "input")]
    {
        if let Some(member) = extra.shift_remove(converse_name) {
            block[anthropic_name] = member;
        }
    }
    Some(with_extra(block, extra))
}

/// Converts a call of Nova's code interpreter.
fn nova_code(call: &Value) -> Option<Value> {
    let is_code = call.get("name")?.as_str()? == "nova_code_interpreter";
    let code = call.get("input")?.get("snippet").filter(|_| is_code)?;
    Some(json!({
        "type": "server_tool_use",
        "id": call.get("toolUseId")?.as_str()?,
        "name": "code_execution",
        "input": {"code": code.as_str()?},
        EXTRA: {"toolUse": call},
    }))
}

fn nova_output(result: &Value) -> Option<Value> {
    let [part] = result.get("content")?.as_array()?.as_slice() else {
        return None;
    };
    let output = part.get("json")?;
    let content = json!({
        "type": "code_execution_result",
        "stdout": output.get("stdOut")?.as_str()?,
        "stderr": output.get("stdErr")?.as_str()?,
        "return_code": output.get("exitCode")?,
        "content": [],
    });
    Some(json!({
        "type": "code_execution_tool_result",
        "tool_use_id": result.get("toolUseId")?.as_str()?,
        "content": content,
        EXTRA: {"toolResult": result},
    }))
}

fn tool_result(value: &Value) -> Option<Value> {
    let mut extra = value.as_object()?.clone();
    match extra.get("type").and_then(Value::as_str) {
        Some("nova_code_interpreter_result") => return nova_output(value),
        // Another tool that the service itself runs.
        Some(_) => return None,
        None => {}
    }
    let id = extra.shift_remove("toolUseId")?;
    let parts: Vec<Value> = match extra.shift_remove("content") {
        Some(Value::Array(parts)) => parts.iter().map(part).collect(),
        _ => return None,
    };
    let mut block = json!({"type": "tool_result", "tool_use_id": id, "content": parts});
    if extra.get("status").and_then(Value::as_str) == Some("error") {
        extra.shift_remove("status");
        block["is_error"] = true.into();
    }
    Some(with_extra(block, extra))
}

/// Converts a result of a search; its members are Anthropic's.
fn search_result(value: &Value) -> Option<Value> {
    let members = value.as_object()?;
    let known = ["source", "title", "content", "citations"];
    if !members.keys().all(|name| known.contains(&name.as_str())) {
        return None;
    }
    let texts = texts(value.get("content")?)?;
    let mut block = json!({"type": "search_result"});
    for (name, value) in members {
        block[name.as_str()] = value.clone();
    }
    block["content"] = texts.into();
    Some(block)
}

fn reasoning(value: &Value) -> Option<Value> {
    if let Some([data]) = exactly(value, ["redactedContent"]) {
        return Some(json!({"type": "redacted_thinking", "data": data.as_str()?}));
    }
    let [reasoning] = exactly(value, ["reasoningText"])?;
    if let Some([text, signature]) = exactly(reasoning, ["text", "signature"]) {
        let (text, signature) = (text.as_str()?, signature.as_str()?);
        return Some(json!({"type": "thinking", "thinking": text, "signature": signature}));
    }
    let [text] = exactly(reasoning, ["text"])?;
    Some(json!({"type": "thinking", "thinking": text.as_str()?}))
}

/// Converts a text with citations.
fn cited(value: &Value) -> Option<Value> {
    let parts = value.get("content")?.as_array()?;
    let text: Option<String> = parts
        .iter()
        .map(|part| part.get("text")?.as_str())
        .collect();
    let mut extra = value.as_object()?.clone();
    let citations = extra.shift_remove("citations");
    let mut block = json!({"type": "text", "text": text?, EXTRA: {"citationsContent": extra}});
    if let Some(citations) = citations {
        block["citations"] = citations.as_array()?.clone().into();
    }
    Some(block)
}
