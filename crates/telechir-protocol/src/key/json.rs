//! Keys in JSON: a chord is one string, or a list of names if a string is ambiguous.

use serde::{Deserialize, Serialize};

use super::{Chord, Key, spell};

/// A chord in JSON.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "the value is not a chord of keys")]
pub(super) enum ChordForm {
    /// The names of its keys, joined by `+`.
    Text(#[cfg_attr(feature = "schema", schemars(length(min = 1)))] String),
    /// The name of each key.
    Names(#[cfg_attr(feature = "schema", schemars(length(min = 1)))] Vec<String>),
}

impl From<Chord> for ChordForm {
    fn from(chord: Chord) -> Self {
        let text = spell(&chord.0);
        if Chord::parse(&text).as_ref() == Some(&chord) {
            Self::Text(text)
        } else {
            Self::Names(chord.0.iter().map(Key::to_string).collect())
        }
    }
}

impl TryFrom<ChordForm> for Chord {
    type Error = String;

    fn try_from(form: ChordForm) -> Result<Self, String> {
        match form {
            ChordForm::Text(text) => {
                Self::parse(&text).ok_or_else(|| format!("{text:?} is not a chord of keys"))
            }
            ChordForm::Names(names) => {
                let keys = names.iter().map(|name| Key::parse(name)).collect();
                Self::new(keys).ok_or_else(|| {
                    format!("{names:?} is not a chord of keys, at least one key, each with a name")
                })
            }
        }
    }
}
