//! The types by which other code recognizes items of OpenAI's Responses API.

/// Types of items that only the Responses API has.
pub(crate) const OWN_ITEMS: [&str; 16] = [
    "computer_call",
    "computer_call_output",
    "function_call_output",
    "shell_call",
    "shell_call_output",
    "local_shell_call",
    "local_shell_call_output",
    "apply_patch_call",
    "apply_patch_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
    "web_search_call",
    "file_search_call",
    "code_interpreter_call",
    "image_generation_call",
    "mcp_call",
];
