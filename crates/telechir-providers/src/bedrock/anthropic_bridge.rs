//! Converts Bedrock's contents to and from the forms that the codec of Anthropic's Messages
//! handles.

use std::collections::HashMap;

use serde_json::{Map, Value};
use telechir_protocol::{
    CallId, Content, DataContent, FunctionResult, Media, Meta, ReasoningContent, TextContent,
    ToolResult, UnknownContent,
};

use super::media;
use super::names::{self, Placeholder};
use crate::{Report, anthropic};

/// Provider key under which Anthropic's decoder retains unknown fields.
const ANTHROPIC: &str = "anthropic";

/// Visits the metadata of a content and of its parts.
pub(super) fn each_meta(content: &mut Content, visit: &mut dyn FnMut(&mut Meta)) {
    match content {
        Content::ComputerResult(result) => {
            let steps = result.steps.iter_mut();
            let images = steps.filter_map(|step| step.screenshot.as_mut());
            for image in images.chain(result.screenshot.as_mut()) {
                visit(media_meta(image));
            }
        }
        Content::FunctionResult(FunctionResult { items, .. }) => {
            items.iter_mut().for_each(|item| each_meta(item, visit));
        }
        _ => {}
    }
    if let Some(meta) = content.meta_mut() {
        visit(meta);
    }
}

pub(super) fn media_meta(media: &mut Media) -> &mut Meta {
    match media {
        Media::Data(data) => &mut data.meta,
        Media::Uri(uri) => &mut uri.meta,
        Media::HostedFile(file) => &mut file.meta,
    }
}

/// The result in a content; none for any other content.
pub(super) fn as_result(content: Content) -> Option<ToolResult> {
    match content {
        Content::ComputerResult(result) => Some(ToolResult::Computer(result)),
        Content::ShellResult(result) => Some(ToolResult::Shell(result)),
        Content::EditResult(result) => Some(ToolResult::Edit(result)),
        Content::FunctionResult(result) => Some(ToolResult::Function(result)),
        _ => None,
    }
}

/// Moves `anthropic.bedrock` to `bedrock`.
pub(super) fn from_anthropic(meta: &mut Meta, provider: &str) {
    let Some(Value::Object(nested)) = meta.additional_properties.get_mut(ANTHROPIC) else {
        return;
    };
    let own = nested.shift_remove(provider);
    if nested.is_empty() {
        meta.additional_properties.shift_remove(ANTHROPIC);
    }
    if let Some(own) = own {
        meta.additional_properties.insert(provider.to_owned(), own);
    }
}

/// Moves `bedrock` to `anthropic.bedrock`.
pub(super) fn to_anthropic(meta: &mut Meta, provider: &str) {
    let Some(own) = meta.additional_properties.shift_remove(provider) else {
        return;
    };
    let nested = meta
        .additional_properties
        .entry(ANTHROPIC)
        .or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(nested) = nested {
        nested.insert(provider.to_owned(), own);
    }
}

/// Changes the dialect of the unknown contents with the prefix `opaque`, also inside results:
/// Anthropic's codec has them as its own.
pub(super) fn move_unknown(content: &mut Content, opaque: &str, dialect: &str) {
    match content {
        Content::Other(other)
            if other
                .kind
                .as_deref()
                .is_some_and(|kind| kind.starts_with(opaque)) =>
        {
            other.dialect = Some(dialect.to_owned());
        }
        Content::FunctionResult(FunctionResult { items, .. }) => {
            for item in items {
                move_unknown(item, opaque, dialect);
            }
        }
        _ => {}
    }
}

/// Wraps an unknown content of Bedrock, so that Anthropic's encoder passes it through.
pub(super) fn wrap_unknown(content: &mut Content, opaque: &str) {
    if let Content::Other(other) = content
        && other
            .kind
            .as_deref()
            .is_some_and(|kind| kind.starts_with(opaque))
    {
        *content = forwarded(other.json.clone());
    }
}

/// Wraps a content that only Converse has, so that Anthropic's encoder passes it through.
pub(super) fn wrap_forwarded(content: &mut Content, opaque: &str) {
    wrap_unknown(content, opaque);
    let json = match content {
        Content::CommandCall(call) | Content::CommandResult(call)
            if call.meta.raw_representation.is_none() =>
        {
            let extra = call.meta.additional_properties.get("bedrock");
            let original = ["toolUse", "toolResult"].into_iter().find_map(|name| {
                let original = extra?.get(name)?.clone();
                Some((name, original))
            });
            original.map(|(name, original)| {
                let kind = format!("{opaque}{name}");
                Map::from_iter([
                    ("type".to_owned(), kind.into()),
                    (name.to_owned(), original),
                ])
            })
        }
        Content::Data(data) => recording(data, opaque).or_else(|| document(data, opaque)),
        Content::Text(text) if text.meta.raw_representation.is_none() => cited(text),
        Content::Reasoning(reasoning) if reasoning.meta.raw_representation.is_none() => {
            unsigned(reasoning).map(|json| {
                let kind = format!("{opaque}reasoningContent");
                Map::from_iter([
                    ("type".to_owned(), kind.into()),
                    ("reasoningContent".to_owned(), json),
                ])
            })
        }
        _ => None,
    };
    if let Some(json) = json {
        *content = forwarded(json);
    }
}

fn forwarded(mut json: Map<String, Value>) -> Content {
    let kind = json.get("type").and_then(Value::as_str).unwrap_or_default();
    let kind = format!("{}{kind}", anthropic::FORWARDED_PREFIX);
    json.insert("type".to_owned(), kind.into());
    Content::Other(UnknownContent::new(anthropic::DIALECT, json))
}

/// The block of a sound or a video.
fn recording(data: &DataContent, opaque: &str) -> Option<Map<String, Value>> {
    let (name, format) = media::recording_format(data.media_type()?)?;
    let block = serde_json::json!({"format": format, "source": {"bytes": data.base64()?}});
    Some(Map::from_iter([
        ("type".to_owned(), format!("{opaque}{name}").into()),
        (name.to_owned(), block),
    ]))
}

/// The block of a file that Anthropic's Messages have no document for.
fn document(data: &DataContent, opaque: &str) -> Option<Map<String, Value>> {
    let kind = data.media_type()?;
    if is_of_bedrock(&data.meta) || matches!(kind, "application/pdf" | "text/plain") {
        return None;
    }
    let format = media::document_format(kind)?;
    let name = media::document_name(data.name.as_deref().unwrap_or_default());
    let source = serde_json::json!({"bytes": data.base64()?});
    let mut block = serde_json::json!({"format": format, "name": name, "source": source});
    for member in ["context", "citations"] {
        if let Some(value) = data.meta.property(ANTHROPIC, member) {
            block[member] = value.clone();
        }
    }
    Some(Map::from_iter([
        ("type".to_owned(), format!("{opaque}document").into()),
        ("document".to_owned(), block),
    ]))
}

fn is_of_bedrock(meta: &Meta) -> bool {
    let raw = meta.raw_representation.as_ref();
    raw.is_some_and(|raw| raw.dialect.starts_with("bedrock"))
}

/// The raw JSON of a text with citations, if the text is unchanged.
fn cited(text: &TextContent) -> Option<Map<String, Value>> {
    let mut cited = text.meta.property("bedrock", "citationsContent")?.clone();
    if !text.meta.annotations.is_empty() {
        cited["citations"] = text.meta.annotations.clone().into();
    }
    let content = cited.get("content").and_then(Value::as_array)?;
    let parts = content.iter().filter_map(|part| part.get("text")?.as_str());
    let is_same = parts.collect::<String>() == text.text;
    is_same.then(|| {
        Map::from_iter([
            ("type".to_owned(), "bedrock_citationsContent".into()),
            ("citationsContent".to_owned(), cited),
        ])
    })
}

/// Thinking without a signature, which some models on Bedrock send and accept.
fn unsigned(reasoning: &ReasoningContent) -> Option<Value> {
    let text = reasoning.text.as_ref()?;
    let is_own = reasoning.meta.additional_properties.contains_key(ANTHROPIC);
    let is_unsigned = reasoning.protected_data.is_none() && is_own;
    is_unsigned.then(|| serde_json::json!({"reasoningText": {"text": text}}))
}

/// The call id of a content, and the name of the function it calls.
fn named(content: &mut Content) -> (Option<&mut CallId>, Option<&mut String>) {
    match content {
        Content::FunctionCall(call) => (call.call_id.as_mut(), Some(&mut call.name)),
        Content::FunctionResult(result) => (result.call_id.as_mut(), result.name.as_mut()),
        Content::ComputerCall(call) => (Some(&mut call.call_id), None),
        Content::ComputerResult(result) => (Some(&mut result.call_id), None),
        Content::ShellCall(call) => (Some(&mut call.call_id), None),
        Content::ShellResult(result) => (Some(&mut result.call_id), None),
        Content::EditCall(call) => (Some(&mut call.call_id), None),
        Content::EditResult(result) => (Some(&mut result.call_id), None),
        Content::CommandCall(call) | Content::CommandResult(call) => (call.call_id.as_mut(), None),
        _ => (None, None),
    }
}

/// Restores the original id and name from encoded ones.
pub(super) fn restore_names(content: &mut Content) {
    let (id, name) = named(content);
    if let Some(id) = id
        && let Some(extra) = names::decode_id(id.as_str())
    {
        *id = extra.into();
    }
    if let Some(name) = name
        && let Some(extra) = names::decode_name(name)
    {
        *name = extra;
    }
}

/// The legal id sent for each original id, so that a result matches its call.
#[derive(Debug, Default)]
pub(super) struct LegalIds(HashMap<CallId, CallId>);

impl LegalIds {
    /// Replaces illegal ids and names of a content, except those of this dialect.
    pub(super) fn apply(&mut self, content: &mut Content, dialect: &str, report: &mut Report) {
        let raw = content
            .meta()
            .and_then(|meta| meta.raw_representation.as_ref());
        let own = raw
            .filter(|raw| raw.dialect == dialect)
            .map(|raw| own_names(raw.json()));
        let (id, name) = named(content);
        if let Some(name) = name
            && let Some(sent) = names::encode_name(name)
            && own.as_ref().is_none_or(|own| own.contains(&sent))
        {
            *name = sent;
        }
        let Some(id) = id else { return };
        let sent = match (names::encode_id(id.as_str()), own) {
            (Some(Placeholder::Encoded(extra)), Some(own))
                if own.iter().any(|own| own.starts_with(&extra)) =>
            {
                CallId::from(extra)
            }
            (_, Some(_)) | (None, None) => id.clone(),
            (Some(placeholder), None) => match self.0.get(id) {
                Some(sent) => sent.clone(),
                None => placeholder_id(id, placeholder, report),
            },
        };
        self.0.insert(id.clone(), sent.clone());
        *id = sent;
    }
}

fn placeholder_id(id: &CallId, placeholder: Placeholder, report: &mut Report) -> CallId {
    match placeholder {
        Placeholder::Encoded(extra) => extra.into(),
        Placeholder::Digest(digest) => {
            report.preserved(
                format!("id {id}"),
                format!("call {id}"),
                "ids have at most 64 characters",
                format!("as {digest}"),
            );
            digest.into()
        }
    }
}

/// The call ids and function names in a block or a run of blocks.
fn own_names(json: &Value) -> Vec<String> {
    let blocks = match json {
        Value::Array(blocks) => blocks.as_slice(),
        one => std::slice::from_ref(one),
    };
    let inner = blocks
        .iter()
        .filter_map(|block| block.as_object()?.values().next());
    let names = inner.flat_map(|inner| {
        ["toolUseId", "name"]
            .into_iter()
            .filter_map(|name| inner.get(name)?.as_str())
    });
    names.map(str::to_owned).collect()
}
