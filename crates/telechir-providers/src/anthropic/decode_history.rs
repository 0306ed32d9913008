//! Decodes a response into a turn, and requests, lists and responses into a history.

use serde_json::{Map, Value};
use telechir_protocol::{
    Content, ErrorContent, Message, Meta, ModelTurn, Raw, Role, TextContent, UsageContent,
};

use super::context::BlockContext;
use super::decode_block::{self, text};
use super::{DIALECT, PROVIDER, decode_call, decode_result, detect, split_calls};
use crate::{DecodeError, Envelope, History, Report};

/// Decodes one response.
pub(crate) fn decode_response(value: &Value) -> Result<(ModelTurn, Report), DecodeError> {
    if let Some(error) = detect::provider_error(value) {
        return Err(error);
    }
    let expected = "expected a message whose `content` is a list";
    let Some(message) = value.as_object() else {
        return Err(detect::wrong_shape(expected, value));
    };
    let is_response = text(message, "role").is_none_or(|role| role == "assistant")
        && text(message, "type").is_none_or(|kind| kind == "message");
    let Some(content) = message.get("content").filter(|_| is_response) else {
        let problem = if message.contains_key("messages") {
            "expected a single response, found a request"
        } else {
            expected
        };
        return Err(detect::wrong_shape(problem, value));
    };
    let mut context = BlockContext::default();
    let mut contents = Vec::new();
    for (location, block) in blocks_of(content, "content", value)?.iter().enumerate() {
        let content = decode_block::decode(
            object(block, &format!("content[{location}]"), value)?,
            &context,
        );
        context.note(&content);
        contents.push(content);
    }
    if is_cut_off(message)
        && let Some(last) = contents.pop()
    {
        contents.push(decode_call::mark_cut_off(last));
    }
    contents.extend(refusal(message));
    contents.extend(usage(message));
    Ok((ModelTurn::new(contents)?, Report::default()))
}

/// Whether the last block may be incomplete.
fn is_cut_off(message: &Map<String, Value>) -> bool {
    let reasons = ["max_tokens", "model_context_window_exceeded", "refusal"];
    text(message, "stop_reason").is_some_and(|reason| reasons.contains(&reason))
}

/// A refusal as an error content with the provider's explanation.
fn refusal(message: &Map<String, Value>) -> Option<Content> {
    if text(message, "stop_reason") != Some("refusal") {
        return None;
    }
    let details = message
        .get("stop_details")
        .filter(|details| !details.is_null());
    let why = details
        .and_then(Value::as_object)
        .and_then(|details| text(details, "explanation"));
    let mut error = ErrorContent {
        message: why.unwrap_or("The model refused.").to_owned(),
        error_code: Some("refusal".to_owned()),
        error_details: details.cloned(),
        meta: Meta::default(),
    };
    error
        .meta
        .set_property(PROVIDER, "stop_reason", "refusal".into());
    Some(Content::Error(error))
}

fn usage(message: &Map<String, Value>) -> Option<Content> {
    let usage = message.get("usage")?.as_object()?;
    let count = |name: &str| usage.get(name).and_then(Value::as_u64);
    let (input, output) = (count("input_tokens"), count("output_tokens"));
    let mut content = UsageContent {
        input_token_count: input,
        output_token_count: output,
        total_token_count: input
            .zip(output)
            .and_then(|(input, output)| input.checked_add(output)),
        meta: Meta::default(),
    };
    for member in ["stop_reason", "model", "id", "container"] {
        if let Some(value) = message.get(member).filter(|value| !value.is_null()) {
            content.meta.set_property(PROVIDER, member, value.clone());
        }
    }
    content
        .meta
        .set_property(PROVIDER, "usage", Value::Object(usage.clone()));
    Some(Content::Usage(content))
}

/// Decodes a request, a list of messages, a list of blocks, one message or one response.
pub(crate) fn decode_history(value: &Value) -> Result<(History, Report), DecodeError> {
    if let Some(error) = detect::provider_error(value) {
        return Err(error);
    }
    let mut decoder = AnthropicHistoryDecoder {
        context: BlockContext::default(),
        report: Report::default(),
        document: value,
    };
    let history = match value {
        Value::Array(items) => decoder.list(items)?,
        Value::Object(all) => match (all.get("messages"), all.get("content")) {
            (Some(Value::Array(items)), _) => {
                decoder.context = BlockContext::of_request(all);
                let messages = decoder.messages(items, "messages")?;
                History {
                    messages,
                    envelope: envelope(all, "messages"),
                }
            }
            (None, Some(_)) if all.contains_key("role") => {
                let message = decoder.message(all, "the message")?;
                History {
                    messages: vec![message],
                    envelope: envelope(all, "content"),
                }
            }
            _ => {
                return Err(detect::wrong_shape(
                    "expected `messages` or `content`",
                    value,
                ));
            }
        },
        _ => return Err(detect::wrong_shape("expected an object or a list", value)),
    };
    Ok((history, decoder.report))
}

fn envelope(all: &Map<String, Value>, member: &'static str) -> Envelope {
    let mut rest = all.clone();
    rest.insert(member.to_owned(), Value::Null);
    Envelope::Object {
        dialect: DIALECT,
        member,
        rest,
    }
}

/// The content of a message whose `content` is a string.
pub(super) fn string_content(text: &str) -> Content {
    let raw = Raw::new(DIALECT, Value::from(text));
    let meta = Meta {
        raw_representation: Some(raw),
        ..Meta::default()
    };
    Content::Text(TextContent {
        text: text.to_owned(),
        meta,
    })
}

/// Decodes a history.
struct AnthropicHistoryDecoder<'a> {
    context: BlockContext,
    report: Report,
    /// The complete input, from which errors guess the dialect.
    document: &'a Value,
}

impl AnthropicHistoryDecoder<'_> {
    fn list(&mut self, items: &[Value]) -> Result<History, DecodeError> {
        let is_block = |item: &Value| {
            item.get("type").is_some_and(Value::is_string) && item.get("role").is_none()
        };
        if items.is_empty() || !items.iter().all(is_block) {
            let messages = self.messages(items, "the list")?;
            return Ok(History {
                messages,
                envelope: Envelope::List,
            });
        }
        // Blocks without a message: those of a result, or of a response.
        if items
            .iter()
            .filter_map(Value::as_object)
            .any(detect::is_openai)
        {
            return Err(detect::wrong_shape(
                "expected messages with a role and content",
                self.document,
            ));
        }
        let is_result = |item: &Value| item.get("type") == Some(&Value::from("tool_result"));
        let role = if items.iter().any(is_result) {
            Role::User
        } else {
            Role::Assistant
        };
        let mut message = Message::new(role, self.contents(items, "the list")?);
        let raw = Raw::new(DIALECT, Value::Null);
        message.meta.raw_representation = Some(raw);
        Ok(History {
            messages: vec![message],
            envelope: Envelope::List,
        })
    }

    fn messages(&mut self, items: &[Value], location: &str) -> Result<Vec<Message>, DecodeError> {
        let mut messages = Vec::new();
        for (at, item) in items.iter().enumerate() {
            let location = format!("{location}[{at}]");
            messages.push(self.message(object(item, &location, self.document)?, &location)?);
        }
        Ok(messages)
    }

    fn message(
        &mut self,
        item: &Map<String, Value>,
        location: &str,
    ) -> Result<Message, DecodeError> {
        let document = self.document;
        let wrong = |problem: &str| {
            Err(detect::wrong_shape(
                format!("{location} {problem}"),
                document,
            ))
        };
        let role = match text(item, "role") {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            Some("system") => Role::System,
            Some(_) => return wrong("has an unknown role; expected user, assistant or system"),
            None => return wrong("has no `role`"),
        };
        let contents = match item.get("content") {
            Some(Value::String(text)) => vec![string_content(text)],
            Some(Value::Array(blocks)) => self.contents(blocks, &format!("{location}.content"))?,
            _ => return wrong("needs `content` as a string or a list of blocks"),
        };
        let mut around = item.clone();
        around.insert("content".to_owned(), Value::Null);
        let mut message = Message::new(role, contents);
        let raw = Raw::new(DIALECT, Value::Object(around));
        message.meta.raw_representation = Some(raw);
        Ok(message)
    }

    fn contents(&mut self, blocks: &[Value], location: &str) -> Result<Vec<Content>, DecodeError> {
        let mut contents = Vec::new();
        let mut at = 0;
        for run in split_calls::runs(blocks) {
            let mut singles = Vec::new();
            for block in run {
                singles.push(self.block(block, &format!("{location}[{at}]"))?);
                at += 1;
            }
            for single in &singles {
                self.context.note(single);
            }
            match split_calls::join(run, &self.context).filter(|_| run.len() > 1) {
                Some(joined) => {
                    self.context.note(&joined);
                    contents.push(joined);
                }
                None => contents.extend(singles),
            }
        }
        Ok(contents)
    }

    fn block(&mut self, block: &Value, location: &str) -> Result<Content, DecodeError> {
        let block = object(block, location, self.document)?;
        if detect::is_openai(block) {
            return Err(detect::wrong_shape(
                format!("{location} is not a block of this dialect"),
                self.document,
            ));
        }
        let content = decode_block::decode(block, &self.context);
        for kind in decode_result::unparsed_kinds(block, &content) {
            let why = "results of this kind have no field for it";
            self.report.preserved(
                format!("a block of type {kind}"),
                location,
                why,
                "in its raw JSON",
            );
        }
        Ok(content)
    }
}

fn blocks_of<'a>(
    content: &'a Value,
    location: &str,
    document: &Value,
) -> Result<&'a [Value], DecodeError> {
    content
        .as_array()
        .map(Vec::as_slice)
        .ok_or_else(|| detect::wrong_shape(format!("`{location}` must be a list"), document))
}

fn object<'a>(
    item: &'a Value,
    location: &str,
    document: &Value,
) -> Result<&'a Map<String, Value>, DecodeError> {
    item.as_object()
        .ok_or_else(|| detect::wrong_shape(format!("{location} must be an object"), document))
}
