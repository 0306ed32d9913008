//! Rules of live services that the types of their SDKs do not state. Encoders and validators use the
//! same rule.

use std::fmt;

use serde_json::Value;

use crate::EncodeError;

/// The names or ids that a service accepts: ASCII letters, digits and a few others.
pub(crate) struct NameRule {
    max_chars: usize,
    besides: &'static str,
    begins_with_letter: bool,
}

impl NameRule {
    const fn new(max_chars: usize, besides: &'static str) -> Self {
        Self {
            max_chars,
            besides,
            begins_with_letter: false,
        }
    }

    /// Whether the service accepts a name.
    pub(crate) fn accepts(&self, name: &str) -> bool {
        let is_begin = |c: char| c.is_ascii_alphabetic() || c == '_';
        (1..=self.max_chars).contains(&name.len())
            && name.chars().all(|c| self.has_char(c))
            && (!self.begins_with_letter || name.starts_with(is_begin))
    }

    /// Whether a name may contain a character.
    pub(crate) fn has_char(&self, c: char) -> bool {
        c.is_ascii_alphanumeric() || self.besides.contains(c)
    }

    /// Checks the name of a function before it is declared; `is_declared` if another one has it.
    pub(crate) fn check_function(
        &self,
        dialect: &'static str,
        name: &str,
        is_declared: bool,
    ) -> Result<(), EncodeError> {
        if !self.accepts(name) {
            let problem = format!("invalid function name `{name}`: expected {self}");
            return Err(EncodeError::missing(dialect, problem));
        }
        if is_declared {
            let problem = format!("duplicate function name `{name}`; names must be unique");
            return Err(EncodeError::missing(dialect, problem));
        }
        Ok(())
    }
}

/// The rule as the object of "expected".
impl fmt::Display for NameRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1 to {} letters, digits", self.max_chars)?;
        let mut besides = self.besides.chars().peekable();
        while let Some(c) = besides.next() {
            let before = if besides.peek().is_some() { "," } else { " or" };
            write!(f, "{before} `{c}`")?;
        }
        match self.begins_with_letter {
            true => f.write_str(", the first a letter or `_`"),
            false => Ok(()),
        }
    }
}

/// Names of functions in chat completions and Bedrock's tools.
pub(crate) const FUNCTION_NAME: NameRule = NameRule::new(64, "_-");
/// Names of functions at Anthropic and OpenAI.
pub(crate) const LONG_FUNCTION_NAME: NameRule = NameRule::new(128, "_-");
/// Names of functions at Google.
pub(crate) const GOOGLE_FUNCTION_NAME: NameRule = NameRule {
    begins_with_letter: true,
    ..NameRule::new(128, "_.:-")
};
/// Ids of calls at Anthropic.
pub(crate) const ANTHROPIC_CALL_ID: NameRule = NameRule::new(usize::MAX, "_-");
/// Ids of calls in Converse.
pub(crate) const CONVERSE_CALL_ID: NameRule = NameRule::new(64, "_.:-");
/// Ids of calls that Bedrock's APIs accept from other providers. A part of a call adds a suffix
/// such as `-12of34`.
pub(crate) const BEDROCK_CALL_ID: NameRule = NameRule::new(56, "_-");

/// The models whose tools a model has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Generation {
    /// Those with this version, such as 5.4.
    Numbered(u32, u32),
    /// Those before the first numbered version with tools of its own.
    Older,
    /// The newest ones, also for a name without a version.
    Newest,
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Numbered(major, 0) => write!(f, "the tools of version {major}"),
            Self::Numbered(major, minor) => write!(f, "the tools of version {major}.{minor}"),
            Self::Older => f.write_str("the tools of older models"),
            Self::Newest => f.write_str("the tools of the newest models"),
        }
    }
}

/// The version of Anthropic's API that has toolsets and no sampling.
pub(crate) const NEWEST_ANTHROPIC_VERSION: &str = "2026-10-21";
/// The members of a request to Anthropic that its newest version rejects.
pub(crate) const SAMPLING: [&str; 3] = ["temperature", "top_p", "top_k"];

/// The images that Anthropic's and Bedrock's services accept, by their format and media type.
pub(crate) const IMAGES: [(&str, &str); 4] = [
    ("png", "image/png"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
];

/// Whether Anthropic's and Bedrock's services accept images of this media type.
pub(crate) fn is_image_type(media_type: &str) -> bool {
    IMAGES.iter().any(|(_, accepted)| *accepted == media_type)
}

/// The type of the first toolset among tools of Anthropic's, which only some of its APIs have.
pub(crate) fn toolset(tools: &[Value]) -> Option<&str> {
    let mut types = tools.iter().filter_map(|tool| tool.get("type")?.as_str());
    types.find(|kind| kind.contains("_toolset_"))
}

#[cfg(test)]
mod tests {
    use super::{CONVERSE_CALL_ID, FUNCTION_NAME, GOOGLE_FUNCTION_NAME};

    #[test]
    fn a_name_has_a_length_and_its_characters() {
        assert!(FUNCTION_NAME.accepts("get_weather-2"));
        for name in ["", "a b", "a.b", "ü", &"n".repeat(65)] {
            assert!(!FUNCTION_NAME.accepts(name), "{name}");
        }
        assert!(CONVERSE_CALL_ID.accepts("functions.f:0"));
        assert!(GOOGLE_FUNCTION_NAME.accepts("_a.b") && !GOOGLE_FUNCTION_NAME.accepts("1a"));
    }

    #[test]
    fn a_rule_names_what_it_accepts() {
        assert_eq!(
            FUNCTION_NAME.to_string(),
            "1 to 64 letters, digits, `_` or `-`"
        );
        assert_eq!(
            GOOGLE_FUNCTION_NAME.to_string(),
            "1 to 128 letters, digits, `_`, `.`, `:` or `-`, the first a letter or `_`"
        );
    }
}
