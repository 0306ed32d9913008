//! What neutral values alone say of messages.

use telechir_providers::Dialect;

use super::DIALECT;
use crate::bare::{Losses, check, note};
use crate::documents::histories;

/// Where messages have several ways to say the same, one of them is written.
const ALLOWED: &[(&str, &str)] = &[
    (
        "[].message.tool_calls[function].function.arguments",
        "a call that is understood is written with the members it has, each once, as a text; one \
         that is not has none",
    ),
    (
        "[].message.tool_calls[function].function.name",
        "a call that names no function has an empty name",
    ),
    (
        "[].message.tool_calls[function].id",
        "an empty id and the word null are no id",
    ),
];

#[test]
fn neutral_values_alone_lose_what_the_table_says() {
    let mut losses = Losses::new();
    for dialect in [DIALECT, Dialect::FunctionsInline] {
        for (file, document) in histories("functions", dialect) {
            note(dialect, &document, &file, &mut losses);
        }
    }
    check(&losses, ALLOWED);
}
