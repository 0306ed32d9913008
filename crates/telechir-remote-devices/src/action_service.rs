//! A screen behind two routes: `POST …/action` performs one action, `GET …/screenshot` has the pixels.

mod steps;

use std::fmt;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use telechir_device::{
    ActionReport, Computer, DeviceEnd, DeviceError, Frame, ScreenAction, Settle, Settled,
};
use telechir_http::{
    ApiKey, Bytes, HttpClient, HttpError, HttpLimits, HttpRequest, HttpResponse, Method,
};
use telechir_image::{decode, is_image};
use telechir_protocol::{ActionKind, Size, UnsettledReason};
use tokio::time::sleep;

/// The device in messages.
const DEVICE: &str = "screen of the action service";
/// Time for one answer. The service may wait for a page meanwhile.
const ANSWER_TIME: Duration = Duration::from_secs(30);
/// A screenshot without compression of a large screen.
const MAX_ANSWER_BYTES: usize = 64 << 20;
/// Shorter parts of an address are words such as `v1`.
const MIN_SECRET_BYTES: usize = 8;
/// Maximum length of the text of a performed action.
const MAX_TEXT_CHARS: usize = 16_000;
/// As much of a refusal explains it.
const MAX_QUOTED_CHARS: usize = 300;
/// Tries for a screenshot, which changes nothing.
const SCREENSHOT_TRIES: u32 = 3;
/// The pause before such a try, and between the screenshots of a screen that settles.
const PAUSE: Duration = Duration::from_millis(200);

/// Where an action service is reached, and with which token. `Debug` shows neither.
#[derive(Clone)]
pub struct ActionServiceAddress {
    /// The base URL, to which the routes are added. It can have a secret in its path.
    base: String,
    /// Sent as a bearer token; absent if the service wants none.
    token: Option<ApiKey>,
}

impl ActionServiceAddress {
    /// An address: `https`, or `http` of this machine, with a path and without a query.
    ///
    /// # Errors
    /// With what is wrong, but without the address or the token, which can be secrets.
    pub fn new(base: &str, token: Option<&str>) -> Result<Self, String> {
        let checked = HttpClient::new(base, HttpLimits::default());
        checked.map_err(|error| address_problem(&error))?;
        let token = token.map(|token| {
            ApiKey::new(token).ok_or_else(|| {
                "the token in ACTION_SERVICE_TOKEN has characters that tokens do not have, such as \
                 a space; set the variable again"
                    .to_owned()
            })
        });
        Ok(Self {
            base: base.to_owned(),
            token: token.transpose()?,
        })
    }
}

impl fmt::Debug for ActionServiceAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ActionServiceAddress(…)")
    }
}

/// The screen of an action service.
pub struct ActionService {
    http: HttpClient,
    token: Option<ApiKey>,
    size: Size,
    /// How screenshots are asked for.
    method: Method,
}

impl fmt::Debug for ActionService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ActionService")
            .field("host", &self.http.host())
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}

impl ActionService {
    /// Connects and takes the first screenshot, which has the screen's size.
    ///
    /// # Errors
    /// If the address is not `https` or this machine, or there is no screenshot.
    pub async fn connect(address: &ActionServiceAddress) -> Result<Self, DeviceError> {
        let limits = HttpLimits {
            total: ANSWER_TIME,
            response_bytes: MAX_ANSWER_BYTES,
            ..HttpLimits::default()
        };
        let http = HttpClient::new(&address.base, limits);
        let http = http.map_err(|error| unavailable(address_problem(&error)))?;
        let mut service = Self {
            http,
            token: address.token.clone(),
            size: Size::new(1, 1),
            method: Method::GET,
        };
        let first = service.screenshot().await;
        let first = first.map_err(|error| unavailable(error.to_string()))?;
        service.size = first.size();
        Ok(service)
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<HttpResponse, HttpError> {
        let token = self.token.as_ref();
        let header = token.map(|token| {
            let value = format!("Bearer {}", token.reveal());
            ("authorization".to_owned(), value)
        });
        let request = HttpRequest {
            method,
            path: path.to_owned(),
            headers: header.into_iter().collect(),
            body: body.map_or_else(Bytes::new, |body| Bytes::from(body.to_string())),
        };
        self.http.send(request).await
    }

    /// Performs one step. It is sent once, whatever comes of it.
    async fn act(&self, step: &Value) -> Result<Option<String>, DeviceError> {
        let response = self.send(Method::POST, "/action", Some(step)).await;
        let response = response.map_err(|error| self.no_answer(&error))?;
        if !response.is_success() {
            return Err(self.refusal(&response));
        }
        let document: Value = serde_json::from_slice(&response.body).unwrap_or_default();
        let problem = match &document["error"] {
            Value::Null | Value::Bool(false) => None,
            Value::String(text) if text.is_empty() => None,
            Value::String(text) => Some(text.clone()),
            problem @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
                Some(problem.to_string())
            }
        };
        if document["ok"] == false || problem.is_some() {
            let reason = self.clean(problem.as_deref().unwrap_or("without a reason"));
            return Err(refused(format!(
                "The action service did not perform it: {reason}"
            )));
        }
        let text = document["text"].as_str().filter(|text| !text.is_empty());
        Ok(text.map(|text| shortened(&self.without_secrets(text))))
    }

    async fn screenshot(&mut self) -> Result<Frame, DeviceError> {
        let mut tries = 1;
        loop {
            let sent = self.send(self.method.clone(), "/screenshot", None).await;
            let error = match sent {
                Ok(response) if response.is_success() => return frame_of(&response.body),
                Ok(response)
                    if matches!(response.status, 404 | 405) && self.method == Method::GET =>
                {
                    self.method = Method::POST;
                    continue;
                }
                Ok(response) if response.status < 500 && response.status != 429 => {
                    return Err(self.refusal(&response));
                }
                Ok(response) => self.refusal(&response),
                Err(error) => self.no_screenshot(&error),
            };
            if tries == SCREENSHOT_TRIES {
                return Err(error);
            }
            tries += 1;
            sleep(PAUSE).await;
        }
    }

    /// Why an action has no answer, and what that means for its effect.
    fn no_answer(&self, error: &HttpError) -> DeviceError {
        match error {
            HttpError::Address { .. }
            | HttpError::Certificates { .. }
            | HttpError::RequestTooLarge { .. }
            | HttpError::Header { .. } => refused(format!(
                "The action was not sent to the action service: {}",
                address_problem(error)
            )),
            HttpError::Connection {
                was_connected: false,
                reason,
                ..
            } => gone(format!("{} cannot be reached: {reason}", self.http.host())),
            HttpError::Redirect { .. } => refused(format!(
                "{} redirects, and redirects are not followed; check the address of the action \
                 service",
                self.http.host()
            )),
            HttpError::Connection { .. }
            | HttpError::Timeout { .. }
            | HttpError::ResponseTooLarge { .. } => DeviceError::Reconnected {
                device: DEVICE,
                is_effect_unknown: true,
                remedy: "Take a screenshot to see",
            },
        }
    }

    fn no_screenshot(&self, error: &HttpError) -> DeviceError {
        let host = self.http.host();
        gone(match error {
            HttpError::Timeout { limit, .. } => {
                format!("{host} sent no screenshot within {} s", limit.as_secs())
            }
            HttpError::Connection { reason, .. } => format!("{host} cannot be reached: {reason}"),
            HttpError::ResponseTooLarge { limit, .. } => {
                format!("the screenshot of {host} is longer than {limit} bytes")
            }
            HttpError::Redirect { .. } => {
                format!("{host} redirects, and redirects are not followed")
            }
            HttpError::Address { .. }
            | HttpError::Certificates { .. }
            | HttpError::RequestTooLarge { .. }
            | HttpError::Header { .. } => address_problem(error),
        })
    }

    /// What an answer means that is no success.
    fn refusal(&self, response: &HttpResponse) -> DeviceError {
        let status = response.status;
        let reason = self.reason(response);
        match status {
            401 => gone(format!(
                "the action service wants another token (401{reason}); check ACTION_SERVICE_TOKEN"
            )),
            404 | 410 => gone(format!(
                "the action service has no such screen ({status}{reason})"
            )),
            408 | 500..=599 => DeviceError::Reconnected {
                device: DEVICE,
                is_effect_unknown: true,
                remedy: "The service reported an error of its own; take a screenshot to see",
            },
            429 => refused(format!(
                "The action service is busy (429{reason}); the action was not performed, try again \
                 later"
            )),
            _ => refused(format!(
                "The action service refused the action ({status}{reason})"
            )),
        }
    }

    /// What a refusal says, as part of a message.
    fn reason(&self, response: &HttpResponse) -> String {
        let document: Value = serde_json::from_slice(&response.body).unwrap_or_default();
        let members = ["detail", "message", "error"].into_iter();
        let mut members = members.filter_map(|name| document[name].as_str());
        let raw = String::from_utf8_lossy(&response.body);
        let text = members.next().unwrap_or(&raw);
        match self.clean(text).as_str() {
            "" => String::new(),
            clean => format!(": {clean}"),
        }
    }

    /// A text of the service without its token and the parts of its address, which can be a secret.
    fn without_secrets(&self, text: &str) -> String {
        let token = self.token.as_ref().map(ApiKey::reveal);
        let base = self.http.base();
        let path = base
            .split_once("://")
            .and_then(|(_, rest)| rest.split_once('/'));
        let parts = path.into_iter().flat_map(|(_, path)| path.split('/'));
        let parts = parts.filter(|part| part.len() >= MIN_SECRET_BYTES);
        let secrets = token.into_iter().chain(parts);
        secrets.fold(text.to_owned(), |text, secret| text.replace(secret, "…"))
    }

    /// A text of the service without its token, addresses and control characters.
    fn clean(&self, text: &str) -> String {
        let text = self.without_secrets(text);
        let words = text.split_whitespace();
        let words = words.map(|word| if word.contains("://") { "…" } else { word });
        let words: Vec<&str> = words.collect();
        let visible = words.join(" ");
        let visible = visible.chars().filter(|c| !c.is_control());
        visible.take(MAX_QUOTED_CHARS).collect()
    }
}

/// A text of an action, cut if it is long.
fn shortened(text: &str) -> String {
    let count = text.chars().count();
    if count <= MAX_TEXT_CHARS {
        return text.to_owned();
    }
    let start: String = text.chars().take(MAX_TEXT_CHARS).collect();
    format!("{start}\n[the first {MAX_TEXT_CHARS} of {count} characters]")
}

#[async_trait]
impl Computer for ActionService {
    fn size(&self) -> Size {
        self.size
    }

    fn supports(&self, kind: &ActionKind) -> bool {
        steps::KINDS.contains(kind)
    }

    async fn capture(&mut self) -> Result<Frame, DeviceError> {
        let frame = self.screenshot().await?;
        self.size = frame.size();
        Ok(frame)
    }

    async fn perform(&mut self, action: &ScreenAction) -> Result<ActionReport, DeviceError> {
        let mut texts = Vec::new();
        let steps = steps::of(action)?;
        for (at, step) in steps.iter().enumerate() {
            match self.act(step).await {
                Ok(text) => texts.extend(text),
                // Its first steps were performed.
                Err(DeviceError::Refused { message }) if at > 0 => {
                    let name = steps::name(&steps[0]);
                    return Err(refused(format!(
                        "{message} (after `{name}`, which was performed)"
                    )));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(ActionReport {
            text: (!texts.is_empty()).then(|| texts.join("\n")),
            ..ActionReport::delivered()
        })
    }

    async fn settle(&mut self, settle: Settle) -> Result<Settled, DeviceError> {
        Ok(self.settle_and_capture(settle).await?.1)
    }

    /// The service says nothing about its screen, so screenshots are compared.
    async fn settle_and_capture(
        &mut self,
        settle: Settle,
    ) -> Result<(Frame, Settled), DeviceError> {
        let started = Instant::now();
        let mut frame = self.capture().await?;
        let mut unchanged_since = Instant::now();
        loop {
            let unsettled = match (unchanged_since.elapsed() >= settle.quiet, started.elapsed()) {
                (true, _) => None,
                (false, waited) if waited >= settle.ceiling => Some(UnsettledReason::StillChanging),
                (false, _) => {
                    sleep(PAUSE.min(settle.quiet)).await;
                    let next = self.capture().await?;
                    if !next.is_known_equal(&frame) {
                        unchanged_since = Instant::now();
                    }
                    frame = next;
                    continue;
                }
            };
            let settled = Settled {
                unsettled,
                waited: started.elapsed(),
                animated_region: None,
            };
            return Ok((frame, settled));
        }
    }

    /// Each of its actions releases what it presses.
    async fn release_inputs(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }

    /// The screen is the service's, and stays.
    async fn close(self: Box<Self>) -> Result<(), DeviceError> {
        Ok(())
    }
}

/// The pixels in an answer: an image, or the base64 of one as text.
fn frame_of(body: &[u8]) -> Result<Frame, DeviceError> {
    let image = match is_image(body) {
        true => Some(body.to_vec()),
        false => from_base64(body),
    };
    let no_image =
        || gone("its answer is neither a PNG, WebP or JPEG nor the base64 of one".to_owned());
    let decoded = decode(image.ok_or_else(no_image)?);
    decoded.map_err(|error| gone(format!("its screenshot cannot be used: failed to {error}")))
}

fn from_base64(body: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(body).ok()?.trim().trim_matches('"');
    let text = match text.split_once(";base64,") {
        Some((kind, data)) if kind.starts_with("data:image/") => data,
        Some(_) | None => text,
    };
    let text: String = text.split_ascii_whitespace().collect();
    let bytes = STANDARD.decode(text).ok()?;
    is_image(&bytes).then_some(bytes)
}

/// What is wrong with an address, without the address: it can have a secret.
fn address_problem(error: &HttpError) -> String {
    if let HttpError::Address { problem, .. } = error {
        return format!("the base URL of the action service cannot be used: {problem}");
    }
    format!("failed to {error}")
}

fn unavailable(message: String) -> DeviceError {
    DeviceError::Unavailable {
        what: "the screen of the action service",
        message,
    }
}

fn gone(reason: String) -> DeviceError {
    DeviceError::Disconnected {
        device: DEVICE,
        source: Box::new(DeviceEnd { reason }),
    }
}

fn refused(message: String) -> DeviceError {
    DeviceError::Refused { message }
}
