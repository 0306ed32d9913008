//! What a server counts, as Prometheus reads it. Every label has few values, whatever clients and models
//! send: no name of a session, owner, host or command is one.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;
use telechir_host::SessionState;

use super::problem::{Problem, ProblemKind};

/// The format of `encode`.
pub(super) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// What a label has for a value that is not listed, such as of a newer session host.
const OTHER: &str = "other";
/// Upper limits of durations in seconds: from a command without output to a person's answer.
const SECONDS: [f64; 14] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0, 300.0,
];

const DEVICES: [&str; 4] = ["desktop", "browser", "shell", "editor"];
const TOOLS: [&str; 4] = ["computer", "shell", "edit", "function"];
const VERDICTS: [&str; 4] = ["allow", "ask", "deny", "sandbox"];
const EFFECTS: [&str; 6] = [
    "cancelled",
    "confirmed",
    "delivered",
    "failed",
    "interrupted",
    "recorded",
];

/// A part of a call whose duration is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Turn,
    Call,
    Approval,
    Action,
    Settle,
    Screenshot,
}

impl Step {
    const fn name(self) -> &'static str {
        match self {
            Self::Turn => "turn",
            Self::Call => "call",
            Self::Approval => "approval",
            Self::Action => "action",
            Self::Settle => "settle",
            Self::Screenshot => "screenshot",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    tool: &'static str,
    verdict: &'static str,
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ActionLabels {
    device: &'static str,
    verdict: &'static str,
    effect: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EgressLabels {
    device: &'static str,
    decision: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StepLabels {
    step: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StateLabels {
    state: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    operation: &'static str,
    status: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OperationLabels {
    operation: &'static str,
}

type Durations<L> = Family<L, Histogram, fn() -> Histogram>;

/// The metrics of a server, from its start on.
#[derive(Debug)]
pub(super) struct Metrics {
    registry: Registry,
    calls: Family<CallLabels, Counter>,
    actions: Family<ActionLabels, Counter>,
    egress: Family<EgressLabels, Counter>,
    steps: Durations<StepLabels>,
    requests: Family<RequestLabels, Counter>,
    request_seconds: Durations<OperationLabels>,
    sessions: Family<StateLabels, Gauge>,
    approvals: Gauge,
    /// Only one scrape at a time sets the gauges.
    scraping: Mutex<()>,
}

impl Metrics {
    pub(super) fn new(version: &str, max_sessions: usize) -> Self {
        let metrics = Self {
            registry: Registry::with_prefix("telechir"),
            calls: Family::default(),
            actions: Family::default(),
            egress: Family::default(),
            steps: Family::new_with_constructor(durations),
            requests: Family::default(),
            request_seconds: Family::new_with_constructor(durations),
            sessions: Family::default(),
            approvals: Gauge::default(),
            scraping: Mutex::new(()),
        };
        let max = Gauge::<i64>::default();
        max.set(i64::try_from(max_sessions).unwrap_or(i64::MAX));
        metrics.registered(version, max)
    }

    fn registered(mut self, version: &str, max_sessions: Gauge) -> Self {
        let to = &mut self.registry;
        let version = Info::new([("version", version.to_owned())]);
        to.register("build", "Version of the program", version);
        let help = "Answered calls by tool, verdict of the policy and result";
        to.register("calls", help, self.calls.clone());
        let help = "Ended actions and commands by device, verdict of the policy and known effect";
        to.register("actions", help, self.actions.clone());
        let help = "Connections that programs of a device wanted, by the decision of the policy";
        to.register("egress_decisions", help, self.egress.clone());
        let help = "Duration of the steps of calls";
        to.register("step_duration_seconds", help, self.steps.clone());
        let help = "Answered requests by operation and status";
        to.register("http_requests", help, self.requests.clone());
        let help = "Time until the head of an answer";
        to.register(
            "http_request_duration_seconds",
            help,
            self.request_seconds.clone(),
        );
        let help = "Open sessions that were opened over HTTP, by state";
        to.register("sessions", help, self.sessions.clone());
        to.register("sessions_max", "Value of --max-sessions", max_sessions);
        let help = "Questions of these sessions that wait for an answer";
        to.register("approvals_waiting", help, self.approvals.clone());
        self
    }

    /// Counts an answered request.
    pub(super) fn request(&self, operation: &'static str, status: u16, took: Duration) {
        let status = status.to_string();
        let labels = RequestLabels { operation, status };
        self.requests.get_or_create(&labels).inc();
        let seconds = self
            .request_seconds
            .get_or_create(&OperationLabels { operation });
        seconds.observe(took.as_secs_f64());
    }

    /// Counts an answered call.
    pub(super) fn call(&self, tool: &str, verdict: &str, has_failed: bool) {
        let labels = CallLabels {
            tool: known(tool, &TOOLS),
            verdict: known(verdict, &VERDICTS),
            result: if has_failed { "failed" } else { "succeeded" },
        };
        self.calls.get_or_create(&labels).inc();
    }

    /// Counts an action or command that has ended.
    pub(super) fn action(&self, device: &str, verdict: &str, effect: &str) {
        let labels = ActionLabels {
            device: known(device, &DEVICES),
            verdict: known(verdict, &VERDICTS),
            effect: known(effect, &EFFECTS),
        };
        self.actions.get_or_create(&labels).inc();
    }

    /// Counts a decision about a connection.
    pub(super) fn connection(&self, device: &str, is_allowed: bool) {
        let labels = EgressLabels {
            device: known(device, &DEVICES),
            decision: if is_allowed { "allowed" } else { "denied" },
        };
        self.egress.get_or_create(&labels).inc();
    }

    /// Adds the duration of a step.
    pub(super) fn step(&self, step: Step, ms: u64) {
        let labels = StepLabels { step: step.name() };
        let seconds = Duration::from_millis(ms).as_secs_f64();
        self.steps.get_or_create(&labels).observe(seconds);
    }

    pub(super) fn text(
        &self,
        states: &[SessionState],
        approvals: usize,
    ) -> Result<String, Problem> {
        let _alone = self.scraping.lock().unwrap_or_else(PoisonError::into_inner);
        for state in SessionState::ALL {
            let count = states.iter().filter(|found| **found == state).count();
            let labels = StateLabels {
                state: state.name(),
            };
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            self.sessions.get_or_create(&labels).set(count);
        }
        self.approvals
            .set(i64::try_from(approvals).unwrap_or(i64::MAX));
        let mut text = String::new();
        encode(&mut text, &self.registry).map_err(|e| {
            Problem::new(
                ProblemKind::Internal,
                format!("failed to write the metrics: {e}"),
            )
        })?;
        Ok(text)
    }
}

fn durations() -> Histogram {
    Histogram::new(SECONDS)
}

/// The listed value that is the same.
fn known(value: &str, values: &[&'static str]) -> &'static str {
    let found = values.iter().find(|known| **known == value);
    found.copied().unwrap_or(OTHER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_has_listed_values_only() {
        let metrics = Metrics::new("1.2.3", 16);
        for number in 0..1000 {
            let text = format!("made-up-{number}");
            metrics.call(&text, &text, number % 2 == 0);
            metrics.action(&text, &text, &text);
            metrics.connection(&text, true);
        }
        metrics.action("shell", "sandbox", "confirmed");
        metrics.step(Step::Action, 20);
        metrics.request("openSession", 201, Duration::from_millis(3));
        let text = metrics.text(&[SessionState::Idle], 2).unwrap();
        assert!(!text.contains("made-up"), "{text}");
        for line in [
            "telechir_build_info{version=\"1.2.3\"} 1",
            "telechir_calls_total{tool=\"other\",verdict=\"other\",result=\"failed\"} 500",
            "telechir_actions_total{device=\"shell\",verdict=\"sandbox\",effect=\"confirmed\"} 1",
            "telechir_egress_decisions_total{device=\"other\",decision=\"allowed\"} 1000",
            "telechir_step_duration_seconds_bucket{le=\"0.01\",step=\"action\"} 0",
            "telechir_step_duration_seconds_bucket{le=\"0.025\",step=\"action\"} 1",
            "telechir_step_duration_seconds_count{step=\"action\"} 1",
            "telechir_http_requests_total{operation=\"openSession\",status=\"201\"} 1",
            "telechir_sessions{state=\"idle\"} 1",
            "telechir_sessions{state=\"busy\"} 0",
            "telechir_sessions_max 16",
            "telechir_approvals_waiting 2",
            "# TYPE telechir_calls counter",
            "# EOF",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}: {text}");
        }
    }
}
