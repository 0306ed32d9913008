//! What the neutral form alone gives back of the framework's documents.

use super::DIALECT;
use crate::bare::{Losses, check, note};
use crate::documents::histories;

/// Where the framework has several ways to say the same, one of them is written.
const ALLOWED: &[(&str, &str)] = &[
    (
        "[chat_response].messages[message].author_name",
        "who speaks in a group is no neutral value",
    ),
    (
        "[chat_response].messages[message].contents[computer_tool_call].user_input_request",
        "it is said of calls with safety checks; without one it asks nothing",
    ),
    (
        "[chat_response].messages[message].message_id",
        "a message's own name is no neutral value",
    ),
    ("[computer_tool_call].user_input_request", "likewise"),
    ("[message].author_name", "likewise"),
    (
        "[message].contents[computer_tool_call].user_input_request",
        "likewise",
    ),
    (
        "[message].contents[computer_tool_result].status",
        "a result is there or not",
    ),
    (
        "[message].contents[function_call].arguments",
        "a call of ours that is not understood has none",
    ),
    (
        "[message].contents[function_call].exception",
        "it has the reason instead",
    ),
    (
        "[message].contents[function_call].status",
        "how far a function's call was written is no neutral value",
    ),
    (
        "[message].contents[function_result].items[text].text",
        "the result of a shell that failed has our layout, with the failure",
    ),
    ("[message].contents[function_result].result", "likewise"),
    (
        "[message].contents[search_tool_call].status",
        "how far a call was written is no neutral value",
    ),
    ("[message].contents[search_tool_result].status", "likewise"),
    (
        "[message].contents[text_reasoning].status",
        "likewise, of thinking",
    ),
    (
        "[message].contents[usage].usage_details.cache_read_input_token_count",
        "neutral usage counts what all services count",
    ),
    (
        "[message].message_id",
        "a message's own name is no neutral value",
    ),
];

#[test]
fn neutral_values_alone_lose_what_the_table_says() {
    let mut losses = Losses::new();
    for (file, document) in histories("agent-framework", DIALECT) {
        note(DIALECT, &document, &file, &mut losses);
    }
    // What is carried beside the framework's members is no loss.
    losses.retain(|pattern, _| !pattern.ends_with(".additional_properties.telechir"));
    check(&losses, ALLOWED);
}
