//! Anthropic's request bodies on Bedrock: `bedrock-messages` with toolsets and server-sent events,
//! `bedrock-invoke` without toolsets and with event-stream frames.
//!
//! The bodies have Anthropic's format, so raw representations are those of `anthropic-messages`
//! and contents pass between these dialects unchanged.

mod chat_api;
mod check;
mod declare;
mod stream;

use serde_json::{Map, Value};
use telechir_protocol::{AnsweredTurn, Message, ModelTurn, Size};

use super::event_stream_response::EventStreamResponse;
use super::{adapt, detect};
use crate::anthropic;
use crate::chat_api::ChatApi;
use crate::codec::Codec;
use crate::generated_images::ImagesOfModel;
use crate::stream::{SseDecoder, StreamDecoder};
use crate::{
    Declaration, DecodeError, EncodeError, EncodedReply, Envelope, History, Report, ScreenshotWhen,
    ToolOffer,
};

const MESSAGES: &str = "bedrock-messages";
const INVOKE: &str = "bedrock-invoke";

/// Request fields that the older API version accepts and the newer one rejects.
const SAMPLING: [&str; 3] = ["temperature", "top_p", "top_k"];

/// Codec of `bedrock-messages`: Anthropic's Messages API on Bedrock.
pub(crate) struct BedrockMessages;

/// Codec of `bedrock-invoke`: InvokeModel with Anthropic's request body.
pub(crate) struct BedrockInvoke;

impl Codec for BedrockMessages {
    fn name(&self) -> &'static str {
        MESSAGES
    }

    fn raw_dialect(&self) -> &'static str {
        anthropic::DIALECT
    }

    fn images_of_model(&self) -> ImagesOfModel {
        ImagesOfModel::Rejected
    }

    fn decode_response(&self, document: Value) -> Result<(ModelTurn, Report), DecodeError> {
        decode_response(&document, MESSAGES)
    }

    fn decode_history(&self, document: Value) -> Result<(History, Report), DecodeError> {
        decode_history(document, MESSAGES)
    }

    fn encode_results(&self, turn: &AnsweredTurn) -> Result<EncodedReply, EncodeError> {
        encode_results(turn, MESSAGES)
    }

    fn encode_history(&self, history: &History) -> Result<(Value, Report), EncodeError> {
        let mut report = Report::default();
        let messages = adapted(
            history,
            adapt::ToolsetSupport::Supported,
            MESSAGES,
            &mut report,
        )?;
        let envelope = history.envelope.clone();
        let history = History { messages, envelope };
        let (written, noted) = anthropic::encode_history(&history, anthropic::NEWEST)
            .map_err(|error| detect::encode_error_as(error, MESSAGES))?;
        report.absorb(noted);
        check::images(&written, MESSAGES)?;
        Ok((written, report))
    }

    fn declare(&self, offer: &ToolOffer) -> Result<(Declaration, Report), EncodeError> {
        let offer = declare::relabel_raw_tools(offer, MESSAGES);
        anthropic::declare(&offer, anthropic::NEWEST)
            .map_err(|error| detect::encode_error_as(error, MESSAGES))
    }

    fn screenshot_size(&self, model: Option<&str>, size: Size) -> Size {
        anthropic::screenshot_size(model, size)
    }

    fn max_image_base64(&self) -> usize {
        super::MAX_IMAGE_BASE64_BYTES
    }

    /// The image blocks of the Messages API.
    fn accepts_webp(&self) -> bool {
        true
    }

    fn screenshot_when(&self) -> ScreenshotWhen {
        ScreenshotWhen::LastOfBatch
    }

    fn stream_decoder(&self) -> Option<Box<dyn StreamDecoder>> {
        Some(Box::new(SseDecoder::new(
            anthropic::AnthropicMessageBuilder::default(),
        )))
    }

    fn chat_api(&self) -> Option<&'static dyn ChatApi> {
        Some(&chat_api::BedrockMessagesChat)
    }
}

impl Codec for BedrockInvoke {
    fn name(&self) -> &'static str {
        INVOKE
    }

    fn raw_dialect(&self) -> &'static str {
        anthropic::DIALECT
    }

    fn images_of_model(&self) -> ImagesOfModel {
        ImagesOfModel::Rejected
    }

    fn decode_response(&self, document: Value) -> Result<(ModelTurn, Report), DecodeError> {
        decode_response(&document, INVOKE)
    }

    fn decode_history(&self, document: Value) -> Result<(History, Report), DecodeError> {
        let (mut history, report) = decode_history(document, INVOKE)?;
        if let Envelope::Object { dialect, .. } = &mut history.envelope {
            *dialect = INVOKE;
        }
        Ok((history, report))
    }

    fn encode_results(&self, turn: &AnsweredTurn) -> Result<EncodedReply, EncodeError> {
        encode_results(turn, INVOKE)
    }

    fn encode_history(&self, history: &History) -> Result<(Value, Report), EncodeError> {
        write_invoke(history)
    }

    fn declare(&self, offer: &ToolOffer) -> Result<(Declaration, Report), EncodeError> {
        declare::invoke(offer)
    }

    fn screenshot_size(&self, model: Option<&str>, size: Size) -> Size {
        anthropic::screenshot_size(model, size)
    }

    fn max_image_base64(&self) -> usize {
        super::MAX_IMAGE_BASE64_BYTES
    }

    /// The image blocks of the Messages API.
    fn accepts_webp(&self) -> bool {
        true
    }

    fn screenshot_when(&self) -> ScreenshotWhen {
        ScreenshotWhen::LastOfBatch
    }

    fn stream_decoder(&self) -> Option<Box<dyn StreamDecoder>> {
        Some(Box::new(EventStreamResponse::new(
            stream::InvokeResponseBuilder::default(),
        )))
    }

    fn chat_api(&self) -> Option<&'static dyn ChatApi> {
        Some(&chat_api::InvokeChat)
    }
}

fn decode_response(
    document: &Value,
    name: &'static str,
) -> Result<(ModelTurn, Report), DecodeError> {
    detect::reject_error_body(document)?;
    anthropic::decode_response(document).map_err(|error| detect::decode_error_as(error, name))
}

fn decode_history(document: Value, name: &'static str) -> Result<(History, Report), DecodeError> {
    detect::reject_error_body(&document)?;
    anthropic::decode_history(document).map_err(|error| detect::decode_error_as(error, name))
}

fn encode_results(turn: &AnsweredTurn, name: &'static str) -> Result<EncodedReply, EncodeError> {
    let mut report = Report::default();
    let turn = adapt::adapt_results(turn, name, &mut report)?;
    let mut reply =
        anthropic::encode_results(&turn).map_err(|error| detect::encode_error_as(error, name))?;
    for item in &mut reply.items {
        check::images(item, name)?;
        if name == INVOKE {
            without_transformations(item);
            without_toolset(item);
        }
    }
    report.absorb(reply.report);
    let items = reply.items;
    Ok(EncodedReply { items, report })
}

fn adapted(
    history: &History,
    toolsets: adapt::ToolsetSupport,
    name: &'static str,
    report: &mut Report,
) -> Result<Vec<Message>, EncodeError> {
    let mut messages = history.messages.clone();
    for (at, message) in messages.iter_mut().enumerate() {
        let location = format!("messages[{at}]");
        adapt::check_image_sizes(&message.contents, name, &location)?;
        adapt::adapt_contents(&mut message.contents, toolsets, &location, report);
    }
    Ok(messages)
}

fn write_invoke(history: &History) -> Result<(Value, Report), EncodeError> {
    let mut report = Report::default();
    let messages = adapted(
        history,
        adapt::ToolsetSupport::Unsupported,
        INVOKE,
        &mut report,
    )?;
    let mut aside = Map::new();
    let envelope = match &history.envelope {
        Envelope::Object {
            dialect: INVOKE,
            member,
            rest,
        } => {
            let mut rest = rest.clone();
            if *member == "messages" {
                check::request(&rest)?;
                for name in SAMPLING {
                    aside.extend(rest.shift_remove_entry(name));
                }
            }
            Envelope::Object {
                dialect: anthropic::DIALECT,
                member,
                rest,
            }
        }
        Envelope::Object { member, rest, .. } => Envelope::Object {
            dialect: "another dialect",
            member,
            rest: rest.clone(),
        },
        Envelope::List => Envelope::List,
    };
    let history = History { messages, envelope };
    let (mut written, noted) =
        anthropic::encode_history(&history, anthropic::NEWEST_WITHOUT_TOOLSETS)
            .map_err(|error| detect::encode_error_as(error, INVOKE))?;
    report.absorb(noted);
    check::images(&written, INVOKE)?;
    without_transformations(&mut written);
    if let Some(request) = written.as_object_mut() {
        request.extend(aside);
    }
    Ok((written, report))
}

/// Removes the toolset of a result whose call is from another dialect.
fn without_toolset(result: &mut Value) {
    if let Some(result) = result.as_object_mut() {
        result.shift_remove("toolset_name");
    }
}

/// Removes `transformations`: the older API version shrinks large images by itself.
fn without_transformations(value: &mut Value) {
    match value {
        Value::Object(members) => {
            if members.get("type").and_then(Value::as_str) == Some("image") {
                members.shift_remove("transformations");
            }
            for name in ["messages", "content"] {
                if let Some(inner) = members.get_mut(name) {
                    without_transformations(inner);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(without_transformations),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
