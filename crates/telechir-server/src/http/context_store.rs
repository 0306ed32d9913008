//! Where browser contexts are stored, and how they are named.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use super::short_hash::short_hash;

/// Longest name of a context.
pub(super) const MAX_NAME_BYTES: usize = 32;

/// Keeps the contexts of all owners on disk. Its methods block, so they need a thread of their own.
pub trait ContextStore: fmt::Debug + Send + Sync + 'static {
    /// The contexts of the owner with this key, by name.
    ///
    /// # Errors
    /// If they cannot be read.
    fn list(&self, owner: &str) -> Result<Vec<ContextSummary>, ContextError>;

    /// The names of the owner's contexts, in any order. Looks at none of their data.
    ///
    /// # Errors
    /// If they cannot be read.
    fn names(&self, owner: &str) -> Result<Vec<String>, ContextError>;

    /// Creates a context, unless it exists; true if it did not.
    ///
    /// # Errors
    /// If it cannot be written.
    fn create(&self, context: &ContextKey) -> Result<bool, ContextError>;

    /// Whether a session uses a context.
    ///
    /// # Errors
    /// If that cannot be found out.
    fn is_in_use(&self, context: &ContextKey) -> Result<bool, ContextError>;

    /// Deletes a context with all its data; false if there is none.
    ///
    /// # Errors
    /// If it cannot be deleted, for example because a session uses it.
    fn delete(&self, context: &ContextKey) -> Result<bool, ContextError>;
}

/// Why a context cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContextError {
    /// A session uses it.
    InUse,
    /// Another reason, in a sentence.
    Failed(String),
}

/// Names a context: the same name of another owner is another context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextKey {
    /// Stands for the owner in names of files.
    pub owner: String,
    /// 1 to 32 letters, digits, `_` and `-`.
    pub name: String,
    /// The name of the browser profile that has its data.
    pub profile: String,
}

/// A context in the list: the size of its data, and when it was used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContextSummary {
    /// The name that its owner chose.
    pub name: String,
    /// Size of its data.
    pub bytes: u64,
    /// Seconds since a session last began to use it; absent if none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used_seconds_ago: Option<u64>,
    /// Whether a session uses it now: no other can use or delete it meanwhile.
    pub in_use: bool,
}

impl ContextKey {
    /// The context with this name of an owner; none if it is no name.
    pub fn new(owner: &str, name: &str) -> Option<Self> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let is_name = (1..=MAX_NAME_BYTES).contains(&name.len()) && name.chars().all(is_plain);
        is_name.then(|| Self {
            owner: Self::owner_key(owner),
            name: name.to_owned(),
            profile: format!("http-{}", short_hash(&format!("context\n{owner}\n{name}"))),
        })
    }

    /// What stands for an owner in names of files.
    pub(super) fn owner_key(owner: &str) -> String {
        short_hash(&format!("owner\n{owner}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_is_its_owners() {
        let key = |owner, name| ContextKey::new(owner, name).unwrap();
        let (ann, bob) = (key("agent/ann", "shop"), key("agent/bob", "shop"));
        assert_ne!((&ann.owner, &ann.profile), (&bob.owner, &bob.profile));
        assert_eq!(ann, key("agent/ann", "shop"));
        assert_ne!(ann.profile, key("agent/ann", "shops").profile);
        assert_eq!(ann.profile.len(), 31);
        for name in ["", "a/b", "..", "a b", "\u{e9}", &"a".repeat(33)] {
            assert_eq!(ContextKey::new("agent/ann", name), None, "{name}");
        }
    }
}
