//! Encodes a history or the results of a turn with the encoder of Anthropic's Messages, and
//! converts its blocks to Converse.

use serde_json::{Map, Value, json};
use telechir_protocol::{AnsweredTurn, Content, Message, ModelTurn, ToolResult};

use super::{DIALECT, OPAQUE_PREFIX, PROVIDER, decode, decode_block, encode_block, rules};
use crate::anthropic;
use crate::bedrock::anthropic_bridge::LegalIds;
use crate::bedrock::{adapt, anthropic_bridge, detect};
use crate::{EncodeError, EncodedReply, Envelope, History, Report};

/// Encodes the results of a turn: the content blocks of the next user message.
pub(super) fn encode_results(turn: &AnsweredTurn) -> Result<EncodedReply, EncodeError> {
    let mut report = Report::default();
    let mut contents = turn.turn().contents().to_vec();
    let mut names = LegalIds::default();
    for content in &mut contents {
        convert_to_anthropic(content, &mut names, &mut report);
    }
    let turn = adapt::adapt_results(turn, adapt::S3Support::Supported, DIALECT, &mut report)?;
    let results = turn.results().iter().map(|result| {
        let mut content = result.clone().into_content();
        convert_to_anthropic(&mut content, &mut names, &mut report);
        content
    });
    let results: Vec<ToolResult> = results.filter_map(anthropic_bridge::as_result).collect();
    let answered = ModelTurn::new(contents)
        .ok()
        .and_then(|turn| turn.answer(results).ok())
        .filter(|answered| answered.without_repeated_ids().is_none())
        .ok_or_else(|| {
            rules::missing("two call ids are equal after illegal characters were replaced")
        })?;
    let reply = anthropic::encode_results(&answered)
        .map_err(|error| detect::encode_error_as(error, DIALECT))?;
    report.absorb(reply.report);
    let items: Vec<Value> = reply
        .items
        .iter()
        .flat_map(|block| encode_block::blocks(block, "a result", &mut report))
        .collect();
    rules::blocks(&items, "a result")?;
    Ok(EncodedReply { items, report })
}

/// Encodes a history.
pub(super) fn encode_history(history: &History) -> Result<(Value, Report), EncodeError> {
    let mut report = Report::default();
    let own = history.envelope.own(DIALECT);
    let mut names = LegalIds::default();
    let converted = History {
        messages: history
            .messages
            .iter()
            .enumerate()
            .map(|(at, message)| message_to_anthropic(message, at, &mut names, &mut report))
            .collect::<Result<_, _>>()?,
        envelope: match (own, &history.envelope) {
            (Some((_, rest)), _) => envelope_to_anthropic(decode::tools(rest), rest),
            (None, Envelope::Object { dialect, rest, .. }) if is_anthropic(dialect, rest) => {
                history.envelope.report_foreign(DIALECT, &mut report);
                let tools = rest.get("tools").cloned().unwrap_or_default();
                envelope_to_anthropic(tools, rest)
            }
            (None, _) if is_plain(history) => envelope_to_anthropic(json!([]), &Map::new()),
            (None, foreign) => foreign.clone(),
        },
    };
    let (written, noted) =
        anthropic::encode_history(&converted, anthropic::NEWEST_WITHOUT_TOOLSETS)
            .map_err(|error| detect::encode_error_as(error, DIALECT))?;
    report.absorb(noted);
    let written = match written {
        Value::Object(mut request) => request.shift_remove("messages").unwrap_or_default(),
        list => list,
    };
    let items = written.as_array().cloned().unwrap_or_default();
    let mut messages = Vec::new();
    for (at, item) in items.into_iter().enumerate() {
        messages.extend(from_anthropic(item, at, &mut report));
    }
    rules::messages(&messages)?;
    let value = match own {
        Some((member, rest)) => enclosed(member, rest, messages)?,
        None => messages.into(),
    };
    Ok((value, report))
}

/// Whether the history is a list of messages, not of blocks without a message.
fn is_plain(history: &History) -> bool {
    let is_bare = |message: &Message| {
        let raw = message.meta.raw_representation.as_ref();
        raw.is_some_and(|raw| raw.json().is_null())
    };
    history.envelope == Envelope::List && !history.messages.iter().any(is_bare)
}

/// An envelope with the request fields that Anthropic's encoder uses, in an API version without
/// the restrictions of the newest.
fn envelope_to_anthropic(tools: Value, rest: &Map<String, Value>) -> Envelope {
    let mut fields = Map::from_iter([
        ("anthropic_version".to_owned(), "bedrock-2023-05-31".into()),
        ("tools".to_owned(), tools),
    ]);
    let model = rest.get("modelId").or_else(|| rest.get("model"));
    fields.extend(model.map(|model| ("model".to_owned(), model.clone())));
    fields.insert("messages".to_owned(), Value::Null);
    Envelope::Object {
        dialect: anthropic::DIALECT,
        member: "messages",
        rest: fields,
    }
}

/// Whether an envelope is a request or response of Anthropic's, also as the body of InvokeModel.
fn is_anthropic(dialect: &str, rest: &Map<String, Value>) -> bool {
    dialect == anthropic::DIALECT || rest.contains_key("anthropic_version")
}

fn message_to_anthropic(
    message: &Message,
    at: usize,
    names: &mut LegalIds,
    report: &mut Report,
) -> Result<Message, EncodeError> {
    let mut message = message.clone();
    let location = format!("messages[{at}]");
    adapt::check_image_sizes(&message.contents, DIALECT, &location)?;
    adapt::adapt_contents(
        &mut message.contents,
        (
            adapt::ToolsetSupport::Unsupported,
            adapt::S3Support::Supported,
        ),
        &location,
        report,
    );
    for content in &mut message.contents {
        convert_to_anthropic(content, names, report);
    }
    match &mut message.meta.raw_representation {
        Some(raw) if raw.dialect == DIALECT => {
            anthropic::DIALECT.clone_into(&mut raw.dialect);
        }
        // Of a foreign message only the role is needed.
        Some(raw) if raw.dialect == anthropic::DIALECT => {
            *raw.json_mut() = json!({"role": raw.json().get("role")});
        }
        Some(_) | None => {}
    }
    Ok(message)
}

/// Converts a content of this dialect to one of Anthropic's.
fn convert_to_anthropic(content: &mut Content, names: &mut LegalIds, report: &mut Report) {
    names.apply(content, DIALECT, report);
    anthropic_bridge::move_unknown(content, OPAQUE_PREFIX, anthropic::DIALECT);
    anthropic_bridge::wrap_forwarded(content, OPAQUE_PREFIX);
    anthropic_bridge::each_meta(content, &mut |meta| {
        anthropic_bridge::to_anthropic(meta, PROVIDER)
    });
    let raw = content
        .meta_mut()
        .and_then(|meta| meta.raw_representation.as_mut());
    if let Some(raw) = raw.filter(|raw| raw.dialect == DIALECT) {
        anthropic::DIALECT.clone_into(&mut raw.dialect);
        *raw.json_mut() = match raw.json() {
            Value::Array(run) => run.iter().map(decode_block::block).collect(),
            one => decode_block::block(one),
        };
    }
}

/// Converts an Anthropic message, or a block without a message, to this dialect.
fn from_anthropic(mut item: Value, at: usize, report: &mut Report) -> Vec<Value> {
    let location = format!("messages[{at}]");
    if item.get("role").is_none() {
        return encode_block::blocks(&item, &location, report);
    }
    let blocks: Vec<Value> = match item.get_mut("content").map(Value::take) {
        Some(Value::String(text)) => vec![json!({"text": text})],
        Some(Value::Array(blocks)) => blocks
            .iter()
            .enumerate()
            .flat_map(|(index, block)| {
                encode_block::blocks(block, &format!("{location}.content[{index}]"), report)
            })
            .collect(),
        _ => Vec::new(),
    };
    item["content"] = blocks.into();
    vec![item]
}

fn enclosed(
    member: &str,
    rest: &Map<String, Value>,
    messages: Vec<Value>,
) -> Result<Value, EncodeError> {
    let mut all = rest.clone();
    match member {
        "messages" => {
            rules::request(rest, &messages)?;
            all.insert(member.to_owned(), messages.into());
        }
        "output" => {
            let message = messages.into_iter().next().unwrap_or_default();
            all[member]["message"] = message;
        }
        _ => {
            let message = messages.into_iter().next();
            let content =
                message.and_then(|mut message| message.get_mut("content").map(Value::take));
            all.insert(member.to_owned(), content.unwrap_or_else(|| json!([])));
        }
    }
    Ok(Value::Object(all))
}
