//! Decodes a `tool_result` block into the result of its call.

use serde_json::Value;
use telechir_protocol::{
    CallId, ComputerResult, Content, EditResult, Failure, FailureKind, FunctionResult, Media, Raw,
    StepOutcome, StepState, TabState,
};

use super::context::{BlockContext, ToolUseKind};
use super::decode_block::{self, meta};
use super::{DIALECT, PROVIDER};
use crate::json::{Fields as Block, text};
use crate::shell_text;

const KNOWN: &[&str] = &["tool_use_id", "content", "is_error"];

/// The text that the provider requires in results after a failed call of the same toolset.
pub(super) fn halt_sentence(group: &str) -> &'static str {
    match group {
        super::decode_call::BROWSER => "Not executed: an earlier action in this turn failed.",
        _ => "Not executed: an earlier computer action in this turn failed.",
    }
}

/// Decodes a result; none if it has no call id.
pub(super) fn decode(block: &Block, context: &BlockContext) -> Option<Content> {
    let id = CallId::from(text(block, "tool_use_id")?);
    let is_error = block.get("is_error") == Some(&Value::Bool(true));
    Some(match context.call_kind(id.as_str()) {
        Some(ToolUseKind::Computer { group, action }) => {
            Content::ComputerResult(computer(block, id, group.clone(), action, is_error))
        }
        Some(ToolUseKind::Shell) => {
            let mut result = shell_text::decode(id, &all_text(block), is_error);
            result.meta = meta(block, KNOWN);
            Content::ShellResult(result)
        }
        Some(ToolUseKind::Edit) => {
            let (text_or_failure, error) = text_or_failure(block, is_error);
            let meta = meta(block, KNOWN);
            Content::EditResult(EditResult {
                call_id: id,
                text: text_or_failure,
                error,
                meta,
            })
        }
        Some(ToolUseKind::Function { name }) => function(block, id, Some(name.clone()), is_error),
        None => function(block, id, None, is_error),
    })
}

/// Types of a result's blocks that its content has no field for; only its raw JSON has them.
pub(super) fn unparsed_kinds<'a>(block: &'a Block, content: &Content) -> Vec<&'a str> {
    let is_read = |kind: &&str| match content {
        Content::ComputerResult(_) => matches!(*kind, "text" | "image" | "browser_state"),
        Content::ShellResult(_) | Content::EditResult(_) => *kind == "text",
        _ => true,
    };
    let kinds = parts(block)
        .iter()
        .filter_map(|part| part.get("type")?.as_str());
    kinds.filter(|kind| !is_read(kind)).collect()
}

fn parts(block: &Block) -> &[Value] {
    block
        .get("content")
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn of_type<'a>(block: &'a Block, kind: &'a str) -> impl Iterator<Item = &'a Block> {
    let parts = parts(block).iter().filter_map(Value::as_object);
    parts.filter(move |part| text(part, "type") == Some(kind))
}

/// All text of the result, blocks joined by newlines.
fn all_text(block: &Block) -> String {
    match block.get("content") {
        Some(Value::String(all_text)) => all_text.clone(),
        _ => of_type(block, "text")
            .filter_map(|part| text(part, "text"))
            .collect::<Vec<_>>()
            .join("\n"),
    }
}

fn has_text(block: &Block) -> bool {
    block.get("content").is_some_and(Value::is_string) || of_type(block, "text").next().is_some()
}

/// The result's text if it succeeded, or its failure.
fn text_or_failure(block: &Block, is_error: bool) -> (Option<String>, Option<Failure>) {
    let all_text = all_text(block);
    if is_error {
        (None, Some(Failure::new(failure_kind(&all_text), all_text)))
    } else {
        (has_text(block).then_some(all_text), None)
    }
}

fn failure_kind(all_text: &str) -> FailureKind {
    if [super::decode_call::COMPUTER, super::decode_call::BROWSER]
        .map(halt_sentence)
        .contains(&all_text)
    {
        FailureKind::NotExecuted
    } else {
        FailureKind::Device
    }
}

fn computer(
    block: &Block,
    id: CallId,
    group: Option<String>,
    action: &str,
    is_error: bool,
) -> ComputerResult {
    let mut result = ComputerResult::new(id);
    (result.text_output, result.error) = text_or_failure(block, is_error);
    let mut images: Vec<Media> = of_type(block, "image").filter_map(image).collect();
    result.screenshot = images.pop();
    result.steps = images
        .into_iter()
        .map(|image| step(action, image))
        .collect();
    result.group = group;
    result.meta = meta(block, KNOWN);
    if let Some(state) = of_type(block, "browser_state").next() {
        let tabs = state
            .get("tabs")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        result.tabs = tabs
            .filter_map(|tab| tab.as_object().and_then(read_tab))
            .collect();
        result.current_url = result
            .tabs
            .iter()
            .find(|tab| tab.active)
            .map(|tab| tab.url.clone());
        if let Some(changes) = state.get("state_changes") {
            result
                .meta
                .set_property(PROVIDER, "state_changes", changes.clone());
        }
    }
    result
}

fn step(action: &str, image: Media) -> StepOutcome {
    StepOutcome {
        action: action.to_owned(),
        state: StepState::Delivered,
        text: None,
        screenshot: Some(image),
        duration_ms: None,
    }
}

fn read_tab(tab: &Block) -> Option<TabState> {
    Some(TabState {
        tab_id: text(tab, "tab_id")?.to_owned(),
        title: text(tab, "title").unwrap_or_default().to_owned(),
        url: text(tab, "url").unwrap_or_default().to_owned(),
        active: tab.get("active") == Some(&Value::Bool(true)),
    })
}

fn image(block: &Block) -> Option<Media> {
    Some(match decode_block::media(block)? {
        Content::Data(data) => Media::Data(data),
        Content::Uri(uri) => Media::Uri(uri),
        Content::HostedFile(file) => Media::HostedFile(file),
        _ => return None,
    })
}

fn function(block: &Block, id: CallId, name: Option<String>, is_error: bool) -> Content {
    let meta = meta(block, KNOWN);
    let (mut items, mut result, mut error) = (Vec::new(), None, None);
    match block.get("content") {
        _ if is_error => {
            error = text_or_failure(block, true).1;
            let others = parts(block)
                .iter()
                .filter(|part| part.get("type").is_none_or(|kind| kind != "text"));
            items.extend(others.filter_map(item));
        }
        Some(Value::String(all_text)) => result = Some(Value::from(all_text.as_str())),
        _ => items.extend(parts(block).iter().filter_map(item)),
    }
    Content::FunctionResult(FunctionResult {
        call_id: Some(id),
        name,
        items: std::mem::take(&mut items),
        result,
        error,
        meta,
    })
}

/// Decodes a part of a function's result. Texts and files need no raw JSON of their own.
fn item(part: &Value) -> Option<Content> {
    let context = BlockContext::default();
    Some(match decode_block::decode(part.as_object()?, &context) {
        content @ (Content::Text(_)
        | Content::Data(_)
        | Content::Uri(_)
        | Content::HostedFile(_)) => content,
        _ => decode_block::decode_with_raw(&Raw::new(DIALECT, part.clone()), &context),
    })
}
