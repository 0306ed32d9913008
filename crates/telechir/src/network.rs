//! Creates one egress proxy per device and turns its decisions into session events.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use telechir_egress::{ConnectionDecision, Egress, Upstream};
use telechir_policy::{ContentTrust, NetworkClient, Policy};
use telechir_runtime::{DeviceKind, EventSender, SessionEvent};

/// Maximum number of decisions stored before the session exists, such as those of a starting
/// browser.
const MAX_EARLY_DECISIONS: usize = 256;

/// Creates the egress proxies that a policy permits.
#[derive(Debug)]
pub(crate) struct EgressProxies {
    policy: Policy,
    upstream: Option<Upstream>,
    events: NetworkEvents,
    trust: ContentTrust,
    open: OpenProxies,
}

/// The proxies of a session's devices. Clones share their state.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpenProxies(Arc<Mutex<Vec<Egress>>>);

impl OpenProxies {
    /// Applies another policy to new connections. A device that has no proxy, because no rule gave
    /// it network access when it started, has none later.
    pub(crate) fn set_policy(&self, policy: &Policy, trust: &ContentTrust) {
        for proxy in self.lock().iter() {
            let gate = policy.gate(proxy.client()).with_trust(trust.clone());
            proxy.set_gate(gate);
        }
    }

    fn add(&self, proxy: Egress) {
        self.lock().push(proxy);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Egress>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Receives the proxies' decisions. Clones share their state.
#[derive(Clone, Debug)]
pub(crate) struct NetworkEvents(Arc<Mutex<EventsState>>);

#[derive(Debug)]
enum EventsState {
    /// The session does not exist yet; decisions wait for it.
    Early(Vec<ConnectionDecision>),
    Open(EventSender),
    /// The session is closed; decisions are dropped.
    Closed,
}

impl EgressProxies {
    pub(crate) fn new(policy: &Policy, upstream: Option<Upstream>) -> Self {
        Self {
            policy: policy.clone(),
            upstream,
            events: NetworkEvents(Arc::new(Mutex::new(EventsState::Early(Vec::new())))),
            trust: ContentTrust::default(),
            open: OpenProxies::default(),
        }
    }

    /// The proxies that were created so far and later.
    pub(crate) fn open(&self) -> OpenProxies {
        self.open.clone()
    }

    /// The egress proxy of a client; none if no rule gives it network access.
    pub(crate) fn proxy_for(&self, client: NetworkClient) -> Option<Egress> {
        let gate = self.policy.gate(client).with_trust(self.trust.clone());
        let events = self.events.clone();
        if !gate.is_open() {
            return None;
        }
        let proxy = Egress::new(gate).on_decision(move |decision| events.record(decision));
        let proxy = match &self.upstream {
            Some(upstream) => proxy.via_proxy(upstream.clone()),
            None => proxy,
        };
        self.open.add(proxy.clone());
        Some(proxy)
    }

    /// Whether content of untrusted hosts has passed.
    pub(crate) fn trust(&self) -> ContentTrust {
        self.trust.clone()
    }

    /// The receiver of all decisions.
    pub(crate) fn events(&self) -> NetworkEvents {
        self.events.clone()
    }
}

impl NetworkEvents {
    /// Sends the stored decisions to the session, and all later ones as they come.
    pub(crate) fn open(&self, sender: EventSender) {
        let mut state = self.lock();
        if let EventsState::Early(early) = &mut *state {
            for decision in early.drain(..) {
                sender.emit(event(decision));
            }
        }
        *state = EventsState::Open(sender);
    }

    /// Drops all later decisions.
    pub(crate) fn end(&self) {
        *self.lock() = EventsState::Closed;
    }

    fn record(&self, decision: ConnectionDecision) {
        match &mut *self.lock() {
            EventsState::Early(early) if early.len() < MAX_EARLY_DECISIONS => early.push(decision),
            EventsState::Early(_) | EventsState::Closed => {}
            EventsState::Open(sender) => sender.emit(event(decision)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, EventsState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn event(decision: ConnectionDecision) -> SessionEvent {
    SessionEvent::ConnectionJudged {
        device: match decision.client {
            NetworkClient::Browser => DeviceKind::Browser,
            NetworkClient::Desktop => DeviceKind::Desktop,
            NetworkClient::Shell => DeviceKind::Shell,
        },
        host: decision.host,
        port: decision.port,
        address: decision.address,
        passed: decision.passed,
        rule: decision.rule,
        reason: decision.reason,
    }
}
