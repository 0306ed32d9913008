//! What is particular to each service: its paths, its key, its JSON.

use std::net::SocketAddr;

use serde_json::{Value, json};

use super::http::ReceivedRequest;
use super::{DoubleSession, KEY, LIVE_VIEW_SECRET, Verb};

/// When every session was created.
const CREATED_AT: &str = "2026-11-22T13:04:33Z";

/// A service that a double plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Face {
    /// As documented at <https://docs.steel.dev>.
    Steel,
    /// As documented at <https://docs.browserbase.com>.
    Browserbase,
    /// Browser Engine, which has no public documentation.
    BrowserEngine,
    /// As documented at <https://docs.aws.amazon.com/bedrock-agentcore>.
    AgentCore,
    /// As documented at <https://docs.onkernel.com>.
    Kernel,
    /// As documented at <https://docs.hyperbrowser.ai>.
    Hyperbrowser,
}

/// How a connection names its session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SessionOfConnection {
    /// By its id.
    Session(String),
    /// By the secret of its address.
    Ticket(String),
}

/// The address at which people watch a session.
pub(super) fn live_view(address: SocketAddr) -> String {
    format!("http://{address}/live/{LIVE_VIEW_SECRET}")
}

impl Face {
    /// All services that have a double.
    pub const ALL: [Self; 6] = [
        Self::Steel,
        Self::Browserbase,
        Self::BrowserEngine,
        Self::AgentCore,
        Self::Kernel,
        Self::Hyperbrowser,
    ];

    /// The service as the flag `--remote` names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Steel => "steel",
            Self::Browserbase => "browserbase",
            Self::BrowserEngine => "browser-engine",
            Self::AgentCore => "agentcore",
            Self::Kernel => "kernel",
            Self::Hyperbrowser => "hyperbrowser",
        }
    }

    pub(super) fn environment(self, base: &str) -> Vec<(&'static str, String)> {
        let key = KEY.to_owned();
        let base = base.to_owned();
        match self {
            Self::Steel => vec![("STEEL_API_KEY", key), ("STEEL_BASE_URL", base)],
            Self::Browserbase => vec![("BROWSERBASE_API_KEY", key), ("BROWSERBASE_BASE_URL", base)],
            Self::BrowserEngine => {
                vec![("BROWSER_ENGINE_API_KEY", key), ("BROWSER_API_URL", base)]
            }
            Self::AgentCore => vec![
                ("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE".to_owned()),
                ("AWS_SECRET_ACCESS_KEY", key),
                ("AWS_REGION", "us-west-2".to_owned()),
                ("BEDROCK_AGENTCORE_DP_ENDPOINT", base),
            ],
            Self::Kernel => vec![("KERNEL_API_KEY", key), ("KERNEL_BASE_URL", base)],
            Self::Hyperbrowser => vec![
                ("HYPERBROWSER_API_KEY", key),
                ("HYPERBROWSER_BASE_URL", base),
            ],
        }
    }

    /// Whether a request shows the key.
    pub(super) fn accepts(self, received: &ReceivedRequest) -> bool {
        let is = |header: &str, value: &str| received.header(header).as_deref() == Some(value);
        match self {
            Self::Steel => is("steel-api-key", KEY),
            Self::Browserbase => is("X-BB-API-Key", KEY),
            Self::BrowserEngine | Self::Hyperbrowser => is("x-api-key", KEY),
            Self::Kernel => is("Authorization", &format!("Bearer {KEY}")),
            Self::AgentCore => is_signed(received),
        }
    }

    pub(super) fn verb(self, received: &ReceivedRequest) -> Option<Verb> {
        let path = received.path();
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let is_handshake = received.header("upgrade").is_some();
        if is_handshake || path.ends_with("/json/version") {
            return Some(Verb::Connect);
        }
        let verb = match (self, received.method.as_str(), parts.as_slice()) {
            (Self::Steel | Self::Browserbase, "POST", ["v1", "sessions"])
            | (Self::BrowserEngine, "POST", ["sessions"])
            | (Self::AgentCore, "PUT", ["browsers", "aws.browser.v1", "sessions", "start"])
            | (Self::Kernel, "POST", ["browsers"])
            | (Self::Hyperbrowser, "POST", ["api", "session"]) => Verb::Create,
            (Self::Steel | Self::Browserbase, "GET", ["v1", "sessions"])
            | (Self::BrowserEngine, "GET", ["sessions"]) => Verb::List,
            (Self::Steel | Self::Browserbase, "GET", ["v1", "sessions", _])
            | (Self::BrowserEngine, "GET", ["sessions", _])
            | (Self::AgentCore, "GET", ["browsers", "aws.browser.v1", "sessions", "get"])
            | (Self::Kernel, "GET", ["browsers", _])
            | (Self::Hyperbrowser, "GET", ["api", "session", _]) => Verb::Describe,
            (Self::Browserbase, "GET", ["v1", "sessions", _, "debug"]) => Verb::LiveView,
            (Self::Browserbase, "POST", ["v1", "sessions", _])
                if received.body["status"] == "REQUEST_RELEASE" =>
            {
                Verb::Release
            }
            (Self::Steel, "POST", ["v1", "sessions", _, "release"])
            | (Self::BrowserEngine, "DELETE", ["sessions", _])
            | (Self::AgentCore, "PUT", ["browsers", "aws.browser.v1", "sessions", "stop"])
            | (Self::Kernel, "DELETE", ["browsers", _])
            | (Self::Hyperbrowser, "PUT", ["api", "session", _, "stop"]) => Verb::Release,
            (Self::BrowserEngine, "POST", ["sessions", _])
            | (Self::Hyperbrowser, "PUT", ["api", "session", _, "extend-session"]) => Verb::Extend,
            (Self::AgentCore, "PUT", ["browser-profiles", _, "save"]) => Verb::Save,
            (
                Self::AgentCore,
                method,
                ["code-interpreters", "aws.codeinterpreter.v1", rest @ ..],
            ) => match (method, rest) {
                ("PUT", ["sessions", "start"]) => Verb::Create,
                ("GET", ["sessions", "get"]) => Verb::Describe,
                ("PUT", ["sessions", "stop"]) => Verb::Release,
                ("POST", ["tools", "invoke"]) => Verb::Invoke,
                _ => return None,
            },
            _ => return None,
        };
        Some(verb)
    }

    /// The id of the session that a request is about.
    pub(super) fn id_of(self, received: &ReceivedRequest) -> String {
        let index = match self {
            Self::Steel | Self::Browserbase | Self::Hyperbrowser => 2,
            Self::BrowserEngine | Self::Kernel => 1,
            Self::AgentCore => return received.parameter("sessionId").unwrap_or_default(),
        };
        let parts = received.path().split('/').filter(|part| !part.is_empty());
        parts.clone().nth(index).unwrap_or_default().to_owned()
    }

    /// What makes a creation the same as an earlier one.
    pub(super) fn own_id(self, creation: &Value) -> Option<String> {
        let member = match self {
            Self::Steel => "sessionId",
            Self::AgentCore => "clientToken",
            Self::Kernel => "name",
            Self::Browserbase | Self::BrowserEngine | Self::Hyperbrowser => return None,
        };
        creation[member].as_str().map(str::to_owned)
    }

    /// Whether a session that has ended cannot be described any more.
    pub(super) fn forgets(self) -> bool {
        matches!(self, Self::Kernel | Self::BrowserEngine)
    }

    pub(super) fn description(
        self,
        session: &DoubleSession,
        address: SocketAddr,
        ticket: &str,
    ) -> Value {
        let id = &session.id;
        let state = |alive: &'static str, ended: &'static str| match session.ended {
            Some(_) => ended,
            None => alive,
        };
        let live_view = live_view(address);
        let reason = &session.ended;
        match self {
            Self::Steel => json!({
                "id": id, "status": state("live", "released"), "releaseReason": reason,
                "websocketUrl": format!("ws://{address}/?ticket={ticket}"),
                "debugUrl": live_view, "sessionViewerUrl": live_view,
                "dimensions": session.creation["dimensions"], "timeout": session.creation["timeout"],
                "duration": 0, "eventCount": 0, "creditsUsed": 0,
            }),
            Self::Browserbase => json!({
                "id": id, "status": state("RUNNING", "COMPLETED"), "keepAlive": true,
                "connectUrl": format!("ws://{address}/?signingKey={ticket}"),
                "seleniumRemoteUrl": live_view, "signingKey": ticket, "region": "us-west-2",
                "userMetadata": session.creation["userMetadata"],
            }),
            Self::BrowserEngine => json!({"data": {
                "id": id, "status": state("RUNNING", "STOPPED"), "connect_token": ticket,
                "connect_url": format!("ws://{address}/connect/{id}"),
                "cdp_json_url": format!("http://{address}/cdp/{id}/json/version"),
                "debug_url": live_view, "stream_url": live_view,
                "metadata": session.creation["metadata"],
            }}),
            Self::AgentCore => json!({
                "browserIdentifier": "aws.browser.v1", "sessionId": id, "createdAt": CREATED_AT,
                "status": state("READY", "TERMINATED"),
                "streams": {
                    "automationStream": {
                        "streamEndpoint": format!(
                            "ws://{address}/browser-streams/aws.browser.v1/sessions/{id}/automation"
                        ),
                        "streamStatus": "ENABLED",
                    },
                    "liveViewStream": {"streamEndpoint": live_view},
                },
            }),
            Self::Kernel => json!({
                "session_id": id, "cdp_ws_url": format!("ws://{address}/browser/cdp?jwt={ticket}"),
                "webdriver_ws_url": live_view, "base_url": live_view,
                "browser_live_view_url": live_view, "headless": false, "stealth": false,
                "timeout_seconds": session.creation["timeout_seconds"],
                "name": session.creation["name"],
            }),
            Self::Hyperbrowser => json!({
                "id": id, "status": state("active", "closed"), "token": ticket, "liveUrl": live_view,
                "teamId": "team", "createdAt": CREATED_AT, "updatedAt": CREATED_AT,
                "sessionUrl": live_view, "proxyDataConsumed": "0",
                "wsEndpoint": format!("ws://{address}/?token={ticket}"),
            }),
        }
    }

    /// A description without its envelope.
    pub(super) fn opened(self, mut description: Value) -> Value {
        if self == Self::BrowserEngine {
            return description["data"].take();
        }
        description
    }

    pub(super) fn list(self, items: Vec<Value>) -> Value {
        match self {
            Self::Browserbase => Value::Array(items),
            Self::Steel | Self::AgentCore | Self::Kernel | Self::Hyperbrowser => {
                json!({ "sessions": items })
            }
            Self::BrowserEngine => json!({ "data": items }),
        }
    }

    /// The discovery document, if that is asked for.
    pub(super) fn discovery(
        self,
        received: &ReceivedRequest,
        address: SocketAddr,
    ) -> Option<Value> {
        let path = received.path().strip_suffix("/json/version")?;
        let socket = format!("ws://{address}{path}/devtools/browser/x");
        Some(json!({ "webSocketDebuggerUrl": socket }))
    }

    pub(super) fn session_of_connection(
        self,
        received: &ReceivedRequest,
    ) -> Option<SessionOfConnection> {
        let ticket = |name: &str| received.parameter(name).map(SessionOfConnection::Ticket);
        match self {
            Self::Steel => {
                let has_key = received.parameter("apiKey").as_deref() == Some(KEY);
                let has_id = received.parameter("sessionId").is_some();
                ticket("ticket").filter(|_| has_key && has_id)
            }
            Self::Browserbase => ticket("signingKey"),
            Self::BrowserEngine | Self::Hyperbrowser => ticket("token"),
            Self::Kernel => ticket("jwt"),
            Self::AgentCore => {
                let id = received.path().split('/').nth(4)?;
                is_signed(received).then(|| SessionOfConnection::Session(id.to_owned()))
            }
        }
    }
}

/// Whether a request has a signature of the right form; the signatures themselves are compared with
/// those of the official client.
fn is_signed(received: &ReceivedRequest) -> bool {
    let authorization = received.header("authorization").unwrap_or_default();
    let date = received.header("x-amz-date").unwrap_or_default();
    let scope = "/us-west-2/bedrock-agentcore/aws4_request, SignedHeaders=";
    let day = date.get(..8).unwrap_or("none");
    let expected = format!("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/{day}{scope}");
    let rest = authorization.strip_prefix(&expected);
    let signed = rest.and_then(|rest| rest.split_once(", Signature="));
    signed.is_some_and(|(names, signature)| {
        names.contains("host;x-amz-date") && signature.len() == 64
    })
}
