//! Translates tool results to and from function responses: an object and images.

use serde_json::{Map, Value};
use telechir_protocol::{
    AnsweredTurn, CallId, ComputerResult, Content, EditResult, Failure, FailureKind,
    FunctionResult, Media, Meta, SafetyCheck, SafetySource, ShellResult, StepOutcome, StepState,
    TabState, ToolCall, ToolResult,
};

use super::call::CHECK;
use super::context::{GoogleCallKind, RecordedCall};
use super::encode_call::EncodedFunctionCall;
use super::{PROVIDER, report_losses};
use crate::Report;
use crate::json::media;
use crate::shell_text;

/// The field that records the user's approval.
pub(super) const ACKNOWLEDGED: &str = "safety_acknowledgement";

/// The property in which a result keeps response fields without a neutral name.
const RESPONSE: &str = "response";

/// The property that records that a function's result object was in `output`.
const WITHIN_OUTPUT: &str = "within_output";

/// The response of a function.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct FunctionResponse {
    pub(super) response: Map<String, Value>,
    pub(super) media: Vec<Media>,
    pub(super) is_error: bool,
}

/// Decodes a response into the result of a call of this kind.
pub(super) fn read(
    known: &RecordedCall,
    id: CallId,
    answer: FunctionResponse,
    meta: Meta,
) -> Content {
    match &known.kind {
        GoogleCallKind::Computer(family) => screen(known, family.clone(), id, answer, meta),
        GoogleCallKind::Shell => shell(id, answer, meta),
        GoogleCallKind::Edit => edit(id, answer, meta),
        GoogleCallKind::Function => function(known, id, answer, meta),
    }
}

fn string(response: &mut Map<String, Value>, name: &str) -> Option<String> {
    match response.get(name) {
        Some(Value::String(_)) => match response.shift_remove(name) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// The error of a response, with its kind if we encoded it.
fn failure(answer: &mut FunctionResponse) -> Option<Failure> {
    let message = string(&mut answer.response, "error");
    let kind = answer
        .response
        .get("error_kind")
        .and_then(|kind| serde_json::from_value::<FailureKind>(kind.clone()).ok());
    match message {
        Some(message) => {
            answer.response.shift_remove("error_kind");
            Some(Failure::new(kind.unwrap_or_default(), message))
        }
        None if answer.is_error => {
            let message = string(&mut answer.response, "output");
            let message = message.unwrap_or_else(|| "The call failed without a reason.".to_owned());
            Some(Failure::new(FailureKind::Device, message))
        }
        None => None,
    }
}

fn keep_unknown(meta: &mut Meta, response: Map<String, Value>) {
    if !response.is_empty() {
        meta.set_property(PROVIDER, RESPONSE, response.into());
    }
}

fn screen(
    known: &RecordedCall,
    family: Option<String>,
    id: CallId,
    mut answer: FunctionResponse,
    mut meta: Meta,
) -> Content {
    let mut result = ComputerResult::new(id);
    result.error = failure(&mut answer);
    let response = &mut answer.response;
    let url = string(response, "url").or_else(|| string(response, "current_url"));
    result.current_url = url.filter(|url| !url.is_empty());
    result.text_output = string(response, "output");
    let tabs = response.get("tabs").cloned();
    if let Some(Ok(tabs)) = tabs.map(serde_json::from_value::<Vec<TabState>>) {
        result.tabs = tabs;
        response.shift_remove("tabs");
    }
    if response.get(ACKNOWLEDGED).is_some_and(is_approval) {
        response.shift_remove(ACKNOWLEDGED);
        result.acknowledged_safety_checks = if known.checks.is_empty() {
            vec![unknown_check()]
        } else {
            known.checks.clone()
        };
    }
    let mut images = answer.media;
    if let Some(steps) = response
        .get("steps")
        .and_then(|steps| read_steps(steps, &images))
    {
        result.steps = steps;
        response.shift_remove("steps");
        let shown = |image: &Media| {
            let of = |step: &StepOutcome| step.screenshot.as_ref() == Some(image);
            result.steps.iter().any(of)
        };
        let last = images.pop();
        images.retain(|image| !shown(image));
        images.extend(last);
    }
    result.screenshot = images.pop();
    result.group = family;
    keep_unknown(&mut meta, answer.response);
    result.meta = meta;
    Content::ComputerResult(result)
}

/// Whether the user approved: no other value says so.
pub(super) fn is_approval(value: &Value) -> bool {
    value.as_bool() == Some(true) || value.as_str() == Some("true")
}

/// A check of which only the approval is known.
fn unknown_check() -> SafetyCheck {
    SafetyCheck {
        id: CHECK.to_owned(),
        code: Some("require_confirmation".to_owned()),
        message: None,
        source: SafetySource::Google,
    }
}

/// Decodes steps that we encoded: a screenshot is the index of its image.
fn read_steps(steps: &Value, images: &[Media]) -> Option<Vec<StepOutcome>> {
    let read = |step: &Value| {
        let mut step = step.clone();
        let fields = step.as_object_mut()?;
        // The second name was written before format 2 of recordings.
        let part = fields.shift_remove("screenshot");
        let part = part.or_else(|| fields.shift_remove("picture"));
        let mut step: StepOutcome = serde_json::from_value(step).ok()?;
        if let Some(part) = part {
            let at = usize::try_from(part.as_u64()?).ok()?;
            step.screenshot = Some(images.get(at)?.clone());
        }
        Some(step)
    };
    steps.as_array()?.iter().map(read).collect()
}

fn shell(id: CallId, mut answer: FunctionResponse, mut meta: Meta) -> Content {
    let error = string(&mut answer.response, "error");
    let is_error = error.is_some() || answer.is_error;
    let message = error.or_else(|| string(&mut answer.response, "output"));
    let mut result = shell_text::decode(id, &message.unwrap_or_default(), is_error);
    keep_unknown(&mut meta, answer.response);
    result.meta = meta;
    Content::ShellResult(result)
}

fn edit(id: CallId, mut answer: FunctionResponse, mut meta: Meta) -> Content {
    let error = failure(&mut answer);
    let text = string(&mut answer.response, "output");
    keep_unknown(&mut meta, answer.response);
    Content::EditResult(EditResult {
        call_id: id,
        text,
        error,
        meta,
    })
}

/// Without `output` and `error`, the object itself is the function's result.
fn function(
    known: &RecordedCall,
    id: CallId,
    mut answer: FunctionResponse,
    mut meta: Meta,
) -> Content {
    let only = |names: &[&str], response: &Map<String, Value>| {
        !response.is_empty() && response.keys().all(|name| names.contains(&name.as_str()))
    };
    let (mut error, mut result) = (None, None);
    if only(&["output", "error", "error_kind"], &answer.response)
        && answer.response.get("error").is_none_or(Value::is_string)
    {
        error = failure(&mut answer);
        result = answer.response.shift_remove("output");
        if result.as_ref().is_some_and(Value::is_object) {
            meta.set_property(PROVIDER, WITHIN_OUTPUT, true.into());
        }
    } else if answer.is_error {
        let message = Value::Object(std::mem::take(&mut answer.response)).to_string();
        error = Some(Failure::new(FailureKind::Device, message));
    } else if !answer.response.is_empty() || answer.media.is_empty() {
        result = Some(answer.response.into());
    }
    Content::FunctionResult(FunctionResult {
        call_id: Some(id),
        name: Some(known.name.clone()),
        items: answer.media.into_iter().map(Content::from).collect(),
        result,
        error,
        meta,
    })
}

/// Encodes a result: one response for each function call that its call was encoded as, in order.
pub(super) fn write(
    encoded: &[EncodedFunctionCall],
    result: &ToolResult,
    report: &mut Report,
) -> Vec<FunctionResponse> {
    let location = result
        .call_id()
        .map_or_else(|| "a result".to_owned(), |id| format!("result {id}"));
    match result {
        ToolResult::Computer(result) => {
            report_losses(report, &location, result.item_id.as_deref(), None);
            let mut answers: Vec<FunctionResponse> = encoded
                .iter()
                .take(encoded.len().saturating_sub(1))
                .map(|encoded| of_step(result, encoded.action.unwrap_or_default()))
                .collect();
            answers.push(of_screen(result, encoded.len() > 1));
            answers
        }
        ToolResult::Shell(result) => {
            report_losses(report, &location, result.item_id.as_deref(), None);
            vec![of_shell(result)]
        }
        ToolResult::Edit(result) => {
            vec![of_edit(result)]
        }
        ToolResult::Function(result) => {
            vec![of_function(result, &location, report)]
        }
    }
}

fn put_failure(response: &mut Map<String, Value>, failure: &Failure) {
    let message = if failure.message.trim().is_empty() {
        "It failed."
    } else {
        &failure.message
    };
    response.insert("error".to_owned(), message.into());
    if failure.kind != FailureKind::Device {
        let kind = serde_json::to_value(failure.kind).unwrap_or_default();
        response.insert("error_kind".to_owned(), kind);
    }
}

/// Adds the fields that were kept beside the neutral values.
fn put_unknown(response: &mut Map<String, Value>, meta: &Meta) {
    let rest = meta.property(PROVIDER, RESPONSE).and_then(Value::as_object);
    for (name, value) in rest.into_iter().flatten() {
        response.entry(name).or_insert_with(|| value.clone());
    }
    if meta.property(PROVIDER, ACKNOWLEDGED) == Some(&Value::Bool(true)) {
        response.insert(ACKNOWLEDGED.to_owned(), true.into());
    }
}

/// The URL is always present: models reject a response without it.
fn put_url(response: &mut Map<String, Value>, result: &ComputerResult) {
    let url = result.current_url.as_deref().unwrap_or_default();
    response.insert("url".to_owned(), url.into());
}

/// The response for one action inside a batch.
fn of_step(result: &ComputerResult, at: usize) -> FunctionResponse {
    let mut answer = FunctionResponse::default();
    put_url(&mut answer.response, result);
    let Some(step) = result.steps.get(at) else {
        // The step's outcome is unknown: if the batch failed, it may not have run.
        if let Some(failure) = &result.error {
            put_failure(&mut answer.response, failure);
        }
        return answer;
    };
    match &step.state {
        StepState::Failed { failure } => put_failure(&mut answer.response, failure),
        StepState::NotStarted => put_failure(&mut answer.response, &not_started()),
        StepState::Delivered | StepState::Confirmed => {}
    }
    if let Some(text) = &step.text {
        answer
            .response
            .insert("output".to_owned(), text.as_str().into());
    }
    answer.media.extend(step.screenshot.clone());
    answer
}

fn not_started() -> Failure {
    Failure::new(
        FailureKind::NotExecuted,
        "It was not started because an earlier action of the same turn failed.",
    )
}

/// The response with the call's result. `is_last`: other responses of the batch precede it.
fn of_screen(result: &ComputerResult, is_last: bool) -> FunctionResponse {
    let mut answer = FunctionResponse::default();
    let response = &mut answer.response;
    put_url(response, result);
    let last = result.steps.last();
    let own = last.filter(|_| is_last).map(|step| &step.state);
    match (own, &result.error) {
        (Some(StepState::NotStarted), _) => put_failure(response, &not_started()),
        (Some(StepState::Delivered | StepState::Confirmed), _) | (_, None) => {}
        (_, Some(failure)) => put_failure(response, failure),
    }
    let texts = result.steps.iter().filter_map(|step| step.text.as_deref());
    let of_steps: Vec<&str> = if is_last {
        last.and_then(|step| step.text.as_deref())
            .into_iter()
            .collect()
    } else {
        texts.collect()
    };
    // The texts of the other actions are in their responses.
    let own_text = result
        .text_output
        .clone()
        .filter(|_| !is_last || of_steps.is_empty());
    let is_in_other_responses = is_last && result.steps.iter().any(|step| step.text.is_some());
    let output = own_text
        .filter(|_| !is_in_other_responses)
        .or_else(|| (!of_steps.is_empty()).then(|| of_steps.join("\n")));
    if let Some(output) = output {
        response.insert("output".to_owned(), output.into());
    }
    if !result.tabs.is_empty() {
        let tabs = serde_json::to_value(&result.tabs).unwrap_or_default();
        response.insert("tabs".to_owned(), tabs);
    }
    if !result.acknowledged_safety_checks.is_empty() {
        response.insert(ACKNOWLEDGED.to_owned(), "true".into());
    }
    if is_last {
        let image = last.and_then(|step| step.screenshot.clone());
        answer.media.extend(result.screenshot.clone().or(image));
    } else {
        put_steps(result, &mut answer);
        if answer.media.last() != result.screenshot.as_ref() {
            answer.media.extend(result.screenshot.clone());
        }
    }
    put_unknown(&mut answer.response, &result.meta);
    answer
}

/// Adds the screenshots of steps and, if there are several steps, their outcomes.
fn put_steps(result: &ComputerResult, answer: &mut FunctionResponse) {
    let mut steps = Vec::new();
    for step in &result.steps {
        let mut step = step.clone();
        let image = step.screenshot.take();
        let mut json = serde_json::to_value(step).unwrap_or_default();
        if let Some(image) = image {
            json["screenshot"] = answer.media.len().into();
            answer.media.push(image);
        }
        steps.push(json);
    }
    if steps.len() > 1 {
        answer.response.insert("steps".to_owned(), steps.into());
    }
}

fn of_shell(result: &ShellResult) -> FunctionResponse {
    let text = shell_text::encode_beside_flag(result);
    // Another program's text has no status line.
    let is_failed_text = result.combined && shell_text::is_error(result);
    let name = if result.error.is_some() || is_failed_text {
        "error"
    } else {
        "output"
    };
    let mut answer = FunctionResponse::default();
    answer.response.insert(name.to_owned(), text.into());
    put_unknown(&mut answer.response, &result.meta);
    answer
}

fn of_edit(result: &EditResult) -> FunctionResponse {
    let mut answer = FunctionResponse::default();
    if let Some(failure) = &result.error {
        put_failure(&mut answer.response, failure);
    }
    if let Some(text) = &result.text {
        answer
            .response
            .insert("output".to_owned(), text.as_str().into());
    }
    put_unknown(&mut answer.response, &result.meta);
    answer
}

fn of_function(result: &FunctionResult, location: &str, report: &mut Report) -> FunctionResponse {
    let mut answer = FunctionResponse::default();
    let response = &mut answer.response;
    let is_within = result.meta.property(PROVIDER, WITHIN_OUTPUT).is_some();
    let is_ambiguous = |members: &Map<String, Value>| {
        members
            .keys()
            .all(|name| matches!(name.as_str(), "output" | "error" | "error_kind"))
    };
    match &result.result {
        Some(Value::Object(members))
            if (members.is_empty() || !is_ambiguous(members)) && !is_within =>
        {
            response.extend(members.clone());
        }
        Some(Value::Null) | None => {}
        Some(value) => {
            response.insert("output".to_owned(), value.clone());
        }
    }
    if let Some(failure) = &result.error {
        put_failure(response, failure);
    }
    let mut texts = Vec::new();
    for item in &result.items {
        if let Some(image) = media(item) {
            answer.media.push(image);
        } else if let Content::Text(text) = item {
            texts.push(text.text.as_str());
        } else {
            report.lost(
                "a content of a result",
                location,
                "results contain only text and images",
            );
        }
    }
    if !texts.is_empty() {
        let texts = texts.join("\n");
        let output = response.entry("output").or_insert(Value::Null);
        *output = match output.take() {
            Value::Null => texts.into(),
            Value::String(text) => format!("{text}\n{texts}").into(),
            other => format!("{other}\n{texts}").into(),
        };
    }
    put_unknown(response, &result.meta);
    answer
}

/// The response for a call without a known result.
pub(super) fn unknown(call: &Content) -> FunctionResponse {
    let mut answer = FunctionResponse::default();
    let message = "The result is unknown.";
    answer.response.insert("error".to_owned(), message.into());
    if matches!(call, Content::ComputerCall(_)) {
        answer.response.insert("url".to_owned(), "".into());
    }
    answer
}

/// Reports denied safety checks: the protocol has no denial, and the provider rejects the next
/// request without an approval.
pub(super) fn note_unacknowledged(turn: &AnsweredTurn, report: &mut Report) {
    for (call, result) in turn.pairs() {
        let (ToolCall::Computer(call), ToolResult::Computer(result)) = (&call, result) else {
            continue;
        };
        let pending = call.pending_safety_checks.iter();
        for check in pending.filter(|check| check.source == SafetySource::Google) {
            let known = &result.acknowledged_safety_checks;
            if !known.iter().any(|known| known.id == check.id) {
                let what = "the denial of a safety check";
                let location = format!("call {}", call.call_id);
                let why = "only an approval can be encoded; without it the provider rejects the next request";
                report.lost(what, location, why);
            }
        }
    }
}
