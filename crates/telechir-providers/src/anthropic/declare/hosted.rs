//! Types and names of the tools that the provider defines.

/// The dated type of each tool that is named without a date.
const LATEST_TYPES: [(&str, &str); 7] = [
    ("code_execution", "code_execution_20250825"),
    ("web_fetch", "web_fetch_20260318"),
    ("web_search", "web_search_20260318"),
    ("tool_search_tool_regex", "tool_search_tool_regex_20251119"),
    ("tool_search_tool_bm25", "tool_search_tool_bm25_20251119"),
    ("advisor", "advisor_20260301"),
    ("memory", "memory_20250818"),
];

/// A tool's dated type and its name, if it has one; none for a type without a version.
pub(super) fn named(kind: &str) -> Option<(&str, Option<&str>)> {
    if kind == "mcp_toolset" {
        return Some((kind, None));
    }
    let newest = LATEST_TYPES.iter().find(|(name, _)| *name == kind);
    let dated = newest.map_or(kind, |(_, dated)| dated);
    let (base, date) = dated.rsplit_once('_')?;
    let is_date = date.len() == 8 && date.bytes().all(|digit| digit.is_ascii_digit());
    let name = match dated {
        "text_editor_20250124" | "text_editor_20241022" => "str_replace_editor",
        _ if base == "text_editor" => "str_replace_based_edit_tool",
        _ => base,
    };
    is_date.then_some((dated, Some(name)))
}
