//! Which items are calls that the client must answer.

use crate::json::{Fields as Item, kind, object, text};

/// Calls with a neutral kind that the client must answer and that therefore need a `call_id`.
pub(super) const LOCAL_CALLS: [&str; 6] = [
    "computer_call",
    "shell_call",
    "local_shell_call",
    "apply_patch_call",
    "function_call",
    "custom_tool_call",
];

/// Item types that are passed through unchanged.
pub(super) const HOSTED_ITEMS: [&str; 13] = [
    "web_search_call",
    "file_search_call",
    "mcp_call",
    "mcp_list_tools",
    "program",
    "program_output",
    TOOL_SEARCH,
    TOOL_SEARCH_OUTPUT,
    "additional_tools",
    "compaction",
    "compaction_trigger",
    "configuration_update",
    "item_reference",
];

/// The search for tools to load, which the client or the provider carries out.
pub(super) const TOOL_SEARCH: &str = "tool_search_call";
pub(super) const TOOL_SEARCH_OUTPUT: &str = "tool_search_output";

/// Whether the client must answer the item.
pub(super) fn is_for_client(item: &Item) -> bool {
    let environment = object(item, "environment");
    let is_local = environment.is_none_or(|environment| kind(environment) == "local");
    is_local && LOCAL_CALLS.contains(&kind(item)) || is_other_call(item)
}

/// Whether the item is a call for the client without a neutral kind: a tool search, or a call of a
/// type that this version does not know. Providers answer calls that they mark as their own.
pub(super) fn is_other_call(item: &Item) -> bool {
    let kind = kind(item);
    let is_known = kind.is_empty()
        || item.contains_key("role")
        || LOCAL_CALLS.contains(&kind)
        || (kind != TOOL_SEARCH && HOSTED_ITEMS.contains(&kind));
    let is_answer = || {
        let ends = ["_output", "_response", "_result"];
        ends.iter().any(|end| kind.ends_with(end))
    };
    let is_hosted = || {
        let environment = object(item, "environment");
        text(item, "execution") == Some("server")
            || environment.is_some_and(|environment| self::kind(environment) != "local")
    };
    let has_id = || text(item, "call_id").is_some_and(|id| !id.is_empty());
    !is_known && !is_answer() && !is_hosted() && has_id()
}
