//! Keys in JSON: a chord is one string, or a list of names if a string is ambiguous.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Chord, Key, Modifier, spell};

impl Chord {
    /// The chord as written: keys in order, letters in their case.
    fn spelling(&self) -> Option<String> {
        let text = spell(&self.0);
        (Self::parse(&text).as_ref() == Some(self)).then_some(text)
    }
}

impl Serialize for Chord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.spelling() {
            Some(text) => serializer.serialize_str(&text),
            None => serializer.collect_seq(self.0.iter().map(Key::to_string)),
        }
    }
}

impl<'de> Deserialize<'de> for Chord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum ChordForm {
            Text(String),
            Names(Vec<String>),
        }
        match ChordForm::deserialize(deserializer)? {
            ChordForm::Text(text) => Self::parse(&text)
                .ok_or_else(|| D::Error::custom(format_args!("invalid chord {text:?}"))),
            ChordForm::Names(names) => {
                Self::new(names.iter().map(|name| Key::parse(name)).collect()).ok_or_else(|| {
                    D::Error::custom("a chord needs at least one key, each with a name")
                })
            }
        }
    }
}

impl Serialize for Modifier {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Modifier {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::parse(&name)
            .ok_or_else(|| D::Error::custom(format_args!("unknown modifier key {name:?}")))
    }
}
