//! Encodes the results of a turn: one result per call in call order, then their images.

use telechir_protocol::{AnsweredTurn, CallId, Message, Role};

use super::encode::EntryWriter;
use crate::EncodedReply;

/// Encodes the results of a turn.
pub(super) fn encode_results(turn: &AnsweredTurn) -> EncodedReply {
    let mut writer = EntryWriter::default();
    for (call, result) in turn.pairs() {
        let id = result.call_id().map_or("", CallId::as_str).to_owned();
        writer.remember(&call.into_content(), id);
    }
    let message = Message::new(Role::Tool, Vec::new());
    for result in turn.results() {
        let path = format!("call {}", result.call_id().map_or("", CallId::as_str));
        writer.result(result, &message, &path);
    }
    let (items, _, report) = writer.finish();
    EncodedReply { items, report }
}
