//! Whether a response carries what a model read at its provider: hosted searches, fetched pages,
//! connectors, code in the provider's containers. No device of this program was involved, so the
//! response alone shows it.

use serde_json::Value;

use super::{ModelTurn, local_call};
use crate::{Content, Meta, UnknownContent};

/// Types of contents in which nothing comes from outside: the caller's own declarations, summaries of
/// the conversation, pictures that the model describes. Names of tools do not count here, because
/// servers choose them.
const READS_NOTHING: [&str; 4] = [
    "tool_search",
    "compaction",
    "image_generation",
    "agent.handoff",
];

/// The provider's own type of a call whose name the provider chose, too.
const NAMED_BY_PROVIDER: &str = "server_tool_use";

/// Types of citations of documents that the caller itself sent.
const OF_THE_CALLER: [&str; 4] = [
    "char_location",
    "page_location",
    "content_block_location",
    "search_result_location",
];

/// The same where a member of `location` names the type.
const LOCATIONS_OF_THE_CALLER: [&str; 4] = [
    "documentChar",
    "documentPage",
    "documentChunk",
    "searchResultLocation",
];

/// Longest name of a tool in a source, in characters.
const MAX_NAME: usize = 60;

impl ModelTurn {
    /// What the model read at its provider, in this response or, if [`Self::note_hosted_source`] was
    /// told so, around its contents or before it. None if nothing shows that it read anything there.
    ///
    /// A call counts like its result: some providers show the call alone, and some results are
    /// encrypted. Contents of unknown types count, too.
    pub fn hosted_source(&self) -> Option<String> {
        let noted = self.hosted_source.clone();
        noted.or_else(|| self.contents.iter().find_map(source_of))
    }

    /// Notes what the model read at its provider where no content of this response shows it. The
    /// first source is kept.
    pub fn note_hosted_source(&mut self, source: Option<String>) {
        self.hosted_source = self.hosted_source.take().or(source);
    }
}

/// The source that a tool of this name at the provider is.
pub fn hosted_source_named(tool: &str) -> String {
    let name: String = tool.chars().take(MAX_NAME).collect();
    match name.is_empty() {
        true => "a tool of the model's provider".to_owned(),
        false => format!("the model's provider ({name})"),
    }
}

/// Whether an annotation of a text cites anything but a document that the caller sent.
pub fn cites_outside(annotation: &Value) -> bool {
    let kind = annotation.get("type").and_then(Value::as_str);
    let location = annotation.get("location").and_then(Value::as_object);
    let is_of_the_caller = kind.is_some_and(|kind| OF_THE_CALLER.contains(&kind))
        || location.is_some_and(|location| {
            let mut names = location.keys();
            names.any(|name| LOCATIONS_OF_THE_CALLER.contains(&name.as_str()))
        });
    !is_of_the_caller && !annotation.is_null()
}

fn source_of(content: &Content) -> Option<String> {
    let tool = match content {
        Content::ComputerCall(_) | Content::ShellCall(_) | Content::EditCall(_)
            if local_call(content).is_none() =>
        {
            "hosted computer"
        }
        Content::FunctionCall(call) if !call.requires_local_execution => &call.name,
        // A result in a response is one of the provider, or of tools that the caller has beside ours.
        Content::FunctionResult(result) => result.name.as_deref().unwrap_or_default(),
        Content::ComputerResult(_) | Content::ShellResult(_) | Content::EditResult(_) => {
            "hosted computer"
        }
        Content::CommandCall(_) | Content::CommandResult(_) => "hosted code",
        Content::Other(other) => return unknown(other),
        Content::Text(text) if cites(&text.meta) => "citations",
        Content::Reasoning(reasoning) if cites(&reasoning.meta) => "citations",
        Content::ComputerCall(_)
        | Content::ShellCall(_)
        | Content::EditCall(_)
        | Content::FunctionCall(_)
        | Content::Text(_)
        | Content::Reasoning(_)
        | Content::Data(_)
        | Content::Uri(_)
        | Content::HostedFile(_)
        | Content::ImageGenerationCall(_)
        | Content::ImageGenerationResult(_)
        | Content::ApprovalRequest(_)
        | Content::ApprovalResponse(_)
        | Content::Usage(_)
        | Content::Error(_) => return None,
    };
    Some(hosted_source_named(tool))
}

fn unknown(content: &UnknownContent) -> Option<String> {
    let kind = content.kind.as_deref().unwrap_or_default();
    let name = content.json.get("name").and_then(Value::as_str);
    let own = name.filter(|_| kind == NAMED_BY_PROVIDER).unwrap_or(kind);
    if READS_NOTHING.iter().any(|start| own.starts_with(start)) {
        return None;
    }
    Some(hosted_source_named(name.unwrap_or(kind)))
}

fn cites(meta: &Meta) -> bool {
    meta.annotations.iter().any(cites_outside)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Content;

    fn source(contents: Value) -> Option<String> {
        let contents: Vec<Content> = serde_json::from_value(contents).expect("contents");
        ModelTurn::new(contents).expect("a turn").hosted_source()
    }

    #[test]
    fn what_the_provider_executes_is_a_source() {
        for (content, tool) in [
            (
                json!({"type": "function_call", "call_id": "c", "name": "gmail_search",
                    "arguments": "{}", "requires_local_execution": false}),
                "gmail_search",
            ),
            (
                json!({"type": "function_result", "call_id": "c", "name": "web", "result": "x"}),
                "web",
            ),
            (
                json!({"type": "shell_call", "call_id": "c", "commands": ["ls"],
                    "environment": {"type": "hosted"}}),
                "hosted computer",
            ),
            (
                json!({"type": "shell_result", "call_id": "c", "outputs": []}),
                "hosted computer",
            ),
            (
                json!({"type": "computer_result", "call_id": "c"}),
                "hosted computer",
            ),
            (
                json!({"type": "edit_result", "call_id": "c"}),
                "hosted computer",
            ),
            (json!({"type": "command_call"}), "hosted code"),
            (json!({"type": "command_result"}), "hosted code"),
            (json!({"type": "web_search_call"}), "web_search_call"),
            (
                json!({"type": "server_tool_use", "name": "web_fetch"}),
                "web_fetch",
            ),
            // A server can name its tool like one that reads nothing.
            (
                json!({"type": "mcp_tool_use", "name": "tool_search"}),
                "tool_search",
            ),
            (json!({"type": "hologram"}), "hologram"),
            (
                json!({"type": "text", "text": "x", "annotations": [{"url": "https://a.example"}]}),
                "citations",
            ),
            (
                json!({"type": "text_reasoning", "text": "x", "annotations": ["a"]}),
                "citations",
            ),
        ] {
            let expected = format!("the model's provider ({tool})");
            assert_eq!(source(json!([content])), Some(expected), "{content}");
        }
        let unnamed = json!([{"type": "function_result", "call_id": "c"}]);
        assert_eq!(
            source(unnamed).as_deref(),
            Some("a tool of the model's provider")
        );
        let long = json!([{"type": "x".repeat(200)}]);
        let named = format!("the model's provider ({})", "x".repeat(60));
        assert_eq!(source(long), Some(named));
    }

    #[test]
    fn calls_for_this_program_and_what_the_model_writes_are_none() {
        let contents = json!([
            {"type": "text", "text": "x", "annotations": [
                null,
                {"type": "char_location", "cited_text": "of a document in the request"},
                {"type": "page_location"},
                {"type": "content_block_location"},
                {"type": "search_result_location"},
                {"location": {"documentChar": {}}},
                {"location": {"documentPage": {}}},
                {"location": {"documentChunk": {}}},
                {"location": {"searchResultLocation": {}}},
            ]},
            {"type": "text_reasoning", "text": "x"},
            {"type": "computer_call", "call_id": "a", "actions": [{"action": "screenshot"}]},
            {"type": "shell_call", "call_id": "b", "commands": ["ls"]},
            {"type": "edit_call", "call_id": "c", "tool": "editor",
                "operations": [{"name": "view", "path": "a"}]},
            {"type": "function_call", "call_id": "d", "name": "web_search", "arguments": "{}"},
            {"type": "data", "uri": "data:image/png;base64,AA=="},
            {"type": "uri", "uri": "https://a.example/"},
            {"type": "hosted_file", "file_id": "f"},
            {"type": "image_generation_call"},
            {"type": "image_generation_result"},
            {"type": "usage"},
            {"type": "error", "message": "x"},
            {"type": "compaction"},
            {"type": "tool_search_call"},
            {"type": "server_tool_use", "name": "tool_search_tool_regex"},
            {"type": "agent.handoff"},
        ]);
        assert_eq!(source(contents), None);
        let web = json!([{"type": "text", "text": "x",
            "annotations": [{"location": {"web": {"url": "https://a.example"}}}]}]);
        assert!(source(web).is_some());
    }

    #[test]
    fn the_first_noted_source_counts_before_those_of_the_contents() {
        let contents = serde_json::from_value(json!([{"type": "web_search_call"}]));
        let mut turn = ModelTurn::new(contents.expect("contents")).expect("a turn");
        turn.note_hosted_source(None);
        let of_contents = hosted_source_named("web_search_call");
        assert_eq!(turn.hosted_source(), Some(of_contents));
        turn.note_hosted_source(Some("one".to_owned()));
        turn.note_hosted_source(Some("two".to_owned()));
        assert_eq!(turn.hosted_source().as_deref(), Some("one"));
    }
}
