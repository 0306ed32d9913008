//! The conformance kit: documents of a provider through decode, encode and identity, streams
//! whole and cut at every byte. Knows no files: a manifest and the bytes are handed in.
//!
//! `manifest` reads what documents there are, `form` says what a document of a kind is read as,
//! `check` does it. The format is described in `docs/conform.md`.

mod bare;
mod check;
mod form;
mod manifest;
mod streams;

use serde::Serialize;

use crate::{Dialect, Loss};

pub use bare::without_raw;
pub use manifest::{Manifest, ManifestError};

/// What a translator should make of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Expect {
    /// It is read and comes back as it was.
    Valid,
    /// It is refused with an error that names the place, or its calls are answered with one.
    Invalid,
}

/// One document of a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vector {
    /// Its file, beside the manifest.
    pub file: String,
    /// What it is: `request`, `response`, `history`, `tools`, `stream`, …
    pub kind: String,
    /// What should become of it.
    pub expect: Expect,
    /// What it shows.
    pub about: String,
    /// Whose it is, or the name that no dialect has.
    pub dialect: Result<Dialect, String>,
}

/// How one check of a document ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// A document of this kind has nothing to check here.
    #[default]
    NotApplicable,
    /// As it should be.
    Passed,
    /// Not as it should be; the row's problems say what.
    Failed,
}

/// What became of one document.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Its file.
    pub file: String,
    /// Its kind.
    pub kind: String,
    /// Its dialect's name.
    pub dialect: String,
    /// What should become of it.
    pub expect: Expect,
    /// Is it read, or refused when it should be?
    pub decode: Verdict,
    /// Is it written again?
    pub encode: Verdict,
    /// Is what was written what was read?
    pub identity: Verdict,
    /// Is a stream the same wherever it is cut?
    pub stream: Verdict,
    /// Places at which the stream was cut.
    pub cuts: usize,
    /// Whether the neutral values alone, without the provider's own JSON, give it back; absent
    /// where that has no meaning. Not a demand: `docs/fidelity.md` says what they cannot.
    pub bare: Option<bool>,
    /// What the reports say was lost.
    pub losses: Vec<Loss>,
    /// What was refused, in the translator's words, where a refusal is right.
    pub refusals: Vec<String>,
    /// Why it is not checked here at all.
    pub unchecked: Option<String>,
    /// Whether the manifest names it and the folder does not have it.
    pub missing: bool,
    /// What is wrong; empty when the document passed.
    pub problems: Vec<String>,
}

impl Row {
    /// Whether everything is as it should be.
    pub fn is_good(&self) -> bool {
        self.problems.is_empty()
    }
}

impl Vector {
    /// Checks the document. It must have come from `file`.
    pub fn check(&self, bytes: &[u8]) -> Row {
        check::check(self, bytes)
    }

    /// The row of a document whose file cannot be read, and why.
    pub fn unreadable(&self, problem: &str) -> Row {
        check::unreadable(self, problem)
    }

    /// The row of a document whose file is not there.
    pub fn missing(&self) -> Row {
        check::missing(self)
    }
}
