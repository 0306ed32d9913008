//! One connection of a program: its sessions, the targets it may know, and its messages.

use std::collections::HashMap;

use serde_json::{Map, Value, json};
use telechir_protocol::{Action, ScrollUnit, json_limits};

use crate::commands::{Treatment, treatment};

/// The error codes of CDP: a command that failed, and a session that does not exist.
const SERVER_ERROR: i64 = -32_000;
const NO_SESSION: i64 = -32_001;
const INVALID_REQUEST: i64 = -32_600;
const NOT_JSON: i64 = -32_700;

/// Kinds of targets that a program may know. A tab is what its pages are attached to.
const TARGET_TYPES: &[&str] = &[
    "iframe",
    "page",
    "service_worker",
    "shared_worker",
    "tab",
    "worker",
];

/// The actions for which the opening of a connection is judged: what commands do that are not judged
/// one by one.
pub fn opening_actions() -> Vec<Action> {
    vec![
        Action::ReadPage {
            filter: None,
            depth: None,
            root: None,
            tab: None,
        },
        Action::Scroll {
            at: None,
            dx: 0.0,
            dy: 0.0,
            unit: ScrollUnit::Pixels,
            modifiers: Vec::new(),
        },
        Action::Emulate {
            settings: Map::new(),
        },
    ]
}

/// A connection of a program to a session's browser.
#[derive(Debug)]
pub struct CdpGateway {
    /// The browser context of the session.
    context: String,
    /// What the program is attached to, by session.
    sessions: HashMap<String, Attached>,
    /// URLs of the targets of the context, by id.
    targets: HashMap<String, String>,
}

#[derive(Debug)]
struct Attached {
    target: String,
    url: String,
}

/// A command of the program.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgramCommand {
    /// The program's number of it.
    id: i64,
    /// The session that it is for; absent for the browser.
    pub session: Option<String>,
    /// The method, as CDP names it.
    pub method: String,
    /// What may reach the browser of its parameters.
    pub params: Value,
}

/// A command that the policy has to permit.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedCommand {
    /// What the browser gets once it is permitted.
    pub command: ProgramCommand,
    /// What it does, as policies name it.
    pub action: Action,
    /// What is asked about.
    pub scope: JudgedScope,
}

/// What a question about a command is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JudgedScope {
    /// Nothing but what this command does.
    Once,
    /// Every script of the connection; this one is recorded.
    Script(String),
}

/// What happens with a message of the program.
#[derive(Clone, Debug, PartialEq)]
pub enum MessageStep {
    /// It goes to the browser; [`CdpGateway::reply`] makes the answer of its result.
    Send(ProgramCommand),
    /// As `Send`, if the policy permits it.
    Judge(Box<JudgedCommand>),
    /// The program gets this message, and nothing else happens.
    Reply(String),
}

/// What happens with an event of the browser.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventStep {
    /// The message for the program; absent if the event is not for it.
    pub message: Option<String>,
    /// A session that is detached, because the program may not know its target.
    pub detach: Option<String>,
}

impl CdpGateway {
    /// A connection to the tabs of this browser context.
    pub fn new(context: &str) -> Self {
        Self {
            context: context.to_owned(),
            sessions: HashMap::new(),
            targets: HashMap::new(),
        }
    }

    /// The URLs of the pages that the program may read.
    pub fn urls(&self) -> impl Iterator<Item = &str> {
        self.targets.values().map(String::as_str)
    }

    /// What happens with a message of the program.
    pub fn receive(&self, message: &str) -> MessageStep {
        let parsed = json_limits::parse(message.as_bytes());
        let Ok(Value::Object(mut message)) = parsed else {
            return MessageStep::Reply(failure(None, None, NOT_JSON, "expected a JSON object"));
        };
        let session = match message.get("sessionId") {
            None | Some(Value::Null) => None,
            Some(Value::String(id)) => Some(id.clone()),
            Some(_) => return MessageStep::Reply(invalid("`sessionId` is no text")),
        };
        let (Some(id), Some(Value::String(method))) = (
            message.get("id").and_then(Value::as_i64),
            message.get("method").cloned(),
        ) else {
            return MessageStep::Reply(invalid("expected `id`, a whole number, and `method`"));
        };
        let params = match message.remove("params") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(params)) => params,
            Some(_) => return MessageStep::Reply(invalid("`params` is no object")),
        };
        let command = ProgramCommand {
            id,
            session,
            method,
            params: Value::Null,
        };
        self.step(command, params)
    }

    fn step(&self, mut command: ProgramCommand, mut params: Map<String, Value>) -> MessageStep {
        if let Some((code, problem)) = self.refusal(&command, &params) {
            return MessageStep::Reply(command.failed(code, &problem));
        }
        let treated = treatment(&command.method, &mut params);
        if command.method == "Target.createTarget" {
            params.remove("browserContextId");
        }
        command.params = Value::Object(params);
        match treated {
            Treatment::Pass => MessageStep::Send(command),
            Treatment::Judge(action, scope) => MessageStep::Judge(Box::new(JudgedCommand {
                command,
                action,
                scope,
            })),
            Treatment::Answer(result) => MessageStep::Reply(command.answered(result)),
            Treatment::Refuse(reason) => {
                let problem = format!("{} is refused: {reason}", command.method);
                MessageStep::Reply(command.failed(SERVER_ERROR, &problem))
            }
        }
    }

    /// Why a command is refused because of what it is for: sessions, targets and contexts that are not
    /// the program's.
    fn refusal(
        &self,
        command: &ProgramCommand,
        params: &Map<String, Value>,
    ) -> Option<(i64, String)> {
        if let Some(session) = &command.session {
            let Some(attached) = self.sessions.get(session) else {
                return Some((NO_SESSION, "Session with given id not found.".to_owned()));
            };
            if is_privileged(&attached.url) && command.method != "Target.detachFromTarget" {
                let problem = "this page of the browser itself cannot be driven".to_owned();
                return Some((SERVER_ERROR, problem));
            }
        }
        if let Some(target) = params.get("targetId") {
            let is_known = target.as_str().is_some_and(|id| {
                let mut attached = self.sessions.values();
                self.targets.contains_key(id) || attached.any(|attached| attached.target == id)
            });
            if !is_known {
                return Some((SERVER_ERROR, "No target with given id found".to_owned()));
            }
        }
        // `sessionId` of the parameters, as in Target.detachFromTarget.
        if let Some(session) = params.get("sessionId") {
            let is_own = session
                .as_str()
                .is_some_and(|id| self.sessions.contains_key(id));
            if !is_own {
                return Some((SERVER_ERROR, "No session with given id".to_owned()));
            }
        }
        match params.get("browserContextId") {
            None => None,
            Some(id) if id.as_str() == Some(self.context.as_str()) => None,
            Some(_) => {
                let problem = "Failed to find browser context for id".to_owned();
                Some((SERVER_ERROR, problem))
            }
        }
    }

    /// The answer to a command, of what the browser replied or why it was not done.
    pub fn reply(&mut self, command: &ProgramCommand, outcome: Result<Value, String>) -> String {
        let mut result = match outcome {
            Ok(result) => result,
            Err(problem) => return command.failed(SERVER_ERROR, &problem),
        };
        match command.method.as_str() {
            "Target.getTargets" => {
                let found = result["targetInfos"].take();
                let found = found.as_array().cloned().unwrap_or_default();
                let own: Vec<Value> = found.into_iter().filter(|info| self.sees(info)).collect();
                for info in &own {
                    self.note(info);
                }
                result["targetInfos"] = own.into();
            }
            "Target.getTargetInfo" => {
                let info = &result["targetInfo"];
                // Without an id it is the browser itself, or the session's own target.
                if !self.sees(info) && info["type"] != "browser" {
                    return command.failed(SERVER_ERROR, "No target with given id found");
                }
            }
            "Target.createTarget" => {
                let id = result["targetId"].as_str().unwrap_or_default().to_owned();
                let url = command.params["url"].as_str().unwrap_or_default();
                self.targets.entry(id).or_insert_with(|| url.to_owned());
            }
            _ => {}
        }
        command.answered(result)
    }

    /// What happens with an event of the browser.
    pub fn event(&mut self, session: Option<&str>, method: &str, params: Value) -> EventStep {
        let is_own = session.is_none_or(|id| self.sessions.contains_key(id));
        if !is_own {
            return EventStep::default();
        }
        match method {
            "Target.attachedToTarget" => {
                let info = &params["targetInfo"];
                let attached = params["sessionId"].as_str().unwrap_or_default().to_owned();
                if !self.sees(info) {
                    return EventStep {
                        message: None,
                        detach: Some(attached),
                    };
                }
                self.note(info);
                let text = |member: &str| info[member].as_str().unwrap_or_default().to_owned();
                let (target, url) = (text("targetId"), text("url"));
                self.sessions.insert(attached, Attached { target, url });
            }
            "Target.detachedFromTarget" => {
                let detached = params["sessionId"].as_str().unwrap_or_default();
                if self.sessions.remove(detached).is_none() {
                    return EventStep::default();
                }
            }
            "Target.targetCreated" | "Target.targetInfoChanged" => {
                let info = &params["targetInfo"];
                if !self.sees(info) {
                    return EventStep::default();
                }
                self.note(info);
            }
            "Target.targetDestroyed" | "Target.targetCrashed" => {
                let id = params["targetId"].as_str().unwrap_or_default();
                let is_known = match method {
                    "Target.targetDestroyed" => self.targets.remove(id).is_some(),
                    _ => self.targets.contains_key(id),
                };
                if !is_known {
                    return EventStep::default();
                }
            }
            "Page.frameNavigated" if params["frame"]["parentId"].is_null() => {
                let url = params["frame"]["url"].as_str().unwrap_or_default();
                if let Some(attached) = session.and_then(|id| self.sessions.get_mut(id)) {
                    url.clone_into(&mut attached.url);
                    self.targets.insert(attached.target.clone(), url.to_owned());
                }
            }
            "Target.receivedMessageFromTarget" => return EventStep::default(),
            _ => {}
        }
        let mut message = json!({ "method": method, "params": params });
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        EventStep {
            message: Some(message.to_string()),
            detach: None,
        }
    }

    /// Whether the program may know this target.
    fn sees(&self, info: &Value) -> bool {
        let kind = info["type"].as_str().unwrap_or_default();
        let url = info["url"].as_str().unwrap_or_default();
        info["browserContextId"] == self.context.as_str()
            && TARGET_TYPES.contains(&kind)
            && !is_privileged(url)
    }

    fn note(&mut self, info: &Value) {
        let text = |member: &str| info[member].as_str().unwrap_or_default().to_owned();
        let (id, url) = (text("targetId"), text("url"));
        for attached in self.sessions.values_mut().filter(|one| one.target == id) {
            attached.url.clone_from(&url);
        }
        self.targets.insert(id, url);
    }
}

impl ProgramCommand {
    fn answered(&self, result: Value) -> String {
        let mut message = json!({ "id": self.id, "result": result });
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        message.to_string()
    }

    fn failed(&self, code: i64, problem: &str) -> String {
        failure(Some(self.id), self.session.as_deref(), code, problem)
    }
}

fn invalid(problem: &str) -> String {
    failure(None, None, INVALID_REQUEST, problem)
}

fn failure(id: Option<i64>, session: Option<&str>, code: i64, problem: &str) -> String {
    let mut message = json!({ "error": { "code": code, "message": problem } });
    if let Some(id) = id {
        message["id"] = id.into();
    }
    if let Some(session) = session {
        message["sessionId"] = session.into();
    }
    message.to_string()
}

/// Whether a page belongs to the browser itself, or shows files of the machine.
fn is_privileged(url: &str) -> bool {
    const SCHEMES: [&str; 8] = [
        "chrome:",
        "chrome-extension:",
        "chrome-search:",
        "chrome-untrusted:",
        "devtools:",
        "file:",
        "filesystem:",
        "view-source:",
    ];
    let url = url.trim_start().to_ascii_lowercase();
    SCHEMES.iter().any(|scheme| url.starts_with(scheme))
}
