//! Messages of a CDP pipe, in chunks.

use serde_json::Value;

use crate::message_splitter::MessageSplitter;

/// Checks that chunks of any size give the messages between the zero bytes.
pub(crate) fn check(bytes: &[u8], piece: usize) {
    let mut splitter = MessageSplitter::default();
    let mut messages = Vec::new();
    for chunk in bytes.chunks(piece + 1) {
        splitter.push(chunk);
        while let Some(message) = splitter.next_message() {
            // Errors end the pipe; nothing may panic or go on forever.
            let _parsed = serde_json::from_slice::<Value>(&message);
            messages.push(message);
        }
        assert!(!splitter.is_too_long());
    }
    let mut expected: Vec<&[u8]> = bytes.split(|byte| *byte == 0).collect();
    expected.pop();
    assert_eq!(messages, expected);
}

/// Answers and events.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    [
        "{\"id\":1,\"result\":{\"frameId\":\"A\"},\"sessionId\":\"S\"}\0",
        "{\"id\":2,\"error\":{\"code\":-32000,\"message\":\"No\"}}\0{}\0",
        "{\"method\":\"Page.frameNavigated\",\"params\":{\"frame\":{\"url\":\"about:blank\"}}}\0",
        "[\"\u{e9}\"]\0\0null\0",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}
