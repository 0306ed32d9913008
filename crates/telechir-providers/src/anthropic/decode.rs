//! Decodes a response into a turn, and requests, lists and responses into a history.

use serde_json::{Map, Value};
use telechir_protocol::{
    Content, ErrorContent, Message, Meta, ModelTurn, Raw, Role, TextContent, UsageContent,
};

use super::context::BlockContext;
use super::decode_block;
use super::{DIALECT, PROVIDER, decode_call, decode_result, detect, split_calls};
use crate::json::text;
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
    let Some(blocks) = content.as_array() else {
        return Err(detect::wrong_shape("`content` must be a list", value));
    };
    for (at, block) in blocks.iter().enumerate() {
        if !block.is_object() {
            let problem = format!("content[{at}] must be an object");
            return Err(detect::wrong_shape(problem, value));
        }
        let content = decode_block::decode_with_raw(&Raw::new(DIALECT, block.clone()), &context);
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
pub(crate) fn decode_history(value: Value) -> Result<(History, Report), DecodeError> {
    if let Some(error) = detect::provider_error(&value) {
        return Err(error);
    }
    let mut decoder = AnthropicHistoryDecoder {
        context: BlockContext::default(),
        report: Report::default(),
        looks_like: detect::guess_dialect(&value),
    };
    let history = match value {
        Value::Array(items) => decoder.list(items)?,
        Value::Object(mut all) => {
            let is_message = all.contains_key("content") && all.contains_key("role");
            match all.get_mut("messages") {
                Some(Value::Array(items)) => {
                    let items = std::mem::take(items);
                    decoder.context = BlockContext::of_request(&all);
                    let messages = decoder.messages(items, "messages")?;
                    History {
                        messages,
                        envelope: envelope(all, "messages"),
                    }
                }
                None if is_message => {
                    let content = all.get_mut("content").map(Value::take);
                    let envelope = envelope(all.clone(), "content");
                    let content = content.unwrap_or_default();
                    let message = decoder.message(all, content, "the message")?;
                    History {
                        messages: vec![message],
                        envelope,
                    }
                }
                _ => return Err(decoder.wrong_shape("expected `messages` or `content`")),
            }
        }
        _ => return Err(decoder.wrong_shape("expected an object or a list")),
    };
    Ok((history, decoder.report))
}

fn envelope(mut rest: Map<String, Value>, member: &'static str) -> Envelope {
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

/// Decodes a history. Takes the blocks out of the document, because images are long.
struct AnthropicHistoryDecoder {
    context: BlockContext,
    report: Report,
    /// The dialect that the document looks like, for errors.
    looks_like: Option<&'static str>,
}

impl AnthropicHistoryDecoder {
    fn wrong_shape(&self, problem: impl Into<String>) -> DecodeError {
        detect::wrong_shape_like(problem, self.looks_like)
    }

    fn list(&mut self, items: Vec<Value>) -> Result<History, DecodeError> {
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
            return Err(self.wrong_shape("expected messages with a role and content"));
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

    fn messages(&mut self, items: Vec<Value>, location: &str) -> Result<Vec<Message>, DecodeError> {
        let mut messages = Vec::new();
        for (at, item) in items.into_iter().enumerate() {
            let location = format!("{location}[{at}]");
            let Value::Object(mut item) = item else {
                return Err(self.wrong_shape(format!("{location} must be an object")));
            };
            let content = item.get_mut("content").map(Value::take);
            messages.push(self.message(item, content.unwrap_or_default(), &location)?);
        }
        Ok(messages)
    }

    /// Decodes a message from its content and the fields around it.
    fn message(
        &mut self,
        mut around: Map<String, Value>,
        content: Value,
        location: &str,
    ) -> Result<Message, DecodeError> {
        let wrong = |problem: &str| Err(self.wrong_shape(format!("{location} {problem}")));
        let role = match text(&around, "role") {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            Some("system") => Role::System,
            Some(_) => return wrong("has an unknown role; expected user, assistant or system"),
            None => return wrong("has no `role`"),
        };
        let contents = match content {
            Value::String(text) => vec![string_content(&text)],
            Value::Array(blocks) => self.contents(blocks, &format!("{location}.content"))?,
            _ => return wrong("needs `content` as a string or a list of blocks"),
        };
        around.insert("content".to_owned(), Value::Null);
        let mut message = Message::new(role, contents);
        let raw = Raw::new(DIALECT, Value::Object(around));
        message.meta.raw_representation = Some(raw);
        Ok(message)
    }

    fn contents(
        &mut self,
        blocks: Vec<Value>,
        location: &str,
    ) -> Result<Vec<Content>, DecodeError> {
        let mut contents = Vec::new();
        let mut at = 0;
        let mut blocks = blocks.into_iter();
        while !blocks.as_slice().is_empty() {
            let length = split_calls::run_length(blocks.as_slice());
            let mut run: Vec<Value> = blocks.by_ref().take(length).collect();
            let joined_raw = (length > 1).then(|| Raw::new(DIALECT, Value::Array(run.clone())));
            let mut singles = Vec::new();
            for block in run.drain(..) {
                singles.push(self.block(block, &format!("{location}[{at}]"))?);
                at += 1;
            }
            for single in &singles {
                self.context.note(single);
            }
            match joined_raw.and_then(|joined_raw| split_calls::join(&joined_raw, &self.context)) {
                Some(joined) => {
                    self.context.note(&joined);
                    contents.push(joined);
                }
                None => contents.extend(singles),
            }
        }
        Ok(contents)
    }

    fn block(&mut self, block: Value, location: &str) -> Result<Content, DecodeError> {
        let raw = Raw::new(DIALECT, block);
        let Some(block) = raw.json().as_object() else {
            return Err(self.wrong_shape(format!("{location} must be an object")));
        };
        if detect::is_openai(block) {
            let problem = format!("{location} is not a block of this dialect");
            return Err(self.wrong_shape(problem));
        }
        let content = decode_block::decode_with_raw(&raw, &self.context);
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
