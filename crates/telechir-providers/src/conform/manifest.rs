//! Reads a manifest: the documents of a folder and what is expected of each.

use serde_json::Value;

use super::{Expect, Vector};
use crate::Dialect;

/// The documents of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// The documents, in the manifest's order.
    pub vectors: Vec<Vector>,
}

/// Why a manifest cannot be read. Texts read after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// The manifest is not JSON.
    #[error("read the manifest as JSON: {0}")]
    NotJson(#[from] serde_json::Error),
    /// JSON that is not a manifest.
    #[error("read the manifest: {0}")]
    WrongShape(String),
}

impl Manifest {
    /// Reads a manifest. `fallback` is the dialect of documents without any other indication.
    ///
    /// # Errors
    /// If it is not JSON, an entry lacks its file or kind, or `expect` has an unknown value.
    pub fn read(bytes: &[u8], fallback: Option<Dialect>) -> Result<Self, ManifestError> {
        let manifest: Value = serde_json::from_slice(bytes)?;
        let entries = ["files", "vectors"]
            .iter()
            .find_map(|name| manifest.get(name)?.as_array())
            .ok_or_else(|| wrong("expected a list `files` or `vectors`"))?;
        let hint = DialectHint {
            manifest: text(&manifest, "dialect"),
            sdk: text(&manifest, "sdk").and_then(|sdk| sdk.split(' ').next()),
            fallback,
        };
        let read = |(at, entry)| vector(entry, at, &hint);
        let vectors = entries.iter().enumerate().map(read);
        Ok(Self {
            vectors: vectors.collect::<Result<_, _>>()?,
        })
    }

    /// Lists the documents of a folder without a manifest: all valid, with names like
    /// `kind__name.json`. A kind without a known provider gets the dialect of the other documents.
    pub fn from_names<'a>(
        files: impl IntoIterator<Item = &'a str>,
        fallback: Option<Dialect>,
    ) -> Self {
        let named = files
            .into_iter()
            .filter_map(|file| Some((file, file.split_once("__")?.0)));
        let named: Vec<(&str, &str)> = named.collect();
        let of_kinds = || {
            named
                .iter()
                .find_map(|(_, kind)| by_kind(kind)?.parse().ok())
        };
        let hint = DialectHint {
            manifest: None,
            sdk: None,
            fallback: fallback.or_else(of_kinds),
        };
        let vectors = named.iter().map(|(file, kind)| Vector {
            file: (*file).to_owned(),
            kind: (*kind).to_owned(),
            expect: Expect::Valid,
            about: String::new(),
            dialect: hint.of(None, kind),
        });
        Self {
            vectors: vectors.collect(),
        }
    }
}

fn wrong(problem: impl Into<String>) -> ManifestError {
    ManifestError::WrongShape(problem.into())
}

fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str()
}

fn vector(entry: &Value, at: usize, hint: &DialectHint<'_>) -> Result<Vector, ManifestError> {
    let member = |name: &str| {
        text(entry, name).ok_or_else(|| wrong(format!("entry {at} lacks the text field `{name}`")))
    };
    let (file, kind) = (member("file")?, member("kind")?);
    let expect = match text(entry, "expect") {
        None | Some("valid" | "accept") => Expect::Valid,
        // The vendor's declared type rejects it, although the service sends it: it must be decoded.
        Some("reject") => Expect::Valid,
        Some("invalid") => Expect::Invalid,
        Some(other) => {
            return Err(wrong(format!(
                "{file}: unknown `expect` value `{other}`; expected valid, invalid, accept or reject"
            )));
        }
    };
    let about = text(entry, "about").or_else(|| text(entry, "note"));
    Ok(Vector {
        file: file.to_owned(),
        kind: kind.to_owned(),
        expect,
        about: about.unwrap_or_default().to_owned(),
        dialect: hint.of(text(entry, "dialect"), kind),
    })
}

/// What a manifest says about the dialect of its documents.
struct DialectHint<'a> {
    manifest: Option<&'a str>,
    sdk: Option<&'a str>,
    fallback: Option<Dialect>,
}

/// Prefixes of kinds that select one dialect of a provider.
const KIND_PREFIXES: [(&str, &str); 9] = [
    ("gc_", "google-generate-content"),
    ("cu_calls", "google-generate-content"),
    ("ix_", "google-interactions"),
    ("conv_", "mistral-conversations"),
    ("entry", "mistral-conversations"),
    ("chat_", "mistral-chat"),
    ("converse_", "bedrock-converse"),
    ("invoke_model_body", "bedrock-invoke"),
    ("responses_", "openai-responses"),
];

/// The dialect of an SDK's documents without any other indication.
const SDKS: [(&str, &str); 5] = [
    ("anthropic", "anthropic-messages"),
    ("openai", "openai-responses"),
    ("google-genai", "google-generate-content"),
    ("mistralai", "mistral-conversations"),
    ("botocore", "bedrock-converse"),
];

/// The name of the dialect that a kind's prefix selects.
fn by_kind(kind: &str) -> Option<&'static str> {
    let found = KIND_PREFIXES
        .iter()
        .find(|(start, _)| kind.starts_with(start))?;
    Some(found.1)
}

impl DialectHint<'_> {
    /// The dialect of a document: from its entry, else from the manifest, else from its kind or
    /// SDK.
    fn of(&self, entry: Option<&str>, kind: &str) -> Result<Dialect, String> {
        let by_sdk = || Some(SDKS.iter().find(|(sdk, _)| Some(*sdk) == self.sdk)?.1);
        let by_kind_or_sdk = || by_kind(kind).or_else(by_sdk);
        let name = entry.or(self.manifest).or_else(by_kind_or_sdk);
        match (name, self.fallback) {
            (Some(name), _) => name.parse().map_err(|_| name.to_owned()),
            (None, Some(fallback)) => Ok(fallback),
            (None, None) => Err(String::new()),
        }
    }
}
