//! Encodes the results of a turn: one tool message per call in call order, then their images.

use serde_json::json;
use telechir_protocol::{AnsweredTurn, CallId, Content, Message, Role};

use super::Flavour;
use super::call;
use super::content_list::{self, CONTENT_LIST};
use super::decode::{LEGACY_ROLE, MEMBERS};
use super::encode::MessageWriter;
use super::ollama;
use crate::{EncodedReply, fallback_tools};

/// Encodes the results of a turn.
pub(super) fn encode_results(flavour: Flavour, turn: &AnsweredTurn) -> EncodedReply {
    let mut writer = MessageWriter::new(flavour);
    let pairs: Vec<_> = turn
        .pairs()
        .map(|(call, result)| (call.into_content(), result))
        .collect();
    for (content, result) in &pairs {
        let id = result.call_id().map_or("", CallId::as_str).to_owned();
        if content
            .meta()
            .is_some_and(|meta| call::has_no_id(flavour, meta))
        {
            writer.note_without_id(&id);
        }
        writer.remember(content, id);
    }
    for (content, result) in &pairs {
        let mut message = Message::new(Role::Tool, Vec::new());
        if call::is_legacy(flavour, content) {
            message
                .meta
                .set_property(flavour.provider(), LEGACY_ROLE, true.into());
        }
        if let Some(name) = ollama::function_name(flavour, content) {
            let members = json!({ ollama::TOOL_NAME: name });
            message
                .meta
                .set_property(flavour.provider(), MEMBERS, members);
        }
        let path = format!("call {}", result.call_id().map_or("", CallId::as_str));
        writer.result(result, &message, &path);
    }
    let (items, report) = writer.finish();
    let listed = pairs
        .iter()
        .filter_map(|(content, _)| listed_call(flavour, content));
    let listed: Vec<(String, String)> = listed.collect();
    let items = items.into_iter();
    let items = items.map(|item| content_list::as_result(&listed, item));
    let items = items.collect();
    EncodedReply { items, report }
}

/// The id and the function of a call that came in a `content_list`.
fn listed_call(flavour: Flavour, content: &Content) -> Option<(String, String)> {
    let form = content.meta()?.property(flavour.provider(), call::FORM)?;
    let (id, _) = fallback_tools::call_info(content).filter(|_| form == CONTENT_LIST)?;
    let called = fallback_tools::to_function_call(content)?;
    Some((id?.to_owned(), called.name))
}
