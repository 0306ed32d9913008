//! The conformance kit: decodes, encodes and compares documents of a provider, and splits streams
//! at every byte. Reads no files: the caller passes the manifest and the bytes.
//!
//! `manifest` lists the documents, `kinds` decides how to check a document of a kind, and `check`
//! runs the checks. `docs/conform.md` describes the format.

mod check;
mod documents;
mod kinds;
mod manifest;
mod recognize;
mod sdk;
mod streams;
mod strip_raw;
mod wild;

use serde::Serialize;
use serde_json::Value;

use crate::{Dialect, Loss};

pub use documents::{FoundDocument, FoundDocuments};
pub use manifest::{Manifest, ManifestError};
pub use recognize::{DocumentKind, recognize};
pub use sdk::{SdkTypes, sdk_types};
pub use strip_raw::without_raw;
pub use wild::{PairReport, WildReport, check_document, check_document_with, have_the_same_parts};

/// What a codec is expected to do with a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Expect {
    /// Decodes it and encodes it unchanged.
    Valid,
    /// Rejects it with an error that names the path, or answers its calls with an error.
    Invalid,
}

/// One document of a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vector {
    /// The file, relative to the manifest.
    pub file: String,
    /// The kind of document: `request`, `response`, `history`, `tools`, `stream`, …
    pub kind: String,
    /// The expected result of the checks.
    pub expect: Expect,
    /// What the document demonstrates; may be empty.
    pub about: String,
    /// The document's dialect, or a name that is not the name of a dialect.
    pub dialect: Result<Dialect, String>,
}

/// The result of one check of a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckResult {
    /// The check does not apply to documents of this kind.
    #[default]
    NotApplicable,
    /// The check met the expectation.
    Passed,
    /// The check failed; the row's `problems` have the reason.
    Failed,
}

/// The results of all checks of one document.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VectorReport {
    /// The file, relative to the manifest.
    pub file: String,
    /// The kind of document, as in the manifest.
    pub kind: String,
    /// The name of the document's dialect.
    pub dialect: String,
    /// The expected result of the checks.
    pub expect: Expect,
    /// Whether it was decoded, or rejected if that is expected.
    pub decode: CheckResult,
    /// Whether it was encoded again.
    pub encode: CheckResult,
    /// Whether the encoded document equals the original.
    pub identity: CheckResult,
    /// Whether a stream decodes identically however it is split.
    pub stream: CheckResult,
    /// Number of positions at which the stream was split.
    pub cuts: usize,
    /// Whether the neutral values alone, without raw JSON, encode to the original; absent where
    /// that does not apply. Not required: `docs/fidelity.md` lists the exceptions.
    #[serde(rename = "bare")]
    pub survives_without_raw: Option<bool>,
    /// The losses from decoding and encoding.
    pub losses: Vec<Loss>,
    /// Errors that rejected the document, where a rejection is expected.
    pub refusals: Vec<String>,
    /// Why the document is not checked; absent if it is.
    pub unchecked: Option<String>,
    /// Whether the file is in the manifest but not in the folder.
    pub missing: bool,
    /// Failed expectations; empty if the document passed.
    pub problems: Vec<String>,
}

impl VectorReport {
    /// Whether all expectations were met.
    pub fn is_good(&self) -> bool {
        self.problems.is_empty()
    }
}

impl Vector {
    /// Checks the document. `bytes` are the contents of `file`.
    pub fn check(&self, bytes: &[u8]) -> VectorReport {
        check::check(self, bytes)
    }

    /// The histories, requests and responses of the document with their dialect, to translate them;
    /// empty for tools, errors and documents that are expected to be rejected.
    pub fn translatable(&self, bytes: &[u8]) -> Vec<(Dialect, Value)> {
        check::translatable(self, bytes)
    }

    /// The row of a document whose file cannot be read, with the reason.
    pub fn unreadable(&self, problem: &str) -> VectorReport {
        check::unreadable(self, problem)
    }

    /// The row of a document whose file does not exist.
    pub fn missing(&self) -> VectorReport {
        check::missing(self)
    }
}
