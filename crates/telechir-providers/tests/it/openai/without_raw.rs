//! What neutral values alone say of this dialect's items.

use super::DIALECT;
use super::vectors::of_kind;
use crate::bare::{Losses, check, note};

/// Where the interface has two ways to say the same, one of them is written.
const ALLOWED: [(&str, &str); 9] = [
    (
        "[computer_call].pending_safety_checks",
        "left out by the generally available tool, an empty list in the vendor's type",
    ),
    (
        "[function_call_output].output[input_image].detail",
        "an absent detail is `auto`, which a message's picture has to say",
    ),
    (
        "[computer_call_output].acknowledged_safety_checks",
        "an empty list acknowledges nothing, and null is refused: left out",
    ),
    (
        "[local_shell_call_output].call_id",
        "the interface joins by `call_id`, which the vendor's type lacks",
    ),
    (".input", "one string is a person's message of one text"),
    ("[user].content", "one string is one text"),
    ("[message].content", "one string is one text"),
    ("[user].type", "a message may leave its type out"),
    (
        "[shell_call].status",
        "a call that is repeated may leave it out",
    ),
];

#[test]
fn neutral_values_alone_lose_what_the_table_says() {
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
