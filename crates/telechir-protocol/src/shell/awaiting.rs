//! What a command that waits for input waits for.

use serde::{Deserialize, Serialize};

/// What a command waits for, as far as it can be seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InputRequest {
    /// What kind of input.
    pub kind: InputRequestKind,
    /// The end of what it printed, which is its question where it asks one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub prompt: String,
}

/// What kind of input a command waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum InputRequestKind {
    /// A line of text.
    Line,
    /// Text that the terminal does not show: a password.
    Hidden,
    /// The keys of a pager.
    Pager,
    /// The keys of an editor.
    Editor,
    /// The keys of another program that reads them one by one.
    Keys,
}

impl InputRequestKind {
    const ALL: [Self; 5] = [
        Self::Line,
        Self::Hidden,
        Self::Pager,
        Self::Editor,
        Self::Keys,
    ];

    /// The kind that [`Self::words`] gives these words.
    pub fn of_words(words: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.words() == words)
    }

    /// The kind in words, as in "it waits for …".
    pub fn words(self) -> &'static str {
        match self {
            Self::Line => "a line of text",
            Self::Hidden => "text that is not shown, such as a password",
            Self::Pager => "the keys of a pager",
            Self::Editor => "the keys of an editor",
            Self::Keys => "keys",
        }
    }
}
