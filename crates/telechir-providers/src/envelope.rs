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
mod declared_tools;
mod error_body;
mod finish;
mod format;
mod google_tools;
mod history;
mod members;
mod reasoning;
mod request;
mod response;
mod settings;
mod shared_settings;
mod stream;
mod tools;
mod translation;
mod usage;

use telechir_protocol::json_limits;

use crate::{DecodeError, Dialect, Report, precision};
use api::{Api, DocumentKind};

pub use history::SetAside;
pub use stream::{StreamTranslation, StreamTranslationError};
pub use translation::{
    ThinkingTranslation, TranslatedDocument, TranslationError, TranslationOptions,
};

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
        let mut report = Report::default();
        precision::report(document, "", &mut report);
        if self == to {
            return Ok(TranslatedDocument {
                document: settings::with_mapped_model(source, value, options),
                report,
                ..TranslatedDocument::default()
            });
        }
        if self == Self::Neutral || to == Self::Neutral {
            return history::translate(self, to, &value, document, options);
        }
        let mut translated = match source.kind_of(&value) {
            DocumentKind::Request => request::translate(self, to, value, options)?,
            DocumentKind::Response => response::translate(self, to, value, options)?,
            DocumentKind::Error(error) => {
                let (document, report) = error_body::translate(target, &error, &value);
                TranslatedDocument {
                    document,
                    report,
                    ..TranslatedDocument::default()
                }
            }
            // Their decoder reads the text itself.
            DocumentKind::Messages => {
                return history::translate(self, to, &value, document, options);
            }
        };
        report.absorb(std::mem::take(&mut translated.report));
        translated.report = report;
        Ok(translated)
    }
}
