//! Properties of the streams of every dialect, for every split.

use serde_json::Value;
use telechir_providers::{Delta, Dialect, StreamError, StreamedResponse};

/// The result of a stream: its deltas and its end.
pub(crate) type Outcome = (Vec<Delta>, Result<StreamedResponse, String>);

/// Server-sent events with this JSON, named by their type.
pub(crate) fn sse(events: &[Value]) -> Vec<u8> {
    let event = |event: &Value| {
        let kind = event["type"].as_str().unwrap_or("message");
        format!("event: {kind}\ndata: {event}\n\n")
    };
    events.iter().map(event).collect::<String>().into_bytes()
}

/// Decodes a stream that arrives at once.
pub(crate) fn receive(dialect: Dialect, bytes: &[u8]) -> Result<StreamedResponse, StreamError> {
    let mut stream = dialect.stream().unwrap();
    stream.push(bytes)?;
    stream.finish()
}

fn outcome<'a>(dialect: Dialect, pieces: impl IntoIterator<Item = &'a [u8]>) -> Outcome {
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

/// Maximum length of a stream that is split in two at every byte. Longer streams are split into
/// pieces of [`PIECE_BYTES`] bytes, so that a piece starts at every byte.
const MAX_FULLY_SPLIT_BYTES: usize = 4_000;
const PIECE_BYTES: usize = 61;

/// Checks that every split, and single bytes, give the same result.
pub(crate) fn check_every_split(dialect: Dialect, bytes: &[u8], about: &str) -> Outcome {
    let expected = outcome(dialect, [bytes]);
    let cuts = if bytes.len() <= MAX_FULLY_SPLIT_BYTES {
        0..=bytes.len()
    } else {
        0..=PIECE_BYTES
    };
    for cut in cuts {
        let (first, second) = bytes.split_at(cut);
        let rest = if bytes.len() <= MAX_FULLY_SPLIT_BYTES {
            bytes.len()
        } else {
            PIECE_BYTES
        };
        let pieces = std::iter::once(first).chain(second.chunks(rest.max(1)));
        let parts = outcome(dialect, pieces);
        assert_eq!(parts.1, expected.1, "{about}, split at {cut}");
        assert!(
            expected.1.is_err() || parts.0 == expected.0,
            "{about}, split at {cut}: different deltas"
        );
    }
    let single = outcome(dialect, bytes.chunks(1));
    assert_eq!(single.1, expected.1, "{about}, byte by byte");
    assert!(
        expected.1.is_err() || single.0 == expected.0,
        "{about}, byte by byte: different deltas"
    );
    expected
}

/// Checks that a stream is not a response before its last event.
pub(crate) fn check_truncations_fail(dialect: Dialect, events: &[Value], about: &str) {
    for count in 0..events.len() {
        let read = receive(dialect, &sse(&events[..count]));
        assert!(
            read.is_err(),
            "{about}: {count} events decoded to a response"
        );
    }
}
