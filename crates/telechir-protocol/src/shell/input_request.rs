//! The input that a waiting command needs.

use serde::{Deserialize, Serialize};

/// The input that a command waits for, as far as it can be observed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InputRequest {
    /// Whether the command reads a line, hidden text or single keys.
    pub kind: InputRequestKind,
    /// The last part of the output, which contains the question if the command asks one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub prompt: String,
}

/// The kind of input that a command waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum InputRequestKind {
    /// A line of text.
    Line,
    /// Text that the terminal does not echo: a password.
    Hidden,
    /// Keys of a pager, such as `less`.
    Pager,
    /// Keys of an editor, such as `vim`.
    Editor,
    /// Keys of another program that reads them one by one.
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

    /// The kind with this [`Self::description`] text.
    pub fn from_description(words: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.description() == words)
    }

    /// The kind as text, as in "it waits for …".
    pub fn description(self) -> &'static str {
        match self {
            Self::Line => "a line of text",
            Self::Hidden => "text that is not shown, such as a password",
            Self::Pager => "the keys of a pager",
            Self::Editor => "the keys of an editor",
            Self::Keys => "keys",
        }
    }
}
