//! Contents that are neither calls nor results as blocks of a message.

use serde_json::{Value, json};
use telechir_protocol::{Content, HostedCall, ReasoningContent, TextContent};

use super::decode_call::FORM;
use super::media::{self, Check};
use super::{PROVIDER, encode_call, hosted_code};
use crate::{EncodeError, Report};

/// The block of a content; none when it cannot be said, or says nothing, and that was noted.
pub(super) fn plain(
    content: &Content,
    check: Check,
    place: &str,
    report: &mut Report,
) -> Result<Option<Value>, EncodeError> {
    if let Some(meta) = content.meta() {
        encode_call::unsaid(report, place, meta, None, None);
    }
    Ok(match content {
        Content::Text(text) => words(text, place, report),
        Content::Reasoning(reasoning) => thinking(reasoning, place, report),
        Content::Data(data) => media::data_block(data, check, place, report)?,
        Content::Uri(uri) => Some(media::uri_block(uri)),
        Content::HostedFile(file) => media::file_block(file, place, report),
        Content::CommandCall(call) => hosted_code::call_block(call)
            .or_else(|| spoken("Code that the provider ran", call, place, report)),
        Content::CommandResult(call) => hosted_code::result_block(call)
            .or_else(|| spoken("What that code gave", call, place, report)),
        // A cost is no part of a conversation.
        Content::Usage(_) => None,
        Content::Error(error) if error.meta.property(PROVIDER, "stop_reason").is_some() => None,
        Content::Other(other) => match other.kind.as_deref() {
            Some(kind) if OWN_TYPES.contains(&kind) || kind.starts_with(LENT) => {
                Some(Value::Object(other.json.clone()))
            }
            kind => lost(
                format!("a {}", kind.unwrap_or("content without a type")),
                place,
                report,
            ),
        },
        Content::Error(error) => lost(format!("error {:?}", error.message), place, report),
        Content::ImageGenerationCall(_) => {
            lost("a call of an image generator".to_owned(), place, report)
        }
        Content::ImageGenerationResult(_) => lost("a generated image".to_owned(), place, report),
        Content::ApprovalRequest(request) => {
            lost(format!("approval request {}", request.id), place, report)
        }
        Content::ApprovalResponse(response) => {
            lost(format!("approval response {}", response.id), place, report)
        }
        Content::FunctionCall(_)
        | Content::FunctionResult(_)
        | Content::ComputerCall(_)
        | Content::ComputerResult(_)
        | Content::ShellCall(_)
        | Content::ShellResult(_)
        | Content::EditCall(_)
        | Content::EditResult(_) => lost("a call within a result".to_owned(), place, report),
    })
}

/// Begins the type of a block that another writer has put there to take it out again; never sent.
pub(crate) const LENT: &str = "\u{0}";

/// Blocks of this dialect that have no neutral form.
const OWN_TYPES: [&str; 17] = [
    "document",
    "search_result",
    "tool_reference",
    "server_tool_use",
    "web_search_tool_result",
    "web_fetch_tool_result",
    "text_editor_code_execution_tool_result",
    "tool_search_tool_result",
    "code_execution_tool_result",
    "bash_code_execution_tool_result",
    "container_upload",
    "mcp_tool_use",
    "mcp_tool_result",
    "compaction",
    "fallback",
    "advisor_tool_result",
    "thinking",
];

fn lost(what: String, place: &str, report: &mut Report) -> Option<Value> {
    report.lost(what, place, "this dialect has no block for it");
    None
}

/// A text; an empty one is left out, which the provider would refuse.
fn words(text: &TextContent, place: &str, report: &mut Report) -> Option<Value> {
    if text.text.trim().is_empty() {
        return None;
    }
    let mut block = json!({"type": "text", "text": text.text});
    let is_ours = text.meta.property(PROVIDER, FORM).is_some();
    if is_ours {
        block["citations"] = text.meta.annotations.clone().into();
    } else if !text.meta.annotations.is_empty() {
        report.lost(
            format!("{} annotations", text.meta.annotations.len()),
            place,
            "citations have another form here",
        );
    }
    if let Some(marker) = text.meta.property(PROVIDER, "cache_control") {
        block["cache_control"] = marker.clone();
    }
    Some(block)
}

/// Thinking is of use only with this provider's own signature.
fn thinking(reasoning: &ReasoningContent, place: &str, report: &mut Report) -> Option<Value> {
    let is_ours = reasoning.meta.property(PROVIDER, FORM).is_some();
    match (&reasoning.text, &reasoning.protected_data) {
        (Some(text), Some(signature)) if is_ours => {
            Some(json!({"type": "thinking", "thinking": text, "signature": signature}))
        }
        (None, Some(data)) if is_ours => Some(json!({"type": "redacted_thinking", "data": data})),
        _ => {
            let name = reasoning.item_id.as_deref().unwrap_or_default();
            report.lost(
                format!("reasoning {name}").trim_end(),
                place,
                "only thinking signed by this provider is taken",
            );
            None
        }
    }
}

/// Hosted code as text: another provider's run cannot be repeated as this one's.
fn spoken(title: &str, call: &HostedCall, place: &str, report: &mut Report) -> Option<Value> {
    let parts = call
        .inputs
        .iter()
        .chain(&call.results)
        .filter_map(|part| match part {
            Content::Text(text) => Some(text.text.as_str()),
            Content::Error(error) => Some(error.message.as_str()),
            _ => None,
        });
    let text = parts.collect::<Vec<_>>().join("\n");
    let others = call
        .inputs
        .iter()
        .chain(&call.results)
        .filter(|part| !matches!(part, Content::Text(_) | Content::Error(_)));
    let others = others.count();
    if others > 0 {
        report.lost(
            format!("{others} files of hosted code"),
            place,
            "another provider holds them",
        );
    }
    report.kept(
        "hosted code",
        place,
        "it was run by another provider",
        "as text",
    );
    Some(json!({"type": "text", "text": format!("{title}:\n{text}")}))
}
