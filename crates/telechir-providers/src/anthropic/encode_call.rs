//! Encodes calls as `tool_use` blocks. An unchanged call of this dialect keeps its blocks.

mod computer;
mod losses;
mod other_tools;

use serde_json::Value;
use telechir_protocol::{Action, CallId, Content, Meta, ToolCall};

pub(super) use losses::report_losses;

use super::context::BlockContext;
use super::decode_block;
use super::models::ToolVersion;
use super::{DIALECT, PROVIDER, decode_call, split_calls};
use crate::Report;
use crate::json::text;

/// One `tool_use` block of a call, which requires a result of its own.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ToolUsePart {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) toolset: Option<String>,
    /// Index of the call's action or command.
    pub(super) index: usize,
}

impl ToolUsePart {
    /// Whether its result must contain an image.
    pub(super) fn wants_image(&self, action: Option<&Action>) -> bool {
        let looks = matches!(action, Some(Action::Screenshot | Action::Zoom { .. }));
        looks || (self.toolset.is_some() && matches!(self.name.as_str(), "screenshot" | "zoom"))
    }
}

/// The blocks that encode one call.
#[derive(Clone, Debug, Default)]
pub(super) struct EncodedToolUse {
    pub(super) blocks: Vec<Value>,
    pub(super) parts: Vec<ToolUsePart>,
}

/// How to encode a call that has no blocks of this dialect.
#[derive(Clone, Copy)]
pub(super) struct ToolUseStyle {
    pub(super) version: ToolVersion,
    /// Number of outputs in the shell result; one per command gives each command its own block.
    pub(super) outputs: usize,
    /// Whether each action has a screenshot, so that a screenshot amid the batch has a result.
    pub(super) images: bool,
    /// Whether the result lists the tabs, which the toolset's tab members require.
    pub(super) tabs: bool,
}

/// The blocks that a content was decoded from, if its values are unchanged.
pub(super) fn original_blocks(content: &Content, context: &BlockContext) -> Option<Vec<Value>> {
    let raw = content
        .meta()?
        .raw_representation
        .as_ref()
        .filter(|raw| raw.dialect == DIALECT)?;
    match raw.json() {
        Value::Object(_) => {
            let read = decode_block::decode_with_raw(raw, context);
            let is_same = read == *content || decode_call::mark_cut_off(read) == *content;
            is_same.then(|| vec![raw.json().clone()])
        }
        Value::Array(run) => {
            (split_calls::join(raw, context).as_ref() == Some(content)).then(|| run.clone())
        }
        _ => None,
    }
}

/// Encodes a call that is from another dialect, or was changed.
pub(super) fn encode(call: &ToolCall, style: ToolUseStyle, report: &mut Report) -> EncodedToolUse {
    if let Some(written) = undecoded(call) {
        return written;
    }
    match call {
        ToolCall::Computer(call) => computer::computer(call, style, report),
        ToolCall::Shell(call) => other_tools::shell(call, style, report),
        ToolCall::Edit(call) => other_tools::edit(call, report),
        ToolCall::Function(call) => other_tools::function(call, report),
    }
}

/// Encodes an invalid call of this dialect from the name and input that it retained.
fn undecoded(call: &ToolCall) -> Option<EncodedToolUse> {
    let (id, meta, exception) = match call {
        ToolCall::Computer(call) => (&call.call_id, &call.meta, &call.exception),
        ToolCall::Shell(call) => (&call.call_id, &call.meta, &call.exception),
        ToolCall::Edit(call) => (&call.call_id, &call.meta, &call.exception),
        ToolCall::Function(_) => return None,
    };
    let property = |member: &str| meta.property(PROVIDER, member);
    let (name, input) = (property("name")?, property("input")?);
    exception.as_ref()?;
    let mut block =
        serde_json::json!({"type": "tool_use", "id": id.as_str(), "name": name, "input": input});
    if let Some(toolset) = property("toolset_name") {
        block["toolset_name"] = toolset.clone();
    }
    Some(finish(vec![(block, 0)], meta))
}

/// The parts of `tool_use` blocks.
pub(super) fn parts_of(blocks: &[Value]) -> Vec<ToolUsePart> {
    let part = |(index, block): (usize, &Value)| {
        let block = block.as_object()?;
        Some(ToolUsePart {
            id: text(block, "id")?.to_owned(),
            name: text(block, "name").unwrap_or_default().to_owned(),
            toolset: text(block, "toolset_name").map(str::to_owned),
            index,
        })
    };
    blocks.iter().enumerate().filter_map(part).collect()
}

fn location(id: &CallId) -> String {
    format!("call {id}")
}

/// Restores the fields of a changed block that have no neutral form, and collects its parts.
fn finish(blocks: Vec<(Value, usize)>, meta: &Meta) -> EncodedToolUse {
    let mut written = EncodedToolUse::default();
    for (mut block, index) in blocks {
        for member in ["caller", "cache_control"] {
            if let (Some(value), Some(block)) =
                (meta.property(PROVIDER, member), block.as_object_mut())
            {
                block.insert(member.to_owned(), value.clone());
            }
        }
        for mut part in parts_of(std::slice::from_ref(&block)) {
            part.index = index;
            written.parts.push(part);
        }
        written.blocks.push(block);
    }
    written
}
