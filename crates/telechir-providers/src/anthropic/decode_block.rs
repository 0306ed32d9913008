//! Decodes one content block into a neutral content.

use serde_json::Value;
use telechir_protocol::{
    Content, DataContent, HostedFileContent, Meta, Raw, ReasoningContent, TextContent,
    UnknownContent, UriContent,
};

use super::context::BlockContext;
use super::decode_call::FORM;
use super::{DIALECT, PROVIDER, decode_call, decode_result, hosted_code};
use crate::json::{Fields as Block, text};

/// Decodes a block, with its JSON as the raw representation.
pub(super) fn decode_with_raw(raw: &Raw, context: &BlockContext) -> Content {
    let none = Block::new();
    let mut content = decode(raw.json().as_object().unwrap_or(&none), context);
    if let Some(meta) = content.meta_mut() {
        meta.raw_representation = Some(raw.clone());
    }
    content
}

/// Decodes a block without its raw JSON. An unknown block is retained as [`UnknownContent`].
pub(super) fn decode(block: &Block, context: &BlockContext) -> Content {
    let known = match text(block, "type").unwrap_or_default() {
        "text" => plain(block),
        "thinking" => thinking(block),
        "redacted_thinking" => redacted(block),
        "image" => media(block),
        "document" => media(block),
        "tool_use" => Some(decode_call::decode(block, context)),
        "tool_result" => decode_result::decode(block, context),
        "server_tool_use" => hosted_code::call(block),
        "bash_code_execution_tool_result" | "code_execution_tool_result" => {
            hosted_code::result(block)
        }
        _ => None,
    };
    known.unwrap_or_else(|| other(block))
}

fn other(block: &Block) -> Content {
    Content::Other(UnknownContent::new(DIALECT, block.clone()))
}

/// Metadata with the block's fields except `known` as properties.
pub(super) fn meta(block: &Block, known: &[&str]) -> Meta {
    let mut meta = Meta::default();
    let left = block
        .iter()
        .filter(|(name, _)| *name != "type" && !known.contains(&name.as_str()));
    for (name, value) in left {
        meta.set_property(PROVIDER, name, value.clone());
    }
    meta
}

fn plain(block: &Block) -> Option<Content> {
    let body = text(block, "text")?.to_owned();
    let mut meta = meta(block, &["text", "citations"]);
    match block.get("citations") {
        Some(Value::Array(citations)) => {
            meta.annotations.clone_from(citations);
            meta.set_property(PROVIDER, FORM, "citations".into());
        }
        None | Some(Value::Null) => {}
        Some(odd) => meta.set_property(PROVIDER, "citations", odd.clone()),
    }
    Some(Content::Text(TextContent { text: body, meta }))
}

fn thinking(block: &Block) -> Option<Content> {
    let mut meta = meta(block, &["thinking", "signature"]);
    meta.set_property(PROVIDER, FORM, "thinking".into());
    Some(Content::Reasoning(ReasoningContent {
        text: Some(text(block, "thinking")?.to_owned()),
        item_id: None,
        protected_data: text(block, "signature").map(str::to_owned),
        meta,
    }))
}

fn redacted(block: &Block) -> Option<Content> {
    let mut meta = meta(block, &["data"]);
    meta.set_property(PROVIDER, FORM, "redacted_thinking".into());
    Some(Content::Reasoning(ReasoningContent {
        text: None,
        item_id: None,
        protected_data: Some(text(block, "data")?.to_owned()),
        meta,
    }))
}

/// Decodes an image or document given as base64, URL or file id; none for any other source.
pub(super) fn media(block: &Block) -> Option<Content> {
    let source = block.get("source")?.as_object()?;
    let meta = meta(block, &["source", "title"]);
    let name = text(block, "title").map(str::to_owned);
    let is_document = text(block, "type") == Some("document");
    Some(match text(source, "type")? {
        "base64" => {
            let kind = text(source, "media_type")?;
            let data = DataContent::from_base64(kind, text(source, "data")?);
            Content::Data(DataContent { name, meta, ..data })
        }
        "url" => {
            let uri = text(source, "url")?.to_owned();
            let media_type = Some(
                if is_document {
                    "application/pdf"
                } else {
                    "image/*"
                }
                .to_owned(),
            );
            Content::Uri(UriContent {
                uri,
                media_type,
                meta,
            })
        }
        "file" => {
            let file_id = text(source, "file_id")?.to_owned();
            let media_type = (!is_document).then(|| "image/*".to_owned());
            Content::HostedFile(HostedFileContent {
                file_id,
                media_type,
                name,
                meta,
            })
        }
        _ => return None,
    })
}
