//! A service's API key: passed in, never printed.

use std::fmt;

/// A service's API key. `Debug` omits it.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// Trims and checks a key; none if it is empty or invalid in an HTTP header.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        let printable = text.bytes().all(|byte| byte.is_ascii_graphic());
        (!text.is_empty() && printable).then(|| Self(text.to_owned()))
    }

    /// The key itself, for a header or a signature.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::ApiKey;

    #[test]
    fn a_key_is_never_printed() {
        let key = ApiKey::new(" sk-secret\n").expect("a key");
        assert_eq!(format!("{key:?}"), "ApiKey(…)");
        assert_eq!(key.reveal(), "sk-secret");
    }

    #[test]
    fn refuses_a_key_that_injects_a_header() {
        assert_eq!(ApiKey::new("a\r\nx: y"), None);
        assert_eq!(ApiKey::new("  "), None);
    }
}
