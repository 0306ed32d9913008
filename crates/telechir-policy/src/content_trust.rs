//! Whether a session has read content from sources that its policy does not trust.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Whether a session has read untrusted content, such as a page of any site. Clones share their
/// state: the session, and the proxies through which its programs reach the network.
///
/// Content that was read once may have instructed the model, so only a person can undo this.
#[derive(Clone, Debug, Default)]
pub struct ContentTrust(Arc<Mutex<Option<String>>>);

impl ContentTrust {
    /// Notes that untrusted content was read. The first source is kept until a person clears it.
    pub fn note_untrusted(&self, source: &str) {
        self.lock().get_or_insert_with(|| source.to_owned());
    }

    /// The first untrusted source; none if everything that was read is trusted.
    pub fn untrusted_source(&self) -> Option<String> {
        self.lock().clone()
    }

    /// Whether untrusted content was read.
    pub fn is_untrusted(&self) -> bool {
        self.lock().is_some()
    }

    /// Trusts everything that was read so far. Call this only on the decision of a person.
    pub fn restore(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> MutexGuard<'_, Option<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_untrusted_source_stays_until_a_person_clears_it() {
        let trust = ContentTrust::default();
        let shared = trust.clone();
        assert!(!trust.is_untrusted());
        shared.note_untrusted("a page of evil.example");
        shared.note_untrusted("another page");
        assert!(trust.is_untrusted());
        let source = trust.untrusted_source();
        assert_eq!(source.as_deref(), Some("a page of evil.example"));
        trust.restore();
        assert!(!shared.is_untrusted() && shared.untrusted_source().is_none());
    }
}
