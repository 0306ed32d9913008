//! A session's screen as an action service: `POST …/action` with one action, `GET …/screenshot` with
//! the pixels. Programs that know such a service by its base URL alone get one with a secret.
//!
//! Each is a turn of its own, judged and recorded like a model's, so points are those of the last
//! screenshot.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use telechir_host::{ScreenshotsFor, TurnKey};
use telechir_protocol::{
    Action, Button, Chord, ClickCount, ComputerCall, ComputerResult, Content, Failure, FailureKind,
    Media, ModelTurn, Point, ScrollUnit, Target, ToolResult,
};

use super::body;
use super::problem::{Problem, ProblemKind};
use super::request::{ApiRequest, Reach, reply};
use super::session_addresses::{self, ADDRESS_TIME, AddressUse, host};
use super::state::HttpState;
use super::turns::{Followed, execute};

/// Maximum bytes of an action.
pub(super) const MAX_BODY_BYTES: usize = 1 << 20;
/// Pixels of one unit of a scroll, and the units without a number.
const SCROLL_PIXELS: f64 = 100.0;
const DEFAULT_SCROLL: u32 = 3;
/// The wait of an action without a duration.
const DEFAULT_WAIT_MS: u64 = 1000;
/// A shorter wait is in seconds: no client waits for less than a tenth of one.
const LEAST_WAIT_MS: u64 = 100;

const TYPES: &str =
    "click, double_click, mouse_move, type, key, scroll, navigate, wait or screenshot";

/// An address for one program.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ActionAddressDocument {
    /// The base URL. It is a secret: whoever has it acts in the session.
    url: String,
    /// For programs that send the header `Authorization`: the same without a secret.
    url_with_header: String,
    /// Seconds until `url` is refused.
    expires_in_seconds: u64,
}

/// One action. Members that it does not need are absent or zero.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct ServiceAction {
    /// `click`, `double_click`, `mouse_move`, `type`, `key`, `scroll`, `navigate`, `wait` or `screenshot`.
    r#type: String,
    /// Pixels of the last screenshot from its left edge.
    x: Option<u32>,
    /// Pixels from its upper edge.
    y: Option<u32>,
    /// What is typed.
    text: String,
    /// Keys, such as `ctrl+a`.
    key: String,
    /// `up`, `down`, `left` or `right`.
    direction: String,
    /// Units of 100 pixels; three without it.
    amount: u32,
    /// What is opened.
    url: String,
    /// Milliseconds.
    duration: u64,
    /// A number drawn on the last screenshot; it has precedence over the point.
    label: u32,
}

impl ServiceAction {
    fn action(self) -> Result<Action, String> {
        let target = self.target();
        let needs_target = || {
            target
                .clone()
                .ok_or_else(|| "expected `x` and `y`, or `label`".to_owned())
        };
        let click = |at: Target, count: ClickCount| Action::Click {
            at: Some(at),
            button: Button::Left,
            count,
            modifiers: Vec::new(),
        };
        Ok(match self.r#type.as_str() {
            "click" => click(needs_target()?, ClickCount::Single),
            "double_click" => click(needs_target()?, ClickCount::Double),
            "mouse_move" => Action::Move {
                at: needs_target()?,
            },
            "type" => Action::Type {
                text: self.text,
                at: None,
                clear_first: false,
                submit: false,
            },
            "key" => Action::Key {
                chord: Chord::parse(&self.key)
                    .ok_or_else(|| format!("`key`: {:?} names no keys", self.key))?,
                repeat: 1,
            },
            "scroll" => {
                let amount = match self.amount {
                    0 => DEFAULT_SCROLL,
                    amount => amount,
                };
                let pixels = f64::from(amount) * SCROLL_PIXELS;
                let (dx, dy) = match self.direction.as_str() {
                    "up" => (0.0, -pixels),
                    "down" | "" => (0.0, pixels),
                    "left" => (-pixels, 0.0),
                    "right" => (pixels, 0.0),
                    other => {
                        return Err(format!(
                            "`direction`: expected up, down, left or right, found {other:?}"
                        ));
                    }
                };
                Action::Scroll {
                    at: target,
                    dx,
                    dy,
                    unit: ScrollUnit::Pixels,
                    modifiers: Vec::new(),
                }
            }
            "navigate" => Action::Navigate {
                url: self.url,
                tab: None,
            },
            "wait" => {
                let duration = match self.duration {
                    0 => Duration::from_millis(DEFAULT_WAIT_MS),
                    seconds @ ..LEAST_WAIT_MS => Duration::from_secs(seconds),
                    ms => Duration::from_millis(ms),
                };
                Action::Wait {
                    duration: Some(duration),
                }
            }
            "screenshot" => Action::Screenshot,
            other => return Err(format!("`type`: expected {TYPES}, found {other:?}")),
        })
    }

    /// The label, or the point; a coordinate that is zero may be absent.
    fn target(&self) -> Option<Target> {
        if self.label != 0 {
            return Some(Target::Label {
                n: self.label,
                frame: None,
            });
        }
        if self.x.is_none() && self.y.is_none() {
            return None;
        }
        let (x, y) = (self.x.unwrap_or_default(), self.y.unwrap_or_default());
        Some(Target::Point(Point::new(x, y)))
    }
}

/// `POST /v1/sessions/{id}/computer`
pub(super) async fn create(request: ApiRequest) -> Result<Response, Problem> {
    // Only to sessions that the caller may act in.
    request.session(Reach::Act).await?;
    let id = request.path("id");
    let addresses = &request.state.addresses;
    let secret = addresses.create(request.caller.token.clone(), id, AddressUse::Actions)?;
    let host = host(&request.headers);
    let scheme = match request.state.settings.is_https {
        true => "https",
        false => "http",
    };
    let document = ActionAddressDocument {
        url: format!("{scheme}://{host}/computer/{secret}"),
        url_with_header: format!("{scheme}://{host}/v1/sessions/{id}/computer"),
        expires_in_seconds: ADDRESS_TIME.as_secs(),
    };
    Ok(reply(StatusCode::CREATED, &document))
}

/// `POST …/action`
pub(super) async fn act(state: Arc<HttpState>, request: Request) -> Result<Response, Problem> {
    let (parts, content) = request.into_parts();
    let headers = parts.headers.clone();
    let bytes = body::length(&headers);
    let (request, _) = session_addresses::request(state, parts, AddressUse::Actions, bytes).await?;
    let content = body::read(&headers, content, MAX_BODY_BYTES).await?;
    let action: ServiceAction = body::parse(&content)?;
    let action = action
        .action()
        .map_err(|detail| Problem::new(ProblemKind::Unreadable, detail))?;
    let result = perform(&request, action).await?;
    let text = result.text_output;
    Ok(Json(json!({ "ok": true, "text": text })).into_response())
}

/// `GET …/screenshot`
pub(super) async fn screenshot(
    state: Arc<HttpState>,
    request: Request,
) -> Result<Response, Problem> {
    let (parts, _) = request.into_parts();
    let (request, _) = session_addresses::request(state, parts, AddressUse::Actions, 0).await?;
    let result = perform(&request, Action::Screenshot).await?;
    let missing = || {
        let detail = "the session has no screenshot of its screen";
        Problem::new(ProblemKind::NoScreenshot, detail)
    };
    let Some(Media::Data(media)) = result.screenshot else {
        return Err(missing());
    };
    let kind = media.media_type().ok_or_else(missing)?.to_owned();
    let bytes = media.base64().and_then(|data| STANDARD.decode(data).ok());
    let bytes = bytes.ok_or_else(missing)?;
    Ok(([(header::CONTENT_TYPE, kind)], bytes).into_response())
}

/// Executes one action as a turn of its own.
async fn perform(request: &ApiRequest, action: Action) -> Result<ComputerResult, Problem> {
    let client = request.session(Reach::Act).await?;
    let id = TurnKey::unique();
    let call = ComputerCall::new(id.as_str(), vec![action]);
    let turn = ModelTurn::new(vec![Content::ComputerCall(call)]);
    let turn = turn.map_err(|e| Problem::new(ProblemKind::Unreadable, e.to_string()))?;
    let executing = execute(request, &client, &turn, ScreenshotsFor::OnRequest);
    let followed = request.state.while_accepted(&request.caller, executing);
    let followed = followed.await?;
    let unanswered = || Problem::new(ProblemKind::NotAnswered, "the action has no result");
    let (_, Followed::Answered(results)) = followed else {
        return Err(unanswered());
    };
    let Some(ToolResult::Computer(result)) = results.into_iter().next() else {
        return Err(unanswered());
    };
    match result.error {
        None => Ok(result),
        Some(Failure { kind, message, .. }) => {
            let problem = match kind {
                FailureKind::Denied => ProblemKind::Denied,
                FailureKind::InvalidInput | FailureKind::Unsupported | FailureKind::Stale => {
                    ProblemKind::Unreadable
                }
                FailureKind::Device
                | FailureKind::Timeout
                | FailureKind::Cancelled
                | FailureKind::NotExecuted
                | FailureKind::Interrupted => ProblemKind::NotAnswered,
            };
            Err(Problem::new(problem, message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn action(text: &str) -> Result<Action, String> {
        serde_json::from_str::<ServiceAction>(text)
            .unwrap()
            .action()
    }

    #[test]
    fn an_action_is_read_as_its_clients_write_it() {
        let at = |x, y| Target::Point(Point::new(x, y));
        for (text, target) in [
            (r#"{"type":"click","x":3,"y":4}"#, at(3, 4)),
            (r#"{"type":"click","x":3}"#, at(3, 0)),
            (r#"{"type":"click","y":4}"#, at(0, 4)),
            (
                r#"{"type":"click","x":3,"y":4,"label":7}"#,
                Target::Label { n: 7, frame: None },
            ),
        ] {
            let Ok(Action::Click { at, count, .. }) = action(text) else {
                panic!("{text} is no click");
            };
            assert_eq!((at, count), (Some(target), ClickCount::Single), "{text}");
        }
        let double = action(r#"{"type":"double_click","x":1,"y":1}"#);
        assert!(matches!(
            double,
            Ok(Action::Click {
                count: ClickCount::Double,
                ..
            })
        ));
        let scroll = |text: &str| match action(text) {
            Ok(Action::Scroll { at, dx, dy, .. }) => (at.is_some(), dx, dy),
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(scroll(r#"{"type":"scroll"}"#), (false, 0.0, 300.0));
        let up = r#"{"type":"scroll","x":1,"y":1,"direction":"up","amount":2}"#;
        assert_eq!(scroll(up), (true, 0.0, -200.0));
        assert_eq!(
            scroll(r#"{"type":"scroll","direction":"left","amount":1}"#),
            (false, -100.0, 0.0)
        );
        let wait = |text: &str| match action(text) {
            Ok(Action::Wait { duration }) => duration.unwrap_or_default().as_millis(),
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(wait(r#"{"type":"wait"}"#), 1000);
        assert_eq!(wait(r#"{"type":"wait","duration":99}"#), 99_000);
        assert_eq!(wait(r#"{"type":"wait","duration":100}"#), 100);
        let key = action(r#"{"type":"key","key":"ctrl+a"}"#)
            .unwrap()
            .to_json();
        assert_eq!(key["key"], "ctrl+a");
        let text = action(r#"{"type":"type","text":"a b"}"#).unwrap().to_json();
        assert_eq!(text["text"], "a b");
    }

    #[test]
    fn an_action_that_means_nothing_is_refused() {
        for (text, problem) in [
            ("{}", "`type`"),
            (r#"{"type":"destroy"}"#, "destroy"),
            (r#"{"type":"click"}"#, "`x` and `y`"),
            (r#"{"type":"double_click","text":"a"}"#, "`x` and `y`"),
            (r#"{"type":"key"}"#, "names no keys"),
            (r#"{"type":"key","key":"ctrl+"}"#, "names no keys"),
            (r#"{"type":"scroll","direction":"away"}"#, "away"),
        ] {
            let refused = action(text).unwrap_err();
            assert!(refused.contains(problem), "{text}: {refused}");
        }
    }
}
