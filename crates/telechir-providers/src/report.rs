//! The fidelity report: what a translation could not say, where, why, and how it was kept.

use serde::{Deserialize, Serialize};

/// One thing that did not come through as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loss {
    /// What: `modifiers of click`, `text_output`.
    pub what: String,
    /// Where, as a path: `messages[2].content[0]`, `call toolu_01`.
    #[serde(rename = "where")]
    pub place: String,
    /// Why: what the target dialect lacks.
    pub why: String,
    /// How it was kept all the same: `as a text item after the result`; absent when it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
}

/// All of one translation's losses; empty means that nothing was lost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// In the order they were met.
    pub losses: Vec<Loss>,
}

impl Report {
    /// Notes something that is gone.
    pub fn lost(
        &mut self,
        what: impl Into<String>,
        place: impl Into<String>,
        why: impl Into<String>,
    ) {
        self.losses.push(Loss {
            what: what.into(),
            place: place.into(),
            why: why.into(),
            kept: None,
        });
    }

    /// Notes something that is said in another way.
    pub fn kept(
        &mut self,
        what: impl Into<String>,
        place: impl Into<String>,
        why: impl Into<String>,
        how: impl Into<String>,
    ) {
        let kept = Some(how.into());
        self.losses.push(Loss {
            what: what.into(),
            place: place.into(),
            why: why.into(),
            kept,
        });
    }

    /// Whether anything was noted.
    pub fn is_lossless(&self) -> bool {
        self.losses.is_empty()
    }

    /// Adds another report's losses.
    pub fn absorb(&mut self, other: Self) {
        self.losses.extend(other.losses);
    }
}
