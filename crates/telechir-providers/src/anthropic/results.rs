//! Encodes results as `tool_result` blocks, one for each `tool_use` block of the call.

use serde_json::{Value, json};
use telechir_protocol::{
    Action, AnsweredTurn, CommandOutput, ComputerCall, ComputerResult, Content, EditResult,
    Failure, FailureKind, FunctionResult, Media, ShellAction, ShellResult, StepOutcome, StepState,
    ToolCall, ToolResult,
};

use super::context::BlockContext;
use super::decode_call::{BROWSER, COMPUTER};
use super::decode_result::halt_sentence;
use super::encode_call::{self, EncodedToolUse, ToolUsePart, ToolUseStyle};
use super::image::ImageTier;
use super::media::{self, ImageCheck, Strictness, missing};
use super::models::ToolVersion;
use super::{PROVIDER, encode_content, fixed_texts, tabs};
use crate::content_text;
use crate::history::turns::meta_of;
use crate::json::text_of_content;
use crate::shell_text;
use crate::{EncodeError, EncodedReply, Report};

/// Encodes the results of a turn: the blocks of the next user message.
pub(crate) fn encode_results(turn: &AnsweredTurn) -> Result<EncodedReply, EncodeError> {
    let mut reply = EncodedReply::default();
    let tier = ImageTier::for_model(model_of(turn));
    for (call, result) in turn.pairs() {
        let written = tool_use_of(&call);
        let is_member = written.parts.iter().any(|part| part.toolset.is_some());
        // The toolsets reject an image that is too large; the legacy tools shrink it.
        let strictness = if is_member {
            Strictness::Refuse
        } else {
            Strictness::Report
        };
        let check = ImageCheck { tier, strictness };
        let encoder = ToolResultEncoder {
            check,
            is_history: false,
        };
        reply
            .items
            .extend(encoder.encode(&call, &written.parts, result, &mut reply.report)?);
    }
    apply_halt_rule(&mut reply);
    Ok(reply)
}

/// After the first failure in a toolset, the provider requires one fixed text in every later
/// error of that toolset.
fn apply_halt_rule(reply: &mut EncodedReply) {
    let mut failure_text: Vec<String> = Vec::new();
    for block in &mut reply.items {
        let group = block.get("toolset_name").and_then(Value::as_str);
        let is_error = block.get("is_error") == Some(&Value::Bool(true));
        let Some(group) = group.filter(|_| is_error).map(str::to_owned) else {
            continue;
        };
        if !failure_text.contains(&group) {
            failure_text.push(group);
            continue;
        }
        let sentence = halt_sentence(&group);
        if block.get("content").and_then(Value::as_str) != Some(sentence) {
            block["content"] = sentence.into();
            let id = block.get("tool_use_id").and_then(Value::as_str);
            reply.report.lost(
                "an error message",
                format!("result {}", id.unwrap_or_default()),
                "an earlier call of its toolset failed, which requires a fixed text",
            );
        }
    }
}

/// The model of the response, from its usage content.
fn model_of(turn: &AnsweredTurn) -> Option<&str> {
    turn.turn()
        .contents()
        .iter()
        .find_map(|content| match content {
            Content::Usage(usage) => usage.meta.property(PROVIDER, "model")?.as_str(),
            _ => None,
        })
}

/// The blocks of the model's call; for a call of another dialect, its encoded blocks.
fn tool_use_of(call: &ToolCall) -> EncodedToolUse {
    let content = call.clone().into_content();
    if let Some(blocks) = encode_call::original_blocks(&content, &BlockContext::default()) {
        return EncodedToolUse {
            parts: encode_call::parts_of(&blocks),
            blocks,
        };
    }
    let style = ToolUseStyle {
        version: ToolVersion::Toolset,
        outputs: 1,
        images: true,
        tabs: true,
    };
    encode_call::encode(call, style, &mut Report::default())
}

/// Encodes the results of calls.
#[derive(Clone, Copy)]
pub(super) struct ToolResultEncoder {
    pub(super) check: ImageCheck,
    /// Whether the results are part of a history, where losses are reported.
    pub(super) is_history: bool,
}

/// The content of one `tool_result` block.
enum ToolResultContent {
    Blocks(Vec<Value>),
    Text(String),
    Error(String),
}

impl ToolResultEncoder {
    /// Encodes the result of a call, one block per part in order.
    pub(super) fn encode(
        self,
        call: &ToolCall,
        parts: &[ToolUsePart],
        result: &ToolResult,
        report: &mut Report,
    ) -> Result<Vec<Value>, EncodeError> {
        let contents = match (call, result) {
            (ToolCall::Computer(call), ToolResult::Computer(result)) => {
                self.computer(call, parts, result, report)?
            }
            (call, ToolResult::Shell(result)) => shell(call, parts, result, report),
            (_, ToolResult::Edit(result)) => vec![edit(result)],
            (_, ToolResult::Function(result)) => vec![self.function(result, report)?],
            (_, ToolResult::Computer(result)) => {
                return Err(missing(format!(
                    "result {} does not match a computer call",
                    result.call_id
                )));
            }
        };
        let mut blocks: Vec<Value> = parts
            .iter()
            .zip(contents)
            .map(|(part, content)| tool_result(part, content))
            .collect();
        let meta = meta_of(result);
        if let (Some(last), Some(marker)) =
            (blocks.last_mut(), meta.property(PROVIDER, "cache_control"))
        {
            last["cache_control"] = marker.clone();
        }
        Ok(blocks)
    }

    fn computer(
        self,
        call: &ComputerCall,
        parts: &[ToolUsePart],
        result: &ComputerResult,
        report: &mut Report,
    ) -> Result<Vec<ToolResultContent>, EncodeError> {
        let location = format!("result {}", result.call_id);
        if self.is_history {
            encode_call::report_losses(report, &location, result.item_id.as_deref(), None);
        }
        for check in &result.acknowledged_safety_checks {
            report.lost(
                format!("acknowledged safety check {}", check.id),
                &location,
                "a result has no field for it",
            );
        }
        let Some((last, before)) = parts.split_last() else {
            return Ok(Vec::new());
        };
        let step_of = |part: &ToolUsePart| {
            result
                .steps
                .get(part.index)
                .filter(|_| result.steps.len() == call.actions.len())
        };
        let mut contents = Vec::new();
        for (at, part) in before.iter().enumerate() {
            // If an action has several blocks, the last one has its outcome.
            let has_later_part = parts[at + 1..]
                .iter()
                .any(|other| other.index == part.index);
            let carries_outcome =
                |step: &&StepOutcome| !has_later_part || step.state == StepState::NotStarted;
            let step = step_of(part).filter(carries_outcome);
            contents.push(self.step(
                call.actions.get(part.index),
                part,
                step,
                &location,
                report,
            )?);
        }
        contents.push(match step_of(last).map(|step| &step.state) {
            Some(StepState::NotStarted) if !before.is_empty() => {
                self.report_dropped_image(result, &location, report);
                ToolResultContent::Error(halt_sentence(group(last, call)).to_owned())
            }
            Some(StepState::Failed { failure }) if result.error.is_none() => {
                self.report_dropped_image(result, &location, report);
                ToolResultContent::Error(failure_text(failure, last, call.group.as_deref()))
            }
            Some(_) | None => {
                self.final_result(call, last, result, before.is_empty(), &location, report)?
            }
        });
        Ok(contents)
    }

    /// Encodes the outcome of one action that is not the last of its batch.
    fn step(
        self,
        action: Option<&Action>,
        part: &ToolUsePart,
        step: Option<&StepOutcome>,
        location: &str,
        report: &mut Report,
    ) -> Result<ToolResultContent, EncodeError> {
        let Some(step) = step else {
            return Ok(ToolResultContent::Text(
                fixed_texts::WITH_THE_LAST.to_owned(),
            ));
        };
        match &step.state {
            StepState::Failed { failure } => {
                return Ok(ToolResultContent::Error(failure_text(failure, part, None)));
            }
            StepState::NotStarted => {
                let group = part.toolset.as_deref().unwrap_or(COMPUTER);
                return Ok(ToolResultContent::Error(halt_sentence(group).to_owned()));
            }
            StepState::Delivered | StepState::Confirmed => {}
        }
        let mut blocks: Vec<Value> = step.text.iter().map(|text| text_block(text)).collect();
        if let Some(image) = &step.screenshot {
            blocks.extend(media::image(image, self.check, location, report)?);
        }
        Ok(if blocks.is_empty() {
            ToolResultContent::Text(fixed_texts::confirmation(action).to_owned())
        } else {
            ToolResultContent::Blocks(blocks)
        })
    }

    /// Encodes the call's result in the block of its last part.
    fn final_result(
        self,
        call: &ComputerCall,
        part: &ToolUsePart,
        result: &ComputerResult,
        is_only: bool,
        location: &str,
        report: &mut Report,
    ) -> Result<ToolResultContent, EncodeError> {
        if let Some(failure) = &result.error {
            self.report_dropped_image(result, location, report);
            if self.is_history && result.current_url.is_some() {
                report.lost("current_url", location, "an error contains only text");
            }
            return Ok(ToolResultContent::Error(failure_text(
                failure,
                part,
                call.group.as_deref(),
            )));
        }
        // A single block for several actions (keys, a tab and a click) has the last one's name.
        let action = if is_only {
            call.actions.last()
        } else {
            call.actions.get(part.index)
        };
        let is_page = part.toolset.as_deref() == Some(BROWSER);
        let state = if is_page {
            tabs::state(part, result, report)
        } else {
            None
        };
        if is_page && tabs::is_tab_member(&part.name) {
            self.report_dropped_image(result, location, report);
            return Ok(match state {
                Some(state) => ToolResultContent::Blocks(vec![state]),
                None => ToolResultContent::Error(fixed_texts::NO_TABS.to_owned()),
            });
        }
        let images = self.images(result, is_only, location, report)?;
        let mut texts = texts(call, result, is_only, is_page);
        if self.is_history && !is_page && result.current_url.is_some() {
            let why = "a computer result has no field for it";
            report.preserved("current_url", location, why, "in its text");
        }
        let wants_image = part.wants_image(action);
        if wants_image && images.is_empty() {
            if !self.is_history {
                return Err(missing(format!(
                    "call {} ({}) requires a screenshot",
                    result.call_id, part.name
                )));
            }
            report.preserved(
                "a screenshot result without an image",
                location,
                "the result must contain an image",
                "as an error",
            );
            return Ok(ToolResultContent::Error(
                "The screenshot is not available.".to_owned(),
            ));
        }
        if texts.is_empty() && images.is_empty() && state.is_none() {
            texts.push(fixed_texts::confirmation(action).to_owned());
        }
        let texts = texts.iter().map(|text| text_block(text));
        let mut blocks: Vec<Value> = if wants_image {
            images.into_iter().chain(texts).collect()
        } else {
            texts.chain(images).collect()
        };
        blocks.extend(state);
        Ok(ToolResultContent::Blocks(blocks))
    }

    /// The distinct images of the steps and the result.
    fn images(
        self,
        result: &ComputerResult,
        with_steps: bool,
        location: &str,
        report: &mut Report,
    ) -> Result<Vec<Value>, EncodeError> {
        let steps = result
            .steps
            .iter()
            .filter(|_| with_steps)
            .filter_map(|step| step.screenshot.as_ref());
        let mut images: Vec<&Media> = Vec::new();
        for image in steps.chain(&result.screenshot) {
            if !images.contains(&image) {
                images.push(image);
            }
        }
        let mut blocks = Vec::new();
        for image in images {
            blocks.extend(media::image(image, self.check, location, report)?);
        }
        Ok(blocks)
    }

    fn report_dropped_image(self, result: &ComputerResult, location: &str, report: &mut Report) {
        if result.screenshot.is_some() {
            report.lost(
                "screenshot",
                location,
                "a failed result must not contain an image",
            );
        }
    }

    fn function(
        self,
        result: &FunctionResult,
        report: &mut Report,
    ) -> Result<ToolResultContent, EncodeError> {
        let location = result
            .call_id
            .as_ref()
            .map_or_else(|| "a result".to_owned(), |id| format!("result {id}"));
        let value = match &result.result {
            Some(Value::String(text)) => Some(text.clone()),
            Some(Value::Null) | None => None,
            Some(other) => Some(other.to_string()),
        };
        if let Some(failure) = &result.error {
            let message = text_or(&failure.message, "It failed.");
            let rest = beside_error(result, value, &location, report);
            let texts: Vec<String> = std::iter::once(message).chain(rest).collect();
            return Ok(ToolResultContent::Error(texts.join("\n")));
        }
        let mut blocks = Vec::new();
        for item in &result.items {
            blocks.extend(encode_content::content_block(
                item, self.check, &location, report,
            )?);
        }
        if blocks.is_empty() {
            return Ok(ToolResultContent::Text(value.unwrap_or_default()));
        }
        // Agent Framework repeats its texts as the value.
        let texts: Vec<&str> = result.items.iter().filter_map(text_of_content).collect();
        let value = value.filter(|value| *value != texts.join("\n"));
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            blocks.insert(0, json!({"type": "text", "text": value}));
        }
        Ok(ToolResultContent::Blocks(blocks))
    }
}

/// What a failed function returned, as text after its error: a failed result contains only text.
fn beside_error(
    result: &FunctionResult,
    value: Option<String>,
    location: &str,
    report: &mut Report,
) -> Vec<String> {
    const WHY: &str = "a failed result contains only text";
    let mut texts: Vec<String> = value.into_iter().collect();
    for item in &result.items {
        if let Some(text) = text_of_content(item) {
            texts.push(text.to_owned());
            continue;
        }
        let label = content_text::label(item);
        match content_text::as_text(item) {
            Some(text) => {
                report.preserved(label, location, WHY, "as text after the error");
                texts.push(text);
            }
            None => report.lost(label, location, WHY),
        }
    }
    texts.retain(|text| !text.is_empty());
    texts
}

fn tool_result(part: &ToolUsePart, content: ToolResultContent) -> Value {
    let mut block = json!({"type": "tool_result", "tool_use_id": part.id});
    if let Some(toolset) = &part.toolset {
        block["toolset_name"] = toolset.as_str().into();
    }
    match content {
        ToolResultContent::Blocks(blocks) => block["content"] = blocks.into(),
        // A toolset member requires text as a block.
        ToolResultContent::Text(text) if part.toolset.is_some() => {
            block["content"] = json!([text_block(&text)])
        }
        ToolResultContent::Text(text) if text.is_empty() => {}
        ToolResultContent::Text(text) => block["content"] = text.into(),
        ToolResultContent::Error(text) => {
            block["content"] = text.into();
            block["is_error"] = true.into();
        }
    }
    block
}

fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn group<'a>(part: &'a ToolUsePart, call: &'a ComputerCall) -> &'a str {
    part.toolset
        .as_deref()
        .or(call.group.as_deref())
        .unwrap_or(COMPUTER)
}

/// An error's text; never empty, which the provider rejects.
fn failure_text(failure: &Failure, part: &ToolUsePart, group: Option<&str>) -> String {
    let group = part.toolset.as_deref().or(group);
    match (failure.kind, group) {
        (FailureKind::NotExecuted, Some(group)) => halt_sentence(group).to_owned(),
        _ => text_or(&failure.message, "It failed."),
    }
}

fn text_or(text: &str, otherwise: &str) -> String {
    if text.trim().is_empty() {
        otherwise.to_owned()
    } else {
        text.to_owned()
    }
}

/// The texts of a result, with the page's URL if no `browser_state` has it.
fn texts(
    call: &ComputerCall,
    result: &ComputerResult,
    with_steps: bool,
    is_page: bool,
) -> Vec<String> {
    let steps = result
        .steps
        .iter()
        .filter(|_| with_steps)
        .filter_map(|step| step.text.clone());
    let own = result.text_output.clone();
    let mut texts: Vec<String> = own.map_or_else(|| steps.collect(), |own| vec![own]);
    texts.retain(|text| !text.trim().is_empty());
    if is_page {
        return texts;
    }
    if !result.tabs.is_empty() && call.group.as_deref() == Some(BROWSER) {
        texts.push(tabs::as_text(&result.tabs));
    } else if let Some(url) = &result.current_url {
        texts.push(format!("The page is {url}"));
    }
    texts
}

fn shell(
    call: &ToolCall,
    parts: &[ToolUsePart],
    result: &ShellResult,
    report: &mut Report,
) -> Vec<ToolResultContent> {
    let location = format!("result {}", result.call_id);
    encode_call::report_losses(report, &location, result.item_id.as_deref(), None);
    if parts.len() != result.outputs.len() || parts.len() < 2 {
        let mut contents = vec![if is_requested_stop(call, result) {
            ToolResultContent::Text(shell_text::encode_beside_flag(result))
        } else {
            shell_content(result)
        }];
        contents.extend(
            parts
                .iter()
                .skip(1)
                .map(|_| ToolResultContent::Text(fixed_texts::WITH_THE_LAST.to_owned())),
        );
        contents.reverse();
        return contents;
    }
    let last = parts.len() - 1;
    let output = |(at, output): (usize, &CommandOutput)| {
        let is_last = at == last;
        shell_content(&ShellResult {
            outputs: vec![output.clone()],
            cwd: result.cwd.clone().filter(|_| is_last),
            error: result.error.clone().filter(|_| is_last),
            ..result.clone()
        })
    };
    result.outputs.iter().enumerate().map(output).collect()
}

/// Whether the call requested to stop a job, so that a stopped job is not an error.
fn is_requested_stop(call: &ToolCall, result: &ShellResult) -> bool {
    let is_stop =
        matches!(call, ToolCall::Shell(call) if matches!(call.action, ShellAction::Stop(_)));
    is_stop && result.error.is_none()
}

fn shell_content(result: &ShellResult) -> ToolResultContent {
    let text = shell_text::encode_beside_flag(result);
    if shell_text::is_error(result) {
        ToolResultContent::Error(text_or(&text, "The command failed."))
    } else {
        ToolResultContent::Text(text)
    }
}

fn edit(result: &EditResult) -> ToolResultContent {
    match (&result.error, &result.text) {
        (Some(failure), _) => ToolResultContent::Error(text_or(&failure.message, "It failed.")),
        (None, Some(text)) => ToolResultContent::Text(text.clone()),
        (None, None) => ToolResultContent::Text(String::new()),
    }
}
