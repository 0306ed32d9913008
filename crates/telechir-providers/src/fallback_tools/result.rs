//! Results as text and images, in a format that can be decoded again.
//!
//! ```text
//! Error (denied): The policy denies this address.
//! page: https://example.com/
//! tab: {"tab_id":"1","title":"Example","url":"https://example.com/","active":true}
//!
//! the text of the result
//! ```
//!
//! Further lines of an error's message are indented. A result with only text is that text; an empty result is `Done.`. Shell results have their own
//! format.

use serde_json::Value;
use telechir_protocol::{
    CallId, ComputerResult, Content, EditResult, Failure, FailureKind, FunctionResult, Media, Meta,
    StepOutcome, StepState, TabState, ToolResult,
};

use super::CallInfo;
use crate::json::{media, text_of_content};
use crate::shell_text;

/// The text of an empty result.
const EMPTY_RESULT: &str = "Done.";

/// A result as returned by a function.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RenderedResult {
    /// The text; never empty.
    pub(crate) text: String,
    /// The images; the final screenshot is last.
    pub(crate) images: Vec<Media>,
}

/// Renders a result as text and images.
pub(crate) fn render_result(result: &ToolResult) -> RenderedResult {
    match result {
        ToolResult::Computer(result) => render_computer_result(result),
        ToolResult::Shell(result) => RenderedResult {
            text: shell_text::encode(result),
            images: Vec::new(),
        },
        ToolResult::Edit(result) => RenderedResult {
            text: write(&ResultText {
                error: result.error.clone(),
                text: result.text.clone(),
                ..ResultText::default()
            }),
            images: Vec::new(),
        },
        ToolResult::Function(result) => render_function_result(result),
    }
}

fn render_computer_result(result: &ComputerResult) -> RenderedResult {
    let of_steps = || {
        let texts: Vec<&str> = result
            .steps
            .iter()
            .filter_map(|step| step.text.as_deref())
            .collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    };
    let mut error = result.error.clone();
    if let Some(failure) = &mut error {
        failure.message.push_str(&progress(result));
    }
    let mut images: Vec<Media> = result
        .steps
        .iter()
        .filter_map(|step| step.screenshot.clone())
        .collect();
    images.extend(result.screenshot.clone());
    images.dedup();
    RenderedResult {
        text: write(&ResultText {
            error,
            url: result.current_url.clone(),
            tabs: result.tabs.clone(),
            text: result.text_output.clone().or_else(of_steps),
        }),
        images,
    }
}

/// How many actions ran before one failed; empty for a single action.
fn progress(result: &ComputerResult) -> String {
    let total = result.steps.len();
    if total < 2 {
        return String::new();
    }
    let done = |state: &StepState| matches!(state, StepState::Delivered | StepState::Confirmed);
    let done = result.steps.iter().filter(|step| done(&step.state)).count();
    format!(" ({done} of {total} actions were executed.)")
}

fn render_function_result(result: &FunctionResult) -> RenderedResult {
    let plain = result.result.as_ref().map(|value| {
        let text = value.as_str().map(str::to_owned);
        text.unwrap_or_else(|| value.to_string())
    });
    let texts: Vec<&str> = plain
        .as_deref()
        .into_iter()
        .chain(result.items.iter().filter_map(text_of_content))
        .collect();
    let text = (!texts.is_empty()).then(|| texts.join("\n"));
    let text = match &result.error {
        None => text.unwrap_or_default(),
        error => write(&ResultText {
            error: error.clone(),
            text,
            ..ResultText::default()
        }),
    };
    RenderedResult {
        text,
        images: result.items.iter().filter_map(media).collect(),
    }
}

/// The output of a function, before it is decoded as the result of its call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FunctionOutput {
    pub(crate) call_id: Option<CallId>,
    /// The function's name, if the result carries it.
    pub(crate) name: Option<String>,
    /// The content, if it is a single text.
    pub(crate) text: Option<String>,
    /// The content, if it is a list of parts.
    pub(crate) parts: Vec<Content>,
    pub(crate) meta: Meta,
}

/// Decodes an output according to its call.
pub(crate) fn decode_result(known: Option<&CallInfo>, answer: FunctionOutput) -> Content {
    match known {
        Some(CallInfo::Computer(group, actions)) => computer_result(group.clone(), actions, answer),
        Some(CallInfo::Shell) => {
            let call_id = answer.call_id.clone().unwrap_or_else(|| CallId::from(""));
            let mut result = shell_text::decode(call_id, &answer.joined_text(), false);
            result.meta = answer.meta;
            Content::ShellResult(result)
        }
        Some(CallInfo::Edit) => {
            let parsed = parse(&answer.joined_text());
            Content::EditResult(EditResult {
                call_id: answer.call_id.unwrap_or_else(|| CallId::from("")),
                text: parsed.text,
                error: parsed.error,
                meta: answer.meta,
            })
        }
        Some(CallInfo::Function(_)) | None => function_result(answer),
    }
}

impl FunctionOutput {
    fn joined_text(&self) -> String {
        let parts = self.parts.iter().filter_map(text_of_content);
        self.text
            .as_deref()
            .into_iter()
            .chain(parts)
            .collect::<Vec<_>>()
            .join("\n")
    }
}

/// The last image is the final screenshot; earlier ones belong to the individual actions.
fn computer_result(group: Option<String>, actions: &[String], answer: FunctionOutput) -> Content {
    let mut images: Vec<Media> = answer.parts.iter().filter_map(media).collect();
    let parsed = parse(&answer.joined_text());
    let call_id = answer.call_id.unwrap_or_else(|| CallId::from(""));
    let mut result = ComputerResult::new(call_id);
    result.error = parsed.error;
    result.text_output = parsed.text;
    result.current_url = parsed.url;
    result.tabs = parsed.tabs;
    result.group = group;
    result.screenshot = images.pop();
    let step = |(index, image): (usize, Media)| StepOutcome {
        action: actions.get(index).cloned().unwrap_or_default(),
        state: StepState::Delivered,
        text: None,
        screenshot: Some(image),
        duration_ms: None,
    };
    result.steps = images.into_iter().enumerate().map(step).collect();
    result.meta = answer.meta;
    Content::ComputerResult(result)
}

fn function_result(answer: FunctionOutput) -> Content {
    let (error, text) = match answer.text.as_deref().and_then(split_error) {
        Some((error, text)) => (Some(error), text),
        None => (None, answer.text),
    };
    Content::FunctionResult(FunctionResult {
        call_id: answer.call_id,
        name: answer.name,
        items: answer.parts,
        result: text.map(Value::String),
        error,
        meta: answer.meta,
    })
}

/// The failure and the text of a failed call rendered by `render_result`.
fn split_error(text: &str) -> Option<(Failure, Option<String>)> {
    let parsed = parse(text);
    let elsewhere = parsed.url.is_some() || !parsed.tabs.is_empty();
    Some((parsed.error.filter(|_| !elsewhere)?, parsed.text))
}

#[derive(Clone, Debug, Default, PartialEq)]
struct ResultText {
    error: Option<Failure>,
    url: Option<String>,
    tabs: Vec<TabState>,
    text: Option<String>,
}

fn write(result: &ResultText) -> String {
    let mut head = Vec::new();
    head.extend(result.error.as_ref().map(error_line));
    head.extend(
        result
            .url
            .as_ref()
            .map(|url| format!("page: {}", to_line(url))),
    );
    let tab = |tab: &TabState| {
        let json = serde_json::to_string(tab).unwrap_or_default();
        format!("tab: {json}")
    };
    head.extend(result.tabs.iter().map(tab));
    let text = result.text.as_deref().filter(|text| !text.is_empty());
    match (head.is_empty(), text) {
        (true, None) => EMPTY_RESULT.to_owned(),
        (true, Some(text)) if parse(text).text.as_deref() == Some(text) => text.to_owned(),
        (true, Some(text)) => format!("{EMPTY_RESULT}\n\n{text}"),
        (false, None) => head.join("\n"),
        (false, Some(text)) => format!("{}\n\n{text}", head.join("\n")),
    }
}

/// Parses rendered text; any other text is returned as plain text.
fn parse(text: &str) -> ResultText {
    read_head(text).unwrap_or_else(|| ResultText {
        text: (!text.is_empty()).then(|| text.to_owned()),
        ..ResultText::default()
    })
}

fn read_head(text: &str) -> Option<ResultText> {
    let (head, rest) = match text.split_once("\n\n") {
        Some((head, rest)) => (head, Some(rest.to_owned())),
        None => (text, None),
    };
    let mut parsed = ResultText {
        text: rest,
        ..ResultText::default()
    };
    if head == EMPTY_RESULT {
        return Some(parsed);
    }
    for line in head.split('\n') {
        if let (Some(more), Some(error)) = (line.strip_prefix(CONTINUATION), &mut parsed.error) {
            error.message.push('\n');
            error.message.push_str(more);
        } else if let Some(url) = line.strip_prefix("page: ") {
            parsed.url = Some(from_line(url)?);
        } else if let Some(tab) = line.strip_prefix("tab: ") {
            parsed.tabs.push(serde_json::from_str(tab).ok()?);
        } else {
            parsed.error = Some(failure_of(line)?);
        }
    }
    Some(parsed)
}

/// Start of every line of an error's message but the first.
const CONTINUATION: &str = "  ";

fn error_line(failure: &Failure) -> String {
    let message = failure.message.replace('\n', &format!("\n{CONTINUATION}"));
    // Older histories have messages as JSON strings.
    let message = match from_line(&message) {
        Some(read) if read == message => message,
        _ => Value::from(failure.message.as_str()).to_string(),
    };
    match kind_name(failure.kind) {
        "device" => format!("Error: {message}"),
        kind => format!("Error ({}): {message}", kind.replace('_', " ")),
    }
}

fn failure_of(line: &str) -> Option<Failure> {
    if let Some(message) = line.strip_prefix("Error: ") {
        return Some(Failure::new(FailureKind::Device, from_line(message)?));
    }
    let (kind, message) = line.strip_prefix("Error (")?.split_once("): ")?;
    let kind = serde_json::from_value(Value::String(kind.replace(' ', "_"))).ok()?;
    Some(Failure::new(kind, from_line(message)?))
}

fn kind_name(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::InvalidInput => "invalid_input",
        FailureKind::Denied => "denied",
        FailureKind::Unsupported => "unsupported",
        FailureKind::Stale => "stale",
        FailureKind::Device => "device",
        FailureKind::Timeout => "timeout",
        FailureKind::Cancelled => "cancelled",
        FailureKind::NotExecuted => "not_executed",
        FailureKind::Interrupted => "interrupted",
    }
}

/// A text on one line: unchanged, or as a JSON string.
fn to_line(text: &str) -> String {
    if text.contains('\n') || text.starts_with('"') {
        Value::from(text).to_string()
    } else {
        text.to_owned()
    }
}

fn from_line(text: &str) -> Option<String> {
    if text.starts_with('"') {
        serde_json::from_str(text)
            .ok()
            .or_else(|| Some(text.to_owned()))
    } else {
        Some(text.to_owned())
    }
}
