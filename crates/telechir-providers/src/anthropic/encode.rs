//! Encodes a history: unchanged messages as they were decoded, others in this dialect's order.
//!
//! The order: roles alternate, and the next user message starts with a result for every
//! `tool_use`.

mod envelope;
mod originals;

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};
use telechir_protocol::{CallId, Content, Message, Role, ShellEnvironment, ToolCall};

use envelope::{BLOCKS_ONLY, enclose, unwrap_bare};
use originals::{role_name, string_of};

use super::context::BlockContext;
use super::encode_call::{self, EncodedToolUse, ToolUsePart, ToolUseStyle};
use super::image::ImageTier;
use super::media::{ImageCheck, Strictness};
use super::models::{self, ToolVersion};
use super::results::ToolResultEncoder;
use super::{DIALECT, encode_content, limits, rules};
use crate::history::turns::{call_of, is_result, result_id, result_of, results};
use crate::{EncodeError, Envelope, History, Report};

/// Encodes a history with tools of the version `newest` or an older one.
pub(crate) fn encode_history(
    history: &History,
    newest: ToolVersion,
) -> Result<(Value, Report), EncodeError> {
    let none = Map::new();
    let own = history.envelope.own(DIALECT);
    let (own, member) = (own.map(|(_, rest)| rest), own.map(|(member, _)| member));
    let request = own.unwrap_or(&none);
    let mut encoder = AnthropicHistoryEncoder::new(request, &history.messages, newest);
    if let Envelope::Object {
        dialect, member, ..
    } = &history.envelope
    {
        encoder.fields_around_message = match (*dialect == DIALECT, *member) {
            (false, "content") => FieldsAroundMessage::Envelope,
            _ => FieldsAroundMessage::Message,
        };
    }
    for (at, message) in history.messages.iter().enumerate() {
        encoder.message(message, &format!("messages[{at}]"))?;
    }
    encoder.flush()?;
    let AnthropicHistoryEncoder {
        messages,
        mut report,
        ..
    } = encoder;
    rules::messages(&messages)?;
    let model = request.get("model").and_then(Value::as_str);
    let tier = model.map(|model| ImageTier::for_model(Some(model)));
    limits::check(&messages, tier)?;
    // Only a request of this API has a version.
    if newest == ToolVersion::Toolset && member == Some("messages") && rules::is_newest(request) {
        limits::check_removed_features(&messages)?;
    }
    let value = match (own, member) {
        (Some(rest), Some("content")) => {
            let content = messages
                .into_iter()
                .next()
                .and_then(|mut message| message.get_mut("content").map(Value::take));
            rules::request(rest)?;
            enclose(rest, "content", content.unwrap_or_else(|| json!([])))
        }
        (Some(rest), _) => {
            rules::request(rest)?;
            enclose(rest, "messages", messages.into())
        }
        (None, _) => {
            history.envelope.report_foreign(DIALECT, &mut report);
            unwrap_bare(messages)
        }
    };
    Ok((value, report))
}

/// What the fields around a message's content are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FieldsAroundMessage {
    /// Those of the message.
    Message,
    /// Those of a response, which a message does not have.
    Envelope,
}

/// A call that the next user message must answer.
struct PendingToolUse {
    call: ToolCall,
    parts: Vec<ToolUsePart>,
    /// Index of its first block in the current message.
    start: usize,
}

/// Encodes the messages of a history one after another.
struct AnthropicHistoryEncoder<'a> {
    messages: Vec<Value>,
    report: Report,
    context: BlockContext,
    version: ToolVersion,
    result_encoder: ToolResultEncoder,
    results: HashMap<&'a CallId, &'a Content>,
    /// Role of the current message; none between messages.
    role: Option<Role>,
    blocks: Vec<Value>,
    /// Calls of the last assistant message that have no result yet.
    open: Vec<PendingToolUse>,
    /// Whether that message is unchanged, so that the next one may be unchanged too.
    open_is_unchanged: bool,
    answered: HashSet<CallId>,
    fields_around_message: FieldsAroundMessage,
}

impl<'a> AnthropicHistoryEncoder<'a> {
    fn new(request: &Map<String, Value>, messages: &'a [Message], newest: ToolVersion) -> Self {
        let model = request.get("model").and_then(Value::as_str);
        let tools = request
            .get("tools")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let declared = tools
            .filter_map(|tool| ToolVersion::of_type(tool.get("type")?.as_str()?))
            .max();
        let version = declared
            .or_else(|| models::version(model))
            .unwrap_or(ToolVersion::Toolset)
            .min(newest);
        let check = ImageCheck {
            tier: ImageTier::for_model(model),
            strictness: Strictness::Report,
        };
        Self {
            messages: Vec::new(),
            report: Report::default(),
            context: BlockContext::of_request(request),
            version,
            result_encoder: ToolResultEncoder {
                check,
                is_history: true,
            },
            results: results(messages),
            role: None,
            blocks: Vec::new(),
            open: Vec::new(),
            open_is_unchanged: false,
            answered: HashSet::new(),
            fields_around_message: FieldsAroundMessage::Message,
        }
    }

    fn message(&mut self, message: &'a Message, location: &str) -> Result<(), EncodeError> {
        let raw = message
            .meta
            .raw_representation
            .as_ref()
            .filter(|raw| raw.dialect == DIALECT);
        if let Some(raw) = raw {
            let results_are_rewritten = !self.open.is_empty() && !self.open_is_unchanged;
            if message.role != Role::User || !results_are_rewritten {
                return self.unchanged_message(message, raw.json(), location);
            }
        }
        for (at, content) in message.contents.iter().enumerate() {
            self.content(
                &message.role,
                content,
                &format!("{location}.contents[{at}]"),
            )?;
        }
        Ok(())
    }

    /// Encodes a message of this dialect with its own fields and order.
    fn unchanged_message(
        &mut self,
        message: &'a Message,
        around: &Value,
        location: &str,
    ) -> Result<(), EncodeError> {
        if !self.open.is_empty() && !self.open_is_unchanged {
            self.switch_role(Role::User)?;
        }
        self.flush()?;
        if let [content] = message.contents.as_slice()
            && let Some(text) = string_of(content)
        {
            self.push_message(&message.role, around, text);
            self.open.clear();
            return Ok(());
        }
        let mut blocks = Vec::new();
        let mut open = Vec::new();
        for (at, content) in message.contents.iter().enumerate() {
            let location = format!("{location}.contents[{at}]");
            if let Some(call) = call_of(content) {
                let written = self.call_blocks(content, &call);
                blocks.extend(written.blocks);
                open.push(PendingToolUse {
                    call,
                    parts: written.parts,
                    start: 0,
                });
            } else if is_result(content) {
                let id = result_id(content);
                let pending = self
                    .open
                    .iter()
                    .position(|pending| pending.call.call_id() == id);
                let pending = pending.map(|at| self.open.swap_remove(at));
                blocks.extend(self.result_blocks(content, pending.as_ref(), &location)?);
                self.answered.extend(id.cloned());
            } else if let Content::Other(other) = content {
                blocks.push(Value::Object(other.json.clone()));
            } else {
                blocks.extend(self.plain_blocks(content, &location)?);
            }
        }
        self.push_message(&message.role, around, blocks.into());
        // The calls of messages of the assistant in a row get their results together.
        if message.role != Role::Assistant {
            self.open.clear();
        }
        self.open.extend(open);
        self.open_is_unchanged = true;
        Ok(())
    }

    fn push_message(&mut self, role: &Role, around: &Value, content: Value) {
        let role = role_name(role);
        let mut message = match around {
            Value::Object(_) if self.fields_around_message == FieldsAroundMessage::Envelope => {
                Map::new()
            }
            Value::Object(around) => around.clone(),
            _ => Map::from_iter([(BLOCKS_ONLY.to_owned(), Value::Null)]),
        };
        message.insert("role".to_owned(), role.into());
        message.insert("content".to_owned(), content);
        self.messages.push(Value::Object(message));
    }

    fn content(
        &mut self,
        role: &Role,
        content: &'a Content,
        location: &str,
    ) -> Result<(), EncodeError> {
        let hosted = matches!(content, Content::ShellCall(call) if call.environment != ShellEnvironment::Local)
            || matches!(content, Content::FunctionCall(call) if !call.requires_local_execution);
        if let Some(call) = call_of(content).filter(|call| !hosted && call.call_id().is_some()) {
            self.switch_role(Role::Assistant)?;
            let written = self.call_blocks(content, &call);
            let start = self.blocks.len();
            self.blocks.extend(written.blocks);
            self.open.push(PendingToolUse {
                call,
                parts: written.parts,
                start,
            });
            self.open_is_unchanged = false;
            return Ok(());
        }
        if is_result(content) {
            return self.result(result_id(content), location);
        }
        let blocks = if hosted {
            let id = call_of(content).and_then(|call| call.call_id().cloned());
            let what = match id {
                Some(id) => format!("call {id}"),
                None => "a call that another provider executed".to_owned(),
            };
            let why = "another provider executed it, and this dialect has no block for it";
            self.report.lost(what, location, why);
            Vec::new()
        } else {
            self.plain_blocks(content, location)?
        };
        if blocks.is_empty() {
            return Ok(());
        }
        let assistants = matches!(
            content,
            Content::Reasoning(_) | Content::CommandCall(_) | Content::CommandResult(_)
        );
        match role {
            _ if assistants => self.switch_role(Role::Assistant)?,
            Role::Assistant => self.switch_role(Role::Assistant)?,
            Role::User | Role::Tool => self.switch_role(Role::User)?,
            Role::System | Role::Developer => {
                self.system(role, location)?;
            }
        }
        self.blocks.extend(blocks);
        Ok(())
    }

    /// Starts a system message, which must not be between calls and their results.
    fn system(&mut self, role: &Role, location: &str) -> Result<(), EncodeError> {
        if !self.open.is_empty() {
            self.switch_role(Role::User)?;
        }
        self.switch_role(Role::System)?;
        if self.messages.is_empty() && self.blocks.is_empty() {
            self.report.preserved(
                "instructions before the conversation",
                location,
                "they belong in the request's `system`",
                "as a system message",
            );
        } else if *role == Role::Developer {
            self.report.preserved(
                "a developer message",
                location,
                "the dialect has no such role",
                "as a system message",
            );
        }
        Ok(())
    }

    /// Ensures that a result is encoded with its call; reports one without a call.
    fn result(&mut self, id: Option<&CallId>, location: &str) -> Result<(), EncodeError> {
        let Some(id) = id else {
            self.report.lost(
                "a result without an id",
                location,
                "a result needs a call id",
            );
            return Ok(());
        };
        if self
            .open
            .iter()
            .any(|pending| pending.call.call_id() == Some(id))
        {
            self.switch_role(Role::User)?;
        }
        if !self.answered.contains(id) {
            self.report.lost(
                format!("result {id}"),
                location,
                "no earlier call has this id",
            );
        }
        Ok(())
    }

    /// Continues in a message of this role. A user message starts with the results that are due.
    fn switch_role(&mut self, role: Role) -> Result<(), EncodeError> {
        let due = role != Role::Assistant && !self.open.is_empty();
        if self.role.as_ref() == Some(&role) && !due {
            return Ok(());
        }
        if role == Role::Assistant && self.role.is_none() && !self.open.is_empty() {
            // A new model turn while calls of the last one are still pending.
            self.switch_role(Role::User)?;
        }
        if due {
            let results = self.results_due()?;
            self.flush()?;
            self.blocks = results;
        } else {
            self.flush()?;
        }
        self.role = Some(role);
        Ok(())
    }

    /// Encodes the results that are due. After a failure, no later call of the same toolset may
    /// have been executed in that turn; if one was, it starts a new turn.
    fn results_due(&mut self) -> Result<Vec<Value>, EncodeError> {
        let mut due: Vec<Value> = Vec::new();
        let mut split = 0;
        for pending in std::mem::take(&mut self.open) {
            let results = self.result_for(&pending)?;
            let is_rejected = results
                .iter()
                .any(|result_for| !rules::may_follow(result_for, &due));
            if is_rejected && self.role == Some(Role::Assistant) {
                let rest = self.blocks.split_off(pending.start - split);
                split = pending.start;
                self.flush()?;
                let results = std::mem::take(&mut due);
                self.messages
                    .push(json!({"role": "user", "content": results}));
                (self.role, self.blocks) = (Some(Role::Assistant), rest);
            }
            due.extend(results);
        }
        Ok(due)
    }

    /// Encodes the result of a call, wherever the history has it.
    fn result_for(&mut self, pending: &PendingToolUse) -> Result<Vec<Value>, EncodeError> {
        let Some(id) = pending.call.call_id().cloned() else {
            return Ok(Vec::new());
        };
        let found = self
            .results
            .get(&id)
            .copied()
            .filter(|_| !self.answered.contains(&id));
        self.answered.insert(id.clone());
        if let Some(content) = found {
            return self.result_blocks(content, Some(pending), &format!("result {id}"));
        }
        self.report.preserved(
            "a missing result",
            format!("call {id}"),
            "every call requires a result",
            "as an error",
        );
        let missing = |part: &ToolUsePart| {
            let mut block = json!({"type": "tool_result", "tool_use_id": part.id, "content": "The result is unknown.", "is_error": true});
            if let Some(toolset) = &part.toolset {
                block["toolset_name"] = toolset.as_str().into();
            }
            block
        };
        Ok(pending.parts.iter().map(missing).collect())
    }

    fn call_blocks(&mut self, content: &Content, call: &ToolCall) -> EncodedToolUse {
        let written = match encode_call::original_blocks(content, &self.context) {
            Some(blocks) => EncodedToolUse {
                parts: encode_call::parts_of(&blocks),
                blocks,
            },
            None => encode_call::encode(call, self.style(call), &mut self.report),
        };
        for block in written.blocks.iter().filter_map(Value::as_object) {
            let part = super::decode_block::decode(block, &self.context);
            self.context.note(&part);
        }
        self.context.note(content);
        written
    }

    /// Chooses how to split a call, depending on what its result contains.
    fn style(&self, call: &ToolCall) -> ToolUseStyle {
        let result = call.call_id().and_then(|id| self.results.get(id));
        let mut style = ToolUseStyle {
            version: self.version,
            outputs: 0,
            images: false,
            tabs: true,
        };
        match (call, result) {
            (_, Some(Content::ShellResult(result))) => style.outputs = result.outputs.len(),
            (ToolCall::Computer(call), Some(Content::ComputerResult(result))) => {
                let has_images = result.steps.iter().any(|step| step.screenshot.is_some());
                style.images = has_images && result.steps.len() == call.actions.len();
                style.tabs = !result.tabs.is_empty() || result.error.is_some();
            }
            _ => {}
        }
        style
    }

    fn result_blocks(
        &mut self,
        content: &Content,
        pending: Option<&PendingToolUse>,
        location: &str,
    ) -> Result<Vec<Value>, EncodeError> {
        let ids = |blocks: &[Value]| -> Vec<Option<String>> {
            blocks
                .iter()
                .map(|block| Some(block.get("tool_use_id")?.as_str()?.to_owned()))
                .collect()
        };
        let wanted: Option<Vec<Option<String>>> = pending.map(|pending| {
            pending
                .parts
                .iter()
                .map(|part| Some(part.id.clone()))
                .collect()
        });
        if let Some(blocks) = encode_call::original_blocks(content, &self.context)
            .filter(|blocks| wanted.as_ref().is_none_or(|wanted| *wanted == ids(blocks)))
        {
            return Ok(blocks);
        }
        match pending.zip(result_of(content)) {
            Some((pending, result)) => {
                let PendingToolUse { call, parts, .. } = pending;
                self.result_encoder
                    .encode(call, parts, &result, &mut self.report)
            }
            None => {
                let id = result_id(content).map_or_else(String::new, ToString::to_string);
                self.report.lost(
                    format!("result {id}"),
                    location,
                    "no earlier call has this id",
                );
                Ok(Vec::new())
            }
        }
    }

    fn plain_blocks(
        &mut self,
        content: &Content,
        location: &str,
    ) -> Result<Vec<Value>, EncodeError> {
        if let Some(blocks) = encode_call::original_blocks(content, &self.context) {
            return Ok(blocks);
        }
        let block = encode_content::content_block(
            content,
            self.result_encoder.check,
            location,
            &mut self.report,
        )?;
        Ok(block.into_iter().collect())
    }

    /// Completes the current message.
    fn flush(&mut self) -> Result<(), EncodeError> {
        let Some(role) = self.role.take() else {
            return Ok(());
        };
        let blocks = std::mem::take(&mut self.blocks);
        if !blocks.is_empty() {
            self.messages
                .push(json!({"role": role_name(&role), "content": blocks}));
        }
        Ok(())
    }
}
