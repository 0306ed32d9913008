//! What holds for the streams of every dialect, however their bytes are cut.

use serde_json::Value;
use telechir_providers::{Delta, Dialect, StreamError, StreamedResponse};

/// What came of a stream: its deltas and its end.
pub(crate) type Outcome = (Vec<Delta>, Result<StreamedResponse, String>);

/// Server-sent events of this JSON, each with its type as its name.
pub(crate) fn sse(events: &[Value]) -> Vec<u8> {
    let event = |event: &Value| {
        let kind = event["type"].as_str().unwrap_or("message");
        format!("event: {kind}\ndata: {event}\n\n")
    };
    events.iter().map(event).collect::<String>().into_bytes()
}

/// The response that these bytes are.
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

/// Streams up to here are cut in two at every byte; longer ones into pieces of [`PIECE`] bytes,
/// so that every byte begins one.
const SHORT: usize = 4_000;
const PIECE: usize = 61;

/// Cuts the bytes at every place, and into single bytes: always the same.
pub(crate) fn is_the_same_however_cut(dialect: Dialect, bytes: &[u8], about: &str) -> Outcome {
    let whole = outcome(dialect, [bytes]);
    let cuts = if bytes.len() <= SHORT {
        0..=bytes.len()
    } else {
        0..=PIECE
    };
    for cut in cuts {
        let (first, second) = bytes.split_at(cut);
        let rest = if bytes.len() <= SHORT {
            bytes.len()
        } else {
            PIECE
        };
        let pieces = std::iter::once(first).chain(second.chunks(rest.max(1)));
        let parts = outcome(dialect, pieces);
        assert_eq!(parts.1, whole.1, "{about}, cut at {cut}");
        assert!(
            whole.1.is_err() || parts.0 == whole.0,
            "{about}, cut at {cut}: other deltas"
        );
    }
    let single = outcome(dialect, bytes.chunks(1));
    assert_eq!(single.1, whole.1, "{about}, byte by byte");
    assert!(
        whole.1.is_err() || single.0 == whole.0,
        "{about}, byte by byte: other deltas"
    );
    whole
}

/// No part of a stream is a response before its last event.
pub(crate) fn is_nothing_before_its_end(dialect: Dialect, events: &[Value], about: &str) {
    for count in 0..events.len() {
        let read = receive(dialect, &sse(&events[..count]));
        assert!(read.is_err(), "{about}: {count} events made a response");
    }
}
