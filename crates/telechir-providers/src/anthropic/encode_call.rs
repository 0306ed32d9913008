//! Calls as `tool_use` blocks: what came from this dialect as it came, anything else in its words.

mod computer;
mod losses;
mod other_tools;

use serde_json::Value;
use telechir_protocol::{Action, CallId, Content, Meta, ToolCall};

pub(super) use losses::report_losses;

use super::context::BlockContext;
use super::decode_block::{self, text};
use super::models::ToolVersion;
use super::{DIALECT, PROVIDER, decode_call, split_calls};
use crate::Report;

/// One `tool_use` block, for the result that must answer it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ToolUsePart {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) toolset: Option<String>,
    /// Which of the call's actions or commands it is.
    pub(super) index: usize,
}

impl ToolUsePart {
    /// Whether its answer is a picture, always.
    pub(super) fn wants_image(&self, action: Option<&Action>) -> bool {
        let looks = matches!(action, Some(Action::Screenshot | Action::Zoom { .. }));
        looks || (self.toolset.is_some() && matches!(self.name.as_str(), "screenshot" | "zoom"))
    }
}

/// A call's blocks.
#[derive(Clone, Debug, Default)]
pub(super) struct EncodedToolUse {
    pub(super) blocks: Vec<Value>,
    pub(super) parts: Vec<ToolUsePart>,
}

/// How a call is written that did not come from this dialect.
#[derive(Clone, Copy)]
pub(super) struct ToolUseStyle {
    pub(super) version: ToolVersion,
    /// How many outputs a shell's result has; one a command lets each be a block of its own.
    pub(super) outputs: usize,
    /// Whether a picture of each action is known, so that screenshots in between can be answered.
    pub(super) images: bool,
    /// Whether the tabs are known, which alone may answer the toolset's calls about them.
    pub(super) tabs: bool,
}

/// The blocks that a content came as, when it still says what they say.
pub(super) fn original_blocks(content: &Content, context: &BlockContext) -> Option<Vec<Value>> {
    let raw = content
        .meta()?
        .raw_representation
        .as_ref()
        .filter(|raw| raw.dialect == DIALECT)?;
    match raw.template() {
        Value::Object(block) => {
            let read = decode_block::read(block, context);
            let is_same = read == *content || decode_call::mark_cut_off(read) == *content;
            is_same.then(|| vec![raw.template().clone()])
        }
        Value::Array(run) => {
            (split_calls::read(run, context).as_ref() == Some(content)).then(|| run.clone())
        }
        _ => None,
    }
}

/// A content as the call it is, when it is one.
pub(super) fn call_of(content: &Content) -> Option<ToolCall> {
    Some(match content {
        Content::ComputerCall(call) => ToolCall::Computer(call.clone()),
        Content::ShellCall(call) => ToolCall::Shell(call.clone()),
        Content::EditCall(call) => ToolCall::Edit(call.clone()),
        Content::FunctionCall(call) => ToolCall::Function(call.clone()),
        _ => return None,
    })
}

/// The blocks of a call that did not come from this dialect, or was changed.
pub(super) fn write(call: &ToolCall, style: ToolUseStyle, report: &mut Report) -> EncodedToolUse {
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

/// A call of this dialect that could not be read: its name and input are all that is known.
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

/// The parts of blocks that go out as they came.
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

/// The members that a changed block still has, such as `caller`, and its parts.
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
