//! How a document is translated, and what comes of it.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{DecodeError, EncodeError, Report};

/// How a document is translated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TranslationOptions {
    /// Names of models and what they become. A name that is not listed is kept.
    pub models: BTreeMap<String, String>,
    /// The model of a request that does not name one: some APIs have it in the path.
    pub model: Option<String>,
    /// What becomes of a model's readable thinking.
    pub thinking: ThinkingTranslation,
}

/// What becomes of readable thinking that the target dialect cannot represent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThinkingTranslation {
    /// It is dropped and reported.
    #[default]
    Drop,
    /// It becomes a text between `<thinking>` tags, which is reported.
    Text,
}

/// A translated document and what must be sent with it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TranslatedDocument {
    /// The other provider's request, response, error body or list of messages.
    pub document: Value,
    /// Headers that the request needs.
    pub headers: Vec<(String, String)>,
    /// The request's path after the base URL, if the API has the model in it.
    pub path: Option<String>,
    /// What could not be translated exactly.
    pub report: Report,
}

/// Why a document cannot be translated. Texts read after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum TranslationError {
    /// The document is not of the source dialect.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The target dialect requires something that the document lacks.
    #[error(transparent)]
    Encode(#[from] EncodeError),
}
