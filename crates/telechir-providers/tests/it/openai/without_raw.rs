//! What is lost if only the neutral values of items are encoded.

use super::DIALECT;
use super::vectors::of_kind;
use crate::without_raw::{Losses, check, note};

/// If the API has two equivalent forms, one of them is written.
const ALLOWED: [(&str, &str); 9] = [
    (
        "[computer_call].pending_safety_checks",
        "absent in the generally available tool, an empty list in the vendor's type",
    ),
    (
        "[function_call_output].output[input_image].detail",
        "an absent detail is `auto`, which a message's image must state",
    ),
    (
        "[computer_call_output].acknowledged_safety_checks",
        "an empty list acknowledges nothing, and null is rejected: omitted",
    ),
    (
        "[local_shell_call_output].call_id",
        "the API matches by `call_id`, which the vendor's type lacks",
    ),
    (".input", "one string is a user message with one text"),
    ("[user].content", "one string is one text"),
    ("[message].content", "one string is one text"),
    ("[user].type", "a message may omit its type"),
    ("[shell_call].status", "a resent call may omit it"),
];

#[test]
fn neutral_values_alone_lose_only_the_listed_parts() {
    let mut losses = Losses::new();
    let kinds = [
        "output_item",
        "output_item[]",
        "input_item",
        "input_item[]",
        "request",
        "response",
    ];
    for (file, document) in of_kind(&kinds) {
        note(DIALECT, &document, &file, &mut losses);
    }
    check(&losses, &ALLOWED);
}
