//! Encodes contents that are neither calls nor results as blocks of a message.

use serde_json::{Value, json};
use telechir_protocol::{Content, HostedCall, ReasoningContent, TextContent, UnknownContent};

use super::decode_call::FORM;
use super::media::{self, ImageCheck};
use super::{DIALECT, PROVIDER, hosted_code};
use crate::content_text::hosted_label;
use crate::{EncodeError, Report};

/// Encodes a content; none if it is empty, or unsupported and reported as a loss.
pub(super) fn content_block(
    content: &Content,
    check: ImageCheck,
    location: &str,
    report: &mut Report,
) -> Result<Option<Value>, EncodeError> {
    Ok(match content {
        Content::Text(text) => text_block(text, location, report),
        Content::Reasoning(reasoning) => thinking(reasoning, location, report),
        Content::Data(data) => media::data_block(data, check, location, report)?,
        Content::Uri(uri) => Some(media::uri_block(uri)),
        Content::HostedFile(file) => media::file_block(file, location, report),
        Content::CommandCall(call) => hosted_code::call_block(call)
            .or_else(|| hosted_code_as_text("Code run by the provider", call, location, report)),
        Content::CommandResult(call) => hosted_code::result_block(call)
            .or_else(|| hosted_code_as_text("Output of that code", call, location, report)),
        // Usage is not part of a conversation.
        Content::Usage(_) => None,
        Content::Error(error) if error.meta.property(PROVIDER, "stop_reason").is_some() => None,
        Content::Other(other) if is_own(other) => Some(Value::Object(other.json.clone())),
        Content::Other(other) => lost(
            format!(
                "a {}",
                other.kind.as_deref().unwrap_or("content without a type")
            ),
            location,
            report,
        ),
        Content::Error(error) => lost(format!("error {:?}", error.message), location, report),
        Content::ImageGenerationCall(call) => lost(
            hosted_label("an image generation call", call),
            location,
            report,
        ),
        Content::ImageGenerationResult(result) => {
            lost(hosted_label("a generated image", result), location, report)
        }
        Content::ApprovalRequest(request) => {
            lost(format!("approval request {}", request.id), location, report)
        }
        Content::ApprovalResponse(response) => lost(
            format!("approval response {}", response.id),
            location,
            report,
        ),
        Content::FunctionCall(_)
        | Content::FunctionResult(_)
        | Content::ComputerCall(_)
        | Content::ComputerResult(_)
        | Content::ShellCall(_)
        | Content::ShellResult(_)
        | Content::EditCall(_)
        | Content::EditResult(_) => lost("a call inside a result".to_owned(), location, report),
    })
}

/// Prefix of the type of a block that another encoder passes through this one; never sent.
pub(crate) const FORWARDED_PREFIX: &str = "\u{0}";

/// Whether an unknown content is a block of this dialect: it came from here, or neutral JSON that
/// does not state its dialect has a type that only this dialect knows.
fn is_own(other: &UnknownContent) -> bool {
    let kind = other.kind.as_deref().unwrap_or_default();
    match other.dialect.as_deref() {
        Some(dialect) => dialect == DIALECT,
        None => OWN_TYPES.contains(&kind) || kind.starts_with(FORWARDED_PREFIX),
    }
}

/// Block types of this dialect that have no neutral form.
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

fn lost(what: String, location: &str, report: &mut Report) -> Option<Value> {
    report.lost(what, location, "this dialect has no block for it");
    None
}

/// Encodes a text; none for an empty one, which the provider rejects.
fn text_block(text: &TextContent, location: &str, report: &mut Report) -> Option<Value> {
    if text.text.trim().is_empty() {
        return None;
    }
    let mut block = json!({"type": "text", "text": text.text});
    let is_own = text.meta.property(PROVIDER, FORM).is_some();
    if is_own {
        block["citations"] = text.meta.annotations.clone().into();
    } else if !text.meta.annotations.is_empty() {
        report.lost(
            format!("{} annotations", text.meta.annotations.len()),
            location,
            "citations have a different format in this dialect",
        );
    }
    if let Some(marker) = text.meta.property(PROVIDER, "cache_control") {
        block["cache_control"] = marker.clone();
    }
    Some(block)
}

/// Encodes thinking, which the provider accepts only with its own signature.
fn thinking(reasoning: &ReasoningContent, location: &str, report: &mut Report) -> Option<Value> {
    let is_own = reasoning.meta.property(PROVIDER, FORM).is_some();
    match (&reasoning.text, &reasoning.protected_data) {
        (Some(text), Some(signature)) if is_own => {
            Some(json!({"type": "thinking", "thinking": text, "signature": signature}))
        }
        (None, Some(data)) if is_own => Some(json!({"type": "redacted_thinking", "data": data})),
        _ => {
            let name = reasoning.item_id.as_deref().unwrap_or_default();
            report.lost(
                format!("reasoning {name}").trim_end(),
                location,
                "the provider accepts only thinking that it signed",
            );
            None
        }
    }
}

/// Encodes code that another provider ran, as text.
fn hosted_code_as_text(
    title: &str,
    call: &HostedCall,
    location: &str,
    report: &mut Report,
) -> Option<Value> {
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
            location,
            "another provider stores them",
        );
    }
    let results = call.results.iter();
    let failed = results
        .filter(|part| matches!(part, Content::Error(_)))
        .count();
    let outcome = call.status.as_deref().filter(|_| failed > 0);
    let what = match outcome {
        Some(outcome) => format!("hosted code with the outcome {outcome}"),
        None => "hosted code".to_owned(),
    };
    let title = if failed > 0 {
        format!("{title} (failed)")
    } else {
        title.to_owned()
    };
    report.preserved(what, location, "another provider ran it", "as text");
    Some(json!({"type": "text", "text": format!("{title}:\n{text}")}))
}
