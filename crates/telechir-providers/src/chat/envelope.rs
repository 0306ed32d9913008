//! The envelope of messages: a list, a request, a response, or a single message.

use serde_json::{Map, Value};
use telechir_protocol::{Content, ErrorContent, Message, Meta, ModelTurn, UsageContent};

use super::Flavour;
use super::decode::MessageReader;
use crate::json::{Fields, kind, list, names_of, object, present, raw, text, text_of};
use crate::provider_error::ProviderError;
use crate::settings::CHOICE;
use crate::{DecodeError, Envelope, History, Report};

/// The member name used for a single message without a list.
const ALONE: &str = "";
const MESSAGES: &str = "messages";
const CHOICES: &str = "choices";

/// Stores the index of the choice to which a message belongs.
pub(super) const CHOICE_NUMBER: &str = "choice_number";

/// The field that holds the only message of a response of Ollama's own chat.
const MESSAGE: &str = "message";

/// Finish reasons after which a call may be truncated.
const CUT_OFF_REASONS: [&str; 4] = ["length", "model_length", "content_filter", "error"];

/// Decodes one response: an object with `choices`, one of its choices, or its message.
pub(super) fn read_response(
    flavour: Flavour,
    value: Value,
) -> Result<(ModelTurn, Report), DecodeError> {
    refuse_error(&value)?;
    let body = value
        .as_object()
        .ok_or_else(|| wrong_shape(flavour, "expected an object".to_owned(), &value))?;
    let choices = list(body, CHOICES);
    let single = || {
        if text(body, "role") == Some("assistant") {
            let choice = Fields::from_iter([("message".to_owned(), value.clone())]);
            return Ok(choice);
        }
        if present(body, "message").is_some_and(Value::is_object) {
            return Ok(body.clone());
        }
        Err(wrong_shape(flavour, missing_fields(body), &value))
    };
    let choice = match choices.first() {
        Some(choice) => choice.as_object().cloned().ok_or_else(|| {
            wrong_shape(flavour, "choices[0] is not an object".to_owned(), &value)
        })?,
        None => single()?,
    };
    let mut reader = MessageReader::new(flavour);
    let messages = messages_of(flavour, &choice, 0)?;
    let mut contents: Vec<Content> = reader
        .messages(&messages)
        .into_iter()
        .flat_map(|message| message.contents)
        .collect();
    for number in 1..choices.len() {
        let why = "a turn has one choice; calls of other choices are not executed";
        let path = format!("choices[{number}]");
        reader.report.lost("an additional choice", path, why);
    }
    let finish = finish_reason(&choice);
    let failure = choice_error(&choice);
    if let Some(failure) = &failure
        && contents.is_empty()
    {
        return Err(failure.as_decode_error());
    }
    if failure.is_some() || CUT_OFF_REASONS.contains(&finish) {
        let reason = if finish.is_empty() { "error" } else { finish };
        contents
            .iter_mut()
            .for_each(|content| mark_cut_off(content, reason));
        contents.push(incomplete_error(reason, failure.as_ref()));
    }
    contents.extend(response_usage(flavour, body));
    Ok((ModelTurn::new(contents)?, reader.report))
}

/// The messages of a choice; several if the service ran connectors.
fn messages_of(
    flavour: Flavour,
    choice: &Fields,
    number: usize,
) -> Result<Vec<Fields>, DecodeError> {
    let several = list(choice, MESSAGES);
    let one = present(choice, "message").into_iter();
    // Some services leave the role out.
    let has_role = |message: &&Fields| present(message, "role").is_none_or(Value::is_string);
    let message = |value: &Value| {
        value.as_object().filter(has_role).cloned().ok_or_else(|| {
            let problem =
                format!("a message of choices[{number}] is not an object, or its `role` no text");
            wrong_shape(flavour, problem, value)
        })
    };
    let messages: Vec<Fields> = several
        .iter()
        .chain(one)
        .map(message)
        .collect::<Result<_, _>>()?;
    if messages.is_empty() {
        let problem = if choice.contains_key("delta") {
            format!(
                "expected a complete response, found a stream event: choices[{number}] has a `delta`"
            )
        } else {
            format!("choices[{number}] has no `message`")
        };
        return Err(wrong_shape(flavour, problem, &Value::Null));
    }
    Ok(messages)
}

/// Marks a possibly truncated call as not executable.
fn mark_cut_off(content: &mut Content, finish: &str) {
    let problem = || Some(format!("the response was cut off: {finish}"));
    if let Content::ComputerCall(call) = content {
        call.exception = problem();
    } else if let Content::ShellCall(call) = content {
        call.exception = problem();
    } else if let Content::EditCall(call) = content {
        call.exception = problem();
    } else if let Content::FunctionCall(call) = content {
        call.exception = problem();
    }
}

/// The reason for which the response ended; Ollama's own chat has another name for it.
fn finish_reason(choice: &Fields) -> &str {
    let names = ["finish_reason", "done_reason"];
    let reason = names.iter().find_map(|name| text(choice, name));
    reason.unwrap_or_default()
}

/// The error with which a service behind a router ended the choice.
fn choice_error(choice: &Fields) -> Option<ProviderError> {
    present(choice, "error")?;
    ProviderError::from_value(&Value::Object(choice.clone()))
}

fn incomplete_error(finish: &str, failure: Option<&ProviderError>) -> Content {
    let reason = failure.map_or_else(|| finish.to_owned(), ToString::to_string);
    Content::Error(ErrorContent {
        message: format!("the response is incomplete: {reason}"),
        error_code: Some("incomplete".to_owned()),
        error_details: None,
        meta: Meta::default(),
    })
}

fn response_usage(flavour: Flavour, body: &Fields) -> Option<Content> {
    let own = object(body, "usage").map(|usage| self::usage(flavour, usage));
    own.or_else(|| {
        let counts = ["prompt_eval_count", "eval_count"];
        let [input, output] = counts.map(|name| body.get(name).and_then(Value::as_u64));
        let total = input
            .zip(output)
            .map(|(input, output)| input.saturating_add(output));
        let usage = UsageContent {
            input_token_count: input,
            output_token_count: output,
            total_token_count: total,
            ..UsageContent::default()
        };
        (usage != UsageContent::default()).then_some(Content::Usage(usage))
    })
}

pub(crate) fn usage(flavour: Flavour, usage: &Fields) -> Content {
    let count = |name: &str| usage.get(name).and_then(Value::as_u64);
    Content::Usage(UsageContent {
        input_token_count: count("prompt_tokens"),
        output_token_count: count("completion_tokens"),
        total_token_count: count("total_tokens"),
        meta: raw(flavour.dialect(), Value::Object(usage.clone())),
    })
}

/// Decodes a history: a request, its list, a response, or one message.
pub(super) fn read_history(
    flavour: Flavour,
    value: Value,
) -> Result<(History, Report), DecodeError> {
    refuse_error(&value)?;
    let mut reader = MessageReader::new(flavour);
    let envelope = |member, rest| Envelope::of(flavour.dialect(), Some(member), rest);
    let has = |name: &str| value.get(name).is_some_and(Value::is_array);
    let (has_messages, has_choices) = (has(MESSAGES), has(CHOICES));
    let (messages, envelope) = match value {
        Value::Array(values) => {
            let values = message_objects(flavour, &values)?;
            (reader.messages(&values), Envelope::List)
        }
        Value::Object(body) if body.contains_key("role") => {
            let values = message_objects(flavour, &[Value::Object(body)])?;
            (reader.messages(&values), envelope(ALONE, Fields::new()))
        }
        Value::Object(mut body) if has_messages => {
            let values = body.insert(MESSAGES.to_owned(), Value::Null);
            let values = values.as_ref().and_then(Value::as_array);
            let values = message_objects(flavour, values.map_or(&[], Vec::as_slice))?;
            (reader.messages(&values), envelope(MESSAGES, body))
        }
        Value::Object(mut body) if has_choices => {
            let messages = choices(flavour, &mut reader, list(&body, CHOICES))?;
            body.insert(CHOICES.to_owned(), Value::Null);
            (messages, envelope(CHOICES, body))
        }
        Value::Object(mut body) if body.get(MESSAGE).is_some_and(Value::is_object) => {
            let message = body.insert(MESSAGE.to_owned(), Value::Null);
            let message: Vec<Fields> = message
                .iter()
                .filter_map(|message| message.as_object().cloned())
                .collect();
            (reader.messages(&message), envelope(MESSAGE, body))
        }
        Value::Object(body) => {
            let problem = missing_fields(&body);
            return Err(wrong_shape(flavour, problem, &Value::Object(body)));
        }
        value @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
            let problem = "expected an object or a list of messages".to_owned();
            return Err(wrong_shape(flavour, problem, &value));
        }
    };
    Ok((History { messages, envelope }, reader.report))
}

fn message_objects(flavour: Flavour, values: &[Value]) -> Result<Vec<Fields>, DecodeError> {
    let message = |(index, value): (usize, &Value)| {
        let message = value
            .as_object()
            .filter(|message| text(message, "role").is_some());
        let message = message.ok_or_else(|| {
            let problem = format!("message {index} is not an object with a `role`");
            wrong_shape(flavour, problem, value)
        })?;
        match foreign_part(message) {
            None => Ok(message.clone()),
            Some(part) => {
                let problem = format!("message {index} has a part of the foreign type `{part}`");
                Err(wrong_shape(flavour, problem, value))
            }
        }
    };
    values.iter().enumerate().map(message).collect()
}

/// The messages of all choices; the first of each stores the choice's fields.
fn choices(
    flavour: Flavour,
    reader: &mut MessageReader,
    choices: &[Value],
) -> Result<Vec<Message>, DecodeError> {
    let mut all = Vec::new();
    for (number, choice) in choices.iter().enumerate() {
        let problem = || {
            wrong_shape(
                flavour,
                format!("choices[{number}] is not an object"),
                choice,
            )
        };
        let mut choice = choice.as_object().cloned().ok_or_else(problem)?;
        let values = messages_of(flavour, &choice, number)?;
        let mut messages = reader.messages(&values);
        for name in ["message", MESSAGES] {
            if present(&choice, name).is_some() {
                choice.insert(name.to_owned(), Value::Null);
            }
        }
        let provider = flavour.provider();
        for message in &mut messages {
            message
                .meta
                .set_property(provider, CHOICE_NUMBER, number.into());
        }
        if let Some(first) = messages.first_mut() {
            first
                .meta
                .set_property(provider, CHOICE, Value::Object(choice));
        }
        all.extend(messages);
    }
    Ok(all)
}

/// Writes messages back into their original envelope.
pub(super) fn enclose(flavour: Flavour, mut items: Vec<Value>, history: &History) -> Value {
    let Some((member, rest)) = history.envelope.own(flavour.dialect()) else {
        return Value::Array(items);
    };
    if member == ALONE {
        return if items.len() == 1 {
            items.pop().unwrap_or_default()
        } else {
            Value::Array(items)
        };
    }
    let mut body = rest.clone();
    if member == MESSAGE && items.len() != 1 {
        return Value::Array(items);
    }
    let list = if member == MESSAGE {
        items.pop().unwrap_or_default()
    } else if member == CHOICES {
        match regroup_choices(flavour, &items, history) {
            Some(choices) => Value::Array(choices),
            None => return Value::Array(items),
        }
    } else {
        Value::Array(items)
    };
    body.insert(member.to_owned(), list);
    Value::Object(body)
}

/// Rebuilds the choices; `None` if the messages no longer match the response.
fn regroup_choices(flavour: Flavour, items: &[Value], history: &History) -> Option<Vec<Value>> {
    let provider = flavour.provider();
    if items.len() != history.messages.len() {
        return None;
    }
    let mut choices: Vec<Fields> = Vec::new();
    for (message, item) in history.messages.iter().zip(items) {
        if let Some(choice) = message.meta.property(provider, CHOICE) {
            choices.push(choice.as_object()?.clone());
        }
        message.meta.property(provider, CHOICE_NUMBER)?;
        let choice = choices.last_mut()?;
        match choice.get_mut(MESSAGES) {
            Some(Value::Array(several)) => several.push(item.clone()),
            Some(several) => *several = Value::Array(vec![item.clone()]),
            None => {
                choice.insert("message".to_owned(), item.clone());
            }
        }
    }
    Some(choices.into_iter().map(Value::Object).collect())
}

fn missing_fields(body: &Fields) -> String {
    if text(body, "object") == Some("chat.completion.chunk") {
        return "expected a complete document, found a stream event".to_owned();
    }
    format!(
        "expected `choices`, `messages` or `role`, found {}",
        names_of(body)
    )
}

/// A content part that only other dialects have.
fn foreign_part(message: &Map<String, Value>) -> Option<&str> {
    const FOREIGN: [&str; 8] = [
        "tool_use",
        "tool_result",
        "redacted_thinking",
        "image",
        "input_text",
        "output_text",
        "input_image",
        "input_file",
    ];
    list(message, "content")
        .iter()
        .filter_map(Value::as_object)
        .map(kind)
        .find(|kind| FOREIGN.contains(kind))
}

fn wrong_shape(flavour: Flavour, problem: String, value: &Value) -> DecodeError {
    DecodeError::WrongShape {
        dialect: flavour.dialect(),
        problem,
        looks_like: looks_like(value),
    }
}

fn looks_like(value: &Value) -> Option<&'static str> {
    let fields = value.as_object().or_else(|| value.get(0)?.as_object())?;
    let part = foreign_part(fields);
    let blocks = |fields: &Fields| matches!(kind(fields), "message" | "tool_use" | "tool_result");
    if fields.contains_key("stop_reason")
        || part.is_some_and(|part| !part.starts_with("input_") && part != "output_text")
        || (blocks(fields) && kind(fields) != "message")
    {
        return Some("anthropic-messages");
    }
    if fields.contains_key("candidates") || fields.contains_key("contents") {
        return Some("google-generate-content");
    }
    if fields.contains_key("outputs") || text_of(value, "object") == "conversation.response" {
        return Some("mistral-conversations");
    }
    let items = ["output", "input"];
    (part.is_some() || items.iter().any(|name| fields.contains_key(*name)))
        .then_some("openai-responses")
}

/// Rejects an error document in any of the services' formats.
fn refuse_error(value: &Value) -> Result<(), DecodeError> {
    match ProviderError::from_value(value) {
        None => Ok(()),
        Some(error) => Err(error.as_decode_error()),
    }
}
