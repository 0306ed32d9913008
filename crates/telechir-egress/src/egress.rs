//! The egress proxy of one client: its rules, resolver, limits and decision callback.

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use telechir_policy::{Gate, NetworkClient, Remote};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use crate::metered::Budget;
use crate::resolve::{Resolve, SystemResolver};
use crate::{Admission, ConnectionDecision, ProxyLimits, Upstream, serve};

/// Number of recent refusals kept to explain a failed page load.
const MAX_REFUSALS: usize = 64;

type DecisionSink = dyn Fn(ConnectionDecision) + Send + Sync;

/// The egress proxy of one client of a session. Clones share its state.
#[derive(Clone)]
pub struct Egress(Arc<EgressShared>);

/// State shared by all connections of a proxy.
pub(crate) struct EgressShared {
    pub(crate) client: NetworkClient,
    gate: Mutex<Gate>,
    granted: Mutex<HashSet<(String, u16)>>,
    refused: Mutex<VecDeque<ConnectionDecision>>,
    pub(crate) resolver: Arc<dyn Resolve>,
    pub(crate) upstream: Option<Upstream>,
    pub(crate) limits: ProxyLimits,
    pub(crate) budget: Arc<Budget>,
    pub(crate) connection_slots: Arc<Semaphore>,
    report: Arc<DecisionSink>,
    pub(crate) started: Instant,
}

impl Egress {
    /// Creates a proxy with these rules, the system's resolver and the default limits.
    pub fn new(gate: Gate) -> Self {
        let limits = ProxyLimits::default();
        Self(Arc::new(EgressShared {
            client: gate.client(),
            gate: Mutex::new(gate),
            granted: Mutex::default(),
            refused: Mutex::default(),
            resolver: Arc::new(SystemResolver),
            upstream: None,
            limits,
            budget: Arc::new(Budget::new(limits.max_total_bytes)),
            connection_slots: Arc::new(Semaphore::new(limits.max_connections)),
            report: Arc::new(|_| {}),
            started: Instant::now(),
        }))
    }

    /// Sets the name resolver.
    #[must_use]
    pub fn with_resolver(self, resolver: impl Resolve + 'static) -> Self {
        self.with(|inner| inner.resolver = Arc::new(resolver))
    }

    /// Sets an upstream proxy for all connections, except to this machine.
    #[must_use]
    pub fn via_proxy(self, upstream: Upstream) -> Self {
        self.with(|inner| inner.upstream = Some(upstream))
    }

    /// Sets the limits, and resets the counters of connections and bytes.
    #[must_use]
    pub fn with_limits(self, limits: ProxyLimits) -> Self {
        self.with(|inner| {
            inner.limits = limits;
            inner.budget = Arc::new(Budget::new(limits.max_total_bytes));
            inner.connection_slots = Arc::new(Semaphore::new(limits.max_connections));
        })
    }

    /// Sets a callback for every decision. It must not block.
    #[must_use]
    pub fn on_decision(self, report: impl Fn(ConnectionDecision) + Send + Sync + 'static) -> Self {
        self.with(|inner| inner.report = Arc::new(report))
    }

    pub(crate) fn shared(&self) -> Arc<EgressShared> {
        Arc::clone(&self.0)
    }

    fn with(self, change: impl FnOnce(&mut EgressShared)) -> Self {
        let mut inner = Arc::try_unwrap(self.0).unwrap_or_else(|shared| EgressShared {
            client: shared.client,
            gate: Mutex::new(lock(&shared.gate).clone()),
            granted: Mutex::new(lock(&shared.granted).clone()),
            refused: Mutex::default(),
            resolver: Arc::clone(&shared.resolver),
            upstream: shared.upstream.clone(),
            limits: shared.limits,
            budget: Arc::clone(&shared.budget),
            connection_slots: Arc::clone(&shared.connection_slots),
            report: Arc::clone(&shared.report),
            started: shared.started,
        });
        change(&mut inner);
        Self(Arc::new(inner))
    }

    /// Replaces the rules for new connections; open ones continue.
    pub fn set_gate(&self, gate: Gate) {
        *lock(&self.0.gate) = gate;
    }

    /// The kind of program that this proxy serves.
    pub fn client(&self) -> NetworkClient {
        self.0.client
    }

    /// Whether any rule can allow a connection.
    pub fn is_open(&self) -> bool {
        lock(&self.0.gate).is_open()
    }

    /// Allows the host and port of a URL that the user approved. Does not override rules that deny.
    pub fn grant(&self, address: &str) {
        if let Some(remote) = Remote::for_navigation(address) {
            lock(&self.0.granted).insert((remote.host(), remote.port()));
        }
    }

    /// The reason and rule of the last refusal of a URL's host and port, if it was recent.
    pub fn last_refusal(&self, address: &str) -> Option<String> {
        let remote = Remote::for_navigation(address)?;
        let (host, port) = (remote.host(), Some(remote.port()));
        let refused = lock(&self.0.refused);
        let mut decisions = refused.iter();
        let last = decisions.find(|decision| decision.host == host && decision.port == port)?;
        Some(format!("{} ({})", last.reason, last.rule))
    }

    /// Serves connections of a listener until the returned handle is dropped.
    ///
    /// # Panics
    /// Outside a Tokio runtime.
    #[must_use = "the listener is served only until this handle is dropped"]
    pub fn serve(&self, listener: TcpListener, admission: Admission) -> Serving {
        let inner = Arc::clone(&self.0);
        Serving(tokio::spawn(serve::serve(inner, listener, admission)))
    }
}

impl EgressShared {
    pub(crate) fn gate(&self) -> MutexGuard<'_, Gate> {
        lock(&self.gate)
    }

    pub(crate) fn is_granted(&self, remote: &Remote) -> bool {
        lock(&self.granted).contains(&(remote.host(), remote.port()))
    }

    /// Records a decision and calls the callback.
    pub(crate) fn report(&self, decision: ConnectionDecision) {
        tracing::debug!(%decision, "a connection");
        if !decision.passed {
            let mut refused = lock(&self.refused);
            refused.truncate(MAX_REFUSALS - 1);
            refused.push_front(decision.clone());
        }
        (self.report)(decision);
    }
}

/// Poisoning is ignored: no code panics while the data is inconsistent.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for EgressShared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EgressShared")
            .field("client", &self.client)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Egress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Egress")
            .field("client", &self.0.client)
            .finish_non_exhaustive()
    }
}

/// Equal if both are clones of the same proxy.
impl PartialEq for Egress {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Egress {}

/// Handle of a served listener. Dropping it closes the listener and its connections.
#[derive(Debug)]
pub struct Serving(JoinHandle<()>);

impl Drop for Serving {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[cfg(test)]
mod tests {
    use telechir_policy::Policy;

    use super::*;

    fn egress(rules: &str) -> Egress {
        let policy = Policy::from_toml(rules, "test").unwrap();
        Egress::new(policy.gate(NetworkClient::Shell))
    }

    #[test]
    fn a_proxy_is_open_if_a_rule_may_permit_something() {
        let rule = |verdict: &str| {
            format!("[[network]]\nhost = ['a.example']\nverdict = '{verdict}'\nreason = 'x'\n")
        };
        assert!(!egress("").is_open());
        assert!(!egress(&rule("deny")).is_open());
        assert!(egress(&rule("allow")).is_open());
    }

    #[test]
    fn only_clones_of_a_proxy_are_equal() {
        let one = egress("");
        assert_eq!(one, one.clone());
        assert_ne!(one, egress(""));
        assert_eq!(format!("{one:?}"), "Egress { client: Shell, .. }");
    }

    #[test]
    fn only_the_latest_refusals_are_remembered() {
        let egress = egress("");
        let url = |number: usize| format!("http://h{number}.example/");
        for number in 0..MAX_REFUSALS + 10 {
            let remote = Remote::for_navigation(&url(number)).unwrap();
            let reason = format!("Number {number}.");
            let decision =
                ConnectionDecision::refused(NetworkClient::Shell, &remote, "rule", reason);
            assert_eq!(
                decision.to_string(),
                format!("shell to h{number}.example:80 refused by rule: Number {number}.")
            );
            egress.0.report(decision);
        }
        assert_eq!(lock(&egress.0.refused).len(), MAX_REFUSALS);
        let newest = MAX_REFUSALS + 9;
        assert_eq!(
            egress.last_refusal(&url(newest)),
            Some(format!("Number {newest}. (rule)"))
        );
        assert!(egress.last_refusal(&url(10)).is_some());
        let other_port = format!("http://h{newest}.example:81/");
        assert_eq!(egress.last_refusal(&other_port), None);
        assert_eq!(egress.last_refusal(&url(9)), None);
    }
}
