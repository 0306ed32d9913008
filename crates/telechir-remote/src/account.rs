//! A service with the user's key: signs requests, sends them, and says what a refusal means.

use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value};
use telechir_http::{
    ApiKey, Bytes, HttpClient, HttpError, HttpLimits, HttpRequest, HttpResponse, Method,
};
use url::Url;

use crate::error::{ServiceError, ServiceErrorKind};
use crate::service::{Auth, CallTemplate, Keys, RemoteService};
use crate::sigv4::{self, AwsKeys, SigningScope, Unsigned};

/// As much of a refusal's text explains it.
const MAX_QUOTED_CHARS: usize = 200;
/// Pauses before a request that changes nothing twice is sent again.
pub(crate) const PAUSES: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(1)];
/// A service that wants a longer pause is not waited for.
pub(crate) const MAX_PAUSE: Duration = Duration::from_secs(5);
/// AWS refuses signatures that are older.
const MAX_SKEW_SECONDS: i64 = 240;

/// Time and size limits of a service's answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccountLimits {
    /// Time for one answer. Creating a session can take a while.
    pub answer: Duration,
    /// Maximum bytes of an answer.
    pub answer_bytes: usize,
    /// How long a created session may need until it runs.
    pub start: Duration,
}

impl Default for AccountLimits {
    fn default() -> Self {
        Self {
            answer: Duration::from_secs(60),
            answer_bytes: 4 << 20,
            start: Duration::from_secs(60),
        }
    }
}

/// A service with the user's key. `Debug` shows neither the key nor the address.
pub struct ServiceAccount {
    service: &'static RemoteService,
    http: HttpClient,
    key: AccountKey,
    region: String,
    limits: AccountLimits,
    /// Seconds by which the service's clock is ahead of ours.
    clock_offset: AtomicI64,
}

enum AccountKey {
    Api(ApiKey),
    Aws(AwsKeys),
}

/// Why a request has no usable answer, and whether it may have been carried out.
#[derive(Debug)]
pub struct CallError {
    /// What the service answered, or why there is no answer.
    pub error: ServiceError,
    /// Whether it may have been carried out all the same.
    pub is_effect_unknown: bool,
    /// Whether it was only too early: a limit on requests, of which nothing was carried out.
    pub is_too_early: bool,
}

/// What a request has beside its body.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestExtras {
    /// Headers with names in lower case; they are signed, too.
    pub(crate) headers: Vec<(&'static str, String)>,
    /// Time for the answer, if it is not that of the account.
    pub(crate) limit: Option<Duration>,
}

/// The values of a request's placeholders.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RequestIds<'a> {
    pub(crate) id: &'a str,
    pub(crate) mark: &'a str,
    pub(crate) context: &'a str,
}

impl ServiceAccount {
    /// An account at a service; `variable` reads the environment, `region` is the one asked for.
    ///
    /// # Errors
    /// If the key or the base URL is missing or cannot be used.
    pub fn new(
        service: &'static RemoteService,
        region: Option<&str>,
        limits: AccountLimits,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ServiceError> {
        let wrong = |text: String| ServiceError::new(ServiceErrorKind::Configuration, text);
        let required = |name: &str| {
            variable(name).ok_or_else(|| {
                wrong(format!(
                    "{} needs a key: the environment variable {name} is not set",
                    service.title
                ))
            })
        };
        let checked = |name: &str| {
            ApiKey::new(&required(name)?).ok_or_else(|| {
                wrong(format!(
                    "the key in {name} has characters that keys do not have, such as a space; set \
                     the variable again"
                ))
            })
        };
        let key = match service.keys {
            Keys::One(name) => AccountKey::Api(checked(name)?),
            Keys::Aws => AccountKey::Aws(AwsKeys {
                id: checked("AWS_ACCESS_KEY_ID")?.reveal().to_owned(),
                secret: checked("AWS_SECRET_ACCESS_KEY")?.reveal().to_owned(),
                token: variable("AWS_SESSION_TOKEN"),
            }),
        };
        let region = region
            .map(str::to_owned)
            .or_else(|| variable("AWS_REGION"))
            .or_else(|| variable("AWS_DEFAULT_REGION"))
            .unwrap_or_default();
        if service.has_region_in_base() {
            let is_region = |c: char| c.is_ascii_alphanumeric() || c == '-';
            if region.is_empty() || !region.chars().all(is_region) {
                return Err(wrong(format!(
                    "{} needs a region, such as us-west-2: give --remote-region or set AWS_REGION",
                    service.title
                )));
            }
        }
        let base = match variable(service.base_variable) {
            Some(base) => base,
            None => service.base.replace("{region}", &region),
        };
        let http = HttpLimits {
            total: limits.answer,
            response_bytes: limits.answer_bytes,
            ..HttpLimits::default()
        };
        let http = HttpClient::new(&base, http)
            .map_err(|error| wrong(format!("{}: failed to {error}", service.base_variable)))?;
        Ok(Self {
            service,
            http,
            key,
            region,
            limits,
            clock_offset: AtomicI64::new(0),
        })
    }

    /// The row of the table whose key this is.
    pub fn service(&self) -> &'static RemoteService {
        self.service
    }

    /// The base URL, without anything secret.
    pub fn base(&self) -> &str {
        self.http.base()
    }

    /// The region of a service that has its regions in its base URL.
    pub fn region(&self) -> Option<&str> {
        self.service
            .has_region_in_base()
            .then_some(self.region.as_str())
    }

    pub(crate) fn limits(&self) -> AccountLimits {
        self.limits
    }

    /// The key of a service that takes it in an address.
    pub(crate) fn key_in_address(&self) -> &str {
        match &self.key {
            AccountKey::Api(key) => key.reveal(),
            AccountKey::Aws(_) => "",
        }
    }

    /// Sends a request once.
    pub(crate) async fn send(
        &self,
        call: &CallTemplate,
        ids: RequestIds<'_>,
        body: Option<&Value>,
    ) -> Result<Value, CallError> {
        let extras = RequestExtras::default();
        let response = self.exchange(call, ids, body, &extras).await?;
        self.document(&response)
    }

    /// Sends a request once, and returns its answer as it is.
    pub(crate) async fn exchange(
        &self,
        call: &CallTemplate,
        ids: RequestIds<'_>,
        body: Option<&Value>,
        extras: &RequestExtras,
    ) -> Result<HttpResponse, CallError> {
        let mut answered = self.attempt(call, ids, body, extras).await;
        if let Ok(response) = &answered
            && matches!(response.status, 401 | 403)
            && self.adjust_clock(response)
        {
            tracing::warn!("the clocks of this machine and of the service differ; signing again");
            answered = self.attempt(call, ids, body, extras).await;
        }
        self.judge(answered)
    }

    /// Sends a request that may be sent again, as often as it can help.
    pub(crate) async fn send_again(
        &self,
        call: &CallTemplate,
        ids: RequestIds<'_>,
        body: Option<&Value>,
    ) -> Result<Value, ServiceError> {
        let mut pauses = PAUSES.into_iter();
        loop {
            let failed = match self.send(call, ids, body).await {
                Ok(answer) => return Ok(answer),
                Err(failed) => failed.error,
            };
            let is_worth_it = matches!(
                failed.kind,
                ServiceErrorKind::Unreachable | ServiceErrorKind::Quota
            );
            let wanted = failed.retry_after.unwrap_or_default();
            match pauses.next() {
                Some(pause) if is_worth_it && wanted <= MAX_PAUSE => {
                    tokio::time::sleep(pause.max(wanted)).await;
                }
                _ => return Err(failed),
            }
        }
    }

    async fn attempt(
        &self,
        call: &CallTemplate,
        ids: RequestIds<'_>,
        body: Option<&Value>,
        extras: &RequestExtras,
    ) -> Result<HttpResponse, HttpError> {
        let (path, query) = expanded(call.path, ids);
        let body = match (body, call.body) {
            (Some(body), _) => Bytes::from(body.to_string()),
            (None, Some(members)) => Bytes::from(members_of(members, ids).to_string()),
            (None, None) => Bytes::new(),
        };
        let pairs = query
            .iter()
            .map(|(name, value)| format!("{}={}", percent(name), percent(value)));
        let separator = if query.is_empty() { "" } else { "?" };
        let target = format!("{path}{separator}{}", pairs.collect::<Vec<_>>().join("&"));
        let mut headers = match (&self.key, self.service.auth) {
            (AccountKey::Aws(keys), Auth::SigV4(name)) => {
                let full_path = format!("{}{path}", base_path(self.http.base()));
                let unsigned = Unsigned {
                    method: call.method,
                    path: &full_path,
                    query,
                    headers: extras.headers.clone(),
                    body: &body,
                };
                owned(sigv4::headers(
                    keys,
                    self.scope(name),
                    self.http.host(),
                    unsigned,
                ))
            }
            (AccountKey::Api(key), Auth::Header(name)) => {
                vec![(name.to_owned(), key.reveal().to_owned())]
            }
            (AccountKey::Api(key), _) => {
                vec![(
                    "authorization".to_owned(),
                    format!("Bearer {}", key.reveal()),
                )]
            }
            (AccountKey::Aws(_), Auth::Header(_) | Auth::Bearer) => Vec::new(),
        };
        headers.extend(owned(extras.headers.clone()));
        let request = HttpRequest {
            method: Method::from_bytes(call.method.as_bytes()).unwrap_or_default(),
            path: target,
            headers,
            body,
        };
        match extras.limit {
            Some(limit) => self.http.with_total(limit).send(request).await,
            None => self.http.send(request).await,
        }
    }

    /// The headers that sign the handshake at this address.
    pub(crate) fn signed_handshake(&self, address: &Url) -> Vec<(String, String)> {
        let (AccountKey::Aws(keys), Auth::SigV4(name)) = (&self.key, self.service.auth) else {
            return Vec::new();
        };
        let host = address.host_str().unwrap_or_default();
        let host = match address.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        let query = address.query_pairs();
        let unsigned = Unsigned {
            method: "GET",
            path: address.path(),
            query: query
                .map(|(name, value)| (name.into_owned(), value.into_owned()))
                .collect(),
            headers: Vec::new(),
            body: b"",
        };
        owned(sigv4::headers(keys, self.scope(name), &host, unsigned))
    }

    fn scope(&self, service: &'static str) -> SigningScope<'_> {
        let offset = self.clock_offset.load(Ordering::Relaxed);
        SigningScope {
            region: &self.region,
            service,
            at: now_seconds().saturating_add_signed(offset),
        }
    }

    /// Takes over the service's clock if ours is so wrong that it refuses signatures; whether it
    /// did.
    fn adjust_clock(&self, response: &HttpResponse) -> bool {
        let AccountKey::Aws(_) = self.key else {
            return false;
        };
        let theirs = response.header("date").map(httpdate::parse_http_date);
        let Some(Ok(theirs)) = theirs else {
            return false;
        };
        let theirs = theirs.duration_since(UNIX_EPOCH).unwrap_or_default();
        let signed = self.clock_offset.load(Ordering::Relaxed);
        let ours = now_seconds();
        let offset = i64::try_from(theirs.as_secs()).unwrap_or_default()
            - i64::try_from(ours).unwrap_or_default();
        let is_wrong = (offset - signed).abs() > MAX_SKEW_SECONDS;
        if is_wrong {
            self.clock_offset.store(offset, Ordering::Relaxed);
        }
        is_wrong
    }

    /// An answer, or what its refusal means.
    fn judge(&self, answered: Result<HttpResponse, HttpError>) -> Result<HttpResponse, CallError> {
        let name = self.service.title;
        let host = self.http.host();
        let unknown = |kind, text: String| CallError {
            error: ServiceError::new(kind, text),
            is_effect_unknown: true,
            is_too_early: false,
        };
        let response = match answered {
            Ok(response) => response,
            Err(error) => {
                let (kind, text) = match &error {
                    HttpError::Timeout { limit, .. } => (
                        ServiceErrorKind::Unreachable,
                        format!(
                            "{name} did not answer within {} s ({host})",
                            limit.as_secs_f64()
                        ),
                    ),
                    // The place may have a token.
                    HttpError::Redirect { .. } => (
                        ServiceErrorKind::Unreadable,
                        format!(
                            "{host} redirects, and redirects are not followed; check {}",
                            self.service.base_variable
                        ),
                    ),
                    HttpError::ResponseTooLarge { limit, .. } => (
                        ServiceErrorKind::Unreadable,
                        format!("the answer of {name} is longer than {limit} bytes"),
                    ),
                    HttpError::Address { .. }
                    | HttpError::Certificates { .. }
                    | HttpError::RequestTooLarge { .. }
                    | HttpError::Header { .. }
                    | HttpError::Connection { .. } => (
                        ServiceErrorKind::Unreachable,
                        format!("{name} cannot be reached: failed to {error}"),
                    ),
                };
                return Err(unknown(kind, text));
            }
        };
        match response.is_success() {
            true => Ok(response),
            false => Err(self.refusal(&response)),
        }
    }

    /// The document of an answer; nothing if it is empty.
    fn document(&self, response: &HttpResponse) -> Result<Value, CallError> {
        if response.body.iter().all(u8::is_ascii_whitespace) {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&response.body).map_err(|_| CallError {
            error: ServiceError::new(
                ServiceErrorKind::Unreadable,
                format!(
                    "the answer of {} is not JSON; check {}",
                    self.service.title, self.service.base_variable
                ),
            ),
            is_effect_unknown: true,
            is_too_early: false,
        })
    }

    fn refusal(&self, response: &HttpResponse) -> CallError {
        let name = self.service.title;
        let status = response.status;
        let reason = self.quoted(response);
        let keys = self.service.required_variables().join(" and ");
        let (kind, text) = match status {
            401 | 403 => (
                ServiceErrorKind::Unauthorized,
                format!(
                    "{name} refused the key in {keys} ({status}{reason}); check it, and that it has not expired"
                ),
            ),
            402 => (
                ServiceErrorKind::Quota,
                format!("{name} refused because of the account's plan or balance (402{reason})"),
            ),
            404 | 410 => (
                ServiceErrorKind::Gone,
                format!("{name} has no such session any more ({status}{reason})"),
            ),
            409 => (
                ServiceErrorKind::Busy,
                format!(
                    "{name} says that something is in use (409{reason}); a context can be used by one session at a time"
                ),
            ),
            429 => (
                ServiceErrorKind::Quota,
                format!(
                    "{name} refused because of a limit (429{reason}); close other sessions or try again later"
                ),
            ),
            408 | 500..=599 => (
                ServiceErrorKind::Unreachable,
                format!("{name} failed to answer ({status}{reason})"),
            ),
            _ => (
                ServiceErrorKind::Invalid,
                format!("{name} does not accept the request ({status}{reason})"),
            ),
        };
        let mut error = ServiceError::new(kind, text);
        let retry_after = response.header("retry-after");
        error.retry_after = retry_after
            .and_then(|seconds| seconds.trim().parse().ok())
            .map(Duration::from_secs);
        CallError {
            error,
            is_effect_unknown: matches!(status, 408 | 500..=599),
            is_too_early: status == 429,
        }
    }

    /// What a refusal says, as part of a message: without secrets and addresses.
    fn quoted(&self, response: &HttpResponse) -> String {
        let document: Value = serde_json::from_slice(&response.body).unwrap_or_default();
        let nested = &document["error"];
        let member = [
            &document["message"],
            &nested["message"],
            nested,
            &document["detail"],
        ];
        let reason = member.iter().find_map(|member| member.as_str());
        let raw = String::from_utf8_lossy(&response.body);
        let reason = reason.unwrap_or(&raw);
        let reason = match &self.key {
            AccountKey::Api(key) => reason.replace(key.reveal(), "…"),
            AccountKey::Aws(keys) => {
                let token = keys.token.iter().filter(|token| !token.is_empty());
                let secrets = [&keys.id, &keys.secret].into_iter().chain(token);
                secrets.fold(reason.to_owned(), |reason, secret| {
                    reason.replace(secret, "…")
                })
            }
        };
        let words = reason.split_whitespace();
        let words = words.map(|word| if word.contains("://") { "…" } else { word });
        let clean: String = words
            .collect::<Vec<_>>()
            .join(" ")
            .chars()
            .filter(|c| !c.is_control())
            .take(MAX_QUOTED_CHARS)
            .collect();
        match clean.as_str() {
            "" => String::new(),
            clean => format!(": {clean}"),
        }
    }
}

impl fmt::Debug for ServiceAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceAccount")
            .field("service", &self.service.name)
            .finish_non_exhaustive()
    }
}

fn owned(headers: Vec<(&'static str, String)>) -> Vec<(String, String)> {
    let headers = headers.into_iter();
    headers
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// Path and query of a template.
fn expanded(template: &str, ids: RequestIds<'_>) -> (String, Vec<(String, String)>) {
    let (path, query) = template.split_once('?').unwrap_or((template, ""));
    let encoded = RequestIds {
        id: &percent(ids.id),
        mark: &percent(ids.mark),
        context: &percent(ids.context),
    };
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let pairs = pairs.map(|(name, value)| (name.to_owned(), filled(value, ids)));
    (filled(path, encoded), pairs.collect())
}

fn members_of(members: &[(&str, &str)], ids: RequestIds<'_>) -> Value {
    let members = members.iter();
    let filled = members.map(|(name, value)| ((*name).to_owned(), filled(value, ids).into()));
    Value::Object(filled.collect::<Map<_, _>>())
}

fn filled(template: &str, ids: RequestIds<'_>) -> String {
    template
        .replace("{id}", ids.id)
        .replace("{mark}", ids.mark)
        .replace("{context}", ids.context)
}

fn percent(text: &str) -> String {
    sigv4::encoded(text, b"")
}

fn base_path(base: &str) -> String {
    let parsed = Url::parse(base);
    let path = parsed.map(|url| url.path().trim_end_matches('/').to_owned());
    path.unwrap_or_default()
}

fn now_seconds() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default().as_secs()
}
