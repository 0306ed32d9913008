//! Converts a block of Anthropic's Messages to Converse content blocks.

use serde_json::{Map, Value, json};

use super::{EXTRA, NULLS, OPAQUE_PREFIX};
use crate::bedrock::{media, names};
use crate::json::text_of;
use crate::{Report, anthropic};

/// Converts a block; `cache_control` becomes a cache point after it.
pub(super) fn blocks(block: &Value, location: &str, report: &mut Report) -> Vec<Value> {
    let mut blocks = Vec::new();
    let mut own = convert(block, location, report);
    let nulls = block.get(EXTRA).and_then(|extra| extra.get(NULLS));
    if let Some(own) = &mut own {
        add_missing_fields(own, nulls);
    }
    blocks.extend(own);
    if let Some(marker) = block
        .get("cache_control")
        .filter(|marker| !marker.is_null())
    {
        blocks.push(cache_point(marker));
    }
    blocks
}

/// The cache point for a `cache_control` marker.
pub(crate) fn cache_point(marker: &Value) -> Value {
    json!({"cachePoint": cache_point_members(marker)})
}

/// The members of the cache point for a `cache_control` marker.
pub(super) fn cache_point_members(marker: &Value) -> Value {
    let mut point = json!({"type": "default"});
    if let Some(ttl) = marker.get("ttl").filter(|ttl| !ttl.is_null()) {
        point["ttl"] = ttl.clone();
    }
    point
}

fn convert(block: &Value, location: &str, report: &mut Report) -> Option<Value> {
    let extra = block.get(EXTRA);
    if let Some(own) = extra.and_then(original) {
        return Some(own);
    }
    match text_of(block, "type") {
        "text" => text_block(block, extra, location, report),
        "image" => image(block, extra, location, report),
        "document" => document(block, extra, location, report),
        "search_result" => search_result(block).or_else(|| lost("search_result", location, report)),
        "thinking" => Some(thinking(block)),
        "redacted_thinking" => {
            Some(json!({"reasoningContent": {"redactedContent": block.get("data")}}))
        }
        "tool_use" => Some(tool_use(block, extra, location, report)),
        "tool_result" => Some(tool_result(block, extra, location, report)),
        kind @ ("server_tool_use" | "mcp_tool_use") => {
            Some(as_text(block, kind, "input", location, report))
        }
        kind if kind.ends_with("_tool_result") => {
            Some(as_text(block, kind, "content", location, report))
        }
        kind => match kind
            .trim_start_matches(anthropic::FORWARDED_PREFIX)
            .strip_prefix(OPAQUE_PREFIX)
        {
            Some(_) => {
                let mut own = block.as_object()?.clone();
                own.shift_remove("type");
                Some(Value::Object(own))
            }
            None => lost(kind, location, report),
        },
    }
}

/// The original block, if it was retained completely.
fn original(extra: &Value) -> Option<Value> {
    let name = ["toolUse", "toolResult"]
        .into_iter()
        .find(|name| extra.get(name).is_some())?;
    Some(json!({name: extra[name]}))
}

/// A call or result of a tool that another service ran, as text.
fn as_text(block: &Value, kind: &str, member: &str, location: &str, report: &mut Report) -> Value {
    report.preserved(
        format!("a block of type {kind}"),
        location,
        "another service ran the tool",
        "as text",
    );
    let value = block.get(member).unwrap_or(&Value::Null);
    let failed = match block.get("is_error") {
        Some(Value::Bool(true)) => "failed:",
        _ => "",
    };
    let words = [
        kind,
        text_of(block, "server_name"),
        text_of(block, "name"),
        failed,
    ];
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    json!({"text": format!("[{} {value}]", words.join(" "))})
}

fn lost(kind: &str, location: &str, report: &mut Report) -> Option<Value> {
    let what = format!("a block of type {kind}");
    report.lost(what, location, "this dialect has no block for it");
    None
}

fn add_missing_fields(members: &mut Value, extra: Option<&Value>) {
    let own = members
        .as_object_mut()
        .zip(extra.and_then(Value::as_object));
    if let Some((members, extra)) = own {
        for (name, value) in extra.iter().filter(|(name, _)| *name != NULLS) {
            members.entry(name.clone()).or_insert_with(|| value.clone());
        }
    }
}

fn text_block(
    block: &Value,
    extra: Option<&Value>,
    location: &str,
    report: &mut Report,
) -> Option<Value> {
    if let Some(json) = extra.and_then(|extra| extra.get("json")) {
        return Some(json!({"json": json}));
    }
    if let Some(cited) = extra.and_then(|extra| extra.get("citationsContent")) {
        let mut cited = cited.clone();
        if let Some(citations) = block.get("citations") {
            cited["citations"] = citations.clone();
        }
        return Some(json!({"citationsContent": cited}));
    }
    if block
        .get("citations")
        .and_then(Value::as_array)
        .is_some_and(|all| !all.is_empty())
    {
        report.lost(
            "citations",
            location,
            "they have a different format in this dialect",
        );
    }
    let text = text_of(block, "text");
    // Only decoded texts may be empty; Anthropic's encoder drops others.
    Some(json!({"text": text}))
}

fn image(
    block: &Value,
    extra: Option<&Value>,
    location: &str,
    report: &mut Report,
) -> Option<Value> {
    let source = block.get("source").unwrap_or(&Value::Null);
    let image = |format: &str, source: Value| {
        let mut image = json!({"format": format, "source": source});
        add_missing_fields(&mut image, extra);
        json!({"image": image})
    };
    if let Some(s3) = extra.and_then(|extra| extra.get("s3Location")) {
        let format = extra.map_or("png", |extra| text_of(extra, "format"));
        return Some(json!({"image": {"format": format, "source": {"s3Location": s3}}}));
    }
    let url = text_of(source, "url");
    match text_of(source, "type") {
        "base64" => match media::image_format(text_of(source, "media_type")) {
            Some(format) => Some(image(format, json!({"bytes": source.get("data")}))),
            None => lost("image that is not PNG, JPEG, GIF or WebP", location, report),
        },
        "url" if url.starts_with("s3://") => {
            let format = url.rsplit('.').next().map(str::to_ascii_lowercase);
            let format = match format.as_deref() {
                Some("jpg" | "jpeg") => "jpeg",
                Some("gif") => "gif",
                Some("webp") => "webp",
                _ => "png",
            };
            Some(image(format, json!({"s3Location": {"uri": url}})))
        }
        _ => lost("image by URL or id", location, report),
    }
}

/// Members of a document that both APIs have in the same form.
pub(super) const DOCUMENT_MEMBERS: [&str; 2] = ["context", "citations"];

/// The format of a document that is one text.
pub(super) const TEXT_FORMAT: &str = "txt";

fn document(
    block: &Value,
    extra: Option<&Value>,
    location: &str,
    report: &mut Report,
) -> Option<Value> {
    let source = block.get("source").unwrap_or(&Value::Null);
    let data = source.get("data").cloned().unwrap_or_default();
    let (format, source) = match text_of(source, "type") {
        "base64" => {
            let kind = text_of(source, "media_type");
            let Some(format) = media::document_format(kind) else {
                return lost(&format!("document with {kind:?}"), location, report);
            };
            (Some(format), json!({"bytes": data}))
        }
        "text" => (Some(TEXT_FORMAT), json!({"text": data})),
        "content" => {
            let texts = document_texts(source.get("content"), location, report);
            if texts.is_empty() {
                return lost("document without a text", location, report);
            }
            (None, json!({"content": texts}))
        }
        _ => return lost("document by URL or id", location, report),
    };
    let own = extra.and_then(|extra| extra.get("name")?.as_str());
    let title = text_of(block, "title");
    let name = own.map_or_else(|| media::document_name(title), str::to_owned);
    if own.is_none() && !title.is_empty() && title != name {
        let what = format!("document title {title:?}");
        let why = "names have only letters, digits, single spaces, hyphens and brackets";
        report.preserved(what, location, why, format!("as {name}"));
    }
    let mut document = json!({"name": name, "source": source});
    let own_format = extra.and_then(|extra| extra.get("format"));
    let format = own_format.cloned().unwrap_or_else(|| format.into());
    if !format.is_null() {
        document["format"] = format;
    }
    for member in DOCUMENT_MEMBERS {
        if let Some(value) = block.get(member).filter(|value| !value.is_null()) {
            document[member] = value.clone();
        }
    }
    add_missing_fields(&mut document, extra.map(without_format).as_ref());
    Some(json!({"document": document}))
}

fn without_format(extra: &Value) -> Value {
    let mut extra = extra.clone();
    if let Some(members) = extra.as_object_mut() {
        members.shift_remove("format");
    }
    extra
}

/// The texts of a document that consists of blocks.
fn document_texts(content: Option<&Value>, location: &str, report: &mut Report) -> Vec<Value> {
    let parts = match content {
        Some(Value::String(text)) => return vec![json!({"text": text})],
        Some(Value::Array(parts)) => parts.as_slice(),
        _ => &[],
    };
    let text = |part: &Value| match (text_of(part, "type"), part.get("text")) {
        ("text", Some(Value::String(text))) => Some(json!({"text": text})),
        (kind, _) => lost(&format!("{kind} in a document"), location, report),
    };
    parts.iter().filter_map(text).collect()
}

/// A result of a search by the client, if it has no members that Converse lacks.
fn search_result(block: &Value) -> Option<Value> {
    let members = block.as_object()?;
    let parts = members.get("content")?.as_array()?;
    let texts: Option<Vec<Value>> = parts.iter().map(search_text).collect();
    let mut result = Map::new();
    for (name, value) in members {
        match name.as_str() {
            "type" | "cache_control" => {}
            "source" | "title" | "citations" => {
                result.insert(name.clone(), value.clone());
            }
            "content" => {
                result.insert(name.clone(), texts.clone()?.into());
            }
            _ => return None,
        }
    }
    Some(json!({"searchResult": result}))
}

fn search_text(part: &Value) -> Option<Value> {
    let text = part.get("text")?.as_str()?;
    let is_plain = text_of(part, "type") == "text" && part.as_object()?.len() == 2;
    is_plain.then(|| json!({"text": text}))
}

fn thinking(block: &Value) -> Value {
    let mut reasoning = json!({"text": text_of(block, "thinking")});
    if let Some(signature) = block
        .get("signature")
        .filter(|signature| !signature.is_null())
    {
        reasoning["signature"] = signature.clone();
    }
    json!({"reasoningContent": {"reasoningText": reasoning}})
}

fn tool_use(block: &Value, extra: Option<&Value>, location: &str, report: &mut Report) -> Value {
    let mut call = Map::new();
    for (anthropic_name, own) in [("id", "toolUseId"), ("name", "name"), ("input", "input")] {
        if let Some(member) = block.get(anthropic_name) {
            call.insert(own.to_owned(), member.clone());
        }
    }
    if let Some(Value::String(name)) = call.get_mut("name")
        && let Some(short) = names::shortened(name)
    {
        report.preserved(
            format!("function name {name}"),
            location,
            "names have at most 64 characters",
            format!("as {short}"),
        );
        *name = short;
    }
    let caller = block
        .get("caller")
        .map_or("", |caller| text_of(caller, "type"));
    if !matches!(caller, "" | "direct") {
        report.lost(
            format!("caller {caller}"),
            location,
            "a call has no field for it",
        );
    }
    let mut call = Value::Object(call);
    add_missing_fields(&mut call, extra);
    json!({"toolUse": call})
}

fn tool_result(block: &Value, extra: Option<&Value>, location: &str, report: &mut Report) -> Value {
    let content: Vec<Value> = match block.get("content") {
        Some(Value::String(text)) if text.is_empty() => Vec::new(),
        Some(Value::String(text)) => vec![json!({"text": text})],
        Some(Value::Array(parts)) => {
            let part = |part| convert(part, location, report);
            parts.iter().filter_map(part).collect()
        }
        _ => Vec::new(),
    };
    let mut result = json!({"toolUseId": block.get("tool_use_id"), "content": content});
    if block.get("is_error") == Some(&Value::Bool(true)) {
        result["status"] = "error".into();
    }
    add_missing_fields(&mut result, extra);
    json!({"toolResult": result})
}
