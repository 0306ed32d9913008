//! Sends one HTTP request and reads one bounded response. Follows no redirects and sends keys in
//! clear text only to this machine.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue, LOCATION, USER_AGENT};
use hyper::{HeaderMap, Method, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

/// Size and time limits of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpLimits {
    /// Timeout for establishing the connection.
    pub connect: Duration,
    /// Timeout from the first byte sent to the last byte received.
    pub total: Duration,
    /// Maximum bytes of a request. The default is Anthropic's limit of 32 MB.
    pub request_bytes: usize,
    /// Maximum bytes of a response body.
    pub response_bytes: usize,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            total: Duration::from_secs(600),
            request_bytes: 32_000_000,
            response_bytes: 64 << 20,
        }
    }
}

/// Why no response arrived. Texts read after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The base URL is invalid, or a key must not be sent to it.
    #[error("use the base URL {address}: {problem}")]
    Address {
        /// The URL, without a password.
        address: String,
        /// The reason, as a sentence fragment.
        problem: &'static str,
    },
    /// The system has no root certificates.
    #[error("load this system's root certificates (Debian: install the package ca-certificates)")]
    Certificates {
        /// The error of the certificate store.
        #[source]
        source: std::io::Error,
    },
    /// The request exceeds the size limit.
    #[error("send the request: it has {bytes} bytes, the maximum is {limit}")]
    RequestTooLarge {
        /// Size of the request in bytes.
        bytes: usize,
        /// The maximum size in bytes.
        limit: usize,
    },
    /// A header's name or value contains invalid characters.
    #[error("send the header {name}: its name or value contains invalid characters")]
    Header {
        /// Name of the rejected header, without its value.
        name: String,
    },
    /// The connection failed or broke.
    #[error("reach {host}: {reason}")]
    Connection {
        /// Host and port of the provider.
        host: String,
        /// The innermost cause of the error.
        reason: String,
        /// Whether there was a connection, so that the request may have arrived.
        was_connected: bool,
    },
    /// No complete response within the limit.
    #[error("get a response from {host} within {} s", limit.as_secs())]
    Timeout {
        /// Host and port of the provider.
        host: String,
        /// Maximum duration of the whole exchange, including the connection.
        limit: Duration,
    },
    /// The response exceeds the size limit.
    #[error("read the response from {host}: it is longer than the maximum of {limit} bytes")]
    ResponseTooLarge {
        /// Host and port of the provider.
        host: String,
        /// The maximum size in bytes.
        limit: usize,
    },
    /// The provider redirects. Redirects are not followed, so that the key stays here.
    #[error(
        "get a response from {host}: it redirects to {location}, and redirects are not followed"
    )]
    Redirect {
        /// Host and port of the provider.
        host: String,
        /// Value of the `location` header.
        location: String,
    },
}

/// A request to a service. Header values are treated as secret.
#[derive(Clone)]
pub struct HttpRequest {
    /// Whether it reads, creates, changes or deletes.
    pub method: Method,
    /// Path and query, after the base URL.
    pub path: String,
    /// Headers in addition to content type and user agent.
    pub headers: Vec<(String, String)>,
    /// A JSON document, or nothing.
    pub body: Bytes,
}

/// Neither path, which may have a token in its query, nor headers nor body.
impl fmt::Debug for HttpRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let method = self.method.as_str();
        f.debug_struct("HttpRequest")
            .field("method", &method)
            .finish_non_exhaustive()
    }
}

/// A response with any status.
#[derive(Clone)]
pub struct HttpResponse {
    /// The HTTP status code.
    pub status: u16,
    headers: HeaderMap,
    /// All bytes after the headers; empty if there are none.
    pub body: Bytes,
}

impl HttpResponse {
    /// Whether the status says that the request was carried out.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The value of a header, if it is there and text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// Neither headers nor the body, which may have secrets.
impl fmt::Debug for HttpResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpResponse")
            .field("status", &self.status)
            .field("bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

#[derive(Clone, Debug)]
enum Connector {
    Plain(Client<HttpConnector, Full<Bytes>>),
    Tls(Client<HttpsConnector<HttpConnector>, Full<Bytes>>),
}

/// An HTTP client for one base URL.
#[derive(Clone, Debug)]
pub struct HttpClient {
    connector: Connector,
    base: String,
    host: String,
    limits: HttpLimits,
}

impl HttpClient {
    /// A client for this base URL. Connects with the first request.
    ///
    /// # Errors
    /// If the URL is invalid, a key would be sent in clear text to another machine, or the system
    /// has no root certificates.
    pub fn new(base: &str, limits: HttpLimits) -> Result<Self, HttpError> {
        let problem = |problem| HttpError::Address {
            address: without_user(base),
            problem,
        };
        let uri: Uri = base.parse().map_err(|_| problem("it is not a valid URL"))?;
        let authority = uri.authority().ok_or_else(|| problem("it has no host"))?;
        if authority.as_str().contains('@') || uri.query().is_some() {
            return Err(problem("expected only a scheme, a host and a path"));
        }
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(limits.connect));
        connector.set_nodelay(true);
        let connector = match uri.scheme_str() {
            Some("https") => {
                connector.enforce_http(false);
                Connector::Tls(Client::builder(TokioExecutor::new()).build(tls(connector)?))
            }
            Some("http") if is_loopback(authority.host()) => {
                Connector::Plain(Client::builder(TokioExecutor::new()).build(connector))
            }
            Some("http") => return Err(problem("the key would be sent in clear text; use https")),
            _ => return Err(problem("expected https://")),
        };
        let host = authority.as_str().to_owned();
        Ok(Self {
            connector,
            base: base.trim_end_matches('/').to_owned(),
            host,
            limits,
        })
    }

    /// The same client, on the same connections, with another [`HttpLimits::total`].
    #[must_use]
    pub fn with_total(&self, total: Duration) -> Self {
        let mut other = self.clone();
        other.limits.total = total;
        other
    }

    /// The URL before the path; contains no password.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Host and port of the service.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Sends a request and reads its response, whatever the status.
    ///
    /// # Errors
    /// If no complete response arrives within the limits, or it is a redirect.
    pub async fn send(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        self.send_in_pieces(request, |_| {}).await
    }

    /// Like [`Self::send`], and gives the body of a successful response to `piece` as it arrives.
    ///
    /// # Errors
    /// As [`Self::send`]; some pieces may have arrived before.
    pub async fn send_in_pieces(
        &self,
        request: HttpRequest,
        piece: impl FnMut(&[u8]) + Send,
    ) -> Result<HttpResponse, HttpError> {
        let bytes = request.body.len();
        let limit = self.limits.request_bytes;
        if bytes > limit {
            return Err(HttpError::RequestTooLarge { bytes, limit });
        }
        let request = self.build(request)?;
        let limit = self.limits.total;
        let exchange = tokio::time::timeout(limit, self.exchange(request, piece));
        exchange.await.unwrap_or_else(|_| {
            Err(HttpError::Timeout {
                host: self.host.clone(),
                limit,
            })
        })
    }

    fn build(&self, request: HttpRequest) -> Result<hyper::Request<Full<Bytes>>, HttpError> {
        let address = format!("{}{}", self.base, request.path);
        let has_body = !request.body.is_empty();
        let mut built = hyper::Request::new(Full::new(request.body));
        *built.method_mut() = request.method;
        *built.uri_mut() = address.parse().map_err(|_| HttpError::Address {
            // The path may have a token.
            address: self.base.clone(),
            problem: "the path of a request is not valid",
        })?;
        let map = built.headers_mut();
        if has_body {
            map.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        map.insert(
            USER_AGENT,
            HeaderValue::from_static(concat!("telechir/", env!("CARGO_PKG_VERSION"))),
        );
        for (name, value) in &request.headers {
            let bad = || HttpError::Header { name: name.clone() };
            let name = HeaderName::try_from(name).map_err(|_| bad())?;
            let mut value = HeaderValue::try_from(value).map_err(|_| bad())?;
            value.set_sensitive(true);
            map.append(name, value);
        }
        Ok(built)
    }

    async fn exchange(
        &self,
        request: hyper::Request<Full<Bytes>>,
        mut piece: impl FnMut(&[u8]) + Send,
    ) -> Result<HttpResponse, HttpError> {
        let sent = match &self.connector {
            Connector::Plain(client) => client.request(request).await,
            Connector::Tls(client) => client.request(request).await,
        };
        let broken =
            |error: &(dyn std::error::Error + 'static), was_connected| HttpError::Connection {
                host: self.host.clone(),
                reason: innermost(error),
                was_connected,
            };
        let (head, body) = sent
            .map_err(|error| broken(&error, !error.is_connect()))?
            .into_parts();
        if head.status.is_redirection() {
            let location = head
                .headers
                .get(LOCATION)
                .and_then(|value| value.to_str().ok())
                .unwrap_or("somewhere else");
            return Err(HttpError::Redirect {
                host: self.host.clone(),
                location: location.chars().take(200).collect(),
            });
        }
        let limit = self.limits.response_bytes;
        let body = Limited::new(body, limit).map_frame(|frame| {
            if let Some(data) = frame.data_ref().filter(|_| head.status.is_success()) {
                piece(data);
            }
            frame
        });
        let body = body.collect().await;
        let body = body.map_err(|error| match error.downcast_ref::<LengthLimitError>() {
            Some(_) => HttpError::ResponseTooLarge {
                host: self.host.clone(),
                limit,
            },
            None => broken(error.as_ref(), true),
        })?;
        Ok(HttpResponse {
            status: head.status.as_u16(),
            headers: head.headers,
            body: body.to_bytes(),
        })
    }
}

fn tls(connector: HttpConnector) -> Result<HttpsConnector<HttpConnector>, HttpError> {
    let builder = HttpsConnectorBuilder::new();
    let with_roots = builder
        .with_native_roots()
        .map_err(|source| HttpError::Certificates { source })?;
    Ok(with_roots
        .https_only()
        .enable_http1()
        .wrap_connector(connector))
}

/// Whether a host is this machine.
pub fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || bare
            .parse()
            .is_ok_and(|address: IpAddr| address.is_loopback())
}

/// The URL without user info, which may contain a password.
fn without_user(address: &str) -> String {
    match address.rsplit_once('@') {
        Some((_, host)) => format!("…@{host}"),
        None => address.to_owned(),
    }
}

fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(base: &str) -> String {
        HttpClient::new(base, HttpLimits::default())
            .expect_err("refused")
            .to_string()
    }

    #[test]
    fn sends_a_key_in_clear_text_only_to_this_machine() {
        for base in [
            "http://127.0.0.1:1",
            "http://localhost:1/v1",
            "http://[::1]:1",
        ] {
            HttpClient::new(base, HttpLimits::default()).expect(base);
        }
        assert_eq!(
            problem("http://example.com/v1"),
            "use the base URL http://example.com/v1: the key would be sent in clear text; use https"
        );
    }

    #[test]
    fn refuses_an_invalid_base_url() {
        for base in [
            "",
            "api.example.com",
            "ftp://example.com",
            "https://h/v1?key=1",
            "https://me:secret@h/",
        ] {
            let text = problem(base);
            assert!(!text.contains("secret"), "{text}");
        }
    }

    #[test]
    fn root_certificates_are_installed() {
        HttpClient::new("https://api.example.com", HttpLimits::default()).expect("certificates");
    }
}
