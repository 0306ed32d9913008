//! The DevTools endpoint of a running browser: its URL, and headers for gateways in front of it.

use std::fmt;

use hyper::header::{HeaderName, HeaderValue};
use url::Url;

use crate::redaction::Redaction;

/// Where a running browser is reached. Path, query and header values may be secret: neither `Debug`
/// nor an error shows them.
#[derive(Clone, PartialEq, Eq)]
pub struct CdpEndpoint {
    pub(crate) url: Url,
    headers: Vec<(HeaderName, HeaderValue)>,
}

/// Why an endpoint cannot be used. Contains no part of it that may be secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidEndpoint {
    /// The address is no URL of a DevTools endpoint.
    #[error("{0}")]
    Url(String),
    /// The header's name or value contains characters that headers cannot have.
    #[error("the header {0:?} has invalid characters in its name or value")]
    Header(String),
}

impl CdpEndpoint {
    /// An endpoint without headers. `http://` is the default scheme.
    ///
    /// # Errors
    /// If the address is no `http`, `https`, `ws` or `wss` URL with a host.
    pub fn new(address: &str) -> Result<Self, InvalidEndpoint> {
        let with_scheme = if address.contains("://") {
            address.to_owned()
        } else {
            format!("http://{address}")
        };
        let url = Url::parse(&with_scheme)
            .map_err(|error| InvalidEndpoint::Url(format!("invalid URL: {error}")))?;
        let is_known = matches!(url.scheme(), "http" | "https" | "ws" | "wss");
        if !is_known || !url.has_host() {
            let message = "expected a URL with http://, https://, ws:// or wss://";
            return Err(InvalidEndpoint::Url(message.to_owned()));
        }
        Ok(Self {
            url,
            headers: Vec::new(),
        })
    }

    /// Sends this header with discovery and with the WebSocket handshake.
    ///
    /// # Errors
    /// If the name or the value contains characters that headers cannot have.
    pub fn with_header(mut self, name: &str, value: &str) -> Result<Self, InvalidEndpoint> {
        let invalid = || InvalidEndpoint::Header(name.to_owned());
        let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| invalid())?;
        value.set_sensitive(true);
        self.headers.push((parsed, value));
        Ok(self)
    }

    pub(crate) fn headers(&self) -> &[(HeaderName, HeaderValue)] {
        &self.headers
    }

    /// Whether the address is that of a host alone.
    pub fn has_no_secret(&self) -> bool {
        self.url.path().len() <= 1
            && self.url.query().is_none()
            && self.url.fragment().is_none()
            && self.url.username().is_empty()
            && self.url.password().is_none()
    }

    /// Scheme, host and port.
    pub fn origin(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        let port = self.url.port().map(|port| format!(":{port}"));
        format!("{}://{host}{}", self.url.scheme(), port.unwrap_or_default())
    }

    /// A text of the other side without the secrets that it may repeat.
    pub(crate) fn redact(&self, text: &str) -> String {
        Redaction::of(self.secrets()).apply(text)
    }

    fn secrets(&self) -> Vec<String> {
        let url = &self.url;
        // A pair without a value is a secret itself.
        let pairs = url.query().unwrap_or_default().split('&');
        let pairs = pairs.map(|pair| match pair.split_once('=') {
            Some((_, value)) if !value.is_empty() => value.to_owned(),
            Some((name, _)) => name.to_owned(),
            None => pair.to_owned(),
        });
        let segments = url.path_segments().into_iter().flatten().map(str::to_owned);
        let user = [
            url.username(),
            url.password().unwrap_or_default(),
            url.fragment().unwrap_or_default(),
        ];
        let headers = self.headers.iter().flat_map(|(_, value)| {
            let value = value.to_str().unwrap_or_default();
            // The credential of a scheme, such as `Bearer`, is one by itself.
            let credential = value
                .split_once(' ')
                .map_or("", |(_, credential)| credential);
            [value.to_owned(), credential.to_owned()]
        });
        pairs
            .chain(segments)
            .chain(user.map(str::to_owned))
            .chain(headers)
            .filter(|secret| !PUBLIC_SEGMENTS.contains(&secret.as_str()))
            .collect()
    }
}

/// Path segments of every DevTools address.
const PUBLIC_SEGMENTS: [&str; 5] = ["devtools", "browser", "page", "json", "version"];

impl fmt::Debug for CdpEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("CdpEndpoint")
            .field("origin", &self.origin())
            .field("headers", &names)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_one_of_four_schemes() {
        let parsed = |text| {
            CdpEndpoint::new(text)
                .map(|found| found.url.to_string())
                .ok()
        };
        assert_eq!(
            parsed("127.0.0.1:9222").as_deref(),
            Some("http://127.0.0.1:9222/")
        );
        assert!(parsed("wss://host/devtools/browser/x?token=y").is_some());
        for wrong in ["", "file:///etc/passwd", "http://", "a b"] {
            assert_eq!(parsed(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn neither_debug_nor_a_foreign_text_shows_a_secret() {
        let endpoint =
            CdpEndpoint::new("wss://user1:pass1@host:8443/pathkey?token=s%20cret&b=other&bare0")
                .unwrap();
        let endpoint = endpoint.with_header("Authorization", "Bearer headerkey");
        let endpoint = endpoint.unwrap();
        let debug = format!("{endpoint:?}");
        assert!(debug.contains("wss://host:8443"), "{debug}");
        let echo = "no user1 pass1 pathkey s cret other bare0 headerkey here";
        let redacted = endpoint.redact(echo);
        let encoded = endpoint.redact("no s%20cret aGVhZGVya2V5 here");
        for secret in [
            "user1",
            "pass1",
            "pathkey",
            "s%20cret",
            "s cret",
            "other",
            "bare0",
            "headerkey",
            "aGVhZGVya2V5",
        ] {
            assert!(!debug.contains(secret), "{debug}");
            assert!(!encoded.contains(secret), "{encoded}");
            assert!(!redacted.contains(secret), "{redacted}");
        }
        assert!(redacted.starts_with("no ") && redacted.ends_with(" here"));
    }

    #[test]
    fn an_invalid_header_is_named_without_its_value() {
        let endpoint = CdpEndpoint::new("ws://h/x").unwrap();
        for (name, value) in [("a b", "v"), ("x-key", "line\nbreak")] {
            let error = endpoint.clone().with_header(name, value).unwrap_err();
            let text = error.to_string();
            assert!(text.contains(name) && !text.contains("break"), "{text}");
        }
    }
}
