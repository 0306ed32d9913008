//! Properties that hold for arbitrary input.

use telechir_protocol::{
    ComputerResult, EditResult, Failure, FailureKind, FunctionResult, Message, ModelTurn,
    ShellResult, ToolCall, ToolResult,
};
use telechir_providers::{
    Delta, Dialect, History, Report, StreamedResponse, ThinkingTranslation, TranslationOptions,
    survival,
};

/// A document is rejected, or its decoded form has a bounded size, can be answered and encoded, and
/// survives a round trip. Returns whether it was decoded.
pub(crate) fn document(dialect: Dialect, other: Dialect, bytes: &[u8]) -> bool {
    if let Ok((turn, _)) = dialect.decode_response(bytes) {
        is_bounded(&serde_json::to_vec(turn.contents()).unwrap(), bytes);
        answers(dialect, turn);
    }
    let Ok((history, report)) = dialect.decode_history(bytes) else {
        return false;
    };
    let neutral = serde_json::to_value(&history.messages).unwrap();
    is_bounded(neutral.to_string().as_bytes(), bytes);
    // Neutral JSON may be decoded further than the dialect did; from then on it is stable.
    let read = serde_json::from_value::<Vec<Message>>(neutral).unwrap();
    let again = serde_json::to_value(&read).unwrap();
    let again = serde_json::from_value::<Vec<Message>>(again).unwrap();
    assert_eq!(again, read, "as neutral JSON and back");
    identity(dialect, &history, &report);
    let _may_refuse = other.encode_history(&history);
    true
}

/// Longer documents are not followed: each of their values is changed and translated again.
const MAX_FOLLOWED_BYTES: usize = 1_000;

/// A whole document translates or is rejected, and its values can be followed. Returns whether it
/// was translated.
pub(crate) fn envelope(dialect: Dialect, other: Dialect, bytes: &[u8]) -> bool {
    if bytes.len() <= MAX_FOLLOWED_BYTES
        && let Ok(value) = serde_json::from_slice(bytes)
    {
        let _findings_or_error = survival::follow(dialect, &value, &[other]);
    }
    let Ok(translated) = dialect.translate(other, bytes, &options()) else {
        return false;
    };
    is_bounded(translated.document.to_string().as_bytes(), bytes);
    true
}

fn options() -> TranslationOptions {
    TranslationOptions {
        thinking: ThinkingTranslation::Text,
        ..TranslationOptions::default()
    }
}

/// A stream becomes the same stream for every split, or an error. Returns whether it was translated.
pub(crate) fn envelope_stream(
    dialect: Dialect,
    other: Dialect,
    bytes: &[u8],
    piece: usize,
) -> bool {
    let complete = translated(dialect, other, std::iter::once(bytes));
    let in_pieces = translated(dialect, other, bytes.chunks(piece.max(1)));
    assert_eq!(complete, in_pieces, "to {other} in pieces of {piece}");
    complete.is_some()
}

/// The written stream; none after an error.
fn translated<'a>(
    dialect: Dialect,
    other: Dialect,
    pieces: impl Iterator<Item = &'a [u8]>,
) -> Option<Vec<u8>> {
    let mut stream = dialect.translate_stream(other, options()).ok()?;
    let mut written = Vec::new();
    for piece in pieces {
        written.extend(stream.push(piece).ok()?);
    }
    let (rest, _) = stream.finish().ok()?;
    written.extend(rest);
    Some(written)
}

fn identity(dialect: Dialect, history: &History, report: &Report) {
    let Ok((written, losses)) = dialect.encode_history(history) else {
        return;
    };
    if !report.is_lossless() || !losses.is_lossless() {
        return;
    }
    let again = dialect.decode_history(written.to_string());
    let (again, _) = again.unwrap_or_else(|error| panic!("{error}: it encoded {written}"));
    // Invoke does not support toolsets: their calls become calls of the older tools, and stay so.
    let is_settled = dialect == Dialect::BedrockInvoke
        && dialect
            .encode_history(&again)
            .is_ok_and(|(twice, _)| twice == written);
    assert!(
        is_settled || again.messages == history.messages,
        "read {:?}, wrote {written}, read {:?}",
        history.messages,
        again.messages
    );
}

/// Every call of a turn can get an error result.
fn answers(dialect: Dialect, turn: ModelTurn) {
    let results = turn.calls().iter().map(failed).collect();
    let answered = turn.answer(results).unwrap();
    let reply = dialect.encode_results(&answered);
    reply.unwrap_or_else(|error| panic!("cannot encode the results of {answered:?}: {error}"));
}

/// An error result for a call.
pub(crate) fn failed(call: &ToolCall) -> ToolResult {
    let error = Some(Failure::new(FailureKind::Device, "Not possible."));
    match call {
        ToolCall::Computer(call) => ToolResult::Computer(ComputerResult {
            error,
            ..ComputerResult::new(call.call_id.clone())
        }),
        ToolCall::Shell(call) => ToolResult::Shell(ShellResult {
            error,
            ..ShellResult::new(call.call_id.clone(), Vec::new())
        }),
        ToolCall::Edit(call) => ToolResult::Edit(EditResult {
            call_id: call.call_id.clone(),
            text: None,
            error,
            meta: Default::default(),
        }),
        ToolCall::Function(call) => ToolResult::Function(FunctionResult {
            call_id: call.call_id.clone(),
            name: None,
            items: Vec::new(),
            result: None,
            error,
            meta: Default::default(),
        }),
    }
}

/// Contents are stored as neutral values and as raw representation, some also as text.
fn is_bounded(neutral: &[u8], document: &[u8]) {
    let most = document.len() * 20 + 64 * 1024;
    let (is, of) = (neutral.len(), document.len());
    assert!(is <= most, "{is} bytes of {of}");
}

/// A stream ends in the same turn or in an error for every split. Returns whether it ended in a
/// turn.
pub(crate) fn stream(dialect: Dialect, bytes: &[u8], piece: usize) -> bool {
    let (deltas, complete) = outcome(dialect, std::iter::once(bytes));
    let (deltas_in_pieces, in_pieces) = outcome(dialect, bytes.chunks(piece.max(1)));
    // Error messages may differ, because they refer to the first faulty piece.
    let (received, in_pieces) = match (complete, in_pieces) {
        (Ok(complete), Ok(in_pieces)) => (complete, in_pieces),
        (Err(_), Err(_)) => return false,
        (complete, in_pieces) => panic!("{complete:?}, in pieces of {piece} {in_pieces:?}"),
    };
    assert_eq!(received, in_pieces, "in pieces of {piece}");
    assert_eq!(deltas, deltas_in_pieces, "in pieces of {piece}");
    document(dialect, dialect, received.response.to_string().as_bytes());
    true
}

fn outcome<'a>(
    dialect: Dialect,
    pieces: impl Iterator<Item = &'a [u8]>,
) -> (Vec<Delta>, Result<StreamedResponse, String>) {
    let mut stream = dialect.stream().unwrap();
    let mut deltas = Vec::new();
    for piece in pieces {
        match stream.push(piece) {
            Ok(more) => deltas.extend(more),
            Err(error) => return (deltas, Err(error.to_string())),
        }
    }
    (deltas, stream.finish().map_err(|error| error.to_string()))
}
