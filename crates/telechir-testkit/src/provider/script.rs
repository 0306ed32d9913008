//! The script of a recorded model: a hand-written JSON file, validated when read.

use serde::Deserialize;
use serde_json::{Map, Value};

/// The provider API that is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Provider {
    /// Anthropic Messages: `POST /v1/messages`.
    #[serde(rename = "anthropic-messages")]
    Anthropic,
    /// OpenAI Responses: `POST /v1/responses`.
    #[serde(rename = "openai-responses")]
    Openai,
    /// Google's generateContent: `POST /v1beta/models/MODEL:generateContent`.
    #[serde(rename = "google-generate-content")]
    Google,
    /// Google Interactions: `POST /v1beta/interactions`.
    #[serde(rename = "google-interactions")]
    GoogleSteps,
    /// `POST /v1/chat/completions` of a server that accepts only text in tool messages
    #[serde(rename = "functions")]
    Functions,
    /// `POST /v1/chat/completions` of a server that also accepts images in tool messages
    #[serde(rename = "functions-inline")]
    FunctionsInline,
    /// `POST /v1/chat/completions` of Mistral
    #[serde(rename = "mistral-chat")]
    MistralChat,
    /// Mistral Conversations: `POST /v1/conversations`.
    #[serde(rename = "mistral-conversations")]
    MistralConversations,
    /// Bedrock Converse: `POST /model/{id}/converse`.
    #[serde(rename = "bedrock-converse")]
    Converse,
    /// Anthropic Messages of Bedrock: `POST /anthropic/v1/messages`.
    #[serde(rename = "bedrock-messages")]
    BedrockMessages,
    /// Bedrock InvokeModel: `POST /model/{id}/invoke`.
    #[serde(rename = "bedrock-invoke")]
    BedrockInvoke,
}

/// The responses of a recorded model.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// Source of the responses, for readers.
    #[serde(default)]
    pub note: String,
    /// The provider API, by the dialect's name.
    #[serde(rename = "dialect")]
    pub provider: Provider,
    /// The turns in order; each is the response to one request.
    pub turns: Vec<ScriptTurn>,
}

/// The response to one request.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScriptTurn {
    /// Texts that the results in the request must contain.
    pub expect: Vec<Expectation>,
    /// Values to capture from these results; scripts cannot know them in advance.
    pub take: Vec<TakeRule>,
    /// The blocks (Anthropic), items (OpenAI), entries or the one message of the response, with
    /// `{{names}}` to fill in.
    #[serde(rename = "say")]
    pub content: Vec<Value>,
    /// Other fields of the response, such as `stop_reason`.
    pub with: Map<String, Value>,
    /// Repeats the turn, with `{{round}}` counted up, until a result contains a text.
    pub again: Option<RepeatUntil>,
    /// An error, an HTML page or an empty body instead of a response.
    pub fault: Option<Fault>,
}

/// Repetition of a turn, as by a model that waits for a window to open.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RepeatUntil {
    /// The condition that ends it; `{{round}}` in `call` is the round's number, from 1.
    pub until: Expectation,
    /// Maximum number of rounds.
    pub rounds: usize,
}

/// A text that a result must contain.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// Id of the call.
    pub call: String,
    /// The text, with `{{names}}` filled in.
    pub contains: String,
}

/// Captures a value from a result: the text between two others.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TakeRule {
    /// Name of the value for `{{name}}`.
    pub name: String,
    /// Id of the call.
    pub call: String,
    /// The text before the value.
    pub after: String,
    /// The text after the value.
    pub until: String,
}

/// An HTTP response with which a turn fails on purpose.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// The HTTP status code.
    pub status: u16,
    /// Additional headers, such as `retry-after`.
    #[serde(default)]
    pub headers: Map<String, Value>,
    /// The literal body; absent means the provider's error body.
    #[serde(default)]
    pub body: Option<String>,
}

/// Why a script is unusable. Texts read after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// The file cannot be read.
    #[error("read the script {path}")]
    Unreadable {
        /// Path of the file.
        path: String,
        /// The I/O error, also for text that is not UTF-8.
        #[source]
        source: std::io::Error,
    },
    /// The JSON does not match the script format.
    #[error("parse the script: {0}")]
    NotAScript(#[from] serde_json::Error),
    /// A turn with neither or both of a response and a fault.
    #[error("parse the script: turn {turn} must have either `say` or `fault`")]
    EmptyTurn {
        /// Number of the turn, from 1.
        turn: usize,
    },
}

impl Script {
    /// A script without turns: every request to the model is rejected.
    pub fn empty(provider: Provider) -> Self {
        Self {
            note: String::new(),
            provider,
            turns: Vec::new(),
        }
    }

    /// Parses a script.
    ///
    /// # Errors
    /// If the JSON is not a script, or a turn is empty.
    pub fn from_json(text: &str) -> Result<Self, ScriptError> {
        let script: Self = serde_json::from_str(text)?;
        let silent = |turn: &ScriptTurn| turn.content.is_empty() == turn.fault.is_none();
        match script.turns.iter().position(silent) {
            Some(index) => Err(ScriptError::EmptyTurn { turn: index + 1 }),
            None => Ok(script),
        }
    }

    /// Reads a script from a file.
    ///
    /// # Errors
    /// If the file cannot be read or parsed.
    pub fn open(path: &std::path::Path) -> Result<Self, ScriptError> {
        let unreadable = |source| ScriptError::Unreadable {
            path: path.display().to_string(),
            source,
        };
        Self::from_json(&std::fs::read_to_string(path).map_err(unreadable)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_an_empty_turn_and_an_unknown_field() {
        let silent = r#"{"dialect":"openai-responses","turns":[{}]}"#;
        assert!(matches!(
            Script::from_json(silent),
            Err(ScriptError::EmptyTurn { turn: 1 })
        ));
        let typo = r#"{"dialect":"openai-responses","turns":[{"says":[{}]}]}"#;
        assert!(matches!(
            Script::from_json(typo),
            Err(ScriptError::NotAScript(_))
        ));
    }
}
