//! What a recorded model says, turn by turn: a file, written by hand and checked when read.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::script_player;

/// Whose API is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Provider {
    /// `POST /v1/messages`
    #[serde(rename = "anthropic-messages")]
    Anthropic,
    /// `POST /v1/responses`
    #[serde(rename = "openai-responses")]
    Openai,
    /// `POST /v1beta/models/MODEL:generateContent`
    #[serde(rename = "google-generate-content")]
    Google,
    /// `POST /v1beta/interactions`
    #[serde(rename = "google-interactions")]
    GoogleSteps,
    /// `POST /v1/chat/completions` of a server whose tools' messages have only words
    #[serde(rename = "functions")]
    Functions,
    /// The same of a server whose tools' messages may have pictures
    #[serde(rename = "functions-inline")]
    FunctionsInline,
    /// `POST /v1/chat/completions` of Mistral
    #[serde(rename = "mistral-chat")]
    MistralChat,
    /// `POST /v1/conversations`
    #[serde(rename = "mistral-conversations")]
    MistralConversations,
    /// `POST /model/{id}/converse`
    #[serde(rename = "bedrock-converse")]
    Converse,
    /// `POST /anthropic/v1/messages`
    #[serde(rename = "bedrock-messages")]
    BedrockMessages,
    /// `POST /model/{id}/invoke`
    #[serde(rename = "bedrock-invoke")]
    BedrockInvoke,
}

/// A recorded model's words.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// Where the words come from; for readers.
    #[serde(default)]
    pub note: String,
    /// Whose API.
    #[serde(rename = "dialect")]
    pub provider: Provider,
    /// In order; each answers one request.
    pub turns: Vec<Turn>,
}

/// One request's answer.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Turn {
    /// What must be in the results that the request brings.
    pub expect: Vec<Expectation>,
    /// What later words take from these results. Nothing else can know it.
    pub take: Vec<TakeRule>,
    /// The blocks (Anthropic), items (OpenAI), entries or the one message of the answer, with `{{names}}` to fill in.
    pub say: Vec<Value>,
    /// Members of the answer beside `say`, such as `stop_reason`.
    pub with: Map<String, Value>,
    /// The same words again, with `{{round}}` counted up, until a result holds a text.
    pub again: Option<Again>,
    /// Instead of an answer: an error, a page, nothing.
    pub fault: Option<Fault>,
}

/// Looking again until something has happened, as a model does that finds a window still opening.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Again {
    /// What ends it; `{{round}}` in `call` is the round's number, from 1.
    pub until: Expectation,
    /// Rounds at most.
    pub rounds: usize,
}

/// A result must hold a text.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// The call whose result it is.
    pub call: String,
    /// The text, with `{{names}}` filled in.
    pub contains: String,
}

/// What is taken from a result: the text between two others.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TakeRule {
    /// The name to fill in later.
    pub name: String,
    /// The call whose result it is.
    pub call: String,
    /// The text before it.
    pub after: String,
    /// The text behind it.
    pub until: String,
}

/// An answer that is none.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// The HTTP status.
    pub status: u16,
    /// Headers, such as `retry-after`.
    #[serde(default)]
    pub headers: Map<String, Value>,
    /// The body as it is; absent means the provider's own error body.
    #[serde(default)]
    pub body: Option<String>,
}

/// Why a script cannot be played. Texts read after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// No such file.
    #[error("read the script {path}")]
    Unreadable {
        /// Which.
        path: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// Not a script.
    #[error("read the script: {0}")]
    NotAScript(#[from] serde_json::Error),
    /// A turn that says nothing, or both an answer and a fault.
    #[error("read the script: turn {turn} must have either `say` or `fault`")]
    EmptyTurn {
        /// Its number, from 1.
        turn: usize,
    },
}

impl Script {
    /// A script that says nothing: every request to the model is one too many.
    pub fn empty(provider: Provider) -> Self {
        Self {
            note: String::new(),
            provider,
            turns: Vec::new(),
        }
    }

    /// Reads a script.
    ///
    /// # Errors
    /// When it is none, or a turn says nothing.
    pub fn from_json(text: &str) -> Result<Self, ScriptError> {
        let script: Self = serde_json::from_str(text)?;
        let silent = |turn: &Turn| turn.say.is_empty() == turn.fault.is_none();
        match script.turns.iter().position(silent) {
            Some(index) => Err(ScriptError::EmptyTurn { turn: index + 1 }),
            None => Ok(script),
        }
    }

    /// Its answers as they go over HTTP, where nothing is filled in.
    pub fn answers(&self) -> Vec<Value> {
        let request = json!({"model": "recorded"});
        let spoken = self.turns.iter().filter(|turn| turn.fault.is_none());
        let answer = |(at, turn): (usize, &Turn)| {
            let with = Value::Object(turn.with.clone());
            script_player::answer(self.provider, &request, at + 1, &turn.say, &with)
        };
        spoken.enumerate().map(answer).collect()
    }

    /// Reads a script from a file.
    ///
    /// # Errors
    /// When there is none, or it cannot be read.
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
    fn refuses_a_turn_without_words_and_a_member_nobody_knows() {
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
