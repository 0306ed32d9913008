//! Results as `tool_result` blocks, one for each `tool_use` block of the call.

use serde_json::{Value, json};
use telechir_protocol::{
    Action, AnsweredTurn, CommandOutput, ComputerCall, ComputerResult, Content, EditResult,
    Failure, FailureKind, FunctionResult, Media, ShellAction, ShellResult, StepOutcome, StepState,
    ToolCall, ToolResult,
};

use super::context::Scene;
use super::decode_call::{BROWSER, COMPUTER};
use super::decode_result::halt_sentence;
use super::encode_call::{self, Part, Style, Written};
use super::image::ImageTier;
use super::media::{self, Check, Strictness, missing};
use super::models::Version;
use super::{PROVIDER, encode_content, fixed_texts, shell_text, tabs};
use crate::{EncodeError, EncodedReply, Report};

/// Writes the answers to a turn: the blocks of the next user message.
pub(crate) fn write_answers(turn: &AnsweredTurn) -> Result<EncodedReply, EncodeError> {
    let mut reply = EncodedReply::default();
    let tier = ImageTier::for_model(model_of(turn));
    for (call, result) in turn.pairs() {
        let written = asked(&call);
        let is_member = written.parts.iter().any(|part| part.toolset.is_some());
        // The toolsets refuse a picture that is too large; the older tools shrink it.
        let strictness = if is_member {
            Strictness::Refuse
        } else {
            Strictness::Report
        };
        let check = Check { tier, strictness };
        let answering = Answering {
            check,
            is_history: false,
        };
        reply
            .items
            .extend(answering.write(&call, &written.parts, result, &mut reply.report)?);
    }
    halt(&mut reply);
    Ok(reply)
}

/// After the first failure of a family every other one of it has the same sentence; another
/// would be refused.
fn halt(reply: &mut EncodedReply) {
    let mut failed: Vec<String> = Vec::new();
    for block in &mut reply.items {
        let family = block.get("toolset_name").and_then(Value::as_str);
        let is_error = block.get("is_error") == Some(&Value::Bool(true));
        let Some(family) = family.filter(|_| is_error).map(str::to_owned) else {
            continue;
        };
        if !failed.contains(&family) {
            failed.push(family);
            continue;
        }
        let sentence = halt_sentence(&family);
        if block.get("content").and_then(Value::as_str) != Some(sentence) {
            block["content"] = sentence.into();
            let id = block.get("tool_use_id").and_then(Value::as_str);
            reply.report.lost(
                "the words of an error",
                format!("result {}", id.unwrap_or_default()),
                "an earlier call of its family failed, and then only one sentence is taken",
            );
        }
    }
}

/// The model that spoke, as its response says beside the cost.
fn model_of(turn: &AnsweredTurn) -> Option<&str> {
    turn.turn()
        .contents()
        .iter()
        .find_map(|content| match content {
            Content::Usage(usage) => usage.meta.property(PROVIDER, "model")?.as_str(),
            _ => None,
        })
}

/// The blocks the model wrote; of a call made elsewhere, the blocks it would be written as.
fn asked(call: &ToolCall) -> Written {
    let content = match call.clone() {
        ToolCall::Computer(call) => Content::ComputerCall(call),
        ToolCall::Shell(call) => Content::ShellCall(call),
        ToolCall::Edit(call) => Content::EditCall(call),
        ToolCall::Function(call) => Content::FunctionCall(call),
    };
    if let Some(blocks) = encode_call::unchanged(&content, &Scene::default()) {
        return Written {
            parts: encode_call::parts_of(&blocks),
            blocks,
        };
    }
    let style = Style {
        version: Version::Toolset,
        outputs: 1,
        images: true,
        tabs: true,
    };
    encode_call::write(call, style, &mut Report::default())
}

/// How results are written.
#[derive(Clone, Copy)]
pub(super) struct Answering {
    pub(super) check: Check,
    pub(super) is_history: bool,
}

/// What one block says.
enum Said {
    Blocks(Vec<Value>),
    Words(String),
    Failed(String),
}

impl Answering {
    /// The answers to a call's parts, in their order.
    pub(super) fn write(
        self,
        call: &ToolCall,
        parts: &[Part],
        result: &ToolResult,
        report: &mut Report,
    ) -> Result<Vec<Value>, EncodeError> {
        let said = match (call, result) {
            (ToolCall::Computer(call), ToolResult::Computer(result)) => {
                self.computer(call, parts, result, report)?
            }
            (call, ToolResult::Shell(result)) => shell(call, parts, result, report),
            (_, ToolResult::Edit(result)) => vec![edit(result)],
            (_, ToolResult::Function(result)) => vec![self.function(result, report)?],
            (_, ToolResult::Computer(result)) => {
                return Err(missing(format!(
                    "result {} answers no computer call",
                    result.call_id
                )));
            }
        };
        let mut blocks: Vec<Value> = parts
            .iter()
            .zip(said)
            .map(|(part, said)| tool_result(part, said))
            .collect();
        let meta = result_meta(result);
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
        parts: &[Part],
        result: &ComputerResult,
        report: &mut Report,
    ) -> Result<Vec<Said>, EncodeError> {
        let place = format!("result {}", result.call_id);
        if self.is_history {
            encode_call::unsaid(
                report,
                &place,
                &result.meta,
                result.item_id.as_deref(),
                None,
            );
        }
        for check in &result.acknowledged_safety_checks {
            report.lost(
                format!("acknowledged safety check {}", check.id),
                &place,
                "a result has no member for it",
            );
        }
        let Some((last, before)) = parts.split_last() else {
            return Ok(Vec::new());
        };
        let step_of = |part: &Part| {
            result
                .steps
                .get(part.index)
                .filter(|_| result.steps.len() == call.actions.len())
        };
        let mut said = Vec::new();
        for (at, part) in before.iter().enumerate() {
            // Several blocks of one action: the last of them tells how it went.
            let goes_on = parts[at + 1..]
                .iter()
                .any(|other| other.index == part.index);
            let tells = |step: &&StepOutcome| !goes_on || step.state == StepState::NotStarted;
            let step = step_of(part).filter(tells);
            said.push(self.step(call.actions.get(part.index), part, step, &place, report)?);
        }
        said.push(match step_of(last).map(|step| &step.state) {
            Some(StepState::NotStarted) if !before.is_empty() => {
                self.drop_image(result, &place, report);
                Said::Failed(halt_sentence(family(last, call)).to_owned())
            }
            Some(StepState::Failed { failure }) if result.error.is_none() => {
                self.drop_image(result, &place, report);
                Said::Failed(failed(failure, last, call.group.as_deref()))
            }
            Some(_) | None => self.whole(call, last, result, before.is_empty(), &place, report)?,
        });
        Ok(said)
    }

    /// One action amid a batch.
    fn step(
        self,
        action: Option<&Action>,
        part: &Part,
        step: Option<&StepOutcome>,
        place: &str,
        report: &mut Report,
    ) -> Result<Said, EncodeError> {
        let Some(step) = step else {
            return Ok(Said::Words(fixed_texts::WITH_THE_LAST.to_owned()));
        };
        match &step.state {
            StepState::Failed { failure } => return Ok(Said::Failed(failed(failure, part, None))),
            StepState::NotStarted => {
                let family = part.toolset.as_deref().unwrap_or(COMPUTER);
                return Ok(Said::Failed(halt_sentence(family).to_owned()));
            }
            StepState::Delivered | StepState::Confirmed => {}
        }
        let mut blocks: Vec<Value> = step.text.iter().map(|text| text_block(text)).collect();
        if let Some(image) = &step.screenshot {
            blocks.extend(media::image(image, self.check, place, report)?);
        }
        Ok(if blocks.is_empty() {
            Said::Words(fixed_texts::confirmation(action).to_owned())
        } else {
            Said::Blocks(blocks)
        })
    }

    /// The answer that carries the call's result.
    fn whole(
        self,
        call: &ComputerCall,
        part: &Part,
        result: &ComputerResult,
        is_only: bool,
        place: &str,
        report: &mut Report,
    ) -> Result<Said, EncodeError> {
        if let Some(failure) = &result.error {
            self.drop_image(result, place, report);
            if self.is_history && result.current_url.is_some() {
                report.lost("current_url", place, "an error is only its text");
            }
            return Ok(Said::Failed(failed(failure, part, call.group.as_deref())));
        }
        // The one block of several actions (keys, a tab and a click) is named after the last.
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
            self.drop_image(result, place, report);
            return Ok(match state {
                Some(state) => Said::Blocks(vec![state]),
                None => Said::Failed(fixed_texts::NO_TABS.to_owned()),
            });
        }
        let images = self.images(result, is_only, place, report)?;
        let mut said = spoken(call, result, is_only, is_page);
        if self.is_history && !is_page && result.current_url.is_some() {
            let why = "a result of the screen has no member for it";
            report.kept("current_url", place, why, "in its text");
        }
        let wants_image = part.wants_image(action);
        if wants_image && images.is_empty() {
            if !self.is_history {
                return Err(missing(format!(
                    "a picture for call {} ({})",
                    result.call_id, part.name
                )));
            }
            report.kept(
                "a screenshot's answer without a picture",
                place,
                "a screenshot is answered with one",
                "as an error that says so",
            );
            return Ok(Said::Failed(
                "No picture of the screen was kept.".to_owned(),
            ));
        }
        if said.is_empty() && images.is_empty() && state.is_none() {
            said.push(fixed_texts::confirmation(action).to_owned());
        }
        let said = said.iter().map(|text| text_block(text));
        let mut blocks: Vec<Value> = if wants_image {
            images.into_iter().chain(said).collect()
        } else {
            said.chain(images).collect()
        };
        blocks.extend(state);
        Ok(Said::Blocks(blocks))
    }

    /// The pictures of the steps and of the screen, each once.
    fn images(
        self,
        result: &ComputerResult,
        with_steps: bool,
        place: &str,
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
            blocks.extend(media::image(image, self.check, place, report)?);
        }
        Ok(blocks)
    }

    fn drop_image(self, result: &ComputerResult, place: &str, report: &mut Report) {
        if result.screenshot.is_some() {
            report.lost("screenshot", place, "this result must not contain an image");
        }
    }

    fn function(self, result: &FunctionResult, report: &mut Report) -> Result<Said, EncodeError> {
        let place = result
            .call_id
            .as_ref()
            .map_or_else(|| "a result".to_owned(), |id| format!("result {id}"));
        if self.is_history {
            encode_call::unsaid(report, &place, &result.meta, None, None);
        }
        if let Some(failure) = &result.error {
            return Ok(Said::Failed(said_or(&failure.message, "It failed.")));
        }
        let mut blocks = Vec::new();
        for item in &result.items {
            blocks.extend(encode_content::plain(item, self.check, &place, report)?);
        }
        Ok(match &result.result {
            _ if !blocks.is_empty() => Said::Blocks(blocks),
            Some(Value::String(words)) => Said::Words(words.clone()),
            Some(Value::Null) | None => Said::Words(String::new()),
            Some(other) => Said::Words(other.to_string()),
        })
    }
}

fn result_meta(result: &ToolResult) -> &telechir_protocol::Meta {
    match result {
        ToolResult::Computer(result) => &result.meta,
        ToolResult::Shell(result) => &result.meta,
        ToolResult::Edit(result) => &result.meta,
        ToolResult::Function(result) => &result.meta,
    }
}

fn tool_result(part: &Part, said: Said) -> Value {
    let mut block = json!({"type": "tool_result", "tool_use_id": part.id});
    if let Some(toolset) = &part.toolset {
        block["toolset_name"] = toolset.as_str().into();
    }
    match said {
        Said::Blocks(blocks) => block["content"] = blocks.into(),
        // A member's words are a block, as its pictures are.
        Said::Words(words) if part.toolset.is_some() => {
            block["content"] = json!([text_block(&words)])
        }
        Said::Words(words) if words.is_empty() => {}
        Said::Words(words) => block["content"] = words.into(),
        Said::Failed(words) => {
            block["content"] = words.into();
            block["is_error"] = true.into();
        }
    }
    block
}

fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn family<'a>(part: &'a Part, call: &'a ComputerCall) -> &'a str {
    part.toolset
        .as_deref()
        .or(call.group.as_deref())
        .unwrap_or(COMPUTER)
}

/// An error's words; never none, which the provider would refuse.
fn failed(failure: &Failure, part: &Part, family: Option<&str>) -> String {
    let family = part.toolset.as_deref().or(family);
    match (failure.kind, family) {
        (FailureKind::NotExecuted, Some(family)) => halt_sentence(family).to_owned(),
        _ => said_or(&failure.message, "It failed."),
    }
}

fn said_or(words: &str, otherwise: &str) -> String {
    if words.trim().is_empty() {
        otherwise.to_owned()
    } else {
        words.to_owned()
    }
}

/// What a result says in words; the address too, where no state of the tabs has it.
fn spoken(
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
    let mut said: Vec<String> = own.map_or_else(|| steps.collect(), |own| vec![own]);
    said.retain(|text| !text.trim().is_empty());
    if is_page {
        return said;
    }
    if !result.tabs.is_empty() && call.group.as_deref() == Some(BROWSER) {
        said.push(tabs::in_words(&result.tabs));
    } else if let Some(url) = &result.current_url {
        said.push(format!("The page is {url}"));
    }
    said
}

fn shell(call: &ToolCall, parts: &[Part], result: &ShellResult, report: &mut Report) -> Vec<Said> {
    let place = format!("result {}", result.call_id);
    encode_call::unsaid(
        report,
        &place,
        &result.meta,
        result.item_id.as_deref(),
        None,
    );
    if parts.len() != result.outputs.len() || parts.len() < 2 {
        let mut said = vec![if is_stopped_as_asked(call, result) {
            Said::Words(shell_text::write(result))
        } else {
            shell_words(result)
        }];
        said.extend(
            parts
                .iter()
                .skip(1)
                .map(|_| Said::Words(fixed_texts::WITH_THE_LAST.to_owned())),
        );
        said.reverse();
        return said;
    }
    let last = parts.len() - 1;
    let output = |(at, output): (usize, &CommandOutput)| {
        let is_last = at == last;
        shell_words(&ShellResult {
            outputs: vec![output.clone()],
            cwd: result.cwd.clone().filter(|_| is_last),
            error: result.error.clone().filter(|_| is_last),
            ..result.clone()
        })
    };
    result.outputs.iter().enumerate().map(output).collect()
}

/// Whether a job was ended because the call asked for that: then it is no error that it was.
fn is_stopped_as_asked(call: &ToolCall, result: &ShellResult) -> bool {
    let asks = matches!(call, ToolCall::Shell(call) if matches!(call.action, ShellAction::Stop(_)));
    asks && result.error.is_none()
}

fn shell_words(result: &ShellResult) -> Said {
    let text = shell_text::write(result);
    if shell_text::is_error(result) {
        Said::Failed(said_or(&text, "The command failed."))
    } else {
        Said::Words(text)
    }
}

fn edit(result: &EditResult) -> Said {
    match (&result.error, &result.text) {
        (Some(failure), _) => Said::Failed(said_or(&failure.message, "It failed.")),
        (None, Some(text)) => Said::Words(text.clone()),
        (None, None) => Said::Words(String::new()),
    }
}
