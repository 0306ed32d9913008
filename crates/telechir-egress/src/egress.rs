//! One client's way out: its rules, its resolver, its limits, and who is told.

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use telechir_policy::{Client, Gate, Remote};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use crate::metered::Budget;
use crate::resolve::{Resolve, System};
use crate::{Admission, Decision, Limits, Upstream, serve};

/// Refusals that are remembered, so that a failed load can say why.
const REMEMBERED: usize = 64;

type Report = dyn Fn(Decision) + Send + Sync;

/// The way out of one client of a session. Clones are the same way.
#[derive(Clone)]
pub struct Egress(Arc<Inner>);

/// What all its connections share.
pub(crate) struct Inner {
    pub(crate) client: Client,
    gate: Mutex<Gate>,
    granted: Mutex<HashSet<(String, u16)>>,
    refused: Mutex<VecDeque<Decision>>,
    pub(crate) resolver: Arc<dyn Resolve>,
    pub(crate) upstream: Option<Upstream>,
    pub(crate) limits: Limits,
    pub(crate) budget: Arc<Budget>,
    pub(crate) room: Arc<Semaphore>,
    report: Arc<Report>,
    pub(crate) began: Instant,
}

impl Egress {
    /// A way out by these rules, with this machine's resolver and the usual limits.
    pub fn new(gate: Gate) -> Self {
        let limits = Limits::default();
        Self(Arc::new(Inner {
            client: gate.client(),
            gate: Mutex::new(gate),
            granted: Mutex::default(),
            refused: Mutex::default(),
            resolver: Arc::new(System),
            upstream: None,
            limits,
            budget: Arc::new(Budget::new(limits.bytes)),
            room: Arc::new(Semaphore::new(limits.connections)),
            report: Arc::new(|_| {}),
            began: Instant::now(),
        }))
    }

    /// The same with a resolver of the caller's.
    #[must_use]
    pub fn with_resolver(self, resolver: impl Resolve + 'static) -> Self {
        self.with(|inner| inner.resolver = Arc::new(resolver))
    }

    /// The same with another proxy behind it, through which all goes that is not of this machine.
    #[must_use]
    pub fn via_proxy(self, upstream: Upstream) -> Self {
        self.with(|inner| inner.upstream = Some(upstream))
    }

    /// The same with other limits.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        self.with(|inner| {
            inner.limits = limits;
            inner.budget = Arc::new(Budget::new(limits.bytes));
            inner.room = Arc::new(Semaphore::new(limits.connections));
        })
    }

    /// The same, which tells each of its decisions. What is told must not wait.
    #[must_use]
    pub fn on_decision(self, report: impl Fn(Decision) + Send + Sync + 'static) -> Self {
        self.with(|inner| inner.report = Arc::new(report))
    }

    fn with(self, change: impl FnOnce(&mut Inner)) -> Self {
        let mut inner = Arc::try_unwrap(self.0).unwrap_or_else(|shared| Inner {
            client: shared.client,
            gate: Mutex::new(lock(&shared.gate).clone()),
            granted: Mutex::new(lock(&shared.granted).clone()),
            refused: Mutex::default(),
            resolver: Arc::clone(&shared.resolver),
            upstream: shared.upstream.clone(),
            limits: shared.limits,
            budget: Arc::clone(&shared.budget),
            room: Arc::clone(&shared.room),
            report: Arc::clone(&shared.report),
            began: shared.began,
        });
        change(&mut inner);
        Self(Arc::new(inner))
    }

    /// Whose it is.
    pub fn client(&self) -> Client {
        self.0.client
    }

    /// Whether anything can pass.
    pub fn is_open(&self) -> bool {
        lock(&self.0.gate).is_open()
    }

    /// Lets through what a rule would ask about: a person was asked, for going to this address.
    /// What a rule denies stays denied.
    pub fn grant(&self, address: &str) {
        if let Some(remote) = Remote::visited(address) {
            lock(&self.0.granted).insert((remote.host(), remote.port()));
        }
    }

    /// Why the place of this address was refused last, if it was of late.
    pub fn why_refused(&self, address: &str) -> Option<String> {
        let remote = Remote::visited(address)?;
        let (host, port) = (remote.host(), Some(remote.port()));
        let refused = lock(&self.0.refused);
        let mut of_it = refused.iter();
        let last = of_it.find(|decision| decision.host == host && decision.port == port)?;
        Some(format!("{} ({})", last.reason, last.rule))
    }

    /// Serves whoever comes to this listener, until what it returns is dropped.
    ///
    /// # Panics
    /// Outside a runtime.
    #[must_use = "it serves as long as this is held"]
    pub fn serve(&self, listener: TcpListener, admission: Admission) -> Serving {
        let inner = Arc::clone(&self.0);
        Serving(tokio::spawn(serve::serve(inner, listener, admission)))
    }
}

impl Inner {
    pub(crate) fn gate(&self) -> MutexGuard<'_, Gate> {
        lock(&self.gate)
    }

    pub(crate) fn is_granted(&self, remote: &Remote) -> bool {
        lock(&self.granted).contains(&(remote.host(), remote.port()))
    }

    /// Tells what was decided.
    pub(crate) fn tell(&self, decision: Decision) {
        tracing::debug!(%decision, "a connection");
        if !decision.passed {
            let mut refused = lock(&self.refused);
            refused.truncate(REMEMBERED - 1);
            refused.push_front(decision.clone());
        }
        (self.report)(decision);
    }
}

/// No code that holds one of these locks can fail half way.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Egress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Egress")
            .field("client", &self.0.client)
            .finish_non_exhaustive()
    }
}

/// Two are equal when they are the same way out.
impl PartialEq for Egress {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Egress {}

/// A listener that is served. When it is dropped, its connections end.
#[derive(Debug)]
pub struct Serving(JoinHandle<()>);

impl Drop for Serving {
    fn drop(&mut self) {
        self.0.abort();
    }
}
