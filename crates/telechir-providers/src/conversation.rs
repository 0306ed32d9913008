//! A conversation in the form that a provider's API expects: its items so far and the next request.
//!
//! Pure: builds bodies and headers and decodes responses; knows neither the network nor API keys.

use std::fmt;

use serde_json::Value;
use telechir_protocol::{AnsweredTurn, Content, ModelTurn, UsageContent, json_limits};

use crate::chat_api::ChatApi;
use crate::{DecodeError, Dialect, EncodeError, Report, Request, RequestOptions, StopReason};

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
}

impl Conversation {
    /// Starts a conversation that contains the task only.
    ///
    /// # Errors
    /// If the dialect is a format without an API endpoint.
    pub fn new(dialect: Dialect, options: RequestOptions) -> Result<Self, NotAService> {
        let chat_api = dialect.codec().chat_api().ok_or(NotAService { dialect })?;
        let task = chat_api.first_message(&options.task);
        Ok(Self {
            dialect,
            chat_api,
            options,
            items: vec![task],
        })
    }

    /// The name and value of the header that carries the API key.
    pub fn key_header(&self, key: &str) -> (&'static str, String) {
        self.chat_api.key_header(key)
    }

    /// Builds the next request. Removes old images from the conversation.
    pub fn request(&mut self) -> Request {
        self.chat_api.request(&self.options, &mut self.items)
    }

    /// Decodes the response to the last request and adds it to the conversation.
    ///
    /// # Errors
    /// If the body is not JSON, not of this dialect, or repeats a call id.
    pub fn push_response(&mut self, bytes: &[u8]) -> Result<Response, DecodeError> {
        let body: Value = json_limits::parse(bytes)?;
        if let Some(stop) = self.chat_api.failure(&body) {
            return Ok(Response {
                turn: ModelTurn::new(Vec::new())?,
                report: Report::default(),
                stop,
                usage: UsageContent::default(),
            });
        }
        let (turn, report) = self.dialect.codec().decode_response(body.clone())?;
        let has_calls = !turn.calls().is_empty();
        let (stop, usage) = self
            .chat_api
            .push_response(&body, has_calls, &mut self.items);
        Ok(Response {
            turn,
            report,
            stop,
            usage,
        })
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
