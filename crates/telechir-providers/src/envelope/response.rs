//! Translates a response: its contents by the dialects' codecs, and what stands around them.

mod build;
mod time;

use serde_json::Value;
use telechir_protocol::{Content, Message, ModelTurn, Role};

use super::api::Api;
use super::finish::{self, Finish};
use super::members::Members;
use super::usage::{self, Usage};
use super::{ThinkingTranslation, TranslatedDocument, TranslationError, TranslationOptions};
use crate::{Dialect, EncodeError, Envelope, History, Report};

/// The id of a response whose source has none.
pub(super) const NO_ID: &str = "translated";

/// What stands around the contents of a response.
#[derive(Clone, Debug)]
pub(super) struct ResponseHead {
    id: Option<String>,
    model: Option<String>,
    is_model_mapped: bool,
    /// Where the id, the model and the time stood.
    pointers: [&'static str; 3],
    /// Seconds since 1970.
    created: Option<u64>,
    finish: Finish,
    /// The provider's own word for the end, and where it stood.
    word: String,
    word_pointer: &'static str,
    /// Why the model refused, or the text that ended the response.
    detail: Option<String>,
    usage: Option<Usage>,
}

pub(super) fn translate(
    from: Dialect,
    to: Dialect,
    document: Value,
    options: &TranslationOptions,
) -> Result<TranslatedDocument, TranslationError> {
    let mut report = Report::default();
    let (turn, decoding) = from.decode_response(document.to_string())?;
    report.absorb(decoding);
    let head = read_head(from, document, options, &mut report);
    Ok(write(to, head, &turn, options, report)?)
}

/// Reads what stands around the contents, with the model's name mapped.
pub(super) fn read_head(
    from: Dialect,
    document: Value,
    options: &TranslationOptions,
    report: &mut Report,
) -> ResponseHead {
    let mut head = read(Api::of(from), document, report);
    map_model(&mut head, options);
    head
}

fn map_model(head: &mut ResponseHead, options: &TranslationOptions) {
    let name = head.model.as_ref();
    let mapped = name.and_then(|name| options.models.get(name));
    if let Some(mapped) = mapped.or(options.model.as_ref()) {
        head.model = Some(mapped.clone());
        head.is_model_mapped = true;
    }
}

struct HeadPointers {
    id: &'static str,
    model: &'static str,
    created: &'static str,
    finish: &'static str,
    /// Members with fixed values, and the contents.
    known: &'static [&'static str],
}

fn pointers(api: Api) -> HeadPointers {
    let (id, model, created, finish, known): (_, _, _, _, &[&str]) = match api {
        Api::Anthropic | Api::Invoke => (
            "/id",
            "/model",
            "",
            "/stop_reason",
            &["/type", "/role", "/content"],
        ),
        Api::Responses => (
            "/id",
            "/model",
            "/created_at",
            "/status",
            &["/object", "/output"],
        ),
        Api::Converse => ("", "", "", "/stopReason", &["/output"]),
        Api::Generate => (
            "/responseId",
            "/modelVersion",
            "/createTime",
            "/candidates/0/finishReason",
            &["/candidates/0/content", "/candidates/0/index"],
        ),
        Api::Interactions => (
            "/id",
            "/model",
            "/created",
            "/status",
            &["/object", "/steps", "/role"],
        ),
        Api::Chat | Api::Mistral => (
            "/id",
            "/model",
            "/created",
            "/choices/0/finish_reason",
            &[
                "/object",
                "/choices/0/message",
                "/choices/0/messages",
                "/choices/0/index",
            ],
        ),
        Api::Conversations => ("/conversation_id", "", "", "", &["/object", "/outputs"]),
        Api::Framework => (
            "/response_id",
            "/model_id",
            "/created_at",
            "/finish_reason",
            &["/type", "/messages"],
        ),
        Api::Agents => ("", "", "", "", &["/completion", "/returnControl"]),
    };
    HeadPointers {
        id,
        model,
        created,
        finish,
        known,
    }
}

/// Reads what stands around the contents, and reports what no target has.
fn read(api: Api, document: Value, report: &mut Report) -> ResponseHead {
    if matches!(api, Api::Agents) || document.is_array() {
        return ResponseHead {
            id: None,
            model: None,
            is_model_mapped: false,
            pointers: [""; 3],
            created: None,
            finish: Finish::Stop,
            word: String::new(),
            word_pointer: "",
            detail: None,
            usage: None,
        };
    }
    let mut members = Members::new(document);
    let at = pointers(api);
    let mut head = ResponseHead {
        id: members.take_text(at.id).filter(|id| !id.is_empty()),
        model: members.take_text(at.model),
        is_model_mapped: false,
        pointers: [at.id, at.model, at.created],
        created: members.take(at.created).as_ref().and_then(time::read),
        finish: Finish::Stop,
        word: members.take_text(at.finish).unwrap_or_default(),
        word_pointer: at.finish,
        detail: None,
        usage: usage::read(api, &mut members),
    };
    if !head.word.is_empty() {
        head.finish = finish::read(api, &head.word);
    }
    for pointer in at.known {
        members.take(pointer);
    }
    details(api, &mut head, &mut members);
    left_in_lists(&members, report);
    for pointer in members.left() {
        if matches!(pointer.as_str(), "/choices" | "/candidates") {
            continue;
        }
        let name = pointer.rsplit('/').next().unwrap_or_default().to_owned();
        let why = "the target's response has no such member";
        report.lost(format!("`{name}`"), pointer, why);
    }
    head
}

/// Reads the reasons that stand beside the word for the end.
fn details(api: Api, head: &mut ResponseHead, members: &mut Members) {
    match api {
        Api::Anthropic | Api::Invoke => {
            members.take("/stop_details/type");
            head.detail = members.take_text("/stop_details/explanation");
            if head.finish == Finish::StopSequence {
                head.detail = members.take_text("/stop_sequence");
            }
        }
        Api::Responses => {
            if let Some(reason) = members.take_text("/incomplete_details/reason") {
                head.finish = finish::read(api, &reason);
                head.word = reason;
                head.word_pointer = "/incomplete_details/reason";
            }
        }
        Api::Generate => {
            head.detail = members.take_text("/candidates/0/finishMessage");
            if let Some(reason) = members.take_text("/promptFeedback/blockReason") {
                head.finish = Finish::ContentFilter;
                head.word = reason;
                head.word_pointer = "/promptFeedback/blockReason";
                head.detail = members.take_text("/promptFeedback/blockReasonMessage");
            }
        }
        _ => {}
    }
}

/// Reports what else is in the choice or candidate.
fn left_in_lists(members: &Members, report: &mut Report) {
    for list in ["/choices", "/candidates"] {
        let items = members.get(list).and_then(Value::as_array);
        for (at, item) in items.into_iter().flatten().enumerate() {
            let pointer = format!("{list}/{at}");
            let why = "the target's response has no such member";
            for (name, value) in item.as_object().into_iter().flatten() {
                let is_empty = value.as_array().is_some_and(Vec::is_empty) || value.is_null();
                // The decoder reports further choices itself.
                if !is_empty && at == 0 {
                    report.lost(format!("`{name}`"), format!("{pointer}/{name}"), why);
                }
            }
        }
    }
}

/// The contents of a turn without those that the decoder made of the head.
fn contents(turn: &ModelTurn) -> Vec<Content> {
    let is_content = |content: &&Content| match content {
        Content::Usage(_) => false,
        Content::Error(error) => error.meta.raw_representation.is_some(),
        _ => true,
    };
    turn.contents().iter().filter(is_content).cloned().collect()
}

/// Writes the response of another provider.
pub(super) fn write(
    to: Dialect,
    mut head: ResponseHead,
    turn: &ModelTurn,
    options: &TranslationOptions,
    mut report: Report,
) -> Result<TranslatedDocument, EncodeError> {
    if head.finish == Finish::Stop && turn.calls().iter().any(|call| call.call_id().is_some()) {
        head.finish = Finish::Calls;
    }
    let mut history = History {
        messages: vec![Message::new(Role::Assistant, contents(turn))],
        envelope: Envelope::List,
    };
    if options.thinking == ThinkingTranslation::Text {
        history.thinking_to_text(to, &mut report);
    }
    let (items, losses) = to.encode_history(&history)?;
    report.absorb(losses);
    let items = match items {
        Value::Array(items) => items,
        Value::Null => Vec::new(),
        one => vec![one],
    };
    let document = build::response(Api::of(to), &head, items, &mut report);
    Ok(TranslatedDocument {
        document,
        report,
        ..TranslatedDocument::default()
    })
}
