//! Sends one HTTP request and reads one bounded response. Follows no redirects and sends keys in
//! clear text only to this machine.

use std::net::IpAddr;
use std::time::Duration;

use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue, LOCATION, USER_AGENT};
use hyper::{HeaderMap, StatusCode, Uri};
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

/// A response with any status.
#[derive(Clone, Debug)]
pub(crate) struct HttpResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl HttpResponse {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

#[derive(Clone, Debug)]
enum Connector {
    Plain(Client<HttpConnector, Full<Bytes>>),
    Tls(Client<HttpsConnector<HttpConnector>, Full<Bytes>>),
}

/// An HTTP client for one base URL.
#[derive(Clone, Debug)]
pub(crate) struct HttpClient {
    connector: Connector,
    base: String,
    host: String,
    limits: HttpLimits,
}

impl HttpClient {
    pub(crate) fn new(base: &str, limits: HttpLimits) -> Result<Self, HttpError> {
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

    /// The URL before the path; contains no password.
    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    pub(crate) async fn post(
        &self,
        path: &str,
        headers: &[(String, String)],
        secret: (&'static str, &str),
        body: Bytes,
    ) -> Result<HttpResponse, HttpError> {
        if body.len() > self.limits.request_bytes {
            return Err(HttpError::RequestTooLarge {
                bytes: body.len(),
                limit: self.limits.request_bytes,
            });
        }
        let request = self.build(path, headers, secret, body)?;
        let limit = self.limits.total;
        let send = tokio::time::timeout(limit, self.send(request));
        send.await.unwrap_or_else(|_| {
            Err(HttpError::Timeout {
                host: self.host.clone(),
                limit,
            })
        })
    }

    fn build(
        &self,
        path: &str,
        headers: &[(String, String)],
        secret: (&'static str, &str),
        body: Bytes,
    ) -> Result<hyper::Request<Full<Bytes>>, HttpError> {
        let address = format!("{}{path}", self.base);
        let mut request = hyper::Request::new(Full::new(body));
        *request.method_mut() = hyper::Method::POST;
        *request.uri_mut() = address.parse().map_err(|_| HttpError::Address {
            address,
            problem: "it is not a valid URL",
        })?;
        let map = request.headers_mut();
        map.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        map.insert(
            USER_AGENT,
            HeaderValue::from_static(concat!("telechir/", env!("CARGO_PKG_VERSION"))),
        );
        for (name, value) in headers {
            let bad = || HttpError::Header { name: name.clone() };
            let name = HeaderName::try_from(name).map_err(|_| bad())?;
            map.append(name, HeaderValue::try_from(value).map_err(|_| bad())?);
        }
        let (name, value) = secret;
        let mut value = HeaderValue::try_from(value).map_err(|_| HttpError::Header {
            name: name.to_owned(),
        })?;
        value.set_sensitive(true);
        map.insert(HeaderName::from_static(name), value);
        Ok(request)
    }

    async fn send(&self, request: hyper::Request<Full<Bytes>>) -> Result<HttpResponse, HttpError> {
        let sent = match &self.connector {
            Connector::Plain(client) => client.request(request).await,
            Connector::Tls(client) => client.request(request).await,
        };
        let broken = |error: &(dyn std::error::Error + 'static)| HttpError::Connection {
            host: self.host.clone(),
            reason: innermost(error),
        };
        let (head, body) = sent.map_err(|error| broken(&error))?.into_parts();
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
        let read = Limited::new(body, limit).collect().await;
        let body = read.map_err(|error| match error.downcast_ref::<LengthLimitError>() {
            Some(_) => HttpError::ResponseTooLarge {
                host: self.host.clone(),
                limit,
            },
            None => broken(error.as_ref()),
        })?;
        Ok(HttpResponse {
            status: head.status,
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

fn is_loopback(host: &str) -> bool {
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
