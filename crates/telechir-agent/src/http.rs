//! One request, one bounded answer, over HTTP. It follows no redirect and sends a key in clear
//! text only to this machine itself.

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

/// Sizes and times of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpLimits {
    /// To reach the provider.
    pub connect: Duration,
    /// From the first byte sent to the last one read.
    pub total: Duration,
    /// Bytes of a request. Anthropic takes 32 MB, and so do we.
    pub request_bytes: usize,
    /// Bytes of an answer.
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

/// Why there is no answer. Texts read after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The address is none, or one that a key must not go to.
    #[error("use the address {address}: {problem}")]
    Address {
        /// The address.
        address: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// No certificates to check the provider's own with.
    #[error(
        "find this system's certificates (on Debian they come with the package ca-certificates)"
    )]
    Certificates {
        /// What went wrong.
        #[source]
        source: std::io::Error,
    },
    /// More than a provider takes.
    #[error("send the request: it has {bytes} bytes, and {limit} is the limit")]
    RequestTooLarge {
        /// What it has.
        bytes: usize,
        /// What it may have.
        limit: usize,
    },
    /// A header that is none.
    #[error("send the header {name}: its value cannot stand in a header")]
    Header {
        /// Its name.
        name: String,
    },
    /// The provider could not be reached, or the connection broke.
    #[error("reach {host}: {reason}")]
    Connection {
        /// Where.
        host: String,
        /// The innermost cause.
        reason: String,
    },
    /// Not within the limit.
    #[error("get an answer from {host} within {} s", limit.as_secs())]
    Timeout {
        /// Where.
        host: String,
        /// The limit.
        limit: Duration,
    },
    /// The answer is longer than we read.
    #[error("read the answer of {host}: it is longer than {limit} bytes")]
    ResponseTooLarge {
        /// Where.
        host: String,
        /// The limit.
        limit: usize,
    },
    /// The provider points somewhere else. The key stays here.
    #[error("get an answer from {host}: it points to {location}, and no redirect is followed")]
    Redirect {
        /// Where.
        host: String,
        /// Where to.
        location: String,
    },
}

/// An answer, whatever its status.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

#[derive(Clone, Debug)]
enum Road {
    Plain(Client<HttpConnector, Full<Bytes>>),
    Tls(Client<HttpsConnector<HttpConnector>, Full<Bytes>>),
}

/// A client for one provider.
#[derive(Clone, Debug)]
pub(crate) struct HttpClient {
    road: Road,
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
        let uri: Uri = base.parse().map_err(|_| problem("it is no address"))?;
        let authority = uri.authority().ok_or_else(|| problem("it names no host"))?;
        if authority.as_str().contains('@') || uri.query().is_some() {
            return Err(problem("it must be only a scheme, a host and a path"));
        }
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(limits.connect));
        connector.set_nodelay(true);
        let road = match uri.scheme_str() {
            Some("https") => {
                connector.enforce_http(false);
                Road::Tls(Client::builder(TokioExecutor::new()).build(tls(connector)?))
            }
            Some("http") if is_loopback(authority.host()) => {
                Road::Plain(Client::builder(TokioExecutor::new()).build(connector))
            }
            Some("http") => return Err(problem("a key would go there in clear text; use https")),
            _ => return Err(problem("it must begin with https://")),
        };
        let host = authority.as_str().to_owned();
        Ok(Self {
            road,
            base: base.trim_end_matches('/').to_owned(),
            host,
            limits,
        })
    }

    /// The address before the path; it holds no password.
    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    pub(crate) async fn post(
        &self,
        path: &str,
        headers: &[(String, String)],
        secret: (&'static str, &str),
        body: Bytes,
    ) -> Result<Answer, HttpError> {
        if body.len() > self.limits.request_bytes {
            return Err(HttpError::RequestTooLarge {
                bytes: body.len(),
                limit: self.limits.request_bytes,
            });
        }
        let request = self.build(path, headers, secret, body)?;
        let limit = self.limits.total;
        let exchange = tokio::time::timeout(limit, self.exchange(request));
        exchange.await.unwrap_or_else(|_| {
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
            problem: "it is no address",
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

    async fn exchange(&self, request: hyper::Request<Full<Bytes>>) -> Result<Answer, HttpError> {
        let sent = match &self.road {
            Road::Plain(client) => client.request(request).await,
            Road::Tls(client) => client.request(request).await,
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
        Ok(Answer {
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

/// An address without what stands before an `@`: it may be a password.
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
            "use the address http://example.com/v1: a key would go there in clear text; use https"
        );
    }

    #[test]
    fn refuses_what_is_no_base_address() {
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
    fn the_system_has_a_tls_road() {
        HttpClient::new("https://api.example.com", HttpLimits::default()).expect("certificates");
    }
}
