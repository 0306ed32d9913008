//! What neutral values alone say of this dialect's messages.

use serde_json::json;

use super::DIALECT;
use super::vectors::accepted;
use crate::bare::{Losses, check, note};

/// Where the interface has two ways to say the same, one of them is written.
const ALLOWED: [(&str, &str); 8] = [
    ("[user].content", "one string is one text block"),
    ("[assistant].content", "one string is one text block"),
    ("[system].content", "one string is one text block"),
    (
        "[user].content[tool_result].content",
        "one string is one text block",
    ),
    (
        "[assistant].content[tool_use].input.text",
        "a key has several names (`Enter`, `Return`), X11's is written",
    ),
    (
        "[assistant].content[tool_use].input.repeat",
        "several chords with a repetition are the chords that many times",
    ),
    (
        "[assistant].content[tool_use].input.scroll_amount",
        "an absent amount is 3 notches",
    ),
    (
        "[assistant].content[tool_use].input.url",
        "an address without a scheme is one of https",
    ),
];

#[test]
fn neutral_values_alone_lose_what_the_table_says() {
    let mut losses = Losses::new();
    for (file, document) in accepted(&["message", "beta_message", "request"]) {
        note(DIALECT, &document, &file, &mut losses);
    }
    for (file, document) in accepted(&["beta_request"]) {
        note(DIALECT, &document["body"], &file, &mut losses);
    }
    for (file, document) in accepted(&["stream", "beta_stream"]) {
        note(DIALECT, &document["expect"], &file, &mut losses);
    }
    for (file, document) in accepted(&["exchange"]) {
        let messages = json!([
            {"role": "assistant", "content": document["assistant"]},
            {"role": "user", "content": document["user"]},
        ]);
        note(DIALECT, &messages, &file, &mut losses);
    }
    for (file, document) in accepted(&["computer_blocks", "browser_blocks", "legacy_calls"]) {
        let blocks = document.get("blocks").unwrap_or(&document);
        let messages = json!([{"role": "assistant", "content": blocks}]);
        note(DIALECT, &messages, &file, &mut losses);
    }
    check(&losses, &ALLOWED);
}
