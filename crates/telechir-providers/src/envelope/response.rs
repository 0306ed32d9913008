//! Translates a response: its contents by the dialects' codecs, and what stands around them.

mod build;
mod time;

use serde_json::Value;
use telechir_protocol::{Content, Message, ModelTurn, Role};

use super::api::Api;
use super::finish::{self, Finish};
use super::members::{Members, name_at};
use super::usage::{self, Usage};
use super::{ThinkingTranslation, TranslatedDocument, TranslationError, TranslationOptions};
use crate::{Dialect, EncodeError, Envelope, History, Report};
use time::CreationTime;

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
    created: Option<CreationTime>,
    finish: Finish,
    /// Whether another provider's word for `finish` says all that this one's says.
    is_finish_exact: bool,
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
    let messages = messages(from, &document);
    let head = read_head(from, document, options, &mut report);
    Ok(write(to, head, &turn, &messages, options, report)?)
}

/// The messages of a response with their original JSON, which a turn does not have.
pub(super) fn messages(from: Dialect, response: &Value) -> Vec<Message> {
    let decoded = from.decode_history(response.to_string());
    decoded.map_or_else(|_| Vec::new(), |(history, _)| history.messages)
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
    /// The contents, and the position of the first answer.
    contents: &'static [&'static str],
    /// Members with fixed values.
    constants: &'static [(&'static str, &'static str)],
}

fn pointers(api: Api) -> HeadPointers {
    type Constants = &'static [(&'static str, &'static str)];
    let (id, model, created, finish, contents, constants): (_, _, _, _, &[&str], Constants) =
        match api {
            Api::Anthropic | Api::Invoke => (
                "/id",
                "/model",
                "",
                "/stop_reason",
                &["/content"],
                &[("/type", "message"), ("/role", "assistant")],
            ),
            Api::Responses => (
                "/id",
                "/model",
                "/created_at",
                "/status",
                &["/output"],
                &[("/object", "response")],
            ),
            Api::Converse => ("", "", "", "/stopReason", &["/output/message"], &[]),
            Api::Generate => (
                "/responseId",
                "/modelVersion",
                "/createTime",
                "/candidates/0/finishReason",
                &["/candidates/0/content"],
                &[],
            ),
            Api::Interactions => (
                "/id",
                "/model",
                "/created",
                "/status",
                &["/steps"],
                &[("/object", "interaction"), ("/role", "model")],
            ),
            Api::Chat | Api::Mistral => (
                "/id",
                "/model",
                "/created",
                "/choices/0/finish_reason",
                &["/choices/0/message", "/choices/0/messages"],
                &[("/object", "chat.completion")],
            ),
            Api::Conversations => (
                "/conversation_id",
                "",
                "",
                "",
                &["/outputs"],
                &[("/object", "conversation.response")],
            ),
            Api::Framework => (
                "/response_id",
                "/model_id",
                "/created_at",
                "/finish_reason",
                &["/messages"],
                &[("/type", "chat_response")],
            ),
            Api::Agents => (
                "",
                "",
                "",
                "",
                &["/completion", "/returnControl", "/invocationInputs"],
                &[],
            ),
        };
    HeadPointers {
        id,
        model,
        created,
        finish,
        contents,
        constants,
    }
}

/// The positions of the first answer, which say nothing.
const INDEXES: [&str; 2] = ["/choices/0/index", "/candidates/0/index"];

/// Reads what stands around the contents, and reports what no target has.
fn read(api: Api, document: Value, report: &mut Report) -> ResponseHead {
    if document.is_array() {
        return ResponseHead {
            id: None,
            model: None,
            is_model_mapped: false,
            pointers: [""; 3],
            created: None,
            finish: Finish::Stop,
            is_finish_exact: true,
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
        created: None,
        finish: Finish::Stop,
        is_finish_exact: true,
        word: String::new(),
        word_pointer: at.finish,
        detail: None,
        usage: usage::read(api, &mut members),
    };
    if let Some(created) = members.get(at.created).and_then(CreationTime::read) {
        members.take(at.created);
        head.created = Some(created);
    }
    read_end(api, &mut head, &mut members);
    for pointer in at.contents {
        members.take(pointer);
    }
    for (pointer, value) in at.constants {
        members.take_constant(pointer, &[value]);
    }
    for pointer in INDEXES {
        members.take_understood(pointer, &|_, value| *value == 0);
    }
    details(api, &mut head, &mut members);
    for pointer in members.left() {
        // The decoder reports further choices itself.
        let list = ["/choices/", "/candidates/"];
        let mut in_list = list.iter().filter_map(|list| pointer.strip_prefix(list));
        if in_list.any(|rest| !rest.starts_with("0/")) {
            continue;
        }
        let why = "the target's response has no such member";
        report.lost(name_at(&pointer), pointer, why);
    }
    head
}

/// Reads the word for the end. A reason beside the status says more than the status.
fn read_end(api: Api, head: &mut ResponseHead, members: &mut Members) {
    const REASON: &str = "/incomplete_details/reason";
    if api == Api::Responses && members.text(REASON).is_some() {
        members.take_constant(head.word_pointer, &["incomplete"]);
        head.word_pointer = REASON;
    }
    let word = members.take_text(head.word_pointer);
    let Some(word) = word.filter(|word| !word.is_empty()) else {
        return;
    };
    (head.finish, head.is_finish_exact) = finish::read(api, &word);
    head.word = word;
}

/// Reads the reasons that stand beside the word for the end.
fn details(api: Api, head: &mut ResponseHead, members: &mut Members) {
    match api {
        Api::Anthropic | Api::Invoke => {
            if head.finish == Finish::StopSequence {
                head.detail = members.take_text("/stop_sequence");
            } else {
                members.take_constant("/stop_details/type", &["refusal"]);
                head.detail = members.take_text("/stop_details/explanation");
            }
        }
        Api::Generate => {
            head.detail = members.take_text("/candidates/0/finishMessage");
            if let Some(reason) = members.take_text("/promptFeedback/blockReason") {
                head.finish = Finish::ContentFilter;
                head.is_finish_exact = false;
                head.word = reason;
                head.word_pointer = "/promptFeedback/blockReason";
                head.detail = members.take_text("/promptFeedback/blockReasonMessage");
            }
        }
        _ => {}
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

/// Writes the response of another provider. What it lacks of `messages`, which the turn was decoded
/// from, is reported.
pub(super) fn write(
    to: Dialect,
    mut head: ResponseHead,
    turn: &ModelTurn,
    messages: &[Message],
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
    to.report_unwritten(messages, &document, &mut report);
    Ok(TranslatedDocument {
        document,
        report,
        ..TranslatedDocument::default()
    })
}
