//! The types and settings of tools in other vocabularies.

use serde_json::{Map, Value};

use crate::json::{InvalidMember, Members};

/// The canonical types, as an error lists them.
pub(crate) const EXPECTED: &str =
    "computer_use, shell, image_generation, code_interpreter, hosted, function or raw";

/// The names of each type of tool; the first one is canonical.
const TYPES: &[&[&str]] = &[
    &["computer_use", "ComputerUseTool"],
    &["shell", "ShellTool", "BashTool", "bash"],
    &["image_generation", "HostedImageGenerationTool"],
    &["code_interpreter", "HostedCodeInterpreterTool"],
    &["hosted", "HostedTool", "GenericHostedTool", "GenericTool"],
    &["function", "FunctionTool", "function_tool"],
    &["raw", "RawTool"],
];

/// The hosted types of tools that have a type of their own in other vocabularies.
const HOSTED_TYPES: &[(&str, &str)] = &[
    ("web_search", "web_search"),
    ("HostedWebSearchTool", "web_search"),
    ("file_search", "file_search"),
    ("HostedFileSearchTool", "file_search"),
    ("mcp", "mcp"),
    ("HostedMcpServerTool", "mcp"),
    ("HostedMCPTool", "mcp"),
    ("HostedToolSearchTool", "tool_search"),
    ("text_editor", "text_editor"),
    ("memory", "memory"),
    ("apply_patch", "apply_patch"),
];

/// The hosted type that a tool's own type stands for.
pub(crate) fn hosted_type(name: &str) -> Option<&'static str> {
    let found = HOSTED_TYPES.iter().find(|(alias, _)| *alias == name);
    found.map(|(_, hosted_type)| *hosted_type)
}

/// The canonical type of a tool; none if it is unknown.
pub(crate) fn canonical(name: &str) -> Option<&'static str> {
    let names = TYPES.iter().find(|names| names.contains(&name));
    names.and_then(|names| names.first()).copied()
}

/// Changes the settings of a computer to the canonical ones. Returns the environment's name if it
/// is to be kept.
pub(crate) fn computer_settings(m: &mut Members) -> Result<Option<&'static str>, InvalidMember> {
    for (canonical, foreign) in [
        ("display_width", "display_width_px"),
        ("display_height", "display_height_px"),
    ] {
        let pixels = match m.count(canonical)? {
            Some(pixels) => Some(pixels),
            None => m.count(foreign)?,
        };
        if let Some(pixels) = pixels {
            m.put(canonical, pixels.into());
        }
    }
    let ubuntu = m.peek("environment").and_then(Value::as_str) == Some("ubuntu");
    Ok(ubuntu.then_some("ubuntu"))
}

/// Retains OpenAI's own name of a Linux desktop, so that OpenAI gets it back.
pub(crate) fn keep_spelling(name: &str, properties: &mut Map<String, Value>) {
    let settings = properties
        .entry("openai")
        .or_insert_with(|| Map::new().into());
    if let Value::Object(settings) = settings {
        settings.entry("environment").or_insert_with(|| name.into());
    }
}
