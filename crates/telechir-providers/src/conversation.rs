//! A conversation in the form that a provider's API expects: its items so far and the next request.
//!
//! Pure: builds bodies and headers and decodes responses; knows neither the network nor API keys.

use std::fmt;

use serde_json::Value;
use telechir_protocol::{AnsweredTurn, Content, ModelTurn, UsageContent, json_limits};

use crate::chat_api::ChatApi;
use crate::history::trim;
use crate::{
    DecodeError, Dialect, EncodeError, Report, Request, RequestOptions, ResponseStream, StopReason,
    StreamError, repeated_calls,
};

/// A decoded response of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// The calls and other contents.
    pub turn: ModelTurn,
    /// What could not be decoded exactly.
    pub report: Report,
    /// Why the response ended, which decides what to do next.
    pub stop: StopReason,
    /// The tokens used, as far as the provider reports them.
    pub usage: UsageContent,
    /// The provider's JSON, from which [`Conversation::push_response`] makes the same again.
    pub body: Value,
}

impl Response {
    /// All non-empty texts of the response, joined by line feeds.
    pub fn text(&self) -> String {
        let texts = self.turn.contents().iter().filter_map(|content| {
            let Content::Text(text) = content else {
                return None;
            };
            Some(text.text.as_str())
        });
        texts
            .filter(|text| !text.is_empty())
            .collect::<Vec<_>>()
            .join("\n")
    }
}

/// The dialect has no API to converse with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("start a conversation with {dialect}: it is a format without an API endpoint")]
pub struct NotAService {
    /// The dialect that was requested.
    pub dialect: Dialect,
}

/// A conversation as the items that the provider expects.
#[derive(Clone)]
pub struct Conversation {
    dialect: Dialect,
    chat_api: &'static dyn ChatApi,
    options: RequestOptions,
    items: Vec<Value>,
    /// The user's messages after the task.
    messages: Vec<String>,
}

impl Conversation {
    /// Starts a conversation that contains the task only.
    ///
    /// # Errors
    /// If the dialect is a format without an API endpoint.
    pub fn new(dialect: Dialect, options: RequestOptions) -> Result<Self, NotAService> {
        let chat_api = dialect.codec().chat_api.ok_or(NotAService { dialect })?;
        let task = chat_api.first_message(&options.task);
        Ok(Self {
            dialect,
            chat_api,
            options,
            items: vec![task],
            messages: Vec::new(),
        })
    }

    /// The name and value of the header that carries the API key.
    pub fn key_header(&self, key: &str) -> (&'static str, String) {
        self.chat_api.key_header(key)
    }

    /// Builds the next request. Removes old images and turns from the conversation.
    pub fn request(&mut self) -> Request {
        self.remove_old_turns();
        self.chat_api.request(&self.options, &mut self.items)
    }

    /// Makes a request ask for its response as a stream, which [`Dialect::stream`] decodes.
    pub fn ask_for_stream(&self, request: &mut Request) {
        self.chat_api.stream(request);
    }

    /// Decodes the response to the last request and adds it to the conversation. A call that repeats
    /// an id gets another one where the service accepts one result per id; it is not executed.
    ///
    /// # Errors
    /// If the body is not JSON, not of this dialect, or has a call without an id.
    pub fn push_response(&mut self, bytes: &[u8]) -> Result<Response, DecodeError> {
        let body: Value = json_limits::parse(bytes)?;
        self.push_body(body, Report::default())
    }

    /// As [`Self::push_response`], with a response that arrived as a stream.
    ///
    /// # Errors
    /// If the stream is incomplete, or its response is not of this dialect or has a call without an
    /// id.
    pub fn push_stream(&mut self, stream: ResponseStream) -> Result<Response, StreamError> {
        let (body, rounded) = stream.into_response()?;
        Ok(self.push_body(body, rounded)?)
    }

    /// Adds a response; `rounded` is what changed when its JSON was read.
    fn push_body(&mut self, mut body: Value, rounded: Report) -> Result<Response, DecodeError> {
        if let Some(stop) = self.chat_api.failure(&body) {
            return Ok(Response {
                turn: ModelTurn::new(Vec::new())?,
                report: Report::default(),
                stop,
                usage: UsageContent::default(),
                body,
            });
        }
        let (mut turn, mut report) = self.dialect.decode_turn(body.clone())?;
        if !self.dialect.codec().accepts_results_of_one_id {
            turn = repeated_calls::rename(turn, &mut body, &mut report)?;
        }
        report.absorb(rounded);
        let has_calls = !turn.calls().is_empty();
        let stop = self
            .chat_api
            .push_response(&body, has_calls, &mut self.items);
        Ok(Response {
            usage: usage(&turn),
            turn,
            report,
            stop,
            body,
        })
    }

    /// Adds a message of the user, after a response or after the results of its calls.
    pub fn push_message(&mut self, text: &str) {
        self.messages.push(text.to_owned());
        self.chat_api.push_message(text, &mut self.items);
    }

    /// Removes turns above the limit. Messages of the user among them move to the task.
    fn remove_old_turns(&mut self) {
        let Some(max_tokens) = self.options.max_history_tokens else {
            return;
        };
        let chat_api = self.chat_api;
        let is_inserted = |item: &Value| chat_api.is_inserted(item);
        if trim::trim(&mut self.items, max_tokens, is_inserted).is_empty() {
            return;
        }
        let left = self.items.get(1..).unwrap_or_default();
        let is_left = |message: &String| {
            left.iter()
                .any(|item| trim::has_text(item, &|text| text == message))
        };
        let removed = self.messages.iter().filter(|message| !is_left(message));
        let texts: Vec<&str> = std::iter::once(&self.options.task)
            .chain(removed)
            .map(String::as_str)
            .chain([trim::REMOVED_TURNS_NOTE])
            .collect();
        self.items[0] = self.chat_api.first_message(&texts.join("\n\n"));
    }

    /// Encodes the results of the last response's calls and adds them to the conversation.
    ///
    /// # Errors
    /// If the results lack something that the dialect requires.
    pub fn push_results(&mut self, answered: &AnsweredTurn) -> Result<Report, EncodeError> {
        let reply = self.dialect.encode_results(answered)?;
        self.chat_api.push_results(reply.items, &mut self.items);
        Ok(reply.report)
    }
}

/// The tokens of a response; their sum if the provider states none.
fn usage(turn: &ModelTurn) -> UsageContent {
    let usage = turn.contents().iter().find_map(|content| {
        let Content::Usage(usage) = content else {
            return None;
        };
        Some(usage)
    });
    let Some(usage) = usage else {
        return UsageContent::default();
    };
    let (input, output) = (usage.input_token_count, usage.output_token_count);
    let sum = input.zip(output);
    let sum = sum.map(|(input, output)| input.saturating_add(output));
    UsageContent {
        input_token_count: input,
        output_token_count: output,
        total_token_count: usage.total_token_count.or(sum),
        ..UsageContent::default()
    }
}

impl fmt::Debug for Conversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversation")
            .field("dialect", &self.dialect)
            .field("options", &self.options)
            .field("items", &self.items)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
