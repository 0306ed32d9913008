//! Recognizes the dialect of a document of unknown origin by its structure.

use serde_json::{Map, Value};

use crate::Dialect;
use crate::responses_items::OWN_ITEMS;

/// What a recognized document is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DocumentKind {
    /// A request with its messages.
    Request,
    /// A complete response to a request.
    Response,
    /// A list of messages or items.
    History,
    /// The events of a streamed response.
    Stream,
    /// An error of the provider.
    Error,
}

/// The dialect and kind of a JSON document; `None` if it is not a document of a provider.
///
/// Dialects with equal documents are told apart by the model; without one, plain chat messages
/// count as `functions`.
pub fn recognize(document: &Value) -> Option<(Dialect, DocumentKind)> {
    match document {
        Value::Object(fields) => Fields(fields).recognize(),
        Value::Array(items) => {
            let events = items.iter().map(event_dialect);
            let events: Option<Vec<Dialect>> = events.collect();
            if let Some(dialect) = events.and_then(|events| events.first().copied()) {
                return Some((dialect, DocumentKind::Stream));
            }
            Some((list_dialect(items, None)?, DocumentKind::History))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// The dialect of one event of a stream.
pub(super) fn event_dialect(event: &Value) -> Option<Dialect> {
    if event.get("event").is_some_and(Value::is_string)
        && let Some(data) = event.get("data").filter(|data| data.is_object())
    {
        return event_dialect(data);
    }
    let event = Fields(event.as_object()?);
    let kind = event.text("type").unwrap_or_default();
    let anthropic = [
        "message_start",
        "message_delta",
        "message_stop",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "ping",
    ];
    let starts =
        |prefixes: &[&str], name: &str| prefixes.iter().any(|start| name.starts_with(start));
    if anthropic.contains(&kind) {
        return Some(Dialect::AnthropicMessages);
    }
    if starts(
        &[
            "conversation.response.",
            "message.output.",
            "function.call.",
            "tool.execution.",
            "agent.handoff.",
        ],
        kind,
    ) {
        return Some(Dialect::MistralConversations);
    }
    if kind.starts_with("response.") {
        return Some(Dialect::OpenaiResponses);
    }
    let interaction = event.text("event_type").unwrap_or(kind);
    if starts(&["interaction.", "step.", "content."], interaction) {
        return Some(Dialect::GoogleInteractions);
    }
    if event.text("object") == Some("chat.completion.chunk") {
        return Some(event.chat_dialect());
    }
    let is_chunk = |choice: &Value| choice.get("delta").is_some();
    if event
        .list("choices")
        .is_some_and(|choices| choices.iter().any(is_chunk))
    {
        return Some(event.chat_dialect());
    }
    event
        .list("candidates")
        .map(|_| Dialect::GoogleGenerateContent)
}

/// Types of Mistral's entries.
const MISTRAL_ENTRIES: [&str; 6] = [
    "message.input",
    "message.output",
    "function.call",
    "function.result",
    "tool.execution",
    "agent.handoff",
];
/// Types of OpenAI's items that are neither calls nor results of our tools.
const OTHER_ITEMS: [&str; 8] = [
    "compaction_trigger",
    "item_reference",
    "mcp_approval_request",
    "mcp_approval_response",
    "mcp_list_tools",
    "program",
    "program_output",
    "tool_search_output",
];
/// Types of Google's steps that no other dialect has.
const STEPS: [&str; 6] = [
    "user_input",
    "model_output",
    "thought",
    "google_search_call",
    "code_execution_call",
    "url_context_call",
];
/// Members of a block of Converse, which has no type.
const CONVERSE_BLOCKS: [&str; 10] = [
    "text",
    "toolUse",
    "toolResult",
    "image",
    "document",
    "video",
    "audio",
    "reasoningContent",
    "cachePoint",
    "guardContent",
];
/// Types of parts of chat completions.
const CHAT_PARTS: [&str; 5] = ["image_url", "input_audio", "file", "refusal", "video_url"];
/// Parts of models' names that Mistral serves.
const MISTRAL_MODELS: [&str; 8] = [
    "mistral",
    "mixtral",
    "magistral",
    "devstral",
    "codestral",
    "pixtral",
    "voxtral",
    "ministral",
];
/// Parts of models' names whose requests are no conversations.
const OTHER_MODELS: [&str; 5] = ["embed", "tts", "whisper", "moderation", "dall-e"];

struct Fields<'a>(&'a Map<String, Value>);

impl<'a> Fields<'a> {
    fn has(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|value| !value.is_null())
    }

    fn text(&self, name: &str) -> Option<&'a str> {
        self.0.get(name)?.as_str()
    }

    fn list(&self, name: &str) -> Option<&'a [Value]> {
        self.0.get(name)?.as_array().map(Vec::as_slice)
    }

    /// The objects of a list.
    fn objects(&self, name: &str) -> Vec<Self> {
        objects(self.list(name).unwrap_or_default())
    }

    fn model(&self) -> String {
        let names = ["model", "modelId", "modelVersion"];
        let found = names.iter().find_map(|name| self.text(name));
        found.unwrap_or_default().to_lowercase()
    }

    fn is_mistral(&self) -> bool {
        let model = self.model();
        MISTRAL_MODELS.iter().any(|name| model.contains(name))
    }

    fn chat_dialect(&self) -> Dialect {
        match self.is_mistral() {
            true => Dialect::MistralChat,
            false => Dialect::Functions,
        }
    }

    fn recognize(&self) -> Option<(Dialect, DocumentKind)> {
        let other = |dialect| Some((dialect, DocumentKind::Response));
        if self.list("candidates").is_some() || self.has("promptFeedback") {
            return other(Dialect::GoogleGenerateContent);
        }
        if let Some(choices) = self.list("choices") {
            let has_message = |choice: &Value| choice.get("message").is_some_and(Value::is_object);
            return choices
                .iter()
                .any(has_message)
                .then(|| (self.chat_dialect(), DocumentKind::Response));
        }
        // Ollama's own response.
        let has_message = self.0.get("message").is_some_and(Value::is_object);
        if has_message && self.0.get("done").is_some_and(Value::is_boolean) {
            return other(Dialect::Functions);
        }
        if self.list("outputs").is_some()
            && (self.text("object") == Some("conversation.response") || self.has("conversation_id"))
        {
            return other(Dialect::MistralConversations);
        }
        if self.text("object") == Some("response") && self.list("output").is_some() {
            return other(Dialect::OpenaiResponses);
        }
        let is_interaction = self.text("object") == Some("interaction");
        if is_interaction
            || (self.list("steps").is_some_and(|steps| !steps.is_empty()) && self.has("status"))
        {
            let is_of_steps = self
                .objects("steps")
                .iter()
                .all(|step| step.text("type").is_some());
            return is_of_steps.then_some((Dialect::GoogleInteractions, DocumentKind::Response));
        }
        if self.text("type") == Some("message")
            && self.text("role") == Some("assistant")
            && self.has("usage")
            && self.list("content").is_some()
        {
            return other(Dialect::AnthropicMessages);
        }
        let message = self
            .0
            .get("output")
            .and_then(|output| output.get("message"));
        if message.is_some_and(|message| message.get("content").is_some()) {
            return other(Dialect::BedrockConverse);
        }
        if ["returnControl", "invocationInputs"]
            .iter()
            .any(|name| self.has(name))
            || self.list("completion").is_some()
        {
            return other(Dialect::BedrockAgents);
        }
        if self.has("error") || self.text("type") == Some("error") {
            let is_request = ["messages", "contents", "input", "inputs"];
            if !is_request.iter().any(|name| self.has(name)) {
                return Some((Dialect::Functions, DocumentKind::Error));
            }
        }
        self.request()
            .map(|dialect| (dialect, DocumentKind::Request))
    }

    fn request(&self) -> Option<Dialect> {
        if self.has("sessionState") && !self.has("messages") {
            return Some(Dialect::BedrockAgents);
        }
        // One content needs no list around it.
        let one = self.0.get("contents").filter(|one| one.is_object());
        let contents = one.map(std::slice::from_ref);
        if let Some(contents) = contents.or_else(|| self.list("contents")) {
            let has_parts = |content: &Value| content.get("parts").is_some();
            return contents
                .iter()
                .all(has_parts)
                .then_some(Dialect::GoogleGenerateContent)
                .filter(|_| !contents.is_empty());
        }
        let model = self.model();
        if OTHER_MODELS.iter().any(|name| model.contains(name)) {
            return None;
        }
        if self.has("inputs")
            && (self.has("agent_id") || self.is_mistral() || self.has("completion_args"))
        {
            return Some(Dialect::MistralConversations);
        }
        if let Some(entries) = self.list("entries") {
            return list_dialect(entries, Some(self));
        }
        if let Some(messages) = self.list("messages") {
            return list_dialect(messages, Some(self));
        }
        if self.has("input") {
            return self.input_dialect(&model);
        }
        let is_prompt = self.0.get("prompt").is_some_and(Value::is_object);
        if is_prompt && (self.has("model") || self.has("conversation")) {
            return Some(Dialect::OpenaiResponses);
        }
        let is_item = self
            .text("type")
            .is_some_and(|kind| OWN_ITEMS.contains(&kind));
        (is_item && self.has("id") || self.has("call_id"))
            .then_some(Dialect::OpenaiResponses)
            .filter(|_| is_item)
    }

    fn input_dialect(&self, model: &str) -> Option<Dialect> {
        let of_google = [
            "agent",
            "previous_interaction_id",
            "generation_config",
            "response_modalities",
        ];
        if model.contains("gemini") || of_google.iter().any(|name| self.has(name)) {
            return Some(Dialect::GoogleInteractions);
        }
        let of_openai = [
            "previous_response_id",
            "instructions",
            "model",
            "conversation",
            "prompt",
        ];
        if !of_openai.iter().any(|name| self.has(name)) {
            return None;
        }
        match self.list("input") {
            Some(items) => list_dialect(items, Some(self)).map(|dialect| {
                let is_message = [Dialect::Functions, Dialect::AnthropicMessages];
                match is_message.contains(&dialect) {
                    true => Dialect::OpenaiResponses,
                    false => dialect,
                }
            }),
            None => self.text("input").map(|_| Dialect::OpenaiResponses),
        }
    }
}

fn objects(items: &[Value]) -> Vec<Fields<'_>> {
    items
        .iter()
        .filter_map(Value::as_object)
        .map(Fields)
        .collect()
}

/// The dialect of a list of messages, items, steps or entries.
fn list_dialect(items: &[Value], request: Option<&Fields<'_>>) -> Option<Dialect> {
    let entries = objects(items);
    if entries.is_empty() || entries.len() < items.len() {
        return None;
    }
    let any_kind = |kinds: &[&str]| {
        entries
            .iter()
            .any(|entry| entry.text("type").is_some_and(|kind| kinds.contains(&kind)))
    };
    if any_kind(&MISTRAL_ENTRIES)
        || entries
            .iter()
            .all(|entry| entry.text("object") == Some("entry"))
    {
        return Some(Dialect::MistralConversations);
    }
    // In Anthropic's messages it is a block.
    let is_compaction = |entry: &Fields<'_>| {
        entry.text("type") == Some("compaction") && entry.has("encrypted_content")
    };
    if any_kind(&OWN_ITEMS) || any_kind(&OTHER_ITEMS) || entries.iter().any(is_compaction) {
        return Some(Dialect::OpenaiResponses);
    }
    if any_kind(&STEPS) {
        return Some(Dialect::GoogleInteractions);
    }
    let is_call = |entry: &Fields<'_>| entry.text("type") == Some("function_call");
    if let Some(call) = entries.iter().find(|entry| is_call(entry)) {
        return Some(match call.has("call_id") {
            true => Dialect::OpenaiResponses,
            false => Dialect::GoogleInteractions,
        });
    }
    if entries
        .iter()
        .any(|entry| entry.text("type") == Some("reasoning") && entry.has("summary"))
    {
        return Some(Dialect::OpenaiResponses);
    }
    if entries.iter().all(|entry| entry.list("parts").is_some()) {
        return Some(Dialect::GoogleGenerateContent);
    }
    let has_contents = |entry: &Fields<'_>| {
        entry.has("role")
            && entry
                .objects("contents")
                .iter()
                .all(|content| content.has("type"))
            && entry.list("contents").is_some()
    };
    if entries.iter().all(has_contents) {
        return Some(Dialect::AgentFramework);
    }
    if entries.iter().all(|entry| entry.has("role")) {
        return message_dialect(&entries, request);
    }
    let is_block = |entry: &Fields<'_>| match entry.text("type") {
        Some("tool_use") => entry.has("id") && entry.has("name"),
        Some("tool_result") => entry.has("tool_use_id"),
        _ => false,
    };
    if entries.iter().any(is_block) {
        return Some(Dialect::AnthropicMessages);
    }
    let is_converse = |entry: &Fields<'_>| entry.has("toolUse") || entry.has("toolResult");
    entries
        .iter()
        .any(is_converse)
        .then_some(Dialect::BedrockConverse)
}

/// The dialect of messages with a role.
fn message_dialect(messages: &[Fields<'_>], request: Option<&Fields<'_>>) -> Option<Dialect> {
    let has = |name: &str| request.is_some_and(|request| request.has(name));
    let blocks: Vec<Fields<'_>> = messages
        .iter()
        .flat_map(|message| message.objects("content"))
        .collect();
    let kinds: Vec<&str> = blocks
        .iter()
        .filter_map(|block| block.text("type"))
        .collect();
    if kinds.iter().any(|kind| {
        matches!(
            *kind,
            "input_text" | "output_text" | "input_image" | "input_file"
        )
    }) {
        return Some(Dialect::OpenaiResponses);
    }
    let is_untyped = |block: &Fields<'_>| {
        !block.has("type") && CONVERSE_BLOCKS.iter().any(|name| block.has(name))
    };
    if !blocks.is_empty() && blocks.iter().all(is_untyped)
        || has("inferenceConfig")
        || has("toolConfig")
    {
        return Some(Dialect::BedrockConverse);
    }
    if let Some(version) = request.and_then(|request| request.text("anthropic_version")) {
        return Some(match version.starts_with("bedrock") {
            true => Dialect::BedrockInvoke,
            false => Dialect::AnthropicMessages,
        });
    }
    let is_chat = |message: &Fields<'_>| {
        let role = message.text("role").unwrap_or_default();
        matches!(role, "tool" | "function" | "developer")
            || message.has("tool_calls")
            || message.has("function_call")
    };
    let tools = request
        .map(|request| request.objects("tools"))
        .unwrap_or_default();
    let chat = || {
        let by_model = request.is_some_and(Fields::is_mistral);
        let url = blocks.iter().any(|block| {
            block.text("image_url").is_some() || block.text("type") == Some("reference")
        });
        Some(if by_model || url {
            Dialect::MistralChat
        } else {
            Dialect::Functions
        })
    };
    if messages.iter().any(is_chat)
        || kinds.iter().any(|kind| CHAT_PARTS.contains(kind))
        || tools.iter().any(|tool| tool.has("function"))
    {
        return chat();
    }
    let anthropic = [
        "tool_use",
        "tool_result",
        "thinking",
        "redacted_thinking",
        "image",
        "document",
        "server_tool_use",
        "compaction",
        "search_result",
    ];
    let is_claude = request.is_some_and(|request| request.model().contains("claude"));
    if kinds.iter().any(|kind| anthropic.contains(kind))
        || is_claude
        || tools.iter().any(|tool| tool.has("input_schema"))
        || has("system")
    {
        return Some(Dialect::AnthropicMessages);
    }
    chat()
}
