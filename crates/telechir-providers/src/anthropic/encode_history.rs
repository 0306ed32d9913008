//! Writing a history: message by message as it came, or put into this dialect's order.
//!
//! The order: roles alternate, and every `tool_use` is answered at the beginning of the very
//! next user message.

mod envelope;
mod results_index;

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};
use telechir_protocol::{CallId, Content, Message, Role, ShellEnvironment, ToolCall, ToolResult};

use envelope::{BLOCKS_ONLY, add_foreign_envelope, enclose, unwrap_bare};
use results_index::{index, result_of, role_name, string_of};

use super::context::BlockContext;
use super::encode_call::{self, EncodedToolUse, ToolUsePart, ToolUseStyle};
use super::encode_result::ToolResultEncoder;
use super::image::ImageTier;
use super::media::{ImageCheck, Strictness};
use super::models::{self, ToolVersion};
use super::{DIALECT, check, encode_content, limits};
use crate::{EncodeError, Envelope, History, Report};

/// Writes a history, with tools of `newest` or an older version.
pub(crate) fn encode_history(
    history: &History,
    newest: ToolVersion,
) -> Result<(Value, Report), EncodeError> {
    let none = Map::new();
    let (own, member) = match &history.envelope {
        Envelope::Object {
            dialect: DIALECT,
            member,
            rest,
        } => (Some(rest), Some(*member)),
        Envelope::Object { .. } | Envelope::List => (None, None),
    };
    let request = own.unwrap_or(&none);
    let mut encoder = AnthropicHistoryEncoder::new(request, &history.messages, newest);
    for (at, message) in history.messages.iter().enumerate() {
        encoder.message(message, &format!("messages[{at}]"))?;
    }
    encoder.flush()?;
    let AnthropicHistoryEncoder {
        mut messages,
        mut report,
        ..
    } = encoder;
    check::messages(&messages)?;
    let model = request.get("model").and_then(Value::as_str);
    let tier = model.map(|model| ImageTier::for_model(Some(model)));
    limits::check(&messages, tier)?;
    // Only a request of this very interface tells its version.
    if newest == ToolVersion::Toolset && member == Some("messages") && check::is_newest(request) {
        limits::check_removed_features(&messages)?;
    }
    let value = match (own, member) {
        (Some(rest), Some("content")) => {
            let content = messages
                .into_iter()
                .next()
                .and_then(|mut message| message.get_mut("content").map(Value::take));
            check::request(rest)?;
            enclose(rest, "content", content.unwrap_or_else(|| json!([])))
        }
        (Some(rest), _) => {
            check::request(rest)?;
            enclose(rest, "messages", messages.into())
        }
        (None, _) => {
            add_foreign_envelope(&history.envelope, &mut messages, &mut report);
            unwrap_bare(messages)
        }
    };
    Ok((value, report))
}

struct PendingToolUse {
    call: ToolCall,
    parts: Vec<ToolUsePart>,
    /// Where its blocks begin in the message that is being put together.
    start: usize,
}

struct AnthropicHistoryEncoder<'a> {
    messages: Vec<Value>,
    report: Report,
    context: BlockContext,
    version: ToolVersion,
    result_encoder: ToolResultEncoder,
    results: HashMap<&'a str, &'a Content>,
    /// The message that is being put together.
    role: Option<Role>,
    blocks: Vec<Value>,
    /// Calls of the last assistant message, which the next user message must answer.
    open: Vec<PendingToolUse>,
    /// Whether that message went out as it came, and the next one may do so too.
    open_is_unchanged: bool,
    answered: HashSet<CallId>,
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
            results: index(messages),
            role: None,
            blocks: Vec::new(),
            open: Vec::new(),
            open_is_unchanged: false,
            answered: HashSet::new(),
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
                return self.unchanged_message(message, raw.template(), location);
            }
        }
        if raw.is_none() {
            encode_call::report_losses(&mut self.report, location, &message.meta, None, None);
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

    /// The same message again, with its own members and its own order.
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
            if let Some(call) = encode_call::call_of(content) {
                let written = self.call_blocks(content, &call);
                blocks.extend(written.blocks);
                open.push(PendingToolUse {
                    call,
                    parts: written.parts,
                    start: 0,
                });
            } else if let Some(result) = result_of(content) {
                let pending = self
                    .open
                    .iter()
                    .position(|pending| pending.call.call_id() == result.call_id());
                let pending = pending.map(|at| self.open.swap_remove(at));
                blocks.extend(self.result_blocks(content, &result, pending.as_ref(), &location)?);
                self.answered.extend(result.call_id().cloned());
            } else if let Content::Other(other) = content {
                blocks.push(Value::Object(other.json.clone()));
            } else {
                blocks.extend(self.plain_blocks(content, &location)?);
            }
        }
        self.push_message(&message.role, around, blocks.into());
        (self.open, self.open_is_unchanged) = (open, true);
        Ok(())
    }

    fn push_message(&mut self, role: &Role, around: &Value, content: Value) {
        let role = role_name(role);
        let mut message = match around {
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
        if let Some(call) =
            encode_call::call_of(content).filter(|call| !hosted && call.call_id().is_some())
        {
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
        if let Some(result) = result_of(content) {
            return self.result(&result, location);
        }
        let blocks = if hosted {
            self.report.lost(
                "a call that another provider carried out",
                location,
                "this dialect has no block for it",
            );
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

    /// Instructions are messages of their own, and never stand between calls and results.
    fn system(&mut self, role: &Role, location: &str) -> Result<(), EncodeError> {
        if !self.open.is_empty() {
            self.switch_role(Role::User)?;
        }
        self.switch_role(Role::System)?;
        if self.messages.is_empty() && self.blocks.is_empty() {
            self.report.kept(
                "instructions before the conversation",
                location,
                "they belong into the request's `system`",
                "as a message of the system",
            );
        } else if *role == Role::Developer {
            self.report.kept(
                "a developer's message",
                location,
                "there is no such role",
                "as a message of the system",
            );
        }
        Ok(())
    }

    /// A result: already said with the calls of its turn, or of no call at all.
    fn result(&mut self, result: &ToolResult, location: &str) -> Result<(), EncodeError> {
        let Some(id) = result.call_id() else {
            self.report.lost(
                "a result without an id",
                location,
                "results name their call",
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
                "no call before it has this id",
            );
        }
        Ok(())
    }

    /// Goes on in a message of this role. A user's message begins with the answers that are due.
    fn switch_role(&mut self, role: Role) -> Result<(), EncodeError> {
        let due = role != Role::Assistant && !self.open.is_empty();
        if self.role.as_ref() == Some(&role) && !due {
            return Ok(());
        }
        if role == Role::Assistant && self.role.is_none() && !self.open.is_empty() {
            // Another turn of the model, and the last one's calls are still open.
            self.switch_role(Role::User)?;
        }
        if due {
            let answers = self.results_due()?;
            self.flush()?;
            self.blocks = answers;
        } else {
            self.flush()?;
        }
        self.role = Some(role);
        Ok(())
    }

    /// The answers that are due. After a failure nothing of the family may have been done in the
    /// same turn: where something was, a new turn begins with it.
    fn results_due(&mut self) -> Result<Vec<Value>, EncodeError> {
        let mut due: Vec<Value> = Vec::new();
        let mut split = 0;
        for pending in std::mem::take(&mut self.open) {
            let answers = self.result_for(&pending)?;
            let is_refused = answers
                .iter()
                .any(|result_for| !check::may_follow(result_for, &due));
            if is_refused && self.role == Some(Role::Assistant) {
                let rest = self.blocks.split_off(pending.start - split);
                split = pending.start;
                self.flush()?;
                let answers = std::mem::take(&mut due);
                self.messages
                    .push(json!({"role": "user", "content": answers}));
                (self.role, self.blocks) = (Some(Role::Assistant), rest);
            }
            due.extend(answers);
        }
        Ok(due)
    }

    /// The answer to a call: its result, wherever it stands in the history.
    fn result_for(&mut self, pending: &PendingToolUse) -> Result<Vec<Value>, EncodeError> {
        let Some(id) = pending.call.call_id().cloned() else {
            return Ok(Vec::new());
        };
        let found = self
            .results
            .get(id.as_str())
            .copied()
            .filter(|_| !self.answered.contains(&id));
        self.answered.insert(id.clone());
        if let Some((content, result)) =
            found.and_then(|content| Some((content, result_of(content)?)))
        {
            return self.result_blocks(content, &result, Some(pending), &format!("result {id}"));
        }
        self.report.kept(
            "a missing result",
            format!("call {id}"),
            "every call is answered",
            "as an error that says so",
        );
        let missing = |part: &ToolUsePart| {
            let mut block = json!({"type": "tool_result", "tool_use_id": part.id, "content": "The result is not known.", "is_error": true});
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
            None => encode_call::write(call, self.style(call), &mut self.report),
        };
        for block in written.blocks.iter().filter_map(Value::as_object) {
            let part = super::decode_block::read(block, &self.context);
            self.context.note(&part);
        }
        self.context.note(content);
        written
    }

    /// What is known of the call's result decides into how many blocks it can be taken apart.
    fn style(&self, call: &ToolCall) -> ToolUseStyle {
        let result = call.call_id().and_then(|id| self.results.get(id.as_str()));
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
        result: &ToolResult,
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
        match pending {
            Some(pending) => {
                self.result_encoder
                    .write(&pending.call, &pending.parts, result, &mut self.report)
            }
            None => {
                let id = result
                    .call_id()
                    .map_or_else(String::new, ToString::to_string);
                self.report.lost(
                    format!("result {id}"),
                    location,
                    "no call before it has this id",
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

    /// Ends the message that is being put together.
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
