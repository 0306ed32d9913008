//! Anthropic's request bodies on Bedrock: `bedrock-messages` with toolsets and server-sent events,
//! `bedrock-invoke` without toolsets and with event-stream frames.
//!
//! The bodies have Anthropic's format, so raw representations are those of `anthropic-messages`
//! and contents pass between these dialects unchanged.

mod chat_api;
mod codec;
mod declare;
mod rules;
mod stream;

use serde_json::{Map, Value};
use telechir_protocol::{AnsweredTurn, Message};

use super::{adapt, detect};
use crate::anthropic;
use crate::service_rules::SAMPLING;
use crate::{EncodeError, EncodedReply, Envelope, History, Report};

pub(crate) use codec::{INVOKE_CODEC, MESSAGES_CODEC};

const MESSAGES: &str = "bedrock-messages";
const INVOKE: &str = "bedrock-invoke";

fn encode_results(turn: &AnsweredTurn, name: &'static str) -> Result<EncodedReply, EncodeError> {
    let mut report = Report::default();
    let turn = adapt::adapt_results(turn, adapt::S3Support::Unsupported, name, &mut report)?;
    let mut reply =
        anthropic::encode_results(&turn).map_err(|error| detect::encode_error_as(error, name))?;
    for item in &mut reply.items {
        rules::images(item, name)?;
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
        let supported = (toolsets, adapt::S3Support::Unsupported);
        adapt::adapt_contents(&mut message.contents, supported, &location, report);
    }
    Ok(messages)
}

fn write_messages(history: &History) -> Result<(Value, Report), EncodeError> {
    let mut report = Report::default();
    let supported = adapt::ToolsetSupport::Supported;
    let messages = adapted(history, supported, MESSAGES, &mut report)?;
    let envelope = history.envelope.clone();
    let history = History { messages, envelope };
    let (written, noted) = anthropic::encode_history(&history, anthropic::NEWEST)
        .map_err(|error| detect::encode_error_as(error, MESSAGES))?;
    report.absorb(noted);
    rules::images(&written, MESSAGES)?;
    Ok((written, report))
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
                rules::request(&rest)?;
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
    rules::images(&written, INVOKE)?;
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
