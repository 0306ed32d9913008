//! What neutral values alone say of entries, and of messages of chat completions.

use telechir_providers::Dialect;

use super::DIALECT;
use crate::bare::{Losses, check, note};
use crate::documents::histories;

/// Where entries have several ways to say the same, one of them is written.
const ENTRIES: &[(&str, &str)] = &[
    (
        "[function.call].arguments",
        "a call that is understood is written as a text with the members it has, each once; one \
         that is not has none",
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

/// The same of messages.
const MESSAGES: &[(&str, &str)] = &[
    ("[]", BRIDGE),
    ("[user].content", BRIDGE),
    ("[user].role", BRIDGE),
    (
        "[].message.tool_calls[].id",
        "the word null, the default of the vendor's type, is no id",
    ),
    (
        "[].message.tool_calls[].type",
        "the default of the vendor's type",
    ),
    (
        "[].message.tool_calls[function].function.arguments",
        "a call that is understood is written as a text with the members it has, each once",
    ),
];

const BRIDGE: &str = "the interface refuses a user's message right after a tool's, so the model \
    is made to say a sentence in between";

#[test]
fn neutral_values_alone_lose_what_the_table_says_of_entries() {
    let mut losses = Losses::new();
    for (file, document) in histories("mistral", DIALECT) {
        note(DIALECT, &document, &file, &mut losses);
    }
    check(&losses, ENTRIES);
}

#[test]
fn neutral_values_alone_lose_what_the_table_says_of_messages() {
    let mut losses = Losses::new();
    for (file, document) in histories("mistral", Dialect::MistralChat) {
        note(Dialect::MistralChat, &document, &file, &mut losses);
    }
    check(&losses, MESSAGES);
}
