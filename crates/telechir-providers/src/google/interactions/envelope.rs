//! The JSON around steps: a request, an interaction, a list, or a single step.

use serde_json::{Map, Value};
use telechir_protocol::{Content, ErrorContent, Message, Meta, ModelTurn, Role, TextContent};

use super::DIALECT;
use super::decode_step::{self, StepFields};
use crate::google::context::{self, GoogleContext};
use crate::google::{self, PLACEHOLDER, PROVIDER, provider_error, split_calls, text};
use crate::json::{names_of, raw};
use crate::{DecodeError, Envelope, History, Report};

/// Envelope fields; empty for a document that is one step.
pub(super) const ALONE: &str = "";
pub(super) const STEPS: &str = "steps";
pub(super) const INPUT: &str = "input";
pub(super) const INSTRUCTIONS: &str = "system_instruction";

/// The form of a request's input that is not a list of steps.
pub(super) mod input_form {
    pub(in crate::google::interactions) const TEXT: &str = "words";
    pub(in crate::google::interactions) const CONTENT: &str = "content";
    pub(in crate::google::interactions) const CONTENTS: &str = "contents";
}

/// Decodes one interaction: an object, its list of steps, or one of them.
pub(super) fn read_response(document: Value) -> Result<(ModelTurn, Report), DecodeError> {
    let found = find(document)?;
    if found.member == Some(INPUT) {
        return Err(wrong(
            "expected an interaction, found a request with `input`",
        ));
    }
    refuse_unfinished(&found.rest)?;
    let mut reader = StepsReader::new(&found);
    let mut contents: Vec<Content> = Vec::new();
    for message in reader.steps(&found.steps)? {
        contents.extend(message.contents);
    }
    let mut contents = split_calls::join(contents);
    contents.extend(ended(&found.rest));
    let usage = found.rest.get("usage").and_then(Value::as_object);
    contents.extend(usage.map(|usage| cost(usage, &found.rest)));
    Ok((ModelTurn::new(contents)?, reader.report))
}

/// Decodes a history: a request, an interaction, its list of steps, or one step.
pub(super) fn read_history(document: Value) -> Result<(History, Report), DecodeError> {
    let found = find(document)?;
    let mut reader = StepsReader::new(&found);
    let mut messages = Vec::new();
    if found.member == Some(INPUT)
        && let Some(content_text) = text(&found.rest, INSTRUCTIONS)
    {
        messages.push(instructions(content_text));
    }
    messages.extend(reader.steps(&found.steps)?);
    let envelope = Envelope::of(DIALECT, found.member, found.rest);
    Ok((History { messages, envelope }, reader.report))
}

/// The request's instructions as its first message.
fn instructions(content_text: &str) -> Message {
    let text = TextContent::new(content_text);
    let mut message = Message::new(Role::System, vec![Content::Text(text)]);
    message.meta = raw(DIALECT, content_text.into());
    message
}

struct ParsedSteps {
    steps: Vec<Value>,
    /// Absent for a list of steps.
    member: Option<&'static str>,
    rest: Map<String, Value>,
}

fn wrong(problem: impl Into<String>) -> DecodeError {
    DecodeError::wrong_shape(DIALECT, problem)
}

fn find(document: Value) -> Result<ParsedSteps, DecodeError> {
    refuse_other(&document)?;
    match document {
        Value::Array(steps) => Ok(ParsedSteps {
            steps,
            member: None,
            rest: Map::new(),
        }),
        Value::Object(rest) => object(rest),
        _ => Err(wrong("expected an object or a list of steps")),
    }
}

fn object(mut rest: Map<String, Value>) -> Result<ParsedSteps, DecodeError> {
    let is_step = text(&rest, "type").is_some();
    if let Some(error) = rest
        .get("error")
        .and_then(Value::as_object)
        .filter(|_| !is_step)
    {
        return Err(provider_error(error));
    }
    if let Some(kind) = text(&rest, "event_type") {
        return Err(wrong(format!(
            "expected an interaction, found the stream event `{kind}`"
        )));
    }
    if is_step {
        return Ok(ParsedSteps {
            steps: vec![rest.into()],
            member: Some(ALONE),
            rest: Map::new(),
        });
    }
    if rest.contains_key(INPUT) {
        let field = rest.insert(INPUT.to_owned(), Value::Null);
        let (steps, form) = input(field.unwrap_or_default())?;
        if let Some(form) = form {
            rest.insert(INPUT.to_owned(), form.into());
        }
        return Ok(ParsedSteps {
            steps,
            member: Some(INPUT),
            rest,
        });
    }
    if rest.contains_key(STEPS) {
        let Some(Value::Array(steps)) = rest.insert(STEPS.to_owned(), Value::Null) else {
            return Err(wrong("`steps` is not a list"));
        };
        return Ok(ParsedSteps {
            steps,
            member: Some(STEPS),
            rest,
        });
    }
    if rest.contains_key("status") && rest.contains_key("id") {
        return Ok(ParsedSteps {
            steps: Vec::new(),
            member: Some("steps_left_out"),
            rest,
        });
    }
    let names = names_of(&rest);
    Err(wrong(format!(
        "expected `steps`, `input` or `type`, found {names}"
    )))
}

/// The input as steps, and its form if it is not a list of steps.
fn input(field: Value) -> Result<(Vec<Value>, Option<&'static str>), DecodeError> {
    let user = |contents: Value| {
        let mut step = Map::new();
        step.insert("type".to_owned(), "user_input".into());
        step.insert("content".to_owned(), contents);
        vec![Value::Object(step)]
    };
    let is_content = |value: &Value| {
        let kind = value.get("type").and_then(Value::as_str);
        matches!(
            kind,
            Some("text" | "image" | "audio" | "document" | "video")
        )
    };
    Ok(match field {
        Value::String(content_text) => {
            let content = serde_json::json!({"type": "text", "text": content_text});
            (user(Value::Array(vec![content])), Some(input_form::TEXT))
        }
        Value::Array(items) if !items.is_empty() && items.iter().all(is_content) => {
            (user(items.into()), Some(input_form::CONTENTS))
        }
        Value::Array(steps) => (steps, None),
        content @ Value::Object(_) if is_content(&content) => {
            (user(Value::Array(vec![content])), Some(input_form::CONTENT))
        }
        _ => return Err(wrong("`input` is not a text, contents or steps")),
    })
}

/// Rejects documents of other dialects that have fields with the same names.
fn refuse_other(document: &Value) -> Result<(), DecodeError> {
    let first = match document {
        Value::Array(items) => items.first().unwrap_or(&Value::Null),
        other => other,
    };
    let has = |name: &str| first.get(name).is_some();
    let kind = first
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let looks_like = if has("candidates") || has("contents") || has("parts") {
        "google-generate-content"
    } else if has("messages") || has("stop_reason") || kind == "tool_use" || kind == "tool_result" {
        "anthropic-messages"
    } else if has("output")
        || kind.ends_with("_call_output")
        || matches!(kind, "message" | "computer_call")
        || (kind == "function_call" && has("call_id"))
    {
        "openai-responses"
    } else {
        return Ok(());
    };
    Err(DecodeError::WrongShape {
        dialect: DIALECT,
        problem: "expected `steps`".to_owned(),
        looks_like: Some(looks_like),
    })
}

/// Rejects an interaction that failed or is still running. An incomplete one is accepted.
fn refuse_unfinished(interaction: &Map<String, Value>) -> Result<(), DecodeError> {
    match text(interaction, "status") {
        Some(status @ ("failed" | "cancelled")) => {
            let errors = interaction.get("errors").and_then(Value::as_array);
            let first = errors.and_then(|errors| errors.first()?.as_object());
            Err(first.map_or_else(
                || DecodeError::ProviderError {
                    message: format!("the interaction is {status} without an error message"),
                },
                provider_error,
            ))
        }
        Some(status @ ("queued" | "in_progress")) => Err(wrong(format!(
            "the interaction is incomplete: its status is `{status}`"
        ))),
        _ => Ok(()),
    }
}

/// The error of an interaction that did not complete.
fn ended(interaction: &Map<String, Value>) -> Option<Content> {
    let status = text(interaction, "status")?;
    if matches!(status, "completed" | "requires_action") {
        return None;
    }
    let mut meta = Meta::default();
    meta.set_property(PROVIDER, "step_error", true.into());
    Some(Content::Error(ErrorContent {
        message: format!("the interaction is {status}"),
        error_code: Some(status.to_owned()),
        error_details: interaction.get("errors").cloned(),
        meta,
    }))
}

/// The tokens of an interaction, with its model and id.
fn cost(usage: &Map<String, Value>, interaction: &Map<String, Value>) -> Content {
    let names = [
        "total_input_tokens",
        "total_output_tokens",
        "total_thought_tokens",
        "total_tokens",
    ];
    let properties = ["model", "id"].map(|name| (name, text(interaction, name)));
    google::usage(DIALECT, usage, names, properties)
}

/// Decodes steps one after another.
struct StepsReader {
    context: GoogleContext,
    report: Report,
}

impl StepsReader {
    fn new(found: &ParsedSteps) -> Self {
        Self {
            context: GoogleContext::of_functions(context::declared(found.rest.get("tools"))),
            report: Report::default(),
        }
    }

    fn steps(&mut self, steps: &[Value]) -> Result<Vec<Message>, DecodeError> {
        let mut messages: Vec<Message> = Vec::new();
        let mut placeholder: Option<&Value> = None;
        for (at, step) in steps.iter().enumerate() {
            let Some(object) = step.as_object() else {
                return Err(wrong(format!("step {at} is not an object")));
            };
            refuse_unanswerable(object, at)?;
            let next = steps.get(at + 1);
            let before_call =
                next.and_then(|next| next.get("type")) == Some(&"function_call".into());
            if is_placeholder(object) && before_call {
                placeholder = Some(step);
                continue;
            }
            let mut message = decode_step::read(object, &self.context);
            if let Some(placeholder) = placeholder.take() {
                put_before(&mut message, placeholder);
            }
            let name = text(object, "name").unwrap_or_default();
            for content in &message.contents {
                self.context.note(content, name);
            }
            messages.push(message);
        }
        Ok(joined(messages))
    }
}

/// Whether a step is a thought with only the placeholder signature.
pub(super) fn is_placeholder(step: &StepFields) -> bool {
    text(step, "type") == Some("thought")
        && text(step, "signature") == Some(PLACEHOLDER)
        && !step.contains_key("summary")
}

/// Stores the placeholder with the call that it was encoded for.
fn put_before(message: &mut Message, placeholder: &Value) {
    let meta = message.contents.first_mut().and_then(Content::meta_mut);
    let raw = meta.and_then(|meta| meta.raw_representation.as_mut());
    if let Some(raw) = raw {
        let step = std::mem::take(raw.json_mut());
        *raw.json_mut() = Value::Array(vec![placeholder.clone(), step]);
    }
}

/// Joins messages that each have one part of a batch.
fn joined(messages: Vec<Message>) -> Vec<Message> {
    let mut joined: Vec<Message> = Vec::new();
    let mut run: Vec<Message> = Vec::new();
    let flush = |run: &mut Vec<Message>, joined: &mut Vec<Message>| {
        let Some(first) = run.first().cloned() else {
            return;
        };
        let contents = run.iter().flat_map(|message| message.contents.clone());
        let contents = split_calls::join(contents.collect());
        if contents.len() == run.len() {
            joined.append(run);
            return;
        }
        run.clear();
        for content in contents {
            joined.push(Message {
                contents: vec![content],
                ..first.clone()
            });
        }
    };
    for message in messages {
        let is_part = message.meta.raw_representation.is_none() && message.contents.len() == 1;
        let continues = run.first().is_none_or(|first| first.role == message.role);
        if !is_part || !continues {
            flush(&mut run, &mut joined);
        }
        if is_part {
            run.push(message);
        } else {
            joined.push(message);
        }
    }
    flush(&mut run, &mut joined);
    joined
}

/// Rejects a call without an id, because its result could not refer to it.
fn refuse_unanswerable(step: &StepFields, at: usize) -> Result<(), DecodeError> {
    let has_id = text(step, "id").is_some_and(|id| !id.is_empty());
    if text(step, "type") == Some("function_call") && !has_id {
        let name = text(step, "name").unwrap_or("a function");
        return Err(wrong(format!(
            "step {at} calls `{name}` without an `id`, which its result needs"
        )));
    }
    Ok(())
}
