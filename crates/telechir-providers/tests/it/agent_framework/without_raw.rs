//! The framework's documents, decoded and encoded without raw representations.

use super::DIALECT;
use crate::documents::histories;
use crate::without_raw::{Losses, check, note};

/// Where the framework has several forms, the neutral values encode to one of them.
const ALLOWED: &[(&str, &str)] = &[
    (
        "[chat_response].messages[message].author_name",
        "neutral messages have no author name",
    ),
    (
        "[chat_response].messages[message].contents[computer_tool_call].user_input_request",
        "only written for calls with safety checks",
    ),
    (
        "[chat_response].messages[message].message_id",
        "neutral messages have no id",
    ),
    (
        "[computer_tool_call].user_input_request",
        "only written for calls with safety checks",
    ),
    (
        "[message].author_name",
        "neutral messages have no author name",
    ),
    (
        "[message].contents[computer_tool_call].user_input_request",
        "only written for calls with safety checks",
    ),
    (
        "[message].contents[computer_tool_result].status",
        "neutral results have no status",
    ),
    (
        "[message].contents[function_call].arguments",
        "an invalid call of our tools has no arguments",
    ),
    (
        "[message].contents[function_call].exception",
        "an invalid call has the reason instead",
    ),
    (
        "[message].contents[function_call].status",
        "neutral function calls have no status",
    ),
    (
        "[message].contents[function_result].items[text].text",
        "a failed shell result is written in our format, with the failure",
    ),
    (
        "[message].contents[function_result].result",
        "a failed shell result is written in our format, with the failure",
    ),
    (
        "[message].contents[search_tool_call].status",
        "neutral function calls have no status",
    ),
    (
        "[message].contents[search_tool_result].status",
        "neutral function results have no status",
    ),
    (
        "[message].contents[text_reasoning].status",
        "neutral reasoning has no status",
    ),
    (
        "[message].contents[usage].usage_details.cache_read_input_token_count",
        "neutral usage has only the counts that all services report",
    ),
    ("[message].message_id", "neutral messages have no id"),
];

#[test]
fn without_raw_json_only_the_listed_values_are_lost() {
    let mut losses = Losses::new();
    for (file, document) in histories("agent-framework", DIALECT) {
        note(DIALECT, &document, &file, &mut losses);
    }
    // The sidecar is not a loss.
    losses.retain(|pattern, _| !pattern.ends_with(".additional_properties.telechir"));
    check(&losses, ALLOWED);
}
