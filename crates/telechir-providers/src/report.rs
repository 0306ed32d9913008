//! The fidelity report: what a translation could not represent, where, why, and what was preserved.

use serde::{Deserialize, Serialize};

/// One value that was not translated exactly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loss {
    /// The value, for example `modifiers of click` or `text_output`.
    pub what: String,
    /// The location, as a path or a call: `messages[2].content[0]`, `call toolu_01`.
    #[serde(rename = "where")]
    pub location: String,
    /// The reason, usually something that the target dialect lacks.
    pub why: String,
    /// How the value was preserved, for example `as a text item after the result`; absent if it was
    /// dropped.
    #[serde(rename = "kept", default, skip_serializing_if = "Option::is_none")]
    pub preserved_as: Option<String>,
}

/// All losses of one translation; empty if it was exact.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The losses, in the order of the document.
    pub losses: Vec<Loss>,
}

impl Report {
    /// Records a value that was dropped.
    pub fn lost(
        &mut self,
        what: impl Into<String>,
        location: impl Into<String>,
        why: impl Into<String>,
    ) {
        self.losses.push(Loss {
            what: what.into(),
            location: location.into(),
            why: why.into(),
            preserved_as: None,
        });
    }

    /// Records a value that was preserved in another form.
    pub fn preserved(
        &mut self,
        what: impl Into<String>,
        location: impl Into<String>,
        why: impl Into<String>,
        how: impl Into<String>,
    ) {
        let preserved_as = Some(how.into());
        self.losses.push(Loss {
            what: what.into(),
            location: location.into(),
            why: why.into(),
            preserved_as,
        });
    }

    /// Whether there are no losses.
    pub fn is_lossless(&self) -> bool {
        self.losses.is_empty()
    }

    /// Appends the losses of another report.
    pub fn absorb(&mut self, other: Self) {
        self.losses.extend(other.losses);
    }
}
