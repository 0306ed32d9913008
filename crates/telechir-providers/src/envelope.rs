//! Translates whole documents: requests and responses with everything around their messages.
//!
//! `request` and `response` read a document into neutral values and write the other provider's. The
//! tables in `settings`, `finish` and `usage` name the members of each API; the messages
//! themselves pass through the dialects' codecs. What has no counterpart is reported under its JSON
//! pointer.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the APIs without a member of their own share the last arm of a table"
)]

mod api;
mod choice;
mod error_body;
mod finish;
mod format;
mod history;
mod members;
mod reasoning;
mod request;
mod response;
mod settings;
mod shared_settings;
mod stream;
mod tools;
mod usage;

use std::collections::BTreeMap;

use serde_json::Value;
use telechir_protocol::json_limits;

use crate::{DecodeError, Dialect, EncodeError, Report};
use api::{Api, DocumentKind};

pub use history::SetAside;
pub use stream::{StreamTranslation, StreamTranslationError};

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

impl Dialect {
    /// Translates a request, a response, an error body or a history to another dialect. A document
    /// for the same dialect stays as it is, except for mapped model names. Neutral documents have no
    /// settings: from and to them, only the messages are translated.
    ///
    /// ```
    /// use telechir_providers::{Dialect, TranslationOptions};
    /// let request = br#"{"model": "m", "instructions": "Be brief.", "input": "Hi", "max_output_tokens": 9}"#;
    /// let options = TranslationOptions::default();
    /// let to = Dialect::AnthropicMessages;
    /// let translated = Dialect::OpenaiResponses.translate(to, request, &options)?;
    /// assert_eq!(translated.document["system"], "Be brief.");
    /// assert_eq!(translated.document["max_tokens"], 9);
    /// # Ok::<(), telechir_providers::TranslationError>(())
    /// ```
    ///
    /// # Errors
    /// If the document is not of this dialect, or lacks what the target requires.
    pub fn translate(
        self,
        to: Self,
        document: &[u8],
        options: &TranslationOptions,
    ) -> Result<TranslatedDocument, TranslationError> {
        let value = json_limits::parse(document).map_err(DecodeError::from)?;
        let (source, target) = (Api::of(self), Api::of(to));
        if self == to {
            return Ok(TranslatedDocument {
                document: settings::with_mapped_model(source, value, options),
                ..TranslatedDocument::default()
            });
        }
        if self == Self::Neutral || to == Self::Neutral {
            let mut translated = history::translate(self, to, document, options)?;
            for loss in &mut translated.report.losses {
                // Other reports of whole documents have JSON pointers.
                if value.get(&loss.location).is_some() {
                    loss.location.insert(0, '/');
                }
            }
            return Ok(translated);
        }
        match source.kind_of(&value) {
            DocumentKind::Request => request::translate(self, to, value, options),
            DocumentKind::Response => response::translate(self, to, value, options),
            DocumentKind::Error(error) => Ok(TranslatedDocument {
                document: error_body::write(target, &error),
                report: error_body::report(&value),
                ..TranslatedDocument::default()
            }),
            DocumentKind::Messages => history::translate(self, to, document, options),
        }
    }
}
