//! What is lost if only the neutral values of messages are encoded.

use telechir_providers::Dialect;

use super::DIALECT;
use crate::documents::histories;
use crate::without_raw::{Losses, check, note};

/// If messages have several equivalent forms, one of them is written.
const ALLOWED: &[(&str, &str)] = &[
    (
        "[].message.tool_calls[function].function.arguments",
        "a valid call is written as text with its members, each once; an \
         invalid one has none",
    ),
    (
        "[].message.tool_calls[function].function.name",
        "a call without a function name has an empty name",
    ),
    (
        "[].message.tool_calls[function].id",
        "an empty id and the text null count as no id",
    ),
];

#[test]
fn neutral_values_alone_lose_only_the_listed_parts() {
    let mut losses = Losses::new();
    for dialect in [DIALECT, Dialect::FunctionsInline] {
        for (file, document) in histories("functions", dialect) {
            note(dialect, &document, &file, &mut losses);
        }
    }
    check(&losses, ALLOWED);
}
