//! What holds for every stream of messages, whole or in chunks; the fuzz target checks the same.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::frame_buffer::{FrameBuffer, encode};
use crate::message::{Greeting, Hello, PROTOCOL, Reply, Request};

/// Maximum length of a message in this target.
const MAX_BYTES: usize = 1 << 16;

/// Checks that chunks of any size give the same messages, and that a message which is read can be
/// written and read again. `piece` is one less than the size of a chunk in bytes.
///
/// # Panics
/// If they differ.
pub fn check(bytes: &[u8], piece: usize) {
    both_ways::<Hello>(bytes, piece);
    both_ways::<Greeting>(bytes, piece);
    both_ways::<Request>(bytes, piece);
    both_ways::<Reply>(bytes, piece);
}

fn both_ways<T: DeserializeOwned + Serialize>(bytes: &[u8], piece: usize) {
    let parsed = messages::<T>(bytes, piece + 1, MAX_BYTES);
    assert_eq!(parsed, messages::<T>(bytes, bytes.len().max(1), MAX_BYTES));
    for frame in parsed {
        assert_eq!(messages::<T>(&frame, 7, usize::MAX), [frame]);
    }
}

/// The messages up to the first error, written again.
fn messages<T: DeserializeOwned + Serialize>(
    bytes: &[u8],
    piece: usize,
    max: usize,
) -> Vec<Vec<u8>> {
    let mut buffer = FrameBuffer::default();
    let mut messages = Vec::new();
    for chunk in bytes.chunks(piece) {
        buffer.space().extend_from_slice(chunk);
        loop {
            match buffer.next_message::<T>(max) {
                Ok(Some(message)) => messages.extend(encode(&message, usize::MAX).ok()),
                Ok(None) => break,
                Err(_) => return messages,
            }
        }
    }
    messages
}

/// Requests and replies with which the fuzzer begins.
pub fn seeds() -> Vec<Vec<u8>> {
    let frame = |texts: &[&str]| {
        let frames = texts.iter().map(|text| {
            let length = u32::try_from(text.len()).unwrap_or_default().to_be_bytes();
            [&length[..], text.as_bytes()].concat()
        });
        frames.collect::<Vec<_>>().concat()
    };
    vec![
        frame(&[&format!(r#"{{"protocol":{PROTOCOL},"version":"0.1.0"}}"#)]),
        frame(&[&format!(
            r#"{{"refused":{{"message":"no","protocol":{PROTOCOL},"version":"1"}}}}"#
        )]),
        frame(&[
            r#"{"id":1,"request":"describe"}"#,
            r#"{"id":2,"request":{"subscribe":{"from":7}}}"#,
            r#"{"id":4,"request":{"follow_events":{"from":{"row":7},"window":2}}}"#,
            r#"{"id":3,"request":{"execute":{"key":"k","screenshots":{"mcp":{"on_request":true}},"interface":"other","queue_ms":1,"contents":[]}}}"#,
        ]),
        frame(&[
            r#"{"id":1,"reply":"started"}"#,
            r#"{"id":1,"reply":{"failed":{"message":"x"}}}"#,
            r#"{"id":2,"reply":{"event":{"row":1,"at_ms":2,"event":{"event":"turn_completed","turn":0,"ms":1}}}}"#,
        ]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_the_same_in_chunks_of_any_size_and_after_damage() {
        for seed in seeds() {
            let count = messages::<Hello>(&seed, 1, MAX_BYTES).len()
                + messages::<Greeting>(&seed, 1, MAX_BYTES).len()
                + messages::<Request>(&seed, 1, MAX_BYTES).len()
                + messages::<Reply>(&seed, 1, MAX_BYTES).len();
            assert!(count > 0, "a seed is understood");
            for piece in [0, 1, 2, 3, 5, 64, 255] {
                check(&seed, piece);
            }
            for at in 0..seed.len() {
                let mut damaged = seed.clone();
                damaged[at] ^= 0x15;
                check(&damaged, 3);
                check(&seed[..at], 3);
            }
        }
    }
}
