//! The session's ways to the network: one for each device, and what they decide as events.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use telechir_egress::{Decision, Egress, Upstream};
use telechir_policy::{Client, Policy};
use telechir_runtime::{DeviceKind, EventSender, SessionEvent};

/// Decisions that are kept until there is a session to tell: what a browser does on its start.
const EARLY: usize = 256;

/// Makes the ways out that a policy opens.
#[derive(Debug)]
pub(crate) struct Network {
    policy: Policy,
    upstream: Option<Upstream>,
    events: Events,
}

/// Where decisions go. Clones are the same place.
#[derive(Clone, Debug)]
pub(crate) struct Events(Arc<Mutex<State>>);

#[derive(Debug)]
enum State {
    /// The session is not open yet.
    Early(Vec<Decision>),
    Open(EventSender),
    Over,
}

impl Network {
    pub(crate) fn new(policy: &Policy, upstream: Option<Upstream>) -> Self {
        Self {
            policy: policy.clone(),
            upstream,
            events: Events(Arc::new(Mutex::new(State::Early(Vec::new())))),
        }
    }

    /// The way out of a client; none when no rule opens one.
    pub(crate) fn way_out(&self, client: Client) -> Option<Egress> {
        let gate = self.policy.gate(client);
        let events = self.events.clone();
        if !gate.is_open() {
            return None;
        }
        let way = Egress::new(gate).on_decision(move |decision| events.take(decision));
        Some(match &self.upstream {
            Some(upstream) => way.via_proxy(upstream.clone()),
            None => way,
        })
    }

    /// Where its decisions go.
    pub(crate) fn events(&self) -> Events {
        self.events.clone()
    }
}

impl Events {
    /// Tells the session what was decided so far, and from now on.
    pub(crate) fn open(&self, announcer: EventSender) {
        let mut state = self.lock();
        if let State::Early(early) = &mut *state {
            for decision in early.drain(..) {
                announcer.emit(event(decision));
            }
        }
        *state = State::Open(announcer);
    }

    /// Lets go of the session.
    pub(crate) fn end(&self) {
        *self.lock() = State::Over;
    }

    fn take(&self, decision: Decision) {
        match &mut *self.lock() {
            State::Early(early) if early.len() < EARLY => early.push(decision),
            State::Early(_) | State::Over => {}
            State::Open(announcer) => announcer.emit(event(decision)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn event(decision: Decision) -> SessionEvent {
    SessionEvent::ConnectionJudged {
        device: match decision.client {
            Client::Browser => DeviceKind::Browser,
            Client::Desktop => DeviceKind::Desktop,
            Client::Shell => DeviceKind::Shell,
        },
        host: decision.host,
        port: decision.port,
        address: decision.address,
        passed: decision.passed,
        rule: decision.rule,
        reason: decision.reason,
    }
}
