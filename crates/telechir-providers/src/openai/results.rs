//! Encodes the results of a turn: outputs in call order, then the text that outputs cannot carry.

use telechir_protocol::{AnsweredTurn, ComputerCall, ComputerResult, ToolCall, ToolResult};

use super::encode::{ItemWriter, image_fields};
use crate::{EncodeError, EncodedReply};

/// Encodes the results of a turn.
pub(super) fn encode_results(turn: &AnsweredTurn) -> Result<EncodedReply, EncodeError> {
    // A call that failed before taking a screenshot shows one from the same turn.
    let mut writer = ItemWriter::for_results(turn.results().iter().find_map(image));
    for (call, result) in turn.pairs() {
        let path = format!("call {}", call.call_id().map_or("", |id| id.as_str()));
        if let (ToolCall::Computer(call), ToolResult::Computer(result)) = (&call, result) {
            note_unacknowledged(&mut writer, call, result, &path);
        }
        writer.remember(&call.into_content());
        writer.result(result, &path)?;
    }
    let (items, report) = writer.finish();
    Ok(EncodedReply { items, report })
}

fn image(result: &ToolResult) -> Option<super::item::Item> {
    match result {
        ToolResult::Computer(result) => result.screenshot.as_ref().map(image_fields),
        ToolResult::Shell(_) | ToolResult::Edit(_) | ToolResult::Function(_) => None,
    }
}

/// Reports unacknowledged safety checks: the protocol has no refusal, and the provider rejects the
/// next request.
fn note_unacknowledged(
    writer: &mut ItemWriter,
    call: &ComputerCall,
    result: &ComputerResult,
    path: &str,
) {
    for check in &call.pending_safety_checks {
        if !result
            .acknowledged_safety_checks
            .iter()
            .any(|acknowledged| acknowledged.id == check.id)
        {
            let what = format!("the refusal of safety check {}", check.id);
            let why =
                "checks can only be acknowledged; otherwise the provider rejects the next request";
            writer.report.lost(what, path, why);
        }
    }
}
