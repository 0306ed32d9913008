//! A block of Anthropic's Messages as content blocks of Converse.

use serde_json::{Map, Value, json};

use super::{HELD, OPAQUE};
use crate::bedrock::{media, names};
use crate::conversation::text_of;
use crate::{Report, anthropic};

/// The content blocks a block becomes: itself, and a cache point behind it where one was marked.
pub(super) fn blocks(block: &Value, place: &str, report: &mut Report) -> Vec<Value> {
    let mut blocks = Vec::new();
    blocks.extend(one(block, place, report));
    if let Some(marker) = block
        .get("cache_control")
        .filter(|marker| !marker.is_null())
    {
        blocks.push(cache_point(marker));
    }
    blocks
}

/// The point behind a block that was marked.
pub(super) fn cache_point(marker: &Value) -> Value {
    let mut point = json!({"type": "default"});
    if let Some(ttl) = marker.get("ttl").filter(|ttl| !ttl.is_null()) {
        point["ttl"] = ttl.clone();
    }
    json!({"cachePoint": point})
}

fn one(block: &Value, place: &str, report: &mut Report) -> Option<Value> {
    let held = block.get(HELD);
    if let Some(own) = held.and_then(whole) {
        return Some(own);
    }
    match text_of(block, "type") {
        "text" => words(block, held, place, report),
        "image" => image(block, held, place, report),
        "document" => document(block, held, place, report),
        "thinking" => Some(thinking(block)),
        "redacted_thinking" => {
            Some(json!({"reasoningContent": {"redactedContent": block.get("data")}}))
        }
        "tool_use" => Some(tool_use(block, held, place, report)),
        "tool_result" => Some(tool_result(block, held, place, report)),
        kind @ "server_tool_use" => Some(told(block, kind, "input", place, report)),
        kind if kind.ends_with("_tool_result") => Some(told(block, kind, "content", place, report)),
        kind => match kind
            .trim_start_matches(anthropic::LENT)
            .strip_prefix(OPAQUE)
        {
            Some(_) => {
                let mut own = block.as_object()?.clone();
                own.shift_remove("type");
                Some(Value::Object(own))
            }
            None => lost(kind, place, report),
        },
    }
}

/// A block that is kept whole.
fn whole(held: &Value) -> Option<Value> {
    let name = ["toolUse", "toolResult"]
        .into_iter()
        .find(|name| held.get(name).is_some())?;
    Some(json!({name: held[name]}))
}

/// What another service's tool did, in words: it cannot be repeated as this one's.
fn told(block: &Value, kind: &str, member: &str, place: &str, report: &mut Report) -> Value {
    report.kept(
        format!("a block of type {kind}"),
        place,
        "another service ran the tool",
        "as text",
    );
    let said = block.get(member).unwrap_or(&Value::Null);
    let name = text_of(block, "name");
    json!({"text": format!("[{} {said}]", [kind, name].join(" ").trim_end())})
}

fn lost(kind: &str, place: &str, report: &mut Report) -> Option<Value> {
    let what = format!("a block of type {kind}");
    report.lost(what, place, "this dialect has no block for it");
    None
}

fn extended(members: &mut Value, held: Option<&Value>) {
    let own = members.as_object_mut().zip(held.and_then(Value::as_object));
    if let Some((members, held)) = own {
        for (name, value) in held {
            members.entry(name.clone()).or_insert_with(|| value.clone());
        }
    }
}

fn words(block: &Value, held: Option<&Value>, place: &str, report: &mut Report) -> Option<Value> {
    if let Some(json) = held.and_then(|held| held.get("json")) {
        return Some(json!({"json": json}));
    }
    if let Some(cited) = held.and_then(|held| held.get("citationsContent")) {
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
        report.lost("citations", place, "they have another form here");
    }
    let text = text_of(block, "text");
    // What came with an empty text goes back with it; ours are never empty.
    Some(json!({"text": text}))
}

fn image(block: &Value, held: Option<&Value>, place: &str, report: &mut Report) -> Option<Value> {
    let source = block.get("source").unwrap_or(&Value::Null);
    let image = |format: &str, source: Value| {
        let mut image = json!({"format": format, "source": source});
        extended(&mut image, held);
        json!({"image": image})
    };
    if let Some(place) = held.and_then(|held| held.get("s3Location")) {
        let format = held.map_or("png", |held| text_of(held, "format"));
        return Some(json!({"image": {"format": format, "source": {"s3Location": place}}}));
    }
    let url = text_of(source, "url");
    match text_of(source, "type") {
        "base64" => match media::image_format(text_of(source, "media_type")) {
            Some(format) => Some(image(format, json!({"bytes": source.get("data")}))),
            None => lost("image that is no PNG, JPEG, GIF or WebP", place, report),
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
        _ => lost("image by its address or name", place, report),
    }
}

fn document(
    block: &Value,
    held: Option<&Value>,
    place: &str,
    report: &mut Report,
) -> Option<Value> {
    let source = block.get("source").unwrap_or(&Value::Null);
    let data = source.get("data").cloned().unwrap_or_default();
    let kind = text_of(source, "media_type");
    let (format, source) = match text_of(source, "type") {
        "base64" => (media::document_format(kind)?, json!({"bytes": data})),
        "text" => ("txt", json!({"text": data})),
        _ => return lost("document by its address or name", place, report),
    };
    let own = held.and_then(|held| held.get("name")?.as_str());
    let name = own.map_or_else(
        || media::document_name(text_of(block, "title")),
        str::to_owned,
    );
    let mut document = json!({"format": format, "name": name, "source": source});
    extended(&mut document, held);
    Some(json!({"document": document}))
}

fn thinking(block: &Value) -> Value {
    let mut said = json!({"text": text_of(block, "thinking")});
    if let Some(signature) = block
        .get("signature")
        .filter(|signature| !signature.is_null())
    {
        said["signature"] = signature.clone();
    }
    json!({"reasoningContent": {"reasoningText": said}})
}

fn tool_use(block: &Value, held: Option<&Value>, place: &str, report: &mut Report) -> Value {
    let mut call = Map::new();
    for (theirs, own) in [("id", "toolUseId"), ("name", "name"), ("input", "input")] {
        if let Some(member) = block.get(theirs) {
            call.insert(own.to_owned(), member.clone());
        }
    }
    if let Some(Value::String(name)) = call.get_mut("name")
        && let Some(short) = names::shortened(name)
    {
        report.kept(
            format!("function name {name}"),
            place,
            "names have 64 characters at most",
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
            place,
            "a call has no caller here",
        );
    }
    let mut call = Value::Object(call);
    extended(&mut call, held);
    json!({"toolUse": call})
}

fn tool_result(block: &Value, held: Option<&Value>, place: &str, report: &mut Report) -> Value {
    let content: Vec<Value> = match block.get("content") {
        Some(Value::String(words)) if words.is_empty() => Vec::new(),
        Some(Value::String(words)) => vec![json!({"text": words})],
        Some(Value::Array(parts)) => {
            let part = |part| one(part, place, report);
            parts.iter().filter_map(part).collect()
        }
        _ => Vec::new(),
    };
    let mut result = json!({"toolUseId": block.get("tool_use_id"), "content": content});
    if block.get("is_error") == Some(&Value::Bool(true)) {
        result["status"] = "error".into();
    }
    extended(&mut result, held);
    json!({"toolResult": result})
}
