//! What is lost if only the neutral values of entries or chat messages are encoded.

use telechir_providers::Dialect;

use super::DIALECT;
use crate::documents::histories;
use crate::without_raw::{Losses, check, note};

/// If entries have several equivalent forms, one of them is written.
const ENTRIES: &[(&str, &str)] = &[
    (
        "[function.call].tool_call_id",
        "of two calls with one id, the second gets one of its own",
    ),
    (
        "[function.call].arguments",
        "a valid call is written as text with its members, each once; an invalid one has \
         none",
    ),
    (
        "[message.output].content[thinking].thinking[text]",
        "thinking is one text",
    ),
    (
        "[message.output].content[thinking].thinking[text].text",
        "thinking is one text",
    ),
];

/// The same for chat messages.
const MESSAGES: &[(&str, &str)] = &[
    ("[]", BRIDGE),
    ("[user].content", BRIDGE),
    ("[user].role", BRIDGE),
    (
        "[].message.tool_calls[].id",
        "the text null, the default of the vendor's type, counts as no id",
    ),
    (
        "[].message.tool_calls[].type",
        "the default of the vendor's type",
    ),
    (
        "[].message.tool_calls[function].function.arguments",
        "a valid call is written as text with its members, each once",
    ),
];

const BRIDGE: &str = "the API rejects a user message directly after a tool message, so an assistant \
    message is inserted between them";

#[test]
fn neutral_entries_alone_lose_only_the_listed_parts() {
    let mut losses = Losses::new();
    for (file, document) in histories("mistral", DIALECT) {
        note(DIALECT, &document, &file, &mut losses);
    }
    check(&losses, ENTRIES);
}

#[test]
fn neutral_messages_alone_lose_only_the_listed_parts() {
    let mut losses = Losses::new();
    for (file, document) in histories("mistral", Dialect::MistralChat) {
        note(Dialect::MistralChat, &document, &file, &mut losses);
    }
    check(&losses, MESSAGES);
}
