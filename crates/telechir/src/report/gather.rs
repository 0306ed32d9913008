//! Groups the rows of a journal into runs, turns and calls.

use std::collections::HashMap;

use serde_json::Value;
use telechir_policy::Verdict;
use telechir_protocol::{ActionKind, Size, UnsettledReason};
use telechir_runtime::{ActionEffect, CallKind, JournalRecord, RecordKind, SessionEvent};

/// One run of a recording.
#[derive(Debug, Default)]
pub(super) struct RecordedRun {
    pub(super) name: String,
    pub(super) opened_ms: i64,
    pub(super) ended_ms: i64,
    pub(super) devices: Vec<String>,
    pub(super) policy: String,
    pub(super) end: Option<String>,
    pub(super) entries: Vec<RunEntry>,
    /// The calls that [`RunEntry::Call`] refers to.
    pub(super) calls: Vec<ReportedCall>,
}

/// An entry of the page, in order.
#[derive(Debug)]
pub(super) enum RunEntry {
    /// A task that a model was given, with the time in milliseconds since 1970.
    Task {
        text: String,
        model: String,
        resumed: bool,
        at_ms: i64,
    },
    /// The end of a task.
    TaskEnd { reason: String, steps: u32 },
    /// The model's response to one request.
    CallStep {
        number: u64,
        ms: u64,
        tokens: Option<(u64, u64)>,
    },
    /// Text of the model.
    Message(String),
    /// A note for the operator.
    Note(String),
    /// A call, by its index in the run's calls.
    Call(usize),
}

/// A call with its verdict, steps, screenshots and result.
#[derive(Debug, Default)]
pub(super) struct ReportedCall {
    pub(super) id: String,
    pub(super) at_ms: i64,
    /// The device of its steps; `none` if no step was started and none is named.
    pub(super) device: Option<&'static str>,
    /// The picture that the model saw of each device before the call.
    pub(super) before: HashMap<&'static str, Shot>,
    /// The pictures taken for its result.
    pub(super) shots: Vec<Shot>,
    pub(super) call: Option<Value>,
    pub(super) verdict: Option<Verdict>,
    pub(super) rule: String,
    pub(super) reason: String,
    pub(super) question: Option<String>,
    pub(super) steps: Vec<CallStep>,
    pub(super) answer: Option<Value>,
    pub(super) failure: Option<String>,
    pub(super) ms: Option<u64>,
}

/// A picture that the model received.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Shot {
    pub(super) blob: String,
    pub(super) size: Size,
    pub(super) settled: bool,
    pub(super) unsettled: Option<UnsettledReason>,
}

/// One action of a call.
#[derive(Debug)]
pub(super) struct CallStep {
    pub(super) index: usize,
    pub(super) device: &'static str,
    pub(super) summary: String,
    pub(super) verdict: Verdict,
    pub(super) effect: Option<ActionEffect>,
    pub(super) outcome: Option<String>,
    pub(super) failure: Option<String>,
    pub(super) ms: Option<u64>,
}

/// The runs of a journal in the order of their start.
pub(super) fn runs(records: &[JournalRecord]) -> Vec<RecordedRun> {
    let mut runs: Vec<RunBuilder> = Vec::new();
    for record in records {
        let known = runs
            .iter()
            .position(|gathering| gathering.run.name == record.run);
        let index = known.unwrap_or_else(|| {
            let run = RecordedRun {
                name: record.run.clone(),
                opened_ms: record.at_ms,
                ..RecordedRun::default()
            };
            runs.push(RunBuilder {
                run,
                calls: HashMap::new(),
                latest: HashMap::new(),
                shows_part: false,
                at_ms: record.at_ms,
            });
            runs.len() - 1
        });
        runs[index].add(record);
    }
    runs.into_iter().map(|gathering| gathering.run).collect()
}

struct RunBuilder {
    run: RecordedRun,
    /// Index of each call of the current turn.
    calls: HashMap<String, usize>,
    /// The latest picture of each complete screen.
    latest: HashMap<&'static str, Shot>,
    /// Whether the last step captures a part of the screen, to which no later point refers.
    shows_part: bool,
    /// Time of the present row in milliseconds since 1970.
    at_ms: i64,
}

impl RunBuilder {
    fn add(&mut self, record: &JournalRecord) {
        (self.run.ended_ms, self.at_ms) = (record.at_ms, record.at_ms);
        match record.kind {
            RecordKind::Event => {
                if let Ok(event) = serde_json::from_value(record.body.clone()) {
                    self.event(event);
                }
            }
            RecordKind::Call => self.call_of(&record.body).call = Some(record.body.clone()),
            RecordKind::Answer => self.call_of(&record.body).answer = Some(record.body.clone()),
            RecordKind::Intent | RecordKind::Outcome | RecordKind::Conversation => {}
        }
    }

    fn event(&mut self, event: SessionEvent) {
        match event {
            SessionEvent::SessionStarted {
                policy, devices, ..
            } => {
                self.run.policy = policy.to_string();
                self.run.devices = devices
                    .iter()
                    .map(|device| device.name().to_owned())
                    .collect();
            }
            SessionEvent::SessionClosed { reason } => self.run.end = Some(reason),
            SessionEvent::TurnStarted { .. } => self.calls.clear(),
            SessionEvent::ResponseReceived {
                step: number,
                ms,
                input_tokens,
                output_tokens,
            } => {
                let tokens = input_tokens.zip(output_tokens);
                self.run
                    .entries
                    .push(RunEntry::CallStep { number, ms, tokens });
            }
            SessionEvent::TaskStarted {
                task: text,
                model,
                resumed,
                ..
            } => {
                let at_ms = self.at_ms;
                self.run.entries.push(RunEntry::Task {
                    text,
                    model,
                    resumed,
                    at_ms,
                });
            }
            SessionEvent::TaskEnded { reason, steps, .. } => {
                self.run.entries.push(RunEntry::TaskEnd { reason, steps });
            }
            SessionEvent::AssistantMessage { text } => {
                self.run.entries.push(RunEntry::Message(text))
            }
            SessionEvent::Warning { message } => self.note(message),
            SessionEvent::RemoteBrowser {
                step,
                service,
                session,
                reason,
                ..
            } => {
                let session = session.map_or_else(String::new, |id| format!(" ({id})"));
                let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
                let step = step.name();
                self.note(format!("the browser at {service}{session}: {step}{reason}"));
            }
            SessionEvent::UntrustedContent { source } => {
                self.note(format!("untrusted content was read: {source}"));
            }
            SessionEvent::PolicyReloaded { policy } => {
                self.note(format!("the policy was reloaded ({policy})"));
            }
            SessionEvent::ControlTaken { by } => self.note(format!("{by} took control")),
            SessionEvent::ControlGivenBack { by, ms, inputs } => {
                self.note(format!(
                    "{by} gave control back after {ms} ms and {inputs} inputs"
                ));
            }
            SessionEvent::ContentTrusted { .. } => {
                self.note("the user trusts what was read so far".to_owned());
            }
            SessionEvent::Retrying {
                attempt,
                wait_ms,
                reason,
            } => {
                self.note(format!(
                    "attempt {attempt} failed; retrying in {wait_ms} ms: {reason}"
                ));
            }
            SessionEvent::DeviceLost { device, message } => {
                self.note(format!("lost the {}: {message}", device.name()));
            }
            SessionEvent::ConnectionJudged {
                device,
                host,
                port,
                passed: false,
                rule,
                reason,
                ..
            } => {
                let port = port.map(|port| format!(":{port}")).unwrap_or_default();
                let device = device.name();
                self.note(format!(
                    "{device}: no access to {host}{port}: {reason} ({rule})"
                ));
            }
            SessionEvent::CallReceived { call_id, kind, .. } => {
                let before = self.latest.clone();
                let device = match kind {
                    CallKind::Shell => Some("shell"),
                    CallKind::Edit => Some("editor"),
                    CallKind::Computer | CallKind::Function => None,
                };
                let call = self.call(call_id.as_str());
                call.before = before;
                call.device = call.device.or(device);
            }
            SessionEvent::ScreenshotTaken {
                call_id,
                device,
                blob,
                size,
                settled,
                unsettled,
                ..
            } => {
                let shot = Shot {
                    blob,
                    size,
                    settled,
                    unsettled,
                };
                if !self.shows_part {
                    self.latest.insert(device.name(), shot.clone());
                }
                self.call(call_id.as_str()).shots.push(shot);
            }
            SessionEvent::CallJudged {
                call_id,
                verdict,
                rule,
                reason,
            } => {
                let call = self.call(call_id.as_str());
                (call.verdict, call.rule, call.reason) = (Some(verdict), rule, reason);
            }
            SessionEvent::QuestionAsked { call_id, .. } => {
                self.call(call_id.as_str()).question = Some("approval was requested".to_owned());
            }
            SessionEvent::QuestionAnswered {
                call_id,
                approved,
                reason,
                origin,
            } => {
                let origin = origin
                    .as_ref()
                    .map(|origin| format!(" {origin}"))
                    .unwrap_or_default();
                self.call(call_id.as_str()).question = Some(answered(approved, reason, &origin));
            }
            SessionEvent::ActionStarted {
                call_id,
                step,
                device,
                kind,
                summary,
                verdict,
            } => {
                self.shows_part = kind.is_some_and(is_part);
                self.call(call_id.as_str()).device = Some(device.name());
                self.step(
                    call_id.as_str(),
                    CallStep::started(step, device.name(), summary, verdict),
                );
            }
            SessionEvent::ActionFinished {
                call_id,
                step,
                device,
                summary,
                verdict,
                effect,
                failure,
                outcome,
                ms,
                ..
            } => {
                let started = CallStep::started(step, device.name(), summary, verdict);
                let failure = failure.map(|failure| failure.message);
                let (effect, ms) = (Some(effect), Some(ms));
                self.step(
                    call_id.as_str(),
                    CallStep {
                        effect,
                        failure,
                        outcome,
                        ms,
                        ..started
                    },
                );
            }
            SessionEvent::CallAnswered {
                call_id,
                failure,
                ms,
            } => {
                let call = self.call(call_id.as_str());
                (call.ms, call.failure) = (Some(ms), failure.map(|failure| failure.message));
            }
            SessionEvent::TurnCompleted { .. }
            | SessionEvent::ConnectionJudged { .. }
            | SessionEvent::RequestSent { .. }
            | SessionEvent::EventsDropped { .. } => {}
        }
    }

    /// Adds a step; a finished step replaces the entry of its start.
    fn step(&mut self, call_id: &str, step: CallStep) {
        let call = self.call(call_id);
        call.steps.retain(|earlier| earlier.index != step.index);
        call.steps.push(step);
    }

    fn note(&mut self, text: String) {
        self.run.entries.push(RunEntry::Note(text));
    }

    fn call_of(&mut self, body: &Value) -> &mut ReportedCall {
        let id = body
            .get("call_id")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        self.call(&id)
    }

    fn call(&mut self, id: &str) -> &mut ReportedCall {
        let (run, at_ms) = (&mut self.run, self.at_ms);
        let index = *self.calls.entry(id.to_owned()).or_insert_with(|| {
            run.entries.push(RunEntry::Call(run.calls.len()));
            run.calls.push(ReportedCall {
                id: id.to_owned(),
                at_ms,
                ..ReportedCall::default()
            });
            run.calls.len() - 1
        });
        &mut run.calls[index]
    }
}

impl CallStep {
    fn started(index: usize, device: &'static str, summary: String, verdict: Verdict) -> Self {
        Self {
            index,
            device,
            summary,
            verdict,
            effect: None,
            outcome: None,
            failure: None,
            ms: None,
        }
    }
}

fn is_part(kind: ActionKind) -> bool {
    matches!(
        kind,
        ActionKind::Zoom
            | ActionKind::CaptureWindow
            | ActionKind::CaptureMonitor
            | ActionKind::CaptureElement
    )
}

fn answered(approved: bool, reason: Option<String>, origin: &str) -> String {
    let outcome = if approved {
        "approval was requested and given"
    } else {
        "approval was requested and not given"
    };
    format!(
        "{outcome}{origin}{}",
        reason
            .map(|reason| format!(": {reason}"))
            .unwrap_or_default()
    )
}
