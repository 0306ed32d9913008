//! One connection of a program: its sessions, the targets it may know, and its messages.

use std::collections::{HashMap, HashSet};
use std::mem;

use serde_json::{Map, Value, json};
use telechir_protocol::{Action, ScrollUnit, json_limits};

use crate::commands::{Treatment, treatment};
use crate::known_nodes::KnownNodes;
use crate::known_targets::{KnownTargets, TargetFilter};
use crate::known_worlds::KnownWorlds;

/// The error codes of CDP: a command that failed, and a session that does not exist.
const SERVER_ERROR: i64 = -32_000;
const NO_SESSION: i64 = -32_001;
const INVALID_REQUEST: i64 = -32_600;
const NOT_JSON: i64 = -32_700;

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
        Action::PageText { tab: None },
        Action::ReadConsole { tab: None },
    ]
}

/// A connection of a program to a session's browser.
#[derive(Debug)]
pub struct CdpGateway {
    /// What the program is attached to, by session.
    sessions: HashMap<String, Attached>,
    targets: KnownTargets,
    /// The name of telechir's own isolated world.
    world: String,
    /// The streams that its commands have opened.
    streams: HashSet<String>,
}

#[derive(Debug)]
struct Attached {
    target: String,
    start: PageStart,
    nodes: KnownNodes,
    worlds: KnownWorlds,
}

/// Whether a target runs that was attached before its page did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PageStart {
    Running,
    /// It waits for the program.
    Waiting,
    /// It already waited when this was last looked at.
    Overdue,
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
    /// What goes on until the connection ends, such as a subscription.
    Lasting,
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
    /// As `Reply`, with the events that come first.
    Replies(Vec<String>),
}

/// What happens with an event of the browser. The caller lets the browser announce all targets, whether
/// the program asked for that or not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventStep {
    /// The message for the program; absent if the event is not for it.
    pub message: Option<String>,
    /// A session that is detached, because the program may not know its target.
    pub detach: Option<String>,
}

impl CdpGateway {
    /// A connection to the tabs of this browser context. The isolated world of this name is telechir's
    /// own: programs neither see nor enter it.
    pub fn new(context: &str, world: &str) -> Self {
        Self {
            sessions: HashMap::new(),
            targets: KnownTargets::new(context),
            world: world.to_owned(),
            streams: HashSet::new(),
        }
    }

    /// The URLs of the pages that the program may read.
    pub fn urls(&self) -> impl Iterator<Item = &str> {
        self.targets.urls()
    }

    /// Sessions whose targets still wait for the program before they run, as they did at the last call
    /// of this: nobody else can use them meanwhile. They are to be run.
    pub fn take_overdue(&mut self) -> Vec<String> {
        let mut overdue = Vec::new();
        for (id, attached) in &mut self.sessions {
            attached.start = match attached.start {
                PageStart::Running => PageStart::Running,
                PageStart::Waiting => PageStart::Overdue,
                PageStart::Overdue => {
                    overdue.push(id.clone());
                    PageStart::Running
                }
            };
        }
        overdue
    }

    /// What happens with a message of the program.
    pub fn receive(&mut self, message: &str) -> MessageStep {
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

    fn step(&mut self, mut command: ProgramCommand, mut params: Map<String, Value>) -> MessageStep {
        if let Some((code, problem)) = self.refusal(&command, &params) {
            return MessageStep::Reply(command.failed(code, &problem));
        }
        match command.method.as_str() {
            "Target.setDiscoverTargets" => return self.announce(&command, &params),
            "Runtime.runIfWaitingForDebugger" => self.note_run(&command),
            _ => {}
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

    /// The browser announces all targets anyway, to this gateway; the program gets what it asks for.
    fn announce(&mut self, command: &ProgramCommand, params: &Map<String, Value>) -> MessageStep {
        let filter = match params.get("discover") {
            Some(Value::Bool(true)) => Some(TargetFilter::of(params.get("filter"))),
            _ => None,
        };
        let events = self.targets.announce(filter).into_iter();
        let mut messages: Vec<String> = events.map(|event| event.to_string()).collect();
        messages.push(command.answered(json!({})));
        MessageStep::Replies(messages)
    }

    fn note_run(&mut self, command: &ProgramCommand) {
        let attached = command.session.as_ref();
        if let Some(attached) = attached.and_then(|id| self.sessions.get_mut(id)) {
            attached.start = PageStart::Running;
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
            if self.targets.is_privileged(&attached.target)
                && command.method != "Target.detachFromTarget"
            {
                let problem = "this page of the browser itself cannot be driven".to_owned();
                return Some((SERVER_ERROR, problem));
            }
            if attached.nodes.is_foreign(params) {
                return Some((SERVER_ERROR, "Could not find node with given id".to_owned()));
            }
            if attached.worlds.is_foreign(params) {
                return Some((
                    SERVER_ERROR,
                    "Cannot find context with specified id".to_owned(),
                ));
            }
        }
        let names_world = ["worldName", "executionContextName"].iter();
        let mut named = names_world.filter_map(|name| params.get(*name));
        if named.any(|name| *name == self.world.as_str()) {
            let problem = "this isolated world is telechir's own; use another name".to_owned();
            return Some((SERVER_ERROR, problem));
        }
        if let Some(target) = params.get("targetId") {
            let is_known = target.as_str().is_some_and(|id| {
                let mut attached = self.sessions.values();
                self.targets.sees(id) || attached.any(|attached| attached.target == id)
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
        // Those of others have numbers that are easily guessed, and a blob is one by its name.
        if matches!(command.method.as_str(), "IO.read" | "IO.close") {
            let handle = params.get("handle").and_then(Value::as_str);
            if !handle.is_some_and(|handle| self.streams.contains(handle)) {
                return Some((SERVER_ERROR, "Invalid stream handle".to_owned()));
            }
        }
        match params.get("browserContextId") {
            None => None,
            Some(id) if self.targets.is_context(id) => None,
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
                let own = found.into_iter().filter(|info| self.targets.note(info));
                result["targetInfos"] = own.collect();
            }
            "Target.getTargetInfo" => {
                let info = &result["targetInfo"];
                // Without an id it is the browser itself, or the session's own target.
                if !self.targets.note(info) && info["type"] != "browser" {
                    return command.failed(SERVER_ERROR, "No target with given id found");
                }
            }
            "Target.createTarget" => {
                let id = result["targetId"].as_str().unwrap_or_default();
                let url = command.params["url"].as_str().unwrap_or_default();
                self.targets.note_opened(id, url);
            }
            "IO.close" => {
                let handle = command.params["handle"].as_str().unwrap_or_default();
                self.streams.remove(handle);
            }
            "Page.printToPDF" => {
                self.streams
                    .extend(result["stream"].as_str().map(str::to_owned));
            }
            _ => {}
        }
        let attached = command.session.as_ref();
        if let Some(attached) = attached.and_then(|id| self.sessions.get_mut(id)) {
            if matches!(
                command.method.as_str(),
                "DOM.getDocument" | "DOM.getFlattenedDocument"
            ) {
                attached.nodes.begin();
            }
            if command.method.starts_with("DOM.") {
                attached.nodes.strip_result(&mut result);
            }
            if command.method == "Page.createIsolatedWorld" {
                attached.worlds.note_made(&result["executionContextId"]);
            }
        }
        command.answered(result)
    }

    /// Whether an event of a page is for the program, which gets it without what it may not know.
    fn is_page_event_shown(
        &mut self,
        session: Option<&str>,
        method: &str,
        params: &mut Value,
    ) -> bool {
        if method == "Log.entryAdded"
            && let Some(entry) = params["entry"].as_object_mut()
        {
            // The address of a request, which is judged elsewhere.
            entry.remove("url");
            entry.remove("networkRequestId");
        }
        let Some(attached) = session.and_then(|id| self.sessions.get_mut(id)) else {
            return true;
        };
        match method {
            "Runtime.executionContextCreated" => {
                attached.worlds.begin(&params["context"], &self.world)
            }
            "Runtime.executionContextDestroyed" => attached.worlds.end(params),
            "Runtime.executionContextsCleared" => {
                attached.worlds = KnownWorlds::default();
                true
            }
            _ if method.starts_with("Runtime.") => {
                !attached.worlds.is_own(&params["executionContextId"])
                    && !attached
                        .worlds
                        .is_own(&params["exceptionDetails"]["executionContextId"])
            }
            // Numbers start anew.
            "DOM.documentUpdated" => {
                attached.nodes = KnownNodes::default();
                true
            }
            _ if method.starts_with("DOM.") => attached.nodes.strip_event(params),
            _ => true,
        }
    }

    /// What happens with an event of the browser.
    pub fn event(&mut self, session: Option<&str>, method: &str, mut params: Value) -> EventStep {
        let is_own = session.is_none_or(|id| self.sessions.contains_key(id));
        if !is_own {
            return EventStep::default();
        }
        match method {
            "Target.attachedToTarget" => {
                let info = &params["targetInfo"];
                let attached = params["sessionId"].as_str().unwrap_or_default().to_owned();
                if !self.targets.note(info) {
                    return EventStep {
                        message: None,
                        detach: Some(attached),
                    };
                }
                let target = info["targetId"].as_str().unwrap_or_default().to_owned();
                let start = match params["waitingForDebugger"] == true {
                    true => PageStart::Waiting,
                    false => PageStart::Running,
                };
                let attachment = Attached {
                    target,
                    start,
                    nodes: KnownNodes::default(),
                    worlds: KnownWorlds::default(),
                };
                self.sessions.insert(attached, attachment);
            }
            "Target.detachedFromTarget" => {
                let detached = params["sessionId"].as_str().unwrap_or_default();
                if self.sessions.remove(detached).is_none() {
                    return EventStep::default();
                }
            }
            "Target.targetCreated" | "Target.targetInfoChanged" => {
                let info = &params["targetInfo"];
                let id = info["targetId"].as_str().unwrap_or_default();
                if !self.targets.note(info) || !self.targets.is_announced(id) {
                    return EventStep::default();
                }
            }
            "Target.targetDestroyed" | "Target.targetCrashed" => {
                let id = params["targetId"].as_str().unwrap_or_default();
                let is_announced = self.targets.is_announced(id);
                if method == "Target.targetDestroyed" {
                    self.targets.forget(id);
                }
                if !is_announced {
                    return EventStep::default();
                }
            }
            "Page.frameNavigated" if params["frame"]["parentId"].is_null() => {
                let url = params["frame"]["url"].as_str().unwrap_or_default();
                if let Some(attached) = session.and_then(|id| self.sessions.get(id)) {
                    self.targets.note_url(&attached.target, url);
                }
            }
            "Target.receivedMessageFromTarget" => return EventStep::default(),
            _ if !self.is_page_event_shown(session, method, &mut params) => {
                return EventStep::default();
            }
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
}

impl ProgramCommand {
    /// What the browser gets as parameters. Only what the answer is made of is kept.
    pub fn take_params(&mut self) -> Value {
        let name = match self.method.as_str() {
            "Target.createTarget" => "url",
            "IO.close" => "handle",
            _ => return self.params.take(),
        };
        let remaining = json!({ name: self.params[name] });
        mem::replace(&mut self.params, remaining)
    }

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
