//! What remains of this dialect's messages without raw representations.

use serde_json::json;

use super::DIALECT;
use super::vectors::accepted;
use crate::without_raw::{Losses, check, note};

/// Fields with equivalent forms, of which one is encoded.
const ALLOWED: [(&str, &str); 8] = [
    ("[user].content", "a string is encoded as one text block"),
    (
        "[assistant].content",
        "a string is encoded as one text block",
    ),
    ("[system].content", "a string is encoded as one text block"),
    (
        "[user].content[tool_result].content",
        "a string is encoded as one text block",
    ),
    (
        "[assistant].content[tool_use].input.text",
        "a key has several names (`Enter`, `Return`); X11's is encoded",
    ),
    (
        "[assistant].content[tool_use].input.repeat",
        "repeated chords are encoded one by one",
    ),
    (
        "[assistant].content[tool_use].input.scroll_amount",
        "an absent amount means 3 notches",
    ),
    (
        "[assistant].content[tool_use].input.url",
        "a URL without a scheme means https",
    ),
];

#[test]
fn neutral_values_lose_only_the_listed_fields() {
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
