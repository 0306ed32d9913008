//! Translates one request and one response of each dialect to every other.

use std::collections::BTreeMap;

use serde_json::Value;
use telechir_providers::{Dialect, Loss, TranslationOptions};

/// A document with what is around its messages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum EnvelopeKind {
    Request,
    Response,
}

impl EnvelopeKind {
    /// One document of each dialect that has such documents.
    fn documents(self) -> &'static str {
        match self {
            Self::Request => include_str!("../envelope/requests.json"),
            Self::Response => include_str!("../envelope/responses.json"),
        }
    }
}

/// The losses of one document on the way to one dialect.
#[derive(Debug)]
pub(crate) struct EnvelopeCell {
    pub(crate) from: Dialect,
    pub(crate) to: Dialect,
    pub(crate) losses: Vec<Loss>,
}

/// The cells of all ordered pairs of dialects.
pub(crate) fn cells(kind: EnvelopeKind) -> Vec<EnvelopeCell> {
    let documents: BTreeMap<String, Value> = serde_json::from_str(kind.documents()).unwrap();
    let of = |dialect: Dialect| Some((dialect, documents.get(dialect.name())?));
    let sources = Dialect::ALL.into_iter().filter_map(of);
    let pairs = sources
        .flat_map(|(from, document)| Dialect::ALL.into_iter().map(move |to| (from, to, document)));
    pairs
        .map(|(from, to, document)| {
            let text = document.to_string();
            let translated = from.translate(to, text.as_bytes(), &TranslationOptions::default());
            let translated =
                translated.unwrap_or_else(|error| panic!("{from} to {to}: failed to {error}"));
            EnvelopeCell {
                from,
                to,
                losses: translated.report.losses,
            }
        })
        .collect()
}
